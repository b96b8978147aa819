"""Run the discovered jobs in a worker that looks after Django's database connections."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from ojs_aws.contrib.django.discovery import discovered
from ojs_aws.contrib.django.options import DjangoOptions
from ojs_aws.middleware.context import JobContext
from ojs_aws.typed_jobs.declarations import JobDeclaration
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker import Worker
from ojs_aws.worker.typed_handlers import typed_handler


class DjangoWorker(Worker):
    """Closes the connections of a job's thread when the job ends.

    A job without ``async`` has a thread of its own. One with ``async`` shares Django's thread for
    the database, whose connections are closed when they are broken or too old.
    """

    def _run_typed(self, declaration: JobDeclaration) -> None:
        if declaration.is_remote:
            return
        handler = typed_handler(declaration)
        wrap = _with_fresh_connections if handler.is_async else with_own_connections
        self.registry.add_handler(dataclasses.replace(handler, function=wrap(handler.function)))


def make_worker() -> Worker:
    """Return a worker for the jobs of all installed apps, as the setting ``OJS`` says.

    :raises ValueError: nothing says where the server is.
    :raises RegistrationError: two apps declare the same type of job.
    """
    options = DjangoOptions.read()
    jobs = Jobs()
    for each in discovered():
        jobs.include(each)
    return DjangoWorker(
        jobs,
        url=options.server or None,
        api_key=options.api_key or None,
        queues=list(options.queues) or None,
        concurrency=options.concurrency,
        grace_s=options.grace_s,
    )


def with_own_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that closes the connections of its thread when it ends."""

    @functools.wraps(function)
    def run(*args: Any, **keywords: Any) -> object:
        try:
            return function(*args, **keywords)
        finally:
            connections.close_all()

    return run


def _with_fresh_connections(function: Callable[[JobContext], Any]) -> Callable[[JobContext], Any]:
    @functools.wraps(function)
    async def run(ctx: JobContext) -> object:
        await sync_to_async(close_old_connections)()
        try:
            return await function(ctx)
        finally:
            await sync_to_async(close_old_connections)()

    return run
