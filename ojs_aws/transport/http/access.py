"""Declares what an operation asks of its caller: a permission, and how bounds apply."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.domain.access import GRANTS, Permission, Scope


class Bounds(StrEnum):
    """Says where an operation names the queue that bounds apply to."""

    NONE = "none"
    """Nowhere, and none is meant: everybody may who has the permission."""
    JOB = "job"
    """The path names a job: its queue and type. A foreign job is as if there were none."""
    QUEUE = "queue"
    """The path names a queue."""
    QUERY = "query"
    """The query must name a queue, and a type where the credentials are bound to types."""
    BODY = "body"
    """The handler checks what the body names."""
    REFUSED = "refused"
    """The operation is about more than single queues."""


@dataclass(frozen=True, slots=True)
class Access:
    """Says what an operation asks of its caller."""

    permission: Permission
    bounds: Bounds = Bounds.REFUSED


PUBLIC: Final = Access(Permission.PUBLIC, Bounds.NONE)
KNOWN: Final = Access(Permission.KNOWN, Bounds.NONE)
INSPECTS: Final = Access(Permission.INSPECT)
OPERATES: Final = Access(Permission.OPERATE)
ADMINISTERS: Final = Access(Permission.ADMIN)
ENQUEUES: Final = Access(Permission.ENQUEUE, Bounds.BODY)
WORKS: Final = Access(Permission.DEQUEUE, Bounds.BODY)
WORKS_ON_JOB: Final = Access(Permission.DEQUEUE, Bounds.JOB)
INSPECTS_JOB: Final = Access(Permission.INSPECT, Bounds.JOB)
INSPECTS_QUEUE: Final = Access(Permission.INSPECT, Bounds.QUEUE)
CANCELS_JOB: Final = Access(Permission.CANCEL, Bounds.JOB)
OPERATES_QUEUE: Final = Access(Permission.OPERATE, Bounds.QUEUE)
ENQUEUES_JOB: Final = Access(Permission.ENQUEUE, Bounds.JOB)
INSPECTS_NAMED: Final = Access(Permission.INSPECT, Bounds.BODY)
OPERATES_JOB: Final = Access(Permission.OPERATE, Bounds.JOB)
CANCELS: Final = Access(Permission.CANCEL)
INSPECTS_QUERIED: Final = Access(Permission.INSPECT, Bounds.QUERY)
OPERATES_NAMED: Final = Access(Permission.OPERATE, Bounds.BODY)


def scopes_of(access: Access) -> tuple[Scope, ...]:
    """Return the scopes that allow an operation: all of them if any known caller may."""
    if access.permission in {Permission.PUBLIC, Permission.KNOWN}:
        return tuple(Scope)
    return tuple(scope for scope in Scope if access.permission in GRANTS[scope])
