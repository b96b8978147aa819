"""The bus: bounded calls, only refused events again, and none lost without being named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from mypy_boto3_events import EventBridgeClient

from ojs_aws.adapters.events import MAX_REQUEST_BYTES, EventBus, entry_bytes
from ojs_aws.config import Settings
from ojs_aws.domain.events import REQUIRED_DATA, Event, event_id
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from tests.aws import embedded

NOW = Instant(1_760_000_000_000)


def event(number: int, kind: str = "job.enqueued", size: int = 10) -> Event:
    """An event with data of about this size."""
    return Event(
        id=event_id(NOW, number),
        type=kind,
        time=NOW,
        queue="default",
        subject=f"job-{number}",
        data=RawJson(json.dumps({"job_type": "a.b", "queue": "default", "result": "x" * size})),
    )


class Bridge:
    """EventBridge with troubles: refuses what it is asked to, a number of times."""

    def __init__(self) -> None:
        self.calls: list[list[dict[str, Any]]] = []
        self.taken: list[str] = []
        self.troubles: dict[str, int] = {}
        self.failures = 0

    def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        """Take entries, or not."""
        self.calls.append(Entries)
        assert len(Entries) <= 10
        assert sum(map(entry_bytes, Entries)) <= MAX_REQUEST_BYTES
        if self.failures:
            self.failures -= 1
            raise ClientError({"Error": {"Code": "InternalException"}}, "PutEvents")
        results = []
        for entry in Entries:
            key = entry["Resources"][0]
            if self.troubles.get(key, 0):
                self.troubles[key] -= 1
                results.append({"ErrorCode": "ThrottlingException"})
            else:
                self.taken.append(key)
                results.append({"EventId": key})
        return {"Entries": results}


@pytest.fixture
def bridge() -> Bridge:
    """EventBridge."""
    return Bridge()


def bus_of(bridge: Bridge, *types: str) -> EventBus:
    """The bus over it."""
    return EventBus(lambda: cast("EventBridgeClient", bridge), "jobs", types)


def test_an_entry_carries_the_whole_envelope(bridge: Bridge) -> None:
    """CE-002 to CE-006: id, specversion, content type, source and subject."""
    assert not bus_of(bridge)([event(1)])
    ((entry,),) = bridge.calls
    detail = json.loads(entry["Detail"])
    assert (entry["DetailType"], entry["EventBusName"]) == ("job.enqueued", "jobs")
    assert (detail["id"], detail["subject"]) == (event(1).id, "job-1")
    assert (detail["specversion"], detail["datacontenttype"]) == ("1.0", "application/json")
    assert detail["data"]["job_type"] == "a.b"
    assert detail["source"].startswith("ojs://")


def test_5_2_types_have_the_prefix_of_cloud_events_if_asked_for(bridge: Bridge) -> None:
    """Patterns of types name them without it."""
    bus = replace(bus_of(bridge, "job.*"), type_prefix="org.openjobspec.")
    assert not bus([event(1, "job.completed"), event(2, "queue.paused")])
    ((entry,),) = bridge.calls
    assert entry["DetailType"] == "org.openjobspec.job.completed"
    assert json.loads(entry["Detail"])["type"] == "org.openjobspec.job.completed"


def test_events_go_ten_to_a_call_in_order(bridge: Bridge) -> None:
    """As few calls as EventBridge allows."""
    assert not bus_of(bridge)([event(n) for n in range(25)])
    assert [len(call) for call in bridge.calls] == [10, 10, 5]
    assert bridge.taken == [f"job-{n}" for n in range(25)]


def test_large_events_share_a_call_only_while_they_fit(bridge: Bridge) -> None:
    """256 KB for all entries of a call; the double asserts it."""
    assert not bus_of(bridge)([event(n, size=100_000) for n in range(5)])
    assert [len(call) for call in bridge.calls] == [2, 2, 1]


def test_an_event_too_large_for_the_bus_is_shortened(bridge: Bridge) -> None:
    """What its type requires goes, and says that the rest is missing."""
    assert not bus_of(bridge)([event(1, size=MAX_REQUEST_BYTES)])
    data = json.loads(bridge.calls[0][0]["Detail"])["data"]
    assert set(REQUIRED_DATA["job.enqueued"]) <= set(data)
    assert data["truncated"] is True
    assert "result" not in data


def test_only_what_was_refused_is_tried_again(bridge: Bridge) -> None:
    """A partial failure repeats nothing that was taken."""
    bridge.troubles = {"job-3": 1, "job-7": 2}
    assert not bus_of(bridge)([event(n) for n in range(10)])
    assert [len(call) for call in bridge.calls] == [10, 2, 1]
    assert sorted(bridge.taken) == sorted(f"job-{n}" for n in range(10))


def test_what_is_refused_each_time_is_named(bridge: Bridge) -> None:
    """So that its record comes again; the others of the batch, and later calls, are done."""
    bridge.troubles = {"job-3": 99}
    assert bus_of(bridge)([event(n) for n in range(12)]) == [event(3).id]
    assert len(bridge.taken) == 11


def test_a_bus_that_cannot_be_reached_is_called_once(bridge: Bridge) -> None:
    """The client has repeated the call already; all that was not taken is named."""
    events = [event(n) for n in range(25)]
    bridge.failures = 1
    assert bus_of(bridge)(events) == [each.id for each in events]
    assert len(bridge.calls) == 1
    assert not bus_of(bridge)(events)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((), ["job.enqueued", "job.heartbeat", "worker.heartbeat", "queue.paused"]),
        (("job.*",), ["job.enqueued", "job.heartbeat"]),
        (("job.*", "!job.heartbeat"), ["job.enqueued"]),
        (("!*.heartbeat",), ["job.enqueued", "queue.paused"]),
        (("queue.paused", "worker.*"), ["worker.heartbeat", "queue.paused"]),
    ],
)
def test_ce_008_the_types_that_go_to_the_bus_can_be_chosen(
    bridge: Bridge, types: tuple[str, ...], expected: list[str]
) -> None:
    """By patterns; the log has all of them anyway."""
    kinds = ["job.enqueued", "job.heartbeat", "worker.heartbeat", "queue.paused"]
    bus_of(bridge, *types)([event(n, kind) for n, kind in enumerate(kinds)])
    assert [entry["DetailType"] for call in bridge.calls for entry in call] == expected


def test_by_default_the_bus_has_the_end_of_each_job_and_no_steps_to_it(bridge: Bridge) -> None:
    """EventBridge bills each event; the log has all of them."""
    kinds = sorted(REQUIRED_DATA)
    bus_of(bridge, *Settings().event_bus_types)([event(n, kind) for n, kind in enumerate(kinds)])
    gone = {kinds[int(key.removeprefix("job-"))] for key in bridge.taken}
    away = {"job.scheduled", "job.enqueued", "job.started", "job.progress", "job.retrying"}
    assert set(kinds) - gone == away | {"job.heartbeat", "worker.heartbeat"}


def test_without_a_bus_nothing_is_called(bridge: Bridge) -> None:
    """The event log alone is a choice."""
    assert not replace(bus_of(bridge), bus="")([event(1)])
    assert bridge.calls == []


@pytest.mark.moto
def test_a_real_client_takes_what_we_send() -> None:
    """The shape of an entry is EventBridge's."""
    with embedded() as aws:
        aws.clients.events().create_event_bus(Name="jobs")
        assert not EventBus(aws.clients.events, "jobs")([event(1)])
        assert aws.calls.made[-1] == "PutEvents"
