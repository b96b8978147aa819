"""The two middleware chains: around enqueueing, and around the execution of a handler.

Each name is imported when it is first asked for: PUSH runs its chain without an event loop, and a
cold start of it must not pay for the import of asyncio, which the timeout needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.domain.uniqueness import UniquePolicy
    from ojs_aws.middleware.chain import EnqueueChain, ExecutionChain
    from ojs_aws.middleware.context import JobContext
    from ojs_aws.middleware.deduplication import (
        DeduplicationMiddleware,
        MemorySeenStore,
        SeenStore,
    )
    from ojs_aws.middleware.error_reporting import ErrorReport, ErrorReportingMiddleware
    from ojs_aws.middleware.errors import (
        AmbiguousMiddlewareError,
        ChainFrozenError,
        IdChangedError,
        InvalidMiddlewareError,
        InvalidSchemaError,
        JobTimeoutError,
        MiddlewareError,
        NextCalledTwiceError,
        NextNotAwaitedError,
        SuppressedErrorWarning,
        UnknownMiddlewareError,
    )
    from ojs_aws.middleware.logging import LoggingMiddleware
    from ojs_aws.middleware.metrics import MetricSink, MetricsMiddleware
    from ojs_aws.middleware.metrics_emf import EmfSink
    from ojs_aws.middleware.metrics_otel import OpenTelemetrySink
    from ojs_aws.middleware.protocols import EnqueueMiddleware, ExecutionMiddleware
    from ojs_aws.middleware.timeout import TimeoutMiddleware
    from ojs_aws.middleware.validation import SchemaRegistry, ValidationMiddleware

__all__ = [
    "AmbiguousMiddlewareError",
    "ChainFrozenError",
    "DeduplicationMiddleware",
    "EmfSink",
    "EnqueueChain",
    "EnqueueMiddleware",
    "ErrorReport",
    "ErrorReportingMiddleware",
    "ExecutionChain",
    "ExecutionMiddleware",
    "IdChangedError",
    "InvalidMiddlewareError",
    "InvalidSchemaError",
    "JobContext",
    "JobTimeoutError",
    "LoggingMiddleware",
    "MemorySeenStore",
    "MetricSink",
    "MetricsMiddleware",
    "MiddlewareError",
    "NextCalledTwiceError",
    "NextNotAwaitedError",
    "OpenTelemetrySink",
    "SchemaRegistry",
    "SeenStore",
    "SuppressedErrorWarning",
    "TimeoutMiddleware",
    "UniquePolicy",
    "UnknownMiddlewareError",
    "ValidationMiddleware",
]

_HOMES: Final = {
    "chain": ("EnqueueChain", "ExecutionChain"),
    "deduplication": ("DeduplicationMiddleware", "MemorySeenStore", "SeenStore", "UniquePolicy"),
    "context": ("JobContext",),
    "error_reporting": ("ErrorReport", "ErrorReportingMiddleware"),
    "logging": ("LoggingMiddleware",),
    "metrics": ("MetricSink", "MetricsMiddleware"),
    "metrics_emf": ("EmfSink",),
    "metrics_otel": ("OpenTelemetrySink",),
    "protocols": ("EnqueueMiddleware", "ExecutionMiddleware"),
    "timeout": ("TimeoutMiddleware",),
    "validation": ("SchemaRegistry", "ValidationMiddleware"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker would take any misspelt name for granted

    def __getattr__(name: str) -> object:
        """Import an exported name at its first use (PEP 562)."""
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        home = _HOME_OF.get(name, "errors")
        value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the exported names, imported already or not."""
    return sorted({*globals(), *__all__})
