"""Limits as values: every form that is read, and what each lets begin when."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError, JsonValue
from ojs_aws.domain.job_policies import Limit, OnLimit, Window
from ojs_aws.domain.limits import (
    Bucket,
    LimitRefusal,
    LimitScope,
    queue_key,
    scope_of,
    take,
    tenant_key,
    type_key,
)
from ojs_aws.domain.limits.policies import (
    check_key,
    effective,
    override_of,
    read_limit,
    read_override,
)
from ojs_aws.domain.timestamps import Instant

NOW = Instant(1_760_000_000_000)


def later(milliseconds: int) -> Instant:
    """So long after now."""
    return Instant(NOW + milliseconds)


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        ({"key": "api", "concurrency": 5}, Limit(key="api", concurrency=5)),
        ({"max_per_second": 1}, Limit(key="queue:q", rate=Window(1, 1000))),
        ({"max_per_hour": 9}, Limit(key="queue:q", rate=Window(9, 3_600_000))),
        ({"key": "k", "rate": 1, "period": "second"}, Limit(key="k", rate=Window(1, 1000))),
        ({"limit": 9, "period": "PT1M"}, Limit(key="queue:q", rate=Window(9, 60_000))),
        (
            {
                "key": "tenant:acme:reports",
                "rate": {"limit": 100, "period": "PT1M"},
                "throttle": {"limit": 10, "period": "PT1S"},
                "on_limit": "drop",
            },
            Limit(
                key="tenant:acme:reports",
                rate=Window(100, 60_000),
                throttle=Window(10, 1000),
                on_limit=OnLimit.DROP,
            ),
        ),
        (None, None),
    ],
)
def test_each_form_is_read_and_kept(value: JsonValue, limit: Limit | None) -> None:
    """Those of the specification, and those of the cases."""
    assert read_limit(value, "q") == limit
    if limit is not None:
        assert read_limit(limit.render(), "q") == limit


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("fast", InvalidRequestError),
        ({"key": "no spaces", "concurrency": 1}, InvalidRequestError),
        ({"key": "", "concurrency": 1}, InvalidRequestError),
        ({"key": "k" * 257, "concurrency": 1}, InvalidRequestError),
        ({"key": "k", "concurrency": "5"}, InvalidRequestError),
        ({"key": "k", "concurrency": True}, InvalidRequestError),
        ({"key": "k", "rate": {"limit": 1}}, InvalidRequestError),
        ({"key": "k", "rate": 1.5, "period": "second"}, InvalidRequestError),
        ({"key": "k", "throttle": []}, InvalidRequestError),
        ({"key": "k", "concurrency": -1}, InvalidPolicyError),
        ({"key": "k", "rate": {"limit": 1, "period": "PT0S"}}, InvalidPolicyError),
        ({"key": "k", "rate": {"limit": 1, "period": "P40D"}}, InvalidPolicyError),
        ({"key": "k", "concurrency": 1, "on_limit": "explode"}, InvalidPolicyError),
        ({"key": "k", "concurrency": 1, "by": "type"}, InvalidRequestError),
        ({"key": "k", "concurrency": 1, "by": "meta"}, InvalidRequestError),
        ({"key": "k", "concurrency": 1, "by": []}, InvalidRequestError),
        ({"key": "k", "concurrency": 1, "by": "meta.missing"}, InvalidPolicyError),
        ({"key": "k", "concurrency": 1, "by": "args.7"}, InvalidPolicyError),
        ({"key": "k"}, InvalidPolicyError),
    ],
)
def test_what_cannot_be_followed_is_refused(
    value: JsonValue, error: type[InvalidRequestError]
) -> None:
    """Malformed 400, impossible 422."""
    with pytest.raises(error) as caught:
        read_limit(value, "q")
    assert str(caught.value.details["field"]).startswith("rate_limit")


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ({"meta": {}}, "This job has no meta.tenant, which 'rate_limit.by' names."),
        ({}, "This job has no meta.tenant, which 'rate_limit.by' names."),
        (
            {"meta": {"tenant": [1]}},
            "The meta.tenant of a job, which 'rate_limit.by' names, must be a text or a whole",
        ),
    ],
)
def test_an_error_names_the_value_that_a_job_lacks(of: Any, message: str) -> None:
    """Not that the path is wrong, which other jobs may well have."""
    with pytest.raises(InvalidPolicyError) as caught:
        read_limit({"concurrency": 1, "by": "meta.tenant"}, "q", of)
    assert str(caught.value).startswith(message)
    assert "meta.tenant" in (caught.value.hint or "")


def test_a_path_that_is_no_index_of_a_list_is_refused() -> None:
    """Digits of other scripts, and more of them than a number may have."""
    for part in ("1" * 5000, "\u0661", "-1"):
        with pytest.raises(InvalidPolicyError):
            read_limit({"concurrency": 1, "by": f"args.{part}"}, "q", {"args": ["a", "b"]})


def begin(bucket: Bucket, limit: Limit, now: Instant) -> Bucket:
    """A start that must be allowed."""
    after = take(bucket, limit, now)
    assert isinstance(after, Bucket)
    return after


def test_concurrency_counts_the_active_ones() -> None:
    """RL-001; 0 lets none begin."""
    limit = Limit(key="k", concurrency=2)
    two = begin(begin(Bucket(key="k"), limit, NOW), limit, NOW)
    refusal = take(two, limit, NOW)
    assert isinstance(refusal, LimitRefusal)
    assert (refusal.strategy, refusal.until > NOW) == ("concurrency", True)
    assert isinstance(take(Bucket(key="k"), Limit(key="k", concurrency=0), NOW), LimitRefusal)


def test_a_window_opens_with_its_first_start() -> None:
    """RL-R001: so many until its period is over, and then a new one."""
    limit = Limit(key="k", rate=Window(2, 1000))
    one = begin(Bucket(key="k"), limit, NOW)
    two = begin(one, limit, later(900))
    assert take(two, limit, later(999)) == LimitRefusal("rate", later(1000), 2, 2, 2.0, 1000)
    three = begin(two, limit, later(1000))
    assert (three.opened_at, three.started) == (later(1000), 1)


def test_a_throttle_spaces_starts_evenly() -> None:
    """RL-R002: ten a second means one each tenth of it."""
    limit = Limit(key="k", throttle=Window(10, 1000))
    one = begin(Bucket(key="k"), limit, NOW)
    assert take(one, limit, later(99)) == LimitRefusal("throttle", later(100), 10, 1, 10.0, 100)
    begin(one, limit, later(100))


def test_all_that_a_policy_names_must_be_satisfied() -> None:
    """Section 14.5."""
    limit = Limit(key="k", concurrency=1, rate=Window(9, 1000), throttle=Window(9, 1000))
    one = begin(Bucket(key="k"), limit, NOW)
    refusal = take(one, limit, later(500))
    assert isinstance(refusal, LimitRefusal)
    assert refusal.strategy == "concurrency"


@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("meta.tenant", "api:acme"),
        (["meta.tenant", "args.0.customer"], "api:acme:42"),
        ("args.1", "api:plain"),
        ("meta.odd", "api:sha256-" + hashlib.sha256(b"a b").hexdigest()[:32]),
    ],
)
def test_a_key_may_end_with_values_of_the_job(by: JsonValue, key: str) -> None:
    """Section 7.1: a partition for each; what a key cannot hold stands hashed."""
    of: dict[str, JsonValue] = {
        "meta": {"tenant": "acme", "odd": "a b"},
        "args": [{"customer": 42}, "plain"],
    }
    limit = read_limit({"key": "api", "by": by, "concurrency": 1}, "q", of)
    assert limit is not None
    assert limit.key == key
    assert read_limit(limit.render(), "q") == limit


def test_a_tenants_key_is_none_that_a_job_may_name() -> None:
    """Whatever colons its id has."""
    assert scope_of(tenant_key("queue:a")) == LimitScope(tenant="queue:a")
    assert scope_of("tenant:acme") is None
    with pytest.raises(InvalidRequestError):
        check_key(tenant_key("acme"))


def test_keys_of_queues_and_types_differ() -> None:
    """And a key that only looks like one is a client's own."""
    assert scope_of(queue_key("email")) == LimitScope(queue="email")
    assert scope_of(type_key("a.b")) == LimitScope(type="a.b")
    assert scope_of(type_key("a.b", "email")) == LimitScope("email", "a.b")
    for own in ("tenant:acme", "queue:", "queue:a:b", "type:a:b", "queue:a:type:"):
        assert scope_of(own) is None, own


def test_rl_r004_what_is_laid_down_counts_until_it_ends() -> None:
    """Member by member; null lifts."""
    own = Limit(key="k", concurrency=5, rate=Window(9, 1000), on_limit=OnLimit.DROP)
    written: JsonValue = {
        "concurrency": 0,
        "rate": None,
        "expires_at": "2025-10-09T08:54:20Z",
    }
    override = read_override(written, NOW)
    bucket = Bucket(key="k", override=override.text())
    now = effective(own, bucket, NOW, is_scope=False)
    assert now == Limit(key="k", concurrency=0, on_limit=OnLimit.DROP)
    assert effective(None, bucket, NOW, is_scope=True) == Limit(key="k", concurrency=0)
    assert override.until is not None
    assert override_of(bucket, override.until) is None
    assert effective(own, bucket, override.until, is_scope=False) == own
    assert effective(None, bucket, override.until, is_scope=False) is None


def test_a_job_cannot_get_around_the_limit_of_its_queue() -> None:
    """Section 7.2: only be stricter."""
    bucket = Bucket(key="queue:q", override='{"concurrency":5}')
    for own, bound in ((9, 5), (2, 2)):
        limit = effective(Limit(key="queue:q", concurrency=own), bucket, NOW, is_scope=True)
        assert limit is not None
        assert limit.concurrency == bound


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("", InvalidRequestError),
        ({"concurrency": "1"}, InvalidRequestError),
        ({"rate": {"limit": 1}}, InvalidRequestError),
        ({"concurrency": 1, "expires_at": "soon"}, InvalidRequestError),
        ({}, InvalidPolicyError),
        ({"expires_at": "2030-01-01T00:00:00Z"}, InvalidPolicyError),
        ({"concurrency": -1}, InvalidPolicyError),
    ],
)
def test_what_names_nothing_lays_nothing_down(
    value: JsonValue, error: type[InvalidRequestError]
) -> None:
    """Malformed 400, impossible 422."""
    with pytest.raises(error):
        read_override(value, NOW)


def test_what_is_over_lays_nothing_down() -> None:
    """It could only be a mistake."""
    with pytest.raises(InvalidPolicyError):
        read_override({"concurrency": 1, "expires_at": "2020-01-01T00:00:00Z"}, NOW)


def test_a_handler_may_hold_a_bucket_back() -> None:
    """RL-R003: until the instant it named."""
    limit = Limit(key="k", concurrency=5)
    held = Bucket(key="k", blocked_until=later(100))
    refusal = take(held, limit, later(99))
    assert isinstance(refusal, LimitRefusal)
    assert (refusal.strategy, refusal.until) == ("dynamic", later(100))
    begin(held, limit, later(100))


@pytest.mark.parametrize("name", ["key", "by"])
def test_what_is_laid_down_for_a_key_names_no_other(name: str) -> None:
    """Rather than ignored: an operator would believe in a limit that does not hold."""
    with pytest.raises(InvalidPolicyError) as refused:
        read_override({"concurrency": 1, name: "meta.tenant"}, NOW)
    assert refused.value.details["field"] == name


def test_what_is_missing_is_null_in_errors() -> None:
    """Not a name of Python's."""
    with pytest.raises(InvalidRequestError, match="'null'") as refused:
        read_limit({"key": "k", "rate": {"limit": 5}}, "q")
    assert refused.value.details["received"] == "null"
