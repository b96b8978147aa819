"""Gives clients of the AWS in memory the hooks of botocore's, for tests that look into calls.

They are ``provide-client-params``, ``before-call`` and ``after-call``, with a service and an
operation behind them or without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.adapters.aws_errors import AwsError, answer_of
from ojs_aws.memory_aws import Call, MemoryAws
from ojs_aws.memory_aws.calls import REGION, Answer, Request

Handler = Callable[..., Any]
STATUS: Final = "ResponseMetadata"


@dataclass(frozen=True)
class Service:
    """What a handler reads of the service of a call."""

    service_name: str


@dataclass(frozen=True)
class Model:
    """What a handler reads of a call."""

    name: str
    service_model: Service


@dataclass
class Events:
    """The handlers of one client, by what they are registered for."""

    handlers: dict[str, list[Handler]] = field(default_factory=dict)

    def register(self, name: str, handler: Handler, **_: object) -> None:
        """Call a handler from now on."""
        self.handlers.setdefault(name, []).append(handler)

    def unregister(self, name: str, handler: Handler, **_: object) -> None:
        """Call it no longer."""
        self.handlers[name].remove(handler)

    def emit(self, moment: str, call: Call, **given: Any) -> None:
        """Call the handlers of a moment."""
        names = (moment, f"{moment}.{call.service}", f"{moment}.{call.service}.{call.operation}")
        for handler in [each for name in names for each in self.handlers.get(name, ())]:
            handler(model=Model(call.operation, Service(call.service)), **given)


class Exceptions:
    """The error classes of a client: here all of them are one."""

    def __getattr__(self, name: str) -> type[AwsError]:
        """The class of an error."""
        return AwsError

    def from_code(self, code: str) -> type[AwsError]:
        """The class of an error code."""
        return AwsError


@dataclass(frozen=True)
class HookedMeta:
    """What tests and adapters read of a client."""

    events: Events
    region_name: str = REGION
    partition: str = "aws"


def hook(memory: MemoryAws) -> None:
    """Let the clients of an AWS call handlers."""
    services = {
        "dynamodb": memory.tables,
        "sqs": memory.queues,
        "s3": memory.objects,
        "events": memory.buses,
        "lambda": memory.triggers,
    }
    events = {name: Events() for name in services}
    for name, client in services.items():
        hooked: Any = client
        hooked.meta = HookedMeta(events[name])
        hooked.exceptions = Exceptions()

    def inject(call: Call, run: Callable[[Request], Answer]) -> Answer:
        emit, context = events[call.service].emit, dict[str, Any]()
        params = dict(call.request)
        emit("provide-client-params", call, params=params, context=context)
        emit("before-parameter-build", call, params=params, context=context)
        emit("before-call", call, params=params, context=context)
        try:
            answer = run(params)
        except AwsError as problem:
            emit("after-call", call, parsed=answer_of(problem), context=context)
            raise
        answer.setdefault(STATUS, {"HTTPStatusCode": 200, "RetryAttempts": 0})
        emit("after-call", call, parsed=answer, context=context)
        return answer

    memory.calls.inject = inject
