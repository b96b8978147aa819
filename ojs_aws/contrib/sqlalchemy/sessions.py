"""Give SQLAlchemy's sessions a method that enqueues jobs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from ojs_aws.contrib.outbox.staging import AnyJob, StagedJob
from ojs_aws.contrib.sqlalchemy.outbox import Outbox

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
