"""What breaks a schema, keyword by keyword (ojs-schema-registry, section 8)."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.schemas import SchemaName, predecessor
from ojs_aws.domain.schemas.changes import MAX_CHANGES, breaking_changes
from ojs_aws.domain.timestamps import Instant


def of(**fields: Any) -> dict[str, Any]:
    """An object with these fields."""
    return {"type": "object", "properties": fields}


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}

BREAKING = [
    (of(a=TEXT), {**of(a=TEXT), "required": ["a"]}, "Required field 'a' was added"),
    (of(a=TEXT, b=TEXT), of(a=TEXT), "Field 'b' was removed"),
    (of(a=WHOLE), of(a=TEXT), "The type of 'a' changed from integer to string"),
    (of(a=NUMBER), of(a=WHOLE), "The type of 'a' changed from number to integer"),
    (of(a={}), of(a=TEXT), "The type of 'a' changed from any to string"),
    (
        of(a={**TEXT, "maxLength": 100}),
        of(a={**TEXT, "maxLength": 50}),
        "Constraint 'maxLength' of 'a' was narrowed from 100 to 50",
    ),
    (of(a=WHOLE), of(a={**WHOLE, "minimum": 0}), "Constraint 'minimum' of 'a' was narrowed to 0"),
    (of(a=TEXT), of(a={**TEXT, "pattern": "^x"}), "Constraint 'pattern' of 'a' was added"),
    (
        of(a=TEXT),
        {**of(a=TEXT), "additionalProperties": False},
        "Further fields of the arguments are not allowed any more",
    ),
    (of(a={"enum": [1, 2]}), of(a={"enum": [1]}), "1 of the values of 'a' were removed"),
    (of(a={}), of(a={"const": 1}), "The values of 'a' are enumerated now"),
    (of(a=of(b=TEXT)), of(a=of(b=WHOLE)), "The type of 'a.b' changed from string to integer"),
    (
        {"type": "array", "prefixItems": [TEXT, TEXT], "items": False},
        {"type": "array", "prefixItems": [TEXT], "items": False},
        "'1' is not allowed any more",
    ),
    ({"type": "array"}, {"type": "array", "minItems": 1}, "Constraint 'minItems'"),
    ({"type": "array"}, {"type": "array", "uniqueItems": True}, "must be unique now"),
    ({"items": NUMBER}, {"items": WHOLE}, "The type of '*' changed"),
    ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT]}, "An alternative of the arguments was removed"),
    ({}, {"allOf": [{"minItems": 1}]}, "A condition on the arguments was added"),
    (True, False, "the arguments is not allowed any more"),
    (
        {"$ref": "#/$defs/x", "$defs": {"x": NUMBER}},
        {"$ref": "#/$defs/y", "$defs": {"y": WHOLE}},
        "The type of the arguments changed",
    ),
]

HARMLESS = [
    (of(a=TEXT), of(a=TEXT, b=TEXT)),
    (of(a={**TEXT, "maxLength": 50}), of(a={**TEXT, "maxLength": 100})),
    (of(a={**TEXT, "maxLength": 50}), of(a=TEXT)),
    (of(a={"enum": ["USD"]}), of(a={"enum": ["USD", "EUR"]})),
    (of(a={"const": 1}), of(a={"enum": [1, 2]})),
    ({**of(a=TEXT), "additionalProperties": False}, of(a=TEXT)),
    ({**of(a=TEXT), "required": ["a"]}, of(a=TEXT)),
    (of(a=WHOLE), of(a=NUMBER)),
    (of(a=TEXT), of(a={"type": ["string", "null"]})),
    (of(a=TEXT), of(a={})),
    ({"prefixItems": [TEXT]}, {"prefixItems": [TEXT, WHOLE]}),
    ({"anyOf": [TEXT]}, {"anyOf": [TEXT, WHOLE]}),
    ({**of(a=TEXT), "title": "x"}, {**of(a=TEXT), "title": "y", "description": "z"}),
    (False, True),
    ({"type": "array"}, {"type": "array", "minItems": 0}),
]


@pytest.mark.parametrize(("old", "new", "message"), BREAKING)
def test_a_breaking_change_is_reported(old: Any, new: Any, message: str) -> None:
    """Section 8.2, by the name of the field."""
    (change,) = breaking_changes(old, new)
    assert message in change


@pytest.mark.parametrize(("old", "new"), HARMLESS)
def test_what_widens_is_no_breaking_change(old: Any, new: Any) -> None:
    """Section 8.3."""
    assert breaking_changes(old, new) == []


@pytest.mark.parametrize(("old", "new", "_"), BREAKING)
def test_a_schema_does_not_break_itself(old: Any, new: Any, _: str) -> None:
    """Whatever it says."""
    assert breaking_changes(old, old) == breaking_changes(new, new) == []


def test_references_in_a_circle_end() -> None:
    """A tree of arguments is compared to a bounded depth."""
    node = of(next={"$ref": "#/$defs/t"})
    tree: dict[str, Any] = {"$ref": "#/$defs/t", "$defs": {"t": node}}
    other: dict[str, Any] = {"$ref": "#/$defs/t", "$defs": {"t": {**node, "title": "x"}}}
    assert breaking_changes(tree, other) == []
    loop: dict[str, Any] = {"$ref": "#"}
    assert breaking_changes(loop, {"$ref": "#", "title": "x"}) == []


def test_many_changes_are_bounded() -> None:
    """The first twenty are enough to see."""
    old = of(**{f"f{n}": TEXT for n in range(100)})
    assert len(breaking_changes(old, of())) == MAX_CHANGES


@pytest.mark.parametrize(
    ("known", "version", "compared"),
    [
        (["1.0", "1.2", "1.1"], "1.3", "1.2"),
        (["1.0", "1.2"], "1.1", "1.0"),
        (["1.0"], "2.0", None),
        (["1.0", "2.0"], "1.1", "1.0"),
        (["0.1"], "0.2", None),
        (["1.0.0"], "1.0.1", "1.0.0"),
        ([1], "1.1", 1),
        ([], "1.1", None),
    ],
)
def test_a_version_is_compared_with_the_one_before_of_its_major(
    known: list[Any], version: str, compared: Any
) -> None:
    """SemVer: major version 0 promises nothing."""
    at = Instant(0)
    names = [SchemaName(type="a", version=each, uri=f"u:{each}", created_at=at) for each in known]
    found = predecessor(names, version)
    assert (found.version if found else None) == compared
