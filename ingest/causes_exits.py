"""What the number alone tells: exit codes and signals of processes and batch jobs.

A number says how a process ended, hardly why: a message that explains more goes before. Never takes
SIGKILL for an out-of-memory kill.
"""

from __future__ import annotations

from dataclasses import dataclass
from signal import Signals

DIRECT_RANK = 50  # torchrun saw the process itself die of the signal
REPORTED_RANK = 66  # a shell or a scheduler passes it on: of which process it does not say
ABORT_RANK = 77
TERMINATED_RANK = 80
INTERRUPT_RANK = 71

_OF_A_SHELL = 128
# slurmd's errors 4021 and 4022 in the place of a signal, such as RaisedSignal:53
_OUTPUT_NOT_OPENED = 53  # there is no place for the job's output
PROLOG_FAILED = 54

_CRASHES = frozenset({Signals.SIGILL, Signals.SIGBUS, Signals.SIGFPE, Signals.SIGSEGV})
_STATUSES = {126: "user_code/permission", 127: "user_code/file_not_found"}


@dataclass(frozen=True, slots=True)
class Exit:
    """What a number proves: a category, under which name, and how near the root it is."""

    category: str
    rule: str
    rank: int
    evidence: str


def judged(exit_code: int | None, signal: int | None) -> Exit | None:
    """What an exit code, or the signal beside it, tells. None: nothing, as 0, 1 and 2 do.

    A negative code, or a signal without a code, is a process that died of it. A scheduler gives
    both, and a code above 128 is a shell's: of which process they speak is not told.
    """
    if exit_code is not None and exit_code < 0:
        return _of_signal(-exit_code, f"exit code {exit_code}", DIRECT_RANK)
    if signal:
        rank = DIRECT_RANK if exit_code is None else REPORTED_RANK
        return _of_signal(signal, f"signal {signal}", rank)
    if exit_code is None:
        return None
    if exit_code in _STATUSES:
        return Exit(
            _STATUSES[exit_code], f"exit_{exit_code}", REPORTED_RANK, f"exit code {exit_code}"
        )
    if _OF_A_SHELL < exit_code < 2 * _OF_A_SHELL:
        return _of_signal(exit_code - _OF_A_SHELL, f"exit code {exit_code}", REPORTED_RANK)
    return None


def _of_signal(number: int, told: str, rank: int) -> Exit | None:
    if number == _OUTPUT_NOT_OPENED:
        return Exit("user_code/file_not_found", "exit_signal_53", rank, told)
    if number == PROLOG_FAILED:
        return Exit("scheduler/node_fail", "exit_signal_54", rank, told)
    try:
        signal = Signals(number)
    except ValueError:
        return None
    evidence = f"{told} ({signal.name})"
    name = f"exit_{signal.name.lower()}"
    if signal in _CRASHES:
        return Exit("user_code/native_crash", name, rank, evidence)
    match signal:
        case Signals.SIGKILL:
            return Exit("unknown/killed", name, rank, evidence)
        case Signals.SIGABRT:
            return Exit("user_code/native_crash", name, ABORT_RANK, evidence)
        case Signals.SIGINT:
            return Exit("scheduler/user_cancelled", name, INTERRUPT_RANK, evidence)
        case Signals.SIGTERM | Signals.SIGHUP | Signals.SIGQUIT:
            return Exit("cascade/peer_rank_failed", name, TERMINATED_RANK, evidence)
    return None
