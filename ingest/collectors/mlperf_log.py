"""What an MLPerf log tells about each launch of its run, gathered record by record. Makes no
events.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ingest.collectors.json_values import sound
from ingest.collectors.mlperf_submission import RUN_SIZE
from ingest.collectors.mlperf_text import ErrorLine, Record

_MINUTE_US = 60_000_000
_HOUR_US = 3_600_000_000
_PROGRESS = frozenset({"train_loss", "tracked_stats", "block_stop"})
_TRAINED = frozenset({"block_stop", "epoch_stop"})
_TRAINING = {
    "block_start": ("block", True),
    "block_stop": ("block", False),
    "epoch_start": ("epoch", True),
    "epoch_stop": ("epoch", False),
}
_FACTS = frozenset(
    [
        "submission_org",
        "submission_platform",
        "submission_benchmark",
        "submission_division",
        "seed",
        "global_batch_size",
        *RUN_SIZE,
    ]
)
# what power meters beside a run write, each into a file of its own
_POWER = frozenset(
    [
        "power_measurement_start",
        "power_reading",
        "power_measurement_stop",
        "conversion_eff",
        "interconnect_power_est",
    ]
)
_PLACEHOLDERS = ("PLACEHOLDER", "UNKNOWN_MLPERF")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training was; a step only where the log gives samples beside it, since some logs call
    samples or epochs so.
    """

    at_us: int
    samples: int
    step: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A rank starts or stops to evaluate or to stage data; or to train a `piece`, a block or an
    epoch.
    """

    at_us: int
    rank: int | None
    is_start: bool
    piece: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An error line at the time it is taken to have happened."""

    at_us: int
    message: str
    rank: int | None
    line_number: int


@dataclass(slots=True)
class Launch:
    """How far one launch came; absent is not reached. `seen_us` is the latest time that anything
    tells, `trained_us` the latest end of a block or epoch, `rested_us` the latest time before
    anything that prepares a run.
    """

    begun_us: int
    seen_us: int
    launched_us: int | None = None
    launched_by: int | None = None
    init_us: int | None = None
    running_us: int | None = None
    trained_us: int = 0
    rested_us: int | None = None
    stopped_us: int | None = None
    ended_us: int | None = None
    status: str | None = None
    due_to: str | None = None
    initialised: set[int | None] = field(default_factory=set)
    started: set[int] = field(default_factory=set)
    turns: list[Turn] = field(default_factory=list)
    stagings: list[Turn] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def rest(self, record: Record) -> None:
        """Remember how far it went if it has run, since what is prepared may be the next run."""
        # some print the rest of their header while they run, but nobody clears caches then
        has_run = self.running_us if record.key == "cache_clear" else self.stopped_us
        is_over = has_run is not None or self.died_early
        if self.rested_us is None and is_over and record.at_us > self.seen_us:
            self.rested_us = self.seen_us

    @property
    def died_early(self) -> bool:
        """Whether it told of an error before it ran."""
        return self.running_us is None and bool(self.failures)

    @property
    def is_met_training(self) -> bool:
        """Whether nothing is told of before it ran."""
        is_told = self.launched_us is not None or self.init_us is not None
        return not is_told and self.begun_us == self.running_us

    @property
    def has_evaluated(self) -> bool:
        """Whether it told of an evaluation."""
        return any(turn.piece is None for turn in self.turns)

    def has_begun_before(self, record: Record, label: int | None) -> bool:
        """Whether what begins here must be another launch. Ranks begin within a minute."""
        is_late = record.at_us > (self.running_us or self.init_us or self.begun_us) + _MINUTE_US
        if record.key == "run_start":
            # a task says it once a launch; without numbers of tasks, who says it is not known
            has_trained = self.stopped_us or self.trained_us or self.progress or self.has_evaluated
            return is_late and (label in self.started or bool(has_trained))
        has_run = self.running_us is not None
        return label in self.initialised and (has_run or (is_late and self.died_early))

    def saw(self, at_us: int) -> None:
        """Move the latest time that anything tells."""
        self.seen_us = max(self.seen_us, at_us)


@dataclass(slots=True)
class Log:
    """A log's launches in file order, and what it says about its submission."""

    launches: list[Launch] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    description: object = None
    is_log: bool = False
    _before: Launch | None = None

    def describe(self, text: bytes) -> None:
        """Keep the system's description that the launcher prints, for want of its file."""
        try:
            self.description = sound(json.loads(text.partition(b" ")[2]))
        except (ValueError, RecursionError):
            self.description = None

    def mark(self, is_start: bool, at_us: int, label: int | None) -> None:
        """The launcher starts the run, or stops. Its whole seconds may lie before milliseconds that
        came first.
        """
        self.is_log = True
        if is_start and self._has_told_start(at_us, label):
            return
        if is_start:
            begun = self._begin(at_us)
            begun.launched_us, begun.launched_by = at_us, label
        elif launch := self._open():
            launch.saw(at_us)
            launch.ended_us = launch.seen_us

    def record(self, record: Record, label: int | None) -> None:
        """A rank's record: what several ranks repeat counts from the first, and to the last."""
        if record.key in _POWER:
            return
        self.is_log = True
        if record.key in _FACTS and not _is_placeholder(record.value):
            self.facts.setdefault(record.key, record.value)
        launch = self._launch_of(record, label) or self._before_any(record)
        if record.key == "cache_clear" or record.key.startswith("submission_"):
            launch.rest(record)
        launch.saw(record.at_us)
        if record.key in _TRAINED and launch.running_us:
            launch.trained_us = max(record.at_us, launch.trained_us)
        if record.key == "run_start" and label is not None:
            launch.started.add(label)
        match record.key:
            case "init_start":
                launch.initialised.add(label)
                launch.init_us = min(record.at_us, launch.init_us or record.at_us)
            case "run_start" if launch.running_us is None:
                _run(launch, record)
            case "run_stop":
                _stop(launch, record)
            case "eval_start" | "eval_stop":
                launch.turns.append(Turn(record.at_us, label, record.key == "eval_start"))
            case "staging_start" | "staging_stop" if launch.running_us:  # before it is start-up
                launch.stagings.append(Turn(record.at_us, label, record.key == "staging_start"))
            case key if key in _TRAINING:
                piece, is_start = _TRAINING[key]
                launch.turns.append(Turn(record.at_us, label, is_start, piece))
        if record.key in _PROGRESS and launch.running_us:
            _progress(launch, record)

    def error(self, error: ErrorLine, line_number: int) -> None:
        """An error line. Without a believable time of its own it comes right after all that was
        told before it.
        """
        launch = self._open() if self.launches else self._before
        if launch is None:
            return
        after_us = max(launch.seen_us, launch.failures[-1].at_us if launch.failures else 0)
        told_us = error.told_us
        # a time far off was told in another zone than the reader said
        if told_us is None or not after_us <= told_us < after_us + _HOUR_US:
            told_us = after_us + 1
        launch.failures.append(Failure(told_us, error.message, error.rank, line_number))
        if told_us == error.told_us:
            launch.saw(told_us)
        launch.due_to = launch.due_to or error.due_to

    def close(self) -> None:
        """A log that was cut off before its run began still tells of one launch."""
        if not self.launches and self._before is not None:
            self.launches.append(self._before)

    def _launch_of(self, record: Record, label: int | None) -> Launch | None:
        launch = self._open()
        if record.key not in ("init_start", "run_start"):
            return launch
        if launch is None or launch.has_begun_before(record, label):
            return self._begin(record.at_us)
        return launch

    def _has_told_start(self, at_us: int, label: int | None) -> bool:
        """Whether the launcher's start is one that it tells on each node, or the same once more."""
        launch = self._open()
        if launch is None or launch.launched_us is None:
            return False
        is_of_another_node = None not in (label, launch.launched_by) and label != launch.launched_by
        return abs(at_us - launch.launched_us) <= (_MINUTE_US if is_of_another_node else 0)

    def _before_any(self, record: Record) -> Launch:
        """The launch that all before the first is of, if none follows."""
        self._before = self._before or Launch(begun_us=record.at_us, seen_us=record.at_us)
        return self._before

    def _begin(self, at_us: int) -> Launch:
        before = self._open()
        if before and before.rested_us is not None:
            before.seen_us = before.rested_us
        self.launches.append(Launch(begun_us=at_us, seen_us=at_us))
        return self.launches[-1]

    def _open(self) -> Launch | None:
        return self.launches[-1] if self.launches and self.launches[-1].ended_us is None else None


def _run(launch: Launch, record: Record) -> None:
    """A start-up much later than the run was written down afterwards: it tells no time."""
    launch.running_us = record.at_us
    launch.rested_us = None
    if launch.launched_us is None and record.at_us < launch.begun_us - _MINUTE_US:
        launch.begun_us = launch.seen_us = record.at_us
        launch.init_us = None


def _stop(launch: Launch, record: Record) -> None:
    # evaluated after the train loop, a run tells when it had trained what reached the goal
    launch.stopped_us = max(record.at_us, launch.trained_us, launch.stopped_us or 0)
    status = record.metadata.get("status")
    if isinstance(status, str) and launch.status in (None, "success"):
        launch.status = status


def _progress(launch: Launch, record: Record) -> None:
    samples, step = (_count(record.metadata.get(key)) for key in ("samples_count", "step"))
    if samples is None:
        return
    progress = Progress(record.at_us, samples, step)
    if not launch.progress or launch.progress[-1] != progress:
        launch.progress.append(progress)


def _count(told: object) -> int | None:
    if isinstance(told, bool) or not isinstance(told, int | float) or not 0 <= told < 2**63:
        return None
    return int(told) if told == int(told) else None


def _is_placeholder(told: object) -> bool:
    return isinstance(told, str) and (not told or any(word in told for word in _PLACEHOLDERS))
