"""Which run a file of torchrun is of: what it says, where it stands, what stands beside it."""

from __future__ import annotations

import gzip
import json
import logging
import os
import random
import shutil
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors import torchelastic_runs
from ingest.collectors.base import Dump, Reading
from ingest.collectors.torchelastic import TORCHELASTIC
from ingest.collectors.torchelastic_runs import place_at, place_of, run_in_path, scheduler_job_in
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected
from tests.ingest.launches import attempts
from tests.ingest.torchelastic_dumps import (
    BEGUN,
    begins,
    checkpoint,
    error_file,
    events_of,
    fails,
    finishes,
    glog,
    launched,
    lives,
    raised,
    record,
    recorded,
    since_begun,
    starts,
    table,
    written,
)
from tests.queries.engine import hearing, ingest, rows

SAVE = json.dumps(checkpoint("save", "start", 10, "1"))
TRAINED = [
    f"2026-11-20 05:42:{second:02d},000 INFO step {second}/99 | loss 2.5"
    for second in range(5, 59, 6)
]
SACCT = "JobID|JobName|State|Submit|Start|End|AllocTRES|NNodes"
ACCOUNTED = (
    "1153|llm|COMPLETED|2026-11-20T05:41:00|2026-11-20T05:41:20|2026-11-20T05:43:10|gres/gpu=8|1"
)
UTC_READING = Reading(None, ZoneInfo("UTC"))


def test_what_a_file_says_goes_before_where_it_stands(tmp_path: Path) -> None:
    log = written(tmp_path / "folder", *begins(0, run_id="run-b"), *starts(2))

    assert {("run-b", None)} == names(log)


def test_all_files_of_a_run_are_of_one_job(tmp_path: Path) -> None:
    run = tmp_path / "llama-7"
    files = [
        written(run, *begins(0), *starts(2), name="torchrun.stderr.log"),
        written(run, *recorded(*launched(1)), name="elastic/events.jsonl"),
        written(run, SAVE, name="torch_loggers/dcp_rank0.jsonl"),
        written(run, error_file("E: 1", 7), name="elastic/agent_error.json"),
        written(run, error_file("E: 1", 7), name="logs/run-a_abcd1234/attempt_0/0/error.json"),
    ]

    assert {("run-a", None)} == {name for file in files for name in names(file)}


def test_colours_are_no_part_of_the_name_of_a_run(tmp_path: Path) -> None:
    run = tmp_path / "llama-7"
    log = written(run, *begins(0), *starts(2), name="torchrun.stderr.log")
    lines = log.read_bytes().splitlines()
    log.write_bytes(b"".join(b"\x1b[33m%b\x1b[0m\n" % line for line in lines))
    records = written(run, SAVE, name="torch_loggers/dcp_rank0.jsonl")

    assert {("run-a", None)} == names(log) | names(records)


def test_torchruns_own_folder_of_logs_names_the_run_of_a_log_of_warnings(tmp_path: Path) -> None:
    run = tmp_path / "llama-7"
    written(run, error_file("E: 1", 7), name="logs/run-a_abcd1234/attempt_0/0/error.json")

    assert {("run-a", None)} == names(written(run, *fails(50, 1)))


@pytest.mark.parametrize("is_compressed", [False, True])
def test_the_schedulers_job_is_found_in_a_file_of_the_same_run(
    tmp_path: Path, is_compressed: bool
) -> None:
    run = tmp_path / "job"
    beside = written(run, "SLURM_JOB_ID=1153", *begins(0), name="slurm.out")
    if is_compressed:
        beside.write_bytes(gzip.compress(beside.read_bytes()))
    written(run, "SLURM_JOB_ID=7", *begins(0, run_id="run-b"), name="other.out")

    assert {("run-a", "1153")} == names(
        written(run, *recorded(*launched(1)), name="elastic/events.jsonl")
    )


def test_a_file_among_several_runs_is_of_none_of_them(tmp_path: Path) -> None:
    for run in ("run-a", "run-b"):
        written(tmp_path / "all", *begins(0, run_id=run), name=f"{run}.log")

    assert {("all", None)} == names(written(tmp_path / "all", SAVE, name="dcp.jsonl"))


def test_runs_of_other_folders_are_others(tmp_path: Path) -> None:
    written(tmp_path, *begins(0), name="run-a/agent.log")

    assert {("stray", None)} == names(written(tmp_path / "stray", SAVE, name="dcp.jsonl"))


@pytest.mark.parametrize("beside", ["golden.json", "truth.jsonl", "README.md"])
def test_answers_beside_a_dump_are_not_read(tmp_path: Path, beside: str) -> None:
    written(tmp_path / "llama", '{"run_id": "run-a"}', "  run_id     : run-a", name=beside)

    assert {("llama", None)} == names(written(tmp_path / "llama", SAVE, name="dcp.jsonl"))


def test_a_run_without_an_id_is_named_by_its_scheduler(tmp_path: Path) -> None:
    log = ["SLURM_JOB_ID=1153", "SLURM_RESTART_COUNT=2", *begins(0, run_id="none"), *starts(2)]
    told = events_of(written(tmp_path, *log), cluster="lab")

    assert {("lab:1153", "1153", 2)} == {
        (event["job_id"], event["scheduler_job"], event["run_restart"]) for event in told
    }


def test_files_beside_a_run_without_an_id_are_of_the_schedulers_job_too(tmp_path: Path) -> None:
    run = tmp_path / "llama-7"
    log = ["SLURM_JOB_ID=1153", *begins(0, run_id="none"), *starts(2)]
    files = [
        written(run, *log, name="slurm.out"),
        written(run, *recorded(*launched(1, run_id="none")), name="elastic/events.jsonl"),
        written(run, SAVE, name="torch_loggers/dcp_rank0.jsonl"),
        written(run, error_file("E: 1", 7), name="logs/none_abcd1234/attempt_0/0/error.json"),
    ]

    assert {("lab:1153", "1153")} == {name for file in files for name in names(file, "lab")}


def test_the_output_of_sbatch_is_of_its_job_and_so_is_what_stands_beside_it(
    tmp_path: Path,
) -> None:
    log = [*begins(0, run_id="none"), *starts(2)]
    files = [
        written(tmp_path / "llama-7", *log, name="logs/slurm-1153.out"),
        written(tmp_path / "llama-7", SAVE, name="torch_loggers/dcp_rank0.jsonl"),
    ]

    assert {("lab:1153", "1153")} == {name for file in files for name in names(file, "lab")}


@pytest.mark.parametrize(
    ("run_id", "line", "name", "told"),
    [
        ("none", "SLURM_JOB_ID=7", "slurm-1153.out", ("7", "7")),
        ("none", "SLURM_JOB_ID=7_3", "slurm-1153.out", ("7_3", "7_3")),
        ("run-a", "", "slurm-1153.out", ("run-a", "1153")),
        ("none", "", "slurm-1153.out.1", ("1153", "1153")),
        ("none", "", "slurm-1153_3.out", ("1153_3", "1153_3")),
        ("none", "", "llama-1153.out", ("llama-7", None)),
    ],
)
def test_what_a_log_says_of_its_job_comes_before_the_name_that_sbatch_gave_it(
    tmp_path: Path, run_id: str, line: str, name: str, told: tuple[str, str | None]
) -> None:
    log = [line, *begins(0, run_id=run_id), *starts(2)]

    assert {told} == names(written(tmp_path / "llama-7", *log, name=name))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the stories below, each of which lays its logs into a folder of its own."""
    folder = tmp_path_factory.mktemp("fleet")
    for name, story in STORIES.items():
        story(folder / "logs" / name)

    assert 0 == ingest(folder / "warehouse", folder / "logs")

    return folder / "warehouse"


def outputs_of_sbatch(folder: Path) -> None:
    for job in ("1153", "1154"):
        log = [*begins(0, run_id="none"), *starts(2), *finishes(80)]
        written(folder, *log, name=f"slurm-{job}.out")


def test_outputs_of_sbatch_in_one_folder_are_as_many_jobs(fleet: Path) -> None:
    jobs = rows(fleet, "select job_id, wall_seconds from jobs order by all")

    assert [("1153", 82.0), ("1154", 82.0)] == [row for row in jobs if row[0] not in JOBS]


def test_the_restart_that_workers_tell_counts_in_the_output_of_sbatch_too(tmp_path: Path) -> None:
    said = "JOB 1153 (llama) restart=2"
    log = [*begins(0, run_id="none"), said, *starts(2)]
    told = events_of(written(tmp_path, *log, name="slurm-1153.out"))

    assert {"1153"} == {event["job_id"] for event in told}
    assert 2 == told[-1]["run_restart"]


@pytest.mark.parametrize("folder", [".", "torch_loggers"])
def test_files_of_many_ranks_do_not_hide_the_log_that_names_the_run(
    tmp_path: Path, folder: str
) -> None:
    run = tmp_path / "llama-7"
    written(run, *begins(0), *starts(2), name="torchrun.log")
    ranks = [written(run, SAVE, name=f"{folder}/dcp_rank{rank}.jsonl") for rank in range(400)]

    assert {("run-a", None)} == {name for file in ranks[::133] for name in names(file)}


def test_a_log_that_names_the_run_may_be_packed_with_zstd(tmp_path: Path) -> None:
    log = written(tmp_path / "llama-7", *begins(0), *starts(2))
    log.with_suffix(".log.zst").write_bytes(zstandard.compress(log.read_bytes()))
    log.unlink()

    assert {("run-a", None)} == names(written(tmp_path / "llama-7", SAVE, name="dcp.jsonl"))


def test_a_file_among_several_jobs_of_the_scheduler_is_of_none_of_them(tmp_path: Path) -> None:
    for job in ("1153", "1154"):
        log = [f"SLURM_JOB_ID={job}", *begins(0, run_id="none"), *starts(2)]
        written(tmp_path / "all", *log, name=f"{job}.out")

    assert {("all", None)} == names(written(tmp_path / "all", SAVE, name="dcp.jsonl"))


# the run and the scheduler's job that the agent names -> the job
BESIDE: dict[tuple[str, str | None], str] = {
    ("run-a", None): "run-a",
    ("run-b", "1153"): "run-b",
    ("none", "1154"): "lab:1154",
    ("none", None): "llama-7",
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of runs, each with a trainer's log beside torchrun's."""
    folder = tmp_path_factory.mktemp("beside")
    for place, (run_id, number) in enumerate(BESIDE):
        run = folder / "dumps" / str(place) / "fleet" / "llama-7"
        agent = [*begins(0, run_id=run_id), *starts(2), *finishes(80)]
        written(run, *([f"SLURM_JOB_ID={number}"] if number else []), *agent, name="agent.log")
        written(run, *TRAINED, name="logs/train.log")

    ingest(folder / "warehouse", folder / "dumps", "--cluster", "lab")

    return folder / "warehouse"


@pytest.mark.parametrize(("run_id", "number"), BESIDE)
def test_a_trainers_log_beside_torchruns_is_of_the_same_job(
    beside: Path, run_id: str, number: str | None
) -> None:
    name = BESIDE[run_id, number]
    attempts = rows(beside, "select job_id, wall_seconds from attempts")

    assert [(name, 82.0)] == [row for row in attempts if row[0] == name]
    assert len(BESIDE) == len(attempts)


@pytest.fixture(scope="module")
def of_a_trainer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A warehouse of a trainer's log alone, and what was warned of."""
    folder = tmp_path_factory.mktemp("of_a_trainer")
    with hearing() as said:
        ingest(folder / "warehouse", written(folder / "trainers", *TRAINED, name="slurm-1153.out"))
    return folder / "warehouse", "\n".join(said)


@pytest.mark.parametrize(("begun", "is_told"), [(0, True), (3600, False)])
def test_two_names_of_one_job_of_the_scheduler_at_once_are_told_of(
    of_a_trainer: tuple[Path, str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    begun: float,
    is_told: bool,
) -> None:
    agent = [*begins(begun), *starts(begun + 2), *finishes(begun + 80)]
    agents = written(tmp_path / "agents", "SLURM_JOB_ID=1153", *agent, name="agent.log")
    warehouse = shutil.copytree(of_a_trainer[0], tmp_path / "warehouse", symlinks=True)
    caplog.set_level(logging.WARNING, "ingest")

    assert "counts twice" not in of_a_trainer[1]
    ingest(warehouse, agents)

    told = "the scheduler's job 1153, of which no row tells, is at the same time told as 1153"
    assert is_told == (f"job run-a: {told}" in caplog.text)


def test_a_job_that_the_scheduler_tells_has_two_names_and_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = [*begins(0), *starts(2), *finishes(80)]
    written(tmp_path / "dumps/agents", "SLURM_JOB_ID=1153", *agent, name="agent.log")
    written(tmp_path / "dumps/trainers", *TRAINED, name="slurm-1153.out")
    written(tmp_path / "dumps", SACCT, ACCOUNTED, name="sacct.txt")
    caplog.set_level(logging.WARNING, "ingest")

    ingest(tmp_path / "warehouse", tmp_path / "dumps")

    assert [("1153",)] == rows(tmp_path / "warehouse", "select job_id from jobs")
    assert "counts twice" not in caplog.text


# the run and the scheduler's job that the agent names, the file of the trainer -> the jobs
NOT_BESIDE: dict[tuple[str, str | None, str], list[str]] = {
    ("none", None, "llama.log"): ["all", "llama"],
    ("none", "1153", "qwen.log"): ["1153", "qwen"],
    ("none", "2153", "slurm-2154.out"): ["2153", "2154"],
    ("run-a", "3153", "slurm-3154.out"): ["3154", "run-a"],
    ("run-b", "4153", "slurm-4153.out"): ["run-b"],
    ("none", "5153", "slurm-5153.out"): ["5153"],
}


@pytest.fixture(scope="module")
def not_beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of runs, each with a trainer's log of another name or number in its folder."""
    folder = tmp_path_factory.mktemp("not_beside")
    for place, (run_id, number, log) in enumerate(NOT_BESIDE):
        run = folder / "dumps" / str(place) / "all"
        said = [f"SLURM_JOB_ID={number}"] if number else []
        written(run, *said, *begins(0, run_id=run_id), *starts(2), name="agent.log")
        written(run, *TRAINED, name=log)

    ingest(folder / "warehouse", folder / "dumps")

    return folder / "warehouse"


@pytest.mark.parametrize(("run_id", "number", "log"), NOT_BESIDE)
def test_a_trainers_log_with_another_name_or_number_is_not_of_the_run_beside_it(
    not_beside: Path, run_id: str, number: str | None, log: str
) -> None:
    names = NOT_BESIDE[run_id, number, log]
    jobs = [job for (job,) in rows(not_beside, "select job_id from jobs order by all")]

    assert names == [job for job in jobs if job in names]
    assert sum(map(len, NOT_BESIDE.values())) == len(jobs)


def test_a_new_try_of_the_scheduler_counts_anew(tmp_path: Path) -> None:
    told = events_of(
        written(
            tmp_path,
            "JOB 1153 (name) restart=0 nodes=n1 date=2026-11-20T05:33:08+00:00",
            *begins(0),
            *starts(2),
            *finishes(40),
            "JOB 1153 (name) restart=1 nodes=n1 date=2026-11-20T05:35:35+00:00",
            *begins(100, pid=7),
            *starts(102, pid=7),
            "SLURM_JOB_ID=1154",
            *begins(200, pid=8),
            *starts(202, pid=8),
        )
    )

    assert [("1153", 0), ("1153", 1), ("1154", None)] == [
        (event["scheduler_job"], event.get("run_restart"))
        for event in told
        if event["event"] == "attempt_start"
    ]


@pytest.mark.parametrize(
    ("line", "job"),
    [
        ("SLURM_JOB_ID=1153", "1153"),
        ("SLURM_JOBID=1153", "1153"),
        ("export SLURM_JOB_ID='1153'", "1153"),
        ("'SLURM_JOB_ID': '1153', 'HOME': '/'", "1153"),
        ("Slurm job id: 1153", "1153"),
        ("slurm_job_id = 1153", "1153"),
        ("0: JOB 1153 (name) restart=0", "1153"),
        ("slurmstepd: error: *** STEP 1153.0 ON n1 CANCELLED AT", "1153"),
        ("SLURM_JOB_ID=", None),
        ("JOB 1153 is fine", None),
        ("a slurm job id: 1153", None),
        ("SLURM_JOB_NUM_NODES=8", None),
    ],
)
def test_lines_of_the_environment_state_the_schedulers_job(line: str, job: str | None) -> None:
    assert job == scheduler_job_in(line.encode())


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/x/run-a_abcd1234/attempt_2/3/error.json", ("run-a", 2, 3)),
        ("/x/26dc745f-498f_e362_swu/attempt_0/0/error.json", ("26dc745f-498f", 0, 0)),
        ("/x/none_abcd1234/attempt_0/0/error.json", (None, 0, 0)),
        ("/x/attempt_0/0/error.json", (None, None, None)),
        ("/x/run-a_abcd1234/attempt_2", ("run-a", 2, None)),
        ("error.json", (None, None, None)),
    ],
)
def test_torchruns_folders_tell_run_generation_and_local_rank(
    path: str, told: tuple[str | None, int | None, int | None]
) -> None:
    assert told == run_in_path(path)


def test_a_trainers_own_log_can_ask_for_the_run_that_it_stands_in(tmp_path: Path) -> None:
    run = tmp_path / "llama-7"
    written(run, "SLURM_JOB_ID=1153", *begins(0), name="agent.log")
    log = written(run, "step 10 loss 2.5", name="logs/train.log")
    place = place_of(Dump("train.log", log, lambda: iter(())))

    assert ("run-a", "1153", "llama-7") == (place.run_id, place.scheduler_job, place.folder)


def test_what_stands_beside_many_logs_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [tmp_path / f"{number}.log" for number in range(100, 400)]
    for log in logs:
        log.write_text("2026-11-20 05:42:00 step 1\n")
    read: list[str] = []
    head = torchelastic_runs._head

    def noted(path: str) -> bytes:
        read.append(path)
        return head(path)

    monkeypatch.setattr(torchelastic_runs, "_head", noted)

    for log in logs:
        place_at(log)

    assert 40 <= len(read) < 100


def test_logs_of_a_folder_a_rank_look_into_each_folder_a_few_times_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = 120
    logs = [
        written(tmp_path / "llm" / f"rank_{rank}", *starts(2), name="train.log")
        for rank in range(ranks)
    ]
    monkeypatch.setattr(torchelastic_runs, "_SETTLED_NS", 0)
    looked: list[object] = []
    scandir = os.scandir

    def noted(folder: str) -> Any:
        looked.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", noted)

    assert {"llm"} == {place_at(log).folder for log in logs}
    assert ranks < len(looked) < 3 * ranks


def test_a_file_that_came_or_changed_beside_a_log_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchelastic_runs, "_SETTLED_NS", 20_000_000)
    log = written(tmp_path / "folder", *starts(2), name="train.log")

    def told() -> str | None:
        time.sleep(0.05)  # what is remembered has settled
        return place_at(log).run_id

    runs = [told()]
    agent = written(tmp_path / "folder", *begins(0, run_id="run-a"), name="agent.log")
    runs.append(told())
    agent.write_text(agent.read_text().replace("run-a", "run-b"))
    runs.append(told())
    agent.unlink()
    runs.append(told())

    assert [None, "run-a", "run-b", None] == runs


def test_the_trainers_lines_in_the_agents_log_are_of_the_launch_that_had_begun(
    tmp_path: Path,
) -> None:
    first = [*begins(0), *starts(2), step("41:50", 10), *finishes(20)]
    second = [*begins(60, run_id="run-b"), *starts(62), step("42:50", 20)]
    told = events_of(written(tmp_path, *first, *second))

    assert [("run-a", 10), ("run-b", 20)] == [
        (event["job_id"], event["step"]) for event in told if event["event"] == "progress"
    ]


@pytest.mark.parametrize("label", ["[0]:", "r12i0n8:0: ", "[default0]:"])
def test_the_trainers_lines_may_have_any_label_that_torchrun_documents(
    tmp_path: Path, label: str
) -> None:
    lines = [f"{label}2026-11-20 05:41:{second} step {second}/99 | loss 2.5" for second in (45, 50)]
    told = events_of(written(tmp_path, *begins(0), *starts(2), *lines, *finishes(20)))

    assert [8.0, 13.0] == [
        since_begun(event["at_us"]) for event in told if event["event"] == "progress"
    ]


def trained(told: list[Event]) -> list[tuple[str, float]]:
    """When training began and ended."""
    return [
        (event["event"], since_begun(event["at_us"]))
        for event in told
        if event.get("phase") == "training"
    ]


def test_training_is_over_while_workers_are_started_anew(tmp_path: Path) -> None:
    before = [*begins(0), *starts(2), step("41:50", 1), step("41:56", 2)]
    # the last word of the old workers comes while the agents meet
    after = [*starts(55, waits=15), step("42:18", 3), step("42:45", 4), *finishes(80)]
    told = events_of(written(tmp_path, *before, *after))

    assert [
        ("phase_start", 13.0),
        ("phase_end", 40.0),
        ("phase_start", 68.0),
        ("phase_end", 80.0),
    ] == trained(told)
    assert [13.0, 19.0, 41.0, 68.0] == [
        since_begun(event["at_us"]) for event in told if event["event"] == "progress"
    ]


def test_training_is_over_when_workers_are_told_to_stop(tmp_path: Path) -> None:
    processes = "elastic/multiprocessing/api"
    stop = glog(21, processes, "Sending process 9100 closing signal SIGTERM", level="W")
    before = [step("41:50", 1), step("41:56", 2), stop]
    after = [step("42:45", 3), step("42:55", 4)]
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    joined = [*begins(0), *starts(2), *before, *starts(55, waits=4), *after, *finishes(80)]
    failed = [*begins(0), *starts(2), *before, *fails(51, 1, left=3, stops=30)]
    failed += [*starts(55, restart=1), *after, *finishes(80)]
    silent = [warning, *before, *after]

    for log in (joined, failed, silent):
        told = trained(events_of(written(tmp_path, *log)))
        assert [("phase_start", 13.0), ("phase_end", 21.0), ("phase_start", 68.0)] == told[:3]


@pytest.mark.parametrize("again", [(4, 5), (3, 4), (3, 4, 5), (2, 3), (1, 2, 3), (4,), (5, 6)])
def test_training_begins_again_with_the_first_step_after_a_failure(
    tmp_path: Path, again: tuple[int, ...]
) -> None:
    before = [*begins(0), *starts(2), *(step(f"41:{50 + n}", n) for n in (1, 2, 3, 4))]
    after = [step(f"42:{45 + place}", n) for place, n in enumerate(again)]
    log = [*before, *fails(40, 1, left=2), *starts(55, restart=1), *after, *finishes(80)]
    told = events_of(written(tmp_path, *log))

    begun = [at for kind, at in trained(told) if kind == "phase_start"]
    assert [14.0, 68.0] == sorted({*begun})
    assert [40.0, 80.0] == [at for kind, at in trained(told) if kind == "phase_end"]


@pytest.mark.parametrize("seed", range(60))
def test_launches_in_one_log_are_those_of_each_in_its_own(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    begin, number, logs = 0.0, 0, []
    for pid in range(100, 102 + seed % 2):
        log, number, end = a_life(chance, begin, number, pid)
        logs.append(log[: chance.choice((len(log), chance.randint(6, len(log))))])
        begin, number = (
            end + chance.choice((3, 30, 300, 3600)),
            max(0, number - chance.randint(0, 4)),
        )
    alone = [written(tmp_path / str(place), *log) for place, log in enumerate(logs)]
    together = written(tmp_path / "all", *(line for log in logs for line in log))

    assert lived(event for log in alone for event in events_of(log)) == lived(events_of(together))


@pytest.mark.parametrize("follows", [False, True])
def test_a_trainer_that_saves_when_it_is_stopped_has_saved(tmp_path: Path, follows: bool) -> None:
    died = glog(40, "elastic/agent/server/api", "Received 15 death signal", level="W")
    saved = [
        "2026-11-20 05:42:18 saving checkpoint at iteration 2 to /c",
        "2026-11-20 05:42:40 successfully saved checkpoint from iteration 2 to /c",
        "2026-11-20 05:42:50 saving checkpoint at iteration 3 to /c",  # of what comes after
    ]
    log = [*begins(0), *starts(2), step("41:50", 1), step("41:56", 2), died, *saved]
    next_one = [*begins(600, pid=7), *starts(602, pid=7)] if follows else []
    told = events_of(written(tmp_path, *log, *next_one))

    assert [63.0] == [at for at, kind, _, _ in lives(told) if kind == "attempt_end"]
    assert [(40.0, 63.0)] == [
        (since_begun(one["at_us"]), since_begun(one["end_us"]))
        for one in told
        if one.get("phase") == "shutdown"
    ]


def test_a_step_that_old_workers_tell_again_begins_no_training(tmp_path: Path) -> None:
    before = [*begins(0), *starts(2), step("41:50", 1), step("41:51", 2), *fails(40, 1, left=2)]
    late = [step("42:18", 1), step("42:19", 2)]  # while the agents meet
    after = [*starts(55, restart=1, waits=15), step("42:45", 3), *finishes(80)]
    told = events_of(written(tmp_path, *before, *late, *after))

    assert [("phase_start", 68.0), ("phase_end", 80.0)] == trained(told)[2:]


@pytest.mark.parametrize(("saved", "ended", "unsaved"), [(62, 62, 0.0), (92, 41, 31.0)])
def test_a_save_on_sigterm_that_a_log_of_the_trainers_own_tells_is_of_the_attempt(
    tmp_path: Path, saved: int, ended: int, unsaved: float
) -> None:
    died = glog(40, "elastic/agent/server/api", "Received 15 death signal", level="W")
    written(tmp_path / "llm", *begins(0), *starts(2), died, name="torchrun.log")
    saves = [
        f"{told_at(41)} saving checkpoint at iteration 3 to /c",
        f"{told_at(saved)} successfully saved checkpoint from iteration 3 to /c",
    ]
    steps = [stepped(10 * number, number) for number in range(1, 4)]
    written(tmp_path / "llm", *steps, *saves, name="train.log")
    ingest(tmp_path / "warehouse", tmp_path / "llm")

    assert [(datetime.fromtimestamp(BEGUN + ended, UTC).replace(tzinfo=None), "failed")] == rows(
        tmp_path / "warehouse", "select ended_at, outcome from attempts"
    )
    assert [(unsaved,)] == rows(tmp_path / "warehouse", "select unsaved_seconds from attempts")


# how torchrun was over -> its lines, and the outcome of the job
OVER: dict[str, tuple[list[str], str]] = {
    "failed": (fails(40, 1), "failed"),
    "finished": (finishes(40), "completed"),
    "stopped": (
        [glog(40, "elastic/agent/server/api", "Received 15 death signal", level="W")],
        "failed",
    ),
}


@pytest.fixture(scope="module")
def outlived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two warehouses of jobs that go on after torchrun: one torchrun each, and two each."""
    folder = tmp_path_factory.mktemp("outlived")
    accounted = ["JobIDRaw|Submit|Start|End|Elapsed|State|ExitCode"]
    for number, (how, (over, outcome)) in enumerate(OVER.items(), 1153):
        accounted.append(
            f"{number}|2026-11-20T05:41:30|2026-11-20T05:41:30|2026-11-20T05:51:37|00:10:07|"
            f"{outcome.upper()}|{int(outcome == 'failed')}:0"
        )
        steps = [step("41:50", 1), step("41:56", 2)]
        log = [f"SLURM_JOB_ID={number}", *begins(0, run_id=how), *starts(2), *steps, *over]
        again = [*begins(60, pid=77, run_id=how), *starts(62, pid=77)]
        again += [step("42:45", 3), step("42:51", 4)]
        written(folder / "logs" / "once" / how, *log)
        written(folder / "logs" / "twice" / how, *log, *again)
    table = folder / "sacct.txt"
    table.write_text("".join(f"{row}\n" for row in accounted))
    for times in ("once", "twice"):
        ingest(folder / times, folder / "logs" / times, table)

    return folder


@pytest.mark.parametrize("how", OVER)
def test_what_the_job_does_after_torchrun_is_not_training(outlived: Path, how: str) -> None:
    number = str(1153 + list(OVER).index(how))
    trained = "select sum(effective_seconds + unsaved_seconds) from attempts where job_id in (?, ?)"

    assert [(27.0,)] == rows(outlived / "once", trained, [how, number])
    # the second torchrun is not seen to end: it trains from 68 up to the end of the allocation
    assert [(27.0 + 532.0,)] == rows(outlived / "twice", trained, [how, number])


# how a worker of another node ended, what Slurm says that it ended -> outcome, seconds unsaved
ENDED_BY_SLURM: dict[tuple[int, str], tuple[str, float]] = {
    (1, "STEP 1153.0"): ("failed", 35.5),
    (-15, "STEP 1154.0"): ("cancelled", 0.0),
    (1, "JOB 1155"): ("cancelled", 0.0),
}


@pytest.fixture(scope="module")
def ended_by_slurm(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Warehouses that were given the logs of the first nodes, then of the second, and back."""
    folder = tmp_path_factory.mktemp("ended_by_slurm")
    stopped = glog(43, "elastic/agent/server/api", "Received 15 death signal", level="W", pid=7)
    for number, (code, what) in enumerate(ENDED_BY_SLURM, 1153):
        line = f"slurmstepd: error: *** {what} ON n2 CANCELLED AT 2026-11-20T05:42:19 ***"
        said, run_id = f"SLURM_JOB_ID={number}", f"run-{number}"
        first = [*begins(0, run_id=run_id), *starts(5, agents=2, waits=4)]
        first += [step("41:42", 1), step("41:48", 2), *fails(40.5, code)]
        second = [*begins(1, pid=7, run_id=run_id), *starts(5, pid=7, agents=2, ranks="[2, 3]")]
        second += [line, stopped]
        written(folder / run_id, said, *first, name="node-1.log")
        written(folder / run_id, said, *second, name="node-2.log")
    warehouses = {order: folder / f"warehouse{order}" for order in (1, -1)}
    for order, warehouse in warehouses.items():
        for node in (1, 2)[::order]:
            ingest(warehouse, folder / "run-*" / f"node-{node}.log")

    return warehouses


@pytest.mark.parametrize(("code", "what"), ENDED_BY_SLURM)
def test_a_step_that_slurm_ends_as_a_worker_of_another_node_died_was_cancelled_by_nobody(
    ended_by_slurm: dict[int, Path], code: int, what: str
) -> None:
    run_id = f"run-{1153 + list(ENDED_BY_SLURM).index((code, what))}"
    for warehouse in ended_by_slurm.values():
        seen = rows(warehouse, "select job_id, outcome, unsaved_seconds from attempts")

        assert [(run_id, *ENDED_BY_SLURM[code, what])] == [row for row in seen if row[0] == run_id]
        assert len(ENDED_BY_SLURM) == len(seen)


def test_training_that_an_agent_outlives_another_in_goes_on(tmp_path: Path) -> None:
    lost = [*begins(0, pid=5), *begins(1), *starts(2, pid=5), *starts(3), step("41:50", 1)]
    log = [*lost, *fails(20, -9), step("42:17", 2), step("42:27", 3), *finishes(55, pid=5)]
    told = events_of(written(tmp_path, *log))

    assert [("phase_start", 13.0)] == trained(told)


FIRST_STEPS = (2, 3, 9)


@pytest.fixture(scope="module")
def taken_over(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of logs in which an agent takes over, each with another first step after it."""
    folder = tmp_path_factory.mktemp("taken_over")
    for first in FIRST_STEPS:
        run_id = f"run-{first}"
        killed = [*begins(0, run_id=run_id), *starts(2), step("41:50", 1), step("41:56", 2)]
        after = [step(f"42:{20 + number * 5}", first + number) for number in range(4)]
        fresh = [*begins(30, pid=77, run_id=run_id), *starts(32, pid=77), *after]
        written(folder / "logs" / run_id, *killed, *fresh, *finishes(80, pid=77))

    ingest(folder / "warehouse", folder / "logs")

    return folder / "warehouse"


@pytest.mark.parametrize("first", FIRST_STEPS)
def test_an_agent_that_takes_over_in_one_log_trains_though_its_steps_go_on(
    first: int, taken_over: Path
) -> None:
    assert [(1, "lost", 6.0), (2, "completed", 37.0)] == rows(
        taken_over,
        "select attempt, outcome, effective_seconds + unsaved_seconds from attempts "
        "where job_id = ? order by attempt",
        [f"run-{first}"],
    )


def test_training_that_does_not_go_on_ended_where_the_agents_met(tmp_path: Path) -> None:
    before = [*begins(0), *starts(2), step("41:50", 1), step("41:56", 2)]
    told = events_of(written(tmp_path, *before, *starts(55, waits=15), *finishes(80)))

    assert [("run-a", "phase_end", 40.0)] == [
        (event["job_id"], event["event"], since_begun(event["at_us"]))
        for event in told
        if event.get("phase") == "training" and event["event"] != "phase_start"
    ]


def silent(pid: int, minute: int) -> list[str]:
    """What a trainer and an agent that keeps to warnings, as by default, write into one log."""
    began = 60 * (minute - 41) - 37
    return [
        glog(began, "run", "Setting OMP_NUM_THREADS environment variable", pid=pid, level="W"),
        *(step(f"{minute}:{second}", second) for second in range(10, 30, 5)),
        f"[default0]:[2026-11-20 05:{minute}:30][rank0][INFO] Training completed",
    ]


@pytest.mark.parametrize(
    ("later", "outcomes"),
    [
        ([], ["completed"]),
        (fails(60, 1), ["failed"]),
        (raised("ValueError: 7"), []),
        ([glog(60, "elastic/agent/server/api", "Received 15 death signal")], ["failed"]),
    ],
)
def test_a_trainer_that_is_done_has_completed_where_its_agent_says_nothing_of_an_end(
    later: list[str], outcomes: list[str], tmp_path: Path
) -> None:
    told = events_of(written(tmp_path, *silent(8489, 42), *later))

    assert outcomes == [event["outcome"] for event in told if event["event"] == "attempt_end"]
    assert [23.0] == [
        since_begun(event["at_us"]) for event in told if event["event"] == "attempt_start"
    ]


@pytest.mark.parametrize("first", [1, 5, 6])
def test_steps_that_are_told_again_after_a_worker_died_are_trained_again(
    tmp_path: Path, first: int
) -> None:
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    before = [step(f"41:{50 + n}", n) for n in range(1, 6)]
    after = [step(f"42:{45 + n}", first + n) for n in range(5)]
    told = events_of(written(tmp_path, warning, *before, *fails(40, 1), *after))

    assert [14.0, 68.0] == [at for kind, at in trained(told) if kind == "phase_start"]


def test_a_trainer_that_begins_anew_after_it_was_done_is_not_done(tmp_path: Path) -> None:
    log = [*silent(8489, 42), *silent(8489, 52)[:-1]]
    told = events_of(written(tmp_path, *log))

    assert 40.0 < max(since_begun(one["at_us"]) for one in told if one["event"] == "progress")
    assert [] == [event for event in told if event["event"] == "attempt_end"]


def workers_that_start_anew(folder: Path) -> None:
    first, second = silent(8489, 42)[:-1], silent(8489, 43)[1:-1]
    log = [*first, *fails(60, -9), *second, *fails(120, 1), *silent(8489, 44)[1:]]
    written(folder, *log, name="anew.log")


def test_workers_that_an_agent_starts_anew_without_a_word_train_in_their_own_attempt(
    fleet: Path,
) -> None:
    # each trains from its first step up to its end; the last is done with the trainer's word
    assert [
        (1, "failed", 23.0, 60.0, 27.0),
        (2, "failed", 60.0, 120.0, 27.0),
        (3, "completed", 120.0, 173.0, 20.0),
    ] == rows(
        fleet,
        f"select attempt, outcome, epoch(started_at) - {BEGUN}, epoch(ended_at) - {BEGUN}, "
        "effective_seconds + unsaved_seconds from attempts where job_id = 'anew' order by attempt",
    )
    assert [] == rows(
        fleet,
        "select detail from anomalies where kind = 'end_without_start' and job_id = 'anew'",
    )


def agent_whose_first_word_is_a_death(folder: Path) -> None:
    def try_of(restart: int, minute: int, pid: int) -> list[str]:
        at = 60 * (minute - 41) - 37
        job = ["SLURM_JOB_ID=1253", f"SLURM_RESTART_COUNT={restart}"]
        first, second = silent(pid, minute)[1:-1], silent(pid, minute + 1)[1:-1]
        deaths = [fails(at + after, -9, pid=pid)[1] for after in (50, 110)]
        return [*job, *first, deaths[0], *second, deaths[1]]

    written(folder, *try_of(0, 42, 5), *try_of(1, 52, 6), name="a.log")


def test_an_agent_whose_first_word_is_a_death_began_with_its_log(fleet: Path) -> None:
    assert [
        (1, "failed", 33.0, 73.0, 40.0),
        (2, "failed", 73.0, 133.0, 40.0),
        (3, "failed", 633.0, 673.0, 40.0),
        (4, "failed", 673.0, 733.0, 40.0),
    ] == rows(
        fleet,
        f"select attempt, outcome, round(epoch(started_at) - {BEGUN}, 3), "
        f"epoch(ended_at) - {BEGUN}, round(effective_seconds + unsaved_seconds, 3) "
        "from attempts where job_id = '1253' order by attempt",
    )
    # it was met training: that is no time to start of 0 s
    told = "select tts_seconds from attempts where tts_seconds is not null and job_id = '1253'"
    assert [] == rows(fleet, told)


def agent_that_tells_no_job_and_whose_first_word_is_a_death(folder: Path) -> None:
    first = [
        "[default0]:[2026-11-20 05:42:00][rank0][INFO] Starting job: x",
        *silent(8489, 42)[1:-1],
    ]
    written(folder, *first, *fails(50, -9)[1:], *silent(8489, 43)[1:], name="train.log")


def test_an_agent_whose_first_word_is_a_death_began_with_its_trainer(fleet: Path) -> None:
    assert [(1, "failed", 23.0, 50.0, 17.0), (2, "completed", 50.0, 113.0, 20.0)] == rows(
        fleet,
        f"select attempt, outcome, round(epoch(started_at) - {BEGUN}, 3), "
        f"epoch(ended_at) - {BEGUN}, round(effective_seconds + unsaved_seconds, 3) "
        "from attempts where job_id = 'no-number' order by attempt",
    )


def workers_of_another_node_that_failed(folder: Path) -> None:
    # the first node's agent counts no restart: it was not its workers that died
    more = {"run_id": "other-node"}
    for node, count in ((0, 0), (1, 1)):
        host = {**more, "host": f"node-{node}"}
        anew = launched(103, restarts=1, **host)
        for told in anew:
            told["event"]["metadata"]["agent_restarts"] = count
        written(folder, *recorded(*launched(3, **host), *anew), name=f"events{node}.jsonl")
    trainer = [
        f"{datetime.fromtimestamp(BEGUN + at, UTC):%F %T} {line}"
        for begin in (5, 105)
        for at, line in (
            (begin, "TORCHELASTIC_RESTART_COUNT=0"),
            (begin + 1, "Starting job: x"),
            (begin + 10, "Training starts at step 1"),
            (begin + 20, "step: 1 loss: 1"),
            (begin + 80, "step: 7 loss: 1"),
        )
    ]
    written(folder, *trainer, name="train.log")


def test_what_trains_after_the_workers_of_another_node_failed_is_the_next_attempt(
    fleet: Path,
) -> None:
    assert [(1, 2.0, 102.0, 87.0), (2, 102.0, 185.0, 70.0)] == rows(
        fleet,
        f"select attempt, round(epoch(started_at) - {BEGUN}, 3), epoch(ended_at) - {BEGUN}, "
        "round(effective_seconds + unsaved_seconds, 3) "
        "from attempts where job_id = 'other-node' order by attempt",
    )


def log_that_was_rotated(folder: Path) -> None:
    lines = silent(8489, 42)[1:-1]
    written(folder, *lines[:2], name="train.log.1")
    written(folder, *lines[2:], *fails(50, 1), name="train.log")


def test_a_log_that_was_rotated_in_the_middle_of_a_launch_begins_none(fleet: Path) -> None:
    assert [(1, "failed", 17.0)] == rows(
        fleet,
        "select attempt, outcome, effective_seconds + unsaved_seconds + unaccounted_seconds "
        "from attempts where job_id = 'rotated' order by attempt",
    )


def runs_of_silent_agents(folder: Path) -> None:
    written(folder, *silent(7, 42), *silent(8, 52), name="silent.log")


def test_runs_of_silent_agents_in_one_log_are_completed_each(fleet: Path) -> None:
    assert [(1, "completed", 30.0), (2, "completed", 30.0)] == rows(
        fleet,
        "select attempt, outcome, wall_seconds from attempts where job_id = 'silent' "
        "order by attempt",
    )


def begun(minute: int) -> list[str]:
    """What the trainer of a torchrun that says nothing tells."""
    begins = f"[default0]:[2026-11-20 05:{minute}:00][rank0][INFO] Starting job: x"
    return [begins, *silent(8489, minute)[1:-1]]


def death(minute: int, pid: int) -> list[str]:
    return fails(60 * (minute - 41) - 37 + 30, 1, pid=pid)[1:]


def given_up(minute: int) -> list[str]:
    said = (0, 1, f"2026-11-20_05:{minute}:30", "ValueError: 7")
    return table(said, run="none_abcd1234/attempt_0")


def launches_that_begin_and_end_in_silence_or_give_up(folder: Path) -> None:
    log = [*begun(42), *begun(44), *begun(46), *death(46, 5), *given_up(46)]
    log += [*begun(48), *death(48, 6), *begun(49), *death(49, 6), *given_up(49)]
    log += [*begun(51), *begun(53)[:2], *death(53, 7), *given_up(53)]
    written(folder, *log, name="train.log")


def launches_in_one_try_of_the_scheduler(folder: Path) -> None:
    told = "SLURM_JOB_ID=1453"
    log = [told, *begun(42), told, *begun(44), *death(44, 5), *given_up(44), told, *begun(46)]
    written(folder, *log, name="train.log")


def agents_of_two_nodes_that_give_up(folder: Path) -> None:
    log = [*begun(42), *death(42, 5), *death(42, 6), *given_up(42), *given_up(42)]
    written(folder, *log, *begun(44), name="train.log")


def tries_that_the_scheduler_preempts(folder: Path) -> None:
    log = []
    for restart, minute in enumerate((42, 44, 46)):
        log += ["SLURM_JOB_ID=1353", *([f"SLURM_RESTART_COUNT={restart}"] if restart else [])]
        log += begun(minute)
        if restart < 2:
            at = 60 * (minute - 41) - 37 + 30
            stopped = "Received Signals.SIGTERM death signal, shutting down workers"
            log.append(
                "slurmstepd: error: *** JOB 1353 ON n1 CANCELLED AT "
                f"2026-11-20T05:{minute}:30 DUE TO PREEMPTION ***"
            )
            log.append(glog(at, "elastic/agent/server/api", stopped, pid=restart, level="W"))
    written(folder, *log, name="train.log")


@pytest.mark.parametrize(
    ("job", "tries"),
    [
        ("1353", [("preempted", 23.0), ("preempted", 143.0), ("running", 263.0)]),
        ("1453", [("lost", 23.0), ("failed", 143.0), ("running", 263.0)]),
        ("two-agents", [("failed", 23.0), ("running", 143.0)]),
    ],
)
def test_each_launch_of_agents_that_say_nothing_before_they_are_stopped_is_one(
    fleet: Path, job: str, tries: list[tuple[str, float]]
) -> None:
    assert tries == rows(
        fleet,
        f"select outcome, round(epoch(started_at) - {BEGUN}, 3) from attempts where job_id = ? "
        "order by attempt",
        [job],
    )


def test_launches_are_told_apart_by_their_trainers_where_agents_are_silent_or_give_up(
    fleet: Path,
) -> None:
    assert [
        (1, "lost", 23.0, 25.0),
        (2, "lost", 143.0, 25.0),
        (3, "failed", 263.0, 30.0),
        (4, "failed", 383.0, 30.0),
        (5, "failed", 413.0, 60.0),  # the same agent's, from the death before
        (6, "lost", 563.0, 25.0),
        (7, "failed", 683.0, 30.0),
    ] == rows(
        fleet,
        f"select attempt, outcome, round(epoch(started_at) - {BEGUN}, 3), wall_seconds "
        "from attempts where job_id = 'gives-up' order by attempt",
    )
    hung = "select * from area_by_attempt where job_id = 'gives-up' and area = 'hang'"
    assert [] == rows(fleet, hung)


def agent_in_the_place_of_a_killed_one(folder: Path) -> None:
    named = {"run_id": "replaced"}
    stays = [*begins(0, **named), *starts(5, agents=2), *fails(600, 1, left=3)]
    stays += [*starts(660, restart=1, agents=2, waits=55), *finishes(1200)]
    killed = [*begins(0, **named), *starts(5, agents=2, ranks="[2, 3]")]
    fresh = [*begins(640, **named), *starts(660, agents=2, ranks="[2, 3]", waits=15)]
    fresh += finishes(1201)
    for node, log in {"stays": stays, "killed": killed, "fresh": fresh}.items():
        written(folder, *log, name=f"{node}.log")


def test_an_agent_in_the_place_of_a_killed_one_goes_on_from_the_generation_that_runs(
    fleet: Path,
) -> None:
    assert [(1, "failed", 600), (2, "completed", 603)] == rows(
        fleet,
        "select attempt, outcome, round(wall_seconds)::bigint from attempts "
        "where job_id = 'replaced' order by attempt",
    )


def agents_that_were_killed_gave_up_and_said_nothing(folder: Path) -> None:
    def begun(minute: int) -> list[str]:
        return [
            f"[default0]:[2026-11-20 05:{minute}:00][rank0][INFO] Starting job: x",
            *silent(0, minute)[1:-1],
        ]

    died = (0, 1, "2026-11-20_05:44:27", "boom")
    gave_up = [*fails(170, 1), *table(died, run="none_abcd1234/attempt_0")]
    done = "[default0]:[2026-11-20 05:46:30][rank0][INFO] Training completed"
    written(folder, *begun(42), *begun(44), *gave_up, *begun(46), done, name="gave_up.log")


def test_a_trainer_that_begins_behind_an_agent_that_gave_up_is_another_launch(fleet: Path) -> None:
    assert [
        (1, "lost", 23.0, 48.0),
        (2, "failed", 143.0, 170.0),
        (3, "completed", 263.0, 293.0),
    ] == rows(
        fleet,
        f"select attempt, outcome, round(epoch(started_at) - {BEGUN}, 3), "
        f"round(epoch(ended_at) - {BEGUN}, 3) from attempts "
        "where job_id = 'gave_up' order by attempt",
    )


STORIES = {
    "all": outputs_of_sbatch,
    "anew": workers_that_start_anew,
    "death": agent_whose_first_word_is_a_death,
    "no-number": agent_that_tells_no_job_and_whose_first_word_is_a_death,
    "others": workers_of_another_node_that_failed,
    "rotated": log_that_was_rotated,
    "silent": runs_of_silent_agents,
    "gives-up": launches_that_begin_and_end_in_silence_or_give_up,
    "gave_up": agents_that_were_killed_gave_up_and_said_nothing,
    "preempted": tries_that_the_scheduler_preempts,
    "again": launches_in_one_try_of_the_scheduler,
    "two-agents": agents_of_two_nodes_that_give_up,
    "replaced": agent_in_the_place_of_a_killed_one,
}
JOBS = {
    "anew",
    "1253",
    "no-number",
    "other-node",
    "rotated",
    "silent",
    "gives-up",
    "gave_up",
    "1353",
    "1453",
    "two-agents",
    "replaced",
}  # of all but the first


def test_standard_input_has_no_place_and_no_year() -> None:
    def read(*lines: str) -> list[Event | Rejected]:
        numbered = [(number, line.encode()) for number, line in enumerate(lines, 1)]
        dump = Dump("-", None, lambda: iter(numbered))
        return list(TORCHELASTIC.read(dump, UTC_READING))

    assert read(*recorded(*launched(1)))
    with pytest.raises(UnreadableDump, match="without a year"):
        read(*begins(0), *starts(2))
    with pytest.raises(UnreadableDump, match="says nowhere which run"):
        read(SAVE)
    with pytest.raises(UnreadableDump, match="event handler"):
        read(*recorded(record("SUCCEEDED", None)))


# Whatever happens to a file, the user sees no traceback

WHOLE = "\n".join(
    [
        "JOB 1153 (name) restart=0 nodes=n1",
        *begins(0),
        *starts(2),
        *raised("KeyError: 'x'"),
        *fails(50, -9, left=3),
        *recorded(*launched(51, restarts=1), record("FAILED", 60, error="x")),
        SAVE,
        error_file("E: 1", 7),
        *starts(70, restart=2),
        *fails(80, 1),
        *table((0, -9, "2026-11-20_05:42:30", "Signal 9 (SIGKILL) received by PID 9000")),
        "slurmstepd: error: *** JOB 1153 ON n1 CANCELLED AT 2026-11-20T05:43:37 ***",
    ]
).encode()


@settings(max_examples=150)
@given(st.data())
def test_no_mutation_of_a_log_raises_but_to_say_that_it_is_unreadable(data: st.DataObject) -> None:
    text = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 60))
        other = data.draw(st.one_of(st.binary(max_size=20), st.sampled_from(_PIECES)))
        text[at : at + length] = other
    lines = [(number, line) for number, line in enumerate(bytes(text).split(b"\n"), 1)]
    path = Path("/nowhere/run/torchrun.log")
    try:
        told = list(TORCHELASTIC.read(Dump("x", path, lambda: iter(lines)), UTC_READING))
    except UnreadableDump:
        return

    assert all(isinstance(item, Rejected) or item["job_id"] for item in told)


_PIECES = (
    b"{", b'"', b"\\", b"null", b"1e999", b"9" * 400, b"[" * 2000, b"\x1b[31m", b"\r", b"\n", b"\0",
    b"NaN", b"-1", b"true", b"[rank7]: ", b"3: ", b"Traceback (most recent call last):\n",
)  # fmt: skip


def names(file: Path, cluster: str | None = None) -> set[tuple[str, str | None]]:
    told = events_of(file, cluster=cluster)
    return {(event["job_id"], event.get("scheduler_job")) for event in told}


def step(clock: str, number: int) -> str:
    """A line of the trainer beside the agent's."""
    return f"[default0]:[2026-11-20 05:{clock}][rank0][INFO] step {number}/99 | loss 2.5"


def a_life(
    chance: random.Random, begin: float, number: int, pid: int
) -> tuple[list[str], int, float]:
    """A launch whose workers train, fail and are started anew, how far it came and until when."""
    log = [*begins(begin, pid=pid), *starts(begin + 3, pid=pid)]
    at = begin + 6
    for restart in range(1, 4):
        for _ in range(chance.randint(0, 4)):
            at, number = at + chance.choice((5, 10)), number + 1
            log.append(stepped(at, number))
        if restart == 3 or chance.random() < 0.5:
            break
        log += fails(at + 5, chance.choice((1, -9)), left=4 - restart, pid=pid)
        log += starts(at + 9, restart=restart, pid=pid)
        at, number = at + 12, max(0, number - chance.randint(0, 3))
    stopped = glog(at + 5, "elastic/agent/server/api", "Received 15 death signal", pid=pid)
    ends = (fails(at + 5, 1, pid=pid), finishes(at + 5, pid=pid), [stopped], [])
    return [*log, *chance.choice(ends)], number, at + 10


def stepped(seconds: float, number: int) -> str:
    return f"[default0]:[{told_at(seconds)}][rank0][INFO] step {number}/99 | loss 2.5"


def told_at(seconds: float) -> str:
    return f"{datetime.fromtimestamp(BEGUN + seconds, UTC):%F %T}"


def lived(events: Iterable[Event]) -> list[tuple[object, ...]]:
    """When each attempt ran, how it ended, and its areas; what it trained in one."""
    result = []
    for attempt in attempts(list(events)):
        areas: dict[str, int] = {}
        for (area, _), us in attempt.areas.items():
            name = "effective" if area == "unsaved" else area
            areas[name] = areas.get(name, 0) + us
        outcome = "lost" if attempt.outcome == "running" else attempt.outcome
        result.append((attempt.started_us, attempt.ended_us, outcome, areas))
    return result
