"""Removes clauses of condition expressions, wherever a module spells one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, TypeGuard

from tests.mutation.clauses import FIRST_VALUE, key_removals, removals
from tests.mutation.mutants import Kind, Removal, Source

KEY_CONDITION: Final = "KeyConditionExpression"
QUERIES: Final = frozenset({"query", "pages", "items"})
"""Methods of the table whose first argument is a key condition."""


def condition_removals(source: Source) -> Iterator[Removal]:
    """Yield each clause of each condition expression of a module."""
    keys = _key_conditions(source)
    for node in ast.walk(source.tree):
        if not _is_whole_text(source, node):
            continue
        text, values = _template(node)
        found = key_removals(text) if _names_near(source, node) & keys else removals(text)
        for each in found:
            what = _shown(each.what, values)
            yield Removal(Kind.CLAUSE, what, node, _string(each.text, values))


def _is_whole_text(source: Source, node: ast.AST) -> bool:
    """Return whether a node is a text, and neither a docstring nor a piece of an f-string."""
    if isinstance(source.parents.get(node), ast.JoinedStr | ast.FormattedValue | ast.Expr):
        return False
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _template(node: ast.AST) -> tuple[str, list[ast.expr]]:
    """Return a text with a character for each formatted value, and the values."""
    if isinstance(node, ast.Constant):
        return str(node.value), []
    assert isinstance(node, ast.JoinedStr)
    text, values = "", list[ast.expr]()
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            text += chr(FIRST_VALUE + len(values))
            values.append(part)
        else:
            assert isinstance(part, ast.Constant)
            text += str(part.value)
    return text, values


def _string(text: str, values: list[ast.expr]) -> ast.expr:
    """Return the syntax tree of a template."""
    parts: list[ast.expr] = []
    plain = ""
    for character in text:
        at = ord(character) - FIRST_VALUE
        if 0 <= at < len(values):
            parts += [ast.Constant(plain), values[at]]
            plain = ""
        else:
            plain += character
    return ast.JoinedStr([*parts, ast.Constant(plain)]) if values else ast.Constant(text)


def _shown(text: str, values: list[ast.expr]) -> str:
    """Return a template as a reader would write it."""
    for at, value in enumerate(values):
        assert isinstance(value, ast.FormattedValue)
        text = text.replace(chr(FIRST_VALUE + at), f"{{{ast.unparse(value.value)}}}")
    return text


def _key_conditions(source: Source) -> set[tuple[str, str]]:
    """Return the variables of functions whose text becomes a key condition."""
    found = set[tuple[str, str]]()
    for node in ast.walk(source.tree):
        value: ast.AST | None = None
        if isinstance(node, ast.keyword) and node.arg == KEY_CONDITION:
            value = node.value
        elif _is_query(node):
            value = node.args[0]
        elif isinstance(node, ast.Dict):
            for key, each in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == KEY_CONDITION:
                    value = each
        if isinstance(value, ast.Name):
            found.add((source.function_of(value), value.id))
    return found | {("", KEY_CONDITION)}


def _is_query(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return whether a call runs a query of the table."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in QUERIES and bool(node.args)


def _names_near(source: Source, node: ast.AST) -> set[tuple[str, str]]:
    """Return the variables, and the argument or member, that a text is given to."""
    function, near, child = source.function_of(node), set[tuple[str, str]](), node
    while (parent := source.parents.get(child)) is not None:
        if _is_query(parent) and child is parent.args[0]:
            return near | {("", KEY_CONDITION)}
        if isinstance(parent, ast.keyword):
            return near | {("", parent.arg or "")}
        if isinstance(parent, ast.Dict):
            pairs = zip(parent.keys, parent.values, strict=True)
            keys = [key for key, value in pairs if value is child]
            return near | {("", str(k.value)) for k in keys if isinstance(k, ast.Constant)}
        if isinstance(parent, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in ast.walk(parent):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    near.add((function, target.id))
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    near.add(("", str(target.slice.value)))
            return near
        if isinstance(parent, ast.stmt | ast.Call):
            return near
        child = parent
    return near
