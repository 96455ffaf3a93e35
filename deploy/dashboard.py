"""The Grafana dashboard `fleet-ett`: is it on fire, since when, whose. The app says why.

Built with Grafana's own SDK; reads no file. Colours and meanings are those of the app.
"""

from __future__ import annotations

import json
from typing import Any

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    statetimeline,
    table,
    text,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    StackingMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    GridPos,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from app.palette import AREA_ORDER, DARK
from app.words import glossary
from deploy.thresholds import Thresholds

UID = "fleet-ett"
# The past is written once a day by `ett-exporter --backfill`, the present with every scrape.
_LOOK_BACK = "24h"
# Of every team that ran at all, also where nobody knows its GPUs.
_OF_EVERY_TEAM = "ett_attempts"
# Where it is there, what is not there is over, not late.
_PRESENT = f"count({_OF_EVERY_TEAM})"
_SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
# not `h`: Grafana would write a thousand of them as weeks
_GPU_HOURS = "short"
# In a raw string, as a plain expression: for a quoted one Grafana spares neither a quote in a name
# nor a line break.
_CHOSEN = "${team:regex}"
_TEAM = f"team=~`{_CHOSEN}`"
_LOST_AREAS = 'area!~"effective|uninstrumented"'
_INSTRUMENTED = 'area!="uninstrumented"'
# Names hold what means something in an address; rows of a table have no labels.
_TEAM_OF_SERIES = "team=${__field.labels.team:percentencode}"
_TEAM_OF_ROW = "team=${__data.fields.Team:percentencode}"
_METRIC_OF_SERIES = "metric=${__field.labels.metric:percentencode}"
# `.` is no line break, and a team's name may hold one
_EVERY_TEAM = "(?s:.+)"


def dashboard_json(limits: Thresholds) -> str:
    """The dashboard as the file that Grafana loads."""
    built = _dashboard(limits).build()
    return json.dumps(built, cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def _dashboard(limits: Thresholds) -> dashboard.Dashboard:
    app_url = limits.dashboard_url.rstrip("/")
    built = (
        dashboard.Dashboard("Fleet ETT")
        .uid(UID)
        .tags(["ett"])
        .description("Effective training time of the fleet: is it on fire, since when, whose.")
        .timezone("utc")
        .time("now-28d", "now")
        .refresh("5m")
        .readonly()
        .with_variable(dashboard.DatasourceVariable("datasource").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("team")
            .label("Team")
            .datasource(_SOURCE)
            .query(f"label_values({_OF_EVERY_TEAM}, team)")
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .all_value(_EVERY_TEAM)
            .current(VariableOption(selected=True, text="All", value="$__all"))
        )
        .with_variable(
            dashboard.CustomVariable("window")
            .label("Window")
            .values("1d,7d,28d")
            .current(VariableOption(selected=True, text="1d", value="1d"))
        )
        .link(_link("Open the app", app_url))
    )
    for panel in _panels(app_url, limits):
        built = built.with_panel(panel)
    machinery = dashboard.Row("Machinery").collapsed(True).grid_pos(GridPos(h=1, w=24, x=0, y=36))
    for panel in _machinery(app_url):
        machinery = machinery.with_panel(panel)
    return built.with_row(machinery)


def _link(title: str, url: str) -> dashboard.DashboardLink:
    return dashboard.DashboardLink(title).type(DashboardLinkType.LINK).url(url).target_blank(True)


def _newest(selector: str) -> str:
    """What a scrape says; between the samples of the past, what the last of them said.

    A series that a scrape no longer has must not be looked back for: summed with what came after
    it, it would count twice. So none that was scraped is, also while no scrape works: what
    `--backfill` wrote has no job.
    """
    past = f'last_over_time({selector.removesuffix("}")}, job=""}}[{_LOOK_BACK}])'
    return f"({selector} or ({past} unless on () {_PRESENT}))"


def _gpu(matchers: str, window: str = "$window") -> str:
    newest = _newest(f'ett_gpu_seconds{{{_TEAM}, window="{window}", {matchers}}}')
    return f"max by (team, area, window) {newest}"


def _ratio(by: str = "", window: str = "$window") -> str:
    grouped = f" by ({by})" if by else ""
    part, whole = (
        f"sum{grouped} ({_gpu(matchers, window)})"
        for matchers in ('area="effective"', _INSTRUMENTED)
    )
    # who never trained has no effective time: that is 0, and the worst of all
    return f"({part} or 0 * {whole}) / ({whole} > 0)"


def _of_team(family: str, *, window: str = "$window", more: str = "", by: str = "team") -> str:
    return f"max by ({by}) " + _newest(f'{family}{{{_TEAM}, window="{window}"{more}}}')


def _target() -> str:
    """That of the chosen teams; the fleet's, where they have several."""
    own, fleet = (
        f"last_over_time(ett_target_ratio{{{team}}}[{_LOOK_BACK}])"
        for team in (_TEAM, 'team="fleet"')
    )
    return f"((max({own}) == min({own})) or max({fleet}))"


def _regressed() -> str:
    active = _newest(f"ett_regression_active{{team=~`{_CHOSEN}|fleet`}}")
    return f"max by (team, metric) {active}"


def _panels(app_url: str, limits: Thresholds) -> list[Any]:
    return [
        text.Panel()
        .title("Effective training time")
        .description("The question this dashboard answers, and where the next one is answered.")
        .content(
            f"How much of the GPU time trains? Numbers end with the last complete day. "
            f"Why, and which jobs: [open the app]({app_url})."
        )
        .grid_pos(GridPos(h=2, w=24, x=0, y=0)),
        *_is_it_good(app_url, limits),
        *_trend(app_url),
        *_where(app_url),
        *_symptoms(app_url),
        *_alerts(app_url),
    ]


def _is_it_good(app_url: str, limits: Thresholds) -> list[Any]:
    stale, very_stale = (
        int(hours * 3600) for hours in (limits.stale_hours, limits.very_stale_hours)
    )
    # of a month whatever window is chosen, as in the app; a target of all leaves no share to be of
    budget = f"1 - (1 - ({_ratio(window='28d')})) / (1 - {_target()} > 0)"
    # none is said only where the list could be read
    none = '0 * max(ett_exporter_read_success{view="regressions"} == 1)'
    return [
        _stat("ETT", "ett_gpu_ratio", "percentunit", app_url, 0, _ratio()).thresholds(
            _steps((None, "red"), (0.85, "orange"), (0.9, "green"))
        ),
        _stat("Loss budget left", "", "percentunit", app_url, 6, budget)
        .description(
            f"{glossary()['loss_budget'].meaning} Of 28 days whatever window is chosen. The target "
            "of the chosen teams; where theirs differ, the fleet's."
        )
        .thresholds(_steps((None, "red"), (0, "orange"), (0.25, "green"))),
        _stat(
            "Open regressions", "", "none", app_url, 12, f"sum({_regressed()}) or {none}",
            "/regressions",
        )
        .description("Measures that got worse, through every gate of the detector.")
        .thresholds(_steps((None, "green"), (1, "orange"))),
        _stat(
            "Data age", "", "s", app_url, 18, "time() - max(ett_data_timestamp_seconds)", "/data"
        )
        .description("How old the newest event is. Every number is as old.")
        .thresholds(_steps((None, "green"), (stale, "orange"), (very_stale, "red"))),
    ]  # fmt: skip


def _trend(app_url: str) -> list[Any]:
    lost = f"sort_desc(sum by (area) ({_gpu(_LOST_AREAS)}) / 3600)"
    return [
        _series("ETT and target", "ett_gpu_ratio", "percentunit", app_url, (0, 6, 16, 8))
        .with_target(_query(_ratio(), "ETT"))
        .with_target(_query(_target(), "target", ref="B"))
        .max(1)
        .override_by_name("target", [_fixed(DARK.muted), _property("custom.lineStyle", _DASHED)]),
        _coloured(
            _framed(bargauge.Panel(), "Lost GPU-hours by phase", "gpu_seconds", _GPU_HOURS, app_url)
            .grid_pos(GridPos(h=8, w=8, x=16, y=6))
            .display_mode(BarGaugeDisplayMode.BASIC)
            .with_target(_query(lost, "{{area}}", instant=True))
        ),
    ]


def _where(app_url: str) -> list[Any]:
    share = f"sum by (area) ({_gpu(_INSTRUMENTED)})"
    lost = f"sum by (team) ({_gpu(_LOST_AREAS)}) / 3600"
    # not from ett_effective_ratio: added up in another order, it is another by a hair
    change = f"{_ratio('team')} - {_ratio('team', window='28d')}"
    allowed = "(1 - max by (team) (ett_target_ratio) > 0)"
    burn = f"(1 - {_ratio('team')}) / on (team) group_left () {allowed}"
    teams = _framed(
        table.Panel(), "Teams", "ett_gpu_ratio", "none", app_url, f"/?{_TEAM_OF_ROW}"
    ).grid_pos(GridPos(h=8, w=12, x=12, y=14))
    for ref, expression in zip("ABCD", (_ratio("team"), change, lost, burn), strict=True):
        teams = teams.with_target(
            _query(expression, "", ref=ref, instant=True).format(PromQueryFormat.TABLE)
        )
    columns = {
        "team": ("Team", "none"),
        "Value #A": ("ETT", "percentunit"),
        "Value #B": ("Against 28 days", "percentunit"),
        "Value #C": ("Lost GPU-hours", _GPU_HOURS),
        "Value #D": ("Loss against budget", "percentunit"),
    }
    for _name, (shown, unit) in columns.items():
        teams = teams.override_by_name(shown, [_property("unit", unit)])
    return [
        _coloured(
            _series(
                "Share of GPU time by phase", "gpu_seconds", "none", app_url, (0, 14, 12, 8)
            )
            .with_target(_query(share, "{{area}}"))
            .fill_opacity(80)
            .line_width(0)
            .stacking(common.StackingConfig().mode(StackingMode.PERCENT))
        ),
        teams.with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(
            DataTransformerConfig(
                id_val="organize",
                options={
                    "excludeByName": {"Time": True},
                    "renameByName": {name: shown for name, (shown, _) in columns.items()},
                },
            )
        )
        .sort_by([common.TableSortByFieldState().display_name("Lost GPU-hours").desc(True)]),
    ]  # fmt: skip


def _symptoms(app_url: str) -> list[Any]:
    return [
        _percentiles("Time to start", "tts_seconds", "ett_time_to_start_seconds", app_url, 0),
        _percentiles("Time to recover", "ttr_seconds", "ett_time_to_recover_seconds", app_url, 8),
        _series(
            "Preemption ratio", "preemption_ratio", "percentunit", app_url, (16, 22, 8, 7),
            f"/failures?{_TEAM_OF_SERIES}",
        ).with_target(_query(_of_team("ett_preemption_ratio"), "{{team}}")),
    ]  # fmt: skip


def _percentiles(title: str, measure: str, family: str, app_url: str, x: int) -> timeseries.Panel:
    page = f"/start-recover?{_TEAM_OF_SERIES}"
    panel = _series(title, measure, "s", app_url, (x, 22, 8, 7), page)
    for ref, stat_name in (("A", "p50"), ("B", "p90")):
        expression = _of_team(family, more=f', stat="{stat_name}"')
        panel = panel.with_target(_query(expression, f"{{{{team}}}} {stat_name}", ref=ref))
    return panel


def _alerts(app_url: str) -> list[Any]:
    evidence = f"/regressions?{_TEAM_OF_SERIES}&{_METRIC_OF_SERIES}"
    return [
        _framed(statetimeline.Panel(), "Open regressions", "", "none", app_url, evidence)
        .description("When a measure of a team was worse, through every gate of the detector.")
        .grid_pos(GridPos(h=7, w=16, x=0, y=29))
        .with_target(_query(_regressed(), "{{team}} \u00b7 {{metric}}")),
        dashboard.Panel()
        .type("alertlist")
        .title("Alerts")
        .description("Firing and pending alerts of Prometheus whose name begins with Ett.")
        .options({"alertName": "Ett", "stateFilter": {"firing": True, "pending": True}})
        .grid_pos(GridPos(h=7, w=8, x=16, y=29)),
    ]


def _machinery(app_url: str) -> list[Any]:
    age = "time() - max by (source) (ett_data_timestamp_seconds)"
    rejected = "max by (source, reason) (ett_ingest_rejected_lines)"
    reading = "max by (view) (ett_exporter_read_duration_seconds)"
    success = "min by (view) (ett_exporter_read_success)"
    shown = (
        ("Data age by source", "s", age, "{{source}}", 0),
        ("Lines set aside", "short", rejected, "{{source}} {{reason}}", 6),
        ("Read duration", "s", reading, "{{view}}", 12),
        ("Read success", "none", success, "{{view}}", 18),
    )
    panels: list[Any] = [
        _series(title, "", unit, app_url, (x, 37, 6, 7), "/data")
        .description(f"{title} of the exporter and its warehouse.")
        .with_target(_query(expression, legend))
        for title, unit, expression, legend, x in shown
    ]
    build = _framed(table.Panel(), "Build", "", "none", app_url, "/data").description(
        "Release of the exporter, and the schema of what it reads."
    )
    info = _query("max by (version, schema) (ett_build_info)", "", instant=True)
    return [
        *panels,
        build.grid_pos(GridPos(h=5, w=24, x=0, y=44)).with_target(
            info.format(PromQueryFormat.TABLE)
        ),
    ]


def _stat(
    title: str, measure: str, unit: str, app_url: str, x: int, expression: str, page: str = "/"
) -> stat.Panel:
    panel: stat.Panel = (
        _framed(stat.Panel(), title, measure, unit, app_url, page)
        .grid_pos(GridPos(h=4, w=6, x=x, y=2))
        .graph_mode(BigValueGraphMode.AREA)
        .color_mode(BigValueColorMode.VALUE)
        .with_target(_query(expression, title))
    )
    return panel


def _series(
    title: str,
    measure: str,
    unit: str,
    app_url: str,
    place: tuple[int, int, int, int],
    page: str = "/",
) -> timeseries.Panel:
    x, y, w, h = place
    panel: timeseries.Panel = (
        _framed(timeseries.Panel(), title, measure, unit, app_url, page)
        .grid_pos(GridPos(h=h, w=w, x=x, y=y))
        .span_nulls(True)
    )
    return panel


def _framed(panel: Any, title: str, measure: str, unit: str, app_url: str, page: str = "/") -> Any:
    """What every panel has: title, the glossary's words, unit, an empty state, a way to the app.

    `page` is where in the app; a variable in it that a series does not have would stay as it is.
    """
    link = _link("Open in the app", f"{app_url}{page}")
    meaning = glossary()[measure].meaning if measure else title
    return (
        panel.title(title)
        .description(meaning)
        .datasource(_SOURCE)
        .unit(unit)
        .no_value("no data")
        .data_links([link])
    )


def _coloured(panel: Any) -> Any:
    """Each area in the colour that it has in the app."""
    for area in AREA_ORDER:
        panel = panel.override_by_name(area, [_fixed(DARK.area(area))])
    return panel


def _query(
    expression: str, legend: str, *, ref: str = "A", instant: bool = False
) -> prometheus.Dataquery:
    query = prometheus.Dataquery().datasource(_SOURCE).expr(expression).ref_id(ref)
    query = query.legend_format(legend) if legend else query
    return query.instant() if instant else query.range()


def _steps(*steps: tuple[float | None, str]) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=colour) for value, colour in steps])
    )


_DASHED = {"fill": "dash", "dash": [6, 6]}


def _fixed(colour: str) -> DynamicConfigValue:
    return _property("color", {"mode": "fixed", "fixedColor": colour})


def _property(name: str, value: object) -> DynamicConfigValue:
    return DynamicConfigValue(id_val=name, value=value)
