"""Run the discovered jobs in a worker that looks after Django's database connections."""

from __future__ import annotations

import dataclasses

from django.conf import settings

from ojs_aws.contrib.django.apps import discovered
from ojs_aws.contrib.django.database import with_fresh_connections, with_own_connections
from ojs_aws.contrib.django.options import BACKEND, DjangoOptions
from ojs_aws.typed_jobs.declarations import JobDeclaration
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker import Worker
from ojs_aws.worker.base import queues_of
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
        wrap = with_fresh_connections if handler.is_async else with_own_connections
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
    named = queues_of(jobs) if jobs else ()
    queues = [*options.queues] or [*dict.fromkeys((*named, *_queues_of_tasks()))]
    if _aliases():
        from ojs_aws.contrib.django.task_runs import task_jobs  # noqa: PLC0415 - needs its package

        jobs.include(task_jobs)
    return DjangoWorker(
        jobs,
        url=options.server or None,
        api_key=options.api_key or None,
        queues=queues or None,
        concurrency=options.concurrency,
        grace_s=options.grace_s,
    )


def _aliases() -> list[str]:
    """Return the backends of Django's tasks that are of this package."""
    backends = getattr(settings, "TASKS", {})
    return [alias for alias, each in backends.items() if each.get("BACKEND") == BACKEND]


def _queues_of_tasks() -> list[str]:
    """Return the queues of these backends."""
    queues = (settings.TASKS[alias].get("QUEUES") or ["default"] for alias in _aliases())
    return [queue for each in queues for queue in each]
