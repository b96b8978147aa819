"""What each operation of a job's life costs: calls, units and dollars, measured.

    python -m benchmarks.costs

The operations run for real on an AWS in memory. A meter reads every item before and after each
write and computes the units by DynamoDB's rules, refused writes included; receipt handles count
as long as AWS makes them. Envelopes have exactly the size they are named by. Lambda, API Gateway
and the logs come on top: ``python -m benchmarks.paths``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.console import Console

from benchmarks.documents import JOB_TYPE, Arguments, MakeArguments, ordinary_json, random_tokens
from benchmarks.laboratory import ERROR, Bench, Changes, Cost
from benchmarks.results import show_table
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.envelope import Job
from ojs_aws.pricing import PRICED_ON, PRICES, REGION
from ojs_aws.topology import STREAM_BATCH
from ojs_aws.transport.events.stream import build_stream

KILOBYTE: Final = 1024
SIZES: Final = {
    "0.5 KB": KILOBYTE // 2,
    "1 KB": KILOBYTE,
    "8 KB": 8 * KILOBYTE,
    "100 KB": 100 * KILOBYTE,
}
KINDS: Final[Mapping[str, MakeArguments]] = {
    "random tokens": random_tokens,
    "ordinary JSON": ordinary_json,
}
LIFE: Final = ("PUSH", "FETCH", "ACK")
WORKER: Final = "worker-0123456789abcdef-0123456789ab"
BEAT_MS: Final = 15_000
BEATS: Final = 6
STREAM_JOBS: Final = 40
FULL: Final = STREAM_BATCH
COMMITTED_S: Final = 1_760_000_000
"""When the changes were made that the stream's consumer is measured with."""


def operations(bench: Bench, arguments: Arguments) -> dict[str, Cost]:
    """Measure a job's life with these arguments: one that ends at once, and one that fails."""
    costs: dict[str, Cost] = {}

    def push() -> str:
        record = bench.backend.jobs.push(Job(JOB_TYPE, arguments)).record
        if record is None:
            raise RuntimeError("No middleware is here that could drop a job.")
        return record.id

    costs["PUSH"] = bench.cost(push)
    costs["FETCH"] = bench.cost(lambda: bench.fetch(1, WORKER))
    [job_id] = bench.held
    costs["BEAT"] = _beat(bench, job_id)
    costs["ACK"] = bench.cost(lambda: bench.backend.jobs.ack(job_id, WORKER, None))
    costs["INFO"] = bench.cost(lambda: bench.backend.jobs.info(job_id))
    push()
    [failing] = bench.fetch(1, WORKER)
    costs["FAIL, to be retried"] = bench.cost(
        lambda: bench.backend.jobs.fail(failing.id, WORKER, ERROR)
    )
    costs["FETCH, nothing there"] = bench.cost(lambda: bench.fetch(1, WORKER))
    return costs


def _beat(bench: Bench, job_id: str) -> Cost:
    """Measure some heartbeats of a worker that has beaten before: they do not cost the same."""
    bench.backend.workers.heartbeat(WORKER, [job_id])
    costs = []
    for _ in range(BEATS):
        bench.clock.pass_by(BEAT_MS)
        costs.append(bench.cost(lambda: bench.backend.workers.heartbeat(WORKER, [job_id])))
    return replace(sum(costs[1:], costs[0]), jobs=BEATS)


@dataclass(frozen=True, slots=True)
class Following:
    """What the stream's consumer takes for each job.

    :ivar writes: write units of the event log and the counters.
    :ivar invocations: of its function.
    :ivar changes: that it is handed.
    :ivar requests: to SQS: the messages of completed jobs, ten in one.
    """

    writes: float
    invocations: float
    changes: float
    requests: float


def following(together: int) -> Following:
    """Measure what follows jobs of one queue when so many changes come in one batch."""
    bench = Bench()
    stream = bench.lab.changes()
    consume = build_stream(bench.backend, read_image, measure=lambda *_: None)
    for _ in range(STREAM_JOBS):
        bench.push(JOB_TYPE)
        bench.end(bench.fetch(1))
    changes, invocations = drained(stream), 0
    bench.push(JOB_TYPE)  # the first change of a minute costs two units more
    consume({"Records": drained(stream)}, None)
    bench.meter.reset()
    for begin in range(0, len(changes), together):
        consume({"Records": changes[begin : begin + together]}, None)
        invocations += 1
    jobs = STREAM_JOBS
    return Following(
        writes=bench.meter.writes / jobs,
        invocations=invocations / jobs,
        changes=len(changes) / jobs,
        requests=bench.meter.requests / jobs,
    )


def failed_alone() -> float:
    """Measure the write units that follow a failed attempt whose change comes alone."""
    bench = Bench()
    stream = bench.lab.changes()
    consume = build_stream(bench.backend, read_image, measure=lambda *_: None)
    for _ in range(2):  # the first change of a minute costs more
        bench.push(JOB_TYPE)
        [job] = bench.fetch(1)
        consume({"Records": drained(stream)}, None)
        bench.backend.jobs.fail(job.id, "worker-1", ERROR)
        bench.meter.reset()
        consume({"Records": drained(stream)}, None)
    return bench.meter.writes


def drained(stream: Changes) -> list[Any]:
    """Return all changes, of one instant: a minute that begins between them would cost more."""
    changes = stream.streamed()
    for record in changes:
        record["dynamodb"]["ApproximateCreationDateTime"] = COMMITTED_S
    return changes


def measured(size_bytes: int, make: MakeArguments) -> dict[str, Cost]:
    """Measure the operations of a job of this size, on an AWS of its own."""
    return operations(Bench(), make(size_bytes))


def life(costs: Mapping[str, Cost]) -> Cost:
    """Return what a job costs that succeeds at once, from PUSH to ACK."""
    return sum((costs[name] for name in LIFE[1:]), costs[LIFE[0]])


def _row(name: str, cost: Cost) -> Sequence[str]:
    """Return a row of the table: all numbers for one job, on average."""
    calls = ", ".join(f"{call} {count / cost.jobs:g}" for call, count in sorted(cost.calls.items()))
    units = (f"{cost.writes / cost.jobs:g}", f"{cost.reads / cost.jobs:g}")
    return name, calls, *units, f"{cost.dollars:.2f}"


def main() -> None:
    """Measure and print."""
    logging.disable(logging.INFO)
    console = Console()
    columns = ("operation", "AWS calls", "write units", "read units", "$ per million")
    summary: list[Sequence[str]] = []
    for kind, make in KINDS.items():
        for name, size in SIZES.items():
            costs = measured(size, make)
            rows = [_row(*each) for each in costs.items()]
            whole = life(costs)
            rows.append(_row("PUSH to ACK", whole))
            file = f"costs-{kind}-{name}".replace(" ", "-").replace(".", "_").lower()
            show_table(file, f"{name} of {kind} ({REGION}, {PRICED_ON})", columns, rows, console)
            numbers = (f"{whole.writes:g}", f"{whole.reads:g}", f"{whole.dollars:.2f}")
            summary.append((f"{name}, {kind}", *numbers))
    title = f"From PUSH to ACK, DynamoDB and SQS ({REGION}, {PRICED_ON})"
    show_table(
        "costs", title, ("envelope", "write units", "read units", "$ per million"), summary, console
    )
    rows = [
        (
            name,
            f"{each.invocations:.2f}",
            f"{each.writes:.2f}",
            f"{each.requests:.2f}",
            f"{dollars:.2f}",
        )
        for name, together in {"one at a time": 1, "in full batches": FULL}.items()
        for each in [following(together)]
        for units in [each.writes * PRICES["write unit"]]
        for dollars in [(units + each.requests * PRICES["SQS request"]) * 1e6]
    ]
    of_stream = (
        "changes come",
        "invocations a job",
        "write units a job",
        "SQS requests a job",
        "$ per million",
    )
    show_table("costs-stream", "Event log and counters", of_stream, rows, console)


if __name__ == "__main__":
    main()
