"""What errors are called in a sentence."""

from __future__ import annotations

import pytest

from ingest.words import first_line


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError("disk is full.\nTry again."), "disk is full"),
        (OSError(), "OSError"),  # that says nothing is no second error
        (OSError(" \n"), "OSError"),
    ],
)
def test_an_error_is_told_in_its_first_line(error: OSError, told: str) -> None:
    assert told == first_line(error)
