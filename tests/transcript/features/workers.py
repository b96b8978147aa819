"""Workers as operators see them, and their directives."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, delete, get, post, put


def each(action: str) -> list[Step]:
    """Return what is sent to each directive."""
    return [
        post(f"{action} a worker", f"/admin/workers/w1/{action}"),
        post(f"{action}: the worker's next beat", "/workers/heartbeat", {"worker_id": "w1"}),
        post(f"{action} an unknown worker", f"/admin/workers/nobody/{action}"),
        post(f"{action} the workers of a queue", f"/admin/workers/{action}", {"queue": "email"}),
        post(f"{action} the workers with a label", f"/admin/workers/{action}", {"label": "a"}),
        post(f"{action} all workers", f"/admin/workers/{action}", {"all": True}),
        post(f"{action} no workers", f"/admin/workers/{action}", {}),
        post(f"{action} the workers of a number", f"/admin/workers/{action}", {"queue": 5}),
        post(f"{action} without a body", f"/admin/workers/{action}"),
        post(f"{action} with broken JSON", f"/admin/workers/{action}", "{"),
        post(f"direct all: {action}", "/admin/workers/directive", {"directive": action}),
    ]


STEPS: Final[list[Step]] = [
    get("list no workers", "/admin/workers"),
    *(
        post(
            f"worker {name} beats",
            "/workers/heartbeat",
            {"worker_id": name, "queues": [queue], "labels": ["a"], "concurrency": 2},
        )
        for name, queue in (("w1", "email"), ("w2", "other"), ("w3", "email"))
    ),
    get("list the workers", "/admin/workers"),
    get(
        "list a page of the workers",
        "/admin/workers?limit=1",
        save={"page": "pagination.next_cursor"},
    ),
    get("list the next page", "/admin/workers?limit=1&cursor=<page>"),
    get("list the workers by a page's number", "/admin/workers?page=3&per_page=1"),
    get("list the workers from an offset", "/admin/workers?offset=2"),
    get("list the workers with a wrong limit", "/admin/workers?limit=x"),
    get("read a worker", "/admin/workers/w1"),
    get("read an unknown worker", "/admin/workers/nobody"),
    *each("quiet"),
    *each("resume"),
    *each("terminate"),
    post("direct a queue", "/admin/workers/directive", {"directive": "running", "queue": "email"}),
    post("direct in an unknown way", "/admin/workers/directive", {"directive": "dance"}),
    post("direct without a directive", "/admin/workers/directive", {}),
    post("direct without a body", "/admin/workers/directive"),
    delete("remove a worker that beats", "/admin/workers/w1"),
    get("list the workers after a minute", "/admin/workers", wait_s=120),
    delete("remove a worker that is silent", "/admin/workers/w1"),
    delete("remove an unknown worker", "/admin/workers/nobody"),
    post("quiet a worker that was removed", "/admin/workers/w1/quiet"),
]

WEIGHTED: Final = {
    "name": "general",
    "strategy": "weighted",
    "queues": {"high": {"weight": 70}, "low": {"weight": 30}},
}

POOLS: Final[list[Step]] = [
    get("list no pools", "/admin/pools"),
    put("create a pool with weights", "/admin/pools/general", WEIGHTED),
    put(
        "create a strict pool",
        "/admin/pools/urgent",
        {"queues": ["critical", "payments"], "concurrency": 20, "strategy": "strict"},
    ),
    put("replace a pool", "/admin/pools/urgent", {"queues": ["critical", "payments"]}),
    post("a worker of a pool beats", "/workers/heartbeat", {"worker_id": "w1", "pool": "urgent"}),
    get("list the pools", "/admin/pools"),
    get("read a pool", "/admin/pools/general"),
    get("read an unknown pool", "/admin/pools/nothing"),
    put("create a pool without queues", "/admin/pools/none", {}),
    put("create a pool in an unknown order", "/admin/pools/none", {"queues": [], "strategy": "x"}),
    put("create a pool with a wrong name", "/admin/pools/NONE", {"queues": ["a"]}),
    put("create an isolated pool", "/admin/pools/own", {"queues": ["a"], "isolated": True}),
    put("create a pool from broken JSON", "/admin/pools/own", "{"),
    post("fetch for a pool", "/workers/fetch", {"pool": "general", "worker_id": "w1"}),
    post("fetch for an unknown pool", "/workers/fetch", {"pool": "nothing"}),
    post("fetch by weight", "/workers/fetch", {"queues": ["a", "b"], "weights": {"a": 3}}),
    post("fetch in an unknown order", "/workers/fetch", {"queues": ["a"], "strategy": "x"}),
    delete("delete a pool", "/admin/pools/urgent"),
    delete("delete an unknown pool", "/admin/pools/urgent"),
]

FEATURES: Final = [Feature(name="workers", steps=STEPS), Feature(name="pools", steps=POOLS)]
