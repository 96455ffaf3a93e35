"""What measures the detector, and sets its thresholds, still runs on the detector as it is."""

from __future__ import annotations

import math

import pytest

from bench import calibrate, methods


def test_methods_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    methods.compare(20)

    told = capsys.readouterr().out.splitlines()
    ours = next(line for line in told if line.startswith("ours, method alone"))
    found = [float(share) for share in ours.split()[3::2]]
    assert 4 == len(found)
    assert found[1] == 1.0, "of 20 jobs a day that take half as long again each is found"


@pytest.mark.parametrize("place", [0, -1], ids=["level", "rate"])
def test_thresholds_can_be_set_anew(place: int) -> None:
    tier = list(calibrate._tiers())[place]

    rows = list(calibrate._measured(tier, 20, "mark"))

    limits = [float(str(row["slow"])) for row in rows]
    assert len(calibrate.RATES) == len(rows)
    assert all(map(math.isfinite, limits))
    assert limits == sorted(limits), "fewer false alarms need a higher limit"
    assert limits[0] < limits[-1]
