"""`sacct --json` in the shapes of old and new releases, held against the table of the same jobs."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.collectors import slurm_json_jobs
from ingest.collectors.base import Collector, Dump, Line
from ingest.collectors.registry import COLLECTORS
from ingest.collectors.slurm import SLURM_SACCT
from ingest.collectors.slurm_json import SLURM_JSON
from ingest.dumps import HEAD_BYTES
from ingest.errors import UnreadableDump
from ingest.events import Event, Reason, Rejected, Says
from tests.ingest.mutated_dumps import (
    READING,
    applied,
    dump_of,
    loadable,
    mutations,
)
from tests.ingest.mutated_dumps import read as read_whatever

SUBMITTED, STARTED, ENDED = 1_795_150_800, 1_795_151_400, 1_795_152_600

# one job in sacct's table, and in the JSON of an old and of a new release

TABLE = (
    "Cluster|JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|ExitCode|Submit|Start|End"
    "|Elapsed|Suspended|AllocTRES|NodeList|NNodes|Reason",
    "fleet|7_3|12|llm|ann|ranking|train|high|FAILED|3:0|2026-11-20T05:00:00|2026-11-20T05:10:00"
    "|2026-11-20T05:30:00|00:19:50|00:00:10|cpu=8,gres/gpu=16,gres/gpu:h100=16|n[1-2]|2"
    "|NonZeroExitCode",
)


def old(**changed: Any) -> dict[str, Any]:
    """A job as dbv0.0.38 writes it: plain values."""
    return {
        "account": "ranking",
        "comment": {"administrator": None, "job": None, "system": None},
        "allocation_nodes": 2,
        "array": {"job_id": 7, "task": None, "task_id": 3},
        "association": {"account": "ranking", "cluster": "fleet", "user": "ann"},
        "cluster": "fleet",
        "derived_exit_code": {"status": "SUCCESS", "return_code": 0},
        "time": {
            "elapsed": 1190,
            "end": ENDED,
            "start": STARTED,
            "submission": SUBMITTED,
            "suspended": 10,
        },
        "exit_code": {"status": "ERROR", "return_code": 3},
        "het": {"job_id": 0, "job_offset": None},
        "job_id": 12,
        "name": "llm",
        "nodes": "n[1-2]",
        "partition": "train",
        "qos": "high",
        "kill_request_user": None,
        "state": {"current": "FAILED", "reason": "NonZeroExitCode"},
        "steps": [],
        "tres": {"allocated": TRES, "requested": TRES},
        "user": "ann",
        **changed,
    }


def new(**changed: Any) -> dict[str, Any]:
    """A job as data_parser v0.0.42 writes it: lists of states, numbers that say they are set."""
    return (
        old(
            array={"job_id": 7, "task_id": number(3), "task": ""},
            derived_exit_code={"status": ["SUCCESS"], "return_code": number(0)},
            exit_code={
                "status": ["ERROR"],
                "return_code": number(3),
                "signal": {"id": number(None), "name": ""},
            },
            het={"job_id": 0, "job_offset": number(None)},
            kill_request_user="",
            state={"current": ["FAILED"], "reason": "NonZeroExitCode"},
            time={
                "elapsed": 1190,
                "end": number(ENDED),
                "start": number(STARTED),
                "submission": number(SUBMITTED),
                "suspended": number(10),
            },
        )
        | changed
    )


def number(value: int | None) -> dict[str, object]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


TRES = [
    {"type": "cpu", "name": "", "id": 1, "count": 8},
    {"type": "gres", "name": "gpu", "id": 1001, "count": 16},
    {"type": "gres", "name": "gpu:h100", "id": 1002, "count": number(16)},
]
STEP = {"state": "OUT_OF_MEMORY", "step": {"job_id": 12, "id": "batch", "name": "batch"}}


@pytest.mark.parametrize("job", [old(), new()], ids=["old", "new"])
def test_a_job_gives_the_events_that_its_row_in_the_table_gives(job: dict[str, Any]) -> None:
    table = list(SLURM_SACCT.read(dump_of([line.encode() for line in TABLE]), READING))
    told = read(document(job))

    assert "0:0" not in str(told), "the success of a job that failed is no evidence"
    assert table == told


@pytest.mark.parametrize(
    ("exit_code", "state", "expected"),
    [
        ({"status": "SUCCESS", "return_code": 0}, "FAILED", (None, None)),
        ({"status": ["SUCCESS"], "return_code": number(0)}, "FAILED", (None, None)),
        ({"status": "SUCCESS", "return_code": 0}, "COMPLETED", (0, None)),
        ({"status": ["SUCCESS"], "return_code": number(0)}, "COMPLETED", (0, None)),
        ({"status": "ERROR", "return_code": 42}, "REQUEUED", (42, None)),
        ({"status": ["ERROR"], "return_code": number(1)}, "FAILED", (1, None)),
        (
            {"status": "SIGNALED", "return_code": None, "signal": {"signal_id": 9}},
            "FAILED",
            (None, 9),
        ),
        (
            {"status": ["SIGNALED"], "return_code": number(0), "signal": {"id": number(15)}},
            "FAILED",
            (None, 15),
        ),
        ({"status": "PENDING", "return_code": None}, "FAILED", (None, None)),
        ({"return_code": -1}, "FAILED", (None, None)),
        ({"return_code": 10**40}, "FAILED", (None, None)),
        ("1:0", "FAILED", (None, None)),
        (None, "FAILED", (None, None)),
    ],
)
def test_an_exit_code_is_what_proves_something(
    exit_code: object, state: str, expected: tuple[int | None, int | None]
) -> None:
    end = end_of(old(exit_code=exit_code, state={"current": state, "reason": "None"}))

    assert expected == (end.get("exit_code"), end.get("signal"))


@pytest.mark.parametrize(
    ("current", "state", "outcome"),
    [
        ("COMPLETED", "COMPLETED", "completed"),
        (["COMPLETED"], "COMPLETED", "completed"),
        (["FAILED", "LAUNCH_FAILED"], "FAILED", "failed"),
        (["PREEMPTED"], "PREEMPTED", "preempted"),
        (["FAILED", "REQUEUED"], "REQUEUED", "failed"),
        (["SOMETHING_NEW", "TIMEOUT"], "TIMEOUT", "timeout"),
        (["CANCELLED"], "CANCELLED", "cancelled"),
        ("CANCELLED by 2003", "CANCELLED", "cancelled"),
    ],
)
def test_a_state_may_have_several_parts(current: object, state: str, outcome: str) -> None:
    end = end_of(new(state={"current": current, "reason": "None"}))

    assert (state, outcome) == (end["row_state"], end["outcome"])


def test_a_resizing_or_completing_job_has_not_ended() -> None:
    for part in ("RESIZING", "COMPLETING"):
        told = read(document(new(state={"current": ["COMPLETED", part], "reason": "None"})))

        assert ["alive"] == [e["event"] for e in told if e["event"] in ("alive", "attempt_end")]


def test_who_cancelled_a_job_is_told() -> None:
    cancelled = {"current": ["CANCELLED"], "reason": "None"}

    assert "CANCELLED by root" == end_of(new(state=cancelled, kill_request_user="root"))["message"]
    assert "CANCELLED" == end_of(new(state=cancelled))["message"]


@pytest.mark.parametrize(
    "unset",
    [
        0,
        None,
        "",
        "Unknown",
        number(None),
        {"infinite": True, "number": 1},
        4_294_967_294,
        4_294_967_295,
        number(4_294_967_294),
        2**64 - 2,
    ],
)
def test_a_time_that_is_not_set_has_not_come(unset: object) -> None:
    time = {"submission": SUBMITTED, "start": STARTED, "end": unset, "elapsed": 60}
    told = read(document(old(time=time, state={"current": "RUNNING", "reason": "None"})))
    waiting = {"submission": SUBMITTED, "start": unset, "end": unset}
    pending = read(document(old(time=waiting, state={"current": "PENDING", "reason": "None"})))

    assert [(STARTED + 60) * 1_000_000] == [e["at_us"] for e in told if e["event"] == "alive"]
    assert ["job", "phase_start"] == [e["event"] for e in pending]
    assert "end_us" not in pending[1]


def test_a_job_cancelled_before_it_began_has_waited_up_to_its_end() -> None:
    # the table's `None`: data_parser writes a start that never came as this number
    never = {"submission": SUBMITTED, "start": 4_294_967_294, "end": ENDED, "elapsed": 0}
    cancelled = {"current": ["CANCELLED"], "reason": "None"}
    told = read(document(new(time=never, state=cancelled)))

    assert ["job", "phase_start"] == [event["event"] for event in told]
    assert ENDED * 1_000_000 == told[1]["end_us"]


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ({"allocated": TRES}, 16),
        ({"allocated": "cpu=8,gres/gpu=4"}, 4),
        ({"allocated": [{"type": "gres", "name": "gpu:a100", "count": 2}]}, 2),
        ({"allocated": TRES[:1]}, 0),
        ({"allocated": [], "requested": TRES}, None),
        ({"allocated": [{"type": "gres", "name": "gpu", "count": "many"}, None]}, None),
        ({"allocated": [{"type": "gres", "name": "gpu", "count": 10**30}]}, None),
        (None, None),
    ],
)
def test_gpus_are_what_the_job_held(tres: object, gpus: int | None) -> None:
    (start,) = (e for e in read(document(new(tres=tres))) if e["event"] == "attempt_start")

    assert gpus == start.get("gpus")


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({"array": {"job_id": 7, "task_id": number(3)}}, "7_3"),
        ({"array": {"job_id": 7, "task_id": 0}}, "7_0"),
        ({"array": {}, "het": {"job_id": 9, "job_offset": number(1)}}, "9+1"),
        ({"array": {"job_id": 0, "task_id": None}}, "12"),
    ],
)
def test_a_task_and_a_component_are_shown_as_in_the_table(
    changed: dict[str, Any], shown: str
) -> None:
    job = read(document(old(**changed)))[0]

    assert ("fleet:12", shown) == (job["job_id"], json.loads(job["attrs"])["JobID"])


@pytest.mark.parametrize(
    ("step", "evidence"),
    [
        (STEP, "OUT_OF_MEMORY in step 7_3.batch"),
        (
            {"state": ["OUT_OF_MEMORY"], "step": {"id": "12.0", "name": "train"}},
            "OUT_OF_MEMORY in step 12.0",
        ),
        ({"state": "OUT_OF_MEMORY", "step": {"id": 0}}, "OUT_OF_MEMORY in step 7_3.0"),
    ],
)
def test_a_step_out_of_memory_makes_a_failed_job_one(step: dict[str, Any], evidence: str) -> None:
    end = end_of(old(steps=[{"state": "FAILED"}, step]))

    assert ("host/host_oom", evidence) == (end["category"], end["message"])


def test_a_job_of_no_length_ran_if_a_step_of_it_ran_out_of_memory() -> None:
    time = {"submission": SUBMITTED, "start": STARTED, "end": STARTED}
    no_code = {"status": "SUCCESS", "return_code": 0}

    assert STARTED * 1_000_000 == end_of(old(time=time, exit_code=no_code, steps=[STEP]))["at_us"]
    assert not [
        e
        for e in read(document(old(time=time, exit_code=no_code)))
        if e["event"] == "attempt_start"
    ]


def test_the_cluster_comes_from_the_job_else_from_its_association_else_from_the_user() -> None:
    assert "b:12" == read(document(old(cluster="b")))[0]["job_id"]
    assert "fleet:12" == read(document(old(cluster="")))[0]["job_id"]
    assert "12" == read(document(old(cluster=None, association=None)))[0]["job_id"]


# Documents


@pytest.mark.parametrize("chunk", [1, 64, 1024 * 1024])
@pytest.mark.parametrize(
    "text",
    [
        lambda jobs: json.dumps({"meta": META, "errors": [], "jobs": jobs}, indent=2),
        lambda jobs: json.dumps({"jobs": jobs, "warnings": [], "meta": META}, indent=4),
        lambda jobs: json.dumps({"jobs": jobs}, separators=(",", ":")),
        lambda jobs: json.dumps({"jobs": jobs}, indent=1).replace("\n", "\r\n"),
        lambda jobs: json.dumps({"jobs": jobs}, indent="\t").replace("},\n\t\t{", "}, {"),
        lambda jobs: "\n".join(json.dumps({"jobs": [job]}, indent=1) for job in jobs),
        lambda jobs: f"slurm: a banner\n{json.dumps({'jobs': jobs}, indent=1)}\ndone [rank0]: {{",
    ],
    ids=["old", "new", "one line", "line ends", "braces", "appended", "among text"],
)
def test_a_document_may_be_printed_in_any_way(
    text: Any, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_json_jobs, "_CHUNK", chunk)
    told = read(text([old(job_id=number, name="x" * number) for number in range(1, 6)]))

    assert [f"fleet:{number}" for number in range(1, 6)] == list(
        dict.fromkeys(e["job_id"] for e in told)
    )


def test_a_list_without_jobs_is_fine() -> None:
    assert [] == read('{"meta": {}, "jobs": [\n  ]\n}')


@pytest.mark.parametrize(
    ("broken", "reason", "detail"),
    [
        ('{"job_id": 2,, "state": 1}', Reason.NOT_JSON, "Expecting property name"),
        ('{"job_id": 2, "name": "torn', Reason.NOT_JSON, "Invalid control character at"),
        ("Traceback (most recent call last):", Reason.NOT_JSON, "Expecting value"),
        ("17", Reason.BAD_VALUE, "a job that is no object"),
        ('{"job_id": 1' + "0" * 5_000 + "}", Reason.BAD_VALUE, "job_id is inf"),
        # how deep Python reads differs between its releases
        ('{"a":' * 100_000, Reason.NOT_JSON, "maximum recursion depth exceeded"),
    ],
)
def test_a_broken_job_is_set_aside_alone_with_its_line(
    broken: str, reason: Reason, detail: str
) -> None:
    lines = json.dumps({"jobs": [old(job_id=1), 0, old(job_id=3)]}, indent=1).split("\n")
    place = lines.index("  0,")
    lines[place] = f"  {broken},"
    told = list(SLURM_JSON.read(dump_of([line.encode() for line in lines]), READING))
    (rejected,) = (item for item in told if isinstance(item, Rejected))

    assert ({"fleet:1", "fleet:3"}, place + 1, reason) == (
        {e["job_id"] for e in told if not isinstance(e, Rejected)},
        rejected.line_number,
        rejected.reason,
    )
    assert rejected.detail.startswith(detail)
    assert rejected.line in f"  {broken},"


@pytest.mark.parametrize(
    ("changed", "reason", "detail"),
    [
        ({"job_id": None}, Reason.BAD_VALUE, "job_id is None"),
        ({"job_id": "1_2"}, Reason.BAD_VALUE, "job_id is '1_2'"),
        ({"state": None}, Reason.BAD_VALUE, "state of job 12 is None"),
        ({"state": {"current": ["BANANA"]}}, Reason.BAD_VALUE, "state of job 12 is {'current'"),
        ({"time": {"start": "noon", "end": 1}}, Reason.BAD_TIMESTAMP, "Start is 'noon'"),
        ({"time": {"start": [STARTED]}}, Reason.BAD_TIMESTAMP, f"Start is '[{STARTED}]'"),
        ({"time": {"end": 10**30}}, Reason.BAD_TIMESTAMP, f"End is '1{'0' * 30}'"),
        ({"time": {"start": STARTED}}, Reason.MISSING_FIELD, "FAILED, but End is 'Unknown'"),
        ({"time": None}, Reason.MISSING_FIELD, "neither Submit nor Start nor End"),
    ],
)
def test_a_job_that_cannot_be_is_set_aside_with_its_reason(
    changed: dict[str, Any], reason: Reason, detail: str
) -> None:
    (rejected,) = SLURM_JSON.read(dump_of([document(old(**changed)).encode()]), READING)

    assert isinstance(rejected, Rejected)
    assert (1, reason) == (rejected.line_number, rejected.reason)
    assert rejected.detail.startswith(detail)


def test_a_document_that_breaks_off_says_so() -> None:
    lines = json.dumps({"jobs": [old(job_id=1), old(job_id=2)]}, indent=1).encode().split(b"\n")
    *told, rejected = SLURM_JSON.read(dump_of(lines[:-10]), READING)
    *_, between = SLURM_JSON.read(dump_of(lines[:-2]), READING)

    assert {"fleet:1"} == {e["job_id"] for e in told if not isinstance(e, Rejected)}
    assert "the dump breaks off in this job" == rejected.detail
    assert "the list of jobs has no end" == between.detail


@pytest.mark.parametrize("text", ["", "JobID|State|Start|End\n", '{"jobs": {}}', '{"nodes": []}'])
def test_a_dump_without_a_list_of_jobs_says_how_to_dump_again(text: str) -> None:
    with pytest.raises(UnreadableDump, match="Dump again: sacct -a -D --json"):
        read(text)


def test_memory_is_bounded_by_a_chunk_and_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_json_jobs, "_CHUNK", 64 * 1024)
    job = json.dumps(old(), indent=1).encode().split(b"\n")

    def lines() -> Iterator[bytes]:
        yield b'{"jobs": ['
        for _ in range(4_000):
            yield from job
            yield b","
        yield b"]}"

    tracemalloc.start()
    told = sum(1 for _ in SLURM_JSON.read(Dump("", None, lambda: enumerate(lines(), 1)), READING))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 4_000 * 4 == told
    assert peak < 2 * 1024 * 1024


@given(mutations(), st.sampled_from([None, 1]))
def test_no_accident_gives_anything_but_events_and_lines_set_aside(
    accidents: list[Any], indent: int | None
) -> None:
    jobs = [old(), new(job_id=13), old(job_id=14, steps=[STEP])]
    lines = json.dumps({"meta": META, "jobs": jobs}, indent=indent).encode().split(b"\n")

    assert loadable(read_whatever(SLURM_JSON, applied(accidents, lines))) >= 0


def test_a_number_past_all_bounds_within_an_exit_code_breaks_nothing() -> None:
    # as some writers have it, and as no JSON of Python's own would say it
    job = old(derived_exit_code={"status": 9.25, "return_code": 0})
    told = json.dumps({"meta": META, "jobs": [job, job]}, indent=1)
    lines = told.replace("9.25", "1e999").encode().split(b"\n")

    assert loadable(read_whatever(SLURM_JSON, lines)) > 0


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "9" * 5_000, "9" * 40, "1e999", "Infinity"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exit_code", {"status": "ERROR", "return_code": 9.25}),
        ("derived_exit_code", {"status": ["ERROR"], "return_code": {"set": True, "number": 9.25}}),
        ("restart_cnt", 9.25),
        ("allocation_nodes", 9.25),
    ],
)
def test_a_number_past_all_bounds_is_set_aside_and_its_job_told(
    field: str, value: object, indent: int | None, number: str
) -> None:
    jobs = [old(**{field: value}), old(job_id=13)]
    text = json.dumps({"meta": META, "jobs": jobs}, indent=indent).replace("9.25", number)
    told = list(SLURM_JSON.read(dump_of(text.encode().split(b"\n")), READING))

    (rejected,) = (item for item in told if isinstance(item, Rejected))
    assert Reason.BAD_VALUE == rejected.reason
    assert f"{field} of job 12 holds a number that cannot be" == rejected.detail
    assert {None: 1, 1: 11}[indent] == rejected.line_number
    ends = [item for item in told if not isinstance(item, Rejected) and "outcome" in item]
    assert ["fleet:12", "fleet:13"] == [end["job_id"] for end in ends]


@pytest.mark.parametrize("dressed", ["[default0]:{}", "\x1b[32m{}\x1b[0m", "[rank3]:\x1b[1;31m{}"])
@pytest.mark.parametrize("indent", [None, 1])
def test_colours_and_names_of_writers_are_no_part_of_a_document(
    indent: int | None, dressed: str
) -> None:
    text = json.dumps({"meta": META, "jobs": [old(), new(job_id=13)]}, indent=indent)
    shown = "\n".join(dressed.format(line) for line in text.split("\n"))
    coloured = shown.replace('"jobs":', '\x1b[34;1m"jobs"\x1b[0m:')

    assert SLURM_JSON.recognises("x", coloured.encode())
    assert read(text) == read(coloured)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_number_past_all_bounds_where_nobody_looks_harms_no_job(indent: int | None) -> None:
    text = json.dumps({"meta": META, "jobs": [old(priority=9.25)]}, indent=indent)

    assert read(text) == read(text.replace("9.25", "9" * 5_000))


def test_odd_values_in_every_field_break_nothing() -> None:
    odd = [None, True, -1, 1.5, float("inf"), 10**30, "", "\ud800", [], [None], {}, {"number": []}]
    for field in old():
        for value in odd:
            for job in (old(**{field: value}), new(**{field: value})):
                loadable(read_whatever(SLURM_JSON, [document(job).encode()]))
    for part in ("time", "array", "association", "state", "exit_code", "tres", "comment", "het"):
        for field in new()[part]:
            for value in odd:
                job = new(**{part: {**new()[part], field: value}})
                loadable(read_whatever(SLURM_JSON, [document(job).encode()]))


# Recognition


@pytest.mark.parametrize(
    "text",
    [
        '{"jobs": [{"job_id": 1, "job_state": ["RUNNING"], "derived_exit_code": {}}]}',  # squeue
        '{"jobs": [{"job_id": 1, "state": {"current": ["COMPLETED"]}}]}',
        '{"meta": {"command": ["squeue", "--json"]}, "jobs": []}',
        '{"nodes": [{"association": {"cluster": "fleet"}}]}',
        "JobID|State|Start|End\n",
        "",
    ],
)
def test_it_does_not_take_other_texts_for_its_own(text: str) -> None:
    assert not SLURM_JSON.recognises("x", text.encode())


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"meta": {"plugin": {"type": "openapi/dbv0.0.38"}}, "jobs": []}),
        json.dumps({"jobs": [], "meta": {"command": ["sacct", "--json"]}}),
    ],
)
def test_it_recognises_a_list_without_jobs_by_who_printed_it(text: str) -> None:
    assert SLURM_JSON.recognises("x", text.encode())


def test_it_recognises_jobs_of_every_release() -> None:
    for job in (old(), new()):
        assert SLURM_JSON.recognises("x", document(job).encode()[:HEAD_BYTES])


def test_it_says_that_a_scheduler_knows_no_training() -> None:
    assert Says(training=False, saves=False, resumes=False) == SLURM_JSON.says


# The real dump


@pytest.mark.real
def test_the_real_dump_tells_what_the_table_of_the_same_jobs_tells(real_logs: Path) -> None:
    folder = real_logs / "slurm" / "snap2_quiet"
    told = read_file(SLURM_JSON, folder / "sacct_D.json.gz")
    table = read_file(SLURM_SACCT, folder / "sacct_D_P_admin.txt")

    assert set(map(certain, table)) == set(map(certain, told))
    assert len(table) == len(told)


@pytest.mark.real
def test_the_real_dump_gives_no_exit_code_that_the_table_does_not_give(real_logs: Path) -> None:
    folder = real_logs / "slurm" / "snap2_quiet"
    codes = {
        (e["job_id"], e["row_key"]): (e.get("exit_code"), e.get("signal"))
        for e in read_file(SLURM_SACCT, folder / "sacct_D_P_admin.txt")
        if e["event"] == "attempt_end"
    }
    told = {
        (e["job_id"], e["row_key"]): (e.get("exit_code"), e.get("signal"))
        for e in read_file(SLURM_JSON, folder / "sacct_D.json.gz")
        if e["event"] == "attempt_end"
    }

    assert {row: code for row, code in told.items() if code != (None, None)} == {
        row: codes[row] for row, code in told.items() if code != (None, None)
    }
    assert 100 < sum(code != (None, None) for code in told.values())


@pytest.mark.real
def test_it_takes_nothing_else_of_the_real_dumps_for_its_own(real_logs: Path) -> None:
    taken = [file.name for file in files(real_logs) if SLURM_JSON.recognises(file.name, head(file))]

    assert ["sacct_D.json.gz"] == taken


@pytest.mark.real
def test_no_other_collector_takes_the_real_dump(real_logs: Path) -> None:
    start = head(real_logs / "slurm" / "snap2_quiet" / "sacct_D.json.gz")

    assert [SLURM_JSON] == [one for one in COLLECTORS if one.recognises("x", start)]


# what a document is made of, and what is asked of its events

META = {"plugin": {"type": "openapi/dbv0.0.38"}, "Slurm": {"release": "22.05.8"}}


def document(*jobs: dict[str, Any]) -> str:
    return json.dumps({"meta": META, "jobs": jobs})


def read(text: str) -> list[Event]:
    told = SLURM_JSON.read(dump_of(text.encode().split(b"\n")), READING)
    return [item for item in told if not isinstance(item, Rejected)]


def end_of(job: dict[str, Any]) -> Event:
    (end,) = (event for event in read(document(job)) if event["event"] == "attempt_end")
    return end


def read_file(collector: Collector, file: Path) -> list[Event]:
    told = collector.read(Dump(str(file), file, lambda: lines_of(file)), READING)
    return [item for item in told if not isinstance(item, Rejected)]


def lines_of(file: Path) -> Iterator[Line]:
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    yield from enumerate(raw.removesuffix(b"\n").split(b"\n"), 1)


def head(file: Path) -> bytes:
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return raw[:HEAD_BYTES]


def files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def certain(event: Event) -> tuple[object, ...]:
    """What both dumps must agree on; causes come from the exit codes that only the table has."""
    keys = ("job_id", "row_key", "row_state", "row_submitted_us", "event", "at_us", "end_us")
    known = ("phase", "outcome", "gpus", "gpu_type", "name", "user", "team", "partition")
    more = ("priority", "cluster", "suspended_us")
    return tuple(event.get(key) for key in (*keys, *known, *more))
