"""What the lines of a trainer's log say, line by line: steps, saves, loads, failures, each with its
time and its rank. Knows no launch and makes no events.

Most lines say nothing: polars finds those that may, a batch at a time, and lines that differ only
in their digits are searched once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, takewhile
from typing import NamedTuple

from ingest.collectors.base import Block, Line
from ingest.collectors.lines import (
    NOBODY,
    Clock,
    Label,
    Said,
    breaks_off_at,
    marked,
    pieces,
    said,
    split_bar,
    split_label,
    split_time,
    torn_apart,
    without_colours,
    zones_apart_us,
)
from ingest.collectors.training_log_patterns import LOADS, Means, Pattern, Patterns
from ingest.collectors.training_log_shapes import Shapes, Step
from ingest.collectors.training_log_steps import KnownLines, Steps
from ingest.collectors.training_log_traces import HEADER, Trace, Traces
from ingest.collectors.units import MILLISECOND_US, SECOND_US
from ingest.events import Outcome

_LINES_AT_ONCE = 4_096
_BYTES_AT_ONCE = 4 * 1024 * 1024
_LOOKED_BACK = 256  # lines
_FEWEST_TURNS = 10  # of times that tell in which order a log is
_LONGEST_LINE = 65_536  # bytes that are looked at: no trainer says more at once
_LONGEST_TEXT = 2_000  # bytes
_LONGEST_NUMBER = 18  # digits
# what loggers put between the time and the message
_HEAD = re.compile(rb"\s*(?:(?:[\w.]{1,80}:\d{1,6}\s)?>>|(?:-\s[\w.]{1,80}\s){0,3}-)\s*")
_RULE = re.compile(rb"\s*-{10,200}\s*")
_MOST_ABOVE = 2  # lines
# how the bar of a train loop ends and begins: those of what it loads or writes have titles
_BAR_ENDS = ("s/it]", "it/s]")
_ENDS = tuple(end.encode() for end in _BAR_ENDS)
_UNTITLED = re.compile(rb"\s*\d{1,3}%\|")
_DRAWN = Pattern("progress bar", Means.STEP, (), _UNTITLED)
_ELAPSED = re.compile(
    rb"/(?P<total>\d{1,18}) \[(?:(?P<hours>\d{1,4}):)?(?P<minutes>\d\d):(?P<seconds>\d\d)<"
)
_BEGUN = re.compile(rb"\| 0/(\d{1,18}) \[00:00<\?")
_MOST_BARS = 64
# rich leaves a time out that is the same as on the line before
_SAME_TIME = re.compile(rb" {18,20}(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) ")
COUNTS = ("restart", "generation")  # of Slurm, of torchrun
# a process that is started anew says again what it said first, but for a line or two of it; one
# that only loads the same script, as workers that are spawned do, says less of it again
OPENING = Pattern("opening", Means.LAUNCH, (), re.compile(rb""), is_anyones=True)
_OPENING_LINES = 8
_SAID_AGAIN = 6
_ONCE = frozenset({Means.FACT, Means.LAUNCH})
_RANKS_APART_US = 60 * SECOND_US
_WORD = re.compile(rb"[^\W\d_]{3}")
# of it at least one line must be of what a process says once, as it starts up
_OF_START = re.compile(
    rb"(?i)config|argument|\bargs\b|namespace|command line|\bseed|device|cuda|\bgpus?\b|version|"
    rb"environment|world.?size|hostname|\bpython\b|\btorch\b|\bjax\b|output (?:dir|folder|path)"
)


class Sign(NamedTuple):
    """A line that a pattern finds something in, with the groups of the pattern.

    `at_us` is None where the line tells no time; `before_us` is that of the nearest line before
    it that tells one. A step without a time is a sign too, and so is a progress bar that moved on.
    """

    means: Means
    line_number: int
    at_us: int | None
    before_us: int | None
    label: Label
    pattern: Pattern
    told: dict[str, str]
    text: str
    is_year_guessed: bool

    @property
    def outcome(self) -> Outcome | None:
        """How the launch ended: an exit code of 0 is no failure."""
        is_good = not (self.told.get("exit_code") or "1").strip("0")
        is_failed = self.pattern.outcome is Outcome.FAILED
        return Outcome.COMPLETED if is_good and is_failed else self.pattern.outcome


class Signs:
    """Reads a log once. `first_us` is the first time that its first lines tell; `is_newest_first`:
    nearly each of them tells an earlier time than the one before; `has_signs`: some line meant
    something; `untimed_steps` counts the steps that no time was told of,
    `unnumbered_steps` those of which no number was. With `tells_launches` a log that says again
    what it began with tells of another launch: no launcher does.
    """

    def __init__(self, patterns: Patterns, clock: Clock, *, tells_launches: bool = False) -> None:
        self._tells_launches = tells_launches
        self.first_us: int | None = None
        self.is_newest_first = False
        self.has_signs = False
        self.untimed_steps = 0
        self.unnumbered_steps = 0
        self._patterns = patterns
        self._marks = [*(mark.decode() for mark in patterns.marks), HEADER.decode()]
        self._clock = clock
        self._shapes = Shapes(patterns)
        self._traces = Traces()
        self._batch: list[bytes] = []
        self._first = 1  # number of the first line of the batch
        self._before: list[bytes] = []
        self._torn: dict[int, Sequence[bytes]] = {}  # of the batch, by number
        self._drawn = 0  # how far the last progress bar was
        self._totals: set[str] = set()  # of the bars that began since a train loop did
        self._each: int | None = None  # steps of an epoch
        self._told_us: int | None = None  # the newest time that was told, up to this line
        self._told_at = 0
        self._opening: list[bytes] = []  # what the log begins with, without labels and times
        self._opened_us = 0  # when that was said last

    def read(self, lines: Iterable[Line]) -> Iterator[Sign | Step | Trace]:
        """All signs in the order of the lines, which are taken to be numbered without gaps."""
        told = iter(lines)
        first = next(told, None)
        if first is None:
            return
        self._first, _ = first
        for sign in self._read(_batches(chain([first], told)), are_many=False):
            assert not isinstance(sign, Steps)
            yield sign

    def read_many(self, blocks: Iterable[Block]) -> Iterator[Sign | Step | Steps | Trace]:
        """As `read`, but steps of lines that are alike come together."""
        return self._read(_cut(blocks), are_many=True)

    def _read(
        self, batches: Iterable[list[bytes]], *, are_many: bool
    ) -> Iterator[Sign | Step | Steps | Trace]:
        for batch in batches:
            is_first = not self._batch
            self._first += len(self._batch)
            self._before, self._batch = self._batch[-_LOOKED_BACK:], batch
            self._torn.clear()
            if is_first:
                self.first_us = self._first_time()
                self.is_newest_first = self._is_newest_first()
                if self._tells_launches:
                    self._opened_us, self._opening = self._said_from(0)
            yield from self._signs(are_many=are_many)
        yield from self._traces.close()

    def last_us(self) -> int | None:
        """The time of the last line that tells one, of the last that were read."""
        return self._time_before(len(self._batch))

    def times_between(self, since_us: int, line_number: int) -> list[int]:
        """The times that the lines before one tell, back to the first that is not after `since_us`,
        of the last that were read; newest first.
        """
        near = reversed(self._near(line_number - self._first))
        parts = chain(
            self._torn.get(line_number, ()),
            chain.from_iterable(
                reversed(torn_apart(each, self._clock) or (each,)) for each in near
            ),
        )
        times = (_time_of(part, self._clock) for part in parts)
        told = (at_us for at_us in times if at_us is not None)
        return list(takewhile(lambda at_us: at_us > since_us, told))

    def _signs(self, *, are_many: bool) -> list[Sign | Step | Steps | Trace]:
        """Only marked lines matter, but while a traceback is open each line may be one of it."""
        recall, batch, traces = self._shapes.recall, self._batch, self._traces
        signs: list[Sign | Step | Steps | Trace] = []
        places = marked(batch, [*self._marks, *_BAR_ENDS, *self._first_words()])
        known = KnownLines(self._shapes, [batch[index] for index in places]) if are_many else None
        passed = place = 0
        while place < len(places):
            index = places[place]
            if traces.are_open:
                signs += self._rest_of_traces(passed, index)
            if (again := self._opens_again(index)) is not None:
                signs.append(again)
            steps = known.steps(place) if known and not traces.are_open else None
            if steps is not None:
                signs.append(steps)
                place += len(steps.lines)
                passed = places[place - 1] + 1
                continue
            step = None if traces.are_open else recall(batch[index])
            if step is None:
                signs += self._line(index)
            elif not isinstance(step, str):
                signs.append(step)
            passed = index + 1
            place += 1
        signs += self._rest_of_traces(passed, len(batch))
        return signs

    def _first_words(self) -> list[str]:
        try:
            return [line.decode() for line in self._opening[:1]]
        except UnicodeDecodeError:
            self._opening = []
            return []

    def _said_from(self, index: int) -> tuple[int, list[bytes]]:
        """The first time that some lines of the batch tell, and what they say; nothing where they
        tell no time, say nothing of a start, or something that a trainer does again and again.
        """
        told = [
            said(line[:_LONGEST_LINE], self._clock)
            for line in self._batch[index : index + _OPENING_LINES]
        ]
        at_us = next((one.at_us for one in told if one.at_us is not None), None)
        if at_us is None or len(told) < _OPENING_LINES:
            return 0, []
        texts = [one.text for one in told]
        is_start = _WORD.search(texts[0]) is not None and any(map(_OF_START.search, texts))
        found = (each for text in texts for each, _ in self._patterns.found_in(text))
        return at_us, texts if is_start and all(each.means in _ONCE for each in found) else []

    def _opens_again(self, index: int) -> Sign | None:
        """The launch that a line begins: with those after it it says what the log began with."""
        is_first = not index and not self._before
        if is_first or not self._opening or self._opening[0] not in self._batch[index]:
            return None
        at_us, opening = self._said_from(index)
        again = [
            text
            for text, first in zip(opening, self._opening, strict=False)
            if text == first and _WORD.search(text)
        ]
        if again[:1] != self._opening[:1] or len(again) < _SAID_AGAIN:
            return None
        # each rank says it, or one process says it twice as it starts: it tells nothing here
        if at_us - self._opened_us <= _RANKS_APART_US:
            self._opening = []
            return None
        self._opened_us = at_us
        number, text = self._first + index, again[0].decode(errors="replace")
        return Sign(Means.LAUNCH, number, at_us, None, NOBODY, OPENING, {}, text, False)

    def _rest_of_traces(self, passed: int, index: int) -> Iterator[Sign | Step | Trace]:
        while self._traces.are_open and passed < index:
            yield from self._line(passed)
            passed += 1

    def _line(self, index: int) -> Iterator[Sign | Step | Trace]:
        number, line = self._first + index, self._batch[index]
        if b"\r" not in line and b"%|" not in line:
            yield from self._piece(index, number, line)
            return
        told = pieces(line)
        first = said(told[0][:_LONGEST_LINE] if told else b"", self._clock)
        yield from self._bar(number, line, first, told[1:])
        are_open = self._traces.are_open
        for at, piece in enumerate(told):
            if not (are_open or HEADER in piece or self._patterns.may_read(piece)):
                continue
            if not at:
                yield from self._piece(index, number, piece)
                continue
            stamp = first if at == len(told) - 1 and _is_stamp(first) else None
            yield from self._piece(index, number, piece, told[at - 1], stamp, first.label)

    def _bar(self, number: int, line: bytes, first: Said, behind: list[bytes]) -> Iterator[Sign]:
        """How far the bars have come that a line begins with, if they moved on: what ends a loop
        draws its bar again. How long its loop has taken is told of a bar whose begin was seen: one
        around the train loop may have begun long before.
        """
        if len(self._totals) < _MOST_BARS:
            self._totals.update(total.decode() for total in _BEGUN.findall(line))
        drawn = _drawn([first.text, *behind] if first.text.strip() else behind)
        if drawn is None:
            return
        before, self._drawn = self._drawn, int(drawn["step"])
        if drawn.pop("total", "") not in self._totals:
            drawn = {"step": drawn["step"]}
        if self._drawn > before:
            yield Sign(Means.STEP, number, None, None, first.label, _DRAWN, drawn, "", False)

    def _head(self, index: int, label: Label) -> Said | None:
        """What a logger put before a message that begins with a line break, on the line before."""
        before = pieces(self._above(index))
        if not before:
            return None
        told = said(split_bar(before[-1][:_LONGEST_LINE])[1], self._clock)
        own = told.label.or_else(said(before[0][:_LONGEST_LINE], self._clock).label)
        return told if own == label and _HEAD.fullmatch(told.text) else None

    def _above(self, index: int) -> bytes:
        """The line before one of the batch, or above the rule that is drawn there."""
        near = (
            self._batch[:index] if index < _MOST_ABOVE else self._batch[index - _MOST_ABOVE : index]
        )
        *above, before = [b"", *self._before[-_MOST_ABOVE:], *near][-_MOST_ABOVE:]
        return above[0] if above and _RULE.fullmatch(split_label(before)[1]) else before

    def _piece(
        self,
        index: int,
        number: int,
        line: bytes,
        before: bytes = b"",
        stamp: Said | None = None,
        label: Label = NOBODY,
    ) -> Iterator[Sign | Step | Trace]:
        """`before` is what this piece of a line overwrote. `stamp` was put before the whole line
        once it was written, `label` once it was begun.
        """
        line = line[:_LONGEST_LINE]
        done, rest = split_bar(line)
        done = split_bar(before)[0] if done is None and before else done
        text = without_colours(rest)
        found = self._patterns.found_in(text)
        may_be_trace = self._traces.are_open or HEADER in text
        if not found and not may_be_trace:
            self._shapes.learn_nothing(line)
            return
        if torn := torn_apart(text, self._clock) or _torn_by_launch(text, found):
            self._torn[number] = torn[:1]
            for part in torn:
                yield from self._piece(index, number, part)
            return
        if HEADER in text and (broken := breaks_off_at(text, self._clock)):
            stamp = stamp or said(text, self._clock)
            for part in (text[:broken], text[broken:]):
                yield from self._piece(index, number, part, b"", stamp)
            return
        told = said(text, self._clock)
        if rest is not line:
            whole = said(line, self._clock)
            stamp = stamp or whole  # that of a pipe, before the bar
            label = whole.label.or_else(label)
        told = told._replace(label=told.label.or_else(label))
        if told.at_us is not None and stamp is not None and stamp.at_us is not None:
            own_us = told.at_us
            told = told._replace(at_us=own_us + zones_apart_us(own_us, stamp.at_us))
        if told.at_us is None and not (stamp or before or may_be_trace):
            stamp = self._head(index, told.label)
            if stamp is None and _SAME_TIME.match(told.text):
                stamp = told._replace(at_us=self._time_before(index))
        if told.at_us is None and stamp is not None and stamp.at_us is not None:
            label = stamp.label if told.label == NOBODY else told.label
            told = stamp._replace(label=label, text=told.text)
        if told.at_us is not None:
            self._told_us, self._told_at = told.at_us, number
        if may_be_trace:
            before_us = self._time_before(index) if told.at_us is None else told.at_us
            is_timed = told.at_us is not None
            traces = self._traces.hear(number, before_us, told.label, told.text, is_timed=is_timed)
            if traces is not None:
                yield from traces
                return
        self.has_signs |= bool(found)
        if self._traces.are_open and any(_may_begin(*each) for each in found):
            yield from self._traces.break_off(told.at_us)
        for pattern, match in found:
            if pattern.means is Means.TRAINING:
                self._totals.clear()
            if pattern.means is Means.STEP:
                step = _step(told, match, done)
                self._each = _whole(match.groupdict().get("epoch_steps")) or self._each
                self.untimed_steps += told.at_us is None
                self.unnumbered_steps += told.at_us is not None and step is None
                if step is not None:
                    is_plain = rest is line and stamp is None
                    if len(found) == 1 and is_plain and _is_digit_by_digit(match):
                        self._shapes.learn(line, step, match, told.text)
                    yield step
                elif told.at_us is None and (counted := _number(match, done)) is not None:
                    sign = self._sign(index, number, told, pattern, match)
                    yield sign._replace(told={"step": str(counted)})
            else:
                yield self._sign(index, number, told, pattern, match)

    def _sign(
        self, index: int, number: int, told: Said, pattern: Pattern, match: re.Match[bytes]
    ) -> Sign:
        before_us = self._time_before(index) if told.at_us is None else None
        groups = match.groupdict()
        inside = split_time(groups["at"], self._clock) if groups.get("at") else None
        at_us = told.at_us if inside is None else inside.at_us
        if inside is not None and told.at_us is not None:
            at_us = inside.at_us + zones_apart_us(inside.at_us, told.at_us)
        return Sign(
            pattern.means,
            number,
            at_us,
            before_us,
            told.label,
            pattern,
            self._of_run(
                pattern,
                {name: value.decode(errors="replace") for name, value in groups.items() if value},
            ),
            told.text[:_LONGEST_TEXT].decode(errors="replace").strip(" -|>]"),
            told.is_year_guessed,
        )

    def _of_run(self, pattern: Pattern, told: dict[str, str]) -> dict[str, str]:
        """What a line tells; of a load with the step that the epoch begins at which comes next, if
        it tells no other and lines before told how many steps an epoch has.
        """
        epoch = _whole(told.get("epoch", "").encode()) if pattern.means in LOADS else None
        if epoch and self._each is not None and "step" not in told:
            told["step"] = str((epoch - 1) * self._each)
        return told

    def _first_time(self) -> int | None:
        times = (_time_of(line, self._clock) for line in self._batch)
        return next((at_us for at_us in times if at_us is not None), None)

    def _is_newest_first(self) -> bool:
        """Ranks that write into one another go back and forth; a list of files that a log begins
        with may have the newest first.
        """
        some = self._batch[:: 1 + len(self._batch) // _LOOKED_BACK]
        times = (_time_of(line, self._clock) for line in some)
        told = [at_us for at_us in times if at_us is not None]
        turns = [newer < older for older, newer in pairwise(told) if newer != older]
        return len(turns) >= _FEWEST_TURNS and 10 * sum(turns) >= 9 * len(turns)

    def _near(self, index: int) -> list[bytes]:
        """The lines before one of the batch."""
        near = self._batch[max(0, index - _LOOKED_BACK) : index]
        return self._before[len(near) :] + near

    def _time_before(self, index: int) -> int | None:
        """The time of the nearest line that tells one. What was looked through is not again."""
        near = self._near(index)
        number = self._first + index
        told_at, self._told_at = self._told_at, max(self._told_at, number - 1)
        for line in reversed(near):
            number -= 1
            if number <= told_at:
                break
            at_us = _time_of(line, self._clock)
            if at_us is not None:
                self._told_us = at_us
                break
        return self._told_us


def _is_stamp(first: Said) -> bool:
    """Whether a line begins with a time and nothing else but bars."""
    return first.at_us is not None and not split_bar(first.text)[1].strip()


def drawn_on(line: bytes) -> bytes:
    """A line up to the end of the last bar that was drawn on it; nothing where none was."""
    ends = [place + len(end) for end in _ENDS if (place := line.rfind(end)) >= 0]
    return line[: max(ends)] if ends and b"\r" in line else b""


def _batches(lines: Iterable[Line]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for _, line in lines:
        batch.append(line)
        size += len(line)
        if size >= _BYTES_AT_ONCE or len(batch) >= _LINES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _cut(blocks: Iterable[Block]) -> Iterator[list[bytes]]:
    """The same batches, of the lines of blocks."""
    rest: list[bytes] = []
    for _, block in blocks:
        rest += block.split(b"\n")
        begun, left = 0, sum(map(len, rest))
        while len(rest) - begun >= _LINES_AT_ONCE or left >= _BYTES_AT_ONCE:
            batch = rest[begun : begun + _LINES_AT_ONCE]
            if sum(map(len, batch)) >= _BYTES_AT_ONCE:
                batch = next(_batches(enumerate(batch)))
            begun, left = begun + len(batch), left - sum(map(len, batch))
            yield batch
        del rest[:begun]
    if rest:
        yield rest


def _may_begin(pattern: Pattern, match: re.Match[bytes]) -> bool:
    """Whether a line may be the first of a launch: counts of Slurm and torchrun come before it."""
    return pattern.means is Means.LAUNCH or not match.groupdict().keys().isdisjoint(COUNTS)


def _torn_by_launch(
    text: bytes, found: Sequence[tuple[Pattern, re.Match[bytes]]]
) -> tuple[bytes, bytes] | None:
    """A launch's first line that tells no time, right behind a word that a killed one left."""
    for pattern, match in found:
        begin = match.start()
        if pattern.means is Means.LAUNCH and match[0][:1].isalpha() and text[:begin][-1:].isalnum():
            return text[:begin], text[begin:]
    return None


def _time_of(line: bytes, clock: Clock) -> int | None:
    told = pieces(line)
    for place in reversed(range(max(0, len(told) - _LOOKED_BACK), len(told))):
        piece = told[place]
        behind = split_bar(piece)[1]
        at_us = said(behind, clock).at_us
        # that of a pipe, before the bar
        stamp_us = said(told[0], clock).at_us if place or behind is not piece else None
        if at_us is not None and stamp_us is not None:
            return at_us + zones_apart_us(at_us, stamp_us)
        if at_us is None and behind is not piece:
            at_us = said(piece, clock).at_us
        if at_us is not None:
            return at_us
    return None


def _drawn(told: Sequence[bytes]) -> dict[str, str] | None:
    """How far the last of the bars is before what is written behind them, or over them, and how
    long its loop has taken.
    """
    bars = list(takewhile(lambda piece: piece.rstrip().endswith(_ENDS), told))
    for piece in (*told[len(bars) : len(bars) + 1], *bars[-1:]):
        done, rest = split_bar(piece) if _UNTITLED.match(piece) else (None, b"")
        if done is not None:
            elapsed = [*_ELAPSED.finditer(piece, 0, len(piece) - len(rest))][-1:]
            lengths = elapsed[0].groupdict() if elapsed else {}
            known = {name: value.decode() for name, value in lengths.items() if value}
            return {"step": str(done), **known}
    return None


def _step(told: Said, match: re.Match[bytes], done: int | None) -> Step | None:
    """The step of a line that tells its time; without a number of its own it has the one of the
    progress bar before it.
    """
    step = _number(match, done)
    if told.at_us is None or step is None:
        return None
    groups = match.groupdict()
    ms, seconds = groups.get("ms"), groups.get("seconds")
    each = ms or seconds
    return Step(
        told.at_us,
        told.label,
        step,
        _whole(groups.get("samples")),
        each or None,
        MILLISECOND_US if ms else SECOND_US,
        told.is_year_guessed,
    )


def _number(match: re.Match[bytes], done: int | None) -> int | None:
    groups = match.groupdict()
    return _counted(groups) if groups.get("step") else done


def _counted(groups: Mapping[str, bytes | None]) -> int | None:
    """The step of a line; one that its epoch counts anew comes after those of the epochs before."""
    step, each = _whole(groups["step"]), _whole(groups.get("epoch_steps"))
    epoch, before = _whole(groups.get("epoch")), _whole(groups.get("epoch0"))
    if before is None and epoch:
        before = epoch - 1
    return step if step is None or not before or not each else before * each + step


def _is_digit_by_digit(match: re.Match[bytes]) -> bool:
    """Whether the line has a step of its own that no epoch counts, and no comma in its numbers."""
    told = match.groupdict()
    return (
        not (told.get("epoch") or told.get("epoch0"))
        and (told.get("step") or b"").isdigit()
        and (told.get("samples") or b"0").isdigit()
    )


def _whole(told: bytes | None) -> int | None:
    digits = (told or b"").replace(b",", b"")
    return int(digits) if digits.isdigit() and len(digits) <= _LONGEST_NUMBER else None
