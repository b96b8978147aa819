"""Records how every attempt of an AWS call ended, not only the last one.

botocore repeats a call that was throttled or got no answer. Its error describes only the last
attempt: one that was throttled after another one had timed out looks like a call that never took
effect.
"""

from __future__ import annotations

from typing import Any, Final

from ojs_aws.adapters.aws_errors import answer_of, refusals, unsent

NO_EFFECT: Final = "OjsNoEffect"
"""In the metadata of an answer, and on an exception: whether no attempt so far took effect."""

_REJECTED: Final = range(400, 500)


def watch_attempts(client: Any) -> None:
    """Record for each call of a client whether any attempt may have taken effect."""
    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register(
        f"response-received.{service}", _note_attempt, unique_id="ojs-attempts"
    )


def _note_attempt(
    context: dict[str, Any],
    parsed_response: dict[str, Any] | None,
    exception: Exception | None,
    **_: object,
) -> None:
    if parsed_response is None:
        had_none = isinstance(exception, unsent())
    else:
        had_none = _status(parsed_response) in _REJECTED
    context[NO_EFFECT] = context.get(NO_EFFECT, True) and had_none
    if parsed_response is not None:
        parsed_response.setdefault("ResponseMetadata", {})[NO_EFFECT] = context[NO_EFFECT]
    elif exception is not None:
        setattr(exception, NO_EFFECT, context[NO_EFFECT])


def had_no_effect(problem: Exception) -> bool:
    """Return whether no attempt of a failed call took effect.

    Of a client that is not watched, only a call that was not repeated can be known.
    """
    if not isinstance(problem, refusals()):
        return getattr(problem, NO_EFFECT, False)
    answer = answer_of(problem)
    metadata: Any = answer.get("ResponseMetadata", {})
    known = metadata.get(NO_EFFECT)
    if known is not None:
        return bool(known)
    return not metadata.get("RetryAttempts") and _status(answer) in {0, *_REJECTED}


def note_effect(problem: Exception) -> None:
    """Mark a failed call: an earlier one in its place may have taken effect."""
    if isinstance(problem, refusals()):
        answer_of(problem).setdefault("ResponseMetadata", {})[NO_EFFECT] = False
    else:
        setattr(problem, NO_EFFECT, False)


def _status(answer: Any) -> int:
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
