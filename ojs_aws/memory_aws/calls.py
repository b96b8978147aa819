"""Carries out the calls of all clients, one at a time, with the faults that a test injects."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

from ojs_aws.adapters.aws_errors import AwsError

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"

Answer: TypeAlias = dict[str, Any]
"""What a call returns, as botocore's clients do."""

Request: TypeAlias = Mapping[str, Any]
"""The arguments of a call."""


@dataclass(frozen=True, slots=True)
class Call:
    """Describes a call that a client makes.

    :ivar service: ``dynamodb``, ``sqs``, ``s3``, ``events`` or ``lambda``.
    :ivar operation: its name, such as ``PutItem``.
    """

    service: str
    operation: str
    request: Request


Effect: TypeAlias = Callable[[Request], Answer]
"""Carries out a call with these arguments."""

Inject: TypeAlias = Callable[[Call, Effect], Answer]
"""Carries out a call, or does something else instead: raises before it or after it, carries it out
twice, or keeps it for later."""


def carry_out(call: Call, effect: Effect) -> Answer:
    """Carry out a call without a fault."""
    return effect(call.request)


@dataclass(eq=False, slots=True)
class Calls:
    """Serves the calls of the clients of one AWS.

    :ivar now_ms: the time, in milliseconds since 1970.
    :ivar inject: what a test puts between clients and services.
    :ivar made: how often each operation was called.
    """

    now_ms: Callable[[], int]
    inject: Inject = carry_out
    made: Counter[str] = field(default_factory=Counter)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def run(self, service: str, operation: str, request: Request, effect: Effect) -> Answer:
        """Carry out a call while no other one runs."""
        with self._lock:
            self.made[operation] += 1
            return self.inject(Call(service, operation, request), effect)


@dataclass(frozen=True, slots=True)
class Meta:
    """Holds what adapters read of a client itself."""

    region_name: str = REGION
    partition: str = "aws"


META: Final = Meta()


class Client:
    """Answers the methods of botocore's client of a service: ``put_item`` makes the call PutItem.

    :cvar operations: the methods that carry calls out, by the names of the operations. Each gets
        the operation and its arguments.
    """

    service: ClassVar[str]
    operations: ClassVar[Mapping[str, str]]
    calls: Calls

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        """Return what makes a call, by the name that botocore gives it."""
        operation = name.title().replace("_", "")
        if operation not in self.operations:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        effect = partial(self._carry_out, operation)
        return lambda **request: self.calls.run(self.service, operation, request, effect)

    def _carry_out(self, operation: str, request: Request) -> Answer:
        answer: Answer = getattr(self, self.operations[operation])(operation, request)
        return answer


def refuse(
    operation: str, code: str, message: str = "", *, status: int = 400, **more: Any
) -> NoReturn:
    """Raise the error answer of a call.

    :raises AwsError: always.
    """
    response = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": 0},
        **more,
    }
    raise AwsError(response, operation)
