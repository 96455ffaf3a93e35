"""Which cause a message, an exit or a whole log is given, and what rules of one's own change."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from bench.causes import accuracy, judged
from bench.labelled import FOLDER, NONE, Log, Message, logs, messages
from ingest import causes_exits, causes_lines
from ingest.causes import (
    MESSAGE_CHARACTERS,
    Cause,
    Classified,
    classify,
    classify_frame,
    classify_message,
    weighed,
)
from ingest.causes_literals import required
from ingest.causes_own import with_rules_of_user
from ingest.causes_rules import (
    INFORMATIONAL_RANK,
    SHIPPED,
    Rule,
    RuleBook,
    shipped,
    shipped_attributions,
)
from ingest.errors import UnusableArguments
from ingest.settings import read_settings

ROOT = Path(__file__).resolve().parents[2]
RULES = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["rule"]
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
VICTIM = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:4121"
OWN = {
    "name": "our_lease",
    "category": "storage/fs_mount_or_stale",
    "pattern": r"lease of \S+ was lost",
}


def test_every_written_message_is_told_its_category() -> None:
    written = messages("written")
    answers = classify_frame(evidence(rows_of(written)))
    rule_categories = {rule.name: rule.category for rule in shipped().rules}
    told = [
        rule_categories.get(rule, category) if rule else NONE
        for rule, category in answers.select("cause_rule", "cause_category").iter_rows()
    ]

    assert [] == [
        (message, answer)
        for message, answer in zip(written, told, strict=True)
        if message.category != answer
    ]


@pytest.mark.parametrize("log", logs("written"), ids=lambda log: log.name)
def test_a_written_log_is_told_its_category_on_the_line_that_shows_it(log: Log) -> None:
    cause = classify(enumerate(log.lines, start=1))

    assert (log.category, log.line_number) == told(cause)


def test_the_held_back_third_is_told_right_often_enough() -> None:
    results = judged("held_back")

    assert accuracy(results) >= 0.95
    assert accuracy(results, of_domains=True) >= 0.98


def test_a_third_of_at_least_three_hundred_labels_is_held_back() -> None:
    written, held_back = (
        len(messages(name)) + len(logs(name)) for name in ("written", "held_back")
    )

    assert written + held_back >= 300
    assert held_back * 3 >= written + held_back
    assert len(logs("written")) + len(logs("held_back")) >= 20


def test_no_label_stands_in_both_sets() -> None:
    of_sets = [
        {line for line in (FOLDER / f"{name}_lines.tsv").read_text(encoding="utf-8").split("\n")[1:]
         if line}
        for name in ("written", "held_back")
    ]  # fmt: skip

    assert set() == of_sets[0] & of_sets[1]


def test_every_label_is_a_known_category() -> None:
    labels = {one.category for name in ("written", "held_back") for one in messages(name)}
    labels |= {log.category for name in ("written", "held_back") for log in logs(name)}

    assert set() == labels - shipped_attributions().keys() - {NONE}


@pytest.mark.real
def test_every_sample_of_the_taxonomy_is_told_its_category(real_logs: Path) -> None:
    samples = (real_logs.parent / "taxonomy_samples.tsv").read_text(encoding="utf-8")
    wrong = []
    for row in filter(None, samples.split("\n")):
        category, _, text = row.split("\t", 2)
        result = classify_message(text)
        if category != (result.category.split("/")[1] if result else "no_signature"):
            wrong.append((category, result, text))

    assert [] == wrong


@pytest.mark.real
def test_error_records_of_torchrun_are_told_as_its_golden_files_explain_them(
    real_logs: Path,
) -> None:
    told = Counter(
        (file.relative_to(real_logs / "torch").parts[0], category_of(error_of(file)))
        for file in (real_logs / "torch").rglob("error.json")
    )

    assert {
        ("run02_sigkill_async", "cascade/peer_rank_failed"): 1,
        ("run03_exception_then_nan", "cascade/peer_rank_failed"): 2,
        ("run03_exception_then_nan", "data/bad_data"): 1,
        ("run03_exception_then_nan", "user_code/nan_or_divergence"): 1,
        ("run04_oom", "cascade/peer_rank_failed"): 2,
        ("run04_oom", "host/host_oom"): 1,
        ("run04_oom", "user_code/gpu_oom"): 1,
        ("run10_import_error_at_start", "user_code/import_or_dependency"): 4,
        ("run14_recompiles", "cascade/peer_rank_failed"): 1,
        ("run15_default_loglevel", "cascade/peer_rank_failed"): 2,
        ("run15_default_loglevel", "data/bad_data"): 1,
    } == told


@pytest.mark.real
def test_a_clean_run_of_torchrun_has_no_cause(real_logs: Path) -> None:
    log = real_logs / "torch" / "run01_clean_sync" / "torchrun.stderr.log"

    assert None is classify(enumerate(log.read_text(encoding="utf-8").split("\n"), start=1))


# --- the root, not the loudest


@pytest.mark.parametrize(
    ("lines", "root"),
    [
        ([VICTIM, "KeyError: 'x'"], "user_code/python_exception"),
        ([VICTIM, "RuntimeError: phase table is empty"], "unknown/unhandled_runtime_error"),
        (["KeyError: 'x'", "failed (exitcode: -9) local_rank: 1"], "unknown/killed"),
        (["KeyError: 'x'", "failed (exitcode: -15) local_rank: 1"], "user_code/python_exception"),
        ([VICTIM, "failed (exitcode: -15) local_rank: 1"], "cascade/peer_rank_failed"),
        (["KeyError: 'x'", "Stale file handle"], "storage/fs_mount_or_stale"),
        (["Stale file handle", "socket.gaierror: [Errno -2]"], "network/dns"),
        (["socket.gaierror: [Errno -2]", "MemoryError"], "host/host_oom"),
        (["MemoryError", "Xid (PCI:0000:9b:00): 79, pid=1"], "gpu_hardware/gpu_off_bus"),
        (["Xid (PCI:0000:9b:00): 79, pid=1", "DUE TO TIME LIMIT"], "gpu_hardware/gpu_off_bus"),
        (["DUE TO PREEMPTION", "Xid (PCI:0000:9b:00): 79, pid=1"], "scheduler/preempted"),
    ],
)
def test_what_is_nearer_to_the_root_goes_before_what_is_earlier(
    lines: list[str], root: str
) -> None:
    cause = classify(enumerate(lines, start=1))

    assert cause is not None
    assert root == cause.category


def test_of_two_roots_the_earlier_is_the_cause() -> None:
    cause = classify([(4, "[rank2]: KeyError: 'x'"), (9, OOM)])

    assert Cause("user_code/python_exception", "python_exception", "KeyError: 'x'", 4) == cause


def test_what_a_run_went_on_after_is_not_why_it_ended() -> None:
    steps = [f"step: {step}  loss: 2.1" for step in range(10, 70, 10)]
    lines = ["OSError: [Errno 5] Input/output error", *steps, OOM]

    root, outlived = weighed(enumerate(lines, start=1))

    assert ("gpu_oom", False) == (root.rule.name, root.went_on)
    assert ("disk_io", True) == (outlived.rule.name, outlived.went_on)


def test_a_step_told_by_many_ranks_is_one_step() -> None:
    told_by_all = [f"[rank{rank}]: step: 10  loss: 2.1" for rank in range(64)]

    cause = classify(enumerate([OOM, *told_by_all], start=1))

    assert cause is not None
    assert "user_code/gpu_oom" == cause.category


def test_an_informational_xid_is_never_a_cause_alone() -> None:
    line = "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping"
    frame = classify_frame(evidence([(line, None, None)]))

    assert None is classify([(1, line)])
    assert [(None, "gpu_ecc_remap_event", INFORMATIONAL_RANK)] == frame.select(
        "cause_category", "cause_rule", "cause_rank"
    ).rows()


def test_a_worker_that_sleeps_in_the_kernel_is_the_hosts_doing() -> None:
    cause = classify_message(
        "[default] Worker pid=9000 stuck in uninterruptible sleep (D-state) for 60.1s (>= 60.0s); "
        "marking worker group UNHEALTHY and disabling restarts."
    )

    assert cause is not None
    assert "host/host_kernel_or_reboot" == cause.category


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (
            "(raylet) Memory on the node (IP: 10.0.3.4) where the task (pid=8080, memory "
            "used=46.11GB) was running was 228.40GB / 240.00GB (0.951667), which exceeds the "
            "memory usage threshold of 0.95. Ray killed this worker",
            "host/host_oom",
        ),
        (
            "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up "
            "environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.",
            "gpu_hardware/gpu_unavailable",
        ),
        (
            "CUDA error: system has unsupported display driver / cuda driver combination",
            "gpu_hardware/gpu_unavailable",
        ),
        (
            "RuntimeError: Found no NVIDIA driver on your system.",
            "gpu_hardware/gpu_unavailable",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: TPU backend setup/compile error "
            "(Unavailable).",
            "gpu_hardware/gpu_unavailable",
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 54, Auxiliary power is not connected to the GPU board",
            "gpu_hardware/gpu_thermal_power",
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 8, pid=211, name=python, Channel 00000010",
            "gpu_hardware/gpu_engine_timeout",
        ),
        (
            "Memory failure: 0x7f332: Sending SIGBUS to python:22112 due to hardware memory "
            "corruption",
            "host/host_kernel_or_reboot",
        ),
        ("systemd-shutdown[1]: Rebooting.", "host/host_kernel_or_reboot"),
        ("reboot: Restarting system", "host/host_kernel_or_reboot"),
        ("srun: error: Aborting, io error and missing step on node 3", "scheduler/node_fail"),
        ("srun: error: Cannot communicate with node 3.  Aborting job.", "scheduler/node_fail"),
        (
            "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was "
            "likely closed. Did the remote server shutdown or crash?",
            "network/rendezvous_store",
        ),
        (
            "RuntimeError: Gloo connectFullMesh failed with "
            "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
            "network/rendezvous_store",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Connect timeout.",
            "network/rendezvous_store",
        ),
        (
            "An ORTE daemon has unexpectedly failed after launch and before communicating back "
            "to mpirun.",
            "network/mpi_runtime",
        ),
        ("mount.nfs: Connection timed out", "storage/fs_mount_or_stale"),
        (
            "google.resumable_media.common.InvalidResponse: ('Request failed with status code', "
            "503, 'Expected one of', <HTTPStatus.OK: 200>)",
            "storage/object_store",
        ),
        ("gcsfs.retry.HttpError: Internal Error, 500", "storage/object_store"),
        (
            "ValueError: UNAVAILABLE: CURL error[28] Timeout was reached: GET "
            "https://storage.googleapis.com/storage/v1/b/ckpt/o/step_100",
            "storage/object_store",
        ),
        (
            "tensorflow.python.framework.errors_impl.UnavailableError: Error executing an HTTP "
            "request: libcurl code 56 meaning 'Failure when receiving data' when reading "
            "gs://bucket/ckpt",
            "storage/object_store",
        ),
        (
            "OSError: When reading information for key 'data/0.parquet' in bucket 'train': AWS "
            "Error NETWORK_CONNECTION during HeadObject operation: curlCode: 28",
            "storage/object_store",
        ),
        (
            "obstore.exceptions.GenericError: Generic S3 error: Error after 10 retries in 182.1s",
            "storage/object_store",
        ),
        (
            "huggingface_hub.errors.HfHubHTTPError: 504 Server Error: Gateway Time-out for url: "
            "https://huggingface.co/api/models/x",
            "storage/object_store",
        ),
        (
            "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: "
            "https://huggingface.co/x/resolve/main/config.json",
            "user_code/file_not_found",
        ),
        ("RuntimeError: Triton Error [CUDA]: out of memory", "user_code/gpu_oom"),
        ("RuntimeError: Triton Error [CUDA]: invalid argument", "user_code/compile_triton"),
        (
            "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
            "user_code/illegal_memory_access",
        ),
        (
            "RuntimeError: Cannot find a working triton installation.",
            "user_code/import_or_dependency",
        ),
        (
            "AssertionError: Torch not compiled with CUDA enabled",
            "user_code/import_or_dependency",
        ),
        (
            "RuntimeError: [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 1800000 ms",
            "cascade/nccl_timeout",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: The following tasks are unhealthy "
            "(stopped sending heartbeats): /job:jax_worker/replica:0/task:14",
            "cascade/peer_rank_failed",
        ),
        (
            "coordination_service_agent.cc:369] Polled an error from coordination service (this "
            "can be an error from this or another task).",
            "cascade/peer_rank_failed",
        ),
    ],
    ids=lambda value: None if "/" in value and " " not in value else value[:40],
)
def test_what_a_library_says_of_its_failure_is_told_its_category(text: str, category: str) -> None:
    cause = classify_message(text)

    assert cause is not None
    assert category == cause.category


@pytest.mark.parametrize(
    "text",
    [
        "[WARNING] [engine.py:2750:load_checkpoint] Unable to find latest file at /ckpt/latest, if "
        "trying to load latest checkpoint please ensure this file exists or pass an explicit "
        "checkpoint tag when loading a checkpoint.",
        "Checkpoint not found in /ckpt/run1, starting from scratch",
    ],
)
def test_a_run_that_begins_without_a_checkpoint_failed_to_load_none(text: str) -> None:
    assert None is classify_message(text)


@pytest.mark.parametrize("number", [13, 31, 43, 45, 68, 109])
def test_an_xid_that_suspects_the_application_is_no_hardware_root(number: int) -> None:
    told = classify_message(f"NVRM: Xid (PCI:0000:01:00): {number}, pid=123, name=python")

    assert told is not None
    assert told.rank >= 60


# --- exits


@pytest.mark.parametrize(
    ("exit_code", "signal", "category"),
    [
        (137, None, "unknown/killed"),
        (-9, None, "unknown/killed"),
        (None, 9, "unknown/killed"),
        (0, 9, "unknown/killed"),
        (-11, None, "user_code/native_crash"),
        (139, None, "user_code/native_crash"),
        (None, 7, "user_code/native_crash"),
        (134, None, "user_code/native_crash"),
        (143, None, "cascade/peer_rank_failed"),
        (-15, None, "cascade/peer_rank_failed"),
        (130, None, "scheduler/user_cancelled"),
        (127, None, "user_code/file_not_found"),
        (0, 53, "user_code/file_not_found"),
        (None, 54, "scheduler/node_fail"),
        (0, None, None),
        (1, None, None),
        (2, None, None),
        (255, None, None),
        (-1000, None, None),
        (None, 10**9, None),
        (None, None, None),
    ],
)
def test_a_number_tells_how_a_process_ended(
    exit_code: int | None, signal: int | None, category: str | None
) -> None:
    told = classify_message(None, exit_code, signal)

    assert category == (told.category if told else None)


@pytest.mark.parametrize(
    "word",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.",
        "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=1.0.",  # up to Slurm 20
        "slurmstepd: error: Detected 1 oom-kill event(s) in step 1.batch cgroup.",
    ],
)
def test_sigkill_is_out_of_memory_only_with_a_word_of_it(word: str) -> None:

    assert "unknown/killed" == category_of(None, 137)
    assert "unknown/killed" == category_of("Signal 9 (SIGKILL) received by PID 7", -9)
    assert "host/host_oom" == category_of(word, 137)


def test_a_signal_seen_on_the_process_itself_goes_before_one_that_a_wrapper_reports() -> None:
    direct = causes_exits.judged(-9, None)
    reported = causes_exits.judged(137, None)
    of_a_scheduler = causes_exits.judged(0, 9)

    assert direct is not None and reported is not None and of_a_scheduler is not None
    assert (50, 66, 66) == (direct.rank, reported.rank, of_a_scheduler.rank)


@pytest.mark.parametrize(
    ("message", "exit_code", "rule"),
    [
        ("KeyError: 'x'", 137, "python_exception"),
        (VICTIM, -11, "exit_sigsegv"),
        (VICTIM, -15, "peer_rank_failed"),
        ("nothing that a rule knows", -6, "exit_sigabrt"),
        ("nothing that a rule knows", 1, None),
    ],
)
def test_a_message_that_explains_an_exit_goes_before_its_number(
    message: str, exit_code: int, rule: str | None
) -> None:
    told = classify_message(message, exit_code)

    assert rule == (told.rule if told else None)


# --- evidence


@pytest.mark.parametrize("what", ["NaN", "Inf"])
def test_a_run_that_gives_up_over_its_loss_has_diverged(what: str) -> None:
    assert "user_code/nan_or_divergence" == category_of(f"Aborting training due to {what} loss.")
    assert "user_code/nan_or_divergence" != category_of("aborted, not due to a NaN loss")


def test_evidence_is_the_line_without_rank_prefix_and_colours() -> None:
    told = classify_message(f"\x1b[31m[default3]:[rank11]: {OOM}\x1b[0m")

    assert told is not None
    assert OOM == told.evidence


def test_evidence_of_a_long_line_is_the_part_that_matched() -> None:
    told = classify_message("é" * 9_000 + " " + OOM + " x" * 9_000)

    assert told is not None
    assert OOM in told.evidence
    assert len(told.evidence) <= 500


def test_the_line_of_the_evidence_counts_from_where_the_message_begins() -> None:
    message = "worker log follows\nsome context\n" + OOM
    frame = evidence([(message, 1, None), (message, 1, None), (None, -9, None)]).with_columns(
        attrs=pl.Series([json.dumps({"line": 40}), None, '{"line": 7, "x": 1}'])
    )

    assert [42, None, 7] == classify_frame(frame)["evidence_line"].to_list()


def test_a_progress_bar_hides_no_error_behind_carriage_returns() -> None:
    told = classify_message("\r 10%|#   | 1/10\r 20%|##  | 2/10\rKeyError: 'labels'\r")

    assert told is not None
    assert "user_code/python_exception" == told.category


def test_lines_of_code_that_a_traceback_quotes_are_no_evidence() -> None:
    message = (
        "RuntimeError: it broke\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in f\n'
        "    if bad: raise FileNotFoundError('corrupt sample')\n"
        "[rank1]:     raise PermissionError(path)\n"
    )

    assert "unknown/unhandled_runtime_error" == category_of(message)


def test_what_is_tried_again_has_not_failed() -> None:
    assert None is category_of("WARNING Retrying after ConnectionResetError(104, 'reset by peer')")
    assert None is not category_of("giving up, not retrying: botocore.exceptions.ClientError")


# --- frames


def test_a_frame_is_judged_as_its_rows_are() -> None:
    rows = rows_of(messages("written"))[::5]
    frame = classify_frame(evidence(rows))
    expected = [classify_message(*row) for row in rows]

    assert [
        (None,) * 4 if one is None
        else (None if one.rank == INFORMATIONAL_RANK else one.category, one.rule, one.rank,
              one.evidence)
        for one in expected
    ] == frame.select("cause_category", "cause_rule", "cause_rank", "evidence").rows()  # fmt: skip


def test_a_line_is_judged_alike_whatever_stands_beside_it() -> None:
    rng = random.Random(7)
    told = [line for one in messages("written") for line in (one.text or "").splitlines()]
    told = rng.sample(told, 150)
    alone = {line: judged_lines([line]) for line in told}

    for _ in range(100):
        lines = rng.choices(told, k=rng.choice((2, 3, 5, 20)))

        assert [
            (place, *one[1:]) for place, line in enumerate(lines) for one in alone[line]
        ] == judged_lines(lines)


def judged_lines(lines: list[str]) -> list[tuple[int, int, str]]:
    places, rules, texts = causes_lines.judged(causes_lines.as_series(lines), shipped())
    return list(zip(places.tolist(), rules.tolist(), texts.to_list(), strict=True))


def test_a_frame_keeps_its_rows_and_columns() -> None:
    frame = evidence([(OOM, 1, None), (None, None, None), (OOM, 1, None)]).with_row_index("row")

    told = classify_frame(frame)

    assert frame.equals(told.select(frame.columns))
    assert ["user_code/gpu_oom", None, "user_code/gpu_oom"] == told["cause_category"].to_list()


def test_an_empty_frame_is_judged() -> None:
    assert 0 == classify_frame(evidence([])).height


def test_judging_again_gives_the_same_answer_in_another_process() -> None:
    program = (
        "from ingest.causes import classify_message as c; from ingest.causes_rules import shipped;"
        f"print(c({OOM!r}), shipped().fingerprint)"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip

    assert 1 == len(answers)


# --- rules


def test_every_rule_names_a_category_with_an_attribution_and_a_source() -> None:
    lacking = [
        rule["name"]
        for rule in RULES
        if rule["category"] not in shipped_attributions() or not rule["source"]
    ]

    assert [] == lacking


def test_rule_names_are_unique() -> None:
    names = [rule["name"] for rule in RULES]

    assert sorted(set(names)) == sorted(names)


def test_every_category_that_lines_can_prove_has_a_rule() -> None:
    concluded = {"unknown/no_signature", "unknown/no_end_recorded", "unknown/unclassified"}

    assert concluded == shipped_attributions().keys() - {rule["category"] for rule in RULES}


def test_every_rule_is_the_answer_to_some_written_message() -> None:
    answers = set(classify_frame(evidence(rows_of(messages("written"))))["cause_rule"])
    answers |= {finding.rule.name for log in logs("written")
                for finding in weighed(enumerate(log.lines, start=1))}  # fmt: skip

    assert set() == {rule["name"] for rule in RULES} - answers


def test_the_table_of_attributions_has_every_category_once() -> None:
    with (ROOT / "queries" / "failure_categories.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == len({(row["domain"], row["category"]) for row in rows})


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\bfallen off the bus\b", {"fallen off the bus"}),
        (r"(?i)Out Of Memory: kill", {"out of memory: kill"}),
        (r"(?:Key|Value)Error", {"error"}),
        (r"\b(?:ESTALE|EROFS)\b", {"estale", "erofs"}),
        (r"ab|cde", None),
        (r"\d+ .{0,40}", None),
        (r"foo(?:bar)?", {"foo"}),
        (r"foo(?:barbaz)+", {"barbaz"}),
        (r"x{0}yellow", {"yellow"}),
        (r"[abc]{3}hello", {"hello"}),
        (r"[]x]abcd", {"abcd"}),
        (r"a\.b\(c", {"a.b(c"}),
        (r"abc*d", None),
        (r"(?x) a b c d", None),
        (r"\x41bcdef", None),
        (r"(?P<name>needle)", {"needle"}),
    ],
)
def test_the_words_that_a_pattern_needs(pattern: str, words: set[str] | None) -> None:
    assert words == required(pattern)


def test_words_spare_patterns_and_change_no_answer() -> None:
    everywhere = RuleBook(
        tuple(without_words(rule) for rule in shipped().rules),
        shipped().ignored,
        None,
        shipped().unexplaining,
        "without words",
    )
    rows = rows_of([*messages("written"), *messages("held_back")])
    rows += [("\n".join(log.lines), None, None) for log in logs("written")]

    assert classify_frame(evidence(rows)).equals(classify_frame(evidence(rows), everywhere))


# --- rules of one's own


def test_what_jax_guesses_of_a_leader_that_is_gone_is_no_preemption() -> None:
    guess = (
        "F1103 08:11:42.120001 771 client.h:77] Terminating process because the JAX distributed "
        "service detected fatal errors. absl::Status: UNAVAILABLE: Either the leader task was "
        "preempted/died/restarted unexpectedly or this task is experiencing network issues."
    )

    cause = classify([(1, guess)])

    assert "cascade/peer_rank_failed" == getattr(cause, "category", None)


@pytest.mark.parametrize(
    "code", ["HSA_STATUS_ERROR_MEMORY_FAULT", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"]
)
def test_a_memory_fault_that_rocm_names_by_its_code_is_an_illegal_access(code: str) -> None:
    cause = classify(
        [(1, f":0:rocdevice.cpp :2701: 41 us: Queue 0x7f10 aborting with error : {code}")]
    )

    assert "user_code/illegal_memory_access" == getattr(cause, "category", None)


@pytest.mark.parametrize("wanted", ["reserve 4.75G at the bottom of memory", "allocate 96.20M"])
def test_a_tpu_that_could_not_reserve_memory_ran_out_of_it(wanted: str) -> None:
    lines = [
        "RuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:",
        f"Attempting to {wanted}. That was not possible. There are 1.10G free.",
    ]

    cause = classify(enumerate(lines, start=1))

    assert ("user_code/gpu_oom", 2) == told(cause)


@pytest.mark.parametrize(
    "line",
    [
        "ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_2:1/RoCE (synd 0x15)",
        "n1:70:71 [3] f:12 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid",
        "NCCL WARN NET/OFI Unable to register memory (type = 2). RC: -22, Error: Invalid",
    ],
)
def test_a_link_that_mlx5_or_efa_says_is_broken_is_the_links(line: str) -> None:
    assert "network/ib_link" == getattr(classify([(1, line)]), "category", None)


def test_a_rank_that_horovod_shut_down_fell_after_another() -> None:
    line = (
        "W tensorflow/op_kernel.cc:1318] OP_REQUIRES failed : Aborted: Horovod has been shut down. "
        "This was caused by an exception on one of the ranks or an attempt to allreduce a tensor"
    )

    assert "cascade/peer_rank_failed" == getattr(classify([(1, line)]), "category", None)
    assert "user_code/gpu_oom" == getattr(classify([(1, line), (2, OOM)]), "category", None)


def test_a_loss_that_is_not_finite_diverged() -> None:
    line = "[rank0]: RuntimeError: Loss is not finite (global_avg_loss=nan) at step 35. Stopping."

    assert "user_code/nan_or_divergence" == getattr(classify([(1, line)]), "category", None)


def test_a_graph_that_a_gaudi_could_not_compile_is_a_failure_to_compile() -> None:
    line = "[rank3]: RuntimeError: Graph compile failed. synStatus=synStatus 26 [Generic failure]."

    assert "user_code/compile_dynamo_inductor" == getattr(classify([(1, line)]), "category", None)


def test_a_rule_of_ones_own_knows_what_no_shipped_rule_does() -> None:
    line = "acme.StoreError: lease of shard-4 was lost"

    assert "unknown/unhandled_runtime_error" == category_of(line)
    assert Classified(
        "storage/fs_mount_or_stale", "our_lease", 40, line, 0
    ) == classify_message(line, book=with_rules_of_user([OWN]))  # fmt: skip


def test_a_rule_of_ones_own_judges_a_line_before_every_shipped_rule() -> None:
    own = {"name": "quiet", "category": "host/host_oom", "kind": "informational",
           "pattern": "CUDA out of memory"}  # fmt: skip

    assert None is classify([(1, OOM)], with_rules_of_user([own]))


def test_a_rule_of_ones_own_is_believed_on_a_line_that_is_else_nothing() -> None:
    own = {"name": "retries", "category": "network/tcp_connection", "pattern": "Retrying"}

    told = classify_message("Retrying in 4 s", book=with_rules_of_user([own]))

    assert told is not None
    assert "retries" == told.rule


def test_a_rule_without_a_needed_word_is_looked_for_on_every_line() -> None:
    own = {"name": "code", "category": "unknown/killed", "pattern": r"^\[\d\d\]$"}
    book = with_rules_of_user([own])

    assert None is book.words
    assert "code" == getattr(classify([(1, "fine"), (2, "[77]")], book), "rule", None)
    assert "user_code/gpu_oom" == getattr(classify([(1, OOM)], book), "category", None)


def test_a_category_of_ones_own_brings_its_attribution() -> None:
    own = {"name": "chiller", "category": "facility/cooling", "attribution": "infra",
           "patterns": ["chiller alarm"]}  # fmt: skip
    book = with_rules_of_user([own])

    assert {"facility/cooling": "infra"} == book.attributions
    assert "facility/cooling" == getattr(classify([(1, "chiller alarm 7")], book), "category", None)


def test_other_rules_have_another_fingerprint() -> None:
    changed = {**OWN, "rank": 12}

    assert 3 == len(
        {shipped().fingerprint, with_rules_of_user([OWN]).fingerprint,
         with_rules_of_user([changed]).fingerprint}
    )  # fmt: skip
    assert with_rules_of_user([OWN]).fingerprint == with_rules_of_user([dict(OWN)]).fingerprint


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": ""}, "name must be a text"),
        ({"name": "two words"}, "must be a word"),
        ({"name": "scheduler"}, "'scheduler' is for causes that no rule told"),
        ({"name": "gpu_oom"}, "two failure rules named"),
        ({"category": "storage"}, "must be domain/category"),
        ({"category": "facility/cooling"}, "Say its attribution"),
        ({"category": "facility/cooling", "attribution": "weather"}, "is none of infra"),
        ({"attribution": "user"}, "is attributed to 'infra'"),
        ({"kind": "fatal"}, "kind 'fatal' is none of"),
        ({"rank": 0}, "from 1"),
        ({"rank": True}, "from 1"),
        ({"rank": "high"}, "from 1"),
        ({"pattern": ""}, "must be a list of texts"),
        ({"pattern": 7}, "must be a list of texts"),
        ({"pattern": []}, "give a pattern"),
        ({"pattern": "("}, "is no pattern"),
        ({"pattern": r"(?<!a)b"}, "use unless"),
        ({"pattern": ".*"}, "would match every line"),
        ({"pattern": "a{1,5000}{1,5000}"}, "is no pattern"),
        ({"unless": 3}, "unless must be"),
        ({"unless": "["}, "is no pattern"),
        ({"xids": ["79"]}, "xids must be"),
        ({"regex": "x"}, "'regex' is no setting"),
    ],
)
def test_a_mistaken_rule_is_refused_by_name(change: dict[str, object], why: str) -> None:
    with pytest.raises(UnusableArguments) as refused:
        with_rules_of_user([{**OWN, **change}])

    assert why in str(refused.value)
    assert "ett.toml" in str(refused.value)


def test_rules_are_read_from_a_configuration_file(tmp_path: Path) -> None:
    config = tmp_path / "ett.toml"
    config.write_text(
        "timezone = 'UTC'\n[[failure_rule]]\nname = 'x79'\ncategory = 'gpu_hardware/pcie_error'\n"
        "xids = [79]\n"
    )

    told = classify_message(
        "Xid (PCI:0000:01:00): 79, gone", book=read_settings(config).failure_rules
    )

    assert told is not None
    assert ("x79", 10) == (told.rule, told.rank)


@pytest.mark.parametrize("text", ["failure_rule = 7", "failure_rule = [7]", "[[", "\xff"])
def test_a_configuration_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    config = tmp_path / "ett.toml"
    config.write_bytes(text.encode("latin-1"))

    with pytest.raises(UnusableArguments):
        read_settings(config)


def test_the_rules_of_the_manual_are_good_rules() -> None:
    manual = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)

    book = with_rules_of_user(tomllib.loads(example)["failure_rule"])

    assert {"our_lease_server", "chiller", "harmless_here", "our_xids"} == {
        rule.name for rule in book.rules if rule.is_of_user
    }


def test_without_a_configuration_file_the_shipped_rules_hold(tmp_path: Path) -> None:
    assert shipped() is read_settings(tmp_path / "none.toml").failure_rules


# --- hostile text


HOSTILE = {
    "many words": lambda n: "error failed checkpoint nccl timeout " * (n // 36),
    "almost an xid": lambda n: "Xid (" * (n // 5),
    "open brackets": lambda n: "(" * n,
    "spaces": lambda n: " " * n,
    "escapes": lambda n: "\x1b[" * (n // 2),
    "prefixes": lambda n: "[rank0]: " * (n // 9),
    "dots": lambda n: ".cu:1: Assertion " * (n // 16),
    "equal signs": lambda n: "loss = " * (n // 7),
    "one letter": lambda n: "a" * n,
    "letters and an end": lambda n: "a." * (n // 2) + "!",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_a_hostile_text_no_faster_than_its_length(name: str) -> None:
    small, large = (quickest(HOSTILE[name](length)) for length in (8 * 1024, 64 * 1024))

    # eight times the text; quadratic work would take sixty-four times as long
    assert large < 24 * small


@pytest.mark.parametrize(
    "text", ["\x00" * 500 + OOM, "\ud800" + OOM, "\udcff\x00\n" + OOM, "\n" * 60_000 + OOM]
)
def test_a_text_of_any_characters_is_judged(text: str) -> None:
    told = classify_message(text)

    assert told is not None
    assert "user_code/gpu_oom" == told.category
    assert told.evidence.isprintable()
    assert "user_code/gpu_oom" == getattr(classify([(1, text)]), "category", None)


def test_only_the_first_64_ki_characters_of_a_message_are_read() -> None:
    assert None is classify_message("x" * MESSAGE_CHARACTERS + "\n" + OOM)


def test_random_text_is_judged_without_an_error() -> None:
    rng = random.Random(3)
    words = [
        *(shipped().words or ()),
        "\n",
        "\r",
        "\x00",
        "[rank1]:",
        "'",
        '"',
        "\\",
        "é",
        "\U0001f600",
    ]
    rows = [(" ".join(rng.choices(words, k=30)), rng.randint(-300, 300), rng.randint(-3, 70))
            for _ in range(300)]  # fmt: skip

    told = classify_frame(evidence(rows))

    assert 300 == told.height
    assert max(map(len, told["evidence"].drop_nulls())) <= 500


def quickest(text: str) -> float:
    """Seconds of the fastest of five judgements of a text."""
    frame = evidence([(text, None, None)])
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        classify_frame(frame)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def evidence(rows: Sequence[tuple[str | None, int | None, int | None]]) -> pl.DataFrame:
    schema = {"message": pl.String, "exit_code": pl.Int64, "signal": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def rows_of(labelled: list[Message]) -> list[tuple[str | None, int | None, int | None]]:
    return [(one.text, one.exit_code, one.signal) for one in labelled]


def without_words(rule: Rule) -> Rule:
    return replace(rule, pattern=replace(rule.pattern, words=None))


def category_of(message: str | None, exit_code: int | None = None) -> str | None:
    told = classify_message(message, exit_code)
    return None if told is None else told.category


def told(cause: Cause | None) -> tuple[str, int | None]:
    return (NONE, None) if cause is None else (cause.category, cause.line_number)


def error_of(file: Path) -> str:
    message = json.loads(file.read_bytes())["message"]
    return str(message["message"] if isinstance(message, dict) else message)
