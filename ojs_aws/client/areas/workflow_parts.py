"""Build workflows: chains, groups, batches and steps with dependencies, also nested."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, TypeVar

from ojs_aws.client.insertion import AsJob, Insertion
from ojs_aws.client.results import Stored
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import BOUND_TO, Job
from ojs_aws.domain.json_text import RawJson, assemble, assemble_array, encode

S = TypeVar("S")

Part: TypeAlias = "Job | WorkflowParts"
"""What a workflow is made of: jobs, and workflows in turn."""

GivenPart: TypeAlias = "Part | AsJob | AsWorkflow"
"""What callers give: calls of typed jobs as well."""


class AsWorkflow(Protocol):
    """Declares what a client takes in place of a workflow: a chain or group of typed jobs."""

    def to_parts(self) -> WorkflowParts:
        """Return the workflow, made of new jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowParts:
    """A workflow that has not been sent. Made by :func:`chain` and the others; immutable.

    :ivar type: ``chain``, ``group``, ``batch`` or ``dag``.
    :ivar callbacks: of a batch, by ``on_complete``, ``on_success`` and ``on_failure``.
    :ivar ids: of the steps of a DAG, in the order of its parts.
    :ivar depends_on: of a DAG, by the ids.
    """

    type: str
    parts: tuple[Part, ...]
    name: str = ""
    callbacks: Mapping[str, Job] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    depends_on: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def jobs(self) -> Iterator[Job]:
        """Yield all jobs, in the order in which they were given."""
        for part in self.parts:
            if isinstance(part, Job):
                yield part
            else:
                yield from part.jobs()
        yield from self.callbacks.values()

    def with_jobs(self, jobs: Iterator[Job]) -> WorkflowParts:
        """Return the same workflow with other jobs, in that order."""
        parts = tuple(
            next(jobs) if isinstance(part, Job) else part.with_jobs(jobs) for part in self.parts
        )
        callbacks = {name: next(jobs) for name in self.callbacks}
        return replace(self, parts=parts, callbacks=callbacks)

    def body(self, workflow_id: str = "") -> RawJson:
        """Return the request that creates it."""
        members: dict[str, RawJson] = {"type": encode(self.type)}
        if workflow_id:
            members["id"] = encode(workflow_id)
        if self.name:
            members["name"] = encode(self.name)
        steps = [self._step(place, part) for place, part in enumerate(self.parts)]
        field_name = "steps" if self.type in {"chain", "dag"} else "jobs"
        members[field_name] = assemble_array(steps)
        if self.callbacks:
            callbacks = {name: assemble(_members(job)) for name, job in self.callbacks.items()}
            members["callbacks"] = assemble(callbacks)
        return assemble(members)

    def _step(self, place: int, part: Part) -> RawJson:
        if not self.ids:
            return assemble(_members(part)) if isinstance(part, Job) else part.body()
        name = self.ids[place]
        members = _members(part) if isinstance(part, Job) else {}
        own = {
            "id": encode(name),
            "depends_on": encode([*self.depends_on.get(name, ())]),
        }
        if isinstance(part, Job):
            return assemble(own | members)
        inner = part.body()
        return RawJson(assemble(own)[:-1] + "," + inner[1:])


def parts_of(given: WorkflowParts | AsWorkflow) -> WorkflowParts:
    """Return the workflow that a caller gives as it is, or as a chain or group of typed jobs.

    :raises TypeError: it is neither.
    """
    if isinstance(given, WorkflowParts):
        return given
    to_parts = getattr(given, "to_parts", None)
    if to_parts is None:
        shown = type(given).__name__
        raise TypeError(f"Expected a workflow, such as chain(Job(...)), not {shown}.")
    made: WorkflowParts = to_parts()
    return made


def chain(*steps: GivenPart, name: str = "") -> WorkflowParts:
    """Build a chain: steps one after the other, each with the results of those before (section 4).

    Example::

        chain(Job("order.check", [17]), group(Job("pdf.make"), Job("csv.make")), Job("mail.send"))

    :raises ValueError: there is no step.
    :raises TypeError: a part is no job and no workflow.
    """
    return WorkflowParts(type="chain", parts=_some(steps), name=name)


def group(*jobs: GivenPart, name: str = "") -> WorkflowParts:
    """Build a group: jobs side by side (section 5).

    :raises ValueError: there is no job.
    :raises TypeError: a part is no job and no workflow.
    """
    return WorkflowParts(type="group", parts=_some(jobs), name=name)


def batch(
    *jobs: GivenPart,
    on_complete: Job | AsJob | None = None,
    on_success: Job | AsJob | None = None,
    on_failure: Job | AsJob | None = None,
    name: str = "",
) -> WorkflowParts:
    """Build a batch: jobs side by side, and callbacks when all have ended (section 6).

    :param on_complete: enqueued in any case.
    :param on_success: enqueued if all jobs completed.
    :param on_failure: enqueued if one did not.
    :raises ValueError: there is no job, or no callback.
    :raises TypeError: a part is no job and no workflow.
    """
    given = {"on_complete": on_complete, "on_success": on_success, "on_failure": on_failure}
    callbacks = {trigger: _callback(job) for trigger, job in given.items() if job is not None}
    if not callbacks:
        raise ValueError("a batch needs on_complete, on_success or on_failure; else use group()")
    return WorkflowParts(type="batch", parts=_some(jobs), name=name, callbacks=callbacks)


def dag(
    steps: Mapping[str, GivenPart],
    depends_on: Mapping[str, Sequence[str]] | None = None,
    *,
    name: str = "",
) -> WorkflowParts:
    """Build a graph: each step begins when those that it depends on have completed.

    :param steps: by their ids.
    :param depends_on: ids by the id of the step that waits for them.
    :raises ValueError: there is no step, or an id that is no step's.
    :raises TypeError: a step that is no job or workflow, or ids that are no list.
    """
    if not isinstance(steps, Mapping):
        raise TypeError('The steps of dag() must be an object such as {"load": Job("data.load")}.')
    depends = {name: _ids(name, others) for name, others in (depends_on or {}).items()}
    named = {*depends, *(other for others in depends.values() for other in others)}
    if unknown := sorted(named - steps.keys()):
        raise ValueError(f"there is no step {unknown[0]!r}")
    return WorkflowParts(
        type="dag",
        parts=_some(tuple(steps.values())),
        name=name,
        ids=tuple(steps),
        depends_on=depends,
    )


def _ids(name: str, others: Sequence[str]) -> Sequence[str]:
    """Check that a step depends on a list of ids, and not on the letters of one."""
    if isinstance(others, str):
        raise TypeError(f"depends_on[{name!r}] must be a list: did you mean [{others!r}]?")
    return others


def _some(parts: tuple[GivenPart, ...]) -> tuple[Part, ...]:
    """Return the parts; there is at least one, and each of them is one."""
    if not parts:
        raise ValueError("a workflow needs at least one step")
    return tuple(map(_part, parts))


def _part(given: GivenPart) -> Part:
    """Return a part; calls of typed jobs make theirs."""
    part: object = given
    for make in ("to_job", "to_parts"):
        if hasattr(part, make):
            part = getattr(part, make)()
    if isinstance(part, (Job, WorkflowParts)):
        return part
    raise _no_part(part, "a Job or a workflow")


def _callback(given: Job | AsJob) -> Job:
    part: object = given.to_job() if hasattr(given, "to_job") else given
    if isinstance(part, Job):
        return part
    raise _no_part(part, "a Job")


def _no_part(part: object, expected: str) -> TypeError:
    hint = ""
    if isinstance(part, str):
        hint = f": did you mean Job({part!r})?"
    elif isinstance(part, (list, tuple)):
        hint = ": give the parts one by one, such as chain(*parts)"
    return TypeError(f"A part of a workflow must be {expected}, not a {type(part).__name__}{hint}")


def _members(job: Job) -> dict[str, RawJson]:
    """Return a job's attributes without its id, which the workflow gives it."""
    return {name: raw for name, raw in job.members().items() if name != "id"}


async def start(
    parts: WorkflowParts,
    workflow_id: str,
    insertion: Insertion,
    create: Callable[[RawJson], Awaitable[S]],
) -> S:
    """Bring the jobs of a workflow through the middleware, create it, and return the answer.

    :raises BatchRejectedError: the middleware dropped or failed a job; nothing was started.
    :raises InvalidRequestError: the middleware bound the arguments of a job to its id, which is not
        the one that the backend gives it.
    """
    prepared = insertion.prepared_all(parts.jobs())
    answers: list[S] = []

    async def store_all(jobs: Sequence[Job]) -> list[Stored]:
        _check_unbound(jobs)
        finals = {job.id: job for job in jobs}
        body = parts.with_jobs(iter([finals[job.id] for job in prepared])).body(workflow_id)
        answers.append(await create(body))
        return [Stored(job) for job in jobs]

    await insertion.many(prepared, store_all, is_atomic=True)
    return answers[0]


def _check_unbound(jobs: Iterable[Job]) -> None:
    for job in jobs:
        if job.mentions("meta", BOUND_TO) and job.meta.get(BOUND_TO) == "id":
            message = "A job of a workflow gets another id: its arguments cannot be bound to this."
            raise field_error(f"meta.{BOUND_TO}", message, "Bind them to the type.")
