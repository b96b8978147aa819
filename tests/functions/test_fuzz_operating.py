"""Fuzzing the operations of workers, operators and the system: no request makes the server fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws.transport.http.routes import Group
from tests.functions.fuzzing import Fuzzed, by_chance, checked, suggested

pytestmark = pytest.mark.thorough

GROUPS = (Group.WORKER_API, Group.OPERATOR, Group.SYSTEM)
fuzzed = Fuzzed()


@pytest.fixture(scope="module", autouse=True)
def _over_aws() -> Iterator[None]:
    """Put an embedded AWS behind the functions."""
    with fuzzed.over_aws(GROUPS):
        yield


@pytest.mark.parametrize("label", fuzzed.labels(GROUPS))
def test_no_request_makes_the_server_fail(label: str) -> None:
    """Every answer has a status, headers and a body that the document names; none is a 5xx."""
    for case in suggested(fuzzed.named(label), most=25):
        checked(case)


@pytest.mark.slow
@pytest.mark.parametrize("label", fuzzed.labels(GROUPS))
def test_no_request_by_chance_makes_the_server_fail(label: str) -> None:
    """The same of requests that nothing in the document suggests."""
    by_chance(fuzzed.named(label), checked, most=6)
