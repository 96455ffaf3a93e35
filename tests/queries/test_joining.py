"""Several sources that speak of one attempt make one timeline, in whatever order they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.warehouses import differences
from tests.queries import telling
from tests.queries.engine import areas, ingest, rows
from tests.queries.telling import LIBRARY, SCHEDULER, TRAINER, write_told

Fields = dict[str, Any]
Load = Callable[..., Path]

BEGAN = datetime(2026, 3, 2, 9, 0, 0)
SECOND_US = 1_000_000
ORDERS = list(permutations(range(3)))
BEGAN_US = int((BEGAN - datetime(1970, 1, 1)).total_seconds()) * SECOND_US


@pytest.fixture(autouse=True)
def told_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    telling.register(monkeypatch)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Ingest dumps, each (format, events), one command after another, into one warehouse."""

    def load(*dumps: tuple[str, Iterable[Fields]], into: str = "warehouse") -> Path:
        for number, (source, events) in enumerate(dumps):
            dump = write_told(tmp_path / f"{into}-{number}.jsonl", events)

            assert 0 == ingest(tmp_path / into, dump, "--format", source)
        return tmp_path / into

    return load


# one job of a scheduler and of a trainer


PREEMPTED_ONCE = ("PREEMPTED", 0, 10, 1000), ("COMPLETED", 1001, 1120, 2000)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_a_preempted_and_requeued_run_is_one_job_in_whatever_order_it_is_told(
    order: Sequence[int], load: Load
) -> None:
    dumps = (
        (SCHEDULER, job("fleet:95", *PREEMPTED_ONCE)),
        (TRAINER, life("run", "a", 20, 1005, scheduler_job="95", save=600)),
        (TRAINER, life("run", "b", 1130, 1990, scheduler_job="95", resumed=10)),
    )
    warehouse = load(*(dumps[place] for place in order))

    assert [
        ("fleet:95", 1, True, "preempted", "preempted", at(10), at(50), at(1000), 10.0),
        ("fleet:95", 2, True, "completed", None, at(1120), at(1160), at(2000), 120.0),
    ] == rows(
        warehouse,
        "select job_id, attempt, is_instrumented, outcome, failure_category, started_at, "
        "first_batch_at, ended_at, queue_seconds from attempts order by 1, 2",
    )
    # what the trainer says past the end of its allocation is cut off
    assert {
        "unaccounted": 10.0,
        "trainer_init": 30.0,
        "effective": 550.0,
        "checkpoint_save": 10.0,
        "unsaved": 390.0,
    } == areas(warehouse, "fleet:95", 1)
    assert [("fleet:95", 2)] == rows(warehouse, "select job_id, attempts from jobs")
    assert [("fleet:95",)] == rows(warehouse, "select job_id from job_details")


def test_a_run_without_a_row_waits_for_it_under_its_own_name(load: Load) -> None:
    run = (TRAINER, life("run", "a", 20, 990, scheduler_job="95"))
    alone = load(run, into="alone")

    assert [("run", 1)] == rows(alone, "select job_id, attempt from attempts")


def test_a_trainer_that_names_no_job_of_the_scheduler_is_a_job_of_its_own(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:95", *PREEMPTED_ONCE)), (TRAINER, life("run", "a", 20, 990))
    )

    assert [("fleet:95", 2), ("run", 1)] == rows(warehouse, "select job_id, attempts from jobs")


@pytest.mark.parametrize("scheduled", ["fleet:95", "95"])
@pytest.mark.parametrize("cluster", [None, "fleet"])
def test_a_number_is_enough_where_one_cluster_has_it(
    scheduled: str, cluster: str | None, load: Load
) -> None:
    named = {} if cluster is None else {"cluster": cluster}
    run = life("run", "a", 20, 990, scheduler_job="95", **named)
    warehouse = load((SCHEDULER, job(scheduled, *PREEMPTED_ONCE)), (TRAINER, run))

    assert [(scheduled, 2)] == rows(warehouse, "select job_id, attempts from jobs")


def test_a_number_of_another_cluster_is_another_job(load: Load) -> None:
    run = life("run", "a", 20, 990, scheduler_job="95", cluster="other")
    warehouse = load((SCHEDULER, job("fleet:95", *PREEMPTED_ONCE)), (TRAINER, run))

    assert [("fleet:95",), ("run",)] == rows(warehouse, "select job_id from jobs order by 1")


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_a_number_that_two_clusters_have_joins_nothing_and_is_listed(
    order: Sequence[int], load: Load
) -> None:
    """Where the second cluster comes last, what was joined comes apart again."""
    dumps = (
        (SCHEDULER, job("red:95", *PREEMPTED_ONCE)),
        (SCHEDULER, job("blue:95", ("COMPLETED", 5000, 5001, 5100))),
        (TRAINER, life("run", "a", 20, 990, scheduler_job="95")),
    )
    warehouse = load(*(dumps[place] for place in order))

    assert [("blue:95", 1), ("red:95", 2), ("run", 1)] == rows(
        warehouse, "select job_id, attempts from jobs order by 1"
    )
    assert [("run", None)] == rows(
        warehouse, "select job_id, attempt from anomalies where kind = 'ambiguous_job'"
    )


def test_a_named_cluster_tells_two_jobs_of_one_number_apart(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("red:95", *PREEMPTED_ONCE)),
        (SCHEDULER, job("blue:95", ("COMPLETED", 0, 1, 995))),
        (TRAINER, life("run", "a", 20, 990, scheduler_job="95", cluster="blue")),
    )

    assert [("blue:95", True), ("red:95", False)] == rows(
        warehouse, "select job_id, is_instrumented from jobs order by 1"
    )
    assert [] == rows(warehouse, "from anomalies where kind = 'ambiguous_job'")


# what is one job


def test_one_name_over_several_jobs_of_the_scheduler_is_one_job_of_that_name(load: Load) -> None:
    first = (SCHEDULER, job("fleet:95", ("TIMEOUT", 0, 10, 1000)))
    second = (SCHEDULER, job("fleet:96", ("COMPLETED", 900, 1100, 2000)))
    runs = [
        *life("session", "a", 20, 990, scheduler_job="95"),
        *life("session", "b", 1110, 1990, scheduler_job="96"),
    ]
    one = load(first, (TRAINER, runs), into="one")
    both = load(first, (TRAINER, runs), second, into="both")

    # until the row of the second job is known, its run still is an attempt
    assert [("fleet:95", 1, "timeout"), ("fleet:95", 2, "lost")] == ends(one)
    assert [("session", 1, "timeout"), ("session", 2, "completed")] == ends(both)


def test_names_under_one_job_of_the_scheduler_are_one_job(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:95", *PREEMPTED_ONCE)),
        (TRAINER, life("first-name", "a", 20, 990, scheduler_job="95")),
        (LIBRARY, life("second-name", "b", 1130, 1990, scheduler_job="95")),
    )

    assert [("fleet:95", 1, "preempted"), ("fleet:95", 2, "completed")] == ends(warehouse)


def test_names_and_jobs_that_hang_together_over_corners_are_one_job(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:1", ("FAILED", 0, 10, 100))),
        (SCHEDULER, job("fleet:2", ("FAILED", 200, 210, 300))),
        (SCHEDULER, job("fleet:3", ("COMPLETED", 400, 410, 500))),
        (TRAINER, life("m", "a", 20, 90, scheduler_job="1")),
        (TRAINER, life("m", "b", 220, 290, scheduler_job="2")),
        (LIBRARY, life("b", "c", 225, 290, scheduler_job="2")),
        (LIBRARY, life("b", "d", 420, 490, scheduler_job="3")),
    )

    # of several names the least
    assert [("b", 1, "failed"), ("b", 2, "failed"), ("b", 3, "completed")] == ends(warehouse)


def test_a_name_under_which_two_jobs_ran_at_once_joins_neither(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:1", ("COMPLETED", 0, 10, 500))),
        (SCHEDULER, job("fleet:2", ("COMPLETED", 0, 20, 600))),
        (TRAINER, life("none", "a", 30, 490, scheduler_job="1")),
        (TRAINER, life("none", "b", 40, 590, scheduler_job="2")),
    )

    assert [("fleet:1", 1, "completed"), ("fleet:2", 1, "completed")] == ends(warehouse)
    assert [("fleet:1", at(60)), ("fleet:2", at(70))] == rows(
        warehouse, "select job_id, first_batch_at from attempts order by 1"
    )
    assert [("fleet:1",), ("fleet:2",)] == rows(
        warehouse, "select job_id from anomalies where kind = 'ambiguous_job' order by 1"
    )


def test_runs_of_a_number_that_was_given_out_again_go_to_the_job_of_their_time(
    load: Load,
) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:95", ("COMPLETED", 0, 10, 500), ("FAILED", 9000, 9010, 9500))),
        (TRAINER, life("95", "a", 30, 490, scheduler_job="95")),
        (TRAINER, life("95", "b", 9040, 9490, scheduler_job="95")),
    )
    again = f"fleet:95@{BEGAN_US // SECOND_US + 9000}"

    assert [("fleet:95", 1, "completed"), (again, 1, "failed")] == ends(warehouse)
    assert [(at(60),), (at(9070),)] == rows(
        warehouse, "select first_batch_at from attempts order by 1"
    )


# launches and their allocations


def test_a_launch_lies_in_the_allocation_that_it_overlaps_most(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("95", ("PREEMPTED", 0, 0, 1000), ("COMPLETED", 1000, 1000, 2000))),
        (TRAINER, life("run", "a", 990, 1900, scheduler_job="95")),
    )

    assert [(1, None), (2, at(1020))] == rows(
        warehouse, "select attempt, first_batch_at from attempts order by 1"
    )


def test_a_restart_count_places_a_launch_whose_clock_is_wrong(load: Load) -> None:
    rows_of_job = job("95", ("PREEMPTED", 0, 0, 20), ("COMPLETED", 100, 140, 160))
    late = life("run", "a", 200, 215, scheduler_job="95", run_restart=0, init=1)
    warehouse = load((SCHEDULER, rows_of_job), (TRAINER, late))

    # by its time alone it would be of the second
    assert [("95", 1, "preempted", 2), ("95", 2, "completed", 1)] == rows(
        warehouse,
        "select attempts.job_id, attempts.attempt, outcome, count(distinct found.kind) + 1 "
        "from attempts left join anomalies as found on attempts.job_id = found.job_id "
        "and attempts.attempt = found.attempt and found.kind = 'events_after_end' "
        "group by all order by 2",
    )


@pytest.mark.parametrize(("late", "attempts"), [(119, 1), (121, 2)])
def test_a_launch_just_outside_every_allocation_belongs_to_the_next_one(
    late: int, attempts: int, load: Load
) -> None:
    warehouse = load(
        (SCHEDULER, job("95", ("COMPLETED", 0, 0, 100))),
        (TRAINER, life("run", "a", 100 + late, 300, scheduler_job="95")),
    )

    assert [(attempts,)] == rows(warehouse, "select count(*) from attempts")


def test_launches_of_several_sources_that_overlap_are_one_attempt(load: Load) -> None:
    warehouse = load(
        (TRAINER, life("run", "a", 0, 500)),
        (LIBRARY, life("run", "x", 3, 505)),
        (TRAINER, life("run", "b", 600, 900)),
    )

    assert [("run", 1, at(0), at(505)), ("run", 2, at(600), at(900))] == rows(
        warehouse, "select job_id, attempt, started_at, ended_at from attempts order by 2"
    )


def test_launches_one_after_the_other_in_one_allocation_share_it(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:95", ("COMPLETED", 0, 0, 1000))),
        (TRAINER, life("run", "a", 10, 400, scheduler_job="95")),
        (TRAINER, life("run", "b", 450, 990, scheduler_job="95")),
    )
    allocation = f"fleet:95/{BEGAN_US // SECOND_US}"

    assert [
        (1, allocation, at(0), at(400), "lost", 8),
        (2, allocation, at(400), at(1000), "completed", 8),
    ] == rows(
        warehouse,
        "select attempt, allocation_id, started_at, ended_at, outcome, gpus from attempts "
        "order by 1",
    )


def test_an_allocation_without_a_launch_is_an_attempt_nobody_describes(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:95", ("NODE_FAIL", 0, 10, 100), ("COMPLETED", 100, 220, 900))),
        (TRAINER, life("run", "a", 230, 890, scheduler_job="95")),
    )

    assert {"unaccounted": 90.0} == areas(warehouse, "fleet:95", 1)
    assert [(1, "node_fail"), (2, None)] == rows(
        warehouse, "select attempt, failure_category from attempts order by 1"
    )


def test_a_run_that_outlives_the_last_dump_of_its_scheduler_is_in_its_allocation(
    load: Load,
) -> None:
    warehouse = load(
        (SCHEDULER, job("fleet:95", ("RUNNING", 0, 0, 1000))),
        (TRAINER, life("run", "a", 10, 5000, scheduler_job="95")),
        (TRAINER, life("run", "b", 6000, 7000, scheduler_job="95")),
    )

    assert [(1, at(0), at(5000)), (2, at(5000), at(7000))] == rows(
        warehouse, "select attempt, started_at, ended_at from attempts order by 1"
    )
    assert 1 == len(rows(warehouse, "select distinct allocation_id from attempts"))


# generations


def test_generations_are_attempts_of_one_allocation(load: Load) -> None:
    run = [
        *life("run", "a", 20, 300, scheduler_job="95", run_generation=0),
        failure("run", "a", 301, run_generation=0),
        *life("run", "a", 310, 600, scheduler_job="95", run_generation=1),
        *life("run", "a", 610, 990, scheduler_job="95", run_generation=2),
    ]
    warehouse = load((SCHEDULER, job("95", ("COMPLETED", 0, 10, 1000))), (TRAINER, run))

    # the first begins with the allocation, the last ends with it; each ends where the next begins
    assert [
        (1, at(10), at(310), "failed", 10.0),
        (2, at(310), at(610), "lost", 0.0),
        (3, at(610), at(1000), "completed", 0.0),
    ] == rows(
        warehouse,
        "select attempt, started_at, ended_at, outcome, queue_seconds from attempts order by 1",
    )
    assert [(990.0,)] == rows(warehouse, "select sum(wall_seconds) from attempts")
    assert 1 == len(rows(warehouse, "select distinct allocation_id from attempts"))


def test_the_trainers_end_stands_for_a_generation_that_others_followed(load: Load) -> None:
    run = [
        *life("run", "a", 20, 300, scheduler_job="95", run_generation=0),
        end("run", "a", 305, "failed", run_generation=0),
        *life("run", "a", 310, 990, scheduler_job="95", run_generation=1),
        end("run", "a", 985, "failed", run_generation=1),
    ]
    warehouse = load((SCHEDULER, job("95", ("COMPLETED", 0, 10, 1000))), (TRAINER, run))

    assert [(1, at(305), "failed"), (2, at(1000), "completed")] == rows(
        warehouse, "select attempt, ended_at, outcome from attempts order by 1"
    )


def test_generations_without_a_scheduler_share_what_their_launch_holds(load: Load) -> None:
    run = [
        *life("run", "a", 0, 300, run_generation=0),
        end("run", "a", 305, "failed", run_generation=0),
        *life("run", "a", 350, 600, run_generation=1),
    ]
    warehouse = load((TRAINER, run))

    assert [(1, at(0), at(305)), (2, at(305), at(600))] == rows(
        warehouse, "select attempt, started_at, ended_at from attempts order by 1"
    )


def test_a_source_that_knows_no_generations_is_told_apart_by_time(load: Load) -> None:
    generations = [
        *life("run", "a", 0, 300, run_generation=0),
        *life("run", "a", 310, 600, run_generation=1),
    ]
    steps = [
        {**said("run", second, "progress"), "run_key": "x", "step": second}
        for second in range(100, 600, 100)
    ]
    warehouse = load((TRAINER, generations), (LIBRARY, steps))

    assert [(1, at(310)), (2, at(600))] == rows(
        warehouse, "select attempt, ended_at from attempts order by 1"
    )


# events without a number


def test_a_rotated_piece_belongs_to_the_launch_that_began_last_before_it(load: Load) -> None:
    rotated = [
        {**said("run", 350, "phase_start"), "phase": "evaluation", "end_us": us(360)},
        {**said("run", 750, "phase_start"), "phase": "evaluation", "end_us": us(770)},
    ]
    warehouse = load(
        (TRAINER, life("run", "a", 0, 400)),
        (TRAINER, life("run", "b", 700, 800)),
        (TRAINER, rotated),
    )

    assert 10.0 == areas(warehouse, "run", 1)["evaluation"]
    assert 20.0 == areas(warehouse, "run", 2)["evaluation"]


def test_a_generation_without_a_launch_is_found_by_time_and_then_by_number(load: Load) -> None:
    run = [
        *life("run", "a", 0, 300, run_generation=0),
        *life("run", "a", 310, 600, run_generation=1),
        # its clock is that of a node that lags
        {**said("run", 308, "failure"), "run_generation": 1, "category": "host/host_oom"},
        end("run", "a", 600, "failed", run_generation=1),
    ]
    warehouse = load((TRAINER, run))

    assert [(1, "no_end_recorded"), (2, "host_oom")] == rows(
        warehouse, "select attempt, failure_category from attempts order by 1"
    )


def test_a_job_of_which_no_launch_is_known_is_one_attempt(load: Load) -> None:
    loose = [{**said("run", second, "progress"), "step": second} for second in (5, 50, 500)]
    warehouse = load((TRAINER, loose))

    assert [("run", 1, at(5), at(500))] == rows(
        warehouse, "select job_id, attempt, started_at, ended_at from attempts"
    )


def test_a_wait_belongs_to_the_attempt_that_follows_it(load: Load) -> None:
    waits = [
        {**said("run", 450, "phase_start"), "phase": "queue", "end_us": us(500)},
    ]
    warehouse = load(
        (TRAINER, [*life("run", "a", 0, 400), end("run", "a", 400, "completed")]),
        (TRAINER, life("run", "b", 500, 800)),
        (TRAINER, waits),
    )

    assert [(1, 0.0), (2, 50.0)] == rows(
        warehouse, "select attempt, queue_seconds from attempts order by 1"
    )


def test_a_number_that_a_dump_gives_an_attempt_stays(load: Load) -> None:
    numbered = [
        {**event, "attempt": number}
        for number, begin in ((2, 0), (3, 500))
        for event in life("run", None, begin, begin + 400, scheduler_job="95")
    ]
    warehouse = load((TRAINER, numbered), (LIBRARY, life("run", "x", 905, 1000)))

    assert [(2, at(0)), (3, at(500)), (4, at(905))] == rows(
        warehouse, "select attempt, started_at from attempts order by 1"
    )


# who is believed


def test_the_scheduler_says_when_and_how_it_ended_and_what_it_held(load: Load) -> None:
    run = [
        *life("run", "a", 20, 990, scheduler_job="95"),
        {**said("run", 40, "alive"), "run_key": "a", "gpus": 2},
        end("run", "a", 1004, "failed", category="user_code/gpu_oom"),
    ]
    warehouse = load((SCHEDULER, job("95", ("PREEMPTED", 0, 10, 1000))), (TRAINER, run))

    assert [("preempted", at(1000), 8, "scheduler", "preempted")] == rows(
        warehouse,
        "select outcome, ended_at, gpus, failure_domain, failure_category from attempts",
    )
    assert [("sources_disagree", "the scheduler says preempted, the trainer failed")] == [
        (kind, detail.partition(" at ")[0])
        for kind, detail in rows(
            warehouse, "select kind, detail from anomalies where kind like 's%'"
        )
    ]


def test_a_word_before_the_allocation_began_is_cut_off_and_listed(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("95", ("COMPLETED", 0, 10, 1000))),
        (TRAINER, life("run", "a", 4, 990, scheduler_job="95")),
    )

    assert [(at(10), 24.0)] == rows(
        warehouse,
        "select started_at, sum(seconds) from attempts inner join area_by_attempt "
        "using (job_id, attempt) where area = 'trainer_init' group by 1",
    )
    assert [("events_before_start",)] == rows(
        warehouse, "select kind from anomalies where kind like 'events%'"
    )


def test_one_save_told_by_two_sources_is_one_save(load: Load) -> None:
    saves = [
        {**said("run", 100, "phase_start"), "phase": "checkpoint_save", "end_us": us(110)},
        {**said("run", 200, "phase_start"), "phase": "checkpoint_save", "end_us": us(210)},
    ]
    warehouse = load(
        (TRAINER, [*life("run", "a", 0, 400), *({**save, "run_key": "a"} for save in saves)]),
        (
            LIBRARY,
            [
                {**save, "run_key": "x", "step": 1, "at_us": save["at_us"] + 1000}
                for save in saves[:1]
            ],
        ),
    )

    assert [(2, 20.0)] == rows(
        warehouse, "select checkpoint_saves, checkpoint_save_seconds from attempts"
    )


def test_no_source_ends_what_another_began(load: Load) -> None:
    warehouse = load(
        (TRAINER, [*life("run", "a", 0, 400), *spanned("run", "a", 100, 120)]),
        (LIBRARY, [*life("run", "x", 1, 400), *spanned("run", "x", 101, 119)]),
    )

    assert 20.0 == areas(warehouse, "run", 1)["evaluation"]
    assert [] == rows(
        warehouse, "from anomalies where kind in ('missing_end', 'end_without_start')"
    )


# clocks


@pytest.mark.parametrize(
    ("ahead", "estimate", "listed"),
    [(0, 0.0, []), (1, 0.0, []), (30, 29.5, ["ahead of"]), (-30, -30.5, ["behind"])],
)
def test_clocks_that_are_apart_are_shown_and_never_mended(
    ahead: int, estimate: float, listed: list[str], load: Load
) -> None:
    run = life("run", "a", 11 + ahead, 999 + ahead, scheduler_job="95")
    warehouse = load((SCHEDULER, job("95", ("COMPLETED", 0, 10, 1000))), (TRAINER, run))

    assert [(TRAINER, SCHEDULER, 1, ahead - 2.0, ahead + 1.0, estimate)] == rows(
        warehouse, "from clock_offsets"
    )
    assert [(at(10), at(1000))] == rows(warehouse, "select started_at, ended_at from attempts")
    said_of_clocks = rows(
        warehouse, "select job_id, detail from anomalies where kind = 'clock_offset'"
    )
    assert [None] * len(listed) == [job_id for job_id, _ in said_of_clocks]
    assert all(word in detail for word, (_, detail) in zip(listed, said_of_clocks, strict=True))


def test_what_a_scheduler_killed_may_outlive_its_allocation(load: Load) -> None:
    warehouse = load(
        (SCHEDULER, job("95", ("PREEMPTED", 0, 10, 1000))),
        (TRAINER, life("run", "a", 11, 1030, scheduler_job="95")),
    )

    assert [(None, 1.0, 0.0)] == rows(
        warehouse, "select low_seconds, high_seconds, estimate_seconds from clock_offsets"
    )


# order, repetition


def test_sources_loaded_again_and_in_another_order_change_nothing(load: Load) -> None:
    dumps = (
        (SCHEDULER, job("fleet:95", *PREEMPTED_ONCE)),
        (TRAINER, life("run", "a", 20, 1005, scheduler_job="95", save=600)),
        (LIBRARY, life("run", "b", 1130, 1990, scheduler_job="95", resumed=10)),
        (SCHEDULER, job("fleet:96", ("COMPLETED", 2100, 2200, 2300))),
        (TRAINER, life("run", "c", 2210, 2290, scheduler_job="96")),
    )
    forth = load(*dumps, into="forth")
    back = load(*reversed(dumps), *dumps, into="back")

    assert {} == differences(forth, back)


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


def spanned(name: str, run_key: str, begin: int, last: int) -> list[Fields]:
    """An evaluation, told as a start and an end."""
    return [
        said(name, second, event) | {"phase": "evaluation", "run_key": run_key}
        for second, event in ((begin, "phase_start"), (last, "phase_end"))
    ]


def failure(name: str, run_key: str, second: int, **more: object) -> Fields:
    return said(name, second, "failure") | {"run_key": run_key} | more


def end(name: str, run_key: str, second: int, outcome: str, **more: object) -> Fields:
    return said(name, second, "attempt_end") | {"run_key": run_key, "outcome": outcome} | more


def said(name: str, second: int, event: str) -> Fields:
    return {"job_id": name, "at_us": us(second), "event": event}


def us(second: int) -> int:
    return BEGAN_US + second * SECOND_US


def at(second: int) -> datetime:
    return BEGAN + timedelta(seconds=second)


def ends(warehouse: Path) -> list[tuple[str, int, str]]:
    return rows(warehouse, "select job_id, attempt, outcome from attempts order by 1, 2")
