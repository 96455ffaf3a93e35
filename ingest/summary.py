"""What an ingest did, in a few lines: however many files were odd, they never bury what loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ingest import dumps, plan
from ingest.loader import Loaded
from ingest.words import counted

_NAMED = 5  # files: more are told by reason
_REASONS_SHOWN = 3  # of each kind of note
_WARNINGS_SHOWN = 3  # of one kind
_CLOSED = "cannot read"
_UNLOADED = "nothing loaded"


@dataclass(slots=True)
class Summary:
    """What an ingest did, file by file."""

    loaded: list[Loaded] = field(default_factory=list)
    skipped: list[plan.Skipped] = field(default_factory=list)
    too_large: list[plan.Skipped] = field(default_factory=list)  # for the memory there is
    unreadable: list[dumps.Unreadable] = field(default_factory=list)
    jobs: set[int] = field(default_factory=set)  # by number: several batches may speak of one

    @property
    def events(self) -> int:
        return sum(one.events for one in self.loaded)

    @property
    def reasons(self) -> dict[str, int]:
        """Lines set aside, by reason, the most frequent first."""
        total: dict[str, int] = {}
        for one in self.loaded:
            for reason, lines in one.rejected.items():
                total[reason] = total.get(reason, 0) + lines
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))

    @property
    def has_found_a_file(self) -> bool:
        """Whether there was anything at all in the folders that were given."""
        return bool(self.loaded or self.skipped or self.too_large or self.unreadable)

    @property
    def has_read_a_dump(self) -> bool:
        """Whether any of the files is known in the warehouse now."""
        return any(one.unreadable is None for one in self.loaded) or bool(self.known)

    @property
    def has_read_anything(self) -> bool:
        """Whether of one of these dumps not everything was set aside."""
        return any(one.unreadable is None and not one.is_mute for one in self.loaded) or any(
            not one.is_mute for one in self.known
        )

    @property
    def known(self) -> list[plan.Skipped]:
        return [one for one in self.skipped if one.known_as is not None]

    @property
    def has_no_gpus(self) -> bool:
        """Whether these dumps tell of GPUs, and of 0 always, as where nobody accounts for them."""
        told = [one.most_gpus for one in self.loaded if one.most_gpus is not None]
        return bool(told) and not any(told)

    def told(
        self, seconds: float, held_back: int, *, is_dry: bool, is_verbose: bool
    ) -> Iterator[str]:
        """The lines to print: what was left aside, then what was loaded.

        `held_back` warnings were not printed.
        """
        aside = self.skipped + self.too_large
        notes = [*_cannot_read(self.unreadable), *_unloaded(self.loaded), *_aside(aside)]
        if held_back:
            yield f"{counted(held_back, 'more warning')} like those above"
        if is_verbose or len(notes) <= _NAMED:
            yield from (note.alone for note in notes)
        else:
            yield from _in_short(notes)
        if held_back or (len(notes) > _NAMED and not is_verbose):
            yield "the same command with --verbose names every file"
        yield (
            f"{'would load' if is_dry else 'loaded'} {counted(self.events, 'event')} of "
            f"{counted(len(self.jobs), 'job')} from "
            f"{counted(sum(one.unreadable is None for one in self.loaded), 'file')} "
            f"in {seconds:.1f} s"
        )
        if late := sum(one.late for one in self.loaded):
            yield (
                f"{'would leave' if is_dry else 'left'} out {counted(late, 'event')} of jobs whose "
                "other events were pruned: they come too late"
            )
            if not is_dry:
                yield "they are counted by job in the view anomalies, as late_for_pruned"
        if self.has_no_gpus:
            yield (
                "none of these jobs has a GPU, and no ratio counts them: "
                "does AccountingStorageTRES in slurm.conf name gres/gpu?"
            )
        if self.reasons:
            listed = ", ".join(f"{reason} {lines:,}" for reason, lines in self.reasons.items())
            yield f"set aside {counted(sum(self.reasons.values()), 'line')}: {listed}"
            if not is_dry:
                yield "they are listed on the dashboard's Data page and in the view rejected_lines"


@dataclass(frozen=True, slots=True)
class _Note:
    """Why a file brought nothing. Files of one `why` are told together, else with `alone`."""

    kind: str
    name: str
    why: str
    alone: str


def _cannot_read(unreadable: Iterable[dumps.Unreadable]) -> Iterator[_Note]:
    for one in unreadable:
        yield _Note(_CLOSED, one.name, one.why, f"cannot read {one}")


def _unloaded(loaded: Iterable[Loaded]) -> Iterator[_Note]:
    for one in loaded:
        if one.unreadable is not None:
            why = one.unreadable.removeprefix(one.name).strip()
            yield _Note(_UNLOADED, one.name, why, f"nothing loaded: {one.unreadable}")


def _aside(skipped: Iterable[plan.Skipped]) -> Iterator[_Note]:
    for one in skipped:
        yield _Note("left aside", one.name, one.why, f"left aside {one.name}: it {one.whole_why}")


def _in_short(notes: Iterable[_Note]) -> Iterator[str]:
    """A line for each reason, the most frequent of each kind."""
    kinds: dict[str, dict[str, list[_Note]]] = {}
    for note in notes:
        kinds.setdefault(note.kind, {}).setdefault(note.why, []).append(note)
    for kind, whys in kinds.items():
        groups = sorted(whys.values(), key=len, reverse=True)
        yield from (_together(group) for group in groups[:_REASONS_SHOWN])
        rest = groups[_REASONS_SHOWN:]
        if rest:
            files, reasons = counted(sum(map(len, rest)), "file"), counted(len(rest), "reason")
            yield f"{kind}: {files} more, for {reasons} more"


def _together(group: list[_Note]) -> str:
    first = group[0]
    if len(group) == 1:
        return first.alone
    files = f"{first.name} and {counted(len(group) - 1, 'more file')}"
    colon = ": " if first.kind == _UNLOADED else " "
    return f"{first.kind}{colon}{files}: {'' if first.kind == _CLOSED else 'each '}{first.why}"


class FewOfAKind(logging.Filter):
    """Lets the first warnings of a kind through, and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Kinds are told apart by what they say before names are filled in."""
        if record.levelno < logging.WARNING:
            return True
        self._seen[record.msg] = self._seen.get(record.msg, 0) + 1
        return self._seen[record.msg] <= _WARNINGS_SHOWN

    def held_back(self) -> int:
        """How many warnings were not shown."""
        return sum(max(seen - _WARNINGS_SHOWN, 0) for seen in self._seen.values())
