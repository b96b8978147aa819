"""The two middleware chains: around enqueueing, and around the execution of a handler."""

from ojs_aws.middleware.chain import EnqueueChain, ExecutionChain
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.errors import (
    AmbiguousMiddlewareError,
    ChainFrozenError,
    IdChangedError,
    JobTimeoutError,
    MiddlewareError,
    NextCalledTwiceError,
    SuppressedErrorWarning,
    UnknownMiddlewareError,
)
from ojs_aws.middleware.logging import LoggingMiddleware
from ojs_aws.middleware.timeout import TimeoutMiddleware

__all__ = [
    "AmbiguousMiddlewareError",
    "ChainFrozenError",
    "EnqueueChain",
    "ExecutionChain",
    "IdChangedError",
    "JobContext",
    "JobTimeoutError",
    "LoggingMiddleware",
    "MiddlewareError",
    "NextCalledTwiceError",
    "SuppressedErrorWarning",
    "TimeoutMiddleware",
    "UnknownMiddlewareError",
]
