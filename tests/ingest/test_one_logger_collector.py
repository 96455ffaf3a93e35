"""nv-one-logger's JSON lines: runs made by hand, and the real dumps that are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ingest.collectors.base import Dump
from ingest.collectors.one_logger import ONE_LOGGER
from ingest.collectors.one_logger_records import Record, records_in
from ingest.collectors.one_logger_usual import usual, usual_record
from ingest.collectors.registry import COLLECTORS
from ingest.dumps import HEAD_BYTES
from ingest.errors import UnreadableDump
from ingest.events import Event, Reason, Rejected, Says
from tests.ingest.launches import attempts, seconds_by_area
from tests.ingest.mutated_dumps import READING, applied, dump_of, loadable, mutations
from tests.ingest.mutated_dumps import read as read_whatever
from tests.queries.engine import ingest, rows

BEGUN = 1_795_150_800  # 2026-11-20T05:00:00Z
LATER_US = (BEGUN + 86_400) * 1_000_000
DAY_US = 86_400_000_000


class Writer:
    """Writes records as the library does: one process, its records counted."""

    def __init__(self, pid: int = 100, rank: int = 0, launch: str = "a") -> None:
        self.pid, self.rank, self.launch = pid, rank, launch
        self.count = 0

    def start(self, name: str, second: float, **said: object) -> str:
        return self._span("start", name, said, start_event=moment(second))

    def stop(self, name: str, second: float, **said: object) -> str:
        return self._span("stop", name, said, stop_event=moment(second))

    def complete(self, name: str, first: float, last: float, **said: object) -> str:
        ends = {"start_event": moment(first), "stop_event": moment(last)}
        return self._span("complete", name, said, **ends)

    def event(self, span: str, name: str, second: float, **said: object) -> str:
        return self._event("event", span, name, second, said)

    def error(self, span: str, second: float, **said: object) -> str:
        return self._event("application_error", span, "error", second, said)

    def begin(self, second: float = 0, tag: str = "pretrain", **said: Any) -> list[str]:
        """The application span starts and says whose it is."""
        told = {"session_tag": tag, "rank": self.rank, "node_name": "n1", "world_size": 64, **said}
        return [
            self.start("application", second),
            self.event("application", "one_logger_initialization", second, **told),
        ]

    def progress(self, iteration: int, second: float, **said: object) -> str:
        name = "training_metrics_update"
        return self.event("training_loop", name, second, current_iteration=iteration, **said)

    def saved(self, span: str, step: int, second: float) -> str:
        return self.event(span, "save_checkpoint_success", second, current_iteration=step)

    def _event(self, kind: str, span: str, name: str, second: float, said: dict[str, Any]) -> str:
        attributes = {**said, "timestamp_msec": milliseconds(second)}
        event = {"name": name, "attributes": attributes}
        return self._line({"type": kind, "span_id": self._id(span), "event": event})

    def _span(self, kind: str, name: str, said: dict[str, Any], **ends: object) -> str:
        fields = {"type": kind, "id": self._id(name), "name": name, "attributes": said}
        return self._line(fields | ends)

    def _line(self, fields: dict[str, Any]) -> str:
        self.count += 1
        told = {**fields, "count": self.count, "pid": self.pid}
        return json.dumps(told, separators=(",", ":"))

    def _id(self, span: str) -> str:
        return f"{self.launch}{self.rank}-{span}"


def milliseconds(second: float) -> int:
    return round((BEGUN + second) * 1000)


def moment(second: float) -> dict[str, Any]:
    return {"name": "x", "attributes": {"timestamp_msec": milliseconds(second)}}


def a_run(writer: Writer) -> list[str]:
    """Start-up, a resume, two saves, an evaluation, and the end that was aimed at."""
    save = "checkpoint_save_sync"
    return [
        *writer.begin(0),
        writer.event("application", "update_training_telemetry_config", 0, perf_tag="llama"),
        writer.complete("distributed_code_initialization", 1, 2),
        writer.complete("data_loader_initialization", 2, 3),
        writer.complete("model_initialization", 3, 5),
        writer.complete("optimizer_initialization", 5, 6),
        writer.complete("checkpoint_load", 6, 9),
        writer.complete("pt2_compilation", 9, 12, cache_hit=True),
        writer.start("training_loop", 12, train_iterations_start=100, train_iterations_target=200),
        writer.progress(149, 60, train_samples_start=800, num_train_samples=400),
        writer.start(save, 60, current_iteration=150, checkpoint_strategy="sync"),
        writer.saved(save, 150, 64),
        writer.stop(save, 65, current_iteration=150, checkpoint_strategy="sync"),
        writer.start("validation_loop", 65),
        writer.event("validation_loop", "validation_metrics_update", 70, current_iteration=149),
        writer.stop("validation_loop", 70),
        writer.progress(199, 110),
        writer.stop("training_loop", 112, train_iterations_start=100),
        writer.stop("application", 115, duration_msec=115_000),
    ]


def test_spans_are_the_phases_of_a_launch() -> None:
    told = read(*a_run(Writer()))

    assert [
        ("phase_start", "trainer_init", "process_group_init", 1, 2),
        ("phase_start", "trainer_init", "preproc_creation", 2, 3),
        ("phase_start", "trainer_init", "train_module_creation", 3, 5),
        ("phase_start", "trainer_init", "train_module_creation", 5, 6),
        ("phase_start", "checkpoint_load", None, 6, 9),
        ("phase_start", "pt2_compile", None, 9, 12),
        ("phase_start", "training", None, 12, None),
        ("phase_start", "checkpoint_save", None, 60, None),
        ("phase_end", "checkpoint_save", None, 65, None),
        ("phase_start", "evaluation", None, 65, None),
        ("phase_end", "evaluation", None, 70, None),
        ("phase_end", "training", None, 112, None),
    ] == [
        (e["event"], e["phase"], e.get("stage"), second(e), second(e, "end_us"))
        for e in told
        if "phase" in e
    ]
    assert "hit" == of(told, "phase_start")[5]["cache"]
    assert [0] == [second(e) for e in of(told, "attempt_start")]


def test_every_event_names_the_job_the_launch_the_rank_and_the_host() -> None:
    told = read(*a_run(Writer(rank=3)))

    assert {("pretrain", "a3-application", 3, "n1")} == {
        (e["job_id"], e["run_key"], e["rank"], e["host"]) for e in told
    }
    assert not any("attempt" in e or "gpus" in e for e in told)


def test_steps_count_completed_iterations_wherever_they_are_told() -> None:
    told = read(*a_run(Writer()))
    (training,) = (e for e in of(told, "phase_start") if e["phase"] == "training")

    assert 100 == training["resumed_from_step"]
    assert [(150, 1200), (200, None)] == [
        (e["step"], e.get("samples")) for e in of(told, "progress")
    ]
    assert {150} == {e["step"] for e in told if e.get("phase") == "checkpoint_save"}


def test_metadata_says_who_the_job_is_and_what_it_runs_under() -> None:
    metadata = [
        *("team:ranking", "USER:ann", "model:llama:70b", "gpus:64", "slurm_job_id:48213"),
        *("SLURM_RESTART_COUNT:2", "slurm_jobid:none", "cell:x", "empty:", ":", "none", 7, None),
    ]
    job, start, *_ = read(*Writer().begin(custom_metadata=metadata))

    assert ("ranking", "ann", "llama:70b", 64) == tuple(
        job[key] for key in ("team", "user", "model", "gpus")
    )
    assert {"world_size": 64, "slurm_jobid": "none", "cell": "x"} == json.loads(job["attrs"])
    assert ("48213", 2) == (start["scheduler_job"], start["run_restart"])


def test_metadata_of_a_variable_that_is_not_set_says_nothing() -> None:
    names = ("team", "user", "model", "workload", "cluster", "partition", "priority", "gpu_type")
    unset = [f"{name}:None" for name in (*names, "gpus", "slurm_job_id", "cell")]
    job, *_ = read(*Writer().begin(custom_metadata=unset))

    assert not job.keys() & {*names, "gpus", "scheduler_job"}
    assert {"world_size": 64} == json.loads(job["attrs"])


@pytest.mark.parametrize(
    ("told", "job"),
    [
        ("17_3", "17_3"),
        ("17+1", "17+1"),
        ("0", None),
        ("17_", None),
        ("17_x", None),
        ("\u0661", None),
    ],
)
def test_a_task_of_an_array_is_a_job_of_the_scheduler(told: str, job: str | None) -> None:
    _, start, *_ = read(*Writer().begin(custom_metadata=[f"slurm_job_id:{told}"]))

    assert job == start.get("scheduler_job")


def test_what_the_configuration_says_comes_too() -> None:
    writer = Writer()
    told = read(
        *writer.begin(),
        writer.event(
            "application",
            "update_training_telemetry_config",
            1,
            perf_tag="bs512",
            custom_metadata=["slurm_job_id:7"],
        ),
        writer.complete("model_initialization", 2, 3),
    )

    assert {"perf_tag": "bs512"} == json.loads(told[2]["attrs"])
    assert [None, None, "7", "7"] == [e.get("scheduler_job") for e in told]


# Saves


def saves(*, confirmed: tuple[bool, ...]) -> list[bool | None]:
    """What the ends of saves say, of which some are confirmed."""
    writer = Writer()
    lines = writer.begin()
    for number, is_confirmed in enumerate(confirmed):
        lines.append(writer.start("checkpoint_save_sync", 10 * number, current_iteration=number))
        if is_confirmed:
            lines.append(writer.saved("checkpoint_save_sync", number, 10 * number + 1))
        lines.append(writer.stop("checkpoint_save_sync", 10 * number + 2))
    return [e.get("ok") for e in of(read(*lines), "phase_end")]


def test_a_save_is_good_if_its_success_is_told_and_failed_only_where_that_is_usual() -> None:
    assert [True, False, True] == saves(confirmed=(True, False, True))
    assert [None, None] == saves(confirmed=(False, False))


def test_saves_before_the_first_that_is_confirmed_turn_out_to_have_failed() -> None:
    writer, save = Writer(), "checkpoint_save_sync"
    told = read(
        *writer.begin(),
        writer.start(save, 10, current_iteration=100),
        writer.stop(save, 12, current_iteration=100),
        writer.complete(save, 20, 21, current_iteration=200),
        writer.start(save, 30, current_iteration=300),
        writer.saved(save, 300, 31),
        writer.stop(save, 32),
    )

    assert [
        ("phase_start", 100, 10, None, None),
        ("phase_end", 100, 12, None, None),
        ("phase_start", 200, 20, 21, None),
        ("phase_start", 300, 30, None, None),
        ("phase_start", 100, 10, 12, False),
        ("phase_start", 200, 20, 21, False),
        ("phase_end", None, 32, None, True),
    ] == [
        (e["event"], e.get("step"), second(e), second(e, "end_us"), e.get("ok"))
        for e in told
        if "phase" in e
    ]
    (run,) = attempts(told)
    assert [(100, "failed"), (200, "failed"), (300, "good")] == [
        (one.step, one.status) for one in run.saves
    ]


def test_an_async_save_is_whole_with_the_word_of_its_success() -> None:
    writer = Writer()
    told = read(
        *writer.begin(),
        writer.start("checkpoint_save_async", 10, current_iteration=50),
        writer.stop("checkpoint_save_async", 11, current_iteration=50),
        writer.start("checkpoint_save_async", 20, current_iteration=60),
        writer.stop("checkpoint_save_async", 21, current_iteration=60),
        writer.saved("application", 50, 25),
    )

    assert [
        ("phase_start", "checkpoint_save", "async", 50, None, 10),
        ("phase_start", "checkpoint_upload", None, 50, None, 10),
        ("phase_end", "checkpoint_save", "async", None, None, 11),
        ("phase_start", "checkpoint_save", "async", 60, None, 20),
        ("phase_end", "checkpoint_save", "async", None, None, 21),
        ("phase_start", "checkpoint_upload", None, 60, None, 20),
        ("phase_end", "checkpoint_upload", None, 50, True, 25),
    ] == [
        (
            e["event"],
            e["phase"],
            e.get("mode"),
            e.get("step") if e["event"] == "phase_start" or "upload" in e["phase"] else None,
            e.get("ok"),
            second(e),
        )
        for e in told
        if "phase" in e
    ]


def test_a_finalization_ends_the_oldest_async_save() -> None:
    writer = Writer()
    told = read(
        *writer.begin(),
        *(writer.start("checkpoint_save_async", step, current_iteration=step) for step in (5, 6)),
        writer.complete("checkpoint_save_finalization", 8, 9),
        writer.saved("application", 5, 10),
    )

    assert [(5, 9)] == [(e["step"], second(e)) for e in of(told, "phase_end")]


def test_a_rank_that_never_says_that_saves_are_whole_leaves_it_to_the_one_that_does() -> None:
    zero, one = Writer(pid=1, rank=0), Writer(pid=2, rank=1)
    save = "checkpoint_save_async"
    lines = [*zero.begin(), *one.begin(), *(w.start("training_loop", 5) for w in (zero, one))]
    for step in (10, 20, 30):
        for writer in (zero, one):
            lines.append(writer.start(save, step, current_iteration=step))
            lines.append(writer.stop(save, step + 1))
        lines.append(zero.saved("training_loop", step, step + 5))
    (run,) = attempts(read(*lines, zero.progress(39, 40), one.progress(39, 40)), LATER_US)

    assert ("lost", 9.0) == (run.outcome, seconds_by_area([run])["unsaved"])


# Errors and ends


def test_an_exception_that_leaves_several_spans_is_one_failure_where_it_began() -> None:
    writer = Writer()
    said = {
        "exception_type": "OutOfMemoryError",
        "exception_message": "CUDA out of memory",
        "exception_traceback": 'Traceback (most recent call last):\n  File "x.py", line 1',
    }
    told = read(
        *writer.begin(),
        writer.start("training_loop", 1),
        writer.start("forward", 2),
        writer.start("validation_loop", 2),
        writer.error("validation_loop", 3, error_message="Error in validation: ", **said),
        writer.stop("validation_loop", 3),
        writer.error("training_loop", 3, error_message="Error in training_loop: ", **said),
        writer.stop("training_loop", 3),
        writer.stop("application", 4),
    )
    (failure,) = of(told, "failure")

    assert ("validation_loop", '{"line": 6}') == (failure["component"], failure["attrs"])
    assert [
        "OutOfMemoryError: CUDA out of memory",
        "Error in validation: ",
        "Traceback (most recent call last):",
        '  File "x.py", line 1',
    ] == failure["message"].split("\n")
    assert [("failed", "OutOfMemoryError: CUDA out of memory", '{"line": 10}')] == [
        (e["outcome"], e["message"], e["attrs"]) for e in of(told, "attempt_end")
    ]


def test_a_timer_that_the_library_stops_is_no_error_but_its_save_is_broken() -> None:
    writer = Writer()
    told = read(
        *writer.begin(),
        writer.start("checkpoint_save_sync", 1),
        writer.error(
            "checkpoint_save_sync",
            2,
            error_message="Timer for span checkpoint_save_sync was automatically stopped",
        ),
        writer.stop("checkpoint_save_sync", 2),
    )

    assert [] == of(told, "failure")
    assert [False] == [e["ok"] for e in of(told, "phase_end")]


@pytest.mark.parametrize(
    ("target", "iterations", "error_at", "outcome"),
    [
        (200, [99, 199], None, "completed"),
        (205, [99, 199], None, "completed"),  # the last ones are fewer than are told together
        (900, [99, 199], None, None),
        (None, [99, 199], None, "completed"),
        (200, [99, 199], 1, "failed"),
        (200, [99, 199], 0, "completed"),  # it went on
        (None, [], None, "completed"),
    ],
)
def test_an_application_that_closes_says_how_it_ended_only_sometimes(
    target: int | None, iterations: list[int], error_at: int | None, outcome: str | None
) -> None:
    writer = Writer()
    lines = [
        *writer.begin(),
        writer.event(
            "application",
            "update_training_telemetry_config",
            1,
            log_every_n_train_iterations=10,
            train_iterations_target=target,
        ),
        writer.start("training_loop", 1, train_iterations_start=0),
    ]
    for number, iteration in enumerate(iterations):
        lines.append(writer.progress(iteration, 2 + number))
        if error_at == number:
            lines.append(writer.error("training_loop", 2 + number, error_message="link flapped"))
    told = read(*lines, writer.stop("training_loop", 9), writer.stop("application", 10))
    last = told[-1]

    assert ("alive" if outcome is None else "attempt_end", outcome, 10) == (
        last["event"],
        last.get("outcome"),
        second(last),
    )


@pytest.mark.parametrize("has_target", [False, True])
def test_a_launch_of_which_one_rank_tells_an_error_failed_though_another_closed_after_it(
    has_target: bool, tmp_path: Path
) -> None:
    """Where no target is stated, that a rank closes without an error says little."""
    aim = {"train_iterations_target": 10} if has_target else {}
    ranks = [Writer(pid=100 + rank, rank=rank) for rank in range(2)]
    for rank, writer in enumerate(ranks):
        lines = [
            *writer.begin(rank),
            writer.start("training_loop", 10, train_iterations_start=0, **aim),
            writer.progress(9, 600 + rank),
        ]
        if rank == 0:
            lines.append(writer.error("training_loop", 640, error_message="link flapped"))
        lines.append(writer.stop("training_loop", 645 + rank))
        lines.append(writer.stop("application", 650 + rank))
        (tmp_path / f"rank{rank}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ingest(tmp_path / "warehouse", *sorted(tmp_path.glob("rank*.jsonl")))

    [(outcome, lasted)] = rows(
        tmp_path / "warehouse",
        "select outcome, epoch(ended_at - started_at)::bigint from attempts",
    )
    assert ("completed" if has_target else "failed", 651) == (outcome, lasted)
    # what a process says that completed explains no failure
    assert [("link flapped",)] == rows(
        tmp_path / "warehouse", "select distinct example from unmatched_messages"
    )


@pytest.mark.parametrize("loop", ["testing_loop", "validation_loop"])
@pytest.mark.parametrize(("target", "outcome"), [(None, "completed"), (100, None)])
def test_an_application_that_only_tests_completes_where_no_target_is_stated(
    loop: str, target: int | None, outcome: str | None
) -> None:
    writer = Writer()
    config = "update_training_telemetry_config"
    told = read(
        *writer.begin(),
        writer.event("application", config, 0, train_iterations_target=target),
        writer.complete(loop, 1, 9),
        writer.stop("application", 10),
    )

    assert outcome == told[-1].get("outcome")


def test_an_application_that_did_nothing_did_not_complete() -> None:
    writer = Writer()
    told = read(*writer.begin(), writer.stop("application", 3))

    assert ["job", "attempt_start", "alive"] == [e["event"] for e in told]


# Who wrote it


def test_runs_appended_to_one_file_are_launches_of_one_job() -> None:
    first, again = Writer(launch="a"), Writer(launch="b")
    killed = [*first.begin(0), first.start("training_loop", 1), first.progress(9, 50)]
    told = read(*killed, *again.begin(100), *[again.start("training_loop", 101)])

    assert [("a0-application", 0), ("b0-application", 100)] == [
        (e["run_key"], second(e)) for e in of(told, "attempt_start")
    ]
    assert [] == of(told, "attempt_end")


def test_ranks_in_one_file_are_told_apart_by_their_pid_and_are_one_launch() -> None:
    zero, one = Writer(pid=1, rank=0), Writer(pid=2, rank=1)
    told = read(
        *zero.begin(0),
        *one.begin(0.002),
        zero.start("training_loop", 5),
        one.complete("model_initialization", 1, 4),
        one.start("training_loop", 5),
        one.progress(9, 50),
        zero.progress(9, 51),
    )

    assert {"a0-application"} == {e["run_key"] for e in told}
    assert [(0, 5), (1, 1), (1, 5)] == [(e["rank"], second(e)) for e in of(told, "phase_start")]
    assert [1, 0] == [e["rank"] for e in of(told, "progress")]


def test_hosts_that_share_a_pid_are_told_apart_by_the_count_of_their_records() -> None:
    zero, one = Writer(rank=0), Writer(rank=1)
    told = read(
        *zero.begin(0),
        zero.complete("data_loader_initialization", 1, 2),
        *one.begin(0),
        zero.complete("model_initialization", 2, 3),
        one.complete("data_loader_initialization", 1, 2),
    )

    assert [0, 0, 1] == [e["rank"] for e in of(told, "phase_start")]


def test_what_was_killed_is_not_given_what_a_later_process_of_its_pid_says() -> None:
    killed, later = Writer(pid=1, launch="a"), Writer(pid=1, launch="b")
    told = read(
        *killed.begin(0, tag="x"),
        *later.begin(100, tag="y"),
        later.start("training_loop", 105),
        later.progress(9, 150),
        later.stop("training_loop", 155),
        later.stop("application", 160),
    )

    assert [("x", 0), ("y", 100)] == [(e["job_id"], second(e)) for e in of(told, "attempt_start")]
    assert {"y"} == {e["job_id"] for e in told if second(e) > 100}
    assert ["completed"] == [e["outcome"] for e in of(told, "attempt_end")]


def test_a_rank_of_a_new_launch_takes_the_place_of_the_one_that_was_killed() -> None:
    killed = [Writer(pid=1, rank=rank, launch="a") for rank in range(2)]
    again = [Writer(pid=1, rank=rank, launch="b") for rank in range(2)]
    told = read(
        *(line for one in killed for line in one.begin(0)),
        *(line for one in again for line in one.begin(100)),
        *(one.complete("model_initialization", 101, 104) for one in again),
        *(one.start("training_loop", 105) for one in again),
    )

    assert [("b0-application", 0), ("b0-application", 1)] * 2 == [
        (e["run_key"], e["rank"]) for e in of(told, "phase_start")
    ]


def test_a_rank_that_begins_after_training_began_is_another_launch() -> None:
    zero, one = Writer(pid=1, rank=0, launch="a"), Writer(pid=2, rank=1, launch="b")
    told = read(*zero.begin(0), zero.start("training_loop", 5), *one.begin(100))

    assert ["a0-application", "b1-application"] == [e["run_key"] for e in of(told, "attempt_start")]


def test_ranks_whose_files_stand_one_behind_the_other_are_of_the_launches_they_were_in() -> None:
    writers = [Writer(pid=1, rank=rank, launch=launch) for rank in range(2) for launch in "ab"]
    told = read(
        *(line for one in writers for line in one.begin(one.rank + 100 * (one.launch == "b")))
    )

    assert [("a", 0, 0), ("b", 0, 100), ("a", 1, 1), ("b", 1, 101)] == [
        (e["run_key"][0], e["rank"], second(e)) for e in of(told, "attempt_start")
    ]


def test_a_dump_that_has_grown_says_the_same_and_more() -> None:
    lines = a_run(Writer())
    whole = read(*lines)

    for length in range(2, len(lines)):
        told = read(*lines[:length])

        assert whole[: len(told)] == told


def test_what_belongs_to_no_application_span_is_set_aside() -> None:
    writer = Writer()
    begun, _, *rest = a_run(writer)
    told = list(ONE_LOGGER.read(dump_of(encoded(begun, *rest)), READING))

    assert {(Reason.MISSING_FIELD, "no application span of the dump says which job this is")} == {
        (item.reason, item.detail) for item in told if isinstance(item, Rejected)
    }
    assert [*range(2, len(rest) + 2)] == [
        item.line_number for item in told if isinstance(item, Rejected)
    ]


# Lines


def test_records_torn_into_each_other_are_read_as_far_as_they_are_whole() -> None:
    writer = Writer()
    begin = writer.begin()
    torn = writer.complete("model_initialization", 1, 2)[:70]
    told = list(
        ONE_LOGGER.read(
            dump_of(
                encoded(
                    *begin,
                    torn + writer.complete("data_loader_initialization", 2, 3),
                    f"[rank0]: {writer.complete('checkpoint_load', 3, 4)}",
                    'loss: {"type": "mse"}',
                    "\x1b[32mstep 5\r step 6\x1b[0m",
                )
            ),
            READING,
        )
    )

    rejected = [item for item in told if isinstance(item, Rejected)]
    phases = [item.get("phase") for item in told[2:] if not isinstance(item, Rejected)]

    assert [(3, Reason.NOT_JSON)] == [(item.line_number, item.reason) for item in rejected]
    assert ["trainer_init", "checkpoint_load"] == phases


@pytest.mark.parametrize(
    ("changed", "reason", "detail"),
    [
        ({"id": None}, Reason.MISSING_FIELD, "complete without the id of its span"),
        ({"name": 7}, Reason.MISSING_FIELD, "complete without its name"),
        (
            {"stop_event": {}},
            Reason.BAD_TIMESTAMP,
            "timestamp_msec of stop_event is None",
        ),
        (
            {"start_event": {"attributes": {"timestamp_msec": 1e300}}},
            Reason.BAD_TIMESTAMP,
            "timestamp_msec of start_event is 1e+300",
        ),
        (
            {"start_event": {"attributes": {"timestamp_msec": float("nan")}}},
            Reason.BAD_TIMESTAMP,
            "timestamp_msec of start_event is nan",
        ),
    ],
)
def test_a_record_that_cannot_be_is_set_aside_with_its_reason(
    changed: dict[str, Any], reason: Reason, detail: str
) -> None:
    writer = Writer()
    begin = writer.begin()
    line = json.dumps(json.loads(writer.complete("model_initialization", 1, 2)) | changed)
    *_, rejected = ONE_LOGGER.read(dump_of(encoded(*begin, line)), READING)

    assert Rejected(3, reason, detail, line) == rejected


def test_spans_of_single_iterations_say_nothing() -> None:
    writer = Writer()
    fine = [
        writer.complete(name, 1, 2)
        for name in ("training_single_iteration", "TESTING_SINGLE_ITERATION", "model_forward")
    ]

    assert 2 == len(read(*writer.begin(), *fine))


@given(mutations())
def test_no_accident_gives_anything_but_events_and_lines_set_aside(accidents: list[Any]) -> None:
    one, two = Writer(pid=1, rank=0, launch="a"), Writer(pid=1, rank=0, launch="b")
    lines = encoded(*a_run(one)[:-3], *a_run(two))

    assert loadable(read_whatever(ONE_LOGGER, applied(accidents, lines))) >= 0


@given(mutations())
def test_a_usual_record_is_what_any_reading_of_its_line_gives(accidents: list[Any]) -> None:
    lines = applied(accidents, encoded(*a_run(Writer())))
    told = [(line, as_usual(line)) for line in lines]

    for line, record in ((line, record) for line, record in told if record is not None):
        assert [record] == list(records_in(1, line))


def test_records_as_the_library_writes_them_are_usual() -> None:
    assert all(as_usual(line) for line in encoded(*a_run(Writer())))


def as_usual(line: bytes) -> Record | None:
    told = usual(line)
    return None if told is None else usual_record(1, line, told)


@pytest.mark.parametrize("text", ["", "step 5", '{"type": "start"}', '{"ts": 1, "event": "job"}'])
def test_a_dump_without_a_record_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableDump, match="holds no record of nv-one-logger"):
        read(text)
    assert not ONE_LOGGER.recognises("x", text.encode())


def test_it_recognises_a_record_behind_other_text() -> None:
    text = "\n".join(["a banner", *Writer().begin()])

    assert ONE_LOGGER.recognises("x", text.encode())


def test_it_says_what_it_can_report() -> None:
    assert Says(training=True, saves=True, resumes=True) == ONE_LOGGER.says


# The real dumps


@pytest.mark.real
def test_a_real_run_that_was_killed_is_interrupted_and_resumed(real_logs: Path) -> None:
    told = [*real(real_logs, "sigkill"), *real(real_logs, "resume")]
    killed, resumed = attempts(told)
    alone = attempts(real(real_logs, "sigkill"), as_of_us=killed.ended_us + DAY_US)

    assert ["lost", "completed"] == [killed.outcome, resumed.outcome]
    assert ["lost"] == [one.outcome for one in alone]
    # the save of step 40, from which the second launch went on, is the last thing it did
    assert [(20, "good"), (40, "good")] == [(save.step, save.status) for save in killed.saves]
    assert 0 == killed.areas.get(("unsaved", False), 0)
    assert 764_000 == resumed.ttr_us  # from the start of that save to the second training loop


@pytest.mark.real
def test_the_areas_of_a_real_run_are_the_lengths_of_its_spans(real_logs: Path) -> None:
    (run,) = attempts(real(real_logs, "sync"))

    assert {
        "trainer_init": 0.174,
        "pt2_compile": 0.150,
        "checkpoint_save": 0.150,
        "evaluation": 0.030,
    }.items() <= seconds_by_area([run]).items()
    assert [20, 40, 60] == [save.step for save in run.saves]


@pytest.mark.real
def test_it_takes_its_own_real_dumps_and_nothing_else(real_logs: Path) -> None:
    taken = [file for file in files(real_logs) if ONE_LOGGER.recognises(file.name, head(file))]

    assert sorted((real_logs / "one_logger").iterdir()) == taken
    assert all([ONE_LOGGER] == [c for c in COLLECTORS if c.recognises("x", head(f))] for f in taken)


@pytest.mark.real
def test_no_line_of_a_real_dump_is_set_aside(real_logs: Path) -> None:
    for file in (real_logs / "one_logger").iterdir():
        told = read_whatever(ONE_LOGGER, file.read_bytes().splitlines())

        assert [] == [item for item in told if isinstance(item, Rejected)]


# what is asked of a dump


def read(*lines: str) -> list[Event]:
    told = ONE_LOGGER.read(dump_of(encoded(*lines)), READING)
    return [item for item in told if not isinstance(item, Rejected)]


def encoded(*lines: str) -> list[bytes]:
    return [line.encode() for line in lines]


def of(told: list[Event], kind: str) -> list[Event]:
    return [event for event in told if event["event"] == kind]


def second(event: Event, field: str = "at_us") -> float | None:
    at_us = event.get(field)
    return None if at_us is None else (at_us - BEGUN * 1_000_000) / 1_000_000


def real(folder: Path, name: str) -> list[Event]:
    file = folder / "one_logger" / f"{name}.jsonl"
    lines = file.read_bytes().splitlines()
    dump = Dump(str(file), file, lambda: iter(enumerate(lines, 1)))
    return [item for item in ONE_LOGGER.read(dump, READING) if not isinstance(item, Rejected)]


def head(file: Path) -> bytes:
    return file.read_bytes()[:HEAD_BYTES]


def files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]
