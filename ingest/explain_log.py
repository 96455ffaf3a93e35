"""`ett-explain`: which cause a log would be given, by which rule, on which line, and what lost.

Reads files, changes nothing. What several dumps together say of an attempt, the warehouse knows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo

from ingest import causes, causes_told, dumps, spool, unpacking
from ingest.causes import MESSAGE_CHARACTERS, Finding
from ingest.causes_rules import INFORMATIONAL_RANK, Kind, RuleBook, shipped_attributions
from ingest.causes_told import Piece, Verdict
from ingest.collectors.base import Dump, Reading
from ingest.errors import IngestError, UnreadableDump
from ingest.foreign import is_text
from ingest.formats import FORMATS, format_of
from ingest.settings import Settings, found_settings
from ingest.words import counted, shown
from queries import places

EXPLAINED, UNEXPLAINED, UNUSABLE = 0, 1, 2

_OF_PATTERNS = FORMATS["training-log"]
_SHOWN_OF_UNKNOWN = 200
_EXAMPLES = """\
examples:
  ett-explain slurm-771.out            the cause of a log, and what else it tells
  ett-explain run7/                    of every file of a run, each for itself
  ett-explain sacct.txt                of each attempt of a dump that ett-ingest reads
  srun ... 2>&1 | ett-explain -        of standard input
  ETT_CONFIG=new.toml ett-explain x    with the failure rules of another configuration

Rules of your own stand in ett.toml as [[failure_rule]] tables and judge first: docs/failures.md.
exit status: 0 a cause was found, 1 nothing tells of a failure, 2 nothing could be read
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        return _explain(chosen.paths)
    except IngestError as error:
        print(f"ett-explain: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ett-explain",
        description="Say which cause a log would be given, by which rule, on which line, and why "
        "what else it tells is not the cause.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", nargs="+", metavar="FILE", help="a log or dump, a folder, a pattern, or -"
    )
    return parser


def _explain(paths: Sequence[str]) -> int:
    settings = found_settings()
    statuses = []
    with spool.made(is_needed="-" in paths) as place:
        files, unreadable = dumps.find(paths, place, places.warehouse())
        for why in unreadable:
            print(shown(f"ett-explain: cannot read {why}"), file=sys.stderr)
        if not files and not unreadable:
            print("ett-explain: there is no file in what was given.", file=sys.stderr)
        for file in files:
            try:
                statuses.append(_explain_file(file, settings))
            except (OSError, UnreadableDump) as error:
                print(shown(f"ett-explain: cannot read {file.name}: {error}"), file=sys.stderr)
    return min(statuses, default=UNUSABLE)


def _explain_file(file: dumps.DumpFile, settings: Settings) -> int:
    head = dumps.head(file)
    if not head:
        broken_off = f": its {file.compression} stream is broken"
        raise UnreadableDump(f"it is empty{'' if dumps.holds_nothing(file) else broken_off}")
    unpacking.refuse_archive(head)
    book, patterns = settings.failure_rules, settings.training_logs
    format = format_of(file, head, patterns)
    if format is None and not is_text(head):
        raise UnreadableDump("it is no text, and no dump that ett-ingest reads")
    broken: list[dumps.Truncated] = []
    dump = Dump(
        file.name,
        None if file.name == "-" else file.path,
        lambda: dumps.lines(file, broken.append),
    )
    kind = "plain text"
    verdicts: list[Verdict] = []
    if format is not None:
        kind = f"{format.name} dump"
        try:
            reading = Reading(None, ZoneInfo("UTC"), training_logs=patterns)
            verdicts = causes_told.verdicts(dump, format, reading, book)
            kind += "" if verdicts else " without failures; as text"
        except UnreadableDump:  # ett-ingest could not load it: it is a text all the same
            kind += " that cannot be loaded; as text"
    findings: list[Finding] = []
    if not verdicts or format is _OF_PATTERNS:
        findings = causes.weighed(_texts(dump), book)
    if verdicts:
        _say(f"{file.name}: {kind}, {counted(len(verdicts), 'attempt')} interrupted")
        status = _say_verdicts(verdicts, book)
        _say_untaken(_nearer(findings, verdicts))
    else:
        _say(f"{file.name}: {kind}")
        status = _say_findings(findings, book)
        if format is not None:
            _say_untaken(findings[:1] if status == EXPLAINED else [])
    for one in {one.why: one for one in broken}.values():
        _say(f"  read up to line {one.line_number}: {one.why}")
    return status


def _texts(dump: Dump) -> Iterator[causes.Line]:
    for number, line in dump.lines():
        yield number, line[:MESSAGE_CHARACTERS].decode("utf-8", "replace")


def _say_findings(findings: list[Finding], book: RuleBook) -> int:
    root = findings[0] if findings and findings[0].can_be_root else None
    if root is None:
        _say("  cause: unknown/unclassified, no line tells why this log ended")
    else:
        _say(
            f"  cause: {_named(root.rule.category, book)}, by rule {root.rule.name}, {_where(root)}"
        )
        _say(f"    {root.evidence}")
    for other in findings[root is not None :]:
        _say(
            f"  not:   {other.rule.category}, by rule {other.rule.name}, {_where(other)}: "
            f"{_why_not(other, root)}"
        )
        _say(f"    {other.evidence}")
    return UNEXPLAINED if root is None else EXPLAINED


def _nearer(findings: list[Finding], verdicts: list[Verdict]) -> list[Finding]:
    """The line that would be the cause, were the log a text, where no attempt tells of it."""
    pieces = [piece for verdict in verdicts for piece in verdict.pieces]
    least = min((piece.rank for piece in pieces), default=INFORMATIONAL_RANK)
    told = {piece.line for piece in pieces}
    return [
        each
        for each in findings[:1]
        if each.can_be_root and each.rule.rank < least and each.line_number not in told
    ]


def _say_untaken(findings: list[Finding]) -> None:
    """The warehouse knows of a log what its format's collector takes from it, and no more."""
    for each in findings:
        _say(f"  ett-ingest does not take line {each.line_number} of this dump for a failure:")
        _say(f"    {each.evidence}")
        _say(f"    so the warehouse has no {each.rule.category} from it. Of a trainer's log, a")
        _say('    [[training_log]] of ett.toml with means = "failure" lets it (docs/failures.md)')


def _where(finding: Finding) -> str:
    more = f" and {counted(finding.lines - 1, 'more line')}" if finding.lines > 1 else ""
    return f"line {finding.line_number}{more}"


def _why_not(other: Finding, root: Finding | None) -> str:
    if other.rule.rank == INFORMATIONAL_RANK:
        return "informational, never a cause"
    if other.went_on or root is None:
        return "the run went on after it"
    if other.rule.rank == root.rule.rank:
        return f"as near to the root, but later than line {root.line_number}"
    what = "a consequence" if other.rule.kind is Kind.CASCADE else "further from the root"
    return f"{what} (rank {other.rule.rank}, the cause has {root.rule.rank})"


def _say_verdicts(verdicts: list[Verdict], book: RuleBook) -> int:
    for verdict in verdicts:
        unsure = "" if verdict.is_numbered else " (this dump does not number its attempts)"
        _say(f"  {verdict.attempt}{unsure}")
        if not verdict.pieces:
            told = verdict.told[:_SHOWN_OF_UNKNOWN]
            _say(f"    cause: unknown/unclassified, no rule knows what is told: {told}")
            continue
        root, *others = verdict.pieces
        _say(f"    cause: {_named(root.category, book)}, by {_by(root)}")
        _say_evidence(root)
        for other in others:
            why = "later" if other.rank == root.rank else f"rank {other.rank} behind {root.rank}"
            _say(f"    not:   {other.category}, by {_by(other)}: {why}")
            _say_evidence(other)
    return EXPLAINED if any(verdict.pieces for verdict in verdicts) else UNEXPLAINED


def _say_evidence(piece: Piece) -> None:
    if piece.evidence:
        _say(f"      {piece.evidence}")


def _by(piece: Piece) -> str:
    where = "" if piece.line is None else f", line {piece.line}"
    more = f" and {counted(piece.events - 1, 'more event')}" if piece.events > 1 else ""
    return f"{'' if piece.rule == causes_told.SAID else 'rule '}{piece.rule}{where}{more}"


def _named(category: str, book: RuleBook) -> str:
    attributions = shipped_attributions() | book.attributions
    return f"{category} ({attributions.get(category, 'unknown')})"


def _say(line: str) -> None:
    print(shown(line))


if __name__ == "__main__":
    sys.exit(main())
