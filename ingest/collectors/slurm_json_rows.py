"""A job of `sacct --json` as the row that sacct's table would have: both become events in one way,
so that the same job told both ways is one.

Reads the shapes of old releases (plain values) and of new ones (lists of states, numbers that say
whether they are set). What has another type than it should is as if it were not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec

from ingest.collectors.json_values import FAST, MOST_GPUS, PATIENT, Fields, part, text, whole
from ingest.collectors.slurm_json_jobs import Job
from ingest.collectors.slurm_rows import Row
from ingest.collectors.slurm_states import known_state
from ingest.events import Reason, Rejected

_LONGEST_SECONDS = 10**9
_LARGEST_CODE = 2**31
_LARGEST_NUMBER = 2**64  # its highest ones mean `infinite` and `not set`
_LONGEST_CLUSTER = 128
# the last four are Slurm's marks for `no value` and `infinite`, as they are written for times
_NOT_SET = (None, "", 2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1)
_NUMBERS = (
    ("", ("exit_code", "derived_exit_code", "allocation_nodes", "restart_cnt", "array", "het")),
    ("tres", ("allocated", "requested")),
    ("time", ("elapsed", "suspended")),
)
# where a state has several parts, sacct's table shows the first of these; else the base state
_SHOWN_FIRST = (
    "COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
    "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING",
)  # fmt: skip


def row_of(job: Job) -> Row | Rejected:
    """The row of a job, or the job set aside."""
    fields = job.fields
    number = _id(fields.get("job_id"))
    if number is None:
        missing = "job_id" not in fields
        return Rejected(
            job.line_number,
            Reason.MISSING_FIELD if missing else Reason.BAD_VALUE,
            "a job without job_id" if missing else f"job_id is {_shown(fields['job_id'])}",
            job.line,
        )
    state = _state(fields.get("state"))
    if state is None:
        detail = f"state of job {number} is {_shown(fields.get('state'))}"
        return Rejected(job.line_number, Reason.BAD_VALUE, detail, job.line)
    cells = {
        "JobIDRaw": number,
        "JobID": _shown_id(number, fields),
        **_who(fields),
        "State": _shown_state(state, fields),
        **_when(part(fields, "time")),
        "ExitCode": _once(_exit_code, fields.get("exit_code"), state),
        "DerivedExitCode": _once(_exit_code, fields.get("derived_exit_code"), state),
        "AllocTRES": _once(_tres, part(fields, "tres").get("allocated")),
        "ReqTRES": _once(_tres, part(fields, "tres").get("requested")),
        **_what(fields),
    }
    return Row(job.line_number, job.line, {name: cell for name, cell in cells.items() if cell})


def oom_step_of(row: Row, job: Job) -> str | None:
    """The first step that ran out of memory, named as sacct's table names it."""
    steps = job.fields.get("steps")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict) and _state(step.get("state")) == "OUT_OF_MEMORY":
            name = _cell(part(step, "step").get("id"))
            return name if "." in name else f"{row.cells['JobID']}.{name}"
    return None


def absurd(job: Job) -> Iterator[Rejected]:
    """Numbers of a job that was read which cannot be meant: it is told as if they were not there,
    and that they were is told too.
    """
    for outer, names in _NUMBERS:
        fields = part(job.fields, outer) if outer else job.fields
        for name in names:
            told = fields.get(name)
            if told is None or not _once(_absurd_in, told):
                continue
            where = f"{outer}.{name}" if outer else name
            detail = f"{where} of job {_id(job.fields['job_id'])} holds a number that cannot be"
            yield Rejected(job.line_number, Reason.BAD_VALUE, detail, job.line)


def _absurd_in(told: object) -> str:
    """`yes` where some number in it is larger than any that is meant."""
    if isinstance(told, int | float):
        return "" if math.isfinite(told) and abs(told) <= _LARGEST_NUMBER else "yes"
    for value in (
        told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    ):
        if value is not None and type(value) is not str and _absurd_in(value):
            return "yes"
    return ""


def _who(fields: Fields) -> dict[str, str]:
    association = part(fields, "association")
    return {
        "Cluster": _cell(fields.get("cluster") or association.get("cluster"))[:_LONGEST_CLUSTER],
        "JobName": _cell(fields.get("name")),
        "User": _cell(fields.get("user") or association.get("user")),
        "Account": _cell(fields.get("account") or association.get("account")),
        "Partition": _cell(fields.get("partition")),
        "QOS": _cell(fields.get("qos")),
    }


def _when(time: Fields) -> dict[str, str]:
    elapsed = whole(_number(time.get("elapsed")), _LONGEST_SECONDS)
    suspended = whole(_number(time.get("suspended")), _LONGEST_SECONDS)
    return {
        "Submit": _instant(time.get("submission")),
        "Start": _instant(time.get("start")),
        "End": _instant(time.get("end")) or "Unknown",
        "ElapsedRaw": _cell(elapsed),
        "Suspended": "" if suspended is None else _duration(suspended),
    }


def _what(fields: Fields) -> dict[str, str]:
    comment = part(fields, "comment")
    return {
        "NodeList": _cell(fields.get("nodes")),
        "NNodes": _cell(_number(fields.get("allocation_nodes"))),
        "Reason": _cell(part(fields, "state").get("reason")),
        "Comment": _cell(comment.get("job")),
        "AdminComment": _cell(comment.get("administrator")),
        "SystemComment": _cell(comment.get("system")),
        "WorkDir": _cell(fields.get("working_directory")),
        "Constraints": _cell(fields.get("constraints")),
        "Restarts": _cell(_number(fields.get("restart_cnt"))),
        "FailedNode": _cell(fields.get("failed_node")),
    }


def _shown_id(number: str, fields: Fields) -> str:
    """`7_3` for a task of an array, `9+1` for a component of a heterogeneous job."""
    array, het = part(fields, "array"), part(fields, "het")
    task, offset = _number(array.get("task_id")), _number(het.get("job_offset"))
    if _number(array.get("job_id")) and whole(task) is not None:
        return f"{_cell(_number(array['job_id']))}_{_cell(task)}"
    if _number(het.get("job_id")) and whole(offset) is not None:
        return f"{_cell(_number(het['job_id']))}+{_cell(offset)}"
    return number


def _state(told: object) -> str | None:
    if isinstance(told, dict):
        told = told.get("current")
    parts = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    states = [state for part in parts if isinstance(part, str) and (state := known_state(part))]
    shown = [state for state in _SHOWN_FIRST if state in states]
    return next(iter([*shown, *states]), None)


def _shown_state(state: str, fields: Fields) -> str:
    killed_by = _cell(fields.get("kill_request_user"))
    return f"{state} by {killed_by}" if state == "CANCELLED" and killed_by else state


def _once(read: Callable[..., str], told: object, *more: str) -> str:
    """The cell of a value; one that stayed as it was written is read once for all jobs."""
    if isinstance(told, msgspec.Raw):
        return _as_written(read, bytes(told), *more)
    return read(told, *more)


@lru_cache(maxsize=4096)
def _as_written(read: Callable[..., str], written: bytes, *more: str) -> str:
    return read(_patiently(written), *more)


def _patiently(written: bytes) -> object:
    """The value of what was passed over while its job was decoded: None where it is none."""
    try:
        return FAST.decode(written)
    except (ValueError, RecursionError):
        pass
    try:
        return PATIENT.decode(written.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _exit_code(told: object, state: str) -> str:
    """`code:signal`. Some releases write success for every code, so that success proves nothing of
    a job that did not complete.
    """
    if not isinstance(told, dict):
        return ""
    signalled = part(told, "signal")
    code = whole(_number(told.get("return_code")), _LARGEST_CODE)
    signal = whole(_number(signalled.get("signal_id", signalled.get("id"))), _LARGEST_CODE)
    if code or signal:
        return f"{code or 0}:{signal or 0}"
    return "0:0" if code == 0 and state == "COMPLETED" else ""


def _tres(told: object) -> str:
    """A list of resources as sacct's table writes it: `cpu=8,gres/gpu=8`."""
    items = []
    for one in told if isinstance(told, list) else ():
        count = whole(_number(one.get("count")), MOST_GPUS) if isinstance(one, dict) else None
        if count is not None:
            words = (text(one.get("type")), text(one.get("name")))
            items.append(f"{'/'.join(filter(None, words))}={count}")
    return ",".join(items) or text(told) or ""


def _duration(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _instant(told: object) -> str:
    """A time as a cell; one of another type stays visible, so that it is set aside."""
    told = _number(told)
    return "" if told in _NOT_SET else _cell(told) or _shown(told)


def _number(told: object) -> object:
    """The number in an object that says whether it is set; anything else as it is."""
    if not isinstance(told, dict) or "number" not in told:
        return told
    return None if told.get("infinite") or not told.get("set", True) else told["number"]


def _id(told: object) -> str | None:
    number = whole(_number(told), _LARGEST_CODE * 2)
    if number:
        return str(number)
    return told if isinstance(told, str) and told.isascii() and told.isdigit() else None


def _cell(told: object) -> str:
    if isinstance(told, int | float):
        number = whole(told)
        return "" if number is None else str(number)
    return text(told) or ""


def _shown(told: object) -> str:
    return repr(told)[:80]
