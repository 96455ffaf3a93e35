"""How long the server needs for each page of a fleet-year, beside its selects alone and beside a
page that shows nothing. In one process, without a browser; first with empty caches, then not.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import streamlit as st
from streamlit.testing.v1 import AppTest

from app import data, warehouse
from bench import fleet_year
from queries import published

MAIN = Path(__file__).resolve().parents[1] / "app" / "main.py"
PAGES = {
    "Overview": "views/overview.py",
    "Lost time": "views/lost_time.py",
    "Start & recover": "views/start_recover.py",
    "Checkpoints": "views/checkpoints.py",
    "Failures": "views/failures.py",
    "Jobs": "views/jobs.py",
}
TEAMS = ("fleet", "ranking-0", "feed-3", "ads-7", "search-11", "video-24")
SCOPES = [(team, days) for days in ("28", "7") for team in TEAMS]
Select = tuple[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds on the clock, and of the processors."""

    wall: float
    cpu: float


def main(folder: Path | None = None) -> int:
    """Print the table. Nothing is asserted: machines differ. `folder`: a warehouse to measure."""
    logging.disable(logging.WARNING)  # streamlit says at every step that there is no server
    with TemporaryDirectory(prefix="ett-bench-") as made:
        os.environ["ETT_WAREHOUSE"] = str(folder or fleet_year.make(Path(made)))
        kinds = ("first", "cpu", "again", "cpu", "selects", "cpu")
        print(f"{'ms, p50 and p90':<18}" + "".join(f"{kind:>14}" for kind in kinds))
        _show("an empty page", [_timed(_empty().run) for _ in SCOPES])
        with warehouse.connect(published(data.folder())) as connection:
            for name, path in PAGES.items():
                _page(name, path, connection)
    return 0


def _page(name: str, path: str, connection: duckdb.DuckDBPyConnection) -> None:
    first, again, alone = [], [], []
    for team, days in SCOPES:
        page = AppTest.from_file(str(MAIN), default_timeout=120)
        if path != PAGES["Overview"]:
            page.switch_page("views/job.py").run()  # one without filters: those below are the first
            page.switch_page(path)
        page.query_params["team"], page.query_params["days"] = team, days
        page.run()  # what a server does once: compile the script, lay out the session
        st.cache_data.clear()  # as after a publish: no other page has read what this one shares
        with _noted() as selects:
            first.append(_timed(page.run))
        again.append(_timed(page.run))
        assert not page.exception, page.exception
        alone.append(_timed(partial(_select, connection, selects)))
    _show(name, first, again, alone)


def _timed(run: Callable[[], object]) -> Took:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Took((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3)


def _empty() -> AppTest:
    return AppTest.from_string("import streamlit as st\nst.title('Nothing')")


@contextmanager
def _noted() -> Iterator[list[Select]]:
    """Every select that is asked for meanwhile."""
    asked: list[Select] = []
    frame = data.frame

    def noting(sql: str, *parameters: object) -> Any:
        asked.append((sql, parameters))
        return frame(sql, *parameters)

    data.frame = noting
    try:
        yield asked
    finally:
        data.frame = frame


def _select(connection: duckdb.DuckDBPyConnection, selects: list[Select]) -> None:
    """Each of these once."""
    for sql, parameters in dict.fromkeys(selects):
        connection.sql(sql, params=list(parameters)).pl()


def _show(name: str, *series: list[Took]) -> None:
    cells = [
        f"{cuts[4]:>8.0f}{cuts[8]:>6.0f}"
        for each in series
        for measured in ([one.wall for one in each], [one.cpu for one in each])
        for cuts in [quantiles(measured, n=10, method="inclusive")]
    ]
    print(f"{name:<18}" + "".join(cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench.pages", description=__doc__)
    parser.add_argument("--warehouse", type=Path, help="measure this one (default: a fleet-year)")
    sys.exit(main(parser.parse_args().warehouse))
