"""What the tests of services share."""

from __future__ import annotations

import pytest


@pytest.fixture
def small_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a transaction hold ten items, so that small batches take the way of large ones.

    For searches that play a batch once for each of its calls: a large batch repeats the calls
    of a small one. Tests without it have batches beyond the real limit.
    """
    monkeypatch.setattr("ojs_aws.services.jobs.new_jobs.MAX_TRANSACTION", 10)
