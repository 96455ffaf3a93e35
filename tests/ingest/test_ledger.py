"""What is remembered of every dump, so that it loads once under any name."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ingest import plan
from tests.ingest.test_training_log_collector import MEGATRON
from tests.ingest.warehouses import alive, differences, kept, life
from tests.queries.engine import ingest, rows, write_dump


def test_every_dump_stands_in_the_ledger_as_it_was(tmp_path: Path) -> None:
    dump = tmp_path / "dump.gz"
    dump.write_bytes(gzip.compress(json.dumps(alive("a")).encode() + b"\nbroken\n"))
    ingest(tmp_path / "warehouse", "--cluster", "c1", dump)

    assert [(str(dump), "events", "c1", dump.stat().st_size, 1, 1, True)] == rows(
        tmp_path / "warehouse",
        "select file, format, cluster, bytes, events, rejected, length(sha256) = 64 "
        "from ingested_files",
    )


def test_the_ledger_counts_what_a_dump_told_beside_what_was_new(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    for number in (2, 3):
        dump = write_dump(tmp_path / f"{number}.jsonl", [alive(f"job {n}") for n in range(number)])
        dump.write_text(dump.read_text() + "broken\n")
        ingest(warehouse, dump)

    assert [(2, 2, 1), (1, 3, 1)] == rows(
        warehouse, "select events, told, rejected from ingested_files order by file_no"
    )
    assert [(3, 5, 2)] == rows(warehouse, "select events, told, rejected from sources")


def test_what_a_log_told_before_it_grew_it_did_not_tell_twice(tmp_path: Path) -> None:
    warehouse, log = tmp_path / "warehouse", tmp_path / "log.jsonl"
    for number in (2, 3):
        write_dump(log, [alive(f"job {n}") for n in range(number)])
        ingest(warehouse, log)

    assert [(3, 3)] == rows(warehouse, "select events, told from sources")


def test_a_dump_that_is_known_is_told_with_its_first_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = write_dump(tmp_path / "dump.jsonl", life("a"))
    ingest(tmp_path / "warehouse", dump)
    status = ingest(tmp_path / "warehouse", dump.rename(tmp_path / "renamed.jsonl"))
    said = capsys.readouterr().out

    assert 0 == status
    assert f"left aside {tmp_path / 'renamed.jsonl'}: it is loaded already, as events" in said
    assert str(tmp_path / "dump.jsonl") in said
    assert 1 == len(rows(tmp_path / "warehouse", "from ingested_files"))


def test_a_log_that_is_written_anew_to_the_same_length_is_another_dump(tmp_path: Path) -> None:
    log, warehouse = tmp_path / "log.jsonl", tmp_path / "warehouse"
    for jobs in ("a", "b", "bc", "bd"):
        write_dump(log, (alive(job) for job in jobs))
        ingest(warehouse, log)
    with log.open("a") as file:
        file.write(json.dumps(alive("e", own=1)) + "\n")
    ingest(warehouse, log)

    assert [("a",), ("b",), ("c",), ("d",), ("e",)] == rows(
        warehouse, "select job_id from jobs order by 1"
    )
    assert [('{"own":1}',)] == kept(warehouse, "select attrs from events where attrs is not null")


def test_a_log_that_grew_is_known_whole(tmp_path: Path) -> None:
    log, warehouse = tmp_path / "log.jsonl", tmp_path / "warehouse"
    for _ in range(3):
        with log.open("a") as file:
            file.write(json.dumps(alive("a", log.stat().st_size)) + "\n")
            file.write("broken\n")
        ingest(warehouse, log)

    assert [(1, 0), (1, 0), (1, 3)] == rows(
        warehouse, "select events, rejected from ingested_files order by bytes"
    )
    assert [(2,), (4,), (6,)] == rows(warehouse, "select line_number from rejected_lines")


def test_a_text_that_grew_tells_what_it_would_have_told_whole(tmp_path: Path) -> None:
    log = tmp_path / "train" / "megatron.log"
    log.parent.mkdir()
    # up to a save whose end is not there yet
    log.write_text(MEGATRON[: MEGATRON.index("  successfully saved")], encoding="utf-8")
    ingest(tmp_path / "grown", log)
    log.write_text(MEGATRON, encoding="utf-8")
    for warehouse in ("grown", "whole"):
        ingest(tmp_path / warehouse, log)

    assert {} == differences(tmp_path / "whole", tmp_path / "grown")
    assert rows(tmp_path / "whole", "select file, events from ingested_files") == rows(
        tmp_path / "grown", "select file, events from ingested_files"
    )


HALF = MEGATRON[: MEGATRON.index("  successfully saved")]


@pytest.mark.parametrize(("content", "half"), [(MEGATRON, HALF), ("", "")])
def test_a_log_that_grew_is_known_from_whatever_folder_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, half: str
) -> None:
    native = [json.dumps(event) + "\n" for event in life("a")]
    log, warehouse = tmp_path / "runs" / "x.log", tmp_path / "warehouse"
    log.parent.mkdir()
    log.write_text(half or native[0])
    ingest(warehouse, log)
    log.write_text(content or "".join(native))
    monkeypatch.chdir(log.parent)
    ingest(warehouse, "x.log")
    monkeypatch.chdir(tmp_path)
    ingest(warehouse, "./runs")
    ingest(tmp_path / "once", log)

    assert {} == differences(tmp_path / "once", warehouse)
    assert {str(log)} == {file for (file,) in rows(warehouse, "select file from ingested_files")}
    assert rows(tmp_path / "once", "select max(bytes) from ingested_files") == rows(
        warehouse, "select max(bytes) from ingested_files"
    )


def test_logs_of_one_name_are_the_jobs_of_their_folders_from_wherever_they_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in ("llama", "opt"):
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True)
        (folder / "train.log").write_text(MEGATRON)
        monkeypatch.chdir(folder)
        ingest(tmp_path / "warehouse", "train.log")
    ingest(tmp_path / "once", tmp_path / "runs")

    assert [("llama",), ("opt",)] == rows(
        tmp_path / "warehouse", "select job_id from jobs order by all"
    )
    assert {} == differences(tmp_path / "once", tmp_path / "warehouse")


@pytest.mark.parametrize("moved", ["x.log.1", "x.log.gz", "x.log.1.gz", "x.log-20260301.gz"])
def test_a_text_that_grew_before_it_was_moved_is_read_as_a_whole(
    tmp_path: Path, moved: str
) -> None:
    log, warehouse = tmp_path / "runs" / "x.log", tmp_path / "warehouse"
    log.parent.mkdir()
    log.write_text(HALF)
    ingest(warehouse, log)
    log.write_text(MEGATRON.splitlines(keepends=True)[-1])
    content = MEGATRON.encode()
    target = log.with_name(moved)
    target.write_bytes(gzip.compress(content) if moved.endswith("gz") else content)
    ingest(warehouse, log.parent)
    ingest(tmp_path / "once", log.parent)

    files = "select file, bytes, events from ingested_files order by file"
    assert {} == differences(tmp_path / "once", warehouse)
    assert rows(tmp_path / "once", files) == rows(warehouse, files)


def test_a_text_that_begins_like_another_one_leaves_it_alone(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(MEGATRON[: MEGATRON.index("  successfully saved")])
    ingest(tmp_path / "warehouse", tmp_path / "run")
    (tmp_path / "run.1").write_text(MEGATRON, encoding="utf-8")
    ingest(tmp_path / "warehouse", tmp_path / "run.1")

    assert [str(tmp_path / "run"), str(tmp_path / "run.1")] == [
        file
        for (file,) in rows(tmp_path / "warehouse", "select file from ingested_files order by 1")
    ]


@pytest.mark.parametrize("moved", ["x.log.1", "x.log.gz", "x.log.1.gz", "x.log-20260301.gz"])
def test_a_log_that_was_rotated_or_compressed_is_known(tmp_path: Path, moved: str) -> None:
    log, warehouse = tmp_path / "x.log", tmp_path / "warehouse"
    content = json.dumps(alive("a")).encode() + b"\nbroken\n"
    log.write_bytes(content)
    ingest(warehouse, log)
    log.unlink()
    (tmp_path / moved).write_bytes(gzip.compress(content) if moved.endswith("gz") else content)
    ingest(warehouse, tmp_path / moved)

    assert [(str(log), 1, 1)] == rows(
        warehouse, "select file, events, rejected from ingested_files"
    )


def test_a_rotated_log_is_known_from_an_earlier_batch_of_the_same_ingest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "BATCH_FILES", 1)
    logs = [write_dump(tmp_path / f"{job}.log", [alive(job)]) for job in "abc"]
    moved = tmp_path / "a.log.1.gz"
    moved.write_bytes(gzip.compress(logs[0].read_bytes()))
    ingest(tmp_path / "warehouse", *logs, moved)

    assert [(str(log),) for log in logs] == rows(
        tmp_path / "warehouse", "select file from ingested_files order by file"
    )


def test_lines_that_came_just_before_a_log_was_compressed_are_loaded(tmp_path: Path) -> None:
    log, warehouse = tmp_path / "x.log", tmp_path / "warehouse"
    content = json.dumps(alive("a")).encode() + b"\nbroken\n"
    log.write_bytes(content)
    ingest(warehouse, log)
    more = json.dumps(alive("b")).encode() + b"\n"
    (tmp_path / "x.log.1.gz").write_bytes(gzip.compress(content + more))
    ingest(warehouse, tmp_path / "x.log.1.gz")

    assert [("a",), ("b",)] == rows(warehouse, "select job_id from jobs order by 1")
    assert [(2, "not_json")] == rows(warehouse, "select line_number, reason from rejected_lines")


def test_a_dump_that_is_packed_anew_lists_its_bad_lines_once(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    content = json.dumps(alive("a")).encode() + b"\nbroken\n"
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    (tmp_path / "a.zst").write_bytes(zstandard.compress(content))
    ingest(warehouse, tmp_path / "a.gz", tmp_path / "a.zst")
    (tmp_path / "moved").write_bytes(content)
    ingest(warehouse, tmp_path / "moved")
    # bad in another place: not the same dump
    (tmp_path / "other").write_bytes(b"\n" + content)
    ingest(warehouse, tmp_path / "other")

    assert [("a.gz", 1, 1), ("a.zst", 0, 0), ("moved", 0, 0), ("other", 0, 1)] == rows(
        warehouse, "select parse_filename(file), events, rejected from ingested_files order by 1"
    )
    assert [("a.gz", 2), ("other", 3)] == rows(
        warehouse, "select parse_filename(file), line_number from rejected_lines order by 1"
    )


def test_the_same_name_in_another_folder_is_another_dump(tmp_path: Path) -> None:
    for job in "ab":
        (tmp_path / job).mkdir()
        write_dump(tmp_path / job / "log.jsonl", [alive(job)])
    ingest(tmp_path / "warehouse", tmp_path)

    assert [("a",), ("b",)] == rows(tmp_path / "warehouse", "select job_id from jobs order by 1")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("named", [["--format", "training-log"], []])
def test_a_dump_that_told_nothing_as_what_it_was_not_is_loaded_as_what_it_is(
    named: list[str], pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_bytes(pack(MEGATRON.encode()))
    mistaken = ingest(tmp_path / "warehouse", "--format", "events", tmp_path / "train.log")
    ingest(tmp_path / "warehouse", *named, tmp_path / "train.log")
    again = ingest(tmp_path / "warehouse", *named, tmp_path / "train.log")
    ingest(tmp_path / "plain", tmp_path / "train.log")

    assert (2, 0) == (mistaken, again)
    assert [("training-log", 0)] == rows(
        tmp_path / "warehouse", "select format, rejected from ingested_files"
    )
    assert {} == differences(tmp_path / "warehouse", tmp_path / "plain")


def test_a_dump_that_told_something_as_what_it_was_not_says_what_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "train.log"
    dump.write_text(f"{MEGATRON}{json.dumps(alive('a'))}\n")
    ingest(tmp_path / "warehouse", "--format", "events", dump)
    ingest(tmp_path / "warehouse", "--format", "training-log", dump)

    assert (
        f"it is loaded already, as events from {dump}. As training-log it can be loaded into a new "
        "folder (--warehouse)"
    ) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "otherwise"),
    [
        (["--timezone", "Asia/Tokyo"], "--timezone UTC"),
        (["--cluster", "alps"], "no --cluster"),
        (["--cluster", "alps", "--timezone", "Asia/Tokyo"], "--timezone UTC and no --cluster"),
        ([], None),
    ],
)
def test_a_dump_that_is_known_is_said_not_to_be_read_as_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str], otherwise: str | None
) -> None:
    dump = tmp_path / "train.log"
    dump.write_text(MEGATRON)
    ingest(tmp_path / "warehouse", dump)
    ingest(tmp_path / "warehouse", *asked, dump)

    told = capsys.readouterr().out
    assert f"it is loaded already, as training-log from {dump}" in told
    if otherwise is None:
        assert "It was read with" not in told
    else:
        assert (
            f"It was read with {otherwise}; as it is asked for now it can be loaded into a new "
            "folder (--warehouse)"
        ) in told


def test_a_dump_that_lay_ahead_of_the_clock_of_then_says_what_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "a.jsonl"
    ahead = time.time() + 30 * 86_400
    events = [alive("a"), *(alive(job) | {"ts": ahead} for job in "bc")]
    dump.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    for _ in range(2):
        ingest(tmp_path / "warehouse", dump)

    assert (
        f"as events from {dump}. 2 lines of it lay over 24 h ahead of the clock of then. If that "
        "was wrong, it can be loaded into a new folder (--warehouse)"
    ) in capsys.readouterr().out


def test_events_tell_their_zone_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "a.jsonl"
    dump.write_text(f"{json.dumps(alive('a'))}\n")
    for zone in ("UTC", "Asia/Tokyo"):
        ingest(tmp_path / "warehouse", "--timezone", zone, dump)

    assert "It was read with" not in capsys.readouterr().out


@pytest.mark.parametrize("target", ["archive/llama-pretrain.log", "archive/train.log"])
def test_a_log_that_is_moved_and_given_again_is_said_to_count_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, target: str
) -> None:
    log, moved = tmp_path / "llama/train.log", tmp_path / target
    for one in (log, moved):
        one.parent.mkdir(exist_ok=True)
    log.write_text(MEGATRON)
    ingest(tmp_path / "warehouse", log)
    log.rename(moved)
    ingest(tmp_path / "warehouse", moved)

    assert f"{moved} has the content of {log}, and its place names another job" in caplog.text


def test_a_copy_of_a_log_that_is_of_the_same_job_counts_once_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for folder in ("llama/rank0", "llama/rank1"):
        (tmp_path / "runs" / folder).mkdir(parents=True)
        (tmp_path / "runs" / folder / "train.log").write_text(MEGATRON)
    ingest(tmp_path / "warehouse", tmp_path / "runs")

    assert [("llama", 1)] == rows(tmp_path / "warehouse", "select job_id, attempts from jobs")
    assert "" == caplog.text


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_text_that_is_packed_anew_with_more_in_it_is_said_to_keep_what_it_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, pack: Callable[[bytes], bytes]
) -> None:
    log = tmp_path / "run" / "train.log.gz"
    log.parent.mkdir()
    # up to a save whose length is not told yet
    begun = MEGATRON[: MEGATRON.index("    save-checkpoint")]
    for text in (begun, MEGATRON):
        assert "" == caplog.text
        log.write_bytes(pack(text.encode()))
        ingest(tmp_path / "warehouse", log)

    assert (
        f"{log} was loaded before with other content, and tells a part of it again: what it told "
        "then stays, also where it tells that otherwise now. If it is one log that was packed or "
        "written anew, ingest it into a new warehouse (--warehouse)"
    ) in caplog.text


def test_a_name_that_another_run_took_over_is_no_log_that_was_written_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "run" / "train.log"
    log.parent.mkdir()
    again = MEGATRON.replace("2026-03-01", "2026-03-02")
    for text in (MEGATRON, again, again + "more\n"):
        log.write_text(text, encoding="utf-8")
        ingest(tmp_path / "warehouse", log)

    assert "" == caplog.text
