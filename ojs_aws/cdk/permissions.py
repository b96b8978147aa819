"""Lists what each function may do: exact actions on exact resources, in one table.

DynamoDB authorises the parts of a transaction as single operations, and SQS a batch as its
single form, so neither appears here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.topology import BATCHES_PARTITION, EXPORT_TRIES_PARTITION, OPERATION_PARTITION

READ: Final = ("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query")
WRITE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem")
BATCH_WRITE: Final = "dynamodb:BatchWriteItem"
READ_DOCUMENT: Final = "s3:GetObject"
LIST_DOCUMENTS: Final = "s3:ListBucket"
"""Goes with the right to read documents: S3 then says which of them do not exist."""
DOCUMENTS: Final = (READ_DOCUMENT, "s3:PutObject")
KEPT_DOCUMENTS: Final = ("s3:DeleteObject", *DOCUMENTS)
CREATE_QUEUE: Final = ("sqs:CreateQueue", "sqs:TagQueue")
"""SQS asks for both where a queue is made with tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Say what a function may do to each part of the backend.

    :ivar table: actions on the table.
    :ivar deletes: partitions of the table of which it may delete items, beside those actions.
    :ivar puts_documents: whether it puts documents of new jobs by batch writes.
    :ivar has_index: whether it may query the index.
    :ivar queues: actions on the SQS queues.
    :ivar creates_queues: whether it makes the queue of an OJS queue that is first used.
    :ivar rejects: whether it sends messages that nobody can decode to the dead-letter queue.
    :ivar documents: actions on the objects of the bucket.
    :ivar publishes: whether it puts events on the bus.
    :ivar switches_triggers: whether it lists event source mappings, and switches those of the
        backend's own workers, which have its tag.
    :ivar keys: actions on the records of API keys, which nothing else here allows.
    :ivar puts: partitions of the table into which it may put items, beside those actions.
    :ivar updates: partitions of which it may update items, beside those actions.
    """

    table: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    puts_documents: bool = False
    has_index: bool = False
    queues: tuple[str, ...] = ()
    creates_queues: bool = False
    rejects: bool = False
    documents: tuple[str, ...] = ()
    publishes: bool = False
    switches_triggers: bool = False
    keys: tuple[str, ...] = ()
    puts: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()


PRODUCER: Final = Permissions(
    table=(*READ, *WRITE),
    deletes=(BATCHES_PARTITION,),
    puts_documents=True,
    queues=("sqs:DeleteMessage", "sqs:SendMessage"),  # CANCEL deletes the job's message
    creates_queues=True,
    documents=KEPT_DOCUMENTS,
)
"""PUSH, INFO, CANCEL, ACTIVATE, workflows: cannot read lists, claim or delete, but the row of a
large batch whose jobs are all in their places. Documents of jobs that were refused are removed."""

WORKER_API: Final = Permissions(
    table=(*READ, *WRITE),
    has_index=True,
    queues=(
        "sqs:ChangeMessageVisibility",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:ReceiveMessage",
        "sqs:SendMessage",
    ),
    rejects=True,
    creates_queues=True,
    documents=KEPT_DOCUMENTS,
)
"""FETCH, ACK, FAIL, BEAT: cannot delete a job. Counts messages where a limit sets some aside.
Puts jobs of large batches into their places, and removes the documents of those that were there."""

OPERATOR: Final = Permissions(
    table=("dynamodb:DeleteItem", *READ, *WRITE),
    puts_documents=True,
    has_index=True,
    # A cron job that is triggered by hand is pushed, and may cancel the run before it.
    # A queue that is resumed is asked for its messages, and given those that it lacks.
    queues=("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"),
    creates_queues=True,
    documents=KEPT_DOCUMENTS,
    switches_triggers=True,
)
"""Queues, cron jobs, dead letters, schemas, events: cannot claim."""

JOB_ENDPOINT: Final = replace(
    PRODUCER, has_index=WORKER_API.has_index, queues=WORKER_API.queues, rejects=WORKER_API.rejects
)
"""PUSH to BEAT at one URL: what the two above may do, and no more."""

JOB_ENDPOINT_WITH_KEYS: Final = replace(JOB_ENDPOINT, keys=("dynamodb:GetItem",))
"""The same where callers have API keys, which it finds by their ids as the authorizer does."""

SYSTEM: Final = Permissions(table=("dynamodb:GetItem",))
"""Manifest, health, OpenAPI, unknown routes: asks the table for sign of life, changes nothing."""

TICK: Final = OPERATOR
"""The sweep, and what cron jobs enqueue: cannot receive a job's message. Its trigger receives the
alarms of cron jobs."""

STREAM: Final = Permissions(
    table=("dynamodb:DeleteItem", *READ, *WRITE),
    puts_documents=True,
    queues=("sqs:DeleteMessage", "sqs:SendMessage"),
    creates_queues=True,
    documents=KEPT_DOCUMENTS,
    publishes=True,
)
"""Lifecycle events: appends to the event log and the bus, removes the documents and locks of jobs
whose retention ended, sends the messages of jobs that were enqueued by transactions, and deletes
those of completed jobs. Moves workflows on: enqueues their jobs. Its trigger reads the stream."""

EXPORT: Final = Permissions(updates=(EXPORT_TRIES_PARTITION,), deletes=(EXPORT_TRIES_PARTITION,))
"""Writes the files of the export. Its trigger reads the stream, and hands it what it needs. It
counts in the table how often a record ended it."""

EXPORT_DOCUMENTS: Final = replace(EXPORT, table=("dynamodb:GetItem",), documents=(READ_DOCUMENT,))
"""The same with documents, some of which have places of their own."""

LAMBDA_WORKER: Final = replace(WORKER_API, creates_queues=False, documents=DOCUMENTS)
"""A user's worker, on the queues that it serves."""

DISPATCHER: Final = LAMBDA_WORKER
"""Claims jobs as a worker does, and hands them to functions; it may invoke those it is bound to,
and no others."""

SETTLER: Final = Permissions(
    table=(*READ, *WRITE),
    queues=("sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:SendMessage"),
    documents=DOCUMENTS,
)
"""ACK and FAIL of dispatched jobs: cannot claim one, or read a queue of jobs."""

AUTHORIZER: Final = Permissions(keys=("dynamodb:GetItem",))
"""Finds an API key by its id, and can read nothing else of the table."""

API_KEYS: Final = Permissions(
    keys=("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"), puts=(OPERATION_PARTITION,)
)
"""Lists and revokes API keys, records who did so, and can touch nothing else of the table."""

KEY_OPERATOR: Final = Permissions(keys=("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"))
"""``ojs-aws keys``: makes, lists, rotates and revokes API keys, and can touch nothing else."""

KEYS_DENIED: Final = (BATCH_WRITE, "dynamodb:DeleteItem", *READ, *WRITE)
"""What is denied on the records of API keys to all who may use the table otherwise."""

OWN_KEY: Final = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
"""On the deployment's own KMS key: DynamoDB and S3 use it in the name of who calls them."""
