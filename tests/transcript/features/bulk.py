"""Bulk operations with an answer for each job, and the operators' bulk changes of a filter."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, post

UNKNOWN: Final = "01990000-0000-7000-8000-00000000ffff"
JOBS: Final = [{"type": "b.some", "args": [n], "queue": "bulk"} for n in range(4)]
BAD: Final = {"type": "B", "args": []}

ENQUEUES: Final[list[Step]] = [
    post(
        "enqueue jobs",
        "/jobs/bulk",
        {"jobs": JOBS},
        save={f"bulk{n}": f"items.{n}.job.id" for n in range(4)},
    ),
    post("enqueue jobs, one of them bad", "/jobs/bulk", {"jobs": [*JOBS[:1], BAD]}),
    post(
        "enqueue all or none, one of them bad",
        "/jobs/bulk",
        {"jobs": [*JOBS[:1], BAD], "atomicity": "atomic"},
    ),
    post("enqueue all or none", "/jobs/bulk", {"jobs": JOBS[:2], "atomicity": "atomic"}),
    post("enqueue once", "/jobs/bulk", {"jobs": JOBS[:1], "idempotency_key": "k"}),
    post("enqueue once, again", "/jobs/bulk", {"jobs": JOBS[:1], "idempotency_key": "k"}),
    post(
        "enqueue others by the same key", "/jobs/bulk", {"jobs": JOBS[1:2], "idempotency_key": "k"}
    ),
    post("enqueue nothing", "/jobs/bulk", {"jobs": []}),
    post("enqueue without jobs", "/jobs/bulk", {}),
    post("enqueue a number", "/jobs/bulk", {"jobs": 5}),
    post("enqueue too many", "/jobs/bulk", '{"jobs":[' + "1," * 1000 + "1]}"),
    post("enqueue in an unknown way", "/jobs/bulk", {"jobs": JOBS, "atomicity": "perhaps"}),
    post("enqueue with a key that is a number", "/jobs/bulk", {"jobs": JOBS, "idempotency_key": 5}),
    post("enqueue without a body", "/jobs/bulk"),
    post("enqueue with broken JSON", "/jobs/bulk", "{"),
]


def failed(n: int) -> list[Step]:
    """Return the steps that discard a job, which can then be retried."""
    body = {"type": "b.some", "args": [], "queue": "failing", "retry": {"max_attempts": 1}}
    return [
        post(f"push job {n} to fail", "/jobs", body, save={f"bulk{n}": "id"}),
        post(f"fetch job {n}", "/workers/fetch", {"queues": ["failing"]}),
        post(
            f"fail job {n}", "/workers/nack", {"job_id": f"<bulk{n}>", "error": {"message": "no"}}
        ),
    ]


def changes(action: str) -> list[Step]:
    """Return what is sent to each of the bulk changes."""
    path = f"/jobs/bulk/{action}"
    ids = {"job_ids": ["<bulk0>", UNKNOWN]}
    return [
        post(f"{action} by ids", path, ids),
        post(f"{action} by ids again", path, ids),
        post(f"{action} all or none", path, ids | {"atomicity": "atomic"}),
        post(f"{action} by a filter", path, {"filter": {"queue": "bulk", "type": "b.some"}}),
        post(f"{action} once", path, {"job_ids": ["<bulk1>"], "idempotency_key": action}),
        post(f"{action} once, again", path, {"job_ids": ["<bulk1>"], "idempotency_key": action}),
        post(f"{action} by an empty filter", path, {"filter": {}}),
        post(f"{action} by a wrong state", path, {"filter": {"state": ["lost"]}}),
        post(f"{action} by a wrong time", path, {"filter": {"enqueued_before": "x"}}),
        post(f"{action} by ids and a filter", path, ids | {"filter": {"queue": "bulk"}}),
        post(f"{action} by nothing", path, {}),
        post(f"{action} by wrong ids", path, {"job_ids": ["x"]}),
        post(f"{action} by no ids", path, {"job_ids": []}),
        post(f"{action} by a text", path, {"job_ids": "x"}),
        post(f"{action} with a wrong cursor", path, {"filter": {"queue": "bulk"}, "cursor": "?"}),
        post(f"{action} without a body", path),
        post(f"{action} with broken JSON", path, "{"),
    ]


def filtered(action: str) -> list[Step]:
    """Return what is sent to each of the operators' bulk changes."""
    path = f"/admin/jobs/bulk/{action}"
    wanted = {"filter": {"queue": "theirs"}}
    return [
        post(
            f"push a job for an operator to {action}",
            "/jobs",
            {"type": "o.some", "args": [], "queue": "theirs"},
        ),
        post(f"look what an operator would {action}", path, wanted | {"dry_run": True}),
        post(f"{action} as an operator without a confirmation", path, wanted),
        post(f"{action} as an operator", path, wanted | {"confirm": True, "limit": 10}),
        post(f"{action} as an operator by a state", path, {"state": "completed", "confirm": True}),
        post(f"{action} as an operator by a wrong state", path, {"state": "lost", "confirm": True}),
        post(f"{action} as an operator by nothing", path, {"confirm": True}),
        post(f"{action} as an operator by a wrong filter", path, {"filter": 5, "confirm": True}),
        post(
            f"{action} as an operator with a limit of 0",
            path,
            wanted | {"confirm": True, "limit": 0},
        ),
        post(
            f"{action} as an operator with a wrong cursor",
            path,
            wanted | {"confirm": True, "cursor": "?"},
        ),
        post(f"{action} as an operator without a body", path),
    ]


FEATURES: Final = [
    Feature(
        name="bulk",
        steps=[
            *ENQUEUES,
            *changes("cancel"),
            *failed(0),
            *failed(1),
            *changes("retry"),
            *changes("delete"),
        ],
    ),
    Feature(
        name="bulk_by_operators",
        steps=[*filtered("cancel"), *filtered("retry"), *filtered("delete")],
    ),
    Feature(
        name="bulk_priority",
        steps=[
            *(
                post(f"push job {n}", "/jobs", {"type": "a", "args": [n], "queue": "email"})
                for n in range(2)
            ),
            post(
                "count the jobs that would get a priority",
                "/admin/jobs/bulk/priority",
                {"filter": {"queue": "email"}, "priority": 9, "dry_run": True},
            ),
            post(
                "give them the priority",
                "/admin/jobs/bulk/priority",
                {"filter": {"queue": "email"}, "priority": 9, "confirm": True},
            ),
            post(
                "give them the priority again",
                "/admin/jobs/bulk/priority",
                {"filter": {"queue": "email"}, "priority": 9, "confirm": True},
            ),
            post(
                "give a priority without a confirmation",
                "/admin/jobs/bulk/priority",
                {"filter": {"queue": "email"}, "priority": 9},
            ),
            post(
                "give no priority",
                "/admin/jobs/bulk/priority",
                {"filter": {"queue": "email"}, "confirm": True},
            ),
        ],
    ),
]
