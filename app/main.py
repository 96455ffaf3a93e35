"""The frame of every page: navigation, title, freshness, the line for newer data.

The only place of the dashboard that reads the clock, for how old the data is.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import NoReturn

import streamlit as st

from app import data, filters, parts, regression_rows, sign_in
from app.readers import Verdict

FILTERED = ("", "lost-time", "start-recover", "checkpoints", "failures", "jobs")

parts.frame()
# before anything of the warehouse is read
found = sign_in.verdict(datetime.now(UTC))


def run_without_data() -> NoReturn:
    """End here, with the one page that reads no warehouse: it is asked for when that is broken."""
    if page.url_path == "runbook":
        page.run()
    st.stop()


page = st.navigation(
    {
        "Fleet": [
            st.Page(
                "views/overview.py",
                title="Overview",
                icon=":material/speed:",
                help="Is the fleet at its target, and what moved it?",
                default=True,
            ),
            st.Page(
                "views/lost_time.py",
                title="Lost time",
                icon=":material/hourglass_bottom:",
                help="Where did the GPU-hours go, and whose are they?",
                url_path="lost-time",
            ),
            st.Page(
                "views/start_recover.py",
                title="Start & recover",
                icon=":material/restart_alt:",
                help="How long until the first batch, and the next one after a failure?",
                url_path="start-recover",
            ),
            st.Page(
                "views/checkpoints.py",
                title="Checkpoints",
                icon=":material/save:",
                help="Do jobs save at the right interval?",
            ),
            st.Page(
                "views/failures.py",
                title="Failures",
                icon=":material/report:",
                help="What stops jobs, and what does each kind cost?",
            ),
            st.Page(
                "views/regressions.py",
                title=regression_rows.title() if found is Verdict.WELCOME else "Regressions",
                icon=":material/trending_down:",
                help="What got worse, is it real, and who should look?",
                url_path="regressions",
            ),
        ],
        "Look closer": [
            st.Page(
                "views/jobs.py",
                title="Jobs",
                icon=":material/list_alt:",
                help="Which jobs lost the most?",
            ),
            st.Page(
                "views/job.py",
                title="Job",
                icon=":material/view_timeline:",
                help="What happened to this job?",
                visibility="hidden",
            ),
            st.Page(
                "views/runbook.py",
                title="Runbook",
                icon=":material/menu_book:",
                help="What to do about an alert?",
                visibility="hidden",
            ),
            st.Page(
                "views/data_page.py",
                title="Data & definitions",
                icon=":material/fact_check:",
                help="Can I trust these numbers?",
                url_path="data",
            ),
        ],
    },
    position="sidebar" if found is Verdict.WELCOME else "hidden",
)
if found is not Verdict.WELCOME:
    sign_in.door(found)
    st.stop()
sign_in.account()
filters.leave()
st.set_page_config(page_title=f"{page.title} \u00b7 ETT")
try:
    shown = data.pin()
    parts.header(page.title, page.help, datetime.now(UTC), links_to_data=page.url_path != "data")
except data.NothingPublished as nothing:
    st.title("No data yet", anchor=False)
    # where it looks is for the log: whoever may read numbers need not know folders
    logging.getLogger(__name__).warning("%s", nothing)
    st.markdown(f"{nothing.remedy} The dashboard's log names the folder.")
    run_without_data()
except data.ViewFailed as failure:
    parts.failed(failure)
    run_without_data()
parts.newer(shown, st.context.theme.type)
if page.url_path in FILTERED or page.url_path == "regressions":
    try:
        if page.url_path == "regressions":
            filters.draw_team()
        else:
            filters.draw(with_comparison=page.url_path != "jobs")
    except data.ViewFailed as failure:
        parts.failed(failure)
        st.stop()
try:
    page.run()
except data.ViewFailed as failure:  # what the page cannot go on without
    parts.failed(failure)
