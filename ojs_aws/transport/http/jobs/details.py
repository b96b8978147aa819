"""Makes the members that a job's detail adds to the job (ojs-admin-api, section 7.2).

The admin UI shows the instants and the policy by these names only, and it reads ``errors`` and
``meta`` without checking that they are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.timestamps import format_duration, format_instant

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.retry import RetryPolicy
    from ojs_aws.transport.http.jobs.wire import Rendered

_INSTANTS: Final = (
    "created_at",
    "enqueued_at",
    "started_at",
    "scheduled_at",
    "completed_at",
    "cancelled_at",
    "discarded_at",
)


def detail_members(job: JobRecord) -> Rendered:
    """Return the members that each detail has.

    A member of the same name that the client sent with the job takes precedence.
    """
    return {
        "errors": RawJson("[]"),
        "meta": RawJson("{}"),
        "metadata": encode(_instants(job)),
        "retry_policy": encode(_policy(job.retry)),
    }


def _instants(job: JobRecord) -> dict[str, JsonValue]:
    """Return when the job entered each state; null if it did not."""
    instants = {name: getattr(job, name) for name in _INSTANTS}
    return {name: None if at is None else format_instant(at) for name, at in instants.items()}


def _policy(retry: RetryPolicy) -> dict[str, JsonValue]:
    """Return the whole policy, with defaults for what the client left out."""
    return {
        "max_attempts": retry.max_attempts,
        "initial_interval": format_duration(retry.initial_interval_ms),
        "backoff_coefficient": retry.backoff_coefficient,
        "backoff_strategy": str(retry.strategy),
        "max_interval": format_duration(retry.max_interval_ms),
        "jitter": retry.jitter,
        "non_retryable_errors": [*retry.non_retryable_errors],
        "on_exhaustion": str(retry.on_exhaustion),
    }
