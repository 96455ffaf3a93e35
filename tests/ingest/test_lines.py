"""Lines of text logs made readable: colours, progress bars, labels, times."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.collectors.base import Dump, Reading
from ingest.collectors.lines import (
    Clock,
    Label,
    clock_of,
    is_day_first,
    marked,
    pieces,
    said,
    split_bar,
    split_label,
    split_time,
    torn_apart,
    without_colours,
)

UTC_ZONE = ZoneInfo("UTC")


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        (b"\x1b[32mstep: \x1b[1;31m10\x1b[0m", b"step: 10"),
        (b"[36mloss: 2.5[39m", b"loss: 2.5"),  # the escape character got lost on the way
        (b"^[[32mstep^[[0m", b"step"),
        (b"#033[32mstep#033[0m", b"step"),  # rsyslog
        (b"\x1b]0;title\x07step", b"step"),
        (b"step \x1b[Kdone\x1b[A", b"step done"),
        (b"\0\0\0step 1", b"step 1"),  # a node that crashed
        (b"[rank3]: tensor[10]", b"[rank3]: tensor[10]"),
        (b"", b""),
    ],
)
def test_colours_are_no_part_of_a_line(line: bytes, plain: bytes) -> None:
    assert plain == without_colours(line)


def test_a_line_that_was_overwritten_is_read_piece_by_piece() -> None:
    assert [b" 1%| 1/100", b" 2%| 2/100", b"saved"] == pieces(b"\r 1%| 1/100\r 2%| 2/100\r\rsaved")
    assert [b"no bar"] == pieces(b"no bar")


@pytest.mark.parametrize(
    ("text", "done", "rest"),
    [
        ("  5%|▌    | 500/10000 [08:20<2:38:20,  1.00it/s][INFO] x", 500, "[INFO] x"),
        ("Train: 100%|████| 10/10 [00:01<00:00, 9.9it/s]{'loss': 1.0}", 10, "{'loss': 1.0}"),
        ("  5%|▌    | 1.2G/20G [08:20<2:38:20]saved", None, "saved"),
        (
            " 5%|▌ | 5/99 [0:20<0:1, 1s/it]  6%|▌ | 6/99 [0:21<0:1, 1s/it]{'loss': 1}",
            6,
            "{'loss': 1}",
        ),
        ("On: 5%|▌ | 5/99 [0:20<0:1]On: 6%|▌ | 6/99 [0:21<0:1]saved", 6, "saved"),
        (" 5%|▌ | 5/99 [0:20<0:1]saved 9%|▌ | 9/99 [0:1<0:9]", 5, "saved 9%|▌ | 9/99 [0:1<0:9]"),
        ("trainer-1  |   5%|▌ | 5/99 [0:20<0:1, 1s/it]saved", 5, "saved"),
        ("3:  5%|▌ | 5/99 [0:20<0:1, 1s/it]  6%|▌ | 6/99 [0:21<0:1, 1s/it]saved", 6, "saved"),
        ("trainer-1  | 50%| of all", None, "trainer-1  | 50%| of all"),
        ("50%| of all", None, "50%| of all"),
        ("step 5", None, "step 5"),
    ],
)
def test_what_a_logger_writes_right_behind_a_bar_is_found(
    text: str, done: int | None, rest: str
) -> None:
    assert (done, rest.encode()) == split_bar(text.encode())


@pytest.mark.parametrize(
    ("line", "label", "text"),
    [
        (b"[default0]:step 1", Label(local_rank=0), b"step 1"),
        (b"[trainer12]: step 1", Label(local_rank=12), b"step 1"),
        (b"[rank3]: Traceback", Label(rank=3), b"Traceback"),
        (b"[rank3]:     main()", Label(rank=3), b"    main()"),
        (b"[Rank 3] ready", Label(rank=3), b"ready"),
        (b" 3: ready", Label(rank=3), b"ready"),
        (b"[1,3]<stdout>:ready", Label(rank=3), b"ready"),
        (b"[prterun-n1-77@1,3]<stderr>: ready", Label(rank=3), b"ready"),
        (b"node-17: [INFO] ready", Label(host="node-17"), b"[INFO] ready"),
        (b"[1,mpirank:3,algo-1]<stdout>:ready", Label(rank=3), b"ready"),  # SageMaker
        (b"[1,mpirank:3,algo-1]:ready", Label(rank=3), b"ready"),
        (b"[1,2,3]: ready", Label(), b"[1,2,3]: ready"),
        (b"10.0.0.7: [INFO] ready", Label(host="10.0.0.7"), b"[INFO] ready"),
        (b"10.0.0.7: ready", Label(), b"10.0.0.7: ready"),
        (b"[3]<stderr>:ready", Label(rank=3), b"ready"),
        (b"loss0: 2.5", Label(), b"loss0: 2.5"),
        (b"12:30 is noon and a half", Label(), b"12:30 is noon and a half"),
        (b"[default0] is a name", Label(), b"[default0] is a name"),
        (b"[3]:2026-03-01 10:00:00 step 1", Label(3), b"2026-03-01 10:00:00 step 1"),
        (b"[3]:[rank3]: step 1", Label(3), b"[rank3]: step 1"),
        (b"r12i0n8:3: 2026-03-01 10:00:00 x", Label(3, host="r12i0n8"), b"2026-03-01 10:00:00 x"),
        (b"r12i0n8:3: [rank3]: Error", Label(3, host="r12i0n8"), b"[rank3]: Error"),
        (b"[3]:", Label(), b"[3]:"),  # an entry of torchrun's table
        (b"[100]: loss 2.5", Label(), b"[100]: loss 2.5"),
        (b"epoch:3: [10/99] loss 2.5", Label(), b"epoch:3: [10/99] loss 2.5"),
        (b"r12i0n8:3:4 [0] NCCL INFO x", Label(), b"r12i0n8:3:4 [0] NCCL INFO x"),
        (b"", Label(), b""),
    ],
)
def test_a_label_says_who_wrote_a_line(line: bytes, label: Label, text: bytes) -> None:
    assert (label, text) == split_label(line)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-02 03:04:05,678 - INFO - x", "2026-01-02T03:04:05.678"),
        ("2026-01-02 03:04:05.678 | INFO | x", "2026-01-02T03:04:05.678"),
        ("2026-01-02 03:04:05 x", "2026-01-02T03:04:05"),
        ("[01/02/26 03:04:05] INFO     x", "2026-01-02T03:04:05"),
        ("INFO    26-01-02 03:04:05.678901 - 1 day, 0:05:10 - x", "2026-01-02T03:04:05.678901"),
        ("2026-01-02,03:04:05 | INFO | x", "2026-01-02T03:04:05"),
        ("2026/01/02 03:04:05 x", "2026-01-02T03:04:05"),
        ("2026-01-02T03:04:05Z x", "2026-01-02T03:04:05"),
        ("2026-01-02T03:04:05.123456789Z x", "2026-01-02T03:04:05.123456"),
        ("2026-01-02T03:04:05+05:30 x", "2026-01-01T21:34:05"),
        ("2026-01-02 03:04:05 -0800 x", "2026-01-02T11:04:05"),
        ("2026-01-02 03:04:05 UTC x", "2026-01-02T03:04:05"),
        ("01/02/2026 03:04:05 - INFO - x", "2026-01-02T03:04:05"),
        ("22/02/2026 03:04:05 x", "2026-02-22T03:04:05"),
        ("01/02/2026 03:04:05 AM x", "2026-01-02T03:04:05"),
        ("01/02/2026 03:04:05 PM - INFO - x", "2026-01-02T15:04:05"),
        ("[2026-01-02 12:04:05.678 am] x", "2026-01-02T00:04:05.678"),
        ("2026-01-02 12:04:05 p.m. x", "2026-01-02T12:04:05"),
        ("2026-01-02 03:04:05PM -0800 x", "2026-01-02T23:04:05"),
        ("2026-01-02 15:04:05 PM x", "2026-01-02T15:04:05"),
        ("2026-01-02 03:04:05 pmix x", "2026-01-02T03:04:05"),
        ("[2026-01-02 03:04:05] x", "2026-01-02T03:04:05"),
        (" [2026-01-02 03:04:05,678] [INFO] x", "2026-01-02T03:04:05.678"),
        ("[INFO|trainer.py:2134] 2026-01-02 03:04:05,678 >> x", "2026-01-02T03:04:05.678"),
        ("[titan] 2026-01-02 03:04:05,678 - root - INFO - x", "2026-01-02T03:04:05.678"),
        ("[INFO|2026-01-02 03:04:05] x", "2026-01-02T03:04:05"),
        ("[Tool I 2026-01-02 03:04:05 logging:393] x", "2026-01-02T03:04:05"),
        ("INFO 2026-01-02 03:04:05,678 x", "2026-01-02T03:04:05.678"),
        ("(main pid=7) 2026-01-02 03:04:05 x", "2026-01-02T03:04:05"),
        ("(Worker(train-0) pid=7) [2026-01-02 03:04:05] x", "2026-01-02T03:04:05"),
        ("[after training is done] datetime: 2026-01-02 03:04:05 ", "2026-01-02T03:04:05"),
        ("I20260102 03:04:05.678901 77 a.cc:1] x", "2026-01-02T03:04:05.678901"),
        ('{"ts": "2026-01-02T03:04:05.678Z", "msg": "x"}', "2026-01-02T03:04:05.678"),
        ('{"level": "info", "ts": 1767323045.25, "msg": "x"}', "2026-01-02T03:04:05.25"),
        ("1767323045 x", "2026-01-02T03:04:05"),
        ("1767323045.678 x", "2026-01-02T03:04:05.678"),
        ("[1767323045678] x", "2026-01-02T03:04:05.678"),
        ("2026-01-02 04:04:05+01 x", "2026-01-02T03:04:05"),
        ("2026-01-02 03:04:05 -10 x", "2026-01-02T03:04:05"),
    ],
)
def test_times_are_read_however_they_are_written(text: str, at: str) -> None:
    time = split_time(text.encode(), Clock(UTC_ZONE, None))

    assert time is not None
    assert us(at) == time.at_us
    assert not time.is_year_guessed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step 10",
        "the job began at 2026-01-02 03:04:05",  # a time that is spoken of
        "2026-01-02 step 5",
        "2026-13-02 03:04:05 x",
        "2026-02-30 03:04:05 x",
        "2026-01-02 24:04:05 x",
        "2026-01-02 03:04:61 x",
        "1999-01-02 03:04:05 x",
        "0000-00-00 00:00:00 x",
        "12345678901 tokens",
        "1767323045",
        "I0102 03:04:05.678901 77 a.cc:1] x",  # no year, and no file that tells one
        "[01/02 03:04:05] x",
        "01/02 03:04:05 batches",  # of an epoch, and how long it took
        "01/02/26 03:04:05 batches",
        "[01/02/26 03:04:05] x",
        "[26-01-02 03:04:05] x",
        "26-01-02 03:04:05 batches",
    ],
)
def test_what_is_no_time_of_the_line_gives_none(text: str) -> None:
    assert split_time(text.encode(), Clock(UTC_ZONE, None)) is None


@pytest.mark.parametrize(
    ("torn", "line"),
    [
        ("2026-03-01 10:00:07 step 120 los", "2026-03-01 13:00:00,100 INFO Starting job"),
        ("2026-03-01 10:00:07 iter 20: loss 8.823", "2026-03-01T13:00:00+0000 tokens"),
        ("{'loss': 2.2, 'eval_runtime': 12.5", "[INFO|trainer.py:2134] 2026-03-01 13:00:00 >> x"),
        ("[rank1]:[titan] 2026-03-01 10:00:07,0", "[rank0]:[titan] 2026-03-01 13:00:00 - root"),
        ("I0301 10:00:07.000 7 a.py:1] ste", "I0301 13:00:00.000 7 a.py:1] begin"),
    ],
)
def test_a_line_behind_one_that_was_torn_off_is_told_apart(torn: str, line: str) -> None:
    clock = Clock(ZoneInfo("UTC"), us("2026-04-01T00:00:00"))

    assert (torn.encode(), line.encode()) == torn_apart(f"{torn}{line}".encode(), clock)


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-01T10:00:00Z stdout F 2026-03-01 13:00:00,123 INFO Starting job",
        "[rank0]:[titan] 2026-03-01 10:00:00 - root - INFO - ETA 2026-03-01 13:00:00 step 5",
        "[2026-03-01 10:00:00] datetime: 2026-03-01 13:00:00 ",
        "node1 trainer[4711]: 2026-03-01 13:00:00 step 20",
        "Loading checkpoint from /runs/exp2026-03-01T10:00:00/step_5",
        # two processes at once, or a name
        "2026-03-01 10:00:10 step 20 loss 12026-03-01 10:00:10 step 30",
        "2026-03-01 10:00:10 resuming exp2026-02-28 09:00:00 of step 5",
    ],
)
def test_a_whole_line_is_not_torn_apart(line: str) -> None:
    assert torn_apart(line.encode(), Clock(ZoneInfo("UTC"), None)) is None


def test_a_time_without_a_zone_is_of_the_readers() -> None:
    clock = Clock(ZoneInfo("America/Los_Angeles"), None)

    assert us("2026-01-02T11:04:05") == at(b"2026-01-02 03:04:05 x", clock)
    assert us("2026-07-02T10:04:05") == at(b"2026-07-02 03:04:05 x", clock)
    assert us("2026-01-02T03:04:05") == at(b"2026-01-02 03:04:05Z x", clock)


@pytest.mark.parametrize(
    ("changed", "day", "year"),
    [
        ("2026-01-02T12:00:00", "0102", 2026),
        ("2026-01-02T12:00:00", "1231", 2025),
        ("2026-01-02T12:00:00", "0103", 2026),  # the zone of the log may be ahead of the reader's
        ("2026-01-02T12:00:00", "0104", 2025),
        ("2026-06-01T12:00:00", "0229", 2024),
        ("2025-12-31T23:30:00", "0101", 2026),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "W{0}{1} 03:04:05 7 a.py:1] x",
        "{0}/{1} 03:04:05 - name - INFO - x",
        "[{0}/{1} 03:04:05] name INFO: x",
        "[{0}/{1} 03:04:05 name.part]: x",
    ],
)
def test_a_time_without_a_year_is_the_last_before_the_files_own(
    text: str, changed: str, day: str, year: int
) -> None:
    told = text.format(day[:2], day[2:]).encode()
    time = split_time(told, Clock(UTC_ZONE, us(changed)))

    assert time is not None
    assert us(f"{year}-{day[:2]}-{day[2:]}T03:04:05") == time.at_us
    assert time.is_year_guessed


def test_the_files_own_time_is_that_of_its_last_change(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.touch()
    os.utime(log, (1_767_323_045, 1_767_323_045))
    reading = Reading(None, UTC_ZONE)

    assert us("2026-01-02T03:04:05") == clock_of(dump_at(log), reading).latest_us
    assert clock_of(dump_at(None), reading).latest_us is None
    assert clock_of(dump_at(tmp_path / "rotated"), reading).latest_us is None


@pytest.mark.parametrize(
    ("line", "text", "label"),
    [
        ("[default0]:2026-01-02 03:04:05,0 x", " x", Label(local_rank=0)),
        ("[default1]:[rank9]:[W0102 03:04:05.0 a.cc:1] x", " a.cc:1] x", Label(9, 1)),
        ("[default0]:[2026-01-02 03:04:05][rank0][INFO] x", "[INFO] x", Label(0, 0)),
        ("n1: 3: [2026-01-02 03:04:05] x", " x", Label(3, None, "n1")),
        ("2026-01-02T03:04:05Z stdout F 3: x", "x", Label(3)),
        ("2026-01-02T03:04:05Z [1999-01-01 01:01:01] x", " [1999-01-01 01:01:01] x", Label()),
        ("\x1b[32m[rank1]:\x1b[0m2026-01-02 03:04:05 x", " x", Label(1)),
        (
            '[default0]:{"ts": "2026-01-02T03:04:05Z", "rank": 4, "msg": "x"}',
            ', "rank": 4, "msg": "x"}',
            Label(4, 0),
        ),
    ],
)
def test_labels_and_a_time_come_in_any_order(line: str, text: str, label: Label) -> None:
    told = said(line.encode(), Clock(UTC_ZONE, us("2026-01-03T00:00:00")))

    assert (text, label) == (told.text.decode(), told.label)
    assert us("2026-01-02T03:04:05") == told.at_us


@given(st.binary(max_size=300))
def test_no_line_is_too_strange(line: bytes) -> None:
    clock = Clock(ZoneInfo("Europe/Berlin"), us("2026-01-03T00:00:00"))

    for piece in pieces(line):
        told = said(split_bar(piece)[1], clock)
        assert told.at_us is None or us("2000-01-01T00:00:00") <= told.at_us


@given(
    st.from_regex(rb"(\[[a-z]{1,9}\d\]:|\d: |[IWE]\d{4} \d\d:\d\d:\d\d|[\[{\" ])*", fullmatch=True)
)
def test_no_heap_of_prefixes_is_too_strange(line: bytes) -> None:
    assert len(said(line, Clock(UTC_ZONE, 0)).text) <= len(line)


@pytest.mark.parametrize(
    ("line", "zone", "warned"),
    [
        ("2026-03-01 10:00:00 PST step 1", "UTC", "PST"),
        ("[2026-03-01 10:00:00,123 CEST] step 1", "America/New_York", "CEST"),
        ("2026-03-01 10:00:00 PST step 1", "America/Los_Angeles", None),
        ("2026-07-01 10:00:00 PDT step 1", "America/Los_Angeles", None),
        ("2026-03-01 10:00:00 UTC step 1", "America/New_York", None),
        ("2026-03-01 10:00:00 INFO EST is a word here", "UTC", None),
        ("EST 2026-03-01 10:00:00", "UTC", None),
    ],
)
def test_the_name_of_a_zone_that_is_not_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, zone: str, warned: str | None
) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"a first line\n{line}\n")
    dump = Dump("train.log", log, lambda: enumerate(log.read_bytes().split(b"\n"), 1))
    clock_of(dump, Reading(None, ZoneInfo(zone)))

    told = [record.getMessage() for record in caplog.records]
    assert (warned is not None) == bool(told)
    assert all(
        f"train.log: behind its times stands {warned}, which is not read" in each for each in told
    )


def us(text: str) -> int:
    told = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return round(told.timestamp() * 1_000_000)


def at(text: bytes, clock: Clock) -> int | None:
    time = split_time(text, clock)
    return time.at_us if time else None


def dump_at(path: Path | None) -> Dump:
    return Dump("log", path, lambda: iter(()))


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ("12/03/2025 13/03/2025", True),  # the second can be nothing else
        ("03/12/2025 03/13/2025", False),
        ("05/03/2025 06/03/2025", True),  # a day, not a month
        ("03/05/2025 03/06/2025", False),
        ("12/31/2025 01/01/2026", False),
        ("31/12/2025 01/01/2026", True),
        ("05/03/2025", False),
        ("13/03/2025 03/14/2025 03/15/2025", False),  # one line that somebody else wrote
        ("45/88/2025 05/03/2025 06/03/2025", True),
        ("00/00/0000", False),
    ],
)
def test_a_whole_log_tells_whether_the_day_or_the_month_is_first(days: str, expected: bool) -> None:
    told = {tuple(map(int, day.split("/"))) for day in days.split()}

    assert expected == is_day_first({(one, other, year) for one, other, year in told})


def test_a_log_is_looked_through_to_its_end_for_what_its_days_mean(tmp_path: Path) -> None:
    lines = [
        *(f"12/03/2025 20:00:{second:02d} - INFO - step" for second in range(60)),
        "13/03/2025 00:00:00 - INFO - step",
    ]
    dump = Dump("a.log", tmp_path / "a.log", lambda: enumerate(map(str.encode, lines), 1))
    clock = clock_of(dump, Reading(None, UTC_ZONE))
    times = [split_time(line.encode(), clock) for line in lines]

    assert clock.is_day_first
    assert [us("2025-03-12T20:00:00"), us("2025-03-13T00:00:00")] == [
        time.at_us for time in (times[0], times[-1]) if time is not None
    ]


@given(
    st.lists(st.lists(st.sampled_from([b"st", b"ep", b"\xff", "é".encode(), b" "])).map(b"".join))
)
def test_marks_are_found_alike_on_few_lines_and_on_many(texts: list[bytes]) -> None:
    marks = ["step", "é", "ep s"]
    holding = [
        place
        for place, text in enumerate(texts)
        if any(mark in text.decode(errors="replace") for mark in marks)
    ]
    others = [b"p\xfft"] * 20

    assert holding == marked(texts, marks)
    assert holding == marked([*texts, *others], marks)
