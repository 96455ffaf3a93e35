"""What the reader chose, bound to the URL: team, days, vs, workload, weight. Values are raw ids.

Keeps nothing itself: the URL is the state. An option is never formatted, since a bound widget
writes its label into the URL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final, TypeVar

import polars as pl
import streamlit as st

from app import data, words
from app.palette import AREA_ORDER

FLEET: Final = "fleet"
OTHER: Final = "other"  # of /metrics alone; a team of that name has another here
WHY_NOT_COUNTED: Final = "they have no GPUs, or `ett.toml` excludes them"
ALL: Final = "all"
DAYS: Final = (7, 28, 90)
VERSUS: Final = ("previous", "none")
WEIGHTS: Final = ("gpu", "wall")
_GOING: Final = "page to go to"
T = TypeVar("T")
_chosen: ContextVar[Scope] = ContextVar("what the filters of this run say")
LOST_AREAS: Final = tuple(
    name for name in AREA_ORDER if name not in ("effective", "uninstrumented")
)
_CLASSES: Final = ("production", "exploration")


@dataclass(frozen=True, slots=True)
class Scope:
    """The chosen team and workload over a window of days, both ends included."""

    team: str
    workload: str
    weight: str  # gpu: an attempt counts by its GPUs; wall: every attempt counts the same
    first_day: date
    last_day: date
    data_starts: date
    newest_day: date  # after last_day: days that are not complete yet
    is_complete: bool  # false: no day is complete yet, so the window ends with the newest
    is_compared: bool
    why_not_compared: str
    back_days: int | None = None  # to what it is compared with; None: to what lies right before
    zone: str = "UTC"  # whose midnights part the days

    @property
    def days(self) -> int:
        """Length of the window; less than was asked for where the data starts later."""
        return (self.last_day - self.first_day).days + 1

    @property
    def now(self) -> tuple[str, str, date, date]:
        """Parameters of the window macros."""
        return self.team, self.workload, self.first_day, self.last_day

    @property
    def previous(self) -> tuple[str, str, date, date]:
        """Parameters of the window macros for the equally long window before."""
        before = timedelta(days=self.back_days or self.days)
        return self.team, self.workload, self.first_day - before, self.last_day - before

    @property
    def month(self) -> tuple[str, str, date, date]:
        """Parameters of the window macros for the 28 days of sparklines and loss budget."""
        return self.team, self.workload, self.last_day - timedelta(days=27), self.last_day

    @property
    def month_before(self) -> tuple[str, str, date, date]:
        """The 28 days before those."""
        first = self.last_day - timedelta(days=55)
        return self.team, self.workload, first, first + timedelta(days=27)

    @property
    def has_incomplete_day(self) -> bool:
        """Whether there are days after the window, none of which is complete."""
        return self.newest_day > self.last_day

    @property
    def hours(self) -> str:
        """What is counted: GPU-hours, or hours of attempts."""
        return "GPU-hours" if self.weight == "gpu" else "hours"

    def stem(self, page: str, chart: str) -> str:
        """File name of what this scope exports, without its ending."""
        team = words.slug(self.team)
        return f"ett_{page}_{chart}_{team}_{self.first_day:%Y%m%d}_{self.last_day:%Y%m%d}"


def draw(*, with_comparison: bool) -> None:
    """Draw the filters in the sidebar, for the page that runs next and reads them with `show`.

    For main.py only: what it draws belongs to no page, so that a choice and its place in the
    address follow the reader from page to page, there and back. Stops, after saying so, where the
    address names a team or workload that is not there.
    """
    asked = {name: st.query_params.get(name) for name in ("days", "vs", "weight")}
    teams = _teams()
    classes = _column(
        "select distinct workload from team_day_totals where workload <> ? order by 1", ALL
    )
    workloads = [ALL, *sorted(classes, key=lambda name: name not in _CLASSES)]
    with st.sidebar:
        team = _one_of("Team", "team", teams, "fleet is every team together")
        days = _segments(
            "days", "Days", DAYS, 28, "Complete days, counted back from the newest complete one"
        )
        workload = _one_of("Workload", "workload", workloads, "all is every workload together")
        versus, weight = VERSUS[0], WEIGHTS[0]
        if with_comparison:
            versus = _segments(
                "vs",
                "Compared with",
                VERSUS,
                VERSUS[0],
                "previous is the equally long window before",
            )
            weight = _segments(
                "weight",
                "Weight",
                WEIGHTS,
                WEIGHTS[0],
                "gpu: an attempt counts by its GPUs. wall: every attempt counts the same.",
            )
    say_if_refused("days", asked["days"], DAYS, days)
    say_if_refused("vs", asked["vs"], VERSUS, versus)
    say_if_refused("weight", asked["weight"], WEIGHTS, weight)
    _stop_if_unknown("team", team, teams)
    _stop_if_unknown("workload", workload, workloads)
    _chosen.set(_scope(team, workload, weight, days, versus))


def draw_team() -> None:
    """Draw the team alone, for a page whose days are not chosen; it reads `team` from the session.

    For main.py only, as `draw`.
    """
    teams = _teams()
    with st.sidebar:
        team = _one_of("Team", "team", teams, "fleet is every team together")
    _stop_if_unknown("team", team, teams)


def show() -> Scope:
    """What is chosen on this page."""
    return _chosen.get()


def area() -> str:
    """The one area that Lost time looks at, or `all`; in the sidebar and in the URL."""
    asked = st.query_params.get("area")
    with st.sidebar:
        chosen = st.selectbox(
            "Area",
            [ALL, *LOST_AREAS],
            key="area",
            bind="query-params",
            filter_mode="contains",
            help="what a second was charged to; all is everything that was lost",
        )
    say_if_refused("area", asked, [ALL, *LOST_AREAS], chosen)
    return str(chosen)


def by_gpus(scope: Scope) -> Scope:
    """The same scope for what counts in GPU-hours, whichever weight is chosen."""
    return replace(scope, weight=WEIGHTS[0])


def sentence(
    scope: Scope, window: Mapping[str, Any], name: Callable[[str], str] = words.whole
) -> str:
    """What the numbers are of, as one line; `window` is the `now` of `openings.Opened`.

    `name` turns a team or workload into what the line is for, such as `words.code` for Markdown.
    """
    parts = [
        "Fleet" if scope.team == FLEET else name(scope.team),
        "all workloads" if scope.workload == ALL else f"{name(scope.workload)} workloads",
        words.days(scope.first_day, scope.last_day)
        + ("" if scope.zone == "UTC" else f" by {scope.zone}"),
        f"{words.many(window.get('jobs') or 0, 'job')}, "
        f"{words.many(window.get('attempts') or 0, 'attempt')}, {_held(window)}",
    ]
    if scope.weight != WEIGHTS[0]:
        parts.append("every attempt counts the same")
    if scope.is_compared:
        parts.append(f"compared with {words.days(*scope.previous[2:])}")
    elif scope.why_not_compared:
        parts.append(f"not compared: {scope.why_not_compared}")
    return " \u00b7 ".join(parts)


def _held(window: Mapping[str, Any]) -> str:
    by_gpu, by_wall = window.get("gpu_seconds") or 0, window.get("wall_seconds") or 0
    if by_wall and not by_gpu:
        return f"{words.hours(by_wall)} hours, GPUs unknown"
    # a warehouse that an earlier release published does not count them
    unknown = window.get("attempts_of_unknown_gpus") or 0
    without = f" without {words.many(unknown, 'attempt')} of unknown GPUs" if unknown else ""
    return f"{words.hours(by_gpu)} GPU-hours{without}"


def by_day(sql: str, chosen: Scope, *more: object) -> pl.DataFrame:
    """A select by day over every day that a page of this window shows: read once, cut by `within`.

    Its parameters are team, workload, first and last day, then `more`.
    """
    first = min(chosen.first_day, chosen.previous[2], chosen.month[2])
    return data.frame(sql, chosen.team, chosen.workload, first, chosen.newest_day, *more)


def drawn_days(chosen: Scope, *more: object) -> tuple[object, ...]:
    """Parameters of such a select for the days that are drawn, an incomplete newest included."""
    return chosen.team, chosen.workload, chosen.first_day, chosen.newest_day, *more


def within(days: pl.DataFrame, first: date, last: date) -> pl.DataFrame:
    """The rows of these days, both ends included."""
    return days.filter(pl.col("day").is_between(first, last))


def beside(
    now: pl.DataFrame, then: pl.DataFrame, chosen: Scope, *keys: str, value: str
) -> pl.DataFrame:
    """`now` with the value of the same day of the window before as `previous_<value>`.

    Both have `day` and the keys. Null all through where nothing is compared.
    """
    moved = then.select(
        pl.col("day").cast(pl.Date) + timedelta(days=chosen.days),
        *keys,
        pl.col(value).alias(f"previous_{value}"),
    )
    compared = moved if chosen.is_compared else moved.clear()
    return now.join(compared, on=["day", *keys], how="left", maintain_order="left")


def marked(table: pl.DataFrame, days: pl.DataFrame) -> pl.DataFrame:
    """The table with `is_complete` of its `day`: what a day that is not holds is not all of it."""
    return table.join(
        days.select("day", "is_complete"), on="day", how="left", maintain_order="left"
    )


def unfinished(table: pl.DataFrame, value: str, look: str) -> str:
    """What a chart by day says of days that are not complete: it draws them otherwise. `table`:
    day, is_complete, `value`. Empty where no such day has a value.
    """
    days = table.filter(~pl.col("is_complete") & pl.col(value).is_not_null())["day"].unique().sort()
    if days.is_empty():
        return ""
    what = "a day that is" if len(days) == 1 else "days that are"
    return f"{look}: {words.days(days[0], days[-1])}, {what} not complete."


def undrawn(chosen: Scope) -> str:
    """What a chart by day says that leaves out the days that are not complete; empty where there
    are none.
    """
    first = chosen.last_day + timedelta(days=1)
    if first >= chosen.newest_day:
        return words.NOT_COMPLETE if chosen.has_incomplete_day else ""
    days = words.days(first, chosen.newest_day)
    return f"{days}, days that are not complete: their numbers are in the CSV alone."


def with_unit(table: pl.DataFrame, chosen: Scope) -> pl.DataFrame:
    """The table with its amounts and hours under the name of what they count, for who reads it
    alone.
    """
    is_gpu = chosen.weight == WEIGHTS[0]
    units = {
        "amount": "gpu_seconds" if is_gpu else "seconds",
        "hours": "gpu_hours" if is_gpu else "wall_hours",
    }
    named = {
        name: name.removesuffix(what) + unit
        for name in table.columns
        for what, unit in units.items()
        if name.endswith(what)
    }
    # the same by GPUs may stand beside it
    return table.drop(set(named.values()) & set(table.columns)).rename(named)


def say_if_refused(name: str, asked: str | None, offered: Iterable[object], used: object) -> None:
    """Say that the URL asked for a value that is not offered, and what is shown in its place."""
    listed = [str(option) for option in offered]
    if asked is not None and asked not in listed:
        st.warning(
            f"The link asks for {name} = {words.code(asked)}, which is not offered "
            f"({words.code(', '.join(listed))}). This page shows {words.code(str(used))}."
        )


def choose(name: str, value: object) -> None:
    """Set a filter from a button's callback; the URL follows."""
    st.session_state[name] = value


def go(page: str, parameters: Mapping[str, str] | None = None, **choices: object) -> None:
    """Set these filters from a callback, and let `leave` open another page with them.

    `parameters`: what else its address says.
    """
    for name, value in choices.items():
        st.session_state[name] = value
    st.session_state[_GOING] = page, parameters


def leave() -> None:
    """Open the page that a callback asked for; for main.py, once all pages are known."""
    going = st.session_state.pop(_GOING, None)
    if going is not None:
        page, parameters = going
        st.switch_page(page, query_params=parameters)


def reaching(first: date, last: date | None) -> int | None:
    """The shortest of DAYS in which these days lie, as far as the longest reaches back; None where
    that holds not even the last one. `last`: None where they go on.
    """
    published = data.row("select last_complete_day, newest_day from publication")
    ends = published["last_complete_day"] or published["newest_day"]
    if last is not None and (ends - last).days >= DAYS[-1]:
        return None
    return next((days for days in DAYS if (ends - first).days < days), DAYS[-1])


def why_no_day() -> str:
    """Why no day of the published warehouse has numbers, and what helps."""
    attempts = data.row("select count(*) as attempts from attempts")["attempts"]
    if not attempts:
        return "the warehouse holds no attempts yet. Run `make ingest LOGS=...` to add dumps."
    return (
        f"nothing is counted of the {words.many(attempts, 'attempt')} in this warehouse: they have "
        "no GPUs, or `ett.toml` excludes them; the page Data tells which. Slurm tells of GPUs "
        "only if AccountingStorageTRES in slurm.conf names gres/gpu, of jobs from then on."
    )


def _scope(team: str, workload: str, weight: str, days: int, versus: str) -> Scope:
    published = data.row(
        "select first_day, last_complete_day, newest_day, time_zone from publication"
    )
    complete, newest = published.get("last_complete_day"), published.get("newest_day")
    if newest is None:
        why = why_no_day()
        st.caption(f"{why[0].upper()}{why[1:]}")
        st.stop()
    last = complete or newest
    asked = last - timedelta(days=days - 1)
    starts = published["first_day"]
    reaches_back = starts <= asked - timedelta(days=days)
    return Scope(
        team=team,
        workload=workload,
        weight=weight,
        first_day=max(asked, starts),
        last_day=last,
        data_starts=starts,
        newest_day=newest,
        is_complete=complete is not None,
        is_compared=versus == VERSUS[0] and reaches_back,
        why_not_compared=""
        if versus != VERSUS[0] or reaches_back
        else f"the data starts {words.day(starts)}",
        zone=published["time_zone"],
    )


def _teams() -> list[str]:
    named = _column("select distinct team from team_day_totals where team <> ? order by 1", FLEET)
    return [FLEET, *named]


def has_jobs(name: str, chosen: str) -> bool:
    """Whether a job is of this team or workload, though no rollup knows it."""
    found = data.frame(
        "select 1 from jobs where if($1 = 'team', team, workload) = $2 limit 1", name, chosen
    )
    return not found.is_empty()


def _column(sql: str, *parameters: object) -> list[str]:
    return data.frame(sql, *parameters).to_series().to_list()


def _segments(name: str, label: str, options: Sequence[T], default: T, help_text: str) -> T:
    chosen = st.segmented_control(
        label,
        options,
        default=default,
        required=True,
        key=name,
        bind="query-params",
        help=help_text,
    )
    return default if chosen is None else chosen


def _one_of(label: str, name: str, options: Sequence[str], help_text: str) -> str:
    asked = st.query_params.get(name) or st.session_state.get(name)
    # A value that is not there stays chosen, so that the page can name it and the link survives.
    unknown = [asked] if asked and asked not in options else []
    chosen: str = st.selectbox(
        label,
        [*options, *unknown],
        key=name,
        bind="query-params",
        filter_mode="contains",
        help=help_text,
    )
    return chosen


def _stop_if_unknown(name: str, chosen: str, options: Sequence[str]) -> None:
    if chosen in options:
        return
    is_summed = (name, chosen) == ("team", OTHER)
    if is_summed:
        st.warning(
            f"{words.code(OTHER)} is what alerts and Grafana call all teams together that are not "
            "among the largest. Here each is told by its own name."
        )
    elif has_jobs(name, chosen):
        st.warning(
            f"Nothing is counted of the jobs of {name} {words.code(chosen)}: {WHY_NOT_COUNTED}."
        )
    else:
        st.warning(f"There is no {name} {words.code(chosen)} in this warehouse.")
    with st.container(horizontal=True):
        for near in [*([] if is_summed else words.nearest(chosen, options[1:])), options[0]]:
            st.button(
                f"Show {words.code(near)}",
                key=f"near {name} {near}",
                on_click=choose,
                args=(name, near),
            )
    st.stop()
