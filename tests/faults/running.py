"""A scenario, one faulty call, and the world that heals: what must be true then."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ojs_aws.adapters.dynamodb.columns import read_number, read_string
from ojs_aws.adapters.dynamodb.events.chunks import chunk_events
from ojs_aws.adapters.dynamodb.images import read_values
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord, JobState, StoredElsewhere, is_blocked
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import parse_timestamp
from ojs_aws.domain.workflows.workflow import WorkflowState
from ojs_aws.services.stored_jobs import ListStop
from tests.faults.account import FILES
from tests.faults.fault_injection import Kind, kinds_of
from tests.faults.world import World

ROUNDS_S: Final = (31, 31, 61, 61, 121, 301, 301, 601, 601, 901, 901, 1801, 3601, 7201, 7201)
"""How far apart the ticks of healing are: first as they come, then so that far timers end, too."""
ROUNDS: Final = 1
"""How often at least."""

QUIET: Final = 2
"""Ticks after everything has ended: by then what is counted is recounted."""

EMPTYING_S: Final = (31, 61, 901, *[43_300] * 5)
"""Longer than any message can be hidden."""

_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIGEST: Final = re.compile(r"[0-9a-f]{16,64}")
_NUMBER: Final = re.compile(r"\d{6,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One operation, and what it needs before.

    :ivar before: what is done before, without faults.
    :ivar play: the operation, as who wants it does it; returns nothing.
    :ivar then: what is done after the first two ticks of healing.
    :ivar check: what must be true at the end, beside the promises.
    :ivar repeats: whether the operation is done again when its client repeats it, as documented.
    :ivar queues: which queues are worked on.
    :ivar removes: whether jobs are removed.
    :ivar leaves_documents: whether documents of interrupted writes may be left, as documented.
    :ivar settings: what is set differently.
    """

    name: str
    play: Callable[[World], None]
    before: Callable[[World], None] = lambda _: None
    then: Callable[[World], None] = lambda _: None
    check: Callable[[World], None] = lambda _: None
    repeats: bool = False
    queues: tuple[str, ...] = ("default",)
    removes: bool = False
    leaves_documents: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """What is compared with the end of a run without a fault.

    :ivar jobs: state of each job, and its result.
    :ivar items: items without a time to live, their ids left out.
    :ivar workflows: how many ended how.
    """

    jobs: Counter[tuple[str, str]]
    items: Counter[str]
    workflows: Counter[str]
    objects: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Names a call and the fault injected into it."""

    scenario: Scenario
    at: int
    operation: str
    kind: Kind

    def __str__(self) -> str:
        """Which it is, as tests are named."""
        return f"{self.scenario.name}-{self.at}-{self.operation}-{self.kind.name.lower()}"


def some(faults: Sequence[Fault], most: int, seed: int = 1) -> list[Fault]:
    """As many of them, drawn by a seed; all for 0."""
    if not most or len(faults) <= most:
        return [*faults]
    chosen = random.Random(seed).sample(range(len(faults)), most)
    return [faults[number] for number in sorted(chosen)]


def played(scenario: Scenario, fault: Fault | None = None) -> World:
    """A world in which the scenario was played."""
    world = World(removes=scenario.removes)
    world.by_messages = fault is not None and fault.at % 2 == 1
    if scenario.settings:
        world.configure(**scenario.settings)
    scenario.before(world)
    injector = world.injector
    if fault is not None:
        injector.at, injector.kind = fault.at, fault.kind
    injector.stale = world.snapshot()
    injector.is_on = True
    scenario.play(world)
    injector.is_on = False
    return world


def healed(world: World, scenario: Scenario) -> End:
    """Let everything end; what is there then."""
    world.happen_late()
    for number, seconds in enumerate(ROUNDS_S):
        world.clock.advance(s=seconds)
        _round(world, scenario)
        if number < ROUNDS:
            continue
        if number == ROUNDS:
            scenario.then(world)
        if _is_over(world):
            break
    for _ in range(QUIET):
        world.clock.advance(s=61)
        world.tick()
        world.flow()
    _empty_queues(world, scenario)
    _judge(world, scenario)
    scenario.check(world)
    return _end(world)


def _round(world: World, scenario: Scenario) -> None:
    world.tick()
    world.ring()
    world.flow(twice=True)
    for job in [*world.jobs.values()]:
        is_pending = job.state is JobState.PENDING and not is_blocked(job)
        if is_pending and '"cron_name"' not in str(job.document):
            world.activate(job.id)
    _work_off(world, scenario)
    world.flow(twice=True)


def _work_off(world: World, scenario: Scenario) -> None:
    for queue in scenario.queues:
        if world.by_messages:
            for _ in range(40):
                if not world.deliver(queue):
                    break
            continue
        for _ in range(40):
            jobs = world.fetch("healer", 10, queue)
            for job in jobs:
                world.ack(job["id"], "healer")
            if not jobs:
                break


def _is_over(world: World) -> bool:
    is_over = all(job.state.is_terminal for job in world.jobs.values())
    is_over = is_over and not any(
        read_string(item, "pk") == "batches" for item in world.account.items()
    )
    return is_over and all(
        each.state is not WorkflowState.RUNNING for each in world.workflows.values()
    )


def _empty_queues(world: World, scenario: Scenario) -> None:
    """Messages that name nothing to run are deleted when they come."""
    for seconds in EMPTYING_S:
        if not world.account.messages():
            return
        world.clock.advance(s=seconds)
        world.ring()
        left = world.visible() + 1
        while left > (left := world.visible()):  # ten are deleted by each fetch
            _work_off(world, scenario)
        world.flow()


def _judge(world: World, scenario: Scenario) -> None:
    judge = world.judge
    judge.check_ended()
    if left := world.account.messages():
        world.breach(f"messages are left for ever: {left}")
    for workflow in world.workflows.values():
        if workflow.state is WorkflowState.RUNNING:
            world.breach(f"workflow {workflow.id} runs for ever")
    items = [*world.account.items()]
    log = sorted((item for item in items if read_string(item, "pk") == "events"), key=_sort_key)
    judge.check_events("log", [event for item in log for event in chunk_events(read_values(item))])
    on_bus = [_event(json.loads(entry["Detail"])) for entry in world.injector.announced]
    judge.check_events("bus", sorted(on_bus, key=lambda event: (event.subject, event.sequence)))
    for item in items:
        _judge_item(world, item)
    _judge_documents(world, scenario, items)
    _judge_completed(world)


def _judge_completed(world: World) -> None:
    """The lists of completed jobs have each of them, and no other."""
    completed = [job for job in world.jobs.values() if job.state is JobState.COMPLETED]
    there = {(job.queue, job.id) for job in completed}
    with world.aside():
        listed = {
            (queue, row.id)
            for queue in {queue for queue, _ in there}
            for page in ListStop(queue, JobList.COMPLETED).pages(world.backend.stores.store)
            for row in page.jobs
        }
    if missing := there - listed:
        world.breach(f"completed jobs are not listed: {missing}")


def _sort_key(item: dict[str, Any]) -> str:
    return read_string(item, "sk")


def _judge_item(world: World, item: dict[str, Any]) -> None:
    partition = read_string(item, "pk")
    if partition == "aside":
        world.breach(f"a record was set aside: {item}")
    if partition == "limits" and read_number(item, "ac"):
        world.breach(f"limit {read_string(item, 'sk')} holds {read_number(item, 'ac')} places")
    if partition == "depths" and read_number(item, "dn"):
        world.breach(f"depth of {read_string(item, 'sk')} is {read_number(item, 'dn')}")
    if partition in {"batches", "lost-batches"}:
        world.breach(f"batch {read_string(item, 'sk')} is in {partition}")


def _judge_documents(world: World, scenario: Scenario, items: list[dict[str, Any]]) -> None:
    """Every document belongs to a job, and is there."""
    wanted = {
        (job.id, document.digest)
        for job in world.jobs.values()
        for document in (job.document, job.result, job.checkpoint and job.checkpoint.state)
        if isinstance(document, StoredElsewhere)
    }
    there = {
        (read_string(item, "pk")[4:], read_string(item, "sk")[5:])
        for item in items
        if read_string(item, "sk").startswith("blob#") and "d" in item
    }
    keys = [key.split("/") for key in world.account.objects() if not key.startswith(FILES)]
    there |= {(parts[-2], parts[-1]) for parts in keys}
    for job_id, digest in wanted - there:
        world.breach(f"document {digest} of job {job_id} is lost")
    if not scenario.leaves_documents:
        for job_id, digest in there - wanted:
            world.breach(f"document {digest} of job {job_id} is left behind")


def _event(detail: dict[str, Any]) -> Event:
    """An event of the bus, as far as it is compared."""
    return Event(
        id=detail["id"],
        type=detail["type"],
        time=parse_timestamp(detail["time"], "time"),
        queue="",
        subject=detail["subject"],
        data=encode(detail["data"]),
        sequence=detail.get("sequence", ""),
    )


def _end(world: World) -> End:
    jobs = Counter((job.type, f"{job.state} {_result(job)}") for job in world.jobs.values())
    items = Counter(
        f"{_plain(read_string(item, 'pk'))}|{_plain(read_string(item, 'sk'))}"
        for item in world.account.items()
        if "ttl" not in item
        and not read_string(item, "sk").startswith("blob#")
        and not _differs(item)
    )
    workflows = Counter(str(each.state) for each in world.workflows.values())
    objects = sum(key.startswith(FILES) for key in world.account.objects())
    return End(jobs, items, workflows, objects)


def _differs(item: dict[str, Any]) -> bool:
    """Whether how many there are of an item is no matter: it says how something was written."""
    partition, sort_key = read_string(item, "pk"), read_string(item, "sk")
    # A key that was made, and whose answer was lost, is one whose secret nobody has. What a queue
    # refused while a lost request had its places is reported, and stays reported.
    return partition in {"queues", "apikeys", "pressure"} or (
        partition.startswith("workflow#") and sort_key.startswith("results")
    )


def _result(job: JobRecord) -> str:
    where = job.result
    return "-" if where is None else where.storage if isinstance(where, StoredElsewhere) else where


def _plain(text: str) -> str:
    """A key without what differs from run to run."""
    return _NUMBER.sub("#", _DIGEST.sub("*", _ID.sub("*", text)))


def broken_by(fault: Fault, wanted: End) -> Iterator[str]:
    """What a fault has broken."""
    world = played(fault.scenario, fault)
    if len(world.injector.made) <= fault.at:
        yield "the call was not made"
        return
    try:
        end = healed(world, fault.scenario)
    except OjsError as problem:
        yield f"healing failed: {problem!r}"
        return
    yield from world.judge.broken
    if fault.scenario.repeats:
        end = replace(end, jobs=Counter(set(end.jobs)))
        wanted = replace(wanted, jobs=Counter(set(wanted.jobs)))
    if end != wanted:
        for name in ("jobs", "items", "workflows", "objects"):
            was, should = getattr(end, name), getattr(wanted, name)
            if was != should:
                yield f"{name}: {was} instead of {should}"


def without_faults(scenario: Scenario) -> tuple[End, list[Fault]]:
    """How a scenario ends without a fault; and every call of it, with every fault."""
    world = played(scenario)
    end = healed(world, scenario)
    assert world.judge.broken == [], f"{scenario.name} without a fault"
    return end, [
        Fault(scenario, at, made.operation, kind)
        for at, made in enumerate(world.injector.made)
        for kind in kinds_of(made.operation, made.params)
    ]
