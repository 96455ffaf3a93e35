"""OTLP's JSON lines through `ett-ingest` to the published views."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.test_otlp_collector import BEGUN, TRAINER, record, records, span, span_id, spans
from tests.queries.engine import ingest, rows

# by whether all is in one file, and by how far ahead a rank is of rank 0
LAUNCHES = {
    (is_one_file, ahead): f"launches-{place}"
    for place, (is_one_file, ahead) in enumerate(product((True, False), (-0.005, 0.005)))
}
Spans = list[tuple[str, float, float]]
NESTED: list[tuple[Spans, str, int]] = [
    ([("checkpoint_save", 30, 40), ("torch.save_checkpoint", 31, 39)], "checkpoint_save", 10),
    ([("evaluation", 30, 60), ("validation", 31, 40), ("validation", 45, 59)], "evaluation", 30),
    ([("pt2_compile", 30, 70), ("pt2_compile", 50, 90)], "pt2_compile", 60),
]
TOLD_LATE = (None, 0, 0.5)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those launches, and those spans with records told so late, each a job of its own."""
    folder = tmp_path_factory.mktemp("otlp")
    files = [lines for told, job in LAUNCHES.items() for lines in launches(job, *told)]
    files += [
        nested_spans(f"{area}-{late}", nested, late)
        for nested, area, _ in NESTED
        for late in TOLD_LATE
    ]
    published(folder, files, "job_id")
    return folder / "warehouse"


def launches(job: str, is_one_file: bool, ahead: float) -> list[list[str]]:
    """Two launches of two ranks that name only themselves."""
    ranks: list[list[str]] = [[], []]
    for launch in (0, 600):
        for rank, lines in enumerate(ranks):
            at = launch - rank * ahead
            who = {"ett.job_id": job, "ett.rank": rank, "service.instance.id": f"{launch}-{rank}"}
            starts = [(at, "trainer_init"), (at + 10, "training")]
            for second, name in starts:
                start = record(second, "phase_start", {"ett.phase": name})
                lines.append(records(start, resource=who))
        for second in range(20, 120, 10):
            step = {"ett.step": launch + second}
            who = {"ett.job_id": job, "ett.rank": 0, "service.instance.id": f"{launch}-0"}
            ranks[0].append(records(record(launch + second, "progress", step), resource=who))
    return [[line for lines in ranks for line in lines]] if is_one_file else ranks


@pytest.mark.parametrize("ahead", [-0.005, 0.005])
@pytest.mark.parametrize("is_one_file", [True, False])
def test_ranks_without_a_common_name_are_one_launch_whichever_begins_first(
    ahead: float, is_one_file: bool, warehouse: Path
) -> None:
    """Of launches whose ranks name only themselves, a rank may begin before rank 0 does."""
    assert [(110, 100, 0), (110, 0, 490)] == rows(
        warehouse,
        "select round(wall_seconds, 1), round(unsaved_seconds, 1), round(queue_seconds, 1) "
        "from attempts where job_id = ? order by attempt",
        [LAUNCHES[is_one_file, ahead]],
    )


def nested_spans(job: str, nested: Spans, told_late: float | None) -> list[str]:
    """Spans of one phase within training, and records of their starts where those are told."""
    who = {**TRAINER, "ett.job_id": job}
    told = [("training", 10, 100), *nested]
    within = [span(*one, {"ett.step": 7}) for one in reversed(told)]
    lines = [spans(*within, span("attempt", 0, 100), resource=who)]
    if told_late is not None:
        starts = [
            record(
                begin + told_late,
                "phase_start",
                {"ett.span": name, "ett.step": 7},
                span_id(begin, end),
            )
            for name, begin, end in told
        ]
        lines.append(records(*starts, resource=who))
    return lines


@pytest.mark.parametrize(("nested", "area", "seconds"), NESTED)
@pytest.mark.parametrize("told_late", TOLD_LATE)
def test_spans_of_one_phase_may_lie_in_each_other(
    nested: Spans, area: str, seconds: int, told_late: float | None, warehouse: Path
) -> None:
    """Whether records told their starts too, at once or somewhat late, or none did."""
    job = f"{area}-{told_late}"
    saves = int(area == "checkpoint_save")

    assert [(seconds, 90 - seconds, saves)] == rows(
        warehouse,
        "select (select sum(seconds) from area_by_attempt where job_id = $1 and area = $2), "
        "effective_seconds, coalesce(checkpoint_saves, 0) from attempts where job_id = $1",
        [job, area],
    )


def test_a_span_that_completes_word_of_its_start_contradicts_nothing(tmp_path: Path) -> None:
    start = {"ett.span": "training"}
    lines = [
        records(record(10, "phase_start", start, span_id(10, 100))),
        spans(span("training", 10, 100), span("attempt", 0, 110)),
    ]

    assert [(90,)] == published(tmp_path, [lines], "effective_seconds")
    assert [] == rows(tmp_path / "warehouse", "from anomalies")


def test_a_batch_that_is_exported_twice_contradicts_nothing(tmp_path: Path) -> None:
    """An exporter that hears of no success sends again what has arrived."""
    batch = spans(span("training", 10, 100), span("attempt", 0, 110))
    lines = [batch, batch]

    assert [(90,)] == published(tmp_path, [lines], "effective_seconds")
    assert [] == rows(tmp_path / "warehouse", "from anomalies")


def test_ends_of_one_id_that_differ_are_a_contradiction(tmp_path: Path) -> None:
    whole = span("attempt", 0, 110)
    failed = {**whole, "status": {"code": 2, "message": "out of memory"}}
    lines = [spans(span("training", 10, 100), whole), spans(failed)]

    published(tmp_path, [lines], "outcome")
    assert [("event_id_conflict",)] == rows(tmp_path / "warehouse", "select kind from anomalies")


def test_launches_and_ranks_whose_generators_are_seeded_alike_keep_their_spans(
    tmp_path: Path,
) -> None:
    """The SDK makes the ids of spans by Python's own generator, which trainers seed."""
    lines = []
    for launch, begin in (("a", 0), ("b", 600)):
        for rank in (0, 1):
            who = {"ett.job_id": "x", "ett.launch_id": launch, "ett.rank": rank}
            told = [("attempt", begin, begin + 110), ("training", begin + 10, begin + 100)]
            for number, (name, start, end) in enumerate(told):
                seeded = f"{number:016x}"
                record_of = record(start, "phase_start", {"ett.span": name}, seeded)
                lines.append(records(record_of, resource=who))
                whole = {**span(name, start, end, error="lost" if begin == 0 else None)}
                lines.append(spans({**whole, "spanId": seeded}, resource=who))

    assert [(110, 90, "failed"), (110, 90, "completed")] == published(
        tmp_path,
        [lines],
        "wall_seconds, effective_seconds + unsaved_seconds, outcome",
    )
    kinds = {kind for (kind,) in rows(tmp_path / "warehouse", "select kind from anomalies")}
    assert "event_id_conflict" not in kinds


def test_launches_of_which_each_counts_its_restarts_from_0_are_as_many_attempts(
    tmp_path: Path,
) -> None:
    """A torchrun that is started again, on other machines, knows of no restart."""
    lines = []
    for launch, restart, begin in (("a", 0, 0), ("a", 1, 200), ("b", 0, 7_200)):
        who = {
            "ett.job_id": "x",
            "ett.launch_id": launch,
            "ett.rank": 0,
            "torchelastic.restart_count": restart,
        }
        for second, name in ((0, "trainer_init"), (10, "training")):
            start = record(begin + second, "phase_start", {"ett.phase": name})
            lines.append(records(start, resource=who))
        lines.extend(
            records(record(begin + step, "progress", {"ett.step": begin + step}), resource=who)
            for step in range(20, 120, 10)
        )

    # the first restart lasts until the second, which holds the same hardware
    assert [(200, 190), (110, 100), (110, 100)] == published(
        tmp_path, [lines], "wall_seconds, effective_seconds + unsaved_seconds"
    )


def test_what_starts_a_trainer_by_native_events_is_its_attempt_before_it_ends(
    tmp_path: Path,
) -> None:
    """Of each of two tries that it starts, the own launcher tells no more until that is over."""
    launcher: list[dict[str, object]] = []
    trainer: list[str] = []
    for number, begin in ((1, 0), (2, 600)):
        said = {"job_id": "x", "attempt": number, "ts": BEGUN + begin}
        launcher += [
            {**said, "event": "phase_start", "phase": "scheduling", "end_ts": BEGUN + begin + 10},
            {**said, "event": "attempt_start", "ts": BEGUN + begin + 10, "gpus": 8},
        ]
        who = {"ett.job_id": "x", "ett.launch_id": f"launch {number}"}
        for second, name in ((30, "trainer_init"), (40, "training")):
            start = record(begin + second, "phase_start", {"ett.phase": name})
            trainer.append(records(start, resource=who))
        trainer.append(records(record(begin + 140, "progress", {"ett.step": 10}), resource=who))

    assert [("lost", 140, 30, None), ("running", 140, None, 500)] == published(
        tmp_path,
        [[json.dumps(event) for event in launcher], trainer],
        "outcome, wall_seconds, tts_seconds, ttr_seconds",
    )


def published(folder: Path, files: list[list[str]], columns: str) -> list[tuple[Any, ...]]:
    """Of the job in these files, the columns of its attempts."""
    dumps = folder / "dumps"
    dumps.mkdir()
    for number, lines in enumerate(files):
        (dumps / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))

    assert 0 == ingest(folder / "warehouse", dumps)
    return rows(folder / "warehouse", f"select {columns} from attempts order by attempt")
