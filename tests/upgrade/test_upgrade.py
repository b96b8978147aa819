"""What earlier versions wrote is read, and goes on, after an upgrade; nothing is migrated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api import Api
from tests.aws import EmbeddedAws, embedded
from tests.simulation.memory import FakeClock
from tests.upgrade.scenario import WRITTEN, api_on, restored

FILES = sorted(WRITTEN.glob("*.json"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def written(request: pytest.FixtureRequest) -> Any:
    """What a version left."""
    path: Path = request.param
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def upgraded(written: Any) -> Iterator[tuple[Api, EmbeddedAws]]:
    """This version over that table, at that instant."""
    clock = FakeClock(at=written["now"])
    with embedded() as aws:
        for item in written["items"]:
            aws.clients.dynamodb.put_item(TableName=aws.settings.table, Item=restored(item))
        yield api_on(aws, clock, ids=None), aws


def differing(was: Any, now: Any, path: str = "") -> list[str]:
    """Where an answer says less than it did, or something else; it may say more."""
    if isinstance(was, dict) and isinstance(now, dict):
        members = [differing(value, now.get(name), f"{path}.{name}") for name, value in was.items()]
        return [each for found in members for each in found]
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        pairs = enumerate(zip(was, now, strict=True))
        items = [differing(a, b, f"{path}[{n}]") for n, (a, b) in pairs]
        return [each for found in items for each in found]
    return [] if was == now else [f"{path}: {was!r} became {now!r}"]


def test_there_is_something_to_read() -> None:
    """At least the version that is released."""
    assert FILES


def test_everything_is_answered_as_it_was(written: Any, upgraded: tuple[Api, EmbeddedAws]) -> None:
    """Jobs in every state, large batches, workflows, cron jobs, workers, limits, schemas."""
    api, _ = upgraded
    for name, path in written["paths"].items():
        assert differing(written["answers"][path], api.get(path).json) == [], name


def test_every_job_goes_on(written: Any, upgraded: tuple[Api, EmbeddedAws]) -> None:
    """Each by the operation that its state permits."""
    api, _ = upgraded
    ids = {name: path.rpartition("/")[2] for name, path in written["paths"].items()}

    def ok(reply: Any) -> None:
        assert reply.status in {200, 201}, reply.text

    ok(api.post("/workers/ack", {"job_id": ids["active"], "worker_id": "w1"}))
    ok(api.post("/workers/ack", {"job_id": ids["limited"], "worker_id": "w1"}))
    ok(api.post(f"/jobs/{ids['pending']}/activate"))
    ok(api.post(f"/dead-letter/{ids['dead']}/retry"))
    for name in ("scheduled", "retryable", "unique"):
        ok(api.delete(f"/jobs/{ids[name]}"))
    ok(api.post("/queues/available/resume"))
    for queue in ("available", "pending", "dead", "batch"):
        body = {"queues": [queue], "worker_id": "w1"}
        assert len(api.post("/workers/fetch", body).json["jobs"]) == 1, queue
    (step,) = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w1"}).json["jobs"]
    ok(api.post("/workers/ack", {"job_id": step["id"], "worker_id": "w1"}))
    assert api.get(written["paths"]["workflow"]).json["steps_completed"] == 1


def test_a_unique_job_still_keeps_others_out(
    written: Any, upgraded: tuple[Api, EmbeddedAws]
) -> None:
    """The uniqueness key must not change from version to version."""
    api, _ = upgraded
    held = written["paths"]["unique"].rpartition("/")[2]
    options = {"queue": "unique", "unique": {"keys": ["type", "args"], "period": "PT1H"}}
    body = {"type": "t.unique", "args": ["unique", {"n": 1}], "options": options}
    reply = api.post("/jobs", body)
    assert reply.status == 409
    assert held in reply.text
