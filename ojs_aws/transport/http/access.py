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
    WHOLE_QUEUE = "whole queue"
    """The same, and all of its jobs are meant: refused to credentials bound to job types."""
    QUEUES = "queues"
    """The handler shows the queues within the bounds, with all of their jobs: the same."""
    TYPES = "types"
    """The handler shows job types within the bounds: refused to credentials without such bounds."""
    FILTERED = "filtered"
    """The handler shows or changes what is within the bounds; the query may name one of them."""
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
COUNTS_QUEUE: Final = Access(Permission.INSPECT, Bounds.WHOLE_QUEUE)
COUNTS_QUEUES: Final = Access(Permission.INSPECT, Bounds.QUEUES)
OPERATES_QUEUE: Final = Access(Permission.OPERATE, Bounds.WHOLE_QUEUE)
EMPTIES_QUEUE: Final = Access(Permission.ADMIN, Bounds.WHOLE_QUEUE)
ENQUEUES_JOB: Final = Access(Permission.ENQUEUE, Bounds.JOB)
INSPECTS_NAMED: Final = Access(Permission.INSPECT, Bounds.BODY)
OPERATES_JOB: Final = Access(Permission.OPERATE, Bounds.JOB)
ADMINISTERS_JOB: Final = Access(Permission.ADMIN, Bounds.JOB)
CANCELS: Final = Access(Permission.CANCEL)
OPERATES_NAMED: Final = Access(Permission.OPERATE, Bounds.BODY)
INSPECTS_OWN: Final = Access(Permission.INSPECT, Bounds.FILTERED)
OPERATES_OWN: Final = Access(Permission.OPERATE, Bounds.FILTERED)
CANCELS_OWN: Final = Access(Permission.CANCEL, Bounds.FILTERED)
INSPECTS_TYPES: Final = Access(Permission.INSPECT, Bounds.TYPES)
ADMINISTERS_OWN: Final = Access(Permission.ADMIN, Bounds.FILTERED)


def scopes_of(access: Access) -> tuple[Scope, ...]:
    """Return the scopes that allow an operation: all of them if any known caller may."""
    if access.permission in {Permission.PUBLIC, Permission.KNOWN}:
        return tuple(Scope)
    return tuple(scope for scope in Scope if access.permission in GRANTS[scope])
