"""What more than a plain job costs: workflows, unique jobs, batches, time, cron jobs, limits.

    python -m benchmarks.flow_costs

Each operation runs for real on an AWS in memory, where ``benchmarks.units`` counts its calls and
units. Jobs are small; lifecycle events, Lambda and the gateway are not included. A process that has
just started reads the plan of a workflow and the settings of a queue once more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.laboratory import ARGS, ERROR, Bench, Cost
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError
from ojs_aws.domain.json_text import encode
from ojs_aws.pricing import PRICED_ON
from ojs_aws.services.cron.service import Registration

MANY: Final = 1000
DUE_MS: Final = 31_000
TOGETHER: Final = 100
"""Members of a group that end within one batch of the stream."""

UNIQUE: Final[dict[str, Any]] = {"keys": ["type", "args"], "period": "PT1H"}
LIMIT: Final[dict[str, Any]] = {"key": "api", "concurrency": 2}


def step(job_type: str = "demo.step", **more: Any) -> dict[str, Any]:
    """A step of a workflow."""
    return {"type": job_type, "args": ARGS, **more}


# ------------------------------------------------------------------------------- what is measured


def workflow_created(bench: Bench) -> Cost:
    """A chain of three, of which one job begins."""
    return bench.cost(lambda: bench.create(type="chain", steps=[step()] * 3))


def chain_step(bench: Bench) -> Cost:
    """The end of a step in the middle, and the next one's beginning."""
    chain = bench.workflow(type="chain", steps=[step()] * 4)
    bench.ending(chain, 1)()
    return bench.cost(bench.ending(chain, 1))


def group_member(bench: Bench) -> Cost:
    """The ends of many members that come together."""
    group = bench.workflow(type="group", jobs=[step()] * (2 * TOGETHER))
    while bench.backend.workflows.service.get(group).workflow.has_ready:
        bench.backend.workflows.advance.advance(group)
    return bench.cost(bench.ending(group, TOGETHER), TOGETHER)


def group_member_alone(bench: Bench) -> Cost:
    """The end of one member, while others go on."""
    group = bench.workflow(type="group", jobs=[step()] * 10)
    return bench.cost(bench.ending(group, 1))


def batch_callback(bench: Bench) -> Cost:
    """The end of a batch's last job, and its callback's beginning."""
    callbacks = {"on_complete": step("demo.callback")}
    batch = bench.workflow(type="batch", jobs=[step()] * 2, callbacks=callbacks)
    bench.ending(batch, 1)()
    return bench.cost(bench.ending(batch, 1))


def group_callback(bench: Bench) -> Cost:
    """The end of a group's last job inside a chain, and the next step's beginning."""
    group = {"type": "group", "jobs": [step()] * 2}
    chain = bench.workflow(type="chain", steps=[group, step("demo.next")])
    bench.ending(chain, 1)()
    return bench.cost(bench.ending(chain, 1))


def dag_step(bench: Bench) -> Cost:
    """The end of the second of two steps that a third one waits for."""
    steps = [
        step(id="a", depends_on=[]),
        step(id="b", depends_on=[]),
        step(id="c", depends_on=["a", "b"]),
    ]
    dag = bench.workflow(steps=steps)
    bench.ending(dag, 1)()
    return bench.cost(bench.ending(dag, 1))


def unique_fresh(bench: Bench) -> Cost:
    """Nobody has the key."""
    return bench.cost(lambda: bench.push("demo.unique", unique=UNIQUE))


def unique_rejected(bench: Bench) -> Cost:
    """Another job keeps it out."""
    bench.push("demo.unique", unique=UNIQUE)

    def again() -> None:
        with suppress(DuplicateError):
            bench.push("demo.unique", unique=UNIQUE)

    return bench.cost(again)


def unique_replacing(bench: Bench) -> Cost:
    """It takes the place of an available job."""
    bench.push("demo.unique", unique=UNIQUE)
    policy = {**UNIQUE, "on_conflict": "replace"}
    return bench.cost(lambda: bench.push("demo.unique", unique=policy))


def transacted(bench: Bench, **more: Any) -> Cost:
    """Preparing the items, the application's transaction, and the stream's message."""

    def enqueue() -> None:
        prepared = bench.backend.jobs.transact(Job("demo.transacted", ARGS, **more))
        items: Any = prepared.actions
        bench.dynamodb.transact_write_items(TransactItems=items)
        assert prepared.pushed.record is not None  # noqa: S101 - no middleware drops it
        bench.backend.job_messages.send_for([prepared.pushed.record], bench.backend.clock.now())

    return bench.cost(enqueue)


def transacted_unique(bench: Bench) -> Cost:
    """The same with a lock."""
    return transacted(bench, unique=UNIQUE)


def batch_of_a_thousand(bench: Bench) -> Cost:
    """A log, and a put for each job."""
    jobs = [Job("demo.batch", [*ARGS, at]) for at in range(MANY)]
    return bench.cost(lambda: bench.backend.jobs.push.all(jobs), MANY)


def scheduled_fetch(bench: Bench) -> Cost:
    """A job that has just become due, and that nobody has made available."""
    bench.push("demo.later", scheduled_at="+PT30S")
    bench.clock.pass_by(DUE_MS)
    return bench.cost(lambda: bench.fetch(1))


def cron_occurrence(bench: Bench) -> Cost:
    """An occurrence in its second: the claim, its job, and the alarm of the next one."""
    document = encode({"type": "demo.cron", "args": ARGS})
    wanted = Registration(
        name="each-minute",
        expression="* * * * *",
        timezone="UTC",
        overlap="skip",
        is_enabled=True,
        description=None,
        document=document,
        job=Job.from_json(document),
    )

    def fire() -> Cost:
        entry, _ = bench.backend.cron.service.register(wanted)
        assert entry.next_run_at is not None  # noqa: S101 - it is enabled
        bench.clock.pass_by(entry.next_run_at - bench.clock.now())
        return bench.cost(lambda: bench.backend.cron.scheduler.fire("each-minute"))

    fire()
    bench.end(bench.fetch(1))
    return fire()  # it looks at the run before it, too


def failed(bench: Bench) -> Cost:
    """An attempt that is followed by another one."""
    bench.push("demo.again")
    [job] = bench.fetch(1)
    return bench.cost(lambda: bench.backend.jobs.fail(job.id, "worker-1", ERROR))


def retried_fetch(bench: Bench) -> Cost:
    """That other one, after the backoff."""
    failed(bench)
    bench.clock.pass_by(DUE_MS)
    return bench.cost(lambda: bench.fetch(1))


def limited_fetch(bench: Bench) -> Cost:
    """A job that needs a place in a bucket."""
    bench.push("demo.limited", rate_limit=LIMIT)
    return bench.cost(lambda: bench.fetch(1))


def limited_ack(bench: Bench) -> Cost:
    """It gives the place back."""
    bench.push("demo.limited", rate_limit=LIMIT)
    [job] = bench.fetch(1)
    return bench.cost(lambda: bench.backend.jobs.ack(job.id, "worker-1", None))


def limited_queue_fetch(bench: Bench) -> Cost:
    """A job of a queue that has a limit itself."""
    bench.backend.limits.limit_queue("default", {"concurrency": 5})
    bench.push("demo.limited")
    return bench.cost(lambda: bench.fetch(1))


OPERATIONS: Final[dict[str, Callable[[Bench], Cost]]] = {
    "workflow created": workflow_created,
    "chain step": chain_step,
    "group member, 100 together": group_member,
    "group member alone": group_member_alone,
    "step after a group": group_callback,
    "batch callback": batch_callback,
    "step with dependencies": dag_step,
    "unique PUSH": unique_fresh,
    "unique PUSH, rejected": unique_rejected,
    "unique PUSH, replacing": unique_replacing,
    "transactional enqueue": transacted,
    "transactional, unique": transacted_unique,
    "batch of 1,000": batch_of_a_thousand,
    "FETCH, scheduled job": scheduled_fetch,
    "cron occurrence": cron_occurrence,
    "FAIL, to be retried": failed,
    "FETCH, retried job": retried_fetch,
    "FETCH, job with a limit": limited_fetch,
    "ACK, job with a limit": limited_ack,
    "FETCH, queue with a limit": limited_queue_fetch,
}


def main() -> None:
    """Measure and print."""
    title = f"Orchestration, small jobs (us-east-1, {PRICED_ON})"
    columns = ("", "AWS calls", "Write units", "Read units", "$ per million jobs")
    table = Table(*columns, title=title)
    for name, measure in OPERATIONS.items():
        bench = Bench()
        cost = measure(bench)
        calls = ", ".join(f"{call} {count}" for call, count in sorted(cost.calls.items()))
        each = (cost.writes / cost.jobs, cost.reads / cost.jobs)
        units = (f"{number:.3g}" for number in each)
        table.add_row(name, calls, *units, f"{cost.dollars:.2f}")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
