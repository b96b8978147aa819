"""Validation of arguments against JSON Schemas."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, SchemaValidationError
from ojs_aws.middleware import (
    DeduplicationMiddleware,
    EnqueueChain,
    InvalidSchemaError,
    MemorySeenStore,
    SchemaRegistry,
    ValidationMiddleware,
)
from ojs_aws.middleware.builtin.validation.keywords import MAX_MATCHED_CHARACTERS
from ojs_aws.middleware.builtin.validation.middleware import MAX_COMPILED
from ojs_aws.middleware.protocols import EnqueueSide
from tests.unit.middleware.doubles import job, store

INVOICE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "array",
    "prefixItems": [
        {
            "type": "object",
            "required": ["customer", "amount"],
            "properties": {
                "customer": {"type": "string"},
                "amount": {"type": "integer", "minimum": 0},
                "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
            },
            "additionalProperties": False,
        }
    ],
    "items": False,
    "minItems": 1,
}
GOOD = {"customer": "c1", "amount": 5, "currency": "EUR"}

_enqueues: EnqueueSide = ValidationMiddleware({})


def validated(schema: Any, *args: Any, **options: Any) -> list[dict[str, Any]]:
    """The errors that arguments have by a schema."""
    chain = EnqueueChain([ValidationMiddleware({"a.b": schema}, **options)])
    try:
        chain.run_sync(job(*args), lambda kept: kept)
    except SchemaValidationError as refused:
        found: Any = refused.details["validation_errors"]
        return list(found)
    return []


async def test_mw_enq_013_arguments_that_fit_pass_unchanged() -> None:
    chain = EnqueueChain([ValidationMiddleware({"a.b": INVOICE})])
    assert (kept := await chain.run(job(GOOD), store)) is not None
    assert kept.args == [GOOD]


async def test_arguments_that_do_not_fit_abort_the_enqueue() -> None:
    """MW-ENQ-014, MW-ENQ-016, MW-ENQ-017; schema registry, section 7.3."""
    stored: list[Job] = []
    chain = EnqueueChain([ValidationMiddleware({"a.b": INVOICE})])
    with pytest.raises(SchemaValidationError) as refused:
        await chain.run(job({"customer": 5, "secret": "hidden"}), stored.append)
    assert stored == []
    problem = refused.value
    assert (problem.code, problem.status, problem.retryable) == ("schema_validation", 422, False)
    assert problem.details["field"] == "args"
    found: Any = problem.details["validation_errors"]
    assert {(e["pointer"], e["path"], e["message"]) for e in found} == {
        ("/args/0", "$.args[0]", "'amount' is a required property"),
        ("/args/0/customer", "$.args[0].customer", "expected string, got number"),
        ("/args/0", "$.args[0]", "members that are not expected: 'secret'"),
    }
    assert "#/prefixItems/0/properties/customer/type" in {e["schema_path"] for e in found}
    assert "schema of a.b" in problem.message


async def test_errors_never_hold_a_value_of_the_arguments() -> None:
    """They are logged and sent around; the arguments may be secret."""
    schema = {
        "prefixItems": [
            {"type": "integer"},
            {"enum": ["a", "b"]},
            {"const": 5},
            {"pattern": "^x$"},
            {"format": "email"},
            {"maxLength": 3},
            {"anyOf": [{"type": "null"}, {"minLength": 100}]},
            {"not": {"type": "string"}},
            {"required": ["n"]},
            False,
            {"multipleOf": 7},
            {"uniqueItems": True},
        ]
    }
    secrets = ["s3cret"] * 8 + [{"m": "s3cret"}, "s3cret", 53, ["s3cret", "s3cret"]]
    found = validated(schema, *secrets, max_errors=50)
    assert len(found) == 12
    assert "s3cret" not in json.dumps(found)
    assert "53" not in json.dumps(found)
    assert found[1]["message"] == 'expected enum ["a","b"]'


async def test_mw_enq_003_validation_before_deduplication() -> None:
    """An invalid duplicate is invalid: the deduplication behind is never asked."""

    class Counted(DeduplicationMiddleware):
        calls = 0

        async def enqueue(self, job: Job, call_next: Any) -> Job | None:
            self.calls += 1
            return await super().enqueue(job, call_next)

    counted = Counted(store=MemorySeenStore())
    chain = EnqueueChain([ValidationMiddleware({"a.b": INVOICE}), counted])
    assert await chain.run(job(GOOD), store) is not None
    for _ in range(2):
        with pytest.raises(SchemaValidationError):
            await chain.run(job({"customer": "c1"}), store)
    assert counted.calls == 1
    again = job(GOOD, id="01900000-0000-7000-8000-000000000002")
    assert await chain.run_tracked(again, store) == (None, "counted")


async def test_types_without_a_schema_pass_or_are_refused() -> None:
    assert await EnqueueChain([ValidationMiddleware({})]).run(job(1), store) is not None
    strict = EnqueueChain([ValidationMiddleware({}, unknown_types="refuse")])
    with pytest.raises(InvalidRequestError, match=r"no schema .* 'a\.b'") as refused:
        await strict.run(job(1), store)
    assert refused.value.status == 400


async def test_a_job_that_names_a_version_follows_that_versions_schema() -> None:
    schemas = {"a.b": {"maxItems": 0}, "a.b@2.0": {"minItems": 1}}
    chain = EnqueueChain([ValidationMiddleware(schemas)])
    assert await chain.run(job(), store) is not None
    assert await chain.run(job(1, version="2.0"), store) is not None
    assert await chain.run(job(version="3.0"), store) is not None
    with pytest.raises(SchemaValidationError, match=r"schema of a\.b@2\.0"):
        await chain.run(job(version="2.0"), store)


async def test_a_warning_lets_the_job_pass(caplog: pytest.LogCaptureFixture) -> None:
    """Schema registry, section 7.2."""
    chain = EnqueueChain([ValidationMiddleware({"a.b": INVOICE}, mode="warn")])
    with caplog.at_level(logging.WARNING):
        assert await chain.run(job("x"), store) is not None
    assert vars(caplog.records[0])["validation_errors"] == [
        "$.args[0]: expected object, got string"
    ]


class Registry:
    """Counts how often it was asked."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.asked: list[tuple[str, str | None]] = []

    def schema_for(self, job_type: str, version: str | None) -> Any:
        self.asked.append((job_type, version))
        return self.schema


async def test_a_registry_object_is_asked_and_its_schemas_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ojs_aws.middleware.builtin.validation import schemas

    compiled: list[str] = []
    real = schemas.Compiler.compile

    def counting(self: Any, name: str, schema: Any) -> Any:
        compiled.append(name)
        return real(self, name, schema)

    monkeypatch.setattr(schemas.Compiler, "compile", counting)
    registry = Registry({"maxItems": 1})
    _: SchemaRegistry = registry
    chain = EnqueueChain([ValidationMiddleware(registry)])
    for _n in range(3):
        await chain.run(job(1), store)
    await chain.run(job(1, version="1.0"), store)
    assert registry.asked[-2:] == [("a.b", None), ("a.b", "1.0")]
    assert compiled == ["a.b", "a.b@1.0"]
    registry.schema = {"maxItems": 0}
    with pytest.raises(SchemaValidationError):
        await chain.run(job(1), store)
    registry.schema = None
    assert await chain.run(job(1), store) is not None


async def test_compiled_schemas_of_a_registry_are_bounded() -> None:
    """A registry that answers any version must not let clients fill the memory."""
    middleware = ValidationMiddleware(Registry(True))
    chain = EnqueueChain([middleware])
    for number in range(MAX_COMPILED + 5):
        await chain.run(job(version=f"1.{number}"), store)
    assert len(middleware._lookup._kept) == MAX_COMPILED  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object"}, "'args', which is an array"),
        ({"type": "blurb"}, "not valid"),
        ({"items": 5}, "not valid"),
        ("string", "must be an object or a boolean"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "only .* is understood"),
        ({"items": {"$ref": "https://example.com/x.json"}}, "not here. Nothing is downloaded"),
        ({"items": {"$ref": "#/$defs/gone"}}, "refers to '#/\\$defs/gone'"),
        ({"items": {"$dynamicRef": "other#x"}}, "refers to"),
        ({"items": {"pattern": "("}}, "does not understand|not valid"),
        ({"items": {"pattern": "^(a+)+$"}}, "very long to match"),
        ({"items": {"patternProperties": {"^([a-z]*)*$": True}}}, "very long to match"),
        ({"items": {"pattern": "x" * 2000}}, "very long to match"),
    ],
)
def test_a_schema_that_cannot_work_is_refused_at_configuration(schema: Any, reason: str) -> None:
    with pytest.raises(InvalidSchemaError, match=reason) as refused:
        ValidationMiddleware({"a.b": schema})
    assert "a.b" in str(refused.value)


def test_references_lead_inside_or_to_named_resources() -> None:
    schema = {
        "items": {"anyOf": [{"$ref": "#/$defs/name"}, {"$ref": "urn:x:address"}]},
        "$defs": {"name": {"type": "string"}},
    }
    address = {"$ref": "#/$defs/o", "$defs": {"o": {"type": "object"}}}
    resources = {"urn:x:address": address}
    assert validated(schema, "n", {"street": 1}, resources=resources) == []
    assert [e["pointer"] for e in validated(schema, 5, resources=resources)] == ["/args/0"]
    with pytest.raises(InvalidSchemaError, match="urn:x:address"):
        ValidationMiddleware({"a.b": schema})
    with pytest.raises(InvalidSchemaError, match="urn:x:gone"):
        ValidationMiddleware({}, resources={"urn:x:bad": {"$ref": "urn:x:gone"}})


def test_a_recursive_schema_works() -> None:
    tree = {"items": {"$ref": "#"}, "type": ["array", "integer"]}
    assert validated(tree, [1, [2, [3]]]) == []
    assert [e["pointer"] for e in validated(tree, [1, [2, ["x"]]])] == ["/args/0/1/1/0"]


def test_arguments_too_deep_to_check_are_refused_and_not_a_crash() -> None:
    deep: Any = 1
    for _ in range(450):
        deep = [deep]
    tree = {"items": {"$ref": "#"}, "type": ["array", "integer"]}
    assert "nested too deeply" in validated(tree, deep)[0]["message"]


def test_a_number_too_large_to_check_is_refused_and_not_a_crash() -> None:
    assert "too large" in validated({"items": {"multipleOf": 0.1}}, 10**400)[0]["message"]


def test_reported_errors_are_bounded() -> None:
    chain = EnqueueChain([ValidationMiddleware({"a.b": {"items": {"type": "null"}}}, max_errors=3)])
    with pytest.raises(SchemaValidationError) as refused:
        chain.run_sync(job(*range(1000)), lambda kept: kept)
    found: Any = refused.value.details["validation_errors"]
    assert len(found) == 3
    assert refused.value.details["has_more_errors"] is True


def test_a_text_too_long_for_its_pattern_is_refused_without_matching() -> None:
    schema = {"items": {"pattern": "^a*a*a*b$"}}
    begun = time.process_time()
    found = validated(schema, "a" * (MAX_MATCHED_CHARACTERS + 1))
    assert time.process_time() - begun < 10  # and not for ever
    assert f"at most {MAX_MATCHED_CHARACTERS} characters" in found[0]["message"]
    assert validated({"items": {"pattern": "^x"}}, "x", "y")[0]["pointer"] == "/args/1"
    by_key = {"items": {"patternProperties": {"^x": {"type": "null"}}}}
    assert "a key of" in validated(by_key, [{"k" * 5000: 1}], {"x": None, "": {}}, {})[0]["message"]
    assert validated(by_key, {"x": 1})[0]["pointer"] == "/args/0/x"


def test_distinct_items_are_found_in_linear_time() -> None:
    """The library compares objects pair by pair: 20 000 of them would take minutes."""
    schema = {"items": {"uniqueItems": True}}
    begun = time.process_time()
    assert validated(schema, [{"n": n} for n in range(20_000)]) == []
    assert time.process_time() - begun < 10
    assert validated(schema, [1, True, "1", [1], {"a": 1, "b": 2}]) == []
    assert validated(schema, [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]) != []


def test_formats_are_constraints_unless_switched_off() -> None:
    """Schema registry, section 13.3."""
    right = {
        "email": "a@b.c",
        "date-time": "2026-01-02T03:04:05Z",
        "date": "2026-01-02",
        "duration": "PT1H",
        "uuid": "019539a4-b68c-7def-8000-1a2b3c4d5e6f",
        "ipv4": "10.0.0.1",
        "uri": "urn:x:y",
    }
    for name, text in right.items():
        schema = {"items": {"format": name}}
        assert validated(schema, text, 5) == []
        message = str(validated(schema, "not one")[0]["message"])
        assert message.startswith(f'expected format "{name}"')
        assert validated(schema, "not one", check_formats=False) == []


def test_the_error_of_a_duration_shows_the_form_that_a_schema_has() -> None:
    """JSON Schema knows ISO 8601 only, whereas attributes of a job may also be ``30s``."""
    error = validated({"items": {"format": "duration"}}, "30s")[0]
    assert error["message"] == 'expected format "duration", such as PT30S'
    error = validated({"items": {"format": "date"}}, "2026-01-02T03:04:05Z")[0]
    assert error["message"] == 'expected format "date", such as 2026-02-12'


def test_tuples_of_python_callers_are_arrays() -> None:
    assert validated({"items": {"type": "array", "items": {"type": "integer"}}}, (1, 2)) == []
    assert validated({"items": {"type": "array", "items": {"type": "integer"}}}, (1, "x")) != []


def test_pointers_are_escaped() -> None:
    schema = {"items": {"properties": {"a/b~c": {"type": "null"}}}}
    assert validated(schema, {"a/b~c": 1})[0]["pointer"] == "/args/0/a~1b~0c"


@pytest.mark.parametrize("options", [{"mode": "off"}, {"unknown_types": "x"}, {"max_errors": 0}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"unknown option|at least 1"):
        ValidationMiddleware({}, **options)


async def test_fifty_at_once_share_one_instance() -> None:
    """Tasks and threads; each gets the verdict on its own arguments."""
    chain = EnqueueChain([ValidationMiddleware(Registry(INVOICE))])

    def verdict(number: int) -> bool:
        try:
            chain.run_sync(job(GOOD if number % 2 else {}), lambda kept: kept)
        except SchemaValidationError:
            return False
        return True

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(verdict, range(50))) == [bool(n % 2) for n in range(50)]
    runs = [chain.run(job(GOOD if n % 2 else {}), store) for n in range(50)]
    ended = await asyncio.gather(*runs, return_exceptions=True)
    assert [isinstance(end, Job) for end in ended] == [bool(n % 2) for n in range(50)]
