"""Published warehouses for the pages' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app import serving


@pytest.fixture(scope="session")
def fleet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    serving.publish(folder, serving.fleet())
    return folder


@pytest.fixture
def fleet(fleet_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample fleet, published; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(fleet_folder))
    return fleet_folder


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the pages read from, to publish into."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    return tmp_path
