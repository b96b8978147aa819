"""Consume lifecycle events in a Lambda function behind EventBridge and an SQS queue.

The function reports jobs that will not run again. Events come at least once and in any order. The
function handles an event if it does not know its id, and stores the id afterwards. So if it dies in
between, the event is handled again, and never lost.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3

KEPT_S = 2 * 86_400
"""How long ids are stored: longer than the queue keeps a message."""

Event = Mapping[str, Any]
Failures = dict[str, list[dict[str, str]]]

log = logging.getLogger(__name__)


def notify(event: Event) -> None:
    """Notify the people on call; here, write a line to the log that an alarm can watch."""
    data = event["data"]
    error = data.get("last_error", {}).get("message", "it expired")
    log.error("Job %s (%s) is gone: %s", data["job_id"], data["job_type"], error)


class SeenIds:
    """Stores the ids of handled events in a DynamoDB table that expires them."""

    def __init__(self, table: str) -> None:
        self._dynamodb = boto3.client("dynamodb")
        self._table = table

    def __contains__(self, event_id: str) -> bool:
        answer = self._dynamodb.get_item(TableName=self._table, Key={"id": {"S": event_id}})
        return "Item" in answer

    def add(self, event_id: str) -> None:
        until = str(int(time.time()) + KEPT_S)
        item = {"id": {"S": event_id}, "ttl": {"N": until}}
        self._dynamodb.put_item(TableName=self._table, Item=item)


def consume(batch: Mapping[str, Any], seen: SeenIds, act: Callable[[Event], None]) -> Failures:
    """Handle the messages of a batch; return those that must come again."""
    failed = []
    for message in batch["Records"]:
        try:
            event = json.loads(message["body"])["detail"]
            if event["id"] not in seen:
                act(event)
                seen.add(event["id"])
        except Exception:
            log.exception("Message %s comes again", message["messageId"])
            failed.append({"itemIdentifier": message["messageId"]})
    return {"batchItemFailures": failed}


@functools.cache
def _seen() -> SeenIds:
    return SeenIds(os.environ["SEEN_TABLE"])


def handler(batch: Mapping[str, Any], context: object) -> Failures:
    """Handle a batch: the function's entry point."""
    del context
    return consume(batch, _seen(), notify)
