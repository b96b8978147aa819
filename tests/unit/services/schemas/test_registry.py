"""Which schemas are registered, and when a process looks one up again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.schemas import Schemas
from ojs_aws.domain.conflicts import SchemaTakenError
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, NotFoundError, OjsError
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.schemas import SchemaEntry, SchemaName
from ojs_aws.services.schemas import registry
from ojs_aws.services.schemas.registry import SchemaRegistration, SchemaRegistry
from ojs_aws.services.schemas.validation import KEPT_MS, UNKNOWN_KEPT_MS, SchemaValidation
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW
from tests.jobs import any_job

TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}


@dataclass
class Kept:
    """Schemas by their URIs; counts what is read."""

    entries: dict[str, SchemaEntry] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def add(self, entry: SchemaEntry) -> None:
        for each in self.entries.values():
            if each.uri == entry.uri or (each.type, each.version) == (entry.type, entry.version):
                raise SchemaTakenError(each.name)
        self.entries[entry.uri] = entry

    def load(self, uri: str) -> SchemaEntry | None:
        self.reads.append(f"load {uri}")
        return self.entries.get(uri)

    def names(self, job_type: str = "") -> list[SchemaName]:
        self.reads.append("names")
        found = [each.name for each in self.entries.values()]
        return [name for name in found if job_type in ("", name.type)]

    def named(self, job_type: str, version: object) -> SchemaName | None:
        names = [name for name in self.names(job_type) if name.version == version]
        return names[0] if names else None


def wanted(
    version: Any = 1, schema: Any = TEXTS, uri: Any = None, text: str = ""
) -> SchemaRegistration:
    written = RawJson(text or json.dumps(schema))
    return SchemaRegistration(type="a.b", version=version, uri=uri, schema=schema, text=written)


def registry_of(kept: Kept) -> SchemaRegistry:
    return SchemaRegistry(cast("Schemas", kept), FakeClock(NOW))


def a_uri(length: int) -> str:
    return "urn:" + "x" * (length - 4)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (wanted(uri=a_uri(registry.MAX_URI_LENGTH)), ""),
        (wanted(uri=a_uri(registry.MAX_URI_LENGTH + 1)), "uri"),
        (wanted(uri="not a uri"), "uri"),
        (wanted(uri=5), "uri"),
        (wanted(schema={}), "schema"),
        (wanted(schema=[]), "schema"),
        (wanted(text=json.dumps(TEXTS).ljust(registry.MAX_SCHEMA_BYTES)), ""),
        (wanted(text=json.dumps(TEXTS).ljust(registry.MAX_SCHEMA_BYTES + 1)), "schema"),
    ],
)
def test_a_schema_is_registered_that_is_one_and_fits(given: SchemaRegistration, field: str) -> None:
    kept = Kept()
    if not field:
        assert registry_of(kept).register(given).uri in kept.entries
        return
    with pytest.raises(OjsError) as error:
        registry_of(kept).register(given)
    assert error.value.details["field"] == field
    assert kept.entries == {}


def test_the_same_schema_again_changes_nothing() -> None:
    """Another one under its version is refused; so is one under the URI of another version."""
    kept = Kept()
    schemas = registry_of(kept)
    first, is_new = schemas.put(wanted())
    assert is_new
    assert schemas.put(wanted()) == (first, False)
    with pytest.raises(ConflictError):
        schemas.put(wanted(schema=NUMBERS))
    with pytest.raises(ConflictError):
        schemas.put(wanted("2.0.0", uri=first.uri))
    kept.entries[first.uri], other = first, kept.entries[first.uri]
    assert other == first


def test_a_new_major_version_may_break_what_the_one_before_promised() -> None:
    """Nothing is read for it; a minor version may not."""
    kept = Kept()
    schemas = registry_of(kept)
    schemas.register(wanted("1.0.0"))
    kept.reads.clear()
    schemas.register(wanted("2.0.0", NUMBERS))
    assert kept.reads == []
    with pytest.raises(OjsError, match="breaking"):
        schemas.register(wanted("2.1.0"))


def test_what_was_never_registered_is_not_found() -> None:
    schemas = registry_of(Kept())
    for look in (
        lambda: schemas.versions("a.b"),
        lambda: schemas.latest("a.b"),
        lambda: schemas.version("a.b", 1),
        lambda: schemas.by_uri("urn:x:y"),
    ):
        with pytest.raises(NotFoundError):
            look()


def validation_of(kept: Kept) -> tuple[SchemaValidation, FakeClock]:
    clock = FakeClock(NOW)
    return SchemaValidation(cast("Schemas", kept), clock, lambda: 0.0), clock


def checked(validation: SchemaValidation, *args: Any, **members: Any) -> bool:
    """Whether a job's arguments follow its schema."""
    try:
        validation.check(any_job("a.b", [*args], **members))
    except OjsError:
        return False
    return True


@pytest.mark.parametrize(
    ("members", "is_refused"),
    [
        ({}, False),
        ({"meta": {"ojs_validate": True}}, True),
        ({"meta": {"ojs_validate": "yes"}}, False),
        ({"schema": "URI"}, True),
        ({"schema": "urn:of:another"}, False),
        ({"schema": "URI", "meta": {"codec_encodings": ["x"]}}, False),
        ({"meta": {"ojs_validate": True, "codec_encodings": ["x"]}}, False),
    ],
)
def test_arguments_are_checked_where_a_job_asks_for_it(
    members: dict[str, Any], is_refused: bool
) -> None:
    """Unless somebody has encoded them."""
    from ojs_aws.services.schemas.validation import ENCODINGS

    kept = Kept()
    uri = registry_of(kept).register(wanted()).uri
    validation, _ = validation_of(kept)
    given = json.loads(
        json.dumps(members).replace("codec_encodings", ENCODINGS).replace('"URI"', f'"{uri}"')
    )
    assert checked(validation, 5, **given) is not is_refused
    assert checked(validation, "x", **given)


@pytest.mark.parametrize(
    ("is_known", "after_ms", "reads"),
    [
        (True, KEPT_MS - 1, 1),
        (True, KEPT_MS, 2),
        (False, UNKNOWN_KEPT_MS - 1, 1),
        (False, UNKNOWN_KEPT_MS, 2),
    ],
)
def test_a_schema_is_looked_up_again_after_a_while(
    is_known: bool, after_ms: int, reads: int
) -> None:
    """Sooner where there was none."""
    kept = Kept()
    uri = registry_of(kept).register(wanted()).uri if is_known else "urn:of:another"
    validation, clock = validation_of(kept)
    kept.reads.clear()
    for _ in range(2):
        assert checked(validation, "x", schema=uri)
        clock.advance(ms=after_ms)
    assert len(kept.reads) == reads


def test_a_job_that_insists_on_a_check_needs_a_schema() -> None:
    validation, _ = validation_of(Kept())
    assert not checked(validation, "x", meta={"ojs_validate": True})
    assert checked(validation, "x", schema="urn:of:another")
    with pytest.raises(InvalidRequestError):
        registry_of(Kept()).register(wanted(schema={"type": "nothing"}))
