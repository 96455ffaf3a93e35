"""A log of goodput a block of lines at a time: the steps of a job that goes on as usual, with the
loading of data beside them, become a frame; all else goes line by line to `goodput_log`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ingest.collectors.base import Dump, Reading
from ingest.collectors.distinct import texts
from ingest.collectors.goodput_log import Log
from ingest.collectors.goodput_steps import Taken, goes_on
from ingest.collectors.json_values import LONGEST_ID
from ingest.collectors.units import EARLIEST_US, LATEST_US, SECOND_US
from ingest.events import Item

_FEWEST_LINES = 50  # that are worth a frame
_NUMBER = r"(?:0|[1-9][0-9]{0,14})"
_TIME = r"[1-9][0-9]*(?:\.[0-9]+)?"
_USUAL = (
    r'^\{"job_name": ?"[^"\\\x00-\x1f]+", ?'
    rf'(?:"step_count": ?{_NUMBER}, ?"step_start_time"|"data_loading_(?:start|end)_time"): ?'
    rf"{_TIME}\}}$"
)

Numbers = npt.NDArray[np.int64]


def read_many(dump: Dump, reading: Reading) -> Iterator[Item]:
    """As `goodput.read`, with frames of the steps of a job that goes on as usual."""
    log = Log(dump.name)
    for number, block in dump.blocks():
        yield from _read(log, number, block.split(b"\n"))
    yield from log.finish()


@dataclass(frozen=True, slots=True)
class _Usual:
    """By line: its job's place in `jobs`, -1 if it is unusual; its step, -1 where data is loaded;
    its time. `ends` are the places where the lines of one job end.
    """

    jobs: list[str]
    job: Numbers
    step: Numbers
    at_us: Numbers
    ends: Numbers


def _read(log: Log, number: int, lines: list[bytes]) -> Iterator[Item]:
    told = _usual(lines)
    steps = Taken()
    at = end = 0
    while at < len(lines):
        if at >= end:
            end = int(told.ends[np.searchsorted(told.ends, at, side="right")])
        is_run = end - at >= _FEWEST_LINES and told.job[at] >= 0
        job = log.jobs.get(told.jobs[told.job[at]]) if is_run else None
        if job is not None and goes_on(job.run):
            places = at + np.flatnonzero(told.step[at:end] >= 0)
            taken = steps.take(job.run, told.at_us[places], told.step[places])
            done = end if taken == len(places) else int(places[taken])
            if done > at:
                at = done
                continue
        yield from log.take(number + at, lines[at])
        at += 1
    yield from steps.frames()


def _usual(lines: list[bytes]) -> _Usual:
    """Lines as the recorder writes them; what stands between their quotes is known by its place."""
    said = texts(lines)
    is_usual = said.str.contains(_USUAL).fill_null(False)
    pieces = said.filter(is_usual).str.split_exact('"', 8).struct.unnest()
    last = pl.coalesce("field_8", "field_6")  # a step's number stands before its time
    told = pieces.select(
        pl.col("field_3").alias("job"),
        pl.when(pl.col("field_5") == "step_count")
        .then(pl.col("field_6").str.strip_chars(":, "))
        .cast(pl.Int64)
        .fill_null(-1)
        .alias("step"),
        last.str.strip_chars(": }").cast(pl.Float64, strict=False).alias("seconds"),
    )
    is_good = told.select(
        (pl.col("job").str.len_chars() <= LONGEST_ID)
        & (pl.col("seconds") >= EARLIEST_US // SECOND_US)
        & (pl.col("seconds") < LATEST_US // SECOND_US)
    ).to_series()
    good = told.filter(is_good).with_columns(
        pl.col("job").rle_id().cast(pl.Int64).alias("place"),
        # as `instant_us` rounds it: to the even one of two that are as near
        (pl.col("seconds") * SECOND_US).round(0, "half_to_even").cast(pl.Int64).alias("at_us"),
    )
    places = np.flatnonzero(is_usual.to_numpy())[is_good.to_numpy()]
    job, step, at_us = np.full((3, len(lines)), -1)
    for column, name in ((job, "place"), (step, "step"), (at_us, "at_us")):
        column[places] = good[name].to_numpy()
    ends = np.append(np.flatnonzero(np.diff(job)) + 1, len(lines))
    jobs = good["job"].filter(good["place"].is_first_distinct()).to_list()
    return _Usual(jobs, job, step, at_us, ends)
