"""Which rule judges a line: many lines against all rules at once.

Linear in the text, whatever the text and whatever the rules: words first, then patterns of an
engine that never goes back. Knows lines only, neither messages nor files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from ingest.causes_rules import Pattern, Rule, RuleBook

EVIDENCE_CHARACTERS = 500
UNJUDGED = -1

_Numbers = npt.NDArray[np.int64]

_COLOURS = r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_PREFIXES = (
    r"(?m)^(?:\[default[0-9]+\]:?[ ]?|\[rank[0-9]+\]:[ ]?|\[[0-9]+\]:[ ]?|[0-9]+: "
    r"|\([A-Za-z_]+ (?:pid|rank)=[0-9]+(?:, ip=[0-9.]+)?\)[ ]?)+"
)
_BEFORE_A_MATCH = 120
_PROGRESS_WORDS = ["loss", "lr=", "learning_rate", "learning rate", "samplespersec", "tokens/s"]
_STEP = (
    r"(?i-u:\b(?:iter|iteration|step|global_step|epoch)\b)['\"]?"
    r"[ ]*[:=/ ]?[ ]*\[?([0-9]+(?:\.[0-9]+)?)"
)


def judged(lines: pl.Series, book: RuleBook) -> tuple[_Numbers, _Numbers, pl.Series]:
    """The lines that a rule judges: their places, the places of their rules in the book, and
    their texts without colours and rank prefixes.
    """
    texts = lines.cast(pl.String).rename("text")
    places = np.arange(len(texts))
    if book.words is not None:
        places = np.flatnonzero(_holds(texts, book.words))
    texts = _plain(texts.gather(places))
    first = np.full(len(texts), UNJUDGED)
    patterns = [rule.pattern for rule in book.rules]
    matching = _matching(texts, patterns, _suspects(texts, book.rules))
    for number in reversed(range(len(patterns))):
        first[matching[number]] = number
    kept = np.flatnonzero(first != UNJUDGED)
    kept = kept[~_is_nothing(texts.gather(kept), first[kept], book)]
    return places[kept], first[kept], texts.gather(kept)


def steps(lines: pl.Series) -> npt.NDArray[np.float64]:
    """How far a progress line says that the training is; not a number where a line is none."""
    told = np.full(len(lines), np.nan)
    places = np.flatnonzero(_holds(lines, _PROGRESS_WORDS))
    found = lines.gather(places).str.extract(_STEP).cast(pl.Float64)
    told[places] = found.to_numpy()
    return told


def evidence(text: str, pattern: Pattern) -> str:
    """The line, or of a long one the part that matched, on one line of at most 500 characters."""
    begins = 0
    if len(text) > EVIDENCE_CHARACTERS:
        found = pl.Series([text]).str.find(pattern.matches)[0] or 0
        begins = max(0, len(text.encode()[:found].decode()) - _BEFORE_A_MATCH)
    part = ("…" if begins else "") + text[begins:].strip()
    shown = part
    if not part.isprintable():
        shown = "".join(letter if letter.isprintable() else " " for letter in part)
    if len(shown) > EVIDENCE_CHARACTERS:
        return shown[: EVIDENCE_CHARACTERS - 1] + "…"
    return shown


def as_series(texts: Sequence[str]) -> pl.Series:
    """Texts as the engine takes them: half characters, which it refuses, become question marks."""
    try:
        return pl.Series("text", texts, dtype=pl.String())
    except UnicodeEncodeError:
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return pl.Series("text", whole, dtype=pl.String())


def _plain(texts: pl.Series) -> pl.Series:
    """Without colours, prefixes and control characters. What a carriage return overwrote stands as
    a line of its own, which `^` and `$` of the patterns see.
    """
    return (
        texts.str.replace_all(_COLOURS, "")
        .str.replace_all("\r", "\n", literal=True)
        .str.replace_all(_CONTROLS, " ")
        .str.replace_all(_PREFIXES, "")
    )


def _holds(texts: pl.Series, words: Iterable[str]) -> npt.NDArray[np.bool_]:
    found = texts.str.contains_any(list(words), ascii_case_insensitive=True)
    return found.fill_null(value=False).to_numpy()


def _suspects(texts: pl.Series, rules: Sequence[Rule]) -> list[_Numbers]:
    """For each rule the lines that hold one of its words: one pass over the text for all rules."""
    needed = [(word, number) for number, rule in enumerate(rules)
              for word in rule.pattern.words or ()]  # fmt: skip
    wanted = pl.DataFrame(needed, schema={"word": pl.String, "rule": pl.Int64}, orient="row")
    words = wanted["word"].unique().implode()
    found = texts.str.extract_many(words, ascii_case_insensitive=True, overlapping=True)
    pairs = (
        pl.DataFrame({"line": range(len(texts)), "word": found})
        .explode("word")
        .with_columns(pl.col("word").str.to_lowercase())
        .join(wanted, on="word")
        .group_by("rule")
        .agg(pl.col("line").unique())
    )
    lines = dict(zip(pairs["rule"], pairs["line"], strict=True))
    everywhere = np.arange(len(texts))
    nowhere = np.arange(0)
    return [
        everywhere if rule.pattern.words is None
        else lines[number].to_numpy() if number in lines else nowhere
        for number, rule in enumerate(rules)
    ]  # fmt: skip


def _matching(
    texts: pl.Series, patterns: Sequence[Pattern], suspects: Sequence[_Numbers]
) -> list[_Numbers]:
    """Of the lines that each pattern suspects those that it matches. All are asked at once: one by
    one they take longer for a message than its text does.
    """
    hits = {
        str(number): _hits(pl.col("text").gather(places), pattern).implode()
        for number, (places, pattern) in enumerate(zip(suspects, patterns, strict=True))
        if len(places)
    }
    told = texts.rename("text").to_frame().select(**hits)
    return [
        places[told[str(number)][0].to_numpy()] if str(number) in hits else places
        for number, places in enumerate(suspects)
    ]


def _hits(lines: pl.Expr, pattern: Pattern) -> pl.Expr:
    hits = lines.str.contains(pattern.matches)
    return hits if pattern.unless is None else hits & ~lines.str.contains(pattern.unless)


def _is_nothing(texts: pl.Series, rules: _Numbers, book: RuleBook) -> npt.NDArray[np.bool_]:
    """Whether a line only sounds like a failure. A user's own rule is believed all the same."""
    nothing = np.zeros(len(texts), dtype=bool)
    everywhere = np.arange(len(texts))
    for places in _matching(texts, book.ignored, [everywhere] * len(book.ignored)):
        nothing[places] = True
    of_user = np.array([rule.is_of_user for rule in book.rules])
    nothing &= ~of_user[rules]
    return nothing
