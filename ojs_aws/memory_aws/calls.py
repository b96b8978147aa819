"""Carries out the calls of all clients, one at a time, with the faults that a test injects."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeAlias

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
