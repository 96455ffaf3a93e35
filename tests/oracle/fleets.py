"""Random fleets of native events, for holding the SQL against the oracle. It never judges them.

Most jobs are well-formed lives that are then damaged as dumps are damaged; some are pure chaos.
Times lie on a small grid, so that ties are frequent. Every line is one that an ingest accepts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

SECOND_US = 1_000_000

Fields = dict[str, object]

# Around two midnights and further than the six hours apart that tell `lost` from `running`.
BASES = (
    "2026-03-01T23:50:00+00:00",
    "2026-03-01T23:59:30+00:00",
    "2026-03-01T12:00:00+00:00",
    "2026-03-02T00:00:00+00:00",
    "2026-03-02T05:57:00+00:00",
    "2026-03-02T23:58:00+00:00",
)
PHASES = (
    "queue",
    "scheduling",
    "hardware_setup",
    "launcher_init",
    "trainer_init",
    "pt2_compile",
    "checkpoint_load",
    "training",
    "checkpoint_save",
    "checkpoint_upload",
    "evaluation",
    "data_wait",
    "shutdown",
)
OUTCOMES = ("failed", "completed", "preempted", "cancelled", "timeout")
CATEGORIES = ("gpu_hardware/nvlink_error", "host/host_oom", "user_code/gpu_oom", "cascade/job_hang")
TEAMS = ("ranking", "ads", "search")
WORKLOADS = ("production", "exploration")
STAGES = (None, "device_init", "pre_train")
SHORT = (0, 1, 2, 5, 10, 30)
GAPS = (1, 2, 5, 6, 7, 10)
LONG_GAPS = (60, 61, 62, 70, 100, 101, 300)


def random_fleet(seed: int, prefix: str = "", *, chaos: float = 0.25) -> list[Fields]:
    """The events of one to four jobs, in no order; the same for the same arguments.

    Job ids begin with `prefix`, so that fleets of several seeds can share a warehouse. `chaos` is
    the share of jobs that never were well-formed.
    """
    return fleet_from(random.Random(seed), prefix, chaos)


def fleets(prefix: str = "", *, chaos: float = 0.25) -> st.SearchStrategy[list[Fields]]:
    """Random fleets, drawn so that hypothesis can shrink them towards short and simple ones."""
    return st.randoms(use_true_random=False).map(lambda rng: fleet_from(rng, prefix, chaos))


def smallest(events: Sequence[Fields], still_fails: Callable[[list[Fields]], bool]) -> list[Fields]:
    """A part of the events that still fails, from which no single event can be left out."""
    kept = list(events)
    size = max(1, len(kept) // 2)
    while size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if fewer and still_fails(fewer):
                kept = fewer
            else:
                at += size
        size //= 2
    return kept


def fleet_from(rng: random.Random, prefix: str, chaos: float) -> list[Fields]:
    """One fleet, from any source of chance; its smallest draws make the simplest fleet."""
    base = _microseconds(rng.choice(BASES))
    events: list[Fields] = []
    for number in range(rng.randint(1, 4)):
        job_id = f"{prefix}job-{number}"
        start = base + rng.choice((0, 0, 1, 30, 600)) * SECOND_US
        make = _chaotic_job if _chance(rng, chaos) else _lived_job
        events += make(rng, job_id, start)
    if _chance(rng, 0.1):
        events.append({"ts": base, "event": "change", "name": "roll-out", "team": "ranking"})
    if not events:
        events.append({"ts": base, "event": "alive", "job_id": f"{prefix}job-0"})
    written = [_written(rng, event) for event in events]
    rng.shuffle(written)
    return written


# A life, as it should be told


def _lived_job(rng: random.Random, job_id: str, start: int) -> list[Fields]:
    """Attempts one after the other, then the damage."""
    team, gpus = rng.choice(TEAMS), rng.choice((8, 8, 16, None, 0))
    ranks = rng.choice((0, 0, 1, 2, 3))
    shares = _chance(rng, 0.25)
    saver = rng.choice(("sync", "sync", "async", "mixed"))
    events: list[Fields] = []
    if _chance(rng, 0.5):
        events.append(_who(rng, team, gpus) | {"ts": start, "event": "job"})

    number, now, step = 0, start, 0
    attempts = rng.randint(1, 5)
    for index in range(attempts):
        number += 2 if _chance(rng, 0.1) else 1
        life = _Life(rng, number, now, step, ranks, saver)
        life.tell(is_last=index == attempts - 1)
        if shares and _chance(rng, 0.8):
            life.hold("node-7" if _chance(rng, 0.8) else "node-8")
        if gpus is not None and _chance(rng, 0.3):
            life.say(gpus=rng.choice((gpus, gpus, 8, 16, 0)))
        if _chance(rng, 0.15):
            life.say(team=rng.choice(TEAMS))
        events += life.events
        step = life.step if _chance(rng, 0.5) else max(0, life.step - rng.randint(0, 20))
        now = life.now + rng.choice((0, 0, 1, 10, 60, 600, -5, -40)) * SECOND_US

    if events and all("team" not in event for event in events) and _chance(rng, 0.7):
        events[0] |= _who(rng, team, gpus)
    return _damaged(rng, [{"job_id": job_id} | event for event in events])


def _who(rng: random.Random, team: str, gpus: int | None) -> Fields:
    said: Fields = {"team": team, "workload": rng.choice(WORKLOADS), "user": "lee"}
    return said if gpus is None else said | {"gpus": gpus}


class _Life:
    """One attempt while it is told: `now` is how far the telling is, `step` the last step done."""

    def __init__(
        self, rng: random.Random, number: int, now: int, step: int, ranks: int, saver: str
    ) -> None:
        self.rng = rng
        self.number = number
        self.now = now
        self.step = step
        self.first_step = step
        self.saver = saver
        self.ranks: list[int | None] = list(range(ranks)) if ranks else [None]
        self.events: list[Fields] = []
        self.granted = now

    def tell(self, is_last: bool) -> None:
        rng = self.rng
        self._queue_and_scheduling()
        last_chapter = rng.choice((3, 3, 3, 3, 3, 2, 1, 0))  # an early death tells less
        if last_chapter >= 1:
            for phase in ("hardware_setup", "launcher_init"):
                self._phase(phase, rng.choice(SHORT))
        if last_chapter >= 2:
            self._initialise()
        if last_chapter >= 3:
            self._train()
        if _chance(rng, 0.4):
            self._phase("shutdown", rng.choice(SHORT))
        self._end(is_last)

    def hold(self, allocation_id: str) -> None:
        for event in self.events:
            if event.get("phase") != "queue" and _chance(self.rng, 0.5):
                event["allocation_id"] = allocation_id

    def say(self, **fields: object) -> None:
        for event in self.events:
            if event.get("phase") != "queue" and _chance(self.rng, 0.3):
                event.update(fields)

    def _event(self, at: int, event: str, **fields: object) -> None:
        self.events.append(
            {"ts": at, "event": event, "attempt": self.number, **_without_nulls(fields)}
        )

    def _pass(self, seconds: int) -> None:
        self.now += seconds * SECOND_US

    def _skew(self) -> int:
        return self.rng.choice((0, 0, 0, 1000, 7000, SECOND_US, 1))

    def _span(self, start: int, end: int, **fields: object) -> None:
        """A span on every rank, told as a start and an end or at once."""
        ok = fields.pop("ok", None)
        is_complete = _chance(self.rng, 0.2)
        for rank in self.ranks:
            begun, ended = start, end
            if len(self.ranks) > 1:
                begun, ended = start + self._skew(), max(start + self._skew(), end + self._skew())
            if is_complete:
                self._event(begun, "phase_start", end_ts=ended, ok=ok, rank=rank, **fields)
                continue
            self._event(begun, "phase_start", rank=rank, **fields)
            said_again = ("phase", "stage") if _chance(self.rng, 0.25) else tuple(fields)
            again = {name: fields[name] for name in said_again if name in fields}
            self._event(ended, "phase_end", ok=ok, rank=rank, **again)

    def _phase(self, phase: str, seconds: int, **fields: object) -> None:
        start = self.now
        self._pass(seconds)
        self._span(start, self.now, phase=phase, **fields)

    def _queue_and_scheduling(self) -> None:
        rng = self.rng
        if _chance(rng, 0.4):
            start = self.now - rng.choice((0, 10, 30, 600)) * SECOND_US
            self._event(start, "phase_start", phase="queue")
            if _chance(rng, 0.8):
                self._event(self.now, "phase_end", phase="queue")
        if _chance(rng, 0.7):
            start = self.now
            self._pass(rng.choice(SHORT))
            self._event(start, "phase_start", phase="scheduling")
            if _chance(rng, 0.9):
                self._event(self.now, "phase_end", phase="scheduling")
        self.granted = self.now
        if _chance(rng, 0.8):
            self._event(self.now, "attempt_start")

    def _initialise(self) -> None:
        rng = self.rng
        start = self.now
        stage = rng.choice(STAGES)
        self._phase("trainer_init", rng.choice(SHORT), stage=stage)
        if stage is not None and _chance(rng, 0.5):
            self._span(start, self.now - rng.choice((0, 1)), phase="trainer_init")
        if _chance(rng, 0.6):
            overlap = rng.choice((0, 0, 1, 5)) * SECOND_US
            begun = max(start, self.now - overlap)
            self._pass(rng.choice(SHORT))
            self._span(begun, self.now, phase="pt2_compile", cache=rng.choice(("hit", "miss")))
        if self.first_step or _chance(rng, 0.2):
            resumed = self.first_step if _chance(rng, 0.5) else None
            self._phase("checkpoint_load", rng.choice(SHORT), resumed_from_step=resumed)

    def _train(self) -> None:
        rng = self.rng
        start = self.now
        if rng.choice((False, True)):
            self._regular_progress()
        for _ in range(rng.randint(0, 6)):
            self._something_in_the_loop()
        if _chance(rng, 0.4):
            self._regular_progress()
        if _chance(rng, 0.1):
            self._pass(rng.choice(LONG_GAPS))
        if _chance(rng, 0.6):
            self._span(start, self.now, phase="training")
        else:
            for rank in self.ranks:
                self._event(start, "phase_start", phase="training", rank=rank)

    def _something_in_the_loop(self) -> None:
        rng = self.rng
        what = rng.choice(
            ("progress", "progress", "save", "save", "evaluation", "data_wait", "more")
        )
        self._pass(rng.choice((0, 1, 10, 30, 100)))
        self.step += rng.choice((0, 1, 10))
        if what == "progress":
            self._progress()
        elif what == "save":
            self._save()
        elif what == "more":
            self._phase(rng.choice(("pt2_compile", "data_wait")), rng.choice(SHORT))
        else:
            self._phase(what, rng.choice(SHORT))

    def _progress(self) -> None:
        for rank in self.ranks:
            at = self.now if rank is None else self.now + self._skew()
            self._event(at, "progress", step=self.step, rank=rank)

    def _regular_progress(self) -> None:
        """A run long enough to know a usual gap, with now and then a gap that may be a hang."""
        rng = self.rng
        usual = rng.choice(GAPS)
        for _ in range(rng.randint(11, 15)):
            stuck = rng.choice(LONG_GAPS) if _chance(rng, 0.08) else 0
            self._pass(stuck or (usual if _chance(rng, 0.8) else rng.choice(GAPS)))
            self.step += 1
            self._progress()
            if _chance(rng, 0.08):
                self._save()

    def _save(self) -> None:
        rng = self.rng
        mode = self.saver if self.saver != "mixed" else rng.choice(("sync", "async"))
        said_mode = mode if mode == "async" or _chance(rng, 0.3) else None
        step = self.step if _chance(rng, 0.9) else None
        ok = rng.choice((None, None, True, True, True, False))
        start = self.now
        self._phase("checkpoint_save", rng.choice(SHORT), step=step, mode=said_mode, ok=ok)
        if mode == "async" and _chance(rng, 0.85):
            self._upload(start if _chance(rng, 0.5) else self.now, step)

    def _upload(self, start: int, step: int | None) -> None:
        rng = self.rng
        ok = rng.choice((None, None, True, True, False))
        end = max(start, self.now + rng.choice((0, 1, 5, 10, 60)) * SECOND_US)
        step = step if _chance(rng, 0.85) else None
        self._event(start, "phase_start", phase="checkpoint_upload", step=step, rank=self.ranks[0])
        if _chance(rng, 0.85):
            said = step if _chance(rng, 0.6) else None
            self._event(
                end, "phase_end", phase="checkpoint_upload", step=said, ok=ok, rank=self.ranks[0]
            )

    def _end(self, is_last: bool) -> None:
        rng = self.rng
        outcome = rng.choice(OUTCOMES if is_last else ("failed", "preempted", *OUTCOMES))
        if _chance(rng, 0.3):
            category = rng.choice(CATEGORIES) if _chance(rng, 0.8) else None
            self._event(self.now, "failure", category=category)
        if _chance(rng, 0.15):
            return
        if _chance(rng, 0.1):
            self._event(self.now, "attempt_end", exit_code=rng.choice((0, 1, None)))
            return
        category = rng.choice(CATEGORIES) if _chance(rng, 0.2) else None
        self._event(self.now, "attempt_end", outcome=outcome, category=category)


# What happens to the telling


def _damaged(rng: random.Random, events: list[Fields]) -> list[Fields]:
    if _chance(rng, 0.3):
        return events
    kept = [event for event in events if not _chance(rng, 0.06)]
    added: list[Fields] = []
    for event in kept:
        if _chance(rng, 0.04):
            event["ts"] = _at(event) + rng.choice((-30, -5, -1, 1, 5, 30, 90)) * SECOND_US
        if _chance(rng, 0.03):
            event["ts"] = _at(event) + rng.choice((1, 500, 1000, 999_999))
        if event["event"] == "attempt_end" and _chance(rng, 0.15):
            added.append(_another_end(rng, event))
        if event["event"] == "phase_start" and _chance(rng, 0.02):
            event["end_ts"] = _at(event) + rng.choice((0, -1, -30, 1, 40)) * SECOND_US
        if _chance(rng, 0.05):
            added += _told_twice(rng, event)
    return kept + added


def _told_twice(rng: random.Random, event: Fields) -> list[Fields]:
    """Exactly, or by event_id, or by an event_id whose later telling says something else."""
    how = rng.choice(("exactly", "by id", "conflicting", "on another host"))
    if how == "exactly":
        return [dict(event)]
    if how == "on another host":
        return [event | {"host": "node-b"}]
    event["event_id"] = f"e{rng.randint(0, 10**9)}"
    if how == "by id":
        return [dict(event)]
    return [event | {"ts": _at(event) + rng.choice((-7, -1, 1, 7)) * SECOND_US, "host": "node-c"}]


def _another_end(rng: random.Random, event: Fields) -> Fields:
    away = rng.choice((0, 0, 1, 5, 60, -1, -60, -600, -3600)) * SECOND_US
    said = {name: value for name, value in event.items() if name != "event_id"}
    return said | _sigterm(rng) | {"ts": _at(event) + away, "outcome": rng.choice(OUTCOMES)}


def _sigterm(rng: random.Random) -> Fields:
    """With a category: the oracle knows no failure rules, which explain a signal."""
    return rng.choice(({}, {"signal": 15, "category": rng.choice(CATEGORIES)}))


# Chaos


def _chaotic_job(rng: random.Random, job_id: str, start: int) -> list[Fields]:
    """Any event at any of a few instants."""
    span = rng.choice((6, 12, 40))
    return [
        {"job_id": job_id} | _chaotic_event(rng, start, span) for _ in range(rng.randint(1, 40))
    ]


def _chaotic_event(rng: random.Random, start: int, span: int) -> Fields:
    at = start + 10 * rng.randint(0, span) * SECOND_US
    kind = rng.choice(("phase_start",) * 8 + ("phase_end",) * 7 + ("progress",) * 4 + _RARE)
    event: Fields = {"ts": at, "event": kind}
    if kind == "job":
        return event | {"team": rng.choice(TEAMS), "gpus": rng.choice((8, 0, 4))}
    event["attempt"] = rng.choice((1, 1, 2, 2, 3, 5))
    said: Fields = {}
    if kind in {"phase_start", "phase_end"}:
        said = _chaotic_phase(rng)
        if kind == "phase_start" and _chance(rng, 0.25):
            said["end_ts"] = at + 10 * rng.randint(-1, 6) * SECOND_US
        if kind == "phase_end" or "end_ts" in said:
            said["ok"] = rng.choice((None, True, True, False))
    elif kind == "progress":
        said = {"step": rng.choice((None, 1, 2, 3, 5, 8, 13))}
    elif kind == "attempt_end":
        said = {"outcome": rng.choice((*OUTCOMES, None)), "exit_code": rng.choice((None, 0, 1))}
        said |= _sigterm(rng)
    elif kind == "failure":
        said = {"category": rng.choice((*CATEGORIES, None))}
    elif kind == "alive":
        said = {"stage": "buffered" if _chance(rng, 0.1) else None}
    said["rank"] = rng.choice((None, None, 0, 1))
    if said.get("phase") != "queue":
        said |= _chaotic_context(rng)
    return event | _without_nulls(said)


_RARE = ("attempt_start", "attempt_end", "attempt_end", "alive", "failure", "job")


def _chaotic_phase(rng: random.Random) -> Fields:
    phase = rng.choice((*PHASES, "training", "training", "checkpoint_save", "checkpoint_upload"))
    said: Fields = {"phase": phase, "stage": rng.choice((None, None, None, "pre_train"))}
    if phase in {"checkpoint_save", "checkpoint_upload"}:
        said |= {"step": rng.choice((None, 1, 3, 5)), "mode": rng.choice((None, "sync", "async"))}
    return said


def _chaotic_context(rng: random.Random) -> Fields:
    """What any event of an attempt may say beside."""
    return {
        "resumed_from_step": rng.choice((0, 1, 3, 4, 9)) if _chance(rng, 0.08) else None,
        "allocation_id": rng.choice(("a", "b")) if _chance(rng, 0.1) else None,
        "gpus": rng.choice((0, 8, 16)) if _chance(rng, 0.06) else None,
        "team": rng.choice(TEAMS) if _chance(rng, 0.06) else None,
        "workload": rng.choice(WORKLOADS) if _chance(rng, 0.06) else None,
    }


# Writing it down


def _written(rng: random.Random, event: Fields) -> Fields:
    """The event as a line says it: a time in one of the ways a time may be written."""
    style = rng.choice(("zulu", "zulu", "zulu", "offset", "number"))
    times = {name: _time(_as_int(event[name]), style) for name in ("ts", "end_ts") if name in event}
    return event | times


def _time(at: int, style: str) -> object:
    if style == "number":
        whole, fraction = divmod(at, SECOND_US)
        return whole if fraction == 0 else json.loads(f"{whole}.{fraction:06d}")
    zone = timezone(timedelta(hours=9)) if style == "offset" else UTC
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return moment.astimezone(zone).isoformat().replace("+00:00", "Z")


def _microseconds(moment: str) -> int:
    since_epoch = datetime.fromisoformat(moment) - datetime(1970, 1, 1, tzinfo=UTC)
    return since_epoch // timedelta(microseconds=1)


def _at(event: Fields) -> int:
    return _as_int(event["ts"])


def _as_int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _without_nulls(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


def _chance(rng: random.Random, likelihood: float) -> bool:
    """The smallest draw says no, so that what is unlikely shrinks away."""
    return rng.randrange(100) >= 100 - round(likelihood * 100)
