"""Queues: lists, counts, settings, pauses, drains and purges."""

from __future__ import annotations

import json
from typing import Final

from ojs_aws.config import Settings
from tests.transcript.steps import Feature, Step, delete, get, patch, post, put

SETTINGS: Final = {
    "max_size": 2,
    "concurrency": 3,
    "retention": {"completed": "P7D", "discarded": "P30D"},
    "visibility_timeout": 60,
    "default_timeout": 120,
    "default_retry": {"max_attempts": 4},
    "dead_letter_ttl": "P10D",
    "allowed_job_types": ["email.*"],
    "backpressure": {"max_depth": 2, "strategy": "reject", "warning_threshold": 0.5},
}
WRONG: Final = {
    "max_size": -1,
    "concurrency": "many",
    "retention": {"completed": "long"},
    "default_timeout": 0,
    "visibility_timeout": 10**9,
    "default_retry": {"max_attempts": -1},
    "dead_letter_ttl": "x",
    "allowed_job_types": [],
    "backpressure": {"strategy": "cry"},
    "rate_limit": {"rate": "fast"},
    "moon": "full",
}

STEPS: Final[list[Step]] = [
    get("list the queues of a new server", "/queues"),
    post(
        "push a job", "/jobs", {"type": "email.send", "args": [], "queue": "email", "priority": 3}
    ),
    post("push a job elsewhere", "/jobs", {"type": "a", "args": [], "queue": "other"}),
    post(
        "push a job for later",
        "/jobs",
        {"type": "a", "args": [], "queue": "other", "delay": "PT1H"},
    ),
    post(
        "fetch a job",
        "/workers/fetch",
        {"queues": ["other"], "worker_id": "w"},
        save={"other": "jobs.0.id"},
    ),
    post("complete it", "/workers/ack", {"job_id": "<other>"}),
    get("list the queues", "/queues"),
    get("list a page of the queues", "/queues?limit=1", save={"page": "pagination.next_cursor"}),
    get("list the next page", "/queues?limit=1&cursor=<page>"),
    get("list the queues from an offset", "/queues?offset=1"),
    get("list the queues with a wrong limit", "/queues?limit=x"),
    get("list the queues from a wrong offset", "/queues?offset=-1"),
    get("list the queues with counts", "/admin/queues"),
    get("list the queues with counts in pages", "/admin/queues?page=2&per_page=1"),
    get("list the queues with counts on page 0", "/admin/queues?page=0"),
    get("read a queue", "/queues/email"),
    get("read an unknown queue", "/queues/nowhere"),
    get("read a queue by a wrong name", "/queues/A%20B"),
    get("read the statistics of a queue", "/queues/other/stats"),
    get("read the statistics of an unknown queue", "/queues/nowhere/stats"),
    get("read the priorities of a queue", "/queues/email/priority-stats"),
    get("read the priorities of an unknown queue", "/queues/nowhere/priority-stats"),
    post("pause a queue", "/queues/email/pause"),
    post("fetch from a paused queue", "/workers/fetch", {"queues": ["email"]}, wait_s=60),
    post("resume a queue", "/queues/email/resume"),
    post("pause an unknown queue", "/queues/nowhere/pause"),
    post("resume an unknown queue", "/queues/nowhere/resume"),
    post("drain a queue", "/queues/email/drain"),
    post(
        "push to a draining queue", "/jobs", {"type": "a", "args": [], "queue": "email"}, wait_s=60
    ),
    post(
        "register a cron job of a draining queue",
        "/cron",
        {"name": "c", "cron": "0 0 * * *", "type": "a", "args": [], "options": {"queue": "email"}},
    ),
    post("drain an unknown queue", "/queues/nowhere/drain"),
    post("resume a draining queue", "/queues/email/resume"),
]

CONFIG: Final[list[Step]] = [
    post(
        "push a job to configure its queue",
        "/jobs",
        {"type": "email.send", "args": [], "queue": "email"},
    ),
    get("read the settings", "/queues/email/config"),
    get("read the settings of an unknown queue", "/queues/nowhere/config"),
    put("change the settings", "/queues/email/config", SETTINGS),
    post(
        "push a type that is not allowed",
        "/jobs",
        {"type": "a", "args": [], "queue": "email"},
        wait_s=60,
    ),
    patch("change a setting", "/queues/email/config", {"max_size": 1}),
    patch("change a setting to null", "/queues/email/config", {"concurrency": None}),
    put("change nothing", "/queues/email/config", {}),
    get("read the changed settings", "/queues/email/config"),
    post(
        "push to a full queue",
        "/jobs",
        {"type": "email.send", "args": [], "queue": "email"},
        wait_s=60,
    ),
    post(
        "push a batch to a full queue",
        "/jobs/batch",
        {"jobs": [{"type": "email.a", "args": [], "queue": "email"}]},
    ),
    *(
        put(f"put a wrong {name}", "/queues/email/config", {name: value})
        for name, value in WRONG.items()
    ),
    *(
        patch(f"patch a wrong {name}", "/queues/email/config", {name: value})
        for name, value in WRONG.items()
    ),
    put("change the settings without a body", "/queues/email/config"),
    patch("patch the settings with an array", "/queues/email/config", []),
    put("change the settings of an unknown queue", "/queues/nowhere/config", {"concurrency": 1}),
    patch("patch the settings of an unknown queue", "/queues/nowhere/config", {"concurrency": 1}),
    post("create a queue", "/queues", {"name": "made", "config": {"concurrency": 2}}),
    post("create a queue again", "/queues", {"name": "made"}),
    post("create a queue with a wrong name", "/queues", {"name": "A B"}),
    post("create a queue without a name", "/queues", {}),
    post(
        "create a queue with a wrong setting",
        "/queues",
        {"name": "bad", "config": {"max_size": -1}},
    ),
    post("create a queue without a body", "/queues"),
    delete("delete a queue that has jobs", "/queues/email?strategy=reject"),
    delete("delete a queue in an unknown way", "/queues/made?strategy=burn"),
    delete("delete a queue", "/queues/made", {"strategy": "reject"}),
    delete("delete an unknown queue", "/queues/nowhere"),
    delete("delete a declared queue", "/queues/default"),
]

PURGES: Final[list[Step]] = [
    *(post(f"push job {n}", "/jobs", {"type": "a", "args": [n], "queue": "old"}) for n in range(4)),
    post("fetch one", "/workers/fetch", {"queues": ["old"]}, save={"held": "jobs.0.id"}),
    delete(
        "count what a purge would end",
        "/queues/old/jobs",
        {"states": ["available"], "dry_run": True},
    ),
    delete("purge without a confirmation", "/queues/old/jobs", {"states": ["available"]}),
    delete("purge in an unknown state", "/queues/old/jobs", {"states": ["lost"], "confirm": True}),
    delete("purge what is active", "/queues/old/jobs", {"states": ["active"], "confirm": True}),
    delete("purge no states", "/queues/old/jobs", {"states": [], "confirm": True}),
    delete("purge without a body", "/queues/old/jobs"),
    delete(
        "purge with a wrong age",
        "/queues/old/jobs",
        {"states": ["available"], "confirm": True, "older_than": "x"},
    ),
    delete("purge", "/queues/old/jobs", {"states": ["available"], "confirm": True}),
    delete(
        "purge what was cancelled", "/queues/old/jobs", {"states": ["cancelled"], "confirm": True}
    ),
    delete(
        "purge an unknown queue", "/queues/nowhere/jobs", {"states": ["available"], "confirm": True}
    ),
    post("purge by the path", "/queues/old/purge", {"states": ["available", "cancelled"]}),
    post(
        "purge by the path what is old",
        "/queues/old/purge",
        {"states": ["completed"], "older_than": "7d"},
    ),
    post("purge by the path in an unknown state", "/queues/old/purge", {"states": ["lost"]}),
    post("purge by the path without a body", "/queues/old/purge"),
    post("purge an unknown queue by the path", "/queues/nowhere/purge", {"states": ["available"]}),
]

TARGETS: Final = {
    "mailer": {"queues": ["default", "email"], "types": ["email.*"]},
    "reporter": {"queues": ["default"], "types": []},
    "web": {"queues": ["default"], "types": [], "prefixes": ["https://app.example.com/jobs/"]},
}
MAILER: Final = "/queues/default/bindings/mailer"
WEB: Final = "/queues/default/bindings/web"
URL: Final = "https://app.example.com/jobs/"
REPORTER: Final = "/queues/default/bindings/reporter"

BINDINGS: Final[list[Step]] = [
    get("list the bindings of a queue", "/queues/default/bindings"),
    get("list the bindings of an unknown queue", "/queues/never/bindings"),
    get("read a binding", MAILER),
    get("read a binding that the stack does not allow", "/queues/default/bindings/other"),
    put("register job types", REPORTER, {"job_types": ["report.*", "report.new", "report.*"]}),
    put("register a job type of another binding", REPORTER, {"job_types": ["email.*"]}),
    put("register no job types", REPORTER, {"job_types": []}),
    put("register without job types", REPORTER, {}),
    put("register what is no job type", REPORTER, {"job_types": ["a*b"]}),
    put("register an endpoint", REPORTER, {"job_types": ["a"], "endpoint": "https://x.example"}),
    put(
        "register for a function that the stack does not allow",
        "/queues/default/bindings/other",
        {"job_types": ["a"]},
    ),
    put("register an endpoint below a prefix", WEB, {"job_types": ["a"], "endpoint": URL + "mail"}),
    put(
        "register an endpoint elsewhere",
        WEB,
        {"job_types": ["a"], "endpoint": "https://x.example/"},
    ),
    put("register no endpoint", WEB, {"job_types": ["a"]}),
    put(
        "register a config",
        WEB,
        {
            "job_types": ["a"],
            "endpoint": URL,
            "config": {
                "max_concurrency": 100,
                "timeout_ms": 30000,
                "retry": {"non_retryable_errors": ["card.*", "EndpointCrashed"]},
            },
        },
    ),
    get("read a binding with a config", WEB),
    put("register an empty config", WEB, {"job_types": ["a"], "endpoint": URL, "config": {}}),
    put("register no time", REPORTER, {"job_types": ["a"], "config": {"timeout_ms": 0}}),
    put("register what is no config", REPORTER, {"job_types": ["a"], "config": []}),
    put("register a secret", REPORTER, {"job_types": ["a"], "config": {"signing_secret": "x"}}),
    put(
        "register more of a retry policy than a binding has",
        REPORTER,
        {
            "job_types": ["a"],
            "config": {"retry": {"non_retryable_errors": ["a"], "max_attempts": 3}},
        },
    ),
    put("register queues", REPORTER, {"job_types": ["a"], "queues": ["default"]}),
    post("suspend a binding", f"{MAILER}/suspend"),
    get("list the bindings, one of them suspended", "/queues/default/bindings"),
    post("resume a binding", f"{MAILER}/resume"),
    delete("forget the registered job types", REPORTER),
    delete("forget job types that nobody registered", REPORTER),
]

FEATURES: Final = [
    Feature(name="queues", steps=STEPS),
    Feature(
        name="bindings", steps=BINDINGS, settings=Settings(binding_targets=json.dumps(TARGETS))
    ),
    Feature(name="queue_config", steps=CONFIG),
    Feature(name="queue_purge", steps=PURGES),
    Feature(
        name="queues_declared",
        settings=Settings(allow_undeclared_queues=False, queues=("default", "email")),
        by_alias=False,
        steps=[
            post("push to a declared queue", "/jobs", {"type": "a", "args": [], "queue": "email"}),
            post(
                "push to an undeclared queue", "/jobs", {"type": "a", "args": [], "queue": "other"}
            ),
            post("fetch from an undeclared queue", "/workers/fetch", {"queues": ["other"]}),
            post("create an undeclared queue", "/queues", {"name": "made"}),
            put("configure an undeclared queue", "/queues/other/config", {"concurrency": 1}),
        ],
    ),
]
