"""The sample fleet: six planted changes, five of them regressions, found as what they are."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from queries.detection.series import FLEET
from sample_data.fleet import of_size, write_fleet
from sample_data.planted import planted_regressions, roll_outs
from sample_data.settings import Settings
from sample_data.teams import fleet_teams
from tests.detection.dumps import asked, served
from tests.queries.engine import ingest

pytestmark = pytest.mark.slow

DAYS, LAST = 120, date(2026, 3, 1)
VERDICTS = {
    "storage_failures": ("failures", "failures_storage"),
    "compile_cache_lost": ("fleet_wide", "pt2_compile_seconds"),
    "slower_saves": ("slower", "checkpoint_save_seconds"),
    "slower_start": ("slower", "trainer_init_seconds"),
    "preemption_wave": ("preemptions", "preemption_ratio"),
}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def truth_and_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, Path]:
    folder = tmp_path_factory.mktemp("sample")
    settings, teams = Settings(LAST, DAYS, 8, 0.0, 7), fleet_teams(8)
    fleet = of_size(300_000, settings, planted_regressions(DAYS, teams), roll_outs(DAYS, teams))
    write_fleet(fleet, folder / "dumps")
    truth = json.loads((folder / "dumps" / "truth.json").read_text(encoding="utf-8"))
    as_of = f"{LAST + timedelta(days=1)}T00:00:00Z"

    assert 0 == ingest(folder / "warehouse", folder / "dumps", "--as-of", as_of)
    _name_the_causes(folder / "warehouse", truth)
    return truth, served(folder / "warehouse", folder / "served")


@pytest.fixture(scope="module")
def truth(truth_and_file: tuple[Row, Path]) -> Row:
    return truth_and_file[0]


@pytest.fixture(scope="module")
def found(truth_and_file: tuple[Row, Path]) -> list[Row]:
    with duckdb.connect(str(truth_and_file[1]), read_only=True) as reader:
        return reader.sql("from regressions").pl().to_dicts()


def test_the_five_regressions_are_found_with_team_component_and_verdict(
    truth: Row, found: list[Row]
) -> None:
    told = {(row["team"], row["metric"], row["verdict"]): row for row in found if row["was_open"]}

    for planted in truth["planted"]:
        if planted["is_regression"]:
            verdict, metric = VERDICTS[planted["kind"]]
            row = told.pop((planted["team"] or FLEET, metric, verdict))
            late = abs((row["started_on"] - date.fromisoformat(planted["first_day"])).days)

            assert late <= 2, planted["kind"]
            assert row["is_within_sla"], planted["kind"]
    assert {} == told


def test_what_still_lasts_is_open_and_what_ended_is_closed(truth: Row, found: list[Row]) -> None:
    lasting = {
        (planted["team"] or FLEET, VERDICTS[planted["kind"]][1])
        for planted in truth["planted"]
        if planted["is_regression"] and planted["last_day"] is None
    }

    assert lasting == {(row["team"], row["metric"]) for row in found if row["state"] == "open"}
    for planted in truth["planted"]:
        if planted["is_regression"] and planted["last_day"] is not None:
            [ended_on] = [
                row["ended_on"]
                for row in found
                if row["was_open"] and row["metric"] == VERDICTS[planted["kind"]][1]
            ]
            assert abs((ended_on - date.fromisoformat(planted["last_day"])).days) <= 2


def test_the_mix_shift_is_explained_as_such_and_held_back(truth: Row, found: list[Row]) -> None:
    [planted] = [each for each in truth["planted"] if not each["is_regression"]]
    [row] = [each for each in found if each["verdict"] == "mix"]

    assert planted["team"] == row["team"]
    assert ("held_back", "mix", False) == (row["state"], row["held_back_by"], row["was_open"])
    assert abs((row["started_on"] - date.fromisoformat(planted["first_day"])).days) <= 2
    assert "The work changed: " in row["sentence"]


def test_the_roll_out_that_coincides_is_named_and_no_other(
    truth: Row, truth_and_file: tuple[Row, Path]
) -> None:
    told = asked(
        truth_and_file[1],
        "select metric, name from regression_changes inner join regressions "
        "using (team, metric, started_on) where was_open",
    )

    assert [("pt2_compile_seconds", "trainer 8.0")] == told


def test_the_cost_is_told_in_gpu_hours(found: list[Row]) -> None:
    opened = [row for row in found if row["was_open"]]

    assert all(row["lost_gpu_seconds_per_day"] > 3600 for row in opened)
    assert all("GPU-hours a day" in row["sentence"] for row in opened)


def _name_the_causes(warehouse: Path, truth: Row) -> None:
    """Every death gets its true category: how well logs tell it is not what is tested here."""
    told = pl.DataFrame(
        [
            (job, attempt["attempt"], attempt["category"])
            for job, of_job in truth["jobs"].items()
            for attempt in of_job["attempts"]
            if attempt["category"]
        ],
        schema=["job_id", "attempt", "category"],
        orient="row",
    )
    with duckdb.connect(str(warehouse / "warehouse.duckdb")) as connection:
        connection.register("told", told.to_arrow())
        connection.execute(
            "update attempt_facts_kept as facts set category = told.category "
            "from told inner join job_names_kept as names on names.job_id = told.job_id "
            "where facts.job_no = names.job_no and facts.attempt = told.attempt "
            "and facts.outcome = 'failed'"
        )
