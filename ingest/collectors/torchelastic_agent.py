"""The log of torchrun's agent, in the prefixes that its releases wrote: what each message says of a
launch.

The log of the workers in between is not read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.collectors import torchelastic_launches as launches
from ingest.collectors.lines import Clock, said, split_time, zones_apart_us
from ingest.collectors.torchelastic_failures import Failure
from ingest.collectors.torchelastic_launches import Launch, Stop
from ingest.collectors.torchelastic_runs import usable
from ingest.events import Event

# a time in an hour that comes twice may have its offset behind it (`repeated_hour`)
_HEAD = re.compile(
    rb"(?:"
    rb"(?P<glog>[IWEFC]\d{4} \d\d:\d\d:\d\d\.\d{3,9}(?:[+-]\d{4})?) (?P<pid>\d{1,20}) "
    rb"(?:\S{1,200}?/)?torch/distributed/(?P<file>run|launcher/api|elastic/[\w/]{1,80})\.py:\d+\]"
    rb"|\[(?P<bracket>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}(?:[+-]\d{4})?)\] torch\.distributed\."
    rb"(?P<logger>run|launcher\.api|elastic\.[\w.]{1,80}): \[[A-Z]{4,8}\]"
    rb"|\[(?:DEBUG|INFO|WARNING|ERROR)\] "
    rb"(?P<old>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}(?:[+-]\d{4})?) "
    rb"(?P<name>run|api|local_elastic_agent):"
    # ft_launcher, torchrun's fork in nvidia-resiliency-ext up to 0.4
    rb"|\[(?P<fork>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}(?:[+-]\d{4})?)\] \[[A-Z]{4,8}\] "
    rb"\[ft_launcher(?P<fork_pid>\d{0,20})@[\w.-]{1,256}\]"
    rb"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):torch\.distributed\."
    rb"(?P<plain>run|launcher\.api|elastic\.[\w.]{1,80}):"
    rb") ?"
)
_FROM_START = ("run", "launcher/api", "launcher.api")  # modules that speak before the first workers
_FORK = "ft_launcher"  # names no modules
_STARTS = b"Starting elastic_operator with launch configs:"
_EARLY = (b"Using nproc_per_node=", _STARTS, b"starting workers for entrypoint")
_STUCK_GROUP = b"marking worker group UNHEALTHY"
_DEATHS = (
    b"failed (exitcode: ",
    _STUCK_GROUP,
    b"closing signal SIG",
    b"Closing process ",
    b" death signal, shutting down",
)
_SIGNALS = {
    b"SIGHUP": 1, b"SIGINT": 2, b"SIGQUIT": 3, b"SIGKILL": 9, b"SIGUSR1": 10, b"SIGUSR2": 12,
    b"SIGTERM": 15,
}  # fmt: skip

_RUN_ID = re.compile(rb"\s{1,8}run_id {1,40}: (\S{1,256})|--rdzv-backend=.*--rdzv-id=(\S{1,256})")
_RESULT = re.compile(rb"\s{1,8}(restart_count|group_world_size|global_ranks)=\[?(\d{1,9})\b")
_FAILED = re.compile(rb"failed \(exitcode: (-?\d{1,9})\) local_rank: (\d{1,9}) \(pid: (\d{1,18})\)")
_RESTARTS = re.compile(rb"Worker group (?:FAILED|UNHEALTHY)\. (\d{1,9})/(\d{1,9}) attempts left")
_DEATH = re.compile(rb"Received (?:Signals\.)?(\w{1,20}) death signal")
_STUCK = re.compile(rb"Worker pid=(\d{1,18}) stuck in ")
_REAPED = re.compile(rb"Reaping worker_(?:p?id)=\[(\d{1,18})\]")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an agent. `place`: where in its line it begins. `pid` is its process, or a
    thread in older releases. `apart_us`: how far its own time was moved to the zone of the stamp
    before it, None where there is none.
    """

    line: int
    place: int
    at_us: int | None
    pid: str | None
    module: str
    text: bytes
    is_glog: bool
    is_year_guessed: bool
    apart_us: int | None

    @property
    def is_undated(self) -> bool:
        """Whether it tells a time, but of no year."""
        return self.is_glog and self.at_us is None

    @property
    def is_early(self) -> bool:
        """Whether only an agent that has just been started says so."""
        if self.module == _FORK and not self.text.strip():
            return True  # only what it is set up with begins with a line break
        return self.module in _FROM_START or any(mark in self.text for mark in _EARLY)


def messages_in(number: int, line: bytes, clock: Clock, first: bytes = b"") -> list[Message]:
    """The agent's messages in a line: none mostly, several where writers tore one another's. What
    its line began with, before it was written over, is `first`.
    """
    heads = list(_HEAD.finditer(line))
    ends = [*(head.start() for head in heads[1:]), len(line)]
    return [
        _message(number, head, first + line[: heads[0].start()], line[head.end() : end], clock)
        for head, end in zip(heads, ends, strict=False)
    ]


def begins(message: Message, launch: Launch | None) -> bool:
    """Whether a message is of a launch that the one before it is not."""
    if launch is None:
        return True
    is_set_up_again = launch.is_set_up and message.text.startswith(_STARTS)
    return message.is_early and (launch.is_under_way or is_set_up_again)


def tells_death(message: Message) -> bool:
    """Whether an agent at its default level has nothing to say before this: that workers died."""
    return any(mark in message.text for mark in _DEATHS)


def tells_stop(message: Message) -> bool:
    """Whether an agent says that it was sent a signal."""
    return b"death signal" in message.text


def launch_of(message: Message, launch: Launch) -> Launch:
    """Note on a new launch when it began, if this message is one that agents begin with."""
    launch.pid = message.pid
    if message.is_early:
        launch.began_us = message.at_us
    return launch


def tell(message: Message, launch: Launch) -> Iterator[Event]:
    """What a message says of its launch, as events and in what is known of the launch."""
    launch.saw(message.at_us)
    for mark, do in _MESSAGES:
        if mark in message.text:
            yield from do(message, launch)
            return
    note(message.text, launch)


def note(text: bytes, launch: Launch) -> bool:
    """Take in a line of the lists that agents print: of how a launch is set up, of a rendezvous."""
    if found := _RUN_ID.match(text):
        told = usable((found[1] or found[2]).decode("utf-8", "replace"))
        launch.run_id = launch.run_id or told
        return True
    result = _RESULT.match(text)
    if result is None:
        return False
    number = int(result[2])
    if result[1] == b"restart_count":
        launch.generation = number
    elif result[1] == b"group_world_size":
        launch.is_alone = number == 1
    else:
        launch.rank = number
    return True


def _message(
    number: int, head: re.Match[bytes], before: bytes, text: bytes, clock: Clock
) -> Message:
    """`before` is what a pipe or a container's runtime put before its line. A time there may tell
    the zone and the year that the agent's own lacks.
    """
    time = next((told for told in head.group("glog", "bracket", "old", "fork") if told), b"")
    modules = head.group("file", "logger", "name", "plain")
    module = next((told.decode() for told in modules if told), _FORK)
    stamp = said(before, clock)
    own = split_time(time, clock) if time else None
    told = own or stamp
    apart_us = None
    if own is not None and stamp.at_us is not None and not stamp.is_year_guessed:
        apart_us = zones_apart_us(own.at_us, stamp.at_us)
    pid = head["pid"] or head["fork_pid"]
    return Message(
        number,
        head.start(),
        None if told.at_us is None else told.at_us + (apart_us or 0),
        pid.decode() if pid else None,
        module,
        text,
        is_glog=head["glog"] is not None,
        is_year_guessed=told.is_year_guessed and apart_us is None,
        apart_us=apart_us,
    )


def _set_up(_message: Message, launch: Launch) -> Iterator[Event]:
    launch.is_set_up = True
    yield from ()


def _meet(message: Message, launch: Launch) -> Iterator[Event]:
    if message.at_us is not None:
        yield from launches.rendezvous(launch, message.at_us)


def _start(message: Message, launch: Launch) -> Iterator[Event]:
    if message.at_us is not None:
        yield from launches.workers(launch, message.at_us)


def _fail(message: Message, launch: Launch) -> Iterator[Event]:
    failed = _FAILED.search(message.text)
    if failed is None:
        return
    failure = Failure(
        line=message.line,
        at_us=message.at_us,
        local_rank=int(failed[2]),
        pid=int(failed[3]),
        code=int(failed[1]),
    )
    yield from launches.fail(launch, failure, message.at_us)


def _give_up_workers(message: Message, launch: Launch) -> Iterator[Event]:
    """A worker sleeps in the kernel, where no signal reaches it: the agent starts none anew."""
    stuck = _STUCK.search(message.text)
    if stuck is not None:
        text = message.text.decode("utf-8", "replace").strip()
        failure = Failure(message.line, message.at_us, pid=int(stuck[1]), message=text)
        yield from launches.fail(launch, failure, message.at_us)


def _restart(message: Message, launch: Launch) -> Iterator[Event]:
    left = _RESTARTS.search(message.text)
    if left is not None and int(left[1]) <= int(left[2]):
        launch.generation = int(left[2]) - int(left[1])
    launch.failed_us = message.at_us or launch.failed_us
    launch.end_line = launch.end_line or message.line
    yield from ()


def _finish(message: Message, launch: Launch) -> Iterator[Event]:
    launch.finished_us, launch.end_line = message.at_us, message.line
    yield from ()


def _wait(message: Message, launch: Launch) -> Iterator[Event]:
    if b"FAILED" in message.text or b"UNHEALTHY" in message.text:
        launch.failed_us = launch.failed_us or message.at_us
    else:
        launch.finished_us = launch.finished_us or message.at_us
    yield from ()


def _leave(message: Message, launch: Launch) -> Iterator[Event]:
    launch.done_us = message.at_us
    yield from ()


def _give_up(message: Message, launch: Launch) -> Iterator[Event]:
    """Other agents did not come; one that keeps to warnings has not said how its workers ended."""
    if launch.finished_us is not None or launch.failed_us is not None:
        yield from _leave(message, launch)


def _leave_out(_message: Message, launch: Launch) -> Iterator[Event]:
    """The others were as many as they may be: what becomes of them is not this agent's to say."""
    launch.is_left_out = True
    yield from ()


def _die(message: Message, launch: Launch) -> Iterator[Event]:
    death = _DEATH.search(message.text)
    if death is None or message.at_us is None:
        return
    signal = _SIGNALS.get(death[1]) or (int(death[1]) if death[1].isdigit() else None)
    # an agent that starts no workers anew ends without such a word
    yield from launches.outlive(launch, message.at_us)
    text = message.text.decode("utf-8", "replace").strip()
    launches.halt(launch, Stop(message.at_us, message.line, signal, message=text))


def _close(message: Message, launch: Launch) -> Iterator[Event]:
    yield from launches.close_workers(launch, message.at_us)


def _reap(message: Message, launch: Launch) -> Iterator[Event]:
    reaped = _REAPED.search(message.text)
    if reaped is not None:
        text = message.text.decode("utf-8", "replace").strip()
        failure = Failure(message.line, message.at_us, pid=int(reaped[1]), message=text)
        launches.hear_exception(launch, failure)
    yield from ()


_MESSAGES: tuple[tuple[bytes, Callable[[Message, Launch], Iterator[Event]]], ...] = (
    (_STARTS, _set_up),
    (b"Rendezvous'ing worker group", _meet),
    (b"Starting worker group", _start),
    (b"failed (exitcode:", _fail),
    (_STUCK_GROUP, _give_up_workers),
    (b"attempts left; will restart worker group", _restart),
    (b"orker group successfully finished", _finish),
    (b"Local worker group finished", _wait),
    (b"Done waiting for other agents", _leave),
    (b"Error waiting on exit barrier", _give_up),
    (b"Got termination signal", _give_up),
    (b"Rendezvous gracefully exited", _leave_out),
    (b"forcefully exiting via", _give_up),
    (b"abandoning and continuing teardown", _give_up),
    (b"death signal", _die),
    (b"closing signal", _close),
    (b"Closing process ", _close),  # so it says of workers that are functions
    (b"Reaping worker_", _reap),
)
