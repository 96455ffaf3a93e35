"""A log that says again what it began with tells of another launch."""

from __future__ import annotations

import pytest

from ingest.events import Event
from tests.ingest.trainer_logs import read, since

OPENING = ("Loaded the configuration c.yaml", "Set the seed to 42", "Using the device cuda")


def opened(time: str, *more: str, label: str = "") -> list[str]:
    return [f"{label}2026-03-01 {time} - main - INFO - {text}" for text in (*OPENING, *more)]


def stepped(hour: int, *steps: int, label: str = "") -> list[str]:
    return [
        f"{label}2026-03-01 {hour}:{10 + place}:00,000 - train - INFO - step {step}/99 | loss 2.5"
        for place, step in enumerate(steps)
    ]


def begun(told: list[Event]) -> list[float]:
    return [since(event) for event in told if event["event"] == "attempt_start"]


def test_a_process_that_is_started_again_and_goes_on_is_another_launch() -> None:
    told = read(
        *opened("10:00:00,000"),
        *stepped(10, 10, 20, 30),
        *opened("11:00:00,000"),
        *stepped(11, 40, 50),
    )

    assert [0.0, 3600.0] == begun(told)
    assert [600.0, 3600.0 + 600.0] == [
        since(event)
        for event in told
        if (event.get("phase"), event["event"]) == ("training", "phase_start")
    ]


def test_launches_that_fail_before_they_train_are_launches() -> None:
    failed = ("Traceback (most recent call last):", "RuntimeError: x")

    told = read(
        *opened("10:00:00,000"),
        *failed,
        *opened("10:00:30,000"),
        *failed,
        *opened("14:00:00,000"),
        *stepped(14, 10, 20, 30),
    )

    assert 14400.0 in begun(told)
    assert 2 == len([event for event in told if event["event"] == "failure"])
    assert 14400.0 + 600.0 == min(
        since(event) for event in told if event.get("phase") == "training"
    )


def test_a_traceback_that_breaks_off_is_of_the_launch_that_wrote_it() -> None:
    told = read(
        *opened("10:00:00,000"),
        *stepped(10, 10, 20, 30),
        "Traceback (most recent call last):",
        '  File "train.py", line 7, in <module>',
        *opened("11:00:00,000"),
        *stepped(11, 40, 50),
    )

    [failed] = [since(event) for event in told if event["event"] == "failure"]
    assert failed < 3600.0


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(opened("10:00:40,000"), id="ranks"),
        pytest.param(opened("10:11:00,000")[:2], id="a part of it"),
        pytest.param(
            [*opened("10:11:00,000")[:2], *opened("10:11:00,000")[1:]], id="in another order"
        ),
    ],
)
def test_what_ranks_say_or_what_is_said_in_part_begins_no_launch(again: list[str]) -> None:
    first, *steps = stepped(10, 10, 20, 30, 40)

    told = read(*opened("10:00:00,000"), first, *again, *steps)

    assert [0.0] == begun(told)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(
            ("Saving the model", "Evaluation begins", "The epoch is over"), id="numberless"
        ),
        pytest.param(
            ("step 10/99 | loss 2.5", "Using the device cuda", "The epoch is over"), id="step"
        ),
    ],
)
def test_a_piece_of_a_log_that_begins_with_what_a_trainer_does_again_and_again(
    first: tuple[str, ...],
) -> None:
    """A step, a save or an evaluation opens no log."""
    lines = [
        f"2026-03-01 10:{minute:02d}:00,000 - main - INFO - {text}"
        for minute in range(0, 50, 10)
        for text in (*first, f"step {20 + minute}/99 | loss 2.5")
    ]

    assert 1 >= len(begun(read(*lines)))
