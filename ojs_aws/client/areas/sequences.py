"""Read whose turn it is in sequences, list stopped ones, and let them go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ojs_aws.client.areas.area import Area
from ojs_aws.client.transports.requests import Values, entry_of, next_cursor, objects_in
from ojs_aws.domain.errors import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceEntry:
    """Describes a sequence that has a job which has not ended, or on which it is stopped.

    :ivar state: ``running`` or ``stopped``.
    :ivar job_id: the job that has the turn, or that it is stopped on; at ``position``.
    :ivar next: the position of the next job that is enqueued.
    :ivar queue: of the discarded job, in a list; as ``type`` empty if the job is gone.
    :ivar blocked: the first jobs that wait, each with ``job_id`` and ``position``.
    :ivar described: everything that the backend says of it.
    """

    key: str
    state: str
    job_id: str
    position: int
    next: int
    tenant_id: str = ""
    stopped_at: str = ""
    queue: str = ""
    type: str = ""
    blocked: Sequence[Mapping[str, JsonValue]] = ()
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SequenceList:
    """Holds a page of stopped sequences; ``cursor`` is empty on the last one."""

    sequences: Sequence[SequenceEntry]
    cursor: str


class Sequences(Area):
    """Reads sequences, and lets stopped ones go on: ``client.sequences``."""

    async def list(
        self, *, tenant: str = "", queue: str = "", limit: int = 50, cursor: str = ""
    ) -> SequenceList:
        """List a page of the sequences that are stopped, those stopped first at the begin.

        :param tenant: whose they are; empty for everybody's.
        :param queue: the queue of the discarded job that each is stopped on; empty for any.
        :param cursor: from the page before. A page may be empty, and have one.
        """
        query = {"tenant": tenant, "queue": queue, "limit": str(limit), "cursor": cursor}
        values = (await self._ask("list_sequences", query=query)).values
        found = [_entry(each) for each in objects_in(values, "sequences")]
        return SequenceList(found, next_cursor(values))

    async def get(self, key: str, *, tenant: str = "") -> SequenceEntry:
        """Read whose turn it is in a sequence.

        :param tenant: whose it is; empty for jobs without a tenant.
        :raises NotFoundError: it is idle.
        """
        return _entry((await self._ask("get_sequence", key=key, query={"tenant": tenant})).values)

    async def skip(self, key: str, *, tenant: str = "") -> SequenceEntry:
        """Let a stopped sequence go on without the discarded job.

        :param tenant: whose it is; empty for jobs without a tenant.
        :returns: the sequence after; as it was, without blocked jobs, if none were left.
        :raises NotFoundError: it is idle.
        :raises ConflictError: the job that has the turn has not ended.
        """
        return _entry((await self._ask("skip_sequence", key=key, query={"tenant": tenant})).values)


def _entry(values: Values) -> SequenceEntry:
    return entry_of(SequenceEntry, values, blocked=objects_in(values, "blocked"))
