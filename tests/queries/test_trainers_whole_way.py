"""Dumps of real trainers through `ett-ingest` to the published views, held against the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.queries.engine import ingest, rows, table

SLURM = (
    Path(__file__).resolve().parents[2] / "sample_data/dumps/slurm/snap2_quiet/sacct_D_P_admin.txt"
)
LATER = "2026-11-20T23:00:00Z"
# how the faults that a run was given show in its logs
CAUSES = {
    "exception": "data/bad_data",
    "nan": "user_code/nan_or_divergence",
    "oom": "host/host_oom",
    "cuda_oom": "user_code/gpu_oom",
    "shape": "user_code/shape_or_dtype",
    "import": "user_code/import_or_dependency",
    "sigkill": "unknown/killed",
    "sigterm_parent": "cascade/peer_rank_failed",
}
BLOCKING = ("checkpoint_save_sync", "checkpoint_save_async_blocking")
# what the run's own file does not say: an operator ended a rank that hung after its last step
ENDED_BY_HAND = {("run03_exception_then_nan", 2)}
# standard output without times: saves and steps cannot be known
UNTIMED = {"run03_exception_then_nan", "run06_exhaust_restarts"}

# with torchrun's own level of logging the first word is the trainer's, once it has imported torch
SILENT_START = {"run15_default_loglevel": 2.0}

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def torch(real_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    warehouse = tmp_path_factory.mktemp("torch") / "warehouse"
    runs = [run for run in sorted((real_logs / "torch").iterdir()) if run.name != "job_1153"]
    assert 0 == ingest(warehouse, *runs, "--as-of", LATER)
    return warehouse


def runs() -> list[str]:
    return [
        "run01_clean_sync", "run02_sigkill_async", "run03_exception_then_nan", "run04_oom",
        "run06_exhaust_restarts", "run09_sigterm_preempt", "run10_import_error_at_start",
        "run14_recompiles", "run15_default_loglevel",
    ]  # fmt: skip


@pytest.mark.parametrize("run", runs())
def test_a_run_of_torchrun_is_one_job_with_an_attempt_for_each_try(
    run: str, real_logs: Path, torch: Path
) -> None:
    golden = json.loads((real_logs / "torch" / run / "golden.json").read_text(encoding="utf-8"))
    tries = golden["attempts"]
    told = of_run(torch, tries[0]["process_start_wall"], tries[-1]["last_record_wall"])

    assert 1 == len({attempt["job_id"] for attempt in told})
    assert list(range(1, len(tries) + 1)) == [attempt["attempt"] for attempt in told]
    for number, (attempt, truth) in enumerate(zip(told, tries, strict=True)):
        # the launcher holds the hardware before the trainer's first process is there
        before = truth["process_start_wall"] - attempt["started"]
        assert -SILENT_START.get(run, 0.2) <= before <= 1.5, (run, number)
        assert abs(attempt["ended"] - end_of(golden, number)) <= 3.5, (run, number)
        assert cause_of(run, number, truth) == attempt["cause"], (run, number)
        if run not in UNTIMED:
            saved = sum(truth["ranks"]["0"]["phase_s"].get(phase, 0) for phase in BLOCKING)
            assert attempt["checkpoint_save_seconds"] == pytest.approx(saved, abs=0.2)


def test_work_that_a_kill_cost_is_what_the_run_did_again(real_logs: Path, torch: Path) -> None:
    run = json.loads((real_logs / "torch/run02_sigkill_async/golden.json").read_text())
    truth = run["attempts"]
    killed, resumed = of_run(torch, truth[0]["process_start_wall"], truth[-1]["last_record_wall"])

    # the save began a little after its step, and the rest of the last step is lost too
    assert killed["unsaved_seconds"] == pytest.approx(truth[0]["lost_step_s_rank0"], abs=1)
    assert 0 == resumed["unsaved_seconds"]


def test_torchrun_under_slurm_is_one_job_of_two_attempts(real_logs: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, real_logs / "torch/job_1153", SLURM, "--as-of", LATER)
    first, second = table(
        warehouse, "select * from attempts where job_id = 'fleet:1153' order by attempt"
    )
    golden = json.loads((real_logs / "torch/job_1153/golden.json").read_text())["attempts"]
    detail = rows(warehouse, "select file from job_details where job_id = 'fleet:1153'")[0][0]
    outside = rows(
        warehouse,
        "select phases.name, phases.attempt from read_parquet($detail) as phases "
        "inner join job_details using (job_no) "
        "inner join attempts using (job_id, attempt) where job_id = 'fleet:1153' "
        "and kind = 'area' and (make_timestamp(phases.started_us) < attempts.started_at "
        "or make_timestamp(phases.ended_us) > attempts.ended_at)",
        {"detail": str(warehouse / "detail" / detail)},
    )

    assert ("preempted", "completed") == (first["outcome"], second["outcome"])
    assert "scheduler/preempted" == f"{first['failure_domain']}/{first['failure_category']}"
    assert (True, True) == (first["is_instrumented"], second["is_instrumented"])
    assert (1, 127) == (first["queue_seconds"], second["queue_seconds"])
    assert first["unsaved_seconds"] == pytest.approx(golden[0]["lost_step_s_rank0"], abs=1)
    assert [] == outside


def test_kills_and_resumes_of_one_logger_are_attempts_of_one_job(
    real_logs: Path, tmp_path: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, real_logs / "one_logger", "--as-of", LATER)

    assert [
        ("demo_pretrain_2026w10", 1, "completed"),
        ("demo_pretrain_2026w10", 2, "lost"),
        ("demo_pretrain_2026w10", 3, "completed"),
    ] == rows(warehouse, "select job_id, attempt, outcome from attempts order by attempt")


CASES = ("clean_run", "preempt_resume_next_step", "running_no_end", "two_disruptions_rollback")


@pytest.fixture(scope="module")
def goodput(real_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    warehouse = tmp_path_factory.mktemp("goodput") / "warehouse"
    ingest(warehouse, *(real_logs / "goodput" / f"{case}.jsonl" for case in CASES))
    return warehouse


@pytest.mark.parametrize("case", CASES)
def test_goodput_is_what_the_simulator_says_and_not_what_the_library_says(
    case: str, real_logs: Path, goodput: Path
) -> None:
    [(effective, wall, queue)] = rows(
        goodput,
        "select sum(effective_seconds), sum(wall_seconds), sum(queue_seconds) from attempts "
        "where job_id ^@ ?",
        [case],
    )
    truth = json.loads((real_logs / "goodput" / f"{case}.truth.json").read_text())

    assert 100 * effective / (wall + queue) == pytest.approx(truth["true_ett_pct"], abs=0.1)
    assert sorted(CASES) == [job for (job,) in rows(goodput, "select job_id from jobs order by 1")]


def test_what_slurm_wrote_into_the_log_says_how_a_stopped_run_ended(
    real_logs: Path, tmp_path: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, real_logs / "torch/job_1153")

    assert [
        (1, "preempted", "scheduler/preempted", "DUE TO PREEMPTION ***", "05:33:28.96"),
        (2, "completed", None, None, "05:36:01.964"),
    ] == rows(
        warehouse,
        "select attempt, outcome, failure_domain || '/' || failure_category, "
        "right(failure_evidence, 21), strftime(ended_at, '%H:%M:%S.%g').rtrim('0') "
        "from attempts order by attempt",
    )


def test_everything_real_loads_in_one_command_and_answers_stay_aside(
    real_logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [real_logs / name for name in ("torch", "goodput", "one_logger", "mlperf")]
    assert 0 == ingest(tmp_path / "warehouse", "--verbose", *folders, SLURM, "--as-of", LATER)
    said = "".join(capsys.readouterr())
    formats = dict(
        rows(tmp_path / "warehouse", "select format, count(*) from ingested_files group by format")
    )
    answers = [
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.match("*golden*") or path.match("*truth*.json*") or path.match("*expected*")
        or path.parent.name == "truth"
    ]  # fmt: skip

    assert {"goodput": 4, "mlperf": 154, "one-logger": 3, "slurm-sacct": 1} == {
        name: number
        for name, number in formats.items()
        if name not in ("torchelastic", "training-log")
    }
    assert len(answers) > 50
    assert [] == [
        str(path) for path in answers if path.is_file() and f"left aside {path}" not in said
    ]


def of_run(warehouse: Path, first: float, last: float) -> list[dict[str, Any]]:
    """The attempts that ran between these moments, in Unix seconds."""
    return table(
        warehouse,
        "select *, epoch(started_at) as started, epoch(ended_at) as ended, "
        "failure_domain || '/' || failure_category as cause from attempts "
        "where epoch(started_at) between ? - 3 and ? order by attempt",
        [first, last],
    )


def cause_of(run: str, number: int, truth: Mapping[str, Any]) -> str | None:
    faults = [fault["kind"] for rank in truth["ranks"].values() for fault in rank["faults"]]
    if (run, number) in ENDED_BY_HAND:
        return CAUSES["sigterm_parent"]
    ends = {rank["end"] for rank in truth["ranks"].values()}
    if ends == {"ok"}:
        return None
    return CAUSES[faults[0]] if faults else CAUSES["sigkill"]


def end_of(golden: Mapping[str, Any], number: int) -> float:
    """A try ends with the launcher, or shortly before the next one is there."""
    following = golden["attempts"][number + 1 :]
    if following:
        return float(following[0]["process_start_wall"])
    return next(float(one["wall"]) for one in golden["launcher"] if one["ev"] == "exit")
