"""What functions may do while they are initialised, when SnapStart keeps a snapshot of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import uuid_utils

from ojs_aws.local.lambdas import Handler

pytestmark = pytest.mark.moto

API_FUNCTIONS = ("producer", "worker_api", "job_endpoint", "operator", "system", "authorizer")


def test_nothing_that_must_be_unique_is_made_before_the_snapshot(
    monkeypatch: pytest.MonkeyPatch, function: Callable[[str], Handler]
) -> None:
    """Environments that begin from one snapshot would make the same ids: none is made at init."""

    def made_early() -> None:
        raise AssertionError("an id was made while the function was initialised")

    monkeypatch.setattr(uuid_utils, "uuid7", made_early)
    for name in API_FUNCTIONS:
        assert callable(function(name))
