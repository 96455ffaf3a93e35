"""Slurm's job states and what each means for an attempt. Knows no rows."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.events import Outcome


@dataclass(frozen=True, slots=True)
class Ended:
    """A state that ends an attempt; the category is what the state itself proves."""

    outcome: Outcome
    category: str | None = None


ENDED = {
    "COMPLETED": Ended(Outcome.COMPLETED),
    "FAILED": Ended(Outcome.FAILED),
    "CANCELLED": Ended(Outcome.CANCELLED),
    "PREEMPTED": Ended(Outcome.PREEMPTED, "scheduler/preempted"),
    "REQUEUED": Ended(Outcome.FAILED, "scheduler/requeued"),
    "SPECIAL_EXIT": Ended(Outcome.FAILED, "scheduler/requeued"),
    "TIMEOUT": Ended(Outcome.TIMEOUT, "scheduler/time_limit"),
    "DEADLINE": Ended(Outcome.TIMEOUT, "scheduler/time_limit"),
    "NODE_FAIL": Ended(Outcome.FAILED, "scheduler/node_fail"),
    "BOOT_FAIL": Ended(Outcome.FAILED, "host/host_kernel_or_reboot"),
    "LAUNCH_FAILED": Ended(Outcome.FAILED),
    "OUT_OF_MEMORY": Ended(Outcome.FAILED, "host/host_oom"),
}
LIVE = frozenset(
    {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT"}
)
WAITING = frozenset({"PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "REVOKED"})
RESIZING = "RESIZING"
OUT_OF_MEMORY = "OUT_OF_MEMORY"

_STATES = frozenset(ENDED) | LIVE | WAITING | {RESIZING}


def known_state(text: str) -> str | None:
    """The state in a cell: `CANCELLED by 2003`, `CANCELLED+` and `OUT_OF_ME+` are whole; None if
    there is no such state.
    """
    state = text.partition(" ")[0]
    if state in _STATES:
        return state
    if not state.endswith("+"):
        return None
    whole = [known for known in _STATES if known.startswith(state[:-1])]
    return whole[0] if len(whole) == 1 else None
