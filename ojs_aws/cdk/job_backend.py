"""Defines the whole backend as one construct."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from aws_cdk import RemovalPolicy
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ojs_aws.cdk.api.access import ApiKeys, OpenAccess
from ojs_aws.cdk.api.http_api import OjsHttpApi, OjsHttpApiProps
from ojs_aws.cdk.backend_functions import TICK_TIMEOUT_S, BackendFunctions
from ojs_aws.cdk.backend_stack import (
    StackSize,
    WorkerConcurrency,
    add_outputs,
    check_new_targets,
    has_functions,
    next_command,
    warn_of_other_target,
)
from ojs_aws.cdk.endpoints import DashboardPage, make_job_endpoint
from ojs_aws.cdk.grants import Grants
from ojs_aws.cdk.job_backend_props import (
    JobBackendProps,
    check_choices,
    check_settings,
    settings_of,
    settings_with,
)
from ojs_aws.cdk.job_export import JobExport, JobExportProps
from ojs_aws.cdk.job_queues import JobQueues, JobQueuesProps
from ojs_aws.cdk.job_table import JobTable, JobTableProps
from ojs_aws.cdk.monitoring.alarms import BackendAlarms, BackendAlarmsProps, alarms_in, notify
from ojs_aws.cdk.monitoring.dashboard import BackendDashboard, BackendDashboardProps
from ojs_aws.cdk.stack_removal import StackRemoval
from ojs_aws.cdk.storage import documents_bucket, expire_events
from ojs_aws.cdk.triggers import (
    ChangeStream,
    ChangeStreamProps,
    CronWakeUps,
    TickSchedule,
    TickScheduleProps,
)
from ojs_aws.transport.http.routes import Group


class JobBackend(Construct):
    """Define table, queues, bucket, bus, functions and API of one Open Job Spec backend.

    The stack gets outputs: the URL of the API, the names of table, queues, bucket and bus, and
    ``NextCommand``, a line for a shell that makes the first call.

    :ivar table: the table of jobs.
    :ivar queues: the SQS queues.
    :ivar bucket: documents that do not fit into the table.
    :ivar removal: removes them and queues of first use with the stack, where data goes with it.
    :ivar event_bus: where lifecycle events are published.
    :ivar functions: the API's functions, by their groups.
    :ivar authorizer: the function that finds callers by their API keys, where they have some.
    :ivar tick: the function of the sweep and of cron jobs.
    :ivar cron_wake_ups: what wakes it when a cron job is due.
    :ivar stream: the function that reads the table's changes.
    :ivar export: what writes jobs that have ended to S3, where that is wanted.
    :ivar api: the HTTP API.
    :ivar job_endpoint: the URL of senders and workers, where it was asked for.
    :ivar page: the page for operators at the API's URL, where that is wanted.
    :ivar alarms: those that watch the whole; ``schedule`` and ``changes`` have their own.
    :ivar environment: the settings of a function that uses the backend directly.
    :ivar grant: gives a principal exactly some permissions on the backend.
    :ivar worker_concurrency: what Lambda workers may take of the account's concurrency.
    """

    @property
    def cron_alarms(self) -> CronWakeUps:
        """Return :attr:`cron_wake_ups` under its former name."""
        warnings.warn("cron_alarms is called cron_wake_ups now.", DeprecationWarning, stacklevel=2)
        return self.cron_wake_ups

    def __init__(self, scope: Construct, id_: str, props: JobBackendProps | None = None) -> None:
        """Define all of it.

        :raises ValueError: a setting that cannot be used.
        """
        super().__init__(scope, id_)
        self.props = props = props or JobBackendProps()
        self._targets: dict[str, Mapping[str, Any]] = {}
        settings = check_settings(settings_of(props))
        check_choices(props)
        self.table = self._table()
        self.queues = JobQueues(
            self,
            "Queues",
            JobQueuesProps(
                prefix=props.queue_prefix,
                separator=props.queue_separator,
                names=props.queues,
                adopted=props.adopted_queues,
            ),
        )
        self.bucket = documents_bucket(
            self, props.encryption_key, props.removal_policy, props.document_backup_days
        )
        self.removal = None
        if props.removal_policy is RemovalPolicy.DESTROY:
            self.removal = StackRemoval(
                self,
                "Removal",
                self.bucket,
                self.queues,
                target=props.target,
                log_retention=props.log_retention,
                log_level=props.log_level,
            )
        self.event_bus = props.event_bus or events.EventBus(self, "Events")
        grants = Grants(
            table=self.table,
            queues=self.queues,
            bucket=self.bucket,
            event_bus=self.event_bus,
            encryption_key=props.encryption_key,
            allow_undeclared_queues=props.allow_undeclared_queues,
            removal=self.removal,
        )
        self.grant = grants.give
        self.environment = self._environment()
        self.worker_concurrency = WorkerConcurrency(props.concurrency_alarm)
        made = BackendFunctions(self, props, self.environment, self.grant)
        self.functions = made.api()
        self.authorizer = made.authorizer() if isinstance(props.access, ApiKeys) else None
        self.tick = made.tick()
        self.stream = made.stream()
        self.cron_wake_ups = CronWakeUps(
            self, "CronAlarms", self.queues.prefix, self.tick, TICK_TIMEOUT_S
        )
        for function in (self.tick, self.stream, self.functions[Group.OPERATOR]):
            self.cron_wake_ups.grant_set(function)
        most = settings.max_undeclared_queues if props.allow_undeclared_queues else None
        self.schedule = TickSchedule(
            self, "Schedule", TickScheduleProps(function=self.tick, most_undeclared=most)
        )
        self.changes = ChangeStream(
            self,
            "Changes",
            ChangeStreamProps(
                table=self.table.table,
                function=self.stream,
                parallelization_factor=props.stream_parallelization_factor,
                batching_window_s=props.stream_batching_window_s,
            ),
        )
        self.export = self._export(made)
        self.api = self._http_api()
        self.job_endpoint = make_job_endpoint(self, props, made.job_endpoint)
        self.page = (
            DashboardPage(self, "Page", self.api.api, props) if props.has_web_dashboard else None
        )
        self._watch()
        add_outputs(self, self._outputs(), props.output_prefix)
        warn_of_other_target(self, props.target)
        StackSize(self)

    def _outputs(self) -> dict[str, str]:
        """Return the outputs by their names."""
        table = self.table.table.table_name
        return {
            "ApiUrl": self.api.url,
            "TableName": table,
            "QueueUrlPrefix": self.queues.url_prefix,
            "QueuePrefix": self.queues.prefix,
            "BucketName": self.bucket.bucket_name,
            "EventBusName": self.event_bus.event_bus_name,
            "DeadLetterQueueUrl": self.queues.dead_letters.queue_url,
            "NextCommand": next_command(self, self.api.url, table, self.props.access),
            **({"JobEndpointUrl": self.job_endpoint.url} if self.job_endpoint else {}),
            **({"ExportBucketName": self.export.bucket.bucket_name} if self.export else {}),
            **({"DashboardUrl": self.api.url} if self.page else {}),
        }

    def _export(self, functions: BackendFunctions) -> JobExport | None:
        props = self.props
        if props.export is None:
            return None
        export = JobExportProps(
            function=functions.export(props.export),
            table=self.table.table,
            options=props.export,
            encryption_key=props.encryption_key,
            removal_policy=props.removal_policy,
            removal=self.removal,
        )
        return JobExport(self, "Exporting", export)

    def _http_api(self) -> OjsHttpApi:
        props = self.props
        api = OjsHttpApiProps(
            functions={group: each.live for group, each in self.functions.items()},
            access=props.access,
            authorizer=self.authorizer.live if self.authorizer else None,
            public_status=props.public_status,
            cors_origins=props.cors_origins,
            rate_limit_per_s=props.rate_limit_per_s,
            burst_limit=props.burst_limit,
            access_log_retention=props.log_retention if props.access_log else None,
        )
        return OjsHttpApi(self, "Http", api)

    def _watch(self) -> None:
        """Add the alarms and the dashboard, and notify the topic of alarms."""
        props, table = self.props, self.table.table
        alarms = BackendAlarmsProps(
            queues=props.queue_alarms,
            tick=self.tick,
            stream=self.stream,
            table=table,
            unreadable=self.queues.dead_letters,
            api=self.api.api,
            old_minutes=props.old_job_minutes,
            concurrency=props.concurrency_alarm,
        )
        self.alarms = BackendAlarms(self, "Alarms", alarms)
        if props.has_dashboard:
            functions: dict[str, lambda_.IFunction] = {
                **{str(group): each for group, each in self.functions.items()},
                "tick": self.tick,
                "stream": self.stream,
                **({"authorizer": self.authorizer} if self.authorizer else {}),
                **({"job_endpoint": self.job_endpoint.function} if self.job_endpoint else {}),
                **({"export": self.export.function} if self.export else {}),
                **({"page": self.page.function} if self.page else {}),
            }
            BackendDashboard(
                self,
                "Overview",
                BackendDashboardProps(
                    alarms=alarms_in(self),
                    queues=self.queues.queues,
                    functions=functions,
                    tick=self.tick,
                    stream=self.stream,
                    table=table,
                ),
            )
        notify(self, props.alarm_topic)

    def _table(self) -> JobTable:
        props = self.props
        is_protected = props.deletion_protection
        if is_protected is None:
            is_protected = props.removal_policy is not RemovalPolicy.DESTROY
        table = JobTableProps(
            removal_policy=props.removal_policy,
            encryption_key=props.encryption_key,
            has_aws_owned_key=props.has_aws_owned_key,
            deletion_protection=is_protected,
            restored=props.restored_table,
            warm_throughput=props.warm_throughput,
            index_warm_throughput=props.index_warm_throughput,
        )
        return JobTable(self, "Jobs", table)

    @property
    def takes_reports(self) -> bool:
        """Return whether endpoints may report on their jobs by the tokens of deliveries."""
        return bool(self.props.report_secrets) or isinstance(self.props.access, OpenAccess)

    def allow_targets(self, targets: Mapping[str, Mapping[str, Any]]) -> None:
        """Let operators bind queues to these targets, by the names of their bindings.

        :raises ValueError: a name that another construct has used, or a queue whose messages invoke
            the dispatcher of another construct.
        """
        check_new_targets(targets, self._targets)
        if not self._targets:
            self.alarms.watch_bindings(self.tick, self.props.alarm_topic)
        if has_functions(targets) and not has_functions(self._targets):
            expire_events(self.bucket)
        self._targets.update(targets)
        operator = self.functions[Group.OPERATOR]
        operator.add_environment("OJS_BINDING_TARGETS", json.dumps(self._targets))

    def _environment(self) -> dict[str, str]:
        defaults = {"OJS_STREAM_DELETES_MESSAGES": "1", "OJS_STREAM_LISTS_COMPLETED": "1"}
        own = {
            "OJS_TABLE": self.table.table.table_name,
            "OJS_QUEUE_PREFIX": self.queues.prefix,
            "OJS_QUEUE_URL_PREFIX": self.queues.url_prefix,
            "OJS_BUCKET": self.bucket.bucket_name,
            "OJS_EVENT_BUS": self.event_bus.event_bus_name,
            "OJS_QUEUES": ",".join(self.props.queues),
            "OJS_ALLOW_UNDECLARED_QUEUES": "1" if self.props.allow_undeclared_queues else "0",
        }
        return settings_with({**defaults, **settings_of(self.props)}, own)
