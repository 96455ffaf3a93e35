"""The pages on a fleet whose dumps say what jobs did, but not on how many GPUs."""

from __future__ import annotations

import re
from contextvars import copy_context
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest

from app import data, digest, report_html, report_text
from app.filters import WEIGHTS
from app.losses import LOSSES_BY_DAY
from tests.app import serving
from tests.app.opening import (
    CHECKPOINTS,
    DATA,
    FAILURES,
    JOBS,
    LOST,
    OVERVIEW,
    PAGES,
    START,
    markdown,
    open_page,
    said,
)

UNKNOWN = ":gray[\u2013]"
WEIGHED = (OVERVIEW, LOST, START, CHECKPOINTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unknown")
    known = serving.fleet(teams=("ranking", "feed"), days=30)
    attempts = [
        replace(attempt, gpus=None)
        for attempt in known.attempts
        if "uninstrumented" not in attempt.areas
    ]
    serving.publish(path, replace(known, attempts=attempts))
    return path


@pytest.fixture(autouse=True)
def unknown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(folder))


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("weight", ["gpu", "wall"])
def test_nothing_fails_or_is_called_uninstrumented(path: str, weight: str) -> None:
    page = open_page(path, weight=weight, attribution="all")

    assert not [each for each in page.error if "could not be read" in each.value]
    assert not any("is uninstrumented" in text or "Not reported" in text for text in said(page))
    assert not any(" 0 GPU-hours" in text for text in said(page))


@pytest.mark.parametrize("path", WEIGHED)
def test_by_gpus_a_page_says_what_is_unknown_and_wall_weight_is_one_click_away(path: str) -> None:
    page = open_page(path)

    assert any(text.startswith("The GPUs of these jobs are unknown") for text in markdown(page))

    [button] = [each for each in page.button if each.label == "Show by wall weight"]
    button.click().run()

    assert "wall" == page.sidebar.button_group(key="weight").value
    assert not any(text.startswith("The GPUs of these jobs") for text in markdown(page))


@pytest.mark.parametrize("weight", ["gpu", "wall"])
def test_failures_offer_no_weight_that_changes_nothing_on_them(weight: str) -> None:
    page = open_page(FAILURES, weight=weight)

    assert any(text.startswith("The GPUs of these jobs are unknown") for text in markdown(page))
    assert not any(each.label == "Show by wall weight" for each in page.button)


@pytest.mark.parametrize("path", [OVERVIEW, LOST])
def test_by_wall_every_number_of_lost_time_is_there(path: str) -> None:
    page = open_page(path, weight="wall")
    shown = {metric.label: metric.value for metric in page.metric}

    assert ["Loss budget left"] * (path == OVERVIEW) == [
        label for label, value in shown.items() if value == UNKNOWN
    ]


def test_by_wall_the_attempts_that_lost_most_hours_are_listed() -> None:
    page = open_page(LOST, weight="wall", area="unsaved")
    lost = page.dataframe[0].value["lost_wall_hours"].tolist()

    assert lost
    assert sorted(lost, reverse=True) == lost
    assert "Attempts that lost most to unsaved" in [each.value for each in page.header]


@pytest.mark.parametrize("weight", ["gpu", "wall"])
def test_waits_and_counts_need_no_gpus(weight: str) -> None:
    page = open_page(START, weight=weight)
    shown = {metric.label: metric.value for metric in page.metric}

    assert UNKNOWN not in [shown["Start p50"], shown["Recover p50"], shown["Never trained"]]
    assert any("GPUs of every attempt that started in these days" in text for text in said(page))
    assert not any("no start" in text for text in said(page))
    assert any(
        re.search(r"\d+ jobs, \d+ attempts, \d+ hours, GPUs unknown", text)
        for text in markdown(page)
    )
    assert "Time to start by day" in [heading.value for heading in page.header]


def test_interruptions_are_not_said_to_be_none() -> None:
    page = open_page(FAILURES, attribution="all")

    assert not any("none in these days" in text for text in said(page))
    assert any("interruptions, GPUs unknown" in text for text in said(page))
    assert any("an unknown number of GPU-days" in text for text in said(page))


def test_what_cannot_be_gained_has_its_own_reason() -> None:
    by_gpu, by_wall = (open_page(CHECKPOINTS, weight=weight) for weight in ("gpu", "wall"))
    tile = by_wall.metric[4]

    assert not any("nothing that trained was interrupted" in text for text in said(by_gpu))
    assert any(
        "worth changing: the GPUs of what saved are unknown" in text for text in said(by_gpu)
    )
    assert ("To gain, hours", False) == (tile.label, tile.value == UNKNOWN)


def test_what_is_sorted_says_by_what() -> None:
    by_gpu, by_wall = (open_page(OVERVIEW, weight=weight) for weight in ("gpu", "wall"))
    lost = open_page(LOST, weight="wall")
    jobs = open_page(JOBS)
    listed = jobs.dataframe[0].value["lost_wall_hours"].dropna().tolist()

    assert "Whose is it? Sorted by name." in said(by_gpu)
    assert "Whose is it? Sorted by hours lost; the fleet in grey." in said(by_wall)
    assert any("Sorted by hours lost, the fleet first" in text for text in said(lost))
    assert any("Sorted by hours lost: their GPUs are unknown" in text for text in said(jobs))
    assert not any(
        "GPU-hours lost" in text for page in (by_gpu, by_wall, lost) for text in said(page)
    )
    assert listed
    assert sorted(listed, reverse=True) == listed


def test_by_wall_the_team_that_lost_most_hours_comes_first() -> None:
    page = open_page(OVERVIEW, weight="wall")
    lines = [line.split(" \u00b7 ")[-1] for line in said(page) if line.endswith(" hours lost")]
    lost = [float(line.split()[0].removesuffix("k")) for line in lines]

    assert 2 == len(lost)
    assert sorted(lost, reverse=True) == lost


def test_data_does_not_take_unknown_gpus_for_none() -> None:
    page = open_page(DATA)
    walked = next(each.value for each in page.dataframe if "attempt_gpu_hours" in each.value)

    assert any("No instrumented job whose GPUs are known ran" in text for text in said(page))
    assert any(", GPUs unknown, ended " in text for text in said(page))
    assert walked[["attempt_gpu_hours", "team_gpu_hours"]].isna().all().all()


def test_data_says_of_how_many_teams_the_unaccounted_share_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = serving.fleet(teams=("ranking", "feed"), days=30)
    attempts = [
        replace(attempt, gpus=None) if attempt.team == "feed" else attempt
        for attempt in known.attempts
    ]
    serving.publish(tmp_path, replace(known, attempts=attempts))
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))

    told = said(open_page(DATA))

    assert "1 more team had instrumented jobs, of none of which the GPUs are known." in told


def test_the_digest_does_not_take_unknown_gpus_for_none() -> None:
    html, text = (
        copy_context().run(lambda write=write: write(digest.gather(None, "fleet")))
        for write in (report_html.page, report_text.markdown)
    )

    assert 2 <= html.count("The GPUs of these jobs are unknown.")
    assert 2 == text.count("The GPUs of these jobs are unknown.")
    for told in (html, text):
        assert "No job lost GPU-hours" not in told
        assert "by GPU-hours lost" not in told


def test_what_was_lost_each_day_is_unknown_not_nothing() -> None:
    scope = "fleet", "all", date(2026, 2, 4), date(2026, 3, 3)

    def lost(weight: str) -> pl.Series:
        data.pin()
        return data.frame(LOSSES_BY_DAY, *scope, weight)["lost"]

    # in a context of its own: another test of this process may have pinned its publication
    by_gpu, by_wall = (copy_context().run(lost, weight) for weight in WEIGHTS)

    assert by_gpu.is_null().all()
    assert 0 < by_wall.drop_nulls().len()


@pytest.mark.parametrize(
    ("path", "drawn"),
    [(OVERVIEW, []), (LOST, []), (CHECKPOINTS, ["Share of train-loop time lost"])],
)
def test_no_empty_figure_is_drawn(path: str, drawn: list[str]) -> None:
    told = [chart.proto.alt for chart in open_page(path).get("plotly_chart")]

    assert drawn == [text.split(",")[0] for text in told]


def test_jobs_whose_sources_say_nothing_of_losses_are_not_said_to_be_sorted_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = serving.fleet(teams=("ranking",), days=30)
    attempts = [each for each in known.attempts if "uninstrumented" in each.areas]
    assert attempts
    assert all(each.gpus for each in attempts)
    serving.publish(tmp_path, replace(known, attempts=attempts))
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))

    told = said(open_page(JOBS))

    assert any("what they lost, their sources do not say" in text for text in told)
    assert not any("GPUs are unknown" in text for text in told)


def test_of_jobs_whose_sources_say_nothing_no_saves_and_no_losses_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = serving.fleet(teams=("ranking",), days=30)
    mute = [
        serving.Attempt(f"mute-{number}", 1, datetime(2026, 3, 2, 9), {"uninstrumented": 600.0})
        for number in range(501)
    ]
    serving.publish(tmp_path, replace(known, attempts=mute))
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))

    assert any("501 jobs since" in t and "; the first 500." in t for t in said(open_page(JOBS)))

    told = said(open_page(CHECKPOINTS))
    claims = ("no good save", "0 interruptions", "saved twice")

    assert any("worth changing: not reported by" in text for text in told)
    assert not any(claim in text for text in told for claim in claims)
