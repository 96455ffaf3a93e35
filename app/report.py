"""`ett-report`: the weekly digest, as one file for mail or chat. The Overview, offline.

Writes to stdout, or to the file that --output names; nothing else. Asks no other machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from queries.interrupts import as_keyboard_interrupt
from queries.places import add_warehouse

_EXAMPLES = """\
examples:
  ett-report --output week.html                       the last complete week of the fleet
  ett-report --week 2026-W09 --team feed --format md  for a chat
  ett-report --week 2026-W09 --format json | jq .numbers
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the digest; exit code 0, 1 where the warehouse cannot be read, 2 where nothing fits."""
    chosen = _parser().parse_args(arguments)
    os.environ["ETT_WAREHOUSE"] = str(chosen.warehouse.resolve())
    # imported here: --help is at once, and streamlit does not wonder on stderr that no server runs
    from streamlit import logger

    logger.set_log_level("error")
    from app import data, digest, report_html, report_text

    formats = {
        "html": report_html.page,
        "md": report_text.markdown,
        "json": report_text.json_text,
    }
    try:
        with as_keyboard_interrupt():
            text = formats[chosen.format](digest.gather(chosen.week, chosen.team))
    except KeyboardInterrupt:
        print("ett-report: stopped, nothing is written", file=sys.stderr)
        return 130
    except (digest.NoSuchDigest, data.NothingPublished) as refusal:
        print(f"ett-report: {refusal}", file=sys.stderr)
        return 2
    except data.ViewFailed as failure:
        told = f"the view {failure.view} could not be read: {failure.reason}"
        print(f"ett-report: {told}", file=sys.stderr)
        return 1
    return _write(text, chosen.output)


def _write(text: str, output: Path | None) -> int:
    if output is None or str(output) == "-":
        if isinstance(sys.stdout, TextIOWrapper):  # a page says that it is UTF-8
            sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(text)
        return 0
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        print(
            f"ett-report: {output} cannot be written: {error.strerror}. Name another --output, or "
            "none to have it on stdout.",
            file=sys.stderr,
        )
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ett-report",
        description="The weekly digest: the Overview of a week as one self-contained file.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--week",
        metavar="YYYY-Www",
        help="ISO week, as 2026-W09 (the last complete one, else the first)",
    )
    parser.add_argument("--team", default="fleet", help="one team (%(default)s)")
    parser.add_argument(
        "--format",
        choices=("html", "md", "json"),
        default="html",
        help="what to write (%(default)s)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write it (stdout)")
    add_warehouse(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
