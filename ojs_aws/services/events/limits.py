"""Makes the events of limits (ojs-rate-limiting, section 11.1)."""

from __future__ import annotations

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.events.commit import Commit, MadeEvent


def limit_events(before: Bucket | None, after: Bucket | None, commit: Commit) -> list[MadeEvent]:
    """Return ``rate_limit.exceeded``, ``.released`` and ``.dynamic_adjusted``.

    One of each for the time in which jobs have to wait, not one for each job or each look:
    the first refusal reports that the limit is exceeded, the next job that begins that it is
    released.
    """
    if after is None:
        return []
    was = before.exhausted if before else ""
    made: list[MadeEvent] = []
    if after.blocked_until is not None and after.blocked_until != (before and before.blocked_until):
        said = _said(after.exhausted)
        data: dict[str, JsonValue] = {
            "key": after.key,
            "until": format_instant(after.blocked_until),
            "reason": said.get("reason", ""),
        }
        made.append(_made("rate_limit.dynamic_adjusted", after.key, data, _at(said, commit)))
    elif after.exhausted and not was:
        said = _said(after.exhausted)
        data = {
            "key": after.key,
            "strategy": said.get("strategy", ""),
            "limit": said.get("limit", 0),
            "current": said.get("current", 0),
        }
        made.append(_made("rate_limit.exceeded", after.key, data, _at(said, commit)))
    if was and not after.exhausted:
        said = _said(was)
        data = {
            "key": after.key,
            "strategy": said.get("strategy", ""),
            "job_id": after.released,
        }
        time = Instant(max(commit.at, _at(said, commit)))
        made.append(_made("rate_limit.released", after.key, data, time))
    return made


def _said(text: str) -> dict[str, JsonValue]:
    said = decode(text) if text else {}
    return said if isinstance(said, dict) else {}


def _at(said: dict[str, JsonValue], commit: Commit) -> Instant:
    """Return when it happened; the stream record knows only the second."""
    at = said.get("at")
    return Instant(at) if isinstance(at, int) else commit.at


def _made(kind: str, key: str, data: dict[str, JsonValue], time: Instant) -> MadeEvent:
    return MadeEvent(kind=kind, time=time, subject=key, data=encode(data))
