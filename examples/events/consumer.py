"""A consumer of lifecycle events: a Lambda function behind EventBridge and an SQS queue.

It tells about jobs that will not run any more. Events come at least once and in any order: each
is handled when its id was not seen yet, and the id is noted after that, so that a function that
dies in between handles it again rather than never.
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
"""How long ids are noted: longer than the queue keeps a message."""

Event = Mapping[str, Any]
Failures = dict[str, list[dict[str, str]]]

log = logging.getLogger(__name__)


def tell(event: Event) -> None:
    """Write to whoever is on call; here, a line of the log that an alarm can watch."""
    data = event["data"]
    error = data.get("last_error", {}).get("message", "it expired")
    log.error("Job %s (%s) is gone: %s", data["job_id"], data["job_type"], error)


class SeenIds:
    """Ids of handled events, in a DynamoDB table that forgets them by itself."""

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
    """Handle the messages of a batch; answers which of them must come again."""
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
    """The function's entry point."""
    del context
    return consume(batch, _seen(), tell)
