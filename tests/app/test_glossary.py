"""The glossary holds every measure that is published, once, with all that a reader needs."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import pytest

import queries
from app import words
from tests.app import serving

KEYS = {"team", "workload", "day", "first_day", "last_day", "days", "is_complete"}
UNITS = {"ratio", "seconds", "gpu_seconds", "count", "per_day", "per_1000_gpu_days"}


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    path: Path = serving.publish(tmp_path_factory.mktemp("window"), serving.fleet(days=3))
    day = date(2026, 3, 3)
    with duckdb.connect(str(path), read_only=True) as connection:
        frame: pl.DataFrame = connection.sql(
            "from window_of('fleet', 'all', ?, ?)", params=[day, day]
        ).pl()
    return frame


def test_every_measure_of_a_window_is_in_the_glossary(window: pl.DataFrame) -> None:
    counted = KEYS | {
        "jobs",
        "attempts",
        "attempts_of_unknown_gpus",
        "instrumented_attempts",
        "instrumented_attempts_of_known_gpus",
    }

    assert set() == set(window.columns) - counted - words.glossary().keys()


def test_every_measure_is_fully_described() -> None:
    for measure in words.glossary().values():
        assert measure.unit in UNITS
        assert measure.better in {"up", "down", "neither"}
        assert measure.meaning.endswith(".")
        assert measure.formula
        assert measure.view


def test_a_measure_says_its_unit_in_its_name() -> None:
    for key, measure in words.glossary().items():
        if key.endswith("gpu_seconds"):
            assert "gpu_seconds" == measure.unit
        elif key.endswith("_seconds"):
            assert "seconds" == measure.unit
        elif key.endswith("_ratio"):
            assert "ratio" == measure.unit


def test_labels_are_used_once() -> None:
    labels = [(measure.label, measure.view) for measure in words.glossary().values()]

    assert len(set(labels)) == len(labels)


def test_every_area_is_described() -> None:
    assert set(queries.AREAS) == words.areas().keys()


def test_a_share_of_attempts_is_not_said_to_be_of_compilations() -> None:
    """An attempt that compiled nine graphs from the cache and one anew is one miss, not a tenth."""
    share = words.glossary()["compile_cache_hit_ratio"]

    assert share.meaning.startswith("The share of attempts")
    assert "attempts with hits or misses" in share.formula
