"""The SQL beside a chart, run where it is pasted, gives the rows that the chart draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from app import parts, saves
from app.attempt_areas import areas_of
from app.warehouse import connect
from tests.app import found, serving
from tests.app.opening import (
    CHECKPOINTS,
    DATA,
    FAILURES,
    JOB,
    JOBS,
    LOST,
    OVERVIEW,
    START,
    open_page,
)

REGRESSIONS = "views/regressions.py"
SEEN = (
    (OVERVIEW, {}),
    (OVERVIEW, {"team": "feed", "weight": "wall", "vs": "none"}),
    (LOST, {"days": "7"}),
    (LOST, {"team": "feed", "workload": "production", "weight": "wall"}),
    (LOST, {"team": "ads", "area": "unsaved"}),
    (START, {"days": "7"}),
    (START, {"team": "feed", "wait": "recovery", "vs": "none"}),
    (CHECKPOINTS, {"weight": "wall"}),
    (CHECKPOINTS, {"team": "ads", "days": "7", "workload": "exploration"}),
    (FAILURES, {"attribution": "all", "cause": "infra/network"}),
    (FAILURES, {"team": "search", "days": "90", "vs": "none"}),
    (JOBS, {"team": "feed", "gpus": "16"}),
    (JOB, {"job": "stubborn"}),
    (DATA, {}),
    *((REGRESSIONS, {"tab": tab}) for tab in ("Open", "Incidents", "Held back", "Closed")),
    (REGRESSIONS, {"team": "feed"}),
    (REGRESSIONS, {"team": "feed", "metric": "trainer_init_seconds"}),
)


# of which the CSV has a row for several of the select, or columns for rows
TURNED: Final = {
    "cascade": lambda rows: rows.group_by("area").agg(pl.col("amount").sum()),
    "tries": lambda rows: rows.group_by("area").agg(
        first_amount=pl.col("amount").filter(~pl.col("is_recovery")).sum(),
        again_amount=pl.col("amount").filter("is_recovery").sum(),
    ),
    "areas": lambda rows: areas_of(rows.row(0, named=True)),
    "agreement": lambda rows: saves.beside(rows.row(0, named=True)),
    "by-size": lambda rows: rows.drop_nulls("day"),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    found.add(serving.publish(folder, serving.fleet()), found.whole())
    return folder


@pytest.mark.parametrize(("path", "parameters"), SEEN)
def test_a_select_gives_the_rows_that_are_drawn(
    told: Path, monkeypatch: pytest.MonkeyPatch, path: str, parameters: dict[str, str]
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(told))
    feet: dict[str, tuple[pl.DataFrame, str]] = {}

    def noted(stem: str, table: parts.Table, _: str, __: Sequence[str], sql: str) -> None:
        feet[stem] = table() if callable(table) else table, sql

    monkeypatch.setattr(parts, "_footer", noted)
    open_page(path, **parameters)

    assert feet
    with connect(told / "serving-1.duckdb") as connection:
        apart = {
            stem: _apart(stem, table, connection.sql(sql).pl())
            for stem, (table, sql) in feet.items()
            if sql
        }
    assert {} == {stem: how for stem, how in apart.items() if how}


def _apart(stem: str, table: pl.DataFrame, rows: pl.DataFrame) -> str:
    """How the rows of a CSV differ from those of its select; empty where they do not."""
    rows = TURNED.get(_chart(stem), pl.DataFrame.clone)(rows)
    if "_spread_" in stem.replace("-", "_"):  # has steps of the days before alone
        table = table.filter(pl.col("attempts").diff().fill_null(pl.col("attempts")) > 0)
    pairs = {name: other for name in table.columns if (other := _other(name, rows.columns))}
    if not pairs:
        return f"nothing in common: {table.columns} and {rows.columns}"
    mine, theirs = (
        sorted(map(_told, frame.select(names).rows()))
        for frame, names in ((table, list(pairs)), (rows, list(pairs.values())))
    )
    if mine == theirs:
        return ""
    alone = sorted({*mine} ^ {*theirs})
    return f"{len(mine)} rows are drawn, the select has {len(theirs)}: {alone[:3]}"


def _told(row: Sequence[object]) -> str:
    """A row but for the last digits, in which sums differ by the order of what is summed."""
    return repr(
        [f"{round(each, 9) + 0.0:.9g}" if isinstance(each, float) else each for each in row]
    )


def _chart(stem: str) -> str:
    return next((name for name in TURNED if f"_{name}" in stem), "")


def _other(name: str, columns: Sequence[str]) -> str:
    """The column of the select that the CSV calls so: there it tells its unit."""
    others = (
        name,
        name.replace("gpu_hours", "hours").replace("wall_hours", "hours"),
        "amount" if name in ("gpu_seconds", "seconds") else name,
    )
    return next((each for each in others if each in columns), "")
