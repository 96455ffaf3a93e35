"""What a regression says of itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import duckdb
import pytest

from queries.detection import sentences
from queries.detection.metrics import Metric, is_part, metric, related
from queries.detection.sentence import Told, sentence

SLOWER = Told(
    team="feed",
    metric="trainer_init_seconds",
    started_on=date(2026, 3, 2),
    verdict="slower",
    held_back_by=None,
    observed=520.0,
    expected=370.0,
    change_ratio=520 / 370 - 1,
    lost_gpu_seconds_per_day=310 * 3600.0,
    is_gpu_weighed=True,
    attempts_before=1400,
    attempts_after=260,
    detected_on=date(2026, 3, 5),
    ended_on=None,
    days_to_detect=3,
    sla_days=7,
    parts=(("trainer_init_preproc_creation_seconds", 61.2, None),),
    speed=150.25,
    mix=-2.5,
    changes=(("trainer 9", None),),
    symptoms=(("feed", "tts_seconds", 0.12), ("fleet", "tts_seconds", 0.03)),
)


def test_a_slower_phase_says_how_much_since_when_why_and_what_else() -> None:
    assert (
        "Trainer init for feed: 6 min 10 s -> 8 min 40 s since 2 Mar (+41 %, 310 GPU-hours a day), "
        "over 260 attempts, 1,400 before. The largest part of it is trainer init, stage "
        "preproc_creation: +61 s. On means: +150.2 s are the same work, -2.5 s other work. Also "
        "moved: Time to start +12 %, Time to start of all teams +3 %. Rolled out in those days: "
        "trainer 9. Found on 5 Mar, after 3 days."
    ) == sentence(SLOWER)


@pytest.mark.parametrize("mix", [-0.0006, 0.0, 0.04])
def test_a_part_that_rounds_to_nothing_has_no_sign(mix: float) -> None:
    assert " +150.2 s are the same work, 0.0 s other work. " in sentence(replace(SLOWER, mix=mix))


def test_a_part_is_called_as_everywhere() -> None:
    slower = replace(SLOWER, metric="ttr_seconds", parts=(("pt2_compile_seconds", 56.0, None),))

    assert " The largest part of it is PT2 compile: +56 s. " in sentence(slower)


@pytest.mark.parametrize(("change", "told"), [(0.4, "+0.4 s"), (9.6, "+9.6 s"), (12.4, "+12 s")])
def test_a_small_part_is_not_told_as_nothing(change: float, told: str) -> None:
    slower = replace(SLOWER, parts=(("trainer_init_device_init_seconds", change, None),))

    assert f" is trainer init, stage device_init: {told}. " in sentence(slower)


def test_a_late_find_says_that_it_was_late() -> None:
    late = replace(SLOWER, days_to_detect=9)

    assert sentence(late).endswith("after 9 days, later than the 7 agreed.")


def test_one_that_is_over_says_until_when() -> None:
    assert " from 2 Mar to 6 Mar (" in sentence(replace(SLOWER, ended_on=date(2026, 3, 6)))


@pytest.mark.parametrize(
    ("ratio", "told"),
    [(0.41, "(+41 %, "), (12.5, "(+1,250 %, "), (1_660_927.05, "(over 100 times as much, ")],
)
def test_a_change_from_next_to_nothing_is_told_in_no_million_of_percent(
    ratio: float, told: str
) -> None:
    assert told in sentence(replace(SLOWER, change_ratio=ratio))


def test_one_of_a_single_day_says_on_which() -> None:
    assert " on 2 Mar (" in sentence(replace(SLOWER, ended_on=SLOWER.started_on))


def test_one_of_which_nothing_is_told_any_more_says_since_when() -> None:
    assert " 1,400 before. Nothing was told of it after 6 Mar. " in sentence(
        replace(SLOWER, silent_since=date(2026, 3, 6))
    )


def test_failures_name_their_most_frequent_cause() -> None:
    told = replace(
        SLOWER,
        team="fleet",
        metric="failures_storage",
        verdict="failures",
        observed=1.24,
        expected=0.1,
        change_ratio=11.4,
        parts=(),
        causes=(("storage/checkpoint_write", 0.1, 0.7),),
    )

    assert sentence(told).startswith(
        "Failures (storage) for all teams: 0.1 -> 1.2 per 1,000 GPU-days since 2 Mar (+1,140 %"
    )
    assert "The largest part of it is storage/checkpoint_write: 0.1 -> 0.7 a day." in sentence(told)
    # each attempt counts as one
    assert "0.1 -> 1.2 per 1,000 attempt-days since 2 Mar (+1,140 %)" in sentence(
        replace(told, lost_gpu_seconds_per_day=None, is_gpu_weighed=False)
    )


def test_a_part_that_not_all_attempts_told_says_how_many_did() -> None:
    told = replace(SLOWER, parts=(("trainer_init_preproc_creation_seconds", 61.2, 1120),))

    assert "stage preproc_creation: +61 s in the 1,120 attempts that told of it. On" in sentence(
        told
    )


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        # of 100 attempts each; what is told by all goes by what it takes
        (100, 100, [("shutdown_model_publish_seconds", 8.0, None)]),
        (20, 30, [("shutdown_model_publish_seconds", 8.0, 30)]),
        # it takes longer in those that have it, and adds less than before
        (20, 10, []),
    ],
)
def test_a_stage_carries_what_it_adds_to_its_phase(
    before: int, after: int, named: list[tuple[str, float, int | None]]
) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "create table regression_parts as "
            "select 'feed' as team, 'shutdown_seconds' as metric, date '2026-03-02' as started_on, "
            "part, attempts_before, attempts_after, before_seconds, after_seconds, "
            "after_seconds - before_seconds as change_seconds from (values "
            "('shutdown_seconds', 100, 100, 30.0::double, 40.0::double), "
            "('shutdown_model_publish_seconds', $1, $2, 20.0, 28.0), "
            "('trainer_init_seconds', 100, 100, 10.0, 90.0)"
            ") as told (part, attempts_before, attempts_after, before_seconds, after_seconds)",
            [before, after],
        )
        found = connection.execute(sentences._PARTS).fetchall()

    assert named == sentences._carriers([tuple(row[3:]) for row in found], "shutdown_seconds")


def test_unsaved_time_names_the_cause_that_cost_more() -> None:
    told = replace(
        SLOWER,
        metric="unsaved_ratio",
        verdict="failures",
        observed=0.328,
        expected=0.03,
        causes=(("network/nccl_timeout", 4.7 * 3600, 1056 * 3600.0),),
    )

    assert (
        "The cause whose cost rose most is network/nccl_timeout: 4.7 -> 1,056 GPU-hours a day."
    ) in sentence(told)


@pytest.mark.parametrize(
    ("metric_name", "after", "named"),
    [
        ("failures", 0.7, [("storage/disk", 0.5, 0.7)]),
        ("failures", 0.3, []),
        # one end of many that discards more than all others, and a preemption, which is no failure
        ("unsaved_ratio", 0.7, [("network/link", 10.0, 900.0)]),
        ("preemption_ratio", 0.7, [("scheduler/preempted", 0.1, 0.2)]),
    ],
)
def test_a_cause_that_carries_nothing_is_not_named(
    metric_name: str, after: float, named: list[tuple[str, float, float]]
) -> None:
    # fewer a day, of still fewer GPU-days
    with duckdb.connect() as connection:
        connection.execute(
            "create table regression_causes as select 'feed' as team, $2 as metric, "
            "date '2026-03-02' as started_on, told.* from (values "
            "('storage', 'disk', 0.5::double, $1::double, 10.0::double, 20.0::double), "
            "('network', 'link', 0.1, 0.1, 10.0, 900.0), "
            "('scheduler', 'preempted', 0.1, 0.2, 10.0, 30.0), "
            "('host', 'unknown_cost', null, 0.1, null, null)"
            ") as told (failure_domain, failure_category, before_per_day, after_per_day, "
            "lost_gpu_seconds_before_per_day, lost_gpu_seconds_after_per_day) "
            "where failure_category <> 'unknown_cost' or $2 = 'unsaved_ratio'",
            [after, metric_name],
        )
        connection.execute(
            "create table found_regressions as "
            "select distinct team, metric, started_on, null::varchar as failure_domain "
            "from regression_causes"
        )
        found = connection.execute(sentences._CAUSES).fetchall()

    assert named == [(name, float(before), float(now)) for *_, name, before, now in found]


@pytest.mark.parametrize(
    ("gpus_from", "gpus_to", "named"),
    [
        (None, None, "unknown size"),
        (1, 1, "1 GPU"),
        (2, 2, "2 GPUs"),
        (129, 256, "129-256 GPUs"),
    ],
)
def test_a_class_of_one_size_is_no_range(
    gpus_from: int | None, gpus_to: int | None, named: str
) -> None:
    told, *_ = sentences._class("production", gpus_from, gpus_to, 0.0, 0.24)

    assert f"production on {named}" == told


def test_a_mix_says_which_work_came_and_that_nothing_is_slower() -> None:
    told = replace(
        SLOWER,
        verdict="mix",
        held_back_by="mix",
        detected_on=None,
        days_to_detect=None,
        grown=("exploration on 129-256 GPUs", 0.0, 0.24),
        speed=-2.5,
        mix=150.25,
    )

    assert (
        "The work changed: exploration on 129-256 GPUs went from 0 % to 24 %. "
        "The same work takes as long as before. Also moved"
    ) in sentence(told)
    assert sentence(told).endswith("Held back: mix.")

    other = sentence(replace(told, speed=None, mix=None))

    assert "went from 0 % to 24 %. Also moved" in other
    assert "same work" not in other

    both = sentence(replace(told, speed=102.0, mix=137.25))

    assert "as long as before" not in both
    assert "On means, whatever the model: +102.0 s are the same work, +137.2 s other work." in both


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pt2_compile_seconds", "PT2 compile"),
        ("trainer_init_device_init_seconds", "Trainer init, stage device_init"),
        ("shutdown_model_publish_seconds", "Shutdown, stage model_publish"),
        ("failures_gpu_hardware", "Failures (gpu hardware)"),
        ("ett_ratio", "ETT"),
    ],
)
def test_a_measure_is_named_as_people_call_it(name: str, shown: str) -> None:
    assert shown == metric(name).label


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        ("trainer_init_seconds", "tts_seconds", True),
        ("trainer_init_seconds", "trainer_init_device_init_seconds", True),
        ("trainer_init_device_init_seconds", "trainer_init_seconds", False),
        ("failures_storage", "failures", True),
        ("failures_storage", "unsaved_ratio", False),
        ("failures", "unsaved_ratio", True),
        ("checkpoint_save_seconds", "tts_seconds", False),
        ("tts_seconds", "ett_ratio", True),
        ("ett_ratio", "tts_seconds", False),
    ],
)
def test_a_measure_knows_what_it_is_made_of(part: str, whole: str, expected: bool) -> None:
    assert expected == is_part(metric(part), metric(whole))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("tts_seconds", "pt2_compile_seconds", True),
        ("preemption_ratio", "unsaved_ratio", True),
        ("preemption_ratio", "ttr_seconds", True),
        ("checkpoint_save_seconds", "pt2_compile_seconds", False),
        ("shutdown_seconds", "failures", False),
        ("shutdown_seconds", "ett_ratio", True),
    ],
)
def test_measures_that_one_cause_moves_are_related_both_ways(
    one: str, other: str, expected: bool
) -> None:
    first: Metric = metric(one)

    assert expected == related(first, metric(other)) == related(metric(other), first)
