"""What the lines of verl, OpenRLHF, AReaL, prime-rl, xtuner and Megatron-Bridge say."""

from __future__ import annotations

import pytest

from ingest.collectors.training_log import TRAINING_LOG, recognises
from tests.ingest import both_ways
from tests.ingest.trainer_logs import at_one, of, phases, read, resumed, spans, stamped, steps


def metrics(step: int, *more: str) -> str:
    told = [f"global_seqlen/min:{50_000 + step}", "actor/pg_loss:0.01", "timing_s/gen:60.5"]
    return " - ".join([f"step:{step}", *told, "timing_s/step:119.5", *more, "perf/mfu:0.4"])


VERL = stamped(
    f"""\
00:00.0 ray init kwargs: {{'num_cpus': None}}
01:00.0 Load from checkpoint folder: /ckpt/global_step_40
01:00.0 Setting global step to 40
01:00.5 Resuming from /ckpt/global_step_40
01:30.0 test_gen_batch meta info: {{'eos_token_id': 2, 'validate': True}}
01:58.0 validation generation end
02:00.0 ("Initial validation metrics: {{'val-core/gsm8k/reward/mean@1': 0.51}}")
02:00.0 step:40 - val-core/gsm8k/reward/mean@1:0.51
04:00.0 {metrics(41)}
06:00.0 {metrics(42)}
07:59.5 test_gen_batch meta info: {{'eos_token_id': 2, 'validate': True}}
08:29.0 validation generation end
08:30.0 local_global_step_folder: /ckpt/global_step_43
09:30.5 {metrics(43, "timing_s/testing:30.2", "timing_s/save_checkpoint:60.2")}
11:30.0 {metrics(44)}""",
    "(TaskRunner pid=4711) ",
)


def test_verl_tells_with_its_step_how_long_the_save_took() -> None:
    told = read(*VERL)

    assert recognises("x.log", "\n".join(VERL).encode())
    assert [(60.0, 60.5)] == spans(told, "checkpoint_load")
    assert [(120.5, 40)] == resumed(told)
    assert ("phase_start", "training", 120.5, None) in phases(told)
    assert [(240.0, 41), (360.0, 42), (510.0, 43), (690.0, 44)] == steps(told)
    assert [(510.0, 570.2)] == spans(told, "checkpoint_save")
    assert [43, 43] == [e["step"] for e in told if e.get("phase") == "checkpoint_save"]


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_saves_of_verl_are_told_alike_however_many_lines_are_read_at_once(at_once: int) -> None:
    times = [f"1{hour}:{minute:02}" for hour in range(8) for minute in range(60)]
    log = [
        f"2026-03-01T{time}:00+0000 {metrics(step, *['timing_s/save_checkpoint:9.5'][step % 9 :])}"
        for step, time in enumerate(times, 41)
    ]
    lines = [line.encode() for line in log]
    told, aside = both_ways.told(TRAINING_LOG, lines, None)

    assert 2 * len(range(45, 41 + 480, 9)) == sum("checkpoint_save" in event for event in told)
    assert (told, aside) == both_ways.told(TRAINING_LOG, lines, at_once)


def test_what_verl_validates_lasts_until_it_goes_on() -> None:
    assert [(90.0, 120.0), (479.5, 509.0)] == spans(read(*VERL), "evaluation")


def test_what_verl_validates_without_a_save_took_as_long_as_it_tells_later() -> None:
    unsaved = [
        line.replace(" - timing_s/save_checkpoint:60.2", "")
        for line in VERL
        if "local_global_step_folder" not in line
    ]

    assert [(90.0, 120.0), (479.5, 509.7)] == spans(read(*unsaved), "evaluation")


def test_older_releases_of_verl_tell_of_a_save_that_it_took_a_while() -> None:
    told = read(*(line for line in VERL if "local_global_step_folder" not in line))

    [(start, end)] = spans(told, "checkpoint_save")

    assert (510.3, 570.5) == (round(start, 1), round(end, 1))
    assert [(240.0, 41), (360.0, 42), (570.5, 43), (690.0, 44)] == steps(told)


def test_verl_that_is_done_says_its_last_validation() -> None:
    last = stamped(
        """11:31.0 ("Final validation metrics: {'val-core/gsm8k/reward/mean@1': 0.6}")"""
    )
    told = read(*VERL, *last)

    assert [(120.5, 691.0)] == spans(told, "training")
    assert "completed" == told[-1]["outcome"]


def test_verl_that_starts_anew_in_one_log_is_two_launches() -> None:
    told = read(*VERL, *at_one([line.replace("T10:", "T13:") for line in VERL], 13))

    assert 2 == len(of(told, "attempt_start"))
    assert [40, 40] == [step for _, step in resumed(told)]


# the trainer that verl has since 2026 saves before it validates, and tells of that how long it took
VERL_SINCE_2026 = stamped(
    f"""\
00:00.0 INFO:2026-03-01 10:00:00,000:Total training steps: 1000
01:00.0 INFO:2026-03-01 10:01:00,000:Resuming from /ckpt/global_step_40, setting global step to 40
02:00.0 Initial validation metrics: {{'val-core/gsm8k/reward/mean@1': 0.51}}
02:00.0 step:40 - val-core/gsm8k/reward/mean@1:0.51
04:00.0 {metrics(41)}
05:59.5 INFO:2026-03-01 10:05:59,500:Saving checkpoint to /ckpt/global_step_42
07:31.0 {metrics(42, "timing_s/save_checkpoint:60.2", "timing_s/testing:30.2")}
09:31.0 {metrics(43)}""",
    "(TaskRunner pid=4711) ",
)


def test_verl_since_2026_tells_of_a_validation_that_it_took_a_while() -> None:
    told = read(*VERL_SINCE_2026)

    assert [(120.5, 40)] == resumed(told)
    assert [(359.5, 419.7)] == spans(told, "checkpoint_save")
    assert [(420.8, 451.0)] == spans(told, "evaluation")
    assert [(240.0, 41), (359.5, 42), (571.0, 43)] == steps(told)


def test_a_fine_tuning_of_verl_tells_when_its_save_is_over() -> None:
    told = read(
        *stamped("""\
00:00 Found latest checkpoint: /ckpt/global_step_40 (step 40)
01:00 step:41 - train/global_tokens:4096 - train/total_tokens(B):0.1 - train/mfu:0.41 - \
train/loss:1.2
01:30 step:42 - train/loss:1.2 - train/grad_norm:1.0
01:35 step:42 - val/loss:1.2
01:36 Saving checkpoint to: /ckpt/global_step_42
02:35 Saved dataloader state to: /ckpt/global_step_42/data_0.pt
02:36 Updated checkpoint tracker: /ckpt/latest_checkpointed_iteration.txt
03:00 step:43 - train/loss:1.2 - train/grad_norm:1.0
03:00 Final validation metrics: None""")
    )

    assert [(60.0, 40)] == resumed(told)
    assert [(60.0, 41), (90.0, 42), (180.0, 43)] == steps(told)
    assert [(96.0, 156.0)] == spans(told, "checkpoint_save")
    assert "completed" == told[-1]["outcome"]


def test_openrlhf_tells_its_global_step() -> None:
    told = read(
        *stamped(
            """\
00:30 INFO 03-01 10:00:30 [ppo_trainer.py:435] checkpoint_states: {'episode': 0, \
'global_step': 40, 'total_consumed_prompts': 100, 'data_loader_state_dict': {}}
02:00 INFO 03-01 10:02:00 [ppo_trainer.py:547] \u2728 Global step 41: {'policy_loss': 0.01, \
'timing/generation': 60.0, 'timing/step_total': 80.5}
04:00 INFO 03-01 10:04:00 [ppo_trainer.py:547] \u2728 Global step 42: {'policy_loss': 0.01, \
'timing/generation': 60.0, 'timing/step_total': 80.5}
05:00 INFO 03-01 10:05:00 [ppo_trainer.py:581] \u23f0 Evaluation start time: 2026-03-01 10:05:00
06:00 INFO 03-01 10:06:00 [ppo_trainer.py:594] \u2728 Evaluation completed in 0:01:00, \
global_step 42, eval_metrics: {}
07:30 INFO 03-01 10:07:30 [ppo_trainer_async.py:244] Global step 43: {'policy_loss': 0.01}""",
            "(PPOTrainer pid=47) ",
        )
    )

    assert [(39.5, 40)] == resumed(told)
    assert [(120.0, 41), (240.0, 42), (450.0, 43)] == steps(told)
    assert [(300.0, 360.0)] == spans(told, "evaluation")


def test_the_steps_of_xtuner_are_those_of_the_run() -> None:
    told = read(
        "[XTuner][2026-03-01 10:00:10][INFO] Resume from checkpoint: work_dirs/a/ckpt-step-40",
        *(
            f"[XTuner][2026-03-01 10:01:{second}][INFO] Epoch {epoch} Step {step}/1000 data_time: "
            "0.0123 lr: 1.000000e-05 time: 9.5000 text_tokens: 4096 reduced_llm_loss: 1.23 "
            for second, epoch, step in ((10, 1, 41), (20, 1, 42), (30, 2, 43))
        ),
        "[XTuner][2026-03-01 10:01:31][INFO] Training finished in 81.20 seconds",
    )

    assert [(60.5, 40)] == resumed(told)
    assert [(60.5, 91.0)] == spans(told, "training")
    assert [(70.0, 41), (80.0, 42), (90.0, 43)] == steps(told)


def test_areal_tells_the_step_that_comes_next() -> None:
    told = read(
        *stamped(
            """\
00:01 Recover INFO: Recovering from StepInfo(epoch=0, epoch_step=40, global_step=40, \
steps_per_epoch=100).
02:00 StatsLogger INFO: Epoch 1/10 Step 41/100 Train step 41/1000 done.
03:00 Recover INFO: Saved recover checkpoint to /x/recover_checkpoint (with_optim=True)
03:01 StatsLogger INFO: Epoch 1/10 Step 42/100 Train step 42/1000 done.""",
            "(AReaL) ",
        )
    )

    assert [(120.0, 40)] == resumed(told)
    assert [(120.0, 41), (181.0, 42)] == steps(told)
    assert [(180.0, 180.0)] == spans(told, "checkpoint_save")


def test_prime_rl_trains_once_its_loop_starts() -> None:
    told = read(
        *stamped("""\
00:01 10:00:01    INFO Resuming training from checkpoint step 40
00:30 10:00:30    INFO Starting training loop (max_steps=100)
01:00 10:01:00 SUCCESS Step 41 |   30.0s | Loss 0.1234 | Entropy 0.5 | LR 1.00e-06
01:30 10:01:30    INFO Saving checkpoint at step 42
02:00 10:02:00 SUCCESS Step 42 |   60.0s | Loss 0.1234 | Entropy 0.5 | LR 1.00e-06
02:31 10:02:31    INFO Writing final checkpoint
03:31 10:03:31 SUCCESS RL trainer finished!""")
    )

    assert [(30.0, 211.0)] == spans(told, "training")
    assert [90.0, 151.0] == [start for start, _ in spans(told, "checkpoint_save")]
    assert "completed" == told[-1]["outcome"]


def test_micro_steps_are_none() -> None:
    told = read(
        *stamped("""\
00:05 10:00:05   DEBUG Micro Step 1/2 | Loss: 0.1234 | Entropy: 0.5
00:10 10:00:10   DEBUG Micro Step 2/2 | Loss: 0.1234 | Entropy: 0.5
00:15 10:00:15 SUCCESS Step 41 | Time: 15.00s | Loss: 0.1234 | Entropy: 0.5
00:20 10:00:20   DEBUG Micro Step 1/2 | Loss: 0.1234 | Entropy: 0.5
00:25 10:00:25   DEBUG Micro Step 2/2 | Loss: 0.1234 | Entropy: 0.5
00:30 10:00:30 SUCCESS Step 42 | Time: 15.00s | Loss: 0.1234 | Entropy: 0.5""")
    )

    assert [(15.0, 41), (30.0, 42)] == steps(told)
    assert 1 == len(of(told, "phase_start"))


def test_megatron_bridge_trains_once_its_loop_starts() -> None:
    told = read(
        *stamped("""\
00:00 [after megatron is initialized] datetime: 2026-03-01 10:00:00
01:00 Starting training loop at iteration 0
03:00 [2026-03-01 10:03:00] iteration       10/    1000 | consumed samples:         1280 | \
elapsed time per iteration (ms): 3000.0 | learning rate: 1.0E-04 | lm loss: 1.0 |""")
    )

    assert ("phase_start", "training", 60.0, None) in phases(told)
