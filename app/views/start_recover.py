"""Start & recover: how long until the first batch, and the next one after a failure?"""

from __future__ import annotations

from functools import partial

import polars as pl
import streamlit as st

from app import alts, data, filters, kpis, openings, parts, regressed, selects, waits, words
from app.charts.days import spread
from app.charts.dumbbells import dumbbells
from app.charts.lines import Line, lines_by_day
from app.charts.made_of import made_of, tallest
from app.charts.publishing import publishing
from app.charts.waits import SHORTEST, wait_curves, waits_by_day, waits_of_size

MOST_TEAMS = 12
P50 = ("tts_p50_seconds", "ttr_p50_seconds")
WAITS = {
    # the name of a wait in the views: its columns, its name, its question
    "start": ("tts", "Time to start", "How long from the GPUs to the first batch, day by day?"),
    "recovery": (
        "ttr",
        "Time to recover",
        "How long from an interruption to the next first batch, day by day?",
    ),
}

chosen = filters.show()
window = openings.opened(chosen)
about = window.about
colours = parts.colours()
team, workload, first, last = chosen.now
before = chosen.previous
newest = chosen.newest_day

waits.row(chosen, window)
if kpis.not_reported(window.now, filters.WEIGHTS[1]):
    if window.now["wall_seconds"]:
        st.caption(
            "All of this time is uninstrumented: its sources cannot say when training began."
        )
    st.stop()

# -- by day --------------------------------------------------------------------------------------

every = filters.by_day(waits.BY_DAY, chosen)
days = filters.within(every, first, newest)
earlier = filters.within(every, *before[2:])
was = earlier if chosen.is_compared else earlier.clear()
limits = spread(
    [days.unpivot(on=[*P50, "tts_p90_seconds", "ttr_p90_seconds"]), was.unpivot(on=P50)], "value"
)
drawn = 0
for column, (short, name, question) in zip(st.columns(2, gap="small"), WAITS.values(), strict=True):
    with column, parts.card(f"{name} by day", question):
        shown = filters.beside(
            days.select(
                "day",
                "is_complete",
                p50_seconds=f"{short}_p50_seconds",
                p90_seconds=f"{short}_p90_seconds",
            ),
            earlier.select("day", p50_seconds=f"{short}_p50_seconds"),
            chosen,
            value="p50_seconds",
        )
        if shown["p50_seconds"].drop_nulls().is_empty():
            st.caption("Nobody waited here in these days. Choose more days, or another team.")
            continue
        parts.chart(
            waits_by_day(
                shown,
                regressed.marks(team, first, newest, short),
                limits,
                colours,
                parts.STANDARD,
            ),
            alt=f"{name}, p50: {alts.by_day(shown, last, 'p50_seconds', words.duration)}. {about}",
            stem=chosen.stem("start-recover", f"{short}-by-day"),
            table=shown,
            about=about,
            measures=(f"{short}_p50_seconds", f"{short}_p90_seconds"),
            sql=waits.BY_DAY,
            values=filters.drawn_days(chosen),
        )
        drawn += 1
if drawn:
    before_that = (
        ", the thin grey line is the p50 of the period before" if chosen.is_compared else ""
    )
    parts.caption(
        f"The line is the p50, the band reaches to the p90{before_that}.",
        "Both panels have the same axis." if drawn == len(WAITS) else "",
        waits.AT_THE_EDGE if limits[0] < SHORTEST else "",
        filters.unfinished(
            days.with_columns(p50_seconds=pl.coalesce(P50)), "p50_seconds", "Hollow"
        ),
    )

# -- what it is made of --------------------------------------------------------------------------

spine = data.frame(selects.DAYS, first, newest)


def made_of_beside(mine: pl.DataFrame, wait: str) -> pl.DataFrame:
    """The areas of a wait with those of the window before."""
    then = data.frame(waits.AREAS, *before, wait)
    return filters.marked(filters.beside(mine, then, chosen, "area", value="p50_seconds"), spine)


is_made = False
for column, (wait, (short, name, _)) in zip(st.columns(2, gap="small"), WAITS.items(), strict=True):
    doing = "recovering" if wait == "recovery" else "starting"
    with (
        column,
        parts.card(f"What {name.lower()} is made of", f"Which part of {doing} takes its time?"),
    ):
        areas = data.frame(waits.AREAS, team, workload, first, newest, "any")
        mine = areas.filter(pl.col("wait") == wait).drop("wait")
        if mine.is_empty():
            st.caption("Nobody waited here in these days. Choose more days, or another team.")
        elif not tallest(mine):
            st.caption(
                f"No phase of {doing} took any time in half of these waits or more. What no phase "
                "explains is not drawn here: Lost time has it as unaccounted."
            )
        else:
            parts.chart(
                made_of(
                    mine,
                    spine,
                    max(tallest(areas.filter(pl.col("wait") == each)) for each in WAITS),
                    colours,
                    parts.STANDARD,
                    is_recovery=wait == "recovery",
                ),
                alt=f"{name} {waits.newest(mine, last)}. {about}",
                stem=chosen.stem("start-recover", f"{short}-made-of"),
                table=partial(made_of_beside, mine, wait),
                about=about,
                measures=(f"{short}_p50_seconds",),
                sql=waits.AREAS,
                values=filters.drawn_days(chosen, wait),
            )
            parts.legend(mine.filter(pl.col("p50_seconds") > 0)["area"].unique().to_list())
            parts.caption(filters.unfinished(filters.marked(mine, spine), "p50_seconds", "Pale"))
            is_made = True
if is_made:
    st.caption(
        "Medians of each area: they do not add up to the median of the whole. Slanted lines: after "
        "an interruption; the queue, attempts that died on the way, and time that no phase "
        "explains are not drawn."
    )

left, right = st.columns(2, gap="small")
with left, parts.card("Stages of trainer_init", "Which stage takes longer than before?"):
    stages = data.frame(waits.STAGES, *chosen.now)
    if stages.is_empty():
        st.caption("No source reports stages of trainer_init here.")
    else:
        then = data.frame(waits.STAGES, *before)
        then = then if chosen.is_compared else then.clear()
        stages = stages.join(
            then.select("stage", previous_mean_seconds="mean_seconds"),
            on="stage",
            how="left",
            maintain_order="left",
        )
        parts.chart(
            dumbbells(stages, colours),
            alt=f"Stages of trainer_init: {alts.listed(waits.stages_told(stages))}. {about}",
            stem=chosen.stem("start-recover", "stages"),
            table=stages,
            about=about,
            measures=("mean_seconds",),
            least_width=parts.LABELLED,
            sql=waits.STAGES,
        )
        st.caption(
            f"Means: a dot is now{', a ring before' if chosen.is_compared else ''}. "
            "Stages may overlap, so they are not stacked."
        )

# -- how waits are spread ------------------------------------------------------------------------

with right, parts.card("How waits are spread", "Did every wait change, or only the longest?"):
    filters.say_if_refused("wait", st.query_params.get("wait"), WAITS, next(iter(WAITS)))
    kind = (
        st.segmented_control(
            "Wait", list(WAITS), default="start", required=True, key="wait", bind="query-params"
        )
        or "start"  # of an address that names none
    )
    short, name, _ = WAITS[kind]
    mine = data.frame(waits.CURVES, *chosen.now, kind)
    earlier = data.frame(waits.CURVES, *before, kind) if chosen.is_compared else mine.clear()
    if mine.is_empty():
        st.caption("Nobody waited here in these days. Choose more days, or another team.")
    else:
        ticked = {part: window.now[f"{short}_{part}_seconds"] for part in ("p50", "p90")}
        parts.chart(
            wait_curves(
                mine,
                earlier,
                ticked,
                colours,
                parts.STANDARD,
            ),
            alt=f"{name}: {alts.listed(waits.told(ticked))}. {about}",
            stem=chosen.stem("start-recover", f"{short}-spread"),
            table=waits.curves_beside(mine, earlier),
            about=about,
            measures=(f"{short}_p50_seconds", f"{short}_p90_seconds"),
            sql=waits.CURVES,
        )
        # the axis begins at the p50 at the latest, and names nothing that is left of it
        is_short = (ticked["p50"] or 0.0) < SHORTEST
        st.caption(
            f"{name}{'; the grey line is the period before' if chosen.is_compared else ''}."
            + (f" {waits.AT_THE_EDGE}" if is_short else "")
        )

# -- by size -------------------------------------------------------------------------------------

with parts.card(
    "Time to start by size", "Is it slower, or were the jobs larger? Small figures, one for a size."
):
    sizes = data.frame(waits.SIZES, *chosen.now, newest)
    then = data.frame(waits.SIZES, *before, before[3])
    by_day = filters.beside(
        sizes.drop_nulls("day"),
        then.drop_nulls("day"),
        chosen,
        "gpus_bucket",
        value="tts_p50_seconds",
    )
    whole, whole_then = (
        {
            row["gpus_bucket"]: row
            for row in frame.filter(pl.col("day").is_null()).iter_rows(named=True)
        }
        for frame in (sizes, then if chosen.is_compared else then.clear())
    )
    limits = spread([by_day], "tts_p50_seconds", "previous_tts_p50_seconds")
    sizes_told: tuple[str, ...] = waits.BUCKETS
    unknown = (window.now["tts_count"] or 0) - sum(row["tts_count"] for row in whole.values())
    if not whole and unknown:
        st.caption("The GPUs of every attempt that started in these days are unknown.")
        sizes_told = ()
    elif unknown:
        st.caption(f"Not drawn: {words.many(unknown, 'start')} on an unknown number of GPUs.")
    with st.grid(4, min_column_width=220, gap="small"):
        for bucket in sizes_told:
            mine = by_day.filter(pl.col("gpus_bucket") == bucket)
            with st.container(gap=None):
                st.markdown(f"**{bucket} GPUs**")
                st.caption(waits.of_size(whole.get(bucket), whole_then.get(bucket)))
                st.plotly_chart(
                    waits_of_size(mine, "tts_p50_seconds", spine, limits, colours, 150),
                    theme=None,
                    key=f"figure size {bucket}",
                    config={"displayModeBar": False},
                    alt=f"Time to start, {bucket} GPUs: "
                    f"{alts.by_day(mine, last, 'tts_p50_seconds', words.duration)}. {about}",
                )
    parts.footer(
        stem=chosen.stem("start-recover", "by-size"),
        table=filters.marked(by_day, spine),
        about=about,
        measures=("tts_p50_seconds",),
        sql=waits.SIZES,
    )

# -- compilation, shutdown -----------------------------------------------------------------------

with parts.card("PT2 compile", "Does the cache help, and is there more to compile?"):
    compiles = data.frame(waits.COMPILES, team, workload, first, newest)
    if not compiles["hit_ratio"].count() + compiles["recompiles_per_attempt"].count():
        st.caption("No source reports what the compile cache said, nor recompiles, here.")
    else:
        by_day = spine.join(compiles, on="day", how="left", maintain_order="left")
        then = data.frame(waits.COMPILES, *before)
        for value in ("hit_ratio", "hit_p50_seconds", "recompiles_per_attempt"):
            by_day = filters.beside(by_day, then, chosen, value=value)
        panels = (
            (
                "Cache hits",
                (Line("hit_ratio", "hits"),),
                words.ratio,
                {"tickformat": ".0%", "range": [-0.03, 1.03], "dtick": 0.5},
            ),
            (
                "Seconds, p50",
                (Line("hit_p50_seconds", "hit"), Line("miss_p50_seconds", "miss", "dash")),
                words.duration,
                {"rangemode": "tozero", "ticksuffix": " s"},
            ),
            (
                "Recompiles an attempt",
                (Line("recompiles_per_attempt", "recompiles"),),
                lambda value: words.UNKNOWN if value is None else f"{value:.2f}",
                {"rangemode": "tozero"},
            ),
        )
        with st.grid(3, min_column_width=240, gap="small"):
            for title, lines, show, axis in panels:
                with st.container(gap=None):
                    st.caption(title)
                    st.plotly_chart(
                        lines_by_day(by_day, lines, show, axis, colours, 180),
                        theme=None,
                        key=f"figure compile {title}",
                        config={"displayModeBar": False},
                        alt=f"{title}: {waits.lines_told(by_day, last, lines, show)}. {about}",
                    )
        parts.footer(
            stem=chosen.stem("start-recover", "compile"),
            table=by_day,
            about=about,
            measures=("compile_cache_hit_ratio", "recompiles_per_attempt"),
            sql=waits.COMPILES,
        )
        parts.caption(filters.undrawn(chosen))

left, right = st.columns([1, 2], gap="small")
with left, parts.card("Shutdown that publishes", "How much of shutdown is publishing the model?"):
    teams = data.frame(waits.PUBLISHING, workload, first, last, team)
    shown = teams.head(MOST_TEAMS + 1)
    if shown["publishing_ratio"].drop_nulls().is_empty():
        st.caption(waits.why_no_share(shown, window.now))
    else:
        by_gpus = filters.sentence(filters.by_gpus(chosen), window.now)
        texts = [
            f"{words.ratio(share, 0)} of {words.hours(whole)}"
            for share, whole in shown.select("publishing_ratio", "shutdown_gpu_seconds").rows()
        ]
        parts.chart(
            publishing(shown.with_columns(text=pl.Series(texts, dtype=pl.String)), colours),
            alt="Share of shutdown that publishes the model: "
            f"{alts.listed(zip(shown['team'], texts, strict=True))}. {by_gpus}",
            stem=chosen.stem("start-recover", "publishing"),
            table=lambda: teams.join(
                (
                    data.frame(waits.PUBLISHING, workload, *before[2:], team)
                    if chosen.is_compared
                    else teams.clear()
                ).select("team", previous_publishing_ratio="publishing_ratio"),
                on="team",
                how="left",
                maintain_order="left",
            ),
            about=by_gpus,
            measures=("publishing_ratio",),
            sql=waits.PUBLISHING,
        )
        st.caption("Of the GPU-hours in shutdown of the attempts that ended in these days.")
        if teams.height > shown.height:
            rest = words.many(teams.height - shown.height, "more team")
            st.caption(f"The {MOST_TEAMS} teams that published most; {rest} in the CSV.")
with (
    right,
    parts.card(
        "Slowest attempts",
        f"Which waits should someone look at? {words.SELECT_ROW} for its job.",
    ),
):
    slowest = data.frame(waits.SLOWEST, *chosen.now)
    if slowest.is_empty():
        st.caption("Nobody waited here in these days. Choose more days, or another team.")
    else:
        waits.slowest(slowest, chosen, about)
