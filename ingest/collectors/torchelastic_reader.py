"""Reads a file of torchrun line by line, whatever is mixed in it, and gives each line to what it is
of: a launch, a traceback, a table, a checkpoint.

Remembers what is open, never the file.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ingest.collectors import torchelastic_agent as agent
from ingest.collectors import torchelastic_launches as launches
from ingest.collectors import torchelastic_records as records
from ingest.collectors.base import Line
from ingest.collectors.lines import (
    Clock,
    Label,
    breaks_off_at,
    pieces,
    said,
    split_bar,
    split_time,
    without_colours,
    zones_apart_us,
)
from ingest.collectors.torchelastic_checkpoints import Checkpoints, background
from ingest.collectors.torchelastic_errors import error_in, signal_in, was_left_out
from ingest.collectors.torchelastic_failures import Failure
from ingest.collectors.torchelastic_launches import Launch, Stop
from ingest.collectors.torchelastic_runs import Run, run_in_path
from ingest.collectors.torchelastic_text import (
    Caught,
    Entry,
    Table,
    Tracebacks,
    is_stamped,
    node_of,
    unlabelled,
)
from ingest.collectors.torchelastic_training import Again, Pause, Told, Training
from ingest.collectors.training_log_failures import Failures as Evidence
from ingest.collectors.training_log_signs import Sign
from ingest.collectors.training_log_traces import HEADER
from ingest.events import BUFFERED, Event, EventKind, Outcome, Reason, Rejected

_MOST_LAUNCHES = 4096
_MOST_UNTIMED = 1000
_MOST_EARLY = 64
_MOST_SPOKEN = 16_384
_LIST_LINES = 24
_WHOLE_FILE = 4 * 1024 * 1024

_CANCELLED = re.compile(
    rb"\*\*\* (?P<what>JOB|STEP) \d{1,18}(?:[.+_]\S{1,40})? ON \S{1,200} "
    rb"(?:CANCELLED|FAILED|KILLED) AT (?P<at>\S{1,40}?)(?: DUE (?:TO )?(?P<why>.{1,80}?))? \*\*\*"
)
_BACKGROUND = (b"checkpoint request", b"checkpoint save request", b"Checkpoint save failed")
_SIGTERM = 15
_REQUEUE_US = 120_000_000  # so long the scheduler holds a job back that it starts anew
_OUTCOMES = {b"PREEMPTION": Outcome.PREEMPTED, b"TIME LIMIT": Outcome.TIMEOUT}

_Key = tuple[str | int | None, ...]


@dataclass(slots=True)
class Reader:
    """A file while it is read. What could not be placed is known when it was closed."""

    clock: Clock
    run: Run
    is_year_guessed: bool = False
    is_undated: bool = False
    has_untimed: bool = False
    has_lost: bool = False
    is_silent: bool = False
    is_timeless: bool = False
    took_it: bool = False  # the line that was heard last: it was torchrun's, or of a traceback
    _whole: list[bytes] | None = None
    _whole_size: int = 0
    _begun: deque[Launch] = field(default_factory=lambda: deque(maxlen=_MOST_LAUNCHES))
    _launches: dict[_Key, Launch] = field(default_factory=dict)
    _last: Launch | None = None
    _of_label: dict[tuple[int | None, str | None], Launch] = field(default_factory=dict)
    _list: Launch | None = None
    _list_lines: int = 0
    _early: list[Failure] = field(default_factory=list)
    _untimed: list[Rejected] = field(default_factory=list)
    _tracebacks: Tracebacks = field(default_factory=Tracebacks)
    _table: Table = field(default_factory=Table)
    _checkpoints: Checkpoints = field(default_factory=Checkpoints)
    _before: Sequence[Line] = ()
    _training: Training = field(default_factory=Training)
    _pauses: list[Pause] = field(default_factory=list)
    _is_stamped: bool = False
    _apart_us: int = 0  # from the zone that is taken for times to that of the stamps
    _hosts: set[str] = field(default_factory=set)  # that labels name
    opened_us: int | None = None  # when what was launched last began to write, unless it said so
    is_opened: bool = False  # the next lines tell it
    # when launches of its trainer began, as the first lines tell it
    trainer_begins: Callable[[], Sequence[int]] | None = None
    _restart: int | None = None
    _tried_us: int = 0  # when the scheduler's last try began, or a little before
    # what the scheduler said of agents that had not spoken yet
    _unheard: list[tuple[Stop, Event]] = field(default_factory=list)
    # in which line, and when; the trainer's lines are read some batches behind
    _spoke: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_MOST_SPOKEN))
    _evidence: Evidence = field(default_factory=Evidence)
    _evidence_of: tuple[str | None, int | None] = (None, None)
    _stopping: list[Launch] = field(default_factory=list)  # the next has begun
    _trained: Launch | None = None  # the launch that the trainer spoke in last

    @property
    def is_busy(self) -> bool:
        """Whether the next line matters whatever it holds: something goes on over several lines."""
        return (
            self._whole is not None
            or self._list is not None
            or self._table.is_open
            or self._tracebacks.is_open
        )

    def hear(self, number: int, line: bytes, before: Sequence[Line]) -> Iterator[Event | Rejected]:
        """What a line that may matter tells. Those `before` it may tell its time."""
        self.took_it = True
        if number == 1 and line.strip() == b"{":
            self._whole = []
        if self._whole is not None:
            self._whole_size += len(line)
            self._whole.append(line if self._whole_size <= _WHOLE_FILE else b"")
            return
        self._before = before
        told = pieces(line)
        if len(told) > 1 and HEADER in told[-1]:  # a time, a bar, and what breaks off in it
            stamp, rest = told[0], self._broken_off(told[-1])
            self._is_stamped = self._is_stamped or is_stamped(without_colours(stamp + rest))
        for place, piece in enumerate(told):
            first = without_colours(told[0]) if place else b""
            yield from self._piece(number, without_colours(piece), first)

    @property
    def has_agent(self) -> bool:
        """Whether the agent's own log is in this file."""
        return bool(self._begun)

    def of_trainer(self, event: Event) -> Iterator[Event]:
        """What the trainer says in this file, as of the run whose launch had begun last."""
        launch = self._begun_by(event["at_us"])
        of = None if launch is None else _told_in(launch)
        if launch is not None and of is not None:
            if launch is not self._trained:
                yield from self._left()
            self._trained = launch
            launches.hear_trainer(launch, event["at_us"])
            yield from launches.go_on(launch, event["at_us"])
            if event["event"] == EventKind.ATTEMPT_END:
                yield from launches.complete(launch, event["at_us"], Outcome(event["outcome"]))
                return
            launch.has_trainer = True
            if event.get("stage") != BUFFERED:  # who goes on was started anew, and is not done yet
                launch.completed_us, launch.completed_as = None, Outcome.COMPLETED
            for told in self._training.hear(event, of, self._pauses):
                yield {**told, **launches.of_launch(launch)}
            yield {**event, **launches.of_launch(launch)}
            return
        is_end = event["event"] == EventKind.ATTEMPT_END
        if not is_end or all(launch.is_silent_of_end for launch in self._begun):
            yield self._loose(event)

    def of_step_again(self, again: Again) -> Iterator[Event]:
        """Say whether the trainer's workers were started anew since it told the step before."""
        launch = self._begun_by(again.at_us)
        if launch is not None:
            yield from launches.go_on(launch, again.at_us)
        of = None if launch is None else _told_in(launch)
        again.is_anew = of is not None and self._training.comes_back(again.at_us, of, self._pauses)

    def of_begin(self, at_us: int) -> None:
        """The trainer begins. Where all agents that had begun by then are gone, gave up, were
        stopped or said nothing, or all began with the trainer later, it is one's that says nothing
        of its begin, for it keeps to warnings: that of the next that is stopped or sees a worker
        die, else of one that says nothing at all.
        """
        begun = [launch for launch in self._begun if (launch.began_us or at_us) < at_us]
        if any(launch.began_us == at_us for launch in self._begun):
            return
        if begun and not all(_is_over_by(launch, at_us) for launch in begun):
            return
        if not begun and not all(_began_after(launch, at_us) for launch in self._begun):
            return
        heard = [
            (first_us, place)
            for place, launch in enumerate(self._begun)
            if launch.began_us is None and (first_us := _first_word_us(launch) or 0) > at_us
        ]
        if heard:
            launch = self._begun[min(heard)[1]]
        else:
            launch = self._new(("trainer", at_us), is_logged=True)
            launch.is_trainers = True
            launch.saw(at_us)
        launch.began_us, launch.is_begin_told = at_us, False
        ordered = sorted(self._begun, key=lambda each: each.began_us or 0)
        self._begun = deque(ordered, maxlen=_MOST_LAUNCHES)

    def of_evidence(self, sign: Sign) -> Iterator[Event]:
        """What a line of this file that is evidence of a failure says, as of the launch and the
        generation that it was told in.
        """
        at_us = sign.at_us or max(sign.before_us or 0, self._agent_spoke_us(sign.line_number))
        if not at_us:
            return
        launch = self._begun_by(at_us)
        generation = None if launch is None else launch.round_at(at_us)
        place = (None if launch is None else launch.key, generation)
        if self._evidence_of != place:
            self._evidence_of, self._evidence = place, Evidence()
        failure = self._evidence.told(at_us, sign.line_number, sign.text, sign.label)
        if failure is None:
            return
        if launch is None:
            yield self._loose(failure)
        else:
            yield launches.in_generation(launch, generation, failure)

    def _begun_by(self, at_us: int) -> Launch | None:
        """The launch that had begun last by a time."""
        for launch in reversed(self._begun):
            if launch.began_us is not None and launch.began_us <= at_us:
                is_gone = launch.gone_us is not None and launch.gone_us < at_us
                return None if is_gone else launch
        return None

    def close_trainer(self) -> Iterator[Event]:
        """The trainer says nothing more in this file."""
        if self._trained is not None:
            for told in self._training.close(self._pauses):
                yield {**told, **launches.of_launch(self._trained)}
        yield from self._left()

    def _left(self) -> Iterator[Event]:
        """Nobody trains any more in the launch that the trainer spoke in last."""
        launch = self._trained
        if launch is not None and launch.over_us is not None:
            for told in self._training.leave(launch.over_us):
                yield {**told, **launches.of_launch(launch)}

    def close(self) -> Iterator[Event | Rejected]:
        """What is left to say when the last line was heard."""
        if self._whole is not None:
            yield from self._error_file(1, b"\n".join(self._whole))
        for launch in self._stopping:
            yield from launches.close(launch)
        for launch in self._launches.values():
            self.is_silent = self.is_silent or not launch.is_under_way
            yield from launches.close(launch)
        yield from (told for _, told in self._unheard)
        yield from self._nobodys()
        yield from self._untimed

    def _piece(self, number: int, line: bytes, first: bytes) -> Iterator[Event | Rejected]:
        """`first` is the piece that its line begins with, if that is another."""
        if b"torchelastic.worker.status." in line:
            yield from self._records(number, line)
        elif messages := agent.messages_in(number, line, self.clock, first):
            self._is_stamped = self._is_stamped or is_stamped(line, messages[0].place)
            label, _ = self._unlabelled(line, first)
            for message in messages:
                yield from self._message(message, label)
        elif b"func_name" in line:
            for told in self._checkpoints.hear(number, line, self.clock):
                yield told if isinstance(told, Rejected) else self._loose(told)
        elif any(mark in line for mark in _BACKGROUND):
            upload = background(line, self.clock)
            if upload is not None:
                yield self._loose(upload)
        elif b'"py_callstack"' in line or (number == 1 and line.startswith(b'{"message"')):
            yield from self._error_file(number, line)
        else:
            yield from self._text(number, line, first)

    def _text(self, number: int, line: bytes, first: bytes) -> Iterator[Event | Rejected]:
        """Lines that no head tells apart."""
        if HEADER in line:
            whole, line = line, self._broken_off(line)
            first = first or whole
        self._is_stamped = self._is_stamped or is_stamped(line)
        label, text = self._unlabelled(line, first)
        if self._table.is_open:
            entry = self._table.hear(number, text, self.clock)
            if entry is not None:
                yield from self._entry(entry)
            return
        if text.startswith(b"Root Cause (first observed failure)"):
            self._table.begin()
            self._table.hear(number, text, self.clock)
            return
        caught = self._tracebacks.hear(number, label, text)
        if caught is not None:
            yield from self._caught(caught, line)
            return
        self.took_it = self._tracebacks.took_it
        if self._list is not None:
            self._go_on_listing(text)
        if cancelled := _CANCELLED.search(text):
            self.run.hear(text)
            self._teach()
            stamp_us = said(first + line, self.clock).at_us
            yield from self._cancelled(number, text, cancelled, stamp_us)
        elif b"SLURM" in text or b"restart=" in text or b"lurm" in text:
            self.run.hear(text)
            self._teach()
            self._hear_try()

    def _broken_off(self, line: bytes) -> bytes:
        """What a rank writes that breaks off in the bar that another draws."""
        return split_bar(line[breaks_off_at(line, self.clock) :])[1]

    def _unlabelled(self, line: bytes, first: bytes) -> tuple[Label, bytes]:
        label, text = unlabelled(line, is_stamped=self._is_stamped, hosts=self._hosts)
        if first:
            of_line, _ = unlabelled(first, is_stamped=self._is_stamped, hosts=self._hosts)
            label = label.or_else(of_line)
        if label.host is not None and len(self._hosts) < _MOST_LAUNCHES:
            self._hosts.add(label.host)
        return label, text

    def _message(self, message: agent.Message, label: Label) -> Iterator[Event]:
        self.is_year_guessed = self.is_year_guessed or message.is_year_guessed
        self.is_undated = self.is_undated or message.is_undated
        self.is_timeless = self.is_timeless or message.at_us is None
        if message.apart_us is not None:
            self._apart_us = message.apart_us
        if message.at_us is not None:
            self._spoke.append((message.line, message.at_us))
        key = (label.rank, label.host, message.pid)
        launch = self._launches.get(key)
        if launch is None or agent.begins(message, launch):
            yield from self._over(key, label)
            launch = agent.launch_of(message, self._new(key, is_logged=True))
            self._begin_untold(launch, message)
            self._hear_stops(launch, message)
            self._table.is_open = False
            if not message.is_early:
                for failure in self._early:  # ranks spoke before their agent did
                    failure.at_us = None
                    launches.hear_exception(launch, failure)
            self._early.clear()
        self._last = self._of_label[label.rank, label.host] = launch
        yield from agent.tell(message, launch)
        is_list = message.text.rstrip().endswith((b"launch configs:", b"workers. Result:"))
        self._list = launch if is_list and not message.is_glog else None
        self._list_lines = 0
        self.run.run_id = launch.run_id or self.run.run_id

    def _begin_untold(self, launch: Launch, message: agent.Message) -> None:
        """An agent whose first word is that a worker died began with what was launched last; the
        first of a log that tells no job of the scheduler before, and one that speaks when all
        others were gone as a trainer began, with that trainer.
        """
        opened_us, self.opened_us = self.opened_us, None
        if launch.began_us is not None or message.at_us is None or not agent.tells_death(message):
            return
        told = self.trainer_begins() if self.trainer_begins is not None else ()
        begins = [at_us for at_us in told if self._tried_us <= at_us < message.at_us]
        others = [other for other in self._begun if other is not launch]
        if opened_us is None:
            is_next = all(_is_over_by(other, max(begins, default=0)) for other in others)
            if not (is_next if others else self.run.scheduler_job is None):
                return
        # who was launched before the last in one try of the scheduler was killed in silence
        began_us = max(begins, default=opened_us)
        if opened_us is not None and began_us is not None and len(begins) < 2:
            began_us = min(opened_us, began_us)
        if began_us is not None and began_us < message.at_us:
            launch.began_us, launch.is_begin_told = began_us, False

    def _hear_stops(self, launch: Launch, message: agent.Message) -> None:
        """What the scheduler said just before is of an agent whose first word is that it was sent a
        signal: one that keeps to warnings says nothing before that.
        """
        if message.at_us is None or not agent.tells_stop(message):
            return
        for stop, told in list(self._unheard):
            if abs(message.at_us - stop.at_us) < _REQUEUE_US:
                launches.halt(launch, stop)
                self._unheard.remove((stop, told))

    def _records(self, number: int, line: bytes) -> Iterator[Event | Rejected]:
        told = records.records_in(number, line, self.clock)
        if not told:
            detail = "a cut event record of torchrun"
            yield Rejected(number, Reason.NOT_JSON, detail, line.decode("utf-8", "replace"))
        for record in told:
            launch = self._logged(record)
            if launch is None:
                if record.at_us is None:
                    self.run.run_id = self.run.run_id or record.run_id
                    self._set_aside_untimed(number, line)
                    continue
                key = ("record", record.run_id, record.host)
                launch = self._launches.get(key)
                if launch is None or records.begins(record, launch):
                    yield from self._over(key, None)
                    launch = self._new(key, is_logged=False)
                self._last = launch
            yield from records.tell(record, launch)
            self.run.run_id = launch.run_id or self.run.run_id

    def _logged(self, record: records.Record) -> Launch | None:
        """The launch that the agent's log in this file tells, if the record is of it."""
        launch = self._last
        if launch is None or not launch.is_logged:
            return None
        return launch if launch.run_id in (None, record.run_id) else None

    def _set_aside_untimed(self, number: int, line: bytes) -> None:
        self.has_untimed = True
        if len(self._untimed) < _MOST_UNTIMED:
            text = line.decode("utf-8", "replace")
            detail = "an event record whose time is 0, in a log that tells none"
            self._untimed.append(Rejected(number, Reason.MISSING_FIELD, detail, text))

    def _new(self, key: _Key, is_logged: bool) -> Launch:
        launch = Launch(
            self.run,
            is_logged,
            scheduler_job=self.run.scheduler_job,
            restart=self.run.restart,
            pauses=self._pauses,
        )
        self._launches[key] = launch
        if is_logged:
            self._begun.append(launch)
        self.run.use()
        return launch

    def _over(self, key: _Key, label: Label | None) -> Iterator[Event]:
        """What is left to say of the launches that a new one ends: of the one in whose place it
        comes, and of the one before it if that has ended.
        """
        old = self._launches.pop(key, None)
        if old is not None:
            yield from self._close_launch(old)
        before = self._of_label.get((label.rank, label.host)) if label else None
        if before is not None and before is not old and before.is_over:
            for other in [other for other, launch in self._launches.items() if launch is before]:
                yield from self._close_launch(self._launches.pop(other))
        while len(self._launches) >= _MOST_LAUNCHES:
            yield from launches.close(self._launches.pop(next(iter(self._launches))))

    def _close_launch(self, launch: Launch) -> Iterator[Event]:
        """At once, unless lines of its trainer that are read behind may tell when it was gone."""
        if launch.may_be_stopping and len(self._stopping) < _MOST_LAUNCHES:
            self._stopping.append(launch)
        else:
            yield from launches.close(launch)

    def _hear_try(self) -> None:
        """A job that prints its environment before any agent speaks begins there. One that prints
        another count of restarts was started anew by the scheduler: who spoke before is gone.
        """
        job, restart = self.run.scheduler_job, self.run.restart
        if not self._begun and self.opened_us is None and job is not None:
            self.is_opened = True
        elif restart is not None and self._restart not in (None, restart):
            self._open()
        if restart is None and job is not None:  # Slurm tells none before it starts a job anew
            restart = 0
        self._restart = self._restart if restart is None else restart

    def _open(self) -> None:
        self.opened_us, self.is_opened, self._last = None, True, None
        self._of_label.clear()
        gone_us = self._time_before()
        self._tried_us = gone_us or self._tried_us
        for launch in self._begun:
            launch.gone_us = launch.gone_us or gone_us

    def _teach(self) -> None:
        """Ranks may print the scheduler's job when their launch has long begun."""
        for launch in self._current():
            if launch.scheduler_job is None:
                launch.scheduler_job = self.run.scheduler_job
                launch.restart = self.run.restart
                self.run.use()

    def _current(self) -> list[Launch]:
        """The launches that can still run. Agents that meet each other all speak after the last of
        them began; who has not was killed without a word.
        """
        open_ones = [
            launch
            for launch in self._launches.values()
            if launch.finished_us is None and launch.done_us is None and launch.gone_us is None
        ]
        latest_us = max((launch.began_us or 0 for launch in open_ones), default=0)
        return [launch for launch in open_ones if (launch.seen_us or 0) >= latest_us]

    def _caught(self, caught: Caught, line: bytes) -> Iterator[Event]:
        if caught.is_agents:
            told_us = said(line, self.clock).at_us or self._time_before()
            yield from self._agent_broke_off(caught, told_us or 0)
            return
        is_uncaught = b"[rank" in line  # so the runtime labels what it reports itself
        node = node_of(line, is_stamped=self._is_stamped, hosts=self._hosts)
        failure = Failure(
            line=caught.line,
            rank=caught.label.rank if is_uncaught else None,
            local_rank=caught.label.local_rank,
            message=caught.message,
            is_certain=is_uncaught,
        )
        launch = self._of_label.get((node.rank, node.host), self._last)
        # who raises once an agent gave up is a worker of one that has not spoken yet
        if launch is not None and launch.given_up_us is None:
            launches.hear_exception(launch, failure)
        elif len(self._early) < _MOST_EARLY:
            failure.at_us = self._time_before()
            self._early.append(failure)

    def _agent_broke_off(self, caught: Caught, told_us: int) -> Iterator[Event]:
        """`told_us` is the last time that its log tells: an agent whose workers run is silent."""
        launch = self._last
        if was_left_out(caught.exception):
            return
        if "ChildFailedError" in caught.exception:
            self._table.begin()
            self._give_up(told_us)
        elif launch is not None and launch.seen_us is not None:
            signal = signal_in(caught.exception)
            if signal is not None:
                is_told = launch.stop is not None and launch.stop.signal is not None
                at_us = launch.stop.at_us if launch.stop and is_told else launch.seen_us
                stop = Stop(at_us, caught.line, signal, message=caught.exception)
                launches.halt(launch, stop)
            else:
                yield from launches.break_off(launch, caught.line, caught.message, told_us)

    def _give_up(self, told_us: int) -> None:
        """An agent that saw workers die starts no others: the one that spoke last, else another."""
        last = [] if self._last is None else [self._last]
        for launch in [*last, *reversed(self._begun)]:
            if launch.failed_us is not None and launch.given_up_us is None:
                launch.given_up_us = max(launch.failed_us, told_us)
                return

    def _agent_spoke_us(self, line: int) -> int:
        """When an agent last spoke above a line; 0 where none did."""
        return next((at_us for number, at_us in reversed(self._spoke) if number < line), 0)

    def _time_before(self) -> int | None:
        """When the last line was written that tells it, a little before the line that is read."""
        for _, line in reversed(self._before):
            at_us = said(line, self.clock).at_us
            if at_us is not None:
                return at_us
        return None

    def _entry(self, entry: Entry) -> Iterator[Event]:
        """A worker in the last table. Its error file's path says which run and generation it is."""
        run_id, generation, _ = run_in_path(entry.error_file)
        if entry.failure.at_us is not None:
            entry.failure.at_us += self._apart_us
        launch = self._last
        if launch is None:
            launch = self._last = self._new(("table",), is_logged=True)
        launch.run_id = launch.run_id or run_id
        if launch.generation is None:
            launch.generation = generation
        yield from launches.fail(launch, entry.failure, None)
        if launch.failed_us is None:
            launch.failed_us = entry.failure.at_us

    def _go_on_listing(self, text: bytes) -> None:
        self._list_lines += 1
        if self._list is not None:
            agent.note(text, self._list)
        if not text.strip() or self._list_lines > _LIST_LINES:
            self._list = None

    def _cancelled(
        self, number: int, text: bytes, cancelled: re.Match[bytes], stamp_us: int | None
    ) -> Iterator[Event]:
        """The scheduler's word on why it ends the job. Its time is of the zone that the time before
        its line tells: no agent may have spoken yet.
        """
        time = split_time(cancelled["at"] + b" ", self.clock)
        why = cancelled["why"]
        # srun cancels the step of which a task failed: nobody else did
        is_sruns = why is None and cancelled["what"] == b"STEP" and self._has_lost_a_worker
        if time is None or is_sruns:
            return
        outcome = Outcome.CANCELLED if why is None else _OUTCOMES.get(why, Outcome.FAILED)
        message = text.decode("utf-8", "replace").strip()
        at_us = time.at_us + (
            self._apart_us if stamp_us is None else zones_apart_us(time.at_us, stamp_us)
        )
        stop = Stop(at_us, number, outcome=outcome, message=message)
        current = self._current()
        for launch in current:
            launches.halt(launch, stop)
        if all(launch.gone_us is not None for launch in self._launches.values()):
            told: Event = {
                "at_us": at_us,
                "event": EventKind.ATTEMPT_END,
                "outcome": outcome,
                "message": message,
                "attrs": json.dumps({"line": number}),
            }
            self._unheard.append((stop, self._loose(told)))
        if len(self._unheard) > _MOST_EARLY:
            yield self._unheard.pop(0)[1]

    @property
    def _has_lost_a_worker(self) -> bool:
        """Whether a worker of what runs died, and of more than that it was stopped."""
        failed = [launch for launch in self._launches.values() if launch.failed_us is not None]
        roots = [launch.failures.root() for launch in failed]
        return any(root is not None and root.signal != _SIGTERM for root in roots)

    def _error_file(self, number: int, line: bytes) -> Iterator[Event | Rejected]:
        """A worker's or the agent's error file: one object, or several if files were joined."""
        text = line.decode("utf-8", "replace")
        told = [error for _, found in records.objects_in(text) if (error := error_in(found))]
        if not told:
            yield Rejected(number, Reason.NOT_JSON, "a cut error file", text)
        for error in told:
            if error.at_us is None:
                self.has_lost = True
                detail = "an error that does not say when it happened"
                yield Rejected(number, Reason.MISSING_FIELD, detail, text)
                continue
            place = self.run.at_place(None)
            failure = Failure(
                number, error.at_us, code=error.code, local_rank=place.local_rank,
                message=error.message,
            )  # fmt: skip
            signal = signal_in(error.message.partition("\n")[0])
            yield self._loose(launches.loose_failure(failure, place.generation, signal))

    def _loose(self, event: Event) -> Event:
        """An event of the run that no launch in this file is known to have told."""
        run = self.run
        event.update(launches.of_run(run, run.run_id, run.scheduler_job, run.restart))
        return event

    def _nobodys(self) -> Iterator[Event]:
        """Tracebacks in a file in which no agent spoke: a worker's own."""
        place = self.run.at_place(None)
        for failure in self._early:
            self.has_lost = self.has_lost or failure.at_us is None
            if failure.at_us is not None:
                if failure.local_rank is None:
                    failure.local_rank = place.local_rank
                yield self._loose(launches.loose_failure(failure, place.generation, None))


def _began_after(launch: Launch, at_us: int) -> bool:
    """Whether an agent that does not tell its begin began with a trainer, later than at a time."""
    return not launch.is_begin_told and launch.began_us is not None and launch.began_us > at_us


def _is_over_by(launch: Launch, at_us: int) -> bool:
    """Whether an agent was gone by a time, had given up or been stopped, or said nothing."""
    if launch.is_trainers or (launch.gone_us is not None and launch.gone_us <= at_us):
        return True
    stopped_us = launch.stop.at_us if launch.stop else launch.given_up_us
    return stopped_us is not None and stopped_us < at_us


def _first_word_us(launch: Launch) -> int | None:
    """When an agent that keeps to warnings was stopped, or saw a worker die."""
    return launch.stop.at_us if launch.stop else launch.closing_us or launch.failed_us


def _told_in(launch: Launch) -> Told | None:
    """Who speaks in a launch; None where it does not tell when it began."""
    began_us = launch.began_us
    return None if began_us is None else Told(launch.run_id, began_us, launch.ready_us or began_us)
