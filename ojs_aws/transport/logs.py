"""Writes the functions' log: JSON lines, under the id of the request or event."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from aws_lambda_powertools.logging import Logger

from ojs_aws.environment import raise_level

NAME: Final = "ojs_aws"
"""The name of the package: what its modules log with the standard library comes out here too."""


def function_logger(environ: Mapping[str, str] = os.environ) -> Logger:
    """Make the log of a function; POWERTOOLS_LOG_LEVEL sets its level."""
    logger = Logger(service=NAME, json_serializer=line_of)
    raise_level(logging.getLogger(NAME), environ)
    return logger


def line_of(said: Mapping[str, object]) -> str:
    """Return a line of the log, with an escape for half of a surrogate pair: UTF-8 has none."""
    text = json.dumps(said, default=str, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


@contextmanager
def invocation_logged(logger: Logger, context: object) -> Iterator[None]:
    """Put the id of the invocation into every line that is written within."""
    logger.thread_safe_append_keys(function_request_id=getattr(context, "aws_request_id", ""))
    try:
        yield
    finally:
        logger.thread_safe_clear_keys()
