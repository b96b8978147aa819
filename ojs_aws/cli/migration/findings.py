"""Say what of a Celery app has no counterpart here, or another one than it looks, in a report."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.cli.migration.inventory import Inventory, TaskEntry


@dataclass(frozen=True, slots=True)
class Difference:
    """Holds one thing to decide or to change.

    :ivar where: a task, an entry of beat, or a line of the source.
    :ivar page: the page of the documentation, with its section.
    """

    where: str
    what: str
    instead: str
    page: str


_WORDS: Final = (
    (
        {"retry"},
        "calls self.retry",
        "raise RetryError(delay=...); self.retry() raises its exc, and the policy decides",
        "retries.md",
    ),
    (
        {"request"},
        "reads self.request",
        "current_job() has the id, the attempt and the queue; self.request.id is None",
        "typed-jobs.md#know-which-job-runs",
    ),
    (
        {"update_state"},
        "calls self.update_state",
        "current_job().progress(...)",
        "progress.md",
    ),
    ({"replace"}, "calls self.replace", "enqueue the other job, and return", "workflows.md"),
)
"""What a task's code does with its self: the names, what to say, the replacement, the page."""

_CANVAS: Final = {
    "chord": (
        "a chord",
        "a batch, whose callback runs when all its jobs have ended",
        "workflows.md",
    ),
    "group": ("a group", "group(a.call(), b.call())", "workflows.md"),
    "chain": ("a chain", "chain(a.call(), b.call()): a step reads parent_results", "workflows.md"),
    "chunks": ("chunks", "enqueue_many(...) of typed jobs", "send-a-job.md"),
    "starmap": ("a starmap", "enqueue_many(...) of typed jobs", "send-a-job.md"),
    "link": ("a callback (link)", "a chain, or enqueue the next job in the job", "workflows.md"),
    "link_error": ("a callback (link_error)", "a batch with on_failure, or a hook", "workflows.md"),
    "headers": ("headers of messages", "meta={...} of the job", "send-a-job.md"),
    "routing_key": ("routing by key", "queue=..., or the queue routing middleware", "queues.md"),
    "exchange": ("routing by exchange", "one job for each queue that is to get it", "queues.md"),
    "AsyncResult": ("results by id", "client.wait(id), or job.handle(id)", "results.md"),
}
"""Names of calls and of keywords in the source."""
_IN_CALLS_ONLY: Final = {"link", "link_error", "headers", "routing_key", "exchange"}
_SIGNALS: Final = "celery.signals"


def findings_of(inventory: Inventory) -> Iterator[Difference]:
    """Yield what the tasks and the settings of an app need thought about."""
    yield Difference(
        "all tasks",
        "without acks_late, a task whose worker dies is lost",
        "a job is repeated, as long as it has attempts: tasks with retries may run twice",
        "concepts.md#a-reservation",
    )
    for entry in inventory.tasks:
        yield from _of_task(entry)
    conf = inventory.app.conf
    if any(not isinstance(each, (dict, list, tuple)) for each in _listed(conf.task_routes)):
        yield Difference(
            "task_routes",
            "a router function decides about queues",
            "the queue routing middleware, with the same rule",
            "middleware/queue-routing.md",
        )
    if inventory.app.conf.beat_scheduler != "celery.beat:PersistentScheduler":
        yield Difference(
            "beat_scheduler",
            f"{conf.beat_scheduler} has entries that are not in beat_schedule; they were not read",
            "register them by client.cron.register(...)",
            "cron.md",
        )
    for module in inventory.modules:
        yield from _in_source(module)


def _listed(routes: object) -> list[object]:
    return [*routes] if isinstance(routes, (list, tuple)) else [routes or {}]


def _of_task(entry: TaskEntry) -> Iterator[Difference]:
    task = entry.task
    if entry.takes_self:
        for words, what, instead, page in _WORDS:
            if words & entry.words:
                yield Difference(entry.name, what, instead, page)
    if task.acks_late and not getattr(task, "autoretry_for", ()):
        yield Difference(
            entry.name,
            "acks_late: it is repeated if its worker dies, and not if it raises",
            "both repeat it, up to three times; raise DiscardError for what is final",
            "retries.md",
        )
    if task.rate_limit:
        yield Difference(
            entry.name,
            f"rate_limit {task.rate_limit} holds for each worker by itself",
            "a throttle over all workers: multiply it by their number if that was meant",
            "limits.md",
        )
    if task.soft_time_limit:
        yield Difference(
            entry.name,
            "SoftTimeLimitExceeded is not raised",
            "ask current_job().is_cancelled in long loops; the timeout ends the attempt",
            "workers.md",
        )
    if task.max_retries is None:
        yield Difference(
            entry.name,
            "it is retried for ever",
            "1000 attempts; then it is discarded",
            "retries.md",
        )
    if task.serializer not in {None, "json"}:
        yield Difference(
            entry.name,
            f"its arguments are sent as {task.serializer}",
            "arguments are JSON: send ids and models",
            "typed-jobs.md#what-arguments-and-results-may-be",
        )
    if task.priority is not None:
        yield Difference(
            entry.name,
            f"priority {task.priority}: what it means depends on Celery's broker",
            "the higher is served first, from -100 to 100",
            "priority.md",
        )
    yield from _handlers(entry)


def _handlers(entry: TaskEntry) -> Iterator[Difference]:
    """Yield what a base class does around the function, which a typed job does not call."""
    from celery import Task

    names = ("before_start", "on_success", "on_failure", "on_retry", "after_return", "__call__")
    if own := [name for name in names if getattr(type(entry.task), name) != getattr(Task, name)]:
        yield Difference(
            entry.name, f"its class has {', '.join(own)}", "middleware or hooks", "middleware.md"
        )


def _in_source(module: str) -> Iterator[Difference]:
    """Yield what the source of a module calls that is done otherwise here."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (
            node.module == _SIGNALS
            or (node.module == "celery" and any(each.name == "signals" for each in node.names))
        ):
            yield Difference(f"{module}:{node.lineno}", "signals", "hooks", "middleware.md")
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        names = {called} - _IN_CALLS_ONLY
        if called in {"apply_async", "signature", "send_task", "set"}:
            names |= {str(each.arg) for each in node.keywords} & _IN_CALLS_ONLY
        for name in sorted(names & {*_CANVAS}):
            what, instead, page = _CANVAS[name]
            yield Difference(f"{module}:{node.lineno}", what, instead, page)


_STEPS: Final = """\
# From Celery: {path}

`ojs-aws migrate celery` read {tasks} tasks and {beat} entries of the beat schedule. It wrote a
typed job for each task. A job calls the function of its task, so nothing of your code moved.

1. Read the tables below, and change what they name.
2. Run the worker: `ojs-aws run {package}.worker:worker`.
3. Move the senders, queue by queue, with the bridge (docs/migrating-from-celery.md): no line of
   theirs changes. Or call the typed jobs: `{package}.jobs` has them.
4. Register the cron jobs by `python -m {package}.cron`, and remove the entries from beat in the
   same deployment.
5. When Celery's queues stay empty, move the bodies of the tasks into the jobs, and remove Celery.

A typed job calls `task.run`, so Celery's request, signals and handlers are not there.

## What differs

"""


def report_of(
    inventory: Inventory, types: Mapping[str, str], package: str, findings: Sequence[Difference]
) -> str:
    """Return the report; pages are those of the documentation of ojs-aws."""
    start = _STEPS.format(
        path=inventory.path,
        tasks=len(inventory.tasks),
        beat=len(inventory.beat),
        package=package,
    )
    differ = _table(
        ("where", "in Celery", "here", "page"),
        ((each.where, each.what, each.instead, f"docs/{each.page}") for each in findings),
    )
    tasks = _table(
        ("task", "job", "queue"),
        ((entry.name, types[entry.name], entry.queue) for entry in inventory.tasks),
    )
    return f"{start}{differ}\n## The tasks\n\n{tasks}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )
