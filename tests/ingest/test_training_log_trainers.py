"""What the lines of each trainer mean: phases, steps, saves and loads."""

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
    LOGS,
    MEGATRON,
    NANOGPT,
    OLMO_CORE,
    SECOND_US,
    TORCHTITAN,
    TRAINER,
    at_one,
    keys,
    of,
    olmo_core,
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
from tests.queries.engine import ingest, rows


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


_HEAD = "[INFO|trainer.py:4128] 2026-03-01 10:0{}:00,500 >> {}"


@pytest.mark.parametrize(
    ("before", "head"),
    [
        ("", _HEAD),
        (" 20%|█   | 20/100 [01:00<04:00, 3.00s/it]", _HEAD),
        ("[rank0]: ", _HEAD),
        ("", "[INFO|2026-03-01 10:0{}:00.500] trainer.py:4128 >> {}"),
        ("", "2026-03-01 10:0{}:00,500 - INFO - transformers.trainer - {}"),
    ],
)
def test_a_message_that_begins_with_a_line_break_is_of_the_time_before_it(
    before: str, head: str
) -> None:
    label = before if before.startswith("[") else ""
    told = read(
        label + head.format(0, "***** Running training *****"),
        before + head.format(1, ""),
        label + "***** Running Evaluation *****",
        label + head.format(1, "  Num examples = 100"),
        label + "{'eval_loss': 2.2, 'eval_runtime': 30.5, 'epoch': 1.0}",
        label + head.format(2, "Saving model checkpoint to out/checkpoint-20"),
    )

    assert [(60.5, 91.0)] == spans(told, "evaluation")


def test_a_message_behind_another_writers_head_or_words_has_no_time() -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        "[rank1]: " + _HEAD.format(1, ""),
        "[rank0]: ***** Running Evaluation *****",
        _HEAD.format(2, "skipped"),
        "***** Running Evaluation *****",
    )

    assert ["training"] == [event["phase"] for event in told if "phase" in event]


@pytest.mark.parametrize(
    "resumes",
    [
        "Continuing training from global step 500",
        "Resuming training from checkpoint with epoch 1 and global step 500",
    ],
)
def test_a_trainer_that_resumed_and_tells_no_more_trains(resumes: str) -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(0, f"  {resumes}"),
        _HEAD.format(1, "a warning"),
    )

    assert [("phase_start", "training", 0.5, None)] == phases(told)
    assert [(0.5, 500)] == resumed(told)


@pytest.mark.parametrize(
    ("begun", "result"),
    [
        ("***** Running Evaluation *****", "{{'eval_{0}_loss': 2.2, 'eval_{0}_runtime': {1}}}"),
        ("***** Running Evaluation *****", "{{'eval_{0}_loss': '2', 'eval_{0}_runtime': '{1}'}}"),
        ("***** Running Evaluation *****", "eval_{0}_loss: 0.4, eval_{0}_runtime: {1}, epoch: 0.1"),
    ],
)
def test_each_of_several_sets_is_evaluated_for_as_long_as_its_result_says(
    begun: str, result: str
) -> None:
    time = "2026-03-01T10:00:{:02}+0000 "
    told = read(
        time.format(0) + "***** Running training *****",
        time.format(10) + begun,
        time.format(20) + result.format("wiki", "10.0"),
        time.format(20) + begun,
        time.format(25) + result.format("my-code", "5.0"),
        time.format(40) + "Saving model checkpoint to out/checkpoint-10",
    )

    assert [(10.0, 25.0)] == spans(told, "evaluation")


def test_paddlenlp_tells_how_long_its_saves_and_loads_took() -> None:
    line = "[2026-03-01 10:00:{},000] [    INFO] - {}"
    told = read(
        line.format("05", "Loading model from out/checkpoint-100 ."),
        line.format("10", "Loading optimizer and scheduler..."),
        line.format("20", "[timelog] checkpoint loading time: 12.20s (2026-03-01 10:00:20) "),
        line.format("20", "***** Running training *****"),
        line.format("30", "loss: 0.5, learning_rate: 4e-05, global_step: 110, epoch: 0.1"),
        line.format("30", "Saving model checkpoint to out/checkpoint-110"),
        line.format("32", "tokenizer config file saved in out/checkpoint-110/tokenizer.json"),
        line.format("33", "Saving optimizer files."),
        line.format("50", "[timelog] checkpoint saving time: 20.30s (2026-03-01 10:00:50) "),
        line.format("59", "loss: 0.4, learning_rate: 4e-05, global_step: 120, epoch: 0.1"),
    )

    assert [(5.0, 20.0)] == spans(told, "checkpoint_load")
    assert [(30.0, 50.3)] == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    "last",
    [
        "The model is bigger than the maximum size per checkpoint (5GB) and is going to be split "
        "in 4 checkpoint shards. You can find where each parameters has been saved in the index "
        "located at out/checkpoint-20/model.safetensors.index.json.",
        "Image processor saved in out/checkpoint-20/preprocessor_config.json",
        "processor saved in out/checkpoint-20/processor_config.json",
        "Feature extractor saved in out/checkpoint-20/preprocessor_config.json",
    ],
)
def test_a_save_of_the_trainer_lasts_until_its_last_part_is_written(last: str) -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(1, "Saving model checkpoint to out/checkpoint-20"),
        _HEAD.format(1, "Configuration saved in out/checkpoint-20/config.json"),
        _HEAD.format(2, last),
        _HEAD.format(5, "Training completed. Do not forget to share your model"),
    )

    assert [(60.5, 120.5)] == spans(told, "checkpoint_save")


def test_the_best_model_that_is_loaded_after_training_was_not_resumed_from() -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(1, "Saving model checkpoint to out/checkpoint-200"),
        _HEAD.format(2, "Training completed. Do not forget to share your model"),
        _HEAD.format(2, "Loading best model from out/checkpoint-200 (score: 0.5)."),
        _HEAD.format(3, "Loading model from out/checkpoint-200/pytorch_model_fsdp_0"),
    )

    assert [] == resumed(told)


def test_a_load_of_fsdp_lasts_until_the_optimizer_is_there() -> None:
    told = read(
        _HEAD.format(0, "Loading model from out/checkpoint-200/pytorch_model_fsdp_0"),
        _HEAD.format(1, "Model loaded from out/checkpoint-200/pytorch_model_fsdp_0"),
        _HEAD.format(1, "Loading Optimizer from out/checkpoint-200/optimizer_0"),
        _HEAD.format(2, "Optimizer loaded from out/checkpoint-200/optimizer_0"),
        _HEAD.format(3, "***** Running training *****"),
        _HEAD.format(3, "  Continuing training from global step 200"),
    )

    assert [(0.5, 120.5)] == spans(told, "checkpoint_load")
    assert [(180.5, 200)] == resumed(told)


@pytest.mark.parametrize("what", ["Loading", "Instantiating model and loading"])
def test_a_line_that_tells_how_long_a_save_or_a_load_took_ends_it(what: str) -> None:
    time = "2026-03-01T10:0{}:30+0000 "
    told = read(
        time.format(0) + f"{what} checkpoint took 25.50 secs",
        time.format(1) + "step 1 loss 2.5",
        time.format(2) + "Saving checkpoint took 20.00 secs",
    )

    assert [(4.5, 30.0)] == spans(told, "checkpoint_load")
    assert [(130.0, 150.0)] == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    "head",
    [
        "[INFO|2026-03-01 10:{}:00] llamafactory.hparams.parser:423 >> ",
        "03/01/2026 10:{}:00 - INFO - llamafactory.hparams.parser - ",
        "[INFO|2026-03-01 10:{}:00] parser.py:423 >> ",
    ],
)
def test_llama_factory_that_will_resume_loads_nothing_yet(head: str) -> None:
    launch = [
        "{}Resuming training from saves/x/checkpoint-500.",
        "{}Loading model from saves/x/checkpoint-500.",
        "{}***** Running training *****",
        "{}Saving model checkpoint to saves/x/checkpoint-600",
    ]
    told = read(
        *(line.format(head.format(f"0{at}")) for at, line in enumerate(launch)),
        *(line.format(head.format(f"3{at}")) for at, line in enumerate(launch)),
    )

    assert [(60.0, 60.0), (1860.0, 1860.0)] == spans(told, "checkpoint_load")
    assert [0.0, 1800.0] == [since(event) for event in of(told, "attempt_start")]


@pytest.mark.parametrize(
    ("begins", "saved"),
    [
        (["Saving model checkpoint to out/checkpoint-20"], [(60.5, 240.5)]),
        (["Saving model checkpoint to out"], [(60.5, 240.5)]),
        ([], [(60.5, 60.5), (240.5, 240.5)]),
    ],
)
def test_parts_of_a_save_are_of_the_one_that_was_begun_however_long_they_take(
    begins: list[str], saved: list[tuple[float, float]]
) -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        *(_HEAD.format(1, line) for line in begins),
        _HEAD.format(1, "Configuration saved in out/x/config.json"),
        _HEAD.format(4, "Model weights saved in out/x/model.safetensors"),
        _HEAD.format(5, "Training completed. Do not forget to share your model"),
    )

    assert saved == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    ("model", "optimizer"),
    [("pytorch_model_fsdp_0", "optimizer_0"), ("pytorch_model_fsdp.bin", "optimizer.bin")],
)
def test_a_save_of_fsdp_is_one_though_only_accelerate_tells_of_it(
    model: str, optimizer: str
) -> None:
    folder = "/ckpt/my_steps/out/checkpoint-200/"
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(1, f"Saving model to {folder}{model}"),
        _HEAD.format(2, f"Model saved to {folder}{model}"),
        _HEAD.format(2, f"Saving Optimizer state to {folder}{optimizer}"),
        _HEAD.format(4, f"Optimizer state saved in {folder}{optimizer}"),
        _HEAD.format(5, "Training completed. Do not forget to share your model"),
    )

    assert [(60.5, 240.5)] == spans(told, "checkpoint_save")
    assert [(60.5, 200)] == steps(told)


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


def _of_composer(time: str, module: str, message: str) -> str:
    return f"{time}+0000 2026-03-01 10:00:00,1: rank0[822][MainThread]: INFO: {module}: {message}"


@pytest.mark.parametrize(
    ("head", "steps_told"),
    [("[batch={}/1000]:", (20, 40)), ("[epoch=2][batch={}/100]:", (120, 140))],
)
def test_composer_tells_its_steps_and_what_lies_between_them(
    head: str, steps_told: tuple[int, int]
) -> None:
    first, second = steps_told
    time, at = "2026-03-01T10:{}:00", "2026-03-01T10:{}:00+0000 "
    trainer, utils, foundry = (
        "composer.trainer.trainer",
        "composer.utils.checkpoint",
        "llmfoundry.command_utils.train",
    )
    told = read(
        _of_composer(time.format("00"), foundry, "Building tokenizer..."),
        _of_composer(time.format("01"), trainer, "Run name: llm"),
        _of_composer(time.format("02"), trainer, "No previous autoresume checkpoint found"),
        _of_composer(time.format("03"), foundry, "Starting training..."),
        at.format("04") + head.format(20),
        at.format("04") + "\t Train time/batch: 19",
        at.format("05") + "[Eval batch=1/100] Eval on eval data",
        at.format("07") + "[Eval batch=100/100] Eval on eval data:",
        _of_composer(time.format("08"), utils, "Saving sharded checkpoints to /c/ep1-ba20/__0_0.d"),
        _of_composer(
            time.format("10"),
            "composer.callbacks.checkpoint_saver",
            "Checkpoint locally saved to /c/ep1-ba20/__0_0.distcp",
        ),
        at.format("12") + head.format(40),
        at.format("13") + "ERROR:composer.cli.launcher:Rank 3 crashed with exit code -9.",
        _of_composer(time.format("30"), foundry, "Building tokenizer..."),
        _of_composer(time.format("32"), trainer, "Run name: llm"),
        _of_composer(time.format("33"), trainer, "Autoresuming training from checkpoint"),
        _of_composer(time.format("33"), trainer, "Loading checkpoint from /c/ep1-ba20/"),
        _of_composer(time.format("35"), utils, "Loaded state dict"),
        _of_composer(time.format("36"), foundry, "Starting training..."),
        at.format("37") + head.format(40),
        _of_composer(time.format("38"), foundry, "Done."),
    )

    assert [0.0, 1800.0] == [since(event) for event in of(told, "attempt_start")]
    assert [(180.0, 780.0), (2160.0, 2280.0)] == [
        (begun, ended)
        for begun, ended in zip(
            (since(e) for e in told if e.get("phase") == "training" and "start" in e["event"]),
            (since(e) for e in of(told, "attempt_end")),
            strict=True,
        )
    ]
    assert [(240.0, first), (720.0, second), (2220.0, second)] == [
        (at, step) for at, step in steps(told) if step != 20 or at < 480
    ]
    assert [(300.0, 420.0)] == spans(told, "evaluation")
    assert [(480.0, 600.0)] == spans(told, "checkpoint_save")
    assert [(1980.0, 2100.0)] == spans(told, "checkpoint_load")
    assert [(2160.0, 20)] == resumed(told)
    assert ["failed", "completed"] == [event["outcome"] for event in of(told, "attempt_end")]


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


def test_litgpt_counts_steps_and_not_the_batches_that_they_gather() -> None:
    step = "Epoch 1 | iter {} step {} | loss train: 9.8, val: n/a | iter time: 400.12 ms (step)"
    told = read(
        "2026-03-01T10:00:00Z Time to instantiate model: 0.05 seconds.",
        "2026-03-01T10:00:10Z Verifying settings ...",
        "2026-03-01T10:00:20Z Measured TFLOPs: 123.45",
        f"2026-03-01T10:01:00Z {step.format(64, 2)}",
        "2026-03-01T10:01:10Z Validating ...",
        "2026-03-01T10:01:20Z iter 64: val loss 9.1234, val time: 10000.00 ms",
        "2026-03-01T10:01:30Z Saving checkpoint to 'out/step-00000002/lit_model.pth'",
        f"2026-03-01T10:02:00Z {step.format(96, 3)}",
        "2026-03-01T10:10:00Z Time to instantiate model: 0.05 seconds.",
        "2026-03-01T10:10:10Z Resuming training from out/step-00000002/lit_model.pth",
        "2026-03-01T10:10:30Z Verifying settings ...",
        "2026-03-01T10:10:40Z Measured TFLOPs: 123.45",
        f"2026-03-01T10:11:00Z {step.format(96, 3)}",
        "2026-03-01T10:11:10Z Validating ...",
        "2026-03-01T10:11:20Z Final evaluation | val loss: 9.000 | val ppl: 8103.084",
        "2026-03-01T10:11:30Z | - Training Time : 40.02 s",
    )

    assert [(60.0, 2), (120.0, 3), (660.0, 3)] == steps(told)
    assert [0.0, 600.0] == [since(event) for event in of(told, "attempt_start")]
    assert [20.0, 640.0] == [
        at for kind, phase, at, _ in phases(told) if (kind, phase) == ("phase_start", "training")
    ]
    assert [(70.0, 80.0), (670.0, 680.0)] == spans(told, "evaluation")
    assert [2] == [
        step for kind, phase, _, step in phases(told) if "save" in phase and "d" == kind[-1]
    ]
    assert [(610.0, 630.0)] == spans(told, "checkpoint_load")
    assert [(640.0, 2)] == resumed(told)
    assert ["completed"] == [event["outcome"] for event in of(told, "attempt_end")]


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


def test_levanter_saves_in_the_background_and_resumes_from_the_step_it_saved() -> None:
    line = "2026-03-01T10:{} - 0 - levanter.{} :: {}"
    step = '{{"tracker": "json_logger", "event": "log", "step": {}, "metrics": {{"train/loss": 2.3'
    saves = (
        "Saving checkpoint at step 100.",
        "Saving checkpoint to gs://b/r/step-100 for step 100",
    )
    told = read(
        line.format("00:10", "main.train_lm - t.py:1 - INFO", "No checkpoint found. Starting from"),
        line.format("01:00", "json_logger - j.py:78 - INFO", step.format(50)),
        line.format("01:10", "json_logger - j.py:78 - INFO", step.format(100)),
        *(line.format("01:20", "checkpoint - c.py:376 - INFO", each) for each in saves),
        line.format("01:30", "json_logger - j.py:78 - INFO", step.format(110)),
        line.format("01:50", "checkpoint - c.py:384 - INFO", saves[1].replace("Saving", "Saved")),
        line.format("02:00", "json_logger - j.py:78 - INFO", step.format(150)),
        line.format(
            "10:00", "checkpoint - c.py:44 - INFO", "Loading checkpoint from gs://b/step-100"
        ),
        line.format("10:30", "main.train_lm - t.py:1 - INFO", "Resuming training from step 101"),
        line.format("11:00", "json_logger - j.py:78 - INFO", step.format(101)),
    )

    assert [(80.0, 80.0)] == spans(told, "checkpoint_save")
    assert [(100, 110.0)] == uploads_of(told)
    assert [(600.0, 630.0)] == spans(told, "checkpoint_load")
    assert [(660.0, 100)] == resumed(told)


@pytest.mark.parametrize(
    ("step", "test", "ends"),
    [
        (
            "Train: {} [{:>4d}/1251 ( 10%)]  Loss: 6.95 (6.95)  Time: 0.512s, 2000.00/s",
            "Test: [{:>4d}/48]  Time: 0.8 (0.8)  Loss:   6.9 ( 6.9)  Acc@1:   0.1 (  0.1)",
            "Current checkpoints:",
        ),
        (
            "Epoch: [{}]  [{:>4d}/1251]  eta: 0:20:00  lr: 0.0001  loss: 0.9 (0.9)  time: 0.50",
            "Test:  [{:>3d}/196]  eta: 0:05:00  loss: 0.7 (0.7)  acc1: 1.0 (1.0)  time: 1.0",
            "Test: Total time: 0:00:20 (0.10 s / it)",
        ),
        (
            "Epoch: [{}][{:>4d}/1251]\tTime  0.5 ( 0.6)\tData  0.1 ( 0.1)\tLoss 6.9e+00 (6.9e+00)",
            "Test: [{:>2d}/98]\tTime  2.0 ( 2.0)\tLoss 6.9e+00 (6.9e+00)\tAcc@1   1.0 (  1.0)",
            " *   Acc@1 1.000 Acc@5 3.000",
        ),
    ],
)
def test_a_step_of_an_epoch_that_is_counted_from_0_is_one_of_the_run(
    step: str, test: str, ends: str
) -> None:
    time = "2026-03-01T10:{}+0000 "
    told = read(
        time.format("00:10") + "Starting run x",
        time.format("00:40") + step.format(0, 0),
        time.format("01:10") + step.format(0, 50),
        time.format("01:40") + step.format(0, 1250),
        time.format("01:50") + test.format(0),
        time.format("02:10") + test.format(47),
        time.format("02:20") + ends,
        time.format("02:30") + step.format(1, 0),
        time.format("03:00") + step.format(1, 50),
    )

    assert [(70.0, 50), (100.0, 1250), (150.0, 1251), (180.0, 1301)] == steps(told)
    assert [(110.0, 140.0 if "Total" in ends else 130.0)] == spans(told, "evaluation")
    assert [(140.0, 140.0)] * ends.startswith("Current") == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    ("loading", "name"),
    [
        ("Restoring model state from checkpoint...", "out/checkpoint-12.pth.tar"),
        ("=> loading checkpoint 'checkpoint_0012.pth.tar'", "checkpoint_0012.pth.tar"),
    ],
)
def test_the_epoch_in_the_name_of_a_checkpoint_is_no_step(loading: str, name: str) -> None:
    told = read(
        f"2026-03-01T10:00:10Z {loading}",
        f"2026-03-01T10:00:30Z Loaded checkpoint '{name}' (epoch 12)",
        "2026-03-01T10:00:40Z Scheduled epochs: 300 (epochs + cooldown_epochs).",
        "2026-03-01T10:01:00Z Train: 13 [   0/1251 (  0%)]  Loss: 6.95 (6.95)  Time: 0.512s",
    )

    assert [(10.0, 30.0)] == spans(told, "checkpoint_load")
    assert [] == resumed(told)
    assert [(60.0, 16263)] == steps(told)
    assert ("phase_start", "training", 40.0, None) in phases(told)


def test_dinov2_counts_from_0_and_saves_once_for_each_rank() -> None:
    line = "I20260301 10:{} 822 {}] {}"
    step = "Training  [{:>6d}/125000]  eta: 1 day, 2:00:00  lr: 0.0 (0.0)  total_loss: 12.1 (12.5)"
    saves = ("01:20", "fvcore.common.checkpoint checkpoint.py:124", "Saving checkpoint to /c/{}")
    told = read(
        line.format("00:10", "dinov2 train.py:217", "Starting training from iteration 0"),
        line.format("00:40", "dinov2 helpers.py:102", step.format(10)),
        line.format("01:10", "dinov2 helpers.py:102", step.format(20)),
        line.format(*saves).format("model_0000020.rank_0.pth"),
        line.format("01:40", "dinov2 helpers.py:102", step.format(30)),
        line.format("10:00", "fvcore checkpoint.py:150", "[Checkpointer] Loading ")
        + "from /c/model_0000020.rank_0.pth ...",
        line.format("10:10", "dinov2 train.py:217", "Starting training from iteration 21"),
        line.format("10:40", "dinov2 helpers.py:102", step.format(30)),
    )

    assert [(40.0, 10), (70.0, 20), (100.0, 30), (640.0, 30)] == steps(told)
    assert [20, 20] == [step for _, phase, _, step in phases(told) if "save" in phase]
    assert [(610.0, 20)] == resumed(told)


def test_metaseq_saves_a_checkpoint_of_an_epoch_once() -> None:
    line = "2026-03-01 10:00:{} | INFO | metaseq.{}"
    told = read(
        line.format("10", "cli | [train_inner] epoch 1 | num_updates=2000 loss=2.5"),
        line.format("20", "c | Preparing to save checkpoint for epoch 1 @ 2000 updates"),
        line.format("20", "trainer | Saving checkpoint to /c/checkpoint1.pt"),
        line.format("30", "trainer | Finished saving checkpoint to /c/checkpoint1.pt"),
        line.format("30", "checkpoint_utils | Saved checkpoint /c/checkpoint1.pt ")
        + "(epoch 1 @ 2000 updates) (writing took 10.5 seconds)",
        line.format("50", "cli | [train_inner] epoch 1 | num_updates=2010 loss=2.5"),
    )

    assert [(20.0, 30.5)] == spans(told, "checkpoint_save")


def test_colossal_ai_saves_and_loads_no_step_of_an_epoch() -> None:
    time = "2026-03-01T10:00:{}+0000 "
    told = read(
        time.format(10) + "Load model checkpoint from /c/epoch-1_step-100",
        time.format(20) + "Loaded checkpoint /c/epoch-1_step-100 at epoch 1 step 100",
        time.format(30) + "global step 610 loss 2.5",
        time.format(40) + "Start saving model checkpoint with running states",
        time.format(50) + "Saved checkpoint at epoch 1 step 200 at folder /c",
    )

    assert [] == resumed(told)
    assert [(10.0, 20.0)] == spans(told, "checkpoint_load")
    assert [(40.0, 50.0)] == spans(told, "checkpoint_save")
    assert {None} == {step for _, phase, _, step in phases(told) if "save" in phase}


def test_t5x_evaluates_between_its_epochs() -> None:
    line = "I20260301 10:{}.000000 140737 {}] {}"
    loss = "[{}] collection=train accuracy=0.1, learning_rate=0.01, loss=2.5, timing/seconds=30.1"
    told = read(
        line.format("00:00", "train.py:201", "Process ID: 0"),
        line.format("00:10", "checkpoints.py:1", "Restoring from checkpoint: /c/checkpoint_1000"),
        line.format("00:30", "train.py:391", "Initialize/restore complete (25.00 seconds)."),
        line.format("00:31", "train.py:607", "Starting main loop over steps 1000-3000"),
        line.format("01:00", "train.py:668", "Epoch 0 of 2"),
        line.format("01:00", "train.py:674", "BEGIN Train loop."),
        line.format("02:00", "train.py:747", "END Train loop."),
        line.format("02:00", "logging_writer.py:48", loss.format(2000)),
        line.format("02:10", "train.py:508", "Computing training evaluation metrics."),
        line.format("02:20", "train.py:528", "Running inference evaluation."),
        line.format("02:30", "logging_writer.py:48", "[2000] collection=inference_eval/x loss=3"),
        line.format("03:00", "train.py:668", "Epoch 1 of 2"),
        line.format("03:00", "train.py:674", "BEGIN Train loop."),
        line.format("04:00", "logging_writer.py:48", loss.format(3000)),
        line.format("20:00", "train.py:201", "Process ID: 0"),
    )

    assert [(120.0, 2000), (240.0, 3000)] == steps(told)
    assert [("phase_start", "training", 31.0, None)] == [e for e in phases(told) if "training" in e]
    assert [(10.0, 30.0)] == spans(told, "checkpoint_load")
    assert [(31.0, 1000)] == resumed(told)
    assert [(130.0, 180.0)] == spans(told, "evaluation")
    assert [0.0, 1200.0] == [since(event) for event in of(told, "attempt_start")]


def test_pax_tells_from_which_step_it_goes_on_and_when_it_is_done() -> None:
    line = "I20260301 10:{}.000000 140737 {}] {}"
    told = read(
        line.format("00:00", "main.py:562", "[PAX STATUS]: Program start."),
        line.format("00:30", "executors.py:341", "Model initial global_step=200"),
        line.format("00:40", "executors.py:348", "[PAX STATUS]: Starting training loop."),
        line.format("01:00", "summary.py:919", "[PAX STATUS] step_i: 300, training loss: 2.5"),
        line.format("01:10", "programs.py:830", "Starting eval eval_test with num_steps=10"),
        line.format("01:30", "programs.py:840", "Finished eval on eval_test"),
        line.format("02:00", "summary.py:919", "[PAX STATUS] step_i: 400, training loss: 2.5"),
        line.format("02:01", "executors.py:429", "Training loop completed (step (`400`) greater"),
    )

    assert [(60.0, 300), (120.0, 400)] == steps(told)
    assert [(40.0, 121.0)] == spans(told, "training")
    assert [(40.0, 200)] == resumed(told)
    assert [(70.0, 90.0)] == spans(told, "evaluation")
    assert ["completed"] == [event["outcome"] for event in of(told, "attempt_end")]


def test_lingua_tells_what_it_saves_and_loads() -> None:
    line = "2026-03-01T10:{}+0000 0: INFO    26-03-01 10:00:00.123456 - 0:05:10 - {}"
    step = "step: {}  acc: 0  loss:  7.1234  grad: 1.00e+00  flops: 3.0e+14  wps: 5.0e+04"
    told = read(
        line.format("00:00", "Starting job: llama_1B"),
        line.format("01:00", step.format(20)),
        line.format("01:10", "Saving to: /x/c/0000000020"),
        line.format("01:30", "State dict saved!"),
        line.format("01:30", "Saving train state to: /x/c/0000000020/train_state_00000.json"),
        line.format("01:31", "Train state saved !"),
        line.format("02:00", step.format(30)),
        line.format("10:00", "Starting job: llama_1B"),
        line.format("10:10", "Reloading train state"),
        line.format("10:11", "Loading from: /x/c/0000000020"),
        line.format("10:31", "Model and optim reloaded"),
        line.format("11:00", step.format(30)),
    )

    assert [(70.0, 91.0)] == spans(told, "checkpoint_save")
    assert [20, 20] == [step for _, phase, _, step in phases(told) if "save" in phase]
    assert [(610.0, 631.0)] == spans(told, "checkpoint_load")
    assert [(660.0, 20)] == resumed(told)


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


@pytest.mark.parametrize("label", ["", "0: ", "[default0]:", "[rank0]: ", "[1,0]<stderr>:", "n1: "])
def test_composer_is_read_behind_any_label(label: str) -> None:
    told = read(
        f"2026-03-01T10:00:00Z {label}[batch=10/1000]:",
        f"2026-03-01T10:00:10Z {label}[Eval batch=1/9] Eval on eval data",
        f"2026-03-01T10:00:20Z {label}[Eval batch=9/9] Eval on eval data:",
        f"2026-03-01T10:00:30Z {label}[batch=20/1000]:",
    )

    assert [(0.0, 10), (30.0, 20)] == steps(told)
    assert [(10.0, 20.0)] == spans(told, "evaluation")


def test_a_line_of_rich_without_a_time_is_of_the_time_before_it() -> None:
    told = read(
        "[03/01/26 10:00:00] INFO     step 10 loss 2.5                      train.py:10",
        "                    INFO     Saving checkpoint to /c/step-10       train.py:12",
        "[03/01/26 10:00:20] INFO     Saved checkpoint to /c/step-10        train.py:14",
        "[03/01/26 10:00:30] WARNING  the loss is high                      train.py:16",
        "                    INFO     step 20 loss 2.5                      train.py:10",
        "                             step 30 loss 2.5 is what it will be",
    )

    assert [(0.0, 10), (30.0, 20)] == steps(told)
    assert [(0.0, 20.0)] == spans(told, "checkpoint_save")


def test_orbit_trains_evaluates_and_restores() -> None:
    line = "I20260301 10:{}.000000 140 controller.py:64] {}"
    told = read(
        line.format("00:00", "restoring or initializing model..."),
        line.format("00:20", "restored model from /c/ckpt-100."),
        line.format("00:30", "train | step:    100 | training until step 300..."),
        line.format("01:00", "train | step:    200 | steps/sec:   10.5 | output: "),
        line.format("01:10", "saved checkpoint to /c/ckpt-200."),
        line.format("01:20", " eval | step:    200 | running complete evaluation..."),
        line.format("01:40", " eval | step:    200 | steps/sec:  2.1 | eval time:   20.0 sec | o"),
        line.format("02:10", "train | step:    300 | steps/sec:   10.5 | output: "),
        line.format("10:00", "restoring or initializing model..."),
        line.format("10:20", "restored model from /c/ckpt-200."),
        line.format("11:00", "train | step:    300 | steps/sec:   10.5 | output: "),
    )

    assert [(60.0, 200), (130.0, 300), (660.0, 300)] == steps(told)
    assert [(0.0, 20.0), (600.0, 620.0)] == spans(told, "checkpoint_load")
    assert [100, 200] == [step for _, step in resumed(told)]
    assert [(80.0, 100.0)] == spans(told, "evaluation")
    assert [200, 200] == [step for _, phase, _, step in phases(told) if "save" in phase]


def test_an_estimator_tells_its_loss_before_its_step() -> None:
    line = "I20260301 10:00:{}.000000 140 basic_session_run_hooks.py:260] {}"
    told = read(
        line.format("10", "loss = 2.5, step = 100 (9.5 sec)"),
        line.format("20", "Calling checkpoint listeners before saving checkpoint 200..."),
        line.format("20", "Saving checkpoints for 200 into /c/model.ckpt."),
        line.format("25", "Calling checkpoint listeners after saving checkpoint 200..."),
        line.format("30", "loss = 2.4, step = 210 (9.5 sec)"),
    )

    assert [(10.0, 100), (20.0, 200), (30.0, 210)] == steps(told)
    assert [(20.0, 25.0)] == spans(told, "checkpoint_save")
