"""Compiles condition and projection expressions: the grammar that the adapters use, and no more.

Attributes and values are named by placeholders (``#name``, ``:value``). What else DynamoDB knows
(document paths, ``IN``, ``list_append``, ...) is refused, so that nobody relies on what is not
compared with DynamoDB.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from ojs_aws.memory_aws.items import (
    Item,
    Value,
    begins_with,
    comparable,
    contains,
    is_equal,
    measured,
    order_of,
)

_TOKEN: Final = re.compile(r"\s*([#:]?\w+|<=|>=|<>|[=<>(),+-])")
COMPARISONS: Final[Mapping[str, Callable[[int], bool]]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class InvalidExpressionError(Exception):
    """Reports an expression that is refused; the message says why."""


@dataclass(frozen=True, slots=True)
class Placeholders:
    """Holds what the placeholders of a request stand for."""

    names: Mapping[str, str]
    values: Mapping[str, Value]

    def name(self, placeholder: str) -> str:
        """Return the attribute behind ``#name``.

        :raises InvalidExpressionError: the request does not say.
        """
        try:
            return self.names[placeholder]
        except KeyError:
            raise InvalidExpressionError(f"{placeholder} is no name of the request") from None

    def value(self, placeholder: str) -> Value:
        """Return the value behind ``:value``.

        :raises InvalidExpressionError: the request does not say.
        """
        try:
            return self.values[placeholder]
        except KeyError:
            raise InvalidExpressionError(f"{placeholder} is no value of the request") from None

    def check_used(self, texts: Sequence[str]) -> None:
        """Refuse placeholders that no expression uses, and those that stand for nothing.

        :raises InvalidExpressionError: there is one.
        """
        used = frozenset[str]().union(*map(placeholders_in, texts))
        given = {*self.names, *self.values}
        if used != given:
            odd = ", ".join(sorted(used ^ given))
            raise InvalidExpressionError(f"Unused in expressions, or not defined: {odd}")


Operand: TypeAlias = Callable[[Item, Placeholders], Value | None]
Condition: TypeAlias = Callable[[Item, Placeholders], bool]


@lru_cache(maxsize=4096)
def placeholders_in(text: str) -> frozenset[str]:
    """Return the placeholders that an expression uses."""
    return frozenset(each for each in tokens_of(text) if each[0] in "#:")


@lru_cache(maxsize=4096)
def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words of an expression.

    :raises InvalidExpressionError: something in it is no word.
    """
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidExpressionError(f"Syntax error at {text[at:]!r}")
        found.append(match[1])
        at = match.end()
    return tuple(found)


@lru_cache(maxsize=4096)
def condition(text: str) -> Condition:
    """Return the test that a condition expression describes.

    :raises InvalidExpressionError: it is not of the grammar.
    """
    parser = _ConditionParser(tokens_of(text))
    test = parser.alternatives()
    parser.end()
    return test


def projection(text: str, placeholders: Placeholders) -> list[str]:
    """Return the attributes that a projection expression names.

    :raises InvalidExpressionError: it is not of the grammar.
    """
    parts = tokens_of(text)
    if any(each != "," for each in parts[1::2]) or len(parts) % 2 == 0:
        raise InvalidExpressionError(f"Syntax error in the projection {text!r}")
    return [placeholders.name(each) for each in parts[::2]]


class Parser:
    """Reads the words of an expression one after the other."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """Begin at the first word."""
        self._tokens = tokens
        self._at = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the next word; an empty text at the end."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def take(self) -> str:
        """Return the next word, and go on behind it."""
        token = self.peek()
        self._at += 1
        return token

    def takes(self, word: str) -> bool:
        """Go on behind the next word if it is this one; return whether it is."""
        if self.peek().upper() != word.upper():
            return False
        self._at += 1
        return True

    def expect(self, word: str) -> None:
        """Continue after this word.

        :raises InvalidExpressionError: the next one is another.
        """
        if not self.takes(word):
            raise InvalidExpressionError(f"Syntax error: {word} instead of {self.peek()!r}")

    def end(self) -> None:
        """Check that there is no word left.

        :raises InvalidExpressionError: there is one.
        """
        if self.peek():
            raise InvalidExpressionError(f"Syntax error at {self.peek()!r}")

    def placeholder(self, kind: str) -> str:
        """Return the next word, which names an attribute (``#``) or a value (``:``).

        :raises InvalidExpressionError: it does not.
        """
        token = self.take()
        if not token.startswith(kind):
            raise InvalidExpressionError(f"{token!r} is no placeholder that begins with {kind}")
        return token


class _ConditionParser(Parser):
    """Reads a condition expression."""

    def alternatives(self) -> Condition:
        tests = [self._all()]
        while self.takes("OR"):
            tests.append(self._all())
        if len(tests) == 1:
            return tests[0]
        return lambda item, given: any(test(item, given) for test in tests)

    def _all(self) -> Condition:
        tests = [self._one()]
        while self.takes("AND"):
            tests.append(self._one())
        if len(tests) == 1:
            return tests[0]
        return lambda item, given: all(test(item, given) for test in tests)

    def _one(self) -> Condition:
        if self.takes("NOT"):
            test = self._one()
            return lambda item, given: not test(item, given)
        if self.peek() == "(":
            return self._group()
        if self.peek(1) == "(" and self.peek() != "size":
            return self._function()
        return self._comparison()

    def _group(self) -> Condition:
        self.expect("(")
        begin = self._at
        test = self.alternatives()
        if self._tokens[begin] == "(" and self._closes(begin) == self._at - 1:
            raise InvalidExpressionError("The expression has redundant parentheses")
        self.expect(")")
        return test

    def _closes(self, begin: int) -> int:
        depth = 0
        for at in range(begin, len(self._tokens)):
            depth += {"(": 1, ")": -1}.get(self._tokens[at], 0)
            if depth == 0:
                return at
        return -1

    def _function(self) -> Condition:
        name = self.take()
        self.expect("(")
        attribute = self.placeholder("#")
        if name in {"attribute_exists", "attribute_not_exists"}:
            self.expect(")")
            wanted = name == "attribute_exists"
            return lambda item, given: (given.name(attribute) in item) is wanted
        if name not in {"begins_with", "contains"}:
            raise InvalidExpressionError(f"Invalid function name; function: {name}")
        self.expect(",")
        value = self._operand()
        self.expect(")")
        test = begins_with if name == "begins_with" else contains
        return lambda item, given: test(item.get(given.name(attribute)), value(item, given))

    def _comparison(self) -> Condition:
        left = self._operand()
        if self.takes("BETWEEN"):
            low = self._operand()
            self.expect("AND")
            return _between(left, low, self._operand())
        operator = self.take()
        right = self._operand()
        if operator == "=":
            return lambda item, given: is_equal(left(item, given), right(item, given))
        if operator == "<>":
            return lambda item, given: not is_equal(left(item, given), right(item, given))
        if operator not in COMPARISONS:
            raise InvalidExpressionError(f"Syntax error: {operator!r} is no operator")
        return _ordered(left, COMPARISONS[operator], right)

    def _operand(self) -> Operand:
        if self.takes("size"):
            self.expect("(")
            attribute = self.placeholder("#")
            self.expect(")")
            return lambda item, given: measured(item.get(given.name(attribute)))
        token = self.take()
        if token.startswith("#"):
            return lambda item, given: item.get(given.name(token))
        if token.startswith(":"):
            return lambda _, given: given.value(token)
        raise InvalidExpressionError(f"{token!r} is no operand")


def _ordered(left: Operand, holds: Callable[[int], bool], right: Operand) -> Condition:
    def test(item: Item, given: Placeholders) -> bool:
        order = order_of(comparable(left(item, given)), comparable(right(item, given)))
        return order is not None and holds(order)

    return test


def _between(operand: Operand, low: Operand, high: Operand) -> Condition:
    def test(item: Item, given: Placeholders) -> bool:
        least, most = comparable(low(item, given)), comparable(high(item, given))
        if (order_of(least, most) or 0) > 0:
            raise InvalidExpressionError(
                "The BETWEEN operator requires upper bound to be greater than or equal to lower"
            )
        value = operand(item, given)
        below, above = order_of(value, least), order_of(value, most)
        return below is not None and above is not None and below >= 0 >= above

    return test
