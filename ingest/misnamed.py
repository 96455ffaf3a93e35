"""Dumps that were read before what stands beside them named their jobs: to be read once more.

Else a run would be two jobs for ever, whose time counts twice, because its files came in this
order.
"""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import duckdb

from ingest import dumps
from ingest.collectors.base import Reading
from ingest.errors import UnreadableDump
from ingest.formats import FORMATS
from ingest.identity import names_job_at
from ingest.ledger import Incoming
from ingest.words import counted

_LOG = logging.getLogger("ingest")


class _Loaded(NamedTuple):
    """A dump that was loaded: what the ledger says of it."""

    file_no: int
    name: str
    format: str
    bytes: int
    sha256: str
    cluster: str | None
    time_zone: str | None  # None: an older release loaded it


class Misnamed:
    """What the ledger says of such dumps, asked once: on the disk lies all that names them."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        warehouse: Path,
        unpacked_ratio: float,
        reading: Reading,
    ) -> None:
        self._connection = connection
        self._warehouse = warehouse
        self._unpacked_ratio = unpacked_ratio
        self._reading = reading
        self._rows: dict[Path, list[_Loaded]] | None = None

    def beside(self, one: Incoming) -> Sequence[Incoming]:
        """The loaded dumps that are named otherwise now that `one` is beside them, each in the
        place of its row; of a folder once. Of one that cannot be read as it was a warning tells.
        """
        collector = one.format.collector
        if collector is None or collector.names_others_in is None:
            return ()
        named = collector.names_others_in(one.file.path)
        if named is None:
            return ()
        if self._rows is None:
            rules = self._reading.identity
            self._rows = _by_folder(
                row for row in _loaded(self._connection) if not names_job_at(rules, Path(row.name))
            )
        rows = self._rows.pop(Path(os.path.realpath(named)), [])
        keys = _job_keys(self._connection, [row.file_no for row in rows])
        found = [
            again
            for row in rows
            if row.file_no != one.grown_from and _is_misnamed(row, keys[row.file_no])
            if (again := self._again(row, one)) is not None
        ]
        if found:
            said = counted(len(found), "dump")
            _LOG.info("%s tells which run %s beside it are of: read anew", one.file.name, said)
        return found

    def _again(self, row: _Loaded, one: Incoming) -> Incoming | None:
        """The dump of a row as it was, to be read as it was. One that has grown is read as a whole
        when it is given.
        """
        with suppress(OSError, UnreadableDump):
            file = dumps.found_at(Path(row.name), self._warehouse, self._unpacked_ratio)
            if file is None or file.bytes > row.bytes:
                return None
            fingerprint = dumps.fingerprint(file)
            if fingerprint.sha256 == row.sha256:
                reading = self._read_before(row)
                format = FORMATS[row.format]
                return Incoming(file, format, fingerprint, row.file_no, reading=reading)
        _LOG.warning(
            "%s was loaded before %s told which run it is of, and does not lie there any more as "
            "it was: it stays a job of its own, whose time counts twice. Ingest both into a new "
            "folder (--warehouse)",
            row.name,
            one.file.name,
        )
        return None

    def _read_before(self, row: _Loaded) -> Reading:
        zone = self._reading.timezone if row.time_zone is None else ZoneInfo(row.time_zone)
        return replace(self._reading, cluster=row.cluster, timezone=zone)


def _loaded(connection: duckdb.DuckDBPyConnection) -> Iterator[_Loaded]:
    names = [
        name
        for name, format in FORMATS.items()
        if format.collector is not None and format.collector.is_misnamed is not None
    ]
    told = connection.execute(
        "select file_no, file, format, bytes, sha256, cluster, time_zone from files "
        "where format in (select unnest($1::varchar[])) order by file_no",
        [names],
    ).fetchall()
    return map(_Loaded._make, told)


def _by_folder(rows: Iterable[_Loaded]) -> dict[Path, list[_Loaded]]:
    """Rows by every folder that they lie in, or below, whatever links led there."""
    found: defaultdict[Path, list[_Loaded]] = defaultdict(list)
    real = cache(os.path.realpath)
    for row in rows:
        folder = Path(real(os.path.dirname(os.path.abspath(row.name))))
        for each in (folder, *folder.parents):
            found[each].append(row)
    return found


def _job_keys(
    connection: duckdb.DuckDBPyConnection, file_nos: Sequence[int]
) -> defaultdict[int, set[str]]:
    """By which names each dump's jobs are called."""
    keys: defaultdict[int, set[str]] = defaultdict(set)
    if file_nos:
        told = connection.execute(
            "select distinct file_no, job_key from events inner join job_keys using (job_no) "
            "where file_no in (select unnest($1::integer[]))",
            [file_nos],
        ).fetchall()
        for file_no, job_key in told:
            keys[file_no].add(job_key)
    return keys


def _is_misnamed(row: _Loaded, job_keys: set[str]) -> bool:
    collector = FORMATS[row.format].collector
    assert collector is not None and collector.is_misnamed is not None
    return bool(job_keys) and collector.is_misnamed(Path(row.name), job_keys)
