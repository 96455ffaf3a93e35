"""Rules in `ett.toml` say whose a dump is where it does not say so itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import UnreadableDump, UnusableArguments
from ingest.events import Event, Reason, Rejected
from ingest.identity import IdentityRule, identified
from ingest.settings import read_settings
from tests.queries import telling
from tests.queries.engine import ingest, rows
from tests.queries.telling import SCHEDULER, TRAINER, write_told

Fields = dict[str, Any]
Configure = Callable[[str], None]

BEGAN_US = 1_772_323_200_000_000


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    telling.register(monkeypatch)

    def configure(text: str) -> None:
        (tmp_path / "ett.toml").write_text(text, encoding="utf-8")
        monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))

    return configure


def test_the_path_says_job_team_and_attempt(configure: Configure, tmp_path: Path) -> None:
    configure(
        r"""
        [[identity]]
        path = '/logs/(?P<team>[a-z]+)/(?P<job_id>[^/]+)/try-(?P<attempt>\d+)\.log$'
        """
    )
    for number in (1, 2):
        log = tmp_path / "logs" / "ads" / "ctr" / f"try-{number}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        write_told(log, TRAINER, [progress("unnamed", 1000 * number, run_key=f"k{number}")])

    assert 0 == ingest(tmp_path / "warehouse", tmp_path / "logs")
    assert [("ctr", 1, "ads"), ("ctr", 2, "ads")] == rows(
        tmp_path / "warehouse", "select job_id, attempt, team from attempts order by attempt"
    )


def test_a_rule_looks_at_the_path_from_the_root_whatever_folder_it_is_given_from(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("[[identity]]\npath = '/logs/(?P<team>[^/]+)/(?P<job_id>[^/]+)/'")
    log = tmp_path / "logs" / "ads" / "ctr" / "try-1.log"
    log.parent.mkdir(parents=True)
    (tmp_path / "logs" / "feed").mkdir()
    write_told(log, TRAINER, [progress("unnamed", 1000, run_key="k1")])
    monkeypatch.chdir(tmp_path / "logs" / "feed")

    assert 0 == ingest(tmp_path / "warehouse", "../ads/ctr/try-1.log")
    assert [("ctr", "ads")] == rows(tmp_path / "warehouse", "select job_id, team from jobs")


def test_the_name_of_a_run_says_the_schedulers_job(configure: Configure, tmp_path: Path) -> None:
    configure("[[identity]]\njob_id = '^slurm-(?P<scheduler_job>[0-9]+)$'")
    row = {"job_id": "fleet:95", "row_key": "1", "row_submitted_us": BEGAN_US, "row_state": "X"}
    scheduled = [
        row | {"at_us": BEGAN_US, "event": "attempt_start"},
        row | {"at_us": BEGAN_US + 9_000_000, "event": "attempt_end", "outcome": "completed"},
    ]
    dumps = (
        write_told(tmp_path / "sacct", SCHEDULER, scheduled),
        write_told(tmp_path / "log", TRAINER, [progress("slurm-95", 5)]),
    )

    assert 0 == ingest(tmp_path / "warehouse", *dumps)
    assert [("fleet:95", True)] == rows(
        tmp_path / "warehouse", "select job_id, is_instrumented from attempts"
    )


def test_of_several_rules_that_give_one_thing_the_first_counts() -> None:
    rules = (
        IdentityRule("run_key", "^(?P<job_id>a)"),
        IdentityRule("job_id", "(?P<job_id>.*)-x(?P<team>.*)"),
    )
    events = identify(rules, {"run_key": "abc", "job_id": "b-xc"}, {"job_id": "b-xc"})

    # each rule looks at what the dump says, not at what another rule made of it
    assert [("a", "c"), ("b", "c")] == [(e.get("job_id"), e.get("team")) for e in events]


def test_a_team_is_said_once_for_a_launch() -> None:
    rules = (IdentityRule("path", "/(?P<team>ads)/"),)
    events = identify(
        rules,
        {"job_id": "a"},
        {"job_id": "a", "team": "other"},
        {"job_id": "b"},
        {"job_id": "b", "run_key": "2"},
        {"job_id": "b", "run_key": "2"},
    )

    assert ["ads", None, "ads", "ads", None] == [event.get("team") for event in events]


def test_a_team_that_the_path_says_stays_when_the_scheduler_starts_the_job_again(
    configure: Configure, tmp_path: Path
) -> None:
    configure("[[identity]]\npath = '/(?P<team>ads)/'")
    scheduled: list[Fields] = []
    trained: list[Fields] = []
    for submitted in (0, 1000):
        of_row = {
            "job_id": "fleet:95",
            "row_key": str(submitted),
            "row_submitted_us": BEGAN_US + submitted * 1_000_000,
            "row_state": "PREEMPTED",
        }
        at_us = of_row["row_submitted_us"]
        scheduled += [
            of_row | {"at_us": at_us, "event": "job", "team": "account"},
            of_row | {"at_us": at_us, "event": "attempt_start"},
        ]
        launch = {"run_key": str(submitted), "scheduler_job": "95"}
        trained += [progress("run", submitted + second, **launch) for second in (10, 900)]
    log = tmp_path / "ads" / "run.log"
    log.parent.mkdir()
    write_told(log, TRAINER, trained)  # one log, which every launch appends to
    write_told(tmp_path / "rows", SCHEDULER, scheduled)

    assert 0 == ingest(tmp_path / "warehouse", log, tmp_path / "rows")
    assert [("fleet:95", 1, "ads"), ("fleet:95", 2, "ads")] == rows(
        tmp_path / "warehouse", "select job_id, attempt, team from attempts order by attempt"
    )


def test_what_no_rule_matches_stays_as_it_was_told() -> None:
    rules = (
        IdentityRule("job_id", "^x(?P<attempt>[0-9])?"),
        IdentityRule("run_key", "(?P<team>.)"),
    )
    rejected = Rejected(1, Reason.BAD_VALUE, "", "")
    told: list[Event | Rejected] = [{"job_id": "xy", "event": "alive", "at_us": 1}, rejected]

    assert [{"job_id": "xy", "event": "alive", "at_us": 1}, rejected] == list(
        identified(rules, "log", Path("log"), told)
    )


def test_rows_of_a_scheduler_say_themselves_whose_they_are() -> None:
    rules = (IdentityRule("path", "(?P<job_id>ads)"),)

    assert ["95"] == [
        event["job_id"] for event in identify(rules, {"job_id": "95", "row_key": "1"})
    ]


@pytest.mark.parametrize("number", ["17", "17_3", "17+1", "0017"])
def test_a_job_of_a_scheduler_may_be_the_task_of_an_array_or_a_part(number: str) -> None:
    rules = (IdentityRule("job_id", r"^exp-(?P<scheduler_job>[\d_+]+)$"),)

    assert [number] == [
        event["scheduler_job"] for event in identify(rules, {"job_id": f"exp-{number}"})
    ]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?P<attempt>ads)", "attempt 'ads', which must be a number from 1"),
        ("-(?P<attempt>0)", "attempt '0', which must be a number from 1"),
        (
            r"run (?P<attempt>\d+)",
            "attempt '20260301100000123456', which must be a number from 1 to 999,999,",
        ),
        ("(?P<scheduler_job>ads)", "scheduler_job 'ads', which must be digits, as in 17, "),
        ("(?P<job_id>)", "job_id '', which must be 1 to 256 characters"),
    ],
)
def test_a_value_that_cannot_be_meant_refuses_the_dump(pattern: str, said: str) -> None:
    with pytest.raises(UnreadableDump) as refusal:
        identify(
            (IdentityRule("path", pattern), IdentityRule("job_id", pattern)),
            {"job_id": "run 20260301100000123456"},
        )

    assert said in str(refusal.value)
    assert "ads-0.log" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("identity = 'a'", "identity must be a list of tables, as in [[identity]]"),
        ("identity = ['a']", "identity must be a list of tables, as in [[identity]]"),
        ("[[identity]]\nname = 'a'", "rule 1 must have one of path, job_id, run_key, not name"),
        ("[[identity]]", "rule 1 must have one of path, job_id, run_key, not nothing"),
        (
            "[[identity]]\npath = '(?P<team>a)'\n[[identity]]\npath = 'a'\njob_id = 'b'",
            "rule 2 must have one of path, job_id, run_key, not path, job_id",
        ),
        ("[[identity]]\npath = 5", "rule 1 must be a pattern in quotes"),
        ("[[identity]]\npath = '('", "rule 1: '(' is no regular expression: "),
        ("[[identity]]\npath = 'a(b)'", "rule 1: 'a(b)' names no group, as in (?P<job_id>[^/]+)"),
        ("[[identity]]\npath = '(?P<job>a)'", "names the group 'job'. Known: job_id, attempt"),
    ],
)
def test_a_slip_in_a_rule_is_told_with_its_number(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "ett.toml").write_text(text, encoding="utf-8")

    with pytest.raises(UnusableArguments) as refusal:
        read_settings(tmp_path / "ett.toml")

    assert said in str(refusal.value)
    assert "ett.toml" in str(refusal.value)


def identify(rules: tuple[IdentityRule, ...], *told: Fields) -> list[Event]:
    events: list[Any] = [{"event": "alive", "at_us": 1} | fields for fields in told]
    return [
        event
        for event in identified(rules, "ads-0.log", Path("/logs/ads/ads-0.log"), events)
        if not isinstance(event, Rejected)
    ]


def progress(job: str, second: int, **more: object) -> Fields:
    return {"job_id": job, "at_us": BEGAN_US + second * 1_000_000, "event": "progress"} | more
