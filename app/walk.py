"""The walk of one attempt from the dump to the rollup: each step beside what it is made of.

Adds up for itself, from the spans and intervals of one attempt, what the views say of it: where
both agree, the reader has seen the calculation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

import polars as pl
import streamlit as st

from app import alts, data, one_job, parts, words
from app.attempt_areas import areas_of
from app.charts.gantt import gantt

MOST_SPANS: Final = 500
TOLERANCE: Final = 1e-6  # seconds; doubles are published, whole microseconds are added up

# An attempt that was interrupted after training, the newest: it has a little of everything.
EXAMPLE: Final = """
select job_id, attempt
from attempts
where
    is_counted
    and is_instrumented
    and unsaved_seconds > 0
    and ended_day between $1 and $2
order by ended_at desc, job_id asc
limit 1
"""
ANY: Final = """
select job_id, attempt
from attempts
where ended_day between $1 and $2
order by is_instrumented desc, ended_at desc, job_id asc
limit 1
"""
DRAWN: Final = "select 1 as is_drawn from job_details where job_id = ?"  # its events are there
FACT: Final = """
select
    attempts.*,
    jobs.last_ended_at,
    jobs.wall_seconds as job_wall_seconds
from jobs
inner join attempts on jobs.job_id = attempts.job_id
where
    jobs.job_id = $1
    and attempts.attempt = $2
    and attempts.ended_at between jobs.first_started_at and jobs.last_ended_at
"""
ROLLUP: Final = """
select
    team_day.day,
    team_day.wall_seconds,
    team_day.gpu_seconds,
    team_day.effective_gpu_seconds,
    team_day.ett_gpu_ratio,
    identity_by_day.gap_us / 1e6 as gap_seconds
from team_day
left join identity_by_day on team_day.day = identity_by_day.day
where
    team_day.team = $1
    and team_day.workload = 'all'
    and team_day.day between $2 and $3
order by team_day.day
"""


def asked() -> tuple[str, int] | None:
    """The attempt that the link names; None where it names none, or no whole number."""
    job_id, attempt = st.query_params.get("job"), st.query_params.get("attempt", "1")
    if not job_id:
        return None
    if not attempt.isdecimal() or len(attempt) > 9:
        st.warning(f"{words.code(attempt)} is not the number of an attempt; attempt 1 is shown.")
        return job_id, 1
    return job_id, int(attempt)


def example(published: Mapping[str, Any]) -> tuple[str, int] | None:
    """The attempt that is shown where the link names none; None in a warehouse without any."""
    newest = published["last_complete_day"] or published["newest_day"] or date.max
    # of the last days first: an attempt lies by its end, and a few days are read in no time
    week, ever = (newest - timedelta(days=6), newest), (date.min, date.max)
    for sql, days in ((EXAMPLE, week), (EXAMPLE, ever), (ANY, ever)):
        found = data.row(sql, *days)
        if found and (sql is ANY or data.row(DRAWN, found["job_id"])):
            return found["job_id"], found["attempt"]
    return None


def show(job_id: str, attempt: int, time_zone: str) -> None:
    """Draw the four steps."""
    fact = data.row(FACT, job_id, attempt)
    if not fact:
        st.warning(f"There is no attempt {attempt} of a job {words.code(job_id, 256)}.")
        return
    ended = "last heard of" if fact["outcome"] == "running" else "ended"
    st.markdown(
        f"Attempt {attempt} of {words.code(job_id, 256)}, team {words.code(fact['team'])}, "
        f"{words.gpus(fact['gpus'])}, {ended} {words.instant(fact['ended_at'])} UTC, "
        f"**{words.code(fact['outcome'])}**."
    )
    st.page_link(
        "views/job.py",
        label="See the job",
        icon=":material/view_timeline:",
        query_params={"job": job_id, "attempt": str(attempt)},
    )
    detail = data.detail(job_id)
    if detail.is_empty():
        st.caption(one_job.untold(fact["job_wall_seconds"]))
    else:
        detail = detail.filter(pl.col("attempt") == attempt)
    _dump(detail)
    charged = _charged(detail, fact)
    _facts(charged, fact)
    _rollup(detail, fact, time_zone)


def by_day(intervals: pl.DataFrame, days: Sequence[tuple[date, int, int]]) -> pl.DataFrame:
    """Seconds of intervals (name, started_us, ended_us) on each day, cut at its two instants.

    Columns: day, wall_seconds, effective_seconds.
    """
    rows = []
    for day, from_us, to_us in days:
        cut = intervals.select(
            "name",
            seconds=(
                pl.min_horizontal(pl.col("ended_us"), to_us)
                - pl.max_horizontal(pl.col("started_us"), from_us)
            ).clip(lower_bound=0)
            / 1e6,
        )
        effective = cut.filter(pl.col("name") == "effective")
        rows.append((day, float(cut["seconds"].sum()), float(effective["seconds"].sum())))
    return pl.DataFrame(
        rows,
        schema={"day": pl.Date, "wall_seconds": pl.Float64, "effective_seconds": pl.Float64},
        orient="row",
    )


def _dump(detail: pl.DataFrame) -> None:
    st.markdown(
        "**1 \u00b7 What the dumps say**: spans of phases, as they were reported up to the end of "
        "the attempt"
    )
    if detail.is_empty():
        st.caption("No spans are kept for this job.")
        return
    told = detail.filter(pl.col("kind").is_in(["span", "failure"]))
    if told.is_empty():
        st.caption("No dump tells of a phase of this attempt.")
        return
    files = told["file"].drop_nulls().unique().sort().to_list()
    named = ", ".join(words.code(file, 80) for file in files[:3])
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    listed = f" The first {words.count(MOST_SPANS)} are listed." if told.height > MOST_SPANS else ""
    st.caption(
        f"{words.many(told.height, 'span')} from {named or 'no dump that is kept'}{more}.{listed}"
    )
    st.dataframe(
        told.head(MOST_SPANS).select(
            "name",
            "stage",
            "rank",
            "step",
            started_at=pl.from_epoch("started_us", time_unit="us"),
            seconds=(pl.col("ended_us") - pl.col("started_us")) / 1e6,
            file="file",
        ),
        height=parts.table_height(told.height, 250),
        hide_index=True,
        placeholder=words.UNKNOWN,
        alt="Spans of the attempt as they were reported",
        column_config={
            "started_at": st.column_config.DatetimeColumn(
                "started, UTC", format="D MMM HH:mm:ss.SSS"
            ),
            "seconds": st.column_config.NumberColumn("seconds", format="%.3f"),
            "file": st.column_config.TextColumn("dump", width="large"),
        },
    )


def _charged(detail: pl.DataFrame, fact: Mapping[str, Any]) -> pl.DataFrame:
    """Draw every second with the one area that it is charged to; returns the sums by area."""
    st.markdown("**2 \u00b7 What they are charged to**: where spans overlap, the first in order")
    if detail.is_empty():
        st.caption("No intervals are kept for this job.")
        return pl.DataFrame(schema={"area": pl.String, "intervals_seconds": pl.Float64})
    figure = gantt(
        pl.DataFrame(
            {
                "attempt": [fact["attempt"]],
                "started_at": [fact["started_at"]],
                "ended_at": [fact["ended_at"]],
                "outcome": [fact["outcome"]],
            }
        ),
        detail,
        parts.colours(),
    )
    intervals = detail.filter(pl.col("kind") == "area")
    charged = (
        intervals.group_by(area="name")
        .agg(intervals_seconds=(pl.col("ended_us") - pl.col("started_us")).sum() / 1e6)
        .sort("area")
    )
    told = [(words.area(area), words.duration(seconds)) for area, seconds in charged.rows()]
    st.plotly_chart(
        figure,
        theme=None,
        key="figure walk",
        config={"displayModeBar": False},
        alt=f"The attempt on a time axis, {words.many(intervals.height, 'interval')}: "
        + alts.listed(told),
    )
    parts.legend(intervals["name"].unique().to_list())
    return charged


def _facts(charged: pl.DataFrame, fact: Mapping[str, Any]) -> None:
    st.markdown("**3 \u00b7 What is known of the attempt**: a row of `attempts`, with its areas")
    listed = areas_of(fact).group_by("area").agg(seconds=pl.col("amount").sum())
    joined = listed.join(charged, on="area", how="full", coalesce=True).sort(
        "seconds", descending=True, nulls_last=True
    )
    st.dataframe(
        joined,
        hide_index=True,
        placeholder=words.UNKNOWN,
        alt="Seconds by area: as the view has them, and as the intervals above add up",
        column_config={
            "intervals_seconds": st.column_config.NumberColumn(
                "sum of the intervals above, s", format="%.6f"
            ),
            "seconds": st.column_config.NumberColumn("in attempts, s", format="%.6f"),
        },
    )
    wall, areas = fact["wall_seconds"], float(listed["seconds"].sum())
    if not charged.is_empty():
        gaps = joined.select((pl.col("seconds") - pl.col("intervals_seconds")).abs())
        widest = gaps.to_series().max()
        _agrees(
            "Each area is the sum of its intervals",
            0.0 if widest is None else float(str(widest)),
            joined.drop_nulls().height == joined.height,
        )
    _agrees(f"The areas add up to the wall time, {words.duration(wall)}", abs(areas - wall))


def _rollup(detail: pl.DataFrame, fact: Mapping[str, Any], time_zone: str) -> None:
    st.markdown("**4 \u00b7 What its team makes of it**: rows of `team_day`")
    if not fact["is_counted"]:
        st.caption("This attempt is outside every rollup: it has no GPUs, or is excluded.")
        return
    rollup = data.frame(ROLLUP, fact["team"], fact["started_day"], fact["ended_day"])
    if detail.is_empty():
        st.caption("Its seconds of each day are cut from its intervals, of which none are kept.")
        return
    if rollup.is_empty():
        st.caption("There is no day to show.")
        return
    instants = [(day, _us(data.midnight(day, time_zone))) for day in rollup["day"]]
    days = [
        (day, from_us, _us(data.midnight(day + timedelta(days=1), time_zone)))
        for day, from_us in instants
    ]
    mine = by_day(detail.filter(pl.col("kind") == "area"), days)
    gpus = pl.lit(fact["gpus"], pl.Int64)  # null: unknown, and so are its GPU-hours
    st.dataframe(
        rollup.join(mine, on="day", suffix="_of_attempt").select(
            "day",
            attempt_gpu_hours=pl.col("wall_seconds_of_attempt") * gpus / 3600,
            attempt_effective_gpu_hours=pl.col("effective_seconds") * gpus / 3600,
            team_gpu_hours=pl.col("gpu_seconds") / 3600,
            team_effective_gpu_hours=pl.col("effective_gpu_seconds") / 3600,
            team_ett_percent=100 * pl.col("ett_gpu_ratio"),
        ),
        hide_index=True,
        placeholder=words.UNKNOWN,
        alt="What the attempt adds to each day of its team",
        column_config={"day": st.column_config.DateColumn("day", format="ddd D MMM")}
        | {
            name: st.column_config.NumberColumn(label, format=form)
            for name, label, form in (
                ("attempt_gpu_hours", "this attempt, GPU-hours", "%.3f"),
                ("attempt_effective_gpu_hours", "of them effective", "%.3f"),
                ("team_gpu_hours", "its team, GPU-hours", "%.3f"),
                ("team_effective_gpu_hours", "of them effective", "%.3f"),
                ("team_ett_percent", "ETT of the team", "%.2f %%"),
            )
        },
    )
    _agrees(
        "The attempt's days add up to its wall time",
        abs(float(mine["wall_seconds"].sum()) - fact["wall_seconds"]),
    )
    _agrees(
        "On these days the areas of the whole fleet add up to its wall time",
        float(rollup["gap_seconds"].abs().fill_null(0).sum()),
    )


def _agrees(what: str, gap_seconds: float, is_whole: bool = True) -> None:
    if gap_seconds <= TOLERANCE and is_whole:
        st.markdown(f":green[:material/check_circle: good] \u00b7 {what}.")
    else:
        st.markdown(
            f":red[:material/error: broken] \u00b7 {what}: off by {words.duration(gap_seconds)}."
        )


def _us(at: datetime) -> int:
    return round((at - datetime(1970, 1, 1)) / timedelta(microseconds=1))
