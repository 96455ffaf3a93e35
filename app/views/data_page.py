"""Data & definitions: can I trust these numbers? Sources, lines set aside, identity, meanings."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import streamlit as st

from app import alts, data, definitions, filters, parts, tiles, walk, words
from app.charts.shares import unaccounted

SOURCES = "select source, data_at, events, rejected from sources order by data_at desc, source"

REJECTED = (
    "select source, reason, lines from rejected_by_source order by lines desc, source, reason"
)

EXAMPLES = """
select reason, file, line_number, detail, line
from rejected_examples
order by reason, file, line_number
"""

DUMPS = """
select ingested_at, file, format, cluster, bytes, events, rejected
from ingested_files
order by ingested_at desc, file
"""
MOST_DUMPS = 500  # on screen; the CSV has them all

KINDS = (
    "select kind, count(*) as anomalies from anomalies group by kind order by anomalies desc, kind"
)

ANOMALIES = """
select kind, job_id, attempt, detail
from anomalies
where $1 = 'any' or kind = $1
order by kind, job_id, attempt
limit 1000
"""

IDENTITY = """
select
    day,
    wall_us / 1e6 as wall_seconds,
    areas_us / 1e6 as areas_seconds,
    gap_us / 1e6 as gap_seconds
from identity_by_day
order by abs(gap_us) desc, day
"""

FLEET = """
select
    day,
    coalesce(max(wall_seconds) filter (where team = 'fleet'), 0) as fleet_seconds,
    coalesce(sum(wall_seconds) filter (where team <> 'fleet'), 0) as teams_seconds,
    fleet_seconds - teams_seconds as gap_seconds,
    1e-9 * greatest(max(fleet_seconds) over (), 1) as tolerance_seconds
from team_day
where workload = 'all'
group by day
order by abs(gap_seconds) desc, day
"""

UNACCOUNTED = """
select
    team,
    gpu_seconds / 3600 as unaccounted_gpu_hours,
    share_gpu_ratio as unaccounted_ratio
from window_team_areas('all', $1, $2)
where area = 'unaccounted' and team <> 'fleet'
order by unaccounted_ratio desc nulls last, team
"""
MOST_TEAMS = 20  # in the chart; the CSV has them all

JOBS = """
select
    count(*) as jobs,
    count(*) filter (where gpus is null and not is_excluded) as unknown_gpus,
    count(*) filter (where gpus = 0 and not is_excluded) as no_gpus,
    count(*) filter (where is_excluded) as excluded,
    count(*) filter (where not is_instrumented and not is_excluded) as uninstrumented
from jobs
"""

published = data.row("select * from publication")

with parts.card("Sources", "How far does each source reach, and what of it was set aside?"):
    sources = data.frame(SOURCES)
    st.dataframe(
        sources,
        hide_index=True,
        alt="Sources with how far they reach, rows in and rows set aside",
        column_config={
            "data_at": st.column_config.DatetimeColumn(
                "reaches to, UTC",
                format="D MMM YYYY HH:mm:ss",
                help="The newest event, or the later moment that --as-of said the dumps reach to",
            ),
            "events": st.column_config.NumberColumn("events in", format="localized"),
            "rejected": st.column_config.NumberColumn("lines set aside", format="localized"),
        },
    )
    parts.footer(stem="ett_data_sources", table=sources, about="Sources", sql=SOURCES)
    st.caption(
        f"Publish {words.count(published['sequence'])}, at "
        f"{words.instant(published['published_at'])} UTC. Days are of {published['time_zone']}. "
        f"An attempt without an end counts as running until its source is "
        f"{words.duration(published['stale_after_seconds'])} past its last sign of life."
    )
    dumps = data.frame(DUMPS)
    with st.expander(f"Dumps that were loaded, the newest first: {words.count(dumps.height)}"):
        if dumps.height > MOST_DUMPS:
            st.caption(f"The newest {MOST_DUMPS} of them; the CSV has all.")
        st.dataframe(
            dumps.head(MOST_DUMPS),
            hide_index=True,
            lazy=False,
            placeholder=words.UNKNOWN,
            alt="Dumps with when they were loaded, their lines and what was set aside",
            column_config={
                "ingested_at": st.column_config.DatetimeColumn(
                    "loaded, UTC", format="D MMM YYYY HH:mm:ss"
                ),
                "file": st.column_config.TextColumn("dump", width="large"),
                "bytes": st.column_config.NumberColumn("size", format="bytes"),
                "events": st.column_config.NumberColumn("events", format="localized"),
                "rejected": st.column_config.NumberColumn("set aside", format="localized"),
            },
        )
        parts.footer(stem="ett_data_dumps", table=dumps, about="Dumps, newest first", sql=DUMPS)

with parts.card("Lines set aside", "What could not be read, and why?"):
    rejected = data.frame(REJECTED)
    if rejected.is_empty():
        st.markdown(":green[:material/check_circle: good] \u00b7 No line was set aside.")
    else:
        st.dataframe(
            rejected,
            hide_index=True,
            alt="Lines set aside by source and reason",
            column_config={"lines": st.column_config.NumberColumn(format="localized")},
        )
        examples = data.frame(EXAMPLES)
        for reason in examples["reason"].unique(maintain_order=True):
            few = examples.filter(pl.col("reason") == reason)
            with st.expander(f"{words.code(reason)} {words.many(few.height, 'example')}"):
                for line in few.iter_rows(named=True):
                    st.caption(
                        words.code(f"{line['file']}:{line['line_number']}  {line['detail']}", 400)
                    )
                    st.code(words.clipped(line["line"] or "", 2000), language=None, wrap_lines=True)
        parts.footer(
            stem="ett_data_set-aside",
            table=rejected,
            about="Lines set aside by source and reason",
            sql=REJECTED,
        )

with parts.card(
    "Identity", "Does every second have exactly one cause, and the fleet no other than its teams?"
):
    identity = data.frame(IDENTITY)
    tiles.checked(
        "Sum of the areas = wall time",
        identity.height,
        float(identity["gap_seconds"][0]) if identity.height else 0.0,
        tolerance=0.0,
    )
    fleet = data.frame(FLEET)
    tiles.checked(
        "Fleet = sum of the teams",
        fleet.height,
        float(fleet["gap_seconds"][0]) if fleet.height else 0.0,
        tolerance=float(fleet["tolerance_seconds"][0]) if fleet.height else 0.0,
    )
    with st.expander("By day, the largest gap first"):
        st.dataframe(identity, hide_index=True, alt="Wall time and sum of areas by day")
    parts.footer(stem="ett_data_identity", table=identity, about="Identity by day", sql=IDENTITY)

# -- one attempt ---------------------------------------------------------------------------------

with parts.card(
    "One attempt, from the dump to the rollup", "How does a line of a dump become a number here?"
):
    walked = walk.asked()
    if walked is None:
        walked = walk.example(published)
        st.caption(
            "An example: the newest attempt that lost training, or the newest of all where none "
            "did, or its events were pruned. A link may name another."
        )
    if walked is None:
        st.caption("There is no attempt yet.")
    else:
        walk.show(*walked, published["time_zone"])

with parts.card("Unaccounted time by team", "Whose launchers hold GPUs without saying what for?"):
    last = published["last_complete_day"] or published["newest_day"]
    if last is None:
        st.caption("There is no day with data yet.")
    else:
        first = max(last - timedelta(days=27), published["first_day"])
        whole = data.frame(UNACCOUNTED, first, last)
        teams = whole.drop_nulls("unaccounted_ratio")
        st.caption(f"Share of instrumented GPU-hours, {words.days(first, last)}.")
        if teams.height < whole.height and not teams.is_empty():
            untold = words.many(whole.height - teams.height, "more team")
            st.caption(f"{untold} had instrumented jobs, of none of which the GPUs are known.")
        if teams.is_empty():
            st.caption("No instrumented job whose GPUs are known ran in these days.")
        else:
            if teams.height > MOST_TEAMS:
                rest = words.many(teams.height - MOST_TEAMS, "more team")
                st.caption(f"The {MOST_TEAMS} with the largest share; {rest} in the CSV.")
            parts.chart(
                unaccounted(
                    teams.head(MOST_TEAMS), parts.limits().unaccounted_ratio, parts.colours()
                ),
                alt="Unaccounted share of GPU-hours by team: "
                + alts.listed((team, words.ratio(share, 2)) for team, _, share in teams.rows()),
                stem="ett_data_unaccounted",
                table=whole,
                about=f"Unaccounted share by team, {words.days(first, last)}",
                measures=("unaccounted_gpu_seconds", "instrumented_ratio"),
                sql=UNACCOUNTED,
            )

with parts.card(
    "Jobs outside the ratios", "Which jobs count only in part, or not at all?", parts.SPARKLINE
):
    jobs = data.row(JOBS)
    with st.grid(4, min_column_width=150, gap="small"):
        for label, key, meaning in (
            ("GPUs unknown", "unknown_gpus", "Counted in seconds, not in GPU-hours"),
            ("No GPUs", "no_gpus", "Held 0 GPUs; outside every ratio"),
            ("Excluded", "excluded", "Excluded by the settings; outside every ratio"),
            (
                "Uninstrumented",
                "uninstrumented",
                "Their sources cannot say what they did; outside ETT",
            ),
        ):
            st.metric(label, words.count(jobs[key]), help=meaning)
    st.caption(f"Of {words.many(jobs['jobs'], 'job')}.")

with parts.card("Anomalies", "Where did sources contradict themselves or each other?"):
    kinds = data.frame(KINDS)
    if kinds.is_empty():
        st.markdown(":green[:material/check_circle: good] \u00b7 No contradiction was found.")
    else:
        st.dataframe(kinds, hide_index=True, alt="Anomalies by kind")
        asked = st.query_params.get("kind")
        kind = st.selectbox("Kind", ["any", *kinds["kind"]], key="kind", bind="query-params")
        filters.say_if_refused("kind", asked, ["any", *kinds["kind"]], kind)
        anomalies = data.frame(ANOMALIES, kind)
        of_kind = kinds if kind == "any" else kinds.filter(pl.col("kind") == kind)
        found = int(of_kind["anomalies"].sum())
        about = "Anomalies"
        if found > anomalies.height:
            about = f"Anomalies, the first {words.count(anomalies.height)} of {words.count(found)}"
            st.caption(f"{about}.")
        st.dataframe(anomalies, hide_index=True, lazy=False, placeholder=words.UNKNOWN, alt=about)
        parts.footer(stem="ett_data_anomalies", table=anomalies, about=about, sql=ANOMALIES)

with parts.card("Definitions", "What does each word and number mean?"):
    definitions.show()
