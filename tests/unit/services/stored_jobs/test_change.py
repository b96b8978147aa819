"""Which change of a job needs its turn in a sequence, or a place in a fair queue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import FairShare, SequencePlace
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import a_job

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

S = JobState
PLACE = SequencePlace(key="order-1", position=1)


@pytest.mark.parametrize(
    ("before", "after", "place", "way"),
    [
        (S.DISCARDED, S.AVAILABLE, PLACE, "resume"),
        (S.DISCARDED, S.AVAILABLE, None, "save"),
        (S.DISCARDED, S.DISCARDED, PLACE, "save"),
        (S.AVAILABLE, S.SCHEDULED, PLACE, "save"),
        (S.AVAILABLE, S.CANCELLED, PLACE, "save"),
    ],
)
def test_only_a_discarded_job_that_goes_on_needs_its_turn(
    before: JobState, after: JobState, place: SequencePlace | None, way: str
) -> None:
    """Other changes are the same write as without a sequence."""
    ways: list[str] = []

    class Store:
        def save(self, _: JobRecord, job: JobRecord) -> JobRecord:
            ways.append("save")
            return job

    def resume(_: JobRecord, job: JobRecord) -> JobRecord:
        ways.append("resume")
        return job

    changer = JobChanger(cast("JobStore", Store()), FakeClock(), resume=resume)
    job = replace(a_job(), state=before, sequence=place)
    changer.apply(job.id, lambda found, _: replace(found, state=after, version=2), start=job)
    assert ways == [way]


@pytest.mark.parametrize(
    ("fairness", "fair_queues", "is_placed"),
    [
        (FairShare(key="a"), set(), True),
        (None, {"default"}, True),
        (None, {"other"}, False),
        (None, set(), False),
    ],
)
def test_a_job_enters_the_list_of_a_fair_queue_at_a_place(
    fairness: FairShare | None, fair_queues: set[str], *, is_placed: bool
) -> None:
    """It may be older than the queue is fair: then it has no share yet."""

    class Places:
        def place(self, job: JobRecord) -> JobRecord:
            return replace(job, fairness=FairShare(key="a", start=5))

    def places() -> Any:
        return Places()

    store = cast("JobStore", None)
    changer = JobChanger(store, FakeClock(), places=places, fair_queues=fair_queues)
    before = a_job(state=S.SCHEDULED, fairness=fairness)
    after = changer.placed(before, replace(before, state=S.AVAILABLE))
    assert (after.fairness == FairShare(key="a", start=5)) is is_placed
