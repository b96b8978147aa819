"""A fresh backend over the model, and the functions over it."""

from __future__ import annotations

import pytest

from tests.api import Api
from tests.simulation.world import World


@pytest.fixture
def world() -> World:
    """A fresh backend over the model."""
    return World()


@pytest.fixture
def api(world: World) -> Api:
    """The functions over the model."""
    return Api(world.backend)
