"""What of a file that changes is loaded at each look: what it grew, once, under one row."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import zip_longest
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from ingest import arrivals, dumps, facts, loader, plan, tails, usual, warehouse
from ingest.collectors.base import Reading
from ingest.ending import Ending
from ingest.moment import Moment
from ingest.news import News
from ingest.rotation import names
from ingest.round import Round
from ingest.settings import Settings
from ingest.watch import Watch
from tests.ingest.trainer_logs import MEGATRON
from tests.ingest.warehouses import alive, differences, fleet
from tests.queries.engine import ingest, rows

NOW = datetime(2026, 11, 20)
MOMENT = Moment(NOW, int(NOW.replace(tzinfo=UTC).timestamp() * 1e6), None)


class Unhurried(News):
    """Looks again at once at a file whose reading took long: here it takes as long as it takes."""

    def put_off(self, key: arrivals.Key, seconds: float) -> None:
        assert seconds > 0
        self.was_put_off = key


@dataclass(slots=True)
class Looks:
    """A watcher without its loop: `look` is what it does when it is woken."""

    folder: Path
    arguments: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)
    tell: Callable[[], None] = lambda: None
    news: Unhurried = field(init=False)

    def __post_init__(self) -> None:
        self.news = Unhurried(rest_seconds=3600)

    def look(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """`meanwhile` happens once the files were seen, before they are read."""
        watch = Watch(
            self.arguments, self.folder, self.settings, Reading(None, ZoneInfo("UTC")), None,
            lambda: MOMENT,
        )  # fmt: skip
        known = [one.sight for one in self.news.handled.values()]
        self.news.see(arrivals.look(self.arguments, known))
        meanwhile()
        with warehouse.opened(self.folder, print, 0) as opened:
            facts.prepare(opened)
            due = self.news.due()
            # on a slow machine it publishes on the way, and then it is too early to publish again
            while not Round(opened, watch, self.news, Ending(), self.tell).load(due):
                due = []

    def ledger(self) -> list[tuple[object, ...]]:
        return rows(
            self.folder, "select file, bytes, events, rejected from ingested_files order by all"
        )


def lines(*jobs: str) -> str:
    return "".join(json.dumps(alive(job)) + "\n" for job in jobs)


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def jobs(folder: Path) -> list[str]:
    return [job for (job,) in rows(folder, "select job_id from jobs order by 1")]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "x.log"


@pytest.fixture
def watched(tmp_path: Path, log: Path) -> Looks:
    log.parent.mkdir()
    return Looks(tmp_path / "warehouse", (str(log.parent),))


@dataclass(frozen=True, slots=True)
class Followed:
    """What one watcher made of the stories below, each of which has a folder of its own."""

    logs: Path
    watched: Looks
    ledgers: dict[str, list[list[tuple[object, ...]]]]  # of a story, after each look

    def jobs(self, story: str) -> list[str]:
        """The jobs of a story: their names begin with its own."""
        begun = f"{story} "
        return [
            job.removeprefix(begun) for job in jobs(self.watched.folder) if job.startswith(begun)
        ]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    folder = tmp_path_factory.mktemp("followed")
    logs = folder / "logs"
    watched = Looks(folder / "warehouse", (str(logs),))
    for name in STORIES:
        (logs / name).mkdir(parents=True)
    ledgers: dict[str, list[list[tuple[object, ...]]]] = {name: [] for name in STORIES}
    for _ in zip_longest(*(story(logs / name / "x.log") for name, story in STORIES.items())):
        watched.look()
        told = watched.ledger()
        for name, ledger in ledgers.items():
            ledger.append([row for row in told if f"{logs / name}/" in str(row[0])])
    return Followed(logs, watched, ledgers)


def half_line_that_rests(log: Path) -> Iterator[None]:
    half = lines("rests half")
    log.write_text(lines("rests a") + half[:9], encoding="utf-8")
    yield
    os.utime(log, (0, 0))  # nobody has written to it for a long time
    yield
    append(log, half[9:])
    yield


def log_that_is_cut(log: Path) -> Iterator[None]:
    log.write_text(lines("cut a", "cut b"), encoding="utf-8")
    yield
    copy = log.with_name("x.log.1")
    copy.write_bytes(log.read_bytes() + lines("cut c").encode())
    log.write_text(lines("cut d"), encoding="utf-8")
    yield
    append(log, lines("cut e", "cut f", "cut g"))
    yield


def files_that_begin_alike(log: Path) -> Iterator[None]:
    other = log.with_name("y.log")
    for path in (log, other):
        path.write_text(lines("alike a"), encoding="utf-8")
    yield
    append(log, lines("alike b"))
    append(other, lines("alike c"))
    yield


def file_in_the_place_of_another(log: Path) -> Iterator[None]:
    log.write_text(lines("place a"), encoding="utf-8")
    yield
    # what was written over a file has its inode, whoever gives it out next
    os.rename(log, log.with_name("z.log"))
    log.with_name("z.log").write_text(lines("place other", "place b", "place c"), encoding="utf-8")
    yield


def text_of_the_same_length(log: Path) -> Iterator[None]:
    for loss in ("7.4E+00", "7.3E+00"):
        # far from both ends, which are looked at first
        text = "noise\n" * 2_000 + MEGATRON.replace("7.4E+00", loss) + "noise\n" * 2_000
        log.with_name("megatron.log").write_text(text, encoding="utf-8")
        yield


def log_that_is_written_over(log: Path) -> Iterator[None]:
    before, after = lines(*["over before"] * 200), lines(*["over after"] * 200)
    log.write_text(before + lines("over first") + after, encoding="utf-8")
    yield
    with log.open("r+", encoding="utf-8") as file:
        file.seek(len(before))
        file.write(lines("over other"))
    yield
    os.utime(log)
    yield


STORIES = {
    "rests": half_line_that_rests,
    "cut": log_that_is_cut,
    "alike": files_that_begin_alike,
    "place": file_in_the_place_of_another,
    "anew": text_of_the_same_length,
    "over": log_that_is_written_over,
}


@dataclass(frozen=True, slots=True)
class InPieces:
    """Files that a watcher read while they grew, two of which a plain ingest had begun; and the
    warehouse of one plain ingest of them all.
    """

    logs: Path
    watched: Looks
    plain: Path
    ledgers: list[list[tuple[object, ...]]]  # after the plain ingest, and after each look

    def row(self, look: int, name: str) -> tuple[object, ...]:
        """What the ledger says of a file behind its name."""
        [row] = [row for row in self.ledgers[look] if row[0] == str(self.logs / name)]
        return row[1:]


HALVED = MEGATRON.index("in torch_dist")  # up to a save that has begun, and in mid-line
MIDDLE = lines("a", "b")


def text_of(name: str) -> str:
    """A log that differs from the others behind its half."""
    return MEGATRON.replace("/ckpt/gpt", f"/ckpt/{name}")


@pytest.fixture(scope="module")
def in_pieces(tmp_path_factory: pytest.TempPathFactory) -> InPieces:
    folder = tmp_path_factory.mktemp("in_pieces")
    logs, watched = folder / "logs", Looks(folder / "warehouse", (str(folder / "logs"),))
    told = InPieces(logs, watched, folder / "plain", [])
    texts = [json.dumps(event) + "\n" for event in fleet(54, size=2)]
    texts[7::40] = ["broken\n", "\n", "x" * 50_000 + "\n"] * (len(texts[7::40]) // 3) + [
        "last\n"
    ] * (len(texts[7::40]) % 3)
    half = len(texts) // 2
    # what each file gets before the plain ingest, the first look and the second
    grows = {
        "pieces/x.log": ("", "".join(texts[:half]), "".join(texts[half:])),
        "middle/x.log": (MIDDLE[:-20], MIDDLE[-20:] + lines("c"), ""),
        "written/written.log": ("", text_of("written")[:HALVED], text_of("written")[HALVED:]),
        "rested/rested.log": (
            text_of("rested")[:HALVED],
            text_of("rested")[HALVED : HALVED + 3],
            text_of("rested")[HALVED + 3 :],
        ),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "PIECE_BYTES", 20_000)
        for look in range(3):
            for name, texts in grows.items():
                if texts[look]:
                    (logs / name).parent.mkdir(parents=True, exist_ok=True)
                    append(logs / name, texts[look])
            if look:
                watched.look()
            else:  # as a watcher reads what rests
                ingest(watched.folder, logs)
            told.ledgers.append(watched.ledger())
        ingest(told.plain, logs)
    return told


def test_pieces_end_with_what_a_whole_reading_tells(in_pieces: InPieces) -> None:
    plain, watched = in_pieces.plain, in_pieces.watched

    assert {} == differences(plain, watched.folder)
    assert watched.ledger() == rows(
        plain, "select file, bytes, events, rejected from ingested_files order by all"
    )
    listed = (
        "select parse_filename(file), line_number, reason, line from rejected_lines order by all"
    )
    assert [] != rows(plain, listed) == rows(watched.folder, listed)


def test_a_file_that_a_plain_ingest_left_in_the_middle_of_a_line_is_followed_from_there(
    in_pieces: InPieces,
) -> None:
    log = in_pieces.logs / "middle" / "x.log"

    assert (len(MIDDLE) - 20, 1, 1) == in_pieces.row(0, "middle/x.log")
    assert (log.stat().st_size, 3, 0) == in_pieces.row(1, "middle/x.log")
    assert {"a", "b", "c"} <= {*jobs(in_pieces.watched.folder)}


def test_a_half_line_that_rests_is_told_and_told_anew_once_it_is_whole(followed: Followed) -> None:
    log = followed.logs / "rests" / "x.log"
    held, told, whole = followed.ledgers["rests"]

    assert [(str(log), len(lines("rests a")), 1, 0)] == held
    assert [(str(log), len(lines("rests a")) + 9, 1, 1)] == told
    assert [(str(log), log.stat().st_size, 2, 0)] == whole
    assert [] == rows(followed.watched.folder, "from rejected_lines")


def test_a_text_that_is_written_while_it_is_read_ends_as_one_that_was_read_whole(
    in_pieces: InPieces,
) -> None:
    name = "written/written.log"

    assert {} == differences(in_pieces.plain, in_pieces.watched.folder)
    assert in_pieces.row(2, name) in rows(
        in_pieces.plain,
        "select bytes, events, rejected from ingested_files where file = ?",
        [str(in_pieces.logs / name)],
    )


def test_a_text_that_rested_in_half_a_line_and_goes_on_in_it_stays_one_dump(
    in_pieces: InPieces,
) -> None:
    name = "rested/rested.log"

    assert HALVED == in_pieces.row(1, name)[0]
    assert {} == differences(in_pieces.plain, in_pieces.watched.folder)
    assert in_pieces.row(2, name) in rows(
        in_pieces.plain,
        "select bytes, events, rejected from ingested_files where file = ?",
        [str(in_pieces.logs / name)],
    )


def test_a_log_that_is_copied_and_cut_begins_anew(followed: Followed) -> None:
    log = followed.logs / "cut" / "x.log"

    assert [
        (str(log), log.with_name("x.log.1").stat().st_size, 3, 0),
        (str(log), log.stat().st_size, 4, 0),
    ] == followed.ledgers["cut"][-1]
    assert list("abcdefg") == followed.jobs("cut")


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_a_log_that_is_rotated_between_a_look_and_its_reading_is_read_under_its_new_name(
    watched: Looks, log: Path, caplog: pytest.LogCaptureFixture, is_made_anew: bool
) -> None:
    def rotate() -> None:
        log.rename(log.with_name("x.log.1"))
        if is_made_anew:
            log.write_text(lines("new", "newer", "newest"), encoding="utf-8")

    log.write_text(lines("a"), encoding="utf-8")
    watched.look()
    append(log, lines("b"))
    watched.look(rotate)
    watched.look()

    assert sorted(["a", "b", *["new", "newer", "newest"] * is_made_anew]) == jobs(watched.folder)
    assert str(log) in [name for name, _, events, _ in watched.ledger() if events == 2]
    assert 0 == watched.news.backlog()
    assert "left aside" not in caplog.text


@pytest.mark.parametrize("when", ["before it is loaded", "while it is loaded"])
def test_a_text_that_is_rotated_before_it_is_parsed_is_read_under_its_new_name(
    watched: Looks,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    when: str,
) -> None:
    log = log.with_name("megatron.log")
    log.write_text(MEGATRON, encoding="utf-8")
    place, name = (plan, "batches") if when.startswith("before") else (loader, "load_batch")
    real = getattr(place, name)

    def rotating(*given: object) -> object:
        if place is plan:
            given = (list(given[0]), *given[1:])  # type: ignore[call-overload]
        log.rename(log.with_name("megatron.log.1"))
        return real(*given)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(place, name, rotating)
        watched.look()
    watched.look()

    assert ["megatron"] == jobs(watched.folder)
    assert 0 == watched.news.backlog()
    assert "cannot" not in caplog.text


def test_files_that_begin_alike_are_told_apart_when_they_go_on(followed: Followed) -> None:
    log = followed.logs / "alike" / "x.log"

    assert [(str(log), 2), (str(log.with_name("y.log")), 1)] == [
        (name, events) for name, _, events, _ in followed.ledgers["alike"][-1]
    ]
    assert ["a", "b", "c"] == followed.jobs("alike")


def test_what_a_log_got_before_its_link_led_to_the_next_is_loaded(
    watched: Looks, log: Path, tmp_path: Path
) -> None:
    link, following = tmp_path / "current.log", log.with_name("y.log")
    watched.arguments = (str(link),)
    log.write_text(lines("a"), encoding="utf-8")
    link.symlink_to(log)
    watched.look()
    append(log, lines("b"))
    following.write_text(lines("c"), encoding="utf-8")
    link.unlink()
    link.symlink_to(following)
    watched.look()
    append(log, lines("d"))
    watched.look()

    assert ["a", "b", "c", "d"] == jobs(watched.folder)
    assert [3, 1] == [events for _, _, events, _ in sorted(watched.ledger(), reverse=True)]


def test_another_file_in_the_place_of_a_removed_one_is_read_from_its_beginning(
    followed: Followed,
) -> None:
    assert ["a", "b", "c", "other"] == followed.jobs("place")
    assert str(followed.logs / "place" / "z.log") in [
        name for name, *_ in followed.ledgers["place"][-1]
    ]


def test_a_warehouse_that_was_begun_anew_gets_everything_again(watched: Looks, log: Path) -> None:
    text = log.with_name("megatron.log")
    log.write_text(lines("a"), encoding="utf-8")
    text.write_text(MEGATRON, encoding="utf-8")
    watched.look()
    shutil.rmtree(watched.folder)
    append(log, lines("b"))
    watched.look()

    assert ["a", "b", "megatron"] == jobs(watched.folder)


def test_a_text_that_is_written_anew_to_the_same_length_is_read_anew(followed: Followed) -> None:
    assert 2 == len(followed.ledgers["anew"][-1])


def test_a_file_that_cannot_be_read_stays_in_the_backlog(
    watched: Looks, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose owner forbids it: to root, as whom tests may run, nothing is forbidden."""
    log.write_text(lines("first"), encoding="utf-8")
    watched.look()
    log.with_name("other.log").write_text(lines("second"), encoding="utf-8")
    with monkeypatch.context() as forbidden:
        forbidden.setattr(dumps, "found_at", partial(_forbid, errno.EACCES))
        watched.look()

    assert (1, ["first"]) == (watched.news.backlog(), jobs(watched.folder))
    assert watched.news.lag_seconds() > 0

    watched.news.put_off(watched.news.was_put_off, 1e-9)
    watched.look()

    assert (0, ["first", "second"]) == (watched.news.backlog(), jobs(watched.folder))


def _forbid(number: int, *_: object) -> None:
    raise OSError(number, os.strerror(number))


def test_a_text_that_grows_is_put_off_and_due_once_that_time_is_over(
    watched: Looks, log: Path
) -> None:
    log.with_name("megatron.log").write_text(MEGATRON, encoding="utf-8")
    watched.look()
    seen = arrivals.look(watched.arguments)
    news = News(rest_seconds=3600)
    news.see(seen)

    news.put_off(watched.news.was_put_off, 3600)
    assert [] == news.due()
    news.put_off(watched.news.was_put_off, 0)
    assert list(seen.values()) == news.due()


def test_a_log_of_events_that_is_written_over_in_its_middle_is_read_anew(
    followed: Followed,
) -> None:
    assert ["after", "before", "first", "other"] == followed.jobs("over")
    assert 2 == len(followed.ledgers["over"][-1])


def test_half_a_line_of_text_waits_for_its_end(watched: Looks, log: Path) -> None:
    whole = "JobID|JobIDRaw|State|Start|End|Submit|Elapsed|AllocTRES\n"
    log.write_text(whole + "17|17|COMPLE", encoding="utf-8")
    watched.look()

    assert [len(whole)] == [one.length for one in watched.news.handled.values()]


@pytest.mark.parametrize(
    ("name", "earlier"),
    [
        ("x.log", []),
        ("x.log.1", ["x.log"]),
        ("x.log.12.gz", ["x.log.12", "x.log"]),
        ("x.log-20260301.zst", ["x.log-20260301", "x.log"]),
        ("x.log.20260301-093000", ["x.log"]),
        ("x.gz", ["x"]),
        ("2026.jsonl", []),
        ("run.2026", []),
    ],
)
def test_the_names_that_a_rotated_log_may_have_had(name: str, earlier: list[str]) -> None:
    assert [name, *earlier] == names(name)


def test_a_log_in_which_nobody_wrote_is_nothing_to_speak_of_once_it_is_packed_either(
    watched: Looks, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    packed = gzip.compress(b"")
    for name, data in (("x.log", b""), ("x.log.1.gz", packed), ("broken.gz", packed[:-9])):
        log.with_name(name).write_bytes(data)
        os.utime(log.with_name(name), (0, 0))
    watched.look()

    [said] = caplog.messages
    assert f"left aside {log.with_name('broken.gz')}: it gives no line: its gzip stream is" in said
    assert 0 == watched.news.backlog()


def test_a_large_gzip_dump_that_is_damaged_is_told_of_once_until_it_changes(
    watched: Looks, log: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual, "_FEWEST_BYTES", 0)
    packed = gzip.compress(lines("a", "b").encode(), compresslevel=0)
    dump = log.with_name("dump.gz")
    for second, data in enumerate((packed.replace(b'"a"', b'"c"'), packed)):
        dump.write_bytes(data)
        os.utime(dump, (second, second))
        watched.look()
        watched.look()

    [said] = [one.message for one in caplog.records if one.levelname == "WARNING"]
    assert said.startswith(f"nothing loaded: {dump} cannot be read: its gzip checksum is not")
    assert ["a", "b"] == jobs(watched.folder)


def test_how_much_waits_is_told_while_a_long_round_is_under_way(
    watched: Looks, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "BATCH_FILES", 1)
    watched.settings = Settings(publish_every=timedelta(microseconds=1))
    told: list[int] = []
    watched.tell = lambda: told.append(watched.news.backlog())
    for name in ("x.log", "y.log", "z.log"):
        log.with_name(name).write_text(lines(name), encoding="utf-8")
    watched.look()

    assert sorted(told, reverse=True) == told
    assert {3, 2, 1, 0} == set(told)


def test_how_it_goes_is_told_while_many_files_are_looked_through(watched: Looks, log: Path) -> None:
    for number in range(5):
        log.with_name(f"{number}.log").write_text("no dump\n", encoding="utf-8")
    told: list[int] = []
    watched.tell = lambda: told.append(watched.news.backlog())
    watched.look()

    assert 5 <= len(told)


def test_of_two_files_of_one_content_none_waits_when_the_first_is_published(
    watched: Looks, log: Path
) -> None:
    watched.settings = Settings(publish_every=timedelta(microseconds=1))
    for name in ("x.log", "y.log"):
        log.with_name(name).write_text(lines("a"), encoding="utf-8")
    watched.look()

    assert (0, 0.0) == (watched.news.backlog(), watched.news.lag_seconds())


def test_a_link_out_of_a_watched_folder_is_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "far.jsonl").write_text("{}\n", encoding="utf-8")
    (inside / "near.jsonl").write_text("{}\n", encoding="utf-8")
    (inside / "far.jsonl").symlink_to(outside / "far.jsonl")
    (inside / "again.jsonl").symlink_to(inside / "near.jsonl")

    seen = arrivals.look([str(inside)])

    assert [(inside / "near.jsonl").stat().st_ino] == [sight.key[1] for sight in seen.values()]
    assert 1 == len(arrivals.look([str(inside / "far.jsonl")]))


def test_a_folder_that_gets_the_number_of_a_deleted_file_is_not_that_file(tmp_path: Path) -> None:
    log, folder = tmp_path / "x.log", tmp_path / "folder"
    log.touch()
    folder.mkdir()
    [seen] = arrivals.look([str(log)]).values()
    status = folder.stat()
    before = replace(seen, key=(status.st_dev, status.st_ino))
    log.unlink()

    assert {} == arrivals.look([str(tmp_path)], known=[before])


@pytest.mark.parametrize("is_named", [True, False])
def test_a_file_that_a_folder_takes_the_place_of_is_gone_and_what_the_folder_holds_is_loaded(
    tmp_path: Path, log: Path, is_named: bool
) -> None:
    log.parent.mkdir()
    watched = Looks(tmp_path / "warehouse", (str(log if is_named else log.parent),))
    log.write_text(lines("first"), encoding="utf-8")
    watched.look()
    [before] = watched.news.handled.values()
    log.unlink()
    log.mkdir()
    # some file systems give the number at once, others later
    status = log.stat()
    key = status.st_dev, status.st_ino
    before = replace(before, sight=replace(before.sight, key=key))
    watched.news.see({key: before.sight})
    watched.news.keep(before)
    (log / "y.jsonl").write_text(lines("second"), encoding="utf-8")
    watched.look()

    assert (0, ["first", "second"]) == (watched.news.backlog(), jobs(watched.folder))
    assert [log / "y.jsonl"] == [one.sight.path for one in watched.news.handled.values()]
