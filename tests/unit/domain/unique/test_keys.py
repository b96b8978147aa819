"""Canonical JSON, unique policies and the fingerprint."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidPayloadError, InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.unique.canonical import canonical_json
from ojs_aws.domain.unique.keys import (
    OnConflict,
    UniquePolicy,
    dimensions,
    fingerprint,
    parse_unique_policy,
)

words = st.text(max_size=8)
# From 10^21 on, integers get an exponent, which the standard library reads as a double.
integers = st.integers(-(10**21) + 1, 10**21 - 1)
reals = st.floats(allow_nan=False, allow_infinity=False)
finite = st.none() | st.booleans() | integers | reals | words
values = st.recursive(
    finite,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=15,
)


def shuffled(value: Any) -> Any:
    """The same value, its members in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


def decomposed(value: Any) -> Any:
    """The same value, its text in Unicode's decomposed form."""
    if isinstance(value, str):
        return unicodedata.normalize("NFD", value)
    if isinstance(value, dict):
        return {decomposed(key): decomposed(item) for key, item in value.items()}
    return [decomposed(item) for item in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------------------- canonical JSON
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (100, "100"),
        (4.50, "4.5"),
        (2e-3, "0.002"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1e-27, "1e-27"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (1e30, "1e+30"),
        (123456789012345680000.0, "123456789012345680000"),
        (333333333.33333329, "333333333.3333333"),
        (5e-324, "5e-324"),
        (-1.7976931348623157e308, "-1.7976931348623157e+308"),
        (2**63 + 1, "9223372036854775809"),
        (True, "true"),
        (None, "null"),
        ('€$\x0f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        ("e\u0301", '"\u00e9"'),
        ((1, [2]), "[1,[2]]"),
    ],
)
def test_values_are_written_as_rfc_8785_has_them(value: Any, text: str) -> None:
    """Its sections 3.2.2 and its appendix B, and integers beyond 2^53 with all their digits."""
    assert canonical_json(value) == text


def test_members_are_sorted_by_utf_16_as_the_rfcs_own_example() -> None:
    """RFC 8785, section 3.2.3."""
    given: Any = {"€": 1, "\r": 2, "דּ": 3, "1": 4, "😀": 5, "\x80": 6, "ö": 7}
    # U+FB33 is written as two characters by NFC, the first of them U+05D3.
    order = list(json.loads(canonical_json(given)).values())
    assert order == [2, 4, 6, 7, 3, 1, 5]


@given(values)
def test_canonical_text_says_the_same_value_whatever_its_order_and_form(value: Any) -> None:
    """Equal values, equal text; and the text is a fixed point."""
    text = canonical_json(value)
    assert canonical_json(shuffled(value)) == text
    assert canonical_json(decomposed(value)) == text
    assert canonical_json(json.loads(text)) == text
    assert canonical_json(json.loads(encode(value))) == text


@given(st.integers(), st.integers())
def test_different_integers_never_become_one(one: int, other: int) -> None:
    """Where the RFC would round both to the same double."""
    assert (canonical_json(one) == canonical_json(other)) == (one == other)
    assert canonical_json(2**60 + one) != canonical_json(2**60 + one + 1)


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    """As deep as an envelope may be, and more."""
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    assert canonical_json(deep) == "[" * 5000 + "1" + "]" * 5000


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, b"x"])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    """And not written somehow."""
    with pytest.raises(InvalidPayloadError):
        canonical_json([value])


# ------------------------------------------------------------------------------------- the policy
def test_a_policy_left_empty_has_the_defaults() -> None:
    """Unique jobs, section 2.1."""
    policy = parse_unique_policy({})
    assert policy == UniquePolicy()
    assert policy.keys == {"type"}
    assert policy.on_conflict is OnConflict.REJECT
    assert JobState.COMPLETED not in policy.states
    assert len(policy.states) == 5


def test_a_whole_policy_is_read() -> None:
    """Every member; type is a key even where it is not named."""
    policy = parse_unique_policy(
        {
            "keys": ["queue", "args", "meta"],
            "args_keys": ["user"],
            "meta_keys": ["tenant"],
            "period": "PT1H",
            "states": ["available", "completed"],
            "on_conflict": "replace_except_schedule",
        }
    )
    assert policy == UniquePolicy(
        keys=frozenset({"type", "queue", "args", "meta"}),
        args_keys=("user",),
        meta_keys=("tenant",),
        period_ms=3_600_000,
        states=frozenset({JobState.AVAILABLE, JobState.COMPLETED}),
        on_conflict=OnConflict.REPLACE_EXCEPT_SCHEDULE,
    )


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ([], "unique"),
        ({"keys": "type"}, "unique.keys"),
        ({"keys": ["argz"]}, "unique.keys"),
        ({"keys": ["Type"]}, "unique.keys"),
        ({"keys": ["type", "type"]}, "unique.keys"),
        ({"keys": [["type"]]}, "unique.keys"),
        ({"keys": ["meta"]}, "unique.meta_keys"),
        ({"keys": ["meta"], "meta_keys": []}, "unique.meta_keys"),
        ({"keys": ["args"], "args_keys": [1]}, "unique.args_keys"),
        ({"period": -60}, "unique.period"),
        ({"period": "an hour"}, "unique.period"),
        ({"states": ["running"]}, "unique.states"),
        ({"on_conflict": "merge"}, "unique.on_conflict"),
        ({"on_conflict": ["reject"]}, "unique.on_conflict"),
        ({"perod": "PT1H"}, "unique.perod"),
    ],
)
def test_an_invalid_policy_is_refused_by_name(policy: Any, field: str) -> None:
    """Unique jobs, sections 2.2 and 6.2."""
    with pytest.raises(InvalidRequestError) as refused:
        parse_unique_policy(policy)
    assert refused.value.details["field"] == field
    assert refused.value.code == "invalid_request"


# -------------------------------------------------------------------------------- the fingerprint
def test_the_fingerprint_is_the_sha_256_of_the_canonical_dimensions() -> None:
    """Unique jobs, section 4.3, its example with the hash that it really has."""
    job = Job.from_json(
        '{"type":"email.send","queue":"notifications","args":{"user_id":42,"template":"welcome",'
        '"locale":"en-US"},"meta":{"tenant_id":"acme","trace_id":"abc123"}}'
    )
    policy = parse_unique_policy({"keys": ["type", "queue", "args"], "args_keys": ["user_id"]})
    text = '{"args":{"user_id":42},"queue":"notifications","type":"email.send"}'
    assert fingerprint(job, policy) == hashlib.sha256(text.encode()).hexdigest()


def test_only_what_the_policy_names_counts() -> None:
    """Unique jobs, section 3."""

    def of(policy: UniquePolicy, *args: Any, **more: Any) -> str:
        return fingerprint(Job(more.pop("type", "a.b"), args, **more), policy)

    by_type = UniquePolicy.by()
    assert of(by_type, 1, queue="x") == of(by_type, 2, queue="y", meta={"m": 1})
    assert of(by_type) != of(by_type, type="a.c")
    by_queue = UniquePolicy.by("queue")
    assert of(by_queue, 1, queue="x") != of(by_queue, 1, queue="y")
    assert of(by_queue, type="a.b") != of(by_queue, type="a.c")
    by_args = UniquePolicy.by("args")
    assert of(by_args, 1, 2) != of(by_args, 2, 1)
    by_user = UniquePolicy.by("args", args_keys=["user"])
    assert of(by_user, {"user": 1, "x": 1}) == of(by_user, {"x": 2, "user": 1})
    assert of(by_user, {"user": 1}) != of(by_user, {"user": "1"})
    by_tenant = UniquePolicy.by("meta", meta_keys=["tenant"])
    assert of(by_tenant, meta={"tenant": 1, "trace": 1}) == of(by_tenant, meta={"tenant": 1})
    assert of(by_tenant, meta={"tenant": 1}) != of(by_tenant)


def test_args_keys_find_members_of_any_object_and_positions() -> None:
    """The core's args are an array; the unique jobs' examples have an object."""

    def found(args: Any, *keys: str) -> Any:
        job = Job("a.b")
        job["args"] = args
        return dimensions(job, UniquePolicy.by("args", args_keys=keys))["args"]

    assert found({"u": 1, "v": 2}, "u") == {"u": 1}
    assert found([{"u": 1}], "u") == {"u": 1}
    assert found(["x", {"v": 2}, {"u": 1, "v": 3}], "u", "v") == {"u": 1, "v": 2}
    assert found(["x", "y"], "1") == {"1": "y"}
    assert found(["x", {"1": "member"}], "1") == {"1": "member"}


@pytest.mark.parametrize("key", ["w", "2", "-1", "01", "\u0661", "9" * 5000])
def test_args_keys_that_the_job_does_not_have_count_as_absent(key: str) -> None:
    """Core, section 13.2; and a position is written in one way only."""
    job = Job("a.b", ["x", {"u": 1}])
    assert dimensions(job, UniquePolicy.by("args", args_keys=[key]))["args"] == {}
    assert dimensions(job, UniquePolicy.by("args", args_keys=[key, "u"]))["args"] == {"u": 1}


@given(st.lists(values, max_size=3), st.dictionaries(words, values, max_size=3))
def test_the_fingerprint_does_not_depend_on_who_wrote_the_job(
    args: list[Any], meta: dict[str, Any]
) -> None:
    """Unique jobs, section 4.2: order, Unicode form, and text or native values."""
    policy = UniquePolicy.by("queue", "args", "meta", meta_keys=[*meta, "absent"])
    job = Job("a.b", args, meta=meta)
    key = fingerprint(job, policy)
    assert fingerprint(Job("a.b", shuffled(args), meta=shuffled(meta)), policy) == key
    assert fingerprint(Job.from_json(job.to_json()), policy) == key
    assert fingerprint(Job("a.b", decomposed(args), meta=meta), policy) == key
    assert len(key) == 64
    assert fingerprint(Job("a.b", [*args, 0], meta=meta), policy) != key


@given(st.lists(values, max_size=3), st.lists(values, max_size=3))
def test_different_arguments_have_different_fingerprints(one: list[Any], other: list[Any]) -> None:
    """Unless they are the same canonical text."""
    policy = UniquePolicy.by("args")
    same = canonical_json(one) == canonical_json(other)
    assert (fingerprint(Job("a", one), policy) == fingerprint(Job("a", other), policy)) is same
