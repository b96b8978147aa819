"""What every store of marks must do; the model and moto pass the same suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Marks
from ojs_aws.testing.deployment import FakeClock
from tests.aws import embedded
from tests.simulation.world import World

NOW = Instant(1_760_000_000_000)


@pytest.fixture(params=["memory", "dynamodb"])
def marks(request: pytest.FixtureRequest) -> Iterator[Marks]:
    """No mark yet."""
    if request.param == "memory":
        yield World(clock=FakeClock()).backend.ports.marks()
        return
    with embedded() as aws:
        yield build_backend(aws.settings, aws.clients).ports.marks()


def test_a_mark_moves_on_and_never_back(marks: Marks) -> None:
    """Each by its name; one that comes late changes nothing."""
    assert marks.read("cron") is None
    marks.move("cron", NOW)
    assert marks.read("cron") == NOW
    marks.move("cron", Instant(NOW - 1))
    assert marks.read("cron") == NOW
    marks.move("cron", Instant(NOW + 1))
    assert marks.read("cron") == NOW + 1
    assert marks.read("other") is None
