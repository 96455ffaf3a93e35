"""Console scripts before they have begun: what they calculate in, and what interrupts them."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.dashboard import command
from ingest import keep
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


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name != "ett-explain"])
@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("loop/warehouse", "is a link that leads to itself: name another folder"),
        ("file", "is a file: name the folder that holds the warehouse"),
    ],
)
def test_a_warehouse_that_can_be_none_is_refused_in_a_sentence(
    script: str, is_named: bool, name: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    place = str(tmp_path / name)
    ended = subprocess.run(
        [
            *started(script),
            *{"ett-ingest": ["README.md"], "ett-warehouse": ["check"]}.get(script, []),
            *(["--warehouse", place] if is_named else []),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            **({} if is_named else {"ETT_WAREHOUSE": place}),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert 2 == ended.returncode
    assert ended.stderr.endswith(f"{place} {why}\n")


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


@pytest.fixture
def alive(tmp_path: Path) -> list[str]:
    """The command line of an ingest of one event."""
    dump = tmp_path / "dump.jsonl"
    dump.write_text('{"event": "alive", "job_id": "a", "ts": 1767225600}\n')
    return [*started("ett-ingest"), "--warehouse", str(tmp_path / "warehouse"), str(dump)]


def test_what_a_command_says_arrives_though_it_ends_at_once(
    alive: list[str], tmp_path: Path
) -> None:
    ended = subprocess.run(alive, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert "loaded 1 event of 1 job from 1 file" in ended.stdout
    assert (tmp_path / "warehouse" / "CURRENT").is_file()


def in_a_shell(
    line: list[str], redirected: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command with its streams as a shell lays them out."""
    return subprocess.run(
        ["bash", "-c", f"{shlex.join(line)} {redirected}"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_command_whose_words_cannot_be_written_says_so(alive: list[str]) -> None:
    ended = in_a_shell(alive, ">/dev/full")

    told = "what it has to say cannot be written: No space left on device. What it did stands."
    assert (2, f"ett-ingest: {told}\n") == (ended.returncode, ended.stderr)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_that_cannot_be_written_is_no_success(script: str) -> None:
    ended = in_a_shell([*started(script), "--help"], ">/dev/full")

    assert (2, 1) == (ended.returncode, ended.stderr.count("\n"))


def test_nobody_reading_on_ends_a_command_without_a_word(alive: list[str]) -> None:
    ended = in_a_shell(alive, "| true; echo ${PIPESTATUS[0]}")

    assert ("141\n", "") == (ended.stdout, ended.stderr)


def test_what_goes_wrong_with_the_words_beside_is_no_fault_of_the_command(
    alive: list[str],
) -> None:
    ended = in_a_shell([*alive, "missing.jsonl"], "2>/dev/full")

    assert (2, "") == (ended.returncode, ended.stdout)


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_never_another_file(
    closed: str, alive: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    refused = in_a_shell([*alive, "missing.jsonl"], closed)
    loaded = in_a_shell(alive, closed)

    # neither the refusal on stdout, nor any word in the warehouse's file
    assert (2, "") == (refused.returncode, refused.stdout)
    assert loaded.returncode == 0
    warehouse = alive[alive.index("--warehouse") + 1]
    assert 0 == keep.main(["check", "--warehouse", warehouse])
    assert f"{warehouse}: sound\n" == capsys.readouterr().out


def test_a_letter_that_the_terminal_does_not_know_is_told_as_its_escape(
    alive: list[str], tmp_path: Path
) -> None:
    named = tmp_path / "größe.jsonl"
    named.write_text("no event\n")

    ended = in_a_shell([*alive, str(named)], "", PYTHONIOENCODING="ascii")

    assert ended.returncode == 0, ended.stderr
    assert r"gr\xf6\xdfe.jsonl" in ended.stdout


@pytest.mark.parametrize(
    ("script", "more"),
    [
        ("ett-ingest", ["no.jsonl"]),
        ("ett-warehouse", ["check"]),
        ("ett-report", []),
        ("ett-dashboard", []),
        ("ett-exporter", []),
    ],
)
def test_a_warehouse_without_a_name_is_no_folder(
    script: str, more: list[str], tmp_path: Path
) -> None:
    ended = subprocess.run(
        [*started(script), *more, "--warehouse", ""],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 2 == ended.returncode
    assert "argument --warehouse: it names no folder: is a variable empty?" in ended.stderr
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_all_that_a_command_says_that_is_asked_for_it(script: str) -> None:
    """A module that finds its objects alive when the interpreter ends would list them."""
    helped = subprocess.run(
        [*started(script), "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (0, "") == (helped.returncode, helped.stderr)
    assert helped.stdout.startswith(("usage: ", "Usage: "))


def test_a_small_ingest_loads_no_library_that_only_large_ones_need(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text('{"ts": "2026-03-01T00:00:00Z", "job_id": "1", "event": "alive"}\n')
    table = ROOT / "sample_data" / "dumps" / "slurm" / "snap2_quiet" / "sacct_D_P_admin.txt"
    run = (
        "import sys; from ingest.cli import main; main(sys.argv[1:]); "
        "print([name for name in ('numba', 'pyarrow') if name in sys.modules])"
    )

    told = subprocess.run(
        [sys.executable, "-c", run, "--warehouse", tmp_path / "warehouse", events, table],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (0, "[]") == (told.returncode, told.stdout.splitlines()[-1])
    assert " from 2 files in " in told.stdout
