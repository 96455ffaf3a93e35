"""What compiled code makes of usual lines is what the engine makes of them; it takes no others."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard

from ingest import dumps, facts, fields, loader, publish, unpacking, usual, usual_lines
from ingest.usual_lines import LeftOver, NotUsual
from tests.fuzz import seeds
from tests.fuzz.accidents import mutated
from tests.ingest.warehouses import kept
from tests.queries.engine import ingest

LATEST_US = 1_800_000_000_000_000
TABLES = (
    ("job_keys", "*"),
    ("plain_events", "*"),
    ("told_events", "*"),
    ("files", "* exclude (ingested_at)"),
    ("rejected_lines", "*"),
)
USUAL = {"ts": "2026-03-01T00:00:00Z", "event": "progress", "job_id": "a", "step": 7}


@pytest.fixture(autouse=True)
def _ready() -> None:
    assert usual.is_ready(), "run `make install`: it compiles what is tested here"


@pytest.fixture(autouse=True)
def _only_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed of the events and published is no part of what is compared here, and takes
    most of the time of an ingest.
    """
    monkeypatch.setattr(facts, "_recompute", lambda *_, **__: None)
    monkeypatch.setattr(publish, "publish", lambda *_: None)


def line(**changes: object) -> bytes:
    """A usual line, but for what differs."""
    return json.dumps(USUAL | changes, separators=(",", ":")).encode()


def dumped(rng: random.Random, dumps: int) -> list[bytes]:
    """Lines as dumps have them, most of which say no more than usual."""
    lines = []
    for each in (each for _ in range(dumps) for each in seeds.native(rng.randrange(10**6), 1_000)):
        if rng.random() < 0.9:
            told = {key: value for key, value in json.loads(each).items() if key in fields.PLAIN}
            each = json.dumps(told, separators=rng.choice([(",", ":"), (", ", ": ")])).encode()
        lines.append(each)
    return lines


def taken(
    text: bytes, folder: Path, more: list[Any] | None = None
) -> tuple[list[dict[str, Any]], list[tuple[int, bytes]]]:
    """What is taken of some lines, and what is left over: its number and the line."""
    left_over = LeftOver(1, folder / "left")
    batches = list(usual_lines.read([io.BytesIO(text)], [left_over], LATEST_US, more))
    copied = b"" if left_over.is_empty else left_over.path.read_bytes()
    lines = copied.splitlines(keepends=True)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return rows, list(zip(left_over.numbers().tolist(), lines, strict=True))


def loaded(
    folder: Path, given: Path, monkeypatch: pytest.MonkeyPatch, *options: str, fewest: int
) -> dict[str, list[tuple[Any, ...]]]:
    """The tables of a warehouse into which a dump, or a folder of them, was ingested."""
    monkeypatch.setattr(usual, "_FEWEST_BYTES", fewest)
    ingest(folder, "--as-of", "2026-11-20T00:00:00Z", *options, given)
    return {name: kept(folder, f"select {told} from {name} order by all") for name, told in TABLES}


def usually_loaded(
    folder: Path, dumps: Path, monkeypatch: pytest.MonkeyPatch, *options: str, readings: int = 1
) -> dict[str, list[tuple[Any, ...]]]:
    """Like `loaded`, but by compiled code, which is asked to read so often."""
    read: list[int] = []
    with monkeypatch.context() as watched:
        found = usual_lines.read

        def noted(*arguments: Any) -> Any:
            read.append(1)
            return found(*arguments)

        watched.setattr(usual_lines, "read", noted)
        usually = loaded(folder, dumps, watched, *options, fewest=0)
    assert readings == len(read), "not all that was given was read as dumps of usual lines"
    return usually


def both_ways(
    folder: Path,
    dump: Path,
    monkeypatch: pytest.MonkeyPatch,
    *options: str,
    readings: int = 1,
) -> tuple[dict[str, list[tuple[Any, ...]]], dict[str, list[tuple[Any, ...]]]]:
    plainly = loaded(folder / "plainly", dump, monkeypatch, *options, fewest=1 << 60)
    usually = usually_loaded(folder / "usually", dump, monkeypatch, *options, readings=readings)
    return plainly, usually


BLOCKS = (300, 5_000, 1 << 22)  # a line or two, a part of a dump, more than any dump has
PACKED: dict[str, Any] = {"plain": bytes, "gz": gzip.compress, "zst": zstandard.compress}


@pytest.mark.parametrize("options", [(), ("--cluster", "it's east")], ids=["plain", "cluster"])
def test_a_dump_loads_as_it_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    # what is packed in another way is read on its own
    for seed, (name, pack) in enumerate(PACKED.items(), 1):
        (folder / name).write_bytes(pack(b"\n".join(dumped(random.Random(seed), 4))))

    plainly, usually = both_ways(tmp_path, folder, monkeypatch, *options, readings=len(PACKED))

    assert len(plainly["plain_events"]) > 3_000 or options
    assert plainly == usually


@pytest.mark.slow
def test_lines_that_accidents_happened_to_load_as_they_do_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "_TOGETHER_BYTES", 0)  # each is read as if it were given alone
    folder = tmp_path / "dumps"
    folder.mkdir()
    blocks = [*BLOCKS, 300]
    for seed in range(len(blocks)):
        rng = random.Random(seed)
        broken, hit = mutated(dumped(rng, 8), rng, 0.3)
        (folder / str(seed)).write_bytes(rng.choice([b"\n", b"\r\n"]).join(broken))
        assert len(hit) > 1_000
    next_block = iter(blocks)
    read = usual_lines.read

    def in_blocks(*arguments: Any) -> Any:
        monkeypatch.setattr(usual_lines, "_BLOCK", next(next_block))
        return read(*arguments)

    monkeypatch.setattr(usual_lines, "read", in_blocks)

    plainly, usually = both_ways(tmp_path, folder, monkeypatch, readings=len(blocks))

    rejected = kept(tmp_path / "plainly", "select count(*) from rejected_lines group by file_no")
    assert len(blocks) == len(rejected)
    assert min(rejected) > (100,)
    assert plainly == usually


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "block"), [*enumerate(BLOCKS)])
def test_many_dumps_load_as_they_do_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, block: int
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(usual_lines, "_BLOCK", block)
    folder = tmp_path / "dumps"
    folder.mkdir()
    for number in range(12):
        lines = dumped(rng, 1)[:300]
        if number in (2, 5, 11):
            lines, _ = mutated(lines, rng, 0.3)
        if number == 7:
            lines = [b'{"ts": "never"}', *lines[:1]]  # most of whose first lines are others
        end = rng.choice([b"", b"\n", b"\n\n"])
        (folder / f"{number}.jsonl").write_bytes(rng.choice([b"\n", b"\r\n"]).join(lines) + end)

    options = ("--cluster", "it's east") if seed == 1 else ()
    plainly, held = both_ways(tmp_path, folder, monkeypatch, *options)
    monkeypatch.setattr(usual, "_HELD_SHARE", 0)
    in_a_table = usually_loaded(tmp_path / "in a table", folder, monkeypatch, *options)

    assert len(plainly["files"]) == 12
    assert len(plainly["rejected_lines"]) > 20
    assert plainly == held
    assert plainly == in_a_table


def test_a_gzip_dump_is_not_unpacked_for_its_checksum_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual, "_FEWEST_BYTES", 0)
    looked_at: list[dumps.DumpFile] = []
    monkeypatch.setattr(unpacking, "refuse_damaged", looked_at.append)
    dump = tmp_path / "dump.gz"
    dump.write_bytes(gzip.compress(line() + b"\n"))

    assert 0 == ingest(tmp_path / "warehouse", dump)

    assert [] == looked_at


def test_a_gzip_dump_whose_checksum_does_not_hold_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(usual, "_FEWEST_BYTES", 0)
    good = gzip.compress(b"\n".join(line(step=step) for step in range(10, 40)), compresslevel=0)
    dump = tmp_path / "dump.gz"
    dump.write_bytes(good.replace(b'"step":17', b'"step":71'))

    assert 2 == ingest(tmp_path / "warehouse", dump)

    assert f"{dump} cannot be read: its gzip checksum is not that of" in capsys.readouterr().out
    assert [(0,)] == kept(tmp_path / "warehouse", "select count(*) from events")


def test_of_many_dumps_one_that_cannot_be_read_is_left_aside_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(usual, "_FEWEST_BYTES", 0)
    given = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for number, path in enumerate(given, 9):
        path.write_bytes(b"\n".join(line(job_id=path.stem, step=each) for each in range(number)))
    take = usual.take

    def taken_away(*arguments: Any) -> Any:
        given[1].unlink(missing_ok=True)
        return take(*arguments)

    monkeypatch.setattr(usual, "take", taken_away)

    ingest(tmp_path / "warehouse", *given)

    assert f"{given[1]} cannot be opened" in capsys.readouterr().out
    assert [(str(given[0]), 9), (str(given[2]), 11)] == kept(
        tmp_path / "warehouse", "select file, events from files order by all"
    )


def test_what_memory_may_have_no_room_for_goes_into_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.usual._HELD_SHARE", 0)
    dump = tmp_path / "dump"
    dump.write_bytes(b"\n".join(line(step=step, job_id=f"job {step % 9}") for step in range(900)))

    plainly, usually = both_ways(tmp_path, dump, monkeypatch)

    assert 900 == len(usually["plain_events"])
    assert plainly == usually


NOT_USUAL = {
    "a field of its own": line(loss=0.5),
    "a field that few have": line(team="a"),
    "a roll-out": line(event="change", name="x"),
    "an escape": line(job_id='a"b'),
    "no ASCII": json.dumps(USUAL | {"job_id": "é"}, ensure_ascii=False).encode(),
    "a delete character": line(job_id="a\x7f"),
    "no job": b'{"ts":"2026-03-01T00:00:00Z","event":"progress"}',
    "an empty job": line(job_id=""),
    "a long job": line(job_id="x" * 257),
    "a long id": line(event_id="x" * 257),
    "a long stage": line(stage="x" * 4_097),
    "a job that is a number": line(job_id=7),
    "a phase without its name": line(event="phase_start"),
    "an unknown event": line(event="progres"),
    "an unknown phase": line(phase="trainin"),
    "an unknown mode": line(mode="syncs"),
    "no time": line(ts=None),
    "a time without a zone": line(ts="2026-03-01T00:00:00"),
    "an hour of one digit": line(ts="2026-03-01T-1:00:00Z"),
    "a second of one digit": line(ts="2026-03-01T00:00:1 Z"),
    "decimals without a zone": line(ts="2026-03-01T00:00:00.00100"),
    "a zone and a letter": line(ts="2026-03-01T00:00:00Zx"),
    "a day that is not": line(ts="2026-02-29T00:00:00Z"),
    "a month that is not": line(ts="2026-13-01T00:00:00Z"),
    "a leap second": line(ts="2026-03-01T23:59:60Z"),
    "a far zone": line(ts="2026-03-01T00:00:00+16:00"),
    "a short zone": line(ts="2026-03-01T00:00:00+01"),
    "nanoseconds": line(ts="2026-03-01T00:00:00.123456789Z"),
    "no digit after the point": line(ts="2026-03-01T00:00:00.Z"),
    "a blank between": line(ts="2026-03-01 00:00:00Z"),
    "before 2000": line(ts="1999-12-31T23:59:59Z"),
    "too late": line(ts=LATEST_US // 1_000_000 + 1),
    "too late an end": line(end_ts=LATEST_US // 1_000_000 + 1),
    "milliseconds": line(ts=1_772_323_200_000),
    "seven decimals": line().replace(b'"2026-03-01T00:00:00Z"', b"1772323200.1234567"),
    "an exponent": line().replace(b'"2026-03-01T00:00:00Z"', b"1.7723232e9"),
    "two points": line().replace(b'"2026-03-01T00:00:00Z"', b"1772323200.1.2"),
    "a point at the end": line().replace(b'"2026-03-01T00:00:00Z"', b"1772323200."),
    "a zero before": line(step=0).replace(b":0}", b":07}"),
    "a fraction": line(step=1.0),
    "below zero": line(step=-1),
    "nineteen digits": line(step=10**18),
    "a number as text": line(step="7"),
    "attempt 0": line(attempt=0),
    "a truth as text": line(ok="true"),
    "a truth as a number": line(ok=1),
    "a truth for a step": line(step=True),
    "a list": line(step=[7]),
    "a field twice": line().replace(b"{", b'{"step":7,'),
    "a field twice, once as null": line().replace(b"{", b'{"step":null,'),
    "no comma": line().replace(b',"step"', b' "step"'),
    "a comma too many": line().replace(b"}", b",}"),
    "no object": b"[1]",
    "nothing after the object": line() + b"x",
    "two objects": line() + line(),
    "a tab": line() + b"\t",
    "half an object": line()[:-1],
    "half a truth": line(ok=True)[:-3],
    "half a null": line(ok=None)[:-3],
    "a blank line": b"",
    "blanks": b"   ",
}


@pytest.mark.parametrize("name", NOT_USUAL)
def test_a_line_that_is_not_just_as_usual_is_left_over(name: str, tmp_path: Path) -> None:
    rows, left = taken(b"\n".join([line(), NOT_USUAL[name], line(step=8)]), tmp_path)

    assert [7, 8] == [row["step"] for row in rows]
    assert [(2, NOT_USUAL[name] + b"\n")] == left


STILL_USUAL = {
    "blanks between": json.dumps(USUAL).encode(),
    "more blanks": b' {  "ts" :  1772323200 ,"event": "alive"  ,  "job_id":"a", "step" : 7  }'[1:],
    "a carriage return": line() + b"\r",
    "a null": line(rank=None, stage=None, phase=None, mode=None, ok=None, end_ts=None),
    "an empty stage": line(stage=""),
    "the longest job": line(job_id="x" * 256),
    "eighteen digits": line(samples=10**18 - 1),
    "zero": line(rank=0),
}


MORE: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "nothing": ({"team": None, "gpus": None, "cache": None}, {}),
    "texts": ({"team": "", "user": "x" * 4_096}, {"team": "", "user": "x" * 4_096}),
    "the longest message": ({"message": "x" * 65_536}, {"message": "x" * 65_536}),
    "a category": ({"category": "a/b"}, {"category": "a/b"}),
    "numbers": ({"gpus": 10_000_000, "exit_code": 0}, {"gpus": 10_000_000, "exit_code": 0}),
    "choices": ({"cache": "miss", "outcome": "cancelled"}, {"cache": 1, "outcome": 3}),
}
NO_MORE: dict[str, dict[str, object]] = {
    "a long team": {"team": "x" * 4_097},
    "a long message": {"message": "x" * 65_537},
    "a team that is a number": {"team": 7},
    "no category": {"category": "ab"},
    "a category of three": {"category": "a/b/c"},
    "a category without a domain": {"category": "/b"},
    "a category of a domain alone": {"category": "a/"},
    "too many GPUs": {"gpus": 10_000_001},
    "too many recompiles": {"recompiles": 10_000_001},
    "a signal below zero": {"signal": -9},
    "a signal of nineteen digits": {"signal": 10**18},
    "an exit code as text": {"exit_code": "1"},
    "an unknown outcome": {"outcome": "complete"},
    "a cache that is true": {"cache": True},
    "an escape": {"message": "a\nb"},
    "a field of its own": {"team": "a", "loss": 0.5},
    "no time": {"team": "a", "ts": None},
}


@pytest.mark.parametrize("name", MORE)
def test_a_line_that_says_more_is_taken_beside(name: str, tmp_path: Path) -> None:
    told, meant = MORE[name]
    more: list[Any] = []

    rows, left = taken(b"\n".join([line(**told), line(step=8)]), tmp_path, more)

    assert [] == left
    assert 2 == len(rows) + sum(len(batch) for batch in more)
    said = [row for batch in more for row in batch.to_pylist()]
    assert ([{"step": 7, **meant}] if meant else []) == [
        {
            field: value
            for field, value in row.items()
            if value is not None and field not in ("at_us", "event", "job_key")
        }
        for row in said
    ]


@pytest.mark.parametrize("name", NO_MORE)
def test_a_line_that_says_more_in_another_way_is_left_over(name: str, tmp_path: Path) -> None:
    more: list[Any] = []

    rows, left = taken(b"\n".join([line(), line(**NO_MORE[name])]), tmp_path, more)

    assert [7] == [row["step"] for row in rows]
    assert [] == more
    assert [(2, line(**NO_MORE[name]) + b"\n")] == left


@pytest.mark.parametrize("name", STILL_USUAL)
def test_a_usual_line_is_taken(name: str, tmp_path: Path) -> None:
    rows, left = taken(STILL_USUAL[name], tmp_path)

    assert [] == left
    assert [7] == [row["step"] for row in rows]


@pytest.mark.parametrize(
    "told",
    [
        *("2026-03-01T00:00:00Z", "2024-02-29T23:59:59.9Z", "2000-01-01T00:00:00Z"),
        *("2026-12-31T23:30:00-15:59", "2026-01-01T00:15:00.000001+05:45"),
        *("2000-02-29T12:00:00.12+00:00", "2026-03-01T00:00:00.123456Z"),
        *(1_772_323_200, 1_772_323_200.5, 946_684_800, 1_772_323_200.123456),
    ],
)
def test_times_are_those_that_the_engine_reads(told: object, tmp_path: Path) -> None:
    rows, left = taken(line(ts=told, end_ts=told), tmp_path)

    assert [] == left
    assert [(the_engines(told), the_engines(told))] == [
        (row["at_us"], row["end_us"]) for row in rows
    ]


def the_engines(told: object) -> int:
    """Microseconds of a time as `ingest.fields` has the engine read it."""
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        [(us,)] = connection.execute(
            f"select {fields.typed('ts', 'told')} from (select ? as told)", [str(told)]
        ).fetchall()
    return int(us)


def test_every_day_of_four_centuries_is_the_one_that_the_calendar_has(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        days = connection.execute(
            "select strftime(day, '%Y-%m-%dT00:00:00Z'), epoch_us(day) "
            "from range(timestamp '2000-01-01', timestamp '2400-03-02', interval 1 day) as t (day)"
        ).fetchall()
    left_over = LeftOver(1, tmp_path / "left")
    text = b"\n".join(line(ts=told) for told, _ in days)
    batches = usual_lines.read([io.BytesIO(text)], [left_over], 1 << 62)

    assert [us for _, us in days] == [at for batch in batches for at in batch["at_us"].to_pylist()]


@pytest.mark.parametrize("block", [1, 100, 1_000])
def test_blocks_may_end_anywhere(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual_lines, "_BLOCK", block)
    monkeypatch.setattr(usual_lines, "_LONGEST", 1_000)
    lines = [line(step=step) if step % 7 else b"broken" for step in range(1, 200)]

    rows, left = taken(b"\n".join(lines), tmp_path)

    assert [step for step in range(1, 200) if step % 7] == [row["step"] for row in rows]
    assert [(step, b"broken\n") for step in range(7, 200, 7)] == left


def test_more_lines_than_there_is_room_for_are_taken_in_several_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual_lines, "_ROOM", usual_lines._Room(10))
    lines = [line(step=step) if step % 25 < 14 else b"" for step in range(300)]

    rows, left = taken(b"\n".join(lines) + b"\n", tmp_path)

    assert [step for step in range(300) if step % 25 < 14] == [row["step"] for row in rows]
    assert [step + 1 for step in range(300) if step % 25 >= 14] == [number for number, _ in left]


@pytest.mark.parametrize("text", [line(team="a") + b"\n" + line(), b"{" * 300], ids=["few", "long"])
def test_a_dump_of_other_lines_is_not_taken(
    text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual_lines, "_BLOCK", 200)
    monkeypatch.setattr(usual_lines, "_LONGEST", 200)
    with pytest.raises(NotUsual):
        list(usual_lines.read([io.BytesIO(text * 3)], [LeftOver(1, tmp_path / "left")], LATEST_US))


def test_where_nothing_is_compiled_dumps_load_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual, "_STAMP", tmp_path / "no stamp")
    usual.is_ready.cache_clear()
    try:
        assert not usual.reads(1 << 40)
    finally:
        monkeypatch.undo()
        usual.is_ready.cache_clear()


def test_a_line_that_is_set_aside_has_its_number_in_the_dump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: Sequence[bytes] = [line(), line(team="a"), b"", line(ts="never"), line(step=8), b"{"]
    dump = tmp_path / "dump"
    dump.write_bytes(b"\n".join([*lines, line(step=9), line(step=10)]))
    monkeypatch.setattr(usual, "_FEWEST_BYTES", 0)

    ingest(tmp_path / "warehouse", dump)

    assert [(4, "bad_timestamp"), (6, "not_json")] == kept(
        tmp_path / "warehouse", "select line_number, reason from rejected_lines order by all"
    )


def test_marks_of_keys_are_not_counted_where_nobody_asks_for_them(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(line() + b"\n")
    file = dumps.DumpFile("dump", tmp_path / "dump", len(line()) + 1, "none")

    assert 4 == dumps.fingerprint(file).key_marks
    assert dumps.fingerprint(file, counts_keys=False).key_marks is None
