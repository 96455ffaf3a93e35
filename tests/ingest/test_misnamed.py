"""Files of a run of torchrun that come before the one that names it end as if all came at once."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import pytest

from ingest import loader, plan
from tests.ingest.torchelastic_dumps import (
    begins,
    checkpoint,
    error_file,
    fails,
    finishes,
    launched,
    recorded,
    starts,
    written,
)
from tests.ingest.warehouses import differences, kept
from tests.ingest.watchers import seen, start, until
from tests.queries.engine import hearing, ingest, rows

JOBS = "select job_id from jobs order by all"
FILES = "select file from ingested_files"


def run_of(folder: Path, run_id: str = "run-a", number: str | None = None) -> dict[str, Path]:
    """All files of a run that failed once, by what they are. The folder's number is in their
    content: no two runs tell the same, nor at the same times.
    """
    own = folder.name.removeprefix("llama-")
    told, host = {"run_id": run_id}, f"node-{own}"
    agent = [
        *([f"SLURM_JOB_ID={number}"] if number else []),
        *begins(0, **told),
        *starts(2),
        *fails(60, 1, left=2),
        *starts(63, restart=1),
        *finishes(120),
    ]
    trained = [
        f"2026-11-20 05:42:{second:02d},{own:>03} INFO step {second}/99 | loss 2.{own}"
        for second in range(5, 59, 6)
    ]
    saves = [
        json.dumps(checkpoint("save", event, seconds, "1", path=f"{folder}/step_7"))
        for event, seconds in (("start", 40), ("end", 44))
    ]
    worker = f"logs/{run_id}_abcd1234/attempt_0/0"
    return {
        "saves": written(folder, *saves, name="torch_loggers/dcp_rank0.jsonl"),
        "trainer": written(folder, *trained, name="logs/train.log"),
        "error": written(folder, error_file(f"E: {own}", 59), name=f"{worker}/error.json"),
        "records": written(
            folder, *recorded(*launched(1, **told, host=host)), name="elastic/events.jsonl"
        ),
        "agent": written(folder, *agent, name="agent.log"),
    }


def put(files: dict[str, Path], *names: str, aside: Path) -> list[Path]:
    """Lay some of the files of a run, and no others, where they belong. Their times stay."""
    for name, file in files.items():
        held = aside / name
        if file.exists() and name not in names:
            aside.mkdir(exist_ok=True)
            file.rename(held)
            while not any(file.parent.iterdir()):  # the name of a folder may be the run's
                file = file.parent
                file.rmdir()
        elif held.exists() and name in names:
            file.parent.mkdir(parents=True, exist_ok=True)
            held.rename(file)
    return [files[name] for name in names]


# a story of one run: before each ingest it gives what to ingest of it
Story = Iterator[list[object]]


@dataclass(frozen=True, slots=True)
class Fleet:
    """The warehouse of all stories, and how it differs from one that was told at once all that was
    there in the end.
    """

    late: Path
    differing: dict[str, tuple[object, object]]
    jobs_before: list[tuple[Any, ...]]  # after the first ingest
    warned: str


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("misnamed")
    once, late = folder / "once", folder / "late"
    jobs_before: list[tuple[Any, ...]] = []
    (folder / "fleet").mkdir()
    (folder / "link").symlink_to(folder / "fleet")
    with pytest.MonkeyPatch.context() as patch, hearing() as warned:
        stories = [story(folder / "fleet" / name, patch) for name, story in STORIES.items()]
        for given in zip_longest(*stories, fillvalue=()):
            ingest(late, *chain(*given))
            jobs_before = jobs_before or rows(late, JOBS)
        ingest(once, folder / "fleet")
    return Fleet(late, differences(once, late), jobs_before, "\n".join(warned))


def aside_of(folder: Path) -> Path:
    return folder.parents[1] / f"aside of {folder.name}"


def named_last(run_id: str, number: str | None) -> Callable[[Path, pytest.MonkeyPatch], Story]:
    def story(folder: Path, _: pytest.MonkeyPatch) -> Story:
        files, aside = run_of(folder, run_id, number), aside_of(folder)
        yield [*put(files, "saves", "trainer", aside=aside)]
        put(files, *files, aside=aside)
        yield [files[name] for name in ("records", "error", "agent")]

    return story


def one_by_one(folder: Path, _: pytest.MonkeyPatch) -> Story:
    files, there = run_of(folder, "none", "1155"), list[str]()
    for name in ("trainer", "error", "saves", "agent", "records"):
        there.append(name)
        put(files, *there, aside=aside_of(folder))
        yield [files[name]]


def given_again(folder: Path, _: pytest.MonkeyPatch) -> Story:
    files, aside = run_of(folder, "run-6"), aside_of(folder)
    yield [*put(files, "saves", "trainer", aside=aside)]
    put(files, *files, aside=aside)
    yield [folder]
    yield [folder]


def given_by(place: str) -> Callable[[Path, pytest.MonkeyPatch], Story]:
    def story(folder: Path, patch: pytest.MonkeyPatch) -> Story:
        files, aside = run_of(folder, f"run of {place}"), aside_of(folder)
        put(files, "saves", "trainer", aside=aside)
        if place == "folder":
            patch.chdir(folder)
            yield ["."]
            patch.chdir(folder.parents[1])
        else:
            yield [folder.parents[1] / "link" / folder.name]
        put(files, "saves", "trainer", "agent", aside=aside)
        yield [files["agent"]]

    return story


def named_by_the_folder_of_a_worker(folder: Path, _: pytest.MonkeyPatch) -> Story:
    files, aside = run_of(folder, "run-9"), aside_of(folder)
    yield [*put(files, "saves", aside=aside)]
    worker = folder / "logs/run-9_abcd1234/attempt_0/0/stdout.log"
    worker.parent.mkdir(parents=True)
    (aside / "trainer").rename(worker)
    yield [worker]


def grown(folder: Path, _: pytest.MonkeyPatch) -> Story:
    files, aside = run_of(folder, "run-10"), aside_of(folder)
    yield [*put(files, "saves", "trainer", aside=aside)]
    put(files, *files, aside=aside)
    with files["trainer"].open("a") as log:
        log.write("2026-11-20 05:43:10,000 INFO step 90/99 | loss 2.5\n")
    yield [folder]


KINDS = {("run-a", None): 1, ("run-b", "1153"): 2, ("none", "1154"): 3, ("none", None): 4}
BY = {"folder": 7, "link": 8}
STORIES = {
    **{f"llama-{own}": named_last(*kind) for kind, own in KINDS.items()},
    "llama-5": one_by_one,
    "llama-6": given_again,
    **{f"llama-{own}": given_by(place) for place, own in BY.items()},
    "llama-9": named_by_the_folder_of_a_worker,
    "llama-10": grown,
}


@pytest.mark.parametrize(("run_id", "number"), KINDS)
def test_a_run_that_is_named_last_is_one_job(fleet: Fleet, run_id: str, number: str | None) -> None:
    assert (f"llama-{KINDS[run_id, number]}",) in fleet.jobs_before
    assert sorted((name,) for name in STORIES) == fleet.jobs_before
    assert {} == fleet.differing


def test_files_of_a_run_may_come_one_by_one(fleet: Fleet) -> None:
    assert {} == fleet.differing


def test_files_that_are_given_again_with_the_one_that_names_them_are_counted_once(
    fleet: Fleet,
) -> None:
    assert {} == fleet.differing
    assert [("agent.log",), ("dcp_rank0.jsonl",), ("error.json",), ("events.jsonl",),
            ("train.log",)] == rows(
        fleet.late,
        "select parse_filename(file) as name from ingested_files "
        "where file like '%/llama-6/%' order by name",
    )  # fmt: skip


def test_who_is_stopped_between_two_batches_reads_the_others_at_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once, late, aside = tmp_path / "once", tmp_path / "late", tmp_path / "aside"
    files = run_of(tmp_path / "fleet/llama-7")
    ingest(late, *put(files, "saves", "trainer", aside=aside))
    put(files, "saves", "trainer", "agent", aside=aside)
    ingest(once, tmp_path / "fleet")
    batches: list[int] = []
    load_batch = loader.load_batch

    def stopped(*arguments: Any, **more: Any) -> object:
        batches.append(1)
        if len(batches) == 2:
            raise KeyboardInterrupt
        return load_batch(*arguments, **more)

    monkeypatch.setattr(plan, "BATCH_FILES", 1)
    monkeypatch.setattr(loader, "load_batch", stopped)
    assert 130 == ingest(late, files["agent"])
    assert 0 == ingest(late, tmp_path / "fleet")

    assert {} == differences(once, late)


@pytest.mark.parametrize("by", BY)
def test_they_are_found_whatever_way_they_were_given(fleet: Fleet, by: str) -> None:
    assert (f"llama-{BY[by]}",) in fleet.jobs_before
    assert {} == fleet.differing


def test_a_trainers_log_in_torchruns_own_folder_names_them(fleet: Fleet) -> None:
    assert {} == fleet.differing


@dataclass(frozen=True, slots=True)
class Others:
    """What came of runs whose files are not all read once more."""

    gone: dict[bool, dict[str, Path]]
    jobs_before_dry_run: list[tuple[Any, ...]]
    jobs_after_dry_run: list[tuple[Any, ...]]
    jobs: list[tuple[Any, ...]]
    warned: str


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Others:
    folder = tmp_path_factory.mktemp("others")
    late = folder / "late"
    tried = run_of(folder / "fleet/llama-11", "run-11")
    gone = {
        is_there: run_of(folder / f"fleet/llama-{own}", f"run-{own}")
        for is_there, own in ((False, 12), (True, 13))
    }
    beside = [run_of(folder / f"fleet/both/llama-{own}", f"run-{own}") for own in (14, 15)]
    runs = [tried, *gone.values(), *beside]
    asides = [folder / f"aside {number}" for number in range(len(runs))]
    for files, aside in zip(runs, asides, strict=True):
        put(files, "saves", aside=aside)
    ingest(late, *(files["saves"] for files in runs[:3]), folder / "fleet/both")
    content = gone[True]["saves"].read_text()

    put(tried, *tried, aside=asides[0])
    before = rows(late, JOBS)
    ingest(late, "--dry-run", tried["agent"])
    after = rows(late, JOBS)

    for files, aside in zip(gone.values(), asides[1:], strict=False):
        put(files, "agent", aside=aside)
    gone[True]["saves"].parent.mkdir()
    gone[True]["saves"].write_text(content.replace("start", "begin"))
    put(beside[0], *beside[0], aside=asides[3])
    with hearing() as warned:
        ingest(late, *(files["agent"] for files in runs[:4]))
    return Others(gone, before, after, rows(late, JOBS), "\n".join(warned))


# what is gone, or another, stays a job of its own, and so does what is of a run beside it
OTHERS = [
    *(("llama-12",), ("llama-13",), ("llama-15",)),
    *(("run-11",), ("run-12",), ("run-13",), ("run-14",)),
]


def test_a_dry_run_leaves_them_as_they_are(others: Others) -> None:
    assert ("llama-11",) in others.jobs_before_dry_run
    assert others.jobs_before_dry_run == others.jobs_after_dry_run
    assert OTHERS == others.jobs


def test_they_are_read_as_they_were_whatever_the_other_one_is_read_as(tmp_path: Path) -> None:
    late, aside = tmp_path / "late", tmp_path / "aside"
    files = run_of(tmp_path / "fleet/llama-7")
    put(files, "trainer", aside=aside)
    ingest(late, "--timezone", "Asia/Tokyo", "--cluster", "lab", files["trainer"])
    told = (
        "select files.cluster, time_zone, min(at_us) from events inner join files using (file_no) "
    )
    of_trainer = f"{told} where file = '{files['trainer']}' group by all"
    before = kept(late, of_trainer)
    put(files, *files, aside=aside)

    ingest(late, files["agent"])

    assert [("lab", "Asia/Tokyo")] == [row[:2] for row in before]
    assert before == kept(late, of_trainer)
    assert ("run-a",) in rows(late, JOBS)


@pytest.mark.parametrize("is_there", [False, True])
def test_one_that_is_gone_or_another_is_told_of(others: Others, is_there: bool) -> None:
    files = others.gone[is_there]

    assert OTHERS == others.jobs
    assert f"{files['saves']} was loaded before {files['agent']} told" in others.warned


def test_one_that_has_grown_is_read_as_a_whole_when_it_is_given(fleet: Fleet) -> None:
    assert {} == fleet.differing
    assert "counts twice" not in fleet.warned


def test_jobs_that_have_the_name_of_their_folder_are_not_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aside, late = tmp_path / "aside", tmp_path / "late"
    files = run_of(tmp_path / "fleet/llama-7", "llama-7")
    ingest(late, *put(files, "saves", aside=aside))
    put(files, *files, aside=aside)
    capsys.readouterr()

    ingest(late, files["agent"])

    assert "from 1 file" in capsys.readouterr().out
    assert [("llama-7",)] == rows(late, JOBS)


def test_a_file_that_a_rule_names_is_named_by_nothing_beside_it(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tmp_path / "ett.toml"
    config.write_text("[[identity]]\npath = '/fleet/(?P<job_id>[^/]+)/'\n")
    monkeypatch.setenv("ETT_CONFIG", str(config))
    late, aside = tmp_path / "late", tmp_path / "aside"
    files = run_of(tmp_path / "fleet/llama-7")
    ingest(late, *put(files, "saves", "trainer", aside=aside))
    put(files, "saves", "agent", aside=aside)
    capsys.readouterr()

    caplog.set_level(logging.WARNING, "ingest")
    ingest(late, files["agent"])

    assert [("llama-7",)] == rows(late, JOBS)
    assert "counts twice" not in caplog.text
    assert "from 1 file" in capsys.readouterr().out


def test_a_run_beside_it_takes_no_file_of_another(others: Others) -> None:
    assert OTHERS == others.jobs


def test_a_watcher_reads_them_once_more_too(tmp_path: Path) -> None:
    once, watched, aside = tmp_path / "once", tmp_path / "watched", tmp_path / "aside"
    files = run_of(tmp_path / "fleet/llama-7")
    ingest(once, tmp_path / "fleet")
    put(files, "saves", "trainer", aside=aside)
    watcher = start(watched, tmp_path / "fleet")
    try:
        until(watcher, lambda: [("llama-7",)] == seen(watcher, JOBS), "the folder's")
        put(files, *files, aside=aside)
        until(watcher, lambda: 5 == len(seen(watcher, FILES) or ()), "all files")
        until(watcher, lambda: [("run-a",)] == seen(watcher, JOBS), "one job")
        assert 0 == watcher.end()
    finally:
        watcher.process.kill()
        watcher.process.wait()

    assert {} == differences(once, watched)
