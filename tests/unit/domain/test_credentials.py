"""What API keys and callers have in common: written, read and checked by one declaration."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ojs_aws.domain.access import Caller, Scope
from ojs_aws.domain.api_keys import ApiKey
from ojs_aws.domain.credentials import (
    Credential,
    check_credential,
    credential_fields,
    read_credential,
    read_options,
    write_credential,
)
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import Instant

SHOP = Credential(name="shop", queues=("email",), types=("email.*",), tenant="acme")


def test_what_is_written_is_read_again() -> None:
    """Each field comes back, whatever its kind."""
    assert Credential(**read_credential(write_credential(SHOP))) == SHOP
    assert Credential(**read_credential(write_credential(Credential()))) == Credential()


def test_empty_texts_are_not_written_and_empty_lists_are() -> None:
    """Keys without a tenant are stored as before there were tenants."""
    assert write_credential(Credential(name="a")) == {"name": "a", "queues": [], "types": []}


@pytest.mark.parametrize("name", ["queues", "types"])
def test_missing_bounds_are_an_error_and_not_the_absence_of_bounds(name: str) -> None:
    """Whoever writes less must not be able to do more."""
    members = write_credential(SHOP)
    del members[name]
    with pytest.raises(KeyError):
        read_credential(members)


def test_a_key_hands_every_field_to_its_caller() -> None:
    """The caller of a key has what the key has."""
    key = ApiKey(
        id="1",
        scopes=frozenset({Scope.PRODUCER}),
        secrets=(),
        created_at=Instant(0),
        **credential_fields(SHOP),
    )
    assert credential_fields(key.caller) == credential_fields(SHOP)
    names = {field.name for field in fields(Credential)}
    assert names <= {field.name for field in fields(Caller)}


def test_options_sort_bounds_and_keep_texts() -> None:
    """Bounds are sorted; a star alone is none."""
    read = read_options({"queues": ["b", "a", "a"], "types": ["*"], "tenant": "acme"})
    assert read == {"queues": ("a", "b"), "types": (), "tenant": "acme"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "n" * 101),
        ("name", "a\nb"),
        ("queues", ("a",) * 51),
        ("queues", ("a b",)),
        ("types", ("*a",)),
        ("tenant", "no tenant"),
    ],
)
def test_bad_values_are_refused_by_name(field: str, value: object) -> None:
    """The error names the field."""
    with pytest.raises(InvalidRequestError) as refused:
        check_credential(Credential(**(credential_fields(SHOP) | {field: value})))
    assert refused.value.details["field"] == field


@pytest.mark.parametrize(("field", "value"), [("name", "n" * 100), ("queues", ("a",) * 50)])
def test_the_largest_values_are_accepted(field: str, value: object) -> None:
    """The limits themselves are allowed."""
    check_credential(Credential(**(credential_fields(SHOP) | {field: value})))
