"""What `ett-explain` says of a log or dump, and with which status it ends, whatever it is given."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from ingest.explain_log import UNUSABLE, main
from tests.ingest.ordinary import ordinary
from tests.queries.engine import ingest, rows

ROOT = Path(__file__).resolve().parents[2]
OOM = "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB."
WATCHDOG = (
    "[rank{}]:[E811 03:12:01.1 ProcessGroupNCCL.cpp:632] [Rank {}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=9, Timeout(ms)=600000) ran for 600021 milliseconds"
)
LOG = "\n".join(
    [
        "iter 10: loss 2.1, time 90 ms",
        OOM,
        WATCHDOG.format(0, 0),
        WATCHDOG.format(1, 1),
        "srun: error: g1: task 5: Exited with exit code 1",
    ]
)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a configuration."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)


def test_a_log_is_told_its_cause_and_why_the_rest_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.out"
    log.write_text(LOG)

    assert 0 == main([str(log)])

    assert [
        f"{log}: plain text",
        "  cause: user_code/gpu_oom (user), by rule gpu_oom, line 2",
        f"    {OOM.removeprefix('[rank5]: ')}",
        "  not:   cascade/nccl_timeout, by rule nccl_timeout, line 3 and 1 more line: "
        "a consequence (rank 75, the cause has 60)",
        f"    {WATCHDOG.format(0, 0).removeprefix('[rank0]:')}",
        "  not:   cascade/peer_rank_failed, by rule peer_rank_failed, line 5: "
        "a consequence (rank 80, the cause has 60)",
        "    srun: error: g1: task 5: Exited with exit code 1",
    ] == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("KeyError: 'x'", "as near to the root, but later than line 2"),
        ("NVRM: Xid (PCI:0000:10:1c): 63, pid=1, New row marked", "informational, never a cause"),
        ("RuntimeError: phase table is empty", "further from the root (rank 65"),
    ],
)
def test_a_finding_that_lost_is_told_why(
    line: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.out"
    log.write_text(f"start\n{OOM}\n{line}\n")

    main([str(log)])

    assert why in capsys.readouterr().out


def test_what_the_run_went_on_after_is_said_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.out"
    log.write_text("\n".join([OOM, *(f"step: {step} loss: 2.0" for step in range(9))]))

    assert 1 == main([str(log)])

    out = capsys.readouterr().out

    assert "cause: unknown/unclassified" in out
    assert "line 1: the run went on after it" in out


def test_a_log_without_a_failure_has_no_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.out"
    log.write_text("iter 10: loss 2.1, time 90 ms\nfinished\n")

    assert 1 == main([str(log)])
    assert "no line tells why this log ended" in capsys.readouterr().out


def test_each_interrupted_attempt_of_a_dump_is_told_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "events.jsonl"
    at = "2026-03-01T00:00:0{}Z"
    dump.write_text(
        "\n".join(
            json.dumps(event)
            for event in [
                {"ts": at.format(0), "event": "attempt_start", "job_id": "a"},
                {"ts": at.format(1), "event": "failure", "job_id": "a", "message": "gone: " + OOM},
                {"ts": at.format(2), "event": "failure", "job_id": "a", "exit_code": -15},
                {"ts": at.format(3), "event": "attempt_end", "job_id": "a", "outcome": "failed"},
                {"ts": at.format(4), "event": "attempt_end", "job_id": "a", "attempt": 2,
                 "outcome": "preempted"},
                {"ts": at.format(5), "event": "attempt_end", "job_id": "a", "attempt": 3,
                 "exit_code": 3},
                {"ts": at.format(6), "event": "attempt_end", "job_id": "a", "attempt": 4,
                 "outcome": "completed"},
            ]
        )
    )  # fmt: skip

    assert 0 == main([str(dump)])

    assert [
        f"{dump}: events dump, 3 attempts interrupted",
        "  job a, attempt 1",
        "    cause: user_code/gpu_oom (user), by rule gpu_oom, line 2",
        f"      gone: {OOM}",
        "    not:   cascade/peer_rank_failed, by rule exit_sigterm, line 3: rank 80 behind 60",
        "      exit code -15 (SIGTERM)",
        "  job a, attempt 2",
        "    cause: scheduler/preempted (scheduler), by (the dump says so), line 5",
        "  job a, attempt 3",
        "    cause: unknown/unclassified, no rule knows what is told: exit code 3",
    ] == capsys.readouterr().out.splitlines()


def test_a_dump_that_tells_no_failure_is_read_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "events.jsonl"
    start = {"ts": "2026-03-01T00:00:00Z", "event": "attempt_start", "job_id": "a"}
    dump.write_text(json.dumps(start) + "\n" + OOM + "\n")

    assert 0 == main([str(dump)])

    out = capsys.readouterr().out

    assert "events dump without failures; as text" in out
    assert "by rule gpu_oom, line 2" in out


def test_a_table_of_a_scheduler_is_told_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    dump = ROOT / "sample_data" / "dumps" / "slurm" / "snap2_quiet" / "sacct_D_P_admin.txt"

    assert 0 == main([str(dump)])

    out = capsys.readouterr().out

    assert "slurm-sacct dump, 52 attempts interrupted" in out
    assert "cause: scheduler/preempted (scheduler), by (the dump says so)" in out
    assert "cause: host/host_oom (user), by (the dump says so)" in out


@pytest.mark.real
@pytest.mark.parametrize(
    ("run", "cause"),
    [
        ("run02_sigkill_async", "unknown/killed (unknown), by rule killed, line 94"),
        ("run10_import_error_at_start", "user_code/import_or_dependency (user)"),
        ("job_1153", "scheduler/preempted (scheduler), by (the dump says so), line 67"),
    ],
)
def test_a_log_of_torchrun_is_told_attempt_by_attempt(
    run: str, cause: str, real_logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log,) = [*(real_logs / "torch" / run).glob("torchrun.stderr.log"),
              *(real_logs / "torch" / run).glob("slurm.out")]  # fmt: skip

    assert 0 == main([str(log)])
    assert f"    cause: {cause}" in capsys.readouterr().out


@pytest.mark.real
def test_a_log_that_tells_no_launch_is_said_to_number_no_attempts(
    real_logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = real_logs / "torch" / "run15_default_loglevel" / "torchrun.stderr.log"

    assert 0 == main([str(log)])
    assert "(this dump does not number its attempts)" in capsys.readouterr().out


def test_rules_of_the_configuration_judge_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ett.toml"
    config.write_text(
        "[[failure_rule]]\nname = 'vendor_bug'\ncategory = 'vendor/allocator'\n"
        "attribution = 'infra'\npattern = 'Tried to allocate 1\\.75 GiB'\n"
    )
    monkeypatch.setenv("ETT_CONFIG", str(config))
    log = tmp_path / "train.out"
    log.write_text(LOG)

    assert 0 == main([str(log)])
    assert "cause: vendor/allocator (infra), by rule vendor_bug, line 2" in capsys.readouterr().out


def test_a_mistaken_rule_is_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ett.toml"
    config.write_text("[[failure_rule]]\nname = 'x'\ncategory = 'host/host_oom'\npattern = '('\n")
    monkeypatch.setenv("ETT_CONFIG", str(config))

    assert 2 == main([str(config)])

    error = capsys.readouterr().err

    assert f"{config}: failure_rule 1 (x): '(' is no pattern" in error


def test_compressed_logs_are_read_as_far_as_they_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = gzip.compress((LOG + "\n" + os.urandom(40_000).hex() + "\n" + LOG).encode())
    log = tmp_path / "train.out.gz"
    log.write_bytes(whole[: len(whole) - 2_000])

    assert 0 == main([str(log)])

    out = capsys.readouterr().out

    assert "by rule gpu_oom, line 2" in out
    assert "the gzip stream breaks off" in out


def test_several_files_and_a_folder_are_each_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "rank0.log").write_text("KeyError: 'x'\n")
    (folder / "rank1.log").write_text(LOG)
    (folder / "empty.log").write_text("")

    assert 0 == main([str(folder)])

    said = capsys.readouterr()

    assert ["python_exception", "gpu_oom"] == [
        line.split("by rule ")[1].split(",")[0]
        for line in said.out.splitlines() if "  cause:" in line
    ]  # fmt: skip
    assert "empty.log: it is empty" in said.err


def test_standard_input_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))

    assert 0 == main(["-"])
    assert "-: plain text" in capsys.readouterr().out


def test_a_temporary_folder_is_needed_for_standard_input_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    (tmp_path / "train.log").write_text(LOG)

    assert 0 == main([str(tmp_path / "train.log")])
    assert 2 == main(["-"])
    assert (
        "ett-explain: no temporary folder can be made: No such file or directory. "
        "Free space, or let TMPDIR name a folder that can be written.\n"
    ) == capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\x01\x02\x03\x7f\x80" * 4_000])
def test_what_is_no_text_is_not_explained(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(content)

    assert 2 == main([str(file)])
    assert f"cannot read {file}: it is" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00 it broke\nKeyError: 'x'\n",
        b"\x00\x00\x00KeyError: 'x'\n",
        b"\r 10%|#  |\r 20%|## |\rKeyError: 'x'\r\n",
        "é\u2028\nKeyError: 'x'".encode(),
        b"x" * 200_000 + b"\nKeyError: 'x'",
    ],
)
def test_text_of_any_bytes_is_explained(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "torn.log"
    log.write_bytes(content)

    assert 0 == main([str(log)])
    assert "user_code/python_exception" in capsys.readouterr().out


def test_a_broken_dump_of_events_is_explained_as_far_as_it_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "events.jsonl"
    dump.write_text(
        '{"ts": 0, "event": "failure", "job_id": "a", "exit_code": 1e999, "signal": "x"}\n'
        '{"ts": 1, "event": "failure", "job_id": 7, "message": ["\\ud800"], "attempt": true}\n'
        '{"ts": 2, "event": ["failure"]}\n'
        '{"event": "failure"\n'
        '["failure"]\n'
        f'{{"ts": 3, "event": "failure", "job_id": "\\ud800", "message": "\\udfff {OOM}"}}\n'
        f'{{"ts": 4, "event": "failure", "exit_code": {10**30}, "signal": -{10**30}}}\n'
    )

    assert 0 == main([str(dump)])
    assert "user_code/gpu_oom" in capsys.readouterr().out


def test_a_path_that_names_nothing_is_a_clear_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["nothing.log"])
    assert "nothing.log is not there" in capsys.readouterr().err


def test_names_and_evidence_are_not_obeyed_by_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "bad\x1b[31m.log"
    log.write_text("KeyError: 'a\x07b'\n")

    main([str(log)])

    assert "\x1b" not in (out := capsys.readouterr().out)
    assert "\x07" not in out


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.log").write_text(LOG)
    explained = "import commands; commands.explain()"
    command = f"{sys.executable} -c '{explained}' {folder} | head -1"

    done = subprocess.run(
        ["bash", "-c", command], check=True, capture_output=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip

    assert b"" == done.stderr
    assert done.stdout.endswith(b": plain text\n")


STORAGE = "2026-03-01 10:00:07 kernel: nfs: server nfs01 not responding, timed out\n"
STEPS = "".join(f"2026-03-01 10:00:0{step} step: {step} loss: 2.{step}\n" for step in range(1, 4))
MEMORY = (
    "Traceback (most recent call last):\n"
    '  File "/x/train.py", line 3, in <module>\n'
    "    main()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
)
TAKEN = """\
[[training_log]]
name = "a file server that is gone"
means = "failure"
contains = ["not responding"]
pattern = 'nfs: server \\S+ not responding'
"""


ENDINGS = {"": 771, MEMORY: 772}


@pytest.fixture(scope="module")
def by_settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By settings a folder with them, with a log of each ending and with the warehouse of both."""
    folders = {taken: tmp_path_factory.mktemp("taken") for taken in ("", TAKEN)}
    for taken, folder in folders.items():
        (folder / "ett.toml").write_text(taken)
        logs = []
        for ending, job in ENDINGS.items():
            logs.append(folder / f"{job}" / "train.log")
            logs[-1].parent.mkdir()
            logs[-1].write_text(f"SLURM_JOB_ID={job}\n{STEPS}{STORAGE}{ending}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ETT_CONFIG", str(folder / "ett.toml"))
            ingest(folder / "warehouse", "--as-of", "2026-03-02T00:00:00Z", *logs)
    return folders


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("taken", ["", TAKEN])
def test_what_the_warehouse_will_not_know_of_a_trainers_log_is_said(
    ending: str,
    taken: str,
    by_settings: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, job = by_settings[taken], ENDINGS[ending]
    monkeypatch.setenv("ETT_CONFIG", str(folder / "ett.toml"))
    main([str(folder / f"{job}" / "train.log")])
    said = capsys.readouterr().out
    causes = rows(
        folder / "warehouse",
        "select failure_domain || '/' || failure_category from attempts where job_id = ?",
        [f"{job}"],
    )

    assert 1 == len(causes)
    is_told = ("storage/fs_mount_or_stale",) in causes
    assert bool(taken) is is_told
    assert is_told is ("does not take line 5 of this dump for a failure" not in said)
    assert "storage/fs_mount_or_stale" in said


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.tar", None, "it is a tar archive. Unpack it first"),
        ("a.gz", gzip.compress(LOG.encode(), mtime=0)[:40], "its gzip stream is broken"),
    ],
    ids=["tar", "gzip"],
)
def test_what_is_no_log_is_named_as_ingest_names_it(
    name: str,
    content: bytes | None,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if content is None:
        (tmp_path / "train.log").write_text(LOG)
        with tarfile.open(tmp_path / name, "w") as archive:
            archive.add(tmp_path / "train.log", "train.log")
    else:
        (tmp_path / name).write_bytes(content)

    assert UNUSABLE == main([str(tmp_path / name)])
    assert why in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    assert 0 == ended.value.code
    assert "ett-explain slurm-771.out" in capsys.readouterr().out


def test_an_empty_folder_is_said_to_be_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == main([str(tmp_path)])
    assert "ett-explain: there is no file in what was given.\n" == capsys.readouterr().err


def test_a_warehouse_that_is_a_link_to_itself_is_in_no_ones_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "train.log").write_text("CUDA out of memory\n")
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path / "loop"))

    assert 0 == main([str(tmp_path / "train.log")])


def test_settings_that_are_named_must_be_there_and_an_empty_name_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text("RuntimeError: CUDA out of memory\n")
    monkeypatch.setenv("ETT_CONFIG", "")
    empty = main([str(log)])
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "gone.toml"))
    gone = main([str(log)])

    assert [0, 2] == [empty, gone]
    assert "gone.toml, which does not exist." in capsys.readouterr().err


def test_a_folder_that_can_be_listed_and_not_entered_cannot_be_read(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    (locked / "deep").mkdir(parents=True)
    (locked / "train.out").write_text(LOG)
    locked.chmod(0o600)
    done = subprocess.run(
        [*ordinary(), sys.executable, "-m", "ingest.explain_log", locked],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    locked.chmod(0o700)

    assert UNUSABLE == done.returncode
    assert f"ett-explain: cannot read {locked}: Permission denied\n" == done.stderr
