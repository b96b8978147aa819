"""Jobs that run one after another, and how a stopped sequence goes on."""

from __future__ import annotations

from typing import Any, Final

from tests.transcript.steps import Feature, Step, get, post


def ordered(n: int, sequence: Any, **more: Any) -> dict[str, Any]:
    """Return a job of a sequence."""
    return {"type": "a.some", "args": [n], "queue": "work", "sequence": sequence, **more}


NEXT: Final = {"queues": ["work"], "worker_id": "w"}
ERROR: Final = {"type": "Broken", "message": "no", "code": "DISCARD"}

STEPS: Final[list[Step]] = [
    post("push the first job of a sequence", "/jobs", ordered(1, "o-1"), save={"first": "job.id"}),
    post("push the second one", "/jobs", ordered(2, "o-1"), save={"second": "job.id"}),
    post("push a job with a choice", "/jobs", ordered(3, {"key": "o-1", "on_discard": "skip"})),
    post("push a job with a wrong key", "/jobs", ordered(4, "o 1")),
    post("push a job with a wrong choice", "/jobs", ordered(4, {"key": "o", "on_discard": "x"})),
    post("push a pending job of a sequence", "/jobs", ordered(4, "o-1", pending=True)),
    post("push too many jobs", "/jobs/batch", {"jobs": [ordered(n, "o-2") for n in range(51)]}),
    get("read a blocked job", "/jobs/<second>"),
    post("activate a blocked job", "/jobs/<second>/activate"),
    get("ask why a job is blocked", "/admin/jobs/<second>/why"),
    get("list blocked jobs", "/admin/jobs?state=pending"),
    get("read a sequence", "/admin/sequences/o-1"),
    get("read an idle sequence", "/admin/sequences/o-2"),
    get("read a sequence with a wrong key", "/admin/sequences/o%201"),
    post("skip a job that waits", "/admin/sequences/o-1/skip"),
    post("fetch the first job", "/workers/fetch", NEXT),
    post(
        "fail the first job",
        "/workers/nack",
        {"job_id": "<first>", "worker_id": "w", "error": ERROR},
    ),
    get("list the stopped sequences", "/admin/sequences"),
    get("list those of a tenant", "/admin/sequences?tenant=acme"),
    get("list those of a queue", "/admin/sequences?queue=work&limit=1"),
    get("list them from a wrong cursor", "/admin/sequences?cursor=x"),
    get("list those of a wrong tenant", "/admin/sequences?tenant=a%20b"),
    post("skip the discarded job", "/admin/sequences/o-1/skip"),
    post("retry the job that was skipped", "/dead-letter/<first>/retry"),
    post("fetch the second job", "/workers/fetch", NEXT),
]

FEATURES: Final = [Feature(name="sequences", steps=STEPS)]
