"""Changes decisions: comparisons, bounds, conditions that are joined, and guards.

What only serves a type checker, a message or a log is left alone: nobody would miss it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.mutation.mutants import Kind, Removal, Source, functions

_OTHER: Final[dict[type[ast.cmpop], ast.cmpop]] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
}
_COUNTS: Final = frozenset({"len", "sum"})
_CONSTANT: Final = re.compile(r"[A-Z][A-Z_]+")
_EXCHANGED: Final = {"min": "max", "max": "min"}
_LEAVES: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TYPES: Final = frozenset({"isinstance", "issubclass", "callable", "hasattr"})
_TEXTS: Final = re.compile(r"__(repr|str)__$|(^|_)(message|messages|text|hint|wording|sentence)$")
"""The names of functions that only put words together."""
_WORDS: Final = (ast.JoinedStr, ast.Raise, ast.Assert)
_LOG: Final = re.compile(r"(^|\.)_?(log|logger|LOG|LOGGER)\.\w+$")


def decision_removals(source: Source) -> Iterator[Removal]:
    """Yield the decisions of each function of a module."""
    for function in functions(source.tree):
        if not _TEXTS.search(function.name):
            for node in _deciding(function):
                yield from _of(node, source.parents)


def _deciding(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that may decide something: no words, assertions or types."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _WORDS) and not _is_log(child) and not _only_logs(child):
            yield child
            yield from _deciding(child)


def _is_log(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bool(_LOG.search(ast.unparse(node.func)))


def _only_logs(node: ast.AST) -> bool:
    """Return whether a condition decides on nothing but a log record."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and all(isinstance(each, ast.Expr) and _is_log(each.value) for each in node.body)
    )


def _of(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> Iterator[Removal]:
    match node:
        case ast.Compare():
            is_weaker = _is_joined(parents[node], parents) or _is_whole_guard(node, parents)
            if not _is_budget(node) or _refuses(node, parents):
                yield from _comparisons(node, is_weaker)
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            other = ast.Call(ast.Name(_EXCHANGED[name], ast.Load()), node.args, node.keywords)
            yield Removal(Kind.BOUND, f"{_short(node)} exchanged", node, other)
        case ast.BoolOp() if _is_joined(node, parents):
            yield from _operands(node)
        case ast.If() if _is_guard(node):
            yield from _guards(node)


def _comparisons(node: ast.Compare, is_weaker: bool) -> Iterator[Removal]:
    """Yield a comparison with its bound moved, or the other way round.

    :param is_weaker: whoever notices that it is dropped, or the guard, notices that it is reversed.
    """
    for at, operator in enumerate(node.ops):
        is_equality = isinstance(operator, ast.Eq | ast.NotEq)
        other = _OTHER.get(type(operator))
        if other is None or (is_equality and is_weaker):
            continue
        changed = [*node.ops[:at], other, *node.ops[at + 1 :]]
        instead = ast.Compare(node.left, changed, node.comparators)
        what = f"{_short(node)} as {_short(instead)}"
        yield Removal(Kind.COMPARISON, what, node, instead)


def _is_budget(node: ast.Compare) -> bool:
    """Return whether a comparison asks if there is room or time for more: the exact end is free."""
    sides = [node.left, *node.comparators]
    counts = any(isinstance(each, ast.Call) and _called(each) in _COUNTS for each in sides)
    names = [ast.unparse(each) for each in sides]
    return (counts and any(_CONSTANT.fullmatch(each) for each in names)) or "ends_at" in names


def _refuses(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether a comparison decides on an error: then its exact end is promised."""
    at = node
    while not isinstance(at, ast.stmt):
        at = parents[at]
    return isinstance(at, ast.If) and isinstance(at.body[-1], ast.Raise)


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _is_joined(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether a node joins conditions, instead of naming a default or a part of a value."""
    if not isinstance(node, ast.BoolOp):
        return False
    if any(_is_plain_condition(each) for each in node.values):
        return True
    parent = parents[node]
    if isinstance(parent, ast.If | ast.IfExp | ast.While):
        return parent.test is node
    if isinstance(parent, ast.comprehension):
        return node in parent.ifs
    return isinstance(parent, ast.UnaryOp) or _is_joined(parent, parents)


def _is_plain_condition(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _operands(node: ast.BoolOp) -> Iterator[Removal]:
    """Yield conditions that are joined, without each of them."""
    for at, operand in enumerate(node.values):
        names_something = any(isinstance(each, ast.NamedExpr) for each in ast.walk(operand))
        left = [*node.values[:at], *node.values[at + 1 :]]
        if names_something or _only_serves_types(operand) or _is_used_by(operand, left):
            continue
        fewer = left[0] if len(left) == 1 else ast.BoolOp(op=node.op, values=left)
        yield Removal(Kind.CONDITION, f"{_short(node)} without {_short(operand)}", node, fewer)


def _is_used_by(operand: ast.expr, others: Sequence[ast.expr]) -> bool:
    """Return whether an operand asks if something is there that others use."""
    if not isinstance(operand, ast.Name | ast.Attribute):
        return False
    same = ast.dump(operand)
    return any(ast.dump(each) == same for other in others for each in ast.walk(other))


def _is_guard(node: ast.If) -> bool:
    return isinstance(node.body[-1], _LEAVES) and not node.orelse


def _is_whole_guard(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    parent = parents[node]
    return isinstance(parent, ast.If) and parent.test is node and _is_guard(parent)


def _guards(node: ast.If) -> Iterator[Removal]:
    is_alternative = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or)
    if is_alternative or _only_serves_types(node.test) or _is_shortcut(node):
        return  # whoever notices that an alternative is dropped notices the guard
    test, never = f"if {_short(node.test)}", ast.Constant(value=False)
    yield Removal(Kind.GUARD, f"{test}: never", node.test, never, node.body)


def _is_shortcut(node: ast.If) -> bool:
    """Return whether a guard only saves the work for what is empty."""
    if not (isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)):
        return False
    match node.body:
        case [ast.Continue() | ast.Return(value=None | ast.Constant() | ast.Name())]:
            return True
        case [ast.Return(value=ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]))]:
            return True
    return False


def _only_serves_types(node: ast.expr) -> bool:
    """Return whether a condition asks for the type of something, or whether it is there."""
    match node:
        case ast.UnaryOp(op=ast.Not()):
            return _only_serves_types(node.operand)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in _TYPES
    return False


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else f"{text[:87]}..."
