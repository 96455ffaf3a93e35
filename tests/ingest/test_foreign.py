"""What is said of files that no format knows: small ones in the shape of what others print."""

from __future__ import annotations

import json
import time

import pytest

from ingest.foreign import told_of
from ingest.formats import recognise

SACCT = "a table of sacct without its header. Leave out -n: SLURM_TIME_FORMAT=%s sacct "
SLURM = (
    "what squeue, scontrol, sinfo or a daemon of Slurm says. Dump what ended, too: "
    "SLURM_TIME_FORMAT=%s sacct "
)
KUBERNETES = "what Kubernetes says of objects. Give what the trainers print (kubectl logs "
SCHEDULER = "the accounting of another scheduler than Slurm. Give what the trainers print, or "
RAY = "what Ray says of itself. Give what the trainer printed: ray job logs "
WRAPPED = "lines of a log inside JSON. Take them out: jq "
EVENTS = "events that do not stand one on a line. Write them as JSON Lines: jq "
TIMELESS = "events that tell no ts. Write the time of each as ts, with its zone: docs/"

POD = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed", "reason": "Evicted"}}
SQUEUE = {"jobs": [{"job_id": 7, "job_state": ["RUNNING"], "tres_alloc_str": "gres/gpu=8"}]}


SYSTEM = {"submitter": "acme", "number_of_nodes": "2", "accelerators_per_node": "8"}
WANDB = "what wandb notes of itself. Give what the trainer printed: output.log "
NOTED = "2026-03-02 10:00:00,123 INFO    MainThread:7 [wandb_{}.py:{}():{}] {}\n"
BESIDE = "a system of MLPerf. It is no dump: logs of its results are read with it"


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (json.dumps(SYSTEM, indent=4), BESIDE),
        (
            NOTED.format("setup", "_flush", 80, "Loading settings")
            + NOTED.format("init", "init", 1041, "starting run threads in backend"),
            WANDB,
        ),
        (
            '{"time":"2026-03-02T10:00:00.1Z","level":"INFO","msg":"stream: starting",'
            '"core version":"0.23.1"}\n',
            WANDB,
        ),
        ("7|train|gpu|llm|64|FAILED|1:0\n7.batch|batch||llm|64|FAILED|1:0\n", SACCT),
        ("7_[1-4]|train|ann|CANCELLED by 5001|2026-03-02T09:00:00|Unknown\n", SACCT),
        ("7             train        gpu        llm         64 OUT_OF_ME+    0:125 \n", SACCT),
        ("meta:\n  plugin: {}\njobs:\n- account: llm\n  job_id: 7\n", "sacct --yaml. Dump again: "),
        ('[{"job_id": 7, "time": {"start": 1, "end": 2}}]', "the bare jobs of sacct --json. "),
        ("             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(R\n", SLURM),
        ("JOBID|NAME|STATE\n7|train|RUNNING\n", SLURM),
        (json.dumps(SQUEUE), SLURM),
        ("JobId=7 JobName=train\n   UserId=ann(5001)\n", SLURM),
        ("[2026-03-02T09:05:00.123] sched: _start_job: Started JobId=7 in gpu on n1\n", SLURM),
        ("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n", SLURM),
        (json.dumps(POD), KUBERNETES),
        (json.dumps({"items": [POD], "kind": "List"}, indent=4), KUBERNETES),
        (f"{json.dumps({'type': 'ADDED', 'object': POD})}\n" * 2, KUBERNETES),
        ("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n", KUBERNETES),
        ("LAST SEEN   TYPE      REASON      OBJECT     MESSAGE\n", KUBERNETES),
        ("NAME     READY   STATUS    RESTARTS   AGE\n", KUBERNETES),
        (
            "NAME      COMPLETIONS   DURATION   AGE\ntrain-1   1/1           32m        3h\n",
            KUBERNETES,
        ),
        ("Job <7>, Job Name <train>, User <ann>, Command <python t.py>\n", SCHEDULER),
        ("Job Id: 7.pbs01\n    Job_Name = train\n    job_state = F\n", SCHEDULER),
        ('{"timestamp": 1, "pbs_version": "2024.1", "Jobs": {"7.pbs01": {}}}', SCHEDULER),
        ("03/02/2026 09:05:00;S;7.pbs01;user=ann queue=gpu\n", SCHEDULER),
        ('"JOB_FINISH" "10.108" 1772478302 7 5001\n', SCHEDULER),
        ("qname        gpu.q\nhostname     n1\n", SCHEDULER),
        ("Job id            Name             User              Time Use S Queue\n", SCHEDULER),
        ("Job ID    Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n", SCHEDULER),
        ("job-ID  prior   name       user         state submit/start at     queue\n", SCHEDULER),
        ("[2026-03-02 09:00:01,100 I 100 100] (raylet) main.cc:230: Setting up\n", RAY),
        ('{"source_type": "GCS", "severity": "INFO", "message": "Started a job"}\n', RAY),
        ("[JobDetails(type=<JobType.SUBMISSION: 'SUBMISSION'>,\n            job_id='0100',\n", RAY),
        ("\n======== List: 2026-03-02 09:00:01.100000 ========\nStats:\n", RAY),
        ('{"log":"step 1 loss 2.3\\n","stream":"stdout","time":"2026-03-02T09:00:01Z"}\n', WRAPPED),
        ('{"date":1772442001.5,"log":"step 1 loss 2.3"}\n', WRAPPED),
        (
            '{"labels":{"pod":"a-0"},"line":"step 1","timestamp":"2026-03-02T09:00:01Z"}\n',
            "lines of a log inside Loki's JSON. Take them out: jq ",
        ),
        (
            '{"__REALTIME_TIMESTAMP":"1772442001000000","_PID":"7","MESSAGE":"step 1"}\n',
            "lines of a log inside the journal's JSON. Dump again: journalctl -o short-iso-precise",
        ),
        (
            '[{"textPayload": "step 1", "timestamp": "2026-03-02T09:00:01Z"}]',
            "lines of a log inside Cloud Logging's JSON. Take them out, oldest first: jq ",
        ),
        (
            '[\n  {\n    "textPayload": "completed step: 1, seconds: 2.0, TFLOP/s/device: 9",\n'
            '    "timestamp": "2026-03-02T09:00:01Z"\n  },\n  {\n    "textPayload": '
            '"completed step: 0, seconds: 2.0, TFLOP/s/device: 9"\n  }\n]\n',
            "lines of a log inside Cloud Logging's JSON. Take them out, oldest first: jq ",
        ),
        (
            '[\n  {\n    "jsonPayload": {\n      "job_name": "llm",\n      "step_count": 1\n',
            "entries of Cloud Logging that do not stand one on a line. Take them out: jq ",
        ),
        ('[{"ts": 1, "event": "alive", "job_id": "a"}]', EVENTS),
        ('{\n  "ts": 1,\n  "event": "attempt_start"\n}\n', EVENTS),
        ('{"when": 1, "event": "alive", "job_id": "a"}\n{"when": 2, "event": "alive"}\n', TIMELESS),
    ],
)
def test_what_others_print_is_named_with_the_next_step(head: str, told: str) -> None:
    assert recognise("x", head.encode()) is None
    assert told == (told_of(head.encode()) or "")[: len(told)]


@pytest.mark.parametrize("kind", ["utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_named_with_the_next_step(kind: str) -> None:
    head = "\ufeffJobID|State|Start\r\n7|COMPLETED|2026-03-02T09:00:00\r\n".encode(kind)

    assert recognise("sacct.txt", head) is None
    assert (told_of(head) or "").endswith("Make it UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW")


@pytest.mark.parametrize(
    "head",
    [
        "remember the milk\n",
        "1. Install it.\n2. RUNNING it takes a GPU.\n",
        "timestamp, name, utilization.gpu [%]\n2026/03/02 09:00:00.000, H100, 97 %\n",
        '{"_step": 1, "_timestamp": 1772442300.1, "loss": 2.3}\n',
    ],
)
def test_of_anything_else_nothing_is_said(head: str) -> None:
    assert told_of(head.encode()) is None


@pytest.mark.parametrize("unit", [" ", "\n", "1", "[", '"log":"', "JOBID ", "1001|", "7 RUNNIN"])
def test_it_takes_no_longer_than_the_bytes_are_many(unit: str) -> None:
    head = unit.encode() * (64 * 1024 // len(unit))
    began = time.process_time()
    told_of(head)

    assert time.process_time() - began < 0.5
