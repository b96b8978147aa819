"""Changes of a cron job at the same time, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.cron.entry import CronEntry
from tests.api import Api
from tests.simulation.world import World

NIGHTLY: dict[str, Any] = {
    "name": "nightly",
    "cron": "0 9 * * *",
    "type": "a.b",
    "args": [],
    "description": "as registered",
    "options": {"priority": 1},
}
PATH = "/ojs/v1/cron/nightly"
CHANGES: list[dict[str, Any]] = [
    {"description": "changed"},
    {"cron": "0 10 * * *"},
    {"enabled": False},
    {"options": {"priority": 7}},
]


@pytest.fixture
def world() -> World:
    """A backend with a cron job."""
    made = World()
    assert Api(made.backend).post("/cron", NIGHTLY).status == 201
    return made


@pytest.mark.parametrize("other", CHANGES)
def test_two_changes_at_once_are_both_kept(world: World, other: dict[str, Any]) -> None:
    """The second was written after the first was read."""
    api, load = Api(world.backend), world.cron.load

    def loaded(name: str) -> CronEntry | None:
        entry = load(name)
        world.cron.load = load  # type: ignore[method-assign]
        assert api.send("PATCH", PATH, other).status == 200
        return entry

    world.cron.load = loaded  # type: ignore[method-assign]
    answer = api.send("PATCH", PATH, {"timezone": "Europe/Berlin"})
    shown = answer.json["cron_job"]
    assert (answer.status, shown["timezone"]) == (200, "Europe/Berlin")
    expected = NIGHTLY | {"enabled": True} | other
    assert shown["cron"] == expected["cron"]
    assert shown["description"] == expected["description"]
    assert shown["enabled"] is expected["enabled"]
    assert api.get("/cron/nightly").json["cron"]["options"] == expected["options"]


def test_a_change_is_one_read_and_one_write(world: World) -> None:
    """And the alarm, where the next run is near."""
    world.faults.calls.clear()
    assert Api(world.backend).send("PATCH", PATH, {"description": "new"}).status == 200
    assert [each for each in world.faults.calls if each != "set"] == ["load", "save"]


def test_a_change_of_what_was_removed_meanwhile_finds_nothing(world: World) -> None:
    """It does not register the cron job again."""
    api, load = Api(world.backend), world.cron.load

    def loaded(name: str) -> CronEntry | None:
        entry = load(name)
        world.stored.crons.clear()
        return entry

    world.cron.load = loaded  # type: ignore[method-assign]
    assert api.send("PATCH", PATH, {"description": "new"}).status == 404
    assert not world.stored.crons
