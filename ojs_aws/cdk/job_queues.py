"""Defines the SQS queues behind the OJS queues."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Fn, Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.storage import own_queue, require_tls, resource_of
from ojs_aws.topology import (
    DEFAULT_QUEUE,
    MAX_RECEIVE_COUNT,
    OLD_QUEUE_SEPARATOR,
    QUEUE_SEPARATOR,
    any_queue_name,
    dead_letter_queue_name,
    queue_name_prefix,
    sqs_queue_name,
)

QUEUE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,127}", re.ASCII)
_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,29}", re.ASCII)
"""The form of a deployment's prefix: without an underscore, with which the separator begins."""

VISIBILITY_PER_TIMEOUT = 6
"""A queue hides a message for six times the timeout of the function it triggers, so that
Lambda's own retries of a throttled batch end before the message comes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQueuesProps:
    """Say which queues there are.

    :ivar prefix: begins the name of each SQS queue; unique in an account and region.
    :ivar separator: stands between prefix and queue. Use ``-`` only for deployments that were made
        with it: with another separator their queues would get other names, and CloudFormation
        would replace them, with the loss of their messages.
    :ivar names: the OJS queues.
    :ivar adopted: names of queues whose SQS queues exist already, because their first use made
        them. The stack uses these as they are, and leaves them when it goes (docs/queues.md).
    :ivar visibility_timeout_s: how long a received message stays hidden by default. FETCH always
        asks for its own time. A queue that triggers a function hides messages for at least six
        times the timeout of that function.
    """

    prefix: str = "ojs"
    separator: str = QUEUE_SEPARATOR
    names: Sequence[str] = (DEFAULT_QUEUE,)
    adopted: Sequence[str] = ()
    visibility_timeout_s: int = 60


class JobQueues(Construct):
    """Define a standard SQS queue for each OJS queue, and one for unreadable messages.

    The retry policy is in the job: SQS moves only messages that were received a thousand times to
    the dead-letter queue.

    One policy denies plain HTTP on all of them. In deployments with the old separator each queue
    keeps a policy of its own. With the shared one, CloudFormation would remove the old policies
    after it made the new one, and a queue has one policy only: the new one would go with them.

    :ivar queues: SQS queues by the names of their OJS queues.
    :ivar dead_letters: the queue of unreadable messages.
    :ivar prefix: begins the name of each queue, with the separator, as ``ojs_aws.topology`` and
        the settings take it.
    :ivar url_prefix: URL of each queue up to its name.
    :ivar tls_policy: denies plain HTTP on all queues; None where each has a policy of its own.
    :ivar any_queue_arn: matches the ARNs of all queues of this deployment, also of those that
        their first use creates.
    """

    def __init__(self, scope: Construct, id_: str, props: JobQueuesProps | None = None) -> None:
        """Define the queues.

        :raises ValueError: a prefix or separator by which queues of two deployments could collide,
            a name that no queue can have, or an adopted queue that is not declared.
        """
        super().__init__(scope, id_)
        self.props = props = props or JobQueuesProps()
        _check_names(props)
        self.prefix = queue_name_prefix(props.prefix, props.separator)
        self._has_own_policies = props.separator == OLD_QUEUE_SEPARATOR
        self._visibility_s: dict[str, int] = {}
        name = dead_letter_queue_name(self.prefix)
        self.dead_letters = own_queue(
            self, "DeadLetters", queue_name=name, enforce_ssl=self._has_own_policies
        )
        self.url_prefix = Fn.select(0, Fn.split(name, self.dead_letters.queue_url))
        self.queues: Mapping[str, sqs.IQueue] = {
            each: self._adopted(each) if each in props.adopted else self._queue(each)
            for each in props.names
        }
        shared = [] if self._has_own_policies else [self.dead_letters, *self.queues.values()]
        closed = shared or [self.queues[each] for each in props.adopted]
        self.tls_policy = require_tls(self, closed) if closed else None
        self.any_queue_arn = Stack.of(self).format_arn(
            service="sqs", resource=any_queue_name(self.prefix)
        )

    def _queue(self, name: str) -> sqs.Queue:
        queue = own_queue(
            self,
            f"Queue-{name}",
            queue_name=sqs_queue_name(self.prefix, name),
            enforce_ssl=self._has_own_policies,
            dead_letter_queue=sqs.DeadLetterQueue(
                max_receive_count=MAX_RECEIVE_COUNT, queue=self.dead_letters
            ),
        )
        _hide_for(queue, self.props.visibility_timeout_s)
        return queue

    def _adopted(self, name: str) -> sqs.IQueue:
        """Return a reference to an SQS queue that exists: CloudFormation cannot make it again."""
        sqs_name = sqs_queue_name(self.prefix, name)
        return sqs.Queue.from_queue_attributes(
            self,
            f"Queue-{name}",
            queue_arn=Stack.of(self).format_arn(service="sqs", resource=sqs_name),
            queue_url=f"{self.url_prefix}{sqs_name}",
        )

    def serve(self, name: str, function_timeout_s: int) -> sqs.IQueue:
        """Return the queue; let it hide messages long enough for a function with this timeout.

        The stack cannot do so for an adopted queue. Somebody sets its visibility timeout by hand,
        once, before its first worker.

        :raises ValueError: the queue is not declared.
        """
        if name not in self.queues:
            declared = ", ".join(sorted(self.queues))
            raise ValueError(f"There is no queue {name!r}; declared are: {declared}.")
        least = VISIBILITY_PER_TIMEOUT * function_timeout_s
        longest = max(least, self._visibility_s.get(name, self.props.visibility_timeout_s))
        self._visibility_s[name] = longest
        if name not in self.props.adopted:
            _hide_for(self.queues[name], longest)
        return self.queues[name]


def _hide_for(queue: sqs.IQueue, seconds: int) -> None:
    """Set how long a queue hides a message. CDK's own property could be set only once."""
    resource = resource_of(queue, sqs.CfnQueue)
    resource.add_property_override("VisibilityTimeout", seconds)


def _check_names(props: JobQueuesProps) -> None:
    """Refuse names that no queue can have, or that could be those of another deployment's queues.

    :raises ValueError: a name, the prefix, the separator, or an adopted queue.
    """
    if isinstance(props.names, str) or len({*props.names}) < len(props.names):
        raise ValueError(f"queues is a list that names each queue once, not {props.names!r}.")
    for name in props.names:
        if not QUEUE_NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is no name of a queue: use lowercase letters, digits, hyphens and dots, "
                "at most 128."
            )
    if props.separator not in {QUEUE_SEPARATOR, OLD_QUEUE_SEPARATOR}:
        raise ValueError(
            f"queue_separator is {props.separator!r}: use {QUEUE_SEPARATOR!r}, or "
            f"{OLD_QUEUE_SEPARATOR!r} where the deployment was made with it."
        )
    if undeclared := sorted({*props.adopted} - {*props.names}):
        raise ValueError(f"Declare the adopted queues, too: {', '.join(undeclared)}.")
    if not _PREFIX.fullmatch(props.prefix):
        raise ValueError(
            f"The queue prefix is {props.prefix!r}: use 1 to 30 letters, digits and hyphens."
        )
