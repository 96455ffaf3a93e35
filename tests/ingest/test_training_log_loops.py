"""What the lines of any loop mean, whoever wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.collectors.training_log_patterns import patterns
from tests.ingest.trainer_logs import (
    DAY,
    NANOGPT,
    SECOND_US,
    keys,
    of,
    phases,
    read,
    resumed,
    since,
    spans,
    steps,
    us,
)
from tests.queries.engine import ingest, rows


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


LABELS = ("", "[rank0]: ", "[default0]: ")


@pytest.fixture(scope="module")
def of_nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a run of two nodes a label, each node with a log of its own."""
    folder = tmp_path_factory.mktemp("of_nodes")
    lines = [
        "2026-03-01 10:00:{:02} Starting run vit-{}",
        "2026-03-01 10:01:{:02} step 10 loss 1",
        "2026-03-01 10:02:{:02} Saving checkpoint at step 10",
        "2026-03-01 10:03:{:02} Saved checkpoint at step 10",
        "2026-03-01 10:04:{:02} step 20 loss 1",
    ]
    for number, label in enumerate(LABELS):
        for node, late in (("node0", 0), ("node01", 2)):
            log = folder / "logs" / f"{number}" / node / "train.log"
            log.parent.mkdir(parents=True)
            log.write_text("".join(f"{label}{line.format(late, number)}\n" for line in lines))

    assert 0 == ingest(folder / "warehouse", folder / "logs", "--as-of", "2026-03-02T00:00:00Z")
    return folder / "warehouse"


@pytest.mark.parametrize("label", LABELS)
def test_saves_that_logs_of_several_nodes_tell_without_ranks_are_saves(
    label: str, of_nodes: Path
) -> None:
    assert [(1, 62.0, 60.0, 60.0)] == rows(
        of_nodes,
        "select checkpoint_saves, checkpoint_save_seconds, effective_seconds, unsaved_seconds "
        "from attempts where job_id = ?",
        [f"vit-{LABELS.index(label)}"],
    )
    assert len(LABELS) == len(rows(of_nodes, "from attempts"))


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


_RULE = "-" * 60


@pytest.mark.parametrize("label", ["", "0: ", "[default0]:", "trainer-1  | "])
def test_mmengine_launches_with_its_environment_and_evaluates_as_long_as_it_says(
    label: str,
) -> None:
    step = (
        "2026/03/01 10:0{} - mmengine - INFO - Epoch(train) [{}][10/10]  lr: 1.0e-02  time: 3.0045"
    )
    log = (
        "2026/03/01 10:00:22 - mmengine - WARNING - The prefix is not set in metric class A.",
        "2026/03/01 10:00:23 - mmengine - INFO - ",
        _RULE,
        "System environment:",
        "    sys.platform: linux",
        step.format("0:53", 1),
        "2026/03/01 10:00:53 - mmengine - INFO - Saving checkpoint at 1 epochs",
        step.format("1:23", 2),
        "2026/03/01 10:01:29 - mmengine - INFO - Epoch(val) [2][4/4]    acc: 2  data_time: 0.0006  "
        "time: 1.5016",
        step.format("1:59", 3),
        "2026/03/01 10:05:56 - mmengine - WARNING - The prefix is not set in metric class A.",
        "2026/03/01 10:05:57 - mmengine - INFO - ",
        _RULE,
        "System environment:",
        "2026/03/01 10:05:58 - mmengine - INFO - Auto resumed from the latest "
        "checkpoint wd/epoch_2.pth.",
    )
    told = read(*(label + line for line in log))

    assert [(83.0, 89.0)] == [(round(began), ended) for began, ended in spans(told, "evaluation")]
    assert [22.0, 356.0] == [since(event) for event in of(told, "attempt_start")]


def test_deepspeed_that_finds_no_checkpoint_loads_none() -> None:
    told = read(
        "[2026-03-01 10:00:06,898] [INFO] [launch.py:152:main] WORLD INFO DICT: {'n1': [0, 1]}",
        "[2026-03-01 10:00:53,057] [WARNING] [engine.py:4437:load_checkpoint] Unable to find "
        "latest file at ck/latest, if trying to load latest checkpoint please ensure this file "
        "exists or pass an explicit checkpoint tag when loading a checkpoint.",
        "[2026-03-01 10:02:27,032] [ERROR] [launch.py:259:sigkill_handler] ['python3'] exits with "
        "return code = -9",
    )

    assert [] == phases(told)
    assert ("failed", 147.032) == (told[-1]["outcome"], since(told[-1]))


def test_a_traceback_that_a_rank_begins_behind_a_bar_ends_behind_a_pipes_times() -> None:
    bar = "\r {0}%|██████▌   | {0}/100 [01:{0}<00:47,  3.38s/it]"
    stamp = "2026-03-01T10:0{}:00.500000+0000 "
    told = read(
        stamp.format(0) + "***** Running training *****",
        stamp.format(1) + bar.format(25) + bar.format(27)
        + "[rank0]: Traceback (most recent call last):",
        stamp.format(1) + '[rank0]:   File "train.py", line 42, in <module>',
        stamp.format(1) + "[rank0]:     work.wait()",
        stamp.format(1) + "[rank0]: RuntimeError: Connection reset by peer",
        stamp.format(2) + "***** Running training *****",
        stamp.format(3) + bar.format(30) + f"\r{' ' * 50}\r{{'loss': 2.1, 'epoch': 0.1}}",
    )  # fmt: skip

    assert ["RuntimeError: Connection reset by peer"] == [
        failure["message"].partition("\n")[0] for failure in of(told, "failure")
    ]
    assert [(180.5, 30)] == steps(told)


@pytest.mark.parametrize(
    ("line", "name", "told"),
    [
        (
            "[exiting program at iteration 500] datetime: 2026-03-01 10:00:00",
            "Megatron-LM: train loop is over for now",
            {},
        ),
        (
            "    will not load any checkpoints and will start from random",
            "Megatron-LM: no checkpoint",
            {},
        ),
        (
            "AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3",
            "Megatron-LM: loss is not finite",
            {},
        ),
        (
            "steps: 20 loss: 6.9531 iter time (s): 1.234 samples/sec: 25.932",
            "DeepSpeed: step of a pipeline",
            {"step": "20", "seconds": "1.234"},
        ),
        (
            "steps: 20 loss: 6.9531 lm_loss: 6.1000 router_balance_loss: 0.7531 z_loss: 0.1000 "
            "iter time (s): 1.234 samples/sec: 25.932",
            "DeepSpeed: step of a pipeline",
            {"step": "20", "seconds": "1.234"},
        ),
        (
            "[2026-03-01 10:00:00,100] [INFO] [launch.py:351:main] Process 4044 exits "
            "successfully.",
            "DeepSpeed: a process ends",
            {},
        ),
        (
            "[titan] 2026-03-01 10:00:00,100 - root - INFO - validate step: 10  loss:  3.2101  "
            "memory: 40.11GiB(42.22%)  tps: 8,012",
            "torchtitan: evaluated",
            {"step": "10"},
        ),
        (
            "[titan] 2026-03-01 10:00:00,100 - root - INFO - Saving a model only checkpoint in "
            "torch.bfloat16 at last step, step 644.",
            "torchtitan: saving the last step",
            {"step": "644"},
        ),
        (
            "[titan] 2026-03-01 10:00:00,100 - root - INFO - No checkpoint was provided, this is "
            "a fresh start.",
            "torchtitan: no checkpoint",
            {},
        ),
        ("Resuming training from out", "nanoGPT: loading", {}),
        (
            "2026/03/01 10:00:00 - mmengine - INFO - resumed epoch: 3, iter: 3000",
            "OpenMMLab: resumed",
            {"step": "3000"},
        ),
        (
            "2026-03-01 10:00:00 | INFO | fairseq.trainer | Preparing to load checkpoint "
            "ckpt/checkpoint_last.pt",
            "fairseq: loading",
            {},
        ),
        (
            "2026-03-01 10:00:00 | INFO | fairseq.trainer | Loaded checkpoint "
            "ckpt/checkpoint_last.pt (epoch 2 @ 1200 updates)",
            "fairseq: loaded",
            {"step": "1200"},
        ),
        (
            "2026-03-01 10:00:00 | INFO | fairseq_cli.train | done training in 432.1 seconds",
            "fairseq: train loop is done",
            {},
        ),
        (
            "[XTuner][2026-03-01 10:00:00][INFO] No checkpoint to resume from.",
            "xtuner: no checkpoint",
            {},
        ),
        (
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-01T10:00:00 DUE TO NODE "
            "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
            "Slurm: node failure",
            {"at": "2026-03-01T10:00:00"},
        ),
        (
            "srun: error: n1: tasks 0-7: Exited with exit code 1",
            "Slurm: a task died",
            {},
        ),
        ("Fatal Python error: Segmentation fault", "crash", {}),
    ],
)
def test_a_line_is_of_the_pattern_of_its_trainer(
    line: str, name: str, told: dict[str, str]
) -> None:
    [(pattern, match)] = patterns(()).found_in(line.encode())

    assert name == pattern.name
    assert told == {
        group: text.decode() for group, text in match.groupdict().items() if text is not None
    }


def test_a_shell_tells_that_its_process_was_killed() -> None:
    told = read(
        "2026-03-01T10:00:18+0000 iter 18: loss 10.8053, time 538.15ms, mfu 0.00%",
        "2026-03-01T10:00:20+0000 run.sh: line 6: 31600 Killed                  python train.py",
    )
    (failure,) = of(told, "failure")

    assert ("run.sh: line 6: 31600 Killed                  python train.py", 20.0) == (
        failure["message"],
        since(failure),
    )


def test_saves_of_which_the_ends_alone_are_told_are_as_many_where_no_step_is_told() -> None:
    told = read(
        "2026-03-01 10:00:00 Starting run a",
        "2026-03-01 10:00:10 ***** Running training *****",
        "2026-03-01 10:05:00 Saved checkpoint to /out/one.pt",
        "2026-03-01 10:05:02 Saved checkpoint to /out/best.pt",  # of the same
        "2026-03-01 10:10:00 Saved checkpoint to /out/two.pt",
        "2026-03-01 10:15:00 Saved checkpoint to /out/three.pt",
    )

    assert [(300.0, 302.0), (600.0, 600.0), (900.0, 900.0)] == spans(told, "checkpoint_save")
