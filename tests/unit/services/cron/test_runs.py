"""Which changes of jobs mean that a run of a cron job has ended, which others may wait for."""

from __future__ import annotations

import pytest

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.services.cron import ended_run
from tests.contract.test_job_store import a_job

SEQUENTIAL = '{"meta":{"cron_name":"report","cron_sequential":true}}'

MENTIONED = '{"args":["cron_sequential"],"meta":{"cron_name":"report"}}'


def run(state: JobState, document: str = SEQUENTIAL) -> JobRecord:
    return a_job(state=state, document=document)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (run(JobState.ACTIVE), run(JobState.COMPLETED), "report"),
        (run(JobState.AVAILABLE), run(JobState.CANCELLED), "report"),
        (run(JobState.ACTIVE), None, "report"),
        (run(JobState.AVAILABLE), run(JobState.ACTIVE), ""),
        (run(JobState.ACTIVE), run(JobState.RETRYABLE), ""),
        (run(JobState.COMPLETED), None, ""),
        (run(JobState.DISCARDED), run(JobState.AVAILABLE), ""),
        (None, run(JobState.AVAILABLE), ""),
        (run(JobState.ACTIVE, '{"meta":{"cron_name":"report"}}'), None, ""),
        (run(JobState.ACTIVE, '{"args":["cron_sequential"]}'), None, ""),
        (run(JobState.ACTIVE, MENTIONED), None, ""),
        (object(), None, ""),
    ],
)
def test_a_run_has_ended_when_its_job_ends_or_is_removed(
    before: object | None, after: object | None, expected: str
) -> None:
    """And only a run that others may wait for."""
    assert ended_run(before, after) == expected
