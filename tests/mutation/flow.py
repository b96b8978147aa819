"""Removes handlers of exceptions, and what the transitions of jobs consist of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.mutation.mutants import Kind, Removal, Source, functions
from tests.mutation.writes import branch_removals

TABLE: Final = "TRANSITIONS"
MOVE: Final = "_moved"
GUARD: Final = "require"

_NOTHING: Final = ast.Tuple(elts=[], ctx=ast.Load())
"""What a handler catches that was removed; handlers beside it, ``else`` and ``finally`` stay."""


def except_removals(source: Source) -> Iterator[Removal]:
    """Yield each exception that a module catches."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ExceptHandler) or node.type is None:
            continue
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        for each in caught:
            others: ast.expr = _NOTHING
            if len(caught) > 1:
                left = [other for other in caught if other is not each]
                others = ast.Tuple(elts=left, ctx=ast.Load())
            what = f"except {ast.unparse(each)}"
            handler = ast.ExceptHandler(type=others, name=node.name, body=node.body)
            yield Removal(Kind.EXCEPT, what, node, handler, node.body)


def transition_removals(source: Source) -> Iterator[Removal]:
    """Yield what the module of transitions says of each: its row, guard, branch and change."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == TABLE:
            yield from _rows(node)
    for function in functions(source.tree):
        yield from branch_removals(function, Kind.TRANSITION)
        for node in ast.walk(function):
            if isinstance(node, ast.Expr) and _is_call(node.value, GUARD):
                yield Removal(Kind.TRANSITION, f"{ast.unparse(node)} removed", node, None)
            elif isinstance(node, ast.Call) and _is_call(node, MOVE):
                yield from _changes(node)
            elif isinstance(node, ast.BoolOp):
                yield from _operands(node)


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _rows(table: ast.AnnAssign) -> Iterator[Removal]:
    for node in ast.walk(table):
        if isinstance(node, ast.Set):
            for at, row in enumerate(node.elts):
                fewer = ast.Set(elts=[*node.elts[:at], *node.elts[at + 1 :]])
                yield Removal(Kind.TRANSITION, f"{ast.unparse(row)} removed", node, fewer)


def _changes(call: ast.Call) -> Iterator[Removal]:
    """Yield a transition without each attribute that it changes, and none at all."""
    moved = " ".join(ast.unparse(each) for each in call.args[:2])
    yield Removal(Kind.TRANSITION, f"{moved}: not at all", call, call.args[0])
    for at, keyword in enumerate(call.keywords):
        fewer = ast.Call(
            func=call.func,
            args=call.args,
            keywords=[*call.keywords[:at], *call.keywords[at + 1 :]],
        )
        what = ast.unparse(keyword)
        yield Removal(Kind.TRANSITION, f"{moved} without {what}", call, fewer)


def _operands(node: ast.BoolOp) -> Iterator[Removal]:
    """Yield a decision without each of the reasons for it."""
    whole = ast.unparse(node)
    for at, operand in enumerate(node.values):
        left = [*node.values[:at], *node.values[at + 1 :]]
        fewer = left[0] if len(left) == 1 else ast.BoolOp(op=node.op, values=left)
        yield Removal(Kind.TRANSITION, f"{whole} without {ast.unparse(operand)}", node, fewer)
