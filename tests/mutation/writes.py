"""Removes elements of transactions, and branches of the functions that put writes together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from tests.mutation.mutants import Kind, Removal, Source, functions

ACTIONS: Final = frozenset({"Put", "Update", "Delete", "ConditionCheck"})
CALLS: Final = frozenset(
    {"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item"}
)
_DEFAULT: Final = re.compile(r"if_not_exists\([#\w]+, (:\w+)\)")


def action_makers(sources: Iterable[Source]) -> frozenset[str]:
    """Return the names of functions that make one element of a transaction."""
    made = [
        (
            function.name,
            [
                each.value
                for each in ast.walk(function)
                if isinstance(each, ast.Return) and each.value is not None
            ],
        )
        for source in sources
        for function in functions(source.tree)
    ]
    found = frozenset[str]()
    for _ in range(2):  # those that call such a function are one, too
        found = frozenset(
            name
            for name, values in made
            if values and all(_is_action(value, found) for value in values)
        )
    return found


def _is_action(node: ast.AST, makers: frozenset[str]) -> bool:
    """Return whether an expression is one element of a transaction."""
    if isinstance(node, ast.Dict) and len(node.keys) == 1:
        key = node.keys[0]
        return isinstance(key, ast.Constant) and key.value in ACTIONS
    return isinstance(node, ast.Call) and _called(node) in makers


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def element_removals(source: Source, makers: frozenset[str]) -> Iterator[Removal]:
    """Yield each element of each transaction of a module."""
    for function in functions(source.tree):
        sent = _sent(function)
        several = _names_of_several(function, makers)
        for node in ast.walk(function):
            if isinstance(node, ast.ListComp) and _is_action(node.elt, makers):
                yield from _of_several(node)
            elif isinstance(node, ast.List) and _is_transaction(node, makers, several, sent):
                yield from _of_list(node)
            elif isinstance(node, ast.Expr) and _is_append(node.value, makers):
                yield Removal(Kind.ELEMENT, f"{ast.unparse(node)[:90]} removed", node, None)


def _of_several(node: ast.ListComp) -> Iterator[Removal]:
    for bounds, what in (
        (ast.Slice(upper=ast.Constant(1)), "only the first of"),
        (ast.Slice(lower=ast.Constant(1)), "all but the first of"),
    ):
        shorter = ast.Subscript(value=node, slice=bounds, ctx=ast.Load())
        yield Removal(Kind.ELEMENT, f"{what} {_short(node)}", node, shorter)


def _of_list(node: ast.List) -> Iterator[Removal]:
    for at, element in enumerate(node.elts):
        fewer = ast.List(elts=[*node.elts[:at], *node.elts[at + 1 :]], ctx=ast.Load())
        yield Removal(Kind.ELEMENT, f"{_short(element)} removed", node, fewer)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else f"{text[:87]}..."


def _is_transaction(
    node: ast.List, makers: frozenset[str], several: frozenset[str], sent: frozenset[ast.AST]
) -> bool:
    """Return whether a list display is the elements of a transaction."""
    for element in node.elts:
        if _is_action(element, makers):
            return True
        if isinstance(element, ast.Starred):
            name = element.value.id if isinstance(element.value, ast.Name) else ""
            if node in sent or name in several:
                return True
    return False


def _sent(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[ast.AST]:
    """Return what a function sends as a transaction, directly or by way of variables."""
    values = {node.arg: node.value for node in ast.walk(function) if isinstance(node, ast.keyword)}
    found = [values["TransactItems"]] if "TransactItems" in values else []
    found += [each.args[0] for each in _calls(function, {"transact_write_items"}) if each.args]
    for each in found:
        if isinstance(each, ast.Name):
            found += [
                node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign | ast.AnnAssign)
                and node.value is not None
                and each.id in _stored(node)
                and node.value not in found
            ]
    return frozenset(found)


def _stored(node: ast.AST) -> set[str]:
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}


def _names_of_several(
    function: ast.FunctionDef | ast.AsyncFunctionDef, makers: frozenset[str]
) -> frozenset[str]:
    """Return the variables that hold lists of elements."""
    return frozenset(
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.ListComp)
        and _is_action(node.value.elt, makers)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _is_append(node: ast.expr, makers: frozenset[str]) -> bool:
    return (
        isinstance(node, ast.Call)
        and _called(node) == "append"
        and any(_is_action(each, makers) for each in node.args)
    )


def _calls(function: ast.AST, names: Iterable[str]) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _called(node) in names:
            yield node


# ------------------------------------------------------------------------------------- branches
def update_branches(source: Source) -> Iterator[Removal]:
    """Yield the branches of each function that puts a write together or sends one."""
    for function in functions(source.tree):
        if _writes(function):
            yield from branch_removals(function)
            yield from _defaults(function)


def _defaults(function: ast.AST) -> Iterator[Removal]:
    """Yield what is only written where an attribute is absent, written in any case."""
    for node in ast.walk(function):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and "if_not_exists(" in text:
            plain = ast.Constant(value=_DEFAULT.sub(r"\1", text))
            yield Removal(Kind.BRANCH, f"{text} in any case", node, plain)
        elif isinstance(node, ast.Call) and _called(node) == "set_if_absent":
            assert isinstance(node.func, ast.Attribute)
            name, _, value = node.args
            plainly = ast.Call(
                func=ast.Attribute(value=node.func.value, attr="set", ctx=ast.Load()),
                args=[name, value],
                keywords=[],
            )
            yield Removal(Kind.BRANCH, f"{_short(node)} in any case", node, plainly)


def _writes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    if any(each.annotation and ast.unparse(each.annotation) == "Update" for each in arguments):
        return True
    return any(_calls(function, {*CALLS, "Update"})) or any(
        _is_action(node, frozenset()) or _is_new_attribute(node) for node in ast.walk(function)
    )


def _is_new_attribute(node: ast.AST) -> bool:
    """Return whether a statement gives an item an attribute."""
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id == "item"
        for target in node.targets
    )


def branch_removals(function: ast.AST, kind: Kind = Kind.BRANCH) -> Iterator[Removal]:
    """Yield each branch of a function, removed; of transitions also what one depends on."""
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            test = f"if {_short(node.test)}"
            yield Removal(kind, f"{test}: never", node.test, ast.Constant(value=False), node.body)
            if node.orelse or kind is Kind.TRANSITION:
                whole, others = ast.Constant(value=True), node.orelse or None
                yield Removal(kind, f"{test}: always", node.test, whole, others)
        elif isinstance(node, ast.IfExp):
            yield Removal(kind, f"{_short(node)}: never", node.test, ast.Constant(value=False))
            yield Removal(kind, f"{_short(node)}: always", node.test, ast.Constant(value=True))
        elif isinstance(node, ast.match_case) and node.guard is None:
            yield Removal(
                kind,
                f"case {_short(node.pattern)}: never",
                node,
                ast.match_case(node.pattern, ast.Constant(value=False), node.body),
                node.body,
            )
