"""Fuzzing what reads: over an embedded AWS, and over the model that other tests run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ojs_aws.transport.http.routes import Group
from tests.functions.fuzzing import Fuzzed, checked, suggested

pytestmark = pytest.mark.thorough

ENGINES = {"model": Fuzzed(), "moto": Fuzzed()}
READING = [label for label in ENGINES["model"].labels() if label.startswith("GET ")]
CURSORS = ("0", "-1", "x", "|", "x|y", "\u00e9", "W10", "WyIiXQ", "9" * 30, "a" * 2_000)
"""None of which the server gave out; the last ones are JSON arrays in base64, and too long."""


@pytest.fixture(scope="module", autouse=True)
def _over_aws() -> Iterator[None]:
    """Put an embedded AWS behind one of the engines."""
    with ENGINES["moto"].over_aws(Group):
        yield


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("label", READING)
def test_no_reading_request_makes_the_server_fail(label: str, engine: str) -> None:
    """Every answer is as documented, also to a cursor that the server never gave out."""
    operation = ENGINES[engine].named(label)
    cases = suggested(operation, most=8)
    for case in cases:
        checked(case)
    if "cursor" not in {parameter.name for parameter in operation.query}:
        return
    for cursor in CURSORS:
        (case, *_) = suggested(operation, most=1)
        case.query = {"cursor": cursor}
        checked(case)
