"""`ett.toml`: every setting has a default, and a slip is told with its name."""

from __future__ import annotations

import logging.handlers
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from ingest import warehouse
from ingest.errors import UnusableArguments, WarehouseUnusable
from ingest.settings import Settings, like_pattern, read_settings
from ingest.warehouse import Storage
from tests.ingest.warehouses import ROOT, alive, differences, fleet, life, run
from tests.queries.engine import ingest, rows, write_dump


def written(folder: Path, text: str) -> Path:
    path = folder / "ett.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    settings = read_settings(tmp_path / "ett.toml")

    assert Settings() == settings
    assert {"fleet": 0.9} == settings.targets


def test_every_setting_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        timezone = "Europe/Berlin"
        stale_after_hours = 1.5
        [targets]
        ads = 1
        [exclude]
        partitions = ["debug*"]
        names = ["probe_?"]
        [storage]
        memory_limit = "1.5GB"
        temp_directory = "spill"
        """,
    )

    assert Settings(
        timezone="Europe/Berlin",
        stale_after=timedelta(minutes=90),
        targets={"fleet": 0.9, "ads": 1.0},
        excluded_partitions=("debug*",),
        excluded_names=("probe_?",),
        storage=Storage(memory_bytes=1_500_000_000, temp_directory=tmp_path / "spill"),
    ) == read_settings(path)


def test_a_folder_for_what_memory_does_not_hold_may_be_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = written(tmp_path, "[storage]\ntemp_directory = '~/spill'")

    assert tmp_path / "home" / "spill" == read_settings(path).storage.temp_directory


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timezone", "cannot be read"),
        ('timezone = "Mars"', "timezone 'Mars' is not known"),
        ('timezone = "Europe"', "timezone 'Europe' is not known"),
        ("timezone = 5", "timezone 5 is not known"),
        ('timezone = "localtime"', "timezone 'localtime' is not known"),
        ("stale_after_hours = 0", "must be a number of hours, a second at the least"),
        ("stale_after_hours = nan", "must be a number of hours, a second at the least"),
        ("stale_after_hours = inf", "must be a number of hours, a second at the least"),
        ("stale_after_hours = true", "must be a number of hours, a second at the least"),
        ('stale_after_hours = "6"', "must be a number of hours, a second at the least"),
        ("stale_after_hours = 1e-10", "must be a number of hours, a second at the least"),
        ("stale_after_hours = 9000", "a second at the least and 8760 (a year) at the most"),
        ("publish_every = 90000", "must be a number of seconds above 0, 86400 (a day) at most"),
        ("[price]\ngpu_hours = 2", "price.gpu_hours is no setting. Known: ['currency', "),
        ("unpacked_ratio = 0.5", "unpacked_ratio must be a number, 1 at the least"),
        ("targets = 0.9", "targets must be a table"),
        ("[targets]\nads = 90", "the target of 'ads' must be a ratio"),
        ("[targets]\nads = nan", "the target of 'ads' must be a ratio"),
        ("[targets]\nads = true", "the target of 'ads' must be a ratio"),
        ("[exclude]\npartitions = 'debug'", "exclude.partitions must be a list"),
        ("[exclude]\nnames = [1]", "exclude.names must be a list"),
        ("[exclude]\npartition = ['debug']", "exclude.partition is no setting. Known: ['names', "),
        ("[storage]\nmemory_limit = 4", "storage.memory_limit must be a size of 256MiB or more"),
        ("[storage]\nmemory_limit = '64MiB'", "storage.memory_limit must be a size"),
        ("[storage]\nmemory_limit = '80%'", "storage.memory_limit must be a size"),
        ("[storage]\ntemp_directory = 1", "storage.temp_directory must be a folder in quotes"),
        ('[storage]\ntemp_directory = "a\\u0000b"', "storage.temp_directory has a NUL (\\u0000)"),
        ("[storage]\nmemory = '1GiB'", "storage.memory is no setting. Known: ['memory_limit', "),
        ("[regressions]\nsla_days = 0", "regressions.sla_days must be a number above 0"),
        ("[regressions]\nsla_days = 0.5", "regressions.sla_days must be a whole number of days"),
        ("[regressions]\nsla_days = 1e300", "must be a whole number of days, 3650 at most"),
        (
            "[regressions]\nticket_gpu_hours = 300",
            "ticket_gpu_hours, 300, must not be above regressions.page_gpu_hours, 200.0",
        ),
        ("time_zone = 'UTC'", "'time_zone' is no setting. Known:"),
    ],
)
def test_a_slip_is_told_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UnusableArguments) as refusal:
        read_settings(written(tmp_path, text))

    assert said in str(refusal.value)
    assert "ett.toml" in str(refusal.value)


def test_a_file_that_is_no_text_or_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "ett.toml").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "ett.toml", tmp_path):
        with pytest.raises(UnusableArguments, match="cannot be read"):
            read_settings(path)


def test_the_engine_takes_no_more_than_the_settings_allow(tmp_path: Path) -> None:
    storage = Storage(memory_bytes=300 * 1024**2, temp_directory=tmp_path / "spill")
    given = set()
    for name in "ab":
        with warehouse.opened(tmp_path / name, print, 0, storage) as opened:
            given |= set(
                opened.connection.execute(
                    "select current_setting('memory_limit'), current_setting('temp_directory'), "
                    "current_setting('block_allocator_memory')"
                ).fetchall()
            )

    # two warehouses may spill at once
    assert {
        ("300.0 MiB", str(path), "262.5 MiB") for path in (tmp_path / "spill").iterdir()
    } == given
    assert 2 == len(given)


@pytest.mark.parametrize("named", ["/proc/x", "/dev/null", os.fsdecode(b"caf\xe9"), "dump"])
def test_a_temporary_directory_that_is_none_is_told_as_the_setting(
    tmp_path: Path, named: str
) -> None:
    (tmp_path / "dump").touch()
    storage = Storage(temp_directory=tmp_path / named)
    with (
        pytest.raises(WarehouseUnusable) as refusal,
        warehouse.opened(tmp_path / "warehouse", print, 0, storage),
    ):
        pass

    assert str(refusal.value).startswith(
        f"storage.temp_directory {tmp_path / named} cannot be used: "
    )


def test_the_engine_may_be_given_all_memory_that_there_is_and_more(tmp_path: Path) -> None:
    path = written(tmp_path, "[storage]\nmemory_limit = '999TiB'")
    done = run(
        tmp_path / "warehouse",
        write_dump(tmp_path / "dump.jsonl", life("a")),
        environment={"ETT_CONFIG": str(path)},
    )

    assert (0, "") == (done.status, done.err)


def test_events_that_carry_much_of_their_own_fit_in_less_memory_than_is_allowed_by_default(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "[storage]\nmemory_limit = '768MiB'")
    config = {"of the trainer": "x" * 8_000}
    events = [alive("a", second) | {"config": config} for second in range(2_500)]
    done = run(
        tmp_path / "warehouse",
        write_dump(tmp_path / "dump.jsonl", events),
        environment={"ETT_CONFIG": str(path)},
    )

    assert (0, "") == (done.status, done.err)


def test_the_command_ends_with_2_and_touches_nothing_where_a_setting_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "time_zone = 'UTC'")
    monkeypatch.setenv("ETT_CONFIG", str(path))
    status = ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", life("a")))
    out, err = capsys.readouterr()

    assert (2, "") == (status, out)
    assert f"ett-ingest: {path}: 'time_zone' is no setting." in err
    assert not (tmp_path / "warehouse").exists()


def test_a_settings_file_that_is_named_and_missing_is_not_taken_for_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "gone.toml"))
    status = ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", life("a")))

    assert 2 == status
    assert (
        f"ETT_CONFIG names {tmp_path / 'gone.toml'}, which does not exist."
        in capsys.readouterr().err
    )


def test_settings_behind_a_link_that_leads_nowhere_are_not_taken_for_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = write_dump(tmp_path / "dump.jsonl", life("a"))
    (tmp_path / "ett.toml").symlink_to("not-mounted/ett.toml")
    monkeypatch.chdir(tmp_path)
    status = ingest(tmp_path / "warehouse", dump)
    err = capsys.readouterr().err

    assert 2 == status, err
    assert "ett.toml is a link that leads nowhere. Mend it, or remove it" in err


def test_an_empty_variable_names_nothing(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.jsonl", life("a"))
    line = [sys.executable, "-m", "ingest.cli", dump]
    empty = {"ETT_CONFIG": "", "ETT_WAREHOUSE": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, cwd=tmp_path, env=os.environ | empty, capture_output=True)

    assert 0 == done.returncode, done.stderr
    assert {"dump.jsonl", "warehouse"} == set(os.listdir(tmp_path))


@pytest.mark.parametrize(
    ("pattern", "like"),
    [("debug*", "debug%"), ("a?c", "a_c"), ("50%_", "50\\%\\_"), ("back\\slash", "back\\\\slash")],
)
def test_a_shell_pattern_becomes_a_like_pattern(pattern: str, like: str) -> None:
    assert like == like_pattern(pattern)


def test_settings_that_change_between_ingests_hold_for_all_that_was_ingested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = fleet(61)
    later = written(tmp_path, 'timezone = "Asia/Tokyo"\nstale_after_hours = 1\n')
    changed, once = tmp_path / "changed", tmp_path / "once"
    ingest(changed, write_dump(tmp_path / "first.jsonl", events))
    monkeypatch.setenv("ETT_CONFIG", str(later))
    ingest(changed, write_dump(tmp_path / "second.jsonl", life("b")))
    ingest(once, write_dump(tmp_path / "all.jsonl", [*events, *life("b")]))

    assert {} == differences(once, changed)


def test_a_rule_of_ones_own_takes_off_the_list_the_last_message_that_none_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = {"event": "failure", "message": "glurp of 7"}
    told = [event | failure if event["event"] == "attempt_end" else event for event in life("a")]
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, write_dump(tmp_path / "a.jsonl", told))
    unmatched = "select count from unmatched_messages"
    assert [(1,)] == rows(warehouse, unmatched)

    rule = '[[failure_rule]]\nname = "ours"\ncategory = "network/dns"\npattern = "glurp of"\n'
    monkeypatch.setenv("ETT_CONFIG", str(written(tmp_path, rule)))
    ingest(warehouse, write_dump(tmp_path / "b.jsonl", life("b")))

    assert [] == rows(warehouse, unmatched)


def test_a_target_that_changes_is_published_though_no_dump_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = write_dump(tmp_path / "dump.jsonl", life("a"))
    ingest(tmp_path / "warehouse", dump)
    monkeypatch.setenv("ETT_CONFIG", str(written(tmp_path, "[targets]\nads = 0.5")))
    ingest(tmp_path / "warehouse", dump)

    assert [("ads", 0.5), ("fleet", 0.9)] == rows(tmp_path / "warehouse", "from targets")


@dataclass(frozen=True, slots=True)
class Tuned:
    """A warehouse of jobs of settings that do not all hold for one of them, and what is warned."""

    warehouse: Path
    warnings: list[str]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    folder = tmp_path_factory.mktemp("tuned")
    text = (
        "[targets]\nother = 0.5\nads = 0.5\nasd = 0.9\n"
        '[exclude]\npartitions = ["deb*", "debgu"]\nnames = ["smoke_?", "smokee"]'
    )
    told = [
        *life("a", partition="debug", name="smoke_1"),
        *life("b", team="ads"),
        *life("c", team="other"),
    ]
    warned = logging.handlers.BufferingHandler(capacity=1_000)
    logger = logging.getLogger("ingest")
    logger.addHandler(warned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETT_CONFIG", str(written(folder, text)))
        ingest(folder / "warehouse", write_dump(folder / "dump.jsonl", told))
    logger.removeHandler(warned)
    return Tuned(folder / "warehouse", [record.getMessage() for record in warned.buffer])


def test_a_target_of_a_team_really_called_other_is_not_that_of_the_small_teams(
    tuned: Tuned,
) -> None:
    assert [("fleet", 0.9), ("other (team)", 0.5)] == rows(
        tuned.warehouse,
        "select distinct team, targets.ett_ratio from targets join team_day using (team) "
        "where team <> 'ads' order by team",
    )


def test_a_target_that_holds_for_no_team_is_warned_of(tuned: Tuned) -> None:
    [warning] = [told for told in tuned.warnings if "targets" in told]
    assert "holds for nobody where it says 'asd':" in warning


def test_an_exclusion_that_matches_no_job_is_warned_of(tuned: Tuned) -> None:
    assert [
        "where its partitions say 'debgu': no job has such a one",
        "where its names say 'smokee': no job has such a one",
    ] == [
        told.removeprefix("[exclude] of ett.toml excludes nothing ")
        for told in tuned.warnings
        if "[exclude]" in told
    ]
