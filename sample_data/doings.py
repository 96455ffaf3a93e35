"""What an attempt did: the words shared by planning, cutting and telling. Data only."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.events import Phase
from sample_data.causes import Cause
from sample_data.jobs import Job


@dataclass(frozen=True, slots=True)
class Span:
    """One thing done, in the words and on the clock of the attempt's hosts.

    `end_us` None: it was never told that it ended. With several reporting ranks the times are those
    of rank 0.
    """

    phase: Phase
    begin_us: int
    end_us: int | None
    stage: str | None = None
    step: int | None = None
    mode: str | None = None
    is_ok: bool = True
    cache: str | None = None
    recompiles: int | None = None
    resumed_from: int | None = None
    trained_us: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """A moment at which the attempt told how far it is."""

    at_us: int
    step: int


@dataclass(frozen=True, slots=True)
class Stall:
    """A time without training, from the last progress before it to when it went on or was killed.

    What METRICS.md calls the hang lasts on to the next progress, or to the end of training.
    """

    since_us: int
    over_us: int
    is_fatal: bool


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint that can be restored."""

    step: int
    captured_us: int
    durable_us: int
    trained_us: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What an attempt would do if nobody disturbed it."""

    begins_us: int
    granted_us: int
    spans: tuple[Span, ...]
    progress: tuple[Progress, ...]
    stall: Stall | None
    restored: Saved | None
    ends_us: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What ends an attempt early, if it gets that far. `is_silent`: nobody will ever say so."""

    at_us: int
    outcome: str
    cause: Cause | None = None
    echo: Cause | None = None
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an attempt did until its end. `last_said_us` is its end where none is told."""

    number: int
    allocation: str
    gpus: int
    skew_us: int
    granted_us: int | None
    begins_us: int
    ends_us: int
    spans: tuple[Span, ...]
    progress: tuple[Progress, ...]
    alive_us: tuple[int, ...]
    stall: Stall | None
    restored: Saved | None
    is_in_place: bool
    outcome: str
    is_end_told: bool
    cause: Cause | None
    echo: Cause | None
    failed_us: int
    preempted_by: str | None


@dataclass(frozen=True, slots=True)
class Wait:
    """A time in the queue before an attempt; still waiting where `end_us` is None."""

    number: int
    begin_us: int
    end_us: int | None


@dataclass(frozen=True, slots=True)
class History:
    """Everything that happened to a job."""

    job: Job
    attempts: tuple[Attempt, ...]
    waits: tuple[Wait, ...]
