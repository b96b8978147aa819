"""The clock of the backend: one invocation a minute."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


@dataclass(frozen=True, slots=True, kw_only=True)
class TickScheduleProps:
    """What runs, and how often.

    :ivar function: the sweep.
    :ivar interval_minutes: between two ticks. Nothing that a client sees depends on it.
    """

    function: lambda_.IFunction
    interval_minutes: int = 1


class TickSchedule(Construct):
    """An EventBridge rule that invokes the sweep.

    A failed tick is not repeated: the next one does its work too.

    :ivar rule: the rule.
    """

    def __init__(self, scope: Construct, id_: str, props: TickScheduleProps) -> None:
        """Define the rule."""
        super().__init__(scope, id_)
        target = targets.LambdaFunction(
            props.function, retry_attempts=0, max_event_age=Duration.minutes(1)
        )
        self.rule = events.Rule(
            self,
            "Rule",
            description="Sweeps jobs that no message could time",
            schedule=events.Schedule.rate(Duration.minutes(props.interval_minutes)),
            targets=[target],
        )
