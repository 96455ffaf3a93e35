"""The runbooks: one page of Markdown an alert, from the project's own docs. Writes nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "docs" / "runbooks"
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def names(folder: Path) -> list[str]:
    """The alerts that have a runbook, sorted."""
    return sorted(path.stem for path in folder.glob("*.md"))


def text(folder: Path, name: str) -> str:
    """A runbook without its heading, its links made for the page: another runbook's leads to it,
    any other relative one would lead nowhere and is only its text. `name` is one of `names`.
    """
    told = (folder / f"{name}.md").read_text(encoding="utf-8")
    known = set(names(folder))

    def made(found: re.Match[str]) -> str:
        label, target = found.groups()
        if target.startswith(("http://", "https://")):
            return found[0]
        other = Path(target).stem
        return f"[{label}](runbook?alert={other})" if other in known else label

    return _LINK.sub(made, re.sub(r"\A# .*\n+", "", told))
