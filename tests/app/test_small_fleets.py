"""The pages on fleets of so little that a number is easily made of nothing."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from app import waits, words
from ingest import cli
from tests.app.dumps import Event, attempt, ingest
from tests.app.opening import (
    CHECKPOINTS,
    DATA,
    FAILURES,
    JOB,
    JOBS,
    LOST,
    OVERVIEW,
    START,
    open_page,
    said,
)

STARTED = datetime(2026, 3, 2, 10)
SAVED: Final[dict[str, Any]] = {"trains": 3600.0, "saves_every": 900.0, "outcome": "failed"}
AS_OF = datetime(2026, 3, 4)
PUBLISHES: Final[Event] = {
    "job_id": "published",
    "attempt": 1,
    "event": "phase_start",
    "phase": "shutdown",
    "stage": "model_publish",
    "ts": "2026-03-02T11:00:00Z",
    "end_ts": "2026-03-02T11:01:00Z",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def teams_of_little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    started, *_, ended = attempt("phaseless", 1, STARTED, trains=3600.0, team="phaseless")
    stubborn = [
        attempt("31 times", number, at, trains=60.0, outcome="failed", team="stubborn")
        for number in range(1, 32)
        for at in [STARTED + timedelta(hours=number)]
    ]
    of_unknown_gpus = [
        attempt(f"{team} {number}", 1, STARTED, trains=3500.0, gpus=None, team=team)
        for team, count in (("few-known", 2), ("one-known", 4))
        for number in range(count)
    ]
    told = [
        ended_at_once("at once", team="at-once"),
        [{**each, "outcome": "failed"} for each in ended_at_once("failed", team="failed-at-once")],
        attempt("steady", 1, STARTED, trains=3600.0, saves_every=900.0, team="steady"),
        attempt("tight", 1, STARTED, trains=904.0, team="tight"),  # of 1,004 s
        [started, ended],
        *of_unknown_gpus,
        attempt("few known", 1, STARTED, trains=3500.0, team="few-known"),
        attempt("one known", 1, STARTED, trains=3500.0, team="one-known"),
        attempt("of unknown GPUs", 1, STARTED, trains=3600.0, gpus=None, team="unknown"),
        *stubborn,
    ]
    folder = tmp_path_factory.mktemp("little")
    return ingest(folder, [event for events in told for event in events], AS_OF)


@pytest.fixture(scope="module")
def teams_of_two_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    next_day = STARTED + timedelta(days=1)
    lost = [
        attempt("trained", 1, STARTED, trains=3600.0, team="all-lost"),
        attempt("lost", 1, next_day, trains=3600.0, outcome="preempted", team="all-lost"),
    ]
    # two jobs that train at once or after a minute and a half, and one that always takes 100 s
    at_the_edge = [
        untold(f"{team} {number}", seconds, team)
        for team, seconds in (("starts-at-once", 0.0), ("starts-late", 90.0))
        for number in range(2)
    ] + [
        attempt(f"{team} later", 1, next_day, trains=3600.0, team=team)
        for team in ("starts-at-once", "starts-late")
    ]
    left_of_an_axis = [
        untold("begins at once", 0.0, "one-at-once"),
        *(attempt(name, 1, STARTED, trains=3600.0, team="one-at-once") for name in "abc"),
    ]
    published = [
        attempt("publishes", 1, STARTED, trains=3600.0, team="publishes"),
        [*attempt("published", 1, STARTED, trains=3600.0, gpus=None, team="publishes"), PUBLISHES],
    ]
    followed = [
        *(attempt(job_id, 1, STARTED, team="stopped", **SAVED) for job_id in ("again", "gone")),
        attempt("again", 2, STARTED + timedelta(hours=3), trains=3600.0, team="stopped"),
    ]
    told = [
        untold("without a phase of starting", 600.0, "quiet"),
        *lost,
        *at_the_edge,
        *left_of_an_axis,
        *published,
        *followed,
    ]
    folder = tmp_path_factory.mktemp("two-days")
    return ingest(folder, [event for events in told for event in events], AS_OF)


@pytest.fixture
def two_days(teams_of_two_days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `little`; more teams than a page lists would be of no use in one fleet."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(teams_of_two_days))


def untold(job_id: str, starts_up: float, team: str) -> list[Event]:
    """An attempt that trains after so many seconds, and nobody says what these held."""
    begins = (STARTED + timedelta(seconds=starts_up)).isoformat() + "Z"
    told: list[Event] = [
        {"ts": f"{STARTED.isoformat()}Z", "event": "attempt_start", "gpus": 8, "team": team},
        {"ts": begins, "event": "phase_start", "phase": "training"},
        {"ts": "2026-03-02T11:10:00Z", "event": "attempt_end", "outcome": "completed"},
    ]
    return [{**each, "job_id": job_id, "attempt": 1} for each in told]


@pytest.fixture
def little(teams_of_little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages read teams, and jobs, of which each has its own way to be small."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(teams_of_little))


def test_a_target_between_two_percents_is_not_rounded_to_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ett.toml").write_text("targets = { fleet = 0.925 }")
    monkeypatch.setenv("ETT_CONFIG", str(folder / "ett.toml"))
    events = (attempt(job_id, 1, STARTED, trains=1150.0) for job_id in "abcde")
    ingest(folder, [event for each in events for event in each], AS_OF)
    [page, lost, definitions] = (open_page(path) for path in (OVERVIEW, LOST, DATA))
    labels = [
        note["text"]
        for each in (page, lost)
        for note in json.loads(each.get("plotly_chart")[0].proto.spec)["layout"]["annotations"]
    ]

    assert "target 92.5 %, 0.5 pp short" in said(page)
    assert ["target<br>92.5 %"] * 2 == labels
    assert any("Target 92.5 %" in each for each in said(definitions))


@pytest.mark.usefixtures("two_days")
def test_a_day_of_which_all_was_lost_is_told_with_its_share_of_nothing() -> None:
    days = "lowest 0.0 % on Tue 3 Mar, highest 97.3 % on Mon 2 Mar, last 0.0 % on Tue 3 Mar"
    [overview, lost] = (
        open_page(path, team="all-lost").get("plotly_chart")[0] for path in (OVERVIEW, LOST)
    )

    assert overview.proto.alt.startswith(f"ETT by day: {days}. ")
    assert lost.proto.alt.startswith(f"Share that was effective: {days}. ")
    assert [0.0, 1.0] == json.loads(lost.proto.spec)["layout"]["yaxis"]["range"]


@pytest.mark.usefixtures("little")
def test_of_interruptions_that_took_no_time_the_gpus_are_not_said_to_be_unknown() -> None:
    sentences = said(open_page(FAILURES, attribution="all", team="failed-at-once"))

    assert not any("GPUs unknown" in each for each in sentences)
    assert "one in 0 GPU-hours; n = 1, too few to compare" in sentences


@pytest.mark.parametrize("path", [START, CHECKPOINTS, FAILURES])
def test_what_is_as_before_changed_by_nothing_and_by_no_less(folder: Path, path: str) -> None:
    told = (
        attempt(f"{day} {number}", 1, STARTED + day * timedelta(days=1), **SAVED)
        for day in range(14)
        for number in range(5)
    )
    ingest(folder, [event for events in told for event in events], STARTED + timedelta(days=14))
    changes = [each.delta for each in open_page(path, days="7", attribution="all").metric]

    assert any(changes)
    assert {"", "0", "0 s", "0.0 pp", "0.00"} >= set(changes)


def test_what_nothing_was_lost_to_is_said_in_place_of_an_empty_chart(folder: Path) -> None:
    ingest(folder, attempt("a", 1, STARTED, trains=3600.0), AS_OF)
    page = open_page(LOST, area="hang")

    assert "Nothing was lost to hang in these days." in said(page)
    assert not any("Share lost to" in each.proto.alt for each in page.get("plotly_chart"))


@pytest.mark.usefixtures("little")
def test_what_is_not_drawn_has_no_words_on_how_to_read_it() -> None:
    one, none = (said(open_page(START, team=team)) for team in ("steady", "at-once"))

    assert "The line is the p50, the band reaches to the p90." in one
    assert not any(each.startswith(("The line is", "Medians of each")) for each in none)


def test_a_day_that_is_not_over_is_said_not_to_be_drawn(folder: Path) -> None:
    told = (
        attempt(str(day), 1, STARTED + timedelta(days=day), trains=3600.0, saves_every=600.0)
        for day in range(3)
    )
    ingest(folder, [event for events in told for event in events], STARTED + timedelta(days=2.5))

    assert words.NOT_COMPLETE in said(open_page(CHECKPOINTS))


def test_of_several_days_that_are_not_over_each_is_said_not_to_be_drawn(folder: Path) -> None:
    """A cluster that was last heard of on the second day leaves that and what follows open."""
    for cluster, days in (("late", 2), ("east", 4)):
        told = (
            attempt(f"{cluster} {day}", 1, STARTED + timedelta(days=day), **SAVED)
            for day in range(days)
        )
        dump = folder / f"{cluster}.jsonl"
        compiling = {"phase": "pt2_compile", "cache": "hit"}  # in place of starting the trainer
        lines = (
            json.dumps(event | (compiling if event.get("phase") == "trainer_init" else {}))
            for events in told
            for event in events
        )
        dump.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        flags = ["--warehouse", str(folder), "--cluster", cluster]
        assert 0 == cli.main([*flags, str(dump)])

    several = "3 Mar to 5 Mar, days that are not complete: their numbers are in the CSV alone."
    assert several in said(open_page(CHECKPOINTS))
    assert several in said(open_page(START))


def test_the_last_days_of_few_are_not_counted_as_seven(folder: Path) -> None:
    told = (attempt(str(day), 1, STARTED + timedelta(days=day), trains=60.0) for day in range(3))
    ingest(folder, [event for events in told for event in events], STARTED + timedelta(days=3))

    assert any("those of the last 7 days are ringed." in each for each in said(open_page(FAILURES)))


@pytest.mark.usefixtures("little")
def test_a_budget_that_is_nearly_spent_does_not_last_for_no_time() -> None:
    sentences = said(open_page(OVERVIEW, team="tight"))

    assert any(", under 0.1 days at this rate" in each for each in sentences)


def of_a_scheduler_alone(folder: Path, day: date, jobs: int = 6, state: str = "COMPLETED") -> None:
    """Attempts of the team ranking of which no source says what they did."""
    table = folder / "sacct.txt"
    rows = [
        f"{number}|ranking|{state}|{day}T01:00:00|{day}T02:00:00|gres/gpu=8\n"
        for number in range(1, jobs + 1)
    ]
    table.write_text("JobIDRaw|Account|State|Start|End|AllocTRES\n" + "".join(rows))
    assert 0 == cli.main([str(table), "--warehouse", str(folder), "--timezone", "UTC"])


@pytest.fixture(scope="module")
def one_of_seven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One attempt says what it did."""
    folder = tmp_path_factory.mktemp("seven")
    ingest(folder, attempt("a", 1, STARTED, trains=3500.0), AS_OF)
    of_a_scheduler_alone(folder, STARTED.date())
    return folder


@pytest.mark.parametrize("weight", ["gpu", "wall"])
def test_a_number_is_of_the_attempts_that_say_what_they_did(
    one_of_seven: Path, monkeypatch: pytest.MonkeyPatch, weight: str
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(one_of_seven))
    page = open_page(weight=weight)
    [ett] = [each.value for each in page.metric if each.label == "ETT"]

    assert any("7 jobs, 7 attempts" in each for each in said(page))
    assert ett == ":gray[97.2 %]"
    assert any("pp above; n = 1, too few to compare" in each for each in said(page))


def test_nothing_is_compared_with_days_of_which_few_attempts_say_what_they_did(
    folder: Path,
) -> None:
    week = timedelta(days=7)
    told = [
        *(attempt(job_id, 1, STARTED, trains=3500.0) for job_id in "abcde"),
        *(attempt(f"then {job_id}", 1, STARTED - week, trains=100.0) for job_id in "ab"),
        *(attempt(f"feed {n}", 1, STARTED, trains=3500.0, team="feed") for n in range(5)),
        *(attempt(f"fed {n}", 1, STARTED - week, trains=100.0, team="feed") for n in range(5)),
        attempt("first", 1, STARTED - 2 * week, trains=100.0),
    ]
    ingest(folder, [event for events in told for event in events], AS_OF)
    of_a_scheduler_alone(folder, (STARTED - week).date())
    fleet, ranking = (said(open_page(days="7", team=team)) for team in ("fleet", "ranking"))

    assert "target 90 %, 7.2 pp above; n = 2 before, too few to compare" in ranking
    assert any("ETT is known of only 2 attempts in the days before" in each for each in ranking)
    assert "target 90 %, 7.2 pp above" in fleet
    assert {"97.2 % (too few to compare)", "97.2 % +47.2 pp"} == {
        each.split(" \u00b7 ")[0] for each in fleet if each.endswith("GPU-hours lost")
    }


def test_what_is_of_the_first_teams_says_so(folder: Path) -> None:
    publishes = {"event": "phase_start", "phase": "shutdown", "stage": "model_publish"}
    times = {"ts": "2026-03-02T10:30:00Z", "end_ts": "2026-03-02T10:31:00Z", "attempt": 1}
    told = [
        [*attempt(team, 1, STARTED, trains=3600.0, team=team), {**publishes, **times, **job}]
        for team in (f"team-{number}" for number in range(22))
        for job in [{"job_id": team}]
    ]
    ingest(folder, [event for events in told for event in events], AS_OF)

    assert "The 12 teams that published most; 10 more teams in the CSV." in said(open_page(START))
    assert "The 20 with the largest share; 2 more teams in the CSV." in said(open_page(DATA))


@pytest.mark.usefixtures("two_days")
def test_a_stage_that_is_reported_on_unknown_gpus_is_not_said_to_be_unreported() -> None:
    sentences = said(open_page(START, team="publishes"))

    assert "No source reports the stage model_publish here." not in sentences
    assert any(
        each.startswith("The GPUs of the jobs that report the stage model_publish are unknown")
        for each in sentences
    )


def test_of_one_team_no_more_are_said_to_be_in_the_csv(folder: Path) -> None:
    ingest(folder, attempt("a", 1, STARTED, trains=3600.0), AS_OF)

    assert not any("in the CSV" in each for path in (START, DATA) for each in said(open_page(path)))


def ended_at_once(job_id: str, **more: object) -> list[Event]:
    told = {"job_id": job_id, "ts": "2026-03-02T10:00:00Z", "gpus": 8, "team": "ranking", **more}
    return [{**told, "event": "attempt_start"}, {**told, "event": "attempt_end", "exit_code": 0}]


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, CHECKPOINTS, FAILURES])
def test_attempts_that_took_no_time_are_not_said_to_be_unreported(path: str) -> None:
    sentences = said(open_page(path, team="at-once"))

    assert not any("ot reported" in each or "uninstrumented" in each for each in sentences)
    assert not any("unknown number" in each for each in sentences)
    assert path == FAILURES or "No attempt of these days took any time" in sentences


@pytest.mark.usefixtures("little")
def test_a_team_that_took_no_time_is_told_from_one_that_is_uninstrumented() -> None:
    assert 2 == said(open_page()).count("no attempt took any time")


def test_an_attempt_that_runs_has_not_ended_and_one_gpu_is_not_many(folder: Path) -> None:
    *running, _ = attempt("a", 1, STARTED, trains=3600.0, gpus=1)
    ingest(folder, running, STARTED + timedelta(hours=2))

    assert any(
        "1 GPU, last heard of Mon 2 Mar, 11:01 UTC, **` running `**" in each
        for each in said(open_page(DATA))
    )


@pytest.mark.usefixtures("little")
def test_of_an_attempt_without_a_phase_no_spans_are_counted() -> None:
    assert "No dump tells of a phase of this attempt." in said(open_page(DATA, job="phaseless"))


@pytest.mark.usefixtures("little")
def test_what_a_job_of_unknown_gpus_lost_is_a_part_of_nothing() -> None:
    sentences = said(open_page(JOB, job="of unknown GPUs"))

    assert "its GPUs are unknown" in sentences
    assert not any("of \u2013" in each for each in sentences)


@pytest.mark.usefixtures("little")
def test_one_attempt_that_is_not_drawn_is_one() -> None:
    assert "The last 30 attempts; the table below has 1 earlier attempt too." in said(
        open_page(JOB, job="31 times")
    )


def test_where_nothing_was_interrupted_nothing_is_left_out_of_what_is_counted(folder: Path) -> None:
    ingest(folder, attempt("a", 1, STARTED, trains=3600.0), AS_OF)

    assert not any("Not counted" in each for each in said(open_page(FAILURES)))


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, CHECKPOINTS, FAILURES])
def test_a_page_says_how_many_attempts_are_in_none_of_its_gpu_hours(path: str) -> None:
    assert any(
        "3 jobs, 3 attempts, 8.0 GPU-hours without 2 attempts of unknown GPUs" in each
        for each in said(open_page(path, team="few-known"))
    )


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("path", [OVERVIEW, LOST])
def test_slanted_lines_are_told_of_only_where_something_started_again(path: str) -> None:
    captions = [each.value for each in open_page(path, team="steady").caption]

    figures = [each for each in captions if "first batch" not in each]
    assert not any("Slanted" in each for each in figures)
    assert path == LOST or "A bar that begins with // is cut at the left." in figures


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(("weight", "is_grey"), [("gpu", True), ("wall", False)])
def test_a_number_by_gpus_is_of_the_attempts_whose_gpus_are_known(
    weight: str, is_grey: bool
) -> None:
    page = open_page(weight=weight, team="one-known")
    [ett] = [each.value for each in page.metric if each.label == "ETT"]

    assert is_grey == ett.startswith(":gray[")
    assert is_grey == any("n = 1, too few to compare" in each.value for each in page.caption)


def test_what_never_trained_is_a_part_of_what_is_instrumented(
    one_of_seven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six of seven that ended say nothing of training."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(one_of_seven))
    told = said(open_page(START))

    assert any(each.startswith("0.0 % of 1 that ended; 6 more are uninstrumented") for each in told)
    assert not any("of 7 that ended" in each for each in told)


@pytest.mark.usefixtures("two_days")
def test_a_start_of_which_no_phase_tells_is_not_drawn_as_nothing() -> None:
    """Training began 10 minutes after the GPUs were there, and nobody says what these held."""
    page = open_page(START, team="quiet")

    assert any(
        "No phase of starting took any time in half of these waits or more." in each
        for each in said(page)
    )
    assert not any(
        each.proto.alt.startswith("Time to start on") for each in page.get("plotly_chart")
    )


@pytest.mark.usefixtures("two_days")
@pytest.mark.parametrize(("team", "places"), [("starts-at-once", 2), ("starts-late", 0)])
def test_a_wait_that_was_none_is_said_to_be_drawn_at_the_edge(team: str, places: int) -> None:
    edge = [each for each in said(open_page(START, team=team)) if waits.AT_THE_EDGE in each]

    assert places == len(edge)  # by day, and as they are spread


@pytest.mark.usefixtures("two_days")
def test_what_stands_left_of_an_axis_is_not_said_to_stand_on_it() -> None:
    """One in four begins at once; the curve's axis begins at a minute."""
    assert "Time to start." in said(open_page(START, team="one-at-once"))


def test_a_part_of_a_day_is_not_told_by_the_week(folder: Path) -> None:
    """The only day there is has seen eight hours."""
    told = [attempt(f"a{n}", 1, STARTED, **SAVED) for n in range(6)]
    ingest(folder, [event for each in told for event in each], STARTED + timedelta(hours=8))
    told_so_far = said(open_page(CHECKPOINTS))

    assert any("No day is complete yet" in each for each in told_so_far)
    assert any("it would lose" in each for each in told_so_far)
    assert not any("a week" in each for each in told_so_far)


def test_saves_that_differ_by_less_than_clocks_tell_are_as_before(folder: Path) -> None:
    """Saves of 15 s, a week later of some microseconds more, and then of a second more."""
    weeks = [15.0, 15.0, 15.00006, 16.0]
    told = [
        attempt(f"{week} {n}", 1, STARTED + timedelta(days=7 * week), **SAVED, blocked=blocked)
        for week, blocked in enumerate(weeks)
        for n in range(5)
    ]
    ended = STARTED.replace(hour=0) + timedelta(days=7 * len(weeks))
    for as_of, change in ((ended - timedelta(days=7), "0 s"), (ended, "+1.0 s")):
        before = [e for each in told for e in each if e["ts"] < f"{as_of.isoformat()}+00:00"]
        ingest(folder, before, as_of)
        [tile] = [
            each
            for each in open_page(CHECKPOINTS, days="7").metric
            if each.label.startswith("Save time")
        ]

        assert change == tile.delta


@pytest.fixture(scope="module")
def gpus_of_the_others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The GPUs are told of those jobs alone of which nothing else is."""
    folder = tmp_path_factory.mktemp("others")
    failed = attempt("a", 1, STARTED, **SAVED, message="Xid 79: GPU has fallen off the bus")
    events = [{name: told for name, told in each.items() if name != "gpus"} for each in failed]
    ingest(folder, events, AS_OF)
    of_a_scheduler_alone(folder, STARTED.date(), state="NODE_FAIL")
    return folder


@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, CHECKPOINTS, FAILURES, JOBS])
def test_gpus_that_are_told_are_not_said_to_be_unknown(
    gpus_of_the_others: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(gpus_of_the_others))
    told = said(open_page(path))
    whole = [
        each for each in told if re.search("(?i)the GPUs of these jobs are|: their GPUs", each)
    ]

    assert [] == whole
    assert any("GPUs of instrumented" in each for each in told)
    if path == FAILURES:
        assert any("in GPU-hours; those that are told are of jobs" in each for each in told)
        assert any(each.startswith("No source says on how many GPUs or what") for each in told)


@pytest.mark.parametrize(
    ("path", "parameters", "columns"),
    [
        (JOBS, {"q": "a"}, {"first_started_at", "last_ended_at"}),
        (JOB, {"job": "a"}, {"started_at", "first_batch_at", "ended_at"}),
        (FAILURES, {}, {"first_seen_at", "last_seen_at"}),
        (DATA, {}, {"ingested_at"}),
    ],
)
def test_a_table_of_all_days_tells_the_year(
    folder: Path, path: str, parameters: dict[str, str], columns: set[str]
) -> None:
    """Two dumps, messages or attempts of one day of the year may be a year apart."""
    ingest(folder, attempt("a", 1, STARTED, **SAVED, message="went bang"), AS_OF)
    told = {
        name: column["type_config"]["format"]
        for table in open_page(path, **parameters).dataframe
        for name, column in json.loads(table.proto.columns).items()
        if name in columns
    }

    assert columns == set(told)
    assert {"D MMM YYYY"} == {" ".join(each.split()[:3]) for each in told.values()}


@pytest.mark.parametrize("days", ["7", "28"])
def test_what_was_discarded_of_days_before_is_said_to_be(folder: Path, days: str) -> None:
    """A job that never saves trains for 12 days, and fails on the last but one of them all."""
    gambled = attempt("a", 1, STARTED, trains=12 * 86400.0, outcome="failed")
    ingest(folder, gambled, STARTED + timedelta(days=14))
    told = said(open_page(FAILURES, days=days, attribution="all"))

    assert any(
        "training that was discarded, also that of days before these" in each for each in told
    )
    assert (days == "7") == any(each.startswith("Over 100 %: what was discarded") for each in told)
    assert not any("hare of a team's GPU-hours" in each for each in told)


def test_an_interruption_that_nothing_followed_is_said_not_to_be_recovered_from(
    teams_of_two_days: Path, gpus_of_the_others: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One trained again, one did not, and of one nobody can say."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(teams_of_two_days))
    recovered, gone = (said(open_page(JOB, job=job)) for job in ("again", "gone"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(gpus_of_the_others))
    mute = said(open_page(JOB, job="1"))

    assert "1 interruption" in recovered
    assert "1 interruption, not recovered from" in gone
    assert "1 interruption, not measured" in mute
