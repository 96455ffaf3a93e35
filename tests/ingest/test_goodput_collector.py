"""goodput log entries: jobs made by hand, and real ones held against their simulator's ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ingest.collectors.base import Dump
from ingest.collectors.goodput import GOODPUT
from ingest.collectors.goodput_pace import Pace, Stretch
from ingest.collectors.registry import COLLECTORS
from ingest.dumps import HEAD_BYTES
from ingest.errors import UnreadableDump
from ingest.events import Event, Reason, Rejected, Says
from tests.ingest.launches import SECOND_US, attempts, seconds_by_area
from tests.ingest.mutated_dumps import READING, applied, dump_of, loadable, mutations
from tests.ingest.mutated_dumps import read as read_whatever
from tests.queries.engine import ingest, rows

DOCS = Path(__file__).parents[2] / "docs" / "sources" / "goodput.md"
BEGUN = 1_795_150_800  # 2026-11-20T05:00:00Z
STEP = 6.0
CASES = ("clean_run", "preempt_resume_next_step", "running_no_end", "two_disruptions_rollback")

Lines = list[str]


def entry(**said: object) -> str:
    return json.dumps({"job_name": "llm", **said})


def at(second: float) -> float:
    return BEGUN + second


def launch(second: float) -> Lines:
    """A start, and start-up of 40 s up to the first step."""
    return [
        entry(job_start_time=at(second)),
        entry(tpu_init_start_time=at(second + 5)),
        entry(tpu_init_end_time=at(second + 15)),
        entry(training_prep_start_time=at(second + 15)),
        entry(training_prep_end_time=at(second + 30)),
        entry(data_loading_start_time=at(second + 30)),
        entry(data_loading_end_time=at(second + 40)),
    ]


def steps(first: int, last: int, second: float, compiling: float = 0) -> Lines:
    """Steps one after another; the very first takes longer."""
    lines = [step(first, second)]
    for number in range(first + 1, last + 1):
        lines.append(step(number, second + compiling + (number - first) * STEP))
    return lines


def step(number: int, second: float) -> str:
    return entry(step_count=number, step_start_time=at(second))


def custom(kind: str, first: float, last: float) -> Lines:
    return [
        entry(custom_badput_event_type=kind, custom_badput_event_start_time=at(first)),
        entry(custom_badput_event_type=kind, custom_badput_event_end_time=at(last)),
    ]


def end(second: float) -> str:
    return entry(job_end_time=at(second))


def orbax(**said: object) -> str:
    return json.dumps({**said, "job_name": "llm", "directory": "gs://x"})


# the dumps of each job that the warehouse below was told of, and its row in the scheduler's dump
STORIES: dict[str, tuple[Lines, ...]] = {}
SCHEDULED: list[str] = []


def story(job: str, *dumps: Lines) -> None:
    STORIES[job] = tuple([line.replace('"llm"', f'"{job}"') for line in lines] for lines in dumps)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of all stories, each of a job of its own that is called like it."""
    folder = tmp_path_factory.mktemp("stories")
    (folder / "dumps").mkdir()
    (folder / "dumps" / "sacct.txt").write_text(
        "".join(["JobID|JobName|State|Submit|Start|End\n", *SCHEDULED])
    )
    for job, dumps in STORIES.items():
        for number, lines in enumerate(dumps):
            (folder / "dumps" / f"{job} {number}.jsonl").write_text("\n".join(lines) + "\n")

    assert 0 == ingest(folder / "warehouse", folder / "dumps")
    return folder / "warehouse"


def anomalies(warehouse: Path, job: str) -> list[tuple[Any, ...]]:
    return rows(warehouse, "from anomalies where job_id = ?", [job])


# What entries say


def test_entries_are_the_phases_of_a_launch() -> None:
    told = read(*launch(0), *steps(0, 20, 40), *custom("eval_step", 166, 190), end(191))

    assert [
        ("attempt_start", None, None, 0),
        ("alive", None, None, 0),
        ("phase_start", "trainer_init", "device_init", 5),
        ("phase_end", "trainer_init", "device_init", 15),
        ("phase_start", "trainer_init", "pre_train", 15),
        ("phase_end", "trainer_init", "pre_train", 30),
        ("phase_start", "trainer_init", "get_first_batch_data", 30),
        ("phase_end", "trainer_init", "get_first_batch_data", 40),
        ("phase_start", "training", None, 40),
        ("phase_start", "evaluation", "eval_step", 166),
        ("phase_end", "evaluation", "eval_step", 190),
        ("phase_end", "training", None, 191),
        ("alive", None, None, 191),
        ("attempt_end", None, None, 191),
    ] == [
        (e["event"], e.get("phase"), e.get("stage"), second(e))
        for e in told
        if e["event"] != "progress"
    ]
    assert [(number, 40 + 6 * number) for number in range(21)] == [
        (e["step"], second(e)) for e in of(told, "progress")
    ]
    assert {("llm", str(BEGUN * SECOND_US))} == {(e["job_id"], e["run_key"]) for e in told}
    assert ("completed", '{"line": 31}') == (told[-1]["outcome"], told[-1]["attrs"])


def test_data_that_is_loaded_beside_a_step_is_nobodys_wait() -> None:
    beside = [entry(data_loading_start_time=at(46)), entry(data_loading_end_time=at(46.4))]
    told = read(*launch(0), *steps(0, 1, 40), *beside)

    assert [30, 40] == [second(e) for e in told if e.get("stage") == "get_first_batch_data"]


@pytest.mark.parametrize(
    ("kind", "phase"),
    [
        ("eval_step", "evaluation"),
        ("SDC_SCAN", "evaluation"),
        ("checkpoint_save", "checkpoint_save"),
        ("checkpoint_restore", "checkpoint_load"),
        ("data_stall", "data_wait"),
        ("recompilation", "pt2_compile"),
    ],
)
def test_a_custom_event_is_the_phase_that_its_name_says(kind: str, phase: str) -> None:
    told = read(*launch(0), *steps(0, 1, 40), *custom(kind, 47, 50))

    assert [(phase, kind.lower())] * 2 == [
        (e["phase"], e["stage"]) for e in told if second(e) in (47, 50)
    ]


def test_nested_events_of_one_name_are_the_outer_one() -> None:
    outer, inner = custom("eval", 50, 90), custom("eval", 60, 70)
    told = read(*launch(0), *steps(0, 1, 40), outer[0], *inner, outer[1])

    assert [50, 90] == [second(e) for e in told if e.get("stage") == "eval"]


def test_a_custom_event_without_an_end_is_over_when_the_next_step_starts() -> None:
    lines = [*launch(0), *steps(0, 11, 40), custom("eval", 112, 0)[0], step(12, 136)]
    (measured,) = attempts(read(*lines, *steps(13, 20, 142), end(190)))

    assert 24 == seconds_by_area([measured])["evaluation"]


def test_saves_and_restores_of_orbax_block_as_long_as_they_say() -> None:
    told = read(
        *launch(0),
        orbax(
            event_type="restore",
            step=99,
            checkpoint_manager_start_time=at(16),
            checkpoint_manager_duration_secs=8.5,
        ),
        *steps(100, 101, 40),
        orbax(
            event_type="save",
            step=101,
            synchronous=False,
            checkpoint_manager_blocking_start_time=at(52),
            checkpoint_manager_blocking_duration_secs=3,
        ),
        orbax(
            event_type="save",
            step=102,
            synchronous=True,
            checkpointer_blocking_start_time=at(60),
            checkpointer_blocking_duration_secs=1,
        ),
        orbax(event_type="emergency_restore", checkpointer_start_time=at(70)),
    )

    assert [
        ("checkpoint_load", 99, None, 16, 24.5),
        ("checkpoint_save", 101, "async", 52, 55),
        ("checkpoint_save", 102, "sync", 60, 61),
    ] == [
        (e["phase"], e["step"], e.get("mode"), second(e), second(e, "end_us"))
        for e in told
        if "checkpoint" in e.get("phase", "")
    ]
    # the checkpoint of step 99 holds what comes before step 100
    assert [99, 99] == [e["resumed_from_step"] for e in told if "resumed_from_step" in e]


def test_a_preemption_that_orbax_was_told_of_is_a_cause() -> None:
    told = read(
        *launch(0),
        orbax(
            event_type="save",
            checkpoint_manager_blocking_start_time=at(50),
            checkpoint_manager_blocking_duration_secs=3,
            reached_preemption=True,
            preemption_received_at=at(49),
        ),
    )

    assert [("scheduler/preempted", 49)] == [
        (e["category"], second(e)) for e in of(told, "failure")
    ]


NOTICE = orbax(
    event_type="save",
    step=30,
    checkpoint_manager_blocking_start_time=at(222),
    checkpoint_manager_blocking_duration_secs=4,
    preemption_received_at=at(222.5),
)
first = [*launch(0), *steps(0, 30, 40), NOTICE, end(226)]
again = [*launch(600), *steps(31, 60, 640), end(825)]
for number, dumps in enumerate(([first], [[*first, *again]], [first, again])):
    story(f"preempted {number}", *dumps)


@pytest.mark.parametrize("dumps", [0, 1, 2])
def test_a_launch_that_ends_told_of_a_preemption_is_preempted(warehouse: Path, dumps: int) -> None:
    outcomes = rows(
        warehouse,
        "select outcome from attempts where job_id = ? order by attempt",
        [f"preempted {dumps}"],
    )
    first = [*launch(0), *steps(0, 30, 40), NOTICE]

    assert [("preempted",), ("completed",)][: 1 + bool(dumps)] == outcomes
    # a step that follows says that it went on
    on = [*first, *steps(31, 40, 227), end(287)]
    assert ["completed"] == [attempt.outcome for attempt in attempts(read(*on))]


def test_entries_come_as_cloud_logging_exports_them_too() -> None:
    exported = [
        json.dumps({"insertId": "x", "jsonPayload": json.loads(line), "severity": "INFO"})
        for line in launch(0)
    ]

    assert read(*launch(0)) == read(*exported)
    assert GOODPUT.recognises("x", exported[0].encode())


# What steps are worth


def test_the_first_step_of_a_launch_compiles() -> None:
    told = read(*launch(0), *steps(0, 20, 40, compiling=60))

    assert [(40, 100)] == [
        (second(e), second(e, "end_us")) for e in told if e.get("phase") == "pt2_compile"
    ]


def test_a_launch_of_few_steps_is_judged_when_it_is_over() -> None:
    lines = [*launch(0), *steps(0, 4, 40, compiling=60)]

    assert 60 == seconds_by_area(attempts(read(*lines, end(130))))["pt2_compile"]
    assert 60 == seconds_by_area(attempts(read(*lines, *launch(300))))["pt2_compile"]


def test_a_slow_start_is_not_called_a_compilation_before_the_pace_is_known() -> None:
    assert [] == [e for e in read(*launch(0), step(0, 40), step(1, 100)) if "end_us" in e]


def test_a_dump_that_begins_with_a_stall_tells_of_no_compilation() -> None:
    lines = [*launch(0), *steps(0, 30, 40), *steps(31, 60, 40 + 31 * STEP + 600), end(1010)]
    stalled = 7 + 30  # the line of step 30
    told = [*read(*lines[:stalled]), *read(*lines[stalled:])]

    assert [] == [e for e in told if e.get("phase") == "pt2_compile"]
    assert [("phase_end", 220 + STEP), ("phase_start", 826)] == [
        (e["event"], second(e))
        for e in told
        if e.get("phase") == "training" and 220 < second(e) < 1006
    ]


@pytest.mark.parametrize("stall", [22, 600, 7200])
def test_a_step_that_stalls_is_worth_a_step(stall: float) -> None:
    lines = [*launch(0), *steps(0, 30, 40), *steps(31, 60, 40 + 31 * STEP + stall)]
    areas = seconds_by_area(attempts(read(*lines, end(40 + 61 * STEP + stall))))

    assert (61 * STEP, 5 + stall) == (areas["effective"], areas["unaccounted"])


def test_a_few_entries_that_are_missing_make_no_stall() -> None:
    lines = [*launch(0), *steps(0, 60, 40), end(406)]
    kept = [line for place, line in enumerate(lines) if place not in (10, 30, 31, 32, 50)]

    assert seconds_by_area(attempts(read(*lines))) == seconds_by_area(attempts(read(*kept)))


def test_what_lies_behind_many_missing_entries_is_not_known() -> None:
    lines = [*launch(0), *steps(0, 60, 40), end(406)]
    areas = seconds_by_area(attempts(read(*lines[:30], *lines[40:])))

    assert (51 * STEP, 10 * STEP + 5) == (areas["effective"], areas["unaccounted"])


def test_a_job_that_tells_every_tenth_step_goes_on_as_usual() -> None:
    told = [step(10 * number, 40 + number * STEP) for number in range(60)]
    areas = seconds_by_area(attempts(read(*launch(0), *told, end(400))))

    assert 60 * STEP == areas["effective"]


def test_a_stall_beside_an_evaluation_is_worth_its_step_too() -> None:
    lines = [*launch(0), *steps(0, 30, 40), *custom("eval", 222, 250)]
    areas = seconds_by_area(attempts(read(*lines, *steps(31, 60, 350), end(530))))

    assert (61 * STEP, 28, 96 + 5) == (
        areas["effective"],
        areas["evaluation"],
        areas["unaccounted"],
    )


def test_a_step_that_a_save_blocks_in_its_middle_trains_before_and_after_it() -> None:
    saved = orbax(
        event_type="save",
        step=30,
        synchronous=True,
        checkpoint_manager_blocking_start_time=at(222),
        checkpoint_manager_blocking_duration_secs=20,
    )
    lines = [*launch(0), *steps(0, 30, 40), saved, *steps(31, 60, 246), end(426)]
    areas = seconds_by_area(attempts(read(*lines)))

    assert (61 * STEP, 20, 5) == (
        areas["effective"],
        areas["checkpoint_save"],
        areas["unaccounted"],
    )


def test_what_follows_the_last_step_is_not_training() -> None:
    areas = seconds_by_area(attempts(read(*launch(0), *steps(0, 30, 40), end(400))))

    assert (31 * STEP, 400 - 40 - 31 * STEP + 5) == (areas["effective"], areas["unaccounted"])


def test_the_usual_step_is_that_of_the_newest() -> None:
    pace = Pace()
    for length in [*[1] * 300, *[5] * 101]:
        pace.add(length)

    assert 5 == pace.usual_us


@pytest.mark.parametrize(
    ("own_us", "instant"), [(0, 10), (10, 20), (11, 31), (20, 40), (21, 41), (35, 55), (99, 60)]
)
def test_own_time_passes_beside_what_is_inside(own_us: int, instant: int) -> None:
    stretch = Stretch(10, 60, ((20, 25), (22, 30)))

    assert (40, instant) == (stretch.own_us, stretch.after(own_us))


# Launches


def test_what_was_done_since_the_step_that_comes_again_is_lost() -> None:
    lines = [*launch(0), *steps(0, 57, 40), *launch(1000), *steps(40, 99, 1040), end(1400)]
    lost, completed = attempts(read(*lines))
    areas = seconds_by_area([lost, completed])

    assert ["lost", "completed"] == [lost.outcome, completed.outcome]
    assert (100 * STEP, 17 * STEP) == (areas["effective"], areas["unsaved"])


def test_a_launch_that_goes_on_behind_the_last_step_lost_nothing() -> None:
    lines = [*launch(0), *steps(0, 49, 40), *launch(2000), *steps(50, 99, 2040), end(2340)]
    areas = seconds_by_area(attempts(read(*lines)))

    assert (100 * STEP, 0) == (areas["effective"], areas.get("unsaved", 0))


def test_a_launch_that_died_in_between_changes_nothing_of_what_was_saved() -> None:
    died = launch(1000)[:3]
    told = read(*launch(0), *steps(0, 49, 40), *died, *launch(2000), *steps(50, 60, 2040))
    first = str(BEGUN * SECOND_US)

    assert [(50, 40 + 50 * STEP)] == [
        (e["step"], second(e))
        for e in of(told, "progress")
        if e["run_key"] == first and e["step"] >= 50
    ]
    assert "unsaved" not in seconds_by_area(attempts(told))


def test_a_launch_that_died_in_start_up_does_not_lose_what_the_next_one_finds() -> None:
    died = [*launch(1000)[:3], *launch(1500)[:3]]
    told = read(*launch(0), *steps(0, 49, 40), *died, *launch(2000), *steps(40, 60, 2040))
    first, *others = attempts(told)

    assert (40 * STEP, 9 * STEP) == tuple(
        seconds_by_area([first])[area] for area in ("effective", "unsaved")
    )
    assert "unsaved" not in seconds_by_area(others[:2])


def test_an_end_after_which_the_job_is_launched_again_was_not_its_end() -> None:
    once = [*launch(0), *steps(0, 49, 40), end(345)]
    again = [*launch(2000), *steps(30, 60, 2040)]
    stale, running = attempts(read(*once, *again))
    # an earlier dump, which ended there, is corrected by the later one
    both = attempts([*read(*once), *read(*once, *again)])
    areas = seconds_by_area([stale, running])

    assert ["completed"] == [one.outcome for one in attempts(read(*once))]
    assert ["lost", "running"] == [stale.outcome, running.outcome]
    assert 345 - 220 == pytest.approx(areas["unsaved"], abs=0.01)  # since step 30
    assert [stale, running] == both


@pytest.mark.parametrize("is_latest_first", [False, True])
def test_an_end_yields_to_a_launch_that_another_dump_tells_of(is_latest_first: bool) -> None:
    once, again = [*launch(0), *steps(0, 49, 40), end(345)], launch(2000)
    again += [*steps(30, 60, 2040), end(2240)]
    dumps = [read(*again), read(*once)] if is_latest_first else [read(*once), read(*again)]
    lost, completed = attempts([*dumps[0], *dumps[1]])

    assert ["lost", "completed"] == [lost.outcome, completed.outcome]
    assert attempts(read(*once, *again)) == [lost, completed]


lines = [*launch(0), *steps(0, 60, 40), end(406)]
story("goes on", lines[:30], lines[30:])
story("told on another line", lines, lines[30:])


def test_dumps_that_go_on_where_another_ended_contradict_nothing(warehouse: Path) -> None:
    assert [("completed",)] == rows(
        warehouse, "select outcome from attempts where job_id = 'goes on'"
    )
    assert [] == rows(warehouse, "from anomalies where kind = 'event_id_conflict'")


def test_an_end_that_stands_on_another_line_of_a_later_dump_contradicts_nothing(
    warehouse: Path,
) -> None:
    assert [("completed",)] == rows(
        warehouse, "select outcome from attempts where job_id = 'told on another line'"
    )
    assert [] == rows(warehouse, "from anomalies where kind = 'event_id_conflict'")


def test_an_end_yields_to_steps_that_another_dump_tells_of() -> None:
    once, on = [*launch(0), *steps(0, 30, 40), end(226)], steps(31, 60, 226)
    (running,) = attempts([*read(*once), *read(*on)])

    assert "running" == running.outcome
    assert second({"at_us": running.ended_us}) == 226 + 29 * STEP


def test_a_job_that_goes_on_after_its_end_has_not_ended() -> None:
    lines = [*launch(0), *steps(0, 30, 40), end(226), *steps(31, 60, 226)]

    assert [] == of(read(*lines), "attempt_end")
    # also where a dump that ended there was read before
    assert ["running"] == [a.outcome for a in attempts([*read(*lines[:39]), *read(*lines)])]


def test_steps_that_come_again_without_a_start_are_another_generation_of_the_launch() -> None:
    told = read(*launch(0), *steps(0, 30, 40), *steps(20, 40, 500))

    assert [(None, 0, 40), (1, 20, 500)] == [
        (e.get("run_generation"), e["resumed_from_step"], second(e))
        for e in of(told, "phase_start")
        if e["phase"] == "training"
    ]
    assert 1 == len({e["run_key"] for e in told})


story(
    "goes back",
    [*launch(0), *steps(0, 30, 40), *launch(250)[1:], *steps(20, 40, 290), end(416)],
)


def test_a_launch_that_goes_back_is_two_attempts_each_with_its_own_start_up(
    warehouse: Path,
) -> None:
    areas = rows(
        warehouse,
        "select attempt, area, sum(seconds) from area_by_attempt where job_id = 'goes back' "
        "group by all order by all",
    )

    # the step that was under way ended after 6 s, and start-up began 29 s later
    assert [
        (1, "effective", 120.0),
        (1, "trainer_init", 35.0),
        (1, "unaccounted", 34.0),
        (1, "unsaved", 66.0),
        (2, "effective", 126.0),
        (2, "trainer_init", 35.0),
    ] == areas


elastic = [
    entry(elastic_reinit_start_time=at(250)),
    entry(tpu_init_start_time=at(252)),
    entry(tpu_init_end_time=at(260)),
    entry(elastic_reinit_end_time=at(280)),
]
story("elastic", [*launch(0), *steps(0, 30, 40), *elastic, *steps(20, 40, 290), end(416)])


def test_an_elastic_start_up_lasts_as_long_as_it_says_whatever_is_inside(warehouse: Path) -> None:
    assert [(30.0,)] == rows(
        warehouse,
        "select sum(seconds) from area_by_attempt "
        "where job_id = 'elastic' and attempt = 2 and area = 'trainer_init'",
    )
    assert [] == anomalies(warehouse, "elastic")


def test_start_up_behind_a_step_is_of_the_launch_that_goes_on() -> None:
    told = read(*launch(0), *steps(0, 30, 40), *launch(250)[1:], *steps(31, 40, 290), end(350))
    areas = seconds_by_area(attempts(told))

    assert {None} == {e.get("run_generation") for e in told}
    assert (70, 246) == (areas["trainer_init"], areas["effective"])


def test_a_step_that_is_told_twice_or_late_moves_nothing() -> None:
    once = [*launch(0), *steps(0, 30, 40)]
    told = read(*once[:20], once[19], *once[20:], once[15])

    assert same(read(*once)) == same(told)


def test_an_entry_of_an_earlier_launch_is_left_to_its_time() -> None:
    late = [step(30, 220), entry(job_end_time=at(230)), entry(tpu_init_end_time=at(15))]
    told = read(*launch(0), *steps(0, 29, 40), *launch(1000), *late)

    assert [None, None, None] == [e.get("run_key") for e in told[-3:]]
    assert ["progress", "alive", "phase_end"] == [e["event"] for e in told[-3:]]


def test_without_its_start_a_launch_has_no_name_and_resumes_from_nothing() -> None:
    told = read(*steps(500, 520, 40))

    assert {None} == {e.get("run_key") for e in told}
    assert [] == [e for e in told if "resumed_from_step" in e]


story("whole", [*launch(0), *steps(500, 520, 40)])
story("begins in mid-run", steps(500, 520, 40))


def test_a_dump_that_begins_in_mid_run_tells_no_time_to_start(warehouse: Path) -> None:
    assert [("begins in mid-run", None), ("whole", 40.0)] == rows(
        warehouse,
        "select job_id, tts_seconds from attempts where job_id in ('whole', 'begins in mid-run') "
        "order by all",
    )


beside = [entry(data_loading_start_time=at(38)), entry(data_loading_end_time=at(39))]
for cut in (0, 1):
    story(f"beside {cut}", [*beside[cut:], *steps(500, 520, 40)])


@pytest.mark.parametrize("cut", [0, 1])
def test_a_dump_that_begins_with_data_loaded_beside_a_step_tells_no_time_to_start(
    warehouse: Path, cut: int
) -> None:
    told = "select tts_seconds, trainer_init_seconds, wall_seconds from attempts where job_id = ?"

    assert [(None, 0, 20 * STEP)] == rows(warehouse, told, [f"beside {cut}"])
    assert [] == anomalies(warehouse, f"beside {cut}")


lines = [*launch(0), *steps(0, 60, 40, compiling=30), end(436)]
story("not parted", lines)
for cut in (5, 6):
    story(f"parted {cut}", lines[:cut], lines[cut:])


@pytest.mark.parametrize("cut", [5, 6])
def test_dumps_that_part_a_launch_beside_its_very_first_step_tell_what_it_took(
    warehouse: Path, cut: int
) -> None:
    whole, parted = (
        rows(
            warehouse,
            "select tts_seconds, trainer_init_seconds, pt2_compile_seconds from attempts "
            "where job_id = ?",
            [job],
        )
        for job in ("not parted", f"parted {cut}")
    )

    assert [(70, 35, 30)] == whole == parted


story("left", [*steps(500, 520, 40), *launch(900), *steps(510, 530, 940)])


def test_what_is_left_of_an_earlier_launch_trains_for_no_later_one(warehouse: Path) -> None:
    areas = rows(
        warehouse,
        "select area, sum(seconds) from area_by_attempt where job_id = 'left' and seconds > 0 "
        "group by area",
    )

    assert {"unaccounted": 5.0, "trainer_init": 35.0, "effective": 20 * STEP} == dict(areas)
    assert [(40.0,)] == rows(warehouse, "select tts_seconds from attempts where job_id = 'left'")


# the numbers of the scheduler by the step that a launch resumes from: of one dump and of two
CUT_IN_TWO = {561: ("7", "8"), 530: ("9", "10")}
for resumed, numbers in CUT_IN_TWO.items():
    lines = [*launch(0), *steps(500, 560, 40), *launch(900)]
    lines += [*steps(resumed, resumed + 20, 940), end(1066)]
    for number, dumps in zip(numbers, ([lines], [lines[:30], lines[30:]]), strict=True):
        story(number, *dumps)
        times = (int(at(second)) for second in (-60, -5, 520))
        SCHEDULED.append("{}|llm|REQUEUED|{}|{}|{}\n".format(number, *times))


@pytest.mark.parametrize("resumed", CUT_IN_TWO)
def test_a_launch_that_dumps_cut_in_two_trains_to_its_end_as_that_of_one_dump(
    warehouse: Path, resumed: int
) -> None:
    whole, cut = (
        rows(
            warehouse,
            "select attempt, area, round(seconds, 3) from area_by_attempt "
            "where job_id = ? and seconds > 0 order by all",
            [number],
        )
        for number in CUT_IN_TWO[resumed]
    )

    assert [] != whole == cut


@pytest.mark.parametrize(("told_first", "resumed"), [(3, [40]), (4, [40]), (5, []), (6, [])])
def test_a_dump_that_begins_in_start_up_tells_what_the_launch_resumes_from(
    told_first: int, resumed: list[int]
) -> None:
    # data is loaded beside steps too: that alone is no start-up
    told = read(*launch(0)[told_first:], *steps(40, 60, 40))

    assert resumed == [e["resumed_from_step"] for e in told if "resumed_from_step" in e]


def test_jobs_in_one_dump_do_not_mix() -> None:
    one = [*launch(0), *steps(0, 30, 40, compiling=30), end(300)]
    other = [line.replace('"llm"', '"moe"') for line in one]
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    told = read(*mixed)

    for name in ("llm", "moe"):
        alone = [{**e, "job_id": name, "attrs": ""} for e in read(*one)]

        assert same(alone) == same([{**e, "attrs": ""} for e in told if e["job_id"] == name])


def test_a_dump_that_has_grown_keeps_what_it_said() -> None:
    lines = [*launch(0), *steps(0, 30, 40, compiling=30), *launch(900), *steps(31, 60, 940)]
    whole = {text(event) for event in read(*lines)}

    for length in (20, 30, len(lines) - 5):
        assert {text(event) for event in read(*lines[:length])} <= whole


# Lines


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (entry(job_start_time="noon"), Reason.BAD_TIMESTAMP, "job_start_time is 'noon'"),
        (entry(job_start_time=float("nan")), Reason.BAD_TIMESTAMP, "job_start_time is nan"),
        (entry(job_end_time=1e300), Reason.BAD_TIMESTAMP, "job_end_time is 1e+300"),
        (entry(job_end_time=True), Reason.BAD_TIMESTAMP, "job_end_time is True"),
        (entry(step_start_time=at(0)), Reason.BAD_VALUE, "step_count is None"),
        (entry(step_start_time=at(0), step_count=-1), Reason.BAD_VALUE, "step_count is -1"),
        (
            json.dumps({"job_name": 7, "job_start_time": at(0)}),
            Reason.MISSING_FIELD,
            "job_name is no text",
        ),
        (entry(nap_start_time=at(0)), Reason.UNKNOWN_EVENT, "none of its times is known"),
        (
            entry(event_type="save", checkpoint_manager_blocking_start_time=at(0)),
            Reason.BAD_TIMESTAMP,
            "a save that tells no start and length",
        ),
    ],
)
def test_an_entry_that_cannot_be_is_set_aside_with_its_reason(
    line: str, reason: Reason, detail: str
) -> None:
    *_, rejected = GOODPUT.read(dump_of(encoded(*launch(0), line)), READING)

    assert Rejected(8, reason, detail, line) == rejected


def test_other_text_says_nothing_and_torn_entries_are_read_as_far_as_they_are_whole() -> None:
    torn = entry(tpu_init_start_time=at(5))[:30] + entry(tpu_init_end_time=at(15))
    lines = [
        "[rank0]: Traceback (most recent call last):",
        launch(0)[0],
        torn,
        '{"job_name": "llm", "loss": 3.5}',
        entry(elastic_wait_start_time=at(7)),
        ' "job_name": "llm",',
        "\x1b[32m 10%|#  | 1/10\r 20%|## | 2/10\x1b[0m",
    ]
    told = list(GOODPUT.read(dump_of(encoded(*lines)), READING))

    assert [(3, Reason.NOT_JSON)] == [
        (item.line_number, item.reason) for item in told if isinstance(item, Rejected)
    ]
    assert ["attempt_start", "alive", "phase_end"] == [
        item["event"] for item in told if not isinstance(item, Rejected)
    ]


@pytest.mark.parametrize("text", ["", "step 5", '{"job_name": "llm", "wall_seconds": 5}'])
def test_a_dump_without_an_entry_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableDump, match="holds no entry of goodput"):
        read(text)
    assert not GOODPUT.recognises("x", text.encode())


def test_a_dump_with_the_newest_first_says_how_to_turn_it() -> None:
    shown = re.search(r"^    (gcloud .*?) > ", DOCS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert shown is not None

    with pytest.raises(UnreadableDump) as refused:
        read(*reversed([*launch(0), *steps(0, 30, 40)]))

    command = " ".join(shown[1].replace("\\\n", "").split())
    assert str(refused.value).endswith(f"has the newest first. Dump again: {command}")


@given(mutations())
def test_no_accident_gives_anything_but_events_and_lines_set_aside(accidents: list[Any]) -> None:
    lines = [*launch(0), *steps(0, 15, 40, compiling=30), *custom("eval", 170, 190), end(200)]
    lines += [*launch(900), *steps(10, 24, 940), end(1100)]

    assert loadable(read_whatever(GOODPUT, applied(accidents, encoded(*lines)))) >= 0


def test_it_says_what_it_can_report() -> None:
    assert Says(training=True, saves=True, resumes=True) == GOODPUT.says


# The real dumps


@pytest.mark.real
@pytest.mark.parametrize("case", CASES)
def test_the_effective_share_of_a_real_job_is_that_of_its_ledger(
    real_logs: Path, case: str
) -> None:
    measured = attempts(real(real_logs, case))
    truth = json.loads((real_logs / "goodput" / f"{case}.truth.json").read_text(encoding="utf-8"))
    passed_us = sum(attempt.wall_us + attempt.queue_us for attempt in measured)
    effective = seconds_by_area(measured)["effective"]

    assert truth["n_attempts"] == len(measured)
    assert truth["true_ett_pct"] == pytest.approx(
        100 * effective / (passed_us / SECOND_US), abs=0.1
    )


@pytest.mark.real
@pytest.mark.parametrize("case", [case for case in CASES if case != "running_no_end"])
def test_the_seconds_of_a_real_job_that_ended_are_those_of_its_ledger(
    real_logs: Path, case: str
) -> None:
    areas = seconds_by_area(attempts(real(real_logs, case)))
    truth = json.loads((real_logs / "goodput" / f"{case}.truth.json").read_text(encoding="utf-8"))
    ledger, wall = truth["ledger_seconds"], truth["wall_seconds"]
    start_up = sum(ledger[name] for name in ("device_init", "training_prep", "first_batch_load"))

    def within(points: float) -> Callable[[float], Any]:
        return lambda told: pytest.approx(told, abs=points * wall / 100)

    assert within(0.1)(truth["productive_seconds_new_data"]) == areas["effective"]
    assert within(0.1)(truth["unsaved_training_seconds"]) == areas.get("unsaved", 0)
    assert within(0.1)(ledger["compile_in_first_step"]) == areas["pt2_compile"]
    assert within(0.001)(start_up) == areas["trainer_init"]
    assert within(0.001)(ledger.get("eval", 0)) == areas.get("evaluation", 0)


@pytest.mark.real
def test_a_real_job_without_an_end_runs_and_is_lost_a_day_later(real_logs: Path) -> None:
    told = real(real_logs, "running_no_end")
    (running,) = attempts(told)
    (lost,) = attempts(told, as_of_us=running.ended_us + 86_400 * SECOND_US)

    assert ("running", "lost") == (running.outcome, lost.outcome)


@pytest.mark.real
def test_it_takes_its_own_real_dumps_and_nothing_else(real_logs: Path) -> None:
    taken = [file for file in files(real_logs) if GOODPUT.recognises(file.name, head(file))]

    assert [real_logs / "goodput" / f"{case}.jsonl" for case in CASES] == taken
    assert all([GOODPUT] == [c for c in COLLECTORS if c.recognises("x", head(f))] for f in taken)


@pytest.mark.real
@pytest.mark.parametrize("case", CASES)
def test_no_line_of_a_real_dump_is_set_aside(real_logs: Path, case: str) -> None:
    lines = (real_logs / "goodput" / f"{case}.jsonl").read_bytes().splitlines()

    assert [] == [item for item in read_whatever(GOODPUT, lines) if isinstance(item, Rejected)]


# what is asked of a dump


@pytest.mark.parametrize(("hosts", "is_told"), [(1, False), (2, True)])
def test_what_several_hosts_write_is_warned_of(
    hosts: int, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [
        step(number, 40 + number * STEP + host / 10) for number in range(4) for host in range(hosts)
    ]
    read(*launch(0), *lines)

    assert is_told == ("of its steps are told twice in a row" in caplog.text)


def test_a_step_that_is_made_again_after_a_restore_is_no_other_hosts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    read(
        *(
            line
            for number in range(4)
            for line in (*launch(900 * number), step(7, 900 * number + 50))
        )
    )

    assert not caplog.text


def read(*lines: str) -> list[Event]:
    told = GOODPUT.read(dump_of(encoded(*lines)), READING)
    return [item for item in told if not isinstance(item, Rejected)]


def encoded(*lines: str) -> list[bytes]:
    return [line.encode() for line in lines]


def of(told: list[Event], kind: str) -> list[Event]:
    return [event for event in told if event["event"] == kind]


def second(event: Event, field: str = "at_us") -> float:
    return (event[field] - BEGUN * SECOND_US) / SECOND_US


def text(event: Event) -> str:
    return json.dumps(event, sort_keys=True)


def same(told: list[Event]) -> list[str]:
    """Events without repetition, in one order."""
    return sorted({text(event) for event in told})


def real(folder: Path, case: str) -> list[Event]:
    file = folder / "goodput" / f"{case}.jsonl"
    dump = Dump(str(file), file, lambda: numbered(file))
    return [item for item in GOODPUT.read(dump, READING) if not isinstance(item, Rejected)]


def numbered(file: Path) -> Iterator[tuple[int, bytes]]:
    yield from enumerate(file.read_bytes().splitlines(), 1)


def head(file: Path) -> bytes:
    return file.read_bytes()[:HEAD_BYTES]


def files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]
