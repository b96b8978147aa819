"""When a pushed job becomes available: ``delay_until`` and ``delay``, beside ``scheduled_at``.

The binding's options have ``delay_until`` (HTTP binding, section 9.1); clients with a ``delay``
option mean a duration from now on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.json_text import Member, encode
from ojs_aws.domain.timestamps import Instant, format_duration, parse_duration, resolve_timestamp

DELAY_UNTIL: Final = "delay_until"
_DELAY: Final = "delay"
_SCHEDULED_AT: Final = "scheduled_at"


def read_delay_until(member: Member) -> Member:
    """Return the instant of a ``delay_until``; the JavaScript SDK also sends a duration there.

    :raises InvalidRequestError: naming ``delay_until``, if it is neither.
    """
    if isinstance(member.value, str) and member.value.startswith("P"):
        relative = f"+{member.value}"
        member = Member(encode(relative), relative)
    resolve_timestamp(member.value, DELAY_UNTIL, Instant(0))
    return member


def with_delay(members: Mapping[str, Member]) -> dict[str, Member]:
    """The members, and the ``scheduled_at`` that a ``delay`` among them means.

    An instant takes precedence over a delay, which stays where it stood.

    :raises InvalidRequestError: ``delay`` is no duration.
    """
    delay = members.get(_DELAY)
    if delay is None or delay.value is None or _SCHEDULED_AT in members:
        return {**members}
    relative = f"+{format_duration(parse_duration(delay.value, _DELAY))}"
    return {**members, _SCHEDULED_AT: Member(encode(relative), relative)}
