"""Where time is lost, and what moved ETT: the parts of a whole are the whole, on random fleets."""

from __future__ import annotations

import json
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from queries import AREAS, model
from tests.app.macros import macros
from tests.app.macros import rows as rows_of
from tests.oracle.fleets import random_fleet
from tests.queries.engine import ingest, rows, table, write_dump

FIRST, SECOND, LAST = date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3)
PARTS = ("start_up", "recovery", "wasted", "shutdown", "unaccounted")
SPANS = ((FIRST, LAST), (SECOND, SECOND))
SCOPES = tuple(product(("fleet", "ranking", "ads"), ("all", "production"), SPANS))
TEAMS = tuple(product(("fleet", "ranking", "ads", "search"), ("all", "exploration")))
CHARGED = tuple(area for area in AREAS if area != "uninstrumented")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hundreds of random jobs of three days."""
    folder = tmp_path_factory.mktemp("losses")
    told = [event for seed in range(150) for event in random_fleet(seed, prefix=f"f{seed}-")]

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "events.jsonl", told))
    return folder / "warehouse"


@pytest.mark.parametrize(("team", "workload", "days"), SCOPES)
def test_the_parts_of_a_loss_are_the_loss_of_the_window(
    fleet: Path, team: str, workload: str, days: tuple[date, date]
) -> None:
    [parts] = table(fleet, "from window_losses(?, ?, ?, ?)", [team, workload, *days])
    [window] = table(fleet, "from window_of(?, ?, ?, ?)", [team, workload, *days])

    assert parts["lost_gpu_seconds"] == pytest.approx(window["lost_gpu_seconds"], abs=1e-5)
    for unit in ("seconds", "gpu_seconds"):
        assert parts[f"lost_{unit}"] == pytest.approx(
            sum(parts[f"{part}_{unit}"] for part in PARTS), abs=1e-5
        )
    assert 1 - window["ett_gpu_ratio"] == pytest.approx(
        sum(parts[f"{part}_gpu_ratio"] for part in PARTS)
    )


@pytest.mark.parametrize(("workload", "days"), tuple(product(("all", "production"), SPANS)))
def test_the_sums_of_a_team_are_those_of_its_window(
    fleet: Path, workload: str, days: tuple[date, date]
) -> None:
    names = ("attempts_ended", "gpu_seconds", "lost_gpu_seconds", "ett_ratio", "ett_gpu_ratio")
    for row in table(fleet, "from window_teams(?, ?, ?)", [workload, *days]):
        [window] = table(fleet, "from window_of(?, ?, ?, ?)", [row["team"], workload, *days])

        assert [window[name] for name in names] == [row[name] for name in names]


@pytest.mark.parametrize(("team", "workload", "days"), SCOPES)
def test_the_shares_of_all_areas_are_one_and_effective_is_ett(
    fleet: Path, team: str, workload: str, days: tuple[date, date]
) -> None:
    shares = table(fleet, "from window_shares(?, ?, ?, ?)", [team, workload, *days])
    [window] = table(fleet, "from window_of(?, ?, ?, ?)", [team, workload, *days])
    effective = [row for row in shares if row["area"] == "effective"]

    assert 1 == pytest.approx(sum(row["share_ratio"] or 0 for row in shares))
    assert window["ett_ratio"] == pytest.approx(effective[0]["share_ratio"])
    assert window["ett_gpu_ratio"] == pytest.approx(effective[0]["share_gpu_ratio"])


def test_the_fleet_loses_to_an_area_what_its_teams_lose(fleet: Path) -> None:
    lost = table(fleet, "from window_team_areas('all', ?, ?)", [FIRST, LAST])
    areas = rows(
        fleet,
        "select area, sum(gpu_seconds) from window_areas('fleet', 'all', ?, ?) group by area",
        [FIRST, LAST],
    )
    for area, gpu_seconds in areas:
        teams = [row for row in lost if row["area"] == area and row["team"] != "fleet"]
        if area not in ("effective", "uninstrumented"):
            assert gpu_seconds == pytest.approx(sum(row["gpu_seconds"] for row in teams))


def test_the_days_of_an_area_are_its_window(fleet: Path) -> None:
    days = table(fleet, "from shares_by_day('fleet', 'all', 'unsaved', ?, ?)", [FIRST, LAST])
    [(whole,)] = rows(
        fleet,
        "select gpu_seconds from window_areas('fleet', 'all', ?, ?) where area = 'unsaved'",
        [FIRST, LAST],
    )

    assert whole == pytest.approx(sum(row["gpu_seconds"] for row in days))


@pytest.mark.parametrize(("team", "workload", "days"), SCOPES)
def test_what_the_attempts_of_a_window_spent_is_what_the_window_says(
    fleet: Path, team: str, workload: str, days: tuple[date, date]
) -> None:
    """Of attempts that cross its borders, and of those that still run, what lies within."""
    attempts = table(fleet, "from window_attempts(?, ?, ?, ?)", [team, workload, *days])
    areas = rows(
        fleet,
        "select area, sum(seconds), sum(gpu_seconds) from window_areas(?, ?, ?, ?) "
        "where area <> 'uninstrumented' group by area",
        [team, workload, *days],
    )

    assert len(attempts) == len({(row["job_id"], row["attempt"]) for row in attempts}) > 0
    for area, seconds, gpu_seconds in areas:
        spent = [(row[f"{area}_seconds"], row["gpus"]) for row in attempts]
        assert seconds == pytest.approx(sum(each for each, _ in spent), abs=1e-4)
        assert gpu_seconds == pytest.approx(sum(each * (gpus or 0) for each, gpus in spent))


@pytest.mark.parametrize("days", SPANS)
@pytest.mark.parametrize("area", ["all", "trainer_init", "unsaved"])
def test_jobs_are_those_that_lost_most_to_an_area(
    fleet: Path, area: str, days: tuple[date, date]
) -> None:
    found = table(fleet, "from window_job_losses('fleet', 'all', ?, ?, ?)", [*days, area])
    column = "wall_seconds - effective_seconds" if area == "all" else f"{area}_seconds"
    expected = rows(
        fleet,
        f"select job_id, sum(gpus * ({column})) as lost "
        "from window_attempts('fleet', 'all', ?, ?) "
        "group by job_id having lost > 0 order by lost desc, job_id limit 100",
        list(days),
    )
    ranked = sorted(found, key=lambda row: (-row["lost_gpu_seconds"], row["job_id"]))

    assert expected == [(row["job_id"], pytest.approx(row["lost_gpu_seconds"])) for row in ranked]
    assert all(row["largest_gpu_seconds"] > 0 for row in found)


@pytest.mark.parametrize("by_weight", ["gpu", "wall"])
@pytest.mark.parametrize(("team", "workload"), TEAMS)
def test_what_moved_ett_adds_up_to_its_change(
    fleet: Path, team: str, workload: str, by_weight: str
) -> None:
    [now], [before] = (
        table(fleet, "from window_of(?, ?, ?, ?)", [team, workload, *days])
        for days in ((SECOND, LAST), (FIRST, FIRST))
    )
    ratio = "ett_gpu_ratio" if by_weight == "gpu" else "ett_ratio"
    [(moved,)] = rows(
        fleet,
        "select sum(moved_ratio) from window_moves(?, ?, ?, ?, ?, ?, ?)",
        [team, workload, by_weight, SECOND, LAST, FIRST, FIRST],
    )

    assert now[ratio] - before[ratio] == pytest.approx(moved, abs=1e-12)


def test_slower_work_of_the_same_mix_is_no_mix() -> None:
    found = moved(cell(FIRST, 8, trainer_init=10), cell(LAST, 8, trainer_init=30))

    assert found["trainer_init"] == pytest.approx(-0.2)
    assert {"trainer_init"} == {area for area, part in found.items() if abs(part) > 1e-12}


def test_another_mix_of_the_same_speed_is_all_mix() -> None:
    before = cell(FIRST, 8, trainer_init=10), cell(FIRST, 64, trainer_init=50)
    found = moved(*before, cell(LAST, 8, trainer_init=10), cell(LAST, 64, trainer_init=50, times=3))

    assert {"job_mix"} == {area for area, part in found.items() if abs(part) > 1e-12}
    assert found["job_mix"] < 0


@pytest.mark.parametrize("change", [{"gpus": 64}, {"model": "new"}, {"workload": "exploration"}])
def test_work_of_a_new_kind_is_mix(change: dict[str, Any]) -> None:
    new = {"gpus": 8, "trainer_init": 50} | change
    found = moved(cell(FIRST, 8, trainer_init=10), cell(LAST, **new))

    assert found["job_mix"] == pytest.approx(-0.4)
    assert {"job_mix"} == {area for area, part in found.items() if abs(part) > 1e-12}


def test_gpus_of_one_bucket_are_one_kind_of_work() -> None:
    found = moved(cell(FIRST, 16, trainer_init=10), cell(LAST, 64, trainer_init=50))

    assert 0 == found["job_mix"]


def test_without_a_window_before_nothing_is_said() -> None:
    assert {} == moved(cell(LAST, 8, trainer_init=10))


def test_a_publish_that_changes_a_day_has_the_cells_and_stages_of_one_built_whole(
    tmp_path: Path,
) -> None:
    fleets = [random_fleet(seed, prefix=f"f{seed}-") for seed in range(12)]
    early, late = fleets[:11], fleets[11]
    folders = [tmp_path / name for name in ("in-parts", "at-once")]
    first = write_dump(tmp_path / "first.jsonl", (event for told in early for event in told))
    second = write_dump(tmp_path / "second.jsonl", late)
    for folder, dump in ((folders[0], first), (folders[0], second), (folders[1], tmp_path)):
        assert 0 == ingest(folder, dump, "--as-of", "2026-03-04T00:00:00Z")

    for view in ("cells_by_team_day", "stages_by_team_day"):
        in_parts, at_once = (sorted(rows(folder, f"from {view}"), key=str) for folder in folders)

        assert at_once == in_parts
        assert at_once


def test_every_day_with_time_has_its_cells(fleet: Path) -> None:
    cells = rows(fleet, "select day, sum(wall_us) from cells_by_team_day group by day order by day")
    totals = rows(
        fleet,
        "select day, wall_us from team_day_totals "
        "where team = 'fleet' and workload = 'all' order by day",
    )

    assert totals == cells


def cell(
    day: date,
    gpus: int,
    *,
    trainer_init: int,
    model: str = "wukong",
    workload: str = "production",
    times: int = 1,
) -> dict[str, Any]:
    """A hundred seconds of one kind of work on one day, all but `trainer_init` of it effective."""
    seconds = {"trainer_init": trainer_init, "effective": 100 - trainer_init}
    return {
        "team": "ranking",
        "workload": workload,
        "model": model,
        "gpus": gpus,
        "day": day,
        **{f"{area}_us": seconds.get(area, 0) * 1_000_000 * times for area in CHARGED},
    }


def moved(*cells: dict[str, Any]) -> dict[str, float]:
    """What moved ETT from FIRST to LAST, by area."""
    select = "from window_moves('fleet', 'all', 'gpu', $1, $1, $2, $2)"
    with macros({"cells_by_team_day": pl.DataFrame(cells)}, "window_moves") as connection:
        return {row["area"]: row["moved_ratio"] for row in rows_of(connection, select, LAST, FIRST)}


def test_the_ett_of_a_job_is_of_its_gpu_time(tmp_path: Path) -> None:
    """An hour of training on one GPU, and one of starting on 99."""
    begins = 1_772_323_200  # 2026-03-01T00:00:00Z
    told = [
        {"job_id": "mix", "attempt": attempt, "ts": ts, **event}
        for attempt, (gpus, phase) in enumerate(((1, "training"), (99, "trainer_init")), 1)
        for ts, event in (
            (begins + 3600 * (attempt - 1), {"event": "attempt_start", "gpus": gpus}),
            (
                begins + 3600 * (attempt - 1),
                {"event": "phase_start", "phase": phase, "end_ts": begins + 3600 * attempt},
            ),
            (begins + 3600 * attempt, {"event": "attempt_end", "outcome": "completed"}),
        )
    ]
    dump = write_dump(tmp_path / "job.jsonl", told)
    assert 0 == ingest(tmp_path / "warehouse", dump)

    [job] = table(tmp_path / "warehouse", "from jobs")
    [lost] = table(
        tmp_path / "warehouse",
        "from window_job_losses('fleet', 'all', ?, ?, 'all')",
        [FIRST, FIRST],
    )

    assert (0.5, 0.01) == (job["ett_ratio"], job["ett_gpu_ratio"])
    assert 0.01 == lost["ett_gpu_ratio"]
    assert 99 * 3600 == lost["lost_gpu_seconds"]


# a phase that all ranks tell of, and the rank of which it failed -> how many were good
TOLD_BY_ALL = {
    ("checkpoint_save", None): 40,
    ("checkpoint_save", 3): 0,
    ("checkpoint_upload", 3): 0,
}


@pytest.fixture(scope="module")
def told_by_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a job for each of them."""
    folder = tmp_path_factory.mktemp("told-by-all")
    told = [event for phase, rank in TOLD_BY_ALL for event in saved_by_all(phase, rank)]

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "events.jsonl", told))
    return folder / "warehouse"


def saved_by_all(phase: str, failed_rank: int | None) -> list[dict[str, Any]]:
    begun, told = 1_772_438_400, list[dict[str, Any]]()
    base = {"job_id": f"{phase} {failed_rank}", "event": "phase_start"}
    for save in range(40):
        at = begun + 100 * (save + 1)
        told.append({**base, "ts": at - 100, "end_ts": at, "phase": "training"})
        span = {**base, "ts": at, "end_ts": at + 10, "step": 100 * (save + 1), "mode": "async"}
        if phase == "checkpoint_upload":
            told.append({**span, "phase": "checkpoint_save"})
        told += [
            {**span, "phase": phase, "rank": rank, "ok": rank != failed_rank} for rank in range(8)
        ]
    return [*told, {**base, "event": "attempt_end", "ts": begun + 4100, "outcome": "failed"}]


@pytest.mark.parametrize(
    ("phase", "failed_rank", "good"), [(*told, good) for told, good in TOLD_BY_ALL.items()]
)
def test_what_all_ranks_tell_at_the_same_instants_is_one_save(
    told_by_all: Path, phase: str, failed_rank: int | None, good: int
) -> None:
    """Where the line of a rank that failed stands among its equals changes nothing."""
    job = f"{phase} {failed_rank}"
    [attempt] = table(told_by_all, "from attempts where job_id = ?", [job])
    # 100 s to the first capture, then 90 s between a save and the next
    assert (100 + 39 * 90 if good else 0) == attempt["effective_seconds"]
    if phase == "checkpoint_save":
        assert good == attempt["checkpoint_saves"]


def test_a_job_that_fails_many_times_in_a_row_costs_rows_not_rows_squared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 4_000
    told = [event for number in range(1, attempts + 1) for event in failed_at_once(number)]
    most = most_rows(monkeypatch)

    assert 0 == ingest(tmp_path / "warehouse", write_dump(tmp_path / "events.jsonl", told))
    assert [(attempts, attempts * 25.0)] == rows(
        tmp_path / "warehouse", "select count(*), sum(unsaved_seconds) from attempts"
    )
    assert most
    assert {} == {name: rows for name, rows in most.items() if rows > attempts**2 / 20}


def failed_at_once(number: int) -> list[dict[str, Any]]:
    """An attempt of one job that trains for 25 s, saves nothing and fails, a minute each."""
    starts = 1_767_225_600 + 60 * number
    base = {"job_id": "loop", "attempt": number, "gpus": 8}
    return [
        {**base, "ts": starts, "event": "attempt_start"},
        {
            **base,
            "ts": starts + 5,
            "end_ts": starts + 30,
            "event": "phase_start",
            "phase": "training",
        },
        {**base, "ts": starts + 30, "event": "attempt_end", "outcome": "failed"},
    ]


def most_rows(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Of each model that runs from now on, the rows of the step of its plan that gave the most.

    Rows, not seconds: how long they take depends on who else computes on this machine.
    """
    most: dict[str, int] = {}

    def run(connection: duckdb.DuckDBPyConnection, text: str) -> None:
        made, has_select, _ = text.partition(" as ")
        if not has_select or " table " not in made:
            connection.execute(text)
            return
        explained = connection.execute(f"explain (analyze, format json) {text}").fetchall()
        name = made.split()[-1]
        [plan] = json.loads(explained[0][1])["operator"]
        most[name] = max(most.get(name, 0), *widths(plan))

    monkeypatch.setattr(model, "_run", run)
    return most


def widths(plan: dict[str, Any]) -> list[int]:
    """How many rows each step of a plan gave."""
    below = [width for each in plan.get("children", []) for width in widths(each)]
    return [plan["intermediate_rows"], *below]
