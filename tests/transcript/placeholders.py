"""Names in the place of what differs from run to run: ids, times, cursors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ojs_aws import __version__

_UUID: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MEMBER: Final = re.compile(r'("(\w*cursor|reservation_id)":\s*")([^"<][^"]*)"')
_REQUEST_ID: Final = re.compile(r"req_[0-9a-f-]{36}")
_SERVER: Final = re.compile(rf"(ojs-aws/|\"version\":\s*\"){re.escape(__version__)}")
_LATENCY: Final = re.compile(r'("latency_ms":\s*)\d+')
SHORTEST: Final = 16
"""Characters of a saved value that is named wherever it stands; a shorter one may mean others."""

_NEAR_MS: Final = 400 * 86_400_000
"""Instants further from now than this are a client's own and stay as they are."""


class Placeholders:
    """Replaces values by stable names; the same value has the same name in a whole session."""

    def __init__(self) -> None:
        """Know no value yet."""
        self.saved: dict[str, str] = {}
        self._numbered: dict[str, str] = {}

    def values(self, text: str) -> str:
        """Put the saved values in the place of their names: for a request."""
        for name, value in self.saved.items():
            text = text.replace(f"<{name}>", value)
        return text

    def names(self, text: str, now_ms: int) -> str:
        """Put the names in the place of the values: for the recording.

        :param now_ms: times are written as distances from this instant.
        """
        for name, value in sorted(self.saved.items(), key=lambda pair: -len(pair[1])):
            if len(value) >= SHORTEST:
                text = text.replace(value, f"<{name}>")
        text = _REQUEST_ID.sub("<request-id>", text)
        text = _MEMBER.sub(lambda m: f'{m[1]}{self._number(_kind_of(m[2]), m[3])}"', text)
        text = _UUID.sub(lambda m: self._number("id", m[0]), text)
        text = _SERVER.sub(lambda m: f"{m[1]}<version>", text)
        text = _LATENCY.sub(r"\1<duration>", text)
        return _TIME.sub(lambda m: _distance(m[0], now_ms), text)

    def _number(self, kind: str, value: str) -> str:
        if value not in self._numbered:
            count = sum(name.startswith(f"<{kind}-") for name in self._numbered.values())
            self._numbered[value] = f"<{kind}-{count + 1}>"
        return self._numbered[value]


def _kind_of(member: str) -> str:
    return "cursor" if member.endswith("cursor") else "reservation"


def _distance(text: str, now_ms: int) -> str:
    """Return an instant as its distance from now."""
    at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    distance = round(at.timestamp() * 1000) - now_ms
    if abs(distance) > _NEAR_MS:
        return text
    return f"<now{distance / 1000:+g}s>" if distance else "<now>"


def at_place(value: object, place: str) -> object:
    """Return the value at a place such as ``jobs.0.id``."""
    for part in place.split("."):
        if isinstance(value, Mapping):
            value = value[part]
        elif isinstance(value, list):
            value = value[int(part)]
        else:
            raise KeyError(place)
    return value
