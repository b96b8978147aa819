"""Limits as operators see and set them: what may be set, pages, and how many jobs wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ojs_aws.domain.errors import InvalidPolicyError, NotFoundError
from ojs_aws.domain.job_policies import Limit, OnLimit
from ojs_aws.domain.limits import Bucket, LimitRefusal
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.limits import admin
from ojs_aws.services.limits.admin import LimitAdmin
from ojs_aws.services.limits.check import LimitCheck, MessageBackoff, message_backoff
from tests.contract.test_job_store import NOW, a_job
from tests.job_steps import pushed
from tests.simulation.world import World

ONE: dict[str, Any] = {"concurrency": 1}


@pytest.fixture
def limits(world: World) -> LimitAdmin:
    return world.backend.limits


def test_a_policy_that_is_over_is_no_limit(world: World, limits: LimitAdmin) -> None:
    """If no job has named one."""
    limits.override("api", {**ONE, "expires_at": format_instant(Instant(world.clock.at + 60_000))})
    assert limits.get("api").waiting == 0
    world.clock.advance(s=61)
    with pytest.raises(NotFoundError):
        limits.get("api")
    with pytest.raises(NotFoundError):
        limits.get("never")


@pytest.mark.parametrize("key", ["queue:default", "type:a.b"])
def test_a_policy_for_all_jobs_must_limit_something(limits: LimitAdmin, key: str) -> None:
    """One for a key may only say what becomes of its jobs: they name their bounds."""
    with pytest.raises(InvalidPolicyError, match="limits nothing"):
        limits.override(key, {"on_limit": "drop"})
    limits.override("api", {"on_limit": "drop"})


def test_so_many_job_types_may_have_a_limit(
    limits: LimitAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queues have no such bound, and a type's limit may be changed."""
    monkeypatch.setattr(admin, "MAX_TYPES", 1)
    limits.override("type:a.b", ONE)
    limits.override("type:a.b", {"concurrency": 2})
    limits.override("queue:default", ONE)
    limits.override("api", ONE)
    with pytest.raises(InvalidPolicyError, match="have limits already"):
        limits.override("type:c.d", ONE)


@pytest.mark.parametrize(
    ("limit", "skip", "shown", "following"),
    [
        (2, 0, ["k0", "k1"], "k1"),
        (4, 0, ["k0", "k1", "k2", "k3"], "k3"),
        (5, 0, ["k0", "k1", "k2", "k3", "k4"], ""),
        (2, 3, ["k3", "k4"], ""),
        (2, 4, ["k4"], ""),
        (2, 5, [], ""),
        (2, 50, [], ""),
    ],
)
def test_pages_of_limits_go_on_behind_the_last_key(
    limits: LimitAdmin,
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    skip: int,
    shown: list[str],
    following: str,
) -> None:
    monkeypatch.setattr(admin, "SKIPPED_AT_ONCE", 2)
    for number in range(5):
        limits.override(f"k{number}", ONE)
    found, after = limits.page("", limit, skip=skip)
    assert ([each.bucket.key for each in found], after) == (shown, following)


def test_no_more_limits_are_passed_over_at_once_than_fit_a_read(
    world: World, limits: LimitAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    page = world.limits.page

    def noted(after: str, limit: int) -> Sequence[Bucket]:
        read.append(limit)
        return page(after, limit)

    monkeypatch.setattr(world.limits, "page", noted)
    monkeypatch.setattr(admin, "SKIPPED_AT_ONCE", 2)
    for number in range(5):
        limits.override(f"k{number}", ONE)
    limits.page("", 1, skip=3)
    assert read == [2, 1, 2]


@pytest.mark.parametrize(
    ("rows", "queues", "is_exact"), [(9, 2, True), (1, 2, False), (9, 1, False)]
)
def test_the_waiting_jobs_of_a_limit_are_all_that_were_looked_at(
    world: World,
    limits: LimitAdmin,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
    queues: int,
    is_exact: bool,
) -> None:
    """Of each queue some rows, and of some queues."""
    for queue in ("a", "b"):
        for _ in range(2):
            pushed(world.backend, queue=queue, rate_limit={"key": "api", **ONE})
    monkeypatch.setattr(admin, "MAX_ROWS", rows)
    monkeypatch.setattr(admin, "MAX_QUEUES", queues)
    found = limits.get("api")
    assert found.is_exact is is_exact
    assert found.waiting == (4 if is_exact else 2)


# ---------------------------------------------------------------------- in a round of FETCH
DROP = Limit(key="api", concurrency=0, on_limit=OnLimit.DROP)


def test_only_the_jobs_own_bucket_says_what_becomes_of_it() -> None:
    """Refused by its queue's, it waits."""
    job = a_job(limit=DROP)
    check = LimitCheck("default", refused={"queue:default": LimitRefusal("rate", NOW)})
    assert check.instead_of_waiting(job) is OnLimit.WAIT
    assert check.refuses_all
    check.refused["api"] = LimitRefusal("concurrency", NOW)
    assert check.instead_of_waiting(job) is OnLimit.DROP


def test_a_jobs_policy_is_that_of_its_own_bucket() -> None:
    limit = Limit(key="api", concurrency=5)
    buckets = {key: Bucket(key=key) for key in ("api", "queue:default")}
    takes = LimitCheck("default", is_whole=True).take(a_job(limit=limit), buckets, NOW)
    assert isinstance(takes, list)
    assert {after.key: bool(after.policy) for _, after in takes} == {
        "api": True,
        "queue:default": False,
    }


def test_messages_come_back_with_the_limit_that_opens_first() -> None:
    refusals = [LimitRefusal("rate", Instant(NOW + ms), per_s=100.0) for ms in (9_000, 3_000)]
    assert message_backoff(refusals, 1, NOW).seconds("h") == 3
    assert message_backoff([], 1, NOW) == MessageBackoff()
