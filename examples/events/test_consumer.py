"""Test a consumer of lifecycle events with the events that jobs really have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from examples.events.consumer import Event, SeenIds, consume, notify
from ojs_aws import RetryPolicy
from ojs_aws.testing import Ojs


def delivered(events: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a batch of SQS messages, as EventBridge makes them of events."""
    return {
        "Records": [
            {"messageId": str(number), "body": json.dumps({"detail": event})}
            for number, event in enumerate(events)
        ]
    }


async def gone(ojs: Ojs) -> list[Mapping[str, Any]]:
    """Return the events of a job that is discarded."""
    ojs.fail_all("email.send", ConnectionError("SMTP"))
    await ojs.client.enqueue("email.send", retry=RetryPolicy(max_attempts=1))
    await ojs.drain()
    page = await ojs.client.events.read(types=["job.discarded"])
    return list(page.events)


async def test_a_discarded_job_is_reported(ojs: Ojs, caplog: pytest.LogCaptureFixture) -> None:
    answer = consume(delivered(await gone(ojs)), cast("SeenIds", set()), notify)
    assert answer == {"batchItemFailures": []}
    assert "(email.send) is gone: SMTP" in caplog.text


async def test_a_repeated_event_is_handled_once(ojs: Ojs) -> None:
    handled: list[Event] = []
    events = await gone(ojs)
    consume(delivered(events * 2), cast("SeenIds", set()), handled.append)
    assert [event["type"] for event in handled] == ["job.discarded"]


async def test_an_event_that_fails_comes_again(ojs: Ojs) -> None:
    def act(event: Event) -> None:
        raise ConnectionError(f"no pager for {event['id']}")

    seen: set[str] = set()
    answer = consume(delivered(await gone(ojs)), cast("SeenIds", seen), act)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert seen == set()
