"""Moto's update expressions, made to be checked in one look at each of their nodes.

Ten checks walk the tree of an expression. Moto asks at each node which kinds of nodes the check is
for, by way of abstract classes, and copies the tree node by node. It is the same walk here. What is
checked of an expression as a whole, moto checks of each part of it too: parts are expressions.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Process = Callable[[Any], Any]


@contextmanager
def fast_expressions() -> Iterator[None]:
    """Patch the walk over moto's expressions."""
    traverser, validators = _nodes().DepthFirstTraverser, _parsing("validators")
    walk, copy = traverser.traverse, validators.deepcopy
    traverser.traverse, validators.deepcopy = _traverse, _copy
    try:
        yield
    finally:
        traverser.traverse, validators.deepcopy = walk, copy


def _nodes() -> Any:
    return _parsing("ast_nodes")


def _parsing(module: str) -> Any:
    """A module of moto, an extra, that has no types."""
    return importlib.import_module(f"moto.dynamodb.parsing.{module}")


def _copy(tree: Any) -> Any:
    return pickle.loads(pickle.dumps(tree, pickle.HIGHEST_PROTOCOL))  # noqa: S301 - its own


def _traverse(self: Any, root: Any) -> Any:
    """Process a tree's nodes from the leaves up; a node's place is taken by what it became."""
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
