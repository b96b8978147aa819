"""What an item says of a job is all that the job holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.jobs.codec import NEVER, from_item, listing, to_item
from ojs_aws.domain.job import Checkpoint, Failure, JobRecord, JobState, Replay, Reservation
from ojs_aws.domain.job_policies import (
    FairShare,
    Limit,
    OnDiscard,
    OnLimit,
    Retention,
    SequencePlace,
    Window,
)
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.json_text import RawJson, decode
from ojs_aws.domain.retry import read_retry_policy
from ojs_aws.domain.timestamps import Instant
from tests.contract.test_job_store import a_job
from tests.full_records import left_out

RETRY: Final = RawJson('{"max_attempts":7}')
FAILURE: Final = Failure(
    type="Broken",
    message="no",
    attempt=1,
    occurred_at=Instant(1000),
    code="c",
    retryable=True,
    backtrace=("f",),
    extra={"details": RawJson("{}")},
    error_class="Lost",
)
FULL: Final = JobRecord(
    id="019539a4-b68c-7def-8000-1a2b3c4d5e6f",
    type="email.send",
    queue="mail",
    state=JobState.ACTIVE,
    priority=4,
    attempt=3,
    version=9,
    order=1_000_001,
    document=RawJson('{"args":[1]}'),
    timeout_ms=1001,
    created_at=Instant(1002),
    retry=read_retry_policy(decode(RETRY)),
    retry_document=RETRY,
    is_retry_queues=True,
    visibility_timeout_ms=1003,
    scheduled_at=Instant(1004),
    expires_at=Instant(1005),
    enqueued_at=Instant(1006),
    activated_at=Instant(1007),
    started_at=Instant(1008),
    completed_at=Instant(1009),
    cancelled_at=Instant(1010),
    discarded_at=Instant(1011),
    next_attempt_at=Instant(1012),
    retry_delay_ms=1013,
    reservation=Reservation(
        worker_id="w",
        expires_at=Instant(1014),
        execution_ends_at=Instant(1015),
        alive_until=Instant(1016),
        message_handle="h",
        message_job_id="019539a4-1111-7def-8000-1a2b3c4d5e6f",
        slots=("k",),
        id="r",
        length_ms=1018,
    ),
    failures=(FAILURE,),
    past_failures=(FAILURE, FAILURE),
    result=RawJson('"done"'),
    is_dead_letter=True,
    workflow_id="019539a4-0000-7def-8000-1a2b3c4d5e6f",
    workflow_step=2,
    limit=Limit(
        key="tenant",
        concurrency=1,
        rate=Window(2, 1000),
        throttle=Window(3, 1000),
        on_limit=OnLimit.DROP,
    ),
    replay=Replay(count=1, at=Instant(1017), rule="nightly"),
    unique_key="ab" * 32,
    is_by_stream=True,
    result_ttl_s=1018,
    result_limit_bytes=1019,
    progress=Progress(
        attempt=3, updated_at=Instant(1020), fraction=0.1, data=RawJson('{"d":1}'), message="m"
    ),
    checkpoint=Checkpoint(
        state=RawJson("[1]"), sequence=2, created_at=Instant(1021), has_notes=True
    ),
    checkpoints=1,
    uncounted_attempts=1,
    kept=Retention(completed_s=1022, cancelled_s=1023, discarded_s=1024, dead_letter_s=1025),
    is_counted=True,
    is_message_left=True,
    is_listing_left=True,
    changed_by="3 key:k\tAda",
    shard=3,
    sequence=SequencePlace(
        key="order-1", on_discard=OnDiscard.SKIP, position=7, is_blocked=True, checks=True
    ),
    tenant="acme",
    fairness=FairShare(key="acme", weight=2.5, start=1026, cost=0.5),
)
"""A job with more than any job has at one time: each of its members differs from the usual."""


def test_an_item_holds_all_of_a_job() -> None:
    """A job that is read equals the one that was stored."""
    assert from_item(to_item(FULL, lambda *_: 0)) == FULL


def test_the_full_job_leaves_nothing_out() -> None:
    """So a member that is new has to be given here, too, and the test above stores it.

    A retry policy is stored as the client wrote it.
    """
    stored = {each for each in left_out(FULL) if not each.startswith("RetryPolicy.")}
    by_each_write = {"JobRecord.kept_until", "JobRecord.token"}
    assert stored == {*by_each_write, "Reservation.listed_at"}, "which the key of the row says"


@pytest.mark.parametrize(("expires_at", "due"), [(None, NEVER), (Instant(9_000), 9_000)])
def test_a_blocked_job_is_due_never_or_when_it_expires(
    expires_at: Instant | None, due: int
) -> None:
    job = a_job(
        state=JobState.SCHEDULED,
        scheduled_at=Instant(5_000),
        expires_at=expires_at,
        sequence=SequencePlace(key="k", position=2, is_blocked=True),
    )
    assert listing(job)[1] == n.due_key(due, is_far=True, priority=job.priority)
    released = replace(job, sequence=SequencePlace(key="k", position=2))
    assert listing(released)[1].startswith(n.instant_key(5_000))
