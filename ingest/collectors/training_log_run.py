"""The launches that one log of a trainer tells of, one after another, and whose they are.

Numbers no attempts. A launch is known by its own first lines, by a load after training, by a count
of restarts that is higher, or by steps that are counted anew from further back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from ingest.collectors.lines import NOBODY, Label
from ingest.collectors.training_log_bursts import Bursts
from ingest.collectors.training_log_failures import Failures
from ingest.collectors.training_log_identity import Place
from ingest.collectors.training_log_launch import Launch, told_length_us
from ingest.collectors.training_log_patterns import LOADS, Means
from ingest.collectors.training_log_shapes import Step
from ingest.collectors.training_log_signs import COUNTS, OPENING, Sign
from ingest.collectors.training_log_steps import Steps
from ingest.collectors.training_log_traces import Trace
from ingest.collectors.units import SECOND_US
from ingest.events import BUFFERED, Event, EventKind, Item, Outcome

# what is told of no launch that still starts up
_WHILE_TRAINING = frozenset(
    {Means.SAVING, Means.SAVED, Means.PERSISTED, Means.EVALUATING, Means.EVALUATED, Means.TRAINED}
)
_OF_SAVES = frozenset({Means.SAVING, Means.SAVED, Means.PERSISTED})
_BEGINNINGS = frozenset({Means.LAUNCH, Means.LOADING, Means.LOADED, Means.FRESH, Means.TRAINING})
_RANKS_APART_US = 60 * SECOND_US
_LONGEST_STARTUP_US = 3_600 * SECOND_US
_MOST_HELD = 1_000  # events
_MOST_RANKS = 100_000
_LONGEST_NUMBER = 18  # digits

TimesBetween = Callable[[int, int], list[int]]


class Run:
    """What a log tells of one job, or of one job after another. `is_year_guessed`: some of its
    times tell no year. `has_steps`: some step was told; `has_trained`: some launch is known to have
    trained; `must_have_trained`: some launch saved, evaluated, completed, or went on for over an
    hour; `has_saved`: some line tells of a save, or from which step a launch went on;
    `was_interrupted`: one that trained failed, or was followed by another.

    The events of a launch are held until it trains: who it belongs to may be told after it began.
    """

    def __init__(self, place: Place, cluster: str | None, writer: int | None = None) -> None:
        self._place = place
        self._writer = writer  # the node or rank whose log it is
        self._cluster = cluster
        self._launch: Launch | None = None
        self._held: list[Event] | None = None
        self._who: Event = {}
        self._who_before: Event = {}  # the launch before
        self._late = Failures()  # of launches that were over when they were told
        # of the job, as its launcher or the log tells it
        self._name = place.name if place.is_of_launcher else None
        self._job_id: str | None = None  # of the launch before
        self._output_of = place.scheduler_job  # an array's task has two numbers: the log's counts
        self._known: dict[str, str] = {}  # facts of the launch that is no longer held
        self._counts = _Counts()
        self._facts: dict[str, str] = {}  # of the launch that is held, else of the next
        self._next_facts: dict[str, str] = {}
        self._carried: set[str] = set()  # counts that the launch before may have told again
        # when each rank told a launch's first lines, and when any did first
        self._marks: dict[tuple[str, Label | None], int | None] = {}
        self._steps_before: dict[Label, int] = {}
        self._doubtful: dict[Label, Step] = {}  # by rank, the last that fell back
        self._earliest: Step | None = None  # of a launch whose beginning no line tells
        self._startup_us: int | None = None  # how long it took, which no time was told of
        self._before_us = 0  # the last of the launch before
        self._is_first = True  # no launch of the log is over
        self._bursts = Bursts()
        self._tells_states = False  # what is saved, or the step of what is loaded
        self._quoting_us: int | None = None  # since when it tells again what a rank wrote
        self.is_year_guessed = False
        self.has_steps = False
        self.has_trained = False
        self.must_have_trained = False
        self.has_saved = False
        self.was_interrupted = False

    def hear(
        self, sign: Sign, first_us: int | None, times_between: TimesBetween
    ) -> Iterator[Event]:
        """What a sign says has happened. `first_us` is the first time that the log tells,
        `times_between` gives those that it tells between one and a line.
        """
        if sign.means in (Means.QUOTING, Means.QUOTED):
            is_begun = sign.means is Means.QUOTING
            self._quoting_us = sign.at_us or sign.before_us if is_begun else None
            return
        if sign.means is not Means.FAILURE and self._is_quoted(sign.at_us):
            return
        if sign.means is Means.FACT:
            if self._launch is not None and self._is_of_next(self._launch, sign.told):
                over_us, begun_us = _parted(self._launch, sign, times_between)
                yield from self._over(over_us)
                self._open(begun_us)
            self._learn(sign.told)
            return
        if sign.means is Means.STEP:
            yield from self._placed([] if self._launch is None else self._launch.hear(sign))
            return
        self.is_year_guessed |= sign.is_year_guessed
        is_complete = sign.outcome is Outcome.COMPLETED
        self.must_have_trained |= is_complete or sign.means in _WHILE_TRAINING
        is_known_load = sign.means in LOADS and "step" in sign.told
        self._tells_states |= sign.means in _OF_SAVES or is_known_load
        self.has_saved |= self._tells_states
        if sign.pattern is OPENING and self._is_first:
            self._begin_with(first_us)
        launch = self._launch
        is_met = False
        if launch is None or self._begins(launch, sign):
            is_met = sign.means is Means.TRAINING and sign.at_us is not None
            if launch is None:
                begun_us = _begun_us(sign, first_us)
            else:
                over_us, begun_us = _parted(launch, sign, times_between)
                yield from self._over(over_us)
                is_met &= begun_us == sign.at_us
            launch = self._open(begun_us)
        elif launch.begun_us is None and self._may_begin_with(launch, sign):
            launch.begun_us = sign.at_us  # the line that began it told no time
        if sign.means is Means.LAUNCH:
            self._date_back(launch, sign)
        if sign.means is Means.LAUNCH and len(self._marks) < _MOST_RANKS:
            self._marks.setdefault((sign.pattern.name, None), sign.at_us)
            self._marks[sign.pattern.name, sign.label] = sign.at_us
        events = [] if _is_of_past(sign) else launch.hear(sign)
        launch.is_met_training |= is_met and launch.begun_us == launch.training_us
        yield from self._placed(events)

    @property
    def begun_us(self) -> int | None:
        """When the launch that is told of began, where the log tells."""
        return None if self._launch is None else self._launch.begun_us

    def has_told(self, step: Step) -> bool:
        """Whether its rank has told that step already, or a later one."""
        if self._is_quoted(step.at_us):
            return False
        return self._launch is not None and self._launch.steps.get(step.label, 0) >= step.step > 0

    def settle(self) -> Iterator[Event]:
        """What was held of the launch until it trained, or told how far its steps are apart."""
        if self._launch is not None and self._held is not None:
            yield from self._decide(self._launch)

    def begin_anew(self, step: Step) -> Iterator[Event]:
        """Another launch begins to train with this step, as its launcher knows."""
        yield from self._over(None)
        self._open(step.at_us)

    def step(self, step: Step, first_us: int | None) -> Iterable[Event]:
        """What a step says has happened; step 0 is told before any is done."""
        number = step.step
        if not number or self._is_quoted(step.at_us):
            return ()
        self.has_steps = True
        launch = self._launch or self._open(None)
        last = launch.steps.get(step.label, 0)
        if self._falls(launch, step, last):
            return self._fall(launch, step, first_us)
        if number > last:
            self._bursts.hear(number, step.at_us, first_us)
            if len(launch.steps) > _MOST_RANKS:  # torn labels
                launch.steps.clear()
                self._steps_before.clear()
                self._doubtful.clear()
            self._steps_before[step.label] = last
            self._doubtful.pop(step.label, None)
        if self._held is not None:
            self.is_year_guessed |= step.is_year_guessed
            self._held += launch.step(step)
            waits = self._waits_to_resume if launch.begun_us else self._waits_to_begin
            return () if waits(launch, step, first_us) else self._decide(launch)
        events = launch.step(step)
        for event in events:
            event.update(self._who)
        return events

    def steps(self, steps: Steps, first_us: int | None) -> Iterator[Item]:
        """What many steps say has happened: together, while nothing but steps is to be told."""
        rises = (np.diff(steps.step) > 0) & (np.diff(steps.at_us) >= 0)
        falls = np.append(np.flatnonzero(~rises) + 1, len(steps.step))
        place = 0
        while place < len(steps.step):
            launch, first = self._launch, int(steps.step[place])
            if (
                launch is None
                or self._held is not None
                or self._quoting_us is not None
                or steps.label in self._doubtful
                or len(launch.steps) > _MOST_RANKS
                or not launch.goes_on(steps.label, first)
            ):
                yield from self.step(steps.one(place), first_us)
                place += 1
                continue
            end = int(falls[np.searchsorted(falls, place, side="right")])
            self._steps_before[steps.label] = (
                int(steps.step[end - 2]) if end - place > 1 else launch.steps[steps.label]
            )
            self._bursts.hear_many(steps.step[place:end], steps.at_us[place:end])
            yield launch.progress(steps, slice(place, end)).with_columns(
                pl.lit(value).alias(name) for name, value in self._who.items()
            )
            place = end

    def trace(self, trace: Trace) -> Iterator[Event]:
        """What a traceback says has happened."""
        launch = self._launch or self._open(None)
        before = self._who if self._held is not None else self._who_before
        began_us, at_us = launch.begun_us, trace.at_us
        if not before or began_us is None or at_us is None or at_us >= began_us:
            yield from self._placed(launch.trace(trace))
            return
        # it had begun in the launch before, whose other ranks wrote into it
        late = self._late.told(at_us, trace.line_number, trace.message, trace.label)
        if late is not None:
            yield {**late, **before}

    def close(self, last_us: int | None, first_us: int | None = None) -> Iterator[Event]:
        """The log ends; `first_us` and `last_us` are the first and the last time that it tells."""
        if self._launch is None:
            return
        events = self._launch.close(last_us)
        seen_us = self._launch.seen_us
        begun_us = self._launch.begun_us or (first_us if self._is_first else None)
        self.has_trained |= self._launch.training_us is not None
        self.was_interrupted |= self._launch.has_failed and _was_training(self._launch)
        self.must_have_trained |= seen_us - (begun_us or seen_us) > _LONGEST_STARTUP_US
        if self._held is not None:
            yield from self._decide(self._launch)
        yield from self._placed(events)

    def told_late(self) -> Iterator[Event]:
        """Once it is closed: that the times of its steps are those of a buffer, if they are."""
        if self._launch is not None and self._bursts.are_most:
            at_us = self._launch.seen_us
            yield from self._placed([{"at_us": at_us, "event": EventKind.ALIVE, "stage": BUFFERED}])

    def _is_quoted(self, at_us: int | None) -> bool:
        """Whether what is told now was told before. A launcher that is killed may tell no end of
        it: what is told over a minute later is new.
        """
        if self._quoting_us is None:
            return False
        if at_us is not None and at_us - self._quoting_us > _RANKS_APART_US:
            self._quoting_us = None
        return self._quoting_us is not None

    def _learn(self, told: dict[str, str]) -> None:
        """What differs from what a launch has said of itself is said of the next."""
        for fact, value in told.items():
            if self._held is None or fact in self._carried:
                self._facts[fact] = value
                self._carried.discard(fact)
            elif self._facts.setdefault(fact, value) != value:
                self._next_facts[fact] = value

    def _is_of_next(self, launch: Launch, told: dict[str, str]) -> bool:
        """Whether a higher count of restarts tells that another launch has begun."""
        for fact in COUNTS:
            count, known = _number(told, fact), self._count(launch, fact)
            if count is not None and known is not None and count > known:
                return True
        return False

    def _count(self, launch: Launch, fact: str) -> int | None:
        """The launch's own count of restarts; Slurm tells none before the first restart."""
        if self._held is None:
            is_first = fact == "restart" and "scheduler_job" in self._known
            return _number({fact: "0", **self._known} if is_first else self._known, fact)
        is_own = fact not in self._carried or launch.training_us is not None
        if fact in self._facts and is_own:
            return _number(self._facts, fact)
        return 0 if fact == "restart" and launch.has_failed else None

    def _open(self, begun_us: int | None) -> Launch:
        self._before_us = 0 if self._launch is None else self._launch.seen_us
        self._startup_us = None
        self._launch, self._held = Launch(begun_us, self._writer), []
        again = self._facts.items() & self._known.items()
        self._carried = {fact for fact, _ in again if fact in COUNTS}
        self._marks, self._earliest = {}, None
        self._bursts.begin()
        self._steps_before.clear()
        self._doubtful.clear()
        return self._launch

    def _begin_with(self, first_us: int | None) -> None:
        """The log began with a launch, as is seen by what another one says again."""
        launch = self._launch or self._open(first_us)
        launch.begun_us = launch.begun_us or first_us

    def _may_begin_with(self, launch: Launch, sign: Sign) -> bool:
        is_of_before = _is_of_past(sign) and (sign.at_us or 0) <= self._before_us
        return not is_of_before and (bool(self._marks) or _is_first_word(launch, sign))

    def _date_back(self, launch: Launch, sign: Sign) -> None:
        """A launch began when it says that it did, or as long ago as it says, once it has begun.
        Not before the one before was over: what starts anew in a process tells when that began.
        """
        length_us = told_length_us(sign)
        if sign.at_us is None:
            self._startup_us = self._startup_us if length_us is None else length_us
            return
        if not sign.pattern.is_part:
            length_us, self._startup_us = self._startup_us, None
        said_us, begun_us = launch.begun_us, sign.at_us - (length_us or 0)
        if said_us is None or launch.training_us is not None:
            return
        if max(self._before_us, said_us - _LONGEST_STARTUP_US) < begun_us < said_us:
            launch.begun_us = begun_us

    def _over(self, last_us: int | None) -> Iterator[Event]:
        yield from self.close(last_us)
        launch = self._launch
        self.was_interrupted |= launch is not None and _was_training(launch)
        self._is_first = self._is_first and self._launch is None

    def _begins(self, launch: Launch, sign: Sign) -> bool:
        """Whether a sign begins another launch than the one that is told of."""
        if sign.means is Means.LAUNCH:
            return self._launches_again(launch, sign)
        if sign.means is Means.LOADED and "step" not in sign.told:
            return False
        if sign.means is Means.TRAINING and sign.pattern.is_part and not launch.is_trained:
            return False  # of each epoch
        if sign.means is Means.TRAINING and launch.is_done and sign.at_us is not None:
            # one process may train again at once, as a search of parameters does
            return sign.at_us - launch.seen_us > _RANKS_APART_US
        if sign.means not in _BEGINNINGS or (launch.is_trained and not launch.was_stopped):
            return False
        if launch.steps or launch.training_us is None or sign.at_us is None:
            return bool(launch.steps) and (sign.at_us or 0) >= launch.stepped_us
        # its steps are told without times
        if launch.has_reached_a_step and sign.at_us > launch.seen_us:
            return True
        if sign.means in LOADS and launch.is_loading:  # what is large is loaded part by part
            return False
        return sign.at_us - launch.training_us > _RANKS_APART_US

    def _launches_again(self, launch: Launch, sign: Sign) -> bool:
        """Ranks tell the same launch one after another, and what one of them buffers comes late."""
        if sign.pattern is OPENING:
            return _is_long_after_begin(launch, sign)
        first = (sign.pattern.name, None)
        own = (sign.pattern.name, sign.label)
        if sign.label != NOBODY and own in self._marks:
            told_us = self._marks[own]
            # two handlers of one logger write each line twice
            return None in (sign.at_us, told_us) or sign.at_us != told_us
        begun_us = launch.begun_us
        if launch.training_us is not None:
            if sign.at_us is None or sign.at_us >= max(launch.stepped_us, launch.training_us):
                return True
            return begun_us is not None and sign.at_us < begun_us - _RANKS_APART_US
        if launch.has_failed or sign.at_us is None or begun_us is None:
            return launch.has_failed
        # what the log tells before that line may be long before
        since_us = self._marks.get(first) or begun_us
        return first in self._marks and abs(sign.at_us - since_us) > _RANKS_APART_US

    def _waits_to_begin(self, launch: Launch, step: Step, first_us: int | None) -> bool:
        """Whether the next step may tell that a launch began in this log, which no line says: of
        steps that are told at one distance, there is none before the first. A piece of a log that
        was rotated begins anywhere.
        """
        if launch.begun_us is not None or first_us is None or not self._is_first:
            return False
        first = self._earliest = self._earliest or step
        if len(self._held or ()) > _MOST_HELD:
            return False
        if step.label != first.label or step.step == first.step:
            return True
        if first.step <= step.step - first.step and launch.training_us is not None:
            training_us = launch.training_us
            is_near = training_us - first_us <= _LONGEST_STARTUP_US
            launch.begun_us = min(first_us, training_us) if is_near else training_us
            launch.is_met_training = launch.begun_us == training_us
        return False

    def _waits_to_resume(self, launch: Launch, step: Step, _first_us: int | None) -> bool:
        """Whether the next step may tell from which step a launch went on that restored a
        checkpoint no line tells the step of, in a log that tells of no save: the one that would be
        told before its first, of steps that are told at one distance.
        """
        if self._is_first or self._tells_states or not launch.restores_unknown:
            return False
        first = self._earliest = self._earliest or step
        if len(self._held or ()) > _MOST_HELD:
            return False
        if step.label != first.label or step.step <= first.step:
            return True
        resumed = launch.resume(2 * first.step - step.step)
        self.has_saved |= bool(resumed)
        self._held = [*(self._held or ()), *resumed]
        return False

    def _falls(self, launch: Launch, step: Step, last: int) -> bool:
        """Whether a step may be of a launch that no line tells of."""
        if step.step < last:
            return True
        doubtful = self._doubtful.get(step.label)
        is_silent = _is_long_after_failure(launch, step)
        was_silent = doubtful is not None and _is_long_after_failure(launch, doubtful)
        return is_silent and (step.step == last or was_silent)

    def _fall(self, launch: Launch, step: Step, first_us: int | None) -> Iterator[Event]:
        """Steps fall back where a launch began that no line tells of. The second of them proves
        that the first was no number torn out of its line, or of a rank that lags behind: it is far
        back as well, or both come long after a failure and not at once, as what a rank that dies
        had still to write.
        """
        doubtful = self._doubtful.get(step.label)
        self._doubtful[step.label] = step
        if doubtful is None or doubtful.step >= step.step:
            return
        is_far = step.step < self._steps_before.get(step.label, 0)
        is_anew = step.at_us - doubtful.at_us >= SECOND_US
        if is_far or (is_anew and _is_long_after_failure(launch, doubtful)):
            yield from self._over(None)
            self._open(doubtful.at_us)
            yield from self.step(doubtful, first_us)
            yield from self.step(step, first_us)

    def _placed(self, events: list[Event]) -> Iterator[Event]:
        if self._held is None:
            for event in events:
                event.update(self._who)
                yield event
            return
        self._held += events
        if len(self._held) > _MOST_HELD and self._launch is not None:
            yield from self._decide(self._launch)

    def _decide(self, launch: Launch) -> Iterator[Event]:
        """The launch belongs to whom it has named by now."""
        held, self._held = self._held or [], None
        self._who_before = self._who
        facts, self._facts, self._next_facts = self._facts, self._next_facts, {}
        self._who, self._known = self._identity(launch, facts), facts
        # a count of restarts that began anew is known by the start of its launch
        is_counted = "run_generation" in self._who
        if launch.begun_us is not None and (is_counted or not launch.is_met_training):
            held.insert(0, {"at_us": launch.begun_us, "event": EventKind.ATTEMPT_START})
        job = _job(facts, self.is_year_guessed)
        at_us = min((event["at_us"] for event in held), default=launch.seen_us)
        if job and at_us:
            told: Event = {"at_us": at_us, "event": EventKind.JOB, "job_id": self._who["job_id"]}
            yield {**told, **job}
        yield from self._placed(held)

    def _identity(self, launch: Launch, facts: dict[str, str]) -> Event:
        """A name before a number, what the launch says before what the log said of the one before,
        and both before the place of the file.
        """
        told = facts.get("scheduler_job")
        if told is None and "restart" in facts:
            told = self._who.get("scheduler_job")
        if told is not None and self._output_of is not None:
            self._output_of = told
        scheduler_job = told or self._output_of
        numbered = scheduler_job
        if scheduler_job is not None and self._cluster is not None:
            numbered = f"{self._cluster}:{scheduler_job}"
        if not self._place.is_of_launcher:
            self._name = facts.get("run", self._name)
        known = numbered if told else self._job_id or numbered
        job_id = self._name or known or self._place.name
        assert job_id is not None  # a place without a name has a job of Slurm
        self._job_id = job_id
        who: Event = {"job_id": job_id}
        if scheduler_job is not None:
            who["scheduler_job"] = scheduler_job
        generation, restart = _number(facts, "generation"), _number(facts, "restart")
        run_key = None
        if launch.begun_us is not None:
            # two jobs of one name may begin in one second
            job = "" if scheduler_job is None else f"{scheduler_job}/"
            run_key = f"{job}{launch.begun_us}"
        if generation is not None and self._counts.rises(scheduler_job, restart, generation):
            who["run_generation"] = generation
            run_key = self._counts.key_of(generation, run_key)
        if run_key is not None:
            who["run_key"] = run_key
        if restart is not None:
            who["run_restart"] = restart
        return who


class _Counts:
    """Counts of restarts of torchrun's workers, one launch after another. One that is told again
    says no more which workers run: torchrun was launched anew, or it is another node's workers that
    failed, whose restarts no other node counts.
    """

    def __init__(self) -> None:
        self._of: tuple[str | None, int | None] = None, None  # job and try of the scheduler
        self._last = -1
        self._key: str | None = None
        self._is_lost = False

    def rises(self, job: str | None, restart: int | None, count: int) -> bool:
        """Whether a count is higher than all that were told in the same try of the scheduler. A
        launch that names none is of the one before: workers that torchrun starts anew tell less.
        """
        known_job, known_restart = self._of
        job = known_job if job is None else job
        restart = known_restart if restart is None and job == known_job else restart
        if (job, restart) != self._of:
            self._of, self._last, self._key, self._is_lost = (job, restart), -1, None, False
        self._is_lost = self._is_lost or count <= self._last
        self._last = max(self._last, count)
        return not self._is_lost

    def key_of(self, count: int, own: str | None) -> str | None:
        """The key of a launch whose count rises: that of the first. Where a log begins with a
        later one, another tells of the first.
        """
        self._key = own if count == 0 else self._key
        return self._key


def _parted(
    launch: Launch, sign: Sign, times_between: TimesBetween
) -> tuple[int | None, int | None]:
    """When a launch was over, and when the next one began, whose first sign that is: lines between
    that mean nothing are of the launch before up to the longest pause, and then of the next. What a
    shell says before it starts a trainer comes before all that the next one tells.
    """
    between = times_between(launch.seen_us, sign.line_number)
    is_shells = sign.means is Means.LAUNCH and sign.pattern.is_anyones
    if sign.at_us is None or is_shells:
        return max(between, default=None), sign.at_us
    told = [launch.seen_us, *sorted(at_us for at_us in between if at_us < sign.at_us), sign.at_us]
    pauses = [(until - since, since, until) for since, until in pairwise(told) if since]
    if not pauses or launch.seen_us > sign.at_us:  # what a rank buffers comes late
        return None, sign.at_us
    _, over_us, begun_us = max(pauses)
    return over_us, begun_us


def _is_of_past(sign: Sign) -> bool:
    """Whether a launch tells when it began, once it has."""
    return sign.means is Means.LAUNCH and sign.pattern.is_part


def _is_first_word(launch: Launch, sign: Sign) -> bool:
    """Whether a launch tells its first line, and has told no time before."""
    return sign.means is Means.LAUNCH and not launch.seen_us


def _is_long_after_begin(launch: Launch, sign: Sign) -> bool:
    """Whether a launch had trained or failed, or had begun over a minute before: else it tells of
    itself.
    """
    at_us = sign.at_us or 0
    if launch.training_us is not None:
        return at_us >= max(launch.stepped_us, launch.training_us)
    begun_us = launch.begun_us or launch.seen_us
    return launch.has_failed or (begun_us > 0 and at_us - begun_us > _RANKS_APART_US)


def _was_training(launch: Launch) -> bool:
    return launch.training_us is not None and not launch.is_trained


def _is_long_after_failure(launch: Launch, step: Step) -> bool:
    """Whether a launch failed over a minute before this step and has told none since."""
    failed_us = launch.failed_us
    return (
        failed_us is not None
        and launch.stepped_us <= failed_us
        and step.at_us - failed_us > _RANKS_APART_US
    )


def _begun_us(sign: Sign, first_us: int | None) -> int | None:
    """When the first launch of a log began: with the log, unless that is a piece of one, which
    begins anywhere.
    """
    if sign.means not in _BEGINNINGS:
        return None
    at_us = sign.at_us or sign.before_us or first_us
    if first_us is None or at_us is None or at_us - first_us > _LONGEST_STARTUP_US:
        return sign.at_us
    return min(first_us, at_us)


def _job(facts: dict[str, str], is_year_guessed: bool) -> Event:
    job: Event = {}
    if "gpu_type" in facts:
        job["gpu_type"] = facts["gpu_type"]
    attrs: dict[str, object] = {}
    if (world_size := _number(facts, "world_size")) is not None:
        attrs["world_size"] = world_size
    if is_year_guessed:
        attrs["year_is_guessed"] = True
    if attrs:
        job["attrs"] = json.dumps(attrs)
    return job


def _number(facts: dict[str, str], fact: str) -> int | None:
    told = facts.get(fact, "")
    return int(told) if told.isdecimal() and len(told) <= _LONGEST_NUMBER else None
