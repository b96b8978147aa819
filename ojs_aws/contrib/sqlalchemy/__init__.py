"""Enqueue jobs in a transaction of SQLAlchemy, by an outbox in the same database.

Example::

    sessions = sessionmaker(engine, class_=JobSession)

    with sessions.begin() as session:
        session.add(order)
        session.enqueue(confirm_order.call(order.id))
"""

from __future__ import annotations

from ojs_aws.contrib.outbox import RelayOptions, StagedJob
from ojs_aws.contrib.sqlalchemy.outbox import AsyncJobSession, JobSession, Outbox

__all__ = ["AsyncJobSession", "JobSession", "Outbox", "RelayOptions", "StagedJob"]
