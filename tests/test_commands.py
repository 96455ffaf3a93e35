"""Console scripts before they have begun: what they calculate in, and what interrupts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.dashboard import command
from tests.test_house import ROOT, SCRIPTS

SLOW = "import time\nprint('importing', flush=True)\ntime.sleep(60)\n"


def started(script: str) -> list[str]:
    module, function = SCRIPTS[script].split(":")
    return [sys.executable, "-c", f"import sys, {module}; sys.exit({module}.{function}())"]


def interrupted_importing(slow: str, line: list[str], place: Path) -> tuple[int, str]:
    """The status and the last words of a command that is interrupted while it imports a module."""
    (place / f"{slow}.py").write_text(SLOW)
    with subprocess.Popen(
        line,
        cwd=ROOT,
        env={"PYTHONPATH": f"{place}:{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("script", SCRIPTS)
def test_ctrl_c_while_a_command_is_imported_ends_it_in_one_sentence(
    script: str, tmp_path: Path
) -> None:
    assert (130, f"{script}: stopped.\n") == interrupted_importing(
        "argparse", started(script), tmp_path
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [("ett-report", started("ett-report")), ("ett-dashboard", command("127.0.0.1", 8501))],
)
def test_ctrl_c_while_streamlit_is_imported_ends_it_in_one_sentence(
    name: str, line: list[str], tmp_path: Path
) -> None:
    assert (130, f"{name}: stopped.\n") == interrupted_importing("streamlit", line, tmp_path)


@pytest.mark.parametrize(
    ("told", "threads"),
    [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, min(2, len(os.sched_getaffinity(0))))],
)
def test_a_command_calculates_in_one_thread_unless_told_otherwise(
    told: dict[str, str], threads: int, tmp_path: Path
) -> None:
    # what a command finds itself in once numpy is there
    (tmp_path / "argparse.py").write_text(
        "import os, numpy\nprint(len(os.listdir('/proc/self/task')), flush=True)\nos._exit(0)\n"
    )
    ended = subprocess.run(
        started("ett-ingest"),
        cwd=ROOT,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", **told},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, f"{threads}\n") == (ended.returncode, ended.stdout)


def test_a_command_looks_for_garbage_but_not_among_what_it_imported(tmp_path: Path) -> None:
    (tmp_path / "looked.py").write_text(
        "import gc, commands\nimported = gc.isenabled()\n"
        "def main(): print(imported, gc.isenabled(), gc.get_freeze_count() > 1000)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", "import commands; commands._run('ett-looked', 'looked')"],
        cwd=ROOT,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "False True True\n") == (ended.returncode, ended.stdout)


def test_what_a_command_says_arrives_though_it_ends_at_once(tmp_path: Path) -> None:
    dump = tmp_path / "dump.jsonl"
    dump.write_text('{"event": "alive", "job_id": "a", "ts": 1767225600}\n')
    ended = subprocess.run(
        [*started("ett-ingest"), "--warehouse", str(tmp_path / "warehouse"), str(dump)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "loaded 1 event of 1 job from 1 file" in ended.stdout
    assert (tmp_path / "warehouse" / "CURRENT").is_file()


def test_a_command_whose_words_cannot_be_written_says_so(tmp_path: Path) -> None:
    dump = tmp_path / "dump.jsonl"
    dump.write_text('{"event": "alive", "job_id": "a", "ts": 1767225600}\n')
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*started("ett-ingest"), "--warehouse", str(tmp_path / "warehouse"), str(dump)],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode != 0
    assert "No space left on device" in ended.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_all_that_a_command_says_that_is_asked_for_it(script: str) -> None:
    """A module that finds its objects alive when the interpreter ends would list them."""
    helped = subprocess.run(
        [*started(script), "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (0, "") == (helped.returncode, helped.stderr)
    assert helped.stdout.startswith(("usage: ", "Usage: "))
