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
from ojs_aws.domain.errors import InvalidWorkflowError, JsonValue, OjsError
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    Member,
    assemble,
    json_type,
    parse_array,
    parse_object,
)
from ojs_aws.domain.workflows.graph import Graph, Kind, Step, Trigger

MAX_JOBS: Final = 10_000
"""Without the callbacks of the last batch."""
MAX_STEPS: Final = 20_000
"""Jobs and nested workflows together."""
MAX_NESTING: Final = 10
"""Levels of workflows, the outermost one counting (section 10.2 asks for 3)."""
MAX_DEPENDENCIES: Final = 20_000
MAX_NAME: Final = 255
MAX_FAULTS: Final = 20

ID_PATTERN: Final = "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
"""Ids that clients may give; the specification's examples have a prefix before the UUID."""

_ID: Final = re.compile(ID_PATTERN, re.ASCII)

ReadJob = Callable[[Mapping[str, Member]], Job]
"""Reads a job in any form that PUSH takes."""

_PARTS: Final = {Kind.CHAIN: "steps", Kind.GROUP: "jobs", Kind.BATCH: "jobs", Kind.DAG: "steps"}
_OWN: Final = frozenset({"id", "name", "depends_on"})
"""What a step says of itself; the rest is its job's."""
_CALLBACK_TYPE: Final = "callback_type"
_TRIGGERS: Final[Mapping[str, Trigger]] = {
    spelled: trigger
    for trigger in Trigger
    for spelled in (trigger, trigger.replace("_", "-"), trigger.removeprefix("on_"))
}


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
        raise reader.refusal()
    workflow_id = reader.own_id(members)
    reader.composite(members, kind, "$", _Place(-1, "", 1, {}))
    graph = reader.graph()
    return Definition(graph, reader.jobs, reader.paths, workflow_id, graph.steps[0].name)


def refusal(faults: list[tuple[str, str]]) -> InvalidWorkflowError:
    """Return the error that lists faults, each with its path and what is wrong there."""
    path, message = faults[0]
    errors: list[JsonValue] = [{"path": at, "message": what} for at, what in faults]
    return InvalidWorkflowError(
        f"Workflow validation failed: {path}: {message}",
        details={"field": path, "reason": message, "validation_errors": errors},
        hint="Nothing was stored. Correct the workflow and send it again.",
    )


def _text(member: Member | None) -> str:
    return member.value if member is not None and isinstance(member.value, str) else ""


@dataclass(frozen=True, slots=True)
class _Place:
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
    faults: list[tuple[str, str]] = field(default_factory=list)
    dependencies: int = 0

    def fault(self, path: str, message: str) -> None:
        """Note a fault and go on; faults beyond a maximum are ignored."""
        self.faults.append((path, message))
        if len(self.faults) >= MAX_FAULTS:
            raise self.refusal()

    def refusal(self) -> InvalidWorkflowError:
        return refusal(self.faults)

    def graph(self) -> Graph:
        """Return the graph, if there were no faults."""
        if self.faults:
            raise self.refusal()
        graph = Graph(tuple(self.steps))
        for index, order in enumerate(graph.orders):
            missing = sorted({*graph.parts[index]} - {*order})
            if missing:
                names = [self.steps[each].key for each in _cycle(graph, missing)]
                at = f"{self.paths[index]}.steps"
                self.fault(at, f"the dependencies form a cycle: {' -> '.join(names)}")
        if self.faults:
            raise self.refusal()
        return graph

    # -------------------------------------------------------------------- composites
    def own_id(self, members: Mapping[str, Member]) -> str:
        """Return the id that the client gives the workflow; empty for none."""
        member = members.get("id")
        if member is None or member.value is None or member.value == "":
            return ""
        if isinstance(member.value, str) and _ID.fullmatch(member.value):
            return member.value
        self.fault("$.id", "must be letters, digits and ._:- , 1 to 128, the first no ._:-")
        return ""

    def kind_of(self, members: Mapping[str, Member], path: str) -> Kind | None:
        """Return what kind of workflow an object is; None, with a fault, if it says none."""
        member = members.get("type")
        if member is None or member.value is None:
            if "steps" in members:
                return Kind.DAG
            self.fault(f"{path}.type", "must be one of chain, group, batch; received nothing")
            return None
        if isinstance(member.value, str):
            if member.value in {*_PARTS, "workflow"}:
                return Kind.DAG if member.value == "workflow" else Kind(member.value)
            received = f"{member.value!r:.80}"
        else:
            received = json_type(member.value)
        self.fault(f"{path}.type", f"must be one of chain, group, batch; received {received}")
        return None

    def composite(
        self, members: Mapping[str, Member], kind: Kind, path: str, place: _Place
    ) -> None:
        """Read a workflow and its parts."""
        if place.depth > MAX_NESTING:
            self.fault(path, f"workflows may be nested {MAX_NESTING} levels deep at most")
            return
        index = self._add(kind, place, members, path)
        options = {**place.options, **self._object(members, "options", path)}
        if kind is not Kind.BATCH and "callbacks" in members and members["callbacks"].value:
            self.fault(f"{path}.callbacks", "only a batch has callbacks")
        field_name = _PARTS[kind]
        items = members.get(field_name)
        at = f"{path}.{field_name}"
        if items is None or not isinstance(items.value, list) or not items.value:
            what = "steps" if field_name == "steps" else "jobs"
            self.fault(at, f"{what} array must contain at least one element")
            return
        self._parts(parse_array(items.raw), kind, at, index, place.depth, options)
        if kind is Kind.BATCH:
            self._callbacks(members, path, _Place(index, "", place.depth, options))

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
                self.fault(path, f"must be an object; received {json_type(item.value)}")
                continue
            members = parse_object(item.raw, max_depth=ANY_DEPTH)
            own = self._name(members, path)
            key = (own or str(number)) if kind is Kind.DAG else str(number)
            index = len(self.steps)
            self._part(members, path, _Place(parent, key, depth + 1, options))
            if index == len(self.steps):
                continue
            if own in read and (kind is Kind.DAG or _text(members.get("id"))):
                self.fault(f"{path}.id", f"the id '{own}' is used twice")
            read[own or key] = index
            named.append((index, members, path))
            if kind is Kind.CHAIN and previous >= 0:
                self.steps[index] = replace(self.steps[index], waits_for=(previous,))
            previous = index
        self._dependencies(kind, named, read)

    def _part(self, members: Mapping[str, Member], path: str, place: _Place) -> None:
        """Read a job or a nested workflow; a nested one has parts and no arguments."""
        type_ = members["type"].value if "type" in members else None
        is_nested = isinstance(type_, str) and type_ in {*_PARTS}
        if is_nested and ("args" not in members or {"steps", "jobs"} & members.keys()):
            self.composite(members, Kind(str(type_)), path, place)
        elif type_ is None and "steps" in members:
            self.composite(members, Kind.DAG, path, place)
        elif len(self.jobs) < MAX_JOBS:
            self._job(members, path, place)
        else:
            self.faults.append((path, f"a workflow has at most {MAX_JOBS} jobs"))
            raise self.refusal()

    # -------------------------------------------------------------------- jobs
    def _job(self, members: Mapping[str, Member], path: str, place: _Place) -> int:
        index = self._add(Kind.JOB, place, members, path)
        envelope = {name: member for name, member in members.items() if name not in _OWN}
        options = {**place.options, **self._object(members, "options", path)}
        options.pop(_CALLBACK_TYPE, None)
        envelope.pop("options", None)
        if options:
            raw = assemble({name: member.raw for name, member in options.items()})
            value = {name: member.value for name, member in options.items()}
            envelope["options"] = Member(raw, value)
        try:
            job = self.read_job(envelope)
        except OjsError as problem:
            self.fault(path, problem.message)
            return index
        self.jobs[index] = job
        if isinstance(job.get("type"), str):
            self.steps[index] = replace(self.steps[index], type=job.type)
        return index

    def _callbacks(self, members: Mapping[str, Member], path: str, place: _Place) -> None:
        at = f"{path}.callbacks"
        callbacks = self._object(members, "callbacks", path)
        given = {name: each for name, each in callbacks.items() if each.value is not None}
        if not given:
            self.fault(at, "must contain at least one of on_complete, on_success, on_failure")
            return
        parent = place.parent
        jobs = tuple(i for i, step in enumerate(self.steps) if step.parent == parent)
        for name, member in given.items():
            if name not in [*Trigger]:
                self.fault(f"{at}.{name}", "must be one of on_complete, on_success, on_failure")
            elif not isinstance(member.value, dict):
                self.fault(f"{at}.{name}", f"must be a job; received {json_type(member.value)}")
            else:
                own = parse_object(member.raw, max_depth=ANY_DEPTH)
                index = self._job(own, f"{at}.{name}", replace(place, key=name))
                self._make_callback(index, Trigger(name), jobs)

    def _make_callback(self, index: int, trigger: Trigger, waits_for: tuple[int, ...]) -> None:
        self.steps[index] = replace(
            self.steps[index], waits_for=waits_for, trigger=trigger, is_callback=True
        )

    # -------------------------------------------------------------------- dependencies
    def _dependencies(
        self,
        kind: Kind,
        named: list[tuple[int, Mapping[str, Member], str]],
        read: Mapping[str, int],
    ) -> None:
        """Return what steps wait for; a chain may repeat it, elsewhere it has no meaning."""
        callbacks: list[tuple[int, Trigger]] = []
        for index, members, path in named:
            found = self._depends_on(members, f"{path}.depends_on", index, read)
            trigger = self._callback_of(members, path) if kind is Kind.DAG else None
            if kind is Kind.DAG:
                self.steps[index] = replace(self.steps[index], waits_for=found)
            elif found and (kind is not Kind.CHAIN or max(found) >= index):
                self.fault(
                    f"{path}.depends_on", f"a {kind} has an order of its own; leave the type out"
                )
            if trigger is not None:
                callbacks.append((index, trigger))
        marked = {index for index, _ in callbacks}
        others = tuple(index for index, _, _ in named if index not in marked)
        for index, trigger in callbacks if others else ():
            waits_for = self.steps[index].waits_for or others
            self._make_callback(index, trigger, waits_for)

    def _depends_on(
        self, members: Mapping[str, Member], path: str, own: int, read: Mapping[str, int]
    ) -> tuple[int, ...]:
        member = members.get("depends_on")
        if member is None or member.value is None:
            return ()
        names = member.value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.fault(path, "must be an array of step ids")
            return ()
        self.dependencies += len(names)
        if self.dependencies > MAX_DEPENDENCIES:
            self.faults.append((path, f"a workflow has at most {MAX_DEPENDENCIES} dependencies"))
            raise self.refusal()
        found: dict[int, None] = {}
        for name in names:
            index = read.get(str(name))
            if index is None:
                self.fault(path, f"there is no step '{name}'")
            elif index == own:
                self.fault(path, f"the step '{name}' depends on itself")
            else:
                found[index] = None
        return tuple(found)

    def _callback_of(self, members: Mapping[str, Member], path: str) -> Trigger | None:
        """Return the trigger of a callback sent as a step, known by an option or its id."""
        option = self._object(members, "options", path).get(_CALLBACK_TYPE)
        if option is not None:
            trigger = _TRIGGERS.get(_text(option))
            if trigger is None:
                self.fault(
                    f"{path}.options.{_CALLBACK_TYPE}",
                    "must be on_complete, on_success or on_failure",
                )
            return trigger
        name = _text(members.get("id"))
        return _TRIGGERS.get(name) if name.startswith("on-") else None

    # -------------------------------------------------------------------- parts of an object
    def _add(self, kind: Kind, place: _Place, members: Mapping[str, Member], path: str) -> int:
        if len(self.steps) >= MAX_STEPS:
            self.faults.append((path, f"a workflow has at most {MAX_STEPS} steps"))
            raise self.refusal()
        index = len(self.steps)
        name, label = self._name(members, path), self._string(members, "name", path)
        step = Step(kind=kind, parent=place.parent, key=place.key, name=name, label=label)
        self.steps.append(step)
        self.paths[index] = path
        return index

    def _name(self, members: Mapping[str, Member], path: str) -> str:
        """Return a step's id, else its name; for the workflow itself, its name."""
        own = "" if path == "$" else self._string(members, "id", path)
        return own or self._string(members, "name", path)

    def _string(self, members: Mapping[str, Member], name: str, path: str) -> str:
        member = members.get(name)
        if member is None or member.value is None:
            return ""
        if isinstance(member.value, str) and len(member.value) <= MAX_NAME:
            return member.value
        fault = (f"{path}.{name}", f"must be a string of at most {MAX_NAME} characters")
        if fault not in self.faults:
            self.fault(*fault)
        return ""

    def _object(self, members: Mapping[str, Member], name: str, path: str) -> Mapping[str, Member]:
        member = members.get(name)
        if member is None or member.value is None:
            return {}
        if not isinstance(member.value, dict):
            self.fault(f"{path}.{name}", f"must be an object; received {json_type(member.value)}")
            return {}
        return parse_object(member.raw, max_depth=ANY_DEPTH)


def _cycle(graph: Graph, among: list[int]) -> list[int]:
    """Return a cycle of steps that can never begin; the first is named again at the end."""
    stuck = {*among}
    seen: dict[int, int] = {}
    walk: list[int] = []
    at = among[0]
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = next(before for before in graph.steps[at].waits_for if before in stuck)
    found = walk[seen[at] :]
    return [at, *reversed(found)]
