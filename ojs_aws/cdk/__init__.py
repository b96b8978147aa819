"""Exports the constructs for CDK apps of your own; they need ``pip install 'ojs-aws[infra]'``.

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

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.cdk.api.access import Access, ApiKeys, Iam, Jwt, OpenAccess, OwnAuthorizer
    from ojs_aws.cdk.api.http_api import OjsHttpApi, OjsHttpApiProps
    from ojs_aws.cdk.backend_extensions import BackendExtensions
    from ojs_aws.cdk.bundling import Target
    from ojs_aws.cdk.change_stream import ChangeStream, ChangeStreamProps
    from ojs_aws.cdk.job_backend import JobBackend
    from ojs_aws.cdk.job_backend_props import JobBackendProps
    from ojs_aws.cdk.job_export import ExportOptions, JobExport, JobExportProps
    from ojs_aws.cdk.job_queues import JobQueues, JobQueuesProps
    from ojs_aws.cdk.job_table import JobTable, JobTableProps, RestoredTable
    from ojs_aws.cdk.lambda_worker_function import (
        LambdaWorkerFunction,
        LambdaWorkerFunctionProps,
    )
    from ojs_aws.cdk.monitoring.alarms import BackendAlarms, BackendAlarmsProps
    from ojs_aws.cdk.monitoring.dashboard import BackendDashboard, BackendDashboardProps
    from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
    from ojs_aws.cdk.tick_schedule import TickSchedule, TickScheduleProps
    from ojs_aws.cdk.warm_start import Provisioned, SnapStart, WarmStart

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

_HOMES: Final = {
    "api.access": "Access ApiKeys Iam Jwt OpenAccess OwnAuthorizer",
    "api.http_api": "OjsHttpApi OjsHttpApiProps",
    "backend_extensions": "BackendExtensions",
    "bundling": "Target",
    "change_stream": "ChangeStream ChangeStreamProps",
    "job_backend": "JobBackend",
    "job_backend_props": "JobBackendProps",
    "job_export": "ExportOptions JobExport JobExportProps",
    "job_queues": "JobQueues JobQueuesProps",
    "job_table": "JobTable JobTableProps RestoredTable",
    "lambda_worker_function": "LambdaWorkerFunction LambdaWorkerFunctionProps",
    "monitoring.alarms": "BackendAlarms BackendAlarmsProps",
    "monitoring.dashboard": "BackendDashboard BackendDashboardProps",
    "ojs_function": "OjsFunction OjsFunctionProps",
    "tick_schedule": "TickSchedule TickScheduleProps",
    "warm_start": "Provisioned SnapStart WarmStart",
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker would take any misspelt name for granted

    def __getattr__(name: str) -> object:
        """Import an exported name at its first use (PEP 562)."""
        home = _HOME_OF.get(name)
        if home is None:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the exported names, imported already or not."""
    return sorted({*globals(), *__all__})
