"""The selects of Regressions, over the tables that the detector publishes. Finds nothing itself.

A warehouse from before has a view `regressions` with fewer columns and none of the other tables.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import polars as pl

from app import data

ANY: Final = "any"
STATES: Final = ("open", "incident", "held_back", "closed")
_TABLES: Final = """
select count(distinct table_name) as tables
from duckdb_columns()
where
    not internal
    and (
        table_name = 'quiet_series'
        or table_name = 'regression_points'
        or (table_name = 'regressions' and column_name = 'sentence')
    )
"""
# a warehouse from before has no such table
_DETECTOR: Final = "select failed_because from detector"
# any warehouse has these columns
OPEN: Final = "select count(*) as open from regressions where state = 'open'"

# $1: team. Of a series that cannot be judged it is not known what it would have shown; one that
# fell silent may have been judged before, which an older release does not tell.
_JUDGED: Final = """
select count(columns('^(smallest_change_ratio|judged_from)$'))
from quiet_series
where $1 = 'fleet' or team = $1
"""

# $1: team, which what all teams have now is of as well; $2: state, or any
LIST: Final = """
select
    regressions.*,
    publication.last_complete_day - started_on as age_days
from regressions
cross join publication
where
    ($1 = 'fleet' or team = $1 or (team = 'fleet' and state = 'open'))
    and ($2 = 'any' or state = $2)
order by lost_gpu_seconds_per_day desc nulls last, started_on desc, team asc, metric asc
"""

# $1: team, $2: metric
SERIES: Final = """
from regressions
where team = $1 and metric = $2
order by started_on desc
"""

# $1: team
QUIET: Final = """
from quiet_series
where $1 = 'fleet' or team = $1
order by evidence_ratio desc nulls last, team asc, metric asc
"""

SMALLEST: Final = "from quiet_series where team = $1 and metric = $2"

# Of each: $1: team, $2: metric, $3: started_on
POINTS: Final = """
from regression_points
where team = $1 and metric = $2 and started_on = $3
order by series_team, day
"""
# $4: first day of those before, $5: last of those after
APART: Final = """
select *, if(day < $3, 'before', 'after') as when
from regression_points
where
    team = $1
    and metric = $2
    and started_on = $3
    and series_team = $1
    and observed is not null
    and ((day >= $4 and day < $3) or (day >= $3 and day <= $5))
order by day
"""
PARTS: Final = """
from regression_parts
where team = $1 and metric = $2 and started_on = $3
order by abs(change_seconds) desc nulls last, part
"""
SPLIT: Final = "from regression_split where team = $1 and metric = $2 and started_on = $3"
CLASSES: Final = """
from regression_classes
where team = $1 and metric = $2 and started_on = $3
order by abs(speed_change) + abs(mix_change) desc, workload, size
"""
CAUSES: Final = """
from regression_causes
where team = $1 and metric = $2 and started_on = $3
order by
    coalesce(lost_gpu_seconds_after_per_day, 0) - coalesce(lost_gpu_seconds_before_per_day, 0) desc,
    coalesce(after_per_day, 0) - coalesce(before_per_day, 0) desc,
    failure_domain,
    failure_category
"""
JOBS: Final = """
from regression_jobs
where team = $1 and metric = $2 and started_on = $3
order by place
"""
GATES: Final = """
from regression_gates
where team = $1 and metric = $2 and started_on = $3
order by place
"""
SYMPTOMS: Final = """
from regression_symptoms
where team = $1 and metric = $2 and started_on = $3
order by symptom_team <> team, abs(change_ratio) desc nulls last, symptom_team, symptom_metric
"""
TEAMS: Final = """
from regression_teams
where team = $1 and metric = $2 and started_on = $3
order by share desc nulls last, series_team
"""
NEAR_CHANGES: Final = """
from regression_changes
where team = $1 and metric = $2 and started_on = $3
order by changed_at, name
"""

# $1: team, $2 and $3: first and last day
CHANGES: Final = """
from changes
where (team is null or team = $1 or $1 = 'fleet') and day between $2 and $3
order by changed_at, name
"""

# $1: team, $2 and $3: first and last day
STOPS: Final = "from interruptions_by_day($1, 'all', $2, $3, 'all') order by day"


def is_told() -> bool:
    """Whether the warehouse was published by a release that looks for what got worse."""
    return bool(data.row(_TABLES)["tables"] == 3)


def is_judged(team: str) -> bool:
    """Whether any series of the team, or of `fleet` any at all, could show a change, or ever could
    have.
    """
    if not data.frame(LIST, team, ANY).is_empty():
        return True
    return is_told() and any(data.row(_JUDGED, team).values())


def title() -> str:
    """The title of the page with how many are open, where any are and can be counted."""
    try:
        count = data.row(OPEN).get("open")
    except data.NothingPublished:
        count = 0
    except data.ViewFailed:  # as after a detector that failed
        count = "?"
    return f"Regressions ({count})" if count else "Regressions"


def failure() -> str:
    """Why it is not known what got worse; nothing where it is."""
    try:
        return data.row(_DETECTOR).get("failed_because") or ""
    except data.ViewFailed:
        return ""


def nearest(found: pl.DataFrame, day: date | None) -> dict[str, Any]:
    """The regression of a series that began on this day or nearest to it; without one that which
    is open, as an alert means it, else the newest.

    Late data moves a first day by a day or two, and a link that was sent before must still open.
    """
    rows = list(found.iter_rows(named=True))
    if day is None:
        return next((row for row in rows if row["state"] == "open"), rows[0])
    return min(rows, key=lambda row: abs((row["started_on"] - day).days))
