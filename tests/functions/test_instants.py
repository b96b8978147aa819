"""Instants at the edges of what RFC 3339 can say: refused, kept as they were sent, and readable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.codec import to_item
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend import Backend
from ojs_aws.transport.events.stream import build_stream
from tests.api import Api
from tests.simulation.world import World

TOO_LATE = "9999-12-31T23:59:59-23:59"
TOO_EARLY = "0001-01-01T00:00:00+23:59"
BEYOND = Instant(253_402_300_799_000 + 86_340_000)
BEFORE = Instant(-62_135_596_800_000 - 86_340_000)


def body(**options: Any) -> dict[str, Any]:
    return {"type": "a.b", "args": [], "options": options}


@pytest.mark.parametrize("instant", [TOO_LATE, TOO_EARLY])
@pytest.mark.parametrize("name", ["scheduled_at", "delay_until", "expires_at"])
def test_an_instant_that_utc_cannot_say_is_refused(api: Api, name: str, instant: str) -> None:
    """Flat, as an option, and in a batch; the field has the name that the client gave it."""
    flat = {"type": "a.b", "args": [], name: instant}
    batch = api.post("/jobs/batch", {"jobs": [body(), flat]})
    for answer in (api.post("/jobs", flat), api.post("/jobs", body(**{name: instant})), batch):
        assert answer.status == 400
        assert answer.error["code"] == "invalid_request"
        assert name in answer.error["message"]
    assert batch.error["details"]["index"] == 1
    assert api.get("/admin/jobs").json["items"] == []


@pytest.mark.parametrize("name", ["since", "until"])
def test_an_operator_s_instant_that_utc_cannot_say_is_refused(api: Api, name: str) -> None:
    """By the name that the query gives it."""
    answer = api.get("/admin/stats/history", query={name: TOO_LATE})
    assert (answer.status, answer.error["details"]["field"]) == (400, name)


@pytest.mark.parametrize("written", ["2027-06-30T23:59:60Z", "2030-01-01T00:00:00.0123456789012Z"])
@pytest.mark.parametrize("name", ["scheduled_at", "delay_until"])
def test_every_form_of_an_instant_comes_back_as_it_was_sent(
    api: Api, name: str, written: str
) -> None:
    """Leap seconds and any number of digits (RFC 3339, section 5.6)."""
    job_id = api.post("/jobs", body(**{name: written})).json["id"]
    job = api.get(f"/jobs/{job_id}").json["job"]
    assert (job["state"], job["scheduled_at"]) == ("scheduled", written)


def test_a_bad_delay_until_is_named_as_the_client_named_it(api: Api) -> None:
    """Not as the attribute that it becomes."""
    for given in (body(delay_until="tomorrow"), {"type": "a.b", "args": [], "delay_until": 5}):
        answer = api.post("/jobs", given)
        assert (answer.status, answer.error["details"]["field"]) == (400, "delay_until")
        assert "scheduled_at" not in answer.error["message"]


@pytest.mark.parametrize("delay", ["PT10M", "10m", "PT600S"])
def test_a_delay_schedules_the_job(delay: str) -> None:
    """From now on; the client's text comes back, and a resend finds the job."""
    world = World()
    api = Api(world.backend)
    sent = body(delay=delay) | {"id": "01900000-0000-7000-8000-000000000001"}
    first = api.post("/jobs", sent)
    assert (first.status, first.json["job"]["state"]) == (201, "scheduled")
    assert first.json["job"]["options"] == {"delay": delay}
    due = world.stored.jobs[first.json["id"]].scheduled_at
    assert due == world.clock.now() + 600_000
    world.clock.advance(s=5)
    again = api.post("/jobs", sent)
    assert (again.status, again.json["job"]["scheduled_at"]) == (
        200,
        first.json["job"]["scheduled_at"],
    )


def test_an_instant_takes_precedence_over_a_delay(api: Api) -> None:
    """Whichever name it has."""
    for name in ("scheduled_at", "delay_until"):
        given = {name: "2030-01-01T00:00:00Z", "delay": "PT1S"}
        assert api.post("/jobs", body(**given)).json["job"]["scheduled_at"] == given[name]


@pytest.mark.parametrize("delay", ["soon", "-PT1S", 5, True, []])
def test_what_is_no_delay_is_refused_by_its_name(api: Api, delay: object) -> None:
    """Otherwise the job would run at once, and nobody would know why."""
    answer = api.post("/jobs", body(delay=delay))
    assert (answer.status, answer.error["details"]["field"]) == (400, "delay")


@pytest.mark.parametrize(
    ("state", "instants", "shown"),
    [
        (JobState.SCHEDULED, {"scheduled_at": BEYOND}, "9999-12-31T23:59:59.999Z"),
        (JobState.AVAILABLE, {"scheduled_at": BEFORE}, "0001-01-01T00:00:00.000Z"),
        (JobState.AVAILABLE, {"expires_at": BEYOND}, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_job_that_was_stored_with_such_an_instant_can_be_read(
    backend: Backend, state: JobState, instants: dict[str, Any], shown: str
) -> None:
    """By id, in the list, by the sweep, and from the stream, which sets nothing aside."""
    [name] = instants
    written = TOO_LATE if instants[name] == BEYOND else TOO_EARLY
    made = backend.jobs.push.check(Job("a.b", id="01900000-0000-7000-8000-000000000001"))
    document = RawJson(f'{{"specversion":"1.0","args":[],"{name}":"{written}"}}')
    enqueued = made.created_at if state is JobState.AVAILABLE else None
    job = replace(made, state=state, document=document, enqueued_at=enqueued, **instants)
    backend.stores.store.insert(job)
    api = Api(backend)
    assert api.get(f"/jobs/{job.id}").json["job"][name] == written
    backend.upkeep.sweep.tick()
    [item] = api.get("/admin/jobs").json["items"]
    assert item[name] == shown

    consume = build_stream(backend, read_image)
    image = {"NewImage": to_item(job, lambda _, __: 0)}
    answer = consume({"Records": [{"dynamodb": {"SequenceNumber": "1", **image}}]}, None)
    assert answer == {"batchItemFailures": []}
    [event] = api.get("/events").json["events"]
    assert event["subject"] == job.id


@pytest.mark.parametrize(
    "options",
    [
        lambda text: {"delay": text},
        lambda text: {"scheduled_at": f"+{text}"},
        lambda text: {"expires_at": f"+{text}"},
        lambda text: {"visibility_timeout": text},
        lambda text: {"retry": {"initial_interval": text}},
        lambda text: {"retry": {"max_interval": text}},
        lambda text: {"unique": {"keys": ["args"], "period": text}},
        lambda text: {"rate_limit": {"key": "k", "rate": {"limit": 1, "period": text}}},
    ],
)
def test_where_a_duration_is_refused_both_forms_are_shown(
    api: Api, options: Callable[[str], dict[str, Any]]
) -> None:
    """Both are accepted, so that nobody has to learn ISO 8601 for half a minute."""
    refused = api.post("/jobs", body(**options("soon")))
    assert refused.status in {400, 422}
    assert '"30s" or "PT30S" (ISO 8601)' in refused.error["message"]
    for text in ("30m", "PT30M"):
        accepted = api.post("/jobs", body(**options(text)) | {"args": [text]})
        assert accepted.status == 201, text


@pytest.mark.parametrize("name", ["scheduled_at", "delay_until", "expires_at"])
def test_a_refused_instant_says_how_to_count_from_now(api: Api, name: str) -> None:
    """A sign makes an instant of a duration."""
    refused = api.post("/jobs", body(**{name: "30s"}))
    assert "2026-02-12T10:30:00Z" in refused.error["message"]
    assert "+30s" in refused.error["message"]
    assert api.post("/jobs", body(**{name: "+30s"})).status == 201


@pytest.mark.parametrize("interval", [True, [], 1.5])
def test_an_interval_of_a_wrong_type_says_what_it_may_be(api: Api, interval: object) -> None:
    """A duration, or milliseconds."""
    refused = api.post("/jobs", body(retry={"initial_interval": interval}))
    assert refused.status == 400
    assert '"30s" or "PT30S"' in refused.error["message"]
    assert "milliseconds" in refused.error["message"]
