"""Policies as values: checked where they are written, and sent as the wire has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ojs_aws import Job, RateLimit, RetryPolicy, UniquePolicy
from ojs_aws.client.retry_rules import short
from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.middleware import DeduplicationMiddleware


def test_a_policy_stands_wherever_the_wires_object_can() -> None:
    """A job sends its members, and nothing that was not given."""
    job = Job(
        "a.b",
        [],
        retry=RetryPolicy(max_attempts=5, initial_interval="2s"),
        unique=UniquePolicy(period=timedelta(hours=1)),
        rate_limit=RateLimit(key="crm", concurrency=2),
    )
    sent = json.loads(job.to_json())
    assert sent["retry"] == {"max_attempts": 5, "initial_interval": "2s"}
    assert sent["unique"] == {"keys": ["type", "args"], "period": "PT1H"}
    assert sent["rate_limit"] == {"key": "crm", "concurrency": 2}


def test_equal_policies_are_equal_and_hash_alike() -> None:
    one, other = RetryPolicy(max_attempts=5), RetryPolicy(max_attempts=5)
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == "RetryPolicy(max_attempts=5)"
    assert len({one, other, RetryPolicy()}) == 2


MISTAKES: list[tuple[Callable[..., Any], dict[str, Any], type[Exception], str]] = [
    (RetryPolicy, {"max_retries": 5}, TypeError, "did you mean 'max_attempts'?"),
    (RetryPolicy, {"max_atempts": 5}, TypeError, "did you mean 'max_attempts'?"),
    (RetryPolicy, {"zzz": 5}, TypeError, "has no option 'zzz'. It has max_attempts"),
    (RetryPolicy, {"max_attempts": "5"}, InvalidRequestError, "must be an integer"),
    (RetryPolicy, {"max_attempts": -1}, InvalidPolicyError, "from 0 to"),
    (RetryPolicy, {"initial_interval": 2}, InvalidRequestError, '"2s" or "2m", not 2'),
    (RetryPolicy, {"initial_interval": "soon"}, InvalidRequestError, 'received "soon"'),
    (RetryPolicy, {"initial_interval": "0s"}, InvalidPolicyError, "greater than zero"),
    (RetryPolicy, {"initial_interval": "2s", "max_interval": "1s"}, InvalidPolicyError, "at least"),
    (RetryPolicy, {"backoff_strategy": "expo"}, InvalidPolicyError, "one of none, linear"),
    (RetryPolicy, {"jitter": 1}, InvalidRequestError, "boolean"),
    (RetryPolicy, {"non_retryable_errors": "ValueError"}, InvalidRequestError, "array"),
    (RetryPolicy, {"on_exhaustion": "dead"}, InvalidPolicyError, "discard, dead_letter"),
    (UniquePolicy, {"by": ["args"]}, TypeError, "did you mean 'keys'?"),
    (UniquePolicy, {"keys": "args"}, InvalidRequestError, "array of different strings"),
    (UniquePolicy, {"keys": ["arg"]}, InvalidRequestError, "each one of type, queue, args, meta"),
    (UniquePolicy, {"period": 3600}, InvalidRequestError, '"3600s"'),
    (UniquePolicy, {"states": ["done"]}, InvalidRequestError, "unique.states"),
    (UniquePolicy, {"on_conflict": "skip"}, InvalidRequestError, "one of reject, replace"),
    (RateLimit, {"key": "crm"}, InvalidPolicyError, "limits nothing"),
    (RateLimit, {"key": "crm", "max_running": 5}, TypeError, "did you mean 'concurrency'?"),
    (RateLimit, {"key": "crm", "rate": 5}, TypeError, '(100, "1m")'),
    (RateLimit, {"key": "crm", "rate": (5, 60)}, InvalidRequestError, '"60s"'),
    (RateLimit, {"key": "c m", "concurrency": 1}, InvalidRequestError, "rate_limit.key"),
    (RateLimit, {"key": "crm", "concurrency": 1, "by": "x"}, InvalidRequestError, "meta.tenant"),
    (RateLimit, {"key": "crm", "concurrency": 1, "on_limit": "x"}, InvalidPolicyError, "on_limit"),
]


@pytest.mark.parametrize(("make", "given", "kind", "said"), MISTAKES)
def test_a_wrong_policy_is_refused_where_it_is_made(
    make: Callable[..., Any], given: dict[str, Any], kind: type[Exception], said: str
) -> None:
    """In one line, which says what is right."""
    with pytest.raises(kind) as refused:
        make(**given)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_option_reaches_the_backend() -> None:
    """The domain reads what the value sends."""
    policy = RetryPolicy(
        max_attempts=9,
        initial_interval="1m",
        backoff_coefficient=3,
        backoff_strategy="linear",
        max_interval=timedelta(hours=2),
        jitter=False,
        non_retryable_errors=("auth.*", "Fatal"),
        on_exhaustion="dead_letter",
    )
    read = parse_retry_policy(dict(policy))
    assert (read.max_attempts, read.initial_interval_ms, read.backoff_coefficient) == (9, 60_000, 3)
    assert (read.strategy, read.max_interval_ms, read.jitter) == ("linear", 7_200_000, False)
    assert read.non_retryable_errors == ("auth.*", "Fatal")
    assert read.on_exhaustion == "dead_letter"


def test_a_schedule_prints_the_delays_without_jitter() -> None:
    """And holds them as timedeltas."""
    policy = RetryPolicy(max_attempts=5, initial_interval="2s", max_interval="10s")
    assert str(policy.schedule()) == "2s, 4s, 8s, 10s"
    assert policy.schedule() == tuple(timedelta(seconds=s) for s in (2, 4, 8, 10))
    assert str(RetryPolicy(max_attempts=1).schedule()) == "no retries"
    assert str(RetryPolicy(max_attempts=0).schedule()) == "no retries"


def test_the_schedule_of_very_many_retries_is_short() -> None:
    policy = RetryPolicy(max_attempts=1_000_000, backoff_strategy="none")
    assert len(policy.schedule()) == 1000
    assert str(policy.schedule()).endswith("1s and 980 more")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0s"), (1, "1ms"), (1500, "1s500ms"), (5_400_000, "1h30m"), (90_061_001, "1d1h")],
)
def test_a_short_duration_has_up_to_two_units(milliseconds: int, text: str) -> None:
    assert short(milliseconds) == text


def test_the_deduplication_takes_a_policy_too() -> None:
    """The public one, as well as the domain's."""
    policy = DeduplicationMiddleware(policy=UniquePolicy(keys=["args"]))._policy
    assert policy.keys == {"type", "args"}
