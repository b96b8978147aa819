"""Build a chain step by step (middleware specification, 10.4).

python examples/middleware/chain_management.py
"""

from __future__ import annotations

import os

from ojs_aws.middleware import (
    ErrorReportingMiddleware,
    ExecutionChain,
    LoggingMiddleware,
    MetricsMiddleware,
    TimeoutMiddleware,
    TraceContextMiddleware,
)


def build(environment: str) -> ExecutionChain:
    """Return the chain of an environment."""
    chain = ExecutionChain()
    chain.add(LoggingMiddleware)
    chain.add(TimeoutMiddleware)
    print(chain)
    chain.insert_before(TimeoutMiddleware, MetricsMiddleware)  # the timeout is measured, too
    print(chain)
    chain.prepend(ErrorReportingMiddleware)  # the outermost
    print(chain)
    chain.insert_after(ErrorReportingMiddleware, TraceContextMiddleware)
    print(chain)
    if environment == "test":
        chain.remove(ErrorReportingMiddleware)
        chain.remove("metrics")  # by its name; an instance would do as well
        print(chain)
    return chain


if __name__ == "__main__":
    build(os.environ.get("ENVIRONMENT", "test")).freeze()
