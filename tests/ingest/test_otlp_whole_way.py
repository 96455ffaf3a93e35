"""OTLP's JSON lines through `ett-ingest` to the published views."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ingest.test_otlp_collector import record, records, span, span_id, spans
from tests.queries.engine import ingest, rows


@pytest.mark.parametrize("ahead", [-0.005, 0.005])
@pytest.mark.parametrize("is_one_file", [True, False])
def test_ranks_without_a_common_name_are_one_launch_whichever_begins_first(
    ahead: float, is_one_file: bool, tmp_path: Path
) -> None:
    """Of launches whose ranks name only themselves, a rank may begin before rank 0 does."""
    ranks: list[list[str]] = [[], []]
    for launch in (0, 600):
        for rank, lines in enumerate(ranks):
            at = launch - rank * ahead
            who = {"ett.job_id": "x", "ett.rank": rank, "service.instance.id": f"{launch}-{rank}"}
            starts = [(at, "trainer_init"), (at + 10, "training")]
            for second, name in starts:
                start = record(second, "phase_start", {"ett.phase": name})
                lines.append(records(start, resource=who))
        for second in range(20, 120, 10):
            step = {"ett.step": launch + second}
            who = {"ett.job_id": "x", "ett.rank": 0, "service.instance.id": f"{launch}-0"}
            ranks[0].append(records(record(launch + second, "progress", step), resource=who))
    files = [[line for lines in ranks for line in lines]] if is_one_file else ranks

    assert [(110, 100, 0), (110, 0, 490)] == published(
        tmp_path,
        files,
        "round(wall_seconds, 1), round(unsaved_seconds, 1), round(queue_seconds, 1)",
    )


@pytest.mark.parametrize(
    ("nested", "area", "seconds"),
    [
        ([("checkpoint_save", 30, 40), ("torch.save_checkpoint", 31, 39)], "checkpoint_save", 10),
        (
            [("evaluation", 30, 60), ("validation", 31, 40), ("validation", 45, 59)],
            "evaluation",
            30,
        ),
        ([("pt2_compile", 30, 70), ("pt2_compile", 50, 90)], "pt2_compile", 60),
    ],
)
@pytest.mark.parametrize("told_late", [None, 0, 0.5])
def test_spans_of_one_phase_may_lie_in_each_other(
    nested: list[tuple[str, float, float]],
    area: str,
    seconds: float,
    told_late: float | None,
    tmp_path: Path,
) -> None:
    """Whether records told their starts too, at once or somewhat late, or none did."""
    told = [("training", 10, 100), *nested]
    lines = [
        spans(*(span(*one, {"ett.step": 7}) for one in reversed(told)), span("attempt", 0, 100))
    ]
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
        lines.append(records(*starts))
    column = f"(select sum(seconds) from area_by_attempt where area = '{area}')"
    saves = int(area == "checkpoint_save")

    assert [(seconds, 90 - seconds, saves)] == published(
        tmp_path, [lines], f"{column}, effective_seconds, coalesce(checkpoint_saves, 0)"
    )


def test_a_span_that_completes_word_of_its_start_contradicts_nothing(tmp_path: Path) -> None:
    start = {"ett.span": "training"}
    lines = [
        records(record(10, "phase_start", start, span_id(10, 100))),
        spans(span("training", 10, 100), span("attempt", 0, 110)),
    ]

    assert [(90,)] == published(tmp_path, [lines], "effective_seconds")
    assert [] == rows(tmp_path / "warehouse", "from anomalies")


def published(folder: Path, files: list[list[str]], columns: str) -> list[tuple[Any, ...]]:
    """Of the job in these files, the columns of its attempts."""
    dumps = folder / "dumps"
    dumps.mkdir()
    for number, lines in enumerate(files):
        (dumps / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))

    assert 0 == ingest(folder / "warehouse", dumps)
    return rows(folder / "warehouse", f"select {columns} from attempts order by attempt")
