"""Commands as a user runs them whom permissions hold, also where root runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

_POWERS = "-dac_override,-dac_read_search"


def ordinary() -> list[str]:
    """What stands before such a command. Skips the test where root cannot give up its powers."""
    if os.geteuid() != 0:
        return []
    dropped = ["setpriv", f"--bounding-set={_POWERS}", f"--inh-caps={_POWERS}"]
    if not shutil.which("setpriv") or subprocess.run([*dropped, "true"]).returncode:
        pytest.skip("needs setpriv, to run without the powers of root")
    return dropped
