"""API keys: none, wrong ones, keys without the scope, keys that are bound to queues or types."""

from __future__ import annotations

import re
from typing import Final

from ojs_aws.config import Settings
from ojs_aws.transport.http.routes import ROUTES, Route
from tests.transcript.steps import Feature, Key, Step, get, post

KEYS: Final = {
    "admin": Key(scopes=("admin",)),
    "producer": Key(scopes=("producer",)),
    "worker": Key(scopes=("worker",)),
    "operator": Key(scopes=("operator",)),
    "read-only": Key(scopes=("read-only",)),
    "bound": Key(scopes=("producer", "operator"), queues=("email",)),
    "bound worker": Key(scopes=("worker",), queues=("email",)),
    "bound producer": Key(scopes=("producer",), queues=("email", "mail-*")),
    "typed": Key(scopes=("producer", "operator"), types=("email.*",)),
}
OTHERS: Final = {
    "key_id": "0123456789abcdef",
    "job_id": "<foreign>",
    "queue": "other",
    "name": "nightly",
    "type": "a.some",
    "version": "1",
    "key": "k",
    "worker_id": "w",
    "workflow_id": "<flow>",
    "tenant": "acme",
}
"""What the paths name: none of it belongs to the bound keys."""

BODY: Final = {
    "job_id": "<foreign>",
    "job_ids": ["<foreign>"],
    "ids": ["<foreign>"],
    "type": "a.some",
    "args": [],
    "queue": "other",
    "queues": ["other"],
    "jobs": [{"type": "a.some", "args": [], "queue": "other"}],
    "name": "nightly",
    "cron": "0 3 * * *",
    "states": ["available"],
    "priority": 1,
    "error": {"message": "no"},
    "state": {"n": 1},
    "progress": 0.5,
    "directive": "quiet",
    "schema": {},
    "version": 1,
}
"""What most operations understand: they take what they know of it."""

PREPARED: Final[list[Step]] = [
    post(
        "push a job of others",
        "/jobs",
        {
            "type": "a.some",
            "args": [],
            "queue": "other",
            "rate_limit": {"key": "k", "concurrency": 9},
        },
        key="admin",
        save={"foreign": "id"},
    ),
    post("others fetch", "/workers/fetch", {"queues": ["other"], "worker_id": "w"}, key="admin"),
    post(
        "others' worker beats",
        "/workers/heartbeat",
        {"worker_id": "w", "queues": ["other"]},
        key="admin",
    ),
    post(
        "others register a cron job",
        "/cron",
        {
            "name": "nightly",
            "cron": "0 3 * * *",
            "type": "a.some",
            "args": [],
            "options": {"queue": "other"},
        },
        key="admin",
    ),
    post(
        "others register a schema",
        "/schemas",
        {"type": "a.some", "version": 1, "schema": {"type": "array"}},
        key="admin",
    ),
    post(
        "others create a workflow",
        "/workflows",
        {"type": "chain", "steps": [{"type": "a.some", "args": [], "queue": "other"}]},
        key="admin",
        save={"flow": "id"},
    ),
]


def each_operation(*keys: str, aliases: bool = True) -> list[Step]:
    """Return a request to each operation with each key; the aliases with each key as well."""
    return [
        Step(
            name=f"{key or 'no key'}: {route.method} {path}",
            method=route.method,
            path=re.sub(r"<(\w+)>", lambda match: OTHERS[match[1]], path),
            body=None if route.method == "GET" else BODY,
            key=key,
        )
        for route in sorted(ROUTES, key=order)
        for path in (route.paths if aliases else route.paths[:1])
        for key in keys
    ]


def order(route: Route) -> tuple[str, str]:
    """Return where a route stands in a recording."""
    return route.path, route.method


OWN: Final[list[Step]] = [
    post(
        "push to the own queue",
        "/jobs",
        {"type": "email.send", "args": [], "queue": "email"},
        key="bound producer",
        save={"own": "id"},
    ),
    post(
        "push to a queue with the own beginning",
        "/jobs",
        {"type": "a", "args": [], "queue": "mail-1"},
        key="bound producer",
    ),
    post("push to the default queue", "/jobs", {"type": "a", "args": []}, key="bound producer"),
    post(
        "push a batch, one to a foreign queue",
        "/jobs/batch",
        {"jobs": [{"type": "a", "args": [], "queue": queue} for queue in ("email", "other")]},
        key="bound producer",
    ),
    post(
        "push what is unique over all queues",
        "/jobs",
        {"type": "a", "args": [], "queue": "email", "unique": {"keys": ["type"]}},
        key="bound producer",
    ),
    post(
        "push with a foreign limit",
        "/jobs",
        {
            "type": "a",
            "args": [],
            "queue": "email",
            "rate_limit": {"key": "queue:other", "concurrency": 1},
        },
        key="bound producer",
    ),
    post(
        "push a type that is allowed",
        "/jobs",
        {"type": "email.send", "args": []},
        key="typed",
        save={"typed": "id"},
    ),
    post("push a type that is not allowed", "/jobs", {"type": "a.some", "args": []}, key="typed"),
    get("read the own job", "/jobs/<own>", key="bound"),
    get("read the job of the own type", "/jobs/<typed>", key="typed"),
    get("read the own job as a producer", "/jobs/<own>", key="producer"),
    get("read an unknown job", "/jobs/01990000-0000-7000-8000-00000000ffff", key="bound"),
    post(
        "fetch from the own queue and another",
        "/workers/fetch",
        {"queues": ["email", "other"]},
        key="bound worker",
    ),
    post(
        "fetch from the own queue",
        "/workers/fetch",
        {"queues": ["email"], "worker_id": "mine"},
        key="bound worker",
    ),
    post("beat as another's worker", "/workers/heartbeat", {"worker_id": "w"}, key="bound worker"),
    post(
        "beat with a foreign job",
        "/workers/heartbeat",
        {"worker_id": "mine", "active_jobs": ["<own>", "<foreign>"]},
        key="bound worker",
    ),
    post("ack the own job", "/workers/ack", {"job_id": "<own>"}, key="bound worker"),
    post(
        "read results of own and foreign jobs",
        "/jobs/results",
        {"ids": ["<own>", "<foreign>"]},
        key="bound",
    ),
    get("list the own dead letters", "/dead-letter?queue=email", key="bound"),
    get("list the dead letters of others", "/dead-letter?queue=other", key="bound"),
    get("ask who one is", "/whoami", key="bound"),
    get("read the statistics of the own queue", "/queues/email/stats", key="bound"),
    post("pause the own queue by a type's key", "/queues/email/pause", key="typed"),
    Step(name="no key for no operation", method="GET", path="/nowhere"),
    Step(name="a key for no operation", method="GET", path="/nowhere", key="worker"),
    Step(name="no key for OPTIONS", method="OPTIONS", path="/ojs/v1/jobs"),
]

SETTINGS: Final = Settings(auth="api-key")

FEATURES: Final = [
    Feature(
        name="access_without_a_key",
        settings=SETTINGS,
        keys=KEYS,
        by_alias=False,
        steps=[
            *PREPARED,
            *each_operation(""),
            *each_operation("unknown", "malformed", aliases=False),
        ],
    ),
    Feature(
        name="access_by_scope",
        settings=SETTINGS,
        keys=KEYS,
        by_alias=False,
        steps=[
            *PREPARED,
            *each_operation("worker"),
            *each_operation("producer", "read-only", aliases=False),
        ],
    ),
    Feature(
        name="access_by_bounds",
        settings=SETTINGS,
        keys=KEYS,
        by_alias=False,
        steps=[
            *PREPARED,
            *OWN,
            *each_operation("bound"),
            *each_operation("bound worker", "typed", aliases=False),
        ],
    ),
    Feature(
        name="api_keys",
        settings=SETTINGS,
        keys={name: KEYS[name] for name in ("admin", "bound")},
        steps=[
            get(
                "list the keys",
                "/admin/api-keys",
                key="admin",
                save={"key": "api_keys.0.id", "other": "api_keys.1.id"},
            ),
            get(
                "list a page of the keys",
                "/admin/api-keys?limit=1",
                key="admin",
                save={"page": "next_cursor"},
            ),
            get("list the next page", "/admin/api-keys?limit=1&cursor=<page>", key="admin"),
            get("list the keys from a wrong cursor", "/admin/api-keys?cursor=x", key="admin"),
            get("list the keys without one", "/admin/api-keys"),
            post("revoke an unknown key", f"/admin/api-keys/{'0' * 16}/revoke", key="admin"),
            post("revoke a key", "/admin/api-keys/<other>/revoke", key="admin"),
            post("revoke it again", "/admin/api-keys/<other>/revoke", key="admin"),
            get("list the keys with one that is revoked", "/admin/api-keys", key="admin"),
        ],
    ),
    Feature(
        name="access_closed_to_all",
        settings=Settings(auth="api-key", public_status=False),
        keys=KEYS,
        steps=[
            get("read the health without a key", "/health"),
            get("read the health with a key", "/health", key="worker"),
            Step(name="read the manifest without a key", method="GET", path="/ojs/manifest"),
            Step(
                name="read the manifest with a key",
                method="GET",
                path="/ojs/manifest",
                key="worker",
            ),
        ],
    ),
]
