"""Represent jobs that have not been sent, and make and send many of them together."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ojs_aws.client.transports.substitute import current_substitute
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.typed_jobs.arguments import Wire
from ojs_aws.typed_jobs.clients import Clients, sending_client, sending_sync_client
from ojs_aws.typed_jobs.handles import Handle, Pending, SyncHandle, SyncPending
from ojs_aws.typed_jobs.values import unshared

if TYPE_CHECKING:
    from ojs_aws.typed_jobs.declarations import JobDeclaration

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
ARGS: Final = "args"


class Call(ABC, Generic[R_co]):
    """Represents a job, or a workflow of jobs, that has not been sent; immutable.

    Its type parameter is the type of the result.
    """

    __slots__ = ()

    @abstractmethod
    async def enqueue(self) -> Pending[R_co]:
        """Send it, and return a handle of it."""

    @abstractmethod
    def enqueue_sync(self) -> SyncPending[R_co]:
        """Send it from code that is not asynchronous, and return a handle of it."""


class JobCall(Call[R_co]):
    """Represents a job with its arguments that has not been sent; immutable.

    A client takes it wherever it takes a :class:`~ojs_aws.Job`: ``client.enqueue(call)``,
    ``client.cron.register("report", "@daily", call)``, ``client.transact_item(call)``. Each time
    it makes another job.
    """

    __slots__ = ("_args", "_template", "declaration")

    def __init__(self, declaration: JobDeclaration, template: JobTemplate, args: Wire) -> None:
        """Keep the arguments as they go over the wire; ``send_email.call(...)`` makes these."""
        self.declaration = declaration
        self._template = template
        self._args = args

    @property
    def type(self) -> str:
        """Return the type of the job."""
        return self.declaration.type

    @property
    def is_unique_by_declaration(self) -> bool:
        """Return whether the job has the unique policy of its declaration, and no other one."""
        declared = self.declaration.options.get("unique")
        return declared is not None and self._template.unique == declared

    def to_job(self) -> Job:
        """Return a new job, without an id, that a client can enqueue."""
        if (substitute := current_substitute()) is not None:
            substitute.note_declaration(self.declaration)
        return self._template.job(self._args)

    async def enqueue(self) -> Handle[R_co]:
        """Send the job.

        :raises OjsError: the backend refused the job, or could not be reached.
        :raises ValueError: nothing says where the server is.
        """
        client = sending_client(self.declaration.clients())
        result = await client.enqueue(self)
        return Handle(client, result.id, self.declaration.decode_result, result.dropped_by)

    def enqueue_sync(self) -> SyncHandle[R_co]:
        """Send the job, from code that is not asynchronous; see :meth:`enqueue`."""
        client = sending_sync_client(self.declaration.clients())
        result = client.enqueue(self)
        return SyncHandle(client, result.id, self.declaration.decode_result, result.dropped_by)

    def __repr__(self) -> str:
        """Show the type; never the arguments, which may be secret."""
        return f"<JobCall {self.type}>"


def warn_if_unique(part: Call[Any], kind: str) -> None:
    """Warn who puts a job into a workflow, where the policy of its declaration does not apply."""
    if isinstance(part, JobCall) and part.is_unique_by_declaration:
        message = (
            f"{part.type!r} is not unique in a {kind}: a duplicate would leave its step without a "
            "job. Write .options(unique=None).call(...) if that is meant."
        )
        warnings.warn(message, stacklevel=4)


async def enqueue_many(calls: Iterable[JobCall[R]]) -> list[Handle[R]]:
    """Send several jobs, or some thousands, in one request: all of them or none.

    Example::

        await enqueue_many(send_email.call(to, order) for to in people)

    :returns: a handle of each job, in their order.
    :raises TypeError: one is no call of a job.
    :raises ValueError: the jobs are not all sent by the same client, or nothing says where the
        server is.
    :raises BatchRejectedError: a middleware dropped or failed one; nothing was enqueued.
    :raises OjsError: the backend refused the batch; nothing was enqueued.
    """
    listed = list(calls)
    if not listed:
        return []
    client = sending_client(clients_of(listed))
    results = await client.enqueue_many(listed, atomic=True)
    return [
        Handle(client, result.id, call.declaration.decode_result)
        for call, result in zip(listed, results, strict=True)
    ]


def enqueue_many_sync(calls: Iterable[JobCall[R]]) -> list[SyncHandle[R]]:
    """Send several jobs from code that is not asynchronous; see :func:`enqueue_many`."""
    listed = list(calls)
    if not listed:
        return []
    client = sending_sync_client(clients_of(listed))
    results = client.enqueue_many(listed, atomic=True)
    return [
        SyncHandle(client, result.id, call.declaration.decode_result)
        for call, result in zip(listed, results, strict=True)
    ]


def clients_of(calls: Sequence[Any]) -> Clients:
    """Return who sends some jobs.

    :raises TypeError: one is no call of a job.
    :raises ValueError: they are not all sent by the same client.
    """
    found: list[Clients] = []
    for place, call in enumerate(calls):
        if not isinstance(call, JobCall):
            shown = type(call).__name__
            raise TypeError(f"Item {place} must be a call such as send.call(...), not a {shown}.")
        found.append(call.declaration.clients())
    if any(each is not found[0] for each in found):
        raise ValueError("The jobs belong to Jobs with different clients: send them apart.")
    return found[0]


class JobTemplate:
    """Holds the attributes that jobs of one sender have in common."""

    def __init__(self, job: Job) -> None:
        """Take them from a job; its id is its own."""
        self._values = {name: job[name] for name in job if name != "id"}
        self._names = dict.fromkeys(self._values)
        self._shared = [
            name for name, value in self._values.items() if isinstance(value, (list, dict))
        ]
        self._shared.remove(ARGS)

    @property
    def unique(self) -> JsonValue:
        """Return the unique policy of the jobs; None if they have none."""
        return self._values.get("unique")

    def job(self, args: Wire) -> Job:
        """Return a new job with these arguments, without an id.

        Middleware may change it in place, and neither this template nor the arguments.
        """
        values: dict[str, JsonValue] = self._values.copy()
        for name in self._shared:
            values[name] = unshared(values[name])
        if isinstance(args, list):
            values[ARGS] = unshared(args)
            return Job.from_parts(self._names.copy(), values)
        del values[ARGS]
        return Job.from_parts({**self._names, ARGS: args}, values)
