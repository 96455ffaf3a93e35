"""The weekly digest: the numbers of the views, in three formats, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextvars import copy_context
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import data, digest, regressed, report, report_text, words
from tests.app import dumps, found, serving
from tests.app.opening import open_page
from tests.queries.engine import ingest

WEEK = "2026-W09"  # 23 Feb to 1 Mar
SLOWER = {
    "team": "feed",
    "metric": "tts_p50_seconds",
    "started_on": date(2026, 2, 25),
    "state": "open",
    "severity": "ticket",
    "verdict": "slower",
    "observed": 520.0,
    "expected": 370.0,
    "change_ratio": 0.41,
    "lost_gpu_seconds_per_day": 310 * 3600.0,
}


def run(arguments: Sequence[str]) -> int:
    """The command, in a context of its own: the publish that it pins is nobody else's."""
    return copy_context().run(report.main, arguments)


def written(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints; it must print nothing else and end well."""
    assert 0 == run(arguments)
    printed = capsys.readouterr()
    assert "" == printed.err
    return printed.out


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(written(capsys, "--format", "json", *arguments))
    return read


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert 2 == run(arguments)
    printed = capsys.readouterr()
    assert "" == printed.out
    return printed.err


def test_weeks_of_the_same_ett_are_compared_though_nothing_moved(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attempts = [
        serving.Attempt(f"job-{day}-{each}", 1, datetime(2026, 2, day, 9), {"effective": 600.0})
        for day in (16, 17, 24, 25)
        for each in range(3)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = written(capsys, "--week", WEEK, "--format", "html")
    text = written(capsys, "--week", WEEK, "--format", "md")

    assert "nothing to compare with" not in page
    for told in (page, text):
        assert "What moved ETT: 0.00 pp" in told
        assert "Nothing moved it." in told


def test_of_a_week_without_interruptions_no_order_of_causes_is_told(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = serving.Attempt("job", 1, datetime(2026, 2, 24, 9), {"effective": 600.0})
    serving.publish(warehouse, serving.Warehouse(attempts=[quiet]))
    for name in ("md", "html"):
        said = written(capsys, "--week", WEEK, "--format", name)

        assert "Nothing was interrupted." in said
        assert "causes first" not in said


@pytest.fixture(scope="module")
def ingested_scheduler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scheduler")
    dump = folder / "sacct.txt"
    dump.write_text(
        "JobID|State|Start|End|AllocTRES\n"
        "1|COMPLETED|2026-02-16T10:00:00|2026-02-16T12:00:00|gres/gpu=8\n"
        "2|COMPLETED|2026-02-24T10:00:00|2026-02-24T12:00:00|gres/gpu=8\n"
        "3|COMPLETED|2026-03-11T10:00:00|2026-03-11T12:00:00|gres/gpu=8\n"
    )
    assert 0 == ingest(folder, dump)
    return folder


@pytest.fixture
def scheduler(
    ingested_scheduler: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three jobs, of three weeks, of which a scheduler alone tells."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(ingested_scheduler))
    capsys.readouterr()  # what the ingest said


@pytest.mark.usefixtures("scheduler")
def test_a_format_that_reports_nothing_is_named_without_marks_of_markdown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = [written(capsys, "--format", name, "--week", WEEK) for name in ("md", "html")]

    assert r"Not reported by slurm\-sacct dumps." in said[0]
    assert "Not reported by slurm-sacct dumps." in said[1]


def test_causes_whose_cost_is_unknown_are_not_said_to_be_the_dearest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    dump = tmp_path / "sacct.txt"
    dump.write_text(
        "JobID|State|Start|End|AllocTRES\n"
        "1|NODE_FAIL|2026-02-24T10:00:00|2026-02-24T12:00:00|gres/gpu=8\n"
        "2|COMPLETED|2026-03-02T10:00:00|2026-03-02T12:00:00|gres/gpu=8\n"
    )
    trained = dumps.attempt("told", 1, datetime(2026, 2, 24, 9, tzinfo=UTC), trains=600)
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in trained))

    assert 0 == ingest(tmp_path, dump, tmp_path / "events.jsonl")
    capsys.readouterr()
    for name in ("md", "html"):
        said = written(capsys, "--format", name, "--week", WEEK)

        assert "The most frequent causes first." in said


@pytest.mark.usefixtures("scheduler")
def test_why_it_is_not_told_what_moved_ett_is_what_holds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    why = {
        "2026-W08": "not reported by slurm-sacct dumps",
        WEEK: "not reported by slurm-sacct dumps",
        "2026-W10": "no attempt ran in this week",
    }
    for week, told in why.items():
        page = written(capsys, "--week", week, "--format", "html")

        assert f"<p>There is nothing to compare with: {told}.</p>" in page


def test_weeks_of_too_few_attempts_or_without_one_before_are_said_not_to_be_compared(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attempts = [
        serving.Attempt(f"job-{day}", 1, datetime(2026, 2, day, 9), {"effective": 600.0})
        for day in (16, 24, 25)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    why = {
        "2026-W08": "the data starts Mon 16 Feb",
        WEEK: "ETT is known of only 2 attempts in these days",
    }
    for week, told in why.items():
        page = written(capsys, "--week", week, "--format", "html")

        assert f"<p>There is nothing to compare with: {told}.</p>" in page


def test_the_numbers_are_those_of_the_window(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(capsys, "--week", WEEK, "--team", "feed")
    data.pin()
    window = data.row("from window_of('feed', 'all', $1, $2)", date(2026, 2, 23), date(2026, 3, 1))

    assert ("2026-02-23", "2026-03-01") == (said["first_day"], said["last_day"])
    assert window["ett_gpu_ratio"] == said["numbers"]["ett_gpu_ratio"]["value"]
    assert window["lost_gpu_seconds"] == pytest.approx(said["numbers"]["lost_gpu_seconds"]["value"])
    assert window["tts_p50_seconds"] == said["numbers"]["tts_p50_seconds"]["value"]
    assert 0.8 == said["target_ratio"]


def test_the_overview_of_the_same_days_shows_the_same(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serving.publish(warehouse, serving.fleet(last_day=date(2026, 3, 1)))
    lines = written(capsys, "--week", WEEK, "--format", "md").splitlines()
    page = open_page(days="7")

    for metric in page.metric:
        if metric.label in ("ETT", "Lost GPU-hours", "Time to start", "Preemption ratio"):
            assert any(f"**{metric.label}** | {metric.value} |" in line for line in lines)


def test_what_was_lost_stands_beside_all_of_then(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = written(capsys, "--week", WEEK, "--format", "md")
    data.pin()
    before = data.row(
        "select sum(gpu_seconds) as known from window_areas('fleet', 'all', $1, $2) "
        "where area <> 'uninstrumented'",
        date(2026, 2, 16),
        date(2026, 2, 22),
    )["known"]
    (line,) = [each for each in said.splitlines() if each.startswith("| **Lost GPU-hours**")]

    assert line.endswith(f"GPU-hours, {words.hours(before)} before |")


def test_days_by_another_zone_say_so_and_a_team_is_no_markdown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    settings = tmp_path / "ett.toml"
    settings.write_text('timezone = "Asia/Tokyo"\n')
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    dump = tmp_path / "sacct.txt"
    dump.write_text(
        "JobID|Account|State|Start|End|AllocTRES\n"
        "1|*a* <b>|COMPLETED|2026-02-24T10:00:00|2026-02-24T12:00:00|gres/gpu=8\n"
        "2|*a* <b>|COMPLETED|2026-03-03T10:00:00|2026-03-03T12:00:00|gres/gpu=8\n"
    )

    assert 0 == ingest(tmp_path, dump)
    capsys.readouterr()
    team = ("--week", WEEK, "--team", "*a* <b>")
    said = [written(capsys, "--format", name, *team) for name in ("md", "html", "json")]

    assert "\n\n` *a* <b> ` \u00b7 all workloads \u00b7 23 Feb to 1 Mar by Asia/Tokyo" in said[0]
    assert "<p>*a* &lt;b&gt; \u00b7 all workloads \u00b7 23 Feb to 1 Mar by Asia/Tokyo" in said[1]
    assert json.loads(said[2])["about"].startswith("*a* <b> \u00b7 all workloads")


def test_what_moved_ett_adds_up_to_its_change(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(capsys, "--week", WEEK)

    assert pytest.approx(said["ett_change_ratio"], abs=1e-9) == sum(
        move["moved_ratio"] for move in said["moves"]
    )


def test_the_shares_of_the_areas_add_up_to_one(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    areas = told(capsys, "--week", WEEK, "--team", "feed")["areas"]

    assert pytest.approx(1.0) == sum(area["share_ratio"] for area in areas)
    assert "effective" == areas[-1]["area"]


def test_without_a_week_it_is_the_last_complete_one(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert WEEK == told(capsys)["week"]  # the data ends on Tuesday of the week after


def test_without_a_complete_week_it_is_the_first_that_has_data(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"effective": 600.0})
    serving.publish(warehouse, serving.Warehouse(attempts=[ran]))

    assert ("2026-W10", "2026-03-02") == (told(capsys)["week"], told(capsys)["first_day"])


@pytest.mark.parametrize(
    ("gpus", "targets", "why"),
    [
        (8, {"fleet": 1.0}, "target 100 %: it leaves nothing to lose"),
        (8, {}, "no target is set"),
        (None, {"fleet": 0.9}, "the GPUs of these jobs are unknown"),
        (8, {"fleet": 0.9}, "of the 28 days to the end of the week"),
    ],
)
def test_a_loss_budget_that_is_missing_says_why(
    warehouse: Path,
    capsys: pytest.CaptureFixture[str],
    gpus: int | None,
    targets: dict[str, float],
    why: str,
) -> None:
    attempts = [
        serving.Attempt(f"{day}", 1, datetime(2026, 1, 31) + timedelta(days=day), areas, gpus=gpus)
        for day in range(30)
        for areas in [{"effective": 600.0}]
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts, targets=targets))
    lines = written(capsys, "--week", WEEK, "--format", "md").splitlines()
    [budget] = [each for each in lines if each.startswith("| **Loss budget left**")]

    assert budget.endswith(f"| {why} |")


def test_what_did_not_happen_is_said_and_nothing_is_measured_of_it(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"effective": 600.0}, gpus=None)
    serving.publish(warehouse, serving.Warehouse(attempts=[ran]))
    said = written(capsys, "--format", "md")

    assert "| **Time to recover** | \u2013 | \u2013 | no recovery in this week |" in said
    assert "no recovery in these days" in [each.value for each in open_page().caption]
    assert "## What stopped jobs\n\nNothing was interrupted.\n" in said
    assert "p50 of 0" not in said


@pytest.mark.parametrize(("causes", "said"), [(12, "; 10 of 12"), (10, "")])
def test_the_causes_say_of_how_many_they_are(
    warehouse: Path, capsys: pytest.CaptureFixture[str], causes: int, said: str
) -> None:
    failed: dict[str, Any] = {"trains": 600.0, "outcome": "failed"}
    start = datetime(2026, 2, 24, 6)
    stopped = (
        dumps.attempt(f"{of}-{n}", 1, start, category=f"user_code/{n}", team=f"of-{of}", **failed)
        for of in (12, 10)
        for n in range(of)
    )
    dumps.ingest(warehouse, [event for each in stopped for event in each], datetime(2026, 3, 2))
    capsys.readouterr()
    of_team = ("--week", WEEK, "--team", f"of-{causes}")
    texts = [written(capsys, *of_team, "--format", kind) for kind in ("md", "html")]
    listed = told(capsys, *of_team)["causes"]

    assert all(f"The dearest causes first{said}." in each for each in texts)
    assert all("What they discarded may have been trained before this week." in e for e in texts)
    assert 10 == len(listed)
    assert not any("known" in each for each in listed)


def test_a_week_that_is_not_complete_says_so(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = written(capsys, "--week", "2026-W10", "--format", "md")

    assert "This week is not complete yet: told to Tue 3 Mar." in said
    assert "| of the 28 days to Tue 3 Mar |" in said  # not to the end of the week


def test_a_week_without_a_complete_day_is_told_as_far_as_the_data_goes() -> None:
    moment = datetime(2026, 3, 3, 10)
    published = {
        "first_day": date(2026, 3, 2),
        "newest_day": date(2026, 3, 3),
        "last_complete_day": None,
        "data_at": moment,
        "published_at": moment,
        "time_zone": "UTC",
    }
    scope = digest._scope(date(2026, 3, 2), "fleet", published)
    said = report_text.freshness(SimpleNamespace(published=published, scope=scope))

    assert said.endswith("This week is not complete yet: told to Tue 3 Mar.")
    assert (date(2026, 3, 2), date(2026, 3, 3)) == scope.now[2:]
    assert "Tue 3 Mar" == digest._end(scope)


def test_of_a_week_that_is_not_complete_like_days_are_compared() -> None:
    days = {"first_day": date(2026, 1, 1), "newest_day": date(2026, 3, 4), "time_zone": "UTC"}
    published = {**days, "last_complete_day": date(2026, 3, 3)}
    scope = digest._scope(date(2026, 3, 2), "fleet", published)

    assert (date(2026, 3, 2), date(2026, 3, 3)) == scope.now[2:]
    assert (date(2026, 2, 23), date(2026, 2, 24)) == scope.previous[2:]


def test_the_first_week_is_compared_with_nothing(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serving.publish(warehouse, serving.fleet(days=9))
    said = told(capsys, "--week", WEEK)

    assert (False, None, []) == (said["is_compared"], said["ett_change_ratio"], said["moves"])
    assert None is said["numbers"]["ett_gpu_ratio"]["previous"]
    # and its loss budget is of no days before
    text = written(capsys, "--week", WEEK, "--format", "md")
    assert "of the 9 days to the end of the week" in text


def test_the_fleet_has_teams_and_a_team_has_none(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "## Teams" in written(capsys, "--week", WEEK, "--format", "md")
    assert "## Teams" not in written(capsys, "--week", WEEK, "--format", "md", "--team", "feed")


def test_the_page_is_one_file_that_asks_for_nothing(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = written(capsys, "--week", WEEK)
    head, _, rest = page.partition("<script>")  # plotly names addresses that it never asks

    assert "default-src 'none'" in head
    assert not re.findall(r"""(?:src|href)\s*=|url\(|@import""", head)
    assert rest.count("Plotly.newPlot(") >= 1
    assert 3 == page.count('role="img"')
    assert page.rstrip().endswith("</html>")


def test_every_figure_stands_beside_its_numbers(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = written(capsys, "--week", WEEK)
    figures = [part for part in page.split("<section")[1:] if 'role="img"' in part]

    assert 3 == len(figures)
    assert all("<details><summary>The numbers</summary>" in part for part in figures)


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_a_hostile_fleet_is_text_in_every_format(
    warehouse: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    serving.publish(warehouse, serving.hostile())
    text = written(capsys, "--week", "2026-W10", "--format", kind)

    if kind == "html":
        body = text.partition("<body>")[2].partition("<script>")[0]
        assert "<img" not in body
        assert "&lt;img src=x" in body
    elif kind == "md":
        assert f"` {serving.HOSTILE} `" in text
    else:
        assert serving.HOSTILE in {job["job_id"] for job in json.loads(text)["jobs"]}


def test_no_name_turns_around_the_figures_behind_it(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = "a\n\u202eb"
    attempt = serving.Attempt("job", 1, datetime(2026, 2, 25, 9), {"effective": 600.0}, team=team)
    serving.publish(
        warehouse, serving.Warehouse(attempts=[attempt], regressions=[SLOWER | {"team": team}])
    )
    page = written(capsys, "--week", WEEK, "--team", team, "--format", "html")

    body = page.partition("<body>")[2]
    assert "<p>a b \u00b7 all workloads" in body
    assert " of a b: " in body
    assert "\u202e" not in re.sub("<script.*?</script>", "", body, flags=re.DOTALL)


@pytest.mark.parametrize("kind", ["html", "md"])
def test_no_name_is_so_long_that_the_figures_behind_it_are_left_out(
    warehouse: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    team = "x" * 4096
    attempt = serving.Attempt("job", 1, datetime(2026, 2, 25, 9), {"effective": 600.0}, team=team)
    slower = serving.Warehouse(attempts=[attempt], regressions=[SLOWER | {"team": team}])
    serving.publish(warehouse, slower)
    text = written(capsys, "--week", WEEK, "--team", team, "--format", kind)

    assert "310 GPU" in text


def test_a_regression_is_a_sentence(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = serving.fleet()
    serving.publish(
        warehouse,
        serving.Warehouse(attempts=fleet.attempts, regressions=[SLOWER], targets=fleet.targets),
    )

    sentence = words.prose(regressed.sentence(SLOWER), 400)

    assert f"- {sentence}, slower, open\n" in written(capsys, "--week", WEEK, "--format", "md")


def test_what_is_over_says_from_when_to_when_and_a_mix_never_got_worse(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = {"state": "closed", "ended_on": found.SINCE + timedelta(days=3)}
    closed = found.found("feed", closed_on=found.SINCE + timedelta(days=6), **over)
    mix = found.found("ads", closed_on=found.SINCE + timedelta(days=6), verdict="mix", **over)
    found.add(serving.publish(warehouse, serving.fleet()), {"regressions": [closed, mix]})
    week = digest.named(found.SINCE)

    text = written(capsys, "--week", week, "--format", "md")
    [listed] = told(capsys, "--week", week)["regressions"]

    began, ended = words.day(found.SINCE), words.day(found.SINCE + timedelta(days=3))
    assert words.prose(f"from {began} to {ended}") in text
    assert f"since {began}" not in text
    assert ("feed", str(over["ended_on"])) == (listed["team"], listed["ended_on"])


def test_what_got_worse_for_all_teams_is_in_the_digest_of_each(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_all, of_another = found.found("fleet", verdict="fleet_wide"), found.found("feed")
    found.add(serving.publish(warehouse, serving.fleet()), {"regressions": [of_all, of_another]})

    listed = told(capsys, "--team", "ads")["regressions"]

    assert ["fleet"] == [each["team"] for each in listed]


def test_a_detector_that_failed_is_no_week_without_regressions(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found.fail(serving.publish(warehouse, serving.fleet()), "cannot be judged: a fault")

    assert told(capsys)["regressions"] is None
    for form in ("md", "html"):
        text = written(capsys, "--format", form)

        assert "Cannot be judged" in text
        assert "None is known." not in text


def test_where_nothing_was_judged_no_regression_is_not_said_to_be_good(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys)["regressions"] is None
    for form in ("md", "html"):
        text = written(capsys, "--format", form)

        assert "No series has been judged yet. That none is listed does not say" in text
        assert "None is known." not in text


@pytest.mark.parametrize(
    ("few_on", "note"),
    [
        (24, "p50 of 1; p90 24 min; n = 1, too few to compare"),
        (16, "p50 of 6; p90 24 min; n = 1 before, too few to compare"),
    ],
)
def test_few_are_not_compared(
    warehouse: Path, capsys: pytest.CaptureFixture[str], few_on: int, note: str
) -> None:
    serving.publish(
        warehouse,
        serving.Warehouse(
            attempts=[
                serving.Attempt(
                    f"j{day}-{each}",
                    1,
                    datetime(2026, 2, day, 9 + each),
                    {"effective": 600.0 + day},
                    tts=60.0 * day if day != few_on or not each else None,
                )
                for day in (16, 24)
                for each in range(6)
            ]
        ),
    )
    numbers = {each["label"]: each for each in told(capsys, "--week", WEEK)["numbers"].values()}
    text = written(capsys, "--week", WEEK, "--format", "md")

    assert (1440.0, 960.0, None) == tuple(
        numbers["Time to start"][key] for key in ("value", "previous", "verdict")
    )
    assert f"| **Time to start** | 24 min | \u2013 | {note}" in text
    assert "same" == numbers["Preemption ratio"]["verdict"]  # of six ends


@pytest.mark.parametrize(("before", "is_told"), [(4, False), (5, True)])
def test_what_moved_ett_is_told_of_enough_attempts(
    warehouse: Path, capsys: pytest.CaptureFixture[str], before: int, is_told: bool
) -> None:
    attempts = [
        serving.Attempt(
            f"j{day}-{each}",
            1,
            datetime(2026, 2, day, 9),
            {"effective": 600.0 + day, "hang": 10.0 * day},
        )
        for day, count in ((16, before), (24, 6))
        for each in range(count)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    found = told(capsys, "--week", WEEK)

    assert is_told == (found["ett_change_ratio"] is not None)
    assert is_told == bool(found["moves"])
    assert is_told == (found["teams"][0]["previous_ett_ratio"] is not None)
    assert is_told == ("What moved ETT:" in written(capsys, "--week", WEEK, "--format", "md"))
    assert is_told == (
        "nothing to compare with" not in written(capsys, "--week", WEEK, "--format", "html")
    )


@pytest.mark.parametrize(("first", "is_drawn"), [(16, True), (23, False)])
def test_the_week_before_is_grey_where_there_is_one(
    warehouse: Path, capsys: pytest.CaptureFixture[str], first: int, is_drawn: bool
) -> None:
    attempts = [
        serving.Attempt(f"j{day}", 1, datetime(2026, 2, day, 9), {"effective": 600.0})
        for day in range(first, 25)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = written(capsys, "--week", WEEK, "--format", "html")

    assert is_drawn == ("The week before is grey." in page)


def test_a_team_of_few_attempts_is_not_compared(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attempts = [
        serving.Attempt(f"{team}{day}-{each}", 1, at, {"effective": 600.0}, team=team)
        for team, then, now in (("few", 4, 6), ("fewer", 6, 4), ("many", 6, 6))
        for day, count in ((16, then), (24, now))
        for at in [datetime(2026, 2, day, 9)]
        for each in range(count)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    teams = told(capsys, "--week", WEEK)["teams"]

    assert {"few": None, "fewer": None, "many": 1.0} == {
        each["team"]: each["previous_ett_ratio"] for each in teams
    }


def test_a_file_is_written_where_it_is_asked_for(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "week.md"

    assert "" == written(capsys, "--week", WEEK, "--format", "md", "--output", str(out))
    assert out.read_text(encoding="utf-8").startswith("# ETT of the fleet, week 2026-W09")


def test_a_file_that_cannot_be_written_is_said(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "nowhere" / "week.md")

    told = refused(capsys, "--week", WEEK, "--format", "md", "--output", place)

    assert f"{place} cannot be written: No such file or directory. Name another --output" in told


@pytest.mark.parametrize("week", ["2026-9", "2026-W54", "W09", "2026-W00", "x", "2026-W09-1"])
def test_what_is_no_week_is_refused(
    fleet: Path, capsys: pytest.CaptureFixture[str], week: str
) -> None:
    assert f"{week!r} is no week: write" in refused(capsys, "--week", week)


@pytest.mark.parametrize(("week", "near"), [("2020-W01", "2026-W01"), ("2030-W01", "2026-W10")])
def test_a_week_outside_the_data_names_the_nearest(
    fleet: Path, capsys: pytest.CaptureFixture[str], week: str, near: str
) -> None:
    said = refused(capsys, "--week", week)

    assert "is outside the data" in said
    assert f"Nearest: --week {near}." in said


def test_a_team_that_is_not_there_names_the_nearest(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no team 'rankin' in this warehouse. Nearest: 'ranking'" in refused(
        capsys, "--week", WEEK, "--team", "rankin"
    )


def test_a_currency_is_written_as_each_form_needs_it(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = warehouse / "ett.toml"
    settings.write_text('[price]\ngpu_hour = 2.0\ncurrency = "US$"\n', encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    started = datetime(2026, 3, 2, 10)
    dumps.ingest(warehouse, dumps.attempt("a", 1, started, trains=3600.0), datetime(2026, 3, 10))
    capsys.readouterr()  # what the ingest said
    forms = {}
    for form in ("html", "md"):
        assert 0 == run(["--format", form])
        forms[form] = capsys.readouterr().out

    # 100 s of starting on 8 GPUs
    assert ">US$ 0.4 \u00b7 of 8.2 GPU-hours" in forms["html"]
    assert "| US\\$ 0.4 \u00b7 of 8.2 GPU-hours" in forms["md"]


def test_a_team_of_which_nothing_is_counted_is_not_said_to_be_missing(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = datetime(2026, 3, 2, 10)
    told = [
        *dumps.attempt("counted", 1, started, trains=3600.0, team="ranking"),
        *dumps.attempt("held no GPUs", 1, started, trains=3600.0, team="parsers", gpus=0),
    ]
    dumps.ingest(warehouse, told, datetime(2026, 3, 10))
    capsys.readouterr()  # what the ingest said
    said = refused(capsys, "--team", "parsers")

    assert "nothing is counted of the jobs of team 'parsers': they have no GPUs, or" in said
    assert "there is no team" not in said


def test_no_warehouse_and_an_empty_one_say_what_to_run(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "ett-ingest PATH" in refused(capsys)

    serving.publish(warehouse, serving.empty())

    assert "make ingest" in refused(capsys)


def test_a_warehouse_can_be_named(
    fleet_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", "nowhere")

    assert WEEK == told(capsys, "--warehouse", str(fleet_folder))["week"]


@pytest.mark.parametrize(
    ("day", "week"), [(date(2026, 1, 1), "2026-W01"), (date(2027, 1, 1), "2026-W53")]
)
def test_weeks_are_iso_weeks(day: date, week: str) -> None:
    assert week == digest.named(day)
    assert digest.week_of(week) <= day


def test_a_week_without_an_attempt_is_still_a_page(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attempts: Sequence[serving.Attempt] = [
        serving.Attempt(f"j{place}", 1, datetime(2026, 2, day, 9), {"effective": 600.0})
        for place, day in enumerate((2, 20))
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))

    assert "No attempt ran in this week" in written(capsys, "--week", "2026-W07")
    assert None is told(capsys, "--week", "2026-W07")["numbers"]["ett_gpu_ratio"]["value"]
