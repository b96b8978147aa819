"""Build workflows of typed jobs, whose results have types as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from ojs_aws.client.areas import workflow_parts
from ojs_aws.typed_jobs.calls import Call, JobCall, clients_of, warn_if_unique
from ojs_aws.typed_jobs.clients import Clients, sending_client, sending_sync_client
from ojs_aws.typed_jobs.handles import DEFAULT_TIMEOUT, check_blocking, seconds_of

if TYPE_CHECKING:
    from ojs_aws.client import Client, SyncClient, WorkflowStatus
    from ojs_aws.client.areas.workflow_parts import WorkflowParts
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.errors import JsonValue

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
R1 = TypeVar("R1")
R2 = TypeVar("R2")
R3 = TypeVar("R3")
R4 = TypeVar("R4")
R5 = TypeVar("R5")

Step: TypeAlias = "Mapping[str, JsonValue]"
References: TypeAlias = "dict[str, JsonValue]"
"""Results that are too large to be shown in a workflow, by the ids of their jobs."""

_REFERENCE: Final = "result_ref"


class WorkflowCall(Call[R_co]):
    """Represents a workflow of typed jobs that has not been sent; immutable.

    :func:`chain` and :func:`group` make these. ``client.workflow(call)`` takes one as well.
    """

    __slots__ = ("kind", "name", "parts")

    def __init__(
        self, kind: Literal["chain", "group"], parts: Sequence[Call[Any]], name: str
    ) -> None:
        """Keep the parts.

        :raises ValueError: there is no part.
        :raises TypeError: a part is no call.
        """
        if not parts:
            raise ValueError(f"a {kind} needs at least one call")
        for part in parts:
            if not isinstance(part, Call):
                raise _no_call(kind, part)
            warn_if_unique(part, kind)
        self.kind, self.parts, self.name = kind, tuple(parts), name

    def to_parts(self) -> WorkflowParts:
        """Return the workflow as a client sends it."""
        build = workflow_parts.chain if self.kind == "chain" else workflow_parts.group
        return build(*map(_part, self.parts), name=self.name)

    def calls(self) -> list[JobCall[Any]]:
        """Return the jobs of the workflow, in their order."""
        found: list[JobCall[Any]] = []
        for part in self.parts:
            found += (
                part.calls() if isinstance(part, WorkflowCall) else [cast("JobCall[Any]", part)]
            )
        return found

    async def enqueue(self) -> WorkflowHandle[R_co]:
        """Start the workflow.

        :raises InvalidWorkflowError: the backend cannot follow it; the details say why.
        :raises ValueError: the jobs are not all sent by the same client, or nothing says where
            the server is.
        """
        client = sending_client(self._clients())
        return WorkflowHandle(client, (await client.workflow(self)).id, self)

    def enqueue_sync(self) -> SyncWorkflowHandle[R_co]:
        """Start the workflow from code that is not asynchronous; see :meth:`enqueue`."""
        client = sending_sync_client(self._clients())
        return SyncWorkflowHandle(client, client.workflow(self).id, self)

    def _clients(self) -> Clients:
        return clients_of(self.calls())

    def result_of(self, steps: Sequence[Step], large: References) -> R_co:
        """Return the result of the workflow, by its steps as they ended.

        :param large: results that the steps only refer to.
        :raises WrongValueError: a result does not have the declared type.
        """
        pairs = list(zip(self.parts, steps, strict=True))
        if self.kind == "chain":
            return cast("R_co", _result(*pairs[-1], large))
        return cast("R_co", tuple(_result(part, step, large) for part, step in pairs))

    def wanted(self, steps: Sequence[Step]) -> list[str]:
        """Return the ids of jobs whose results the steps only refer to, and that are needed."""
        pairs = list(zip(self.parts, steps, strict=True))
        found: list[str] = []
        for part, step in pairs[-1:] if self.kind == "chain" else pairs:
            if isinstance(part, WorkflowCall):
                found += part.wanted(_steps_in(step))
            elif _is_reference(step):
                found.append(str(step["job_id"]))
        return found

    def __repr__(self) -> str:
        """Show the kind and the number of jobs."""
        return f"<WorkflowCall {self.kind} of {len(self.calls())} jobs>"


class _AnyWorkflowHandle(Generic[R_co]):
    """Holds what both kinds of handle know of a workflow."""

    def __init__(self, workflow_id: str, call: WorkflowCall[R_co]) -> None:
        self.id = workflow_id
        self._call = call

    def __repr__(self) -> str:
        """Show the id."""
        return f"<{type(self).__name__} {self.id}>"


class WorkflowHandle(_AnyWorkflowHandle[R_co]):
    """Refers to a workflow that was started, and knows the type of its result.

    :ivar id: of the workflow.
    """

    def __init__(self, client: Client, workflow_id: str, call: WorkflowCall[R_co]) -> None:
        """Refer to a workflow of a client's backend."""
        super().__init__(workflow_id, call)
        self._client = client

    async def result(self, *, timeout: str | timedelta | None = DEFAULT_TIMEOUT) -> R_co:
        """Wait until the workflow has completed, and return its result.

        That of a chain is the result of its last step, that of a group a tuple of all results.

        :param timeout: how long to wait: ``"30s"``, ``"5m"``; default: 60 seconds. None waits as
            long as it takes.
        :raises WorkflowFailedError: it failed or was cancelled; the error says why.
        :raises WorkflowWaitTimeoutError: it has not ended in time.
        :raises WrongValueError: a worker returned something of another type.
        """
        wait_s = seconds_of(timeout)
        status = await self._client.workflows.wait(self.id, timeout_s=wait_s)
        wanted = self._call.wanted(status.steps)
        large = {job_id: await self._client.result(job_id) for job_id in wanted}
        return self._call.result_of(status.steps, large)

    async def get(self) -> WorkflowStatus:
        """Read the workflow with its steps."""
        return await self._client.workflows.get(self.id)

    async def cancel(self) -> WorkflowStatus:
        """Cancel it; jobs that workers execute may end."""
        return await self._client.workflows.cancel(self.id)


class SyncWorkflowHandle(_AnyWorkflowHandle[R_co]):
    """Does without ``await`` what :class:`WorkflowHandle` does."""

    def __init__(self, client: SyncClient, workflow_id: str, call: WorkflowCall[R_co]) -> None:
        """Refer to a workflow of a client's backend."""
        super().__init__(workflow_id, call)
        self._client = client

    def result(self, *, timeout: str | timedelta | None = DEFAULT_TIMEOUT) -> R_co:
        """Wait until it has completed, and return its result; see :meth:`WorkflowHandle.result`.

        :raises RuntimeError: an event loop runs here, which it would block.
        """
        check_blocking()
        wait_s = seconds_of(timeout)
        status = self._client.workflows.wait(self.id, timeout_s=wait_s)
        wanted = self._call.wanted(status.steps)
        large = {job_id: self._client.result(job_id) for job_id in wanted}
        return self._call.result_of(status.steps, large)

    def get(self) -> WorkflowStatus:
        """Read the workflow with its steps."""
        return self._client.workflows.get(self.id)

    def cancel(self) -> WorkflowStatus:
        """Cancel it; jobs that workers execute may end."""
        return self._client.workflows.cancel(self.id)


def chain(*steps: *tuple[*tuple[Call[Any], ...], Call[R]], name: str = "") -> WorkflowCall[R]:
    """Build a chain: each call begins when the one before has completed.

    Example::

        flow = chain(send_email.call("a@b.c", order), build_report.call("2024-01-01"))
        handle = await flow.enqueue()
        number = await handle.result()  # what build_report returned

    A step has the results of those before in ``current_job().parent_results``.

    :raises ValueError: there is no call.
    :raises TypeError: a part is no call.
    """
    return WorkflowCall("chain", steps, name)


@overload
def group(one: Call[R1], /, *, name: str = "") -> WorkflowCall[tuple[R1]]: ...
@overload
def group(one: Call[R1], two: Call[R2], /, *, name: str = "") -> WorkflowCall[tuple[R1, R2]]: ...
@overload
def group(
    one: Call[R1], two: Call[R2], three: Call[R3], /, *, name: str = ""
) -> WorkflowCall[tuple[R1, R2, R3]]: ...
@overload
def group(
    one: Call[R1], two: Call[R2], three: Call[R3], four: Call[R4], /, *, name: str = ""
) -> WorkflowCall[tuple[R1, R2, R3, R4]]: ...
@overload
def group(
    one: Call[R1],
    two: Call[R2],
    three: Call[R3],
    four: Call[R4],
    five: Call[R5],
    /,
    *,
    name: str = "",
) -> WorkflowCall[tuple[R1, R2, R3, R4, R5]]: ...
@overload
def group(*calls: Call[R], name: str = "") -> WorkflowCall[tuple[R, ...]]: ...
def group(*calls: Call[Any], name: str = "") -> WorkflowCall[Any]:
    """Build a group: calls side by side. Its result is a tuple of theirs.

    :raises ValueError: there is no call.
    :raises TypeError: a part is no call.
    """
    return WorkflowCall("group", calls, name)


def _no_call(kind: str, part: object) -> TypeError:
    """Return the error for a part that is no call, with what to write."""
    from ojs_aws.domain.envelope import Job
    from ojs_aws.typed_jobs.senders import Sender

    advice = ""
    if isinstance(part, Sender):
        advice = f": write {part.declaration.signature.name.rpartition('.')[2]}.call(...)"
    elif isinstance(part, (Job, workflow_parts.WorkflowParts)):
        advice = f". For Job, use {kind} of ojs_aws.client"
    shown = type(part).__name__
    return TypeError(f"A {kind} takes calls such as send.call(...), not a {shown}{advice}.")


def _part(part: Call[Any]) -> Job | WorkflowParts:
    if isinstance(part, WorkflowCall):
        return part.to_parts()
    call = cast("JobCall[Any]", part)
    job = call.to_job()
    if call.is_unique_by_declaration:
        del job["unique"]  # a duplicate would leave the step without a job
    return job


def _result(part: Call[Any], step: Step, large: References) -> object:
    if isinstance(part, WorkflowCall):
        return part.result_of(_steps_in(step), large)
    job_id = str(step.get("job_id"))
    value = large[job_id] if job_id in large else step.get("result")
    return cast("JobCall[Any]", part).declaration.decode_result(value)


def _is_reference(step: Step) -> bool:
    result = step.get("result")
    return isinstance(result, dict) and _REFERENCE in result


def _steps_in(step: Step) -> list[Step]:
    """Return the steps of a workflow within a workflow."""
    listed = step.get("steps", step.get("jobs"))
    steps = listed if isinstance(listed, list) else []
    return [each for each in steps if isinstance(each, dict)]
