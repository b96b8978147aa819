"""Executes jobs: ``LambdaWorker`` in SQS-invoked functions, ``Worker`` in long-running processes.

Names are imported when first asked for: a Lambda function needs no HTTP, a process no AWS.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.worker.failure import (
        DeadLetterError,
        DiscardError,
        JobError,
        PermanentError,
        RetryError,
    )
    from ojs_aws.worker.lambda_worker import LambdaWorker
    from ojs_aws.worker.loading import load_worker, run_from_path
    from ojs_aws.worker.polling import Worker
    from ojs_aws.worker.polls import Polls
    from ojs_aws.worker.registry import HandlerRegistry, RegistrationError
    from ojs_aws.worker.reservations import JobSource, Reservations

__all__ = [
    "DeadLetterError",
    "DiscardError",
    "HandlerRegistry",
    "JobError",
    "JobSource",
    "LambdaWorker",
    "PermanentError",
    "Polls",
    "RegistrationError",
    "Reservations",
    "RetryError",
    "Worker",
    "load_worker",
    "run_from_path",
]

_HOMES: Final = {
    "DeadLetterError": "failure",
    "DiscardError": "failure",
    "HandlerRegistry": "registry",
    "JobError": "failure",
    "JobSource": "reservations",
    "LambdaWorker": "lambda_worker",
    "PermanentError": "failure",
    "Polls": "polls",
    "RegistrationError": "registry",
    "Reservations": "reservations",
    "RetryError": "failure",
    "Worker": "polling",
    "load_worker": "loading",
    "run_from_path": "loading",
}


def __getattr__(name: str) -> object:
    """Import an exported name at its first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
