"""Executes jobs: ``LambdaWorker`` in SQS-invoked functions, ``Worker`` in long-running processes.

Names are imported when first asked for: a Lambda function needs no HTTP, a process no AWS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.middleware.results import RegistrationError as RegistrationError
    from ojs_aws.worker.failure import DeadLetterError as DeadLetterError
    from ojs_aws.worker.failure import DiscardError as DiscardError
    from ojs_aws.worker.failure import JobError as JobError
    from ojs_aws.worker.failure import PermanentError as PermanentError
    from ojs_aws.worker.failure import RetryError as RetryError
    from ojs_aws.worker.failure import SnoozeError as SnoozeError
    from ojs_aws.worker.lambda_worker import LambdaWorker as LambdaWorker
    from ojs_aws.worker.lifecycle import Polls as Polls
    from ojs_aws.worker.paths import load_worker as load_worker
    from ojs_aws.worker.paths import run_from_path as run_from_path
    from ojs_aws.worker.polling import Worker as Worker
    from ojs_aws.worker.registry import HandlerRegistry as HandlerRegistry
    from ojs_aws.worker.reservations import JobSource as JobSource
    from ojs_aws.worker.reservations import Reservations as Reservations
else:
    __getattr__, __dir__ = lazy_exports(__name__)
