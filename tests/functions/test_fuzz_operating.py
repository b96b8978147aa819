"""Fuzzing the operations of workers, operators and the system: no request makes the server fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws.transport.http.routes import Group
from tests.functions.fuzzing import Fuzzed, by_chance, checked, suggested

GROUPS = (Group.WORKER_API, Group.OPERATOR, Group.SYSTEM)
fuzzed = Fuzzed()


@pytest.fixture(scope="module", autouse=True)
def _over_aws() -> Iterator[None]:
    """Put an embedded AWS behind the functions."""
    with fuzzed.over_aws(GROUPS):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("label", fuzzed.labels(GROUPS))
def test_no_request_makes_the_server_fail(label: str) -> None:
    """Every answer has a status, headers and a body that the document names; none is a 5xx."""
    operation = fuzzed.named(label)
    for case in suggested(operation, most=25):
        checked(case)
    by_chance(operation, checked, most=6)
