"""`ett-dashboard`: start streamlit on these pages, with their theme; nothing reports home.

Replaces this process by the server, so that a signal to it is a signal to the server.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from app import ports
from app.readers import LOOPBACK, Readers, UnusableAuth, provider, read_readers
from app.warehouse import refuse_newer
from queries import PublishedByNewerRelease
from queries.places import add_warehouse

_ROOT = Path(__file__).resolve().parent.parent
_EXAMPLES = """\
examples:
  ett-dashboard                                  the warehouse in ./warehouse, on 127.0.0.1:8501
  ett-dashboard --warehouse /srv/ett/warehouse   another warehouse
  ett-dashboard --host 0.0.0.0 --port 8080       reachable from other machines, by anyone

Readers sign in with your OpenID provider where ett.toml has a table [auth]: see docs/doors.md.
"""
# Each run of a page is a thread. With memory of its own for each, what a page needs for a moment
# lies between what stays: half of it was held for nothing after minutes of many readers.
_MEMORY = {"MALLOC_ARENA_MAX": "2"}


class UnusablePort(Exception):
    """Says which port, and why the server cannot listen there."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments and become the server."""
    chosen = _parser().parse_args(arguments)
    paths = {
        "ETT_WAREHOUSE": chosen.warehouse,
        "ETT_CONFIG": os.environ.get("ETT_CONFIG") or "ett.toml",
    }
    absolute = {name: os.path.realpath(path) for name, path in paths.items()}
    try:
        nothing_yet = refuse_newer(chosen.warehouse)
        readers = _readers(Path(paths["ETT_CONFIG"]), is_named=bool(os.environ.get("ETT_CONFIG")))
        _refuse_taken(chosen.host, chosen.port)
    except (UnusableAuth, PublishedByNewerRelease, UnusablePort) as refusal:
        sys.exit(_refused(refusal))
    if nothing_yet is not None:
        print(f"ett-dashboard: {nothing_yet}", file=sys.stderr)
    if readers is None and chosen.host not in LOOPBACK:
        print(
            f"ett-dashboard: whoever reaches {chosen.host} may read it. See docs/doors.md.",
            file=sys.stderr,
        )
    print(
        f"Dashboard on http://{chosen.host}:{chosen.port}, warehouse {chosen.warehouse}", flush=True
    )
    os.chdir(_ROOT)  # streamlit reads .streamlit/config.toml of the folder it is started in
    line = [
        *command(chosen.host, chosen.port),
        *(signing_in(readers, chosen.port) if readers else ()),
    ]
    environment = {**_MEMORY, **os.environ, **absolute}
    os.execve(line[0], line, environment)  # noqa: S606 - this project's own command


def command(host: str, port: int) -> list[str]:
    """The command line of the server, for the project's folder."""
    page = str(_ROOT / "app" / "server.py")
    flags = [f"--server.address={host}", f"--server.port={port}", f"--browser.serverAddress={host}"]
    return [sys.executable, "-m", "commands", "run", page, *flags]


def signing_in(readers: Readers, port: int) -> list[str]:
    """What the server must know to sign readers in: the provider's secrets, its public address."""
    public = urlsplit(provider(readers.secrets)["redirect_uri"].replace("{port}", str(port)))
    public_port = public.port or (443 if public.scheme == "https" else 80)
    return [
        f"--secrets.files={readers.secrets}",
        f"--browser.serverAddress={public.hostname}",  # else its web socket is refused to a browser
        f"--browser.serverPort={public_port}",
    ]


def _readers(config: Path, *, is_named: bool) -> Readers | None:
    if is_named and not config.exists():
        raise UnusableAuth(f"ETT_CONFIG names {config}, which does not exist.")
    readers = read_readers(config)
    if readers is not None:
        provider(readers.secrets)
    return readers


def _refuse_taken(host: str, port: int) -> None:
    # streamlit would say so too, but only after an address that leads to another's server
    if why := ports.why_not(host, port):
        helps = (
            "Stop what listens there, or choose another with --port"
            if why == os.strerror(errno.EADDRINUSE)
            else "Choose another --host or --port"
        )
        raise UnusablePort(f"port {port} of {host} cannot be used: {why}. {helps}.")


def _refused(refusal: Exception) -> int:
    print(f"ett-dashboard: {refusal}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ett-dashboard",
        description="Show the published warehouse in a browser.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=_port, default=8501, help="port (%(default)s)")
    add_warehouse(parser)
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: use a number from 1 to 65535")
    return int(text)


if __name__ == "__main__":
    main()
