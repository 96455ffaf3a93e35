"""goodput entries as events of the launches of one job. Numbers no attempts.

All rests on the starts of steps: the first opens training, a step that comes again was lost. What
an entry says of an earlier launch than the newest is left to its time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.collectors.goodput_entries import Entry, Operation, What
from ingest.collectors.goodput_pace import MOST_MISSED, Pace, Stretch
from ingest.events import Event, EventKind, Outcome, Phase

_STEPS_HELD = 10  # so many must be known before any of them is judged
_FEWEST_STEPS = 3  # of a launch that came no further
_END_ID = "goodput job_end"  # a job ends once: of several dumps the latest word on it counts
_START_UP = {
    What.DEVICE_INIT: "device_init",
    What.REINIT: "elastic_reinit",  # it has the others inside
    What.PREPARATION: "pre_train",
    What.DATA_LOADING: "get_first_batch_data",
}
# a part of a custom event's name -> its phase; the library's own example is evaluation
_CUSTOM = (
    ("compil", Phase.PT2_COMPILE),
    ("restor", Phase.CHECKPOINT_LOAD),
    ("checkpoint", Phase.CHECKPOINT_SAVE),
    ("data", Phase.DATA_WAIT),
)


@dataclass(slots=True)
class Run:
    """One launch, or the part of one since it went back to an earlier step.

    `begun_us` is None where its start is not in the dump; `is_set_up` where its start-up is, or the
    end of that. `stride` is the least by which the number of a step went on. `first` and `held` are
    its first steps, until they are judged. `inside` and `open` (depth and start by name) are what
    the job did beside its newest step, `renewed` its start-up and restores since then: of this run
    if it goes on, of the next if it goes back. `loaded` is data that was loaded before all else the
    dump tells of it: beside a step before the dump, if its first step does not say otherwise.
    `is_warned` is set from a notice of preemption on, until a step follows.
    """

    of_run: Event
    begun_us: int | None
    is_set_up: bool = False
    step: int | None = None
    at_us: int = 0
    stride: int | None = None
    pace: Pace = field(default_factory=Pace)
    first: Stretch | None = None
    held: list[Stretch] = field(default_factory=list)
    is_judged: bool = False
    inside: list[tuple[int, int]] = field(default_factory=list)
    open: dict[str, tuple[int, int]] = field(default_factory=dict)
    renewed: list[Entry | Operation] = field(default_factory=list)
    loaded: list[Entry | Operation] = field(default_factory=list)
    restored: int | None = None
    is_warned: bool = False
    end: Entry | None = None

    @property
    def is_begun(self) -> bool:
        """Whether its first step in the dump is the first that it made."""
        return self.begun_us is not None or self.is_set_up or "run_generation" in self.of_run


@dataclass(frozen=True, slots=True)
class _Left:
    """The last launch that made steps: the newest one, and when that was over if it ended."""

    of_run: Event
    step: int
    over_us: int


@dataclass(slots=True)
class Job:
    """Reads the entries of one job, oldest first. `repeats` counts steps that were told again at
    once, without a start-up or a restore: mostly by another host.
    """

    job_id: str
    run: Run = field(init=False)
    repeats: int = 0
    _left: _Left | None = None

    def __post_init__(self) -> None:
        self.run = Run({"job_id": self.job_id}, None)

    def take(self, entry: Entry | Operation) -> Iterator[Event]:
        """The events that an entry makes certain; some are of steps before it."""
        if isinstance(entry, Operation) and entry.is_save:
            # what it blocks is no part of the step beside which it is told
            self.run.inside.append((entry.at_us, entry.until_us))
            yield from _operation(entry, self.run)
        elif isinstance(entry, Operation) or entry.what in _START_UP:
            yield from self._start_up(entry)
        elif entry.what == What.JOB and entry.is_start:
            yield from self._begin(entry)
        elif entry.what == What.JOB:
            yield from self._end(entry)
        elif entry.what == What.STEP:
            yield from self._step(entry)
        else:
            yield from _custom(entry, self.run)

    def finish(self) -> Iterator[Event]:
        """What is certain at the end of the dump: the newest launch ended if it says so."""
        yield from self._tell_loaded()
        yield from self._tell_renewed()
        yield from self._judge_what_is_held()
        if self.run.end is not None:
            yield from self._judge_last(self.run.end.at_us)
            yield _last_word(self.run.end, self.run.of_run)
            yield _ended(self.run.end, self.run)

    def _start_up(self, entry: Entry | Operation) -> Iterator[Event]:
        """Behind a step, the next one tells whose start-up it is."""
        run = self.run
        is_data = isinstance(entry, Entry) and entry.what == What.DATA_LOADING
        if run.step is None and is_data and not run.is_begun:
            run.loaded.append(entry)
        elif run.step is None:
            yield from self._tell_loaded()
            yield from _prepared(entry, run)
        elif run.renewed or isinstance(entry, Operation) or entry.what != What.DATA_LOADING:
            # beside a step data is loaded in the background, also beside one before this dump
            run.renewed.append(entry)

    def _tell_loaded(self) -> Iterator[Event]:
        """It was loaded in a start-up, or there is no step that tells."""
        for entry in self.run.loaded:
            yield from _prepared(entry, self.run)
        self.run.loaded.clear()

    def _tell_renewed(self) -> Iterator[Event]:
        """The run goes on, or says no more."""
        for entry in self.run.renewed:
            yield from _prepared(entry, self.run)
        self.run.renewed.clear()

    def _begin(self, entry: Entry) -> Iterator[Event]:
        yield from self._tell_renewed()
        begin: Event = {"at_us": entry.at_us, "event": EventKind.ATTEMPT_START}
        of_run: Event = {"job_id": self.job_id, "run_key": str(entry.at_us)}
        yield {**begin, **of_run}
        yield _goes_on(entry.at_us, of_run)
        if self.run.begun_us is None or entry.at_us > self.run.begun_us:
            yield from self._leave(entry.at_us)
            if self.run.step is not None and "run_key" not in self.run.of_run:
                # without a name it may be taken for a part of this launch, in which its training
                # is over at once; that of the launch which another dump begins is not
                over = _phase(entry.at_us, True, Phase.TRAINING)
                yield {**over, "end_us": entry.at_us, **of_run}
            self.run = Run(of_run, entry.at_us)

    def _end(self, entry: Entry) -> Iterator[Event]:
        if self.run.begun_us is not None and entry.at_us < self.run.begun_us:
            yield _last_word(entry, {"job_id": self.job_id})
        else:
            self.run.end = entry

    def _step(self, entry: Entry) -> Iterator[Event]:
        run = self.run
        is_late = entry.at_us < (run.begun_us or 0) or (
            run.step is not None and entry.at_us <= run.at_us
        )
        if not is_late and run.step is not None and entry.step <= run.step:
            self.repeats += entry.step == run.step and not run.renewed
            yield from self._go_back(entry)
            run = self.run
        elif not is_late:
            yield from self._tell_renewed()
        progress: Event = {"at_us": entry.at_us, "event": EventKind.PROGRESS, "step": entry.step}
        yield {**progress, **_of(run, entry.at_us)}
        if is_late:
            return
        if run.step is None:
            yield from self._begin_training(entry)
        else:
            went_on = entry.step - run.step
            run.stride = min(went_on, run.stride or went_on)
            steps = went_on // run.stride
            # what is behind a longer gap in the log nobody knows
            stretch = self._stretch(entry.at_us, steps if steps <= MOST_MISSED else 1)
            yield from self._measure(stretch)
        if run.end is not None and run.end.at_us < entry.at_us:
            run.end = None  # it goes on, so that was no end
            yield _goes_on(entry.at_us, run.of_run)
        run.step, run.at_us, run.is_warned = entry.step, entry.at_us, False
        run.inside.clear()
        run.open.clear()

    def _go_back(self, entry: Entry) -> Iterator[Event]:
        """A step comes again: what was prepared since the newest one is another generation's. The
        launch lives on, so that the generation must say by itself that it is over.
        """
        run = self.run
        generation = run.of_run.get("run_generation", 0)
        renewed_us = min([entry.at_us, *(one.at_us for one in run.renewed)])
        yield from self._leave(renewed_us)
        over = _phase(self._over(self._stretch(renewed_us)), False, Phase.TRAINING)
        yield {**over, **run.of_run, "run_generation": generation}
        if run.begun_us is not None:
            # what the launch told before there was a second generation belongs to the first
            begin: Event = {"at_us": run.begun_us, "event": EventKind.ALIVE}
            yield {**begin, **run.of_run, "run_generation": 0}
        self.run = Run({**run.of_run, "run_generation": generation + 1}, run.begun_us)
        for one in run.renewed:
            yield from _prepared(one, self.run)

    def _begin_training(self, entry: Entry) -> Iterator[Event]:
        run, left = self.run, self._left
        if left is not None and entry.step > left.step:
            # to go on behind the newest step of the launch before, that step must have been saved
            over: Event = {"at_us": left.over_us, "event": EventKind.PROGRESS}
            yield {**over, "step": left.step + 1, **left.of_run}
            yield {**_phase(left.over_us, False, Phase.TRAINING), **left.of_run}
        if run.loaded and entry.step == 0:
            # nothing comes before that step but a start-up
            run.is_set_up = True
            yield from self._tell_loaded()
        run.loaded.clear()
        if run.begun_us is None or "run_generation" in run.of_run:
            yield _goes_on(entry.at_us, run.of_run)
        training = _phase(entry.at_us, True, Phase.TRAINING)
        if run.is_begun:
            # a checkpoint is named for its last step, or for the step that comes after it
            is_named = run.restored == entry.step - 1
            training["resumed_from_step"] = entry.step - 1 if is_named else entry.step
        yield {**training, **run.of_run}

    def _stretch(self, until_us: int, steps: int = 1) -> Stretch:
        """The newest step, up to now; what was not said to be over is over now."""
        run = self.run
        begun = [start_us for _, start_us in run.open.values()]
        inside = sorted([*run.inside, *((start_us, until_us) for start_us in begun)])
        return Stretch(run.at_us, until_us, tuple(inside), steps)

    def _measure(self, stretch: Stretch) -> Iterator[Event]:
        """Judge a step by the pace of those before it; the first ones wait until there is one."""
        run = self.run
        if run.first is None and not run.is_judged:
            run.first = stretch
            return
        if run.is_judged:
            yield from self._judge(stretch)
        else:
            run.held.append(stretch)
        run.pace.add(stretch.own_us // stretch.steps)
        if len(run.held) == _STEPS_HELD:
            yield from self._judge_what_is_held()

    def _judge_what_is_held(self) -> Iterator[Event]:
        """The first step compiles the program, as the library itself reads its log. The first of a
        dump that begins in the middle of a launch is a step as others are.
        """
        run = self.run
        usual_us = run.pace.usual_us
        if usual_us is None or len(run.held) < _FEWEST_STEPS:
            return
        if run.first is not None and not run.is_begun:
            yield from self._judge(run.first)
        elif run.first is not None and run.first.is_too_long(usual_us, is_first=True):
            compiling = _phase(run.first.from_us, True, Phase.PT2_COMPILE)
            compiled_us = run.first.own_us - usual_us * run.first.steps
            compiling["end_us"] = run.first.after(compiled_us)
            yield {**compiling, **run.of_run}
        for stretch in run.held:
            yield from self._judge(stretch)
        run.first, run.is_judged = None, True
        run.held.clear()

    def _judge(self, stretch: Stretch) -> Iterator[Event]:
        """Training stops where a step ought to be over, if it goes on much longer."""
        over_us = self._over(stretch)
        if over_us < stretch.until_us:
            for at_us, is_start in ((over_us, False), (stretch.until_us, True)):
                yield {**_phase(at_us, is_start, Phase.TRAINING), **self.run.of_run}

    def _over(self, stretch: Stretch) -> int:
        """When the step of a stretch is believed to be over."""
        usual_us = self.run.pace.usual_us
        if usual_us is None or not stretch.is_too_long(usual_us):
            return stretch.until_us
        return stretch.after(usual_us * stretch.steps)

    def _leave(self, at_us: int) -> Iterator[Event]:
        """Another launch follows. If this one said that it ended, that was not the end of the job,
        and how it came to it is not known.
        """
        yield from self._judge_what_is_held()
        run, usual_us = self.run, self.run.pace.usual_us
        if run.step is not None:
            ended_us = at_us if run.end is None else run.end.at_us
            last = self._stretch(ended_us)
            over_us = self._over(last)
            if run.end is None and usual_us is not None:
                over_us = last.after(usual_us)
            self._left = None if usual_us is None else _Left(run.of_run, run.step, over_us)
        if run.end is not None:
            yield from self._judge_last(run.end.at_us)
            yield _ended(run.end, run) if run.is_warned else _last_word(run.end, run.of_run)

    def _judge_last(self, ended_us: int) -> Iterator[Event]:
        """Training ends with the job, or with its last step if the job goes on much longer."""
        if self.run.step is not None:
            over_us = self._over(self._stretch(ended_us))
            yield {**_phase(over_us, False, Phase.TRAINING), **self.run.of_run}


def _prepared(entry: Entry | Operation, run: Run) -> Iterator[Event]:
    """Start-up, or a restore."""
    if isinstance(entry, Operation):
        yield from _operation(entry, run)
    else:
        run.is_set_up |= entry.what != What.DATA_LOADING and run.step is None
        yield {
            **_phase(entry.at_us, entry.is_start, Phase.TRAINER_INIT),
            "stage": _START_UP[entry.what],
            **_of(run, entry.at_us),
        }


def _ended(end: Entry, run: Run) -> Event:
    """The job ended in order, as far as this dump goes; or its launch did, told of a preemption,
    whatever came after it.
    """
    ended: Event = {
        "at_us": end.at_us,
        "event": EventKind.ATTEMPT_END,
        "outcome": Outcome.PREEMPTED if run.is_warned else Outcome.COMPLETED,
        "attrs": json.dumps({"line": end.line_number}),
        **run.of_run,
    }
    return ended if run.is_warned else {**ended, "event_id": _END_ID}


def _goes_on(at_us: int, of_run: Event) -> Event:
    """No earlier end was the job's. It takes the place of those that other dumps told: of two
    events with one id the later one counts.
    """
    return {"at_us": at_us, "event": EventKind.ALIVE, "event_id": _END_ID, **of_run}


def _last_word(end: Entry, of_run: Event) -> Event:
    """The launch lasted up to its end, whether or not that was the job's."""
    return {"at_us": end.at_us, "event": EventKind.ALIVE, **of_run}


def _custom(entry: Entry, run: Run) -> Iterator[Event]:
    """An event that blocks training, under its own name as a stage. Of events of one name that are
    nested the outer one counts.
    """
    depth, start_us = run.open.pop(entry.kind, (0, entry.at_us))
    if entry.is_start:
        run.open[entry.kind] = (depth + 1, start_us)
    elif depth > 1:
        run.open[entry.kind] = (depth - 1, start_us)
    elif depth:
        run.inside.append((start_us, entry.at_us))
    if depth == (0 if entry.is_start else 1):
        phase = next((phase for part, phase in _CUSTOM if part in entry.kind), Phase.EVALUATION)
        told = _phase(entry.at_us, entry.is_start, phase)
        yield {**told, "stage": entry.kind, **_of(run, entry.at_us)}


def _operation(operation: Operation, run: Run) -> Iterator[Event]:
    is_of_run = operation.at_us >= (run.begun_us or 0)
    phase = Phase.CHECKPOINT_SAVE if operation.is_save else Phase.CHECKPOINT_LOAD
    told = _phase(operation.at_us, True, phase)
    told["end_us"] = operation.until_us
    if operation.step is not None:
        told["step"] = operation.step
    if operation.is_save:
        told["mode"] = "sync" if operation.is_sync else "async"
        told["ok"] = True  # one that fails is not logged
    elif operation.step is not None:
        told["resumed_from_step"] = operation.step
        run.restored = operation.step if is_of_run else run.restored
    yield {**told, **_of(run, operation.at_us)}
    if operation.warned_us is not None:
        run.is_warned |= is_of_run
        yield {
            "at_us": operation.warned_us,
            "event": EventKind.FAILURE,
            "message": "the checkpoint manager was told of a preemption",
            "category": "scheduler/preempted",
            "component": "orbax",
            **_of(run, operation.warned_us),
        }


def _phase(at_us: int, is_start: bool, phase: Phase) -> Event:
    kind = EventKind.PHASE_START if is_start else EventKind.PHASE_END
    return {"at_us": at_us, "event": kind, "phase": phase}


def _of(run: Run, at_us: int) -> Event:
    """Whose an event is; one that is older than the newest launch only tells its job."""
    if run.begun_us is None or at_us >= run.begun_us:
        return run.of_run
    return {"job_id": run.of_run["job_id"]}
