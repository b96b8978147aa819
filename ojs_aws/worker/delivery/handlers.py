"""Makes the handlers by which a worker delivers jobs, to one endpoint or to registered ones.

Bindings and their suspensions stand in the item of the queue (ojs-serverless, 2.1). One whose
endpoint is wrong (401, 403, 404, a redirect, a private address) is suspended for all processes, and
its jobs are given back. A minute later one job is tried.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.bindings import (
    NO_CONFIG,
    Binding,
    BindingConfig,
    Suspension,
    binding_of,
    limits_of,
    wait_ms,
)
from ojs_aws.domain.bindings.endpoints import check_endpoint, check_prefix
from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.worker.delivery.answers import (
    DeliveryError,
    EndpointError,
    UndeliveredError,
    WrongEndpointError,
)
from ojs_aws.worker.delivery.endpoint import TIMEOUT_S, HttpDelivery
from ojs_aws.worker.delivery.public_hosts import public_pools
from ojs_aws.worker.delivery.request import LateReports, signing_keys
from ojs_aws.worker.failure import HANDLER_ERROR, NO_HANDLER
from ojs_aws.worker.registry import Handler
from ojs_aws.worker.secrets import secret

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.bindings import BindingStates, QueueBindings
    from ojs_aws.domain.job_policies import LimitOfType
    from ojs_aws.services.backend import Backend
    from ojs_aws.worker.invocation import LimitsOf

REMEMBERED_MS: Final = 1000
"""For how long bindings are not read again."""


@dataclass(slots=True)
class BoundEndpoints:
    """Delivers jobs to the endpoints of their bindings. Threads may share it.

    :ivar backend: returns the backend, when it is first needed.
    :ivar prefixes: below which URLs of each binding may be, as the stack says now.
    :ivar connect: returns what delivers jobs to a URL.
    :ivar configs: of bindings, as the stack says; registered members are over them.
    """

    backend: Callable[[], Backend]
    prefixes: Mapping[str, Sequence[str]]
    connect: Callable[[str], HttpDelivery]
    configs: Mapping[str, BindingConfig] = field(default_factory=dict)
    _deliveries: dict[str, HttpDelivery] = field(default_factory=dict)
    _read: dict[str, tuple[int, BindingStates]] = field(default_factory=dict)
    _readers: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, ctx: JobContext) -> object:
        """Deliver a job, and return its result.

        Reads the bindings of a queue at most once a second.

        :raises JobError: as :class:`~ojs_aws.worker.delivery.endpoint.HttpDelivery` does.
        """
        job, states = ctx.job, self._states(ctx.job.queue)
        binding = binding_of(self._bound(job.queue, states), job.type)
        if binding is None:
            text = f"No binding of the queue {job.queue!r} serves the type {job.type!r}."
            raise _given_back(job, text, NO_HANDLER)
        suspension = states.suspended.get(binding.name)
        if suspension is None:
            return self._deliver(ctx, binding)
        tried = self._begin_trial(binding, job, suspension)
        try:
            result = self._deliver(ctx, binding)
        except EndpointError:
            self._store().end_trial(job.queue, binding.name, tried)
            raise
        self._store().end_trial(job.queue, binding.name, tried)
        return result

    def claim_limits(self, queue: str) -> LimitOfType | None:
        """Return what says which limit jobs of a type have by their binding; None for none.

        Makes the read that their deliveries would make.

        :raises BackendError: it cannot be read. No job begins then, since it might have to wait.
        """
        return limits_of(self._bound(queue, self._states(queue)), queue)

    def _deliver(self, ctx: JobContext, binding: Binding) -> object:
        try:
            return self._delivery(binding.target)(ctx, longest_s=_seconds(binding.config))
        except (EndpointError, DeliveryError) as problem:
            names = (problem.type or "", HANDLER_ERROR, str(problem.details.get("error_class")))
            if binding.config.forbids(*names):
                problem.retryable = False
            raise
        except WrongEndpointError as problem:
            reason = f"{binding.target} {problem.reason}"
            now = self.backend().clock.now()
            self._store().suspend(ctx.job.queue, binding.name, reason, now)
            self._forget(ctx.job.queue)
            raise

    def _begin_trial(self, binding: Binding, job: Job, suspension: Suspension) -> Suspension:
        """Begin the only trial of a minute.

        :raises UndeliveredError: this job is not to be tried.
        """
        now, tried = self.backend().clock.now(), None
        if suspension.may_try(now):
            tried = self._store().begin_trial(job.queue, binding.name, suspension, now)
            self._forget(job.queue)
        if tried is None:
            text = f"The binding {binding.name!r} is suspended: {suspension.reason}."
            raise _given_back(job, text)
        return tried

    def _bound(self, queue: str, states: BindingStates) -> list[Binding]:
        """Return the bindings whose endpoints the stack still allows."""
        found = []
        for name, prefixes in self.prefixes.items():
            url = states.endpoints.get(name, "")
            try:
                check_endpoint(url, prefixes)
            except ValueError:
                continue
            types = states.bound.get(name, ())
            stacks = self.configs.get(name, NO_CONFIG)
            config = states.configs.get(name, NO_CONFIG).over(stacks)
            found.append(
                Binding(
                    name=name,
                    queues=[queue],
                    target=url,
                    types=types,
                    reservation_s=0,
                    config=config,
                )
            )
        return found

    def _delivery(self, url: str) -> HttpDelivery:
        with self._lock:
            if url not in self._deliveries:
                self._deliveries[url] = self.connect(url)
            return self._deliveries[url]

    def _states(self, queue: str) -> BindingStates:
        now = self.backend().clock.now()
        with self._reader(queue):  # the jobs of a queue wait for one read
            read_at, states = self._read.get(queue, (now, None))
            if states is None or now >= read_at + REMEMBERED_MS:
                states = self._store().of(queue)
                self._read[queue] = now, states
            return states

    def _forget(self, queue: str) -> None:
        """Read the bindings of a queue again for the next job."""
        with self._reader(queue):
            self._read.pop(queue, None)

    def _reader(self, queue: str) -> threading.Lock:
        """Return the lock of who reads the bindings of a queue."""
        with self._lock:
            return self._readers.setdefault(queue, threading.Lock())

    def _store(self) -> QueueBindings:
        return self.backend().stores.queue_bindings()


def _seconds(config: BindingConfig) -> float | None:
    """Return how long an endpoint has for a job; None where its binding does not say it."""
    return None if config.timeout_ms is None else config.timeout_ms / 1000


def _given_back(job: Job, text: str, kind: str = "UndeliveredError") -> UndeliveredError:
    error = UndeliveredError(wait_ms(uncounted_attempts(job)) / 1000, text)
    error.type = kind
    return error


@dataclass(frozen=True, slots=True)
class DeliveringHandler(Handler):
    """Delivers all jobs whose type fits a pattern, with their arguments unread."""

    keys: Callable[[], object] = list

    def bound_to(self, ctx: JobContext) -> Callable[[], object]:
        """Return the delivery of a job."""
        return functools.partial(self.function, ctx)

    def prepare(self) -> None:
        """Read the keys, so that a worker which cannot sign does not start.

        :raises RegistrationError: there are none.
        """
        try:
            self.keys()
        except (KeyError, ValueError) as problem:
            raise RegistrationError(f"jobs cannot be delivered: {problem.args[0]}") from None


def deliver_to(
    url: str,
    types: Sequence[str],
    timeout_s: float | None,
    signing_secret: str,
    reports: LateReports | None = None,
) -> list[DeliveringHandler]:
    """Return a handler for each pattern of job types; they share one circuit.

    :param reports: where an endpoint reports later after a 202; None: it cannot.
    :raises ValueError: no usable URL, no type, or no positive timeout.
    """
    if isinstance(types, str) or not types:
        raise ValueError('name the job types as a list: types=["email.*"]')

    keys = functools.partial(_keys, signing_secret)
    seconds = TIMEOUT_S if timeout_s is None else timeout_s
    delivery = HttpDelivery(url, signing_keys=keys, timeout_s=seconds, reports=reports)
    return [
        DeliveringHandler(pattern, delivery, is_async=False, signature=None, keys=keys)
        for pattern in types
    ]


def deliver_as_bound(
    backend: Callable[[], Backend],
    prefixes: Mapping[str, Sequence[str]],
    timeout_s: float,
    signing_secret: str,
    reports: LateReports | None = None,
    configs: Mapping[str, BindingConfig] = MappingProxyType({}),
) -> tuple[DeliveringHandler, LimitsOf]:
    """Return a handler that sends each job to the endpoint which somebody registered for its type.

    Also returns the function that says which limits the jobs' claims have to keep.

    :param backend: returns the backend, when it is first needed.
    :param prefixes: below which the URLs of each binding may be.
    :param configs: of bindings, where nobody registered another one.
    :raises ValueError: something that is no prefix, or no positive timeout.
    """
    if timeout_s <= 0:
        raise ValueError("timeout_s must be positive")
    for prefix in {each for some in prefixes.values() for each in some}:
        check_prefix(prefix)
    keys = functools.partial(_keys, signing_secret)

    def connect(url: str) -> HttpDelivery:
        return HttpDelivery(
            url, signing_keys=keys, timeout_s=timeout_s, reports=reports, pools=public_pools
        )

    deliveries = BoundEndpoints(backend, prefixes, connect, configs)
    handler = DeliveringHandler("*", deliveries, is_async=False, signature=None, keys=keys)
    return handler, deliveries.claim_limits


def _keys(signing_secret: str) -> list[str]:
    return signing_keys(secret(signing_secret))
