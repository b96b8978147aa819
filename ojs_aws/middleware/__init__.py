"""The two middleware chains: around enqueueing, and around the execution of a handler.

Each name is imported when it is first asked for: PUSH runs its chain without an event loop, and a
cold start of it must not pay for the import of asyncio, which the timeout needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.domain.uniqueness import UniquePolicy
    from ojs_aws.middleware.chain.enqueue import EnqueueChain
    from ojs_aws.middleware.chain.execution import ExecutionChain
    from ojs_aws.middleware.chain.timing import Timings
    from ojs_aws.middleware.circuit_breaker import (
        CircuitBreakerMiddleware,
        CircuitOpenError,
        CircuitState,
    )
    from ojs_aws.middleware.concurrency_limit import (
        ConcurrencyLimitError,
        ConcurrencyLimitMiddleware,
    )
    from ojs_aws.middleware.context import JobContext
    from ojs_aws.middleware.deduplication import (
        DeduplicationMiddleware,
        MemorySeenStore,
        SeenStore,
    )
    from ojs_aws.middleware.default_metadata import DefaultMetadataMiddleware
    from ojs_aws.middleware.encryption import EncryptionMiddleware
    from ojs_aws.middleware.encryption_codec import EncryptionCodec, Payload, PayloadCodec
    from ojs_aws.middleware.encryption_errors import (
        DecryptionError,
        EncryptionError,
        KeyServiceError,
        PlainArgsError,
        UnknownKeyError,
    )
    from ojs_aws.middleware.encryption_keys import EncryptionKey, KeyProvider, StaticKeys
    from ojs_aws.middleware.encryption_kms import KmsKeys
    from ojs_aws.middleware.error_reporting import ErrorReport, ErrorReportingMiddleware
    from ojs_aws.middleware.errors import (
        AmbiguousMiddlewareError,
        BatchRejectedError,
        ChainFrozenError,
        IdChangedError,
        InvalidMiddlewareError,
        InvalidSchemaError,
        JobTimeoutError,
        MiddlewareError,
        MiddlewareWarning,
        NextCalledTwiceError,
        NextNotAwaitedError,
        NextNotCalledError,
        SuppressedErrorWarning,
        UnknownMiddlewareError,
    )
    from ojs_aws.middleware.extensions import Extensions
    from ojs_aws.middleware.hook_values import HookEvent, Metric, Periodic, WorkOutcome
    from ojs_aws.middleware.hooks import Hooks
    from ojs_aws.middleware.interfaces import Checked, HookDefaults, MiddlewareDefaults, check
    from ojs_aws.middleware.logging import LoggingMiddleware
    from ojs_aws.middleware.marking import hook
    from ojs_aws.middleware.metrics import MetricSink, MetricsMiddleware
    from ojs_aws.middleware.metrics_emf import EmfSink
    from ojs_aws.middleware.metrics_otel import OpenTelemetrySink
    from ojs_aws.middleware.propagation import (
        LOCALE,
        TIMEZONE,
        ContextPropagationMiddleware,
        LocaleMiddleware,
    )
    from ojs_aws.middleware.protocols import (
        BatchMiddleware,
        EnqueueMiddleware,
        EnqueueSide,
        ExecutionMiddleware,
        ExecutionSide,
    )
    from ojs_aws.middleware.queue_routing import QueueRoutingMiddleware
    from ojs_aws.middleware.rate_limit import RateLimitMiddleware
    from ojs_aws.middleware.results import EnqueueResult, EnqueueStatus
    from ojs_aws.middleware.retry_logging import RetryLoggingMiddleware
    from ojs_aws.middleware.timeout import TimeoutMiddleware
    from ojs_aws.middleware.trace_context import TraceContextMiddleware
    from ojs_aws.middleware.transaction import TransactionMiddleware
    from ojs_aws.middleware.validation import SchemaRegistry, ValidationMiddleware

__all__ = [
    "LOCALE",
    "TIMEZONE",
    "AmbiguousMiddlewareError",
    "BatchMiddleware",
    "BatchRejectedError",
    "ChainFrozenError",
    "Checked",
    "CircuitBreakerMiddleware",
    "CircuitOpenError",
    "CircuitState",
    "ConcurrencyLimitError",
    "ConcurrencyLimitMiddleware",
    "ContextPropagationMiddleware",
    "DecryptionError",
    "DeduplicationMiddleware",
    "DefaultMetadataMiddleware",
    "EmfSink",
    "EncryptionCodec",
    "EncryptionError",
    "EncryptionKey",
    "EncryptionMiddleware",
    "EnqueueChain",
    "EnqueueMiddleware",
    "EnqueueResult",
    "EnqueueSide",
    "EnqueueStatus",
    "ErrorReport",
    "ErrorReportingMiddleware",
    "ExecutionChain",
    "ExecutionMiddleware",
    "ExecutionSide",
    "Extensions",
    "HookDefaults",
    "HookEvent",
    "Hooks",
    "IdChangedError",
    "InvalidMiddlewareError",
    "InvalidSchemaError",
    "JobContext",
    "JobTimeoutError",
    "KeyProvider",
    "KeyServiceError",
    "KmsKeys",
    "LocaleMiddleware",
    "LoggingMiddleware",
    "MemorySeenStore",
    "Metric",
    "MetricSink",
    "MetricsMiddleware",
    "MiddlewareDefaults",
    "MiddlewareError",
    "MiddlewareWarning",
    "NextCalledTwiceError",
    "NextNotAwaitedError",
    "NextNotCalledError",
    "OpenTelemetrySink",
    "Payload",
    "PayloadCodec",
    "Periodic",
    "PlainArgsError",
    "QueueRoutingMiddleware",
    "RateLimitMiddleware",
    "RetryLoggingMiddleware",
    "SchemaRegistry",
    "SeenStore",
    "StaticKeys",
    "SuppressedErrorWarning",
    "TimeoutMiddleware",
    "Timings",
    "TraceContextMiddleware",
    "TransactionMiddleware",
    "UniquePolicy",
    "UnknownKeyError",
    "UnknownMiddlewareError",
    "ValidationMiddleware",
    "WorkOutcome",
    "check",
    "hook",
]

_HOMES: Final = {
    "circuit_breaker": ("CircuitBreakerMiddleware", "CircuitOpenError", "CircuitState"),
    "concurrency_limit": ("ConcurrencyLimitError", "ConcurrencyLimitMiddleware"),
    "encryption": ("EncryptionMiddleware",),
    "encryption_codec": ("EncryptionCodec", "Payload", "PayloadCodec"),
    "encryption_errors": (
        "DecryptionError",
        "EncryptionError",
        "KeyServiceError",
        "PlainArgsError",
        "UnknownKeyError",
    ),
    "encryption_keys": ("EncryptionKey", "KeyProvider", "StaticKeys"),
    "encryption_kms": ("KmsKeys",),
    "transaction": ("TransactionMiddleware",),
    "context": ("JobContext",),
    "deduplication": ("DeduplicationMiddleware", "MemorySeenStore", "SeenStore", "UniquePolicy"),
    "default_metadata": ("DefaultMetadataMiddleware",),
    "chain.enqueue": ("EnqueueChain",),
    "error_reporting": ("ErrorReport", "ErrorReportingMiddleware"),
    "chain.execution": ("ExecutionChain",),
    "extensions": ("Extensions",),
    "hook_values": ("HookEvent", "Metric", "Periodic", "WorkOutcome"),
    "hooks": ("Hooks",),
    "marking": ("hook",),
    "interfaces": ("Checked", "HookDefaults", "MiddlewareDefaults", "check"),
    "logging": ("LoggingMiddleware",),
    "metrics": ("MetricSink", "MetricsMiddleware"),
    "metrics_emf": ("EmfSink",),
    "metrics_otel": ("OpenTelemetrySink",),
    "propagation": ("ContextPropagationMiddleware", "LOCALE", "LocaleMiddleware", "TIMEZONE"),
    "protocols": (
        "BatchMiddleware",
        "EnqueueMiddleware",
        "EnqueueSide",
        "ExecutionMiddleware",
        "ExecutionSide",
    ),
    "queue_routing": ("QueueRoutingMiddleware",),
    "rate_limit": ("RateLimitMiddleware",),
    "results": ("EnqueueResult", "EnqueueStatus"),
    "retry_logging": ("RetryLoggingMiddleware",),
    "timeout": ("TimeoutMiddleware",),
    "chain.timing": ("Timings",),
    "trace_context": ("TraceContextMiddleware",),
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
