"""Replaces functions of moto by faster ones, and wakes loops when moto has something."""

from __future__ import annotations

import base64
import importlib
import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

Original: TypeAlias = Any
Patch: TypeAlias = tuple[Any, str, Callable[[Original], Any]]
"""A class or module, the name of its attribute, and what makes another one of the original."""


class Signal:
    """Counts events, and lets a thread wait until there is one that it has not seen."""

    def __init__(self) -> None:
        """Start with no events."""
        self._changed = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        """Return how many events there have been."""
        return self._count

    def notify(self) -> None:
        """Count an event, and wake who waits."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> None:
        """Return when there are other events than those seen, at the latest after the timeout.

        Whoever reads the count before looking, and waits after it, misses nothing.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)


RECORDS: Final = Signal()
"""A table's stream in this process has a new record."""
MESSAGES: Final = Signal()
"""A queue in this process has a new message, or hides one of its messages until another time."""


@contextmanager
def patched(*patches: Patch) -> Iterator[None]:
    """Replace attributes for the time of a block; one that was inherited is so again."""
    own = [(owner, name, vars(owner).get(name)) for owner, name, _ in patches]
    for owner, name, patch in patches:
        setattr(owner, name, patch(getattr(owner, name, None)))
    try:
        yield
    finally:
        for owner, name, original in own:
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


def fast_queues() -> AbstractContextManager[None]:
    """Patch moto's SQS queues: messages are counted with one look at the clock, and wake triggers.

    Moto counts all messages of a queue, asking for the time with each of them, whenever it sends or
    receives one. With a thousand delayed messages a receive took half a second. And it converts the
    names of all attributes of a queue, letter by letter, with each message.
    """
    from moto.core.utils import unix_time_millis  # an extra
    from moto.sqs import models
    from moto.sqs.models import Message, Queue

    def messages(self: Any) -> list[Any]:
        now = unix_time_millis()
        return [
            message
            for message in self._messages
            if message.visible_at < now and message.delayed_until <= now
        ]

    def delayed(self: Any) -> int:
        now = unix_time_millis()
        return sum(1 for message in self._messages if now < message.delayed_until)

    def not_visible(self: Any) -> int:
        now = unix_time_millis()
        return sum(1 for message in self._messages if now <= message.visible_at)

    return patched(
        (Queue, "messages", lambda _: property(messages)),
        (Queue, "approximate_number_of_messages_delayed", lambda _: property(delayed)),
        (Queue, "approximate_number_of_messages_not_visible", lambda _: property(not_visible)),
        (models, "camelcase_to_underscores", cache),
        (Queue, "add_message", _announced),
        (Message, "change_visibility", _announced),
    )


def fast_clients() -> AbstractContextManager[None]:
    """Patch botocore: all sessions share one loader, which reads each service's model once.

    Each function of the server has a session of its own, as on AWS, and each would read the models
    of DynamoDB and SQS from their files: a fifth of what the server takes to start.
    """
    import botocore.session  # loaded by then

    return patched((botocore.session, "create_loader", cache))


def _announced(original: Original) -> Original:
    """Return a method that wakes who waits for messages, after it has done its work."""

    def announced(self: Any, *args: Any, **more: Any) -> None:
        original(self, *args, **more)
        MESSAGES.notify()

    return announced


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
