"""Attempts of AWS calls that go wrong one by one, below botocore's retries."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

OK: Final = ""
TIMES_OUT: Final = "times out without effect"
LOST: Final = "takes effect, and its answer is lost"
UNREACHABLE: Final = "never leaves the machine"
BROKEN: Final = "InternalServerError"


class _Raw(io.BytesIO):
    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self.read()


def answered(url: str, parsed: dict[str, Any]) -> Any:
    """An answer as botocore's endpoint takes it."""
    status = parsed["ResponseMetadata"]["HTTPStatusCode"]
    headers: Any = {}
    return AWSResponse(url, status, headers, _Raw()), parsed


@dataclass
class Attempts:
    """Decides what becomes of each attempt of some operations.

    :ivar script: what happens to the next attempts: one of the above, or an error code. Behind its
        end all is well.
    :ivar operations: the operations that it is about; empty for all of them.
    :ivar made: the operations whose attempts were made, in order.
    """

    script: list[str] = field(default_factory=list)
    operations: tuple[str, ...] = ()
    made: list[str] = field(default_factory=list)

    def steer(self, client: Any) -> None:
        """Take over the attempts of a client's calls."""
        endpoint = client._endpoint
        real = endpoint._do_get_response

        def attempt(request: Any, operation: Any, context: Any) -> Any:
            self.made.append(operation.name)
            is_meant = not self.operations or operation.name in self.operations
            kind = self.script.pop(0) if is_meant and self.script else OK
            if kind == UNREACHABLE:
                return None, EndpointConnectionError(endpoint_url=request.url)
            if kind == OK:
                return real(request, operation, context)
            if kind == LOST:
                real(request, operation, context)
            if kind in (LOST, TIMES_OUT):
                return None, ReadTimeoutError(endpoint_url=request.url)
            status = 500 if kind == BROKEN else 400
            parsed: dict[str, Any] = {
                "Error": {"Code": kind, "Message": "no"},
                "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}},
            }
            code, _, reasons = kind.partition(":")
            if reasons:
                parsed["Error"]["Code"] = code
                parsed["CancellationReasons"] = [{"Code": each} for each in reasons.split(",")]
            return answered(request.url, parsed), None

        endpoint._do_get_response = attempt
