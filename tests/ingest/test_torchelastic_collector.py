"""The log of torchrun's agent: launches, generations and their ends, in every prefix it was written
with, and whatever is mixed into it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from ingest.collectors.torchelastic import TORCHELASTIC
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected, Says
from ingest.formats import FORMATS, recognise
from tests.ingest.torchelastic_dumps import (
    BEGUN,
    begins,
    events_of,
    fails,
    finishes,
    glog,
    lives,
    raised,
    since_begun,
    starts,
    table,
    told_of,
    written,
)

SERVER = "elastic/agent/server/api"
DIED = glog(60, SERVER, "Received 15 death signal, shutting down workers", level="W")
PREEMPTED = (
    "slurmstepd-node1: error: *** JOB 1153 ON node1 CANCELLED AT 2026-11-20T05:42:37 "
    "DUE TO PREEMPTION ***"
)
CANCELLED = PREEMPTED.replace(" DUE TO PREEMPTION", "")


def test_a_restart_ends_a_generation_and_begins_the_next(tmp_path: Path) -> None:
    log = [*begins(0), *starts(2), *fails(50, -9, left=3), *starts(52, restart=1), *finishes(90)]
    told = events_of(written(tmp_path, *log))

    assert [
        (0.0, "attempt_start", 0, None),
        (50.001, "attempt_end", 0, "failed"),
        (51.0, "attempt_start", 1, None),
        (92.0, "attempt_end", 1, "completed"),
    ] == lives(told)
    assert {("run-a", f"8489@{BEGUN}000000")} == {(e["job_id"], e["run_key"]) for e in told}
    assert Says(training=False, saves=True, resumes=True) == TORCHELASTIC.says


def fork_of(line: str, pid: str) -> str:
    """A line of torchrun's agent as ft_launcher has it, which writes lists without a head."""
    glog_of = r"([IWE])1120 (\S+)\.(\d{3})\d{3} \d+ torch/distributed/\S+\] (.*)"
    told = re.fullmatch(glog_of, line)
    assert told is not None
    level, clock, part, text = told.groups()
    names = {"I": "INFO", "W": "WARNING", "E": "ERROR"}
    head = f"[2026-11-20 {clock},{part}] [{names[level]}] [ft_launcher{pid}@n1.x] "
    return text if text[:2] in ("", "  ") else head + text


@pytest.mark.parametrize("pid", ["8489", ""])  # of releases 0.3 and 0.4, of 0.2
def test_a_fork_of_torchrun_is_read_as_torchrun(tmp_path: Path, pid: str) -> None:
    log = [*begins(0), *starts(2), *fails(50, -9, left=3, stops=30), *starts(52, restart=1)]
    log += finishes(90)
    told = events_of(written(tmp_path, *(fork_of(line, pid) for line in log), name="ft.log"))
    plain = events_of(written(tmp_path, *log))

    assert lives(plain) == lives(told)
    assert phases(plain) == phases(told)
    assert {"run-a"} == {event["job_id"] for event in told}
    path = tmp_path / "ft.log"
    assert FORMATS["torchelastic"] is recognise(path.name, path.read_bytes())


def test_a_fork_of_torchrun_that_keeps_to_warnings_begins_with_the_first(tmp_path: Path) -> None:
    head = "[2026-11-20 05:41:40,000] [WARNING] [ft_launcher@n1] "
    border = "*" * 41
    warning = [head, border, "Setting OMP_NUM_THREADS environment variable to be 1", border]
    log = [*warning, *(fork_of(line, "") for line in fails(50, -9))]

    assert [(3.0, "attempt_start", None, None), (50.0, "attempt_end", None, "failed")] == [
        (at, kind, None, outcome)
        for at, kind, _, outcome in lives(events_of(written(tmp_path, *log)))
    ]


def test_a_fork_of_torchrun_that_tells_no_rendezvous_begins_and_starts_workers_anew(
    tmp_path: Path,
) -> None:
    """As release 0.4 writes by default: what torchrun's own classes say of it is left out."""

    def says(clock: str, level: str, text: str) -> str:
        return f"[2026-11-20 05:{clock},000] [{level}] [ft_launcher8489@n1] {text}"

    def steps(*clocks: str) -> list[str]:
        return [
            f"2026-11-20 05:{clock},000 - INFO - step: {2 * number} loss: 2.1"
            for number, clock in enumerate(clocks, 1)
        ]

    log = [
        says("41:37", "INFO", "Using nproc_per_node=2."),
        says("41:38", "INFO", "Starting elastic_operator with launch configs:"),
        "  run_id           : run-a",
        "",
        says("41:38", "INFO", "[default] starting workers for entrypoint: python3"),
        says("41:39", "INFO", "The node 'n1_8489_0' has joined round 0 of the rendezvous 'run-a'."),
        *steps("41:57", "42:07", "42:17"),
        says(
            "42:27", "ERROR", "failed (exitcode: -9) local_rank: 0 (pid: 9001) of binary: python3"
        ),
        says("42:27", "INFO", "[default] Worker group UNHEALTHY. 2/2 attempts left; will restart "),
        says("42:27", "WARNING", "Sending process 9002 closing signal SIGTERM"),
        says("42:28", "INFO", "The node 'n1_8489_0' has joined round 1 of the rendezvous 'run-a'."),
        *steps("42:47", "42:57", "43:07", "43:17"),
        says("43:27", "INFO", "[default] worker group successfully finished. Waiting 300 seconds."),
    ]
    told = events_of(written(tmp_path, *log))

    assert [
        (0.0, "attempt_start", 0, None),
        (50.0, "attempt_end", 0, "failed"),
        (50.0, "attempt_start", 1, None),
        (110.0, "attempt_end", 1, "completed"),
    ] == lives(told)


def test_phases_go_from_the_launcher_to_the_trainer_that_is_not_seen_to_begin_training(
    tmp_path: Path,
) -> None:
    log = [*begins(0), *starts(2), *fails(50, -9, left=3), *starts(52, restart=1), *finishes(90)]

    assert [
        ("launcher_init", 0.0, 2.0, None),
        ("trainer_init", 2.0, None, 0),
        ("shutdown", 50.0, 50.001, None),
        ("launcher_init", 51.0, 52.0, None),
        ("trainer_init", 52.0, None, 0),
        ("shutdown", 90.0, 92.0, None),
    ] == phases(events_of(written(tmp_path, *log)))


@pytest.mark.parametrize("bar", ["", " 68%|###   | 27/40 [01:31<00:42,  3.27s/it]"])
@pytest.mark.parametrize("before", ["", "\r 65%|###   | 26/40 [01:28<00:45,  3.21s/it]\r"])
@pytest.mark.parametrize("label", ["", "[default1]:"])
def test_a_rank_that_raises_behind_the_bar_that_another_draws_is_the_root(
    tmp_path: Path, bar: str, before: str, label: str
) -> None:
    head, *frames = raised("RuntimeError: boom in the loop", "[rank1]: ")
    told = [label + line for line in (before + bar + head, *frames)]
    log = [*begins(0), *starts(2), *told, *fails(50, 1, local_rank=1)]
    end = ends(events_of(written(tmp_path, *log)))[0]

    assert "RuntimeError: boom in the loop" == end["message"].partition("\n")[0]


@pytest.mark.parametrize("stamp", ["", "2026-11-20T05:42:{}+0000 "])
@pytest.mark.parametrize("is_raised", [True, False])
def test_a_bar_that_torchruns_words_are_behind_moves_on_all_the_same(
    tmp_path: Path, stamp: str, is_raised: bool
) -> None:
    begin, saving, saved = (
        f"{stamp.format(at)}2026-11-20 05:42:{at} - INFO - accelerate - {said}"
        for at, said in (
            ("00,000", "***** Running training *****"),
            ("10,000", "Saving current state to /c/step_20"),
            ("12,000", "Random states saved in /c/step_20/random_states_0.pkl"),
        )
    )
    bar = "\r 23%|#   | 23/99 [00:01<00:42,  3.27s/it]\r 25%|#   | 25/99 [00:09<00:42,  3.27s/it]"
    died = fails(50, 1)[1]
    behind = raised("RuntimeError: boom", "[rank0]: ") if is_raised else [died]
    end = [bar + behind[0], *behind[1:], *([died] if is_raised else [])]
    log = [begin, saving, saved, *(stamp.format("27,000") + line for line in end)]
    told = events_of(written(tmp_path, *begins(0), *starts(2), *log))

    assert [33.0, 35.0] == [
        since_begun(event["at_us"]) for event in told if event.get("phase") == "checkpoint_save"
    ]


def test_the_signal_is_the_root_and_its_victim_is_told_beside_it(tmp_path: Path) -> None:
    log = [
        *begins(0),
        *starts(2),
        *raised("RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:59532"),
        *fails(50, -9, local_rank=1, left=3),
    ]
    told = events_of(written(tmp_path, *log))
    end = ends(told)[0]

    assert (9, "Signal 9 (SIGKILL) received by PID 9001") == (end["signal"], end["message"])
    assert [(0, None), (1, 9)] == [(e["rank"], e.get("signal")) for e in failures(told)]


@pytest.mark.parametrize(
    ("deaths", "root"),
    [
        (["own", "peer", -15], "ValueError: own"),
        (["peer", "own"], "ValueError: own"),
        (["peer", -15], "RuntimeError: NCCL"),
        (["own", -11], "Signal 11 (SIGSEGV)"),
        (["peer", -6], "Signal 6 (SIGABRT)"),
        ([-6, -9], "Signal 9 (SIGKILL)"),
        ([-15, 1], "failed (exitcode: 1)"),
        ([-15], "Signal 15 (SIGTERM)"),
    ],
)
def test_who_fell_first_goes_before_who_fell_with_it(
    tmp_path: Path, deaths: list[str | int], root: str
) -> None:
    raises = {"own": "ValueError: own", "peer": "RuntimeError: NCCL error, remote process exited"}
    entries = [
        (
            rank,
            death if isinstance(death, int) else 1,
            "2026-11-20_05:42:20",
            f"Traceback (most recent call last):\n    File x\n  {raises[death]}"
            if isinstance(death, str)
            else f"Signal {-death} received by PID 9000",
        )
        for rank, death in enumerate(deaths)
    ]
    log = [*begins(0), *starts(2), *fails(50, entries[0][1]), *table(*entries)]
    dump = written(tmp_path, *"\n".join(log).split("\n"))
    end = ends(events_of(dump))[0]

    assert root == end["message"][: len(root)]


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-11-20T05:42:00.123+0000 ",
        "2026-11-20T05:42:00.123456789Z ",
        "2026-11-20T05:42:00.123456789Z stderr F ",
        "[2026-11-20 05:42:00] ",
        "0: 2026-11-20T05:42:00.123+0000 ",
        "trainer-1  | ",
        "trainer-1  | 2026-11-20T05:42:00.123456789Z ",
        "(RayTrainWorker pid=71, ip=10.0.0.7) ",
        "(sky-cmd, pid=71) ",
        "(worker1, rank=1, pid=71, ip=10.0.0.7) ",
        "[pod/llm-worker-0/pytorch] ",
        "[pod/llm-worker-0/pytorch] 2026-11-20T05:42:00.123456789Z ",
        "n1: ",
    ],
)
@pytest.mark.parametrize("is_early", [True, False])
def test_a_pipe_that_puts_a_time_before_each_line_hides_no_cause(
    tmp_path: Path, stamp: str, is_early: bool
) -> None:
    said = "Traceback (most recent call last):\n    File x\n  ValueError: no shard"
    worker = raised("ValueError: no shard")
    early, late = (worker, []) if is_early else ([], worker)
    log = [*early, *begins(0), *starts(2), *late, *fails(50, 1)]
    log += table((0, 1, "2026-11-20_05:42:20", said))
    lines = "\n".join(log).split("\n")
    plain = events_of(written(tmp_path, *lines))
    told = events_of(written(tmp_path, *(stamp + line for line in lines), name="stamped.log"))

    assert "ValueError: no shard" == ends(plain)[0]["message"].splitlines()[0]
    assert [end["message"] for end in ends(plain)] == [end["message"] for end in ends(told)]
    assert lives(plain) == lives(told)


@pytest.mark.parametrize(
    ("stamp", "hours"),
    [
        ("2026-11-20T05:42:20.123-0800 ", 8),
        ("2026-11-20T05:42:20.123+05:30 ", -5.5),
        ("2026-11-20T05:42:20.123-0800 trainer-1  | ", 8),
        ("2026-11-20 05:42:20.123 ", 0),
        ("2026-11-20T06:05:00+0000 ", 0),  # what waited in a pipe for that long says no zone
    ],
)
def test_an_agent_is_in_the_zone_that_a_pipe_puts_before_its_lines(
    tmp_path: Path, stamp: str, hours: float, caplog: pytest.LogCaptureFixture
) -> None:
    log = [*begins(0), *starts(2), *fails(50, 1)]
    log += table((0, 1, "2026-11-20_05:42:20", "ValueError: no shard"))
    lines = "\n".join(log).split("\n")
    plain = lives(events_of(written(tmp_path, *lines)))
    caplog.clear()
    told = lives(
        events_of(written(tmp_path, *(stamp + line for line in lines), name="stamped.log"))
    )

    assert [(at + hours * 3600, *rest) for at, *rest in plain] == told
    assert "its times tell no year" not in caplog.text


@pytest.mark.parametrize("told", [(PREEMPTED, DIED), (DIED, PREEMPTED)])
@pytest.mark.parametrize("bar", ["", "\r 65%|###   | 26/40 [01:28<00:45,  3.21s/it]"])
def test_slurm_cancels_in_the_zone_that_a_pipe_puts_before_its_line_whoever_speaks_first(
    tmp_path: Path, told: tuple[str, str], bar: str
) -> None:
    said = ["SLURM_JOB_ID=1153", *told]
    plain = lives(events_of(written(tmp_path, *said)))
    stamped = [f"2026-11-20T05:42:37.123-0800 {bar}{line}" for line in said]

    assert [(60.0, "attempt_end", None, "preempted")] == plain
    assert [(60.0 + 8 * 3600, *plain[0][1:])] == lives(
        events_of(written(tmp_path, *stamped, name="stamped.log"))
    )


def test_workers_are_shut_down_from_when_they_are_told_to_stop(tmp_path: Path) -> None:
    stop = glog(190, "elastic/multiprocessing/api", "Sending process 1 closing signal SIGTERM")
    log = [*begins(0), *starts(2), *fails(140, -9, left=3, stops=30), *starts(150, restart=1)]
    joined = [stop, *starts(221, restart=1), *fails(300, 1, stops=20)]
    told = events_of(written(tmp_path, *log, *joined))

    assert [(110.0, 140.001), (190.0, 220.0), (280.0, 300.0)] == [
        (begin, end) for phase, begin, end, _ in phases(told) if phase == "shutdown"
    ]
    assert [140.001, 300.0] == [at for at, kind, _, _ in lives(told) if kind == "attempt_end"]


def test_workers_that_are_functions_are_told_to_stop_in_other_words(tmp_path: Path) -> None:
    processes = "elastic/multiprocessing/api"
    died = "failed (exitcode: 1) local_rank: 1 (pid: 9001) of fn: train (start_method: spawn)"
    closing = "Closing process 9000 via signal SIGTERM"
    killed = "Unable to shutdown process 9000 via 15, forcefully exiting via 9"
    again = "[default] Worker group FAILED. 3/3 attempts left; will restart worker group"
    said = [(30, closing), (60, killed)]
    stopped = [glog(at, processes, text, level="W") for at, text in said]
    failed = [glog(at + 90, processes, text, level="W") for at, text in said]
    failed = [glog(120, processes, died, level="E"), *failed, glog(150.1, SERVER, again)]
    last = [glog(190, processes, died, level="E"), glog(190.1, processes, closing)]
    log = [*begins(0), *starts(2), *stopped, *starts(65, waits=5), *failed, *starts(160)]
    told = events_of(written(tmp_path, *log, *last, glog(220, processes, killed)))

    assert [(30.0, 60.0), (120.0, 150.1), (190.0, 220.0)] == [
        (begin, end) for phase, begin, end, _ in phases(told) if phase == "shutdown"
    ]
    preempted = events_of(written(tmp_path, *log, PREEMPTED.replace("05:42:37", "05:45:00")))
    assert (203.0, "preempted") == lives(preempted)[-1][::3]


def test_without_the_scheduler_a_stopped_launch_has_failed_by_its_signal(tmp_path: Path) -> None:
    closing = glog(60.1, "elastic/multiprocessing/api", "Sending process 1 closing signal SIGTERM")
    told = events_of(written(tmp_path, *begins(0), *starts(2), DIED, closing))
    end = ends(told)[0]

    assert [(0.0, "attempt_start", 0, None), (60.1, "attempt_end", 0, "failed")] == lives(told)
    assert 15 == end["signal"]
    assert ("shutdown", 60.0, 60.1, None) == phases(told)[-1]
    assert not failures(told)


def test_an_agent_that_was_stopped_shuts_down_from_then_on_though_it_raises_at_last(
    tmp_path: Path,
) -> None:
    processes = "elastic/multiprocessing/api"
    last = [
        glog(60.1, processes, "Sending process 1 closing signal SIGTERM", level="W"),
        glog(90, processes, "Unable to shutdown process 1 via 15, forcefully exiting", level="W"),
        "Traceback (most recent call last):",
        '  File "/venv/lib/torch/distributed/run.py", line 794, in main',
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 8 got signal: 15",
    ]
    told = events_of(written(tmp_path, *begins(0), *starts(2), DIED, *last))

    assert ("shutdown", 60.0, 90.0, None) == phases(told)[-1]
    assert [(90.0, 15)] == [(since_begun(end["at_us"]), end["signal"]) for end in ends(told)]


@pytest.mark.parametrize(("name", "signal"), [("SIGUSR1", 10), ("SIGUSR2", 12)])
def test_an_agent_may_be_told_to_heed_other_signals(tmp_path: Path, name: str, signal: int) -> None:
    died = glog(60, SERVER, f"Received Signals.{name} death signal, shutting down workers")
    told = events_of(written(tmp_path, *begins(0), *starts(2), died))

    assert [("failed", signal)] == [(end["outcome"], end["signal"]) for end in ends(told)]


def test_an_interrupt_is_a_person_who_cancels(tmp_path: Path) -> None:
    interrupted = DIED.replace("Received 15", "Received Signals.SIGINT")
    end = ends(events_of(written(tmp_path, *begins(0), *starts(2), interrupted)))[0]

    assert ("cancelled", 2) == (end["outcome"], end["signal"])


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        (PREEMPTED, "preempted"),
        (PREEMPTED.replace("JOB 1153", "STEP 1153.0"), "preempted"),
        (PREEMPTED.replace("PREEMPTION", "TIME LIMIT"), "timeout"),
        (PREEMPTED.replace("PREEMPTION", "NODE FAILURE"), "failed"),
        (CANCELLED, "cancelled"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_the_schedulers_word_in_the_log_says_why_a_launch_was_stopped(
    tmp_path: Path, line: str, outcome: str, is_first: bool
) -> None:
    last = [line, DIED] if is_first else [DIED, line]
    told = events_of(written(tmp_path, *begins(0), *starts(2), *last))
    end = ends(told)[0]

    assert [(outcome, 15, line)] == [(end["outcome"], end["signal"], end["message"])]
    assert {"1153"} == {event["scheduler_job"] for event in told if event is end}


@pytest.mark.parametrize(
    ("lines", "outcomes"),
    [
        ([PREEMPTED, DIED], [("preempted", 15)]),
        ([PREEMPTED, PREEMPTED.replace("JOB 1153", "STEP 1153.0"), DIED], [("preempted", 15)]),
        ([DIED, CANCELLED], [("cancelled", 15)]),
        # an earlier try of the job was preempted
        ([PREEMPTED, DIED.replace("05:42:37", "05:45:37")], [("failed", 15), ("preempted", None)]),
        ([PREEMPTED], [("preempted", None)]),
    ],
)
def test_the_schedulers_word_is_of_an_agent_whose_first_word_is_that_it_was_stopped(
    tmp_path: Path, lines: list[str], outcomes: list[tuple[str, int | None]]
) -> None:
    training = "[2026-11-20 05:42:%s][rank0][INFO] step %s/240 | loss 5.5498 | 136.5 ms/step"
    log = [training % (second, second) for second in range(10, 30, 5)]
    told = events_of(written(tmp_path, *log, *lines))

    assert outcomes == [(end["outcome"], end.get("signal")) for end in ends(told)]


@pytest.mark.parametrize(
    ("code", "line", "outcome"),
    [
        (1, CANCELLED.replace("JOB 1153", "STEP 1153.0"), "failed"),
        (-15, CANCELLED.replace("JOB 1153", "STEP 1153.0"), "cancelled"),
        (1, CANCELLED, "cancelled"),
    ],
)
def test_a_step_that_srun_ends_as_a_task_of_it_failed_was_cancelled_by_nobody(
    tmp_path: Path, code: int, line: str, outcome: str
) -> None:
    first = [*begins(0), *starts(5, agents=2, waits=4), *fails(58, code)]
    second = [*begins(1, pid=7), *starts(5, pid=7, agents=2, ranks="[2, 3]")]
    nodes = [f"{node}: {text}" for node, log in enumerate((first, second)) for text in log]
    died = DIED.replace(" 8489 ", " 7 ")
    told = events_of(written(tmp_path, *nodes, line, f"1: {died}"))

    assert [("failed", 58.0), (outcome, 60.0)] == [
        (end["outcome"], since_begun(end["at_us"])) for end in ends(told)
    ]


def test_what_is_cancelled_is_what_runs_not_what_was_killed_before(tmp_path: Path) -> None:
    killed = [*begins(0), *starts(2)]
    again = [*begins(30, pid=77), *starts(32, pid=77)]
    told = events_of(written(tmp_path, *killed, *again, CANCELLED))

    assert [(2.0, "alive", 0, None), (60.0, "attempt_end", 0, "cancelled")] == [
        life for life in lives(told) if life[1] != "attempt_start"
    ]


def test_a_log_whose_beginning_is_lost_still_numbers_its_generations(tmp_path: Path) -> None:
    told = events_of(written(tmp_path, *fails(50, 1, left=2), *starts(52, restart=2)))

    assert [
        (50.001, "attempt_end", 1, "failed"),
        (51.0, "attempt_start", 2, None),
        (52.0, "alive", 2, None),
    ] == lives(told)
    assert not [event for event in told if "run_key" in event]


def test_a_log_of_warnings_tells_each_failure_by_its_time(tmp_path: Path) -> None:
    first = raised("ValueError: bad sample", "[default1]:[rank1]: ")
    log = [*first, *fails(10, 1, local_rank=1), *raised("KeyError: 'x'"), *fails(40, 1)]
    told = events_of(written(tmp_path, *log))

    assert [(10.0, "attempt_end", None, "failed"), (40.0, "attempt_end", None, "failed")] == lives(
        told
    )
    assert ["ValueError: bad sample", "KeyError: 'x'"] == [first_line(end) for end in ends(told)]
    assert [(1, 10.0), (0, 40.0)] == [
        (event["rank"], since_begun(event["at_us"])) for event in failures(told)
    ]


def test_who_raises_once_an_agent_gave_up_is_a_worker_of_the_next(tmp_path: Path) -> None:
    stopped = table((0, 1, "2026-11-20_05:41:47", "To enable traceback see: x"))
    first = [*raised("KeyError: 'x'", "[rank0]: "), *fails(10, 1), *stopped]
    again = [*raised("ValueError: bad sample", "[rank1]: "), *fails(40, 1, local_rank=1, pid=8490)]
    told = events_of(written(tmp_path, *first, *again))

    assert ["KeyError: 'x'", "ValueError: bad sample"] == [first_line(end) for end in ends(told)]


def test_an_agent_that_is_stopped_after_its_workers_died_had_started_others(tmp_path: Path) -> None:
    # it waited for the other agents up to then, which a log of warnings does not say
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    died = glog(3700, SERVER, "Received 15 death signal, shutting down workers", level="W")
    told = events_of(written(tmp_path, warning, *fails(110, 1), died))

    assert [
        (0.0, "attempt_start", 0, None),
        (110.0, "attempt_end", 0, "failed"),
        (110.0, "attempt_start", 1, None),
        (3700.0, "attempt_end", 1, "failed"),
    ] == lives(told)
    assert [1, 15] == [end.get("exit_code") or end["signal"] for end in ends(told)]


def test_that_an_agent_began_and_no_more_makes_no_attempt(tmp_path: Path) -> None:
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    (job,) = events_of(written(tmp_path, "SLURM_JOB_ID=1153", warning))

    assert ("job", "1153", 0.0) == (job["event"], job["job_id"], since_begun(job["at_us"]))
    with pytest.raises(UnreadableDump, match="LOGLEVEL=INFO"):
        events_of(written(tmp_path / "alone", warning))


def test_an_agent_that_waits_for_the_others_is_launching(tmp_path: Path) -> None:
    told = events_of(written(tmp_path, *begins(0), starts(901, waits=900)[0]))

    assert [("launcher_init", 0.0, None, None)] == phases(told)
    assert [(0.0, "attempt_start", 0, None), (1.0, "alive", 0, None)] == lives(told)


def test_new_nodes_start_the_workers_anew_in_the_same_generation(tmp_path: Path) -> None:
    joined = glog(50, SERVER, "[default] Detected 1 new nodes from group_rank=0; will restart")
    told = events_of(written(tmp_path, *begins(0), *starts(2), joined, *starts(55, waits=4)))

    assert [(0.0, "attempt_start", 0, None), (55.0, "alive", None, None)] == lives(told)
    assert [("launcher_init", 51.0, 55.0, None), ("trainer_init", 55.0, None, 0)] == phases(told)[
        2:
    ]


def test_an_agent_that_others_made_start_anew_does_not_know_the_generation(tmp_path: Path) -> None:
    log = [*begins(0), *starts(2, agents=2), *starts(55, agents=2)]
    told = events_of(written(tmp_path, *log, *finishes(90)))

    # the other agent's workers failed: what this one says is placed by its time
    assert [(0.0, "attempt_start", 0, None), (92.0, "attempt_end", None, "completed")] == lives(
        told
    )
    assert [0, 0, None, None, None] == [
        event.get("run_generation") for event in told if "phase" in event
    ]
    assert 1 == len({event["run_key"] for event in told})


def test_a_failure_after_workers_were_started_anew_begins_another_generation(
    tmp_path: Path,
) -> None:
    log = [*begins(0), *starts(2), *starts(55), *fails(70, 1, left=2), *starts(72, restart=1)]
    told = events_of(written(tmp_path, *log, *finishes(90)))

    assert [
        (0.0, "attempt_start", 0, None),
        (70.001, "attempt_end", None, "failed"),
        (71.0, "attempt_start", 2, None),
        (92.0, "attempt_end", 2, "completed"),
    ] == lives(told)


def test_two_runs_in_one_file_are_two_jobs_even_of_one_process_id(tmp_path: Path) -> None:
    first = [*begins(0), *starts(2), *finishes(40)]
    second = [*begins(100, run_id="run-b"), *starts(102), *finishes(140)]
    told = events_of(written(tmp_path, *first, *second))

    assert [("run-a", 0.0), ("run-a", 42.0), ("run-b", 100.0), ("run-b", 142.0)] == [
        (event["job_id"], since_begun(event["at_us"]))
        for event in told
        if event["event"] in ("attempt_start", "attempt_end")
    ]


def test_agents_of_several_nodes_are_told_apart_in_one_file(tmp_path: Path) -> None:
    agents = [
        [*begins(0, pid=7), *starts(5, pid=7, agents=2, waits=4), *finishes(40, pid=7)],
        [*begins(1, pid=7), *starts(5, pid=7, agents=2, ranks="[2, 3]"), *finishes(41, pid=7)],
    ]
    mixed = [
        f"{node}: {line}" for pair in zip(*agents, strict=True) for node, line in enumerate(pair)
    ]
    told = events_of(written(tmp_path, *mixed))

    assert {f"7@{BEGUN}000000", f"7@{BEGUN + 1}000000"} == {event["run_key"] for event in told}
    assert [0, 2] == [event["rank"] for event in told if event.get("phase") == "trainer_init"]
    assert 2 == len(ends(told))


def test_a_worker_of_another_node_is_not_taken_for_a_rank_of_the_run(tmp_path: Path) -> None:
    log = [*starts(2, agents=2, ranks="[8, 9]"), *fails(50, 1, local_rank=1)]
    unknown = fails(50, 1, local_rank=1)

    assert [9] == [event.get("rank") for event in failures(events_of(written(tmp_path, *log)))]
    (failure,) = failures(events_of(written(tmp_path, *unknown, name="b.log")))
    assert (None, "local rank 1") == (failure.get("rank"), failure["component"])


def test_the_last_table_tells_ranks_hosts_and_of_which_run_they_are(tmp_path: Path) -> None:
    root = "Traceback (most recent call last):\n    File x\n  ModuleNotFoundError: flash"
    entries = [
        (9, -15, "2026-11-20_05:42:31", "Signal 15 (SIGTERM) received by PID 9001"),
        (8, 1, "2026-11-20_05:42:30", root),
    ]
    lines = [*fails(55, 1), *table(*entries, run="run-z_x_y1_b34/attempt_2")]
    told = events_of(written(tmp_path, *"\n".join(lines).split("\n")))

    assert {("run-z", 2)} == {(event["job_id"], event["run_generation"]) for event in told}
    assert [(8, 53.0, "node-7"), (9, 54.0, "node-7")] == sorted(
        (event["rank"], since_begun(event["at_us"]), event["host"]) for event in failures(told)
    )
    assert ("ModuleNotFoundError: flash", 1) == (
        first_line(ends(told)[0]),
        ends(told)[0]["exit_code"],
    )


def test_a_table_alone_tells_when_and_how_a_run_failed(tmp_path: Path) -> None:
    said = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    told = events_of(written(tmp_path, *table((3, 1, "2026-11-20_05:42:30", said))))

    assert [(53.0, "attempt_end", 0, "failed")] == lives(told)


def test_the_zone_of_the_log_is_the_readers(tmp_path: Path) -> None:
    dump = written(tmp_path, *begins(0), *starts(2), *finishes(40))
    told = events_of(dump, timezone="America/New_York")

    assert 5 * 3600.0 == since_begun(told[0]["at_us"])


def test_the_year_is_that_of_the_file_and_said_to_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dump = written(tmp_path, *begins(0), *starts(2))
    os.utime(dump, (BEGUN - 86_400 * 30, BEGUN - 86_400 * 30))  # a month before November
    told = events_of(dump)

    assert -365 * 86_400.0 == since_begun(told[0]["at_us"])
    assert "tell no year" in caplog.text


def test_a_caught_exception_is_no_failure(tmp_path: Path) -> None:
    caught = raised("ConnectionError: retrying", label="")
    log = [*begins(0), *starts(2), *caught, *finishes(90)]

    assert not failures(events_of(written(tmp_path, *log)))
    assert not failures(events_of(written(tmp_path, *log[:-3], name="running.log")))


def test_an_exception_that_ended_a_rank_is_told_even_if_the_log_breaks_off(tmp_path: Path) -> None:
    (failure,) = failures(
        events_of(written(tmp_path, *begins(0), *starts(2), *raised("KeyError: 'x'")))
    )

    assert ("KeyError: 'x'", 0) == (first_line(failure), failure["rank"])


def test_of_a_chain_of_exceptions_the_last_is_the_end(tmp_path: Path) -> None:
    label = "[default0]:[rank0]: "
    chained = "During handling of the above exception, another exception occurred:"
    log = [
        *begins(0),
        *starts(2),
        *raised("KeyError: 'x'"),
        label,
        label + chained,
        label,
        *raised("ValueError: no shard"),
        label + "Exception ignored in: <function Queue.__del__>",
        *raised("AttributeError: 'NoneType'"),
        *fails(50, 1),
    ]

    assert "ValueError: no shard" == first_line(ends(events_of(written(tmp_path, *log)))[0])


def test_interleaved_ranks_keep_their_own_tracebacks(tmp_path: Path) -> None:
    ranks = [raised(f"ValueError: of {n}", f"[default{n}]:[rank{n}]: ") for n in (0, 1)]
    mixed = [line for pair in zip(*ranks, strict=True) for line in pair]
    told = events_of(written(tmp_path, *begins(0), *starts(2), *mixed, *fails(50, 1)))

    assert [(0, "ValueError: of 0"), (1, "ValueError: of 1")] == [
        (event["rank"], first_line(event)) for event in failures(told)
    ]


def test_the_agent_may_break_off_itself(tmp_path: Path) -> None:
    broke = [
        "Traceback (most recent call last):",
        '  File "/venv/lib/torch/distributed/run.py", line 794, in main',
        "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
    ]
    told = events_of(written(tmp_path, *begins(0), *starts(2), *broke))
    end = ends(told)[0]

    assert ("failed", broke[-1]) == (end["outcome"], first_line(end))
    assert ["torchrun agent"] == [event["component"] for event in failures(told)]


@pytest.mark.parametrize(
    ("before", "stamp"),
    [
        (["2026-11-20T06:21:37+0000 step 40 loss 2.5"], ""),
        (["2026-11-20T06:21:07+0000 step 40 loss 2.5"], "2026-11-20T06:21:37+0000 "),
        ([], "2026-11-20T06:21:37+0000 "),
    ],
)
def test_an_agent_that_breaks_off_lived_as_long_as_its_log_tells(
    tmp_path: Path, before: list[str], stamp: str
) -> None:
    broke = [
        "Traceback (most recent call last):",
        '  File "/venv/lib/torch/distributed/run.py", line 794, in main',
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: it has failed",
    ]
    log = [*begins(0), *starts(2), *before, *(stamp + line for line in broke)]
    told = events_of(written(tmp_path, *log))

    assert (2400.0, "attempt_end", 0, "failed") == lives(told)[-1]
    assert [2400.0] == [since_begun(event["at_us"]) for event in failures(told)]


@pytest.mark.parametrize(
    "agent",
    [
        [*begins(0), *starts(2)],
        [glog(0, "run", "Setting OMP_NUM_THREADS environment variable to be 1", level="W")],
    ],
)
def test_an_agent_that_breaks_off_long_after_a_line_with_a_time_lived_as_its_trainer(
    tmp_path: Path, agent: list[str]
) -> None:
    trains = "2026-11-20T06:{}+0000 {}"
    saves = "Saving model checkpoint to out/checkpoint-{}"
    log = [
        *agent,
        trains.format("01:37", "***** Running training *****"),
        trains.format("11:37", saves.format(100)),
        trains.format("21:37", saves.format(200)),
        *("{'loss': 2.5}" for _ in range(300)),
        "Traceback (most recent call last):",
        '  File "/venv/lib/torch/distributed/run.py", line 794, in main',
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: it has failed",
    ]
    told = events_of(written(tmp_path, *log))

    assert [
        (0.0, "attempt_start", 0, None),
        (2400.0, "attempt_end", 0, "failed"),
    ] == lives(told)
    assert [2400.0] == [since_begun(event["at_us"]) for event in failures(told)]


@pytest.mark.parametrize(
    ("over", "said", "outcome"),
    [
        (finishes(90)[:2], "Error waiting on exit barrier. Elapsed: 300.1 seconds", "completed"),
        (fails(90, 1), "Error waiting on exit barrier. Elapsed: 300.1 seconds", "failed"),
        (finishes(90)[:2], "Got termination signal: 15", "completed"),
    ],
)
def test_an_agent_that_waits_for_others_in_vain_shuts_down_until_it_gives_up(
    tmp_path: Path, over: list[str], said: str, outcome: str
) -> None:
    error = glog(390, "elastic/agent/server/api", said, level="E")
    told = events_of(written(tmp_path, *begins(0), *starts(2), *over, error))

    assert ("shutdown", 90.0, 390.0, None) == phases(told)[-1]
    assert (390.0, "attempt_end", 0, outcome) == lives(told)[-1]


NO_PLACE = [  # what an agent without a place breaks off with, when the others are done
    "Traceback (most recent call last):",
    '  File "/venv/lib/python3.12/site-packages/torch/distributed/launcher/api.py", line 294, in f',
    "    if result.is_failed():",
    "AttributeError: 'NoneType' object has no attribute 'is_failed'",
]


def test_an_agent_that_the_others_had_no_place_for_says_nothing_of_how_they_ended(
    tmp_path: Path,
) -> None:
    left = glog(217, SERVER, "Rendezvous gracefully exited: The rendezvous 'run-a' is closed")
    waits = glog(1, SERVER, "[default] Rendezvous'ing worker group")
    told = events_of(written(tmp_path, *begins(0), waits, left, *NO_PLACE))

    assert ["job"] == [event["event"] for event in told]


def test_an_agent_that_lost_its_place_ended_with_its_last_workers(tmp_path: Path) -> None:
    left = glog(217, SERVER, "Rendezvous gracefully exited: The rendezvous 'run-a' is closed")
    waits = glog(50.1, SERVER, "[default] Rendezvous'ing worker group")
    trained = [*begins(0), *starts(2), *fails(50, 1, left=3)]
    told = events_of(written(tmp_path, *trained, waits, left, *NO_PLACE))

    assert [(0.0, "attempt_start", 0, None), (50.001, "attempt_end", 0, "failed")] == lives(told)


def test_an_agent_without_a_place_that_keeps_to_warnings_did_not_fail(tmp_path: Path) -> None:
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    told = events_of(written(tmp_path, "SLURM_JOB_ID=1153", warning, *NO_PLACE))

    assert ["job"] == [event["event"] for event in told]


def test_an_agent_that_keeps_to_warnings_and_waits_in_vain_ends_as_its_trainer_says(
    tmp_path: Path,
) -> None:
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    server = "elastic/agent/server/api"
    error = glog(390, server, "Error waiting on exit barrier. Elapsed: 300.1 seconds", level="E")
    trains = [
        "2026-11-20T05:42:37+0000 step 1 loss 2.5",
        "2026-11-20T05:43:07+0000 Training completed",
    ]
    told = events_of(written(tmp_path, warning, *trains, error))

    assert "completed" == lives(told)[-1][-1]


def test_a_watchdog_that_reaps_a_worker_says_so(tmp_path: Path) -> None:
    reaped = glog(49, "elastic/timer/file_based_local_timer", "Reaping worker_pid=[9000]. Expired")
    told = events_of(written(tmp_path, *begins(0), *starts(2), reaped, *fails(50, -9)))

    assert [("Reaping worker_pid=[9000]. Expired", 9)] == [
        (event["message"], event["signal"]) for event in failures(told)
    ]


def test_a_worker_that_no_signal_reaches_fails_its_generation(tmp_path: Path) -> None:
    local, processes = "elastic/agent/server/local_elastic_agent", "elastic/multiprocessing/api"
    stuck = (
        "[default] Worker pid=9000 stuck in uninterruptible sleep (D-state) for 60.1s (>= 60.0s); "
        "marking worker group UNHEALTHY and disabling restarts."
    )
    closing = [
        glog(50.1, processes, "Sending process 9000 closing signal SIGTERM", level="W"),
        glog(80.1, processes, "Unable to shutdown process 9000 via 15, forcefully exiting via 9"),
        glog(110.1, processes, "Process 9000 did not exit after SIGKILL within 30s; abandoning "
             "and continuing teardown.", level="E"),
    ]  # fmt: skip
    log = [*begins(0), *starts(2), glog(50, local, stuck, level="E"), *closing]
    told = events_of(written(tmp_path, *log))

    assert (110.1, "attempt_end", 0, "failed") == lives(told)[-1]
    assert ("shutdown", 50.0, 110.1, None) == phases(told)[-1]
    assert [stuck] == [event["message"] for event in failures(told)]
    assert 80.1 == lives(events_of(written(tmp_path, *log[:-1])))[-1][0]


def test_an_oom_kill_of_the_node_stands_beside_the_signal(tmp_path: Path) -> None:
    oom = "slurmstepd: error: Detected 1 oom_kill event in StepId=1153.0."
    told = events_of(written(tmp_path, *begins(0), *starts(2), oom, *fails(50, -9)))

    assert [(oom, None), ("Signal 9 (SIGKILL) received by PID 9000", 9)] == [
        (event["message"], event.get("signal")) for event in failures(told)
    ]


@pytest.mark.parametrize("told_before", [True, False], ids=["INFO", "default level"])
def test_what_slurm_says_of_a_kill_when_the_agent_is_gone_is_of_its_last_workers(
    tmp_path: Path, told_before: bool
) -> None:
    oom = "slurmstepd: error: Detected 1 oom_kill event in StepId=1153.0."
    begun = [*begins(0), *starts(2), *fails(30, 1, left=3), *starts(35, restart=1)]
    log = [
        *(begun if told_before else ()),
        *fails(50, -9),
        *table((0, -9, "2026-11-20_05:42:27", "Signal 9")),
        oom,
    ]
    told = events_of(written(tmp_path, *log))
    killed = next(event for event in failures(told) if event["message"] == oom)

    assert (50.0, 1 if told_before else None, len(log)) == (
        since_begun(killed["at_us"]),
        killed.get("run_generation"),
        json.loads(killed["attrs"])["line"],
    )


def test_a_watchdog_that_aborts_its_process_says_why_in_lines_of_its_own(tmp_path: Path) -> None:
    watchdog = (
        "[rank1]:[E1120 05:42:{}.426415540 ProcessGroupNCCL.cpp:1895] [PG ID 0 Rank 1] Process "
        "group watchdog thread terminated with exception: CUDA error: uncorrectable ECC error "
        "encountered"
    )
    log = [
        *begins(0), *starts(2), watchdog.format("05"), *fails(30, -6, local_rank=1, left=3),
        *starts(35, restart=1), watchdog.format("25"), *fails(50, -6, local_rank=1),
    ]  # fmt: skip
    told = [e for e in failures(events_of(written(tmp_path, *log))) if "watchdog" in e["message"]]

    assert [
        (log.index(watchdog.format(second)) + 1, 1, f"8489@{BEGUN}000000", generation)
        for generation, second in enumerate(("05", "25"))
    ] == [
        (json.loads(e["attrs"])["line"], e["rank"], e["run_key"], e["run_generation"]) for e in told
    ]


def test_a_trainer_that_printed_into_a_buffer_says_so_of_the_run(tmp_path: Path) -> None:
    late = [f"2026-11-20 05:42:25,100 - INFO - step: {step} loss: 2.1" for step in range(1, 30)]
    told = events_of(written(tmp_path, *begins(0), *starts(2), *late, *finishes(90)))

    assert [("alive", "run-a")] == [
        (event["event"], event["job_id"]) for event in told if event.get("stage") == "buffered"
    ]


def test_a_trainer_that_printed_into_a_buffer_and_is_done_has_completed(tmp_path: Path) -> None:
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    late = [f"2026-11-20 05:42:25,100 - INFO - step: {step} loss: 2.1" for step in range(1, 30)]
    done = "2026-11-20 05:42:25,100 - INFO - Training completed"
    told = events_of(written(tmp_path, warning, *late, done))

    assert ["buffered"] == [event["stage"] for event in told if "stage" in event]
    assert ["completed"] == [end["outcome"] for end in ends(told)]


@pytest.mark.parametrize("end", [[], [*finishes(90)]])
def test_a_trainer_that_says_it_was_preempted_was_preempted(tmp_path: Path, end: list[str]) -> None:
    warning = glog(0, "run", "Setting OMP_NUM_THREADS environment variable", level="W")
    begin = [*begins(0), *starts(2)] if end else [warning]
    tells = [
        "2026-11-20 05:42:25,100 - step: 7  acc: 0  loss: 2.1  iter:  0.5  data: 0.0",
        "2026-11-20 05:42:26,100 - Preemption ! checkpointing asap and exiting.",
        "2026-11-20 05:42:26,200 - Saving to: /c/0000000008",
        "2026-11-20 05:42:28,200 - Train state saved !",
    ]
    told = events_of(written(tmp_path, *begin, *tells, *end))

    assert ["preempted"] == [event["outcome"] for event in ends(told)]


def test_a_line_of_the_trainer_keeps_its_number_behind_many_that_no_agent_spoke_in(
    tmp_path: Path,
) -> None:
    chatter = ["SLURM_JOB_ID=1153"] * 5_000
    xid = "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus."
    log = [*chatter, *begins(0), *starts(2), xid, *fails(50, 1)]
    told = events_of(written(tmp_path, *log))

    assert [(log.index(xid) + 1, xid)] == [
        (json.loads(event["attrs"])["line"], event["message"])
        for event in failures(told)
        if "Xid" in event["message"]
    ]


@pytest.mark.parametrize("text", ["{}: ", "[{}] api: {}", "Traceback (most", "JOB 5 restart=x"])
def test_chatter_is_no_part_of_the_log(tmp_path: Path, text: str) -> None:
    log = [*begins(0), *starts(2), *finishes(90)]
    chatty = [line for told in log for line in (told, text, "step 10 loss 2.5")]

    assert told_of(written(tmp_path, *log)) == without_lines(
        told_of(written(tmp_path, *chatty, name="chatty.log"))
    )


def test_colours_progress_bars_and_torn_lines_hide_nothing(tmp_path: Path) -> None:
    log = [*begins(0), *starts(2), *fails(50, -9, left=3), *starts(52, restart=1), *finishes(90)]
    bar = "  7%|#         | 7/100 [00:01<00:14,  6.6it/s]\r"
    dirty = [f"{bar}\x1b[33m{line}\x1b[0m" if "Rendez" in line else line for line in log]
    torn = [f"step 10 loss 2.5{line}" if "Starting worker" in line else line for line in dirty]
    both = [*torn[:-2], torn[-2] + torn[-1]]

    assert lives(events_of(written(tmp_path, *log))) == lives(
        events_of(written(tmp_path, *both, name="dirty.log"))
    )


def test_a_log_that_has_grown_tells_the_same_and_more(tmp_path: Path) -> None:
    log = [*begins(0), *starts(2), *fails(50, -9, left=3), *starts(52, restart=1), *finishes(90)]
    whole = events_of(written(tmp_path, *log))
    named = {event["event_id"]: event for event in whole if "event_id" in event}
    for length in range(1, len(log)):
        for event in grown(written(tmp_path, *log[:length])):
            if "event_id" in event and event["event_id"] in named:
                known = named[event["event_id"]]
                assert event["event"] == known["event"]
                assert event["at_us"] <= known["at_us"]
            assert {"run-a"} == {event["job_id"]}


def test_a_compressed_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = "\n".join([*begins(0), *starts(2), *finishes(90)])
    dump = tmp_path / "torchrun.log.gz"
    dump.write_bytes(gzip.compress(text.encode())[:-12])
    os.utime(dump, (BEGUN + 90_000, BEGUN + 90_000))

    assert (0.0, "attempt_start", 0, None) == lives(events_of(dump))[0]


# Other releases


def test_releases_2_1_and_2_2_wrote_brackets(tmp_path: Path) -> None:
    def said(seconds: int, module: str, text: str, level: str = "INFO") -> str:
        return f"[2026-11-20 05:42:{seconds:02},250] torch.distributed.{module}: [{level}] {text}"

    told = events_of(
        written(
            tmp_path,
            said(0, "run", "", "WARNING"),
            said(0, "launcher.api", "Starting elastic_operator with launch configs:"),
            said(0, "launcher.api", "  run_id           : run-c"),
            said(1, "elastic.agent.server.api", "[default] Rendezvous'ing worker group"),
            said(
                2, "elastic.agent.server.api", "[default] Rendezvous complete for workers. Result:"
            ),
            said(2, "elastic.agent.server.api", "  restart_count=0"),
            said(2, "elastic.agent.server.api", "[default] Starting worker group"),
            said(9, "elastic.multiprocessing.api", "failed (exitcode: -9) local_rank: 0 (pid: 5)"),
        )
    )

    assert {"run-c"} == {event["job_id"] for event in told}
    assert [(23.25, "attempt_start", 0, None), (32.25, "attempt_end", 0, "failed")] == lives(told)


def test_release_1_9_wrote_the_time_and_the_files_name(tmp_path: Path) -> None:
    told = events_of(
        written(
            tmp_path,
            "[INFO] 2026-11-20 05:42:00,250 api: Starting elastic_operator with launch configs:",
            "  entrypoint       : train.py",
            "  run_id           : run-d",
            "",
            "[INFO] 2026-11-20 05:42:01,250 api: [default] Rendezvous'ing worker group",
            "[INFO] 2026-11-20 05:42:02,250 api: [default] Rendezvous complete for workers."
            " Result:",
            "  restart_count=0",
            "  group_world_size=1",
            "  global_ranks=[0]",
            "",
            "[INFO] 2026-11-20 05:42:02,250 api: [default] Starting worker group",
            "[INFO] 2026-11-20 05:42:20,250 api: [default] worker group successfully finished.",
        )
    )

    assert {"run-d"} == {event["job_id"] for event in told}
    assert [(23.25, "attempt_start", 0, None), (43.25, "attempt_end", 0, "completed")] == lives(
        told
    )


@pytest.mark.parametrize("stamp", ["2026-11-20T05:4{}+0000 ", "2026-11-20T05:4{}Z stderr F "])
def test_a_pipe_tells_the_times_that_release_2_0_did_not_write(tmp_path: Path, stamp: str) -> None:
    server, launcher = (
        "torch.distributed.elastic.agent.server.api",
        "torch.distributed.launcher.api",
    )
    died = (
        "torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 9)"
    )
    log = [
        ("1:37", f"INFO:{launcher}:Starting elastic_operator with launch configs:"),
        ("1:37", "  run_id           : run-a"),
        ("1:37", ""),
        ("1:38", f"INFO:{server}:[default] Rendezvous'ing worker group"),
        ("1:39", f"INFO:{server}:[default] Starting worker group"),
        ("2:37", f"ERROR:{died} of binary: /usr/bin/python"),
        ("2:37", f"INFO:{server}:[default] Worker group FAILED. 3/3 attempts left; will restart"
                 " worker group"),
        ("2:38", f"INFO:{server}:[default] Rendezvous'ing worker group"),
        ("2:39", f"INFO:{server}:[default] Starting worker group"),
        ("3:37", f"INFO:{server}:[default] worker group successfully finished. Waiting"),
    ]  # fmt: skip
    told = events_of(written(tmp_path, *(f"{stamp.format(at)}{text}" for at, text in log)))

    assert {"run-a"} == {event["job_id"] for event in told}
    assert [
        (0.0, "attempt_start", 0, None),
        (60.0, "attempt_end", 0, "failed"),
        (61.0, "attempt_start", 1, None),
        (120.0, "attempt_end", 1, "completed"),
    ] == lives(told)


def test_release_2_0_wrote_no_times_but_in_its_last_table(tmp_path: Path) -> None:
    server = "INFO:torch.distributed.elastic.agent.server.api:[default] "
    log = [
        "INFO:torch.distributed.launcher.api:Starting elastic_operator with launch configs:",
        "  run_id           : run-e",
        "",
        f"{server}Rendezvous'ing worker group",
        f"{server}Rendezvous complete for workers. Result:",
        "  restart_count=1",
        "",
        f"{server}Starting worker group",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 "
        "(pid: 9000) of binary: /usr/bin/python",
    ]
    said = "Signal 9 (SIGKILL) received by PID 9000"
    told = events_of(written(tmp_path, *log, *table((0, -9, "2026-11-20_05:42:30", said))))

    assert {("run-e", 1)} == {(event["job_id"], event["run_generation"]) for event in told}
    assert [(53.0, "attempt_end", 1, "failed")] == lives(told)
    with pytest.raises(UnreadableDump, match="not when"):
        events_of(written(tmp_path, *log, name="cut.log"))


@pytest.mark.parametrize(
    "head",
    [
        "W0318 10:20:30.123000 139857236879168 torch/distributed/run.py:757] ",
        "E0325 20:57:27.620000 2606 site-packages/torch/distributed/elastic/multiprocessing/api.py"
        ":869] failed (exitcode: -9) local_rank: 5 (pid: 2630) of binary: /usr/bin/python",
        "stderr: ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_",
        "[2024-04-04 12:32:00,896] torch.distributed.elastic.multiprocessing.api: [WARNING] Send",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "[INFO] 2021-12-08 12:28:26,098 api: Starting elastic_operator with launch configs:",
    ],
)
def test_each_release_is_recognised_by_content(head: str) -> None:
    assert TORCHELASTIC.recognises("x", f"step 1\n{head}\nstep 2\n".encode())


@pytest.mark.parametrize(
    "head",
    [
        "",
        "step 10 loss 2.5",
        "W0318 10:20:30.123000 8500 torch/_dynamo/convert_frame.py:1] x",
        "see torch.distributed.elastic.multiprocessing.errors.ChildFailedError in the docs",
        json.dumps({"ts": 1, "event": "failure", "message": "ERROR:torch.distributed.run:x"}),
        json.dumps({"message": "started", "timestamp": 1_795_153_297}) + "\n{}",
        "[rank0]: Traceback (most recent call last):",
        '{"phase": "process", "torchelastic_run_id": "a", "func_name": "main"}',
    ],
)
def test_what_is_not_of_torchrun_is_left_to_others(head: str) -> None:
    assert not TORCHELASTIC.recognises("x", f"{head}\n".encode())


# How it is compared


def phases(told: list[Event]) -> list[tuple[str, float, float | None, int | None]]:
    return [
        (
            event["phase"],
            since_begun(event["at_us"]),
            since_begun(event["end_us"]) if "end_us" in event else None,
            event.get("rank"),
        )
        for event in told
        if "phase" in event
    ]


def grown(dump: Path) -> list[Event]:
    try:
        return events_of(dump)
    except UnreadableDump:  # nothing yet
        return []


def ends(told: list[Event]) -> list[Event]:
    return [event for event in told if event["event"] == "attempt_end"]


def failures(told: list[Event]) -> list[Event]:
    return [event for event in told if event["event"] == "failure"]


def first_line(event: Event) -> str:
    return event["message"].partition("\n")[0]


def without_lines(told: list[Event | Rejected]) -> list[Event | Rejected]:
    """Which line of the file told an end differs with the lines between."""
    for item in told:
        if not isinstance(item, Rejected) and "attrs" in item:
            item["attrs"] = json.dumps({"line": json.loads(item["attrs"])["line"] // 3 + 1})
    return told
