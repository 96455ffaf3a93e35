"""What the lines of trainers of images mean, whose epochs count their steps anew."""

from __future__ import annotations

import pytest

from ingest.collectors.training_log_patterns import patterns_of
from tests.ingest.trainer_logs import keys, phases, read, resumed, since, spans, steps


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


_ULTRALYTICS = [
    "2026-03-01T10:00:00+0000 engine/trainer: agnostic_nms=False, amp=True, epochs=5, model=y.yaml",
    "2026-03-01T10:00:20+0000 Starting training for 5 epochs...",
    "2026-03-01T10:01:10+0000 \r\x1b[K  1/5  2.3G  3.4  2.3  2.1  4  96: 0% ──── 0/10  0.8s"
    "\r\x1b[K  1/5  2.3G  3.4  2.3  2.1  4  96: 50% ━━── 5/10 1.1it/s 25.2s<25.0s"
    "\r\x1b[K  1/5  2.3G  3.4  2.3  2.1  4  96: 100% ━━━━ 10/10 1.1it/s 50.0s",
    "2026-03-01T10:02:30+0000 \r\x1b[K  Class     Images  Instances  Box(P: 50% ━━── 1/2 9.0s/it "
    "40.1s<39.0s\r\x1b[K  Class     Images  Instances  Box(P: 100% ━━━━ 2/2 9.0s/it 1:20",
    "2026-03-01T10:03:00+0000 \r\x1b[K  2/5  2.3G  3.4  2.3  2.1  4  96: 30% ━─── 3/10 1.1it/s "
    "30.0s<1:10",
]


def test_ultralytics_tells_steps_in_its_bars_and_from_which_epoch_it_goes_on() -> None:
    again = [line.replace("T10:", "T11:") for line in _ULTRALYTICS]
    resume = "2026-03-01T11:00:10+0000 Resuming training w/last.pt from epoch 2 to 5 total epochs"
    done = "2026-03-01T11:03:10+0000 5 epochs completed in 0.050 hours."
    told = read(*_ULTRALYTICS, again[0], resume, again[1], again[4], done)

    assert [0.0, 3600.0] == [since(event) for event in told if event["event"] == "attempt_start"]
    assert [(70.0, 10), (180.0, 13), (3780.0, 13)] == steps(told)
    assert [(70.0, 150.0)] == spans(told, "evaluation")
    assert [(3620.0, 10)] == resumed(told)
    assert ["completed"] == [e["outcome"] for e in told if e["event"] == "attempt_end"]


def test_the_epoch_that_was_saved_is_no_step_that_it_began_at() -> None:
    words = {"step": "batch (?P<step>\\d+)/(?P<epoch_steps>\\d+) of (?P<epoch>\\d+)"}
    words |= {"saving": "keeping epoch (?P<epoch>\\d+)", "saved": "kept epoch (?P<epoch>\\d+)"}
    own = patterns_of(
        [
            {"name": means, "means": means, "contains": [pattern.split()[0]], "pattern": pattern}
            for means, pattern in words.items()
        ],
        "ett.toml",
    )
    at = "2026-03-01T10:0{}:00+0000 {}"
    said = ("batch 10/10 of 1", "batch 10/10 of 2", "keeping epoch 2", "kept epoch 2")
    told = read(*(at.format(minute, words) for minute, words in enumerate(said)), own=own)

    assert 20 == max(step for _, step in steps(told))
    # of no step that it tells: what is saved is what was trained
    assert {None} == {step for _, phase, _, step in phases(told) if phase == "checkpoint_save"}
