"""OTLP's JSON lines: spans and records made by hand, and those that the real SDK wrote."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors.base import Dump, Reading
from ingest.collectors.otlp import OTLP
from ingest.collectors.otlp_names import span_meaning
from ingest.errors import UnreadableDump
from ingest.events import Event, Phase, Reason, Rejected

SECOND_US = 1_000_000
BEGUN = 1_772_359_200  # 2026-03-01T10:00:00Z
EXAMPLE = Path("docs/examples/otlp_trainer.py")
TRAINER = {"ett.job_id": "llama-8b", "ett.launch_id": "a", "ett.rank": 3}


def test_a_span_is_a_phase_from_its_start_to_its_end() -> None:
    (told,) = read(spans(span("train.checkpoint_save", 10, 12.5, {"ett.step": 40})))

    of_span, _, of_process = told.pop("event_id").rpartition("/")
    assert f"{span_id(10, 12.5)}/start" == of_span
    assert 16 == len(of_process)
    assert {
        "at_us": us(10),
        "event": "phase_start",
        "phase": "checkpoint_save",
        "end_us": us(12.5),
        "ok": True,
        "step": 40,
        "job_id": "llama-8b",
        "run_key": "a",
        "rank": 3,
    } == told


@pytest.mark.parametrize(
    ("name", "phase", "stage"),
    [
        *((phase, phase, None) for phase in Phase),
        ("train.checkpoint_save", "checkpoint_save", None),
        ("ett/checkpoint-load", "checkpoint_load", None),
        ("Trainer.CheckpointSave", "checkpoint_save", None),
        ("trainer.init.process_group_init", "trainer_init", "process_group_init"),
        ("shutdown.model_publish", "shutdown", "model_publish"),
        ("megatron.train", "training", None),
        ("megatron.checkpoint.save", "checkpoint_save", None),
        ("megatron.evaluate", "evaluation", None),
        ("train.eval", "evaluation", None),
        ("eval_loop", "evaluation", None),
        ("fit.evaluation_loop", "evaluation", None),
        ("checkpoint_save_success_event_for_checkpoint_save_sync", None, None),
        ("GET /checkpoint", None, None),
        ("", None, None),
    ],
)
def test_the_end_of_a_spans_name_says_what_it_is(
    name: str, phase: str | None, stage: str | None
) -> None:
    meaning = span_meaning(name)

    assert (phase, stage) == ((meaning.phase, meaning.stage) if meaning else (None, None))


def test_attributes_say_more_than_names() -> None:
    told = read(
        spans(
            span("warm up", 0, 5, {"ett.phase": "pt2_compile", "ett.cache": "hit"}),
            span("init", 5, 9, {"ett.phase": "trainer_init", "ett.stage": "tokenizer"}),
            span("restore", 9, 10, {"ett.phase": "checkpoint_load", "ett.resumed_from_step": "40"}),
            span("save", 20, 21, {"ett.phase": "checkpoint_save", "ett.mode": "async"}),
        )
    )
    starts = [event for event in told if event["event"] == "phase_start"]

    assert [
        ("pt2_compile", {"cache": "hit"}),
        ("trainer_init", {"stage": "tokenizer"}),
        ("checkpoint_load", {"resumed_from_step": 40}),
        ("checkpoint_save", {"mode": "async"}),
    ] == [(event["phase"], told_beside(event)) for event in starts]


def test_what_nv_one_logger_exports_as_spans_stands_out_of_its_training_loop() -> None:
    told = read(
        spans(
            span("span_start_event_for_checkpoint_save_async", 80, 80),
            span("model_initialization", 2, 8),
            span("training_loop", 10, 130),
            span("validation_loop", 60, 70),
            span("checkpoint_save_sync", 70, 75, {"current_iteration": 400}),
            span("checkpoint_save_async", 80, 81, {"ett.mode": "neither"}),
        )
    )

    phases = [event for event in told if "phase" in event]

    assert [
        ("trainer_init", us(8), "train_module_creation", None),
        ("training", us(130), None, None),
        ("evaluation", us(70), None, None),
        ("checkpoint_save", us(75), "sync", 400),
        ("checkpoint_save", us(81), "async", None),
    ] == [(e["phase"], e["end_us"], e.get("stage", e.get("mode")), e.get("step")) for e in phases]


def test_a_step_is_progress_when_it_is_over() -> None:
    told = read(spans(span("train_step", 1, 2, {"step": 7, "ett.samples": 448})))

    assert [(us(2), 7, 448)] == [(e["at_us"], e["step"], e["samples"]) for e in told]


def test_a_step_that_ended_with_an_error_was_not_done() -> None:
    told = read(spans(span("train_step", 1, 2, {"step": 7}, error="OutOfMemoryError")))

    assert ["failure"] == [event["event"] for event in told]


@pytest.mark.parametrize(
    ("value", "is_good"),
    [(True, True), (False, False), ("true", True), ("False", False), (0, False), (1, True)],
)
def test_a_save_that_is_said_to_be_no_good_is_none(value: object, is_good: bool) -> None:
    (told,) = read(spans(span("checkpoint_save", 0, 5, {"ett.step": 40, "ett.ok": value})))

    assert is_good == told["ok"]


@pytest.mark.parametrize("name", ["eval_step", "train.validation.step", "EvaluationIteration"])
def test_a_step_of_an_evaluation_is_no_progress(name: str) -> None:
    (training, alive) = read(spans(span("train_loop", 0, 1), span(name, 1, 2, {"step": 600})))

    assert ("training", "alive", us(2)) == (training["phase"], alive["event"], alive["at_us"])


def test_the_span_of_a_launch_is_its_begin_and_its_end() -> None:
    told = read(
        spans(
            span("attempt", 0, 60),
            span("attempt", 100, 160, error="RuntimeError: bad shard"),
            span("attempt", 200, 260, {"ett.outcome": "preempted", "ett.exit_code": 143}),
            span("attempt", 300, 360, {"ett.exit_code": 1}),
            span("attempt", 400, 460, {"ett.exit_code": 0}),
        )
    )
    ends = [event for event in told if event["event"] == "attempt_end"]
    outcomes = ["completed", "failed", "preempted", "failed", "completed"]

    assert outcomes == [event["outcome"] for event in ends]
    assert {"RuntimeError: bad shard"} == {e["message"] for e in ends if "message" in e}
    assert [None, None, 143, 1, 0] == [event.get("exit_code") for event in ends]
    assert [us(0), us(100), us(200), us(300), us(400)] == [
        event["at_us"] for event in told if event["event"] == "attempt_start"
    ]


@pytest.mark.parametrize(
    ("told", "code"), [(-9, -9), ("-9", -9), (137, 137), (" 1 ", 1), ("--9", None), ("", None)]
)
def test_an_exit_code_may_be_that_of_a_signal(told: object, code: int | None) -> None:
    *_, end = read(spans(span("attempt", 0, 60, {"ett.exit_code": told}, error="killed")))

    assert code == end.get("exit_code")


def test_an_exception_is_told_once_though_every_span_around_it_records_it() -> None:
    raised = {
        "timeUnixNano": nano(30),
        "name": "exception",
        "attributes": pairs(
            {
                "exception.type": "ValueError",
                "exception.message": "bad shard",
                "exception.stacktrace": "Traceback (most recent call last):\n  ...",
            }
        ),
    }
    told = read(
        spans(
            span("checkpoint_save", 29, 30.1, events=[raised], error="ValueError: bad shard"),
            span("training", 0, 30.2, events=[raised], error="ValueError: bad shard"),
        )
    )
    (failure,) = (event for event in told if event["event"] == "failure")

    assert us(30) == failure["at_us"]
    assert "ValueError: bad shard\nTraceback (most recent call last):\n  ..." == failure["message"]
    assert {"line": 1} == json.loads(failure["attrs"])
    assert [False] == [event["ok"] for event in told if "ok" in event]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({"ett.launch_id": "a"}, {"ett.launch_id": "b"}),
        ({"ett.attempt": 1}, {"ett.attempt": 2}),
        ({"torchelastic.restart_count": 0}, {"torchelastic.restart_count": 1}),
    ],
)
def test_launches_that_fail_alike_shortly_after_one_another_fail_each(
    first: dict[str, object], again: dict[str, object]
) -> None:
    raised = {"exception.type": "OSError", "exception.message": "stale"}
    told = read(
        *(
            records(record(at, "", raised), resource={"ett.job_id": "x", **launch})
            for at, launch in ((20, first), (60, again))
        )
    )

    assert [us(20), us(60)] == [event["at_us"] for event in told if event["event"] == "failure"]


def test_a_span_that_failed_without_an_exception_says_where() -> None:
    told = read(spans(span("train.checkpoint_upload", 0, 5, error="quota")))
    (failure,) = (event for event in told if event["event"] == "failure")

    assert ("quota", "train.checkpoint_upload") == (failure["message"], failure["component"])
    assert [False] == [event["ok"] for event in told if "ok" in event]


@pytest.mark.parametrize(
    ("severity", "kind"),
    [
        (20, "alive"), (21, "failure"), (24, "failure"), ("SEVERITY_NUMBER_ERROR4", "alive"),
        ("SEVERITY_NUMBER_FATAL", "failure"), ("SEVERITY_NUMBER_FATAL4", "failure"),
    ],
)  # fmt: skip
def test_what_is_fatal_is_a_failure_by_number_and_by_name(severity: int | str, kind: str) -> None:
    told = read(records(record(27, "", body="the node is going down", severity=severity)))

    assert [kind] == [event["event"] for event in told]


def test_records_tell_what_no_span_can_tell_yet() -> None:
    start = record(10, "phase_start", {"ett.span": "training"}, of=span_id(10, 60))
    told = read(
        records(
            start,
            record(20, "ett.progress", {"ett.step": 5}),
            record(25, "heartbeat"),
            record(26, "", {"exception.type": "OSError", "exception.message": "stale"}),
            record(27, "", body="the node is going down", severity=21),
            record(28, "", body="a warning", severity=13),
        )
    )
    (whole,) = read(spans(span("training", 10, 60)))

    assert whole == {**told[0], "end_us": us(60)}
    assert (
        [
            ("progress", 5, None),
            ("alive", None, None),
            ("failure", None, "OSError: stale"),
            ("failure", None, "the node is going down"),
            ("alive", None, None),  # the last record says nothing else
        ]
        == [(e["event"], e.get("step"), e.get("message")) for e in told[1:]]
    )


# who


def test_the_resource_says_who_it_is() -> None:
    resource = {
        "service.name": "trainer",
        "ett.job_id": "llama-8b",
        "ett.team": "research",
        "ett.workload": "production",
        "ett.model": "llama",
        "ett.gpus": 64,
        "ett.attempt": 2,
        "host.name": "n1",
        "slurm.job_id": 4711,
        "SLURM_RESTART_COUNT": "1",
        "k8s.cluster.name": "lab",
    }
    job, start = read(spans(span("training", 0, 5), resource=resource))

    assert {
        "at_us": us(0),
        "event": "job",
        "job_id": "llama-8b",
        "scheduler_job": "4711",
        "team": "research",
        "workload": "production",
        "model": "llama",
        "gpus": 64,
        "cluster": "lab",
        "attrs": json.dumps({"service.name": "trainer"}),
    } == job
    assert {"job_id": "llama-8b", "scheduler_job": "4711", "attempt": 2, "run_restart": 1} == {
        key: start[key] for key in ("job_id", "scheduler_job", "attempt", "run_restart")
    }
    assert ("n1", False) == (start["host"], "run_key" in start)


def test_who_and_what_a_job_is_is_told_of_each_launch() -> None:
    """What a scheduler says of a requeue is newer than the first word of the launch before it."""
    told = read(
        *(
            spans(span("training", at, at + 5), resource={**TRAINER, "ett.team": "x", **launch})
            for at, launch in enumerate(
                [
                    {"ett.launch_id": "a"},
                    {"ett.launch_id": "a", "ett.rank": 4},
                    {"ett.launch_id": "b"},
                ]
            )
        )
    )

    assert [us(0), us(2)] == [event["at_us"] for event in told if event.get("team") == "x"]


@pytest.mark.parametrize(
    ("resource", "job_id"),
    [
        ({"ett.job_id": "a", "service.name": "b"}, "a"),
        ({"k8s.job.name": "a", "service.name": "b", "slurm.job.id": 7}, "a"),
        ({"slurm.job.id": 7, "service.name": "b"}, "lab:7"),
        ({"slurm.job.id": "17_3", "service.name": "b"}, "lab:17_3"),
        ({"slurm.job.id": "job 7", "service.name": "b"}, "b"),
        ({"service.name": "b"}, "b"),
        ({"service.name": "unknown_service:python"}, None),
        ({}, None),
    ],
)
def test_a_job_has_the_best_name_that_its_resource_gives(
    resource: dict[str, object], job_id: str | None
) -> None:
    told = read_all(spans(span("train.checkpoint_save", 0, 5), resource=resource), cluster="lab")

    if job_id is None:
        assert [Reason.MISSING_FIELD] == [item.reason for item in told if is_rejected(item)]
    else:
        assert {job_id} == {item["job_id"] for item in told if not is_rejected(item)}


@pytest.mark.parametrize(
    ("resource", "launch"),
    [
        ({"ett.launch_id": "a", "ett.rank": 3, "service.instance.id": "b"}, {"run_key": "a"}),
        ({"service.instance.id": "b"}, {"run_key": "b"}),
        ({"service.instance.id": "b", "ett.rank": 0}, {"run_key": "b"}),
        ({"service.instance.id": "b", "ett.rank": 3}, {"run_key": "b"}),  # joined by time
        ({"process.pid": 7, "process.creation.time": "2026"}, {"run_key": "7@2026"}),
        ({"process.pid": 7}, {}),
        ({"TORCHELASTIC_RESTART_COUNT": "1", "service.instance.id": "b"}, {"run_generation": 1}),
        (
            {"torchelastic.restart_count": 0, "ett.launch_id": "a", "service.instance.id": "b"},
            {"run_key": "a", "run_generation": 0},
        ),
        ({"ett.attempt": 2, "ett.launch_id": "a"}, {"attempt": 2}),
        ({"ett.attempt": 0}, {}),
    ],
)
def test_a_launch_is_known_by_what_all_its_ranks_share_or_by_each_of_them(
    resource: dict[str, object], launch: dict[str, object]
) -> None:
    start, *_ = read(spans(span("training", 0, 5), resource={"ett.job_id": "x", **resource}))
    told = {key: start.get(key) for key in ("attempt", "run_key", "run_generation")}

    assert launch == {key: value for key, value in told.items() if value is not None}


def test_the_rank_of_a_span_is_nearer_than_that_of_its_resource() -> None:
    told = read(spans(span("training", 0, 5, {"rank": 7})))

    assert {7} == {event["rank"] for event in told}


def test_programs_that_train_nothing_are_left_alone() -> None:
    shop = spans(
        span("GET /cart", 0, 1),
        span("validation", 1, 2),
        span("queue", 2, 3),
        resource={"service.name": "shop"},
    )
    told = read(spans(span("training", 0, 5)), shop)

    assert {"llama-8b"} == {event["job_id"] for event in told}
    with pytest.raises(UnreadableDump, match=r"named like a phase .* docs/sources/otlp.md"):
        read(shop)


def test_a_batch_over_several_lines_is_said_to_be_one() -> None:
    batch = json.loads(spans(span("training", 0, 5)))

    with pytest.raises(UnreadableDump, match=r"on one line\. .* jq -c"):
        read(*json.dumps(batch, indent=2).splitlines())


def test_a_resource_of_which_one_span_is_a_trainers_is_so_for_all_its_spans() -> None:
    resource = {"service.name": "pretrain", "service.instance.id": "x"}
    told = read(
        spans(span("evaluation", 0, 1), resource=resource),
        spans(span("checkpoint_save", 1, 2), resource=resource),
        spans(span("evaluation", 2, 3), span("unknown", 3, 9), resource=resource),
    )

    assert [
        ("phase_start", 0.0),
        ("phase_start", 1.0),
        ("phase_start", 2.0),
        ("alive", 9.0),
    ] == [(event["event"], since(event)) for event in told if event["event"] != "job"]


def test_of_what_may_yet_be_a_trainers_the_oldest_is_forgotten() -> None:
    shop = {"service.name": "shop", "service.instance.id": "1"}
    trainer = {"service.name": "pretrain", "service.instance.id": "x"}
    told = read(
        spans(span("evaluation", 0, 1), resource=trainer),
        spans(*(span("queue", second, second + 1) for second in range(4_096)), resource=shop),
        spans(span("checkpoint_save", 5_000, 5_001), resource=trainer),
    )

    assert [("phase_start", 5_000.0)] == [
        (event["event"], since(event)) for event in told if event["event"] != "job"
    ]


# encodings


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line,
        lambda line: line.replace(f'"{nano(0)}"', nano(0)),  # times as numbers
        lambda line: line.replace('"code": 2', '"code": "STATUS_CODE_ERROR"'),
        lambda line: line.replace('{"intValue": "40"}', '{"intValue": 40}'),
        lambda line: line.replace('{"intValue": "40"}', "40"),
        lambda line: (
            line.replace("startTimeUnixNano", "start_time_unix_nano")
            .replace("endTimeUnixNano", "end_time_unix_nano")
            .replace("resourceSpans", "resource_spans")
            .replace("scopeSpans", "scope_spans")
            .replace("spanId", "span_id")
        ),
        lambda line: f"2026-03-01T10:00:00Z stdout F {line}",
    ],
)
def test_every_encoding_in_use_is_read(change: Any) -> None:
    line = spans(span("checkpoint_save", 0, 5, {"ett.step": 40}, error="quota"))
    told = read(change(line))

    assert [
        ("failure", None, None),
        ("phase_start", 40, False),
    ] == [(event["event"], event.get("step"), event.get("ok")) for event in told]


def test_attributes_may_be_an_object() -> None:
    line = json.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": {"ett.job_id": "x"}},
                    "scopeSpans": [{"spans": [{**span("training", 0, 5), "attributes": {"a": 1}}]}],
                }
            ]
        }
    )

    assert {"x"} == {event["job_id"] for event in read(line)}


@pytest.mark.parametrize("number", ["1", "1" * 30, "NaN"])  # what the fast decoder refuses, too
def test_a_line_may_be_an_array_of_batches(number: str) -> None:
    batches = spans(span("training", 0, 5)), records(record(7, "progress", {"step": 3}))

    assert read(*batches) == read(f"[{', '.join(batches)}, {{}}, {number}]")


def test_spans_and_records_may_stand_in_one_file_with_metrics_and_words() -> None:
    told = read(
        "collector started",
        '{"resourceMetrics":[{"scopeMetrics":[]}]}',
        spans(span("training", 0, 5)) + spans(span("evaluation", 5, 6)),  # torn into one line
        records(record(7, "progress", {"step": 3})),
    )

    assert ["phase_start", "phase_start", "progress"] == [event["event"] for event in told]


# bad input


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"resourceSpans": [{"resource": {}', Reason.NOT_JSON),
        ('{"resourceSpans": \xff}', Reason.NOT_UTF8),
    ],
)
def test_a_line_that_is_no_batch_is_set_aside(line: str, reason: Reason) -> None:
    first, *rest = read_all(line, spans(span("training", 0, 5)))

    assert isinstance(first, Rejected)
    assert (1, reason, 1) == (first.line_number, first.reason, len(rest))


@pytest.mark.parametrize(
    "times",
    [
        {"startTimeUnixNano": "0"},
        {"endTimeUnixNano": None},
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": "9" * 30},
        {"startTimeUnixNano": f"{BEGUN + 9}000000000"},  # after its end
    ],
)
def test_a_span_without_believable_times_is_set_aside(times: dict[str, object]) -> None:
    told = read_all(spans({**span("training", 0, 5), **times}, span("evaluation", 5, 6)))

    assert [Reason.BAD_TIMESTAMP] == [item.reason for item in told if is_rejected(item)]
    assert 1 == sum(not is_rejected(item) for item in told)


@pytest.mark.parametrize(
    "line",
    [
        lambda told: spans(span("warm up", 0, 5, told), span("training", 5, 9)),
        lambda told: records(record(0, "phase_start", told), record(5, "progress", {"step": 1})),
    ],
)
def test_a_phase_that_there_is_none_of_is_set_aside(line: Any) -> None:
    rejected, *told = read_all(line({"ett.phase": "warmup"}))

    assert (1, Reason.UNKNOWN_PHASE) == (rejected.line_number, rejected.reason)
    assert rejected.detail.endswith("phase 'warmup' is not known")
    assert 1 == len(told)


def test_an_outcome_that_there_is_none_of_is_set_aside_and_is_no_good_end() -> None:
    line = spans(span("attempt", 0, 9, {"ett.outcome": "error"}), span("training", 5, 9))
    rejected, *told = read_all(line)

    assert (1, Reason.BAD_VALUE) == (rejected.line_number, rejected.reason)
    assert rejected.detail == "attempt: outcome 'error' is not known"
    assert ["phase_start"] == [event["event"] for event in told]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(data=st.data())
def test_no_value_in_the_place_of_another_raises(data: st.DataObject) -> None:
    raised = {"timeUnixNano": nano(3), "name": "exception", "attributes": pairs({"a": 1})}
    batch = json.loads(spans(span("training", 0, 5, {"ett.step": 4}, [raised], "x")))
    batch |= json.loads(records(record(7, "progress", {"step": 3})))
    place: Any = batch
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(JUNK)
            break
        place = place[key]

    try:
        told = read_all(json.dumps(batch))
    except UnreadableDump:
        return
    assert all(is_rejected(item) or isinstance(item["at_us"], int) for item in told)


@given(st.binary(max_size=200), st.integers(0, 300))
def test_no_damage_to_a_line_raises(junk: bytes, at: int) -> None:
    line = spans(span("training", 0, 5)).encode()

    try:
        told = list(OTLP.read(dump_of([line[:at] + junk + line[at:], line]), reading()))
    except UnreadableDump:
        return
    assert told


# recognition


def test_batches_are_recognised_wherever_they_begin() -> None:
    line = spans(span("GET /cart", 0, 1), resource={}).encode()

    assert OTLP.recognises("x", line)
    assert OTLP.recognises("x", b"collector started\n" + line[:90])
    assert OTLP.recognises("x", b'{ "resourceLogs" : [')
    assert not OTLP.recognises("x", b'{"resourceMetrics":[')
    assert not OTLP.recognises("otlp.jsonl", b'{"event":"alive","ts":1}')


@pytest.mark.real
def test_no_real_dump_of_another_format_is_recognised(real_logs: Path) -> None:
    files = [file for file in sorted(real_logs.rglob("*")) if file.is_file()]
    taken = [file for file in files if OTLP.recognises(file.name, head_of(file))]

    assert files
    assert [] == taken


# the example of the documentation, with the real SDK


@pytest.mark.slow
def test_the_example_tells_every_launch_even_one_that_was_killed(tmp_path: Path) -> None:
    codes = [
        run_example(tmp_path, LAUNCH_ID="raises", FAIL_AT="25"),
        run_example(tmp_path, LAUNCH_ID="killed", KILL_AT="30"),
        run_example(tmp_path, LAUNCH_ID="completes"),
    ]
    told = [event for file in sorted(tmp_path.glob("*.jsonl")) for event in read_file(file)]
    by_launch = {
        launch: [event for event in told if event.get("run_key") == launch]
        for launch in ("raises", "killed", "completes")
    }

    assert [1, 137, 0] == codes
    assert {"otlp-example"} == {event["job_id"] for event in told}
    assert {
        "raises": ["failed"],
        "killed": [],
        "completes": ["completed"],
    } == {launch: outcomes(events) for launch, events in by_launch.items()}
    assert {"raises": None, "killed": 20, "completes": 20} == {
        launch: next((e["resumed_from_step"] for e in events if "resumed_from_step" in e), None)
        for launch, events in by_launch.items()
    }
    # of the killed launch the train loop's span was never exported: its start and its steps were
    assert ["phase_start"] == [
        event["event"] for event in by_launch["killed"] if event.get("phase") == "training"
    ]
    assert [25, 30] == [e["step"] for e in by_launch["killed"] if e["event"] == "progress"]
    assert [(20, True)] == [(e["step"], e["ok"]) for e in by_launch["raises"] if "ok" in e]
    (failure,) = (event for event in told if event["event"] == "failure")
    assert failure["message"].startswith("RuntimeError: CUDA error: an illegal memory access")


@pytest.mark.slow
def test_the_starts_that_records_tell_are_those_of_the_spans(tmp_path: Path) -> None:
    run_example(tmp_path, LAUNCH_ID="a")
    recorded, exported = (
        {
            json.dumps({**event, "end_us": 0, "ok": True}, sort_keys=True)
            for event in read_file(tmp_path / f"{name}-0.jsonl")
            if event["event"] in ("phase_start", "attempt_start")
        }
        for name in ("records", "spans")
    )

    assert 8 == len(recorded)
    assert recorded == exported


def run_example(folder: Path, **environment: str) -> int:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    return done.returncode


# what a batch is made of, and what is asked of its events


def spans(*told: dict[str, object], resource: Mapping[str, object] = TRAINER) -> str:
    scopes = [{"scope": {"name": "trainer"}, "spans": list(told)}]
    batch = {"resource": {"attributes": pairs(resource)}, "scopeSpans": scopes}
    return json.dumps({"resourceSpans": [batch]})


def records(*told: dict[str, object], resource: Mapping[str, object] = TRAINER) -> str:
    batch = {"resource": {"attributes": pairs(resource)}, "scopeLogs": [{"logRecords": list(told)}]}
    return json.dumps({"resourceLogs": [batch]})


def span(
    name: str,
    start: float,
    end: float,
    attributes: Mapping[str, object] | None = None,
    events: Sequence[Mapping[str, object]] | None = None,
    error: str | None = None,
) -> dict[str, object]:
    return {
        "traceId": "89123d3583711035a21a93352ec30f7f",
        "spanId": span_id(start, end),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": nano(start),
        "endTimeUnixNano": nano(end),
        "attributes": pairs(attributes or {}),
        "events": list(events or []),
        "status": {"code": 2, "message": error} if error else {},
    }


def span_id(start: float, end: float) -> str:
    return f"{round(start * 1000):08x}{round(end * 1000):08x}"


def record(
    at: float,
    name: str,
    attributes: Mapping[str, object] | None = None,
    of: str = "",
    body: str | None = None,
    severity: int | str = 9,
) -> dict[str, object]:
    return {
        "timeUnixNano": nano(at),
        "severityNumber": severity,
        "eventName": name,
        "attributes": pairs(attributes or {}),
        "spanId": of,
        **({"body": {"stringValue": body}} if body else {}),
    }


def pairs(attributes: Mapping[str, object]) -> list[dict[str, object]]:
    return [
        {
            "key": key,
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for key, value in attributes.items()
    ]


def nano(second: float) -> str:
    return str(round((BEGUN + second) * 1000) * 1_000_000)


def us(second: float) -> int:
    return round((BEGUN + second) * 1000) * 1_000


def read(*lines: str) -> list[Event]:
    told = read_all(*lines)

    assert [] == [item for item in told if is_rejected(item)]
    return [item for item in told if not isinstance(item, Rejected)]


def read_all(*lines: str, cluster: str | None = None) -> list[Any]:
    dump = dump_of([line.encode("latin-1" if "\xff" in line else "utf-8") for line in lines])
    return list(OTLP.read(dump, Reading(cluster, ZoneInfo("UTC"))))


def read_file(file: Path) -> list[Event]:
    lines = file.read_bytes().splitlines()
    told = list(OTLP.read(Dump(str(file), file, lambda: iter(enumerate(lines, 1))), reading()))
    return [item for item in told if not isinstance(item, Rejected)]


def dump_of(lines: list[bytes]) -> Dump:
    return Dump("spans.jsonl", None, lambda: iter(enumerate(lines, 1)))


def reading() -> Reading:
    return Reading(None, ZoneInfo("UTC"))


def head_of(file: Path) -> bytes:
    raw = file.read_bytes()
    return (gzip.decompress(raw) if file.suffix == ".gz" else raw)[:65536]


def is_rejected(item: object) -> bool:
    return isinstance(item, Rejected)


def since(event: Event) -> float:
    begun = datetime.fromtimestamp(BEGUN, UTC).timestamp()
    return event["at_us"] / SECOND_US - begun


def told_beside(event: Event) -> dict[str, object]:
    beside = ("cache", "stage", "resumed_from_step", "mode")
    return {key: value for key, value in event.items() if key in beside}


def outcomes(events: list[Event]) -> list[str]:
    return [event["outcome"] for event in events if event["event"] == "attempt_end"]
