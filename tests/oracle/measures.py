"""METRICS.md told again in plain Python, so that the SQL can be held against it.

It reads native event dicts and nothing else: no database, no file, nothing of ingest or queries.
It is written to be read beside METRICS.md, section by section, and never to be fast. All times and
lengths are integer microseconds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

SECOND_US = 1_000_000
SIX_HOURS_US = 6 * 3600 * SECOND_US

CHARGED_FIRST_TO_LAST = (
    "checkpoint_save",
    "evaluation",
    "data_wait",
    "pt2_compile",
    "checkpoint_load",
    "shutdown",
    "training",
    "trainer_init",
    "launcher_init",
    "hardware_setup",
    "scheduling",
)
START_UP = frozenset(
    {
        "scheduling",
        "hardware_setup",
        "launcher_init",
        "trainer_init",
        "pt2_compile",
        "checkpoint_load",
    }
)
FAILURES = frozenset({"failed", "timeout", "lost"})
INTERRUPTIONS = FAILURES | {"preempted"}
STRONGEST_OUTCOME_FIRST = ("preempted", "timeout", "failed", "cancelled", "completed")
SAYS_WHO_STOPPED_IT = {"preempted", "timeout", "cancelled"}
CATEGORY_WHERE_NONE_IS_SAID = {
    "preempted": "scheduler/preempted",
    "timeout": "scheduler/time_limit",
    "lost": "unknown/no_end_recorded",
    "failed": "unknown/unclassified",
}
OF_THE_SCHEDULER = {"scheduler/preempted", "scheduler/time_limit", "scheduler/node_fail"}
GAPS_NEEDED_FOR_A_HANG = 10
SHORTEST_HANG_US = 60 * SECOND_US
TIME_TO_STOP_US = 30 * SECOND_US  # torchrun kills workers that are there after it

Value = TypeVar("Value", int, str)
AreaKey = tuple[str, bool]
DayAreaKey = tuple[date, str, bool]


# What comes out


@dataclass(frozen=True, slots=True)
class SaveMeasures:
    """One checkpoint save; `status` is good, failed or cut_off (failed where it is both)."""

    step: int | None
    captured_us: int
    ended_us: int
    status: str


@dataclass(frozen=True, slots=True)
class AttemptMeasures:
    """One attempt. `lost_gpu_us`: what its end cost, whichever attempt the time lies in."""

    job_id: str
    attempt: int
    team: str
    workload: str | None
    gpus: int | None
    allocation_id: str | None
    is_instrumented: bool
    started_us: int
    allocated_us: int
    first_batch_us: int | None
    ended_us: int
    outcome: str
    failure_category: str | None
    wall_us: int
    queue_us: int
    tts_us: int | None
    ttr_us: int | None
    ttr_without_queue_us: int | None
    checkpoint_saves: int | None
    areas: dict[AreaKey, int]
    areas_by_day: dict[DayAreaKey, int]
    lost_gpu_us: int | None
    saves: tuple[SaveMeasures, ...]


@dataclass(frozen=True, slots=True)
class TeamDayMeasures:
    """One team (`fleet`: all of them) on one day, workload `all`.

    `_gpu_us`: null where no attempt with time on the day is of known GPUs.
    """

    team: str
    day: date
    attempts_ended: int
    preempted: int
    failures: int
    interruptions: int
    completed: int
    wall_us: int
    gpu_us: int | None
    effective_us: int
    effective_gpu_us: int | None
    unsaved_us: int
    unsaved_gpu_us: int | None
    checkpoint_saves: int | None
    checkpoint_save_us: int
    queue_us: int
    tts_p50_us: int | None
    tts_p90_us: int | None
    ttr_p50_us: int | None
    ttr_p90_us: int | None
    checkpoint_save_p50_us: int | None
    checkpoint_save_p90_us: int | None
    checkpoint_save_p99_us: int | None
    preemption_ratio: float | None
    preempted_job_ratio: float | None


@dataclass(frozen=True, slots=True)
class Measures:
    """Everything the oracle knows, by the keys of the published views."""

    clock_us: int | None
    attempts: dict[tuple[str, int], AttemptMeasures]
    team_days: dict[tuple[str, date], TeamDayMeasures]


def measure(
    events: Iterable[Mapping[str, object]],
    *,
    stale_after_us: int = SIX_HOURS_US,
    as_of_us: int | None = None,
    timezone: str = "UTC",
) -> Measures:
    """All measures of the jobs in a native event dump, which is taken to be one source.

    `events` are the dump's lines as dicts, good lines only. The source's clock is its newest ts or
    end_ts, or `as_of_us` if that is later.
    """
    said = [read_event(raw) for raw in events]
    clock = clock_of(said, as_of_us)
    zone = ZoneInfo(timezone)
    attempts = {
        (measured.job_id, measured.attempt): measured
        for job_id, job in sorted(by_job(said).items())
        for measured in measure_job(job_id, job, clock, stale_after_us, zone)
    }
    return Measures(clock, attempts, team_days(attempts.values(), zone))


# Events


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the dump. `text` is all it says, equal for equal events."""

    text: str
    at: int
    end: int | None
    kind: str
    job_id: str | None
    attempt: int
    event_id: str | None
    rank: int | None
    allocation_id: str | None
    phase: str | None
    stage: str | None
    step: int | None
    mode: str | None
    ok: bool | None
    resumed_from_step: int | None
    outcome: str | None
    exit_code: int | None
    signal: int | None
    message: str | None
    category: str | None
    team: str | None
    workload: str | None
    gpus: int | None
    # beside what it says: who says it, and of which launch
    source: str = ""
    teller: str = ""
    launch: str | None = None
    cluster: str | None = None
    is_scheduler: bool = False
    suspended: int = 0

    @property
    def is_of_an_attempt(self) -> bool:
        return self.kind not in {"job", "change"}

    @property
    def is_queue(self) -> bool:
        return self.kind in {"phase_start", "phase_end"} and self.phase == "queue"

    @property
    def is_complete_span(self) -> bool:
        return self.kind == "phase_start" and self.end is not None

    @property
    def is_negative_span(self) -> bool:
        return self.kind == "phase_start" and self.end is not None and self.end < self.at

    @property
    def newest_time(self) -> int:
        return self.at if self.end is None else max(self.at, self.end)


def read_event(raw: Mapping[str, object]) -> Event:
    """A null field is an absent field; a time is the same time however it is written."""
    said: dict[str, Any] = {name: value for name, value in raw.items() if value is not None}
    said["ts"] = microseconds(said["ts"])
    if "end_ts" in said:
        said["end_ts"] = microseconds(said["end_ts"])
    text = json.dumps(said, sort_keys=True, default=str)
    kind = said["event"]
    return Event(
        text=text,
        at=said["ts"],
        end=said.get("end_ts") if kind == "phase_start" else None,
        kind=kind,
        job_id=said.get("job_id"),
        attempt=said.get("attempt", 1),
        event_id=said.get("event_id"),
        rank=said.get("rank"),
        allocation_id=said.get("allocation_id"),
        phase=said.get("phase"),
        stage=said.get("stage"),
        step=said.get("step"),
        mode=said.get("mode"),
        ok=said.get("ok"),
        resumed_from_step=said.get("resumed_from_step"),
        outcome=said.get("outcome"),
        exit_code=said.get("exit_code"),
        signal=said.get("signal"),
        message=said.get("message"),
        category=said.get("category"),
        team=said.get("team"),
        workload=said.get("workload"),
        gpus=said.get("gpus"),
    )


def microseconds(value: object) -> int:
    """Unix microseconds of an RFC 3339 string with offset, or of Unix seconds as a number."""
    if isinstance(value, str):
        since_epoch = datetime.fromisoformat(value) - datetime(1970, 1, 1, tzinfo=UTC)
        return since_epoch // timedelta(microseconds=1)
    exact = Decimal(str(value)) * SECOND_US
    return int(exact.to_integral_value(ROUND_HALF_EVEN))


def clock_of(events: Iterable[Event], as_of_us: int | None) -> int | None:
    """The source's clock: its newest event, or the later as-of."""
    times = [event.newest_time for event in events]
    return max([*times, *([] if as_of_us is None else [as_of_us])], default=None)


def by_job(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Each job's distinct events; a `change` is of no job."""
    jobs: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind != "change" and event.job_id is not None:
            jobs[event.job_id].append(event)
    return {job_id: distinct(job) for job_id, job in jobs.items()}


def distinct(events: Iterable[Event]) -> list[Event]:
    """R21: one event per event_id, the latest, but a complete span before its start; without an
    event_id equal events are one.
    """
    kept: dict[tuple[str, str], Event] = {}
    for event in sorted(events, key=lambda event: (event.end is not None, event.at, event.text)):
        identity = ("id", event.event_id) if event.event_id is not None else ("text", event.text)
        kept[identity] = event
    return list(kept.values())


def newest(events: Iterable[Event], field: Callable[[Event], Value | None]) -> Value | None:
    """The field's value on the newest event that has it; of several at one time the greatest."""
    said = [(event.at, value) for event in events if (value := field(event)) is not None]
    return max(said)[1] if said else None


# Attempts: when they began, when and how they ended


@dataclass(frozen=True, slots=True)
class Allotment:
    """What is known of an attempt beside its own events; of most nothing.

    `begin` and `end` are of the allocation it runs in: the first attempt begins with it, none
    outlives it. `gpus` are those that a scheduler gave. A `continued` one is a generation whose
    launch went on to the next. `clock` is how far those who spoke of it have got.
    """

    begin: int | None = None
    end: int | None = None
    allocation_id: str | None = None
    gpus: int | None = None
    is_continued: bool = False
    is_joined: bool = False
    clock: int | None = None


NOTHING = Allotment()


@dataclass(frozen=True, slots=True)
class Window:
    start: int
    end: int

    def holds(self, instant: int) -> bool:
        return self.start <= instant <= self.end


@dataclass(frozen=True, slots=True)
class Life:
    """An attempt from its start to its end. `events` are all it said, its queue included. `until`:
    where what was suspended of its allocation begins to be taken from it.
    """

    number: int
    events: tuple[Event, ...]
    allocation_id: str | None
    started: int
    ended: int
    outcome: str
    failure_category: str | None
    allotment: Allotment = field(default=NOTHING)
    until: int | None = None

    @property
    def is_interruption(self) -> bool:
        return self.outcome in INTERRUPTIONS

    @property
    def window(self) -> Window:
        end = self.ended if self.until is None else min(self.ended, self.until)
        return Window(self.started, max(self.started, end))


def lives_of(
    job: Sequence[Event],
    clock: int,
    stale_after_us: int,
    allotments: Mapping[int, Allotment] | None = None,
) -> list[Life]:
    """The job's attempts in the order of their numbers (R1-R5)."""
    lives: list[Life] = []
    numbers = attempt_numbers(job)
    allotted = allotments or {}
    for number, successor in pairwise([*numbers, None]):
        assert number is not None
        events = events_of(job, number)
        allotment = allotted.get(number, NOTHING)
        successor_start = (
            None
            if successor is None
            else natural_start(events_of(job, successor), allotted.get(successor, NOTHING))
        )
        stale_before = (clock if allotment.clock is None else allotment.clock) - stale_after_us
        lives.append(life_of(number, events, lives[-1:], successor_start, stale_before, allotment))
    return [life for held in holdings(lives) for life in less_suspended(held)]


def holdings(lives: Iterable[Life]) -> list[list[Life]]:
    """The attempts that follow one another in one allocation; one without is alone."""
    found: list[list[Life]] = []
    for life in lives:
        held = life.allocation_id
        if found and held is not None and found[-1][-1].allocation_id == held:
            found[-1].append(life)
        else:
            found.append([life])
    return found


def less_suspended(held: Sequence[Life]) -> list[Life]:
    """R5: what a row of an allocation says was suspended is taken from its end."""
    until = held[-1].ended - max(event.suspended for life in held for event in life.events)
    return [replace(life, until=until) for life in held]


def attempt_numbers(job: Iterable[Event]) -> list[int]:
    return sorted({event.attempt for event in job if event.is_of_an_attempt and not event.is_queue})


def events_of(job: Iterable[Event], number: int) -> tuple[Event, ...]:
    return tuple(event for event in job if event.is_of_an_attempt and event.attempt == number)


def life_of(
    number: int,
    events: tuple[Event, ...],
    before: Sequence[Life],
    successor_start: int | None,
    stale_before: int,
    allotment: Allotment = NOTHING,
) -> Life:
    end = winning_end(events, allotment)
    seen_last = last_sign_of_life(events)
    if end is not None:
        ended = end.at
    elif allotment.is_continued and successor_start is not None:
        ended = successor_start
    else:
        ended = seen_last
    limits = [limit for limit in (successor_start, allotment.end) if limit is not None]
    ended = min([ended, *limits])

    allocation_id = allotment.allocation_id or newest(events, lambda event: event.allocation_id)
    is_shared = any(
        allocation_id is not None and life.allocation_id == allocation_id for life in before
    )
    started = before[-1].ended if is_shared else natural_start(events, allotment)

    if end is not None:
        outcome = outcome_said_by(end)
    elif allotment.is_continued and any(event.kind == "failure" for event in events):
        outcome = "failed"
    elif successor_start is None and seen_last > stale_before:
        outcome = "running"
    else:
        outcome = "lost"
    return Life(
        number=number,
        events=events,
        allocation_id=allocation_id,
        started=started,
        ended=max(started, ended),
        outcome=outcome,
        failure_category=failure_category(events, end, outcome),
        allotment=allotment,
    )


def natural_start(events: Iterable[Event], allotment: Allotment = NOTHING) -> int:
    """R2: when the attempt began, its predecessor left aside."""
    spoken = [event for event in events if not event.is_queue]
    granted = [event.at for event in spoken if event.kind == "attempt_start"]
    if allotment.begin is not None:
        granted = [allotment.begin]
    placed = [
        event.at for event in spoken if event.kind == "phase_start" and event.phase == "scheduling"
    ]
    return min([*granted, *placed] or [event.at for event in spoken])


def last_sign_of_life(events: Iterable[Event]) -> int:
    return max(event.newest_time for event in events if not event.is_queue)


def winning_end(events: Sequence[Event], allotment: Allotment = NOTHING) -> Event | None:
    """R3: the scheduler's end, else the latest; at one time the strongest outcome, then a said
    category before none. A launch's SIGTERM yields to an end that says why, a step that Slurm
    cancelled and a process that had nothing to reach to a failure; all keep their time. What got
    a SIGTERM goes on to the last that is told in the time that it has to stop.
    """
    start = natural_start(events, allotment)
    candidates = [
        event
        for event in events
        if event.kind == "attempt_end"
        and (event.at >= start or (event.is_scheduler and allotment.is_joined))
    ]
    is_explained = any(outcome_said_by(event) in SAYS_WHO_STOPPED_IT for event in candidates)
    is_a_death_told = any(is_launch_that_died(event) for event in candidates)

    def yields(event: Event) -> bool:
        if is_launch_that_got_sigterm(event):
            return is_explained
        return (is_cancelled_step(event) or is_closed_without_aim(event)) and is_a_death_told

    end = max(
        candidates,
        key=lambda event: (
            event.is_scheduler,
            not yields(event),
            event.at,
            -STRONGEST_OUTCOME_FIRST.index(outcome_said_by(event)),
            event.category or "",
        ),
        default=None,
    )
    if end is None or end.is_scheduler:
        return end
    ended = max(event.at for event in candidates)
    if any(is_launch_that_got_sigterm(event) for event in candidates):
        told = [event.newest_time for event in events if not event.is_queue]
        ended = max(each for each in told if each <= ended + TIME_TO_STOP_US)
    return replace(end, at=ended)


def is_launch_that_got_sigterm(end: Event) -> bool:
    return end.launch is not None and end.signal == 15 and outcome_said_by(end) == "failed"


def is_launch_that_died(end: Event) -> bool:
    return end.launch is not None and end.signal != 15 and outcome_said_by(end) == "failed"


def is_cancelled_step(end: Event) -> bool:
    is_of_step = "*** STEP " in (end.message or "")
    return end.launch is not None and is_of_step and outcome_said_by(end) == "cancelled"


def is_closed_without_aim(end: Event) -> bool:
    is_unaimed = (end.message or "").startswith("no target was stated")
    return end.launch is not None and is_unaimed and outcome_said_by(end) == "completed"


def outcome_said_by(end: Event) -> str:
    if end.outcome is not None:
        return end.outcome
    return "completed" if end.exit_code == 0 else "failed"


def failure_category(events: Iterable[Event], end: Event | None, outcome: str) -> str | None:
    """R22; null for an end that is no interruption."""
    if outcome not in INTERRUPTIONS:
        return None
    if (
        end is not None
        and end.is_scheduler
        and (end.category or CATEGORY_WHERE_NONE_IS_SAID[outcome]) in OF_THE_SCHEDULER
    ):
        return end.category or CATEGORY_WHERE_NONE_IS_SAID[outcome]
    causes = [
        (event.at, event.category)
        for event in events
        if event.kind == "failure" and event.category is not None
    ]
    if causes:
        earliest = min(at for at, _ in causes)
        return max(category for at, category in causes if at == earliest)
    if end is not None and end.category is not None:
        return end.category
    return CATEGORY_WHERE_NONE_IS_SAID[outcome]


# Spans: when which phase was open


@dataclass(frozen=True, slots=True)
class Span:
    """One phase, open in one stage on one rank. `is_whole`: it ended by itself, in the window."""

    phase: str
    step: int | None
    start: int
    end: int
    is_whole: bool
    is_async: bool
    is_bad: bool


def spans_of(events: Sequence[Event], until: int) -> list[Span]:
    """R6: every span the attempt reports; one without an end lasts until `until` at the latest."""
    keyed: dict[object, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind in {"phase_start", "phase_end"} and not event.is_negative_span:
            keyed[span_key(event, events)].append(event)
    progress = [event.at for event in events if event.kind == "progress"]
    return [span for same_key in keyed.values() for span in paired(same_key, progress, until)]


def span_key(event: Event, events: Sequence[Event]) -> object:
    phase = (event.phase, event.stage, event.rank, event.teller)
    return (*phase, upload_step(event, events)) if event.phase == "checkpoint_upload" else phase


def upload_step(event: Event, events: Sequence[Event]) -> int | None:
    """An upload's end without a step is the end of the newest upload begun before it."""
    if event.kind == "phase_start" or event.step is not None:
        return event.step
    begun = [
        start
        for start in events
        if start.kind == "phase_start"
        and not start.is_complete_span
        and (start.phase, start.stage, start.rank, start.teller)
        == (event.phase, event.stage, event.rank, event.teller)
        and start.at <= event.at
    ]
    newest_at = max((start.at for start in begun), default=None)
    return greatest(start.step for start in begun if start.at == newest_at)


def paired(events: Sequence[Event], progress: Sequence[int], until: int) -> list[Span]:
    """The spans of one key, instant by instant."""
    complete = [event for event in events if event.is_complete_span]
    starts = [e for e in events if e.kind == "phase_start" and not e.is_complete_span]
    ends = [event for event in events if event.kind == "phase_end"]
    spans = [closed_span([event], [event], event.newest_time) for event in complete]

    def unended(opened: Sequence[Event]) -> Span:
        return unended_span(opened, [*starts, *complete], progress, until)

    opened: list[Event] = []  # the starts of the span that is open; none: nothing is open
    for instant in sorted({event.at for event in events}):
        starting = [event for event in starts if event.at == instant]
        ending = [event for event in ends if event.at == instant]
        completing = [event for event in complete if event.at == instant]
        ends_left = len(ending)
        if opened and ends_left:
            spans.append(closed_span(opened, ending, instant))
            opened, ends_left = [], ends_left - 1
        elif opened and (starting or completing):
            spans.append(unended(opened))
            opened = []
        if starting and ends_left:
            spans.append(closed_span(starting, ending, instant))
        elif starting:
            opened = starting
    if opened:
        spans.append(unended(opened))
    return spans


def closed_span(opened: Sequence[Event], ending: Sequence[Event], end: int) -> Span:
    """A span that ended by itself. What several ends at one instant say, they say together."""
    return Span(
        phase=str(opened[0].phase),
        step=first_known(step_said_by(opened), step_said_by(ending)),
        start=opened[0].at,
        end=end,
        is_whole=True,
        is_async=any(event.mode == "async" for event in (*opened, *ending)),
        is_bad=any(event.ok is False for event in ending),
    )


def unended_span(
    opened: Sequence[Event], starts: Iterable[Event], progress: Iterable[int], until: int
) -> Span:
    """A span whose end was lost: it lasts until the first thing that shows it was over."""
    start, phase = opened[0].at, str(opened[0].phase)
    next_starts = [event.at for event in starts if event.at > start]
    next_progress = [at for at in progress if at > start and phase != "training"]
    return Span(
        phase=phase,
        step=step_said_by(opened),
        start=start,
        end=max(start, min([*next_starts, *next_progress, until])),
        is_whole=False,
        is_async=any(event.mode == "async" for event in opened),
        is_bad=False,
    )


def step_said_by(events: Iterable[Event]) -> int | None:
    return greatest(event.step for event in events)


def clipped(spans: Iterable[Span], window: Window) -> list[Span]:
    """What of the spans lies in the window; one that only touches it stays, with no length."""
    inside = [
        span
        if window.start <= span.start and span.end <= window.end
        else replace(
            span,
            start=max(span.start, window.start),
            end=min(span.end, window.end),
            is_whole=span.is_whole and span.end <= window.end,
        )
        for span in spans
    ]
    return [span for span in inside if span.start <= span.end]


# Areas: what each second is charged to


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of wall time of positive length, and what it is charged to."""

    start: int
    end: int
    area: str
    is_recovery: bool = False

    @property
    def us(self) -> int:
        return self.end - self.start


def charge(spans: Sequence[Span], window: Window) -> list[Slice]:
    """R7: the window, cut where phases open and close; a piece goes to its first open phase."""
    inside = [at for span in spans for at in (span.start, span.end) if window.holds(at)]
    return [
        Slice(start, end, first_open_phase(spans, start, end))
        for start, end in pairwise(sorted({window.start, window.end, *inside}))
    ]


def first_open_phase(spans: Iterable[Span], start: int, end: int) -> str:
    is_open = {span.phase for span in spans if span.start <= start and span.end >= end}
    return next((phase for phase in CHARGED_FIRST_TO_LAST if phase in is_open), "unaccounted")


def cut(slices: Iterable[Slice], instants: Collection[int]) -> list[Slice]:
    """The same slices, cut so that none reaches across one of the instants."""
    pieces = []
    for whole in slices:
        inside = [at for at in instants if whole.start < at < whole.end]
        if not inside:
            pieces.append(whole)
            continue
        for start, end in pairwise(sorted({whole.start, whole.end, *inside})):
            pieces.append(replace(whole, start=start, end=end))
    return pieces


def without_hangs(slices: Sequence[Slice], sighted: Sequence[int]) -> list[Slice]:
    """R8: training during which no step was seen for far too long is `hang`, not training."""
    if not slices or len(sighted) - 1 < GAPS_NEEDED_FOR_A_HANG:
        return list(slices)
    gaps = list(pairwise(sighted))
    usual = percentile([trained_between(slices, *gap) for gap in gaps], 50)
    assert usual is not None
    limit = max(10 * usual, SHORTEST_HANG_US)
    to_first, from_last = (slices[0].start, sighted[0]), (sighted[-1], slices[-1].end)
    hangs = [gap for gap in (to_first, *gaps, from_last) if trained_between(slices, *gap) > limit]
    return [
        replace(piece, area="hang")
        if piece.area == "training"
        and any(start <= piece.start and piece.end <= end for start, end in hangs)
        else piece
        for piece in cut(slices, [at for hang in hangs for at in hang])
    ]


def trained_between(slices: Iterable[Slice], start: int, end: int) -> int:
    return sum(
        max(0, min(piece.end, end) - max(piece.start, start))
        for piece in slices
        if piece.area == "training"
    )


def sightings(life: Life) -> list[int]:
    """When a step beyond every earlier one was seen first."""
    reported = sorted(
        (event.at, event.step)
        for event in life.events
        if event.kind == "progress" and event.step is not None and life.window.holds(event.at)
    )
    return [
        at
        for index, (at, step) in enumerate(reported)
        if all(step > earlier for _, earlier in reported[:index])
    ]


# Saves and uploads


@dataclass(frozen=True, slots=True)
class Write:
    """One checkpoint save, or one upload: a maximal interval in which any rank has it open."""

    step: int | None
    start: int
    end: int
    is_failed: bool
    is_cut_off: bool
    is_async: bool

    @property
    def is_good(self) -> bool:
        return not self.is_failed and not self.is_cut_off


def writes(spans: Iterable[Span], phase: str) -> list[Write]:
    """R10: spans of one step that overlap or touch are one write."""
    of_step: dict[int | None, list[Span]] = defaultdict(list)
    for span in spans:
        if span.phase == phase:
            of_step[span.step].append(span)
    found = [write_of(group) for same_step in of_step.values() for group in touching(same_step)]
    return sorted(found, key=lambda write: (write.start, write.end, null_last(write.step)))


def with_steps_of_others(spans: Sequence[Span]) -> list[Span]:
    """Where sources join: a save without a step is the earliest one with a step that it meets."""
    saves = [span for span in spans if span.phase == "checkpoint_save"]
    told = []
    for span in saves:
        met = [
            (other.start, other.step)
            for other in saves
            if other.step is not None and other.start <= span.end and span.start <= other.end
        ]
        told.append(replace(span, step=min(met)[1]) if span.step is None and met else span)
    return told


def touching(spans: Iterable[Span]) -> list[list[Span]]:
    groups: list[list[Span]] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if groups and span.start <= max(member.end for member in groups[-1]):
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def write_of(spans: Sequence[Span]) -> Write:
    return Write(
        step=spans[0].step,
        start=min(span.start for span in spans),
        end=max(span.end for span in spans),
        is_failed=any(span.is_bad for span in spans),
        is_cut_off=not all(span.is_whole for span in spans),
        is_async=any(span.is_async for span in spans),
    )


def durable_at(save: Write, uploads: Sequence[Write], job_uploads: bool) -> int | None:
    """R11: when the checkpoint was safe; null: never. `uploads` are those of the save's attempt."""
    if not save.is_good:
        return None
    if not save.is_async or not job_uploads:
        return save.end
    same_step = [write for write in uploads if save.step is not None and write.step == save.step]
    later = [write for write in same_step or uploads if write.start >= save.start]
    return later[0].end if later and later[0].is_good else None


# One attempt's course, before it is known what was lost


@dataclass(frozen=True, slots=True)
class Course:
    """What an attempt did in its window; what of its training was lost is not yet known."""

    life: Life
    spans: tuple[Span, ...]
    slices: tuple[Slice, ...]
    saves: tuple[Write, ...]
    uploads: tuple[Write, ...]

    @property
    def trained(self) -> list[Slice]:
        return [piece for piece in self.slices if piece.area == "training"]

    @property
    def first_batch(self) -> int | None:
        """R9."""
        return self.trained[0].start if self.trained else None

    @property
    def interrupted_at(self) -> int:
        return self.trained[-1].end if self.trained else self.life.ended

    @property
    def resumed_from_step(self) -> int | None:
        """R12: the last value said before the first batch."""
        first_batch = self.first_batch
        before = [e for e in self.life.events if first_batch is None or e.at <= first_batch]
        return newest(before, lambda event: event.resumed_from_step)


def course_of(life: Life) -> Course:
    spans = clipped(spans_of(life.events, life.ended), life.window)
    saving = with_steps_of_others(spans) if life.allotment.is_joined else spans
    return Course(
        life=life,
        spans=tuple(spans),
        slices=tuple(without_hangs(charge(spans, life.window), sightings(life))),
        saves=tuple(writes(saving, "checkpoint_save")),
        uploads=tuple(writes(spans, "checkpoint_upload")),
    )


# Unsaved training


@dataclass(frozen=True, slots=True)
class Restore:
    """Where the job went back to after attempt `number`."""

    number: int
    point: int


def restores_of(courses: Sequence[Course], job_uploads: bool) -> list[Restore]:
    """R13, for each attempt that lost something; none where the job never trained."""
    restores = []
    shown: list[int] = []
    for index, course in enumerate(courses):
        resumed = next_resume(courses[index + 1 :])
        is_loss = course.life.is_interruption or (
            course.life.outcome == "cancelled" and resumed is not None
        )
        if not is_loss:
            continue
        so_far = courses[: index + 1]
        if resumed is None:
            point = greatest([newest_durable_capture(so_far, job_uploads), *shown])
        else:
            by = resumer(courses[index + 1 :])
            point = first_known(capture_of(resumed, so_far, by), progress_of(resumed, so_far))
            shown += [] if point is None else [point]
        point = first_known(point, first_batch_of(courses))
        if point is not None:
            restores.append(Restore(course.life.number, point))
    return restores


def next_resume(later: Sequence[Course]) -> int | None:
    """What the next attempt restored, without those that died before they came to it."""
    course = resumer(later)
    return None if course is None else course.resumed_from_step


def resumer(later: Sequence[Course]) -> Course | None:
    for course in later:
        progressed = any(event.kind == "progress" for event in course.life.events)
        worked = course.first_batch is not None or course.saves or progressed
        if worked or course.resumed_from_step is not None:
            return course
    return None


def newest_durable_capture(so_far: Sequence[Course], job_uploads: bool) -> int | None:
    ended = so_far[-1].life.ended
    return greatest(
        save.start
        for course in so_far
        for save in course.saves
        if (safe := durable_at(save, course.uploads, job_uploads)) is not None and safe <= ended
    )


def capture_of(step: int, so_far: Sequence[Course], by: Course | None) -> int | None:
    """The newest save with that step or less, whatever became of it: it was restored."""
    ended = so_far[-1].life.ended
    told = [save.start for course in so_far for save in course.saves if is_at_most(save, step)]
    late = [
        event.at
        for course in so_far
        for event in course.life.events
        if event.kind == "phase_start"
        and event.phase == "checkpoint_save"
        and is_at_most(event, step)
        and event.at > course.life.window.end
        and (event.end is None or event.end >= event.at)
    ]
    return greatest(
        [
            *(at for at in told if at <= ended),
            *(at for at in late if by is not None and at <= by.life.started),
        ]
    )


def is_at_most(told: Write | Event, step: int) -> bool:
    return told.step is not None and told.step <= step


def progress_of(step: int, so_far: Iterable[Course]) -> int | None:
    return greatest(
        event.at
        for course in so_far
        for event in course.life.events
        if event.kind == "progress"
        and event.step is not None
        and event.step <= step
        and course.life.window.holds(event.at)
    )


def first_batch_of(courses: Iterable[Course]) -> int | None:
    return min((c.first_batch for c in courses if c.first_batch is not None), default=None)


def with_losses(course: Course, restores: Sequence[Restore]) -> list[Slice]:
    """The attempt's slices, its training split into effective and unsaved."""
    points = losses_that_reach(course, restores)
    cutoff = min((restore.point for restore in points), default=None)
    return [
        replace(piece, area=effective_or_unsaved(piece, cutoff))
        if piece.area == "training"
        else piece
        for piece in cut(course.slices, [] if cutoff is None else [cutoff])
    ]


def losses_that_reach(course: Course, restores: Iterable[Restore]) -> list[Restore]:
    if course.life.outcome == "completed":
        return []
    return [restore for restore in restores if restore.number >= course.life.number]


def effective_or_unsaved(piece: Slice, cutoff: int | None) -> str:
    return "unsaved" if cutoff is not None and piece.start >= cutoff else "effective"


def unsaved_by_cause(course: Course, restores: Sequence[Restore]) -> dict[int, int]:
    """This attempt's lost training, by the attempt whose end was the first to lose it."""
    reach = losses_that_reach(course, restores)
    lost: dict[int, int] = defaultdict(int)
    for piece in cut(course.trained, [restore.point for restore in reach]):
        causes = [restore.number for restore in reach if restore.point <= piece.start]
        if causes:
            lost[min(causes)] += piece.us
    return dict(lost)


def with_recovery(slices: Iterable[Slice], course: Course, before: Life | None) -> list[Slice]:
    """R14: start-up after an interruption is recovery until the first batch."""
    if before is None or not before.is_interruption:
        return list(slices)
    first_batch = course.first_batch
    return [
        replace(piece, is_recovery=True)
        if piece.area in START_UP and (first_batch is None or piece.end <= first_batch)
        else piece
        for piece in cut(slices, [] if first_batch is None else [first_batch])
    ]


# Latencies


def queue_us(life: Life, before: Life | None) -> int:
    """R15: the gap since an interruption, else the attempt's queue phases up to its start."""
    if before is not None and before.is_interruption:
        return max(0, life.started - before.ended)
    queues = [s for s in spans_of(life.events, until=life.started) if s.phase == "queue"]
    not_before = min((span.start for span in queues), default=life.started)
    window = Window(not_before if before is None else before.ended, life.started)
    return sum(queue[-1] - queue[0] for queue in unions(clipped(queues, window)))


def unions(spans: Iterable[Span]) -> list[tuple[int, int]]:
    return [
        (min(span.start for span in group), max(span.end for span in group))
        for group in touching(spans)
    ]


def allocated_at(course: Course) -> int:
    """R16."""
    granted = [event.at for event in course.life.events if event.kind == "attempt_start"]
    if course.life.allotment.begin is not None:
        return course.life.allotment.begin
    if granted:
        return min(granted)
    placed = [span.end for span in course.spans if span.phase == "scheduling"]
    return max(placed, default=course.life.started)


def tts_us(course: Course) -> int | None:
    if course.life.number != 1 or course.first_batch is None:
        return None
    is_told = (
        course.life.allotment.begin is not None
        or any(event.kind == "attempt_start" for event in course.life.events)
        or any(span.phase == "scheduling" for span in course.spans)
    )
    if not is_told and course.first_batch == course.life.started:
        return None
    return null_if_negative(course.first_batch - allocated_at(course))


@dataclass(frozen=True, slots=True)
class Recovery:
    ttr_us: int | None
    ttr_without_queue_us: int | None


def recoveries_of(courses: Sequence[Course]) -> dict[int, Recovery]:
    """R16: the recoveries of a job, on the attempts that train again."""
    recoveries: dict[int, Recovery] = {}
    open_since: int | None = None
    queued = 0
    for index, course in enumerate(courses):
        before = courses[index - 1].life if index else None
        queued += queue_us(course.life, before)
        if open_since is not None and course.first_batch is not None:
            ttr = course.first_batch - open_since
            recoveries[course.life.number] = Recovery(
                null_if_negative(ttr), null_if_negative(ttr - queued)
            )
            open_since = None
        if course.life.is_interruption and open_since is None:
            open_since, queued = course.interrupted_at, 0
        elif course.life.outcome in {"completed", "cancelled"}:
            open_since = None
    return recoveries


# One job


def measure_job(
    job_id: str, job: Sequence[Event], clock: int | None, stale_after_us: int, zone: ZoneInfo
) -> list[AttemptMeasures]:
    assert clock is not None
    measured = measure_lives(job_id, job, lives_of(job, clock, stale_after_us), zone)
    # the native format can say all
    return [uninstrumented(one) for one in measured] if was_buffered(job) else measured


def uninstrumented(measured: AttemptMeasures) -> AttemptMeasures:
    """R18: nobody can say what it did."""
    by_day: dict[Any, int] = defaultdict(int)
    for (day, _, _), us in measured.areas_by_day.items():
        by_day[day, "uninstrumented", False] += us
    return replace(
        measured,
        is_instrumented=False,
        first_batch_us=None,
        tts_us=None,
        ttr_us=None,
        ttr_without_queue_us=None,
        checkpoint_saves=None,
        areas={("uninstrumented", False): measured.wall_us} if measured.wall_us else {},
        areas_by_day=dict(by_day),
        lost_gpu_us=None,
        saves=(),
    )


def was_buffered(job: Iterable[Event]) -> bool:
    """R18: whether what it printed waited in a buffer, so that nobody knows when it happened."""
    return any(event.kind == "alive" and event.stage == "buffered" for event in job)


def measure_lives(
    job_id: str, job: Sequence[Event], lives: Iterable[Life], zone: ZoneInfo
) -> list[AttemptMeasures]:
    courses = [course_of(life) for life in lives]
    job_uploads = any(event.phase == "checkpoint_upload" for event in job)
    restores = restores_of(courses, job_uploads)
    recoveries = recoveries_of(courses)
    lost = lost_gpu_us(courses, restores, job)
    team = shown_team(newest(job, lambda event: event.team))
    measured = []
    for index, course in enumerate(courses):
        life = course.life
        before = courses[index - 1].life if index else None
        slices = with_recovery(with_losses(course, restores), course, before)
        recovery = recoveries.get(life.number, Recovery(None, None))
        measured.append(
            AttemptMeasures(
                job_id=job_id,
                attempt=life.number,
                team=team,
                workload=newest(job, lambda event: event.workload),
                gpus=gpus_of(life, job),
                allocation_id=life.allocation_id,
                is_instrumented=True,
                started_us=life.started,
                allocated_us=allocated_at(course),
                first_batch_us=course.first_batch,
                ended_us=life.ended,
                outcome=life.outcome,
                failure_category=life.failure_category,
                wall_us=life.window.end - life.window.start,
                queue_us=queue_us(life, before),
                tts_us=tts_us(course),
                ttr_us=recovery.ttr_us,
                ttr_without_queue_us=recovery.ttr_without_queue_us,
                checkpoint_saves=sum(save.is_good for save in course.saves),
                areas=summed_by_area(slices),
                areas_by_day=summed_by_day(slices, zone),
                lost_gpu_us=lost[life.number],
                saves=tuple(save_measures(save) for save in course.saves),
            )
        )
    return measured


def lost_gpu_us(
    courses: Sequence[Course], restores: Sequence[Restore], job: Sequence[Event]
) -> dict[int, int | None]:
    """What each attempt's end cost: the training it lost, and the start-up after it. Time of
    unknown GPUs makes it unknown; so do its own, though it cost no time.
    """
    told: list[tuple[int, int, int | None]] = []
    for course in courses:
        gpus = gpus_of(course.life, job)
        told += [(cause, us, gpus) for cause, us in unsaved_by_cause(course, restores).items()]
    for before, course in pairwise(courses):
        recovering = with_recovery(course.slices, course, before.life)
        us = sum(piece.us for piece in recovering if piece.is_recovery)
        told.append((before.life.number, us, gpus_of(course.life, job)))
    lost: dict[int, int | None] = {
        course.life.number: None if gpus_of(course.life, job) is None else 0 for course in courses
    }
    for number, us, gpus in told:
        so_far = lost[number]
        if us > 0:
            lost[number] = None if so_far is None or gpus is None else so_far + us * gpus
    return lost


def gpus_of(life: Life, job: Iterable[Event]) -> int | None:
    """R17: what the attempt says of itself, else what the job says."""
    if life.allotment.gpus is not None:
        return life.allotment.gpus
    given = [event for event in life.events if event.is_scheduler]
    own = newest(given, lambda event: event.gpus)
    if own is None:
        own = newest(life.events, lambda event: event.gpus)
    return own if own is not None else newest(job, lambda event: event.gpus)


def shown_team(team: str | None) -> str:
    if not team:
        return "(none)"
    return f"{team} (team)" if team.replace(" (team)", "") in {"fleet", "other"} else team


def save_measures(save: Write) -> SaveMeasures:
    status = "failed" if save.is_failed else "cut_off" if save.is_cut_off else "good"
    return SaveMeasures(save.step, save.start, save.end, status)


def summed_by_area(slices: Iterable[Slice]) -> dict[AreaKey, int]:
    sums: dict[AreaKey, int] = defaultdict(int)
    for piece in slices:
        sums[piece.area, piece.is_recovery] += piece.us
    return dict(sums)


def summed_by_day(slices: Sequence[Slice], zone: ZoneInfo) -> dict[DayAreaKey, int]:
    if not slices:
        return {}
    sums: dict[DayAreaKey, int] = defaultdict(int)
    for piece in cut(slices, midnights_between(slices[0].start, slices[-1].end, zone)):
        sums[day_of(piece.start, zone), piece.area, piece.is_recovery] += piece.us
    return dict(sums)


# Days


def day_of(instant: int, zone: ZoneInfo) -> date:
    """The day an instant belongs to; midnight belongs to the day that starts."""
    since_epoch = timedelta(microseconds=instant)
    return (datetime(1970, 1, 1, tzinfo=UTC) + since_epoch).astimezone(zone).date()


def midnights_between(start: int, end: int, zone: ZoneInfo) -> list[int]:
    first, last = day_of(start, zone), day_of(end, zone)
    days = [first + timedelta(days=passed) for passed in range(1, (last - first).days + 1)]
    return [midnight(day, zone) for day in days]


def midnight(day: date, zone: ZoneInfo) -> int:
    starts = datetime.combine(day, time(), zone).astimezone(UTC)
    return (starts - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


# Teams and days


def team_days(
    attempts: Iterable[AttemptMeasures], zone: ZoneInfo
) -> dict[tuple[str, date], TeamDayMeasures]:
    """One row for each day of a team (or `fleet`) with anything of an attempt with GPUs."""
    on_day: dict[tuple[str, date], list[AttemptMeasures]] = defaultdict(list)
    for attempt in attempts:
        for day in days_touched(attempt, zone) if attempt.gpus != 0 else ():
            on_day[attempt.team, day].append(attempt)
            on_day["fleet", day].append(attempt)
    return {key: team_day(*key, touching, zone) for key, touching in sorted(on_day.items())}


def days_present(attempt: AttemptMeasures, zone: ZoneInfo) -> set[date]:
    """The days it spent time on, and its last: a midnight it spoke at last is none of a running."""
    is_running = attempt.outcome == "running" and attempt.ended_us > attempt.started_us
    last = attempt.ended_us - 1 if is_running else attempt.ended_us
    return {day for day, _, _ in attempt.areas_by_day} | {day_of(last, zone)}


def days_touched(attempt: AttemptMeasures, zone: ZoneInfo) -> set[date]:
    """Also those of its good saves: the last may be at that midnight."""
    saved = {day_of(save.ended_us, zone) for save in attempt.saves if save.status == "good"}
    return days_present(attempt, zone) | saved


def team_day(
    team: str, day: date, attempts: Sequence[AttemptMeasures], zone: ZoneInfo
) -> TeamDayMeasures:
    def falls_here(instant: int | None) -> bool:
        return instant is not None and day_of(instant, zone) == day

    present = [a for a in attempts if day in days_present(a, zone)]
    ended = [a for a in attempts if a.outcome != "running" and falls_here(a.ended_us)]
    preempted = [a for a in ended if a.outcome == "preempted"]
    tts = [a.tts_us for a in attempts if a.tts_us is not None and falls_here(a.first_batch_us)]
    ttr = [a.ttr_us for a in attempts if a.ttr_us is not None and falls_here(a.first_batch_us)]
    saves = [
        save.ended_us - save.captured_us
        for attempt in attempts
        for save in attempt.saves
        if save.status == "good" and falls_here(save.ended_us)
    ]
    return TeamDayMeasures(
        team=team,
        day=day,
        attempts_ended=len(ended),
        preempted=len(preempted),
        failures=sum(a.outcome in FAILURES for a in ended),
        interruptions=sum(a.outcome in INTERRUPTIONS for a in ended),
        completed=sum(a.outcome == "completed" for a in ended),
        wall_us=sum(us_on(a, day) for a in attempts),
        gpu_us=gpu_us_on(present, day),
        effective_us=sum(us_on(a, day, "effective") for a in attempts),
        effective_gpu_us=gpu_us_on(present, day, "effective"),
        unsaved_us=sum(us_on(a, day, "unsaved") for a in attempts),
        unsaved_gpu_us=gpu_us_on(present, day, "unsaved"),
        # none is known of where nobody could have told of one
        checkpoint_saves=len(saves) if any(a.is_instrumented for a in present) or saves else None,
        checkpoint_save_us=sum(us_on(a, day, "checkpoint_save") for a in attempts),
        queue_us=sum(a.queue_us for a in attempts if falls_here(a.started_us)),
        tts_p50_us=percentile(tts, 50),
        tts_p90_us=percentile(tts, 90),
        ttr_p50_us=percentile(ttr, 50),
        ttr_p90_us=percentile(ttr, 90),
        checkpoint_save_p50_us=percentile(saves, 50),
        checkpoint_save_p90_us=percentile(saves, 90),
        checkpoint_save_p99_us=percentile(saves, 99),
        preemption_ratio=ratio(len(preempted), len(ended)),
        preempted_job_ratio=ratio(len(jobs_of(preempted)), len(jobs_of(present))),
    )


def us_on(attempt: AttemptMeasures, day: date, area: str | None = None) -> int:
    """Microseconds of an attempt on a day, of one area or of all."""
    return sum(
        us
        for (on, charged_to, _), us in attempt.areas_by_day.items()
        if on == day and area in {None, charged_to}
    )


def gpu_us_on(
    attempts: Iterable[AttemptMeasures], day: date, area: str | None = None
) -> int | None:
    """GPU-microseconds on a day, of one area or of all, of the attempts whose GPUs are known."""
    known = [a for a in attempts if a.gpus is not None]
    return sum(us_on(a, day, area) * (a.gpus or 0) for a in known) if known else None


def jobs_of(attempts: Iterable[AttemptMeasures]) -> set[str]:
    return {attempt.job_id for attempt in attempts}


# Arithmetic


def percentile(values: Collection[int], percent: int) -> int | None:
    """Nearest rank: the ceil(percent/100 x n)-th smallest."""
    rank = -(-percent * len(values) // 100)
    return sorted(values)[rank - 1] if values else None


def ratio(numerator: int, denominator: int) -> float | None:
    return numerator / denominator if denominator else None


def greatest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def first_known(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def null_if_negative(us: int) -> int | None:
    return us if us >= 0 else None


def null_last(step: int | None) -> tuple[bool, int]:
    return (step is None, step or 0)
