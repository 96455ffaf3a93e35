"""`ett-dashboard`: the command that starts the server."""

from __future__ import annotations

import os
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


def test_paths_are_of_the_folder_it_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        os, "execve", lambda _, line, environment: started.append((line, environment))
    )
    dashboard.main(["--warehouse", "here", "--port", "8601"])
    ((line, environment),) = started

    assert str(tmp_path / "here") == environment["ETT_WAREHOUSE"]
    assert str(tmp_path / "ett.toml") == environment["ETT_CONFIG"]
    assert "--server.port=8601" in line
    assert "--server.address=127.0.0.1" in line
    assert (Path.cwd() / ".streamlit" / "config.toml").is_file()
