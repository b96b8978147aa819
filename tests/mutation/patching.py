"""Changes the code of this process: one mutant in place, or a note wherever one would matter.

Functions get another ``__code__``, so that whoever has imported them has the changed ones. There is
no way back: this is done in processes that end afterwards.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from tests.mutation.mutants import Kind, Mutant, Source, functions
from tests.mutation.rows import leave_out, note_rows

NOTE: Final = "__mutation_note__"


class PatchError(Exception):
    """A mutant cannot be put in place: the tool has to learn how."""


def apply(source: Source, mutant: Mutant) -> None:
    """Put a mutant in place."""
    if mutant.removal.kind is Kind.ROW:
        leave_out(mutant)
        return
    tree = mutated(source, mutant)
    module = importlib.import_module(mutant.module)
    code = compile(tree, str(source.path), "exec")
    _drop_unused_placeholders()
    if mutant.function:
        _replace(module, mutant.function, _codes(code)[mutant.function])
        return
    statement = _statement_of(source, mutant.removal.node)
    one = ast.fix_missing_locations(ast.Module(body=[_changed(statement, mutant)], type_ignores=[]))
    before = {name: vars(module).get(name) for name in _targets(statement)}
    exec(compile(one, str(source.path), "exec"), vars(module))  # noqa: S102 - our own code
    for name, old in before.items():
        _rebind(name, old, vars(module)[name])


def mutated(source: Source, mutant: Mutant) -> ast.Module:
    """Return the tree of the module with the removal in it; the source's own tree is used up."""
    tree: ast.Module = _Swap({mutant.removal.node: mutant.removal.instead}).visit(source.tree)
    return ast.fix_missing_locations(tree)


class _Swap(ast.NodeTransformer):
    """Puts other nodes in the places of some."""

    def __init__(self, instead: Mapping[ast.AST, ast.AST | None]) -> None:
        self._instead = instead

    def visit(self, node: ast.AST) -> Any:
        if node in self._instead:
            other = self._instead[node]
            return ast.copy_location(ast.Pass() if other is None else other, node)
        return self.generic_visit(node)


def _changed(statement: ast.stmt, mutant: Mutant) -> ast.stmt:
    changed: ast.stmt = _Swap({mutant.removal.node: mutant.removal.instead}).visit(statement)
    return changed


def constants_of(source: Source, mutant: Mutant) -> list[str]:
    """Return the module's constants that a mutant changes; empty where it changes a function."""
    if mutant.function or mutant.removal.kind is Kind.ROW:
        return []
    return _targets(_statement_of(source, mutant.removal.node))


def _statement_of(source: Source, node: ast.AST) -> ast.stmt:
    """Return the statement of the module that a node stands in."""
    at = node
    while (parent := source.parents[at]) is not source.tree:
        at = parent
    assert isinstance(at, ast.stmt)
    return at


def _targets(statement: ast.stmt) -> list[str]:
    return [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _rebind(name: str, old: object, new: object) -> None:
    """Give whoever has imported a constant the other one."""
    for module in [*sys.modules.values()]:
        ours = getattr(module, "__name__", "").startswith(("ojs_aws", "tests"))
        if ours and vars(module).get(name) is old:
            setattr(module, name, new)


def _codes(code: CodeType, prefix: str = "") -> dict[str, CodeType]:
    """Return the code of each outermost function of a module, methods included."""
    found: dict[str, CodeType] = {}
    for each in code.co_consts:
        if not isinstance(each, CodeType):
            continue
        name = f"{prefix}{each.co_name}"
        if each.co_flags & inspect.CO_NEWLOCALS:
            found[name] = each
        else:
            found |= _codes(each, f"{name}.")
    return found


def _replace(module: ModuleType, name: str, code: CodeType) -> None:
    """Give a function of a module another code."""
    try:
        found: Any = functools.reduce(_member, name.split("."), module)
        function = _plain(found)
    except (AttributeError, KeyError) as problem:
        raise PatchError(f"{module.__name__}:{name} is not to be found") from problem
    if not isinstance(function, FunctionType):
        raise PatchError(f"{module.__name__}:{name} is a {type(function).__name__}")
    function.__code__ = code


def _member(owner: Any, name: str) -> Any:
    return vars(owner)[name]


def _plain(found: Any) -> Any:
    """Return the function under its decorators."""
    for attribute in ("fget", "func", "__func__"):
        found = getattr(found, attribute, found)
    return inspect.unwrap(found)


# ---------------------------------------------------------------------------------- placeholders
def _drop_unused_placeholders() -> None:
    """Let no request name what a removal leaves unused: DynamoDB would refuse that by itself."""
    import botocore.client

    original = botocore.client.BaseClient._make_api_call  # type: ignore[attr-defined]

    def call(self: Any, operation: str, request: dict[str, Any]) -> Any:
        _prune(request)
        for action in request.get("TransactItems", ()):
            for part in action.values():
                _prune(part)
        return original(self, operation, request)

    botocore.client.BaseClient._make_api_call = call  # type: ignore[attr-defined]


def _prune(request: dict[str, Any]) -> None:
    text = " ".join(
        value
        for name, value in request.items()
        if name.endswith("Expression") and isinstance(value, str)
    )
    used = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
    for name in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        if given := request.get(name):
            left = {key: value for key, value in given.items() if key in used}
            if left:
                request[name] = left
            else:
                del request[name]


# ------------------------------------------------------------------------------------ notes
@dataclass(frozen=True, slots=True)
class Notes:
    """Holds code that notes which places of mutants run; it is made once, for many processes.

    :ivar codes: of the functions, by their modules and names.
    :ivar rows: mutants that leave a row out, with their numbers.
    """

    codes: Mapping[tuple[str, str], CodeType]
    rows: Sequence[tuple[int, Mutant]]

    def install(self, reached: set[int]) -> None:
        """Let every place of a mutant add its number to a set when it runs."""

        def note(value: object, *numbers: int) -> object:
            reached.update(numbers)
            return value

        setattr(builtins, NOTE, note)
        for (module, function), code in self.codes.items():
            _replace(importlib.import_module(module), function, code)
        note_rows(self.rows, reached)  # the last, as it puts other functions in the places of two


def notes_of(sources: Iterable[Source], mutants: Iterable[tuple[int, Mutant]]) -> Notes:
    """Return what notes the numbers of mutants; the sources' trees are used up."""
    by_module: dict[str, list[tuple[int, Mutant]]] = {}
    rows: list[tuple[int, Mutant]] = []
    for number, mutant in mutants:
        is_row = mutant.removal.kind is Kind.ROW
        (rows if is_row else by_module.setdefault(mutant.module, [])).append((number, mutant))
    codes: dict[tuple[str, str], CodeType] = {}
    for source in sources:
        if here := by_module.get(source.module):
            codes |= {(source.module, name): code for name, code in _noting(source, here)}
    return Notes(codes, rows)


def _noting(
    source: Source, mutants: Sequence[tuple[int, Mutant]]
) -> Iterator[tuple[str, CodeType]]:
    """Yield the functions of a module that have mutants, with the code that notes them."""
    bodies: dict[int, tuple[list[ast.stmt], list[int]]] = {}
    nodes: dict[ast.AST, list[int]] = {}
    for number, mutant in mutants:
        body = mutant.removal.reached
        if body is not None:
            bodies.setdefault(id(body), (body, []))[1].append(number)
            continue
        for node in _noted(source, mutant):
            nodes.setdefault(node, []).append(number)
    for body, numbers in bodies.values():
        body.insert(0, ast.Expr(_note(ast.Constant(value=None), numbers)))
    wanted = {mutant.function for _, mutant in mutants} | _users(source, mutants)
    tree = ast.fix_missing_locations(_Noting(nodes).visit(source.tree))
    codes = _codes(compile(tree, str(source.path), "exec"))
    for name in wanted - {""}:
        yield name, codes[name]


def _noted(source: Source, mutant: Mutant) -> Iterator[ast.AST]:
    """Yield what runs where a mutant matters: for a constant of the module, wherever it is used."""
    if mutant.function:
        yield mutant.removal.node
        return
    names = _targets(_statement_of(source, mutant.removal.node))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            yield node


def _users(source: Source, mutants: Sequence[tuple[int, Mutant]]) -> set[str]:
    """Return the functions that use what mutants change in constants."""
    names = {
        name
        for _, mutant in mutants
        if not mutant.function
        for name in _targets(_statement_of(source, mutant.removal.node))
    }
    return {
        ".".join(filter(None, (source.function_of(function),)))
        for function in functions(source.tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id in names
    }


class _Noting(ast.NodeTransformer):
    """Wraps expressions, and puts a note before statements."""

    def __init__(self, nodes: Mapping[ast.AST, list[int]]) -> None:
        self._nodes = nodes

    def visit(self, node: ast.AST) -> Any:
        numbers = self._nodes.get(node)
        after = self.generic_visit(node)
        if numbers is None:
            return after
        if isinstance(after, ast.stmt):
            return [ast.Expr(_note(ast.Constant(value=None), numbers)), after]
        assert isinstance(after, ast.expr), ast.dump(after)
        return _note(after, numbers)


def _note(value: ast.expr, numbers: Iterable[int]) -> ast.Call:
    return ast.Call(
        func=ast.Name(id=NOTE, ctx=ast.Load()),
        args=[value, *(ast.Constant(value=number) for number in numbers)],
        keywords=[],
    )
