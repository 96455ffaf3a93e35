"""The pieces of Lost time: its six numbers, its tries and its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import polars as pl
import streamlit as st

from app import data, filters, kpis, money, openings, parts, tiles, words
from queries import STARTUP_AREAS

LIMIT: Final = 0.02  # unaccounted share; above, the causes understate the loss
PARTS: Final = ("start_up", "recovery", "wasted", "shutdown", "unaccounted")

# $5: weight
_WEIGHED: Final = """
    if($5 = 'gpu', instrumented_gpu_seconds, instrumented_seconds) as instrumented,
    if($5 = 'gpu', lost_gpu_seconds, lost_seconds) as lost,
    if($5 = 'gpu', start_up_gpu_seconds, start_up_seconds) / nullif(instrumented, 0) as start_up,
    if($5 = 'gpu', recovery_gpu_seconds, recovery_seconds) / nullif(instrumented, 0) as recovery,
    if($5 = 'gpu', wasted_gpu_seconds, wasted_seconds) / nullif(instrumented, 0) as wasted,
    if($5 = 'gpu', shutdown_gpu_seconds, shutdown_seconds) / nullif(instrumented, 0) as shutdown,
    if($5 = 'gpu', unaccounted_gpu_seconds, unaccounted_seconds) / nullif(instrumented, 0)
        as unaccounted
"""
# $5: weight, $6: the areas of starting
TRIES: Final = """
select
    area,
    is_recovery,
    if($5 = 'gpu', gpu_seconds, seconds) as amount
from window_shares($1, $2, $3, $4)
where
    amount is not null  -- of it no GPUs are known
    and list_contains($6, area)
order by area, is_recovery
"""
LOSSES: Final = f"select{_WEIGHED}from window_losses($1, $2, $3, $4)"
LOSSES_BY_DAY: Final = f"""
select
    days.day,{_WEIGHED}from days
left join losses_by_team_day as losses
    on days.day = losses.day and losses.team = $1 and losses.workload = $2
where days.day between $3 and $4
order by days.day
"""


def row(chosen: filters.Scope, window: openings.Opened) -> None:
    """Draw the six."""
    now = data.row(LOSSES, *chosen.now, chosen.weight)
    before = data.row(LOSSES, *chosen.previous, chosen.weight) if chosen.is_compared else {}
    days = data.frame(LOSSES_BY_DAY, *chosen.month, chosen.weight)
    silent = kpis.not_reported(window.now, chosen.weight)
    with st.grid(6, min_column_width=128, gap="small"):
        tiles.kpi(
            words.weighed("lost_gpu_seconds", chosen.weight),
            None if silent else now["lost"],
            before.get("lost"),
            label=f"Lost {chosen.hours}",
            show=words.hours,
            difference=words.more_hours,
            rests_on=window.now["attempts_told"],
            rested_on=window.before.get("attempts_told"),
            note=silent
            or money.beside(
                kpis.of_all(now["instrumented"], before.get("instrumented"), chosen.hours),
                window.now["lost_gpu_seconds"],
                chosen.weight,
            ),
            series=days["lost"].to_list(),
        )
        for part in PARTS:
            tiles.kpi(
                words.weighed(f"{part}_gpu_ratio", chosen.weight),
                None if silent else now[part],
                before.get(part),
                show=lambda share: words.ratio(share, 2),
                difference=lambda change: words.points(change, 2),
                rests_on=window.now["attempts_told"],
                rested_on=window.before.get("attempts_told"),
                note=silent or _note(part, now, chosen.hours),
                series=days[part].to_list(),
            )


def tries(areas: pl.DataFrame) -> pl.DataFrame:
    """One row an area of `areas` (rows of TRIES), in lifecycle order.

    Columns: area, first_amount and again_amount (after an interruption) with their texts.
    """
    split = _split(areas)
    return split.with_columns(
        pl.Series(f"{which}_text", [words.hours(amount) for amount in split[f"{which}_amount"]])
        for which in ("first", "again")
    )


def tries_beside(now: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """The amounts of `tries` with those of the window before; null where nothing ran in it."""
    before = _split(earlier).rename(lambda name: name if name == "area" else f"previous_{name}")
    amounts = now.select("area", "first_amount", "again_amount")
    beside = amounts.join(before, on="area", how="left", maintain_order="left")
    if earlier.is_empty():
        return beside
    # an area that took nothing then has no row
    return beside.with_columns(pl.col("^previous_.*$").fill_null(0))


def shares_beside(by_day: pl.DataFrame, then: pl.DataFrame, chosen: filters.Scope) -> pl.DataFrame:
    """Areas by day with `previous_share_ratio`, that of the same day of the window before, of whose
    areas by day `then` is: 0 where other areas had all of that day.
    """
    beside = filters.beside(by_day, then, chosen, "area", "is_recovery", value="share_ratio")
    if not chosen.is_compared:
        return beside
    days = then.drop_nulls("share_ratio")["day"].cast(pl.Date).unique()
    told = days + timedelta(days=chosen.days)
    is_told = pl.col("day").is_in(told.implode()) & (pl.col("area") != "uninstrumented")
    share = pl.col("previous_share_ratio")
    return beside.with_columns(pl.when(is_told).then(share.fill_null(0)).otherwise(share))


def effective(by_day: pl.DataFrame) -> pl.DataFrame:
    """The share of each day that was effective, of areas by day; 0 where others took all of it."""
    days = by_day.drop_nulls("share_ratio").select("day").unique().sort("day")
    known = by_day.filter(pl.col("area") == "effective").select("day", "share_ratio")
    return days.join(known, on="day", how="left", maintain_order="left").fill_null(0)


def largest(cells: pl.DataFrame) -> list[tuple[str, str]]:
    """Cells of team and area with their share, the largest first."""
    ranked = cells.drop_nulls("share_ratio").sort("share_ratio", descending=True)
    return [
        (f"{team} {words.area(area)}", words.ratio(share))
        for team, area, share in ranked.select("team", "area", "share_ratio").rows()
    ]


def tries_told(now: pl.DataFrame) -> list[tuple[str, str]]:
    """Start-up areas with the hours of first tries and of retries; rows of `tries`."""
    return [
        (words.area(area), f"{first} and {again}")
        for area, first, again in now.select("area", "first_text", "again_text").rows()
    ]


def jobs(table: pl.DataFrame, area: str, chosen: filters.Scope, about: str, sql: str) -> None:
    """The table of jobs with its footer; a selected row opens the job."""
    lost = "lost GPU-hours" if area == filters.ALL else f"GPU-hours of {area}"
    if area != filters.ALL:  # the largest cause of the whole job: it says nothing of this area
        table = table.drop("largest_area", "largest_gpu_hours")
    if known := money.price():
        each, currency = known
        table = table.insert_column(2, (table["lost_gpu_hours"] * each).alias("lost_cost"))
        cost = {"lost_cost": st.column_config.NumberColumn(currency, format="compact")}
    else:
        cost = {}
    parts.jobs_table(
        table,
        key="jobs table",
        most=640,
        alt=f"Jobs that lost most. {about}",
        columns={
            "gpus": st.column_config.NumberColumn("GPUs"),
            "ett_percent": st.column_config.NumberColumn("ETT", format="%.1f %%"),
            "lost_gpu_hours": st.column_config.ProgressColumn(
                lost,
                format="compact",
                min_value=0,
                max_value=parts.most_of(table["lost_gpu_hours"]),
            ),
            **cost,
            "largest_area": st.column_config.TextColumn("largest cause", width=130),
            "largest_gpu_hours": st.column_config.NumberColumn("GPU-hours of it", format="compact"),
        },
    )
    parts.footer(
        stem=chosen.stem("lost-time", "jobs"),
        table=table,
        about=about,
        measures=("lost_gpu_seconds",),
        sql=sql,
    )


def attempts(table: pl.DataFrame, area: str, chosen: filters.Scope, about: str, sql: str) -> None:
    """The table of attempts by hours, where no GPUs are known; a selected row opens the job."""
    parts.jobs_table(
        table,
        key="attempts lost table",
        most=640,
        alt=f"Attempts that lost most hours. {about}",
        columns={
            "lost_wall_hours": st.column_config.ProgressColumn(
                "lost hours" if area == filters.ALL else f"hours of {area}",
                format="compact",
                min_value=0,
                max_value=parts.most_of(table["lost_wall_hours"]),
            ),
            "wall_hours": st.column_config.NumberColumn("wall hours", format="%.1f"),
            "ended_at": st.column_config.DatetimeColumn("ended, UTC", format="D MMM HH:mm"),
        },
    )
    parts.footer(
        stem=chosen.stem("lost-time", "attempts"),
        table=table,
        about=about,
        sql=sql,
    )


def _split(areas: pl.DataFrame) -> pl.DataFrame:
    first = areas.filter(~pl.col("is_recovery")).select("area", first_amount="amount")
    again = areas.filter("is_recovery").select("area", again_amount="amount")
    names = pl.DataFrame({"area": STARTUP_AREAS}, schema={"area": pl.String})
    return (
        names.join(first, on="area", how="left", maintain_order="left")
        .join(again, on="area", how="left", maintain_order="left")
        .filter(pl.any_horizontal(pl.col("first_amount", "again_amount").is_not_null()))
        .with_columns(pl.col("first_amount", "again_amount").fill_null(0))
    )


def _note(part: str, now: Mapping[str, Any], hours: str) -> str:
    if part == "unaccounted" and now[part] > LIMIT:
        return (
            f":orange[:material/warning: over {words.ratio(LIMIT, 0)}]: instrument what is missing"
        )
    return f"{words.hours(now[part] * now['instrumented'])} {hours}"
