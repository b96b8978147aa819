"""Write ojs_aws/client/sync.pyi, what type checkers and editors see of the synchronous client.

Each class has what sync.py says itself, and what the asynchronous class has, without ``await``.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from ojs_aws.client import sync
from ojs_aws.client.loop_thread import SIDES, Synchronous
from ojs_aws.client.single_jobs import Areas

STUB: Final = Path(sync.__file__).with_suffix(".pyi")
HEADER: Final = '"""Derived by scripts/sync_stub.py from the asynchronous classes: do not edit."""'

INNER: Final = frozenset({"transport", "ids", "timer"})
"""Options of the asynchronous client that are no use here."""


class Imports(ast.NodeTransformer):
    """Collects where the names of annotations come from, and names built-ins in full.

    A class with a method ``list`` could not say ``list[str]`` otherwise.
    """

    def __init__(self) -> None:
        self.lines = {"import builtins"}
        self.module: ModuleType

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Import the name, unless it is one of the synchronous classes."""
        if hasattr(builtins, node.id):
            is_hidden = any(hasattr(side, node.id) for side in SIDES.values())
            return ast.Attribute(ast.Name("builtins"), node.id) if is_hidden else node
        if node.id in {side.__name__ for side in SIDES.values()}:
            return node
        home = _homes(self.module).get(node.id, self.module.__name__)
        self.lines.add(f"from {home} import {node.id}")
        return node


def stub() -> str:
    """Return the text of the stub."""
    imports = Imports()
    classes = [_class(side, imports) for side in SIDES.values()]
    return "\n".join([HEADER, "", *sorted(imports.lines), "", *map(ast.unparse, classes), ""])


def _class(side: type[Synchronous], imports: Imports) -> ast.ClassDef:
    """Return a class with the signatures and docstrings of all its members."""
    own = _parsed(side)
    body: list[ast.stmt] = [own.body[0]]
    imports.module = sys.modules[side.of.__module__]
    named = set()
    for node in own.body[1:]:
        if isinstance(node, ast.FunctionDef):
            named.add(node.name)
            body.append(_declared(_with_options(node, side.of), imports))
    if issubclass(side.of, Areas):
        body += _areas()
    for method, module in _asynchronous(side.of):
        if method.name not in named:
            imports.module = module
            body.append(_declared(method, imports))
    own.bases, own.keywords, own.body = [], [], body
    return ast.fix_missing_locations(own)


def _asynchronous(kind: type) -> Iterator[tuple[ast.FunctionDef, ModuleType]]:
    """Yield the public coroutines and properties of a class, as functions, in their order."""
    for base in kind.__mro__[:-1]:
        for node in _parsed(base).body:
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name[0] != "_":
                is_property = bool(node.decorator_list) and "classmethod" not in _decorators(node)
                is_coroutine = inspect.iscoroutinefunction(getattr(base, node.name))
                if is_property or is_coroutine:
                    made = ast.FunctionDef(**dict(ast.iter_fields(node)))
                    yield made, sys.modules[base.__module__]


def _decorators(node: ast.AsyncFunctionDef | ast.FunctionDef) -> list[str]:
    return [ast.unparse(each) for each in node.decorator_list]


def _with_options(node: ast.FunctionDef, kind: type) -> ast.FunctionDef:
    """Return a method with the named parameters of the asynchronous one for its ``**options``."""
    if node.args.kwarg is None:
        return node
    theirs = next(each for each in _parsed(kind).body if getattr(each, "name", "") == node.name)
    assert isinstance(theirs, ast.FunctionDef)  # noqa: S101 - for the type checker
    for each, default in zip(theirs.args.kwonlyargs, theirs.args.kw_defaults, strict=True):
        if each.arg not in INNER:
            node.args.kwonlyargs.append(each)
            node.args.kw_defaults.append(default)
    node.args.kwarg = None
    return node


def _declared(node: ast.FunctionDef, imports: Imports) -> ast.FunctionDef:
    """Return a function with its docstring alone, and its annotations' names imported."""
    doc = [node.body[0]] if ast.get_docstring(node) else [ast.Expr(ast.Constant(...))]
    imports.visit(node.args)
    if node.returns is not None:
        node.returns = imports.visit(node.returns)
    node.body = [*doc]
    return node


def _areas() -> Iterator[ast.stmt]:
    """Yield the attributes of the areas, each with its docstring."""
    body = _parsed(Areas).body
    sides = {kind.__name__: side.__name__ for kind, side in SIDES.items()}
    for node, doc in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name):
            yield ast.AnnAssign(node.target, ast.Name(sides[node.annotation.id]), None, simple=1)
            yield doc


def _parsed(kind: type) -> ast.ClassDef:
    tree = ast.parse(Path(inspect.getfile(kind)).read_text(encoding="utf-8"))
    found = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == kind.__name__)
    return copy.deepcopy(found)


def _homes(module: ModuleType) -> dict[str, str]:
    """Return where a module imports its names from, also those for type checkers alone."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    return {
        alias.name: str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    print(f"Wrote {STUB.name}.")
