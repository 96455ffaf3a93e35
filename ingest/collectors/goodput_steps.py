"""Steps of a launch that goes on as usual, many at once: what `goodput_runs` makes of each.

A launch is past its first steps, and nothing but steps happened since the newest of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from ingest.collectors.goodput_pace import TOO_LONG
from ingest.collectors.goodput_runs import Run
from ingest.events import EventKind, Phase

Numbers = npt.NDArray[np.int64]


def goes_on(run: Run) -> bool:
    """Whether what comes next can be taken as one of many steps."""
    is_quiet = run.end is None and not run.inside and not run.open
    return run.is_judged and run.step is not None and is_quiet


def take_steps(run: Run, at_us: Numbers, steps: Numbers) -> tuple[int, list[pl.DataFrame]]:
    """Take steps as long as each comes after the one before; how many, and what they tell."""
    assert run.step is not None
    before_us = np.concatenate([[run.at_us], at_us[:-1]])
    is_next = (at_us > before_us) & (steps > np.concatenate([[run.step], steps[:-1]]))
    count = len(steps) if is_next.all() else int(np.argmin(is_next))
    if not count:
        return 0, []
    at_us, steps, before_us = at_us[:count], steps[:count], before_us[:count]
    lengths = at_us - before_us
    usual = run.pace.add_many(lengths)
    is_long = lengths > usual * TOO_LONG
    run.step, run.at_us = int(steps[-1]), int(at_us[-1])
    progress = pl.DataFrame({"at_us": at_us, "step": steps})
    told = [progress.select("at_us", _constant("event", EventKind.PROGRESS), "step", *_whose(run))]
    if is_long.any():
        # training stops where such a step ought to be over, until the next one
        for kind, times in (
            (EventKind.PHASE_END, (before_us + usual)[is_long]),
            (EventKind.PHASE_START, at_us[is_long]),
        ):
            phase = (_constant("event", kind), _constant("phase", Phase.TRAINING))
            told.append(pl.DataFrame({"at_us": times}).select("at_us", *phase, *_whose(run)))
    return count, told


def _whose(run: Run) -> list[pl.Expr]:
    return [_constant(name, value) for name, value in run.of_run.items()]


def _constant(name: str, value: object) -> pl.Expr:
    kind = pl.String if isinstance(value, str) else pl.Int64
    return pl.lit(value, dtype=kind).alias(name)
