"""What GPU-hours cost, where `ett.toml` gives a price for one. Knows no other price."""

from __future__ import annotations

from collections.abc import Callable

from app import data, words


def price() -> tuple[float, str] | None:
    """What a GPU-hour costs, and in which currency, as it was written; none where none is set."""
    try:
        told = data.row("select gpu_hour_price, currency from prices")
    except data.ViewFailed:  # a file that an earlier release published
        return None
    each, currency = told.get("gpu_hour_price"), told.get("currency")
    return None if each is None or currency is None else (each, currency)


def cost(gpu_seconds: float | None, write: Callable[[str], str] = words.prose) -> str:
    """`EUR 212k`; empty without a price or without a number. `write` turns the currency into what
    it is for: Markdown, unless told otherwise.
    """
    known = price()
    if gpu_seconds is None or known is None:
        return ""
    each, currency = known
    return f"{write(currency)} {words.compact(gpu_seconds / 3600 * each)}"


def beside(text: str, gpu_seconds: float | None, weight: str = "gpu") -> str:
    """What so many GPU-hours cost, where that is known, and the text; the text alone beside hours
    of another weight, of which the price is none.
    """
    paid = cost(gpu_seconds) if weight == "gpu" else ""
    return " \u00b7 ".join(part for part in (paid, text) if part)
