"""Limits as values: every form that is read, and what each lets begin when."""

from __future__ import annotations

import pytest

from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError, JsonValue
from ojs_aws.domain.limits import Bucket, Limit, OnLimit, Refusal, Window, read_limit, take
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
        ({"key": "k", "concurrency": 1, "on_limit": "reschedule"}, InvalidPolicyError),
        ({"key": "k"}, InvalidPolicyError),
    ],
)
def test_what_cannot_be_followed_is_refused(
    value: JsonValue, error: type[InvalidRequestError]
) -> None:
    """Malformed 400, impossible 422; rescheduling is no transition of the core's table."""
    with pytest.raises(error) as caught:
        read_limit(value, "q")
    assert str(caught.value.details["field"]).startswith("rate_limit")


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
    assert isinstance(refusal, Refusal)
    assert (refusal.strategy, refusal.until > NOW) == ("concurrency", True)
    assert isinstance(take(Bucket(key="k"), Limit(key="k", concurrency=0), NOW), Refusal)


def test_a_window_opens_with_its_first_start() -> None:
    """RL-R001: so many until its period is over, and then a new one."""
    limit = Limit(key="k", rate=Window(2, 1000))
    one = begin(Bucket(key="k"), limit, NOW)
    two = begin(one, limit, later(900))
    assert take(two, limit, later(999)) == Refusal("rate", later(1000))
    three = begin(two, limit, later(1000))
    assert (three.opened_at, three.started) == (later(1000), 1)


def test_a_throttle_spaces_starts_evenly() -> None:
    """RL-R002: ten a second means one each tenth of it."""
    limit = Limit(key="k", throttle=Window(10, 1000))
    one = begin(Bucket(key="k"), limit, NOW)
    assert take(one, limit, later(99)) == Refusal("throttle", later(100))
    begin(one, limit, later(100))


def test_all_that_a_policy_names_must_be_satisfied() -> None:
    """Section 14.5."""
    limit = Limit(key="k", concurrency=1, rate=Window(9, 1000), throttle=Window(9, 1000))
    one = begin(Bucket(key="k"), limit, NOW)
    refusal = take(one, limit, later(500))
    assert isinstance(refusal, Refusal)
    assert refusal.strategy == "concurrency"
