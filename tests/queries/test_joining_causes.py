"""Each interruption has one cause: the root, not the loudest, what shows it, and who decided."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ingest import facts, publish, warehouse
from ingest.settings import Settings
from tests.queries import telling
from tests.queries.engine import ingest, rows
from tests.queries.telling import SCHEDULER, TRAINER, write_told

Fields = dict[str, Any]

BEGAN_US = 1_772_323_200_000_000

# what the rules make of a message: category, rank; the smaller the nearer to the root
JUDGED = {
    "Xid 79": ("gpu_hardware/gpu_off_bus", 10),
    "CUDA out of memory": ("user_code/gpu_oom", 40),
    "KeyError": ("user_code/python_exception", 40),
    "NCCL timeout": ("cascade/nccl_timeout", 60),
}


@pytest.fixture(autouse=True)
def told_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    telling.register(monkeypatch)


def end(state: str, **more: object) -> Fields:
    return {"event": "attempt_end", "row_state": state, "outcome": "failed"} | more


PREEMPTED = end("PREEMPTED", outcome="preempted", category="scheduler/preempted")
REQUEUED = end("REQUEUED", category="scheduler/requeued")
OUT_OF_MEMORY = end(
    "OUT_OF_MEMORY", category="host/host_oom", message="OUT_OF_MEMORY in step 7.batch"
)
XID = {"event": "failure", "message": "Xid 79"}
OOM = {"event": "failure", "message": "CUDA out of memory"}
KEY = {"event": "failure", "message": "KeyError"}
NCCL = {"event": "failure", "message": "NCCL timeout"}
ODD = {"event": "failure", "message": "something odd"}
NAMED = {"event": "failure", "message": "disk", "category": "storage/disk_io"}

CASES: dict[str, tuple[Fields | None, list[Fields], tuple[str, str, str | None]]] = {
    # scheduler's end, what the trainer tells second by second: category, rule, evidence
    "a preemption is its own cause": (
        PREEMPTED,
        [NAMED, XID],
        ("scheduler/preempted", "scheduler", "PREEMPTED"),
    ),
    "a lost node is its own cause": (
        end("NODE_FAIL", category="scheduler/node_fail"),
        [NCCL],
        ("scheduler/node_fail", "scheduler", "NODE_FAIL"),
    ),
    "the root comes before what it set off, though told later": (
        end("FAILED"),
        [NCCL, XID],
        ("gpu_hardware/gpu_off_bus", "rule of Xid 79", "Xid 79"),
    ),
    "of equal rank the earliest is the cause": (
        end("FAILED"),
        [KEY, OOM],
        ("user_code/python_exception", "rule of KeyError", "KeyError"),
    ),
    "what a source names is trusted over the rules": (
        end("FAILED"),
        [XID, NAMED],
        ("storage/disk_io", "source", "disk"),
    ),
    "what the scheduler saw itself is trusted over the rules": (
        OUT_OF_MEMORY,
        [OOM],
        ("host/host_oom", "scheduler", "OUT_OF_MEMORY in step 7.batch"),
    ),
    "a requeue says less than any rule": (
        REQUEUED,
        [NCCL],
        ("cascade/nccl_timeout", "rule of NCCL timeout", "NCCL timeout"),
    ),
    "a requeue of which nothing else is known": (
        REQUEUED,
        [],
        ("scheduler/requeued", "scheduler", "REQUEUED"),
    ),
    "the trainer's own end is evidence too": (
        end("FAILED"),
        [{"event": "attempt_end", "outcome": "failed", "message": "CUDA out of memory"}],
        ("user_code/gpu_oom", "rule of CUDA out of memory", "CUDA out of memory"),
    ),
    "a run that was lost says why if it said anything": (
        None,
        [OOM],
        ("user_code/gpu_oom", "rule of CUDA out of memory", "CUDA out of memory"),
    ),
    "a run that was lost without a word": (None, [], ("unknown/no_end_recorded", "none", None)),
    "what no rule knows is shown as it was told": (
        end("FAILED", message="NonZeroExitCode"),
        [ODD],
        ("unknown/unclassified", "none", "something odd"),
    ),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of all cases, each a job, after the rules were applied."""
    folder = tmp_path_factory.mktemp("causes")
    scheduler: list[Fields] = []
    trainer: list[Fields] = []
    for number, (ended, told, _) in enumerate(CASES.values()):
        scheduler += row(number, ended) if ended else []
        trainer += run(number, told)
    # so that what said no end is lost
    trainer.append({"job_id": "later", "event": "alive", "at_us": BEGAN_US + 40_000_000_000})
    with pytest.MonkeyPatch.context() as patch:
        telling.register(patch)
        dumps = (
            write_told(folder / "scheduler", SCHEDULER, scheduler),
            write_told(folder / "trainer", TRAINER, trainer),
        )

        assert 0 == ingest(folder / "warehouse", *dumps)
    judge(folder / "warehouse")
    return folder / "warehouse"


@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_the_root(case: str, judged: Path) -> None:
    number = list(CASES).index(case)
    _, _, (category, rule, evidence) = CASES[case]

    assert [(category, rule, evidence)] == rows(
        judged,
        "select failure_domain || '/' || failure_category, failure_rule, failure_evidence "
        "from attempts where job_id in (?, ?)",
        [f"fleet:{number}", f"run-{number}"],
    )


def test_evidence_says_where_it_stands(judged: Path) -> None:
    number = list(CASES).index("the root comes before what it set off, though told later")

    assert [(str(judged.parent / "trainer"), 79)] == rows(
        judged,
        "select failure_evidence_file, failure_evidence_line from attempts where job_id = ?",
        [f"fleet:{number}"],
    )


def test_every_interruption_has_a_cause_and_nothing_else_has(judged: Path) -> None:
    assert [] == rows(
        judged,
        "from attempts where is_interruption <> (failure_category is not null) "
        "or is_interruption <> (failure_rule is not null)",
    )


def row(number: int, ended: Fields) -> list[Fields]:
    of_row = {
        "job_id": f"fleet:{number}",
        "row_key": str(number),
        "row_submitted_us": BEGAN_US,
        "row_state": ended["row_state"],
    }
    return [
        of_row | {"at_us": BEGAN_US, "event": "attempt_start", "gpus": 8},
        of_row | {"at_us": BEGAN_US + 1_000_000_000} | ended,
    ]


def run(number: int, told: list[Fields]) -> list[Fields]:
    of_run = {"job_id": f"run-{number}", "run_key": "a", "scheduler_job": str(number)}
    training = {"event": "phase_start", "phase": "training", "end_us": BEGAN_US + 900_000_000}
    events = [{"at_us": BEGAN_US + 1_000_000} | training]
    events += [
        {"at_us": BEGAN_US + (900 + second) * 1_000_000} | event
        for second, event in enumerate(told)
    ]
    return [event | of_run for event in events]


def judge(folder: Path) -> None:
    """Write what the rules make of each message beside it, and compute everything anew."""
    with warehouse.opened(folder, print, 5) as opened:
        opened.connection.execute("begin")
        for message, (category, rank) in JUDGED.items():
            opened.connection.execute(
                "update told_events set cause_category = ?, cause_rule = ?, cause_rank = ?, "
                "evidence = message, evidence_line = 79 where message = ? and category is null",
                [category, f"rule of {message}", rank, message],
            )
        facts.rebuild(opened, Settings())
        opened.connection.execute("commit")
        publish.publish(opened, Settings(), datetime(2026, 3, 2))
