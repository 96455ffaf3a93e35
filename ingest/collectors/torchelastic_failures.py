"""What the workers of one generation died of: told by the agent, by tracebacks, by torchrun's table
of failures, by error records. Says which of them was first to fall, and names no category.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ingest.collectors.units import SECOND_US

LONGEST_MESSAGE = 16 * 1024  # characters
_MOST = 256
_MOST_NOBODYS = 8  # the last of them: what was caught long ago killed nobody

_COLLECTIVE = re.compile(
    r"gloo[/\w]*transport|Connection (?:closed|reset|refused|aborted)|Broken pipe|Read error \["
    r"|\bNCCL\b|\bnccl[A-Z]\w*Error|ProcessGroup\w*|Watchdog caught"
    r"|Dist(?:Backend|Network|Store)Error|TCPStore|[Ss]ocket [Tt]imeout|HeartbeatMonitor"
    r"|RendezvousClosed|RendezvousConnection"
)
_SIGTERM, _SIGABRT = 15, 6
_NAMES = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM",
}  # fmt: skip


@dataclass(slots=True)
class Failure:
    """One worker's death, or the agent's own; None is not told."""

    line: int
    at_us: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    code: int | None = None  # as torchrun says it: a signal is negative
    message: str | None = None
    host: str | None = None
    component: str | None = None
    is_certain: bool = True  # not so a traceback that may have been caught

    @property
    def is_nobodys(self) -> bool:
        """Whether no one says which worker died of it."""
        return (self.rank, self.local_rank, self.pid, self.component) == (None, None, None, None)

    @property
    def signal(self) -> int | None:
        """The signal that it died of."""
        return -self.code if self.code is not None and self.code < 0 else None

    @property
    def exit_code(self) -> int | None:
        """What it returned, unless it died of a signal."""
        return self.code if self.code is not None and self.code >= 0 else None

    @property
    def text(self) -> str:
        """The exception's line first; without one, in torchrun's words."""
        if self.message:
            return self.message
        if self.signal is not None:
            name = _NAMES.get(self.signal, "<N/A>")
            of = f" received by PID {self.pid}" if self.pid is not None else ""
            return f"Signal {self.signal} ({name}){of}"
        if self.code is not None:
            return f"failed (exitcode: {self.code}) local_rank: {_told(self.local_rank)}"
        return "failed without an error file"

    @property
    def is_collective(self) -> bool:
        """Whether it speaks of its peers: of a connection or a collective that they broke off."""
        exception = (self.message or "").partition("\n")[0]
        return _COLLECTIVE.search(exception) is not None


@dataclass(slots=True)
class Failures:
    """The deaths of one generation's workers, each told once however often it was told."""

    told: list[Failure] = field(default_factory=list)

    def add(self, failure: Failure) -> Failure:
        """Take a death in, or what is new about one that is known."""
        for known in self.told:
            if _is_same(known, failure):
                _merge(known, failure)
                return known
        if failure.is_nobodys:
            nobodys = [known for known in self.told if known.is_nobodys]
            if len(nobodys) >= _MOST_NOBODYS:
                self.told.remove(nobodys[0])
        if len(self.told) < _MOST:
            self.told.append(failure)
        return failure

    def root(self) -> Failure | None:
        """Who fell first: a signal other than -15, then an exception of its own, then a broken
        collective or connection, then -15, which the agent sends to the survivors.
        """
        if not self.told:
            return None
        return min(self.told, key=lambda failure: (_precedence(failure), _second(failure)))


def _told(number: int | None) -> str:
    return "?" if number is None else str(number)


def _is_same(known: Failure, told: Failure) -> bool:
    if known.component != told.component:
        return False
    for name in ("pid", "rank", "local_rank"):
        mine, other = getattr(known, name), getattr(told, name)
        if mine is not None and other is not None:
            return bool(mine == other)
    return False


def _merge(known: Failure, told: Failure) -> None:
    for name in ("rank", "local_rank", "pid", "code", "host"):
        if getattr(known, name) is None:
            setattr(known, name, getattr(told, name))
    known.is_certain = known.is_certain or told.is_certain
    if told.message:
        known.message, known.line = told.message, told.line
    if told.at_us is not None:
        # a table tells whole seconds, a line of the log when the agent saw it
        known.at_us = told.at_us if known.at_us is None else min(known.at_us, told.at_us)


def _precedence(failure: Failure) -> int:
    if failure.message and not failure.is_collective and failure.signal in (None, _SIGTERM):
        return 2
    if failure.signal == _SIGTERM:
        return 5
    if failure.is_collective:
        return 4
    if failure.signal is None:
        return 3  # it returned an error, and no one says why
    # what aborts itself may have waited in vain for one that was killed
    return 1 if failure.signal == _SIGABRT else 0


def _second(failure: Failure) -> int:
    return (failure.at_us or 0) // SECOND_US
