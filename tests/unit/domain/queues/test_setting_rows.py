"""Each setting of a queue is one row, which everything else follows from."""

from __future__ import annotations

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.queues.config_changes import changed_members
from ojs_aws.domain.queues.setting_rows import RETENTION, SETTINGS, SettingRow
from ojs_aws.transport.http.queues.models import QueueConfigBody

BOUNDED = [row for row in SETTINGS.values() if row.doc and row.kind is int and row.most]


@pytest.mark.parametrize("row", BOUNDED, ids=lambda row: row.name)
def test_the_check_of_a_number_follows_the_bounds_of_its_row(row: SettingRow) -> None:
    """The largest is taken, and nothing beyond it."""
    assert changed_members({}, {row.name: row.most}) == {row.name: row.most}
    for beyond in (row.least - 1, row.most + 1):
        with pytest.raises(InvalidRequestError):
            changed_members({}, {row.name: beyond})


def test_requests_are_described_by_the_rows() -> None:
    """What is only refused is not offered."""
    offered = {row.name for row in SETTINGS.values() if row.doc or row.only is not None}
    assert set(QueueConfigBody.model_fields) == offered
    assert "dead_letter_queue" not in offered


def test_each_default_of_the_deployment_is_one_of_its_settings() -> None:
    """A row names it by its attribute."""
    named = {row.deployed for row in SETTINGS.values() if row.deployed} | {*RETENTION.values()}
    assert {name for name in named if not hasattr(Settings(), name)} == set()
