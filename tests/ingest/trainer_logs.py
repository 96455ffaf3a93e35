"""Logs of trainers, and what is asked of the events that are read from them."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from ingest.collectors.base import Dump, Reading
from ingest.collectors.training_log import TRAINING_LOG
from ingest.collectors.training_log_patterns import Pattern
from ingest.events import Event, Rejected
from tests.oracle.measures import AttemptMeasures

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


def uploads_of(told: list[Event]) -> list[tuple[int, float | None]]:
    """Step and end of each upload; None: it has not ended."""
    return [
        (e["step"], (e["end_us"] - us(DAY)) / SECOND_US if "end_us" in e else None)
        for e in told
        if e.get("phase") == "checkpoint_upload"
    ]


def read(
    *lines: str,
    name: str = "x.log",
    cluster: str | None = None,
    zone: str = "UTC",
    own: tuple[Pattern, ...] = (),
) -> list[Event]:
    raw = "\n".join(line.removesuffix("\n") for line in lines).encode().split(b"\n")
    return events(dump_of(name, raw), Reading(cluster, ZoneInfo(zone), own))


def stamped(text: str, writer: str = "") -> list[str]:
    """Lines that begin with minutes and seconds, as `ts` puts times before them."""
    return [
        f"2026-03-01T10:{minute}+0000 {writer}{line}"
        for minute, _, line in (line.partition(" ") for line in text.splitlines())
    ]


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
