"""Settings that are broken: whole files of them, and pieces of one in the wrong place."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from tests.fuzz import rules
from tests.fuzz.accidents import STRANGE, mutated

WHOLE = b"""\
timezone = "Europe/Berlin"
stale_after_hours = 1.5
targets = { fleet = 0.9, ads = 1 }
exclude = { partitions = ["debug*"], names = ["probe_?"] }
[price]
gpu_hour = 2.5
currency = "EUR"
[regressions]
sla_days = 3
[[identity]]
path = 'logs/(?P<job_id>[^/]+)/(?P<team>\\w+)'
[[failure_rule]]
name = "our_nfs"
category = "storage/checkpoint_write"
pattern = "nfs: server .* not responding"
[[training_log]]
name = "our loop"
means = "step"
contains = ["batches trained"]
pattern = '(?P<step>\\d+) batches trained'
[alerts]
unsaved_ratio = 0.03
[auth]
domains = ["example.org"]
"""
WEB_CONFIG = b"""\
tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  min_version: TLS13
basic_auth_users:
  ann: "$2b$04$abcdefghijklmnopqrstuuJkXHW9wXJ7gNjnTQGqJm1C6pQFDvPze"
"""
_VALUES = (
    *("true", "-1", "nan", "inf", "1e400", "9223372036854775807", '""', "'x'", "[]", "{}", "[[]]"),
    *("[1, 'a']", "{a = 1}", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "'('", "'(?P<a>'"),
    *("'(a+)+$'", "'\\\\'", "['(']", "[{}]", "[{a = 1}]", "'\\u0000'", "'../..'", "'/etc'"),
)
_KEYS = (
    *("timezone", "stale_after_hours", "targets", "targets.fleet", "exclude", "exclude.names"),
    *("price", "price.gpu_hour", "price.currency", "regressions", "regressions.sla_days"),
    *("identity", "failure_rule", "training_log", "alerts", "auth", "auth.domains", "a"),
)
_OF_RULES = ("name", "category", "pattern", "path", "job_id", "means", "contains")


def settings_round(rng: random.Random) -> int:
    """Some broken settings; returns how many lines of them."""
    hits = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(200):
            if rng.random() < 0.5:
                whole = rng.choice((WHOLE, WHOLE, WEB_CONFIG))
                lines, hit = mutated(whole.split(b"\n"), rng, rng.choice((0.05, 0.3)))
                text, hits = b"\n".join(lines), hits + len(hit)
            else:
                text, hits = misplaced(rng), hits + 1
            rules.settings_are_told_or_used(Path(folder), text)
    return hits


def misplaced(rng: random.Random) -> bytes:
    """A known name with a value of another kind."""
    value = rng.choice(_VALUES)
    if rng.random() < 0.1:
        value = "'" + rng.choice(STRANGE)[:50].decode("latin-1") + "'"
    table = rng.choice(("", "", "[[identity]]\n", "[[failure_rule]]\n", "[[training_log]]\n"))
    names = _OF_RULES if table else _KEYS
    return "".join(
        f"{table}{rng.choice(names)} = {value}\n" for _ in range(rng.choice((1, 1, 2)))
    ).encode("utf-8", "replace")
