"""The frame of every page: navigation, title, freshness, the line for newer data.

The only place of the dashboard that reads the clock, for how old the data is.
"""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from app import data, parts

parts.frame()
page = st.navigation(
    {
        "Fleet": [
            st.Page(
                "views/overview.py",
                title="Overview",
                icon=":material/speed:",
                help="Is the fleet at its target, and what moved it?",
                default=True,
            )
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
                "views/data_page.py",
                title="Data & definitions",
                icon=":material/fact_check:",
                help="Can I trust these numbers?",
                url_path="data",
            ),
        ],
    }
)
st.set_page_config(page_title=f"{page.title} \u00b7 ETT")
try:
    shown = data.pin()
    parts.header(page.title, page.help, datetime.now(UTC), links_to_data=page.url_path != "data")
except data.NothingPublished as nothing:
    st.title("No data yet", anchor=False)
    st.markdown(str(nothing))
    st.stop()
except data.ViewFailed as failure:
    parts.failed(failure)
    st.stop()
parts.newer(shown)
page.run()
