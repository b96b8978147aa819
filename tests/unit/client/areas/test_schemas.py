"""The schema registry in the client, over HTTP and straight to the table."""

from __future__ import annotations

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.domain.errors import (
    ConflictError,
    IncompatibleSchemaError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    SchemaValidationError,
)
from tests.simulation.world import World

SCHEMA: dict[str, JsonValue] = {"type": "array", "prefixItems": [{"type": "string"}]}
WIDER: dict[str, JsonValue] = {"type": "array", "prefixItems": [{"type": ["string", "null"]}]}


async def test_a_schema_is_registered_and_read(client: Client) -> None:
    """By type, by version and by the URI that jobs name."""
    made = await client.schemas.register("email.send", "1.0", SCHEMA)
    assert (made.type, made.version, made.schema) == ("email.send", "1.0", SCHEMA)
    for found in (
        await client.schemas.get("email.send"),
        await client.schemas.get("email.send", "1.0"),
        await client.schemas.by_uri(made.uri),
    ):
        assert found == made
    with pytest.raises(SchemaValidationError):
        await client.enqueue("email.send", [1], schema=made.uri)


async def test_the_same_again_changes_nothing_and_another_is_a_conflict(client: Client) -> None:
    """So applications may register at each start."""
    made = await client.schemas.register("email.send", 1, SCHEMA)
    assert await client.schemas.register("email.send", 1, SCHEMA) == made
    with pytest.raises(ConflictError):
        await client.schemas.register("email.send", 1, WIDER)
    with pytest.raises(ConflictError):
        await client.schemas.register("email.send", 1, SCHEMA, exist_ok=False)


async def test_versions_are_listed_and_removed(client: Client) -> None:
    """The newest first; without their schemas."""
    for version in ("1.0", "1.10", "1.9"):
        await client.schemas.register("email.send", version, SCHEMA, uri=f"urn:x:{version}")
    listed = await client.schemas.versions("email.send")
    assert [(each.version, each.is_latest) for each in listed] == [
        ("1.10", True),
        ("1.9", False),
        ("1.0", False),
    ]
    assert [each.uri for each in await client.schemas.list()] == [
        "urn:x:1.10",
        "urn:x:1.9",
        "urn:x:1.0",
    ]
    await client.schemas.delete("email.send", "1.10")
    assert (await client.schemas.get("email.send")).version == "1.9"
    for ask in (client.schemas.get("none.such"), client.schemas.delete("email.send", "7")):
        with pytest.raises(NotFoundError):
            await ask
    with pytest.raises(InvalidRequestError):
        await client.schemas.register("email.send", "x", SCHEMA)


async def test_a_breaking_change_needs_a_major_version(client: Client) -> None:
    """SR-R003: the error names each change."""
    await client.schemas.register("email.send", "1.0.0", WIDER)
    with pytest.raises(IncompatibleSchemaError, match=r"compared to 1\.0\.0.*2\.0\.0") as refused:
        await client.schemas.register("email.send", "1.1.0", SCHEMA)
    assert refused.value.details["breaking_changes"] == [
        "The type of '0' changed from null or string to string"
    ]
    assert (await client.schemas.register("email.send", "2.0.0", SCHEMA)).version == "2.0.0"


def test_the_synchronous_client_has_the_same() -> None:
    """Without await."""
    with SyncClient.direct(backend=World().backend, middleware=()) as client:
        made = client.schemas.register("email.send", 1, SCHEMA)
        assert client.schemas.get("email.send") == made
        assert [each.version for each in client.schemas.list()] == [1]
