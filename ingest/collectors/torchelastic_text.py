"""What stands in torchrun's logs over several lines: tracebacks of the ranks and of the agent, and
the agent's last table of failures. Makes no events.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

from ingest.collectors.lines import NOBODY, STAMP, Clock, Label, split_label, split_time
from ingest.collectors.torchelastic_failures import LONGEST_MESSAGE, Failure

_MOST_LINES = 400
_MOST_TORN = 60
_LONGEST_TABLE = 10_000  # lines
_MOST_LABELS = 4  # the stamp among them
_MOST_OPEN = 4096
_LONGEST_HOST = 66
_TRACEBACK = b"Traceback (most recent call last)"
_STAMP = re.compile(STAMP)
# what Ray, SkyPilot and `kubectl logs --prefix` put before each line of a process
_WRITER = re.compile(
    rb"(?:\((?P<process>[A-Za-z_][\w.:-]{0,80}(?: |, )(?:rank=\d{1,7}, )?pid=\d{1,10}"
    rb"(?:, ip=[\w.:]{1,45})?)\)|\[(?P<pod>pod/[\w.-]{1,253}/[\w.-]{1,253})\]) ?"
)
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\]]{0,80}\])?(?::(?: |$)|$)")
_HEADS = (_TRACEBACK, b"Root Cause (first observed failure)")
_CHAINED = ("During handling of the above", "The above exception was the direct")
_AGENT_FRAME = re.compile(r"torch/distributed/(?:run|launch|launcher/api)\.py\"")
_FIELD = re.compile(rb"\s{2}(time|host|rank|exitcode|error_file|traceback) {0,10}: ?(.*)")
_ENTRY = re.compile(rb"\[\d{1,7}\]:\s*")
_RANKS = re.compile(rb"(\d{1,9}) \(local_rank: (\d{1,9})\)")
_EXIT = re.compile(rb"(-?\d{1,9}) \(pid: (\d{1,18})\)")
_NO_MESSAGE = ("To enable traceback see", "<NONE>", "<N/A>")


def is_stamped(line: bytes, head: int | None = None) -> bool:
    """Whether a line shows that a pipe or a container's runtime put a time before each of its file:
    nothing but one, and labels, stands before a traceback, before the table of failures, or before
    the `head` of an agent's message.
    """
    _, text = unlabelled(line[:head], is_stamped=True)
    is_head = text.startswith(_HEADS) if head is None else not text.strip()
    return is_head and unlabelled(line[:head], is_stamped=False)[1] != text


def node_of(line: bytes, *, is_stamped: bool, hosts: Container[str] = ()) -> Label:
    """The first label of a line, of the node that its writer ran on."""
    stamp = _STAMP.match(line) if is_stamped else None
    return _split_label(line[stamp.end() :] if stamp else line, hosts)[0]


def unlabelled(line: bytes, *, is_stamped: bool, hosts: Container[str] = ()) -> tuple[Label, bytes]:
    """A line without the labels before it, and without the stamp where the file is stamped; nothing
    else is taken off, so that its indent stays. `hosts` are known to label lines.
    """
    rank = local_rank = host = None
    for _ in range(_MOST_LABELS):
        label, rest = _split_label(line, hosts)
        if len(rest) < len(line):
            rank = label.rank if label.rank is not None else rank
            local_rank = label.local_rank if label.local_rank is not None else local_rank
            host, line = label.host or host, rest
        elif is_stamped and (stamp := _STAMP.match(line)):
            is_stamped, line = False, line[stamp.end() :]
        else:
            break
    return Label(rank, local_rank, host), line


def _split_label(line: bytes, hosts: Container[str] = ()) -> tuple[Label, bytes]:
    """As `split_label`; a process that a launcher names so is a host of its own."""
    writer = _WRITER.match(line)
    if writer is not None:
        return Label(host=(writer["process"] or writer["pod"]).decode()), line[writer.end() :]
    label, rest = split_label(line)
    host, colon, _ = line[:_LONGEST_HOST].partition(b": ")
    if label == NOBODY and colon and host.decode(errors="replace") in hosts:
        return Label(host=host.decode()), line[len(host) + len(colon) :]
    return label, rest


@dataclass(frozen=True, slots=True)
class Caught:
    """An exception that ended a traceback. `is_agents`: of torchrun itself."""

    line: int
    label: Label
    exception: str
    message: str
    is_agents: bool


@dataclass(slots=True)
class _Open:
    line: int
    lines: list[str] = field(default_factory=list)
    torn: int = 0


@dataclass(slots=True)
class Tracebacks:
    """The tracebacks that are being told, one in each stream of lines."""

    took_it: bool = False  # the line that was heard last
    _open: dict[Label, _Open] = field(default_factory=dict)
    _ignored: set[Label] = field(default_factory=set)

    @property
    def is_open(self) -> bool:
        """Whether lines that look like nothing may belong to a traceback."""
        return bool(self._open)

    def hear(self, number: int, label: Label, text: bytes) -> Caught | None:
        """Take a line in. The exception, once its line is there."""
        self.took_it = True
        if text.startswith(_TRACEBACK):
            if label in self._ignored:
                self._ignored.discard(label)
            elif len(self._open) < _MOST_OPEN:
                self._open[label] = _Open(number, [text.decode("utf-8", "replace")])
            return None
        if text.startswith(b"Exception ignored in"):  # while Python ends: it killed nobody
            self._ignored.add(label)
            return None
        told = self._open.get(label)
        if told is not None:
            return self._go_on(number, label, told, text)
        self.took_it = False
        return None

    def _go_on(self, number: int, label: Label, told: _Open, text: bytes) -> Caught | None:
        line = text.decode("utf-8", "replace").rstrip()
        if not line or line[0].isspace() or line.startswith(_CHAINED):
            if len(told.lines) < _MOST_LINES:
                told.lines.append(line)
            return None
        if not _EXCEPTION.match(line):
            self.took_it = False
            told.torn += 1
            if told.torn > _MOST_TORN:
                del self._open[label]
            return None
        del self._open[label]
        frames = "\n".join(told.lines)
        is_agents = label.local_rank is None and _AGENT_FRAME.search(frames) is not None
        return Caught(number, label, line, f"{line}\n{frames}"[:LONGEST_MESSAGE], is_agents)


@dataclass(frozen=True, slots=True)
class Entry:
    """One worker in the table of failures, and where its error file was."""

    failure: Failure
    error_file: str


@dataclass(slots=True)
class Table:
    """The table of failures with which torchrun ends, while it is told."""

    is_open: bool = False
    _line: int = 0
    _lines: int = 0
    _is_last: bool = False
    _fields: dict[bytes, bytes] = field(default_factory=dict)
    _traceback: list[bytes] | None = None

    def begin(self) -> None:
        """Its head was told."""
        self.is_open, self._is_last, self._lines = True, False, 0
        self._forget()

    def hear(self, number: int, text: bytes, clock: Clock) -> Entry | None:
        """Take a line in. The entry that it ends, if it ends one."""
        self._lines += 1
        is_border = text.startswith((b"=====", b"-----"))
        is_cut = self._lines > _LONGEST_TABLE
        if is_border or is_cut or _ENTRY.fullmatch(text):
            entry = self._entry(clock)
            self._forget()
            self._line = number
            self.is_open = not is_cut and not (text.startswith(b"=====") and self._is_last)
            return entry
        if text.startswith(b"Root Cause"):
            self._is_last = True
        elif found := _FIELD.match(text):
            self._fields[found[1]] = found[2]
            self._traceback = [found[2]] if found[1] == b"traceback" else None
        elif self._traceback is not None and len(self._traceback) < _MOST_LINES:
            self._traceback.append(text)
        return None

    def _forget(self) -> None:
        self._fields, self._traceback = {}, None

    def _entry(self, clock: Clock) -> Entry | None:
        fields = self._fields
        ranks = _RANKS.match(fields.get(b"rank", b""))
        if ranks is None:
            return None
        exited = _EXIT.match(fields.get(b"exitcode", b""))
        time = split_time(fields.get(b"time", b""), clock)
        failure = Failure(
            line=self._line,
            at_us=time.at_us if time else None,
            rank=int(ranks[1]),
            local_rank=int(ranks[2]),
            pid=int(exited[2]) if exited else None,
            code=int(exited[1]) if exited else None,
            message=_message(self._traceback or []),
            host=fields.get(b"host", b"").decode("utf-8", "replace").strip()[:256] or None,
        )
        return Entry(failure, fields.get(b"error_file", b"").decode("utf-8", "replace").strip())


def _message(traceback: list[bytes]) -> str | None:
    """A table's traceback with the exception's line before it; the table indents it by two."""
    lines = [line.decode("utf-8", "replace").rstrip() for line in traceback]
    lines = [lines[0], *(line.removeprefix("  ") for line in lines[1:])] if lines else []
    said = [line for line in lines if line]
    if not said or said[0].startswith(_NO_MESSAGE) or said[0].startswith("Signal "):
        return None
    last = next((line for line in reversed(said) if not line[0].isspace()), said[0])
    return "\n".join([last, *said] if len(said) > 1 else said)[:LONGEST_MESSAGE]
