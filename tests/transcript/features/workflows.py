"""Workflows: chains, groups, batches and graphs."""

from __future__ import annotations

from typing import Any, Final

from tests.transcript.steps import Feature, Step, delete, get, post

UNKNOWN: Final = "01990000-0000-7000-8000-00000000ffff"


def job(kind: str = "a.b", **more: Any) -> dict[str, Any]:
    """Return a step of a workflow."""
    return {"type": kind, "args": [1], "options": {"retry": {"max_attempts": 1}}, **more}


CHAIN: Final = {"type": "chain", "name": "orders", "steps": [job("a"), job("b")]}
GROUP: Final = {"type": "group", "jobs": [job("a"), job("b")]}
BATCH: Final = {
    "type": "batch",
    "jobs": [job("a", queue="batch")],
    "callbacks": {"on_complete": job("c"), "on_success": job("d"), "on_failure": job("e")},
}
GRAPH: Final = {
    "name": "graph",
    "steps": [
        job("a", id="a"),
        job("b", id="b", depends_on=["a"]),
        job("c", name="c", depends_on=["a"]),
    ],
}
WRONG: Final = {
    "an unknown kind": {"type": "circle", "steps": [job()]},
    "no steps": {"type": "chain", "steps": []},
    "steps that are a text": {"type": "chain", "steps": "x"},
    "a step without a type": {"type": "chain", "steps": [{"args": []}]},
    "a step with a wrong type": {"type": "chain", "steps": [job("A")]},
    "a step that needs an unknown one": {"steps": [job("a", id="a", depends_on=["z"])]},
    "a circle": {"steps": [job("a", id="a", depends_on=["b"]), job("b", id="b", depends_on=["a"])]},
    "an id twice": {"steps": [job("a", id="a"), job("b", id="a")]},
    "an unknown callback": {"type": "batch", "jobs": [job()], "callbacks": {"on_monday": job()}},
    "nothing": {},
    "a wrong id": {"id": "A B", **CHAIN},
}


def ended(name: str, place: str, *, fails: bool = False, queue: str = "default") -> list[Step]:
    """Return the steps that fetch a job of a workflow and end it."""
    error = {"job_id": f"<{place}>", "error": {"message": "it broke", "code": "handler_error"}}
    fetch = post(f"{name}: fetch", "/workers/fetch", {"queues": [queue]}, save={place: "jobs.0.id"})
    if fails:
        return [fetch, post(f"{name}: fail", "/workers/nack", error)]
    return [
        fetch,
        post(f"{name}: complete", "/workers/ack", {"job_id": f"<{place}>", "result": {"n": 1}}),
    ]


STEPS: Final[list[Step]] = [
    get("list no workflows", "/workflows"),
    post("create a chain", "/workflows", CHAIN, save={"chain": "id"}),
    get("read a chain", "/workflows/<chain>"),
    *ended("first step", "first"),
    get("read the chain after its first step", "/workflows/<chain>"),
    get("read the progress of the chain", "/workflows/<chain>/progress"),
    *ended("last step", "last"),
    get("read the chain after its last step", "/workflows/<chain>"),
    delete("cancel a workflow that has ended", "/workflows/<chain>"),
    post("create a group", "/workflows", GROUP, save={"group": "id"}),
    delete("cancel a workflow", "/workflows/<group>"),
    delete("cancel it again", "/workflows/<group>"),
    get("read the cancelled workflow", "/workflows/<group>"),
    post("create a batch", "/workflows", BATCH, save={"batch": "id"}),
    *ended("batch", "batched", fails=True, queue="batch"),
    get("read the batch", "/workflows/<batch>"),
    post("create a graph", "/workflows", GRAPH, save={"graph": "id"}),
    get("read the graph", "/workflows/<graph>"),
    post("cancel the graph by POST", "/workflows/<graph>/cancel"),
    post("cancel the graph by POST again", "/workflows/<graph>/cancel"),
    post("cancel an unknown workflow by POST", f"/workflows/{UNKNOWN}/cancel"),
    post(
        "create a workflow with an id",
        "/workflows",
        {"id": "019539a4-cccc-7000-8000-111111111111", **CHAIN},
    ),
    post(
        "create the same with the same id",
        "/workflows",
        {"id": "019539a4-cccc-7000-8000-111111111111", **CHAIN},
    ),
    post(
        "create another with the same id",
        "/workflows",
        {"id": "019539a4-cccc-7000-8000-111111111111", **GROUP},
    ),
    post("create a nested workflow", "/workflows", {"type": "chain", "steps": [job("a"), GROUP]}),
    *(post(f"create a workflow with {name}", "/workflows", body) for name, body in WRONG.items()),
    post("create a workflow without a body", "/workflows"),
    post("create a workflow with broken JSON", "/workflows", "{"),
    post(
        "create a large workflow",
        "/workflows",
        {"type": "chain", "steps": [job(args=["x" * 1_100_000])]},
    ),
    get("list the workflows", "/workflows"),
    get("list a page", "/workflows?limit=2", save={"page": "pagination.next_cursor"}),
    get("list the next page", "/workflows?limit=2&cursor=<page>"),
    get("list by a page's number", "/workflows?page=2&per_page=2"),
    get("list those in a state", "/workflows?state=cancelled"),
    get("list those in an unknown state", "/workflows?state=lost"),
    get("list with a wrong limit", "/workflows?limit=x"),
    get("read an unknown workflow", f"/workflows/{UNKNOWN}"),
    get("read the progress of an unknown workflow", f"/workflows/{UNKNOWN}/progress"),
    delete("cancel an unknown workflow", f"/workflows/{UNKNOWN}"),
]

FEATURES: Final = [Feature(name="workflows", steps=STEPS, by_alias=False)]
