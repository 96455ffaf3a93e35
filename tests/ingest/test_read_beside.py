"""Large dumps that are surely new are loaded while their identity is still computed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ingest import dumps, ledger, loader, usual, usual_lines
from ingest.errors import UnreadableDump
from tests.ingest.warehouses import kept
from tests.queries.engine import ingest

_LOADED = "select file, events, sha256 from files order by file_no"


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lets every dump be large enough; gives the names of those whose identity was not awaited."""
    assert usual.is_ready(), "run `make install`: it compiles what is tested here"
    monkeypatch.setattr(usual, "_FEWEST_BYTES", 0)
    monkeypatch.setattr(loader, "_TOGETHER_BYTES", 0)
    begun: list[str] = []
    found = dumps.fingerprint_beside

    def noted(file: dumps.DumpFile) -> dumps.Fingerprint:
        begun.append(file.path.name)
        return found(file)

    monkeypatch.setattr(dumps, "fingerprint_beside", noted)
    return begun


def dump(path: Path, job: str, steps: int) -> Path:
    told = [
        {"ts": 1_772_323_200 + step, "event": "progress", "job_id": job, "step": step}
        for step in range(steps)
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in told), encoding="utf-8")
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_ledger_knows_each_by_all_of_its_bytes(tmp_path: Path, beside: list[str]) -> None:
    paths = [dump(tmp_path / name, name, steps) for name, steps in (("a", 50), ("b", 70))]

    ingest(tmp_path / "warehouse", *paths)

    assert ["a", "b"] == beside
    assert [(str(path), steps, digest(path)) for path, steps in zip(paths, (50, 70), strict=True)] \
        == kept(tmp_path / "warehouse", _LOADED)  # fmt: skip


def test_a_dump_as_long_as_a_known_one_is_read_first(
    tmp_path: Path, beside: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, other = dump(tmp_path / "a", "a", 50), dump(tmp_path / "c", "c", 50)
    ingest(tmp_path / "warehouse", first)

    ingest(tmp_path / "warehouse", dump(tmp_path / "b", "a", 50), other)

    assert ["a"] == beside
    assert f"left aside {tmp_path / 'b'}: it is loaded already" in capsys.readouterr().out
    assert [str(first), str(other)] == [row[0] for row in kept(tmp_path / "warehouse", _LOADED)]


def test_dumps_of_one_length_may_be_one_dump_twice(
    tmp_path: Path, beside: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, twice = dump(tmp_path / "a", "a", 50), dump(tmp_path / "b", "a", 50)

    ingest(tmp_path / "warehouse", first, twice)

    assert [] == beside
    assert f"left aside {twice}: it has the content of another one" in capsys.readouterr().out
    assert [(str(first), 50, digest(first))] == kept(tmp_path / "warehouse", _LOADED)


def test_of_a_log_that_grew_what_is_new_counts(tmp_path: Path, beside: list[str]) -> None:
    log = dump(tmp_path / "a", "a", 50)
    ingest(tmp_path / "warehouse", log)

    first = digest(log)

    ingest(tmp_path / "warehouse", dump(log, "a", 60))

    assert ["a"] == beside
    assert [(str(log), 50, first), (str(log), 10, digest(log))] == kept(
        tmp_path / "warehouse", _LOADED
    )


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "marked"])
@pytest.mark.parametrize("held", [1.0, 0], ids=["held", "in a table"])
def test_a_dump_that_cannot_be_read_to_its_end_is_left_aside(
    held: float,
    mark: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good, bad = dump(tmp_path / "good", "good", 50), dump(tmp_path / "bad", "bad", 70)
    bad.write_bytes(mark + bad.read_bytes())
    monkeypatch.setattr(usual, "_HELD_SHARE", held)
    broken = break_off(monkeypatch, bad)

    status = ingest(tmp_path / "warehouse", bad, good)

    said = capsys.readouterr().out
    assert ([] if mark else [str(bad)]) == broken
    assert 0 == status
    assert f"{bad} cannot be read: [Errno 5] Input/output error" in said
    assert [(str(good), 50, digest(good))] == kept(tmp_path / "warehouse", _LOADED)


def test_where_no_dump_can_be_read_to_its_end_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = dump(tmp_path / "bad", "bad", 70)
    break_off(monkeypatch, bad)

    status = ingest(tmp_path / "warehouse", bad)

    assert 2 == status
    assert f"{bad} cannot be read: [Errno 5] Input/output error" in capsys.readouterr().out
    assert [] == kept(tmp_path / "warehouse", _LOADED)


def test_what_breaks_off_after_it_was_taken_is_left_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = dump(tmp_path / "good", "good", 50), dump(tmp_path / "bad", "bad", 70)
    found = usual_lines.read
    break_off(monkeypatch, bad)
    monkeypatch.setattr(usual_lines, "read", found)

    assert 0 == ingest(tmp_path / "warehouse", bad, good)
    assert [(str(good), 50, digest(good))] == kept(tmp_path / "warehouse", _LOADED)


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path, beside: list[str]) -> None:
    marked = dump(tmp_path / "a", "a", 50)
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes())

    assert 0 == ingest(tmp_path / "warehouse", marked)
    assert [(str(marked), 50, digest(marked))] == kept(tmp_path / "warehouse", _LOADED)


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


def break_off(monkeypatch: pytest.MonkeyPatch, path: Path) -> list[str]:
    """Let a file fail in the middle, as a disk or a mount does, for both who read it. Gives the
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
            if str(path) in begun:
                broken_off.append(str(path))
                raise OSError(5, "Input/output error")

    def broken_beside(file: dumps.DumpFile, told: Any) -> None:
        if file.path == path:
            why = f"{path} cannot be read: [Errno 5] Input/output error"
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
    assert [(str(paths[0]), 50, digest(paths[0]))] == kept(tmp_path / "warehouse", _LOADED)
