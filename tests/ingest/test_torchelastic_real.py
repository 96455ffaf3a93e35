"""Real run directories of torchrun against what their script measured itself.

What each kind of file can know, and how near it must come (seconds; golden.json and truth/):

| kind of file               | workers start | end, outcome | save, load  | resume | cause         |
|----------------------------|---------------|--------------|-------------|--------|---------------|
| event records with times   | 0.2           | 0.2          | -           | -      | of the last   |
| agent's log, INFO          | 0.2           | 0.2          | upload, 0.2 | -      | of each       |
| agent's log, warnings only | -             | 0.2, failed  | -           | -      | of each       |
| what Slurm wrote of both   | 0.2           | 0.2          | 1           | exact  | preempted     |
| error file of a worker     | -             | -            | -           | -      | 1, generation |
| error file of the agent    | -             | -            | -           | -      | 1             |
| records of the checkpoint  | -             | -            | 0.2         | exact  | -             |

The first step is known only where the trainer's lines are in the file, here in what Slurm wrote: 1.
Event records without times can be placed nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.collectors.torchelastic import TORCHELASTIC
from ingest.errors import UnreadableDump
from ingest.events import Event
from ingest.formats import recognise
from tests.ingest.torchelastic_dumps import events_of

pytestmark = pytest.mark.real

NEAR = 0.2
WHOLE_SECOND = 1.0
RECORDED = (
    "run01_clean_sync", "run02_sigkill_async", "run03_exception_then_nan", "run04_oom",
    "run09_sigterm_preempt", "run10_import_error_at_start", "run14_recompiles",
)  # fmt: skip
LOGGED = (*RECORDED, "run06_exhaust_restarts")
CHECKPOINTED = ("run01_clean_sync", "run02_sigkill_async", "run04_oom")


@pytest.mark.parametrize("run", RECORDED)
def test_event_records_tell_when_workers_start_and_attempts_end(real_logs: Path, run: str) -> None:
    told = generations(events_of(folder(real_logs, run) / "elastic/elastic_events_ts.jsonl"))

    check_lives(golden(real_logs, run), told)


@pytest.mark.parametrize("run", LOGGED)
def test_the_agents_log_tells_when_workers_start_and_attempts_end(
    real_logs: Path, run: str
) -> None:
    told = generations(events_of(folder(real_logs, run) / "torchrun.stderr.log"))

    check_lives(golden(real_logs, run), told)


@pytest.mark.parametrize("run", LOGGED)
def test_the_agents_log_names_the_root_of_every_failure(real_logs: Path, run: str) -> None:
    told = generations(events_of(folder(real_logs, run) / "torchrun.stderr.log"))

    for attempt in golden(real_logs, run)["attempts"]:
        events = told[attempt["generation"]]
        if end_of(events)["outcome"] != "completed":
            check_cause(attempt, end_of(events))


@pytest.mark.parametrize("run", LOGGED)
def test_error_files_and_the_agents_log_together_know_each_exception(
    real_logs: Path, run: str
) -> None:
    """What a rank raised, and no other thing, is among what is told of its generation."""
    place = folder(real_logs, run)
    files = [place / "torchrun.stderr.log", *place.glob("logs/*/attempt_*/*/error.json")]
    said: dict[int, set[str]] = {}
    for file in files:
        for event in of(events_of(file), "failure"):
            lines = said.setdefault(event["run_generation"], set())
            lines.add(event["message"].partition("\n")[0].rpartition("torch.")[2])

    for attempt in golden(real_logs, run)["attempts"]:
        ended = [rank["end"] for rank in attempt["ranks"].values()]
        raised = {end for end in ended if end != "ok" and not end.startswith("KILLED")}
        assert raised <= said.get(attempt["generation"], set())


def test_the_agents_log_at_the_default_level_tells_deaths_only(real_logs: Path) -> None:
    attempts = golden(real_logs, "run15_default_loglevel")["attempts"]
    told = events_of(folder(real_logs, "run15_default_loglevel") / "torchrun.stderr.log")
    ends = of(told, "attempt_end")

    assert {None, "shutdown"} == {event.get("phase") for event in told}
    assert {"failure", "attempt_end", "phase_start"} == {event["event"] for event in told}
    assert ["failed", "failed"] == [end["outcome"] for end in ends]
    for end, attempt, after in zip(ends, attempts, attempts[1:], strict=False):
        check_cause(attempt, end)
        assert attempt["last_record_wall"] - NEAR <= at(end) <= after["process_start_wall"] + NEAR


def test_the_file_that_slurm_wrote_tells_both_tries_of_the_job(real_logs: Path) -> None:
    attempts = golden(real_logs, "job_1153")["attempts"]
    told = events_of(folder(real_logs, "job_1153") / "slurm.out")
    first, second = by([event for event in told if "run_key" in event], "run_key").values()

    assert [(0, {0}), (1, {0})] == [
        (events[0]["run_restart"], {event["run_generation"] for event in events})
        for events in (first, second)
    ]
    assert {("1153", "1153")} == {(event["job_id"], event["scheduler_job"]) for event in told}
    assert ["preempted", "completed"] == [end_of(events)["outcome"] for events in (first, second)]
    assert 15 == end_of(first)["signal"]
    for events, attempt in zip((first, second), attempts, strict=True):
        check_start(attempt, events)
        assert -NEAR <= at(end_of(events)) - attempt["last_record_wall"] <= 2.0


@pytest.mark.parametrize("restart", [0, 1])
def test_the_trainers_lines_in_the_file_that_slurm_wrote_are_of_their_try(
    real_logs: Path, restart: int
) -> None:
    place = folder(real_logs, "job_1153")
    attempt = golden(real_logs, "job_1153")["attempts"][restart]
    measured = truth(place, f"slurm1153-r{restart}_attempt0_rank0")
    told = [event for event in events_of(place / "slurm.out") if event["run_restart"] == restart]
    done = {row["step"]: row["wall"] + row["dur"] for row in measured if is_of(row, "step", "P")}
    steps = {event["step"]: at(event) for event in of(told, "progress")}
    trains = [at(event) for event in told if event.get("phase") == "training"]
    resumed = {event["resumed_from_step"] for event in told if "resumed_from_step" in event}
    saved = {event["step"] for event in told if event.get("phase") == "checkpoint_save"}

    assert attempt["ranks"]["0"]["last_step"] // 10 * 10 == max(steps)
    for step, seen in steps.items():
        assert -WHOLE_SECOND <= seen - done[step] <= WHOLE_SECOND
    assert -WHOLE_SECOND <= min(trains) - min(done.values()) <= WHOLE_SECOND
    assert ({attempt["resume_step"]} if attempt["resume_step"] else set()) == resumed
    assert set(attempt["ranks"]["0"]["committed_ckpts"]) == saved


@pytest.mark.parametrize("number", [0, 1])
def test_event_records_of_a_job_of_slurm_are_of_the_same_job(real_logs: Path, number: int) -> None:
    attempt = golden(real_logs, "job_1153")["attempts"][number]
    file = folder(real_logs, "job_1153") / f"elastic/elastic_events_ts_r{number}_0.jsonl"
    told = events_of(file)

    assert {("1153", "1153")} == {(event["job_id"], event["scheduler_job"]) for event in told}
    check_start(attempt, told)
    assert ["failed", "completed"][number] == end_of(told)["outcome"]
    assert -NEAR <= at(end_of(told)) - attempt["last_record_wall"] <= 2.0


@pytest.mark.parametrize("run", [*LOGGED, "run15_default_loglevel"])
def test_an_error_file_tells_what_a_worker_raised_and_when(real_logs: Path, run: str) -> None:
    place = folder(real_logs, run)
    attempts = {attempt["generation"]: attempt for attempt in golden(real_logs, run)["attempts"]}
    for file in place.glob("logs/*/attempt_*/*/error.json"):
        (event,) = events_of(file)
        generation, rank = event["run_generation"], int(file.parent.name)

        assert attempts[generation]["ranks"][str(rank)]["end"] in event["message"].split("\n")[0]
        assert f"local rank {rank}" == event["component"]
        ended = truth(place, f"attempt{generation}_rank{rank}")[-1]
        assert -WHOLE_SECOND <= at(event) - ended["wall"] <= WHOLE_SECOND


@pytest.mark.parametrize(
    ("run", "file", "signal", "text"),
    [
        ("run09_sigterm_preempt", "agent_error.json", 15, "SignalException"),
        ("job_1153", "agent_error_r0.json", 15, "SignalException"),
        ("run06_exhaust_restarts", "agent_error.json", None, "RuntimeError: mat1 and mat2"),
        ("run10_import_error_at_start", "agent_error.json", None, "ModuleNotFoundError"),
    ],
)
def test_the_agents_error_file_tells_what_it_died_of(
    real_logs: Path, run: str, file: str, signal: int | None, text: str
) -> None:
    (event,) = events_of(folder(real_logs, run) / "elastic" / file)
    attempt = golden(real_logs, run)["attempts"][0 if signal else -1]
    faults = [fault["wall"] for rank in attempt["ranks"].values() for fault in rank["faults"]]
    died = min(faults, default=attempt["last_record_wall"])

    assert (signal, text) == (event.get("signal"), event["message"][: len(text)])
    assert -WHOLE_SECOND <= at(event) - died <= WHOLE_SECOND


@pytest.mark.parametrize("run", CHECKPOINTED)
def test_the_checkpointers_records_tell_what_saves_and_loads_took(
    real_logs: Path, run: str
) -> None:
    place = folder(real_logs, run)
    for attempt in golden(real_logs, run)["attempts"]:
        generation = attempt["generation"]
        told = events_of(place / f"torch_loggers/dcp_attempt{generation}_rank0.jsonl")
        measured = truth(place, f"attempt{generation}_rank0")

        for mode in ("sync", "async"):
            phase = f"checkpoint_save_{mode}" + ("_blocking" if mode == "async" else "")
            saves = [event for event in told if event.get("mode") == mode]
            check_spans(spans(saves, "checkpoint_save"), measured_spans(measured, phase))
        uploads = spans(told, "checkpoint_upload")
        check_ends(uploads, measured_spans(measured, "checkpoint_persist_async"))
        loads = spans(told, "checkpoint_load")
        check_spans(loads, measured_spans(measured, "checkpoint_load"))
        resumed = [event["resumed_from_step"] for event in told if "resumed_from_step" in event]
        assert [attempt["resume_step"]] * len(loads) == resumed
        assert bool(attempt["resume_step"]) == bool(loads)


def test_the_background_process_of_saves_tells_when_they_were_done(real_logs: Path) -> None:
    place = folder(real_logs, "run09_sigterm_preempt")
    told = events_of(place / "torchrun.stderr.log")
    for rank in (0, 1):
        measured = truth(place, f"attempt0_rank{rank}")
        uploads = spans([event for event in told if event.get("rank") == rank], "checkpoint_upload")

        assert {25, 50} == uploads.keys()
        check_ends(uploads, measured_spans(measured, "checkpoint_persist_async"))


def test_every_file_of_a_run_names_the_same_job(real_logs: Path) -> None:
    for place in sorted((real_logs / "torch").iterdir()):
        told = [event for file in dumps_in(place) for event in placeable(file)]

        assert 1 == len({event["job_id"] for event in told})


def test_event_records_without_times_name_the_file_that_has_them(real_logs: Path) -> None:
    file = folder(real_logs, "job_1153") / "elastic/elastic_events_raw_r1_0.jsonl"

    with pytest.raises(UnreadableDump, match=r"elastic_events_ts_r1_0\.jsonl"):
        events_of(file)


def test_answers_and_other_peoples_dumps_are_left_aside(real_logs: Path) -> None:
    names = {
        file.name
        for file in real_logs.rglob("*")
        if file.is_file() and TORCHELASTIC.recognises(str(file), head(file))
    }

    assert not [name for name in names if name.startswith(("golden", "launcher", "compile"))]
    assert not [name for name in names if "truth" in name or "README" in name]
    for other in ("slurm", "mlperf", "one_logger", "goodput"):
        for file in (real_logs / other).rglob("*"):
            if file.is_file():
                found = recognise(str(file), head(file))
                assert found is None or found.name != "torchelastic"


# What the answers say, and how it is compared


def folder(real_logs: Path, run: str) -> Path:
    return real_logs / "torch" / run


def golden(real_logs: Path, run: str) -> Any:
    return json.loads((folder(real_logs, run) / "golden.json").read_text())


def truth(place: Path, name: str) -> list[dict[str, Any]]:
    lines = (place / "truth" / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def check_lives(answer: Any, told: dict[int, list[Event]]) -> None:
    attempts = answer["attempts"]
    (left,) = [event["wall"] for event in answer["launcher"] if event["ev"] == "exit"]
    over = [after["process_start_wall"] for after in attempts[1:]] + [left]
    assert [attempt["generation"] for attempt in attempts] == sorted(told)
    for attempt, until in zip(attempts, over, strict=True):
        events = told[attempt["generation"]]
        check_start(attempt, events)
        end = end_of(events)
        is_good = attempt is attempts[-1] and answer["launcher"][-1]["rc"] == 0
        assert ("completed" if is_good else "failed") == end["outcome"]
        assert attempt["last_record_wall"] - NEAR <= at(end) <= until + NEAR


def check_start(attempt: Any, events: list[Event]) -> None:
    """The trainer begins when its processes do; the attempt when its launcher did."""
    init = min(at(event) for event in events if event.get("phase") == "trainer_init")
    (start,) = of(events, "attempt_start")
    (launching,) = [event for event in events if event.get("phase") == "launcher_init"]

    assert -NEAR <= init - attempt["process_start_wall"] <= NEAR
    assert at(start) == at(launching) <= init
    assert launching["end_us"] == round(init * 1e6)


def check_cause(attempt: Any, end: Event) -> None:
    faults = {
        rank: fault["kind"] for rank, told in attempt["ranks"].items() for fault in told["faults"]
    }
    if not faults:  # hung at its exit, and killed by its operator
        assert 15 == end["signal"]
        return
    rank, kind = faults.popitem()
    if kind == "sigkill":
        assert 9 == end["signal"]
    elif kind == "sigterm_parent":
        assert 15 == end["signal"]
    elif "Traceback" in end["message"]:
        assert attempt["ranks"][rank]["end"] in end["message"].partition("\n")[0]
    else:  # no traceback reached the agent's log: it knows which worker, and what it returned
        assert (1, f"local_rank: {rank}") == (end["exit_code"], end["message"][-13:])


def check_spans(
    told: dict[int, tuple[float, float]], measured: dict[int, tuple[float, float]]
) -> None:
    assert measured.keys() == told.keys()
    for step, (from_s, to_s) in measured.items():
        assert -NEAR <= told[step][0] - from_s <= NEAR
        assert -NEAR <= (told[step][1] - told[step][0]) - (to_s - from_s) <= NEAR


def check_ends(
    told: dict[int, tuple[float, float]], measured: dict[int, tuple[float, float]]
) -> None:
    """A background save begins when its thread does; when it is done is what counts."""
    assert measured.keys() <= told.keys()
    for step, (_, to_s) in measured.items():
        assert -NEAR <= told[step][1] - to_s <= NEAR


def measured_spans(measured: list[dict[str, Any]], phase: str) -> dict[int, tuple[float, float]]:
    starts = {step_in(row): row["wall"] for row in measured if is_of(row, phase, "B")}
    ends = {step_in(row): row["wall"] for row in measured if is_of(row, phase, "E")}
    return {step: (starts[step], end) for step, end in ends.items()}


def is_of(row: dict[str, Any], phase: str, event: str) -> bool:
    return (phase, event) == (row["phase"], row["ev"])


def step_in(row: dict[str, Any]) -> int:
    return int(row["step"] if "step" in row else row["ckpt"].rpartition("_")[2])


def spans(told: list[Event], phase: str) -> dict[int, tuple[float, float]]:
    mine = [event for event in told if event.get("phase") == phase]
    starts = {event["step"]: at(event) for event in of(mine, "phase_start")}
    return {event["step"]: (starts[event["step"]], at(event)) for event in of(mine, "phase_end")}


def generations(told: list[Event]) -> dict[int, list[Event]]:
    placed = [event for event in told if "run_generation" in event]
    assert 1 == len({event["run_key"] for event in placed})
    return by(placed, "run_generation")


def by(told: list[Event], key: str) -> dict[Any, list[Event]]:
    grouped: dict[Any, list[Event]] = {}
    for event in told:
        grouped.setdefault(event[key], []).append(event)  # type: ignore[literal-required]
    return grouped


def of(told: list[Event], kind: str) -> list[Event]:
    return [event for event in told if event["event"] == kind]


def end_of(told: list[Event]) -> Event:
    (end,) = of(told, "attempt_end")
    return end


def at(event: Event) -> float:
    return event["at_us"] / 1e6


def dumps_in(place: Path) -> Iterator[Path]:
    for file in sorted(place.rglob("*")):
        if file.is_file() and TORCHELASTIC.recognises(str(file), head(file)):
            yield file


def placeable(file: Path) -> list[Event]:
    try:
        return events_of(file)
    except UnreadableDump:
        return []


def head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(64 * 1024)
