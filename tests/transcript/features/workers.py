"""Workers as operators see them, and their directives."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, delete, get, post


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

FEATURES: Final = [Feature(name="workers", steps=STEPS)]
