"""What got worse, as tables of a published file: made anew where anything they depend on changed.

Of a regression that was there before, the evidence stays where nothing in its days changed.

Where the detector fails, the file says so: its view `regressions` cannot be read then, so that no
reader takes an empty list for a quiet fleet. Finds nothing itself.
"""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import asdict
from datetime import date
from functools import cache
from pathlib import Path

import duckdb
import polars as pl

from queries import frames, model
from queries.detection import sentences, series
from queries.regressions import SCHEMAS, Found, Settings, detect

_LAYER = "serving/regressions"
_FOLDER = Path(__file__).parent
_NONE_FOUND = _FOLDER / "no_regressions.sql"

# A fault of the detector on some data. A disk, a lost file or an interrupt is none.
_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
    duckdb.DataError,
    duckdb.InternalError,
    duckdb.NotSupportedError,
    duckdb.OutOfMemoryException,
    duckdb.ProgrammingError,
)

_SQL_TYPES = {
    pl.String: "varchar",
    pl.Date: "date",
    pl.Float64: "double",
    pl.Int64: "bigint",
    pl.Boolean: "boolean",
}

# Failures fall on GPU-seconds, as the rate of METRICS.md does; where the GPUs of no attempt are
# known up to that day, on seconds. A mixture would be neither, and would move with what is known.
_READ = """
create or replace temp view read_cells as
select *
from warehouse.series_cells_kept
where
    metric not like 'failures%'
    or size >= 0
    or not exists (
        select 1
        from warehouse.series_cells_kept
        where metric = 'failures' and size >= 0 and exposure > 0 and day <= date '{through}'
    )
"""

# logs and their squares are kept in millionths, seconds of shares and exposures in thousandths
_CELLS = """
select
    team,
    metric,
    day,
    workload,
    size,
    trial,
    model,
    rows,
    case when is_share or metric = 'failures' then exposure / 1e3 else exposure end as exposure,
    total / unit as total,
    squares / (unit * unit) as squares,
    coalesce(gpu_us, 0) / 1e6 as gpu_seconds
from (
    select
        *,
        metric in ('ett_ratio', 'unsaved_ratio', 'stalled_ratio') as is_share,
        case
            when metric like '%_seconds' then 1e6
            when is_share then 1e3
            else 1.0
        end as unit
    from read_cells
)
"""

# Of everything that the tables are made of, in any order; days after $1 are not looked at.
_INPUTS = """
select 'days' as part, sum(rows) as rows, sum(hash(day, mark)) as told
from warehouse.series_marks_kept where day <= $1
union all
select 'changes', count(*), sum(hash(told)) from changes as told
"""

# What each was told of: attempts of known GPUs, and such whose cost is known.
_WEIGHED = """
update found_regressions as found
set is_gpu_weighed = exists (
    select 1
    from read_cells as cells
    where
        cells.metric = found.metric
        and (cells.team = found.team or found.team = 'fleet')
        and cells.day between found.started_on and found.after_to
        and cells.size >= 0
)
"""
# Where no GPUs are known, or no source says what an end cost, a cost is not small but unknown:
# somebody should look, nobody is woken.
_UNCOSTED = """
update found_regressions as found
set
    lost_gpu_seconds_per_day = null,
    severity = case when verdict = 'mix' then severity else 'ticket' end
where not exists (
    select 1
    from read_cells as cells
    where
        cells.metric = found.metric
        and (cells.team = found.team or found.team = 'fleet')
        and cells.day between found.started_on and found.after_to
        and cells.gpu_us is not null
)
"""

# Sums by day have an attempt once on each of its days; over all of them it is one.
_COUNTED = """
update found_regressions as found
set
    attempts_before = counts.attempts_before,
    attempts_after = counts.attempts_after
from regression_counts as counts
where
    found.team = counts.team
    and found.metric = counts.metric
    and found.started_on = counts.started_on
"""

# Evidence that is read from the attempts of a regression's own days, and from nothing else.
_EVIDENCE = (
    "regression_causes",
    "regression_classes",
    "regression_counts",
    "regression_jobs",
    "regression_parts",
)
_MARKS = """
create or replace temp table found_marks as
select
    found.team,
    found.metric,
    found.started_on,
    found.before_from,
    found.after_to,
    coalesce(sum(marks.rows), 0) as rows,
    coalesce(sum(hash(marks.day, marks.mark)), 0) as mark
from found_regressions as found
left join warehouse.series_marks_kept as marks
    on marks.day between found.before_from and found.after_to
group by all
"""
_FRESH = """
create or replace temp table fresh_regressions as
select found.*
from found_regressions as found
semi join (from found_marks{known}) as fresh using (team, metric, started_on)
"""


def serve(connection: duckdb.DuckDBPyConnection, settings: Settings) -> str | None:
    """Add what got worse to the attached database `serving`, while `model.serve` may fill it.

    Reads the kept facts of the database `warehouse` and the temporary tables `calendar` and
    `calendar_pieces`. Leaves `serving` as the default, and temporary tables that go with the
    connection. Returns None, or why it is not known what got worse; a file that says so is whole in
    everything else.
    """
    connection.execute("use serving")
    [changes] = [each for each in model.models(_LAYER) if each.name == "changes"]
    connection.execute(f"create or replace table {changes.name} as {changes.sql}")
    try:
        _serve(connection, settings)
    except _FAULTS as error:
        reason = _reason(error)
        connection.execute("use serving")
        say_unknown(connection, reason)
        return reason
    finally:
        connection.execute("use serving")
    return None


def say_unknown(connection: duckdb.DuckDBPyConnection, reason: str) -> None:
    """Leave in `serving`, the default, a view `regressions` that fails with the reason.

    It has the columns that it always has. There is no evidence then.
    """
    _note(connection, None, reason)
    _forget(connection)
    columns = {name: _SQL_TYPES[kind] for name, kind in SCHEMAS["regressions"].items()}
    failing = [
        f"error(failed_because)::{kind} as {name}"
        for name, kind in {**columns, "sentence": "varchar"}.items()
    ]
    connection.execute(
        f"create view regressions as select {', '.join(failing)} "
        "from detector where error(failed_because) is null"
    )


def cells(connection: duckdb.DuckDBPyConnection, through: date) -> pl.DataFrame:
    """The sums of `series_cells` that are read on the day `through`, in the units of
    `series.COLUMNS`. Leaves them as the temporary view `read_cells`.
    """
    connection.execute(_READ.format(through=through))
    return frames.told(connection, _CELLS).cast(dict(series.COLUMNS))  # type: ignore[arg-type]


def _serve(connection: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    through = _last_complete_day(connection)
    inputs = _fingerprint(connection, settings, through)
    present = _present(connection)
    if "detector" in present and inputs == _made_of(connection):
        return
    found = detect(cells(connection, through), through, settings)
    if found.regressions.is_empty():
        _forget(connection)
        connection.execute(_NONE_FOUND.read_text(encoding="utf-8"))
    else:
        _tell(connection, found, is_changed="regression_marks" in present)
    _keep(connection, "found_quiet", found.quiet)
    [quiet] = [each for each in _models() if each.name == "quiet_series"]
    connection.execute(f"create table {quiet.name} as {quiet.sql}")
    _note(connection, inputs, None)


def _tell(connection: duckdb.DuckDBPyConnection, found: Found, *, is_changed: bool) -> None:
    """Make the tables of regressions. With `is_changed` evidence stays where it still holds."""
    for name in SCHEMAS.keys() - {"quiet"}:
        _keep(connection, f"found_{name}", getattr(found, name))
    connection.execute(_WEIGHED)
    connection.execute(_UNCOSTED)
    connection.execute(_MARKS)
    known = " except from regression_marks" if is_changed else ""
    connection.execute(_FRESH.format(known=known))
    _forget(connection, _EVIDENCE if is_changed else ())
    if is_changed:
        _strike_evidence(connection)
    is_fresh = connection.execute("select 1 from fresh_regressions limit 1").fetchone() is not None
    if is_fresh:
        _let_alerts_be_read(connection)
    [whole] = [each for each in _models() if each.name == "regressions"]
    for each in _models():
        if each.name in (whole.name, "quiet_series"):
            continue
        if each.name not in _EVIDENCE or not is_changed:
            connection.execute(f"create table {each.name} as {each.sql}")
        elif is_fresh:
            connection.execute(f"insert into {each.name} {each.sql}")
    connection.execute(_COUNTED)
    _keep(connection, "found_sentences", sentences.told(connection))
    connection.execute(f"create table {whole.name} as {whole.sql}")
    connection.execute("create or replace table regression_marks as from found_marks")


def _strike_evidence(connection: duckdb.DuckDBPyConnection) -> None:
    """Of regressions that are none any more, and of those of which it is told anew."""
    for name in _EVIDENCE:
        connection.execute(
            f"delete from {name} where (team, metric, started_on) not in "
            "(select (team, metric, started_on) from found_regressions) "
            "or (team, metric, started_on) in "
            "(select (team, metric, started_on) from fresh_regressions)"
        )


def _let_alerts_be_read(connection: duckdb.DuckDBPyConnection) -> None:
    """Single attempts of the days of fresh regressions: of all that they tell only what is asked
    for is read.
    """
    connection.execute(
        "create or replace temp table touched_days as "
        "select marks.day from warehouse.series_marks_kept as marks "
        "semi join fresh_regressions as fresh "
        # of single attempts only those during it are told of
        "on marks.day between fresh.started_on and fresh.after_to"
    )
    connection.execute("set search_path = 'serving,warehouse'")
    model.show(connection, "alerts")


def _fingerprint(connection: duckdb.DuckDBPyConnection, settings: Settings, through: date) -> str:
    """Equal where the tables would be: of what was told, of the settings, of this release."""
    told = connection.execute(_INPUTS, [through]).fetchall()
    parts = (through, sorted(asdict(settings).items()), sorted(told), _release())
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def _release() -> str:
    """Changes when the detector, its thresholds or its SQL do."""
    told = hashlib.sha256()
    for path in sorted(
        [
            _FOLDER / "regressions.py",
            _FOLDER / "regression_tables.py",
            _FOLDER / "model.py",
            _NONE_FOUND,
            *(_FOLDER / "detection").glob("*.py"),
            *(_FOLDER / "detection").glob("*.csv"),
            *(_FOLDER / "alerts").glob("*.sql"),
            *(_FOLDER / _LAYER).glob("*.sql"),
        ]
    ):
        told.update(path.name.encode() + path.read_bytes())
    return told.hexdigest()


def _made_of(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The fingerprint of the tables that the file has from the publication before, if it knew."""
    [(made_of,)] = connection.execute("select made_of from detector").fetchall()
    return None if made_of is None else str(made_of)


def _note(connection: duckdb.DuckDBPyConnection, made_of: str | None, reason: str | None) -> None:
    connection.execute(
        "create or replace table detector as "
        "select ?::varchar as made_of, ?::varchar as failed_because",
        [made_of, reason],
    )


def _reason(error: BaseException) -> str:
    """What failed and where, for whoever mends it; without the numbers of the fleet."""
    places = [
        f"{Path(frame.filename).relative_to(_FOLDER.parent)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_FOLDER)
    ]
    return (
        f"it is not known what got worse: the detector failed with {type(error).__name__} "
        f"at {places[-1]}"
    )


def _models() -> list[model.Model]:
    """Those of a regression; roll-outs are told whatever the detector does."""
    return [each for each in model.models(_LAYER) if each.name != "changes"]


def _forget(connection: duckdb.DuckDBPyConnection, kept: tuple[str, ...] = ()) -> None:
    present = _present(connection)
    names = [each.name for each in _models()] + ([] if kept else ["regression_marks"])
    for name in names:
        if name not in kept and (kind := present.get(name)):
            connection.execute(f"drop {kind} {name}")


def _present(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What is in the file, by name: `table` or `view`."""
    return dict(
        connection.execute(
            "select table_name, 'table' from duckdb_tables() where database_name = 'serving' "
            "union all "
            "select view_name, 'view' from duckdb_views() where database_name = 'serving'"
        ).fetchall()
    )


def _last_complete_day(connection: duckdb.DuckDBPyConnection) -> date:
    [days] = [each for each in model.models("serving") if each.name == "days"]
    [(day,)] = connection.execute(
        f"select max(day) from ({days.sql}) as days where is_complete"
    ).fetchall()
    return day or date.min


def _keep(connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    frames.lend(connection, "told", frame)
    connection.execute(f"create or replace temp table {name} as select * from told")
    connection.unregister("told")
