"""Export the two middleware chains, the hooks, and the middleware that comes with them.

Each name is imported when it is first asked for: PUSH runs its chain without an event loop, and a
cold start of it must not pay for the import of asyncio, which the timeout needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ojs_aws.domain.uniqueness import UniquePolicy
    from ojs_aws.middleware.builtin.circuit_breaker import (
        CircuitBreakerMiddleware,
        CircuitOpenError,
        CircuitState,
    )
    from ojs_aws.middleware.builtin.concurrency_limit import (
        ConcurrencyLimitError,
        ConcurrencyLimitMiddleware,
    )
    from ojs_aws.middleware.builtin.deduplication import (
        DeduplicationMiddleware,
        MemorySeenStore,
        SeenStore,
    )
    from ojs_aws.middleware.builtin.default_metadata import DefaultMetadataMiddleware
    from ojs_aws.middleware.builtin.encryption.codec import EncryptionCodec, Payload, PayloadCodec
    from ojs_aws.middleware.builtin.encryption.keys import (
        DecryptionError,
        EncryptionError,
        EncryptionKey,
        KeyProvider,
        KeyServiceError,
        PlainArgsError,
        StaticKeys,
        UnknownKeyError,
    )
    from ojs_aws.middleware.builtin.encryption.kms import KmsKeys
    from ojs_aws.middleware.builtin.encryption.middleware import EncryptionMiddleware
    from ojs_aws.middleware.builtin.error_reporting import ErrorReport, ErrorReportingMiddleware
    from ojs_aws.middleware.builtin.logging import LoggingMiddleware
    from ojs_aws.middleware.builtin.metrics import MetricSink
    from ojs_aws.middleware.builtin.metrics.emf import EmfSink
    from ojs_aws.middleware.builtin.metrics.middleware import MetricsMiddleware
    from ojs_aws.middleware.builtin.metrics.otel import OpenTelemetrySink
    from ojs_aws.middleware.builtin.propagation import (
        LOCALE,
        TIMEZONE,
        ContextPropagationMiddleware,
        LocaleMiddleware,
    )
    from ojs_aws.middleware.builtin.queue_routing import QueueRoutingMiddleware
    from ojs_aws.middleware.builtin.rate_limit import RateLimitMiddleware
    from ojs_aws.middleware.builtin.retry_logging import RetryLoggingMiddleware
    from ojs_aws.middleware.builtin.timeout import TimeoutMiddleware
    from ojs_aws.middleware.builtin.trace_context import TraceContextMiddleware
    from ojs_aws.middleware.builtin.transaction import TransactionMiddleware
    from ojs_aws.middleware.builtin.validation.middleware import (
        SchemaRegistry,
        ValidationMiddleware,
    )
    from ojs_aws.middleware.chain.enqueue import EnqueueChain
    from ojs_aws.middleware.chain.execution import ExecutionChain
    from ojs_aws.middleware.chain.timing import Timings
    from ojs_aws.middleware.context import JobContext
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
    from ojs_aws.middleware.hooks.decorator import hook
    from ojs_aws.middleware.hooks.registry import Hooks
    from ojs_aws.middleware.hooks.values import HookEvent, Metric, Periodic, WorkOutcome
    from ojs_aws.middleware.interfaces import Checked, HookDefaults, MiddlewareDefaults, check
    from ojs_aws.middleware.protocols import (
        BatchMiddleware,
        EnqueueMiddleware,
        EnqueueSide,
        ExecutionMiddleware,
        ExecutionSide,
    )
    from ojs_aws.middleware.results import EnqueueResult, EnqueueStatus

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
    "builtin.circuit_breaker": "CircuitBreakerMiddleware CircuitOpenError CircuitState",
    "builtin.concurrency_limit": "ConcurrencyLimitError ConcurrencyLimitMiddleware",
    "builtin.deduplication": "DeduplicationMiddleware MemorySeenStore SeenStore UniquePolicy",
    "builtin.default_metadata": "DefaultMetadataMiddleware",
    "builtin.encryption.codec": "EncryptionCodec Payload PayloadCodec",
    "builtin.encryption.keys": "DecryptionError EncryptionError EncryptionKey KeyProvider "
    "KeyServiceError PlainArgsError StaticKeys UnknownKeyError",
    "builtin.encryption.kms": "KmsKeys",
    "builtin.encryption.middleware": "EncryptionMiddleware",
    "builtin.error_reporting": "ErrorReport ErrorReportingMiddleware",
    "builtin.logging": "LoggingMiddleware",
    "builtin.metrics.emf": "EmfSink",
    "builtin.metrics.middleware": "MetricsMiddleware",
    "builtin.metrics.otel": "OpenTelemetrySink",
    "builtin.metrics": "MetricSink",
    "builtin.propagation": "ContextPropagationMiddleware LOCALE LocaleMiddleware TIMEZONE",
    "builtin.queue_routing": "QueueRoutingMiddleware",
    "builtin.rate_limit": "RateLimitMiddleware",
    "builtin.retry_logging": "RetryLoggingMiddleware",
    "builtin.timeout": "TimeoutMiddleware",
    "builtin.trace_context": "TraceContextMiddleware",
    "builtin.transaction": "TransactionMiddleware",
    "builtin.validation.middleware": "SchemaRegistry ValidationMiddleware",
    "chain.enqueue": "EnqueueChain",
    "chain.execution": "ExecutionChain",
    "chain.timing": "Timings",
    "context": "JobContext",
    "extensions": "Extensions",
    "hooks.decorator": "hook",
    "hooks.registry": "Hooks",
    "hooks.values": "HookEvent Metric Periodic WorkOutcome",
    "interfaces": "Checked HookDefaults MiddlewareDefaults check",
    "protocols": "BatchMiddleware EnqueueMiddleware EnqueueSide ExecutionMiddleware ExecutionSide",
    "results": "EnqueueResult EnqueueStatus",
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}


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
