"""Tables of sacct in every dialect: the events of their rows, and the lines that are set aside."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from ingest.collectors.base import Dump, Line, Reading
from ingest.collectors.slurm import SLURM_SACCT
from ingest.collectors.slurm_columns import COMMAND
from ingest.errors import UnreadableDump
from ingest.events import Event, Reason, Rejected, Says

DUMPS = Path(__file__).resolve().parents[2] / "sample_data" / "dumps" / "slurm"
QUIET = DUMPS / "snap2_quiet"
RUNNING = DUMPS / "snap1_running"
ALL_ATTEMPTS = (
    "sacct_D_P_admin.txt",
    "sacct_D_P_ALL.txt.gz",
    "sacct_D_X_P_epoch.txt",
    "sacct_D_X_P_TZ_LosAngeles.txt",
    "sacct_D_us_X.txt",
    "sacct_D_p_trailing_pipe.txt",
    "sacct_D_columns_truncated.txt",
)
WITHOUT_GPUS = ("sacct_D_p_trailing_pipe.txt", "sacct_D_columns_truncated.txt")

MINUTE_US = 60_000_000
SUBMIT = "2026-11-20T05:00:00"
START = "2026-11-20T05:10:00"
END = "2026-11-20T05:30:00"
SUBMIT_US = 1_795_150_800_000_000
START_US = SUBMIT_US + 10 * MINUTE_US
END_US = SUBMIT_US + 30 * MINUTE_US
HEADER = "JobID|JobName|Comment|State|ExitCode|Submit|Start|End"


@pytest.mark.parametrize("dialect", ALL_ATTEMPTS)
def test_every_dialect_gives_the_seconds_of_the_accounting_database(dialect: str) -> None:
    seconds = seconds_by_team(quiet(dialect))

    assert golden("elapsed_s_sum") == seconds


@pytest.mark.parametrize("dialect", [name for name in ALL_ATTEMPTS if name not in WITHOUT_GPUS])
def test_dialects_with_gpus_give_the_gpu_seconds_of_the_accounting_database(dialect: str) -> None:
    assert golden("gpu_seconds") == gpu_seconds_by_team(quiet(dialect))


@pytest.mark.parametrize("dialect", ALL_ATTEMPTS)
def test_every_dialect_has_the_preempted_rows_of_the_accounting_database(dialect: str) -> None:
    told = quiet(dialect)
    teams = {row(event): event["team"] for event in of(told, "job")}
    preempted = Counter(
        teams[row(event)] for event in of(told, "attempt_end") if event["outcome"] == "preempted"
    )

    assert golden("preempted_rows") == preempted


@pytest.mark.parametrize("dialect", ALL_ATTEMPTS)
def test_only_a_failed_prolog_counts_as_started_for_the_accounting_database(dialect: str) -> None:
    told = quiet(dialect)
    teams = {row(event): event["team"] for event in of(told, "job")}
    started = Counter(teams[row(event)] for event in of(told, "attempt_start"))
    expected = golden("started_rows")
    expected["nlp"] -= 1  # job 1128, first row

    assert expected == started


@pytest.mark.parametrize("dialect", ALL_ATTEMPTS)
def test_no_line_of_a_real_dump_is_set_aside(dialect: str) -> None:
    assert [] == [event for event in read(QUIET / dialect, zone(dialect)) if is_rejected(event)]


def test_dumps_of_the_same_columns_give_the_same_events_whatever_delimiter_zone_or_epoch() -> None:
    zoned, epochs = quiet("sacct_D_X_P_TZ_LosAngeles.txt"), quiet("sacct_D_X_P_epoch.txt")
    # printed although it never became eligible
    separated = [e for e in quiet("sacct_D_us_X.txt") if e["job_id"] != "fleet:1001"]

    assert zoned == epochs
    # with 0x1f no pipe is in doubt: job 1091's texts are as its owner wrote them
    assert same_but_texts(zoned) == same_but_texts(separated)


def test_steps_give_no_events() -> None:
    with_steps, without = quiet("sacct_D_P_admin.txt"), quiet("sacct_D_X_P_epoch.txt")

    assert Counter(map(row, without)) == Counter(map(row, with_steps))


@pytest.mark.parametrize("dialect", ALL_ATTEMPTS)
@pytest.mark.parametrize("job", ["1007", "1017", "1021"])
def test_a_job_with_a_step_out_of_memory_is_out_of_memory(dialect: str, job: str) -> None:
    (end,) = (e for e in of(quiet(dialect), "attempt_end") if e["job_id"].split(":")[-1] == job)

    assert ("failed", "host/host_oom") == (end["outcome"], end["category"])
    assert "signal" not in end


def test_a_pipe_in_a_job_name_moves_nothing() -> None:
    (job,) = jobs(quiet("sacct_D_P_admin.txt"), "fleet:1091")

    assert "weird|name,with;stuff `q`" == job["name"]
    assert ("bob", "vision", "normal", 1) == (
        job["user"],
        job["team"],
        job["priority"],
        job["gpus"],
    )


@pytest.mark.parametrize("limit", ["60", "UNLIMITED", "Partition_Limit"])
def test_a_pipe_in_the_name_of_a_job_whose_limit_is_no_number_moves_nothing(limit: str) -> None:
    header = "JobID|JobName|QOS|Start|End|State|Submit|TimelimitRaw"
    (job,) = of(table(header, f"1|a|b|normal|Unknown|Unknown|PENDING|{SUBMIT}|{limit}"), "job")

    assert ("a|b", "normal") == (job["name"], job["priority"])


def test_a_text_of_which_no_end_is_certain_is_left_out() -> None:
    # the pipe may as well end Comment and be part of SystemComment
    (job,) = jobs(quiet("sacct_D_P_admin.txt"), "fleet:1091")

    assert "Comment" not in attrs(job)
    assert "gpu-node07" == attrs(job)["NodeList"]


@pytest.mark.parametrize("dialect", ["sacct_D_P_admin.txt", "sacct_D_us_X.txt"])
def test_a_line_break_in_a_comment_breaks_no_row(dialect: str) -> None:
    (job,) = jobs(quiet(dialect), "fleet:1092")

    assert "line1\nline2" == attrs(job)["Comment"]


def test_rows_that_never_ran_are_jobs_that_waited() -> None:
    told = quiet("sacct_D_us_X.txt")
    started = {row(event) for event in of(told, "attempt_start")}
    never = {row(event) for event in told} - started

    assert {"fleet:1001", "fleet:1006", "fleet:1016", "fleet:1023", "fleet:1128"} == {
        job for job, _ in never
    }
    assert {"job", "phase_start"} == {e["event"] for e in told if row(e) in never}


@pytest.mark.parametrize(
    ("state", "nodes", "kinds"),
    [
        ("FAILED", "None assigned", []),  # srun --immediate, where nothing is free
        ("DEADLINE", "None assigned", []),
        ("FAILED", "n1", ["attempt_start", "attempt_end"]),
        ("DEADLINE", "n1", ["attempt_start", "attempt_end"]),
    ],
)
def test_a_row_of_no_length_ran_only_if_it_was_given_nodes(
    state: str, nodes: str, kinds: list[str]
) -> None:
    told = table(
        "JobID|State|ExitCode|Submit|Start|End|NodeList",
        f"1|{state}|1:0|{SUBMIT}|{START}|{START}|{nodes}",
    )

    assert ["job", "phase_start", *kinds] == [event["event"] for event in told]
    assert START_US == told[1]["end_us"]


@pytest.mark.parametrize("state", ["REQUEUED", "FAILED", "NODE_FAIL"])
def test_a_prolog_that_failed_at_once_is_no_attempt(state: str) -> None:
    # since 24.11 the row has slurmd's error 4022 in the place of a signal
    told = table(
        "JobID|State|ExitCode|Submit|Start|End|NodeList",
        f"1|{state}|0:54|{SUBMIT}|{START}|{START}|n2",
        f"2|{state}|0:54|{SUBMIT}|{START}|{END}|n2",
    )

    assert ["2", "2"] == [e["job_id"] for e in told if e["event"].startswith("attempt")]


@pytest.mark.parametrize("read_rows", [SLURM_SACCT.read, SLURM_SACCT.read_many])
def test_a_row_that_ended_on_nodes_without_a_start_ran_for_nobody_knows_how_long(
    read_rows: Callable[[Dump, Reading], Iterator[Any]],
) -> None:
    text = f"""JobID|State|Submit|Start|End|NodeList
1|REQUEUED|{SUBMIT}|None|{END}|n1
2|REQUEUED|{SUBMIT}|None|{END}|None assigned
3|CANCELLED|{SUBMIT}|None|{END}|n1"""
    told = list(read_rows(dump_of(text), reading()))
    alone, many = (
        [t for t in told if isinstance(t, dict)],
        [frame for frame in told if isinstance(frame, pl.DataFrame)],
    )
    waits = [(e["job_id"], e["event"]) for e in alone] + [
        row for frame in many for row in frame.select("job_id", "event").rows()
    ]
    (aside,) = [t for t in told if isinstance(t, Rejected)]

    assert {("1", "job"), *((job, kind) for job in "23" for kind in ("job", "phase_start"))} == set(
        waits
    )
    assert "REQUEUED on n1, but without a Start: what it ran is not counted" == aside.detail


def test_a_requeued_row_with_an_exit_code_leaves_its_cause_to_the_code() -> None:
    ends = of(quiet("sacct_D_P_admin.txt"), "attempt_end")
    requeued = {
        (e["job_id"], e.get("exit_code"), e.get("category"))
        for e in ends
        if e["row_state"] == "REQUEUED"
    }

    assert {
        ("fleet:1011", 42, None),
        ("fleet:1016", 42, None),
        ("fleet:1023", 43, None),
        ("fleet:1024", 0, "scheduler/requeued"),
        ("fleet:1025", 0, "scheduler/requeued"),
        ("fleet:1090", 1, None),
        ("fleet:1102", 0, "scheduler/requeued"),
        ("fleet:1104", 0, "scheduler/requeued"),
    } == requeued


def test_suspended_seconds_come_from_their_column_or_from_what_elapsed_lacks() -> None:
    dialects = ("sacct_D_P_admin.txt", "sacct_D_p_trailing_pipe.txt")
    suspended = [
        (e["job_id"].split(":")[-1], e["suspended_us"])
        for dialect in dialects
        for e in quiet(dialect)
        if "suspended_us" in e
    ]

    assert [("1022", 10_000_000), ("1022", 10_000_000)] == suspended


def test_a_row_that_resizes_is_alive_at_its_end() -> None:
    told = [e for e in quiet("sacct_D_P_admin.txt") if e["job_id"] == "fleet:1018"]
    last = [(e["row_state"], e["event"]) for e in told if e["event"] in ("alive", "attempt_end")]

    assert [("RESIZING", "alive"), ("COMPLETED", "attempt_end")] == last


def test_running_jobs_are_alive_at_their_start_and_elapsed_time() -> None:
    told = plain(read(RUNNING / "sacct_D_P_admin.txt"))
    (start,) = (e for e in of(told, "attempt_start") if e["job_id"] == "fleet:1129")
    (alive,) = (e for e in of(told, "alive") if e["job_id"] == "fleet:1129")

    assert 78_000_000 == alive["at_us"] - start["at_us"]
    assert "RUNNING" == alive["row_state"]


def test_without_raw_ids_tasks_and_components_keep_apart() -> None:
    ids = {event["job_id"] for event in quiet("sacct_D_p_trailing_pipe.txt")}

    assert {"1003_3", "1003_11", "1009+0", "1009+1"} <= ids


def test_a_row_tells_who_waited_how_long_and_how_it_ended() -> None:
    dump = table(
        "Cluster|JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|ExitCode|Submit|Start|End"
        "|AllocTRES|NodeList|Reason",
        f"fleet|7_3|12|llm|ann|ranking|train|high|FAILED|3:0|{SUBMIT}|{START}|{END}"
        "|billing=8,gres/gpu:h100=16,gres/gpu=16|n[1-2]|NonZeroExitCode",
    )
    of_row = {
        "job_id": "fleet:12",
        "row_key": str(SUBMIT_US // 1_000_000),
        "row_submitted_us": SUBMIT_US,
        "row_state": "FAILED",
    }

    assert [
        {
            "at_us": SUBMIT_US,
            "event": "job",
            "name": "llm",
            "user": "ann",
            "team": "ranking",
            "partition": "train",
            "priority": "high",
            "cluster": "fleet",
            "gpus": 16,
            "gpu_type": "h100",
            "attrs": '{"JobID": "7_3", "NodeList": "n[1-2]", "Reason": "NonZeroExitCode"}',
            **of_row,
        },
        {
            "at_us": SUBMIT_US,
            "end_us": START_US,
            "event": "phase_start",
            "phase": "queue",
            **of_row,
        },
        {"at_us": START_US, "event": "attempt_start", "gpus": 16, **of_row},
        {
            "at_us": END_US,
            "event": "attempt_end",
            "outcome": "failed",
            "exit_code": 3,
            "message": "NonZeroExitCode",
            **of_row,
        },
    ] == list(dump)


@pytest.mark.parametrize(
    ("state", "exit_code", "outcome", "category"),
    [
        ("COMPLETED", "0:0", "completed", None),
        ("FAILED", "1:0", "failed", None),
        ("PREEMPTED", "0:0", "preempted", "scheduler/preempted"),
        ("NODE_FAIL", "0:0", "failed", "scheduler/node_fail"),
        ("BOOT_FAIL", "0:0", "failed", "host/host_kernel_or_reboot"),
        ("OUT_OF_MEMORY", "0:125", "failed", "host/host_oom"),
        ("FAILED", "0:125", "failed", "host/host_oom"),
        ("TIMEOUT", "0:0", "timeout", "scheduler/time_limit"),
        ("DEADLINE", "0:0", "timeout", "scheduler/time_limit"),
        ("REQUEUED", "0:0", "failed", "scheduler/requeued"),
        ("REQUEUED", "0:9", "failed", None),
        ("CANCELLED", "0:0", "cancelled", None),
        ("CANCELLED by 0", "0:0", "cancelled", None),
        ("CANCELLED+", "0:0", "cancelled", None),
    ],
)
def test_a_state_says_how_a_row_ended(
    state: str, exit_code: str, outcome: str, category: str | None
) -> None:
    (end,) = of(table(HEADER, f"1|a||{state}|{exit_code}|{SUBMIT}|{START}|{END}"), "attempt_end")

    assert (outcome, category) == (end["outcome"], end.get("category"))


@pytest.mark.parametrize(
    ("told", "code", "signal"),
    [
        ("3:0", 3, None),
        ("0:15", None, 15),
        ("0:0", 0, None),
        ("0:125", None, None),
        ("", None, None),
    ],
)
def test_an_exit_code_is_a_code_or_a_signal_or_nothing(
    told: str, code: int | None, signal: int | None
) -> None:
    (end,) = of(table(HEADER, f"1|a||FAILED|{told}|{SUBMIT}|{START}|{END}"), "attempt_end")

    assert (code, signal) == (end.get("exit_code"), end.get("signal"))


@pytest.mark.parametrize(
    ("told", "derived", "code"),
    [
        ("127:0", "0:0", None),  # 127 or 255
        ("126:0", "", None),  # 126 or 254
        ("127:0", "255:0", 255),
        ("9:0", "137:0", 137),
        ("127:0", "127:0", 127),
        ("9:0", "0:0", 9),  # as it was told: 9 proves nothing, and 137 is not said
        ("3:0", "131:1", 131),
        ("0:9", "128:0", None),
    ],
)
def test_a_table_that_takes_128_off_an_exit_code_is_believed_where_the_derived_one_tells(
    told: str, derived: str, code: int | None
) -> None:
    row = f"1|FAILED|{told}|{derived}|{SUBMIT}|{START}|{END}"
    (end,) = of(table("JobID|State|ExitCode|DerivedExitCode|Submit|Start|End", row), "attempt_end")

    assert code == end.get("exit_code")


def test_a_table_of_a_release_that_tells_exit_codes_whole_is_believed() -> None:
    header = "JobID|OriginalSLUID|State|ExitCode|Submit|Start|End"
    (end,) = of(
        table(header, f"1|sAC5M8PHEQSY00|FAILED|127:0|{SUBMIT}|{START}|{END}"), "attempt_end"
    )

    assert 127 == end["exit_code"]


def test_a_code_that_is_not_believed_still_proves_that_a_row_of_no_length_ran() -> None:
    told = table(HEADER, f"1|a||FAILED|127:0|{SUBMIT}|{START}|{START}")

    assert ["job", "phase_start", "attempt_start", "attempt_end"] == [e["event"] for e in told]


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "SIGNALING"])
def test_live_states_end_nothing(state: str) -> None:
    told = table(
        "JobID|State|Submit|Start|End|Elapsed", f"1|{state}|{SUBMIT}|{START}|Unknown|00:05:00"
    )

    assert [START_US + 5 * MINUTE_US] == [event["at_us"] for event in of(told, "alive")]
    assert [] == of(told, "attempt_end")


@pytest.mark.parametrize("state", ["PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD"])
def test_a_waiting_row_is_an_open_queue(state: str) -> None:
    told = table(HEADER, f"1|a||{state}|0:0|{SUBMIT}|Unknown|Unknown")

    assert ["job", "phase_start"] == [event["event"] for event in told]
    assert "end_us" not in told[1]


def test_a_start_before_its_submission_waited_for_nothing() -> None:
    _, queue, *_ = table(HEADER, f"1|a||COMPLETED|0:0|{START}|{SUBMIT}|{END}")

    assert START_US == queue["at_us"] == queue["end_us"]


@pytest.mark.parametrize(
    ("columns", "cells", "gpus"),
    [
        ("AllocTRES", "cpu=8,gres/gpu=8,node=1", 8),
        ("AllocTRES", "cpu=8,gres/gpu:a100=4,gres/gpu:h100=2,node=1", 6),
        ("AllocTRES", "cpu=8,node=1", 0),
        ("AllocTRES", "cpu=8,gres/gpumem=80", 0),
        ("AllocTRES", "cpu=8,gres/gpumem=80,gres/shard=2", None),
        ("AllocTRES", "cpu=8,gres/gpu=1,gres/mps=50", 1),
        ("AllocTRES", "cpu=8,gres/gpu:a100_3g.20gb=2,gres/gpu=2", None),
        ("AllocTRES", "cpu=8,gres/gpu:a100=1,gres/gpu:nvidia_h100_80gb_hbm3_1g.10gb=1", None),
        ("AllocTRES", "", None),
        ("AllocTRES|ReqTRES", "|gres/gpu=8", None),
        ("AllocTRES|ReqTRES", "cpu=8,node=1|cpu=8,gres/gpu=8", None),
        ("AllocTRES|ReqTRES", "cpu=8,node=1|cpu=8,node=1", 0),
        ("AllocTRES|ReqGRES", "cpu=8,node=1|gpu:v100:2", None),
        ("AllocTRES|ReqGRES", "cpu=8,node=1|gpu:0", 0),
        ("AllocTRES|ReqGRES", "cpu=8,node=1|craynetwork:1", 0),
        ("AllocGRES", "gpu:h100:8", 8),
        ("AllocGRES", "gpu:4", 4),
        ("AllocGRES", "gpu:1080ti:4", 4),
        ("AllocGRES", "gpu:2g:2,gpu:2080ti:1(S:0,1)", 3),
        ("AllocGRES", "gpu:3g.40gb:2", None),
        ("AllocGRES", "7696487:4", 4),  # the letters of gpu as a number
        ("AllocGRES", "craynetwork:1", 0),
        ("AllocGRES", "", 0),
        ("AllocTRES|AllocGRES", "gres/gpu=2|", 2),
        ("AllocTRES|AllocGRES", "cpu=8,node=1|gpu:8", 8),
        ("NNodes", "1", None),
    ],
)
def test_gpus_are_what_a_row_held(columns: str, cells: str, gpus: int | None) -> None:
    told = table(f"JobID|State|Start|End|{columns}", f"1|COMPLETED|{START}|{END}|{cells}")

    assert [gpus] == [event.get("gpus") for event in of(told, "attempt_start")]


def test_of_slices_of_gpus_the_type_is_told_but_no_number() -> None:
    held = "gres/gpu:a100_3g.20gb=2,gres/gpu=2"
    (job, *_) = table("JobID|State|Start|End|AllocTRES", f"1|COMPLETED|{START}|{END}|{held}")

    assert (None, "a100_3g.20gb") == (job.get("gpus"), job["gpu_type"])


def test_a_row_that_never_ran_has_the_gpus_it_asked_for() -> None:
    told = table(
        "JobID|State|Submit|Start|End|AllocTRES|ReqTRES",
        f"1|PENDING|{SUBMIT}|Unknown|Unknown||cpu=8,gres/gpu:h100=64,gres/gpu=64",
    )

    assert 64 == told[0]["gpus"]


def test_a_row_that_never_ran_holds_no_resources_that_would_tell_its_gpus() -> None:
    (job, _) = table(
        "JobID|State|Submit|Start|End|AllocGRES", f"1|PENDING|{SUBMIT}|Unknown|Unknown|"
    )

    assert "gpus" not in job


def test_the_cluster_comes_from_its_column_else_from_the_user_else_from_nobody() -> None:
    line = f"1|COMPLETED|{START}|{END}"
    columns = "JobID|State|Start|End"

    assert "b:1" == table(f"{columns}|Cluster", f"{line}|b", cluster="a")[0]["job_id"]
    assert "a:1" == table(columns, line, cluster="a")[0]["job_id"]
    assert "1" == table(columns, line)[0]["job_id"]


@pytest.mark.parametrize(
    ("started", "ended", "elapsed", "minutes"),
    [
        ("2026-11-01T00:30:00", "2026-11-01T01:10:00", "00:40:00", 40),  # the first 01:10
        ("2026-11-01T00:30:00", "2026-11-01T01:10:00", "01:40:00", 100),  # the second
        ("2026-11-01T01:50:00", "2026-11-01T01:10:00", "00:20:00", 20),  # else it ends too early
        ("2026-11-01T01:50:00", "2026-11-01T02:10:00", "00:20:00", 20),
        ("2026-03-08T01:50:00", "2026-03-08T02:30:00", "00:40:00", 40),  # there is no 02:30
    ],
)
def test_the_clock_change_bends_no_duration(
    started: str, ended: str, elapsed: str, minutes: int
) -> None:
    told = table(
        "JobID|State|Start|End|Elapsed|Suspended",
        f"1|COMPLETED|{started}|{ended}|{elapsed}|00:00:00",
        timezone="America/New_York",
    )
    (start,), (end,) = of(told, "attempt_start"), of(told, "attempt_end")

    assert minutes * MINUTE_US == end["at_us"] - start["at_us"]


@pytest.mark.parametrize(
    ("row", "is_warned"),
    [
        ("COMPLETED|2026-11-01T01:10:00|2026-11-01T03:00:00|2026-11-01T04:00:00|01:00:00", True),
        ("COMPLETED|2026-11-01T01:10:00|2026-11-01T01:30:00|2026-11-01T01:50:00|00:20:00", True),
        ("PENDING|2026-11-01T01:10:00|Unknown|Unknown|00:00:00", True),
        # Elapsed tells
        ("COMPLETED|2026-11-01T00:10:00|2026-11-01T00:30:00|2026-11-01T01:10:00|01:40:00", False),
        ("COMPLETED|2026-11-01T02:10:00|2026-11-01T03:00:00|2026-11-01T04:00:00|01:00:00", False),
        ("COMPLETED|1793509800|1793516400|1793520000|01:00:00", False),
    ],
)
@pytest.mark.parametrize("read_rows", [SLURM_SACCT.read, SLURM_SACCT.read_many])
def test_local_times_that_can_mean_two_hours_are_warned_of(
    caplog: pytest.LogCaptureFixture,
    read_rows: Callable[[Dump, Reading], Iterator[object]],
    row: str,
    is_warned: bool,
) -> None:
    other = "2|COMPLETED|2026-10-30T01:10:00|2026-10-30T01:30:00|2026-10-30T02:30:00|01:00:00|"
    text = f"JobID|State|Submit|Start|End|Elapsed|Suspended\n1|{row}|\n{other}"

    assert list(read_rows(dump_of(text), reading(timezone="America/New_York")))

    warned = [record.getMessage() for record in caplog.records]
    assert is_warned == any("made.txt: 1 of its rows tell times in an hour" in w for w in warned)
    assert len(warned) == is_warned


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (f"1|a||BANANA|0:0|{SUBMIT}|{START}|{END}", Reason.BAD_VALUE, "State is 'BANANA'"),
        (f"1|a||FAILED|x|{SUBMIT}|{START}|{END}", Reason.BAD_VALUE, "ExitCode is 'x'"),
        (
            f"1|a||FAILED|1:0|{SUBMIT}|noon|{END}",
            Reason.BAD_TIMESTAMP,
            "Start is 'noon': no full date and time; SLURM_TIME_FORMAT=standard prints those",
        ),
        (
            f"1|a||FAILED|1:0|{SUBMIT}|0001-01-01T00:00:00|{END}",
            Reason.BAD_TIMESTAMP,
            "Start is '0001-01-01T00:00:00': outside the years 2000 to 2099",
        ),
        (
            f"1|a||FAILED|1:0|{SUBMIT}|{START}|9999-12-31T23:59:59",
            Reason.BAD_TIMESTAMP,
            "End is '9999-12-31T23:59:59': outside the years 2000 to 2099",
        ),
        (
            f"1|a||FAILED|1:0|{SUBMIT}|2026-13-01T00:00:00|{END}",
            Reason.BAD_TIMESTAMP,
            "Start is '2026-13-01T00:00:00': month must be in 1..12",
        ),
        (
            f"1|a||FAILED|1:0|{SUBMIT}|{START}|Unknown",
            Reason.MISSING_FIELD,
            "FAILED, but End is 'Unknown'",
        ),
    ],
)
def test_a_row_that_cannot_be_is_set_aside_with_its_reason(
    line: str, reason: Reason, detail: str
) -> None:
    good = f"2|b||COMPLETED|0:0|{SUBMIT}|{START}|{END}"
    rejected = [event for event in lines(HEADER, line, good) if is_rejected(event)]

    assert [Rejected(2, reason, detail, line)] == rejected


def test_a_line_that_is_not_utf8_is_set_aside_alone() -> None:
    good = f"2|b||COMPLETED|0:0|{SUBMIT}|{START}|{END}"
    told = list(SLURM_SACCT.read(dump_of(f"{HEADER}\n1|\udce9||\n{good}\n"), reading()))
    (rejected,) = (event for event in told if is_rejected(event))

    assert (2, Reason.NOT_UTF8) == (rejected.line_number, rejected.reason)
    assert {"2"} == {event["job_id"] for event in plain(told)}


def test_a_group_of_two_words_breaks_no_row() -> None:
    (job, *_) = table(
        "JobID|JobName|User|Group|Account|State|Start|End",
        f"1|a|b|ann|domain users|ads|FAILED|{START}|{END}",
    )

    assert ("a|b", "ann", "ads") == (job["name"], job["user"], job["team"])


def test_a_broken_row_that_proves_nothing_is_set_aside_line_by_line() -> None:
    good = f"2|b||COMPLETED|0:0|{SUBMIT}|{START}|{END}"
    told = lines(HEADER, good, "1|a|first", "second", "third")
    rejected = [event for event in told if is_rejected(event)]

    assert [3, 4, 5] == [line.line_number for line in rejected]
    assert ["1|a|first", "second", "third"] == [line.line for line in rejected]
    assert rejected[0].detail.startswith("where rows begin and end in lines 3 to 5 is not certain")
    assert "JobName, Comment or SubmitLine" in rejected[0].detail
    assert "without Comment and SubmitLine" in rejected[0].detail
    assert {"2"} == {event["job_id"] for event in plain(told)}


def test_line_breaks_and_pipes_in_one_text_are_put_together() -> None:
    told = lines(
        "JobID|User|State|Start|End|Comment|Cluster",
        f"1|ann|FAILED|{START}|{END}|x",
        "",
        "y|z|fleet",
    )

    assert [] == [event for event in told if is_rejected(event)]
    assert "x\n\ny|z" == attrs(plain(told)[0])["Comment"]


def test_lines_that_may_be_one_row_or_two_are_set_aside_together() -> None:
    # either row 1 lost its tail, or its JobName goes on with what looks like row 2
    good = f"3|c||COMPLETED|0:0|{SUBMIT}|{START}|{END}"
    told = lines(HEADER, "1|a|", f"2|b||FAILED|1:0|{SUBMIT}|{START}|{END}", good)

    assert [2, 3] == [event.line_number for event in told if is_rejected(event)]
    assert {"3"} == {event["job_id"] for event in plain(told)}


def test_nobody_forges_a_row_of_another_by_a_line_break_in_a_name() -> None:
    told = lines(HEADER, "1|", f"2|x||FAILED|1:0|{SUBMIT}|{START}|{END}")

    assert [2, 3] == [event.line_number for event in told if is_rejected(event)]
    assert [] == plain(told)


def test_line_ends_byte_order_marks_blank_lines_and_repeated_headers_do_not_matter() -> None:
    line = f"1|a||COMPLETED|0:0|{SUBMIT}|{START}|{END}"
    text = "\r\n".join(["\ufeff" + HEADER, line, "", HEADER, line.replace("1|", "2|", 1), ""])
    told = list(SLURM_SACCT.read(dump_of(text), reading()))

    assert SLURM_SACCT.recognises("x", text.encode())
    assert [] == [event for event in told if is_rejected(event)]
    assert {"1", "2"} == {event["job_id"] for event in plain(told)}


def test_tables_of_other_columns_may_follow_in_one_file() -> None:
    widths = f"{'-' * 12} {'-' * 10} {'-' * 19} {'-' * 19}"
    fixed = f"{'JobID':12} {'State':>10} {'Start':>19} {'End':>19} "
    cells = f"{'3':12} {'CANCELLED+':>10} {START:>19} {END:>19} "
    told = table(
        "JobID|State|Start|End",
        f"1|COMPLETED|{START}|{END}",
        "State|End|Start|JobID",
        f"FAILED|{END}|{START}|2",
        fixed,
        widths,
        cells,
    )

    assert [("1", "completed"), ("2", "failed"), ("3", "cancelled")] == [
        (event["job_id"], event["outcome"]) for event in of(told, "attempt_end")
    ]


@pytest.mark.parametrize("delimiter", ["|", "\x1f", "\t", ";", "^", "||", ","])
def test_the_header_shows_the_delimiter(delimiter: str) -> None:
    text = "\n".join([HEADER, f"1|a||FAILED|1:0|{SUBMIT}|{START}|{END}"]).replace("|", delimiter)
    told = plain(SLURM_SACCT.read(dump_of(text), reading()))

    assert SLURM_SACCT.recognises("x", text.encode())
    assert [END_US] == [event["at_us"] for event in of(told, "attempt_end")]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("JobID|JobName|State", "has no column Start, End"),
        ("JobID,State,Start,End,AllocTRES", "separates its columns with ','"),
        ("1|COMPLETED", "has no header of sacct"),
        ("", "has no header of sacct"),
        ("User|State|Submit|Start|End\nann|COMPLETED|1|1|1", "or with no column JobID?"),
    ],
)
def test_an_unusable_header_says_how_to_dump_again(header: str, said: str) -> None:
    with pytest.raises(UnreadableDump, match="Dump again: SLURM_TIME_FORMAT=%s sacct -a") as raised:
        table(header)

    assert said in str(raised.value)


def test_the_command_that_messages_name_is_the_one_that_the_docs_name() -> None:
    sources = Path(__file__).resolve().parents[2] / "docs" / "sources.md"

    assert f"`{COMMAND} > sacct.txt`" in sources.read_text(encoding="utf-8")


def test_an_unusable_header_behind_a_good_table_is_named_by_its_line() -> None:
    with pytest.raises(UnreadableDump) as raised:
        table(
            "JobID|State|Start|End",
            f"1|COMPLETED|{START}|{END}",
            "JobID|JobName|Partition|State|ExitCode",
        )

    assert str(raised.value).startswith("made.txt has no column Start, End in its line 3. ")


def test_a_dump_without_rows_is_fine() -> None:
    assert [] == table(HEADER)


@pytest.mark.parametrize("number", ["12345678_12+", "1234567+"])
def test_a_job_id_that_is_cut_off_is_no_identity(number: str) -> None:
    width = len(number)
    head = f"{'JobID':{width}} {'State':>10} {'Start':>19} {'End':>19} "
    dashes = f"{'-' * width} {'-' * 10} {'-' * 19} {'-' * 19} "
    told = lines(head, dashes, f"{number} {'COMPLETED':>10} {START:>19} {END:>19} ")

    assert ["JobID is cut off, ask for JobID%30 or JobIDRaw"] == [
        event.detail for event in told if is_rejected(event)
    ]


@pytest.mark.parametrize("time", ["14:04:01", "Ystday 14:04", "20 Nov 14:04", "2026-11-20T05:10"])
def test_a_time_of_another_form_says_which_is_read(time: str) -> None:
    (told,) = lines("JobID|State|Start|End", f"1|FAILED|{time}|{END}")

    assert isinstance(told, Rejected)
    assert Reason.BAD_TIMESTAMP == told.reason
    assert (
        f"Start is '{time}': no full date and time; SLURM_TIME_FORMAT=standard prints those"
        == told.detail
    )


def test_a_time_that_is_cut_off_says_what_to_ask_for() -> None:
    head = f"{'JobID':12} {'State':>10} {'Start':>10} {'End':>19} "
    dashes = f"{'-' * 12} {'-' * 10} {'-' * 10} {'-' * 19} "
    told = lines(head, dashes, f"{'1':12} {'COMPLETED':>10} 2026-11-2+ {END:>19} ")
    (rejected,) = (event for event in told if is_rejected(event))

    assert Reason.BAD_TIMESTAMP == rejected.reason
    assert rejected.detail.endswith("the column is too narrow, ask for %19")


def test_a_length_wider_than_its_column_pushes_what_follows_and_cuts_nothing() -> None:
    columns = (
        ("JobID", -12),
        ("CPUTime", 10),
        ("State", 10),
        ("Start", 19),
        ("End", 19),
        ("Elapsed", 10),
    )
    rows = (
        ("1", "37-14:00:00", "FAILED", "2026-11-01T05:30:00", END, "18-23:00:00"),
        ("2", "2-00:00:00", "COMPLETED", START, END, "00:20:00"),
    )
    told = lines(*fixed(columns, *rows))

    assert [] == [event for event in told if is_rejected(event)]
    assert [("1", "failed", 3600), ("2", "completed", 0)] == [
        (event["job_id"], event["outcome"], event.get("suspended_us", 0) // 1_000_000)
        for event in of(plain(told), "attempt_end")
    ]


def test_a_name_beyond_its_column_is_set_aside_with_what_to_ask_for() -> None:
    columns = ("JobID", -12), ("QOS", 6), ("State", 10), ("Start", 19), ("End", 19)
    (told,) = lines(*fixed(columns, ("1", "overlong", "FAILED", START, END)))

    assert isinstance(told, Rejected)
    assert told.detail.endswith("Dump again with -P")


def test_teams_that_are_cut_off_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    columns = (
        ("JobID", -12),
        ("Account", 10),
        ("JobName", 10),
        ("State", 10),
        ("Start", 19),
        ("End", 19),
    )
    whole = ("1", "nlp", "a-very-lo+", "FAILED", START, END)
    lines(*fixed(columns, whole))
    assert [] == caplog.records

    # research-nlp and research-vision
    rows = [(str(job), "research-+", "a", "FAILED", START, END) for job in (2, 3)]
    told = lines(*fixed(columns, whole, *rows))
    assert {"nlp", "research-+"} == {event["team"] for event in of(plain(told), "job")}
    (record,) = caplog.records
    assert "the account of 2 of its rows is cut off" in record.getMessage()


def test_the_state_of_a_narrow_column_must_be_the_only_one_that_begins_so() -> None:
    head = f"{'JobID':12} {'State':>5} {'Start':>19} {'End':>19} "
    dashes = f"{'-' * 12} {'-' * 5} {'-' * 19} {'-' * 19} "
    rows = [f"{'1':12} {cut} {START:>19} {END:>19} " for cut in ("COMP+", "FAIL+")]
    told = lines(head, dashes, *rows)

    assert [3] == [event.line_number for event in told if is_rejected(event)]
    assert ["failed"] == [event["outcome"] for event in of(plain(told), "attempt_end")]


@pytest.mark.parametrize("dialect", ALL_ATTEMPTS)
def test_it_recognises_its_own_dumps(dialect: str) -> None:
    assert SLURM_SACCT.recognises(dialect, head(QUIET / dialect))


@pytest.mark.parametrize(
    "text",
    [
        '{"ts": 1, "event": "job", "job_id": "JobID|State|Start|End"}',
        "job\ttag\tuser\taccount\tintended\tsacct_rows(DBIndex:State:ExitCode)\n1001\tx",
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User|Event|TRES\n",
        "-----\nTop 10 Users\n-----\nCluster|Login|Proper Name|Account|TRES Name|Used\n",
        "job_id,state,start,end\n1,FAILED,a,b\n",
        "# A page\n\nJobID | what it is\n",
        ":::MLLOG {}\n",
        "",
    ],
)
def test_it_does_not_take_other_texts_for_its_own(text: str) -> None:
    assert not SLURM_SACCT.recognises("x", text.encode())


def test_it_does_not_take_the_golden_answers_for_its_own() -> None:
    assert not SLURM_SACCT.recognises("golden_sql.json", head(QUIET / "golden_sql.json"))


@pytest.mark.real
def test_it_takes_nothing_else_of_the_real_dumps_for_its_own(real_logs: Path) -> None:
    others = [
        file
        for file in sorted(real_logs.rglob("*"))
        if file.is_file() and not file.name.startswith(("sacct_", "w_0"))
    ]
    taken = [file for file in others if SLURM_SACCT.recognises(file.name, head(file))]

    assert others
    assert [] == taken


@pytest.mark.real
def test_windows_of_one_history_give_rows_of_that_history(real_logs: Path) -> None:
    whole = {row(event) for event in quiet("sacct_D_P_admin.txt")}
    windows = sorted((real_logs / "slurm" / "windows").iterdir())
    told = [event for window in windows for event in plain(read(window))]

    assert whole == {row(event) for event in told} & whole
    assert {"job", "phase_start", "attempt_start", "attempt_end", "alive"} == {
        event["event"] for event in told
    }


def test_it_says_that_a_scheduler_knows_no_training() -> None:
    assert Says(training=False, saves=False, resumes=False) == SLURM_SACCT.says


# what a table is made of, and what is asked of its events


def table(*told: str, cluster: str | None = None, timezone: str = "UTC") -> list[Event]:
    return plain(lines(*told, cluster=cluster, timezone=timezone))


def fixed(columns: Sequence[tuple[str, int]], *rows: Sequence[str]) -> list[str]:
    """A table as sacct prints it without -P: left where a width is negative, and no cell cut."""
    widths = [width for _, width in columns]
    head = [name[: abs(width)] for name, width in columns]
    return [
        "".join(
            f"{cell:{'<' if width < 0 else '>'}{abs(width)}} "
            for cell, width in zip(row, widths, strict=True)
        )
        for row in (head, ["-" * abs(width) for width in widths], *rows)
    ]


def lines(*told: str, cluster: str | None = None, timezone: str = "UTC") -> list[Event | Rejected]:
    return list(SLURM_SACCT.read(dump_of("\n".join(told)), reading(cluster, timezone)))


def dump_of(text: str) -> Dump:
    raw = text.encode(errors="surrogateescape").removesuffix(b"\n")
    return Dump("made.txt", None, lambda: iter(enumerate(raw.split(b"\n"), 1)))


def reading(cluster: str | None = None, timezone: str = "UTC") -> Reading:
    return Reading(cluster, ZoneInfo(timezone))


def read(file: Path, timezone: str = "UTC") -> list[Event | Rejected]:
    return list(
        SLURM_SACCT.read(Dump(str(file), file, lambda: lines_of(file)), reading(None, timezone))
    )


def lines_of(file: Path) -> Iterator[Line]:
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    yield from enumerate(raw.removesuffix(b"\n").split(b"\n"), 1)


def head(file: Path) -> bytes:
    return b"\n".join(line for _, line in lines_of(file))[:65536]


def zone(dialect: str) -> str:
    return "America/Los_Angeles" if "LosAngeles" in dialect else "UTC"


def quiet(dialect: str) -> list[Event]:
    return plain(read(QUIET / dialect, zone(dialect)))


def plain(told: list[Event | Rejected] | Iterator[Event | Rejected]) -> list[Event]:
    return [event for event in told if not isinstance(event, Rejected)]


def is_rejected(event: Event | Rejected) -> bool:
    return isinstance(event, Rejected)


def of(told: list[Event], kind: str) -> list[Event]:
    return [event for event in told if event["event"] == kind]


def jobs(told: list[Event], job_id: str) -> list[Event]:
    return [event for event in of(told, "job") if event["job_id"] == job_id]


def row(event: Event) -> tuple[str, str]:
    return event["job_id"], event["row_key"]


def attrs(event: Event) -> dict[str, str]:
    return json.loads(event["attrs"])


def same_but_texts(told: list[Event]) -> list[Event]:
    return [event for event in told if event["event"] != "job" or "1091" not in event["job_id"]]


def golden(measure: str) -> dict[str, int]:
    answers = json.loads((QUIET / "golden_sql.json").read_text(encoding="utf-8"))
    return {team: told[measure] for team, told in answers["sacct_visible_by_account"].items()}


def seconds_by_team(told: list[Event]) -> dict[str, int]:
    return by_team(told, lambda start: 1)


def gpu_seconds_by_team(told: list[Event]) -> dict[str, int]:
    return by_team(told, lambda start: start["gpus"])


def by_team(told: list[Event], weight: Callable[[Event], int]) -> dict[str, int]:
    teams = {row(event): event["team"] for event in of(told, "job")}
    starts = {row(event): event for event in of(told, "attempt_start")}
    sums: dict[str, int] = defaultdict(int)
    for last in of(told, "attempt_end") + of(told, "alive"):
        start = starts[row(last)]
        length_us = last["at_us"] - start["at_us"] - last.get("suspended_us", 0)
        sums[teams[row(last)]] += length_us // 1_000_000 * weight(start)
    return dict(sums)
