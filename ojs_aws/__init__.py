"""Provides Open Job Spec on AWS primitives: a backend, its client, and its workers.

What people import lives here: `Client` and `SyncClient` enqueue, `Job` is what they enqueue,
`Worker` and `LambdaWorker` run handlers, and a handler gets a `JobContext`.

Each name is imported when it is first asked for, so that a Lambda function which needs one of
them does not pay for the others at its cold start.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from ojs_aws._version import __version__

if TYPE_CHECKING:
    from ojs_aws.client import Client, SyncClient
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.job_arguments import Priority
    from ojs_aws.middleware.context import JobContext
    from ojs_aws.worker import LambdaWorker, Worker

__all__ = [
    "Client",
    "Job",
    "JobContext",
    "LambdaWorker",
    "Priority",
    "SyncClient",
    "Worker",
    "__version__",
]

_HOMES: Final = {
    "Client": "ojs_aws.client",
    "Job": "ojs_aws.domain.envelope",
    "JobContext": "ojs_aws.middleware.context",
    "LambdaWorker": "ojs_aws.worker",
    "Priority": "ojs_aws.domain.job_arguments",
    "SyncClient": "ojs_aws.client",
    "Worker": "ojs_aws.worker",
}


if not TYPE_CHECKING:  # a type checker would take any misspelt name for granted

    def __getattr__(name: str) -> object:
        """Import an exported name at its first use (PEP 562)."""
        home = _HOMES.get(name)
        if home is None:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value: object = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the exported names, imported already or not."""
    return sorted({*globals(), *__all__})
