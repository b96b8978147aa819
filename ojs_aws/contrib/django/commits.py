"""Send a job when the transaction of a database commits."""

from __future__ import annotations

import weakref
from datetime import UTC, datetime

from django.db import transaction

from ojs_aws.client.timer import UuidV7
from ojs_aws.client.transports.substitute import current_substitute
from ojs_aws.contrib.django.options import CLIENTS
from ojs_aws.contrib.outbox.staging import AnyJob
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.jobs.validation import read_envelope
from ojs_aws.domain.timestamps import format_instant, instant_of
from ojs_aws.typed_jobs.calls import JobCall
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT, Clients, sending_sync_client


def enqueue_after_commit(job: AnyJob, *, using: str | None = None, robust: bool = False) -> str:
    """Send a job after the outermost transaction commits; at once where there is none.

    A savepoint sends nothing, and one that rolls back takes its jobs with it (ojs-framework-
    adapters, section 12.4). The job is lost if the process dies after the commit and before it is
    sent: where that must not be, use an outbox. The enqueue middleware runs when it is sent.

    :param job: a call of a typed job, or a whole ``Job``. It is checked now, and a delay counts
        from now.
    :param using: the alias of the database; default: ``default``.
    :param robust: an error of sending is logged, and does not reach the code that commits: later
        jobs of the transaction are sent. Without it, the error is raised after the commit.
    :returns: the id of the job: ``send_welcome.handle_sync(id)``.
    :raises InvalidRequestError: the job breaks a constraint of the envelope.
    """
    made = job.to_job() if not isinstance(job, Job) else Job.from_members(job.members())
    if not made.id:
        made.id = UuidV7().job_id()
    _make_absolute(made)
    clients = job.declaration.clients() if isinstance(job, JobCall) else FROM_ENVIRONMENT
    sending = _Sending(made, CLIENTS if clients is FROM_ENVIRONMENT else clients)
    transaction.on_commit(sending, using=using, robust=robust)
    return made.id


class _Sending:
    """Sends one job when Django calls it.

    In a test the kit counts the job as one that waits, until it is sent or Django forgets it, as
    it does when a transaction or savepoint rolls back.
    """

    def __init__(self, job: Job, clients: Clients) -> None:
        self._job, self._clients = job, clients
        substitute = current_substitute()
        if substitute is not None:
            substitute.waiting.add(job.id)
            weakref.finalize(self, substitute.waiting.discard, job.id).atexit = False
        self.__qualname__ = f"enqueue_after_commit of {job.type}"  # Django's log names it

    def __call__(self) -> None:
        """Send the job; its transaction has committed."""
        substitute = current_substitute()
        if substitute is not None:
            substitute.waiting.discard(self._job.id)
        sending_sync_client(self._clients).enqueue(self._job)


def _make_absolute(job: Job) -> None:
    """Check the job as the backend would, and let its relative times count from now.

    :raises InvalidRequestError: the job breaks a constraint of the envelope.
    """
    envelope = read_envelope(job, instant_of(datetime.now(UTC)))
    for name in ("scheduled_at", "expires_at"):
        instant = getattr(envelope, name)
        if instant is not None and str(job.get(name)).startswith("+"):
            job[name] = format_instant(instant)
