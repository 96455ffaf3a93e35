"""What the cells of a sacct table say: times, durations, exit codes, GPUs. Knows no rows and no
events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from ingest.causes_exits import PROLOG_FAILED
from ingest.collectors.units import EARLIEST_US, LATEST_US, SECOND_US

OOM_MARK = 125  # Slurm's own mark for "out of memory"; no such signal exists

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
NO_TIME = "no full date and time; SLURM_TIME_FORMAT=standard prints those"
UNSET_TIMES = frozenset({"", "Unknown", "None", "N/A", "0"})
_EPOCH_SECONDS = re.compile(r"\d{9,11}(?:\.\d+)?")
_DURATION = re.compile(r"(?:(\d{1,6})-)?(\d{1,7}):(\d\d):(\d\d)(?:\.\d+)?")
# a type may begin with a digit; where a kind lost its name Slurm writes the number of its letters
_GRES = re.compile(r"(?:^|,)(?:gres[:/])?(?:gpu|7696487)(?::([^:=,()]+))?[:=](\d{1,8})(?=[,(]|$)")
_LONGEST_ELAPSED = 10  # digits
_COUNT = re.compile(r"\d{1,8}")
_SLICE = re.compile(r"\dg\.\d+gb", re.IGNORECASE)  # MIG: a100_3g.20gb
_PARTS = re.compile(r"(?:^|,)gres/(?:shard|mps)\b")  # of GPUs that others hold as well
_LARGEST_CODE = 2**31
_TAKEN_OFF = 128
_CODES_OF_A_SHELL = (126, 127)  # not executable, not found: as a code of a program 254, 255
_JOB = re.compile(r"[1-9]\d{0,14}(?:[_+]\d{1,15})?", re.ASCII)

Gpus = tuple[int | None, str | None]  # how many, and of which type
UNKNOWN_GPUS: Gpus = (None, None)


@dataclass(frozen=True, slots=True)
class ExitCode:
    """`ExitCode` or `DerivedExitCode`; `code` and `signal` are absent where they say nothing.
    `is_doubtful`: the code may be one that a table took 128 off.
    """

    code: int | None
    signal: int | None
    is_oom: bool
    is_doubtful: bool = False

    @property
    def is_clean(self) -> bool:
        return not self.code and self.signal is None and not self.is_oom

    @property
    def proves_no_process(self) -> bool:
        """Whether it may be that of a row whose script was never begun."""
        return self.is_clean or self.signal == PROLOG_FAILED


NO_EXIT_CODE = ExitCode(code=None, signal=None, is_oom=False)


def instants(text: str, zone: ZoneInfo) -> tuple[int, ...]:
    """The Unix microseconds that a cell can mean: none if unset, two for a local time that the
    autumn repeats.

    Raises ValueError for what is no time of this century. A local time that spring skips is read as
    if the clock had not been changed yet.
    """
    if text in UNSET_TIMES:
        return ()
    if _EPOCH_SECONDS.fullmatch(text):
        return (_plausible(round(float(text) * SECOND_US)),)
    if len(text) < 19:
        raise ValueError(NO_TIME)
    told = datetime.fromisoformat(text)
    if told.tzinfo is not None:
        return (_plausible((told.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // _MICROSECOND),)
    local_us = (told - _EPOCH) // _MICROSECOND
    if zone.key == "UTC":
        return (_plausible(local_us),)
    _plausible(local_us)
    readings = [told.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)]
    first, second = (local_us - (offset or timedelta()) // _MICROSECOND for offset in readings)
    return (first, second) if first < second else (first,)


def seconds(text: str) -> int | None:
    """`[DD-]HH:MM:SS` in seconds; None for an empty or INVALID cell."""
    told = _DURATION.fullmatch(text)
    if told is None:
        return None
    days, hours, minutes, rest = told.groups()
    return ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(rest)


def raw_seconds(text: str) -> int | None:
    """`ElapsedRaw`; None where it is no number, or of more digits than seconds a job has."""
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_ELAPSED else None


def is_job(text: str) -> bool:
    """Whether it is the id of a job, an array's task (`17_3`) or a het job's part (`17+1`)."""
    return _JOB.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def exit_code(text: str) -> ExitCode:
    """`3:0` is exit code 3, `0:15` is signal 15, `0:125` says out of memory. Raises ValueError for
    anything else.
    """
    if not text:
        return NO_EXIT_CODE
    code_text, colon, signal_text = text.partition(":")
    code, signal = int(code_text), int(signal_text) if colon else 0
    if max(abs(code), abs(signal)) > _LARGEST_CODE:
        raise ValueError("no exit code is so large")
    if signal == OOM_MARK:
        return ExitCode(code=code or None, signal=None, is_oom=True)
    if signal:
        return ExitCode(code=code or None, signal=signal, is_oom=False)
    return ExitCode(code=code, signal=None, is_oom=False)


def code_of_table(told: ExitCode, derived: ExitCode) -> ExitCode:
    """The exit code that a table means. Up to release 25.05 sacct takes 128 off codes from 128 on,
    but not off the derived one: where that is 255, 127 is 255, and where it says nothing, either.
    """
    if not told.code or told.signal is not None:
        return told
    if derived.code == told.code + _TAKEN_OFF:
        return replace(told, code=derived.code)
    is_of_a_shell = told.code in _CODES_OF_A_SHELL
    return replace(told, is_doubtful=True) if is_of_a_shell and derived != told else told


@lru_cache(maxsize=4096)
def gpus_of_tres(text: str) -> Gpus:
    """GPUs and their type in a TRES list; `gres/gpu` is the total of all types, and a list without
    any means 0.
    """
    total: int | None = None
    by_type: dict[str, int] = {}
    for item in text.split(","):
        name, _, count = item.partition("=")
        if not name.startswith("gres/gpu") or not _COUNT.fullmatch(count):
            continue
        if name == "gres/gpu":
            total = int(count)
        elif name[8] == ":":
            by_type[name[9:]] = int(count)
    if total is None and not by_type and _PARTS.search(text):
        return UNKNOWN_GPUS
    return _whole_gpus(sum(by_type.values()) if total is None else total, by_type)


def gpus_of_gres(text: str) -> Gpus:
    """As `gpus_of_tres` for the `AllocGRES` of older releases, which holds the job's total:
    `gpu:h100:8`.
    """
    found = _GRES.findall(text)
    return _whole_gpus(sum(int(count) for _, count in found), {kind for kind, _ in found if kind})


def _whole_gpus(count: int, types: Iterable[str]) -> Gpus:
    """Slurm counts a slice of a GPU as one, whatever its size: that is no number of GPUs."""
    is_sliced = any(map(_SLICE.search, types))
    return None if is_sliced else count, ",".join(sorted(types)) or None


def _plausible(at_us: int) -> int:
    if not EARLIEST_US <= at_us < LATEST_US:
        raise ValueError("outside the years 2000 to 2099")
    return at_us
