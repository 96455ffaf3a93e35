"""Which process and which launch a one-logger record belongs to: an application span is one process
of one launch. Numbers no attempts, and knows no phase.

A process says whose it is in the first event of its application span. What stands in no such span
of the dump is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ingest.collectors.json_values import text, whole
from ingest.collectors.one_logger_records import Record
from ingest.events import Event


@dataclass(slots=True)
class Launch:
    """The newest launch of a job: its ranks begin before any of them trains, and not before the one
    that it is called by; `has_looped`: some rank trained, validated or tested.
    """

    key: str
    begun_us: int
    ranks: set[int | None] = field(default_factory=set)
    has_trained: bool = False
    has_looped: bool = False


@dataclass(slots=True)
class Span:
    """A span that is open, with what was told of its start; `is_saved`: the checkpoint that it
    writes was said to be whole.
    """

    name: str
    start: Event
    is_saved: bool = False
    is_broken: bool = False


@dataclass(slots=True)
class Process:
    """What a process has said of itself. `of_run` stands on each of its events; it is empty until
    the process has said whose it is. `done`, `target` and `cadence` count iterations: completed,
    wanted, between two words on progress. `unconfirmed` are the saves that failed if it turns out
    to confirm saves. `uploads` are the steps of those async saves that are not yet said to be
    whole, `unsaid` the starts that are told only once it says so of one: of the ranks that save
    often only one does.
    """

    begun: Record
    of_run: Event
    launch: Launch
    last_count: int | None
    spans: dict[str, Span] = field(default_factory=dict)
    uploads: list[int] = field(default_factory=list)
    unsaid: list[Event] = field(default_factory=list)
    confirms_uploads: bool = False
    confirms_saves: bool = False
    unconfirmed: list[Event] = field(default_factory=list)
    error: str | None = None
    done: int = 0
    target: int | None = None
    cadence: int = 0

    def go_on(self, iteration: int) -> int:
        """It is through an iteration, which counts from 0: how many that are."""
        self.error = None
        self.done = iteration + 1
        return self.done


@dataclass(slots=True)
class Processes:
    """The processes that have not said that they ended, and the newest launch of each job."""

    _by_pid: dict[int | None, list[Process]] = field(default_factory=dict)
    _by_span: dict[str, Process] = field(default_factory=dict)
    _launches: dict[str, Launch] = field(default_factory=dict)

    def of(self, record: Record) -> Process | None:
        """Whose record it is: by its span, else by its pid. Hosts, and containers one after the
        other, may share a pid: the record then belongs to the process whose records it counts on.
        """
        process = self._by_span.get(record.span_id)
        if process is None and (alike := self._by_pid.get(record.pid)):
            process = alike[0] if len(alike) == 1 else _counted_on(alike, record)
        if process is not None:
            process.last_count = record.count
        return process

    def only(self, span_id: str, pid: int) -> Process | None:
        """As `of`, where there is no doubt and it has said whose it is; changes nothing."""
        process = self._by_span.get(span_id)
        if process is None:
            alike = self._by_pid.get(pid, ())
            process = alike[0] if len(alike) == 1 else None
        return process if process is not None and process.of_run else None

    def begin(self, record: Record) -> None:
        """An application span starts: a process that has not yet said whose it is."""
        process = Process(record, {}, Launch(record.span_id, record.at_us), record.count)
        self._by_pid.setdefault(record.pid, []).append(process)
        self._by_span[record.span_id] = process

    def introduce(self, process: Process, job_id: str, record: Record) -> None:
        """The process says whose it is. A rank that its job's newest launch does not have yet
        belongs to that launch, as long as none of its ranks trains. One that began before it may be
        of an earlier launch: files of ranks, one behind the other.
        """
        rank = whole(record.said.get("rank"))
        self._forget_those_before(job_id, rank)
        launch = self._launches.get(job_id)
        is_other = launch is None or launch.has_trained or process.begun.at_us < launch.begun_us
        if launch is None or is_other or rank is None or rank in launch.ranks:
            launch = self._launches[job_id] = process.launch
        launch.ranks.add(rank)
        process.launch = launch
        process.of_run = {"job_id": job_id, "run_key": launch.key}
        if rank is not None:
            process.of_run["rank"] = rank
        if host := text(record.said.get("node_name")):
            process.of_run["host"] = host

    def open(self, process: Process, record: Record, span: Span) -> None:
        """A span starts that a later record may speak of."""
        process.spans[record.span_id] = span
        self._by_span[record.span_id] = process

    def close(self, process: Process, span_id: str) -> Span | None:
        """A span stops; None if its start is not in the dump."""
        self._by_span.pop(span_id, None)
        return process.spans.pop(span_id, None)

    def forget(self, process: Process) -> None:
        """The process ended."""
        for span_id in [process.begun.span_id, *process.spans]:
            self._by_span.pop(span_id, None)
        alike = self._by_pid[process.begun.pid]
        alike.remove(process)
        if not alike:
            del self._by_pid[process.begun.pid]

    def _forget_those_before(self, job_id: str, rank: int | None) -> None:
        """A rank has begun anew, so its process of the launch before was killed without a word."""
        for alike in list(self._by_pid.values()):
            for one in list(alike):
                if one.of_run.get("job_id") == job_id and one.of_run.get("rank") == rank:
                    self.forget(one)


def _counted_on(alike: list[Process], record: Record) -> Process:
    """A process that was killed said nothing of it and may have come as far as one that lives: so
    those of the newest launch come first. Of several the one that spoke before the others did.
    """
    before = (record.count or 0) - 1
    counted = [one for one in alike if one.last_count == before] or alike[-1:]
    newest = (one for one in counted if one.launch is alike[-1].launch)
    return next(newest, counted[-1])
