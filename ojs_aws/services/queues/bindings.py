"""Registers which of the targets that the stack allows run which job types of a queue.

ojs-serverless, sections 2.1 and 7.2. Nobody can name a target here that the stack does not, or an
endpoint that is below none of its prefixes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.attributes import field_error, not_found
from ojs_aws.domain.bindings import (
    NO_CONFIG,
    AllowedTarget,
    Binding,
    BindingConfig,
    Suspension,
    limits_of,
    read_config,
    types_of,
)
from ojs_aws.domain.bindings.endpoints import check_endpoint
from ojs_aws.domain.errors import ConflictError, JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.runtime import Clock
from ojs_aws.services.queues.service import Queues

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.bindings import BindingStates, QueueBindings


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingView:
    """Describes a binding of a queue.

    :ivar types: the job types that its target runs; none while nobody has registered any.
    :ivar is_registered: whether they were registered here; else the stack names them.
    :ivar suspension: why nothing is dispatched to it; None while something is.
    :ivar kind: ``lambda``, ``https`` or ``ecs``.
    :ivar endpoint: the registered URL of the kind ``https``; empty while nobody has registered one.
    :ivar config: how its jobs run, by the registration and the stack.
    """

    name: str
    queue: str
    kind: str
    types: Sequence[str]
    is_registered: bool
    suspension: Suspension | None
    endpoint: str = ""
    config: BindingConfig = NO_CONFIG


@dataclass(frozen=True, slots=True)
class Bindings:
    """Looks after the bindings of queues.

    :ivar targets: the functions, tasks and endpoints that the stack allows, by the names of
        their bindings.
    """

    store: QueueBindings
    queues: Queues
    targets: Mapping[str, AllowedTarget]
    clock: Clock

    def list(self, queue: str) -> Sequence[BindingView]:
        """Return the bindings that a queue has or may have, by name.

        :raises NotFoundError: there is no such queue.
        """
        self.queues.get(queue)
        return self._views(queue, self.store.of(queue))

    def get(self, queue: str, name: str) -> BindingView:
        """Return a binding.

        :raises NotFoundError: there is no such queue, or the stack allows it no such target.
        """
        self._check(queue, name)
        return next(each for each in self.list(queue) if each.name == name)

    def put(
        self,
        queue: str,
        name: str,
        types: JsonValue,
        endpoint: str | None = None,
        config: JsonValue = None,
    ) -> BindingView:
        """Let a binding serve these job types of the queue, in the place of those that it has.

        :param endpoint: the URL that gets the jobs, of a binding of the kind ``https``.
        :param config: how its jobs run, in the place of the registered one; what it does not name
            is as the stack says.
        :raises NotFoundError: the stack allows the queue no such target.
        :raises InvalidRequestError: no job types, a URL that the stack does not allow, or a config
            that says more than a binding may.
        :raises ConflictError: another binding of the queue serves one of them.
        """
        self._check(queue, name)
        _check_endpoint(endpoint, self.targets[name].prefixes)
        said, before = read_config(config), self.get(queue, name).config.max_concurrency
        try:
            wanted = types_of(types)
        except ValueError as problem:
            hint = 'Send {"job_types": ["email.send", "report.*"]}.'
            raise field_error("job_types", str(problem), hint) from None
        for each in self.list(queue):
            if each.name != name and (taken := sorted({*each.types} & {*wanted})):
                raise ConflictError(
                    f"The binding '{each.name}' of queue '{queue}' serves {', '.join(taken)}.",
                    details={"binding": each.name, "job_types": [*taken]},
                    hint="Bindings of a queue serve different job types: change the other first.",
                )
        self.store.bind(queue, name, wanted, self.clock.now(), endpoint or "", said)
        return self._changed(queue, name, before)

    def delete(self, queue: str, name: str) -> BindingView:
        """Forget what was registered for a binding: what the stack says holds again.

        :raises NotFoundError: the stack allows the queue no such target, or none are registered.
        """
        before = self.get(queue, name).config.max_concurrency
        if not self.store.unbind(queue, name):
            raise not_found(
                "binding", name, f"Nobody has registered job types for the binding '{name}'."
            )
        return self._changed(queue, name, before)

    def _changed(self, queue: str, name: str, before: int | None) -> BindingView:
        """Return a binding after a change, and wake workers where more of its jobs may begin."""
        found = self.get(queue, name)
        if before is not None and before != found.config.max_concurrency:
            self.queues.wake(queue)
        return found

    def limit_of(self, job: JobRecord) -> Limit | None:
        """Return the limit that a job has by its binding; None if there is none.

        Makes one read where the stack allows its queue bindings, and none elsewhere.
        """
        if not any(job.queue in each.queues for each in self.targets.values()):
            return None
        bound = [
            Binding(
                name=each.name,
                queues=[job.queue],
                target="",
                types=each.types,
                reservation_s=0,
                config=each.config,
            )
            for each in self._views(job.queue, self.store.of(job.queue))
        ]
        limits = limits_of(bound, job.queue)
        return None if limits is None else limits(job.type)

    def suspend(self, queue: str, name: str, by: str) -> BindingView:
        """Suspend a binding: nothing is dispatched to it until somebody resumes it.

        :param by: who says so; empty for nobody known.
        :raises NotFoundError: the stack allows the queue no such target.
        """
        self._check(queue, name)
        reason = f"suspended by {by}" if by else "suspended by an operator"
        self.store.suspend(queue, name, reason, self.clock.now(), is_lasting=True)
        return self.get(queue, name)

    def resume(self, queue: str, name: str) -> BindingView:
        """Dispatch to a binding again, whatever suspended it.

        Messages that were hidden meanwhile come back within minutes.

        :raises NotFoundError: the stack allows the queue no such target.
        """
        self._check(queue, name)
        self.store.resume(queue, name)
        return self.get(queue, name)

    def _check(self, queue: str, name: str) -> None:
        target = self.targets.get(name)
        if target is None or queue not in target.queues:
            allowed = sorted(each for each, it in self.targets.items() if queue in it.queues)
            known = f"it allows {', '.join(allowed)}" if allowed else "it allows none"
            raise not_found(
                "binding",
                name,
                f"The stack allows the queue '{queue}' no binding '{name}': {known}.",
            )

    def _views(self, queue: str, states: BindingStates) -> Sequence[BindingView]:
        return [
            BindingView(
                name=name,
                queue=queue,
                types=states.bound.get(name, tuple(target.types)),
                is_registered=name in states.bound,
                suspension=states.suspended.get(name),
                kind=target.kind,
                endpoint=states.endpoints.get(name, ""),
                config=states.configs.get(name, NO_CONFIG).over(target.config),
            )
            for name, target in sorted(self.targets.items())
            if queue in target.queues
        ]


def _check_endpoint(endpoint: str | None, prefixes: Sequence[str]) -> None:
    """Refuse a URL that the stack does not allow, and any for a function or a task.

    :raises InvalidRequestError: it is refused, or missing.
    """
    if not prefixes:
        if endpoint is not None:
            message = "'endpoint' of a binding is what the stack says, and cannot be registered."
            hint = "Send job_types alone; change the stack for the rest."
            raise field_error("endpoint", message, hint)
        return
    hint = f"Send a URL below {', '.join(prefixes)}."
    if endpoint is None:
        raise field_error("endpoint", "The binding needs the URL of its endpoint.", hint)
    try:
        check_endpoint(endpoint, prefixes)
    except ValueError as problem:
        raise field_error("endpoint", str(problem), hint) from None
