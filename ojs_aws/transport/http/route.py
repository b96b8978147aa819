"""Describes routes: what they ask of their callers, and the functions that serve them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Final

from ojs_aws.domain.access import GRANTS, Permission, Scope

BASE: Final = "/ojs/v1"
PAGED: Final = ("limit", "cursor", "offset", "page", "per_page")
"""The query parameters of a list."""


class Group(StrEnum):
    """Names the functions, by what each may do to the table and the queues."""

    PRODUCER = "producer"
    WORKER_API = "worker_api"
    OPERATOR = "operator"
    SYSTEM = "system"
    API_KEYS = "api_keys"
    """Only where callers have API keys."""


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


@dataclass(frozen=True, slots=True)
class Route:
    """Declares one operation: a row of its feature's table. Its handler declares the answer's type.

    The formatter leaves the tables alone, so that a row stays together: the endpoint and who may
    call it, then what it does and what is special about it.

    :ivar endpoint: method and path below ``base``, with its parameters as ``<name>``.
    :ivar operation: operation id.
    :ivar access: what it asks of its caller.
    :ivar module: the module below this package that has the handler. A cold start imports the one
        of the group's main operations, and no other.
    :ivar handler: name of the handler in its module; empty where it is the operation's. An alias
        with another method names the handler of the operation that it stands for.
    :ivar base: what the paths begin with.
    :ivar has_admin_path: whether the admin API has the operation too, at the same path.
    :ivar more_paths: its other aliases below ``base``; documents or clients name them.
    :ivar request: name of the body's model in ``models`` or ``requests``; empty where a
        body is ignored.
    :ivar events: content type of the CloudEvents that it takes, too; empty: none.
    :ivar query: names of the query parameters, described in ``queries.py``.
    :ivar statuses: successful statuses, the usual one first.
    :ivar errors: statuses of the errors that are the operation's own, beside 404 for what the path
        names, and 413 and 415 for a body.
    :ivar is_body_optional: whether an empty body counts as an empty object.
    :ivar media_type: of the answer, where it is not OJS's own.
    :ivar repeatable: True if a POST, PATCH or DELETE may be sent again when its answer was lost:
        to take effect twice is the same as once. See :attr:`is_repeatable`.
    :ivar is_recorded: whether an event of its own says who did it and to what its path names,
        because nothing that it changes does.
    """

    endpoint: str
    operation: str
    access: Access
    summary: str
    _: KW_ONLY
    group: Group
    module: str
    handler: str = ""
    base: str = BASE
    has_admin_path: bool = False
    more_paths: tuple[str, ...] = ()
    request: str = ""
    events: str = ""
    query: tuple[str, ...] = ()
    statuses: tuple[int, ...] = (200,)
    errors: tuple[int, ...] = ()
    is_body_optional: bool = False
    media_type: str = ""
    repeatable: bool = False
    is_recorded: bool = False

    @property
    def method(self) -> str:
        """Return the method."""
        return self.endpoint.partition(" ")[0]

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the method; for what anybody may ask also HEAD, which load balancers send."""
        return (self.method, "HEAD") if self.is_public else (self.method,)

    @property
    def path(self) -> str:
        """Return the path that the client uses."""
        return self.base + self.endpoint.partition(" ")[2]

    @property
    def aliases(self) -> tuple[str, ...]:
        """Return the other paths that mean the same."""
        admin = (self.path.replace(BASE, f"{BASE}/admin", 1),) if self.has_admin_path else ()
        return (*admin, *(self.base + path for path in self.more_paths))

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the path and its aliases."""
        return (self.path, *self.aliases)

    @property
    def is_repeatable(self) -> bool:
        """Return True if clients may send the request again after they lost its answer."""
        return self.repeatable or self.method in {"GET", "PUT"}

    @property
    def is_public(self) -> bool:
        """Return whether anybody may call it, unless the deployment closes it."""
        return self.access.permission is Permission.PUBLIC
