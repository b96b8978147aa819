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
from ojs_aws.cdk.api.dashboard_page import DashboardPage, DashboardPageProps, described
from ojs_aws.cdk.api.http_api import OjsHttpApi, OjsHttpApiProps
from ojs_aws.cdk.api.job_endpoint import (
    JobEndpoint,
    JobEndpointProps,
    has_job_endpoint,
    warn_of_removal,
)
from ojs_aws.cdk.backend_functions import TICK_TIMEOUT_S, BackendFunctions
from ojs_aws.cdk.backend_stack import (
    OutputSources,
    StackSize,
    WorkerConcurrency,
    add_outputs,
    warn_of_other_target,
)
from ojs_aws.cdk.grants import Grants
from ojs_aws.cdk.job_backend_props import (
    JobBackendProps,
    check_queue_alarms,
    check_reports,
    check_settings,
    settings_of,
)
from ojs_aws.cdk.job_export import ExportOptions, JobExport, JobExportProps
from ojs_aws.cdk.monitoring.alarms import BackendAlarms, BackendAlarmsProps, alarms_in, notify
from ojs_aws.cdk.monitoring.dashboard import BackendDashboard, BackendDashboardProps
from ojs_aws.cdk.resources.job_queues import JobQueues, JobQueuesProps
from ojs_aws.cdk.resources.job_table import JobTable, JobTableProps
from ojs_aws.cdk.resources.storage import documents_bucket, expire_events
from ojs_aws.cdk.stack_removal import StackRemoval, StackRemovalProps
from ojs_aws.cdk.triggers import (
    ChangeStream,
    ChangeStreamProps,
    CronWakeUps,
    CronWakeUpsProps,
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
        check_queue_alarms(props)
        check_reports(props)
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
            self,
            key=props.encryption_key,
            removal_policy=props.removal_policy,
            days=props.document_backup_days,
        )
        self.removal = self._removal()
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
            self,
            "CronAlarms",
            CronWakeUpsProps(
                prefix=self.queues.prefix, function=self.tick, timeout_s=TICK_TIMEOUT_S
            ),
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
        self.export = None if props.export is None else self._export(props.export, made)
        self.api = self._http_api()
        self.job_endpoint = self._job_endpoint(made)
        self.page = self._page()
        self._watch()
        sources = OutputSources(
            api=self.api,
            table=self.table,
            queues=self.queues,
            bucket=self.bucket,
            event_bus=self.event_bus,
            access=props.access,
            job_endpoint=self.job_endpoint,
            export=self.export,
            has_page=self.page is not None,
        )
        add_outputs(self, sources, props.output_prefix)
        warn_of_other_target(self, props.target)
        StackSize(self)

    def _http_api(self) -> OjsHttpApi:
        props = self.props
        return OjsHttpApi(
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

    def _job_endpoint(self, functions: BackendFunctions) -> JobEndpoint | None:
        props = self.props
        if props.job_endpoint is None:
            throttles = props.rate_limit_per_s is not None or props.burst_limit is not None
            warn_of_removal(self, props.access, throttles=throttles)
        if not has_job_endpoint(
            props.access, wanted=props.job_endpoint, concurrency=props.job_endpoint_concurrency
        ):
            return None
        return JobEndpoint(
            self,
            "JobUrl",
            JobEndpointProps(
                function=functions.job_endpoint(),
                access=props.access,
                cors_origins=props.cors_origins,
            ),
        )

    def _page(self) -> DashboardPage | None:
        props, sign_in = self.props, None
        if chosen := props.web_dashboard_sign_in:
            sign_in = described(chosen, props.access, has_page=props.has_web_dashboard)
        if not props.has_web_dashboard:
            return None
        return DashboardPage(
            self,
            "Page",
            DashboardPageProps(
                api=self.api.api,
                sign_in=sign_in,
                environment=props.web_dashboard_environment,
                target=props.target,
                log_retention=props.log_retention,
                log_level=props.log_level,
            ),
        )

    def _watch(self) -> None:
        """Add the alarms and the dashboard, and notify the topic of alarms."""
        props, table = self.props, self.table.table
        self.alarms = BackendAlarms(
            self,
            "Alarms",
            BackendAlarmsProps(
                queues=props.queue_alarms,
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
            functions: dict[str, lambda_.IFunction] = {
                **{str(group): each for group, each in self.functions.items()},
                "tick": self.tick,
                "stream": self.stream,
            }
            if self.authorizer is not None:
                functions["authorizer"] = self.authorizer
            if self.job_endpoint is not None:
                functions["job_endpoint"] = self.job_endpoint.function
            if self.export is not None:
                functions["export"] = self.export.function
            if self.page is not None:
                functions["page"] = self.page.function
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
        if props.alarm_topic is not None:
            notify(self, props.alarm_topic)

    def _export(self, options: ExportOptions, functions: BackendFunctions) -> JobExport:
        return JobExport(
            self,
            "Exporting",
            JobExportProps(
                function=functions.export(options),
                table=self.table.table,
                options=options,
                encryption_key=self.props.encryption_key,
                removal_policy=self.props.removal_policy,
                removal=self.removal,
            ),
        )

    def _table(self) -> JobTable:
        props = self.props
        is_protected = props.deletion_protection
        if is_protected is None:
            is_protected = props.removal_policy is not RemovalPolicy.DESTROY
        return JobTable(
            self,
            "Jobs",
            JobTableProps(
                removal_policy=props.removal_policy,
                encryption_key=props.encryption_key,
                has_aws_owned_key=props.has_aws_owned_key,
                deletion_protection=is_protected,
                restored=props.restored_table,
                warm_throughput=props.warm_throughput,
                index_warm_throughput=props.index_warm_throughput,
            ),
        )

    def _removal(self) -> StackRemoval | None:
        props = self.props
        if props.removal_policy is not RemovalPolicy.DESTROY:
            return None
        return StackRemoval(
            self,
            "Removal",
            StackRemovalProps(
                bucket=self.bucket,
                queues=self.queues,
                target=props.target,
                log_retention=props.log_retention,
                log_level=props.log_level,
            ),
        )

    @property
    def takes_reports(self) -> bool:
        """Return whether endpoints may report on their jobs by the tokens of deliveries."""
        return bool(self.props.report_secrets) or isinstance(self.props.access, OpenAccess)

    def allow_targets(self, targets: Mapping[str, Mapping[str, Any]]) -> None:
        """Let operators bind queues to these targets, by the names of their bindings.

        :raises ValueError: a name that another construct has used, or a queue whose messages invoke
            the dispatcher of another construct.
        """
        if taken := sorted({*targets} & {*self._targets}):
            raise ValueError(f"There are bindings of these names already: {', '.join(taken)}.")
        if shared := sorted(_queues_of(targets) & _queues_of(self._targets)):
            raise ValueError(
                f"Another construct has bindings of {', '.join(shared)}, and either would get the "
                "jobs of both. Define all bindings of a queue in one construct; functions, "
                "endpoints and tasks need queues of their own."
            )
        if not self._targets:
            self.alarms.watch_bindings(self.tick, self.props.alarm_topic)
        if _has_functions(targets) and not _has_functions(self._targets):
            expire_events(self.bucket)
        self._targets.update(targets)
        operator = self.functions[Group.OPERATOR]
        operator.add_environment("OJS_BINDING_TARGETS", json.dumps(self._targets))

    def _environment(self) -> dict[str, str]:
        return {
            "OJS_STREAM_DELETES_MESSAGES": "1",
            "OJS_STREAM_LISTS_COMPLETED": "1",
            **settings_of(self.props),
            "OJS_TABLE": self.table.table.table_name,
            "OJS_QUEUE_PREFIX": self.queues.prefix,
            "OJS_QUEUE_URL_PREFIX": self.queues.url_prefix,
            "OJS_BUCKET": self.bucket.bucket_name,
            "OJS_EVENT_BUS": self.event_bus.event_bus_name,
            "OJS_QUEUES": ",".join(self.props.queues),
            "OJS_ALLOW_UNDECLARED_QUEUES": "1" if self.props.allow_undeclared_queues else "0",
        }


def _has_functions(targets: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether some targets are functions, and neither endpoints nor tasks."""
    return any(not {"prefixes", "family"} & {*each} for each in targets.values())


def _queues_of(targets: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the queues that some targets serve."""
    return {queue for each in targets.values() for queue in each["queues"]}
