"""What the tool removes: a node of a module's syntax tree, and what stands there instead."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]


class Kind(StrEnum):
    """What is removed."""

    CLAUSE = "clause"
    ELEMENT = "element"
    BRANCH = "branch"
    TRANSITION = "transition"
    EXCEPT = "except"
    ROW = "row"
    COMPARISON = "comparison"
    BOUND = "bound"
    CONDITION = "condition"
    GUARD = "guard"


DECISIONS: Final = frozenset({Kind.COMPARISON, Kind.BOUND, Kind.CONDITION, Kind.GUARD})
"""What a module decides by itself, without the table's help."""


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that an operator would remove.

    :ivar node: what changes in the tree: an expression, a statement or the handler of an exception.
    :ivar instead: what stands there then; None removes a statement.
    :ivar reached: the body that only runs where the removal matters; None: wherever the node runs.
    """

    kind: Kind
    what: str
    node: ast.AST
    instead: ast.AST | None
    reached: list[ast.stmt] | None = None


@dataclass(frozen=True, slots=True)
class Mutant:
    """One removal in one place.

    :ivar id: the same from one version of the file to the next, as long as the text is the same.
    :ivar function: dotted name of the outermost function; empty for the module's own statements.
    """

    id: str
    module: str
    function: str
    line: int
    removal: Removal


@dataclass(frozen=True, slots=True)
class Source:
    """A module and its syntax tree.

    :ivar parents: the node that each node stands in.
    """

    path: Path
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(repr=False)

    @property
    def module(self) -> str:
        """The module's dotted name."""
        parts = self.path.relative_to(CHECKOUT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def function_of(self, node: ast.AST) -> str:
        """Return the dotted name of the outermost function around a node."""
        names: list[str] = []
        at: ast.AST | None = node
        while at is not None:
            if isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [at.name]
            elif isinstance(at, ast.ClassDef) and names:
                names.insert(0, at.name)
            at = self.parents.get(at)
        return ".".join(names)


def path_of(module: str) -> Path:
    """Return the file of a module."""
    folder = CHECKOUT.joinpath(*module.split("."))
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def read_source(path: Path, text: str | None = None) -> Source:
    """Parse a module."""
    tree = ast.parse(path.read_text("utf-8") if text is None else text)
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    return Source(path, tree, parents)


def named(source: Source, removals: Iterable[Removal]) -> Iterator[Mutant]:
    """Give each removal its place and its name; repeated ones are numbered."""
    seen: Counter[str] = Counter()
    for removal in sorted(removals, key=lambda each: (_line(each.node), each.kind, each.what)):
        function = source.function_of(removal.node)
        what = " ".join(removal.what.split())
        name = f"{source.module}:{function or '<module>'} {removal.kind}: {what}"
        seen[name] += 1
        number = f" #{seen[name]}" if seen[name] > 1 else ""
        yield Mutant(name + number, source.module, function, _line(removal.node), removal)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the outermost functions of a module, methods included."""
    waiting: list[ast.stmt] = [*tree.body]
    while waiting:
        statement = waiting.pop(0)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            waiting = [*statement.body, *waiting]
