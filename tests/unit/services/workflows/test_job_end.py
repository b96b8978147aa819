"""What the end of a job leaves for the steps after it."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.failures import read_failure
from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.workflows.job_end import job_end_of
from tests.contract.test_job_store import NOW, a_job

FAILURE = read_failure(parse_object('{"type": "Broken", "message": "it broke"}'), 1, NOW)


@pytest.mark.parametrize(
    ("state", "failures", "code"),
    [
        (JobState.DISCARDED, (FAILURE,), "Broken"),
        (JobState.DISCARDED, (), "expired"),
        (JobState.CANCELLED, (FAILURE,), "cancelled"),
        (JobState.CANCELLED, (), "cancelled"),
    ],
)
def test_later_steps_get_why_a_job_did_not_complete(
    state: JobState, failures: Any, code: str
) -> None:
    """An attempt that failed before is not why it was cancelled."""
    ended = job_end_of(a_job(state=state, failures=failures, workflow_step=1), cast("Any", None))
    assert ended is not None
    error = json.loads(ended.value)["error"]
    assert error["type"] == code
