"""Which cause a message, an exit or a whole log is given, by which rule, on which line.

Pure functions of what was told and of the rules: run again under other rules, they judge anew.
Never sees a warehouse; which event of an attempt is its cause is chosen in queries/.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from ingest import causes_exits, causes_lines
from ingest.causes_rules import INFORMATIONAL_RANK, Kind, Rule, RuleBook, shipped

MESSAGE_CHARACTERS = 64 * 1024
_LINES_AT_ONCE = 100_000
_CHARACTERS_AT_ONCE = 16 * 1024 * 1024
_EXPLAINED_RANK = 60  # a message this near the root explains an exit; the number adds nothing
_OUTLIVED_STEPS = 5  # the other ranks of a broken run get a step further at the most

COLUMNS = {
    "cause_category": pl.String(),
    "cause_rule": pl.String(),
    "cause_rank": pl.Int64(),
    "evidence": pl.String(),
    "evidence_line": pl.Int64(),
}

Line = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Classified:
    """What one event proves. `rank`: the least of an attempt is its cause, unless it is 99.

    `line`: which line of the message, from 0; of an exit, 0.
    """

    category: str
    rule: str
    rank: int
    evidence: str
    line: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that judged lines of a log: the first of them that counts, and how many.

    `went_on`: the run told of further steps after it, so it did not end the log.
    """

    rule: Rule
    line_number: int
    evidence: str
    lines: int
    went_on: bool = False

    @property
    def can_be_root(self) -> bool:
        return self.rule.kind is not Kind.INFORMATIONAL and not self.went_on


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a log ended: its category, the rule that decided, and the line that shows it."""

    category: str
    rule: str
    evidence: str
    line_number: int


def classify_message(
    message: str | None,
    exit_code: int | None = None,
    signal: int | None = None,
    book: RuleBook | None = None,
) -> Classified | None:
    """What one event's evidence proves. None: no rule knows it."""
    of_message = None
    if message:
        text = causes_lines.as_series([message[:MESSAGE_CHARACTERS]])
        (of_message,) = _of_messages(text, book or shipped())
    return _together(of_message, exit_code, signal)


def classify_frame(frame: pl.DataFrame, book: RuleBook | None = None) -> pl.DataFrame:
    """The frame with COLUMNS behind its own: null where no rule knows a row.

    Reads `message`, `exit_code`, `signal` and, if it is there, `attrs`, whose `line` is where in
    its dump the message begins. What is only informational is no cause: it has a rule and no
    category. The work is that of the different messages.
    """
    book = book or shipped()
    evidence = frame.select(
        pl.col("message").cast(pl.String).str.slice(0, MESSAGE_CHARACTERS),
        pl.col("exit_code", "signal").cast(pl.Int64),
    )
    different = evidence.unique(maintain_order=True)
    messages = different["message"].unique(maintain_order=True).drop_nulls()
    of_message = dict(zip(messages, _of_messages(messages, book), strict=True))
    rows = [
        _row(_together(of_message.get(message), exit_code, signal))
        for message, exit_code, signal in different.iter_rows()
    ]
    judged = different.hstack(pl.DataFrame(rows, schema=COLUMNS, orient="row"))
    told = evidence.join(
        judged, on=["message", "exit_code", "signal"], how="left", nulls_equal=True,
        maintain_order="left",
    )  # fmt: skip
    return frame.hstack(
        told.select(list(COLUMNS)).with_columns(told["evidence_line"] + _begins(frame))
    )


def classify(lines: Iterable[Line], book: RuleBook | None = None) -> Cause | None:
    """The cause of a whole log: of its numbered lines, in order. None: no line tells of one."""
    root = next(iter(weighed(lines, book)), None)
    if root is None or not root.can_be_root:
        return None
    return Cause(root.rule.category, root.rule.name, root.evidence, root.line_number)


def weighed(lines: Iterable[Line], book: RuleBook | None = None) -> list[Finding]:
    """All that the rules find in a log, the root first, then the others as they lost.

    Memory is bounded by the number of rules. First the least rank, then the earliest line; what the
    run outlived and what is only informational comes last.
    """
    log = _Log(book or shipped())
    for numbers, texts in _batches(lines):
        log.read(numbers, texts)
    return log.weighed()


def _of_messages(messages: pl.Series, book: RuleBook) -> list[Classified | None]:
    """The nearest to the root of each message's lines; of equals the first."""
    told: list[Classified | None] = [None] * len(messages)
    lines = pl.DataFrame({"message": range(len(messages)), "text": messages}).with_columns(
        pl.col("text").str.split("\n")
    )
    lines = lines.with_columns(
        line=pl.int_ranges(0, pl.col("text").list.len())
    ).explode("text", "line")  # fmt: skip
    places, rules, texts = causes_lines.judged(lines["text"], book)
    found = lines[places]
    for message, line, rule_number, text in zip(
        found["message"], found["line"], rules, texts, strict=True
    ):
        rule = book.rules[rule_number]
        before = told[message]
        if before is None or rule.rank < before.rank:
            shown = causes_lines.evidence(text, rule.pattern)
            told[message] = Classified(rule.category, rule.name, rule.rank, shown, line)
    return told


def _together(
    of_message: Classified | None, exit_code: int | None, signal: int | None
) -> Classified | None:
    exited = causes_exits.judged(exit_code, signal)
    if exited is None:
        return of_message
    if of_message is not None and of_message.rank <= max(exited.rank, _EXPLAINED_RANK):
        return of_message
    return Classified(exited.category, exited.rule, exited.rank, exited.evidence, 0)


def _row(told: Classified | None) -> tuple[object, ...]:
    if told is None:
        return (None,) * len(COLUMNS)
    category = None if told.rank == INFORMATIONAL_RANK else told.category
    return category, told.rule, told.rank, told.evidence, told.line


def _begins(frame: pl.DataFrame) -> pl.Series:
    """Where each row's message begins in its dump; null where that is not told."""
    if "attrs" not in frame.columns:
        return pl.Series("line", [None] * frame.height, dtype=pl.Int64)
    found = frame["attrs"].cast(pl.String).str.extract(r'"line": ?([0-9]{1,15})\b')
    return found.cast(pl.Int64)


def _batches(lines: Iterable[Line]) -> Iterable[tuple[list[int], list[str]]]:
    numbers: list[int] = []
    texts: list[str] = []
    characters = 0
    for number, text in lines:
        numbers.append(number)
        texts.append(text[:MESSAGE_CHARACTERS])
        characters += len(text)
        if len(numbers) == _LINES_AT_ONCE or characters > _CHARACTERS_AT_ONCE:
            yield numbers, texts
            numbers, texts, characters = [], [], 0
    yield numbers, texts


@dataclass(slots=True)
class _Log:
    """What was found so far. `advances` counts the steps that the run told of, each once."""

    book: RuleBook
    advances: int = 0
    furthest: float = -math.inf
    found: dict[int, tuple[Finding, int]] = field(default_factory=dict)

    def read(self, numbers: list[int], texts: list[str]) -> None:
        lines = causes_lines.as_series(texts)
        advances = self._advances(causes_lines.steps(lines))
        for place, rule, text in zip(*causes_lines.judged(lines, self.book), strict=True):
            self._add(rule, numbers[place], text, int(advances[place]))

    def weighed(self) -> list[Finding]:
        findings = [
            (replace(finding, went_on=self.advances - at >= _OUTLIVED_STEPS), rule)
            for rule, (finding, at) in self.found.items()
        ]
        findings.sort(key=lambda one: (not one[0].can_be_root, *_precedence(*one)))
        return [finding for finding, _ in findings]

    def _advances(self, steps: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """How many times the run had got further than ever, at each line."""
        known = np.concatenate(([self.furthest], np.nan_to_num(steps, nan=-math.inf)))
        furthest = np.maximum.accumulate(known)
        advances = self.advances + np.cumsum(furthest[1:] > furthest[:-1])
        if len(steps):
            self.advances, self.furthest = int(advances[-1]), float(furthest[-1])
        return advances

    def _add(self, rule_number: int, line_number: int, text: str, advances: int) -> None:
        rule = self.book.rules[rule_number]
        before = self.found.get(rule_number)
        lines = 1 if before is None else before[0].lines + 1
        if before is not None and advances - before[1] < _OUTLIVED_STEPS:
            self.found[rule_number] = replace(before[0], lines=lines), before[1]
            return
        evidence = causes_lines.evidence(text, rule.pattern)
        self.found[rule_number] = Finding(rule, line_number, evidence, lines), advances


def _precedence(finding: Finding, rule: int) -> tuple[int, int, int]:
    return finding.rule.rank, finding.line_number, rule
