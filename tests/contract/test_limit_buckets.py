"""What every store of buckets must do, write by write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.limits import KEPT_S, MAX_QUEUES, Limits
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.conflicts import BucketTakenError, StaleJobError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.batches import Admission
from ojs_aws.domain.jobs.held_job import Holder
from ojs_aws.domain.limits import EXHAUSTED_EVERY_MS, Bucket, scope_of
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws
from tests.contract.test_job_store import NOW, a_job, a_reservation, big_document

Both = tuple[JobStore, Limits]


@pytest.fixture
def both(aws: EmbeddedAws) -> Both:
    """A store of jobs and the buckets beside it."""
    stores = build_backend(aws.settings, aws.clients, parallel=IN_ORDER).stores
    return stores.store, stores.limits()


def take(
    both: Both, job: JobRecord, seen: dict[str, Bucket], at: Instant = NOW
) -> JobRecord | None:
    """Claim a job and take a place in each of some buckets; None when one of them was taken."""
    takes = [
        (each, replace(each, version=each.version + 1, active=each.active + 1))
        for each in seen.values()
    ]
    held = replace(a_reservation(), slots=tuple(seen))
    try:
        return both[0].claim_within(job, held, takes, at)
    except BucketTakenError:
        return None


def look(both: Both, *keys: str) -> dict[str, Bucket]:
    """Read buckets as FETCH does."""
    return dict(both[0].load_with_buckets(a_job().id, keys)[1])


def active(both: Both, *keys: str) -> list[int]:
    """Count the slots taken."""
    return [each.active for each in look(both, *keys).values()]


@pytest.mark.parametrize("earlier", [0, 1])
def test_a_place_is_taken_in_the_bucket_that_was_seen_or_not_at_all(
    both: Both, earlier: int
) -> None:
    """RL-001: two jobs for one bucket, new or used before; the second to come looks again."""
    jobs = [a_job(number) for number in range(1, 4)]
    both[0].insert_all(jobs)
    for job in jobs[:earlier]:
        assert take(both, job, look(both, "k"))
    seen = look(both, "k")
    assert take(both, jobs[1], seen)
    assert take(both, jobs[2], seen) is None
    assert both[0].load(jobs[2].id) == jobs[2]
    assert active(both, "k") == [earlier + 1]


def test_places_are_taken_in_all_buckets_and_given_back_in_all(both: Both) -> None:
    """By ACK, and by a save."""
    keys = ("a", "b", "c")
    for number, end in enumerate(("ack", "save"), 1):
        job = a_job(number)
        both[0].insert(job)
        held = take(both, job, look(both, *keys))
        assert held is not None
        assert active(both, *keys) == [1, 1, 1]
        if end == "ack":
            both[0].acknowledge(job.id, Holder("w1"), None, NOW)
        else:
            both[0].save(held, lifecycle.cancel(held, NOW))
        assert active(both, *keys) == [0, 0, 0]


@pytest.mark.parametrize("both", ["dynamodb"], indirect=True)
@pytest.mark.parametrize("way", ["admitted", "in a transaction of the application"])
def test_a_replaced_job_gives_back_its_places_in_all_buckets(
    aws: EmbeddedAws, both: Both, way: str
) -> None:
    """With what comes in its stead, and documents that need items of their own."""
    store, _ = both
    keys, old = ("a", "b", "c"), a_job(1)
    store.insert(old)
    held = take(both, old, look(both, *keys))
    assert held is not None
    new = a_job(2, document=big_document(6_000))
    after = replace(lifecycle.cancel(held, NOW), document=big_document(6_001))
    admission = Admission(job=new, before=held, after=after)
    unique = build_backend(aws.settings, aws.clients, parallel=IN_ORDER).stores.unique()
    if way == "admitted":
        unique.admit([admission])
    else:
        aws.clients.dynamodb.transact_write_items(TransactItems=[*unique.actions(admission)])  # type: ignore[list-item]
    assert active(both, *keys) == [0, 0, 0]
    stored = [store.load_whole(each.id) for each in (old, new)]
    assert [each and each.state for each in stored] == [JobState.CANCELLED, JobState.AVAILABLE]
    assert [each and each.document for each in stored] == [after.document, new.document]


def test_a_limited_claim_needs_the_job_that_was_read(both: Both) -> None:
    """It may have another priority, or another limit, by now: then nothing is taken."""
    job = a_job()
    both[0].insert(job)
    both[0].save(job, lifecycle.reprioritise(job, 7))
    with pytest.raises(StaleJobError) as stale:
        take(both, job, look(both, "k"))
    stored = both[0].load(job.id)
    assert stored is not None
    assert stored.state is JobState.AVAILABLE
    assert stale.value.current == stored
    assert active(both, "k") == [0]


def test_a_limited_claim_of_a_job_that_was_deleted_finds_none(both: Both) -> None:
    """And takes no place."""
    with pytest.raises(StaleJobError) as stale:
        take(both, a_job(), look(both, "k"))
    assert stale.value.current is None
    assert active(both, "k") == [0]


def test_a_later_block_outlasts_an_earlier_one(both: Both) -> None:
    """Handlers come back in any order."""
    limits = both[1]
    for until in (9, 5):
        limits.block("k", Instant(NOW + until), f"until {until}")
    bucket = limits.load("k")
    assert bucket is not None
    assert (bucket.blocked_until, bucket.exhausted) == (NOW + 9, "until 9")
    limits.block("k", Instant(NOW + 10), "until 10")
    bucket = limits.load("k")
    assert bucket is not None
    assert (bucket.blocked_until, bucket.exhausted) == (NOW + 10, "until 10")


def test_a_bucket_says_once_that_it_is_exhausted(both: Both) -> None:
    """Until a job begins; and then not before some time has passed."""
    limits = both[1]
    limits.note_exhausted("k", "first", NOW)
    limits.note_exhausted("k", "second", Instant(NOW + EXHAUSTED_EVERY_MS))
    bucket = limits.load("k")
    assert bucket is not None
    assert (bucket.exhausted, bucket.exhausted_at) == ("first", NOW)
    both[0].insert(a_job())
    assert take(both, a_job(), look(both, "k"))
    limits.note_exhausted("k", "third", Instant(NOW + EXHAUSTED_EVERY_MS - 1))
    bucket = limits.load("k")
    assert bucket is not None
    assert bucket.exhausted == ""
    limits.note_exhausted("k", "fourth", Instant(NOW + EXHAUSTED_EVERY_MS))
    bucket = limits.load("k")
    assert bucket is not None
    assert (bucket.exhausted, bucket.exhausted_at) == ("fourth", NOW + EXHAUSTED_EVERY_MS)


def ends(aws: EmbeddedAws, key: str) -> int | None:
    """When DynamoDB removes a bucket, if ever."""
    found = aws.clients.dynamodb.get_item(
        TableName=aws.settings.table, Key={"pk": {"S": "limits"}, "sk": {"S": key}}
    )["Item"]
    return int(found["ttl"]["N"]) if "ttl" in found else None


@pytest.mark.parametrize("both", ["dynamodb"], indirect=True)
def test_what_an_operator_laid_down_does_not_expire(aws: EmbeddedAws, both: Both) -> None:
    """Neither when jobs bring a policy for it, nor when they begin; a bucket of jobs alone does."""
    store, limits = both
    limits.override("k", scope_of("k"), '{"concurrency":3}', None, NOW)
    limits.note("k", "{}", "default", NOW)
    store.insert_all([a_job(1), a_job(2)])
    assert take(both, a_job(1), look(both, "k"))
    assert ends(aws, "k") is None
    limits.note("other", "{}", "default", NOW)
    noted = ends(aws, "other")
    assert noted is not None
    later = Instant(NOW + 86_400_000)
    assert take(both, a_job(2), look(both, "other"), later)
    assert ends(aws, "other") == noted + 86_400


@pytest.mark.parametrize("both", ["dynamodb"], indirect=True)
def test_a_bucket_remembers_a_bounded_number_of_queues(both: Both) -> None:
    """Beyond, it goes on with the newest policy."""
    limits = both[1]
    for number in range(MAX_QUEUES + 2):
        limits.note("k", f'{{"n":{number}}}', f"q{number:02}", NOW)
    bucket = limits.load("k")
    assert bucket is not None
    assert bucket.queues == tuple(f"q{number:02}" for number in range(MAX_QUEUES))
    assert bucket.policy == f'{{"n":{MAX_QUEUES + 1}}}'


@pytest.mark.parametrize("both", ["dynamodb"], indirect=True)
def test_a_process_notes_a_policy_once(aws: EmbeddedAws, both: Both) -> None:
    """So that a job with a limit costs no more than the first time."""
    limits = both[1]
    limits.note("k", "{}", "default", NOW)
    with aws.calls.counted() as calls:
        limits.note("k", "{}", "default", NOW)
    assert calls == {}


@pytest.mark.parametrize("both", ["dynamodb"], indirect=True)
def test_a_process_remembers_a_bounded_number_of_policies(
    aws: EmbeddedAws, both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are made by clients, and a process may live long."""
    monkeypatch.setattr("ojs_aws.adapters.dynamodb.limits.MAX_NOTED", 1)
    limits = both[1]
    for key in ("k", "other"):
        limits.note(key, "{}", "default", NOW)
    with aws.calls.counted() as calls:
        limits.note("k", "{}", "default", NOW)
        limits.note("other", "{}", "default", NOW)
    assert calls == {"UpdateItem": 1}


def test_only_limits_of_types_are_listed_until_they_are_lifted(both: Both) -> None:
    """A queue's is found in its ready list; to name it here would cost every FETCH a read."""
    limits = both[1]
    for key in ("queue:a", "type:b", "queue:a:type:c"):
        limits.override(key, scope_of(key), '{"concurrency":3}', None, NOW)
    assert sorted(each.type for each in limits.scopes(NOW)) == ["b", "c"]
    for key in ("queue:a", "type:b"):
        limits.lift(key, scope_of(key), NOW)
    assert [each.type for each in limits.scopes(NOW)] == ["c"]


def test_a_tenants_settings_replace_those_that_were_seen(both: Both) -> None:
    """And are listed for FETCH while they limit starts; a removed one leaves a bucket that ends."""
    limits, none = both[1], frozenset[str]()

    def put(seen: int, after: str, *, is_listed: bool) -> tuple[bool, str, frozenset[str]]:
        done = limits.set_tenant("acme", seen, after, NOW, limits_starts=is_listed)
        bucket = limits.load("tenant/acme")
        listed = frozenset(each.tenant for each in limits.scopes(NOW))
        return done, bucket.override if bucket else "", listed

    assert put(1, "y", is_listed=True) == (False, "", none)
    assert put(0, "a", is_listed=True) == (True, "a", frozenset({"acme"}))
    assert put(0, "b", is_listed=False) == (False, "a", frozenset({"acme"}))
    assert put(1, "b", is_listed=False) == (True, "b", none)
    assert put(2, "", is_listed=False) == (True, "", none)
    assert put(0, "c", is_listed=False) == (False, "", none)
    bucket = limits.load("tenant/acme")
    assert bucket is not None
    assert bucket.revision == 3


@pytest.mark.parametrize("both", ["dynamodb"], indirect=True)
def test_a_tenants_bucket_ends_where_nothing_is_set(aws: EmbeddedAws, both: Both) -> None:
    """Not before the jobs that hold its places; and not while something is set."""
    limits = both[1]
    limits.set_tenant("acme", 0, "a", NOW, limits_starts=True)
    job = a_job()
    both[0].insert(job)
    seen = look(both, "tenant/acme")
    assert limits.set_tenant("acme", 1, "b", NOW, limits_starts=True)
    assert take(both, job, seen) is None
    assert limits.set_tenant("acme", 2, "", NOW, limits_starts=False)
    assert ends(aws, "tenant/acme") == NOW // 1000 + KEPT_S
    assert limits.set_tenant("acme", 3, "c", NOW, limits_starts=False)
    assert ends(aws, "tenant/acme") is None


def test_a_place_is_taken_with_the_window_that_it_opens(both: Both) -> None:
    """RL-003: what began, and when the next may."""
    job = a_job()
    both[0].insert(job)
    (before,) = look(both, "k").values()
    opened = replace(
        before, version=1, active=1, opened_at=NOW, started=3, next_at=Instant(NOW + 500)
    )
    both[0].claim_within(job, replace(a_reservation(), slots=("k",)), [(before, opened)], NOW)
    assert both[1].load("k") == opened


@pytest.mark.parametrize("both", ["dynamodb"], indirect=True)
def test_what_was_laid_down_until_an_instant_expires_after_it(aws: EmbeddedAws, both: Both) -> None:
    """Not before what it may hold back."""
    until = Instant(NOW + 3_600_000)
    both[1].override("k", scope_of("k"), '{"concurrency":3}', until, NOW)
    assert ends(aws, "k") == until // 1000 + KEPT_S
