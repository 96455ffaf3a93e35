"""`ett-ingest` in processes of its own that begin at once: forked where it is imported already."""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from ingest import cli, plan

# the process that forks has opened no database, and has no threads
_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["ingest.cli"])


def eager_ingest(said: Path, warehouse: Path, *dumps: Path) -> BaseProcess:
    """Start an ingest in which every batch is a file of its own, and every one is published: more
    places to die at. What it warns of goes to the file `said`.
    """
    process = _FORKS.Process(target=_ingest, args=(said, warehouse, *dumps))
    # it would begin by running its parent's main module: whatever page a test showed last here
    with patch.dict(sys.modules, {"__main__": ModuleType("__main__")}):
        process.start()
    return process


def _ingest(said: Path, warehouse: Path, *dumps: Path) -> None:
    with said.open("wb") as log, open(os.devnull, "wb") as nowhere:
        os.dup2(log.fileno(), sys.stderr.fileno())
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    plan.BATCH_FILES = 1
    cli.PUBLISH_EVERY_SECONDS, cli.PUBLISHING_SHARE = 0.0, 1.0
    sys.exit(cli.main(["--warehouse", str(warehouse), *map(str, dumps)]))
