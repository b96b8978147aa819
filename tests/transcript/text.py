"""The recording of a session as text that people read and compare.

An answer that the same file has already is named, not repeated. JSON is broken into lines between
its tokens; no token is changed, since clients' data must come back character by character.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tests.transcript.session import Exchange

WIDTH: Final = 100
SHORT: Final = 30
"""Members of an object that are as short may be repeated."""

LARGEST: Final = 100_000
"""Answers that are larger are shown by length and hash, where not all is shown."""

LONGEST: Final = 2_000
"""Longer texts are shown by their beginning and length."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class Recording:
    """The text of a session, request by request."""

    def __init__(self, *, is_in_full: bool = False) -> None:
        """Begin an empty file.

        :param is_in_full: show answers of any length.
        """
        self._longest = sys.maxsize if is_in_full else LARGEST
        self._parts: list[str] = []
        self._known: dict[str, str] = {}
        self._names: set[str] = set()

    def add(self, exchange: Exchange, others: Sequence[Exchange] = ()) -> None:
        """Add a request with its answer.

        :param others: the same request by the aliases of its route.
        """
        step = exchange.step
        if step.name in self._names:
            raise ValueError(f"two requests are named {step.name!r}")
        self._names.add(step.name)
        lines = [f"## {step.name}", *_request(exchange), "", *self._answer(step.name, exchange)]
        for other in others:
            same = self._answered(other) == self._answered(exchange)
            lines += ["", f"by {other.path}: the same"] if same else ["", f"by {other.path}:"]
            if not same:
                lines += self._answer(f"{step.name}, by {other.path}", other)
        self._parts.append("\n".join(lines))

    def text(self) -> str:
        """Return the whole file."""
        return "\n\n\n".join(self._parts) + "\n"

    def _answer(self, name: str, exchange: Exchange) -> Iterable[str]:
        lines = self._answered(exchange)
        text = "\n".join(lines)
        if text in self._known:
            return [f"{exchange.status} as for: {self._known[text]}"]
        self._known[text] = name
        return lines

    def _answered(self, exchange: Exchange) -> list[str]:
        headers = [f"{name}: {value}" for name, value in sorted(exchange.answer_headers.items())]
        body = exchange.answer_body
        if len(body) <= self._longest:
            return [str(exchange.status), *headers, *shown(body)]
        digest = hashlib.sha256(body.encode()).hexdigest()
        return [str(exchange.status), *headers, f"({len(body)} characters, SHA-256 {digest})"]


def _request(exchange: Exchange) -> Iterator[str]:
    step = exchange.step
    if step.wait_s:
        yield f"(after {step.wait_s:g} s)"
    if step.tick:
        yield "(after the timer's function)"
    yield f"{step.method} {exchange.path}"
    for name, value in exchange.headers.items():
        if (name, value) != ("content-type", "application/openjobspec+json"):
            yield f"{name}: {value}"
    if step.key:
        yield f"authorization: <{step.key} key>"
    if exchange.body:
        yield from shown(exchange.body)


def shown(text: str) -> list[str]:
    """Return a body in lines: JSON by its structure, anything else as it stands.

    JSON that has spaces of its own is shown as it stands as well.
    """
    if not _is_json(text):
        return [line.rstrip() for line in _shortened(text).splitlines()]
    tokens = deque(_TOKEN.findall(text))
    as_it_stands = [f"raw: {_shortened(text)}"] if "".join(tokens) != text else []
    return [*_lines(_read(tokens), "", ""), *as_it_stands]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:80]}... ({len(text)} characters)"


@dataclass
class _Node:
    """An array or object of JSON as it was written, or a single token."""

    opening: str
    members: list[tuple[str, _Node]]
    closing: str

    @cached_property
    def flat(self) -> str:
        """All of it on one line."""
        return (
            self.opening + ", ".join(key + each.flat for key, each in self.members) + self.closing
        )


def _read(tokens: deque[str]) -> _Node:
    opening = tokens.popleft()
    if opening not in "{[":
        return _Node(_shortened(opening), [], "")
    members: list[tuple[str, _Node]] = []
    while tokens[0] not in "}]":
        key = ""
        if opening == "{":
            key = f"{tokens.popleft()}: "
            tokens.popleft()
        members.append((key, _read(tokens)))
        if tokens[0] == ",":
            tokens.popleft()
    return _Node(opening, members, tokens.popleft())


def _lines(node: _Node, indent: str, key: str) -> Iterator[str]:
    """Break what is longer than a line: as many members on each line as fit."""
    if len(indent) + len(key) + len(node.flat) <= WIDTH or not node.members:
        yield f"{indent}{key}{node.flat}"
        return
    yield f"{indent}{key}{node.opening}"
    indent += " "
    line = ""
    for name, member in _without_repetition(node):
        flat = f"{name}{member.flat},"
        if line and len(indent) + len(line) + len(flat) >= WIDTH:
            yield indent + line
            line = ""
        if len(indent) + len(flat) > WIDTH and member.members:
            yield from _lines(member, indent, name)
        else:
            line += f" {flat}" if line else flat
    if line:
        yield indent + line
    yield f"{indent[1:]}{node.closing}"


def _without_repetition(node: _Node) -> Iterator[tuple[str, _Node]]:
    """Yield the members; long ones that an object has twice are named, not repeated."""
    (first, job), *beside = node.members
    if first == '"job": ' and beside and job.members == beside[: len(job.members)]:
        yield first, job
        yield "", _Node("(the members of the job once more)", [], "")
        yield from beside[len(job.members) :]
        return
    known: dict[str, str] = {}
    for name, member in node.members:
        earlier = known.setdefault(member.flat, name)
        is_again = earlier != name and len(member.flat) > SHORT and node.opening == "{"
        yield name, _Node(f"(as {earlier[:-2]})", [], "") if is_again else member
