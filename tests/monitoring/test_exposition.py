"""What is exported of a publish: which series, and how many at most."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse
from prometheus_client.samples import Sample

from app.monitoring.families import FAMILIES
from app.monitoring.reading import answers
from app.monitoring.snapshot import exposition, snapshot_of
from app.warehouse import connect
from queries import AREAS
from tests.monitoring.serving import LAST_DAY, Attempt, Regression, publish

HOSTILE = 'a"b\\c\nd\te{f="g"} # 🚂 é \u202e,' + "x" * 256
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


@pytest.mark.golden
def test_the_exposition_of_a_small_fleet(
    warehouse: Path, golden: Callable[[str, str], None]
) -> None:
    publish(
        warehouse,
        small_fleet(),
        sources={"events": 1200, "slurm-sacct@east": 34},
        rejected={("events", "not_json"): 2, ("slurm-sacct@east", "bad_timestamp"): 1},
        targets={"fleet": 0.9, "feed": 0.85},
        regressions=[Regression()],
    )
    timeless = re.sub(r"(?m)^(ett_exporter_read_duration_seconds\S+) .*$", r"\1 0", text(warehouse))

    golden("metrics.txt", timeless)


@pytest.mark.prometheus
@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_promtool_has_no_objection(warehouse: Path, promtool: str, accept: str) -> None:
    publish(
        warehouse, [*small_fleet(), Attempt(team=HOSTILE)], rejected={("events", "not_json"): 2}
    )
    checked = subprocess.run(
        [promtool, "check", "metrics"],
        input=text(warehouse, accept).encode(),
        capture_output=True,
        check=False,
    )

    assert (0, b"", b"") == (checked.returncode, checked.stdout, checked.stderr)


def test_a_busy_publish_shows_every_family(warehouse: Path) -> None:
    publish(
        warehouse,
        small_fleet(),
        rejected={("events", "not_json"): 2},
        regressions=[Regression()],
    )
    shown = [family.name for family in parse(text(warehouse))]

    assert [family.name for family in FAMILIES] == shown


def test_both_formats_hold_the_same_samples(warehouse: Path) -> None:
    publish(warehouse, [*small_fleet(), Attempt(team=HOSTILE)])
    plain = [s for family in parse(text(warehouse)) for s in family.samples]
    families = parse_openmetrics(text(warehouse, OPENMETRICS))  # type: ignore[no-untyped-call]
    opened = [s for family in families for s in family.samples]

    assert [(s.name, s.labels) for s in plain] == [(s.name, s.labels) for s in opened]


def test_hostile_labels_arrive_as_they_were(warehouse: Path) -> None:
    publish(
        warehouse,
        [Attempt(team=HOSTILE, outcome="failed", cause=f"{HOSTILE}/{HOSTILE}")],
        sources={HOSTILE: 1},
        rejected={(HOSTILE, "not_json"): 1},
    )

    assert {HOSTILE, "fleet"} == values(warehouse, "team")
    assert {HOSTILE} == values(warehouse, "source")
    assert {HOSTILE} == values(warehouse, "domain") == values(warehouse, "category")


def test_no_label_tells_a_job_a_host_a_user_or_a_message() -> None:
    names = {label for family in FAMILIES for label in family.labels}

    assert {
        "team", "area", "window", "stat", "outcome", "domain", "category", "attribution", "source",
        "reason", "view", "version", "schema", "metric", "verdict", "severity",
    } == names  # fmt: skip


def test_windows_end_with_the_last_complete_day(warehouse: Path) -> None:
    ends = (-1, 0, 6, 7, 27, 28)  # days before the last complete one
    days = [LAST_DAY - timedelta(days=n) for n in ends]
    publish(warehouse, [Attempt(gpus=1, day=day, areas={"effective": 1.0}) for day in days])

    assert {"1d": 1.0, "7d": 2.0, "28d": 4.0} == {
        sample.labels["window"]: sample.value for sample in samples(warehouse, "ett_gpu_seconds")
    }


def test_what_did_not_happen_has_no_sample(warehouse: Path) -> None:
    publish(warehouse, [Attempt(areas={"uninstrumented": 60.0})])
    names = {family.name for family in parse(text(warehouse))}

    assert "ett_effective_ratio" not in names
    assert "ett_time_to_start_seconds" not in names
    assert "ett_checkpoint_save_seconds" not in names
    assert {0.0} == {s.value for s in samples(warehouse, "ett_instrumented_ratio")}


def test_neither_nan_nor_infinity_is_exported(warehouse: Path) -> None:
    publish(
        warehouse,
        [
            Attempt(team="nan", areas={"effective": float("nan")}),
            Attempt(team="inf", areas={"effective": float("inf")}),
        ],
    )

    assert [] == samples(warehouse, "ett_gpu_seconds")
    assert [] == re.findall(r"(?m) [+-]?(?:NaN|Inf)$", text(warehouse))


def test_a_fleet_without_a_complete_day_shows_how_far_its_data_is(warehouse: Path) -> None:
    publish(warehouse, small_fleet(), last_complete_day=None)
    names = {family.name for family in parse(text(warehouse))}

    assert {
        "ett_target_ratio",
        "ett_data_timestamp_seconds",
        "ett_published_timestamp_seconds",
        "ett_ingest_events",
        "ett_ingest_told_events",
        "ett_exporter_read_success",
        "ett_exporter_read_duration_seconds",
        "ett_build_info",
    } == names
    assert {1.0} == {s.value for s in samples(warehouse, "ett_exporter_read_success")}


def test_fleet_is_a_team_only_where_teams_cannot_be_summed(warehouse: Path) -> None:
    publish(warehouse, small_fleet())
    of_fleet = {
        family.name
        for family in parse(text(warehouse))
        for sample in family.samples
        if sample.labels.get("team") == "fleet"
    }

    assert {
        "ett_time_to_start_seconds",
        "ett_time_to_recover_seconds",
        "ett_checkpoint_save_seconds",
        "ett_target_ratio",
    } == of_fleet


def test_a_team_without_a_target_has_that_of_the_fleet(warehouse: Path) -> None:
    publish(warehouse, small_fleet(), targets={"fleet": 0.9, "feed": 0.85, "gone": 0.5})

    assert {"fleet": 0.9, "feed": 0.85, "ranking": 0.9} == {
        sample.labels["team"]: sample.value for sample in samples(warehouse, "ett_target_ratio")
    }


def test_without_any_target_none_is_exported(warehouse: Path) -> None:
    publish(warehouse, small_fleet(), targets={})

    assert [] == samples(warehouse, "ett_target_ratio")


def test_teams_past_the_fifty_largest_are_summed_into_other(warehouse: Path) -> None:
    large = [Attempt(team=f"large-{n:02}", gpus=1000, tts=1.0) for n in range(50)]
    small = [
        Attempt(team="small", areas={"effective": 60.0, "hang": 20.0}, tts=1.0),
        Attempt(team="tiny", areas={"uninstrumented": 80.0}, outcome="preempted", cause="s/p"),
        Attempt(team="tiny", areas={"effective": 10.0, "unsaved": 30.0}, saves=(3.0,)),
    ]
    publish(warehouse, [*small, *large])
    other = {
        (s.name, *sorted(v for k, v in s.labels.items() if k not in ("team", "window"))): s.value
        for family in parse(text(warehouse))
        for s in family.samples
        if s.labels.get("team") == "other" and s.labels.get("window", "1d") == "1d"
    }

    assert {
        ("ett_gpu_seconds", "effective"): 560.0,
        ("ett_gpu_seconds", "hang"): 160.0,
        ("ett_gpu_seconds", "unsaved"): 240.0,
        ("ett_gpu_seconds", "uninstrumented"): 640.0,
        ("ett_effective_ratio",): 70 / 120,
        ("ett_instrumented_ratio",): 0.6,
        ("ett_unsaved_gpu_seconds",): 240.0,
        ("ett_preemption_ratio",): 1 / 3,
        ("ett_attempts", "completed"): 2.0,
        ("ett_attempts", "failed"): 0.0,
        ("ett_attempts", "preempted"): 1.0,
        ("ett_attempts", "cancelled"): 0.0,
        ("ett_attempts", "timeout"): 0.0,
        ("ett_attempts", "lost"): 0.0,
        ("ett_infra_failures",): 0.0,
        ("ett_interruptions", "s"): 1.0,
        ("ett_target_ratio",): 0.9,
    } == pytest.approx(other)
    assert 52 == len(values(warehouse, "team"))  # with other and fleet


def test_what_is_summed_into_other_aims_at_what_its_teams_do_together(warehouse: Path) -> None:
    large = [Attempt(team=f"large-{n:02}", gpus=1000) for n in range(50)]
    small = [
        Attempt(team="own", areas={"effective": 200.0, "hang": 100.0, "uninstrumented": 9.0}),
        Attempt(team="usual", areas={"effective": 100.0}),
        Attempt(team="idle", gpus=0),
    ]
    publish(warehouse, [*small, *large], targets={"fleet": 0.9, "own": 0.5, "idle": 0.1})
    targets = {s.labels["team"]: s.value for s in samples(warehouse, "ett_target_ratio")}

    assert (0.9, pytest.approx((3 * 0.5 + 1 * 0.9) / 4)) == (targets["fleet"], targets["other"])


def test_interruptions_sum_to_the_same_with_many_causes(warehouse: Path) -> None:
    causes = [f"domain-{n % 30}/category-{n}" for n in range(90)]
    teams = [f"team-{n}" for n in range(51)]
    ends = [Attempt(team=t, outcome="failed", cause=c) for t in teams for c in causes]
    publish(warehouse, ends)
    by_team, by_category = (
        sum(s.value for s in samples(warehouse, name) if s.labels["window"] == "28d")
        for name in ("ett_interruptions", "ett_interruptions_by_category")
    )

    assert len(ends) == by_team == by_category
    assert 21 + 4 == len(values(warehouse, "category")) + len(
        {s.labels["domain"] for s in samples(warehouse, "ett_interruptions")}
    )


def test_a_small_fleet_shows_every_domain(warehouse: Path) -> None:
    ends = [Attempt(outcome="failed", cause=f"domain-{n}/x") for n in range(12)]
    publish(warehouse, ends)
    domains = {s.labels["domain"] for s in samples(warehouse, "ett_interruptions")}

    assert {f"domain-{n}" for n in range(12)} == domains


def test_five_hundred_teams_with_everything_stay_under_six_thousand_series(warehouse: Path) -> None:
    publish(
        warehouse,
        [attempt for n in range(500) for attempt in busy_team(f"team-{n}")],
        sources={f"slurm-sacct@{n}": n for n in range(100)},
        rejected={(f"slurm-sacct@{n}", f"reason-{m}"): n for n in range(100) for m in range(10)},
        targets={"fleet": 0.9} | {f"team-{n}": 0.8 for n in range(500)},
        regressions=[Regression(f"team-{n}", f"metric-{n % 9}") for n in range(90)],
    )
    series = [
        (s.name, *sorted(s.labels.items()))
        for family in parse(text(warehouse))
        for s in family.samples
    ]

    assert len(series) == len(set(series))
    assert 5800 < len(series) <= 6000  # the test is as bad as it can be


def test_lines_set_aside_stand_beside_the_events_of_the_same_source(warehouse: Path) -> None:
    publish(
        warehouse,
        sources={f"slurm-sacct@{n:02}": n for n in range(25)},
        rejected={
            (f"slurm-sacct@{n:02}", f"reason-{m}"): 25 - n for n in range(25) for m in range(3)
        },
    )
    events = {s.labels["source"]: s.value for s in samples(warehouse, "ett_ingest_events")}
    lines: dict[str, float] = defaultdict(float)
    for sample in samples(warehouse, "ett_ingest_rejected_lines"):
        lines[sample.labels["source"]] += sample.value

    assert events.keys() == lines.keys()
    assert (129.0, 63.0) == (events["other"], lines["other"])  # 19 to 24, and 3 times 1 to 6
    assert 21 == lines["slurm-sacct@18"]


def test_a_source_that_others_outgrow_keeps_its_name(warehouse: Path) -> None:
    told = {f"slurm-sacct@{n:02}": 100 + n for n in range(25)}
    publish(warehouse, sources=told)
    named = [s.labels["source"] for s in samples(warehouse, "ett_data_timestamp_seconds")]
    # the alerts hold each name against what it had a day ago
    publish(warehouse, sources=told | {"slurm-sacct@10": 1, "slurm-sacct@24": 900})

    assert 20 == len(named)
    assert named == [s.labels["source"] for s in samples(warehouse, "ett_data_timestamp_seconds")]


def test_of_what_an_older_release_published_every_event_was_new(warehouse: Path) -> None:
    publish(warehouse, sources={"events": 7})
    told = [s.value for s in samples(warehouse, "ett_ingest_told_events")]
    publish(warehouse, sources={"events": 7}, spoil="alter table sources drop column told")

    assert [14.0] == told
    assert [7.0] == [s.value for s in samples(warehouse, "ett_ingest_told_events")]


@pytest.mark.parametrize(
    ("view", "gone"),
    [
        ("macro table window_areas", {"ett_gpu_seconds"}),
        (
            "macro table window_interruptions",
            {"ett_interruptions", "ett_interruptions_by_category"},
        ),
        # what was set aside is told by the sources that are named among the events
        (
            "table sources",
            {
                "ett_data_timestamp_seconds",
                "ett_ingest_events",
                "ett_ingest_told_events",
                "ett_ingest_rejected_lines",
            },
        ),
        ("table targets", {"ett_target_ratio"}),
        ("table rejected_by_source", {"ett_ingest_rejected_lines"}),
        ("table regressions", {f.name for f in FAMILIES if "_regression_" in f.name}),
    ],
)
def test_a_view_that_cannot_be_read_costs_its_own_families_only(
    warehouse: Path, view: str, gone: set[str]
) -> None:
    publish(
        warehouse,
        small_fleet(),
        rejected={("events", "not_json"): 2},
        regressions=[Regression()],
        spoil=f"drop {view}",
    )
    names = {family.name for family in parse(text(warehouse))}

    assert gone == {family.name for family in FAMILIES} - names
    reads_too = {"sources": ["rejected_by_source"]}.get(view.split()[-1], [])
    assert dict.fromkeys([view.split()[-1], *reads_too], 0.0) == {
        s.labels["view"]: s.value
        for s in samples(warehouse, "ett_exporter_read_success")
        if s.value != 1
    }


def test_a_view_that_fails_over_its_data_is_not_read_either(warehouse: Path) -> None:
    fails = "create or replace view team_day as select error('x') as team, 'all' as workload, "
    publish(
        warehouse,
        small_fleet(),
        spoil=f"{fails} date '2026-03-28' as day, 1.0 as gpu_seconds from publication",
    )
    failed = {
        s.labels["view"] for s in samples(warehouse, "ett_exporter_read_success") if not s.value
    }

    assert {"team_day", "window_of", "window_areas", "targets"} <= failed
    assert {"publication", "sources", "rejected_by_source"}.isdisjoint(failed)


def test_only_open_regressions_are_shown_each_measure_once_and_no_null(warehouse: Path) -> None:
    publish(
        warehouse,
        small_fleet(),
        regressions=[
            Regression(started_on=LAST_DAY - timedelta(days=40), verdict="mix"),
            Regression(change_ratio=None),
            Regression("feed", state="held_back"),
            Regression("feed", "ttr_seconds", state="closed"),
            Regression("fleet", "preemption_ratio", verdict="preemptions", severity="page"),
        ],
    )
    labels = [s.labels for s in samples(warehouse, "ett_regression_info")]
    changes = samples(warehouse, "ett_regression_change_ratio")

    assert [
        {
            "team": "fleet",
            "metric": "preemption_ratio",
            "verdict": "preemptions",
            "severity": "page",
        },
        {"team": "ranking", "metric": "trainer_init", "verdict": "slower", "severity": "ticket"},
    ] == labels
    assert [("fleet", 0.41)] == [(s.labels["team"], s.value) for s in changes]


def test_what_alerts_is_shown_before_what_costs_more_and_does_not(warehouse: Path) -> None:
    small = [
        Regression(f"team-{n}", severity="info", lost_gpu_seconds_per_day=1.0 + n)
        for n in range(60)
    ]
    unknown = Regression("ranking", "pt2_compile", lost_gpu_seconds_per_day=None)
    publish(warehouse, small_fleet(), regressions=[*small, unknown])
    shown = {s.labels["team"] for s in samples(warehouse, "ett_regression_info")}

    assert 48 == len(shown)
    assert {"ranking", "team-59"} <= shown


def text(warehouse: Path, accept: str = "") -> str:
    newest = max(warehouse.glob("serving-*.duckdb"))
    with closing(connect(newest)) as connection:
        snapshot = snapshot_of(list(answers(connection)), "1.2.3")
    return exposition(snapshot, accept).body.decode()


def samples(warehouse: Path, name: str) -> list[Sample]:
    return [s for f in parse(text(warehouse)) if f.name == name for s in f.samples]


def values(warehouse: Path, label: str) -> set[str]:
    return {
        s.labels[label]
        for family in parse(text(warehouse))
        for s in family.samples
        if label in s.labels
    }


def small_fleet() -> list[Attempt]:
    earlier = LAST_DAY - timedelta(days=5)
    interrupted = {"effective": 3565.0, "unsaved": 985.0, "trainer_init": 120.0, "shutdown": 60.0}
    return [
        Attempt(outcome="failed", cause="network/nccl_timeout", areas=interrupted, tts=390.0),
        Attempt(
            areas={"effective": 2585.0, "checkpoint_load": 60.0}, ttr=400.0, saves=(15.0, 16.0)
        ),
        Attempt(day=earlier, outcome="preempted", cause="scheduler/preempted", tts=500.0),
        Attempt(team="feed", gpus=64, day=earlier, areas={"uninstrumented": 3600.0}),
        Attempt(
            team="feed", gpus=64, day=earlier, areas={"effective": 3600.0}, outcome="cancelled"
        ),
    ]


def busy_team(team: str) -> list[Attempt]:
    causes = [f"domain-{n}/category-{n}" for n in range(40)]
    return [
        Attempt(team, areas=dict.fromkeys(AREAS, 1.0), tts=1.0, ttr=1.0, saves=(1.0,)),
        *(Attempt(team, outcome="failed", cause=cause, areas={}) for cause in causes),
    ]
