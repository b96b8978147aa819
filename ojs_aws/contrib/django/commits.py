"""Send a job when the transaction of a database commits, which a test may wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from django.db import transaction

from ojs_aws.client.timer import UuidV7
from ojs_aws.contrib.django.database import AfterCommit
from ojs_aws.contrib.django.options import CLIENTS, DjangoOptions
from ojs_aws.contrib.outbox.staged_jobs import AnyJob, with_absolute_times
from ojs_aws.domain.envelope import Job
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT, Clients, sending_sync_client


def enqueue_after_commit(job: AnyJob, *, using: str | None = None, robust: bool = False) -> str:
    """Send a job after the outermost transaction commits; at once where there is none.

    A savepoint sends nothing, and one that rolls back takes its jobs with it (ojs-framework-
    adapters, section 12.4). With ``OJS["OUTBOX"]`` the job becomes a row of the transaction, and a
    relay sends it. Without it, the job is lost if the process dies after the commit and before it
    is sent; the enqueue middleware then runs when it is sent.

    :param job: a call of a typed job, or a whole ``Job``. It is checked now, and a delay counts
        from now.
    :param using: the alias of the database; default: ``default``.
    :param robust: an error of sending is logged, and does not reach the code that commits: later
        jobs of the transaction are sent. Without it, the error is raised after the commit. An
        outbox sends nothing in the process that commits, so it needs no such thing.
    :returns: the id of the job: ``send_welcome.handle_sync(id)``.
    :raises InvalidRequestError: the job breaks a constraint of the envelope.
    """
    [job_id] = enqueue_many_after_commit([job], using=using, robust=robust)
    return job_id


def enqueue_many_after_commit(
    jobs: Iterable[AnyJob], *, using: str | None = None, robust: bool = False
) -> list[str]:
    """Send several jobs after the commit, in one request; see :func:`enqueue_after_commit`.

    With an outbox, they are rows of one statement.
    """
    if DjangoOptions.read().outbox is not None:
        from ojs_aws.contrib.django import outbox  # noqa: PLC0415 - its model needs the apps

        return [each.id for each in outbox.enqueue_many(jobs, using=using)]
    made: list[Job] = []
    by_client: dict[Clients, list[Job]] = {}
    for job in jobs:
        made.append(_complete(job))
        by_client.setdefault(_clients_of(job), []).append(made[-1])
    for clients, those in by_client.items():
        transaction.on_commit(AfterCommit(those, _sender(clients)), using=using, robust=robust)
    return [job.id for job in made]


def _complete(job: AnyJob) -> Job:
    made = job.to_job() if not isinstance(job, Job) else Job.from_members(job.members())
    if not made.id:
        made.id = UuidV7().job_id()
    with_absolute_times(made, datetime.now(UTC))
    return made


def _clients_of(job: AnyJob) -> Clients:
    clients = job.declaration.clients() if isinstance(job, JobCall) else FROM_ENVIRONMENT
    return CLIENTS if clients is FROM_ENVIRONMENT else clients


def _sender(clients: Clients) -> Callable[[Sequence[Job]], None]:
    def send(jobs: Sequence[Job]) -> None:
        client = sending_sync_client(clients)
        if len(jobs) == 1:
            client.enqueue(jobs[0])
        else:
            client.enqueue_many(jobs)

    return send
