"""Every complete example of the core and middleware specifications is a request that works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ojs_aws.domain.timestamps import parse_timestamp
from tests.api import Api
from tests.simulation.world import World

FILE = Path(__file__).parent / "examples" / "specification.json"
EXAMPLES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
JOBS = [each for each in EXAMPLES if each["kind"] == "job"]
VALID_ID = "019461a8-5e6f-7071-8283-9d0e1f2a3b4c"
SYSTEM = {
    "attempt",
    "completed_at",
    "created_at",
    "enqueued_at",
    "error",
    "result",
    "started_at",
    "state",
}
SAME_VALUE_IN_ANOTHER_FORM = {"retry", "unique"}


@pytest.fixture(autouse=True)
def february(world: World) -> None:
    """The day of the examples."""
    world.clock.at = parse_timestamp("2026-02-12T10:30:00Z", "test")


def example(section: str) -> Any:
    """The request of a section."""
    return next(each["request"] for each in EXAMPLES if each["section"] == section)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job["section"])
def test_an_example_is_accepted_word_for_word(api: Api, job: dict[str, Any]) -> None:
    """What the client set comes back; what only the system sets is the system's."""
    request = job["request"]
    if field := job.get("refused_for"):
        refused = api.post("/jobs", request)
        assert (refused.status, refused.error["details"]["field"]) == (400, field)
        request = {**request, "id": VALID_ID}
    reply = api.post("/jobs", request)
    assert reply.status == 201, reply.text
    stored = api.get(f"/jobs/{request['id']}").json["job"]
    for name, value in request.items():
        if name not in SYSTEM | SAME_VALUE_IN_ANOTHER_FORM:
            assert stored[name] == value, name
    for name, value in job.get("answer", {}).items():
        if name not in SAME_VALUE_IN_ANOTHER_FORM and name not in ("id", "timeout"):
            assert stored.get(name) == value, name


@pytest.mark.parametrize("section", ["core, section 8.2", "core, section 13.7"])
def test_the_example_of_a_failure_is_one_of_nack(api: Api, section: str) -> None:
    """For the job of section 13.4, which may be retried."""
    fail, error = example("core, section 13.7"), example(section)
    error = error.get("error", error)
    api.post("/jobs", example("core, section 13.4"))
    [fetched] = api.post("/workers/fetch", {"queues": ["default"]}).json["jobs"]
    assert fetched["id"] == fail["job_id"]
    assert api.post("/workers/nack", {**fail, "error": error}).json["state"] == "retryable"
    stored = api.get(f"/jobs/{fail['job_id']}").json["job"]
    assert error.items() <= stored["error"].items()


def test_a_key_as_go_and_java_clients_send_it_is_understood(api: Api) -> None:
    """``key`` is a list of fields, and ``period_ms`` a number."""
    policy = {"key": ["order_id"], "period_ms": 60_000, "on_conflict": "reject"}
    body = {"type": "order.ship", "args": [{"order_id": 7, "n": 1}], "options": {"unique": policy}}
    assert api.post("/jobs", body).status == 201
    again = {**body, "args": [{"order_id": 7, "n": 2}]}
    assert api.post("/jobs", again).status == 409
    assert api.post("/jobs", {**body, "args": [{"order_id": 8}]}).status == 201


def test_a_unique_period_in_milliseconds_ends(api: Api, world: World) -> None:
    """One that is no number of milliseconds is refused by its name."""
    body = {"type": "a.b", "args": [], "options": {"unique": {"period_ms": 1500}}}
    assert api.post("/jobs", body).status == 201
    world.clock.advance(s=1.4)
    assert api.post("/jobs", body).status == 409
    world.clock.advance(s=0.1)
    assert api.post("/jobs", body).status == 201
    for wrong in (-1, 1.5, "1500", True, 10**30):
        refused = api.post("/jobs", {**body, "options": {"unique": {"period_ms": wrong}}})
        assert (refused.status, refused.error["details"]["field"]) == (400, "unique.period_ms")


def test_a_key_that_the_arguments_lack_counts_as_absent(api: Api) -> None:
    """Two jobs without it are the same; one that has it is another."""

    def push(*args: Any) -> int:
        policy = {"keys": ["type", "args"], "args_keys": ["report_id", "3"]}
        return api.post("/jobs", {"type": "a.b", "args": args, "unique": policy}).status

    assert push(1, {"charts": True}) == 201
    assert push(2, {"charts": False}) == 409
    assert push({"report_id": None}) == 201
    assert push({"report_id": 1}) == 201
    assert push({"report_id": 1}, "x") == 409
    assert push({"report_id": 1}, "x", "y", "z") == 201
