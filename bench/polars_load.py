"""A yardstick: Polars reads a dump, DuckDB keeps it and rolls it up by team and day."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import polars as pl

from ingest import events, fields

_TEXTS = ("ts", "end_ts", "event", "phase", *fields.TEXTS, "mode", "cache", "outcome")
_FEW = {
    "event": [str(kind) for kind in events.EventKind],
    "phase": [str(phase) for phase in events.Phase],
    **{name: list(map(str, fields.CHOICES[name])) for name in ("mode", "cache", "outcome")},
}
_ROLL_UP = """
    create table by_team_day as
    with teams as (
        select job_id, any_value(team) as team from events where team is not null group by job_id
    )
    select
        teams.team, cast(ts as date) as day, count(*) as events,
        count(distinct job_id) as jobs, sum(epoch(end_ts - ts)) as seconds
    from events left join teams using (job_id)
    group by all
"""


def main(dump: Path, database: Path) -> None:
    """Read a JSON Lines dump with typed columns into a new file, and add `by_team_day`."""
    for path in (database, database.with_name(database.name + ".wal")):
        path.unlink(missing_ok=True)
    schema = {name: pl.String() for name in _TEXTS} | {
        name: pl.Int64() for name in fields.WHOLE_NUMBERS
    }
    told = (  # noqa: F841 - DuckDB finds it by its name
        pl.scan_ndjson(dump, schema={**schema, "ok": pl.Boolean()})
        .with_columns(
            *map(_instant, ("ts", "end_ts")),
            *(pl.col(name).cast(pl.Enum(values)) for name, values in _FEW.items()),
        )
        .collect(engine="streaming")
    )
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table events as from told")
        connection.execute(_ROLL_UP)


def _instant(name: str) -> pl.Expr:
    """RFC 3339, or seconds since 1970."""
    text = pl.col(name)
    seconds = (text.cast(pl.Float64, strict=False) * 1e6).cast(pl.Int64)
    return pl.coalesce(
        text.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False),
        seconds.cast(pl.Datetime("us", "UTC")),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
