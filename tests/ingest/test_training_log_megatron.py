"""What the lines of Megatron-LM, DeepSpeed, NeMo, Lightning, nanotron and GPT-NeoX mean."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from tests.ingest.launches import attempts, seconds_by_area
from tests.ingest.trainer_logs import (
    DAY,
    DEEPSPEED,
    MEGATRON,
    SECOND_US,
    of,
    phases,
    read,
    read_file,
    resumed,
    since,
    spans,
    steps,
    uploads_of,
    us,
)


def test_a_log_of_megatron_tells_phases_though_few_lines_tell_times() -> None:
    told = read(MEGATRON)

    assert [
        ("phase_start", "training", 61.0, None),
        ("phase_start", "evaluation", 101.0, None),
        ("phase_end", "evaluation", 113.0, None),
        ("phase_start", "checkpoint_save", 113.0, 420),
        ("phase_end", "checkpoint_save", 133.2005, 420),
        ("phase_end", "training", 154.0, None),
    ] == phases(told)
    assert [(81.0, 410, 104960), (101.0, 420, 107520), (153.0, 430, 110080)] == [
        (since(e), e["step"], e["samples"]) for e in of(told, "progress")
    ]
    assert [(61.0, 400)] == resumed(told)
    assert [("attempt_start", 30.0), ("attempt_end", 154.0)] == [
        (e["event"], since(e)) for e in told if e["event"].startswith("attempt")
    ]
    assert "completed" == told[-1]["outcome"]
    assert {"world_size": 16} == json.loads(told[0]["attrs"])


@pytest.mark.parametrize("several", ["", "-wiki"])
def test_megatron_that_tells_no_timers_has_evaluated_once_it_tells_the_loss(several: str) -> None:
    told = read(
        *MEGATRON.splitlines()[9:11],
        MEGATRON.splitlines()[11],
        " [2026-03-01 10:01:41] Evaluating on 2560 samples",
        f"2026-03-01 10:01:50 validation{several} loss at iteration 420 | lm loss value: 7.1E+00 |",
        *(" [2026-03-01 10:02:10] iteration 430/1000 | elapsed time per iteration (ms): 9.0 |",)
        * 2,
    )

    assert [(101.0, 110.0)] == spans(told, "evaluation")


def test_what_a_rank_of_megatron_tells_late_of_an_evaluation_was_before_the_save() -> None:
    step = "1:  [2026-03-01 10:0{}] iteration {}/1000 | elapsed time per iteration (ms): 9.0 |"
    late = ("1: (min, max) time across ranks (ms):", "1:     evaluate ......: (11900.00, 12000.00)")
    told = read(
        step.format("1:40", 10),
        "0: [2026-03-01 10:01:53.500000] saving checkpoint at iteration     10 to /c",
        *late,
        "1:  validation loss at iteration 10 | lm loss value: 7.1E+00 | lm loss PPL: 1.2E+03 |",
        "0:   [2026-03-01 10:02:03.500000] successfully saved checkpoint from iteration  10 to /c",
        step.format("3:00", 20),
        # one that does not fit between the step and the save
        "0: [2026-03-01 10:03:02.000000] saving checkpoint at iteration     20 to /c",
        *late,
        "0:   [2026-03-01 10:03:04.500000] successfully saved checkpoint from iteration  20 to /c",
        step.format("4:00", 30),
        # one of a trained model, and nobody knows when it was
        "0: [after training is done] datetime: 2026-03-01 10:04:40 ",
        "0: [2026-03-01 10:04:40.000000] saving checkpoint at iteration     30 to /c",
        *late,
        "0:   [2026-03-01 10:04:42.500000] successfully saved checkpoint from iteration  30 to /c",
    )

    assert [(101.5, 113.5)] == spans(told, "evaluation")
    assert [(113.5, 123.5), (182.0, 184.5), (280.0, 282.5)] == spans(told, "checkpoint_save")


def test_a_newer_megatron_tells_the_times_of_its_saves() -> None:
    told = read(
        MEGATRON.splitlines()[9],
        "[2026-03-01 10:02:00.250000] saving checkpoint at iteration     450 to /c in torch format",
        "  [2026-03-01 10:02:03.500000] scheduled an async checkpoint save at iteration  450 to /c",
        " [2026-03-01 10:02:20.000000] iteration 460/1000 | elapsed time per iteration (ms): 9.0 |",
        "  [2026-03-01 10:02:30.000000] successfully saved checkpoint from iteration     450 to /c",
    )

    assert [
        ("phase_start", "checkpoint_save", 120.25, 450),
        ("phase_end", "checkpoint_save", 123.5, 450),
        ("phase_start", "checkpoint_upload", 123.5, 450),
    ] == phases(told)[1:]
    assert [150.0] == [(e["end_us"] - us(DAY)) / SECOND_US for e in told if "end_us" in e]
    assert ["async"] == [e["mode"] for e in told if "mode" in e]


@pytest.mark.parametrize(
    ("scheduled", "saved"),
    [
        (
            "scheduled an async checkpoint save at iteration     {} to /c",
            "successfully saved checkpoint from iteration     {} to /c",
        ),
        (
            "Scheduled async checkpoint save for /c/step={}-last.ckpt",
            "Async checkpoint save for step 0 (/c/step={}-last.ckpt) finalized successfully.",
        ),
    ],
)
def test_a_save_that_is_never_said_to_be_written_is_still_on_its_way(
    scheduled: str, saved: str
) -> None:
    first = [
        MEGATRON.splitlines()[9],
        f"[2026-03-01 10:02:03.500000] {scheduled.format(450)}",
        " [2026-03-01 10:02:20.000000] iteration 460/1000 | elapsed time per iteration (ms): 9.0 |",
        f"[2026-03-01 10:02:30.000000] {saved.format(450)}",
        f"[2026-03-01 10:03:03.500000] {scheduled.format(470)}",
    ]
    cut_off = read(*first)
    whole = read(*first, f"[2026-03-01 10:03:10.000000] {saved.format(470)}")

    assert [(450, 150.0), (470, None)] == uploads_of(cut_off)
    assert [(450, 150.0), (470, 190.0)] == uploads_of(whole)


def test_the_only_save_that_was_never_said_to_be_written_keeps_nothing() -> None:
    lines = [
        *MEGATRON.splitlines()[:10],
        "[2026-03-01 10:02:03.500000] scheduled an async checkpoint save at iteration 450 to /c",
        " [2026-03-01 10:02:20.000000] iteration 460/1000 | elapsed time per iteration (ms): 9.0 |",
    ]
    written = (
        "[2026-03-01 10:02:20.500000] successfully saved checkpoint from iteration     450 to /c"
    )
    error = "[2026-03-01 10:02:21.000000] torch.OutOfMemoryError: CUDA out of memory."

    later = us(DAY + timedelta(days=2))
    [lost] = attempts(read(*lines, error), later)
    [kept] = attempts(read(*lines, written, error), later)

    assert 0 == seconds_by_area([lost]).get("effective", 0)
    assert 0 < seconds_by_area([kept])["effective"]


def test_a_save_of_megatron_that_tells_its_length_alone_follows_its_step() -> None:
    of_the_first = ("checkpoint at", "checkpoint from", "valuat", "validation")
    told = read(*(line for line in MEGATRON.splitlines() if not any(map(line.count, of_the_first))))

    assert [(101.0, 121.2005)] == spans(told, "checkpoint_save")


def test_an_evaluation_of_megatron_that_tells_its_length_alone_follows_its_step() -> None:
    told = read(*(line for line in MEGATRON.splitlines() if not line.startswith("Evaluating ")))

    assert [(101.0, 113.0)] == spans(told, "evaluation")
    assert [(113.0, 133.2005)] == spans(told, "checkpoint_save")


@pytest.mark.parametrize("length", ["(ms): 2000.0", "(s): 2.00"])
def test_forks_of_megatron_tell_how_long_steps_took_in_seconds(length: str) -> None:
    step = "iteration {0:8d}/  115311 | consumed samples: {0:12d} | consumed tokens: {0:12d} | "
    told = read(
        f"2026-03-01T10:01:00+0000 [default7]: {step.format(10)}elapsed time per iteration "
        f"{length} | learning rate: 5.9E-05 | global batch size:    16 | lm loss: 2.4E+00 |",
        f"2026-03-01T10:01:20+0000 [default7]: {step.format(20)}elapsed time per iteration "
        f"{length} | learning rate: 5.9E-05 | global batch size:    16 | lm loss: 2.4E+00 |",
    )

    assert [(60.0, 10), (80.0, 20)] == steps(told)
    assert [10, 20] == [event["samples"] for event in of(told, "progress")]
    assert [("phase_start", "training", 58.0, None)] == phases(told)


def test_a_log_of_deepspeed_tells_saves_and_the_signal_that_ended_it() -> None:
    told = read(DEEPSPEED)
    (failure,) = of(told, "failure")

    assert [
        ("phase_start", "training", 100.0, None),  # step=0 is told before training
        ("phase_start", "checkpoint_save", 161.0, 20),
        ("phase_end", "checkpoint_save", 165.0, 20),
        ("phase_end", "training", 240.256, None),
    ] == phases(told)
    assert ("attempt_end", "failed", 6, 240.256) == (
        told[-1]["event"],
        told[-1]["outcome"],
        told[-1]["signal"],
        since(told[-1]),
    )
    assert failure["message"].startswith("RuntimeError: CUDA error: an illegal memory access")
    assert "engine.backward(loss)" in failure["message"]
    assert ({"line": 15}, 220.0) == (json.loads(failure["attrs"]), since(failure))
    assert 0.1 == since(of(told, "attempt_start")[0])


@pytest.mark.parametrize(
    ("end", "saves"),
    [
        ("[INFO] [launch.py:285:main] Process 7 exits successfully.", [("end", 161.1)]),
        ("[ERROR] [launch.py:259:main] ['python3'] exits with return code = 1", []),
    ],
)
def test_what_a_run_that_came_to_its_end_saved_last_is_over_with_the_last_that_was_told_of_it(
    end: str, saves: list[tuple[str, float]]
) -> None:
    """DeepSpeed 0.19 tells no end of a save."""
    told = read(
        *DEEPSPEED.splitlines()[:-8],
        f"[2026-03-01 10:04:00,000] {end}",
    )
    ends = [
        ("end", since(event))
        for event in told
        if event["event"] == "phase_end" and event["phase"] == "checkpoint_save"
    ]

    assert saves == ends
    # whether it trained after that no line tells
    assert saves == [
        ("end", since(event))
        for event in told
        if event["event"] == "phase_end" and event["phase"] == "training"
    ]


@pytest.mark.parametrize(
    ("lines", "saves", "uploads"),
    [
        (
            [
                "[NeMo I 2026-03-01 10:01:26 nemo_logging:393] Scheduled async checkpoint save for "
                "/ckpt/gpt--val_loss=0.00-step=24-consumed_samples=9728.0-last.ckpt",
                "2026-03-01T10:01:30Z Training epoch 0, iteration 25/90 | global_step: 25 |",
                "[NeMo I 2026-03-01 10:01:50 nemo_logging:393] Successfully saved checkpoint from "
                "iteration      24 to /ckpt/gpt--step=24-last.ckpt",
                "[NeMo I 2026-03-01 10:01:50 nemo_logging:393] Async checkpoint save for step 25 "
                "(/ckpt/gpt--step=24-last.ckpt) finalized successfully.",
            ],
            [(59.5, 86.0)],
            [(86.0, 110.0, 24)],
        ),
        (
            [
                "[NeMo I 2026-03-01 10:01:31 nemo_logging:393] Successfully saved checkpoint from "
                "iteration      24 to /ckpt/gpt-last.ckpt",
            ],
            [(59.5, 91.0)],
            [],
        ),
    ],
)
def test_nemo_tells_how_long_saves_took(
    lines: list[str],
    saves: list[tuple[float, float]],
    uploads: list[tuple[float, float, int]],
) -> None:
    told = read(
        "2026-03-01T10:00:50Z Training epoch 0, iteration 24/90 | global_step: 24 |",
        "[NeMo I 2026-03-01 10:01:25 nemo_logging:393] Global Checkpoint Save : Rank: 0 : "
        "Iteration: 24 : Start time: 1772359259.5s : Save duration: 25.500s",
        *lines,
        "2026-03-01T10:02:00Z Training epoch 0, iteration 26/90 | global_step: 26 |",
    )

    assert saves == spans(told, "checkpoint_save")
    assert uploads == [
        (since(event), (event["end_us"] - us(DAY)) / SECOND_US, event["step"])
        for event in told
        if event.get("phase") == "checkpoint_upload"
    ]


def test_nanotron_begins_with_its_configuration_and_trains_once_it_says_so() -> None:
    line = "2026-03-01T10:{}+0000 03/01 10:00:00 [{}|DP=0|PP=0|TP=0]: {}"
    told = read(
        line.format("00:00", "INFO", "Config:"),
        line.format("00:01", "INFO", "Model Config:"),
        line.format("00:10", "INFO", "mbs: 2 | cp: 1 | start_iteration_step: 0 | consumed: 0"),
        line.format("00:20", "INFO", "iteration: 1 / 45 | x: 1 | time_per_iteration_ms: 500 | y"),
        line.format("00:21", "INFO", "iteration: 2 / 45 | x: 1 | time_per_iteration_ms: 500 | y"),
        line.format("05:00", "INFO", "Loading weights from /c/run/2"),
        line.format("05:02", "INFO", "Config:"),
        line.format("05:10", "INFO", "mbs: 2 | cp: 1 | start_iteration_step: 2 | consumed: 0"),
        line.format("05:20", "INFO", "iteration: 3 / 45 | x: 1 | time_per_iteration_ms: 500 | y"),
    )

    assert [0.0, 300.0] == [since(event) for event in of(told, "attempt_start")]
    assert [("phase_start", 10.0), ("phase_start", 310.0)] == [
        (kind, at) for kind, phase, at, _ in phases(told) if phase == "training"
    ]
    assert [(310.0, 2)] == resumed(told)


def test_newer_logs_of_nanotron_tell_no_year_and_no_elapsed_time(tmp_path: Path) -> None:
    log = tmp_path / "run" / "train.log"
    log.parent.mkdir()
    head = "\x1b[2;3m03/01 10:00:{} [{}{}]\x1b[0m: {}".format
    rank = "|DP=0|TP=1|node-3"
    lines = [
        head("01", "INFO", rank, "Loading checkpoint from /c/run/40"),
        head("12", "INFO", rank, "iteration: 41 / 90 | time_per_iteration_ms: 2.5K | lm_loss: 2.3"),
        head("14", "INFO", "", "iteration: 42 / 90 | time_per_iteration_ms: 950 | lm_loss: 2.3"),
        head("15", "WARNING", rank, "Saving checkpoint at /c/run/42"),
        head("30", "INFO", rank, "iteration: 43 / 90 | time_per_iteration_ms: 950 | lm_loss: 2.3"),
    ]
    log.write_text("".join(f"{line}\n" for line in lines))
    os.utime(log, (DAY.timestamp() + 60,) * 2)
    told = read_file(log)

    assert [(12.0, 41), (14.0, 42), (30.0, 43)] == steps(told)
    assert [(9.5, 40)] == resumed(told)
    assert [(15.0, 15.0)] == spans(told, "checkpoint_save")


def test_a_load_of_deepspeed_tells_the_step_of_its_folder() -> None:
    told = read(
        "[2026-03-01 10:00:00,000] [Torch] Loading checkpoint from out/global_step20/states.pt...",
        "[2026-03-01 10:00:05,000] [Torch] Loaded checkpoint from out/global_step20/states.pt.",
        "[2026-03-01 10:00:20,000] [INFO] [Rank 0] step=30, skipped=0, lr=[0.1]",
    )

    assert [("phase_start", 20), ("phase_end", 20)] == [(e[0], e[3]) for e in phases(told)[:2]]
    assert [20] == [step for _, step in resumed(told)]


def test_gpt_neox_says_when_it_trains_and_loads_nothing_at_iteration_0() -> None:
    step = (
        "samples/sec: 12.0 | iteration {:8d}/    1000 | elapsed time per iteration (ms): 2000.0 |"
    )
    told = read(
        "2026-03-01T10:00:00Z [INFO] [launch.py:145:main] WORLD INFO DICT: ",
        "2026-03-01T10:00:30Z Loading checkpoint and starting from iteration 0",
        "2026-03-01T10:01:10Z training ...",
        f"2026-03-01T10:01:40Z {step.format(10)}",
        "2026-03-01T10:10:00Z [INFO] [launch.py:145:main] WORLD INFO DICT: ",
        "2026-03-01T10:10:30Z [Torch] Loading checkpoint from /c/global_step10/mp_rank_00_model.pt",
        "2026-03-01T10:10:50Z Loading checkpoint and starting from iteration 10",
        "2026-03-01T10:11:10Z training ...",
        f"2026-03-01T10:11:40Z {step.format(20)}",
    )

    assert [70.0, 670.0] == [
        at for kind, phase, at, _ in phases(told) if (kind, phase) == ("phase_start", "training")
    ]
    assert [(630.0, 650.0)] == spans(told, "checkpoint_load")
    assert [(70.0, 0), (670.0, 10)] == resumed(told)


@pytest.mark.parametrize("line", ["I start training ...", "retraining ...", "training ... is slow"])
def test_that_something_will_be_trained_does_not_begin_training(line: str) -> None:
    told = read("2026-03-01T10:00:00Z Starting run x", f"2026-03-01T10:00:10Z {line}")

    assert [] == phases(told)


@pytest.mark.parametrize("the", ["the ", ""])
def test_the_model_that_lightning_tests_is_loaded_before_it_is_tested(the: str) -> None:
    told = read(
        "2026-03-01T10:00:00Z step 100 loss 1",
        "2026-03-01T10:00:10Z `Trainer.fit` stopped: `max_steps=100` reached.",
        "2026-03-01T10:00:20Z Restoring states from the checkpoint path at /c/e=0-step=80.ckpt",
        f"2026-03-01T10:00:25Z Loaded model weights from {the}checkpoint at /c/e=0-step=80.ckpt",
        "2026-03-01T10:10:00Z test_loss 2.1",
    )

    assert [(20.0, 25.0)] == spans(told, "checkpoint_load")
    assert [] == resumed(told)


def test_lightning_tells_that_its_processes_begin_and_what_it_saves() -> None:
    begins = "All distributed processes registered. Starting with 8 processes"
    saves = "Epoch 0, global step {}: '{}' reached 2.3 (best 2.3), saving model to '/c/best.ckpt'"
    told = read(
        f"2026-03-01T10:00:00Z {begins}",
        "2026-03-01T10:01:00Z Epoch 0 global step 10 loss 2.5",
        f"2026-03-01T10:01:10Z {saves.format(20, 'val/loss')} as top 3",
        "2026-03-01T10:02:00Z Epoch 0 global step 30 loss 2.5",
        f"2026-03-01T10:02:10Z {saves.format(40, 'val_acc')} as top 3",
        "2026-03-01T10:02:11Z Epoch 0, global step 50: 'val_acc' was not in top 3",
        f"2026-03-01T10:10:00Z {begins}",
        "2026-03-01T10:11:00Z RuntimeError: CUDA error: out of memory",
    )

    assert [20, 20, 40] == [step for _, phase, _, step in phases(told) if "save" in phase]
    assert [0.0, 600.0] == [since(event) for event in of(told, "attempt_start")]


def test_what_lightning_and_nemo_tell_of_one_save_is_one() -> None:
    told = read(
        "2026-03-01T10:00:20Z Training epoch 0, iteration 20/90 | global_step: 20 |",
        "2026-03-01T10:01:00Z Epoch 0, global step 25: 'val_loss' reached 9.8 (best 9.8), saving "
        "model to '/ckpt/gpt--val_loss=9.80-step=24-consumed_samples=9728.0.ckpt' as top 1",
        "2026-03-01T10:01:25Z Global Checkpoint Save : Rank: 0 : Iteration: 24 : "
        "Start time: 1772359260.0s : Save duration: 25.000s",
        "2026-03-01T10:01:30Z Training epoch 0, iteration 25/90 | global_step: 25 |",
    )

    assert [(60.0, 85.0)] == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    ("said", "begun"),
    [
        # as releases before 0.16 say it, which tell no time before
        (["time to initialize megatron (seconds): 48.500"], [1.5, 601.5]),
        (
            [
                "time to initialize megatron (seconds): 46.000",
                "[after in-process setup and before initialize_megatron] datetime: "
                "2026-03-01 10:{}:05.000000 ",
                "[after in-job setup and before initialize_megatron] datetime: "
                "2026-03-01 10:{}:20.000000 ",
            ],
            [4.0, 604.0],
        ),
        (
            [
                "time to initialize megatron (seconds): -0.107",
                "[after in-process setup and before initialize_megatron] datetime: "
                "2026-03-01 10:{}:05.000000 ",
            ],
            [5.0, 605.0],
        ),
        (
            [
                "time to initialize megatron (seconds): 45.100",
                "[after in-process setup and before initialize_megatron] datetime: "
                "2026-03-01 10:{}:05.000000 ",
                "[before library-setup] datetime: 2026-03-01 10:{}:02.500000",
                "[after library-setup] datetime: 2026-03-01 10:{}:04.500000",
            ],
            [2.5, 602.5],
        ),
    ],
)
def test_a_launch_of_megatron_begins_before_megatron_is_initialized(
    said: list[str], begun: list[float]
) -> None:
    told = read(
        *(
            line.format(minute)
            for minute in ("00", "10")
            for line in (
                "using world size: 16, data-parallel size: 4, context-parallel size: 1",
                *said,
                "[after megatron is initialized] datetime: 2026-03-01 10:{}:50.000000 ",
                "[before the start of training step] datetime: 2026-03-01 10:{}:55.000000 ",
                " [2026-03-01 10:{}:59.000000] iteration       10/    1000 | consumed samples: "
                "1280 | elapsed time per iteration (ms): 400.0 | lm loss: 7.4E+00 |",
            )
        )
    )

    assert begun == [since(event) for event in of(told, "attempt_start")]
    assert [55.0, 655.0] == [since(e) for e in told if e.get("phase") == "training"]


def test_megatron_that_starts_anew_in_its_process_tells_when_that_began() -> None:
    log = MEGATRON.splitlines()
    process = "[before library-setup] datetime: 2026-03-01 10:00:10.000000"
    first = [*log[:2], process, *log[2:-1]]
    again = [line.replace("10:0", "10:1") for line in [*log[:2], *log[2:]]]
    told = read(*first, *again[:2], process, *again[2:])

    assert [10.0, 630.0] == [since(event) for event in of(told, "attempt_start")]


def test_an_exception_after_which_megatron_starts_anew_in_the_process_is_told() -> None:
    log = MEGATRON.splitlines()
    done = next(at for at, line in enumerate(log) if "after training is done" in line)
    later = [line.replace("10:0", "10:1") for line in log]
    raised = "ERROR:nvidia_resiliency_ext.inprocess.wrap:[2026-03-01 10:02:40.1] "
    told = read(*log[:done], f"{raised}rank=3 fn_ex: KeyError('tokens')", *later)

    (failure,) = of(told, "failure")
    assert 153.0 == since(failure)
    assert failure["message"].endswith("rank=3 fn_ex: KeyError('tokens')")
    assert 2 == len(of(told, "attempt_start"))
    assert failure["run_key"] == told[1]["run_key"]


def test_numbers_may_be_set_in_columns() -> None:
    told = read(
        *(
            f"2026-03-01 10:00:{7 * n:02}  iteration  {n}/50000 | consumed samples: 5632 | "
            "consumed tokens:  11534336 | elapsed time per iteration (ms):   7000.0 | lm loss:  1.3"
            for n in range(1, 4)
        )
    )

    assert [1, 2, 3] == [step for _, step in steps(told)]


def test_a_save_of_nemo_that_is_told_with_two_steps_is_one() -> None:
    path = "/ckpt/step=19-consumed_samples=160.0.ckpt"
    step = "2026-03-01 10:{} Training epoch 0, iteration {}/32 | lr: 0.001 | global_step: {} | x: 1"
    told = read(
        step.format("00:30", 19, 19),
        "2026-03-01 10:00:30 Epoch 0, global step 19: 'loss' reached 6.84 (best 6.84),"
        f" saving model to '{path}' as top 1",
        "2026-03-01 10:00:34 Global Checkpoint Save : Rank: 0 : Iteration: 18 : "
        "Start time: 1772359230.0s : Save duration: 4.000s",
        f"2026-03-01 10:00:35 Scheduled async checkpoint save for {path}",
        step.format("00:40", 20, 20),
        f"2026-03-01 10:00:50 Successfully saved checkpoint from iteration      18 to {path}",
        f"2026-03-01 10:00:50 Async checkpoint save for step 20 ({path}) finalized successfully.",
        step.format("01:00", 21, 21),
    )

    assert [(30.0, 35.0)] == spans(told, "checkpoint_save")
    assert {19} == {e["step"] for e in told if str(e.get("phase")).startswith("checkpoint")}
    assert ["async"] == [e["mode"] for e in told if "mode" in e]


def test_megatron_that_ends_for_now_has_done_what_it_was_asked_for() -> None:
    log = MEGATRON.splitlines()
    done = next(at for at, line in enumerate(log) if "after training is done" in line)
    left = log[done].replace("after training is done", "exiting program after 55.1 minutes")
    later = [line.replace("10:0", "11:0") for line in log]
    told = read(*log[:done], left, *later)

    assert ["completed", "completed"] == [end["outcome"] for end in of(told, "attempt_end")]
    assert 2 == len(of(told, "attempt_start"))


def test_who_asked_megatron_to_stop_by_a_signal_is_not_told() -> None:
    log = MEGATRON.splitlines()
    done = next(at for at, line in enumerate(log) if "after training is done" in line)
    told = read(
        *log[:done],
        log[done].replace("after training is done", "exiting program after receiving SIGTERM."),
    )

    assert [] == of(told, "attempt_end")
