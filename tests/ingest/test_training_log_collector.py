"""Plain logs of trainers: one of each framework, written for these tests, and what goes wrong."""

from __future__ import annotations

import gzip
import json
import os
import random
import tomllib
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors.base import Dump, Line
from ingest.collectors.lines import clock_of, without_colours
from ingest.collectors.torchelastic_training import Begun
from ingest.collectors.training_log import TRAINING_LOG, trainer_events
from ingest.collectors.training_log_patterns import Means, patterns, patterns_of
from ingest.errors import UnreadableDump, UnusableArguments
from ingest.formats import FORMATS, recognise
from tests.ingest.launches import attempts
from tests.ingest.trainer_logs import (
    DAY,
    DEEPSPEED,
    LOGS,
    MEGATRON,
    SECOND_US,
    TORCHTITAN,
    TRAINER,
    at_one,
    dump_at,
    dump_of,
    head_of,
    keys,
    lived,
    of,
    phases,
    read,
    read_file,
    reading,
    resumed,
    since,
    spans,
    steps,
    us,
)
from tests.queries.engine import ingest, rows

# launches


def test_ranks_that_begin_long_after_their_log_are_one_launch() -> None:
    line = "[titan] 2026-03-01 10:{},000 - root - INFO - {}"
    told = read(
        line.format("00:00", "the environment is set up"),
        *(line.format(f"01:3{rank}", "Starting job: a debug model") for rank in range(4)),
        line.format("01:40", "Training starts at step 1"),
        line.format("02:00", "step: 1  loss: 7.2"),
        line.format("03:00", "step: 2  loss: 7.2"),
    )

    assert [0.0] == [since(event) for event in of(told, "attempt_start")]


def test_two_runs_in_one_file_are_two_launches() -> None:
    later = TORCHTITAN.replace("10:0", "12:0").replace("101", "111")
    told = read(TORCHTITAN, later)

    assert [str(us(DAY)), str(us(DAY) + 7200 * SECOND_US)] == keys(told)
    assert [(27.0, 100), (7227.0, 110)] == resumed(told)
    assert [0.0, 7200.0] == [since(event) for event in of(told, "attempt_start")]


def test_another_launch_of_megatron_begins_with_the_first_line_that_tells_its_time() -> None:
    later = MEGATRON.replace("10:0", "10:1")
    told = read(MEGATRON, later)

    assert [30.0, 630.0] == [since(event) for event in of(told, "attempt_start")]
    assert [61.0, 661.0] == [
        at for kind, phase, at, _ in phases(told) if (kind, phase) == ("phase_start", "training")
    ]


def test_a_load_after_training_begins_a_launch() -> None:
    told = read(
        "2026-03-01 10:00:00 No checkpoint found, starting from scratch",
        "2026-03-01 10:00:10 step 10 loss 1",
        "2026-03-01 10:00:20 step 20 loss 1",
        "2026-03-01 10:05:00 Resuming from checkpoint /c/step_10",
        "2026-03-01 10:05:20 step 20 loss 1",
    )

    assert [str(us(DAY)), str(us(DAY) + 300 * SECOND_US)] == keys(told)


def test_steps_that_fall_back_twice_begin_a_launch() -> None:
    told = read(
        *(f"2026-03-01 10:{m:02}:00 step {m * 10} loss 1" for m in (1, 2, 3, 4)),
        *(f"2026-03-01 11:{m:02}:00 step {m * 10} loss 1" for m in (1, 2, 3)),
    )

    assert [str(us(DAY) + at * SECOND_US) for at in (60, 3660)] == keys(told)
    assert [10, 20, 30, 40, 10, 20, 30] == [step for _, step in steps(told)]


def test_steps_of_a_validation_begin_no_launch() -> None:
    told = read(
        *(f"2026-03-01 10:{m:02}:00 step {m * 10} loss 1" for m in (1, 2, 3)),
        *(f"2026-03-01 10:03:{s}0 Val step {s}/3, loss: 1" for s in (1, 2, 3)),
        *(f"2026-03-01 10:{m:02}:00 step {m * 10} loss 1" for m in (4, 5)),
    )

    assert [str(us(DAY) + 60 * SECOND_US)] == keys(told)
    assert [10, 20, 30, 40, 50] == [step for _, step in steps(told)]


def test_a_step_torn_out_of_another_line_begins_no_launch() -> None:
    told = read(
        *(f"2026-03-01 10:{m:02}:00 step {m * 10} loss 1" for m in (1, 2, 3)),
        "2026-03-01 10:03:01 step 4 loss 1",  # of step 4711, which another process wrote into
        *(f"2026-03-01 10:{m:02}:00 step {m * 10} loss 1" for m in (4, 5)),
    )

    assert [str(us(DAY) + 60 * SECOND_US)] == keys(told)
    assert [10, 20, 30, 40, 50] == [step for _, step in steps(told)]


def test_a_launch_that_dies_before_it_trains_is_a_launch() -> None:
    died = (
        "[rank0]: 2026-03-01 10:0{0}:00 Starting run nightly restart_count={0}",
        "[rank0]: Traceback (most recent call last):",
        '[rank0]:   File "train.py", line 1, in <module>',
        "[rank0]: ModuleNotFoundError: No module named 'flash'",
    )
    told = read(*(line.format(n) for n in (0, 1, 2) for line in died))

    assert [0.0, 60.0, 120.0] == [since(event) for event in of(told, "attempt_start")]
    assert [0.0, 60.0, 120.0] == [since(event) for event in of(told, "failure")]
    assert [0, 1, 2] == sorted({event["run_generation"] for event in told if "rank" in event})


def test_another_launcher_in_the_same_start_is_no_launch() -> None:
    told = read(DEEPSPEED.splitlines()[1], MEGATRON.splitlines()[0], *TORCHTITAN.splitlines()[2:])

    assert [8.424] == [since(event) for event in of(told, "attempt_start")]


@pytest.mark.parametrize("label", ["", "[rank0]:", "[default0]:[titan] "])
def test_what_torchtitan_tells_of_one_launch_on_two_lines_is_one(label: str) -> None:
    lines = (
        "{label}2026-03-01 1{hour}:00:00,000 - root - INFO - torchtitan version: 0.2.0 (0.0.0 ...)",
        "{label}2026-03-01 1{hour}:00:03,000 - root - INFO - Starting job: a debug model",
        "{label}2026-03-01 1{hour}:00:20,000 - root - INFO - Training starts at step 1",
        "{label}2026-03-01 1{hour}:00:27,000 - root - INFO - step:  1  loss: 12.2",
    )
    told = read(*(line.format(label=label, hour=hour) for hour in (0, 2) for line in lines))

    assert [0.0, 7200.0] == [since(event) for event in of(told, "attempt_start")]
    assert [str(us(DAY)), str(us(DAY) + 7200 * SECOND_US)] == keys(told)


def counted(*told: tuple[int, int], count: str = "TORCHELASTIC_RESTART_COUNT") -> list[str]:
    """Launches of ten minutes, each begun in its hour with a count of restarts."""
    lines = (
        "00:00 {count}={number}",
        "00:01 Starting job: x",
        "00:20 Training starts at step 1",
        "01:00 step: 1 loss: 1",
        "10:00 step: 10 loss: 1",
    )
    return [
        f"2026-03-01 {hour}:{line.format(count=count, number=number)}"
        for hour, number in told
        for line in lines
    ]


def test_workers_that_start_anew_are_of_the_try_that_the_log_named_before() -> None:
    told = read(
        "2026-03-01 10:00:00 SLURM_JOB_ID=7",
        "2026-03-01 10:00:00 SLURM_RESTART_COUNT=0",
        *counted((10, 0), (12, 0), (14, 0)),
    )

    assert [0, None, None] == [
        event.get("run_generation") for event in told if event.get("phase") == "training"
    ]


# what `env` prints where torchrun was started again: by Kubernetes, a loop, or Slurm
ENVIRONMENTS = ((), ("SLURM_JOB_ID={job}",), ("SLURM_JOB_ID={job}", "SLURM_RESTART_COUNT={count}"))
COUNTED_ANEW = tuple(product((True, False), ENVIRONMENTS))
HUNG = (
    "Did not get subsequent heartbeat. Waited 600.00 seconds.",
    "[Cycle 0] Section 'step' has been open for 600.11 seconds. Timeout is 600.00 seconds.",
    "[Cycle 0] Was out of section for 600.11 seconds. Timeout is 600.00 seconds.",
)


@pytest.fixture(scope="module")
def gone_silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of logs that end some hours before the moment they reach to: of those whose count
    begins anew, and of those whose monitor killed a rank.
    """
    folder = tmp_path_factory.mktemp("gone_silent")
    for number, (is_one_log, facts) in enumerate(COUNTED_ANEW):
        logs = [
            "\n".join(
                [
                    *(f"2026-03-01 {hour}:00:00 {fact}" for fact in facts),
                    *counted((hour, 0)),
                    "",
                ]
            ).format(job=700 + number, count=hour - 10)
            for hour in (10, 12)
        ]
        for place, log in enumerate(["".join(logs)] if is_one_log else logs):
            attempt = folder / "logs" / f"run-{'abcdef'[number]}" / f"attempt{place}"
            attempt.mkdir(parents=True)
            (attempt / "train.log").write_text(log)
    for number, said in enumerate(HUNG):
        lines = [f"2026-03-01 10:0{minute}:00 step {minute}0 loss 1" for minute in range(1, 6)]
        lines += [f"[2026-03-01 10:15:00,123] [WARNING] [RankMonServer71@n1:3] {said}"]
        died = "failed (exitcode: -9) local_rank: 3 (pid: 73) of binary: /usr/bin/python"
        lines += [f"[2026-03-01 10:15:05,123] [ERROR] [ft_launcher70@n1] {died}"]
        log = folder / "logs" / f"hung-{number}" / "train.log"
        log.parent.mkdir()
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")

    assert 0 == ingest(folder / "warehouse", folder / "logs", "--as-of", "2026-03-01T22:00:00Z")
    return folder / "warehouse"


@pytest.mark.parametrize("more", ENVIRONMENTS)
@pytest.mark.parametrize("is_one_log", [True, False])
def test_a_count_that_begins_anew_is_of_another_launch(
    more: tuple[str, ...], is_one_log: bool, gone_silent: Path
) -> None:
    number = COUNTED_ANEW.index((is_one_log, more))
    names = [f"run-{'abcdef'[number]}", f"{700 + number}"]

    assert [(1, "10:00:00", "lost", 600.0), (2, "12:00:00", "lost", 600.0)] == rows(
        gone_silent,
        "select attempt, strftime(started_at, '%H:%M:%S'), outcome, wall_seconds from attempts "
        "where job_id in ? order by attempt",
        [names],
    )
    assert len(COUNTED_ANEW) + len(HUNG) == len(rows(gone_silent, "from jobs"))


def test_a_count_that_rises_is_of_the_launch_that_counted_first_and_one_told_again_of_none() -> (
    None
):
    told = of(read(*counted((10, 0), (11, 1), (12, 1), (13, 2))), "attempt_start")
    first, third, fourth = (str(us(DAY) + hours * 3600 * SECOND_US) for hours in (0, 2, 3))

    assert [(first, 0), (first, 1), (third, None), (fourth, None)] == [
        (event["run_key"], event.get("run_generation")) for event in told
    ]
    # of the first of those whose beginning another log tells
    (later,) = of(read(*counted((11, 1))), "attempt_start")
    assert (None, 1) == (later.get("run_key"), later["run_generation"])


def test_a_piece_of_a_rotated_log_knows_no_launch() -> None:
    told = read("2026-03-01 10:00:00 step 410 loss 1", "2026-03-01 10:00:10 step 420 loss 1")

    assert [None] == keys(told)
    assert [] == of(told, "attempt_start")


@pytest.mark.parametrize(
    ("steps_told", "begun"),
    [((10, 20, 30), 0.0), ((1, 10, 20), 0.0), ((20, 30, 40), None), ((150, 200, 250), None)],
)
def test_a_log_with_the_first_of_steps_that_are_told_at_one_distance_tells_a_launch(
    steps_told: tuple[int, ...], begun: float | None
) -> None:
    told = read(
        "2026-03-01 10:00:00 CUDA error: is retried",
        *(f"2026-03-01 10:0{m}:00 step {step} loss 1" for m, step in enumerate(steps_told, 1)),
    )

    assert ([] if begun is None else [begun]) == [since(e) for e in of(told, "attempt_start")]
    assert [*steps_told] == [step for _, step in steps(told)]


@pytest.mark.parametrize(
    "lines",
    [
        ("10:00:00 step 10 loss 1", "10:00:20 step 20 loss 1"),
        # of which the first took longer than the log is old
        (
            "10:00:20 iteration 1/ 9 | elapsed time per iteration (ms): 20000.0 | lm loss: 1",
            "10:00:40 iteration 2/ 9 | elapsed time per iteration (ms): 20000.0 | lm loss: 1",
        ),
        ("07:00:00 CUDA error: is retried", "10:00:00 step 10 loss 1", "10:00:20 step 20 loss 1"),
        ("10:00:00 ***** Running training *****", "10:00:20 step 1 loss 1"),
        ("07:00:00 hello", "10:00:00 ***** Running training *****", "10:00:20 step 1 loss 1"),
    ],
)
def test_a_launch_that_is_met_training_has_no_start(lines: tuple[str, ...]) -> None:
    told = read(*(f"2026-03-01 {line}" for line in lines))

    assert 1 == len(keys(told))
    assert None is not keys(told)[0]
    assert [] == of(told, "attempt_start")
    assert "training" == phases(told)[0][1]
    # by which a count of restarts is known to begin anew
    assert 1 == len(
        of(read("restart_count=0", *(f"2026-03-01 {line}" for line in lines)), "attempt_start")
    )


def test_of_two_launches_in_one_log_that_no_line_tells_none_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "exp.log"
    log.write_text(
        "".join(
            f"2026-03-01 {hour}:{m:02}:00 {text}\n"
            for hour in (10, 11)
            for m, text in (
                (0, "the data are read"),
                *((m, f"step {m * 10} loss 1") for m in range(1, 31)),
            )
        )
    )
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, log, "--as-of", "2026-03-01T12:00:00Z")
    assert [(1, "10:00:00", 1800.0), (2, "11:01:00", 1740.0)] == rows(
        warehouse,
        "select attempt, strftime(started_at, '%H:%M:%S'), wall_seconds from attempts order by 1",
    )


def test_a_log_that_grew_tells_the_same_of_its_beginning() -> None:
    lines = TORCHTITAN.splitlines()
    whole = [json.dumps(event) for event in read(TORCHTITAN)]
    known = {"job", "attempt_start", "progress", "phase_start", "phase_end"}

    for length in range(7, len(lines)):
        told = [event for event in read(*lines[:length]) if event["event"] in known]
        assert [] == [event for event in told if json.dumps(event) not in whole]


# who


@pytest.mark.parametrize("sentence", ["with config:", "threads in backend", "now", "again ..."])
def test_a_sentence_of_a_run_that_starts_names_none(sentence: str) -> None:
    told = read(f"2026-03-01 10:00:00 Agent starting run {sentence}", *nameless(("10:01:00", 1)))

    assert {"x"} == {event["job_id"] for event in told}


def test_a_job_is_what_the_log_calls_it() -> None:
    told = read(
        "2026-03-01 10:00:00 SLURM_JOB_ID=4711 SLURM_RESTART_COUNT=2",
        "2026-03-01 10:00:01 Starting run llama-8b world_size=64 restart_count=1",
        "2026-03-01 10:00:10 step 10 loss 1",
        cluster="lab",
    )

    assert {("llama-8b", "4711", 2, 1)} == {
        (e["job_id"], e["scheduler_job"], e["run_restart"], e["run_generation"]) for e in told[1:]
    }
    assert "run_key" not in told[-1]
    assert "gpus" not in told[0]


@pytest.mark.parametrize("number", ["4711", "4711_3", "4711+1"])
def test_a_job_of_slurm_that_has_no_other_name_is_called_as_slurm_calls_it(number: str) -> None:
    lines = (f"2026-03-01 10:00:00 slurm job id: {number}", "2026-03-01 10:00:10 step 10 loss 1")

    assert {(f"lab:{number}", number)} == {
        (event["job_id"], event["scheduler_job"]) for event in read(*lines, cluster="lab")
    }
    assert {number} == {event["job_id"] for event in read(*lines)}


def test_two_jobs_of_slurm_in_one_file_are_two_jobs() -> None:
    told = read(
        "SLURM_JOB_ID=1",
        TORCHTITAN,
        "SLURM_JOB_ID=2",
        TORCHTITAN.replace("10:0", "12:0"),
    )

    assert ["1", "2"] == list(dict.fromkeys(event["job_id"] for event in told))


@pytest.mark.parametrize(
    ("path", "job_id"),
    [
        ("/runs/llama-8b.log", "llama-8b"),
        ("/runs/llama-8b.log.1", "llama-8b"),
        ("/runs/llama-8b.log-20260301.gz", "llama-8b"),
        ("/runs/llama-8b_cycle0.log", "llama-8b"),  # of ft_launcher
        ("/runs/llama-8b/train_cycle12.log", "llama-8b"),
        ("/logs/slurm-4711_cycle0.out", "4711"),
        ("/runs/llama_8b_cycle.log", "llama_8b_cycle"),
        ("/runs/llama-8b/train.log", "llama-8b"),
        ("/runs/llama-8b/logs/rank_0/stdout.txt", "llama-8b"),
        ("/runs/llama-8b/torchrun.stdout.log", "llama-8b"),
        ("/runs/2026/node-07.out", "runs"),
        ("C:\\runs\\llama-8b\\output.log", "llama-8b"),
        ("-", "stdin"),
        ("/logs/slurm-4711.out", "4711"),
        ("/logs/slurm-4711_3.out", "4711_3"),
        ("/proj/logs/48213.out", "48213"),
        ("/proj/logs/48213.err.gz", "48213"),
        ("/proj/logs/48213_3.out", "proj/48213"),
        ("/proj/logs/train-48213.log", "proj/48213"),
        ("/proj/48213/48213.log", "proj/48213"),
        ("/proj/logs/rank0-48213.log", "proj"),
        ("/proj/logs/20260301.log", "proj"),
        ("/proj/logs/7.out", "proj"),
        ("/proj/logs/1153.log", "proj"),
        ("/proj/outputs/2026-03-01/10-00-00/train.log", "proj/2026-03-01/10-00-00"),
        ("/proj/lightning_logs/version_0/train.log", "proj/version_0"),
        ("/48213/train.log", "48213"),
        (f"/{'p' * 255}/train-48213.log", f"{'p' * 250}/48213"),
        (f"/{'p' * 255}/48213/train.log", f"{'p' * 250}/48213"),
        ("/logs/train.log", "train"),
    ],
)
def test_a_job_that_the_log_does_not_name_is_named_by_its_place(path: str, job_id: str) -> None:
    told = read("2026-03-01 10:00:00 step 10 loss 1", name=path)

    assert {job_id} == {event["job_id"] for event in told}


@pytest.mark.parametrize("name", ["slurm-48213.out", "/proj/logs/48213.out", "48213.err.1.gz"])
def test_the_output_of_sbatch_belongs_to_its_job(name: str) -> None:
    told = read("2026-03-01 10:00:00 step 10 loss 1", name=name, cluster="lab")

    assert {("lab:48213", "48213")} == {(e["job_id"], e["scheduler_job"]) for e in told}


@pytest.mark.parametrize("name", ["slurm-48213_3.out", "slurm-48213.out"])
def test_later_launches_of_an_arrays_task_are_of_the_number_that_its_log_told(name: str) -> None:
    told = read(
        "SLURM_JOB_ID=48216",
        "[titan] 2026-03-01 10:00:00,000 - root - INFO - Starting job: llama",
        "[titan] 2026-03-01 10:01:00,000 - root - INFO - step: 1  loss: 7.2",
        "[titan] 2026-03-01 10:02:00,000 - root - INFO - Starting job: llama",
        "[titan] 2026-03-01 10:03:00,000 - root - INFO - step: 1  loss: 7.2",
        name=name,
    )

    assert 2 == len({event["run_key"] for event in told})
    assert {("48216", "48216")} == {(e["job_id"], e["scheduler_job"]) for e in told}


@pytest.mark.parametrize(
    "line",
    [
        "Saving model checkpoint to /out/checkpoint-500/dpo/checkpoint-40",
        "Saving current state to /out/step_2/run/step_40",
        "Scheduled async checkpoint save for /out/step=500-last/dpo/step=40-last.ckpt",
        "[Torch] Saving /out/global_step500/dpo/global_step40/mp_rank_00_model_states.pt...",
        "Saving checkpoint to /out/step-2-sft/ckpt/step_40.pt",
        "Saved checkpoint to /out/checkpoint-500/dpo/checkpoint-40 in 3 s",
        "Saved checkpoint at step 40 to /out/checkpoint-500/dpo",
        "Saved checkpoint to /out/step_40/ckpt_0.pt in 3 s",
    ],
)
def test_a_checkpoint_below_that_of_another_run_is_of_its_own_step(line: str) -> None:
    told = read(
        "2026-03-01 10:00:00 - INFO - step: 40  loss: 7.2",
        f"2026-03-01 10:00:10 - INFO - {line}",
        "2026-03-01 10:01:00 - INFO - step: 60  loss: 7.1",
    )

    assert {40} == {event["step"] for event in told if event.get("phase") == "checkpoint_save"}


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("Saved checkpoint to /mnt/ckpt3/run/last.pt in 3 s", set()),
        ("Saved checkpoint to s3://checkpoint2/run/last.pt", set()),
        ("Saved checkpoint to /mnt/ckpt3/run/iter_40/model.pt", {40}),
        ("Saved checkpoint to /out/ckpt40/model.pt", {40}),
        ("Saved checkpoint to /out/ckpt-40/rank/0/model.pt", {40}),
    ],
)
def test_the_number_of_a_mount_or_a_bucket_is_no_step(line: str, steps: set[int]) -> None:
    told = read(
        "2026-03-01 10:00:00 - INFO - step: 40  loss: 7.2",
        f"2026-03-01 10:00:10 - INFO - {line}",
        "2026-03-01 10:01:00 - INFO - step: 60  loss: 7.1",
    )
    saves = [event for event in told if event.get("phase") == "checkpoint_save"]

    assert saves
    assert steps == {event["step"] for event in saves if "step" in event}


def test_launches_of_two_jobs_that_share_a_name_and_a_second_are_two() -> None:
    keys = {
        event["run_key"]
        for job in ("17", "18")
        for event in read(
            f"SLURM_JOB_ID={job}",
            "2026-03-01 10:00:00 - INFO - Starting run sweep",
            "2026-03-01 10:01:00 - INFO - step: 1  loss: 7.2",
        )
    }

    assert 2 == len(keys)


# failures and ends


def test_an_exception_comes_first_in_its_message_and_has_the_time_before_it() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "2026-03-01 10:00:30 still alive",
        "[rank3]: Traceback (most recent call last):",
        "2026-03-01 10:00:31 step 20 loss 1",  # of another rank
        '[rank3]:   File "train.py", line 9, in <module>',
        "[rank3]:     main()",
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "2026-03-01 10:00:41 step 30 loss 1",
    )
    (failure,) = of(told, "failure")

    assert (3, 30.0) == (failure["rank"], since(failure))
    assert [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "Traceback (most recent call last):",
        '  File "train.py", line 9, in <module>',
        "    main()",
    ] == failure["message"].splitlines()
    assert {"line": 7} == json.loads(failure["attrs"])
    assert [10, 20, 30] == [step for _, step in steps(told)]


@pytest.mark.parametrize(
    "before",
    [
        "\r 10%|█   | 10/100 [00:20<03:00,  2.00s/it]",
        f"\r 10%|█   | 10/100 [00:20<03:00,  2.00s/it]\r{' ' * 50}\r",
        "[ERROR|trainer.py:7] ",
        "",
    ],
)
def test_a_traceback_ends_with_its_exception_whatever_its_head_stands_behind(before: str) -> None:
    stamp = "2026-03-01T10:00:{}+0000 "
    told = read(
        stamp.format("00") + "step 10 loss 1",
        stamp.format("30") + before + "Traceback (most recent call last):",
        stamp.format("30") + '  File "train.py", line 9, in <module>',
        stamp.format("30") + "    main()",
        stamp.format("31") + "RuntimeError: shapes differ",
        stamp.format("50") + "step 20 loss 1",
    )

    assert ["RuntimeError: shapes differ"] == [
        event["message"].splitlines()[0] for event in of(told, "failure")
    ]
    assert [(0.0, 10), (50.0, 20)] == steps(told)


RAY = "(RayTrainWorker pid={}, ip=10.0.0.7) "


@pytest.mark.parametrize(
    "writers",
    [
        (RAY.format(71), RAY.format(72)),
        ("\x1b[36m(WorkerDict pid=71)\x1b[0m ", "\x1b[36m(WorkerDict pid=72)\x1b[0m "),
        ("(head, rank=0, pid=71) ", "(worker1, rank=1, pid=72, ip=10.0.0.7) "),  # SkyPilot
        ("[pod/llm-worker-0/pytorch] ", "[pod/llm-worker-1/pytorch] "),  # kubectl logs --prefix
        ("[Pod llm-worker-0]: ", "[Pod llm-worker-1]: "),
        ("n1: ", "n2: "),  # pdsh
        ("10.0.0.7: ", "10.0.0.8: "),
    ],
)
def test_tracebacks_of_writers_that_a_launcher_names_before_each_line_end_with_their_exceptions(
    writers: tuple[str, str],
) -> None:
    trace = ["Traceback (most recent call last):", '  File "train.py", line 66, in main']
    trace += ["    x = shards[key]", "KeyError: 'tokens'"]
    one, other = writers
    told = read(
        f"{one}2026-03-01 10:00:00,000 INFO step 10 loss 1.0",
        *(writer + line for line in trace for writer in writers),
        f"{other}ValueError: of no traceback",
        f"{one}2026-03-01 10:10:00,000 INFO step 20 loss 1.0",
    )

    assert ["\n".join([trace[-1], *trace[:-1]])] * 2 == [e["message"] for e in of(told, "failure")]


def test_a_traceback_that_rays_driver_tells_ends_with_its_exception() -> None:
    told = read(
        "2026-03-01 10:00:00,000 INFO step 10 loss 1.0",
        "Traceback (most recent call last):",
        '  File "ray/_private/worker.py", line 930, in get_objects',
        "    raise value.as_instanceof_cause()",
        "ray.exceptions.RayTaskError(KeyError): ray::_Inner.train() (pid=71, ip=10.0.0.7)",
        "2026-03-01 10:00:10,000 INFO step 20 loss 1.0",
        *[
            f"2026-03-01 10:{minute}:00,000 INFO step {minute}0 loss 1.0"
            for minute in range(10, 20)
        ],
    )

    said = [event["message"].partition("\n")[0] for event in of(told, "failure")]
    assert [
        "ray.exceptions.RayTaskError(KeyError): ray::_Inner.train() (pid=71, ip=10.0.0.7)"
    ] == said


def test_a_traceback_that_ends_in_the_next_launch_is_of_the_one_that_it_began_in() -> None:
    head = "Traceback (most recent call last):"
    told = read(
        *[f"2026-03-01 10:0{minute}:00 step {minute}0 loss 1.0" for minute in range(1, 6)],
        "2026-03-01 10:05:01 Saved checkpoint to /c/step_30",
        *[head, head],  # ranks without labels, of which one is killed
        '  File "train.py", line 66, in main',
        "KeyError: 'tokens'",
        *[f"2026-03-01 10:2{minute}:00 step {3 + minute}0 loss 1.0" for minute in range(1, 6)],
    )

    first, second = keys(told)
    assert [(first, 301.0)] * 2 == [(e["run_key"], since(e)) for e in of(told, "failure")]
    assert second is not None and second != first
    assert [(60.0, 301.0), (1260.0, 1500.0)] == [
        ((each.started_us - us(DAY)) / SECOND_US, (each.ended_us - us(DAY)) / SECOND_US)
        for each in attempts(told)
    ]


@pytest.mark.parametrize("logger", [" - root - INFO - ", " INFO ", "]: ", " | INFO | stdout | "])
@pytest.mark.parametrize(
    "count", ["SLURM_RESTART_COUNT=1", "2026-03-01 11:00:00{}SLURM_RESTART_COUNT=1"]
)
def test_a_traceback_that_breaks_off_hides_nothing_of_the_next_launch(
    logger: str, count: str
) -> None:
    told = read(
        "2026-03-01 10:00:00" + logger + "Starting job: x",
        "2026-03-01 10:00:10" + logger + "step: 1 loss: 1",
        "Traceback (most recent call last):",
        '  File "train.py", line 9, in <module>',
        "    main()",
        count.format(logger),
        "2026-03-01 11:00:00" + logger + "Starting job: x",
        "2026-03-01 11:00:10" + logger + "Training starts at step 1.",
        "2026-03-01 11:00:20" + logger + "step: 1 loss: 1",
    )
    (failure,) = of(told, "failure")
    first, second = (event["run_key"] for event in of(told, "attempt_start"))

    assert [first, second] == [event["run_key"] for event in of(told, "progress")]
    assert (first, "main()") == (failure["run_key"], failure["message"].splitlines()[0])


@pytest.mark.parametrize("logger", [" - root - ERROR - ", " ERROR ", " | ERROR | stderr | "])
def test_a_traceback_of_which_a_logger_writes_each_line_ends_with_its_exception(
    logger: str,
) -> None:
    told = read(
        "2026-03-01 10:00:00 - root - INFO - step: 1 loss: 1",
        "2026-03-01 10:00:10" + logger + "Traceback (most recent call last):",
        "2026-03-01 10:00:10" + logger + '  File "train.py", line 9, in <module>',
        "2026-03-01 10:00:10 - root - INFO - step: 2 loss: 1",
        "2026-03-01 10:00:10" + logger + "    main()",
        "2026-03-01 10:00:10" + logger + "RuntimeError: shapes differ",
        "2026-03-01 10:00:20 - root - INFO - step: 3 loss: 1",
    )
    (failure,) = of(told, "failure")

    assert ["RuntimeError: shapes differ", "    main()"] == failure["message"].splitlines()[::3]
    assert [(0.0, 1), (10.0, 2), (20.0, 3)] == steps(told)


def test_a_log_that_torchrun_first_speaks_in_when_a_worker_dies_tells_when_and_of_what() -> None:
    died = (
        "[2026-03-01 10:00:40,000] torch.distributed.elastic.multiprocessing.api: [ERROR] failed "
        "(exitcode: -11) local_rank: 3 (pid: 815) of binary: /usr/bin/python3"
    )
    told = read("2026-03-01 10:00:00 step 10 loss 1", "2026-03-01 10:00:20 step 20 loss 1", died)
    (failure,) = of(told, "failure")

    assert (40.0, True) == (since(failure), "failed (exitcode: -11)" in failure["message"])


def test_what_infiniband_gave_up_on_is_evidence_and_what_nccl_says_of_itself_is_not() -> None:
    gave_up = (
        "node-2:5776:5902 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer "
        "10.2.0.5<33092> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    )
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "node-2:5776:5902 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.2.0.4<0>",
        gave_up,
    )

    assert [gave_up] == [event["message"] for event in of(told, "failure")]


def test_a_log_of_docker_compose_tells_what_its_service_did() -> None:
    lines = [*TORCHTITAN.splitlines(), "2026-03-01 11:00:00 ERROR NCCL error: remote exited"]
    told = read(*(f"trainer-1  | {line}" for line in lines))

    assert steps(read(*lines)) == steps(told)
    assert phases(read(*lines)) == phases(told)


def test_chained_exceptions_and_boxes_are_read() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        "KeyError: 'x'",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "╭──────────── Traceback (most recent call last) ────────────╮",
        "│ /srv/train.py:9 in main                                   │",
        "╰────────────────────────────────────────────────────────────╯",
        "ValueError: bad shard",
    )

    assert ["KeyError: 'x'", "ValueError: bad shard"] == [
        event["message"].splitlines()[0] for event in of(told, "failure")
    ]


def test_a_log_that_breaks_off_in_a_traceback_keeps_what_there_is() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        "    raise ValueError",
    )

    assert ["raise ValueError"] == [e["message"].splitlines()[0] for e in of(told, "failure")]


def test_a_traceback_that_is_told_as_a_text_in_quotes_begins_none() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "['Traceback (most recent call last):\\n', 'IndexError: 7\\n']",
        "2026-03-01 10:00:09 step 20 loss 1",
        "Traceback (most recent call last):",
        '  File "b.py", line 1, in f',
        "RuntimeError: boom",
    )

    (failure,) = of(told, "failure")
    assert ("RuntimeError: boom", 9.0) == (failure["message"].splitlines()[0], since(failure))


def test_the_same_failure_of_a_thousand_ranks_is_told_a_few_times() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        *(f"[rank{rank}]: NCCL error: unhandled system error {rank}" for rank in range(1000)),
    )

    assert 20 == len(of(told, "failure"))


def test_of_what_lsf_reports_below_the_output_the_first_word_is_the_end() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "",
        "-" * 60,
        "Subject: Job 48213: <pretrain> in cluster <c1> Exited",
        "Started at Sun Mar  1 09:58:00 2026",
        "Terminated at Sun Mar  1 10:00:09 2026",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
        "Exited with exit code 140.",
        "The output (if any) is above this job summary.",
    )

    assert ["timeout"] == [event["outcome"] for event in of(told, "attempt_end")]


@pytest.mark.parametrize(
    ("line", "outcome", "at"),
    [
        (
            "slurmstepd: error: * JOB 7 ON n CANCELLED AT 2026-03-01T10:00:30 DUE TO PREEMPTION *",
            "preempted",
            30.0,
        ),
        (
            "0: slurmstepd: error: * STEP 7.0 CANCELLED AT 2026-03-01T10:00:30 DUE TO TIME LIMIT *",
            "timeout",
            30.0,
        ),
        ("2026-03-01 10:00:40 Training finished at step 500", "completed", 40.0),
        (
            "2026-03-01 10:00:40,000 [INFO] [n1] [workload:?(?) infra:0(0)] launcher.py:359 "
            "[default] worker group successfully finished. Waiting 300 seconds for other agents",
            "completed",
            40.0,
        ),
        (
            "2026-03-01 10:00:40,000 [ERROR] [n1] [workload:?(?) infra:0(0)] launcher.py:2282 "
            "Some rank(s) exited with non-zero exit code: {3: ProcessFailure(exitcode=-9)}. "
            "Agent's exit code = 1",
            "failed",
            40.0,
        ),
        (
            "[2026-03-01 10:00:40,000] [INFO] [launch.py:328:sigkill_handler] Main process "
            "received SIGINT, exiting",
            "cancelled",
            40.0,
        ),
        ("TERM_RUNLIMIT: job killed after reaching LSF run time limit.", "timeout", 0.0),
        ("TERM_PREEMPT: job killed after preemption.", "preempted", 0.0),
        ("TERM_OWNER: job killed by owner.", "cancelled", 0.0),
        ("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", "failed", 0.0),
        ("Exited with exit code 1.", "failed", 0.0),
        ("Subject: Job 48213: <pretrain> in cluster <c1> Done", "completed", 0.0),
        ("=>> PBS: job killed: walltime 86433 exceeded limit 86400", "timeout", 0.0),
        ("=>> PBS: job killed: mem 209715200kb exceeded limit 104857600kb", "failed", 0.0),
    ],
)
def test_a_log_that_says_how_it_ended_has_an_end(line: str, outcome: str, at: float) -> None:
    told = read("2026-03-01 10:00:00 step 10 loss 1", line)

    assert ("attempt_end", outcome, at) == (
        told[-1]["event"],
        told[-1]["outcome"],
        since(told[-1]),
    )


@pytest.mark.parametrize("said", HUNG)
def test_a_rank_that_its_monitor_killed_hung(said: str, gone_silent: Path) -> None:
    assert [("job_hang", True)] == rows(
        gone_silent,
        f"select failure_category, contains(failure_evidence, $${said}$$) from attempts "
        "where job_id = ?",
        [f"hung-{HUNG.index(said)}"],
    )


def test_a_run_that_reached_its_goal_is_complete_though_its_processes_are_killed() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "2026-03-01 10:00:10 Training completed",
        "[2026-03-01 10:00:20,256] [ERROR] [launch.py:325:kill] exits with return code = -9",
    )

    assert ("completed", 20.256) == (told[-1]["outcome"], since(told[-1]))


# times


def test_times_without_a_zone_are_of_the_readers() -> None:
    told = read("2026-03-01 02:00:00 step 10 loss 1", zone="America/Los_Angeles")

    assert [(0.0, 10)] == steps(told)


def test_a_clock_of_twelve_hours_goes_on_after_noon() -> None:
    told = read(
        "03/01/2026 10:00:00 AM - INFO - step 10 loss 1",
        "03/01/2026 11:59:00 AM - INFO - step 20 loss 1",
        "03/01/2026 12:00:00 PM - INFO - step 30 loss 1",
        "03/01/2026 10:00:00 PM - INFO - step 40 loss 1",
    )

    assert [(0.0, 10), (7140.0, 20), (7200.0, 30), (43200.0, 40)] == steps(told)


def test_lines_that_name_utc_and_lines_that_name_no_zone_are_told_apart() -> None:
    told = read(
        *(
            f"2026-03-01T{begun}{minute}:00{zone} step {number}{minute} loss 1"
            for number, (begun, zone) in enumerate([("10:0", "Z"), ("11:1", ""), ("11:2", "Z")])
            for minute in range(8)
        ),
        zone="Europe/Berlin",
    )

    assert [
        ((minutes + minute) * 60.0, number * 10 + minute)
        for number, minutes in enumerate((0, 10, 80))
        for minute in range(8)
    ][1:] == steps(told)  # the first opens the train loop


def test_a_clock_that_changes_between_two_steps_is_read_right() -> None:
    told = read(
        *(
            f"2026-03-29 {hour:02}:{m}:00 step {hour}{m} loss 1"
            for hour in (1, 3)
            for m in (10, 50)
        ),
        zone="Europe/Berlin",
    )

    assert [40, 20, 40] == [
        (after - before) / 60 for (before, _), (after, _) in pairwise(steps(told))
    ]


def test_a_year_that_was_taken_from_the_file_is_marked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "llama.log"
    log.write_text("I0301 10:00:00.5 7 train.py:9] step = 10, loss = 2.5\n" * 2)
    os.utime(log, (DAY.timestamp() + 60, DAY.timestamp() + 60))
    told = read_file(log)

    assert [(0.5, 10)] == steps(told)
    assert {"year_is_guessed": True} == json.loads(told[0]["attrs"])
    assert "its times tell no year" in caplog.text


def test_a_year_that_some_lines_tell_is_that_of_those_which_tell_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "llama.log"
    log.write_text(
        "W1231 23:58:00.5 7 torch/distributed/run.py:774] *****\n"
        "2025-12-31 23:59:00,100 - root - INFO - step: 10  loss: 2.5\n"
        "E0101 00:01:00.5 7 torch/distributed/elastic/multiprocessing/api.py:1002] failed "
        "(exitcode: 1) local_rank: 1 (pid: 9) of binary: python\n"
    )
    copied = DAY.replace(year=2028).timestamp()
    os.utime(log, (copied, copied))
    told = read_file(log)

    assert [us(DAY.replace(month=1, day=1, hour=0, minute=1)) + SECOND_US // 2] == [
        event["at_us"] for event in of(told, "failure")
    ]
    assert [] == [event for event in told if "year_is_guessed" in event.get("attrs", "")]
    assert "its times tell no year" not in caplog.text


def test_a_log_without_times_is_refused_with_a_remedy() -> None:
    with pytest.raises(UnreadableDump, match=r"tells no time .* ts '%Y-%m-%d"):
        read("iter 10: loss 2.5, time 100.00ms, mfu 30.00%")


def test_a_log_with_the_newest_lines_first_is_refused_with_a_remedy() -> None:
    lines = [f"2026-03-01 10:00:{2 * n:02} step {n}0 loss 2.5" for n in range(20)]
    with pytest.raises(UnreadableDump, match=r"has the newest lines first.* tac FILE > NEW"):
        read(*reversed(lines))

    listed = [f"2026-02-{28 - n // 24:02} {23 - n % 24:02}:00:00 step_{n}" for n in range(300)]
    logged = [line for line in lines for _ in range(50)]
    assert 0 < len(steps(read(*listed, *logged)))

    # ranks that are late by turns go back as often as forward
    late = [line for pair in zip(lines[1:], lines, strict=False) for line in pair]
    assert 0 < len(steps(read(*late)))


def test_a_log_whose_steps_tell_no_time_says_so(caplog: pytest.LogCaptureFixture) -> None:
    launch = "2026-03-01 10:00:00 Starting job: a model"
    read(launch, "iter 10: loss 2.5, time 100.00ms", "2026-03-01 10:01:00 step: 20 loss: 2.4")
    assert "" == caplog.text

    read(launch, "iter 10: loss 2.5, time 100.00ms, mfu 30.00%", "2026-03-01 10:01:00 bye")
    assert "no line that tells a step tells a time" in caplog.text


def test_a_log_whose_steps_tell_a_time_and_no_number_says_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    step = "2026-03-01 10:01:00 {'loss': 2.5, 'epoch': 0.1}"
    with pytest.raises(UnreadableDump, match=r"no line that tells a step tells its number"):
        read(step)

    read("2026-03-01 10:00:00 Starting job: a model", step)
    assert "no line that tells a step tells its number" in caplog.text
    assert "tells a time" not in caplog.text


def test_a_try_that_tells_its_count_without_a_time_begins_with_its_first_line() -> None:
    told = read(
        "SLURM_JOB_ID=7",
        "2026-03-01 10:00:00 Starting job: x",
        "2026-03-01 10:01:00 step 10 loss 2.5",
        "SLURM_JOB_ID=7",
        "SLURM_RESTART_COUNT=1",
        "2026-03-01 10:10:00 Starting job: x",
        "2026-03-01 10:11:00 step 10 loss 2.5",
    )

    assert [0.0, 600.0] == [since(event) for event in of(told, "attempt_start")]


def test_slurm_cancels_a_job_in_the_zone_that_a_pipe_puts_before_its_lines() -> None:
    told = read(
        "2026-03-01T15:30:00+0530 step 10 loss 2.5",
        "2026-03-01T15:31:00+0530 step 20 loss 2.4",
        "2026-03-01T15:31:30+0530 slurmstepd: error: *** JOB 1153 ON n2 CANCELLED AT "
        "2026-03-01T15:31:30 DUE TO PREEMPTION ***",
    )

    assert [(90.0, "preempted")] == [(since(e), e["outcome"]) for e in of(told, "attempt_end")]


@pytest.mark.parametrize(
    ("line", "is_told_of"),
    [
        ("2026-03-01 10:20:00 Saving checkpoint to /ckpt/ba20", True),
        ("2026-03-01 11:00:01 Loaded checkpoint /ckpt/ba20", True),
        ("2026-03-01 10:20:00 Loaded checkpoint /ckpt/ba20", False),  # it may still start up
        ("2026-03-01 10:20:00 step 20 loss 2.5", False),
        ("2026-03-01 10:20:00 [launch.py:285:main] Process 7 exits successfully.", True),
        ("2026-03-01 10:20:00 [launch.py:259:main] ['p'] exits with return code = 1", False),
    ],
)
def test_a_log_that_trained_and_of_which_no_line_is_known_to_say_so_is_told_of(
    line: str, is_told_of: bool, caplog: pytest.LogCaptureFixture
) -> None:
    read("2026-03-01 10:00:00 Starting run demo", "2026-03-01 10:10:00 20 batches done", line)

    assert is_told_of == ("none of its lines is known to tell that it trained" in caplog.text)


@pytest.mark.parametrize(("minute", "is_told_of"), [(59, False), (61, True)])
def test_a_long_log_of_which_only_a_failure_is_known_is_told_of(
    minute: int, is_told_of: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """As that of Lightning, whose progress bars tell no step of the run."""
    died = f"2026-03-01 {10 + minute // 60}:{minute % 60:02}:00 CUDA error: an illegal access"
    read("2026-03-01 10:00:00 Epoch 0:  10%|# | 10/90 [00:20<03:00,  0.5it/s, v_num=0]", died)

    assert is_told_of == ("none of its lines is known to tell that it trained" in caplog.text)


@pytest.mark.parametrize(
    ("lines", "is_told_of"),
    [
        (("10:03:00 CUDA error: an illegal access",), True),
        (("10:20:00 step 10 loss 1", "10:21:00 step 15 loss 1"), True),
        (("10:03:00 {'train_runtime': 316.0}",), False),
        (("10:02:30 Saving checkpoint", "10:03:00 CUDA error: an illegal access"), False),
    ],
)
def test_a_log_of_an_interrupted_run_that_tells_no_save_is_told_of(
    lines: tuple[str, ...], is_told_of: bool, caplog: pytest.LogCaptureFixture
) -> None:
    steps_told = [f"2026-03-01 10:0{m}:00 step {m * 10} loss 1" for m in (1, 2, 3)]
    read(*steps_told, *(f"2026-03-01 {line}" for line in lines))

    assert is_told_of == ("known to tell of a save" in caplog.text)


def test_a_log_of_nothing_known_is_refused_with_a_remedy() -> None:
    with pytest.raises(UnreadableDump, match=r"no line that a pattern .* ett.toml"):
        read("2026-03-01 10:00:00 Listening on port 80")


# the user's patterns


BUILT_IN = Path("ingest/training_logs.toml").read_text(encoding="utf-8")
OWN = """
[[training_log]]
name = "our loop"
means = "step"
contains = ["batches trained"]
pattern = '(?P<step>\\d+) batches trained, (?P<samples>\\d+) rows'
"""


def test_users_add_patterns_of_their_own() -> None:
    own = patterns_of(tomllib.loads(OWN)["training_log"], "ett.toml")
    told = read("2026-03-01 10:00:00 10 batches trained, 640 rows", own=own)

    assert [(10, 640)] == [(e["step"], e["samples"]) for e in of(told, "progress")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"means": "steps"}, r"'our loop': means must be one of launch, fact"),
        ({"pattern": "("}, "'our loop': pattern is no regular expression"),
        ({"pattern": "(?P<stap>1)"}, r"\(\?P<stap>...\) is not known"),
        ({"contains": []}, "'our loop': contains must be a list of texts"),
        ({"contains": "x"}, "'our loop': contains must be a list of texts"),
        ({"name": None}, "name must be a text"),
        ({"mode": "later"}, "mode must be one of sync, async"),
        ({"outcome": "lost"}, "outcome must be one of completed"),
        ({"ok": "no"}, "ok must be true or false"),
        ({"confirmed": 1}, "confirmed must be true or false"),
        ({"part": 1}, "part must be true or false"),
        ({"beside": "yes"}, "beside must be true or false"),
        ({"regex": "x"}, "'regex' is no key"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(change: dict[str, object], message: str) -> None:
    (table,) = tomllib.loads(OWN)["training_log"]

    with pytest.raises(UnusableArguments, match=message):
        patterns_of([table | change], "ett.toml")
    with pytest.raises(UnusableArguments, match="must be a table"):
        patterns_of(["x"], "ett.toml")


def test_every_pattern_that_comes_with_the_project_has_a_name_of_its_own() -> None:
    names = [table["name"] for table in tomllib.loads(BUILT_IN)["training_log"]]

    assert sorted(set(names)) == sorted(names)
    assert () == patterns(()).particular
    assert set(Means) == {table["means"] for table in tomllib.loads(BUILT_IN)["training_log"]}


def test_a_line_means_what_all_patterns_tried_on_it_say() -> None:
    """Most lines are tried only with the patterns that fitted one like them but for its digits."""
    numbered = patterns_of(
        [
            {"name": "a", "means": "step", "contains": ["step 7 of "], "pattern": "step 7 of"},
            {"name": "b", "means": "fact", "contains": ["of 8"], "pattern": r"of (?P<run>8\d?)"},
        ],
        "ett.toml",
    )
    lines = [line for log in LOGS.values() for line in log.encode().splitlines()]
    lines += [f"step {step} of {steps}".encode() for step in range(6, 9) for steps in (8, 70, 88)]
    some = patterns(numbered)
    every = [*numbered, *patterns_of(tomllib.loads(BUILT_IN)["training_log"], "built-in")]

    for line in lines * 2:
        found = [
            (one, match[0])
            for one in every
            if any(mark in line for mark in one.contains) and (match := one.regex.search(line))
        ]
        facts = [each for each in found if each[0].means is Means.FACT]
        means = [each for each in found if each[0].means is not Means.FACT][:1]
        assert [*means, *facts] == [(one, match[0]) for one, match in some.found_in(line)]


def test_a_pattern_that_means_one_number_is_not_taken_for_another() -> None:
    own = patterns_of(
        [
            {
                "name": "p2",
                "means": "step",
                "contains": ["phase"],
                "pattern": r"phase 2 at (?P<step>\d+)",
            }
        ],
        "ett.toml",
    )
    told = read(
        *(f"2026-03-01 10:0{n}:00 phase {n % 3} at {n}00 of it" for n in range(1, 9)), own=own
    )

    assert [200, 500, 800] == [step for _, step in steps(told)]


# recognition


@pytest.mark.parametrize("framework", LOGS)
def test_logs_of_trainers_are_recognised(framework: str) -> None:
    assert TRAINING_LOG.recognises("x", LOGS[framework].encode())
    assert TRAINING_LOG.recognises("x", LOGS[framework].encode() + b"\xff\xfe torn")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01 10:00:00 Listening on port 80\n",
        '{"ts": "2026-03-01T10:00:00Z", "event": "failure", "message": "step 10 loss 1"}\n',
        '{"step": 10, "loss": 2.5, "time": "2026-03-01T10:00:00Z"}\n',
        "JobID|State|Start|End\n7|FAILED|2026-03-01T10:00:00|2026-03-01T11:00:00\n",
        "# How to read logs\n```\n2026-03-01 10:00:00 step 10 loss 2.5\n```\n",
        'print(f"step {step}: loss {loss}")\n',
        "2026-03-01 10:00:00 Saved the file\n",
        "2026-03-01 10:00:00 step 3 of the upgrade survived a loss of connection\n",
        "I0301 10:00:00.1 7 torch/distributed/elastic/agent/server/api.py:9] starting workers\n"
        "2026-03-01 10:00:00 step 10 loss 2.5\n",
    ],
)
def test_what_is_no_trainers_log_is_left_alone(text: str) -> None:
    assert not TRAINING_LOG.recognises("train.log", text.encode())


@pytest.mark.parametrize("closed", ["```\n", ""])
def test_a_log_that_shows_what_its_model_wrote_is_recognised(closed: str) -> None:
    text = (
        "2026-03-01 10:00:00 Loading checkpoint from /ckpt/step_40\n"
        "2026-03-01 10:00:20 step 50 loss 2.5\n"
        f"[response] Here is the function:\n```python\ndef f(): ...\n{closed}"
        "2026-03-01 10:00:30 step 60 loss 2.4\n"
    )

    assert TRAINING_LOG.recognises("train.log", text.encode())


OUR_PATTERNS = patterns_of(
    [
        {
            "name": "our loop",
            "means": "step",
            "contains": ["batches trained"],
            "pattern": r"(?P<step>\d+) batches trained",
        },
        {"name": "ours to load", "means": "loading", "contains": ["job"], "pattern": "job"},
        {"name": "ours that failed", "means": "failure", "contains": ["oops"], "pattern": "oops"},
    ],
    "ett.toml",
)
OUR_LOOP = "".join(f"2026-03-01 10:0{n}:00 {n}00 batches trained\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("before", "format"),
    [
        ("2026-03-01 10:00:00 step 10 loss 2.5\n", "training-log"),
        ('{"job_name": "a", "job_start_time": 1795150800}\n', "goodput"),
        ('{"ts": 1795150800, "event": "alive", "job_id": "a"}\n', "events"),
        ("module load slurm\n", "slurm-sacct"),
        ("", "slurm-sacct"),
    ],
)
def test_a_table_of_sacct_in_a_log_makes_it_no_table(before: str, format: str) -> None:
    table = "JobID|State|Start|End\n7|FAILED|2026-03-01T10:00:00|2026-03-01T11:00:00\n"
    told = recognise("x", (before + table).encode())

    assert told is FORMATS[format]


LOG = "".join(f"2026-03-01 10:0{n}:00 step {n}00 loss 2.{n}\n" for n in range(1, 9))
WIDE = """\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
7                  torch        gpu       phys          8    RUNNING      0:0
"""
ROW = "7|FAILED|2026-03-01T10:00:00|2026-03-01T11:00:00\n"
ROWS = "JobID|State|Start|End\n" + ROW


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (ROWS + LOG, "training-log"),
        (WIDE + LOG, "training-log"),
        (f"+ sacct -j 7\n{ROWS}{LOG}{ROWS}", "training-log"),
        (ROWS + '{"ts": 1795150800, "event": "alive", "job_id": "a"}\n' * 2, "events"),
        # a row of which a line break in Comment or JobName made several lines
        (ROWS + ROW * 8 + LOG, "slurm-sacct"),
        (ROWS + "7.0|FAILED|step 100 loss 2.1", "slurm-sacct"),
        (ROWS + "Disk quota exceeded\n" * 9, "slurm-sacct"),
        (WIDE, "slurm-sacct"),
    ],
)
def test_a_log_that_begins_with_a_table_of_sacct_is_a_log(text: str, format: str) -> None:
    assert recognise("x", text.encode()) is FORMATS[format]


def test_a_log_that_only_the_users_patterns_fit_is_recognised_by_them() -> None:
    with_own = recognise("x", OUR_LOOP.encode(), OUR_PATTERNS)

    assert recognise("x", OUR_LOOP.encode()) is None
    assert with_own is FORMATS["training-log"]


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("JobID|State|Start|End\n7|FAILED|job|300 batches trained\n", "slurm-sacct"),
        ('{"ts": 1795150800, "event": "alive", "job_id": "300 batches trained"}\n', "events"),
        ('{"job_name": "300 batches trained", "job_start_time": 1795150800}\n', "goodput"),
        ('{"time": "2026-03-01T10:00:00Z", "text": "300 batches trained"}\n', None),
        ("# Our logs\n```\n2026-03-01 10:00:00 300 batches trained\n```\n", None),
        ("2026-03-01 10:00:00 oops\n", None),
        ("the job\n", None),
    ],
)
def test_the_users_patterns_take_no_dump_from_another_format(text: str, format: str | None) -> None:
    told = recognise("x", text.encode(), OUR_PATTERNS)

    assert format == (told and told.name)


@pytest.mark.real
def test_the_users_patterns_change_the_format_of_no_real_dump(real_logs: Path) -> None:
    heads = [(file.name, head_of(file)) for file in real_logs.rglob("*") if file.is_file()]

    assert heads
    assert [recognise(*head) for head in heads] == [
        recognise(*head, OUR_PATTERNS) for head in heads
    ]


@pytest.mark.real
def test_of_the_real_dumps_only_the_output_of_trainers_is_recognised(real_logs: Path) -> None:
    files = [file for file in sorted(real_logs.rglob("*")) if file.is_file()]
    taken = [
        str(file.relative_to(real_logs))
        for file in files
        if TRAINING_LOG.recognises(file.name, head_of(file))
        # some submissions are NeMo's output, with the benchmark's records in it
        and recognise(file.name, head_of(file)) is not FORMATS["mlperf"]
    ]

    assert {"torchrun.stdout.log", "torchrun.stderr.log"} >= {Path(file).name for file in taken}
    assert [] == [file for file in taken if not file.startswith("torch/run")]
    # with its agent's own level, torchrun tells nothing there
    assert ["torch/run15_default_loglevel/torchrun.stderr.log"] == [
        file for file in taken if file.endswith("stderr.log")
    ]


@pytest.mark.real
@pytest.mark.parametrize(
    ("run", "tolerance"),
    [
        ("run01_clean_sync", 0.2),
        ("run02_sigkill_async", 0.2),
        ("run04_oom", 0.2),
        ("run09_sigterm_preempt", 1.0),  # its log tells whole seconds
        ("run14_recompiles", 0.2),
        ("run15_default_loglevel", 0.2),
    ],
)
def test_real_output_tells_what_the_script_measured(
    real_logs: Path, run: str, tolerance: float
) -> None:
    folder = real_logs / "torch" / run
    told = read_file(folder / "torchrun.stdout.log")
    golden = json.loads((folder / "golden.json").read_text(encoding="utf-8"))["attempts"]

    assert [attempt["generation"] for attempt in golden] == sorted(
        {event["run_generation"] for event in told if "run_generation" in event}
    )
    for attempt in golden:
        mine = [e for e in told if e.get("run_generation") == attempt["generation"]]
        measured = attempt["ranks"]["0"]["phase_s"]
        blocked = measured.get(
            "checkpoint_save_async_blocking", measured.get("checkpoint_save_sync")
        )
        saved = sum(end - start for start, end in spans(mine, "checkpoint_save"))
        begun = [e["at_us"] / SECOND_US for e in mine if e.get("phase") == "training"][:1]

        assert begun == pytest.approx(loops_begun(folder, attempt["generation"]), abs=tolerance)
        assert attempt["resume_step"] == next((step for _, step in resumed(mine)), 0)
        assert (blocked or 0) == pytest.approx(saved, abs=tolerance)


@pytest.mark.real
def test_in_a_log_that_torchrun_shares_the_trainer_tells_of_no_launch(real_logs: Path) -> None:
    log = real_logs / "torch" / "job_1153" / "slurm.out"
    dump = dump_at(log)
    told = [
        each
        for each in trainer_events(dump, reading(), clock_of(dump, reading()))
        if not isinstance(each, Begun)
    ]

    assert {"phase_start", "phase_end", "progress", "alive", "attempt_end"} == {
        event["event"] for event in told
    }
    assert {"completed"} == {event["outcome"] for event in of(told, "attempt_end")}
    assert [80] == [event["resumed_from_step"] for event in told if "resumed_from_step" in event]
    assert set() == {"job_id", "run_key", "scheduler_job"} & {key for e in told for key in e}
    assert 240 == max(event["step"] for event in of(told, "progress"))


# bad input


@pytest.mark.parametrize("framework", LOGS)
@settings(max_examples=40)
@given(data=st.data())
def test_no_damage_to_a_log_raises(framework: str, data: st.DataObject) -> None:
    raw = bytearray(LOGS[framework].encode())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(raw)))
        piece = data.draw(st.one_of(st.binary(max_size=8), st.sampled_from(DAMAGE)))
        raw[at : at + data.draw(st.integers(0, 40))] = piece
    lines = bytes(raw).split(b"\n")
    data.draw(st.randoms(use_true_random=False)).shuffle(lines[: data.draw(st.integers(0, 20))])

    try:
        told = [*TRAINING_LOG.read(dump_of("x.log", lines), reading())]
    except UnreadableDump:
        return
    assert all(isinstance(e["at_us"], int) and e["job_id"] for e in told if isinstance(e, dict))


DAMAGE = (
    b"\r",
    b"\n",
    b"\0\0\0",
    b"\x1b[31m",
    b"[default0]:",
    b"[rank7]: ",
    b"3: ",
    b"\xff\xfe",
    b"99999999999999999999999",
    b"Traceback (most recent call last):\n",
    b"2026-03-01 10:00:00 step 99999999999999999999 loss 1\n",
    b"2026-02-30 10:00:00 step 7 loss 1\n",
    b"I0229 10:00:00.000 7 a.py:1] step 7 loss 1\n",
    b"time 1e999 ms",
    b"RuntimeError: x\n",
)


def test_torn_lines_bars_and_labels_do_not_hide_what_is_between_them() -> None:
    told = read(
        "\r  0%|  | 0/9\r 10%|█ | 1/9 [00:01<00:09]\r[rank0]: 2026-03-01 10:00:00 step 10 loss 1\r",
        "[default0]:\x1b[32m2026-03-01 10:00:10\x1b[0m step 20 loss 12026-03-01 10:00:10 step",
        "\0\0\0\0\0[default0]:2026-03-01 10:00:20 step 30 loss 1",
        b"\xff\xfe\xfa".decode("latin-1") + "2026-03-01 10:00:30 step 40 loss 1",
        "[default0]:2026-03-01 10:00:40 step 50 loss 1",
    )

    assert [10, 20, 30, 50] == [step for _, step in steps(told)]


@pytest.mark.parametrize("framework", LOGS)
@pytest.mark.parametrize(
    "line",
    [
        "{0}\n{0}",  # two handlers of one logger
        "{0}\n",
        "{0}\r",
        "\t{0}  ",
        "0: {0}",
        "0: {0}\n1: {0}",
        "[1,0]<stdout>:{0}",
        "[0]<stdout>:{0}",
        "10.0.0.7: {0}",
        "[default0]:{0}",
        "[default0]:{0}\n[default1]:{0}",
        "trainer-1  | {0}",
        "{0}\nNCCL INFO channel 0/32 : 0 1 2\nwandb: Syncing run x-7",
    ],
)
def test_however_its_lines_are_written_a_log_tells_the_same(framework: str, line: str) -> None:
    first = LOGS[framework].splitlines()
    again = at_one(first)
    for told in (first, [*first, *again], [*first[: len(first) * 2 // 3], *again]):
        plain = attempts(read(*told))
        dressed = attempts(read(*(line.format(each) for each in told)))

        assert [lived(each) for each in plain] == [lived(each) for each in dressed]


@pytest.mark.parametrize("framework", LOGS)
def test_launches_in_one_log_are_as_long_as_each_in_its_own(framework: str) -> None:
    chance = random.Random(framework)
    log = LOGS[framework].splitlines()
    timed = [place for place, line in enumerate(log) if "10:0" in line]
    for _ in range(30):
        killed = [chance.randint(max(timed[0] + 1, len(log) // 3), len(log)) for _ in range(2)]
        launches = [log[: killed[0]], at_one(log)[: killed[1]], at_one(at_one(log), 16)]
        apart = [lived(each, joins="unsaved") for log in launches for each in attempts(read(*log))]
        joined = attempts(read(*(line for log in launches for line in log)))

        assert apart == [lived(each, joins="unsaved") for each in joined], killed


def test_a_run_that_is_done_is_over_where_another_trains_later_in_its_log() -> None:
    first = TRAINER.splitlines()
    told = read(*first, *at_one(first))

    assert [("completed", 522.5), ("completed", 3 * 3600 + 522.5)] == [
        (end["outcome"], since(end)) for end in of(told, "attempt_end")
    ]
    # how long its start took is not told
    assert [] == of(told, "attempt_start")


def test_a_process_that_trains_again_at_once_is_one_launch() -> None:
    done = "Training completed. Do not forget to share your model"
    begins = "[INFO|trainer.py:2134] 2026-03-01 10:0{}:00,100 >> ***** Running training *****"
    told = read(
        begins.format(0),
        "2026-03-01 10:01:00 step 10 loss 1",
        "[INFO|trainer.py:2394] 2026-03-01 10:01:30,000 >>",
        done,
        begins.format(2),
        "2026-03-01 10:03:00 step 20 loss 1",
    )

    assert [str(us(DAY) + 100_000)] == keys(told)


@pytest.mark.parametrize("framework", LOGS)
def test_a_launch_begins_behind_a_line_that_the_one_before_left_torn(framework: str) -> None:
    first = without_colours(LOGS[framework].encode()).decode().splitlines()
    again = at_one(first)
    places = range(len(first) // 2, len(first))
    torn = [(place, end) for place in places for end in range(4, len(first[place]), 7)]
    torn = [(place, end) for place, end in torn if first[place][end - 1].isalnum()]

    assert len(torn) > 30
    for place, end in torn:
        lines, cut = first[:place], first[place][:end]
        glued = attempts(read(*lines, f"{cut}{again[0]}", *again[1:]))
        assert attempts(read(*lines, cut, *again)) == glued, cut


def test_text_of_another_format_in_the_middle_says_nothing() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "JobID|State|Start|End",
        "7|FAILED|2026-03-01T10:00:00|2026-03-01T11:00:00",
        ':::MLLOG {"key": "run_start", "time_ms": 1772359205000, "metadata": {"step": 99}}',
        '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"training"}]}]}]}',
        '{"ts": 1772359206, "event": "progress", "job_id": "other", "step": 99}',
        "+-----+-----+\n| GPU | Mem |\n+-----+-----+",
        "2026-03-01 10:00:10 step 20 loss 1",
    )

    assert [10, 20] == [step for _, step in steps(told)]
    assert {"x"} == {event["job_id"] for event in told}


def test_memory_is_bounded_by_what_is_open_not_by_the_log() -> None:
    def lines() -> Iterator[Line]:
        for number in range(1, 60_000):
            yield number, b"2026-03-01 10:00:00 step %d loss 1" % number

    told = TRAINING_LOG.read(Dump("x.log", None, lines), reading())

    assert 3 >= sum(1 for _ in told) - 2  # all steps are of one second


def loops_begun(run: Path, generation: int) -> list[float]:
    """When the script entered its train loop, as it measured itself."""
    truth = run / "truth" / f"attempt{generation}_rank0.jsonl"
    records = map(json.loads, truth.read_text(encoding="utf-8").splitlines())
    return [told["wall"] for told in records if (told["phase"], told["ev"]) == ("train_loop", "B")]


def test_a_log_with_the_day_before_the_month_is_read_to_its_break_and_set_aside_once(
    tmp_path: Path,
) -> None:
    lines = [
        "05/03/2025 20:00:00 - INFO - SLURM_JOB_ID=702",
        *(
            f"{5 + minute // 1440:02d}/03/2025 {minute // 60 % 24:02d}:{minute % 60:02d}:00 - INFO "
            f"- step: {step}  loss: 3.0  grad_norm: 1.0  memory: 10GiB(10%)  tps: 1,000  mfu: 10%"
            for step, minute in enumerate(range(1202, 1602), 1)
        ),
    ]
    packed = gzip.compress("\n".join(lines).encode())
    log = tmp_path / "702.log.gz"
    log.write_bytes(packed[:-9])
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, log)

    assert [(datetime(2025, 3, 5, 20), datetime(2025, 3, 6, 2, 41), 0.0)] == rows(
        warehouse,
        "select started_at, date_trunc('minute', ended_at), hang_seconds from attempts",
    )
    assert [("not_json", 1)] == rows(
        warehouse,
        "select reason, count(*) from rejected_lines where detail like '%breaks off%' group by all",
    )


NAMELESS = "2026-03-01 {} Training epoch 0, iteration {}/99 | global_step: {} | loss: 2"


def nameless(*told: tuple[str, int]) -> list[str]:
    """Steps of a trainer that tells neither a launch nor, where it begins anew, a load."""
    return [NAMELESS.format(time, step, step) for time, step in told]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(["SLURM_JOB_ID=7", "SLURM_RESTART_COUNT=1"], id="job first"),
        pytest.param(["SLURM_RESTART_COUNT=1", "SLURM_JOB_ID=7"], id="count first"),
        pytest.param(["SLURM_RESTART_COUNT=1"], id="count alone"),
    ],
)
@pytest.mark.parametrize("first", ["SLURM_JOB_ID=7 SLURM_RESTART_COUNT=0", "SLURM_JOB_ID=7"])
@pytest.mark.parametrize(
    "steps_before",
    [
        pytest.param(nameless(("10:01:00", 9), ("10:02:00", 19)), id="trained"),
        pytest.param(
            [
                *nameless(("10:01:00", 9)),
                "2026-03-01 10:01:01 Traceback (most recent call last):",
                "RuntimeError: x",
            ],
            id="failed",
        ),
        pytest.param(
            ["2026-03-01 10:01:01 Traceback (most recent call last):", "RuntimeError: x"],
            id="died in start-up",
        ),
    ],
)
def test_a_higher_count_of_restarts_tells_of_another_launch(
    first: str, second: list[str], steps_before: list[str]
) -> None:
    told = read(
        f"2026-03-01 10:00:00 {first}",
        *steps_before,
        *(f"2026-03-01 11:00:00 {line}" for line in second),
        "2026-03-01 11:00:01 SLURM_RESTART_COUNT=1",  # another rank
        *nameless(("11:01:00", 9), ("11:02:00", 19)),
    )

    later = [event for event in told if since(event) >= 3600 and event["event"] != "job"]
    assert {("7", 1)} == {(event["scheduler_job"], event["run_restart"]) for event in later}
    assert [(3660.0, 9), (3720.0, 19)] == steps(later)
    assert [3600.0] == [since(event) for event in of(later, "attempt_start")]
    before = [event for event in told if event not in later and event["event"] != "job"]
    assert {"7"} == {event["scheduler_job"] for event in before}
    assert {0 if "COUNT" in first else None} == {event.get("run_restart") for event in before}


def test_the_count_of_a_launch_outranks_what_a_rank_of_the_one_before_told_late() -> None:
    told = read(
        "2026-03-01 10:00:00 SLURM_JOB_ID=7 SLURM_RESTART_COUNT=1",
        *nameless(("10:01:00", 9), ("10:02:00", 19)),
        "2026-03-01 10:02:01 SLURM_JOB_ID=7 SLURM_RESTART_COUNT=1",
        "2026-03-01 11:00:00 using world size: 8, data-parallel size: 8",
        "2026-03-01 11:00:01 SLURM_JOB_ID=7 SLURM_RESTART_COUNT=2",
        *nameless(("11:01:00", 9)),
    )

    assert [0.0, 3600.0] == [since(event) for event in of(told, "attempt_start")]
    assert [1, 2] == [event["run_restart"] for event in of(told, "attempt_start")]


def test_a_launch_that_was_killed_in_its_start_up_is_not_the_one_of_the_next_count() -> None:
    head = "2026-03-01 10:{}:00 "
    world = "using world size: 8, data-parallel size: 8"
    told = read(
        *(head.format("00") + line for line in ("SLURM_JOB_ID=7", "SLURM_RESTART_COUNT=1", world)),
        *(head.format("30") + line for line in ("SLURM_JOB_ID=7", "SLURM_RESTART_COUNT=2")),
        *nameless(("10:31:00", 9), ("10:32:00", 19)),
    )

    assert [(0.0, 1), (1800.0, 2)] == [
        (since(event), event["run_restart"]) for event in of(told, "attempt_start")
    ]


def test_a_launch_that_died_in_its_first_step_is_not_of_the_next_count() -> None:
    launches = (("10:00", 0, True), ("10:30", 0, False), ("11:00", 1, True))
    told = read(
        *(
            f"2026-03-01 {begun}:{line}"
            for begun, count, has_stepped in launches
            for line in (
                "00 SLURM_JOB_ID=7",
                f"00 SLURM_RESTART_COUNT={count}",
                "01 Starting job: x",
                "20 Training starts at step 1",
                *(["50 step: 1 loss: 1"] if has_stepped else []),
            )
        )
    )

    assert [(0.0, "7", 0), (1800.0, "7", 0), (3600.0, "7", 1)] == [
        (since(event), event["scheduler_job"], event["run_restart"])
        for event in of(told, "attempt_start")
    ]


FAILED = ("2026-03-01 {} Traceback (most recent call last):", "RuntimeError: x")


def failed(time: str) -> list[str]:
    return [line.format(time) for line in FAILED]


@pytest.mark.parametrize("label", ["", "[rank1]: "])
@pytest.mark.parametrize("last", [1, 2, 3])
def test_launches_that_fail_after_few_steps_are_launches_all_the_same(
    last: int, label: str
) -> None:
    lines: list[str] = []
    for minute in (10, 20, 30):
        for step in range(1, last + 1):
            lines += nameless((f"10:{minute}:{step * 10}", step))
            if label:  # ranks take turns
                lines.append(label + nameless((f"10:{minute}:{step * 10 + 1}", step))[0])
        lines += failed(f"10:{minute}:50")
    lines += nameless(("10:40:10", 1), ("10:40:20", 2), ("10:40:30", 3), ("10:40:40", 4))

    told = read(*lines)

    begun = [since(event) for event in of(told, "phase_start") if event["phase"] == "training"]
    # one step alone may be what a rank tells late
    assert [600.0, 1200.0, 1800.0, 2400.0][:: 3 if last == 1 else 1] == [
        at // 60 * 60 for at in begun
    ]
    assert (2440.0, 4) == steps(told)[-1]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(nameless(("10:13:00", 3), ("10:13:10", 4)), id="goes on"),
        pytest.param(nameless(("10:13:00", 1), ("10:13:00", 2)), id="what a rank had to write"),
        pytest.param(nameless(("10:10:31", 1), ("10:10:41", 2)), id="at once"),
        pytest.param(
            nameless(("10:13:00", 3), ("10:13:09", 2), ("10:13:10", 4), ("10:13:19", 3)),
            id="a rank lags behind",
        ),
    ],
)
def test_what_comes_after_a_failure_that_is_none_is_of_its_launch(after: list[str]) -> None:
    before = [*nameless(("10:10:10", 1), ("10:10:20", 2)), *failed("10:10:30")]

    begun = of(read(*before, *after), "phase_start")
    assert ["training"] == [event["phase"] for event in begun]


@pytest.mark.parametrize("what", ["checkpoint saved at step {}", "checkpoint saved"])
def test_a_save_whose_end_alone_each_rank_tells_is_one(what: str) -> None:
    lines = []
    for step, minute in ((10, 1), (20, 2), (30, 3)):
        for rank in range(4):
            head = f"[rank{rank}]: 2026-03-01 10:0{minute}:"
            lines += [f"{head}00 step {step} loss 1", f"{head}0{rank} {what.format(step)}"]

    told = read(*sorted(lines, key=lambda line: line[9:]))

    assert [60.0, 120.0, 180.0] == [start for start, _ in spans(told, "checkpoint_save")]


def test_a_rank_that_tells_that_its_save_failed_is_heard_whoever_told_that_it_did_not() -> None:
    told = read(
        *(f"[rank{rank}]: 2026-03-01 10:01:00 step 10 loss 1" for rank in (0, 1)),
        "[rank0]: 2026-03-01 10:01:01 checkpoint saved",
        "[rank1]: 2026-03-01 10:01:02 Failed to save checkpoint",
        *(f"[rank{rank}]: 2026-03-01 10:02:00 step 20 loss 1" for rank in (0, 1)),
    )

    ends = [event for event in of(told, "phase_end") if event["phase"] == "checkpoint_save"]
    assert {(0, True), (1, False)} == {(event["rank"], event["ok"]) for event in ends}


def test_a_rank_behind_a_bar_is_known_where_no_time_is() -> None:
    bar = " 10%|█   | 10/1000 [00:12<19:50,  1.20s/it]"
    told = read(
        "[rank1]: 2026-03-01 10:01:00 step 10 loss 1",
        f"{bar}[rank1]: Saving checkpoint at step 10",
        "[rank1]: 2026-03-01 10:02:00 step 20 loss 1",
    )

    saves = [event for event in told if event.get("phase") == "checkpoint_save"]
    assert {1} == {event.get("rank") for event in saves}


def test_each_rank_that_trains_has_loaded() -> None:
    head = "[rank{}]: 2026-03-01 10:00:{:02d} "
    lines = ["Loading model from /a/checkpoint-20.", "***** Running training *****"]
    lines.append("  Continuing training from global step 20")
    told = read(
        *(
            head.format(rank, 10 * at + rank) + line
            for at, line in enumerate(lines)
            for rank in (1, 2)
        )
    )

    loads = [event for event in told if event.get("phase") == "checkpoint_load"]
    assert [(1, 1.0), (1, 1.0), (2, 2.0), (2, 2.0)] == sorted(
        (event["rank"], since(event)) for event in loads
    )


def test_each_rank_whose_train_loop_is_done_has_saved() -> None:
    head = "[rank{}]: 2026-03-01 10:00:{:02d} "
    lines = [
        "step 10 loss 1",
        "Saving model checkpoint to /a/checkpoint-10",
        "{'train_runtime': 9.0}",
    ]
    told = read(
        *(
            head.format(rank, 10 * at + rank) + line
            for at, line in enumerate(lines)
            for rank in (1, 2)
        )
    )

    saves = [event for event in told if event.get("phase") == "checkpoint_save"]
    assert [(1, 11.0), (1, 11.0), (2, 12.0), (2, 12.0)] == sorted(
        (event["rank"], since(event)) for event in saves
    )
