"""What is recorded of an operation, and that it stays done if nothing can be recorded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.jobs.batches import OperationDone
from ojs_aws.services.access.callers import OperationAudit
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW


def audit_with(record: Any) -> OperationAudit:
    """An audit that records by a function."""
    ids = SimpleNamespace(request_id=lambda: "req_1")
    requests = SimpleNamespace(record_operation=record)
    return OperationAudit(cast("Any", requests), FakeClock(NOW), cast("Any", ids))


def test_who_did_it_to_what_is_recorded() -> None:
    recorded: list[OperationDone] = []
    audit_with(recorded.append)("pause_queue", {"queue": "email"}, Actor("key:k1", "ops"))
    (done,) = recorded
    assert (done.id, done.operation, done.queue, done.at) == ("req_1", "pause_queue", "email", NOW)
    assert done.target == '{"queue":"email"}'


@pytest.mark.parametrize("problem", [BackendError("PutItem failed."), RuntimeError("a defect")])
def test_an_operation_stays_done_that_nobody_could_record(problem: Exception) -> None:
    def refuse(_: OperationDone) -> None:
        raise problem

    audit_with(refuse)("pause_queue", {"queue": "email"}, Actor("key:k1"))
