"""The dumps of a sample fleet: their bytes, sizes, days, broken lines and clones."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ingest.events import EventKind, Phase, Reason
from sample_data.cli import main
from sample_data.fleet import MOST_SIMULATED_EVENTS, cloning_for, of_size, simulated, write_fleet
from sample_data.planted import Effects, Kind, Planted, planted_regressions, roll_outs
from sample_data.rendering import Cloning
from sample_data.settings import QUIET_START_US, Settings
from sample_data.teams import fleet_teams
from sample_data.times import DAY, SECOND

LAST_DAY = date(2026, 3, 31)
SMALL = ["--end", "2026-03-31", "--days", "20", "--events", "8000"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small fleet; read it only."""
    folder = tmp_path_factory.mktemp("small")
    made(folder, *SMALL)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a broken line; read it only."""
    folder = tmp_path_factory.mktemp("whole")
    made(folder, *SMALL, "--broken", "0")
    return folder


def test_equal_flags_give_equal_bytes(small: Path, tmp_path: Path) -> None:
    first = files(small)

    assert first == made(tmp_path / "b", *SMALL)
    assert first != made(tmp_path / "c", *SMALL, "--seed", "8")


def test_what_is_no_day_is_refused_with_one_that_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path / "a"), "--end", "2026-13-01"])

    assert "'2026-13-01' is no day: write it as 2026-01-01" in capsys.readouterr().err


def test_two_writers_give_the_bytes_of_one(small: Path, tmp_path: Path) -> None:
    # a process of its own: it forks, which one with other threads must not
    two = [sys.executable, "-m", "sample_data", "--out", str(tmp_path / "b"), *SMALL]
    subprocess.run([*two, "--processes", "2"], check=True, capture_output=True, timeout=300)

    assert files(small) == files(tmp_path / "b")


@pytest.mark.parametrize(("compression", "extension"), [("gz", ".gz"), ("zst", ".zst")])
def test_compressed_dumps_hold_the_same_lines(
    compression: str, extension: str, small: Path, tmp_path: Path
) -> None:
    plain = files(small)
    packed = made(tmp_path / "packed", *SMALL, "--compress", compression)
    again = made(tmp_path / "again", *SMALL, "--compress", compression)
    unpack = gzip.decompress if compression == "gz" else unpacked
    dumps = {name: text for name, text in packed.items() if name.startswith("events-")}

    assert packed == again
    assert {name: text for name, text in plain.items() if name.startswith("events-")} == {
        name.removesuffix(extension): unpack(text) for name, text in dumps.items()
    }


@pytest.mark.parametrize("size", [5_000, 40_000])
def test_a_fleet_has_the_size_that_was_asked_for(size: int) -> None:
    fleet = of_size(size, Settings(LAST_DAY, days=30))

    assert pytest.approx(size, rel=0.1) == len(fleet)


def test_each_file_holds_its_day_in_time_order(whole: Path) -> None:
    days = {}
    for dump in sorted(whole.glob("events-*.jsonl")):
        times = [moment(each["ts"]) for each in lines(dump)]
        days[dump.name] = (times == sorted(times), {time.date().isoformat() for time in times})

    assert {f"events-2026-03-{day:02d}.jsonl" for day in range(12, 32)} == days.keys()
    assert {name: (True, {name[7:17]}) for name in days} == days


def test_the_dumps_use_every_kind_of_event_and_every_phase(tmp_path: Path) -> None:
    made(tmp_path, "--end", "2026-03-31", "--days", "30", "--events", "60000", "--broken", "0")
    told = [each for dump in tmp_path.glob("events-*.jsonl") for each in lines(dump)]

    assert set(EventKind) == {each["event"] for each in told}
    assert set(Phase) == {each["phase"] for each in told if "phase" in each}


def test_the_broken_lines_are_the_listed_ones(whole: Path, tmp_path: Path) -> None:
    made(tmp_path / "broken", *SMALL, "--broken", "0.02")
    truth = json.loads((tmp_path / "broken" / "truth.json").read_text(encoding="utf-8"))
    differ = [
        (dump.name, number)
        for dump in sorted(whole.glob("events-*"))
        for number, (good, now) in enumerate(
            zip(
                dump.read_bytes().splitlines(),
                (tmp_path / "broken" / dump.name).read_bytes().splitlines(),
                strict=True,
            ),
            start=1,
        )
        if good != now
    ]

    assert differ == [(each["file"], each["line"]) for each in truth["broken"]]
    assert pytest.approx(0.02, rel=0.3) == len(differ) / truth["lines"]
    assert {each["reason"] for each in truth["broken"]} <= set(Reason)


def test_a_broken_line_is_broken_in_the_way_it_says(tmp_path: Path) -> None:
    made(tmp_path, *SMALL, "--broken", "0.05")
    truth = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    told = {
        reason: [raw(tmp_path, each) for each in truth["broken"] if each["reason"] == reason]
        for reason in ("not_json", "not_utf8", "missing_field", "no_time_zone")
    }

    assert all(told.values())
    assert not any(is_json(line) for line in told["not_json"])
    assert not any(is_utf8(line) for line in told["not_utf8"])
    assert not any(
        {"ts", "event", "job_id"} <= json.loads(line).keys() for line in told["missing_field"]
    )
    assert all(moment(json.loads(line)["ts"]).tzinfo is None for line in told["no_time_zone"])


def test_a_fleet_without_regressions_lists_none_and_still_rolls_out(tmp_path: Path) -> None:
    made(tmp_path, *SMALL, "--no-regressions")
    truth = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))

    assert [] == truth["planted"]
    assert 6 == len(truth["changes"])


def test_one_roll_out_coincides_with_a_regression(small: Path) -> None:
    truth = json.loads((small / "truth.json").read_text(encoding="utf-8"))
    regressed = {(each["first_day"], each["rolled_out_with"]) for each in truth["planted"]}

    assert 1 == sum((each["day"], each["name"]) in regressed for each in truth["changes"])


def test_clones_share_no_id_and_stay_within_the_days(tmp_path: Path) -> None:
    fleet = of_size(4_000, Settings(LAST_DAY, days=10), (), roll_outs(10, fleet_teams(8)))
    once = write_fleet(fleet, tmp_path / "once")
    changes = 6
    cloning = Cloning(4, (QUIET_START_US - 2 * SECOND) // 4)
    thrice_more = write_fleet(fleet, tmp_path / "more", cloning=cloning)
    told = [each for dump in sorted((tmp_path / "more").glob("events-*")) for each in lines(dump)]

    assert {dump.file for dump in once} == {dump.file for dump in thrice_more}
    assert 4 * len(fleet) - 3 * changes == len(told)
    assert changes == sum(each["event"] == "change" for each in told)
    assert 4 * len(fleet.histories) == len({each["job_id"] for each in told if "job_id" in each})


def test_a_large_fleet_is_a_million_events_written_again_and_again() -> None:
    assert Cloning() == cloning_for(MOST_SIMULATED_EVENTS)
    assert 100 == cloning_for(100 * MOST_SIMULATED_EVENTS).copies
    assert cloning_for(100 * MOST_SIMULATED_EVENTS).shift_us * 100 < QUIET_START_US


def test_the_six_of_the_sample_fleet_begin_after_sixty_days() -> None:
    planted = planted_regressions(120, fleet_teams(8))

    assert set(Kind) == {each.kind for each in planted}
    assert all(60 <= each.first_day < 120 for each in planted)
    assert [Kind.MIX_SHIFT] == [each.kind for each in planted if not each.is_regression]


def test_a_short_fleet_has_no_room_for_regressions() -> None:
    assert () == planted_regressions(13, fleet_teams(8))


def test_a_planted_change_holds_from_its_first_to_its_last_day_for_its_team() -> None:
    slow = Planted(Kind.SLOWER_START, "feed", "trainer_init_seconds", None, 3, 4, 2.0, True)
    effects = Effects((slow,), begins_us=0)

    def factors(team: str) -> list[float]:
        return [effects.factor(Kind.SLOWER_START, team, day * DAY) for day in range(2, 6)]

    assert [1.0, 2.0, 2.0, 1.0] == factors("feed")
    assert [1.0, 1.0, 1.0, 1.0] == factors("ads")


def test_another_number_of_teams_brings_other_names() -> None:
    names = [team.name for team in fleet_teams(10)]

    assert 10 == len(set(names))
    assert ["ranking-2", "feed-2"] == names[8:]


def test_more_jobs_a_day_make_more_jobs() -> None:
    few, many = (
        len(simulated(Settings(LAST_DAY, days=10, jobs_per_day=each)).histories) for each in (5, 20)
    )

    assert pytest.approx(4, rel=0.5) == many / few


def test_a_size_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--out", "never", "--events", "0"])

    assert "0 is less than 1" in capsys.readouterr().err


def made(folder: Path, *flags: str) -> dict[str, bytes]:
    """Run the command and return every file it wrote."""
    assert 0 == main(["--out", str(folder), *flags])
    return files(folder)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def lines(dump: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dump.read_bytes().splitlines()]


def moment(ts: str | float) -> datetime:
    """UTC for a time with a zone; without one as it stands."""
    if not isinstance(ts, str):
        return datetime.fromtimestamp(ts, UTC)
    told = datetime.fromisoformat(ts)
    return told if told.tzinfo is None else told.astimezone(UTC)


def raw(folder: Path, broken: dict[str, Any]) -> bytes:
    dump: bytes = (folder / broken["file"]).read_bytes()
    return dump.splitlines()[int(broken["line"]) - 1]


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def unpacked(text: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(text)
