"""Sends and receives messages over SQS, delayed ones for the tick among them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.errors import ignoring, translated
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.queues import Backlog, Message, ReceivedMessage
from ojs_aws.topology import dead_letter_queue_name, sqs_queue_name

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


VERSION: Final = 1


class UnreadableMessageError(ValueError):
    """Reports a message that this version of the system did not send."""


def encode_message(message: Message) -> str:
    """Return the body of a message."""
    body: dict[str, Any] = {"v": VERSION, "id": message.job_id}
    if message.sort_key:
        body["k"] = message.sort_key
    if message.timeout_ms is not None:
        body["to"] = message.timeout_ms
    if message.visibility_timeout_ms is not None:
        body["vt"] = message.visibility_timeout_ms
    if message.shard:
        body["s"] = message.shard
    return json.dumps(body, separators=(",", ":"))


def decode_message(body: str) -> Message:
    """Read the body of a message.

    :raises UnreadableMessageError: this backend did not write the message.
    """
    try:
        fields = json.loads(body)
        if fields["v"] != VERSION or not isinstance(fields["id"], str):
            raise UnreadableMessageError(f"not a message of version {VERSION}")
        timeout, visibility = fields.get("to"), fields.get("vt")
        return Message(
            fields["id"],
            str(fields.get("k", "")),
            None if timeout is None else int(timeout),
            None if visibility is None else int(visibility),
            int(fields.get("s", 0)),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as problem:
        raise UnreadableMessageError(f"unreadable message: {problem}") from problem


BATCH: Final = 10
VISIBLE: Final = "ApproximateNumberOfMessages"
HIDDEN: Final = "ApproximateNumberOfMessagesNotVisible"
DELAYED: Final = "ApproximateNumberOfMessagesDelayed"
SOURCE: Final = "ojs_queue"
"""Attribute of an unreadable message: the OJS queue that it came from."""
TRIES: Final = 2
MISSING: Final = frozenset(
    {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "NonExistentQueue"}
)
STALE: Final = frozenset(
    {
        "ReceiptHandleIsInvalid",
        "InvalidParameterValue",
        "MessageNotInflight",
        "AWS.SimpleQueueService.MessageNotInflight",
    }
)
"""Codes of a handle that is too old: somebody else holds the message, or nobody."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MessageQueue:
    """Sends and receives messages of the SQS queues. Times are in whole seconds.

    Nothing may be concluded from an answer: messages repeat, reorder and come late. Sending
    raises QueueMissingError, receiving finds nothing, where no SQS queue exists.
    """

    client: SQSClient
    queue_prefix: str
    queue_url_prefix: str

    def url(self, queue: str) -> str:
        """Return the URL of the SQS queue behind an OJS queue."""
        return self.queue_url_prefix + sqs_queue_name(self.queue_prefix, queue)

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Send a message that becomes visible after 0 to 900 seconds.

        Makes one call.
        """
        with _missing(), translated("SendMessage"):
            self.client.send_message(
                QueueUrl=self.url(queue), MessageBody=encode_message(message), DelaySeconds=delay_s
            )

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Send messages with their delays, ten in a call."""
        entries = [
            {"MessageBody": encode_message(message), "DelaySeconds": delay_s}
            for message, delay_s in messages
        ]
        self._in_batches(queue, "SendMessageBatch", self.client.send_message_batch, entries)

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Receive up to ten messages; unreadable ones are moved to the dead-letter queue.

        Makes one call; return nothing if no SQS queue exists.
        """
        try:
            with _missing(), translated("ReceiveMessage"):
                answer = self.client.receive_message(
                    QueueUrl=self.url(queue),
                    MaxNumberOfMessages=limit,
                    VisibilityTimeout=visibility_s,
                    WaitTimeSeconds=wait_s,
                    MessageSystemAttributeNames=["ApproximateReceiveCount"],
                )
        except QueueMissingError:
            return []
        received = []
        for raw in answer.get("Messages", []):
            try:
                message = decode_message(raw["Body"])
            except UnreadableMessageError:
                _logger.error("Unreadable message %s in queue %s", raw["MessageId"], queue)
                self._move_unreadable(queue, raw["Body"], raw["ReceiptHandle"])
                continue
            count = int(raw.get("Attributes", {}).get("ApproximateReceiveCount", "1"))
            received.append(ReceivedMessage(message, raw["ReceiptHandle"], count))
        return received

    def reject(self, queue: str, body: str) -> None:
        """Send an unreadable body to the dead-letter queue, with the queue's name.

        Makes one call.
        """
        name = dead_letter_queue_name(self.queue_prefix)
        with _missing(), translated("SendMessage"):
            self.client.send_message(
                QueueUrl=self.queue_url_prefix + name,
                MessageBody=body,
                MessageAttributes={SOURCE: {"DataType": "String", "StringValue": queue}},
            )

    def _move_unreadable(self, queue: str, body: str, handle: str) -> None:
        """Move a message to the dead-letter queue; if that fails, it comes back."""
        try:
            self.reject(queue, body)
            self.delete(queue, [handle])
        except (BackendError, QueueMissingError):
            _logger.warning("An unreadable message stays in queue %s", queue, exc_info=True)

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages, ten in a call. A handle that is too old is no error."""
        if len(handles) == 1:
            with _missing(), translated("DeleteMessage"), ignoring(STALE):
                self.client.delete_message(QueueUrl=self.url(queue), ReceiptHandle=handles[0])
            return
        entries = [{"ReceiptHandle": handle} for handle in handles]
        self._in_batches(queue, "DeleteMessageBatch", self.client.delete_message_batch, entries)

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Hide messages for this many seconds from now (0 to 43,200).

        Makes one call for ten messages.
        """
        if len(handles) == 1:
            handle, seconds = handles[0]
            with _missing(), translated("ChangeMessageVisibility"):
                self.client.change_message_visibility(
                    QueueUrl=self.url(queue), ReceiptHandle=handle, VisibilityTimeout=seconds
                )
            return
        entries = [
            {"ReceiptHandle": handle, "VisibilityTimeout": seconds} for handle, seconds in handles
        ]
        change = self.client.change_message_visibility_batch
        self._in_batches(queue, "ChangeMessageVisibilityBatch", change, entries)

    def backlog(self, queue: str) -> Backlog:
        """Count the messages of a queue, roughly.

        Makes one call; the numbers are SQS's estimates.
        """
        with _missing(), translated("GetQueueAttributes"):
            answer = self.client.get_queue_attributes(
                QueueUrl=self.url(queue), AttributeNames=[VISIBLE, HIDDEN, DELAYED]
            )
        counts = answer["Attributes"]
        visible, hidden, delayed = (
            int(counts.get(name, "0")) for name in (VISIBLE, HIDDEN, DELAYED)
        )
        return Backlog(visible, hidden, delayed)

    def _in_batches(
        self, queue: str, operation: str, call: Callable[..., Any], items: Sequence[dict[str, Any]]
    ) -> None:
        """Send ten to a call; what fails because of SQS is tried once more."""
        for begin in range(0, len(items), BATCH):
            part = items[begin : begin + BATCH]
            entries = [{"Id": str(index), **item} for index, item in enumerate(part)]
            for _ in range(TRIES):
                with _missing(), translated(operation):
                    answer = call(QueueUrl=self.url(queue), Entries=entries)
                failed = {
                    item["Id"] for item in answer.get("Failed", []) if item.get("Code") not in STALE
                }
                entries = [item for item in entries if item["Id"] in failed]
                if not entries:
                    break
            else:
                raise BackendError(
                    f"{operation} failed for {len(entries)} messages.", hint="Repeat the request."
                )


@contextmanager
def _missing() -> Iterator[None]:
    """Raise QueueMissingError for a queue that does not exist, other errors as they are."""
    try:
        yield
    except BackendError as problem:
        cause = problem.__cause__
        if isinstance(cause, refusals()) and error_code(cause) in MISSING:
            raise QueueMissingError(str(cause)) from cause
        raise


def queue_arn(client: SQSClient, url_prefix: str, sqs_name: str) -> str:
    """Return the ARN of an SQS queue, from the URL that all queues of the deployment share."""
    host, account = url_prefix.rstrip("/").split("/")[2:4]
    labels = host.split(".")
    has_region = labels[0] == "sqs" and len(labels[1:]) > 1  # sqs.<region>.<domain>
    region = labels[1] if has_region else client.meta.region_name
    return f"arn:{client.meta.partition}:sqs:{region}:{account}:{sqs_name}"


@dataclass(frozen=True, slots=True)
class CronWakeUps:
    """Wakes the tick at a second, so that a cron job does not wait for the next minute.

    Sends messages to a queue of their own; each contains only a cron job's name.
    """

    client: SQSClient
    url: str

    def set(self, name: str, delay_s: int) -> None:
        """Wake the tick for an entry in 0 to 900 seconds, at least once if alarms are deployed.

        Makes one call; without a deployed queue, the next tick finds the entry.
        """
        with translated("SendMessage"), ignoring(MISSING):
            self.client.send_message(QueueUrl=self.url, MessageBody=name, DelaySeconds=delay_s)
