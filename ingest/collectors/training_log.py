"""Plain logs of trainers, read by named patterns: when a launch began, trained, saved, loaded,
evaluated and failed, and how far it came. Says nothing that no line tells.

The patterns are in `ingest/training_logs.toml`; the user's own are tried before them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from ingest.collectors import torchelastic_runs
from ingest.collectors.base import Collector, Dump, Line, Reading
from ingest.collectors.lines import Clock, clock_of
from ingest.collectors.repeated_hour import told_apart
from ingest.collectors.torchelastic_training import Again, Begun
from ingest.collectors.training_log_identity import Place, place_of, writer_of
from ingest.collectors.training_log_patterns import Means, Pattern, patterns
from ingest.collectors.training_log_run import Run
from ingest.collectors.training_log_shapes import Step
from ingest.collectors.training_log_signs import Sign, Signs
from ingest.collectors.training_log_steps import Steps
from ingest.collectors.training_log_traces import Trace
from ingest.errors import UnreadableDump
from ingest.events import BUFFERED, Event, EventKind, Item, Outcome, Phase, Rejected, Says

_Item = TypeVar("_Item")
_LOG = logging.getLogger("ingest")

_SOME_DAY = Clock(ZoneInfo("UTC"), 4_000_000_000_000_000)
_SCHEDULERS = " CANCELLED AT "  # what Slurm writes of a job that it ends
_UNTIMED_SIGNS = 2  # that make a log which tells no times
_UNNUMBERED = (
    "no line that tells a step tells its number: keep the progress bar in the log (Hugging Face: "
    "disable_tqdm=False), or let a [[training_log]] pattern of ett.toml name it (?P<step>...)"
)
# the agent of torchrun tells its own story; entries of Cloud Logging are no log, nor is what wandb
# notes of itself
_OTHERS = re.compile(
    rb"\A[^\n]{0,100} \[wandb_\w{1,20}\.py:|"
    rb"torch[/.]distributed[/.](?:launcher[/.]api|elastic[/.]agent[/.])|"
    rb"^\s{1,8}\"textPayload\": \"",
    re.MULTILINE,
)
# a page shows a piece of a log so, and a trainer's log what its model was asked and wrote
_FENCED = re.compile(rb"^\s{0,3}```.*?(?:^\s{0,3}```|\Z)", re.MULTILINE | re.DOTALL)
_RECORD = re.compile(
    rb"^(?:\[\w{1,40}\]:\s?)?[\[{](?!.{0,2000}\"(?:msg|message)\": ?\")\s{0,40}[\"{\[]"
)
_EVENT = re.compile(rb"\"event(?:_type|_name)?\": ?\"")
_ANYBODYS = frozenset(
    {Means.FACT, Means.FAILURE, Means.END, Means.STEP, Means.QUOTING, Means.QUOTED}
)
_TRAINERS_OWN = frozenset({EventKind.PHASE_START, EventKind.PHASE_END, EventKind.PROGRESS})
_TRAINER = re.compile(
    r"/(?:torch|deepspeed|megatron|transformers|accelerate|lightning|jax|flax|tensorflow)/"
)


def recognises(_name: str, head: bytes) -> bool:
    """Whether some line means something that only a trainer tells. Records of other programs and
    pages about logs are left alone.
    """
    return is_told_by((), head)


def is_told_by(own: tuple[Pattern, ...], head: bytes) -> bool:
    """The same, where the user's patterns give lines their meaning too."""
    if _OTHERS.search(head):
        return False
    lines = [
        (number, line)
        for number, line in enumerate(_FENCED.sub(b"", head).splitlines(), 1)
        if not _RECORD.match(line) and not _EVENT.search(line)
    ]
    if not lines:  # and nothing is worth compiling the patterns for
        return False
    signs = Signs(patterns(own), _SOME_DAY)
    untimed = {_weight(sign) for sign in signs.read(lines)}
    steps = signs.untimed_steps + signs.unnumbered_steps
    return True in untimed or len(untimed - {False}) + steps >= _UNTIMED_SIGNS


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """The events of all launches. Raises UnreadableDump if nothing is told, or no time of it."""
    dump, signs, run = _begun(dump, reading)
    return _told(dump, signs, run, _events(signs, run, signs.read(dump.lines())))


def read_many(dump: Dump, reading: Reading) -> Iterator[Item]:
    """As `read`, with frames of the steps of lines that are alike."""
    dump, signs, run = _begun(dump, reading)
    return _told(dump, signs, run, _items(signs, run, signs.read_many(dump.blocks())))


def _begun(dump: Dump, reading: Reading) -> tuple[Dump, Signs, Run]:
    clock = clock_of(dump, reading)
    run = Run(_place(dump), reading.cluster, writer_of(dump))
    signs = Signs(patterns(reading.training_logs), clock, tells_launches=True)
    return told_apart(dump, clock), signs, run


def _told(dump: Dump, signs: Signs, run: Run, items: Iterator[_Item]) -> Iterator[_Item | Event]:
    is_told = False
    for item in items:
        if signs.is_newest_first:
            raise UnreadableDump(
                f"{dump.name} has the newest lines first. Dump it again with the oldest first "
                "(gcloud logging read: --order=asc), or turn it: tac FILE > NEW"
            )
        is_told = True
        yield item
    yield from _late(dump, run)
    if is_told and signs.untimed_steps and not run.has_steps:
        _LOG.warning(
            "%s: no line that tells a step tells a time, so no step was read; put times before "
            "its lines: python -u train.py 2>&1 | ts '%%Y-%%m-%%dT%%H:%%M:%%.S%%z'",
            dump.name,
        )
    elif is_told and signs.unnumbered_steps and not run.has_steps:
        _LOG.warning("%s: %s, so no step was read", dump.name, _UNNUMBERED)
    elif is_told and run.must_have_trained and not run.has_trained:
        _LOG.warning(
            "%s: none of its lines is known to tell that it trained, so none of its time counts as "
            "training, unless another file of the run tells it; describe the lines of its steps in "
            "[[training_log]] tables of ett.toml: docs/sources/training-log.md",
            dump.name,
        )
    elif is_told and run.was_interrupted and not run.has_saved:
        _LOG.warning(
            "%s: none of its lines is known to tell of a save or of what was restored, so all that "
            "it trained before an interruption counts as unsaved, unless another file of the run "
            "tells it. So it is if it did not save. If it did, let the trainer log that (Hugging "
            "Face: --log_level info), or describe the lines in [[training_log]] tables of "
            "ett.toml: docs/sources/training-log.md",
            dump.name,
        )
    if run.is_year_guessed:
        _LOG.warning(
            "%s: its times tell no year; the year of the file's last change was taken", dump.name
        )
    if not is_told:
        raise UnreadableDump(_nothing(dump.name, signs))


def _late(dump: Dump, run: Run) -> Iterator[Event]:
    for event in run.told_late():
        _LOG.warning(
            "%s: its steps were written many at a time: what printed them was buffered, so the "
            "times of its lines are too late, and all time of its job is uninstrumented; let "
            "Python write each line at once: python -u train.py, or PYTHONUNBUFFERED=1 in its "
            "environment",
            dump.name,
        )
        yield event


def _place(dump: Dump) -> Place:
    """Beside torchrun's own files a trainer's log is of torchrun's run. Where that has no id, a log
    with a name of its own may be another's; where both have numbers of Slurm, they decide.
    """
    place, around = place_of(dump), torchelastic_runs.place_of(dump)
    number = around.scheduler_job
    if None not in (number, place.scheduler_job) and number != place.scheduler_job:
        return place
    if around.run_id is not None:
        return Place(around.run_id, number or place.scheduler_job, is_of_launcher=True)
    if place.has_own:
        return place
    if number is not None:
        return Place(None, number, is_of_launcher=True)
    return Place(around.folder, None, is_of_launcher=True) if around.is_nameless else place


def _is_misnamed(path: Path, job_keys: Collection[str]) -> bool:
    """Whether a log was named by itself or by its place, and is of torchrun's run by now."""
    place = _place(Dump(str(path), path, lambda: iter(())))
    if place.name is not None:
        return place.is_of_launcher and place.name not in job_keys
    return any(not key.rpartition(":")[2].isdecimal() for key in job_keys)


def trainer_events(
    dump: Dump, reading: Reading, clock: Clock
) -> Iterator[Event | Sign | Again | Begun]:
    """What the trainer tells in a log that also tells who launched it: when it begins; phases,
    steps, what was restored, and that it is done or preempted, of no job and no launch; that it
    tells a step again, which the launcher's collector may say is of workers that were started anew;
    and lines that are evidence of a failure. The launcher's collector knows those, when it was,
    tracebacks, and other ends. Its lines are asked for once.
    """
    signs = Signs(patterns(reading.training_logs), clock)
    run = Run(place_of(dump), reading.cluster, writer_of(dump))
    keys: set[str] = set()
    for told in signs.read(dump.lines()):
        if isinstance(told, Step) and run.has_told(told):
            yield from _trainers_own(run, run.settle(), keys)
            again = Again(told.at_us)
            yield again
            if again.is_anew:
                yield from _trainers_own(run, run.begin_anew(told), keys)
        yield from _trainers_own(run, _of_one(signs, run, told), keys)
        if isinstance(told, Sign) and told.means is Means.FAILURE:
            yield told
    yield from _trainers_own(run, run.close(signs.last_us(), signs.first_us), keys)
    yield from _trainers_own(run, _late(dump, run), keys)


def trainer_begins(
    dump: Dump, lines: Sequence[Line], reading: Reading, clock: Clock
) -> Sequence[int]:
    """When the launches began that the first lines of such a log tell of: none where they tell of
    none, for the log may be a piece, which begins anywhere.
    """
    signs = Signs(patterns(reading.training_logs), clock)
    run = Run(place_of(dump), reading.cluster, writer_of(dump))
    keys: set[str] = set()
    begun = []
    for event in _events(signs, run, signs.read(lines)):
        has_others = bool(keys)
        # the first may have begun long before, where it was met training
        is_later = _is_first(event, keys) and has_others
        if is_later or event["event"] == EventKind.ATTEMPT_START:
            begun.append(run.begun_us or event["at_us"])
    return begun


def _is_first(event: Event, keys: set[str]) -> bool:
    """Whether an event is the first of its launch; `keys` are those of the launches before."""
    key = event.get("run_key")
    if key is None or key in keys:
        return False
    keys.add(key)
    return True


def _trainers_own(run: Run, events: Iterable[Event], keys: set[str]) -> Iterator[Event | Begun]:
    """`keys` are those of the launches that were told of before."""
    for event in events:
        is_met = _is_first(event, keys) and event.get("phase") == Phase.TRAINING
        if is_met or event["event"] == EventKind.ATTEMPT_START:
            yield Begun(run.begun_us or event["at_us"])  # it may train later than its first line
        is_done = event.get("outcome") == Outcome.COMPLETED or _is_own_preemption(event)
        is_of_state = "resumed_from_step" in event or event.get("stage") == BUFFERED
        if event["event"] in _TRAINERS_OWN or is_done or is_of_state:
            event.pop("job_id", None)
            event.pop("run_key", None)
            event.pop("scheduler_job", None)
            event.pop("run_restart", None)
            yield event


def _is_own_preemption(event: Event) -> bool:
    """Whether the trainer itself says that it is preempted, not the scheduler beside it."""
    is_preempted = event.get("outcome") == Outcome.PREEMPTED
    return is_preempted and _SCHEDULERS not in event.get("message", "")


def _events(signs: Signs, run: Run, told: Iterator[Sign | Step | Trace]) -> Iterator[Event]:
    for sign in told:
        yield from _of_one(signs, run, sign)
    yield from run.close(signs.last_us(), signs.first_us)


def _items(signs: Signs, run: Run, told: Iterator[Sign | Step | Steps | Trace]) -> Iterator[Item]:
    for sign in told:
        if isinstance(sign, Steps):
            yield from run.steps(sign, signs.first_us)
        else:
            yield from _of_one(signs, run, sign)
    yield from run.close(signs.last_us(), signs.first_us)


def _of_one(signs: Signs, run: Run, sign: Sign | Step | Trace) -> Iterable[Event]:
    if isinstance(sign, Step):
        return run.step(sign, signs.first_us)
    if isinstance(sign, Sign):
        return run.hear(sign, signs.first_us, signs.times_between)
    return run.trace(sign)


def _weight(sign: Sign | Step | Trace) -> str | bool:
    """True: no doubt. A name: some such names together. False: any program may tell that."""
    if isinstance(sign, Step):
        return True
    if isinstance(sign, Trace):
        return sign.at_us is not None and _TRAINER.search(sign.message) is not None
    if sign.means in _ANYBODYS or sign.pattern.is_anyones:
        return False
    return sign.at_us is not None or sign.pattern.name


def _nothing(name: str, signs: Signs) -> str:
    if signs.unnumbered_steps:
        return f"{name}: {_UNNUMBERED}, so nothing can be counted."
    if signs.has_signs:
        return (
            f"{name} tells no time on the lines that say what the trainer did, so nothing can be "
            "counted. Let the logger print times (Hugging Face: --log_level info and a "
            "logging.Formatter with %(asctime)s), or put them before each line: "
            "python -u train.py 2>&1 | ts '%Y-%m-%dT%H:%M:%.S%z'"
        )
    return (
        f"{name} holds no line that a pattern of ingest/training_logs.toml fits. Is it a trainer's "
        "log? Then describe its lines in [[training_log]] tables of ett.toml."
    )


TRAINING_LOG = Collector(
    name="training-log",
    says=Says(training=True, saves=True, resumes=True),
    recognises=recognises,
    read=read,
    read_many=read_many,
    is_named_by_path=True,
    is_misnamed=_is_misnamed,
    names_others_in=torchelastic_runs.folder_of_worker,
)
