"""Several sources that speak of one attempt make one timeline, in whatever order they come."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.warehouses import differences
from tests.queries import telling
from tests.queries.engine import areas, ingest, rows
from tests.queries.telling import LAUNCHER, LIBRARY, SCHEDULER, TRAINER, write_told

Fields = dict[str, Any]
Load = Callable[..., Path]

BEGAN = datetime(2026, 3, 2, 9, 0, 0)
SECOND_US = 1_000_000
BEGAN_US = int((BEGAN - datetime(1970, 1, 1)).total_seconds()) * SECOND_US


Story = dict[str, list[Fields]]
TOLD: Story = {SCHEDULER: [], TRAINER: [], LIBRARY: [], LAUNCHER: []}


@pytest.fixture(autouse=True)
def told_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    telling.register(monkeypatch)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of every story below."""
    folder = tmp_path_factory.mktemp("joined")
    with pytest.MonkeyPatch.context() as patch:
        telling.register(patch)
        dumps = [write_told(folder / source, source, events) for source, events in TOLD.items()]

        assert 0 == ingest(folder / "warehouse", *dumps)
    return folder / "warehouse"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Ingest dumps, each (format, events), one command after another, into one warehouse."""

    def load(
        *dumps: tuple[str, Iterable[Fields]], into: str = "warehouse", at_once: bool = False
    ) -> Path:
        known = len(list(tmp_path.glob(f"{into}-*")))
        paths = [
            write_told(tmp_path / f"{into}-{number}", source, events)
            for number, (source, events) in enumerate(dumps, known)
        ]
        for command in [paths] if at_once else [[path] for path in paths]:
            assert 0 == ingest(tmp_path / into, *command)
        return tmp_path / into

    return load


def story(
    scheduler: Iterable[Fields] = (),
    trainer: Iterable[Fields] = (),
    library: Iterable[Fields] = (),
    launcher: Iterable[Fields] = (),
) -> None:
    """Add to what the fleet's sources say. Each story has job names and numbers of its own."""
    TOLD[SCHEDULER] += scheduler
    TOLD[TRAINER] += trainer
    TOLD[LIBRARY] += library
    TOLD[LAUNCHER] += launcher


# what sources say


def job(job_id: str, *told: tuple[str, int, int, int]) -> list[Fields]:
    """A job of a scheduler with eight GPUs; rows are (state, submitted, started, ended)."""
    outcomes = {
        "COMPLETED": {"outcome": "completed"},
        "FAILED": {"outcome": "failed"},
        "PREEMPTED": {"outcome": "preempted", "category": "scheduler/preempted"},
        "TIMEOUT": {"outcome": "timeout", "category": "scheduler/time_limit"},
        "NODE_FAIL": {"outcome": "failed", "category": "scheduler/node_fail"},
    }
    events: list[Fields] = []
    for state, submitted, started, ended in told:
        of_row: Fields = {
            "job_id": job_id,
            "row_key": str(BEGAN_US // SECOND_US + submitted),
            "row_submitted_us": us(submitted),
            "row_state": state,
        }
        kind = "attempt_end" if state in outcomes else "alive"
        events += [
            of_row | {"at_us": us(submitted), "event": "job", "team": "vision"},
            of_row
            | {"at_us": us(submitted), "event": "phase_start", "phase": "queue"}
            | {"end_us": us(started)},
            of_row | {"at_us": us(started), "event": "attempt_start", "gpus": 8},
            of_row | {"at_us": us(ended), "event": kind} | outcomes.get(state, {}),
        ]
    return events


def life(
    name: str,
    run_key: str | None,
    begin: int,
    last: int,
    *,
    init: int = 30,
    save: int | None = None,
    resumed: int | None = None,
    **more: object,
) -> list[Fields]:
    """A launch that initialises for 30 s and then trains, with a save of step 10 if told so."""
    trains = begin + init
    events = [
        said(name, begin, "phase_start") | {"phase": "trainer_init", "end_us": us(trains)},
        said(name, trains, "phase_start") | {"phase": "training", "end_us": us(last)},
    ]
    if save is not None:
        events.append(
            said(name, save, "phase_start")
            | {"phase": "checkpoint_save", "end_us": us(save + 10), "step": 10}
        )
    if resumed is not None:
        events[1]["resumed_from_step"] = resumed
    keyed = {} if run_key is None else {"run_key": run_key}
    return [event | keyed | more for event in events]


def evaluation(name: str, run_key: str, begin: int, last: int) -> list[Fields]:
    """One evaluation, told as a start and an end."""
    return [
        said(name, second, event) | {"phase": "evaluation", "run_key": run_key}
        for second, event in ((begin, "phase_start"), (last, "phase_end"))
    ]


def end(name: str, run_key: str, second: int, outcome: str, **more: object) -> Fields:
    return said(name, second, "attempt_end") | {"run_key": run_key, "outcome": outcome} | more


def said(name: str, second: int, event: str) -> Fields:
    return {"job_id": name, "at_us": us(second), "event": event}


def us(second: int) -> int:
    return BEGAN_US + second * SECOND_US


def at(second: int) -> datetime:
    return BEGAN + timedelta(seconds=second)


# one job of a scheduler and of a trainer


PREEMPTED_ONCE = ("PREEMPTED", 0, 10, 1000), ("COMPLETED", 1001, 1120, 2000)


def requeued(number: int) -> tuple[Story, ...]:
    """What three dumps tell of a run that was preempted and requeued."""
    name, scheduled = f"run {number}", str(number)
    return (
        {SCHEDULER: job(f"fleet:{number}", *PREEMPTED_ONCE)},
        {TRAINER: life(name, "a", 20, 1005, scheduler_job=scheduled, save=600)},
        {TRAINER: life(name, "b", 1130, 1990, scheduler_job=scheduled, resumed=10)},
    )


def ambiguous(number: int) -> tuple[Story, ...]:
    """What three dumps tell of a number that two clusters have."""
    return (
        {SCHEDULER: job(f"red:{number}", *PREEMPTED_ONCE)},
        {SCHEDULER: job(f"blue:{number}", ("COMPLETED", 5000, 5001, 5100))},
        {TRAINER: life(f"run of {number}", "a", 20, 990, scheduler_job=str(number))},
    )


# the numbers of a job that was requeued and of one that is ambiguous, by the order of their dumps
IN_ORDER = {order: (20 + at, 40 + at) for at, order in enumerate(permutations(range(3)))}


@pytest.fixture(scope="module")
def in_order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was told both in every order, one dump of each after the other."""
    folder = tmp_path_factory.mktemp("in-order")
    with pytest.MonkeyPatch.context() as patch:
        telling.register(patch)
        for command in range(3):
            told: Story = defaultdict(list)
            for order, (once, twice) in IN_ORDER.items():
                for dumps in (requeued(once), ambiguous(twice)):
                    for source, events in dumps[order[command]].items():
                        told[source] += events
            dumps_now = [
                write_told(folder / f"{command}-{source}", source, events)
                for source, events in told.items()
            ]

            assert 0 == ingest(folder / "warehouse", *dumps_now)
    return folder / "warehouse"


@pytest.mark.parametrize("order", IN_ORDER, ids=str)
def test_a_preempted_and_requeued_run_is_one_job_in_whatever_order_it_is_told(
    order: tuple[int, ...], in_order: Path
) -> None:
    number, _ = IN_ORDER[order]
    name = f"fleet:{number}"

    assert [
        (name, 1, True, "preempted", "preempted", at(10), at(50), at(1000), 10.0),
        (name, 2, True, "completed", None, at(1120), at(1160), at(2000), 120.0),
    ] == rows(
        in_order,
        "select job_id, attempt, is_instrumented, outcome, failure_category, started_at, "
        "first_batch_at, ended_at, queue_seconds from attempts "
        "where job_id like ? order by 1, 2",
        [f"%{number}"],
    )
    # what the trainer says past the end of its allocation is cut off
    assert {
        "unaccounted": 10.0,
        "trainer_init": 30.0,
        "effective": 550.0,
        "checkpoint_save": 10.0,
        "unsaved": 390.0,
    } == areas(in_order, name, 1)
    assert [(name, 2)] == rows(
        in_order, "select job_id, attempts from jobs where job_id like ?", [f"%{number}"]
    )
    assert [(name,)] == rows(
        in_order, "select job_id from job_details where job_id like ?", [f"%{number}"]
    )


@pytest.mark.parametrize("order", IN_ORDER, ids=str)
def test_a_number_that_two_clusters_have_joins_nothing_and_is_listed(
    order: tuple[int, ...], in_order: Path
) -> None:
    """Where the second cluster comes last, what was joined comes apart again."""
    _, number = IN_ORDER[order]

    assert [(f"blue:{number}", 1), (f"red:{number}", 2), (f"run of {number}", 1)] == rows(
        in_order,
        "select job_id, attempts from jobs where job_id like ? order by 1",
        [f"%{number}"],
    )
    # of no number that only one cluster has
    assert sorted(f"run of {twice}" for _, twice in IN_ORDER.values()) == [
        job_id
        for (job_id,) in rows(
            in_order, "select job_id from anomalies where kind = 'ambiguous_job' order by 1"
        )
    ]
    assert [(None,)] == rows(
        in_order,
        "select attempt from anomalies where kind = 'ambiguous_job' and job_id = ?",
        [f"run of {number}"],
    )


story(
    scheduler=job("fleet:101", *PREEMPTED_ONCE),
    trainer=[
        *life("unnamed", "a", 20, 990),
        *life("of-another-cluster", "a", 20, 990, scheduler_job="101", cluster="other"),
        *life("of-no-row", "a", 20, 990, scheduler_job="102"),
    ],
)


@pytest.mark.parametrize("name", ["unnamed", "of-another-cluster", "of-no-row"])
def test_a_trainer_that_names_no_known_job_of_the_scheduler_is_a_job_of_its_own(
    name: str, fleet: Path
) -> None:
    assert [(name, 1)] == rows(fleet, "select job_id, attempts from jobs where job_id = ?", [name])
    assert [(2, False)] == rows(
        fleet, "select attempts, is_instrumented from jobs where job_id = 'fleet:101'"
    )


NAMED = {"with": {"cluster": "fleet"}, "without": {}}
NUMBERS = {"fleet:110": "with", "fleet:111": "without", "112": "with", "113": "without"}
for scheduled, cluster in NUMBERS.items():
    digits = scheduled[-3:]
    story(
        scheduler=job(scheduled, *PREEMPTED_ONCE),
        trainer=life(f"run-{digits}", "a", 20, 990, scheduler_job=digits, **NAMED[cluster]),
    )


@pytest.mark.parametrize("scheduled", NUMBERS)
def test_a_number_is_enough_where_one_cluster_has_it(scheduled: str, fleet: Path) -> None:
    assert [(scheduled, 2)] == rows(
        fleet,
        "select job_id, attempts from jobs where job_id in (?, ?)",
        [scheduled, f"run-{scheduled[-3:]}"],
    )


story(
    scheduler=job("fleet:251", ("PREEMPTED", 0, 10, 1000), ("COMPLETED", 1001, 1120, 2000)),
    trainer=[*life("251", "a", 20, 1005), *life("251", "b", 1130, 1990, resumed=10)],
)
# a run that is called by a number, as of its day, is none of a job of the scheduler then
story(
    scheduler=job("fleet:252", ("COMPLETED", 0, 10, 1000)),
    trainer=life("252", "a", 1001, 1990),
)
story(
    scheduler=[
        *job("fleet:253", ("COMPLETED", 0, 10, 1000)),
        *job("other:253", ("COMPLETED", 0, 10, 1000)),
    ],
    trainer=life("253", "a", 20, 990),
)
# the name of runs under several jobs may be a number too, where they say which
story(
    scheduler=[
        *job("fleet:254", ("FAILED", 0, 10, 1000)),
        *job("fleet:255", ("COMPLETED", 1100, 1110, 2000)),
    ],
    trainer=[
        *life("20260302", "a", 20, 990, scheduler_job="254"),
        *life("20260302", "b", 1120, 1990, scheduler_job="255"),
    ],
)


@pytest.mark.parametrize(
    ("job_id", "attempts"),
    [
        ("fleet:251", [(10, 1000, "preempted"), (1120, 2000, "completed")]),
        ("251", []),
        ("fleet:252", [(10, 1000, "completed")]),
        ("252", [(1001, 1990, "running")]),
        ("fleet:253", [(10, 1000, "completed")]),
        ("253", [(20, 990, "running")]),
        ("20260302", [(10, 1000, "failed"), (1110, 2000, "completed")]),
    ],
)
def test_a_name_that_is_a_number_is_the_job_of_the_scheduler_that_ran_then(
    job_id: str, attempts: list[tuple[int, int, str]], fleet: Path
) -> None:
    found = rows(
        fleet,
        "select started_at, ended_at, outcome from attempts where job_id = ? order by attempt",
        [job_id],
    )
    assert [(at(begin), at(last), outcome) for begin, last, outcome in attempts] == found


def test_a_number_by_name_that_two_clusters_had_at_once_is_said_to_be_neither(fleet: Path) -> None:
    ((detail,),) = rows(
        fleet, "select detail from anomalies where kind = 'ambiguous_job' and job_id = '253'"
    )

    assert detail.startswith("the scheduler's job 253 is known on 2 clusters, such as fleet and")


story(
    scheduler=[
        *job("red:120", *PREEMPTED_ONCE),
        *job("blue:120", ("COMPLETED", 0, 1, 995)),
    ],
    trainer=life("run-120", "a", 20, 990, scheduler_job="120", cluster="blue"),
)


def test_a_named_cluster_tells_two_jobs_of_one_number_apart(fleet: Path) -> None:
    assert [("blue:120", True), ("red:120", False)] == rows(
        fleet, "select job_id, is_instrumented from jobs where job_id like '%120' order by 1"
    )
    assert [] == rows(fleet, "from anomalies where kind = 'ambiguous_job' and job_id like '%120'")


def revoked(job_id: str, submitted: int) -> list[Fields]:
    """A federated job's row on a cluster that did not get it."""
    of_row: Fields = {
        "job_id": job_id,
        "row_key": str(BEGAN_US // SECOND_US + submitted),
        "row_submitted_us": us(submitted),
        "row_state": "REVOKED",
    }
    return [
        of_row | {"at_us": us(submitted), "event": "job", "team": "vision"},
        of_row | {"at_us": us(submitted), "event": "phase_start", "phase": "queue"},
    ]


story(
    scheduler=[
        *revoked("blue:125", 0),
        *job("red:125", ("COMPLETED", 0, 10, 1000)),
        *revoked("blue:126", 0),
    ],
    trainer=[
        *life("run-125", "a", 20, 990, scheduler_job="125"),
        *life("run-126", "a", 20, 990, scheduler_job="126"),
    ],
)


def test_a_federated_job_is_of_the_cluster_that_took_it(fleet: Path) -> None:
    assert [("red:125", 1, True), ("run-126", 1, True)] == rows(
        fleet,
        "select job_id, attempts, is_instrumented from jobs "
        "where job_id like '%125' or job_id like '%126' order by 1",
    )
    assert [] == rows(fleet, "from anomalies where kind = 'ambiguous_job' and job_id like '%125'")


# what is one job


story(
    scheduler=[
        *job("fleet:130", ("TIMEOUT", 0, 10, 1000)),
        *job("fleet:131", ("COMPLETED", 900, 1100, 2000)),
        *job("fleet:132", ("TIMEOUT", 0, 10, 1000)),
    ],
    trainer=[
        *life("session-130", "a", 20, 990, scheduler_job="130"),
        *life("session-130", "b", 1110, 1990, scheduler_job="131"),
        *life("session-132", "a", 20, 990, scheduler_job="132"),
        *life("session-132", "b", 1110, 1990, scheduler_job="133"),
        end("session-132", "b", 1990, "failed"),
    ],
)


def test_one_name_over_several_jobs_of_the_scheduler_is_one_job_of_that_name(
    fleet: Path,
) -> None:
    assert [(1, "timeout"), (2, "completed")] == ends(fleet, "session-130")
    assert [] == ends(fleet, "fleet:130")


def test_a_run_whose_row_is_not_known_yet_is_an_attempt_of_its_named_job(fleet: Path) -> None:
    assert [(1, "timeout"), (2, "failed")] == ends(fleet, "fleet:132")


story(
    scheduler=job("fleet:140", *PREEMPTED_ONCE),
    trainer=life("first-140", "a", 20, 990, scheduler_job="140"),
    library=life("second-140", "b", 1130, 1990, scheduler_job="140"),
)


def test_names_under_one_job_of_the_scheduler_are_one_job(fleet: Path) -> None:
    assert [(1, "preempted"), (2, "completed")] == ends(fleet, "fleet:140")
    assert [at(50), at(1160)] == first_batches(fleet, "fleet:140")


story(
    scheduler=[
        *job("fleet:151", ("FAILED", 0, 10, 100)),
        *job("fleet:152", ("FAILED", 200, 210, 300)),
        *job("fleet:153", ("COMPLETED", 400, 410, 500)),
    ],
    trainer=[
        *life("m-150", "a", 20, 90, scheduler_job="151"),
        *life("m-150", "b", 220, 290, scheduler_job="152"),
    ],
    library=[
        *life("b-150", "c", 225, 290, scheduler_job="152"),
        *life("b-150", "d", 420, 490, scheduler_job="153"),
    ],
)


def test_what_hangs_together_over_corners_is_one_job_of_the_least_name(fleet: Path) -> None:
    assert [(1, "failed"), (2, "failed"), (3, "completed")] == ends(fleet, "b-150")


story(
    scheduler=[
        *job("fleet:161", ("COMPLETED", 0, 10, 500)),
        *job("fleet:162", ("COMPLETED", 0, 20, 600)),
    ],
    trainer=[
        *life("none", "a", 30, 490, scheduler_job="161"),
        *life("none", "b", 40, 590, scheduler_job="162"),
        {**said("none", 450, "progress"), "step": 7, "scheduler_job": "161"},
    ],
)


def test_a_name_under_which_two_jobs_ran_at_once_joins_neither(fleet: Path) -> None:
    assert [at(60)] == first_batches(fleet, "fleet:161")
    assert [at(70)] == first_batches(fleet, "fleet:162")
    assert [("fleet:161",), ("fleet:162",)] == rows(
        fleet,
        "select job_id from anomalies where kind = 'ambiguous_job' and detail like '% at once %' "
        "order by 1",
    )


def stating_one_job() -> tuple[tuple[str, list[Fields]], ...]:
    """Names of one job of which no row tells, at the same time and at others."""
    return (
        (TRAINER, life("llama", "a", 30, 490, scheduler_job="161")),
        (LIBRARY, life("session-7", "x", 20, 500, scheduler_job="161")),
        (
            LIBRARY,
            [
                *life("later", "b", 500, 590, scheduler_job="161"),
                *life("other", "c", 30, 490, scheduler_job="162"),
            ],
        ),
        (TRAINER, life("alone", "g", 30, 490, scheduler_job="164")),
        (
            LIBRARY,
            [
                *life("after", "h", 500, 590, scheduler_job="164"),
                *life("away", "d", 30, 490, scheduler_job="163", cluster="far"),
                *life("here", "e", 30, 490, scheduler_job="163", cluster="near"),
            ],
        ),
    )


def test_names_that_state_one_job_of_which_no_row_tells_count_twice_and_say_so(
    in_any_order: tuple[Path, Path], tmp_path: Path
) -> None:
    forth, back = in_any_order
    twice = "select job_id, detail from anomalies where kind = 'counted_twice' order by all"
    known = shutil.copytree(forth, tmp_path / "known", symlinks=True)
    row = job("fleet:161", ("COMPLETED", 0, 10, 600))

    assert 0 == ingest(known, write_told(tmp_path / "row", SCHEDULER, row))
    said = "the scheduler's job 161, of which no row tells, is at the same time told as {} at "
    assert [
        ("llama", said.format("session-7") + "2026-03-02T09:00:30.000Z"),
        ("session-7", said.format("llama") + "2026-03-02T09:00:20.000Z"),
    ] == rows(forth, twice)
    assert {} == differences(forth, back)
    assert [] == rows(known, twice)


story(
    scheduler=[
        *job("red:166", ("COMPLETED", 0, 1, 995)),
        *job("blue:166", ("COMPLETED", 0, 1, 995)),
    ],
    trainer=[
        *life("run-166", "a", 20, 990, scheduler_job="166"),
        *life("also-166", "b", 20, 990, scheduler_job="166"),
    ],
)


def test_names_that_state_a_number_of_two_clusters_are_not_told_that_no_row_knows_it(
    fleet: Path,
) -> None:
    told = "select job_id, kind from anomalies where job_id like '%-166' and attempt is null"

    assert [("also-166", "ambiguous_job"), ("run-166", "ambiguous_job")] == rows(
        fleet, f"{told} order by all"
    )


story(
    scheduler=job("fleet:170", ("COMPLETED", 0, 10, 500), ("FAILED", 9000, 9010, 9500)),
    trainer=[
        *life("170", "a", 30, 490, scheduler_job="170"),
        *life("170", "b", 9040, 9490, scheduler_job="170"),
    ],
)


def test_runs_of_a_number_that_was_given_out_again_go_to_the_job_of_their_time(
    fleet: Path,
) -> None:
    again = f"fleet:170@{BEGAN_US // SECOND_US + 9000}"

    assert [(1, "completed")] == ends(fleet, "fleet:170")
    assert [(1, "failed")] == ends(fleet, again)
    assert [at(60)] == first_batches(fleet, "fleet:170")
    assert [at(9070)] == first_batches(fleet, again)


# launches and their allocations


story(
    scheduler=job("200", ("PREEMPTED", 0, 0, 1000), ("COMPLETED", 1000, 1000, 2000)),
    trainer=life("run-200", "a", 990, 1900, scheduler_job="200"),
)


def test_a_launch_lies_in_the_allocation_that_it_overlaps_most(fleet: Path) -> None:
    assert [None, at(1020)] == first_batches(fleet, "200")


story(
    scheduler=job("210", ("PREEMPTED", 0, 0, 20), ("COMPLETED", 100, 140, 160)),
    trainer=life("run-210", "a", 200, 215, scheduler_job="210", run_restart=0, init=1),
)


def test_a_restart_count_places_a_launch_whose_clock_is_wrong(fleet: Path) -> None:
    # by its time alone it would be of the second
    assert (1, "events_after_end") in rows(
        fleet, "select attempt, kind from anomalies where job_id = '210'"
    )
    assert 2 == len(ends(fleet, "210"))


story(
    scheduler=job("220", ("COMPLETED", 0, 0, 100)) + job("221", ("COMPLETED", 0, 0, 100)),
    trainer=[
        *life("run-220", "a", 219, 300, scheduler_job="220"),
        *life("run-221", "a", 221, 300, scheduler_job="221"),
    ],
)


@pytest.mark.parametrize(("number", "attempts"), [("220", 1), ("221", 2)])
def test_a_launch_that_began_up_to_two_minutes_outside_every_allocation_is_of_the_nearest(
    number: str, attempts: int, fleet: Path
) -> None:
    assert attempts == len(ends(fleet, number))


story(
    trainer=[*life("run-230", "a", 0, 500), *life("run-230", "b", 600, 900)],
    library=life("run-230", "x", 3, 505),
)


def test_launches_of_several_sources_that_overlap_are_one_attempt(fleet: Path) -> None:
    assert [(1, at(0), at(505)), (2, at(600), at(900))] == times(fleet, "run-230")


def launcher(number: str, *began: int) -> list[Fields]:
    """An agent that starts its workers at each of these times, and says no more while they run."""
    of_agent = {"run_key": f"agent {began[0]}", "scheduler_job": number}
    return [
        said(f"agents of {number}", second, event) | of_agent | {"run_generation": generation} | of
        for generation, begin in enumerate(began)
        for second, event, of in (
            (begin, "attempt_start", {}),
            (begin + 1, "phase_start", {"phase": "trainer_init"}),
        )
    ]


def stopped(number: str, begin: int, second: int) -> Fields:
    return end(f"agents of {number}", f"agent {begin}", second, "failed", scheduler_job=number)


story(
    scheduler=job("fleet:231", ("RUNNING", 0, 10, 600)),
    launcher=launcher("231", 11),
    trainer=life("run-231", "a", 20, 590, scheduler_job="231"),
)
story(
    scheduler=job("fleet:232", ("NODE_FAIL", 0, 10, 600), ("COMPLETED", 601, 700, 1300)),
    launcher=[*launcher("232", 11), *launcher("232", 701), stopped("232", 701, 1299)],
    trainer=[
        *life("run-232", "a", 20, 590, scheduler_job="232"),
        *life("run-232", "b", 710, 1290, scheduler_job="232"),
    ],
)
# workers that it started anew, and an agent that was started anew
story(
    scheduler=job("fleet:233", ("NODE_FAIL", 0, 10, 1800)),
    launcher=[*launcher("233", 11, 605), *launcher("233", 1205)],
    trainer=[
        *life("run-233", "a", 20, 590, scheduler_job="233"),
        *life("run-233", "b", 610, 1190, scheduler_job="233"),
        *life("run-233", "c", 1210, 1790, scheduler_job="233"),
    ],
)
# an agent that says that it is over, and a trainer that begins long behind one that does not
story(
    scheduler=job("fleet:234", ("COMPLETED", 0, 10, 600)),
    launcher=[*launcher("234", 11), stopped("234", 11, 15)],
    trainer=life("run-234", "a", 20, 590, scheduler_job="234"),
)
story(
    scheduler=job("fleet:235", ("COMPLETED", 0, 10, 6000)),
    launcher=launcher("235", 11),
    trainer=life("run-235", "a", 3613, 5990, scheduler_job="235"),
)


@pytest.mark.parametrize(
    ("number", "attempts"),
    [
        ("231", [(10, 600, "running")]),
        ("232", [(10, 600, "failed"), (700, 1300, "completed")]),
        ("233", [(10, 605, "lost"), (605, 1190, "lost"), (1190, 1800, "failed")]),
        ("234", [(10, 15, "failed"), (15, 600, "completed")]),
        ("235", [(10, 12, "lost"), (12, 6000, "completed")]),
    ],
)
def test_a_launcher_that_says_nothing_while_its_workers_run_is_their_attempt(
    number: str, attempts: list[tuple[int, int, str]], fleet: Path
) -> None:
    found = rows(
        fleet,
        "select started_at, ended_at, outcome from attempts where job_id = ? order by attempt",
        [f"fleet:{number}"],
    )
    assert [(at(begin), at(last), outcome) for begin, last, outcome in attempts] == found


def ranks(name: str, *began: tuple[int, int]) -> list[Fields]:
    """Processes that say no more than that they began, each (second, rank) in a file of its own."""
    return [
        said(name, second, "attempt_start") | {"run_key": f"{rank} at {second}", "rank": rank}
        for second, rank in began
    ]


def trained(name: str, second: int, last: int, rank: int) -> list[Fields]:
    begun = said(name, second, "attempt_start") | {"run_key": f"{rank} at {second}", "rank": rank}
    return [begun, *life(name, begun["run_key"], second, last, rank=rank)]


# twice before any trained, the first time with one that came late; then with one of them at all
story(
    trainer=[
        *ranks("early", (0, 1), (4, 0), (124, 2), (150, 0), (151, 2), (152, 1)),
        *trained("early", 300, 900, 0),
        *ranks("early", (303, 2)),
    ]
)
# whoever begins after one that trained is of another launch, and so is who begins long after
story(
    trainer=[
        *trained("late", 0, 600, 0),
        *ranks("late", (630, 1), (751, 2)),
        *life("late", "none", 800, 900),
    ]
)


@pytest.mark.parametrize(
    ("name", "attempts"),
    [
        ("early", [(0, 124), (150, 152), (300, 900)]),
        ("late", [(0, 600), (630, 630), (751, 751), (800, 900)]),
    ],
)
def test_ranks_that_die_before_they_train_are_one_launch_though_each_has_a_file(
    name: str, attempts: list[tuple[int, int]], fleet: Path
) -> None:
    told = [(begin, last) for _, begin, last in times(fleet, name)]

    assert [(at(begin), at(last)) for begin, last in attempts] == told


story(
    scheduler=job("fleet:240", ("COMPLETED", 0, 0, 1000)),
    trainer=[
        *life("run-240", "a", 10, 400, scheduler_job="240"),
        *life("run-240", "b", 450, 990, scheduler_job="240"),
    ],
)


def test_launches_one_after_the_other_in_one_allocation_share_it(fleet: Path) -> None:
    allocation = f"fleet:240/{BEGAN_US // SECOND_US}"

    assert [(1, at(0), at(400)), (2, at(400), at(1000))] == times(fleet, "fleet:240")
    assert [(allocation, "lost", 8), (allocation, "completed", 8)] == rows(
        fleet,
        "select allocation_id, outcome, gpus from attempts where job_id = 'fleet:240' "
        "order by attempt",
    )


# a trainer that counts its tries by the scheduler's restarts
story(
    scheduler=[
        *job("fleet:256", ("PREEMPTED", 0, 10, 500), ("FAILED", 501, 620, 1000)),
        *job("fleet:257", ("COMPLETED", 1100, 1110, 2000)),
    ],
    trainer=[
        *life("run-256", None, 20, 490, scheduler_job="256", attempt=1),
        *life("run-256", None, 630, 990, scheduler_job="256", attempt=2),
        *life("run-256", None, 1120, 1990, scheduler_job="257", attempt=1),
    ],
)


def test_a_count_of_tries_that_begins_anew_under_another_job_of_the_scheduler_is_another_try(
    fleet: Path,
) -> None:
    assert [(1, at(10), at(500)), (2, at(620), at(1000)), (3, at(1110), at(2000))] == times(
        fleet, "run-256"
    )
    assert [at(50), at(660), at(1150)] == first_batches(fleet, "run-256")


story(
    scheduler=[
        event | ({"suspended_us": us(600) - us(0)} if event["event"] == "attempt_end" else {})
        for event in job("fleet:245", ("COMPLETED", 0, 10, 1000))
    ],
    trainer=[
        *life("run-245", "a", 20, 500, scheduler_job="245"),
        *life("run-245", "b", 600, 990, scheduler_job="245"),
    ],
)


def test_what_is_suspended_of_an_allocation_leaves_all_of_its_attempts(fleet: Path) -> None:
    """990 s less 600 s: the last attempt is not as long."""
    assert [(390.0, 100.0, 350.0), (0.0, 500.0, 0.0)] == rows(
        fleet,
        "select wall_seconds, suspended_seconds, effective_seconds + unsaved_seconds "
        "from attempts where job_id = 'fleet:245' order by attempt",
    )


story(
    scheduler=job("fleet:250", ("NODE_FAIL", 0, 10, 100), ("COMPLETED", 100, 220, 900)),
    trainer=life("run-250", "a", 230, 890, scheduler_job="250"),
)


def test_an_allocation_without_a_launch_is_an_attempt_that_nobody_describes(
    fleet: Path,
) -> None:
    assert {"unaccounted": 90.0} == areas(fleet, "fleet:250", 1)
    assert [("node_fail",), (None,)] == rows(
        fleet,
        "select failure_category from attempts where job_id = 'fleet:250' order by attempt",
    )


story(
    scheduler=job("fleet:260", ("RUNNING", 0, 0, 1000)),
    trainer=[
        *life("run-260", "a", 10, 5000, scheduler_job="260"),
        *life("run-260", "b", 6000, 7000, scheduler_job="260"),
    ],
)


def test_what_runs_on_after_the_last_dump_of_its_scheduler_is_in_its_allocation(
    fleet: Path,
) -> None:
    assert [(1, at(0), at(5000)), (2, at(5000), at(7000))] == times(fleet, "fleet:260")


# generations


story(
    scheduler=job("300", ("COMPLETED", 0, 10, 1000)),
    trainer=[
        *life("run-300", "a", 20, 300, scheduler_job="300", run_generation=0),
        said("run-300", 301, "failure") | {"run_key": "a", "run_generation": 0},
        *life("run-300", "a", 310, 600, scheduler_job="300", run_generation=1),
        *life("run-300", "a", 610, 990, scheduler_job="300", run_generation=2),
    ],
)


def test_generations_are_attempts_of_one_allocation(fleet: Path) -> None:
    # the first begins with the allocation, the last ends with it; each ends where the next begins
    assert [
        (1, at(10), at(310)),
        (2, at(310), at(610)),
        (3, at(610), at(1000)),
    ] == times(fleet, "300")
    assert [("failed", 10.0), ("lost", 0.0), ("completed", 0.0)] == rows(
        fleet,
        "select outcome, queue_seconds from attempts where job_id = '300' order by attempt",
    )
    assert [(1, 990.0)] == rows(
        fleet,
        "select count(distinct allocation_id), sum(wall_seconds) from attempts "
        "where job_id = '300'",
    )


story(
    scheduler=job("310", ("COMPLETED", 0, 10, 1000)),
    trainer=[
        *life("run-310", "a", 20, 300, scheduler_job="310", run_generation=0),
        end("run-310", "a", 305, "failed", run_generation=0),
        *life("run-310", "a", 310, 990, scheduler_job="310", run_generation=1),
        end("run-310", "a", 985, "failed", run_generation=1),
    ],
)


def test_the_trainers_end_stands_for_a_generation_that_another_followed(fleet: Path) -> None:
    assert [(1, "failed"), (2, "completed")] == ends(fleet, "310")
    assert [(1, at(10), at(305)), (2, at(305), at(1000))] == times(fleet, "310")


story(
    trainer=[
        *life("run-320", "a", 0, 300, run_generation=0),
        end("run-320", "a", 305, "failed", run_generation=0),
        *life("run-320", "a", 350, 600, run_generation=1),
    ]
)


def test_generations_without_a_scheduler_share_what_their_launch_holds(fleet: Path) -> None:
    assert [(1, at(0), at(305)), (2, at(305), at(600))] == times(fleet, "run-320")


story(
    trainer=[
        *life("run-330", "a", 0, 300, run_generation=0),
        *life("run-330", "a", 310, 600, run_generation=1),
    ],
    library=[
        said("run-330", second, "progress") | {"run_key": "x", "step": second}
        for second in range(100, 600, 100)
    ],
)


def test_a_source_that_knows_no_generations_is_told_apart_by_time(fleet: Path) -> None:
    assert [(1, at(0), at(310)), (2, at(310), at(600))] == times(fleet, "run-330")


def fresh(name: str, run_key: str, begin: int, works: int, last: int, count: int) -> list[Fields]:
    """An agent that begins, waits for the others, and counts its restarts by itself."""
    start = said(name, begin, "attempt_start") | {"run_key": run_key, "run_generation": count}
    return [start, *life(name, run_key, works, last, run_generation=count)]


story(
    trainer=[
        *fresh("run-340", "a", 0, 5, 600, 0),
        end("run-340", "a", 600, "failed", run_generation=0),
        *fresh("run-340", "a", 605, 660, 900, 1),
        # the other node's agent was killed: what takes its place waits since before that was seen
        *fresh("run-340", "b", 0, 5, 550, 0),
        *fresh("run-340", "c", 590, 660, 900, 0),
        end("run-340", "c", 900, "failed", run_generation=0),
        *fresh("run-340", "c", 904, 910, 1200, 1),
        end("run-340", "c", 1200, "completed", run_generation=1),
    ]
)


def test_an_agent_that_takes_the_place_of_another_counts_on_from_the_generation_that_runs(
    fleet: Path,
) -> None:
    assert [(1, at(0), at(600)), (2, at(600), at(900)), (3, at(900), at(1200))] == times(
        fleet, "run-340"
    )
    assert [(1, "failed"), (2, "failed"), (3, "completed")] == ends(fleet, "run-340")


story(
    trainer=[
        *fresh("run-350", "a", 0, 5, 600, 0),
        *fresh("run-350", "a", 605, 660, 900, 1),
        # told of by another clock, and not how it began
        *(one | {"run_generation": 0} for one in evaluation("run-350", "b", 700, 710)),
    ],
    library=[
        *fresh("run-350", "x", 610, 665, 690, 0),
        *(one | {"run_generation": 0} for one in evaluation("run-350", "x", 750, 760)),
    ],
)


def test_a_count_is_believed_against_other_sources_and_where_no_begin_is_told(fleet: Path) -> None:
    assert 0.0 == areas(fleet, "run-350", 2).get("evaluation", 0.0)


# events without a number


story(
    trainer=[
        *life("run-400", "a", 0, 400),
        *life("run-400", "b", 700, 800),
        *(
            said("run-400", begin, "phase_start") | {"phase": "evaluation", "end_us": us(last)}
            for begin, last in ((350, 360), (750, 770))
        ),
    ]
)


def test_a_rotated_piece_belongs_to_the_launch_that_began_last_before_it(fleet: Path) -> None:
    assert 10.0 == areas(fleet, "run-400", 1)["evaluation"]
    assert 20.0 == areas(fleet, "run-400", 2)["evaluation"]


story(
    trainer=[
        *life("run-410", "a", 0, 300, run_generation=0),
        *life("run-410", "a", 310, 600, run_generation=1),
        # told by a node whose clock lags
        {**said("run-410", 308, "failure"), "run_generation": 1, "category": "host/host_oom"},
        end("run-410", "a", 600, "failed", run_generation=1),
    ]
)


def test_a_generation_without_a_launch_is_found_by_time_and_then_by_number(
    fleet: Path,
) -> None:
    assert [("no_end_recorded",), ("host_oom",)] == rows(
        fleet, "select failure_category from attempts where job_id = 'run-410' order by attempt"
    )


story(trainer=[said("run-420", second, "progress") for second in (5, 50, 500)])


def test_a_job_of_which_no_launch_is_known_is_one_attempt(fleet: Path) -> None:
    assert [(1, at(5), at(500))] == times(fleet, "run-420")


story(
    trainer=[
        *life("run-430", "a", 0, 400),
        end("run-430", "a", 400, "completed"),
        *life("run-430", "b", 500, 800),
        said("run-430", 450, "phase_start") | {"phase": "queue", "end_us": us(500)},
    ]
)


def test_a_wait_belongs_to_the_attempt_that_follows_it(fleet: Path) -> None:
    assert [(0.0,), (50.0,)] == rows(
        fleet, "select queue_seconds from attempts where job_id = 'run-430' order by attempt"
    )


story(
    trainer=[
        event | {"attempt": number}
        for number, begin in ((2, 0), (3, 500))
        for event in life("run-440", None, begin, begin + 400, scheduler_job="440")
    ],
    library=life("run-440", "x", 905, 1000),
)


def test_a_number_that_a_dump_gives_an_attempt_stays(fleet: Path) -> None:
    assert [
        (2, at(0), at(400)),
        (3, at(500), at(900)),
        (4, at(905), at(1000)),
    ] == times(fleet, "run-440")


# who is believed


story(
    scheduler=job("500", ("PREEMPTED", 0, 10, 1000)),
    trainer=[
        *life("run-500", "a", 20, 990, scheduler_job="500"),
        said("run-500", 40, "alive") | {"run_key": "a", "gpus": 2},
        end("run-500", "a", 1004, "failed", category="user_code/gpu_oom"),
    ],
)


def test_the_scheduler_says_when_and_how_it_ended_and_what_it_held(fleet: Path) -> None:
    assert [("preempted", at(1000), 8, "preempted", "scheduler", "PREEMPTED")] == rows(
        fleet,
        "select outcome, ended_at, gpus, failure_category, failure_rule, failure_evidence "
        "from attempts where job_id = '500'",
    )
    assert ["the scheduler says preempted, the trainer failed"] == [
        detail.partition(" at ")[0]
        for (detail,) in rows(
            fleet,
            "select detail from anomalies where job_id = '500' "
            "and kind in ('sources_disagree', 'several_ends')",
        )
    ]


story(
    scheduler=job("510", ("COMPLETED", 0, 10, 1000)),
    trainer=life("run-510", "a", 4, 990, scheduler_job="510"),
)


def test_a_word_before_the_allocation_began_is_cut_off_and_listed(fleet: Path) -> None:
    assert 24.0 == areas(fleet, "510", 1)["trainer_init"]
    assert [("events_before_start",)] == rows(
        fleet, "select kind from anomalies where job_id = '510'"
    )


SAVED = [
    said("run-520", begin, "phase_start") | {"phase": "checkpoint_save", "end_us": us(begin + 10)}
    for begin in (100, 200)
]
story(
    trainer=[*life("run-520", "a", 0, 400), *(save | {"run_key": "a"} for save in SAVED)],
    library=[SAVED[0] | {"run_key": "x", "step": 1, "at_us": us(101)}],
)


def test_one_save_told_by_two_sources_is_one_save(fleet: Path) -> None:
    assert [(2, 20.0)] == rows(
        fleet,
        "select checkpoint_saves, checkpoint_save_seconds from attempts where job_id = 'run-520'",
    )


story(
    trainer=[*life("run-530", "a", 0, 400), *evaluation("run-530", "a", 100, 120)],
    library=[*life("run-530", "x", 1, 400), *evaluation("run-530", "x", 101, 119)],
)


def test_no_source_ends_what_another_began(fleet: Path) -> None:
    assert 20.0 == areas(fleet, "run-530", 1)["evaluation"]
    assert [] == rows(fleet, "from anomalies where job_id = 'run-530'")


story(
    scheduler=[
        *job("540", ("COMPLETED", 0, 10, 1000)),
        # a format that may tell of training or not
        *life("run-540", "a", 20, 990, scheduler_job="540"),
        *job("541", ("COMPLETED", 0, 10, 1000)),
        said("run-541", 20, "alive") | {"run_key": "a", "scheduler_job": "541"},
    ]
)


def test_a_job_is_instrumented_if_training_was_told_though_its_format_need_not(
    fleet: Path,
) -> None:
    assert [("540", True), ("541", False)] == rows(
        fleet,
        "select job_id, is_instrumented from attempts where job_id in ('540', '541') order by 1",
    )


# clocks


@pytest.mark.parametrize(
    ("ahead", "estimate", "listed"),
    [
        (0, 0.0, []),
        (1, 0.0, []),
        (30, 29.5, [f"about 29.5 s ahead of {SCHEDULER} (28.0 to 31.0 s) in 1 "]),
        (-30, -30.5, [f"about 30.5 s behind {SCHEDULER} (29.0 to 32.0 s) in 1 "]),
    ],
)
def test_clocks_that_are_apart_are_shown_and_never_mended(
    ahead: int, estimate: float, listed: list[str], load: Load
) -> None:
    run = life("run", "a", 11 + ahead, 999 + ahead, scheduler_job="95")
    warehouse = load(
        (SCHEDULER, job("95", ("COMPLETED", 0, 10, 1000))), (TRAINER, run), at_once=True
    )

    assert [(TRAINER, SCHEDULER, 1, ahead - 2.0, ahead + 1.0, estimate)] == rows(
        warehouse, "from clock_offsets"
    )
    assert [(1, at(10), at(1000))] == times(warehouse, "95")
    told = rows(warehouse, "select job_id, detail from anomalies where kind = 'clock_offset'")
    assert [None] * len(listed) == [job_id for job_id, _ in told]
    assert all(word in detail for word, (_, detail) in zip(listed, told, strict=True))


def test_a_source_of_whose_ends_none_is_told_is_behind_by_at_least_its_first_word(
    load: Load,
) -> None:
    warehouse = load(
        (SCHEDULER, job("95", ("PREEMPTED", 0, 40, 1000))),
        (TRAINER, life("run", "a", 10, 970, scheduler_job="95")),
        at_once=True,
    )

    assert [(f"{TRAINER} is at least 30.0 s behind {SCHEDULER} in 1 attempt",)] == rows(
        warehouse, "select detail from anomalies where kind = 'clock_offset'"
    )


def test_what_a_scheduler_killed_may_outlive_its_allocation(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("95", ("PREEMPTED", 0, 10, 1000))),
        (TRAINER, life("run", "a", 11, 1030, scheduler_job="95")),
        at_once=True,
    )

    assert [(None, 1.0, 0.0)] == rows(
        warehouse, "select low_seconds, high_seconds, estimate_seconds from clock_offsets"
    )


# order and repetition


@pytest.fixture(scope="module")
def in_any_order(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Warehouses of the same dumps, one after another; and the other way round, then all again."""
    folder = tmp_path_factory.mktemp("in-any-order")
    of_rows = (
        (SCHEDULER, job("fleet:95", *PREEMPTED_ONCE)),
        (TRAINER, life("run", "a", 20, 1005, scheduler_job="95", save=600)),
        (LIBRARY, life("run", "b", 1130, 1990, scheduler_job="95", resumed=10)),
        (SCHEDULER, job("fleet:96", ("COMPLETED", 2100, 2200, 2300))),
        (TRAINER, life("run", "c", 2210, 2290, scheduler_job="96")),
    )
    commands = [
        [
            write_told(folder / f"{number}-{story}", source, events)
            for story, (source, events) in enumerate(told)
        ]
        for number, told in enumerate(zip(of_rows, stating_one_job(), strict=True))
    ]
    with pytest.MonkeyPatch.context() as patch:
        telling.register(patch)
        again = [*reversed(commands), [dump for dumps in commands for dump in dumps]]
        for name, order in (("forth", commands), ("back", again)):
            for dumps in order:
                assert 0 == ingest(folder / name, *dumps)
    return folder / "forth", folder / "back"


def test_sources_loaded_again_and_in_another_order_change_nothing(
    in_any_order: tuple[Path, Path],
) -> None:
    forth, back = in_any_order

    assert {} == differences(forth, back)


# what is asked of a warehouse


def ends(warehouse: Path, job_id: str) -> list[tuple[int, str]]:
    return rows(
        warehouse, "select attempt, outcome from attempts where job_id = ? order by 1", [job_id]
    )


def times(warehouse: Path, job_id: str) -> list[tuple[int, datetime, datetime]]:
    return rows(
        warehouse,
        "select attempt, started_at, ended_at from attempts where job_id = ? order by 1",
        [job_id],
    )


def first_batches(warehouse: Path, job_id: str) -> list[datetime | None]:
    return [
        first
        for (first,) in rows(
            warehouse,
            "select first_batch_at from attempts where job_id = ? order by attempt",
            [job_id],
        )
    ]
