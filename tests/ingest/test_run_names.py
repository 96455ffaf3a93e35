"""What the folders of its files call a run: a try of one is none of its own, another run is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingest.collectors.run_names import called_by, is_part, number_of
from tests.ingest.torchelastic_dumps import begins, finishes, starts
from tests.queries.engine import ingest, rows
from tests.queries.test_runs_at_once import sightings, write

PARTS = """
    logs train run outputs lightning_logs torch_loggers rank_0 rank_00001 00001 node-10023 node07
    10.20.30.40 10-20-30-40 0 7 1153 2026 2026-11 attempt1 run-1-attempt2 try-2
"""
ONES_OF_MANY = """
    2026-11-25 2026_11_25 2026.11.25 20261125 2026-11-25_10-00-00 2026-11-25T10:00:00Z
    2026-11-25T10:00:00+01:00 20261125-100000 10-00-00 run_2026-11-25 48213 48213_3 1772323200
    job_17 run-2 run2 version_0 trial_3
"""


@pytest.mark.parametrize("folder", PARTS.split())
def test_parts_of_a_run_are_called_by_what_is_above(folder: str) -> None:
    assert is_part(["llama", folder])
    assert "llama" == called_by(["", "data", "llama", folder])


@pytest.mark.parametrize("folder", ONES_OF_MANY.split())
def test_one_of_many_is_a_run_of_what_is_above(folder: str) -> None:
    assert not is_part(["llama", folder])
    assert f"llama/{folder}" == called_by(["", "data", "llama", folder])
    assert f"llama/{folder}" == called_by(["", "data", "llama", "logs", folder, "rank_0"])


def test_a_folder_that_names_a_run_needs_no_other() -> None:
    assert "seed1" == called_by(["", "llama", "2026-11-25", "seed1"])
    assert "r1" == called_by(["", "deepseek", "r1"])
    assert called_by(["", "logs", "0"]) is None
    assert called_by([]) is None
    assert "llama/2026-11-25/10-00-00" == called_by(["llama", "2026-11-25", "10-00-00", "0"])


@pytest.mark.parametrize("word", ["1", "log_", "stdout", "torchrun", "logsrun", "2026-11-25T"])
def test_a_long_name_takes_no_longer_than_its_letters(word: str) -> None:
    name = (word * 255)[:254]

    assert called_by(["llama", f"{name}x"]) in (f"llama/{name}x", f"{name}x")


def test_a_name_is_looked_for_in_a_few_folders() -> None:
    assert called_by(["llama", *"012345"]) is None


def test_whatever_is_numbered_in_a_sweep_is_a_run() -> None:
    way = ["proj", "multirun", "2026-11-25", "10-00-00", "3"]

    assert "proj/2026-11-25/10-00-00/3" == called_by(way)
    assert "proj/2026-11-25/10-00-00/3" == called_by([*way, "rank_0"])
    assert "sweep/12" == called_by(["proj", "sweep", "12"])
    assert "proj/2026-11-25/10-00-00" == called_by(["proj", "2026-11-25", "10-00-00", "3"])


@pytest.mark.parametrize(
    ("stem", "number"),
    [
        ("48213", "48213"),
        ("train-48213", "48213"),
        ("48213_4", "48213"),
        ("1153", None),
        ("rank0_48213", None),
        ("20261125", None),
        ("20261125100000", None),
        ("train", None),
    ],
)
def test_a_number_in_the_name_of_a_file_is_of_a_job_unless_it_is_a_day(
    stem: str, number: str | None
) -> None:
    assert number == number_of(stem)


def test_a_folder_whose_name_is_no_text_names_its_run_all_the_same(tmp_path: Path) -> None:
    log = write(tmp_path / "plain/train.log", 0, sightings(0, 0))
    folder = os.fsencode(tmp_path) + b"/logs/caf\xe9"
    os.makedirs(folder)
    os.rename(log, folder + b"/train.log")
    Path(os.fsdecode(folder), "torchrun.log").write_text(
        "\n".join([*begins(0, run_id="none"), *starts(5), *finishes(60)]) + "\n"
    )

    assert 0 == ingest(tmp_path / "warehouse", tmp_path / "logs")
    assert [("caf\ufffd",)] == rows(tmp_path / "warehouse", "select job_id from jobs")


def test_a_run_that_begins_anew_in_a_dated_folder_takes_nothing_from_the_one_before(
    tmp_path: Path,
) -> None:
    for start, folder in ((0, "2026-03-01/10-00-00"), (7200, "2026-03-01/12-00-00")):
        log = write(
            tmp_path / "proj/outputs" / folder / "train.log", start, sightings(start, 0, count=100)
        )
        with log.open("a") as file:
            file.write(f"[after training is done] datetime: 2026-03-01 {folder[11:13]}:20:00\n")

    ingest(tmp_path / "warehouse", tmp_path / "proj")

    assert [
        ("proj/2026-03-01/10-00-00", 1, 999.0, 0.0, None),
        ("proj/2026-03-01/12-00-00", 1, 999.0, 0.0, None),
    ] == rows(
        tmp_path / "warehouse",
        "select job_id, attempt, effective_seconds, unsaved_seconds, ttr_seconds "
        "from attempts order by all",
    )
