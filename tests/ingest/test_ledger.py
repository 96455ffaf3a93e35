"""What is remembered of every dump, so that it loads once under any name."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

import pytest
import zstandard

from ingest import plan
from tests.ingest.trainer_logs import MEGATRON
from tests.ingest.warehouses import alive, differences, kept, life
from tests.queries.engine import ingest, rows, write_dump

# a story of files that change: before each ingest it gives what to ingest of them
Story = Iterator[list[object]]


def live(warehouse: Path, *stories: Story) -> None:
    """Ingest together what the stories give first, then what they give second, and so on."""
    for given in zip_longest(*stories, fillvalue=()):
        ingest(warehouse, *chain(*given))


def text_of(job: str) -> str:
    """A log like no other job's."""
    return MEGATRON.replace("/ckpt/gpt", f"/ckpt/{job}") + f"the end of {job}\n"


def half_of(job: str) -> str:
    """Up to a save whose end is not there yet."""
    text = text_of(job)
    return text[: text.index("  successfully saved")]


MOVED = ["x.log.1", "x.log.gz", "x.log.1.gz", "x.log-20260301.gz"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the logs of the stories below, each in its own, and their warehouse."""
    folder = tmp_path_factory.mktemp("ledger")
    rotated = (rotated_log(made(folder / f"rotated to {moved}"), moved) for moved in MOVED)
    live(
        folder / "warehouse",
        log_that_is_written_anew(made(folder / "anew")),
        log_that_grows(made(folder / "grown")),
        text_that_begins_like_another(made(folder / "alike")),
        *rotated,
        log_with_more_in_it_when_it_is_compressed(made(folder / "more")),
        dump_that_is_packed_anew(made(folder / "packed")),
        same_name_in_two_folders(made(folder / "named")),
    )
    return folder


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def rows_of(folder: Path, select: str, order: str = "all") -> list[tuple[object, ...]]:
    """Run a select on what came of the files of one story."""
    return rows(
        folder.parent / "warehouse",
        f"{select} where starts_with(file, ?) order by {order}",
        [f"{folder}/"],
    )


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


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of dumps that are loaded into the warehouse beside them."""
    folder = tmp_path_factory.mktemp("known")
    ahead = time.time() + 30 * 86_400
    events = [alive("b"), *(alive(job) | {"ts": ahead} for job in "cd")]
    (folder / "train.log").write_text(MEGATRON)
    dumps = [
        write_dump(folder / "dump.jsonl", life("a")),
        write_dump(folder / "ahead.jsonl", events),
        write_dump(folder / "zone.jsonl", [alive("e")]),
    ]
    ingest(folder / "warehouse", folder / "train.log", *dumps)
    return folder


def test_a_dump_that_is_known_is_told_with_its_first_name(
    known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = shutil.copy(known / "dump.jsonl", tmp_path / "renamed.jsonl")
    files = rows(known / "warehouse", "from ingested_files")
    status = ingest(known / "warehouse", renamed)
    said = capsys.readouterr().out

    assert 0 == status
    assert f"left aside {renamed}: it is loaded already, as events" in said
    assert str(known / "dump.jsonl") in said
    assert files == rows(known / "warehouse", "from ingested_files")


def log_that_is_written_anew(folder: Path) -> Story:
    log = folder / "log.jsonl"
    for jobs in ("a", "b", "bc", "bd"):
        yield [
            write_dump(log, (alive(f"anew {job}") for job in jobs)),
            # which does not grow afterwards, and so is not read once more
            write_dump(folder / "same.jsonl", (alive(f"same {job}") for job in jobs)),
        ]
    with log.open("a") as file:
        file.write(json.dumps(alive("anew e", own=1)) + "\n")
    yield [log]


def test_a_log_that_is_written_anew_to_the_same_length_is_another_dump(logs: Path) -> None:
    for name, jobs in (("anew", "abcde"), ("same", "abcd")):
        assert [(f"{name} {job}",) for job in jobs] == rows(
            logs / "warehouse",
            f"select job_id from jobs where starts_with(job_id, '{name} ') order by 1",
        )
    assert [('{"own":1}',)] == kept(
        logs / "warehouse",
        "select attrs from events inner join job_keys using (job_no) "
        "where attrs is not null and job_key like 'anew %'",
    )


def log_that_grows(folder: Path) -> Story:
    log = folder / "log.jsonl"
    for _ in range(3):
        with log.open("a") as file:
            file.write(json.dumps(alive("grown", log.stat().st_size)) + "\n")
            file.write("broken\n")
        yield [log]


def test_a_log_that_grew_is_known_whole(logs: Path) -> None:
    assert [(1, 0), (1, 0), (1, 3)] == rows_of(
        logs / "grown", "select events, rejected from ingested_files", "bytes"
    )
    assert [(2,), (4,), (6,)] == rows_of(
        logs / "grown", "select line_number from rejected_lines", "line_number"
    )


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs that grow from one ingest to the next: `grown`, and `once` of what came of them."""
    folder = tmp_path_factory.mktemp("texts")
    logs = made(folder / "logs")
    with pytest.MonkeyPatch.context() as patch:
        live(
            folder / "grown",
            text_that_grows(made(logs / "train")),
            logs_from_folder_to_folder(made(logs / "runs"), patch),
            *(
                text_that_grows_before_it_is_moved(made(logs / name), moved)
                for moved, name in NAMES.items()
            ),
        )
    ingest(folder / "once", logs)
    return folder


def text_that_grows(folder: Path) -> Story:
    for text in (half_of("megatron"), text_of("megatron")):
        (folder / "megatron.log").write_text(text, encoding="utf-8")
        yield [folder / "megatron.log"]


def test_a_text_that_grew_tells_what_it_would_have_told_whole(texts: Path) -> None:
    files = "select file, events from ingested_files where file like '%/megatron.log'"

    assert {} == differences(texts / "once", texts / "grown")
    assert 1 == len(rows(texts / "once", files))
    assert rows(texts / "once", files) == rows(texts / "grown", files)


def logs_from_folder_to_folder(folder: Path, patch: pytest.MonkeyPatch) -> Story:
    native = [json.dumps(event) + "\n" for event in life("a")]
    told = {"x.log": (half_of("x"), text_of("x")), "native.log": (native[0], "".join(native))}
    for name, (begun, _) in told.items():
        (folder / name).write_text(begun)
    yield [folder / name for name in told]
    for name, (_, whole) in told.items():
        (folder / name).write_text(whole)
    patch.chdir(folder)
    yield [*told]
    patch.chdir(folder.parent)
    yield ["./runs"]


@pytest.mark.parametrize("name", ["x.log", "native.log"])
def test_a_log_that_grew_is_known_from_whatever_folder_it_is_given(texts: Path, name: str) -> None:
    log = texts / "logs" / "runs" / name
    of_log = f"from ingested_files where file like '%/{name}'"

    assert {} == differences(texts / "once", texts / "grown")
    assert {str(log)} == {file for (file,) in rows(texts / "grown", f"select file {of_log}")}
    assert rows(texts / "once", f"select max(bytes) {of_log}") == rows(
        texts / "grown", f"select max(bytes) {of_log}"
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


NAMES = dict(zip(MOVED, "pqrs", strict=True))  # of the jobs of the logs that are moved


def text_that_grows_before_it_is_moved(folder: Path, moved: str) -> Story:
    name = NAMES[moved]
    log = folder / f"{name}.log"
    log.write_text(half_of(name))
    yield [log]
    log.write_text("".join(text_of(name).splitlines(keepends=True)[-2:]))
    content = text_of(name).encode()
    target = folder / moved.replace("x", name)
    target.write_bytes(gzip.compress(content) if moved.endswith("gz") else content)
    yield [folder]


@pytest.mark.parametrize("moved", MOVED)
def test_a_text_that_grew_before_it_was_moved_is_read_as_a_whole(texts: Path, moved: str) -> None:
    name = NAMES[moved]
    files = (
        "select file, bytes, events from ingested_files "
        f"where parse_dirpath(file) like '%/{name}' order by file"
    )

    assert {} == differences(texts / "once", texts / "grown")
    assert moved.replace("x", name) in str(rows(texts / "once", files))
    assert rows(texts / "once", files) == rows(texts / "grown", files)


def text_that_begins_like_another(folder: Path) -> Story:
    for name, text in (("run", half_of("alike")), ("run.1", text_of("alike"))):
        (folder / name).write_text(text, encoding="utf-8")
        yield [folder / name]


def test_a_text_that_begins_like_another_one_leaves_it_alone(logs: Path) -> None:
    folder = logs / "alike"

    assert [(str(folder / "run"),), (str(folder / "run.1"),)] == rows_of(
        folder, "select file from ingested_files"
    )


def rotated_log(folder: Path, moved: str) -> Story:
    log = folder / "x.log"
    content = json.dumps(alive(folder.name)).encode() + b"\nbroken\n"
    log.write_bytes(content)
    yield [log]
    log.unlink()
    (folder / moved).write_bytes(gzip.compress(content) if moved.endswith("gz") else content)
    yield [folder / moved]


@pytest.mark.parametrize("moved", MOVED)
def test_a_log_that_was_rotated_or_compressed_is_known(logs: Path, moved: str) -> None:
    folder = logs / f"rotated to {moved}"

    assert [(str(folder / "x.log"), 1, 1)] == rows_of(
        folder, "select file, events, rejected from ingested_files"
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


def log_with_more_in_it_when_it_is_compressed(folder: Path) -> Story:
    content = json.dumps(alive("before")).encode() + b"\nbroken\n"
    (folder / "x.log").write_bytes(content)
    yield [folder / "x.log"]
    more = json.dumps(alive("just before")).encode() + b"\n"
    (folder / "x.log.1.gz").write_bytes(gzip.compress(content + more))
    yield [folder / "x.log.1.gz"]


def test_lines_that_came_just_before_a_log_was_compressed_are_loaded(logs: Path) -> None:
    assert [("before",), ("just before",)] == rows(
        logs / "warehouse", "select job_id from jobs where job_id like '%before' order by 1"
    )
    assert [(2, "not_json")] == rows_of(
        logs / "more", "select line_number, reason from rejected_lines"
    )


def dump_that_is_packed_anew(folder: Path) -> Story:
    content = json.dumps(alive("packed")).encode() + b"\nbroken\n"
    (folder / "a.gz").write_bytes(gzip.compress(content))
    (folder / "a.zst").write_bytes(zstandard.compress(content))
    yield [folder / "a.gz", folder / "a.zst"]
    (folder / "moved").write_bytes(content)
    yield [folder / "moved"]
    # bad in another place: not the same dump
    (folder / "other").write_bytes(b"\n" + content)
    yield [folder / "other"]


def test_a_dump_that_is_packed_anew_lists_its_bad_lines_once(logs: Path) -> None:
    assert [("a.gz", 1, 1), ("a.zst", 0, 0), ("moved", 0, 0), ("other", 0, 1)] == rows_of(
        logs / "packed", "select parse_filename(file), events, rejected from ingested_files", "1"
    )
    assert [("a.gz", 2), ("other", 3)] == rows_of(
        logs / "packed", "select parse_filename(file), line_number from rejected_lines", "1"
    )


def same_name_in_two_folders(folder: Path) -> Story:
    for name in "ab":
        write_dump(made(folder / name) / "log.jsonl", [alive(f"named in {name}")])
    yield [folder]


def test_the_same_name_in_another_folder_is_another_dump(logs: Path) -> None:
    assert [("named in a",), ("named in b",)] == rows(
        logs / "warehouse", "select job_id from jobs where job_id like 'named %' order by 1"
    )


PACKS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zstandard.compress]


@pytest.fixture(scope="module")
def mistaken_for_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text packed in each way in a folder of its own, and what comes of all as what they are."""
    folder = tmp_path_factory.mktemp("mistaken")
    for number, pack in enumerate(PACKS):
        text = text_of(f"run-{number}")
        (made(folder / f"run-{number}") / "train.log").write_bytes(pack(text.encode()))
    ingest(folder / "plain", *folder.glob("run-*"))
    return folder


@pytest.fixture(scope="module")
def loaded_as_what_they_are(mistaken_for_events: Path) -> Callable[..., tuple[Path, list[int]]]:
    """Ingest all of them as events, and then twice as they are named: where, and what it gave."""

    @cache
    def load(*named: str) -> tuple[Path, list[int]]:
        warehouse = mistaken_for_events / f"warehouse{''.join(named)}"
        dumps = sorted(mistaken_for_events.glob("run-*/train.log"))
        options = [["--format", "events"], named, named]
        return warehouse, [ingest(warehouse, *each, *dumps) for each in options]

    return load


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("named", [["--format", "training-log"], []])
def test_a_dump_that_told_nothing_as_what_it_was_not_is_loaded_as_what_it_is(
    mistaken_for_events: Path,
    loaded_as_what_they_are: Callable[..., tuple[Path, list[int]]],
    named: list[str],
    pack: Callable[[bytes], bytes],
) -> None:
    warehouse, (mistaken, _, again) = loaded_as_what_they_are(*named)
    dump = mistaken_for_events / f"run-{PACKS.index(pack)}" / "train.log"

    assert (2, 0) == (mistaken, again)
    assert [("training-log", 0)] == rows(
        warehouse, "select format, rejected from ingested_files where file = ?", [str(dump)]
    )
    assert {} == differences(warehouse, mistaken_for_events / "plain")


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
    known: Path, capsys: pytest.CaptureFixture[str], asked: list[str], otherwise: str | None
) -> None:
    text = known / "train.log"
    ingest(known / "warehouse", *asked, text)

    told = capsys.readouterr().out
    assert f"it is loaded already, as training-log from {text}" in told
    if otherwise is None:
        assert "It was read with" not in told
    else:
        assert (
            f"It was read with {otherwise}; as it is asked for now it can be loaded into a new "
            "folder (--warehouse)"
        ) in told


def test_a_dump_that_lay_ahead_of_the_clock_of_then_says_what_helps(
    known: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = known / "ahead.jsonl"
    ingest(known / "warehouse", dump)

    assert (
        f"as events from {dump}. 2 lines of it lay over 24 h ahead of the clock of then. If that "
        "was wrong, it can be loaded into a new folder (--warehouse)"
    ) in capsys.readouterr().out


def test_events_tell_their_zone_themselves(known: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ingest(known / "warehouse", "--timezone", "Asia/Tokyo", known / "zone.jsonl")

    told = capsys.readouterr().out
    assert "it is loaded already" in told
    assert "It was read with" not in told


TARGETS = ["archive/llama-pretrain.log", "archive/train.log"]
MORE_PACKED = [gzip.compress, zstandard.compress]
LOUD = [
    *(f"moved to {Path(target).name}" for target in TARGETS),
    *(f"packed {number}" for number in range(len(MORE_PACKED))),
]


@dataclass(frozen=True, slots=True)
class Warned:
    """The folder of texts that change, each story in its own, and of what each ingest warned."""

    folder: Path
    of: list[list[str]]

    def of_story(self, name: str) -> list[list[str]]:
        """Of each ingest."""
        return [[one for one in said if f"{self.folder / name}/" in one] for said in self.of]

    def in_silence(self) -> bool:
        """Whether nobody was warned of anything but the stories of which it is to be warned."""
        return all(
            any(f"{self.folder / loud}/" in said for loud in LOUD) for said in chain(*self.of)
        )


@pytest.fixture(scope="module")
def warned(tmp_path_factory: pytest.TempPathFactory) -> Warned:
    folder = tmp_path_factory.mktemp("warned")
    told = Warned(folder, [])
    stories = [
        *(log_that_is_moved(made(folder / f"moved to {Path(to).name}"), to) for to in TARGETS),
        *(
            text_with_more_in_it(made(folder / f"packed {number}"), pack)
            for number, pack in enumerate(MORE_PACKED)
        ),
    ]
    # of several files at once only the first would be named
    stories = [chain([()] * (number % 2), story) for number, story in enumerate(stories)]
    stories.append(copies_of_one_job(made(folder / "copies")))
    stories.append(chain([(), ()], name_that_is_taken_over(made(folder / "taken"))))
    for given in zip_longest(*stories, fillvalue=()):
        with warnings() as said:
            ingest(folder / "warehouse", *chain(*given))
        told.of.append(said)
    return told


DOUBTED = "select kind from anomalies where detail = ?"


@contextmanager
def warnings() -> Iterator[list[str]]:
    """What ingests warn of meanwhile."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("ingest").addHandler(handler)
    try:
        yield said
    finally:
        logging.getLogger("ingest").removeHandler(handler)


def log_that_is_moved(folder: Path, target: str) -> Story:
    log, moved = folder / f"{Path(target).stem} run" / "train.log", folder / target
    for one in (log, moved):
        one.parent.mkdir()
    log.write_text(text_of(moved.name))
    yield [log]
    log.rename(moved)
    yield [moved]


@pytest.mark.parametrize("target", TARGETS)
def test_a_log_that_is_moved_and_given_again_is_said_to_count_twice(
    warned: Warned, target: str
) -> None:
    name = f"moved to {Path(target).name}"
    moved = warned.folder / name / target
    log = warned.folder / name / f"{moved.stem} run" / "train.log"
    [said] = warned.of_story(name)[1 + TARGETS.index(target)]

    assert f"{moved} has the content of {log}, and its place names another job" in said
    assert 2 == len(
        rows(warned.folder / "warehouse", DOUBTED, [f"{moved} has the content of {log}"])
    )


def copies_of_one_job(folder: Path) -> Story:
    for rank in ("rank0", "rank1"):
        (folder / "copied" / rank).mkdir(parents=True)
        (folder / "copied" / rank / "train.log").write_text(text_of("copied"))
    yield [folder]


def test_a_copy_of_a_log_that_is_of_the_same_job_counts_once_without_a_word(
    warned: Warned,
) -> None:
    assert [("copied", 1)] == rows(
        warned.folder / "warehouse",
        "select job_id, attempts from jobs where job_id in ('copied', 'copies', 'rank0', 'rank1')",
    )
    assert warned.in_silence()


def text_with_more_in_it(folder: Path, pack: Callable[[bytes], bytes]) -> Story:
    log, text = folder / "train.log.gz", text_of(folder.name)
    # up to a save whose length is not told yet
    begun = text[: text.index("    save-checkpoint")]
    for content in (begun, text):
        log.write_bytes(pack(content.encode()))
        yield [log]


@pytest.mark.parametrize("pack", MORE_PACKED)
def test_a_text_that_is_packed_anew_with_more_in_it_is_said_to_keep_what_it_told(
    warned: Warned, pack: Callable[[bytes], bytes]
) -> None:
    number = MORE_PACKED.index(pack)
    log = warned.folder / f"packed {number}" / "train.log.gz"
    *first, second = warned.of_story(f"packed {number}")[: 2 + number]
    [said] = second

    assert [] == [*chain(*first)]
    assert (
        f"{log} was loaded before with other content, and tells a part of it again: what it told "
        "then stays, also where it tells that otherwise now. If it is one log that was packed or "
        "written anew, ingest it into a new warehouse (--warehouse)"
    ) in said
    what = f"{log} was loaded before with other content, and tells a part of it again"
    assert [("told_otherwise",)] == rows(warned.folder / "warehouse", DOUBTED, [what])


def name_that_is_taken_over(folder: Path) -> Story:
    log, first = folder / "train.log", text_of("taken")
    again = first.replace("2026-03-01", "2026-03-02")
    for text in (first, again, again + "more\n"):
        log.write_text(text, encoding="utf-8")
        yield [log]


def test_a_name_that_another_run_took_over_is_no_log_that_was_written_anew(
    warned: Warned,
) -> None:
    begun, *taken_over = warned.of_story("taken")[2:]

    assert [] == begun
    assert [[], []] == taken_over == warned.of[3:]
