"""Defines the relay of an outbox as a function that a schedule invokes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from ojs_aws.cdk.bundle import BACKEND_SERVICES, Bundle, lock_of
from ojs_aws.cdk.function_options import FunctionOptions, secret_services, secrets_environment
from ojs_aws.cdk.job_backend import JobBackend
from ojs_aws.cdk.monitoring.alarms import alarm, notify, own_metric
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps, run_every
from ojs_aws.cdk.permissions import PRODUCER
from ojs_aws.cdk.workers.worker_network import warn_without_a_route
from ojs_aws.topology import (
    OUTBOX_AGE_METRIC,
    OUTBOX_DATABASE,
    OUTBOX_PARKED_METRIC,
    OUTBOX_PASSWORD,
    OUTBOX_TABLE,
)

if TYPE_CHECKING:
    from aws_cdk import aws_ecs as ecs

HANDLER: Final = "ojs_aws.contrib.sqlalchemy.lambda_relay.handler"
_LATE_PERIODS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRelayFunctionProps(FunctionOptions):
    """Say which outbox is read, beside the options of the function.

    :ivar backend: that gets the jobs, past its HTTP API.
    :ivar database: the URL without a password, as SQLAlchemy writes it:
        ``postgresql+psycopg://shop@db.internal/shop``.
    :ivar password: for the database, as ``ecs.Secret.from_secrets_manager(secret, "password")``.
        After a rotation the new one is known within five minutes.
    :ivar code_dir: folder with a ``requirements.txt`` that names ``sqlalchemy`` and the driver.
    :ivar table: of the outbox.
    :ivar interval_minutes: between two looks. A job waits so long at most, while all is well.
    :ivar old_minutes: how long a row may wait before an alarm rings.
    :ivar timeout_s: longest invocation; batches are begun until ten seconds before.
    :ivar memory_mb: memory of the function.
    """

    backend: JobBackend
    database: str
    password: ecs.Secret
    code_dir: Path
    table: str = "ojs_outbox"
    interval_minutes: int = 1
    old_minutes: int = 5
    timeout_s: int = 60
    memory_mb: int = 256


class OutboxRelayFunction(Construct):
    """Define a function that sends the committed jobs of an outbox, every ``interval_minutes``.

    An invocation that fails is not repeated: the next one does its work, too. The database must let
    the function in: ``database.connections.allow_default_port_from(relay.function)``.

    :ivar function: the function.
    :ivar late: rings when the oldest row waits for long, or no look has ended.
    :ivar parked: rings while the outbox has rows that the relay has given up.
    """

    def __init__(self, scope: Construct, id_: str, props: OutboxRelayFunctionProps) -> None:
        """Define function, schedule and alarms.

        :raises ValueError: options that a function cannot have.
        """
        super().__init__(scope, id_)
        backend = props.backend
        options = replace(props, secrets={**props.secrets, OUTBOX_PASSWORD: props.password})
        services = secret_services(self, options.secrets)
        tracing = backend.props.tracing
        self.function = OjsFunction(
            self,
            "Function",
            OjsFunctionProps(
                handler=HANDLER,
                bundle=Bundle(
                    target=backend.props.target,
                    lock=lock_of(tracing=tracing),
                    code_dir=props.code_dir,
                    botocore_services=tuple(sorted({*BACKEND_SERVICES, *services})),
                ),
                description="Open Job Spec: sends the jobs of an outbox",
                service="ojs-outbox-relay",
                environment={
                    **secrets_environment(self, options.secrets),
                    **backend.environment,
                    OUTBOX_DATABASE: props.database,
                    OUTBOX_TABLE: props.table,
                },
                memory_mb=props.memory_mb,
                timeout_s=props.timeout_s,
                log_retention=backend.props.log_retention,
                log_level=backend.props.log_level,
                tracing=tracing,
                reserved_concurrency=props.reserved_concurrency,
                options=options,
            ),
        )
        backend.grant(self.function, PRODUCER)
        for each in options.secrets.values():
            each.grant_read(self.function)
        run_every(self, self.function, props.interval_minutes, "Sends the jobs of an outbox")
        self._define_alarms(props)
        warn_without_a_route(self, options, services)

    def _define_alarms(self, props: OutboxRelayFunctionProps) -> None:
        period = Duration.minutes(props.interval_minutes)

        def metric(name: str) -> cloudwatch.Metric:
            return own_metric(name, self.function, "Maximum", period)

        self.late = alarm(
            self,
            "Late",
            "Committed jobs wait in the outbox, or its relay does not run.",
            "outbox.md#when-something-fails",
            metric(OUTBOX_AGE_METRIC),
            props.old_minutes * 60,
            periods=_LATE_PERIODS,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
        )
        self.parked = alarm(
            self,
            "Parked",
            "The outbox has jobs that its relay has given up.",
            "outbox.md#when-something-fails",
            metric(OUTBOX_PARKED_METRIC),
        )
        notify(self, props.backend.props.alarm_topic)
