"""Usual lines of large or many `events` dumps become columns at once; DuckDB gets the others.

What a line means is said by `ingest.fields`: of whatever is not just as dumps usually write it,
nothing is concluded here (docs/adr/0013). Touches no database. Imported where much is read.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest import fields, usual_kernel
from ingest.dumps import LONGEST_LINE, KeyMarks
from ingest.explain import Positions
from ingest.usual_kernel import ABSENT, NEVER

_BLOCK = 4 * 1024 * 1024  # its columns fit in a processor's cache
_WORKERS = 2
_AHEAD = 2 * _WORKERS  # blocks that are taken apart before they are asked for
_LONGEST = LONGEST_LINE  # no block is longer than itself and such a line
_SHORTEST = 40  # no usual line is shorter


class NotUsual(Exception):
    """Most of the first lines are not usual, or one is longer than any line may be."""


class LeftOver:
    """The lines of a dump that nothing was concluded from, in a file of their own: in none where
    there are none.

    `key_marks`: how many JSON keys they could hold, if that is known.
    """

    def __init__(self, file_no: int, path: Path) -> None:
        self.file_no = file_no
        self.path = path
        self._marks = KeyMarks()
        self._numbers: list[Positions] = []
        self._seen = 0

    @property
    def key_marks(self) -> int | None:
        return self._marks.found

    @property
    def is_empty(self) -> bool:
        return not self._numbers

    def numbers(self) -> Positions:
        """Of each of the lines, which line of the dump it is, from 1."""
        return np.concatenate(self._numbers) if self._numbers else np.empty(0, np.int64)

    def add(self, taken: _Taken) -> None:
        """What is left over of the dump's next block."""
        if taken.left:
            with self.path.open("ab") as file:
                file.write(taken.left)
            self._marks.count(taken.left)
            self._numbers.append(taken.numbers + (self._seen + 1))
        self._seen += taken.lines


def load() -> None:
    """Ask for all of the kernel once: what was compiled is loaded, what was not is compiled."""
    line = b'{"ts":1767225600,"event":"alive","job_id":"a","event_id":"1","stage":"b"}\n'
    _taken_apart(np.frombuffer(bytearray(line), np.uint8), fields.EARLIEST_US, True)


def read(
    streams: Iterable[BinaryIO],
    left_overs: Sequence[LeftOver],
    latest_us: int,
    more: list[pa.RecordBatch] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The usual lines of dumps that say no more than plain events do, as batches of the columns of
    `SCHEMA`, in order; of several dumps with `FILE_NO` behind them. Each is asked for when the one
    before it was read.

    Those that say more go to `more`, as batches of `MORE`; where there is none, and whatever is not
    usual, to the `left_overs` of its dump. Raises NotUsual, before the first batch where the first
    lines show it, and OSError.
    """
    is_first = True
    with ThreadPoolExecutor(max_workers=_WORKERS) as workers:
        for place, taken in _in_order(streams, workers, latest_us, more is not None):
            if is_first and len(taken.numbers) > taken.rows:
                raise NotUsual
            is_first = False
            left_overs[place].add(taken)
            file_no = left_overs[place].file_no if len(left_overs) > 1 else None
            if more is not None:
                more += _numbered(taken.more, file_no)
            yield from _numbered(taken.batches, file_no)


def _numbered(batches: Iterable[pa.RecordBatch], file_no: int | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if file_no is None:
            yield batch
        else:
            number = pa.repeat(pa.scalar(file_no, FILE_NO.type), batch.num_rows)
            yield batch.append_column(FILE_NO, number)


FILE_NO = pa.field("file_no", pa.int32())
_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("at_us", pa.int64()),
        ("end_us", pa.int64()),
        ("event", pa.int8()),
        ("job_key", _DICTIONARY),
        ("attempt", pa.int64()),
        ("event_id", pa.string()),
        ("phase", pa.int8()),
        ("stage", _DICTIONARY),
        ("rank", pa.int64()),
        ("step", pa.int64()),
        ("mode", pa.int8()),
        ("ok", pa.int8()),
        ("samples", pa.int64()),
    ]
)
MORE = pa.schema(
    [
        *SCHEMA,
        *((field, pa.string()) for field in usual_kernel.TEXTS),
        *((field, pa.int64()) for field in usual_kernel.NUMBERS),
        ("cache", pa.int8()),
        ("outcome", pa.int8()),
    ]
)


class _Taken(NamedTuple):
    """A block that was taken apart. `numbers`: of its lines that are left over, from 0."""

    batches: list[pa.RecordBatch]
    more: list[pa.RecordBatch]
    rows: int
    left: bytes
    numbers: Positions
    lines: int


def _in_order(
    streams: Iterable[BinaryIO], workers: ThreadPoolExecutor, latest_us: int, takes_more: bool
) -> Iterator[tuple[int, _Taken]]:
    """Blocks that were taken apart, and of which stream each is."""
    spare: list[bytearray] = []
    begun: deque[tuple[int, bytearray, Future[_Taken]]] = deque()
    for place, stream in enumerate(streams):
        for room, end in _blocks(stream, spare):
            text = np.frombuffer(room, np.uint8, end)
            begun.append((place, room, workers.submit(_taken_apart, text, latest_us, takes_more)))
            if len(begun) > _AHEAD:
                of, room, taken = begun.popleft()
                yield of, taken.result()
                spare.append(room)
    for of, _, taken in begun:
        yield of, taken.result()


def _blocks(stream: BinaryIO, spare: list[bytearray]) -> Iterator[tuple[bytearray, int]]:
    """The stream in blocks that end where a line ends: the room each is in, and how long it is.

    Room that is `spare` is used again: the system gives new room at a price.
    """
    rest = b""
    while True:
        room = spare.pop() if spare else bytearray(_BLOCK)
        if len(rest) >= len(room):
            room = bytearray(2 * len(rest))
        room[: len(rest)] = rest
        # as typeshed has it, a stream of bytes need not be able to do this
        filled = len(rest) + stream.readinto(memoryview(room)[len(rest) :])  # type: ignore[attr-defined]
        if filled == len(rest):
            break
        end = room.rfind(b"\n", 0, filled) + 1
        rest = bytes(memoryview(room)[end:filled])
        if len(rest) > _LONGEST:
            raise NotUsual
        if end:
            yield room, end
        else:
            spare.append(room)
    if rest:
        yield bytearray(rest + b"\n"), len(rest) + 1


class _Rows:
    """Room for rows that one thread fills again and again, and what `take_apart` fills of them."""

    def __init__(self, rows: int, numbers: int, choices: int, places: int) -> None:
        self.times = np.empty((2, rows), np.int64)
        self.numbers = np.empty((numbers, rows), np.int64)
        self.choices = np.empty((choices, rows), np.int8)
        self.places = np.empty((places, rows), np.int64)

    @property
    def all(self) -> tuple[npt.NDArray[Any], ...]:
        return self.times, self.numbers, self.choices, self.places


class _Room(threading.local):
    """What one thread fills again and again."""

    def __init__(self, rows: int) -> None:
        texts, numbers = len(usual_kernel.TEXTS), len(usual_kernel.NUMBERS)
        self.plain = _Rows(rows, 4, 4, 9)
        self.more = _Rows(rows, 4 + numbers, 6, 6 + 2 * texts)
        self.members = (
            np.empty(usual_kernel.MEMBERS, np.int64),
            np.empty(usual_kernel.MEMBERS, np.int64),
            np.empty(usual_kernel.MEMBERS, np.int8),
        )
        self.slots = np.empty(1 << (rows.bit_length() + 1), np.int32)
        self.firsts = np.empty(rows, np.int64)


_ROOM = _Room(_BLOCK // _SHORTEST)
_NOTHING = pa.py_buffer(bytes(8 * (_BLOCK // _SHORTEST)))  # a column in which every value is absent


def _taken_apart(text: npt.NDArray[np.uint8], latest_us: int, takes_more: bool) -> _Taken:
    batches: list[pa.RecordBatch] = []
    more: list[pa.RecordBatch] = []
    numbers: list[Positions] = []
    left: list[pa.Buffer] = []
    room = _ROOM
    at = rows = lines = 0
    while at < len(text):
        filled, filled_more, over, passed, at = usual_kernel.take_apart(
            text, at, latest_us, takes_more, *room.members, *room.plain.all, *room.more.all
        )
        batches.append(pa.record_batch(_columns(text, room.plain, filled), schema=SCHEMA))
        if filled_more:
            more.append(_more(text, room.more, filled_more))
        begins, lengths, places = room.plain.places[6:9, :over]
        left.append(_gathered(text, begins, lengths)[1])
        numbers.append(places + lines)
        rows += filled + filled_more
        lines += passed
    return _Taken(batches, more, rows, b"".join(left), np.concatenate(numbers), lines)


def _columns(text: npt.NDArray[np.uint8], room: _Rows, rows: int) -> list[pa.Array]:
    """Those of `SCHEMA`."""
    at, end = room.times[:, :rows]
    attempt, rank, step, samples = room.numbers[:4, :rows]
    event, phase, mode, ok = room.choices[:4, :rows]
    places = room.places[:, :rows]
    return [
        _column(at, NEVER),
        _column(end, NEVER),
        _column(event, ABSENT),
        _few_texts(text, places[0], places[1]),
        _column(attempt, ABSENT),
        _own_texts(text, places[2], places[3]),
        _column(phase, ABSENT),
        _few_texts(text, places[4], places[5]),
        _column(rank, ABSENT),
        _column(step, ABSENT),
        _column(mode, ABSENT),
        _column(ok, ABSENT),
        _column(samples, ABSENT),
    ]


def _more(text: npt.NDArray[np.uint8], room: _Rows, rows: int) -> pa.RecordBatch:
    texts = room.places[6:, :rows]
    return pa.record_batch(
        [
            *_columns(text, room, rows),
            *(
                _own_texts(text, begins, lengths)
                for begins, lengths in zip(texts[::2], texts[1::2], strict=True)
            ),
            *(_column(numbers, ABSENT) for numbers in room.numbers[4:, :rows]),
            *(_column(choices, ABSENT) for choices in room.choices[4:, :rows]),
        ],
        schema=MORE,
    )


def _column(values: npt.NDArray[Any], absent: int) -> pa.Array:
    kind = pa.from_numpy_dtype(values.dtype)
    found, present = _present(values, absent)
    if not found:
        return pa.Array.from_buffers(kind, len(values), [_NOTHING, _NOTHING])
    kept, copied = _allocated(len(values), values.dtype)
    copied[:] = values
    return pa.Array.from_buffers(kind, len(values), [present, kept])


def _present(values: npt.NDArray[Any], absent: int) -> tuple[int, pa.Buffer | None]:
    """How many values are not absent, and which; None: all of them."""
    kept, bits = _allocated((len(values) + 7) // 8, np.uint8)
    found = int(usual_kernel.present(values, absent, bits))
    return found, None if found == len(values) else kept


def _few_texts(text: npt.NDArray[np.uint8], begins: Positions, lengths: Positions) -> pa.Array:
    """Texts of which few are different, each told once."""
    room = _ROOM
    numbers = np.empty(len(lengths), np.int32)
    found = usual_kernel.number_texts(text, begins, lengths, room.slots, room.firsts, numbers)
    firsts = room.firsts[:found]
    return pa.DictionaryArray.from_arrays(
        _column(numbers, ABSENT), _own_texts(text, begins[firsts], lengths[firsts])
    )


def _own_texts(text: npt.NDArray[np.uint8], begins: Positions, lengths: Positions) -> pa.Array:
    found, present = _present(lengths, ABSENT)
    if not found:
        return pa.Array.from_buffers(pa.string(), len(lengths), [_NOTHING, _NOTHING, _NOTHING])
    offsets, letters = _gathered(text, begins, lengths)
    return pa.Array.from_buffers(pa.string(), len(lengths), [present, offsets, letters])


def _gathered(
    text: npt.NDArray[np.uint8], begins: Positions, lengths: Positions
) -> tuple[pa.Buffer, pa.Buffer]:
    """Texts behind one another: where each begins and the last one ends, and their letters."""
    offsets, starts = _allocated(len(lengths) + 1, np.int32)
    letters, copied = _allocated(int(np.maximum(lengths, 0).sum()), np.uint8)
    usual_kernel.gather(text, begins, lengths, starts, copied)
    return offsets, letters


def _allocated(size: int, dtype: npt.DTypeLike) -> tuple[pa.Buffer, npt.NDArray[Any]]:
    """Room of Arrow's own, which goes back to the system once nobody holds it (`release`)."""
    room = pa.allocate_buffer(size * np.dtype(dtype).itemsize)
    return room, np.frombuffer(room, dtype)


def release() -> None:
    """Give back to the system what batches held that nobody holds any more."""
    pa.default_memory_pool().release_unused()
