"""How long a reader of a fleet-year waits, in Debian's chromium: from an address to the first
chart, and from a click on a filter to the last chart; beside a Streamlit page that shows nothing.

Cold is a browser that has loaded nothing yet; the server has been asked once before. Without a
graphics card the browser draws in software, on the same processors as the server.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

from app.dashboard import command
from bench import fleet_year

ROOT = Path(__file__).resolve().parents[1]
RUNS = 7
PATHS = ("/", "/lost-time", "/start-recover", "/checkpoints", "/failures")
TEAMS = ("ranking-0", "feed-3", "ads-7", "search-11", "video-24", "feed-9", "ads-12")
PATIENCE_MS = 120_000
NOTHING = """\
import streamlit as st
st.title("Nothing")
days = st.radio("Days", [28, 7])
st.write(f"{days} days")
"""
FIRST_CHART = ".js-plotly-plot .main-svg .trace, .js-plotly-plot .main-svg .point"
CHARTS = '[data-testid="stPlotlyChart"]'
# notes when a click began and when what it changes changed last, by the browser's own clock
_WATCH = """selector => {
    window.began = null; window.changed = null;
    addEventListener("click", () => { window.began ??= performance.now() }, true);
    new MutationObserver(seen => {
        const at = seen.map(each => each.target.nodeType == 1 ? each.target
            : each.target.parentElement).filter(each => each?.closest(selector));
        if (window.began !== null && at.length) window.changed = performance.now();
    }).observe(document.body, {subtree: true, childList: true, attributes: true,
        characterData: true});
}"""
_QUIET = """() => window.changed !== null && performance.now() - window.changed > 1000
    && document.querySelector('[data-testid="stApp"]').dataset.testScriptState == "notRunning" """


def main(year: Path | None = None) -> int:
    """Print the table. Nothing is asserted: machines differ. `year`: a warehouse to look at."""
    chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if chromium is None:
        print("no chromium: what a reader sees is not measured")
        return 0
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with TemporaryDirectory(prefix="ett-bench-") as made, sync_playwright() as playwright:
        year = year or fleet_year.make(Path(made))
        (Path(made) / "nothing.py").write_text(NOTHING, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        print(f"{'ms in a browser, p50 and p90':<30}{'cold, first':>14}{'filter, last':>14}")
        with _served(Path(made) / "nothing.py", year) as url:
            _print("an empty page", *_waits(browser, lambda _: url, "h1", _other_radio, "p"))
        with _served(None, year) as url:
            _look(browser, f"{url}/job", "h1")  # the server's own first page: imports
            for path in PATHS:
                address = _addresses(f"{url}{path}")
                _print(path, *_waits(browser, address, FIRST_CHART, _seven_days, CHARTS))
        browser.close()
    return 0


def _addresses(page: str) -> Callable[[int], str]:
    """One of a team that nobody has looked at yet."""
    return lambda run: f"{page}?team={TEAMS[run]}"


def _waits(
    browser: Browser,
    address: Callable[[int], str],
    shown: str,
    click: Callable[[Page], None],
    changes: str,
) -> tuple[list[float], list[float]]:
    """Milliseconds to what is shown first, and to the last of what a click changes."""
    cold, filtered = [], []
    for run in range(RUNS):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        began = time.perf_counter()
        page.goto(address(run), wait_until="commit")
        page.locator(shown).first.wait_for()
        cold.append((time.perf_counter() - began) * 1e3)
        _settle(page)
        page.evaluate(_WATCH, changes)
        click(page)
        page.wait_for_function(_QUIET)
        filtered.append(float(page.evaluate("window.changed - window.began")))
        context.close()
    return cold, filtered


def _look(browser: Browser, address: str, shown: str) -> None:
    page = browser.new_page()
    page.goto(address)
    page.locator(shown).first.wait_for(timeout=PATIENCE_MS)
    page.close()


def _settle(page: Page) -> None:
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.wait_for_timeout(2000)


def _seven_days(page: Page) -> None:
    page.get_by_test_id("stSidebar").get_by_role("radio", name="7", exact=True).click()


def _other_radio(page: Page) -> None:
    page.locator("label").filter(has_text="7").last.click()


@contextmanager
def _served(script: Path | None, warehouse: Path) -> Iterator[str]:
    """A server of the dashboard, or of another script, on a free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    line = command("127.0.0.1", port)
    if script is not None:
        line[line.index("run") + 1] = str(script)
    process = subprocess.Popen(
        line,
        cwd=ROOT,
        env={**os.environ, "ETT_WAREHOUSE": str(warehouse)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_up(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_until_up(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError("the server did not come up within a minute")


def _print(name: str, *series: list[float]) -> None:
    cells = [
        f"{cuts[4]:>8.0f}{cuts[8]:>6.0f}"
        for each in series
        for cuts in [quantiles(each, n=10, method="inclusive")]
    ]
    print(f"{name:<30}" + "".join(cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench.screens", description=__doc__)
    parser.add_argument("--warehouse", type=Path, help="look at this one (default: a fleet-year)")
    sys.exit(main(parser.parse_args().warehouse))
