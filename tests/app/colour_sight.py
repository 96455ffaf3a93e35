"""How far two colours are apart for each kind of sight.

Simulation: Machado, Oliveira and Fernandes 2009, full severity, on linear RGB. Distance: CIEDE2000.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIGHTS: Final[dict[str, Floats]] = {
    "normal": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
_TO_XYZ: Final[Floats] = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def distance(one: str, other: str) -> float:
    """The smallest CIEDE2000 distance of two #RRGGBB colours over all kinds of sight."""
    return min(_ciede2000(_lab(one, sight), _lab(other, sight)) for sight in SIGHTS.values())


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lightness(colour: str) -> float:
    """CIE L*, from 0 to 100, as normal sight has it."""
    return float(_lab(colour, SIGHTS["normal"])[0])


def _luminance(colour: str) -> float:
    return float((_TO_XYZ @ _linear(colour))[1])


def _linear(colour: str) -> Floats:
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _lab(colour: str, sight: Floats) -> Floats:
    seen = np.clip(sight @ _linear(colour), 0, 1)
    share = (_TO_XYZ @ seen) / (_TO_XYZ @ np.ones(3))
    x, y, z = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _ciede2000(one: Floats, other: Floats) -> float:
    (light1, a1, b1), (light2, a2, b2) = one.tolist(), other.tolist()
    chroma7 = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    grey = 1.5 - 0.5 * math.sqrt(chroma7 / (chroma7 + 25**7))
    a1, a2 = a1 * grey, a2 * grey
    chroma1, chroma2 = math.hypot(a1, b1), math.hypot(a2, b2)
    hue1, hue2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn, hue = 0.0, hue1 + hue2
    if chroma1 * chroma2:
        turn = (hue2 - hue1 + 180) % 360 - 180
        apart = abs(hue1 - hue2) > 180
        hue = (hue + (360 if apart and hue < 360 else -360 if apart else 0)) / 2
    chroma, light = (chroma1 + chroma2) / 2, (light1 + light2) / 2
    weight = (
        1
        - 0.17 * math.cos(math.radians(hue - 30))
        + 0.24 * math.cos(math.radians(2 * hue))
        + 0.32 * math.cos(math.radians(3 * hue + 6))
        - 0.20 * math.cos(math.radians(4 * hue - 63))
    )
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    rotation *= math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    by_light = (light2 - light1) / (
        1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    )
    by_chroma = (chroma2 - chroma1) / (1 + 0.045 * chroma)
    by_hue = 2 * math.sqrt(chroma1 * chroma2) * math.sin(math.radians(turn / 2))
    by_hue /= 1 + 0.015 * chroma * weight
    return math.sqrt(by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue)
