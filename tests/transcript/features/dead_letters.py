"""Dead letters: lists, statistics, retries, deletions."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, delete, get, post

UNKNOWN: Final = "01990000-0000-7000-8000-00000000ffff"


def dead(name: str, queue: str = "email") -> list[Step]:
    """Return the steps that make a dead letter."""
    retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    body = {"type": f"d.{name}", "args": [name], "queue": queue, "retry": retry}
    error = {"code": "handler_error", "type": "Broken", "message": f"{name} broke"}
    return [
        post(f"push {name}", "/jobs", body, save={name: "id"}),
        post(f"fetch {name}", "/workers/fetch", {"queues": [queue], "worker_id": "w"}),
        post(f"fail {name}", "/workers/nack", {"job_id": f"<{name}>", "error": error}),
    ]


def bulk(name: str, method: str, path: str) -> list[Step]:
    """Return what is sent to each of the bulk operations, with dead letters of its own."""
    send = delete if method == "DELETE" else post
    first, queue = name.replace(" ", "-").lower(), name.replace(" ", "-").lower()
    wanted = {"confirm": True, "filter": {"queue": queue}}
    return [
        *(step for each in (first, f"{first}-more", f"{first}-last") for step in dead(each, queue)),
        send(f"{name} by an empty body", path, {}),
        send(f"{name} without a confirmation", path, {"confirm": False}),
        send(f"{name} by a wrong confirmation", path, {"confirm": "yes"}),
        send(f"{name} by wrong ids", path, {"confirm": True, "ids": ["x"]}),
        send(f"{name} by a wrong time", path, {"confirm": True, "filter": {"since": "x"}}),
        send(f"{name} with a wrong limit", path, {"confirm": True, "limit": 0}),
        send(f"{name} with a wrong cursor", path, wanted | {"cursor": "?"}),
        send(f"{name} with broken JSON", path, "{"),
        send(f"{name} without a body", path),
        send(f"{name} by a dry run", path, {"dry_run": True, "filter": {"queue": queue}}),
        send(f"{name} by a wrong dry run", path, {"dry_run": "yes"}),
        send(f"{name} by a wrong instant", path, wanted | {"as_of": "x"}),
        send(f"{name} by ids", path, {"confirm": True, "ids": [f"<{first}>", UNKNOWN]}),
        send(f"{name} by a filter", path, wanted | {"limit": 1}),
    ]


STEPS: Final[list[Step]] = [
    get("list no dead letters", "/dead-letter"),
    *(step for name in ("one", "two", "three") for step in dead(name)),
    *dead("four", "other"),
    get("list the dead letters", "/dead-letter"),
    get("list a page", "/dead-letter?limit=2", save={"page": "pagination.next_cursor"}),
    get("list the next page", "/dead-letter?limit=2&cursor=<page>"),
    get("list by a page's number", "/dead-letter?page=2&per_page=3"),
    get("list from an offset", "/dead-letter?offset=1&limit=1"),
    get("list those of a queue", "/dead-letter?queue=other"),
    get("list those of a type", "/dead-letter?type=d.two"),
    get("list those of an error", "/dead-letter?error_type=Broken"),
    get(
        "list those of a time", "/dead-letter?since=2020-01-01T00:00:00Z&until=2030-01-01T00:00:00Z"
    ),
    get("list those since no time", "/dead-letter?since=x"),
    get("list with a wrong limit", "/dead-letter?limit=-1"),
    get("list with a wrong cursor", "/dead-letter?cursor=%3F"),
    get("read the statistics", "/dead-letter/stats"),
    get("read a dead letter", "/dead-letter/<one>"),
    get("read an unknown dead letter", f"/dead-letter/{UNKNOWN}"),
    get("read a dead letter by no id", "/dead-letter/x"),
    post("retry a dead letter", "/dead-letter/<four>/retry"),
    post("retry it again", "/dead-letter/<four>/retry"),
    post("retry with an override", "/dead-letter/<three>/retry", {"override": {"priority": 9}}),
    post("retry with a wrong override", "/dead-letter/<two>/retry", {"override": 5}),
    post("retry with an override of its id", "/dead-letter/<two>/retry", {"override": {"id": "x"}}),
    post("retry an unknown dead letter", f"/dead-letter/{UNKNOWN}/retry"),
    delete("delete a dead letter", "/dead-letter/<two>"),
    delete("delete it again", "/dead-letter/<two>"),
    delete("delete an unknown dead letter", f"/dead-letter/{UNKNOWN}"),
    delete("delete a job that is none", "/dead-letter/<four>"),
]

FEATURES: Final = [
    Feature(name="dead_letters", steps=STEPS),
    Feature(
        name="dead_letters_in_bulk",
        steps=[
            *bulk("retry", "POST", "/dead-letter/retry"),
            *bulk("delete", "DELETE", "/dead-letter"),
            *bulk("delete by POST", "POST", "/dead-letter/delete"),
            *dead("old", "old"),
            post("purge what is old", "/dead-letter/purge?older_than=7d"),
            post(
                "purge what is older than an instant",
                "/dead-letter/purge?older_than=2030-01-01T00:00:00Z",
            ),
            post("purge what is older than nothing", "/dead-letter/purge?older_than=x"),
            post("purge without an age", "/dead-letter/purge"),
        ],
    ),
]
