"""Whether a server could listen on a port now. Opens none of its own for longer than it asks."""

from __future__ import annotations

import socket
from itertools import chain


def why_not(host: str, port: int) -> str | None:
    """Why nobody can listen there now, in the system's words; None where one can."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
            probe.bind(address)
    except OSError as error:
        return error.strerror
    return None


def next_free(host: str, port: int) -> int:
    """The first port above this one, or else above the privileged ones, where one can listen; this
    one where there is none.
    """
    for other in chain(range(port + 1, 65536), range(1024, port)):
        if why_not(host, other) is None:
            return other
    return port
