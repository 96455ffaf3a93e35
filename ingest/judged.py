"""What the failure rules make of told failures and ends, kept beside what was told.

Never touches what was told: under other rules everything is judged anew. Which event of an attempt
is its cause is chosen in `queries/`.
"""

from __future__ import annotations

import duckdb
import polars as pl

from ingest.causes import COLUMNS, classify_frame
from ingest.causes_rules import RuleBook
from ingest.templates import templates
from queries import frames

# A category that a source itself gives is trusted over the rules.
_JUDGED = "event in ('failure', 'attempt_end') and category is null"
# A process that completed says of nothing why it failed.
_COMPLETED = (
    "(event = 'attempt_end' and "
    "coalesce(outcome = 'completed', outcome is null and exit_code = 0, false))"
)
_EVIDENCE = "message is not null or exit_code is not null or signal is not null"
# Of all that a collector adds, only the line on which the evidence begins.
_LINE = "json_object('line', attrs -> '$.line')"
# More different messages than a reader will ever look through.
_MOST_MESSAGES = 20_000


def judge(connection: duckdb.DuckDBPyConnection, book: RuleBook) -> None:
    """Let `judged_batch` be those rows of `batch` that say more than plain ones, each with what the
    rules make of it.

    Before they are kept: rows that change in the transaction that inserts them are written twice.
    """
    connection.execute(
        "create or replace temp view told_batch as select * from batch where says_more "
        "union all by name "
        "(select event, message, exit_code, signal, category, attrs from told_events limit 0)"
    )
    frames.lend(connection, "judged", _judged(connection, "told_batch", book))
    columns = ", ".join(f"judged.{column}" for column in COLUMNS)
    connection.execute(
        "create or replace temp view judged_batch as "
        f"select told.*, {columns} from told_batch as told "
        f"left join judged on {_same('told')}"
    )


def forget(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop what `judge` made."""
    connection.execute("drop view judged_batch")
    connection.execute("drop view told_batch")
    connection.unregister("judged")


def note_unexplained(
    connection: duckdb.DuckDBPyConnection, book: RuleBook, since_file_no: int
) -> None:
    """Count what this file and later ones tell that no rule explains.

    What texts told when they were shorter (`forgotten_ends`) counts no more: the whole tells it.
    """
    _note_unexplained(
        connection,
        book,
        f"select 1 as told, * from told_events where file_no >= {since_file_no} "
        "union all by name select -1 as told, * from forgotten_ends",
    )


def judge_all(connection: duckdb.DuckDBPyConnection, book: RuleBook) -> None:
    """Judge everything that was ever told, because the rules changed."""
    forgotten = ", ".join(f"{column} = null" for column in COLUMNS)
    connection.execute(f"update told_events set {forgotten} where cause_rule is not null")
    connection.execute("delete from unexplained_messages")
    connection.execute("delete from unmatched_templates")
    frames.lend(connection, "judged", _judged(connection, "told_events", book))
    assigned = ", ".join(f"{column} = judged.{column}" for column in COLUMNS)
    connection.execute(
        f"update told_events set {assigned} from judged where {_same('told_events')}"
    )
    connection.unregister("judged")
    _note_unexplained(connection, book, "select 1 as told, * from told_events")


def _judged(connection: duckdb.DuckDBPyConnection, events: str, book: RuleBook) -> pl.DataFrame:
    """What the rules know of what these events tell: each different telling once."""
    told = frames.told(
        connection,
        f"select distinct message, exit_code, signal, {_LINE} as attrs from {events} "
        f"where {_JUDGED} and ({_EVIDENCE})",
    )
    judged = classify_frame(told, book).rename({"attrs": "begins"})
    return judged.filter(pl.col("cause_rule").is_not_null())


def _same(events: str) -> str:
    """Whether a row of `judged` is of what one of these events tells."""
    told = [
        f"{events}.{column} is not distinct from judged.{column}"
        for column in ("message", "exit_code", "signal")
    ]
    return " and ".join([f"case when {_JUDGED} then {_LINE} end = judged.begins", *told])


def _note_unexplained(connection: duckdb.DuckDBPyConnection, book: RuleBook, events: str) -> None:
    """Count the messages that no rule explains, and make their templates anew if counts changed.

    `events`: a select of those that count from now on, or no more, as `told` says.
    """
    unexplaining = ", ".join(f"'{rule}'" for rule in sorted(book.unexplaining)) or "null"
    added = connection.execute(
        "insert into unexplained_messages select message, sum(told), min(at_us), max(at_us) "
        f"from ({events}) where {_JUDGED} and message is not null "
        f"and not {_COMPLETED} "
        f"and row_key is null and (cause_rule is null or cause_rule in ({unexplaining})) "
        "group by message having sum(told) <> 0"
    ).fetchone()
    if added == (0,):
        return
    messages = frames.told(
        connection,
        "select message, cast(sum(told) as bigint) as count, min(first_us) as first_us, "
        "max(last_us) as last_us from unexplained_messages group by message having count > 0 "
        f"order by count desc, message limit {_MOST_MESSAGES}",
    )
    connection.execute("delete from unmatched_templates")
    frames.lend(connection, "found", templates(messages))
    connection.execute(
        "insert into unmatched_templates select template, count, example, first_us, last_us "
        "from found"
    )
    connection.unregister("found")
