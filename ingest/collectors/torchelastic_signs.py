"""What torchrun's files look like: whether a file's first bytes are one of its kinds, and which of
its lines have to be read.

Reads no line and makes no events.
"""

from __future__ import annotations

import re

# one of them stands on every line that tells something, unless it follows one that does
MARKS = [
    "torch/distributed/",
    "torch.distributed.",
    "torchelastic",
    "[ft_launcher",
    "Traceback (most recent call last)",
    "Exception ignored in",
    "Root Cause (first observed failure)",
    *(
        f"{quote}func_name{quote}:{space}{quote}{name}{quote}"
        for name in ("save", "load", "async_save")
        for quote, space in (('"', " "), ('"', ""), ("'", " "))
    ),
    "py_callstack",
    "checkpoint request",
    "checkpoint save request",
    "Checkpoint save failed",
    " api: ",
    "] run: ",
    "restart=",
    "SLURM",
    "lurm",
]
_MODULE = rb"(?:run|launcher\.api|elastic\.[\w.]{1,80})"
# patterns, compiled when a file may be of its kind: most files are of none
_SIGNS = (
    # event records, as a handler wrote them or inside of a log line
    (
        b"torchelastic.worker.status.",
        rb"\"name\": ?\"torchelastic\.worker\.status\.[A-Z_]{1,40}\"",
    ),
    # the agent's log: glog since 2.3, brackets in 2.1 and 2.2, Python's own before
    (
        b"torch/distributed/",
        rb"[IWEFC]\d{4} \d\d:\d\d:\d\d\.\d{3,9} \d{1,20} (?:\S{1,200}?/)?torch/distributed/"
        rb"(?:run|launcher/api|elastic/[\w/]{1,80})\.py:\d+\]",
    ),
    (b"torch.distributed.", rb"\d\] torch\.distributed\." + _MODULE + rb": \[[A-Z]"),
    (
        b"torch.distributed.",
        rb"(?m)^[^\n{\"]{0,80}(?:INFO|WARNING|ERROR|CRITICAL):torch\.distributed\."
        + _MODULE
        + rb":",
    ),
    (b"[ft_launcher", rb"\d\] \[[A-Z]{4,8}\] \[ft_launcher\d{0,20}@[\w.-]{1,256}\] "),
    (b"elastic_operator", rb"(?m)^[^\n{\"]{0,80} api: Starting elastic_operator with"),
    (
        b"ChildFailedError",
        rb"(?m)^[^\n{\"]{0,80}torch\.distributed\.elastic\.multiprocessing\.errors"
        rb"\.ChildFailedError:\s*$",
    ),
    # records of the distributed checkpoint's logger
    (
        b"func_name",
        rb"[\"']func_name[\"']: ?[\"'](?:save|load|async_save|local_step|global_step"
        rb"|write_data|read_data|stage_state_dict|_stateful_to_state_dict)[\"'.]",
    ),
)
# a worker's error file is one object, on one line or on many
_ERROR_FILE = (
    rb"\s*\{\s*\"message\": ?(?:"
    rb"\{\s*\"message\": ?\"[^\n]*?\"extraInfo\": ?\{"
    rb"|\{\s*\"message\": ?\"[^\n]*\n\s*\"extraInfo\": ?\{"
    rb"|\"[^\n]*\"timestamp\": ?\"?\d{10}\b[^{\n]{0,200}\}\s*\Z"
    rb")"
)
_RANK_LOG = r"attempt_\d{1,9}/\d{1,9}/stderr\.log"
_TRACEBACK = b"Traceback (most recent call last)"


def recognises(name: str, head: bytes) -> bool:
    """Whether the first bytes of a file hold anything that torchrun or its workers' runtime writes.

    A traceback alone is anyone's, but for the place where torchrun puts a worker's errors.
    """
    return (
        any(mark in head and re.search(sign, head) is not None for mark, sign in _SIGNS)
        or (b'"message"' in head and re.match(_ERROR_FILE, head) is not None)
        or (_TRACEBACK in head and re.search(_RANK_LOG, name) is not None)
    )
