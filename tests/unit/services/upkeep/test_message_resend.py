"""How long nothing is sent for a job that got a message, and what is forgotten of it."""

from __future__ import annotations

import pytest

from ojs_aws.domain.jobs.lists import Head
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.upkeep.message_resend import AGAIN_AFTER_MS
from tests.contract.test_job_store import NOW
from tests.unit.services.upkeep.test_bounds import LATE, Aws, ready_since, resend_of


@pytest.mark.parametrize(("left_ms", "pause_ms"), [(1, 2 * AGAIN_AFTER_MS), (0, AGAIN_AFTER_MS)])
def test_a_pause_that_is_over_when_another_job_gets_a_message_is_forgotten(
    left_ms: int, pause_ms: int
) -> None:
    """The job was not in the head then; its next pause is doubled only if it is remembered."""
    resend = resend_of(Aws())
    job, other = Head((ready_since(LATE, 1),)), Head((ready_since(LATE, 2),))
    assert resend("default", job, NOW) == 1
    over = Instant(NOW + AGAIN_AFTER_MS)
    assert resend("default", other, Instant(over - left_ms)) == 1
    assert resend("default", job, over) == 1
    assert resend("default", job, Instant(over + pause_ms - 1)) == 0
    assert resend("default", job, Instant(over + pause_ms)) == 1
