"""The files of an ingest as bytes: found once, known by content, read as far as they go."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from pathlib import Path

import pytest
import zstandard

from ingest import dumps
from ingest.errors import UnusableArguments

LINES = b"".join(b"line %d of a log, and some words to fill it\n" % n for n in range(200_000))
# a frame of what is no content: pzstd begins with one
SKIPPED = b"\x50\x2a\x4d\x18\x04\x00\x00\x00...."


def found(folder: Path, *arguments: object) -> list[dumps.DumpFile]:
    files, unreadable = dumps.find(map(str, arguments), folder / "spool", folder / "warehouse")

    assert [] == unreadable

    return files


def one(folder: Path, data: bytes, name: str = "dump") -> dumps.DumpFile:
    (folder / name).write_bytes(data)
    [file] = found(folder, folder / name)
    return file


def read(file: dumps.DumpFile) -> tuple[list[tuple[int, bytes]], list[dumps.Truncated]]:
    broken: list[dumps.Truncated] = []
    return list(dumps.lines(file, broken.append)), broken


def test_a_folder_gives_its_files_in_order_but_no_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a", "c", ".hidden"):
        (tmp_path / "given" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "given" / name).write_text(name)
    names = [file.name for file in found(tmp_path, tmp_path / "given")]

    assert [str(tmp_path / "given" / name) for name in ("a", "c", "b/1", "b/2")] == names


@pytest.mark.parametrize(
    ("data", "compression"),
    [
        (b"", "none"),
        (b"\x1f", "none"),
        (b"{}", "none"),
        (gzip.compress(b"{}", mtime=0), "gzip"),
        (zstandard.compress(b"{}"), "zstd"),
        (SKIPPED + zstandard.compress(b"{}"), "zstd"),
    ],
)
def test_compression_is_told_by_content(tmp_path: Path, data: bytes, compression: str) -> None:
    assert compression == one(tmp_path, data, "dump.gz").compression


def test_an_empty_argument_is_not_this_folder(tmp_path: Path) -> None:
    with pytest.raises(UnusableArguments, match="a path is empty"):
        dumps.find([""], tmp_path, tmp_path / "warehouse")


def test_a_fingerprint_is_the_hash_of_the_bytes_and_of_its_beginnings(tmp_path: Path) -> None:
    file = one(tmp_path, LINES)
    lengths = [1, 1, 77, 77, 1_048_576, 1_048_577, len(LINES), len(LINES) + 1, 0]
    fingerprint = dumps.fingerprint(file, lengths)

    assert hashlib.sha256(LINES).hexdigest() == fingerprint.sha256
    assert {
        length: hashlib.sha256(LINES[:length]).hexdigest()
        for length in (1, 77, 1_048_576, 1_048_577, len(LINES))
    } == fingerprint.prefixes


def test_a_file_that_grows_while_it_is_read_counts_as_it_was_found(tmp_path: Path) -> None:
    file = one(tmp_path, b"first\n")
    with file.path.open("ab") as stream:
        stream.write(b"second\n")

    assert hashlib.sha256(b"first\n").hexdigest() == dumps.fingerprint(file).sha256


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (b'{"a":1,"b": {"c":"x"}}\n', 3),
        (b'{"a": "12:30"}\n{"a" : 1}\n', None),
        (b'{"a":"b : c"}\n', 1),
        (b'{"a"\t\t:1}\n', None),
        (b"x" * 1_048_575 + b'":', 1),
        (b"x" * 1_048_575 + b'" :', None),
        (b"x" * 1_048_574 + b'" :', None),
        (b"x" * 1_048_573 + b' :x":', 1),
        (b"x" * 1_048_570 + b'"' + b" " * 100 + b":", None),
        (b"x" * 1_048_500 + b" " * 100 + b':":', None),  # where what stands before is not seen
        (b"", 0),
    ],
    ids=range(11),
)
def test_key_marks_count_every_key_or_are_not_known(
    tmp_path: Path, text: bytes, marks: int | None
) -> None:
    assert marks == dumps.fingerprint(one(tmp_path, text)).key_marks


@pytest.mark.parametrize(
    ("data", "needs_mending"),
    [
        (LINES[:99], False),
        (b"\xef\xbb\xbf" + LINES[:99], True),
        (gzip.compress(b"\xef\xbb\xbf" + LINES[:99], mtime=0), True),
        (gzip.compress(LINES[:99], mtime=0), False),
        (zstandard.compress(LINES), False),
        (zstandard.ZstdCompressor(write_checksum=True).compress(LINES), False),
        (zstandard.ZstdCompressor(write_checksum=True).compress(LINES)[:-1], True),
        (zstandard.compress(b"x" * 9_000_000), False),
        (zstandard.compress(LINES) + zstandard.compress(LINES[:99]), False),
        (zstandard.compress(LINES)[:-1], True),
        (zstandard.compress(LINES)[:5_000], True),
        (zstandard.compress(LINES) + zstandard.compress(LINES[:99])[:-1], True),
        ((SKIPPED + zstandard.compress(LINES)) * 2 + SKIPPED, False),
        (SKIPPED + zstandard.compress(LINES)[:-1], True),
        (zstandard.compress(LINES) + SKIPPED[:-1], True),
    ],
    ids=range(15),
)
def test_what_other_readers_would_read_wrongly_needs_mending(
    tmp_path: Path, data: bytes, needs_mending: bool
) -> None:
    assert needs_mending == dumps.fingerprint(one(tmp_path, data)).needs_mending


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_lines_are_numbered_and_come_without_their_ends(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    text = b"\xef\xbb\xbffirst\r\n\n \nlast\r"

    assert ([(1, b"first"), (2, b""), (3, b" "), (4, b"last")], []) == read(
        one(tmp_path, pack(text))
    )


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.99])
def test_lines_before_a_break_are_all_there_and_the_break_is_told(
    tmp_path: Path, pack: object, share: float
) -> None:
    assert callable(pack)
    packed = pack(LINES)
    told, broken = read(one(tmp_path, packed[: int(len(packed) * share)]))
    whole = LINES.split(b"\n")

    assert whole[: len(told) - 1] == [line for _, line in told[:-1]]
    assert whole[len(told) - 1].startswith(told[-1][1])
    assert len(told) > share * 0.7 * len(whole)
    assert [len(told)] == [one.line_number for one in broken]
    assert "stream breaks off" in broken[0].why


def test_a_line_over_the_limit_comes_as_its_first_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "LONGEST_LINE", 10)
    text = b"0123456789\n0123456789x\n" + b"y" * 35 + b"\nshort\n" + b"z" * 22

    assert (
        [
            (1, b"0123456789"),
            (2, b"0123456789x"),
            (3, b"y" * 11),
            (4, b"short"),
            (5, b"z" * 11),
        ],
        [],
    ) == read(one(tmp_path, text))


def test_the_head_goes_past_a_long_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "LONGEST_LINE", 200_000)
    fitting, too_long = b"f" * 150_000 + b"\n", b"t" * 500_000 + b"\n"

    assert fitting + b"next\n" == dumps.head(one(tmp_path, fitting + b"next\n"))
    assert b"t" * dumps.HEAD_BYTES + b"\nnext\n" == dumps.head(one(tmp_path, too_long + b"next\n"))
    assert dumps.HEAD_BYTES == len(dumps.head(one(tmp_path, LINES)))


@pytest.mark.parametrize(
    "data", [b"", gzip.compress(b"", mtime=0), b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"]
)
def test_the_head_of_what_gives_nothing_is_empty(tmp_path: Path, data: bytes) -> None:
    assert b"" == dumps.head(one(tmp_path, data))


def test_a_count_of_key_marks_is_the_number_of_keys_or_no_number_at_all() -> None:
    """However the blocks fall: a wrong count would hide a field of a dump's own."""
    chance = random.Random(1)
    names = [*"abefgh", 'c"', "d\\"]
    values = [1, 'x":y', *["plain"] * 9, '\\":', " : ", 'q\\\\":z', "\t:"]
    styles = [(",", ":"), (", ", ": "), (",", " : ")]
    counted = 0
    for _ in range(2_000):
        rows = [
            {chance.choice(names): chance.choice(values) for _ in range(3)}
            for _ in range(chance.randint(1, 6))
        ]
        style = chance.choice(styles)
        text = "\n".join(json.dumps(row, separators=style) for row in rows).encode()
        marks = dumps.KeyMarks()
        at = 0
        while at < len(text):
            size = chance.randint(1, 40)
            marks.count(text[at : at + size])
            at += size

        assert marks.found in (None, sum(len(row) for row in rows))
        counted += marks.found is not None
    assert counted > 50
