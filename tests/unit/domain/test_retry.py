"""The retry policy: formulas, jitter, patterns and validation (ojs-retry)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError, JsonValue
from ojs_aws.domain.retry import BackoffStrategy, Exhaustion, RetryPolicy, parse_retry_policy


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        ({}, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]),
        ({"backoff_coefficient": 1.0}, [1, 1, 1]),
        ({"backoff_strategy": "none", "initial_interval": "PT5S"}, [5, 5, 5]),
        ({"backoff_strategy": "constant"}, [1, 1]),
        ({"backoff_strategy": "linear", "initial_interval": "PT5S"}, [5, 10, 15, 20]),
        ({"backoff_strategy": "polynomial", "backoff_coefficient": 4}, [1, 16, 81, 256, 300]),
        ({"backoff_coefficient": 1000, "max_interval": "PT24H"}, [1, 1000, 86400]),
    ],
)
def test_delays_are_the_specifications(policy: dict[str, JsonValue], seconds: list[int]) -> None:
    """Section 3, with the cap of 3.5."""
    parsed = parse_retry_policy({**policy, "jitter": False})
    assert [parsed.delay_ms(n + 1, "") for n in range(len(seconds))] == [s * 1000 for s in seconds]


@given(
    st.integers(1, 5000),
    st.text(),
    st.sampled_from(list(BackoffStrategy)),
    st.floats(1, 1000),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
def test_jitter_stays_in_its_bounds_and_below_the_cap(
    retry: int, seed: str, strategy: BackoffStrategy, coefficient: float, first: int, cap: int
) -> None:
    """Section 5: half to one and a half times the delay, capped again; any retry is computable."""
    plain = RetryPolicy(
        initial_interval_ms=first,
        max_interval_ms=cap,
        strategy=strategy,
        backoff_coefficient=coefficient,
        jitter=False,
    )
    delay = plain.delay_ms(retry, seed)
    jittered = RetryPolicy(
        initial_interval_ms=first,
        max_interval_ms=cap,
        strategy=strategy,
        backoff_coefficient=coefficient,
    ).delay_ms(retry, seed)
    assert 0 <= delay <= cap
    assert delay * 0.5 - 1 <= jittered <= min(delay * 1.5 + 1, cap)


def test_jitter_is_the_same_for_one_attempt_and_spreads_over_many() -> None:
    """Decision 2: settlers agree; jobs do not retry together."""
    policy = RetryPolicy(initial_interval_ms=10_000)
    assert policy.delay_ms(1, "job:1") == policy.delay_ms(1, "job:1")
    delays = sorted(policy.delay_ms(1, f"job-{n}:1") for n in range(2000))
    assert 5_000 <= delays[0] < 5_100
    assert 14_900 < delays[-1] <= 15_000
    assert abs(sum(delays) / 2000 - 10_000) < 200


@pytest.mark.parametrize(
    ("name", "matches"),
    [
        ("validation.payload_invalid", True),
        ("validation.schema_error", False),
        ("auth.token_expired", True),
        ("auth", False),
        ("external.auth.failure", False),
    ],
)
def test_patterns_match_exactly_or_by_prefix(name: str, matches: bool) -> None:
    """Section 6.2, its table."""
    policy = RetryPolicy(non_retryable_errors=("validation.payload_invalid", "auth.*"))
    assert policy.forbids(name) is matches


def test_a_partial_policy_keeps_the_other_defaults() -> None:
    """Section 8.1."""
    assert parse_retry_policy(None) == parse_retry_policy({}) == RetryPolicy()
    policy = parse_retry_policy({"max_attempts": 10, "on_exhaustion": "dead_letter"})
    assert policy == RetryPolicy(max_attempts=10, on_exhaustion=Exhaustion.DEAD_LETTER)
    forms: dict[str, JsonValue] = {
        "initial_interval_ms": 1500,
        "max_interval": "90s",
        "jitter": None,
    }
    assert parse_retry_policy(forms) == RetryPolicy(
        initial_interval_ms=1500, max_interval_ms=90_000
    )


def test_a_default_cap_gives_way_to_a_long_first_interval() -> None:
    """A client that only asks for ten minutes gets ten minutes."""
    policy = parse_retry_policy({"initial_interval": "PT10M", "jitter": False})
    assert policy.delay_ms(1, "") == policy.delay_ms(2, "") == 600_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", -1),
        ("max_attempts", 1_000_001),
        ("initial_interval_ms", 0),
        ("max_interval", "PT0.5S"),
        ("backoff_coefficient", 0.5),
        ("backoff_coefficient", 0),
        ("initial_interval_ms", -1),
        ("backoff_strategy", "fibonacci"),
        ("on_exhaustion", "explode"),
        ("non_retryable_errors", ["x"] * 101),
    ],
)
def test_a_policy_that_cannot_be_followed_is_unprocessable(field: str, value: JsonValue) -> None:
    """ENV-047: 422, and the message names the field."""
    with pytest.raises(InvalidPolicyError, match=field.removesuffix("_ms")) as refused:
        parse_retry_policy({field: value})
    assert (refused.value.status, refused.value.type) == (422, "validation_error")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", "3"),
        ("max_attempts", True),
        ("max_attempts", 1.5),
        ("backoff_coefficient", "2"),
        ("initial_interval", "soon"),
        ("initial_interval", []),
        ("jitter", 1),
        ("non_retryable_errors", "x"),
        ("non_retryable_errors", [1]),
        ("on_exhaustion", 7),
    ],
)
def test_a_malformed_policy_is_a_bad_request(field: str, value: JsonValue) -> None:
    """400, with the field in the details."""
    with pytest.raises(InvalidRequestError) as refused:
        parse_retry_policy({field: value})
    assert refused.value.status == 400
    assert str(refused.value.details["field"]).startswith(f"retry.{field}")


@pytest.mark.parametrize("value", [[], "x", 3, True])
def test_a_policy_is_an_object(value: JsonValue) -> None:
    """Or nothing."""
    with pytest.raises(InvalidRequestError, match="retry"):
        parse_retry_policy(value)
