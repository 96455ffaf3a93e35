"""The field's words as types: what an event may say. Nothing here reads a dump or a database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict, cast

import polars as pl


class EventKind(StrEnum):
    """What happened (INTERFACES.md section 2)."""

    JOB = "job"
    ATTEMPT_START = "attempt_start"
    ATTEMPT_END = "attempt_end"
    ALIVE = "alive"
    PHASE_START = "phase_start"
    PHASE_END = "phase_end"
    PROGRESS = "progress"
    FAILURE = "failure"
    CHANGE = "change"


class Phase(StrEnum):
    """What an attempt says it is doing (METRICS.md section 2)."""

    QUEUE = "queue"
    SCHEDULING = "scheduling"
    HARDWARE_SETUP = "hardware_setup"
    LAUNCHER_INIT = "launcher_init"
    TRAINER_INIT = "trainer_init"
    PT2_COMPILE = "pt2_compile"
    CHECKPOINT_LOAD = "checkpoint_load"
    TRAINING = "training"
    CHECKPOINT_SAVE = "checkpoint_save"
    CHECKPOINT_UPLOAD = "checkpoint_upload"
    EVALUATION = "evaluation"
    DATA_WAIT = "data_wait"
    SHUTDOWN = "shutdown"


# What a sign of life says in place of a stage where all times that its source tells of the job are
# those of a buffer, which was written now and then.
BUFFERED = "buffered"


class Outcome(StrEnum):
    """How an attempt ended, as a source may say it; `running` and `lost` are conclusions."""

    COMPLETED = "completed"
    FAILED = "failed"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


class Reason(StrEnum):
    """Why a line was set aside."""

    NOT_JSON = "not_json"
    NOT_UTF8 = "not_utf8"
    LINE_TOO_LONG = "line_too_long"
    MISSING_FIELD = "missing_field"
    BAD_VALUE = "bad_value"
    BAD_TIMESTAMP = "bad_timestamp"
    NO_TIME_ZONE = "no_time_zone"
    FUTURE_TIME = "future_time"
    UNKNOWN_EVENT = "unknown_event"
    UNKNOWN_PHASE = "unknown_phase"


class Event(TypedDict, total=False):
    """One native event as a collector yields it; times are Unix microseconds.

    `row_key`, `row_submitted_us`, `row_state` and `suspended_us` are not part of the native dump. A
    scheduler's collector sets them where it cannot number attempts itself: `row_key` is the
    identity of one scheduler row within `job_id`, `row_state` its raw state, and `attempt` is then
    absent.

    `scheduler_job`, `run_key`, `run_generation` and `run_restart` are not part of it either. A
    trainer's collector sets them where its dump does not number attempts: the scheduler's job id
    that the run states, one launch of the trainer, the restart of the workers inside it (from 0),
    and the scheduler's restart count. An event with no number at all is placed by its time.
    """

    at_us: int
    end_us: int
    event: str
    job_id: str
    attempt: int
    event_id: str
    rank: int
    host: str
    allocation_id: str
    phase: str
    stage: str
    step: int
    mode: str
    ok: bool
    cache: str
    recompiles: int
    resumed_from_step: int
    outcome: str
    exit_code: int
    signal: int
    message: str
    category: str
    component: str
    samples: int
    team: str
    user: str
    workload: str
    model: str
    cluster: str
    gpus: int
    gpu_type: str
    priority: str
    preempted_by: str
    name: str
    partition: str
    description: str
    attrs: str
    row_key: str
    row_submitted_us: int
    row_state: str
    suspended_us: int
    scheduler_job: str
    run_key: str
    run_generation: int
    run_restart: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that cannot be an event: it is set aside, never dropped."""

    line_number: int
    reason: Reason
    detail: str
    line: str


# What a dump tells: one event or many, a column for each field that any of them has.
Item = Event | Rejected | pl.DataFrame


def events_of(frame: pl.DataFrame) -> Iterator[Event]:
    """The events of a frame one by one; a null says nothing."""
    for row in frame.iter_rows(named=True):
        yield cast(Event, {name: value for name, value in row.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Says:
    """What a dump format can report: tells silence from absence (METRICS.md section 2)."""

    training: bool
    saves: bool
    resumes: bool
