"""The pieces of Checkpoints: its numbers, the explorer's sliders and sentence, its table.

The URL alone holds what the sliders say: b seconds blocked, f interruptions a day, i minutes
between saves. A name that it lacks stands for what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl
import streamlit as st

from app import alts, data, filters, intervals, kpis, money, openings, parts, tiles, words
from app.charts.saving import Saving, interval_bar
from app.palette import Palette

# $5: weight
HABITS: Final = "from window_checkpoints($1, $2, $3, $4, $5)"
SAVE_TIMES: Final = "from window_saves($1, $2, $3, $4)"
BY_DAY: Final = """
select
    days.day,
    days.is_complete,
    if($5 = 'gpu', unsaved_gpu_seconds, unsaved_seconds) / 3600 as unsaved_hours,
    if($5 = 'gpu', checkpoint_save_gpu_seconds, checkpoint_save_seconds) / 3600 as blocked_hours,
    checkpoint_save_p50_seconds as p50
from days
left join team_day on days.day = team_day.day and team_day.team = $1 and team_day.workload = $2
where days.day between $3 and $4
order by days.day
"""
ENDED: Final = "of attempts that ended in these days or ran on after them, each counted whole"
NO_INTERVAL: Final = "no attempt that ended in these days or ran on after them saved twice"
_WEEK: Final = 7
_LEAST_TOLD: Final = 360.0  # seconds: a tenth of an hour
_LEAST_CHANGE: Final = 0.001  # of a save time


@dataclass(frozen=True, slots=True)
class Slider:
    """One of the three: its name in the URL, its steps, what was measured, how a step is said."""

    name: str
    label: str
    steps: Sequence[float]
    measured: float | None
    otherwise: float  # where nothing was measured: the scenario of METRICS.md section 3
    show: Callable[[float], str]

    @property
    def start(self) -> float:
        """The step that is nearest to what was measured."""
        return intervals.nearest(self.measured or self.otherwise, self.steps)


def row(chosen: filters.Scope, opened: openings.Opened) -> dict[str, Any]:
    """Draw the five numbers; returns the row of HABITS with that of SAVE_TIMES, and the train-loop
    time that the days hold as `held_loop_seconds`.

    Empty where a view fails: the failure is said, and the page goes on.
    """
    try:
        habits = _habits(chosen.now, chosen.weight)
        earlier = _habits(chosen.previous, chosen.weight) if chosen.is_compared else {}
        _row(chosen, opened, habits, earlier)
    except data.ViewFailed as failure:
        parts.failed(failure)
        return {}
    return habits | {"held_loop_seconds": _held_loop(opened.now, chosen.weight)}


def sliders(habits: Mapping[str, Any]) -> Saving:
    """Draw the three sliders and the way back to what was measured; returns what they say."""
    blocking = habits.get("checkpoint_save_p50_seconds")
    rate, apart = _per_day(habits), _minutes(habits.get("interval_p50_seconds"))
    three = (
        Slider(
            "b",
            "Blocked by a save",
            intervals.steps_around(blocking, 0.5, 300),
            blocking,
            15.0,
            words.duration,
        ),
        Slider(
            "f",
            "Interruptions a day of train loop",
            intervals.steps_around(rate, 0.1, 50),
            rate,
            3.0,
            lambda value: f"{value:.3g}",
        ),
        Slider(
            "i",
            "Time between saves",
            intervals.steps_around(apart, 1, 240),
            apart,
            60.0,
            lambda minutes: words.duration(minutes * 60),
        ),
    )
    with st.grid(3, min_column_width=200, gap="medium"):
        blocked, per_day, minutes = (_slider(each) for each in three)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Reset to measured",
            icon=":material/restart_alt:",
            on_click=_reset,
            disabled=not any(each.name in st.query_params for each in three),
        )
        st.caption(_told(habits, three))
    return Saving(blocked, per_day, minutes * 60, habits.get("interval_p50_seconds"))


def sentence(
    saving: Saving,
    habits: Mapping[str, Any],
    chosen: filters.Scope,
    name: Callable[[str], str] = words.whole,
) -> str:
    """What the chosen interval loses, and what the best one would gain, in words.

    No gain where something was not measured: the sliders then start at an example; none where the
    model is too coarse; and none where no day is complete: a part of a day makes no week.
    `name` turns a team into what the sentence is for, such as `words.code` for Markdown.
    """
    loses, least = saving.wasted(saving.interval), saving.wasted(saving.best)
    said = (
        f"At {words.duration(saving.interval)} this loses {words.ratio(loses, 2)} of "
        f"train-loop time. At {words.duration(saving.best)} it would lose {words.ratio(least, 2)}"
    )
    coarse = (
        f" More than one interruption falls into {words.duration(saving.interval)}, of which the "
        "model makes too much: no gain is told."
        if intervals.is_coarse(saving.interval, saving.per_day)
        else ""
    )
    invented = [what for what, value in _measured(habits).items() if not value]
    if invented:
        return f"Not measured here, an example: {' and '.join(invented)}. {said}.{coarse}"
    loop = habits.get("held_loop_seconds")
    if coarse or not loop or not chosen.is_complete:
        return f"{said}.{coarse}"
    weekly = (loses - least) * loop / chosen.days * _WEEK
    gained = words.hours(weekly)
    gained = f"under {words.hours(_LEAST_TOLD)}" if words.is_nothing(gained) else gained
    of_whom = "the fleet" if chosen.team == filters.FLEET else name(chosen.team)
    if chosen.workload != filters.ALL:
        of_whom = f"the {name(chosen.workload)} workloads of {of_whom}"
    return (
        f"{said}, which is {gained} {chosen.hours} a week less for {of_whom}, whose "
        f"train loop took {words.hours(loop / chosen.days * _WEEK)} a week in these days."
    )


def why_no_gain(habits: Mapping[str, Any]) -> str:
    """Why no interval is said to be better than another; `habits` as `row` returns it."""
    if not habits:
        return "what was measured could not be read"
    if not habits.get("attempts_with_interval"):
        return NO_INTERVAL
    if not habits["interruptions"] and habits["fleet_interruptions_per_job_day"] == 0:
        return "nothing that trained was interrupted"
    if not habits["checkpoint_save_p50_seconds"]:
        return "of saves their ends alone are told, and not what they block"
    if habits["weighed_with_interval"] and habits["fleet_interruptions_per_job_day"] is None:
        return "the GPUs of what was interrupted are unknown"
    return "the GPUs of what saved are unknown"


def curve(saving: Saving) -> pl.DataFrame:
    """The three curves of the explorer as a table."""
    seconds = np.geomspace(*saving.ends, 49)
    return pl.DataFrame(
        {
            "interval_seconds": seconds,
            "unsaved_ratio": [intervals.unsaved_ratio(each, saving.per_day) for each in seconds],
            "blocked_ratio": [intervals.blocked_ratio(each, saving.blocked) for each in seconds],
            "wasted_ratio": [saving.wasted(each) for each in seconds],
        }
    )


def beside(habits: Mapping[str, Any]) -> pl.DataFrame:
    """Measured beside modelled, as the chart of them wants it; empty where nothing is modelled."""
    if not habits.get("attempts_with_interval"):
        return pl.DataFrame()
    rows = [
        {
            "area": area,
            "kind": kind,
            "hours": None if seconds is None else seconds / 3600,
            "text": words.hours(seconds),
        }
        for area, name in (("unsaved", "unsaved"), ("checkpoint_save", "blocked"))
        for kind in ("measured", "modelled")
        for seconds in (habits[f"{kind}_{name}_seconds"],)
    ]
    return pl.DataFrame(rows, schema_overrides={"hours": pl.Float64})


def days_told(days: pl.DataFrame, chosen: filters.Scope) -> str:
    """Both lines of the days in words; rows of BY_DAY."""
    unsaved, blocked = (
        alts.by_day(days, chosen.last_day, column, words.compact)
        for column in ("unsaved_hours", "blocked_hours")
    )
    return f"{chosen.hours} unsaved by day: {unsaved}. Blocked by saves: {blocked}"


def beside_told(told: pl.DataFrame) -> list[tuple[str, str]]:
    """Measured and modelled hours in words; rows of `beside`."""
    return [
        (f"{words.area(area)} {kind}", text)
        for area, kind, text in told.select("area", "kind", "text").rows()
    ]


def coverage(habits: Mapping[str, Any], chosen: filters.Scope) -> str:
    """How far the model is off, and what it cannot speak of."""
    measured, modelled = habits["measured_unsaved_seconds"], habits["modelled_unsaved_seconds"]
    unsaved = habits["unsaved_seconds"]
    off = (
        f"Modelled unsaved time is {words.ratio(abs(modelled / measured - 1), 0)} "
        f"{'above' if modelled > measured else 'below'} the measured. "
        if measured
        else ""
    )
    outside = (
        f" {words.ratio(1 - measured / unsaved, 0)} of all that was unsaved is of the others."
        if unsaved and measured is not None
        else ""
    )
    found = habits["attempts_with_interval"]
    return (
        f"{off}In {chosen.hours}, of what saved twice and so has an interval: "
        f"{words.count(found)} of {words.many(habits['attempts'], 'attempt')} that trained"
        f"{_of_unknown(found - habits['weighed_with_interval'])}; {ENDED}."
        f"{outside}"
    )


def jobs_table(jobs: pl.DataFrame, chosen: filters.Scope, palette: Palette, about: str) -> None:
    """The jobs with the most to gain; a selected row opens the job."""
    bars = [
        interval_bar(measured, best, palette)
        for measured, best in jobs.select("interval_seconds", "best_interval_seconds").iter_rows()
    ]
    shown = jobs.select(
        "job_id",
        "gain_hours",
        pl.Series("habit", bars, dtype=pl.String),
        pl.Series("saves_every", [words.duration(each) for each in jobs["interval_seconds"]]),
        pl.Series("best", [words.duration(each) for each in jobs["best_interval_seconds"]]),
        pl.Series("blocked", [words.duration(each) for each in jobs["blocked_seconds"]]),
        "team",
        "gpus",
        "attempts",
        "saves",
    )
    parts.jobs_table(
        shown,
        key="gains table",
        most=420,
        alt=f"Jobs by what their best interval would gain. {about}",
        columns={
            "gain_hours": st.column_config.NumberColumn(
                f"{chosen.hours} to gain", format="compact"
            ),
            "habit": st.column_config.ImageColumn("10 s to 1 day", width="medium"),
            "saves_every": st.column_config.TextColumn("saves every"),
            "blocked": st.column_config.TextColumn("blocked by one"),
            "gpus": st.column_config.NumberColumn("GPUs"),
        },
    )


def _habits(window: tuple[object, ...], weight: str) -> dict[str, Any]:
    told = data.row(HABITS, *window, weight)
    # what an older release published knows no difference
    weighed = {
        "weighed_interruptions": told["interruptions"],
        "weighed_with_interval": told["attempts_with_interval"],
    }
    return weighed | told | data.row(SAVE_TIMES, *window)


def _held_loop(window: Mapping[str, Any], weight: str) -> float | None:
    """Train-loop time of the days themselves; what `habits` has is of the attempts that ended in
    them or ran on after them, each of which counts whole.
    """
    unit = "gpu_seconds" if weight == "gpu" else "seconds"
    trained, wasted = window[f"effective_{unit}"], window[f"wasted_{unit}"]
    return None if trained is None or wasted is None else trained + wasted


def _stopped(habits: Mapping[str, Any]) -> str:
    stopped = habits["interruptions"]
    unknown = _of_unknown(stopped - habits["weighed_interruptions"])
    return f"{words.many(stopped, 'interruption')} of attempts that trained{unknown}"


def _of_unknown(count: int) -> str:
    return f", GPUs of {words.count(count)} unknown" if count else ""


def _row(
    chosen: filters.Scope,
    opened: openings.Opened,
    habits: Mapping[str, Any],
    earlier: Mapping[str, Any],
) -> None:
    measures, window, before = words.glossary(), opened.now, opened.before
    runs_on = bool(habits.get("attempts_running_on"))
    whose = "attempts that ended or ran on, each whole"
    if runs_on and chosen.is_compared:
        whose += ": not compared"
    every = filters.by_day(BY_DAY, chosen, chosen.weight)
    days = filters.within(every, *chosen.month[2:])
    unit = "gpu_seconds" if chosen.weight == "gpu" else "seconds"
    whole = window["instrumented"]
    saved = habits["checkpoint_saves"] or 0
    silent = kpis.not_reported(window, filters.WEIGHTS[1])
    with st.grid(5, min_column_width=150, gap="small"):
        for area, label, series in (
            ("unsaved", "Unsaved", days["unsaved_hours"]),
            ("checkpoint_save", "Blocked", days["blocked_hours"]),
        ):
            now = window[f"{area}_{unit}"]
            tiles.kpi(
                measures[f"{area}_{unit}"],
                now,
                before.get(f"{area}_{unit}"),
                label=f"{label}, {chosen.hours}",
                show=words.hours,
                difference=words.more_hours,
                rests_on=window["attempts_told"],
                rested_on=before.get("attempts_told"),
                note=kpis.not_reported(window, chosen.weight)
                or money.beside(
                    f"{words.ratio(now / whole if now is not None and whole else None, 2)} of "
                    f"{words.hours(whole)} instrumented",
                    now,
                    chosen.weight,
                ),
                series=series.to_list(),
                tell=words.compact,
            )
        tiles.kpi(
            measures["checkpoint_save_p50_seconds"],
            habits["checkpoint_save_p50_seconds"],
            earlier.get("checkpoint_save_p50_seconds"),
            show=words.duration,
            difference=partial(_more_time, of=habits["checkpoint_save_p50_seconds"]),
            rests_on=saved,
            rested_on=earlier.get("checkpoint_saves"),
            note=f"p90 {words.duration(habits['checkpoint_save_p90_seconds'])}, of "
            f"{words.many(saved, 'save')}"
            if saved
            else silent or "no good save in these days",
            series=days["p50"].to_list(),
        )
        tiles.kpi(
            measures["interruptions_per_job_day"],
            habits["interruptions_per_job_day"],
            earlier.get("interruptions_per_job_day"),
            show=_rate,
            difference=lambda change: words.more(change, 2),
            rests_on=habits["weighed_interruptions"],
            rested_on=earlier.get("weighed_interruptions"),
            note=silent or _stopped(habits),
            series=[],
        )
        tiles.kpi(
            measures["gain_seconds"],
            habits["gain_seconds"],
            # what ran on counts whole in these days, and in none before
            None if runs_on else earlier.get("gain_seconds"),
            label=f"To gain, {chosen.hours}",
            show=words.hours,
            difference=words.more_hours,
            rests_on=habits["weighed_with_interval"],
            rested_on=earlier.get("weighed_with_interval"),
            note=money.beside(whose, habits["gain_seconds"], chosen.weight)
            if habits["gain_seconds"] is not None
            else silent or why_no_gain(habits),
            series=[],
        )


def _slider(slider: Slider) -> float:
    """One slider at what the URL asks for; what it cannot show is said."""
    asked = st.query_params.get(slider.name)
    wanted = slider.start
    if asked is not None:
        number = _number(asked)
        if number is not None:
            wanted = intervals.nearest(number, slider.steps)
        if number is None:
            st.warning(
                f"The link asks for {slider.name} = {words.code(asked)}, which is no number above "
                f"0. {slider.show(wanted)} is shown, "
                + ("the step nearest to what was measured." if slider.measured else "an example.")
            )
        elif abs(wanted / number - 1) > 1e-6:
            st.warning(
                f"The link asks for {slider.name} = {words.code(asked)}. "
                f"The nearest step, {slider.show(wanted)}, is shown."
            )
    key = f"explorer {slider.name}"
    st.session_state[key] = wanted  # the URL is the state; the slider only shows it
    value: float = st.select_slider(
        slider.label,
        slider.steps,
        format_func=slider.show,
        key=key,
        on_change=_note,
        args=(slider.name, key, slider.start),
    )
    return value


def _note(name: str, key: str, start: float) -> None:
    """Write what a slider was moved to into the URL."""
    value = st.session_state[key]
    if value == start:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = f"{value:g}"


def _reset() -> None:
    for name in ("b", "f", "i"):
        st.query_params.pop(name, None)


def _told(habits: Mapping[str, Any], three: Sequence[Slider]) -> str:
    whose = ""
    if habits and (habits["weighed_interruptions"] or 0) < tiles.TOO_FEW:
        of_known = " whose GPUs are known" if habits["interruptions"] >= tiles.TOO_FEW else ""
        whose = f" (the fleet's, as there were fewer than five{of_known})"
    units = ("a save (p50)", f"interruptions a day of train loop{whose}", "between saves (p50)")
    known = [
        f"{slider.show(slider.measured)} {unit}"
        for slider, unit in zip(three, units, strict=True)
        if slider.measured
    ]
    missing = [what for what, value in _measured(habits).items() if not value]
    return " ".join(
        [
            *([f"Measured: {', '.join(known)}."] if known else []),
            *([f"Not measured: {', '.join(missing)}."] if missing else []),
            "The sliders start at the nearest steps"
            + (", at an example for what was not measured." if missing else "."),
        ]
    )


def _measured(habits: Mapping[str, Any]) -> dict[str, float | None]:
    """What the sliders start at, by what it is; none, or nothing, where it was not measured."""
    rate = _per_day(habits)
    none = " (nothing that trained was interrupted)" if rate == 0 else ""
    return {
        "what a save blocks": habits.get("checkpoint_save_p50_seconds"),
        f"how often jobs are interrupted{none}": rate,
        "the time between saves": habits.get("interval_p50_seconds"),
    }


def _per_day(habits: Mapping[str, Any]) -> float | None:
    enough = (habits.get("weighed_interruptions") or 0) >= tiles.TOO_FEW
    rate: float | None = habits.get(
        "interruptions_per_job_day" if enough else "fleet_interruptions_per_job_day"
    )
    return rate


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None


def _rate(value: float | None) -> str:
    return words.UNKNOWN if value is None else f"{value:.2f}"


def _more_time(seconds: float, of: float | None) -> str:
    """A difference of save times; none where it is less than a thousandth of the time: clocks are
    read no better.
    """
    if abs(seconds) < (of or 0.0) * _LEAST_CHANGE:
        return "0 s"
    shown = words.duration(seconds, units=1)
    return shown if seconds < 0 or words.is_nothing(shown) else f"+{shown}"
