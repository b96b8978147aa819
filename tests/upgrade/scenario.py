"""A table with something of everything in it, as one version writes it, and what it answers then.

    python -m tests.upgrade.scenario

writes ``written/<version>.json``: the items, the instant, and the answers to some requests. Do so
when a version is released, and never again for it; the files are what later versions must read.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

from ojs_aws import __version__
from ojs_aws.bootstrap import build_backend
from ojs_aws.ports import IdGenerator
from ojs_aws.services.fetch import in_turn
from tests.api import Api
from tests.aws import EmbeddedAws, embedded
from tests.simulation.memory import CountingIds, FakeClock

WRITTEN: Final = Path(__file__).parent / "written"
ERROR: Final = {"type": "Broken", "message": "it broke", "backtrace": ["a", "b"]}
ALIVE: Final = {"worker_id": "w1", "state": "running", "active_jobs": []}


def api_on(aws: EmbeddedAws, clock: FakeClock, ids: IdGenerator | None) -> Api:
    """The functions over an embedded AWS, at an instant."""
    backend = build_backend(aws.settings, aws.clients, clock=clock, ids=ids, both=in_turn)
    return Api(backend)


def fill(api: Api, clock: FakeClock) -> dict[str, str]:
    """Put something of everything into the table; names and paths of what can be read again."""
    jobs: dict[str, str] = {}

    def push(name: str, **more: object) -> None:
        clock.advance(ms=7)
        body = {"type": f"t.{name}", "args": [name, {"n": 1}], "options": {"queue": name} | more}
        reply = api.post("/jobs", body)
        assert reply.status in {200, 201}, reply.text
        jobs[name] = reply.json["id"]

    def take(name: str) -> dict[str, str]:
        reply = api.post("/workers/fetch", {"queues": [name], "worker_id": "w1"})
        assert [job["id"] for job in reply.json["jobs"]] == [jobs[name]], reply.text
        return {"job_id": jobs[name], "worker_id": "w1"}

    def done(path: str, body: object) -> None:
        reply = api.post(path, body)
        assert reply.status in {200, 201}, reply.text

    push("available", priority=7, metadata={"tenant": "t-1", "ünï": "☃"})
    push("scheduled", scheduled_at="+PT2H")
    push("pending", pending=True)
    push("unique", unique={"keys": ["type", "args"], "period": "PT1H"})
    push("large")
    push("limited", rate_limit={"key": "k1", "concurrency": 2})
    for name in ("active", "completed", "retryable", "discarded", "dead", "cancelled"):
        exhausted = {"max_attempts": 1, "on_exhaustion": "dead_letter"} if name == "dead" else {}
        once = {"max_attempts": 1} if name == "discarded" else {"initial_interval": "PT1H"}
        push(name, retry=exhausted or once)
    take("active")
    take("limited")
    done("/workers/ack", take("completed") | {"result": {"sum": 12345678901234567890}})
    for name in ("retryable", "discarded", "dead"):
        done("/workers/nack", take(name) | {"error": ERROR})
    assert api.delete(f"/jobs/{jobs['cancelled']}").status == 200
    batch = [{"type": "t.batch", "args": [n], "options": {"queue": "batch"}} for n in range(101)]
    reply = api.post("/jobs/batch", {"jobs": batch})
    assert reply.status == 201, reply.text
    jobs["batched"] = reply.json["jobs"][100]["id"]
    done("/workers/heartbeat", ALIVE)
    done("/cron", {"name": "nightly", "cron": "0 3 * * *", "type": "t.cron", "args": []})
    done("/queues/available/pause", None)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    done("/schemas", {"uri": "urn:t:1", "type": "t.s", "version": "1", "schema": schema})
    steps = [{"type": "t.step", "args": [n]} for n in range(2)]
    reply = api.post("/workflows", {"type": "chain", "name": "two", "steps": steps})
    assert reply.status == 201, reply.text
    paths = {name: f"/jobs/{job_id}" for name, job_id in jobs.items()}
    return paths | {
        "workflow": f"/workflows/{reply.json['id']}",
        "cron": "/cron/nightly",
        "worker": "/admin/workers/w1",
        "queue": "/queues/available",
        "limit": "/rate-limits/k1",
        "schema": "/schemas/t.s/1",
        "dead letters": "/dead-letter",
    }


def items_of(aws: EmbeddedAws) -> list[dict[str, Any]]:
    """Everything in the table, as DynamoDB's JSON; binaries are Base64."""
    pages = aws.clients.dynamodb.get_paginator("scan").paginate(TableName=aws.settings.table)
    found: list[dict[str, Any]] = _text([item for page in pages for item in page["Items"]])
    return found


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _text(member) for name, member in value.items()}
    return [_text(member) for member in value] if isinstance(value, list) else value


def restored(value: Any) -> Any:
    """An attribute as it was before :func:`items_of`."""
    if isinstance(value, dict):
        return {
            name: base64.b64decode(member)
            if name == "B" and isinstance(member, str)
            else [base64.b64decode(each) for each in member]
            if name == "BS"
            else restored(member)
            for name, member in value.items()
        }
    return [restored(member) for member in value] if isinstance(value, list) else value


def main() -> None:
    """Write the file of this version."""
    clock = FakeClock()
    with embedded() as aws:
        api = api_on(aws, clock, CountingIds())
        paths = fill(api, clock)
        replies = {path: api.get(path) for path in paths.values()}
        assert {reply.status for reply in replies.values()} == {200}
        answers = {path: reply.json for path, reply in replies.items()}
        found = {"now": clock.at, "paths": paths, "items": items_of(aws), "answers": answers}
    WRITTEN.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (WRITTEN / f"{__version__}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
