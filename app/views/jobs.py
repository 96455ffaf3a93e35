"""Jobs: which jobs lost the most? A table to find a job in, and a row to click."""

from __future__ import annotations

import polars as pl
import streamlit as st

from app import data, filters, parts, words

MOST = 500
GPUS_OF = "Of the last attempt: those before may have had more or fewer"
MOST_GPUS = 10_000_000.0  # more are set aside by an ingest

JOBS = """
select
    job_id,
    job_name,
    team,
    lost_gpu_seconds / 3600 as lost_gpu_hours,
    (wall_seconds - effective_seconds) / 3600 as lost_wall_hours,
    coalesce(ett_gpu_ratio, ett_ratio) * 100 as ett_percent,
    gpus,
    attempts,
    interruptions,
    last_outcome,
    workload,
    user_name,
    wall_seconds / 3600 as wall_hours,
    first_started_at,
    last_ended_at,
    is_instrumented,
    is_excluded,
    count(*) over () as found
from jobs
where
    ($1 = 'fleet' or team = $1)
    and ($2 = 'all' or workload = $2)
    and ($3 = '' or contains(lower(concat_ws(' ', job_id, job_name, user_name)), lower($3)))
    and ($3 <> '' or last_ended_at >= $4)
    and ($5 = 'any' or last_outcome = $5)
    and ($6 = 0 or gpus >= $6)
order by
    lost_gpu_seconds desc nulls last,
    lost_wall_hours desc nulls last,
    job_id asc
limit 500
"""

chosen = filters.show()
asked = {name: st.query_params.get(name) for name in ("outcome", "gpus")}
zone = data.row("select time_zone from publication")["time_zone"]
with st.container(horizontal=True, vertical_alignment="bottom"):
    typed = st.text_input(
        "Job",
        key="q",
        bind="query-params",
        placeholder="a part of its id, name or user",
        max_chars=256,
    )
    search = (typed or "").strip()
    ends = data.frame("select distinct last_outcome from jobs order by 1").to_series().to_list()
    outcomes = ["any", *(end for end in ends if end)]
    outcome = st.selectbox("Last outcome", outcomes, key="outcome", bind="query-params")
    gpus = round(
        st.number_input(
            "GPUs at least",
            min_value=0.0,  # fractions, since streamlit fails to make inf a whole number
            max_value=MOST_GPUS,
            value=0.0,
            step=8.0,
            format="%.0f",
            key="gpus",
            help=GPUS_OF,
            bind="query-params",
        )
    )
filters.say_if_refused("outcome", asked["outcome"], outcomes, outcome)
if asked["gpus"] not in (str(gpus), f"{gpus}.0"):  # streamlit writes 16.0 as one comes back
    filters.say_if_refused("gpus", asked["gpus"], ["a whole number"], gpus)

with parts.card("Jobs that lost most", "Which jobs should someone look at first?", parts.EVIDENCE):
    parameters = (
        chosen.team,
        chosen.workload,
        search,
        data.midnight(chosen.first_day, zone),
        outcome,
        gpus,
    )
    jobs = data.frame(JOBS, *parameters)
    narrowed = "".join(
        (
            "" if chosen.team == filters.FLEET else f" of {words.code(chosen.team)}",
            "" if chosen.workload == filters.ALL else f" in {words.code(chosen.workload)}",
        )
    )
    if jobs.is_empty():
        parts.scope(
            f"No job{narrowed} is like this. Take a letter off, choose any outcome, or lower the "
            f"GPUs{', or look at all teams and workloads' if narrowed else ''}."
            if search or outcome != "any" or gpus
            else "No job ran here in these days. Choose more days, or another team or workload. "
            "A part of an id finds jobs of any day.",
            st.caption,
        )
    else:
        found = jobs["found"][0]
        days = "of all days" if search else f"since {words.day(chosen.first_day)}"
        is_weighed = jobs["lost_gpu_hours"].null_count() < jobs.height
        is_known = is_weighed or jobs["lost_wall_hours"].null_count() < jobs.height
        which = f"the {MOST} that lost most" if is_known else f"the first {MOST}"
        most = f"; {which}" if found > MOST else ""
        about = (
            f"{words.many(found, 'job')} {days} of {chosen.team}, {chosen.workload} workloads{most}"
        )
        if is_weighed:
            ordered = "Sorted by GPU-hours lost"
        elif is_known:
            whose = "the GPUs of instrumented ones" if jobs["gpus"].count() else "their GPUs"
            ordered = f"Sorted by hours lost: {whose} are unknown"
        else:
            ordered = "Sorted by id: what they lost, their sources do not say"
        parts.scope(
            f"{words.many(found, 'job')}{narrowed} {days}{most}. {ordered}, each counted whole. "
            f"{words.SELECT_ROW} to see the job.",
            st.caption,
        )
        untold = [name for name in ("job_name", "user_name") if jobs[name].count() == 0]
        parts.jobs_table(
            jobs.drop("found", *untold),
            key="jobs table",
            most=640,
            alt=about,
            columns={
                "job_name": st.column_config.TextColumn("name"),
                "user_name": st.column_config.TextColumn("user"),
                "gpus": st.column_config.NumberColumn("GPUs", help=GPUS_OF),
                "last_outcome": st.column_config.TextColumn("ended"),
                "ett_percent": st.column_config.NumberColumn("ETT", format="%.1f %%"),
                "lost_gpu_hours": st.column_config.ProgressColumn(
                    "lost GPU-hours",
                    format="compact",
                    min_value=0,
                    max_value=parts.most_of(jobs["lost_gpu_hours"]),
                ),
                "wall_hours": st.column_config.NumberColumn("wall hours", format="%.1f"),
                "lost_wall_hours": st.column_config.NumberColumn("lost hours", format="%.1f"),
                "first_started_at": st.column_config.DatetimeColumn(
                    "started, UTC", format="D MMM YYYY HH:mm"
                ),
                "last_ended_at": st.column_config.DatetimeColumn(
                    "last sign of life, UTC", format="D MMM YYYY HH:mm"
                ),
                "is_instrumented": st.column_config.CheckboxColumn("instrumented"),
                "is_excluded": st.column_config.CheckboxColumn("excluded"),
            },
        )
        parts.footer(
            stem=chosen.stem("jobs", "lost"),
            table=jobs.select(pl.exclude("found")),
            about=about,
            measures=("lost_gpu_seconds", "ett_gpu_ratio"),
            sql=JOBS,
        )
