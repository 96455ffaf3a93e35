"""The colours of both faces, light and dark, fixed for ever: an area keeps its colour everywhere.

Knows nothing of streamlit, DuckDB or plotly. Teams never get hues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

# Lifecycle order, as queries.AREAS: the order of every stack, legend and table.
AREA_ORDER: Final = (
    "scheduling",
    "hardware_setup",
    "launcher_init",
    "trainer_init",
    "pt2_compile",
    "checkpoint_load",
    "effective",
    "unsaved",
    "hang",
    "checkpoint_save",
    "evaluation",
    "data_wait",
    "shutdown",
    "unaccounted",
    "uninstrumented",
)

# Plotly pattern shapes. evaluation, data_wait and hang share a hue and differ here.
AREA_PATTERN: Final[Mapping[str, str]] = MappingProxyType(
    {"data_wait": ".", "hang": "|", "unsaved": "/", "unaccounted": "x", "uninstrumented": "-"}
)
RECOVERY_PATTERN: Final = "\\"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme, as #RRGGBB."""

    name: str
    background: str
    surface: str
    text: str
    muted: str
    grid: str
    good: str
    warn: str
    bad: str
    comparison: str
    areas: Mapping[str, str]
    attributions: Mapping[str, str]
    sequential: tuple[str, ...]  # ten, at equal steps of lightness, from little to much

    def area(self, name: str) -> str:
        """Colour of an area; one that is not known is drawn as unaccounted."""
        return self.areas.get(name, self.areas["unaccounted"])


LIGHT: Final = Palette(
    name="light",
    background="#FFFFFF",
    surface="#F5F7FA",
    text="#111824",
    muted="#5A6575",
    grid="#E4E8EE",
    good="#0B7A75",
    warn="#B36B00",
    bad="#B3261E",
    comparison="#8A94A6",
    areas=MappingProxyType(
        {
            "scheduling": "#E9E1B9",
            "hardware_setup": "#F7C21E",
            "launcher_init": "#D6863B",
            "trainer_init": "#BA4704",
            "pt2_compile": "#522500",
            "checkpoint_load": "#847860",
            "effective": "#257DDA",
            "checkpoint_save": "#D3A7FC",
            "evaluation": "#B25D8D",
            "data_wait": "#B25D8D",
            "hang": "#B25D8D",
            "unsaved": "#8B1C46",
            "shutdown": "#0A605B",
            "unaccounted": "#B8BCC2",
            "uninstrumented": "#F0FCFC",
        }
    ),
    attributions=MappingProxyType(
        {
            "infra": "#BA4704",
            "user": "#257DDA",
            "scheduler": "#8B1C46",
            "service": "#B25D8D",
            "unknown": "#B8BCC2",
        }
    ),
    sequential=(
        "#EEF4FC",
        "#CCE1F8",
        "#ABCDF5",
        "#89BAF1",
        "#67A6EC",
        "#4092E7",
        "#2B7ED2",
        "#106BBD",
        "#0059A2",
        "#004786",
    ),
)

DARK: Final = Palette(
    name="dark",
    background="#0E1117",
    surface="#171C26",
    text="#E6EAF0",
    muted="#9AA5B5",
    grid="#262D39",
    good="#3FB8AF",
    warn="#F0A830",
    bad="#FF6B5E",
    comparison="#8A94A6",
    areas=MappingProxyType(
        {
            "scheduling": "#F8EDC6",
            "hardware_setup": "#FECE2F",
            "launcher_init": "#C88F36",
            "trainer_init": "#BE4700",
            "pt2_compile": "#673B25",
            "checkpoint_load": "#C5BE82",
            "effective": "#1F8EE4",
            "checkpoint_save": "#BAB2D6",
            "evaluation": "#FB5F90",
            "data_wait": "#FB5F90",
            "hang": "#FB5F90",
            "unsaved": "#9A436E",
            "shutdown": "#377F5D",
            "unaccounted": "#36393B",
            "uninstrumented": "#90A2A2",
        }
    ),
    attributions=MappingProxyType(
        {
            "infra": "#BE4700",
            "user": "#1F8EE4",
            "scheduler": "#9A436E",
            "service": "#FB5F90",
            "unknown": "#ACB0B6",
        }
    ),
    sequential=(
        "#19222D",
        "#1D324A",
        "#214368",
        "#235488",
        "#2466A8",
        "#2378CB",
        "#3A8CE0",
        "#4E9FF6",
        "#6FB4FF",
        "#97C8FF",
    ),
)


def of(theme: str | None) -> Palette:
    """The palette of a streamlit theme type; light where the browser has not said yet."""
    return DARK if theme == "dark" else LIGHT


def translucent(colour: str, alpha: float) -> str:
    """The colour as `rgba(...)`."""
    red, green, blue = _channels(colour)
    return f"rgba({red},{green},{blue},{alpha:g})"


def readable_on(fill: str) -> str:
    """Black or white text, whichever has more contrast on this fill."""
    luminance = _luminance(fill)
    return "#FFFFFF" if (1.05 / (luminance + 0.05)) >= (luminance + 0.05) / 0.05 else "#000000"


def _luminance(colour: str) -> float:
    weights = (0.2126, 0.7152, 0.0722)
    linear = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in _channels(colour))
    )
    return sum(weight * part for weight, part in zip(weights, linear, strict=True))


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
