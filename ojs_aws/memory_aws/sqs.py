"""Answers the calls of SQS that the adapters make, as botocore's client does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from ojs_aws.adapters.aws_errors import AwsError, answer_of
from ojs_aws.memory_aws.calls import (
    ACCOUNT,
    META,
    REGION,
    Answer,
    Calls,
    Client,
    Meta,
    Request,
    refuse,
)
from ojs_aws.memory_aws.queues import (
    MAX_HIDDEN_MS,
    MAX_IN_FLIGHT,
    MemoryQueue,
    StoredMessage,
    oldest,
)

URL_PREFIX: Final = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/"
MAX_BODY: Final = 1024 * 1024
MAX_DELAY_S: Final = 900
MAX_ENTRIES: Final = 10
DEFAULT_VISIBILITY_S: Final = 30
INVALID: Final = "InvalidParameterValue"
MISSING: Final = "AWS.SimpleQueueService.NonExistentQueue"


@dataclass(eq=False)
class MemorySqs(Client):
    """Keeps queues in memory behind the methods of botocore's client.

    A receive never waits: time is a parameter here, so nothing would come.

    :ivar queues: the queues by name.
    :ivar pick: chooses which of the visible messages a receive gets.
    """

    service: ClassVar = "sqs"
    operations: ClassVar = {
        "ChangeMessageVisibility": "_hide",
        "ChangeMessageVisibilityBatch": "_hide",
        "CreateQueue": "_create",
        "DeleteMessage": "_delete",
        "DeleteMessageBatch": "_delete",
        "DeleteQueue": "_delete_queue",
        "GetQueueAttributes": "_attributes",
        "ReceiveMessage": "_receive",
        "SendMessage": "_send",
        "SendMessageBatch": "_send",
    }
    calls: Calls
    queues: dict[str, MemoryQueue] = field(default_factory=dict)
    pick: Callable[[list[StoredMessage], int], list[StoredMessage]] = oldest
    meta: Meta = META

    def _carry_out(self, operation: str, request: Request) -> Answer:
        run = self._each if operation.endswith("Batch") else super()._carry_out
        return run(operation, request)

    def _each(self, operation: str, request: Request) -> Answer:
        """Carry out each entry of a batch by itself; the answer names those that failed."""
        entries, carry_out = request["Entries"], super()._carry_out
        self._queue(operation, request)
        if len({entry["Id"] for entry in entries}) < len(entries):
            refuse(operation, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct")
        if not 1 <= len(entries) <= MAX_ENTRIES:
            refuse(operation, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest")
        if sum(len(entry.get("MessageBody", "").encode()) for entry in entries) > MAX_BODY:
            refuse(operation, "AWS.SimpleQueueService.BatchRequestTooLong")
        answer: Answer = {"Successful": [], "Failed": []}
        for entry in entries:
            try:
                carry_out(operation, {**entry, "QueueUrl": request["QueueUrl"]})
            except AwsError as problem:
                error = answer_of(problem)["Error"]
                failed = {"Id": entry["Id"], "SenderFault": True, **error}
                answer["Failed"].append(failed)
            else:
                answer["Successful"].append({"Id": entry["Id"]})
        return answer

    def _queue(self, operation: str, request: Request) -> MemoryQueue:
        queue = self.queues.get(str(request["QueueUrl"]).rpartition("/")[2])
        if queue is None:
            refuse(operation, MISSING, "The specified queue does not exist.")
        return queue

    def _send(self, operation: str, request: Request) -> Answer:
        queue = self._queue(operation, request)
        body, delay_s = request["MessageBody"], request.get("DelaySeconds", 0)
        if not 0 <= delay_s <= MAX_DELAY_S:
            refuse(operation, INVALID, f"DelaySeconds is 0 to {MAX_DELAY_S}.")
        if not 1 <= len(body.encode()) <= MAX_BODY:
            refuse(operation, INVALID, f"A message has 1 to {MAX_BODY} bytes.")
        message = queue.send(body, delay_s * 1000, request.get("MessageAttributes", {}))
        return {"MessageId": message.id}

    def _receive(self, operation: str, request: Request) -> Answer:
        queue = self._queue(operation, request)
        most = request.get("MaxNumberOfMessages", 1)
        visibility_s = request.get("VisibilityTimeout", DEFAULT_VISIBILITY_S)
        if not 1 <= most <= MAX_ENTRIES or not 0 <= visibility_s * 1000 <= MAX_HIDDEN_MS:
            refuse(operation, INVALID, "A receive takes 1 to 10 messages, for 0 to 43200 seconds.")
        if queue.counts()[1] >= MAX_IN_FLIGHT:
            refuse(operation, "OverLimit", "Too many messages in flight")
        found = [m for m in queue.receive(most, visibility_s * 1000) if not self._moved(queue, m)]
        return {"Messages": [_received(each) for each in found]} if found else {}

    def _moved(self, queue: MemoryQueue, message: StoredMessage) -> bool:
        """Move a message that was received too often to the dead-letter queue."""
        policy = json.loads(queue.attributes.get("RedrivePolicy", "{}"))
        if not policy or message.receives <= int(policy["maxReceiveCount"]):
            return False
        target = self.queues.get(policy["deadLetterTargetArn"].rpartition(":")[2])
        if target is None:
            return False
        queue.remove(message)
        target.send(message.body, 0, message.attributes)
        return True

    def _delete(self, operation: str, request: Request) -> Answer:
        self._queue(operation, request).delete(request["ReceiptHandle"])
        return {}

    def _hide(self, operation: str, request: Request) -> Answer:
        queue = self._queue(operation, request)
        message = queue.held(request["ReceiptHandle"])
        if message is None:
            refuse(operation, INVALID, "Message does not exist or is not available for change.")
        visibility_ms = request["VisibilityTimeout"] * 1000
        end = self.calls.now_ms() + visibility_ms
        if visibility_ms < 0 or end > message.received_at + MAX_HIDDEN_MS:
            refuse(operation, INVALID, "Total VisibilityTimeout is beyond the limit of 43200 s.")
        queue.hide(message, visibility_ms)
        return {}

    def _attributes(self, operation: str, request: Request) -> Answer:
        queue = self._queue(operation, request)
        visible, hidden, delayed = queue.counts()
        known = {
            **queue.attributes,
            "QueueArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue.name}",
            "ApproximateNumberOfMessages": str(visible),
            "ApproximateNumberOfMessagesNotVisible": str(hidden),
            "ApproximateNumberOfMessagesDelayed": str(delayed),
        }
        wanted = request.get("AttributeNames", [])
        return {"Attributes": {k: v for k, v in known.items() if "All" in wanted or k in wanted}}

    def _create(self, operation: str, request: Request) -> Answer:
        name, attributes = request["QueueName"], dict(request.get("Attributes", {}))
        present = self.queues.get(name)
        if present is None:
            tags = dict(request.get("tags", {}))
            queue = MemoryQueue(name, attributes, self.calls.now_ms, tags, pick=self._pick)
            self.queues[name] = queue
        elif any(present.attributes.get(k) != v for k, v in attributes.items()):
            refuse(operation, "QueueAlreadyExists", "A queue of that name has other attributes")
        return {"QueueUrl": URL_PREFIX + name}

    def _pick(self, found: list[StoredMessage], most: int) -> list[StoredMessage]:
        return self.pick(found, most)

    def _delete_queue(self, operation: str, request: Request) -> Answer:
        del self.queues[self._queue(operation, request).name]
        return {}


def _received(message: StoredMessage) -> Answer:
    answer: Answer = {
        "MessageId": message.id,
        "ReceiptHandle": message.handle,
        "Body": message.body,
        "Attributes": {"ApproximateReceiveCount": str(message.receives)},
    }
    if message.attributes:
        answer["MessageAttributes"] = message.attributes
    return answer
