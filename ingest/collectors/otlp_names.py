"""What the names of spans and events mean, whatever stands before them: `train.checkpoint_save`,
`ett/checkpoint-save` and `checkpoint_save` are the same. Makes no events.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from ingest.events import Phase


class Kind(StrEnum):
    """What a span or an event is."""

    PHASE = "phase"
    STEP = "step"  # one step of training
    ATTEMPT = "attempt"  # the whole of one launch
    START = "phase_start"  # events: a phase that has begun, whose span is still to come
    PROGRESS = "progress"
    ALIVE = "alive"
    EXCEPTION = "exception"


class Meaning(NamedTuple):
    """`is_plain`: any program may call something so, not only a trainer. `mode`: of a save whose
    name says it.
    """

    kind: Kind
    phase: Phase | None = None
    stage: str | None = None
    is_plain: bool = False
    mode: str | None = None


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = re.compile(r"[^a-z0-9]+")
_TRAINERS = frozenset({"ett", "train", "trainer", "training", "pretrain", "megatron"})
_STAGES = {
    Phase.TRAINER_INIT: (
        "device_init",
        "process_group_init",
        "preproc_creation",
        "train_module_creation",
        "init_plugins",
        "pre_train",
        "get_first_batch_data",
    ),
    Phase.SHUTDOWN: ("model_publish",),
}
# as nv-one-logger calls them
_OTHER_STAGES = {
    "distributed_code_initialization": "process_group_init",
    "data_loader_initialization": "preproc_creation",
    "model_initialization": "train_module_creation",
    "optimizer_initialization": "train_module_creation",
}
_OTHER_NAMES = {
    "train": Phase.TRAINING,
    "train_loop": Phase.TRAINING,
    "training_loop": Phase.TRAINING,
    "save_checkpoint": Phase.CHECKPOINT_SAVE,
    "load_checkpoint": Phase.CHECKPOINT_LOAD,
    "checkpoint_restore": Phase.CHECKPOINT_LOAD,
    "restore_checkpoint": Phase.CHECKPOINT_LOAD,
    "upload_checkpoint": Phase.CHECKPOINT_UPLOAD,
    "evaluate": Phase.EVALUATION,
    "eval": Phase.EVALUATION,
    "validation": Phase.EVALUATION,
    "eval_loop": Phase.EVALUATION,
    "evaluation_loop": Phase.EVALUATION,
    "validation_loop": Phase.EVALUATION,
    "testing_loop": Phase.EVALUATION,
    "compile": Phase.PT2_COMPILE,
    "torch_compile": Phase.PT2_COMPILE,
    "startup": Phase.TRAINER_INIT,
}
MODES = ("sync", "async")
# a step of these is none of training, whatever number it has
_NO_TRAINING = frozenset(
    {"eval", "evaluate", "evaluation", "validate", "validation", "val", "test"}
)
_STEPS = ("train_step", "training_step", "train_iteration", "step", "iteration")
_ATTEMPTS = ("attempt", "launch")
_EVENTS = {
    "phase_start": Kind.START,
    "progress": Kind.PROGRESS,
    "alive": Kind.ALIVE,
    "heartbeat": Kind.ALIVE,
    "exception": Kind.EXCEPTION,
}


def _span_names() -> dict[str, Meaning]:
    names = {name: Meaning(Kind.STEP, is_plain=name in ("step", "iteration")) for name in _STEPS}
    names |= {name: Meaning(Kind.ATTEMPT, is_plain=True) for name in _ATTEMPTS}
    for phase in Phase:
        names[phase] = Meaning(Kind.PHASE, phase, is_plain="_" not in phase)
    for phase, stages in _STAGES.items():
        names |= {stage: Meaning(Kind.PHASE, phase, stage) for stage in stages}
    for name, stage in _OTHER_STAGES.items():
        names[name] = names[stage]
    for name, phase in _OTHER_NAMES.items():
        names[name] = Meaning(Kind.PHASE, phase, is_plain="_" not in name)
    for mode in MODES:  # checkpoint_save_async, as nv-one-logger calls it
        for save in ("checkpoint_save", "save_checkpoint"):
            names[f"{save}_{mode}"] = names[save]._replace(mode=mode)
    return names


_SPANS = _span_names()


@lru_cache(maxsize=4096)
def span_meaning(name: str) -> Meaning | None:
    """What a span of that name is: the longest end of its name that is known."""
    if "_event_for_" in name:  # how nv-one-logger tells at once of an event of an open span
        return None
    words = _words(name)
    for at in range(len(words)):
        known = _SPANS.get("_".join(words[at:]))
        if known is not None:
            if known.kind is Kind.STEP and not _NO_TRAINING.isdisjoint(words[:at]):
                return None
            return known._replace(is_plain=known.is_plain and words[0] not in _TRAINERS)
    return None


@lru_cache(maxsize=4096)
def event_kind(name: str) -> Kind | None:
    """What an event of that name is: the longest end of its name that is known."""
    words = _words(name)
    ends = ("_".join(words[at:]) for at in range(len(words)))
    return next((_EVENTS[end] for end in ends if end in _EVENTS), None)


def _words(name: str) -> list[str]:
    return [word for word in _BETWEEN.split(_HUMP.sub("_", name).lower()) if word]
