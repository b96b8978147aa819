"""What is said of a job that others of its fairness key come before."""

from __future__ import annotations

import pytest

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job_policies import FairShare
from ojs_aws.domain.jobs.ready_keys import fair_ready_key
from ojs_aws.services.jobs.next_in_line import over_share
from tests.contract.test_job_store import a_job


@pytest.mark.parametrize(("start", "starts"), [(1_000, 0), (2_999, 0), (5_000, 2)])
def test_a_key_is_over_its_share_if_its_starts_come_first(start: int, starts: int) -> None:
    """The head may be at the very same place: then only other keys are before the job."""
    job = a_job(fairness=FairShare(key="a", weight=1.0, start=start))
    data: dict[str, JsonValue] = {}
    text = over_share(job, fair_ready_key(0, 1_000, 1, "", ""), data)
    if starts:
        assert text == f" Its key 'a' is over its share: {starts} of them start first."
        assert data == {"fairness_key": "a", "starts_before": starts}
    else:
        assert (text, data) == ("", {})
