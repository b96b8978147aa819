"""A long backlog costs nobody anything."""

from __future__ import annotations

import pytest

from benchmarks.backlog import measure


def test_a_fetch_reads_as_much_with_thousands_in_line_as_with_a_hundred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same calls, and one block of 4 KB for each of its two queries."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    (calls, units), long = measure(100), measure(3_000)
    assert (calls["Query"], calls["UpdateItem"], units) == (2, 1, 1.0)
    assert long == (calls, units)
