"""How many faults of its jobs the refusal of a workflow lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, InvalidWorkflowError
from ojs_aws.domain.workflows.dependencies import MAX_FAULTS
from ojs_aws.services.workflows.enqueue import check_jobs
from tests.unit.services.workflows.test_advance import definition, job


@dataclass
class Refusal:
    """Stands for PUSH, which refuses every job."""

    checks: int = 0

    def check(self, _job: Job) -> None:
        self.checks += 1
        raise InvalidRequestError("no", details={"field": "type"})


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_refusal_lists_so_many_faults_and_the_rest_is_not_checked(more: int) -> None:
    push, count = Refusal(), MAX_FAULTS + more
    with pytest.raises(InvalidWorkflowError) as refused:
        check_jobs(definition({"type": "group", "jobs": [job()] * count}), cast("Any", push))
    errors: Any = refused.value.details["validation_errors"]
    assert len(errors) == push.checks == min(count, MAX_FAULTS)
