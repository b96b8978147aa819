"""Exports the constructs for CDK apps of your own; they need ``pip install 'ojs-aws[cdk]'``.

.. code-block:: python

    from ojs_aws.cdk import (
        JobBackend, JobBackendProps, LambdaWorkerFunction, LambdaWorkerFunctionProps
    )

    backend = JobBackend(self, "Jobs", JobBackendProps(queues=["default", "email"]))
    LambdaWorkerFunction(self, "Emails", LambdaWorkerFunctionProps(
        backend=backend, code_dir=Path("workers/email"), handler="jobs.handler", queues=["email"],
    ))

Names are imported when first asked for: bundles are made, and the local server finds the functions,
without the CDK and without Node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.cdk.api.access import Access as Access
    from ojs_aws.cdk.api.access import ApiKeys as ApiKeys
    from ojs_aws.cdk.api.access import Iam as Iam
    from ojs_aws.cdk.api.access import Jwt as Jwt
    from ojs_aws.cdk.api.access import OidcSignIn as OidcSignIn
    from ojs_aws.cdk.api.access import OpenAccess as OpenAccess
    from ojs_aws.cdk.api.access import OwnAuthorizer as OwnAuthorizer
    from ojs_aws.cdk.api.http_api import OjsHttpApi as OjsHttpApi
    from ojs_aws.cdk.api.http_api import OjsHttpApiProps as OjsHttpApiProps
    from ojs_aws.cdk.bundle import Target as Target
    from ojs_aws.cdk.endpoints import JobEndpoint as JobEndpoint
    from ojs_aws.cdk.endpoints import JobEndpointProps as JobEndpointProps
    from ojs_aws.cdk.event_jobs import EventJobs as EventJobs
    from ojs_aws.cdk.event_jobs import EventJobsProps as EventJobsProps
    from ojs_aws.cdk.function_options import FunctionOptions as FunctionOptions
    from ojs_aws.cdk.function_options import Provisioned as Provisioned
    from ojs_aws.cdk.function_options import SnapStart as SnapStart
    from ojs_aws.cdk.function_options import WarmStart as WarmStart
    from ojs_aws.cdk.job_backend import JobBackend as JobBackend
    from ojs_aws.cdk.job_backend_props import BackendExtensions as BackendExtensions
    from ojs_aws.cdk.job_backend_props import JobBackendProps as JobBackendProps
    from ojs_aws.cdk.job_export import ExportOptions as ExportOptions
    from ojs_aws.cdk.job_export import JobExport as JobExport
    from ojs_aws.cdk.job_export import JobExportProps as JobExportProps
    from ojs_aws.cdk.job_queues import JobQueues as JobQueues
    from ojs_aws.cdk.job_queues import JobQueuesProps as JobQueuesProps
    from ojs_aws.cdk.job_table import JobTable as JobTable
    from ojs_aws.cdk.job_table import JobTableProps as JobTableProps
    from ojs_aws.cdk.job_table import RestoredTable as RestoredTable
    from ojs_aws.cdk.monitoring.alarms import BackendAlarms as BackendAlarms
    from ojs_aws.cdk.monitoring.alarms import BackendAlarmsProps as BackendAlarmsProps
    from ojs_aws.cdk.monitoring.dashboard import BackendDashboard as BackendDashboard
    from ojs_aws.cdk.monitoring.dashboard import BackendDashboardProps as BackendDashboardProps
    from ojs_aws.cdk.ojs_function import OjsFunction as OjsFunction
    from ojs_aws.cdk.ojs_function import OjsFunctionProps as OjsFunctionProps
    from ojs_aws.cdk.outbox_relay import OutboxRelayFunction as OutboxRelayFunction
    from ojs_aws.cdk.outbox_relay import OutboxRelayFunctionProps as OutboxRelayFunctionProps
    from ojs_aws.cdk.triggers import ChangeStream as ChangeStream
    from ojs_aws.cdk.triggers import ChangeStreamProps as ChangeStreamProps
    from ojs_aws.cdk.triggers import TickSchedule as TickSchedule
    from ojs_aws.cdk.triggers import TickScheduleProps as TickScheduleProps
    from ojs_aws.cdk.workers.delivery_function import DeliveryFunction as DeliveryFunction
    from ojs_aws.cdk.workers.delivery_function import DeliveryFunctionProps as DeliveryFunctionProps
    from ojs_aws.cdk.workers.delivery_function import EndpointTarget as EndpointTarget
    from ojs_aws.cdk.workers.ecs_bindings import EcsBindings as EcsBindings
    from ojs_aws.cdk.workers.ecs_bindings import EcsBindingsProps as EcsBindingsProps
    from ojs_aws.cdk.workers.ecs_bindings import EcsTarget as EcsTarget
    from ojs_aws.cdk.workers.ecs_worker_service import EcsWorkerService as EcsWorkerService
    from ojs_aws.cdk.workers.ecs_worker_service import (
        EcsWorkerServiceProps as EcsWorkerServiceProps,
    )
    from ojs_aws.cdk.workers.lambda_bindings import LambdaBindings as LambdaBindings
    from ojs_aws.cdk.workers.lambda_bindings import LambdaBindingsProps as LambdaBindingsProps
    from ojs_aws.cdk.workers.lambda_bindings import LambdaTarget as LambdaTarget
    from ojs_aws.cdk.workers.lambda_worker_function import (
        LambdaWorkerFunction as LambdaWorkerFunction,
    )
    from ojs_aws.cdk.workers.lambda_worker_function import (
        LambdaWorkerFunctionProps as LambdaWorkerFunctionProps,
    )
    from ojs_aws.cdk.workers.worker_network import WorkerEndpoints as WorkerEndpoints
    from ojs_aws.cdk.workers.worker_network import WorkerEndpointsProps as WorkerEndpointsProps
    from ojs_aws.domain.cloud_events import EventRule as EventRule
else:
    __getattr__, __dir__ = lazy_exports(__name__, extra="cdk")
