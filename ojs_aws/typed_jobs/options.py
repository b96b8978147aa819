"""Declare what a typed job may say beside its arguments, and write it as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from ojs_aws.domain.job_attributes import JobAttributes
from ojs_aws.domain.timestamps import format_duration, parse_duration


class JobOptions(JobAttributes, total=False):
    """Lists the attributes of a job, and ``delay``.

    :ivar delay: how long it waits before it may run: ``"10m"``, ``"PT10M"`` or a timedelta.
    """

    delay: str | timedelta


def attributes_of(options: JobOptions) -> JobAttributes:
    """Return the attributes that some options set.

    :raises TypeError: ``delay`` is given beside ``scheduled_at``, or is no duration.
    :raises InvalidRequestError: ``delay`` is text that is no duration.
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


def duration_ms(given: object, name: str) -> int:
    """Return the milliseconds of a duration: ``"10m"``, ``"PT10M"`` or a timedelta.

    :raises TypeError: it is none.
    :raises InvalidRequestError: it is text of another form, or negative.
    """
    if isinstance(given, timedelta):
        given = format_duration(given // timedelta(milliseconds=1))
    if not isinstance(given, str):
        shown = type(given).__name__
        raise TypeError(f'{name} must be a duration such as "30s" or "10m", not a {shown}.')
    return parse_duration(given, name)
