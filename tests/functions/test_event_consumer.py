"""The example consumer: handles each event once as far as it can, and loses none."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from examples.events.consumer import Event, SeenIds, consume, handler
from ojs_aws.adapters.events import EventBus
from ojs_aws.domain.events import Event as OjsEvent
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from tests.aws import embedded

pytestmark = pytest.mark.moto

DISCARDED = OjsEvent(
    id="evt_1",
    type="job.discarded",
    time=Instant(1_760_000_000_000),
    queue="default",
    subject="j1",
    data=RawJson('{"job_id":"j1","job_type":"a.b","last_error":{"message":"it broke"}}'),
)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The table of seen ids."""
    with embedded():
        boto3.client("dynamodb").create_table(
            TableName="seen",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )
        monkeypatch.setenv("SEEN_TABLE", "seen")
        yield "seen"


def delivered(*events: OjsEvent) -> dict[str, Any]:
    """What SQS hands to the function for what the bus was given."""
    entries: list[dict[str, Any]] = []

    class Bridge:
        def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            entries.extend(Entries)
            return {"Entries": [{} for _ in Entries]}

    bridge: Any = Bridge()
    EventBus(lambda: bridge, "jobs")(events)
    bodies = [
        json.dumps({"detail-type": entry["DetailType"], "detail": json.loads(entry["Detail"])})
        for entry in entries
    ]
    return {"Records": [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]}


def test_an_event_of_the_bus_is_handled_once_however_often_it_comes(
    table: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In the form in which the bus really gets it."""
    batch = delivered(DISCARDED, DISCARDED)
    with caplog.at_level(logging.ERROR):
        assert handler(batch, None) == {"batchItemFailures": []}
        assert handler(batch, None) == {"batchItemFailures": []}
    assert [record.getMessage() for record in caplog.records] == ["Job j1 (a.b) is gone: it broke"]


def test_an_event_whose_handling_failed_comes_again(table: str) -> None:
    """It is not noted as seen."""
    handled: list[Event] = []
    troubles = [RuntimeError("down")]

    def act(event: Event) -> None:
        if troubles:
            raise troubles.pop()
        handled.append(event)

    batch, seen = delivered(DISCARDED), SeenIds(table)
    assert consume(batch, seen, act) == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert consume(batch, seen, act) == {"batchItemFailures": []}
    assert [event["id"] for event in handled] == ["evt_1"]


def test_a_message_that_is_no_event_does_not_stop_the_others(table: str) -> None:
    """It ends in the dead-letter queue."""
    batch = delivered(DISCARDED)
    batch["Records"].insert(0, {"messageId": "bad", "body": "not JSON"})
    handled: list[Event] = []
    answer = consume(batch, SeenIds(table), handled.append)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "bad"}]}
    assert len(handled) == 1
