"""Accidents to single lines, fast and from a seed: what the million lines of `make fuzz` are."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_VALUE = re.compile(rb'(?<=[:=|])\s*(?:"(?:[^"\\]|\\.)*"|[^\s,|\]}]+)')
_NUMBER = re.compile(rb"\d+")
STRANGE = (
    *(b"NaN", b"-Infinity", b"1e999", b"1e-999", b"9" * 30, b"9" * 5_000, b"-1", b"1.5", b"0"),
    *(b"20260301000000", b"9" * 16, b"9" * 18, b"1e18", b"9223372036854775808"),
    *(b"true", b"null", b'""', b'"x"', b'"\\ud800"', b'"\\u0000"', b"[]", b"{}", b"[1]", b"-0"),
    *(b'{"number": {}}', b"[" * 2_000, b'"' + b"y" * 5_000 + b'"', b'"\xc3\xa9"', b"\xff", b"\0"),
    *(b'"2026-11-20T05:00:00"', b"0001-01-01T00:00:00Z", b"9999-12-31T23:59:59Z", b"2026-02-30"),
    *(b"Unknown", b"None", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"\x1b[31m", b"\r", b"\x0b", b"\x85"),
    *(b"10675200-00:00:00", b"UNLIMITED", b"gres/gpu=99999999999999999999", b"step 1e308", b"%s"),
    *(b"[rank7]: ", b"3: ", b"Traceback (most recent call last):", b"::", b"|", b"||", b"\t"),
    *(b"'; drop table events; --", b"<script>", b"../../etc/passwd", b"$(id)", b"{{7*7}}"),
)


def mutated(
    lines: Sequence[bytes], rng: random.Random, share: float
) -> tuple[list[bytes], list[int]]:
    """The lines after accidents to about this share of them, and the indexes of those lines.

    No line comes, goes or moves, so that a line's number stays what it was.
    """
    broken = list(lines)
    hit = [at for at in range(len(broken)) if rng.random() < share]
    for at in hit:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            broken[at] = _accident(broken[at], broken, rng).replace(b"\n", b" ")
    return broken, hit


def shuffled(lines: Sequence[bytes], rng: random.Random) -> list[bytes]:
    """The lines after a few of them came twice, went, or changed places."""
    broken = list(lines)
    for _ in range(rng.randint(0, 6)):
        if not broken:
            break
        at, to = rng.randrange(len(broken)), rng.randrange(len(broken))
        match rng.randrange(4):
            case 0:
                broken.insert(to, broken[at])
            case 1:
                broken[at], broken[to] = broken[to], broken[at]
            case 2:
                del broken[at : at + rng.randint(1, 5)]
            case _:
                broken = broken[at:]
    return broken


def _accident(line: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    at = rng.randint(0, len(line))
    end = min(at + rng.choice((1, 2, 8, 60, 400)), len(line))
    match rng.randrange(10):
        case 0:
            return line[:at]
        case 1:
            return line[:at] + line[end:]
        case 2:
            return line[:at] + bytes([rng.randrange(256)]) + line[at + 1 :]
        case 3:
            return line[:at] + rng.choice(STRANGE) + line[at:]
        case 4:
            return line[:at] + line[at:end] * rng.choice((2, 3, 50)) + line[end:]
        case 5:
            other = rng.choice(others)
            return line[:at] + other[rng.randint(0, len(other)) :]
        case 6 | 7:
            return _replaced(line, _VALUE, rng.choice(STRANGE), rng)
        case 8:
            return _replaced(line, _NUMBER, _number(rng), rng)
        case _:
            return bytes(rng.randrange(256) for _ in range(rng.randint(0, 40)))


def _replaced(line: bytes, what: re.Pattern[bytes], new: bytes, rng: random.Random) -> bytes:
    found = list(what.finditer(line[:20_000]))
    if not found:
        return line + new
    one = rng.choice(found)
    return line[: one.start()] + new + line[one.end() :]


def _number(rng: random.Random) -> bytes:
    bits = rng.choice((1, 4, 8, 16, 31, 32, 53, 62, 63, 64, 100, None))
    if bits is None:
        return b"9" * 5_000  # more digits than Python makes a number of
    return b"%d" % rng.choice((2**bits, 2**bits - 1, -(2**bits), rng.getrandbits(bits)))
