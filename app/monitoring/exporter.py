"""`ett-exporter`: the published warehouse as Prometheus metrics, on loopback unless told otherwise.

Only wires: arguments, log, signals. Never writes to the warehouse; nothing goes to stdout.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from pathlib import Path

import duckdb

from app.monitoring import backfill
from app.monitoring.doors import Doors
from app.monitoring.follower import Follower
from app.monitoring.server import Server
from app.monitoring.web_config import UnusableWebConfig
from app.warehouse import connect, refuse_newer
from queries import NothingPublished, PublishedByNewerRelease, published
from queries.interrupts import as_keyboard_interrupt
from queries.places import add_warehouse, leads_to_itself

_EXAMPLES = """\
examples:
  ett-exporter                                  ./warehouse, on http://127.0.0.1:9108/metrics
  ett-exporter --warehouse /data/ett --port 9200
  ett-exporter --host 0.0.0.0 --web-config web.yml
                                                for a Prometheus on another machine
  ett-exporter --backfill past.om               the past, for promtool tsdb create-blocks-from

paths:
  /metrics     every family; follows each publish by itself
  /-/healthy   200 while the exporter is up
  /-/ready     200 once a warehouse is published, 503 before

A web config for TLS and basic auth, as other exporters take it:
  tls_server_config: {cert_file: exporter.crt, key_file: exporter.key}
  basic_auth_users: {prometheus: "$2y$10$..."}

A scrape job for Prometheus:
  scrape_configs:
    - job_name: ett
      static_configs: [{targets: ["127.0.0.1:9108"]}]
"""
_DISTRIBUTION = "ett-observatory"
_ENDING = {signal.SIGTERM, signal.SIGINT}

_log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT, or write the past and end.

    Returns 0, or 2 where it cannot listen, read or write as asked.
    """
    asked = _parser().parse_args(arguments)
    if asked.backfill is not None:
        return _backfill(asked.warehouse, asked.backfill)
    _log_to_stderr(asked.verbose)
    with _signals_left_to_sigwait():
        follower = Follower(asked.warehouse, _version())
        try:
            refuse_newer(asked.warehouse)
            doors = Doors(asked.web_config)
            server = Server(asked.host, asked.port, follower, doors)
        except (PublishedByNewerRelease, UnusableWebConfig) as refusal:
            print(f"ett-exporter: {refusal}", file=sys.stderr)
            return 2
        except OSError as error:
            print(_cannot_listen(asked.host, asked.port, error), file=sys.stderr)
            return 2
        _warn_if_open(server, doors)
        _serve(server, follower)
    return 0


@contextmanager
def _signals_left_to_sigwait() -> Iterator[None]:
    """Hold the signals that end the exporter in every thread started within."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        # a terminal and a supervisor often both ask: the second must not kill what ends well
        while signal.sigtimedwait(_ENDING, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _backfill(warehouse: Path, target: Path) -> int:
    def advance(done: int, days: int) -> None:
        if done % 30 == 0 or done == days:
            print(f"ett-exporter: {done} of {days} days", file=sys.stderr)

    try:
        with as_keyboard_interrupt(), closing(connect(published(warehouse))) as connection:
            samples = backfill.write(connection, target, advance)
    except KeyboardInterrupt:
        print(f"ett-exporter: stopped; {target} is not written", file=sys.stderr)
        return 130
    except (NothingPublished, duckdb.Error, OSError) as error:
        print(f"ett-exporter: the past could not be written: {error}", file=sys.stderr)
        if isinstance(error, OSError):
            print("ett-exporter: give --backfill a file that can be written", file=sys.stderr)
        return 2
    print(f"{samples:,} samples in {target}. Prometheus takes them with")
    print(f"  promtool tsdb create-blocks-from openmetrics {shlex.quote(str(target))} DATA-FOLDER")
    return 0


def _serve(server: Server, follower: Follower) -> None:
    follower.start()
    serving = threading.Thread(target=server.serve_forever, name="server", daemon=True)
    serving.start()
    _log.info("serving %s", server.url())
    ended_by = signal.sigwait(_ENDING)
    _log.info("ended by %s", signal.Signals(ended_by).name)
    server.shutdown()
    server.server_close()
    follower.stop()


def _warn_if_open(server: Server, doors: Doors) -> None:
    if ip_address(server.server_name).is_loopback:
        return
    if not doors.asks_who:
        _log.warning("whoever reaches %s may read it: see --web-config", server.url())
    elif not doors.is_encrypted:
        _log.warning("passwords go in the clear to %s: see --web-config", server.url())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ett-exporter",
        description="The published warehouse as Prometheus metrics.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    parser.add_argument(
        "--port", type=_port, default=9108, help="port to listen at (9108); 0 takes a free one"
    )
    add_warehouse(parser)
    parser.add_argument(
        "--web-config",
        type=Path,
        metavar="FILE",
        help="TLS and basic auth, in the web config format of Prometheus' exporters",
    )
    parser.add_argument(
        "--backfill",
        type=_file,
        metavar="FILE",
        help="write the past as OpenMetrics, a sample a day, instead of serving",
    )
    parser.add_argument("--verbose", action="store_true", help="log every request")
    return parser


def _file(text: str) -> Path:
    path = Path(text)
    if text == "-" or leads_to_itself(path) or path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no file that could be written: name one")
    return path


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give a number from 0 to 65535")
    return int(text)


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        what = f"port {port} of {host} is taken. Stop what listens there, or choose another"
    else:
        reason = error.strerror or error
        what = f"cannot listen at {host}, port {port}: {reason}. Choose another --host or"
    return f"ett-exporter: {what} --port."


def _version() -> str:
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def _log_to_stderr(is_verbose: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.DEBUG if is_verbose else logging.INFO, handlers=[handler])


class _JsonLines(logging.Formatter):
    """One JSON object a line: a message may hold anything, a line break included."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
