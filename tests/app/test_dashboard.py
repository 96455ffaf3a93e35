"""`ett-dashboard`: the command that starts the server."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import dashboard


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        dashboard.main(["--help"])

    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1", "80.5"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        dashboard.main([f"--port={port}"])

    assert "is not a port" in capsys.readouterr().err


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_taken_port_is_refused_before_any_address_is_told(
    tmp_path: Path, taken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        dashboard.main([f"--port={taken}", f"--warehouse={tmp_path}"])
    said = capsys.readouterr()

    assert "" == said.out
    assert (
        f"ett-dashboard: port {taken} of 127.0.0.1 cannot be used: Address already in use. "
        "Stop what listens there, or choose another with --port.\n"
    ) == said.err


def test_a_host_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        dashboard.main(["--host=192.0.2.1", f"--warehouse={tmp_path}"])

    assert (
        "ett-dashboard: port 8501 of 192.0.2.1 cannot be used: Cannot assign requested address. "
        "Choose another --host or --port.\n"
    ) == capsys.readouterr().err


def test_paths_are_of_the_folder_it_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.ports.why_not", lambda *_: None)
    monkeypatch.setattr(
        os, "execve", lambda _, line, environment: started.append((line, environment))
    )
    dashboard.main(["--warehouse", "here", "--port", "8601"])
    ((line, environment),) = started

    assert "ett-dashboard: no warehouse is published in here" in capsys.readouterr().err
    assert str(tmp_path / "here") == environment["ETT_WAREHOUSE"]
    assert str(tmp_path / "ett.toml") == environment["ETT_CONFIG"]
    assert "--server.port=8601" in line
    assert "--server.address=127.0.0.1" in line
    assert (Path.cwd() / ".streamlit" / "config.toml").is_file()


@pytest.mark.parametrize("own", [None, "8"])
def test_threads_share_memory_unless_whoever_starts_it_says_otherwise(
    own: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if own is not None:
        monkeypatch.setenv("MALLOC_ARENA_MAX", own)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.ports.why_not", lambda *_: None)
    monkeypatch.setattr(os, "execve", lambda *started_with: started.append(started_with[-1]))
    dashboard.main(["--warehouse", "here", "--port", "8601"])

    assert [own or "2"] == [environment["MALLOC_ARENA_MAX"] for environment in started]
