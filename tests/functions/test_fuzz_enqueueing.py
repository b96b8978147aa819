"""Fuzzing the producers' operations: no request makes the server fail.

Over the model in memory: moto is slow at batches. The others are fuzzed over moto.
"""

from __future__ import annotations

import pytest

from ojs_aws.transport.http.routes import Group
from tests.functions.fuzzing import Fuzzed, by_chance, checked, quiet, suggested

fuzzed = Fuzzed()


@pytest.mark.parametrize(
    "share",
    [pytest.param(0.2, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("label", fuzzed.labels([Group.PRODUCER]))
def test_no_request_makes_the_server_fail(label: str, share: float) -> None:
    """Every answer has a status, headers and a body that the document names; none is a 5xx."""
    with quiet():
        for case in suggested(fuzzed.named(label), most=120, share=share):
            checked(case)


@pytest.mark.slow
@pytest.mark.parametrize("label", fuzzed.labels([Group.PRODUCER]))
def test_no_request_by_chance_makes_the_server_fail(label: str) -> None:
    """The same of requests that nothing in the document suggests."""
    with quiet():
        by_chance(fuzzed.named(label), checked, most=25)
