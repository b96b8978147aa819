"""Deploy ``consumer.py`` behind EventBridge and SQS.

In a CDK app:

    backend = JobBackend(self, "Jobs")
    GoneJobs(self, "GoneJobs", backend.event_bus)
"""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

TIMEOUT_S = 30


class GoneJobs(Construct):
    """Invokes a function for each job that will not run again.

    The queue between the bus and the function keeps events while the function fails; what fails
    five times, or what EventBridge cannot deliver, ends in a second queue.
    """

    def __init__(self, scope: Construct, id_: str, bus: events.IEventBus) -> None:
        """Define the rule, the queues, the function and its table of seen ids."""
        super().__init__(scope, id_)
        self.dead = sqs.Queue(self, "Dead", enforce_ssl=True, retention_period=Duration.days(14))
        self.queue = sqs.Queue(
            self,
            "Queue",
            enforce_ssl=True,
            visibility_timeout=Duration.seconds(6 * TIMEOUT_S),
            retention_period=Duration.days(1),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=5),
        )
        self.rule = events.Rule(
            self,
            "Rule",
            event_bus=bus,
            event_pattern=events.EventPattern(
                source=["ojs.aws"], detail_type=["job.discarded", "job.expired"]
            ),
            targets=[targets.SqsQueue(self.queue, dead_letter_queue=self.dead)],
        )
        seen = dynamodb.TableV2(
            self,
            "Seen",
            partition_key=dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING),
            time_to_live_attribute="ttl",
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            code=lambda_.Code.from_asset(str(Path(__file__).parent), exclude=["*", "!consumer.py"]),
            handler="consumer.handler",
            timeout=Duration.seconds(TIMEOUT_S),
            environment={"SEEN_TABLE": seen.table_name},
        )
        seen.grant(self.function, "dynamodb:GetItem", "dynamodb:PutItem")
        self.function.add_event_source(
            sources.SqsEventSource(self.queue, report_batch_item_failures=True)
        )
