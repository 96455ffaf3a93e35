"""The oracle of the joining against its rulings, by hand. No SQL here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.oracle.joining import Ambiguity, Dump, Joined, measure_dumps
from tests.oracle.sources import SAYS, SCHEDULER, TRAINER, random_dumps

Fields = dict[str, Any]

SECOND_US = 1_000_000
START_US = 1_772_323_200 * SECOND_US


def test_r23_a_number_that_two_clusters_have_joins_nothing() -> None:
    joined = measured(
        scheduled("red:7", ("COMPLETED", 0, 100)),
        scheduled("blue:7", ("COMPLETED", 0, 100)),
        spoken("run", "a", 10, 90, scheduler_job="7"),
    )

    assert {("red:7", 1), ("blue:7", 1), ("run", 1)} == joined.measures.attempts.keys()
    assert {Ambiguity("run", "clusters")} == joined.ambiguities


def test_r23_a_named_cluster_decides() -> None:
    joined = measured(
        scheduled("red:7", ("COMPLETED", 0, 100)),
        scheduled("blue:7", ("COMPLETED", 0, 100)),
        spoken("run", "a", 10, 90, scheduler_job="7", cluster="red"),
    )

    assert {("red:7", 1), ("blue:7", 1)} == joined.measures.attempts.keys()
    assert frozenset() == joined.ambiguities


def test_r24_a_number_given_out_again_is_the_job_of_its_time() -> None:
    joined = measured(
        scheduled("7", ("COMPLETED", 0, 100), ("COMPLETED", 1000, 1100)),
        spoken("7", "a", 1010, 1090, scheduler_job="7"),
    )
    again = f"7@{START_US // SECOND_US + 1000}"

    assert [(("7", 1), None), ((again, 1), 1010)] == first_batches(joined)


def test_r25_a_name_over_two_jobs_is_one_job_and_over_two_at_once_is_none() -> None:
    one_after_the_other = measured(
        scheduled("7", ("FAILED", 0, 100)),
        scheduled("8", ("FAILED", 200, 300)),
        spoken("run", "a", 10, 90, scheduler_job="7"),
        spoken("run", "b", 210, 290, scheduler_job="8"),
    )
    at_once = measured(
        scheduled("7", ("FAILED", 0, 100)),
        scheduled("8", ("FAILED", 50, 300)),
        spoken("run", "a", 10, 90, scheduler_job="7"),
        spoken("run", "b", 60, 290, scheduler_job="8"),
    )

    assert [("run", 1), ("run", 2)] == sorted(one_after_the_other.measures.attempts)
    assert [("7", 1), ("8", 1)] == sorted(at_once.measures.attempts)


def test_r26_a_launch_is_placed_by_count_by_overlap_or_just_beside() -> None:
    rows = scheduled("7", ("PREEMPTED", 0, 100), ("COMPLETED", 400, 500))
    overlapping = measured(rows, spoken("run", "a", 60, 470, scheduler_job="7"))
    counted = measured(rows, spoken("run", "a", 250, 270, scheduler_job="7", run_restart=1))
    beside = measured(rows, spoken("run", "a", 200, 270, scheduler_job="7"))
    far = measured(rows, spoken("run", "a", 240, 270, scheduler_job="7"))

    assert [None, 400] == [first for _, first in first_batches(overlapping)]
    assert [2, 2, 2, 3] == [
        len(joined.measures.attempts) for joined in (overlapping, counted, beside, far)
    ]


def test_r28_generations_are_attempts_that_end_where_the_next_begins() -> None:
    joined = measured(
        scheduled("7", ("COMPLETED", 0, 100)),
        spoken("run", "a", 10, 40, scheduler_job="7", run_generation=0),
        spoken("run", "a", 50, 90, scheduler_job="7", run_generation=1),
    )

    assert [(0, 50, "lost"), (50, 100, "completed")] == [
        (seconds(one.started_us), seconds(one.ended_us), one.outcome)
        for one in joined.measures.attempts.values()
    ]


def test_r29_the_scheduler_says_how_it_ended() -> None:
    end = {"job_id": "run", "run_key": "a", "event": "attempt_end", "outcome": "failed"}
    joined = measured(
        scheduled("7", ("PREEMPTED", 0, 100)),
        [*spoken("run", "a", 10, 90, scheduler_job="7"), end | {"at_us": at(95)}],
    )

    assert [("preempted", 100, "scheduler/preempted")] == [
        (one.outcome, seconds(one.ended_us), one.failure_category)
        for one in joined.measures.attempts.values()
    ]


def test_random_fleets_are_the_same_for_the_same_seed_and_join_something() -> None:
    dumps = [dump for seed in range(30) for dump in random_dumps(seed, prefix=f"s{seed}-")]
    names = {event["job_id"] for dump in dumps for event in dump.events if dump.source != SCHEDULER}
    published = {job_id for job_id, _ in measure_dumps(dumps).measures.attempts}

    assert random_dumps(7) == random_dumps(7)
    assert names - published
    assert names & published


def measured(*told: Iterable[Fields]) -> Joined:
    return measure_dumps(
        [
            Dump(source, source, SAYS[source], tuple(events))
            for events in map(list, told)
            for source in [SCHEDULER if "row_key" in events[0] else TRAINER]
        ]
    )


def scheduled(job_id: str, *rows: tuple[str, int, int]) -> list[Fields]:
    """Rows of (state, start, end), each submitted as it starts."""
    events: list[Fields] = []
    for state, begin, end in rows:
        of_row = {
            "job_id": job_id,
            "row_key": str(START_US // SECOND_US + begin),
            "row_submitted_us": at(begin),
            "row_state": state,
        }
        ended: Fields = {"event": "attempt_end", "outcome": state.lower(), "at_us": at(end)}
        if state == "PREEMPTED":
            ended["category"] = "scheduler/preempted"
        events += [
            of_row | {"event": "attempt_start", "at_us": at(begin)},
            of_row | ended,
        ]
    return events


def spoken(name: str, run_key: str, begin: int, last: int, **more: object) -> list[Fields]:
    """A launch that trains from its begin to its last word."""
    training = {"event": "phase_start", "phase": "training", "end_us": at(last)}
    return [{"job_id": name, "run_key": run_key, "at_us": at(begin)} | training | more]


def first_batches(joined: Joined) -> list[tuple[tuple[str, int], int | None]]:
    return [
        (key, None if one.first_batch_us is None else seconds(one.first_batch_us))
        for key, one in sorted(joined.measures.attempts.items())
    ]


def at(second: int) -> int:
    return START_US + second * SECOND_US


def seconds(us: int) -> int:
    return (us - START_US) // SECOND_US
