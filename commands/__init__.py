"""What the console scripts call: Ctrl-C ends a command in one sentence while it is still imported.

Knows no more of a command than where its `main` is, so that nothing is imported before Ctrl-C is
seen to. What a command says of an interrupt later is its own matter.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from commands import streams

_UNSAID = 2
_INTERRUPTED = 130
_NOBODY_READS = 141
_PARTING_SECONDS = 3  # `make run` kills it after ten


def ingest() -> int:
    return _at_once(_run("ett-ingest", "ingest.cli"))


def warehouse() -> int:
    return _at_once(_run("ett-warehouse", "ingest.keep"))


def explain() -> int:
    return _at_once(_run("ett-explain", "ingest.explain_log"))


def report() -> int:
    return _at_once(_run("ett-report", "app.report"))


def dashboard() -> int:
    return _run("ett-dashboard", "app.dashboard")


def exporter() -> int:
    return _run("ett-exporter", "app.monitoring.exporter")


def server() -> None:
    """Streamlit's server, which `ett-dashboard` becomes: it sees to signals while it serves."""
    _calculate_in_one_thread()
    _leave_when_interrupted("ett-dashboard")
    _part_from_readers_after(_PARTING_SECONDS)
    import_module("streamlit.web.cli").main(prog_name="streamlit")


def _run(name: str, module: str) -> int:
    streams.settle()
    _calculate_in_one_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        _leave_when_interrupted(name)
        main = _imported(module).main
        signal.signal(signal.SIGINT, before)
        status = _status_of(main)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        _say_stopped(name)
        return _INTERRUPTED
    except streams.Unsaid as unsaid:
        return _leave_unsaid(name, unsaid.args[0])
    finally:
        # else an interpreter that ends finds, and lists, what the engine's module never let go of
        gc.unfreeze()


def _status_of(main: Callable[[], int | None]) -> int:
    try:
        return int(main() or 0)
    except SystemExit as ended:  # after --help, or arguments that nobody understands
        return int(ended.code or 0)


def _leave_unsaid(name: str, why: OSError) -> int:
    streams.give_up()
    if isinstance(why, BrokenPipeError):  # whoever read has seen enough
        return _NOBODY_READS
    said = f"what it has to say cannot be written: {why.strerror}. What it did stands."
    print(f"{name}: {said}", file=sys.stderr)
    return _UNSAID


def _imported(name: str) -> ModuleType:
    """A module, with all that it imports. None of that is ever garbage: to look through it again
    and again takes a tenth of a start.
    """
    gc.disable()
    module = import_module(name)
    gc.freeze()
    gc.enable()
    return module


def _at_once(status: int) -> NoReturn:
    """End the process here, with all that it opened closed: to take the modules apart that it has
    imported, object by object, is a third of a command that does little.
    """
    sys.stderr.flush()
    os._exit(status)


def _calculate_in_one_thread() -> None:
    """Keep numpy's linear algebra from spinning in threads of its own: what it is given is small,
    and they take a fifth of a second of every start from the engine's.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _part_from_readers_after(seconds: int) -> None:
    """Let a server that was told to end wait no longer than this for those who read from it: the
    browser of a laptop that sleeps takes nothing, and never says so. Streamlit has no setting.
    """
    uvicorn = import_module("uvicorn")
    vars(uvicorn)["Config"] = partial(uvicorn.Config, timeout_graceful_shutdown=seconds)


def _leave_when_interrupted(name: str) -> None:
    """End at once: an exception in the middle of an import may be swallowed or wrapped by it."""

    def leave(*_: object) -> None:
        _say_stopped(name)
        os._exit(_INTERRUPTED)

    # a shell starts what goes on in the background with SIGINT ignored
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)


def _say_stopped(name: str) -> None:
    os.write(2, f"{name}: stopped.\n".encode())
