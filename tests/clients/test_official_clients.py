"""The official clients against the local server, where their check-outs are named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.clients.__main__ import build, drive
from tests.clients.checkouts import CLIENTS, Client
from tests.clients.table import unexplained

SERVERS = ("local", "local-keys")


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: str(client.name))
def test_every_call_passes_or_its_failure_is_explained(client: Client, tmp_path: Path) -> None:
    """Open and with API keys; ``python -m tests.clients`` drives the deployed stack as well."""
    reason = client.missing(os.environ)
    if reason:
        pytest.skip(reason)
    results = drive(build([client.name], tmp_path), SERVERS, tmp_path)
    assert results
    assert unexplained(results) == []
