"""Both transports say the same: every method, and what the backend refuses, over equal backends."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.transports.connection import HttpTransport
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.client.transports.requests import Transport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import CountingIds
from tests.simulation.world import World
from tests.unit.client.calls import CALLS, MISTAKES, Make, furnished, prepared
from tests.unit.client.doubles import ApiServer, FakeTimer

AREAS = (
    *("admin", "jobs", "queues", "cron", "workers", "dead_letter", "workflows", "schemas"),
    *("events", "rate_limits", "sequences", "system", "tenants"),
)
ONE_WAY = {
    "prepare": "it asks no backend",
    "transact_item": "a transaction needs the table itself",
}
VARYING = {"latency_ms"}


def in_process(world: World) -> Transport:
    return InProcessTransport(world.backend)


def over_http(world: World) -> Transport:
    return HttpTransport(ApiServer(world).connection(FakeTimer()))


def plain(value: Any) -> Any:
    """Return a result as values that compare, without what depends on the machine."""
    if isinstance(value, Job):
        return {"job": value.members()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items() if name not in VARYING}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


async def outcome(over: Callable[[World], Transport], make: Make) -> Any:
    """Return what a call over a transport returns, or the error that it raises."""
    world, ids = furnished(), CountingIds()

    def client(transport: Transport) -> Client:
        return Client(transport=transport, middleware=[], timer=FakeTimer(), ids=ids)

    await prepared(client(in_process(world)))  # the faster one; what it sends is compared as well
    try:
        return plain(await make(client(over(world))))
    except OjsError as problem:
        return type(problem), problem.as_dict("")
    except TimeoutError as problem:
        return type(problem), str(problem)


async def both(make: Make) -> tuple[Any, Any]:
    return await outcome(over_http, make), await outcome(in_process, make)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process cannot fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_makes_aws_clients_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes would read each other's answers from one connection."""
    made: list[World] = []

    def build(*_: object) -> Backend:
        made.append(World())
        return made[-1].backend

    monkeypatch.setattr("ojs_aws.bootstrap.build_backend", build)
    monkeypatch.setattr("ojs_aws.bootstrap.aws_clients", lambda *_: None)
    with SyncClient.direct(settings=World().settings, middleware=[]) as client:
        client.enqueue("a.b", [])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                client.enqueue("a.b", [])
                client.queues.list()
                code = 0 if [len(world.stored.jobs) for world in made] == [1, 1] else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        client.enqueue("a.b", [])
        assert [len(world.stored.jobs) for world in made] == [2]


@pytest.mark.parametrize("method", CALLS)
async def test_a_method_returns_the_same_over_both(method: str) -> None:
    """The jobs' texts too, character for character."""
    http, direct = await both(CALLS[method])
    assert http == direct
    assert not (isinstance(http, tuple) and method != "workflows.wait"), http


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_mistake_raises_the_same_over_both(mistake: str) -> None:
    """Its type, code, text, details and hint."""
    http, direct = await both(MISTAKES[mistake])
    assert isinstance(http, tuple), http
    assert issubclass(http[0], OjsError)
    assert http == direct


def test_every_method_is_compared() -> None:
    """One that is forgotten here may drift."""
    client = Client("http://ojs", middleware=[])
    targets = {"": client} | {f"{area}.": getattr(client, area) for area in AREAS}
    methods = {
        f"{prefix}{name}"
        for prefix, target in targets.items()
        for name, method in inspect.getmembers(target, inspect.ismethod)
        if not name.startswith("_")
        and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
    }
    assert methods - ONE_WAY.keys() == CALLS.keys()
