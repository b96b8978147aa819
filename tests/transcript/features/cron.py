"""Cron jobs: register, read, change, pause, trigger, delete."""

from __future__ import annotations

from typing import Any, Final

from tests.transcript.steps import Feature, Step, delete, get, patch, post

DAILY: Final = {
    "name": "daily-report",
    "cron": "0 9 * * *",
    "timezone": "America/New_York",
    "type": "report.generate",
    "args": [{"report": "daily"}],
    "meta": {"owner": "analytics"},
    "options": {
        "queue": "reports",
        "timeout": 300,
        "retry": {"max_attempts": 3},
        "tags": ["daily"],
    },
    "overlap_policy": "skip",
    "enabled": True,
    "description": "Generate the report",
}
TEMPLATE: Final = {
    "name": "cleanup",
    "expression": "*/5 * * * *",
    "job_template": {"type": "cache.clean", "args": [1.50], "options": {"queue": "low"}},
}
WRONG: Final[dict[str, dict[str, Any]]] = {
    "expression": {"cron": "every day"},
    "expression that is a number": {"cron": 5},
    "timezone": {"timezone": "Mars/Base"},
    "overlap policy": {"overlap_policy": "fight"},
    "type": {"type": "A"},
    "switch": {"enabled": "yes"},
    "description": {"description": 5},
    "option": {"options": {"priority": "high"}},
    "template": {"job_template": 5},
    "args": {"args": {}},
}

REGISTRATIONS: Final[list[Step]] = [
    get("list no cron jobs", "/cron"),
    post("register a cron job", "/cron", DAILY),
    post("register it again", "/cron", DAILY | {"description": "other"}),
    post("register by a template", "/cron", TEMPLATE),
    post("register by seconds", "/cron", DAILY | {"name": "often", "cron": "*/30 * * * * *"}),
    post(
        "register by a name",
        "/cron",
        DAILY | {"name": "hourly", "cron": "@hourly", "enabled": False},
    ),
    *(post(f"register a wrong {name}", "/cron", DAILY | more) for name, more in WRONG.items()),
    post("register without a name", "/cron", {"cron": "* * * * *", "type": "a", "args": []}),
    post("register a wrong name", "/cron", DAILY | {"name": "a b/c"}),
    post("register without an expression", "/cron", {"name": "x", "type": "a", "args": []}),
    post("register without a type", "/cron", {"name": "x", "cron": "* * * * *", "args": []}),
    post("register without a body", "/cron"),
    post("register with broken JSON", "/cron", "{"),
    post("register too large args", "/cron", DAILY | {"name": "large", "args": ["x" * 1_100_000]}),
]

CHANGES: Final[list[Step]] = [
    post("register a cron job", "/cron", DAILY),
    post("register by a template", "/cron", TEMPLATE),
    get("list the cron jobs", "/cron"),
    get("list a page", "/cron?limit=1", save={"page": "pagination.next_cursor"}),
    get("list the next page", "/cron?limit=1&cursor=<page>"),
    get("list by a page's number", "/cron?page=2&per_page=1"),
    get("list those that are enabled", "/cron?enabled=true"),
    get("list those that are not", "/cron?enabled=false"),
    get("list with a wrong switch", "/cron?enabled=perhaps"),
    get("list with a wrong limit", "/cron?limit=x"),
    get("read a cron job", "/cron/daily-report"),
    get("read an unknown cron job", "/cron/nowhere"),
    patch("change the expression", "/cron/daily-report", {"cron": "0 10 * * *"}),
    patch("change the job", "/cron/daily-report", {"args": [2], "options": {"queue": "other"}}),
    patch("switch off", "/cron/daily-report", {"enabled": False}),
    patch("switch on", "/cron/daily-report", {"enabled": True}),
    *(
        patch(f"change to a wrong {name}", "/cron/daily-report", more)
        for name, more in WRONG.items()
    ),
    patch("change nothing", "/cron/daily-report", {}),
    patch("change without a body", "/cron/daily-report"),
    patch("change an unknown cron job", "/cron/nowhere", {"enabled": True}),
    post("pause", "/cron/daily-report/pause"),
    post("pause an unknown cron job", "/cron/nowhere/pause"),
    post("resume", "/cron/daily-report/resume"),
    post("resume an unknown cron job", "/cron/nowhere/resume"),
    post("trigger", "/cron/daily-report/trigger"),
    post("trigger while it runs", "/cron/daily-report/trigger"),
    post("trigger an unknown cron job", "/cron/nowhere/trigger"),
    get("list the runs", "/cron/daily-report/history"),
    get("list the runs with a limit", "/cron/daily-report/history?limit=1"),
    get("list the runs with a wrong limit", "/cron/daily-report/history?limit=x"),
    get("list the runs of an unknown cron job", "/cron/nowhere/history"),
    delete("delete", "/cron/daily-report"),
    delete("delete again", "/cron/daily-report"),
]

FEATURES: Final = [
    Feature(name="cron_registrations", steps=REGISTRATIONS),
    Feature(name="cron", steps=CHANGES),
]
