"""Write jobs into the outbox, in the transaction of a database of Django, and send them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models.functions import Now

from ojs_aws.client.transports.substitute import current_substitute
from ojs_aws.contrib.django.database import AfterCommit
from ojs_aws.contrib.django.models import OutboxRow
from ojs_aws.contrib.django.options import CLIENTS, DjangoOptions, OutboxOptions, make_client
from ojs_aws.contrib.outbox.built_in import BuiltInRelay, send_to_test
from ojs_aws.contrib.outbox.database import (
    NOTICES_A_DEAD_SERVER,
    POSTGRESQL,
    SQLITE,
    Row,
    Value,
)
from ojs_aws.contrib.outbox.relay import CHANNEL, Relay
from ojs_aws.contrib.outbox.staged_jobs import AnyJob, OutboxStatus, StagedJob, Staging
from ojs_aws.domain.envelope import Job

_PARAMETER: Final = re.compile(r":(\w+)")
_STAGING: Final = Staging(clients=CLIENTS)


class RelayDatabase:
    """Gives a relay a database of the setting ``DATABASES``; each statement commits by itself.

    The relay has a connection of its own, outside of any pool, so its lock ends with it.

    :ivar dialect: ``postgresql`` or ``sqlite``.
    :ivar path: of SQLite's file; empty for a database in memory, and for PostgreSQL.
    :ivar connection_number: counts the connections; 0 while none is open.
    """

    def __init__(self, alias: str) -> None:
        """Use a connection like those of an alias, opened with the first statement.

        :raises ValueError: the database is neither PostgreSQL nor SQLite.
        """
        self.dialect = str(connections[alias].vendor)
        if self.dialect not in {POSTGRESQL, SQLITE}:
            raise ValueError(
                f"The outbox works in PostgreSQL and SQLite, and DATABASES[{alias!r}] is "
                f"{self.dialect}."
            )
        name = str(connections[alias].settings_dict["NAME"])
        is_file = self.dialect == SQLITE and name != ":memory:" and not name.startswith("file:")
        self.path = name if is_file else ""
        self.connection_number = 0
        self._opened_so_far = 0
        self._alias = alias
        self._connection: Any = None

    def run(self, statement: str, parameters: Mapping[str, Value]) -> list[Row]:
        """Run a statement, and return its rows."""
        try:
            with self._opened().cursor() as cursor:
                cursor.execute(_PARAMETER.sub(r"%(\1)s", statement), dict(parameters))
                rows: list[Row] = cursor.fetchall() if cursor.description else []
        except BaseException:
            self.close()
            raise
        return rows

    def driver_connection(self) -> object:
        """Return the driver's own connection."""
        return self._opened().connection

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        connection, self._connection = self._connection, None
        self.connection_number = 0
        if connection is not None:
            with suppress(Exception):  # it may be broken
                connection.close()

    def _opened(self) -> Any:
        if self._connection is None:
            made = connections[self._alias].copy()
            made.inc_thread_sharing()  # another thread may end the relay, and closes this
            made.settings_dict.update(_for_relay(made.settings_dict, self.dialect))
            made.ensure_connection()
            if self.dialect == POSTGRESQL:
                with made.cursor() as cursor:
                    cursor.execute("SET TIME ZONE 'UTC'")  # also of times without a zone
            self._connection = made
            self._opened_so_far += 1
            self.connection_number = self._opened_so_far
        return self._connection


def _for_relay(given: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """Return the settings in which a relay's connection differs from the given ones."""
    options = {key: value for key, value in given["OPTIONS"].items() if key != "pool"}
    if dialect == POSTGRESQL:
        options = {**NOTICES_A_DEAD_SERVER, **options}
    zone = "UTC" if settings.USE_TZ else None
    return {"AUTOCOMMIT": True, "TIME_ZONE": zone, "OPTIONS": options}


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
