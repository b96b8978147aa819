"""Which change of a job needs its turn in a sequence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import SequencePlace
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
