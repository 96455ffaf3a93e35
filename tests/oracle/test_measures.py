"""The oracle against METRICS.md: its worked example, its rulings, its identities. No SQL here."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracle.fleets import Fields, fleets, random_fleet, smallest
from tests.oracle.measures import (
    AttemptMeasures,
    Measures,
    TeamDayMeasures,
    measure,
    microseconds,
    outcome_said_by,
    percentile,
    read_event,
    winning_end,
)

FIRST_DAY = date(2026, 3, 1)
SECOND_DAY = date(2026, 3, 2)
MIDNIGHT = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())

# Test vector A (METRICS.md section 6)

AREAS_OF_A = (
    {
        "scheduling": 30,
        "hardware_setup": 60,
        "launcher_init": 60,
        "trainer_init": 120,
        "pt2_compile": 150,
        "effective": 3565,
        "unsaved": 985,
        "checkpoint_save": 30,
        "shutdown": 60,
    },
    {
        "scheduling": 10,
        "hardware_setup": 40,
        "launcher_init": 50,
        "trainer_init": 100,
        "pt2_compile": 40,
        "checkpoint_load": 60,
        "effective": 2585,
        "checkpoint_save": 15,
        "shutdown": 100,
    },
)


def test_vector_a_charges_every_second_as_the_table_says():
    first, second = attempts(vector_a())

    assert AREAS_OF_A == (areas(first), areas(second))
    assert (5060, 3000) == (seconds(first.wall_us), seconds(second.wall_us))


def test_vector_a_says_when_each_attempt_began_trained_and_ended():
    first, second = attempts(vector_a())

    assert (0, 30, 420, 5060) == milestones(first)
    assert (5100, 5110, 5400, 8100) == milestones(second)
    assert ("failed", "completed") == (first.outcome, second.outcome)
    assert ("unknown/unclassified", None) == (first.failure_category, second.failure_category)
    assert ("ranking", 8, True) == (first.team, first.gpus, first.is_instrumented)


def test_vector_a_has_the_latencies_of_the_example():
    first, second = attempts(vector_a())

    assert (390, None, None) == latencies(first)
    assert (None, 400, 360) == latencies(second)
    assert (0, 40) == (seconds(first.queue_us), seconds(second.queue_us))


def test_vector_a_has_the_ratios_of_the_example():
    measured = attempts(vector_a())
    wall = sum(a.wall_us for a in measured)
    effective, unsaved = total(measured, "effective"), total(measured, "unsaved")

    assert (8060, 6150) == (seconds(wall), seconds(effective))
    assert "76.30" == percent(effective, wall)
    assert "12.22" == percent(unsaved, wall)
    assert "11.48" == percent(wall - effective - unsaved, wall)


def test_vector_a_has_three_saves_of_fifteen_seconds():
    first, second = attempts(vector_a())

    assert [(100, 2000, 2015, "good"), (200, 4000, 4015, "good")] == saves(first)
    assert [(300, 7000, 7015, "good")] == saves(second)
    assert (2, 1) == (first.checkpoint_saves, second.checkpoint_saves)


def test_vector_a_charges_the_failure_with_what_it_lost_and_with_the_start_up_after_it():
    first, second = attempts(vector_a())
    recovered = sum(us for (_, is_recovery), us in second.areas.items() if is_recovery)

    assert 300 == seconds(recovered)
    assert (8 * (985 + 300), 0) == (seconds(first.lost_gpu_us), seconds(second.lost_gpu_us))


def test_vector_a_as_a_team_day():
    row = team_day(vector_a())

    assert (2, 0, 1, 1, 1) == (
        row.attempts_ended,
        row.preempted,
        row.failures,
        row.interruptions,
        row.completed,
    )
    assert [8060, 64480, 6150, 49200, 985, 7880, 45, 40] == [
        seconds(us)
        for us in (
            row.wall_us,
            row.gpu_us,
            row.effective_us,
            row.effective_gpu_us,
            row.unsaved_us,
            row.unsaved_gpu_us,
            row.checkpoint_save_us,
            row.queue_us,
        )
    ]
    assert (390, 390, 400, 400) == tuple(
        seconds(us) for us in (row.tts_p50_us, row.tts_p90_us, row.ttr_p50_us, row.ttr_p90_us)
    )
    assert (3, 15) == (row.checkpoint_saves, seconds(row.checkpoint_save_p50_us))
    assert (0.0, 0.0) == (row.preemption_ratio, row.preempted_job_ratio)


def test_the_fleet_of_one_team_is_that_team():
    rows = measure(vector_a()).team_days

    assert {("ranking", FIRST_DAY), ("fleet", FIRST_DAY)} == set(rows)
    assert numbers(rows["ranking", FIRST_DAY]) == numbers(rows["fleet", FIRST_DAY])


@pytest.mark.parametrize("seed", range(5))
def test_variant_a_order_and_repetition_change_nothing(seed):
    once = vector_a()
    twice = once + once
    random.Random(seed).shuffle(twice)

    assert measure(once) == measure(twice)


def test_variant_b_an_older_resume_step_loses_more():
    first, second = attempts(vector_a(resumed_from_step=100))

    assert (2970, 1580) == (areas(first)["unsaved"], areas(first)["effective"])
    assert AREAS_OF_A[1] == areas(second)


def test_variant_c_an_upload_that_never_ended_makes_nothing_durable():
    first, _ = attempts(vector_a(resumed_from_step=None, is_second_save_async=True))

    assert (2970, 1580) == (areas(first)["unsaved"], areas(first)["effective"])


def test_variant_d_a_preemption_costs_the_same_seconds():
    events = vector_a(outcome="preempted")
    row = team_day(events)

    assert AREAS_OF_A == tuple(areas(attempt) for attempt in attempts(events))
    assert (0.5, 1.0) == (row.preemption_ratio, row.preempted_job_ratio)
    assert (1, 0, 1) == (row.preempted, row.failures, row.interruptions)


def test_variant_e_midnight_splits_the_seconds_and_nothing_else():
    events = vector_a(base=MIDNIGHT + 86_400 - 6000)
    _, second = attempts(events)
    first_day, second_day = team_day(events), team_day(events, SECOND_DAY)

    assert (900, 2100) == (on_day(second, FIRST_DAY), on_day(second, SECOND_DAY))
    assert (390, 400) == (seconds(first_day.tts_p50_us), seconds(first_day.ttr_p50_us))
    assert (None, None) == (second_day.tts_p50_us, second_day.ttr_p50_us)
    assert (0, 1) == (first_day.completed, second_day.completed)
    assert (1, 0) == (first_day.failures, second_day.failures)
    assert AREAS_OF_A == tuple(areas(attempt) for attempt in attempts(events))


def test_variant_f_what_was_restored_was_durable():
    first, _ = attempts(vector_a(resumed_from_step=200, is_second_save_async=True))

    assert (985, 3565) == (areas(first)["unsaved"], areas(first)["effective"])


def test_variant_g_a_save_whose_end_was_lost_lasts_until_the_next_progress():
    events = [e for e in vector_a() if not is_end_of_save(e, 100)]
    first, _ = attempts([*events, said(2100, "progress", step=105)])

    assert (115, 3480) == (areas(first)["checkpoint_save"], areas(first)["effective"])
    assert [(100, 2000, 2100, "cut_off"), (200, 4000, 4015, "good")] == saves(first)


def test_variant_h_eight_ranks_are_one_attempt_and_their_saves_one_save():
    first, second = attempts(on_eight_ranks(vector_a()))

    assert (2, 1) == (first.checkpoint_saves, second.checkpoint_saves)
    for expected, measured in zip(AREAS_OF_A, (first, second), strict=True):
        actual = {area: us for (area, _), us in measured.areas.items() if area != "unaccounted"}
        assert set(expected) == set(actual)
        assert all(abs(us - expected[area] * 1_000_000) <= 14_000 for area, us in actual.items())


def test_variant_i_a_restart_inside_one_allocation_starts_where_its_predecessor_ended():
    events = [event | {"allocation_id": "a-1"} for event in vector_a()]
    first, second = attempts(events)

    assert (5060, 3040) == (seconds(second.started_us), seconds(second.wall_us))
    assert AREAS_OF_A[1] | {"unaccounted": 40} == areas(second)
    assert AREAS_OF_A[0] == areas(first)
    assert 0 == second.queue_us
    assert (None, 400, 400) == latencies(second)


# Times


def test_the_same_time_is_read_however_it_is_written():
    expected = 1_772_323_200_123_456

    assert expected == microseconds("2026-03-01T00:00:00.123456Z")
    assert expected == microseconds("2026-03-01T09:00:00.123456+09:00")
    assert expected == microseconds(1772323200.123456)
    assert expected - 123_456 == microseconds(1772323200)


def test_percentiles_are_the_nearest_rank():
    assert [None, 7, 2, 9, 10] == [
        percentile([], 50),
        percentile([7], 99),
        percentile([4, 3, 2, 1], 50),
        percentile(range(1, 11), 90),
        percentile(range(1, 11), 99),
    ]


# R1-R5, attempts


def test_r1_a_queue_or_a_job_event_alone_makes_no_attempt():
    events = [said(0, "job", team="ads"), start(1, "queue"), end(2, "queue")]

    assert [] == attempts(events)


def test_r1_an_event_without_a_number_is_of_attempt_one():
    event = said(0, "alive")
    del event["attempt"]

    assert [1] == [attempt.attempt for attempt in attempts([event])]


def test_r2_an_attempt_without_a_start_begins_with_its_first_word_outside_the_queue():
    attempt = only([start(0, "queue"), *span(10, 20, "training"), said(30, "attempt_end")])

    assert (10, 30) == (seconds(attempt.started_us), seconds(attempt.ended_us))
    assert 10 == seconds(attempt.queue_us)


def test_r3_the_latest_end_wins_and_at_one_time_the_strongest():
    assert "completed" == only([said(0, "attempt_start"), ended(5, "failed"), ended(9)]).outcome
    assert "preempted" == only([said(0, "attempt_start"), ended(9), ended(9, "preempted")]).outcome


def test_r3_of_events_that_number_their_attempts_the_latest_end_wins_sigterm_or_not():
    stopped = [said(0, "attempt_start"), ended(5, "preempted"), ended(9, "failed", signal=15)]

    assert "failed" == only(stopped).outcome


@pytest.mark.parametrize("outcome", ["preempted", "timeout", "cancelled"])
def test_r3_the_sigterm_of_a_launch_yields_to_the_end_that_says_who_stopped_it(outcome):
    def won(*ends):
        events = [read_event(one) for one in (said(0, "attempt_start"), *ends)]
        end = winning_end([replace(one, launch="run") for one in events])
        assert end is not None
        return outcome_said_by(end), seconds(end.at)

    assert (outcome, 9) == won(ended(5, outcome), ended(9, "failed", signal=15))
    assert ("failed", 9) == won(ended(5, outcome), ended(9, "failed", signal=9))
    assert ("failed", 9) == won(ended(5), ended(9, "failed", signal=15))


def test_r3_a_process_that_had_nothing_to_reach_yields_to_one_that_failed():
    def won(*ends):
        events = [read_event(one) for one in (said(0, "attempt_start"), *ends)]
        end = winning_end([replace(one, launch="run") for one in events])
        assert end is not None
        return outcome_said_by(end), seconds(end.at)

    unaimed = {"outcome": "completed", "message": "no target was stated: it closed"}
    assert ("failed", 9) == won(ended(5, "failed"), said(9, "attempt_end", **unaimed))
    assert ("completed", 9) == won(ended(5, "failed"), ended(9, "completed"))
    assert ("completed", 9) == won(ended(5, "failed", signal=15), said(9, "attempt_end", **unaimed))


def test_r3_an_end_before_the_start_is_ignored():
    attempt = only([said(10, "attempt_start"), ended(5), said(20, "alive")], as_of=30 * 3600)

    assert ("lost", 20) == (attempt.outcome, seconds(attempt.ended_us))


@pytest.mark.parametrize(
    ("exit_code", "outcome"), [(0, "completed"), (1, "failed"), (None, "failed")]
)
def test_r3_an_end_without_an_outcome_is_judged_by_its_exit_code(exit_code, outcome):
    end_event = said(9, "attempt_end", exit_code=exit_code)

    assert outcome == only([said(0, "attempt_start"), end_event]).outcome


def test_r4_an_attempt_ends_at_the_latest_when_its_successor_starts():
    first, _ = attempts([said(0, "attempt_start"), ended(50), said(40, "attempt_start", attempt=2)])

    assert ("completed", 40) == (first.outcome, seconds(first.ended_us))


@pytest.mark.parametrize(("silence", "outcome"), [(6 * 3600 - 1, "running"), (6 * 3600, "lost")])
def test_r4_an_attempt_without_an_end_runs_until_its_silence_is_stale(silence, outcome):
    assert outcome == only([said(0, "attempt_start"), said(9, "alive")], as_of=9 + silence).outcome


def test_r4_an_attempt_without_an_end_is_lost_once_it_has_a_successor():
    first, second = attempts([said(0, "attempt_start"), said(9, "attempt_start", attempt=2)])

    assert ("lost", "running") == (first.outcome, second.outcome)
    assert 0 == first.wall_us


# R6, spans


def test_r6_a_span_without_an_end_lasts_until_the_next_start_of_its_key():
    events = [start(0, "evaluation"), start(10, "evaluation"), end(12, "evaluation"), ended(20)]

    assert {"evaluation": 12, "unaccounted": 8} == areas(only(events))


def test_r6_a_span_that_has_its_own_end_is_not_cut_by_progress():
    events = [*span(0, 10, "evaluation"), said(5, "progress", step=1), ended(10)]

    assert {"evaluation": 10} == areas(only(events))


def test_r6_another_rank_or_stage_is_another_key():
    events = [start(0, "data_wait", rank=0), start(4, "data_wait", rank=1), ended(10)]

    assert {"data_wait": 10} == areas(only(events))


def test_r6_at_one_instant_an_end_closes_the_open_span_before_the_next_one_starts():
    events = [*span(0, 5, "evaluation"), *span(5, 9, "evaluation"), ended(10)]

    assert {"evaluation": 9, "unaccounted": 1} == areas(only(events))


def test_r6_an_end_without_a_start_is_ignored():
    assert {"unaccounted": 10} == areas(only([said(0, "alive"), end(5, "training"), ended(10)]))


def test_r6_a_span_of_negative_length_is_ignored_and_is_no_next_start():
    negative = start(5, "evaluation", end_ts=MIDNIGHT + 4)
    events = [start(0, "evaluation"), negative, ended(10)]

    assert {"evaluation": 10} == areas(only(events))


def test_r6_a_complete_span_ends_the_open_one_of_its_key():
    complete = start(5, "evaluation", end_ts=MIDNIGHT + 7)
    events = [start(0, "evaluation"), complete, end(9, "evaluation"), ended(10)]

    assert {"evaluation": 7, "unaccounted": 3} == areas(only(events))


def test_r6_an_uploads_end_without_a_step_closes_the_newest_upload():
    first, second = (async_save(0, 100), async_save(20, 200))
    uploads = [
        start(1, "checkpoint_upload", step=100),
        start(21, "checkpoint_upload", step=200),
        end(30, "checkpoint_upload"),
    ]
    attempt = only([*first, *second, *uploads, start(0, "training"), ended(50, "failed")])

    assert {"effective": 18, "checkpoint_save": 4, "unsaved": 28} == areas(attempt)


# R7-R9, areas and hangs


def test_r7_what_no_phase_explains_is_unaccounted():
    events = [said(0, "attempt_start"), *span(4, 6, "training"), ended(10)]

    assert {"effective": 2, "unaccounted": 8} == areas(only(events))


def regular_progress(count: int, gap: int = 1) -> list[Fields]:
    return [said(gap * n, "progress", step=n) for n in range(count)]


def test_r8_a_gap_ten_times_the_usual_and_over_a_minute_is_hang():
    events = [*regular_progress(11), said(80, "progress", step=11), start(0, "training"), ended(80)]

    assert {"effective": 10, "hang": 70} == areas(only(events))


def test_r8_a_gap_of_exactly_the_limit_is_training():
    events = [*regular_progress(11), said(70, "progress", step=11), start(0, "training"), ended(70)]

    assert {"effective": 70} == areas(only(events))


def test_r8_nine_gaps_are_too_few_to_know_the_usual_one():
    events = [*regular_progress(9), said(900, "progress", step=9), start(0, "training"), ended(900)]

    assert {"effective": 900} == areas(only(events))


def test_r8_a_step_seen_before_is_no_new_sighting():
    again = [said(10 + n, "progress", step=5) for n in range(1, 100)]
    events = [*regular_progress(11), *again, start(0, "training"), ended(100)]

    assert {"effective": 10, "hang": 90} == areas(only(events))


def test_r8_gaps_are_measured_in_seconds_charged_to_training():
    events = [
        *regular_progress(11),
        *span(10, 100, "evaluation"),
        said(110, "progress", step=11),
        start(0, "training"),
        ended(110),
    ]

    assert {"effective": 20, "evaluation": 90} == areas(only(events))


def test_r8_hang_before_the_first_sighting_moves_the_first_batch():
    shifted = [event | {"ts": int(str(event["ts"])) + 100} for event in regular_progress(11)]
    attempt = only([*shifted, start(0, "training"), said(0, "attempt_start"), ended(110)])

    assert {"hang": 100, "effective": 10} == areas(attempt)
    assert 100 == seconds(attempt.first_batch_us)
    assert 100 == seconds(attempt.tts_us)


def test_r9_training_that_is_never_charged_is_no_first_batch():
    events = [*span(0, 10, "training"), *span(0, 10, "evaluation"), ended(10)]

    assert only(events).first_batch_us is None


# R10-R14, saves and what is lost


def test_r10_spans_that_touch_are_one_save_and_a_save_of_no_length_counts():
    events = [
        *span(0, 5, "checkpoint_save", step=1, rank=0),
        *span(5, 9, "checkpoint_save", step=1, rank=1),
        *span(12, 12, "checkpoint_save", step=1),
        ended(20),
    ]

    assert [(1, 0, 9, "good"), (1, 12, 12, "good")] == saves(only(events))


def test_r10_one_bad_end_fails_the_save_of_all_ranks():
    events = [
        *span(0, 5, "checkpoint_save", step=1, rank=0),
        start(0, "checkpoint_save", step=1, rank=1),
        end(4, "checkpoint_save", ok=False, rank=1),
        ended(20),
    ]

    assert [(1, 0, 5, "failed")] == saves(only(events))
    assert 0 == only(events).checkpoint_saves
    assert 5 == areas(only(events))["checkpoint_save"]


def test_r10_a_save_takes_its_step_from_its_end_where_its_start_says_none():
    events = [start(0, "checkpoint_save"), end(5, "checkpoint_save", step=7), ended(9)]

    assert [(7, 0, 5, "good")] == saves(only(events))


def test_r10_a_save_that_outlives_its_attempt_is_cut_off():
    events = [said(0, "alive"), *span(5, 30, "checkpoint_save", step=1), ended(9)]

    assert [(1, 5, 9, "cut_off")] == saves(only(events))


def test_r11_an_async_save_is_durable_at_its_end_where_the_job_reports_no_uploads():
    events = [start(0, "training"), *async_save(10, 1), ended(20, "failed")]

    assert 8 == areas(only(events))["unsaved"]


def test_r11_a_failed_upload_makes_nothing_durable():
    upload = [
        start(12, "checkpoint_upload", step=1),
        end(14, "checkpoint_upload", step=1, ok=False),
    ]
    events = [start(0, "training"), *async_save(10, 1), *upload, ended(20, "failed")]

    assert 18 == areas(only(events))["unsaved"]


def test_r11_without_an_upload_of_its_step_the_first_upload_after_a_save_is_its_own():
    upload = span(12, 14, "checkpoint_upload")
    events = [start(0, "training"), *async_save(10, 1), *upload, ended(20, "failed")]

    assert 8 == areas(only(events))["unsaved"]


def test_r12_only_what_is_said_before_the_first_batch_is_a_resume_step():
    late = said(5401, "alive", attempt=2, resumed_from_step=100)
    first, _ = attempts([*vector_a(), late])

    assert 985 == areas(first)["unsaved"]


def test_r13_a_resume_may_reach_into_an_earlier_attempt():
    events = [
        *trained(0, 100, 1, save=(50, 10), outcome="failed"),
        *trained(200, 300, 2, outcome="preempted"),
        start(400, "training", attempt=3, resumed_from_step=5),
        said(400, "progress", attempt=3, step=5),
        ended(500, attempt=3),
    ]
    first, second, third = attempts(events)

    # nothing of step 5 or less was saved or seen: back to the first batch
    assert [{"unsaved": 99, "checkpoint_save": 1}, {"unsaved": 100}, {"effective": 100}] == [
        areas(attempt) for attempt in (first, second, third)
    ]
    assert [8 * 49, 8 * (50 + 100), 0] == [
        seconds(attempt.lost_gpu_us) for attempt in (first, second, third)
    ]


def test_r13_without_a_save_the_last_progress_up_to_the_resume_step_is_the_restore_point():
    events = [
        start(0, "training"),
        said(30, "progress", step=3),
        said(60, "progress", step=6),
        ended(100, "failed"),
        start(100, "training", attempt=2, resumed_from_step=5),
        ended(200, attempt=2),
    ]
    first, _ = attempts(events)

    assert {"effective": 30, "unsaved": 70} == areas(first)


def test_r12_what_died_before_it_trained_hides_no_resume_step():
    dead = [start(100, "trainer_init", attempt=2), ended(110, "failed", attempt=2)]
    events = [*progressed(0, 1), ended(100, "failed"), *dead, start(110, "training", attempt=3)]
    resumed = said(110, "alive", attempt=3, resumed_from_step=5)

    assert {"unsaved": 100} == areas(attempts([*events, ended(200, attempt=3)])[0])
    assert {"effective": 30, "unsaved": 70} == areas(
        attempts([*events, resumed, ended(200, attempt=3)])[0]
    )


def test_r12_what_made_progress_did_not_die_before_it_trained():
    events = [
        *progressed(0, 1),
        ended(100, "failed"),
        said(120, "progress", attempt=2, step=9),
        ended(150, "failed", attempt=2),
        start(150, "training", attempt=3, resumed_from_step=9),
        ended(200, attempt=3),
    ]

    # what attempt 2 began from is not told
    assert {"unsaved": 100} == areas(attempts(events)[0])


def test_r13_what_was_restored_once_is_not_lost_to_a_later_failure():
    events = [
        *progressed(0, 1),
        ended(100, "failed"),
        start(100, "training", attempt=2, resumed_from_step=5),
        ended(200, "failed", attempt=2),
    ]

    assert [{"effective": 30, "unsaved": 70}, {"unsaved": 100}] == [
        areas(attempt) for attempt in attempts(events)
    ]


@pytest.mark.parametrize(
    ("at", "step", "resumed", "unsaved"),
    [
        (101, 5, 5, 0),
        (101, 5, 3, 88),  # it restored the one before
        (101, 5, None, 88),  # nobody shows that it was ever whole
        (201, 5, 5, 88),  # who resumed had begun
        (101, None, 5, 88),
    ],
)
def test_r13_a_save_behind_the_end_counts_where_it_was_restored(
    at: int, step: int | None, resumed: int | None, unsaved: int
):
    events = [
        start(0, "training"),
        *span(10, 12, "checkpoint_save", step=3),
        ended(100, "preempted"),
        *span(at, at + 2, "checkpoint_save", step=step),
        start(200, "training", attempt=2, resumed_from_step=resumed),
        ended(300, attempt=2),
    ]

    assert unsaved == areas(attempts(events)[0]).get("unsaved", 0)


def progressed(at: int, attempt: int) -> list[Fields]:
    return [
        start(at, "training", attempt=attempt),
        said(at + 30, "progress", attempt=attempt, step=3),
        said(at + 60, "progress", attempt=attempt, step=6),
    ]


def test_r13_a_cancelled_attempt_loses_only_what_its_successor_shows_lost():
    cancelled = trained(0, 100, 1, outcome="cancelled")
    silent = [start(100, "training", attempt=2), ended(200, attempt=2)]
    resuming = [start(100, "training", attempt=2, resumed_from_step=1), ended(200, attempt=2)]

    assert {"effective": 100} == areas(attempts([*cancelled, *silent])[0])
    assert {"unsaved": 100} == areas(attempts([*cancelled, *resuming])[0])


def test_r13_a_completed_attempt_loses_nothing_even_to_a_later_failure():
    events = [*trained(0, 100, 1), *trained(200, 300, 2, outcome="failed")]

    assert [{"effective": 100}, {"unsaved": 100}] == [areas(a) for a in attempts(events)]


def test_r14_all_start_up_of_an_attempt_that_never_trained_is_recovery():
    events = [
        *trained(0, 100, 1, outcome="failed"),
        *span(100, 130, "trainer_init", attempt=2),
        ended(130, "failed", attempt=2),
    ]
    _, second = attempts(events)

    assert {("trainer_init", True): 30_000_000} == second.areas


def test_r14_compiling_after_the_first_batch_is_not_recovery():
    events = [
        *trained(0, 100, 1, outcome="failed"),
        *trained(100, 200, 2),
        *span(150, 160, "pt2_compile", attempt=2),
    ]
    _, second = attempts(events)

    assert 10_000_000 == second.areas["pt2_compile", False]


# R15-R16, latencies


def test_r15_queue_phases_count_once_and_up_to_the_start_only():
    events = [
        *span(0, 20, "queue", rank=0),
        *span(10, 40, "queue", rank=1),
        said(30, "attempt_start"),
        ended(50),
    ]

    assert 30 == seconds(only(events).queue_us)


def test_r15_a_queue_without_an_end_lasts_until_the_start():
    events = [start(0, "queue"), said(30, "attempt_start"), ended(50)]

    assert 30 == seconds(only(events).queue_us)


def test_r16_without_a_grant_the_end_of_scheduling_allocates():
    attempt = only([*span(0, 20, "scheduling"), *span(30, 40, "training"), ended(40)])

    assert (20, 10) == (seconds(attempt.allocated_us), seconds(attempt.tts_us))


def test_r16_an_attempt_that_is_met_training_has_no_time_to_start():
    met = [*span(0, 40, "training"), ended(40)]

    assert only(met).tts_us is None
    assert 0 == only([said(0, "attempt_start"), *met]).tts_us


def test_r16_attempts_that_died_on_the_way_are_part_of_one_recovery():
    events = [
        *trained(0, 100, 1, outcome="failed"),
        *span(110, 120, "scheduling", attempt=2),
        ended(120, "failed", attempt=2),
        *trained(150, 200, 3),
    ]

    assert [(None, None, None), (None, None, None), (None, 50, 10)] == [
        latencies(attempt) for attempt in attempts(events)
    ]


def test_r16_a_completed_attempt_ends_the_recovery():
    events = [
        *trained(0, 100, 1, outcome="failed"),
        *span(110, 120, "scheduling", attempt=2),
        ended(120, attempt=2),
        *trained(150, 200, 3),
    ]

    assert [None, None, None] == [attempt.ttr_us for attempt in attempts(events)]


# R17-R22, attributes, days, duplicates, categories


def test_r17_the_newest_word_wins_for_the_job_and_for_the_gpus_of_each_attempt():
    events = [
        said(0, "job", team="ads", gpus=4),
        said(1, "attempt_start", gpus=8),
        said(2, "alive", team="search"),
        ended(3),
        said(5, "attempt_start", attempt=3),
    ]
    first, second = attempts(events)

    assert ["search", "search"] == [first.team, second.team]
    assert [8, 8] == [first.gpus, second.gpus]


def test_r17_a_job_whose_team_no_source_says_is_of_none():
    assert "(none)" == only([said(0, "alive")]).team


def test_r19_no_gpus_is_outside_every_rollup_and_unknown_gpus_are_in_seconds_only():
    none = [said(0, "attempt_start", gpus=0), ended(10)]
    unknown = [said(0, "attempt_start"), ended(10)]
    row = measure(unknown).team_days["(none)", FIRST_DAY]

    assert {} == measure(none).team_days
    assert (10, None) == (seconds(row.wall_us), row.gpu_us)


def test_r20_an_end_exactly_at_midnight_belongs_to_the_day_that_starts():
    rows = measure([said(0, "attempt_start"), ended(86_400)]).team_days

    assert [(FIRST_DAY, 0, 86_400), (SECOND_DAY, 1, 0)] == [
        (day, row.attempts_ended, seconds(row.wall_us))
        for (team, day), row in sorted(rows.items())
        if team == "(none)"
    ]


def test_r20_days_are_those_of_the_time_zone():
    rows = measure([said(0, "attempt_start"), ended(10)], timezone="America/New_York").team_days

    assert {date(2026, 2, 28)} == {day for _, day in rows}


def test_r21_of_events_with_one_event_id_the_latest_is_kept():
    events = [
        said(0, "attempt_start"),
        ended(20, "failed", event_id="x"),
        ended(10, "preempted", event_id="x"),
    ]

    assert ("failed", 20) == (only(events).outcome, seconds(only(events).ended_us))


def test_r21_a_complete_span_is_kept_before_word_of_its_start():
    events = [
        said(0, "attempt_start"),
        said(5, "phase_start", phase="training", event_id="x", end_ts=MIDNIGHT + 15),
        said(6, "phase_start", phase="training", event_id="x"),
        ended(20, "completed"),
    ]

    assert 10 == seconds(only(events).areas["effective", False])


def test_r22_the_earliest_failure_with_a_category_is_the_cause():
    begun = said(0, "attempt_start")
    bare = said(1, "failure")
    cause = said(2, "failure", category="host/host_oom")
    later = said(3, "failure", category="cascade/job_hang")
    categorised = ended(9, "failed", category="network/ib_link")

    assert [
        "host/host_oom",
        "network/ib_link",
        "scheduler/preempted",
        "scheduler/time_limit",
        "unknown/unclassified",
        None,
    ] == [
        only([begun, *events]).failure_category
        for events in (
            [later, cause, bare, categorised],
            [bare, categorised],
            [ended(9, "preempted")],
            [ended(9, "timeout")],
            [ended(9, "failed")],
            [cause, ended(9, "cancelled")],
        )
    ]


# What holds for every fleet

QUICK = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_the_areas_of_every_attempt_sum_to_its_wall_on_many_fleets():
    for seed in range(150):
        for attempt in measure(random_fleet(seed)).attempts.values():
            assert attempt.wall_us == sum(attempt.areas.values())
            assert attempt.wall_us == attempt.ended_us - attempt.started_us >= 0
            assert all(us > 0 for us in attempt.areas.values())


def test_the_days_of_every_area_sum_to_the_area_on_many_fleets():
    for seed in range(150):
        for attempt in measure(random_fleet(seed), timezone="Asia/Tokyo").attempts.values():
            summed: dict[tuple[str, bool], int] = {}
            for (_, *key), us in attempt.areas_by_day.items():
                summed[key[0], key[1]] = summed.get((key[0], key[1]), 0) + us

            assert attempt.areas == summed


def test_the_fleet_is_the_sum_of_its_teams_on_many_fleets():
    for seed in range(150):
        rows = measure(random_fleet(seed)).team_days
        for (team, day), fleet in rows.items():
            if team == "fleet":
                parts = [row for key, row in rows.items() if key[1] == day and key[0] != "fleet"]

                assert sums(fleet) == tuple(map(sum, zip(*map(sums, parts), strict=True)))


def test_what_the_ends_of_a_job_cost_is_its_unsaved_time_and_its_recoveries_on_many_fleets():
    for seed in range(150):
        measured = measure(random_fleet(seed)).attempts.values()
        unknown = {each.job_id for each in measured if each.lost_gpu_us is None}
        lost = sum(each.lost_gpu_us for each in measured if each.job_id not in unknown)

        assert unknown <= {
            each.job_id for each in measured if each.gpus is None or not each.is_instrumented
        }
        assert lost == sum(
            us * (attempt.gpus or 0)
            for attempt in measured
            if attempt.job_id not in unknown
            for (area, is_recovery), us in attempt.areas.items()
            if area == "unsaved" or is_recovery
        )


@QUICK
@given(fleet=fleets(), order=st.randoms(use_true_random=True))
def test_the_order_of_the_lines_changes_nothing(fleet, order):
    shuffled = list(fleet)
    order.shuffle(shuffled)

    assert measure(fleet) == measure(shuffled)


@QUICK
@given(fleet=fleets())
def test_lines_told_twice_change_nothing(fleet):
    assert measure(fleet) == measure(fleet + fleet)


@QUICK
@given(fleet=fleets())
def test_the_areas_of_every_attempt_sum_to_its_wall(fleet):
    measured = measure(fleet).attempts.values()

    assert [a.wall_us for a in measured] == [sum(a.areas.values()) for a in measured]


def test_random_fleets_are_the_same_for_the_same_seed_and_carry_their_prefix():
    fleet = random_fleet(7, "s7-")

    assert fleet == random_fleet(7, "s7-")
    assert {True} == {str(e["job_id"]).startswith("s7-") for e in fleet if e["event"] != "change"}


def test_random_fleets_visit_every_outcome_area_and_kind_of_save():
    attempted = [
        attempt for seed in range(200) for attempt in measure(random_fleet(seed)).attempts.values()
    ]

    assert 7 == len({attempt.outcome for attempt in attempted})
    assert 15 == len({area for attempt in attempted for area, _ in attempt.areas})
    assert {"good", "failed", "cut_off"} == {s.status for a in attempted for s in a.saves}


def test_the_smallest_failing_part_keeps_only_what_fails():
    events = [{"n": number} for number in range(50)]

    def still_fails(part: list[Fields]) -> bool:
        return {3, 40} <= {event["n"] for event in part}

    assert [{"n": 3}, {"n": 40}] == smallest(events, still_fails)


# Builders: seconds are counted from 2026-03-01T00:00:00Z


def said(at: int, event: str, attempt: int = 1, **fields: object) -> Fields:
    known = {name: value for name, value in fields.items() if value is not None}
    return {"ts": MIDNIGHT + at, "event": event, "job_id": "j", "attempt": attempt, **known}


def start(at: int, phase: str, attempt: int = 1, **fields: object) -> Fields:
    return said(at, "phase_start", attempt, phase=phase, **fields)


def end(at: int, phase: str, attempt: int = 1, **fields: object) -> Fields:
    return said(at, "phase_end", attempt, phase=phase, **fields)


def span(begun: int, over: int, phase: str, attempt: int = 1, **fields: object) -> list[Fields]:
    return [start(begun, phase, attempt, **fields), end(over, phase, attempt, **fields)]


def ended(at: int, outcome: str = "completed", attempt: int = 1, **fields: object) -> Fields:
    return said(at, "attempt_end", attempt, outcome=outcome, **fields)


def async_save(at: int, step: int) -> list[Fields]:
    """Two seconds that block, and no upload."""
    return span(at, at + 2, "checkpoint_save", step=step, mode="async")


def trained(
    begun: int,
    over: int,
    attempt: int,
    save: tuple[int, int] | None = None,
    outcome: str = "completed",
) -> list[Fields]:
    """An attempt of 8 GPUs that did nothing but train; `save` is a time and a step."""
    events = [start(begun, "training", attempt, gpus=8), ended(over, outcome, attempt)]
    if save is not None:
        at, step = save
        events += span(at, at + 1, "checkpoint_save", attempt, step=step)
    return events


def vector_a(
    base: int = MIDNIGHT,
    resumed_from_step: int | None = 200,
    outcome: str = "failed",
    is_second_save_async: bool = False,
) -> list[Fields]:
    second_save = span(
        4000, 4015, "checkpoint_save", step=200, mode="async" if is_second_save_async else "sync"
    )
    if is_second_save_async:
        second_save.append(start(4015, "checkpoint_upload", step=200))
    first = [
        *span(0, 30, "scheduling"),
        said(30, "attempt_start", team="ranking", gpus=8),
        *span(30, 90, "hardware_setup"),
        *span(90, 150, "launcher_init"),
        *span(150, 330, "trainer_init"),
        *span(270, 420, "pt2_compile"),
        start(420, "training"),
        *span(2000, 2015, "checkpoint_save", step=100, mode="sync"),
        *second_save,
        *span(5000, 5060, "shutdown"),
        ended(5060, outcome, message="NCCL watchdog timeout"),
    ]
    second = [
        *span(5100, 5110, "scheduling", 2),
        said(5110, "attempt_start", 2),
        *span(5110, 5150, "hardware_setup", 2),
        *span(5150, 5200, "launcher_init", 2),
        *span(5200, 5300, "trainer_init", 2),
        start(5300, "checkpoint_load", 2),
        end(5360, "checkpoint_load", 2, resumed_from_step=resumed_from_step),
        *span(5360, 5400, "pt2_compile", 2),
        *span(5400, 8000, "training", 2),
        *span(7000, 7015, "checkpoint_save", 2, step=300),
        *span(8000, 8100, "shutdown", 2),
        ended(8100, attempt=2),
    ]
    return [
        event | {"job_id": "vec-a", "ts": int(str(event["ts"])) - MIDNIGHT + base}
        for event in first + second
    ]


def on_eight_ranks(events: list[Fields]) -> list[Fields]:
    """Every phase reported by ranks 0 to 7, rank n n milliseconds late."""
    return [
        event | {"rank": rank, "ts": int(str(event["ts"])) + rank / 1000}
        for event in events
        for rank in (range(8) if str(event["event"]).startswith("phase_") else range(1))
    ]


def is_end_of_save(event: Fields, step: int) -> bool:
    return event["event"] == "phase_end" and event.get("step") == step


# Readers


def attempts(events: list[Fields]) -> list[AttemptMeasures]:
    named = [event | {"job_id": "j"} for event in events]
    return list(measure(named).attempts.values())


def only(events: list[Fields], as_of: int | None = None) -> AttemptMeasures:
    as_of_us = None if as_of is None else (MIDNIGHT + as_of) * 1_000_000
    measured: Measures = measure(events, as_of_us=as_of_us)
    (attempt,) = measured.attempts.values()
    return attempt


def team_day(events: list[Fields], day: date = FIRST_DAY) -> TeamDayMeasures:
    return measure(events).team_days["ranking", day]


def seconds(us: int | None) -> Fraction | None:
    """Exact; an instant is counted from the midnight that the builders count from."""
    if us is None:
        return None
    return Fraction(us, 1_000_000) - (MIDNIGHT if us > MIDNIGHT * 1_000_000 // 2 else 0)


def areas(attempt: AttemptMeasures) -> dict[str, Fraction]:
    summed: dict[str, Fraction] = {}
    for (area, _), us in attempt.areas.items():
        summed[area] = summed.get(area, Fraction(0)) + Fraction(us, 1_000_000)
    return summed


def milestones(attempt: AttemptMeasures) -> tuple[Fraction | None, ...]:
    return tuple(
        seconds(us)
        for us in (
            attempt.started_us,
            attempt.allocated_us,
            attempt.first_batch_us,
            attempt.ended_us,
        )
    )


def latencies(attempt: AttemptMeasures) -> tuple[Fraction | None, ...]:
    return tuple(
        seconds(us) for us in (attempt.tts_us, attempt.ttr_us, attempt.ttr_without_queue_us)
    )


def saves(attempt: AttemptMeasures) -> list[tuple[object, ...]]:
    return [(s.step, seconds(s.captured_us), seconds(s.ended_us), s.status) for s in attempt.saves]


def on_day(attempt: AttemptMeasures, day: date) -> Fraction | None:
    return seconds(sum(us for (on, *_), us in attempt.areas_by_day.items() if on == day))


def total(measured: list[AttemptMeasures], area: str) -> int:
    return sum(us for a in measured for (name, _), us in a.areas.items() if name == area)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}"


def numbers(row: TeamDayMeasures) -> list[object]:
    return [getattr(row, name) for name in row.__slots__ if name != "team"]


def sums(row: TeamDayMeasures) -> tuple[int, ...]:
    """What adds up; GPUs that are unknown add nothing."""
    told = (
        row.attempts_ended,
        row.preempted,
        row.failures,
        row.interruptions,
        row.completed,
        row.wall_us,
        row.gpu_us,
        row.effective_us,
        row.effective_gpu_us,
        row.unsaved_us,
        row.unsaved_gpu_us,
        row.checkpoint_saves,
        row.checkpoint_save_us,
        row.queue_us,
    )
    return tuple(each or 0 for each in told)
