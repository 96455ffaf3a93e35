"""The pieces of Start & recover: its six numbers, and the selects behind its charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final

import polars as pl
import streamlit as st

from app import alts, data, filters, kpis, losses, money, openings, parts, tiles, words
from app.charts.lines import Line
from app.charts.waits import SHORTEST

# Those of a window have the parameters team, workload, first day, last day, then what they add.
BY_DAY: Final = """
select
    days.day,
    days.is_complete,
    tts_p50_seconds,
    tts_p90_seconds,
    ttr_p50_seconds,
    ttr_p90_seconds
from days
left join team_day on days.day = team_day.day and team_day.team = $1 and team_day.workload = $2
where days.day between $3 and $4
order by days.day
"""

# $5: wait, or any
AREAS: Final = """
from window_start_areas($1, $2, $3, $4)
where $5 = 'any' or wait = $5
order by wait, day, area
"""

STAGES: Final = """
select stage, attempts, mean_seconds
from window_stages($1, $2, $3, $4)
where phase = 'trainer_init'
order by mean_seconds desc, stage
"""

# $5: wait
CURVES: Final = """
select wait, up_to_seconds, attempts, share_ratio
from window_wait_shares($1, $2, $3, $4)
where wait = $5
order by wait, step
"""

# All days together (day null) end with $4; single ones with $5, which need not be complete.
SIZES: Final = """
select gpus_bucket, day, tts_count, tts_p50_seconds, ttr_count, ttr_p50_seconds
from window_waits_by_size($1, $2, $3, $4)
where day is null
union all
select gpus_bucket, day, tts_count, tts_p50_seconds, ttr_count, ttr_p50_seconds
from window_waits_by_size($1, $2, $3, $5)
where day is not null
order by gpus_bucket, day nulls first
"""

COMPILES: Final = "from window_compiles($1, $2, $3, $4) where day is not null order by day"

# $1: workload, $2 and $3: first and last day, $4: team, which the fleet stands beside
PUBLISHING: Final = """
from window_publishing($1, $2, $3)
where $4 = 'fleet' or team in ('fleet', $4)
order by team <> 'fleet', publishing_gpu_seconds desc, team
"""

# The slowest of both kinds; a recovery counts from the interruption, attempts between and what they
# queued included. A start counts from the GPUs: its queue is over by then.
SLOWEST: Final = """
select
    job_id,
    greatest(tts_seconds, ttr_seconds) / 60 as wait_minutes,
    if(ttr_seconds is null, 0, ttr_seconds - ttr_without_queue_seconds) / 60 as queue_minutes,
    if(ttr_seconds is null, 'start', 'recovery') as wait,
    attempt,
    team,
    gpus,
    trainer_init_seconds,
    pt2_compile_seconds,
    cache,
    first_batch_at
from attempts
where
    is_counted
    and (tts_seconds is not null or ttr_seconds is not null)
    and ($1 = 'fleet' or team = $1)
    and ($2 = 'all' or workload = $2)
    and first_batch_day between $3 and $4
order by wait_minutes desc, job_id, attempt
limit 20
"""

AT_THE_EDGE: Final = f"What took less than {words.duration(SHORTEST)} is drawn there."
_STARTS: Final = "from window_starts($1, $2, $3, $4) order by day nulls first"
BUCKETS: Final = ("1-8", "9-64", "65-512", "513+")


def row(chosen: filters.Scope, window: openings.Opened) -> None:
    """Draw the six numbers."""
    days = _month(chosen)
    silent = kpis.not_reported(window.now, filters.WEIGHTS[1])
    with st.grid(6, min_column_width=128, gap="small"):
        for short, name in (("tts", "Start"), ("ttr", "Recover")):
            for part in ("p50", "p90"):
                key = f"{short}_{part}_seconds"
                count = window.now[f"{short}_count"] or 0
                nothing = "no start" if short == "tts" else "no recovery"
                tiles.kpi(
                    words.glossary()[key],
                    window.now[key],
                    window.before.get(key),
                    label=f"{name} {part}",
                    show=words.duration,
                    difference=words.more_time,
                    rests_on=count or None,
                    rested_on=window.before.get(f"{short}_count"),
                    note=f"of {words.count(count)}"
                    if count
                    else silent or f"{nothing} in these days",
                    series=days[key].to_list(),
                )
        _held(chosen, window, kpis.not_reported(window.now, chosen.weight))
        _never(chosen, window.now["attempts_ended"], silent)


def newest(areas: pl.DataFrame, last_day: date) -> str:
    """`on Sat 14 Mar: queue 1 min, trainer_init 3 min`: the newest day up to `last_day`."""
    known = areas.filter(pl.col("day") <= last_day)
    if known.is_empty():
        return "on no day that is over"
    day = known.sort("day")["day"][-1]
    seconds = known.filter(pl.col("day") == day).select("area", "p50_seconds").rows()
    parts_of = [(words.area(area), words.duration(each)) for area, each in seconds]
    return f"on {words.day(day)}: {alts.listed(parts_of)}"


def curves_beside(now: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """Two curves in one table, both rows of CURVES; `earlier` is empty where nothing is compared.

    They count up: at a step of the other alone, a curve stands where it stood.
    """
    before = earlier.select("up_to_seconds", previous_share_ratio="share_ratio")
    joined = now.join(before, on="up_to_seconds", how="full", coalesce=True).sort("up_to_seconds")
    counted = ["attempts", "share_ratio"] + ([] if earlier.is_empty() else ["previous_share_ratio"])
    return joined.with_columns(
        pl.lit(now["wait"][0]).alias("wait"), pl.col(counted).forward_fill().fill_null(0)
    )


def told(ticked: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Percentiles with their duration in words."""
    return [(part, words.duration(seconds)) for part, seconds in ticked.items()]


def stages_told(stages: pl.DataFrame) -> list[tuple[str, str]]:
    """Stages with their seconds now."""
    return [
        (stage, words.duration(seconds))
        for stage, seconds in stages.select("stage", "mean_seconds").rows()
    ]


def lines_told(
    days: pl.DataFrame,
    last_day: date,
    lines: Sequence[Line],
    show: Callable[[float | None], str],
) -> str:
    """Each line of a panel in words; by its name where there are several."""
    return "; ".join(
        f"{f'{line.name}: ' if len(lines) > 1 else ''}"
        f"{alts.by_day(days, last_day, line.column, show)}"
        for line in lines
    )


def of_size(now: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> str:
    """`4 min 18 s, -50 s · 258 starts` of one size; rows of SIZES over all days. Of few there is no
    comparison.
    """
    if now is None or now["tts_p50_seconds"] is None:
        return "no start"
    value, then = now["tts_p50_seconds"], (before or {}).get("tts_p50_seconds")
    counts = now["tts_count"], (before or {}).get("tts_count")
    is_told = then is not None and all(map(tiles.is_enough, counts))
    change = f", {words.more_time(value - then)}" if is_told else ""
    return f"{words.duration(value)}{change} \u00b7 {words.many(now['tts_count'], 'start')}"


def why_no_share(published: pl.DataFrame, window: Mapping[str, Any]) -> str:
    """Why it is not known how much of shutdown publishes; rows of PUBLISHING without a share."""
    if openings.tells_more_by_wall(window):
        whose = openings.of_unknown_gpus(window)
        return f"The GPUs of {whose} are unknown, and this share is one of GPU-hours."
    if published.is_empty():
        return "No source reports the stage model_publish here."
    if published["publishing_gpu_seconds"].count():
        return "No shutdown took any time in these days."
    return (
        "The GPUs of the jobs that report the stage model_publish are unknown, and this share is "
        "one of GPU-hours."
    )


def slowest(table: pl.DataFrame, chosen: filters.Scope, about: str) -> None:
    """The table of the slowest attempts with its footer; a selected row opens the job."""
    seconds = {
        name: st.column_config.NumberColumn(label, format="%.0f s")
        for name, label in (
            ("trainer_init_seconds", "trainer_init"),
            ("pt2_compile_seconds", "pt2_compile"),
        )
    }
    parts.jobs_table(
        table,
        key="slowest table",
        most=480,
        alt=f"Slowest attempts. {about}",
        columns={
            "wait_minutes": st.column_config.ProgressColumn(
                "minutes",
                format="%.0f",
                min_value=0,
                max_value=parts.most_of(table["wait_minutes"]),
            ),
            "queue_minutes": st.column_config.NumberColumn(
                "of it queue",
                format="%.0f",
                help="Queueing inside these minutes: of a recovery that of all attempts since the "
                "interruption. A start begins with the GPUs.",
            ),
            "gpus": st.column_config.NumberColumn("GPUs"),
            "first_batch_at": st.column_config.DatetimeColumn(
                "first batch, UTC", format="D MMM HH:mm"
            ),
            **seconds,
        },
    )
    parts.footer(
        stem=chosen.stem("start-recover", "slowest"),
        table=table,
        about=about,
        measures=("tts_seconds", "ttr_seconds"),
        sql=SLOWEST,
    )


def _held(chosen: filters.Scope, window: openings.Opened, silent: str) -> None:
    """What start-up held, first tries and recoveries together."""
    now = data.row(losses.LOSSES, *chosen.now, chosen.weight)
    before = data.row(losses.LOSSES, *chosen.previous, chosen.weight) if window.before else {}
    days = data.frame(losses.LOSSES_BY_DAY, *chosen.month, chosen.weight)
    amounts = [_starting(each) for each in days.iter_rows(named=True)]
    amount = _starting(now)
    share = (
        f"; recovery alone is {words.ratio(now['recovery'])} of instrumented {chosen.hours}"
        if now["recovery"]
        else ""
    )
    paid = money.cost(amount) if chosen.weight == "gpu" else ""
    tiles.kpi(
        words.weighed("starting_gpu_seconds", chosen.weight),
        None if silent else amount,
        _starting(before) if before else None,
        show=words.hours,
        difference=words.more_hours,
        rests_on=window.now["attempts_told"],
        rested_on=window.before.get("attempts_told"),
        note=silent or " \u00b7 ".join(part for part in (chosen.hours + share, paid) if part),
        series=amounts,
    )


def _starting(row: Mapping[str, Any]) -> float | None:
    parts = row["start_up"], row["recovery"], row["instrumented"]
    return None if None in parts else (parts[0] + parts[1]) * parts[2]


def _never(chosen: filters.Scope, all_ended: int, silent: str) -> None:
    """What never trained, of those of which that is known; `all_ended`: these and the others."""
    now = data.row(_STARTS, *chosen.now)
    before = data.row(_STARTS, *chosen.previous) if chosen.is_compared else {}
    days = {row["day"]: row["never_trained"] for row in _rows(chosen)}
    ended = now["attempts_ended"]
    untold = all_ended - ended
    others = f"; {words.count(untold)} more are uninstrumented" if untold else ""
    tiles.kpi(
        words.glossary()["never_trained"],
        None if silent else now["never_trained"],
        before.get("never_trained"),
        show=words.count,
        difference=words.more,
        rests_on=ended,
        rested_on=before.get("attempts_ended"),
        note=silent
        or f"{words.ratio(now['never_trained'] / ended if ended else None)} of "
        f"{words.count(ended)} that ended{others}",
        series=[days.get(day) for day in _month(chosen)["day"]],
    )


def _rows(chosen: filters.Scope) -> list[dict[str, Any]]:
    return [row for row in data.frame(_STARTS, *chosen.month).to_dicts() if row["day"] is not None]


def _month(chosen: filters.Scope) -> pl.DataFrame:
    return filters.within(filters.by_day(BY_DAY, chosen), *chosen.month[2:])
