"""When a row of sacct was submitted, started and ended, and how long of that it was suspended.
Knows no states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from ingest.collectors.slurm_values import instants, raw_seconds, seconds
from ingest.collectors.units import SECOND_US

_Choice = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Times:
    """When a row was submitted, started and ended; None where it has not, or where the table has no
    such column. `is_undecided`: one of them may as well be an hour later.
    """

    submitted_us: int | None
    started_us: int | None
    ended_us: int | None
    elapsed_us: int | None
    suspended_us: int
    is_undecided: bool = False

    @property
    def known_us(self) -> int | None:
        """What stands for the row's submission where there is none."""
        return next(
            (at for at in (self.submitted_us, self.started_us, self.ended_us) if at is not None),
            None,
        )


class BadTime(Exception):
    """A cell that is no time: its column and why."""

    def __init__(self, column: str, why: str) -> None:
        super().__init__(why)
        self.column = column
        self.why = why


def times_of(cells: Mapping[str, str], zone: ZoneInfo) -> Times:
    read: dict[str, tuple[int, ...]] = {}
    for column in ("Submit", "Start", "End"):
        try:
            read[column] = instants(cells.get(column, ""), zone)
        except ValueError as why:
            raise BadTime(column, str(why)) from None
    elapsed = seconds(cells.get("Elapsed", ""))
    if elapsed is None:
        elapsed = raw_seconds(cells.get("ElapsedRaw", ""))
    suspended = seconds(cells.get("Suspended", ""))
    is_undecided = False
    if len(read["Submit"]) > 1 or len(read["Start"]) > 1 or len(read["End"]) > 1:
        length = None if elapsed is None else (elapsed + (suspended or 0)) * SECOND_US
        (submitted_us, started_us, ended_us), is_undecided = _unambiguous(
            read["Submit"], read["Start"], read["End"], length
        )
    else:
        submitted_us, started_us, ended_us = (told[0] if told else None for told in read.values())
    if (
        suspended is None
        and elapsed is not None
        and started_us is not None
        and ended_us is not None
    ):
        suspended = max(0, (ended_us - started_us) // SECOND_US - elapsed)
    return Times(
        submitted_us,
        started_us,
        ended_us,
        None if elapsed is None else elapsed * SECOND_US,
        (suspended or 0) * SECOND_US,
        is_undecided,
    )


def _unambiguous(
    submits: tuple[int, ...], starts: tuple[int, ...], ends: tuple[int, ...], length_us: int | None
) -> tuple[_Choice, bool]:
    """Of times in the hour that the autumn repeats, the first that contradict neither each other
    nor the elapsed time, of a row without an end the last start; and whether others contradict as
    little.
    """

    def contradiction(choice: _Choice) -> tuple[bool, int, bool]:
        submitted, started, ended = choice
        if started is None or ended is None:
            return False, 0, bool(submitted and started and started < submitted)
        off = 0 if length_us is None else abs(ended - started - length_us)
        return ended < started, off, bool(submitted and started < submitted)

    choices = [
        (submitted, started, ended)
        for submitted in submits or (None,)
        for started in starts or (None,)
        for ended in ends or (None,)
    ]
    if not ends:
        # its end will tell, and stands against a later start; an earlier one, which the row lived
        # past, would stand against what its end tells (R33)
        choices.sort(key=lambda choice: choice[1] or 0, reverse=True)
    least, *others = sorted(choices, key=contradiction)
    return least, any(contradiction(other) == contradiction(least) for other in others)
