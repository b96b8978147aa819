"""Errors of single jobs in work on many: how many are passed over."""

from __future__ import annotations

import pytest

from ojs_aws.services.stored_jobs.change import JobErrors


def test_as_many_jobs_are_passed_over_as_may_be() -> None:
    """A job that fails twice counts once; one more ends the work with its error."""
    errors = JobErrors(lambda: False, most=2)
    for job_id in ("a", "b", "a"):
        errors.note(job_id, ValueError(job_id))
    with pytest.raises(KeyError):
        errors.note("c", KeyError("c"))
    assert errors.ids == {"a", "b", "c"}
    assert str(errors.first) == "a"


def test_no_job_is_passed_over_when_no_time_is_left() -> None:
    with pytest.raises(ValueError, match="a"):
        JobErrors(lambda: True).note("a", ValueError("a"))
