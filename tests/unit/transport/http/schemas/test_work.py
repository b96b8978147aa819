"""The work of checking arguments is bounded for each request, whatever its jobs and schemas are."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.runtime import SCHEMA_S
from ojs_aws.services.schemas.validation import MAX_STEPS
from tests.api import Api, Reply
from tests.simulation.world import World

SHAPE = {"type": "array", "prefixItems": [{"type": "string"}]}
INVOLVED = {
    "type": "array",
    "items": {"anyOf": [{"required": [f"p{number}"]} for number in range(60)]},
}
"""Sixty failures, with their texts, for each item."""


@dataclass
class Meter:
    """Processor time that moves by the same with each look at it."""

    each_s: float = 0.0
    spent_s: float = 0.0
    looks: int = 0

    def __call__(self) -> float:
        """Return the time."""
        self.spent_s += self.each_s
        self.looks += 1
        return self.spent_s


@pytest.fixture
def meter() -> Meter:
    """A meter that stands still."""
    return Meter()


@pytest.fixture
def world(meter: Meter) -> World:
    """A backend whose processor time the test moves."""
    return World(processor_s=meter)


@pytest.fixture
def api(world: World) -> Api:
    """Its functions."""
    return Api(world.backend)


def register(api: Api, schema: dict[str, Any], job_type: str = "email.send") -> str:
    """Register a schema; its URI."""
    body = {"type": job_type, "version": 1, "schema": schema}
    reply = api.post("/schemas", body)
    assert reply.status == 201, reply.text
    return str(reply.json["schema"]["uri"])


def job(uri: str, *args: Any) -> dict[str, Any]:
    """A job that names a schema."""
    return {"type": "email.send", "args": [*args], "schema": uri}


def batch(api: Api, *jobs: dict[str, Any]) -> Reply:
    """Push jobs together."""
    return api.post("/jobs/batch", {"jobs": [*jobs]})


def test_all_jobs_of_a_request_share_its_processor_time(api: Api, meter: Meter) -> None:
    """Ten looks for each job: each could be checked by itself, and so can some of them."""
    uri = register(api, SHAPE)
    assert api.post("/jobs", job(uri, "a")).status == 201
    meter.each_s, meter.looks = SCHEMA_S / 100, 0
    assert api.post("/jobs", job(uri, "a")).status == 201
    each = meter.looks
    fitting = 100 // each - 1
    assert batch(api, *[job(uri, "a")] * fitting).status == 201
    refused = batch(api, *[job(uri, "a")] * 2 * fitting)
    assert (refused.status, refused.error["code"]) == (422, "schema_validation")
    details = refused.error["details"]
    assert details["max_processor_ms"] == 1000
    assert fitting <= details["checked_jobs"] == details["index"] < 2 * fitting
    assert "fewer jobs" in refused.error["hint"]
    assert batch(api, *[job(uri, "a")] * fitting).status == 201, "another request has its own"


def test_arguments_that_alone_take_too_long_are_named_with_their_size(
    api: Api, meter: Meter
) -> None:
    """And not the batch."""
    uri = register(api, SHAPE)
    api.post("/jobs", job(uri, "a"))
    meter.each_s = SCHEMA_S / 2
    refused = api.post("/jobs", job(uri, "a" * 1000))
    assert (refused.status, refused.error["code"]) == (422, "schema_validation")
    assert refused.error["details"] == {
        "field": "args",
        "schema": uri,
        "args_bytes": 1004,
        "checked_jobs": 0,
        "max_processor_ms": 1000,
    }
    assert "1004 bytes" in refused.error["message"]
    assert "smaller arguments" in refused.error["hint"]


def test_to_compile_schemas_counts_as_well() -> None:
    """Or a batch could name a schema for each of its jobs."""
    known, unknown = Meter(), Meter(SCHEMA_S / 200)
    by_known, by_unknown = (Api(World(processor_s=each).backend) for each in (known, unknown))
    jobs = []
    for number in range(60):
        register(by_known, SHAPE, f"email.send{number}")
        jobs.append(job(register(by_unknown, SHAPE, f"email.send{number}"), "a"))
    assert batch(by_known, *jobs).status == 201
    known.each_s = SCHEMA_S / 200
    most = next(n for n in range(60) if batch(by_known, *jobs[: n + 1]).status == 422)
    assert 10 < most < 60
    refused = batch(by_unknown, *jobs[:most])
    assert (refused.status, refused.error["details"]["max_processor_ms"]) == (422, 1000)
    unknown.each_s = 0
    assert batch(by_unknown, *jobs[:most]).status == 201
    unknown.each_s = SCHEMA_S / 200
    assert batch(by_unknown, *jobs[:most]).status == 201, "they are compiled by now"


def test_a_batch_without_time_left_reads_and_compiles_nothing(meter: Meter, world: World) -> None:
    """Each job of a batch is looked at, to name all that are at fault."""
    api = Api(world.backend)
    uris = [register(api, SHAPE, f"email.send{number}") for number in range(60)]
    meter.each_s = SCHEMA_S
    loads: list[str] = []
    load = world.schemas.load

    def counted(uri: str) -> object:
        loads.append(uri)
        return load(uri)

    world.schemas.load = counted  # type: ignore[method-assign,assignment]
    refused = batch(api, *[job(uri, "a") for uri in uris])
    assert (refused.status, refused.error["details"]["error_count"]) == (422, 60)
    assert loads == uris[:1]


def test_the_same_arguments_are_checked_once(api: Api, meter: Meter) -> None:
    """Before the middleware, and behind it only if it changed them."""
    uri = register(api, SHAPE)
    api.post("/jobs", job(uri, "a"))
    meter.looks = 0
    assert batch(api, job(uri, "a"), job(uri, "b")).status == 201
    both = meter.looks
    meter.looks = 0
    assert api.post("/jobs", job(uri, "a")).status == 201
    assert both == 2 * meter.looks
    meter.looks = 0
    assert api.post("/jobs", {**job(uri, "a"), "schema": "urn:none"}).status == 201
    assert meter.looks == 0, "no schema, no check"


def test_a_registered_schema_is_not_checked_by_the_metaschema_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes most of the time to compile it: 480 ms of 495 for one of 60 KB."""
    uri = register(api, SHAPE)

    def refuse(*_: object) -> None:
        raise AssertionError("the schema was checked when it was registered")

    monkeypatch.setattr(Draft202012Validator, "check_schema", refuse)
    assert api.post("/jobs", job(uri, "a")).status == 201
    assert api.post("/jobs", job(uri, 1)).status == 422


def test_outside_of_requests_each_check_has_its_own_time(world: World, meter: Meter) -> None:
    """A cron job that fires, or a client without the API."""
    api = Api(world.backend)
    uri = register(api, SHAPE)
    meter.each_s = SCHEMA_S / 20
    for _ in range(30):
        world.backend.jobs.push(Job("email.send", ["a"], schema=uri))


@pytest.mark.thorough
def test_a_batch_of_involved_checks_takes_a_second_of_processor_time() -> None:
    """Measured: 40 jobs, each within the steps of one check."""
    world = World(processor_s=time.thread_time)
    api = Api(world.backend)
    uri = register(api, INVOLVED)
    assert api.post("/jobs", job(uri, *[{"p0": 1}] * 700)).status == 201
    jobs = [job(uri, *[{"p59": 1}] * 700) for _ in range(40)]
    begun = time.thread_time()
    reply = batch(api, *jobs)
    assert time.thread_time() - begun < 5 * SCHEMA_S
    assert reply.status == 422


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"allOf": [{"uniqueItems": True}] * 800}, [*range(20_000)]),
        ({"contains": {}, "unevaluatedItems": False}, [*range(60_000)]),
        (
            {
                "items": {
                    "patternProperties": {"^k": True},
                    "unevaluatedProperties": False,
                }
            },
            [{f"k{number}": 1 for number in range(60_000)}],
        ),
        ({"items": {}}, [0] * 250_000),
        ({"items": {"format": "regex"}}, ["1" * 600_000]),
    ],
    ids=["unique", "unevaluated items", "unevaluated", "items", "format"],
)
def test_keywords_that_go_through_large_values_are_counted(
    schema: dict[str, Any], args: list[Any], api: Api
) -> None:
    """Each of these took from one second to hours as a single step."""
    uri = register(api, {"type": "array", **schema})
    begun = time.thread_time()
    reply = api.post("/jobs", {**job(uri), "args": args})
    assert time.thread_time() - begun < 5 * SCHEMA_S
    assert reply.status == 422
    assert "too large" in reply.text


def test_a_check_of_many_steps_within_the_limit_is_done(api: Api) -> None:
    """Lists of tens of thousands of values."""
    uri = register(api, {"type": "array", "items": {"type": "integer"}, "uniqueItems": True})
    count = MAX_STEPS // 3
    assert api.post("/jobs", {**job(uri), "args": [*range(count)]}).status == 201
    repeated = [*range(count - 1), 0]
    assert api.post("/jobs", {**job(uri), "args": repeated}).status == 422
