"""Condition expressions as trees of clauses, and the same expressions with one clause removed.

A removed clause stays in the text, so that every name and value is still used: a clause that has to
hold with others becomes ``(c OR NOT (c))``, one of several alternatives ``(c AND NOT (c))``. Only
the bounds of BETWEEN and the clauses of a key condition, which knows no OR, are really left out.

Formatted values of an f-string stand in the text as single characters of the private use area.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

FIRST_VALUE: Final = 0xE000
"""The character that stands for the first formatted value."""

_OPERAND: Final = r"(?:[#:]\w+|[\uE000-\uF8FF]|size\([^()]+\))"
_CLAUSE: Final = re.compile(
    rf"(?:attribute_(?:not_)?exists|begins_with|contains)\([^()]+\)"
    rf"|{_OPERAND} (?:=|<>|<=|>=|<|>) {_OPERAND}"
    rf"|{_OPERAND} BETWEEN {_OPERAND} AND {_OPERAND}"
    r"|#\w+ [\uE000-\uF8FF] :\w+"
)
_VALUE: Final = re.compile(r"[\uE000-\uF8FF]")
_WORD: Final = re.compile(r"\(|\)|\b(?:AND|OR|BETWEEN)\b")
_BETWEEN: Final = re.compile(rf"({_OPERAND}) BETWEEN ({_OPERAND}) AND ({_OPERAND})")


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression.

    :ivar joined: "AND" or "OR" between its parts; empty for a clause.
    :ivar begin: where it stands, parentheses of its own included.
    """

    joined: str
    begin: int
    end: int
    parts: tuple[Node, ...] = ()

    def leaves(self) -> Iterator[Node]:
        """Yield the clauses in it."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


@dataclass(frozen=True, slots=True)
class Removal:
    """An expression with one clause removed.

    :ivar what: the clause, and what was done to it.
    """

    what: str
    text: str


def parse(text: str) -> Node | None:
    """Return the tree of a condition expression; None for any other text."""
    node = _split(text, 0, len(text))
    leaves = list(node.leaves())
    clauses = [text[leaf.begin : leaf.end] for leaf in leaves]
    is_condition = any(_CLAUSE.fullmatch(clause) for clause in clauses) and all(
        _CLAUSE.fullmatch(clause) or _VALUE.fullmatch(clause) for clause in clauses
    )
    return node if is_condition else None


def _split(text: str, begin: int, end: int) -> Node:
    """Split at OR, then at AND, outside of parentheses."""
    begin, end = _stripped(text, begin, end)
    for joined in ("OR", "AND"):
        cuts = [at for at, word in _joints(text, begin, end) if word == joined]
        if cuts:
            starts = [begin, *(at + len(joined) for at in cuts)]
            parts = tuple(_split(text, *each) for each in zip(starts, [*cuts, end], strict=True))
            return Node(joined, begin, end, parts)
    if begin < end and text[begin] == "(":
        inner = _split(text, begin + 1, end - 1)
        return Node(inner.joined, begin, end, inner.parts)
    return Node("", begin, end)


def _stripped(text: str, begin: int, end: int) -> tuple[int, int]:
    part = text[begin:end]
    return begin + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _joints(text: str, begin: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield where AND and OR join what stands outside of parentheses."""
    depth, between = 0, 0
    for word in _WORD.finditer(text, begin, end):
        match word[0]:
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case "BETWEEN" if depth == 0:
                between += 1
            case "AND" if depth == 0 and between:
                between -= 1
            case "AND" | "OR" if depth == 0:
                yield word.start(), word[0]


def removals(text: str) -> Iterator[Removal]:
    """Yield a condition expression without each of its clauses; nothing for any other text."""
    if (root := parse(text)) is not None:
        yield from _removed(text, root, within="AND")


def _removed(text: str, node: Node, within: str) -> Iterator[Removal]:
    clause = text[node.begin : node.end]
    if node.joined != within:
        kept = clause if clause.startswith("(") and node.parts else f"({clause})"
        other = "OR" if within == "AND" else "AND"
        ignored = f"({kept} {other} NOT {kept})"
        yield Removal(
            f"{clause} {'need not hold' if within == 'AND' else 'is not enough'}",
            text[: node.begin] + ignored + text[node.end :],
        )
    yield from _bounds(text, node)
    for part in node.parts:
        yield from _removed(text, part, within=node.joined)


def _bounds(text: str, node: Node) -> Iterator[Removal]:
    """Yield BETWEEN without one of its bounds."""
    if not node.parts and (found := _BETWEEN.fullmatch(text[node.begin : node.end])):
        name, low, high = found.groups()
        for bound, left in ((low, f"{name} <= {high}"), (high, f"{name} >= {low}")):
            yield Removal(
                f"{found[0]} without {bound}", text[: node.begin] + left + text[node.end :]
            )


def key_removals(text: str) -> Iterator[Removal]:
    """Yield a key condition without each of its clauses but the partition's, which has to be."""
    begun = text.removeprefix(" AND ")
    root = parse(begun)
    if root is None:
        return
    if begun != text:  # it is added to a condition that stands elsewhere
        yield Removal(f"{begun} removed", "")
        for each in _bounds(begun, root):
            yield Removal(each.what, f" AND {each.text}")
        return
    for part in root.parts[1:]:
        first = root.parts[0]
        yield Removal(f"{text[part.begin : part.end]} removed", text[first.begin : first.end])
        yield from _bounds(text, part)
