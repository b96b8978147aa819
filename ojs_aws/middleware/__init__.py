"""Export the two middleware chains, the hooks, and the middleware that comes with them.

Each name is imported when it is first asked for: PUSH runs its chain without an event loop, and a
cold start of it must not pay for the import of asyncio, which the timeout needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.domain.unique.keys import UniquePolicy as UniquePolicy
    from ojs_aws.middleware.builtin.circuit_breaker import (
        CircuitBreakerMiddleware as CircuitBreakerMiddleware,
    )
    from ojs_aws.middleware.builtin.circuit_breaker import CircuitOpenError as CircuitOpenError
    from ojs_aws.middleware.builtin.circuit_breaker import CircuitState as CircuitState
    from ojs_aws.middleware.builtin.deduplication import (
        DeduplicationMiddleware as DeduplicationMiddleware,
    )
    from ojs_aws.middleware.builtin.deduplication import MemorySeenStore as MemorySeenStore
    from ojs_aws.middleware.builtin.deduplication import SeenStore as SeenStore
    from ojs_aws.middleware.builtin.encryption import DecryptionError as DecryptionError
    from ojs_aws.middleware.builtin.encryption import EncryptionCodec as EncryptionCodec
    from ojs_aws.middleware.builtin.encryption import EncryptionError as EncryptionError
    from ojs_aws.middleware.builtin.encryption import EncryptionKey as EncryptionKey
    from ojs_aws.middleware.builtin.encryption import KeyProvider as KeyProvider
    from ojs_aws.middleware.builtin.encryption import KeyServiceError as KeyServiceError
    from ojs_aws.middleware.builtin.encryption import Payload as Payload
    from ojs_aws.middleware.builtin.encryption import PayloadCodec as PayloadCodec
    from ojs_aws.middleware.builtin.encryption import PlainArgsError as PlainArgsError
    from ojs_aws.middleware.builtin.encryption import StaticKeys as StaticKeys
    from ojs_aws.middleware.builtin.encryption import UnknownKeyError as UnknownKeyError
    from ojs_aws.middleware.builtin.encryption.kms import KmsKeys as KmsKeys
    from ojs_aws.middleware.builtin.encryption.middleware import (
        EncryptionMiddleware as EncryptionMiddleware,
    )
    from ojs_aws.middleware.builtin.error_reports import ErrorReport as ErrorReport
    from ojs_aws.middleware.builtin.error_reports import (
        ErrorReportingMiddleware as ErrorReportingMiddleware,
    )
    from ojs_aws.middleware.builtin.job_attributes import (
        DefaultMetadataMiddleware as DefaultMetadataMiddleware,
    )
    from ojs_aws.middleware.builtin.job_attributes import (
        QueueRoutingMiddleware as QueueRoutingMiddleware,
    )
    from ojs_aws.middleware.builtin.limits import ConcurrencyLimitError as ConcurrencyLimitError
    from ojs_aws.middleware.builtin.limits import (
        ConcurrencyLimitMiddleware as ConcurrencyLimitMiddleware,
    )
    from ojs_aws.middleware.builtin.limits import RateLimitMiddleware as RateLimitMiddleware
    from ojs_aws.middleware.builtin.logging import LoggingMiddleware as LoggingMiddleware
    from ojs_aws.middleware.builtin.logging import (
        RetryLoggingMiddleware as RetryLoggingMiddleware,
    )
    from ojs_aws.middleware.builtin.metric_sinks import EmfSink as EmfSink
    from ojs_aws.middleware.builtin.metric_sinks import MetricSink as MetricSink
    from ojs_aws.middleware.builtin.metric_sinks import OpenTelemetrySink as OpenTelemetrySink
    from ojs_aws.middleware.builtin.metrics import MetricsMiddleware as MetricsMiddleware
    from ojs_aws.middleware.builtin.propagation import LOCALE as LOCALE
    from ojs_aws.middleware.builtin.propagation import TIMEZONE as TIMEZONE
    from ojs_aws.middleware.builtin.propagation import (
        ContextPropagationMiddleware as ContextPropagationMiddleware,
    )
    from ojs_aws.middleware.builtin.propagation import LocaleMiddleware as LocaleMiddleware
    from ojs_aws.middleware.builtin.timeout import TimeoutMiddleware as TimeoutMiddleware
    from ojs_aws.middleware.builtin.trace_context import (
        TraceContextMiddleware as TraceContextMiddleware,
    )
    from ojs_aws.middleware.builtin.transaction import (
        TransactionMiddleware as TransactionMiddleware,
    )
    from ojs_aws.middleware.builtin.validation.middleware import SchemaRegistry as SchemaRegistry
    from ojs_aws.middleware.builtin.validation.middleware import (
        ValidationMiddleware as ValidationMiddleware,
    )
    from ojs_aws.middleware.chain import Timings as Timings
    from ojs_aws.middleware.chain.enqueue import EnqueueChain as EnqueueChain
    from ojs_aws.middleware.chain.execution import ExecutionChain as ExecutionChain
    from ojs_aws.middleware.context import JobContext as JobContext
    from ojs_aws.middleware.extensions import Extensions as Extensions
    from ojs_aws.middleware.hook_values import HookEvent as HookEvent
    from ojs_aws.middleware.hook_values import Metric as Metric
    from ojs_aws.middleware.hook_values import Periodic as Periodic
    from ojs_aws.middleware.hook_values import WorkOutcome as WorkOutcome
    from ojs_aws.middleware.hook_values import hook as hook
    from ojs_aws.middleware.hooks import Hooks as Hooks
    from ojs_aws.middleware.protocols import BatchMiddleware as BatchMiddleware
    from ojs_aws.middleware.protocols import Checked as Checked
    from ojs_aws.middleware.protocols import EnqueueMiddleware as EnqueueMiddleware
    from ojs_aws.middleware.protocols import EnqueueSide as EnqueueSide
    from ojs_aws.middleware.protocols import ExecutionMiddleware as ExecutionMiddleware
    from ojs_aws.middleware.protocols import ExecutionSide as ExecutionSide
    from ojs_aws.middleware.protocols import HookDefaults as HookDefaults
    from ojs_aws.middleware.protocols import MiddlewareDefaults as MiddlewareDefaults
    from ojs_aws.middleware.protocols import check as check
    from ojs_aws.middleware.results import AmbiguousMiddlewareError as AmbiguousMiddlewareError
    from ojs_aws.middleware.results import BatchRejectedError as BatchRejectedError
    from ojs_aws.middleware.results import ChainFrozenError as ChainFrozenError
    from ojs_aws.middleware.results import EnqueueResult as EnqueueResult
    from ojs_aws.middleware.results import EnqueueStatus as EnqueueStatus
    from ojs_aws.middleware.results import IdChangedError as IdChangedError
    from ojs_aws.middleware.results import InvalidMiddlewareError as InvalidMiddlewareError
    from ojs_aws.middleware.results import InvalidSchemaError as InvalidSchemaError
    from ojs_aws.middleware.results import JobTimeoutError as JobTimeoutError
    from ojs_aws.middleware.results import MiddlewareError as MiddlewareError
    from ojs_aws.middleware.results import MiddlewareWarning as MiddlewareWarning
    from ojs_aws.middleware.results import NextCalledTwiceError as NextCalledTwiceError
    from ojs_aws.middleware.results import NextNotAwaitedError as NextNotAwaitedError
    from ojs_aws.middleware.results import NextNotCalledError as NextNotCalledError
    from ojs_aws.middleware.results import SuppressedErrorWarning as SuppressedErrorWarning
    from ojs_aws.middleware.results import UnknownMiddlewareError as UnknownMiddlewareError
else:
    __getattr__, __dir__ = lazy_exports(__name__)
