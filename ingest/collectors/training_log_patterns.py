"""The named patterns that give a trainer's line its meaning: those that come with the project
(`ingest/training_logs.toml`) and those of the user (`[[training_log]]` tables in `ett.toml`).

Knows no times, no labels and no events.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final

from ingest.errors import UnusableArguments
from ingest.events import Outcome

_BUILT_IN = Path(__file__).parent.parent / "training_logs.toml"
_YES_OR_NO = ("ok", "confirmed", "part", "beside", "anyones")
_KEYS = frozenset({"name", "means", "contains", "pattern", "mode", "outcome", *_YES_OR_NO})
_GROUPS = frozenset(
    [
        "step",
        "first_step",
        "epoch",
        "epoch0",
        "epoch_steps",
        "samples",
        "seconds",
        "minutes",
        "hours",
        "times",
        "ms",
        "run",
        "scheduler_job",
        "restart",
        "generation",
        "world_size",
        "gpu_type",
        "exit_code",
        "at",
    ]
)
_MODES = ("sync", "async")
_ANY_DIGITS = re.compile(rb"0-9|\{\d*,?\d*\}|\(\?P<\w+>")
_DIGIT = re.compile(rb"\d")
ONE_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_MOST = 2_000  # shapes of lines
_LONGEST = 2_000  # bytes of one


class Means(StrEnum):
    """What a line says that a pattern fits."""

    LAUNCH = "launch"  # a trainer begins
    FACT = "fact"  # who or what the run is; a line may tell facts beside its meaning
    FRESH = "fresh"  # it starts without a checkpoint
    LOADING = "loading"
    LOADED = "loaded"
    TRAINING = "training"  # the train loop is entered
    STEP = "step"  # a step is done; step 0 is none
    TRAINED = "trained"  # the train loop is left
    SAVING = "saving"  # training is blocked by a save, which begins or goes on
    SAVED = "saved"  # training goes on
    PERSISTED = "persisted"  # the background part of an async save is done
    EVALUATING = "evaluating"
    EVALUATED = "evaluated"
    FAILURE = "failure"  # evidence of a failure
    END = "end"  # the launch ends
    QUOTING = "quoting"  # what was written before is told again: of that failures alone count
    QUOTED = "quoted"  # what comes next is not


LOADS: Final = frozenset({Means.LOADING, Means.LOADED})


@dataclass(frozen=True, slots=True)
class Pattern:
    """A line that holds one of `contains` and that `regex` finds something in has this meaning.

    `mode`, `ok`, `is_confirmed` (another line tells when it is written) and `is_part` (it may have
    begun before) are of a save, `outcome` is how the launch ended or will have ended. What
    `is_beside` was over before what the line means else. Of `is_anyones` any program may say so: no
    file is known by it.
    """

    name: str
    means: Means
    contains: tuple[bytes, ...]
    regex: re.Pattern[bytes]
    mode: str | None = None
    ok: bool = True
    is_confirmed: bool = False
    is_part: bool = False
    is_beside: bool = False
    is_anyones: bool = False
    outcome: Outcome | None = None


_Chosen = tuple[Pattern, tuple[bytes, ...], Callable[[bytes], re.Match[bytes] | None]]


class Patterns:
    """Patterns in the order they are tried: of the meanings of a line the first counts, of facts
    and of what is told beside them all do.

    `marks` are the texts of which one stands on every line that matters. Lines that hold one of
    `particular` may mean different things though only their numbers differ.
    """

    def __init__(self, chosen: tuple[Pattern, ...]) -> None:
        told = {mark for pattern in chosen for mark in pattern.contains}
        # a line that holds a mark holds those within it: they are looked for file by file, and how
        # long that takes to prepare grows with their number
        self.marks = sorted(
            mark for mark in told if not any(each in mark and each != mark for each in told)
        )
        self.particular = tuple(
            mark
            for pattern in chosen
            if _DIGIT.search(_ANY_DIGITS.sub(b"", pattern.regex.pattern))
            for mark in pattern.contains
        )
        self._chosen: list[_Chosen] = [(one, one.contains, one.regex.search) for one in chosen]
        self._places = [
            (mark.translate(ONE_DIGIT), place)
            for place, pattern in enumerate(chosen)
            for mark in pattern.contains
        ]
        self._likely: dict[bytes, list[_Chosen]] = {}

    def may_read(self, text: bytes) -> bool:
        """Whether a mark may stand in a text: False where `found_in` certainly finds nothing."""
        return bool(self._candidates(text))

    def found_in(self, text: bytes) -> list[tuple[Pattern, re.Match[bytes]]]:
        """What a line tells beside its meaning, its meaning, if it has one, and then the facts."""
        facts = []
        beside = []
        meaning = None
        for pattern, contains, search in self._candidates(text):
            is_fact = pattern.means is Means.FACT
            if meaning is not None and not is_fact and not pattern.is_beside:
                continue
            for mark in contains:  # `any` of a generator takes three times as long
                if mark in text:
                    break
            else:
                continue
            found = search(text)
            if found is None:
                continue
            if is_fact:
                facts.append((pattern, found))
            elif pattern.is_beside:
                beside.append((pattern, found))
            else:
                meaning = (pattern, found)
        return [*beside, *facts] if meaning is None else [*beside, meaning, *facts]

    def _candidates(self, text: bytes) -> list[_Chosen]:
        """The patterns of which a mark may stand on a line: most lines are as one before them but
        for their digits. Bounded: it forgets all when it is full.
        """
        if len(text) > _LONGEST:
            return self._chosen
        shape = text.translate(ONE_DIGIT)
        likely = self._likely.get(shape)
        if likely is None:
            places = {place for mark, place in self._places if mark in shape}
            likely = [self._chosen[place] for place in sorted(places)]
            if len(self._likely) == _MOST:
                self._likely.clear()
            self._likely[shape] = likely
        return likely


@lru_cache(maxsize=8)
def patterns(extra: tuple[Pattern, ...]) -> Patterns:
    """The user's patterns before the project's own."""
    return Patterns(extra + _built_in())


def patterns_of(tables: Sequence[object], where: str) -> tuple[Pattern, ...]:
    """Patterns as a TOML file tells them. Raises UnusableArguments that names the table and key."""
    return tuple(_pattern(table, f"{where}: [[training_log]]") for table in tables)


@lru_cache(maxsize=1)
def _built_in() -> tuple[Pattern, ...]:
    told = tomllib.loads(_BUILT_IN.read_text(encoding="utf-8"))
    return patterns_of(told["training_log"], _BUILT_IN.name)


def _pattern(table: object, where: str) -> Pattern:
    if not isinstance(table, Mapping):
        raise UnusableArguments(f"{where} must be a table with name, means, contains and pattern.")
    where = f"{where} {table.get('name', '')!r}"
    unknown = sorted(table.keys() - _KEYS)
    if unknown:
        raise UnusableArguments(f"{where}: {unknown[0]!r} is no key. Known: {sorted(_KEYS)}.")
    means = _one_of(where, table, "means", tuple(Means))
    outcome = _one_of(where, table, "outcome", tuple(Outcome)) if "outcome" in table else None
    for key in _YES_OR_NO:
        if not isinstance(table.get(key, True), bool):
            raise UnusableArguments(f"{where}: {key} must be true or false.")
    return Pattern(
        name=_text(where, table, "name"),
        means=Means(means),
        contains=_marks(where, table.get("contains")),
        regex=_regex(where, _text(where, table, "pattern")),
        mode=_one_of(where, table, "mode", _MODES) if "mode" in table else None,
        ok=table.get("ok", True),
        is_confirmed=table.get("confirmed", False),
        is_part=table.get("part", False),
        is_beside=table.get("beside", False),
        is_anyones=table.get("anyones", False),
        outcome=Outcome(outcome) if outcome else None,
    )


def _text(where: str, table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise UnusableArguments(f"{where}: {key} must be a text in quotes.")
    return value


def _one_of(where: str, table: Mapping[str, object], key: str, known: Sequence[str]) -> str:
    value = table.get(key)
    if not isinstance(value, str) or value not in known:
        raise UnusableArguments(f"{where}: {key} must be one of {', '.join(known)}.")
    return value


def _marks(where: str, told: object) -> tuple[bytes, ...]:
    if not isinstance(told, list) or not told or not all(isinstance(m, str) and m for m in told):
        raise UnusableArguments(
            f"{where}: contains must be a list of texts, one of which stands on every such line."
        )
    return tuple(mark.encode() for mark in told)


def _regex(where: str, told: str) -> re.Pattern[bytes]:
    try:
        regex = re.compile(told.encode())
    except (re.error, RecursionError, OverflowError) as why:
        raise UnusableArguments(f"{where}: pattern is no regular expression: {why}.") from None
    unknown = sorted(regex.groupindex.keys() - _GROUPS)
    if unknown:
        raise UnusableArguments(
            f"{where}: (?P<{unknown[0]}>...) is not known. Known: {sorted(_GROUPS)}."
        )
    return regex
