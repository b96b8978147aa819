"""The functions' log: one JSON line each, under the id of the request or event."""

from __future__ import annotations

from typing import Final

from aws_lambda_powertools.logging import Logger

NAME: Final = "ojs_aws"
"""The name of the package: what its modules log with the standard library comes out here too."""


def function_logger() -> Logger:
    """The log of a function; its level is that of POWERTOOLS_LOG_LEVEL."""
    return Logger(service=NAME)
