"""What torchrun and the runtime of its workers write about a run: event records, the agent's log,
ranks' tracebacks and error files, records of the distributed checkpoint.

Each file tells a part of a run. None of them tells when a step was trained, but for lines of the
trainer in the agent's log, which are read as a trainer's log is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain

from ingest.collectors.base import Collector, Dump, Line, Reading
from ingest.collectors.lines import Clock, clock_of, marked, said
from ingest.collectors.repeated_hour import told_apart
from ingest.collectors.torchelastic_reader import Reader
from ingest.collectors.torchelastic_runs import (
    is_misnamed,
    own_folder,
    run_of,
    timed_neighbour,
)
from ingest.collectors.torchelastic_signs import MARKS, recognises
from ingest.collectors.torchelastic_training import Again, Begun
from ingest.collectors.training_log import trainer_begins, trainer_events
from ingest.collectors.training_log_signs import Sign, drawn_on
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected, Says

_LINES_AT_ONCE = 4_096
_BYTES_AT_ONCE = 4 * 1024 * 1024
_LOOKED_BACK = 256  # lines, for the time of one that tells none
_MOST_SET_ASIDE = 1_000  # lines before the first that can be placed

_LOG = logging.getLogger("ingest")


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events and set-aside lines in file order; of a launch whose end is not told, at the file's
    end. Raises UnreadableDump where nothing can be placed in time, or in a run.
    """
    clock = clock_of(dump, reading)
    dump = told_apart(dump, clock)
    reader = Reader(clock, run_of(dump, reading.cluster))
    set_aside: list[Rejected] = []
    has_placed = False
    for told in _told(dump, clock, reader, reading):
        if isinstance(told, Rejected):
            if has_placed or len(set_aside) >= _MOST_SET_ASIDE:
                yield told
            else:
                set_aside.append(told)
            continue
        if not told["job_id"]:
            raise UnreadableDump(
                f"{dump.name} says nowhere which run it is of. Give it as a file in the folder of "
                "its run, beside the agent's log or its event records."
            )
        has_placed = True
        yield told
    if reader.is_year_guessed:
        _LOG.warning(
            "%s: its times tell no year; the year of the file's last change was taken", dump.name
        )
    if not has_placed:
        raise UnreadableDump(f"{dump.name} {_why_not(dump, reader)}")
    yield from set_aside


def _told(dump: Dump, clock: Clock, reader: Reader, reading: Reading) -> Iterator[Event | Rejected]:
    batches = _batches(dump.lines())
    for batch in batches:
        if reader.trainer_begins is None:
            reader.trainer_begins = cache(partial(trainer_begins, dump, batch, reading, clock))
        others: list[Line] = []
        yield from _heard(reader, batch, others)
        if reader.has_agent:
            trainer = partial(trainer_events, reading=reading, clock=clock)
            yield from _with_trainer(dump, reader, trainer, chain([others], batches))
    yield from reader.close()


def _with_trainer(
    dump: Dump,
    reader: Reader,
    trainer: Callable[[Dump], Iterator[Event | Sign | Again | Begun]],
    batches: Iterator[list[Line]],
) -> Iterator[Event | Rejected]:
    """What torchrun says, and what the trainer says on the other lines, as both wrote into one
    file. Of the first batch torchrun's lines are heard already.
    """
    heard: list[Event | Rejected] = []

    def overheard() -> Iterator[Line]:
        yield from next(batches)
        for batch in batches:
            others: list[Line] = []
            heard.extend(_heard(reader, batch, others))
            yield from others

    for told in trainer(replace(dump, lines=overheard)):
        yield from heard
        heard.clear()
        if isinstance(told, Sign):
            yield from reader.of_evidence(told)
        elif isinstance(told, Again):
            yield from reader.of_step_again(told)
        elif isinstance(told, Begun):
            reader.of_begin(told.at_us)
        else:
            yield from reader.of_trainer(told)
    yield from heard
    yield from reader.close_trainer()


def _heard(reader: Reader, batch: list[Line], others: list[Line]) -> Iterator[Event | Rejected]:
    """What those lines tell that are marked, or that follow one which goes on. All are added to
    `others`, empty where they are torchrun's: so each keeps its number.
    """
    at = 0
    for place in [*marked([line for _, line in batch], MARKS), len(batch)]:
        while at < place and (reader.is_busy or batch[at][0] == 1):
            yield from reader.hear(*batch[at], batch[max(0, at - _LOOKED_BACK) : at])
            others.append(_without(batch[at], reader))
            at += 1
            _open(reader, batch, at)
        if at <= place:
            others += batch[at:place]
            at = place
            if place < len(batch):
                yield from reader.hear(*batch[place], batch[max(0, place - _LOOKED_BACK) : place])
                others.append(_without(batch[place], reader))
                at = place + 1
                _open(reader, batch, at)


def _open(reader: Reader, batch: Sequence[Line], at: int) -> None:
    """When what was launched last began: the first time that its log tells."""
    if reader.is_opened:
        reader.is_opened = False
        ahead = batch[at : at + _LOOKED_BACK]
        times = (said(line, reader.clock).at_us for _, line in ahead)
        reader.opened_us = next((at_us for at_us in times if at_us is not None), None)


def _without(line: Line, reader: Reader) -> Line:
    """A line without what is torchrun's; bars that were drawn before it are the trainer's."""
    number, text = line
    return (number, drawn_on(text)) if reader.took_it else line


def _batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line[1])
        if len(batch) >= _LINES_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _why_not(dump: Dump, reader: Reader) -> str:
    if reader.is_undated:
        return (
            "tells times without a year, and standard input has no time of its own. "
            "Give it as a file."
        )
    if reader.has_untimed:
        neighbour = timed_neighbour(dump, reader.run.run_id)
        if neighbour is None:
            return (
                "holds event records whose time is 0, so they cannot be placed. "
                "Let the event handler write the log record's time beside each."
            )
        return f"holds event records whose time is 0; {neighbour} tells of the same run with times."
    if reader.has_lost:
        return (
            "tells of errors, but not when they happened. "
            "The worker's error.json, or the agent's log, tells it."
        )
    if reader.is_timeless:
        return (
            "tells what torchrun did, but not when: releases 1.10 to 2.0 write no times. "
            "Event records, error files and the scheduler's dump tell them."
        )
    if reader.is_silent:
        return (
            "tells that torchrun began, and nothing of what became of it. "
            "With LOGLEVEL=INFO in its environment it does."
        )
    return "holds nothing that torchrun says of a run."


TORCHELASTIC = Collector(
    name="torchelastic",
    says=Says(training=False, saves=True, resumes=True),
    recognises=recognises,
    read=read,
    is_named_by_path=True,
    is_misnamed=is_misnamed,
    names_others_in=own_folder,
)
