"""What the ledger says of the files that are to be looked at, asked for all of them at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

import duckdb

from ingest import rotation
from ingest.dumps import DumpFile
from ingest.ledger import MUTE


class Row(NamedTuple):
    """A dump that was loaded: its row of the table `files`."""

    file_no: int
    name: str
    format: str
    bytes: int
    sha256: str
    is_mute: bool  # all that it told was set aside
    cluster: str | None  # that it was given with
    time_zone: str | None  # likewise; None: an older release loaded it


class Known:
    """The loaded dumps that these files may be, or may have grown from, as of its last asking."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: Sequence[DumpFile]) -> None:
        self._connection = connection
        self._names = list({name for file in files for name in rotation.names_of(file)})
        self._sizes = Counter(file.bytes for file in files)
        self.ask()

    def ask(self) -> None:
        """Ask the ledger, again once more was loaded."""
        found = self._connection.execute(
            f"select file_no, file, format, bytes, sha256, {MUTE}, cluster, time_zone from files "
            "where file in (select unnest($names::varchar[])) "
            "or bytes in (select unnest($sizes::bigint[])) order by file_no",
            {"names": self._names, "sizes": list(self._sizes)},
        ).fetchall()
        self._ahead: dict[int, int] | None = None  # nobody asked
        self._by_name: dict[str, list[Row]] = defaultdict(list)
        self._by_content: dict[tuple[int, str], list[Row]] = defaultdict(list)
        self._known_sizes: set[int] = set()
        for row in map(Row._make, found):
            self._known_sizes.add(row.bytes)
            self._by_name[row.name].append(row)
            self._by_content[row.bytes, row.sha256].append(row)

    def named(self, names: Iterable[str]) -> list[Row]:
        """Dumps of any of these names, the shortest first."""
        rows = [row for name in names for row in self._by_name.get(name, ())]
        return sorted(rows, key=attrgetter("bytes", "file_no"))

    def of_content(self, size: int, sha256: str) -> list[Row]:
        """Dumps with this content, the first loaded first."""
        return self._by_content.get((size, sha256), [])

    def ahead(self, file_no: int) -> int:
        """How many lines of a dump were set aside because they lay ahead of the clock of then."""
        if self._ahead is None:
            self._ahead = dict(
                self._connection.execute(
                    "select file_no, count(*) from rejected_lines where reason = 'future_time' "
                    "group by all"
                ).fetchall()
            )
        return self._ahead.get(file_no, 0)

    def is_alone(self, size: int) -> bool:
        """Whether no other of these files and no known dump has this size, hence not its content
        either.
        """
        return self._sizes[size] == 1 and size not in self._known_sizes
