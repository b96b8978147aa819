"""The config of a binding as somebody registers it (ojs-serverless, 2.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from ojs_aws.domain.bindings import (
    LONGEST_PATTERNS,
    LONGEST_TIMEOUT_MS,
    NO_CONFIG,
    Binding,
    BindingConfig,
    limits_of,
    read_config,
    stored_config,
)
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.job_policies import Limit

WHOLE: Final[dict[str, JsonValue]] = {
    "max_concurrency": 100,
    "timeout_ms": 30_000,
    "retry": {"non_retryable_errors": ["exit.3", "a.*"]},
}


def test_2_1_a_config_is_shown_as_it_was_registered() -> None:
    """And one that says nothing shows nothing."""
    assert read_config({**WHOLE}).render() == WHOLE
    assert read_config({"retry": {"non_retryable_errors": []}}).render() == {
        "retry": {"non_retryable_errors": []}
    }
    absent: JsonValue = {"timeout_ms": None, "retry": None}
    for nothing in (None, {}, absent):
        assert read_config(nothing) == NO_CONFIG
    assert NO_CONFIG.render() == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "'config' of a binding must be an object with max_concurrency, retry, timeout_ms"),
        ({"max_concurrency": 0}, "config.max_concurrency.* from 1 to 1000000"),
        ({"max_concurrency": 1_000_001}, "from 1 to 1000000"),
        ({"weight": 3}, "'config.weight' is nothing that a binding says"),
        ({"signing_secret": "x"}, "'config.signing_secret' is what the stack says"),
        ({"timeout_ms": 0}, f"from 1 to {LONGEST_TIMEOUT_MS}"),
        ({"timeout_ms": LONGEST_TIMEOUT_MS + 1}, f"from 1 to {LONGEST_TIMEOUT_MS}"),
        ({"timeout_ms": True}, "a whole number"),
        ({"timeout_ms": 1.5}, "a whole number"),
        ({"timeout_ms": "30s"}, "a whole number"),
        ({"retry": "exit.3"}, "non_retryable_errors alone"),
        ({"retry": {}}, "non_retryable_errors alone"),
        ({"retry": {"non_retryable_errors": ["a"], "jitter": True}}, "the policy of each job|job"),
        ({"retry": {"non_retryable_errors": "exit.3"}}, "an array of non-empty strings"),
        ({"retry": {"non_retryable_errors": [""]}}, "an array of non-empty strings"),
        ({"retry": {"non_retryable_errors": ["a"] * 101}}, "at most 100"),
        (
            {"retry": {"non_retryable_errors": ["a" * (LONGEST_PATTERNS - 3)]}},
            f"at most {LONGEST_PATTERNS} characters",
        ),
    ],
)
def test_2_1_what_is_no_config_is_refused(value: Any, said: str) -> None:
    """Saying what is expected, or who says it."""
    with pytest.raises(OjsError, match=said):
        read_config(value)


def test_2_1_the_bounds_themselves_are_taken() -> None:
    """A millisecond, a week, and as many characters as an override has room for."""
    for timeout_ms in (1, LONGEST_TIMEOUT_MS):
        assert read_config({"timeout_ms": timeout_ms}).timeout_ms == timeout_ms
    longest = "a" * (LONGEST_PATTERNS - 4)
    found = read_config({"retry": {"non_retryable_errors": [longest]}})
    assert found.non_retryable_errors == (longest,)


@pytest.mark.parametrize(
    ("patterns", "forbids"), [(None, False), ((), False), (("a.*",), True), (("b", "c"), True)]
)
def test_7_2_errors_have_the_names_of_a_retry_policy(
    patterns: tuple[str, ...] | None, forbids: bool
) -> None:
    """A prefix that ends in ``.*``, or the name itself."""
    config = BindingConfig(non_retryable_errors=patterns)
    assert config.forbids("a.card", "c") is forbids
    assert not config.forbids("d")


def test_10_1_bindings_without_a_bound_limit_nothing() -> None:
    """So that a claim asks nobody."""
    plain = Binding(name="a", queues=["q"], target="t", types=["a.*"], reservation_s=1)
    assert limits_of([plain], "q") is None
    bounded = replace(plain, name="b", types=["b.*"], config=BindingConfig(max_concurrency=3))
    limit_of = limits_of([plain, bounded], "q")
    assert limit_of is not None
    assert (limit_of("a.x"), limit_of("c")) == (None, None)
    assert limit_of("b.x") == Limit(key="binding/q/b", concurrency=3)


def test_2_1_each_registered_member_is_over_the_stacks() -> None:
    """Also an empty list of errors."""
    stack = BindingConfig(non_retryable_errors=("a",), timeout_ms=5)
    assert NO_CONFIG.over(stack) == stack
    assert BindingConfig(timeout_ms=6).over(stack) == BindingConfig(
        non_retryable_errors=("a",), timeout_ms=6
    )
    assert BindingConfig(non_retryable_errors=()).over(stack) == BindingConfig(
        non_retryable_errors=(), timeout_ms=5
    )


@pytest.mark.parametrize("text", ['{"weight":3}', "[]", "null", "{}"])
def test_a_stored_config_of_a_later_version_is_read_as_far_as_it_is_known(text: str) -> None:
    """Else no job of its queue would run after a roll-back."""
    assert stored_config(text) == NO_CONFIG
