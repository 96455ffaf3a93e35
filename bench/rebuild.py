"""Recomputes every fact of a warehouse from its events and publishes: what an increment saves."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from ingest import facts, publish, warehouse
from ingest.settings import Settings


def main(folder: Path) -> None:
    """Rebuild in one transaction, then publish."""
    with warehouse.opened(folder, print, 0) as opened:
        opened.connection.execute("begin")
        facts.rebuild(opened, Settings())
        opened.connection.execute("commit")
        publish.publish(opened, Settings(), datetime.now(UTC).replace(tzinfo=None))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
