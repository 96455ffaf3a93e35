"""What the watcher knows of each file: what it made of it, and since when there is news of it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ingest.arrivals import Key, Sight
from ingest.follow import Handled


class News:
    """Told of every look by `see`; `due` are the files with news. Files are told apart by inode."""

    def __init__(self, rest_seconds: float) -> None:
        self.handled: dict[Key, Handled] = {}
        self._rest_seconds = rest_seconds
        self._seen: dict[Key, Sight] = {}
        self._changed: dict[Key, float] = {}
        self._since: dict[Key, float] = {}
        self._not_before: dict[Key, float] = {}
        self._told: set[tuple[str, str]] = set()
        self._of: tuple[Key, int] | None = None

    def is_of(self, place: Key, publication: int) -> bool:
        """Whether this is of the warehouse that was open last. Else it forgets what it made of the
        files: a warehouse that was restored, or begun anew, may know less of them.
        """
        is_same = self._of is None or (self._of[0] == place and self._of[1] <= publication)
        if not is_same:
            self.handled.clear()
            self._not_before.clear()
        self._of = place, publication
        return is_same

    def see(self, seen: Mapping[Key, Sight]) -> None:
        """Compare a look with the one before."""
        now = time.monotonic()
        for key in self._seen.keys() - seen.keys():
            for known in (self.handled, self._changed, self._since, self._not_before):
                known.pop(key, None)
        for key, sight in seen.items():
            before = self._seen.get(key)
            if before is None or not before.is_as(sight):
                self._changed[key] = now
                self._since.setdefault(key, now)
        self._seen = dict(seen)

    def due(self) -> list[Sight]:
        """Files with news that can be looked at now."""
        return [sight for sight in self._seen.values() if self._is_due(sight)]

    def followed(self) -> list[Sight]:
        """Files that are loaded piece by piece, of which something is not."""
        return [
            self._seen[key]
            for key, one in self.handled.items()
            if one.place is not None and key in self._seen and one.length < self._seen[key].bytes
        ]

    def is_resting(self, sight: Sight) -> bool:
        """Whether nobody has written to it for a while, by this clock or by the file system's."""
        now = time.monotonic()
        quiet = now - self._changed.get(sight.key, now)
        return max(quiet, time.time() - sight.modified_ns / 1e9) >= self._rest_seconds

    def is_waiting(self) -> bool:
        """Whether a file must be looked at again though it does not change."""
        held = any(one.waits or one.has_more or one.is_closed for one in self.handled.values())
        return held or bool(self._since)

    def keep(self, one: Handled) -> None:
        """Note what was made of a file."""
        self.handled[one.sight.key] = one

    def is_news(self, name: str, why: str) -> bool:
        """Whether this was not told of the file before."""
        is_new = (name, why) not in self._told
        self._told.add((name, why))
        return is_new

    def settle(self) -> None:
        """What was loaded is published now: it waits no longer."""
        for key in list(self._since):
            one = self.handled.get(key)
            if one is not None and not self._is_open(one):
                del self._since[key]

    def put_off(self, key: Key, seconds: float) -> None:
        """Not to look at a file for a while: reading it takes long."""
        self._not_before[key] = time.monotonic() + seconds

    def look_again(self) -> None:
        """At what could not be read: it may be possible now."""
        for key, one in self.handled.items():
            if one.is_closed:
                self._not_before.pop(key, None)

    def lag_seconds(self) -> float:
        """How long the oldest news has waited."""
        return time.monotonic() - min(self._since.values()) if self._since else 0.0

    def backlog(self) -> int:
        """Files with news that readers do not see yet."""
        return len(self._since)

    def _is_open(self, one: Handled) -> bool:
        """Whether more than a half line of it is not loaded, so far as it can be read."""
        is_as_seen = one.sight.is_as(self._seen[one.sight.key])
        is_held = one.has_more or one.is_closed or (one.waits and not one.is_half)
        return not is_as_seen or is_held

    def _is_due(self, sight: Sight) -> bool:
        if time.monotonic() < self._not_before.get(sight.key, 0.0):
            return False
        one = self.handled.get(sight.key)
        if one is None or not one.sight.is_as(sight) or one.has_more:
            return True
        return one.is_closed or (one.waits and self.is_resting(sight))
