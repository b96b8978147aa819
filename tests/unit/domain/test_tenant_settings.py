"""What is set for a tenant: how it is written, kept in its bucket, and followed by claims."""

from __future__ import annotations

import pytest

from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError, JsonValue
from ojs_aws.domain.job_policies import Window
from ojs_aws.domain.limits import Bucket, LimitRefusal, take, tenant_key
from ojs_aws.domain.limits.policies import LARGEST, effective, override_of
from ojs_aws.domain.tenants import UNLIMITED, TenantSettings, settings_in
from ojs_aws.domain.timestamps import Instant

NOW = Instant(1_760_000_000_000)
KEY = tenant_key("acme")


def kept(settings: TenantSettings, active: int = 0) -> Bucket:
    """The bucket that keeps them."""
    return Bucket(key=KEY, active=active, override=settings.text())


@pytest.mark.parametrize(
    "settings",
    [
        UNLIMITED,
        TenantSettings(max_concurrency=0),
        TenantSettings(max_concurrency=20),
        TenantSettings(is_suspended=True),
        TenantSettings(max_concurrency=20, is_suspended=True),
    ],
)
def test_settings_come_back_from_the_bucket_that_keeps_them(settings: TenantSettings) -> None:
    """And FETCH must know of those that may let a job wait."""
    assert settings_in(kept(settings)) == settings
    assert settings.limits_starts is (settings != UNLIMITED)


MINUTE = Window(1_000, 60_000)
RATE = {"limit": 1_000, "period": "PT1M"}


@pytest.mark.parametrize(
    ("limits", "settings"),
    [
        ({"max_enqueue_rate": RATE}, TenantSettings(max_enqueue_rate=MINUTE)),
        ({"max_queue_depth": 0}, TenantSettings(max_queue_depth=0)),
        ({"max_scheduled": 7}, TenantSettings(max_scheduled=7)),
    ],
)
def test_limits_of_enqueuing_let_no_job_wait(
    limits: dict[str, JsonValue], settings: TenantSettings
) -> None:
    """So FETCH need not know of them; and they come back from the bucket."""
    assert UNLIMITED.with_limits(limits) == settings
    assert (settings.limits(), settings.limits_starts) == (limits, False)
    assert settings.limits_depth is (settings.max_enqueue_rate is None)
    assert settings_in(kept(settings)) == settings
    assert effective(None, kept(settings), NOW, is_scope=True) is None
    assert settings.with_limits(dict.fromkeys(limits)) == UNLIMITED
    every = settings.with_limits({"max_concurrency": 2})
    assert every.limits() == {"max_concurrency": 2, **limits}


def test_a_weight_lets_no_job_wait_and_bounds_nothing() -> None:
    """It comes back from the bucket, and null lifts it."""
    weighed = UNLIMITED.with_limits({"fairness_weight": 2.5})
    assert weighed == TenantSettings(fairness_weight=2.5)
    assert (weighed.limits(), weighed.limits_starts) == ({"fairness_weight": 2.5}, False)
    assert not weighed.limits_depth
    assert settings_in(kept(weighed)) == weighed
    assert weighed.with_limits({"max_scheduled": 1}).fairness_weight == 2.5
    assert weighed.with_limits({"fairness_weight": None}) == UNLIMITED
    with pytest.raises(InvalidRequestError) as refused:
        UNLIMITED.with_limits({"fairness_weight": 0})
    assert refused.value.details["field"] == "fairness_weight"


def test_a_bucket_without_settings_has_none() -> None:
    """There is none, nothing was set, or something else was."""
    assert UNLIMITED.text() == ""
    for bucket in (None, Bucket(key=KEY), Bucket(key=KEY, override='{"concurrency":1}')):
        assert settings_in(bucket) == UNLIMITED


@pytest.mark.parametrize(
    ("settings", "active", "begins"),
    [
        (TenantSettings(max_concurrency=2), 1, True),
        (TenantSettings(max_concurrency=2), 2, False),
        (TenantSettings(max_concurrency=2, is_suspended=True), 0, False),
        (TenantSettings(is_suspended=True), 0, False),
        (UNLIMITED, 99, True),
    ],
)
def test_a_bucket_lets_so_many_jobs_begin(
    settings: TenantSettings, active: int, begins: bool
) -> None:
    """None of a suspended tenant."""
    bucket = kept(settings, active)
    limit = effective(None, bucket, NOW, is_scope=True)
    assert (limit is None) is (settings == UNLIMITED)
    if limit is not None:
        assert isinstance(take(bucket, limit, NOW), LimitRefusal) is not begins


def test_an_override_shows_no_settings_of_a_tenant() -> None:
    """Only what it bounds; one that bounds nothing is none."""
    override = override_of(kept(TenantSettings(max_concurrency=2)), NOW)
    assert override is not None
    assert override.render() == {"concurrency": 2}
    assert override_of(Bucket(key=KEY, override='{"tenant":{}}'), NOW) is None


def test_named_limits_change_and_null_lifts_one() -> None:
    """The others stay, and so does a suspension."""
    before = TenantSettings(max_concurrency=5, is_suspended=True)
    assert before.with_limits({}) == before
    assert before.with_limits({"max_concurrency": 7}).max_concurrency == 7
    assert before.with_limits({"max_concurrency": None}) == TenantSettings(is_suspended=True)
    assert UNLIMITED.with_limits({"max_concurrency": LARGEST}).max_concurrency == LARGEST
    assert before.limits() == {"max_concurrency": 5}
    assert UNLIMITED.limits() == {}


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        "x",
        {"max_concurrency": True},
        {"max_concurrency": "1"},
        {"max_queue_depth": 1.5},
        {"max_enqueue_rate": 5},
        {"max_enqueue_rate": {"limit": 5}},
        {"max_enqueue_rate": {"limit": 5, "period": "often"}},
        {"max_enqueue_rate": {"limit": None, "period": "PT1M"}},
    ],
)
def test_limits_in_another_form_are_refused(wrong: JsonValue) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        UNLIMITED.with_limits(wrong)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("max_concurrency", -1, "max_concurrency"),
        ("max_concurrency", LARGEST + 1, "max_concurrency"),
        ("max_scheduled", -1, "max_scheduled"),
        ("max_jobs", 1, "max_jobs"),
        ("max_enqueue_rate", {"limit": 0, "period": "PT1M"}, "max_enqueue_rate.limit"),
        ("max_enqueue_rate", {"limit": 1, "period": "PT0S"}, "max_enqueue_rate.period"),
        ("max_enqueue_rate", {"limit": 1, "period": "PT745H"}, "max_enqueue_rate.period"),
    ],
)
def test_limits_that_cannot_be_followed_are_refused(
    name: str, value: JsonValue, field: str
) -> None:
    """A limit that is not known must not be taken for one that is kept."""
    with pytest.raises(InvalidPolicyError) as refused:
        UNLIMITED.with_limits({name: value})
    assert refused.value.details["field"] == field


def test_the_longest_period_and_the_lowest_rate_are_permitted() -> None:
    """A month, and one job in it."""
    given: JsonValue = {"max_enqueue_rate": {"limit": 1, "period": "PT744H"}}
    assert UNLIMITED.with_limits(given).max_enqueue_rate == Window(1, 31 * 86_400_000)
