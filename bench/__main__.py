"""`make bench`: what ingest, causes, detection and pages cost on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import causes, detection, fleet_year, pages, scrapes, screens, texts, yardsticks


def main() -> int:
    """Run all of it, each a table. Nothing is asserted: machines differ."""
    yardsticks.main()
    print("\nText formats")
    texts.main(())
    print("\nCauses")
    causes.main()
    print("\nDetection, on few fleets: `python -m bench.detection --full` takes an hour")
    detection.main([])
    print("\nScrapes")
    scrapes.main()
    print("\nPages of a fleet-year, on the server and in a browser")
    with TemporaryDirectory(prefix="ett-bench-") as folder:
        year = fleet_year.make(Path(folder))
        pages.main(year)
        screens.main(year)
    return 0


if __name__ == "__main__":
    sys.exit(main())
