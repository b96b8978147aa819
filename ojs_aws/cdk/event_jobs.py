"""Defines rules of EventBridge whose events become jobs (ojs-cloudevents-interop, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration, Token
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.bundle import backend_bundle
from ojs_aws.cdk.job_backend import JobBackend
from ojs_aws.cdk.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.cdk.monitoring.alarms import alarm, notify
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.cdk.permissions import PRODUCER
from ojs_aws.cdk.storage import own_queue
from ojs_aws.domain.cloud_events import EventRule, write_rules
from ojs_aws.topology import (
    EVENT_RULES,
)

NAME: Final = "event_jobs"
TIMEOUT_S: Final = 30
MAX_RECEIVES: Final = 20
"""Tries of an event: an hour, as the queue hides it for three minutes each time."""
MAX_RULES_BYTES: Final = 2500
"""Of a function's variables, which have 4 KB together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventJobsProps:
    """Say which events make which jobs.

    :ivar backend: that gets the jobs, past its HTTP API.
    :ivar rules: of several that match an event, the first one counts.
    :ivar bus: where the events are; None: the account's default bus, which has those of AWS.
    :ivar max_concurrency: invocations at a time, 2 to 1,000.
    :ivar memory_mb: memory of the function.
    """

    backend: JobBackend
    rules: Sequence[EventRule]
    bus: events.IEventBus | None = None
    max_concurrency: int = 10
    memory_mb: int = 512


class EventJobs(Construct):
    """Define a rule of EventBridge for each kind of event, and what enqueues the jobs.

    A queue stands between the rules and the function, so an outage of either loses no event.

    :ivar function: enqueues the jobs.
    :ivar queue: holds the events until their jobs are enqueued.
    :ivar dead: holds the events that made no job in an hour, for 14 days. A redrive tries them
        again.
    :ivar failed: rings while ``dead`` holds an event.
    """

    def __init__(self, scope: Construct, id_: str, props: EventJobsProps) -> None:
        """Define rules, queues and function.

        :raises ValueError: no rule, a rule that can match nothing, or too many for the function.
        """
        super().__init__(scope, id_)
        self.function = self._function(props, checked_rules(props.rules))
        props.backend.grant(self.function, PRODUCER)
        self.dead = own_queue(self, "Dead", retention_period=Duration.days(14))
        self.queue = own_queue(
            self,
            "Queue",
            visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * TIMEOUT_S),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=MAX_RECEIVES),
        )
        self.function.add_event_source(
            sources.SqsEventSource(
                self.queue,
                report_batch_item_failures=True,
                max_concurrency=props.max_concurrency,
            )
        )
        for number, rule in enumerate(props.rules):
            events.Rule(
                self,
                f"Rule{number}",
                description=f"Enqueues {rule.job_type}",
                event_bus=props.bus,
                event_pattern=pattern_of(rule),
                targets=[targets.SqsQueue(self.queue, dead_letter_queue=self.dead)],
            )
        self.failed = alarm(
            self,
            "Failed",
            "Events made no job.",
            "event-jobs.md#when-something-fails",
            self.dead.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
        )
        notify(self, props.backend.props.alarm_topic)

    def _function(self, props: EventJobsProps, rules: str) -> OjsFunction:
        """Make the function, with the backend's enqueue middleware and hooks."""
        of_backend = props.backend.props
        bundle = backend_bundle(of_backend.target, tracing=of_backend.tracing)
        environment = {**props.backend.environment, EVENT_RULES: rules}
        if of_backend.extensions is not None:
            bundle = of_backend.extensions.bundled_with(bundle, NAME)
            environment |= of_backend.extensions.environment(NAME)
        return OjsFunction(
            self,
            "Function",
            OjsFunctionProps(
                handler=f"functions.{NAME}.handler.handler",
                bundle=bundle,
                description="Open Job Spec: enqueues the jobs of events",
                service="ojs-event-jobs",
                environment=environment,
                memory_mb=props.memory_mb,
                timeout_s=TIMEOUT_S,
                log_retention=of_backend.log_retention,
                log_level=of_backend.log_level,
                tracing=of_backend.tracing,
                loops=any(rule.own_events for rule in props.rules),
            ),
        )


def checked_rules(rules: Sequence[EventRule]) -> str:
    """Return the rules as the function's settings have them.

    :raises ValueError: no rule, one that can match nothing, or too many for the function.
    :raises InvalidRequestError: no job has the type, the queue or an attribute that a rule names.
    """
    if not rules:
        raise ValueError("EventJobs needs at least one rule.")
    for rule in rules:
        rule.check(is_known_later=Token.is_unresolved)
    text = write_rules(rules)
    if len(text.encode()) > MAX_RULES_BYTES:
        raise ValueError(
            f"The rules have {len(text.encode())} bytes of {MAX_RULES_BYTES} that a function's "
            "settings hold: define a second EventJobs for some of them."
        )
    return text


def pattern_of(rule: EventRule) -> events.EventPattern:
    """Return the pattern by which EventBridge chooses the events of a rule.

    The subject is left to the function: an event of EventBridge has it among its resources.
    """
    return events.EventPattern(
        source=_like(rule.source), detail_type=_like(rule.type) if rule.type else None
    )


def _like(wanted: str) -> list[str]:
    return events.Match.prefix(wanted[:-1]) if wanted.endswith("*") else [wanted]
