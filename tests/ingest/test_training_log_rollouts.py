"""What the lines of slime, SkyRL, ROLL and NeMo RL say, and how a job that Ray was given ends."""

from __future__ import annotations

import pytest

from ingest.collectors.training_log import recognises
from ingest.events import Event
from tests.ingest.trainer_logs import (
    at_one,
    of,
    phases,
    read,
    resumed,
    since,
    spans,
    stamped,
    steps,
)

ACTOR = "(MegatronTrainRayActor pid=47) "
ROLLOUTS = "(RolloutManager pid=46) "


def saved_steps(told: list[Event]) -> list[int]:
    return [e["step"] for e in of(told, "phase_end") if e["phase"] == "checkpoint_save"]


def optimized(step: int) -> str:
    return f"step {step}: {{'train/loss': 0.1, 'train/grad_norm': 0.2, 'train/step': {step}}}"


def perf(rollout: int) -> str:
    return f"perf {rollout}: {{'perf/train_time': 70.0, 'perf/step_time': 110.0, 'perf/x': 0.6}}"


SLIME = stamped(
    f"""\
00:05 [10:00:05] placement_group.py:125 - Creating placement group with 8 GPUs...
01:00 {ACTOR} loading distributed checkpoint from /ckpt at iteration 4
01:40 {ACTOR}  successfully loaded checkpoint from /ckpt [ t 1/2, p 1/1 ] at iteration 4
01:50 {ACTOR}timer.py:24 - Timer update_weights start
02:00 {ACTOR}timer.py:32 - Timer update_weights end (elapsed: 10.0s)
02:40 {ROLLOUTS}rollout_metrics.py:268 - perf 5: {{'perf/rollout_time': 40.0}}
03:10 {ACTOR}model.py:918 - {optimized(15)}
03:30 {ACTOR}model.py:918 - {optimized(16)}
03:50 {ACTOR}model.py:918 - {optimized(17)}
03:50 {ACTOR}train_metric_utils.py:401 - {perf(5)}
04:00 {ACTOR}timer.py:32 - Timer update_weights end (elapsed: 10.0s)
05:00 {ACTOR}model.py:918 - {optimized(18)}
05:20 {ACTOR}model.py:918 - {optimized(19)}
05:40 {ACTOR}model.py:918 - {optimized(20)}
05:40 {ACTOR}train_metric_utils.py:401 - {perf(6)}
05:40 {ACTOR}timer.py:24 - Timer save_model start
05:40 {ACTOR}saving checkpoint at iteration       6 to /ckpt in torch_dist format
05:55 {ACTOR}  successfully saved checkpoint from iteration       6 to /ckpt [ t 1/2, p 1/1 ]
05:56 {ACTOR}timer.py:32 - Timer save_model end (elapsed: 15.8s)
06:05 {ACTOR}timer.py:32 - Timer update_weights end (elapsed: 9.0s)
06:20 {ROLLOUTS}sglang_rollout.py:602 - eval_rollout_single_dataset example data: ['x'] reward=1
07:00 {ROLLOUTS}rollout_metrics.py:247 - eval 6: {{'eval/aime': 0.5}}
08:30 {ACTOR}model.py:918 - {optimized(21)}
08:30 {ACTOR}train_metric_utils.py:401 - {perf(7)}"""
)


def test_slime_counts_rollouts_as_its_saves_do() -> None:
    told = read(*SLIME)

    assert recognises("x.log", "\n".join(SLIME).encode())
    assert [(230.0, 5), (340.0, 6), (510.0, 7)] == steps(told)
    assert [(340.0, 355.8)] == spans(told, "checkpoint_save")
    assert [6] == saved_steps(told)


def test_slime_trains_once_its_engines_have_the_weights() -> None:
    told = read(*SLIME)

    assert [5.0] == [since(event) for event in of(told, "attempt_start")]
    assert ("phase_start", "training", 120.0, None) in phases(told)
    assert [(120.0, 4)] == resumed(told)
    assert [(380.0, 420.0)] == spans(told, "evaluation")


def test_slime_that_starts_anew_in_one_log_is_two_launches() -> None:
    told = read(*SLIME, *at_one(SLIME))

    assert 2 == len(of(told, "attempt_start"))
    assert [4, 4] == [step for _, step in resumed(told)]


def test_slime_says_when_it_starts_from_nothing() -> None:
    fresh = [line for line in SLIME if "loading" not in line and "loaded" not in line]
    told = read(*fresh, *at_one(fresh))

    assert [5.0, 3 * 3600 + 5.0] == [since(event) for event in of(told, "attempt_start")]


def test_slime_without_megatron_says_that_it_saves() -> None:
    killed = next(at for at, line in enumerate(SLIME) if "saving checkpoint" in line)
    told = read(*SLIME[:killed])

    assert ("phase_start", "checkpoint_save", 340.0, None) in phases(told)
    assert [] == saved_steps(told)


SKYRL = stamped(
    """\
00:05 trainer:build_models:700 - init policy/ref/critic models done
00:10 trainer:train:210 - Started: 'load_checkpoints'
00:10 trainer:load:1 - Resuming from global_step: 4
00:40 trainer:load:2 - Successfully loaded complete checkpoint state from global_step_4
00:40 trainer:train:210 - Finished: 'load_checkpoints', time cost: 30.00s
00:40 trainer:train:210 - Started: 'eval'
01:40 trainer:train:210 - Finished: 'eval', time cost: 60.00s
01:41 trainer:train:210 - Started: 'step'
03:01 trainer:train:210 - Started: 'generate'
03:41 trainer:train:210 - Finished: 'step', time cost: 120.00s
03:41 skyrl.train.utils.tracking:log:189 - Step 5:
03:41 trainer:train:210 - Started: 'step'
05:41 trainer:train:300 - Started: 'save_checkpoints'
06:01 trainer:save:900 - Successfully saved checkpoint for global_step_6 to: /ckpt/global_step_6
06:03 trainer:train:300 - Finished: 'save_checkpoints', time cost: 22.00s
06:10 trainer:train:210 - Finished: 'step', time cost: 149.00s
06:11 trainer:train:210 - Started: 'eval'
07:11 trainer:train:210 - Finished: 'eval', time cost: 60.00s
07:11 skyrl.train.utils.tracking:log:189 - Step 6:
07:12 trainer:train:210 - Started: 'step'
09:11 skyrl.train.utils.tracking:log:189 - Step 7:
09:12 trainer:train:330 - Training done!""",
    "(skyrl_entrypoint pid=84) INFO | ",
)


def test_skyrl_names_what_it_does_and_times_it() -> None:
    told = read(*SKYRL)

    assert recognises("x.log", "\n".join(SKYRL).encode())
    assert [(10.0, 40.0)] == spans(told, "checkpoint_load")
    assert [(101.0, 4)] == resumed(told)
    assert [(40.0, 100.0), (371.0, 431.0)] == spans(told, "evaluation")
    assert [(341.0, 363.0)] == spans(told, "checkpoint_save")
    assert [6] == saved_steps(told)
    assert [(101.0, 552.0)] == spans(told, "training")
    assert [5, 6, 7] == [step for _, step in steps(told)]
    assert "completed" == told[-1]["outcome"]


def test_skyrl_that_tells_its_metrics_elsewhere_is_proven_by_its_saves() -> None:
    told = read(*(line for line in SKYRL if "tracking:log" not in line))

    assert [(101.0, 4)] == resumed(told)
    assert [6] == [step for _, step in steps(told)]
    assert [(341.0, 363.0)] == spans(told, "checkpoint_save")
    assert [(101.0, 552.0)] == spans(told, "training")


def test_skyrl_that_starts_anew_in_one_log_is_two_launches() -> None:
    killed = [line for line in SKYRL if "Training done" not in line]
    told = read(*killed, *at_one(SKYRL))

    assert 2 == len(of(told, "attempt_start"))
    assert [4, 4] == [step for _, step in resumed(told)]


def test_an_evaluation_of_skyrl_that_is_cut_off_has_begun() -> None:
    told = read(*SKYRL[:6])

    assert ("phase_start", "evaluation", 40.0, None) in phases(told)


ROLL = stamped(
    """\
00:01 [checkpoint_manager.py (56)] [INFO] [DRIVER 0 / 1][PID 47] checkpoint_config: {}
00:04 [base_pipeline.py (70)] [INFO] [DRIVER 0 / 1][PID 47] resume_from_checkpoint: \
/out/pipeline/checkpoint-4
02:00 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] pipeline step 5 start...
04:00 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] {"loss": 0.1, "system/step": 5}
04:00 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] pipeline step 5 finished
04:01 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] pipeline step 6 start...
06:00 (ActorWorker(actor_train-0) pid=90) [base_worker.py (335)] [INFO] [actor_train-0 0 / 2] \
save checkpoint-6 to /out/actor_train-0/checkpoint-6
06:00 (ActorWorker(actor_train-1) pid=91) [base_worker.py (335)] [INFO] [actor_train-1 1 / 2] \
save checkpoint-6 to /out/actor_train-1/checkpoint-6
06:30 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] [{"prompt": "a"}]
06:31 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] {"loss": 0.1, "system/step": 6, \
"time/actor_train/do_checkpoint/total": 29.5}
06:31 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] pipeline step 6 finished
06:31 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] pipeline step 7 start...
08:31 [rlvr_pipeline.py (487)] [INFO] [DRIVER 0 / 1][PID 47] pipeline step 7 finished
08:32 [rlvr_pipeline.py (700)] [INFO] [DRIVER 0 / 1][PID 47] pipeline complete!"""
)


def test_roll_tells_with_its_step_how_long_the_save_took() -> None:
    told = read(*ROLL)

    assert recognises("x.log", "\n".join(ROLL).encode())
    assert [(120.0, 4)] == resumed(told)
    assert [(120.0, 512.0)] == spans(told, "training")
    assert [(360.0, 389.5)] == spans(told, "checkpoint_save")
    assert [6] == saved_steps(told)
    assert [(240.0, 5), (360.0, 6), (511.0, 7)] == steps(told)
    assert "completed" == told[-1]["outcome"]


def test_roll_of_agents_counts_rollouts() -> None:
    agents = [
        line.replace("pipeline step 5 start", "pipeline rollout global step 5 start")
        for line in ROLL
    ]

    assert [(120.0, 512.0)] == spans(read(*agents), "training")


def test_roll_that_starts_anew_in_one_log_is_two_launches() -> None:
    told = read(*ROLL[:-1], *at_one(ROLL))

    assert 2 == len(of(told, "attempt_start"))
    assert [4, 4] == [step for _, step in resumed(told)]


BAR = "=" * 25
NEMO_RL = stamped(
    f"""\
00:02 Loaded configuration from: examples/configs/grpo.yaml
00:05 ▶ Setting up compute cluster...
01:00 (DTensorPolicyWorker pid=47) Loading weights from /ckpt/step_4/policy/weights
02:00                   SETUP COMPLETE
02:00 {BAR} Epoch 1/3 {BAR}
02:00 {BAR} Step 5/6 {BAR}
03:30 ▶ Training policy...
04:00 Logged data to logs/exp_001/train_data_step5.jsonl
04:00   • Total step time: 120.00s
04:01 {BAR} Step 6/6 {BAR}
05:31 ▶ Starting validation at step 6...
06:00   • Total validation time: 29.50s
06:01 Saving checkpoint for step 6...
06:24 Logged data to logs/exp_001/train_data_step6.jsonl
06:24   • Total step time: 143.00s
06:24   • checkpointing: 20.50s (15.0%)
06:25 {BAR} Epoch 2/3 {BAR}
06:25 {BAR} Step 1/6 {BAR}
08:25 Logged data to logs/exp_001/train_data_step7.jsonl
08:26 {BAR} Step 2/6 {BAR}
10:25 Logged data to logs/exp_001/train_data_step8.jsonl
10:26 Max number of steps has been reached, stopping training early"""
)


def test_nemo_rl_counts_the_steps_of_the_run_in_the_names_of_what_it_writes() -> None:
    told = read(*NEMO_RL)

    assert recognises("x.log", "\n".join(NEMO_RL).encode())
    assert 1 == len(of(told, "attempt_start"))
    assert [(120.0, 4)] == resumed(told)
    assert [5, 6, 7, 8] == [step for _, step in steps(told)]
    assert [(120.0, 626.0)] == spans(told, "training")
    assert [(331.0, 360.5)] == spans(told, "evaluation")
    assert "completed" == told[-1]["outcome"]


def test_nemo_rl_tells_once_its_step_is_how_long_the_save_took() -> None:
    told = read(*NEMO_RL)

    assert [(361.0, 381.5)] == spans(told, "checkpoint_save")
    assert [6] == saved_steps(told)


def test_nemo_rl_that_starts_anew_in_one_log_is_two_launches() -> None:
    told = read(*NEMO_RL[:-1], *at_one(NEMO_RL))

    assert 2 == len(of(told, "attempt_start"))
    assert [4, 4] == [step for _, step in resumed(told)]


def test_nemo_rl_says_when_it_starts_from_nothing() -> None:
    fresh = [line for line in NEMO_RL if "Loading" not in line]
    told = read(*fresh[:5], *at_one(fresh))

    assert [2.0, 3 * 3600 + 2.0] == [since(event) for event in of(told, "attempt_start")]


@pytest.mark.parametrize(
    ("says", "outcome"),
    [("succeeded", "completed"), ("failed", "failed"), ("was stopped", "cancelled")],
)
def test_ray_tells_how_the_job_that_it_was_given_ends(says: str, outcome: str) -> None:
    told = read(*SLIME, *stamped(f"09:00 Job 'raysubmit_aBc9' {says}"))

    assert outcome == told[-1]["outcome"]
