"""Constructs for CDK apps of your own.

.. code-block:: python

    from infra.constructs import (
        JobBackend, JobBackendProps, LambdaWorkerFunction, LambdaWorkerFunctionProps
    )

    backend = JobBackend(self, "Jobs", JobBackendProps(queues=["default", "email"]))
    LambdaWorkerFunction(self, "Emails", LambdaWorkerFunctionProps(
        backend=backend, code_dir=Path("workers/email"), handler="jobs.handler", queues=["email"],
    ))
"""

from infra.bundling import Target
from infra.constructs.access import Access, ApiKeys, Iam, Jwt, OpenAccess, OwnAuthorizer
from infra.constructs.alarms import BackendAlarms, BackendAlarmsProps
from infra.constructs.backend_extensions import BackendExtensions
from infra.constructs.change_stream import ChangeStream, ChangeStreamProps
from infra.constructs.dashboard import BackendDashboard, BackendDashboardProps
from infra.constructs.http_api import OjsHttpApi, OjsHttpApiProps
from infra.constructs.job_backend import JobBackend
from infra.constructs.job_backend_props import JobBackendProps
from infra.constructs.job_export import ExportOptions, JobExport, JobExportProps
from infra.constructs.job_queues import JobQueues, JobQueuesProps
from infra.constructs.job_table import JobTable, JobTableProps, RestoredTable
from infra.constructs.lambda_worker_function import (
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
)
from infra.constructs.ojs_function import OjsFunction, OjsFunctionProps
from infra.constructs.tick_schedule import TickSchedule, TickScheduleProps
from infra.constructs.warm_start import Provisioned, SnapStart, WarmStart

__all__ = [
    "Access",
    "ApiKeys",
    "BackendAlarms",
    "BackendAlarmsProps",
    "BackendDashboard",
    "BackendDashboardProps",
    "BackendExtensions",
    "ChangeStream",
    "ChangeStreamProps",
    "ExportOptions",
    "Iam",
    "JobBackend",
    "JobBackendProps",
    "JobExport",
    "JobExportProps",
    "JobQueues",
    "JobQueuesProps",
    "JobTable",
    "JobTableProps",
    "Jwt",
    "LambdaWorkerFunction",
    "LambdaWorkerFunctionProps",
    "OjsFunction",
    "OjsFunctionProps",
    "OjsHttpApi",
    "OjsHttpApiProps",
    "OpenAccess",
    "OwnAuthorizer",
    "Provisioned",
    "RestoredTable",
    "SnapStart",
    "Target",
    "TickSchedule",
    "TickScheduleProps",
    "WarmStart",
]
