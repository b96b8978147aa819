"""The whole backend as one construct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.bundling import Target, backend_bundle
from infra.constructs.access import Access, ApiKeys
from infra.constructs.alarms import BackendAlarms, BackendAlarmsProps, alarms_in, notify
from infra.constructs.backend_extensions import BackendExtensions
from infra.constructs.change_stream import ChangeStream, ChangeStreamProps
from infra.constructs.cron_alarms import CronAlarms, CronAlarmsProps
from infra.constructs.dashboard import BackendDashboard, BackendDashboardProps
from infra.constructs.http_api import OjsHttpApi, OjsHttpApiProps
from infra.constructs.job_export import ExportOptions, JobExport, JobExportProps
from infra.constructs.job_queues import JobQueues, JobQueuesProps
from infra.constructs.job_table import JobTable, JobTableProps, RestoredTable
from infra.constructs.ojs_function import OjsFunction, OjsFunctionProps
from infra.constructs.permissions import (
    AUTHORIZER,
    CREATE_QUEUE,
    EXPORT,
    EXPORT_DOCUMENTS,
    KEYS_DENIED,
    OPERATOR,
    OWN_KEY,
    PRODUCER,
    STREAM,
    SYSTEM,
    TICK,
    WORKER_API,
    Permissions,
)
from infra.constructs.storage import private_bucket
from infra.constructs.tick_schedule import TickSchedule, TickScheduleProps
from infra.constructs.warm_start import WarmStart
from ojs_aws.config import Settings, describe_settings
from ojs_aws.topology import DEFAULT_QUEUE, KEY_PARTITION
from ojs_aws.transport.http.routes import Group

TICK_TIMEOUT_S: Final = 55

BACKUP_DAYS: Final = 35
"""How far back the table can be restored, and therefore its documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBackendProps:
    """What the backend is like. Every default makes a backend that is ready for production.

    :ivar queue_prefix: begins the name of each SQS queue; unique in an account and region.
    :ivar queues: the OJS queues that exist from the beginning. Lambda workers serve only these.
    :ivar allow_undeclared_queues: make a queue at its first use. When this is off, the functions
        may touch the declared queues only.
    :ivar settings: more settings of ``ojs_aws.config``, by the names of their variables.
    :ivar extensions: enqueue middleware and hooks of your own, with the code they are in.
    :ivar target: architecture and Python version of the functions.
    :ivar access: who may call the API; by default those with API keys.
    :ivar public_status: answer health and manifest without credentials.
    :ivar cors_origins: origins whose pages may use the API; none by default, and ``*`` never.
    :ivar rate_limit_per_s: requests a second before the gateway answers 429; None takes the
        account's limit.
    :ivar burst_limit: requests at a moment; None: twice the rate.
    :ivar access_log: keep a line of each request at the gateway, its own refusals included.
    :ivar encryption_key: a KMS key of your own for the table and the bucket; None: AWS's.
    :ivar deletion_protection: refuse to delete the table; None: unless it goes with the stack.
    :ivar restored_table: a table restored from a backup, in the place of one of its own.
    :ivar document_backup_days: how long deleted documents can be brought back, at the price of
        keeping them; 0: not. None: as long as the table, unless all goes with the stack.
    :ivar export: write jobs that have ended to S3; None: not.
    :ivar event_bus: the bus for lifecycle events; None makes one.
    :ivar memory_mb: memory of the API's functions.
    :ivar start: how the API's functions are made ready before they are asked; None: not.
    :ivar tracing: trace the functions with AWS X-Ray, which bills traces and makes starts slower.
    :ivar log_retention: how long logs are kept.
    :ivar log_level: least level that the functions log.
    :ivar removal_policy: what becomes of the table and the bucket when the stack goes.
    :ivar alarm_topic: is told when an alarm rings, and when it is over; None tells nobody.
    :ivar old_job_minutes: how long a job may be available before its queue's alarm rings.
    :ivar concurrency_alarm: concurrent executions of the account's functions at which to ring.
    :ivar has_dashboard: make a CloudWatch dashboard.
    """

    queue_prefix: str = "ojs"
    queues: Sequence[str] = (DEFAULT_QUEUE,)
    allow_undeclared_queues: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    extensions: BackendExtensions | None = None
    target: Target = field(default_factory=Target)
    access: Access = field(default_factory=ApiKeys)
    public_status: bool = True
    cors_origins: Sequence[str] = ()
    rate_limit_per_s: int | None = None
    burst_limit: int | None = None
    access_log: bool = True
    encryption_key: kms.IKey | None = None
    deletion_protection: bool | None = None
    restored_table: RestoredTable | None = None
    document_backup_days: int | None = None
    export: ExportOptions | None = None
    event_bus: events.IEventBus | None = None
    memory_mb: int = 512
    start: WarmStart | None = None
    tracing: bool = False
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_level: str = "INFO"
    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN
    alarm_topic: sns.ITopic | None = None
    old_job_minutes: int = 15
    concurrency_alarm: int = 800
    has_dashboard: bool = True


class JobBackend(Construct):
    """Table, queues, bucket, bus, functions and API of one Open Job Spec backend.

    :ivar table: the table of jobs.
    :ivar queues: the SQS queues.
    :ivar bucket: documents that do not fit into the table.
    :ivar event_bus: where lifecycle events are published.
    :ivar functions: the API's functions, by their groups.
    :ivar authorizer: the function that finds callers by their API keys, where they have some.
    :ivar tick: the function of the sweep and of cron jobs.
    :ivar cron_alarms: what wakes it when a cron job is due.
    :ivar stream: the function that reads the table's changes.
    :ivar export: what writes jobs that have ended to S3, where that is wanted.
    :ivar api: the HTTP API.
    :ivar alarms: those that watch the whole; ``schedule`` and ``changes`` have their own.
    :ivar environment: the settings of a function that uses the backend directly.
    """

    def __init__(self, scope: Construct, id_: str, props: JobBackendProps | None = None) -> None:
        """Define all of it.

        :raises ValueError: a setting that cannot be used.
        """
        super().__init__(scope, id_)
        self.props = props = props or JobBackendProps()
        _check_settings(props.settings)
        stays = props.removal_policy is not RemovalPolicy.DESTROY
        self.table = JobTable(
            self,
            "Jobs",
            JobTableProps(
                removal_policy=props.removal_policy,
                encryption_key=props.encryption_key,
                deletion_protection=stays
                if props.deletion_protection is None
                else props.deletion_protection,
                restored=props.restored_table,
            ),
        )
        self.queues = JobQueues(
            self, "Queues", JobQueuesProps(prefix=props.queue_prefix, names=props.queues)
        )
        self.bucket = self._bucket()
        self.event_bus = props.event_bus or events.EventBus(self, "Events")
        self.environment = self._environment()
        api_functions = {
            Group.PRODUCER: (PRODUCER, "Enqueues, reads and cancels jobs"),
            Group.WORKER_API: (WORKER_API, "Gives jobs to workers and takes their outcomes"),
            Group.OPERATOR: (OPERATOR, "Queues, cron jobs, dead letters and events"),
            Group.SYSTEM: (SYSTEM, "Manifest, health, OpenAPI and unknown routes"),
        }
        self.functions = {
            group: self._function(group.value, permissions, description, start=props.start)
            for group, (permissions, description) in api_functions.items()
        }
        self.authorizer = (
            self._function(
                "authorizer", AUTHORIZER, "Finds callers by their API keys", 10, props.start
            )
            if isinstance(props.access, ApiKeys)
            else None
        )
        self.tick = self._function(
            "tick", TICK, "Sweeps jobs that time has overtaken, and fires cron jobs", TICK_TIMEOUT_S
        )
        self.stream = self._function("stream", STREAM, "Turns changes into events", 60)
        self.cron_alarms = CronAlarms(
            self,
            "CronAlarms",
            CronAlarmsProps(
                prefix=props.queue_prefix, function=self.tick, timeout_s=TICK_TIMEOUT_S
            ),
        )
        for function in (self.tick, self.stream, self.functions[Group.OPERATOR]):
            self.cron_alarms.grant_set(function)
        self.schedule = TickSchedule(self, "Schedule", TickScheduleProps(function=self.tick))
        self.changes = ChangeStream(
            self, "Changes", ChangeStreamProps(table=self.table.table, function=self.stream)
        )
        self.export = None if props.export is None else self._export(props.export)
        self.api = OjsHttpApi(
            self,
            "Http",
            OjsHttpApiProps(
                functions={group: each.live for group, each in self.functions.items()},
                access=props.access,
                authorizer=self.authorizer.live if self.authorizer else None,
                public_status=props.public_status,
                cors_origins=props.cors_origins,
                rate_limit_per_s=props.rate_limit_per_s,
                burst_limit=props.burst_limit,
                access_log_retention=props.log_retention if props.access_log else None,
            ),
        )
        self._watch()

    def _watch(self) -> None:
        """Alarms over everything, a dashboard, and who is told."""
        props, table = self.props, self.table.table
        self.alarms = BackendAlarms(
            self,
            "Alarms",
            BackendAlarmsProps(
                queues=list(self.queues.queues),
                tick=self.tick,
                stream=self.stream,
                table=table,
                unreadable=self.queues.dead_letters,
                api=self.api.api,
                old_minutes=props.old_job_minutes,
                concurrency=props.concurrency_alarm,
            ),
        )
        if props.has_dashboard:
            functions = {str(group): each for group, each in self.functions.items()}
            BackendDashboard(
                self,
                "Overview",
                BackendDashboardProps(
                    alarms=alarms_in(self),
                    queues=self.queues.queues,
                    functions={**functions, "tick": self.tick, "stream": self.stream},
                    tick=self.tick,
                    stream=self.stream,
                    table=table,
                ),
            )
        if props.alarm_topic is not None:
            notify(self, props.alarm_topic)

    def grant(
        self,
        grantee: iam.IGrantable,
        permissions: Permissions,
        queues: Sequence[sqs.IQueue] | None = None,
    ) -> None:
        """Let somebody do exactly this to the backend.

        :param queues: the queues that are meant; None means all of the backend's.
        """
        principal = grantee.grant_principal
        if queues is not None:
            queue_arns = [queue.queue_arn for queue in queues]
        elif self.props.allow_undeclared_queues:
            queue_arns = [self.queues.any_queue_arn]
        else:
            queue_arns = [queue.queue_arn for queue in self.queues.queues.values()]
        creates = permissions.creates_queues and self.props.allow_undeclared_queues
        wanted: list[tuple[Sequence[str], list[str]]] = [
            (permissions.table, [self.table.table.table_arn]),
            (("dynamodb:Query",) if permissions.has_index else (), [self.table.index_arn]),
            ((*permissions.queues, *((CREATE_QUEUE,) if creates else ())), queue_arns),
            (permissions.documents, [self.bucket.arn_for_objects("*")]),
            (self._own_key_actions(permissions), self._own_key_arns()),
            (
                ("events:PutEvents",) if permissions.publishes else (),
                [self.event_bus.event_bus_arn],
            ),
        ]
        if permissions.sees_triggers:  # Lambda knows no resources for this action
            wanted.append((("lambda:ListEventSourceMappings",), ["*"]))
        for actions, resources in wanted:
            if actions:
                principal.add_to_principal_policy(
                    iam.PolicyStatement(actions=sorted(actions), resources=resources)
                )
        if permissions.deletes:
            leading = {"dynamodb:LeadingKeys": [*permissions.deletes]}
            principal.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=["dynamodb:DeleteItem"],
                    resources=[self.table.table.table_arn],
                    conditions={"ForAllValues:StringEquals": leading},
                )
            )

        self._grant_keys(principal, permissions)

    def _grant_keys(self, principal: iam.IPrincipal, permissions: Permissions) -> None:
        """The records of API keys to who needs them, and to nobody else who uses the table."""
        table, partition = [self.table.table.table_arn], [KEY_PARTITION]
        if permissions.keys:
            allowed = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": partition}}
            principal.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=sorted(permissions.keys), resources=table, conditions=allowed
                )
            )
        elif permissions.table:
            denied = {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": partition}}
            principal.add_to_principal_policy(
                iam.PolicyStatement(
                    effect=iam.Effect.DENY,
                    actions=sorted(KEYS_DENIED),
                    resources=table,
                    conditions=denied,
                )
            )

    def _own_key_actions(self, permissions: Permissions) -> Sequence[str]:
        is_used = permissions.table or permissions.keys
        return OWN_KEY if is_used and self.props.encryption_key is not None else ()

    def _own_key_arns(self) -> list[str]:
        key = self.props.encryption_key
        return [] if key is None else [key.key_arn]

    def _function(
        self,
        name: str,
        permissions: Permissions,
        description: str,
        timeout_s: int = 25,
        start: WarmStart | None = None,
    ) -> OjsFunction:
        """One of the backend's own functions: ``functions/<name>/handler.py``."""
        tracing = self.props.tracing
        bundle, environment = backend_bundle(self.props.target, tracing=tracing), self.environment
        if self.props.extensions is not None:
            bundle = self.props.extensions.bundled_with(bundle, name)
            environment = {**environment, **self.props.extensions.environment(name)}
        environment = {**environment, **self._access_settings()}
        function = OjsFunction(
            self,
            "".join(part.capitalize() for part in name.split("_")),
            OjsFunctionProps(
                handler=f"functions.{name}.handler.handler",
                bundle=bundle,
                description=f"Open Job Spec: {description}",
                service=f"ojs-{name.replace('_', '-')}",
                environment=environment,
                memory_mb=self.props.memory_mb,
                timeout_s=timeout_s,
                log_retention=self.props.log_retention,
                log_level=self.props.log_level,
                start=start,
                tracing=tracing,
            ),
        )
        self.grant(function, permissions)
        return function

    def _export(self, options: ExportOptions) -> JobExport:
        permissions = EXPORT_DOCUMENTS if options.documents else EXPORT
        function = self._function("export", permissions, "Writes ended jobs to S3", 60)
        return JobExport(
            self,
            "Exporting",
            JobExportProps(
                function=function,
                table=self.table.table,
                options=options,
                encryption_key=self.props.encryption_key,
                removal_policy=self.props.removal_policy,
            ),
        )

    def _bucket(self) -> s3.Bucket:
        key, days = self.props.encryption_key, self.props.document_backup_days
        if days is None:
            days = 0 if self.props.removal_policy is RemovalPolicy.DESTROY else BACKUP_DAYS
        return private_bucket(
            self,
            "Documents",
            key=key,
            removal_policy=self.props.removal_policy,
            is_versioned=days > 0,
            rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    noncurrent_version_expiration=Duration.days(days) if days else None,
                    expired_object_delete_marker=True if days else None,
                )
            ],
            why_unlogged="Only the backend's functions read and write it, and log what they do; "
            "who needs more switches on CloudTrail's data events, which lose no request as access "
            "logs may.",
        )

    def _access_settings(self) -> dict[str, str]:
        is_public = "1" if self.props.public_status else "0"
        return {**self.props.access.settings, "OJS_PUBLIC_STATUS": is_public}

    def _environment(self) -> dict[str, str]:
        return {
            **self.props.settings,
            "OJS_TABLE": self.table.table.table_name,
            "OJS_QUEUE_PREFIX": self.props.queue_prefix,
            "OJS_QUEUE_URL_PREFIX": self.queues.url_prefix,
            "OJS_BUCKET": self.bucket.bucket_name,
            "OJS_EVENT_BUS": self.event_bus.event_bus_name,
            "OJS_QUEUES": ",".join(self.props.queues),
            "OJS_ALLOW_UNDECLARED_QUEUES": "1" if self.props.allow_undeclared_queues else "0",
        }


def _check_settings(settings: Mapping[str, str]) -> None:
    """Refuse at synthesis what the functions would refuse at their start."""
    unknown = sorted(set(settings) - {variable for variable, _, _ in describe_settings()})
    if unknown:
        raise ValueError(f"There is no setting {', '.join(unknown)}.")
    Settings.from_env({**settings, "AWS_EXECUTION_ENV": "AWS_Lambda_python"})
