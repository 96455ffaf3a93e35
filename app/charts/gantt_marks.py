"""What stands beside the bars of a Gantt: saves above them, ends after them, waits between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from app import words
from app.palette import Palette

MOST_SAVES: Final = 1500
PIXELS: Final = 1200
_LETTER_SHARE: Final = 0.0195  # of the width on a phone, which a letter beside a bar needs
_MARK_SHARE: Final = 0.012  # from the end of a bar to the middle of the mark after it
_PAST_MARK: Final = "\u2007" * 3  # in pixels, however wide the screen

# Letter, plotly symbol and status colour of an outcome: shape and letter, never colour alone.
END: Final = {
    "completed": ("D", "circle", "good"),
    "failed": ("F", "square", "bad"),
    "preempted": ("P", "diamond", "warn"),
    "timeout": ("T", "hexagon2", "bad"),
    "cancelled": ("C", "pentagon", "muted"),
    "lost": ("L", "hexagram", "bad"),
    "running": ("R", "circle-open", "text"),
}
# Who was interrupted waits for its GPUs; who completed or was cancelled had no more to do.
_INTERRUPTIONS: Final = ("failed", "preempted", "timeout", "lost")
_SAVE: Final = {
    "good": ("line-ns-open", "saved"),
    "failed": ("x-thin-open", "save failed"),
    "cut_off": ("line-ne-open", "save cut off"),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """Where an attempt's instants go on x: true time, or hours since each attempt's start."""

    aligned: bool
    starts: dict[int, int]  # attempt -> its start, microseconds

    def x(self, attempt: NDArray[np.int64], at_us: NDArray[np.int64]) -> NDArray[np.generic]:
        if not self.aligned:
            return at_us.astype("datetime64[us]").astype("datetime64[ms]")
        zero = np.array([self.starts[number] for number in attempt.tolist()], dtype=np.int64)
        return (at_us - zero) / 3.6e9

    def width(self, length_us: NDArray[np.int64]) -> NDArray[np.float64]:
        """Lengths in the axis' unit: hours when aligned, else the milliseconds of a date axis."""
        return length_us / (3.6e9 if self.aligned else 1e3)


def saves(
    palette: Palette,
    marked: pl.DataFrame,
    rows: dict[int, int],
    axis: Axis,
    span: float,
) -> Iterator[dict[str, Any]]:
    """A tick above the bar for each save, thinned to what a screen can show."""
    if marked.height > MOST_SAVES:  # one mark a pixel is all that a screen shows
        marked = marked.with_columns(
            pixel=(pl.col("ended_us") // max(1, int(span / PIXELS)))
        ).unique(["attempt", "name", "pixel"], keep="first", maintain_order=True)
    for status, part in marked.partition_by("name", as_dict=True).items():
        symbol, word = _SAVE.get(str(status[0]), _SAVE["cut_off"])
        attempt = part["attempt"].to_numpy()
        yield {
            "type": "scatter",
            "name": word,
            "x": axis.x(attempt, part["ended_us"].to_numpy()),
            "y": np.array([rows[number] for number in attempt.tolist()]) - 0.41,
            "mode": "markers",
            "marker": {
                "symbol": symbol,
                "size": 6,
                "color": palette.text if word == "saved" else palette.bad,
                "line": {"width": 1.25},
            },
            "hovertext": [
                f"{word}{f', step {step}' if step is not None else ''}" for step in part["step"]
            ],
            "hoverinfo": "text",
        }


def ends(
    palette: Palette,
    attempts: pl.DataFrame,
    rows: dict[int, int],
    axis: Axis,
    span: float,
) -> dict[str, Any]:
    """Shape and letter of each attempt's outcome, after its bar; on hover its cause."""
    marks = [END.get(outcome, END["lost"]) for outcome in attempts["outcome"]]
    beside = attempts["ended_at"].to_numpy() + int(_MARK_SHARE * span)
    causes = attempts["cause"] if "cause" in attempts.columns else [None] * attempts.height
    return {
        "type": "scatter",
        "name": "ends",
        "x": axis.x(attempts["attempt"].to_numpy(), beside),
        "y": np.array(list(rows.values())),
        "mode": "markers+text",
        "marker": {
            "symbol": [symbol for _, symbol, _ in marks],
            "size": [22 if symbol == "hexagram" else 18 for _, symbol, _ in marks],
            "color": [getattr(palette, status) for _, _, status in marks],
            "opacity": 1,
        },
        "text": [letter for letter, _, _ in marks],
        "textfont": {
            "size": 11,
            "weight": 700,
            "color": [
                palette.text if symbol.endswith("open") else palette.background
                for _, symbol, _ in marks
            ],
        },
        "hovertext": [
            words.figure(outcome if cause is None else f"{outcome}: {cause}", 120)
            for outcome, cause in zip(attempts["outcome"], causes, strict=True)
        ],
        "hoverinfo": "text",
        "cliponaxis": False,
    }


def waits(
    palette: Palette,
    attempts: pl.DataFrame,
    rows: dict[int, int],
    axis: Axis,
    span: float,
) -> list[dict[str, Any]]:
    """Thin lines from the end of an attempt to the start of the next, each with its length: a wait
    after an interruption (R15), else a time in which nothing ran.

    It is told before the bar; after it where that begins too far left; else under the pointer only.
    """
    gaps = attempts.select(
        "attempt",
        "started_at",
        "ended_at",
        before=pl.col("ended_at").shift(1),
        is_wait=pl.col("outcome").shift(1).is_in(_INTERRUPTIONS),
    ).filter(pl.col("started_at") > pl.col("before"))
    if gaps.is_empty():
        return []
    started, ended, before = (
        gaps[name].to_numpy() for name in ("started_at", "ended_at", "before")
    )
    number = gaps["attempt"].to_numpy()
    lengths = [words.duration(seconds) for seconds in ((started - before) / 1e6).tolist()]
    told = list(zip(lengths, gaps["is_wait"].to_list(), strict=True))
    said = [
        f"waiting {length}" if is_wait else f"nothing ran for {length}" for length, is_wait in told
    ]
    texts_before = [f"{text} " for text in said]
    texts_after = [
        f"{_PAST_MARK}{'waited' if is_wait else 'nothing ran for'} {length} before"
        for length, is_wait in told
    ]
    room_before = started - int(attempts["started_at"].to_numpy().min())
    room_after = int(attempts["ended_at"].to_numpy().max()) - ended
    fits_before, fits_after = (
        room > np.array([len(text) for text in texts]) * _LETTER_SHARE * span
        for room, texts in ((room_before, texts_before), (room_after, texts_after))
    )
    labelled = np.flatnonzero(fits_before | fits_after)
    beside = np.where(fits_before, started, ended + int(_MARK_SHARE * span))
    # each line is two points with one between for the pointer, and a gap
    at = np.stack([before, (before + started) // 2, started, started], axis=1).ravel()
    row: list[float | None] = [float(rows[each]) for each in np.repeat(number, 4).tolist()]
    row[3::4] = [None] * gaps.height
    return [
        {
            "type": "scatter",
            "name": "waits",
            "x": axis.x(np.repeat(number, 4), at),
            "y": row,
            "mode": "lines",
            "line": {"color": palette.comparison, "width": 1},
            "hovertext": [text for text in said for _ in range(4)],
            "hoverinfo": "text",
        },
        {
            # a trace of their own: among points without text plotly loses some
            "type": "scatter",
            "name": "waits in words",
            "x": axis.x(number[labelled], beside[labelled]),
            "y": [rows[each] for each in number[labelled].tolist()],
            "mode": "text",
            "text": [
                texts_before[place] if fits_before[place] else texts_after[place]
                for place in labelled.tolist()
            ],
            "textposition": [
                "top left" if fits else "middle right" for fits in fits_before[labelled].tolist()
            ],
            "textfont": {"size": 11, "color": palette.muted},
            "hoverinfo": "skip",
        },
    ]
