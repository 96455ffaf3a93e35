"""Published warehouses for the pages' tests."""

from __future__ import annotations

import pickle
from collections.abc import Callable
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


@pytest.fixture(scope="session")
def shown_folders() -> dict[bytes, Path]:
    """Where the warehouses that `show` published are."""
    return {}


@pytest.fixture
def show(
    shown_folders: dict[bytes, Path],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[serving.Warehouse], None]:
    """Let the pages read this warehouse. For cases of one test: they find what others have read."""

    def read(warehouse: serving.Warehouse) -> None:
        told = pickle.dumps(warehouse)
        if told not in shown_folders:
            shown_folders[told] = tmp_path_factory.mktemp("shown")
            serving.publish(shown_folders[told], warehouse)
        monkeypatch.setenv("ETT_WAREHOUSE", str(shown_folders[told]))

    return read
