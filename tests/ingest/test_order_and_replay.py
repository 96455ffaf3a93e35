"""The same events give the same numbers, however they are cut up, ordered, repeated and packed."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

import pytest
import zstandard

from ingest import loader, store
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


def tellings() -> list[list[Fields]]:
    """Two tellings of jobs that have an event of one id each, of which they say something else."""
    compiled = {
        "event_id": "e",
        "event": "phase_start",
        "phase": "pt2_compile",
        "end_ts": STARTED_AT + 100,
    }
    differing: dict[str, tuple[object, object]] = {"cache": ("hit", "miss"), "recompiles": (1, 2)}
    return [
        [
            event
            for field, told in differing.items()
            for event in (alive(field) | compiled | {field: told[number]}, *life(field))
        ]
        for number in (0, 1)
    ]


@dataclass(frozen=True, slots=True)
class BothWays:
    """The warehouses of the same stories: told whole, and in pieces, grown, again, the other way
    round.
    """

    whole: Path
    cut_up: Path


@pytest.fixture(scope="module")
def both_ways(tmp_path_factory: pytest.TempPathFactory) -> BothWays:
    folder = tmp_path_factory.mktemp("both_ways")
    told = BothWays(folder / "whole", folder / "cut up")
    fleets = {seed: fleet(seed, size=8, prefix=f"{seed}-") for seed in (1, 2)}
    dealt = [pieces(seed, each) for seed, each in fleets.items()]
    everything = write_dump(folder / "all.jsonl", chain.from_iterable(fleets.values()))
    lines = [json.dumps(event) + "\n" for event in fleet(41, size=2, prefix="grown-")]
    text = "".join([*lines[:10], "not json\n", *lines[10:]])
    ends = (len(text) // 3, len(text) // 2, len(text) - 7, len(text))
    repeated = write_dump(folder / "dump.jsonl", fleet(31, prefix="again-"))
    forth = [
        write_dump(folder / f"telling {number}.jsonl", telling)
        for number, telling in enumerate(tellings())
    ]
    whole = write_text(folder / "whole.jsonl", text)
    ingest(told.whole, everything, whole, repeated, forth[0])
    ingest(told.whole, forth[1])
    same, renamed, packed, packed_otherwise, turned = _packed_anew(repeated)
    more = [[repeated, forth[1]], [forth[0], renamed, packed], [packed_otherwise, same], [turned]]
    for number, (parts, end, beside) in enumerate(
        zip(zip(*dealt, strict=True), ends, more, strict=True)
    ):
        piece = write_dump(folder / f"{number}.jsonl", chain.from_iterable(parts))
        ingest(told.cut_up, piece, write_text(folder / "log.jsonl", text[:end]), *beside)
    return told


def _packed_anew(dump: Path) -> list[Path]:
    text = dump.read_bytes()
    data = {
        dump.name: text,
        "renamed.log": text,
        "packed.gz": gzip.compress(text, 1),
        "packed.zst": zstandard.compress(text),
        "turned.jsonl": b"".join(reversed(text.splitlines(keepends=True))),
    }
    for name, each in data.items():
        dump.with_name(name).write_bytes(each)
    return [dump.with_name(name) for name in data]


@pytest.mark.slow
def test_pieces_in_any_order_give_the_numbers_of_the_whole(both_ways: BothWays) -> None:
    assert {} == differences(both_ways.whole, both_ways.cut_up)


@pytest.mark.slow
def test_a_clock_that_moves_on_and_sources_in_another_order_end_where_one_telling_does(
    tmp_path: Path,
) -> None:
    once, in_pieces = tmp_path / "once", tmp_path / "pieces"
    events = fleet(11, size=8, prefix="clock-")
    shared = fleet(21, size=6, prefix="shared-")
    first, second = (
        write_dump(tmp_path / f"half {half}.jsonl", shared[half::2]) for half in range(2)
    )
    everything = write_dump(tmp_path / "all.jsonl", events)
    ingest(once, "--cluster", "c0", "--as-of", AS_OF[-1], everything, first)
    ingest(once, "--cluster", "c1", second)
    # two sources tell of the shared jobs; the clock that moves on is that of one
    ingest(in_pieces, "--cluster", "c1", second)
    for number, (moment, dealt) in enumerate(zip(AS_OF, pieces(11, events), strict=True)):
        piece = write_dump(tmp_path / f"{number}.jsonl", dealt)
        beside = [first] if moment == AS_OF[-1] else []
        ingest(in_pieces, "--cluster", "c0", "--as-of", moment, piece, *beside)

    assert {} == differences(once, in_pieces)


def test_a_dump_repeated_renamed_and_packed_anew_changes_nothing(both_ways: BothWays) -> None:
    events = "select sum(events) from ingested_files"

    assert {} == differences(both_ways.whole, both_ways.cut_up)
    assert rows(both_ways.whole, events) == rows(both_ways.cut_up, events)


MORE: dict[str, dict[str, object]] = {"known fields": {}, "fields of its own": {"region": "north"}}


@dataclass(frozen=True, slots=True)
class ToldAgain:
    """What the ledger of one warehouse says of dumps that tell events again, each read on its own;
    and how many messages were unexplained after each ingest.
    """

    events: dict[str, tuple[int, int]]  # told and rejected, by the name of the dump
    unexplained: list[list[tuple[int]]]


@pytest.fixture(scope="module")
def told_again(tmp_path_factory: pytest.TempPathFactory) -> ToldAgain:
    folder = tmp_path_factory.mktemp("told_again")
    settings = write_text(
        folder / "ett.toml",
        '[[training_log]]\nname = "ours"\nmeans = "failure"\ncontains = ["glurp"]\n'
        'pattern = "glurp of"\n',
    )
    warehouse = folder / "warehouse"
    unexplained = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETT_CONFIG", str(settings))
        patch.setattr(loader, "_TOGETHER_BYTES", 0)
        stories = (events_beside_others, change, other_words, growing_text)
        for told in zip_longest(*(story(folder) for story in stories), fillvalue=[]):
            ingest(warehouse, *chain.from_iterable(told))
            unexplained.append(rows(warehouse, "select count from unmatched_messages"))
    ledger = rows(warehouse, "select file, events, rejected from ingested_files")
    return ToldAgain({Path(file).stem: (new, bad) for file, new, bad in ledger}, unexplained)


def events_beside_others(folder: Path) -> Iterator[list[Path]]:
    def told(case: str) -> list[Fields]:
        return [
            alive(f"{case} nested", message={"a": [1, 2.50, "x/y", None]}),
            alive(f"{case} number", name=1.0, host=1e3),
            alive(f"{case} escaped", message='tab\t"quoted" \u2028 \\ / é'),
            alive(f"{case} true", stage=True),
            alive(f"{case} plain"),
        ]

    # no field of its own may stand in the dumps beside but in those of its case
    yield [write_dump(folder / f"{case} alone.jsonl", told(case)) for case in MORE]
    known, own = (
        write_dump(folder / f"{case} beside.jsonl", [*told(case), alive(f"{case} other", **more)])
        for case, more in MORE.items()
    )
    yield [known]
    yield [own, write_dump(folder / "differing.jsonl", DIFFERING)]


def change(folder: Path) -> Iterator[list[Path]]:
    change = {"ts": "2026-03-01T00:00:00Z", "event": "change", "name": "torch 2.9", "team": "ads"}
    yield [write_dump(folder / "change.jsonl", [change, change, *life("a")])]
    again = [change, change | {"name": "torch 2.10"}]
    yield [write_dump(folder / "change again.jsonl", again)]


def other_words(folder: Path) -> Iterator[list[Path]]:
    told = [
        '{"ts": "2026-03-01T00:00:00Z", "event": "alive", "job_id": "b", "step": 5, "team": "ä"}',
        '{"team":"\\u00e4","step":5.0,"job_id":"b","event":"alive","ts":"2026-03-01T01:00:00+01:00"}',
        '{"ts":1772323200,"event":"alive","job_id":"b","step":"5","team":"ä","attempt":1}',
        '{"ts":1772323200.0,"event":"alive","job_id":"b","step":5,"team":"ä","host":null}',
        '{"ts" :\t1.7723232e9, "event":"alive","job_id":"b","step":5,"team":"ä"}  ',
    ]
    yield [write_text(folder / "words.jsonl", "\n".join(told))]


NUMBERS = ("rank", "step", "samples", "exit_code", "signal", "recompiles", "gpus")
TEXTS = ("host", "user", "team", "model", "component", "allocation_id", "name", "event_id")
DIFFERING = [
    alive("c"),
    *(alive("c", **{field: 7}) for field in NUMBERS),
    *(alive("c", **{field: "7"}) for field in TEXTS),
    alive("c", attempt=7),
    alive("c", own="7"),
    alive("c", own=7),
]


def growing_text(folder: Path) -> Iterator[list[Path]]:
    lines = [f"2026-03-01T00:00:{second:02} step {second}, loss 2.0" for second in range(10, 60)]
    lines[20] = "2026-03-01T00:00:30 glurp of 7"
    log = folder / "train.log"
    for end in (30, 50):
        yield [write_text(log, "\n".join([*lines[:end], ""]))]
    yield [write_text(log, "\n".join([*lines, "2026-03-01T00:01:00 glurp of 8", ""]))]


def test_lines_that_say_the_same_in_other_words_are_one_event(told_again: ToldAgain) -> None:
    assert (1, 0) == told_again.events["words"]


@pytest.mark.parametrize("case", MORE)
def test_an_event_is_the_same_beside_events_with_fields_of_their_own(
    told_again: ToldAgain, case: str
) -> None:
    assert (5, 0) == told_again.events[f"{case} alone"]
    assert (1, 0) == told_again.events[f"{case} beside"]


def test_events_that_differ_in_one_field_only_are_all_kept(told_again: ToldAgain) -> None:
    assert (len(DIFFERING), 0) == told_again.events["differing"]


def test_of_two_tellings_under_one_event_id_the_same_stays_in_either_order(
    both_ways: BothWays,
) -> None:
    assert {} == differences(both_ways.whole, both_ways.cut_up)


def test_a_change_told_twice_is_one_change(told_again: ToldAgain) -> None:
    assert (5, 0) == told_again.events["change"]
    assert (1, 0) == told_again.events["change again"]


PLACES = (0, 17, -1)


@pytest.fixture(scope="module")
def told_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of dumps in each of which one event is told twice, and the warehouse of them all."""
    folder = tmp_path_factory.mktemp("told_twice")
    for place in PLACES:
        told = [alive(f"job {place}", second) for second in range(40)]
        write_dump(folder / f"{place}.jsonl", [*told, told[place]])
    ingest(folder / "warehouse", *(folder / f"{place}.jsonl" for place in PLACES))
    return folder


@pytest.mark.parametrize("at_once", [1, 7, 1_000])
@pytest.mark.parametrize("place", PLACES)
def test_one_event_told_twice_among_many_is_one(
    told_twice: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    at_once: int,
    place: int,
) -> None:
    """Of more events than are sorted at once, too."""
    monkeypatch.setattr(store, "_SORTED_AT_ONCE", at_once)
    dump = told_twice / f"{place}.jsonl"
    ingest(tmp_path, "--dry-run", dump)

    assert capsys.readouterr().out.startswith("would load 40 events of 1 job from 1 file")
    assert [(40,)] == rows(
        told_twice / "warehouse", "select events from ingested_files where file = ?", [str(dump)]
    )


def test_a_log_that_grew_counts_its_half_written_line_once_it_is_whole(both_ways: BothWays) -> None:
    cut_up = both_ways.cut_up

    assert {} == differences(both_ways.whole, cut_up)
    assert [(11, "not_json")] == rows(cut_up, "select line_number, reason from rejected_lines")
    assert [(1,)] == rows(cut_up, "select sum(rejected) from ingested_files")


def test_an_unexplained_message_of_a_text_that_grew_counts_once(told_again: ToldAgain) -> None:
    *_, grown, with_another = told_again.unexplained

    assert [(1,)] == grown
    assert [(2,)] == with_another


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
