"""Runbook: what to do about an alert. Reached by the link of an alert, or from the evidence."""

from __future__ import annotations

import streamlit as st

from app import filters, runbooks, words

# of the buttons: a link to the page that is shown would keep its address
PAGE = "views/runbook.py"

asked = st.query_params.get("alert", "")
known = runbooks.names(runbooks.FOLDER)
if asked in known:
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
            st.button(
                name,
                type="tertiary",
                icon=":material/menu_book:",
                on_click=filters.go,
                args=(PAGE, {"alert": name}),
            )
    else:
        st.caption("The runbooks are not installed here: they are in `docs/runbooks`.")
