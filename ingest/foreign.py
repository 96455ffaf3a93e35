"""What a file is that no format knows, where its first bytes tell, and what to give instead.

Only words: nothing of such a file is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.collectors.slurm_columns import COMMAND
from ingest.collectors.slurm_states import ENDED, LIVE, WAITING

# none of those that texts hold, nor the zeros that a crashed node leaves
_CONTROLS = bytes(set(range(ord(" "))) - set(b"\t\n\v\f\r\x1b\x00"))
_MOST_CONTROLS = 0.1  # of the bytes of a text
_MOST_BROKEN = 0.01
_STATES = "|".join(sorted((*ENDED, *LIVE, *WAITING)))
_EVENT = r"\"event\"\s*:\s*\"(?:attempt_\w+|phase_\w+|progress|failure|alive|job)\""
_WRITE_EVENTS = "write what it says as events: docs/interfaces.md lists their fields"


@dataclass(frozen=True, slots=True)
class _Foreign:
    """Output of a known kind: all of its `signs` are found in it, each in linear time."""

    what: str
    instead: str
    signs: tuple[re.Pattern[bytes], ...]


def _foreign(what: str, instead: str, *signs: str) -> _Foreign:
    return _Foreign(what, instead, tuple(re.compile(sign.encode(), re.MULTILINE) for sign in signs))


_FOREIGN = (
    _foreign(
        "text in UTF-16, as PowerShell writes with >",
        "Make it UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW",
        r"\A(?:\xff\xfe|\xfe\xff)",
    ),
    _foreign(
        "a table of sacct without its header",
        f"Leave out -n: {COMMAND}",
        rf"\A\s*+\d[\w.+%,\[\]-]*+[| ][^\n]*[| ](?:{_STATES}|OUT_OF_ME\+)(?:[| +]|$)",
    ),
    _foreign(
        "sacct --yaml",
        "Dump again: sacct -a -D --json -S 2026-01-01",
        r"\A(?:---\n)?(?:meta|jobs|errors|warnings):\s*$",
        r"^ *(?:- )?job_id: \d",
    ),
    _foreign(
        "the bare jobs of sacct --json",
        "Give the whole document, or dump again: sacct -a -D --json -S 2026-01-01",
        r"\A\s*+(?:\[\s*+)?\{",
        r"\"job_id\"\s*:\s*\d",
        r"\"(?:derived_exit_code|time)\"\s*:\s*\{",
    ),
    _foreign(
        "what squeue, scontrol, sinfo or a daemon of Slurm says",
        f"Dump what ended, too: {COMMAND}",
        r"^ *JOBID\b.*\b(?:ST|STATE|NODELIST)\b|\"(?:job_resources|tres_alloc_str)\"\s*:|"
        r"^JobId=\d+ |^PARTITION +AVAIL |^\[\S{19,23}\] \S+: .*\bJobId=\d+",
    ),
    _foreign(
        "what Kubernetes says of objects",
        "Give what the trainers print (kubectl logs --timestamps POD > pod.log), "
        f"or {_WRITE_EVENTS}",
        r"\"apiVersion\"\s*:|^apiVersion: |^LAST SEEN +TYPE +REASON\b|"
        r"^(?:NAMESPACE +)?NAME +(?:COMPLETIONS|READY|STATE|STATUS) ",
    ),
    _foreign(
        "the accounting of another scheduler than Slurm",
        f"Give what the trainers print, or {_WRITE_EVENTS}",
        r"^Job <\d+(?:\[\d+\])?>, |\"COMMAND\"\s*:\s*\"b(?:jobs|hist)\"|^\"JOB_[A-Z]+\" \"\d|"
        r"^JOBID +USER +STAT +QUEUE\b|^Job Id: \S+$|\"pbs_(?:version|server)\"\s*:|"
        r"^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Z];|^qname +\S+$|^ *ID +OWNER +SUBMITTED\b|"
        r"^Job [Ii][Dd] +(?:Name|Username) .*\bS(?: +Time| +Queue)\b|^job-ID +prior +name\b",
    ),
    _foreign(
        "what Ray says of itself",
        "Give what the trainer printed: ray job logs ID > train.log",
        r"\] \((?:raylet|gcs_server|core_worker|gcs)\) |\"source_type\"\s*:\s*\"[A-Z_]+\"|"
        r"\"submission_id\"\s*:|\bJobDetails\(type=|^=+ List: \d{4}-\d\d-\d\d ",
    ),
    _foreign(
        "what wandb notes of itself",
        "Give what the trainer printed: output.log in the folder files beside it",
        r"\A[^\n]{0,100} \[wandb_\w{1,20}\.py:|"
        r"\A\{\"time\":\"[^\n]{0,200}\"(?:core version|stream_id)\":",
    ),
    _foreign(
        "a system of MLPerf",
        "It is no dump: logs of its results are read with it, where it lies in their submission",
        r"\A\s*+\{",
        r"\"number_of_nodes\"\s*:",
        r"\"accelerators_per_node\"\s*:",
    ),
    _foreign(
        "lines of a log inside JSON",
        """Take them out: jq -r '.time + " " + (.log | rtrimstr("\\n"))' FILE > train.log""",
        r"\"log\"\s*:\s*\"",
        r"\"(?:time|stream|date|kubernetes)\"\s*:",
    ),
    _foreign(
        "lines of a log inside Loki's JSON",
        """Take them out: jq -r '.timestamp + " " + .line' FILE | sort -s -k1,1 > train.log""",
        r"\"labels\"\s*:",
        r"\"line\"\s*:\s*\"",
        r"\"timestamp\"\s*:\s*\"",
    ),
    _foreign(
        "lines of a log inside the journal's JSON",
        "Dump again: journalctl -o short-iso-precise -u UNIT > train.log",
        r"\"__REALTIME_TIMESTAMP\"\s*:",
    ),
    _foreign(
        "lines of a log inside Cloud Logging's JSON",
        "Take them out, oldest first: jq -rs 'flatten | sort_by(.timestamp)[] | "
        """.timestamp + " " + .textPayload' FILE > train.log""",
        r"\"textPayload\"\s*:",
    ),
    _foreign(
        "entries of Cloud Logging that do not stand one on a line",
        "Take them out: jq -c '.[].jsonPayload' FILE > goodput.jsonl",
        r"\A\s*+\[",
        r"\"jsonPayload\"\s*:",
    ),
    _foreign(
        "events that tell no ts",
        "Write the time of each as ts, with its zone: docs/interfaces.md lists the fields",
        r"\A\s*+\{(?![^\n]*\"ts\"\s*:)[^\n]*\}[ \r]*+$",
        _EVENT,
    ),
    _foreign(
        "events that do not stand one on a line",
        "Write them as JSON Lines: jq -c '.[]' FILE of an array, else jq -c . FILE",
        r"\A\s*+[\[{]",
        _EVENT,
    ),
)


def told_of(head: bytes) -> str | None:
    """What the first bytes of a file of no known format look like, and the next step."""
    for foreign in _FOREIGN:
        if all(sign.search(head) for sign in foreign.signs):
            return f"{foreign.what}. {foreign.instead}"
    return None


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file may be those of a text, in any encoding."""
    return len(head) - len(head.translate(None, _CONTROLS)) <= _MOST_CONTROLS * len(head)


def is_utf8(head: bytes) -> bool:
    """The same of UTF-8: of the numbers in a checkpoint many a byte could be one of a text."""
    broken = head.decode(errors="replace").count("\N{REPLACEMENT CHARACTER}")
    return is_text(head) and broken <= _MOST_BROKEN * len(head)
