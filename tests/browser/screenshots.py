"""`make screenshots`: the pictures in the README, of the sample fleet, anew.

The fleet's last day is fixed, so that a picture changes only where a page does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from playwright.sync_api import sync_playwright

import queries
from app.dashboard import command
from tests.browser.conftest import FLAGS, ROOT, free_port, wait_until_up
from tests.browser.morning import LAST_DAY, MORNING
from tests.browser.test_dashboard import open_page
from tests.conftest import found_chromium

IMAGES = ROOT / "docs" / "images"
# what a page shows in how many pixels; a job that was interrupted three times
PICTURES = {
    "overview": ("/", 1280, 1010),
    "job": ("/job?job=ranking-20260306-003", 1280, 900),
}


def main() -> int:
    """Write the pictures; 2 where there is nothing to take them with."""
    chromium = found_chromium()
    if not chromium:
        reason = "no chromium. As root, apt-get install chromium-headless-shell"
        print(f"screenshots: {reason}", file=sys.stderr)
        return 2
    with TemporaryDirectory(prefix="ett-screenshots-") as folder:
        warehouse = _sample(Path(folder))
        with _dashboard(warehouse) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
            for name, (path, width, height) in PICTURES.items():
                page = browser.new_page(viewport={"width": width, "height": height})
                open_page(page, url + path)
                page.locator(".js-plotly-plot .main-svg").first.wait_for()
                page.wait_for_timeout(2000)  # fonts, sparklines, the other figures
                page.screenshot(path=IMAGES / f"{name}.png")
                print(f"docs/images/{name}.png", flush=True)
            browser.close()
    return 0


def _sample(folder: Path) -> Path:
    """The warehouse of the sample fleet, as if it had been published on its next morning."""
    warehouse = folder / "warehouse"
    midnight = f"{LAST_DAY + timedelta(days=1)}T00:00:00Z"
    _run("sample_data", "--out", folder / "dumps", "--end", LAST_DAY)
    dumps = sorted((folder / "dumps").glob("*.jsonl"))
    _run("ingest.cli", "--warehouse", warehouse, "--as-of", midnight, *dumps)
    with duckdb.connect(str(queries.published(warehouse))) as file:
        published = MORNING.replace(tzinfo=None) - timedelta(hours=3)
        file.execute("update publication set published_at = ?", [published])
    return warehouse


def _run(module: str, *arguments: object) -> None:
    print(f"{module} ...", flush=True)
    subprocess.run([sys.executable, "-m", module, *map(str, arguments)], cwd=ROOT, check=True)


@contextmanager
def _dashboard(warehouse: Path) -> Iterator[str]:
    port = free_port()
    line = command("127.0.0.1", port)
    page = str(Path(__file__).with_name("morning.py"))
    server = subprocess.Popen(
        [page if each.endswith("server.py") else each for each in line],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ETT_WAREHOUSE": str(warehouse)},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until_up(server, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=20)


if __name__ == "__main__":
    sys.exit(main())
