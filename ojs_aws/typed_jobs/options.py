"""Declare what a typed job may say beside its arguments, and write it as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from ojs_aws.domain.job_attributes import JobAttributes
from ojs_aws.domain.timestamps import duration_ms, format_duration


class JobOptions(JobAttributes, total=False):
    """Lists the attributes of a job, and ``delay``.

    :ivar delay: how long it waits before it may run: ``"10m"``, ``"PT10M"`` or a timedelta.
    """

    delay: str | timedelta


def attributes_of(options: JobOptions) -> JobAttributes:
    """Return the attributes that some options set.

    :raises TypeError: ``delay`` is given beside ``scheduled_at``.
    :raises InvalidRequestError: ``delay`` is no duration.
    """
    if "delay" not in options:
        return options
    if "scheduled_at" in options:
        raise TypeError("A job is given a delay or scheduled_at, and not both.")
    attributes: dict[str, Any] = dict(options)
    attributes["scheduled_at"] = "+" + format_duration(
        duration_ms(attributes.pop("delay"), "delay")
    )
    return cast("JobAttributes", attributes)


def merged(options: Mapping[str, Any], others: Mapping[str, Any]) -> JobOptions:
    """Return options with others in their place, where both say something.

    A delay takes the place of ``scheduled_at``, and the other way round.
    """
    kept = dict(options)
    if {"delay", "scheduled_at"} & others.keys():
        kept.pop("delay", None)
        kept.pop("scheduled_at", None)
    return cast("JobOptions", kept | dict(others))
