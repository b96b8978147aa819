"""Keep jobs in a table of the application, and send them from there (framework adapters, 6.2).

A job's row commits with the rows of the application, or not at all. A relay sends what is
committed. Adapters for SQLAlchemy and Django write the rows; the relay is the same for both.
"""

from __future__ import annotations

from ojs_aws.contrib.outbox.built_in import BuiltInRelay
from ojs_aws.contrib.outbox.relay import Relay, RelayOptions, Round
from ojs_aws.contrib.outbox.staged_jobs import DEFAULT_TABLE, OutboxStatus, StagedJob
from ojs_aws.contrib.outbox.store import Overview

__all__ = [
    "DEFAULT_TABLE",
    "BuiltInRelay",
    "OutboxStatus",
    "Overview",
    "Relay",
    "RelayOptions",
    "Round",
    "StagedJob",
]
