"""The joining of sources against its oracle, on random fleets of several sources: every attempt."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest

from ingest import facts, publish, warehouse
from ingest.settings import Settings
from tests.ingest.warehouses import VIEWS, contents, differences
from tests.oracle.joining import Dump, measure_dumps
from tests.oracle.sources import BASE_US, SAYS, SECOND_US, random_dumps
from tests.queries import telling
from tests.queries.agreement import disagreements
from tests.queries.engine import ingest, rows

HOUR_US = 3600 * SECOND_US
SEEN = (*VIEWS, "clock_offsets")


@pytest.fixture(autouse=True)
def told_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    telling.register(monkeypatch)


@dataclass(frozen=True, slots=True)
class InTurn:
    """The dumps of a fleet, and the warehouse that was told them one after another."""

    dumps: list[Dump]
    warehouse: Path


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> InTurn:
    folder = tmp_path_factory.mktemp("in-turn")
    dumps = fleet(range(2000, 2025))
    with pytest.MonkeyPatch.context() as patch:
        telling.register(patch)
        loaded(folder, "warehouse", dumps)
    return InTurn(dumps, folder / "warehouse")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "timezone", "most_copied", "at_once"),
    # the second is read where it stands, as many events are
    [(range(300), "UTC", 1_000_000, 8), (range(1000, 1300), "Asia/Kolkata", 0, 4)],
)
def test_engine_and_oracle_agree_on_random_fleets_of_several_sources(
    seeds: range,
    timezone: str,
    most_copied: int,
    at_once: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(facts, "_FEW_EVENTS", most_copied)
    config = tmp_path / "ett.toml"
    config.write_text(f'timezone = "{timezone}"\n', encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(config))
    dumps = fleet(seeds)
    loaded(tmp_path, "warehouse", dumps, at_once=at_once)
    joined = measure_dumps(dumps, timezone=timezone)

    assert len(joined.measures.attempts) > 2_000
    assert [] == disagreements(tmp_path / "warehouse", joined.measures)[:5]
    jobs = {job_id for job_id, _ in joined.measures.attempts}
    assert {one.job_id for one in joined.ambiguities} & jobs == {
        job_id
        for (job_id,) in rows(
            tmp_path / "warehouse", "select job_id from anomalies where kind = 'ambiguous_job'"
        )
    }


@pytest.mark.slow
def test_engine_and_oracle_agree_on_sources_that_come_one_by_one(in_turn: InTurn) -> None:
    assert [] == disagreements(in_turn.warehouse, measure_dumps(in_turn.dumps).measures)[:5]


@pytest.mark.slow
def test_engine_and_oracle_agree_on_clusters_that_tell_of_themselves(tmp_path: Path) -> None:
    """Of some fleets two clusters are told together. Each is small: how far its clusters got
    differs by hours.
    """
    parted = 0
    for number in range(8):
        dumps = of_clusters(fleet(range(5_000 + 6 * number, 5_006 + 6 * number)), number)
        loaded(tmp_path, f"warehouse-{number}", dumps, at_once=2 + number % 5)
        told = measure_dumps(dumps).measures
        of_one_clock = measure_dumps([*dumps, scheduler_dump([waiting(None, 0)])]).measures

        assert [] == disagreements(tmp_path / f"warehouse-{number}", told)[:5], number
        parted += told.attempts != of_one_clock.attempts

    assert parted > 3


@pytest.mark.slow
def test_sources_of_the_same_jobs_may_come_in_any_order_and_again(
    in_turn: InTurn, tmp_path: Path
) -> None:
    dumps = in_turn.dumps
    chance = random.Random(1)
    turned = [*chance.sample(dumps, len(dumps)), *chance.sample(dumps, 2)]
    loaded(tmp_path, "back", turned, at_once=3)

    assert {} == differences(in_turn.warehouse, tmp_path / "back")


@pytest.mark.slow
def test_a_full_rebuild_gives_what_the_increments_gave(in_turn: InTurn, tmp_path: Path) -> None:
    shutil.copytree(in_turn.warehouse, tmp_path / "warehouse", symlinks=True)
    in_pieces = contents(tmp_path / "warehouse", SEEN)
    with warehouse.opened(tmp_path / "warehouse", print, 5) as opened:
        opened.connection.execute("begin")
        facts.rebuild(opened, Settings())
        opened.connection.execute("commit")
        publish.publish(opened, Settings(), datetime(2026, 3, 1))

    assert in_pieces == contents(tmp_path / "warehouse", SEEN)


@pytest.mark.slow
def test_jobs_that_may_be_one_are_computed_in_one_part(
    in_turn: InTurn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "_EVENTS_A_GIB", 700)
    monkeypatch.setattr(facts, "_ATTEMPT_DAYS_A_GIB", 100)
    loaded(tmp_path, "parts", in_turn.dumps, at_once=4)

    assert {} == differences(in_turn.warehouse, tmp_path / "parts")


@pytest.mark.slow
def test_the_comparison_finds_a_microsecond(in_turn: InTurn) -> None:
    """The check can fail: an oracle that is told one event a microsecond later is found out."""
    moved = [replace(dump, events=later(dump.events)) for dump in in_turn.dumps]

    assert [] != disagreements(in_turn.warehouse, measure_dumps(moved).measures)


def fleet(seeds: Iterable[int]) -> list[Dump]:
    """The dumps of many seeds, put together to two for each source."""
    parts: dict[tuple[str, int], list[Dump]] = defaultdict(list)
    for seed in seeds:
        for number, dump in enumerate(random_dumps(seed, prefix=f"s{seed}-")):
            parts[dump.source, number % 2].append(dump)
    return [
        replace(dumps[0], events=tuple(event for dump in dumps for event in dump.events))
        for dumps in parts.values()
    ]


def of_clusters(dumps: Sequence[Dump], number: int) -> list[Dump]:
    """The scheduler's rows by the cluster that they name, as each cluster dumps its own; rows that
    name none are left out. Now and then one of these tells of two clusters.

    Each was dumped some hours after another, and then something may still have run. Trainers do not
    always speak: who has got the least far says what still runs.
    """
    parts: dict[str, list[dict[str, object]]] = defaultdict(list)
    for dump in dumps:
        for event in dump.events if dump.source == telling.SCHEDULER else ():
            if cluster := event.get("cluster"):
                parts["blue" if number % 4 == 0 and cluster == "green" else cluster].append(event)
    chance = random.Random(number)
    for cluster, events in parts.items():
        events += running(cluster, chance)
    others = [dump for dump in dumps if dump.source != telling.SCHEDULER and number % 2]
    return [*others, *map(scheduler_dump, parts.values())]


def running(cluster: str, chance: random.Random) -> Iterator[dict[str, object]]:
    """A job that was seen to run, and one that waited some hours later."""
    seen = BASE_US + chance.randrange(48, 148) * HOUR_US
    row = {"job_id": f"{cluster}:8", "row_key": "8", "row_state": "RUNNING", "cluster": cluster}
    row |= {"row_submitted_us": seen - HOUR_US}
    for event, at_us in (
        ("job", seen - HOUR_US),
        ("attempt_start", seen - HOUR_US),
        ("alive", seen),
    ):
        yield {**row, "event": event, "at_us": at_us}
    yield waiting(cluster, seen + chance.randrange(12) * HOUR_US)


def waiting(cluster: str | None, at_us: int) -> dict[str, object]:
    """A job that waits, on a cluster or on one that is not named."""
    row = {"job_id": "9", "row_key": "9", "row_state": "PENDING", "row_submitted_us": at_us}
    named = {} if cluster is None else {"job_id": f"{cluster}:9", "cluster": cluster}
    return {**row, **named, "at_us": at_us, "event": "job"}


def scheduler_dump(events: Iterable[dict[str, object]]) -> Dump:
    return Dump(telling.SCHEDULER, telling.SCHEDULER, SAYS[telling.SCHEDULER], tuple(events))


def loaded(folder: Path, name: str, dumps: Sequence[Dump], at_once: int = 1) -> None:
    """Ingest the dumps, so many in each command."""
    paths = written(folder, name, dumps)
    for first in range(0, len(paths), at_once):
        assert 0 == ingest(folder / name, *paths[first : first + at_once])


def written(folder: Path, name: str, dumps: Sequence[Dump]) -> list[Path]:
    return [
        telling.write_told(folder / f"{name}-{number}", dump.format, dump.events)
        for number, dump in enumerate(dumps)
    ]


def later(events: Iterable[dict[str, object]]) -> tuple[dict[str, object], ...]:
    return tuple(
        event | {"at_us": int(str(event["at_us"])) + 1}
        if event["event"] == "attempt_end"
        else event
        for event in events
    )
