"""The log of events, statistics and what else says how the server is."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, get, post

LIFE: Final[list[Step]] = [
    *(
        step
        for number, queue in enumerate(("email", "other", "email"))
        for step in (
            post(
                f"push {number}",
                "/jobs",
                {"type": f"a.b{number}", "args": [], "queue": queue, "retry": {"max_attempts": 1}},
                save={f"job{number}": "id"},
                wait_s=10,
            ),
            post(
                f"fetch {number}",
                "/workers/fetch",
                {"queues": [queue], "worker_id": "w"},
                wait_s=10,
            ),
        )
    ),
    post("complete 0", "/workers/ack", {"job_id": "<job0>"}, wait_s=10),
    post("fail 1", "/workers/nack", {"job_id": "<job1>", "error": {"message": "no"}}, wait_s=10),
    post("beat", "/workers/heartbeat", {"worker_id": "w", "active_jobs": ["<job2>"]}),
]

EVENTS: Final[list[Step]] = [
    get("list no events", "/events"),
    *LIFE,
    get("list the events", "/events"),
    get("list a page", "/events?limit=2", save={"page": "cursor"}),
    get("list the next page", "/events?limit=2&cursor=<page>"),
    get("list what came after", "/events?after=<page>"),
    get("list the newest by a page's number", "/events?page=1&per_page=2"),
    get("list those of types", "/events?types=job.completed,job.discarded"),
    get("list those of a type", "/events?type=job.started"),
    get("list those of all of jobs", "/events?types=job.*"),
    get("list those of a queue", "/events?queue=other"),
    get("list those of queues", "/events?queues=other,email&limit=2"),
    get("list those of a job type", "/events?job_type=a.b1"),
    get("list those of job types", "/events?job_types=a.b1,a.b2"),
    get("list those of a job", "/events?job_id=<job0>"),
    get("list those since an instant", "/events?since=2025-10-09T08:53:50Z"),
    get("list those since no instant", "/events?since=x"),
    get("list those after an unknown event", "/events?after=x"),
    get("list those of an unknown type", "/events?types=job.moved"),
    get("list with a wrong limit", "/events?limit=0"),
    get("list with a wrong cursor", "/events?cursor=%3F"),
    get("list page 0", "/events?page=0"),
]

NUMBERS: Final[list[Step]] = [
    *LIFE,
    get("show the statistics", "/admin/stats"),
    get("show the statistics of a queue", "/admin/stats?queue=email"),
    get("show the statistics in detail", "/admin/stats?detail=true"),
    get("show the statistics in a wrong detail", "/admin/stats?detail=much"),
    get("show the statistics with a wrong limit", "/admin/stats?limit=x"),
    get("show the gauges", "/admin/metrics"),
    get("show the errors", "/admin/errors"),
    get("show the errors of a queue", "/admin/errors?queue=other&since=PT2H"),
    get("show the errors since too long ago", "/admin/errors?since=P9D"),
    get("show the errors since no time", "/admin/errors?since=x"),
    get("show the history", "/admin/stats/history?period=1m"),
    get("show the history of a queue", "/admin/stats/history?queue=email&period=1h"),
    get(
        "show the history of a time",
        "/admin/stats/history?period=1h&since=2025-10-09T00:00:00Z&until=2025-10-09T03:00:00Z",
    ),
    get("show the history of a wrong period", "/admin/stats/history?period=2y"),
    get("show the history since no time", "/admin/stats/history?since=x"),
    get("show the metrics", "/metrics"),
    get("show the configuration", "/admin/system/config"),
    post("look what a repair would do", "/admin/repair", {"dry_run": True}),
    post("repair", "/admin/repair", {}),
    post("repair without a body", "/admin/repair"),
    post("repair from a wrong cursor", "/admin/repair", {"cursor": "?"}),
    post("repair by a text", "/admin/repair", {"dry_run": "yes"}),
]

FEATURES: Final = [
    Feature(name="events", steps=EVENTS),
    Feature(name="statistics", steps=NUMBERS),
]
