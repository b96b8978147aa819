"""Workflows through the client: over HTTP and directly, with the same outcome."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Literal

import httpx
import pytest

from ojs_aws.client import (
    BatchRejectedError,
    Client,
    SyncClient,
    WorkflowFailedError,
    WorkflowWaitTimeoutError,
    batch,
    chain,
    dag,
    group,
)
from ojs_aws.client.transports.connection import HttpConnection, HttpTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    InvalidWorkflowError,
    NotFoundError,
)
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.middleware import EncryptionMiddleware, StaticKeys
from ojs_aws.middleware.context import JobContext
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World


def work(world: World) -> list[str]:
    """Complete what there is to fetch."""
    jobs = world.backend.jobs.fetch(FetchRequest(("default",), 10, "w"))
    for job in jobs:
        world.backend.jobs.ack(job.id, "w", RawJson("1"))
    return [job.type for job in jobs]


async def test_builders_read_like_the_specification(client: Client, world: World) -> None:
    """chain(a, group(b, c), d)."""
    parts = chain(Job("a"), group(Job("b"), Job("c")), Job("d"), name="n")
    started = await client.workflow(parts)
    assert (started.type, started.name, started.state) == ("chain", "n", "running")
    done = []
    for _ in range(3):
        done.append(work(world))
        await client.workflows.get(started.id)
    assert done == [["a"], ["b", "c"], ["d"]]
    ended = await client.workflows.wait(started.id)
    assert [step["state"] for step in ended.steps] == ["completed"] * 3
    assert ended.metadata["completed_count"] == 4


async def test_a_batch_and_a_dag_in_one_another(client: Client, world: World) -> None:
    """With callbacks and dependencies."""
    inner = batch(Job("a"), Job("b"), on_success=Job("c"))
    parts = dag({"one": inner, "two": Job("d")}, {"two": ["one"]})
    started = await client.workflow(parts)
    done = []
    for _ in range(3):
        done.append(work(world))
        await client.workflows.get(started.id)
    assert done == [["a", "b"], ["c"], ["d"]]
    assert (await client.workflows.wait(started.id)).state == "completed"


async def test_jobs_pass_the_middleware_of_the_client(client: Client, world: World) -> None:
    """Each once, before anything is sent; ids are the workflow's own."""

    class Notes:
        async def enqueue(self, job: Job, call_next: Any) -> Any:
            assert job.id
            job.meta["noted"] = job.type
            return await call_next(job)

    client.middleware.add(Notes())
    await client.workflow(chain(Job("a"), Job("b")))
    [job] = world.stored.jobs.values()
    assert isinstance(job.document, str)
    assert '"noted":"a"' in job.document


@pytest.mark.parametrize(("bound", "is_refused"), [("id", True), ("type", False)])
async def test_arguments_that_are_bound_to_a_jobs_id_are_in_no_workflow(
    client: Client, world: World, bound: Literal["id", "type"], is_refused: bool
) -> None:
    """The backend gives its jobs other ids, so that no worker could decrypt them."""
    client.middleware.add(EncryptionMiddleware(StaticKeys({"k": b"k" * 32}), bind_to=bound))
    with pytest.raises(InvalidRequestError, match="bound") if is_refused else nullcontext():
        await client.workflow(chain(Job("a", [1]), Job("b", [2])))
    assert bool(world.stored.workflows) is not is_refused


async def test_a_dropped_job_stops_the_whole_workflow(client: Client, world: World) -> None:
    """A workflow needs all its jobs."""

    class Drops:
        async def enqueue(self, job: Job, call_next: Any) -> Any:
            return None if job.type == "b" else await call_next(job)

    client.middleware.add(Drops())
    with pytest.raises(BatchRejectedError):
        await client.workflow(chain(Job("a"), Job("b")))
    assert world.stored.workflows == {}


async def test_the_same_workflow_again_is_found(client: Client, world: World) -> None:
    """By an id of one's own."""
    first = await client.workflow(group(Job("a")), id="mine")
    again = await client.workflow(group(Job("a")), id="mine")
    assert first.id == again.id == "mine"
    assert len(world.stored.jobs) == 1


async def test_waiting_ends_with_the_workflow(client: Client, world: World) -> None:
    """Or with an error that says why."""
    started = await client.workflow(group(Job("a", retry={"max_attempts": 1})))
    with pytest.raises(WorkflowWaitTimeoutError):
        await client.workflows.wait(started.id, timeout_s=3)
    with pytest.raises(WorkflowWaitTimeoutError, match="after 3 s"):
        await client.workflows.wait(started.id, timeout="3s")
    [job] = world.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    world.backend.jobs.fail(job.id, "w", _error())
    with pytest.raises(WorkflowFailedError, match="Broken: it broke") as caught:
        await client.workflows.wait(started.id)
    assert caught.value.workflow.state == "failed"


def _error() -> Any:
    return parse_object('{"type": "Broken", "message": "it broke"}')


async def test_workflows_are_cancelled_once_and_listed(client: Client, world: World) -> None:
    """Again is no error, unless it completed."""
    started = await client.workflow(group(Job("a")))
    for _ in range(2):
        assert (await client.workflows.cancel(started.id)).state == "cancelled"
    other = await client.workflow(group(Job("b")))
    work(world)
    with pytest.raises(ConflictError):
        await client.workflows.cancel(other.id)
    with pytest.raises(NotFoundError):
        await client.workflows.cancel("nothing")
    page = await client.workflows.list(limit=1)
    rest = await client.workflows.list(limit=1, cursor=page.cursor)
    found = [each.id for each in [*page.workflows, *rest.workflows]]
    assert (sorted(found), rest.cursor) == (sorted([started.id, other.id]), "")
    [cancelled] = (await client.workflows.list(state="cancelled")).workflows
    assert cancelled.id == started.id


async def test_what_the_backend_refuses_is_raised(client: Client) -> None:
    """With each fault's place."""
    with pytest.raises(InvalidWorkflowError) as caught:
        await client.workflow(chain(Job("a"), Job("Not A Type")))
    assert caught.value.details["field"] == "$.steps[1].type"


def test_builders_refuse_what_can_never_be_right() -> None:
    """Before anything is sent."""
    wrongs: tuple[Callable[[], object], ...] = (
        chain,
        group,
        lambda: dag({}),
        lambda: batch(Job("a")),
        lambda: batch(on_success=Job("a")),
        lambda: dag({"a": Job("a")}, {"a": ["b"]}),
    )
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"."):
            wrong()


def test_the_synchronous_client_has_the_same(world: World) -> None:
    """Without await."""
    with SyncClient(client=Client.direct(backend=world.backend)) as client:
        started = client.workflow(group(Job("a")))
        work(world)
        assert client.workflows.wait(started.id).state == "completed"
        assert client.workflows.get(started.id).is_terminal


def test_a_handler_finds_what_its_workflow_gives_it() -> None:
    """Section 7.1."""
    context = JobContext(
        Job("a", custom_attributes={"workflow_id": "w", "parent_results": {"0": 1}})
    )
    assert (context.workflow_id, context.parent_results) == ("w", {"0": 1})
    alone = JobContext(Job("a"))
    assert (alone.workflow_id, alone.parent_results) == ("", {})


async def test_a_workflow_of_many_steps_is_read_whole(client: Client) -> None:
    """Page by page: a group that a page ends in goes on in the next one."""
    inner = group(*[Job("b", [number]) for number in range(1_100)])
    started = await client.workflow(chain(inner, Job("c")))
    running = await client.workflows.get(started.id)
    cancelled = await client.workflows.cancel(started.id)
    with pytest.raises(WorkflowFailedError) as failed:
        await client.workflows.wait(started.id)
    for found in (running, cancelled, failed.value.workflow):
        middle, last = found.steps
        assert [middle["type"], last["type"]] == ["group", "c"]
        jobs = middle["jobs"]
        assert isinstance(jobs, list)
        args = [each["args"] for each in jobs if isinstance(each, dict)]
        assert args == [[number] for number in range(1_100)]
        assert "pagination" not in found.described


async def test_a_page_that_never_ends_is_read_once() -> None:
    """From a server that gives the same one for every offset."""
    page = {"has_more": True, "offset": 0, "limit": 1}
    body = {"workflow": {"id": "w", "state": "running", "steps": [{"id": "0"}], "pagination": page}}
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=body)

    connection = HttpConnection("http://127.0.0.1", http_transport=httpx.MockTransport(answer))
    async with Client(transport=HttpTransport(connection)) as client:
        assert (await client.workflows.get("w")).id == "w"
    assert len(asked) == 2
