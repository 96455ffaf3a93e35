"""The small line or bars under a number: a picture, so that a browser has nothing to compute.

Streamlit's own would bring a second chart library beside plotly, to draw 28 points.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

from app.palette import translucent

HEIGHT: Final = 52  # pixels
_TOP, _BOTTOM = 3.0, 49.0  # of the ink: a line is half outside of its points
_WIDTH: Final = 200.0  # stretched to the card's
_WIDEST_BAR: Final = 12.0  # of few days: a bar as wide as the card is no bar
_Point = tuple[float, float]


def sparkline(
    series: Sequence[float | None], colour: str, tell: Callable[[float], str], *, bars: bool
) -> str:
    """HTML of a series by day; null: a gap. `tell`: a value in words, shown under the pointer.

    Nothing for screen readers: the number above it says what matters.
    """
    told = ["" if value is None else html.escape(tell(value)) for value in series]
    spots = "".join(f'<span style="flex:1" title="{words}"></span>' for words in told)
    picture = quote(_svg(series, colour, bars=bars), safe=" ='/:<>")
    return (
        f'<div aria-hidden="true" style="position:relative;height:{HEIGHT}px">'
        f'<img alt="" src="data:image/svg+xml,{picture}" '
        f'style="display:block;width:100%;height:{HEIGHT}px">'
        f'<div style="position:absolute;inset:0;display:flex">{spots}</div></div>'
    )


def _svg(series: Sequence[float | None], colour: str, *, bars: bool) -> str:
    known = [value for value in series if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if bars:
        low, high = min(low, 0.0), max(high, 0.0)
    span = high - low
    step = _WIDTH / max(len(series), 1)

    def at(place: int, value: float) -> _Point:
        share = (value - low) / span if span else 0.5
        return (place + 0.5) * step, _BOTTOM - share * (_BOTTOM - _TOP)

    if bars:
        zero, width = at(0, 0.0)[1], min(0.8 * step, _WIDEST_BAR)
        ink = "".join(
            f"<rect x='{x - width / 2:.1f}' y='{min(y, zero):.1f}' width='{width:.1f}' "
            f"height='{max(abs(y - zero), 0.5):.1f}' fill='{colour}'/>"
            for place, value in enumerate(series)
            if value is not None
            for x, y in (at(place, value),)
        )
    else:
        ink = "".join(_line(points, colour) for points in _stretches(series, at))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH:.0f} {HEIGHT}' "
        f"preserveAspectRatio='none'>{ink}</svg>"
    )


def _line(points: Sequence[_Point], colour: str) -> str:
    # a line of one point is a dot, where it has a length of nought
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*points, points[-1]))
    first, last = points[0][0], points[-1][0]
    width = 2 if len(points) > 1 else 5
    return (
        f"<polygon points='{first:.1f},{_BOTTOM} {path} {last:.1f},{_BOTTOM}' "
        f"fill='{translucent(colour, 0.1)}'/>"
        f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width}' "
        "stroke-linejoin='round' stroke-linecap='round' vector-effect='non-scaling-stroke'/>"
    )


def _stretches(
    series: Sequence[float | None], at: Callable[[int, float], _Point]
) -> Iterator[list[_Point]]:
    points: list[_Point] = []
    for place, value in enumerate([*series, None]):
        if value is not None:
            points.append(at(place, value))
        elif points:
            yield points
            points = []
