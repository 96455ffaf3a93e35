"""What the lines of verl say."""

from __future__ import annotations

from ingest.collectors.training_log import recognises
from tests.ingest.trainer_logs import at_one, of, phases, read, resumed, spans, steps


def stamped(text: str, writer: str = "") -> list[str]:
    """Lines that begin with minutes and seconds, as `ts` puts times before them."""
    return [
        f"2026-03-01T10:{minute}+0000 {writer}{line}"
        for minute, _, line in (line.partition(" ") for line in text.splitlines())
    ]


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


def test_what_verl_validates_lasts_until_it_goes_on() -> None:
    assert [(90.0, 120.0), (479.5, 509.0)] == spans(read(*VERL), "evaluation")


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
