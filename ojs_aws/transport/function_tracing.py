"""Chooses the tracing of a function by its settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from ojs_aws.config import Settings
from ojs_aws.transport.tracing import NO_TRACING, Tracing

IN_LAMBDA: Final = "LAMBDA_TASK_ROOT"
SWITCHED_OFF: Final = "POWERTOOLS_TRACE_DISABLED"
_TRUE: Final = frozenset({"1", "true", "yes", "on", "y", "t"})


def function_tracing(settings: Settings, environ: Mapping[str, str] = os.environ) -> Tracing:
    """Return the tracing of a function: AWS X-Ray where ``OJS_TRACING`` asks for it, in AWS Lambda.

    Anywhere else nobody listens, so it is off there, as Powertools' own Tracer is.

    :param environ: says where this runs, and whether ``POWERTOOLS_TRACE_DISABLED``.
    :raises ImportError: it is asked for, and its packages are not in the function's bundle.
    """
    is_off = environ.get(SWITCHED_OFF, "").lower() in _TRUE
    if not settings.tracing or is_off or not environ.get(IN_LAMBDA):
        return NO_TRACING
    from ojs_aws.transport.xray import xray_tracing  # costs a start, if wanted

    return xray_tracing(redacts=settings.redact_messages)
