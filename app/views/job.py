"""Job: what happened to this job? Reached by a link or from the Jobs table."""

from __future__ import annotations

import polars as pl
import streamlit as st

from app import alts, data, evidence, filters, one_job, parts, words
from app.attempt_areas import areas_of
from app.charts.cascade import cascade, marks_told
from app.charts.gantt import MOST_ATTEMPTS, gantt, is_summed

PAGE, JOBS_PAGE = "views/job.py", "views/jobs.py"

asked = st.query_params.get("job", "")
if not asked:
    st.caption("No job is named in the link. Choose one from the list.")
    st.page_link(JOBS_PAGE, label="Jobs", icon=":material/list_alt:")
    st.stop()
job = data.row(one_job.JOB, asked)
if not job:
    st.warning(
        f"There is no job {words.code(asked, 256)} in this warehouse that has started. "
        "One that has only queued so far is here once it starts."
    )
    for near in data.frame(one_job.LIKE, asked[:256])["job_id"]:
        # a link to the page that is shown would keep its address, and with it the job that is not
        st.button(
            words.code(near, 256),
            key=f"near job {near}",
            type="tertiary",
            on_click=filters.go,
            args=(PAGE, {"job": near}),
        )
    st.page_link(JOBS_PAGE, label="All jobs", icon=":material/list_alt:")
    st.stop()

attempts = data.frame(one_job.attempts_sql(), asked, job["first_started_at"], job["last_ended_at"])
was_suspended = attempts["suspended_seconds"].sum() > 0
about = f"Job {asked}"
stem = f"ett_job_{words.slug(asked)}"
st.page_link(JOBS_PAGE, label="All jobs", icon=":material/arrow_back:")
with st.container(gap=None, key="scope"):
    st.header(words.code(asked, 256), anchor=False)
    st.markdown(
        " \u00b7 ".join(
            [
                *(
                    f"{what} {words.code(job[told])}"
                    for what, told in (("name", "job_name"), ("user", "user_name"))
                    if job[told]
                ),
                f"team {words.code(job['team'])}",
                f"{words.code(job['workload'])} workload",
                one_job.gpus(job, attempts),
                f"**{words.code(job['last_outcome'])}**" if job["last_outcome"] else "no end known",
            ]
        )
    )
if job["is_excluded"]:
    st.info("This job is excluded by the settings: it is outside every ratio and rollup.")
elif not attempts.is_empty() and (attempts["gpus"] == 0).fill_null(value=False).all():
    st.info("This job held no GPUs: it is outside every ratio and rollup.")
if not job["is_instrumented"]:
    st.info("The sources of this job cannot say what it did: all of its time is uninstrumented.")
one_job.doubts(asked)

# -- header --------------------------------------------------------------------------------------

one_job.row(job, attempts)
if attempts.is_empty():
    st.caption("No attempt of this job has started yet.")
    st.stop()
if lost := one_job.losses(job):
    st.markdown(lost)

# -- Gantt ---------------------------------------------------------------------------------------

detail, untold = pl.DataFrame(), "What was reported of this job cannot be read."
with parts.card("Timeline", "What did each attempt do, and where did it stop?", parts.EVIDENCE):
    detail = data.detail(asked)
    untold = one_job.untold(job["wall_seconds"]) if detail.is_empty() else ""
    if untold:
        st.caption(untold)
    else:
        said = st.query_params.get("aligned") or "false"  # without a value it is as not named
        filters.say_if_refused("aligned", said.lower(), ("true", "false"), "false")
        aligned = st.toggle(
            "Start every attempt at zero",
            key="aligned",
            bind="query-params",
            help="Lines the attempts up, so that their start-ups can be compared",
        )
        if attempts.height > MOST_ATTEMPTS:
            earlier = words.many(attempts.height - MOST_ATTEMPTS, "earlier attempt")
            st.caption(f"The last {MOST_ATTEMPTS} attempts; the table below has {earlier} too.")
        parts.chart(
            gantt(attempts, detail, parts.colours(), aligned=aligned),
            alt=f"Timeline of the attempts: {alts.listed(one_job.attempts_told(attempts))}. "
            f"{about}",
            stem=f"{stem}_timeline",
            table=one_job.timeline(detail),
            about=about,
            measures=("unsaved_seconds", "ttr_seconds", "checkpoint_saves"),
        )
        parts.legend(detail.filter(pl.col("kind") == "area")["name"].unique().to_list())
        st.caption(
            "Times in UTC. Ticks above a bar are checkpoints, crosses failed ones, slanted ticks "
            "such as were cut off. Slanted lines over start-up: after an interruption. D done, "
            "F failed, P preempted, T timed out, C cancelled, L lost, R running."
        )
        if was_suspended:
            st.caption(
                "Between a bar and its mark: as long as the scheduler suspended the attempt. That "
                "is no wall time, and is taken from its end."
            )
        if is_summed(attempts, detail, aligned=aligned):
            st.caption(
                "Where an attempt has more parts than fit, the bar shows what took most of each "
                "pixel. The CSV has them all."
            )

# -- attempts ------------------------------------------------------------------------------------

numbers = attempts["attempt"].to_list()
wanted = st.query_params.get("attempt")
named = int(wanted) if wanted and wanted.isdecimal() and len(wanted) < 10 else None
if wanted is not None and named not in numbers:
    st.warning(
        f"This job has no attempt {words.code(wanted)}. "
        f"It has {numbers[0]} to {numbers[-1]}; attempt {numbers[-1]} is shown."
    )
selected: int = named if named is not None and named in numbers else numbers[-1]


def choose() -> None:
    """Put the selected attempt into the URL."""
    rows = st.session_state["attempts table"]["selection"]["rows"]
    if rows:
        st.query_params["attempt"] = str(numbers[rows[0]])


with parts.card(
    "Attempts",
    f"How did each end, and what did it cost? {words.SELECT_ROW} to see where its time went.",
):
    st.dataframe(
        attempts,
        key="attempts table",
        on_select=choose,
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [numbers.index(selected)]}},
        height=parts.table_height(attempts.height, 420),
        hide_index=True,
        placeholder=words.UNKNOWN,
        alt=f"Attempts. {about}",
        column_order=[
            name
            for name in evidence.shown(attempts.columns)
            if was_suspended or name != "suspended_seconds"
        ],
        column_config={
            "attempt": st.column_config.NumberColumn("attempt", pinned=True),
            "gpus": st.column_config.NumberColumn("GPUs"),
            "message": st.column_config.TextColumn("message", width="medium"),
            "failure_evidence": st.column_config.TextColumn("evidence", width="medium"),
            "failure_rule": st.column_config.TextColumn("rule"),
            "failure_evidence_file": st.column_config.TextColumn("dump", width="medium"),
            "failure_evidence_line": st.column_config.NumberColumn("line", format="%d"),
            **{
                name: st.column_config.DatetimeColumn(
                    f"{name.removesuffix('_at').replace('_', ' ')}, UTC",
                    format="D MMM YYYY HH:mm:ss",
                )
                for name in ("started_at", "first_batch_at", "ended_at")
            },
            **{
                name: st.column_config.NumberColumn(
                    f"{name.removesuffix('_seconds').replace('_', ' ')} s", format="%.0f"
                )
                for name in attempts.columns
                if name.endswith("_seconds")
            },
            # of the job it is what did not train; of an attempt what its end cost, no more
            "lost_gpu_seconds": st.column_config.NumberColumn(
                "lost to its end, GPU s",
                format="%.0f",
                help="Training that its end discarded, and the start-up of the recovery from it. "
                "What else the attempt lost is not in it.",
            ),
        },
    )
    parts.footer(stem=f"{stem}_attempts", table=attempts, about=about, sql=one_job.attempts_sql())

one = attempts.row(by_predicate=pl.col("attempt") == selected, named=True)
left, right = st.columns([3, 2], gap="small")
with left, parts.card(f"Attempt {selected}", "Where did its time go?"):
    areas = areas_of(
        data.row(one_job.AREAS, asked, selected, job["first_started_at"], job["last_ended_at"])
    )
    if areas.is_empty():
        st.caption("This attempt took no time.")
    else:
        texts = [words.duration(seconds) for seconds in areas["amount"]]
        totals = areas.group_by("area").agg(pl.col("amount").sum())
        whole = float(totals["amount"].sum())
        labels = {
            area: f"<b>{words.duration(seconds)}</b>  {words.ratio(seconds / whole)}"
            for area, seconds in totals.iter_rows()
        }
        told = [
            (words.area(area), f"{words.duration(seconds)} ({words.ratio(seconds / whole)})")
            for area, seconds in totals.sort(-pl.col("amount"), "area").iter_rows()
        ]
        parts.chart(
            cascade(
                areas.with_columns(
                    text=pl.Series(texts),
                    label=pl.Series([labels[area] for area in areas["area"]]),
                ),
                parts.colours(),
                "wall",
                f"<b>{words.duration(whole)}</b>",
            ),
            alt=f"Attempt {selected} by area: {alts.listed(told)}. {about}",
            stem=f"{stem}_{selected}_areas",
            table=areas.rename({"amount": "seconds"}),
            about=f"{about}, attempt {selected}",
            sql=one_job.AREAS,
            least_width=parts.LABELLED,
        )
        if how_to_read := marks_told(areas):
            st.caption(how_to_read)
with right:
    ended = ("How it ended", "What stopped it, and who says so?")
    going = ("It still runs", "What was reported of it so far, and by whom?")
    with parts.card(*(going if one["outcome"] == "running" else ended), parts.SPARKLINE):
        one_job.why(one, detail, untold)
    with parts.card(
        "Stages", "Which part of a phase took how long? They may overlap.", parts.SPARKLINE
    ):
        started_us = int(
            attempts.select(pl.col("started_at").dt.epoch("us")).row(numbers.index(selected))[0]
        )
        if untold:
            stages = data.frame(one_job.STAGES, asked, selected)
        else:
            stages = one_job.stages(detail, selected, started_us)
        if stages.is_empty():
            st.caption("No stages are reported for this attempt.")
        else:
            st.dataframe(
                stages,
                hide_index=True,
                alt=f"Stages of attempt {selected}. {about}",
                column_config={"seconds": st.column_config.NumberColumn("seconds", format="%.1f")},
            )
            parts.footer(
                stem=f"{stem}_{selected}_stages",
                table=stages,
                about=f"{about}, attempt {selected}",
            )

st.page_link(
    "views/data_page.py",
    label="Walk this attempt from the dump to the rollup",
    icon=":material/steps:",
    query_params={"job": asked, "attempt": str(selected)},
)
one_job.spans_expander(detail, selected, about, stem, untold)
