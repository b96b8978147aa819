"""A client of each transport over a model of the backend."""

from __future__ import annotations

import pytest

from ojs_aws.client import Client
from ojs_aws.client.transports.connection import HttpTransport
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.client.transports.requests import Transport
from tests.simulation.world import World
from tests.unit.client.doubles import ApiServer, FakeTimer


@pytest.fixture
def timer() -> FakeTimer:
    """Make a clock that sleeping moves."""
    return FakeTimer()


@pytest.fixture(params=["http", "in_process"])
def transport(request: pytest.FixtureRequest, world: World, timer: FakeTimer) -> Transport:
    """Make a transport of each kind."""
    if request.param == "in_process":
        return InProcessTransport(world.backend)
    return HttpTransport(ApiServer(world).connection(timer))


@pytest.fixture
def client(transport: Transport, timer: FakeTimer) -> Client:
    """Make a client over it."""
    return Client(transport=transport, middleware=[], timer=timer)
