"""The launches of an MLPerf log as events of one job; every launch is an attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from ingest.collectors.mlperf_log import Launch, Log, Turn
from ingest.collectors.mlperf_submission import Submission, gpus_in, gpus_of
from ingest.events import Event, EventKind, Outcome, Phase

_OUTCOME_DUE_TO = {"TIME LIMIT": Outcome.TIMEOUT, "PREEMPTION": Outcome.PREEMPTED}


def events(log: Log, submission: Submission, cluster: str | None) -> Iterator[Event]:
    """All events of the log, attempt by attempt."""
    if not log.launches:
        return
    begun_us = log.launches[0].begun_us
    gpus, gpu_type = submission.gpus, submission.gpu_type
    if gpus is None:
        gpus, printed_type = gpus_in(log.description)
        gpu_type = gpu_type or printed_type
    if (own := gpus_of(log.facts)) is not None:
        gpus = own
    job_id = _job_id(log, submission, begun_us)
    yield _job(log, submission, cluster, job_id, begun_us, gpus, gpu_type)
    for number, launch in enumerate(log.launches, 1):
        of_attempt: Event = {"job_id": job_id, "attempt": number}
        # time to start is of first attempts: one that is met training has none
        has_start = number > 1 or not launch.is_met_training
        for event in _attempt(launch, gpus, has_start=has_start):
            yield {**event, **of_attempt}


def _job_id(log: Log, submission: Submission, begun_us: int) -> str:
    """The place in the submission and the start, so that neither the folder's place nor another
    round changes it.
    """
    told = [log.facts.get(f"submission_{key}") for key in ("org", "platform", "benchmark")]
    place = [submission.team, submission.system, submission.benchmark, submission.result]
    if submission.team is None:
        place = [str(part) for part in told if part] or [submission.result]
        if "seed" in log.facts:
            place.append(f"seed {log.facts['seed']}")
    begun = datetime.fromtimestamp(begun_us // 1_000_000, UTC)
    return f"{'/'.join(str(part) for part in place)}@{begun:%Y-%m-%dT%H:%M:%SZ}"[-256:]


def _job(
    log: Log,
    submission: Submission,
    cluster: str | None,
    job_id: str,
    begun_us: int,
    gpus: int | None,
    gpu_type: str | None,
) -> Event:
    job: Event = {
        "at_us": begun_us,
        "event": EventKind.JOB,
        "job_id": job_id,
        "workload": "benchmark",
    }
    team = submission.team or log.facts.get("submission_org")
    model = submission.benchmark or log.facts.get("submission_benchmark")
    job["name"] = f"{model} {submission.result}" if model else submission.result
    if team:
        job["team"] = str(team)
    if model:
        job["model"] = str(model)
    if cluster:
        job["cluster"] = cluster
    if gpus is not None:
        job["gpus"] = gpus
    if gpu_type:
        job["gpu_type"] = gpu_type
    attrs = {"system": submission.system, **log.facts}
    job["attrs"] = json.dumps(
        {key: value for key, value in attrs.items() if value is not None}, ensure_ascii=False
    )
    return job


def _attempt(launch: Launch, gpus: int | None, *, has_start: bool) -> Iterator[Event]:
    if has_start:
        start: Event = {"at_us": launch.begun_us, "event": EventKind.ATTEMPT_START}
        if gpus is not None:
            start["gpus"] = gpus
        yield start
    yield from _phases(launch)
    evaluations = list(_blocking(launch.turns, launch.stopped_us))
    yield from _of_ranks(Phase.EVALUATION, evaluations, launch.stopped_us)
    yield from _of_ranks(Phase.DATA_WAIT, launch.stagings, launch.stopped_us)
    for progress in launch.progress:
        told: Event = {
            "at_us": progress.at_us,
            "event": EventKind.PROGRESS,
            "samples": progress.samples,
        }
        if progress.step is not None:
            told["step"] = progress.step
        yield told
    for failure in launch.failures:
        at_us = failure.at_us if launch.ended_us is None else min(failure.at_us, launch.ended_us)
        error: Event = {
            "at_us": at_us,
            "event": EventKind.FAILURE,
            "message": failure.message,
            "attrs": json.dumps({"line": failure.line_number}),
        }
        if failure.rank is not None:
            error["rank"] = failure.rank
        yield error
    yield _end(launch)


def _of_ranks(phase: Phase, told: list[Turn], stopped_us: int | None) -> Iterator[Event]:
    """What ranks tell of a phase, and that it goes no further than the run it was part of: the
    score that reaches the goal may stop the run at once.
    """
    turns = _that_took_time(told)
    for last in {turn.rank: turn for turn in turns}.values():
        if last.is_start and stopped_us is not None and last.at_us <= stopped_us:
            turns.append(Turn(stopped_us, last.rank, is_start=False))
    for turn in _that_took_time(turns):  # of what begins as the run stops nothing is left
        event = _phase(phase, turn.at_us, turn.is_start)
        if turn.rank is not None:
            event["rank"] = turn.rank
        yield event


def _blocking(turns: list[Turn], stopped_us: int | None) -> Iterator[Turn]:
    """Evaluations without what was trained meanwhile: a block or epoch that begins within one means
    that training goes on, and what is left of it is counted beside. One that begins within a block
    is part of it, and training waits for it. Once the run has stopped nothing waits.
    """
    blocking: dict[int | None, int] = {}
    beside: dict[int | None, None] = {}  # in the order of the log
    pieces: set[str] = set()
    for turn in turns:
        if turn.piece is None:
            blocking.pop(turn.rank, None)
            if turn.is_start:
                blocking[turn.rank] = turn.at_us
            if turn.is_start or turn.rank not in beside:
                yield turn
            beside.pop(turn.rank, None)
        elif turn.is_start:
            for rank in [rank for rank, since_us in blocking.items() if since_us <= turn.at_us]:
                yield Turn(turn.at_us, rank, is_start=False)
                del blocking[rank]
                beside[rank] = None
            if beside:
                pieces.add(turn.piece)
        elif turn.piece in pieces:
            pieces.discard(turn.piece)
            if not pieces and (stopped_us is None or turn.at_us <= stopped_us):
                for rank in beside:
                    yield Turn(turn.at_us, rank, is_start=True)
                    blocking[rank] = turn.at_us
                beside.clear()


def _that_took_time(turns: list[Turn]) -> list[Turn]:
    """Without those that stop as they start: a score that is told afterwards, many in a
    millisecond, whose equal events would count as one and leave an evaluation open.
    """
    begun: dict[int | None, list[int]] = {}
    left_out: set[int] = set()
    for place, turn in enumerate(turns):
        starts = begun.setdefault(turn.rank, [])
        if turn.is_start:
            starts.append(place)
        elif starts and turns[since := starts.pop()].at_us == turn.at_us:
            left_out |= {since, place}
    return [turn for place, turn in enumerate(turns) if place not in left_out]


def _phases(launch: Launch) -> Iterator[Event]:
    """Each phase from its own sign to the next phase's; one that was never left has no end."""
    signs = (
        (Phase.LAUNCHER_INIT, launch.launched_us),
        (Phase.TRAINER_INIT, launch.init_us),
        (Phase.TRAINING, launch.running_us),
        (Phase.SHUTDOWN, launch.stopped_us),
        (None, _last_us(launch) if launch.stopped_us else None),
    )
    reached = [(phase, at_us) for phase, at_us in signs if at_us is not None]
    earliest_us = 0
    for index, (phase, at_us) in enumerate(reached):
        at_us = earliest_us = max(at_us, earliest_us)  # whole seconds beside milliseconds
        if index and (before := reached[index - 1][0]):
            yield _phase(before, at_us, is_start=False)
        if phase:
            yield _phase(phase, at_us, is_start=True)


def _phase(phase: Phase, at_us: int, is_start: bool) -> Event:
    kind = EventKind.PHASE_START if is_start else EventKind.PHASE_END
    return {"at_us": at_us, "event": kind, "phase": phase}


def _end(launch: Launch) -> Event:
    """The attempt's end, or its last sign of life where nothing says that it ended."""
    last_us = _last_us(launch)
    outcome = _outcome(launch)
    if outcome is None:
        return {"at_us": last_us, "event": EventKind.ALIVE}
    end: Event = {"at_us": last_us, "event": EventKind.ATTEMPT_END, "outcome": outcome}
    if launch.status not in (None, "success"):
        end["message"] = f"run_stop says {launch.status}"
    elif outcome == Outcome.FAILED and not launch.failures:
        end["message"] = "the launcher stopped before run_stop"
    return end


def _last_us(launch: Launch) -> int:
    if launch.ended_us is not None:
        return launch.ended_us
    return max([launch.seen_us, *(failure.at_us for failure in launch.failures)])


def _outcome(launch: Launch) -> Outcome | None:
    """A run that reached its goal is complete, even if its processes were then killed while they
    shut down.
    """
    if launch.stopped_us is not None:
        return Outcome.COMPLETED if launch.status in (None, "success") else Outcome.FAILED
    if launch.due_to in _OUTCOME_DUE_TO:
        return _OUTCOME_DUE_TO[launch.due_to]
    return Outcome.FAILED if launch.ended_us is not None else None
