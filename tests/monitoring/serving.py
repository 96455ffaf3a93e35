"""Small published warehouses for the exporter's tests: the views and macros that it reads.

Stands in for what an ingest publishes; the meaning of the numbers is tested where they are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, datetime
from pathlib import Path

import duckdb

LAST_DAY = date(2026, 3, 28)
PUBLISHED_AT = datetime(2026, 3, 29, 4, 12)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that started and ended on one day; the seconds of its areas are its wall time."""

    team: str = "ranking"
    day: date = LAST_DAY
    gpus: int = 8
    outcome: str = "completed"
    cause: str | None = None
    areas: Mapping[str, float] = field(default_factory=lambda: {"effective": 900.0})
    tts: float | None = None
    ttr: float | None = None
    saves: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Regression:
    """A row of `regressions`."""

    team: str = "ranking"
    metric: str = "trainer_init"
    started_on: date = date(2026, 3, 20)
    state: str = "open"
    severity: str = "ticket"
    verdict: str = "slower"
    change_ratio: float | None = 0.41
    lost_gpu_seconds_per_day: float | None = 7200.0
    detected_on: date = date(2026, 3, 23)
    closed_on: date | None = None
    was_open: bool = True


def publish(
    warehouse: Path,
    attempts: Sequence[Attempt] = (),
    *,
    sources: Mapping[str, int] | None = None,
    rejected: Mapping[tuple[str, str], int] | None = None,
    targets: Mapping[str, float] | None = None,
    regressions: Sequence[Regression] = (),
    last_complete_day: date | None = LAST_DAY,
    data_at: date = date(2026, 3, 29),
    spoil: str = "",
) -> Path:
    """Publish a new file, as an ingest does, and return its path. `spoil` is SQL run on it last."""
    warehouse.mkdir(parents=True, exist_ok=True)
    taken = [int(file.stem.partition("-")[2]) for file in warehouse.glob("serving-*.duckdb")]
    number = max(taken, default=0) + 1
    file = warehouse / f"serving-{number}.duckdb"
    unfinished = warehouse / "unfinished.duckdb"
    with duckdb.connect(str(unfinished)) as connection:
        connection.execute(_TABLES)
        for table, rows in _rows(attempts).items():
            _insert(connection, table, rows)
        _insert(connection, "publication", [(PUBLISHED_AT, number, 3, last_complete_day, "UTC")])
        named = {"events": 1000} if sources is None else sources
        _insert(connection, "sources", [(name, data_at, n, 2 * n) for name, n in named.items()])
        _insert(connection, "rejected_by_source", [(*k, n) for k, n in (rejected or {}).items()])
        wanted = {"fleet": 0.9} if targets is None else targets
        _insert(connection, "targets", list(wanted.items()))
        _insert(connection, "regressions", [astuple(found) for found in regressions])
        connection.execute(_VIEWS)
        if spoil:
            connection.execute(spoil)
    unfinished.rename(file)
    name_current(warehouse, file.name)
    return file


def name_current(warehouse: Path, name: str) -> None:
    """Replace CURRENT at once, as a publish does."""
    (warehouse / "CURRENT.new").write_text(f"{name}\n", encoding="utf-8")
    (warehouse / "CURRENT.new").replace(warehouse / "CURRENT")


def _rows(attempts: Iterable[Attempt]) -> dict[str, list[tuple[object, ...]]]:
    rows: dict[str, list[tuple[object, ...]]] = {"ends": [], "charged": [], "saves": []}
    for attempt in attempts:
        domain, _, category = (attempt.cause or "").partition("/")
        for team in (attempt.team, "fleet"):
            rows["ends"].append(
                (team, attempt.day, attempt.outcome, domain, category, attempt.tts, attempt.ttr)
            )
            for area, seconds in attempt.areas.items():
                rows["charged"].append((team, attempt.day, area, seconds, seconds * attempt.gpus))
            rows["saves"].extend((team, attempt.day, seconds) for seconds in attempt.saves)
    return rows


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]
) -> None:
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        unnested = ", ".join("unnest(?)" for _ in columns)
        connection.execute(f"insert into {table} select {unnested}", columns)


_TABLES = """
create table ends (
    team varchar, day date, outcome varchar, failure_domain varchar, failure_category varchar,
    tts double, ttr double
);
create table charged (
    team varchar, day date, area varchar, seconds double, gpu_seconds double
);
create table saves (team varchar, day date, seconds double);
create table publication (
    published_at timestamp, sequence integer, schema_version integer, last_complete_day date,
    time_zone varchar
);
create table sources (source varchar, data_at timestamp, events bigint, told bigint);
create table rejected_by_source (source varchar, reason varchar, lines bigint);
create table targets (team varchar, ett_ratio double);
create table regressions (
    team varchar, metric varchar, started_on date, state varchar, severity varchar,
    verdict varchar, change_ratio double, lost_gpu_seconds_per_day double, detected_on date,
    closed_on date, was_open boolean
);
create table regression_symptoms (
    team varchar, metric varchar, started_on date, symptom_team varchar, symptom_metric varchar
);
"""

_VIEWS = """
create view team_day as
select
    team, 'all' as workload, day, sum(gpu_seconds) as gpu_seconds,
    sum(case when area = 'uninstrumented' then gpu_seconds else 0 end) as uninstrumented_gpu_seconds
from charged
group by all;

create view days as
select
    unnest(generate_series(min(day)::timestamp, max(day)::timestamp, interval 1 day))::date as day,
    true as is_complete
from charged;

create macro window_areas(team_, workload_, first_, last_) as table
select area, false as is_recovery, sum(seconds) as seconds, sum(gpu_seconds) as gpu_seconds
from charged
where team = team_ and day between first_ and last_
group by area;

create macro window_interruptions(team_, workload_, first_, last_) as table
select
    failure_domain, failure_category, 'infra' as attribution,
    count(*) as interruptions, 0.0 as lost_gpu_seconds
from ends
where
    team = team_ and day between first_ and last_
    and outcome in ('failed', 'preempted', 'timeout', 'lost')
group by all;

create macro window_of(team_, workload_, first_, last_) as table
with
seconds as (
    select
        sum(gpu_seconds) as gpu_seconds,
        sum(case when area = 'effective' then gpu_seconds else 0 end) as effective_gpu_seconds,
        sum(case when area = 'unsaved' then gpu_seconds else 0 end) as unsaved_gpu_seconds,
        sum(case when area = 'uninstrumented' then gpu_seconds else 0 end)
            as uninstrumented_gpu_seconds
    from charged
    where team = team_ and day between first_ and last_
),
counts as (
    select
        count(*) as attempts_ended,
        count(*) filter (where outcome = 'completed') as completed,
        count(*) filter (where outcome = 'failed') as failed,
        count(*) filter (where outcome in ('failed', 'timeout', 'lost')) as infra_failures,
        count(*) filter (where outcome = 'preempted') as preempted,
        count(*) filter (where outcome = 'cancelled') as cancelled,
        count(*) filter (where outcome = 'timeout') as timeout,
        count(*) filter (where outcome = 'lost') as lost,
        quantile_disc(tts, 0.5) as tts_p50_seconds,
        quantile_disc(tts, 0.9) as tts_p90_seconds,
        quantile_disc(ttr, 0.5) as ttr_p50_seconds,
        quantile_disc(ttr, 0.9) as ttr_p90_seconds
    from ends
    where team = team_ and day between first_ and last_
),
saved as (
    select
        quantile_disc(seconds, 0.5) as checkpoint_save_p50_seconds,
        quantile_disc(seconds, 0.9) as checkpoint_save_p90_seconds
    from saves
    where team = team_ and day between first_ and last_
)
select
    team_ as team, workload_ as workload, first_ as first_day, last_ as last_day,
    seconds.*, counts.*, saved.*,
    effective_gpu_seconds / nullif(gpu_seconds - uninstrumented_gpu_seconds, 0) as ett_gpu_ratio,
    1 - uninstrumented_gpu_seconds / nullif(gpu_seconds, 0) as instrumented_ratio,
    preempted / nullif(attempts_ended, 0) as preemption_ratio
from seconds cross join counts cross join saved;
"""
