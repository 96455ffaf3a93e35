"""Events of launches as native events of numbered attempts, for the plain-Python oracle.

The engine numbers them so where no scheduler and no other source speaks of the job.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from ingest.events import Event
from tests.oracle.measures import AttemptMeasures, measure

SECOND_US = 1_000_000


def attempts(told: Iterable[Event], as_of_us: int | None = None) -> list[AttemptMeasures]:
    """What the launches of one job come to, in the order in which they began."""
    events = list(told)
    begun: dict[tuple[str, int], int] = {}
    for event in events:
        if "run_key" in event:
            launch = _launch(event)
            begun[launch] = min(event["at_us"], begun.get(launch, event["at_us"]))
    order = sorted(begun, key=lambda launch: begun[launch])
    native = [_native(event, _number(event, order, begun)) for event in events]
    return list(measure(native, as_of_us=as_of_us).attempts.values())


def seconds_by_area(measured: Iterable[AttemptMeasures]) -> dict[str, float]:
    """The seconds of all attempts by area."""
    sums: dict[str, int] = {}
    for attempt in measured:
        for (area, _), us in attempt.areas.items():
            sums[area] = sums.get(area, 0) + us
    return {area: us / SECOND_US for area, us in sums.items()}


def _launch(event: Event) -> tuple[str, int]:
    return event["run_key"], event.get("run_generation", 0)


def _number(event: Event, order: list[tuple[str, int]], begun: dict[tuple[str, int], int]) -> int:
    if "run_key" in event:
        return order.index(_launch(event)) + 1
    return max(1, sum(begun[launch] <= event["at_us"] for launch in order))


def _native(event: Event, attempt: int) -> dict[str, object]:
    said: dict[str, object] = {
        name: str(value) if isinstance(value, str) else value for name, value in event.items()
    }
    said["ts"] = Decimal(event["at_us"]) / SECOND_US
    if "end_us" in event:
        said["end_ts"] = Decimal(event["end_us"]) / SECOND_US
    return {**said, "attempt": attempt}
