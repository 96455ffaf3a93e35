"""A log that says again what it began with tells of another launch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ingest.events import Event
from tests.ingest.trainer_logs import read, since

OPENING = (
    "Loaded the configuration c.yaml",
    "Set the seed to 42",
    "Using the device cuda",
    "Memory of it: 80 GB",
    "Tracking as nightly",
    "Reading the data",
    "Building the model",
    "Wrapping it for all ranks",
)
AGAIN_AND_AGAIN = ("Saving it", "It is saved", "Evaluation", "It is evaluated", "One more is over")


def said(time: str, texts: Sequence[str] = OPENING) -> list[str]:
    return [f"2026-03-01 {time} - main - INFO - {text}" for text in texts]


def stepped(hour: int, *steps: int) -> list[str]:
    return [
        f"2026-03-01 {hour}:{10 + place}:00,000 - train - INFO - step {step}/99 | loss 2.5"
        for place, step in enumerate(steps)
    ]


def begun(told: list[Event]) -> list[float]:
    return [since(event) for event in told if event["event"] == "attempt_start"]


@pytest.mark.parametrize("other", [{}, {3: "Memory of it: 96 GB", 4: "Tracking as second"}])
def test_a_process_that_is_started_again_and_goes_on_is_another_launch(
    other: dict[int, str],
) -> None:
    """On another node it may say a line or two of it otherwise."""
    again = [other.get(place, text) for place, text in enumerate(OPENING)]

    told = read(
        *said("10:00:00,000"),
        *stepped(10, 10, 20, 30),
        *said("11:00:00,000", again),
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
        *said("10:00:00,000"),
        *failed,
        *said("10:02:00,000"),
        *failed,
        *said("14:00:00,000"),
        *stepped(14, 10, 20, 30),
    )

    assert [0.0, 120.0, 14400.0] == begun(told)
    assert 2 == len([event for event in told if event["event"] == "failure"])
    assert 14400.0 + 600.0 == min(
        since(event) for event in told if event.get("phase") == "training"
    )


def test_a_launch_that_ends_without_a_word_is_no_time_to_start_of_the_next() -> None:
    told = read(*said("10:00:00,000"), *said("10:20:00,000"), *stepped(11, 10))

    assert [0.0, 1200.0] == begun(told)


def test_a_traceback_that_breaks_off_is_of_the_launch_that_wrote_it() -> None:
    told = read(
        *said("10:00:00,000"),
        *stepped(10, 10, 20, 30),
        "Traceback (most recent call last):",
        '  File "train.py", line 7, in <module>',
        *said("11:00:00,000"),
        *stepped(11, 40, 50),
    )

    [failed] = [since(event) for event in told if event["event"] == "failure"]
    assert failed < 3600.0


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(said("10:00:40,000") + said("10:10:30,000"), id="ranks"),
        pytest.param(said("10:00:00,000") + said("10:10:30,000"), id="ranks at once"),
        pytest.param(2 * said("10:10:30,000", OPENING[:5]), id="workers that load the script"),
        pytest.param(said("10:10:30,000", OPENING[::-1]), id="in another order"),
        pytest.param(said("10:10:30,000", ("Once more", *OPENING[1:])), id="another beginning"),
    ],
)
def test_what_ranks_say_or_what_is_said_in_part_begins_no_launch(again: list[str]) -> None:
    first, *steps = stepped(10, 10, 20, 30, 40)

    told = read(*said("10:00:00,000"), first, *again, *steps)

    assert [0.0] == begun(told)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param((*AGAIN_AND_AGAIN, "On", "and on", "and on again"), id="of no start"),
        pytest.param((*AGAIN_AND_AGAIN, *OPENING[2:4], "step 10/99 | loss 2.5"), id="a step"),
    ],
)
def test_a_piece_of_a_log_that_begins_with_what_a_trainer_does_again_and_again(
    first: tuple[str, ...],
) -> None:
    lines = [
        line
        for minute in range(10, 60, 10)
        for line in said(f"10:{minute}:00,000", (*first, f"step {20 + minute}/99 | loss 2.5"))
    ]

    assert 1 >= len(begun(read(*lines)))
