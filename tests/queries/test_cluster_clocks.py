"""Dumps of several clusters that are given without --cluster: how far each cluster has got.

What runs on one whose dump is the older must not be lost by the dump of another (ADR 19).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from ingest import cli, keep
from ingest.moment import Moment, microseconds
from tests.ingest.test_slurm_json_collector import document, new
from tests.queries.engine import hearing, ingest, rows, write_dump

HEAD = "Cluster|JobID|State|Submit|Start|End|Elapsed|AllocTRES"
GPUS = "gres/gpu=8"
# of c1, taken at 12:00; of c2, taken nine hours later
C1 = [
    f"c1|17|RUNNING|2026-03-01T10:00:00|2026-03-01T10:00:00|Unknown|02:00:00|{GPUS}",
    f"c1|16|COMPLETED|2026-03-01T09:00:00|2026-03-01T09:00:00|2026-03-01T11:00:00|02:00:00|{GPUS}",
]
C2 = [
    f"c2|17|RUNNING|2026-03-01T20:00:00|2026-03-01T20:00:00|Unknown|01:00:00|{GPUS}",
]
NEXT_MORNING = f"{{cluster}}|90|COMPLETED|{'2026-03-02T07:00:00|' * 2}2026-03-02T08:00:00|1:00:00|"


def dump(path: Path, lines: Sequence[str], head: str = HEAD) -> Path:
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return path


def of_both(folder: Path) -> tuple[Path, Path]:
    return dump(folder / "c1.txt", C1), dump(folder / "c2.txt", C2)


@dataclass(frozen=True, slots=True)
class Grown:
    """Warehouses that were told of one cluster, then of the other too, and of both at once; and
    what the ingest of both warned of.
    """

    dumps: tuple[Path, Path]
    one: Path
    both: Path
    at_once: Path
    warned: str


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    folder = tmp_path_factory.mktemp("grown")
    one, other = dumps = of_both(folder)
    ingest(folder / "one", one)
    ingest(copied(folder / "one", folder / "both"), other)
    with hearing() as said:
        ingest(folder / "at once", *dumps)
    return Grown(dumps, folder / "one", folder / "both", folder / "at once", "\n".join(said))


def copied(warehouse: Path, place: Path) -> Path:
    """A warehouse to go on with: what it was told before is ingested once."""
    return shutil.copytree(warehouse, place, symlinks=True)


ORDERS = {(0, 1, 2): "forth", (1, 2, 0): "round", (2, 1, 0): "back"}
HOURS = {17: "running", 19: "lost"}
GIVEN = {(hour, is_known): f"{hour}-{is_known}-" for hour in HOURS for is_known in (False, True)}
TRAINERS = ("reader", "event")


@dataclass(frozen=True, slots=True)
class Told:
    """A warehouse of the stories below, and how a check of it ended."""

    warehouse: Path
    checked: int


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Each story is of two clusters of its own, called like it. So what is said of one must not
    change what others are.
    """
    folder = tmp_path_factory.mktemp("told")
    options = {
        4: ["--as-of", "2026-03-01T17:00:00Z"],
        5: ["--as-of", "2026-03-01T19:00:00Z"],
        7: ["--cluster", "C-ONE"],
        8: ["--as-of", "2026-03-01T19:00:00Z"],
    }
    beside = {3: [trained(folder, "event")], 7: [trained(folder, "reader")]}
    for command, dumps in stories().items():
        given = [dump(folder / f"{name}.txt", lines) for name, lines in dumps.items()]

        assert 0 == ingest(
            folder / "warehouse",
            *given,
            *beside.get(command, []),
            *options.get(command, []),
        )
    return Told(
        folder / "warehouse", keep.main(["check", "--warehouse", str(folder / "warehouse")])
    )


def stories() -> dict[int, dict[str, list[str]]]:
    """The lines of each dump by the command that it is given to."""
    commands: dict[int, dict[str, list[str]]] = {command: {} for command in range(1, 9)}
    for story in ("at-once", "next", "grows", "empty", *TRAINERS):
        commands[1] |= two(story)
    commands[2]["next"] = of("next", [NEXT_MORNING.format(cluster="c1")])
    both = "c{}|{}|COMPLETED|2026-02-28T09:00:00|2026-02-28T09:00:00|2026-02-28T10:00:00|1:0:0|"
    for order, story in ORDERS.items():
        dumps = two(story) | {f"{story} both": of(story, [both.format(1, 5), both.format(2, 6)])}
        for command, place in enumerate(order, 1):
            name = [*dumps][place]
            commands[command][name] = dumps[name]
    for (hour, is_known), story in GIVEN.items():
        one, other = two(story)
        for command in (*([1] if is_known else []), {17: 4, 19: 5}[hour]):
            commands[command][one] = two(story)[one]
        commands[2][other] = two(story)[other]
    ended = C1[1].replace("|16|", "|15|")
    commands[5]["more"] = of("grows", [ended])
    commands[6]["more"] = of("grows", [ended, ended.replace("|15|", "|14|")])
    commands[8]["of none"] = []
    return commands


def two(story: str) -> dict[str, list[str]]:
    return {f"{story}1": of(story, C1), f"{story}2": of(story, C2)}


def of(story: str, lines: Sequence[str]) -> list[str]:
    """Lines of c1 and c2 as those of the clusters of a story."""
    return [f"{story}{line.removeprefix('c')}" for line in lines]


def trained(folder: Path, story: str) -> Path:
    """What a trainer tells of a story's first job, which calls the cluster otherwise or not."""
    named = {"job_id": f"{story}1:17"} | ({"cluster": "C-ONE"} if story == "event" else {})
    return write_dump(
        folder / f"{story}.jsonl",
        [
            {**named, "ts": "2026-03-01T10:00:10Z", "event": "attempt_start", "gpus": 8},
            {**named, "ts": "2026-03-01T11:50:00Z", "event": "alive"},
            {"job_id": f"z of {story}", "ts": "2026-03-01T20:55:00Z", "event": "alive"},
        ],
    )


def outcomes(warehouse: Path, story: str = "c") -> dict[str, str]:
    """Of a story's jobs, under the names that they would have on c1 and c2."""
    names = {f"{story}{cluster}:17": f"c{cluster}:17" for cluster in (1, 2)}
    found = rows(warehouse, "select job_id, outcome from attempts where job_id in ?", [list(names)])
    return {names[job]: outcome for job, outcome in found}


def assert_sound(warehouse: Path) -> None:
    """The facts are what a computation of all events gives."""
    assert 0 == keep.main(["check", "--warehouse", str(warehouse)])


def complete_days(warehouse: Path) -> list[str]:
    return [str(day) for (day,) in rows(warehouse, "select day from days where is_complete")]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_clusters_own_dumps_say_what_still_runs_on_it(
    grown: Grown, told: Told, at_once: bool
) -> None:
    running = {"c1:17": "running", "c2:17": "running"}
    if at_once:
        assert running == outcomes(grown.at_once)
        assert running == outcomes(told.warehouse, "at-once")
        assert 0 == told.checked
    else:
        assert running == outcomes(grown.both)
        assert_sound(grown.both)


def test_each_cluster_is_lost_by_its_own_dumps(told: Told) -> None:
    assert {"c1:17": "lost", "c2:17": "running"} == outcomes(told.warehouse, "next")


def test_a_day_is_complete_once_each_cluster_has_told_it(grown: Grown, tmp_path: Path) -> None:
    warehouse = copied(grown.at_once, tmp_path / "warehouse")
    ingest(warehouse, dump(tmp_path / "one.txt", [NEXT_MORNING.format(cluster="c2")]))
    of_one = complete_days(warehouse)
    ingest(warehouse, dump(tmp_path / "other.txt", [NEXT_MORNING.format(cluster="c1")]))

    assert ([], ["2026-03-01"]) == (of_one, complete_days(warehouse))


@pytest.mark.parametrize("order", ORDERS)
def test_clusters_that_one_dump_told_together_share_a_clock(
    told: Told, order: tuple[int, ...]
) -> None:
    assert {"c1:17": "lost", "c2:17": "running"} == outcomes(told.warehouse, ORDERS[order])
    assert 0 == told.checked


def test_a_dump_that_names_no_cluster_may_tell_of_any(grown: Grown, tmp_path: Path) -> None:
    warehouse = copied(grown.one, tmp_path / "warehouse")
    nameless = [line.split("|", 1)[1] for line in C2]
    ingest(warehouse, dump(tmp_path / "c2.txt", nameless, HEAD.split("|", 1)[1]))

    assert {"c1:17": "lost"} == outcomes(warehouse)


def test_that_clocks_become_one_is_said(
    grown: Grown, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse = copied(grown.at_once, tmp_path / "warehouse")
    nameless = [C1[1].split("|", 1)[1]]
    ingest(warehouse, dump(tmp_path / "nameless.txt", nameless, HEAD.split("|", 1)[1]))

    assert "share one from now on" not in grown.warned
    assert "clusters of slurm-sacct had clocks of their own, and share one" in caplog.text
    assert {"c1:17": "lost", "c2:17": "running"} == outcomes(warehouse)


def test_names_of_clusters_are_hostile_texts(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    names = ["c1", 'it\'s "c" + d', "<script>alert(1)</script>", "a\nb", "@", "é'); drop table x"]
    for number, name in enumerate(names):
        job = new(cluster=name, association={"account": "r", "cluster": name, "user": "u"})
        (tmp_path / f"{number}.json").write_text(document(job), encoding="utf-8")
    ingest(warehouse, *tmp_path.glob("*.json"))

    assert {f"slurm-json@{name}" for name in names} == {
        str(source) for source, *_ in sources(warehouse)
    }
    assert_sound(warehouse)


def test_a_rebuild_makes_the_clocks_anew(told: Told, tmp_path: Path) -> None:
    warehouse = copied(told.warehouse, tmp_path / "warehouse")
    ends = "select job_id, attempt, outcome from attempts order by all"
    with duckdb.connect(str(warehouse / "warehouse.duckdb")) as writer:
        writer.execute("delete from cluster_clocks")
    assert 0 == keep.main(["rebuild", "--warehouse", str(warehouse)])

    assert {"c1:17": "running", "c2:17": "running"} == outcomes(warehouse, "at-once")
    assert rows(told.warehouse, ends) == rows(warehouse, ends)
    assert_sound(warehouse)


def test_a_dump_with_one_row_of_no_cluster_may_tell_of_any(grown: Grown, tmp_path: Path) -> None:
    warehouse = copied(grown.one, tmp_path / "warehouse")
    ingest(warehouse, dump(tmp_path / "c2.txt", [*C2, C2[0].replace("c2|17", "|18")]))

    assert {"c1:17": "lost", "c2:17": "running"} == outcomes(warehouse)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(("hour", "outcome"), HOURS.items())
def test_as_of_moves_the_clusters_of_the_dumps_that_it_is_given_with(
    told: Told, hour: int, outcome: str, is_known: bool
) -> None:
    story = GIVEN[hour, is_known]

    assert {"c1:17": outcome, "c2:17": "running"} == outcomes(told.warehouse, story)
    assert 0 == told.checked


@pytest.mark.parametrize("is_first", [False, True])
def test_an_empty_dump_tells_of_no_cluster(
    grown: Grown, told: Told, tmp_path: Path, is_first: bool
) -> None:
    """Of one cluster it says up to its moment that nothing happened; with two, not on which."""
    running = {"c1:17": "running", "c2:17": "running"}
    if not is_first:
        assert running == outcomes(told.warehouse, "empty")
        assert 0 == told.checked
        return
    warehouse = copied(grown.one, tmp_path / "warehouse")
    ingest(warehouse, dump(tmp_path / "empty.txt", []), "--as-of", "2026-03-01T19:00:00Z")
    assert {"c1:17": "lost"} == outcomes(warehouse)
    ingest(warehouse, grown.dumps[1])

    assert running == outcomes(warehouse)
    assert_sound(warehouse)


@pytest.mark.parametrize("cut", ["", "c1"])
def test_a_half_row_of_another_cluster_is_taken_back_with_its_clock(
    tmp_path: Path, cut: str
) -> None:
    warehouse = tmp_path / "warehouse"
    head = HEAD.removeprefix("Cluster|") + "|Cluster"
    one, other = C1[0].removeprefix("c1|"), C2[0].removeprefix("c2|")
    growing = [f"{other}|c12", f"{other.replace('17', '18', 1)}|"]
    ingest(warehouse, dump(tmp_path / "c1.txt", [f"{one}|c1"], head))
    (tmp_path / "c12.txt").write_text("\n".join([head, *growing]) + cut, encoding="utf-8")
    ingest(warehouse, tmp_path / "c12.txt")
    before = outcomes(warehouse)
    (tmp_path / "c12.txt").write_text("\n".join([head, *growing]) + "c12\n", encoding="utf-8")
    ingest(warehouse, tmp_path / "c12.txt")

    assert {"c1:17": "lost"} == before
    assert {"c1:17": "running"} == outcomes(warehouse)
    assert_sound(warehouse)


def test_what_an_as_of_said_of_a_dump_holds_when_it_has_grown(told: Told) -> None:
    assert {"c1:17": "lost", "c2:17": "running"} == outcomes(told.warehouse, "grows")
    assert 0 == told.checked


@pytest.mark.parametrize("named", TRAINERS)
def test_what_a_trainer_calls_the_cluster_changes_no_clock(told: Told, named: str) -> None:
    assert {"c1:17": "running", "c2:17": "running"} == outcomes(told.warehouse, named)
    assert 0 == told.checked


def test_a_cluster_whose_times_are_ahead_does_not_creep_on_with_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = tmp_path / "warehouse"
    ahead = C1[1].replace("|16|", "|15|").replace("T11:00:00", "T23:30:00")
    earlier = C2[0].replace("|17|", "|15|").replace("T20:", "T11:")
    for hour, lines in ((12, [C1[0], ahead]), (13, [earlier]), (21, C2)):
        now = datetime(2026, 3, 1, hour, 5, tzinfo=UTC)
        moment = Moment(now.replace(tzinfo=None), microseconds(now + timedelta(days=1)), None)
        monkeypatch.setattr(cli, "_moment", lambda _, moment=moment: moment)
        ingest(warehouse, dump(tmp_path / f"{hour}.txt", lines))

    assert {"c1:17": "running", "c2:17": "running"} == outcomes(warehouse)


def test_a_cluster_with_a_clock_is_a_source(grown: Grown, tmp_path: Path) -> None:
    of_one = sources(grown.one)
    warehouse = copied(grown.both, tmp_path / "warehouse")
    of_two = sources(warehouse)
    broken = dump(tmp_path / "broken.txt", ["c1|18|RUNNING|yesterday|yesterday|Unknown|1|"])
    ingest(warehouse, broken)
    of_none = sources(warehouse)
    by_name = dump(tmp_path / "by-name.txt", [NEXT_MORNING.format(cluster="c1")])
    ingest(warehouse, by_name, "--cluster", "c1")

    assert [("slurm-sacct", None, "12:00", 8, 0)] == of_one
    c2 = ("slurm-sacct@c2", "c2", "21:00", 4, 0)
    assert [("slurm-sacct@c1", "c1", "12:00", 8, 0), c2] == of_two
    assert [("slurm-sacct", None, None, 0, 1), *of_two] == of_none
    assert [("slurm-sacct@c1", "c1", "08:00", 12, 0), c2] == sources(warehouse)[1:]
    assert [("slurm-sacct", 1)] == rows(warehouse, "select source, lines from rejected_by_source")


def test_clusters_that_share_a_clock_are_one_source(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    both = dump(tmp_path / "both.txt", [C1[1], C2[0]])
    third = dump(tmp_path / "third.txt", [NEXT_MORNING.format(cluster="c3")])

    ingest(warehouse, both, third)

    assert [
        ("slurm-sacct@c1+c2", "c1+c2", "21:00", 8, 0),
        ("slurm-sacct@c3", "c3", "08:00", 4, 0),
    ] == sources(warehouse)


def sources(warehouse: Path) -> list[tuple[object, ...]]:
    return rows(
        warehouse,
        "select source, cluster, strftime(data_at, '%H:%M'), events, rejected from sources",
    )


def test_what_was_loaded_with_its_cluster_stands_apart_as_ever(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    one, other = of_both(tmp_path)
    ingest(warehouse, one, "--cluster", "c1")
    ingest(warehouse, other)

    assert {"c1:17": "running", "c2:17": "running"} == outcomes(warehouse)


def test_native_events_of_several_clusters_share_a_clock(tmp_path: Path) -> None:
    """A piece of such a dump may hold the steps of a job whose cluster stands in another piece."""
    warehouse = tmp_path / "warehouse"
    for cluster, begins in (("c1", 1_772_355_600), ("c2", 1_772_388_000)):
        of = {"job_id": f"{cluster}:17", "attempt": 1, "cluster": cluster}
        event = {**of, "ts": begins, "event": "attempt_start", "gpus": 8}
        ingest(warehouse, write_dump(tmp_path / f"{cluster}.jsonl", [event]))

    assert {"c1:17": "lost", "c2:17": "running"} == outcomes(warehouse)
