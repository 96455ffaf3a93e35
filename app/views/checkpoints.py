"""Checkpoints: do jobs save at the right interval?"""

from __future__ import annotations

from datetime import timedelta

import streamlit as st

from app import alts, data, filters, kpis, openings, parts, saves, words
from app.charts.saving import BAND, agreement, costs_by_day, explorer

# $5: weight
JOBS = """
select
    job_id,
    gain_seconds / 3600 as gain_hours,
    interval_seconds,
    best_interval_seconds,
    blocked_seconds,
    team,
    gpus,
    attempts,
    saves
from checkpoint_gains($1, $2, $3, $4, $5)
order by gain_hours desc, job_id
"""

chosen = filters.show()
colours = parts.colours()
opened = openings.opened(chosen)
about = opened.about
habits = saves.row(chosen, opened)

# -- by day --------------------------------------------------------------------------------------

with parts.card(
    "Unsaved and blocked, by day", f"Which of the two costs more {chosen.hours}, and since when?"
):
    every = filters.by_day(saves.BY_DAY, chosen, chosen.weight)
    days = filters.within(every, chosen.first_day, chosen.newest_day)
    earlier = filters.within(every, *chosen.previous[2:])
    earlier = earlier.with_columns(day=earlier["day"] + timedelta(days=chosen.days))
    if not chosen.is_compared:
        earlier = earlier.clear()
    if silent := kpis.not_reported(opened.now, chosen.weight):
        st.caption(f"There is nothing to draw: {silent[0].lower()}{silent[1:]}.")
    else:
        parts.chart(
            costs_by_day(days, earlier, chosen.hours, colours, parts.STANDARD),
            alt=f"{saves.days_told(days, chosen)}. {about}",
            stem=chosen.stem("checkpoints", "by-day"),
            table=filters.with_unit(
                days.drop("p50").join(
                    earlier.select(
                        "day",
                        previous_unsaved_hours="unsaved_hours",
                        previous_blocked_hours="blocked_hours",
                    ),
                    on="day",
                    how="left",
                ),
                chosen,
            ),
            about=about,
            measures=("unsaved_gpu_seconds", "checkpoint_save_gpu_seconds")
            if chosen.weight == "gpu"
            else ("unsaved_seconds", "checkpoint_save_seconds"),
            sql=saves.BY_DAY,
            values=filters.drawn_days(chosen, chosen.weight),
        )
        parts.caption(
            words.IN_GREY if chosen.is_compared else "",
            filters.undrawn(chosen),
        )

# -- the explorer --------------------------------------------------------------------------------

with parts.card(
    "Interval explorer", "What would another checkpoint interval cost?", parts.EVIDENCE
):
    saving = saves.sliders(habits)
    said = saves.sentence(saving, habits, chosen)
    st.markdown(saves.sentence(saving, habits, chosen, words.code))
    parts.chart(
        explorer(saving, colours, parts.EVIDENCE),
        alt=f"Share of train-loop time lost, by checkpoint interval: {said}",
        stem=chosen.stem("checkpoints", "explorer"),
        table=saves.curve(saving),
        about=f"{about} \u00b7 {said}",
        measures=("gain_seconds", "interruptions_per_job_day", "interval_p50_seconds"),
        least_width=parts.LABELLED,
    )
    st.caption(
        "The thick line is both together. It is flat around its least: within "
        f"{words.ratio(BAND, 0)} of the best interval, an exact choice does not matter. Half or "
        "double the best costs a quarter more. The model counts interruptions inside the train "
        "loop only, takes the blocking of a save as constant, and an interruption as equally "
        "likely at any moment of an interval; what an async save uploads beside training, and may "
        "lose, it leaves out."
    )

left, right = st.columns([1, 2], gap="small")
with left, parts.card("Measured and modelled", "Does the model hold for this scope?"):
    beside = saves.beside(habits)
    if silent:
        st.caption(f"There is nothing to compare: {silent[0].lower()}{silent[1:]}.")
    elif beside.is_empty():
        st.caption(f"No interval is known: {saves.NO_INTERVAL}.")
    else:
        parts.chart(
            agreement(beside, colours),
            alt=f"{chosen.hours} unsaved and blocked: {alts.listed(saves.beside_told(beside))}. "
            f"{about}",
            stem=chosen.stem("checkpoints", "agreement"),
            table=filters.with_unit(beside.drop("text"), chosen),
            about=f"{about} \u00b7 {saves.ENDED}",
            measures=("modelled_unsaved_seconds", "modelled_blocked_seconds"),
            sql=saves.HABITS,
        )
        st.caption(saves.coverage(habits, chosen))

with (
    right,
    parts.card("Jobs furthest from their best interval", "Whose interval is worth changing?"),
):
    jobs = data.frame(JOBS, *chosen.now, chosen.weight)
    if jobs.is_empty():
        why = kpis.not_reported(opened.now, filters.WEIGHTS[1]) or saves.why_no_gain(habits)
        st.caption(f"No interval is known to be worth changing: {why[0].lower()}{why[1:]}.")
    else:
        st.caption(
            f"By {chosen.hours} to gain, {saves.ENDED}. "
            f"The dot is the job's interval, the tick its best. {words.SELECT_ROW} to see the job."
        )
        saves.jobs_table(jobs, chosen, colours, about)
        parts.footer(
            stem=chosen.stem("checkpoints", "jobs"),
            table=filters.with_unit(jobs, chosen),
            about=f"{about} \u00b7 {saves.ENDED}",
            measures=("gain_seconds",),
            sql=JOBS,
        )
