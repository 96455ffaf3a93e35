"""The same events give the same numbers, however they are cut up, ordered, repeated and packed."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
import zstandard

from ingest import store
from tests.ingest.warehouses import STARTED_AT, alive, differences, fleet, life
from tests.oracle.fleets import Fields
from tests.queries.engine import ingest, rows, write_dump

AS_OF = (
    "2026-03-02T00:30:00Z",
    "2026-03-02T07:00:00Z",
    "2026-03-03T04:00:00Z",
    "2026-03-03T09:00:00Z",
)


def pieces(seed: int, events: list[Fields]) -> list[list[Fields]]:
    """The events in four pieces in no order, each with some that another piece has as well."""
    chance = random.Random(seed)
    dealt: list[list[Fields]] = [[] for _ in AS_OF]
    for event in events:
        for piece in chance.sample(dealt, chance.choice((1, 1, 1, 2))):
            piece.append(event)
    return dealt


@pytest.mark.slow
def test_pieces_in_any_order_give_the_numbers_of_the_whole(tmp_path: Path) -> None:
    fleets = {seed: fleet(seed, size=8, prefix=f"{seed}-") for seed in (1, 2)}
    events = [event for each in fleets.values() for event in each]
    dealt = [pieces(seed, each) for seed, each in fleets.items()]
    once, in_pieces = tmp_path / "once", tmp_path / "pieces"
    ingest(once, write_dump(tmp_path / "all.jsonl", events))
    for number, parts in enumerate(zip(*dealt, strict=True)):
        piece = [event for part in parts for event in part]
        ingest(in_pieces, write_dump(tmp_path / f"{number}.jsonl", piece))

    assert {} == differences(once, in_pieces)


@pytest.mark.slow
def test_a_clock_that_moves_on_between_pieces_ends_where_one_ingest_does(tmp_path: Path) -> None:
    events = fleet(11, size=8)
    once, in_pieces = tmp_path / "once", tmp_path / "pieces"
    ingest(once, "--as-of", AS_OF[-1], write_dump(tmp_path / "all.jsonl", events))
    for number, (moment, piece) in enumerate(zip(AS_OF, pieces(11, events), strict=True)):
        ingest(in_pieces, "--as-of", moment, write_dump(tmp_path / f"{number}.jsonl", piece))

    assert {} == differences(once, in_pieces)


@pytest.mark.slow
def test_sources_that_tell_of_the_same_jobs_may_come_in_any_order(tmp_path: Path) -> None:
    events = fleet(21, size=6)
    halves = [events[0::2], events[1::2]]
    dumps = [write_dump(tmp_path / f"{n}.jsonl", half) for n, half in enumerate(halves)]
    forth, back = tmp_path / "forth", tmp_path / "back"
    for warehouse, order in ((forth, (0, 1)), (back, (1, 0))):
        for number in order:
            ingest(warehouse, "--cluster", f"c{number}", dumps[number])

    assert {} == differences(forth, back)


def test_a_dump_repeated_renamed_and_packed_anew_changes_nothing(tmp_path: Path) -> None:
    events = fleet(31)
    dump = write_dump(tmp_path / "dump.jsonl", events)
    once, again = tmp_path / "once", tmp_path / "again"
    ingest(once, dump)
    text = dump.read_bytes()
    (tmp_path / "renamed.log").write_bytes(text)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(text, 1))
    (tmp_path / "packed.zst").write_bytes(zstandard.compress(text))
    (tmp_path / "turned.jsonl").write_bytes(b"".join(reversed(text.splitlines(keepends=True))))
    for name in ("dump.jsonl", "renamed.log", "packed.gz", "packed.zst", "turned.jsonl"):
        ingest(again, tmp_path / name)

    assert {} == differences(once, again)
    assert rows(once, "select sum(events) from ingested_files") == rows(
        again, "select sum(events) from ingested_files"
    )


def test_lines_that_say_the_same_in_other_words_are_one_event(tmp_path: Path) -> None:
    told = [
        '{"ts": "2026-03-01T00:00:00Z", "event": "alive", "job_id": "a", "step": 5, "team": "ä"}',
        '{"team":"\\u00e4","step":5.0,"job_id":"a","event":"alive","ts":"2026-03-01T01:00:00+01:00"}',
        '{"ts":1772323200,"event":"alive","job_id":"a","step":"5","team":"ä","attempt":1}',
        '{"ts":1772323200.0,"event":"alive","job_id":"a","step":5,"team":"ä","host":null}',
        '{"ts" :\t1.7723232e9, "event":"alive","job_id":"a","step":5,"team":"ä"}  ',
    ]
    (tmp_path / "dump.jsonl").write_text("\n".join(told), encoding="utf-8")
    ingest(tmp_path / "warehouse", tmp_path / "dump.jsonl")

    assert [(1, 0)] == rows(tmp_path / "warehouse", "select events, rejected from ingested_files")


@pytest.mark.parametrize(
    "more", [{}, {"region": "north"}], ids=["known fields", "fields of its own"]
)
def test_an_event_is_the_same_beside_events_with_fields_of_their_own(
    tmp_path: Path, more: dict[str, object]
) -> None:
    told = [
        alive("nested", message={"a": [1, 2.50, "x/y", None]}),
        alive("number", name=1.0, host=1e3),
        alive("escaped", message='tab\t"quoted" \u2028 \\ / é'),
        alive("true", stage=True),
        alive("plain"),
    ]
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, write_dump(tmp_path / "alone.jsonl", told))
    ingest(warehouse, write_dump(tmp_path / "beside.jsonl", [*told, alive("other", **more)]))

    assert [(5,), (1,)] == rows(warehouse, "select events from ingested_files order by file")


def test_events_that_differ_in_one_field_only_are_all_kept(tmp_path: Path) -> None:
    numbers = ("rank", "step", "samples", "exit_code", "signal", "recompiles", "gpus")
    texts = ("host", "user", "team", "model", "component", "allocation_id", "name", "event_id")
    told = [
        alive("a"),
        *(alive("a", **{field: 7}) for field in numbers),
        *(alive("a", **{field: "7"}) for field in texts),
        alive("a", attempt=7),
        alive("a", own="7"),
        alive("a", own=7),
    ]
    ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", told))

    assert [(len(told),)] == rows(tmp_path / "warehouse", "select events from ingested_files")


def test_of_two_tellings_under_one_event_id_the_same_stays_in_either_order(
    tmp_path: Path,
) -> None:
    compiled = {
        "event_id": "e",
        "event": "phase_start",
        "phase": "pt2_compile",
        "end_ts": STARTED_AT + 100,
    }
    differing: dict[str, tuple[object, object]] = {"cache": ("hit", "miss"), "recompiles": (1, 2)}
    tellings = [
        [
            event
            for field, told in differing.items()
            for event in (alive(field) | compiled | {field: told[number]}, *life(field))
        ]
        for number in (0, 1)
    ]
    for name, order in (("forth", tellings), ("back", tellings[::-1])):
        for number, telling in enumerate(order):
            ingest(tmp_path / name, write_dump(tmp_path / f"{number}.jsonl", telling))

    assert {} == differences(tmp_path / "forth", tmp_path / "back")


def test_a_change_told_twice_is_one_change(tmp_path: Path) -> None:
    change = {"ts": "2026-03-01T00:00:00Z", "event": "change", "name": "torch 2.9", "team": "ads"}
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, write_dump(tmp_path / "a.jsonl", [change, change, *life("a")]))
    ingest(warehouse, write_dump(tmp_path / "b.jsonl", [change, change | {"name": "torch 2.10"}]))

    assert [(5,), (1,)] == rows(warehouse, "select events from ingested_files order by file")


@pytest.mark.parametrize("at_once", [1, 7, 1_000])
@pytest.mark.parametrize("place", [0, 17, -1])
def test_one_event_told_twice_among_many_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_once: int, place: int
) -> None:
    """Of more events than are sorted at once, too."""
    monkeypatch.setattr(store, "_SORTED_AT_ONCE", at_once)
    told = [alive("a", second) for second in range(40)]
    ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", [*told, told[place]]))

    assert [(40,)] == rows(tmp_path / "warehouse", "select events from ingested_files")


def test_a_log_that_grew_counts_its_half_written_line_once_it_is_whole(tmp_path: Path) -> None:
    lines = [json.dumps(event) + "\n" for event in fleet(41, size=2)]
    log, warehouse = tmp_path / "log.jsonl", tmp_path / "warehouse"
    once = tmp_path / "once"
    text = "".join([*lines[:10], "not json\n", *lines[10:]])
    ingest(once, write_text(tmp_path / "whole.jsonl", text))
    for end in (len(text) // 3, len(text) // 2, len(text) - 7, len(text)):
        ingest(warehouse, write_text(log, text[:end]))

    assert {} == differences(once, warehouse)
    assert [(11, "not_json")] == rows(warehouse, "select line_number, reason from rejected_lines")
    assert [(1,)] == rows(warehouse, "select sum(rejected) from ingested_files")


def test_an_unexplained_message_of_a_text_that_grew_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = write_text(
        tmp_path / "ett.toml",
        '[[training_log]]\nname = "ours"\nmeans = "failure"\ncontains = ["glurp"]\n'
        'pattern = "glurp of"\n',
    )
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    log, warehouse = tmp_path / "train.log", tmp_path / "warehouse"
    lines = [f"2026-03-01T00:00:{second:02} step {second}, loss 2.0" for second in range(10, 60)]
    lines[20] = "2026-03-01T00:00:30 glurp of 7"
    for end in (30, 40, 50):
        ingest(warehouse, write_text(log, "\n".join([*lines[:end], ""])))

    unmatched = "select count from unmatched_messages"
    assert [(1,)] == rows(warehouse, unmatched)

    ingest(warehouse, write_text(log, "\n".join([*lines, "2026-03-01T00:01:00 glurp of 8", ""])))
    assert [(2,)] == rows(warehouse, unmatched)


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
