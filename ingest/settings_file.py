"""The file of settings while a process runs that may outlive what it says."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace

from ingest import places
from ingest.errors import UnusableArguments
from ingest.settings import Settings, found_settings

_SETTLING_SECONDS = 0.2  # between two looks at a file of settings that somebody may be writing
_LOG = logging.getLogger("ingest")


class SettingsFile:
    """The file of settings, which may change meanwhile. `problem`: why it cannot be read now."""

    def __init__(self, settings: Settings) -> None:
        self.problem: str | None = None
        self._settings = settings
        self._place = places.config()
        # what a pipe gave is gone
        self._is_fixed = os.path.exists(self._place) and not os.path.isfile(self._place)
        # none has it: a file that changed since these settings were read is read again
        self._content: bytes | str | None = ""

    def changed(self) -> Settings | None:
        """What it sets now; None: what it set at the last look. A broken one sets nothing else."""
        content = self._content if self._is_fixed else _settled(self._content)
        if content == self._content:
            return None
        is_first, self._content = self._content == "", content
        try:
            # how long files rest depends on it from the start
            settings = replace(found_settings(), publish_every=self._settings.publish_every)
        except (OSError, UnusableArguments) as error:  # the first where its folder is closed
            self.problem = str(error).removesuffix(".")
            _LOG.warning("%s. The settings of before stay until it is mended.", self.problem)
            return None
        self.problem = None
        if settings == self._settings and is_first:
            return None
        what = "is gone: the defaults hold" if content is None else "was read again and holds"
        _LOG.info("%s %s from now on, for what is loaded already too", self._place, what)
        is_same, self._settings = settings == self._settings, settings
        return None if is_same else settings


def _settled(known: bytes | str | None) -> bytes | str | None:
    """What the file of settings holds, once it is known or nobody writes to it: half a file may set
    other things than the whole.
    """
    content = _content()
    while content != known:
        known = content
        time.sleep(_SETTLING_SECONDS)
        content = _content()
    return content


def _content() -> bytes | str | None:
    """What the file of settings holds. None: there is none. A text: why it cannot be read."""
    try:
        return places.config().read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, UnusableArguments) as error:
        return str(error)
