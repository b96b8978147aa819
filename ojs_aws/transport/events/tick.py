"""The timer's event: sweep every queue (once a minute)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from ojs_aws.services.backend import Backend

Handler = Callable[[Mapping[str, Any], object], dict[str, int]]


def build_tick(backend: Backend, logger: Logger | None = None) -> Handler:
    """The handler of the timer's events. An event says nothing but that it is time."""
    if logger is None:
        from ojs_aws.transport.logs import function_logger  # noqa: PLC0415

        logger = function_logger()

    def handle(event: Mapping[str, Any], context: object) -> dict[str, int]:
        """Sweep, and tell what was done."""
        del event, context
        report = asdict(backend.sweep.tick())
        logger.info("Swept", extra=report)
        return report

    return handle
