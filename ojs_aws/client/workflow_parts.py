"""Building workflows: chains, groups, batches and steps with dependencies, in one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import RawJson, assemble, assemble_array, encode

Part: TypeAlias = "Job | WorkflowParts"
"""What a workflow is made of: jobs, and workflows in turn."""


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
        """All jobs, in the order they stand in."""
        for part in self.parts:
            if isinstance(part, Job):
                yield part
            else:
                yield from part.jobs()
        yield from self.callbacks.values()

    def with_jobs(self, jobs: Iterator[Job]) -> WorkflowParts:
        """The same workflow with other jobs, taken in that order."""
        parts = tuple(
            next(jobs) if isinstance(part, Job) else part.with_jobs(jobs) for part in self.parts
        )
        callbacks = {name: next(jobs) for name in self.callbacks}
        return replace(self, parts=parts, callbacks=callbacks)

    def body(self, workflow_id: str = "") -> RawJson:
        """The request that creates it."""
        members: dict[str, RawJson] = {"type": encode(self.type)}
        if workflow_id:
            members["id"] = encode(workflow_id)
        if self.name:
            members["name"] = encode(self.name)
        steps = [self._step(place, part) for place, part in enumerate(self.parts)]
        field_name = "steps" if self.type in {"chain", "dag"} else "jobs"
        members[field_name] = assemble_array(steps)
        if self.callbacks:
            told = {name: assemble(_members(job)) for name, job in self.callbacks.items()}
            members["callbacks"] = assemble(told)
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


def chain(*steps: Part, name: str = "") -> WorkflowParts:
    """Steps one after the other; each is given the results of those before (section 4).

    Example::

        chain(Job("order.check", [17]), group(Job("pdf.make"), Job("csv.make")), Job("mail.send"))

    :raises ValueError: there is no step.
    """
    return WorkflowParts(type="chain", parts=_some(steps), name=name)


def group(*jobs: Part, name: str = "") -> WorkflowParts:
    """Jobs side by side (section 5).

    :raises ValueError: there is no job.
    """
    return WorkflowParts(type="group", parts=_some(jobs), name=name)


def batch(
    *jobs: Part,
    on_complete: Job | None = None,
    on_success: Job | None = None,
    on_failure: Job | None = None,
    name: str = "",
) -> WorkflowParts:
    """Jobs side by side, and callbacks when all have ended (section 6).

    :param on_complete: enqueued in any case.
    :param on_success: enqueued if all jobs completed.
    :param on_failure: enqueued if one did not.
    :raises ValueError: there is no job, or no callback.
    """
    given = {"on_complete": on_complete, "on_success": on_success, "on_failure": on_failure}
    callbacks = {trigger: job for trigger, job in given.items() if job is not None}
    if not callbacks:
        raise ValueError("a batch needs on_complete, on_success or on_failure; else use group()")
    return WorkflowParts(type="batch", parts=_some(jobs), name=name, callbacks=callbacks)


def dag(
    steps: Mapping[str, Part],
    depends_on: Mapping[str, Sequence[str]] | None = None,
    *,
    name: str = "",
) -> WorkflowParts:
    """Steps that each begin when those that they depend on have completed.

    :param steps: by their ids.
    :param depends_on: ids by the id of the step that waits for them.
    :raises ValueError: there is no step, or an id that is no step's.
    """
    depends = dict(depends_on or {})
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


def _some(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    if not parts:
        raise ValueError("a workflow needs at least one step")
    return parts


def _members(job: Job) -> dict[str, RawJson]:
    """A job's attributes; its id belongs to the workflow, which gives it one."""
    return {name: raw for name, raw in job.members().items() if name != "id"}
