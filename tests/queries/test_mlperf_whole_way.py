"""MLPerf logs, alone and in a folder of everything, through `ett-ingest` to the published views."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from queries import published
from tests.queries.engine import ingest, rows, table, write_dump

SACCT = (
    Path(__file__).resolve().parents[2] / "sample_data/dumps/slurm/snap2_quiet/sacct_D_P_admin.txt"
)
TRAIN_LOOP = ("effective", "unsaved", "evaluation", "data_wait", "hang")
# each length, from which boundary to which
LENGTHS = {
    ("launcher_init",): ("launched", "init_start"),
    ("trainer_init",): ("init_start", "run_start"),
    TRAIN_LOOP: ("run_start", "run_stop"),
    ("shutdown",): ("run_stop", "stopped"),
}
LOGS_WITH_BOTH = {
    ("launcher_init",): 153,
    ("trainer_init",): 154,
    TRAIN_LOOP: 152,
    ("shutdown",): 146,
}
RGAT = "Dell/1xXE9680Lx8H200-SXM-141GB/rgat/result_7"
CUT_OFF = "Dell/1xXE9780x8B200-SXM-180GB/llama2_70b_lora/result_0"
ABORTED = "Cisco/hpf_n8/dlrm_dcnv2/result_1"
KILLED_IN_SHUTDOWN = [f"Dell/1xXE9680Lx8H200-SXM-141GB/retinanet/result_{n}" for n in range(5)]

Answer = dict[str, str]


@pytest.fixture(scope="module")
def both(real_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One command over a Slurm dump and the folder of MLPerf logs, its systems and its answers."""
    warehouse = tmp_path_factory.mktemp("mlperf")

    assert 0 == ingest(warehouse, SACCT, real_logs / "mlperf")
    return warehouse


@pytest.fixture(scope="module")
def answers(real_logs: Path) -> dict[str, Answer]:
    """What each log's boundaries are, by its place in the submission."""
    with (real_logs / "mlperf" / "expected_boundaries.csv").open(encoding="utf-8") as opened:
        return {place_of(answer["log"]): answer for answer in csv.DictReader(opened)}


# The boundaries of the real logs


@pytest.mark.real
@pytest.mark.parametrize("areas", LENGTHS, ids=["launcher", "trainer", "loop", "shutdown"])
def test_each_length_lies_between_its_boundaries(
    areas: tuple[str, ...], both: Path, answers: dict[str, Answer]
) -> None:
    expected = {place: between(answer, *LENGTHS[areas]) for place, answer in answers.items()}
    known = {place: length for place, length in expected.items() if length is not None}
    told = {place: sum(us(row[f"{area}_seconds"]) for area in areas) for place, row in logs(both)}

    assert (154, LOGS_WITH_BOTH[areas]) == (len(expected), len(known))
    assert known == {place: told[place] for place in known}


@pytest.mark.real
def test_a_log_that_says_less_has_no_time_where_it_says_nothing(
    both: Path, answers: dict[str, Answer]
) -> None:
    nothing = {}
    for place, row in logs(both):
        for areas, (_, last) in LENGTHS.items():
            if not answers[place][f"{last}_epoch"] and areas != TRAIN_LOOP:
                nothing[place, areas] = sum(us(row[f"{area}_seconds"]) for area in areas)

    # launched and stopped are the launcher's; without run_stop there is no shutdown
    assert {0} == {
        length for (place, _), length in nothing.items() if place not in KILLED_IN_SHUTDOWN
    }


@pytest.mark.real
def test_every_log_is_one_job_with_one_attempt(both: Path, answers: dict[str, Answer]) -> None:
    told = [(place, row["attempt"]) for place, row in logs(both)]

    assert Counter((place, 1) for place in answers) == Counter(told)


@pytest.mark.real
def test_every_log_belongs_to_its_submitter_benchmark_and_gpus(
    both: Path, answers: dict[str, Answer]
) -> None:
    assert {
        place: (answer["team"], answer["benchmark"], int(answer["gpus"]), "benchmark")
        for place, answer in answers.items()
    } == {
        place: (row["team"], row["model"], row["gpus"], row["workload"])
        for place, row in logs(both)
    }


@pytest.mark.real
def test_the_seconds_of_every_log_are_its_wall(both: Path) -> None:
    assert [] == rows(both, "from identity_by_day where gap_us <> 0")
    assert [] == [place for place, row in logs(both) if us(row["wall_seconds"]) != charged(row)]
    assert [] == [place for place, row in logs(both) if row["unaccounted_seconds"]]


# How the real logs end


@pytest.mark.real
def test_logs_without_run_stop_are_interrupted_not_completed(
    both: Path, answers: dict[str, Answer]
) -> None:
    without = {place for place, answer in answers.items() if not answer["run_stop_epoch"]}
    told = dict(logs(both))

    assert {RGAT, CUT_OFF} == without
    assert {RGAT: "failed", CUT_OFF: "lost"} == {place: told[place]["outcome"] for place in without}
    assert {True} == {told[place]["is_interruption"] for place in without}


@pytest.mark.real
def test_logs_that_say_success_are_completed(both: Path, answers: dict[str, Answer]) -> None:
    assert {place for place, answer in answers.items() if answer["status"] == "success"} == {
        place for place, row in logs(both) if row["outcome"] == "completed"
    }


@pytest.mark.real
def test_a_run_that_says_aborted_failed(both: Path) -> None:
    told = dict(logs(both))[ABORTED]

    assert ("failed", "run_stop says aborted") == (told["outcome"], told["message"])


@pytest.mark.real
def test_a_run_that_is_killed_while_it_shuts_down_has_reached_its_goal(both: Path) -> None:
    told = dict(logs(both))

    assert ["completed"] * 5 == [told[place]["outcome"] for place in KILLED_IN_SHUTDOWN]
    assert [0.0] * 5 == [told[place]["unsaved_seconds"] for place in KILLED_IN_SHUTDOWN]


@pytest.mark.real
def test_what_never_saves_loses_all_its_training_when_it_is_interrupted(both: Path) -> None:
    told = dict(logs(both))

    assert {True} == {row["is_instrumented"] for row in told.values()}
    assert {0} == {row["checkpoint_saves"] for row in told.values()}
    assert [0.0, 0.0, 0.0] == [
        told[place]["effective_seconds"] for place in (RGAT, CUT_OFF, ABORTED)
    ]
    assert all(told[place]["unsaved_seconds"] > 0 for place in (RGAT, CUT_OFF, ABORTED))
    assert 151 == sum(row["unsaved_seconds"] == 0 for row in told.values())


@pytest.mark.real
def test_the_memory_error_of_one_rank_comes_before_the_timeouts_that_it_caused(both: Path) -> None:
    told = [
        message
        for (file,) in rows(both, "select file from detail_files order by file")
        for (message,) in rows(
            both,
            "select detail from read_parquet(?) inner join job_details using (job_no) "
            "where kind = 'failure' and job_id like ? || '@%' "
            "order by started_us",
            [str(published(both).parent / "detail" / file), RGAT],
        )
    ]

    assert "CUDA out of memory" in told[0]
    assert any("Watchdog caught" in message for message in told[1:])


# Which files they are


@pytest.mark.real
def test_equal_logs_of_two_systems_are_jobs_of_their_own(both: Path) -> None:
    copies = rows(
        both,
        "select sha256, count(*), min(events), max(events) from ingested_files "
        "group by sha256 having count(*) > 1",
    )
    retinanet = {
        place.split("/")[1]
        for place, row in logs(both)
        if row["team"] == "Dell" and row["started_at"].year == 2025 and row["started_at"].month == 4
    }

    assert [2] * 5 == [count for _, count, _, _ in copies]
    assert all(fewest == most > 0 for _, _, fewest, most in copies)
    assert {"1xXE9680Lx8B200-SXM-180GB", "1xXE9780x8B200-SXM-180GB"} == retinanet


@pytest.mark.real
def test_each_log_is_told_once_and_what_is_no_dump_is_not_told(both: Path, real_logs: Path) -> None:
    files = [Path(file) for (file,) in rows(both, "select file from ingested_files")]
    there = set((real_logs / "mlperf").rglob("*.gz"))

    assert there | {SACCT} == set(files)
    assert {("mlperf", 154), ("slurm-sacct", 1)} == set(
        rows(both, "select format, count(*) from ingested_files group by format")
    )
    assert [] == rows(both, "from rejected_lines")


@pytest.mark.real
def test_the_same_folder_again_changes_nothing(both: Path, real_logs: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    some = real_logs / "mlperf" / "training_results_v5.1" / "Cisco"
    elsewhere = tmp_path / "copied" / "Cisco"
    shutil.copytree(some, elsewhere)
    for folder in (some, some, elsewhere):
        assert 0 == ingest(warehouse, folder)

    select = "select * from attempts where team = 'Cisco' order by job_id"

    assert rows(both, select) == rows(warehouse, select)
    assert [(True,)] == rows(
        warehouse,
        "select sum(events) = (select any_value(events) from sources) from ingested_files",
    )


# A scheduler and benchmarks in one fleet


@pytest.mark.real
def test_the_ett_of_a_mixed_fleet_is_that_of_the_jobs_that_say_what_they_did(both: Path) -> None:
    ((effective, wall, uninstrumented),) = rows(
        both,
        "select sum(effective_seconds), sum(wall_seconds), sum(uninstrumented_seconds) "
        "from attempts where gpus > 0",
    )
    ((told, ratio),) = rows(
        both,
        "select wall_seconds, ett_ratio from window_of("
        "'fleet', 'all', date '2025-01-01', date '2026-12-31')",
    )

    assert wall == pytest.approx(told)
    assert 0 < uninstrumented < wall
    assert effective / (wall - uninstrumented) == pytest.approx(ratio)
    assert [("(none)",), ("all",), ("benchmark",)] == rows(
        both, "select distinct workload from team_day order by 1"
    )


# Any folder


def test_a_folder_of_everything_is_told_apart_by_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    write_dump(
        folder / "trainer",  # no name tells a format
        [
            {"ts": 1772355600, "event": "attempt_start", "job_id": "native", "gpus": 8},
            {"ts": 1772355700, "event": "attempt_end", "job_id": "native", "outcome": "completed"},
        ],
    )
    (folder / "events.jsonl").write_text("\n".join(BENCHMARK) + "\n", encoding="utf-8")
    shutil.copy(SACCT, folder / "result_0.log")
    others = {
        "README.md": "# Dumps\n\nWhat `sacct` says about JobID and State.\n",
        "hosts.csv": "host,gpus,State\nn1,8,up\n",
        "system.json": json.dumps({"accelerators_per_node": 8, "event": "none"}, indent=1),
        "rows.json": '{"jobs": [{"job_id": 1, "state": {"current": ["COMPLETED"]}}]}\n',
        "losses.tsv": "step\tloss\n1\t2.5\n",
        "empty.log": "",
    }
    for name, text in others.items():
        (folder / name).write_text(text, encoding="utf-8")

    assert 0 == ingest(tmp_path / "warehouse", "--verbose", folder)
    said = capsys.readouterr().out
    assert {
        (str(folder / "trainer"), "events"),
        (str(folder / "events.jsonl"), "mlperf"),
        (str(folder / "result_0.log"), "slurm-sacct"),
    } == set(rows(tmp_path / "warehouse", "select file, format from ingested_files"))
    for name in others:
        (line,) = [
            line for line in said.splitlines() if line.startswith("left aside") and name in line
        ]

        assert line.partition(": ")[2], "it says why"
    assert [(170, 1, 1)] == rows(
        tmp_path / "warehouse",
        "select count(*) filter (where job_id like 'fleet:%'), "
        "count(*) filter (where job_id = 'native'), "
        "count(*) filter (where job_id like 'events%') from attempts",
    )


def test_a_folder_without_any_dump_is_nothing_to_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "README.md").write_text("# Nothing here\n", encoding="utf-8")

    assert 2 == ingest(tmp_path / "warehouse", folder)
    assert "README.md" in capsys.readouterr().out


def test_equal_logs_under_two_names_are_two_jobs_in_either_order(tmp_path: Path) -> None:
    first, second = (
        placed(tmp_path / "round", system, BENCHMARK) for system in ("box_x1", "box_x2")
    )

    assert 0 == ingest(tmp_path / "warehouse", second)
    assert 0 == ingest(tmp_path / "warehouse", first)
    assert 0 == ingest(tmp_path / "warehouse", first, second)
    assert [("acme/box_x1/llama/result_3",), ("acme/box_x2/llama/result_3",)] == rows(
        tmp_path / "warehouse",
        "select split_part(job_id, '@', 1) from attempts where wall_seconds = 310 order by 1",
    )


def test_a_log_that_is_still_written_runs_until_it_goes_silent(tmp_path: Path) -> None:
    log = placed(tmp_path / "round", "box_x1", BENCHMARK[:4])
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, log)
    assert [("running", 200.0)] == rows(warehouse, "select outcome, wall_seconds from attempts")

    placed(tmp_path / "round", "box_x1", BENCHMARK)

    assert 0 == ingest(warehouse, log)
    assert [("completed", 310.0)] == rows(warehouse, "select outcome, wall_seconds from attempts")


# what a log is made of, and what is asked of a warehouse

LAUNCHED = 1_772_355_600  # 2026-03-01T09:00:00Z


def record(second: float, key: str, **metadata: object) -> str:
    told = {"time_ms": round((LAUNCHED + second) * 1000), "key": key, "value": None}
    return f":::MLLOG {json.dumps({**told, 'metadata': metadata})}"


BENCHMARK = (
    f"RUNANDTIME_START {LAUNCHED}",
    record(20.25, "init_start"),
    record(50.5, "run_start"),
    record(200, "eval_start"),
    record(230, "eval_stop"),
    record(300.125, "run_stop", status="success"),
    f"RUNANDTIME_STOP {LAUNCHED + 310}",
)


def placed(root: Path, system: str, told: tuple[str, ...]) -> Path:
    """Write a log where a submission keeps it."""
    log = root / "acme" / "results" / system / "llama" / "result_3.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(told) + "\n", encoding="utf-8")
    return log


def place_of(log: str) -> str:
    return log.replace("/results/", "/").removesuffix(".gz").removesuffix(".txt")


def logs(warehouse: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Attempts of benchmarks by their place in the submission."""
    for row in table(warehouse, "from attempts where workload = 'benchmark'"):
        yield row["job_id"].rpartition("@")[0], row


def between(answer: Answer, first: str, last: str) -> int | None:
    """Microseconds from one boundary to another; None where the log lacks one."""
    begins, ends = answer[f"{first}_epoch"], answer[f"{last}_epoch"]
    return int((Decimal(ends) - Decimal(begins)) * 1_000_000) if begins and ends else None


def us(seconds: float) -> int:
    return round(seconds * 1e6)


def charged(row: dict[str, Any]) -> int:
    return sum(
        us(row[f"{area}_seconds"])
        for area in (*TRAIN_LOOP, "launcher_init", "trainer_init", "shutdown")
    )
