"""Random fleets of jobs that a scheduler and several trainers' sources tell together, in dumps.

What is told is a life that is then damaged as histories are: pieces missing, clocks apart, names
and numbers given twice, launches without a number. Times lie on a small grid, so that ties are
frequent. Never judges.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.joining import Dump

SECOND_US = 1_000_000
BASE_US = 1_772_323_200 * SECOND_US  # 2026-03-01T00:00:00Z
SCHEDULER, TRAINER, LIBRARY = "told-scheduler", "told-trainer", "told-library"
LAUNCHER = "told-launcher"
SAYS = {
    SCHEDULER: (False, False, False),
    TRAINER: (True, True, True),
    LIBRARY: (True, False, False),
    LAUNCHER: (False, True, True),
}
ENDS = {
    "COMPLETED": ("completed", None),
    "FAILED": ("failed", None),
    "CANCELLED": ("cancelled", None),
    "PREEMPTED": ("preempted", "scheduler/preempted"),
    "REQUEUED": ("failed", "scheduler/requeued"),
    "NODE_FAIL": ("failed", "scheduler/node_fail"),
    "TIMEOUT": ("timeout", "scheduler/time_limit"),
    "OUT_OF_MEMORY": ("failed", "host/host_oom"),
}
AGAIN = ("PREEMPTED", "REQUEUED", "NODE_FAIL")
CATEGORIES = ("gpu_hardware/nvlink_error", "host/host_oom", "user_code/gpu_oom")
SHORT = (0, 1, 2, 5, 10, 30)
OFFSETS = (0, 0, 0, 0, 1, -1, 3, -3, 60, -60, 150, -150, 4000)

Fields = dict[str, Any]


@dataclass(slots=True)
class _Fleet:
    rng: random.Random
    prefix: str
    events: dict[str, list[Fields]] = field(
        default_factory=lambda: {SCHEDULER: [], TRAINER: [], LIBRARY: [], LAUNCHER: []}
    )
    keys: int = 0

    def chance(self, likelihood: float) -> bool:
        return self.rng.random() < likelihood


def random_dumps(seed: int, prefix: str = "") -> list[Dump]:
    """One to three stories of jobs, cut into dumps; the same for the same arguments."""
    fleet = _Fleet(random.Random(seed), prefix)
    for number in range(fleet.rng.randint(1, 3)):
        _tell_story(fleet, number)
    return list(_dumps(fleet))


def _dumps(fleet: _Fleet) -> Iterator[Dump]:
    """Each source's events in one or two dumps; some events in both."""
    rng = fleet.rng
    for source, events in fleet.events.items():
        rng.shuffle(events)
        for event in events:
            event["host"] = source  # no two sources say the very same
        if not events:
            continue
        if fleet.chance(0.5):
            yield Dump(source, source, SAYS[source], tuple(events))
            continue
        first = [event for event in events if fleet.chance(0.6)]
        second = [event for event in events if event not in first or fleet.chance(0.2)]
        for part in (first, second):
            if part:
                yield Dump(source, source, SAYS[source], tuple(part))


# A story: some scheduler's jobs, the launches in their allocations, and who speaks of them


@dataclass(slots=True)
class _Held:
    """One allocation as it was: when, under which job, and which restart of it."""

    number: str
    cluster: str | None
    begin: int
    end: int
    restart: int


def _tell_story(fleet: _Fleet, number: int) -> None:
    rng = fleet.rng
    now = BASE_US + rng.choice((0, 0, 600, 80_000)) * SECOND_US
    cluster = rng.choice((None, "red", "red", "blue"))
    trainer_name = f"{fleet.prefix}run-{number}"
    held: list[_Held] = []
    for job in range(rng.choice((0, 1, 1, 1, 1, 2, 3))):
        digits = f"{fleet.prefix.strip('s-') or '0'}{rng.choice((number, number, 7))}{job}"
        clusters = [cluster]
        if fleet.chance(0.15):
            clusters.append(rng.choice((None, "blue", "green")))
        for one in dict.fromkeys(clusters):
            for _ in range(2 if fleet.chance(0.15) else 1):  # a number given out again
                begun, ended = _tell_rows(fleet, digits, one, now)
                held += begun
                if fleet.chance(0.9):
                    now = ended + rng.choice((0, 1, 60, 3_000, 90_000)) * SECOND_US
        if fleet.chance(0.1):  # a sibling of a federation, which did not get the job
            sibling = rng.choice((None, "red", "green"))
            _say_row(fleet, digits, sibling, now, "REVOKED", None, None, None)
    if not held or fleet.chance(0.1):
        start = now
        for restart in range(rng.randint(1, 2)):
            end = start + rng.choice((60, 200, 600)) * SECOND_US
            held.append(_Held("", cluster, start, end, restart))
            start = end + rng.choice((0, 10, 200)) * SECOND_US
    names = _names(fleet, trainer_name)
    sources = rng.choice(
        ((TRAINER,), (TRAINER,), (LIBRARY,), (TRAINER, LIBRARY), (LAUNCHER, TRAINER))
    )
    for source in sources:
        if fleet.chance(0.95):
            _tell_trainer(fleet, source, rng.choice(names), held)


def _names(fleet: _Fleet, trainer_name: str) -> list[str]:
    """The names under which trainers run; `@` stands for the scheduler's number."""
    rng = fleet.rng
    return rng.choice(
        (
            [trainer_name],
            [trainer_name],
            [trainer_name, f"{trainer_name}-b"],
            ["@"],
            ["@"],
            [trainer_name, "@"],
            [f"{fleet.prefix}shared"],
        )
    )


def _key_of(number: str, cluster: str | None) -> str:
    return f"{cluster}:{number}" if cluster else number


def _tell_rows(
    fleet: _Fleet, number: str, cluster: str | None, now: int
) -> tuple[list[_Held], int]:
    """The rows of one job of the scheduler; some never run, some resize, some are told twice."""
    rng = fleet.rng
    held: list[_Held] = []
    tries = rng.choice((1, 1, 2, 2, 3))
    gpus = rng.choice((8, 8, 16, 0, None))
    counts_restarts = fleet.chance(0.5)
    restart = 0
    for index in range(tries):
        submitted = now
        is_last = index == tries - 1
        restarts = index if counts_restarts else None
        if fleet.chance(0.08):
            state = "CANCELLED" if is_last else "REQUEUED"
            _say_row(fleet, number, cluster, submitted, state, None, None, gpus, restarts)
            now += 30 * SECOND_US
            continue
        begin = now + rng.choice((0, 1, 10, 120)) * SECOND_US
        end = begin + rng.choice((10, 60, 200, 600, 1000)) * SECOND_US
        again = (*AGAIN, "FAILED") if counts_restarts else AGAIN  # requeued when it had ended
        state = rng.choice((*ENDS, "RUNNING") if is_last else again)
        resized = fleet.chance(0.08)
        is_known = not fleet.chance(0.08)
        if is_known and resized:
            middle = begin + (end - begin) // 2
            _say_row(fleet, number, cluster, submitted, "RESIZING", begin, middle, 32, restarts)
            submitted += SECOND_US
        if is_known:
            start = begin + (end - begin) // 2 if resized and fleet.chance(0.5) else begin
            _say_row(fleet, number, cluster, submitted, state, start, end, gpus, restarts)
        held.append(_Held(number, cluster, begin, end, restart))
        restart += 1
        now = end + rng.choice((0, 1, 10, 120)) * SECOND_US
    return held, now


def _say_row(
    fleet: _Fleet,
    number: str,
    cluster: str | None,
    submitted: int,
    state: str,
    begin: int | None,
    end: int | None,
    gpus: int | None,
    restarts: int | None = None,
) -> None:
    of_row: Fields = {
        "job_id": _key_of(number, cluster),
        "row_key": str(submitted // SECOND_US),
        "row_submitted_us": submitted,
        "row_state": state,
    }
    if cluster:
        of_row["cluster"] = cluster
    rng = fleet.rng
    told = fleet.events[SCHEDULER]
    queue_end = begin if begin is not None else end
    queue: Fields = {"at_us": submitted, "event": "phase_start", "phase": "queue"}
    if queue_end is not None:
        queue["end_us"] = max(submitted, queue_end)
    job: Fields = {"at_us": submitted, "event": "job", "team": "vision"}
    if restarts is not None:
        job["attrs"] = json.dumps({"Restarts": str(restarts)})
    told.append(of_row | job)
    told.append(of_row | queue)
    if begin is None or end is None:
        return
    start: Fields = {"at_us": begin, "event": "attempt_start"}
    if gpus is not None:
        start["gpus"] = gpus
    told.append(of_row | start)
    suspended: Fields = {}
    if end > begin and fleet.chance(0.2):
        seconds = rng.randint(1, (end - begin) // SECOND_US)
        suspended = {"suspended_us": rng.choice((1, seconds)) * SECOND_US}
    if state in {"RUNNING", "RESIZING"}:
        told.append(of_row | {"at_us": end, "event": "alive"} | suspended)
        return
    if fleet.chance(0.15):  # an earlier dump saw it run
        seen = begin + (end - begin) // 2
        running: Fields = {"at_us": seen, "event": "alive", "row_state": "RUNNING"}
        if fleet.chance(0.5):  # and had a column that later ones have not
            running["team"] = "search"
        if suspended and fleet.chance(0.5):
            running["suspended_us"] = rng.choice((1, 5)) * SECOND_US
        told.append(of_row | running)
    outcome, category = ENDS[state]
    ended: Fields = {"at_us": end, "event": "attempt_end", "outcome": outcome}
    if category:
        ended["category"] = category
    told.append(of_row | ended | suspended)


# What one source of a trainer says


def _tell_trainer(fleet: _Fleet, source: str, name: str, held: list[_Held]) -> None:
    rng = fleet.rng
    offset = rng.choice(OFFSETS) * SECOND_US
    says_job = fleet.chance(0.75)
    says_cluster = fleet.chance(0.4)
    says_restart = fleet.chance(0.4)
    how = rng.choice(("run", "run", "run", "attempt", "loose"))
    has_generations = fleet.chance(0.5)
    step = 0
    for number, one in enumerate(held):
        if fleet.chance(0.12):
            continue
        of_run: Fields = {"job_id": name}
        if name == "@":
            of_run["job_id"] = _key_of(one.number or "lone", one.cluster if says_cluster else None)
        if one.number and (says_job or (name == "@" and fleet.chance(0.6))):
            of_run["scheduler_job"] = one.number
            if says_cluster and one.cluster:
                of_run["cluster"] = one.cluster
        if says_restart and one.number:
            of_run["run_restart"] = one.restart if fleet.chance(0.9) else rng.randint(0, 2)
        step = _tell_launches(
            fleet, source, of_run, one, offset, how, number, has_generations, step
        )


def _tell_launches(
    fleet: _Fleet,
    source: str,
    of_run: Fields,
    one: _Held,
    offset: int,
    how: str,
    number: int,
    has_generations: bool,
    step: int,
) -> int:
    """One or two launches in an allocation, each of one to three generations."""
    rng = fleet.rng
    launches = rng.choice((1, 1, 1, 2))
    length = (one.end - one.begin) // launches
    for index in range(launches):
        begin = one.begin + index * length + offset
        until = begin + length - rng.choice((0, 1, 5, -5)) * SECOND_US
        begin += rng.choice((0, 2, 5)) * SECOND_US
        fleet.keys += 1
        of_launch = dict(of_run)
        if how == "run":
            of_launch["run_key"] = f"k{fleet.keys}"
        elif how == "attempt":
            of_launch["attempt"] = 1 + rng.choice((number, number, one.restart))
        generations = rng.choice((1, 2, 3)) if has_generations else 1
        piece = max(1, until - begin) // generations
        if how == "run" and generations == 1 and fleet.chance(0.2):
            begin = _tell_ranks(fleet, source, of_run, begin)
        for generation in range(generations):
            of_generation = dict(of_launch)
            if has_generations and fleet.chance(0.95):
                of_generation["run_generation"] = generation
            start = begin + generation * piece
            step = _tell_life(
                fleet,
                source,
                of_generation,
                start,
                start + piece,
                step,
                is_last=generation == generations - 1,
            )
        if how == "run" and generations > 1 and fleet.chance(0.5):
            # the agent of another node died with its generation, and a fresh one took its place
            fleet.keys += 1
            fresh = of_run | {"run_key": f"k{fleet.keys}", "run_generation": 0}
            start = begin + piece + rng.choice((-5, 0, 1, 5)) * SECOND_US
            _tell_life(fleet, source, fresh, start, begin + 2 * piece, step, is_last=True)
    return step


def _tell_ranks(fleet: _Fleet, source: str, of_run: Fields, begin: int) -> int:
    """Ranks that die early, each with a file of its own, once or several times."""
    rng = fleet.rng
    for _ in range(rng.choice((1, 1, 2, 3))):
        for rank in rng.sample(range(3), rng.choice((2, 3, 3))):
            fleet.keys += 1
            of_rank: Fields = of_run | {"run_key": f"k{fleet.keys}", "rank": rank}
            told: list[Fields] = [{"at_us": begin, "event": "attempt_start"}]
            if fleet.chance(0.3):
                until = begin + rng.choice(SHORT) * SECOND_US
                phase = rng.choice(("trainer_init", "trainer_init", "training"))
                told.append({"at_us": begin, "event": "phase_start", "phase": phase})
                told.append({"at_us": until, "event": "failure"})
            fleet.events[source] += [event | of_rank for event in told]
            begin += rng.choice((0, 1, 2, 5, 30)) * SECOND_US
        begin += rng.choice((5, 60, 121)) * SECOND_US
    return begin


def _tell_life(
    fleet: _Fleet, source: str, of: Fields, begin: int, until: int, step: int, *, is_last: bool
) -> int:
    """One generation, told with gaps; a rotated piece of it has lost what it belongs to."""
    rng = fleet.rng
    told: list[Fields] = []
    now = begin

    def say(at: int, event: str, **more: object) -> None:
        told.append({"at_us": at, "event": event, **more} | of)

    if fleet.chance(0.3):
        say(now - rng.choice((0, 10)) * SECOND_US, "phase_start", phase="queue")
    if fleet.chance(0.5):
        say(now, "attempt_start")
    if fleet.chance(0.3):
        say(now, "job", team=rng.choice(("ranking", "ads")), workload="production")
    if fleet.chance(0.2):
        say(now, "alive", gpus=rng.choice((4, 8)))
    if fleet.chance(0.03):
        say(until, "alive", stage="buffered")
    init = now + rng.choice(SHORT) * SECOND_US
    say(now, "phase_start", phase="trainer_init", end_us=init)
    if step and fleet.chance(0.5):
        say(init, "alive", resumed_from_step=max(0, step - rng.randint(0, 10)))
    now = min(init, until)
    say(now, "phase_start", phase="training")
    while now < until - 20 * SECOND_US and len(told) < 14:
        now += rng.choice((5, 10, 30, 100)) * SECOND_US
        step += rng.choice((1, 5))
        if fleet.chance(0.5):
            say(now, "progress", step=step)
        else:
            save = now + rng.choice((1, 2, 10)) * SECOND_US
            known = {"step": step} if fleet.chance(0.6) else {}
            say(now, "phase_start", phase="checkpoint_save", end_us=save, **known)
    if fleet.chance(0.5):
        say(until, "phase_end", phase="training")
    if fleet.chance(0.4):
        category = {"category": rng.choice(CATEGORIES)} if fleet.chance(0.5) else {}
        say(until - rng.choice((0, 1)) * SECOND_US, "failure", **category)
    if fleet.chance(0.6 if is_last else 0.2):
        say(until + rng.choice((0, 1)) * SECOND_US, "attempt_end", **_end(rng))
    if source == LAUNCHER and fleet.chance(0.7):  # it does not hear what its workers do
        told = [event for event in told if event["at_us"] <= begin]
    fleet.events[source] += [_rotated(fleet, event) for event in told if not fleet.chance(0.08)]
    return step


def _end(rng: random.Random) -> Fields:
    """With a category where there is evidence: the oracle knows no failure rules."""
    outcome = rng.choice(("failed", "completed", "failed", "cancelled", "preempted"))
    evidence: Fields = {}
    if outcome == "failed" and rng.random() < 0.3:
        evidence = {"signal": rng.choice((9, 15))}
    elif outcome == "cancelled" and rng.random() < 0.5:
        evidence = {
            "message": f"*** {rng.choice(('JOB 7', 'STEP 7.0'))} ON n1 CANCELLED AT 10:00 ***"
        }
    elif outcome == "completed" and rng.random() < 0.5:
        return {"outcome": outcome, "message": "no target was stated: it closed"}
    category = {"category": rng.choice(CATEGORIES)} if evidence else {}
    return {"outcome": outcome, **evidence, **category}


def _rotated(fleet: _Fleet, event: Fields) -> Fields:
    if fleet.chance(0.08):
        lost = {"run_key", "run_restart", "attempt"}
        if fleet.chance(0.5):
            lost |= {"run_generation", "scheduler_job"}
        return {name: value for name, value in event.items() if name not in lost}
    return event
