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

_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,29}", re.ASCII)
"""What a deployment's prefix must be. It holds no underscore, by which its separator begins."""

VISIBILITY_PER_TIMEOUT = 6
"""A queue hides a message for six times the timeout of the function it triggers, so that
Lambda's own retries of a throttled batch end before the message comes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQueuesProps:
    """Say which queues there are.

    :ivar prefix: begins the name of each SQS queue; unique in an account and region.
    :ivar separator: stands between prefix and queue. ``-`` for deployments that were made with it:
        a queue that gets another name is replaced, and its messages are lost.
    :ivar names: the OJS queues.
    :ivar adopted: those of them whose SQS queues are there already, made at their first use. They
        are used as they are, and stay when the stack goes (docs/queues.md).
    :ivar visibility_timeout_s: how long a received message stays hidden when nobody says
        otherwise. FETCH always does; a queue that triggers a function gets at least six times
        that function's timeout.
    """

    prefix: str = "ojs"
    separator: str = QUEUE_SEPARATOR
    names: Sequence[str] = (DEFAULT_QUEUE,)
    adopted: Sequence[str] = ()
    visibility_timeout_s: int = 60


class JobQueues(Construct):
    """Define a standard SQS queue for each OJS queue, and one for unreadable messages.

    The retry policy lives in the job: only messages that were received a thousand times end in
    the dead-letter queue.

    One policy denies plain HTTP on all of them. Deployments with the old separator keep the policy
    that each of their queues has: CloudFormation removes those after it made the new one, and what
    a queue has of the new one with them.

    :ivar queues: SQS queues by the names of their OJS queues.
    :ivar dead_letters: the queue of unreadable messages.
    :ivar prefix: begins the name of each queue, as ``ojs_aws.topology`` and the settings take it.
    :ivar url_prefix: URL of each queue up to its name.
    :ivar tls_policy: denies plain HTTP on them; None where each has a policy of its own.
    :ivar any_queue_arn: pattern of the ARNs of all queues of this deployment, also of those that
        are created on first use.
    """

    def __init__(self, scope: Construct, id_: str, props: JobQueuesProps | None = None) -> None:
        """Define the queues.

        :raises ValueError: a prefix or separator by which queues of two deployments could collide,
            or an adopted queue that is not declared.
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
        """Return an SQS queue that exists already: CloudFormation would refuse to make it."""
        sqs_name = sqs_queue_name(self.prefix, name)
        return sqs.Queue.from_queue_attributes(
            self,
            f"Queue-{name}",
            queue_arn=Stack.of(self).format_arn(service="sqs", resource=sqs_name),
            queue_url=f"{self.url_prefix}{sqs_name}",
        )

    def serve(self, name: str, function_timeout_s: int) -> sqs.IQueue:
        """Return the queue, with a visibility timeout long enough for a function of that timeout.

        That of an adopted queue is set by hand, once, before its first worker.

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
    """Set for how long a queue hides a message; it may be set again, unlike the L2's."""
    resource = resource_of(queue, sqs.CfnQueue)
    resource.add_property_override("VisibilityTimeout", seconds)


def _check_names(props: JobQueuesProps) -> None:
    """Refuse names that could be those of another deployment's queues, and unknown ones.

    :raises ValueError: the prefix, the separator, or an adopted queue.
    """
    if props.separator not in {QUEUE_SEPARATOR, OLD_QUEUE_SEPARATOR}:
        raise ValueError(
            f"queue_separator is {props.separator!r}: use {QUEUE_SEPARATOR!r}, or "
            f"{OLD_QUEUE_SEPARATOR!r} where the deployment was made with it."
        )
    if undeclared := sorted({*props.adopted} - {*props.names}):
        raise ValueError(f"Declare the queues that are adopted, too: {', '.join(undeclared)}.")
    if not _PREFIX.fullmatch(props.prefix):
        raise ValueError(
            f"The queue prefix is {props.prefix!r}: use 1 to 30 letters, digits and hyphens."
        )
