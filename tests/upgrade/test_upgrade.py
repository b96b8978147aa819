"""What earlier versions wrote is read, and goes on, after an upgrade; nothing is migrated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ojs_aws.bootstrap import build_authentication
from ojs_aws.domain.access import GRANTS, Scope
from ojs_aws.testing.deployment import FakeClock
from tests.api import Api
from tests.aws import EmbeddedAws
from tests.upgrade.scenario import (
    BUCKET,
    WRITTEN,
    Following,
    api_on,
    backend_on,
    deployment,
    left_by_this_version,
    restored,
)

pytestmark = pytest.mark.thorough

FILES = sorted(WRITTEN.glob("*.json"))


def read_newest() -> dict[str, Any]:
    """Return what the newest version left."""
    found: dict[str, Any] = json.loads(FILES[-1].read_text(encoding="utf-8"))
    return found


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def written(request: pytest.FixtureRequest) -> Any:
    """What a version left."""
    path: Path = request.param
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def upgraded(written: Any) -> Iterator[tuple[Api, EmbeddedAws]]:
    """This version over that table, at that instant."""
    clock = FakeClock(at=written["now"])
    with deployment() as aws:
        for key, text in written.get("objects", {}).items():
            aws.clients.s3().put_object(Bucket=BUCKET, Key=key, Body=text.encode())
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


KINDS = (
    *("apikeys", "batch", "batches", "bulk", "completed", "cron", "depths", "events", "failures"),
    *("fair", "job", "limits", "marks", "operations", "pressure", "queues", "schema", "schemas"),
    *("seq", "settings", "tally", "tick", "totals", "uniq", "workers", "workflow"),
)
"""What the partition keys of items begin with. Others are notes that may be lost at any time."""


@pytest.mark.parametrize("find", [read_newest, left_by_this_version])
def test_there_is_something_of_every_kind_to_read(find: Callable[[], dict[str, Any]]) -> None:
    """In what the newest version wrote, and today's does; a new kind belongs into the scenario."""
    newest = find()
    found = {item["pk"]["S"].partition("#")[0] for item in newest["items"]}
    assert sorted(found) == [*KINDS]
    assert newest["objects"]
    assert any(item["sk"]["S"].startswith("blob#") for item in newest["items"])


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


def test_what_was_under_way_goes_on(written: Any, upgraded: tuple[Api, EmbeddedAws]) -> None:
    """Documents elsewhere, a committed batch, bounds, limits, workflows, and who may do it."""
    if "key" not in written:
        pytest.skip("0.1.0-early has none of it")
    _, aws = upgraded
    clock = FakeClock(at=written["now"])
    backend = backend_on(aws, clock, None)
    api, follow = Api(backend), Following(aws, backend)
    paths = written["paths"]

    def work(queue: str) -> Any:
        """Take a job and complete it."""
        body = {"queues": [queue], "worker_id": "w3"}
        (job,) = api.post("/workers/fetch", body).json["jobs"]
        reply = api.post("/workers/ack", {"job_id": job["id"], "worker_id": "w3"})
        assert reply.status == 200, reply.text
        return job

    for name in ("in-an-item", "in-s3"):
        assert work(name)["args"] == written["answers"][paths[name]]["job"]["args"]
    assert api.post("/jobs", {"type": "t", "args": [], "queue": "bounded"}).status == 429
    work("bounded")
    work("throttled")
    held = paths["running"].rpartition("/")[2]
    ack = {"job_id": held, "worker_id": "w2"}
    assert api.post("/workers/ack", ack).status == 200
    for _ in range(3):  # as often as a step leads to another
        follow()
        while api.get("/queues/steps/stats").json["available"]:
            work("steps")
    assert work("told")["type"] == "t.told"
    follow()
    for name in ("chain", "group", "batch"):
        assert api.get(paths[name]).json["state"] == "completed", name
    kinds = [each["type"] for each in api.get("/events").json["events"]]
    assert "workflow.completed" in kinds
    verdict = build_authentication(aws.settings, aws.clients.dynamodb, clock)(
        f"Bearer {written['key']}"
    )
    assert verdict.caller is not None
    assert verdict.caller.permissions == GRANTS[Scope.PRODUCER]
    assert [*backend.stores.events().aside(10)]
    clock.advance(s=60)
    backend.upkeep.sweep.tick()  # finishes the batch whose process died
    assert work("logged")["type"] == "t.logged"
    assert api.get("/queues/logged/stats").json["available"] == 100


def test_sequences_go_on(written: Any, upgraded: tuple[Api, EmbeddedAws]) -> None:
    """In their order: a job ends and the next one runs, and a stopped sequence can be skipped."""
    if "s1" not in written["paths"]:
        pytest.skip("versions before 0.3.0 have none")
    _, aws = upgraded
    clock = FakeClock(at=written["now"])
    backend = backend_on(aws, clock, None)
    api, follow = Api(backend), Following(aws, backend)
    ids = {name: path.rpartition("/")[2] for name, path in written["paths"].items()}
    options = {"queue": "ordered", "sequence": "s1"}
    last = api.post("/jobs", {"type": "t.ordered", "args": [], "options": options}).json["id"]

    def fetched() -> list[str]:
        body = {"queues": ["ordered"], "worker_id": "w3", "count": 5}
        return [job["id"] for job in api.post("/workers/fetch", body).json["jobs"]]

    def ack(job_id: str, worker: str = "w3") -> None:
        reply = api.post("/workers/ack", {"job_id": job_id, "worker_id": worker})
        assert reply.status == 200, reply.text
        follow()

    assert fetched() == []
    ack(ids["head"], "w2")
    assert fetched() == [ids["blocked"]]
    ack(ids["blocked"])
    assert fetched() == []
    clock.advance(s=7200)
    assert fetched() == [ids["blocked later"]]
    ack(ids["blocked later"])
    assert fetched() == [last]
    assert api.post("/admin/sequences/s2/skip").status == 200
    assert fetched() == [ids["behind"]]


def test_fair_jobs_keep_their_places(written: Any, upgraded: tuple[Api, EmbeddedAws]) -> None:
    """And new jobs take theirs among them, by the keys' weights."""
    if "fair" not in written["paths"]:
        pytest.skip("versions before 0.3.0 have none")
    api, _ = upgraded

    def started(count: int) -> list[str]:
        body = {"queues": ["fair"], "worker_id": "w3"}
        replies = [api.post("/workers/fetch", body).json["jobs"] for _ in range(count)]
        return [job["type"] for jobs in replies for job in jobs]

    first = started(3)
    assert Counter(first) == {"t.a": 1, "t.b": 2}
    options = {"queue": "fair", "fairness": {"key": "c"}}
    assert api.post("/jobs", {"type": "t.c", "args": [], "options": options}).status == 201
    assert "t.c" in started(3)
    assert len(started(9)) == 3


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


def test_totals_are_right_after_the_first_ticks(
    written: Any, upgraded: tuple[Api, EmbeddedAws]
) -> None:
    """Versions before 0.1.0 kept none: the jobs of each queue are counted, five queues a minute."""
    _, aws = upgraded
    clock = FakeClock(at=written["now"])
    backend = backend_on(aws, clock, None)
    api, follow = Api(backend), Following(aws, backend)
    are_kept = any(item["pk"]["S"].startswith("totals#") for item in written["items"])
    assert any(api.get("/admin/stats").json["jobs"].values()) == are_kept
    for _ in range(20):
        backend.upkeep.sweep.tick()
        follow()
        clock.advance(s=60)
    stats = api.get("/admin/stats").json
    assert stats["queues_counted"] == stats["queues"] > 5
    right = Counter[str]()
    for queue in api.get("/queues").json["queues"]:
        right.update(backend.queues.statistics.counts(queue["name"]).counts)
    assert stats["jobs"] == right
    assert sum(right.values()) > 10
