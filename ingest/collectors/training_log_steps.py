"""Steps told on lines that differ in nothing but their digits, many at once: lines of one shape are
a matrix of bytes, and a number on them is some of its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ingest.collectors.lines import Label
from ingest.collectors.training_log_patterns import ONE_DIGIT
from ingest.collectors.training_log_shapes import MINUTE_US, Shape, Shapes, Step
from ingest.collectors.units import SECOND_US

_FEWEST = 16  # lines that are worth a matrix, steps that are worth being told together

Numbers = npt.NDArray[np.int64]


class Steps(NamedTuple):
    """Steps of one writer, one after another; `samples` is -1 where the line tells none."""

    label: Label
    at_us: Numbers
    step: Numbers
    samples: Numbers
    shape: Numbers
    shapes: Sequence[Shape]
    lines: Sequence[bytes]

    def one(self, place: int) -> Step:
        """One of them, as it would be told alone."""
        shape, samples = self.shapes[self.shape[place]], int(self.samples[place])
        return Step(
            int(self.at_us[place]),
            self.label,
            int(self.step[place]),
            None if samples < 0 else samples,
            None if shape.each is None else self.lines[place][shape.each],
            shape.unit_us,
            shape.is_year_guessed,
        )


class KnownLines:
    """Those of some lines that tell steps on shapes that were learnt before."""

    def __init__(self, shapes: Shapes, lines: Sequence[bytes]) -> None:
        self._knows = shapes
        self._lines = lines
        self._shapes: list[Shape] = []
        self._hours: list[bytes] = []
        self._shape, self._hour = np.full((2, len(lines)), -1)
        self._since_us, self._step, self._samples = np.zeros((3, len(lines)), dtype=np.int64)
        self._learn()
        self._ends = np.append(np.flatnonzero(np.diff(self._hour)) + 1, len(lines))

    def steps(self, place: int) -> Steps | None:
        """The steps from a place on that stand in one hour; None: that line is to be read alone."""
        hour = int(self._hour[place])
        beginning = self._knows.beginning(self._hours[hour]) if hour >= 0 else None
        if beginning is None:
            return None
        end = int(self._ends[np.searchsorted(self._ends, place, side="right")])
        if end - place < _FEWEST:
            return None
        hour_us, label = beginning
        run = slice(place, end)
        return Steps(
            label,
            hour_us + self._since_us[run],
            self._step[run],
            self._samples[run],
            self._shape[run],
            self._shapes,
            self._lines[run],
        )

    def _learn(self) -> None:
        alike: dict[bytes, list[int]] = {}
        for place, key in enumerate(b"\n".join(self._lines).translate(ONE_DIGIT).split(b"\n")):
            alike.setdefault(key, []).append(place)
        hours: dict[bytes, int] = {}
        for key, places in alike.items():
            shape = self._knows.shape(key) if len(places) >= _FEWEST else None
            # what stands behind the time and tells the writer is looked at line by line
            if shape is None or shape.others or not key[shape.step].isdigit():
                continue
            text = b"".join([self._lines[place] for place in places])
            matrix = np.frombuffer(text, dtype=np.uint8).reshape(len(places), len(key))
            self._shape[places] = len(self._shapes)
            self._shapes.append(shape)
            self._hour[places] = _hours(matrix[:, shape.hour], hours)
            self._since_us[places] = _since_us(matrix, shape)
            self._step[places] = _number(matrix[:, shape.step])
            told = shape.samples
            self._samples[places] = -1 if told is None else _number(matrix[:, told])
        self._hours = list(hours)


def _hours(begun: npt.NDArray[np.uint8], hours: dict[bytes, int]) -> Numbers:
    """Lines that begin alike up to the hour, under one number of `hours`."""
    changes = np.flatnonzero((begun[1:] != begun[:-1]).any(axis=1)) + 1
    starts = [0, *changes.tolist()]
    numbers = [hours.setdefault(begun[start].tobytes(), len(hours)) for start in starts]
    return np.repeat(numbers, np.diff([*starts, len(begun)]))


def _since_us(matrix: npt.NDArray[np.uint8], shape: Shape) -> Numbers:
    since_us = _number(matrix[:, shape.minute]) * MINUTE_US
    since_us += _number(matrix[:, shape.second]) * SECOND_US
    if shape.fraction is not None:
        digits = matrix[:, shape.fraction][:, :6]
        since_us += _number(digits) * 10 ** (6 - digits.shape[1])
    return since_us


def _number(digits: npt.NDArray[np.uint8]) -> Numbers:
    powers = 10 ** np.arange(digits.shape[1] - 1, -1, -1, dtype=np.int64)
    number: Numbers = (digits.astype(np.int64) - ord("0")) @ powers
    return number
