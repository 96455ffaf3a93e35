"""What the lines of Hugging Face Trainer, accelerate and what builds on them mean."""

from __future__ import annotations

import pytest

from ingest.collectors.training_log import recognises
from tests.ingest.trainer_logs import TRAINER, of, phases, read, resumed, since, spans, steps


def test_a_log_of_the_trainer_is_read_through_its_progress_bars() -> None:
    told = read(TRAINER)

    assert [
        ("phase_start", "training", 0.1, None),
        ("phase_start", "checkpoint_save", 500.5, 1000),
        ("phase_end", "checkpoint_save", 504.0, 1000),  # the last that it tells of the save
        ("phase_end", "training", 506.0, None),
        ("phase_start", "evaluation", 510.0, None),
        ("phase_end", "evaluation", 522.5, None),
    ] == phases(told)
    assert [(300.0, 800), (500.5, 1000)] == steps(told)
    assert [(0.1, 500)] == resumed(told)
    assert ("completed", 522.5) == (told[-1]["outcome"], since(told[-1]))


_HEAD = "[INFO|trainer.py:4128] 2026-03-01 10:0{}:00,500 >> {}"


@pytest.mark.parametrize(
    ("before", "head"),
    [
        ("", _HEAD),
        (" 20%|█   | 20/100 [01:00<04:00, 3.00s/it]", _HEAD),
        ("[rank0]: ", _HEAD),
        ("", "[INFO|2026-03-01 10:0{}:00.500] trainer.py:4128 >> {}"),
        ("", "2026-03-01 10:0{}:00,500 - INFO - transformers.trainer - {}"),
    ],
)
def test_a_message_that_begins_with_a_line_break_is_of_the_time_before_it(
    before: str, head: str
) -> None:
    label = before if before.startswith("[") else ""
    told = read(
        label + head.format(0, "***** Running training *****"),
        before + head.format(1, ""),
        label + "***** Running Evaluation *****",
        label + head.format(1, "  Num examples = 100"),
        label + "{'eval_loss': 2.2, 'eval_runtime': 30.5, 'epoch': 1.0}",
        label + head.format(2, "Saving model checkpoint to out/checkpoint-20"),
    )

    assert [(60.5, 91.0)] == spans(told, "evaluation")


def test_a_message_behind_another_writers_head_or_words_has_no_time() -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        "[rank1]: " + _HEAD.format(1, ""),
        "[rank0]: ***** Running Evaluation *****",
        _HEAD.format(2, "skipped"),
        "***** Running Evaluation *****",
    )

    assert ["training"] == [event["phase"] for event in told if "phase" in event]


@pytest.mark.parametrize(
    "resumes",
    [
        "Continuing training from global step 500",
        "Resuming training from checkpoint with epoch 1 and global step 500",
    ],
)
def test_a_trainer_that_resumed_and_tells_no_more_trains(resumes: str) -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(0, f"  {resumes}"),
        _HEAD.format(1, "a warning"),
    )

    assert [("phase_start", "training", 0.5, None)] == phases(told)
    assert [(0.5, 500)] == resumed(told)


@pytest.mark.parametrize(
    ("begun", "result"),
    [
        ("***** Running Evaluation *****", "{{'eval_{0}_loss': 2.2, 'eval_{0}_runtime': {1}}}"),
        ("***** Running Evaluation *****", "{{'eval_{0}_loss': '2', 'eval_{0}_runtime': '{1}'}}"),
        ("***** Running Evaluation *****", "eval_{0}_loss: 0.4, eval_{0}_runtime: {1}, epoch: 0.1"),
    ],
)
def test_each_of_several_sets_is_evaluated_for_as_long_as_its_result_says(
    begun: str, result: str
) -> None:
    time = "2026-03-01T10:00:{:02}+0000 "
    told = read(
        time.format(0) + "***** Running training *****",
        time.format(10) + begun,
        time.format(20) + result.format("wiki", "10.0"),
        time.format(20) + begun,
        time.format(25) + result.format("my-code", "5.0"),
        time.format(40) + "Saving model checkpoint to out/checkpoint-10",
    )

    assert [(10.0, 25.0)] == spans(told, "evaluation")


def test_paddlenlp_tells_how_long_its_saves_and_loads_took() -> None:
    line = "[2026-03-01 10:00:{},000] [    INFO] - {}"
    told = read(
        line.format("05", "Loading model from out/checkpoint-100 ."),
        line.format("10", "Loading optimizer and scheduler..."),
        line.format("20", "[timelog] checkpoint loading time: 12.20s (2026-03-01 10:00:20) "),
        line.format("20", "***** Running training *****"),
        line.format("30", "loss: 0.5, learning_rate: 4e-05, global_step: 110, epoch: 0.1"),
        line.format("30", "Saving model checkpoint to out/checkpoint-110"),
        line.format("32", "tokenizer config file saved in out/checkpoint-110/tokenizer.json"),
        line.format("33", "Saving optimizer files."),
        line.format("50", "[timelog] checkpoint saving time: 20.30s (2026-03-01 10:00:50) "),
        line.format("59", "loss: 0.4, learning_rate: 4e-05, global_step: 120, epoch: 0.1"),
    )

    assert [(5.0, 20.0)] == spans(told, "checkpoint_load")
    assert [(30.0, 50.3)] == spans(told, "checkpoint_save")


def test_a_step_of_ernie_tells_more_than_one_loss() -> None:
    told = read(
        "[2026-03-01 10:00:30,000] [    INFO] - loss: 0.52, loss_cur_dp: 0.51, "
        "learning_rate: 4e-05, global_step: 110, mem_allocated_gb: 13.636426, epoch: 0.1"
    )

    assert [(30.0, 110)] == steps(told)


def test_ms_swift_tells_iterations_where_megatron_trains() -> None:
    told = read(
        "2026-03-01T10:00:10Z [INFO:swift] Successfully loaded Megatron model weights from: "
        "out/v0-1/checkpoint-40",
        "2026-03-01T10:00:50Z {'loss': 0.52, 'grad_norm': 0.4, 'learning_rate': 1e-05, "
        "'iteration': '41/1000', 'elapsed_time': '40s', 'train_speed(s/it)': 40.0}",
        "2026-03-01T10:01:30Z {'loss': 0.51, 'grad_norm': 0.4, 'learning_rate': 1e-05, "
        "'iteration': '42/1000', 'elapsed_time': '1m 20s', 'train_speed(s/it)': 40.0}",
        "2026-03-01T10:01:50Z [INFO:swift] Successfully saved Megatron model weights in "
        "`out/v1-1/checkpoint-42`.",
        "2026-03-01T10:02:30Z {'loss': 0.5, 'grad_norm': 0.4, 'learning_rate': 1e-05, "
        "'iteration': '43/1000', 'elapsed_time': '2m 20s', 'train_speed(s/it)': 40.0}",
    )

    assert [(50.0, 40)] == resumed(told)
    assert [(50.0, 41), (90.0, 42), (150.0, 43)] == steps(told)
    assert [(110.0, 110.0)] == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    "last",
    [
        "The model is bigger than the maximum size per checkpoint (5GB) and is going to be split "
        "in 4 checkpoint shards. You can find where each parameters has been saved in the index "
        "located at out/checkpoint-20/model.safetensors.index.json.",
        "Image processor saved in out/checkpoint-20/preprocessor_config.json",
        "processor saved in out/checkpoint-20/processor_config.json",
        "Feature extractor saved in out/checkpoint-20/preprocessor_config.json",
    ],
)
def test_a_save_of_the_trainer_lasts_until_its_last_part_is_written(last: str) -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(1, "Saving model checkpoint to out/checkpoint-20"),
        _HEAD.format(1, "Configuration saved in out/checkpoint-20/config.json"),
        _HEAD.format(2, last),
        _HEAD.format(5, "Training completed. Do not forget to share your model"),
    )

    assert [(60.5, 120.5)] == spans(told, "checkpoint_save")


_SAVING = "[INFO|trainer.py:4149] 2026-03-01 10:01:10,000 >> Saving model checkpoint to out/"
_WRITTEN = "[INFO|modeling_utils.py:3639] 2026-03-01 10:01:10,500 >> Model weights saved in out/"
_BAR = "\r {0}%|███   | {0}/100 [01:{0}<01:06,  3.34s/it]"


@pytest.mark.parametrize(
    ("later", "is_over"),
    [
        (f"{_BAR.format(25)}\r{' ' * 40}\r{{'loss': '4.315', 'epoch': '0.025'}}", True),
        # what was held back from before the save
        (f"{_BAR.format(20)}\r{' ' * 40}\r{{'loss': '4.315', 'epoch': '0.020'}}", False),
        ("{'loss': '4.315', 'epoch': '0.025'}", False),
    ],
)
def test_a_save_is_written_where_a_step_is_done_after_it_that_tells_no_time(
    later: str, is_over: bool
) -> None:
    told = read(
        "[INFO|trainer.py:1618] 2026-03-01 10:00:00,000 >> ***** Running training *****",
        f"{_BAR.format(20)}{_SAVING}checkpoint-20",
        f"{_WRITTEN}checkpoint-20/model.safetensors",
        later,
        "[ERROR|run.py:1] 2026-03-01 10:01:30,000 >> Segmentation fault (core dumped)",
    )

    saves = [event for event in phases(told) if event[1] == "checkpoint_save"]

    assert [
        ("phase_start", "checkpoint_save", 70.0, 20),
        *([("phase_end", "checkpoint_save", 70.5, 20)] if is_over else []),
    ] == saves


@pytest.mark.parametrize(
    ("bars", "is_over"),
    [
        pytest.param(f"{_BAR.format(20)}{_BAR.format(24)}{_BAR.format(25)}", True, id="bars"),
        pytest.param(f"{_BAR.format(23)}Terminated", True, id="a word behind it"),
        pytest.param(f"[default0]:{_BAR.format(20)}{_BAR.format(23)}", True, id="a label before"),
        pytest.param(f"2026-03-01T10:01:12+0000 {_BAR.format(23)}", True, id="a time before"),
        pytest.param(_BAR.format(22), False, id="drawn again"),
        pytest.param("\rWriting model shards:  90%|███| 90/99 [00:10<00:01,  9.00it/s]", False,
                     id="of files"),
        pytest.param(f"\r 40%|███   | {'9' * 5_000}/9 [00:10<00:01,  9.00it/s]", False,
                     id="of more digits than a number has"),
        pytest.param("\r 40%|███   | 9.9k/9.9k [00:10<00:01, 9.00kB/s]", False, id="of bytes"),
    ],
)  # fmt: skip
def test_a_save_is_written_where_a_progress_bar_moves_on_after_it(bars: str, is_over: bool) -> None:
    label = "[default0]:" if bars.startswith("[") else ""
    told = read(
        f"{label}[INFO|trainer.py:1618] 2026-03-01 10:00:00,000 >> ***** Running training *****",
        f"{label}{_BAR.format(22)}",
        f"{label}{_SAVING}checkpoint-20",
        f"{label}{_WRITTEN}checkpoint-20/model.safetensors",
        bars,
    )

    ends = [event for event in phases(told) if event[:2] == ("phase_end", "checkpoint_save")]

    assert [("phase_end", "checkpoint_save", 70.5, 20)] * is_over == ends


@pytest.mark.parametrize("bar", ["", "\r", "\r 21%|█   | 21/100 [01:00<04:00, 3.00s/it]\r"])
def test_a_message_behind_a_bar_is_of_the_zone_that_a_pipe_puts_before_its_line(bar: str) -> None:
    bar += " 22%|█   | 22/100 [01:00<04:00, 3.00s/it]"
    told = read(
        "2026-03-01T10:00:00+0000 03/01/2026 02:00:00 - INFO - a - ***** Running training *****",
        f"2026-03-01T10:01:10+0000 {bar}03/01/2026 02:01:10 - INFO - a - {_SAVED_STATE}",
    )

    assert [("phase_start", "checkpoint_save", 70.0, 20)] == phases(told)[1:]
    assert 70.0 == since(told[-1])


@pytest.mark.parametrize("before", ["[default0]:", "3: ", "2026-03-01T10:01:10+0000 [default0]:"])
def test_a_message_behind_a_bar_is_of_whom_a_launcher_puts_before_its_line(before: str) -> None:
    time = "2026-03-01 10:0{} - INFO - accelerate - "
    told = read(
        before.replace("10:01:10", "10:00:00")
        + time.format("0:00")
        + "***** Running training *****",
        f"{before}\r 22%|█  | 22/99 [01:00<04:00, 3.00s/it]{time.format('1:10')}{_SAVED_STATE}",
        before + time.format("1:10") + "Random states saved in /c/step_20/random_states_0.pkl",
    )
    begun = [event for event in told if event.get("phase") == "checkpoint_save"]

    assert [(20, 3 if before == "3: " else 0)] == [(each["step"], each["rank"]) for each in begun]


_SAVED_STATE = "Saving current state to /c/step_20"
_BEGUN = "\r  0%|          | 0/{0} [00:00<?, ?it/s]"


@pytest.mark.parametrize(
    ("before", "begun", "bar", "last"),
    [
        ("", _BEGUN.format(2000), "\r 40%|████      | 800/2000 [26:40<40:00,  2.00s/it]", 1600.0),
        ("", _BEGUN.format(2000), "\r 40%|██  | 800/2000 [1:06:40<40:00,  5.00s/it]Killed", 4000.0),
        ("", _BEGUN.format(9), "\r 40%|████      | 800/2000 [26:40<40:00,  2.00s/it]", 0.0),
        ("", _BEGUN.format(2000), "\r 40%|████      | 800/2000 [26:40<?, ?it/s]", 1600.0),
        # of trials, around the train loop: it began long before
        (_BEGUN.format(10), _BEGUN.format(9), "\r 20%|█  | 2/10 [2:00:00<8:00:00, 3600s/it]", 0.0),
    ],
    ids=("bar", "an hour", "not seen to begin", "no rate", "around it"),
)  # fmt: skip
@pytest.mark.parametrize("drawn", ["over one another", "each on a line"])
def test_a_trainer_was_alive_for_as_long_as_its_bar_says(
    before: str, begun: str, bar: str, last: float, drawn: str
) -> None:
    """What keeps the output of containers makes a line of each."""
    if drawn == "each on a line":
        before, begun, bar = (each.strip("\r") for each in (before, begun, bar))
    told = read(
        before,
        "[INFO|trainer.py:1618] 2026-03-01 10:00:00,000 >> ***** Running training *****",
        begun,
        bar,
    )

    assert last == since(told[-1])


@pytest.mark.parametrize(("step", "begun"), [(20, [0.0, 40.0]), (None, [0.0])])
def test_a_trainer_that_has_saved_a_step_and_begins_to_train_is_another_launch(
    step: int | None, begun: list[float]
) -> None:
    time = "2026-03-01 10:00:{},000 - INFO - "
    told = read(
        time.format("00") + "***** Running training *****",
        time.format("20") + f"Saving current state to /c/{f'step_{step}' if step else 'last'}",
        time.format("40") + "***** Running training *****",
    )

    assert begun == [since(event) for event in told if event.get("phase") == "training"]


def test_a_checkpoint_that_is_loaded_for_minutes_begins_no_launch() -> None:
    time = "2026-03-01 10:0{} - INFO - accelerate.utils.fsdp_utils - "
    told = read(
        time.format("0:00,000") + "***** Running training *****",
        time.format("0:01,000") + "Loading states from /c/step_100",
        time.format("0:01,100") + "Loading model from /c/step_100/pytorch_model_fsdp_0",
        time.format("1:30,000") + "Model loaded from /c/step_100/pytorch_model_fsdp_0",
        time.format("4:10,000") + "Optimizer loaded from /c/step_100/optimizer_0",
        time.format("8:00,000") + "Saving current state to /c/step_200",
        time.format("8:10,000") + "***** Running training *****",
    )

    # the line that says that training begins comes before the load
    assert [250.0, 490.0] == [since(event) for event in told if event.get("phase") == "training"]
    assert [(1.0, 250.0)] == spans(told, "checkpoint_load")


def test_a_bar_says_nothing_of_a_trainer_whose_steps_tell_times() -> None:
    told = read(
        "2026-03-01 10:00:00,000 - INFO - ***** Running training *****",
        _BEGUN.format(100),
        "2026-03-01 10:01:00,000 - INFO - step: 10 loss: 2.5",
        "\r 90%|███  | 90/100 [50:00<10:00,  2.00s/it]",
    )

    assert 60.0 == since(told[-1])


@pytest.mark.parametrize(
    ("before", "took", "ended"),
    [
        ("", "0:00:03.05", 203.05),
        ("", "0:02:05.50", 325.5),
        ("", "1:00:01", 3801.0),
        ("2026-03-01T10:05:00.500000+0000 ", "0:01:40.40", 300.4),
    ],
)
def test_an_evaluation_after_training_takes_as_long_as_its_table_says(
    before: str, took: str, ended: float
) -> None:
    told = read(
        "[INFO|trainer.py:1618] 2026-03-01 10:00:00,000 >> ***** Running training *****",
        "[INFO|trainer.py:2000] 2026-03-01 10:03:20,000 >> ",
        "",
        "Training completed. Do not forget to share your model on huggingface.co/models =)",
        "[INFO|trainer.py:2957] 2026-03-01 10:03:20,000 >> ",
        "***** Running Evaluation *****",
        "[INFO|trainer.py:2959] 2026-03-01 10:03:20,000 >>   Num examples = 256",
        "  0%|          | 0/2 [00:00<?, ?it/s]\r100%|██████████| 2/2 [00:00<00:00,  8.86it/s]",
        f"{before}***** eval metrics *****",
        f"{before}  epoch                   =       0.04",
        f"{before}  eval_runtime            = {took}",
        f"{before}  eval_samples_per_second =    547.923",
    )

    assert [(200.0, ended)] == spans(told, "evaluation")


def test_the_best_model_that_is_loaded_after_training_was_not_resumed_from() -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(1, "Saving model checkpoint to out/checkpoint-200"),
        _HEAD.format(2, "Training completed. Do not forget to share your model"),
        _HEAD.format(2, "Loading best model from out/checkpoint-200 (score: 0.5)."),
        _HEAD.format(3, "Loading model from out/checkpoint-200/pytorch_model_fsdp_0"),
    )

    assert [] == resumed(told)


def test_a_load_of_fsdp_lasts_until_the_optimizer_is_there() -> None:
    told = read(
        _HEAD.format(0, "Loading model from out/checkpoint-200/pytorch_model_fsdp_0"),
        _HEAD.format(1, "Model loaded from out/checkpoint-200/pytorch_model_fsdp_0"),
        _HEAD.format(1, "Loading Optimizer from out/checkpoint-200/optimizer_0"),
        _HEAD.format(2, "Optimizer loaded from out/checkpoint-200/optimizer_0"),
        _HEAD.format(3, "***** Running training *****"),
        _HEAD.format(3, "  Continuing training from global step 200"),
    )

    assert [(0.5, 120.5)] == spans(told, "checkpoint_load")
    assert [(180.5, 200)] == resumed(told)


@pytest.mark.parametrize("what", ["Loading", "Instantiating model and loading"])
def test_a_line_that_tells_how_long_a_save_or_a_load_took_ends_it(what: str) -> None:
    time = "2026-03-01T10:0{}:30+0000 "
    told = read(
        time.format(0) + f"{what} checkpoint took 25.50 secs",
        time.format(1) + "step 1 loss 2.5",
        time.format(2) + "Saving checkpoint took 20.00 secs",
    )

    assert [(4.5, 30.0)] == spans(told, "checkpoint_load")
    assert [(130.0, 150.0)] == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    "head",
    [
        "[INFO|2026-03-01 10:{}:00] llamafactory.hparams.parser:423 >> ",
        "03/01/2026 10:{}:00 - INFO - llamafactory.hparams.parser - ",
        "[INFO|2026-03-01 10:{}:00] parser.py:423 >> ",
    ],
)
def test_llama_factory_that_will_resume_loads_nothing_yet(head: str) -> None:
    launch = [
        "{}Resuming training from saves/x/checkpoint-500.",
        "{}Loading model from saves/x/checkpoint-500.",
        "{}***** Running training *****",
        "{}Saving model checkpoint to saves/x/checkpoint-600",
    ]
    told = read(
        *(line.format(head.format(f"0{at}")) for at, line in enumerate(launch)),
        *(line.format(head.format(f"3{at}")) for at, line in enumerate(launch)),
    )

    assert [(60.0, 60.0), (1860.0, 1860.0)] == spans(told, "checkpoint_load")
    assert [0.0, 1800.0] == [since(event) for event in of(told, "attempt_start")]


@pytest.mark.parametrize(
    ("begins", "saved"),
    [
        (["Saving model checkpoint to out/checkpoint-20"], [(60.5, 240.5)]),
        (["Saving model checkpoint to out"], [(60.5, 240.5)]),
        ([], [(60.5, 60.5), (240.5, 240.5)]),
    ],
)
def test_parts_of_a_save_are_of_the_one_that_was_begun_however_long_they_take(
    begins: list[str], saved: list[tuple[float, float]]
) -> None:
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        *(_HEAD.format(1, line) for line in begins),
        _HEAD.format(1, "Configuration saved in out/x/config.json"),
        _HEAD.format(4, "Model weights saved in out/x/model.safetensors"),
        _HEAD.format(5, "Training completed. Do not forget to share your model"),
    )

    assert saved == spans(told, "checkpoint_save")


@pytest.mark.parametrize(
    ("model", "optimizer"),
    [("pytorch_model_fsdp_0", "optimizer_0"), ("pytorch_model_fsdp.bin", "optimizer.bin")],
)
def test_a_save_of_fsdp_is_one_though_only_accelerate_tells_of_it(
    model: str, optimizer: str
) -> None:
    folder = "/ckpt/my_steps/out/checkpoint-200/"
    told = read(
        _HEAD.format(0, "***** Running training *****"),
        _HEAD.format(1, f"Saving model to {folder}{model}"),
        _HEAD.format(2, f"Model saved to {folder}{model}"),
        _HEAD.format(2, f"Saving Optimizer state to {folder}{optimizer}"),
        _HEAD.format(4, f"Optimizer state saved in {folder}{optimizer}"),
        _HEAD.format(5, "Training completed. Do not forget to share your model"),
    )

    assert [(60.5, 240.5)] == spans(told, "checkpoint_save")
    assert [(60.5, 200)] == steps(told)


def test_axolotl_trains_once_it_says_so() -> None:
    told = read(
        "[2026-03-01 10:00:06,500] [INFO] [axolotl.train.execute_training:203] [PID:9] [RANK:0] "
        "Starting trainer...",
        "[2026-03-01 10:10:00,000] [INFO] [axolotl.core.trainers.base._save:61] [PID:9] [RANK:0] "
        "Saving model checkpoint to ./out/checkpoint-95",
        "[2026-03-01 10:10:04,000] [INFO] [axolotl.train.save_trained_model:22] [PID:9] [RANK:0] "
        "Training completed! Saving trained model to ./out.",
    )

    assert [(6.5, 604.0)] == spans(told, "training")
    assert "completed" == told[-1]["outcome"]


def test_a_line_of_rich_without_a_time_is_of_the_time_before_it() -> None:
    told = read(
        "[03/01/26 10:00:00] INFO     step 10 loss 2.5                      train.py:10",
        "                    INFO     Saving checkpoint to /c/step-10       train.py:12",
        "[03/01/26 10:00:20] INFO     Saved checkpoint to /c/step-10        train.py:14",
        "[03/01/26 10:00:30] WARNING  the loss is high                      train.py:16",
        "                    INFO     step 20 loss 2.5                      train.py:10",
        "                             step 30 loss 2.5 is what it will be",
    )

    assert [(0.0, 10), (30.0, 20)] == steps(told)
    assert [(0.0, 20.0)] == spans(told, "checkpoint_save")


def _said_little(minute: int, first: int) -> list[str]:
    """A launch at the Trainer's own level, in a shell that starts it."""
    step = "{{'loss': '5.3', 'grad_norm': '1.1', 'learning_rate': '1e-05', 'epoch': '0.05'}}"
    bar = "\r {0}%|#  | {0}/100 [00:30<04:00, 3.00s/it]"
    at = f"2026-03-01T10:{minute:02d}:"
    return [
        f"{at}00.100000+0000 ett: launch",
        f"{at}20.100000+0000 FutureWarning: `gradient_checkpointing` is deprecated",
        *(
            f"{at}{30 + 10 * each}.000000+0000 {(bar + bar).format(first + each)}{step.format()}"
            for each in range(3)
        ),
    ]


def test_launches_of_a_trainer_that_says_little_begin_with_the_line_of_their_shell() -> None:
    told = read(*_said_little(0, 20), *_said_little(5, 23))

    assert [0.1, 300.1] == [since(event) for event in of(told, "attempt_start")]
    assert [30.0, 330.0] == [since(e) for e in told if e.get("phase") == "training"]
    assert [(30.0, 20), (40.0, 21), (50.0, 22)] == steps(told)[:3]


@pytest.mark.parametrize(
    "line", ["2026-03-01T10:05:00+0000 starting", "2026-03-01T10:05:00+0000 no ett: launches"]
)
def test_other_words_of_what_starts_are_no_launch(line: str) -> None:
    assert 1 == len(of(read(*_said_little(0, 20), line, *_said_little(6, 23)[2:]), "attempt_start"))


def test_no_file_is_known_by_the_line_of_a_shell() -> None:
    said = "\n".join(f"2026-03-01T10:0{minute}:00+0000 ett: launch" for minute in range(9))

    assert not recognises("job.out", said.encode())
    assert recognises("job.out", "\n".join(_said_little(0, 20)).encode())
