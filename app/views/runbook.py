"""Runbook: what to do about an alert. Reached by the link of an alert, or from the evidence."""

from __future__ import annotations

import streamlit as st

from app import filters, runbooks, words

PAGE = "views/runbook.py"

asked = st.query_params.get("alert", "")
known = runbooks.names(runbooks.FOLDER)
if asked in known:
    # a link to the page that is shown would keep the rest of its address
    st.button(
        "All runbooks",
        type="tertiary",
        icon=":material/arrow_back:",
        on_click=filters.go,
        args=(PAGE, {}),
    )
    with st.container(border=True, width=860):
        st.header(words.code(asked), anchor=False)
        st.markdown(runbooks.text(runbooks.FOLDER, asked))
else:
    if asked:
        st.warning(f"There is no runbook for {words.code(asked)}.")
    if known:
        st.caption("Every alert and what to do about it")
        for name in known:
            st.page_link(
                PAGE, label=name, icon=":material/menu_book:", query_params={"alert": name}
            )
    else:
        st.caption("The runbooks are not installed here: they are in `docs/runbooks`.")
