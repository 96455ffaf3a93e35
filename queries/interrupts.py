"""Ctrl-C in the middle of a query, which DuckDB tells in words of its own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import duckdb


@contextmanager
def as_keyboard_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt, however the interrupt of a query within was told."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None


@contextmanager
def reached_by_ctrl_c(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let Ctrl-C end what `connection` is at, wherever it ends what is at it.

    Who waits for a query is woken by Ctrl-C, and then waits until the engine's own threads come to
    the end of their share of it, unless the engine is told. A handler within that only takes note,
    such as a watcher's, ends no query. Outside the main thread, and where Ctrl-C is ignored or
    ends the process, this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)
        except KeyboardInterrupt:
            connection.interrupt()
            raise

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
