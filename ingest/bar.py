"""The bar that a terminal shows of an ingest."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text


class Bar:
    """Bytes done of all bytes; `pace` says the rate and the time left."""

    def __init__(self, total: int, pace: Callable[[], str]) -> None:
        self._drawn = Progress(
            TextColumn("ingesting"),
            BarColumn(),
            DownloadColumn(),
            _Pace(pace),
            TextColumn("{task.fields[events]}"),
            console=Console(stderr=True),
        )
        self._task = self._drawn.add_task("ingest", total=total, events="")

    def start(self) -> None:
        """Draw it from now on."""
        self._drawn.start()

    def stop(self) -> None:
        """Leave it as it is."""
        self._drawn.stop()

    def tell(self, **told: object) -> None:
        """Change `total` or `completed` (bytes), or `events` (a text)."""
        self._drawn.update(self._task, **told)  # type: ignore[arg-type]


class _Pace(ProgressColumn):
    """Rate and time left: the time goes down where long work tells nothing, and so cannot promise
    the same second for minutes.
    """

    def __init__(self, pace: Callable[[], str]) -> None:
        super().__init__()
        self._pace = pace

    def render(self, task: Task) -> Text:
        return Text(self._pace(), style="progress.remaining")
