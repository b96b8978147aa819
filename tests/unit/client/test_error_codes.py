"""Errors of a server are the same classes, whatever prefix its version gives to their codes."""

from __future__ import annotations

import pytest

from ojs_aws.client.results import error_of
from ojs_aws.domain.errors import OjsError, ResultTooLargeError, UnsupportedCompressionError


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("x_result_too_large", 413, ResultTooLargeError),
        ("result_too_large", 413, ResultTooLargeError),
        ("x_unsupported_compression", 415, UnsupportedCompressionError),
        ("unsupported_compression", 415, UnsupportedCompressionError),
    ],
)
def test_a_code_of_an_earlier_server_is_understood(
    code: str, status: int, kind: type[OjsError]
) -> None:
    """Servers up to 0.1 named them without the prefix."""
    assert type(error_of(status, {"code": code, "message": "m"})) is kind
