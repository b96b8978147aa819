"""What every store of marks must do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws.adapters.dynamodb.watermarks import Watermarks
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.timestamps import Instant
from tests.aws import embedded

NOW = Instant(1_760_000_000_000)


@pytest.fixture
def marks() -> Iterator[Watermarks]:
    """No mark yet."""
    with embedded() as aws:
        yield build_backend(aws.settings, aws.clients).stores.watermarks()


def test_a_mark_moves_on_and_never_back(marks: Watermarks) -> None:
    """Each by its name; one that comes late changes nothing."""
    assert marks.read("cron") is None
    marks.move("cron", NOW)
    assert marks.read("cron") == NOW
    marks.move("cron", Instant(NOW - 1))
    assert marks.read("cron") == NOW
    marks.move("cron", Instant(NOW + 1))
    assert marks.read("cron") == NOW + 1
    assert marks.read("other") is None
