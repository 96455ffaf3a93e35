"""What the lines of trainers on JAX and TensorFlow mean, and those of Orbax."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.trainer_logs import (
    DAY,
    LOGS,
    SECOND_US,
    of,
    phases,
    read,
    resumed,
    since,
    spans,
    steps,
    uploads_of,
    us,
)
from tests.queries.engine import ingest, rows


def test_a_process_of_jax_begins_when_it_looks_for_its_devices() -> None:
    backend = "] Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so"
    told = read(
        "2026-03-01T10:00:00Z I0301 10:00:00.1 7 xla_bridge.py:849" + backend,
        "2026-03-01T10:01:00Z step 10 loss 0.5",
        "2026-03-01T10:02:00Z step 20 loss 0.4",
        "2026-03-01T10:02:05Z I0301 10:02:05.1 7 base_layout.py:51] Stored the layout",
        "2026-03-01T10:03:00Z I0301 10:03:00.1 9 xla_bridge.py:849" + backend,
        # the longest pause of all
        "2026-03-01T10:06:00Z [process=0] Started load checkpoint @ /c/20.",
        "2026-03-01T10:07:00Z step 30 loss 0.3",
    )

    assert [0.0, 180.0] == [since(event) for event in of(told, "attempt_start")]


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


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_save_that_waits_for_the_one_before_blocks_training_meanwhile(hosts: int) -> None:
    wait = (
        "Waiting for previous save to complete took 7.500000 seconds. If this number is high, "
        "consider checkpointing less frequently."
    )
    told = read(
        "2026-03-01T10:00:10Z completed step: 11, seconds: 0.5, TFLOP/s/device: 90.1",
        *[f"2026-03-01T10:00:2{n}Z {wait}" for n in range(hosts)],
        "2026-03-01T10:00:21Z [process=0] Saving checkpoint at step 12",
        "2026-03-01T10:00:21Z [process=0] [async] Started save checkpoint @ /c/12.",
        "2026-03-01T10:00:22.5Z [process=0] [async] Finished blocking save in 1.50 seconds. "
        "Continuing save @ /c/12.",
        "2026-03-01T10:00:25Z completed step: 12, seconds: 0.5, TFLOP/s/device: 90.1",
        "2026-03-01T10:00:30Z completed step: 13, seconds: 0.5, TFLOP/s/device: 90.1",
    )

    assert [(12.5, 22.5)] == spans(told, "checkpoint_save")
    assert [12] == [e["step"] for e in told if e["event"] == "phase_end" and "ok" in e]


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


def test_maxtext_evaluates_from_its_first_step_on_whatever_it_tells_late() -> None:
    step = "completed step: {}, seconds: 9.5, TFLOP/s/device: 90.1, loss: 2.0"
    told = read(
        *(f"2026-03-01T10:00:{step_at}Z {step.format(n)}" for n, step_at in ((7, 10), (8, 20))),
        "2026-03-01T10:00:30Z Starting eval after train step 10",
        f"2026-03-01T10:00:30.2Z {step.format(9)}",
        "2026-03-01T10:00:36Z Completed eval step: 0, seconds: 5.800, running loss=2.100",
        "2026-03-01T10:00:41Z Completed eval step: 1, seconds: 5.000, running loss=2.100",
        "2026-03-01T10:00:41Z Completed eval after train step 10, loss=2.100, perplexity=8.166",
        f"2026-03-01T10:00:50Z {step.format(10)}",
        "2026-03-01T10:01:00Z Starting eval after train step 11",
        f"2026-03-01T10:01:10Z {step.format(12)}",
    )

    # of the second one nothing but its beginning is told
    assert [(30.0, 41.0), (60.0, 60.0)] == spans(told, "evaluation")
    assert [7, 8, 9, 10, 12] == [step for _, step in steps(told)]
    assert {None} == {e.get("step") for e in told if e.get("phase") == "evaluation"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "TFLOP/s/device: 90.1, Tokens/s/device: 1000.1"),
        ("", "live slice count: 2, TFLOP/s/device: 90.1, Tokens/s/device: 1000.1"),
        ("[Rampup Batch Size Phase], ", "total_weights: 4194304.0"),
        ("[Rampup Batch Size Phase], ", "live slice count: 2, total_weights: 4194304.0"),
    ],
)
def test_maxtext_tells_steps_of_slices_that_come_and_go_and_of_batches_that_grow(
    before: str, after: str
) -> None:
    line = "2026-03-01T10:00:{}0Z {}completed step: {}, seconds: 9.5, {}, loss: 2.000, lm_loss: 2.0"
    told = read(*(line.format(step, before, step, after) for step in range(1, 4)))

    assert [(10.0, 1), (20.0, 2), (30.0, 3)] == steps(told)
    assert [("phase_start", "training", 0.5, None)] == phases(told)


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
