"""Speeds up moto's expressions: each is read once, and updates are checked in one pass.

Ten checks walk the tree of an expression. Moto asks at each node which kinds of nodes the check is
for, by way of abstract classes, and copies the tree node by node. It is the same walk here. What is
checked of an expression as a whole, moto checks of each part of it too: parts are expressions. The
server has few expressions, and uses each of them all the time.
"""

from __future__ import annotations

import importlib
import pickle
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Final

from ojs_aws.local.patches import patched

Process = Callable[[Any], Any]


KEPT: Final = 1000
"""Expressions whose reading is kept."""


def fast_expressions() -> AbstractContextManager[None]:
    """Patch how moto reads and checks expressions."""
    conditions = importlib.import_module("moto.dynamodb.comparisons").ConditionExpressionParser
    return patched(
        (_nodes().DepthFirstTraverser, "traverse", lambda _: _traverse),
        (_parsing("validators"), "deepcopy", lambda _: _copy),
        (
            _parsing("expressions").UpdateExpressionParser,
            "make",
            lambda make: staticmethod(lru_cache(KEPT)(make)),
        ),
        (conditions, "_lex_condition_expression", _lex),
    )


def _lex(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the words of a condition, which depend on its text alone."""
    kept: dict[str, tuple[Any, ...]] = {}

    def lex(self: Any) -> Any:
        words = kept.get(self.condition_expression)
        if words is None:
            if len(kept) >= KEPT:
                kept.clear()
            words = kept[self.condition_expression] = tuple(original(self))
        return deque(words)

    return lex


def _nodes() -> Any:
    return _parsing("ast_nodes")


def _parsing(module: str) -> Any:
    """Return a module of moto, which is an extra and has no types."""
    return importlib.import_module(f"moto.dynamodb.parsing.{module}")


def _copy(tree: Any) -> Any:
    return pickle.loads(pickle.dumps(tree, pickle.HIGHEST_PROTOCOL))  # noqa: S301 - its own


def _traverse(self: Any, root: Any) -> Any:
    """Process a tree's nodes from the leaves up; the result replaces the node."""
    nodes = _nodes()
    wanted: dict[type, Process] = self._processing_map()
    if set(wanted) == {nodes.UpdateExpression}:
        return wanted[nodes.UpdateExpression](root)
    known: dict[type, tuple[bool, Process | None]] = {}

    def kind(node: Any) -> tuple[bool, Process | None]:
        found = known.get(type(node))
        if found is None:
            matching = (process for each, process in wanted.items() if isinstance(node, each))
            found = known[type(node)] = (isinstance(node, nodes.Node), next(matching, None))
        return found

    def visit(node: Any, place: int) -> Any:
        is_node, process = kind(node)
        if not is_node:
            return node
        parent = node.parent
        for number, child in enumerate(node.children or ()):
            self.pre_processing_of_child(node, number)
            visit(child, number)
        if process is None:
            return node
        node = process(node)
        node.parent = parent
        if parent:
            parent.children[place] = node
        return node

    return visit(root, -1)
