"""Why attempts die: categories, how often each, and what the logs then say. Words only, no time."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """One death: the category that is true, the line that a log would show, and who said it."""

    category: str
    message: str
    component: str
    exit_code: int
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class _Kind:
    category: str
    weight: float
    component: str
    exit_code: int
    messages: tuple[str, ...]
    signal: int | None = None


def infra(rng: random.Random) -> Cause:
    """A death of the machines or the network under the job."""
    return _drawn(rng, _INFRA)


def storage(rng: random.Random) -> Cause:
    """A death while writing a checkpoint or talking to the file system."""
    return _drawn(rng, _STORAGE)


def user(rng: random.Random, before_training: bool) -> Cause:
    """A death of the user's own making."""
    return _drawn(rng, _USER_STARTING if before_training else _USER_TRAINING)


def hang(rng: random.Random, silent_s: int) -> Cause:
    """The watchdog's verdict on a job that made no step for `silent_s` seconds."""
    rank = rng.randrange(8)
    message = f"watchdog: hang detected on rank {rank}: no progress for {silent_s} s, terminating"
    return Cause("cascade/job_hang", message, "watchdog", 134, 6)


def echo(rng: random.Random) -> Cause:
    """What the surviving ranks say after the first one died: a consequence, not a cause."""
    return _drawn(rng, _ECHOES)


def _drawn(rng: random.Random, kinds: tuple[_Kind, ...]) -> Cause:
    kind = rng.choices(kinds, weights=[each.weight for each in kinds])[0]
    message = rng.choice(kind.messages).format(
        host=f"gpu{rng.randrange(1, 900):04d}",
        rank=rng.randrange(64),
        pci=f"0000:{rng.randrange(16, 250):02x}:00",
        pid=rng.randrange(2_000, 90_000),
        step=rng.randrange(200, 90_000),
        n=rng.randrange(2, 60),
    )
    return Cause(kind.category, message, kind.component, kind.exit_code, kind.signal)


_INFRA = (
    _Kind("gpu_hardware/gpu_off_bus", 10, "gpu", 1, (
        "NVRM: Xid (PCI:{pci}): 79, pid={pid}, GPU has fallen off the bus.",
        "nvidia-smi on {host}: Unable to determine the device handle for GPU {pci}",
    )),
    _Kind("gpu_hardware/gpu_ecc_uncorrectable", 14, "gpu", 1, (
        "NVRM: Xid (PCI:{pci}): 94, pid={pid}, Contained memory error on channel {n}",
        "rank {rank}: CUDA error: uncorrectable ECC error encountered",
    )),
    _Kind("gpu_hardware/nvlink_error", 9, "gpu", 1, (
        "NVRM: Xid (PCI:{pci}): 74, pid={pid}, NVLink: fatal error detected on link {n}",
        "{host}: NVSwitch fatal error, port {n}",
    )),
    _Kind("gpu_hardware/gpu_gsp_firmware", 5, "gpu", 1, (
        "NVRM: Xid (PCI:{pci}): 119, pid={pid}, "
        "Timeout after {n}s of waiting for RPC response from GPU0 GSP!",
    )),
    _Kind("gpu_hardware/gpu_thermal_power", 3, "gpu", 1, (
        "{host}: mlx5_core: Detected insufficient power on the PCIe slot ({n}W).",
    )),
    _Kind("network/ib_link", 12, "network", 1, (
        "{host} NCCL WARN NET/IB : Got async event: port error on mlx5_{n}",
        "{host}: mlx5_1: Link is Down",
    )),
    _Kind("network/tcp_connection", 9, "network", 1, (
        "rank {rank}: ConnectionResetError: [Errno 104] Connection reset by peer ({host})",
        "rank {rank}: connect to {host}:29500 failed: No route to host",
    )),
    _Kind("network/dns", 3, "network", 1, (
        "socket.gaierror: [Errno -3] Temporary failure in name resolution ({host})",
    )),
    _Kind("host/host_kernel_or_reboot", 6, "host", 137, (
        "{host}: kernel: task python:{pid} blocked for more than 120 seconds.",
    ), 9),
    _Kind("scheduler/node_fail", 8, "scheduler", 1, (
        "srun: error: {host}: job killed DUE TO NODE FAILURE",
        "control plane: Node {host} is NotReady, node failure declared",
    )),
    _Kind("scheduler/maintenance_drain", 3, "scheduler", 143, (
        "{host}: node is being drained, scheduled maintenance of rack {n}",
    ), 15),
    _Kind("cascade/nccl_timeout", 9, "nccl", 134, (
        "[rank{rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={step}, "
        "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600{n} milliseconds before timing out.",
    ), 6),
    _Kind("unknown/unclassified", 4, "trainer", 1, (
        "trainer exited while applying shard {n}, see the service's own journal",
        "step {step}: internal condition 0x{n} was raised, giving up",
    )),
)  # fmt: skip

_STORAGE = (
    _Kind("storage/checkpoint_write", 50, "checkpoint", 1, (
        "ERROR: failed to save checkpoint step_{step} to the blob store: timed out",
        "rank {rank}: checkpoint write of shard {n} failed: quorum not reached",
    )),
    _Kind("storage/fs_mount_or_stale", 15, "storage", 1, (
        "OSError: [Errno 116] Stale file handle on {host}, shard {n}",
        "nfs: server store{n} not responding, still trying",
    )),
    _Kind("storage/object_store", 25, "storage", 1, (
        "botocore.exceptions.ClientError: PutObject of part {n} was refused: SlowDown",
    )),
    _Kind("storage/disk_full", 10, "storage", 1, (
        "OSError: [Errno 28] No space left on device while spilling step {step} on {host}",
    )),
)  # fmt: skip

_USER_STARTING = (
    _Kind("user_code/import_or_dependency", 22, "trainer", 1, (
        "ModuleNotFoundError: No module named 'fused_ops_{n}'",
    )),
    _Kind("user_code/config_or_args", 26, "trainer", 2, (
        "train.py: error: unrecognized arguments: --warm-{n}",
        "ValueError: invalid config option embedding_dim_{n}",
    )),
    _Kind("user_code/file_not_found", 14, "trainer", 1, (
        "FileNotFoundError: [Errno 2] No such file or directory: 'tables/part-{step}'",
    )),
    _Kind("user_code/permission", 8, "trainer", 1, (
        "PermissionError: [Errno 13] Permission denied: 'features/v{n}'",
    )),
    _Kind("user_code/compile_dynamo_inductor", 16, "compiler", 1, (
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised in graph {n}",
    )),
    _Kind("user_code/syntax", 6, "trainer", 1, (
        "SyntaxError: invalid syntax (train.py, line {n})",
    )),
    _Kind("host/container_or_image", 8, "launcher", 125, (
        "{host}: Failed to pull image \"trainer:{n}\": ErrImagePull",
    )),
)  # fmt: skip

_USER_TRAINING = (
    _Kind("user_code/gpu_oom", 30, "trainer", 1, (
        "rank {rank}: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {n}.00 GiB.",
    )),
    _Kind("user_code/nan_or_divergence", 20, "trainer", 1, (
        "step {step}: loss is nan, stopping",
        "rank {rank}: found Inf in local grad norm of bucket {n}",
    )),
    _Kind("user_code/shape_or_dtype", 14, "trainer", 1, (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied ({n}x64 and 128x{n})",
    )),
    _Kind("data/bad_data", 14, "data", 1, (
        "rank {rank}: corrupt record in shard {n}, offset {step}",
    )),
    _Kind("data/dataloader_worker", 12, "data", 1, (
        "RuntimeError: DataLoader worker (pid(s) {pid}) exited unexpectedly",
    )),
    _Kind("user_code/python_exception", 16, "trainer", 1, (
        "KeyError: 'feature_{n}'",
        "AssertionError: batch {step} has no labels",
    )),
    _Kind("host/host_oom", 8, "host", 137, (
        "{host}: Memory cgroup out of memory: Killed process {pid} (python)",
    ), 9),
)  # fmt: skip

_ECHOES = (
    _Kind("cascade/nccl_error", 2, "nccl", 1, (
        "rank {rank}: NCCL error: ncclRemoteError: a remote process exited prematurely",
    )),
    _Kind("cascade/peer_rank_failed", 1, "launcher", 1, (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
        "train.py FAILED on {host}",
    )),
)  # fmt: skip
