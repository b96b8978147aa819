"""Reads what people write as the values of options and arguments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue


def moment(text: str | None) -> datetime | None:
    """Read a time that a person wrote: RFC 3339, or how long ago (``2h``, ``PT30M``).

    :raises InvalidRequestError: the text is neither a time nor a duration.
    """
    if not text:
        return None
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.timestamps import (
        datetime_of,
        parse_duration,
        parse_timestamp,
    )

    try:
        return datetime_of(parse_timestamp(text, "time"))
    except InvalidRequestError:
        ago = timedelta(milliseconds=parse_duration(text, "time"))
        return datetime.now(UTC) - ago


def pair_of(text: str, expected: str) -> tuple[str, str]:
    """Return the name and the value of ``name=value``.

    :param expected: begins the message of the error.
    :raises typer.BadParameter: the text is something else.
    """
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise typer.BadParameter(f"{expected} name=value, not {text!r}")
    return name, value


def arguments_of(text: str) -> list[JsonValue]:
    """Read a job's arguments: a JSON array of them, or one JSON value as the only argument."""
    given = json_of(text, "The arguments")
    return given if isinstance(given, list) else [given]


def json_of(text: str, what: str) -> JsonValue:
    """Read JSON that a person wrote.

    :param what: names it in the message of the error.
    :raises InvalidRequestError: the text is not valid JSON.
    """
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.json_text import decode

    try:
        return decode(text)
    except InvalidRequestError as problem:
        where = problem.message.rpartition("JSON: ")[2]
        raise InvalidRequestError(
            f"{what} must be JSON: {where}",
            hint='Quote it for the shell: \'["user@example.com", {"n": 1}]\', \'"a text"\'.',
        ) from None
