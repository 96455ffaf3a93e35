"""Which run a file of torchrun belongs to: from what it says, from where it stands, and from what
stands beside it.

Looks at the first bytes of a few recognised neighbours, never at a whole file, and makes no events.
"""

from __future__ import annotations

import gzip
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from pathlib import Path

import zstandard

from ingest import zstd_frames
from ingest.collectors.base import Dump
from ingest.collectors.lines import without_colours
from ingest.collectors.run_names import LONGEST_ID, as_text, called_by, is_part
from ingest.collectors.torchelastic_signs import recognises
from ingest.collectors.training_log_identity import job_of_output

_HEAD_BYTES = 32 * 1024
_MOST_ENTRIES = 300  # of a folder, one of each kind of name before more of any
_MOST_HEADS = 40
# logs of a folder are read one after the other, and have the same neighbours but for themselves;
# those of a folder a rank, all of these folders
_FOLDERS_KEPT = 2 * _MOST_ENTRIES
_HEADS_KEPT = 1_000
_SETTLED_NS = 2_000_000_000  # a folder that changed since may change again and keep its time
_LEVELS = 3

# `mkdtemp` puts eight characters behind the run's id
_LOG_FOLDER = re.compile(r"(?P<run>.+)_[a-z0-9_]{8}")
_OF_ATTEMPT = re.compile(r"attempt_(\d{1,9})")
_RUN_IDS = (
    re.compile(rb"^[^\n]{0,200}?\brun_id {1,40}: (\S{1,256})", re.MULTILINE),
    re.compile(rb"--rdzv[-_]id[= ](\S{1,256})"),
    re.compile(rb"\"name\": ?\"torchelastic\.[^\n]{0,400}?\"run_id\": ?\"([^\"\n]{1,256})\""),
)
_SCHEDULER_JOB = re.compile(
    rb"(?:\bSLURM_JOB_?ID\b[\"']?\s?[=:]\s?[\"']?"
    rb"|^\W{0,8}(?i:slurm)[ _-]?(?i:job)(?:[ _-]?(?i:id))?\W{1,4}"
    rb"|^\W{0,8}(?:\S{1,80}: )?\W{0,8}(?i:job) (?=\d{1,18} .{0,200}\brestart=\d)"
    rb"|\*\*\* (?:JOB|STEP) )(\d{1,18}(?:[_+]\d{1,9})?)\b"
)
_NUMBER = re.compile(r"\d+")
_RESTART = re.compile(
    rb"(?:\bSLURM_RESTART_COUNT\b[\"']?\s?[=:]\s?[\"']?"
    rb"|^\W{0,8}(?:\S{1,80}: )?\W{0,8}(?i:job) \d{1,18}\b.{0,200}\brestart=)(\d{1,6})\b"
)
_TIMED_RECORD = re.compile(
    rb"^[^\n]{0,200}?\"[@\w]{1,20}\": ?\"?[12]\d{3}[^\n]{0,200}?"
    rb"\"name\": ?\"torchelastic\.worker\.status\.",
    re.MULTILINE,
)
_TIMED_LOG = re.compile(
    rb"^[^\n]{0,200}?(?:[IWEFC]\d{4} |\[\d{4}-\d\d-\d\d )[^\n]{0,60}torch[/.]distributed[/.]",
    re.MULTILINE,
)
# what torchrun calls a run that was given no id
_NO_ID = frozenset({"", "none", "None", "null"})


@dataclass(frozen=True, slots=True)
class Place:
    """What the place of a file and its neighbours say about its run. `is_nameless`: neighbours are
    torchrun's, and none of them names it: the folder does.
    """

    run_id: str | None = None
    scheduler_job: str | None = None
    folder: str | None = None
    is_nameless: bool = False
    generation: int | None = None
    local_rank: int | None = None


@dataclass(slots=True)
class Run:
    """The run that the lines of a file are told of, as far as they said it. `output_of` is the
    scheduler's job that the file's name tells.
    """

    place: Callable[[str | None], Place]
    cluster: str | None
    output_of: str | None = None
    run_id: str | None = None
    scheduler_job: str | None = None
    restart: int | None = None
    _is_used: bool = False
    _places: dict[str | None, Place] = field(default_factory=dict)

    def hear(self, text: bytes) -> None:
        """Take in what a line says about the scheduler's job, if it does."""
        job, restart = scheduler_job_in(text), _RESTART.search(text)
        if job is not None:
            if self._is_used or (self.scheduler_job is not None and job != self.scheduler_job):
                self.restart, self._is_used = None, False  # of the job's next try nothing is known
            self.scheduler_job = job
        if restart is not None:
            self.restart = int(restart[1])

    def use(self) -> None:
        """A launch has begun: a job that is told after it is another try."""
        self._is_used = True

    def at_place(self, run_id: str | None) -> Place:
        """What stands around the file, asked once for each id."""
        if run_id not in self._places:
            self._places[run_id] = self.place(run_id)
        return self._places[run_id]

    def named(self, run_id: str | None, scheduler_job: str | None) -> tuple[str | None, str | None]:
        """The job's id and the scheduler's id of it. None: nothing names the job."""
        place = self.at_place(run_id)
        scheduler_job = scheduler_job or self.output_of or place.scheduler_job
        name = run_id or place.run_id
        if name is None and scheduler_job is not None:
            name = f"{self.cluster}:{scheduler_job}" if self.cluster else scheduler_job
        return name or place.folder, scheduler_job

    def is_named(self, run_id: str | None, scheduler_job: str | None) -> bool:
        """Whether more than its folder names the job."""
        place = self.at_place(run_id)
        told = (run_id, scheduler_job, self.output_of, place.run_id, place.scheduler_job)
        return any(told)


def usable(run_id: str | None) -> str | None:
    """An id that names a run, or None for what torchrun calls a run without one."""
    return None if run_id is None or run_id in _NO_ID else as_text(run_id)[:LONGEST_ID]


def scheduler_job_in(text: bytes) -> str | None:
    """The id of the scheduler's job that a line of environment or of Slurm states."""
    found = _SCHEDULER_JOB.search(text)
    return found[1].decode() if found else None


def run_in_path(path: str) -> tuple[str | None, int | None, int | None]:
    """Run id, generation and local rank of `<run id>_<random>/attempt_<n>/<local rank>/...`."""
    parts = path.replace("\\", "/").split("/")
    for at in range(len(parts) - 1, 0, -1):
        attempt = _OF_ATTEMPT.fullmatch(parts[at])
        folder = _LOG_FOLDER.fullmatch(parts[at - 1]) if attempt else None
        if attempt and folder:
            below = parts[at + 1] if at + 1 < len(parts) else ""
            local = int(below) if below.isdecimal() and len(below) < 7 else None
            return usable(folder["run"]), int(attempt[1]), local
    return None, None, None


def run_of(dump: Dump, cluster: str | None) -> Run:
    """The run of a dump. What stands around it is looked up when it is asked for."""
    output_of = None if dump.path is None else job_of_output(dump.path.name)
    return Run(lambda run_id: place_of(dump, run_id), cluster, output_of)


def timed_neighbour(dump: Dump, run_id: str | None) -> str | None:
    """A file of the same run that tells times where this one's records tell none, of several the
    one whose name is most like it.
    """
    if dump.path is None:
        return None
    path = Path(os.path.abspath(dump.path))
    nearby = [
        (file, head)
        for folder in _own_folders(path)
        for file in _files(_nearby(folder, path), path)
        if (head := _head(file)) and (run_id is None or run_id in _runs_in(head))
    ]
    for pattern in (_TIMED_RECORD, _TIMED_LOG):
        timed = [
            os.path.relpath(file, path.parent) for file, head in nearby if pattern.search(head)
        ]
        if timed:
            return max(timed, key=lambda name: SequenceMatcher(None, name, path.name).ratio())
    return None


def place_of(dump: Dump, run_id: str | None = None) -> Place:
    """What stands around a dump says of the run: of the one that it names, else of the only one."""
    return Place() if dump.path is None else place_at(dump.path, run_id)


def own_folder(path: Path) -> Path:
    """The folder of the run that a file is of: what stands in it, or below, may name its job."""
    return _own_folders(Path(os.path.abspath(path)))[-1]


def folder_of_worker(path: Path) -> Path | None:
    """The same of a worker's log in torchrun's own folder of logs, whose name is the run's."""
    run_id, _, _ = run_in_path(os.path.abspath(path))
    return None if run_id is None else own_folder(path)


def is_misnamed(path: Path, job_keys: Collection[str]) -> bool:
    """Whether the folder of a file named one of these jobs, and what stands beside it does now."""
    folder = _name_of(own_folder(path))
    if folder not in job_keys:
        return False  # mostly, and nothing need be read to know it
    place = place_at(path)
    return (place.run_id or place.scheduler_job or folder) != folder


def place_at(path: Path, run_id: str | None = None) -> Place:
    """The same of the file at a path, whether or not it is there."""
    path = Path(os.path.abspath(path))
    of_path, generation, local_rank = run_in_path(path.as_posix())
    run_id = run_id or of_path
    folders = _own_folders(path)
    job: str | None = None
    is_nameless = False
    for folder in folders:
        runs, jobs = _told_in(folder, path)
        if run_id is None and len(runs) > 1:
            is_nameless = False
            break  # a folder of several runs: this file may be of any
        run_id = run_id or next(iter(runs), None)
        named = jobs.get(run_id)
        if named is not None and len(named) == 1:
            (job,) = named
            break
        is_nameless |= run_id is None and named == set()
    is_nameless &= run_id is None and job is None
    return Place(run_id, job, _name_of(folders[-1]), is_nameless, generation, local_rank)


def _name_of(folder: Path) -> str | None:
    return called_by(folder.parts[1:]) or as_text(folder.name)[:LONGEST_ID] or None


def _own_folders(path: Path) -> list[Path]:
    """The folders around a file up to the first that has a name of its own: the run's. What stands
    higher is of other runs.
    """
    folders = list(path.parents)
    for index, folder in enumerate(folders[:-1]):
        if _OF_ATTEMPT.fullmatch(folder.name) and _LOG_FOLDER.fullmatch(folders[index + 1].name):
            folders = folders[index + 2 :]  # torchrun's own folder of logs
            break
    named = next((i for i, folder in enumerate(folders) if not is_part(folder.parts)), 0)
    return folders[: min(named + 1, _LEVELS)]


def _told_in(folder: Path, own: Path) -> tuple[set[str], dict[str | None, set[str]]]:
    """The runs of which the files of a folder tell, and the scheduler's jobs of each; under None
    those of files that tell no run: many have no id.
    """
    nearby = _nearby(folder, own)
    runs = {run for entry in nearby if (run := _run_of_log_folder(entry)) is not None}
    jobs: dict[str | None, set[str]] = {}
    for file in _files(nearby, own):
        said = _said_by(file)
        if said is None:
            continue
        runs |= said.runs
        if len(said.runs) <= 1:
            name = next(iter(said.runs), None)
            jobs.setdefault(name, set()).update(said.jobs)
    return runs, jobs


@dataclass(frozen=True, slots=True)
class _Said:
    """What the first bytes of a file of torchrun's, or its name, say of its run."""

    runs: frozenset[str]
    jobs: frozenset[str]


def _said_by(file: str) -> _Said | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return _said_then(file, found.st_size, found.st_ctime_ns)


@lru_cache(_HEADS_KEPT)
def _said_then(file: str, _bytes: int, _changed_ns: int) -> _Said | None:
    head = _head(file)
    if not recognises(file, head):
        return None
    jobs = _scheduler_jobs_in(head) or _output_of(file)
    return _Said(frozenset(_runs_in(head)), frozenset(jobs))


def _nearby(folder: Path, own: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, and in those below it that are a part of the same run. Files of many
    ranks come behind one of each kind: the log that names the run may be the last by name.
    """
    found, around = _looked_into(str(folder)), {str(place) for place in own.parents}
    parts = [_looked_into(part).entries for part in found.parts if part not in around]
    return _kinds_first(entry for some in (found.entries, *parts) for entry in some)


def _files(nearby: list[os.DirEntry[str]], own: Path) -> Iterator[str]:
    files = (entry.path for entry in nearby if entry.is_file() and entry.path != str(own))
    return islice(files, _MOST_HEADS)


def _runs_in(head: bytes) -> Iterator[str]:
    for pattern in _RUN_IDS:
        for found in pattern.finditer(head):
            name = usable(found[1].decode("utf-8", "replace"))
            if name is not None:
                yield name


def _scheduler_jobs_in(head: bytes) -> set[str]:
    jobs = map(scheduler_job_in, head.split(b"\n"))
    return {job for job in jobs if job is not None}


def _output_of(file: str) -> set[str]:
    job = job_of_output(Path(file).name)
    return set() if job is None else {job}


def _run_of_log_folder(entry: os.DirEntry[str]) -> str | None:
    """The run whose workers torchrun gave this folder, by its name and by what is in it."""
    named = _LOG_FOLDER.fullmatch(entry.name) if entry.is_dir() else None
    name = usable(named["run"]) if named else None
    if name is None:
        return None
    below = _looked_into(entry.path).entries
    return name if any(_OF_ATTEMPT.fullmatch(folder.name) for folder in below) else None


@dataclass(frozen=True, slots=True)
class _Folder:
    """What is in a folder, and those folders in it that are a part of the same run."""

    entries: list[os.DirEntry[str]]
    parts: list[str]


def _looked_into(folder: str) -> _Folder:
    try:
        changed_ns = os.stat(folder).st_ctime_ns
    except OSError:
        return _Folder([], [])
    is_settled = changed_ns < time.time_ns() - _SETTLED_NS
    return _looked_into_then(folder, changed_ns) if is_settled else _listed(folder)


@lru_cache(_FOLDERS_KEPT)
def _looked_into_then(folder: str, _changed_ns: int) -> _Folder:
    return _listed(folder)


def _listed(folder: str) -> _Folder:
    try:
        with os.scandir(folder) as told:
            found = sorted(told, key=lambda entry: entry.name)
    except OSError:
        return _Folder([], [])
    entries, way = _kinds_first(found)[:_MOST_ENTRIES], Path(folder).parts
    return _Folder(
        entries,
        [each.path for each in entries if each.is_dir() and is_part((*way, each.name))],
    )


def _kinds_first(entries: Iterable[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
    """The first of each kind of name, then the second of each, and so on: a kind is a name whatever
    its numbers.
    """
    before: Counter[str] = Counter()
    placed: list[tuple[int, os.DirEntry[str]]] = []
    for entry in entries:
        kind = _NUMBER.sub("", entry.name)
        placed.append((before[kind], entry))
        before[kind] += 1
    return [entry for _, entry in sorted(placed, key=itemgetter(0))]


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic[:2] == b"\x1f\x8b":
                with gzip.open(file) as unpacked:
                    return without_colours(unpacked.read(_HEAD_BYTES))
            if zstd_frames.begins(magic):
                reader = zstandard.ZstdDecompressor()
                with reader.stream_reader(file, read_across_frames=True) as unpacked:
                    return without_colours(unpacked.read(_HEAD_BYTES))
            return without_colours(file.read(_HEAD_BYTES))
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        return b""
