"""Names the errors of AWS's clients without loading botocore.

A real client has loaded botocore before it can raise anything. The clients of
:mod:`ojs_aws.memory_aws` raise :class:`AwsError`, which has the same form. So a process that uses
only the AWS in memory never loads botocore.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Errors: TypeAlias = tuple[type[Exception], ...]
"""Classes of errors, as ``except`` takes them."""

_BOTOCORE: Final = "botocore.exceptions"


class AwsError(Exception):
    """Reports that AWS refused a call, or failed to carry it out.

    :ivar response: the answer, as botocore's ``ClientError`` has it.
    :ivar operation_name: the call, such as ``PutItem``.
    """

    def __init__(self, response: dict[str, Any], operation_name: str) -> None:
        """Keep the answer."""
        error = response.get("Error", {})
        super().__init__(f"{operation_name}: {error.get('Code')}: {error.get('Message')}")
        self.response = response
        self.operation_name = operation_name


def refusals() -> Errors:
    """Return the classes of errors that carry an answer of AWS."""
    return (AwsError, *_of_botocore("ClientError"))


def failures() -> Errors:
    """Return the classes of all errors that a call raises, with or without an answer."""
    return (AwsError, *_of_botocore("ClientError", "BotoCoreError"))


def unsent() -> Errors:
    """Return the classes of errors that mean that the call never left this machine."""
    return _of_botocore("EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError")


def answer_of(problem: Exception) -> dict[str, Any]:
    """Return the answer in an error; an empty one where AWS did not answer."""
    answer: Any = getattr(problem, "response", None)
    return answer if isinstance(answer, dict) else {}


def error_code(problem: Exception) -> str:
    """Return the code of an AWS error answer."""
    error: Mapping[str, object] = answer_of(problem).get("Error", {})
    return str(error.get("Code", "Unknown"))


def _of_botocore(*names: str) -> Errors:
    """Return classes of botocore, or none if it is not loaded."""
    module = sys.modules.get(_BOTOCORE)
    return () if module is None else tuple(getattr(module, name) for name in names)
