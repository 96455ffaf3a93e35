"""`ett-warehouse`: what it says of a sound and of a damaged warehouse, and what it keeps."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest import keep
from ingest.warehouse import locked
from queries import published
from tests.ingest.trainer_logs import MEGATRON
from tests.ingest.warehouses import STARTED_AT, VIEWS, contents, differences, fleet, kept, life
from tests.queries import telling
from tests.queries.engine import ingest, rows, write_dump
from tests.queries.telling import SCHEDULER, TRAINER, write_told
from tests.queries.test_joining import job
from tests.queries.test_joining import life as launch

DAY = 86_400
REACHES = "2026-03-20T00:00:00Z"
Fields = dict[str, Any]


def later(days: int, events: Iterable[Fields]) -> list[Fields]:
    return [event | {"ts": event["ts"] + days * DAY} for event in events]


def warehouse_command(command: str, warehouse: Path, *arguments: object) -> int:
    return keep.main([command, *map(str, arguments), "--warehouse", str(warehouse)])


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random fleets of the first of March, a job on each later day, one that never began."""
    folder = tmp_path_factory.mktemp("months")
    events = [*fleet(61, size=3), {"ts": "2026-03-01T00:00:00Z", "event": "job", "job_id": "asked"}]
    for day in range(8):
        events += later(day, life(f"day-{day}"))
    ingest(folder / "warehouse", "--as-of", REACHES, write_dump(folder / "dump.jsonl", events))
    return folder / "warehouse"


@pytest.fixture
def warehouse(months: Path, tmp_path: Path) -> Path:
    shutil.copytree(months, tmp_path / "warehouse")
    return tmp_path / "warehouse"


@pytest.fixture(scope="module")
def pruned_months(months: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, when all that was over before the sixth is pruned."""
    folder = tmp_path_factory.mktemp("pruned") / "warehouse"
    shutil.copytree(months, folder)

    assert 0 == warehouse_command("prune", folder, "--before", "2026-03-06")
    return folder


@pytest.fixture
def pruned(pruned_months: Path, tmp_path: Path) -> Path:
    shutil.copytree(pruned_months, tmp_path / "warehouse")
    return tmp_path / "warehouse"


@pytest.fixture(scope="module")
def one_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    ingest(folder / "warehouse", write_dump(folder / "a.jsonl", life("a")))
    return folder / "warehouse"


@pytest.fixture
def other(one_job: Path, tmp_path: Path) -> Path:
    """A warehouse of the job `a` alone."""
    shutil.copytree(one_job, tmp_path / "other")
    return tmp_path / "other"


def test_a_sound_warehouse_is_said_to_be_sound(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (warehouse / "warehouse.duckdb").read_bytes()
    status = warehouse_command("check", warehouse)

    assert (0, f"{warehouse}: sound\n") == (status, capsys.readouterr().out)
    assert before == (warehouse / "warehouse.duckdb").read_bytes()


def change(*statements: str, file: str = "warehouse.duckdb") -> Callable[[Path], None]:
    def damage(warehouse: Path) -> None:
        with duckdb.connect(str(warehouse / file)) as writer:
            for statement in statements:
                writer.execute(statement)

    return damage


def cut(pattern: str) -> Callable[[Path], None]:
    def damage(warehouse: Path) -> None:
        [path] = warehouse.glob(pattern)
        path.write_bytes(path.read_bytes()[:100])

    return damage


def remove(pattern: str) -> Callable[[Path], None]:
    def damage(warehouse: Path) -> None:
        [path] = warehouse.glob(pattern)
        path.unlink()

    return damage


DAY_4 = "job_no = (select job_no from job_keys where job_key = 'day-4')"
DETECTOR = "serving-1.duckdb, detector: 2 rows unlike what the facts give."
# what one command finds and another mends
MENDABLE = {
    "areas do not sum to the wall time of 1 attempt-day": change(
        f"update attempt_day_facts_kept set effective_us = effective_us + 1 where base_{DAY_4}"
    ),
    "serving-1.duckdb, window_of: missing. Run": change(
        "drop macro table window_of", file="serving-1.duckdb"
    ),
    "serving-1.duckdb, area_by_attempt: missing. Run": change(
        "drop view area_by_attempt", file="serving-1.duckdb"
    ),
    "team_day_sums: 2 rows unlike what the events give": change(
        "update team_day_sums_kept set gpu_us = gpu_us + 1 where day = '2026-03-05'"
    ),
    "serving-1.duckdb, failures_by_team_day: ": change(
        "update failures_by_team_day set interruptions = 9", file="serving-1.duckdb"
    ),
    DETECTOR: change(
        "update detector set made_of = 'of another release', failed_because = 'it did'",
        file="serving-1.duckdb",
    ),
    "00000001-0.parquet cannot be read": cut("detail/*.parquet"),
}
LOST = {
    "1 job with attempt_facts but no events": change(
        f"delete from plain_events where {DAY_4}", f"delete from told_events where {DAY_4}"
    ),
    "1 dump with fewer events than the ledger says. Restore a backup": change("select 1"),
    "readers do not see the newest commit": remove("CURRENT"),
}


def checked(warehouse: Path) -> tuple[int, str]:
    with redirect_stdout(StringIO()) as out:
        return warehouse_command("check", warehouse), out.getvalue()


@dataclass(frozen=True, slots=True)
class Mended:
    """What a check said of a damaged warehouse, what then mended it, and what it says now."""

    warehouse: Path
    found: tuple[int, str]
    by: set[str]
    status: int
    left: tuple[int, str]


@pytest.fixture(scope="module")
def mended(months: Path, tmp_path_factory: pytest.TempPathFactory) -> Mended:
    warehouse = tmp_path_factory.mktemp("mended") / "warehouse"
    shutil.copytree(months, warehouse)
    (warehouse / "serving-9.building").touch()
    (warehouse / "watch.building").touch()
    for damage in MENDABLE.values():
        damage(warehouse)
    found = checked(warehouse)
    commands = {*re.findall("Run `ett-warehouse ([^`]+)`", found[1])}
    status = keep.main(shlex.split(next(iter(commands))))
    return Mended(warehouse, found, commands, status, checked(warehouse))


def test_damage_is_found_and_mended_by_a_rebuild(mended: Mended, months: Path) -> None:
    status, out = mended.found

    assert (1, []) == (status, [said for said in MENDABLE if said not in out]), out
    assert 1 == len(mended.by)
    assert 0 == mended.status
    assert {} == differences(months, mended.warehouse)


def test_what_a_watcher_was_writing_is_not_said_to_go_with_a_publication(mended: Mended) -> None:
    _, out = mended.found
    left_over = f"{mended.warehouse}/serving-9.building and perhaps others are left over"

    assert [f"note: {left_over}"] == re.findall("note: .*left over", out)
    assert (0, f"{mended.warehouse}: sound\n") == mended.left


def test_what_another_releases_detector_found_is_sound_where_it_found_the_same(
    warehouse: Path, mended: Mended
) -> None:
    change("update detector set made_of = 'of another release'", file="serving-1.duckdb")(warehouse)

    assert (0, f"{warehouse}: sound\n") == checked(warehouse)
    assert 1 == mended.found[0]
    assert DETECTOR in mended.found[1]


def test_a_publication_that_is_lost_needs_a_rebuild_and_no_dumps(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (warehouse / "CURRENT").unlink()
    status = warehouse_command("check", warehouse)
    commands = re.findall("Run `([^`]+)`", capsys.readouterr().out)
    mended = keep.main(shlex.split(commands[0])[1:])

    assert (1, {f"ett-warehouse rebuild --warehouse {warehouse}"}) == (status, set(commands))
    assert (0, 0) == (mended, warehouse_command("check", warehouse))


def test_events_that_are_gone_are_found_and_need_a_backup(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for damage in LOST.values():
        damage(warehouse)
    status = warehouse_command("check", warehouse)
    out = capsys.readouterr().out

    assert (1, []) == (status, [said for said in LOST if said not in out]), out


NUMBERS = [view for view in VIEWS if view != "anomalies"]


def numbers(warehouse: Path, last_day: str = "2026-03-05") -> dict[str, list[tuple[Any, ...]]]:
    """All that readers see of the days up to this, but what was drawn of jobs."""
    by_day = (
        "team_day",
        "team_day_totals",
        "day_latencies",
        "failures_by_team_day",
        "save_times",
        "identity_by_day",
    )
    return {
        view: rows(warehouse, f"select * from {view} where day <= ? order by all", [last_day])
        for view in by_day
    } | {
        "jobs": rows(
            warehouse,
            "select * from jobs where last_ended_at < ?::date + 1 order by all",
            [last_day],
        )
    }


def test_what_was_pruned_keeps_its_numbers_whatever_comes_later(
    warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, all_before = numbers(warehouse), contents(warehouse, NUMBERS)
    events = kept(warehouse, "select count(*) from events")
    would = warehouse_command("prune", warehouse, "--before", "2026-03-06", "--dry-run")
    said = capsys.readouterr().out
    untouched = kept(warehouse, "select count(*) from events")
    pruned = warehouse_command("prune", warehouse, "--before", "2026-03-06")
    after = contents(warehouse, NUMBERS)
    left = kept(
        warehouse,
        f"select job_key {LEFT} order by all",
    )

    assert (0, 0) == (would, pruned)
    assert "would drop" in said
    assert "the events of 4 jobs stay" in said
    assert events == untouched
    assert [("asked",), ("day-5",), ("day-6",), ("day-7",)] == left
    assert all_before | {"detail": []} == after | {"detail": []}
    assert {"day-5", "day-6", "day-7"} == {row[0] for row in after["detail"]}

    # news of kept jobs, of others on an old day, and all anew
    more = [*later(5, life("day-5", seconds=900)), *later(8, life("day-8"))]
    assert 0 == ingest(warehouse, write_dump(tmp_path / "more.jsonl", more))
    assert before == numbers(warehouse)
    assert 0 == warehouse_command("rebuild", warehouse)
    assert before == numbers(warehouse)
    assert 0 == warehouse_command("check", warehouse)


@pytest.fixture(scope="module")
def of_an_earlier_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pruned jobs with what an earlier release made of them, in a warehouse of this one."""
    folder = tmp_path_factory.mktemp("earlier")
    warehouse, scheduled = folder / "warehouse", folder / "sacct.txt"
    of_unknown_gpus = [
        {name: value for name, value in event.items() if name != "gpus"}
        | ({"outcome": "failed"} if event["event"] == "attempt_end" else {})
        for event in life("of unknown GPUs")
    ]
    scheduled.write_text(
        "JobID|State|Start|End|AllocTRES\n"
        "1|NODE_FAIL|2026-03-02T10:00:00|2026-03-02T12:00:00|gres/gpu=8\n"
    )
    staged = life("staged")
    stage = {"event": "phase_start", "phase": "trainer_init", "stage": "reading"}
    staged += [staged[0] | stage | {"end_ts": STARTED_AT + 5}]
    staged[1]["ts"] = STARTED_AT + 5  # training begins behind it
    told = [*of_unknown_gpus, *staged, *later(5, life("late"))]
    ingest(warehouse, write_dump(folder / "dump.jsonl", told), scheduled)

    assert 0 == warehouse_command("prune", warehouse, "--before", "2026-03-05")
    change(
        "update attempt_facts_kept set lost_gpu_us = 0, caused_recovery_gpu_us = 0 "
        "where gpus is null or not is_instrumented",
        "update stage_facts_kept set startup_us = null",
        "update meta set facts_models = 'of an earlier release'",
    )(warehouse)
    assert 0 == warehouse_command("rebuild", warehouse)
    return warehouse


def test_what_an_earlier_release_told_of_unknown_gpus_of_pruned_jobs_is_unknown_now(
    of_an_earlier_release: Path,
) -> None:
    assert [(None,)] == rows(
        of_an_earlier_release,
        "select lost_gpu_seconds from attempts where job_id = 'of unknown GPUs'",
    )


def test_what_an_earlier_release_told_of_pruned_jobs_that_no_source_looked_into_is_unknown_now(
    of_an_earlier_release: Path,
) -> None:
    assert [(None,)] == rows(
        of_an_earlier_release,
        "select sum(lost_gpu_seconds) from failures_by_team_day "
        "where interruptions > 0 and day = '2026-03-02'",
    )


def test_stages_of_pruned_jobs_of_an_earlier_release_are_still_what_is_usual(
    of_an_earlier_release: Path,
) -> None:
    cells = "select distinct amount_us from series_cells_kept where metric like '%reading_seconds'"

    assert [(5_000_000,)] == kept(of_an_earlier_release, cells)


UNTIL = " until 2026-03-05"  # stands behind the names of pruned jobs that others are called by
# pruned jobs that others are called as, and whether what they are called now is told of last
TAKEN = {"day-1": True, "day-3": False}


@dataclass(frozen=True, slots=True)
class CalledAgain:
    """A pruned warehouse that was told late of a pruned job; and later of jobs called as such."""

    late: Path
    later: Path
    check: int


@pytest.fixture(scope="module")
def called_again(pruned_months: Path, tmp_path_factory: pytest.TempPathFactory) -> CalledAgain:
    folder = tmp_path_factory.mktemp("again")

    def load(warehouse: str, dump: str, events: list[Fields]) -> None:
        ingest(folder / warehouse, write_dump(folder / dump, events))

    shutil.copytree(pruned_months, folder / "late")
    load("late", "again.jsonl", [*later(2, life("day-2", seconds=900)), *life("x")])
    load("late", "more.jsonl", later(2, life("day-2", seconds=300)))
    shutil.copytree(folder / "late", folder / "later")
    told = [later(9, life("day-2", seconds=900)), []]
    for name, is_told_last in TAKEN.items():
        told[not is_told_last] += later(9, life(name, seconds=900))
        for taken in (f"{name}{UNTIL}", f"{name}{UNTIL}{UNTIL}"):
            told[is_told_last] += later(9, life(taken, seconds=300))
    load("later", "new.jsonl", told[0])
    load("later", "newer.jsonl", told[1])
    check = warehouse_command("check", folder / "later")
    return CalledAgain(folder / "late", folder / "later", check)


def walls(warehouse: Path, name: str) -> list[tuple[Any, ...]]:
    """The seconds of a job and of those whose names begin with its name."""
    return rows(
        warehouse,
        "select job_id, wall_seconds from jobs where starts_with(job_id, ?) order by job_id",
        [name],
    )


def test_late_events_of_a_pruned_job_are_an_anomaly_and_later_ones_a_job_of_their_own(
    pruned_months: Path, called_again: CalledAgain
) -> None:
    late = called_again.late

    assert [
        (
            "day-2",
            "late_for_pruned",
            "left out, because the other events were pruned: one told at "
            "2026-03-03T00:00:00.000Z and 7 more",
        )
    ] == rows(late, "select job_id, kind, detail from anomalies where kind like 'late%'")
    # a job that was never heard of is no part of what was pruned
    assert numbers(pruned_months)["jobs"] == [row for row in numbers(late)["jobs"] if row[0] != "x"]
    assert [("day-2", 600.0), ("x", 600.0)] == [*walls(late, "day-2"), *walls(late, "x")]

    assert [("day-2", 900.0), (f"day-2{UNTIL}", 600.0)] == walls(called_again.later, "day-2")
    assert [("x", 600.0)] == walls(called_again.later, "x")
    assert 0 == called_again.check


@pytest.mark.parametrize("name", TAKEN)
def test_a_job_that_is_really_called_as_a_pruned_one_is_now_is_another(
    called_again: CalledAgain, name: str
) -> None:
    taken = [f"{name}{UNTIL}", f"{name}{UNTIL}{UNTIL}"]
    *others, (renamed, seconds) = walls(called_again.later, name)

    assert [(name, 900.0), *((each, 300.0) for each in taken)] == others
    assert (f"{taken[1]}{UNTIL}", 600.0) == (renamed[: len(taken[1]) + len(UNTIL)], seconds)
    assert 0 == called_again.check


def test_a_number_that_was_given_out_again_after_a_prune_is_not_said_to_count_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dump = tmp_path / "sacct.txt"
    for number, day in ((17, 1), (18, 19), (17, 20)):
        dump.write_text(
            "JobID|State|Start|End|AllocTRES\n"
            f"{number}|COMPLETED|2026-03-{day:02}T08:00:00|2026-03-{day:02}T09:00:00|gres/gpu=8\n"
        )
        ingest(tmp_path / "warehouse", dump)
        warehouse_command("prune", tmp_path / "warehouse", "--before", "2026-03-06")

    assert [("17",), ("17 until 2026-03-05",), ("18",)] == rows(
        tmp_path / "warehouse", "select job_id from jobs order by all"
    )
    assert "counts twice" not in caplog.text


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Kiritimati"])
def test_what_a_prune_left_is_called_by_days_of_the_zone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    zone: str,
) -> None:
    settings, warehouse = tmp_path / "ett.toml", tmp_path / "warehouse"
    settings.write_text(f'timezone = "{zone}"\n')
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    ingest(warehouse, write_dump(tmp_path / "a.jsonl", [*life("a"), *later(19, life("b"))]))
    warehouse_command("prune", warehouse, "--before", "2026-03-06")
    ingest(warehouse, write_dump(tmp_path / "new.jsonl", later(20, life("a"))))
    settings.write_text('timezone = "UTC"\n')
    capsys.readouterr()
    warehouse_command("check", warehouse)
    checked = capsys.readouterr().out

    assert [("a",), ("a until 2026-03-05",), ("b",)] == rows(
        warehouse, "select job_id from jobs order by all"
    )
    # no rebuild would help, and so none is named
    assert checked.startswith(
        f"timezone was {zone} and is now UTC, but the events of 1 job from before 2026-03-06 were "
    )
    assert checked.endswith(f"{warehouse}: 1 finding\n")


LEFT = "from job_keys where job_no in (select job_no from events)"


def test_an_ingest_says_how_much_came_too_late_for_pruned_jobs(
    pruned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = [*later(2, life("day-2", seconds=900)), *later(3, life("day-3", seconds=900))]
    dump = write_dump(tmp_path / "late.jsonl", [*late, *later(9, life("new"))])
    capsys.readouterr()
    ingest(pruned, "--dry-run", dump)
    would = capsys.readouterr().out
    ingest(pruned, dump)
    said = capsys.readouterr().out

    assert "would load 4 events of 1 job from 1 file" in would
    assert would.endswith(
        "would leave out 8 events of jobs whose other events were pruned: they come too late\n"
    )
    assert "loaded 4 events of 1 job from 1 file" in said
    assert said.endswith(
        "left out 8 events of jobs whose other events were pruned: they come too late\n"
        "they are counted by job in the view anomalies, as late_for_pruned\n"
    )


# what sources say before a prune; after it of pruned jobs alone; and after it of others too
EARLY: dict[str, list[Fields]] = {SCHEDULER: [], TRAINER: []}
LATE: dict[str, list[Fields]] = {SCHEDULER: [], TRAINER: []}
NEWS: dict[str, list[Fields]] = {SCHEDULER: [], TRAINER: []}
OTHER = {SCHEDULER: TRAINER, TRAINER: SCHEDULER}


@dataclass(frozen=True, slots=True)
class Late:
    """The warehouse of the stories of jobs that are told of before a prune and after it."""

    warehouse: Path
    of_text: int  # events that the text log told before
    # before what came too late, and after it
    team_days: list[list[tuple[Any, ...]]]
    numbers: list[dict[str, list[tuple[Any, ...]]]]
    detail: list[tuple[Any, ...]]  # once it was pruned
    check: int

    def anomalies(self, select: str, *jobs: str) -> list[tuple[Any, ...]]:
        return rows(
            self.warehouse,
            f"select {select} from anomalies where kind = 'late_for_pruned' "
            "and job_id in (select unnest(?)) order by job_id",
            [jobs],
        )


@pytest.fixture(scope="module")
def too_late(tmp_path_factory: pytest.TempPathFactory) -> Late:
    folder = tmp_path_factory.mktemp("late")
    warehouse = folder / "warehouse"
    team_days, old_numbers = [], []
    tries = [folder / "sacct-0.txt", folder / "sacct-1.txt"]
    for dump, row in zip(tries, TRIES, strict=True):
        dump.write_text("\n".join((TRIES_HEADER, FIRST_TRY, row)) + "\n")
    native = write_dump(folder / "native.jsonl", NATIVE)
    logs = [folder / "train" / "megatron.log", folder / "native.log"]
    logs[0].parent.mkdir()
    logs[0].write_text(MEGATRON, encoding="utf-8")
    write_dump(logs[1], [*life("a"), *later(19, life("b"))])

    def go_on() -> None:
        for log, line in zip(logs, ("more", json.dumps(later(19, life("b"))[0])), strict=True):
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def note() -> None:
        team_days.append(rows(warehouse, "select * from team_day order by all"))
        old_numbers.append(numbers(warehouse, "2026-03-10"))

    def load(name: str, told: dict[str, list[Fields]], *more: object) -> None:
        dumps = [write_told(folder / f"{name}-{source}", source, told[source]) for source in told]

        assert 0 == ingest(warehouse, *more, *dumps)

    with pytest.MonkeyPatch.context() as patch:
        telling.register(patch)
        load("early", EARLY, "--as-of", REACHES, native, tries[0], *logs)
        [(of_text,)] = kept(
            warehouse,
            "select count(*) from events inner join job_keys using (job_no) "
            "where job_key = 'megatron'",
        )
        assert 0 == warehouse_command("prune", warehouse, "--before", "2026-03-10")
        detail = contents(warehouse)["detail"]
        note()
        go_on()
        load("late", LATE, *logs)
        go_on()
        assert 0 == ingest(warehouse, *logs)
        (packed := folder / "native.gz").write_bytes(gzip.compress(logs[1].read_bytes() + b"\n"))
        ingest(warehouse, packed)
        note()
        load("news", NEWS, tries[1])
        check = warehouse_command("check", warehouse)
        return Late(warehouse, of_text, team_days, old_numbers, detail, check)


def test_a_log_that_goes_on_after_a_prune_brings_nothing_back_and_counts_it_once(
    too_late: Late,
) -> None:
    before, after = too_late.numbers
    own = "job_key in ('a', 'b', 'megatron')"

    assert [("a",), ("megatron",)] == kept(
        too_late.warehouse, f"select job_key from pruned_jobs where {own} order by 1"
    )
    assert [("b",)] == kept(too_late.warehouse, f"select job_key {LEFT} and {own}")
    assert before == after
    # each telling of the native log in other words is one more; the log that grows is one
    assert [("a", 8), ("megatron", too_late.of_text)] == too_late.anomalies(
        "job_id, 1 + regexp_extract(detail, '(\\d+) more', 1)::int", "a", "b", "megatron"
    )
    assert 0 == too_late.check


OVER, GOES_ON = ("COMPLETED", 0, 10, 1000), ("COMPLETED", 1100, 1200, 10 * DAY)
TOLD_TWICE = {
    SCHEDULER: ("95", job("95", OVER), launch("run", "a", 20, 900, scheduler_job="95")),
    TRAINER: ("run 96", launch("run 96", "b", 20, 900, scheduler_job="96"), job("96", OVER)),
}
for first, (_, told_first, told_second) in TOLD_TWICE.items():
    EARLY[first] += told_first
    LATE[OTHER[first]] += told_second


@pytest.mark.parametrize("first", [SCHEDULER, TRAINER])
def test_another_source_that_comes_too_late_for_a_pruned_job_doubles_no_time(
    too_late: Late, first: str
) -> None:
    name, _, told_second = TOLD_TWICE[first]
    before, after = too_late.team_days

    assert before == after
    assert [(len(told_second),)] == too_late.anomalies(
        "1 + regexp_extract(detail, '(\\d+) more', 1)::int", name
    )


ran_on = launch("run 98", "d", 1250, 10 * DAY - 50)
ran_on[0]["scheduler_job"] = "98"
EARLY[SCHEDULER] += [*job("97", OVER), *job("98", GOES_ON)]
NEWS[TRAINER] += [*launch("run 98", "c", 20, 900, scheduler_job="97"), *ran_on]


def test_of_a_late_log_only_the_launches_of_pruned_jobs_are_left_out(too_late: Late) -> None:
    assert [("97", None), ("98", 10 * DAY - 1330)] == rows(
        too_late.warehouse,
        "select job_id, effective_seconds from jobs where job_id in ('97', '98', 'run 98') "
        "order by all",
    )
    assert [("97",)] == too_late.anomalies("job_id", "97", "98", "run 98")
    assert 0 == too_late.check


# a number that one source tells first; the other one tells it of when that job ran, or of later
NUMBERED = {(SCHEDULER, 0): 101, (SCHEDULER, 2000): 102, (TRAINER, 0): 103, (TRAINER, 2000): 104}


def called(source: str, number: int) -> str:
    return f"c1:{number}" if source == SCHEDULER else f"{number}"


def told_of_number(source: str, number: int, begin: int) -> list[Fields]:
    name = called(source, number)
    if source == SCHEDULER:
        return job(name, ("COMPLETED", begin, begin + 10, begin + 1000))
    return launch(name, f"of {number}", begin + 20, begin + 900)


for (first, begin), number in NUMBERED.items():
    EARLY[first] += told_of_number(first, number, 0)
    (NEWS if begin else LATE)[OTHER[first]] += told_of_number(OTHER[first], number, begin)


@pytest.mark.parametrize("first", OTHER)
@pytest.mark.parametrize(("begin", "is_late"), [(0, True), (2000, False)])
def test_a_number_is_the_pruned_job_that_was_called_by_it_if_it_ran_then(
    too_late: Late, first: str, begin: int, is_late: bool
) -> None:
    named, other = (called(source, NUMBERED[first, begin]) for source in (first, OTHER[first]))

    assert ({named} if is_late else {named, other}) == {
        name
        for (name,) in rows(
            too_late.warehouse, "select job_id from jobs where job_id in (?, ?)", [named, other]
        )
    }
    assert [(named,)] * is_late == too_late.anomalies("job_id", named, other)
    assert 0 == too_late.check


queued = {"event": "phase_start", "phase": "queue", "job_id": "told", "attempt": 2}
NATIVE = [*life("told", outcome="preempted"), life("told")[3] | queued, *life("over")]
KEPT = [f"kept {number}" for number in range(30)]
NATIVE += [event for name in KEPT for event in later(12, life(name))]
TRIES_HEADER = "JobID|Account|State|Submit|Start|End"
FIRST_TRY = "17|a|PREEMPTED|2026-03-01T00:00:00|2026-03-01T00:10:00|2026-03-01T01:00:00"
TRIES = [
    "17|a|PENDING|2026-03-01T01:00:00|Unknown|Unknown",
    "17|a|FAILED|2026-03-01T01:00:00|2026-03-19T01:00:00|2026-03-19T02:00:00",
]


def test_a_job_that_waits_for_its_next_try_is_not_pruned(too_late: Late) -> None:
    assert [("over",)] == kept(
        too_late.warehouse,
        "select job_key from pruned_jobs where job_key in ('told', 'over', '17')",
    )
    assert [("a", 18 * DAY)] == rows(
        too_late.warehouse,
        "select team, queue_seconds from attempts where job_id = '17' and attempt = 2",
    )


def test_readers_are_led_to_the_detail_that_a_prune_wrote_anew(too_late: Late) -> None:
    told_of = {name for name, *_ in too_late.detail}

    assert {*KEPT} == {name for name in told_of if name.startswith("kept")}
    assert "over" not in told_of
    assert 0 == too_late.check


def test_settings_that_pruned_jobs_cannot_follow_are_refused(
    pruned: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    warehouse, settings = pruned, tmp_path / "ett.toml"
    settings.write_text('timezone = "Asia/Tokyo"\n')
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    capsys.readouterr()
    status = warehouse_command("rebuild", warehouse)

    refused = (
        "timezone was UTC and is now Asia/Tokyo, but the events of 14 jobs from before 2026-03-06 "
        "were pruned"
    )
    assert (2, True) == (status, f"ett-warehouse: {refused}" in capsys.readouterr().err)

    new = write_dump(tmp_path / "new.jsonl", life("new"))
    status = ingest(warehouse, "--dry-run", new)

    assert (2, True) == (status, f"ett-ingest: {refused}" in capsys.readouterr().err)

    status = warehouse_command("prune", warehouse, "--before", "2026-03-07", "--dry-run")

    assert (2, True) == (status, f"ett-warehouse: {refused}" in capsys.readouterr().err)


@pytest.mark.parametrize("day", ["2026-03-20", "2062-01-01"])
def test_a_day_that_is_not_over_for_sure_is_not_pruned(
    warehouse: Path, capsys: pytest.CaptureFixture[str], day: str
) -> None:
    status = warehouse_command("prune", warehouse, "--before", day)

    assert (2, True) == (status, f"--before {day} is too late" in capsys.readouterr().err)


def test_a_warehouse_without_events_has_nothing_to_prune(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.jsonl").touch()
    ingest(tmp_path / "warehouse", tmp_path / "empty.jsonl")
    status = warehouse_command("prune", tmp_path / "warehouse", "--before", "2026-03-20")

    said = capsys.readouterr().err
    assert (2, True) == (status, "holds no events: there is nothing to prune." in said)


@pytest.mark.parametrize(
    ("zone", "newest", "status"),
    # the day begins at 08:00 UTC, 17 hours before; and at 10:00 UTC of the day before, 25 hours
    [
        ("America/Los_Angeles", "2026-03-06T01:00:00Z", 2),
        ("Pacific/Kiritimati", "2026-03-05T11:00:00Z", 0),
    ],
)
def test_a_day_is_over_by_the_midnight_of_the_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, newest: str, status: int
) -> None:
    (tmp_path / "ett.toml").write_text(f'timezone = "{zone}"\n')
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))
    ingest(
        tmp_path / "warehouse",
        "--as-of",
        newest,
        write_dump(tmp_path / "a.jsonl", later(-20, life("a"))),
    )

    assert status == warehouse_command(
        "prune", tmp_path / "warehouse", "--before", "2026-03-05", "--dry-run"
    )


def test_the_first_day_of_all_is_refused_where_it_begins_before_all_time(
    warehouse: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "ett.toml").write_text('timezone = "Asia/Tokyo"\n')
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))
    status = warehouse_command("prune", warehouse, "--dry-run", "--before", "0001-01-01")

    assert (
        2,
        "ett-warehouse: --before 0001-01-01 begins before all time in Asia/Tokyo. Name a later "
        "day.\n",
    ) == (status, capsys.readouterr().err)


def test_a_warehouse_whose_path_is_no_text_is_refused(
    months: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    dump = write_dump(tmp_path / "a.jsonl", life("a"))
    never_made = ingest(folder, dump), list(tmp_path.iterdir())
    shutil.copytree(months, folder)
    for command in (
        lambda: ingest(folder, dump),
        lambda: warehouse_command("check", folder),
        lambda: warehouse_command("backup", folder, tmp_path / "backup"),
    ):
        capfd.readouterr()
        assert 2 == command()
        assert capfd.readouterr().err.endswith(
            " has bytes in its path that are no UTF-8. Give --warehouse another folder.\n"
        )

    assert (2, [dump]) == never_made


def test_a_backup_restored_over_another_warehouse_is_what_it_was(
    warehouse: Path, other: Path, months: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    made = warehouse_command("backup", warehouse, backup)
    with duckdb.connect(str(published(other)), read_only=True) as reader:
        restored = warehouse_command("restore", other, backup)

        assert [("a",)] == reader.execute("select job_id from jobs order by all").fetchall()

    assert (0, 0) == (made, restored)
    assert {} == differences(months, other)


def test_no_command_takes_a_backup_for_a_warehouse(
    warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup, link = tmp_path / "backup", tmp_path / "link"
    warehouse_command("backup", warehouse, backup)
    link.symlink_to(backup)
    dump = write_dump(tmp_path / "a.jsonl", life("a"))
    before = {path: path.read_bytes() for path in backup.rglob("*") if path.is_file()}
    capsys.readouterr()
    for place in (backup, link, backup / "detail" / ".."):
        sentence = (
            f"{place} is a backup (it has a backup.json), which must stay as it is. Bring it back "
            f"into a warehouse with `ett-warehouse restore {place} --warehouse DIR`, or give "
            "--warehouse another folder.\n"
        )
        for command in (
            lambda place: ingest(place, dump),
            lambda place: ingest(place, "--dry-run", dump),
            lambda place: warehouse_command("check", place),
            lambda place: warehouse_command("rebuild", place),
            lambda place: warehouse_command("prune", place, "--before", "2026-03-02"),
            lambda place: warehouse_command("backup", place, tmp_path / "copy"),
            lambda place: warehouse_command("restore", place, backup),
            lambda place: ingest(place, "--watch", dump),
        ):
            assert (2, True) == (command(place), capsys.readouterr().err.endswith(sentence))

    assert before == {path: path.read_bytes() for path in backup.rglob("*") if path.is_file()}


def test_a_backup_says_what_brings_this_warehouse_back(
    warehouse: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warehouse_command("backup", warehouse, tmp_path / "a b")
    told = capsys.readouterr().out
    monkeypatch.setenv("ETT_WAREHOUSE", str(warehouse))
    warehouse_command("backup", warehouse, tmp_path / "usual")
    told_of_usual = capsys.readouterr().out

    assert told.endswith(
        f"Back with: ett-warehouse restore '{tmp_path / 'a b'}' --warehouse {warehouse}\n"
    )
    assert told_of_usual.endswith(f"Back with: ett-warehouse restore {tmp_path / 'usual'}\n")


def test_a_backup_that_was_damaged_is_not_restored(
    warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse_command("backup", warehouse, tmp_path / "backup")
    cut("detail/*.parquet")(tmp_path / "backup")
    before, files = contents(warehouse), set(warehouse.rglob("*"))
    status = warehouse_command("restore", warehouse, tmp_path / "backup")

    assert (2, True) == (status, "is not what was backed up" in capsys.readouterr().err)
    assert before == contents(warehouse)
    assert files == set(warehouse.rglob("*"))


@pytest.mark.parametrize("damaged", ["warehouse.duckdb", "detail/*.parquet"])
def test_a_restore_that_is_refused_leaves_no_folder_that_it_made(
    warehouse: Path, tmp_path: Path, damaged: str
) -> None:
    backup, empty = tmp_path / "backup", tmp_path / "empty"
    warehouse_command("backup", warehouse, backup)
    cut(damaged)(backup)
    empty.mkdir()
    before = set(tmp_path.iterdir())
    anew = warehouse_command("restore", tmp_path / "new" / "warehouse", backup)
    beside = warehouse_command("restore", empty, backup)

    assert (2, 2) == (anew, beside)
    assert before == set(tmp_path.iterdir())
    assert [empty / "ingest.lock"] == list(empty.iterdir())


def test_who_waits_for_a_folder_that_is_taken_back_makes_it_anew(tmp_path: Path) -> None:
    folder, waits = tmp_path / "new" / "warehouse", threading.Event()

    def written() -> bool:
        with locked(folder, lambda holder: waits.set(), 60):
            return (folder / "ingest.lock").exists()

    with ThreadPoolExecutor() as others:
        with pytest.raises(ZeroDivisionError), locked(folder, print, 0):
            waiting = others.submit(written)
            assert waits.wait(60)
            raise ZeroDivisionError

        assert waiting.result(60)


def test_a_backup_touches_no_folder_of_another(warehouse: Path, tmp_path: Path) -> None:
    others = tmp_path / "backups" / "march.part"
    others.mkdir(parents=True)
    (others / "precious").touch()
    status = warehouse_command("backup", warehouse, tmp_path / "backups" / "march")

    assert 0 == status
    assert (others / "precious").exists()
    assert {"march", "march.part"} == {path.name for path in (tmp_path / "backups").iterdir()}


def test_a_backup_fills_an_empty_folder_and_what_a_link_to_one_names(
    warehouse: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")

    assert 0 == warehouse_command("backup", warehouse, tmp_path / "empty")
    assert 0 == warehouse_command("backup", warehouse, tmp_path / "link")
    assert (tmp_path / "empty" / "backup.json").exists()
    assert (tmp_path / "disk" / "backup.json").exists()


@pytest.mark.parametrize("named", [".", "", "./.", "../here", "none/..", "link"])
def test_a_backup_takes_the_place_of_no_folder_that_somebody_stands_in(
    warehouse: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    named: str,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    if named == "link":
        named = "../link"
        (tmp_path / "link").symlink_to("here")
    status = warehouse_command("backup", warehouse, named)

    assert (
        2,
        f"ett-warehouse: {Path(named)} is the folder that this runs in. Name a new folder for the "
        "backup.\n",
    ) == (status, capsys.readouterr().err)
    assert [] == list((tmp_path / "here").iterdir())


def test_a_backup_goes_to_no_link_that_leads_to_itself(
    warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    place = tmp_path / "loop" / "march"
    status = warehouse_command("backup", warehouse, place)

    assert (
        2,
        f"ett-warehouse: {place} is a link that leads to itself. Name another folder for the "
        "backup.\n",
    ) == (status, capsys.readouterr().err)


def test_a_backup_goes_to_no_place_where_the_engine_opens_nothing(
    warehouse: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a?b", os.fsdecode(b"caf\xe9")):
        for folder in (tmp_path / name, tmp_path / name / "march"):
            status = warehouse_command("backup", warehouse, folder)

            assert (2, True) == (status, "Name another folder for the b" in capfd.readouterr().err)
            assert not (tmp_path / name).exists()


def no_space(told: str) -> None:
    raise OSError(28, "No space left on device")


def interrupt(told: str) -> None:
    raise KeyboardInterrupt


def nothing(*told: object) -> None:
    pass


@pytest.mark.parametrize(
    ("damage", "say", "status"),
    [
        (remove("detail/*.parquet"), nothing, 2),
        (cut("warehouse.duckdb"), nothing, 2),
        (nothing, no_space, 2),
        (nothing, interrupt, 130),
    ],
    ids=["detail is missing", "damaged", "disk full", "interrupted"],
)
def test_a_backup_that_fails_leaves_nothing_behind(
    warehouse: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], None],
    say: Callable[[str], None],
    status: int,
) -> None:
    damage(warehouse)
    (tmp_path / "backups").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(keep, "_say", lambda told: say(told) if told.startswith("copied") else None)
        ended = warehouse_command("backup", warehouse, tmp_path / "backups" / "march")

    assert (status, []) == (ended, list((tmp_path / "backups").iterdir()))


def test_a_backup_that_settings_do_not_fit_is_refused_before_anything_is_replaced(
    pruned: Path,
    other: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    warehouse_command("backup", pruned, tmp_path / "backup")
    before, files = (other / "warehouse.duckdb").read_bytes(), set(other.rglob("*"))
    (tmp_path / "ett.toml").write_text('timezone = "Asia/Tokyo"\n')
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))
    capsys.readouterr()
    status = warehouse_command("restore", other, tmp_path / "backup")

    assert 2 == status
    assert "timezone was UTC and is now Asia/Tokyo, but" in capsys.readouterr().err
    assert before == (other / "warehouse.duckdb").read_bytes()
    assert files == set(other.rglob("*"))


SUM = "0" * 64
WHOLE = {"schema_version": 3, "publication": 1, "files": {"warehouse.duckdb": SUM}}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("", "it has no backup.json that can be read"),
        pytest.param("[" * 100_000, "it has no backup.json that can be read", id="nested"),
        ("[]", "its backup.json is of something else"),
        ("{}", "its backup.json has no schema_version"),
        ({"schema_version": 3}, "its backup.json has no publication"),
        (WHOLE | {"schema_version": "3"}, "its backup.json has no schema_version"),
        (WHOLE | {"schema_version": True}, "its backup.json has no schema_version"),
        (WHOLE | {"schema_version": 0}, "its backup.json has no schema_version"),
        ({"schema_version": 99}, "its backup.json has no publication"),
        (WHOLE | {"publication": "abc"}, "its backup.json has no publication"),
        (WHOLE | {"publication": -1}, "its backup.json has no publication"),
        (WHOLE | {"publication": 10**30}, "its backup.json has no publication"),
        (WHOLE | {"files": {}}, "its backup.json has no files"),
        (WHOLE | {"files": ["warehouse.duckdb"]}, "its backup.json has no files"),
        (WHOLE | {"files": {"warehouse.duckdb": 1}}, "its backup.json has no files"),
        (WHOLE | {"files": {"detail/1.parquet": SUM}}, "its backup.json has no files"),
        (WHOLE | {"files": {"warehouse.duckdb": SUM, "../x": SUM}}, "its backup.json has no files"),
    ],
)
def test_what_is_no_backup_is_told_and_not_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: str | Fields, why: str
) -> None:
    backup = tmp_path / "backup"
    backup.mkdir()
    (backup / "backup.json").write_text(told if isinstance(told, str) else json.dumps(told))
    status = warehouse_command("restore", tmp_path / "warehouse", backup)
    said = capsys.readouterr().err

    assert (2, 1) == (status, said.count("\n"))
    assert said.startswith(f"ett-warehouse: {backup} is no backup, or a damaged one: {why}")
    assert not (tmp_path / "warehouse").exists()


def test_a_backup_of_a_newer_release_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "backup.json").write_text(json.dumps(WHOLE | {"schema_version": 99}))
    status = warehouse_command("restore", tmp_path / "warehouse", tmp_path)

    assert 2 == status
    assert f"{tmp_path} is a backup of a newer release: its sch" in capsys.readouterr().err


@pytest.mark.parametrize("told", ["nan", "-1", "soon"])
def test_a_wait_that_is_no_length_of_time_is_refused(
    warehouse: Path, capsys: pytest.CaptureFixture[str], told: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        warehouse_command("check", warehouse, "--wait", told)

    assert 2 == ended.value.code
    assert f"'{told}' is no number of seconds" in capsys.readouterr().err


def test_a_folder_without_a_warehouse_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command, *more in (["check"], ["rebuild"], ["backup", tmp_path / "b"]):
        status = warehouse_command(command, tmp_path / "none", *more)

        assert (2, True) == (status, "has no warehouse.duckdb" in capsys.readouterr().err)
        assert not (tmp_path / "none").exists()


_ENDED = """
import os, sys
from ingest import cli, detail, facts, keep, retention

facts._EVENTS_A_GIB = 150
facts._ATTEMPT_DAYS_A_GIB = 3
place, times = sys.argv[2], int(sys.argv[3])
module = {"set_facts_aside": retention, "write": detail, "_roll_up": facts}[place]
original = getattr(module, place)

def ended(*told, **named):
    global times
    result = original(*told, **named)
    times -= 1
    if times == 0:
        os._exit(9)
    return result

setattr(module, place, ended)
main = {"rebuild": keep.main, "ingest": cli.main}[sys.argv[4]]
main([*sys.argv[5:], "--warehouse", sys.argv[1]])
"""


def end(warehouse: Path, place: str, times: int, command: str, *arguments: object) -> None:
    """Let a command die when it has been at a place so many times."""
    told = [str(each) for each in (warehouse, place, times, command, *arguments)]
    ended = subprocess.run([sys.executable, "-c", _ENDED, *told], capture_output=True)
    assert 9 == ended.returncode, ended.stderr


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dump(tmp_path_factory.mktemp("late") / "more.jsonl", later(9, life("late")))


@pytest.fixture(scope="module")
def never_ended(months: Path, late: Path) -> Path:
    """What comes of the warehouse and more of which no rebuild was ended."""
    shutil.copytree(months, late.with_name("sound"))
    ingest(late.with_name("sound"), late)
    return late.with_name("sound")


@pytest.mark.parametrize(
    ("place", "times"), [("set_facts_aside", 1), ("write", 1), ("write", 2), ("_roll_up", 1)]
)
def test_a_rebuild_that_was_ended_is_said_and_begun_again_by_the_next_ingest(
    warehouse: Path,
    late: Path,
    never_ended: Path,
    capsys: pytest.CaptureFixture[str],
    place: str,
    times: int,
) -> None:
    end(warehouse, place, times, "rebuild", "rebuild")
    status = warehouse_command("check", warehouse)
    said = capsys.readouterr().out
    ingest(warehouse, late)

    assert 1 == status
    assert "the facts are not whole: computing them anew was ended. Run `ett-war" in said
    assert {} == differences(never_ended, warehouse)
    assert 0 == warehouse_command("check", warehouse)


def test_rules_that_an_ended_ingest_began_to_judge_by_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = {"job_id": "odd", "attempt": 1}
    events = [
        {"ts": 1_772_323_200, "event": "phase_start", "phase": "training", **odd},
        {"ts": 1_772_323_300, "event": "failure", "message": "it went odd", **odd},
        {"ts": 1_772_323_301, "event": "attempt_end", "outcome": "failed", **odd},
        *fleet(62, size=1),
    ]
    dump = write_dump(tmp_path / "dump.jsonl", events)
    ingest(tmp_path / "warehouse", dump)
    shutil.copytree(tmp_path / "warehouse", tmp_path / "before")
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))
    (tmp_path / "ett.toml").write_text(
        '[[failure_rule]]\nname = "odd"\npattern = "went odd"\n'
        'category = "user_code/odd"\nattribution = "user"\n'
    )
    end(tmp_path / "warehouse", "write", 2, "ingest", dump)
    (tmp_path / "ett.toml").write_text("")
    ingest(tmp_path / "warehouse", dump)

    assert {} == differences(tmp_path / "before", tmp_path / "warehouse")
    assert 0 == warehouse_command("check", tmp_path / "warehouse")


def test_a_rebuild_of_more_rows_than_the_engine_writes_at_once_publishes_all_of_them(
    tmp_path: Path,
) -> None:
    dump = tmp_path / "dump.jsonl"
    duckdb.execute(
        "copy (select strftime(make_timestamp(start_us), '%Y-%m-%dT%H:%M:%S.%fZ') as ts, "
        "strftime(make_timestamp(start_us + 5000000), '%Y-%m-%dT%H:%M:%S.%fZ') as end_ts, "
        "'phase_start' as event, 'job-' || job as job_id, 'checkpoint_save' as phase, save as step "
        "from (select job, save, 1772323200000000 + save * 30000000 as start_us "
        "from range(65) as jobs (job), range(2000) as saves (save))) "
        f"to '{dump}' (format json)"
    )
    ingest(tmp_path / "warehouse", dump)
    before = contents(tmp_path / "warehouse")
    status = warehouse_command("rebuild", tmp_path / "warehouse")

    assert 0 == status
    assert [(130_000,)] == rows(tmp_path / "warehouse", "select count(*) from save_times")
    assert before == contents(tmp_path / "warehouse")
