"""One row of sacct as events. Numbers no attempts: the rows of a job meet only in the warehouse."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ingest.collectors.base import Reading
from ingest.collectors.slurm_rows import Row
from ingest.collectors.slurm_states import ENDED, LIVE, RESIZING, WAITING, known_state
from ingest.collectors.slurm_times import BadTime, Times, times_of
from ingest.collectors.slurm_values import (
    UNKNOWN_GPUS,
    ExitCode,
    Gpus,
    code_of_table,
    exit_code,
    gpus_of_gres,
    gpus_of_tres,
)
from ingest.collectors.units import SECOND_US
from ingest.events import Event, EventKind, Outcome, Phase, Reason, Rejected

KEPT = (
    "JobID", "NodeList", "NNodes", "Reason", "Comment", "AdminComment", "SystemComment", "WorkDir",
    "Timelimit", "DerivedExitCode", "Reservation", "Constraints", "Restarts", "FailedNode",
)  # fmt: skip
WHOLE_CODES = "OriginalSLUID"  # a column since 26.05, whose table takes nothing off exit codes
NO_NODES = "None assigned"  # NodeList of a row that was never given any
NOTHING = frozenset({"", "None", NO_NODES, "Unknown"})
_REASONS_OF_AN_END = (
    "NonZeroExitCode", "RaisedSignal", "JobLaunchFailure", "TimeLimit", "OutOfMemory", "NodeDown",
    "NodeFail", "SystemFailure", "InactiveLimit", "DeadLine", "launch",
)  # fmt: skip
_REQUEUED = frozenset({"REQUEUED", "SPECIAL_EXIT"})
_LOST_ITS_NODE = frozenset({"NODE_FAIL", "BOOT_FAIL"})
ENDS_OF_A_RUN = frozenset(ENDED) - {"CANCELLED", "DEADLINE"}  # those come to what only waited too
_CAN_FAIL_TO_LAUNCH = _REQUEUED | _LOST_ITS_NODE | {"FAILED", "LAUNCH_FAILED"}

_encoded = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Told:
    """What a row says; `out_of_memory` is the evidence for it, if there is any."""

    row: Row
    state: str
    times: Times
    exit: ExitCode
    out_of_memory: str | None

    @property
    def has_run(self) -> bool:
        """Whether it held hardware: a row cancelled before its start, or not launched, did not."""
        started_us, ended_us = self.times.started_us, self.times.ended_us
        if started_us is None or self.state in WAITING:
            return False
        if ended_us is None or ended_us > started_us:
            return True
        if self.state == "CANCELLED" or self.row.cells.get("NodeList") == NO_NODES:
            return False
        proves_nothing = self.exit.proves_no_process and self.out_of_memory is None
        return not (self.state in _CAN_FAIL_TO_LAUNCH and proves_nothing)

    @property
    def lost_its_start(self) -> bool:
        """Whether it ended on nodes but tells no start: Slurm 24.11 forgets that of a row that is
        about to be requeued while its controller starts anew.
        """
        is_on_nodes = self.row.cells.get("NodeList", "") not in NOTHING
        return self.times.started_us is None and self.state in ENDS_OF_A_RUN and is_on_nodes


def events(told: Told, reading: Reading) -> list[Event | Rejected] | Rejected:
    """A job row's events, or the row set aside; both where it ran for nobody knows how long."""
    row = told.row
    number = _job_number(row)
    if number is None:
        return row.rejected(Reason.BAD_VALUE, "JobID is cut off, ask for JobID%30 or JobIDRaw")
    submitted_us = told.times.known_us
    if submitted_us is None:
        return row.rejected(Reason.MISSING_FIELD, "neither Submit nor Start nor End")
    ran = told.has_run
    if ran and told.state not in LIVE and told.times.ended_us is None:
        return row.rejected(
            Reason.MISSING_FIELD, f"{told.state}, but End is {row.cells['End'][:80]!r}"
        )
    cluster = row.cells.get("Cluster") or reading.cluster
    of_row: Event = {
        "job_id": f"{cluster}:{number}" if cluster else number,
        "row_key": _row_key(told, submitted_us),
        "row_submitted_us": submitted_us,
        "row_state": told.state,
    }
    gpus = gpus_of(row, ran)
    happened = [_job(row, submitted_us, cluster, gpus)]
    if told.times.submitted_us is not None and not told.lost_its_start:
        happened.append(_queue(told, told.times.submitted_us))
    if ran and told.times.started_us is not None:
        start: Event = {"at_us": told.times.started_us, "event": EventKind.ATTEMPT_START}
        if gpus[0] is not None:
            start["gpus"] = gpus[0]
        happened += [start, _last(told, told.times.started_us)]
    for event in happened:
        event.update(of_row)
    if not told.lost_its_start:
        return [*happened]
    nodes = row.cells["NodeList"][:80]
    said = f"{told.state} on {nodes}, but without a Start: what it ran is not counted"
    return [*happened, row.rejected(Reason.MISSING_FIELD, said)]


def told_by(
    row: Row, reading: Reading, oom_step: str | None, *, are_codes_whole: bool = False
) -> Told | Rejected:
    """What a job's row says, or the row set aside. `oom_step`: its step that ran out of memory.
    `are_codes_whole`: its exit codes are not those of a table that takes 128 off.
    """
    cells = row.cells
    state = known_state(cells["State"])
    if state is None:
        return row.rejected(Reason.BAD_VALUE, f"State is {cells['State'][:80]!r}")
    try:
        times = times_of(cells, reading.timezone)
    except BadTime as bad:
        hint = "; the column is too narrow, ask for %19" if bad.column in row.cut else ""
        said = cells[bad.column][:80]
        return row.rejected(Reason.BAD_TIMESTAMP, f"{bad.column} is {said!r}: {bad.why}{hint}")
    codes = []
    for column in ("ExitCode", "DerivedExitCode"):
        try:
            codes.append(exit_code(cells.get(column, "")))
        except ValueError:
            return row.rejected(Reason.BAD_VALUE, f"{column} is {cells[column][:80]!r}")
    ended_by, derived = codes
    if not are_codes_whole and WHOLE_CODES not in cells:
        ended_by = code_of_table(ended_by, derived)
    evidence = None
    if oom_step:
        evidence = f"OUT_OF_MEMORY in step {oom_step}"
    elif ended_by.is_oom or derived.is_oom:
        evidence = f"{'' if ended_by.is_oom else 'Derived'}ExitCode 0:125, out of memory"
    return Told(row, state, times, ended_by, evidence)


def _job_number(row: Row) -> str | None:
    for column in ("JobIDRaw", "JobID"):
        if row.cells.get(column) and column not in row.cut:
            return row.cells[column]
    return None


def _row_key(told: Told, known_us: int) -> str:
    """What tells a row from the others of its job: when it was submitted, else when it started.

    A row that resizes starts together with the row that follows it. Where nothing else tells the
    two apart its end does, behind a sign that sorts before digits: at equal times it comes first.
    """
    if told.times.submitted_us is None and told.state == RESIZING and told.times.ended_us:
        return f"+{told.times.ended_us // SECOND_US}"
    return str(known_us // SECOND_US)


def _job(row: Row, at_us: int, cluster: str | None, gpus: Gpus) -> Event:
    cells = row.cells
    job: Event = {"at_us": at_us, "event": EventKind.JOB}
    if name := cells.get("JobName"):
        job["name"] = name
    if user := cells.get("User"):
        job["user"] = user
    if team := cells.get("Account"):
        job["team"] = team
    if partition := cells.get("Partition"):
        job["partition"] = partition
    if priority := cells.get("QOS"):
        job["priority"] = priority
    if cluster:
        job["cluster"] = cluster
    if gpus[0] is not None:
        job["gpus"] = gpus[0]
    if gpus[1]:
        job["gpu_type"] = gpus[1]
    if attrs := {key: cells[key] for key in KEPT if cells.get(key, "") not in NOTHING}:
        job["attrs"] = _encoded(attrs)
    return job


def _queue(told: Told, submitted_us: int) -> Event:
    """The wait from Submit to Start; a negative one, as of resized jobs, took no time."""
    queue: Event = {"at_us": submitted_us, "event": EventKind.PHASE_START, "phase": Phase.QUEUE}
    times = told.times
    over_us = times.started_us if times.started_us is not None else times.ended_us
    if over_us is not None and told.state not in WAITING:
        queue["end_us"] = max(submitted_us, over_us)
    return queue


def _last(told: Told, started_us: int) -> Event:
    """The row's end, or the last sign of life of one that still runs or runs on in another row."""
    times = told.times
    last: Event = {"at_us": started_us, "event": EventKind.ALIVE}
    if times.suspended_us:
        last["suspended_us"] = times.suspended_us
    if told.state in LIVE:
        last["at_us"] += (times.elapsed_us or 0) + times.suspended_us
    elif times.ended_us is not None:
        last["at_us"] = times.ended_us
    if told.state in ENDED:
        last["event"] = EventKind.ATTEMPT_END
        say_how(last, told)
    return last


def say_how(end: Event, told: Told) -> None:
    ended = ENDED[told.state]
    end["outcome"] = ended.outcome
    if told.exit.code is not None and not told.exit.is_doubtful:
        end["exit_code"] = told.exit.code
    if told.exit.signal is not None:
        end["signal"] = told.exit.signal
    reason = told.row.cells.get("Reason", "")
    if ended.outcome == Outcome.CANCELLED:
        end["message"] = told.row.cells["State"].rstrip("+")
    elif reason.startswith(_REASONS_OF_AN_END) and ended.outcome != Outcome.COMPLETED:
        end["message"] = reason
    is_explained = told.state in _REQUEUED and not told.exit.is_clean
    if ended.category and not is_explained:
        end["category"] = ended.category
    if told.out_of_memory and ended.outcome == Outcome.FAILED and told.state not in _LOST_ITS_NODE:
        end["category"], end["message"] = "host/host_oom", told.out_of_memory


def gpus_of(row: Row, ran: bool) -> Gpus:
    """What the row held; what it asked for only if it never ran: more may be granted than asked."""
    allocated = row.cells.get("AllocTRES", "")
    if "AllocTRES" in row.cut:
        allocated = allocated.rpartition(",")[0]
        return gpus_of_tres(allocated) if "gres/gpu=" in allocated else UNKNOWN_GPUS
    if row.cells.get("AllocGRES") and "gres/gpu" not in allocated:
        return gpus_of_gres(row.cells["AllocGRES"])
    # an empty AllocGRES: it held none
    if allocated or (ran and "AllocGRES" in row.cells):
        held = gpus_of_tres(allocated)
        return UNKNOWN_GPUS if ran and held == (0, None) and _asked_for_gpus(row) else held
    requested = row.cells.get("ReqTRES", "")
    is_told = requested and not ran and "ReqTRES" not in row.cut
    return gpus_of_tres(requested) if is_told else UNKNOWN_GPUS


def _asked_for_gpus(row: Row) -> bool:
    """Whether a row that tells of no GPUs asked for some: then Slurm does not account for them."""
    asked = (gpus_of_tres(row.cells.get("ReqTRES", "")), gpus_of_gres(row.cells.get("ReqGRES", "")))
    return asked != ((0, None), (0, None))
