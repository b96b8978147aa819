"""The account that the scenarios play in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.account import Account, account


@pytest.fixture(scope="module")
def aws() -> Iterator[Account]:
    """Make one moto for all."""
    with account() as made:
        yield made
