"""What the store of fairness keys must do; each engine passes the same suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.columns import read_count
from ojs_aws.adapters.dynamodb.fairness import KEPT_S, FairKeys
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.table import item_key
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.fairness import Charge, FairKey
from ojs_aws.domain.job_policies import FairShare
from tests.aws import embedded
from tests.contract.test_job_store import KINDS, NOW, a_job

KEY = FairKey("default", 0, "a")
HEAD = NOW * 1_000_000
CHARGE = Charge(HEAD, 1_000, 5_000)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Iterator[JobStore]:
    """A fresh store of each kind."""
    if request.param == "emulator":
        aws = request.getfixturevalue("emulated_aws")
        yield job_store(aws.settings, aws.clients)
        return
    with embedded() as aws:
        yield job_store(aws.settings, aws.clients)


@pytest.fixture
def keys(store: JobStore) -> FairKeys:
    """The keys beside the jobs."""
    return FairKeys(store.client, store.table)


def test_a_new_key_begins_at_the_head_once(keys: FairKeys) -> None:
    """The second time it is ahead, and moves on from where it is."""
    assert keys.move_on(KEY, CHARGE, NOW) is None
    assert keys.begin(KEY, CHARGE, NOW)
    assert not keys.begin(KEY, CHARGE, NOW)
    assert keys.move_on(KEY, CHARGE, NOW) == HEAD + 1_000
    assert keys.move_on(KEY, CHARGE, NOW) == HEAD + 2_000


def test_a_key_at_the_head_is_ahead_and_one_before_it_is_not(keys: FairKeys) -> None:
    """The same instant counts as ahead in both forms."""
    keys.begin(KEY, CHARGE, NOW)
    at = replace(CHARGE, at=HEAD + 1_000)
    assert not keys.begin(KEY, at, NOW)
    later = replace(CHARGE, at=HEAD + 1_001)
    assert keys.move_on(KEY, later, NOW) is None
    assert keys.move_on(KEY, at, NOW) == HEAD + 1_000
    assert keys.begin(KEY, replace(CHARGE, at=HEAD + 2_001), NOW)


def test_a_key_that_is_too_far_ahead_begins_again(keys: FairKeys) -> None:
    """Just so far is not too far."""
    keys.begin(KEY, replace(CHARGE, cost=5_000), NOW)
    assert not keys.begin(KEY, CHARGE, NOW)
    near = replace(CHARGE, at=HEAD - 1)
    assert keys.move_on(KEY, near, NOW) is None
    assert keys.begin(KEY, near, NOW)
    assert keys.move_on(KEY, near, NOW) == HEAD + 999


def test_keys_are_apart_by_line_priority_and_name(keys: FairKeys) -> None:
    """And an idle one is forgotten."""
    assert keys.begin(KEY, CHARGE, NOW)
    others = (replace(KEY, line="other"), replace(KEY, priority=1), replace(KEY, key=""))
    assert all(keys.begin(each, CHARGE, NOW) for each in others)
    item = keys.get_item(item_key("fair#default#0#a", "fair"))
    assert read_count(item, "ttl") == NOW // 1000 + KEPT_S


def test_the_first_of_a_priority_is_found(store: JobStore, keys: FairKeys) -> None:
    """Between the rows of others, with and without a virtual start."""
    assert keys.first("default", 0) == ""
    fair = FairShare(key="a", weight=1.0, start=HEAD)
    store.insert(a_job(1, priority=1))
    store.insert(a_job(2, priority=-1, fairness=fair))
    assert keys.first("default", 0) == ""
    store.insert(a_job(3, fairness=replace(fair, start=HEAD + 1)))
    store.insert(a_job(4, fairness=fair))
    assert keys.first("default", 0) == a_job(4, fairness=fair).ready_key
    plain = a_job(5, order=HEAD // 1_000 - 1)
    store.insert(plain)
    assert keys.first("default", 0) == plain.ready_key
