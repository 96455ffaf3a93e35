"""MLPerf result logs: a run made by hand, and every real log that is at hand."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from ingest.collectors.base import Dump, Line, Reading
from ingest.collectors.mlperf import MLPERF
from ingest.collectors.slurm import SLURM_SACCT
from ingest.errors import UnreadableDump
from ingest.events import Event, Reason, Rejected, Says

SECOND_US = 1_000_000
LAUNCHED = 1_780_000_000  # 2026-05-28T20:26:40Z
LAUNCHED_US = LAUNCHED * SECOND_US


def test_a_run_goes_from_launch_to_stop() -> None:
    told = read(*RUN)

    assert [
        ("phase_start", "launcher_init", 0.0),
        ("phase_end", "launcher_init", 20.25),
        ("phase_start", "trainer_init", 20.25),
        ("phase_end", "trainer_init", 50.5),
        ("phase_start", "training", 50.5),
        ("phase_end", "training", 300.125),
        ("phase_start", "shutdown", 300.125),
        ("phase_end", "shutdown", 310.0),
        ("phase_start", "evaluation", 200.0),
        ("phase_end", "evaluation", 230.0),
    ] == [(e["event"], e["phase"], since_launch(e)) for e in told if "phase" in e]
    assert ("attempt_start", 0.0) == (told[1]["event"], since_launch(told[1]))
    assert ("attempt_end", "completed", 310.0) == (
        told[-1]["event"],
        told[-1]["outcome"],
        since_launch(told[-1]),
    )
    assert {1} == {event["attempt"] for event in told[1:]}


def test_progress_counts_samples_and_steps_only_where_both_are_told() -> None:
    told = read(
        *RUN[:6],
        record(60, "train_loss", 2.0, samples_count=80),
        record(70, "tracked_stats", {}, samples_count=160, step=20),
        record(80, "tracked_stats", {"throughput": 3.0}, step=1),  # an epoch
        record(90, "block_stop", samples_count=0.5),  # no count
    )

    assert [(60.0, 80, None), (70.0, 160, 20)] == [
        (since_launch(e), e["samples"], e.get("step")) for e in of(told, "progress")
    ]


def test_who_the_job_is_comes_from_its_place_in_the_submission(tmp_path: Path) -> None:
    log = placed(tmp_path, RUN)
    job, start, *_ = read_file(log, cluster="lab")

    assert {
        "at_us": LAUNCHED_US,
        "event": "job",
        "job_id": "acme/box_x2/llama/result_3@2026-05-28T20:26:40Z",
        "name": "llama result_3",
        "team": "acme",
        "model": "llama",
        "workload": "benchmark",
        "cluster": "lab",
        "gpus": 16,
        "gpu_type": "H100",
        "attrs": json.dumps({"system": "box_x2", "submission_benchmark": "llama_70b", "seed": 7}),
    } == job
    assert 16 == start["gpus"]


def test_the_job_is_the_same_wherever_the_submission_stands(tmp_path: Path) -> None:
    here, there = placed(tmp_path / "a" / "results", RUN), placed(tmp_path / "b", RUN)

    assert read_file(here)[0]["job_id"] == read_file(there)[0]["job_id"]


def test_a_log_that_stands_alone_says_itself_who_it_is() -> None:
    told = [
        record(21, "submission_org", "acme"),
        record(21, "submission_platform", "1xSUBMISSION_PLATFORM_PLACEHOLDER"),
    ]
    job = read(*RUN[:4], *told, *RUN[4:])[0]

    assert "acme/llama_70b/seed 7@2026-05-28T20:26:40Z" == job["job_id"]
    assert ("acme", "llama_70b") == (job["team"], job["model"])


@pytest.mark.parametrize(
    ("nodes", "each", "gpus"),
    [
        ("2", "8", 16),
        (2, 8, 16),
        ("2 nodes", "8x", 16),
        ("1.0", 8.0, 8),
        ("2", "0", 0),
        ("2", "N/A", None),
        ("2x4", "8", None),
        (None, "8", None),
        ("9999999", "9999999", None),  # nobody has so many, and GPU-seconds would overflow
    ],
)
def test_gpus_are_one_number_of_nodes_times_one_number_in_each(
    tmp_path: Path, nodes: object, each: object, gpus: int | None
) -> None:
    system = {"number_of_nodes": nodes, "accelerators_per_node": each}
    log = placed(tmp_path, RUN, json.dumps(system))

    assert gpus == read_file(log)[0].get("gpus")


@pytest.mark.parametrize("description", ["", "[]", "{", '{"number_of_nodes": "2"}'])
def test_without_a_usable_description_gpus_are_unknown(tmp_path: Path, description: str) -> None:
    assert "gpus" not in read_file(placed(tmp_path, RUN, description))[0]


def test_the_description_that_the_launcher_printed_stands_in_for_the_file() -> None:
    printed = ':::SYSJSON {"number_of_nodes":"4","accelerators_per_node":"8"}'

    assert 32 == read(printed, *RUN)[0]["gpus"]


@pytest.mark.parametrize(
    ("ranks", "nodes", "each", "gpus"),
    [
        (None, 4, 8, 32),
        (24, 4, 8, 24),  # one of many runs on these nodes
        (16, 4, 0, 0),  # processors only
        (None, 9_999_999, 8, 16),  # nobody has so many
        (None, 4, None, 16),  # as the system has
        (None, None, 8, 16),
    ],
)
def test_what_a_log_tells_of_its_runs_size_goes_before_the_systems(
    tmp_path: Path, ranks: int | None, nodes: int | None, each: int | None, gpus: int
) -> None:
    size = {"number_of_ranks": ranks, "number_of_nodes": nodes, "accelerators_per_node": each}
    told = [record(22, key, value) for key, value in size.items() if value is not None]
    job, start, *_ = read_file(placed(tmp_path, (*RUN[:4], *told, *RUN[4:])))

    assert (gpus, gpus) == (job["gpus"], start["gpus"])


@pytest.mark.parametrize("scaling", ["strong", "weak"])
def test_the_folder_of_a_scaling_is_no_benchmark(tmp_path: Path, scaling: str) -> None:
    log = placed(tmp_path, RUN)
    scaled = log.parents[1] / scaling / "deepcam" / log.name
    scaled.parent.mkdir(parents=True)
    job = read_file(log.rename(scaled))[0]

    assert ("deepcam", f"deepcam {scaling}/result_3") == (job["model"], job["name"])
    assert job["job_id"].startswith(f"acme/box_x2/deepcam/{scaling}/result_3@")


def test_a_shell_trace_is_no_mark_and_no_record() -> None:
    traced = [f"+ echo '{line}'" for line in RUN]
    told = read(RUN[0], *traced, "++ date +%s", *RUN[1:])

    assert read(*RUN) == told


def test_ranks_that_repeat_a_record_count_once() -> None:
    repeated = [
        f"{rank}: {line}"
        for line in RUN
        for rank in range(8)
        if ":::MLLOG" in line and "eval" not in line
    ]
    told = read(RUN[0], *repeated, RUN[-1])
    phases = [(e["event"], e["phase"]) for e in told if "phase" in e]

    assert phases == [(e["event"], e["phase"]) for e in read(*RUN) if "phase" in e][:8]
    assert {1} == {event["attempt"] for event in told[1:]}


def test_the_first_init_and_run_start_count_and_the_last_run_stop() -> None:
    told = read(
        RUN[0],
        "1: " + record(22, "init_start"),
        "0: " + record(21, "init_start"),
        "0: " + record(30, "run_start"),
        "1: " + record(31, "run_start"),
        "0: " + record(90, "run_stop", status="success"),
        "1: " + record(91, "run_stop", status="success"),
        mark("STOP", 95),
    )

    assert [21.0, 30.0, 91.0] == [
        since_launch(e) for e in of(told, "phase_start") if e["phase"] != "launcher_init"
    ]


def test_training_goes_on_after_the_goal_that_is_told_once_all_is_evaluated() -> None:
    told = read(
        *RUN[:6],
        record(100, "block_stop"),
        record(150, "epoch_stop"),
        record(160, "eval_start"),
        record(290, "eval_stop"),
        record(100, "run_stop", status="success"),
        record(295, "block_stop"),  # told after run_stop: of no train loop
        mark("STOP", 310),
    )

    assert [150.0] == [since_launch(e) for e in of(told, "phase_end") if e["phase"] == "training"]
    assert ("completed", 310.0) == (told[-1]["outcome"], since_launch(told[-1]))


def test_a_start_up_that_was_written_after_the_run_does_not_move_it() -> None:
    header = (record(90_000, "init_start"), record(90_000.5, "submission_benchmark", "llama_70b"))
    told = read(*header, *RUN[4:-1])

    # that it was started is not told: a start with the first batch would be a time to start of 0 s
    assert [] == of(told, "attempt_start")
    assert [("phase_start", 50.5), ("phase_end", 300.125)] == [
        (e["event"], since_launch(e)) for e in told if e.get("phase") == "training"
    ]
    assert "trainer_init" not in {e.get("phase") for e in told}
    assert ("completed", 300.125) == (told[-1]["outcome"], since_launch(told[-1]))


def test_evaluations_keep_the_rank_that_tells_them() -> None:
    told = read(*RUN[:6], *(f"{rank}: {record(60 + rank, 'eval_start')}" for rank in (0, 1)))

    assert [(60.0, 0), (61.0, 1)] == [
        (since_launch(e), e["rank"]) for e in told if e.get("phase") == "evaluation"
    ]


def test_an_evaluation_that_stops_the_run_ends_with_it() -> None:
    told = read(
        *RUN[:6],
        "0: " + record(60, "eval_start"),
        "1: " + record(61, "eval_start"),
        "1: " + record(70, "eval_stop"),
        "0: " + record(80, "run_stop", status="success"),
        mark("STOP", 110),
    )

    assert [(70.0, 1), (80.0, 0)] == [
        (since_launch(e), e["rank"]) for e in of(told, "phase_end") if e["phase"] == "evaluation"
    ]


def test_an_evaluation_that_begins_behind_the_run_is_left_open() -> None:
    told = read(*RUN[:-1], record(305, "eval_start"), RUN[-1])

    assert [230.0] == [since_launch(e) for e in of(told, "phase_end") if e["phase"] == "evaluation"]


def test_scores_that_are_told_afterwards_in_one_millisecond_leave_no_evaluation_open() -> None:
    told = read(
        *RUN[:6],
        record(60, "eval_start"),
        record(62.5, "eval_stop"),
        *(record(62.5, f"eval_{turn}") for turn in ("start", "stop") * 2),
        record(62.5, "eval_start"),
        record(63, "eval_stop"),
    )

    assert [60.0, 62.5, 62.5, 63.0] == [
        since_launch(e) for e in told if e.get("phase") == "evaluation"
    ]


def test_an_evaluation_blocks_until_training_goes_on_beside_it() -> None:
    told = read(
        *RUN[:6],
        record(60, "eval_start"),
        record(64, "block_start"),
        record(64.5, "epoch_start"),
        record(75, "eval_stop"),
        record(80, "epoch_stop"),
        record(80.5, "block_stop"),
    )

    assert [(60.0, 64.0)] == evaluations(told)


def test_an_evaluation_that_outlives_the_block_beside_it_blocks_again() -> None:
    told = read(
        *RUN[:6],
        record(60, "eval_start"),
        record(64, "block_start"),
        record(70, "block_stop"),
        record(75, "eval_stop"),
        record(76, "block_start"),
        record(80, "block_stop"),
    )

    assert [(60.0, 64.0), (70.0, 75.0)] == evaluations(told)


def test_epochs_that_follow_at_once_leave_an_evaluation_beside_them_no_time() -> None:
    told = read(
        *RUN[:6],
        record(60, "eval_start"),
        record(64, "epoch_start"),
        record(70, "epoch_stop"),
        record(70, "epoch_start"),
        record(75, "eval_stop"),
        record(80, "epoch_stop"),
    )

    assert [(60.0, 64.0)] == evaluations(told)


def test_an_evaluation_that_begins_beside_training_is_part_of_it() -> None:
    told = read(
        *RUN[:6],
        record(60, "eval_start"),
        record(64, "block_start"),
        record(66, "eval_stop"),
        record(68, "eval_start"),
        record(69, "eval_stop"),
        record(70, "block_stop"),
    )

    assert [(60.0, 64.0), (68.0, 69.0)] == evaluations(told)


def test_the_evaluations_of_all_ranks_block_until_any_trains() -> None:
    told = read(
        *RUN[:6],
        "0: " + record(60, "eval_start"),
        "1: " + record(61, "eval_start"),
        "0: " + record(64, "block_start"),
        "1: " + record(70, "eval_stop"),
        "0: " + record(75, "block_stop"),
        "0: " + record(78, "eval_stop"),
    )

    assert [(60.0, 0), (61.0, 1), (64.0, 0), (64.0, 1), (75.0, 0), (78.0, 0)] == [
        (since_launch(e), e["rank"]) for e in told if e.get("phase") == "evaluation"
    ]


def test_a_score_that_is_told_within_an_evaluation_leaves_its_end_to_the_run() -> None:
    told = read(
        *RUN[:6],
        record(60, "eval_start"),
        record(70, "eval_start"),
        record(70, "eval_stop"),
        record(80, "run_stop", status="success"),
    )

    assert [(60.0, 80.0)] == evaluations(told)


@pytest.mark.parametrize("told_at", [80, 80.5])
def test_no_evaluation_blocks_behind_the_run_for_a_block_that_ends_there(told_at: float) -> None:
    told = read(
        *RUN[:6],
        *(f"{rank}: {record(60 + rank, 'eval_start')}" for rank in (0, 1)),
        "0: " + record(64, "epoch_start"),
        "0: " + record(80, "run_stop", status="success"),
        "0: " + record(told_at, "epoch_stop"),
        mark("STOP", 110),
    )

    assert [(60.0, 64.0), (61.0, 64.0)] == evaluations(told)


def test_data_that_is_staged_once_the_run_goes_is_waited_for() -> None:
    told = read(
        *RUN[:4],
        record(40, "staging_start"),  # before the run: part of its start-up
        record(41, "staging_stop"),
        *RUN[4:6],
        "0: " + record(51, "staging_start"),
        "1: " + record(52, "staging_start"),
        "0: " + record(58, "staging_stop"),
        *RUN[6:],
    )

    assert [
        ("phase_start", 51.0, 0),
        ("phase_start", 52.0, 1),
        ("phase_end", 58.0, 0),
        ("phase_end", 300.125, 1),
    ] == [(e["event"], since_launch(e), e["rank"]) for e in told if e.get("phase") == "data_wait"]


def test_an_aborted_run_failed() -> None:
    told = read(*RUN[:-2], record(300, "run_stop", status="aborted"), RUN[-1])

    assert ("failed", "run_stop says aborted") == (told[-1]["outcome"], told[-1]["message"])


def test_a_launcher_that_stops_before_the_run_does_failed() -> None:
    told = read(*RUN[:-2], RUN[-1])

    assert ("failed", 310.0) == (told[-1]["outcome"], since_launch(told[-1]))
    assert "training" not in {e["phase"] for e in of(told, "phase_end")}


def test_a_log_that_just_ends_leaves_open_what_became_of_the_run() -> None:
    told = read(*RUN[:-2])

    assert ("alive", 230.0) == (told[-1]["event"], since_launch(told[-1]))
    assert [] == of(told, "attempt_end")


def test_a_log_that_ends_before_its_run_began_tells_how_long_and_why() -> None:
    told = read(
        record(2, "cache_clear"),
        record(12, "submission_benchmark", "llama_70b"),
        "0: Traceback (most recent call last):",
        "0: ModuleNotFoundError: No module named 'apex'",
    )

    assert [2.0] == [since_launch(e) for e in of(told, "attempt_start")]
    assert ["ModuleNotFoundError: No module named 'apex'"] == [
        e["message"] for e in of(told, "failure")
    ]
    assert ("alive", 12.000001) == (told[-1]["event"], since_launch(told[-1]))


def test_what_comes_before_the_first_launch_is_not_of_it() -> None:
    before = [record(-9, "cache_clear"), "srun: error: n1: task 0: Killed"]

    assert read(*RUN) == read(*before, *RUN)


def test_a_run_that_reached_its_goal_is_complete_even_if_its_shutdown_is_killed() -> None:
    told = read(*RUN[:-1], cancelled("2026-05-28T20:31:45", "TIME LIMIT"), RUN[-1])
    (failure,) = of(told, "failure")

    assert "completed" == told[-1]["outcome"]
    assert 305.0 == since_launch(failure)
    assert failure["message"].endswith("DUE TO TIME LIMIT ***")


@pytest.mark.parametrize(
    ("reason", "outcome"), [("TIME LIMIT", "timeout"), ("PREEMPTION", "preempted")]
)
def test_slurm_says_why_it_cancelled_a_run(reason: str, outcome: str) -> None:
    told = read(*RUN[:-2], cancelled("2026-05-28T20:31:40", reason))

    assert ("attempt_end", outcome, 300.0) == (
        told[-1]["event"],
        told[-1]["outcome"],
        since_launch(told[-1]),
    )


def test_a_cancelled_step_without_a_reason_ends_nothing() -> None:
    told = read(*RUN[:-2], cancelled("2026-05-28T20:31:40"))

    assert ("alive", 300.0) == (told[-1]["event"], since_launch(told[-1]))


def test_a_time_of_another_zone_is_not_believed() -> None:
    told = read(*RUN[:-2], cancelled("2026-05-28T13:31:40"))
    believed = read(*RUN[:-2], cancelled("2026-05-28T13:31:40"), zone="America/Los_Angeles")

    assert [230.000001] == [since_launch(e) for e in of(told, "failure")]
    assert [300.0] == [since_launch(e) for e in of(believed, "failure")]


def test_a_rank_of_more_digits_than_a_number_has_is_none() -> None:
    label = f"[rank{'9' * 5_000}]: "
    (failure,) = of(read(*RUN[:-1], label + "CUDA out of memory", RUN[-1]), "failure")

    assert None is failure.get("rank")


def test_errors_keep_the_order_in_which_they_were_told() -> None:
    told = read(
        *RUN[:-2],
        "7: Traceback (most recent call last):",
        '7:   File "train.py", line 1, in <module>',
        "7: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.16 GiB.",
        "3: [rank3]: Traceback (most recent call last):",
        "3: [rank3]:     main()",
        "3: [rank3]: RuntimeError: no batch in 600 seconds",
        "2: [rank2]:[E528] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)",
        "srun: error: n1: task 0: Exited with exit code 134",
        RUN[-1],
    )
    failures = of(told, "failure")

    assert [
        (7, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.16 GiB."),
        (3, "RuntimeError: no batch in 600 seconds"),
        (2, "[E528] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)"),
        (None, "srun: error: n1: task 0: Exited with exit code 134"),
    ] == [(failure.get("rank"), failure["message"]) for failure in failures]
    assert sorted({e["at_us"] for e in failures}) == [e["at_us"] for e in failures]
    before = len(RUN[:-2])
    assert [{"line": before + line} for line in (3, 6, 7, 8)] == [
        json.loads(failure["attrs"]) for failure in failures
    ]


def test_errors_are_few_however_many_lines_tell_them() -> None:
    same = [f"{rank}: CUDA out of memory on GPU {rank}" for rank in range(1000)]
    other = [f"out of memory in part {chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(100)]

    assert 1 == len(of(read(*RUN[:-2], *same), "failure"))
    assert 20 == len(of(read(*RUN[:-2], *other), "failure"))


def test_no_error_comes_after_the_end() -> None:
    told = read(
        *RUN[:-1], cancelled("2026-05-28T20:31:50"), "srun: error: n1: task 0: Killed", RUN[-1]
    )

    assert [310.0, 310.0] == [since_launch(e) for e in of(told, "failure")]
    assert 310.0 == since_launch(told[-1])


def test_whole_seconds_beside_milliseconds_never_run_backwards() -> None:
    told = read(
        RUN[0],
        record(0.4, "init_start"),
        record(10, "run_start"),
        record(20.9, "run_stop", status="success"),
        mark("STOP", 20),
    )

    assert [20.9, 20.9] == [since_launch(e) for e in told if e.get("phase") == "shutdown"]
    assert 20.9 == since_launch(told[-1])


def test_a_launch_after_a_launch_is_another_attempt() -> None:
    again = [later(line, 1000) for line in RUN]
    told = read(*RUN[:-2], *again)

    assert [
        (1, "attempt_start", None),
        (1, "alive", None),
        (2, "attempt_start", None),
        (2, "attempt_end", "completed"),
    ] == [(e["attempt"], e["event"], e.get("outcome")) for e in told[1:] if "phase" not in e]


def test_a_rank_that_initialises_again_after_it_ran_is_another_attempt() -> None:
    told = read(*RUN[:6], record(100, "init_start"), record(120, "run_start"), mark("STOP", 130))

    assert [(1, 0.0), (2, 100.0)] == [
        (e["attempt"], since_launch(e)) for e in of(told, "attempt_start")
    ]


def test_a_launch_may_end_as_one_before_it_did() -> None:
    killed = (*RUN[:6], "[rank1]: torch.cuda.OutOfMemoryError: CUDA out of memory")
    told = read(*killed, *(later(line, 1000) for line in killed[:-1]), killed[-1])

    assert [1, 2] == [failure["attempt"] for failure in of(told, "failure")]


def test_each_of_two_launches_that_ran_into_their_time_limit_says_so() -> None:
    line = "slurmstepd: error: *** STEP {}.0 ON n1 CANCELLED AT 2026-05-28T{} DUE TO TIME LIMIT ***"
    again = [later(line, 1000) for line in RUN[:6]]
    told = read(*RUN[:6], line.format(7, "20:32:00"), *again, line.format(8, "20:48:40"))

    assert [("timeout", 320.0), ("timeout", 1320.0)] == [
        (e["outcome"], since_launch(e)) for e in of(told, "attempt_end")
    ]


def test_a_traceback_that_a_launch_left_open_takes_no_line_of_the_next() -> None:
    told = read(
        *RUN[:6],
        "Traceback (most recent call last):",
        *(later(line, 1000) for line in RUN[:4]),
        "loading data",
    )

    assert [] == of(told, "failure")


@pytest.mark.parametrize(
    "before", ["trainer-1  | ", "2026-05-28T20:26:40.123456Z ", "2026-05-28 20:26:40 0: "]
)
def test_what_stands_before_each_line_hides_neither_marks_nor_errors(before: str) -> None:
    trace = ["Traceback (most recent call last):", '  File "train.py", line 1', "ValueError: shape"]
    told = read(*(before + line for line in [*RUN[:6], *trace, RUN[-1]]))

    assert [("failed", 310.0)] == [(e["outcome"], since_launch(e)) for e in of(told, "attempt_end")]
    assert ("launcher_init", 0.0) == (told[2]["phase"], since_launch(told[2]))
    assert ["ValueError: shape"] == [e["message"] for e in of(told, "failure")]
    assert read(*("trainer-1  | + echo " + line for line in RUN[:1]), *RUN) == read(*RUN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[1,0]<stdout>:", "[1,1]<stdout>:"),
        ("n1: ", "n2: "),
        ("(RayTrainWorker pid=71) ", "(RayTrainWorker pid=72) "),
        ("[pod/w-0/main] ", "[pod/w-1/main] "),
        ("", "0: "),
    ],
)
def test_errors_behind_what_a_launcher_puts_before_each_line_are_told(one: str, other: str) -> None:
    trace = ["Traceback (most recent call last):", '  File "train.py", line 1', "ValueError: shape"]
    told = read(
        *(one + line for line in RUN[:6]),
        *(writer + line for line in [*trace[:2], "", trace[2]] for writer in (one, other)),
        other + "KeyError: of no traceback",
    )

    assert ["ValueError: shape"] == [e["message"] for e in of(told, "failure")]


def test_a_start_that_the_launcher_tells_on_each_node_is_one() -> None:
    told = read(f"0: {RUN[0]}", f"8: {mark('START', 1)}", *RUN[1:])

    assert [0.0] == [since_launch(e) for e in of(told, "attempt_start")]


@pytest.mark.parametrize("task", ["", "0: "])
def test_a_start_that_stands_twice_in_a_log_is_one(task: str) -> None:
    # nodes that write into one log without the numbers of their tasks, or a log that is piped twice
    told = read(task + RUN[0], *(task + line for line in RUN))

    assert [(1, 0.0)] == [(e["attempt"], since_launch(e)) for e in of(told, "attempt_start")]
    assert ["completed"] == [e["outcome"] for e in of(told, "attempt_end")]


def test_a_run_that_starts_again_after_it_trained_is_another_attempt() -> None:
    told = read(*RUN[:8], record(500, "run_start"), record(600, "run_stop", status="success"))

    assert [(1, 0.0), (2, 500.0)] == [
        (e["attempt"], since_launch(e)) for e in of(told, "attempt_start")
    ]


@pytest.mark.parametrize("task", ["3: ", ""])
def test_a_run_that_starts_again_before_its_first_evaluation_is_another_attempt(task: str) -> None:
    # without the number of its task a line is that of any: then it has to have trained
    between = [] if task else [record(90, "train_loss", 2.5, samples_count=512)]
    again = (record(500, "run_start"), record(600, "run_stop", status="success"))
    told = read(*(task + line for line in (*RUN[1:6], *between, *again)))

    assert [(1, 20.25), (2, 500.0)] == [
        (e["attempt"], since_launch(e)) for e in of(told, "attempt_start")
    ]


@pytest.mark.parametrize("tasks", [("0: ", "1: "), ("", "")])
def test_ranks_that_start_long_after_one_another_are_one_attempt(tasks: tuple[str, str]) -> None:
    first, second = tasks
    told = read(*RUN[:5], first + RUN[5], second + record(130, "run_start"), *RUN[6:])

    assert [0.0] == [since_launch(e) for e in of(told, "attempt_start")]


def test_a_launch_that_failed_before_it_ran_is_an_attempt_of_its_own() -> None:
    told = read(
        record(5, "cache_clear"),
        record(10, "init_start"),
        "Traceback (most recent call last):",
        "ValueError: no data",
        record(200, "cache_clear"),
        record(210, "init_start"),
        record(260, "run_start"),
    )

    assert [(1, 10.0), (2, 210.0)] == [
        (e["attempt"], since_launch(e)) for e in of(told, "attempt_start")
    ]
    assert [1] == [e["attempt"] for e in of(told, "failure")]
    assert [(1, 10.0), (2, 260.0)] == [
        (e["attempt"], round(since_launch(e), 3)) for e in of(told, "alive")
    ]


def test_ranks_that_initialise_beside_an_error_are_one_attempt() -> None:
    told = read(record(10, "init_start"), "Bus error", record(12, "init_start"), *RUN[2:])

    assert [1] == [e["attempt"] for e in of(told, "attempt_start")]


@pytest.mark.parametrize("key", ["cache_clear", "submission_org"])
def test_a_trial_goes_no_further_than_the_next_is_prepared(key: str) -> None:
    trial = [record(5, key), *RUN[1:-1]]
    told = read(*trial, *(later(line, 1000) for line in trial))

    assert [(1, 20.25), (2, 1020.25)] == [
        (e["attempt"], since_launch(e)) for e in of(told, "attempt_start")
    ]
    assert [("completed", 300.125), ("completed", 1300.125)] == [
        (e["outcome"], since_launch(e)) for e in of(told, "attempt_end")
    ]


def test_a_killed_run_goes_no_further_than_caches_are_cleared_for_the_next() -> None:
    told = read(*RUN[:-2], record(990, "cache_clear"), *(later(line, 1000) for line in RUN))

    assert [(1, 230.0)] == [(e["attempt"], since_launch(e)) for e in of(told, "alive")]


def test_a_header_that_no_run_follows_is_of_the_run_before_it() -> None:
    told = read(*RUN[1:-1], record(900, "submission_org", "acme"))

    assert ("completed", 900.0) == (told[-1]["outcome"], since_launch(told[-1]))


def test_without_a_launcher_a_run_begins_as_its_trainer_does() -> None:
    told = read(*RUN[1:-1])

    assert [20.25] == [since_launch(e) for e in of(told, "attempt_start")]
    assert "launcher_init" not in {e.get("phase") for e in told}
    assert ("completed", 300.125) == (told[-1]["outcome"], since_launch(told[-1]))


def test_without_a_launcher_a_run_that_stopped_shuts_down_until_it_says_no_more() -> None:
    told = read(*RUN[1:-1], record(305, "eval_accuracy", 0.5))

    assert [("phase_start", 300.125), ("phase_end", 305.0)] == [
        (e["event"], since_launch(e)) for e in told if e.get("phase") == "shutdown"
    ]
    assert ("completed", 305.0) == (told[-1]["outcome"], since_launch(told[-1]))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (':::MLLOG {"key": "run_start", "time_ms": 17', Reason.NOT_JSON),
        (':::MLLOG {"time_ms": 1780000000000}', Reason.MISSING_FIELD),
        (':::MLLOG {"key": "run_start"}', Reason.MISSING_FIELD),
        (':::MLLOG {"key": "run_start", "time_ms": "noon"}', Reason.BAD_TIMESTAMP),
        (':::MLLOG {"key": "run_start", "time_ms": 1e400}', Reason.BAD_TIMESTAMP),
        (':::MLLOG {"key": "run_start", "time_ms": 12}', Reason.BAD_TIMESTAMP),
        (':::MLLOG {"key": "\udce9", "time_ms": 1780000000000}', Reason.NOT_UTF8),
    ],
)
def test_a_broken_record_is_set_aside(line: str, reason: Reason) -> None:
    told = list(MLPERF.read(dump_of(RUN[0], line, *RUN[1:]), reading()))
    rejected = [event for event in told if isinstance(event, Rejected)]

    assert [(2, reason)] == [(event.line_number, event.reason) for event in rejected]
    assert read(*RUN) == [event for event in told if not isinstance(event, Rejected)]


def test_records_that_ranks_wrote_on_one_line_are_all_read() -> None:
    joined = f"0: {RUN[4]}1: {RUN[5]}"

    assert read(*RUN) == read(*RUN[:4], joined, *RUN[6:])


def test_other_text_says_nothing() -> None:
    noise = [
        "Loading annotations...",
        "",
        "a line about :::MLLOG records",
        "\udce9\udce8",
        "PMIX ERROR",
    ]

    assert read(*RUN) == read(*RUN[:3], *noise, *RUN[3:])


def test_a_text_without_any_record_is_not_a_log() -> None:
    with pytest.raises(UnreadableDump, match="Is it an MLPerf result log"):
        read("nothing", "to see")


def test_what_a_power_meter_writes_is_no_run() -> None:
    meter = [
        record(0, "power_measurement_start"),
        record(1, "conversion_eff", 0.94),
        record(2, "power_reading", 2600),
        record(3, "interconnect_power_est", 59570),
        record(400, "power_measurement_stop"),
    ]

    assert read(*RUN[:-1]) == read(*RUN[:-1], *meter)
    with pytest.raises(UnreadableDump, match="no MLLOG record of a run"):
        read(*meter)


@pytest.mark.parametrize(
    "head",
    [
        ':::MLLOG {"key": "cache_clear"}',
        '3: :::MLLOG {"key": "cache_clear"}',
        "some text\n+ echo 'RUNANDTIME_START 1780000000'\nRUNANDTIME_START 1780000000\n",
        ":::DLPAL image 155 1 node002\n",
        "+ export MLPERF_HOST_OS\n++ MLPERF_HOST_OS='linux 6.1'\n",
    ],
)
def test_it_recognises_its_own_logs(head: str) -> None:
    assert MLPERF.recognises("x", head.encode())


@pytest.mark.parametrize(
    "head",
    [
        '{"ts": 1, "event": "failure", "job_id": "a", "message": ":::MLLOG {}"}',
        "JobID|State|Start|End\n1|COMPLETED|a|b\n",
        '{"number_of_nodes": "2", "accelerators_per_node": "8"}',
        "+ echo 'RUNANDTIME_START 1780000000'\n",
        "MLPerf logs contain `:::MLLOG` lines.\n",
        "MLPERF_HOST_OS=linux\n",
        "",
    ],
)
def test_it_does_not_take_other_texts_for_its_own(head: str) -> None:
    assert not MLPERF.recognises("x", head.encode())


def test_it_knows_that_nothing_is_ever_saved() -> None:
    assert Says(training=True, saves=True, resumes=True) == MLPERF.says


@pytest.mark.real
def test_every_real_log_keeps_its_boundaries(real_logs: Path) -> None:
    told = {log: boundaries(read_file(file)) for log, file in logs(real_logs)}
    expected = {
        answer["log"]: {
            name: [float(answer[f"{name}_epoch"])] for name in BOUNDARIES if answer[f"{name}_epoch"]
        }
        for answer in answers(real_logs)
    }

    assert 154 == len(expected)
    assert expected == {
        log: {name: at for name, at in found.items() if name in expected[log]}
        for log, found in told.items()
    }


@pytest.mark.real
def test_every_real_log_belongs_to_its_submitter_benchmark_and_gpus(real_logs: Path) -> None:
    told = {log: read_file(file)[0] for log, file in logs(real_logs)}

    assert {
        answer["log"]: (answer["team"], answer["benchmark"], int(answer["gpus"]))
        for answer in answers(real_logs)
    } == {log: (job["team"], job["model"], job["gpus"]) for log, job in told.items()}
    assert len(told) == len({job["job_id"] for job in told.values()})


@pytest.mark.real
def test_the_real_logs_end_as_they_say(real_logs: Path) -> None:
    ends = Counter(read_file(file)[-1].get("outcome", "-") for _, file in logs(real_logs))

    assert {"completed": 151, "failed": 2, "-": 1} == ends


@pytest.mark.real
def test_no_record_of_a_real_log_is_set_aside_and_no_time_runs_backwards(real_logs: Path) -> None:
    for log, file in logs(real_logs):
        told = read_file(file)
        times = [event["at_us"] for event in told]

        assert (log, times[0], times[-1]) == (log, min(times), max(times))


@pytest.mark.real
def test_the_memory_error_of_one_rank_comes_before_the_timeouts_it_caused(real_logs: Path) -> None:
    (file,) = (file for log, file in logs(real_logs) if "/rgat/" in log)
    messages = [(e.get("rank"), e["message"]) for e in of(read_file(file), "failure")]

    assert (7, True) == (messages[0][0], "CUDA out of memory" in messages[0][1])
    assert any("Watchdog caught" in message for _, message in messages[1:])


@pytest.mark.real
def test_real_logs_are_recognised_and_their_systems_are_not(real_logs: Path) -> None:
    for _, file in logs(real_logs):
        head = gzip.decompress(file.read_bytes())[:65536]

        assert MLPERF.recognises(file.name, head)
        assert not SLURM_SACCT.recognises(file.name, head)

    others = [
        file for file in sorted(real_logs.rglob("*")) if file.is_file() and file.suffix != ".gz"
    ]
    taken = [file for file in others if MLPERF.recognises(file.name, file.read_bytes()[:65536])]

    assert others
    assert [] == taken


# what a log is made of, and what is asked of its events


def mark(name: str, second: int) -> str:
    return f"RUNANDTIME_{name} {LAUNCHED + second}"


def record(second: float, key: str, value: object = None, **metadata: object) -> str:
    told = {"time_ms": round((LAUNCHED + second) * 1000), "key": key, "value": value}
    return f":::MLLOG {json.dumps({**told, 'metadata': metadata})}"


def cancelled(at: str, due_to: str = "") -> str:
    reason = f" DUE TO {due_to}" if due_to else ""
    return f"0: slurmstepd: error: *** STEP 4.1 ON n1 CANCELLED AT {at}{reason} ***"


RUN = (
    mark("START", 0),
    record(20.25, "init_start"),
    record(20.25, "submission_benchmark", "llama_70b"),
    record(20.25, "submission_org", "SUBMISSION_ORG_PLACEHOLDER"),
    record(20.5, "seed", 7),
    record(50.5, "run_start"),
    record(200, "eval_start"),
    record(230, "eval_stop"),
    record(300.125, "run_stop", status="success"),
    mark("STOP", 310),
)


def dump_of(*told: str) -> Dump:
    raw = [line.encode(errors="surrogateescape") for line in told]
    return Dump("result_3.txt", None, lambda: iter(enumerate(raw, 1)))


def reading(cluster: str | None = None, zone: str = "UTC") -> Reading:
    return Reading(cluster, ZoneInfo(zone))


def read(*told: str, zone: str = "UTC") -> list[Event]:
    events = list(MLPERF.read(dump_of(*told), reading(zone=zone)))

    assert [] == [event for event in events if isinstance(event, Rejected)]
    return [event for event in events if not isinstance(event, Rejected)]


def read_file(file: Path, cluster: str | None = None) -> list[Event]:
    events = list(MLPERF.read(Dump(str(file), file, lambda: lines_of(file)), reading(cluster)))

    assert [] == [event for event in events if isinstance(event, Rejected)]
    return [event for event in events if not isinstance(event, Rejected)]


def lines_of(file: Path) -> Iterator[Line]:
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    yield from enumerate(raw.removesuffix(b"\n").split(b"\n"), 1)


SYSTEM = json.dumps(
    {"number_of_nodes": "2", "accelerators_per_node": "8", "accelerator_model_name": "H100"}
)


def placed(root: Path, told: tuple[str, ...], description: str = SYSTEM) -> Path:
    submitter = root / "acme"
    log = submitter / "results" / "box_x2" / "llama" / "result_3.txt"
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(told), encoding="utf-8")
    (submitter / "systems").mkdir()
    (submitter / "systems" / "box_x2.json").write_text(description, encoding="utf-8")
    return log


def later(line: str, seconds: int) -> str:
    if line.startswith("RUNANDTIME"):
        name, _, at = line.partition(" ")
        return f"{name} {int(at) + seconds}"
    told = json.loads(line.removeprefix(":::MLLOG "))
    return f":::MLLOG {json.dumps({**told, 'time_ms': told['time_ms'] + seconds * 1000})}"


def since_launch(event: Event) -> float:
    return (event["at_us"] - LAUNCHED_US) / SECOND_US


def of(told: list[Event], kind: str) -> list[Event]:
    return [event for event in told if event["event"] == kind]


def evaluations(told: list[Event]) -> list[tuple[float, float]]:
    """From when to when each blocked."""
    starts, ends = (
        [since_launch(event) for event in of(told, kind) if event["phase"] == "evaluation"]
        for kind in ("phase_start", "phase_end")
    )
    return list(zip(starts, ends, strict=True))


BOUNDARIES = ("launched", "init_start", "run_start", "run_stop", "stopped")
_SIGNS = {
    "launched": ("phase_start", "launcher_init"),
    "init_start": ("phase_start", "trainer_init"),
    "run_start": ("phase_start", "training"),
    "run_stop": ("phase_end", "training"),
    "stopped": ("attempt_end", None),
}


def boundaries(told: list[Event]) -> dict[str, list[float]]:
    return {
        name: [e["at_us"] / SECOND_US for e in told if (e["event"], e.get("phase")) == sign]
        for name, sign in _SIGNS.items()
    }


def answers(real_logs: Path) -> list[dict[str, str]]:
    with (real_logs / "mlperf" / "expected_boundaries.csv").open(encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def logs(real_logs: Path) -> list[tuple[str, Path]]:
    (results,) = (real_logs / "mlperf").glob("training_results_*")
    return [(answer["log"], results / answer["log"]) for answer in answers(real_logs)]
