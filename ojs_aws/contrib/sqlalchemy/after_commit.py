"""Hold jobs in memory until the transaction of a session commits, where there is no outbox."""

from __future__ import annotations

from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

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
