"""What a client sent comes back as it was sent, in every form that is understood."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api import Api
from tests.simulation.world import World

UNIQUE: tuple[dict[str, Any], ...] = (
    {"key": ["type", "args"]},
    {"key": ["user"], "within": "5m"},
    {"key": "nightly", "period": 90},
    {"keys": ["type"], "period_ms": 1500, "on_conflict": "use_existing"},
    {"keys": ["type"], "states": None, "period": "1h"},
)
RETRY: tuple[dict[str, Any], ...] = (
    {"initial_interval": "1s", "max_interval": "5m"},
    {"initial_interval": 1000, "max_interval": 2000},
    {"initial_interval_ms": 1000, "max_interval_ms": 2000},
    {"initial_interval": "PT1S", "backoff": "constant"},
)


@pytest.mark.parametrize("unique", UNIQUE)
@pytest.mark.parametrize("place", ["", "options"])
def test_a_unique_policy_comes_back_as_sent(api: Api, unique: dict[str, Any], place: str) -> None:
    """With the push, the read and the fetch; nothing is put beside it."""
    body: dict[str, Any] = {"type": "a.b", "args": [{"user": 1}]}
    body |= {"options": {"unique": unique}} if place else {"unique": unique}
    pushed = api.post("/jobs", body).json["job"]
    assert pushed["unique"] == unique
    assert "unique_key" not in pushed
    assert api.get(f"/jobs/{pushed['id']}").json["job"]["unique"] == unique
    fetched = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"}).json
    assert fetched["jobs"][0]["unique"] == unique


@pytest.mark.parametrize("unique", UNIQUE[:4])
def test_a_job_is_unique_by_each_form_of_a_policy(
    api: Api, world: World, unique: dict[str, Any]
) -> None:
    """The second one is a duplicate; at the end of a period it is none any more."""
    body = {"type": "a.b", "args": [{"user": 1}], "unique": unique}
    first = api.post("/jobs", body)
    second = api.post("/jobs", body)
    assert first.status == 201
    if unique.get("on_conflict"):
        assert (second.status, second.json["job"]["id"]) == (200, first.json["job"]["id"])
    else:
        assert (second.status, second.error["code"]) == (409, "duplicate")
    world.clock.advance(s=301)
    again = api.post("/jobs", body)
    assert again.status == (409 if unique == UNIQUE[0] else 201)


@pytest.mark.parametrize("retry", RETRY)
def test_the_durations_of_a_retry_policy_come_back_as_sent(
    api: Api, world: World, retry: dict[str, Any]
) -> None:
    """And mean the same."""
    pushed = api.post("/jobs", {"type": "a.b", "args": [], "retry": {**retry, "jitter": False}})
    job = pushed.json["job"]
    assert job["retry"] == {**retry, "jitter": False}
    api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"})
    api.post("/workers/nack", {"job_id": job["id"], "error": {"type": "E", "message": "m"}})
    failed = world.stored.jobs[job["id"]]
    assert failed.next_attempt_at == world.clock.now() + 1000
    assert api.get(f"/jobs/{job['id']}").json["job"]["retry"] == {**retry, "jitter": False}


def test_the_text_of_a_policy_is_kept_byte_for_byte(api: Api) -> None:
    """Spaces, escapes and the order of its members."""
    unique, retry = '{ "key" : ["us\\u0065r"] }', '{"max_interval":"5m", "initial_interval" : "1s"}'
    body = f'{{"type":"a.b","args":[{{"user":1}}],"unique":{unique},"retry":{retry}}}'
    job = api.send("POST", "/ojs/v1/jobs", body).members["job"]
    assert unique in job.raw
    assert retry in job.raw


def test_the_jobs_of_cron_entries_and_workflows_keep_their_forms(api: Api, world: World) -> None:
    """As those that are pushed."""
    options = {"retry": {"initial_interval": "1s"}, "unique": {"key": ["user"]}}
    cron = {"name": "c", "cron": "0 3 * * *", "type": "a.b", "args": [], "options": options}
    api.post("/cron", cron)
    job_id = api.post("/cron/c/trigger").json["job_id"]
    job = api.get(f"/jobs/{job_id}").json["job"]
    assert (job["retry"], job["unique"]) == (options["retry"], options["unique"])
    steps = [{"id": "a", "type": "a.b", "args": [], "options": {"retry": options["retry"]}}]
    api.post("/workflows", {"name": "w", "steps": steps})
    jobs = [each for each in world.stored.jobs.values() if each.workflow_id]
    assert json.loads(str(jobs[0].retry_document)) == options["retry"]
