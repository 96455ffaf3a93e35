"""Which file readers may open now: the one that CURRENT names, replaced at each publish."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from queries.places import ingest_command

# Of the writer's file and of what is published from it. Releases read what older ones published,
# upgrade what older ones wrote (ingest/migrations), and refuse both of newer ones.
SCHEMA_VERSION = 6

BACKUP_MANIFEST = "backup.json"  # a folder that has it is a backup, and no warehouse


class NothingPublished(Exception):
    """No warehouse is published in this folder: the message says what to run.

    `remedy` says it to those who may read numbers and need not know folders.
    """

    def __init__(
        self,
        message: str,
        remedy: str = "No warehouse is published here. Run `make ingest LOGS=...`.",
    ) -> None:
        super().__init__(message)
        self.remedy = remedy


class PublishedByNewerRelease(NothingPublished):
    """What is published may mean what this release does not know."""


def published(warehouse: str | Path) -> Path:
    """The DuckDB file that readers use now; open it read-only and key every cache by its name.

    Raises NothingPublished where CURRENT is missing, no bare file name, or names a lost file.
    """
    folder = Path(warehouse)
    try:
        name = (folder / "CURRENT").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        if sentence := backup_sentence(folder):
            raise NothingPublished(
                sentence,
                "What is named as the warehouse is a backup. `ett-warehouse restore` makes a "
                "warehouse of it.",
            ) from None
        raise NothingPublished(
            f"no warehouse is published in {folder}. Run {ingest_command(folder)}."
        ) from None
    except PermissionError as error:
        raise NothingPublished(
            f"{folder} cannot be read: {error.strerror}. Who runs this needs to read it.",
            f"The warehouse cannot be read: {error.strerror}.",
        ) from None
    except UnicodeDecodeError:
        name = ""
    if not name or Path(name).name != name or not os.path.isfile(folder / name):
        raise NothingPublished(
            f"{folder / 'CURRENT'} names no file that is there. Run {ingest_command(folder)} again."
        )
    return folder / name


def backup_sentence(folder: Path) -> str | None:
    """Why a folder is no warehouse and how it becomes one, where it is a backup; else None."""
    if not os.path.exists(folder / BACKUP_MANIFEST):
        return None
    return (
        f"{folder} is a backup (it has a {BACKUP_MANIFEST}), which must stay as it is. Bring it "
        f"back into a warehouse with `ett-warehouse restore {shlex.quote(str(folder))} --warehouse "
        "DIR`, or give --warehouse another folder."
    )
