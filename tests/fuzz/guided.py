"""One collector under atheris, which looks for inputs that reach new lines of code.

`python -m tests.fuzz.guided COLLECTOR SECONDS FOLDER`: what crashed is kept there. libFuzzer
ends the process. Exit 3: no atheris.
"""

from __future__ import annotations

import importlib
import random
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(name: str, seconds: int, kept: str) -> None:
    """Fuzz until the time is over, or something crashes."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        print("atheris has no wheel for this Python or machine: not guided.", file=sys.stderr)
        sys.exit(3)
    with atheris.instrument_imports(include=["ingest"]):
        registry = importlib.import_module("ingest.collectors.registry")
        rules = importlib.import_module("tests.fuzz.rules")
        seeds = importlib.import_module("tests.fuzz.seeds")
    (collector,) = (one for one in registry.COLLECTORS if one.name == name)

    def read(data: bytes) -> None:
        rules.reads(collector, data.split(b"\n"))

    with tempfile.TemporaryDirectory() as corpus:
        rng = random.Random(name)
        for number, lines in enumerate(seeds.written()[name]):
            at = rng.randrange(max(1, len(lines) - 40))
            Path(corpus, str(number)).write_bytes(b"\n".join([lines[0], *lines[at : at + 40]]))
        limits = [f"-max_total_time={seconds}", "-timeout=30", "-max_len=20000", "-verbosity=1"]
        atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={kept}/{name}-", corpus], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
