"""Asserts which workflows were started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ojs_aws.testing.coroutines import hint_of
from ojs_aws.testing.kit import Kit

if TYPE_CHECKING:
    from ojs_aws.domain.workflows.workflow import Workflow
    from ojs_aws.ports import WorkflowPlan


@dataclass(frozen=True, slots=True)
class StartedWorkflow:
    """Holds a workflow that was started, as it was when the test asked for it.

    :ivar type: ``chain``, ``group``, ``batch`` or ``dag``.
    :ivar state: ``running``, ``completed``, ``failed`` or ``cancelled``.
    :ivar step_types: of each step in its order: the type of its job, or of a workflow within.
    :ivar job_types: of all jobs, also of those in workflows within, without callbacks.
    :ivar callbacks: job types of a batch by ``on_complete``, ``on_success`` and ``on_failure``.
    """

    id: str
    type: str
    name: str
    state: str
    step_types: tuple[str, ...]
    job_types: tuple[str, ...]
    callbacks: Mapping[str, str]

    @property
    def step_count(self) -> int:
        """Return the number of steps."""
        return len(self.step_types)


class WorkflowAssertions(Kit):
    """Asserts which workflows were started."""

    def assert_workflow_created(
        self,
        type: str,  # noqa: A002 - the specification's name
        /,
        *,
        step_count: int | None = None,
        step_types: Sequence[str] | None = None,
        name: str | None = None,
        count: int | None = None,
    ) -> list[StartedWorkflow]:
        """Assert that a workflow was started.

        Example::

            ojs.assert_workflow_created("chain", step_types=["data.fetch", "data.load"], count=1)

        :param type: ``chain``, ``group``, ``batch`` or ``dag``.
        :param step_count: the number of its steps, without callbacks.
        :param step_types: the job types of its steps; a workflow within is called by its own type.
        :param count: how many there must be; default: one or more.
        :returns: the workflows that match, in the order in which they were started.
        :raises AssertionError: there is none, or another number.
        """
        __tracebackhide__ = True
        expected = {
            "type": type,
            "step_count": step_count,
            "step_types": None if step_types is None else tuple(step_types),
            "name": name,
        }
        wanted = {key: value for key, value in expected.items() if value is not None}
        found = self.all_workflows()
        matching = [each for each in found if not _differences(wanted, each)]
        if len(matching) == count or (count is None and matching):
            return matching
        shown = ", ".join(f"{key}={value!r}" for key, value in wanted.items())
        expected_count = "a workflow" if count is None else f"{count} workflows"
        lines = [f"Expected {expected_count} with {shown}, and found {len(matching)}."]
        lines += ["", "Started were:"] if found else ["No workflow was started."]
        for each in sorted(found, key=lambda each: len(_differences(wanted, each))):
            lines.append(f"  {each.type} {each.id} {each.name!r} ({each.state})")
            lines += [f"      {line}" for line in _differences(wanted, each)]
        raise AssertionError("\n".join(lines) + hint_of(self._unawaited))

    def all_workflows(self) -> list[StartedWorkflow]:
        """Return the workflows that were started, in their order, as they are now."""
        return [self._started(*each) for each in self._backend.workflows()]

    def _started(self, workflow: Workflow, plan: WorkflowPlan) -> StartedWorkflow:
        steps = plan.graph.steps
        own = [steps[index] for index in plan.graph.members]
        callbacks = [each for each in steps if each.is_callback and each.parent == 0]
        return StartedWorkflow(
            id=workflow.id,
            type=str(workflow.kind),
            name=workflow.name,
            state=str(workflow.state),
            step_types=tuple(each.type or str(each.kind) for each in own),
            job_types=tuple(steps[index].type for index in plan.graph.counted),
            callbacks={str(each.trigger): each.type for each in callbacks},
        )


def _differences(expected: Mapping[str, Any], found: StartedWorkflow) -> list[str]:
    return [
        f"{key}: expected {value!r}, is {getattr(found, key)!r}"
        for key, value in expected.items()
        if not value == getattr(found, key)  # noqa: SIM201 - ANY is on the left
    ]
