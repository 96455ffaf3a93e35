"""Logs without offsets in the night in which clocks are put back, where an hour comes twice."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.collectors import repeated_hour
from ingest.collectors.base import Dump
from ingest.collectors.lines import Clock, said
from ingest.collectors.repeated_hour import told_apart
from ingest.collectors.torchelastic_agent import messages_in
from ingest.collectors.training_log import TRAINING_LOG
from tests.ingest.both_ways import told
from tests.ingest.torchelastic_dumps import BEGUN, begins, events_of, fails, starts, table, written
from tests.ingest.warehouses import contents
from tests.queries.engine import ingest

BERLIN = ZoneInfo("Europe/Berlin")
PUT_BACK = datetime(2026, 10, 25, 1, tzinfo=UTC)  # from 03:00 to 02:00 in Berlin
LATEST_US = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp()) * 1_000_000
SPELLINGS = (
    "%Y-%m-%d %H:%M:%S,%f - INFO - ",
    "[%Y-%m-%d %H:%M:%S.%f] ",
    "%Y-%m-%dT%H:%M:%S.%f: ",
    "ts=%Y/%m/%d_%H:%M:%S.%f ",
    "%Y-%m-%d,%H:%M:%S.%f | INFO | ",
    "%m/%d/%Y %I:%M:%S.%f %p - INFO - ",
    "I%m%d %H:%M:%S.%f 812 loop.cc:9] ",
    "I%Y%m%d %H:%M:%S.%f 812 loop.cc:9] ",
    "[%m/%d %H:%M:%S.%f] ",
    "[%m/%d/%y %H:%M:%S.%f] INFO     ",
    "0: INFO    %y-%m-%d %H:%M:%S.%f - 0:05:10 - ",
    "0: \x1b[32m[%Y-%m-%d %H:%M:%S.%f]\x1b[0m ",
)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def local(at: datetime, spelling: str = SPELLINGS[0], zone: ZoneInfo = BERLIN) -> str:
    return at.astimezone(zone).strftime(spelling)


def apart(
    lines: Sequence[str], zone: ZoneInfo = BERLIN, at_once: int | None = None
) -> list[datetime | None]:
    """The times of lines after they were told apart, read one by one or in blocks."""
    clock = Clock(zone, LATEST_US)
    texts = [line.encode() for line in lines]
    blocks = [
        (at + 1, b"\n".join(texts[at : at + (at_once or 7)]))
        for at in range(0, len(texts), at_once or 7)
    ]
    dump = told_apart(Dump("a.log", None, lambda: enumerate(texts, 1), lambda: iter(blocks)), clock)
    read = [line for _, line in dump.lines()]
    if at_once is not None:
        read = b"\n".join(text for _, text in dump.blocks()).split(b"\n")
    times = [said(line, clock).at_us for line in read]
    return [
        None
        if at_us is None
        else datetime.fromtimestamp(at_us // 1_000_000, UTC)
        + timedelta(microseconds=at_us % 1_000_000)
        for at_us in times
    ]


@given(
    begun=st.integers(-200, -61),
    pauses=st.lists(st.integers(20, 600), min_size=2, max_size=200),
    spelling=st.sampled_from(SPELLINGS),
    at_once=st.sampled_from([None, 1, 3, 1_000]),
)
def test_a_log_that_goes_on_steadily_is_read_as_it_was_written(
    begun: int, pauses: list[int], spelling: str, at_once: int | None
) -> None:
    """It begins before the first of the two hours, has no pause over ten minutes and ends behind
    the second.
    """
    times = [PUT_BACK + minutes(begun)]
    for pause in pauses * 200:
        times.append(times[-1] + timedelta(seconds=pause + 1, microseconds=7 * len(times)))
        if times[-1] > PUT_BACK + minutes(61):
            break
    lines = [f"{local(at, spelling)}step {step}" for step, at in enumerate(times)]

    assert times == apart(lines, at_once=at_once)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("zone", "put_back", "hour"),
    [
        ("America/New_York", "2026-11-01T06:00", 60),
        ("Australia/Lord_Howe", "2026-04-04T15:00", 30),
        ("Atlantic/Azores", "2026-10-25T01:00", 60),  # at midnight there
    ],
)
def test_zones_of_other_nights_and_of_half_hours_are_known(
    zone: str, put_back: str, hour: int, spelling: str
) -> None:
    begin = datetime.fromisoformat(put_back).replace(tzinfo=UTC) - minutes(hour + 20)
    times = [begin + minutes(2 * step) for step in range(hour + 20)]
    lines = [f"{local(at, spelling, ZoneInfo(zone))}step" for at in times]

    assert times == apart(lines, ZoneInfo(zone))


def test_ranks_that_write_a_little_late_do_not_hide_the_hour() -> None:
    written = [PUT_BACK + timedelta(seconds=10 * n - 4_000) for n in range(800)]
    times = [at - timedelta(seconds=(7 * n) % 40) for n, at in enumerate(written)]

    assert times == apart([f"{local(at)}[rank{n % 8}]: step" for n, at in enumerate(times)])


def test_an_hour_that_no_line_tells_of_lies_in_the_longest_pause() -> None:
    """It hung from 02:40 in the first hour to 02:50 in the second."""
    before = [PUT_BACK + minutes(n) for n in range(-90, -19)]
    after = [PUT_BACK + minutes(n) for n in range(50, 100)]

    assert before + after == apart([f"{local(at)}step" for at in before + after])


@pytest.mark.parametrize(
    "times",
    [
        [PUT_BACK + minutes(n) for n in range(20, 90)],  # begins in the second hour
        [PUT_BACK + minutes(n) for n in range(-90, -20)],  # ends in the first
        [PUT_BACK + minutes(n) for n in range(-40, 40)],  # begins in the first, ends in the second
    ],
)
def test_a_log_may_begin_or_end_in_that_hour(times: list[datetime]) -> None:
    assert times == apart([f"{local(at)}step" for at in times])


def test_logs_one_behind_another_each_go_through_both_hours() -> None:
    times = [PUT_BACK + minutes(n) for n in range(-100, 100)] * 3

    assert times == apart([f"{local(at)}step" for at in times])


def test_only_times_of_the_second_hour_without_an_offset_are_told_anew() -> None:
    lines = [
        "2026-10-25 02:10:00 step 1",
        "2026-10-25 02:50:00 step 2",
        "2026-10-25 02:10:00 step 3",
        "2026-10-25T01:12:00Z 2026-10-25 02:12:00 step 4",
        "2026-10-25 02:14:00+0100 step 5",
        "no time, saved what was begun at 2026-10-25 02:13:00",
        "2026-10-25 02:15:00 asked for at 2026-10-25 02:59:59",
        "2026-10-25 03:10:00 after 2026-10-24 02:15:00",
        "2026-03-29 02:30:00 is skipped in spring",
    ]
    texts = [line.encode() for line in lines]
    dump = told_apart(Dump("a.log", None, lambda: enumerate(texts, 1)), Clock(BERLIN, LATEST_US))

    assert [
        *lines[:2],
        "2026-10-25 02:10:00+0100 step 3",
        "2026-10-25T01:12:00Z 2026-10-25 02:12:00+0100 step 4",
        lines[4],
        "no time, saved what was begun at 2026-10-25 02:13:00+0100",
        "2026-10-25 02:15:00+0100 asked for at 2026-10-25 02:59:59",
        *lines[7:],
    ] == [line.decode() for _, line in dump.lines()]


def test_a_log_in_which_nothing_tells_the_hours_apart_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    times = [PUT_BACK + minutes(n) for n in range(5, 50)]
    with caplog.at_level(logging.WARNING, logger="ingest"):
        read = apart([f"{local(at)}step" for at in times])

    assert [at - minutes(60) for at in times] == read
    (record,) = caplog.records
    assert "go through twice" in record.getMessage()
    assert "Europe/Berlin" in record.getMessage()


def test_a_log_of_a_zone_that_never_puts_clocks_back_is_not_looked_through() -> None:
    texts = [b"2026-10-25 02:10:00 step 1"]
    dump = Dump("a.log", None, lambda: enumerate(texts, 1))

    assert dump is told_apart(dump, Clock(ZoneInfo("Asia/Tokyo"), LATEST_US))
    assert dump is told_apart(dump, Clock(ZoneInfo("UTC"), LATEST_US))


def torchtitan(at: datetime, step: int, zone: ZoneInfo) -> str:
    said = f"step: {step:>2}  loss:  4.{step % 7:04}  tps: {990 + step % 20:,}  mfu: 31.37%"
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S},{step % 1000:03} - root - INFO - {said}"


def night(zone: ZoneInfo) -> list[str]:
    """Four hours of steps and saves around the change of clocks, and two minutes of a hang."""
    lines = [f"{PUT_BACK - minutes(125):%Y-%m-%d} no time: Starting job: llama"]
    at = PUT_BACK - minutes(120)
    for step in range(1, 1_400):
        at += timedelta(seconds=10 if step != 900 else 130)
        lines.append(torchtitan(at, step, zone))
        if step % 100 == 0:
            at += timedelta(seconds=1)
            begun = f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S},000 - root - INFO - "
            lines.append(f"{begun}Saving the checkpoint (or staging if async is enabled).")
            at += timedelta(seconds=20)
            ended = f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S},000 - root - INFO - "
            lines.append(
                f"{ended}Finished saving the checkpoint (or staging if async is enabled)in "
                "20.00 seconds."
            )
    return lines


@pytest.mark.parametrize("at_once", [None, 50, 100_000])
def test_a_trainers_log_tells_the_same_events_as_one_in_utc(
    at_once: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_hour, "_NEAR", 5)
    there, here = ([line.encode() for line in night(zone)] for zone in (BERLIN, ZoneInfo("UTC")))

    events = told(TRAINING_LOG, there, at_once, "Europe/Berlin")

    assert events == told(TRAINING_LOG, here, None)
    assert len(events[0]) > 1_000


def agent(folder: Path, zone: ZoneInfo) -> Path:
    """Workers start in the first hour and fail in the second. The table that tells when ends the
    log, far behind the last line with a time of its own.
    """
    failed = f"{(PUT_BACK + minutes(20)).astimezone(zone):%Y-%m-%d_%H:%M:%S}"
    lines = [
        *begins(3_590),
        *starts(3_600),
        *fails(6_000, 1),
        *["nothing"] * 300,
        *table((0, 1, failed, "ValueError: x")),
    ]

    def moved(time: re.Match[str]) -> str:
        at = datetime.strptime(f"2026{time[0]}", "%Y%m%d %H:%M:%S").replace(tzinfo=UTC)
        moved = at + (PUT_BACK - minutes(80) - datetime.fromtimestamp(BEGUN, UTC))
        return f"{moved.astimezone(zone):%m%d %H:%M:%S}"

    texts = [re.sub(r"(?<=^[IWE])\d{4} \d\d:\d\d:\d\d", moved, line) for line in lines]
    return written(folder / zone.key, *texts)


def test_torchruns_own_log_tells_the_same_events_as_one_in_utc(tmp_path: Path) -> None:
    there, here = (events_of(agent(tmp_path, zone), zone.key) for zone in (BERLIN, ZoneInfo("UTC")))

    assert there == here
    (failure,) = [event for event in here if event["event"] == "failure"]
    assert PUT_BACK + minutes(20) == datetime.fromtimestamp(failure["at_us"] / 1e6, UTC)


@pytest.mark.parametrize(
    "head",
    [
        "E1025 02:20:00.000000+0100 8489 torch/distributed/elastic/multiprocessing/api.py:7]",
        "[2026-10-25 02:20:00,000+0100] torch.distributed.elastic.multiprocessing.api: [ERROR]",
        "[ERROR] 2026-10-25 02:20:00,000+0100 api:",
    ],
)
def test_torchruns_line_in_the_second_hour_is_one(head: str) -> None:
    clock = Clock(BERLIN, round(PUT_BACK.timestamp() * 1e6))
    [message] = messages_in(1, f"{head} failed".encode(), clock)

    assert message.at_us == round((PUT_BACK + minutes(20)).timestamp() * 1e6)
    assert b"failed" == message.text


def test_nothing_hangs_in_the_hour_that_comes_twice(tmp_path: Path) -> None:
    told: dict[str, dict[str, list[tuple[object, ...]]]] = {}
    for zone in (BERLIN, ZoneInfo("UTC")):
        place = tmp_path / zone.key
        place.mkdir(parents=True)
        (place / "night.log").write_text("\n".join(night(zone)) + "\n")
        assert 0 == ingest(place / "wh", "--timezone", zone.key, place / "night.log")
        told[zone.key] = contents(place / "wh", ("area_by_attempt", "attempts", "identity_by_day"))

    assert told["UTC"] == told["Europe/Berlin"]
    assert told["UTC"]["area_by_attempt"]
