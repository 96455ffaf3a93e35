"""Plain logs of trainers: one of each framework, written for these tests, and what goes wrong."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors.base import Dump, Line, Reading
from ingest.collectors.lines import clock_of, without_colours
from ingest.collectors.training_log import TRAINING_LOG, trainer_events
from ingest.collectors.training_log_patterns import Means, Pattern, patterns, patterns_of
from ingest.errors import UnreadableDump, UnusableArguments
from ingest.events import Event, Rejected
from ingest.formats import FORMATS, recognise
from tests.ingest.launches import attempts, seconds_by_area
from tests.oracle.measures import AttemptMeasures
from tests.queries.engine import ingest, rows

SECOND_US = 1_000_000
DAY = datetime(2026, 3, 1, 10, tzinfo=UTC)  # all logs begin then


MEGATRON = """\
using world size: 16, data-parallel size: 4, context-parallel size: 1, tensor-model-parallel size: 4
> initializing torch distributed ...
[after megatron is initialized] datetime: 2026-03-01 10:00:30
 loading checkpoint from /ckpt/gpt at iteration 400
  successfully loaded checkpoint from /ckpt/gpt [ t 1/4, p 1/1 ] at iteration 400
(min, max) time across ranks (ms):
    load-checkpoint ................................: (8000.10, 8123.45)
[after dataloaders are built] datetime: 2026-03-01 10:01:00
training ...
[before the start of training step] datetime: 2026-03-01 10:01:01
 [2026-03-01 10:01:21] iteration      410/    1000 | consumed samples:       104960 | \
elapsed time per iteration (ms): 2000.0 | learning rate: 1.0E-04 | lm loss: 7.4E+00 |
 [2026-03-01 10:01:41] iteration      420/    1000 | consumed samples:       107520 | \
elapsed time per iteration (ms): 2000.0 | learning rate: 1.0E-04 | lm loss: 7.2E+00 |
Evaluating on 2560 samples
Evaluating iter 1/10
(min, max) time across ranks (ms):
    evaluate .......................................: (11900.00, 12000.00)
 validation loss at iteration 420 | lm loss value: 7.1E+00 | lm loss PPL: 1.2E+03 |
saving checkpoint at iteration     420 to /ckpt/gpt in torch_dist format
  successfully saved checkpoint from iteration     420 to /ckpt/gpt [ t 1/4, p 1/1 ]
(min, max) time across ranks (ms):
    save-checkpoint ................................: (20100.00, 20200.50)
 [2026-03-01 10:02:33] iteration      430/    1000 | consumed samples:       110080 | \
elapsed time per iteration (ms): 2000.0 | learning rate: 1.0E-04 | lm loss: 7.1E+00 |
[after training is done] datetime: 2026-03-01 10:02:34
"""

DEEPSPEED = """\
[2026-03-01 10:00:00,100] [INFO] [real_accelerator.py:191:get_accelerator] Setting ds_accelerator
[2026-03-01 10:00:08,424] [INFO] [launch.py:145:main] WORLD INFO DICT: {'localhost': [0, 1]}
[2026-03-01 10:00:08,424] [INFO] [launch.py:163:main] dist_world_size=2
[2026-03-01 10:00:40,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=0, skipped=0, lr=[0.001]
[2026-03-01 10:01:40,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.001]
[2026-03-01 10:01:40,004] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, \
RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=25.7, MemAllocated=4.32GB, MaxMemAllocated=38.49GB
[2026-03-01 10:02:40,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, lr=[0.001]
[2026-03-01 10:02:41,000] [INFO] [logging.py:96:log_dist] [Rank 0] [Torch] Checkpoint \
global_step20 is about to be saved!
[2026-03-01 10:02:41,100] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving \
out/global_step20/mp_rank_00_model_states.pt...
[2026-03-01 10:02:45,000] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint \
global_step20 is ready now!
[2026-03-01 10:03:40,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=30, skipped=0, lr=[0.001]
Traceback (most recent call last):
  File "/workspace/train.py", line 99, in <module>
    engine.backward(loss)
RuntimeError: CUDA error: an illegal memory access was encountered
[2026-03-01 10:03:59,256] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 2348
[2026-03-01 10:04:00,256] [ERROR] [launch.py:325:sigkill_handler] ['python3', 'train.py'] exits \
with return code = -6
"""

TORCHTITAN = """\
[rank0]:[titan] 2026-03-01 10:00:00,000 - root - INFO - Starting job: a debug model
[rank1]:[titan] 2026-03-01 10:00:00,100 - root - INFO - Starting job: a debug model
[rank0]:[titan] 2026-03-01 10:00:05,000 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with \
79.10GiB memory
[rank0]:[titan] 2026-03-01 10:00:20,000 - root - INFO - Loading the checkpoint from out/step-100.
[rank0]:[titan] 2026-03-01 10:00:26,000 - root - INFO - Finished loading the checkpoint in 6.00 \
seconds.
[rank0]:[titan] 2026-03-01 10:00:27,000 - root - INFO - Training starts at step 101
[rank0]:[titan] 2026-03-01 10:00:47,000 - root - INFO - \x1b[31mstep: 101  \x1b[32mloss: 7.2\x1b[39m
[rank1]:[titan] 2026-03-01 10:00:47,002 - root - INFO - \x1b[31mstep: 101  \x1b[32mloss: 7.2\x1b[39m
[rank0]:[titan] 2026-03-01 10:01:07,000 - root - INFO - \x1b[31mstep: 110  \x1b[32mloss: 7.1\x1b[39m
[rank0]:[titan] 2026-03-01 10:01:07,010 - root - INFO - Staging the checkpoint.
[rank0]:[titan] 2026-03-01 10:01:09,510 - root - INFO - Finished staging the checkpoint in 2.50 \
seconds.
[rank0]:[titan] 2026-03-01 10:01:17,000 - root - INFO - \x1b[31mstep: 120  \x1b[32mloss: 7.0\x1b[39m
[rank0]:[titan] 2026-03-01 10:01:20,000 - root - INFO - Finish saving the checkpoint in the \
background process in 10.00 seconds.
[rank0]:[titan] 2026-03-01 10:01:27,000 - root - INFO - \x1b[31mstep: 130  \x1b[32mloss: 7.0\x1b[39m
"""

TRAINER = """\
[INFO|trainer.py:2134] 2026-03-01 10:00:00,100 >> ***** Running training *****
[INFO|trainer.py:2135] 2026-03-01 10:00:00,101 >>   Num examples = 1,000
[INFO|trainer.py:2141] 2026-03-01 10:00:00,102 >>   Continuing training from global step 500
  5%|▌   | 510/1000 [00:20<08:20, 1.00it/s]{'loss': 2.6, 'grad_norm': 1.1, 'epoch': 0.5}
 50%|█   | 800/1000 [05:00<08:20, 1.00it/s]03/01/2026 10:05:00 - INFO - tuner - {'loss': 2.5}
100%|███| 1000/1000 [08:20<00:00, 1.0it/s][INFO|trainer.py:3503] 2026-03-01 10:08:20,500 >> Saving \
model checkpoint to out/tst/checkpoint-1000
[INFO|configuration_utils.py:472] 2026-03-01 10:08:20,600 >> Configuration saved in out/tst/c.json
[INFO|modeling_utils.py:2595] 2026-03-01 10:08:24,000 >> Model weights saved in out/tst/m.bin
[INFO|trainer.py:2394] 2026-03-01 10:08:26,000 >>

Training completed. Do not forget to share your model on huggingface.co/models =)


{'train_runtime': 506.0, 'train_samples_per_second': 1.9, 'train_loss': 2.5, 'epoch': 1.0}
[INFO|trainer.py:3819] 2026-03-01 10:08:30,000 >> ***** Running Evaluation *****
{'eval_loss': 2.2, 'eval_runtime': 12.5, 'eval_samples_per_second': 8.0, 'epoch': 1.0}
"""

NANOGPT = """\
2026-03-01T10:00:00.000+0000 tokens per iteration will be: 491,520
2026-03-01T10:00:10.000+0000 Initializing a new model from scratch
2026-03-01T10:00:20.000+0000 compiling the model... (takes a ~minute)
2026-03-01T10:01:20.000+0000 step 0: train loss 10.9, val loss 10.9
2026-03-01T10:02:00.000+0000 iter 0: loss 10.9231, time 40000.00ms, mfu -100.00%
2026-03-01T10:02:10.000+0000 iter 10: loss 9.1231, time 1000.00ms, mfu 31.00%
2026-03-01T10:02:30.000+0000 step 20: train loss 8.9, val loss 8.9
2026-03-01T10:02:31.000+0000 saving checkpoint to out
2026-03-01T10:02:41.000+0000 iter 20: loss 8.8231, time 21000.00ms, mfu 31.00%
"""

OLMO_CORE = """\
00:00.000 train:148 Using distributed backend nccl
00:20.000 train.trainer:902 Loading checkpoint from '/c/run/step100'...
00:31.000 train.trainer:923 Checkpoint successfully loaded
00:32.000 train.trainer:719 Training for 1,000 steps
00:33.000 train.trainer:1462 Starting forward/backward dry-run batch...
01:00.000 train.trainer:1464 Dry-run complete
01:00.500 train.trainer:1469 Starting epoch 1...
01:02.500 train.callbacks.console_logger:61 [step=101/1000,epoch=1]
01:04.500 train.callbacks.console_logger:68 [step=102/1000,epoch=1,eta=2h5m]
01:05.000 train.trainer:1008 Saving checkpoint for step 102 to '/c/run/step102' asynchronously...
01:08.000 train.callbacks.console_logger:61 [step=103/1000,epoch=1]
01:20.000 train.trainer:1031 Checkpoint for step 102 saved successfully
01:30.000 train.callbacks.evaluator_callback:134 Running lm evals...
01:40.000 train.callbacks.evaluator_callback:215 [eval=lm,step=10/20]
01:48.500 train.callbacks.evaluator_callback:178 Finished lm evals in 18.5 seconds. Metrics:
01:50.000 train.trainer:1530 Epoch complete
01:50.500 train.trainer:1469 Starting epoch 2...
01:52.000 train.callbacks.console_logger:61 [step=104/1000,epoch=2]
02:00.000 train.trainer:970 Saving checkpoint for step 104 to '/c/run/step104'...
02:09.000 train.trainer:990 Checkpoint saved
02:10.000 train.trainer:764 Training complete"""


def olmo_core(text: str = OLMO_CORE) -> list[str]:
    return [
        "2026-03-01 10:{}\tnode-1:0\tolmo_core.{}\tINFO\t{}".format(*line.split(" ", 2))
        for line in text.splitlines()
    ]


MAXTEXT = """\
00:01.0 checkpointing.py:525 restoring from this run's directory step 8
00:01.5 checkpointer.py:304 Restoring checkpoint from gs://b/c/8.
00:05.5 checkpointer.py:319 Finished restoring checkpoint in 4.00 seconds from gs://b/c/8.
00:40.0 metric_logger.py:181 completed step: 9, seconds: 30.5, TFLOP/s/device: 1.1, loss: 2.1
00:50.0 metric_logger.py:181 completed step: 10, seconds: 10.0, TFLOP/s/device: 90.1, loss: 2.1
01:00.0 metric_logger.py:181 completed step: 11, seconds: 10.0, TFLOP/s/device: 90.1, loss: 2.1
01:00.5 async_checkpointer.py:453 [process=0] Started async saving checkpoint to gs://b/c/11.
01:02.5 async_checkpointer.py:562 Finished blocking save. Time taken: 2.000000s. Continuing \
background save to gs://b/c/11.
01:02.5 checkpointing.py:451 Started an asynchronous checkpoint save for step 11
01:12.5 metric_logger.py:181 completed step: 12, seconds: 10.0, TFLOP/s/device: 90.1, loss: 2.1
01:20.5 async_checkpointer.py:421 Finished async_save (blocking + background). Time taken: \
20.000000s. directory=gs://b/c/11
01:22.5 metric_logger.py:181 completed step: 13, seconds: 10.0, TFLOP/s/device: 90.1, loss: 2.1
01:30.0 metric_logger.py:264 Completed eval step: 0, seconds: 7.0, running loss=2.100
01:31.0 metric_logger.py:236 Completed eval after train step 13, loss=2.100, perplexity=8.1
01:41.0 metric_logger.py:181 completed step: 14, seconds: 10.0, TFLOP/s/device: 90.1, loss: 2.1"""


LOGS = {
    "Megatron-LM": MEGATRON,
    "DeepSpeed": DEEPSPEED,
    "torchtitan": TORCHTITAN,
    "Hugging Face Trainer": TRAINER,
    "nanoGPT": NANOGPT,
    "OLMo-core": "\n".join(olmo_core()),
    "MaxText": "\n".join(
        "I20260301 10:{} 7 {}] {}".format(*line.split(" ", 2)) for line in MAXTEXT.splitlines()
    ),
}


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


def uploads_of(told: list[Event]) -> list[tuple[int, float | None]]:
    """Step and end of each upload; None: it has not ended."""
    return [
        (e["step"], (e["end_us"] - us(DAY)) / SECOND_US if "end_us" in e else None)
        for e in told
        if e.get("phase") == "checkpoint_upload"
    ]


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


def test_a_log_of_torchtitan_is_read_through_its_colours() -> None:
    told = read(TORCHTITAN)

    assert [
        ("phase_start", "checkpoint_load", 20.0, 100),
        ("phase_end", "checkpoint_load", 26.0, 100),
        ("phase_start", "training", 27.0, None),
        ("phase_start", "checkpoint_save", 67.01, None),
        ("phase_end", "checkpoint_save", 69.51, None),
        ("phase_start", "checkpoint_upload", 70.0, None),
    ] == phases(told)
    assert [(47.0, 101), (67.0, 110), (77.0, 120), (87.0, 130)] == steps(told)
    assert [(27.0, 100)] == resumed(told)
    assert "NVIDIA H100 80GB HBM3" == told[0]["gpu_type"]
    assert 1 == len(of(told, "attempt_start"))


def test_a_log_of_the_trainer_is_read_through_its_progress_bars() -> None:
    told = read(TRAINER)

    assert [
        ("phase_start", "training", 0.1, None),
        ("phase_start", "checkpoint_save", 500.5, 1000),
        ("phase_end", "checkpoint_save", 504.0, 1000),  # the last that it tells of the save
        ("phase_end", "training", 506.0, None),
        ("phase_start", "evaluation", 510.0, None),
        ("phase_end", "evaluation", 522.5, None),
    ] == phases(told)
    assert [(300.0, 800), (500.5, 1000)] == steps(told)
    assert [(0.1, 500)] == resumed(told)
    assert ("completed", 522.5) == (told[-1]["outcome"], since(told[-1]))


def test_a_tuner_that_puts_its_level_and_the_time_into_one_bracket_tells_its_steps() -> None:
    told = read(
        " 10%|█   | 10/100 [00:20<03:00, 2.00s/it][INFO|2026-03-01 10:00:20] tuner.callbacks:1 >> "
        "{'loss': 1.5, 'epoch': 0.1}",
        " 10%|█   | 10/100 [00:20<03:00, 2.00s/it][INFO|trainer.py:1] 2026-03-01 10:00:21,500 >> "
        "Saving model checkpoint to out/checkpoint-10",
        "[INFO|tokenization.py:2] 2026-03-01 10:00:24,500 >> Special tokens file saved in out/x",
        " 20%|██  | 20/100 [00:45<03:00, 2.00s/it][INFO|2026-03-01 10:00:45] tuner.callbacks:1 >> "
        "{'loss': 1.4, 'epoch': 0.2}",
    )

    assert [(20.0, 10), (45.0, 20)] == steps(told)
    assert [(21.5, 24.5)] == spans(told, "checkpoint_save")


def test_what_overwrote_a_progress_bar_has_its_step_and_the_time_before_the_line() -> None:
    bar = "\r {0:2d}%|█    | {0}0/1000 [00:12<19:50,  1.20s/it]"
    told = read(
        "[rank0]: 2026-03-01T10:00:00+0000 ***** Running training *****",
        *(
            f"[rank0]: 2026-03-01T10:0{done}:00+0000 {bar.format(done - 1)}{bar.format(done)}"
            f"\r{' ' * 50}\r{{'loss': 2.1, 'learning_rate': 1e-05, 'epoch': 0.1}}"
            for done in (1, 2, 3)
        ),
        # a program's own line, of which nobody knows how long it was written
        f"2026-03-01 10:04:00 - INFO - on it{bar.format(8)}\r{' ' * 50}\r{{'loss': 2.1}}",
    )

    assert [(60.0, 10), (120.0, 20), (180.0, 30)] == steps(told)


def test_a_bar_whose_carriage_returns_were_taken_away_has_the_time_before_the_line() -> None:
    bar = " {0:2d}%|█    | {0}0/1000 [00:12<19:50,  1.20s/it]"
    told = read(
        "[rank0]: 2026-03-01T10:00:00+0000 ***** Running training *****",
        *(
            f"[rank0]: 2026-03-01T10:0{done}:00+0000 {bar.format(done - 1)}{bar.format(done)}"
            "{'loss': 2.1, 'learning_rate': 1e-05, 'epoch': 0.1}"
            for done in (1, 2, 3)
        ),
        f"[rank0]: 2026-03-01T10:04:00+0000 {bar.format(3)}Saving model checkpoint to /a/b",
    )

    assert [(60.0, 10), (120.0, 20), (180.0, 30)] == steps(told)
    assert [240.0] == [since(event) for event in told if event.get("phase") == "checkpoint_save"]


@pytest.mark.parametrize(
    ("lines", "reached", "evaluated", "saved"),
    [
        pytest.param(
            [
                "2026/03/01 10:00:20 - mmengine - INFO - Epoch(train)  [1][20/30]  lr: 1.0e-02  "
                "eta: 0:01:00  time: 0.5000  data_time: 0.0100  loss: 2.1",
                "2026/03/01 10:00:30 - mmengine - INFO - Saving checkpoint at 1 epochs",
                "2026/03/01 10:00:32 - mmengine - INFO - Epoch(val)  [1][10/20]    eta: 0:00:05",
                "2026/03/01 10:00:38 - mmengine - INFO - Epoch(val)  [1][20/20]    acc/top1: 0.4",
                "2026/03/01 10:00:58 - mmengine - INFO - Epoch(train)  [2][20/30]  lr: 1.0e-02  "
                "eta: 0:01:00  time: 0.5000  data_time: 0.0100  loss: 1.9",
            ],
            [(20.0, 20), (58.0, 50)],
            [(32.0, 38.0)],
            [(30.0, 30.0, None)],
            id="mmengine by epochs",
        ),
        pytest.param(
            [
                "2026-03-01 10:00:20,500 - mmdet - INFO - Iter [50/900]\tlr: 1.0e-02, eta: 0:01, "
                "time: 0.400, data_time: 0.010, loss: 2.1",
                "2026-03-01 10:00:20,600 - mmdet - INFO - Saving checkpoint at 50 iterations",
                "2026-03-01 10:00:40,500 - mmdet - INFO - Iter [100/900]\tlr: 1.0e-02, eta: 0:01, "
                "time: 0.400, data_time: 0.010, loss: 2.0",
            ],
            [(20.5, 50), (40.5, 100)],
            [],
            [(20.6, 20.6, 50)],
            id="mmcv by iterations",
        ),
        pytest.param(
            [
                "[2026-03-01 10:00:00] d2.engine.train_loop INFO: Starting training from iteration "
                "0",
                "[2026-03-01 10:00:20] d2.utils.events INFO:  eta: 1:00:00  iter: 19  total_loss: "
                "2.5  loss_cls: 1.2  time: 0.9000  data_time: 0.0100  lr: 0.01",
                "[2026-03-01 10:00:21] fvcore.common.checkpoint INFO: Saving checkpoint to "
                "out/model_0000019.pth",
                "[2026-03-01 10:00:23] d2.evaluation.evaluator INFO: Start inference on 30 batches",
                "[2026-03-01 10:00:33] d2.evaluation.testing INFO: copypaste: 14.3,28.0",
                "[2026-03-01 10:00:53] d2.utils.events INFO:  eta: 1:00:00  iter: 39  total_loss: "
                "2.4  loss_cls: 1.1  time: 0.9000  data_time: 0.0100  lr: 0.01",
            ],
            [(20.0, 19), (53.0, 39)],
            [(23.0, 33.0)],
            [(21.0, 21.0, 19)],
            id="detectron2",
        ),
        pytest.param(
            [
                "2026-03-01 10:00:20 | INFO | train_inner | epoch 007:    80 / 90 loss=3.1, "
                "ppl=8.8, num_updates=620, lr=0.0001, wall=20",
                '2026-03-01 10:00:30 | INFO | fairseq_cli.train | begin validation on "valid" '
                "subset",
                "2026-03-01 10:00:36 | INFO | valid | epoch 007 | valid on 'valid' subset | "
                "loss 3.9 | num_updates 630",
                "2026-03-01 10:00:36 | INFO | fairseq.checkpoint_utils | Preparing to save "
                "checkpoint for epoch 7 @ 630 updates",
                "2026-03-01 10:00:37 | INFO | fairseq.trainer | Saving checkpoint to c/checkpoint7"
                ".pt",
                "2026-03-01 10:00:41 | INFO | fairseq.checkpoint_utils | Saved checkpoint "
                "c/checkpoint7.pt (epoch 7 @ 630 updates, score 3.9) (writing took 5.0 seconds)",
                '2026-03-01 10:00:51 | INFO | train_inner | {"epoch": 8, "loss": "3.0", '
                '"num_updates": "640", "lr": "0.0001"}',
            ],
            [(20.0, 620), (36.0, 630), (51.0, 640)],
            [(30.0, 36.0)],
            [(36.0, 41.0, 630)],
            id="fairseq",
        ),
        pytest.param(
            [
                "2026-03-01 10:00:20.500\tnode-1:0\tolmo.train:9\tINFO\t[step=10/90,epoch=0]",
                "    train/CrossEntropyLoss=9.1",
                "2026-03-01 10:00:21.000\tnode-1:0\tolmo.train:7\tINFO\tSaving unsharded "
                "checkpoint...",
                "2026-03-01 10:00:24.000\tnode-1:0\tolmo.checkpoint:8\tINFO\tSaving optim state...",
                "2026-03-01 10:00:26.000\tnode-1:0\tolmo.train:8\tINFO\tUnsharded checkpoint saved "
                "to c/run-90/step10-unsharded",
                "2026-03-01 10:00:40.500\tnode-1:0\tolmo.train:9\tINFO\t[step=20/90,epoch=0]",
            ],
            [(20.5, 10), (40.5, 20)],
            [],
            [(21.0, 26.0, 10)],
            id="OLMo",
        ),
        pytest.param(
            [
                "2026-03-01T10:00:20Z completed step: 10, seconds: 0.5, TFLOP/s/device: 90.1, "
                "Tokens/s/device: 600.5, total_weights: 512, loss: 8.1",
                "2026-03-01T10:00:21Z [process=0] Saving checkpoint at step 10",
                "2026-03-01T10:00:30Z completed step: 20, seconds: 0.5, TFLOP/s/device: 90.1",
            ],
            [(20.0, 10), (30.0, 20)],
            [],
            [(21.0, 21.0, 10)],
            id="MaxText",
        ),
        pytest.param(
            [
                "03/01/2026 10:00:20 [INFO|DP=0|PP=0|TP=0]: iteration: 10 / 90 | consumed_tokens: "
                "85.8G | elapsed_time_per_iteration_ms: 11.5K | lm_loss: 2.3",
                "03/01/2026 10:00:21 [WARNING|DP=0|PP=0|TP=0]: Saving checkpoint at /c/10",
                "03/01/2026 10:00:31 [INFO|DP=0|PP=0|TP=0]: iteration: 11 / 90 | consumed_tokens: "
                "85.8G | elapsed_time_per_iteration_ms: 11.5K | lm_loss: 2.3",
            ],
            [(20.0, 10), (31.0, 11)],
            [],
            [(21.0, 21.0, 10)],
            id="nanotron",
        ),
        pytest.param(
            [
                "2026-03-01T10:00:20Z Training epoch 0, iteration 10/90 | lr: 2e-05 | "
                "consumed_samples: 88 | global_step: 10 | reduced_train_loss: 9.8 | "
                "train_step_timing in s: 0.9",
                "2026-03-01T10:00:22Z Validation: iteration 1/9",
                "2026-03-01T10:00:26Z Validation: iteration 9/9",
                "2026-03-01T10:00:40Z Training epoch 0, iteration 20/90 | lr: 2e-05 | "
                "global_step: 20 | reduced_train_loss: 9.7 | val_loss: 9.9",
            ],
            [(20.0, 10), (40.0, 20)],
            [(22.0, 26.0)],
            [],
            id="NeMo",
        ),
        pytest.param(
            [
                "[2026-03-01 10:00:20,000] [    INFO] - loss: 0.5, learning_rate: 4e-05, "
                "global_step: 10, interval_runtime: 6.1, epoch: 0.1",
                "[2026-03-01 10:00:21,000] [    INFO] - ***** Running Evaluation *****",
                "[2026-03-01 10:00:29,000] [    INFO] - eval_loss: 0.4, eval_runtime: 8.0, "
                "epoch: 0.1",
                "[2026-03-01 10:00:49,000] [    INFO] - loss: 0.4, learning_rate: 4e-05, "
                "global_step: 20, interval_runtime: 6.1, epoch: 0.2",
            ],
            [(20.0, 10), (49.0, 20)],
            [(21.0, 29.0)],
            [],
            id="PaddleNLP",
        ),
        pytest.param(
            [
                "2026-03-01T10:00:20Z {'loss': 0.5, 'global_step/max_steps': '12/94'}",
                "2026-03-01T10:00:30Z {'eval_loss': 0.3, 'eval_runtime': 4.0, "
                "'global_step/max_steps': '12/94'}",
                "2026-03-01T10:00:40Z {'loss': 0.4, 'global_step/max_steps': '13/94'}",
            ],
            [(20.0, 12), (40.0, 13)],
            [(26.0, 30.0)],
            [],
            id="ms-swift",
        ),
    ],
)
def test_trainers_that_word_their_lines_in_their_own_way_are_read(
    lines: list[str],
    reached: list[tuple[float, int]],
    evaluated: list[tuple[float, float]],
    saved: list[tuple[float, float, int | None]],
) -> None:
    told = read(*lines)
    ends = [e for e in told if e["event"] == "phase_end" and e["phase"] == "checkpoint_save"]

    assert reached == steps(told)
    assert evaluated == spans(told, "evaluation")
    assert saved == [
        (*span, end.get("step"))
        for span, end in zip(spans(told, "checkpoint_save"), ends, strict=True)
    ]


def test_a_step_that_its_epoch_counts_anew_is_one_of_the_run() -> None:
    line = "2026-03-01 10:{0:02}:{1:02} - mmcls - INFO - Epoch [{2}][{3}/40]\tlr: 0.1, time: 0.5, l"
    told = read(
        *(
            line.format(epoch, tens, epoch + 1, tens)
            for epoch in range(3)
            for tens in (10, 20, 30, 40)
        )
    )

    assert [number * 10 for number in range(1, 13)] == [step for _, step in steps(told)]
    assert 1 == len(keys(told))


def test_a_log_of_detectron_into_which_another_launch_writes_tells_two() -> None:
    told = read(
        "[2026-03-01 10:00:00] detectron2 INFO: Rank of current process: 0. World size: 8",
        "[2026-03-01 10:01:00] d2.engine.train_loop INFO: Starting training from iteration 0",
        "[2026-03-01 10:02:00] d2.utils.events INFO:  eta: 1:00  iter: 59  total_loss: 2.5  "
        "loss_cls: 1.1  time: 1.0",
        "[2026-03-01 10:10:00] detectron2 INFO: Rank of current process: 0. World size: 8",
        "[2026-03-01 10:10:30] fvcore.common.checkpoint INFO: [Checkpointer] Loading from "
        "out/model_0000059.pth ...",
        "[2026-03-01 10:11:00] d2.engine.train_loop INFO: Starting training from iteration 60",
        "[2026-03-01 10:12:00] d2.utils.events INFO:  eta: 1:00  iter: 119  total_loss: 2.4  "
        "loss_cls: 1.0  time: 1.0",
    )

    assert 2 == len(keys(told))
    assert [60.0, 660.0] == [since(e) for e in told if e.get("phase") == "training"]
    assert [(660.0, 59)] == resumed(told)


@pytest.mark.parametrize(
    ("mode", "blocked", "written"),
    [("async", (20.0, 21.5), [(21.5, 26.0)]), ("sync", (20.0, 26.0), [])],
)
def test_orbax_tells_for_how_long_a_save_blocks_training(
    mode: str, blocked: tuple[float, float], written: list[tuple[float, float]]
) -> None:
    told = read(
        "2026-03-01T10:00:10Z completed step: 10, seconds: 0.5, TFLOP/s/device: 90.1",
        "2026-03-01T10:00:20Z [process=0] Saving checkpoint at step 12",
        f"2026-03-01T10:00:21.5Z [process=0] [{mode}] Finished blocking save in 1.50 seconds. "
        "Continuing save @ /c/12.",
        *(["2026-03-01T10:00:25Z completed step: 13, seconds: 0.5, TFLOP/s"] * (mode == "async")),
        f"2026-03-01T10:00:26Z [process=0] [{mode}] Finished save in 6.00 seconds @ /c/12",
        "2026-03-01T10:00:30Z completed step: 20, seconds: 0.5, TFLOP/s/device: 90.1",
    )

    assert [blocked] == spans(told, "checkpoint_save")
    assert written == [
        (since(e), (e["end_us"] - us(DAY)) / SECOND_US) for e in told if "end_us" in e
    ]


# what releases of Orbax say of a save at 20 s that blocks for 1.5 s and is written at 26 s
ORBAX = {
    "0.6": (
        "[process=0] Started async saving checkpoint to gs://b/c/12.",
        "Started an asynchronous checkpoint save for step 12",
        "[process=0][thread=async_save] Finished saving checkpoint (finalized tmp dir) to "
        "`gs://b/c/12`.",
        "[process=0][thread=async_save] Background save thread done.",
    ),
    "0.11.3": (
        "[process=0] Started async saving checkpoint to gs://b/c/12.",
        "Finished blocking save in 1.50 seconds. Continuing to save asynchronously to gs://b/c/12.",
        "[process=0][thread=async_save] Finished saving checkpoint (finalized tmp dir) to "
        "`gs://b/c/12`.",
        "Finished asynchronous save in 6.00 seconds to gs://b/c/12",
    ),
    "0.11.4": (
        "[process=0] Started async saving checkpoint to /c/12. (107:async_checkpointer.py:439)",
        "Finished blocking save in 1.50 seconds. Continuing to save asynchronously to /c/12. "
        "(107:async_checkpointer.py:548)",
        "[process=1][thread=save_finalize] Waiting for background save thread=async_save.",
        "Finished asynchronous save (blocking + background) in 6.00 seconds to /c/12 "
        "(107:async_checkpointer.py:412)",
    ),
    "0.11.14": (
        "[process=0] Started async saving checkpoint to gs://b/c/12.",
        "Finished blocking save. Time taken: 1.500000s. Continuing background save to gs://b/c/12.",
        "[process=0][thread=async_save] Finished saving checkpoint (finalized tmp dir) to "
        "`gs://b/c/12`.",
        "Finished async_save (blocking + background). Time taken: 6.000000s. directory=gs://b/c/12",
    ),
    "0.12": (
        "[process=0] [async] Started save checkpoint @ gs://b/c/12.",
        "[process=0] [async] Finished blocking save in 1.50 seconds. Continuing save @ "
        "gs://b/c/12.",
        "[process=0][thread=async_save] Finished saving checkpoint (finalized tmp dir) to "
        "`gs://b/c/12`.",
        "[process=0] [async] Finished save (blocking + background) in 6.00 seconds @ gs://b/c/12",
    ),
}


@pytest.mark.parametrize("release", ORBAX)
@pytest.mark.parametrize("is_cut_off", [False, True])
def test_an_async_save_is_one_in_the_words_of_each_release_of_orbax(
    release: str, is_cut_off: bool
) -> None:
    begun, blocked, written, done = ORBAX[release]
    told = read(
        "2026-03-01T10:00:10Z completed step: 11, seconds: 0.5, TFLOP/s/device: 90.1",
        "2026-03-01T10:00:19.9Z completed step: 12, seconds: 0.5, TFLOP/s/device: 90.1",
        f"2026-03-01T10:00:20Z {begun}",
        f"2026-03-01T10:00:21.5Z {blocked}",
        "2026-03-01T10:00:25Z completed step: 13, seconds: 0.5, TFLOP/s/device: 90.1",
        *([] if is_cut_off else [f"2026-03-01T10:00:26Z {at} " for at in (written, done)]),
        "2026-03-01T10:00:30Z completed step: 14, seconds: 0.5, TFLOP/s/device: 90.1",
    )

    assert [(20.0, 21.5)] == spans(told, "checkpoint_save")
    assert ["async"] == [event["mode"] for event in told if "mode" in event]
    # the oldest did not say when a save was written but where its folder was named
    on_its_way = [] if release == "0.6" else [(12, None)]
    assert (on_its_way if is_cut_off else [(12, 26.0)]) == uploads_of(told)


def test_a_save_that_is_written_once_its_log_was_rotated_is_one_to_go_back_to(
    tmp_path: Path,
) -> None:
    lines = LOGS["MaxText"].splitlines(keepends=True)
    [cut] = [place for place, line in enumerate(lines) if "Finished async_save" in line]
    told = []
    for pieces in ({"train.log": lines}, {"train.log.1": lines[:cut], "train.log": lines[cut:]}):
        run = tmp_path / str(len(pieces)) / "run-x"
        run.mkdir(parents=True)
        for name, piece in pieces.items():
            (run / name).write_text("".join(piece))
        warehouse = tmp_path / f"warehouse {len(pieces)}"
        assert 0 == ingest(warehouse, run, "--as-of", "2026-03-02T10:00:00Z")
        told += rows(warehouse, "select outcome, effective_seconds, unsaved_seconds from attempts")

    # trained from 9.5 s on, saved at 60.5 s, to 101 s but for 2 s of saving and 1 s of evaluation
    assert [("lost", 51.0, 37.5)] * 2 == told


def test_hosts_that_tell_of_one_save_late_leave_it_written() -> None:
    begun, blocked, written, done = ORBAX["0.11.14"]
    told = read(
        "2026-03-01T10:00:19.9Z completed step: 12, seconds: 0.5, TFLOP/s/device: 90.1",
        f"2026-03-01T10:00:20Z {begun}",
        f"2026-03-01T10:00:20.1Z {begun.replace('process=0', 'process=1')}",
        f"2026-03-01T10:00:21.5Z {blocked}",
        "2026-03-01T10:00:25Z completed step: 13, seconds: 0.5, TFLOP/s/device: 90.1",
        f"2026-03-01T10:00:26Z {written}",
        f"2026-03-01T10:00:26Z {done}",
        f"2026-03-01T10:00:21.7Z {blocked}",
        f"2026-03-01T10:00:26.2Z {done}",
        "2026-03-01T10:00:30Z completed step: 14, seconds: 0.5, TFLOP/s/device: 90.1",
    )

    assert [(12, 26.0)] == uploads_of(told)


@pytest.mark.parametrize(
    "lines",
    [
        (
            "[process=0] Started saving checkpoint to gs://b/c/12.",
            "[process=0][thread=MainThread] Finished saving checkpoint (finalized tmp dir) to "
            "`gs://b/c/12`.",
            "Finished synchronous save in 6.00 seconds to gs://b/c/12",
            "Saved a checkpoint at step 12.",
        ),
        (
            "[process=0] [sync] Started save checkpoint @ gs://b/c/12.",
            "[process=0] [sync] Finished blocking save in 5.99 seconds. Continuing save @ "
            "gs://b/c/12.",
            "[process=0][thread=MainThread] Finished saving checkpoint (finalized tmp dir) to "
            "`gs://b/c/12`.",
            "[process=0] [sync] Finished save in 6.00 seconds @ gs://b/c/12",
        ),
    ],
)
def test_a_sync_save_of_orbax_blocks_to_its_end(lines: tuple[str, ...]) -> None:
    begun, *over = lines
    told = read(
        "2026-03-01T10:00:10Z completed step: 11, seconds: 0.5, TFLOP/s/device: 90.1",
        f"2026-03-01T10:00:20Z {begun}",
        *(f"2026-03-01T10:00:26Z {line}" for line in over),
        "2026-03-01T10:00:30Z completed step: 13, seconds: 0.5, TFLOP/s/device: 90.1",
    )

    assert [(20.0, 26.0)] == spans(told, "checkpoint_save")
    assert [12] == [e["step"] for e in told if e["event"] == "phase_end" and "ok" in e]
    assert [] == uploads_of(told)


@pytest.mark.parametrize("summary", ["eval metrics after step:", "Completed eval after train step"])
def test_maxtext_tells_when_it_evaluated(summary: str) -> None:
    told = read(
        "2026-03-01T10:00:10Z completed step: 9, seconds: 0.5, TFLOP/s/device: 90.1, loss: 2.0",
        "2026-03-01T10:00:20Z completed step: 10, seconds: 0.5, TFLOP/s/device: 90.1, loss: 2.0",
        "2026-03-01T10:00:22Z Completed eval step: 0, seconds: 1.900, running loss=2.100",
        "2026-03-01T10:00:24Z Completed eval step: 1, seconds: 1.900, running loss=2.100",
        f"2026-03-01T10:00:24.5Z {summary} 10, loss=2.100, total_weights=4096",
        "2026-03-01T10:00:30Z completed step: 11, seconds: 0.5, TFLOP/s/device: 90.1, loss: 2.0",
    )

    assert [(22.0, 24.5)] == spans(told, "evaluation")
    assert [9, 10, 11] == [step for _, step in steps(told)]


@pytest.mark.parametrize(
    ("begun", "done"),
    [
        (
            "[Torch] Begin Load checkpoint from /c/global_step40/mp_rank_00_model_states.pt...",
            "[Torch] End Load checkpoint from /c/global_step40/mp_rank_00_model_states.pt...",
        ),
        (
            "Restoring states from the checkpoint path at /c/step=40-last",
            "Global Checkpoint Load : Rank : 0 : Start time : 1772359201.000s : "
            "Time spent in load_checkpoint: 4.000s",
        ),
    ],
)
def test_a_load_lasts_as_long_as_its_lines_say(begun: str, done: str) -> None:
    told = read(
        f"2026-03-01 10:00:01 {begun}",
        f"2026-03-01 10:00:05 {done}",
        "2026-03-01 10:00:10 step 41 loss 2.0",
        "2026-03-01 10:00:20 step 42 loss 2.0",
    )

    assert [(1.0, 5.0)] == spans(told, "checkpoint_load")
    assert [40] == [step for _, step in resumed(told)]


@pytest.mark.parametrize(
    "loading",
    [
        ("Restoring checkpoint from gs://b/c/8.", "Finished restoring checkpoint in 4.00 seconds "),
        (
            "[process=0] [sync] Started load checkpoint @ gs://b/c/8.",
            "[process=0] [sync] Finished load in 4.00 seconds @ ",
        ),
    ],
)
def test_orbax_tells_how_long_a_load_took(loading: tuple[str, str]) -> None:
    told = read(
        "2026-03-01T10:00:01Z restoring from this run's directory step 8",
        f"2026-03-01T10:00:01Z {loading[0]}",
        f"2026-03-01T10:00:05Z {loading[1]}{'from ' * ('restoring' in loading[1])}gs://b/c/8",
        "2026-03-01T10:00:10Z completed step: 9, seconds: 0.5, TFLOP/s/device: 90.1",
        "2026-03-01T10:00:15Z completed step: 10, seconds: 0.5, TFLOP/s/device: 90.1",
    )

    assert [(1.0, 5.0)] == spans(told, "checkpoint_load")
    assert [8] == [step for _, step in resumed(told)]


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


def test_olmo_trains_once_it_says_so() -> None:
    told = read(
        "2026-03-01 10:00:00.000\tnode-1:0\ttrain:417\tINFO\tCLI environment prepared",
        "2026-03-01 10:00:20.000\tnode-1:0\ttrain:375\tINFO\tStarting training...",
        "2026-03-01 10:01:50.000\tnode-1:0\tolmo.train:9\tINFO\t[step=10/90,epoch=0]",
    )

    assert ("attempt_start", 0.0) == (told[0]["event"], since(told[0]))
    assert [("phase_start", "training", 20.0, None)] == phases(told)


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


def test_a_log_of_olmo_core_tells_phases() -> None:
    told = read(*olmo_core())

    assert [(20.0, 31.0)] == spans(told, "checkpoint_load")
    assert [(60.0, 130.0)] == spans(told, "training")
    assert [(60.0, 100)] == resumed(told)
    assert [(65.0, 65.0), (120.0, 129.0)] == spans(told, "checkpoint_save")
    assert [(102, 80.0)] == uploads_of(told)
    assert [(90.0, 108.5)] == spans(told, "evaluation")
    assert [("attempt_start", 0.0), ("attempt_end", 130.0)] == [
        (e["event"], since(e)) for e in told if e["event"].startswith("attempt")
    ]
    assert "completed" == told[-1]["outcome"]


def test_olmo_core_that_starts_anew_in_one_log_is_two_launches() -> None:
    text = OLMO_CORE.splitlines()
    fresh = (
        "00:20.000 train.trainer:708 No checkpoint found in save folder, will train from scratch..."
    )
    died = [text[0], fresh, *text[3:10]]
    first = olmo_core("\n".join(died))
    told = read(*first, *at_one(first))

    assert 2 == len(keys(told))
    assert [0.0, 3 * 3600.0] == [since(event) for event in of(told, "attempt_start")]
    assert [60.0, 3 * 3600 + 60.0] == [since(e) for e in told if e.get("phase") == "training"]
    assert [(102, None), (102, None)] == uploads_of(told)


def test_axolotl_trains_once_it_says_so() -> None:
    told = read(
        "[2026-03-01 10:00:06,500] [INFO] [axolotl.train.execute_training:203] [PID:9] [RANK:0] "
        "Starting trainer...",
        "[2026-03-01 10:10:00,000] [INFO] [axolotl.core.trainers.base._save:61] [PID:9] [RANK:0] "
        "Saving model checkpoint to ./out/checkpoint-95",
        "[2026-03-01 10:10:04,000] [INFO] [axolotl.train.save_trained_model:22] [PID:9] [RANK:0] "
        "Training completed! Saving trained model to ./out.",
    )

    assert [(6.5, 604.0)] == spans(told, "training")
    assert "completed" == told[-1]["outcome"]


def test_a_loop_that_tells_how_long_a_step_took_began_that_much_earlier() -> None:
    told = read(NANOGPT)

    assert [
        ("phase_start", "training", 120.0, None),  # ten steps of a second before step 10
        ("phase_start", "checkpoint_save", 151.0, None),
        ("phase_end", "checkpoint_save", 151.0, None),  # over when training goes on, not sooner
    ] == phases(told)
    assert [(130.0, 10), (161.0, 20)] == steps(told)


def test_a_first_step_that_tells_how_long_it_took_opens_training() -> None:
    told = read(
        "2026-03-01 10:00:00 No checkpoint found",
        "2026-03-01 10:00:40 First step (incl. compilation) took 32.5 s",
        "2026-03-01 10:00:50 step 10 loss 2.5 step_time 100.0 ms",
    )

    assert [("phase_start", "training", 7.5, None)] == phases(told)


def test_training_begins_no_earlier_than_what_comes_before_it() -> None:
    told = read(
        "2026-03-01 10:00:00 No checkpoint found",
        "2026-03-01 10:00:30 step 100 loss 2.5 step_time 900.0 ms",
    )

    assert [("phase_start", "training", 0.0, None)] == phases(told)


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-01 10:00:00 step 10 loss 2.5",
        "2026-03-01 10:00:00,000 - INFO - train - step: 10, train_loss: 1, loss: 2.5",
        "[2026-03-01 10:00:00] [rank 0] iter 10/500 | loss 2.5 | lr 3e-4",
        "2026-03-01 10:00:00 | INFO | Iteration 10 | loss=2.5",
        "2026-03-01T10:00:00Z global step 10 loss=2.5",
        "2026-03-01 10:00:00 Step: 10, Loss: 2.5",
        "2026-03-01 10:00:00 - test - step 10 loss 2.5",
        "2026-03-01 10:00:00 Iteration 10/500 - Train Loss: 2.5",
        "2026-03-01 10:00:00 step 10 | train_loss 2.5 | val_loss 2.6",
        "2026-03-01 10:00:00 Epoch 3 | Global Step 10 | Loss 2.5",
        "2026-03-01 10:00:00 epoch=3 global_step=10 loss=2.5",
        "2026-03-01 10:00:00 step 10 | epoch 3 | loss 2.5 | step time 0.5 s",
        '{"ts": "2026-03-01T10:00:00.000Z", "level": "INFO", "msg": "step 10 loss 2.5"}',
        '{"time": 1772359200.0, "message": "progress", "step": 10, "loss": 2.5}',
        "I20260301 10:00:00.000000 7 train.py:9] step = 10, loss = 2.5",
        "3: node-1: [2026-03-01 10:00:00] step 10 loss 2.5",
    ],
)
def test_a_step_is_known_however_a_loop_words_it(line: str) -> None:
    assert [(0.0, 10)] == steps(read(line))


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-01 10:00:00 Epoch 3 step 10 loss 2.5",  # counted anew in each epoch
        "2026-03-01 10:00:00 epoch 3 iter 10: train loss 2.5",
        "2026-03-01 10:00:00 [Epoch 3/9] [Iteration 10/60] loss=2.5",
        "2026-03-01 10:00:00 step 10 val_loss 2.5",
        "2026-03-01 10:00:00 [val] step 10/50, loss: 2.5",  # of a validation, anew in each
        "2026-03-01 10:00:00 Validation: iter 10 | loss 2.5",
        "2026-03-01 10:00:00 Test iteration 10, loss: 2.5",
        "2026-03-01 10:00:00 step 10 took 3 s",
        "2026-03-01 10:00:00 the first step is to lower the loss",
        "2026-03-01 10:00:00 step 0 loss 2.5",
        "step 10 loss 2.5",
    ],
)
def test_what_is_no_step_that_is_done_is_none(line: str) -> None:
    assert [] == steps(read(line, "2026-03-01 10:00:01 No checkpoint found"))


def test_a_step_may_have_commas_between_thousands() -> None:
    told = read(
        "2026-03-01 10:00:00 Resuming from step 1,000",
        *(f"2026-03-01 10:{m:02}:00 step {m * 600 + 400:,}/9,000 | loss 1" for m in range(1, 7)),
        "2026-03-01 10:06:00 Saved checkpoint at step 4,000 in 2.0 s",
        "2026-03-01 10:07:00 step 4,600/9,000 | loss 1",
        "2026-03-01 10:08:00 step 5,10,200 | loss 1",  # whatever that is, not 510,200
    )

    assert [1000, 1600, 2200, 2800, 3400, 4000, 4600] == [step for _, step in steps(told)]
    assert [(60.0, 1000)] == resumed(told)
    assert [4000, 4000] == [step for _, phase, _, step in phases(told) if phase.endswith("save")]
    assert 1 == len(of(told, "attempt_start"))


def test_of_steps_within_three_seconds_the_last_is_told_before_anything_else() -> None:
    told = read(
        *(f"2026-03-01 10:00:{at:06.3f} step {at * 10:.0f} loss 1" for at in (1, 1.5, 2, 4, 4.5)),
        "2026-03-01 10:00:05.000 Saving checkpoint step 46",
        "2026-03-01 10:00:05.200 step 47 loss 1",
    )

    assert [(1.0, 10), (4.0, 40), (5.0, 46), (5.2, 47)] == steps(told)


def test_the_steps_of_all_ranks_are_one_progress() -> None:
    told = read(
        *(
            f"[rank{rank}]: 2026-03-01 10:00:{second:02}.{rank}00 step {second} loss 1"
            for second in (10, 20, 30)
            for rank in (3, 1, 0, 2)
        )
    )

    assert [(10.3, 10), (20.3, 20), (30.3, 30)] == steps(told)
    assert 1 == len({event.get("run_key") for event in told})


def test_a_save_that_the_log_breaks_off_in_has_no_end() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "2026-03-01 10:00:01 Saving checkpoint to /c/step_000010",
        "2026-03-01 10:00:09 still alive",
    )

    assert [("phase_start", "checkpoint_save", 1.0, 10)] == phases(told)[1:]
    assert ("alive", 9.0) == (told[-1]["event"], since(told[-1]))


def test_saves_of_a_launch_that_tells_no_training_do_not_last_for_the_rest_of_it() -> None:
    told = read(
        "2026-03-01 10:00:00 Saving checkpoint at 1 epochs",
        "2026-03-01 10:00:05 Saving checkpoint: optimizer",
        "2026-03-01 10:00:06 Epoch 2: 10 of 90 batches",
        "2026-03-01 11:00:00 Saving checkpoint at 2 epochs",
        "2026-03-01 12:00:00 Epoch 3: 90 of 90 batches",
    )

    assert [(0.0, 5.0), (3600.0, 3600.0)] == spans(told, "checkpoint_save")


def test_a_save_that_a_log_which_tells_no_training_breaks_off_in_has_no_end() -> None:
    told = read(
        "2026-03-01 10:00:00 Saving checkpoint at 1 epochs",
        "2026-03-01 10:00:59 Epoch 2: 10 of 90 batches",
    )

    assert [("phase_start", "checkpoint_save", 0.0, None)] == phases(told)


def test_a_log_whose_steps_tell_no_times_tells_its_launches_and_saves() -> None:
    """As of accelerate's scripts, whose steps only a progress bar tells."""
    first = (
        "03/01/2026 10:01:00 - INFO - __main__ - ***** Running training *****",
        "03/01/2026 10:05:00 - INFO - accelerate.accelerator - Saving current state to out/step_90",
        "03/01/2026 10:05:08 - INFO - accelerate.checkpointing - Model weights saved in out/m",
        "03/01/2026 10:05:10 - INFO - accelerate.checkpointing - Random states saved in out/r",
        "03/01/2026 10:08:00 - ERROR - __main__ - CUDA error: device-side assert triggered",
    )
    told = read(
        *first,
        "03/01/2026 10:20:00 - INFO - __main__ - ***** Running training *****",
        "03/01/2026 10:20:01 - INFO - accelerate.accelerator - Loading states from out/step_90",
        "03/01/2026 10:20:09 - INFO - accelerate.accelerator - FSDP Model loaded from input dir o",
        "03/01/2026 10:20:11 - INFO - accelerate.checkpointing - All random states loaded "
        "successfully",
        "03/01/2026 10:25:00 - INFO - __main__ - epoch 0: perplexity: 12.1",
    )

    assert [(300.0, 310.0)] == spans(told, "checkpoint_save")
    assert [(1201.0, 1211.0)] == spans(told, "checkpoint_load")
    launches = [str(us(DAY) + seconds * SECOND_US) for seconds in (60, 1200)]
    assert launches == keys(told)
    assert [90] == [step for _, step in resumed(told)]
    # a rank that tells late that it trains begins no launch
    assert launches[:1] == keys(read(first[0], first[0]))


@pytest.mark.parametrize(
    "line",
    [
        # printed at any level, by releases before 5 and since
        "{'train_runtime': 316.0, 'train_samples_per_second': 1.9, 'epoch': 1.0}",
        "{'train_runtime': '316', 'train_samples_per_second': '1.9', 'epoch': '1'}",
        "`Trainer.fit` stopped: `max_steps=20` reached.",
    ],
)
def test_a_trainer_that_tells_its_result_is_done(line: str) -> None:
    told = read(
        "2026-03-01T10:00:00Z step 10 loss 1",
        "2026-03-01T10:00:10Z step 20 loss 1",
        f"2026-03-01T10:00:11Z {line}",
        "2026-03-01T10:00:20Z wandb: waiting",
    )

    assert [("completed", 20.0)] == [(e["outcome"], since(e)) for e in of(told, "attempt_end")]
    assert (11.0, None) == (spans(told, "training")[0][1], told[-1].get("message"))


@pytest.mark.parametrize(("code", "outcome"), [("0", "completed"), ("1", "failed")])
def test_a_return_code_of_0_is_a_good_end(code: str, outcome: str) -> None:
    told = read(
        "2026-03-01T10:00:00Z step 10 loss 1",
        "2026-03-01T10:00:10Z step 20 loss 1",
        f"2026-03-01T10:00:11Z train.py exits with return code = {code}",
    )

    assert [(outcome, int(code))] == [
        (end["outcome"], end["exit_code"]) for end in of(told, "attempt_end")
    ]


@pytest.mark.parametrize(
    ("lines", "restored"),
    [
        pytest.param(
            (
                "Restoring states from the checkpoint path at /c/gpt--val_loss=2.30-step=200.ckpt",
                "Restored all states from the checkpoint at /c/gpt--val_loss=2.30-step=200.ckpt",
            ),
            200,
            id="Lightning, and so NeMo",
        ),
        pytest.param(
            (
                "restoring from this run's directory step 200",
                "Finished restoring checkpoint in 20.00 seconds from gs://b/run/checkpoints/200.",
            ),
            200,
            id="MaxText",
        ),
        pytest.param(
            ("No existing checkpoint found checkpoints/checkpoint_last.pt", "Start iterating"),
            None,
            id="fairseq that finds none",
        ),
    ],
)
def test_what_a_trainer_restores_is_read(lines: tuple[str, ...], restored: int | None) -> None:
    told = read(
        f"2026-03-01T10:00:10Z {lines[0]}",
        f"2026-03-01T10:00:30Z {lines[1]}",
        "2026-03-01T10:01:00Z step 210 loss 1",
    )

    assert ([] if restored is None else [(10.0, 30.0)]) == spans(told, "checkpoint_load")
    assert ([] if restored is None else [restored]) == [step for _, step in resumed(told)]
    assert [10.0] == [since(event) for event in of(told, "attempt_start")]


def test_a_save_whose_end_alone_is_told_took_no_time_unless_it_says_how_long() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "2026-03-01 10:00:11 Saved checkpoint step 10",
        "2026-03-01 10:00:20 step 20 loss 1",
        "2026-03-01 10:00:31 Saved checkpoint for step 20 in 7.5 s",
    )

    assert [(11.0, 11.0), (23.5, 31.0)] == spans(told, "checkpoint_save")


def test_a_save_that_failed_says_so() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        "2026-03-01 10:00:01 Saving checkpoint step 10",
        "2026-03-01 10:00:05 Failed to save checkpoint: quota",
        "2026-03-01 10:00:09 step 20 loss 1",
    )

    assert [False] == [event["ok"] for event in told if "ok" in event]


def test_every_rank_that_labels_its_lines_saves_for_itself() -> None:
    told = read(
        "[rank0]: 2026-03-01 10:00:00 step 10 loss 1",
        "[rank0]: 2026-03-01 10:00:01 Saving the checkpoint.",
        "[rank1]: 2026-03-01 10:00:02 Saving the checkpoint.",
        "[rank0]: 2026-03-01 10:00:05 Finished saving the checkpoint in 4.00 seconds",
        "[rank1]: 2026-03-01 10:00:09 Finished saving the checkpoint in 7.00 seconds",
        "[rank0]: 2026-03-01 10:00:12 step 20 loss 1",
    )
    saves = [e for e in told if e.get("phase") == "checkpoint_save"]

    assert [(0, 1.0), (1, 2.0), (0, 5.0), (1, 9.0)] == [(e["rank"], since(e)) for e in saves]


@pytest.mark.parametrize(
    "labels", [("node1: ", "node2: "), ("node1: [default0]:", "node2: [default0]:")]
)
def test_what_nodes_say_without_ranks_of_the_run_is_said_once(labels: tuple[str, str]) -> None:
    """Events tell no more of who speaks than a rank: of two starts the first would have no end."""
    first, other = labels
    told = read(
        f"{first}[2026-03-01 10:00:20,000] [INFO] [Rank 0] step=10, skipped=0, lr=[0.1]",
        f"{first}[2026-03-01 10:01:00,000] Checkpoint global_step10 is about to be saved!",
        f"{other}[2026-03-01 10:01:01,000] [Torch] Saving out/global_step10/bf16_8_states.pt...",
        f"{first}[2026-03-01 10:01:15,000] [Torch] Checkpoint global_step10 is ready now!",
        f"{other}[2026-03-01 10:01:16,000] [Torch] Checkpoint global_step10 is ready now!",
        f"{first}[2026-03-01 10:01:40,000] [INFO] [Rank 0] step=20, skipped=0, lr=[0.1]",
    )

    assert [
        ("phase_start", "checkpoint_save", 60.0, 10),
        ("phase_end", "checkpoint_save", 76.0, 10),
    ] == phases(told)[1:]


@pytest.mark.parametrize("label", ["", "[rank0]: ", "[default0]: "])
def test_saves_that_logs_of_several_nodes_tell_without_ranks_are_saves(
    label: str, tmp_path: Path
) -> None:
    lines = [
        "2026-03-01 10:00:{:02} Starting run vit",
        "2026-03-01 10:01:{:02} step 10 loss 1",
        "2026-03-01 10:02:{:02} Saving checkpoint at step 10",
        "2026-03-01 10:03:{:02} Saved checkpoint at step 10",
        "2026-03-01 10:04:{:02} step 20 loss 1",
    ]
    for node, late in (("node0", 0), ("node01", 2)):
        log = tmp_path / node / "train.log"
        log.parent.mkdir()
        log.write_text("".join(f"{label}{line.format(late)}\n" for line in lines))
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, tmp_path, "--as-of", "2026-03-02T00:00:00Z")
    assert [("vit", 1, 62.0, 60.0, 60.0)] == rows(
        warehouse,
        "select job_id, checkpoint_saves, checkpoint_save_seconds, effective_seconds, "
        "unsaved_seconds from attempts",
    )


def test_a_load_of_deepspeed_tells_the_step_of_its_folder() -> None:
    told = read(
        "[2026-03-01 10:00:00,000] [Torch] Loading checkpoint from out/global_step20/states.pt...",
        "[2026-03-01 10:00:05,000] [Torch] Loaded checkpoint from out/global_step20/states.pt.",
        "[2026-03-01 10:00:20,000] [INFO] [Rank 0] step=30, skipped=0, lr=[0.1]",
    )

    assert [("phase_start", 20), ("phase_end", 20)] == [(e[0], e[3]) for e in phases(told)[:2]]
    assert [20] == [step for _, step in resumed(told)]


def test_what_several_ranks_say_without_labels_is_said_once() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        *["2026-03-01 10:00:01,000 - INFO - Saving the checkpoint."] * 4,
        *["2026-03-01 10:00:04,000 - INFO - Finished saving the checkpoint in 3.00 seconds"] * 4,
        "2026-03-01 10:00:12 step 20 loss 1",
    )

    assert [(1.0, 4.0)] == spans(told, "checkpoint_save")


def test_a_model_that_is_trained_further_from_step_one_resumed_nothing() -> None:
    told = read(
        "2026-03-01 10:00:00 Loading checkpoint from /base/step-9000",
        "2026-03-01 10:00:10 step 1 loss 1",
    )

    assert [] == resumed(told)


def test_a_launch_that_never_trained_tells_what_it_restored() -> None:
    told = read(
        "2026-03-01 10:00:00 Resuming from checkpoint /c/step_000040",
        "2026-03-01 10:00:10 still alive",
    )

    assert [(0.0, 40)] == resumed(told)


def test_a_rank_that_tells_its_last_step_late_does_not_train_again() -> None:
    told = read(
        "[rank0]: 2026-03-01 10:00:00 step 10 loss 1",
        "[rank0]: 2026-03-01 10:00:01 Training completed",
        "[rank1]: 2026-03-01 10:00:02 step 10 loss 1",
    )

    assert [("phase_start", 0.0), ("phase_end", 1.0)] == [
        (kind, at) for kind, _, at, _ in phases(told)
    ]


# launches


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


@pytest.mark.parametrize(
    "more", [(), ("SLURM_JOB_ID=7",), ("SLURM_JOB_ID=7", "SLURM_RESTART_COUNT={}")]
)
@pytest.mark.parametrize("is_one_log", [True, False])
def test_a_count_that_begins_anew_is_of_another_launch(
    more: tuple[str, ...], is_one_log: bool, tmp_path: Path
) -> None:
    # what `env` prints where torchrun was started again: by Kubernetes, a loop, or Slurm
    logs = [
        "\n".join(
            [
                *(f"2026-03-01 {hour}:00:00 {fact.format(hour - 10)}" for fact in more),
                *counted((hour, 0)),
                "",
            ]
        )
        for hour in (10, 12)
    ]
    run = tmp_path / "run-x"
    for number, log in enumerate(["".join(logs)] if is_one_log else logs):
        (run / f"attempt{number}").mkdir(parents=True)
        (run / f"attempt{number}" / "train.log").write_text(log)
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, run, "--as-of", "2026-03-01T22:00:00Z")
    assert [(1, "10:00:00", "lost", 600.0), (2, "12:00:00", "lost", 600.0)] == rows(
        warehouse,
        "select attempt, strftime(started_at, '%H:%M:%S'), outcome, wall_seconds from attempts "
        "order by attempt",
    )


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


def test_the_same_failure_of_a_thousand_ranks_is_told_a_few_times() -> None:
    told = read(
        "2026-03-01 10:00:00 step 10 loss 1",
        *(f"[rank{rank}]: NCCL error: unhandled system error {rank}" for rank in range(1000)),
    )

    assert 20 == len(of(told, "failure"))


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
    ],
)
def test_a_log_that_says_how_it_ended_has_an_end(line: str, outcome: str, at: float) -> None:
    told = read("2026-03-01 10:00:00 step 10 loss 1", line)

    assert ("attempt_end", outcome, at) == (
        told[-1]["event"],
        told[-1]["outcome"],
        since(told[-1]),
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


def test_a_log_without_times_is_refused_with_a_remedy() -> None:
    with pytest.raises(UnreadableDump, match=r"tells no time .* ts '%Y-%m-%d"):
        read("iter 10: loss 2.5, time 100.00ms, mfu 30.00%")


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


@pytest.mark.parametrize(
    ("line", "is_told_of"),
    [
        ("2026-03-01 10:20:00 Saving checkpoint to /ckpt/ba20", True),
        ("2026-03-01 11:00:01 Loaded checkpoint /ckpt/ba20", True),
        ("2026-03-01 10:20:00 Loaded checkpoint /ckpt/ba20", False),  # it may still start up
        ("2026-03-01 10:20:00 step 20 loss 2.5", False),
    ],
)
def test_a_log_that_trained_and_of_which_no_line_is_known_to_say_so_is_told_of(
    line: str, is_told_of: bool, caplog: pytest.LogCaptureFixture
) -> None:
    read("2026-03-01 10:00:00 Starting run demo", "2026-03-01 10:10:00 [batch=20/4800]:", line)

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
    built_in = Path("ingest/training_logs.toml").read_text(encoding="utf-8")
    names = [table["name"] for table in tomllib.loads(built_in)["training_log"]]

    assert sorted(set(names)) == sorted(names)
    assert () == patterns(()).particular
    assert set(Means) == {table["means"] for table in tomllib.loads(built_in)["training_log"]}


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
    told = list(trainer_events(dump, reading(), clock_of(dump, reading())))

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


# what a log is made of, and what is asked of its events


def read(
    *lines: str,
    name: str = "x.log",
    cluster: str | None = None,
    zone: str = "UTC",
    own: tuple[Pattern, ...] = (),
) -> list[Event]:
    raw = "\n".join(line.removesuffix("\n") for line in lines).encode().split(b"\n")
    return events(dump_of(name, raw), Reading(cluster, ZoneInfo(zone), own))


def at_one(lines: list[str], hour: int = 13) -> list[str]:
    """A log of ten o'clock, or of one, at another hour."""
    return [re.sub(r"(?<!\d)1[03]:(?=\d\d:)", f"{hour}:", line) for line in lines]


def lived(attempt: AttemptMeasures, joins: str | None = None) -> tuple[object, ...]:
    """When an attempt ran, how it ended, and its areas; what it trained in one if that `joins`."""
    areas: dict[str, int] = {}
    for (area, _), us in attempt.areas.items():
        name = "effective" if area == joins else area
        areas[name] = areas.get(name, 0) + us
    outcome = "lost" if joins and attempt.outcome == "running" else attempt.outcome
    return attempt.started_us, attempt.ended_us, outcome, areas


def read_file(file: Path) -> list[Event]:
    return events(dump_at(file), reading())


def dump_at(file: Path) -> Dump:
    raw = file.read_bytes().removesuffix(b"\n").split(b"\n")
    return Dump(str(file), file, lambda: iter(enumerate(raw, 1)))


def events(dump: Dump, reading: Reading) -> list[Event]:
    told = list(TRAINING_LOG.read(dump, reading))

    assert [] == [event for event in told if isinstance(event, Rejected)]
    return [event for event in told if not isinstance(event, Rejected)]


def dump_of(name: str, lines: list[bytes]) -> Dump:
    return Dump(name, None, lambda: iter(enumerate(lines, 1)))


def reading() -> Reading:
    return Reading(None, ZoneInfo("UTC"))


def head_of(file: Path) -> bytes:
    raw = file.read_bytes()
    return (gzip.decompress(raw) if file.suffix == ".gz" else raw)[:65536]


def us(at: datetime) -> int:
    return round(at.timestamp() * SECOND_US)


def since(event: Event) -> float:
    return (event["at_us"] - us(DAY)) / SECOND_US


def of(told: list[Event], kind: str) -> list[Event]:
    return [event for event in told if event["event"] == kind]


def steps(told: list[Event]) -> list[tuple[float, int]]:
    return [(since(event), event["step"]) for event in of(told, "progress")]


def phases(told: list[Event]) -> list[tuple[str, str, float, int | None]]:
    return [(e["event"], e["phase"], since(e), e.get("step")) for e in told if "phase" in e]


def spans(told: list[Event], phase: str) -> list[tuple[float, float]]:
    times = [since(event) for event in told if event.get("phase") == phase]
    return list(zip(times[::2], times[1::2], strict=True))


def resumed(told: list[Event]) -> list[tuple[float, int]]:
    return [(since(e), e["resumed_from_step"]) for e in told if "resumed_from_step" in e]


def keys(told: list[Event]) -> list[str | None]:
    return list(dict.fromkeys(event.get("run_key") for event in told if event["event"] != "job"))


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
