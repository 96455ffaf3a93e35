"""The small line or bars under a number, and the small figure of a team: pictures, so that a
browser has nothing to compute.

Streamlit's own would bring a second chart library beside plotly, to draw 28 points; plotly takes
longer over a dozen small figures than over all else on a page.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

from app.palette import Palette, translucent

HEIGHT: Final = 52  # pixels
_TOP, _BOTTOM = 3.0, 49.0  # of the ink: a line is half outside of its points
_EDGE: Final = 2.0  # a line on the lower edge would be half outside
_WIDTH: Final = 200.0  # stretched to the card's
_WIDEST_BAR: Final = 12.0  # of few days: a bar as wide as the card is no bar
_Point = tuple[float, float]


def sparkline(
    series: Sequence[float | None], colour: str, tell: Callable[[float], str], *, bars: bool
) -> str:
    """HTML of a series by day; null: a gap. `tell`: a value in words, shown under the pointer.

    Nothing for screen readers: the number above it says what matters.
    """
    told = ["" if value is None else tell(value) for value in series]
    return _pointed_at(_svg(series, colour, bars=bars), told, 'aria-hidden="true"', HEIGHT)


def small_team(
    own: Sequence[float | None],
    fleet: Sequence[float | None],
    target: float | None,
    bounds: tuple[float, float],
    palette: Palette,
    told: Sequence[str],
    *,
    alt: str,
    height: int,
) -> str:
    """HTML of one team's ratios by day over the fleet's in grey; every team on the same axis.

    Null: a gap. What lies below the axis is drawn at its edge. `told`: a day in words, shown under
    the pointer.
    """
    low, high = bounds
    step = _WIDTH / max(len(own), 1)

    def at(place: int, value: float) -> _Point:
        y = (high - value) / (high - low) * height
        return (place + 0.5) * step, min(y, height - _EDGE)

    def lines(series: Sequence[float | None], colour: str, width: float) -> str:
        return "".join(_stroke(points, colour, width) for points in _stretches(series, at))

    def across(y: float, colour: str) -> str:
        return _stroke([(0.0, y), (_WIDTH, y)], colour, 1)

    aim = "" if target is None else across(at(0, target)[1], palette.text)
    ink = (
        across(height - 0.5, palette.grid)
        + lines(fleet, palette.comparison, 1)
        + aim.replace("/>", " stroke-dasharray='6 4'/>")
        + lines(own, palette.area("effective"), 1.75)
    )
    named = f'role="img" aria-label="{html.escape(alt)}"'
    return _pointed_at(_picture(ink, height), told, named, height)


def _pointed_at(picture: str, told: Sequence[str], named: str, height: int) -> str:
    spots = "".join(f'<span style="flex:1" title="{html.escape(each)}"></span>' for each in told)
    source = quote(picture, safe=" ='/:<>")
    return (
        f'<div {named} style="position:relative;height:{height}px">'
        f'<img alt="" src="data:image/svg+xml,{source}" '
        f'style="display:block;width:100%;height:{height}px">'
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
    return _picture(ink, HEIGHT)


def _picture(ink: str, height: int) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH:.0f} {height}' "
        f"preserveAspectRatio='none'>{ink}</svg>"
    )


def _line(points: Sequence[_Point], colour: str) -> str:
    path = _path(points)
    first, last = points[0][0], points[-1][0]
    return (
        f"<polygon points='{first:.1f},{_BOTTOM} {path} {last:.1f},{_BOTTOM}' "
        f"fill='{translucent(colour, 0.1)}'/>" + _stroke(points, colour, 2)
    )


def _stroke(points: Sequence[_Point], colour: str, width: float) -> str:
    thick = width if len(points) > 1 else 2 * width + 1  # a day alone is to be seen
    return (
        f"<polyline points='{_path(points)}' fill='none' stroke='{colour}' stroke-width='{thick}' "
        "stroke-linejoin='round' stroke-linecap='round' vector-effect='non-scaling-stroke'/>"
    )


def _path(points: Sequence[_Point]) -> str:
    # a line of one point is a dot, where it has a length of nought
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (*points, points[-1]))


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
