"""Fuzzing the producers' operations: no request makes the server fail.

Over the model in memory: moto is slow at batches. The others are fuzzed over moto.
"""

from __future__ import annotations

import pytest

from ojs_aws.transport.http.routes import Group
from tests.functions.fuzzing import Fuzzed, by_chance, checked, quiet, suggested

fuzzed = Fuzzed()


@pytest.mark.slow
@pytest.mark.parametrize("label", fuzzed.labels([Group.PRODUCER]))
def test_no_request_makes_the_server_fail(label: str) -> None:
    """Every answer has a status, headers and a body that the document names; none is a 5xx."""
    operation = fuzzed.named(label)
    with quiet():
        for case in suggested(operation, most=120):
            checked(case)
        by_chance(operation, checked, most=25)
