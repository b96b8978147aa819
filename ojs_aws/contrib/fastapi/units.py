"""Give endpoints a unit of work: a session of SQLAlchemy, and jobs that are sent if it commits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import anyio
from anyio import from_thread
from fastapi import params
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker
from starlette.requests import HTTPConnection

from ojs_aws.contrib.fastapi.application import enqueue_or_log, jobs_of
from ojs_aws.contrib.outbox.staged_jobs import AnyJob, StagedJob, Staging
from ojs_aws.contrib.sqlalchemy.commits import JobsAfterCommit
from ojs_aws.contrib.sqlalchemy.outbox import Outbox, outbox_of
from ojs_aws.typed_jobs.jobs import Jobs


class _Unit:
    """Knows where the jobs of a session wait for its commit: in an outbox, or here."""

    def __init__(
        self,
        session: Session | AsyncSession,
        find_jobs: Callable[[], Jobs],
        outbox: Outbox | None,
    ) -> None:
        self._outbox = outbox or outbox_of(session)
        self._find_jobs = find_jobs
        inner = session.sync_session if isinstance(session, AsyncSession) else session
        self._held = JobsAfterCommit(inner)
        self._staging = Staging()

    def _hold(self, staged: StagedJob) -> StagedJob:
        if not staged.dropped_by:
            self._held.add(staged.job)
        return staged

    async def _send_committed(self) -> None:
        jobs = self._held.take_committed()
        if jobs:
            with anyio.CancelScope(shield=True):  # they are committed, even if the caller is gone
                await enqueue_or_log(jobs, self._find_jobs().client().enqueue_prepared)


class UnitOfWork(_Unit):
    """Is the transaction of a request, for endpoints without ``async``.

    :ivar session: commits when the endpoint has returned, before the response is sent; it rolls
        back if the endpoint raises.
    """

    def __init__(
        self, session: Session, find_jobs: Callable[[], Jobs], outbox: Outbox | None = None
    ) -> None:
        """Use a session; :func:`unit_of_work` makes these."""
        super().__init__(session, find_jobs, outbox)
        self.session = session

    def enqueue(self, job: AnyJob) -> StagedJob:
        """Enqueue a job if and when the session commits.

        Validation and enqueue middleware run now, a delay counts from now, and the id is known.

        :param job: a call of a typed job, or a whole ``Job``.
        :raises InvalidRequestError: the job breaks a constraint of the envelope.
        :raises Exception: whatever a middleware raised.
        """
        if self._outbox is not None:
            return self._outbox.enqueue(self.session, job)
        with self._find_jobs().sync_client().use():
            return self._hold(self._staging.stage(job))


class AsyncUnitOfWork(_Unit):
    """Is the transaction of a request, for ``async def`` endpoints.

    :ivar session: commits when the endpoint has returned, before the response is sent; it rolls
        back if the endpoint raises.
    """

    def __init__(
        self, session: AsyncSession, find_jobs: Callable[[], Jobs], outbox: Outbox | None = None
    ) -> None:
        """Use a session; :func:`unit_of_work` makes these."""
        super().__init__(session, find_jobs, outbox)
        self.session = session

    async def enqueue(self, job: AnyJob) -> StagedJob:
        """Enqueue a job if and when the session commits; see :meth:`UnitOfWork.enqueue`."""
        if self._outbox is not None:
            return await self._outbox.aenqueue(self.session, job)
        with self._find_jobs().client().use():
            return self._hold(await self._staging.astage(job))


def unit_of_work(
    sessions: sessionmaker[Session] | async_sessionmaker[AsyncSession],
    outbox: Outbox | None = None,
) -> params.Depends:
    """Return the dependency that gives an endpoint a unit of work.

    It commits when the endpoint has returned and its answer is made, and before that is sent: so
    a commit that fails is an error of the response. Jobs are written into the outbox, where there
    is one; else they are sent after the commit, and an error of that is logged with the job's id.

    Example::

        Work = Annotated[AsyncUnitOfWork, unit_of_work(sessions)]


        @app.post("/orders")
        async def place(number: int, work: Work) -> None:
            work.session.add(Order(number=number))
            await work.enqueue(confirm_order.call(number))

    :param sessions: a ``sessionmaker`` for :class:`UnitOfWork`, an ``async_sessionmaker`` for
        :class:`AsyncUnitOfWork`.
    :param outbox: default: that of a ``JobSession``, or of ``info["ojs_outbox"]``; else none.
    """
    unit: Callable[..., object]
    if isinstance(sessions, async_sessionmaker):
        unit = _asynchronous(sessions, outbox)
    else:
        unit = _synchronous(sessions, outbox)
    # Without this scope, FastAPI would end it, and so commit, after the response.
    return params.Depends(unit, scope="function")


def _synchronous(
    sessions: sessionmaker[Session], outbox: Outbox | None
) -> Callable[[HTTPConnection], Iterator[UnitOfWork]]:
    def unit(connection: HTTPConnection) -> Iterator[UnitOfWork]:
        session = sessions()
        made = UnitOfWork(session, lambda: jobs_of(connection), outbox)
        try:
            with session:
                yield made
                session.commit()
        finally:
            from_thread.run(made._send_committed)  # noqa: SLF001 - of this module

    return unit


def _asynchronous(
    sessions: async_sessionmaker[AsyncSession], outbox: Outbox | None
) -> Callable[[HTTPConnection], AsyncIterator[AsyncUnitOfWork]]:
    async def unit(connection: HTTPConnection) -> AsyncIterator[AsyncUnitOfWork]:
        session = sessions()
        made = AsyncUnitOfWork(session, lambda: jobs_of(connection), outbox)
        try:
            async with session:
                yield made
                await session.commit()
        finally:
            await made._send_committed()  # noqa: SLF001 - of this module

    return unit
