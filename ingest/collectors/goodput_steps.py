"""Steps of a launch that goes on as usual, many at once: what `goodput_runs` makes of each.

A launch is past its first steps, and nothing but steps happened since the newest of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from ingest.collectors.goodput_pace import MOST_MISSED, TOO_LONG
from ingest.collectors.goodput_runs import Run
from ingest.collectors.whose import WHOSE, Whose
from ingest.events import EventKind, Phase

Numbers = npt.NDArray[np.int64]
_Rows = tuple[Numbers, Numbers, int]  # times, steps, and whose they are


def goes_on(run: Run) -> bool:
    """Whether what comes next can be taken as one of many steps."""
    is_quiet = run.end is None and not (run.inside or run.open or run.renewed)
    return run.is_judged and run.step is not None and is_quiet


@dataclass(slots=True)
class Taken:
    """What the steps of a block tell: `stops` and `starts` are of training."""

    progress: list[_Rows] = field(default_factory=list)
    stops: list[_Rows] = field(default_factory=list)
    starts: list[_Rows] = field(default_factory=list)
    whose: Whose = field(default_factory=Whose)

    def take(self, run: Run, at_us: Numbers, steps: Numbers) -> int:
        """Take steps as long as each comes after the one before; how many."""
        assert run.step is not None
        before_us = np.concatenate([[run.at_us], at_us[:-1]])
        went_on = np.diff(steps, prepend=run.step)
        is_next = (at_us > before_us) & (went_on > 0)
        count = len(steps) if is_next.all() else int(np.argmin(is_next))
        if not count:
            return 0
        at_us, steps, before_us = at_us[:count], steps[:count], before_us[:count]
        run.step, run.at_us = int(steps[-1]), int(at_us[-1])
        worth = _worth(run, went_on[:count])
        place = self.whose.place(run.of_run)
        self.progress.append((at_us, steps, place))
        lengths = at_us - before_us
        usual = run.pace.add_many(lengths // worth) * worth
        is_long = lengths > usual * TOO_LONG
        if is_long.any():
            # training stops where such a step ought to be over, until the next one
            self.stops.append(((before_us + usual)[is_long], steps[is_long], place))
            self.starts.append((at_us[is_long], steps[is_long], place))
        return count

    def frames(self) -> Iterator[pl.DataFrame]:
        """The same as events."""
        training = pl.lit(str(Phase.TRAINING)).alias("phase")
        for kind, rows, more in (
            (EventKind.PROGRESS, self.progress, pl.col("step")),
            (EventKind.PHASE_END, self.stops, training),
            (EventKind.PHASE_START, self.starts, training),
        ):
            if rows:
                event = pl.lit(str(kind)).alias("event")
                yield self.whose.told(_frame(rows).select("at_us", event, more, WHOSE))


def _worth(run: Run, went_on: Numbers) -> Numbers:
    """How many steps each stands for, as its number went on."""
    assert run.stride is not None
    strides = np.minimum(np.minimum.accumulate(went_on), run.stride)
    run.stride = int(strides[-1])
    worth = went_on // strides
    return np.where(worth <= MOST_MISSED, worth, 1)


def _frame(rows: Sequence[_Rows]) -> pl.DataFrame:
    at_us, steps, places = zip(*rows, strict=True)
    return pl.DataFrame(
        {
            "at_us": np.concatenate(at_us),
            "step": np.concatenate(steps),
            WHOSE: np.repeat(np.array(places, dtype=np.uint32), list(map(len, at_us))),
        }
    )
