"""Groups failures: those of one error type whose messages differ only in values are one group."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.timestamps import Instant

WINDOW_MS: Final = 3_600_000
"""Failures are counted by the hour."""

MAX_GROUPS: Final = 8
"""Groups of a queue and hour; what belongs to none of the first ones is only counted."""

MAX_TYPE_BYTES: Final = 48
MAX_MESSAGE_BYTES: Final = 90
MAX_EXAMPLE_BYTES: Final = 80
"""How much of each is kept: eight groups of one queue and hour fit three kilobytes."""

VALUE: Final = "*"
"""Stands in a message for what differs from failure to failure."""

_LOOKED_AT: Final = 1_000
"""Characters of a message that are looked at."""

_CUT: Final = "…"
_QUOTED: Final = re.compile(r'"[^"]*"|`[^`]*`|“[^”]*”|(?<!\w)\'[^\']*\'(?!\w)')
_WORD: Final = re.compile(r"[\w.:+/@%#$-]+")
_HEX: Final = re.compile(r"[0-9a-fA-F]{8,}")
_ENDS: Final = ".:/-"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroup:
    """Counts the failures of one error type and one kind of message.

    :ivar message: normalised; see :func:`normalised`.
    :ivar example: the message of the last failure in one line, cut; empty if nobody stored one.
    :ivar count: at least so many.
    :ivar job_ids: of one of the first and one of the last jobs that failed so.
    """

    type: str
    message: str
    example: str
    count: int
    first_seen: Instant
    last_seen: Instant
    job_ids: tuple[str, ...]

    @property
    def name(self) -> tuple[str, str]:
        """Return what makes two failures belong together."""
        return self.type, self.message

    def plus(self, other: FailureGroup) -> FailureGroup:
        """Return this group with the failures of another one, of the same name."""
        first = min(self, other, key=lambda each: each.first_seen)
        newest = max(other, self, key=lambda each: each.last_seen)
        return FailureGroup(
            type=self.type,
            message=self.message,
            example=newest.example,
            count=self.count + other.count,
            first_seen=first.first_seen,
            last_seen=newest.last_seen,
            job_ids=tuple(dict.fromkeys((first.job_ids[0], newest.job_ids[-1]))),
        )


def failure_group(kind: str, message: str, job_id: str, at: Instant) -> FailureGroup:
    """Return the group of one failure."""
    return FailureGroup(
        type=_short(" ".join(kind.split()), MAX_TYPE_BYTES),
        message=normalised(message),
        example=_short(" ".join(message[:_LOOKED_AT].split()), MAX_EXAMPLE_BYTES),
        count=1,
        first_seen=at,
        last_seen=at,
        job_ids=(job_id,),
    )


def group_key(group: FailureGroup) -> str:
    """Return a short text that stands for the name of a group."""
    return hashlib.sha256("\0".join(group.name).encode("utf-8", "replace")).hexdigest()[:6]


def window_of(at: Instant) -> Instant:
    """Return when the hour of an instant begins."""
    return Instant(at // WINDOW_MS * WINDOW_MS)


def normalised(message: str) -> str:
    """Return a message without what differs from failure to failure, in one line and cut.

    Left out are quoted texts, hexadecimal numbers, and every word that has a digit: numbers, ids,
    addresses and timestamps. The values may also be what nobody should read.
    """
    text = message[:_LOOKED_AT]
    text = _QUOTED.sub(lambda match: f"{match[0][0]}{VALUE}{match[0][-1]}", text)
    text = _WORD.sub(lambda match: _without_value(match[0]), text)
    return _short(" ".join(text.split()), MAX_MESSAGE_BYTES)


def _without_value(word: str) -> str:
    """Return a word as it is, or the sign for a value with the punctuation behind it."""
    bare = word.rstrip(_ENDS)
    if any(each.isdigit() for each in bare) or _HEX.fullmatch(bare):
        return VALUE + word[len(bare) :]
    return word


def _short(text: str, most: int) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode()
    return raw[: most - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFailures:
    """Holds how executions of a queue failed in one hour.

    :ivar window: when the hour begins.
    :ivar ungrouped: failures that belong to none of the groups, which are bounded in number.
    """

    queue: str
    window: Instant
    groups: tuple[FailureGroup, ...]
    ungrouped: int = 0
