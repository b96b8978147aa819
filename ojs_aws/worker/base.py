"""Implements what both kinds of worker share: handlers, the execution chain, and the queues."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.jobs.versions import ANY
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.members import given_or_made
from ojs_aws.topology import DEFAULT_QUEUE, SECRETS, SIGNING_SECRET
from ojs_aws.typed_jobs.declarations import JobDeclaration
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.typed_jobs.senders import Sender
from ojs_aws.worker.executor import Executor
from ojs_aws.worker.failure import WAIT_S
from ojs_aws.worker.registry import HandlerRegistry
from ojs_aws.worker.typed_handlers import typed_handler

NO_HANDLERS: Final = (
    "the worker has no handlers: register one with @worker.handler, or declare one with @jobs.job "
    "and pass Worker(jobs)"
)

H = TypeVar("H", bound=Callable[..., object])


class BaseWorker:
    """Holds handlers and the chain around them.

    :ivar jobs: the typed jobs that it runs.
    :ivar job: declares one more of them: ``@worker.job("email.send")``; see :meth:`Jobs.job`.
    :ivar registry: the handlers; two workers may share one.
    """

    def __init__(
        self,
        *,
        jobs: Jobs | None = None,
        queues: Sequence[str] | None = None,
        middleware: ExecutionChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        registry: HandlerRegistry | None = None,
        missing_handler_wait_s: float = WAIT_S,
    ) -> None:
        """Describe the worker.

        :param jobs: the typed jobs that it runs, also those that are declared later.
        :param queues: to serve; by default those that the typed jobs name, else ``default``.
        :param hooks: called before and after each execution, and with each metric.
        :param middleware: the chain, or its middleware; the default chain logs, counts, reports
            errors and enforces the job's timeout. An empty list switches middleware off.
        :param missing_handler_wait_s: seconds that a job waits for another worker if this one has
            no handler for its type; 0 discards it at once.
        :raises ValueError: there is no queue, a queue's name is invalid, or the wait is negative.
        :raises TypeError: ``jobs`` is no :class:`~ojs_aws.Jobs`.
        """
        self.jobs = _jobs_of(jobs, type(self).__name__)
        self.job = self.jobs.job
        if isinstance(queues, str) or (queues is not None and not queues):
            raise ValueError('name the queues as a list: queues=["email", "default"]')
        self._queues = tuple(check_queue(queue) for queue in queues or ())
        self.registry = registry or HandlerRegistry()
        self.jobs.on_declared(self._run_typed)
        chosen = ExecutionChain.default() if middleware is None else middleware
        self._middleware = given_or_made(ExecutionChain, chosen)
        self._hooks = given_or_made(Hooks, hooks)
        if missing_handler_wait_s < 0:
            raise ValueError("missing_handler_wait_s must not be negative")
        self._missing_handler_wait_s = missing_handler_wait_s

    @property
    def queues(self) -> tuple[str, ...]:
        """Return the queues that it serves, the most urgent first."""
        return self._queues or queues_of(self.jobs)

    def _run_typed(self, declaration: JobDeclaration) -> None:
        if not declaration.is_remote:
            self.registry.add_handler(typed_handler(declaration))

    @property
    def middleware(self) -> ExecutionChain:
        """Return the execution chain; another one can be assigned until the worker starts."""
        return self._middleware

    @middleware.setter
    def middleware(self, chain: ExecutionChain) -> None:
        self._middleware.refuse_when_frozen()
        self._middleware = chain

    @property
    def hooks(self) -> Hooks:
        """Return the hooks; others can be assigned until the worker starts."""
        return self._hooks

    @hooks.setter
    def hooks(self, hooks: Hooks) -> None:
        self._hooks.refuse_when_frozen()
        self._hooks = hooks

    def handler(self, job_type: str, *, versions: str = ANY) -> Callable[[H], H]:
        """Register the decorated function for a job type, and return it unchanged.

        The function may be synchronous (it then runs in a thread) or asynchronous. It gets the
        context and then the job's arguments; its return value is the job's result.

        Example::

            @worker.handler("email.send")
            async def send(ctx: JobContext, to: str, template: str) -> dict[str, str]: ...

        :param versions: of jobs that it takes: ``"2.0"``, ``">=1.0 <3.0"``, or any; a type may
            have a handler for each range of versions.
        :raises RegistrationError: the type is taken or invalid, or the worker has started.
        """
        return self.registry.handler(job_type, versions=versions)

    def deliver(
        self,
        url: str,
        *,
        types: Sequence[str] = ("*",),
        timeout_s: float | None = None,
        signing_secret: str = SIGNING_SECRET,
        report_url: str | None = None,
        report_within_s: int = 300,
    ) -> None:
        """Deliver jobs to an HTTPS endpoint, which runs them in any language.

        The endpoint gets each job by a signed POST, and its answer is the outcome (ojs-serverless,
        section 2). Jobs with a handler of their own stay here.

        :param url: of the endpoint; plain HTTP is accepted for this machine only.
        :param types: of the jobs: ``"email.send"``, ``"email.*"``, or ``"*"`` for all.
        :param timeout_s: seconds that the endpoint has for a job; by default 30.
        :param signing_secret: the name of the secret, or variable, that signs requests; it may
            hold two keys, separated by a comma, while one replaces the other.
        :param report_url: the URL of the API. With it the endpoint may answer 202, and report
            later with the token in the delivery. The API must know the secret, too.
        :param report_within_s: seconds until the first report on such a job must come.
        :raises ValueError: a URL is not usable, or the timeout is not positive.
        :raises RegistrationError: a pattern has a handler already, or the worker has started.
        """
        from ojs_aws.worker.delivery.handlers import deliver_to  # most workers run jobs themselves
        from ojs_aws.worker.delivery.request import LateReports

        reports = None if report_url is None else LateReports.to(report_url, report_within_s)
        for handler in deliver_to(url, types, timeout_s, signing_secret, reports):
            self.registry.add_pattern(handler)

    def freeze(self) -> Executor:
        """Freeze handlers and middleware, read secrets, and return the executor of jobs.

        :raises BackendError: a secret cannot be read.
        """
        if SECRETS in os.environ:
            from ojs_aws.worker.secrets import worker_secrets  # most workers have none

            worker_secrets().read_all()
        self.registry.freeze()
        self.middleware.freeze("the worker started")
        self.hooks.freeze("the worker started")
        self.hooks.listen_to(self.middleware)
        return Executor(
            self.registry,
            self.middleware,
            self.hooks,
            missing_handler_wait_s=self._missing_handler_wait_s,
        )


def _jobs_of(given: object, worker: str) -> Jobs:
    """Return the typed jobs that a worker was given, or an empty collection.

    :raises TypeError: something else was given, such as one job.
    """
    if given is None:
        return Jobs()
    if isinstance(given, Jobs):
        return given
    shown = f"a value of type {type(given).__name__}"
    if isinstance(given, Sender):
        shown = f"the typed job {given.type!r}"
    raise TypeError(f"{worker} takes a Jobs, not {shown}: {worker}(jobs), as in @jobs.job(...).")


def queues_of(jobs: Jobs) -> tuple[str, ...]:
    """Return the queues of the jobs that a worker runs itself, in the order of their jobs."""
    named = dict.fromkeys(each.queue for each in jobs if not each.is_remote)
    return tuple(named) or (DEFAULT_QUEUE,)
