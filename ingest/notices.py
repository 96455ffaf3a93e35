"""Wakes the watcher when files change. Where the system has no room for that, it looks at times."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Generator, Sequence

from watchfiles import Change, watch

from ingest import arrivals
from ingest.ending import Ending

TICK_SECONDS = 1.0
POLL_SECONDS = 5.0
# a network file system tells nobody what others write, and a queue of notices may overflow
LOOK_AGAIN_SECONDS = 60.0
_UNDECODED = "Unable to decode path"  # as the library says of a name that is no UTF-8

_LOG = logging.getLogger("ingest")
_Changes = Generator[set[tuple[Change, str]], None, None]


class Notices:
    """`wait` returns at least each second, and says whether it is worth to look at the files."""

    def __init__(self, arguments: Sequence[str], stop: Ending) -> None:
        self._arguments = arguments
        self._stop = stop
        self._folders: dict[str, arrivals.Key] = {}
        self._files: dict[arrivals.Key, arrivals.Sight] = {}
        self._changes: _Changes | None = None
        self._is_polling = False
        self._has_closed_folders = False  # not from the start: it hides that a limit is reached
        self._looked = time.monotonic()

    def wait(self) -> bool:
        """Wait a tick. True: something changed, or it is time to look whether it did."""
        has_changed = self._follow_folders() | self._follow_files()
        if self._changes is None:
            self._stop.wait(TICK_SECONDS)
        else:
            has_changed |= self._next_changes()
        every = POLL_SECONDS if self._is_polling else LOOK_AGAIN_SECONDS
        if time.monotonic() - self._looked >= every:
            has_changed = True
        if has_changed:
            self._looked = time.monotonic()
        return has_changed

    def close(self) -> None:
        """End the thread that listens to the system."""
        if self._changes is not None:
            self._changes.close()
        self._changes = None

    def _follow_folders(self) -> bool:
        """Listen to the folders that are there now: they may come late, and be replaced."""
        if self._is_polling:
            return False
        folders = arrivals.folders(self._arguments)
        if folders == self._folders:
            return False
        self.close()
        self._folders = folders
        if folders:
            self._changes = watch(
                *folders,
                watch_filter=None,
                debounce=int(TICK_SECONDS * 1000),
                step=200,
                rust_timeout=int(TICK_SECONDS * 1000),
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=self._has_closed_folders,
            )
        return True

    def _follow_files(self) -> bool:
        """Files that are named one by one are few: their folders may hold anything."""
        files = arrivals.look(one for one in self._arguments if os.path.isfile(one))
        has_changed = files != self._files
        self._files = files
        return has_changed

    def _next_changes(self) -> bool:
        assert self._changes is not None
        try:
            return bool(next(self._changes))
        except StopIteration:
            self.close()
            self._folders = {}
        except PermissionError:
            self._has_closed_folders = True
            self.close()
            self._folders = {}
        # a limit of inotify comes as either of the first; a name that is no UTF-8 as either of the
        # last: that of a folder that is listened to, or of a file in one
        except (OSError, RuntimeError, UnicodeError) as error:
            self._give_up(error)
        return True

    def _give_up(self, error: Exception) -> None:
        self.close()
        if not arrivals.folders(self._arguments).items() >= self._folders.items():
            self._folders = {}  # a folder went away meanwhile: listen to those that are left
            return
        self._is_polling = True
        why, then = _told(error)
        _LOG.warning(
            "the system cannot tell what changes (%s): looking every %.0f s instead. "
            "%s, then start anew.",
            why,
            POLL_SECONDS,
            then,
        )


def _told(error: Exception) -> tuple[str, str]:
    """Why there are no notices, and what would bring them back."""
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object} is no name in UTF-8", "Give it another name"
    if _UNDECODED in str(error):
        return f"a name is no UTF-8: {error}", "Give it another name"
    return str(error), "Raise fs.inotify.max_user_watches or max_user_instances"
