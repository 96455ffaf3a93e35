"""Large dumps that are surely new are loaded while their identity is still computed."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from ingest import dumps, ledger, loader, usual, usual_lines
from ingest.errors import UnreadableDump
from tests.ingest.warehouses import kept
from tests.queries.engine import ingest

_LOADED = "select file, events, sha256 from files where starts_with(file, ?) order by file_no"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def let_every_dump_be_large(patch: pytest.MonkeyPatch) -> None:
    assert usual.is_ready(), "run `make install`: it compiles what is tested here"
    patch.setattr(usual, "_FEWEST_BYTES", 0)
    patch.setattr(loader, "_TOGETHER_BYTES", 0)


@pytest.fixture(autouse=True)
def every_dump_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    let_every_dump_be_large(monkeypatch)


def dump(path: Path, job: str, steps: int) -> Path:
    told = [
        {"ts": 1_772_323_200 + step, "event": "progress", "job_id": job, "step": step}
        for step in range(steps)
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in told), encoding="utf-8")
    return path


def files(folder: Path) -> list[tuple[Any, ...]]:
    """What the ledger of a folder's warehouse says of the dumps in the folder."""
    return kept(folder / "warehouse", _LOADED, [f"{folder}/"])


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Two ingests of dumps that are told of folder by folder, and whose identity was not awaited.

    No dump is as long as one of another folder.
    """

    folder: Path
    beside: list[Path]
    said: list[str]

    def files(self, folder: str) -> list[tuple[Any, ...]]:
        return kept(self.folder / "warehouse", _LOADED, [f"{self.folder / folder}/"])

    def not_awaited(self, folder: str) -> list[str]:
        return [path.name for path in self.beside if path.parent.name == folder]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder = tmp_path_factory.mktemp("beside")
    for name in ("new", "as long", "twice", "grown", "marked"):
        (folder / name).mkdir()
    first = [
        dump(folder / "new" / "a", "a", 50),
        dump(folder / "new" / "b", "b", 70),
        dump(folder / "as long" / "a", "c", 55),
        dump(folder / "twice" / "a", "d", 65),
        dump(folder / "twice" / "b", "d", 65),
        dump(folder / "grown" / "a", "e", 75),
        dump(folder / "marked" / "a", "f", 85),
    ]
    first[-1].write_bytes(BYTE_ORDER_MARK + first[-1].read_bytes())
    begun: list[Path] = []
    found = dumps.fingerprint_beside

    def noted(file: dumps.DumpFile) -> dumps.Fingerprint:
        begun.append(file.path)
        return found(file)

    def said(*given: Path) -> str:
        with redirect_stdout(StringIO()) as out:
            assert 0 == ingest(folder / "warehouse", *given)
        return out.getvalue()

    with pytest.MonkeyPatch.context() as patch:
        let_every_dump_be_large(patch)
        patch.setattr(dumps, "fingerprint_beside", noted)
        told = [said(*first)]
        second = [
            dump(folder / "as long" / "b", "c", 55),
            dump(folder / "as long" / "c", "g", 55),
            dump(folder / "grown" / "a", "e", 95),
        ]
        told.append(said(*second))
    return Loaded(folder, begun, told)


def test_the_ledger_knows_each_by_all_of_its_bytes(loaded: Loaded) -> None:
    paths = [loaded.folder / "new" / name for name in "ab"]

    assert ["a", "b"] == loaded.not_awaited("new")
    assert [(str(path), steps, digest(path)) for path, steps in zip(paths, (50, 70), strict=True)] \
        == loaded.files("new")  # fmt: skip


def test_a_dump_as_long_as_a_known_one_is_read_first(loaded: Loaded) -> None:
    first, again, other = (loaded.folder / "as long" / name for name in "abc")

    assert ["a"] == loaded.not_awaited("as long")
    assert f"left aside {again}: it is loaded already" in loaded.said[1]
    assert [str(first), str(other)] == [row[0] for row in loaded.files("as long")]


def test_dumps_of_one_length_may_be_one_dump_twice(loaded: Loaded) -> None:
    first, twice = (loaded.folder / "twice" / name for name in "ab")

    assert [] == loaded.not_awaited("twice")
    assert f"left aside {twice}: it has the content of another one" in loaded.said[0]
    assert [(str(first), 65, digest(first))] == loaded.files("twice")


def test_of_a_log_that_grew_what_is_new_counts(loaded: Loaded, tmp_path: Path) -> None:
    log = loaded.folder / "grown" / "a"
    first = digest(dump(tmp_path / "a", "e", 75))

    assert ["a"] == loaded.not_awaited("grown")
    assert [(str(log), 75, first), (str(log), 20, digest(log))] == loaded.files("grown")


def test_a_byte_order_mark_is_no_part_of_the_first_line(loaded: Loaded) -> None:
    marked = loaded.folder / "marked" / "a"

    assert [(str(marked), 85, digest(marked))] == loaded.files("marked")


@pytest.mark.parametrize("held", [1.0, 0], ids=["held", "in a table"])
def test_a_dump_that_cannot_be_read_to_its_end_is_left_aside(
    held: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good, bad = dump(tmp_path / "good", "good", 50), dump(tmp_path / "bad", "bad", 70)
    marked = dump(tmp_path / "marked", "marked", 90)
    marked.write_bytes(BYTE_ORDER_MARK + marked.read_bytes())
    monkeypatch.setattr(usual, "_HELD_SHARE", held)
    broken = break_off(monkeypatch, bad, marked)

    status = ingest(tmp_path / "warehouse", bad, marked, good)

    said = capsys.readouterr().out
    assert [str(bad)] == broken
    assert 0 == status
    for path in (bad, marked):
        assert f"{path} cannot be read: [Errno 5] Input/output error" in said
    assert [(str(good), 50, digest(good))] == files(tmp_path)


def test_where_no_dump_can_be_read_to_its_end_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = dump(tmp_path / "bad", "bad", 70)
    break_off(monkeypatch, bad)

    status = ingest(tmp_path / "warehouse", bad)

    assert 2 == status
    assert f"{bad} cannot be read: [Errno 5] Input/output error" in capsys.readouterr().out
    assert [] == files(tmp_path)


def test_what_breaks_off_after_it_was_taken_is_left_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = dump(tmp_path / "good", "good", 50), dump(tmp_path / "bad", "bad", 70)
    found = usual_lines.read
    break_off(monkeypatch, bad)
    monkeypatch.setattr(usual_lines, "read", found)

    assert 0 == ingest(tmp_path / "warehouse", bad, good)
    assert [(str(good), 50, digest(good))] == files(tmp_path)


def test_what_fails_beside_is_told_to_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: object) -> str:
        raise MemoryError

    monkeypatch.setattr(dumps, "_digest", failing)
    path = dump(tmp_path / "a", "a", 50)
    beside = dumps.fingerprint_beside(dumps.DumpFile("a", path, path.stat().st_size, "none"))

    with pytest.raises(MemoryError):
        beside.wait()


def break_off(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> list[str]:
    """Let files fail in the middle, as a disk or a mount does, for both who read them. Gives a
    file's name once it did.
    """
    broken_off: list[str] = []
    read, read_beside = usual_lines.read, dumps._read_beside

    def broken(streams: Any, *arguments: Any) -> Any:
        begun: list[str] = []

        def noted() -> Any:
            for stream in streams:
                begun.append(os.path.realpath(stream.raw.name))
                yield stream

        for batch in read(noted(), *arguments):
            yield batch
            if failed := [str(path) for path in paths if str(path) in begun]:
                broken_off.extend(failed)
                raise OSError(5, "Input/output error")

    def broken_beside(file: dumps.DumpFile, told: Any) -> None:
        if file.path in paths:
            why = f"{file.path} cannot be read: [Errno 5] Input/output error"
            told.set_exception(UnreadableDump(why))
        else:
            read_beside(file, told)

    monkeypatch.setattr(usual_lines, "read", broken)
    monkeypatch.setattr(dumps, "_read_beside", broken_beside)
    return broken_off


@pytest.mark.timeout(60)
def test_who_interrupts_waits_for_no_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(usual_lines, "read", interrupted)
    monkeypatch.setattr(dumps, "_read_beside", lambda *_: None)

    assert 130 == ingest(tmp_path / "warehouse", dump(tmp_path / "a", "a", 50))
    assert "What was committed stays" in capsys.readouterr().err


@pytest.mark.parametrize("together", [True, False], ids=["small", "large"])
def test_a_dump_that_vanishes_is_left_aside_alone(
    together: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if together:
        monkeypatch.undo()  # small ones are loaded together
    paths = [dump(tmp_path / name, name, steps) for name, steps in (("a", 50), ("b", 60))]
    number = ledger.number

    def numbered(*arguments: Any) -> Any:
        for one in arguments[2]:
            one.fingerprint.wait()
        paths[1].unlink()
        return number(*arguments)

    monkeypatch.setattr(ledger, "number", numbered)

    assert 0 == ingest(tmp_path / "warehouse", *paths)
    said = capsys.readouterr().out
    assert f"{paths[1]} cannot be opened" in said
    assert f"{paths[0]} cannot" not in said
    assert [(str(paths[0]), 50, digest(paths[0]))] == files(tmp_path)
