"""Write jobs into the outbox, in the transaction of a session that has a method for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, Literal, TypeAlias

from sqlalchemy import Engine, MetaData, text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, scoped_session

from ojs_aws.contrib.outbox.built_in import BuiltInRelay
from ojs_aws.contrib.outbox.database import POSTGRESQL
from ojs_aws.contrib.outbox.relay import CHANNEL, Relay, RelayOptions
from ojs_aws.contrib.outbox.staged_jobs import (
    DEFAULT_TABLE,
    AnyJob,
    Clock,
    StagedJob,
    Staging,
    system_clock,
)
from ojs_aws.contrib.sqlalchemy.commits import Commits
from ojs_aws.contrib.sqlalchemy.database import EngineDatabase, insertion, outbox_table
from ojs_aws.middleware import EnqueueChain, Hooks

AnySession: TypeAlias = Session | scoped_session[Session]
_NOTIFIED: Final = "ojs_outbox_notified"


class Outbox:
    """Holds the jobs of an application until its transactions commit, and while they are sent.

    Example::

        outbox = Outbox(Base.metadata)
        outbox.enqueue(session, send_email.call("ada@example.com"))

    :ivar table: as SQLAlchemy knows it.
    """

    def __init__(
        self,
        metadata: MetaData | None = None,
        *,
        options: RelayOptions | None = None,
        relay: Literal["built-in", "separate"] = "built-in",
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        clock: Clock = system_clock,
    ) -> None:
        """Describe the outbox; nothing is opened yet.

        :param metadata: of the application, so that ``create_all`` and Alembic know the table.
        :param options: of the relay; its table is that of the outbox.
        :param relay: ``"built-in"``: a thread of each process that commits jobs, one of which
            leads. ``"separate"``: only ``ojs-aws outbox relay`` sends.
        :param middleware: of jobs that no client claims; default: the default chain.
        """
        self.options = options or RelayOptions(table=DEFAULT_TABLE)
        self.table = outbox_table(metadata or MetaData(), self.options.table)
        self._staging = Staging(middleware=middleware, hooks=hooks, clock=clock)
        self._is_built_in = relay == "built-in"
        self._relays: dict[Engine, BuiltInRelay] = {}
        self._commits = Commits(self.table, self._wake)

    def enqueue(self, session: AnySession, job: AnyJob) -> StagedJob:
        """Write a job into the outbox; it is sent if and when the session's transaction commits.

        Validation and enqueue middleware run now, a delay counts from now, and the id is known.

        :param job: a call of a typed job, or a whole ``Job``.
        :raises InvalidRequestError: the job breaks a constraint of the envelope.
        :raises Exception: whatever a middleware raised; nothing is written.
        """
        [staged] = self.enqueue_many(session, [job])
        return staged

    def enqueue_many(self, session: AnySession, jobs: Iterable[AnyJob]) -> list[StagedJob]:
        """Write several jobs by one statement; see :meth:`enqueue`."""
        staged = [self._staging.stage(job) for job in jobs]
        self._write(session() if isinstance(session, scoped_session) else session, staged)
        return staged

    async def aenqueue(self, session: AsyncSession, job: AnyJob) -> StagedJob:
        """Write a job into the outbox, in the transaction of an asynchronous session."""
        [staged] = await self.aenqueue_many(session, [job])
        return staged

    async def aenqueue_many(self, session: AsyncSession, jobs: Iterable[AnyJob]) -> list[StagedJob]:
        """Write several jobs by one statement; see :meth:`enqueue`."""
        staged = [await self._staging.astage(job) for job in jobs]
        await session.run_sync(lambda inner: self._write(inner, staged))
        return staged

    def relay(self, engine: Engine) -> Relay:
        """Return a relay for the outbox in an engine's database, for a process of your own."""
        return Relay(EngineDatabase(engine), self.options)

    def close(self) -> None:
        """Stop the built-in relays of this process, when the batches they send are done."""
        for relay in [*self._relays.values()]:
            relay.stop()

    def _write(self, session: Session, staged: Sequence[StagedJob]) -> None:
        kept = [each for each in staged if not each.dropped_by]
        if not kept:
            return
        dialect = session.get_bind(clause=self.table).dialect.name
        session.execute(insertion(self.table, dialect), [each.row.values() for each in kept])
        if dialect == POSTGRESQL and self.options.listens:
            self._notify(session)
        self._commits.follow(session, [each.id for each in kept])

    def _notify(self, session: Session) -> None:
        """Let PostgreSQL notify the relay at the commit; once in each transaction."""
        transaction = session.get_nested_transaction() or session.get_transaction()
        if session.info.get(_NOTIFIED) is not transaction:
            statement = text(f"NOTIFY {CHANNEL}")
            bind = session.get_bind(clause=self.table)
            session.execute(statement, bind_arguments={"bind": bind})
            session.info[_NOTIFIED] = transaction

    def _wake(self, engine: Engine) -> None:
        """Let the built-in relay of a database look for what was committed."""
        if not self._is_built_in:
            return
        url, is_async = engine.url, engine.dialect.is_async
        made = BuiltInRelay(
            lambda: Relay(
                EngineDatabase.of_url(url) if is_async else EngineDatabase(engine), self.options
            )
        )
        self._relays.setdefault(engine, made).wake()  # of two threads, one has made it


OUTBOX: Final = "ojs_outbox"
"""The member of a session's ``info`` that names another outbox than the default one."""


@cache
def default_outbox() -> Outbox:
    """Return the outbox of sessions that name none: the table ``ojs_outbox``."""
    return Outbox()


class JobSession(Session):
    """Is a session that enqueues jobs in its transaction.

    Example::

        outbox = Outbox(Base.metadata)
        sessions = sessionmaker(engine, class_=JobSession, info={"ojs_outbox": outbox})
    """

    def enqueue(self, job: AnyJob) -> StagedJob:
        """Enqueue a job if and when this transaction commits; see :meth:`Outbox.enqueue`."""
        return _outbox_of(self.info).enqueue(self, job)

    def enqueue_many(self, jobs: Iterable[AnyJob]) -> list[StagedJob]:
        """Enqueue several jobs; see :meth:`Outbox.enqueue_many`."""
        return _outbox_of(self.info).enqueue_many(self, jobs)


class AsyncJobSession(AsyncSession):
    """Is an asynchronous session that enqueues jobs in its transaction."""

    async def enqueue(self, job: AnyJob) -> StagedJob:
        """Enqueue a job if and when this transaction commits; see :meth:`Outbox.enqueue`."""
        return await _outbox_of(self.info).aenqueue(self, job)

    async def enqueue_many(self, jobs: Iterable[AnyJob]) -> list[StagedJob]:
        """Enqueue several jobs; see :meth:`Outbox.enqueue_many`."""
        return await _outbox_of(self.info).aenqueue_many(self, jobs)


def _outbox_of(info: dict[object, object]) -> Outbox:
    found = info.get(OUTBOX)
    return found if isinstance(found, Outbox) else default_outbox()


def outbox_of(session: Session | AsyncSession) -> Outbox | None:
    """Return the outbox of a session; None for one that has neither an outbox nor our class."""
    is_ours = isinstance(session, (JobSession, AsyncJobSession)) or OUTBOX in session.info
    return _outbox_of(session.info) if is_ours else None
