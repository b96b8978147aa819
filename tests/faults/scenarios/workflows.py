"""Workflows: begun, moved on by the stream, cancelled."""

from __future__ import annotations

from typing import Any, Final

from tests.faults.running import Scenario
from tests.faults.scenarios.parts import OBJECT, ONCE, WORKFLOW
from tests.faults.world import World


def job(name: str, *args: Any) -> dict[str, Any]:
    """A step that is a job."""
    return {"type": f"demo.{name}", "args": [*args], "options": {"retry": ONCE}}


CHAIN: Final = {"type": "chain", "steps": [job("a"), job("b", OBJECT), job("c")]}
GROUP: Final = {"type": "group", "jobs": [job("a"), job("b"), job("c", OBJECT)]}
BATCH: Final = {
    "type": "batch",
    "jobs": [job("a"), job("b")],
    "callbacks": {
        "on_success": job("done"),
        "on_failure": job("failed"),
        "on_complete": job("over", OBJECT),
    },
}
DAG: Final = {
    "name": "release",
    "steps": [
        {"id": "build", **job("build")},
        {"id": "test", "depends_on": ["build"], **job("test")},
        {"id": "docs", "depends_on": ["build"], **job("docs")},
        {"id": "ship", "depends_on": ["test", "docs"], **job("ship")},
    ],
}
LARGE: Final = {"type": "chain", "steps": [{"type": "group", "jobs": [job("m")] * 120}, job("z")]}


def create(world: World, body: dict[str, Any]) -> None:
    """Begin a workflow under an id of the client's."""
    world.ask("POST", "/workflows", {**body, "id": WORKFLOW}, kind="push")


def begun(world: World, body: dict[str, Any]) -> None:
    """Begin one, and let the first jobs end, without publishing it."""
    create(world, body)
    world.flow()
    for each in world.fetch("w1", 10):
        world.ack(each["id"], "w1", {"of": each["type"]})


def failing(world: World) -> None:
    """One of whose jobs one fails."""
    create(world, BATCH)
    world.flow()
    good, bad = world.fetch("w1", 2)
    world.ack(good["id"])
    world.fail(bad["id"])


def cancel(world: World) -> None:
    """End one before its time."""
    world.ask("DELETE", f"/workflows/{WORKFLOW}", kind="workflow", then=(409,))


def moving(name: str, body: dict[str, Any]) -> Scenario:
    """One that the stream moves on."""
    return Scenario(
        name=f"{name}-moves-on",
        before=lambda world: begun(world, body),
        play=lambda world: world.flow(),
        leaves_documents=True,
    )


def beginning(name: str, body: dict[str, Any]) -> Scenario:
    """One that begins."""
    return Scenario(
        name=f"{name}-begins",
        play=lambda world: create(world, body),
        leaves_documents=True,
    )


WORKFLOWS: Final = (
    beginning("chain", CHAIN),
    beginning("group", GROUP),
    beginning("dag", DAG),
    beginning("large-group", LARGE),
    moving("chain", CHAIN),
    moving("group", GROUP),
    moving("batch", BATCH),
    moving("dag", DAG),
    Scenario(
        name="batch-fails",
        before=failing,
        play=lambda world: world.flow(),
        leaves_documents=True,
    ),
    Scenario(
        name="workflow-cancelled",
        before=lambda world: create(world, GROUP),
        play=cancel,
    ),
)
