"""What readers of the published file rely on: names, grains, sums, days, and who counts where."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.ingest.warehouses import alive
from tests.oracle.fleets import random_fleet
from tests.oracle.measures import Measures, measure, percentile
from tests.queries import telling
from tests.queries.engine import AREAS, areas, ingest, rows, table, write_dump

ROOT = Path(__file__).resolve().parents[2]
SECTION = re.compile(r"^## 3\. .*?(?=^## )", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"`([^`]*)`")
FIRST, SECOND, LAST = date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3)
SCOPE = ("team", "workload", "day")

ADDITIVE_SECONDS = (
    "wall_seconds",
    "gpu_seconds",
    "effective_seconds",
    "effective_gpu_seconds",
    "wasted_seconds",
    "wasted_gpu_seconds",
    "unsaved_seconds",
    "unsaved_gpu_seconds",
    "checkpoint_save_seconds",
    "queue_seconds",
    "unaccounted_seconds",
    "unaccounted_gpu_seconds",
    "uninstrumented_seconds",
    "uninstrumented_gpu_seconds",
    "lost_gpu_seconds",
)
ADDITIVE_COUNTS = (
    "attempts_ended",
    "completed",
    "failed",
    "preempted",
    "cancelled",
    "timeout",
    "lost",
    "failures",
    "infra_failures",
    "interruptions",
    "infra_interruptions",
    "checkpoint_saves",
    "recompiles",
    "tts_count",
    "ttr_count",
)
# added over teams and workloads, not over days: a job that runs for two days is one job
RUNNING = ("jobs_running", "attempts_running")
RATIOS = {
    # numerator, denominator, as sums of other columns
    "ett_ratio": (("effective_seconds",), ("wall_seconds", "-uninstrumented_seconds")),
    "ett_gpu_ratio": (("effective_gpu_seconds",), ("gpu_seconds", "-uninstrumented_gpu_seconds")),
    "failure_ratio": (("unsaved_seconds",), ("wall_seconds", "-uninstrumented_seconds")),
    "idleness_ratio": (
        ("wall_seconds", "-uninstrumented_seconds", "-effective_seconds", "-unsaved_seconds"),
        ("wall_seconds", "-uninstrumented_seconds"),
    ),
    "ettr_with_queue_ratio": (
        ("effective_seconds",),
        ("wall_seconds", "-uninstrumented_seconds", "queue_seconds"),
    ),
    "preemption_ratio": (("preempted",), ("attempts_ended",)),
    "instrumented_ratio": (("gpu_seconds", "-uninstrumented_gpu_seconds"), ("gpu_seconds",)),
}
PERCENTILES = {
    "tts_p50_seconds": ("tts", 50),
    "tts_p90_seconds": ("tts", 90),
    "ttr_p50_seconds": ("ttr", 50),
    "ttr_p90_seconds": ("ttr", 90),
    "checkpoint_save_p50_seconds": ("save", 50),
    "checkpoint_save_p90_seconds": ("save", 90),
    "checkpoint_save_p99_seconds": ("save", 99),
}

Event = dict[str, Any]
Row = dict[str, Any]
Days = dict[tuple[str, str, date], Row]
Scope = tuple[str, str, date, date]
Configured = Callable[[str], None]


@pytest.fixture(scope="module")
def told() -> list[Event]:
    """Events of some hundreds of random jobs of three days."""
    return [event for seed in range(220) for event in random_fleet(seed, prefix=f"f{seed}-")]


@pytest.fixture(scope="module")
def measures(told: list[Event]) -> Measures:
    return measure(told)


@pytest.fixture(scope="module")
def fleet(told: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those jobs, and some that only a scheduler knows, teams and days in common."""
    folder = tmp_path_factory.mktemp("fleet")
    scheduled = folder / "sacct.txt"
    scheduled.write_text("\n".join(SACCT) + "\n", encoding="utf-8")

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "events.jsonl", told), scheduled)
    assert [] == rows(folder / "warehouse", "from rejected_lines")
    return folder / "warehouse"


@pytest.fixture(scope="module")
def days(fleet: Path) -> Days:
    """The rows of `team_day` of that fleet."""
    return {
        (row["team"], row["workload"], row["day"]): row for row in table(fleet, "from team_day")
    }


@pytest.fixture(scope="module")
def windows(fleet: Path, days: Days) -> dict[Scope, Row]:
    """Windows of several days of that fleet, some wider than its data."""
    teams = sorted({team for team, _, _ in days})
    spans = ((FIRST, LAST), (FIRST, SECOND), (date(2026, 2, 1), date(2026, 4, 1)))
    return {
        (team, workload, *span): window_of(fleet, team, workload, *span)
        for team, workload, span in product(teams, ("all", "production", "(none)"), spans)
    }


@pytest.fixture(scope="module")
def windows_of_a_day(fleet: Path, days: Days) -> Days:
    return {key: window_of(fleet, *key, key[2]) for key in days}


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of stories below, each in jobs of its own, and of a team where sums are asked."""
    folder = tmp_path_factory.mktemp("apart")
    events = [
        *told_in_tenths(),
        *named_like_rollups(),
        *of_team("no end", ran("known end", 0, 200_000, "failed", gpus=8)),
        *of_team("no end", ran("unknown end", 0, 200_000, "failed")),
        *(event for outcome, workload in UNKNOWN for event in with_unknown(outcome, workload)),
        *of_team("lost by cancelled", cancelled_and_on()),
        *of_team("compiles", compiled()),
        *of_team("categories", failed_of_each_category()),
    ]

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "events.jsonl", events))
    assert [] == rows(folder / "warehouse", "from rejected_lines")
    return folder / "warehouse"


def of_team(team: str, events: Iterable[Event]) -> list[Event]:
    return [event | {"team": team} for event in events]


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configured:
    """Settings for the ingests that follow."""

    def configure(settings: str) -> None:
        file = tmp_path / "ett.toml"
        file.write_text(settings, encoding="utf-8")
        monkeypatch.setenv("ETT_CONFIG", str(file))

    return configure


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Path]:
    """Ingest native events into one warehouse."""

    def load(events: Iterable[Event], *arguments: str, name: str = "events") -> Path:
        dump = write_dump(tmp_path / f"{name}.jsonl", events)

        assert 0 == ingest(tmp_path / "warehouse", dump, *arguments)
        assert [] == rows(tmp_path / "warehouse", "from rejected_lines")
        return tmp_path / "warehouse"

    return load


# Names and grains, as docs/interfaces.md promises them


def promised() -> dict[str, tuple[list[str], list[str]]]:
    """View -> its grain, the columns that must exist; read from section 3."""
    (section,) = SECTION.findall((ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8"))
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) != 3 or not cells[0].startswith("`"):
            continue
        grain = re.sub(r"\(.*?\)", "", cells[1])
        columns = ",".join(NAMES.findall(cells[2]))
        found[cells[0].strip("`")] = (names_in(grain), names_in(re.sub(r"\(.*?\)", "", columns)))
    return found


def names_in(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


VIEWS = {name: told for name, told in promised().items() if "(" not in name}


def test_the_promise_is_read_in_full() -> None:
    assert 13 == len(promised())
    assert {
        "window_of(chosen_team, chosen_workload, first_day, last_day)"
    } == promised().keys() - VIEWS.keys()
    assert 33 == len(VIEWS["team_day"][1])
    assert (["team", "workload", "day"], "is_complete") == (
        VIEWS["team_day"][0],
        VIEWS["team_day"][1][0],
    )
    assert "state" in VIEWS["regressions"][1]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_its_columns(view: str, fleet: Path) -> None:
    grain, columns = VIEWS[view]
    there = columns_of(fleet, view)

    assert [] == [name for name in [*grain, *columns] if name not in there]


@pytest.mark.parametrize("view", [view for view, (grain, _) in VIEWS.items() if grain])
def test_no_key_of_a_view_comes_twice(view: str, fleet: Path) -> None:
    keys = ", ".join(VIEWS[view][0])

    assert [] == rows(fleet, f"select {keys} from {view} group by {keys} having count(*) > 1")


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a path that held several dumps."""
    folder = tmp_path_factory.mktemp("rewritten")
    log = folder / "x.jsonl"
    for job in ("a", "b"):
        log.write_text("broken\n" + json.dumps(alive(job)) + "\n", encoding="utf-8")
        ingest(folder / "warehouse", log)
    return folder / "warehouse"


@pytest.mark.parametrize("view", ["ingested_files", "rejected_lines"])
def test_a_path_that_held_several_dumps_gives_no_key_twice(view: str, rewritten: Path) -> None:
    keys = ", ".join(VIEWS[view][0])

    assert [(2, 2)] == rows(rewritten, f"select count(*), count(distinct ({keys})) from {view}")
    assert [(2,)] == rows(rewritten, "select count(*) from rejected_examples")


def test_a_window_has_the_columns_of_a_day(fleet: Path) -> None:
    window = columns_of(fleet, "window_of('fleet', 'all', date '2026-03-01', date '2026-03-03')")

    assert set(columns_of(fleet, "team_day")) - {"day"} <= set(window)
    assert {"first_day", "last_day", "days", "jobs", "attempts"} <= set(window)


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        ("targets", "team, ett_ratio"),
        ("days", "day, is_complete"),
        ("identity_by_day", "day, wall_us, areas_us, gap_us"),
        ("sources", "source, format, cluster, data_at, events, rejected, told"),
        ("rejected_by_source", "source, reason, lines"),
        ("detail_files", "file"),
        (
            "publication",
            "published_at, sequence, schema_version, time_zone, first_day, last_complete_day, "
            "newest_day, data_at, stale_after_seconds, events, rejected",
        ),
        (
            "window_areas('fleet', 'all', date '2026-03-01', date '2026-03-03')",
            "area, is_recovery, seconds, gpu_seconds",
        ),
        (
            "window_interruptions('fleet', 'all', date '2026-03-01', date '2026-03-03')",
            "failure_domain, failure_category, attribution, interruptions, lost_gpu_seconds",
        ),
    ],
)
def test_what_pages_read_besides_has_its_columns(view: str, columns: str, fleet: Path) -> None:
    there = columns_of(fleet, view)

    assert [] == [name for name in names_in(columns) if name not in there]


@pytest.mark.parametrize("view", ["regressions", "unmatched_messages"])
def test_what_is_not_found_yet_is_an_empty_view(view: str, fleet: Path) -> None:
    assert [] == rows(fleet, f"from {view}")


def test_times_are_timestamps_lengths_are_doubles_and_days_are_dates(fleet: Path) -> None:
    for view in VIEWS:
        for name, kind in columns_of(fleet, view).items():
            expected = {"_at": "TIMESTAMP", "_seconds": "DOUBLE", "_ratio": "DOUBLE"}
            for ending, is_meant in expected.items():
                assert not name.endswith(ending) or kind == is_meant, (view, name, kind)
            assert name != "day" or kind == "DATE", (view, name, kind)


# Sums


def test_the_fleet_is_the_sum_of_its_teams(days: Days) -> None:
    teams = {team for team, _, _ in days} - {"fleet"}

    assert len(teams) >= 4
    for (team, workload, day), whole in days.items():
        if team == "fleet":
            parts = [days[each, workload, day] for each in teams if (each, workload, day) in days]

            assert additive(whole) == summed(parts), (workload, day)


def test_all_is_the_sum_of_the_workloads(days: Days) -> None:
    workloads = {workload for _, workload, _ in days} - {"all"}

    assert {"(none)", "production", "exploration"} <= workloads
    for (team, workload, day), whole in days.items():
        if workload == "all":
            parts = [days[team, each, day] for each in workloads if (team, each, day) in days]

            assert additive(whole) == summed(parts), (team, day)


def test_areas_of_a_scope_are_the_wall_of_its_day(fleet: Path, days: Days) -> None:
    told: dict[tuple[Any, ...], int] = defaultdict(int)
    gpu: dict[tuple[Any, ...], int | None] = {}
    for row in table(fleet, "from area_by_team_day"):
        scope = tuple(row[name] for name in SCOPE)
        told[scope] += us(row["seconds"])
        known = us(row["gpu_seconds"])
        gpu[scope] = None if known is None else (gpu.get(scope) or 0) + known

    assert {
        key: us(row["wall_seconds"]) for key, row in days.items() if row["wall_seconds"]
    } == told
    assert {key: us(row["gpu_seconds"]) for key, row in days.items() if row["wall_seconds"]} == gpu


def test_attempts_jobs_and_days_tell_the_same_seconds(fleet: Path) -> None:
    ((of_attempts, of_areas),) = rows(
        fleet,
        "select (select round(sum(wall_seconds) * 1e6) from attempts), "
        "(select round(sum(seconds) * 1e6) from area_by_attempt)",
    )
    ((of_jobs, of_identity),) = rows(
        fleet,
        "select (select round(sum(wall_seconds) * 1e6) from jobs), "
        "(select sum(wall_us) from identity_by_day)",
    )

    assert {of_attempts} == {of_areas, of_jobs, of_identity}


def told_in_tenths() -> list[Event]:
    """A tenth and two tenths of a second, as binary fractions a little over three together."""
    begins = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
    said = {"job_id": "tenths", "gpus": 1}
    return [
        event
        for attempt, seconds in ((1, 0.1), (2, 0.2))
        for event in (
            said | {"ts": begins + attempt, "event": "attempt_start", "attempt": attempt},
            said
            | {"ts": begins + attempt + seconds, "event": "attempt_end", "attempt": attempt}
            | {"outcome": "failed"},
        )
    ]


def test_the_seconds_of_a_job_are_whole_microseconds_in_any_order(apart: Path) -> None:
    assert [(0.3, 0.3)] == rows(
        apart, "select wall_seconds, gpu_seconds from jobs where job_id = 'tenths'"
    )


def test_the_identity_has_no_gap_on_any_day(fleet: Path) -> None:
    told = rows(fleet, "select day, wall_us, areas_us, gap_us from identity_by_day order by day")

    assert len(told) >= 3
    assert [(day, wall, wall, 0) for day, wall, _, _ in told] == told


def test_ratios_are_ratios_of_sums_and_null_over_nothing(days: Days) -> None:

    assert len(days) > 20
    for key, row in days.items():
        assert ratios_of(row) == {name: rounded(row[name]) for name in RATIOS}, key


# Windows


def test_a_window_of_one_day_is_that_day(days: Days, windows_of_a_day: Days) -> None:
    differences = [
        (*key, name, row[name], windows_of_a_day[key][name])
        for key, row in days.items()
        for name in row
        if name not in ("day", *RUNNING)
        and rounded(row[name]) != rounded(windows_of_a_day[key][name])
    ]

    assert [] == differences[:5]


@pytest.mark.parametrize("count", RUNNING)
def test_a_window_of_one_day_counts_who_ran_as_that_day_does(
    count: str, days: Days, windows_of_a_day: Days
) -> None:
    told = {key: (row[count], windows_of_a_day[key][count]) for key, row in days.items()}

    assert {} == {key: (day, window) for key, (day, window) in told.items() if day != window}


def test_sums_of_a_window_are_sums_of_its_days(days: Days, windows: dict[Scope, Row]) -> None:
    names = (*ADDITIVE_SECONDS, *ADDITIVE_COUNTS)
    for (team, workload, first, last), window in windows.items():
        parts = [
            row
            for (of_team, of_workload, day), row in days.items()
            if (of_team, of_workload) == (team, workload) and first <= day <= last
        ]

        assert summed(parts, names) == additive(window, names), (team, workload, first, last)
        assert ratios_of(window) == {name: rounded(window[name]) for name in RATIOS}


def test_percentiles_of_a_window_are_the_nearest_ranks_of_its_attempts(
    windows: dict[Scope, Row], measures: Measures
) -> None:
    sizes = set()
    for scope, window in windows.items():
        samples = samples_of(measures, *scope)
        sizes.add(len(samples["save"]))
        expected = {name: percentile(samples[of], rank) for name, (of, rank) in PERCENTILES.items()}

        assert expected == {name: us(window[name]) for name in PERCENTILES}, scope
        assert len(samples["tts"]) == window["tts_count"]
        assert len(samples["ttr"]) == window["ttr_count"]
    assert len(sizes) > 5


def test_a_window_counts_a_job_of_several_days_once(fleet: Path, windows: dict[Scope, Row]) -> None:
    counted = table(fleet, "from attempts where gpus is null or gpus > 0")
    for (team, workload, first, last), window in windows.items():
        present = [
            row
            for row in counted
            if team in ("fleet", row["team"])
            and workload in ("all", row["workload"])
            and row["started_at"].date() <= last
            and row["ended_at"].date() >= first
        ]
        preempted = {
            row["job_id"]
            for row in present
            if row["outcome"] == "preempted" and row["ended_at"].date() <= last
        }
        jobs = {row["job_id"] for row in present}

        assert (len(jobs), len(present)) == (window["jobs"], window["attempts"])
        assert ratio(len(preempted), len(jobs)) == rounded(window["preempted_job_ratio"])


def test_a_window_says_which_days_it_is_of(windows: dict[Scope, Row]) -> None:
    keys = ("team", "workload", "first_day", "last_day")

    assert list(windows) == [tuple(map(row.get, keys)) for row in windows.values()]


def test_areas_and_interruptions_of_a_window_are_those_of_its_days(fleet: Path) -> None:
    for scope in (("fleet", "all", FIRST, LAST), ("ads", "production", FIRST, SECOND)):
        for macro, view, keys, sums in (
            ("window_areas", "area_by_team_day", "area, is_recovery", ("seconds", "gpu_seconds")),
            (
                "window_interruptions",
                "failures_by_team_day",
                "failure_domain, failure_category, attribution",
                ("interruptions", "lost_gpu_seconds"),
            ),
        ):
            added = ", ".join(f"round(coalesce(sum({name}), 0), 6)" for name in sums)

            assert rows(
                fleet,
                f"select {keys}, {added} from {view} where team = ? and workload = ? "
                f"and day between ? and ? group by all order by all",
                scope,
            ) == rows(
                fleet,
                f"select {keys}, {added} from {macro}(?, ?, ?, ?) group by all order by all",
                scope,
            )


def test_a_window_in_which_nothing_happened_is_one_row_of_nothing(fleet: Path) -> None:
    before = date(2020, 1, 1)
    for window in (
        window_of(fleet, "nobody", "all", FIRST, LAST),
        window_of(fleet, "fleet", "all", before, before),
    ):
        assert dict.fromkeys(RATIOS) == {name: window[name] for name in RATIOS}
        assert dict.fromkeys(PERCENTILES) == {name: window[name] for name in PERCENTILES}
        assert {0} == {window[name] or 0 for name in (*ADDITIVE_SECONDS, *ADDITIVE_COUNTS)}


# Who counts where


def test_teams_and_workloads_with_names_that_rollups_use_are_told_apart(
    load: Callable[..., Path],
) -> None:
    who = {
        "f": {"team": "fleet", "workload": "all"},
        "o": {"team": "other", "workload": "production"},
        "n": {},
        "e": {"team": "", "workload": ""},
        "t": {"team": "ads", "workload": "production"},
    }
    warehouse = load(
        event for job, said in who.items() for event in ran(job, 0, 3600, gpus=8, **said)
    )

    assert {
        "f": ("fleet (team)", "all (workload)"),
        "o": ("other (team)", "production"),
        "n": ("(none)", "(none)"),
        "e": ("(none)", "(none)"),
        "t": ("ads", "production"),
    } == {
        job: (team, workload)
        for job, team, workload in rows(warehouse, "select job_id, team, workload from attempts")
    }
    assert {
        ("fleet", "all", 5),
        ("fleet", "production", 2),
        ("fleet", "all (workload)", 1),
        ("fleet", "(none)", 2),
        ("fleet (team)", "all", 1),
        ("fleet (team)", "all (workload)", 1),
        ("other (team)", "all", 1),
        ("other (team)", "production", 1),
        ("(none)", "all", 2),
        ("(none)", "(none)", 2),
        ("ads", "all", 1),
        ("ads", "production", 1),
    } == set(rows(warehouse, "select team, workload, attempts_ended from team_day"))
    assert [1, 5] == [
        window_of(warehouse, team, "all", FIRST, FIRST)["attempts_ended"]
        for team in ("fleet (team)", "fleet")
    ]


def named_like_rollups() -> list[Event]:
    who = {
        "like f": {"team": "fleet", "workload": "all"},
        "like g": {"team": "fleet (team)", "workload": "all (workload)"},
        "like o": {"team": "other (team) (team)", "workload": "production"},
        "like t": {"team": "fleet team", "workload": "all of it"},
    }
    return [event for job, said in who.items() for event in ran(job, 0, 3600, gpus=8, **said)]


def test_names_that_look_like_those_of_the_rollups_are_not_taken_for_one_another(
    apart: Path,
) -> None:
    assert [
        ("like f", "fleet (team)", "all (workload)"),
        ("like g", "fleet (team) (team)", "all (workload) (workload)"),
        ("like o", "other (team) (team) (team)", "production"),
        ("like t", "fleet team", "all of it"),
    ] == rows(
        apart,
        "select job_id, team, workload from attempts where job_id ^@ 'like ' order by job_id",
    )


def test_jobs_without_gpus_are_outside_every_rollup_and_unknown_gpus_are_in_seconds_only(
    load: Callable[..., Path],
) -> None:
    failed = {"outcome": "failed", "category": "host/host_oom"}
    warehouse = load(
        [
            *ran("none", 0, 1000, gpus=0, **failed),
            *ran("unknown", 0, 1000, **failed),
            *ran("eight", 0, 1000, gpus=8, **failed),
        ]
    )

    # visible, all of them
    assert [("eight", 8, 1000.0), ("none", 0, 1000.0), ("unknown", None, 1000.0)] == rows(
        warehouse, "select job_id, gpus, wall_seconds from attempts order by 1"
    )
    assert [(1000.0, 8000.0), (1000.0, 0.0), (1000.0, None)] == rows(
        warehouse,
        "select sum(seconds), sum(gpu_seconds) from area_by_attempt "
        "group by job_id order by job_id",
    )
    for row in (
        table(warehouse, "from team_day where team = 'fleet' and workload = 'all'")[0],
        window_of(warehouse, "fleet", "all", FIRST, FIRST),
    ):
        assert (2, 2, 2000.0, 8000.0, 2) == (
            row["attempts_ended"],
            row["failures"],
            row["wall_seconds"],
            row["gpu_seconds"],
            row["jobs_running"],
        )
        assert (100.0, 100.0) == (row["tts_p50_seconds"], row["tts_p90_seconds"])
        assert 2 == row["tts_count"]
    assert [(2, 7200.0)] == rows(
        warehouse,
        "select interruptions, lost_gpu_seconds from failures_by_team_day "
        "where team = 'fleet' and workload = 'all'",
    )
    assert [("eight", 7200.0), ("none", 0.0), ("unknown", None)] == rows(
        warehouse, "select job_id, lost_gpu_seconds from attempts order by job_id"
    )
    # only what has GPU-hours is held against them
    assert [(2, 1, 7200.0, 86400 * 1000 / 8000, 1000.0, 8000.0)] == rows(
        warehouse,
        "select counted, counted_of_known_gpus, counted_lost_gpu_seconds, "
        "interruptions_per_1000_gpu_days, between_interruptions_seconds, "
        "between_interruptions_gpu_seconds "
        f"from window_ends('fleet', 'all', date '{FIRST}', date '{FIRST}', 'all') "
        "where day is null",
    )
    assert [(2, 1)] == rows(
        warehouse, "select jobs, count(*) from job_medians('(none)') group by all"
    )
    # the identity is that of every attempt
    assert [(3_000_000_000, 0)] == rows(warehouse, "select wall_us, gap_us from identity_by_day")


OF_DAYS = f"'fleet', 'all', date '{FIRST}', date '{LAST}'"


@pytest.mark.parametrize(
    "view",
    [
        "attempts",
        "jobs",
        "team_day",
        "team_day_totals",
        "area_by_team_day",
        "losses_by_team_day",
        "stages_by_team_day",
        "failures_by_team_day",
        f"window_of({OF_DAYS})",
        f"window_losses({OF_DAYS})",
        f"window_areas({OF_DAYS})",
        f"window_stages({OF_DAYS})",
        f"window_ends({OF_DAYS}, 'all')",
        f"window_causes({OF_DAYS}, 'all')",
        f"interruptions_by_day({OF_DAYS}, 'all')",
        f"window_teams('all', date '{FIRST}', date '{LAST}')",
        f"window_team_areas('all', date '{FIRST}', date '{LAST}')",
        f"window_publishing('all', date '{FIRST}', date '{LAST}')",
        f"window_domains('all', date '{FIRST}', date '{LAST}', 'all')",
        f"shares_by_day('fleet', 'all', 'effective', date '{FIRST}', date '{LAST}')",
        f"shares_by_day('fleet', 'all', 'hang', date '{FIRST}', date '{LAST}')",
    ],
)
def test_of_unknown_gpus_nothing_is_told_in_gpu_seconds_not_even_that_it_was_none(
    view: str, untold: Path
) -> None:
    found = table(untold, f"from {view}")
    weighed = [name for name in found[0] if re.search("gpu_(us|seconds)$", name)]
    by_day = [row for row in found if "ends" not in view or row["day"] in (None, FIRST)]

    assert weighed
    assert [] == [(name, row[name]) for row in by_day for name in weighed if row[name] is not None]


@pytest.fixture(scope="module")
def untold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of no job the GPUs are known; one was interrupted before there was anything to lose."""
    folder = tmp_path_factory.mktemp("untold")
    never_ran = {"ts": moment(60), "event": "attempt_end", "job_id": "early", "outcome": "failed"}
    published = {"ts": moment(900), "end_ts": moment(950), "event": "phase_start", "job_id": "well"}
    events = [
        {"ts": moment(0), "event": "attempt_start", "job_id": "early"},
        never_ran | {"category": "host/container_or_image"},
        *ran("well", 0, 1000),
        published | {"phase": "shutdown", "stage": "model_publish"},
        *ran("late", 0, 1000, outcome="failed", category="host/host_oom"),
    ]

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "events.jsonl", events))
    return folder / "warehouse"


@pytest.mark.parametrize("team", ["ranking", "fleet"])
@pytest.mark.parametrize(
    "view",
    [
        "area_by_team_day where area <> 'uninstrumented' and team = $1 and day = $2",
        "losses_by_team_day where team = $1 and day = $2",
        "team_day where team = $1 and day = $2",
        "window_areas($1, 'all', $2, $2) where area <> 'uninstrumented'",
        "window_losses($1, 'all', $2, $2)",
        "window_measures($1, 'all', $2, $2)",
        "window_team_areas('all', $2, $2) where team = $1",
        "window_teams('all', $2, $2) where team = $1",
        "shares_by_day($1, 'all', 'effective', $2, $2)",
        "shares_by_day($1, 'all', 'hang', $2, $2)",
    ],
)
def test_gpus_of_what_says_nothing_make_nothing_known_of_what_says_what_it_did(
    view: str, team: str, half_told: Path
) -> None:
    found = table(half_told, f"from {view}", [team, FIRST])
    held = {"gpu_seconds"} if "area" not in found[0] and "share_ratio" not in found[0] else set()
    held |= {"uninstrumented_gpu_seconds", "instrumented_gpu_seconds", "queue_gpu_seconds"}
    told = {name for name in found[0] if name.endswith("gpu_seconds")} - held

    assert told
    assert [] == [(row, name) for row in found for name in told if row[name] is not None]
    # what the scheduler's job held up to midnight is known
    assert [(16 * (3 * 3600 + 50 * 60),)] == rows(
        half_told,
        "select gpu_seconds from area_by_team_day "
        "where team = ? and workload = 'all' and day = ? and area = 'uninstrumented'",
        [team, FIRST],
    )


@pytest.mark.parametrize("team", ["ranking", "fleet"])
def test_nothing_is_told_of_the_parts_of_a_day_that_no_source_looked_into(
    team: str, half_told: Path
) -> None:
    parts = "start_up", "recovery", "wasted", "shutdown", "unaccounted", "lost"
    columns = [f"{part}_{unit}" for part in parts for unit in ("seconds", "gpu_seconds")]
    for view in (
        "losses_by_team_day where team = $1 and workload = 'all' and day = $2",
        "window_losses($1, 'all', $2, $2)",
    ):
        [row] = table(half_told, f"from {view}", [team, SECOND])
        assert dict.fromkeys(columns) == {name: row[name] for name in columns}
    for view in (
        "team_day where team = $1 and workload = 'all' and day = $2",
        "window_measures($1, 'all', $2, $2)",
    ):
        [row] = table(half_told, f"from {view}", [team, SECOND])
        assert (None, None) == (row["unaccounted_seconds"], row["unaccounted_gpu_seconds"])
    assert [] == rows(half_told, "from shares_by_day($1, 'all', 'unsaved', $2, $2)", [team, SECOND])


@pytest.mark.parametrize(("day", "saves"), [(FIRST, 0), (SECOND, None)])
def test_the_saves_of_days_that_no_source_looked_into_are_not_none(
    day: date, saves: int | None, half_told: Path
) -> None:
    for view in ("window_saves", "window_of"):
        assert [(saves,)] == rows(
            half_told, f"select checkpoint_saves from {view}('ranking', 'all', $1, $1)", [day]
        )


@pytest.fixture(scope="module")
def half_told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The GPUs are known of what only a scheduler tells, and of nothing else."""
    folder = tmp_path_factory.mktemp("half-told")
    scheduled = folder / "sacct.txt"
    scheduled.write_text("\n".join(SACCT[:2]) + "\n", encoding="utf-8")
    events = of_team("ranking", ran("trained", 0, 1000))

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "events.jsonl", events), scheduled)
    return folder / "warehouse"


@pytest.fixture(scope="module")
def only_scheduled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a job that only a scheduler knows."""
    folder = tmp_path_factory.mktemp("only-scheduled")
    scheduled = folder / "sacct.txt"
    scheduled.write_text("\n".join((SACCT[0], SACCT[2])) + "\n", encoding="utf-8")

    assert 0 == ingest(folder / "warehouse", scheduled)
    return folder / "warehouse"


@pytest.mark.parametrize("team", ["ads", "fleet"])
def test_of_jobs_that_only_a_scheduler_knows_the_queue_makes_no_ettr(
    team: str, only_scheduled: Path
) -> None:
    """They waited, and whether they trained is unknown: that is no 0 %."""
    for view in (
        "team_day where team = $1 and workload = 'all' and day = $2",
        "window_of($1, 'all', $2, $2)",
    ):
        assert [(600.0, None)] == rows(
            only_scheduled,
            f"select queue_seconds, ettr_with_queue_ratio from {view}",
            [team, SECOND],
        )


UNKNOWN = tuple(product(["completed", "failed"], ["production", "exploration"]))


def test_a_day_on_which_no_attempt_ended_lost_nothing_to_interruptions(apart: Path) -> None:
    # the third day has the end, the first and the second have none
    assert [(0.0,), (0.0,)] == rows(
        apart,
        "select interruption_loss_gpu_seconds from team_day "
        "where team = 'no end' and workload = 'all' and day <= ? order by day",
        [SECOND],
    )


def with_unknown(outcome: str, workload: str) -> list[Event]:
    said = f"{outcome}, {workload}"
    return of_team(
        said,
        ran(f"{said}: known", 0, 200_000, gpus=8, workload="production")
        + ran(f"{said}: unknown", 10, 20_000, outcome, workload=workload),
    )


@pytest.mark.parametrize("workload", ["production", "exploration"])
@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_an_end_on_unknown_gpus_leaves_what_is_known_of_the_day(
    apart: Path, outcome: str, workload: str
) -> None:
    """Whether both are of one row of the rollup or of two."""
    assert [(0.0,)] == rows(
        apart,
        "select interruption_loss_gpu_seconds from team_day "
        "where team = ? and workload = 'all' and day = ?",
        [f"{outcome}, {workload}", FIRST],
    )


def test_what_ends_cost_that_no_source_looked_into_is_unknown_not_nothing(tmp_path: Path) -> None:
    scheduled = tmp_path / "sacct.txt"
    scheduled.write_text("\n".join(SACCT[:4]) + "\n", encoding="utf-8")
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, scheduled)
    assert [("failed", None), ("preempted", None)] == rows(
        warehouse,
        "select outcome, lost_gpu_seconds from attempts where is_interruption order by outcome",
    )
    assert [(2, 2, 0, None)] == rows(
        warehouse,
        "select sum(interruptions), sum(gpu_interruptions), sum(costed_interruptions), "
        "sum(lost_gpu_seconds) from failures_by_team_day "
        "where team = 'fleet' and workload = 'all'",
    )
    assert [(2, 2, 0, None)] == rows(
        warehouse,
        "select counted, counted_of_known_gpus, counted_of_known_cost, counted_lost_gpu_seconds "
        "from window_ends('fleet', 'all', ?, ?, 'all') where day is null",
        [FIRST, SECOND],
    )
    assert {(None,)} == set(rows(warehouse, "select interruption_loss_gpu_seconds from team_day"))
    assert (
        window_of(warehouse, "fleet", "all", FIRST, SECOND)["interruption_loss_gpu_seconds"] is None
    )


def test_what_training_cost_is_unknown_where_no_source_tells_of_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    telling.register(monkeypatch)
    midnight = 1_772_323_200_000_000
    job = {"job_id": "run", "gpus": 8, "attempt": 1}
    told = [
        {"event": "attempt_start", "at_us": midnight},
        {
            "event": "phase_start",
            "phase": "training",
            "at_us": midnight + 10_000_000,
            "end_us": midnight + 90_000_000,
        },
        {"event": "attempt_end", "outcome": "failed", "at_us": midnight + 100_000_000},
    ]
    dump = telling.write_told(tmp_path / "dump", telling.LIBRARY, [job | each for each in told])
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, dump)
    assert [("failed", 100.0, None)] == rows(
        warehouse, "select outcome, uninstrumented_seconds, lost_gpu_seconds from attempts"
    )
    assert [(1, 1, 0, None)] == rows(
        warehouse,
        "select interruptions, gpu_interruptions, costed_interruptions, lost_gpu_seconds "
        "from failures_by_team_day where team = 'fleet' and workload = 'all'",
    )
    assert [(1, 0, None)] == rows(
        warehouse,
        "select counted, counted_of_known_cost, counted_lost_gpu_seconds "
        "from window_ends('fleet', 'all', ?, ?, 'all') where day is null",
        [FIRST, SECOND],
    )
    assert [(0, 0)] == rows(
        warehouse,
        "select interruption_loss_us, interruption_loss_gpu_us from team_day_totals "
        "where team = 'fleet' and workload = 'all'",
    )


def test_excluded_jobs_are_visible_as_excluded_and_outside_every_rollup(
    load: Callable[..., Path], configured: Configured
) -> None:
    configured('[exclude]\npartitions = ["debug*"]\nnames = ["probe-?", "100%_done"]\n')
    jobs = {
        # job -> partition, name, is it left out
        "a": ("debug", "train", True),
        "b": ("debug-long", "train", True),
        "c": ("train", "probe-1", True),
        "d": ("train", "probe-12", False),
        "e": ("my-debug", "train", False),
        "f": ("train", "100%_done", True),
        "g": ("train", "100 % done", False),
        "h": (None, None, False),
    }
    warehouse = load(
        event
        for job, (partition, name, _) in jobs.items()
        for event in ran(job, 0, 1000, gpus=8, partition=partition, name=name)
    )

    assert {job: is_out for job, (_, _, is_out) in jobs.items()} == dict(
        rows(warehouse, "select job_id, is_excluded from attempts")
    )
    assert {job: is_out for job, (_, _, is_out) in jobs.items()} == dict(
        rows(warehouse, "select job_id, is_excluded from jobs")
    )
    assert [(4, 4000.0)] == rows(
        warehouse,
        "select attempts_ended, wall_seconds from team_day "
        "where team = 'fleet' and workload = 'all'",
    )
    assert (4, 4) == (
        window_of(warehouse, "fleet", "all", FIRST, FIRST)["tts_count"],
        window_of(warehouse, "fleet", "all", FIRST, FIRST)["jobs"],
    )


def test_a_hostile_job_id_appears_unchanged(load: Callable[..., Path]) -> None:
    ids = [
        "'; drop table attempts; --",
        '"><script>alert(1)</script>',
        "../../etc/passwd",
        "  spaces, a\ttab\nand a line  ",
        "%_\\{}$[]~`!?*",
        "日本語 é é \N{RIGHT-TO-LEFT OVERRIDE} \N{PILE OF POO}",
        "null",
        "a@1772323200",
        "x" * 256,
    ]
    warehouse = load(
        event for job in ids for event in ran(job, 0, 1000, gpus=8, team=f"team {job}"[:99])
    )

    for view in ("attempts", "jobs", "area_by_attempt"):
        assert set(ids) == {job for (job,) in rows(warehouse, f"select job_id from {view}")}, view
    assert {f"team {job}"[:99] for job in ids} == {
        team for (team,) in rows(warehouse, "select team from team_day where team <> 'fleet'")
    }
    assert [1] * len(ids) == [
        window_of(warehouse, f"team {job}"[:99], "all", FIRST, FIRST)["jobs"] for job in ids
    ]


# Failures


def failed_of_each_category() -> list[Event]:
    return [
        event
        for category in attributions()
        for event in ran(category, 0, 1000, gpus=8, outcome="failed", category=category)
    ]


def test_every_category_has_the_attribution_of_the_list(apart: Path) -> None:
    listed = attributions()

    assert listed == dict(
        rows(apart, "select job_id, attribution from attempts where team = 'categories'")
    )
    assert {(*category.split("/"), said, 1) for category, said in listed.items()} == set(
        rows(
            apart,
            "select failure_domain, failure_category, attribution, interruptions "
            "from failures_by_team_day where team = 'categories' and workload = 'all'",
        )
    )
    infra = sum(said == "infra" for said in listed.values())

    assert [(infra, infra, len(listed))] == rows(
        apart,
        "select infra_failures, infra_interruptions, failures from team_day "
        "where team = 'categories' and workload = 'all'",
    )


def test_each_way_to_end_counts_where_it_belongs(load: Callable[..., Path]) -> None:
    ends: dict[str, dict[str, Any]] = {
        "completed": {},
        "cancelled": {},
        "failed": {},
        "preempted": {},
        "timeout": {},
        "nameless": {"outcome": "failed", "category": "gpu_hardware/never_heard_of"},
    }
    events = [
        event
        for job, said in ends.items()
        for event in ran(job, 0, 1000, gpus=8, **({"outcome": job} | said))
    ]
    # no end was ever told: one goes silent long before the others, one is still heard of
    events += ran("lost", 0, 500, gpus=8)[:-1]
    events += [event | {"job_id": "running"} for event in ran("lost", 40_000, 40_100, gpus=8)[:-1]]
    warehouse = load(events)

    assert {
        "completed": ("completed", None, None, None),
        "cancelled": ("cancelled", None, None, None),
        "failed": ("failed", "unknown", "unclassified", "unknown"),
        "preempted": ("preempted", "scheduler", "preempted", "scheduler"),
        "timeout": ("timeout", "scheduler", "time_limit", "scheduler"),
        "nameless": ("failed", "gpu_hardware", "never_heard_of", "unknown"),
        "lost": ("lost", "unknown", "no_end_recorded", "unknown"),
        "running": ("running", None, None, None),
    } == {
        job: tuple(how)
        for job, *how in rows(
            warehouse,
            "select job_id, outcome, failure_domain, failure_category, attribution from attempts",
        )
    }
    (day,) = table(warehouse, "from team_day where team = 'fleet' and workload = 'all'")

    assert {
        "attempts_ended": 7,
        "completed": 1,
        "cancelled": 1,
        "failed": 2,
        "preempted": 1,
        "timeout": 1,
        "lost": 1,
        "failures": 4,
        "interruptions": 5,
        "infra_failures": 0,
        "jobs_running": 8,
        "preemption_ratio": 1 / 7,
        "preempted_job_ratio": 1 / 8,
    } == {name: day[name] for name in (
        "attempts_ended", "completed", "cancelled", "failed", "preempted", "timeout", "lost",
        "failures", "interruptions", "infra_failures", "jobs_running", "preemption_ratio",
        "preempted_job_ratio",
    )}  # fmt: skip


@pytest.mark.parametrize("attribution", ["infra", "all"])
def test_failures_alone_are_held_against_all_time_and_those_of_known_gpus_against_gpu_days(
    fleet: Path, attribution: str
) -> None:
    ((failures, known),) = rows(
        fleet,
        "select count(*), count(gpus) from attempts where is_counted "
        f"and ended_day between date '{FIRST}' and date '{LAST}' "
        "and outcome in ('failed', 'timeout', 'lost') "
        f"and '{attribution}' in ('all', attribution)",
    )
    ((wall, gpu),) = rows(
        fleet,
        "select sum(wall_seconds), sum(gpu_seconds) from team_day "
        f"where team <> 'fleet' and workload = 'all' and day between date '{FIRST}' and "
        f"date '{LAST}'",
    )

    assert 0 < known <= failures
    assert [
        pytest.approx((failures, known, known / gpu * 86_400_000, wall / failures, gpu / known))
    ] == rows(
        fleet,
        "select counted_failures, counted_failures_of_known_gpus, failures_per_1000_gpu_days, "
        "between_failures_seconds, between_failures_gpu_seconds "
        f"from window_ends({OF_DAYS}, '{attribution}') where day is null",
    )


@pytest.mark.parametrize(("attribution", "failures"), [("all", 0), ("infra", 0), ("user", None)])
def test_where_nothing_ran_nothing_failed(
    fleet: Path, attribution: str, failures: int | None
) -> None:
    nobody = f"'nobody', 'all', date '{FIRST}', date '{LAST}'"

    assert {(failures, failures, None)} == set(
        rows(
            fleet,
            "select counted_failures, counted_failures_of_known_gpus, between_failures_seconds "
            f"from window_ends({nobody}, '{attribution}')",
        )
    )


def test_what_interruptions_cost_is_told_by_attempt_and_by_category_alike(fleet: Path) -> None:
    ((of_attempts,),) = rows(
        fleet,
        "select round(sum(lost_gpu_seconds), 6) from attempts "
        "where is_interruption and (gpus is null or gpus > 0)",
    )
    ((of_categories, interruptions),) = rows(
        fleet,
        "select round(sum(lost_gpu_seconds), 6), sum(interruptions) from failures_by_team_day "
        "where team = 'fleet' and workload = 'all'",
    )

    assert of_attempts == pytest.approx(of_categories, abs=1e-6)
    assert [(interruptions,)] == rows(
        fleet,
        "select sum(interruptions) from team_day where team = 'fleet' and workload = 'all'",
    )


def cancelled_and_on() -> list[Event]:
    def trains(attempt: int, start: float, end: float, outcome: str, step: int) -> list[Event]:
        told = ran("cancelled once", start, end, outcome, gpus=8)
        said = {"ts": moment(start), "event": "alive", "job_id": "cancelled once"}
        return [
            {**event, "attempt": attempt} for event in (*told, said | {"resumed_from_step": step})
        ]

    # nothing was saved: whoever goes on has lost all that trained
    return (
        trains(1, 0, 1100, "cancelled", 0)
        + trains(2, 2000, 2600, "failed", 0)
        + trains(3, 3000, 4100, "completed", 0)
    )


def test_what_a_cancelled_attempt_lost_is_no_cost_of_interruptions(apart: Path) -> None:
    assert [("cancelled", 1000.0), ("failed", 500.0), ("completed", 0.0)] == rows(
        apart,
        "select outcome, unsaved_seconds from attempts where team = 'lost by cancelled' "
        "order by attempt",
    )
    # eight GPUs lost 500 s and took 0 s of the phases of a start-up
    costs = {
        view: rows(
            apart,
            f"select sum({column}) from {view} "
            "where team = 'lost by cancelled' and workload = 'all'",
        )
        for view, column in (
            ("team_day", "interruption_loss_gpu_seconds"),
            ("failures_by_team_day", "lost_gpu_seconds"),
        )
    }
    assert {"team_day": [(4000.0,)], "failures_by_team_day": [(4000.0,)]} == costs


# Compiles


def compiled() -> list[Event]:
    compiles: dict[str, list[Event]] = {
        "hit": [{"cache": "hit", "recompiles": 0}],
        "miss": [{"cache": "hit"}, {"cache": "miss", "recompiles": 2}],
        "ranks": [
            {"cache": "hit", "rank": 0, "recompiles": 3},
            {"cache": "hit", "rank": 1, "recompiles": 4},
        ],
        "silent": [{}],
    }
    return [
        event
        for job, spans in compiles.items()
        for event in [
            *ran(job, 0, 1000, gpus=8),
            *(
                {
                    "ts": moment(10 + 10 * place),
                    "end_ts": moment(15 + 10 * place),
                    "event": "phase_start",
                    "phase": "pt2_compile",
                    "job_id": job,
                    **span,
                }
                for place, span in enumerate(spans)
            ),
        ]
    ]


def test_one_miss_makes_an_attempt_a_miss_and_the_busiest_rank_tells_the_recompiles(
    apart: Path,
) -> None:
    assert {
        "hit": ("hit", 0),
        "miss": ("miss", 2),
        "ranks": ("hit", 4),
        "silent": (None, None),
    } == {
        job: (cache, recompiles)
        for job, cache, recompiles in rows(
            apart, "select job_id, cache, recompiles from attempts where team = 'compiles'"
        )
    }
    for row in (
        table(apart, "from team_day where team = 'compiles' and workload = 'all'")[0],
        window_of(apart, "compiles", "all", FIRST, FIRST),
    ):
        assert (2 / 3, 6) == (row["compile_cache_hit_ratio"], row["recompiles"])


# Days


def test_days_are_those_of_the_settings_zone_and_may_have_23_or_25_hours(
    load: Callable[..., Path], configured: Configured
) -> None:
    configured('timezone = "Europe/Berlin"\n')
    spring, autumn = date(2025, 3, 30), date(2025, 10, 26)
    warehouse = load(
        event
        for job, day in (("spring", spring), ("autumn", autumn))
        for event in lasted(job, midnight(day, -1), midnight(day, 2))
    )
    hours = {
        day: seconds / 3600
        for day, seconds in rows(
            warehouse,
            "select day, wall_seconds from team_day where team = 'fleet' and workload = 'all'",
        )
    }

    assert {
        spring - timedelta(days=1): 24.0,
        spring: 23.0,
        spring + timedelta(days=1): 24.0,
        # its end, which falls on midnight, belongs to the day that starts
        spring + timedelta(days=2): 0.0,
        autumn - timedelta(days=1): 24.0,
        autumn: 25.0,
        autumn + timedelta(days=1): 24.0,
        autumn + timedelta(days=2): 0.0,
    } == hours
    assert [(autumn + timedelta(days=2), 1), (spring + timedelta(days=2), 1)] == rows(
        warehouse,
        "select day, attempts_ended from team_day where team = 'fleet' and workload = 'all' "
        "and attempts_ended > 0 order by day desc",
    )
    assert [("Europe/Berlin",)] == rows(warehouse, "select time_zone from publication")
    assert [] == rows(warehouse, "from identity_by_day where gap_us <> 0")
    assert (
        72.0
        == window_of(
            warehouse, "fleet", "all", spring - timedelta(days=1), spring + timedelta(days=2)
        )["wall_seconds"]
        / 3600
        + 1
    )
    # times stay UTC
    assert [(datetime(2025, 3, 28, 23),), (datetime(2025, 10, 24, 22),)] == rows(
        warehouse, "select started_at from attempts order by 1"
    )


def test_a_zone_of_half_hours_cuts_days_where_its_midnight_is(
    load: Callable[..., Path], configured: Configured
) -> None:
    configured('timezone = "Asia/Kolkata"\n')
    warehouse = load(ran("a", 0, 86_400, gpus=8))

    # 00:00 UTC is 05:30
    assert [(date(2026, 3, 1), 18.5), (date(2026, 3, 2), 5.5)] == rows(
        warehouse,
        "select day, wall_seconds / 3600 from team_day "
        "where team = 'fleet' and workload = 'all' order by day",
    )


def test_a_day_is_complete_when_every_source_that_still_speaks_has_passed_its_end(
    load: Callable[..., Path],
) -> None:
    hour, day = 3600, 86_400
    warehouse = load(ran("old", -9 * day, -9 * day + hour), "--cluster", "c", name="c")
    load(ran("slow", day, day + 12 * hour), "--cluster", "b", name="b")
    load(ran("fast", 2 * day, 2 * day + hour), "--cluster", "a", name="a")

    # c fell silent over seven days ago; b stands at noon of 2 March
    assert [
        (date(2026, 2, 20), True),
        (FIRST, True),
        (date(2026, 3, 2), False),
        (LAST, False),
    ] == rows(
        warehouse,
        "select day, is_complete from days "
        "where day in ('2026-02-20', '2026-03-01', '2026-03-02', '2026-03-03') order by day",
    )
    assert [(date(2026, 2, 20), FIRST, LAST)] == rows(
        warehouse, "select first_day, last_complete_day, newest_day from publication"
    )
    assert [(False,), (False,), (True,)] == rows(
        warehouse,
        "select is_complete from team_day where team = 'fleet' and workload = 'all' "
        "order by day desc",
    )
    assert [True, False] == [
        window_of(warehouse, "fleet", "all", date(2026, 2, 20), last)["is_complete"]
        for last in (FIRST, date(2026, 3, 2))
    ]

    # all of b's jobs stand still, and its dump says so
    load(
        ran("slow", day, day + 12 * hour),
        "--cluster",
        "b",
        "--as-of",
        "2026-03-03T00:00:00Z",
        name="b",
    )

    assert [(date(2026, 3, 2),)] == rows(warehouse, "select last_complete_day from publication")


def test_a_day_on_which_nothing_ran_is_complete_once_the_clocks_have_passed_it(
    load: Callable[..., Path],
) -> None:
    hour = 3600
    warehouse = load(ran("a", 0, hour, "failed"), "--as-of", "2026-03-05T12:00:00Z", name="a")

    assert [(FIRST, date(2026, 3, 4), date(2026, 3, 4))] == rows(
        warehouse, "select first_day, last_complete_day, newest_day from publication"
    )
    assert 4 == len(rows(warehouse, "select day from days where is_complete"))
    for last, is_complete in ((4, True), (5, False), (31, False)):
        window = window_of(warehouse, "fleet", "all", date(2026, 3, 2), date(2026, 3, last))
        assert (is_complete, 0) == (window["is_complete"], window["interruptions"])


def test_a_source_that_spoke_seven_days_ago_still_holds_its_days_open(
    load: Callable[..., Path],
) -> None:
    day = 86_400
    load(ran("slow", -7 * day, -6 * day), "--cluster", "b", name="b")
    warehouse = load(ran("fast", 0, day), "--cluster", "a", name="a")

    # b's clock: midnight of 23 February, seven days before a's
    assert [(date(2026, 2, 22),)] == rows(warehouse, "select last_complete_day from publication")

    load(ran("fast", day, day + 1), "--cluster", "a", name="later")

    assert [(FIRST,)] == rows(warehouse, "select last_complete_day from publication")


@pytest.mark.parametrize(
    ("hours", "outcomes"),
    [(6, ("running", "running")), (2, ("lost", "running")), (1, ("lost", "lost"))],
)
def test_silence_is_as_long_as_the_settings_say(
    hours: float, outcomes: tuple[str, str], load: Callable[..., Path], configured: Configured
) -> None:
    configured(f"stale_after_hours = {hours}\n")
    warehouse = load(
        [
            *ran("exactly two hours", 0, 1000)[:-1],
            {"ts": moment(1001), "event": "alive", "job_id": "a second less"},
            *ran("clock", 0, 1000 + 7200),
        ]
    )

    # at exactly that age an attempt is lost
    assert outcomes == tuple(
        dict(rows(warehouse, "select job_id, outcome from attempts"))[job]
        for job in ("exactly two hours", "a second less")
    )
    assert [(hours * 3600.0,)] == rows(warehouse, "select stale_after_seconds from publication")


def test_every_area_is_one_of_the_list(fleet: Path) -> None:
    used = {area for (area,) in rows(fleet, "select distinct area from area_by_attempt")}

    assert set(AREAS) == used
    assert 0 == sum(
        seconds for area, seconds in areas(fleet, "1", 1).items() if area != "uninstrumented"
    )


# what is told, and what is asked

SACCT = (
    "JobIDRaw|Account|State|ExitCode|Submit|Start|End|AllocTRES",
    "1|ranking|COMPLETED|0:0|2026-03-01T20:00:00|2026-03-01T20:10:00|2026-03-02T03:00:00|gres/gpu=16",
    "2|ads|PREEMPTED|0:0|2026-03-02T01:00:00|2026-03-02T01:10:00|2026-03-02T02:00:00|gres/gpu=8",
    "2|ads|FAILED|1:0|2026-03-02T02:00:01|2026-03-02T02:10:00|2026-03-02T02:30:00|gres/gpu=8",
    "3|vision|TIMEOUT|0:0|2026-03-02T23:00:00|2026-03-02T23:10:00|2026-03-03T00:00:00|cpu=4",
)


def moment(second: float) -> str:
    """Seconds after the first midnight."""
    at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=second)
    return at.isoformat()


def midnight(day: date, later: int) -> datetime:
    return datetime.combine(
        day + timedelta(days=later), datetime.min.time(), ZoneInfo("Europe/Berlin")
    )


def ran(job: str, start: float, end: float, outcome: str = "completed", **said: Any) -> list[Event]:
    """A job that starts up for 100 s, trains, and ends; the end is its last event."""
    ended = {name: said.pop(name) for name in ("category",) if name in said}
    known = {name: value for name, value in said.items() if value is not None}
    return [
        {"ts": moment(start), "event": "job", "job_id": job, **known},
        {"ts": moment(start), "event": "attempt_start", "job_id": job},
        {"ts": moment(start + 100), "event": "phase_start", "phase": "training", "job_id": job}
        | {"end_ts": moment(max(end, start + 100))},
        {"ts": moment(end), "event": "attempt_end", "job_id": job, "outcome": outcome, **ended},
    ]


def lasted(job: str, start: datetime, end: datetime) -> list[Event]:
    return [
        {"ts": start.isoformat(), "event": "attempt_start", "job_id": job, "gpus": 1},
        {"ts": end.isoformat(), "event": "attempt_end", "job_id": job, "outcome": "completed"},
    ]


def attributions() -> dict[str, str]:
    with (ROOT / "queries" / "failure_categories.csv").open(encoding="utf-8") as opened:
        return {
            f"{line['domain']}/{line['category']}": line["attribution"]
            for line in csv.DictReader(opened)
        }


def columns_of(warehouse: Path, view: str) -> dict[str, str]:
    return {row[0]: row[1] for row in rows(warehouse, f"describe select * from {view}")}


def window_of(warehouse: Path, team: str, workload: str, first: date, last: date) -> Row:
    (row,) = table(warehouse, "from window_of(?, ?, ?, ?)", [team, workload, first, last])
    return row


def samples_of(
    measures: Measures, team: str, workload: str, first: date, last: date
) -> dict[str, list[int]]:
    """Every latency and save of a scope whose day lies in the window, as the oracle has it."""

    def falls_in(at: int | None) -> bool:
        return at is not None and first <= day_of(at) <= last

    samples: dict[str, list[int]] = {"tts": [], "ttr": [], "save": []}
    for told in measures.attempts.values():
        if told.gpus == 0 or team not in ("fleet", told.team):
            continue
        if workload not in ("all", told.workload or "(none)"):
            continue
        if falls_in(told.first_batch_us):
            samples["tts"] += [told.tts_us] if told.tts_us is not None else []
            samples["ttr"] += [told.ttr_us] if told.ttr_us is not None else []
        samples["save"] += [
            save.ended_us - save.captured_us
            for save in told.saves
            if save.status == "good" and falls_in(save.ended_us)
        ]
    return samples


def day_of(at: int) -> date:
    return (datetime(1970, 1, 1) + timedelta(microseconds=at)).date()


def additive(row: Row, names: Sequence[str] = ()) -> dict[str, int]:
    """What adds up, in microseconds or as counts; what cannot be known adds nothing."""
    chosen = names or (*ADDITIVE_SECONDS, *ADDITIVE_COUNTS, *RUNNING)
    return {
        name: (us(row[name]) if name.endswith("_seconds") else row[name]) or 0 for name in chosen
    }


def summed(parts: Iterable[Row], names: Sequence[str] = ()) -> dict[str, int]:
    total: dict[str, int] = dict.fromkeys(
        names or (*ADDITIVE_SECONDS, *ADDITIVE_COUNTS, *RUNNING), 0
    )
    for part in parts:
        for name, value in additive(part, names).items():
            total[name] += value
    return total


def ratios_of(row: Row) -> dict[str, float | None]:
    return {
        name: ratio(signed(row, numerator), signed(row, denominator))
        for name, (numerator, denominator) in RATIOS.items()
    }


def signed(row: Row, names: Iterable[str]) -> float:
    total = 0.0
    for name in names:
        value = row[name.removeprefix("-")] or 0
        total += -value if name.startswith("-") else value
    return round(total, 6)


def ratio(numerator: float, denominator: float) -> float | None:
    return round(numerator / denominator, 9) if denominator else None


def rounded(value: Any) -> Any:
    return round(value, 9) if isinstance(value, float) else value


def us(seconds: float | None) -> int:
    return None if seconds is None else round(seconds * 1e6)  # type: ignore[return-value]
