"""Rows of many runs in one frame, each with what says whose it is: of a block that many processes
wrote into, a frame for each of them would cost more than its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from ingest.events import Event

_NUMBERS = frozenset({"rank", "run_generation", "run_restart"})

WHOSE = "whose"


@dataclass(slots=True)
class Whose:
    """What runs say of themselves. Whoever gives it replaces it and never changes it, so that it
    stays as it was when a row came.
    """

    _said: list[Event] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)

    def place(self, of_run: Event) -> int:
        """The number for the column WHOSE of its rows."""
        place = self._places.get(id(of_run))
        if place is None:
            place = self._places[id(of_run)] = len(self._said)
            self._said.append(of_run)  # and so no other gets its id
        return place

    def told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with what their runs say in the place of their number."""
        names = dict.fromkeys(name for of_run in self._said for name in of_run)
        schema = {name: pl.Int64 if name in _NUMBERS else pl.String for name in names}
        said = pl.from_dicts([dict(of_run) for of_run in self._said], schema=schema)
        return rows.drop(WHOSE).hstack(said[rows[WHOSE]])
