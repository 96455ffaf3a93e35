"""Spans, their events and log records as events of an attempt. Knows no resource and no file.

The span of a phase is told whole, under the identity of its span: the start that a record told of
it before gives way to it (R21). So spans of one phase may lie in each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.collectors.json_values import LONGEST_MESSAGE, LONGEST_TEXT, MOST_WHOLE
from ingest.collectors.otlp_names import MODES, Kind, Meaning, event_kind, span_meaning
from ingest.collectors.otlp_resource import named, rank_in
from ingest.collectors.otlp_values import Attributes, Moment, Span, text, whole
from ingest.events import Event, EventKind, Outcome, Phase

_FATAL = 21
_LONGEST_SPAN = 64
_SAVES = (Phase.CHECKPOINT_SAVE, Phase.CHECKPOINT_UPLOAD)
_STEPS = ("ett_step", "step", "global_step", "iteration", "current_iteration")
_CACHES = ("hit", "miss")


def is_of_trainer(told: Span | Moment) -> bool:
    """Whether only a trainer would tell this."""
    if any(key.startswith("ett.") for key in told.attributes):
        return True
    meaning = span_meaning(told.name) if isinstance(told, Span) else None
    return meaning is not None and not meaning.is_plain


def unknown_phase(told: Span | Moment) -> str | None:
    """The phase that the attributes of a span, or of word of its start, name, if there is none so
    called.
    """
    if isinstance(told, Moment) and event_kind(told.name) is not Kind.START:
        return None
    phase = text(named(told.attributes).get("ett_phase"))
    return phase if phase is not None and span_meaning(phase) is None else None


def unknown_outcome(told: Span | Moment) -> str | None:
    """The outcome that the span of a launch names, if there is none so called."""
    if isinstance(told, Moment):
        return None
    attributes = named(told.attributes)
    meaning, outcome = _meaning(told.name, attributes), text(attributes.get("ett_outcome"))
    is_of_launch = meaning is not None and meaning.kind is Kind.ATTEMPT
    return outcome if is_of_launch and outcome not in (None, *Outcome) else None


def events_of_span(span: Span) -> Iterator[Event]:
    """What a span that is over tells, its own events before its end."""
    attributes = named(span.attributes)
    meaning = _meaning(span.name, attributes)
    if meaning is None:
        return
    for moment in span.events:
        for event in events_of_moment(moment):
            yield _ranked(event, attributes)
    if span.is_error and not any(event_kind(event.name) is Kind.EXCEPTION for event in span.events):
        message = span.status or f"{span.name} ended with an error"
        failure: Event = {"at_us": span.end_us, "event": EventKind.FAILURE}
        message = message[:LONGEST_MESSAGE]
        component = span.name[:LONGEST_TEXT]
        yield _ranked({**failure, "message": message, "component": component}, attributes)
    for event in _told(span, meaning, attributes):
        yield _ranked(event, attributes)


def events_of_moment(moment: Moment) -> Iterator[Event]:
    """What an event of a span, or a log record, tells."""
    attributes = named(moment.attributes)
    kind = event_kind(moment.name)
    at: Event = {"at_us": moment.at_us}
    if kind is Kind.START:
        meaning = _meaning(text(attributes.get("ett_span")) or "", attributes)
        if meaning is not None and meaning.phase is not None:
            start = _phase(EventKind.PHASE_START, moment.at_us, meaning, attributes)
            yield _ranked(_identified(start, moment.span_id, "start"), attributes)
        elif meaning is not None and meaning.kind is Kind.ATTEMPT:
            begun: Event = {**at, "event": EventKind.ATTEMPT_START}
            yield _identified(begun, moment.span_id, "start")
    elif kind is Kind.PROGRESS:
        yield from (_ranked(event, attributes) for event in _progress(moment.at_us, attributes))
    elif kind is Kind.ALIVE:
        yield {**at, "event": EventKind.ALIVE}
    elif "exception_type" in attributes or moment.severity >= _FATAL:
        failure: Event = {**at, "event": EventKind.FAILURE}
        yield _ranked({**failure, "message": _message(moment, attributes)}, attributes)


def _meaning(name: str, attributes: Attributes) -> Meaning | None:
    """What the attributes say it is, else its name."""
    told = text(attributes.get("ett_phase"))
    if told is not None:
        return span_meaning(told)
    return span_meaning(name)


def _told(span: Span, meaning: Meaning, attributes: Attributes) -> Iterator[Event]:
    if meaning.kind is Kind.STEP:
        if not span.is_error:  # such a step was not done
            yield from _progress(span.end_us, attributes)
    elif meaning.kind is Kind.ATTEMPT:
        yield from _attempt(span, attributes)
    else:
        complete = _phase(EventKind.PHASE_START, span.start_us, meaning, attributes)
        complete["end_us"] = span.end_us
        if meaning.phase in _SAVES:
            complete["ok"] = not span.is_error and not _is_no(attributes.get("ett_ok"))
        yield _identified(complete, span.span_id, "start")


def _attempt(span: Span, attributes: Attributes) -> Iterator[Event]:
    start: Event = {"at_us": span.start_us, "event": EventKind.ATTEMPT_START}
    yield _identified(start, span.span_id, "start")
    told = attributes.get("ett_exit_code", attributes.get("process_exit_code"))
    exit_code = whole(told, least=-MOST_WHOLE)  # of a process that a signal killed it is negative
    outcome = text(attributes.get("ett_outcome"))
    if outcome not in tuple(Outcome):
        outcome = Outcome.FAILED if span.is_error or exit_code else Outcome.COMPLETED
    end: Event = {"at_us": span.end_us, "event": EventKind.ATTEMPT_END, "outcome": outcome}
    if exit_code is not None:
        end["exit_code"] = exit_code
    if span.is_error and span.status:
        end["message"] = span.status[:LONGEST_MESSAGE]
    yield _identified(end, span.span_id, "end")


def _phase(kind: EventKind, at_us: int, meaning: Meaning, attributes: Attributes) -> Event:
    assert meaning.phase is not None
    event: Event = {"at_us": at_us, "event": kind, "phase": meaning.phase}
    stage = text(attributes.get("ett_stage")) or meaning.stage
    if stage is not None:
        event["stage"] = stage[:LONGEST_TEXT]
    if (step := _step(attributes)) is not None:
        event["step"] = step
    mode = text(attributes.get("ett_mode"))
    if mode := mode if mode in MODES else meaning.mode:
        event["mode"] = mode
    if (cache := text(attributes.get("ett_cache"))) in _CACHES:
        event["cache"] = str(cache)
    if (recompiles := whole(attributes.get("ett_recompiles"))) is not None:
        event["recompiles"] = recompiles
    resumed = whole(attributes.get("ett_resumed_from_step"))
    if resumed is not None:
        event["resumed_from_step"] = resumed
    return event


def _progress(at_us: int, attributes: Attributes) -> Iterator[Event]:
    step, samples = _step(attributes), whole(attributes.get("ett_samples"))
    progress: Event = {"at_us": at_us, "event": EventKind.PROGRESS}
    if step is not None:
        progress["step"] = step
    if samples is not None:
        progress["samples"] = samples
    if len(progress) > 2:
        yield progress


def _step(attributes: Attributes) -> int | None:
    told = (whole(attributes.get(key)) for key in (*_STEPS, "megatron_iteration"))
    return next((step for step in told if step is not None), None)


def _is_no(value: object) -> bool:
    """Whether it is false, also where it is told as text or number."""
    return value is False or (text(value) or "").lower() in ("false", "0")


def _message(moment: Moment, attributes: Attributes) -> str:
    kind, why = (text(attributes.get(key)) for key in ("exception_type", "exception_message"))
    first = f"{kind}: {why}" if kind and why else kind or why or moment.body or moment.name
    trace = text(attributes.get("exception_stacktrace"))
    return "\n".join(filter(None, (first, trace)))[:LONGEST_MESSAGE]


def _ranked(event: Event, attributes: Attributes) -> Event:
    rank = rank_in(attributes)
    return event if rank is None else {**event, "rank": rank}


def _identified(event: Event, span_id: str | None, end: str) -> Event:
    return event if span_id is None else {**event, "event_id": f"{span_id[:_LONGEST_SPAN]}/{end}"}
