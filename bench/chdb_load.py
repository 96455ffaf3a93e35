"""A yardstick: ClickHouse, in the process (chdb), loads a dump and rolls it up by team and day.

Run by an interpreter that has chdb, which knows nothing of this project: it is 900 MB with all that
it brings.
"""

import json
import sys

from chdb.session import Session

_ROLL_UP = """
    create table by_team_day engine = MergeTree order by (team, day) as
    with teams as (
        select job_id, any(events.team) as job_team from events
        where events.team <> '' group by job_id
    )
    select
        job_team as team, toDate(ts) as day, count() as events,
        uniqExact(job_id) as jobs, sum(dateDiff('millisecond', ts, end_ts)) as milliseconds
    from events left join teams on events.job_id = teams.job_id
    group by team, day
"""


def main(dump: str, folder: str, kinds: dict[str, list[str]]) -> None:
    """Read a JSON Lines dump with typed columns into a new folder, and add `by_team_day`."""
    few = ("event", "phase", "mode", "cache", "outcome")
    columns = ", ".join(
        ["ts DateTime64(6, 'UTC')", "end_ts Nullable(DateTime64(6, 'UTC'))", "ok Nullable(Bool)"]
        + [f"{name} LowCardinality(String)" for name in few]
        + [f"{name} String" for name in kinds["texts"]]
        + [f"{name} Nullable(Int64)" for name in kinds["numbers"]]
    )
    session = Session(folder)
    session.query(f"create table events ({columns}) engine = MergeTree order by (job_id, ts)")
    session.query(
        f"insert into events select * from file('{dump}', 'JSONEachRow') "
        "settings date_time_input_format = 'best_effort'"
    )
    session.query(_ROLL_UP)
    session.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
