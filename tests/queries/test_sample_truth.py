"""The sample fleet through `ett-ingest`: exactly its truth, or what its broken lines explain."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sample_data.fleet import Fleet, of_size, write_fleet
from sample_data.planted import planted_regressions, roll_outs
from sample_data.rendering import Cloning
from sample_data.settings import Settings
from sample_data.teams import fleet_teams
from tests.oracle.measures import measure
from tests.queries.agreement import disagreements
from tests.queries.engine import ingest, rows, table

LAST_DAY = date(2026, 3, 31)
DAYS = 40
EVENTS = 30_000
BROKEN = 0.004
CLONES = Cloning(copies=3, shift_us=600_001_000)
EPOCH = datetime(1970, 1, 1)

Key = tuple[str, int]
Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A fleet on disk, what is true of it, and the warehouse of its dumps."""

    dumps: Path
    truth: dict[str, Any]
    warehouse: Path


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    settings = Settings(LAST_DAY, days=DAYS)
    teams = fleet_teams(settings.teams)
    return of_size(EVENTS, settings, planted_regressions(DAYS, teams), roll_outs(DAYS, teams))


@pytest.fixture(scope="module")
def whole(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """No line is broken."""
    return sampled(fleet, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def spoiled(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The same lines, some of them broken."""
    return sampled(fleet, tmp_path_factory.mktemp("spoiled"), broken=BROKEN)


# A complete dump


def test_a_complete_dump_gives_the_truth_of_every_attempt(whole: Sample) -> None:
    expected = attempts_in(whole.truth)

    assert len(expected) > 500
    assert expected == attempts_of(whole.warehouse)


def test_a_complete_dump_leaves_nothing_aside(whole: Sample) -> None:
    assert whole.truth["lines"] == sum(
        events for (events,) in rows(whole.warehouse, "select events from ingested_files")
    )
    assert [] == rows(whole.warehouse, "from rejected_lines")
    assert [(whole.truth["clock_us"],)] == rows(
        whole.warehouse, "select epoch_us(data_at) from sources"
    )


def test_every_job_belongs_to_its_team_and_workload(whole: Sample) -> None:
    assert {
        job: (told["team"], told["workload"], len(told["attempts"]))
        for job, told in whole.truth["jobs"].items()
        if told["attempts"]
    } == {
        job: (team, workload, attempts)
        for job, team, workload, attempts in rows(
            whole.warehouse, "select job_id, team, workload, attempts from jobs"
        )
    }


def test_the_days_of_the_fleet_add_up_to_the_truth(whole: Sample) -> None:
    expected: dict[str, int] = defaultdict(int)
    for told in attempts_in(whole.truth).values():
        for area, length in told["areas"].items():
            expected[area] += length

    assert expected == {
        area: us(seconds)
        for area, seconds in rows(
            whole.warehouse,
            "select area, sum(seconds) from area_by_team_day "
            "where team = 'fleet' and workload = 'all' group by area",
        )
    }
    assert [] == rows(whole.warehouse, "from identity_by_day where gap_us <> 0")


def test_what_is_told_against_the_truth_is_only_ever_a_consequence(whole: Sample) -> None:
    """Some attempts leave no more than the word of a rank that died of another's death."""
    truth = {
        (job, told["attempt"]): told["category"]
        for job, of_job in whole.truth["jobs"].items()
        for told in of_job["attempts"]
    }
    told = rows(
        whole.warehouse,
        "select job_id, attempt, failure_domain || '/' || failure_category from attempts "
        "where outcome = 'failed' and failure_category <> 'unclassified'",
    )
    wrong = [category for job, attempt, category in told if truth[job, attempt] != category]

    assert {"cascade"} == {category.partition("/")[0] for category in wrong}
    assert len(wrong) < 0.2 * len(told)


def test_clones_are_their_originals_at_other_times(tmp_path: Path) -> None:
    settings = Settings(LAST_DAY, days=12)
    sample = sampled(of_size(3_000, settings), tmp_path, cloning=CLONES)

    assert {
        (f"{job}-c{copy:04d}" if copy else job, attempt): earlier(told, copy * CLONES.shift_us)
        for (job, attempt), told in attempts_in(sample.truth).items()
        for copy in range(CLONES.copies)
    } == attempts_of(sample.warehouse)


# A dump with broken lines


def test_every_broken_line_is_set_aside_with_its_place_and_reason(spoiled: Sample) -> None:
    expected = {
        (line["file"], line["line"]): (line["reason"], line_of(spoiled, line))
        for line in spoiled.truth["broken"]
    }

    assert len(expected) > 80
    assert expected == {
        (Path(file).name, number): (reason, text)
        for file, number, reason, text in rows(
            spoiled.warehouse, "select file, line_number, reason, line from rejected_lines"
        )
    }
    assert spoiled.truth["lines"] - len(expected) == sum(
        events for (events,) in rows(spoiled.warehouse, "select events from ingested_files")
    )


def test_every_reason_says_more(spoiled: Sample) -> None:
    told = rows(spoiled.warehouse, "select distinct reason, detail from rejected_lines")

    assert len({reason for reason, _ in told}) >= 8
    assert [] == [reason for reason, detail in told if not detail]


def test_the_ledger_counts_the_broken_lines_of_each_dump(spoiled: Sample) -> None:
    assert {each["file"]: each["broken"] for each in spoiled.truth["files"]} == {
        Path(file).name: rejected
        for file, rejected in rows(spoiled.warehouse, "select file, rejected from ingested_files")
    }


def test_jobs_without_a_broken_line_have_their_truth(spoiled: Sample) -> None:
    complete = {job for job, told in spoiled.truth["jobs"].items() if told["is_complete"]}
    measured = attempts_of(spoiled.warehouse)

    assert len(complete) > 100
    assert {
        key: told for key, told in attempts_in(spoiled.truth).items() if key[0] in complete
    } == {key: told for key, told in measured.items() if key[0] in complete}


def test_attempts_away_from_a_broken_line_keep_what_they_did(spoiled: Sample) -> None:
    """A broken line changes its attempt, and what the ones beside it inherit.

    The one before ends when its successor starts; the one after starts again in its allocation,
    waits since its end, and recovers from its outcome. Only which training was lost, and how long
    a recovery took, can reach further.
    """
    touched = touched_in(spoiled.truth)
    near = {(job, number + step) for job, number in touched for step in (-1, 0, 1)}
    nameless = {line["job_id"] for line in spoiled.truth["broken"] if line["attempt"] is None}
    measured = attempts_of(spoiled.warehouse)
    expected = {
        key: told
        for key, told in attempts_in(spoiled.truth).items()
        if key not in near and key[0] not in nameless
    }
    of_incomplete = [key for key in expected if not spoiled.truth["jobs"][key[0]]["is_complete"]]

    assert len(of_incomplete) >= 5
    assert {key: undisputed(told) for key, told in expected.items()} == {
        key: undisputed(measured[key]) for key in expected
    }


def test_the_seconds_of_every_attempt_are_its_wall_whatever_is_broken(spoiled: Sample) -> None:
    told = attempts_of(spoiled.warehouse)

    assert [] == [
        key
        for key, each in told.items()
        if each["ended_us"] - each["started_us"] != sum(each["areas"].values())
    ]
    assert [] == rows(spoiled.warehouse, "from identity_by_day where gap_us <> 0")


def test_the_good_lines_alone_give_what_their_definitions_say(spoiled: Sample) -> None:
    """The oracle, which gets the good lines only, finds the same: nothing else was lost."""
    measures = measure(list(good_lines(spoiled)))

    found = [
        one
        for one in disagreements(spoiled.warehouse, measures)
        # the oracle knows no failure rules
        if (one.what, one.oracle) != ("failure_category", "unknown/unclassified")
    ]

    assert [] == found[:5]


@pytest.mark.slow
def test_the_broken_lines_told_again_whole_give_the_truth(
    spoiled: Sample, whole: Sample, tmp_path: Path
) -> None:
    """All that differs from the truth is explained by the lines that were broken."""
    mended = tmp_path / "mended.jsonl"
    mended.write_text(
        "".join(line_of(whole, line) + "\n" for line in spoiled.truth["broken"]), encoding="utf-8"
    )
    warehouse = shutil.copytree(spoiled.warehouse, tmp_path / "warehouse", symlinks=True)

    assert attempts_in(spoiled.truth) != attempts_of(spoiled.warehouse)
    assert 0 == ingest(warehouse, mended)
    assert attempts_in(spoiled.truth) == attempts_of(warehouse)
    # the dumps have other names
    attempts = "(select * exclude (failure_evidence_file) from attempts)"
    for view in (attempts, "jobs", "team_day", "area_by_team_day", "failures_by_team_day"):
        select = f"from {view} order by all"

        assert rows(whole.warehouse, select) == rows(warehouse, select)


# what is written, and what is asked of a warehouse


def sampled(
    fleet: Fleet, folder: Path, broken: float = 0.0, cloning: Cloning | None = None
) -> Sample:
    dumps, warehouse = folder / "dumps", folder / "warehouse"
    write_fleet(fleet, dumps, broken_ratio=broken, cloning=cloning)
    truth = json.loads((dumps / "truth.json").read_text(encoding="utf-8"))

    assert 0 == ingest(warehouse, dumps)
    return Sample(dumps, truth, warehouse)


def attempts_in(truth: dict[str, Any]) -> dict[Key, Told]:
    """The truth of every attempt, in words that a warehouse has too."""
    return {
        (job, told["attempt"]): {name: told[name] for name in TRUE}
        for job, of_job in truth["jobs"].items()
        for told in of_job["attempts"]
    }


TRUE = (
    "started_us",
    "ended_us",
    "outcome",
    "gpus",
    "areas",
    "recovery_us",
    "queue_us",
    "first_batch_us",
    "tts_us",
    "ttr_us",
    "ttr_without_queue_us",
)


def attempts_of(warehouse: Path) -> dict[Key, Told]:
    areas: dict[Key, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    recovery: dict[Key, int] = defaultdict(int)
    for job, attempt, area, is_recovery, seconds in rows(
        warehouse, "select job_id, attempt, area, is_recovery, seconds from area_by_attempt"
    ):
        areas[job, attempt][area] += us(seconds)
        recovery[job, attempt] += us(seconds) if is_recovery else 0
    return {
        (row["job_id"], row["attempt"]): {
            "started_us": instant(row["started_at"]),
            "ended_us": instant(row["ended_at"]),
            "outcome": row["outcome"],
            "gpus": row["gpus"],
            "areas": dict(areas[row["job_id"], row["attempt"]]),
            "recovery_us": recovery[row["job_id"], row["attempt"]],
            "queue_us": us(row["queue_seconds"]),
            "first_batch_us": instant(row["first_batch_at"]),
            "tts_us": us(row["tts_seconds"]),
            "ttr_us": us(row["ttr_seconds"]),
            "ttr_without_queue_us": us(row["ttr_without_queue_seconds"]),
        }
        for row in table(warehouse, "from attempts")
    }


def of_jobs(jobs: set[str], told: dict[Key, Told]) -> dict[Key, Told]:
    return {key: each for key, each in told.items() if key[0] in jobs}


def undisputed(told: Told) -> Told:
    """What no line of an attempt that is not beside this one can change."""
    areas = {area: length for area, length in told["areas"].items() if area not in LOSABLE}
    kept = {name: told[name] for name in TRUE if not name.startswith("ttr")}
    return kept | {"areas": areas, "trained": sum(told["areas"].get(area, 0) for area in LOSABLE)}


LOSABLE = ("effective", "unsaved")


def touched_in(truth: dict[str, Any]) -> set[Key]:
    return {
        (line["job_id"], line["attempt"]) for line in truth["broken"] if line["attempt"] is not None
    }


def earlier(told: Told, by_us: int) -> Told:
    times = ("started_us", "ended_us", "first_batch_us")
    return told | {name: told[name] - by_us for name in times if told[name] is not None}


def line_of(sample: Sample, broken: dict[str, Any]) -> str:
    """The text of a line as the Data page shows it."""
    lines = (sample.dumps / broken["file"]).read_bytes().split(b"\n")
    line: bytes = lines[broken["line"] - 1]
    return line.decode(errors="replace")[:2000]


def good_lines(sample: Sample) -> Iterator[dict[str, Any]]:
    broken = {(line["file"], line["line"]) for line in sample.truth["broken"]}
    for dump in sorted(sample.dumps.glob("events-*.jsonl")):
        for number, line in enumerate(dump.read_bytes().splitlines(), 1):
            if (dump.name, number) not in broken:
                yield json.loads(line)


def us(seconds: float | None) -> Any:
    return None if seconds is None else round(seconds * 1e6)


def instant(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - EPOCH) // timedelta(microseconds=1)
