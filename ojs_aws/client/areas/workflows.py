"""Workflows, as the client starts and looks after them (ojs-workflows, section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.client.areas.area import Area
from ojs_aws.client.timer import Waiting, wait_s
from ojs_aws.client.transports.requests import (
    Values,
    entry_of,
    next_cursor,
    objects_in,
    unwrapped,
)
from ojs_aws.domain.errors import ConflictError, JsonValue, OjsError
from ojs_aws.domain.jobs.attributes import Duration

if TYPE_CHECKING:
    from ojs_aws.domain.json_text import RawJson


_PARTS: Final = ("steps", "jobs", "callbacks")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStatus:
    """A workflow as it was when it was read.

    :ivar state: ``running``, ``completed``, ``failed`` or ``cancelled``.
    :ivar steps: its own steps in order, with their states, job ids and results; empty in a list.
    :ivar callbacks: of a batch, likewise, by their names.
    :ivar metadata: times, counters, and what went wrong.
    :ivar described: everything that the backend says of it.
    """

    id: str
    type: str
    name: str
    state: str
    steps: Sequence[Mapping[str, JsonValue]] = ()
    callbacks: Mapping[str, JsonValue] = field(default_factory=dict)
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)

    @property
    def is_terminal(self) -> bool:
        """Return True if it has ended."""
        return self.state in {"completed", "failed", "cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowList:
    """A page of workflows, the newest first. ``cursor`` is empty on the last page."""

    workflows: Sequence[WorkflowStatus]
    cursor: str = ""


class WorkflowFailedError(Exception):
    """Raised when the workflow that was waited for did not complete.

    :ivar workflow: as it ended.
    """

    def __init__(self, workflow: WorkflowStatus) -> None:
        """Describe how the workflow ended."""
        self.workflow = workflow
        super().__init__(
            f"Workflow {workflow.id} ({workflow.type}) {workflow.state}{_reason(workflow)}"
        )


def _reason(workflow: WorkflowStatus) -> str:
    """Return which step failed first and why, as far as the answer says it; or empty."""
    errors = workflow.metadata.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    if not isinstance(first, dict):
        return ""
    job_id, name = first.get("job_id"), first.get("step_id")
    step = _step_of(workflow.steps, job_id) or {}
    error = step.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    known = [each for each in (step.get("type"), f"job {job_id}" if job_id else None) if each]
    at = "" if name is None else f" at step {name}"
    about = f" ({', '.join(map(str, known))})" if known else ""
    return f"{at}{about}: {kind or first.get('code')}: {first.get('message')}"


def _step_of(steps: Sequence[object], job_id: JsonValue) -> Mapping[str, JsonValue] | None:
    """Return the step of a job, also in a workflow within a workflow."""
    for step in steps:
        if not isinstance(step, Mapping):
            continue
        if job_id is not None and step.get("job_id") == job_id:
            return step
        parts = step.get("steps", step.get("jobs"))
        if isinstance(parts, list) and (found := _step_of(parts, job_id)) is not None:
            return found
    return None


class WorkflowWaitTimeoutError(TimeoutError):
    """Raised when the workflow had not ended in time; it may still do so.

    :ivar workflow: as last seen.
    """

    def __init__(self, workflow: WorkflowStatus, timeout_s: float) -> None:
        """Describe the workflow as last seen."""
        self.workflow = workflow
        super().__init__(f"Workflow {workflow.id} is still running after {timeout_s:g} s.")


class WorkflowOperations(Area):
    """Looks after workflows; every method raises the errors of ``ojs_aws.domain.errors``."""

    async def create(self, body: RawJson) -> WorkflowStatus:
        """Send a workflow as it is; ``Client.workflow`` runs the middleware first."""
        return status_of((await self._ask("create_workflow", body=body)).values)

    async def get(self, workflow_id: str) -> WorkflowStatus:
        """Read a workflow with all its steps; one request for each 1,000 of them.

        :raises NotFoundError: there is none.
        """
        return status_of(await self._whole(await self._read(workflow_id)))

    async def _read(self, workflow_id: str, offset: int = 0) -> dict[str, JsonValue]:
        """Read a workflow with some of its steps."""
        query = {"offset": str(offset)} if offset else {}
        answer = await self._ask("get_workflow", query=query, workflow_id=workflow_id)
        return {**unwrapped(answer.values, "workflow")}

    async def _whole(self, workflow: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a workflow with the steps that were not read yet."""
        offset, behind = 0, _behind(workflow.pop("pagination", None))
        while behind > offset:
            more = await self._read(str(workflow["id"]), behind)
            offset, behind = behind, _behind(more.pop("pagination", None))
            append_steps(workflow, more)
        return workflow

    async def list(self, *, state: str = "", limit: int = 50, cursor: str = "") -> WorkflowList:
        """Read a page of workflows without their steps, the newest first.

        :param state: only those in this state.
        """
        query = {"limit": str(limit), "state": state, "cursor": cursor}
        values = (await self._ask("list_workflows", query=query)).values
        return WorkflowList(
            workflows=[status_of(each) for each in objects_in(values, "workflows")],
            cursor=next_cursor(values),
        )

    async def cancel(self, workflow_id: str) -> WorkflowStatus:
        """Cancel a workflow; jobs that workers execute may end. One that is cancelled stays so.

        :raises NotFoundError: there is none.
        :raises ConflictError: it has completed or failed.
        """
        try:
            await self._ask("cancel_workflow", workflow_id=workflow_id)
        except ConflictError:
            status = await self.get(workflow_id)
            if status.state != "cancelled":
                raise
            return status
        return await self.get(workflow_id)

    async def wait(
        self,
        workflow_id: str,
        *,
        timeout_s: float | None = 60.0,
        poll_s: float = 0.2,
        timeout: Duration | None = None,
    ) -> WorkflowStatus:
        """Wait until a workflow has completed.

        :param timeout_s: seconds to wait at most; None waits as long as it takes.
        :param poll_s: seconds between the first two requests; the interval grows up to 5 s.
        :param timeout: instead of ``timeout_s``, a duration: ``"30s"``, ``"5m"`` or a timedelta.
        :raises WorkflowFailedError: it failed or was cancelled; the error says why.
        :raises WorkflowWaitTimeoutError: it has not ended in time.
        """
        waiting = Waiting(self._timer, wait_s(timeout, timeout_s), poll_s)
        while True:
            found = await self._read(workflow_id)
            status = status_of(found)
            if status.is_terminal:
                status = status_of(await self._whole(found))
            if status.state == "completed":
                return status
            if status.is_terminal:
                raise WorkflowFailedError(status)
            if not await waiting.pause():
                raise WorkflowWaitTimeoutError(status, waiting.timeout_s)


def _behind(page: JsonValue) -> int:
    """Return how many steps to skip for the next page; 0 if there is none."""
    if not isinstance(page, dict) or page.get("has_more") is not True:
        return 0
    offset, limit = page.get("offset"), page.get("limit")
    return offset + limit if isinstance(offset, int) and isinstance(limit, int) else 0


def append_steps(workflow: dict[str, JsonValue], more: Values) -> None:
    """Append the steps of a following page to those of a workflow.

    A workflow within a workflow of which the page before shows the first steps goes on in this one.
    """
    for name in ("steps", "jobs"):
        steps, others = workflow.get(name), more.get(name)
        if not isinstance(others, list):
            continue
        if not isinstance(steps, list):
            workflow[name] = others
            continue
        last, first = (steps or [None])[-1], (others or [None])[0]
        if isinstance(last, dict) and isinstance(first, dict) and _is_continued(last, first):
            append_steps(last, first)
            others = others[1:]
        workflow[name] = [*steps, *others]
    callbacks, others = workflow.get("callbacks"), more.get("callbacks")
    if isinstance(others, dict):
        workflow["callbacks"] = {**(callbacks if isinstance(callbacks, dict) else {}), **others}


def _is_continued(last: Values, first: Values) -> bool:
    """Return whether two steps are the same workflow within a workflow."""
    are_composites = not last.keys().isdisjoint(_PARTS) and not first.keys().isdisjoint(_PARTS)
    return are_composites and all(last.get(name) == first.get(name) for name in ("id", "index"))


def status_of(values: Values) -> WorkflowStatus:
    """Return the workflow of an answer, wrapped or flat.

    :raises OjsError: the answer holds none.
    """
    described = unwrapped(values, "workflow")
    if "id" not in described:
        raise OjsError("The answer holds no workflow.")
    steps = objects_in(described, "steps" if "steps" in described else "jobs")
    return entry_of(WorkflowStatus, described, id=str(described["id"]), steps=steps)
