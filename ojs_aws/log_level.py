"""Sets the lowest level that a Lambda function logs, if Lambda itself must pass more.

Lambda takes a line without a level for INFO, and metrics (EMF) are such lines: a function whose
level at Lambda is WARN publishes no metrics. So the level at Lambda is INFO at most, and what is
above it is filtered here. Powertools does not do that: it prefers Lambda's level to its own.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "POWERTOOLS_LOG_LEVEL"


def raise_level(logger: logging.Logger, environ: Mapping[str, str]) -> None:
    """Let a logger, and those below it, log nothing below the environment's level."""
    level = logging.getLevelNamesMapping().get(environ.get(VARIABLE, "").upper(), 0)
    if level > logger.level:
        logger.setLevel(level)
