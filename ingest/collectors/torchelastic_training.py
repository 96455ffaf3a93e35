"""When a trainer trained whose workers an agent started anew: the lines of the trainer go on with
the next step, and only the agent beside it says that training was over in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.events import Event, EventKind, Phase


@dataclass(slots=True)
class Pause:
    """Workers of a run are stopped, and others start; `until_us` is None until they do."""

    run_id: str | None
    from_us: int
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """In which launch a trainer speaks: when that began, and its first workers were started."""

    run_id: str | None
    began_us: int
    ready_us: int


@dataclass(slots=True)
class Again:
    """A trainer tells a step that it has told before. Whoever hears it says whether that `is_anew`:
    done by workers that were started since.
    """

    at_us: int
    is_anew: bool = False


@dataclass(frozen=True, slots=True)
class Begun:
    """A trainer tells that a launch of it begins."""

    at_us: int


@dataclass(slots=True)
class Training:
    """Whether a trainer trains. Hears its events in the order of its lines. `_began_us` is of the
    launch in which it last began to, `_heard_us` is the latest time that it told.
    """

    is_on: bool = False
    _run_id: str | None = None
    _pause: Pause | None = None  # that training has not come back from
    _heard: int = 0  # pauses
    _began_us: int | None = None
    _heard_us: int = 0
    _has_left: bool = False  # the launch in which it last began to is over

    def hear(self, event: Event, told: Told, pauses: Sequence[Pause]) -> Iterator[Event]:
        """What lies between what the trainer said before and this, without whose it is."""
        at_us, self._run_id = event["at_us"], told.run_id
        yield from self._stop(pauses, at_us)
        self._heard_us = max(self._heard_us, at_us)
        if event.get("phase") == Phase.TRAINING:
            self.is_on, self._pause = event["event"] == EventKind.PHASE_START, None
            self._has_left = False
            self._began_us = told.began_us
        elif event["event"] == EventKind.PROGRESS and self._is_back(at_us, told):
            self.is_on, self._pause, self._began_us = True, None, told.began_us
            self._has_left = False
            yield _training(EventKind.PHASE_START, at_us)

    def comes_back(self, at_us: int, told: Told, pauses: Sequence[Pause]) -> bool:
        """Whether a step at a time would begin training anew."""
        later = replace(self)
        list(later._stop(pauses, at_us))
        return later._is_back(at_us, told)

    def close(self, pauses: Sequence[Pause]) -> Iterator[Event]:
        """The trainer says nothing more."""
        yield from self._stop(pauses, None)

    def leave(self, over_us: int) -> Iterator[Event]:
        """Its launch is over, unless what it told came later."""
        if self.is_on and over_us >= self._heard_us:
            self.is_on, self._has_left = False, True
            yield _training(EventKind.PHASE_END, over_us)

    def _stop(self, pauses: Sequence[Pause], until_us: int | None) -> Iterator[Event]:
        while self._heard < len(pauses):
            pause = pauses[self._heard]
            if until_us is not None and pause.from_us > until_us:
                return
            self._heard += 1
            if self.is_on and pause.run_id == self._run_id:
                self.is_on, self._pause = False, pause
                yield _training(EventKind.PHASE_END, pause.from_us)

    def _is_back(self, at_us: int, told: Told) -> bool:
        """What is told of a step before the new workers start was done by the old ones. An agent
        that was killed tells no pause: another one took its place.
        """
        if self._began_us is not None and told.began_us != self._began_us:
            return at_us >= told.ready_us
        if self.is_on or self._has_left:
            return False
        until_us = self._pause.until_us if self._pause else None
        return until_us is not None and at_us >= until_us


def _training(kind: EventKind, at_us: int) -> Event:
    return {"at_us": at_us, "event": kind, "phase": Phase.TRAINING}
