"""Ages and instants: the command line says ``7d`` where documents have a timestamp."""

from __future__ import annotations

from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.timestamps import Instant, parse_duration, parse_timestamp


def instant_or_age(value: JsonValue, field: str, now: Instant) -> Instant:
    """Return the instant that a timestamp names, or that lies a duration before now.

    :raises InvalidRequestError: it is neither.
    """
    try:
        return Instant(now - parse_duration(value, field))
    except InvalidRequestError:
        return parse_timestamp(value, field)
