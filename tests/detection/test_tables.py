"""What a publication says of what got worse: made anew when anything changed, and never in its way.

Short histories: what is found in long ones is tested elsewhere.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from app.monitoring.reading import answers, tables
from app.warehouse import connect
from queries import model, published, regression_tables
from queries.regressions import Found, Settings, detect
from tests.detection import dumps
from tests.ingest.warehouses import STARTED_AT, kept, life
from tests.queries.engine import ingest, rows, write_dump

FIRST = date(2026, 1, 5)
KEPT = ("regressions", "quiet_series", "regression_gates", "detector")
EVIDENCE = """
select table_name from duckdb_tables() where table_name ~ '^regression_|quiet_series'
"""


def load(warehouse: Path, *days: int, as_of: int, seed: int = 4, most: int = 1000) -> None:
    """Load the first jobs of these days, 0 the first; the clock reaches the start of `as_of`.

    A batch that touches a quarter of all jobs is published whole, a smaller one in part.
    """
    chosen = [job for job in dumps.jobs(seed) if job.day in days][:most]
    jobs = [
        event | {"job_id": f"{seed}-{event['job_id']}"}
        for event in dumps.events(chosen)
        if event["event"] != "change"
    ]
    reaches = f"{FIRST + timedelta(days=as_of)}T00:00:00Z"

    assert 0 == ingest(
        warehouse, write_dump(warehouse.parent / f"{days}.jsonl", jobs), "--as-of", reaches
    )


def broken(cells: pl.DataFrame, through: date, settings: Settings) -> Found:
    raise ValueError("of team secret")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Days 1 and 2 and half of day 3, published."""
    warehouse = tmp_path_factory.mktemp("loaded") / "warehouse"
    load(warehouse, 1, 2, 3, as_of=3)
    return warehouse


@pytest.fixture
def warehouse(loaded: Path, tmp_path: Path) -> Path:
    shutil.copytree(loaded, tmp_path / "warehouse")
    return tmp_path / "warehouse"


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs of stages, each of a team of its own."""
    warehouse = tmp_path_factory.mktemp("staged") / "warehouse"
    dump = write_dump(warehouse.with_name("events.jsonl"), in_stages() + recompiling())

    assert 0 == ingest(warehouse, dump, "--as-of", "2026-03-05T00:00:00Z")
    return warehouse


def in_stages() -> list[dict[str, object]]:
    phases = ("trainer_init", "training", "evaluation", "checkpoint_save", "shutdown")
    told = life("staged", team="feed")
    told[1]["ts"] = STARTED_AT + 5  # training begins behind the first of them
    return told + [
        told[0]
        | {"event": "phase_start", "phase": phase, "stage": "part"}
        | {"ts": STARTED_AT + place * 10, "end_ts": STARTED_AT + place * 10 + 5}
        for place, phase in enumerate(phases)
    ]


def test_of_stages_only_those_of_starting_and_stopping_are_watched(staged: Path) -> None:
    assert [("shutdown_part_seconds",), ("trainer_init_part_seconds",)] == rows(
        staged,
        "select metric from quiet_series where team = 'feed' and metric like '%_part_seconds' "
        "order by metric",
    )


def recompiling() -> list[dict[str, object]]:
    told = life("recompiling", team="ads")
    # the first two before it, of two ranks; graphs that break make more of them in a longer run
    return told + [
        told[0]
        | {"event": "phase_start", "phase": "pt2_compile", "stage": "graph", "rank": rank}
        | {"ts": STARTED_AT + start, "end_ts": STARTED_AT + end}
        for rank, start, end in ((0, 0, 5), (1, 2, 10), (0, 100, 130), (1, 101, 133))
    ]


def test_of_a_stage_what_came_before_the_first_batch_is_watched(staged: Path) -> None:
    facts = "select us, startup_us from stage_facts_kept where stage = 'graph'"

    assert [(43_000_000, 10_000_000)] == kept(staged, facts)
    cells = "select distinct amount_us from series_cells_kept where metric like '%graph_seconds'"
    assert [(10_000_000,)] == kept(staged, cells)


@pytest.mark.parametrize(("known", "sizes"), [(True, {3}), (False, {-1})])
def test_failures_are_those_of_known_gpus_where_any_are_known(
    tmp_path: Path, known: bool, sizes: set[int]
) -> None:
    failed = [
        event
        for job, gpus in (("a", 8 if known else None), ("b", None))
        for event in failure(job, gpus)
    ]
    ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", failed))
    with duckdb.connect(str(tmp_path / "warehouse" / "warehouse.duckdb")) as reader:
        read = regression_tables.cells(reader, FIRST)
    rates = read.filter(pl.col("metric").str.starts_with("failures"))

    assert {"failures", "failures_gpu_hardware"} <= set(rates["metric"])
    assert sizes == set(rates["size"])
    # a level is nobody's denominator
    assert -1 in read.filter(pl.col("metric") == "ett_ratio")["size"]


def test_failures_are_held_against_all_of_the_time_of_short_attempts(tmp_path: Path) -> None:
    begins = datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=UTC).timestamp()
    short = [
        {"job_id": f"short {number}", "gpus": 8, "ts": begins + 60 * number + after} | said
        for number in range(10)
        for after, said in (
            (0.0, {"event": "attempt_start"}),
            (1.9, {"event": "attempt_end", "outcome": "failed"}),
        )
    ]
    ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", short))
    with duckdb.connect(str(tmp_path / "warehouse" / "warehouse.duckdb")) as reader:
        read = regression_tables.cells(reader, FIRST)

    assert 10 * 1.9 * 8 == pytest.approx(
        read.filter(pl.col("metric") == "failures")["exposure"].sum()
    )


def failure(job: str, gpus: int | None) -> list[dict[str, object]]:
    begins = datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=UTC).timestamp()
    said = {"job_id": job} | ({} if gpus is None else {"gpus": gpus})
    return [
        said | {"ts": begins, "event": "attempt_start"},
        said
        | {"ts": begins + 10, "end_ts": begins + 500, "event": "phase_start"}
        | {"phase": "training"},
        said
        | {"ts": begins + 600, "event": "attempt_end", "outcome": "failed"}
        | {"category": "gpu_hardware/gpu_off_bus"},
    ]


@pytest.fixture
def through(monkeypatch: pytest.MonkeyPatch) -> list[date]:
    """The last days with which the detector is run from now on."""
    days: list[date] = []

    def noting(cells: pl.DataFrame, last: date, settings: Settings) -> Found:
        days.append(last)
        return detect(cells, last, settings)

    monkeypatch.setattr(regression_tables, "detect", noting)
    return days


# -- a detector that fails -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def failed(loaded: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A publication with a detector that fails, and what the ingest warned of."""
    warehouse = tmp_path_factory.mktemp("failed") / "warehouse"
    shutil.copytree(loaded, warehouse)
    warnings = Warnings(logging.WARNING)
    logging.getLogger("ingest").addHandler(warnings)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(regression_tables, "detect", broken)
        load(warehouse, 4, as_of=5)
    logging.getLogger("ingest").removeHandler(warnings)
    return warehouse, warnings.told


class Warnings(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


def test_a_failing_detector_does_not_stop_a_publication(failed: tuple[Path, list[str]]) -> None:
    warehouse, [warning] = failed

    assert [(FIRST + timedelta(days=4),)] == rows(warehouse, "select max(day) from team_day")
    assert "the detector failed with ValueError at queries/regression_tables.py:" in warning
    assert "report this line" in warning
    assert "secret" not in warning


@pytest.mark.parametrize("select", ["count(*)", "team", "max(lost_gpu_seconds_per_day)"])
def test_after_a_failure_no_reader_can_take_the_fleet_for_a_quiet_one(
    select: str, failed: tuple[Path, list[str]]
) -> None:
    with pytest.raises(duckdb.Error, match=r"not known what got worse.* ValueError"):
        rows(failed[0], f"select {select} from regressions where state = 'open'")


def test_after_a_failure_the_columns_stay_and_the_evidence_goes(
    loaded: Path, failed: tuple[Path, list[str]]
) -> None:
    columns = "select column_name, column_type from (describe regressions) order by all"

    assert rows(loaded, columns) == rows(failed[0], columns)
    assert [] == rows(failed[0], EVIDENCE)
    assert rows(loaded, EVIDENCE)


def test_after_a_failure_the_exporter_tells_of_no_regression_and_says_that_it_could_not(
    failed: tuple[Path, list[str]],
) -> None:
    with closing(connect(published(failed[0]))) as connection:
        told = tables(list(answers(connection)), "1")
    success = {row["view"]: row["success"] for row in told["exporter"]}

    assert "regressions" not in told
    assert 0 == success.pop("regressions")
    assert {1} == set(success.values())


def test_the_publication_after_a_failure_tries_again(
    failed: tuple[Path, list[str]], tmp_path: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    shutil.copytree(failed[0], warehouse)
    load(warehouse, 4, as_of=6)

    assert [] == rows(warehouse, "from regressions")
    assert [(None,)] == rows(warehouse, "select failed_because from detector")


def test_a_full_disk_is_no_fault_of_the_detector(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_full_disk(*_: object) -> Found:
        raise duckdb.IOException("Could not write file: No space left on device")

    before = published(warehouse)
    monkeypatch.setattr(regression_tables, "detect", on_a_full_disk)
    dump = write_dump(warehouse.parent / "late.jsonl", dumps.events(dumps.jobs()[:3]))

    assert 2 == ingest(warehouse, dump)
    assert before == published(warehouse)


# -- what makes it run ---------------------------------------------------------------------------


def test_the_detector_does_not_run_for_what_the_unfinished_day_told(
    warehouse: Path, through: list[date]
) -> None:
    before = {name: rows(warehouse, f"from {name} order by all") for name in KEPT}
    sequence = published(warehouse)

    load(warehouse, 3, as_of=3, seed=5, most=4)

    assert [] == through
    assert sequence != published(warehouse)
    assert before == {name: rows(warehouse, f"from {name} order by all") for name in KEPT}
    assert before["quiet_series"]


def test_the_detector_runs_when_a_day_is_complete(warehouse: Path, through: list[date]) -> None:
    load(warehouse, 1, 2, 3, as_of=4)

    assert [FIRST + timedelta(days=3)] == through


def test_the_detector_runs_for_late_data(warehouse: Path, through: list[date]) -> None:
    load(warehouse, 0, as_of=3, seed=5, most=1)

    assert [FIRST + timedelta(days=2)] == through


def test_the_detector_runs_under_other_settings(
    warehouse: Path, through: list[date], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ett.toml"
    config.write_text("[regressions]\nsla_days = 3\n", encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(config))
    load(warehouse, 1, 2, 3, as_of=3)

    assert [FIRST + timedelta(days=2)] == through


def test_the_detector_runs_for_a_roll_out_which_it_may_have_to_name(
    warehouse: Path, through: list[date], tmp_path: Path
) -> None:
    at = datetime(2026, 1, 7, tzinfo=UTC).timestamp()
    change = {"ts": at, "event": "change", "name": "driver 570"}

    assert 0 == ingest(warehouse, write_dump(tmp_path / "change.jsonl", [change]))
    assert [FIRST + timedelta(days=2)] == through
    assert [("driver 570",)] == rows(warehouse, "select name from changes")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Roll-outs of several teams, and one without a name."""
    warehouse = tmp_path_factory.mktemp("changed") / "warehouse"
    change = {"ts": "2026-01-07T00:00:00Z", "event": "change"}
    named = change | {"name": "driver 570"}
    told = [named | {"team": team} for team in ("ads", "fleet", "fleet (team)")]
    told += [named, change | {"description": "no name"}]

    assert 0 == ingest(warehouse, write_dump(warehouse.with_name("change.jsonl"), told))
    return warehouse


def test_a_roll_out_without_a_name_is_shown_as_none(changed: Path) -> None:
    assert [("(none)", "no name")] == rows(
        changed, "select name, description from changes where name <> 'driver 570'"
    )


def test_a_roll_out_names_a_team_as_its_attempts_do(changed: Path) -> None:
    assert [("ads",), ("fleet (team)",), ("fleet (team) (team)",), (None,)] == rows(
        changed, "select team from changes where name = 'driver 570' order by team nulls last"
    )


# -- units ---------------------------------------------------------------------------------------


def test_classes_of_failures_are_in_the_unit_in_which_failures_are_shown() -> None:
    told = classes(
        "failures_storage",
        # a thousand GPUs for a day, before and after; 2 failures, then 6, all of storage
        "('failures', date '2026-01-06', 86400000000, 0, 0)",
        "('failures', date '2026-01-08', 86400000000, 0, 0)",
        "('failures', date '2026-01-06', 0, 2, 0)",
        "('failures', date '2026-01-08', 0, 6, 0)",
        "('failures_storage', date '2026-01-06', 0, 2, 0)",
        "('failures_storage', date '2026-01-08', 0, 6, 0)",
    )

    assert [(2.0, 6.0, 4.0, 0.0)] == told


def test_classes_of_latencies_are_summed_exactly() -> None:
    told = classes(
        "tts_seconds",
        # a tenth and two tenths of a second, which as seconds add up to a little over three
        "('tts_seconds', date '2026-01-06', 1, 0, 100000)",
        "('tts_seconds', date '2026-01-07', 0, 0, 200000)",
        "('tts_seconds', date '2026-01-08', 1, 0, 300000)",
    )

    assert [(0.3, 0.3, 0.0, 0.0)] == told


@pytest.mark.parametrize(("before", "told"), [(0, []), (1, [(0.1, 0.3)])])
def test_where_nothing_ran_before_no_change_is_that_of_other_work(
    before: int, told: list[tuple[float, float]]
) -> None:
    split = next(each for each in model.models("serving/regressions") if "split" in each.name)
    with duckdb.connect() as connection:
        connection.execute(
            "create table regression_classes as select 'feed' as team, 'tts_seconds' as metric,"
            " date '2026-01-08' as started_on, 1e0 * $before as before_share, 1e0 as after_share,"
            " if($before = 1, 1e-1, null) as before_value, 3e-1 as after_value,"
            " 0.2 * $before as speed_change, 0.3 * (1 - $before) as mix_change",
            {"before": before},
        )
        found = connection.execute(f"select before_mean, after_mean from ({split.sql})").fetchall()

    assert told == found


def classes(metric: str, *cells: str) -> list[tuple[float, ...]]:
    """What is told of the only class of a regression on 8 January 2026, compared from the 5th.

    A cell has metric, day, exposure, total and amount_us.
    """
    model_of = {each.name: each for each in model.models("serving/regressions")}
    with duckdb.connect() as connection:
        connection.execute(
            "create table fresh_regressions as select 'feed' as team, $metric as metric,"
            " date '2026-01-08' as started_on, date '2026-01-05' as before_from,"
            " date '2026-01-09' as after_to",
            {"metric": metric},
        )
        connection.execute(
            "create table read_cells as"
            " select 'feed' as team, *, 'x' as workload, 3 as size"
            f" from (values {', '.join(cells)}) as told (metric, day, exposure, total, amount_us)"
        )
        return connection.execute(
            "select before_value, after_value, speed_change, mix_change "
            f"from ({model_of['regression_classes'].sql})"
        ).fetchall()
