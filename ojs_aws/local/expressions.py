"""Speeds up moto's expressions and items: each is read once, and time grows with size only.

Ten checks walk the tree of an expression. Moto asks at each node which kinds of nodes the check is
for, by way of abstract classes, and copies the tree node by node. It is the same walk here. What is
checked of an expression as a whole, moto checks of each part of it too: parts are expressions. The
server has few expressions, and uses each of them all the time.

Moto rebuilds the whole item for each attribute that an index projects, measures the whole item for
each attribute that it is made of, and looks up eight possible names of each member of each
attribute value that it answers with; and with each request it lists the methods of its own class,
and converts the operation's name letter by letter. What is answered stays the same.
"""

from __future__ import annotations

import base64
import importlib
import pickle
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from typing import Any, Final

from ojs_aws.local.patches import Original, patched

Process = Callable[[Any], Any]
KEPT: Final = 1000
"""Expressions whose reading is kept."""
MAX_ITEM_BYTES: Final = 405_000
"""What moto takes an item for too large at."""


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


def fast_items() -> AbstractContextManager[None]:
    """Patch moto's items, and how they are answered."""
    from moto.core import responses  # an extra
    from moto.core.serialize import BaseJSONSerializer
    from moto.dynamodb.models.dynamo_type import Item

    return patched(
        (Item, "__init__", _init),
        (Item, "project", _project),
        (BaseJSONSerializer, "_serialize_type_structure", _serialize),
        (responses, "method_names_from_class", cache),
        (responses, "camelcase_to_underscores", cache),
    )


def _init(_: Original) -> Original:
    from moto.dynamodb.exceptions import ItemSizeTooLarge
    from moto.dynamodb.models.dynamo_type import DynamoType, LimitedSizeDict

    def init(self: Any, hash_key: Any, range_key: Any, attrs: dict[str, Any]) -> None:
        self.hash_key = hash_key
        self.range_key = range_key
        self.attrs = LimitedSizeDict()
        for name, value in attrs.items():
            dict.__setitem__(self.attrs, name, DynamoType(value))
        if self.size() > MAX_ITEM_BYTES:
            raise ItemSizeTooLarge

    return init


def _project(original: Original) -> Original:
    from moto.dynamodb.models.dynamo_type import Item

    def project(self: Any, expressions: list[list[str]]) -> Any:
        if any(len(expression) != 1 or "[" in expression[0] for expression in expressions):
            return original(self, expressions)
        wanted = {name for (name,) in expressions}
        values = {name: value for name, value in self.attrs.items() if name in wanted}
        return Item(self.hash_key, self.range_key, values)

    return project


def _serialize(original: Original) -> Original:
    def serialize(self: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and isinstance(value, dict) and key:
            serialized[self.get_serialized_name(shape, key)] = _plain(value)
        else:
            original(self, serialized, value, shape, key)

    return serialize


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return an attribute value as JSON takes it."""
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: _text(content)}
    if kind == "BS":
        return {kind: [_text(each) for each in content]}
    if kind == "M":
        return {kind: {name: _plain(each) for name, each in content.items()}}
    if kind == "L":
        return {kind: [_plain(each) for each in content]}
    return value


def _text(content: bytes | str) -> str:
    raw = content.encode() if isinstance(content, str) else content
    return base64.b64encode(raw).decode()
