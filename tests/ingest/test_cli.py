"""What `ett-ingest` says, and with which status it ends, whatever it is given."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pytest
import zstandard

from ingest import cli, facts, formats, plan
from ingest.cli import main
from ingest.collectors.mlperf_log import Log
from queries import NothingPublished, published
from tests.ingest.ordinary import ordinary
from tests.ingest.test_mlperf_collector import RUN
from tests.ingest.warehouses import (
    ROOT,
    STARTED_AT,
    Run,
    alive,
    command,
    contents,
    kept,
    life,
    run,
    takes_memory,
)
from tests.queries.engine import ingest, rows, write_dump


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A dump of one good job."""
    return write_dump(tmp_path / "dump.jsonl", life("a"))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


@pytest.fixture(scope="module")
def one_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of nothing but that dump."""
    folder = tmp_path_factory.mktemp("one")
    ingest(folder / "warehouse", write_dump(folder / "dump.jsonl", life("a")))
    return folder / "warehouse"


@pytest.fixture
def loaded(one_job: Path, warehouse: Path) -> Path:
    shutil.copytree(one_job, warehouse)
    return warehouse


# Arguments


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What is said when arguments cannot be used."""
    try:
        status: object = main(list(map(str, arguments)))
    except SystemExit as error:
        status = error.code

    assert 2 == status

    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no/such/file"], "no/such/file is not there. Give a file, a folder or a pattern."),
        (["no/such/*.jsonl"], "is not there"),
        ([""], "a path is empty"),
        (["x" * 5_000], "is not there"),
        ([".", "--as-of", "yesterday"], "is no time. Write it as 2026-03-01T00:00:00Z."),
        ([".", "--as-of", "2026-03-01T00:00:00"], "has no offset from UTC"),
        ([".", "--as-of", "2099-01-01T00:00:00Z"], "over 24 h in the future"),
        ([".", "--timezone", "Mars/Olympus"], "--timezone 'Mars/Olympus' is not known"),
        ([".", "--timezone", "Europe"], "--timezone 'Europe' is not known"),
        ([".", "--timezone", "/etc/passwd"], "is not known"),
        ([".", "--timezone", ""], "is not known"),
        ([".", "--format", "csv"], "invalid choice: 'csv'"),
        ([".", "--cluster", " "], "a name must not be empty"),
        ([".", "--max-rejected", "-1"], "is no count of lines"),
        ([".", "--wait", "nan"], "is no number of seconds"),
        ([], "required: PATH"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_argument_that_cannot_be_meant_is_refused_with_a_word(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    warehouse: Path,
    arguments: Sequence[str],
    said: str,
) -> None:
    given = [str(tmp_path) if argument == "." else argument for argument in arguments]

    assert said in refused(capsys, "--warehouse", warehouse, *given)
    assert not warehouse.exists()


# name -> what the file holds, and a word of why it is left aside
NO_DUMPS: dict[str, tuple[bytes, str]] = {
    "empty.jsonl": (b"", "is empty"),
    "empty.jsonl.gz": (gzip.compress(b""), "is empty"),
    "empty.jsonl.zst": (zstandard.compress(b""), "is empty"),
    "blank.jsonl": (b"\n  \n", "is blank"),
    "blank.jsonl.gz": (gzip.compress(b"\n  \n"), "is blank"),
    "notes.txt": (b"remember the milk\n", "has no format that is known"),
    "picture.png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "--format"),
    "array.json": (b'[{"ts":1,"event":"alive","job_id":"a"}]', "has no format that is known"),
    "pretty.json": (json.dumps(alive("a"), indent=1).encode(), "has no format that is known"),
    "broken.gz": (b"\x1f\x8b\x08\x00\x00", "its gzip stream is broken"),
    "broken.zst": (b"\x28\xb5\x2f\xfd", "its zstd stream is broken"),
}


def test_files_that_are_no_dumps_are_left_aside_and_nothing_is_published(
    capsys: pytest.CaptureFixture[str], warehouse: Path
) -> None:
    folder = warehouse.parent / "given"
    folder.mkdir()
    for name, (data, _) in NO_DUMPS.items():
        (folder / name).write_bytes(data)
    status = ingest(warehouse, "--verbose", folder)  # else those of one reason are told as one
    out, err = capsys.readouterr()

    assert 2 == status
    for name, (_, why) in NO_DUMPS.items():
        [told] = [line for line in out.splitlines() if f"left aside {folder / name}: it" in line]
        assert why in told
    assert "nothing that was given can be read" in err
    with pytest.raises(NothingPublished):
        published(warehouse)


def test_a_folder_without_a_file_is_told_as_one(
    capsys: pytest.CaptureFixture[str], warehouse: Path
) -> None:
    folder = warehouse.parent / "given"
    (folder / "of hosts").mkdir(parents=True)

    assert 2 == ingest(warehouse, folder)
    assert capsys.readouterr().err == "ett-ingest: there is no file to read in what was given.\n"


def test_a_reader_that_fails_at_first_lines_leaves_them_to_others(
    dump: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first that is asked fails at each dump: one is another's, one is nobody's."""

    def failing(_name: str, head: bytes) -> bool:
        return head.index(b"what no dump has") > 0

    strange = dump.parent / "strange.txt"
    strange.write_text("of no format\n")
    first, *others = formats.COLLECTORS
    monkeypatch.setattr(formats, "COLLECTORS", (replace(first, recognises=failing), *others))
    # what an installation's own patterns find is asked for last
    monkeypatch.setattr(formats, "is_told_by", failing)
    config = dump.parent / "ett.toml"
    config.write_text(
        "[[training_log]]\nname = 'mine'\nmeans = 'step'\ncontains = ['step ']\n"
        "pattern = 'step (?P<step>\\d+)'\n"
    )
    monkeypatch.setenv("ETT_CONFIG", str(config))

    assert 0 == ingest(warehouse, dump, strange)
    assert f"{strange} makes the reader of {first.name} fail at " in caplog.text
    assert f"{strange} makes the reader of training-log fail at " in caplog.text
    assert [] != rows(warehouse, "select job_id from jobs")


def test_a_reader_that_fails_at_one_dump_does_not_keep_others_from_loading(
    capsys: pytest.CaptureFixture[str],
    dump: Path,
    warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told_of = "select count(*) from jobs where job_id <> 'a'"
    log = dump.parent / "run.log"
    log.write_text("\n".join([*RUN, ":::MLLOG {"]))
    with monkeypatch.context() as patched:
        patched.setattr(Log, "close", lambda *_: {}["end"])
        status = ingest(warehouse, dump, log)
    out, _ = capsys.readouterr()

    assert 0 == status
    assert f"nothing loaded: {log} makes the reader of mlperf fail at " in out
    assert "(KeyError: 'end'): please report it" in out
    assert "set aside" not in out
    assert [(0,)] == rows(warehouse, told_of)
    assert [] != rows(warehouse, "select job_id from jobs")

    ingest(warehouse, dump, log)
    assert [(1,)] == rows(warehouse, told_of)


def test_what_is_no_dump_does_not_keep_the_dumps_beside_it_from_loading(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    given = dump.parent / "given"
    (given / "deeper").mkdir(parents=True)
    (given / "notes.txt").write_text("remember the milk")
    (given / "empty.jsonl").touch()
    (given / ".hidden.jsonl").write_bytes(b"{}")
    (given / "itself").symlink_to("itself")
    (given / "up").symlink_to(given)
    (given / "gone.jsonl").symlink_to("nowhere")
    os.mkfifo(given / "pipe")
    dump.rename(given / "deeper" / "dump.jsonl")
    status = ingest(warehouse, given)
    said = capsys.readouterr().out

    assert 0 == status
    assert "loaded 4 events of 1 job from 1 file" in said
    assert f"cannot read {given / 'itself'}: is a link that leads to itself" in said
    assert f"cannot read {given / 'gone.jsonl'}: No such file" in said
    assert f"cannot read {given / 'pipe'}: is no regular file" in said
    assert "hidden" not in said


@pytest.mark.parametrize("events_a_gib", [10_000_000, 15])
def test_a_job_that_two_sources_name_otherwise_is_one(
    events_a_gib: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(facts, "_EVENTS_A_GIB", events_a_gib)  # the fewer, the more parts
    table = ["JobID|Cluster|Submit|Start|End|State|AllocTRES"]
    logs = tmp_path / "logs"
    logs.mkdir()
    for job in range(40, 45):
        table.append(
            f"{job}|c1|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:09:00|COMPLETED|"
            "gres/gpu=8"
        )
        log = [f"2026-03-01 10:0{minute}:00 step {minute} loss 1" for minute in range(1, 9)]
        (logs / f"slurm-{job}.out").write_text("\n".join(log) + "\n")
    (tmp_path / "sacct.txt").write_text("\n".join(table) + "\n")

    assert 0 == ingest(tmp_path / "warehouse", tmp_path / "sacct.txt", logs)
    assert " of 5 jobs from 6 files" in capsys.readouterr().out
    assert [(f"c1:{job}",) for job in range(40, 45)] == rows(
        tmp_path / "warehouse", "select job_id from jobs order by 1"
    )
    assert 0 == ingest(tmp_path / "later", tmp_path / "sacct.txt")
    assert 0 == ingest(tmp_path / "later", logs)
    assert " of 5 jobs from 5 files" in capsys.readouterr().out


def test_however_many_files_are_odd_a_line_tells_of_each_reason_and_the_summary_comes_last(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    given = dump.parent / "given"
    given.mkdir()
    for number in range(40):
        (given / f"notes-{number:02}.txt").write_text(f"{number} bottles of milk")
        (given / f"empty-{number:02}").touch()
        (given / f"link-{number:02}").symlink_to("nowhere")
        write_dump(given / f"known-{number:02}.jsonl", life(f"job {number}"))
    (given / "blank").write_text("\n")
    (given / "undated.log").write_text("[rank0]: step 1\n")
    ingest(warehouse, *given.glob("known-*"))
    capsys.readouterr()
    ingest(warehouse, given, dump)
    short = capsys.readouterr().out.splitlines()
    ingest(warehouse, "--verbose", given)
    long = capsys.readouterr().out.splitlines()

    assert [
        f"cannot read {given}/link-00 and 39 more files: No such file or directory",
        f"left aside {given}/notes-00.txt and 40 more files: each has no format that is known. "
        "Is it a dump? Then name its format with --format",
        f"left aside {given}/empty-00 and 39 more files: each is empty",
        f"left aside {given}/known-00.jsonl and 39 more files: each is loaded already",
        "left aside: 1 file more, for 1 reason more",
        "the same command with --verbose names every file",
    ] == short[:-1]
    assert short[-1].startswith("loaded 4 events of 1 job from 1 file in ")
    assert 40 + 41 + 40 + 40 + 1 + 1 == len(long)
    assert f"left aside {given}/known-07.jsonl: it is loaded already, as events from " in "\n".join(
        long
    )


def test_of_warnings_of_one_kind_the_first_are_shown_and_the_others_counted(
    tmp_path: Path,
    warehouse: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for number in range(5):
        (runs / f"{number}.log").write_text(
            f"I0301 10:00:00.000000 {number} torch/distributed/elastic/agent/server/api.py:944] "
            "[default] starting workers for entrypoint: train.py\n"
        )
    ingest(warehouse, runs)
    few = caplog.text
    caplog.clear()
    ingest(warehouse, "--verbose", "--dry-run", "--warehouse", tmp_path / "other", runs)

    assert 3 == few.count("its times tell no year"), few
    assert "2 more warnings like those above" in capsys.readouterr().out
    assert 5 == caplog.text.count("its times tell no year")


PATTERNS = ("*.jsonl", "**/*.jsonl", "[cd]ump.*", "d?mp.jsonl")


@pytest.fixture(scope="module")
def named_by_patterns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of one dump a pattern, which is all that tells of a job called like it."""
    folder = tmp_path_factory.mktemp("patterns")
    for number, pattern in enumerate(PATTERNS):
        (folder / f"{number}").mkdir()
        write_dump(folder / f"{number}" / "dump.jsonl", life(pattern))
    given = [folder / f"{number}" / pattern for number, pattern in enumerate(PATTERNS)]

    assert 0 == ingest(folder / "warehouse", *given)
    return folder / "warehouse"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_names_files(named_by_patterns: Path, pattern: str) -> None:
    assert [(pattern,)] == rows(
        named_by_patterns, "select job_id from jobs where job_id = ?", [pattern]
    )


def test_a_dump_is_read_once_however_often_it_is_named(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    (dump.parent / "link.jsonl").symlink_to(dump)
    shutil.copy(dump, dump.parent / "copy.jsonl")
    ingest(warehouse, dump, dump, dump.parent / "link.jsonl", dump.parent)

    assert "loaded 4 events of 1 job from 1 file" in capsys.readouterr().out


def test_standard_input_is_a_dump(dump: Path, warehouse: Path) -> None:
    done = run(warehouse, "-", "-", said=dump.read_bytes())

    assert (0, "") == (done.status, done.err)
    assert [("-", 4)] == rows(warehouse, "select file, events from ingested_files")


def test_standard_input_that_is_empty_or_closed_is_told(warehouse: Path) -> None:
    empty = run(warehouse, "-")
    closed = subprocess.run(
        ["bash", "-c", '"$@" <&-', "-", *command(warehouse, "-")],
        capture_output=True,
        cwd=ROOT,
        text=True,
    )

    assert (2, True) == (empty.status, "left aside -: it is empty" in empty.out)
    assert (2, "ett-ingest: - is standard input, which is closed.\n") == (
        closed.returncode,
        closed.stderr,
    )


NAMES = (
    b"it's.jsonl",
    b'"quoted".jsonl',
    b"star*.jsonl",
    b"b[a-z]r.jsonl",
    b"wh?t.jsonl",
    b"{curly}.jsonl",
    b"new\nline.jsonl",
    b"-leading.jsonl",
    b"--help",
    b"$HOME;`ls`.jsonl",
    b"\xff\xfe.jsonl",
    "überlänge \u202e.jsonl".encode(),
    b"percent%20.jsonl",
    b"n" * 250,
    b"dump.csv.parquet",
)


def test_hostile_file_names_are_only_names(
    capsys: pytest.CaptureFixture[str], warehouse: Path
) -> None:
    given = os.fsencode(warehouse.parent / "given")
    os.mkdir(given)
    for number, name in enumerate(NAMES):
        with open(os.path.join(given, name), "wb") as file:
            file.write(json.dumps(alive(f"job {number}")).encode())
            file.write(b"\nbroken\n")
    status = ingest(warehouse, os.fsdecode(given), os.fsdecode(os.path.join(given, NAMES[2])))
    again = ingest(warehouse, "--verbose", os.fsdecode(given))
    said = capsys.readouterr().out

    assert (0, 0) == (status, again)
    assert len(NAMES) == len(rows(warehouse, "select file from ingested_files where events = 1"))
    assert len(NAMES) == len(rows(warehouse, "select distinct file from rejected_lines"))
    assert "left aside" in said
    assert "\\xff\\xfe.jsonl" in said
    assert "new\\nline" in said


def test_a_warehouse_may_have_any_name(dump: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "wh'ouse; b -- \"t%" / 'wä\'[a]* "x" ; -- 100% haus'
    first = ingest(warehouse, dump)
    second = ingest(warehouse, write_dump(tmp_path / "more.jsonl", [*life("b"), *life("a", 700)]))

    assert (0, 0) == (first, second)
    assert {"a", "b"} == {job for job, *_ in contents(warehouse, ["jobs"])["jobs"]}


def test_a_warehouse_with_a_question_mark_in_its_path_is_refused(
    capsys: pytest.CaptureFixture[str], dump: Path, tmp_path: Path
) -> None:
    assert 2 == ingest(tmp_path / "wh?t", dump)
    assert "has a ? in its path. Give --warehouse another folder." in capsys.readouterr().err
    assert not (tmp_path / "wh?t").exists()


def test_the_warehouse_own_files_are_no_dumps(
    capsys: pytest.CaptureFixture[str], dump: Path, loaded: Path
) -> None:
    ingest(loaded, dump.parent)

    assert f"left aside {dump}: it is loaded already" in (said := capsys.readouterr().out)
    assert str(loaded) not in said


# Formats, clusters, limits


def test_a_log_that_only_the_users_patterns_fit_is_told_by_them(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "ours" / "loop.log"
    log.parent.mkdir()
    log.write_text("".join(f"2026-03-01 10:0{n}:00 {n}00 rounds of it\n" for n in range(1, 9)))
    unknown = ingest(warehouse, log)
    config = tmp_path / "own.toml"
    config.write_text(
        '[[training_log]]\nname = "ours"\nmeans = "step"\n'
        "contains = ['rounds of it']\npattern = '(?P<step>[0-9]+) rounds of it'\n"
    )
    monkeypatch.setenv("ETT_CONFIG", str(config))
    known = ingest(warehouse, log)

    assert (2, 0) == (unknown, known)
    assert [("training-log",)] == rows(warehouse, "select format from ingested_files")


def test_a_format_that_is_forced_is_used(warehouse: Path) -> None:
    garbage = warehouse.parent / "garbage.jsonl"
    garbage.write_text("garbage\n" * 60 + json.dumps(alive("a")))
    unforced = ingest(warehouse, garbage)
    forced = ingest(warehouse, "--format", "events", garbage)

    assert (2, 0) == (unforced, forced)
    assert [(1, 60)] == rows(warehouse, "select events, rejected from ingested_files")


def test_a_text_dump_that_gives_no_line_is_told_and_remembered_by_nothing(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    status = ingest(warehouse, "--format", "slurm-sacct", dump)
    said = capsys.readouterr().out

    assert 2 == status
    assert f"nothing loaded: {dump} has no header of sacct" in said
    assert [] == kept(warehouse, "from files")

    # and so it can still be read rightly
    ingest(warehouse, dump)

    assert [("a",)] == rows(warehouse, "select job_id from jobs")


def test_a_job_of_a_trainer_and_a_scheduler_is_one_though_each_is_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plan, "BATCH_FILES", 1)
    log, table = tmp_path / "a" / "48213.out", tmp_path / "sacct.txt"
    log.parent.mkdir()
    log.write_text("2026-03-01 10:00:30 step: 1 loss: 2\n2026-03-01 10:01:00 step: 2 loss: 2\n")
    table.write_text(
        "JobIDRaw|Cluster|State|Submit|Start|End|AllocTRES\n"
        "48213|c1|COMPLETED|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:02:00|gres/gpu=8\n"
    )
    ingest(tmp_path / "warehouse", log, table)

    assert "of 1 job from 2 files" in capsys.readouterr().out
    assert [("c1:48213",)] == rows(tmp_path / "warehouse", "select job_id from jobs")


def test_dumps_of_which_no_line_is_an_event_are_no_success_however_often_they_are_given(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    garbage = dump.parent / "garbage.jsonl"
    garbage.write_text("garbage\n" * 3)
    late = write_dump(dump.parent / "late.jsonl", [alive("a", ts="2999-01-01T00:00:00Z")])
    first = ingest(warehouse, "--format", "events", garbage, late)
    said = capsys.readouterr()
    again = ingest(warehouse, "--format", "events", garbage)
    beside_a_good_one = ingest(warehouse, "--format", "events", garbage, dump)
    with dump.open("a") as file:
        file.write("garbage\n")
    known_but_for_a_bad_line = ingest(warehouse, dump)

    assert [2, 2, 0, 0] == [first, again, beside_a_good_one, known_but_for_a_bad_line]
    assert "loaded 0 events of 0 jobs from 2 files" in said.out
    assert "set aside 4 lines: not_json 3, future_time 1" in said.out
    assert "ett-ingest: no line of what was given is an event.\n" == said.err
    assert [(4,)] == rows(
        warehouse, "select count(*) from rejected_lines where file not like '%dump.jsonl'"
    )


def test_a_dump_of_which_no_line_is_an_event_reaches_to_no_moment(
    tmp_path: Path, warehouse: Path
) -> None:
    ingest(warehouse, write_dump(tmp_path / "dump.jsonl", [alive("a")]))
    garbage = tmp_path / "garbage.jsonl"
    garbage.write_text("garbage\n")
    for _ in range(2):
        ingest(warehouse, "--format", "events", "--as-of", "2026-03-02T00:00:00Z", garbage)

    assert [("running",)] == rows(warehouse, "select outcome from attempts")


def test_more_lines_set_aside_than_allowed_is_status_1_and_the_rest_is_loaded(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    with dump.open("a") as file:
        file.write("broken\n" * 2)
    # a dry run ends as the ingest would
    for limit, status, options in (
        *((limit, int(limit < 2), ["--dry-run"]) for limit in (0, 2, 3)),
        (1, 1, []),
    ):
        assert status == ingest(warehouse, *options, "--max-rejected", limit, dump)

        out, err = capsys.readouterr()

        assert "set aside 2 lines: not_json 2" in out
        assert ("were set aside" in err) == bool(status)
    assert [("a",)] == rows(warehouse, "select job_id from jobs")


def test_a_cluster_fills_in_where_the_dump_does_not_say(tmp_path: Path, warehouse: Path) -> None:
    told = [*life("silent"), *life("spoken", cluster="own")]
    ingest(warehouse, "--cluster", 'it\'s "c1"', write_dump(tmp_path / "dump.jsonl", told))

    assert [("silent", 'it\'s "c1"'), ("spoken", "own")] == rows(
        warehouse, "select job_id, cluster from attempts order by job_id"
    )
    assert [('events@it\'s "c1"',)] == rows(warehouse, "select source from sources")


def test_as_of_turns_a_silent_job_into_a_lost_one_though_the_dump_is_known(
    tmp_path: Path, warehouse: Path
) -> None:
    dump = write_dump(tmp_path / "dump.jsonl", [alive("a")])
    renamed = write_dump(tmp_path / "renamed.jsonl", [alive("a")])
    outcomes = []
    for arguments in ([dump], ["--as-of", "2026-03-01T05:59:59Z", renamed], [dump]):
        ingest(warehouse, *arguments)
        outcomes += rows(warehouse, "select outcome from attempts")
    ingest(warehouse, "--as-of", "2026-03-01T07:00:00+01:00", renamed)
    outcomes += rows(warehouse, "select outcome from attempts")

    assert [("running",), ("running",), ("running",), ("lost",)] == outcomes


# Dry runs


def test_a_dry_run_says_what_would_happen_and_makes_no_warehouse(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    with dump.open("a") as file:
        file.write("broken\n")
    status = ingest(warehouse, "--dry-run", dump)
    said = capsys.readouterr().out

    assert 0 == status
    assert "would load 4 events of 1 job from 1 file" in said
    assert "set aside 1 line: not_json 1" in said
    assert not warehouse.exists()


def test_a_dry_run_counts_jobs_by_name_as_its_help_says(
    capsys: pytest.CaptureFixture[str], warehouse: Path
) -> None:
    rows_of_sacct = warehouse.parent / "sacct.txt"
    rows_of_sacct.write_text(
        "JobID|JobIDRaw|State|Start|End|Cluster\n"
        "17|17|COMPLETED|2026-03-01T00:00:00|2026-03-01T01:00:00|c1\n"
    )
    given = [rows_of_sacct, write_dump(warehouse.parent / "trainer.jsonl", life("17"))]

    ingest(warehouse, "--dry-run", *given)
    assert "of 2 jobs" in capsys.readouterr().out
    ingest(warehouse, *given)
    assert "of 1 job " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        ingest(warehouse, "--help")
    assert "jobs are counted by name" in " ".join(capsys.readouterr().out.split())


def test_a_dry_run_on_a_warehouse_changes_nothing_in_it(
    capsys: pytest.CaptureFixture[str], dump: Path, loaded: Path
) -> None:
    before = contents(loaded), published(loaded), kept(loaded, "from events")
    more = write_dump(dump.parent / "more.jsonl", [*life("a"), *life("b"), alive("c", event="?")])
    status = ingest(loaded, "--dry-run", "--as-of", "2026-03-09T00:00:00Z", dump, more)
    said = capsys.readouterr().out

    assert 0 == status
    assert "would load 4 events of 1 job from 1 file" in said
    assert "is loaded already" in said
    assert before == (contents(loaded), published(loaded), kept(loaded, "from events"))
    assert [("dump.jsonl",)] == kept(loaded, "select parse_filename(file) from files")


# The warehouse


def test_a_second_ingest_says_for_whom_it_waits_and_then_loads(dump: Path, warehouse: Path) -> None:
    warehouse.mkdir()
    with (warehouse / "ingest.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        json.dump({"pid": 4711, "host": "node-7", "since": "08:00:00 UTC"}, lock)
        lock.flush()
        second = subprocess.Popen(
            command(warehouse, dump), cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        assert second.stderr is not None
        said = second.stderr.readline()
        waited = second.poll() is None
    second.stderr.read()

    assert "waiting: the warehouse is being written by process 4711 on node-7 since 08:00" in said
    assert waited
    assert 0 == second.wait(timeout=60)
    second.stderr.close()
    assert [("a",)] == rows(warehouse, "select job_id from jobs")


def test_patience_ends_with_a_word_for_whom(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    warehouse.mkdir()
    with (warehouse / "ingest.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status = ingest(warehouse, "--wait", "0.1", dump)

    assert 2 == status
    assert "is being written by another process. Try again" in capsys.readouterr().err


def test_two_ingests_at_the_same_time_both_load(tmp_path: Path, warehouse: Path) -> None:
    dumps = [write_dump(tmp_path / f"{job}.jsonl", life(job)) for job in "ab"]
    started = [
        subprocess.Popen(
            command(warehouse, dump),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for dump in dumps
    ]

    assert [0, 0] == [one.wait(timeout=120) for one in started]
    assert [("a",), ("b",)] == rows(warehouse, "select job_id from jobs order by 1")


def test_a_warehouse_that_is_a_file_is_refused(
    capsys: pytest.CaptureFixture[str], dump: Path
) -> None:
    with pytest.raises(SystemExit, match="2"):
        ingest(dump, dump)

    assert f"{dump} is a file: name the folder" in capsys.readouterr().err


@pytest.mark.parametrize("is_named", [True, False])
def test_a_warehouse_below_the_home_is_there_where_no_shell_says_which_it_is(
    is_named: bool, dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shells put a home for the ~ of an argument of its own, and not for that of --warehouse=~/x"""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ETT_WAREHOUSE", "~/fleet/ett")

    assert 0 == main([str(dump), *(["--warehouse=~/fleet/ett"] if is_named else [])])
    assert [] == list(Path().iterdir())
    assert published(tmp_path / "fleet" / "ett").exists()


def test_a_warehouse_in_nobodys_home_is_refused(
    capsys: pytest.CaptureFixture[str],
    dump: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main([str(dump), "--warehouse=~nobody-of-this-name/ett"])

    assert "~nobody-of-this-name/ett begins with a ~ " in capsys.readouterr().err
    assert not Path("~nobody-of-this-name").exists()


def test_a_warehouse_file_that_is_none_is_refused_and_left_alone(
    capsys: pytest.CaptureFixture[str], dump: Path, warehouse: Path
) -> None:
    warehouse.mkdir()
    (warehouse / "warehouse.duckdb").write_bytes(b"garbage" * 4_096)

    assert 2 == ingest(warehouse, dump)
    assert f"{warehouse / 'warehouse.duckdb'} is damaged: IO Error: " in capsys.readouterr().err
    assert b"garbage" * 4_096 == (warehouse / "warehouse.duckdb").read_bytes()


def test_an_interrupt_says_that_what_was_committed_stays(tmp_path: Path, warehouse: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    stopped = subprocess.Popen(
        command(warehouse, "-"),
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until_spools(place, 1)  # it has come to reading
    stopped.send_signal(signal.SIGINT)
    _, said = stopped.communicate(timeout=30)

    assert (130, True) == (stopped.returncode, "stopped. What was committed stays" in said)
    assert "Traceback" not in said


def until_spools(place: Path, count: int) -> None:
    """Wait until so many ingests keep there what their standard input says."""
    deadline = time.monotonic() + 60
    # not anything there: Python tries whether it can write in it, with a file of another name
    while len(list(place.glob("ett-spool-*"))) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


# Permissions and space


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_warehouse_that_is_closed_to_who_asks_is_a_sentence(
    dump: Path, warehouse: Path, options: list[str]
) -> None:
    warehouse.mkdir(mode=0)
    done = run(warehouse, *options, dump, wrapped=ordinary())
    warehouse.chmod(0o700)

    assert 2 == done.status
    assert f"{warehouse} could not be written: [Errno 13] Permission denied" in done.err
    assert "Traceback" not in done.err


@dataclass(frozen=True, slots=True)
class Closed:
    """A command that was given folders in which not everything may be read."""

    folder: Path
    done: Run

    def loaded(self, folder: str) -> list[tuple[str]]:
        """The dumps in a folder that were loaded: each tells of a job that is called like it."""
        return rows(
            self.folder / "warehouse",
            "select job_id from jobs where starts_with(job_id, ?) order by 1",
            [f"{folder}/"],
        )


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Closed:
    folder = tmp_path_factory.mktemp("closed")
    for dump in (
        "files/dump.jsonl",
        "files/secret.jsonl",
        "files/shut/x.jsonl",
        "named/locked/x.jsonl",
        "named/open/x.jsonl",
        *(
            f"{given}/{name}"
            for given in ("listed", "starred")
            for name in ("dump.jsonl", "locked/x.jsonl", "locked/y.jsonl", "locked/deep/z.jsonl")
        ),
    ):
        (folder / dump).parent.mkdir(parents=True, exist_ok=True)
        write_dump(folder / dump, life(dump))
    shut = [folder / "files" / "secret.jsonl", folder / "files" / "shut"]
    locked = list(folder.glob("*/locked"))
    for path in shut:
        path.chmod(0)
    for path in locked:
        path.chmod(0o600)
    done = run(
        folder / "warehouse",
        folder / "files",
        folder / "listed",
        folder / "starred" / "*",
        folder / "named" / "*" / "*.jsonl",
        wrapped=ordinary(),
    )
    for path in (*shut, *locked):
        path.chmod(0o700)

    assert (0, "") == (done.status, done.err)
    return Closed(folder, done)


def test_files_and_folders_that_may_not_be_read_are_told(closed: Closed) -> None:
    folder = closed.folder / "files"

    assert f"cannot read {folder / 'secret.jsonl'}: Permission denied" in closed.done.out
    assert f"cannot read {folder / 'shut'}: Permission denied" in closed.done.out
    assert [("files/dump.jsonl",)] == closed.loaded("files")


@pytest.mark.parametrize("given", ["listed", "starred"])
def test_a_folder_that_can_be_listed_and_not_entered_is_told_once_and_the_others_load(
    closed: Closed, given: str
) -> None:
    locked = closed.folder / given / "locked"

    assert [f"cannot read {locked}: Permission denied"] == [
        line for line in closed.done.out.splitlines() if f"{locked}" in line
    ]
    assert [(f"{given}/dump.jsonl",)] == closed.loaded(given)


def test_what_a_pattern_names_in_a_folder_that_cannot_be_entered_is_told_and_the_others_load(
    closed: Closed,
) -> None:
    path = closed.folder / "named" / "locked" / "x.jsonl"

    assert f"cannot read {path}: Permission denied" in closed.done.out
    assert [("named/open/x.jsonl",)] == closed.loaded("named")


def test_a_lost_permission_leaves_the_last_publication_standing(
    loaded: Path, tmp_path: Path
) -> None:
    before = contents(loaded), published(loaded)
    more = write_dump(tmp_path / "more.jsonl", life("b"))
    for folder in (loaded, loaded / "tmp"):
        folder.chmod(0o555)
    done = run(loaded, more, wrapped=ordinary())
    after = contents(loaded), published(loaded)
    for folder in (loaded, loaded / "tmp"):
        folder.chmod(0o700)
    again = ingest(loaded, more)

    assert (2, "") == (done.status, done.out)
    assert "Traceback" not in done.err
    assert "ermission" in done.err
    assert before == after
    assert 0 == again
    assert [("a",), ("b",)] == rows(loaded, "select job_id from jobs order by 1")


@pytest.mark.parametrize("why", ["No space left on device", "Permission denied"])
def test_what_the_disk_refuses_when_a_transaction_ends_is_no_fault_of_the_program(
    tmp_path: Path, why: str
) -> None:
    error = duckdb.TransactionException(f"Failed to commit: Cannot open file: {why}")

    assert f"{tmp_path} could not be written: " in cli._why_it_stopped(tmp_path, error)


def test_memory_that_the_settings_do_not_allow_is_no_matter_of_the_disk(tmp_path: Path) -> None:
    used = "failed to allocate data of size 64.0 MiB (1.9 GiB/2.0 GiB used)"
    too_large = duckdb.OutOfMemoryException(f"Out of Memory Error: {used}\n\nPossible solutions:\n")
    no_room = duckdb.OutOfMemoryException(
        "Out of Memory Error: failed to offload data block of size 256.0 KiB.\n"
        "This limit was set by the 'max_temp_directory_size' setting."
    )

    assert cli._why_it_stopped(tmp_path, too_large) == (
        f"{tmp_path}: it takes more memory than storage.memory_limit of ett.toml allows (Out of "
        f"Memory Error: {used}): raise that, then run the same command again. What was published "
        "before still stands."
    )
    assert "free space" in cli._why_it_stopped(tmp_path, no_room)


@pytest.mark.slow
def test_a_dump_that_takes_more_memory_than_there_is_is_named_and_the_others_are_loaded(
    tmp_path: Path,
    warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs, settings = tmp_path / "logs", tmp_path / "ett.toml"
    logs.mkdir()
    large = logs / "large.jsonl"
    large.write_text(takes_memory("large"), encoding="utf-8")
    for name in ("a", "z"):
        (logs / f"{name}.jsonl").write_text(json.dumps(alive(name)) + "\n", encoding="utf-8")
    settings.write_text('[storage]\nmemory_limit = "256MiB"\n', encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    little = ingest(warehouse, logs)
    out, err = capsys.readouterr()
    few = rows(warehouse, "select job_id from jobs order by 1")
    settings.write_text("", encoding="utf-8")
    more = ingest(warehouse, logs)

    assert 2 == little, err
    assert f"left aside {large}: it takes more memory than storage.memory_limit" in out
    assert "loaded 2 events of 2 jobs from 2 files" in out
    assert "1 dump left out for want of memory" in err
    assert [("a",), ("z",)] == few
    assert 0 == more, capsys.readouterr().err
    assert [("a",), ("large",), ("z",)] == rows(warehouse, "select job_id from jobs order by 1")


@pytest.mark.slow
def test_a_full_disk_leaves_the_last_publication_standing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs root, and the right to mount a small disk")
    try:
        warehouse = small / "warehouse"
        dumps = [
            write_dump(
                tmp_path / f"{number}.jsonl",
                (
                    alive(f"{number}-{job}", step, message=f"{number * 7919 + step * 104729 + job}")
                    for job in range(30)
                    for step in range(200 * number)
                ),
            )
            for number in range(1, 5)  # twice as many as the largest of these disks holds
        ]
        standing, left = [], dumps.copy()
        for megabytes in (2, 5, 8):
            resize(small, megabytes)
            while not (done := run(warehouse, left[0])).status:
                left.pop(0)
            jobs = 30 * (len(dumps) - len(left))
            standing.append(len(rows(warehouse, "from jobs")) if jobs else 0)

            assert (2, False) == (done.status, "Traceback" in done.err)
            assert "could not be written" in done.err
            assert "still stands" in done.err or jobs == 0
            assert jobs == standing[-1]
        resize(small, 200)
        again = run(warehouse, *dumps).status

        assert 0 == standing[0] < standing[-1], standing  # before and after a first publication
        assert 0 == again
        assert [(30 * 4, 30 * 200 * sum(range(1, 5)))] == rows(
            warehouse,
            "select (select count(*) from jobs), (select sum(events) from ingested_files)",
        )
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def resize(disk: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(disk)], check=True)


@pytest.mark.slow
def test_more_small_files_than_a_batch_takes_load_in_one_go(
    tmp_path: Path, warehouse: Path
) -> None:
    files = plan.BATCH_FILES + 100
    given = tmp_path / "given"
    given.mkdir()
    for number in range(files):
        write_dump(given / f"{number}.jsonl", [alive(f"job {number}", ts=STARTED_AT + number)])
    status = ingest(warehouse, given)

    assert 0 == status
    assert [(files, files)] == rows(
        warehouse, "select count(*), count(distinct file) from ingested_files where events = 1"
    )
    assert [(files,)] == rows(warehouse, "select count(*) from jobs")


# The folder of a run


def test_what_a_killed_run_left_outside_the_warehouse_goes_with_the_next(
    tmp_path: Path, dump: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    line = [sys.executable, "-m", "ingest.cli", "--warehouse", str(warehouse), "-"]
    environment = {**os.environ, "TMPDIR": str(place)}
    both = [
        subprocess.Popen(
            line, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        for _ in range(2)
    ]
    until_spools(place, 2)
    killed, living = both
    killed.kill()
    killed.communicate()
    ingest(warehouse, dump)
    left = list(place.iterdir())
    living.communicate(dump.read_bytes())

    assert 1 == len(left)
    assert 0 == living.returncode
    assert [] == list(place.iterdir())


@pytest.fixture
def no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))


@pytest.mark.usefixtures("no_temporary_folder")
def test_who_keeps_nothing_in_a_temporary_folder_needs_none(dump: Path, warehouse: Path) -> None:
    assert 0 == cli.main(["--warehouse", str(warehouse), str(dump)])
    assert 0 == cli.main(["--warehouse", str(warehouse), "--dry-run", str(dump)])


@pytest.mark.usefixtures("no_temporary_folder")
@pytest.mark.parametrize("argument", ["-", "--dry-run"])
def test_who_keeps_something_in_a_temporary_folder_is_told_where_there_is_none(
    dump: Path, warehouse: Path, capsys: pytest.CaptureFixture[str], argument: str
) -> None:
    assert 2 == cli.main(["--warehouse", str(warehouse), argument, str(dump)])
    assert (
        "ett-ingest: no temporary folder can be made: No such file or directory. "
        "Free space, or let TMPDIR name a folder that can be written.\n"
    ) == capsys.readouterr().err
