"""Bad rows are found again by their place among lines that are not blank, whatever the blocks."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from ingest import explain
from tests.ingest.warehouses import alive

LATEST_US = 1_800_000_000_000_000


def places(text: bytes, ordinals: list[int]) -> list[int]:
    found = explain.bad_lines(io.BytesIO(text), ordinals, LATEST_US)
    return [bad.line_number for some in found for bad in some.rejected]


def marks(text: bytes, ordinals: list[int]) -> list[Any]:
    return [some.key_marks for some in explain.bad_lines(io.BytesIO(text), ordinals, LATEST_US)]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64, 4_096])
@pytest.mark.parametrize("seed", range(5))
def test_physical_numbers_hold_over_blank_lines_and_block_borders(
    monkeypatch: pytest.MonkeyPatch, seed: int, block: int
) -> None:
    monkeypatch.setattr(explain, "BLOCK", block)
    chance = random.Random(seed)
    words = (b"", b"   ", b"\t", b"\r", b"\x0b", b"\x0c ", b"bad", b"bad\r", b" bad ", b"x" * 99)
    lines = [b"first", *(chance.choice(words) for _ in range(300))]
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    ordinals = sorted(chance.sample(range(len(filled)), 20))
    end = chance.choice((b"", b"\n", b"\n\n", b"\r\n  "))

    assert [filled[ordinal] for ordinal in ordinals] == places(b"\n".join(lines) + end, ordinals)


def test_no_line_is_asked_for_past_the_end() -> None:
    assert [1] == places(b"bad", [0])
    assert [] == places(b"", [])


@pytest.mark.parametrize("block", [1, 64, 4_096])
def test_the_keys_of_what_is_asked_for_are_counted(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(explain, "BLOCK", block)
    text = b'{"a":1,"b":\n{"c": 2}\n\n{"d":"x\\":y","e":3\n"f":"\n:'

    assert [2, 1, 2, 1, 0] == [sum(marks(text, [place])) for place in range(5)]
    assert 6 == sum(marks(text, [0, 1, 2, 3, 4]))
    apart = b'{"a" :1\n{"b":1'
    assert None in marks(apart, [0])
    assert 1 == sum(marks(apart, [1]))


def test_a_line_is_shown_by_its_first_characters_whatever_its_bytes() -> None:
    assert "ä" * 2_000 == explain.shown("ä".encode() * 5_000)
    assert "\ufffd\x00" == explain.shown(b"\xff\x00")


@pytest.mark.parametrize(
    "field", ["ts", "end_ts", "event", "job_id", "phase", "attempt", "ok", "mode", "team"]
)
def test_any_value_in_any_field_has_a_reason_and_no_crash(field: str) -> None:
    values: list[object] = [
        None,
        True,
        -1,
        1.5,
        1e300,
        10**400,
        "",
        "x",
        "NaN",
        "sNaN",
        "Infinity",
        "2026-03-01Z",
        "2026-03-01+01:00",
        "2026-03-01T00:00:00+25:99",
        "99999-01-01T00:00:00Z",
        "\ud800",
        "\u0660",
        [],
        {},
        [[1]],
        {"a": None},
    ]
    for value in values:
        line = json.dumps(alive("a") | {"event": "phase_start", field: value}).encode()
        told = explain.explain(7, line, LATEST_US)

        assert (7, True) == (told.line_number, bool(told.detail)), line


def test_a_value_is_quoted_shortly() -> None:
    line = json.dumps(alive("a", event="e" * 500)).encode()

    assert len(explain.explain(1, line, LATEST_US).detail) < 120
