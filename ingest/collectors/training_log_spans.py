"""The saves, loads and evaluations of one launch, from the lines that tell of their beginnings and
ends. Knows no steps.

No line tells the end of everything. Where the train loop went on, what it waited for was over: its
end is then the last that was told of it, so that its seconds may be too few, never too many.
"""

from __future__ import annotations

from dataclasses import dataclass

from ingest.collectors.lines import Label
from ingest.collectors.units import SECOND_US
from ingest.events import Event, EventKind, Phase

_CLOCKS_TELL_US = SECOND_US  # many logs tell whole seconds
_SAME_US = 10 * SECOND_US  # what is told of a save that is done still belongs to it
_RANKS_APART_US = 60 * SECOND_US  # what is silent for longer does something else
_LONGEST_PART_US = 600 * SECOND_US  # of a save: the other ranks' NCCL waits no longer for it
_MOST_WRITTEN = 64  # saves at a time
_MOST_OPEN = 10_000  # ranks


@dataclass(slots=True)
class _Span:
    """`step` is that of a save or a load, or the last before an evaluation."""

    start_us: int
    told_us: int
    step: int | None
    label: Label
    mode: str | None = None
    ok: bool = True
    is_done: bool = False
    is_confirmed: bool = False
    is_of_parts: bool = False  # its begin was not told


@dataclass(frozen=True, slots=True)
class _Written:
    """An async save from when training went on."""

    from_us: int
    label: Label
    is_confirmed: bool


class Spans:
    """What is open now, by phase and rank, and which async saves are still being written.
    `latest_us` is the latest end; `are_open`: something has not ended. `writer` is the node
    or rank whose log it is.
    """

    def __init__(self, writer: int | None) -> None:
        self.latest_us = 0
        self.are_open = False
        self._writer = writer
        self._open: dict[tuple[Phase, int | None], _Span] = {}
        self._being_written: dict[int | None, _Written] = {}  # by step
        self._written: int | None = None  # the step of the last that was
        self._closed: dict[tuple[Phase, int | None], tuple[int, int]] = {}  # from and until when
        # step, writer and time of the last save of which the end alone was told
        self._told_alone: tuple[int | None, int | None, int] | None = None

    def begin(
        self,
        phase: Phase,
        label: Label,
        at_us: int,
        step: int | None,
        *,
        is_part: bool = False,
        is_confirmed: bool = False,
    ) -> list[Event]:
        """It begins, or goes on. `is_confirmed`: another line tells when it is over. `is_part`: it
        may have begun before: an evaluation goes on where nothing else was told since the last.
        """
        span = self._open.get((phase, self._voice(label)))
        goes_on = is_part and phase is Phase.EVALUATION
        if span is not None and (goes_on or _is_same(span, at_us, step)):
            span.told_us = max(span.told_us, at_us)
            span.step = span.step if step is None else step
            span.is_done = span.is_done and step is None and not goes_on
            return []
        if len(self._open) >= _MOST_OPEN:
            return []
        events = self.went_on(label, at_us)
        span = _Span(at_us, at_us, step, label, is_confirmed=is_confirmed, is_of_parts=is_part)
        self._open[phase, self._voice(label)] = span
        self.are_open = True
        return [*events, self._event(EventKind.PHASE_START, phase, at_us, label, step)]

    def end(
        self,
        phase: Phase,
        label: Label,
        at_us: int | None,
        step: int | None,
        length_us: int | None,
        mode: str | None = None,
        *,
        ok: bool = True,
        is_confirmed: bool = False,
        is_past: bool = False,
    ) -> list[Event]:
        """It is over. `at_us` is None where the line tells no time; `length_us` is how long it
        took, if the line tells it. `is_confirmed`: another line tells when it is written.
        `is_past`: it was over before this line, as its length says.
        """
        events: list[Event] = []
        span = self._open.get((phase, self._voice(label)))
        if self._is_written(span, phase, step, mode) and at_us is not None and length_us is None:
            return self.written(label, at_us, step, None)
        if span is not None and _counts_one_less(span, step, mode):
            step = max(step or 0, span.step or 0)
            span.step = step
        is_other = step is not None and span is not None and span.step not in (step, None)
        if span is None or is_other or (at_us and not _is_same(span, at_us, step)):
            start_us = at_us if at_us is None or length_us is None else at_us - length_us
            # the end alone says that a save is there, of other phases it says nothing
            if start_us is None or (length_us is None and phase is not Phase.CHECKPOINT_SAVE):
                return []
            if length_us is None and self._is_told_again(label, start_us, step) and ok:
                return []
            if length_us is not None and self._was_told(phase, label, start_us, length_us):
                return []
            events = self.begin(phase, label, start_us, step)
            span = self._open.get((phase, self._voice(label)))
            if span is None:
                return events
        span.step = span.step if step is None else step
        span.mode, span.ok, span.is_done = mode or span.mode, ok and span.ok, True
        span.is_confirmed = span.is_confirmed or is_confirmed
        span.told_us = max(span.told_us, _end_us(span, at_us, length_us, is_past))
        self.latest_us = max(self.latest_us, span.told_us)
        return events

    def written(
        self, label: Label, at_us: int, step: int | None, length_us: int | None
    ) -> list[Event]:
        """The background part of an async save is over: from when training went on, unless it tells
        that it took less.
        """
        key = (Phase.CHECKPOINT_SAVE, self._voice(label))
        save = self._open.get(key)
        is_over = save is not None and save.is_done and save.step in (step, None)
        events = [self._close(key)] if is_over else []
        if step is None:
            step = next(reversed(self._being_written), None)
        begun = self._being_written.pop(step, None)
        if begun is None and step is not None:
            is_told_again, self._written = step == self._written, step
            if is_told_again:
                return events
            # of a log that was rotated meanwhile, the piece before tells when it began
            return [*events, self._upload(EventKind.PHASE_END, at_us, label, step)]
        self._written = step
        start_us = at_us if begun is None else begun.from_us
        if length_us is not None:
            start_us = max(at_us - length_us, 0 if begun is None else start_us)
        written = self._upload(EventKind.PHASE_START, min(start_us, at_us), label, step)
        return [*events, {**written, "end_us": at_us}]

    def evaluated_before_save(self, label: Label, length_us: int, since_us: int) -> list[Event]:
        """An evaluation of which a rank tells how long it took, and not when, once another has told
        that it saves: ranks that write into one log do not wait for one another. It was before the
        save, and since the last that was told before that.
        """
        begun_us = min(
            (
                span.start_us
                for key, span in self._open.items()
                if key[0] is Phase.CHECKPOINT_SAVE and span.start_us > since_us
            ),
            default=0,
        )
        start_us = begun_us - length_us
        if start_us < max(since_us - _CLOCKS_TELL_US, self.latest_us):
            return []
        self.latest_us = begun_us
        start_us = max(start_us, since_us)
        told = ((EventKind.PHASE_START, start_us), (EventKind.PHASE_END, begun_us))
        return [self._event(kind, Phase.EVALUATION, at_us, label, None) for kind, at_us in told]

    def went_on(self, label: Label, at_us: int, step: int | None = None) -> list[Event]:
        """A rank does something else, or did a step: what it did before is over. Ranks tell their
        lines one after another, so others may still tell.
        """
        if not self._open:
            return []
        over = [
            key
            for key, span in self._open.items()
            if (key[1] in (self._voice(label), None) or at_us - span.told_us > _RANKS_APART_US)
            and not ((key[0] is Phase.EVALUATION or span.is_confirmed) and _is_before(step, span))
        ]
        return [self._close(key) for key in over]

    def forgotten(self, at_us: int, *, is_part: bool = False) -> list[Event]:
        """Of a launch whose steps no line tells: saves that nothing was told of for a minute,
        while the log went on, are over. A part of one whose begin was told is told when it is
        written.
        """
        return [
            self._close(key)
            for key, span in list(self._open.items())
            if key[0] is Phase.CHECKPOINT_SAVE
            and at_us - span.told_us
            > (_LONGEST_PART_US if is_part and not span.is_of_parts else _RANKS_APART_US)
        ]

    def outlived(self, label: Label, step: int) -> list[Event]:
        """A rank has done a later step than what it saved: the save is over."""
        return [
            self._close(key)
            for key, span in list(self._open.items())
            if key[0] is Phase.CHECKPOINT_SAVE
            and key[1] in (self._voice(label), None)
            and span.step is not None
            and span.step < step
        ]

    def has_open(self, phase: Phase) -> bool:
        """Whether one of that phase goes on, or nothing else was told since it was done."""
        return any(key[0] is phase for key in self._open)

    def has_told(self, phase: Phase, label: Label, since_us: int) -> bool:
        """Whether one of that phase is over that ended since then."""
        return self._closed.get((phase, self._voice(label)), (0, 0))[1] > since_us

    @property
    def unfinished_us(self) -> int | None:
        """The last that was told of what goes on."""
        return max((span.told_us for span in self._open.values() if not span.is_done), default=None)

    def close(self, *, is_complete: bool) -> list[Event]:
        """The launch is over: what was not done by then stays without an end, unless all that it
        had to do is done, and so does what was still being written, where a line would have told
        that it is written.
        """
        done = [
            self._close(key)
            for key, span in list(self._open.items())
            if span.is_done or is_complete
        ]
        unwritten = [
            self._upload(EventKind.PHASE_START, save.from_us, save.label, step)
            for step, save in self._being_written.items()
            if save.is_confirmed
        ]
        return done + unwritten

    def _is_told_again(self, label: Label, at_us: int, step: int | None) -> bool:
        """Whether the end of a save is one that another rank has told as well, moments before."""
        voice = self._voice(label)
        before, self._told_alone = self._told_alone, (step, voice, at_us)
        if before is None or before[0] != step or before[1] == voice:
            return False
        return at_us - before[2] <= (_SAME_US if step is None else _RANKS_APART_US)

    def _was_told(self, phase: Phase, label: Label, start_us: int, length_us: int) -> bool:
        """Whether it is nearly all of what was over before: of ranks whose lines have no label each
        tells how long it took.
        """
        since_us, until_us = self._closed.get((phase, self._voice(label)), (0, 0))
        both_us = min(start_us + length_us, until_us) - max(start_us, since_us)
        return self._voice(label) is None and 2 * both_us > length_us

    def _is_written(
        self, span: _Span | None, phase: Phase, step: int | None, mode: str | None
    ) -> bool:
        """Whether a save that is told to be saved went on in the background before."""
        if phase is not Phase.CHECKPOINT_SAVE or mode is not None:
            return False
        if span is None:
            return step in self._being_written
        return span.is_done and span.mode == "async" and step in (None, span.step)

    def _close(self, key: tuple[Phase, int | None]) -> Event:
        span = self._open.pop(key)
        self.are_open = bool(self._open)
        phase = key[0]
        self._closed[key] = span.start_us, span.told_us
        event = self._event(EventKind.PHASE_END, phase, span.told_us, span.label, span.step)
        if phase is Phase.CHECKPOINT_SAVE:
            event["ok"] = span.ok
            if span.mode:
                event["mode"] = span.mode
            # what one of several hosts tells late of a save that is written is of that save
            if span.mode == "async" and (span.step is None or span.step != self._written):
                self._being_written[span.step] = _Written(
                    span.told_us, span.label, span.is_confirmed
                )
                if len(self._being_written) > _MOST_WRITTEN:
                    del self._being_written[next(iter(self._being_written))]
        return event

    def _upload(self, kind: EventKind, at_us: int, label: Label, step: int | None) -> Event:
        return self._event(kind, Phase.CHECKPOINT_UPLOAD, at_us, label, step)

    def _voice(self, label: Label) -> int | None:
        """Whose events these are. Labels may count the ranks of a node: where each node has a log
        of its own it is one voice, and in one log nodes whose lines tell the same rank, or none.
        """
        if self._writer is not None:
            return self._writer
        return label.local_rank if label.rank is None else label.rank

    def _event(
        self, kind: EventKind, phase: Phase, at_us: int, label: Label, step: int | None
    ) -> Event:
        event: Event = {"at_us": at_us, "event": kind, "phase": phase}
        rank = self._voice(label)
        if rank is not None:
            event["rank"] = rank
        if label.host is not None:
            event["host"] = label.host
        if step is not None and phase is not Phase.EVALUATION:
            event["step"] = step
        return event


def _is_before(step: int | None, span: _Span) -> bool:
    """Whether a step is one after which something began that goes on, and was told late."""
    return not (span.is_done or step is None or span.step is None) and step <= span.step


def _counts_one_less(span: _Span, step: int | None, mode: str | None) -> bool:
    """Whether the end of a save, or that it is written in the background, is told with the step
    before or after the one that was told of it, as NeMo does once it went on from a checkpoint.
    """
    if step is None or span.step is None or abs(step - span.step) != 1:
        return False
    is_staged = span.is_done and span.mode is None and mode == "async"
    return not span.is_of_parts and (is_staged or not span.is_done)


def _is_same(span: _Span, at_us: int, step: int | None) -> bool:
    if step is None:
        return not span.is_done or at_us - span.told_us <= _SAME_US
    return span.step in (step, None)


def _end_us(span: _Span, at_us: int | None, length_us: int | None, is_past: bool) -> int:
    """A length is told more exactly than the two times whose difference it is."""
    if length_us is None:
        return span.told_us if at_us is None else at_us
    end_us = span.start_us + length_us
    if at_us is None or (is_past and end_us < at_us):
        return end_us
    return end_us if abs(at_us - end_us) <= _CLOCKS_TELL_US else at_us
