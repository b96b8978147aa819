"""Write jobs into the outbox, in the transaction of a database of Django, and send them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import Final

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models.functions import Now

from ojs_aws.client.transports.substitute import current_substitute
from ojs_aws.contrib.django.after_commit import AfterCommit
from ojs_aws.contrib.django.models import OutboxRow
from ojs_aws.contrib.django.options import CLIENTS, DjangoOptions, OutboxOptions, make_client
from ojs_aws.contrib.django.relay_database import RelayDatabase
from ojs_aws.contrib.outbox.built_in import BuiltInRelay, send_to_test
from ojs_aws.contrib.outbox.database import POSTGRESQL
from ojs_aws.contrib.outbox.relay import CHANNEL, Relay
from ojs_aws.contrib.outbox.rows import OutboxStatus
from ojs_aws.contrib.outbox.staged_jobs import AnyJob, StagedJob, Staging
from ojs_aws.domain.envelope import Job

_STAGING: Final = Staging(clients=CLIENTS)


def enqueue(job: AnyJob, *, using: str | None = None) -> StagedJob:
    """Write a job into the outbox; it is sent if and when the transaction commits.

    Validation and enqueue middleware run now, a delay counts from now, and the id is known.

    :param job: a call of a typed job, or a whole ``Job``.
    :param using: the alias of the database; default: ``default``.
    :raises InvalidRequestError: the job breaks a constraint of the envelope.
    :raises Exception: whatever a middleware raised; nothing is written.
    """
    [staged] = enqueue_many([job], using=using)
    return staged


def enqueue_many(jobs: Iterable[AnyJob], *, using: str | None = None) -> list[StagedJob]:
    """Write several jobs by one statement; see :func:`enqueue`."""
    staged = [_STAGING.stage(job) for job in jobs]
    kept = [each for each in staged if not each.dropped_by]
    if kept:
        _write(kept, using or DEFAULT_DB_ALIAS, DjangoOptions.read().outbox or OutboxOptions())
    return staged


def make_relay(alias: str = DEFAULT_DB_ALIAS) -> Relay:
    """Return a relay for the outbox of a database, as the setting ``OJS`` says.

    :raises ValueError: the database is neither PostgreSQL nor SQLite.
    """
    options = DjangoOptions.read().outbox or OutboxOptions()
    return Relay(RelayDatabase(alias), options.of_relay(), make_client=make_client)


def _write(staged: Sequence[StagedJob], alias: str, options: OutboxOptions) -> None:
    is_test = current_substitute() is not None
    act = partial(_send_to_test if is_test else _wake, alias, options)
    with transaction.atomic(using=alias, savepoint=False):
        OutboxRow.objects.using(alias).bulk_create(
            OutboxRow(**each.row.values()) for each in staged
        )
        if connections[alias].vendor == POSTGRESQL and options.listens:
            with connections[alias].cursor() as cursor:
                cursor.execute(f"NOTIFY {CHANNEL}")  # PostgreSQL does it at the commit
        after = AfterCommit([each.job for each in staged], act)
        transaction.on_commit(after, using=alias, robust=not is_test)


def _wake(alias: str, options: OutboxOptions, _: Sequence[Job]) -> None:
    """Let the built-in relay of a database look for what was committed."""
    if options.relay == "built-in":
        _built_in(alias).wake()


@cache
def _built_in(alias: str) -> BuiltInRelay:
    return BuiltInRelay(partial(make_relay, alias))


def _send_to_test(alias: str, _: OutboxOptions, jobs: Sequence[Job]) -> None:
    """Send jobs to the backend of a test, and mark their rows: no relay runs there."""
    send_to_test(jobs)
    rows = OutboxRow.objects.using(alias).filter(job_id__in=[job.id for job in jobs])
    rows.update(status=OutboxStatus.SENT.value, sent_at=Now())
