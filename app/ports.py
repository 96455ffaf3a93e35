"""Whether a server could listen on a port now. Opens none of its own for longer than it asks."""

from __future__ import annotations

import socket


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
