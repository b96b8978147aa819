"""Removes rows of the tables that say in which attribute each member of a record is stored.

A member whose row is left out is neither written nor read. The tables nest, and other modules use
them: so a row is taken out of the very dictionary that all of them hold.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tests.mutation.mutants import Kind, Mutant, Removal, Source

TABLE: Final = "Final[c.Columns]"
"""The annotation of a table: by the kind of their values, the members by their attributes."""

NAMES: Final = "ojs_aws.adapters.dynamodb.names"
"""Holds parts of tables, which the tables use as ``n.TEXTS``."""


def named_parts(sources: Iterable[Source]) -> frozenset[str]:
    """Return the constants of the module of names that are parts of tables."""
    return frozenset(
        part.attr
        for source in sources
        for _, table in _tables(source)
        for part in table.values
        if isinstance(part, ast.Attribute)
    )


def row_removals(source: Source, parts: frozenset[str]) -> Iterator[Removal]:
    """Yield each row of each table of a module, and of the parts that tables use."""
    for name, table in _tables(source):
        for part in table.values:
            if isinstance(part, ast.Dict):
                yield from _rows(name, part)
    for name, value in _constants(source) if source.module == NAMES else ():
        if name in parts:
            yield from _rows(name, value)


def _rows(name: str, part: ast.Dict) -> Iterator[Removal]:
    for key, member in zip(part.keys, part.values, strict=True):
        if key is not None:
            what = f"{name} without {ast.unparse(key)}: {ast.unparse(member)}"
            yield Removal(Kind.ROW, what, key, None)


def _tables(source: Source) -> Iterator[tuple[str, ast.Dict]]:
    return _constants(source, TABLE)


def _constants(source: Source, annotation: str = "") -> Iterator[tuple[str, ast.Dict]]:
    """Yield the module's dictionaries with their names."""
    for each in source.tree.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.value, ast.Dict):
            is_wanted = not annotation or ast.unparse(each.annotation) == annotation
            if is_wanted and isinstance(each.target, ast.Name):
                yield each.target.id, each.value


def place_of(mutant: Mutant) -> tuple[dict[str, str], str]:
    """Return the dictionary that a row is in, and its attribute."""
    module = vars(importlib.import_module(mutant.module))
    name = mutant.removal.what.partition(" ")[0]
    assert isinstance(mutant.removal.node, ast.expr)
    key = ast.fix_missing_locations(ast.Expression(mutant.removal.node))
    attribute: str = eval(compile(key, mutant.module, "eval"), module)  # noqa: S307 - our own code
    table: dict[Any, Any] = module[name]
    parts: list[dict[str, str]] = [table] if mutant.module == NAMES else [*table.values()]
    (part,) = (each for each in parts if attribute in each)
    return part, attribute


def leave_out(mutant: Mutant) -> None:
    """Take a row out of its dictionary."""
    part, attribute = place_of(mutant)
    del part[attribute]


def note_rows(mutants: Iterable[tuple[int, Mutant]], reached: set[int]) -> None:
    """Let a row note its number when an item has its attribute, written or read."""
    columns = importlib.import_module("ojs_aws.adapters.dynamodb.columns")
    numbers: dict[tuple[int, str], int] = {}
    for number, mutant in mutants:
        part, attribute = place_of(mutant)
        numbers[id(part), attribute] = number

    def note(item: Mapping[str, Any], table: Mapping[Any, Mapping[str, str]]) -> None:
        for part in table.values():
            places = ((id(part), name) for name in part if name in item)
            reached.update(numbers[place] for place in places if place in numbers)

    write: Callable[..., Any] = columns.attributes
    read: Callable[..., Any] = columns.read_members

    def attributes(record: object, table: Any) -> Any:
        item = write(record, table)
        note(item, table)
        return item

    def read_members(item: Any, table: Any) -> Any:
        note(item, table)
        return read(item, table)

    vars(columns).update(attributes=attributes, read_members=read_members)
