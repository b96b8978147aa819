"""Server-sent events over HTTP (ojs-realtime, section 2), as a function answers them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import Caller, Permission, Scope, permissions_of
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord
from ojs_aws.services.access.api_keys import Verdict
from ojs_aws.services.events import Commit, events_of
from ojs_aws.transport.http.callers import verdict_context
from tests.api import Api, Reply
from tests.simulation.world import World

UNKNOWN = "01990000-0000-7000-8000-0000000000ff"


@dataclass(frozen=True)
class Frame:
    """A server-sent event, read as browsers read it."""

    id: str
    name: str
    data: Any


def frames_of(reply: Reply) -> list[Frame]:
    """Return the events of a stream; those without data are none."""
    assert reply.status == 200, reply.text
    found = []
    for block in reply.text.split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n")]
        fields = {name: value for name, _, value in lines if name != "data"}
        data = "\n".join(value for name, _, value in lines if name == "data")
        if data:
            found.append(Frame(fields["id"], fields["event"], json.loads(data)))
    return found


def last_id(reply: Reply) -> str:
    """Return the id that a client comes back with."""
    ids = [line[4:] for line in reply.text.split("\n") if line.startswith("id: ")]
    return ids[-1]


@pytest.fixture
def world() -> World:
    """A backend whose changes are published at once."""
    world = World(settings=Settings(auth="api-key"))

    def publish(before: JobRecord | None, after: JobRecord | None) -> None:
        now = world.clock.now()
        world.events.append(events_of(before, after, Commit(now)), now)

    world.follow_jobs(publish)
    for queue in ("default", "email"):
        world.registry.ensure(queue, world.clock.now())
    return world


def caller(scope: Scope = Scope.ADMIN, **bounds: tuple[str, ...]) -> dict[str, Any]:
    """Return what the gateway says of a caller."""
    found = Caller(id="key:1", permissions=permissions_of([scope]), **bounds)  # type: ignore[arg-type]
    return {"lambda": verdict_context(Verdict(found))}


@pytest.fixture
def api(world: World) -> Api:
    """Its functions; the caller is an administrator at first."""
    api = Api(world.backend)
    api.authorizer = caller()
    return api


def live(api: Api, job_id: str, queue: str = "default") -> None:
    """Fetch a job and complete it."""
    assert [job["id"] for job in api.fetch(queue)] == [job_id]
    assert api.post("/workers/ack", {"job_id": job_id}).status == 200


def steps(frames: list[Frame]) -> list[tuple[str, str]]:
    """Return the states that frames name."""
    return [(each.data["from"], each.data["to"]) for each in frames]


LIFE = [("", "available"), ("available", "active"), ("active", "completed")]


def test_a_new_subscription_gets_what_happens_from_now_on(api: Api) -> None:
    """The first answer has no event, and the place from which the next one goes on."""
    api.push()
    begun = api.get("/events/stream")
    assert begun.headers["Content-Type"] == "text/event-stream"
    assert begun.headers["Cache-Control"] == "no-cache"
    assert begun.text.startswith("retry: 3000\n\n")
    assert frames_of(begun) == []
    job_id = api.push()
    (frame,) = frames_of(
        api.get("/events/stream", headers={"Last-Event-ID": last_id(begun)}),
    )
    assert frame.name == "job.state_changed"
    received = {
        name: frame.data[name] for name in ("job_id", "queue", "type", "from", "to", "event")
    }
    assert received == {
        "job_id": job_id,
        "queue": "default",
        "type": "demo.echo",
        "from": "",
        "to": "available",
        "event": "job.enqueued",
    }
    assert frame.data["timestamp"].endswith("Z")


def test_nothing_is_lost_or_repeated_however_often_a_client_comes_back(api: Api) -> None:
    """Each answer begins behind the last frame; ids sort as texts."""
    place = last_id(api.get("/events/stream"))
    received: list[Frame] = []
    for number in range(3):
        live(api, api.push(args=[number]))
        for _ in range(2):
            reply = api.get("/events/stream", headers={"Last-Event-ID": place})
            if found := frames_of(reply):
                received += found
                place = last_id(reply)
            else:
                assert ":heartbeat" in reply.text or last_id(reply) > place
    assert steps(received) == LIFE * 3
    ids = [each.id for each in received]
    assert ids == sorted(set(ids))
    one = api.get("/events/stream", query={"last_event_id": ids[6]})
    assert steps(frames_of(one)) == LIFE[1:]


def test_a_job_is_followed_until_it_has_ended(api: Api, world: World) -> None:
    """Then browsers are asked not to come back."""
    first, job_id = api.push(queue="email"), api.push()
    path = f"/jobs/{job_id}/events"
    begun = api.get(path)
    live(api, first, "email")
    live(api, job_id)
    reply = api.get(path, headers={"Last-Event-ID": last_id(begun)})
    assert steps(frames_of(reply)) == LIFE[1:]
    again = api.get(path, headers={"Last-Event-ID": last_id(reply)})
    assert (again.status, again.text) == (204, "")


def test_a_job_that_has_ended_shows_its_state_once(api: Api) -> None:
    """Section 2.1: one event, and the stream is over; filters hold."""
    job_id = api.push()
    live(api, job_id)
    path = f"/jobs/{job_id}/events"
    reply = api.get(path)
    assert steps(frames_of(reply)) == [("active", "completed")]
    assert api.get(path, headers={"Last-Event-ID": last_id(reply)}).status == 204
    filtered = api.get(path, query={"event_types": "job.progress"})
    assert frames_of(filtered) == []
    assert api.get(path, headers={"Last-Event-ID": last_id(filtered)}).status == 204


def test_a_follower_waits_for_the_event_of_the_end_but_not_for_ever(api: Api, world: World) -> None:
    """The log may show it a moment after the job has ended; after ten seconds the job says it."""
    job_id = api.push()
    path = f"/jobs/{job_id}/events"
    place = last_id(api.get(path))
    late: list[Event] = []
    append = world.events.append
    world.events.append = lambda events, now: late.extend(events)  # type: ignore[method-assign]
    live(api, job_id)
    reply = api.get(path, headers={"Last-Event-ID": place})
    assert frames_of(reply) == []
    world.clock.advance(s=11)
    reply = api.get(path, headers={"Last-Event-ID": place})
    assert steps(frames_of(reply)) == [("active", "completed")]
    assert last_id(reply).endswith(".over")
    append(late, world.clock.now())
    assert steps(frames_of(api.get(path, headers={"Last-Event-ID": place}))) == LIFE[1:]


def test_an_expired_job_is_over(api: Api, world: World) -> None:
    """Its event has another name than its state."""
    job_id = api.push(expires_at="2025-10-09T08:54:00Z")
    path = f"/jobs/{job_id}/events"
    place = last_id(api.get(path))
    world.clock.advance(s=41)
    assert frames_of(api.get(path, headers={"Last-Event-ID": place})) == []
    reply = api.get(path, headers={"Last-Event-ID": place})
    assert steps(frames_of(reply)) == [("available", "discarded")]
    assert last_id(reply).endswith(".over")


def test_a_queue_is_followed_without_others(api: Api) -> None:
    """By its path, and as a channel."""
    paths = [("/queues/email/events", {}), ("/events/stream", {"channel": "queue:email"})]
    begun = [last_id(api.get(path, query=query)) for path, query in paths]
    api.push()
    job_id = api.push(queue="email")
    for (path, query), place in zip(paths, begun, strict=True):
        reply = api.get(path, query=query, headers={"Last-Event-ID": place})
        assert [each.data["job_id"] for each in frames_of(reply)] == [job_id]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["job.state_changed"] * 3 + ["job.failed", "job.state_changed"]),
        ({"event_types": "job.state_changed"}, ["job.state_changed"] * 4),
        ({"event_types": "job.*"}, ["job.state_changed"] * 3 + ["job.failed", "job.state_changed"]),
        ({"event_types": "job.failed,job.progress"}, ["job.failed"]),
        ({"types": "job.completed,job.discarded"}, ["job.discarded"]),
        ({"queue": "email"}, ["job.state_changed"]),
        ({"queues": "email,other"}, ["job.state_changed"]),
        ({"job_type": "a.b"}, ["job.state_changed"]),
        ({"job_types": "a.c"}, []),
    ],
)
def test_filters_choose_frames(api: Api, query: dict[str, str], expected: list[str]) -> None:
    """Who asks for the types of the log gets frames of these names."""
    place = last_id(api.get("/events/stream"))
    job_id = api.push(retry={"max_attempts": 1})
    api.fetch()
    api.post("/workers/nack", {"job_id": job_id, "error": {"type": "Broken", "message": "no"}})
    api.push(type="a.b", queue="email")
    reply = api.get("/events/stream", query=query, headers={"Last-Event-ID": place})
    names = [each.name for each in frames_of(reply)]
    assert sorted(names) == sorted(expected)
    assert last_id(reply) > place


def test_progress_has_the_members_of_the_specification(api: Api) -> None:
    """Whole percent, and the message."""
    job_id = api.push()
    api.fetch()
    place = last_id(api.get("/events/stream"))
    body = {"job_id": job_id, "worker_id": "w", "progress": 0.755, "message": "page 3"}
    assert api.post("/workers/progress", body).status == 200
    (frame,) = frames_of(api.get("/events/stream", headers={"Last-Event-ID": place}))
    assert (frame.name, frame.data["progress"], frame.data["message"]) == (
        "job.progress",
        76,
        "page 3",
    )


def test_a_result_with_line_breaks_stays_what_it_is(api: Api) -> None:
    """Clients' JSON is sent as they wrote it; a frame's data has several lines then."""
    job_id = api.push()
    api.fetch()
    place = last_id(api.get("/events/stream"))
    result = '{\r\n "a": [1,\n\n 2], "t": "x\\ny\u2028z"}'
    ack = f'{{"job_id": "{job_id}", "result": {result}}}'
    assert api.post("/workers/ack", ack).status == 200
    (frame,) = frames_of(api.get("/events/stream", headers={"Last-Event-ID": place}))
    assert frame.data["result"] == {"a": [1, 2], "t": "x\ny\u2028z"}


def test_the_id_of_an_event_of_the_log_is_a_place_too(api: Api) -> None:
    """Who read `GET /events` before goes on from there."""
    job_id = api.push()
    (event,) = api.get("/events").json["events"]
    live(api, job_id)
    reply = api.get("/events/stream", headers={"Last-Event-ID": event["id"]})
    assert steps(frames_of(reply)) == LIFE[1:]


@pytest.mark.parametrize(
    "unknown", ["evt_01990000-0000-7000-8000-0123456789ab", "evt_0042", "?", "x" * 3000]
)
def test_a_place_that_is_not_known_is_a_gap_and_no_error(api: Api, unknown: str) -> None:
    """Section 5.5.1: the notice, then what happens from now on."""
    api.push()
    reply = api.get("/events/stream", headers={"Last-Event-ID": unknown})
    (gap,) = frames_of(reply)
    assert (gap.name, gap.data["channel"]) == ("system.gap", "all")
    assert gap.data["gap_start"] <= gap.data["gap_end"]
    api.push()
    assert len(frames_of(api.get("/events/stream", headers={"Last-Event-ID": gap.id}))) == 1


def test_what_does_not_exist_cannot_be_followed(api: Api) -> None:
    """404, and 400 for what can be no channel or filter."""
    for path in (f"/jobs/{UNKNOWN}/events", "/queues/nowhere/events"):
        assert api.get(path).status == 404
    for channel in (f"job:{UNKNOWN}", "queue:nowhere"):
        assert api.get("/events/stream", query={"channel": channel}).status == 404
    for channel in ("job:", "moon:x", "job:x", "queue:A B"):
        assert api.get("/events/stream", query={"channel": channel}).status == 400, channel
    assert api.get("/events/stream", query={"event_types": "job.moved"}).status == 400


@pytest.mark.parametrize("scope", Scope)
def test_who_may_read_events_may_follow_them(api: Api, scope: Scope) -> None:
    """Of the scopes, those that may inspect."""
    job_id = api.push()
    api.authorizer = caller(scope)
    paths = ("/events", "/events/stream", f"/jobs/{job_id}/events", "/queues/default/events")
    statuses = {api.get(path).status for path in paths}
    may = Permission.INSPECT in permissions_of([scope])
    assert statuses == ({200} if may else {403})


@pytest.mark.parametrize(
    "bounds",
    [
        {"queues": ("email",)},
        {"types": ("email.*",)},
        {"queues": ("email",), "types": ("email.*",)},
    ],
)
def test_a_bound_key_follows_and_reads_its_own_events_only(
    api: Api, bounds: dict[str, tuple[str, ...]]
) -> None:
    """Neither jobs of others nor their queues nor workers."""
    place = last_id(api.get("/events/stream"))
    mine = api.push(type="email.send", queue="email")
    foreign = api.push(type="payment.charge", queue="default")
    api.authorizer = caller(Scope.OPERATOR, **bounds)
    everything = api.get("/events/stream", headers={"Last-Event-ID": place})
    assert [each.data["job_id"] for each in frames_of(everything)] == [mine]
    for query in ({}, {"per_page": "10"}):
        shown = api.get("/events", query=query).json["events"]
        assert [each["subject"] for each in shown] == [mine]
    assert api.get(f"/jobs/{foreign}/events").status == 404
    assert api.get("/events/stream", query={"channel": f"job:{foreign}"}).status == 404
    if "queues" in bounds:
        assert api.get("/queues/default/events").status == 403
        assert api.get("/events/stream", query={"channel": "queue:default"}).status == 403
    assert frames_of(api.get(f"/jobs/{mine}/events")) == []
