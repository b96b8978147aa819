"""What every store of schemas must do, over each engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.adapters.dynamodb.schemas import Schemas
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.conflicts import SchemaTakenError
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.schemas import SchemaEntry, SchemaVersion, schema_uri
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_lost_answers import LosesFirstAnswers

NOW = Instant(1_760_000_000_000)


def over(aws: EmbeddedAws, *, is_losing: bool = False) -> Schemas:
    """The adapter; one that loses each write's first answer, if wanted."""
    client = aws.clients.dynamodb
    if is_losing:
        client = cast("DynamoDBClient", LosesFirstAnswers(client))
    return build_backend(aws.settings, replace(aws.clients, dynamodb=client)).stores.schemas()


@pytest.fixture(
    params=["moto", "lost answers", pytest.param("emulator", marks=pytest.mark.emulator)]
)
def schemas(request: pytest.FixtureRequest) -> Iterator[Schemas]:
    """Each kind of store, empty."""
    if request.param == "emulator":
        yield over(request.getfixturevalue("emulated_aws"))
    else:
        with embedded() as aws:
            yield over(aws, is_losing=request.param == "lost answers")


def an_entry(
    version: SchemaVersion = 1, job_type: str = "email.send", uri: str = "", created: int = NOW
) -> SchemaEntry:
    """A schema."""
    return SchemaEntry(
        type=job_type,
        version=version,
        uri=uri or schema_uri(job_type, version),
        created_at=Instant(created),
        schema=RawJson('{"type":"array","maxItems":1.0,"title":"é"}'),
    )


@pytest.mark.parametrize("version", [1, "1", "2.0", "1.0.0-rc.1+b"])
def test_a_schema_comes_back_as_it_was_registered(schemas: Schemas, version: SchemaVersion) -> None:
    """Digit for digit, and its version a number or a text as before."""
    entry = an_entry(version)
    schemas.add(entry)
    assert schemas.load(entry.uri) == entry
    found = schemas.named("email.send", str(version))
    assert found == entry.name
    assert type(found.version) is type(version)


def test_what_is_not_there(schemas: Schemas) -> None:
    """No error: the service says so."""
    assert schemas.load("urn:x:y") is None
    assert schemas.named("email.send", 1) is None
    assert schemas.load("urn:x:" + "y" * 3000) is None, "longer than a key may be"
    for version in ("1" * 3000, "\ud800"):
        assert schemas.named("email.send", version) is None
    assert schemas.names() == schemas.names("email.send") == []
    schemas.delete(an_entry().name)


def test_a_version_or_a_uri_is_taken_once(schemas: Schemas) -> None:
    """SR-006: also as the text of the same number, and by another type."""
    entry = an_entry(1, uri="urn:a:b")
    schemas.add(entry)
    for other in (an_entry("1"), an_entry(2, uri="urn:a:b"), an_entry(1, "b", "urn:a:b"), entry):
        with pytest.raises(SchemaTakenError) as caught:
            schemas.add(other)
        assert caught.value.existing == entry.name
    assert schemas.names() == [entry.name]


def test_a_name_that_is_free_again_by_now_was_taken_all_the_same() -> None:
    """Its schema is deleted between the refusal and the look at who holds it."""

    class Deletes:
        """A client whose every refused transaction is followed by somebody else's deletion."""

        def __init__(self, client: DynamoDBClient) -> None:
            self._client = client

        def __getattr__(self, name: str) -> Any:
            if name != "transact_write_items":
                return getattr(self._client, name)

            def refused(**arguments: Any) -> Any:
                try:
                    return self._client.transact_write_items(**arguments)
                finally:
                    others.delete(an_entry().name)

            return refused

    with embedded() as aws:
        others = over(aws)
        others.add(an_entry())
        client = cast("DynamoDBClient", Deletes(aws.clients.dynamodb))
        clients = replace(aws.clients, dynamodb=client)
        with pytest.raises(SchemaTakenError) as caught:
            build_backend(aws.settings, clients).stores.schemas().add(an_entry(created=NOW + 1))
        assert caught.value.existing is None


def test_names_are_those_of_the_type(schemas: Schemas) -> None:
    """And not of one whose name begins alike."""
    entries = [an_entry(1), an_entry(2), an_entry(1, "email.send_all"), an_entry(1, "email")]
    for entry in entries:
        schemas.add(entry)
    assert schemas.names("email.send") == [entries[0].name, entries[1].name]
    assert len(schemas.names()) == 4


def test_a_deleted_schema_is_gone_and_its_name_free(schemas: Schemas) -> None:
    """A late repetition of the deletion leaves the next one alone."""
    first = an_entry(1, uri="urn:a:b")
    schemas.add(first)
    schemas.delete(first.name)
    assert schemas.load("urn:a:b") is None
    assert schemas.names() == []
    second = an_entry(1, uri="urn:a:b", created=NOW + 1)
    schemas.add(second)
    schemas.delete(first.name)
    assert schemas.load("urn:a:b") == second


def test_what_is_left_of_a_schema_can_be_deleted() -> None:
    """One of its two items is gone, as in a table that was repaired by hand."""
    with embedded() as aws:
        schemas, entry = over(aws), an_entry()
        schemas.add(entry)
        (name,) = schemas.names()
        aws.clients.dynamodb.delete_item(
            TableName=aws.settings.table,
            Key={"pk": {"S": f"schema#{entry.uri}"}, "sk": {"S": "schema"}},
        )
        schemas.delete(name)
        assert schemas.names() == []
