"""Torchrun's event records, its workers' error files, the records of the checkpoint's logger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.collectors.torchelastic import TORCHELASTIC
from ingest.collectors.torchelastic_checkpoints import step_of
from ingest.errors import UnreadableDump
from ingest.events import Event, Reason, Rejected
from tests.ingest.torchelastic_dumps import (
    BEGUN,
    begins,
    checkpoint,
    error_file,
    events_of,
    fails,
    finishes,
    glog,
    launched,
    lives,
    raised,
    record,
    recorded,
    since_begun,
    starts,
    told_of,
    written,
)

STOPPED = "torch.distributed...SignalException: Process 7 got signal: 15"


def workers(state: str, seconds: float, restarts: int = 0) -> list[dict[str, object]]:
    return [
        record(state, seconds, source="WORKER", restarts=restarts, rank=rank) for rank in (0, 1)
    ]


def test_a_higher_count_of_restarts_is_all_that_tells_of_a_failure(tmp_path: Path) -> None:
    told = events_of(
        written(
            tmp_path,
            *recorded(
                *launched(1),
                *launched(51, restarts=1),
                *workers("SUCCEEDED", 90, restarts=1),
                record("SUCCEEDED", 90.5, restarts=1),
            ),
        )
    )

    assert [
        (0.0, "attempt_start", 0, None),
        (50.0, "attempt_end", 0, "failed"),
        (50.0, "attempt_start", 1, None),
        (90.5, "attempt_end", 1, "completed"),
    ] == lives(told)
    assert {("run-a", f"{BEGUN}000000")} == {(e["job_id"], e["run_key"]) for e in told}


def test_an_equal_count_of_restarts_says_that_another_agents_workers_failed(
    tmp_path: Path,
) -> None:
    told = events_of(
        written(
            tmp_path,
            *recorded(
                *launched(1),
                record("RENDEZVOUS", 51, lasted_ms=1000.0),
                *workers("START", 51.02),
                record("RENDEZVOUS", 71, restarts=1, lasted_ms=1000.0),
                *workers("START", 71.02, restarts=1),
                *workers("SUCCEEDED", 90, restarts=1),
                record("SUCCEEDED", 90.5, restarts=1),
            ),
        )
    )

    assert [
        (0.0, "attempt_start", 0, None),
        (70.0, "attempt_end", None, "failed"),
        (70.0, "attempt_start", 2, None),
        (90.5, "attempt_end", 2, "completed"),
    ] == lives(told)
    # the failed end is placed by its time: before the generation that begins then
    assert [BEGUN * 1_000_000 + 69_999_999] == [
        event["at_us"] for event in told if event.get("outcome") == "failed"
    ]


def test_the_rendezvous_is_the_launchers_and_the_trainer_begins_with_its_workers(
    tmp_path: Path,
) -> None:
    told = events_of(written(tmp_path, *recorded(*launched(1))))

    assert [("launcher_init", 0.0, 1.02), ("trainer_init", 1.02, None)] == [
        (
            event["phase"],
            since_begun(event["at_us"]),
            since_begun(event["end_us"]) if "end_us" in event else None,
        )
        for event in told
        if "phase" in event
    ]


def test_that_the_agent_succeeded_does_not_say_that_its_workers_did(tmp_path: Path) -> None:
    error = error_file("ValueError: bad sample", 49)
    told = events_of(
        written(
            tmp_path,
            *recorded(
                *launched(1),
                record("FAILED", 50, source="WORKER", rank=0, error=error),
                record("TERMINATED", 50, source="WORKER", rank=1),
                record("SUCCEEDED", 50.5),
            ),
        )
    )
    (failure,) = [event for event in told if event["event"] == "failure"]

    assert ("attempt_end", 0, "failed") == lives(told)[-1][1:]
    assert (0, 49.0, "node-1", "ValueError: bad sample") == (
        failure["rank"],
        since_begun(failure["at_us"]),
        failure["host"],
        failure["message"].partition("\n")[0],
    )


def test_an_agent_that_was_sent_a_signal_was_stopped(tmp_path: Path) -> None:
    trace = f"Traceback (most recent call last):\n  File x\n{STOPPED}\n"
    stopped = record("FAILED", 50, error=trace)
    end = events_of(written(tmp_path, *recorded(*launched(1), stopped)))[-1]

    assert ("attempt_end", "failed", 15, STOPPED) == (
        end["event"],
        end["outcome"],
        end["signal"],
        end["message"],
    )


def test_an_agent_that_broke_off_says_why(tmp_path: Path) -> None:
    trace = "Traceback (most recent call last):\n  File x\nRendezvousClosedError\n"
    told = events_of(written(tmp_path, *recorded(*launched(1), record("FAILED", 50, error=trace))))

    assert ["torchrun agent"] == [event["component"] for event in told if "component" in event]
    assert "RendezvousClosedError" == told[-1]["message"].partition("\n")[0]


def test_an_agent_that_the_others_had_no_place_for_says_nothing_of_how_they_ended(
    tmp_path: Path,
) -> None:
    raised_last = "    if result.is_failed():\nAttributeError: 'NoneType' object has no attribute"
    error = f"Traceback (most recent call last):\n{raised_last} 'is_failed'\n"
    waited = record("RENDEZVOUS", 217, group_rank=None, lasted_ms=216_000.0)
    last = [record("SUCCEEDED", 217, group_rank=None), record("FAILED", 217, error=error)]
    told = events_of(written(tmp_path, *recorded(waited, *last)))

    assert ["job"] == [event["event"] for event in told]


@pytest.mark.parametrize("error", [None, '{"message": "<NONE>"}', "[]", "null"])
def test_a_worker_may_die_without_a_word(tmp_path: Path, error: str | None) -> None:
    died = record("FAILED", 50, source="WORKER", rank=1, error=error)
    told = events_of(written(tmp_path, *recorded(*launched(1), died)))

    assert [(1, "failed without an error file")] == [
        (event["rank"], event["message"]) for event in told if event["event"] == "failure"
    ]


def test_half_a_character_becomes_a_question_mark(tmp_path: Path) -> None:
    # as an escape, which JSON allows: in a time, and in an error that is JSON in a text
    died = record("FAILED", 50, source="WORKER", rank=1, error=error_file("E: a\ud800b", 50))
    timeless = {**record("FAILED", 51, source="WORKER", rank=0), "@timestamp": "\ud800"}
    told = events_of(written(tmp_path, *recorded(*launched(1), died, timeless)))

    said = [event["message"] for event in told if event["event"] == "failure"]

    assert {"E: a?b", "failed without an error file"} == {one.partition("\n")[0] for one in said}


def test_older_releases_record_the_end_and_how_long_the_agent_ran(tmp_path: Path) -> None:
    told = events_of(
        written(
            tmp_path,
            *recorded(
                record("SUCCEEDED", 90, source="WORKER", rank=0, ran=80),
                record("SUCCEEDED", 90, ran=80),
            ),
        )
    )

    assert [(10.0, "attempt_start", 0, None), (90.0, "attempt_end", 0, "completed")] == lives(told)


def test_an_agent_that_meets_the_others_for_the_first_time_is_a_new_launch(tmp_path: Path) -> None:
    killed = recorded(*launched(1))
    told = events_of(written(tmp_path, *killed, *recorded(*launched(31))))

    assert [f"{BEGUN}000000", f"{BEGUN + 30}000000"] == sorted({event["run_key"] for event in told})


def test_agents_of_several_nodes_are_told_apart_in_one_file(tmp_path: Path) -> None:
    agents = [launched(1, host="node-1"), launched(2, host="node-2")]
    mixed = [each for pair in zip(*agents, strict=True) for each in pair]
    told = events_of(written(tmp_path, *recorded(*mixed)))

    assert 2 == len({event["run_key"] for event in told})
    assert [0.0, 1.0] == [life[0] for life in lives(told) if life[1] == "attempt_start"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda event: event | {"timestamp": round((BEGUN + 5) * 1000)},  # its own, in milliseconds
        lambda event: {"time": BEGUN + 5, "message": json.dumps(event)},
        lambda event: {"@timestamp": "2026-11-20T05:41:42Z", "log": {"record": event}},
        lambda event: {"asctime": "2026-11-20 05:41:42,000", "msg": event},
    ],
)
def test_a_record_is_found_in_whatever_a_handler_wrapped_it(tmp_path: Path, wrap: object) -> None:
    event = record("RENDEZVOUS", None, group_rank=None, lasted_ms=1000.0)
    (start, *_) = events_of(written(tmp_path, json.dumps(wrap(event))))  # type: ignore[operator]

    assert (4.0, "attempt_start") == (since_begun(start["at_us"]), start["event"])


@pytest.mark.parametrize("before", ["2026-11-20 05:41:42,000 INFO events: ", "[default0]:"])
def test_a_record_may_stand_behind_a_time_or_a_label(tmp_path: Path, before: str) -> None:
    event = record("RENDEZVOUS", None if "2026" in before else 5, group_rank=None)
    (start, *_) = events_of(written(tmp_path, before + json.dumps(event)))

    assert 5.0 == since_begun(start["at_us"])


def test_records_in_the_agents_log_are_not_told_twice(tmp_path: Path) -> None:
    log = [*begins(0), *starts(2), *fails(50, 1), *finishes(90)[2:]]
    error = error_file("ValueError: bad sample", 49)
    records = recorded(
        record("RENDEZVOUS", None, group_rank=None, lasted_ms=1000.0),
        record("START", None, source="WORKER", rank=0),
        record("FAILED", None, source="WORKER", rank=0, error=error),
        record("SUCCEEDED", None),
    )
    mixed = [*log[:-1], *records, log[-1]]
    told = events_of(written(tmp_path, *mixed))

    assert lives(events_of(written(tmp_path, *log, name="log.log"))) == lives(told)
    assert ["ValueError: bad sample"] == [
        event["message"].partition("\n")[0] for event in told if event["event"] == "failure"
    ]


def test_torn_records_are_read_where_they_are_whole_and_set_aside_where_not(
    tmp_path: Path,
) -> None:
    first, second, third = recorded(*launched(1))
    told = told_of(written(tmp_path, first, second[:90] + third, second[:200]))
    (rejected,) = [item for item in told if isinstance(item, Rejected)]

    assert (3, Reason.NOT_JSON, second[:200]) == (
        rejected.line_number,
        rejected.reason,
        rejected.line,
    )
    assert ["attempt_start", "phase_start", "phase_start", "alive"] == [
        item["event"] for item in told if not isinstance(item, Rejected)
    ]


def test_records_without_times_name_the_neighbour_that_tells_them(tmp_path: Path) -> None:
    raw = [record("RENDEZVOUS", None, group_rank=None), record("SUCCEEDED", None)]
    dump = written(tmp_path / "run-7", *recorded(*raw), name="elastic/events.jsonl")

    with pytest.raises(UnreadableDump, match="event handler"):
        events_of(dump)
    written(tmp_path / "run-7", *begins(0), name="agent.log")
    with pytest.raises(UnreadableDump, match=r"\.\./agent\.log tells"):
        events_of(dump)
    written(tmp_path / "run-7", *recorded(*launched(1)), name="elastic/timed.jsonl")
    with pytest.raises(UnreadableDump, match=r"; timed\.jsonl tells"):
        events_of(dump)


def test_records_without_times_are_set_aside_among_others(tmp_path: Path) -> None:
    raw = recorded(record("SUCCEEDED", None, source="WORKER", rank=0))
    told = told_of(written(tmp_path, *recorded(*launched(1)), *raw))

    assert [(4, Reason.MISSING_FIELD)] == [
        (item.line_number, item.reason) for item in told if isinstance(item, Rejected)
    ]


# Error files


def test_an_error_file_is_placed_by_its_path(tmp_path: Path) -> None:
    name = "logs/run-a_abcd1234/attempt_2/3/error.json"
    (failure,) = events_of(written(tmp_path, error_file("KeyError: 'x'", 7), name=name))

    assert {
        "at_us": (BEGUN + 7) * 1_000_000,
        "event": "failure",
        "job_id": "run-a",
        "run_generation": 2,
        "component": "local rank 3",
        "message": failure["message"],
        "attrs": '{"line": 1}',
    } == failure
    assert failure["message"].startswith("KeyError: 'x'\nTraceback")


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        (error_file("KeyError: 'x'", 7, errorCode=3), "KeyError: 'x'", 3),
        (json.dumps(json.loads(error_file("E: 1", 7)), indent=2), "E: 1", None),
        (json.dumps({"message": "CUDA died", "timestamp": BEGUN + 7}), "CUDA died", None),
        (error_file("E: 1", 7) + error_file("E: 2", 8), "E: 1", None),
    ],
)
def test_error_files_come_in_several_forms(
    tmp_path: Path, text: str, message: str, code: int | None
) -> None:
    dump = written(tmp_path, text, name="error.json")
    failure, *_ = events_of(dump)

    assert TORCHELASTIC.recognises(str(dump), text.encode())
    assert (message, code, 7.0) == (
        failure["message"].partition("\n")[0],
        failure.get("exit_code"),
        since_begun(failure["at_us"]),
    )


def test_the_agents_error_file_tells_the_signal_that_it_was_sent(tmp_path: Path) -> None:
    (failure,) = events_of(
        written(tmp_path, error_file("SignalException: Process 7 got signal: 2", 7))
    )

    assert (2, "torchrun agent") == (failure["signal"], failure["component"])


def test_an_error_at_no_time_cannot_be_placed(tmp_path: Path) -> None:
    text = '{"message": {"message": "E: 1", "extraInfo": {"py_callstack": "E: 1"}}}'

    with pytest.raises(UnreadableDump, match="not when they happened"):
        events_of(written(tmp_path, text, name="error.json"))


def test_a_rank_log_tells_an_error_after_the_last_line_that_tells_a_time(tmp_path: Path) -> None:
    name = "logs/run-a_abcd1234/attempt_1/0/stderr.log"
    lines = ["2026-11-20 05:42:00,000 INFO step 3", *raised("KeyError: 'x'", "[rank8]: ")]
    dump = written(tmp_path, *lines, name=name)
    (failure,) = events_of(dump)

    assert TORCHELASTIC.recognises(str(dump), dump.read_bytes())
    assert ("run-a", 1, 8, 23.0) == (
        failure["job_id"],
        failure["run_generation"],
        failure["rank"],
        since_begun(failure["at_us"]),
    )
    with pytest.raises(UnreadableDump, match=r"error\.json"):
        events_of(written(tmp_path / "other", *lines[1:], name=name))


# Checkpoints


def test_a_save_is_told_once_whatever_it_nests(tmp_path: Path) -> None:
    told = saves(
        tmp_path,
        checkpoint("save", "start", 10, "1"),
        checkpoint("_stateful_to_state_dict", "start", 10.1, "2"),
        checkpoint("write_data", "start", 10.2, "3"),
        checkpoint("write_data", "end", 11.9, "3"),
        checkpoint("save", "end", 12, "1"),
    )

    assert [
        (10.0, "phase_start", "checkpoint_save", 40, "sync"),
        (12.0, "phase_end", "checkpoint_save", 40, "sync"),
    ] == told


def test_an_async_save_blocks_until_it_is_staged_and_is_uploaded_beside(tmp_path: Path) -> None:
    told = saves(
        tmp_path,
        checkpoint("async_save", "start", 10, "1"),
        checkpoint("save", "start", 10.4, "2"),  # its thread may be faster
        checkpoint("async_save", "end", 10.5, "1"),
        checkpoint("save", "end", 20, "2"),
        checkpoint("save", "start", 30, "3"),
        checkpoint("save", "end", 31, "3"),
    )

    assert [
        (10.0, "phase_start", "checkpoint_save", 40, "async"),
        (10.4, "phase_start", "checkpoint_upload", 40, "async"),
        (10.5, "phase_end", "checkpoint_save", 40, "async"),
        (20.0, "phase_end", "checkpoint_upload", 40, "async"),
        (30.0, "phase_start", "checkpoint_save", 40, "sync"),
        (31.0, "phase_end", "checkpoint_save", 40, "sync"),
    ] == told


def test_saves_of_releases_that_give_them_no_uuid_are_told_apart(tmp_path: Path) -> None:
    rows = [
        checkpoint("save", "start", 10, "1"),
        checkpoint("save", "end", 12, "1"),
        checkpoint("async_save", "start", 20, "2", checkpoint_id="/runs/a/step-50"),
        checkpoint("save", "start", 20.4, "3", checkpoint_id="/runs/a/step-50"),
        checkpoint("async_save", "end", 20.5, "2", checkpoint_id="/runs/a/step-50"),
        checkpoint("save", "end", 30, "3", checkpoint_id="/runs/a/step-50"),
    ]
    for row in rows:
        del row["msg"]["uuid"]
    told = events_of(written(tmp_path, *map(json.dumps, rows)))

    assert [
        ("checkpoint_save", 10, 40),
        ("checkpoint_save", 12, 40),
        ("checkpoint_save", 20, 50),
        ("checkpoint_upload", 20.4, 50),
        ("checkpoint_save", 20.5, 50),
        ("checkpoint_upload", 30, 50),
    ] == [(event["phase"], since_begun(event["at_us"]), event["step"]) for event in told]
    assert all("event_id" not in event for event in told)


def test_a_restored_checkpoint_is_the_step_that_the_run_resumes_from(tmp_path: Path) -> None:
    rows = [checkpoint("load", "start", 10, "1"), checkpoint("load", "end", 12, "1")]
    told = events_of(written(tmp_path, *map(json.dumps, rows)))

    assert [("checkpoint_load", None), ("checkpoint_load", 40)] == [
        (event["phase"], event.get("resumed_from_step")) for event in told
    ]


def test_a_save_or_load_that_raises_has_failed(tmp_path: Path) -> None:
    rows = [
        checkpoint("load", "start", 10, "1"),
        checkpoint("load", "exception", 12, "1", error="no such file"),
    ]
    end = events_of(written(tmp_path, *map(json.dumps, rows)))[-1]

    assert (False, None) == (end["ok"], end.get("resumed_from_step"))


def test_a_save_that_never_ended_stays_open(tmp_path: Path) -> None:
    assert [(10.0, "phase_start", "checkpoint_save", 40, "async")] == saves(
        tmp_path, checkpoint("async_save", "start", 10, "1")
    )


def test_ranks_save_beside_one_another(tmp_path: Path) -> None:
    rows = [
        checkpoint("async_save", "start", 10, "1", global_rank="0"),
        checkpoint("async_save", "start", 10, "2", global_rank="1"),
        checkpoint("async_save", "end", 11, "1", global_rank="0"),
        checkpoint("save", "start", 11, "3", global_rank="0"),
        checkpoint("async_save", "end", 12, "2", global_rank="1"),
        checkpoint("save", "start", 12, "4", global_rank="1"),
    ]
    told = events_of(written(tmp_path, *map(json.dumps, rows)))

    assert [("checkpoint_upload", 0), ("checkpoint_upload", 1)] == [
        (event["phase"], event["rank"]) for event in told if "upload" in event["phase"]
    ]


def test_a_logger_may_write_records_as_python_does(tmp_path: Path) -> None:
    row = checkpoint("async_save", "start", 10, "1")["msg"]
    line = f"2026-11-20 05:41:47,000 logger.py:9 DEBUG p:MainProcess t:MainThread: {row}"
    (event,) = events_of(written(tmp_path, line))

    assert (10.0, 40) == (since_begun(event["at_us"]), event["step"])


def test_a_cut_record_of_a_save_is_set_aside(tmp_path: Path) -> None:
    row = json.dumps(checkpoint("save", "start", 10, "1"))
    told = told_of(written(tmp_path, row, row[:-9]))

    assert [(2, Reason.NOT_JSON)] == [
        (item.line_number, item.reason) for item in told if isinstance(item, Rejected)
    ]


def test_the_process_that_saves_in_the_background_says_when(tmp_path: Path) -> None:
    def said(clock: str, text: str) -> str:
        return f"[default1]:[1] 2026-11-20 05:41:{clock} - root - INFO - {text}"

    path = "/runs/a/step_000025"
    received = "Received async checkpoint request with id="
    told = saves(
        tmp_path,
        *begins(0),
        said("40,250", received + path),
        said(
            "41,250",
            "Completed checkpoint save request for checkpoint_id=_CheckpointRequestIdentifier("
            f"checkpoint_id='{path}', uuid='e52b')",
        ),
        said("42,250", received + path),
        said("43,250", f"Checkpoint save failed for checkpoint_id={path}: disk full"),
    )

    assert [
        (3.25, "phase_start", "checkpoint_upload", 25, "async"),
        (4.25, "phase_end", "checkpoint_upload", 25, "async"),
        (5.25, "phase_start", "checkpoint_upload", 25, "async"),
        (6.25, "phase_end", "checkpoint_upload", 25, "async"),
    ] == told


@pytest.mark.parametrize(
    ("checkpoint", "step"),
    [
        ("/runs/a/step_000040", 40),
        ("/runs/a/checkpoint-1500/", 1500),
        ("/runs/a/global_step77/rank0", 77),
        ("/runs/a/iter_0001000", 1000),
        ("epoch=3-step=200.ckpt", 200),
        ("/runs/a/1200", 1200),
        ("/runs/it_500", 500),
        ("/runs/run42/final", None),
        ("/runs/split2/unit3/final", None),
        ("/runs/a/checkpoints/1200/model", 1200),
        ("/runs/48213/ckpt/last", None),
        ("/runs/48213/last", None),
        ("/mnt/ckpt3/a/last", None),
        ("s3://checkpoint2/a/last", None),
        ("/mnt/ckpt3/a/step_40", 40),
        ("/mnt/ckpt3/a/1200", 1200),
        ("/runs/a/ckpt40/rank0", 40),
        ("/runs/a/checkpoint-40/model/rank0", 40),
        ("None", None),
        ("", None),
    ],
)
def test_the_step_is_in_the_checkpoints_path(checkpoint: str, step: int | None) -> None:
    assert step == step_of(checkpoint)


def saves(folder: Path, *rows: object) -> list[tuple[float, str, str, int, str]]:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    told: list[Event] = events_of(written(folder, glog(0, "run", "x"), *lines))
    return [
        (
            since_begun(event["at_us"]),
            event["event"],
            event["phase"],
            event["step"],
            event["mode"],
        )
        for event in told
        if "phase" in event
    ]
