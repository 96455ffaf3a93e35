"""From a dump, through ingest, to the tables that tell what got worse."""

from __future__ import annotations

import math
import random
import shutil
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path

import duckdb
import pytest

from ingest import keep
from queries import model
from tests.detection import dumps
from tests.detection.dumps import DAY, DAYS, SLOWER_FROM, Job, asked, cells, served
from tests.ingest.warehouses import life
from tests.queries.engine import ingest, rows, write_dump

FIRST = date(2026, 1, 5)
AS_OF = f"{FIRST + timedelta(days=DAYS)}T00:00:00Z"


@pytest.fixture(scope="module")
def told() -> list[Job]:
    return dumps.jobs()


@pytest.fixture(scope="module")
def warehouse(told: list[Job], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")

    assert 0 == ingest(
        folder / "warehouse",
        write_dump(folder / "all.jsonl", dumps.events(told)),
        "--as-of",
        AS_OF,
    )
    return folder / "warehouse"


@pytest.fixture(scope="module")
def serving(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served(warehouse, tmp_path_factory.mktemp("served") / "copy")


def failing_rows() -> list[str]:
    """A table of sacct of equal jobs, of which more fail in the last days."""
    first, lines = datetime(2026, 1, 1), ["JobID|State|Start|End|AllocTRES"]
    for day, job in product(range(100), range(20)):
        start = first + timedelta(days=day, minutes=30 * job)
        state = "NODE_FAIL" if job % 20 < (1 if day < 88 else 8) else "COMPLETED"
        end = start + timedelta(hours=2)
        number = 1000 * day + job
        lines.append(f"{number}|{state}|{start:%FT%T}|{end:%FT%T}|gres/gpu=64")
    return lines


def test_where_nothing_got_worse_the_tables_have_the_columns_that_they_always_have(
    serving: Path, tmp_path: Path
) -> None:
    """The oracle is the engine, which tells the columns of each select."""
    ingest(tmp_path / "quiet", write_dump(tmp_path / "dump.jsonl", life("a")))
    columns = (
        "select table_name, column_name, data_type from duckdb_columns() "
        "where table_name ~ '^regression' and database_name = current_database() "
        "order by table_name, column_index"
    )

    assert [(0,)] == rows(tmp_path / "quiet", "select count(*) from regressions")
    assert asked(serving, "select count(*) from regressions") != [(0,)]
    assert asked(serving, columns) == rows(tmp_path / "quiet", columns)


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of that table."""
    folder = tmp_path_factory.mktemp("scheduled")
    (folder / "sacct.txt").write_text("\n".join(failing_rows()) + "\n", encoding="utf-8")

    assert 0 == ingest(folder / "warehouse", folder / "sacct.txt")
    return folder / "warehouse"


def test_the_series_are_the_sums_that_the_jobs_told(told: list[Job], warehouse: Path) -> None:
    expected: dict[tuple[object, ...], list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for job in told:
        whole = {f"{phase}_seconds": took for phase, took in job.seconds.items()}
        whole |= {
            "tts_seconds": sum(job.seconds.values()) - job.seconds["scheduling"],
            "shutdown_seconds": job.shutdown,
        }
        for name, took in whole.items():
            trial = job.outcome if name == "shutdown_seconds" else "first"
            key = (job.team, name, FIRST + timedelta(days=job.day), job.workload)
            sums = expected[(*key, int(math.log2(job.gpus)), trial, job.model)]
            sums[0] += 1
            sums[1] += math.log(took)
            sums[2] += took * job.gpus
    found = {
        tuple(row[:7]): list(row[7:])
        for row in cells(
            warehouse,
            "select team, metric, day, workload, size, trial, model, exposure, total / 1e6, "
            "gpu_us / 1e6 from series_cells_kept where metric like '%_seconds'",
        )
    }

    assert expected.keys() == found.keys()
    for key, sums in expected.items():
        assert found[key] == pytest.approx(sums, abs=1e-4), key


def test_the_ends_and_the_seconds_are_those_that_the_jobs_told(
    told: list[Job], warehouse: Path
) -> None:
    totals = dict(
        cells(warehouse, "select metric, sum(total)::bigint from series_cells_kept group by metric")
    )
    exposures = dict(
        cells(
            warehouse, "select metric, sum(exposure)::bigint from series_cells_kept group by metric"
        )
    )
    starts = sum(sum(job.seconds.values()) + job.shutdown for job in told)
    wall = starts + sum(job.trains for job in told)

    assert sum(job.outcome == "preempted" for job in told) == totals["preemption_ratio"]
    assert sum(job.outcome == "failed" for job in told) == totals["failures"]
    assert len(told) == exposures["preemption_ratio"]
    assert wall * 1000 == pytest.approx(exposures["ett_ratio"], rel=1e-6)
    assert totals["ett_ratio"] > starts * 1000
    assert (
        sum(total for name, total in totals.items() if name.startswith("failures_"))
        == (totals["failures"])
    )


def test_the_planted_change_is_found_and_named(serving: Path) -> None:
    assert [("ranking", "trainer_init_seconds", "slower", "trainer_init", True)] == asked(
        serving,
        "select team, metric, verdict, phase, is_within_sla from regressions where state = 'open'",
    )
    [(started_on, change)] = asked(
        serving, "select started_on, change_ratio from regressions where state = 'open'"
    )
    assert abs((started_on - FIRST).days - SLOWER_FROM) <= 1
    assert change == pytest.approx(0.6, abs=0.1)


def test_what_ends_cost_is_unknown_where_a_scheduler_alone_tells_of_them_and_not_small(
    scheduled: Path,
) -> None:
    [(metric, lost, is_gpu_weighed, severity, sentence)] = rows(
        scheduled,
        "select metric, lost_gpu_seconds_per_day, is_gpu_weighed, severity, sentence "
        "from regressions where state = 'open'",
    )

    assert ("failures", None, True, "ticket") == (metric[:8], lost, is_gpu_weighed, severity)
    assert "per 1,000 GPU-days" in sentence
    assert {(None,)} == set(
        rows(
            scheduled,
            "select coalesce(excess_gpu_seconds, excess_seconds) from regression_jobs",
        )
    )


def test_of_what_cost_alike_the_same_jobs_are_listed_whichever_dump_came_first(
    scheduled: Path, tmp_path: Path
) -> None:
    header, *lines = failing_rows()
    for number in (1, 0):
        half = tmp_path / f"{number}.txt"
        half.write_text("\n".join([header, *lines[number::2]]) + "\n", encoding="utf-8")
        assert 0 == ingest(tmp_path / "back", half)
    forth, back = (
        rows(warehouse, "select team, metric, place, job_id from regression_jobs order by all")
        for warehouse in (scheduled, tmp_path / "back")
    )

    assert forth
    assert forth == back


def test_what_a_change_costs_is_unknown_where_the_gpus_are_and_not_small(
    told: list[Job], tmp_path: Path
) -> None:
    slowest = max(told, key=lambda job: job.seconds["trainer_init"])
    events = [
        {name: value for name, value in event.items() if name != "gpus"}
        # work that the team never ran before
        | ({"workload": "evaluation"} if event.get("job_id") == slowest.name else {})
        for event in dumps.events(told)
    ]
    dump = write_dump(tmp_path / "all.jsonl", events)

    assert 0 == ingest(tmp_path / "warehouse", dump, "--as-of", AS_OF)
    assert ("ranking", True) == (slowest.team, slowest.day >= SLOWER_FROM)
    [(team, lost, severity, sentence)] = rows(
        tmp_path / "warehouse",
        "select team, lost_gpu_seconds_per_day, severity, sentence "
        "from regressions where state = 'open'",
    )

    assert ("ranking", None, "ticket") == (team, lost, severity)
    assert "GPU" not in sentence

    # by GPU-hours none comes before another
    worst = rows(
        tmp_path / "warehouse",
        "select excess_gpu_seconds, excess_seconds, "
        "seconds - coalesce(expected_seconds, expected), job_id, expected_seconds "
        "from regression_jobs "
        "inner join regressions using (team, metric, started_on) "
        "where metric = 'trainer_init_seconds' order by place",
    )

    assert 10 == len(worst)
    assert [slowest.name] == [row[3] for row in worst if row[4] is None]
    assert {None} == {row[0] for row in worst}
    assert sorted((row[1] for row in worst), reverse=True) == [row[1] for row in worst]
    assert [row[2] for row in worst] == pytest.approx([row[1] for row in worst])


def test_the_sentence_says_who_what_since_when_and_what_was_rolled_out(serving: Path) -> None:
    [(sentence,)] = asked(serving, "select sentence from regressions where state = 'open'")

    assert sentence.startswith("Trainer init for ranking: 2 min ")
    assert "(+" in sentence
    assert "GPU-hours a day" in sentence
    assert "Rolled out in those days: trainer 9 (new trainer image)." in sentence


@pytest.mark.parametrize(("days", "is_said"), [(6, False), (7, True)])
def test_a_team_that_no_longer_runs_is_said_to(
    days: int, is_said: bool, warehouse: Path, tmp_path: Path
) -> None:
    shutil.copytree(warehouse, tmp_path / "warehouse", symlinks=True)
    later = FIRST + timedelta(days=DAYS + days)
    known = warehouse.with_name("all.jsonl")

    assert 0 == ingest(tmp_path / "warehouse", known, "--as-of", f"{later}T00:00:00Z")
    [(state, sentence)] = rows(
        tmp_path / "warehouse",
        "select state, sentence from regressions where metric = 'trainer_init_seconds'",
    )

    last = FIRST + timedelta(days=DAYS - 1)
    assert "open" == state
    assert is_said == (f"Nothing was told of it after {last.day} {last:%b}." in sentence)


def test_where_all_work_is_other_work_none_is_said_to_take_as_long_as_before(
    told: list[Job], tmp_path: Path
) -> None:
    """Jobs on 512 GPUs take four times as long; from a day on `ranking` has no others."""
    jobs = []
    for place, job in enumerate(told):
        is_ranking = job.team == "ranking"
        usual = 1 / 1.6 if is_ranking and job.day >= SLOWER_FROM else 1.0
        is_large = job.day >= SLOWER_FROM if is_ranking else place % 2 == 0
        took = job.seconds["trainer_init"] * usual * (4 if is_large else 1)
        seconds = job.seconds | {"trainer_init": round(took, 3)}
        jobs.append(replace(job, gpus=512 if is_large else 8, seconds=seconds))
    dump = write_dump(tmp_path / "all.jsonl", dumps.events(jobs))

    assert 0 == ingest(tmp_path / "warehouse", dump, "--as-of", AS_OF)
    [(verdict, sentence)] = rows(
        tmp_path / "warehouse",
        "select verdict, sentence from regressions "
        "where team = 'ranking' and metric = 'trainer_init_seconds'",
    )

    assert "mix" == verdict
    assert "257-512 GPUs went from 0 % to " in sentence
    assert "same work" not in sentence


def test_speed_and_mix_sum_to_the_change_of_the_mean(serving: Path) -> None:
    splits = asked(
        serving,
        "select mean_change, speed_change, mix_change, after_mean - before_mean "
        "from regression_split",
    )

    assert splits
    for change, speed, mix, difference in splits:
        assert speed + mix == pytest.approx(change, abs=1e-9)
        assert difference == pytest.approx(change, abs=1e-9)


def test_the_mean_of_the_split_is_that_of_the_attempts(serving: Path) -> None:
    [(mean,)] = asked(
        serving,
        "select after_mean from regression_split where metric = 'trainer_init_seconds'",
    )
    [(expected,)] = asked(
        serving,
        "select avg(trainer_init_seconds) from attempts inner join regressions as found "
        "on attempts.team = found.team and found.metric = 'trainer_init_seconds' "
        "and first_batch_day between found.started_on and found.after_to",
    )

    assert expected == pytest.approx(mean)


def test_the_phase_that_carries_it_changed_most(serving: Path) -> None:
    [(part, change)] = asked(
        serving,
        "select part, change_seconds from regression_parts "
        "where metric = 'trainer_init_seconds' and part <> 'tts_seconds' "
        "and part <> 'ttr_seconds' order by change_seconds desc limit 1",
    )

    assert "trainer_init_seconds" == part
    assert 60 < change < 120


def test_the_jobs_that_cost_most_come_first_and_are_of_the_team(serving: Path) -> None:
    worst = asked(
        serving,
        "select place, job_team, excess_gpu_seconds, seconds > expected_seconds, day "
        "from regression_jobs where metric = 'trainer_init_seconds' order by place",
    )

    assert list(range(1, 11)) == [row[0] for row in worst]
    assert {"ranking"} == {row[1] for row in worst}
    assert sorted((row[2] for row in worst), reverse=True) == [row[2] for row in worst]
    assert all(row[3] for row in worst)
    assert all(row[4] >= FIRST + timedelta(days=SLOWER_FROM - 2) for row in worst)


def test_the_roll_out_is_listed_with_its_distance(serving: Path) -> None:
    [(name, days)] = asked(
        serving,
        "select name, days_before from regression_changes where metric = 'trainer_init_seconds'",
    )

    assert "trainer 9" == name
    assert abs(days) <= 1
    assert [("trainer 9", "ranking")] == asked(serving, "select name, team from changes")


def test_every_series_is_told_of_or_quiet_for_a_reason(serving: Path) -> None:
    keys = asked(
        serving,
        "select team, metric from quiet_series "
        "union all select team, metric from regressions where state = 'open'",
    )

    assert len(keys) == len(set(keys))
    assert {("feed", "trainer_init_seconds"), ("fleet", "ett_ratio")} < set(keys)
    assert [] == asked(serving, "from quiet_series where held_back_by is null")


@pytest.mark.parametrize(
    ("view", "grain"),
    [
        ("regressions", "team, metric, started_on"),
        ("regression_gates", "team, metric, started_on, gate"),
        ("regression_symptoms", "team, metric, started_on, symptom_team, symptom_metric"),
        ("regression_points", "team, metric, started_on, series_team, day"),
        ("regression_teams", "team, metric, started_on, series_team"),
        ("regression_split", "team, metric, started_on"),
        ("regression_classes", "team, metric, started_on, workload, size"),
        ("regression_parts", "team, metric, started_on, part"),
        ("regression_causes", "team, metric, started_on, failure_domain, failure_category"),
        ("regression_counts", "team, metric, started_on"),
        ("regression_jobs", "team, metric, started_on, place"),
        ("regression_changes", "team, metric, started_on, changed_at, name"),
        ("changes", "changed_at, name, team"),
        ("quiet_series", "team, metric"),
    ],
)
def test_no_key_of_a_view_comes_twice(view: str, grain: str, serving: Path) -> None:
    assert [] == asked(serving, f"select {grain} from {view} group by {grain} having count(*) > 1")


def test_late_parts_in_another_order_give_the_same_tables(
    told: list[Job], serving: Path, tmp_path: Path
) -> None:
    """The state is a function of the data: nothing depends on how it came in."""
    every = list(dumps.events(told))
    early, late = every[: len(every) // 3], every[len(every) // 3 :]
    warehouse = tmp_path / "warehouse"
    for name, part in (("late", late), ("early", early), ("again", every[100:900])):
        dump = write_dump(tmp_path / f"{name}.jsonl", part)
        assert 0 == ingest(warehouse, dump, "--as-of", AS_OF)
    again = served(warehouse, tmp_path / "served")

    for view in ("regressions", "regression_gates", "regression_symptoms", "quiet_series"):
        assert asked(serving, f"from {view} order by all") == asked(
            again, f"from {view} order by all"
        )


def test_a_warehouse_of_three_days_has_every_view_and_no_regression(tmp_path: Path) -> None:
    few = [job for job in dumps.jobs() if job.day < 3]
    # without the roll-out, which comes on a later day: the days up to it would be complete
    told = [event for event in dumps.events(few) if event["event"] != "change"]
    dump = write_dump(tmp_path / "few.jsonl", told)
    assert 0 == ingest(tmp_path / "warehouse", dump)
    young = served(tmp_path / "warehouse", tmp_path / "served")

    assert [] == asked(young, "from regressions")
    assert [("baseline_too_short",)] == asked(
        young, "select distinct held_back_by from quiet_series"
    )


def test_an_empty_warehouse_has_every_view(tmp_path: Path) -> None:
    dump = write_dump(
        tmp_path / "bare.jsonl",
        [{"ts": dumps.BEGINS, "event": "change", "name": "x", "description": "y"}],
    )
    assert 0 == ingest(tmp_path / "warehouse", dump)
    bare = served(tmp_path / "warehouse", tmp_path / "served")

    assert [] == asked(bare, "from regressions")
    assert [] == asked(bare, "from quiet_series")


# -- in pieces -----------------------------------------------------------------------------------


def test_evidence_that_came_in_pieces_is_what_a_whole_publication_tells(
    told: list[Job],
    warehouse: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What `ett-warehouse check` compares is built whole."""
    asked_for: list[int] = []
    days_by_ingest = []
    shutil.copytree(warehouse, tmp_path / "warehouse")

    def noting(connection: duckdb.DuckDBPyConnection, *layers: str) -> None:
        show(connection, *layers)
        asked_for.append(len(connection.execute("from touched_days").fetchall()))

    show = model.show
    monkeypatch.setattr(model, "show", noting)
    for day in (10, SLOWER_FROM + 3, SLOWER_FROM - 18):
        late = [
            replace(job, name=f"late-{job.name}")
            for job in told
            if job.team == "ranking" and job.day == day
        ]
        dump = write_dump(tmp_path / f"{day}.jsonl", dumps.events(late))

        asked_for.clear()
        assert 0 == ingest(tmp_path / "warehouse", dump, "--as-of", AS_OF)
        days_by_ingest.append(sum(asked_for))
        assert 0 == keep.main(["check", "--warehouse", str(tmp_path / "warehouse")])
        assert "sound" in capsys.readouterr().out

    # neither before the regression nor in it: its evidence stays as it is
    neither, within, before = days_by_ingest
    assert 0 == neither
    assert within >= 10
    assert before >= 10


def test_evidence_calls_a_pruned_job_whose_number_was_given_out_again_as_the_others_do(
    scheduled: Path, tmp_path: Path
) -> None:
    shutil.copytree(scheduled, tmp_path / "warehouse", symlinks=True)
    again = tmp_path / "again.txt"
    first = "select job_id from regression_jobs where place = 1"
    [(told,)] = rows(tmp_path / "warehouse", first)
    prune = ["prune", "--before", "2026-04-05", "--warehouse", str(tmp_path / "warehouse")]
    assert 0 == keep.main(prune)
    again.write_text(
        f"{failing_rows()[0]}\n{told}|COMPLETED|2026-04-10T08:00:00|2026-04-10T10:00:00|gres/gpu=64\n",
        encoding="utf-8",
    )
    assert 0 == ingest(tmp_path / "warehouse", again)

    assert [(f"{told} until 2026-04-04",)] == rows(tmp_path / "warehouse", first)


def test_failures_of_jobs_that_only_the_scheduler_knows_are_held_against_their_gpu_days(
    tmp_path: Path,
) -> None:
    """Accounting says nothing of phases; that a job held GPUs, and failed, it says."""
    chance = random.Random(8)
    begins = datetime(2026, 1, 5, tzinfo=UTC)
    dump = tmp_path / "sacct.txt"
    with dump.open("w") as lines:
        lines.write("JobID|State|ExitCode|Start|End|Account|AllocTRES\n")
        for day, number in product(range(91), range(15)):
            has_failed = chance.random() < (0.5 if 80 <= day < 90 else 0.05)
            start = begins + timedelta(days=day, minutes=30 * number)
            lines.write(
                f"{100 * day + number}|{'FAILED' if has_failed else 'COMPLETED'}"
                f"|{int(has_failed)}:0|{start:%FT%T}|{start + timedelta(hours=2):%FT%T}"
                "|feed|gres/gpu=8\n"
            )

    assert 0 == ingest(tmp_path / "warehouse", dump)
    [(observed,)] = rows(
        tmp_path / "warehouse",
        "select observed from regressions "
        "where state = 'open' and team = 'feed' and metric = 'failures_unknown'",
    )
    # two hours each, 15 a day; those that failed are no others
    assert [(28 * 15, 10 * 15)] == rows(
        tmp_path / "warehouse",
        "select attempts_before, attempts_after from regressions "
        "where state = 'open' and team = 'feed' and metric = 'failures_unknown'",
    )
    assert [(15,)] == rows(
        tmp_path / "warehouse",
        "select distinct attempts from regression_points where metric = 'failures_unknown'",
    )
    # as the page Failures tells it of the same days: nothing was preempted
    [(told,)] = rows(
        tmp_path / "warehouse",
        "select interruptions_per_1000_gpu_days from window_ends"
        "('feed', 'all', date '2026-03-26', date '2026-04-04', 'all') "
        "where day is null",
    )

    assert observed == pytest.approx(told)


def test_an_attempt_of_several_days_is_counted_once_over_them(tmp_path: Path) -> None:
    """Five attempts hold their GPUs for all of the fleet's life; short ones come on each day."""

    def ran(job: str, first: float, last: float, stalls: int) -> list[dict[str, object]]:
        said = {"job_id": job, "team": "feed", "gpus": 8, "event": "phase_start"}
        spans = [{"phase": "training", "ts": first, "end_ts": last}]
        for day in range(int((last - first) // DAY) + 1):
            stalled = 6000 if day >= stalls else 300 + 40 * (day % 5)
            begins = first + day * DAY + 1000
            if begins + stalled < last:
                spans.append({"phase": "data_wait", "ts": begins, "end_ts": begins + stalled})
            saves, blocks = begins + 9000, 30 if day >= stalls else 10
            if saves + blocks < last:
                saved = {"phase": "checkpoint_save", "ts": saves, "end_ts": saves + blocks}
                spans.append(saved | {"step": day})
        return [said | span for span in spans]

    begins = dumps.BEGINS
    jobs = [ran(f"long {n}", begins + 60 * n, begins + 90 * DAY - 60, 80) for n in range(5)]
    jobs += [ran(f"short {day}", begins + day * DAY, begins + day * DAY + 900, 99)
             for day in range(90)]  # fmt: skip
    dump = write_dump(tmp_path / "dump.jsonl", [event for job in jobs for event in job])

    assert 0 == ingest(tmp_path / "warehouse", dump, "--as-of", "2026-04-05T00:00:00Z")
    told = {
        metric: (days, before, after)
        for metric, days, before, after in rows(
            tmp_path / "warehouse",
            "select metric, after_to - started_on + 1, attempts_before, attempts_after "
            "from regressions where state = 'open' and team = 'feed'",
        )
    }
    days = told["stalled_ratio"][0]

    assert (days, 28 + 5, days + 5) == told["stalled_ratio"]
    assert (5, 5) == told["checkpoint_save_seconds"][1:]
