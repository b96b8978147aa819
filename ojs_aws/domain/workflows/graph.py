"""Holds a workflow as one graph of steps, whatever its form (ojs-workflows, 4 to 6, 10).

A step is a job or a composite of further steps. Among the steps of one composite some wait for
others: in a chain each for the one before, in a DAG for those it names, the callbacks of a batch
for all its jobs. Nothing else is known here, so one algorithm advances every form.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant

ROOT: Final = 0


class Kind(StrEnum):
    """Names what a step is."""

    JOB = "job"
    CHAIN = "chain"
    GROUP = "group"
    BATCH = "batch"
    DAG = "dag"


class Trigger(StrEnum):
    """Says when a step begins, by how the steps before it ended."""

    SUCCESS = "on_success"
    """All completed; never if one did not."""
    COMPLETE = "on_complete"
    """All ended, one way or the other."""
    FAILURE = "on_failure"
    """All ended, and one at least not well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Describes one step.

    :ivar parent: index of the composite that it belongs to; -1 for the workflow itself.
    :ivar key: what its result is called among those of its siblings: its place, or its id.
    :ivar name: the id or name that the client gave it, or empty.
    :ivar label: the name that the client gave it, beside an id or alone; or empty.
    :ivar type: of a job: the job's type.
    :ivar waits_for: indexes of the siblings that must have ended before it begins.
    :ivar is_callback: it reports the outcome of the others, and is no part of it.
    """

    kind: Kind
    parent: int
    key: str
    name: str = ""
    label: str = ""
    type: str = ""
    waits_for: tuple[int, ...] = ()
    trigger: Trigger = Trigger.SUCCESS
    is_callback: bool = False


@dataclass(frozen=True)
class Graph:
    """Holds the steps by index: the workflow first, each composite before its parts."""

    steps: tuple[Step, ...]

    @property
    def kind(self) -> Kind:
        """Return the kind of the workflow itself."""
        return self.steps[ROOT].kind

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Return the parts of each step, in the order they were written in."""
        parts: list[list[int]] = [[] for _ in self.steps]
        for index, step in enumerate(self.steps[1:], 1):
            parts[step.parent].append(index)
        return tuple(map(tuple, parts))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Return of each step the index behind it and all that it contains."""
        ends = [index + 1 for index in range(len(self.steps))]
        for index in range(len(self.steps) - 1, ROOT, -1):
            parent = self.steps[index].parent
            ends[parent] = max(ends[parent], ends[index])
        return tuple(ends)

    @cached_property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Return the parts of each step, each after those that it waits for."""
        return tuple(self._sorted(parts) for parts in self.parts)

    @cached_property
    def jobs(self) -> tuple[int, ...]:
        """Return the steps that are jobs, callbacks included."""
        return tuple(i for i, step in enumerate(self.steps) if step.kind is Kind.JOB)

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Return the jobs that the workflow's counters count: all but callbacks."""
        return tuple(index for index in self.jobs if not self.steps[index].is_callback)

    @cached_property
    def members(self) -> tuple[int, ...]:
        """Return the workflow's own steps, without callbacks."""
        return tuple(i for i in self.parts[ROOT] if not self.steps[i].is_callback)

    def path(self, index: int) -> str:
        """Return a step's place as a name for people: ``2.0.on_success``, or the ids of a DAG."""
        keys: list[str] = []
        while index > ROOT:
            keys.append(self.steps[index].key)
            index = self.steps[index].parent
        return ".".join(reversed(keys))

    def _sorted(self, parts: Sequence[int]) -> tuple[int, ...]:
        if all(before < index for index in parts for before in self.steps[index].waits_for):
            return tuple(parts)
        waiting = {index: len(self.steps[index].waits_for) for index in parts}
        followers: dict[int, list[int]] = {index: [] for index in parts}
        for index in parts:
            for before in self.steps[index].waits_for:
                followers[before].append(index)
        order = [index for index in parts if not waiting[index]]
        for index in order:  # grows while it is walked
            for follower in followers[index]:
                waiting[follower] -= 1
                if not waiting[follower]:
                    order.append(follower)
        return tuple(order)


_ALL: Final = "*"
"""Stands for all siblings that are no callbacks: a batch may have thousands."""


def dump_graph(graph: Graph) -> str:
    """Return a graph as JSON text to store."""
    rows = [
        [
            step.kind,
            step.parent,
            step.key,
            step.name,
            step.type,
            _ALL if step.is_callback and _waits_for_all(graph, step) else [*step.waits_for],
            step.trigger,
            step.is_callback,
            *([step.label] if step.label else ()),
        ]
        for step in graph.steps
    ]
    return json.dumps(rows, separators=(",", ":"))


def _waits_for_all(graph: Graph, step: Step) -> bool:
    return step.waits_for == _others(graph.steps, graph.parts[step.parent])


def _others(steps: Sequence[Step], parts: Sequence[int]) -> tuple[int, ...]:
    return tuple(index for index in parts if not steps[index].is_callback)


def load_graph(text: str) -> Graph:
    """Read the text that :func:`dump_graph` wrote."""
    rows = json.loads(text)
    steps = [
        Step(
            kind=Kind(kind),
            parent=parent,
            key=key,
            name=name,
            label=label[0] if label else "",
            type=type_,
            waits_for=() if waits_for == _ALL else tuple(waits_for),
            trigger=Trigger(trigger),
            is_callback=is_callback,
        )
        for kind, parent, key, name, type_, waits_for, trigger, is_callback, *label in rows
    ]
    bare = Graph(tuple(steps))
    for index, row in enumerate(rows):
        if row[5] == _ALL:
            others = _others(steps, bare.parts[steps[index].parent])
            steps[index] = replace(steps[index], waits_for=others)
    return Graph(tuple(steps))


def job_id_of(workflow_id: str, created_at: Instant, index: int) -> str:
    """Return the id of a step's job: a UUIDv7 of the workflow's time, always the same.

    Fixed with the workflow, so that whatever enqueues the job, and however often, means this one.
    The time of creation keeps the jobs of two workflows with the same id apart.
    """
    digest = hashlib.sha256(f"{workflow_id}\n{created_at}\n{index}".encode()).hexdigest()
    variant = "89ab"[int(digest[15], 16) & 3]
    at = f"{created_at & (1 << 48) - 1:012x}"
    return f"{at[:8]}-{at[8:]}-7{digest[:3]}-{variant}{digest[3:6]}-{digest[16:28]}"


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """Holds the part of a workflow that never changes.

    :ivar envelopes: of its jobs as the enqueue middleware left them, by the index of their step.
    """

    graph: Graph
    envelopes: Mapping[int, RawJson]
