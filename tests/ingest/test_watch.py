"""Files that grow, rotate and come late are loaded as one plain ingest of it all loads them."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ingest import cli
from queries import published, watching
from tests.ingest.ordinary import ordinary
from tests.ingest.warehouses import alive, differences, fleet, kept, life, run, takes_memory
from tests.ingest.watchers import Watcher, seen, start, until, until_job
from tests.queries.engine import rows


@pytest.fixture
def watchers() -> Iterator[list[Watcher]]:
    """Watchers that a test started end with it."""
    started: list[Watcher] = []
    yield started
    for watcher in started:
        watcher.process.kill()
        watcher.process.wait()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watcher]:
    """One whom permissions hold, for the tests that need none of their own.

    It follows a file and a folder. Each test leaves it as it was, but for what was published.
    """
    folder = tmp_path_factory.mktemp("shared")
    logs = folder / "logs"
    for name in ("moved", "closed", "before/deep", "while/deep"):
        (logs / name).mkdir(parents=True)
    (logs / "before" / "x.jsonl").write_text(lines([alive("early")]), encoding="utf-8")
    (logs / "before").chmod(0o600)
    (logs / "closed").chmod(0)
    for job in ("moved", "while"):
        (logs / job / "x.jsonl").write_text(lines([alive(job)]), encoding="utf-8")
    (folder / "x.jsonl").write_text(lines(life("a")), encoding="utf-8")
    settings = folder / "closable" / "ett.toml"
    settings.parent.mkdir()
    watcher = start(
        folder / "warehouse", folder / "x.jsonl", logs, wrapped=ordinary(), settings=settings
    )
    until_job(watcher, "a")
    yield watcher
    watcher.process.kill()
    watcher.process.wait()


@pytest.fixture
def watcher(shared: Watcher) -> Watcher:
    """The shared one at rest, without what it said to other tests."""
    until_success(shared)
    until(shared, lambda: told(shared).backlog_files == 0, "rest")
    return replace(shared, heard=len(shared.said()))


@pytest.fixture
def log(shared: Watcher) -> Path:
    """The file that the shared one follows."""
    return shared.warehouse.with_name("x.jsonl")


@pytest.fixture
def logs(shared: Watcher) -> Path:
    """The folder that the shared one follows."""
    return shared.warehouse.with_name("logs")


@contextmanager
def closed(folder: Path, mode: int = 0) -> Iterator[None]:
    folder.chmod(mode)
    try:
        yield
    finally:
        folder.chmod(0o700)


@contextmanager
def halted(watcher: Watcher) -> Iterator[None]:
    """It must not find its folder missing, and make another one, while that is changed."""
    watcher.process.send_signal(signal.SIGSTOP)
    yield
    watcher.process.send_signal(signal.SIGCONT)


def lines(events: Iterable[object]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def numbers(warehouse: Path) -> tuple[object, ...]:
    """What of the ledger must not depend on how the files came."""
    return (
        rows(warehouse, "select sum(events), sum(rejected) from ingested_files"),
        rows(warehouse, "select reason, line from rejected_lines order by all"),
    )


def test_whatever_happens_to_the_files_the_numbers_are_those_of_one_plain_ingest(
    tmp_path: Path, watchers: list[Watcher]
) -> None:
    texts = [json.dumps(event) + "\n" for event in fleet(51, size=4)]
    part = [texts[number::6] for number in range(6)]
    logs, watched, plain = tmp_path / "logs", tmp_path / "watched", tmp_path / "plain"
    logs.mkdir()
    log = logs / "x.log"
    log.write_text("".join(part[0]) + "broken\n" + lines([alive("first")]), encoding="utf-8")
    (logs / "garbage").write_bytes(b"\x00\xff no dump\n" * 9)
    watcher = start(watched, logs, tmp_path / "late", tmp_path / "some" / "*.jsonl")
    watchers.append(watcher)
    until_job(watcher, "first")
    # it grows, and ends in the middle of a line
    append(log, "".join(part[1]) + lines([alive("grown")]) + '{"ts": 177232')
    until_job(watcher, "grown")
    append(log, '3200, "event": "alive", "job_id": "halved"}\nbroken too\n')
    until_job(watcher, "halved")
    # it is rotated; its writer still has a line, and then goes on in a new file
    append(log, lines([alive("before")]))
    log.rename(logs / "x.log.1")
    append(logs / "x.log.1", lines([alive("moved")]))
    log.write_text("".join(part[2]) + lines([alive("anew")]), encoding="utf-8")
    until_job(watcher, "moved")
    until_job(watcher, "anew")
    # it is compressed
    content = (logs / "x.log.1").read_bytes()
    (logs / "x.log.1.gz").write_bytes(gzip.compress(content))
    (logs / "x.log.1").unlink()
    # a folder and a pattern come to be, with many files
    (tmp_path / "some").mkdir()
    (tmp_path / "late" / "deep").mkdir(parents=True)
    for number, text in enumerate(part[3]):
        (tmp_path / "late" / "deep" / f"{number}.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "some" / "y.jsonl").write_text("".join(part[4]) + lines([alive("pattern")]))
    (tmp_path / "late" / "z.jsonl").write_text("".join(part[5]) + lines([alive("last")]))
    until_job(watcher, "pattern")
    until_job(watcher, "last")
    until(watcher, lambda: told(watcher).backlog_files == 0, "all files")
    status = watcher.end()
    cli.main(["--warehouse", str(plain), *map(str, (logs, tmp_path / "late", tmp_path / "some"))])

    assert 0 == status, watcher.said()
    assert {} == differences(plain, watched)
    assert numbers(plain) == numbers(watched)
    # one row a file, however often it was looked at; the compressed one is known
    assert [(str(log), 2)] == kept(
        watched, "select file, count(*) from files where file like '%x.log%' group by file"
    )
    assert f"left aside {logs / 'garbage'}: it has no format that is known" in watcher.said()


def told(watcher: Watcher) -> watching.Watching:
    """What it says of itself on disk."""
    until(watcher, lambda: watching.read(watcher.warehouse), "a word on itself")
    said = watching.read(watcher.warehouse)
    assert said is not None
    return said


def until_success(watcher: Watcher) -> None:
    """Wait until all is loaded and published: what fails from then on is tried again."""
    published_at = (watcher.warehouse / "CURRENT").stat().st_mtime
    until(watcher, lambda: (told(watcher).succeeded_at or 0) >= published_at, "a first success")


def test_what_a_folder_hides_from_it_is_named_once(
    shared: Watcher, watcher: Watcher, logs: Path, tmp_path: Path
) -> None:
    # a disk was full: the folder moves to another one, and a link says where
    away = tmp_path / "away"
    (logs / "moved").rename(away)
    (logs / "moved").symlink_to(away)
    (logs / "also").symlink_to(logs)  # leads nowhere else: no word of it
    append(away / "x.jsonl", lines([alive("unseen")]))
    until(watcher, lambda: "link" in watcher.said(), "word of the link")
    append(logs / "y.jsonl", lines([alive("after the link")]))
    until_job(watcher, "after the link")

    link = f"left aside {logs / 'moved'}: it is a link out of its folder. Name it to read it"
    assert 1 == watcher.said().count("left aside")
    assert link in watcher.said()
    assert 1 == shared.said().count(f"left aside {logs / 'closed'}: it cannot be read: ")


def test_a_folder_that_can_no_longer_be_entered_is_named_and_the_others_go_on(
    shared: Watcher, logs: Path
) -> None:
    why = "it cannot be read: Permission denied"
    both = [f"left aside {logs / name}: {why}" for name in ("before", "while")]
    with closed(logs / "while", 0o600):
        (logs / "z.jsonl").write_text(lines([alive("second")]), encoding="utf-8")
        until_job(shared, "second")
        until(shared, lambda: all(each in shared.said() for each in both), "a word on both")
    (logs / "before").chmod(0o700)
    until_job(shared, "early")

    assert [1, 1] == [shared.said().count(each) for each in both]


def test_nothing_is_published_where_nothing_changes(watcher: Watcher, log: Path) -> None:
    append(log, lines(life("still")))
    until_job(watcher, "still")
    until_success(watcher)
    before, said = published(watcher.warehouse), watcher.said()
    os.utime(log)
    for _ in range(3):
        written = told(watcher).written_at
        until(watcher, lambda written=written: told(watcher).written_at > written, "a next word")

    assert before == published(watcher.warehouse)
    assert said == watcher.said()
    assert 1 == said.count("published")


FORGED = "bad\nWARNING root: fake.xyz"


@dataclass(frozen=True, slots=True)
class Ended:
    """A watcher that ended, and its first word on how it goes."""

    watcher: Watcher
    first: watching.Watching


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One that was told to end when a file had grown, and another had come, since it published.

    Names of what it leaves aside, and of what is not there, would be lines of what it says.
    """
    folder = tmp_path_factory.mktemp("ended")
    logs = folder / "logs"
    (logs / "real").mkdir(parents=True)
    (logs / f"link {FORGED}").symlink_to(folder)
    (logs / f"file {FORGED}").write_bytes(b"\x00 no dump\n" * 9)
    os.utime(logs / f"file {FORGED}", (0, 0))  # whole: it is not waited for
    (logs / "x.jsonl").write_text(lines([alive("a")]), encoding="utf-8")
    # so seldom does it say how it goes, too: its first word stays, though the machine is not up for
    # so long yet
    watcher = start(folder / "warehouse", logs, folder / f"late {FORGED}", every=86_400)
    try:
        until_job(watcher, "a")
        until(watcher, lambda: watcher.said().count("left aside") == 2, "a word on both")
        first = told(watcher)
        append(logs / "x.jsonl", lines([alive("b")]).rstrip("\n"))
        (logs / "late.jsonl").write_text(lines([alive("late")]), encoding="utf-8")
        status = watcher.end()
    finally:
        watcher.process.kill()
        watcher.process.wait()

    assert 0 == status, watcher.said()
    return Ended(watcher, first)


def test_told_to_end_it_takes_what_growing_files_hold(ended: Ended, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    shutil.copytree(ended.watcher.warehouse, warehouse, symlinks=True)

    assert [("a",), ("b",)] == rows(warehouse, "select job_id from jobs order by 1")
    assert not watching.place(warehouse).exists()
    # others may write now
    grown = ended.watcher.warehouse.with_name("logs") / "x.jsonl"
    assert 0 == cli.main(["--warehouse", str(warehouse), "--wait", "0", str(grown)])


def test_told_to_end_it_says_what_it_leaves(ended: Ended) -> None:
    assert ended.watcher.said().endswith("ended; left for the next start: 1 file\n")


def test_it_says_how_it_goes_before_the_first_look_is_over(ended: Ended) -> None:
    assert 2 == ended.first.backlog_files  # what is no dump as well: it is not looked into yet


def test_no_name_makes_a_line_of_its_own(ended: Ended) -> None:
    said = ended.watcher.said()

    assert 2 == said.count("left aside")
    assert "WARNING root" not in {line[:12] for line in said.splitlines()}
    for name in ("link", "file", "late"):
        assert f"{name} bad\\nWARNING root: fake.xyz" in said


def test_what_it_may_not_do_yet_it_does_once_it_may_be_it_told_to_end_meanwhile(
    tmp_path: Path, watchers: list[Watcher]
) -> None:
    log, warehouse = tmp_path / "x.jsonl", tmp_path / "warehouse"
    log.write_text(lines([alive("a")]), encoding="utf-8")
    (warehouse / "CURRENT").mkdir(parents=True)  # so nothing can be published
    watcher = start(warehouse, log)
    watchers.append(watcher)
    until(watcher, lambda: "It is tried again; nothing is lost." in watcher.said(), "a word on it")
    (warehouse / "CURRENT").rmdir()
    until_job(watcher, "a")
    # somebody else writes
    with (warehouse / "ingest.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        append(log, lines([alive("b")]))
        watcher.process.send_signal(signal.SIGTERM)
        time.sleep(2)
        is_waiting = watcher.process.poll() is None
    status = watcher.process.wait(60)

    assert (True, 0) == (is_waiting, status), watcher.said()
    assert [("a",), ("b",)] == rows(warehouse, "select job_id from jobs order by 1")
    assert watcher.said().endswith("ended\n")
    assert 1 == watcher.said().count("It is tried again")
    assert ".." not in watcher.said()


@pytest.mark.slow
def test_killed_at_any_moment_and_started_again_it_loses_and_doubles_nothing(
    tmp_path: Path, watchers: list[Watcher]
) -> None:
    chance = random.Random(7)
    texts = [json.dumps(event) + "\n" for event in fleet(53, size=4)]
    log, watched, plain = tmp_path / "x.log", tmp_path / "watched", tmp_path / "plain"
    log.touch()
    for number in range(4):
        watcher = start(watched, log, every=0.05)
        watchers.append(watcher)
        for text in texts[number::5]:
            append(log, text[: len(text) // 2])
            time.sleep(0.001)
            append(log, text[len(text) // 2 :])
        time.sleep(chance.uniform(0, 2))
        watcher.end(signal.SIGKILL)
    watcher = start(watched, log)
    watchers.append(watcher)
    append(log, "".join(texts[4::5]) + lines([alive("last")]))
    until_job(watcher, "last")
    status = watcher.end()
    cli.main(["--warehouse", str(plain), str(log)])

    assert 0 == status, watcher.said()
    assert {} == differences(plain, watched)
    assert numbers(plain) == numbers(watched)
    assert [(str(log), log.stat().st_size)] == rows(
        watched, "select file, bytes from ingested_files"
    )


def test_others_write_between_its_batches_and_it_waits_for_them(
    watcher: Watcher, log: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(lines([alive("other")]), encoding="utf-8")
    done = cli.main(["--warehouse", str(watcher.warehouse), str(other)])
    with (watcher.warehouse / "ingest.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        append(log, lines([alive("waited for")]))
        until(watcher, lambda: "waiting: " in watcher.said(), "a word on waiting")
    until_job(watcher, "waited for")

    assert 0 == done
    jobs = "select job_id from jobs where job_id in ('a', 'other', 'waited for') order by 1"
    assert [("a",), ("other",), ("waited for",)] == seen(watcher, jobs)


def test_a_second_one_is_refused_and_hides_nothing_of_the_first(
    watcher: Watcher, tmp_path: Path
) -> None:
    with halted(watcher):  # what is told meanwhile is not of the first
        before = told(watcher)
        # where nobody refuses it, it ends as it is told to
        done = run(watcher.warehouse, "--watch", tmp_path, wrapped=("timeout", "20"))
        after = told(watcher)

    pid = watcher.process.pid
    assert (2, "") == (done.status, done.out)
    assert done.err.startswith(f"ett-ingest: process {pid} on "), done.err
    assert f"watches dumps for {watcher.warehouse} already: give that one all paths" in done.err
    assert before == after
    assert watcher.process.poll() is None


def test_one_that_has_loaded_nothing_yet_says_since_when_nothing_was_loaded(
    tmp_path: Path, watchers: list[Watcher]
) -> None:
    log, warehouse = tmp_path / "x.jsonl", tmp_path / "warehouse"
    log.write_text(lines([alive("a")]), encoding="utf-8")
    warehouse.mkdir()
    began = time.time()
    with (warehouse / "ingest.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = start(warehouse, log)
        watchers.append(first)
        of_the_first = told(first)
        first.end(signal.SIGKILL)
        watching.write(warehouse, replace(of_the_first, written_at=0.0, succeeded_at=1000.0))
        second = start(warehouse, log)
        watchers.append(second)
        until(second, lambda: told(second).written_at > began, "its own word")
        of_the_second = told(second)
    until_job(second, "a")
    until(second, lambda: (told(second).succeeded_at or 0) > began, "a first success")

    assert of_the_first.succeeded_at is not None
    assert began < of_the_first.succeeded_at <= of_the_first.written_at
    assert 1000.0 == of_the_second.succeeded_at


def test_a_lost_permission_is_told_once_whatever_it_keeps_from_being_done(
    watcher: Watcher, log: Path
) -> None:
    with closed(watcher.warehouse, 0o500):
        append(log, lines([alive("permitted")]))
        until(watcher, lambda: "Permission denied" in watcher.said(), "a word on it")
        time.sleep(3)  # times enough to try it again, and to say how it goes
    until_job(watcher, "permitted")

    assert 1 == watcher.said().count("Permission denied"), watcher.said()


def test_told_to_end_while_it_may_not_write_it_ends_and_says_what_stays(
    tmp_path: Path, watchers: list[Watcher]
) -> None:
    log = tmp_path / "x.jsonl"
    log.write_text(lines([alive("a")]), encoding="utf-8")
    watcher = start(tmp_path / "warehouse", log, wrapped=ordinary())
    watchers.append(watcher)
    until_job(watcher, "a")
    until_success(watcher)
    watcher.warehouse.chmod(0o500)
    append(log, lines([alive("b")]))
    status = watcher.end()
    watcher.warehouse.chmod(0o700)

    assert 0 == status, watcher.said()
    assert f"{watching.place(watcher.warehouse)} cannot be removed: " in watcher.said()
    assert watcher.said().endswith("ended; left for the next start: 1 file\n")


def test_that_it_cannot_say_how_it_goes_is_told_once_until_it_can(
    watcher: Watcher, log: Path
) -> None:
    in_the_way = watching.place(watcher.warehouse).with_suffix(".building")
    said = "watch.json cannot be written"
    for times in (1, 2):
        before = told(watcher)
        until(watcher, lambda before=before: told(watcher) != before, "its next word")
        in_the_way.mkdir()
        until(watcher, lambda times=times: watcher.said().count(said) == times, "a word on it")
        append(log, lines([alive(f"after {times}")]))
        until_job(watcher, f"after {times}")
        time.sleep(1)
        in_the_way.rmdir()

    assert 2 == watcher.said().count(said), watcher.said()


def at_target(ratio: float) -> str:
    """Settings under which other numbers are published."""
    return f"publish_every = 0.3\n[targets]\nfleet = {ratio}\n"


def targets(watcher: Watcher) -> object:
    return seen(watcher, "select ett_ratio from targets")


def ingested(watcher: Watcher, dump: Path, settings: Path) -> None:
    """Another ingest, under the settings that this file has now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETT_CONFIG", str(settings))
        assert 0 == cli.main(["--warehouse", str(watcher.warehouse), str(dump)])


def test_settings_that_change_meanwhile_hold_from_then_on(
    watcher: Watcher, log: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(lines(life("another's")), encoding="utf-8")
    watcher.settings.write_text(at_target(0.75), encoding="utf-8")
    ingested(watcher, other, watcher.settings)
    append(log, lines(life("set")))
    until_job(watcher, "set")
    after_another = targets(watcher)
    watcher.settings.write_text(at_target(0.5), encoding="utf-8")
    os.utime(log)  # else it looks only once a minute
    until(watcher, lambda: targets(watcher) == [(0.5,)], "what it set")
    watcher.settings.write_text("# a word on it\n" + at_target(0.5), encoding="utf-8")
    append(log, lines(life("set alike")))
    until_job(watcher, "set alike")

    assert [(0.75,)] == after_another
    assert 3 == watcher.said().count(f"{watcher.settings} was read again")
    # the first change by whichever of both saw it first
    assert watcher.said().count("was of other settings: all is computed anew") in (1, 2)


def test_while_the_settings_are_broken_the_old_ones_hold_and_undo_no_others(
    watcher: Watcher, log: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(lines(life("of whole settings")), encoding="utf-8")
    old = targets(watcher)
    # nobody published under others: it goes on
    watcher.settings.write_text("[targets]\nfleet = 7\n", encoding="utf-8")
    for job in ("broken", "still broken"):
        append(log, lines(life(job)))
        until_job(watcher, job)
    before = targets(watcher)
    # somebody did, by a file that the watcher never sees whole
    watcher.settings.write_text("[targets]\nfleet = 8\n", encoding="utf-8")
    whole = tmp_path / "whole.toml"
    whole.write_text(at_target(0.625), encoding="utf-8")
    ingested(watcher, other, whole)
    append(log, lines(life("mended")))
    until(watcher, lambda: "Mend that file: until then nothing is loaded." in watcher.said(), "it")
    meanwhile = targets(watcher)
    watcher.settings.write_text(at_target(0.625), encoding="utf-8")
    until_job(watcher, "mended")

    assert old == before != meanwhile
    assert [(0.625,)] == meanwhile == targets(watcher)
    # once for each way in which it was broken
    assert 2 == watcher.said().count("The settings of before stay until it is mended.")
    assert 1 == watcher.said().count("Mend that file")


def test_what_new_settings_let_it_read_is_read_though_it_was_left_aside(
    watcher: Watcher, log: Path, logs: Path
) -> None:
    (logs / "ours.log").write_text(
        "".join(f"2026-03-01T10:00:0{n}Z {n} rounds of it\n" for n in range(1, 5)), encoding="utf-8"
    )
    until(watcher, lambda: "ours.log: it has no format" in watcher.said(), "a word on the log")
    append(
        watcher.settings,
        '[[training_log]]\nname = "ours"\nmeans = "step"\n'
        "contains = ['rounds of it']\npattern = '(?P<step>[0-9]+) rounds of it'\n",
    )
    append(log, lines([alive("beside ours")]))

    until_job(watcher, "ours")


@pytest.mark.slow
def test_a_dump_that_takes_more_memory_than_there_is_keeps_no_other_from_being_loaded(
    tmp_path: Path, watchers: list[Watcher]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    large, small = logs / "large.jsonl", logs / "small.jsonl"
    large.write_text(takes_memory("large"))
    small.write_text(lines(life("small")), encoding="utf-8")
    for path in (large, small):
        os.utime(path, (0, 0))  # whole, and at once
    watcher = start(tmp_path / "warehouse", logs, more='[storage]\nmemory_limit = "256MiB"\n')
    watchers.append(watcher)
    until_job(watcher, "small")
    why = f"left aside {large} for now: it takes more memory than storage.memory_limit"
    until(watcher, lambda: why in watcher.said(), "a word on the large one")
    watcher.settings.write_text('publish_every = 0.3\n[storage]\nmemory_limit = "2GiB"\n')
    append(small, lines(life("another")))
    until_job(watcher, "large")

    assert 1 == watcher.said().count("for now:")


def test_settings_that_come_from_a_pipe_stay(tmp_path: Path, watchers: list[Watcher]) -> None:
    log = tmp_path / "x.jsonl"
    log.write_text(lines(life("a")), encoding="utf-8")
    (tmp_path / "given.toml").write_text(at_target(0.75), encoding="utf-8")
    script = 'exec 9< <(cat "$0"); export ETT_CONFIG=/dev/fd/9; exec "$@"'
    piped = ["bash", "-c", script, str(tmp_path / "given.toml")]
    watcher = start(tmp_path / "warehouse", log, wrapped=piped)
    watchers.append(watcher)
    for job in ("b", "c"):
        append(log, lines(life(job)))
        until_job(watcher, job)

    assert [(0.75,)] == targets(watcher)


def test_settings_whose_folder_is_closed_are_broken_ones(watcher: Watcher, log: Path) -> None:
    with closed(watcher.settings.parent):
        append(log, lines(life("closed")))
        until_job(watcher, "closed")

    assert "The settings of before stay until it is mended." in watcher.said()


@pytest.mark.parametrize("limited_to", ["instances", "watches"])
def test_without_notices_of_the_system_it_looks_at_times(
    tmp_path: Path, watchers: list[Watcher], limited_to: str
) -> None:
    limited = ["unshare", "-r", "sh", "-c"]
    limit = f"echo 0 > /proc/sys/user/max_inotify_{limited_to}"
    if not shutil.which("unshare") or subprocess.run([*limited, limit]).returncode:
        pytest.skip("this system does not let a test limit inotify")
    (tmp_path / "logs").mkdir()
    wrapped = [*limited, f'{limit}; exec "$@"', "sh"]
    watcher = start(tmp_path / "warehouse", tmp_path / "logs", wrapped=wrapped)
    watchers.append(watcher)
    until(watcher, lambda: "Raise fs.inotify.max_user_watches" in watcher.said(), "a word on it")
    (tmp_path / "logs" / "x.jsonl").write_text(lines([alive("a")]), encoding="utf-8")

    until_job(watcher, "a")


@pytest.mark.parametrize("is_folder", [True, False])
def test_with_a_name_that_is_no_utf8_it_looks_at_times_and_says_why(
    tmp_path: Path, watchers: list[Watcher], is_folder: bool
) -> None:
    logs = Path(os.fsdecode(bytes(tmp_path / "logs") + b"\xff" * is_folder))
    logs.mkdir()
    watcher = start(tmp_path / "warehouse", logs)
    watchers.append(watcher)
    told(watcher)  # from then on it is told what changes, if it can be
    (logs / "x.jsonl").write_text(lines([alive("a")]), encoding="utf-8")
    Path(os.fsdecode(bytes(logs / "y.") + b"\xff")).write_text(lines([alive("b")]))
    until_job(watcher, "b")
    append(logs / "x.jsonl", lines([alive("c")]))
    until_job(watcher, "c")

    assert [("a",), ("b",), ("c",)] == seen(watcher, "select job_id from jobs order by 1")
    why = (
        f"({tmp_path / 'logs'}\\xff is no name in UTF-8)"
        if is_folder
        else f'(a name is no UTF-8: Unable to decode path "{logs / "y."}\\xFF" to string)'
    )
    assert [
        f"WARNING ingest: the system cannot tell what changes {why}: looking every 5 s instead. "
        "Give it another name, then start anew."
    ] == [line for line in watcher.said().splitlines() if line.startswith("WARNING")]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--watch", "--dry-run", "x"], "--dry-run ends, --watch does not"),
        (["--watch", "--as-of", "2026-03-01T00:00:00Z", "x"], "--as-of is a moment"),
        (["--watch", "--max-rejected", "1", "x"], "--max-rejected is about the end"),
        (["--watch", "-"], "standard input cannot be watched"),
        (["--watch", ""], "a path is empty. Give a file, a folder or a pattern.\n"),
    ],
)
def test_what_makes_no_sense_with_watching_is_refused(
    arguments: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.main(["--warehouse", str(tmp_path / "warehouse"), *arguments])

    assert 2 == status
    assert why in capsys.readouterr().err


def test_what_is_told_of_a_warehouse_that_cannot_be_written_later_ends_with_one_dot(
    watcher: Watcher, log: Path, tmp_path: Path
) -> None:
    with halted(watcher):
        watcher.warehouse.rename(tmp_path / "moved")
        watcher.warehouse.touch()
    append(log, lines([alive("after the move")]))

    until(watcher, lambda: "another folder. It is tried again" in watcher.said(), "a word on it")
    with halted(watcher):
        watcher.warehouse.unlink()
        (tmp_path / "moved").rename(watcher.warehouse)


def test_a_warehouse_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "x.jsonl").write_text(lines([alive("a")]), encoding="utf-8")
    refused = run(tmp_path / "file" / "warehouse", "--watch", tmp_path / "x.jsonl")

    assert 2 == refused.status
    assert "or give --warehouse another folder." in refused.err
