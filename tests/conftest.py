"""What the tests find around them: programs, real dumps; and a list of every skipped test."""

from __future__ import annotations

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

BROWSER = "tests/browser"
GOLDEN = Path(__file__).parent / "golden"
AXE = Path(__file__).parent / "browser" / "node_modules" / "axe-core" / "axe.min.js"

# two slow cores are no reason to fail
hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


def pytest_configure() -> None:
    for name in ("ETT_WAREHOUSE", "ETT_CONFIG"):  # the user's own; no test may touch them
        os.environ.pop(name, None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """With `--dist loadfile`, which `make test` uses; any other choice is left as it is."""
    return _Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


class _Scheduling(LoadFileScheduling):
    """A file is one worker's, and so are all of the browser: one chromium, one server of the same
    fleet, and pages whose code is compiled.
    """

    def _split_scope(self, nodeid: str) -> str:
        folder = f"{BROWSER}/"
        return folder if nodeid.startswith(folder) else super()._split_scope(nodeid)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Binary data names no test: a gzip header holds the time, and workers must agree on names."""
    binary = isinstance(val, bytes) and not val.decode("latin-1").isprintable()
    return argname if binary else None


def pytest_report_header() -> str:
    return ", ".join(
        [
            f"chromium: {found_chromium() or 'none'}",
            f"axe-core: {'there' if AXE.exists() else 'none'}",
            f"promtool: {shutil.which('promtool') or 'none'}",
            f"ETT_REAL_LOGS: {os.environ.get('ETT_REAL_LOGS') or 'not set'}",
            f"local time: UTC{time.strftime('%z')}",
        ]
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    lacking = missing()
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    # a file is one worker's: a long one that begins last would leave the others waiting
    items.sort(key=lambda item: item.path not in slow)
    for item in items:
        if _ingests(item):
            item.add_marker(pytest.mark.slow)
        for mark, reason in lacking.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


def _ingests(item: pytest.Item) -> bool:
    """Whether a test loads dumps all the way: that takes a second, and no local time is read in it
    that its collector does not read alone.
    """
    return isinstance(item, pytest.Function) and "ingest" in item.function.__code__.co_names


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """No skip is unseen: each one by name, under its reason."""
    tests = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        _, _, reason = report.longrepr
        tests[reason.removeprefix("Skipped: ")].append(report.nodeid)
    terminalreporter.section("skipped tests")
    if not tests:
        terminalreporter.line("None.")
    for reason in sorted(tests):
        terminalreporter.line(f"{reason} ({len(tests[reason])})")
        for test in tests[reason]:
            terminalreporter.line(f"    {test}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Debian's chromium, for tests marked `browser`."""
    return _there("chromium", found_chromium())


@pytest.fixture(scope="session")
def promtool() -> str:
    """The path of promtool, for tests marked `prometheus`."""
    return _there("promtool", shutil.which("promtool"))


@pytest.fixture(scope="session")
def real_logs() -> Path:
    """The folder of real dumps, for tests marked `real`."""
    return Path(os.environ["ETT_REAL_LOGS"])


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name under tests/golden; for tests marked `golden`."""

    def compare(name: str, actual: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(actual, encoding="utf-8")
        expected = file.read_text(encoding="utf-8") if file.exists() else "(no such file yet)"

        assert expected == actual, f"tests/golden/{name} differs: if it should, `make golden`"

    return compare


def missing() -> dict[str, str]:
    """The marks whose tests cannot run here, with the reason and the remedy."""
    reasons = {}
    if not found_chromium():
        reasons["browser"] = "no chromium: as root, apt-get install chromium-headless-shell"
    if not AXE.exists():
        reasons["axe"] = "no axe-core: tools/test-programs brings it where npm is"
    if not shutil.which("promtool"):
        reasons["prometheus"] = "no promtool: as root, apt-get install prometheus"
    real = os.environ.get("ETT_REAL_LOGS")
    if not real:
        reasons["real"] = "ETT_REAL_LOGS is not set: let it name a folder of real dumps"
    elif not Path(real).is_dir():
        reasons["real"] = f"ETT_REAL_LOGS names no folder: {real}"
    return reasons


def found_chromium() -> str | None:
    """Debian's chromium: if it is there the one without windows, which has less to do."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def _there(name: str, path: str | None) -> str:
    assert path, f"{name} is asked for by a test that is not marked as needing it"
    return path
