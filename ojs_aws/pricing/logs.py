"""Computes how many bytes of logs a workload makes."""

from __future__ import annotations

from typing import Final

from ojs_aws.pricing import changes
from ojs_aws.pricing.workload import Workload

REQUEST_LOG: Final = 490
ENQUEUED_LOG: Final = 340
SOURCE_LOG: Final = 32
ACCESS_LOG: Final = 380
STREAM_LOG: Final = 290
TICK_LOG: Final = 790
"""Bytes of log for each request, push, request to the job endpoint, gateway request, stream batch
and tick; CloudWatch adds 26 to a line. Lambda's own lines of each invocation are not logged."""


def log_bytes(w: Workload, pushes: float, worked: float, *, ticks: float) -> float:
    """Return the bytes that the functions and the gateway write.

    :param pushes: requests that enqueue jobs.
    :param worked: requests of workers.
    """
    batches, _ = changes.invocations(w)
    access = ACCESS_LOG * w.has_access_log if w.uses_gateway else SOURCE_LOG
    each_push = REQUEST_LOG + ENQUEUED_LOG + access
    work = worked * (REQUEST_LOG + access)
    return pushes * each_push + work + batches * STREAM_LOG + ticks * TICK_LOG
