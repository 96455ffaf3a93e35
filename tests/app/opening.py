"""Opens a page as streamlit runs it, without a browser, and reads what is on it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

MAIN = Path(__file__).parents[2] / "app" / "main.py"
OVERVIEW, LOST, START, CHECKPOINTS, FAILURES, JOBS, JOB, DATA = PAGES = tuple(
    f"views/{name}.py"
    for name in (
        "overview",
        "lost_time",
        "start_recover",
        "checkpoints",
        "failures",
        "jobs",
        "job",
        "data_page",
    )
)


def open_page(path: str = OVERVIEW, **parameters: str) -> AppTest:
    """The page at this path, with these parameters in its URL. Fails where it raises."""
    page = AppTest.from_file(str(MAIN), default_timeout=30)
    page._bidi_component_manager = _components()
    if path != OVERVIEW:
        # a page of another name than its path is only found after a first run; that of Job chooses
        # no filters, so that those of the URL are the first
        page.switch_page(JOB).run()
        page.switch_page(path)
    for name, value in parameters.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


@cache
def _components() -> BidiComponentManager:
    """Those of all packages that are installed: each page would look for them anew, which takes
    longer than most pages do.
    """
    found = BidiComponentManager()
    found.discover_and_register_components(start_file_watching=False)
    return found


def markdown(page: AppTest) -> list[str]:
    return [element.value for element in page.markdown]


def said(page: AppTest) -> list[str]:
    """Everything on the page that is read as Markdown."""
    written = (*page.markdown, *page.caption, *page.warning, *page.error, *page.info)
    labels = [each.label for each in (*page.button, *page.metric, *page.expander)]
    return [each.value for each in written] + labels


def warnings(page: AppTest) -> list[str]:
    return [element.value for element in page.warning]
