"""Handles sequences: what is shown of them, and how a stopped one goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, NotRequired

from typing_extensions import TypedDict

from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.limits.policies import check_key
from ojs_aws.domain.tenants import check_tenant
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.sequences.service import SequenceState, StoppedSequence
from ojs_aws.transport.http.answers import Further, JobId, Timestamp
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.queries import further, number_of, read_mark, text_of, write_mark

_MARK: Final = "q:"


class WaitingJob(TypedDict):
    """Names a blocked job, and its position."""

    job_id: JobId
    position: int


class StoppedEntry(TypedDict):
    """Shows a stopped sequence; ``queue`` and ``type`` are those of its discarded job."""

    key: str
    tenant_id: NotRequired[str]
    state: Literal["stopped"]
    job_id: JobId
    queue: NotRequired[str]
    type: NotRequired[str]
    position: int
    next: int
    stopped_at: Timestamp


class SequencePagination(Further):
    """Says where a list of sequences goes on."""

    limit: int


class SequencesAnswer(TypedDict):
    """Shows a page of the stopped sequences."""

    sequences: list[StoppedEntry]
    pagination: SequencePagination


class SequenceAnswer(TypedDict):
    """Shows whose turn it is, and the first jobs that are blocked.

    ``next`` is the position of the next job that is enqueued.
    """

    key: str
    tenant_id: NotRequired[str]
    state: Literal["running", "stopped"]
    job_id: JobId
    position: int
    next: int
    stopped_at: NotRequired[Timestamp]
    blocked: list[WaitingJob]


def list_sequences(call: Call) -> Answer[SequencesAnswer]:
    """Return the stopped sequences that the caller may see."""
    query = call.request.query
    tenant = _tenant(call, "list_sequences", "only_tenant")
    limit, queue = number_of(query, "limit"), text_of(query, "queue")
    found, after = call.backend.sequences.stopped(
        limit,
        read_mark(_MARK, text_of(query, "cursor")),
        tenant or None,
        check_queue(queue) if queue else "",
    )
    pagination: SequencePagination = {"limit": limit, **further(write_mark(_MARK, after))}
    return Answer({"sequences": [*map(_entry, found)], "pagination": pagination})


def get_sequence(call: Call) -> Answer[SequenceAnswer]:
    """Return whose turn it is in a sequence."""
    tenant, key = _named(call, "get_sequence")
    return Answer(_shown(call.backend.sequences.get(tenant, key)))


def skip_sequence(call: Call) -> Answer[SequenceAnswer]:
    """Let a sequence go on without the discarded job that it is stopped on."""
    tenant, key = _named(call, "skip_sequence")
    return Answer(_shown(call.backend.sequences.skip(tenant, key)))


def _named(call: Call, operation: str) -> tuple[str, str]:
    """Return the tenant and the key that a request names.

    :raises InvalidRequestError: no sequence or tenant can be called so.
    :raises PermissionDeniedError: the caller is bound to queues, types, or another tenant.
    """
    return _tenant(call, operation, "tenant"), check_key(call.named("key"))


def _tenant(call: Call, operation: str, parameter: str) -> str:
    """Return the tenant that a request names, or that the caller is bound to; empty for none.

    :raises InvalidRequestError: no tenant can be called so.
    :raises PermissionDeniedError: the caller is bound to queues, types, or another tenant.
    """
    caller, named = call.request.caller, text_of(call.request.query, parameter)
    replace(caller, tenant="").check_unbound(operation)
    tenant = check_tenant(named, "tenant") if named else caller.tenant
    if caller.tenant not in ("", tenant):
        raise PermissionDeniedError(
            f"This request is for the tenant '{caller.tenant}', and names another.",
            details={"field": "tenant", "tenant_id": caller.tenant},
        )
    return tenant


def _entry(each: StoppedSequence) -> StoppedEntry:
    seen, job = each.sequence, each.job
    entry: StoppedEntry = {
        "key": seen.key,
        "state": "stopped",
        "job_id": seen.job_id,
        "position": seen.head,
        "next": seen.next,
        "stopped_at": format_instant(seen.stopped_at or seen.checked_at),
    }
    if seen.tenant:
        entry["tenant_id"] = seen.tenant
    if job is not None:
        entry["queue"], entry["type"] = job.queue, job.type
    return entry


def _shown(state: SequenceState) -> SequenceAnswer:
    seen = state.sequence
    shown: SequenceAnswer = {
        "key": seen.key,
        "state": "running" if seen.stopped_at is None else "stopped",
        "job_id": seen.job_id,
        "position": seen.head,
        "next": seen.next,
        "blocked": [{"job_id": each.job_id, "position": each.position} for each in state.blocked],
    }
    if seen.tenant:
        shown["tenant_id"] = seen.tenant
    if seen.stopped_at is not None:
        shown["stopped_at"] = format_instant(seen.stopped_at)
    return shown
