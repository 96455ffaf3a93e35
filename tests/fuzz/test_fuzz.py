"""A short run of `make fuzz` from fixed seeds, and what longer runs have found."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors.base import Collector
from ingest.collectors.mlperf import MLPERF
from ingest.collectors.mlperf_submission import gpus_in
from ingest.collectors.registry import COLLECTORS
from ingest.collectors.slurm_json import SLURM_JSON
from ingest.errors import UnusableArguments
from ingest.events import Rejected
from ingest.settings import read_settings
from tests.fuzz import addresses, documents, rules, seeds
from tests.ingest.mutated_dumps import read
from tests.ingest.test_mlperf_collector import RUN
from tests.queries.engine import rows

WRITTEN = seeds.written()


@pytest.mark.parametrize("collector", COLLECTORS, ids=lambda one: one.name)
def test_no_accident_to_a_dump_of_any_format_raises(collector: object) -> None:
    (reader,) = (one for one in COLLECTORS if one is collector)
    rng = random.Random(reader.name)
    for _ in range(12):
        lines, _ = rules.broken(rng.choice(WRITTEN[reader.name]), rng)
        with rules.in_time():
            rules.reads(reader, lines)


def test_no_accident_to_some_rows_of_sacct_loses_another() -> None:
    table = WRITTEN["slurm-sacct"][0]
    rng = random.Random(1)

    assert 0 < sum(rules.sacct_keeps_every_row(table, rng, share) for share in (0.02, 0.3))


def test_every_line_is_loaded_or_set_aside_under_its_number(tmp_path: Path) -> None:
    lines, hit = rules.mutated(seeds.native(7, 1_000), random.Random(7), 0.3)
    rules.quarantine_loses_no_line(tmp_path, lines)

    assert len(hit) > 100
    assert (0,) < rows(tmp_path / "warehouse", "select count(*) from rejected_lines")[0]


@settings(max_examples=3)  # each is an ingest
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=20), st.integers(0, 10**6))
def test_lines_of_any_bytes_among_good_ones_are_set_aside_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, junk: list[bytes], seed: int
) -> None:
    lines = seeds.native(seed % 50, 40)
    for line in junk:
        lines.insert(seed % len(lines), line.replace(b"\n", b""))

    rules.quarantine_loses_no_line(tmp_path_factory.mktemp("junk"), lines)


def test_lines_that_the_engine_reads_less_strictly_than_the_standard_are_counted(
    tmp_path: Path,
) -> None:
    alive = b'{"event": "alive", "job_id": "j", "ts": "2026-03-02T06:11:15Z", "rank": 1%s}'
    rules.quarantine_loses_no_line(tmp_path, [alive % b"", alive % b",", b"\x0b" + alive % b""])

    assert rows(tmp_path / "warehouse", "select events, rejected from ingested_files") == [(1, 0)]


def test_no_settings_raise_but_to_name_their_file() -> None:
    assert 0 < documents.settings_round(random.Random(3))


@pytest.mark.slow
def test_no_address_makes_a_page_raise() -> None:
    with addresses.published_fleet():
        for seed in range(5):
            addresses.open_some_page(random.Random(seed))


# What was found


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5_000,
        "stale_after_hours = " + "9" * 5_000,
        "[regressions]\nsla_days = inf",
        "[regressions]\nsla_days = nan",
        "[price]\ngpu_hour = " + "9" * 400,
    ],
    ids=["deep", "long number", "endless days", "no days", "endless price"],
)
def test_settings_that_no_parser_survives_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ett.toml").write_text(text)
    with pytest.raises(UnusableArguments, match=r"ett\.toml"):
        read_settings(tmp_path / "ett.toml")


@pytest.mark.parametrize("collector", COLLECTORS, ids=lambda one: one.name)
def test_half_a_character_in_any_text_of_json_stops_no_dump(collector: Collector) -> None:
    for lines in WRITTEN[collector.name]:
        whole = b"\n".join(lines)
        for key in set(re.findall(rb'"(\w+)": ?"', whole)):
            half = re.sub(rb'("%s": ?")[^"\\]*' % key, rb"\1\\ud800", whole)
            rules.reads(collector, half.split(b"\n"))


def test_half_a_character_for_a_time_of_mlperf_is_set_aside() -> None:
    line = b':::MLLOG {"key": "run_start", "time_ms": "\\ud800"}'
    (told,) = [
        item
        for item in read(MLPERF, [*(line.encode() for line in RUN), line])
        if isinstance(item, Rejected)
    ]

    assert "time_ms is ?" == told.detail


@pytest.mark.parametrize(
    "text", ['{"jobs": [', '{"jobs": [{"job_id": 1},', '{"jobs": [\n\n{"a": 1}']
)
def test_a_list_of_jobs_without_end_is_set_aside_under_a_line_that_is_there(text: str) -> None:
    lines = text.encode().split(b"\n")
    *_, last = read(SLURM_JSON, lines)

    assert isinstance(last, Rejected)
    assert ("the list of jobs has no end", len(lines)) == (last.detail, last.line_number)


@pytest.mark.parametrize("count", ["9" * 5_000, "9" * 30, "-"])
def test_an_endless_number_of_nodes_of_mlperf_counts_no_gpus(count: str) -> None:
    described = {"number_of_nodes": count, "accelerators_per_node": "8"}

    assert (None, None) == gpus_in(described)


def test_a_description_of_mlperf_that_is_too_deep_is_none() -> None:
    lines = [b":::SYSJSON " + b"[" * 20_000, *(line.encode() for line in RUN)]

    assert read(MLPERF, lines)
