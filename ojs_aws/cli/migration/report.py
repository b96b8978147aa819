"""Write the report of a migration in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ojs_aws.cli.migration.findings import Difference
from ojs_aws.cli.migration.inventory import Inventory

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
