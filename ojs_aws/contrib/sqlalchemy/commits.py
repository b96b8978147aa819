"""Learn when the transaction of a session commits, and hold jobs in memory until then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine, Table, Text, cast, event, select, update
from sqlalchemy.orm import Session, SessionTransaction

from ojs_aws.client.transports.substitute import Substitute, current_substitute
from ojs_aws.contrib.outbox.built_in import send_to_test
from ojs_aws.contrib.outbox.staged_jobs import NewRow, WaitingRow
from ojs_aws.domain.envelope import Job


class JobsAfterCommit:
    """Holds the jobs of a session until its outermost transaction commits (section 12.4).

    The release of a SAVEPOINT gives its jobs to the transaction around it, and a rollback forgets
    them.
    """

    def __init__(self, session: Session) -> None:
        """Follow the transactions of a session."""
        self._session = session
        self._waiting: dict[SessionTransaction, list[Job]] = {}
        self._committed: list[Job] = []
        event.listen(session, "after_commit", self._note_commit)
        event.listen(session, "after_transaction_end", self._forget)

    def add(self, job: Job) -> None:
        """Hold a job in the innermost transaction, which begins here if there is none."""
        if not self._session.in_transaction():
            self._session.begin()
        self._waiting.setdefault(self._innermost(), []).append(job)

    def take_committed(self) -> list[Job]:
        """Return the jobs whose transaction has committed, in their order, and let them go."""
        taken, self._committed = self._committed, []
        return taken

    def _note_commit(self, session: Session) -> None:
        """Move jobs outwards. SQLAlchemy calls this for the release of a SAVEPOINT, too."""
        del session
        transaction = self._innermost()
        jobs = self._waiting.pop(transaction, [])
        if transaction.parent is None:
            self._committed += jobs
        else:
            self._waiting.setdefault(transaction.parent, []).extend(jobs)

    def _forget(self, session: Session, transaction: SessionTransaction) -> None:
        """Forget the jobs of a transaction that did not commit: those of a commit are elsewhere."""
        del session
        self._waiting.pop(transaction, None)

    def _innermost(self) -> SessionTransaction:
        found = self._session.get_nested_transaction() or self._session.get_transaction()
        assert found is not None  # noqa: S101 - it is asked for in a transaction
        return found


_FOLLOWED: Final = "ojs_outbox_followed"


@dataclass(slots=True)
class _Followed:
    """Holds what a session wrote in its transaction; in a test also the jobs' ids."""

    substitute: Substitute | None = None
    ids: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Commits:
    """Wakes the relay at the commit; in a test, sends what was committed.

    :ivar wake: called with the engine whose database has new rows.
    """

    table: Table
    wake: Callable[[Engine], None]

    def follow(self, session: Session, job_ids: Sequence[str]) -> None:
        """Note that a session has written jobs."""
        followed: _Followed | None = session.info.get(_FOLLOWED)
        if followed is None:
            followed = session.info[_FOLLOWED] = _Followed()
            event.listen(session, "after_commit", self._on_commit)
            event.listen(session, "after_transaction_end", self._on_end)
        followed.substitute = current_substitute()
        followed.ids.update(job_ids)
        if followed.substitute is not None:
            followed.substitute.waiting.update(job_ids)

    def _on_commit(self, session: Session) -> None:
        """Act on a commit of the outermost transaction.

        SQLAlchemy calls this for the release of a SAVEPOINT, too, which may still be rolled back.
        """
        if session.in_nested_transaction():
            return
        followed = self._taken(session)
        if not followed.ids:
            return
        bind = session.get_bind(clause=self.table)
        if followed.substitute is not None:
            self._send_to_test(bind, followed.ids)
        else:
            self.wake(bind.engine)

    def _on_end(self, session: Session, transaction: SessionTransaction) -> None:
        """Forget what did not commit. The end of a SAVEPOINT says nothing: the table knows."""
        if transaction.parent is None:
            self._taken(session)

    def _taken(self, session: Session) -> _Followed:
        followed: _Followed = session.info[_FOLLOWED]
        session.info[_FOLLOWED] = _Followed()
        if followed.substitute is not None:
            followed.substitute.waiting -= followed.ids
        return followed

    def _send_to_test(self, bind: Engine | Connection, job_ids: set[str]) -> None:
        """Send the committed ones of some jobs to the backend of a test, and mark them."""
        if isinstance(bind, Connection):  # whose transaction belongs to the test
            self._send_by(bind, job_ids)
            return
        with bind.begin() as connection:
            self._send_by(connection, job_ids)

    def _send_by(self, connection: Connection, job_ids: set[str]) -> None:
        columns, is_ours = self.table.c, self.table.c.job_id.in_(job_ids)
        names = (columns.id, columns.job_id, columns.job_type)
        texts = (columns.job_args, columns.job_options)
        query = (
            select(*names, *(cast(each, Text) for each in texts))
            .where(is_ours)
            .order_by(columns.id)
        )
        rows = connection.execute(query).all()
        send_to_test(WaitingRow(row[0], NewRow(*row[1:]), 0, None).job() for row in rows)
        connection.execute(update(self.table).where(is_ours).values(status="sent"))
