"""The settings of queues: what is accepted, in which words, and what is refused by its field."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import MAX_LINES
from ojs_aws.domain.errors import InvalidRequestError, OjsError, UnsupportedError
from ojs_aws.domain.job_policies import Retention
from ojs_aws.domain.queues.config import limit_of, read_config
from ojs_aws.domain.queues.config_changes import changed_members, check_policy, check_wide

EVERYTHING: Any = {
    "max_size": 100_000,
    "concurrency": 20,
    "rate_limit": {"limit": 100, "period": "PT1M"},
    "visibility_timeout": 300,
    "default_timeout": 1800,
    "retention": {"completed": "P3D", "discarded": "P30D"},
    "dead_letter_ttl": "P90D",
    "allowed_job_types": ["payment.*"],
    "default_retry": {"max_attempts": 5, "initial_interval": "PT5S", "backoff_coefficient": 3.0},
}


def test_the_settings_of_the_specification_are_read() -> None:
    """ojs-queue-config, sections 6 and 9.2."""
    config = read_config(changed_members({}, EVERYTHING))
    assert config.max_size == 100_000
    assert (config.visibility_timeout_ms, config.default_timeout_ms) == (300_000, 1_800_000)
    kept = Retention(completed_s=3 * 86_400, discarded_s=30 * 86_400, dead_letter_s=90 * 86_400)
    assert config.retention == kept
    assert config.allows("payment.charge")
    assert not config.allows("email.send")
    limit = limit_of(EVERYTHING, "payments")
    assert limit is not None
    assert (limit.key, limit.concurrency) == ("queue:payments", 20)
    assert limit.rate is not None
    assert (limit.rate.limit, limit.rate.period_ms) == (100, 60_000)


def test_backpressure_is_another_word_for_the_bound() -> None:
    """ojs-backpressure, section 6.2; zero means no bound."""
    bound: Any = {
        "max_depth": 10,
        "strategy": "reject",
        "warning_threshold": 0.5,
        "max_size_bytes": 0,
    }
    members = changed_members({}, {"backpressure": bound})
    assert members == {"max_size": 10, "warning_threshold": 0.5}
    assert changed_members(members, {"backpressure": {"max_depth": 0}}) == {
        "warning_threshold": 0.5
    }
    assert changed_members(members, {"backpressure": None}) == {}


def test_a_change_leaves_alone_what_it_does_not_name() -> None:
    """And null takes a setting away; retention is changed member by member."""
    members = changed_members({}, {"max_size": 5, "retention": {"completed": "P1D"}})
    after = changed_members(members, {"retention": {"discarded": "P2D"}, "max_size": None})
    assert after == {"retention": {"completed": "P1D", "discarded": "P2D"}}
    nulls: Any = {"retention": {"completed": None, "discarded": None}}
    assert changed_members(after, nulls) == {}
    assert members == {"max_size": 5, "retention": {"completed": "P1D"}}


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"max_sise": 1}, "max_sise"),
        ({"max_size": -1}, "max_size"),
        ({"max_size": True}, "max_size"),
        ({"max_size": "10"}, "max_size"),
        ({"warning_threshold": 1.5}, "warning_threshold"),
        ({"backpressure": []}, "backpressure"),
        ({"backpressure": {"depth": 1}}, "backpressure.depth"),
        ({"backpressure": {"max_depth": -1}}, "backpressure.max_depth"),
        ({"backpressure": {"strategy": "explode"}}, "backpressure.strategy"),
        ({"visibility_timeout": 0}, "visibility_timeout"),
        ({"visibility_timeout": 43_201}, "visibility_timeout"),
        ({"default_timeout": "PT0S"}, "default_timeout"),
        ({"retention": {"completed": "soon"}}, "retention.completed"),
        ({"retention": {"completed": "PT0S"}}, "retention.completed"),
        ({"retention": {"active": "P1D"}}, "retention.active"),
        ({"allowed_job_types": []}, "allowed_job_types"),
        ({"allowed_job_types": "payment.*"}, "allowed_job_types"),
        ({"default_retry": 3}, "default_retry"),
        ({"default_retry": {"max_attempts": "3"}}, "default_retry.max_attempts"),
        ({"concurrency": -1}, "concurrency"),
        ({"rate_limit": {"limit": 1}}, "rate_limit.period"),
        ("fast", "config"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(patch: Any, field: str) -> None:
    """With status 400, or 422 where it is well formed."""
    with pytest.raises(InvalidRequestError) as refused:
        changed_members({}, patch)
    assert str(refused.value.details["field"]).endswith(field)


@pytest.mark.parametrize(
    "patch",
    [
        {"overflow_policy": "drop_oldest"},
        {"backpressure": {"strategy": "block"}},
        {"max_size_bytes": 1000},
        {"dead_letter_queue": "other"},
        {"producers": ["me"]},
    ],
)
def test_what_this_backend_does_not_do_it_does_not_accept(patch: Any) -> None:
    """422, naming the field; nothing that is accepted is ignored."""
    with pytest.raises(UnsupportedError) as refused:
        changed_members({}, patch)
    assert refused.value.details["field"]


def test_settings_have_a_size() -> None:
    """They stand in one item, which processes read again and again."""
    with pytest.raises(OjsError, match="8192"):
        changed_members({}, {"allowed_job_types": [f"a{n}." + "x" * 200 for n in range(100)]})


def test_a_queue_has_up_to_64_shards() -> None:
    """One is the default, and not stored; the deployment says how many it can have at most."""
    assert changed_members({"ordering_shards": 4}, {"ordering_shards": 1}) == {}
    for shards in (2, MAX_LINES):
        stored = changed_members({}, {"ordering_shards": shards})
        assert read_config(stored).shards == shards
        check_wide("q", stored, lines=shards)
        with pytest.raises(UnsupportedError, match=f"at most {shards - 1} here, not {shards}"):
            check_wide("q", stored, lines=shards - 1)
    assert read_config({}).shards == 1
    for value in (0, -1, "1", True, 1.5, MAX_LINES + 1):
        with pytest.raises(InvalidRequestError):
            changed_members({}, {"ordering_shards": value})


def test_the_default_policy_makes_no_queue_wide() -> None:
    """How many lines a queue has is declared for each."""
    with pytest.raises(UnsupportedError, match="setting of one queue"):
        check_policy({"ordering_shards": 2})


def test_one_setting_has_one_value() -> None:
    """The bound has two names: the same value under both is well, two values are not."""
    both: Any = {"max_size": 5, "backpressure": {"max_depth": 5}}
    assert changed_members({}, both) == {"max_size": 5}
    with pytest.raises(InvalidRequestError) as refused:
        changed_members({}, {**both, "max_size": 6})
    assert refused.value.details["field"] == "backpressure.max_depth"


def test_a_fair_queue_may_learn_what_starts_cost() -> None:
    """Only where its fairness says so."""
    cases: list[tuple[Any, bool]] = [({}, False), ({"by": "tenant"}, False)]
    for value, learns in [*cases, ({"cost": "run_time"}, True)]:
        config = read_config(changed_members({}, {"fairness": value}))
        assert (config.fair_by is not None, config.learns_costs) == (True, learns)
    assert not read_config({}).learns_costs
