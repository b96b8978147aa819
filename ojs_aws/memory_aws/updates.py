"""Compiles update expressions: ``SET``, ``ADD`` and ``REMOVE`` as the adapters write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final, TypeAlias

from ojs_aws.memory_aws.expressions import (
    InvalidExpressionError,
    Operand,
    Parser,
    Placeholders,
    tokens_of,
)
from ojs_aws.memory_aws.items import Item, Value, number_text

Change: TypeAlias = Callable[[Item, Item, Placeholders], None]
"""Changes the second item, and reads the first one, which is the item as it was."""

Update: TypeAlias = Callable[[Item, Placeholders], Item]
"""Returns an item after an update."""

_SIGNS: Final[Mapping[str, int]] = {"+": 1, "-": -1}


@lru_cache(maxsize=4096)
def update(text: str) -> Update:
    """Return what an update expression does to an item.

    :raises InvalidExpressionError: it is not of the grammar, or names an attribute twice.
    """
    parser = _UpdateParser(tokens_of(text))
    changes = parser.sections()

    def apply(before: Item, given: Placeholders) -> Item:
        after = dict(before)
        for change in changes:
            change(before, after, given)
        return after

    return apply


class _UpdateParser(Parser):
    """Reads an update expression."""

    def sections(self) -> list[Change]:
        kinds = {"SET": self._set, "ADD": self._add, "REMOVE": self._remove}
        changes: list[Change] = []
        self._changed: set[str] = set()
        while self.peek():
            section = kinds.pop(self.take().upper(), None)
            if section is None:
                raise InvalidExpressionError(f"Syntax error at {self.peek()!r}")
            changes.append(section())
            while self.takes(","):
                changes.append(section())
        if not changes:
            raise InvalidExpressionError("The expression can not be empty")
        return changes

    def _target(self) -> str:
        name = self.placeholder("#")
        if name in self._changed:
            raise InvalidExpressionError(f"Two document paths overlap with each other: {name}")
        self._changed.add(name)
        return name

    def _set(self) -> Change:
        target = self._target()
        self.expect("=")
        value = self._operand()
        if self.peek() in _SIGNS:
            value = _sum(value, _SIGNS[self.take()], self._operand())

        def change(before: Item, after: Item, given: Placeholders) -> None:
            new = value(before, given)
            if new is None:
                raise InvalidExpressionError(
                    "The provided expression refers to an attribute that does not exist in the item"
                )
            after[given.name(target)] = new

        return change

    def _operand(self) -> Operand:
        if self.takes("if_not_exists"):
            self.expect("(")
            source = self.placeholder("#")
            self.expect(",")
            other = self._operand()
            self.expect(")")

            def present_or(item: Item, given: Placeholders) -> Value | None:
                present = item.get(given.name(source))
                return other(item, given) if present is None else present

            return present_or
        token = self.take()
        if token.startswith("#"):
            return lambda item, given: item.get(given.name(token))
        if token.startswith(":"):
            return lambda _, given: given.value(token)
        raise InvalidExpressionError(f"{token!r} is no operand")

    def _add(self) -> Change:
        target, amount = self._target(), self.placeholder(":")

        def change(before: Item, after: Item, given: Placeholders) -> None:
            name = given.name(target)
            after[name] = _added(before.get(name), given.value(amount))

        return change

    def _remove(self) -> Change:
        target = self._target()
        return lambda _, after, given: _pop(after, given.name(target))


def _pop(item: Item, name: str) -> None:
    item.pop(name, None)


def _sum(left: Operand, sign: int, right: Operand) -> Operand:
    def total(item: Item, given: Placeholders) -> Value | None:
        one, other = left(item, given), right(item, given)
        if one is None or other is None:
            return None
        if "N" not in one or "N" not in other:
            raise InvalidExpressionError(
                "An operand in the update expression has an incorrect data type"
            )
        return {"N": number_text(Decimal(one["N"]) + sign * Decimal(other["N"]))}

    return total


def _added(present: Value | None, amount: Value) -> Value:
    ((kind, more),) = amount.items()
    if kind not in {"N", "SS", "NS", "BS"}:
        raise InvalidExpressionError(f"ADD takes a number or a set, not {kind}")
    if present is None:
        return amount
    if kind not in present:
        raise InvalidExpressionError(
            "An operand in the update expression has an incorrect data type"
        )
    if kind == "N":
        return {"N": number_text(Decimal(present["N"]) + Decimal(more))}
    return {kind: [*present[kind], *[each for each in more if each not in present[kind]]]}
