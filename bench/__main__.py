"""`make bench`: what ingest, causes, detection and pages cost on this machine."""

from __future__ import annotations

import sys

from bench import causes, detection, pages, texts, yardsticks


def main() -> int:
    """Run all of it, each a table. Nothing is asserted: machines differ."""
    yardsticks.main()
    print("\nText formats")
    texts.main(())
    print("\nCauses")
    causes.main()
    print("\nDetection, on few fleets: `python -m bench.detection --full` takes an hour")
    detection.main([])
    print("\nPages of a fleet-year")
    pages.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
