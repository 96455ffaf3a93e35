"""Opens a page as streamlit runs it, without a browser, and reads what is on it."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

MAIN = Path(__file__).parents[2] / "app" / "main.py"
OVERVIEW, JOBS, JOB, DATA = (
    f"views/{name}.py" for name in ("overview", "jobs", "job", "data_page")
)
PAGES = (OVERVIEW, JOBS, JOB, DATA)


def open_page(path: str = OVERVIEW, **parameters: str) -> AppTest:
    """The page at this path, with these parameters in its URL. Fails where it raises."""
    page = AppTest.from_file(str(MAIN), default_timeout=30)
    for name, value in parameters.items():
        page.query_params[name] = value
    page.run()
    if path != OVERVIEW:
        page.switch_page(path)
        for name, value in parameters.items():
            page.query_params[name] = value
        page.run()
    assert not page.exception
    return page


def markdown(page: AppTest) -> list[str]:
    return [element.value for element in page.markdown]


def said(page: AppTest) -> list[str]:
    """Everything on the page that is read as Markdown."""
    written = (*page.markdown, *page.caption, *page.warning, *page.error, *page.info)
    labels = [each.label for each in (*page.button, *page.metric, *page.expander)]
    return [each.value for each in written] + labels


def warnings(page: AppTest) -> list[str]:
    return [element.value for element in page.warning]
