"""Reads the records of an SQS event source mapping as messages of OJS queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ojs_aws.adapters.sqs.codec import decode_message
from ojs_aws.ports import ReceivedMessage
from ojs_aws.topology import sqs_queue_name


@dataclass(frozen=True, slots=True)
class Record:
    """Holds one message of a batch.

    :ivar id: SQS message id; names the record in the answer.
    :ivar queue: OJS queue it came from.
    """

    id: str
    queue: str
    received: ReceivedMessage


class StrayRecordError(ValueError):
    """Reports a record from a queue that this worker does not serve."""


def read_record(record: Mapping[str, Any], queues: Mapping[str, str]) -> Record:
    """Read one record.

    :param queues: OJS queues by the names of their SQS queues.
    :raises StrayRecordError: from another queue.
    :raises UnreadableMessageError: not one of our messages.
    """
    name = queue_name_of(record)
    queue = queues.get(name)
    if queue is None:
        raise StrayRecordError(f"this worker does not serve the SQS queue {name!r}")
    message = decode_message(str(record.get("body", "")))
    count = record.get("attributes", {}).get("ApproximateReceiveCount", "1")
    return Record(
        str(record["messageId"]),
        queue,
        ReceivedMessage(message, str(record["receiptHandle"]), int(count)),
    )


def queue_name_of(record: Mapping[str, Any]) -> str:
    """Return the name of the SQS queue that a record came from."""
    return str(record.get("eventSourceARN", "")).rpartition(":")[2]


def queues_by_sqs_name(prefix: str, queues: Sequence[str]) -> dict[str, str]:
    """Return OJS queues by the names of their SQS queues."""
    return {sqs_queue_name(prefix, queue): queue for queue in queues}
