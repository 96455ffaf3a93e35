"""Recording and alert rules for Prometheus, from one list.

Reads no file. Ratios over several teams are made here, from sums: ratios never add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deploy.thresholds import Thresholds

# One exporter may be scraped by two jobs: a series of each must not count twice.
_GPU = "max by (team, area, window) (ett_gpu_seconds{%s})"
_PREEMPTED = 'outcome="preempted"'
_INSTRUMENTED = _GPU % 'area!="uninstrumented"'
# One scrape that fails, as while the exporter restarts, is no end of anything; where no scrape
# works EttExporterDown fires before the rest is called over.
_KEPT = "15m"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. `link` is a path of the dashboard; labels in it are templates of Prometheus."""

    name: str
    expression: str
    wait: str
    severity: str
    summary: str
    description: str
    link: str = "/"
    labels: dict[str, str] = field(default_factory=dict)
    is_scraped: bool = True  # from what the exporter says, and not of whether it answers


def recorded() -> dict[str, tuple[str, dict[str, str]]]:
    """Expression and labels of each recording rule; a name that ends in `#fleet` adds the fleet."""
    rules: dict[str, tuple[str, dict[str, str]]] = {}
    for name, part in {
        "effective": _GPU % 'area="effective"',
        "unsaved": _GPU % 'area="unsaved"',
        "unaccounted": _GPU % 'area="unaccounted"',
    }.items():
        rules[f"team_window:ett_{name}:ratio"] = (_share(part, "team, window"), {})
        rules[f"team_window:ett_{name}:ratio#fleet"] = (_share(part, "window"), {"team": "fleet"})
    rules["team_window:ett_loss:ratio"] = ("1 - team_window:ett_effective:ratio", {})
    attempts = "max by (team, outcome, window) (ett_attempts{%s})"
    for suffix, by, labels in (("", "team, window", {}), ("#fleet", "window", {"team": "fleet"})):
        preempted = f"sum by ({by}) ({attempts % _PREEMPTED})"
        ended = f"(sum by ({by}) ({attempts % ''}) > 0)"
        rules[f"team_window:ett_preempted:sum{suffix}"] = (preempted, dict(labels))
        rules[f"team_window:ett_preemption:ratio{suffix}"] = (f"{preempted} / {ended}", labels)
    came = {
        "rejected": _of_the_last_day("ett_ingest_rejected_lines", "source, reason"),
        # those that were known as well: a dump that tells all anew has all broken lines anew too
        "told": _of_the_last_day("ett_ingest_told_events", "source"),
    }
    for name, expression in came.items():
        rules[f"source:ett_{name}:delta1d"] = (expression, {})
    lines, told = (f"source:ett_{name}:delta1d" for name in came)
    rules["source:ett_rejected:ratio1d"] = (f"{lines} / ({lines} + {told})", {})
    return rules


def alerts(limits: Thresholds) -> tuple[Alert, ...]:
    """Every alert of the product."""
    return (*_of_loss(limits), *_of_series(limits), *_of_data(limits), *_of_the_exporter())


def rule_file(limits: Thresholds) -> dict[str, Any]:
    """The whole file as Prometheus reads it.

    One group, because only within one are rules evaluated in turn and at one time: alerts of a
    group beside might look before a ratio is recorded, and where rules are evaluated more than
    five minutes apart the one before is stale and no alert would ever fire.
    """
    ratios = [
        {"record": name.partition("#")[0], "expr": expression}
        | ({"labels": labels} if labels else {})
        for name, (expression, labels) in recorded().items()
    ]
    fired = [_rule(alert, limits) for alert in alerts(limits)]
    return {"groups": [{"name": "ett", "rules": ratios + fired}]}


def _share(part: str, by: str) -> str:
    # 0 where a team has none of the area, and no value where nothing is instrumented
    whole = f"sum by ({by}) ({_INSTRUMENTED})"
    return f"(sum by ({by}) ({part}) or 0 * {whole}) / ({whole} > 0)"


def _of_the_last_day(family: str, by: str) -> str:
    """How much more a source has than a day ago; all of it where nothing was scraped then.

    What was ingested long ago must not alert for ever. Where a restore took something away, how
    much more it has than the least of the day: both sides of a share begin anew at one moment.
    """
    now = f"sum by (source) (max by ({by}) ({family}))"
    # an exporter that was down a day ago had said it before
    then = f"sum by (source) (max by ({by}) (last_over_time({family}[6h] offset 1d)))"
    least = f"min_over_time(({now})[1d:5m])"
    return f"clamp_min({now} - (({then} or 0 * {now}) < {least} or {least}), 0)"


def _rule(alert: Alert, limits: Thresholds) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.wait,
        **({"keep_firing_for": _KEPT} if alert.is_scraped else {}),
        "labels": {"severity": alert.severity} | alert.labels,
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": _runbook(alert, limits),
            "dashboard_url": limits.dashboard_url.rstrip("/") + alert.link,
        },
    }


def _runbook(alert: Alert, limits: Thresholds) -> str:
    if limits.runbook_url:
        return f"{limits.runbook_url.rstrip('/')}/{alert.name}.md"
    return f"{limits.dashboard_url.rstrip('/')}/runbook?alert={alert.name}"


def _grown(ratio: str, window: str, times: float) -> str:
    """That a share is so many times that of 28 days, or what it leaves so many times smaller: from
    a half on nothing can be twice as much.
    """
    now, usual = ratio % window, ratio % "28d"
    return (
        f"({now} > ignoring (window) ({times} * {usual}) "
        f"or {now} > ignoring (window) (1 - (1 - {usual}) / {times}))"
    )


def _of_loss(limits: Thresholds) -> tuple[Alert, ...]:
    lost = 'team_window:ett_loss:ratio{window="%s"}'
    return (
        Alert(
            "EttLossBudgetBurningFast",
            f"{_grown(lost, '1d', limits.loss_burn_day)} and ignoring (window) "
            f"{_grown(lost, '7d', limits.loss_burn_week)}",
            "15m",
            "ticket",
            "{{ $labels.team }} loses far more GPU time than it did",
            "{{ $value | humanizePercentage }} of the GPU time of {{ $labels.team }} was lost on "
            "the last complete day, and its last week was worse than its last four.",
            "/?team={{ $labels.team | urlquery }}&days=7",
        ),
        Alert(
            "EttBelowTarget",
            'team_window:ett_effective:ratio{window="28d"} < on (team) group_left () '
            "max by (team) (ett_target_ratio)",
            "1h",
            "ticket",
            "{{ $labels.team }} is below its ETT target",
            "ETT of {{ $labels.team }} over 28 days is {{ $value | humanizePercentage }}.",
            "/?team={{ $labels.team | urlquery }}&days=28",
        ),
        Alert(
            "EttUnsavedTimeHigh",
            f'team_window:ett_unsaved:ratio{{window="7d"}} > {limits.unsaved_ratio}',
            "1h",
            "ticket",
            "{{ $labels.team }} loses much work between checkpoints",
            "{{ $value | humanizePercentage }} of the GPU time of {{ $labels.team }} in 7 days was "
            "trained and then lost.",
            "/checkpoints?team={{ $labels.team | urlquery }}&days=7",
        ),
        Alert(
            "EttUnaccountedTimeHigh",
            f'team_window:ett_unaccounted:ratio{{window="1d"}} > {limits.unaccounted_ratio}',
            "1h",
            "ticket",
            "{{ $labels.team }} holds GPUs without saying what for",
            "{{ $value | humanizePercentage }} of the GPU time of {{ $labels.team }} on the last "
            "complete day has no phase.",
            "/lost-time?team={{ $labels.team | urlquery }}&days=7&area=unaccounted",
        ),
    )


def _of_series(limits: Thresholds) -> tuple[Alert, ...]:
    ratio = 'team_window:ett_preemption:ratio{window="%s"}'
    preempted = 'team_window:ett_preempted:sum{window="1d"}'
    info = 'max by (team, metric, verdict, severity) (ett_regression_info{severity!="info"})'
    return (
        Alert(
            "EttRegression",
            f"{info} * on (team, metric) group_left () "
            "(max by (team, metric) (ett_regression_active) == 1)",
            "15m",
            "{{ $labels.severity }}",
            "{{ $labels.metric }} of {{ $labels.team }} got worse ({{ $labels.verdict }})",
            "The change passed every gate of the detector. Its size, onset and cost are on the "
            "page of the evidence.",
            "/regressions?team={{ $labels.team | urlquery }}"
            "&metric={{ $labels.metric | urlquery }}",
        ),
        Alert(
            "EttPreemptionRatioHigh",
            f"{ratio % '1d'} > {limits.preemption_ratio} and ignoring (window) "
            f"{_grown(ratio, '1d', limits.preemption_growth)} "
            # of two attempts one is half
            f"and {preempted} >= {limits.preempted_attempts}",
            "1h",
            "ticket",
            "{{ $labels.team }} is preempted far more often than it was",
            "{{ $value | humanizePercentage }} of the attempts of {{ $labels.team }} that ended on "
            "the last complete day were preempted.",
            # by default the page counts what infra stopped, and no preemption
            "/failures?team={{ $labels.team | urlquery }}&days=7&attribution=all",
        ),
    )


def _of_data(limits: Thresholds) -> tuple[Alert, ...]:
    newest = "time() - max(ett_data_timestamp_seconds)"
    by_source = "time() - max by (source) (ett_data_timestamp_seconds)"
    stale, very_stale = (
        int(hours * 3600) for hours in (limits.stale_hours, limits.very_stale_hours)
    )
    told = "The newest data is {{ $value | humanizeDuration }} old. Every ETT number is as old."
    return (
        Alert(
            "EttDataStale", f"{newest} > {stale} <= {very_stale}", "15m", "ticket",
            f"No new data for more than {limits.stale_hours:g} hours", told, "/data",
        ),
        Alert(
            "EttDataStale", f"{newest} > {very_stale}", "15m", "page",
            f"No new data for more than {limits.very_stale_hours:g} hours", told, "/data",
        ),
        Alert(
            "EttSourceStale", f"{by_source} > {very_stale}", "1h", "ticket",
            "{{ $labels.source }} brings no new data",
            "The newest data of {{ $labels.source }} is {{ $value | humanizeDuration }} old.",
            "/data",
        ),
        Alert(
            "EttIngestRejectsHigh",
            f"source:ett_rejected:ratio1d > {limits.rejected_ratio}", "15m", "ticket",
            "Many lines of {{ $labels.source }} are set aside",
            # a row that was read is an event or several: how many rows there were is not known
            "{{ $value | humanizePercentage }} of what came from {{ $labels.source }} in the last "
            "day, in events and lines set aside, are lines set aside.",
            "/data",
        ),
    )  # fmt: skip


def _of_the_exporter() -> tuple[Alert, ...]:
    return (
        Alert(
            # no watcher, no series: who ingests by hand is not told
            "EttWatchStalled",
            "time() - max(ett_watch_last_success_timestamp_seconds) > 900", "10m",
            "ticket", "The watcher loads nothing",
            "ett-ingest --watch last had everything loaded {{ $value | humanizeDuration }} ago.",
            "/data",
        ),
        Alert(
            "EttExporterReadFailing", "max by (view) (ett_exporter_read_success) == 0", "10m",
            "ticket", "The exporter cannot read {{ $labels.view }}",
            "Families of this view are missing from /metrics, or are of an earlier publication.",
            "/data",
        ),
        Alert(
            # less far apart are two exporters of one warehouse too, where a watcher publishes
            "EttPublicationsDiffer",
            "max(ett_published_timestamp_seconds) - min(ett_published_timestamp_seconds) > 900",
            "15m", "ticket", "Exporters of this Prometheus show different publications",
            "Their publications are {{ $value | humanizeDuration }} apart. Where two have a number "
            "of one name, rules and dashboard take the greater: it may be of neither warehouse.",
            "/data",
        ),
        Alert(
            "EttExporterDown", 'up{job="ett"} == 0 or absent(up{job="ett"})', "10m", "page",
            "The ETT exporter does not answer", "No number of ETT reaches Prometheus.", "/data",
            is_scraped=False,
        ),
    )  # fmt: skip
