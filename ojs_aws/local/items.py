"""Speeds up moto's DynamoDB items: time grows only with their size.

Moto rebuilds the whole item for each attribute that an index projects, measures the whole item for
each attribute that it is made of, and looks up eight possible names of each member of each
attribute value that it answers with; and with each request it lists the methods of its own class,
and converts the operation's name letter by letter. What is answered stays the same.
"""

from __future__ import annotations

import base64
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Final

from ojs_aws.local.patches import Original, patched

MAX_ITEM_BYTES: Final = 405_000
"""What moto takes an item for too large at."""


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
