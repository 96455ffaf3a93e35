"""The joining of sources told again in plain Python (rulings R23 to R31), to hold the SQL to it.

It reads what collectors yield, as dicts, dump by dump; nothing of ingest or queries. What an
attempt then did is measured by `tests.oracle.measures`. It is written to be read, never to be fast.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from tests.oracle.clocks import Clocks, clocks_of, newest_time
from tests.oracle.measures import (
    SECOND_US,
    SIX_HOURS_US,
    Allotment,
    AttemptMeasures,
    Event,
    Measures,
    course_of,
    distinct,
    lives_of,
    measure_lives,
    newest,
    team_days,
    uninstrumented,
    was_buffered,
)

FOREVER = 1 << 62
BESIDE_US = 120 * SECOND_US
BY_COUNT_US = 3600 * SECOND_US
# who and what a row is of
WORDS = ("team", "user", "workload", "model", "cluster", "gpus", "gpu_type", "priority", "name")
GOES_ON = {"REQUEUED", "SPECIAL_EXIT", "PREEMPTED", "NODE_FAIL", "RESIZING"}
BEFORE_WORKERS = ("queue", "scheduling", "hardware_setup", "launcher_init")
LIVE = {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUE_HOLD"}

OUTCOMES = (None, "completed", "failed", "preempted", "cancelled", "timeout")

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dump:
    """One dump as its collector yields it. `says`: training, saves, resumes."""

    source: str
    format: str
    says: tuple[bool, bool, bool]
    events: Sequence[Fields]


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A job that could not be joined, or a name that holds nothing together."""

    job_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The measures, and what could not be joined."""

    measures: Measures
    ambiguities: frozenset[Ambiguity]


def measure_dumps(
    dumps: Sequence[Dump], *, stale_after_us: int = SIX_HOURS_US, timezone: str = "UTC"
) -> Joined:
    """All measures of what the dumps tell together."""
    told = [
        Told(dump, fields, clock)
        for dump, clock in [(dump, newest_time(dump)) for dump in dumps]
        for fields in dump.events
    ]
    clocks = clocks_of(dumps)
    says = {dump.source: dump.says for dump in dumps}
    zone = ZoneInfo(timezone)
    fleet = Fleet(told)
    attempts: dict[tuple[str, int], AttemptMeasures] = {}
    for job_id, (events, allotments) in fleet.jobs().items():
        for measured in measure_joined(
            job_id, events, allotments, clocks, says, stale_after_us, zone
        ):
            attempts[measured.job_id, measured.attempt] = measured
    measures = Measures(None, attempts, team_days(attempts.values(), zone))
    return Joined(measures, frozenset(fleet.ambiguities()))


@dataclass(frozen=True, slots=True)
class Told:
    """One event of one dump, which reaches to `clock`."""

    dump: Dump
    fields: Fields
    clock: int

    @property
    def last(self) -> int:
        return last_time(self.fields)


def last_time(fields: Fields) -> int:
    last: int = max(fields["at_us"], fields.get("end_us", 0))
    return last


# The scheduler's rows, chains and allocations


@dataclass(slots=True)
class Row:
    """One row of accounting, from the newest telling of each thing it says."""

    key: str
    state: str
    submitted: int
    told: list[Told]
    started: int | None
    is_restarted: bool

    @property
    def is_resizing(self) -> bool:
        return self.state == "RESIZING"


@dataclass(slots=True, eq=False)
class Allocation:
    """Rows that held one piece of hardware: the one that started, and those it was resized to."""

    allocation_id: str
    count: int
    rows: list[Row]
    begin: int
    end: int | None
    seen: int
    until: int = FOREVER
    hold: int = 0


@dataclass(slots=True, eq=False)
class Chain:
    """One job of the scheduler: a number, or the life of a number that was given out again."""

    job_key: str
    place: int
    job_id: str
    allocations: list[Allocation] = field(default_factory=list)
    waiting: list[tuple[int, Row]] = field(default_factory=list)  # before the try of that count
    begin: int = 0
    until: int = 0


def chains_of(job_key: str, told: Iterable[Told]) -> list[Chain]:
    """A job's rows in order, broken where one ended in no requeue and the next counts none."""
    rows = sorted(
        rows_of(told),
        key=lambda row: (
            row.submitted if row.started is None else row.started,
            row.submitted,
            row.started is None,
            row.key,
        ),
    )
    chains: list[Chain] = []
    for before, row in pairwise([None, *rows]):
        assert row is not None
        if before is None or not (before.state in GOES_ON or row.is_restarted):
            place = len(chains) + 1
            job_id = job_key if place == 1 else f"{job_key}@{row.submitted // SECOND_US}"
            chains.append(Chain(job_key, place, job_id))
        add_row(chains[-1], row, is_resized=before is not None and before.is_resizing)
    for chain in chains:
        settle(chain)
    for chain, later in pairwise(chains):
        chain.until = min(chain.until, later.begin)
    return chains


def was_revoked(chain: Chain) -> bool:
    """Whether another cluster took it, so that it never runs on its own."""
    held = [row for allocation in chain.allocations for row in allocation.rows]
    return {row.state for row in [*held, *(row for _, row in chain.waiting)]} == {"REVOKED"}


def rows_of(told: Iterable[Told]) -> list[Row]:
    by_key: dict[str, list[Told]] = defaultdict(list)
    for one in told:
        by_key[one.fields["row_key"]].append(one)
    return [row_of(key, tellings) for key, tellings in by_key.items()]


def row_of(key: str, told: list[Told]) -> Row:
    believed = max(
        told,
        key=lambda one: (
            one.fields["row_state"] not in LIVE,
            one.clock,
            one.fields["row_state"],
            one.fields["row_submitted_us"],
        ),
    )
    uncut = uncut_start(told)
    slots: dict[object, Told] = {}
    for one in sorted(
        told,
        key=lambda one: (
            one.fields["event"] == "attempt_end" or (uncut is not None and begins(one) == uncut),
            one.clock,
            one.fields["at_us"],
            one.fields.get("end_us", -1),
            one.fields.get("gpus", -1),
            OUTCOMES.index(one.fields.get("outcome")),
            one.fields.get("category", ""),
            one.fields.get("suspended_us", 0),
        ),
    ):
        kind = one.fields["event"]
        slot = "end" if kind in {"attempt_end", "alive"} else (kind, one.fields.get("phase"))
        if kind in {"phase_start", "phase_end"}:
            slot = ("phase", one.fields["phase"])
        # what it leaves out, the one before it says
        before = slots[slot].fields if slot in slots else {}
        older = {name: before[name] for name in WORDS if name in before}
        slots[slot] = replace(one, fields={**older, **one.fields})
    start = slots.get(("attempt_start", None))
    return Row(
        key,
        believed.fields["row_state"],
        believed.fields["row_submitted_us"],
        list(slots.values()),
        None if start is None else start.fields["at_us"],
        any(restarts_in(one.fields) > 0 for one in told),
    )


def restarts_in(fields: Fields) -> int:
    """How often the job was requeued before this row, as the row itself counts."""
    said = json.loads(fields.get("attrs", "{}"))
    return int(said.get("Restarts", 0)) if fields["event"] == "job" else 0


def begins(one: Told) -> int | None:
    """When the row started, as its start says, or the end of its queue."""
    if one.fields["event"] == "attempt_start":
        start: int = one.fields["at_us"]
        return start
    return one.fields.get("end_us") if one.fields.get("phase") == "queue" else None


def uncut_start(told: Iterable[Told]) -> int | None:
    """R33: the start that stands before the newest dump's, which was cut to its window."""
    newest: dict[tuple[object, ...], Told] = {}
    for one in told:  # what several dumps say alike, the newest of them says
        same = tuple(sorted((name, str(value)) for name, value in one.fields.items()))
        if same not in newest or newest[same].clock < one.clock:
            newest[same] = one
    reach: dict[int, int] = {}
    clocks: dict[int, int] = {}
    lives: dict[int, list[int]] = defaultdict(list)
    for one in newest.values():
        if one.fields["event"] in {"alive", "attempt_end"}:
            is_over = one.fields["event"] == "attempt_end"
            lives[id(one.dump)].append(FOREVER if is_over else one.fields["at_us"])
    for one in newest.values():
        if one.fields["event"] == "attempt_start":
            at = one.fields["at_us"]
            reach[at] = max(reach.get(at, 0), *lives[id(one.dump)] or [FOREVER])
            clocks[at] = max(clocks.get(at, 0), one.clock)
    if len(reach) < 2:
        return None
    believed = max(clocks, key=lambda at: (clocks[at], at))
    first, reached = believed, 0
    for at in sorted(at for at in reach if at <= believed):
        if at - SECOND_US > reached:
            first = at
        reached = max(reached, reach[at])
    return first if first < believed else None


def add_row(chain: Chain, row: Row, is_resized: bool) -> None:
    if row.started is None:
        chain.waiting.append((len(chain.allocations) + 1, row))
        return
    if is_resized and chain.allocations:
        chain.allocations[-1].rows.append(row)
        return
    count = len(chain.allocations) + 1
    chain.allocations.append(Allocation("", count, [row], row.started, None, row.started))


def settle(chain: Chain) -> None:
    """When each allocation began, ended, and was last seen."""
    for allocation in chain.allocations:
        started = [row for row in allocation.rows if row.started is not None]
        allocation.begin = min(row.started for row in started if row.started is not None)
        allocation.allocation_id = f"{chain.job_key}/{min(row.key for row in started)}"
        told = [(row, one.fields) for row in allocation.rows for one in row.told]
        ends = [
            fields["at_us"]
            for row, fields in told
            if fields["event"] == "attempt_end" and not row.is_resizing
        ]
        allocation.end = max([allocation.begin, *ends]) if ends else None
        allocation.seen = max(
            fields["at_us"]
            for _, fields in told
            if fields["event"] in {"attempt_start", "attempt_end", "alive"}
        )
    for one, later in pairwise([*chain.allocations, None]):
        assert one is not None
        if one.end is not None:
            one.until = one.end
        elif later is not None:
            one.until = max(one.begin, later.begin)
    for one, next_begun in pairwise([*sorted(chain.allocations, key=lambda a: a.begin), None]):
        assert one is not None
        if next_begun is not None:
            one.seen = min(one.seen, next_begun.begin)
        one.seen = max(one.seen, one.begin)
    hold = 0
    for allocation in chain.allocations:
        hold = max(hold, allocation.begin)
        allocation.hold = hold
    if chain.allocations:
        chain.begin = min(allocation.begin for allocation in chain.allocations)
        chain.until = max(allocation.until for allocation in chain.allocations)
    else:
        chain.begin = chain.until = min(row.submitted for _, row in chain.waiting)


# Trainers' names and launches


@dataclass(slots=True, eq=False)
class Launch:
    """One life of a trainer. A name without any is one nameless launch of all its events."""

    name: str
    key: str
    events: list[Told]
    is_named: bool
    span: tuple[int, int]
    scheduler_job: str | None = None
    cluster: str | None = None
    meanings: tuple[str, ...] = ()
    is_own_number: bool = False
    chain: Chain | None = None
    allocation: Allocation | None = None

    @property
    def is_alive(self) -> bool:
        return any(is_life(one) for one in self.events)

    @property
    def is_launcher(self) -> bool:
        """Whether it is told by sources that do not hear what its workers do."""
        return self.is_named and all(
            not one.dump.says[0] or (one.dump.format == "events" and not is_of_workers(one))
            for one in self.events
        )

    @property
    def is_silent(self) -> bool:
        """Whether a launcher does not say that what it began last is over."""
        ends = [one.fields["at_us"] for one in self.events if one.fields["event"] == "attempt_end"]
        begins = [one.fields["at_us"] for one in self.events if is_begin(one) or is_work(one)]
        return self.is_launcher and (not ends or max(ends) < max(begins, default=0))

    @property
    def first_rank(self) -> int | None:
        """The lowest of its processes that say that they began; none where the dump numbers it."""
        ranks = [
            one.fields["rank"]
            for one in self.events
            if one.fields["event"] == "attempt_start" and "rank" in one.fields
        ]
        is_numbered = any("attempt" in one.fields for one in self.events)
        return min(ranks, default=None) if self.is_named and not is_numbered else None

    @property
    def has_trained(self) -> bool:
        return any(
            one.fields["event"] == "progress" or one.fields.get("phase") == "training"
            for one in self.events
        )

    @property
    def restart(self) -> int | None:
        told = [one.fields["run_restart"] for one in self.events if "run_restart" in one.fields]
        return max(told, default=None)


@dataclass(slots=True, eq=False)
class Name:
    """A job as trainers name it."""

    job_key: str
    launches: list[Launch]
    loose: list[Told]
    is_bond: bool = False
    is_shared: bool = False

    def of_job(self, stated: str | None) -> list[Launch]:
        """The launches under one of the scheduler's jobs, or all, in the order of their begins."""
        mine = [launch for launch in self.launches if stated and launch.scheduler_job == stated]
        return sorted(mine or self.launches, key=lambda launch: (launch.span[0], launch.key))

    @property
    def chains(self) -> list[Chain]:
        found = {id(launch.chain): launch.chain for launch in self.launches if launch.chain}
        return list(found.values())


def is_life(one: Told) -> bool:
    return one.fields["event"] != "job" and one.fields.get("phase") != "queue"


def is_begin(one: Told) -> bool:
    return bool(one.fields["event"] == "attempt_start")


def is_work(one: Told) -> bool:
    """What only workers can say."""
    return one.fields["event"] == "phase_start" and one.fields["phase"] not in BEFORE_WORKERS


def is_of_workers(one: Told) -> bool:
    """What no launcher tells, if it tells native events."""
    phase = one.fields.get("phase")
    return one.fields["event"] == "progress" or (phase is not None and phase not in BEFORE_WORKERS)


def launch_key(one: Told) -> str | None:
    if "attempt" in one.fields:
        return f"attempt {one.fields['attempt']}"
    if "run_key" in one.fields:
        return f"run {one.dump.format} {one.fields['run_key']}"
    return None


def name_of(job_key: str, told: Sequence[Told]) -> Name:
    keyed: dict[str, list[Told]] = defaultdict(list)
    stated_of: dict[int, set[str]] = defaultdict(set)
    for one in told:
        if "attempt" in one.fields:
            stated_of[one.fields["attempt"]].update(stated_by([one]))
    for one in told:
        if (key := launch_key(one)) is not None:
            if len(stated_of[one.fields.get("attempt", 0)]) > 1:
                key = f"{key} of {one.fields.get('scheduler_job', '')}"
            keyed[key].append(one)
    launches = [
        Launch(job_key, key, events, True, span_of(events))
        for key, events in keyed.items()
        if any(is_life(one) for one in events)
    ]
    named = {id(one) for launch in launches for one in launch.events}
    loose = [one for one in told if id(one) not in named]
    clusters: dict[str, str | None] = {}
    for one in told:
        if (stated := one.fields.get("scheduler_job")) is not None:
            known = [c for c in (clusters.get(stated), one.fields.get("cluster")) if c is not None]
            clusters[stated] = max(known, default=None)
    only = next(iter(clusters)) if len(clusters) == 1 else None
    for launch in launches:
        launch.scheduler_job = max(stated_by(launch.events), default=only)
    launches += nameless(job_key, launches, loose, only)
    for launch in launches:
        if launch.scheduler_job is not None:
            launch.cluster = clusters[launch.scheduler_job]
    return Name(job_key, launches, loose)


def stated_by(events: Iterable[Told]) -> list[str]:
    return [one.fields["scheduler_job"] for one in events if "scheduler_job" in one.fields]


def nameless(
    job_key: str, named: Sequence[Launch], loose: Sequence[Told], only: str | None
) -> list[Launch]:
    """What is said outside of launches, under each job of the scheduler that none speaks of."""
    under: dict[str | None, list[Told]] = defaultdict(list)
    for one in loose:
        under[one.fields.get("scheduler_job", only)].append(one)
    spoken_for = {launch.scheduler_job for launch in named}
    left = {
        stated: events
        for stated, events in under.items()
        if stated not in spoken_for and (stated is not None or not named)
    }
    if len(left) > 1:
        left.pop(None, None)
    return [
        Launch(job_key, f"nameless {stated or ''}", events, False, span_of(events), stated)
        for stated, events in left.items()
    ]


def span_of(events: Sequence[Told]) -> tuple[int, int]:
    spoken = [one for one in events if is_life(one)] or events
    return min(one.fields["at_us"] for one in spoken), max(one.last for one in spoken)


def overlap(launch: Launch, begin: int, until: int) -> int:
    """How long two times overlap; below zero: how far apart they are."""
    first, last = launch.span
    return min(last, until) - max(first, begin)


# The whole


class Fleet:
    """All jobs of some dumps: who is one with whom, and which attempt each event belongs to."""

    def __init__(self, told: Sequence[Told]) -> None:
        rows: dict[str, list[Told]] = defaultdict(list)
        spoken: dict[str, list[Told]] = defaultdict(list)
        for one in told:
            (rows if "row_key" in one.fields else spoken)[one.fields["job_id"]].append(one)
        self.chains = {key: chains_of(key, of_job) for key, of_job in rows.items()}
        spoken = {key: once(of_name) for key, of_name in spoken.items()}
        joined = self._to_be_joined(spoken)
        self.plain = {key: of_name for key, of_name in spoken.items() if key not in joined}
        self.scheduled = {key: chains for key, chains in self.chains.items() if key in joined}
        self.names = [name_of(key, spoken[key]) for key in sorted(spoken) if key in joined]
        for name in self.names:
            for launch in name.launches:
                self._link(launch)
            self._judge(name)
        self.of_chain, self.of_name = self._call()
        self.names_of: dict[str, list[Name]] = defaultdict(list)
        for name in self.names:
            for job_id in {self.job_of(name, launch) for launch in name.launches}:
                self.names_of[job_id].append(name)

    def _to_be_joined(self, spoken: Mapping[str, Sequence[Told]]) -> set[str]:
        """Jobs that leave an attempt open, and those a trainer may mean."""
        joined = {
            key
            for key, told in spoken.items()
            if any(
                {"run_key", "run_generation", "scheduler_job"} & one.fields.keys()
                or ("attempt" not in one.fields and one.fields["event"] != "job")
                for one in told
            )
        }
        for key, told in spoken.items():
            for stated, cluster in {
                (one.fields["scheduler_job"], one.fields.get("cluster"))
                for one in told
                if "scheduler_job" in one.fields
            }:
                for scheduled in self.chains:
                    if scheduled != key and may_mean(stated, cluster, scheduled):
                        joined |= {key, scheduled}
            for scheduled in self.chains if key.isdecimal() else ():
                if scheduled != key and may_mean(key, None, scheduled):
                    joined |= {key, scheduled}
        return joined

    def _link(self, launch: Launch) -> None:
        """R23, R24: the scheduler's job that a launch states, and the chain of its time."""
        stated, cluster = launch.scheduler_job, launch.cluster
        if stated is None:
            meant = [launch.name] if launch.name in self.scheduled else self._called(launch)
            launch.is_own_number = bool(meant) and launch.name not in self.scheduled
        else:
            meant = [
                key
                for key, chains in self.scheduled.items()
                if may_mean(stated, cluster, key) and not all(map(was_revoked, chains))
            ]
            if launch.name in meant:
                meant = [launch.name]
            elif exact := [key for key in meant if split(key)[0] == cluster]:
                meant = exact
        launch.meanings = tuple(sorted(meant))
        if len(meant) == 1:
            launch.chain = max(
                self.scheduled[meant[0]],
                key=lambda chain: (overlap(launch, chain.begin, chain.until), chain.place),
            )

    def _called(self, launch: Launch) -> list[str]:
        """The scheduler's jobs of the number that a launch is called by, which ran beside it."""
        return [
            key
            for key, chains in self.scheduled.items()
            if launch.name.isdecimal()
            and may_mean(launch.name, None, key)
            and any(
                overlap(launch, chain.begin, chain.until) >= 0 and not was_revoked(chain)
                for chain in chains
            )
        ]

    def _judge(self, name: Name) -> None:
        """R25: whether a name holds together what it touches."""
        numbers = {launch.scheduler_job for launch in name.launches if launch.scheduler_job}
        is_number = (
            name.job_key in self.scheduled
            or any(launch.is_own_number for launch in name.launches)
            or any(
                name.job_key == number or name.job_key.endswith(f":{number}") for number in numbers
            )
        )
        held = [
            (allocation.begin, allocation.seen, chain)
            for chain in name.chains
            for allocation in chain.allocations
        ]
        ran_at_once = any(
            begin < other_seen and other_begin < seen
            for begin, seen, chain in held
            for other_begin, other_seen, other in held
            if chain is not other
        )
        name.is_shared = ran_at_once and not is_number
        name.is_bond = bool(name.chains) and not is_number and not ran_at_once

    def _call(self) -> tuple[dict[int, str], dict[str, str]]:
        """R25: what every chain and every name is called once it is joined."""
        of_chain = {
            id(chain): chain.job_id for chains in self.scheduled.values() for chain in chains
        }
        of_name = {name.job_key: name.job_key for name in self.names}
        left = [name for name in self.names if name.is_bond]
        while left:
            group = [left.pop()]
            while near := [name for name in left if is_near(name, group)]:
                group += near
                left = [name for name in left if name not in near]
            held = {id(chain): chain for name in group for chain in name.chains}
            if len(held) == 1:
                called = next(iter(held.values())).job_id
            else:
                called = min(name.job_key for name in group)
            of_chain |= dict.fromkeys(held, called)
            of_name |= {name.job_key: called for name in group}
        # a name that is a number goes with the first job that had it
        for name in self.names:
            if not name.is_bond and name.job_key in self.scheduled:
                of_name[name.job_key] = of_chain[id(self.scheduled[name.job_key][0])]
        return of_chain, of_name

    def job_of(self, name: Name, launch: Launch) -> str:
        if launch.chain is not None and not name.is_bond:
            return self.of_chain[id(launch.chain)]
        return self.of_name[name.job_key]

    def ambiguities(self) -> Iterable[Ambiguity]:
        for name in self.names:
            for launch in name.launches:
                if len(launch.meanings) > 1:
                    yield Ambiguity(self.job_of(name, launch), "clusters")
                if name.is_shared:
                    yield Ambiguity(self.job_of(name, launch), "at once")

    def jobs(self) -> dict[str, tuple[list[Event], dict[int, Allotment]]]:
        """Every job's events with their attempts, and what is known of those beside."""
        found: dict[str, tuple[list[Event], dict[int, Allotment]]] = {}
        for key in self.plain.keys() | (self.chains.keys() - self.scheduled.keys()):
            for chain_id, events in self._as_numbered(key).items():
                found[chain_id] = (events, {})
        job_ids = {*self.of_chain.values(), *self.of_name.values()}
        for job_id in job_ids:
            found[job_id] = Job(self, job_id).told()
        return found

    def _as_numbered(self, key: str) -> dict[str, list[Event]]:
        """A job that no trainer leaves open: the dump's own numbers, and the scheduler's tries."""
        events: dict[str, list[Event]] = defaultdict(list)
        for one in self.plain.get(key, ()):
            events[key].append(event_of(one, one.fields.get("attempt", 1), teller="", launch=None))
        for chain in self.chains.get(key, ()):
            for allocation in chain.allocations:
                for row in allocation.rows:
                    events[chain.job_id] += [of_row(row, one, allocation.count) for one in row.told]
            for count, row in chain.waiting:
                events[chain.job_id] += [of_row(row, one, count) for one in row.told]
        return events


def is_near(name: Name, group: Iterable[Name]) -> bool:
    """Whether a name touches a job of the scheduler that one of the group touches."""
    chains = {id(chain) for member in group for chain in member.chains}
    return any(id(chain) in chains for chain in name.chains)


def may_mean(stated: str, cluster: str | None, job_key: str) -> bool:
    known_cluster, number = split(job_key)
    return number == stated and (
        cluster is None or known_cluster is None or cluster == known_cluster
    )


def split(job_key: str) -> tuple[str | None, str]:
    cluster, _, number = job_key.rpartition(":")
    return cluster or None, number


def once(told: Sequence[Told]) -> list[Told]:
    """Events that say the same are one; of one event_id the latest telling stays (R21)."""
    by_text = {repr(sorted(one.fields.items())): one for one in told}
    events = {text: event_of(one, 0, teller="", launch=None) for text, one in by_text.items()}
    of_event = {id(event): by_text[text] for text, event in events.items()}
    return [of_event[id(event)] for event in distinct(events.values())]


# One joined job


@dataclass(slots=True, eq=False)
class Stretch:
    """A launch as one or more sources tell it, or an allocation of which no launch is known."""

    launches: list[Launch]
    allocation: Allocation | None
    chain: Chain | None
    begin: int
    events: list[Told] = field(default_factory=list)
    generations: dict[int, int | None] = field(default_factory=dict)

    @property
    def hold(self) -> int:
        return self.begin if self.allocation is None else self.allocation.hold

    @property
    def name(self) -> str:
        return min((f"{one.name} {one.key}" for one in self.launches), default="")

    @property
    def order(self) -> tuple[object, ...]:
        if self.allocation is None or self.chain is None:
            return (self.hold, 1, "", 0, 0, self.begin, self.name)
        place = (self.chain.job_key, self.chain.place, self.allocation.count)
        return (self.hold, 0, *place, self.begin, self.name)


@dataclass(slots=True, eq=False)
class Piece:
    """One attempt of a joined job."""

    stretch: Stretch
    number: int | None
    begin: int
    is_generation: bool
    attempt: int = 0


class Job:
    """One joined job: its stretches, their pieces, and whose each event is."""

    def __init__(self, fleet: Fleet, job_id: str) -> None:
        self.fleet = fleet
        self.job_id = job_id
        self.chains = [
            chain
            for chains in fleet.scheduled.values()
            for chain in chains
            if fleet.of_chain[id(chain)] == job_id
        ]
        self.launches = [
            launch
            for name in fleet.names_of[job_id]
            for launch in name.launches
            if fleet.job_of(name, launch) == job_id
        ]
        for launch in self.launches:
            self._place(launch)
        self.stretches = sorted(self._stretches(), key=lambda stretch: stretch.order)
        self.of_queue: list[Told] = []
        self._deal_out()
        for stretch in self.stretches:
            stretch.generations = generations_of(stretch.events)
        self.pieces = [piece for stretch in self.stretches for piece in pieces_of(stretch)]
        self._number()

    def _allocations(self) -> list[tuple[Chain, Allocation]]:
        return [(chain, allocation) for chain in self.chains for allocation in chain.allocations]

    def _place(self, launch: Launch) -> None:
        """R26: the allocation that a launch ran in."""
        launch.allocation = None
        if not launch.is_alive or (launch.chain is None and launch.scheduler_job is not None):
            return
        fits = []
        for chain, allocation in self._allocations():
            if launch.chain is not None and chain is not launch.chain:
                continue
            shared = overlap(launch, allocation.begin, allocation.until)
            first = launch.span[0]
            away = max(allocation.begin - first, first - allocation.until, 0)
            is_counted = launch.restart is not None and launch.restart + 1 == allocation.count
            if is_counted and (shared >= 0 or away <= BESIDE_US):
                fit = 1
            elif shared >= 0:
                fit = 2
            elif is_counted and shared >= -BY_COUNT_US:
                fit = 3
            elif away <= BESIDE_US:
                fit = 4
            else:
                continue
            fits.append((-fit, shared, allocation.begin, allocation.allocation_id, allocation))
        if fits:
            launch.allocation = max(fits, key=lambda one: one[:4])[4]

    def _stretches(self) -> list[Stretch]:
        alive = [launch for launch in self.launches if launch.is_alive]
        named = [launch for launch in alive if launch.is_named]
        counted = named if named or self._allocations() else alive
        stretches = []
        for chain, allocation in self._allocations():
            inside = islands([one for one in counted if one.allocation is allocation])
            if not inside:
                stretches.append(Stretch([], allocation, chain, allocation.begin))
            for index, launches in enumerate(inside):
                begin = min(launch.span[0] for launch in launches)
                if index == 0:
                    begin = min(begin, allocation.begin)
                stretches.append(Stretch(launches, allocation, chain, begin))
        for launches in islands([one for one in counted if one.allocation is None]):
            begin = min(launch.span[0] for launch in launches)
            stretches.append(Stretch(launches, None, None, begin))
        return stretches

    def _deal_out(self) -> None:
        """R27: events of launches to their stretches, loose ones by their time."""
        of_launch = {id(one): stretch for stretch in self.stretches for one in stretch.launches}
        by_begin = sorted(self.stretches, key=lambda stretch: (stretch.begin, stretch.order))
        begins = [stretch.begin for stretch in by_begin]
        for name in self.fleet.names_of[self.job_id]:
            for launch in name.launches:
                if launch.is_named and id(launch) in of_launch:
                    of_launch[id(launch)].events += launch.events
            for one in name.loose:
                at = one.fields["at_us"]
                ordered = name.of_job(one.fields.get("scheduler_job"))
                before = [launch for launch in ordered if launch.span[0] <= at]
                launch = before[-1] if before else ordered[0]
                if self.fleet.job_of(name, launch) != self.job_id:
                    continue
                if not by_begin:
                    self.of_queue.append(one)
                elif one.fields.get("phase") == "queue":
                    later = [s for s in by_begin if s.begin >= at]
                    (later[0] if later else by_begin[-1]).events.append(one)
                else:
                    by_begin[max(bisect_right(begins, at) - 1, 0)].events.append(one)

    def _number(self) -> None:
        """In the order of time; a number that a dump gives is never fallen short of."""
        attempt = 0
        for piece in self.pieces:
            attempt += 1
            if piece.number is not None and not piece.is_generation:
                attempt = max(attempt, piece.number)
            piece.attempt = attempt

    @property
    def last_attempt(self) -> int:
        return self.pieces[-1].attempt if self.pieces else 0

    def told(self) -> tuple[list[Event], dict[int, Allotment]]:
        events = []
        for stretch in self.stretches:
            pieces = [piece for piece in self.pieces if piece.stretch is stretch]
            for one in stretch.events:
                events.append(placed_event(one, piece_of(one, pieces).attempt))
        events += [placed_event(one, 1) for one in self.of_queue]
        is_told = bool(events)
        for chain in self.chains:
            for allocation in chain.allocations:
                events += self._of_allocation(allocation)
            for count, row in chain.waiting:
                events += [of_row(row, one, self._next_of(chain, count)) for one in row.told]
        return events, self._allotments(is_told)

    def _next_of(self, chain: Chain, count: int) -> int:
        for allocation in chain.allocations:
            if allocation.count == count:
                return self._pieces_in(allocation)[0].attempt
        return self.last_attempt + 1

    def _pieces_in(self, allocation: Allocation) -> list[Piece]:
        return [piece for piece in self.pieces if piece.stretch.allocation is allocation]

    def _of_allocation(self, allocation: Allocation) -> Iterable[Event]:
        pieces = self._pieces_in(allocation)
        for row in allocation.rows:
            for one in row.told:
                attempt = pieces[0].attempt
                kind = one.fields["event"]
                if kind == "alive" or (kind == "attempt_end" and row.is_resizing):
                    begun = [p.attempt for p in pieces if p.begin <= one.fields["at_us"]]
                    attempt = max(begun, default=attempt)
                elif kind == "attempt_end":
                    attempt = pieces[-1].attempt
                yield of_row(row, one, attempt)

    def _allotments(self, is_told: bool) -> dict[int, Allotment]:
        found = {}
        for piece, later in pairwise([*self.pieces, None]):
            assert piece is not None
            allocation = piece.stretch.allocation
            inside = [p for p in self.pieces if p.stretch is piece.stretch]
            allotment = Allotment(
                is_joined=True,
                is_continued=piece.is_generation
                and later is not None
                and later.stretch is piece.stretch,
            )
            if allocation is not None:
                allotment = replace(
                    allotment,
                    begin=allocation.begin if piece is self._pieces_in(allocation)[0] else None,
                    end=allocation.end,
                    allocation_id=allocation.allocation_id if is_told else None,
                    gpus=gpus_given(allocation),
                )
            elif piece.is_generation and len(inside) > 1:
                name = min(launch.name for launch in piece.stretch.launches)
                begun = piece.stretch.begin // SECOND_US
                allotment = replace(allotment, allocation_id=f"{name}/{begun}")
            found[piece.attempt] = allotment
        return found


def islands(launches: Iterable[Launch]) -> list[list[Launch]]:
    """R26: launches that overlap are one; those that only touch are not, but for equal starts, but
    for one that begins where a launcher fell silent, and but for ranks that do not come to train.
    """
    found: list[list[Launch]] = []
    before: list[Launch] = []
    series: list[int] = []  # the ranks that began one soon after another
    for launch in sorted(launches, key=lambda one: (*one.span, one.name, one.key)):
        first, rank = launch.span[0], launch.first_rank
        reach = max((one.span[1] for one in before), default=0)
        last = [one for one in before if one.span[1] == reach]
        is_met = bool(before) and (
            first < reach
            or first == before[-1].span[0]
            or (
                any(one.is_silent for one in last)
                and not launch.is_launcher
                and first - reach <= BY_COUNT_US
            )
        )
        is_near = (
            rank is not None
            and any(one.first_rank is not None for one in last)
            and not any(one.has_trained for one in last)
            and first - reach <= BESIDE_US
        )
        if not is_met and not is_near:
            series = []
        most = max((series.count(other) for other in series), default=0)
        if is_met or (is_near and series.count(rank) < most):
            found[-1].append(launch)
        else:
            found.append([launch])
        before.append(launch)
        if rank is not None:
            series.append(rank)
    return found


def pieces_of(stretch: Stretch) -> list[Piece]:
    """R28: the generations of a stretch, else the attempts that a dump numbers, else the whole."""
    alive = [one for one in stretch.events if is_life(one)]
    for is_generation in (True, False):
        begins: dict[int, int] = {}
        for one in alive:
            number = number_in(stretch, one, is_generation)
            if number is not None:
                at = one.fields["at_us"]
                begins[number] = min(begins.get(number, at), at)
        if begins:
            return [
                Piece(stretch, number, begin, is_generation)
                for number, begin in sorted(begins.items())
            ]
    return [Piece(stretch, None, stretch.begin, False)]


def number_in(stretch: Stretch, one: Told, is_generation: bool) -> int | None:
    attempt: int | None = one.fields.get("attempt")
    return stretch.generations.get(id(one)) if is_generation else attempt


def generations_of(events: Sequence[Told]) -> dict[int, int | None]:
    """R28, by the identity of an event: who takes the place of another goes on from its count."""
    found: dict[int, int | None] = {}
    of_teller: dict[tuple[str, str], list[Told]] = defaultdict(list)
    for one in events:
        if "run_generation" in one.fields and "attempt" not in one.fields:
            found[id(one)] = one.fields["run_generation"]
            of_teller[one.fields["job_id"], one.dump.source].append(one)
    for told in of_teller.values():
        begins: dict[int, int] = {}
        for one in filter(is_life, told):
            number, at = one.fields["run_generation"], one.fields["at_us"]
            begins[number] = min(begins.get(number, at), at)
        for key in {launch_key(one) for one in told} - {None}:
            launch = [one for one in told if launch_key(one) == key]
            first = min(one.fields["run_generation"] for one in launch)
            if (joined := joined_at(launch, first)) is None:
                continue
            running = max((n for n, at in begins.items() if at <= joined), default=first)
            for one in launch if running > first else ():
                is_of_it = one.fields["at_us"] >= begins[running]
                ahead = one.fields["run_generation"] + running - first
                found[id(one)] = ahead if is_of_it else None
    return found


def joined_at(launch: Sequence[Told], generation: int) -> int | None:
    """When the workers of a launch first ran, if it tells how it began."""
    told = [one.fields for one in launch if one.fields["run_generation"] == generation]
    begins = [one["at_us"] for one in told if one["event"] == "attempt_start"]
    works = [
        one["at_us"]
        for one in told
        if one["event"] == "phase_start" and one["phase"] not in BEFORE_WORKERS
    ]
    return min(works or begins) if begins else None


def piece_of(one: Told, pieces: Sequence[Piece]) -> Piece:
    number = number_in(pieces[0].stretch, one, pieces[0].is_generation)
    for piece in pieces:
        if piece.number is not None and piece.number == number:
            return piece
    ordered = sorted(pieces, key=lambda piece: (piece.begin, piece.number or 0))
    begun = [piece for piece in ordered if piece.begin <= one.fields["at_us"]]
    return begun[-1] if begun else ordered[0]


def gpus_given(allocation: Allocation) -> int | None:
    """What the scheduler gave: the newest word of its rows that were not resized afterwards."""
    said = [
        (one.fields["at_us"], one.fields["gpus"])
        for row in allocation.rows
        for one in row.told
        if one.fields["event"] == "attempt_start" and "gpus" in one.fields and not row.is_resizing
    ]
    return max(said)[1] if said else None


# Events as `measures` knows them


def placed_event(one: Told, attempt: int) -> Event:
    teller = f"{one.fields['job_id']} {one.dump.source}"
    return event_of(one, attempt, teller, launch_key(one))


def of_row(row: Row, one: Told, attempt: int) -> Event:
    event = event_of(one, attempt, teller="", launch=None)
    event = replace(event, is_scheduler=True)
    if row.is_resizing:
        kind = "alive" if event.kind == "attempt_end" else event.kind
        event = replace(event, kind=kind, gpus=None)
    return event


def event_of(one: Told, attempt: int, teller: str, launch: str | None) -> Event:
    said = one.fields
    kind = said["event"]
    return Event(
        text=repr(sorted(said.items())),
        at=said["at_us"],
        end=said.get("end_us") if kind == "phase_start" else None,
        kind=kind,
        job_id=said.get("job_id"),
        attempt=attempt,
        event_id=said.get("event_id"),
        rank=said.get("rank"),
        allocation_id=said.get("allocation_id"),
        phase=said.get("phase"),
        stage=said.get("stage"),
        step=said.get("step"),
        mode=said.get("mode"),
        ok=said.get("ok"),
        resumed_from_step=said.get("resumed_from_step"),
        outcome=said.get("outcome"),
        exit_code=said.get("exit_code"),
        signal=said.get("signal"),
        message=said.get("message"),
        category=said.get("category"),
        team=said.get("team"),
        workload=said.get("workload"),
        gpus=said.get("gpus"),
        cluster=said.get("cluster"),
        source=one.dump.source,
        teller=teller,
        launch=launch,
        suspended=said.get("suspended_us", 0),
    )


# Measured


def measure_joined(
    job_id: str,
    events: list[Event],
    allotments: Mapping[int, Allotment],
    clocks: Clocks,
    says: Mapping[str, tuple[bool, bool, bool]],
    stale_after_us: int,
    zone: ZoneInfo,
) -> list[AttemptMeasures]:
    clocked = {}
    for number in {event.attempt for event in events}:
        spoke = [
            clocks.of(event.source, cluster_of(events, event.source))
            for event in events
            if event.attempt == number and event.is_of_an_attempt and not event.is_queue
        ]
        if spoke:
            clocked[number] = replace(allotments.get(number, Allotment()), clock=min(spoke))
    lives = lives_of(events, 0, stale_after_us, clocked)
    measured = measure_lives(job_id, events, lives, zone)
    able = [says[event.source] for event in events]
    is_interrupted = any(life.is_interruption for life in lives)
    has_trained = any(span.phase == "training" for life in lives for span in course_of(life).spans)
    says_training = has_trained or any(training for training, _, _ in able)
    says_restores = not is_interrupted or any(saves or resumes for _, saves, resumes in able)
    if says_training and says_restores and not was_buffered(events):
        return measured
    return [uninstrumented(one) for one in measured]


def cluster_of(events: Iterable[Event], source: str) -> str | None:
    """The one that a source itself names, whatever others say of the job."""
    return newest((event for event in events if event.source == source), lambda one: one.cluster)
