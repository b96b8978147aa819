"""Unique policies as clients write them."""

from __future__ import annotations

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.unique import as_specified
from ojs_aws.domain.unique.keys import (
    DIMENSIONS,
    chosen_key,
    counts_queue,
    named_key,
    parse_unique_policy,
    unique_key,
)

KEY = "a" * 64


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"keys": ["type"]}, {"keys": ["type"]}),
        ({"key": ["type", "args"]}, {"keys": ["type", "args"]}),
        ({"key": ["user"]}, {"keys": ["args"], "args_keys": ["user"]}),
        ({"key": ["queue", "user"]}, {"keys": ["queue", "args"], "args_keys": ["user"]}),
        ({"key": ["args", "user"]}, {"keys": ["args"], "args_keys": ["user"]}),
        ({"key": ("type",)}, {"keys": ["type"]}),
        ({"keys": ["type"], "within": "5m"}, {"keys": ["type"], "period": "5m"}),
        ({"within": "5m", "period": "6m"}, {"within": "5m", "period": "6m"}),
        ({"period": 90}, {"period": "PT90S"}),
        ({"period_ms": 1500}, {"period": "PT1.5S"}),
        ({"period_ms": 1500, "period": 3}, {"period": "PT3S"}),
        ({"period_ms": -1}, {"period_ms": -1}),
        ({"period": "PT1H", "states": None}, {"period": "PT1H"}),
        ({"on_conflict": "use_existing"}, {"on_conflict": "ignore"}),
        ({"keys": ["type"], "key": ["args"]}, {"keys": ["type"], "key": ["args"]}),
        ({"key": [1]}, {"key": [1]}),
        ({"key": ""}, {"key": ""}),
        ({"period": True}, {"period": True}),
    ],
)
def test_a_policy_is_read_as_the_specifications(
    written: dict[str, JsonValue], meant: dict[str, JsonValue]
) -> None:
    """What cannot be meant stays, to be refused by its name."""
    assert as_specified(written, DIMENSIONS) == (meant, "")


def test_the_policy_of_the_client_is_not_changed() -> None:
    """It goes back to the client."""
    written: dict[str, JsonValue] = {"key": ["user"], "period": 90, "states": None}
    as_specified(written, DIMENSIONS)
    assert written == {"key": ["user"], "period": 90, "states": None}


def test_a_name_of_the_callers_own_makes_the_key() -> None:
    """Of jobs of that type (section 2.2: ``type`` always counts)."""
    policy = parse_unique_policy({"key": "nightly", "within": "1h"})
    assert (policy.name, policy.period_ms) == ("nightly", 3_600_000)
    job = Job("a.b", [1])
    assert unique_key(job, policy) == named_key("a.b", "nightly")
    assert named_key("a.b", "nightly") != named_key("a.c", "nightly")
    job["unique_key"] = KEY
    assert unique_key(job, policy) == KEY


@pytest.mark.parametrize("wrong", [{"key": ""}, {"key": [1]}, {"key": ["args"], "keys": ["type"]}])
def test_a_key_that_cannot_be_meant_is_refused_by_its_name(wrong: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_unique_policy(wrong)
    assert refused.value.details["field"] == "unique.key"


@pytest.mark.parametrize(
    ("policy", "is_counted"),
    [
        ({"keys": ["queue"]}, True),
        ({"key": ["queue", "user"]}, True),
        ({"key": ["user"]}, False),
        ({"key": "queue"}, False),
        ({"keys": "queue"}, False),
        ("queue", False),
        (None, False),
    ],
)
def test_a_policy_counts_the_queue_in_every_form(policy: JsonValue, *, is_counted: bool) -> None:
    """Credentials with bounds need it."""
    assert counts_queue(policy) is is_counted


def test_the_chosen_key_of_a_job_is_its_own_or_that_of_its_name() -> None:
    """None where the policy makes a fingerprint, or is none."""
    named = Job("a.b", [1], unique={"key": "nightly"})
    assert chosen_key(named) == named_key("a.b", "nightly")
    named["unique_key"] = KEY
    assert chosen_key(named) == KEY
    assert chosen_key(Job("a.b", [1], unique={"keys": ["type"]})) is None
    assert chosen_key(Job("a.b", [1])) is None
