"""Learn when the transaction of a session that wrote jobs commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine, Table, Text, cast, event, select, update
from sqlalchemy.orm import Session, SessionTransaction

from ojs_aws.client.transports.substitute import Substitute, current_substitute
from ojs_aws.contrib.outbox.rows import NewRow, WaitingRow
from ojs_aws.contrib.outbox.testing import send_to_test

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
            event.listen(session, "after_commit", self._committed)
            event.listen(session, "after_transaction_end", self._ended)
        followed.substitute = current_substitute()
        followed.ids.update(job_ids)
        if followed.substitute is not None:
            followed.substitute.waiting.update(job_ids)

    def _committed(self, session: Session) -> None:
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

    def _ended(self, session: Session, transaction: SessionTransaction) -> None:
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
