"""The SQS queues behind the OJS queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration, Fn, RemovalPolicy, Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.topology import (
    DEFAULT_QUEUE,
    MAX_RECEIVE_COUNT,
    MESSAGE_RETENTION_S,
    dead_letter_queue_name,
    sqs_queue_name,
)

VISIBILITY_PER_TIMEOUT = 6
"""A queue hides a message for six times the timeout of the function it triggers, so that
Lambda's own retries of a throttled batch end before the message comes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQueuesProps:
    """Which queues there are.

    :ivar prefix: begins the name of each SQS queue; unique in an account and region.
    :ivar names: the OJS queues.
    :ivar visibility_timeout_s: how long a received message stays hidden when nobody says
        otherwise. FETCH always does; a queue that triggers a function gets at least six times
        that function's timeout.
    """

    prefix: str = "ojs"
    names: Sequence[str] = (DEFAULT_QUEUE,)
    visibility_timeout_s: int = 60


class JobQueues(Construct):
    """A standard SQS queue for each OJS queue, and one for messages that nobody can read.

    The retry policy lives in the job: only messages that were received a thousand times end in
    the dead-letter queue.

    :ivar queues: SQS queues by the names of their OJS queues.
    :ivar dead_letters: the queue of unreadable messages.
    :ivar url_prefix: URL of each queue up to its name.
    :ivar any_queue_arn: pattern of the ARNs of all queues of this deployment, also of those that
        are created on first use.
    """

    def __init__(self, scope: Construct, id_: str, props: JobQueuesProps | None = None) -> None:
        """Define the queues."""
        super().__init__(scope, id_)
        self.props = props = props or JobQueuesProps()
        self._visibility_s: dict[str, int] = {}
        name = dead_letter_queue_name(props.prefix)
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=name,
            retention_period=Duration.seconds(MESSAGE_RETENTION_S),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.queues: Mapping[str, sqs.Queue] = {name: self._queue(name) for name in props.names}
        self.url_prefix = Fn.select(0, Fn.split(name, self.dead_letters.queue_url))
        self.any_queue_arn = Stack.of(self).format_arn(service="sqs", resource=f"{props.prefix}-*")

    def _queue(self, name: str) -> sqs.Queue:
        queue = sqs.Queue(
            self,
            f"Queue-{name}",
            queue_name=sqs_queue_name(self.props.prefix, name),
            retention_period=Duration.seconds(MESSAGE_RETENTION_S),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(
                max_receive_count=MAX_RECEIVE_COUNT, queue=self.dead_letters
            ),
            removal_policy=RemovalPolicy.DESTROY,
        )
        resource = queue.node.default_child
        assert isinstance(resource, sqs.CfnQueue)  # noqa: S101 - what the L2 is made of
        resource.add_property_override("VisibilityTimeout", self.props.visibility_timeout_s)
        return queue

    def serve(self, name: str, function_timeout_s: int) -> sqs.Queue:
        """The queue, its visibility timeout long enough for a function of that timeout.

        :raises ValueError: the queue is not declared.
        """
        if name not in self.queues:
            declared = ", ".join(sorted(self.queues))
            raise ValueError(f"There is no queue {name!r}; declared are: {declared}.")
        least = VISIBILITY_PER_TIMEOUT * function_timeout_s
        longest = max(least, self._visibility_s.get(name, self.props.visibility_timeout_s))
        self._visibility_s[name] = longest
        resource = self.queues[name].node.default_child
        assert isinstance(resource, sqs.CfnQueue)  # noqa: S101 - what the L2 is made of
        resource.add_property_override("VisibilityTimeout", longest)
        return self.queues[name]
