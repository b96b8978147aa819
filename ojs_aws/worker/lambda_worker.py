"""Runs a worker as a Lambda function, invoked by SQS event source mappings (ojs-serverless, 3)."""

from __future__ import annotations

import functools
import logging
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack
from typing import Any, Final, Protocol, runtime_checkable

from ojs_aws.client.keywords import checks_keywords
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.timer import SystemTimer, Timer
from ojs_aws.config import Settings
from ojs_aws.environment import raise_level
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.services.backend import Backend
from ojs_aws.transport.function_tracing import function_tracing
from ojs_aws.transport.tracing import Tracing
from ojs_aws.typed_jobs.declarations import Opened, in_use, open_all
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.directly import queues_by_sqs_name
from ojs_aws.worker.executor import Executor
from ojs_aws.worker.failure import WAIT_S
from ojs_aws.worker.invocation import Invocation, LimitsOf
from ojs_aws.worker.registry import HandlerRegistry

LONGEST_S: Final = 900.0
"""What Lambda allows at most, in seconds; assumed when the context does not say."""

INVOCATION_SPAN: Final = "ojs.worker"
"""Of one batch; those of its jobs are within."""

_logger = logging.getLogger(__name__)


class LambdaContext(Protocol):
    """Declares what a worker needs of Lambda's context object."""

    @property
    def aws_request_id(self) -> str:
        """Return the id of the invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation is ended."""


@runtime_checkable
class PerInvocation(Protocol):
    """Does something once for a whole batch, such as writing its metrics (a middleware)."""

    def invocation(self) -> AbstractContextManager[object]:
        """Enter before the first job of a batch, and leave after the last one."""


@checks_keywords
class LambdaWorker(BaseWorker):
    """Executes the jobs whose messages SQS delivers, a batch's jobs in parallel.

    Each outcome is written to DynamoDB at once; the answer says to the event source mapping which
    messages must come back (the mapping needs ``ReportBatchItemFailures``). A job that has not
    ended shortly before the invocation would is given up, and comes back by itself.

    Example::

        worker = LambdaWorker(queues=["email"])

        @worker.handler("email.send")
        async def send(ctx: JobContext, to: str, template: str) -> None: ...

        handler = worker.lambda_handler
    """

    def __init__(
        self,
        jobs: Jobs | None = None,
        *,
        queues: Sequence[str] | None = None,
        middleware: ExecutionChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        registry: HandlerRegistry | None = None,
        margin_s: float = 2.0,
        missing_handler_wait_s: float = WAIT_S,
        backend: Backend | None = None,
        timer: Timer | None = None,
    ) -> None:
        """Describe the worker; the first event makes the AWS clients.

        :param jobs: the typed jobs that it runs.
        :param queues: the queues whose messages it accepts; default: those of the typed jobs,
            else ``default``.
        :param registry: handlers of another worker, to serve them here too.
        :param margin_s: seconds kept back from the invocation's time, to report outcomes.
        :param missing_handler_wait_s: seconds that jobs of unknown types wait for another worker;
            0 discards them at once.
        :param backend: services to use instead of those that the environment describes.
        :raises ValueError: no queue, a name that no queue can have, or a negative margin.
        """
        super().__init__(
            jobs=jobs,
            queues=queues,
            middleware=middleware,
            hooks=hooks,
            registry=registry,
            missing_handler_wait_s=missing_handler_wait_s,
        )
        if margin_s < 0:
            raise ValueError("margin_s must not be negative")
        self._margin_s = margin_s
        self._backend = backend
        self._timer = timer or SystemTimer()
        self._loop = LoopThread("ojs-worker")
        self._tracing: Tracing | None = None
        self.limits_of: LimitsOf | None = None
        self._kept_open = AsyncExitStack()

    def freeze(self) -> Executor:
        """Freeze handlers and middleware, and return the executor of jobs.

        :raises RegistrationError: a job of its queues may take longer than an invocation.
        """
        if too_long := self.jobs_beyond_an_invocation():
            raise RegistrationError(
                f"A Lambda function runs for {LONGEST_S / 60:.0f} minutes at most, and "
                f"{', '.join(too_long)} may take longer. Shorten the timeout, or give the job a "
                "queue of its own, and run that queue by a process: `ojs-aws run`, or the "
                "construct EcsWorkerService (docs/workers-vpc-ecs.md)."
            )
        return super().freeze()

    def jobs_beyond_an_invocation(self) -> list[str]:
        """Return the types of typed jobs in its queues whose timeout Lambda cannot keep."""
        served = {*self.queues}
        mine = [each for each in self.jobs if not each.is_remote and each.queue in served]
        return [
            each.type for each in mine if (each.template(each.options).timeout or 0) > LONGEST_S
        ]

    def lambda_handler(
        self, event: Mapping[str, Any], context: LambdaContext | None = None
    ) -> dict[str, list[dict[str, str]]]:
        """Execute the jobs of a batch.

        :returns: the partial batch response: messages that must come back.
        :raises ValueError: no event of an SQS event source mapping.
        """
        records = event.get("Records")
        if not isinstance(records, list):
            raise ValueError("no SQS event: connect the function to queues of the backend")
        opened = self._resources
        seconds = context.get_remaining_time_in_millis() / 1000 if context else LONGEST_S
        request_id = context.aws_request_id if context else str(uuid.uuid4())
        backend = self.backend
        invocation = Invocation(
            executor=self.freeze(),
            backend=backend,
            queues=queues_by_sqs_name(backend.settings.queue_prefix, self.queues),
            worker_id=f"lambda_{request_id}",
            seconds=seconds,
            margin_s=self._margin_s,
            timer=self._timer,
            tracing=self.tracing,
            limits_of=self.limits_of,
        )
        with ExitStack() as around:
            around.enter_context(in_use(opened))
            around.enter_context(self.tracing.span(INVOCATION_SPAN, messages=len(records)))
            for member in self.middleware:
                if isinstance(member, PerInvocation):
                    around.enter_context(member.invocation())
            kept = self._loop.run(invocation.run(records))
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in kept]}

    @functools.cached_property
    def _resources(self) -> Opened:
        """Return the resources of the typed jobs; the first batch opens them, and none closes them.

        :raises Exception: whatever one raised; the messages come back.
        """
        self.freeze()
        return self._loop.run(open_all(self.jobs.resources, self._kept_open))

    @property
    def backend(self) -> Backend:
        """Return the services; built from the environment at the first use.

        :raises SettingsError: the environment has a setting that cannot be used.
        """
        if self._backend is None:
            from ojs_aws.bootstrap import aws_clients, build_backend  # botocore

            raise_level(logging.getLogger(), os.environ)
            self._backend = build_backend(Settings.from_env(os.environ), aws_clients())
        return self._backend

    @property
    def tracing(self) -> Tracing:
        """Return the tracing of batches and jobs, chosen by the settings at the first use."""
        if self._tracing is None:
            self._tracing = function_tracing(self.backend.settings)
        return self._tracing

    def bind(self, backend: Backend) -> None:
        """Use these services from now on."""
        self._backend = backend
