"""The tasks of an installed app."""

from __future__ import annotations

from typing import Any

from ojs_aws.contrib.django.task_runs import PACKAGE

if PACKAGE == "django.tasks":
    from django.tasks import task
else:
    from django_tasks import task


@task
def add(first: int, second: int) -> int:
    return first + second


@task(queue_name="slow", priority=5)
async def aadd(first: int, second: int) -> int:
    return first + second


@task
def fail() -> None:
    raise LookupError("nothing here")


@task(takes_context=True)
def attempt(context: Any) -> int:
    return int(context.attempt)


def no_task() -> None:
    raise AssertionError("only tasks are called")
