"""The past as OpenMetrics: what each day showed, as Prometheus itself takes it."""

from __future__ import annotations

import os
import subprocess
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from app.monitoring.exporter import main
from tests.monitoring.serving import LAST_DAY, Attempt, Regression, publish

EARLIER = LAST_DAY - timedelta(days=2)


def test_each_day_has_what_its_windows_said_at_the_midnight_after_it(tmp_path: Path) -> None:
    publish(
        tmp_path / "warehouse",
        [
            Attempt(day=EARLIER, gpus=1, areas={"effective": 100.0}),
            Attempt(gpus=1, areas={"effective": 300.0, "unsaved": 100.0}),
        ],
    )
    told = {
        (s.labels["window"], day_of(s)): s.value
        for s in past(tmp_path, "ett_gpu_seconds")
        if s.labels["area"] == "effective"
    }

    assert {
        ("1d", EARLIER): 100.0,
        ("7d", EARLIER): 100.0,
        ("28d", EARLIER): 100.0,
        ("7d", LAST_DAY - timedelta(days=1)): 100.0,
        ("28d", LAST_DAY - timedelta(days=1)): 100.0,
        ("1d", LAST_DAY): 300.0,
        ("7d", LAST_DAY): 400.0,
        ("28d", LAST_DAY): 400.0,
    } == told


def test_one_that_is_stopped_leaves_what_was_written_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(line: str) -> str:
        raise KeyboardInterrupt

    publish(tmp_path / "warehouse", [Attempt()])
    target = tmp_path / "past.om"
    target.write_text("of before", encoding="utf-8")
    monkeypatch.setattr("app.monitoring.backfill._series", stop)
    status = main(["--warehouse", str(tmp_path / "warehouse"), "--backfill", str(target)])

    assert 130 == status
    assert f"stopped; {target} is not written\n" in capsys.readouterr().err
    assert "of before" == target.read_text(encoding="utf-8")
    assert [target] == list(tmp_path.glob("past.om*"))


def test_a_regression_is_active_from_its_detection_until_it_closed(tmp_path: Path) -> None:
    publish(
        tmp_path / "warehouse",
        [Attempt(day=EARLIER), Attempt()],
        regressions=[
            Regression(
                state="closed",
                started_on=EARLIER - timedelta(days=3),
                detected_on=EARLIER,
                closed_on=LAST_DAY,
            ),
            Regression("feed", state="held_back", detected_on=EARLIER, was_open=False),
        ],
    )
    active = past(tmp_path, "ett_regression_active")

    assert [("ranking", EARLIER), ("ranking", LAST_DAY - timedelta(days=1))] == [
        (s.labels["team"], day_of(s)) for s in active
    ]


@pytest.mark.parametrize(
    ("state", "was_open", "active"),
    [
        ("incident", True, [EARLIER]),  # open until it went away
        ("incident", False, []),
        ("closed", False, []),  # a mix that is over
    ],
)
def test_what_was_open_then_is_told_whatever_became_of_it(
    tmp_path: Path, state: str, was_open: bool, active: list[date]
) -> None:
    publish(
        tmp_path / "warehouse",
        [Attempt(day=EARLIER), Attempt()],
        regressions=[
            Regression(
                state=state,
                detected_on=EARLIER,
                closed_on=EARLIER + timedelta(days=1),
                was_open=was_open,
            )
        ],
    )

    assert active == [day_of(s) for s in past(tmp_path, "ett_regression_active")]


def test_what_became_part_of_what_all_teams_have_is_told_of_the_team_up_to_then(
    tmp_path: Path,
) -> None:
    told_of_all = EARLIER + timedelta(days=1)
    publish(
        tmp_path / "warehouse",
        [Attempt(day=EARLIER), Attempt()],
        regressions=[
            Regression(state="held_back", detected_on=EARLIER),
            Regression("fleet", detected_on=told_of_all),
        ],
        spoil="insert into regression_symptoms select 'fleet', metric, started_on, team, metric "
        "from regressions where state = 'held_back'",
    )
    active = past(tmp_path, "ett_regression_active")

    assert {("ranking", EARLIER), ("fleet", told_of_all), ("fleet", LAST_DAY)} == {
        (s.labels["team"], day_of(s)) for s in active
    }


@pytest.mark.parametrize("team", ["a\rb", "a\r\nb", "a\x1c# b", "a\x0bb", "a\u2028# b 1", "#b"])
def test_a_team_whose_name_breaks_a_line_is_told_whole_on_each_day(
    tmp_path: Path, team: str
) -> None:
    publish(tmp_path / "warehouse", [Attempt(team=team, day=EARLIER), Attempt(team=team)])
    told = [
        (s.labels["team"], day_of(s))
        for s in past(tmp_path, "ett_preemption_ratio")
        if s.labels["window"] == "28d"
    ]

    assert [(team, EARLIER + timedelta(days=days)) for days in range(3)] == told


@pytest.mark.prometheus
def test_promtool_makes_blocks_of_it(tmp_path: Path, promtool: str) -> None:
    publish(tmp_path / "warehouse", [Attempt(team='a"b\\\r\n\x1c# {c} 🚂', day=EARLIER), Attempt()])
    backfill(tmp_path)
    (tmp_path / "data").mkdir()
    made = subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", "past.om", "data"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (0, "") == (made.returncode, made.stderr)
    assert 3 == len(list((tmp_path / "data").iterdir()))


def test_nothing_published_is_said_and_no_file_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "past.om"
    status = main(["--warehouse", str(tmp_path / "none"), "--backfill", str(target)])

    assert 2 == status
    assert "the past could not be written: no warehouse is published" in capsys.readouterr().err
    assert not target.exists()


def test_a_file_that_cannot_be_written_is_said_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path / "warehouse", [Attempt()])
    status = main(["--warehouse", str(tmp_path / "warehouse"), "--backfill", "/dev/full"])
    said = capsys.readouterr().err

    assert 2 == status
    assert "the past could not be written: [Errno 28] No space left on device" in said
    assert said.endswith("ett-exporter: give --backfill a file that can be written\n")


def test_what_is_no_file_of_its_own_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    publish(tmp_path / "warehouse", [Attempt()])
    expected = backfill(tmp_path)
    kept, link, pipe = tmp_path / "kept.om", tmp_path / "link.om", tmp_path / "pipe"
    kept.write_text("of before", encoding="utf-8")
    link.symlink_to(kept)
    os.mkfifo(pipe)
    told: list[str] = []
    reader = threading.Thread(target=lambda: told.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    for target in (link, pipe):
        status = main(["--warehouse", str(tmp_path / "warehouse"), "--backfill", str(target)])
        assert status == 0
    reader.join(timeout=60)

    assert link.is_symlink()
    assert pipe.is_fifo()
    assert [expected, expected] == [kept.read_text(encoding="utf-8"), *told]


@pytest.mark.parametrize("name", ["", "-", ".", "none/past.om", "loop"])
def test_what_no_file_can_be_is_refused_before_anything_is_counted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    with pytest.raises(SystemExit) as ended:
        main(["--backfill", name])

    assert 2 == ended.value.code
    assert f"{name!r} is no file that could be written: name one" in capsys.readouterr().err


def backfill(folder: Path) -> str:
    target = folder / "past.om"
    assert 0 == main(["--warehouse", str(folder / "warehouse"), "--backfill", str(target)])
    return target.read_bytes().decode()  # as it is: a name may hold any break of a line


def past(folder: Path, family: str) -> list[Sample]:
    families = text_string_to_metric_families(backfill(folder))  # type: ignore[no-untyped-call]
    return [sample for one in families if one.name == family for sample in one.samples]


def day_of(sample: Sample) -> date:
    """The day whose end the sample's time is."""
    at = datetime.fromtimestamp(float(sample.timestamp or 0), UTC)

    assert (0, 0, 0) == (at.hour, at.minute, at.second)
    return at.date() - timedelta(days=1)
