"""One launch of a trainer, as the lines of its log tell it, as events. Knows no job and no other
launch.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from ingest.collectors.lines import NOBODY, Label
from ingest.collectors.training_log_failures import Failures, last_word, says_more
from ingest.collectors.training_log_patterns import Means
from ingest.collectors.training_log_shapes import MINUTE_US, Step, length_us
from ingest.collectors.training_log_signs import Sign
from ingest.collectors.training_log_spans import Spans
from ingest.collectors.training_log_steps import Steps
from ingest.collectors.training_log_traces import Trace
from ingest.collectors.units import MILLISECOND_US, SECOND_US
from ingest.events import Event, EventKind, Outcome, Phase

# Hangs are gaps of more than a minute, and of ten times the median gap: what is left out of gaps
# below three seconds leaves the median below six.
_PROGRESS_EVERY_US = 3 * SECOND_US
_LONGEST_NUMBER = 18  # digits
_STEPS_TO_STOP = 5  # that a run may do which was told to stop
_PROGRESS = EventKind.PROGRESS


class Launch:
    """How far a launch has come.

    `begun_us` is when it began, None where the log does not tell; `is_met_training`: when it
    trained first, and what came before is not told. `seen_us` is the latest time that was told of
    it. `restores_unknown`: it loaded a checkpoint whose step no line tells. `writer` is the node or
    rank whose log it is. Steps are kept by rank: ranks tell theirs one after another.
    """

    def __init__(self, begun_us: int | None, writer: int | None = None) -> None:
        self.begun_us = begun_us
        self.is_met_training = False
        self.seen_us = begun_us or 0
        self.steps: dict[Label, int] = {}
        self.has_failed = False
        self.failed_us: int | None = None
        self.is_trained = False
        self.stepped_us = 0
        self.training_us: int | None = None
        self._entered: Event | None = None  # that a line told that its train loop begins
        self._ready_us = begun_us  # training begins no earlier
        self._top = 0
        self._told_us = 0  # of the last progress
        self._untold: tuple[int, int, int | None] | None = None  # the progress since
        self.restores_unknown = False
        self._restored: int | None = None
        self._first_step: int | None = None
        self._spans = Spans(writer)
        self._failures = Failures()
        self._has_moved_on = False  # its bar, since it failed
        self._end: Sign | None = None
        self._ended_at = 0  # the last step before it was told to end
        self._goal: Sign | None = None
        self._hears: dict[Means, Callable[[Sign], list[Event]]] = {
            Means.LAUNCH: self._launched,
            Means.FRESH: self._fresh,
            Means.LOADING: self._loading,
            Means.LOADED: self._loaded,
            Means.TRAINING: self._training,
            Means.TRAINED: self._trained,
            Means.STEP: self._stepped,
            Means.SAVING: self._saving,
            Means.SAVED: self._saved,
            Means.PERSISTED: self._persisted,
            Means.EVALUATING: self._evaluating,
            Means.EVALUATED: self._evaluated,
            Means.FAILURE: self._failed,
            Means.END: self._ended,
        }

    @property
    def is_done(self) -> bool:
        """Whether it said that it has reached its goal, and has not gone on since."""
        return self.is_trained and self._goal is not None

    @property
    def was_stopped(self) -> bool:
        """Whether it was told to end before its goal, and has hardly gone on since."""
        end = self._end
        is_early = end is not None and end.outcome not in (None, Outcome.COMPLETED)
        return is_early and self._top - self._ended_at <= _STEPS_TO_STOP

    @property
    def has_reached_a_step(self) -> bool:
        """Whether a step of its own was told, or a save of one."""
        return self._top > 0

    @property
    def is_loading(self) -> bool:
        """Whether it loads a checkpoint, or did last of all that is told."""
        return self._spans.has_open(Phase.CHECKPOINT_LOAD)

    def hear(self, sign: Sign) -> list[Event]:
        """What a sign of this launch says has happened."""
        if sign.at_us is not None:
            self.seen_us = max(self.seen_us, sign.at_us)
        return self._told(self._hears[sign.means](sign))

    def step(self, step: Step) -> list[Event]:
        """A step is done. Of the steps within three seconds the last is told when it matters."""
        at_us, label, number, samples, *_ = step
        if at_us > self.seen_us:
            self.seen_us = at_us
        # of ranks whose lines have no label the second tells it again: what was begun since goes on
        is_told_again = label == NOBODY and self.steps.get(label, 0) >= number
        self.stepped_us = at_us
        self.steps[label] = number
        goes_on = self.is_trained and number > self._top  # else a rank tells it late
        if self.training_us is None or goes_on or self._restored is not None:
            return [*self._told(self._trains(step)), *self._reached(at_us, number, samples)]
        if self._spans.are_open and not is_told_again:
            over = self._told(self._spans.went_on(label, at_us, number))
            return [*over, *self._reached(at_us, number, samples)]
        return self._reached(at_us, number, samples)

    def goes_on(self, label: Label, number: int) -> bool:
        """Whether a writer's step, and those that come next, are no more than progress."""
        is_quiet = not (self._spans.are_open or self.is_trained or self._restored is not None)
        is_next = label in self.steps and number > max(self._top, self.steps[label])
        return is_next and is_quiet and self.training_us is not None

    def progress(self, steps: Steps, run: slice) -> pl.DataFrame:
        """As `step` for steps that rise, the first of which `goes_on`."""
        at_us, numbers, samples = steps.at_us[run], steps.step[run], steps.samples[run]
        told = []
        for place, us in enumerate(at_us.tolist()):
            if us - self._told_us >= _PROGRESS_EVERY_US:
                self._told_us = us
                told.append(place)
        last = int(at_us[-1]), int(numbers[-1]), int(samples[-1])
        is_told = bool(told) and told[-1] == len(at_us) - 1
        self._untold = None if is_told else (*last[:2], last[2] if last[2] >= 0 else None)
        self.seen_us, self.stepped_us = max(self.seen_us, last[0]), last[0]
        self.steps[steps.label] = self._top = last[1]
        frame = pl.DataFrame(
            {"at_us": at_us[told], "step": numbers[told], "samples": samples[told]}
        )
        counted = pl.when(pl.col("samples") >= 0).then("samples").alias("samples")
        return frame.select("at_us", pl.lit(str(_PROGRESS)).alias("event"), "step", counted)

    def resume(self, step: int) -> list[Event]:
        """Its steps show which one it restored, unless that is none."""
        self.restores_unknown = False
        if step < 1 or self.training_us is None:
            return []
        return [{"at_us": self.training_us, "event": EventKind.ALIVE, "resumed_from_step": step}]

    def trace(self, trace: Trace) -> list[Event]:
        """A rank raised."""
        return self._told(self._failure(trace.at_us, trace.line_number, trace.message, trace.label))

    def close(self, last_us: int | None) -> list[Event]:
        """The launch is over, or its log ends; `last_us` is the last time that the log tells."""
        over = [] if self.steps else self._spans.forgotten(last_us or self.seen_us)
        end = self._goal or self._end
        is_complete = end is not None and end.outcome is Outcome.COMPLETED
        left_us = self._spans.unfinished_us if is_complete else None
        events = [*over, *self._spans.close(is_complete=is_complete), *self._died()]
        if left_us is not None and self.training_us is not None and not self.is_trained:
            # after what it did last it may have trained or not
            events.append(_phase(EventKind.PHASE_END, Phase.TRAINING, left_us))
        if self._restored is not None and self.seen_us:
            events += self._resumed(self._restored, self.training_us or self.seen_us)
        self.seen_us = max(self.seen_us, self._spans.latest_us, last_us or 0)
        if self.seen_us:
            # a run that reached its goal is complete even if its processes were then killed
            events.append(last_word(end, self.seen_us))
        return self._told(events)

    def _died(self) -> list[Event]:
        """Who failed, and neither told a step nor did anything else since, trains no more: what is
        told behind that is of who starts it anew.
        """
        failed_us = None if self._has_moved_on else self.failed_us
        latest_us = max(self.stepped_us, self.training_us or 0, self._spans.latest_us)
        is_training = bool(self.steps) and not self.is_trained
        if failed_us is None or failed_us < latest_us or not is_training or self._spans.are_open:
            return []
        return [_phase(EventKind.PHASE_END, Phase.TRAINING, failed_us)]

    def _launched(self, sign: Sign) -> list[Event]:
        self._ready_us = sign.at_us or self._ready_us
        return []

    def _fresh(self, sign: Sign) -> list[Event]:
        self._first_step, self._restored = 1, None
        self._ready_us = sign.at_us or self._ready_us
        return []

    def _loading(self, sign: Sign) -> list[Event]:
        self._restore(sign)
        self._ready_us = sign.at_us or self._ready_us
        if sign.at_us is None:
            return []
        self._trains_no_earlier(sign.at_us)
        return self._spans.begin(Phase.CHECKPOINT_LOAD, sign.label, sign.at_us, _number(sign))

    def _loaded(self, sign: Sign) -> list[Event]:
        self._restore(sign)
        self._ready_us = sign.at_us or self._ready_us
        if sign.at_us is not None and self.is_loading:
            self._trains_no_earlier(sign.at_us)
        return self._spans.end(
            Phase.CHECKPOINT_LOAD, sign.label, sign.at_us, _number(sign), told_length_us(sign)
        )

    def _trains_no_earlier(self, at_us: int) -> None:
        """What is restored before anything was trained is restored before the first batch, though a
        line has told before that training begins.
        """
        if self._entered is not None and not self.steps and not self._top and not self.is_trained:
            self._entered["at_us"] = self.training_us = max(self._entered["at_us"], at_us)

    def _training(self, sign: Sign) -> list[Event]:
        first_step = _number(sign, "first_step")
        if first_step is not None:
            self._first_step, self.restores_unknown = first_step, False
            self._restored = first_step - 1 if first_step > 1 else None
        if sign.at_us is None or (self.training_us is not None and not self.is_trained):
            return self._other_rank(sign)
        begun_us = max(sign.at_us - (told_length_us(sign) or 0), self._ready_us or 0)
        self.training_us, self.is_trained = min(begun_us, sign.at_us), False
        self._entered = _phase(EventKind.PHASE_START, Phase.TRAINING, self.training_us)
        return [*self._spans.went_on(sign.label, sign.at_us), self._entered]

    def _stepped(self, sign: Sign) -> list[Event]:
        """A step is done, and it is not told when: what was saved before it is written, and it has
        trained for as long as a bar says that its loop has taken, unless other steps tell when.
        """
        step = _number(sign)
        self._has_moved_on = True
        if step is None:
            return []
        if not self.steps and self.training_us is not None and not self.is_trained:
            self.seen_us = max(self.seen_us, self.training_us + (told_length_us(sign) or 0))
        return self._spans.outlived(sign.label, step)

    def _trained(self, sign: Sign) -> list[Event]:
        if sign.outcome is not None and not self.was_stopped:
            self._goal = sign
        at_us = sign.at_us or sign.before_us
        if at_us is None or self.training_us is None or self.is_trained:
            return self._other_rank(sign)
        self.is_trained = True
        at_us = max(at_us, self.training_us)
        self.seen_us = max(self.seen_us, at_us)
        return [
            *self._spans.went_on(sign.label, at_us),
            _phase(EventKind.PHASE_END, Phase.TRAINING, at_us),
        ]

    def _other_rank(self, sign: Sign) -> list[Event]:
        """Another rank begins or ends its train loop, or the same its next part: it has done what
        it did before.
        """
        if sign.at_us is None or (sign.label == NOBODY and not sign.pattern.is_part):
            return []
        return self._spans.went_on(sign.label, sign.at_us)

    def _saving(self, sign: Sign) -> list[Event]:
        at_us = self._time_of(sign)
        if at_us is None:
            return []
        if sign.at_us is not None:
            at_us -= told_length_us(sign) or 0
        step, is_part = _number(sign), sign.pattern.is_part
        is_confirmed = sign.means is Means.SAVING and sign.pattern.is_confirmed
        if is_part and is_confirmed and not self._spans.has_open(Phase.CHECKPOINT_SAVE):
            return []
        return [
            *(() if self.steps else self._spans.forgotten(at_us, is_part=is_part)),
            *self._spans.begin(
                Phase.CHECKPOINT_SAVE,
                sign.label,
                at_us,
                step,
                is_part=is_part,
                is_confirmed=is_confirmed,
            ),
            *self._proven(at_us, step),
        ]

    def _saved(self, sign: Sign) -> list[Event]:
        step, length_us = _number(sign), told_length_us(sign)
        # Megatron-LM's last node prints how long it took, the first one all else of it
        is_length_alone = sign.at_us is None and length_us is not None and not self._spans.are_open
        return [
            *(self._saving(sign) if is_length_alone else ()),
            *self._spans.end(
                Phase.CHECKPOINT_SAVE,
                sign.label,
                sign.at_us,
                step,
                length_us,
                sign.pattern.mode,
                ok=sign.pattern.ok,
                is_confirmed=sign.pattern.is_confirmed,
                is_past=sign.pattern.is_beside,
            ),
            *(self._proven(sign.at_us, step) if sign.at_us is not None else ()),
        ]

    def _persisted(self, sign: Sign) -> list[Event]:
        if sign.at_us is None:
            return []
        return self._spans.written(sign.label, sign.at_us, _number(sign), told_length_us(sign))

    def _evaluating(self, sign: Sign) -> list[Event]:
        at_us, step = self._time_of(sign), _number(sign)
        if at_us is None:
            return []
        # what tells how long it took up to now began before, once what came before it was done
        since_us = max(at_us - (told_length_us(sign) or 0), self.stepped_us, self._spans.latest_us)
        return [
            event
            for told_us in sorted({min(since_us, at_us), at_us})
            for event in self._spans.begin(
                Phase.EVALUATION, sign.label, told_us, step, is_part=sign.pattern.is_part
            )
        ]

    def _evaluated(self, sign: Sign) -> list[Event]:
        length_us, is_past = told_length_us(sign), sign.pattern.is_beside
        if is_past and self._spans.has_told(Phase.EVALUATION, sign.label, self.stepped_us):
            return []
        # Megatron-LM's first rank prints how long it took, the last one that it begins
        is_length_alone = sign.at_us is None and length_us is not None
        if is_length_alone and self.stepped_us and not self.is_trained:
            told_late = self._spans.evaluated_before_save(
                sign.label, length_us or 0, self.stepped_us
            )
            if told_late:
                return told_late
        is_begun = is_length_alone or sign.pattern.is_part
        return [
            *(self._evaluating(sign) if is_begun else self._evaluating_since(sign, length_us)),
            *self._spans.end(
                Phase.EVALUATION, sign.label, sign.at_us, None, length_us, is_past=is_past
            ),
        ]

    def _evaluating_since(self, sign: Sign, length_us: int | None) -> list[Event]:
        """What was evaluated behind a step began once that was done, and what was told since, if no
        line tells how long it took, and the step was the last that was told.
        """
        is_told = length_us is not None or self._spans.has_open(Phase.EVALUATION)
        if is_told or sign.at_us is None or not self._top or _number(sign) != self._top:
            return []
        since_us = min(max(self.stepped_us, self._spans.latest_us), sign.at_us)
        return self._spans.begin(Phase.EVALUATION, sign.label, since_us, None)

    def _failed(self, sign: Sign) -> list[Event]:
        at_us = sign.at_us or sign.before_us
        return self._failure(at_us, sign.line_number, sign.text, sign.label)

    def _ended(self, sign: Sign) -> list[Event]:
        if sign.outcome is not Outcome.COMPLETED:
            self.has_failed, self.failed_us = True, sign.at_us or self.failed_us
            self._has_moved_on = False
        if says_more(sign, self._end):
            self._end, self._ended_at = sign, self._top
        return []

    def _restore(self, sign: Sign) -> None:
        step = _number(sign)
        # what is loaded once it is trained is its best model
        if not self.steps and not self.is_trained:
            self.restores_unknown |= step is None
            self._restored = self._restored if step is None else step

    def _resumed(self, step: int, at_us: int) -> list[Event]:
        """The step that was restored, unless training began below it: then it was only a model."""
        restored, self._restored = self._restored, None
        if restored is None or restored > step:
            return []
        return [{"at_us": at_us, "event": EventKind.ALIVE, "resumed_from_step": restored}]

    def _trains(self, step: Step) -> list[Event]:
        events = self._spans.went_on(step.label, step.at_us, step.step)
        if self.training_us is None or self.is_trained:
            return [*events, *self._open_training(step)]
        return [*events, *self._resumed(step.step, self.training_us)]

    def _open_training(self, step: Step) -> list[Event]:
        """A step line tells of the past: training began as many steps earlier as it has done, if
        both are told, but not before anything that comes before training.
        """
        first = self._first_step if self._restored is None else self._restored + 1
        done = step.step - first + 1 if first is not None and first <= step.step else 1
        start_us = step.at_us - (step.each_us() or 0) * done
        if self._ready_us is not None:
            start_us = max(start_us, self._ready_us)
        self.training_us, self.is_trained = min(start_us, step.at_us), False
        self._goal = None
        return [
            _phase(EventKind.PHASE_START, Phase.TRAINING, self.training_us),
            *self._resumed(step.step, self.training_us),
        ]

    def _proven(self, at_us: int, step: int | None) -> list[Event]:
        """What is saved was reached."""
        if self.training_us is None or step is None:
            return []
        return [*self._resumed(step, self.training_us), *self._reached(at_us, step, None)]

    def _reached(self, at_us: int, step: int, samples: int | None) -> list[Event]:
        if step <= self._top:
            return []
        self._top = step
        if at_us - self._told_us < _PROGRESS_EVERY_US:
            self._untold = (at_us, step, samples)
            return []
        self._told_us, self._untold = at_us, None
        return [_progress(at_us, step, samples)]

    def _told(self, events: list[Event]) -> list[Event]:
        if self._untold is None or not events:
            return events
        untold, self._untold = self._untold, None
        self._told_us = untold[0]
        return [_progress(*untold), *events]

    def _time_of(self, sign: Sign) -> int | None:
        """A save or an evaluation whose line tells no time begins where its step was told, if
        nothing was told since.
        """
        step = _number(sign)
        if sign.at_us is not None or not self.stepped_us or self.stepped_us != self.seen_us:
            return sign.at_us
        after_us = max(self.stepped_us, self._spans.latest_us)
        return after_us if step in (None, self._top) else None

    def _failure(
        self, at_us: int | None, line_number: int, message: str, label: Label
    ) -> list[Event]:
        failure = self._failures.told(at_us, line_number, message, label)
        if failure is None:
            return []
        self.has_failed, self.failed_us = True, failure["at_us"]
        self._has_moved_on = False
        self.seen_us = max(self.seen_us, failure["at_us"])
        return [failure]


def _progress(at_us: int, step: int, samples: int | None) -> Event:
    if samples is None:
        return {"at_us": at_us, "event": _PROGRESS, "step": step}
    return {"at_us": at_us, "event": _PROGRESS, "step": step, "samples": samples}


def _phase(kind: EventKind, phase: Phase, at_us: int) -> Event:
    return {"at_us": at_us, "event": kind, "phase": phase}


def _number(sign: Sign, group: str = "step") -> int | None:
    told = sign.told.get(group, "").replace(",", "")
    return int(told) if told.isdecimal() and len(told) <= _LONGEST_NUMBER else None


def told_length_us(sign: Sign) -> int | None:
    if "ms" in sign.told:
        return length_us(sign.told["ms"], MILLISECOND_US)
    parts = [
        length_us(sign.told[name], unit_us)
        for name, unit_us in (("hours", 60 * MINUTE_US), ("minutes", MINUTE_US))
        if name in sign.told
    ]
    seconds = length_us(sign.told.get("seconds"), SECOND_US)
    if seconds is None:
        return None
    times = _number(sign, "times")
    return (seconds + sum(part or 0 for part in parts)) * (1 if times is None else times)
