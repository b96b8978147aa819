"""What callers write by mistake is refused where it stands, and the error says what was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ojs_aws.client import Client, SyncClient, batch, chain, dag, group
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.jobs.attributes import PARAMETERS, JobAttributes, JobDurations
from tests.simulation.world import World
from tests.unit.client.doubles import FakeServer

Entry = Callable[..., Any]

ENTRIES: dict[str, Callable[[Any], Entry]] = {
    "enqueue": lambda client: client.enqueue,
    "transact_item": lambda client: client.transact_item,
    "enqueue_many": lambda client: lambda *a, **kw: client.enqueue_many([Job(*a, **kw)]),
    "workflow": lambda client: lambda *a, **kw: client.workflow(chain(Job(*a, **kw))),
    "cron": lambda client: lambda *a, **kw: client.cron.register("n", "@daily", Job(*a, **kw)),
}
MISTAKES: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "args-object": (({"order_id": 1},), {}, TypeError, "one argument, [{...}]?"),
    "args-text": (("abc",), {}, TypeError, 'one argument, ["..."]?'),
    "args-bytes": ((b"abc",), {}, TypeError, "must be a list"),
    "args-set": (({1, 2},), {}, TypeError, "must be a list"),
    "args-number": ((5,), {}, TypeError, "one argument, [...]?"),
    "args-none": ((None,), {}, TypeError, "must be a list"),
    "qeue": (([],), {"qeue": "email"}, TypeError, "did you mean `queue`?"),
    "max_attempts": (([],), {"max_attempts": 3}, TypeError, 'retry={"max_attempts": ...}'),
    "delay": (([],), {"delay": 10}, InvalidRequestError, '"10s" or "10m"'),
    "timeout": (([],), {"timeout": 10}, InvalidRequestError, '"10s" or "10m"'),
    "timeout-part": (([],), {"timeout": "1500ms"}, InvalidRequestError, "must be whole seconds"),
    "timeout-twice": (([],), {"timeout": "9s", "timeout_s": 9}, TypeError, "and not both"),
    "timeout-text": (([],), {"timeout_s": "9s"}, InvalidRequestError, 'timeout="30s"'),
    "countdown": (([],), {"countdown": 10}, TypeError, 'delay="10s"'),
    "metadata": (([],), {"metadata": {}}, TypeError, "did you mean `meta`?"),
    "unlike-any": (([],), {"zzzz": 1}, TypeError, "custom_attributes={...}"),
    "retry-member": (([],), {"retry": {"max_attempt": 3}}, ValueError, "`max_attempts`?"),
    "retry-number": (([],), {"retry": 5}, TypeError, '{"max_attempts": 5}'),
    "retry-list": (([],), {"retry": []}, TypeError, "The retry of a job must be an object"),
    "meta-list": (([],), {"meta": []}, TypeError, "The meta of a job must be an object"),
    "meta-text": (([],), {"meta": "abc"}, TypeError, "The meta of a job must be an object"),
    "unique-true": (([],), {"unique": True}, TypeError, '{"keys": ["type", "args"]}'),
    "unique-member": (([],), {"unique": {"stats": []}}, ValueError, "did you mean `states`?"),
    "tags-text": (([],), {"tags": "abc"}, TypeError, "did you mean ['abc']?"),
    "visibility": (([],), {"visibility_timeout_s": "5"}, TypeError, "must be a number"),
    "rate_limit": (([],), {"rate_limit": 5}, TypeError, "The rate_limit of a job must be"),
    "custom": (([],), {"custom_attributes": {"queue": "q"}}, ValueError, "use queue= for it"),
    "custom-list": (([],), {"custom_attributes": ["x"]}, TypeError, "must be an object"),
}


def anything(value: object) -> Any:
    """Hide a value's type from the type checker."""
    return value


async def outcome(call: Callable[[], Any]) -> Any:
    """Call, and await what comes back where it is awaitable."""
    answer = call()
    return await answer if inspect.isawaitable(answer) else answer


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_mistake_says_what_was_meant(entry: str, mistake: str) -> None:
    """Nothing is sent, by whatever way jobs are enqueued."""
    args, options, kind, meant = MISTAKES[mistake]
    server, world = FakeServer(), World()
    clients = [server.client(), Client.direct(backend=world.backend)]
    for client in clients[entry == "transact_item" :]:
        with pytest.raises(kind) as caught:
            await outcome(partial(ENTRIES[entry](client), "email.send", *args, **options))
        assert meant in str(caught.value)
    assert server.requests == []
    assert (await clients[1].jobs.list()).jobs == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_synchronous_client_refuses_mistakes_too(mistake: str) -> None:
    """It is the same method, wrapped."""
    args, options, kind, _ = MISTAKES[mistake]
    with SyncClient(client=FakeServer().client()) as client, pytest.raises(kind):
        client.enqueue("email.send", *args, **options)


WRONG_JOBS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "enqueue-object": (lambda c: c.enqueue({"type": "a.b"}), "a job type such as 'email.send'"),
    "enqueue-both": (lambda c: c.enqueue(Job("a.b"), [1]), "belong to the Job"),
    "enqueue-both-empty": (lambda c: c.enqueue(Job("a.b"), {}), "belong to the Job"),
    "enqueue-options": (lambda c: c.enqueue(Job("a.b"), queue="q"), "belong to the Job"),
    "many-one": (lambda c: c.enqueue_many(Job("a.b")), "several jobs, such as [Job(...)]"),
    "many-text": (lambda c: c.enqueue_many("abc"), "several jobs, such as [Job(...)]"),
    "many-types": (lambda c: c.enqueue_many(["a.b"]), "must be a Job, not the string 'a.b'"),
    "many-none": (lambda c: c.enqueue_many([Job("a.b"), None]), "Item 1 of the jobs"),
    "workflow-job": (lambda c: c.workflow(Job("a.b")), "a workflow, such as chain"),
    "chain-type": (lambda c: c.workflow(chain(anything("a.b"))), "did you mean Job('a.b')?"),
    "group-list": (lambda c: c.workflow(group(anything([Job("a.b")]))), "parts one by one"),
    "callback": (
        lambda c: c.workflow(batch(Job("a.b"), on_complete=anything("a.c"))),
        "did you mean Job('a.c')?",
    ),
    "dag-list": (lambda c: c.workflow(dag(anything([Job("a.b")]))), "The steps of dag()"),
    "dag-ids": (
        lambda c: c.workflow(dag({"a": Job("a.b"), "b": Job("a.c")}, {"b": "a"})),
        "did you mean ['a']?",
    ),
    "cron-both": (lambda c: c.cron.register("n", "@daily", Job("a.b"), [1]), "belong to"),
    "cron-object": (lambda c: c.cron.register("n", "@daily", {"type": "a.b"}), "a job type"),
    "cron-args": (lambda c: c.cron.register("n", "@daily", "a.b", "abc"), "one argument"),
}


@pytest.mark.parametrize("mistake", WRONG_JOBS)
async def test_what_is_no_job_is_refused_as_such(mistake: str) -> None:
    """An object or a string in the place of a job, or a job in the place of several."""
    call, meant = WRONG_JOBS[mistake]
    server = FakeServer()
    with pytest.raises(TypeError) as caught:
        await outcome(lambda: call(server.client()))
    assert meant in str(caught.value)
    assert server.requests == []


async def test_custom_attributes_are_sent_as_they_are() -> None:
    """They go through one parameter of enqueue, as of Job."""
    server = FakeServer()
    await server.client().enqueue("a.b", custom_attributes={"x_tenant": "acme"})
    await server.client().enqueue(Job("a.b", custom_attributes={"x_tenant": "acme"}))
    assert [body["x_tenant"] for body in server.bodies()] == ["acme", "acme"]


def test_attributes_that_are_assigned_are_checked_as_well() -> None:
    """A middleware that assigns text to the arguments learns it at once."""
    job = Job("a.b", [1])
    with pytest.raises(TypeError, match="one argument"):
        job.args = "abc"
    with pytest.raises(TypeError, match="must be an object"):
        job.meta = []  # type: ignore[assignment]
    assert job.args == [1]


def test_each_parameter_of_a_job_is_one_of_enqueue() -> None:
    """What a misspelt name is compared with is what there is."""
    assert set(PARAMETERS.values()) == (
        {"type", "args", "specversion", *JobAttributes.__annotations__}
        - {"custom_attributes", *JobDurations.__annotations__}
    )
    assert PARAMETERS["timeout"] == "timeout_s"
    assert PARAMETERS["expires_at"] == "expires_at"
