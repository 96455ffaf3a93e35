"""Logs that real trainers wrote, held against what their scripts measured."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.queries.engine import ingest, table

RUNS = Path(__file__).parent / "trainer_runs"
_WRITTEN_IN = datetime(2026, 12, 1).timestamp()  # of lines that tell no year
_Truth = Sequence[Mapping[str, Any]]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    logs = []
    for log in sorted(RUNS.glob("*/*.log")):
        logs.append(folder / log.parent.name / log.name)
        logs[-1].parent.mkdir()
        shutil.copy(log, logs[-1])
        os.utime(logs[-1], (_WRITTEN_IN, _WRITTEN_IN))

    assert 0 == ingest(folder / "warehouse", *logs, "--as-of", "2026-12-01T00:00:00Z")
    return folder / "warehouse"


def launches(run: str) -> list[_Truth]:
    lines = (RUNS / run / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    starts = [at for at, each in enumerate(told) if each["e"] == "start"]
    return [told[at:until] for at, until in zip(starts, [*starts[1:], None], strict=True)]


def times(launch: _Truth, what: str) -> list[float]:
    return [each["t"] for each in launch if each["e"] == what]


def seconds(launch: _Truth, begin: str, end: str) -> float:
    pairs = zip(times(launch, begin), times(launch, end), strict=True)
    return sum(until - since for since, until in pairs)


def evaluated(launch: _Truth) -> float:
    return seconds(launch, "evaluating", "evaluated")


def attempts(warehouse: Path, job: str) -> list[dict[str, Any]]:
    return table(
        warehouse,
        "select *, epoch(started_at) as started, epoch(ended_at) as ended, "
        "epoch(first_batch_at) as trained from attempts "
        f"where job_id = '{job}' order by attempt",
    )


def test_hugging_face_trainer_that_is_launched_again_into_one_log(warehouse: Path) -> None:
    first, second = launches("hugging_face")
    killed, resumed = attempts(warehouse, "hugging_face")

    assert ("failed", "killed") == (killed["outcome"], killed["failure_category"])
    assert ("completed", None) == (resumed["outcome"], resumed["failure_category"])
    # the second saves its model once more at its end
    assert [2, 2 + 1] == [killed["checkpoint_saves"], resumed["checkpoint_saves"]]
    assert evaluated(first) == pytest.approx(killed["evaluation_seconds"], abs=0.1)
    assert evaluated(second) == pytest.approx(resumed["evaluation_seconds"], abs=0.2)
    lost = times(first, "step")[-1] - times(first, "saved")[-1]
    assert lost == pytest.approx(killed["unsaved_seconds"], abs=0.5)
    down = times(second, "train_begin")[0] - times(first, "step")[-1]
    assert down == pytest.approx(resumed["ttr_seconds"], abs=0.5)


def test_hugging_face_trainer_that_told_no_loss_since_its_save(warehouse: Path) -> None:
    first, second = launches("hugging_face_bars")
    killed, resumed = attempts(warehouse, "hugging_face_bars")
    apart = 2.0  # the last bar is of a step before, and in whole seconds

    assert [3, 2 + 1] == [killed["checkpoint_saves"], resumed["checkpoint_saves"]]
    last = times(first, "step")[-1]
    assert last == pytest.approx(killed["ended"], abs=apart)
    assert last - times(first, "saved")[-1] == pytest.approx(killed["unsaved_seconds"], abs=apart)
    down = times(second, "train_begin")[0] - last
    assert down == pytest.approx(resumed["ttr_seconds"], abs=apart)


def test_a_hang_that_ft_launchers_monitor_ended(warehouse: Path) -> None:
    first, second = launches("ft_launcher")
    hung, resumed = attempts(warehouse, "run-hang")

    assert ("failed", "job_hang") == (hung["outcome"], hung["failure_category"])
    assert ("completed", None) == (resumed["outcome"], resumed["failure_category"])
    assert [1, 2] == [hung["checkpoint_saves"], resumed["checkpoint_saves"]]
    # the first step that the trainer tells is its second
    assert times(first, "step")[1] == pytest.approx(hung["trained"], abs=0.1)
    assert times(second, "end")[0] < resumed["ended"] < times(second, "end")[0] + 10


def test_mmengine_that_fails_to_load_is_another_attempt(warehouse: Path) -> None:
    first, _ = launches("mmengine")
    killed, failed = attempts(warehouse, "mmengine")

    assert ("lost", "no_end_recorded") == (killed["outcome"], killed["failure_category"])
    assert evaluated(first) == pytest.approx(killed["evaluation_seconds"], abs=0.1)
    assert times(first, "train_begin")[0] == pytest.approx(killed["trained"], abs=15)
    assert ("storage/checkpoint_load", 0) == (
        f"{failed['failure_domain']}/{failed['failure_category']}",
        failed["effective_seconds"],
    )


def test_olmo_core_that_is_stopped_twice_under_an_agent_that_keeps_to_warnings(
    warehouse: Path,
) -> None:
    told = attempts(warehouse, "olmo_core")

    assert ["failed", "failed", "completed"] == [attempt["outcome"] for attempt in told]
    for launch, attempt in zip(launches("olmo_core"), told, strict=True):
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        saved = seconds(launch, "saving", "saved")
        assert saved == pytest.approx(attempt["checkpoint_save_seconds"], abs=0.1)
        loaded = seconds(launch, "loading", "loaded")
        assert loaded == pytest.approx(attempt["checkpoint_load_seconds"], abs=0.1)
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.2)
        assert times(launch, "end")[0] == pytest.approx(attempt["ended"], abs=0.5)
    # each saves once more before it stops
    assert [0.0, 0.0, 0.0] == [attempt["unsaved_seconds"] for attempt in told]


def test_composer_whose_launcher_tells_again_what_a_dead_rank_had_written(
    warehouse: Path,
) -> None:
    told = attempts(warehouse, "composer")
    first, second, _ = launches("composer")

    assert ["lost", "failed"] == [attempt["outcome"] for attempt in told[:2]]
    for launch, attempt in zip(launches("composer"), told, strict=True):
        assert evaluated(launch) == pytest.approx(attempt["evaluation_seconds"], abs=0.05)
    # no line tells of a save or of the step that was restored; some steps are told
    for launch, attempt in zip((first, second), told, strict=False):
        lost = attempt["ended"] - times(launch, "saving")[-1]
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=3)


def test_timm_that_is_killed_and_resumed_by_torchrun(warehouse: Path) -> None:
    first, second = launches("timm")
    killed, resumed = attempts(warehouse, "timm")

    assert ["lost", "completed"] == [killed["outcome"], resumed["outcome"]]
    # those between its epochs alone are told
    assert [2, 2] == [killed["checkpoint_saves"], resumed["checkpoint_saves"]]
    assert times(second, "train_begin")[0] == pytest.approx(resumed["trained"], abs=0.1)
    down = times(second, "train_begin")[0] - times(first, "step")[-1]
    assert down == pytest.approx(resumed["ttr_seconds"], abs=1)


def test_a_loop_of_accelerate_whose_steps_its_bar_alone_tells(warehouse: Path) -> None:
    first, second, third = launches("accelerate")
    killed, failed, resumed = attempts(warehouse, "accelerate")
    apart = 2.0  # its bar and its own times tell whole seconds

    assert ["lost", "lost"] == [killed["outcome"], failed["outcome"]]
    assert "python_exception" == failed["failure_category"]
    # nothing was told behind the last save, so it may have been cut off
    saves = [len(times(launch, "saved")) for launch in (first, second, third)]
    told = [attempt["checkpoint_saves"] for attempt in (killed, failed, resumed)]
    assert [*saves[:2], saves[2] - 1] == told
    for launch, attempt in ((first, killed), (second, failed)):
        # each save sleeps behind the last line that tells of it
        assert attempt["checkpoint_save_seconds"] < seconds(launch, "saving", "saved")
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=apart)
    lost = times(first, "step")[-1] - times(first, "saving")[-1]
    assert lost == pytest.approx(killed["unsaved_seconds"], abs=apart)
    down = times(second, "train_begin")[0] - times(first, "step")[-1]
    assert down == pytest.approx(failed["ttr_seconds"], abs=apart)


def test_deepspeed_that_tells_no_end_of_a_save(warehouse: Path) -> None:
    first, second, third = launches("deepspeed")
    told = attempts(warehouse, "deepspeed")
    killed, failed, _ = told

    assert ["lost", "failed", "completed"] == [attempt["outcome"] for attempt in told]
    for launch, attempt in zip((first, second, third), told, strict=True):
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        # each sleeps once it is written
        assert attempt["checkpoint_save_seconds"] < seconds(launch, "saving", "saved")
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.5)
    lost = killed["ended"] - times(first, "saving")[-1]
    assert lost == pytest.approx(killed["unsaved_seconds"], abs=0.1)
    down = times(second, "train_begin")[0] - times(first, "step")[-1]
    assert down == pytest.approx(failed["ttr_seconds"], abs=0.5)


def test_a_torchrun_that_was_killed_said_nothing_and_the_next_says_that_its_workers_died(
    warehouse: Path,
) -> None:
    (first, _) = launches("llama_factory")
    killed, failed = attempts(warehouse, "llama_factory")

    assert ["lost", "failed"] == [killed["outcome"], failed["outcome"]]
    assert times(first, "train_begin")[0] == pytest.approx(killed["trained"], abs=0.1)
    assert len(times(first, "saved")) == killed["checkpoint_saves"]
    assert evaluated(first) == pytest.approx(killed["evaluation_seconds"], abs=0.1)
    lost = times(first, "step")[-1] - times(first, "saving")[-1]
    assert lost == pytest.approx(killed["unsaved_seconds"], abs=0.5)
    # it could not load what the first had saved
    assert (0.0, None) == (failed["effective_seconds"], failed["trained"])


def test_launches_of_torchrun_that_begin_with_their_train_loop(warehouse: Path) -> None:
    (first, second, third) = launches("accelerate_torchrun")
    told = attempts(warehouse, "accelerate_torchrun")

    assert ["lost", "failed"] == [attempt["outcome"] for attempt in told[:2]]
    for launch, attempt in zip((first, second, third), told, strict=True):
        # the line that it is met with is before its first load
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=1.5)
    # the exception of rank 0 breaks off in its bar
    assert "unhandled_runtime_error" == told[1]["failure_category"]
    assert "RuntimeError: boom" in told[1]["failure_evidence"]
    assert (None, 2) == (told[0]["tts_seconds"], told[0]["checkpoint_saves"])


def test_torchtune_whose_bar_alone_tells_its_steps(warehouse: Path) -> None:
    told = attempts(warehouse, "torchtune")
    first, second, third = launches("torchtune")

    assert ["lost", "failed", "completed"] == [attempt["outcome"] for attempt in told]
    # the exception of rank 0 breaks off in its bar
    assert "RuntimeError: boom" == told[1]["failure_evidence"]
    for launch, attempt in zip((first, second, third), told, strict=True):
        assert len(times(launch, "saving")) == attempt["checkpoint_saves"]
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.1)
    assert times(first, "step")[-1] == pytest.approx(told[0]["ended"], abs=0.1)
    for before, launch, attempt in ((first, second, told[1]), (second, third, told[2])):
        lost = times(before, "step")[-1] - times(before, "saving")[-1]
        before_it = told[attempt["attempt"] - 2]
        assert lost == pytest.approx(before_it["unsaved_seconds"], abs=1.1)
        # begun by the shell, its trainer has imported its modules by then
        assert 3 < times(launch, "start")[0] - attempt["started"] < 6
        down = times(launch, "train_begin")[0] - times(before, "step")[-1]
        assert down == pytest.approx(attempt["ttr_seconds"], abs=1.1)


def test_ultralytics_that_tells_its_steps_in_bars_and_nothing_of_its_saves(warehouse: Path) -> None:
    told = attempts(warehouse, "ultralytics")
    first, second, third = launches("ultralytics")

    assert ["lost", "lost", "completed"] == [attempt["outcome"] for attempt in told]
    assert "RuntimeError: boom" == told[1]["failure_evidence"]
    for launch, attempt in zip((first, second, third), told, strict=True):
        assert 0.1 > abs(times(launch, "start")[0] - attempt["started"])
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.1)
        assert evaluated(launch) == pytest.approx(attempt["evaluation_seconds"], abs=0.1)
    for before, launch, lost, found in (
        (first, second, told[0], told[1]),
        (second, third, told[1], told[2]),
    ):
        # its epochs end, and are restored, before it evaluates and saves
        since_save = times(before, "step")[-1] - times(before, "saving")[-1]
        assert since_save == pytest.approx(lost["unsaved_seconds"], abs=0.5)
        down = times(launch, "train_begin")[0] - times(before, "step")[-1]
        assert down == pytest.approx(found["ttr_seconds"], abs=0.5)


def test_a_run_that_was_stopped_before_the_line_of_loss_behind_its_save(warehouse: Path) -> None:
    told = attempts(warehouse, "llama_factory_interrupted")
    runs = launches("llama_factory_interrupted")

    assert ["lost", "lost", "lost", "completed"] == [attempt["outcome"] for attempt in told]
    assert ["user_cancelled", "unhandled_runtime_error"] == [
        attempt["failure_category"] for attempt in told[1:3]
    ]
    # the last saves its model once more at its end
    assert [2, 1, 1, 2 + 1] == [attempt["checkpoint_saves"] for attempt in told]
    for launch, attempt in zip(runs[:3], told, strict=False):
        # its bar alone tells of steps behind the save, which each sleeps 1 s behind
        lost = times(launch, "step")[-1] - times(launch, "saving")[-1]
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=0.4)
        assert 0.1 > attempt["checkpoint_save_seconds"]
    for before, launch, attempt in zip(runs[:3], runs[1:], told[1:], strict=True):
        down = times(launch, "train_begin")[0] - times(before, "step")[-1]
        assert down == pytest.approx(attempt["ttr_seconds"], abs=0.4)


def test_levanter_whose_json_logger_tells_how_long_it_evaluated_and_that_it_is_done(
    warehouse: Path,
) -> None:
    told = attempts(warehouse, "levanter")
    first, second, third, last = launches("levanter")

    assert ["lost", "lost", "lost", "completed"] == [attempt["outcome"] for attempt in told]
    assert ["killed", "user_cancelled", "unhandled_runtime_error", None] == [
        attempt["failure_category"] for attempt in told
    ]
    # before its second step and behind the saves of 20, 40 and its last; it says how long each took
    assert pytest.approx([3.3, 0.0, 2.7, 2.4], abs=0.1) == [
        attempt["evaluation_seconds"] for attempt in told
    ]
    for launch, attempt, since in zip(
        (first, second, third), told, (0.0, 0.0, told[2]["evaluation_seconds"]), strict=False
    ):
        assert 0.1 > abs(times(launch, "start")[0] - attempt["started"])
        lost = times(launch, "step")[-1] - times(launch, "saving")[-1] - since
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=0.1)
    assert len(times(last, "saved")) == told[3]["checkpoint_saves"]


def test_maxtext_whose_last_launch_has_nothing_left_to_do(warehouse: Path) -> None:
    told = attempts(warehouse, "maxtext")
    runs = launches("maxtext")

    assert [False, False, False, False, True] == [attempt["trained"] is None for attempt in told]
    assert ["killed", "user_cancelled", "unhandled_runtime_error"] == [
        attempt["failure_category"] for attempt in told[:3]
    ]
    # none of its lines says that it is done; that TensorFlow finds no GPU has stopped none
    assert ["lost"] * 4 == [attempt["outcome"] for attempt in told[:4]]
    assert "no_end_recorded" == told[3]["failure_category"]
    assert [len(times(launch, "saved")) for launch in runs] == [
        attempt["checkpoint_saves"] for attempt in told
    ]
    for launch, attempt in zip(runs[:4], told, strict=False):
        lost = times(launch, "step")[-1] - times(launch, "saving")[-1]
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=0.2)
        # each step is told with the next
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=1.6)


def test_axolotl_that_is_interrupted_and_says_nothing_of_it(warehouse: Path) -> None:
    told = attempts(warehouse, "axolotl")
    runs = launches("axolotl")

    assert ["lost", "lost", "completed"] == [attempt["outcome"] for attempt in told]
    assert ["killed", "no_end_recorded", None] == [attempt["failure_category"] for attempt in told]
    for launch, attempt in zip(runs, told, strict=True):
        # what is told of a launch before the line of the next one's shell is its own
        assert 0.1 > abs(times(launch, "start")[0] - attempt["started"])
        # it evaluates, or skips what it trained before, first
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=1.8)
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        assert evaluated(launch) == pytest.approx(attempt["evaluation_seconds"], abs=0.1)
    for launch, attempt in zip(runs[:2], told, strict=False):
        lost = times(launch, "step")[-1] - times(launch, "saving")[-1]
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=0.2)


def test_a_loop_of_flax_whose_metrics_a_thread_tells_while_orbax_saves(warehouse: Path) -> None:
    told = attempts(warehouse, "flax")
    runs = launches("flax")

    assert ["killed", "user_cancelled", "unhandled_runtime_error"] == [
        attempt["failure_category"] for attempt in told[:3]
    ]
    for launch, attempt in zip(runs[:3], told, strict=False):
        assert 0.1 > abs(times(launch, "start")[0] - attempt["started"])
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        lost = times(launch, "step")[-1] - times(launch, "saving")[-1]
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=0.3)


def test_torchtitan_that_is_killed_in_a_save_stopped_and_diverges(warehouse: Path) -> None:
    told = attempts(warehouse, "torchtitan")
    runs = launches("torchtitan")

    assert ["lost", "failed", "failed", "completed"] == [attempt["outcome"] for attempt in told]
    assert "nan_or_divergence" == told[2]["failure_category"]
    for launch, attempt in zip(runs, told, strict=True):
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.1)
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        assert evaluated(launch) == pytest.approx(attempt["evaluation_seconds"], abs=0.1)
        loaded = seconds(launch, "loading", "loaded")
        assert loaded == pytest.approx(attempt["checkpoint_load_seconds"], abs=0.1)
    for launch, attempt, over in zip(runs, told, ("saving", "TERM", "end"), strict=False):
        # what was cut off is no save; torchrun tells that a rank died two seconds later
        behind = times(launch, "saving")[-1] if over == "saving" else times(launch, over)[0]
        lost = (
            behind
            - times(launch, "saved")[-1]
            - (times(launch, "evaluated")[-1] - times(launch, "evaluating")[-1])
        )
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=2.6 if over == "end" else 0.2)
    for before, launch, attempt in zip(runs[:2], runs[1:], told[1:], strict=False):
        down = times(launch, "train_begin")[0] - times(before, "step")[-1]
        assert down == pytest.approx(attempt["ttr_seconds"], abs=0.5)
    # two seconds of its sleep are neither training nor lost
    trained = told[3]["effective_seconds"] + sum(
        told[3][f"{area}_seconds"] for area in ("checkpoint_save", "evaluation")
    )
    whole = times(runs[3], "saved")[-1] - times(runs[3], "train_begin")[0]
    assert whole == pytest.approx(trained, abs=0.1)


def test_ranks_of_torchtitan_without_labels_whose_saves_are_written_meanwhile(
    warehouse: Path,
) -> None:
    told = attempts(warehouse, "torchtitan_unlabelled")
    runs = launches("torchtitan_unlabelled")

    assert ["lost", "cancelled", "completed"] == [attempt["outcome"] for attempt in told]
    for launch, attempt in zip(runs, told, strict=True):
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.1)
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        saved = seconds(launch, "saving", "saved")
        assert saved == pytest.approx(attempt["checkpoint_save_seconds"], abs=0.1)
        assert evaluated(launch) == pytest.approx(attempt["evaluation_seconds"], abs=0.1)
    lost = times(runs[0], "step")[-1] - times(runs[0], "evaluated")[-1]
    assert lost == pytest.approx(told[0]["unsaved_seconds"], abs=0.2)


def test_lingua_that_is_told_of_a_preemption_saves_and_ends(warehouse: Path) -> None:
    told = attempts(warehouse, "lingua")
    runs = launches("lingua")

    # it never says that it is done
    assert ["lost", "failed", "preempted"] == [attempt["outcome"] for attempt in told[:3]]
    assert told[3]["outcome"] != "completed"
    assert 0.1 > told[2]["unsaved_seconds"]
    for launch, attempt in zip(runs, told, strict=True):
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        saved = seconds(launch, "saving", "saved")
        assert saved == pytest.approx(attempt["checkpoint_save_seconds"], abs=0.1)
        loaded = seconds(launch, "loading", "loaded")
        assert loaded == pytest.approx(attempt["checkpoint_load_seconds"], abs=0.1)
        # its first step is told once it is done
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=1.2)
    for launch, attempt in zip(runs[:2], told, strict=False):
        lost = times(launch, "step")[-1] - times(launch, "saved")[-1]
        assert lost == pytest.approx(attempt["unsaved_seconds"], abs=1.2)


def test_nanotron_that_tells_which_weights_it_loads_and_never_that_it_is_done(
    warehouse: Path,
) -> None:
    told = attempts(warehouse, "nanotron")
    runs = launches("nanotron")
    apart = 1.0  # its times are whole seconds

    assert ["lost", "failed"] == [attempt["outcome"] for attempt in told[:2]]
    # nothing is told behind its last save, so it may have been cut off
    first, second, last = (len(times(launch, "saving")) for launch in runs)
    assert [first, second, last - 1] == [attempt["checkpoint_saves"] for attempt in told]
    for launch, attempt in zip(runs, told, strict=True):
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=1.2)
    lost = times(runs[0], "step")[-1] - times(runs[0], "saving")[-1]
    assert lost == pytest.approx(told[0]["unsaved_seconds"], abs=apart + 0.2)
    for before, launch, attempt in zip(runs[:2], runs[1:], told[1:], strict=True):
        down = times(launch, "train_begin")[0] - times(before, "step")[-1]
        # torchrun tells two seconds later that a rank died
        assert down == pytest.approx(attempt["ttr_seconds"], abs=3)


def test_megatron_that_is_killed_while_it_writes_a_save_and_exits_by_its_signal_handler(
    warehouse: Path,
) -> None:
    told = attempts(warehouse, "megatron_lm")
    runs = launches("megatron_lm")
    first, second, third = runs

    assert ["lost", "lost", "completed"] == [attempt["outcome"] for attempt in told]
    assert ["killed", "no_end_recorded", None] == [attempt["failure_category"] for attempt in told]
    for launch, attempt in zip(runs, told, strict=True):
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.1)
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
        assert evaluated(launch) == pytest.approx(attempt["evaluation_seconds"], abs=0.1)
        loaded = seconds(launch, "loading", "loaded")
        assert loaded == pytest.approx(attempt["checkpoint_load_seconds"], abs=0.1)
    for launch, attempt in zip(runs[:2], told, strict=False):
        saved = seconds(launch, "saving", "saved")
        assert saved == pytest.approx(attempt["checkpoint_save_seconds"], abs=0.1)
    # the save of step 20 was still being written: what came after that of step 10 is lost
    since = first[[each["e"] for each in first].index("saving") :]
    blocked = evaluated(since) + seconds(since, "saving", "saved")
    lost = times(first, "step")[-1] - times(first, "saving")[0] - blocked
    assert lost == pytest.approx(told[0]["unsaved_seconds"], abs=0.2)
    # it saves before it exits
    assert 0.1 > told[1]["unsaved_seconds"]
    down = times(second, "train_begin")[0] - times(first, "step")[-1]
    assert down == pytest.approx(told[1]["ttr_seconds"], abs=0.1)
    down = times(third, "train_begin")[0] - times(second, "step")[-1]
    assert down == pytest.approx(told[2]["ttr_seconds"], abs=0.6)


def test_megatron_whose_ranks_srun_labels_and_that_tells_no_times_but_its_own(
    warehouse: Path,
) -> None:
    told = attempts(warehouse, "megatron_lm_ranks")
    runs = launches("megatron_lm_ranks")
    every = 5  # steps

    assert ["killed", "no_end_recorded", None] == [attempt["failure_category"] for attempt in told]
    for launch, attempt in zip(runs, told, strict=True):
        # one that its process tells, after all that it imports
        assert times(launch, "start")[0] == pytest.approx(attempt["started"], abs=0.1)
        assert times(launch, "train_begin")[0] == pytest.approx(attempt["trained"], abs=0.1)
        assert len(times(launch, "saved")) == attempt["checkpoint_saves"]
    assert [None, None] == [attempt["tts_seconds"] for attempt in told[1:]]
    waited = times(runs[0], "train_begin")[0] - times(runs[0], "start")[0]
    assert waited == pytest.approx(told[0]["tts_seconds"], abs=0.1)
    # that of the last rank comes behind the save that the first begins after it; those of a model
    # that is trained no line tells the time of
    for launch, attempt in zip(runs, told, strict=True):
        within = [each for each in launch if each["t"] <= times(launch, "step")[-1] + 1]
        assert evaluated(within) == pytest.approx(attempt["evaluation_seconds"], abs=0.1)
    assert told[0]["ended"] == pytest.approx(times(runs[0], "step")[-1], abs=0.5 * every)


def test_nemo_that_counts_its_steps_from_0(warehouse: Path) -> None:
    told = attempts(warehouse, "nemo")
    runs = launches("nemo")

    assert ["lost", "failed", "completed"] == [attempt["outcome"] for attempt in told]
    assert ["killed", "unhandled_runtime_error", None] == [
        attempt["failure_category"] for attempt in told
    ]
    for launch, attempt in zip(runs, told, strict=True):
        # it counts from 0, so that its second step is the first that counts, once it is done
        known = times(launch, "step")[1 if launch is runs[0] else 0]
        assert known == pytest.approx(attempt["trained"], abs=0.25)
        # the first of its batches is told once it is done, too
        assert 0 < attempt["evaluation_seconds"] < evaluated(launch)
    for before, launch, lost, found in zip(runs[:2], runs[1:], told, told[1:], strict=False):
        # a save sleeps once its end is told; its launcher tells of a failure three seconds later
        since_save = lost["ended"] - times(before, "saving")[-1]
        assert since_save == pytest.approx(lost["unsaved_seconds"], abs=1)
        down = times(launch, "train_begin")[0] - lost["ended"]
        assert down == pytest.approx(found["ttr_seconds"], abs=1.2)
