"""`python -m commands run PAGE`: the server that `ett-dashboard` becomes."""

from __future__ import annotations

from commands import server

if __name__ == "__main__":
    server()
