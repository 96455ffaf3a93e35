"""MLPerf Training result logs: one log is one job. It says what the run did between launch and
stop; saves do not exist.

Reads MLLOG records, the launcher's RUNANDTIME marks and a few error lines; all other text of a log
says nothing to us.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.mlperf_events import events
from ingest.collectors.mlperf_log import Log
from ingest.collectors.mlperf_submission import submission_of
from ingest.collectors.mlperf_text import START, Errors, is_trace, mark_in, records_in, split_label
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected, Says

_SIGN = re.compile(
    rb"^(?:[^{\"\n]{0,80}:::MLLOG \{|" + START + rb"|"
    rb":::(?:DLPAL|SYSJSON|GITCOMMITID) |"
    rb"\++ (?:export )?MLPERF_[A-Z_]{1,40}=)",
    re.MULTILINE,
)


def recognises(_name: str, head: bytes) -> bool:
    """Whether a line is an MLLOG record, a mark of MLPerf's launcher or the trace of what it sets:
    the first record may come after 64 KiB.
    """
    return _SIGN.search(head) is not None


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Set-aside lines, then the events of the log's one job. Raises UnreadableDump if no line is a
    record of a run or a mark.

    Who the job is stands behind its first events, so the events come when the log has been read.
    """
    log = Log()
    errors = Errors(reading.timezone)
    launches = 0
    for number, line in dump.lines():
        label, text = split_label(line)
        if is_trace(text):
            continue
        if mark := mark_in(text):
            log.mark(*mark, label)
        elif b":::MLLOG" in text:
            for record in records_in(number, text):
                if isinstance(record, Rejected):
                    yield record
                else:
                    log.record(record, label)
        elif text.startswith(b":::SYSJSON "):
            log.describe(text)
        elif error := errors.error_in(label, text):
            log.error(error, number)
        if len(log.launches) > launches:
            launches = len(log.launches)
            errors.begin()
    log.close()
    if not log.is_log:
        raise UnreadableDump(
            f"{dump.name} holds no MLLOG record of a run and no RUNANDTIME mark. "
            "Is it an MLPerf result log?"
        )
    yield from events(log, submission_of(dump), reading.cluster)


MLPERF = Collector(
    name="mlperf",
    says=Says(training=True, saves=True, resumes=True),
    recognises=recognises,
    read=read,
    is_named_by_path=True,
)
