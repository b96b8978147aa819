"""The retry policy: formulas, jitter, patterns and validation (ojs-retry)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError, JsonValue
from ojs_aws.domain.retry import (
    BackoffStrategy,
    Exhaustion,
    RetryPolicy,
    parse_retry_policy,
    read_retry_policy,
)


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
        (
            {"backoff_strategy": "polynomial", "initial_interval": "PT15S"}
            | {"backoff_coefficient": 4.0, "max_interval": "PT1H"},
            [15, 240, 1215, 3600, 3600],
        ),
        (
            {"initial_interval": "PT10S", "backoff_coefficient": 1.0, "max_interval": "PT10S"},
            [10] * 59,
        ),
        ({"initial_interval": "PT30S", "max_interval": "PT15M"}, [30, 60, 120, 240, 480, 900]),
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
        ("backoff_coefficient", 1000.5),
        pytest.param("backoff_coefficient", 10**400, id="huge"),
        ("initial_interval", "PT0S"),
        ("initial_interval", "PT0.0001S"),
        ("max_interval", "PT0.999S"),
        ("max_interval_ms", -1),
        ("max_interval_ms", 10**30),
        ("initial_interval_ms", -1),
        ("backoff_strategy", "fibonacci"),
        ("on_exhaustion", "explode"),
        ("non_retryable_errors", ["x"] * 101),
    ],
)
def test_a_policy_that_cannot_be_followed_is_unprocessable(field: str, value: JsonValue) -> None:
    """ENV-047: 422, and the message names the field."""
    name = field.removesuffix("_ms")
    with pytest.raises(InvalidPolicyError, match=name) as refused:
        parse_retry_policy({field: value})
    assert refused.value.details["field"] in {f"retry.{name}", f"retry.{field}"}
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
        ("non_retryable_errors", [""]),
        ("non_retryable_errors", {}),
        ("backoff_coefficient", True),
        ("backoff_strategy", 1),
        ("max_interval", "-PT1S"),
        ("max_interval_ms", 1.5),
        ("initial_interval", True),
        ("on_exhaustion", 7),
    ],
)
def test_a_malformed_policy_is_a_bad_request(field: str, value: JsonValue) -> None:
    """400, with the field in the details."""
    with pytest.raises(InvalidRequestError) as refused:
        parse_retry_policy({field: value})
    assert refused.value.status == 400
    assert refused.value.details["field"] == f"retry.{field}"


@pytest.mark.parametrize("value", [[], "x", 3, True])
def test_a_policy_is_an_object(value: JsonValue) -> None:
    """Or nothing."""
    with pytest.raises(InvalidRequestError, match="retry"):
        parse_retry_policy(value)


@pytest.mark.parametrize(
    ("retry", "low", "high"),
    [(1, 5, 15), (2, 10, 30), (3, 20, 60), (4, 40, 120), (5, 80, 240), (6, 150, 300)],
)
def test_jitter_ranges_are_those_of_the_example(retry: int, low: int, high: int) -> None:
    """Section 5.3: the cap counts before and after the jitter; the whole range is used."""
    policy = parse_retry_policy({"initial_interval": "PT10S"})
    delays = [policy.delay_ms(retry, f"{n}") for n in range(500)]
    assert low * 1000 <= min(delays) < low * 1030
    assert high * 970 < max(delays) <= high * 1000


def test_a_cap_below_the_first_interval_is_refused_with_both() -> None:
    """Section 11.1."""
    with pytest.raises(InvalidPolicyError, match=r"at least the initial interval \(PT10M\)"):
        parse_retry_policy({"initial_interval": "PT10M", "max_interval": "PT9M"})
    same: dict[str, JsonValue] = {"initial_interval": "PT10M", "max_interval": "PT10M"}
    assert parse_retry_policy(same).max_interval_ms == 600_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", 0),
        ("max_attempts", 8640),
        ("max_attempts", 1_000_000),
        ("backoff_coefficient", 1),
        ("backoff_coefficient", 1000.0),
        ("initial_interval", "PT0.5S"),
        ("initial_interval_ms", 1),
        ("max_interval", "PT1S"),
        ("max_interval", "P1D"),
        ("non_retryable_errors", []),
        ("non_retryable_errors", ["x"] * 100),
        ("on_exhaustion", "discard"),
        ("x_unknown", object),
    ],
)
def test_what_the_schema_allows_is_read(field: str, value: JsonValue) -> None:
    """Section 14: bounds included; attributes that we do not know are no reason to refuse."""
    parse_retry_policy({field: value})


@pytest.mark.parametrize("alias", ["backoff", "strategy", "backoff_strategy"])
def test_the_strategy_goes_by_the_names_that_clients_use(alias: str) -> None:
    """Section 3 names the strategies, not the attribute."""
    assert parse_retry_policy({alias: "linear"}).strategy is BackoffStrategy.LINEAR
    assert parse_retry_policy({"backoff_multiplier": 3}).backoff_coefficient == 3.0


def test_the_specifications_name_outweighs_the_clients() -> None:
    """In whatever order they come; null says nothing."""
    own, other = ("initial_interval", "PT2S"), ("initial_interval_ms", 5)
    for pairs in ((own, other), (other, own)):
        assert parse_retry_policy(dict(pairs)).initial_interval_ms == 2000
    nothing: dict[str, JsonValue] = {"initial_interval": None, "initial_interval_ms": 5}
    assert parse_retry_policy(nothing).initial_interval_ms == 5


def test_a_pattern_without_its_dot_is_a_name() -> None:
    """Section 6.2: only ``.*`` at the end is a wildcard."""
    policy = RetryPolicy(non_retryable_errors=("auth*", "*", "a.*.c"))
    assert not policy.forbids("auth", "authx", "x", "a.b.c")
    assert policy.forbids("x", "*")
    assert not policy.forbids()


_POLICIES = st.builds(
    RetryPolicy,
    max_attempts=st.integers(0, 1000),
    initial_interval_ms=st.integers(1, 10**9),
    backoff_coefficient=st.floats(1, 1000),
    strategy=st.sampled_from(list(BackoffStrategy)),
    max_interval_ms=st.integers(1, 10**9),
    jitter=st.booleans(),
)


@given(_POLICIES, st.integers(1, 400), st.text(max_size=8))
def test_ret_04_ret_06_no_delay_is_above_the_cap(
    policy: RetryPolicy, retry: int, seed: str
) -> None:
    """Sections 3.5 and 5.3: before the jitter and after it."""
    assert 0 <= policy.delay_ms(retry, seed) <= policy.max_interval_ms


@given(_POLICIES, st.integers(1, 400))
def test_without_jitter_delays_never_shrink(policy: RetryPolicy, retry: int) -> None:
    """Section 2.2: a failing system is never asked more often from retry to retry."""
    plain = replace(policy, jitter=False)
    assert plain.delay_ms(retry, "") <= plain.delay_ms(retry + 1, "")


@given(_POLICIES, st.integers(1, 400), st.text(max_size=8))
def test_ret_05_jitter_stays_between_half_and_one_and_a_half(
    policy: RetryPolicy, retry: int, seed: str
) -> None:
    """Section 5.2, to the rounding of a millisecond."""
    plain = replace(policy, jitter=False).delay_ms(retry, "")
    jittered = replace(policy, jitter=True).delay_ms(retry, seed)
    assert plain * 0.5 - 1 <= jittered <= plain * 1.5 + 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "max_attempts",
                        "initial_interval",
                        "initial_interval_ms",
                        "max_interval",
                        "backoff_coefficient",
                        "backoff_strategy",
                        "jitter",
                        "non_retryable_errors",
                        "on_exhaustion",
                        "x_of_tomorrow",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_is_stored_is_a_policy_that_can_be_followed(stored: JsonValue) -> None:
    """An item that another version accepted never becomes unreadable."""
    policy = read_retry_policy(stored)
    assert policy.max_attempts >= 0
    assert 0 <= policy.delay_ms(3, "seed") <= policy.max_interval_ms


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({"max_attempts": 9, "backoff_strategy": "fibonacci"}, RetryPolicy(max_attempts=9)),
        ({"max_attempts": -1, "jitter": False}, RetryPolicy(jitter=False)),
        ({"initial_interval": "soon", "max_interval": "PT9S"}, RetryPolicy(max_interval_ms=9000)),
        ({"initial_interval": "PT0S"}, RetryPolicy()),
        ({"on_exhaustion": "archive"}, RetryPolicy()),
        ([], RetryPolicy()),
        (
            {"initial_interval": "PT10M"},
            RetryPolicy(initial_interval_ms=600_000, max_interval_ms=600_000),
        ),
        (
            {"initial_interval": "PT10M", "max_interval": "PT1M"},
            RetryPolicy(initial_interval_ms=600_000, max_interval_ms=60_000),
        ),
    ],
)
def test_reading_keeps_what_it_can_follow(stored: JsonValue, read: RetryPolicy) -> None:
    """The rest takes the defaults; enqueuing is as strict as ever."""
    assert read_retry_policy(stored) == read


@given(_POLICIES)
def test_what_enqueuing_accepts_is_read_the_same(policy: RetryPolicy) -> None:
    """Strict and lenient reading differ in nothing that was accepted."""
    document: JsonValue = {
        "max_attempts": policy.max_attempts,
        "initial_interval_ms": policy.initial_interval_ms,
        "max_interval_ms": max(policy.max_interval_ms, policy.initial_interval_ms),
        "backoff_coefficient": policy.backoff_coefficient,
        "backoff_strategy": str(policy.strategy),
        "jitter": policy.jitter,
    }
    assert read_retry_policy(document) == parse_retry_policy(document)
