"""What folders, links, archives and bombs may not do: lead out, pass for a dump, fill a disk."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
import zstandard

from ingest import dumps
from ingest.errors import UnreadableDump
from ingest.unpacking import refuse_bomb
from tests.ingest.warehouses import life
from tests.queries.engine import ingest, rows, write_dump

MEGABYTE = 1024 * 1024


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    (tmp_path / "dumps").mkdir()
    return write_dump(tmp_path / "dumps" / "good.jsonl", life("good"))


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "UNPACKED_BYTES", MEGABYTE)


def jobs(warehouse: Path) -> list[str]:
    return [job for (job,) in rows(warehouse, "select job_id from jobs order by 1")]


# Links


@dataclass(frozen=True, slots=True)
class Linked:
    """An ingest of folders and files, among them links, and what it said."""

    folder: Path
    said: str

    def jobs(self, *names: str) -> list[str]:
        return [job for job in jobs(self.folder / "warehouse") if job in names]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Linked:
    folder = tmp_path_factory.mktemp("linked")
    for job in ("good", "secret", "named file", "named folder", "of the folder"):
        (folder / job).mkdir()
        write_dump(folder / job / "dump.jsonl", life(job))
    (folder / "good" / "file.jsonl").symlink_to(folder / "secret" / "dump.jsonl")
    (folder / "good" / "up.jsonl").symlink_to("../secret/dump.jsonl")
    (folder / "good" / "folder").symlink_to(folder / "secret")
    (folder / "links").mkdir()
    (folder / "links" / "file.jsonl").symlink_to(folder / "named file" / "dump.jsonl")
    (folder / "links" / "folder").symlink_to(folder / "named folder")
    (folder / "of the folder" / "a").mkdir()
    (folder / "of the folder" / "a" / "latest.jsonl").symlink_to("../dump.jsonl")
    (folder / "of the folder" / "again").symlink_to("a")
    given = ("good", "links/file.jsonl", "links/folder", "of the folder")
    with redirect_stdout(StringIO()) as out:
        assert 0 == ingest(folder / "warehouse", *(folder / path for path in given))
    return Linked(folder, out.getvalue())


def test_a_link_in_a_folder_does_not_lead_out_and_is_named(linked: Linked) -> None:
    assert ["good"] == linked.jobs("good", "secret")

    for name in ("file.jsonl", "up.jsonl", "folder"):
        place = linked.folder / "good" / name
        assert f"cannot read {place}: is a link out of its folder. Name it to read it" in (
            linked.said
        )


def test_a_link_that_is_named_is_followed(linked: Linked) -> None:
    assert ["named file", "named folder"] == linked.jobs("named file", "named folder")


def test_a_link_to_a_file_of_the_same_folder_is_that_file(linked: Linked) -> None:
    assert ["of the folder"] == linked.jobs("of the folder")
    assert f"cannot read {linked.folder / 'of the folder'}" not in linked.said


# Archives


def tar(data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        entry = tarfile.TarInfo("../../good.jsonl")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def zipped(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("good.jsonl", data)
    return made.getvalue()


ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "tar": (tar, "a tar archive"),
    "tar.gz": (lambda data: gzip.compress(tar(data)), "a tar archive"),
    "tar.zst": (lambda data: zstandard.compress(tar(data)), "a tar archive"),
    "zip": (zipped, "a zip archive"),
    "xz": (lzma.compress, "compressed with xz"),
    "bz2": (bz2.compress, "compressed with bzip2"),
    "gz.gz": (lambda data: gzip.compress(gzip.compress(data)), "compressed with gzip once more"),
    "gz.zst": (
        lambda data: zstandard.compress(zstandard.compress(data)),
        "compressed with zstd once more",
    ),
}


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("format", ["auto", "events"])
def test_an_archive_is_no_dump_and_the_next_step_is_told(
    tmp_path: Path, dump: Path, kind: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, told = ARCHIVES[kind]
    archive = tmp_path / f"dump.{kind}"
    archive.write_bytes(make(dump.read_bytes()))

    assert 2 == ingest(tmp_path / "warehouse", "--format", format, archive)

    said = capsys.readouterr().out
    assert f"left aside {archive}: it cannot be read: it is {told}. Unpack it first" in said


# Bombs


def zeros(megabytes: int) -> bytes:
    return bytes(megabytes * MEGABYTE)


def one_line(megabytes: int, job: str = "bomb") -> bytes:
    line = dump_line(job) + b"\n"
    return line * (megabytes * MEGABYTE // len(line))


def dump_line(job: str = "bomb") -> bytes:
    return json.dumps({"ts": 1_772_323_200, "event": "alive", "job_id": job}).encode()


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("fill", [zeros, one_line, lambda size: b"\n" * size * MEGABYTE])
@pytest.mark.parametrize(
    "pack",
    [
        lambda data: gzip.compress(data, 9),
        lambda data: gzip.compress(dump_line(), 9) + gzip.compress(data, 9),
        zstandard.compress,
        lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
    ],
)
def test_a_bomb_is_told_by_what_it_unpacks_to(
    tmp_path: Path, fill: Callable[[int], bytes], pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "bomb").write_bytes(pack(fill(40)))
    with pytest.raises(UnreadableDump, match=r"over 200 times its size\. If it is no bomb"):
        refuse_bomb(found(tmp_path / "bomb"))


@pytest.mark.usefixtures("small_limit")
def test_a_bomb_is_left_aside_and_the_others_load(
    tmp_path: Path, dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (dump.parent / "bomb.gz").write_bytes(gzip.compress(one_line(40), 9))
    (dump.parent / "bomb.zst").write_bytes(zstandard.compress(one_line(40)))

    assert 0 == ingest(tmp_path / "warehouse", dump.parent)
    assert ["good"] == jobs(tmp_path / "warehouse")

    said = capsys.readouterr().out
    for name in ("bomb.gz", "bomb.zst"):
        assert f"left aside {dump.parent / name}: it cannot be read: it unpacks to more" in said
    assert "raise unpacked_ratio in ett.toml" in said


@pytest.mark.usefixtures("small_limit")
def test_what_the_settings_allow_is_no_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ett.toml").write_text("unpacked_ratio = 100_000")
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))
    (tmp_path / "repeats.gz").write_bytes(gzip.compress(one_line(4, "in gzip")))
    (tmp_path / "repeats.zst").write_bytes(zstandard.compress(one_line(4, "in zstd")))

    assert 0 == ingest(tmp_path / "warehouse", *tmp_path.glob("repeats.*"))
    assert ["in gzip", "in zstd"] == jobs(tmp_path / "warehouse")


@pytest.mark.usefixtures("small_limit")
def test_a_stream_ends_where_it_has_given_all_that_its_size_allows(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(one_line(40), 9))
    file = found(bomb)
    broken: list[dumps.Truncated] = []
    told = sum(len(line) + 1 for _, line in dumps.lines(file, broken.append))

    assert file.most_unpacked - 70_000 < told <= file.most_unpacked
    assert ["the gzip stream breaks off: it unpacks to more than"] == [
        each.why[:51] for each in broken
    ]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_an_ordinary_dump_is_not_unpacked_twice(
    tmp_path: Path,
    pack: Callable[[bytes], bytes],
    monkeypatch: pytest.MonkeyPatch,
    small_limit: None,
) -> None:
    events = [event for number in range(20_000) for event in life(f"{number * 7919:x}")]
    plain = write_dump(tmp_path / "plain.jsonl", events).read_bytes()
    (tmp_path / "dump").write_bytes(pack(plain))
    file = found(tmp_path / "dump")
    monkeypatch.setattr(dumps, "opened", lambda _: pytest.fail("it was unpacked to be sure"))

    assert 5 * MEGABYTE < len(plain)
    refuse_bomb(file)


def found(path: Path) -> dumps.DumpFile:
    ((file,), _) = dumps.find([str(path)], path.parent, path.parent / "warehouse")
    return file
