"""Messages that no rule explains, as templates that are a function of the messages alone."""

from __future__ import annotations

import random
import time

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.templates import ANYTHING, MANY, templates

WORDS = st.sampled_from(["lease", "shard", "was", "lost", "alpha", "beta", "7", "0x1f", "/a/b/c"])
MESSAGES = st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=12)


def test_messages_that_differ_in_what_varies_are_one_template() -> None:
    made = templates(
        told(
            "acme.StoreError: lease 4411 of '/data/shard-0004.tar' lost at 10.0.0.7:4410",
            "acme.StoreError: lease 9 of '/data/shard-1.tar' lost at 10.0.0.131:99",
        )
    )

    assert [
        ("acme.StoreError: lease <number> of <name> lost at <address>", 2)
    ] == made.select("template", "count").rows()  # fmt: skip


@pytest.mark.parametrize(
    ("message", "template"),
    [
        ("took 1.5e-3 s at step 88", "took <number> s at step <number>"),
        ("gpu07 said -4", "gpu<number> said <number>"),
        ("id 8f14e45f-ceea-467f-a9b2-0c1e2d3f4a5b", "id <id>"),
        ("at 0x7f3b6d41df86 in f", "at <id> in f"),
        ("digest 9e107d9d372bb6826bd81d3542a419d6 differs", "digest <id> differs"),
        ("since 2026-03-01T10:00:00.25Z it hangs", "since <time> it hangs"),
        ("read s3://bucket/a/b.tar failed", "read <url> failed"),
        ("open /mnt/data/a.bin failed", "open <path> failed"),
        ('no field "caption" here', "no field <name> here"),
        ("it can't be and it won't be", "it can't be and it won't be"),
        ("[rank3]: 2026-03-01 10:00:00,123 it broke", "it broke"),
        ("\x1b[31mit broke\x1b[0m", "it broke"),
        ("E1120 05:42:59.5 9406 api.py:1002] it broke", "it broke"),
    ],
)
def test_what_varies_has_a_name(message: str, template: str) -> None:
    assert [template] == templates(told(message))["template"].to_list()


def test_words_that_vary_among_messages_alike_are_anything() -> None:
    made = templates(
        told(*(f"cursor of {name} went backwards" for name in ("corpus", "wiki", "web")))
    )

    assert [f"cursor of {ANYTHING} went backwards"] == made["template"].to_list()


def test_messages_that_are_not_alike_stay_apart() -> None:
    made = templates(told("cursor of corpus went backwards", "cursor was closed by its owner now"))

    assert 2 == made.height


def test_a_template_counts_its_messages_and_knows_when_they_were_seen() -> None:
    frame = pl.DataFrame(
        {
            "message": ["shard 9 is gone", "shard 4 is gone", "other"],
            "count": [3, 2, 9],
            "first_us": [50, 20, 5],
            "last_us": [60, 90, 6],
        }
    )

    assert [
        ("other", 9, "other", 5, 6),
        ("shard <number> is gone", 5, "shard 4 is gone", 20, 90),
    ] == templates(frame).rows()


def test_the_telling_line_of_a_traceback_is_the_exception() -> None:
    message = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n'
        "    main()\n"
        "    ^^^^^^\n"
        "acme.CursorError: went backwards\n"
    )

    assert ["acme.CursorError: went backwards"] == templates(told(message))["example"].to_list()


@settings(max_examples=60)
@given(MESSAGES, st.randoms(use_true_random=False))
def test_templates_are_a_function_of_the_messages_in_any_order(
    messages: list[str], rng: random.Random
) -> None:
    frame = told(*messages)
    order = list(range(frame.height))
    rng.shuffle(order)

    made = templates(frame)

    assert made.equals(templates(frame[order]))
    assert sum(message.strip() != "" for message in messages) == made["count"].sum()


def test_no_messages_make_no_templates() -> None:
    nothing = templates(told())

    assert 0 == nothing.height
    assert ["template", "count", "example", "first_us", "last_us"] == nothing.columns


def test_empty_and_missing_messages_make_no_template() -> None:
    assert 0 == templates(told("", "   ", "\n\n", None)).height


def test_a_message_of_any_characters_makes_a_template() -> None:
    made = templates(told("\x00it broke", "é\U0001f600 it broke", "x" * 100_000))

    assert 3 == made.height
    assert max(map(len, made["template"])) <= 300


def test_too_many_kinds_that_begin_alike_are_told_apart_by_their_first_words() -> None:
    rng = random.Random(5)
    letters = "abcdefghijkl"
    messages = {"begin here " + " ".join(rng.choices(letters, k=7)) for _ in range(40 * MANY)}
    began = time.monotonic()

    made = templates(told(*messages))

    assert {f"begin here {letter} {ANYTHING}" for letter in letters} == set(made["template"])
    assert time.monotonic() - began < 20


def told(*messages: str | None) -> pl.DataFrame:
    schema = {"message": pl.String, "count": pl.Int64, "first_us": pl.Int64, "last_us": pl.Int64}
    rows = [(message, 1, number, number) for number, message in enumerate(messages)]
    return pl.DataFrame(rows, schema=schema, orient="row")
