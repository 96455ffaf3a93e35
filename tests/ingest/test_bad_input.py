"""What cannot be an event is set aside with its line, number and reason; what is good loads."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard

from ingest import loader, native, usual
from tests.ingest.warehouses import STARTED_AT, alive, kept, life
from tests.queries.engine import ingest, rows, table, write_dump

MEGABYTE = 1024 * 1024
LONG = 9_223_372_036_854_775_807
SPAN = {"event": "phase_start", "phase": "training"}
BLANK = (b"", b"   ", b"\t", b"\r", b"\x0b", b"\x0c")


def line(**fields: object) -> bytes:
    return json.dumps(alive("x") | fields).encode()


def raw(rest: bytes) -> bytes:
    return b'{"ts":1772323200,"event":"alive",' + rest


# what -> the line, the reason why it is set aside, a word of the detail
BAD: dict[str, tuple[bytes, str, str]] = {
    "a broken line": (b'{"ts": 17', "not_json", "Expecting"),
    "a half-written line": (line()[:-4], "not_json", "Expecting value"),
    "no JSON at all": (b"Traceback (most recent call last):", "not_json", "Expecting value"),
    "Python's quotes": (b"{'ts': 1}", "not_json", "double quotes"),
    "two objects": (line() + line(), "not_json", "Extra data"),
    "two objects with a space": (line() + b" " + line(), "not_json", "Extra data"),
    "words after the object": (line() + b" ok", "not_json", "Extra data"),
    "a comma after the object": (line() + b",", "not_json", "Extra data"),
    "an array": (b"[1, 2]", "not_json", "no JSON object"),
    "an array of events": (b"[" + line() + b"]", "not_json", "no JSON object"),
    "a string": (b'"x"', "not_json", "no JSON object"),
    "null": (b"null", "not_json", "no JSON object"),
    "a byte order mark in the middle": (b"\xef\xbb\xbf" + line(), "not_json", "byte order mark"),
    "half of a character": (raw(b'"job_id":"\\ud800"}'), "not_json", "half a character"),
    "a raw control character": (raw(b'"job_id":"\x01"}'), "not_json", "control character"),
    "zero bytes": (b"\0\0\0", "not_json", "Expecting value"),
    "binary": (bytes(range(14, 256)), "not_utf8", "no UTF-8"),
    "a byte that is no UTF-8": (raw(b'"job_id":"\xff"}'), "not_utf8", "byte 43"),
    "an overlong sequence": (raw(b'"job_id":"\xc0\xaf"}'), "not_utf8", "no UTF-8"),
    "UTF-16": (line().decode().encode("utf-16-le"), "not_json", "Expecting"),
    "no time": (b'{"event":"alive","job_id":"x"}', "missing_field", "ts is missing"),
    "a null time": (line(ts=None), "missing_field", "ts is missing"),
    "no event": (b'{"ts":1,"job_id":"x"}', "missing_field", "event is missing"),
    "no job": (line(job_id=None), "missing_field", "job_id is missing"),
    "a phase without its name": (line(event="phase_end"), "missing_field", "phase is missing"),
    "keys in capitals": (b'{"TS":1,"EVENT":"alive"}', "missing_field", "event is missing"),
    "an unknown event": (line(event="started"), "unknown_event", '"started" is not known'),
    "an event in capitals": (line(event="ALIVE"), "unknown_event", '"ALIVE" is not known'),
    "an unknown phase": (line(phase="warmup"), "unknown_phase", '"warmup" is not known'),
    "no time zone": (line(ts="2026-03-01T00:00:00"), "no_time_zone", "no offset from UTC"),
    "a date": (line(ts="2026-03-01"), "no_time_zone", "no offset from UTC"),
    "a date with an offset": (line(ts="2026-03-01Z"), "bad_timestamp", "is no time such as"),
    "a basic ISO time": (line(ts="20260301T000000Z"), "bad_timestamp", "is no time such as"),
    "the 30th of February": (line(ts="2026-02-30T00:00:00Z"), "bad_timestamp", "is no time"),
    "an offset of a day": (line(ts="2026-03-01T10:00:00+25:00"), "bad_timestamp", "is no time"),
    "75 minutes": (line(ts="2026-03-01T10:00:00+05:75"), "bad_timestamp", "is no time"),
    "an empty time": (line(ts=""), "bad_timestamp", "is no time"),
    "a true time": (line(ts=True), "bad_timestamp", "is no time"),
    "a time in a list": (line(ts=[1]), "bad_timestamp", "is no time"),
    "the year 0001": (line(ts="0001-01-01T00:00:00Z"), "bad_timestamp", "before the year 2000"),
    "the year 1970": (line(ts=12), "bad_timestamp", "before the year 2000"),
    "a negative time": (line(ts=-1), "bad_timestamp", "before the year 2000"),
    "the year 2099": (line(ts="2099-01-01T00:00:00Z"), "future_time", "over 24 h ahead"),
    "the year 9999": (line(ts="9999-12-31T23:59:59Z"), "future_time", "over 24 h ahead"),
    # as seconds it is past what a whole number of microseconds can hold
    "a date without marks": (line(ts=20260301000000), "future_time", "over 24 h ahead"),
    "milliseconds": (line(ts=1_772_323_200_000), "future_time", "is it in milliseconds?"),
    "nanoseconds as text": (
        line(ts="1772323200000000000"),
        "future_time",
        "is it in nanoseconds?",
    ),
    "an endless number": (line(ts=10**60), "future_time", "over 24 h ahead"),
    "a span to the year 2099": (
        line(**SPAN, end_ts="2099-01-01T00:00:00Z"),
        "future_time",
        "end_ts",
    ),
    "a span to the year 0001": (
        line(**SPAN, end_ts="0001-01-01T00:00:00Z"),
        "bad_timestamp",
        "end_ts",
    ),
    "a span to no time zone": (line(**SPAN, end_ts="2026-03-01"), "no_time_zone", "end_ts"),
    "a time that is no number": (raw(b'"job_id":"x","end_ts":NaN}'), "not_json", "NaN"),
    "a time of 1e400": (raw(b'"job_id":"x","end_ts":1e400}'), "bad_timestamp", "Infinity"),
    "a step of 1e400": (raw(b'"job_id":"x","step":1e400}'), "bad_value", "step Infinity"),
    "a step that is no number": (raw(b'"job_id":"x","step":-Infinity}'), "not_json", "Infinity"),
    "a half step": (line(step=1.5), "bad_value", "step 1.5 is no whole number"),
    "a step in words": (line(step="ten"), "bad_value", 'step "ten"'),
    "a true rank": (line(rank=True), "bad_value", "rank true"),
    "rank -1": (line(rank=-1), "bad_value", "of at least 0"),
    "attempt 0": (line(attempt=0), "bad_value", "of at least 1"),
    "a step past 64 bits": (line(step=LONG + 1), "bad_value", "no whole number"),
    "-8 GPUs": (line(gpus=-8), "bad_value", "gpus -8"),
    "an unknown outcome": (line(outcome="lost"), "bad_value", '"lost" is none of completed'),
    "an unknown mode": (line(mode="SYNC"), "bad_value", "none of sync, async"),
    "an ok that is neither": (line(ok=1), "bad_value", "none of true, false"),
    "a field told twice": (raw(b'"job_id":"x","job_id":"y"}'), "bad_value", "job_id stands there"),
    "a null told twice": (raw(b'"job_id":"x","step":null,"step":1}'), "bad_value", "step stands"),
    "an empty job": (line(job_id=""), "bad_value", "job_id is empty"),
    "a category without a domain": (
        line(category="nodomain"),
        "bad_value",
        'category "nodomain" is no domain/category',
    ),
    "a category of three parts": (line(category="net/a/b"), "bad_value", 'category "net/a/b"'),
    "a domain alone": (line(category="net/"), "bad_value", 'category "net/"'),
    "a long job": (line(job_id="j" * 257), "bad_value", "longer than 256"),
    "a long message": (line(message="m" * 65_537), "bad_value", "longer than 65,536"),
}
GOOD: dict[str, bytes] = {
    "spaces around": b"  " + line(job_id="spaces around") + b" ",
    "a carriage return": line(job_id="a carriage return") + b"\r",
    "7": line(job_id=7),
    '{"a":1}': line(job_id={"a": 1}),
    "quotes ' \" ` $1 ? {} ; drop table events; --": line(
        job_id="quotes ' \" ` $1 ? {} ; drop table events; --"
    ),
    "../../slashes\\": line(job_id="../../slashes\\"),
    "new\nline": line(job_id="new\nline"),
    "<script>alert(1)</script>": line(job_id="<script>alert(1)</script>"),
    "\u202e\x1b[31m": line(job_id="\u202e\x1b[31m"),
    "j" * 256: line(job_id="j" * 256),
    "a long message": line(job_id="a long message", message="ä" * 65_536),
    "an hour ahead": line(job_id="an hour ahead", ts="2026-03-01T01:00:00+01:00"),
    "lower case": line(job_id="lower case", ts="2026-03-01t00:00:00z"),
    "a lower case t": line(job_id="a lower case t", ts="2026-03-01t01:00:00.000+01:00"),
    "nanoseconds": line(job_id="nanoseconds", ts="2026-03-01T00:00:00.000000999Z"),
    "a number as text": line(job_id="a number as text", ts="1772323200", step="5"),
    "the largest step": line(job_id="the largest step", step=LONG),
}
# only with fields of their own, which are read in another way
GOOD_BESIDE: dict[str, bytes] = {
    "a loss of NaN": raw(b'"job_id":"a loss of NaN","loss":NaN}'),
    "a loss of 1e400": raw(b'"job_id":"a loss of 1e400","loss":1e400}'),
    "a deep value": raw(b'"job_id":"a deep value","x":' + b"[" * 900 + b"]" * 900 + b"}"),
    "own fields": line(job_id="own fields", region="north"),
    "its own field twice": raw(b'"job_id":"its own field twice","lr":1,"lr":2}'),
    "a field inside another": raw(b'"job_id":"a field inside another","x":{"ts":1,"ts":2}}'),
}


def numbered(good: dict[str, bytes]) -> tuple[bytes, dict[str, int]]:
    """A dump of all lines with blank ones between, and on which physical line each bad one is."""
    text: list[bytes] = [line(job_id="first")]
    places = {}
    for number, (name, (bad, _, _)) in enumerate(BAD.items()):
        text += [BLANK[number % len(BLANK)]] * (number % 3)
        text.append(bad)
        places[name] = len(text)
    return b"\n".join([*text, *good.values()]), places


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was given every bad line in four dumps, packed and read in two ways."""
    folder = tmp_path_factory.mktemp("hostile")
    dumps = folder / "dumps"
    dumps.mkdir()
    known, _ = numbered(GOOD)
    beside, _ = numbered(GOOD | GOOD_BESIDE)
    # each with an event of its own: else it would be another one again, packed in another way
    (dumps / "known.jsonl").write_bytes(known + b"\n" + lines("its own", 1))
    (dumps / "known.gz").write_bytes(gzip.compress(known + b"\n" + lines("its own too", 1)))
    (dumps / "beside.jsonl").write_bytes(beside + b"\n")
    (dumps / "beside.zst").write_bytes(zstandard.compress(beside.replace(b"\n", b"\r\n")))

    assert 0 == ingest(folder / "warehouse", dumps)

    return folder / "warehouse"


@pytest.fixture(scope="module")
def set_aside(hostile: Path) -> list[dict[str, Any]]:
    return table(
        hostile, "select line_number, reason, detail, line from rejected_lines order by file"
    )


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_set_aside_with_its_number_and_reason(
    set_aside: list[dict[str, Any]], name: str
) -> None:
    text, reason, detail = BAD[name]
    place = numbered(GOOD)[1][name]
    found = [row for row in set_aside if row["line_number"] == place]
    shown = text.decode("utf-8", "replace")[:2_000]

    assert [reason] * 4 == [row["reason"] for row in found]
    assert [True] * 4 == [detail in row["detail"] for row in found], found
    assert [shown] * 4 == [row["line"].rstrip("\r") for row in found]


def test_nothing_but_the_bad_lines_is_set_aside(hostile: Path) -> None:
    per_file = rows(
        hostile, "select regexp_extract(file, '[^/]*$'), rejected from ingested_files order by 1"
    )

    assert [
        (name, len(BAD)) for name in ("beside.jsonl", "beside.zst", "known.gz", "known.jsonl")
    ] == per_file


@pytest.mark.parametrize("job", [*GOOD, *GOOD_BESIDE])
def test_a_strange_but_good_line_loads(hostile: Path, job: str) -> None:
    assert [(1, "running")] == rows(
        hostile, "select attempt, outcome from attempts where job_id = ?", [job]
    )


@pytest.fixture(scope="module")
def absurd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A warehouse that was given the jobs of the stories below, and the exit status of both of its
    ingests. The second is of many years: only it is made to take long.
    """
    folder = tmp_path_factory.mktemp("absurd")
    told = chain(
        clock_in_the_future(),
        span_of_negative_length(),
        absurd_numbers(),
        recompiles_past_any_count(),
        empty_event_ids(),
        value_that_is_no_text(),
    )
    more = [*clock_that_began_in_2000(), *life("more")]
    dumps = [write_dump(folder / "dump.jsonl", told), write_dump(folder / "more.jsonl", more)]
    return folder / "warehouse", [ingest(folder / "warehouse", dump) for dump in dumps]


def clock_in_the_future() -> list[dict[str, object]]:
    return [
        alive("running"),
        alive("clock", ts="2099-01-01T00:00:00Z"),
        alive("clock", ts="9999-12-31T23:59:59Z"),
    ]


def test_a_clock_in_the_future_does_not_end_the_running_jobs(
    absurd: tuple[Path, list[int]],
) -> None:
    assert [("running", "running")] == rows(
        absurd[0], "select job_id, outcome from attempts where job_id in ('running', 'clock')"
    )


def test_a_host_that_is_hours_ahead_neither_ends_the_running_jobs_nor_the_day(
    tmp_path: Path,
) -> None:
    now = time.time()
    told = [
        alive("running", ts=now - 60),
        alive("ahead", ts=now + 23 * 3600),  # tomorrow, whatever the hour is but the last
    ]
    ingest(tmp_path, write_dump(tmp_path / "dump.jsonl", told))

    assert [("ahead", "running"), ("running", "running")] == rows(
        tmp_path, "select job_id, outcome from attempts order by job_id"
    )
    [(reached,)] = rows(tmp_path, "select epoch(data_at) from publication")
    assert now <= reached <= time.time()
    assert [(False,)] == rows(
        tmp_path,
        "select distinct is_complete from days where day >= ?",
        [datetime.fromtimestamp(now, UTC).date()],
    )


def span_of_negative_length() -> list[dict[str, object]]:
    return [*life("negative"), alive("negative", 60) | SPAN | {"end_ts": STARTED_AT}]


def test_a_span_of_negative_length_is_an_anomaly(absurd: tuple[Path, list[int]]) -> None:
    assert [("negative", 1, "negative_span")] == rows(
        absurd[0], "select job_id, attempt, kind from anomalies where job_id = 'negative'"
    )
    assert [(600.0,)] == rows(
        absurd[0], "select effective_seconds from attempts where job_id = 'negative'"
    )


POISONS: list[dict[str, object]] = [
    {"gpus": LONG},
    {"gpus": 2**40},
    {"step": LONG},
    {"attempt": LONG},
    {"rank": LONG},
    {"exit_code": -LONG - 1},
]


def absurd_numbers() -> list[dict[str, object]]:
    told = life("good")
    for number, poison in enumerate(POISONS):
        worse = [event | poison for event in life(f"worse {number}")]
        worse[-1]["outcome"] = "failed"
        told += worse
    return told


def test_absurd_numbers_do_not_stop_the_others(absurd: tuple[Path, list[int]]) -> None:
    warehouse, status = absurd

    assert 0 == status[0]
    assert [(600.0,)] == rows(
        warehouse, "select effective_seconds from attempts where job_id = 'good'"
    )


def recompiles_past_any_count() -> list[dict[str, object]]:
    compiled = {"event": "phase_start", "phase": "pt2_compile", "end_ts": STARTED_AT + 9}
    jobs = ("compiles", "compiles too")
    told = [alive(job, recompiles=LONG) | compiled for job in jobs]
    return [*told, *chain.from_iterable(map(life, jobs))]


def test_recompiles_past_any_count_do_not_make_the_warehouse_unpublishable(
    absurd: tuple[Path, list[int]],
) -> None:
    assert [0, 0] == absurd[1]


def clock_that_began_in_2000() -> list[dict[str, object]]:
    told = [event | {"gpus": 24_000} for event in life("big")]
    told[0]["ts"] = told[1]["ts"] = "2000-01-01T00:00:07Z"
    told[-1]["outcome"] = "failed"
    return told


def test_a_node_whose_clock_began_in_2000_does_not_stop_the_others(
    absurd: tuple[Path, list[int]],
) -> None:
    warehouse, status = absurd

    assert 0 == status[1]
    assert [("completed",)] == rows(warehouse, "select outcome from attempts where job_id = 'more'")


def test_a_dump_in_another_encoding_is_told_line_by_line(tmp_path: Path) -> None:
    dump = tmp_path / "latin1.jsonl"
    dump.write_bytes(line(host="n\u00fcrnberg").decode("unicode_escape").encode("latin-1"))

    assert 2 == ingest(tmp_path / "warehouse", dump)
    assert [(1, "not_utf8")] == rows(
        tmp_path / "warehouse", "select line_number, reason from rejected_lines"
    )


def empty_event_ids() -> list[dict[str, object]]:
    return [event | {"event_id": ""} for event in life("empty ids")]


def test_an_empty_event_id_is_no_identity(absurd: tuple[Path, list[int]]) -> None:
    assert [("completed", 600.0)] == rows(
        absurd[0], "select outcome, wall_seconds from attempts where job_id = 'empty ids'"
    )


# Whole files


def lines(job: str, count: int, **more: object) -> bytes:
    return b"".join(
        json.dumps(alive(job, second, **more)).encode() + b"\n" for second in range(count)
    )


def many(job: str) -> bytes:
    """As many as fill several of the pieces in which a stream is unpacked."""
    return lines(job, MANY, message="m" * 180)


def damaged(data: bytes, place: float) -> bytes:
    at = int(len(data) * place)
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


MANY = 15_000
WHOLE: dict[str, Callable[[], bytes]] = {
    "mark.jsonl": lambda: b"\xef\xbb\xbf" + lines("mark", 3),
    "mark-own.jsonl": lambda: b"\xef\xbb\xbf" + lines("mark-own", 3, own=1),
    "mark.gz": lambda: gzip.compress(b"\xef\xbb\xbf" + lines("mark.gz", 3)),
    "members.gz": lambda: gzip.compress(lines("members", 2)) + gzip.compress(lines("members2", 1)),
    "frames.zst": lambda: (
        zstandard.compress(lines("frames", 2)) + zstandard.compress(lines("frames2", 1))
    ),
    # as pzstd writes them: before each frame one of what is no content
    "skipped.zst": lambda: b"".join(
        b"\x50\x2a\x4d\x18\x04\x00\x00\x00....%b" % zstandard.compress(lines(job, count))
        for job, count in (("skipped", 2), ("skipped2", 1))
    ),
    "zeros.gz": lambda: gzip.compress(lines("zeros", 3)) + b"\0" * 512,
    "named.gz": lambda: lines("named", 3),
    "crlf.jsonl": lambda: lines("crlf", 3).replace(b"\n", b"\r\n"),
    "unended.jsonl": lambda: lines("unended", 3)[:-1],
    "long-first.jsonl": lambda: lines("long-first", 3, message="ä" * 60_000),
}
BROKEN: dict[str, tuple[Callable[[], bytes], int]] = {
    # how many events at least are there before the break
    "half.gz": (
        lambda: (data := gzip.compress(many("half.gz")))[: len(data) // 2],
        MANY // 2 - 100,
    ),
    "end.gz": (lambda: gzip.compress(many("end.gz"))[:-8], MANY),
    "small.gz": (lambda: (data := gzip.compress(lines("small", 99)))[: len(data) // 2], 20),
    "tail.gz": (lambda: gzip.compress(lines("tail.gz", 3)) + b"not packed", 3),
    "half.zst": (
        lambda: (data := zstandard.compress(many("half.zst")))[: len(data) // 2],
        MANY // 3,
    ),
    "damaged.zst": (lambda: damaged(zstandard.compress(many("damaged")), 0.6), MANY // 3),
    "tail.zst": (lambda: zstandard.compress(lines("tail.zst", 3)) + b"not packed", 3),
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was given whole and broken files, all in one go."""
    folder = tmp_path_factory.mktemp("packed")
    dumps = folder / "dumps"
    dumps.mkdir()
    for name, make in WHOLE.items():
        (dumps / name).write_bytes(make())
    for name, (make, _) in BROKEN.items():
        (dumps / name).write_bytes(make())

    assert 0 == ingest(folder / "warehouse", dumps)

    return folder / "warehouse"


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_file_loads_wholly(packed: Path, name: str) -> None:
    assert [(3, 0)] == rows(
        packed, "select events, rejected from ingested_files where suffix(file, ?)", ["/" + name]
    )


def test_gzip_dumps_that_unpack_to_what_was_never_packed_are_left_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = ("content", "checksum", "length")
    dumps = {wrong: tmp_path / f"{wrong}.gz" for wrong in kinds}
    good = {wrong: gzip.compress(lines(wrong, 3, step=7), compresslevel=0) for wrong in kinds}
    bad = {
        "content": good["content"].replace(b'"step": 7', b'"step": 8'),
        "checksum": good["checksum"][:-8] + b"oops" + good["checksum"][-4:],
        "length": good["length"][:-4] + b"oops",
    }
    for wrong, dump in dumps.items():
        dump.write_bytes(bad[wrong])
    text = tmp_path / "sacct.gz"
    text.write_bytes(gzip.compress(b"JobID|State|Start\n1|COMPLETED|2026-03-01T00:00:00\n", 0))
    text.write_bytes(text.read_bytes().replace(b"COMPLETED", b"CANCELLED"))
    refused = ingest(tmp_path / "warehouse", "--verbose", *dumps.values(), text)
    said = capsys.readouterr().out
    for wrong, dump in dumps.items():
        dump.write_bytes(good[wrong])
    loaded = ingest(tmp_path / "warehouse", *dumps.values())

    assert (2, 0) == (refused, loaded)
    for file in (*dumps.values(), text):
        assert (
            f"left aside {file}: it cannot be read: its gzip checksum is not that of what" in said
        )
    assert [(3, 7)] * 3 == kept(
        tmp_path / "warehouse", "select count(*), max(step) from events group by file_no"
    )
    assert [(7,)] == kept(tmp_path / "warehouse", "select distinct step from events")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_stream_loads_up_to_its_break_which_is_told(packed: Path, name: str) -> None:
    [(events,)] = rows(
        packed, "select events from ingested_files where suffix(file, ?)", ["/" + name]
    )
    told = rows(
        packed,
        "select reason, line_number > ?, contains(detail, 'stream breaks off') "
        "from rejected_lines where suffix(file, ?) order by line_number desc limit 1",
        [events, "/" + name],
    )

    assert BROKEN[name][1] <= events
    assert [("not_json", True, True)] == told


LENGTHS = (17, 34)  # longer than a line may be, and than the engine reads
KINDS: dict[str, Callable[[int], bytes]] = {
    "message": lambda size: line(message="x" * size),
    "own field": lambda size: line(own="x" * size),
    "garbage": lambda size: b"x" * size,
    "spaces": lambda size: b'{"ts":1' + b" " * size,
}


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was given lines of both lengths, in MB, of each kind, between good ones."""
    folder = tmp_path_factory.mktemp("long")
    dumps = folder / "dumps"
    dumps.mkdir()
    for kind, make in KINDS.items():
        for length in LENGTHS:
            job = f"{kind} {length}"
            parts = [lines(job, 2), make(length * MEGABYTE) + b"\n", lines(job, 4)]
            (dumps / f"{job}.jsonl").write_bytes(b"".join(parts))
    (dumps / "first.gz").write_bytes(
        gzip.compress(b"x" * LENGTHS[0] * MEGABYTE + b"\n" + lines("first", 4), 1)
    )

    assert 0 == ingest(folder / "warehouse", dumps)

    return folder / "warehouse"


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_line_that_is_too_long_is_set_aside_alone(long: Path, kind: str, length: int) -> None:
    name = f"/{kind} {length}.jsonl"

    assert [(4,)] == rows(long, "select events from ingested_files where suffix(file, ?)", [name])
    assert [(3, "line_too_long", "longer than 16,777,216 bytes", 2_000)] == rows(
        long,
        "select line_number, reason, detail, length(line) from rejected_lines "
        "where suffix(file, ?)",
        [name],
    )


@pytest.mark.slow
def test_a_dump_may_begin_with_a_line_that_is_too_long(long: Path) -> None:
    assert [(4, 1)] == rows(
        long, "select events, rejected from ingested_files where suffix(file, '/first.gz')"
    )


def test_a_half_written_last_line_is_told_by_its_own_number(tmp_path: Path) -> None:
    told = [alive("first"), *(alive("a", n, message="m" * 60_000) for n in range(8))]
    text = "".join(json.dumps(event) + "\n" for event in [*told, *life("last")])
    for number in range(6):
        (tmp_path / f"{number}.jsonl").write_text(text[: -20 - number], encoding="utf-8")
    ingest(tmp_path / "warehouse", tmp_path)

    assert [(len(text.splitlines()), "not_json")] * 6 == rows(
        tmp_path / "warehouse", "select line_number, reason from rejected_lines"
    )


@pytest.mark.slow
def test_bad_lines_keep_their_numbers_over_many_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a large dump is read in blocks of 4 MiB, and bad lines of another are found in some of 1 MiB
    sizes = {"large": 24 * MEGABYTE, "small": 8 * MEGABYTE}
    monkeypatch.setattr(usual, "_FEWEST_BYTES", sizes["large"])
    monkeypatch.setattr(loader, "_TOGETHER_BYTES", 0)
    good = json.dumps(alive("a", message="m" * 900)).encode() + b"\n"
    places = []
    for name, size in sizes.items():
        text, count = bytearray(), 0
        while len(text) < size:
            text += good * 499 + b"\n\r\n" + b"broken\n"
            count += 502
            places.append((name, count))
        (tmp_path / f"{name}.jsonl").write_bytes(text)
    ingest(tmp_path / "warehouse", *tmp_path.glob("*.jsonl"))

    assert places == rows(
        tmp_path / "warehouse",
        "select parse_filename(file, true), line_number from rejected_lines order by all",
    )


# Fields of their own


@pytest.fixture(scope="module")
def own_fields(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was given dumps with and without fields of their own one after the other,
    each read on its own.
    """
    folder = tmp_path_factory.mktemp("own_fields")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loader, "_TOGETHER_BYTES", 0)
        for dumps in zip(fields_that_appear_late(), null_fields(), strict=True):
            for name, content in dumps:
                (folder / name).write_bytes(content)
            ingest(folder / "warehouse", *(folder / name for name, _ in dumps))
    return folder / "warehouse"


def fields_that_appear_late() -> Iterator[tuple[str, bytes]]:
    plain = lines("a", 30_000)
    late = json.dumps(alive("late", own={"deep": [1, {"er": None}]}, loss=0.5)).encode() + b"\n"
    yield "late.jsonl", plain + late
    yield "late.gz", gzip.compress(plain + late.replace(b'"late"', b'"late.gz"'))
    yield "apart.jsonl", b'{"ts" : 1772323200,"event":"alive","job_id":"apart","own":1}\n'


def test_fields_of_their_own_are_kept_wherever_they_first_appear(own_fields: Path) -> None:
    kept_attrs = dict(
        kept(
            own_fields,
            "select job_key, attrs from events inner join job_keys using (job_no) "
            "where attrs is not null",
        )
    )
    own = {"own": {"deep": [1, {"er": None}]}, "loss": 0.5}

    assert {"late": own, "late.gz": own, "apart": {"own": 1}} == {
        job: json.loads(attrs) for job, attrs in kept_attrs.items()
    }


def null_fields() -> Iterator[tuple[str, bytes]]:
    bare = json.dumps(alive("null"))
    for name, more in (("bare", ""), ("own", ',"own":null'), ("known", ',"rank":null')):
        yield f"{name}.jsonl", bare.replace("}", f"{more}}}").encode() + b"\n"


def test_a_null_field_is_an_absent_one_whoever_knows_it(own_fields: Path) -> None:
    assert [(1, None)] == kept(
        own_fields,
        "select count(*), max(attrs) from events inner join job_keys using (job_no) "
        "where job_key = 'null'",
    )


# a kind of line -> what a line of it holds, beside the number that tells it apart from others
MIXED: dict[str, Callable[[int], bytes]] = {
    "plain": lambda number: raw(b'"job_id":"a","step":%d}' % number),
    "null": lambda number: raw(b'"job_id":"a","step":%d,"rank":null}' % number),
    "escaped": lambda number: raw(b'"job_id":"a","step":%d,"team":"\\":"}' % number),
    "rare": lambda number: raw(b'"job_id":"a","step":%d,"gpus":8}' % number),
    "own": lambda number: raw(b'"job_id":"a","step":%d,"own":1}' % number),
    "twice": lambda number: raw(b'"job_id":"a","step":%d,"step":0}' % number),
    "broken": lambda number: raw(b'"job_id":"a","step":%d,"own":1,"ga' % number),
    "unknown": lambda number: b'{"ts":1,"event":"x","job_id":"a","step":%d,"own":1}' % number,
    "blank": lambda _: b"  ",
}


REJECTED = "select line_number from rejected_lines where file like '%/{dump}.jsonl' order by all"


MIXTURES = range(6)


def mixture(seed: int) -> tuple[int, list[list[tuple[str, int]]]]:
    """How many first lines of each of three dumps are looked at, and the lines that each has."""
    chance = random.Random(seed)
    sampled = chance.choice([1, 4, 16])
    dumps = []
    for dump in range(3):
        kinds = ["plain"] * 10 + chance.sample([*MIXED], 4)
        first = 1_000 * seed + 100 * dump
        dumps.append([(chance.choice(kinds), first + place) for place in range(20)])
    return sampled, dumps


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was given the dumps of every mixture, each read on its own."""
    folder = tmp_path_factory.mktemp("mixed")
    for seed in MIXTURES:
        sampled, dumps = mixture(seed)
        for dump, told in enumerate(dumps):
            path = folder / f"sampled {sampled}" / f"{seed}-{dump}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"\n".join(MIXED[kind](number) for kind, number in told))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loader, "_TOGETHER_BYTES", 0)
        for sampled in sorted({mixture(seed)[0] for seed in MIXTURES}):
            patched.setattr(native, "_SAMPLE_ROWS", sampled)
            ingest(folder / "warehouse", folder / f"sampled {sampled}")

    return folder / "warehouse"


@pytest.mark.parametrize("seed", MIXTURES)
def test_no_field_is_missed_however_lines_are_mixed(mixed: Path, seed: int) -> None:
    """What the first lines say decides how a dump is read, and never what it says."""
    for dump, told in enumerate(mixture(seed)[1]):
        events = [row for row in told if row[0] in ("plain", "null", "escaped", "rare", "own")]
        first = told[0][1]
        loaded = kept(
            mixed,
            "select step, gpus, team, attrs from events where step between ? and ? order by step",
            [first, first + 99],
        )

        assert [
            (
                number,
                8 if kind == "rare" else None,
                '":' if kind == "escaped" else None,
                '{"own":1}' if kind == "own" else None,
            )
            for kind, number in events
        ] == loaded
        assert [
            place
            for place, (kind, _) in enumerate(told, 1)
            if kind in ("twice", "broken", "unknown")
        ] == [number for (number,) in rows(mixed, REJECTED.format(dump=f"{seed}-{dump}"))]


def test_a_dump_that_is_read_again_sets_its_bad_lines_aside_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    load_missed = native.load_missed

    def fail_once(*_: object) -> bool:
        monkeypatch.setattr(native, "load_missed", load_missed)
        raise duckdb.InvalidInputException("it broke off")

    monkeypatch.setattr(native, "load_missed", fail_once)
    (tmp_path / "dump.jsonl").write_bytes(b"broken\n" + lines("a", 3))
    ingest(tmp_path / "warehouse", tmp_path / "dump.jsonl")

    assert [(1, "not_json")] == rows(
        tmp_path / "warehouse", "select line_number, reason from rejected_lines"
    )


def value_that_is_no_text() -> list[dict[str, object]]:
    return life("no text", team={"a": [1, None]})


def test_a_value_that_is_no_text_is_kept_as_its_json_in_a_text_field(
    absurd: tuple[Path, list[int]],
) -> None:
    assert [('{"a":[1,null]}',)] == rows(
        absurd[0], "select team from attempts where job_id = 'no text'"
    )
