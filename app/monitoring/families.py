"""Every metric family as a table: its meaning, its labels, and the rows and columns it restates.

Holds no query and no number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily

from app.words import glossary

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Family:
    """A gauge. Its values are `columns` of the rows of `table`.

    Where several columns feed it, `spread` is the label that tells them apart, and `columns` gives
    that label's value for each. Its HELP is the meaning of `measure` in the glossary, then `note`.
    """

    name: str
    labels: tuple[str, ...]
    table: str
    columns: Mapping[str, str]
    spread: str = ""
    measure: str = ""
    note: str = ""


_WINDOW = "Window: its days end with the last complete one."
_NO_OTHER = f"{_WINDOW} Not for team other: percentiles of several teams cannot be combined."
_OUTCOMES = ("completed", "failed", "preempted", "cancelled", "timeout", "lost")


def _percentiles(of: str) -> dict[str, str]:
    return {f"{of}_p50_seconds": "p50", f"{of}_p90_seconds": "p90"}


FAMILIES = (
    Family(
        "ett_gpu_seconds",
        ("team", "area", "window"),
        "window_areas",
        {"gpu_seconds": ""},
        measure="gpu_seconds",
        note=f"By the area charged. {_WINDOW}",
    ),
    Family(
        "ett_effective_ratio",
        ("team", "window"),
        "window_of",
        {"ett_gpu_ratio": ""},
        measure="ett_gpu_ratio",
        note=_WINDOW,
    ),
    Family(
        "ett_instrumented_ratio",
        ("team", "window"),
        "window_of",
        {"instrumented_ratio": ""},
        measure="instrumented_ratio",
        note=_WINDOW,
    ),
    Family(
        "ett_time_to_start_seconds",
        ("team", "stat", "window"),
        "window_of",
        _percentiles("tts"),
        spread="stat",
        measure="tts_seconds",
        note=_NO_OTHER,
    ),
    Family(
        "ett_time_to_recover_seconds",
        ("team", "stat", "window"),
        "window_of",
        _percentiles("ttr"),
        spread="stat",
        measure="ttr_seconds",
        note=_NO_OTHER,
    ),
    Family(
        "ett_checkpoint_save_seconds",
        ("team", "stat", "window"),
        "window_of",
        _percentiles("checkpoint_save"),
        spread="stat",
        note=f"Seconds that one good save blocks training. {_NO_OTHER}",
    ),
    Family(
        "ett_unsaved_gpu_seconds",
        ("team", "window"),
        "window_of",
        {"unsaved_gpu_seconds": ""},
        measure="unsaved_gpu_seconds",
        note=_WINDOW,
    ),
    Family(
        "ett_preemption_ratio",
        ("team", "window"),
        "window_of",
        {"preemption_ratio": ""},
        measure="preemption_ratio",
        note=_WINDOW,
    ),
    Family(
        "ett_attempts",
        ("team", "outcome", "window"),
        "window_of",
        {outcome: outcome for outcome in _OUTCOMES},
        spread="outcome",
        measure="attempts_ended",
        note=f"By outcome. {_WINDOW}",
    ),
    Family(
        "ett_infra_failures",
        ("team", "window"),
        "window_of",
        {"infra_failures": ""},
        measure="infra_failures",
        note=_WINDOW,
    ),
    Family(
        "ett_interruptions",
        ("team", "domain", "window"),
        "window_interruptions",
        {"interruptions": ""},
        measure="interruptions",
        note=f"By domain of the cause; other: domains past the most frequent. {_WINDOW}",
    ),
    Family(
        "ett_interruptions_by_category",
        ("domain", "category", "attribution", "window"),
        "categories",
        {"interruptions": ""},
        measure="interruptions",
        note="The fleet's by cause and who can mend it; other: causes past the most frequent. "
        f"{_WINDOW}",
    ),
    Family(
        "ett_target_ratio",
        ("team",),
        "targets",
        {"ett_ratio": ""},
        note="The ETT that the team is to reach: its own target, else that of the fleet. Of team "
        "other the mean of its teams', by their instrumented GPU-seconds in 28 days.",
    ),
    Family(
        "ett_regression_active",
        ("team", "metric"),
        "regressions",
        {"one": ""},
        note="1 while a regression of this measure is open; a quiet measure has no series. At most "
        "48 are shown: those that alert, then the costliest.",
    ),
    Family(
        "ett_regression_info",
        ("team", "metric", "verdict", "severity"),
        "regressions",
        {"one": ""},
        note="Always 1: what kind of change the open regression is, and how urgent.",
    ),
    Family(
        "ett_regression_change_ratio",
        ("team", "metric"),
        "regressions",
        {"change_ratio": ""},
        note="Observed over expected, less 1, since the open regression began.",
    ),
    Family(
        "ett_regression_lost_gpu_seconds_per_day",
        ("team", "metric"),
        "regressions",
        {"lost_gpu_seconds_per_day": ""},
        note="GPU-seconds a day that the open regression costs.",
    ),
    Family(
        "ett_regression_started_timestamp_seconds",
        ("team", "metric"),
        "regressions",
        {"started_timestamp_seconds": ""},
        note="The day on which the open regression began: its midnight in UTC, in Unix seconds.",
    ),
    Family(
        "ett_data_timestamp_seconds",
        ("source",),
        "sources",
        {"data_timestamp_seconds": ""},
        note="How far the data of the source reaches: its clock, in Unix seconds.",
    ),
    Family(
        "ett_published_timestamp_seconds",
        (),
        "publication",
        {"published_timestamp_seconds": ""},
        note="When the numbers shown here were published, in Unix seconds.",
    ),
    Family(
        "ett_ingest_events",
        ("source",),
        "sources",
        {"events": ""},
        note="Events that dumps brought; what was replaced or pruned since counts too.",
    ),
    Family(
        "ett_ingest_told_events",
        ("source",),
        "sources",
        {"told": ""},
        note="Events that dumps told, known ones as well; what was pruned since counts too.",
    ),
    Family(
        "ett_ingest_rejected_lines",
        ("source", "reason"),
        "rejected_by_source",
        {"lines": ""},
        note="Lines that were set aside.",
    ),
    Family(
        "ett_exporter_read_success",
        ("view",),
        "exporter",
        {"success": ""},
        note="1 if the view could be read from the newest publish, else 0.",
    ),
    Family(
        "ett_exporter_read_duration_seconds",
        ("view",),
        "exporter",
        {"duration_seconds": ""},
        note="How long reading the view took, once per publish.",
    ),
    Family(
        "ett_build_info",
        ("version", "schema"),
        "build",
        {"one": ""},
        note="Always 1: the release of the exporter, and the schema of what it reads.",
    ),
)


# Not of a publish: they change while nothing is published. Without a watcher there are none.
OF_THE_WATCHER = (
    Family(
        "ett_watch_last_success_timestamp_seconds",
        (),
        "watching",
        {"succeeded_at": ""},
        note="When the watcher last had loaded and published all it had seen, in Unix seconds.",
    ),
    Family(
        "ett_watch_lag_seconds",
        (),
        "watching",
        {"lag_seconds": ""},
        note="How long the oldest news that is not published had waited when the watcher said so.",
    ),
    Family(
        "ett_watch_backlog_files",
        (),
        "watching",
        {"backlog_files": ""},
        note="Watched files with news that is not published, or that cannot be read.",
    ),
)


def gauges(tables: Mapping[str, Iterable[Row]]) -> tuple[GaugeMetricFamily, ...]:
    """The families that have a sample, from rows by table. Null and non-finite give no sample."""
    families = (*FAMILIES, *OF_THE_WATCHER)
    filled = (_gauge(family, tables.get(family.table, ())) for family in families)
    return tuple(gauge for gauge in filled if gauge.samples)


def described() -> tuple[GaugeMetricFamily, ...]:
    """Every family without samples, so that a registry knows the names before anything is read."""
    return tuple(_gauge(family, ()) for family in (*FAMILIES, *OF_THE_WATCHER))


def _gauge(family: Family, rows: Iterable[Row]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(family.name, _help(family), labels=family.labels)
    for row in rows:
        for column, spread in family.columns.items():
            value = row[column]
            if isinstance(value, int | float) and math.isfinite(value):
                gauge.add_metric(_labels(family, row, spread), float(value))
    return gauge


def _help(family: Family) -> str:
    meaning = glossary()[family.measure].meaning if family.measure else ""
    return f"{meaning} {family.note}".strip()


def _labels(family: Family, row: Row, spread: str) -> list[str]:
    return [spread if label == family.spread else str(row[label]) for label in family.labels]
