"""Writes the registration of a cron job as a body of the HTTP binding."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue

OverlapPolicy: TypeAlias = Literal["skip", "allow", "cancel_previous", "enqueue"]
"""What happens when the run before is still active."""


class CronOptions(TypedDict, total=False):
    """What a cron job may say of itself, beside its name, its expression and its job.

    ``timezone`` is an IANA name (default: UTC): the expression is read in local time.
    ``overlap_policy`` says what happens when the run before is still active (default: ``skip``).
    It is ``enabled`` by default. The ``description`` is for people.
    """

    timezone: str
    overlap_policy: OverlapPolicy
    enabled: bool
    description: str | None


def registration_body(
    name: str,
    cron: str,
    job: Job,
    *,
    timezone: str = "UTC",
    overlap_policy: OverlapPolicy = "skip",
    enabled: bool = True,
    description: str | None = None,
) -> dict[str, JsonValue]:
    """Return the body that registers a cron job; the id of its job does not matter."""
    options = {key: job[key] for key in job if key not in {"id", "specversion"}}
    kind, args = options.pop("type", None), options.pop("args", [])
    meta = options.pop("meta", None)
    body: dict[str, JsonValue] = {
        "name": name,
        "cron": cron,
        "timezone": timezone,
        "overlap_policy": overlap_policy,
        "enabled": enabled,
        "type": kind,
        "args": args,
        "options": options,
    }
    body |= {} if meta is None else {"meta": meta}
    body |= {} if description is None else {"description": description}
    return body
