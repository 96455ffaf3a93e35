"""Job on a small ingested fleet: its stages, the evidence of its ends, what it is held against."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import queries
from app import data, one_job, words
from app.attempt_areas import areas_of
from ingest import cli, keep
from tests.app import serving
from tests.app.dumps import Event, attempt, ingest
from tests.app.opening import DATA, JOB, markdown, open_page, said, warnings

START = datetime(2026, 3, 1, 6)
MESSAGE = "NCCL watchdog timeout on rank 3"


def span(at: float, ends: float, rank: int, stage: str) -> Event:
    """A stage of trainer_init, in seconds from START."""
    times = {
        name: (START + timedelta(seconds=seconds)).isoformat() + "Z"
        for name, seconds in (("ts", at), ("end_ts", ends))
    }
    base = {"job_id": "staged", "attempt": 1, "event": "phase_start", "phase": "trainer_init"}
    return {**base, **times, "rank": rank, "stage": stage}


def fleet_events() -> list[Event]:
    """A job with overlapping stages and a reported failure, and two more of its team."""
    failure = {
        "job_id": "staged",
        "attempt": 1,
        "event": "failure",
        "ts": (START + timedelta(seconds=1000)).isoformat() + "Z",
        "rank": 3,
        "message": MESSAGE,
    }
    return [
        *attempt("staged", 1, START, trains=1000, outcome="failed"),
        span(-50, 20, 0, "device_init"),  # began before the attempt: cut off there
        span(10, 40, 1, "device_init"),
        span(60, 70, 1, "device_init"),
        span(15, 90, 0, "pre_train"),
        failure,
        *attempt("staged", 2, START + timedelta(hours=1), trains=2000),
        *attempt("good", 1, START, trains=9900),
        *attempt("better", 1, START, trains=19900),
    ]


def odd_events() -> list[Event]:
    """Jobs of another team that are told of in part, or lose next to nothing."""
    ones: dict[str, Any] = {"team": "odd", "trains": 2000, "saves_every": 900, "blocked": 2.0}
    in_mid_run = attempt("mid-run", 1, START, trains=9000, team="odd")
    trains = next(n for n, event in enumerate(in_mid_run) if event.get("phase") == "training")
    cut = attempt("cut", 1, START, trains=3000, saves_every=1000, outcome="failed", team="odd")
    [*_, last] = [event for event in cut if event.get("phase") == "checkpoint_save"]
    del last["end_ts"]
    return [
        *attempt("small", 1, START, gpus=8, **ones),
        *attempt("unknown", 1, START, gpus=None, **ones),
        *in_mid_run[trains:],
        *attempt("late", 2, START, trains=0, outcome="failed", team="odd"),
        *attempt("later", 3, START, trains=9000, team="odd"),
        *cut,
    ]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    events = [*fleet_events(), *odd_events()]
    return ingest(tmp_path_factory.mktemp("jobs"), events, START + timedelta(days=1))


@pytest.fixture
def jobs(ingested: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The warehouse of these jobs; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(ingested))
    data.pin()
    return ingested


def test_stages_on_the_page_are_those_of_the_view(jobs: Path) -> None:
    started_us = round((START - datetime(1970, 1, 1)).total_seconds() * 1e6)
    shown = one_job.stages(data.detail("staged"), 1, started_us)
    listed = data.frame(
        "select phase, stage, seconds from stage_by_attempt where job_id = 'staged' "
        "order by seconds desc"
    )

    assert [("pre_train", 75.0), ("device_init", 50.0)] == shown["stage", "seconds"].rows()
    assert listed.to_dicts() == shown.to_dicts()


def test_what_a_job_lost_is_told_over_all_of_its_attempts(jobs: Path) -> None:
    job = data.row(one_job.JOB, "staged")
    by_area = data.frame(
        "select area, sum(gpu_seconds) as lost from area_by_attempt "
        "where job_id = 'staged' and area <> 'effective' group by area order by lost desc"
    )
    told = ", ".join(f"{area} {words.hours(lost)}" for area, lost in by_area.rows())

    assert job["lost_gpu_seconds"] == pytest.approx(by_area["lost"].sum())
    assert f"Lost by all attempts, in GPU-hours: {told}." in markdown(open_page(JOB, job="staged"))


def test_what_a_job_lost_is_never_rounded_to_nothing(jobs: Path) -> None:
    told = {job: markdown(open_page(JOB, job=job)) for job in ("small", "unknown")}

    assert (
        "Lost by all attempts, in GPU-hours: trainer_init 0.2, checkpoint_save under 0.1."
        in told["small"]
    )
    assert (
        "Lost by all attempts; its GPUs are unknown: trainer_init 1 min 40 s, "
        "checkpoint_save 4.0 s." in told["unknown"]
    )


def test_a_reported_failure_is_the_evidence(jobs: Path) -> None:
    page = open_page(JOB, job="staged", attempt="1")

    assert MESSAGE in [code.value for code in page.code]
    assert any("Reported by rank 3 at 06:16:40 UTC, in `" in text for text in said(page))
    assert any("cause ` " in text for text in markdown(page))


def test_a_job_that_may_be_several_runs_says_so_before_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime(2026, 3, 3, 8)
    told = {
        "several": [
            ("begun_elsewhere", "its own, in /b/*x*/, begin anew with step 1"),
            ("missing_end", "training"),
        ],
        "double": [("counted_twice", "told as other")],
        "renamed": [("told_twice", "/a/x.log tells the steps of /b/x.log at the same times")],
        "sound": [("missing_end", "training")],
    }
    serving.publish(
        tmp_path,
        serving.Warehouse(
            attempts=[serving.Attempt(name, 1, start, {"effective": 3000.0}) for name in told],
            anomalies=[
                (name, 1, kind, detail) for name, found in told.items() for kind, detail in found
            ],
        ),
    )
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    data.pin()
    [several] = warnings(open_page(JOB, job="several"))
    [double] = warnings(open_page(JOB, job="double"))
    [renamed] = warnings(open_page(JOB, job="renamed"))

    assert "may be several runs under one name" in several
    assert r"unless it completed: its own, in /b/\*x\*/, begin anew with step 1. " in several
    assert "(anomaly `begun_elsewhere`)" in several
    assert "[[identity]]" in several
    assert "twice in the fleet: told as other. The scheduler's dump (sacct)" in double
    assert "twice in the fleet: /a/x.log tells the steps of /b/x.log" in renamed
    assert [] == warnings(open_page(JOB, job="sound"))


def test_a_job_whose_attempts_differ_in_gpus_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime(2026, 3, 3, 8)
    attempts = [
        serving.Attempt(job, number, start, {"effective": 3000.0}, gpus=gpus)
        for job, sizes in {"elastic": (512, 64, 128), "steady": (8, 8)}.items()
        for number, gpus in enumerate(sizes, 1)
    ]
    serving.publish(tmp_path, serving.Warehouse(attempts=attempts))
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))

    for job, said_of in (("elastic", "64 to 512 GPUs, 128 at last"), ("steady", "8 GPUs")):
        parts = markdown(open_page(JOB, job=job))[0].split(" \u00b7 ")

        assert said_of in parts


def test_a_job_that_is_in_no_ratio_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime(2026, 3, 3, 8)
    gpus = {"none": (0, 0), "some": (0, 8), "unknown": (0, None)}
    attempts = [
        serving.Attempt(job, number, start, {"effective": 3000.0}, gpus=each)
        for job, sizes in gpus.items()
        for number, each in enumerate(sizes, 1)
    ]
    left_out = serving.Attempt("excluded", 1, start, {"effective": 60}, is_excluded=True)
    serving.publish(tmp_path, serving.Warehouse(attempts=[*attempts, left_out]))
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    outside = ": it is outside every ratio and rollup."

    assert {
        "none": [f"This job held no GPUs{outside}"],
        "some": [],
        "unknown": [],
        "excluded": [f"This job is excluded by the settings{outside}"],
    } == {job: [info.value for info in open_page(JOB, job=job).info] for job in (*gpus, "excluded")}


def test_a_good_end_needs_no_evidence(jobs: Path) -> None:
    page = open_page(JOB, job="staged", attempt="2")

    assert MESSAGE not in [code.value for code in page.code]
    assert any(text.startswith("**` completed `**") for text in markdown(page))


def test_one_that_still_runs_is_not_said_to_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    *running, _ = attempt("long", 1, START, trains=9000)
    ingest(
        tmp_path, [*running, *attempt("done", 1, START, trains=9000)], START + timedelta(hours=3)
    )
    pages = [open_page(JOB, job=job) for job in ("long", "done")]
    heads = [{head.value for head in page.header} for page in pages]
    heard = [any("last heard of" in text for text in markdown(page)) for page in pages]

    assert [{"It still runs"}, {"How it ended"}] == [
        each & {"It still runs", "How it ended"} for each in heads
    ]
    assert [True, False] == heard
    # the end of the training that it told
    assert "**` running `** \u00b7 last heard of Sun 1 Mar, 08:31 UTC" in markdown(pages[0])


def test_why_one_that_is_first_heard_of_in_mid_run_has_no_time_to_start_is_said(
    jobs: Path,
) -> None:
    page = open_page(JOB, job="mid-run")
    start = next(metric for metric in page.metric if metric.label == "Time to start")

    assert words.UNKNOWN == start.value
    assert any(caption.value == "first heard of in mid-run" for caption in page.caption)


def test_of_an_attempt_that_no_dump_tells_of_nothing_is_said(jobs: Path) -> None:
    for job in ("late", "later"):
        told = [caption.value for caption in open_page(JOB, job=job).caption]

        assert "no dump tells of attempt 1" in told
        assert "attempt 1 never trained" not in told


def test_what_was_suspended_is_told_beside_the_wall_that_it_is_not_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    day = "2026-03-01T"
    rows = (
        "JobIDRaw|JobID|State|Submit|Start|End|ElapsedRaw|Suspended|AllocTRES",
        f"7|7|COMPLETED|{day}06:00:00|{day}06:00:00|{day}10:00:00|14400|01:00:00|gres/gpu=8",
        f"8|8|COMPLETED|{day}06:00:00|{day}06:00:00|{day}10:00:00|14400|00:00:00|gres/gpu=8",
    )
    (tmp_path / "sacct.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    of_utc = ("--warehouse", str(tmp_path), "--timezone", "UTC")
    assert 0 == cli.main([str(tmp_path / "sacct.txt"), *of_utc])

    for job, wall, suspended, is_told in (("7", 10800, 3600, True), ("8", 14400, 0, False)):
        page = open_page(JOB, job=job)
        [table] = [each for each in page.dataframe if "outcome" in each.value]

        assert [[wall, suspended]] == table.value[
            ["wall_seconds", "suspended_seconds"]
        ].to_numpy().tolist()
        assert is_told == ("suspended_seconds" in table.proto.column_order)
        assert is_told == any("suspended the attempt" in each.value for each in page.caption)


def test_the_rule_and_the_line_it_read_are_shown_where_they_are_known(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    columns = {
        "failure_rule": "'nccl_watchdog'",
        "failure_evidence": "'watchdog caught a collective'",
        "failure_evidence_file": "'logs/rank3.log'",
        "failure_evidence_line": "812",
    }
    with duckdb.connect(str(queries.published(copy))) as connection:
        for column, value in columns.items():
            connection.execute(f"update attempts set {column} = {value}")
    page = open_page(JOB, job="staged", attempt="1")

    assert any("by rule ` nccl_watchdog `" in text for text in markdown(page))
    assert "watchdog caught a collective" in [code.value for code in page.code]
    assert any("` logs/rank3.log:812 `" in text for text in said(page))


def test_a_job_is_held_against_the_median_of_its_team(jobs: Path) -> None:
    page = open_page(JOB, job="staged")

    # staged 2000 / 3200, good 9900 / 10000, better 19900 / 20000
    assert any("team median 99.0 % of 3 jobs, -36.5 pp" in text for text in said(page))


@pytest.mark.parametrize("attempt", [1, 2])
def test_the_areas_of_an_attempt_are_those_of_the_view(jobs: Path, attempt: int) -> None:
    times = data.row("select first_started_at, last_ended_at from jobs where job_id = 'staged'")
    shown = areas_of(data.row(one_job.AREAS, "staged", attempt, *times.values()))
    listed = data.frame(
        "select area, is_recovery, seconds from area_by_attempt "
        "where job_id = 'staged' and attempt = ?",
        attempt,
    )

    assert sorted(listed.rows()) == sorted(shown.rows())


@pytest.mark.parametrize(
    ("asked", "is_aligned", "said"),
    [
        ("True", True, []),
        ("false", False, []),
        (
            "maybe",
            False,
            [
                "The link asks for aligned = ` maybe `, which is not offered (` true, false `). "
                "This page shows ` false `."
            ],
        ),
    ],
)
def test_aligned_is_a_link(jobs: Path, asked: str, is_aligned: bool, said: list[str]) -> None:
    page = open_page(JOB, job="staged", aligned=asked)

    assert is_aligned == page.toggle[0].value
    assert said == [warning.value for warning in page.warning]


def test_spans_are_written_only_when_they_are_asked_for(jobs: Path) -> None:
    page = open_page(JOB, job="staged", attempt="1")

    assert not any("kind" in frame.value.columns for frame in page.dataframe)


def test_a_timeline_that_cannot_be_read_takes_down_its_card_only(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    for file in (copy / "detail").glob("*.parquet"):
        file.unlink()
    page = open_page(JOB, job="staged")

    assert any("`job_details` could not be read" in error.value for error in page.error)
    assert 2 == len(page.dataframe[0].value)


def test_of_a_pruned_job_the_stages_stay_and_why_the_rest_is_missing_is_said(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    later = attempt("later", 1, START + timedelta(days=9), trains=900)
    ingest(copy, later, START + timedelta(days=10))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    stages = data.frame(one_job.STAGES, "staged", 1)
    assert 0 == keep.main(["prune", "--before", "2026-03-05", "--warehouse", str(copy)])
    data.pin()
    first, last = (open_page(JOB, job="staged", attempt=number) for number in "12")
    told = (said(first), said(last), said(open_page(DATA, job="staged", attempt="1")))
    [shown] = [each.value for each in first.dataframe if "stage" in each.value]

    assert stages.rows() == list(shown.itertuples(index=False, name=None))
    assert [2, 2, 1] == [
        sum("were pruned, and with them" in each for each in page) for page in told
    ]
    assert any("No stages are reported" in each for each in told[1])
    assert not any("No source reported" in each for each in told[0])


@pytest.mark.parametrize("near", ["stage", "STAGED", "staqed"])
def test_near_jobs_are_found_by_part_case_and_letter(jobs: Path, near: str) -> None:
    assert "staged" in data.frame(one_job.LIKE, near)["job_id"]


def test_a_save_that_was_cut_off_is_told_from_a_checkpoint(jobs: Path) -> None:
    page = open_page(JOB, job="cut")
    [timeline, *_] = [json.loads(chart.proto.spec)["data"] for chart in page.get("plotly_chart")]
    ticks = [trace for trace in timeline if trace.get("name", "").startswith("save")]

    assert {"saved": "line-ns-open", "save cut off": "line-ne-open"} == {
        trace["name"]: trace["marker"]["symbol"] for trace in ticks
    }
    assert any("slanted ticks such as were cut off" in each.value for each in page.caption)


def test_evidence_of_a_hostile_job_is_text(warehouse: Path) -> None:
    serving.publish(warehouse, serving.hostile())
    page = open_page(JOB, job=serving.HOSTILE)
    told: list[Any] = [code.value for code in page.code]

    assert any("<script>" in each for each in told)
    assert not any("<script>" in text for text in markdown(page))


def test_no_detail_has_no_stages() -> None:
    assert one_job.stages(pl.DataFrame(), 1, 0).is_empty()


def test_what_an_end_cost_is_not_called_what_the_attempt_lost(
    jobs: Path,
) -> None:
    [table] = [each for each in open_page(JOB, job="staged").dataframe if "outcome" in each.value]
    columns = json.loads(table.proto.columns)

    assert "lost to its end, GPU s" == columns["lost_gpu_seconds"]["label"]
