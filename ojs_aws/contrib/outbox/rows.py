"""Write a job as a row of the outbox, and read it back exactly (framework adapters, 6.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import RawJson, assemble, encode, stored_texts

DEFAULT_TABLE: Final = "ojs_outbox"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}(\.[A-Za-z_][A-Za-z0-9_]{0,40})?")
_OF_COLUMNS: Final = frozenset({"id", "type", "args"})


class OutboxStatus(StrEnum):
    """Says what became of a row (framework adapters, 6.4).

    ``parked`` is ours: the relay has given up, and an operator decides.
    """

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class NewRow:
    """Holds what is written for one job; the rest of the row has its defaults.

    :ivar job_args: JSON text of the arguments, as it goes over the wire.
    :ivar job_options: JSON text of the envelope's other attributes.
    """

    job_id: str
    job_type: str
    job_args: str
    job_options: str

    def values(self) -> dict[str, str]:
        """Return the values by column."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """Holds a row that is to be sent.

    :ivar id: its place in the order of insertion.
    :ivar attempts: how often the backend refused it by itself.
    :ivar first_try_at: when it was first sent, or about to be; None if it never was.
    """

    id: int
    written: NewRow
    attempts: int
    first_try_at: datetime | None

    def job(self) -> Job:
        """Return the job as it was written."""
        written = self.written
        members: dict[str, RawJson] = {
            "id": encode(written.job_id),
            "type": encode(written.job_type),
            **stored_texts(written.job_options),
            "args": RawJson(written.job_args),
        }
        return Job.from_members(members)


def row_of(job: Job) -> NewRow:
    """Return the row of a job that has come through the middleware."""
    members: Mapping[str, RawJson] = job.members()
    options = {name: raw for name, raw in members.items() if name not in _OF_COLUMNS}
    return NewRow(job.id, job.type, members["args"], assemble(options))


def checked_table(name: str) -> str:
    """Return the name of a table, which becomes part of statements.

    :raises ValueError: it is no plain name, with or without a schema before it.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot be the outbox's table: expected a name of letters, digits and _, "
            "such as ojs_outbox or shop.ojs_outbox."
        )
    return name


def index_name(table: str, purpose: str) -> str:
    """Return the name of an index of the table: ``idx_ojs_outbox_pending``."""
    return f"idx_{table.rpartition('.')[2]}_{purpose}"
