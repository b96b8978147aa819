"""Encodes the body of an SQS message: compact JSON, with a version."""

from __future__ import annotations

import json
from typing import Any, Final

from ojs_aws.ports import Message

VERSION: Final = 1


class UnreadableMessageError(ValueError):
    """Reports a message that this version of the system did not send."""


def encode_message(message: Message) -> str:
    """Return the body of a message."""
    body: dict[str, Any] = {"v": VERSION, "id": message.job_id}
    if message.sort_key:
        body["k"] = message.sort_key
    if message.timeout_ms is not None:
        body["to"] = message.timeout_ms
    if message.visibility_timeout_ms is not None:
        body["vt"] = message.visibility_timeout_ms
    return json.dumps(body, separators=(",", ":"))


def decode_message(body: str) -> Message:
    """Read the body of a message.

    :raises UnreadableMessageError: it is none of ours.
    """
    try:
        fields = json.loads(body)
        if fields["v"] != VERSION or not isinstance(fields["id"], str):
            raise UnreadableMessageError(f"not a message of version {VERSION}")
        timeout, visibility = fields.get("to"), fields.get("vt")
        return Message(
            fields["id"],
            str(fields.get("k", "")),
            None if timeout is None else int(timeout),
            None if visibility is None else int(visibility),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise UnreadableMessageError(f"unreadable message: {problem}") from problem
