"""Reads a workflow in any form into one graph and refuses invalid ones.

The forms are chain, group and batch (ojs-workflows, sections 4 to 6), nested in one another
(section 10), and the steps with ``depends_on`` of the HTTP binding (section 14.1). All faults that
are found are reported together, each with its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    Member,
    assemble,
    json_type,
    parse_array,
    parse_object,
)
from ojs_aws.domain.workflows.dependencies import (
    CALLBACK_TYPE,
    Dependencies,
    Faults,
    cycle_among,
    text_of,
)
from ojs_aws.domain.workflows.graph import Graph, Kind, Step, Trigger

MAX_JOBS: Final = 10_000
"""Without the callbacks of the last batch."""
MAX_STEPS: Final = 20_000
"""Jobs and nested workflows together."""
MAX_NESTING: Final = 10
"""Levels of workflows, the outermost one counting (section 10.2 asks for 3)."""

ID_PATTERN: Final = "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
"""Ids that clients may give; the specification's examples have a prefix before the UUID."""

_ID: Final = re.compile(ID_PATTERN, re.ASCII)

ReadJob = Callable[[Mapping[str, Member]], Job]
"""Reads a job in any form that PUSH takes."""

_PARTS: Final = {Kind.CHAIN: "steps", Kind.GROUP: "jobs", Kind.BATCH: "jobs", Kind.DAG: "steps"}
_OWN: Final = frozenset({"id", "name", "depends_on"})
"""What a step says of itself; the rest is its job's."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Holds a workflow as the client asked for it.

    :ivar id: empty when the client gave none.
    :ivar jobs: the envelopes of its jobs by the index of their step, without ids.
    :ivar paths: where each step stands in the request.
    """

    graph: Graph
    jobs: Mapping[int, Job]
    paths: Mapping[int, str]
    id: str = ""
    name: str = ""


def read_definition(members: Mapping[str, Member], read_job: ReadJob) -> Definition:
    """Read and check a workflow.

    :raises InvalidWorkflowError: it cannot be followed; ``validation_errors`` in the details hold
        each fault with its path.
    """
    reader = _Reader(read_job)
    kind = reader.kind_of(members, "$")
    if kind is None:
        raise reader.faults.refusal()
    workflow_id = reader.own_id(members)
    reader.composite(members, kind, "$", _Context(-1, "", 1, {}))
    graph = reader.graph()
    return Definition(graph, reader.jobs, reader.paths, workflow_id, graph.steps[0].name)


@dataclass(frozen=True, slots=True)
class _Context:
    """Says where a step stands: in which composite, how deep, with which default options."""

    parent: int
    key: str
    depth: int
    options: Mapping[str, Member]


@dataclass(slots=True)
class _Reader:
    """Holds the working state while one workflow is read."""

    read_job: ReadJob
    steps: list[Step] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    dependencies: Dependencies = field(init=False)

    def __post_init__(self) -> None:
        """Let the dependencies change the steps."""
        self.dependencies = Dependencies(self.steps, self.faults)

    def graph(self) -> Graph:
        """Return the graph, if there were no faults."""
        self.faults.check()
        graph = Graph(tuple(self.steps))
        for index, order in enumerate(graph.orders):
            missing = sorted({*graph.parts[index]} - {*order})
            if missing:
                names = [self.steps[each].key for each in cycle_among(graph, missing)]
                at = f"{self.paths[index]}.steps"
                self.faults.note(at, f"the dependencies form a cycle: {' -> '.join(names)}")
        self.faults.check()
        return graph

    # -------------------------------------------------------------------- composites
    def own_id(self, members: Mapping[str, Member]) -> str:
        """Return the id that the client gives the workflow; empty for none."""
        member = members.get("id")
        if member is None or member.value is None or member.value == "":
            return ""
        if isinstance(member.value, str) and _ID.fullmatch(member.value):
            return member.value
        self.faults.note("$.id", "must be letters, digits and ._:- , 1 to 128, the first no ._:-")
        return ""

    def kind_of(self, members: Mapping[str, Member], path: str) -> Kind | None:
        """Return what kind of workflow an object is; None, with a fault, if it says none."""
        member = members.get("type")
        if member is None or member.value is None:
            if "steps" in members:
                return Kind.DAG
            self.faults.note(f"{path}.type", "must be one of chain, group, batch; received nothing")
            return None
        if isinstance(member.value, str):
            if member.value in {*_PARTS, "workflow"}:
                return Kind.DAG if member.value == "workflow" else Kind(member.value)
            received = f"{member.value!r:.80}"
        else:
            received = json_type(member.value)
        self.faults.note(f"{path}.type", f"must be one of chain, group, batch; received {received}")
        return None

    def composite(
        self, members: Mapping[str, Member], kind: Kind, path: str, context: _Context
    ) -> None:
        """Read a workflow and its parts."""
        if context.depth > MAX_NESTING:
            self.faults.note(path, f"workflows may be nested {MAX_NESTING} levels deep at most")
            return
        index = self._add(kind, context, members, path)
        options = {**context.options, **self.faults.object(members, "options", path)}
        if kind is not Kind.BATCH and "callbacks" in members and members["callbacks"].value:
            self.faults.note(f"{path}.callbacks", "only a batch has callbacks")
        field_name = _PARTS[kind]
        items = members.get(field_name)
        at = f"{path}.{field_name}"
        if items is None or not isinstance(items.value, list) or not items.value:
            what = "steps" if field_name == "steps" else "jobs"
            self.faults.note(at, f"{what} array must contain at least one element")
            return
        self._parts(parse_array(items.raw), kind, at, index, context.depth, options)
        if kind is Kind.BATCH:
            self._callbacks(members, path, _Context(index, "", context.depth, options))

    def _parts(
        self,
        items: list[Member],
        kind: Kind,
        at: str,
        parent: int,
        depth: int,
        options: Mapping[str, Member],
    ) -> None:
        read: dict[str, int] = {}
        named: list[tuple[int, Mapping[str, Member], str]] = []
        previous = -1
        for number, item in enumerate(items):
            path = f"{at}[{number}]"
            if not isinstance(item.value, dict):
                self.faults.note(path, f"must be an object; received {json_type(item.value)}")
                continue
            members = parse_object(item.raw, max_depth=ANY_DEPTH)
            own = self._name(members, path)
            key = (own or str(number)) if kind is Kind.DAG else str(number)
            index = len(self.steps)
            self._part(members, path, _Context(parent, key, depth + 1, options))
            if index == len(self.steps):
                continue
            if own in read and (kind is Kind.DAG or text_of(members.get("id"))):
                self.faults.note(f"{path}.id", f"the id '{own}' is used twice")
            read[own or key] = index
            named.append((index, members, path))
            if kind is Kind.CHAIN and previous >= 0:
                self.steps[index] = replace(self.steps[index], waits_for=(previous,))
            previous = index
        self.dependencies.read(kind, named, read)

    def _part(self, members: Mapping[str, Member], path: str, context: _Context) -> None:
        """Read a job or a nested workflow; a nested one has parts and no arguments."""
        type_ = members["type"].value if "type" in members else None
        is_nested = isinstance(type_, str) and type_ in {*_PARTS}
        if is_nested and ("args" not in members or {"steps", "jobs"} & members.keys()):
            self.composite(members, Kind(str(type_)), path, context)
        elif type_ is None and "steps" in members:
            self.composite(members, Kind.DAG, path, context)
        elif len(self.jobs) < MAX_JOBS:
            self._job(members, path, context)
        else:
            raise self.faults.last(path, f"a workflow has at most {MAX_JOBS} jobs")

    # -------------------------------------------------------------------- jobs
    def _job(self, members: Mapping[str, Member], path: str, context: _Context) -> int:
        index = self._add(Kind.JOB, context, members, path)
        envelope = {name: member for name, member in members.items() if name not in _OWN}
        options = {**context.options, **self.faults.object(members, "options", path)}
        options.pop(CALLBACK_TYPE, None)
        envelope.pop("options", None)
        if options:
            raw = assemble({name: member.raw for name, member in options.items()})
            value = {name: member.value for name, member in options.items()}
            envelope["options"] = Member(raw, value)
        try:
            job = self.read_job(envelope)
        except OjsError as problem:
            self.faults.note(path, problem.message)
            return index
        self.jobs[index] = job
        if isinstance(job.get("type"), str):
            self.steps[index] = replace(self.steps[index], type=job.type)
        return index

    def _callbacks(self, members: Mapping[str, Member], path: str, context: _Context) -> None:
        at = f"{path}.callbacks"
        callbacks = self.faults.object(members, "callbacks", path)
        given = {name: each for name, each in callbacks.items() if each.value is not None}
        if not given:
            self.faults.note(at, "must contain at least one of on_complete, on_success, on_failure")
            return
        parent = context.parent
        jobs = tuple(i for i, step in enumerate(self.steps) if step.parent == parent)
        for name, member in given.items():
            if name not in [*Trigger]:
                self.faults.note(
                    f"{at}.{name}", "must be one of on_complete, on_success, on_failure"
                )
            elif not isinstance(member.value, dict):
                received = json_type(member.value)
                self.faults.note(f"{at}.{name}", f"must be a job; received {received}")
            else:
                own = parse_object(member.raw, max_depth=ANY_DEPTH)
                index = self._job(own, f"{at}.{name}", replace(context, key=name))
                self.dependencies.make_callback(index, Trigger(name), jobs)

    # -------------------------------------------------------------------- parts of an object
    def _add(self, kind: Kind, context: _Context, members: Mapping[str, Member], path: str) -> int:
        if len(self.steps) >= MAX_STEPS:
            raise self.faults.last(path, f"a workflow has at most {MAX_STEPS} steps")
        index = len(self.steps)
        name, label = self._name(members, path), self.faults.string(members, "name", path)
        step = Step(kind=kind, parent=context.parent, key=context.key, name=name, label=label)
        self.steps.append(step)
        self.paths[index] = path
        return index

    def _name(self, members: Mapping[str, Member], path: str) -> str:
        """Return a step's id, else its name; for the workflow itself, its name."""
        own = "" if path == "$" else self.faults.string(members, "id", path)
        return own or self.faults.string(members, "name", path)
