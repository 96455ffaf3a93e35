"""Who tells a batch of spans: the job, the launch and the rank, from the attributes of its
resource. Makes no events.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache

from ingest.collectors.json_values import LONGEST_ID, LONGEST_TEXT, MOST_GPUS
from ingest.collectors.otlp_values import Attributes, text, whole
from ingest.collectors.slurm_values import is_job
from ingest.events import Event

# the first that is told counts; `_` stands for any of `.`, `_` and `-`
_JOB_IDS = ("ett_job_id", "torchelastic_run_id", "k8s_job_name", "service_name")
_SCHEDULER_JOBS = ("ett_scheduler_job", "slurm_job_id", "slurm_jobid")
_RESTARTS = ("slurm_restart_count",)
_GENERATIONS = ("torchelastic_restart_count",)
_RANKS = ("ett_rank", "rank", "process_rank", "torch_distributed_rank")
_HOSTS = ("host_name", "k8s_node_name")
_LAUNCHES = ("ett_launch_id", "service_instance_id")
_TEXTS = {
    "team": ("ett_team", "team"),
    "user": ("ett_user", "process_owner", "enduser_id"),
    "workload": ("ett_workload",),
    "model": ("ett_model",),
    "cluster": ("ett_cluster", "k8s_cluster_name"),
    "gpu_type": ("ett_gpu_type",),
    "priority": ("ett_priority",),
    "partition": ("ett_partition", "slurm_partition", "slurm_job_partition"),
    "name": ("ett_name", "slurm_job_name"),
}
_NO_SERVICE = "unknown_service"  # what the SDK calls a service without a name


class Who:
    """What a resource says of itself.

    `of_job` are the fields of the job, `of_launch` those that each event carries; `job_id` is in
    both, and is absent where the resource names no job. `is_trainer`: it speaks to us. `process`
    tells launches and ranks apart: it is empty where nothing does.
    """

    def __init__(self, resource: Attributes, cluster: str | None) -> None:
        told = named(resource)
        self.is_trainer = any(key.startswith("ett_") for key in told)
        self.of_launch = _launch(told, cluster)
        self.process = _of_process(told)
        self.of_job = _job(told)
        if "job_id" in self.of_launch:
            self.of_job["job_id"] = self.of_launch["job_id"]


def named(attributes: Attributes) -> Attributes:
    """Attributes by names in one spelling."""
    return {_spelt(key): attributes[key] for key in attributes}


@lru_cache(maxsize=4096)
def _spelt(key: str) -> str:
    return key.lower().replace(".", "_").replace("-", "_")


def rank_in(told: Attributes) -> int | None:
    """The rank that attributes name."""
    return _first_whole(told, _RANKS)


def _launch(told: Attributes, cluster: str | None) -> Event:
    who: Event = {}
    scheduler_job = _first_text(told, _SCHEDULER_JOBS)
    scheduler_job = scheduler_job if scheduler_job and is_job(scheduler_job) else None
    job_id = _job_id(told, scheduler_job, cluster)
    if job_id is not None:
        who["job_id"] = job_id
    if scheduler_job is not None:
        who["scheduler_job"] = scheduler_job
    if (rank := rank_in(told)) is not None:
        who["rank"] = rank
    if (host := _first_text(told, _HOSTS)) is not None:
        who["host"] = host
    if (restart := _first_whole(told, _RESTARTS)) is not None:
        who["run_restart"] = restart
    attempt = whole(told.get("ett_attempt"), 1)
    generation = _first_whole(told, _GENERATIONS)
    if attempt is not None:
        who["attempt"] = attempt
    elif generation is not None:
        # which counts within one launch
        who["run_generation"] = generation
        if (launch := text(told.get("ett_launch_id"))) is not None:
            who["run_key"] = launch[:LONGEST_ID]
    else:
        _set_run_key(who, told)
    if (allocation := text(told.get("ett_allocation_id"))) is not None:
        who["allocation_id"] = allocation[:LONGEST_ID]
    return who


def _job_id(told: Attributes, scheduler_job: str | None, cluster: str | None) -> str | None:
    """A service's name is no more than the name of a program: any other name comes before it."""
    names = {key: text(told.get(key)) for key in _JOB_IDS}
    service = names.pop("service_name")
    name = next((name for name in names.values() if name), None)
    if name is None and scheduler_job is not None:
        name = f"{cluster}:{scheduler_job}" if cluster else scheduler_job
    if name is None and service and not service.startswith(_NO_SERVICE):
        name = service
    return name[:LONGEST_ID] if name else None


def _set_run_key(who: Event, told: Attributes) -> None:
    """A launch that all ranks name alike, else each process by its own name: those that overlap
    are one launch (R26). Without a name, what a rank says milliseconds before rank 0 would fall to
    the launch before.
    """
    launch = _first_text(told, _LAUNCHES) or _process(told)
    if launch is not None:
        who["run_key"] = launch[:LONGEST_ID]


def _of_process(told: Attributes) -> str:
    """What a process is known by among those of its job, short. Without what the machines say: a
    collector may add that to spans and not to records.
    """
    launch = ("ett_attempt", *_LAUNCHES, *_GENERATIONS, *_RESTARTS, *_SCHEDULER_JOBS)
    names = (*launch, *_RANKS, "process_pid", "process_creation_time")
    known = [(name, value) for name in names if (value := text(told.get(name))) is not None]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16] if known else ""


def _process(told: Attributes) -> str | None:
    pid, started = whole(told.get("process_pid")), text(told.get("process_creation_time"))
    return f"{pid}@{started}" if pid is not None and started is not None else None


def _job(told: Attributes) -> Event:
    job: Event = {}
    for field, keys in _TEXTS.items():
        if (value := _first_text(told, keys)) is not None:
            job[field] = value[:LONGEST_TEXT]  # type: ignore[literal-required]
    if (gpus := whole(told.get("ett_gpus"), most=MOST_GPUS)) is not None:
        job["gpus"] = gpus
    service = {
        key: text(told.get(key)) for key in ("service_name", "service_version", "service_namespace")
    }
    attrs = {key.replace("_", ".", 1): value for key, value in service.items() if value}
    if attrs:
        job["attrs"] = json.dumps(attrs, ensure_ascii=False)
    return job


def _first_text(told: Attributes, keys: Iterable[str]) -> str | None:
    return next((value for key in keys if (value := text(told.get(key)))), None)


def _first_whole(told: Attributes, keys: Iterable[str]) -> int | None:
    numbers = (whole(told.get(key)) for key in keys)
    return next((number for number in numbers if number is not None), None)
