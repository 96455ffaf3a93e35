"""Which day an instant belongs to, where days have 23, 24 or 25 hours, or do not happen."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest

from ingest import calendar
from tests.ingest.warehouses import life
from tests.queries.engine import ingest, rows, write_dump

HOUR_US = 3_600_000_000
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Sao_Paulo",  # until 2019 its clocks changed at midnight
    "America/St_Johns",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # half an hour of summer time
    "Pacific/Apia",  # 2011-12-30 did not happen
    "Pacific/Kiritimati",
    "Africa/Cairo",
    "Asia/Beirut",
)


def laid_out(zone: str, first: str, last: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    calendar.lay_out(connection, microseconds(first), microseconds(last), zone)
    return connection


def microseconds(moment: str) -> int:
    told = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return (told - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def hours(zone: str, first: str, last: str) -> dict[date, float]:
    found = laid_out(zone, first, last).execute(
        "select day, (to_us - from_us) / 3600000000 from calendar"
    )
    return dict(found.fetchall())


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("year", [2011, 2018, 2026])
def test_the_days_of_a_year_follow_on_another_without_gap_or_overlap(zone: str, year: int) -> None:
    connection = laid_out(zone, f"{year}-01-01", f"{year}-12-31")
    gaps = connection.execute(
        "select day from (select day, from_us, lag(to_us) over (order by day) as before "
        "from calendar) where from_us <> before"
    ).fetchall()
    cut = connection.execute(
        "select day from calendar left join (select day, sum(to_us - from_us) as us from "
        "calendar_pieces group by day) as pieces using (day) "
        "where coalesce(us, 0) <> to_us - from_us"
    ).fetchall()
    crossing = connection.execute(
        "select day from calendar_pieces where to_us > from_us and "
        "(from_us // 86400000000 <> utc_day or (to_us - 1) // 86400000000 <> utc_day)"
    ).fetchall()

    assert ([], [], []) == (gaps, cut, crossing)


@pytest.mark.parametrize("zone", ZONES)
def test_an_instant_lies_in_the_day_of_its_wall_clock(zone: str) -> None:
    connection = laid_out(zone, "2026-01-01", "2026-12-31")
    instants = [microseconds("2026-01-01") + 37 * HOUR_US * number for number in range(230)]
    found = [
        connection.execute(
            "select day from calendar where from_us <= $1 and $1 < to_us", [at]
        ).fetchall()
        for at in instants
    ]

    assert [
        [(datetime.fromtimestamp(at / 1e6, ZoneInfo(zone)).date(),)] for at in instants
    ] == found


def test_days_are_23_and_25_hours_long_where_clocks_change() -> None:
    spring = hours("Europe/Berlin", "2026-03-28", "2026-03-30")
    autumn = hours("Europe/Berlin", "2026-10-24", "2026-10-26")

    assert 23 == spring[date(2026, 3, 29)]
    assert 25 == autumn[date(2026, 10, 25)]


def test_a_day_whose_midnight_does_not_exist_begins_at_one() -> None:
    assert 23 == hours("America/Sao_Paulo", "2018-11-03", "2018-11-05")[date(2018, 11, 4)]


def test_a_day_that_did_not_happen_has_no_length() -> None:
    assert 0 == hours("Pacific/Apia", "2011-12-29", "2012-01-01")[date(2011, 12, 30)]


def test_the_day_before_and_the_day_after_are_laid_out_too() -> None:
    days = hours("UTC", "2026-03-01T12:00", "2026-03-01T13:00")

    assert [date(2026, 2, 28), date(2026, 3, 1), date(2026, 3, 2)] == sorted(days)


def test_an_attempt_over_a_change_of_clocks_is_cut_at_local_midnights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ett.toml").write_text('timezone = "Europe/Berlin"')
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))
    began = microseconds("2026-03-28T12:00") // 1_000_000
    told = [
        event | {"ts": began + (48 * 3_600 if event["event"].endswith("end") else 0)}
        for event in life("a")
        if isinstance(event["event"], str)
    ]
    ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", told))

    assert [
        (date(2026, 3, 28), 11 * 3_600.0),
        (date(2026, 3, 29), 23 * 3_600.0),
        (date(2026, 3, 30), 14 * 3_600.0),
    ] == rows(
        tmp_path / "warehouse",
        "select day, wall_seconds from team_day "
        "where team = 'fleet' and workload = 'all' order by 1",
    )
