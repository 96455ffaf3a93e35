"""What the lines of torchtitan, OLMo, Composer, LitGPT and other trainers of language say."""

from __future__ import annotations

import pytest

from tests.ingest.trainer_logs import (
    OLMO_CORE,
    TORCHTITAN,
    at_one,
    keys,
    of,
    olmo_core,
    phases,
    read,
    resumed,
    since,
    spans,
    steps,
    uploads_of,
)


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


def titan(*said: str) -> list[str]:
    """Lines of torchtitan: when, in seconds since ten o'clock, and what."""
    return [
        f"[titan] 2026-03-01 10:00:{float(at):06.3f} - root - INFO - {what}"
        for at, what in (line.split(" ", 1) for line in said)
    ]


def test_torchtitan_saves_nothing_where_it_says_how_it_would() -> None:
    told = read(
        *titan(
            "0 torchtitan version: 0.3.0 (0.0.0 means __version__ is not defined correctly).",
            "1 model.safetensors.index.json not found at hf_assets_path: ./a.json. Defaulting to "
            "saving a single safetensors file if checkpoint is saved in HF format",
            "2 Training starts at step 1",
            "3 step:  1  loss:  8.1",
        )
    )

    assert [] == spans(told, "checkpoint_save")


def test_torchtitan_validates_from_its_step_or_the_save_behind_that_on() -> None:
    told = read(
        *titan(
            "0 Training starts at step 1",
            "10 step:  1  loss:  8.1",
            "14 validate step:  1  loss:  8.0",
            "20 step: 10  loss:  7.1",
            "20.5 Saving the checkpoint.",
            "23 Finished saving the checkpoint in 2.50 seconds.",
            "26 validate step: 10  loss:  7.0",
            "30 step: 20  loss:  7.1",
            "37 validate step: 25  loss:  7.0",  # since step 25, which is told of nowhere
            "40 step: 30  loss:  7.1",
        )
    )

    assert [(10.0, 14.0), (23.0, 26.0)] == spans(told, "evaluation")
    assert [(20.5, 23.0)] == spans(told, "checkpoint_save")


def test_torchtitan_trains_no_more_while_it_waits_for_other_ranks() -> None:
    told = read(
        *titan(
            "0 Training starts at step 1",
            "10 step: 10  loss:  8.1",
            "11 Sleeping 2 seconds for other ranks to complete",
            "13 Training completed",
        )
    )

    assert [(0.0, 11.0)] == spans(told, "training")
    assert [("completed", 13.0)] == [(e["outcome"], since(e)) for e in of(told, "attempt_end")]


def test_the_last_save_of_torchtitan_of_which_no_line_tells_the_end_lasts_while_it_saves() -> None:
    told = read(
        *titan(
            "0 Training starts at step 1",
            "10 step: 10  loss:  8.1",
            "10.1 Saving the checkpoint (or staging if async is enabled).",
            "10.2 [GC] GC collection invoked by checkpointer. took 0.01 seconds",
            "10.9 [GC] GC collection invoked by checkpointer. took 0.01 seconds",
            "11 Finished saving the checkpoint (or staging if async is enabled)in 0.90 seconds.",
            "20 step: 20  loss:  8.1",
            "20.1 Saving the checkpoint (or staging if async is enabled).",
            "20.1 Saving a full checkpoint at last step, step 20.",
            "28 [GC] GC collection invoked by checkpointer. took 0.01 seconds",
            "28 Sleeping 2 seconds for other ranks to complete",
            "30 Training completed",
        )
    )

    assert [(10.1, 11.0), (20.1, 28.0)] == spans(told, "checkpoint_save")


def test_ranks_of_torchtitan_that_tell_all_twice_did_it_once() -> None:
    told = read(
        *titan(
            "0 Loading the checkpoint from out/step-10.",
            "0.002 Loading the checkpoint from out/step-10.",
            "2 Finished loading the checkpoint in 2.00 seconds.",
            "2 Training starts at step 11",
            "2.01 Finished loading the checkpoint in 2.01 seconds.",
            "2.011 Training starts at step 11",
            "10 step: 20  loss:  7.1",
            "10.001 Staging the checkpoint.",
            "10.002 step: 20  loss:  7.1",
            "10.003 Staging the checkpoint.",
            "10.2 Finished staging the checkpoint in 0.20 seconds.",
            "10.3 Finished staging the checkpoint in 0.30 seconds.",
            "20 step: 30  loss:  7.1",
            "20.001 Saving a full checkpoint at last step, step 30.",
            "20.002 Saving a full checkpoint at last step, step 30.",
            "22 Last step checkpoint completed in 2.00s",
            "22 Training completed",
            "22.002 [GC] GC collection invoked by checkpointer. took 0.01 seconds",
            "22.003 Last step checkpoint completed in 2.00s",
            "24 Training completed",
        )
    )

    assert [(0.0, 2.0)] == spans(told, "checkpoint_load")
    assert [(10.001, 10.301), (20.001, 22.001)] == spans(told, "checkpoint_save")


def test_olmo_trains_once_it_says_so() -> None:
    told = read(
        "2026-03-01 10:00:00.000\tnode-1:0\ttrain:417\tINFO\tCLI environment prepared",
        "2026-03-01 10:00:20.000\tnode-1:0\ttrain:375\tINFO\tStarting training...",
        "2026-03-01 10:01:50.000\tnode-1:0\tolmo.train:9\tINFO\t[step=10/90,epoch=0]",
    )

    assert ("attempt_start", 0.0) == (told[0]["event"], since(told[0]))
    assert [("phase_start", "training", 20.0, None)] == phases(told)


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


def test_olmo_core_tells_the_step_of_a_save_while_it_saves() -> None:
    told = read(
        *olmo_core(
            """\
00:00.000 train:148 Using distributed backend nccl
00:10.000 train.trainer:1668 Dry-run complete
00:19.000 train.callbacks.console_logger:64 [step=9/32,epoch=1]
00:20.000 train.trainer:1177 Saving checkpoint for step 10 to '/c/run/step10'...
00:20.100 train.callbacks.console_logger:71 [step=10/32,epoch=1,eta=1m]
00:25.000 train.trainer:1197 Checkpoint saved
00:26.000 train.callbacks.console_logger:64 [step=11/32,epoch=1]"""
        )
    )

    assert [(20.0, 25.0)] == spans(told, "checkpoint_save")


_OLMO_CORE_STOPPED = """\
00:00.000 train.trainer:725 No checkpoint found in save folder ('/c'), will train from scratch...
00:10.000 train.trainer:1668 Dry-run complete
00:18.000 train.callbacks.console_logger:64 [step=9/32,epoch=1]
00:19.000 train.trainer:1596 Run canceled from rank 1. Reason: {reason}
00:20.000 train.callbacks.console_logger:64 [step=10/32,epoch=1]
00:21.000 train.trainer:1177 Saving checkpoint for step 10 to '/c/run/step10'...
00:25.000 train.trainer:1197 Checkpoint saved
00:26.000 train.trainer:782 Training complete"""


def _stopped(reason: str) -> list[str]:
    lines = olmo_core(_OLMO_CORE_STOPPED.format(reason=reason))
    return [line.replace("INFO\tRun", "WARNING\tRun") for line in lines]


@pytest.mark.parametrize(
    ("reason", "outcome"), [("SIGTERM received", "failed"), ("SIGINT received", "cancelled")]
)
def test_olmo_core_that_was_stopped_is_not_complete_though_it_says_so(
    reason: str, outcome: str
) -> None:
    told = read(*_stopped(reason))

    assert [(outcome, 26.0)] == [(e["outcome"], since(e)) for e in of(told, "attempt_end")]


def test_what_is_loaded_after_a_stop_begins_another_launch() -> None:
    again = olmo_core(
        """\
00:40.000 train.trainer:1106 Loading checkpoint from '/c/run/step10'...
00:42.000 train.trainer:1128 Checkpoint successfully loaded
00:43.000 train.trainer:1668 Dry-run complete
00:45.000 train.callbacks.console_logger:64 [step=11/32,epoch=1]
00:59.000 train.trainer:782 Training complete"""
    )
    told = read(*_stopped("SIGTERM received"), *again)

    assert ["failed", "completed"] == [event["outcome"] for event in of(told, "attempt_end")]
    assert [(43.0, 10)] == resumed(told)


def test_a_run_that_went_on_after_it_was_told_to_stop_may_be_complete() -> None:
    steps_told = [
        f"00:{20 + at}.500 train.callbacks.console_logger:64 [step={at + 10}/32,epoch=1]"
        for at in range(7)
    ]
    stopped, done = (
        _stopped("SIGTERM received")[:4],
        olmo_core("00:59.000 train.trainer:782 Training complete"),
    )
    told = read(*stopped, *olmo_core("\n".join(steps_told)), *done)

    assert ["completed"] == [event["outcome"] for event in of(told, "attempt_end")]


def test_torchtune_says_when_it_begins_loads_trains_and_has_saved() -> None:
    told = read(
        "2026-03-01T10:00:00+0000 INFO:torchtune.utils._logging:Running "
        "FullFinetuneRecipeSingleDevice with resolved config:",
        "2026-03-01T10:00:01+0000 ",
        "2026-03-01T10:00:02+0000 INFO:torchtune.utils._logging:Loading the recipe state using: ",
        "2026-03-01T10:00:09+0000 INFO:torchtune.utils._logging:Model is initialized with "
        "precision torch.float32.",
        "2026-03-01T10:00:20+0000 INFO:torchtune.utils._logging: Profiler config after "
        "instantiation: {'enabled': False}",
        "2026-03-01T10:00:30+0000 Step 13 | loss:32.2 lr:2e-05 tokens_per_second_per_gpu:12.7 ",
        "2026-03-01T10:00:40+0000 INFO:torchtune.utils._logging:Model checkpoint of size 2.30 GiB "
        "saved to /o/epoch_1/model-00001-of-00001.bin",
        "2026-03-01T10:00:45+0000 INFO:torchtune.utils._logging:Recipe checkpoint of size 4.60 GiB "
        "saved to /o/recipe_state/recipe_state.pt",
        "2026-03-01T10:00:55+0000 Step 14 | loss:31.1 lr:2e-05 tokens_per_second_per_gpu:12.6 ",
        "2026-03-01T10:01:00+0000 INFO:torchtune.utils._logging:Model checkpoint of size 2.30 GiB "
        "saved to /o/epoch_2/model-00001-of-00001.bin",
        "2026-03-01T10:01:01+0000 INFO:torchtune.utils._logging:The full model checkpoint, "
        "including all weights and configurations, has been saved successfully.You can now use "
        "this checkpoint for further training or inference.",
    )

    assert [0.0] == [since(event) for event in of(told, "attempt_start")]
    assert [(2.0, 9.0)] == spans(told, "checkpoint_load")
    assert [20.0] == [since(event) for event in told if event.get("phase") == "training"]
    assert [(40.0, 45.0), (60.0, 61.0)] == spans(told, "checkpoint_save")


def test_torchtune_tells_its_steps_in_its_bar_alone_and_that_its_last_epoch_is_done() -> None:
    info = "+0000 INFO:torchtune.utils._logging:"
    told = read(
        f"2026-03-01T10:00:00{info}Running FullFinetuneRecipeDistributed with resolved config:",
        f"2026-03-01T10:00:20{info} Profiler config after instantiation: {{'enabled': False}}",
        "2026-03-01T10:00:41+0000 \r  0%|   | 0/20 [00:00<?, ?it/s]"
        "\r1|1|Loss: 30.9:  5%|5  | 1/20 [00:20<06:20, 20.0s/it]"
        "\r1|1|Loss: 30.9: 10%|#  | 2/20 [00:20<06:20, 20.0s/it]"
        "\r1|2|Loss: 30.4: 10%|#  | 2/20 [00:21<06:20, 20.0s/it]",
        "2026-03-01T10:01:00+0000 \r2|11|Loss: 30.4:  5%|5  | 1/10 [00:21<06:20, 20.0s/it]\x1b[A",
        f"2026-03-01T10:01:20+0000 2|12|Loss: 30.3: 100%|##| 10/10 [00:21<06:20, 20.0s/it]"
        f"{info[6:]}Saving checkpoint. This may take some time.",
        f"2026-03-01T10:01:30{info}Model checkpoint of size 2.30 GiB saved to /o/epoch_1/m.bin",
        f"2026-03-01T10:01:31{info}Saving final epoch checkpoint.",
        f"2026-03-01T10:01:32{info}Saving checkpoint took 12.00 secs",
    )

    assert [(41.0, 2), (60.0, 11)] == steps(told)
    assert [(80.0, 92.0)] == spans(told, "checkpoint_save")
    assert ["completed"] == [event["outcome"] for event in of(told, "attempt_end")]


def test_what_a_rank_raises_behind_a_bar_with_a_title_of_any_kind_ends_with_its_exception() -> None:
    launch = "INFO:torchtune.utils._logging:Running FullFinetuneRecipeDistributed with resolved"
    told = read(
        f"2026-03-01T10:00:00+0000 {launch} config:",
        "2026-03-01T10:00:20+0000 INFO:torchtune.utils._logging: Profiler config after "
        "instantiation: {'enabled': False}",
        "2026-03-01T10:00:41+0000 \r2|22|Loss: 30.1:  20%|##   | 2/10 [00:00<00:03,  2.2it/s]\x1b[A"
        "[rank0]: Traceback (most recent call last):",
        '2026-03-01T10:00:41+0000 [rank0]:   File "/r/full.py", line 28, in <module>',
        "2026-03-01T10:00:41+0000 [rank0]:     recipe_main()",
        "2026-03-01T10:00:41+0000 [rank0]: RuntimeError: boom",
        "2026-03-01T10:00:50+0000 ett: launch",
        f"2026-03-01T10:00:55+0000 {launch} config:",
        "2026-03-01T10:01:00+0000 INFO:torchtune.utils._logging: Profiler config after "
        "instantiation: {'enabled': False}",
    )

    assert ["RuntimeError: boom"] == [
        event["message"].partition("\n")[0] for event in of(told, "failure")
    ]
    assert [0] == [event["rank"] for event in of(told, "failure")]
    assert [0.0, 50.0] == [since(event) for event in of(told, "attempt_start")]
    assert [
        ("phase_start", "training", 20.0, None),
        ("phase_end", "training", 41.0, None),
        ("phase_start", "training", 60.0, None),
    ] == phases(told)


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


@pytest.mark.parametrize(
    ("batches", "until"),
    [
        pytest.param(("1/4", "4/4"), 120.0, id="one"),
        pytest.param(("1/4", "4/4", "1/9", "9/9"), 240.0, id="another, after a minute"),
        pytest.param(("1/1", "1/1", "1/1"), 180.0, id="each of one batch"),
        pytest.param(("1/4", "4/4", "1/9"), 180.0, id="the last was not ended"),
    ],
)
def test_evaluations_of_composer_that_follow_one_another_are_one(
    batches: tuple[str, ...], until: float
) -> None:
    at = "2026-03-01T10:0{}:00+0000 "
    told = read(
        at.format(0) + "[batch=20/1000]:",
        *(
            at.format(minute) + f"[Eval batch={batch}] Eval on task {minute // 3}"
            for minute, batch in enumerate(batches, 1)
        ),
        at.format(6) + "[batch=21/1000]:",
        at.format(7) + "[Eval batch=1/4] Eval on task 0",
        at.format(8) + "[Eval batch=4/4] Eval on task 0",
        at.format(9) + "[batch=22/1000]:",
    )

    assert [(60.0, until), (420.0, 480.0)] == spans(told, "evaluation")


def _composer_that_goes_on(*between: str, first: int = 30) -> list[str]:
    time, at = "2026-03-01T10:{}:00", "2026-03-01T10:{}:00+0000 "
    trainer = "composer.trainer.trainer"
    return [
        _of_composer(time.format("00"), trainer, "Run name: llm"),
        *(at.format(f"{step:02}") + f"[batch={step}/1000]:" for step in (5, 10, 15, 20)),
        *between,
        _of_composer(time.format("32"), trainer, "Run name: llm"),
        _of_composer(time.format("33"), trainer, "Loading checkpoint from /c/latest-rank0.pt"),
        at.format("37") + f"[batch={first}/1000]:",
        at.format("38") + f"[batch={first + 5}/1000]:",
    ]


@pytest.mark.parametrize("first", [15, 20, 10])
def test_steps_show_what_was_restored_where_a_log_tells_of_no_save(
    first: int, caplog: pytest.LogCaptureFixture
) -> None:
    told = read(*_composer_that_goes_on(first=first))

    assert [(37 * 60.0, first - 5)] == resumed(told)
    assert "" == caplog.text


def test_steps_that_are_counted_from_the_first_show_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = read(*_composer_that_goes_on(first=5))

    assert [] == resumed(told)
    assert "all that it trained before an interruption counts as unsaved" in caplog.text


def test_where_a_log_tells_of_saves_its_steps_show_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    saved = "Checkpoint locally saved to /c/latest-rank0.pt"
    saver = "composer.callbacks.checkpoint_saver"
    told = read(
        *_composer_that_goes_on(_of_composer("2026-03-01T10:21:00", saver, saved), first=20)
    )

    assert [] == resumed(told)
    assert "" == caplog.text


def test_what_a_killed_launcher_was_telling_again_is_over_after_a_minute() -> None:
    at = "2026-03-01T10:21:00+0000 "
    told = read(
        *_composer_that_goes_on(
            f"{at}----------Begin global rank 1 STDERR----------",
            _of_composer("2026-03-01T10:21:00", "composer.trainer.trainer", "Run name: llm"),
            f"{at}[batch=5/1000]:",
            f"{at}[batch=10/1000]:",
            f"{at}Traceback (most recent call last):",
            f"{at}ValueError: a bad batch",
            first=20,
        )
    )

    assert [0.0, 32 * 60.0] == [since(event) for event in of(told, "attempt_start")]
    assert [5, 10, 15, 20, 20, 25] == [step for _, step in steps(told)]
    assert ["ValueError: a bad batch"] == [
        event["message"].partition("\n")[0] for event in of(told, "failure")
    ]


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


def test_an_async_save_of_torchtune_is_there_once_it_says_so() -> None:
    lines = (
        "02:01 Saving checkpoint asynchronously. Retrieving full state dict...",
        "02:06 Rank 0: Trainer was blocked for 4.90 seconds for checkpointing to finish...",
        "02:06 Saving asynchronous checkpoint took 5.00 secs",
        "03:06 Step 30 | loss:1.2 lr:1e-05 tokens_per_second_per_gpu:1000",
        "03:36 Rank 0: Checkpoint is saved asynchronously to /ckpt/step_20 successfully.",
        "04:06 Step 40 | loss:1.2 lr:1e-05 tokens_per_second_per_gpu:1000",
        "04:07 Saving checkpoint asynchronously. Retrieving full state dict...",
        "04:12 Saving asynchronous checkpoint took 5.00 secs",
        "05:12 Step 50 | loss:1.2 lr:1e-05 tokens_per_second_per_gpu:1000",
    )
    told = read(*(f"2026-03-01 10:{line}" for line in lines))

    assert [(121.0, 126.0), (247.0, 252.0)] == spans(told, "checkpoint_save")
    assert [
        ("phase_start", 126.0, 216.0),
        ("phase_start", 252.0, None),
    ] == [
        (e["event"], since(e), since({"at_us": e["end_us"]}) if "end_us" in e else None)
        for e in told
        if e.get("phase") == "checkpoint_upload"
    ]


def test_saves_that_ray_train_tells_have_no_step() -> None:
    path = "path=/mnt/ray_results/x/TorchTrainer_ab123_00000/checkpoint_000004"
    worker = "(RayTrainWorker pid=71, ip=10.0.0.7)"
    told = read(
        f"2026-03-01T10:00:00Z {worker} step 10 loss 1.0",
        f"2026-03-01T10:01:00Z {worker} Checkpoint successfully created at: "
        f"Checkpoint(filesystem=local, {path}) [repeated 3x across cluster]",
        f"2026-03-01T10:02:00Z {worker} step 20 loss 1.0",
    )

    assert [
        ("phase_start", "checkpoint_save", 60.0, None),
        ("phase_end", "checkpoint_save", 60.0, None),
    ] == [each for each in phases(told) if each[1] == "checkpoint_save"]


def test_local_checkpoints_of_nvidia_resiliency_ext_are_read() -> None:
    nemo = "[NeMo I 2026-03-01 10:{} {}] {}"
    told = read(
        nemo.format("00:00", "rank:1", "step 10 loss 1.0"),
        nemo.format(
            "00:30", "base_manager:294", "Successfully saved local checkpoint from iteration 10"
        ),
        nemo.format("01:00", "rank:1", "step 20 loss 1.0"),
        nemo.format(
            "05:00",
            "local_checkpoint_callback:172",
            "Local checkpoint interation 10 greater than global 0. "
            "Resuming from a local checkpoint",
        ),
        nemo.format("06:00", "rank:1", "step 20 loss 1.0"),
        nemo.format("06:30", "rank:1", "step 30 loss 1.0"),
    )

    assert [(30.0, 10)] * 2 == [(at, n) for _, phase, at, n in phases(told) if "save" in phase]
    assert [(360.0, 10)] == resumed(told)
    assert 2 == len(keys(told))


def test_who_failed_trains_no_more_while_its_launcher_waits_to_start_it_anew() -> None:
    worker, controller = "(RayTrainWorker pid=2286) ", "(TrainController pid=2060) "
    began = f"2026-03-01T10:00:00+0000 {controller}Started training worker group of size 1: "
    lines = [
        *[f"2026-03-01T10:00:{at}+0000 {worker}step {at} loss 0.5" for at in range(10, 15)],
        f"2026-03-01T10:00:15+0000 {worker}Traceback (most recent call last):",
        f'2026-03-01T10:00:15+0000 {worker}  File "/srv/train.py", line 24, in loop',
        f"2026-03-01T10:00:15+0000 {worker}RuntimeError: boom in the loop",
        *[
            f"2026-03-01T10:0{at}:00+0000 {controller}Attempting to start training worker group"
            for at in range(1, 8)
        ],
        f"2026-03-01T10:08:00+0000 {worker}Resumed from checkpoint at step 12",
        f"2026-03-01T10:08:10+0000 {worker}step 13 loss 0.5",
    ]
    told = read(began, *lines)

    assert [10.0, 15.0, 490.0] == [since(e) for e in told if e.get("phase") == "training"]


def test_who_went_on_after_a_failure_that_was_told_trains_until_its_launch_is_over() -> None:
    told = read(
        "2026-03-01T10:00:10+0000 step 10 loss 0.5",
        "2026-03-01T10:00:11+0000 Traceback (most recent call last):",
        '2026-03-01T10:00:11+0000   File "/srv/train.py", line 24, in loop',
        "2026-03-01T10:00:11+0000 RuntimeError: boom in a callback",
        "2026-03-01T10:00:12+0000 step 11 loss 0.5",
    )

    assert [10.0] == [since(event) for event in told if event.get("phase") == "training"]


def test_whose_bar_moved_on_after_a_failure_trains_until_its_launch_is_over() -> None:
    told = read(
        "2026-03-01T10:00:10+0000 step 10 loss 0.5",
        "2026-03-01T10:00:11+0000 Traceback (most recent call last):",
        '2026-03-01T10:00:11+0000   File "/srv/train.py", line 24, in loop',
        "2026-03-01T10:00:11+0000 RuntimeError: boom in a callback",
        "\r 40%|####      | 40/100 [08:00<12:00,  12.00s/it]",
        "2026-03-01T10:09:00+0000 bye",
    )

    assert [10.0] == [since(event) for event in told if event.get("phase") == "training"]


@pytest.mark.parametrize("level", ["", "INFO - "])
def test_speechbrain_trains_from_its_first_epoch_on_and_tells_its_saves(level: str) -> None:
    def said(minute: int, module: str, message: str) -> str:
        return f"2026-03-01 10:{minute:02}:00,000 - speechbrain.{module} - {level}{message}"

    def launch(minute: int, load: str) -> list[str]:
        return [
            said(minute, "core", "Beginning experiment!"),
            said(minute + 1, "utils.checkpoints", load),
            said(minute + 2, "utils.epoch_loop", "Going into epoch 1"),
            said(
                minute + 9,
                "utils.train_logger",
                "epoch: 1, lr: 0.1 - train loss: 1 - valid loss: 1",
            ),
            said(minute + 9, "utils.checkpoints", "Saved an end-of-epoch checkpoint in o/CKPT+a"),
            said(minute + 9, "utils.epoch_loop", "Going into epoch 2"),
            said(minute + 15, "utils.checkpoints", "Saved an intra-epoch checkpoint in o/CKPT+b"),
        ]

    told = read(
        *launch(0, "Would load a checkpoint here, but none found yet."),
        *launch(20, "Loading a checkpoint from o/save/CKPT+b"),
        said(39, "utils.checkpoints", "Loading a checkpoint from o/save/CKPT+b"),
        said(40, "utils.train_logger", "Epoch loaded: 2 - test loss: 0.8, test WER: 2.1"),
    )

    assert [0.0, 1200.0] == [since(event) for event in of(told, "attempt_start")]
    saves = [(60.0 * at, 60.0 * at) for at in (9, 15, 29, 35)]
    assert saves == spans(told, "checkpoint_save")
    assert [120.0, 1320.0] == [
        since(event) for event in of(told, "phase_start") if event["phase"] == "training"
    ]
    assert ["completed"] == [event["outcome"] for event in of(told, "attempt_end")]
