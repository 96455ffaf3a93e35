"""One-logger records as events of launches.

A span becomes a phase where its name says which; spans of other names say nothing to us. An
application that closes says that it ended, and only sometimes how.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ingest.collectors.json_values import LONGEST_ID, LONGEST_MESSAGE, MOST_GPUS, text, whole
from ingest.collectors.one_logger_processes import Process, Processes, Span
from ingest.collectors.one_logger_records import Kind, Record
from ingest.collectors.slurm_values import is_job
from ingest.events import Event, EventKind, Outcome, Phase, Reason, Rejected

_APPLICATION = "application"
_ASYNC_SAVE = "checkpoint_save_async"
_FINALIZATION = "checkpoint_save_finalization"
_LOOPS = ("training_loop", "validation_loop", "testing_loop")
_UNAIMED = "no target was stated: it closed without an error"  # attempt_ends.sql knows it
_FORGOTTEN_TIMER = "Timer for span "  # the library's remark on itself, no error of the application
_PHASES: dict[str, tuple[Phase, str | None]] = {
    "distributed_code_initialization": (Phase.TRAINER_INIT, "process_group_init"),
    "data_loader_initialization": (Phase.TRAINER_INIT, "preproc_creation"),
    "model_initialization": (Phase.TRAINER_INIT, "train_module_creation"),
    "optimizer_initialization": (Phase.TRAINER_INIT, "train_module_creation"),
    "checkpoint_load": (Phase.CHECKPOINT_LOAD, None),
    "pt2_compilation": (Phase.PT2_COMPILE, None),
    "pt2_compile": (Phase.PT2_COMPILE, None),
    "torch_compile": (Phase.PT2_COMPILE, None),
    "training_loop": (Phase.TRAINING, None),
    "data_loading": (Phase.DATA_WAIT, None),
    "validation_loop": (Phase.EVALUATION, None),
    "testing_loop": (Phase.EVALUATION, None),
    "checkpoint_save_sync": (Phase.CHECKPOINT_SAVE, None),
    _ASYNC_SAVE: (Phase.CHECKPOINT_SAVE, None),
}
_TEXTS = frozenset(
    {"team", "user", "workload", "model", "cluster", "partition", "priority", "gpu_type"}
)
_SCHEDULER_JOBS = frozenset({"slurm_job_id", "slurm_jobid", "scheduler_job"})
_NOTHING = frozenset({"", "None"})  # Python's word for a variable that is not set


def events(record: Record, processes: Processes) -> Iterator[Event | Rejected]:
    """What a record says about its launch; it moves on what is known of the processes."""
    if record.name == _APPLICATION and record.kind == Kind.START:
        processes.begin(record)
        return
    process = processes.of(record)
    if process is None or not (process.of_run or _introduces(record)):
        detail = "no application span of the dump says which job this is"
        shown = record.line.decode(errors="replace")
        yield Rejected(record.line_number, Reason.MISSING_FIELD, detail, shown)
        return
    for event in _told(record, process, processes):
        event.update(process.of_run)
        yield event
    if record.name == _APPLICATION and record.kind == Kind.STOP:
        processes.forget(process)


def _introduces(record: Record) -> bool:
    is_introduction = record.name == "one_logger_initialization" and record.kind == Kind.EVENT
    return is_introduction and text(record.said.get("session_tag")) is not None


def _told(record: Record, process: Process, processes: Processes) -> Iterator[Event]:
    if record.kind == Kind.EVENT:
        yield from _word(record, process, processes)
    elif record.kind == Kind.ERROR:
        yield from _error(record, process)
    elif record.name == _APPLICATION:
        yield _end(record, process)
    elif record.name == _FINALIZATION:
        yield from _finalized(record, process)
    elif record.kind == Kind.STOP:
        yield from _stop(record, process, processes)
    elif record.name in _PHASES:
        yield from _start(record, process, processes)


def _word(record: Record, process: Process, processes: Processes) -> Iterator[Event]:
    """An event inside a span: who speaks, what is aimed at, progress, a save that is whole."""
    said = record.said
    iteration = whole(said.get("current_iteration"))
    match record.name:
        case "one_logger_initialization":
            job_id = text(said.get("session_tag"), LONGEST_ID)
            if job_id and not process.of_run:
                processes.introduce(process, job_id, record)
            yield _job(record, process)
            yield {"at_us": process.begun.at_us, "event": EventKind.ATTEMPT_START}
        case "update_training_telemetry_config":
            process.target = whole(said.get("train_iterations_target"))
            process.cadence = whole(said.get("log_every_n_train_iterations")) or 0
            yield _job(record, process)
        case "training_metrics_update" if iteration is not None:
            yield _progress(record, process.go_on(iteration))
        case "validation_metrics_update" if iteration is not None:
            process.done = max(process.done, iteration + 1)
        case "save_checkpoint_success":
            if span := process.spans.get(record.span_id):
                span.is_saved = process.confirms_saves = True
                yield from process.unconfirmed
                process.unconfirmed.clear()
            if iteration in process.uploads:
                yield from _uploaded(record.at_us, process, iteration)


def _job(record: Record, process: Process) -> Event:
    """What a process says about its job. Entries of `custom_metadata` are `name:value`; those that
    name a field of a job are that field.
    """
    job: Event = {"at_us": record.at_us, "event": EventKind.JOB}
    attrs: dict[str, object] = {}
    # processes: the dump does not say what they run on
    if (world_size := whole(record.said.get("world_size"))) is not None:
        attrs["world_size"] = world_size
    if perf_tag := text(record.said.get("perf_tag")):
        attrs["perf_tag"] = perf_tag
    for name, value in _metadata(record):
        match name.lower():
            case known if known in _TEXTS:
                job[known] = value  # type: ignore[literal-required]
            case "gpus" if (gpus := _count(value)) is not None and gpus <= MOST_GPUS:
                job["gpus"] = gpus
            case known if known in _SCHEDULER_JOBS and is_job(value):
                process.of_run = {**process.of_run, "scheduler_job": value}
            case "slurm_restart_count" if (restart := _count(value)) is not None:
                process.of_run = {**process.of_run, "run_restart": restart}
            case _:
                attrs[name] = value
    if attrs:
        job["attrs"] = json.dumps(attrs, ensure_ascii=False)
    return job


def _metadata(record: Record) -> Iterator[tuple[str, str]]:
    entries = record.said.get("custom_metadata")
    for entry in entries if isinstance(entries, list) else ():
        name, _, value = (text(entry) or "").partition(":")
        if name.strip() and value.strip() not in _NOTHING:
            yield name.strip(), value.strip()


def _count(digits: str) -> int | None:
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 16 else None


def _progress(record: Record, step: int) -> Event:
    progress: Event = {"at_us": record.at_us, "event": EventKind.PROGRESS, "step": step}
    samples = samples_of(record.said)
    if samples is not None:
        progress["samples"] = samples
    return progress


def samples_of(said: Mapping[str, Any]) -> int | None:
    """The samples that were trained on so far, as a word on progress tells them."""
    samples = whole(said.get("num_train_samples"))
    return None if samples is None else (whole(said.get("train_samples_start")) or 0) + samples


def _start(record: Record, process: Process, processes: Processes) -> Iterator[Event]:
    """A span starts, or is complete. An async save is on its way from its start on; only the word
    of its success makes it whole.
    """
    start = _phase(record, EventKind.PHASE_START)
    span = Span(record.name, start)
    if record.until_us is None:
        processes.open(process, record, span)
    else:
        start["end_us"] = record.until_us
        _judge(start, span, process)
    process.launch.has_looped |= record.name in _LOOPS
    if record.name == "training_loop":
        process.launch.has_trained = True
        resumed = whole(record.said.get("train_iterations_start"))
        if resumed is not None:
            start["resumed_from_step"] = process.done = resumed
        process.target = whole(record.said.get("train_iterations_target")) or process.target
    yield start
    if record.name == _ASYNC_SAVE and "step" in start:
        upload = _upload(record.at_us, EventKind.PHASE_START, start["step"])
        if process.confirms_uploads or not process.uploads:
            yield upload
        else:
            process.unsaid.append(upload)
        process.uploads.append(start["step"])


def _stop(record: Record, process: Process, processes: Processes) -> Iterator[Event]:
    span = processes.close(process, record.span_id)
    if record.name not in _PHASES:
        return
    stop = _phase(record, EventKind.PHASE_END)
    if span is not None:
        _judge(stop, span, process)
    yield stop


def _judge(end: Event, span: Span, process: Process) -> None:
    """Whether a save wrote its checkpoint. That nobody said so proves something only where somebody
    usually does, if only later; of an async save this is not the time to say it.
    """
    if end["phase"] != Phase.CHECKPOINT_SAVE:
        return
    is_missed = process.confirms_saves and span.name != _ASYNC_SAVE
    if span.is_saved:
        end["ok"] = True
        process.done = max(process.done, end.get("step", 0))
    elif span.is_broken or is_missed:
        end["ok"] = False
    elif span.name != _ASYNC_SAVE:
        until_us = end.get("end_us", end["at_us"])
        process.unconfirmed.append({**end, **span.start, "end_us": until_us, "ok": False})


def _phase(record: Record, kind: EventKind) -> Event:
    phase, stage = _PHASES[record.name]
    event: Event = {"at_us": record.at_us, "event": kind, "phase": phase}
    if stage is not None:
        event["stage"] = stage
    if phase == Phase.CHECKPOINT_SAVE:
        event["mode"] = "async" if record.name == _ASYNC_SAVE else "sync"
        if (step := whole(record.said.get("current_iteration"))) is not None:
            event["step"] = step
    elif phase == Phase.PT2_COMPILE and isinstance(is_hit := record.said.get("cache_hit"), bool):
        event["cache"] = "hit" if is_hit else "miss"
    return event


def _upload(at_us: int, kind: EventKind, step: int) -> Event:
    return {"at_us": at_us, "event": kind, "phase": Phase.CHECKPOINT_UPLOAD, "step": step}


def _uploaded(at_us: int, process: Process, step: int) -> Iterator[Event]:
    process.uploads.remove(step)
    process.confirms_uploads = True
    yield from process.unsaid
    process.unsaid.clear()
    yield {**_upload(at_us, EventKind.PHASE_END, step), "ok": True}


def _finalized(record: Record, process: Process) -> Iterator[Event]:
    """The work behind an async save is done: of the oldest one, which the span does not name."""
    if record.kind == Kind.START or not process.uploads:
        return
    at_us = record.at_us if record.until_us is None else record.until_us
    yield from _uploaded(at_us, process, process.uploads[0])


def _error(record: Record, process: Process) -> Iterator[Event]:
    """An exception passes through every span that it leaves: it counts once, where it began."""
    said = record.said
    span = process.spans.get(record.span_id)
    if span is not None:
        span.is_broken = True
    remark = text(said.get("error_message"), LONGEST_MESSAGE) or ""
    exception = text(said.get("exception_type"), LONGEST_MESSAGE) or ""
    message = text(said.get("exception_message"), LONGEST_MESSAGE) or ""
    first = f"{exception}: {message}" if exception else remark
    if (
        not first
        or first == process.error
        or (not exception and remark.startswith(_FORGOTTEN_TIMER))
    ):
        return
    process.error = first
    trace = text(said.get("exception_traceback"), LONGEST_MESSAGE) or ""
    lines = dict.fromkeys(line for line in (first, remark, trace) if line)
    failure: Event = {
        "at_us": record.at_us,
        "event": EventKind.FAILURE,
        "message": "\n".join(lines)[:LONGEST_MESSAGE],
        "attrs": json.dumps({"line": record.line_number}),
    }
    if span is not None:
        failure["component"] = span.name
    yield failure


def _end(record: Record, process: Process) -> Event:
    """The application closed. After an error it failed; with its aim reached, or without an aim, it
    is complete, if it did anything; else nothing says how it ended. Without an aim that is only
    what no other process contradicts.
    """
    has_reached = process.target is None or process.done + max(process.cadence, 1) > process.target
    end: Event = {"at_us": record.at_us, "event": EventKind.ALIVE}
    if process.error is not None:
        end["outcome"] = Outcome.FAILED
        end["message"] = process.error
    elif process.launch.has_looped and has_reached:
        end["outcome"] = Outcome.COMPLETED
        if process.target is None:
            end["message"] = _UNAIMED
    if "outcome" in end:
        end["event"] = EventKind.ATTEMPT_END
        end["attrs"] = json.dumps({"line": record.line_number})
    return end
