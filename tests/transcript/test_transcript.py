"""The API answers every recorded request as it did, and the recordings hold every operation."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import pytest

from ojs_aws.transport.http.openapi import openapi_document
from ojs_aws.transport.http.routes import (
    JOB_ENDPOINT,
    ROUTES,
    canonical_path,
    find,
    pattern_of,
)
from tests.aws import EmbeddedAws
from tests.transcript.recordings import FOLDER, all_features, record, recorded
from tests.transcript.session import emulated_aws
from tests.transcript.steps import Feature

pytestmark = pytest.mark.thorough

FEATURES: Final = all_features()
SHOWN: Final = 60
"""Lines of a difference that a failure shows."""

_REQUEST: Final = re.compile(r"(?:[A-Z]+ (?P<path>/\S*)|by (?P<alias>/\S*):(?P<same> the same)?)")
_STATUS: Final = re.compile(r"(\d{3})(?: as for: .*)?")
_FAILED: Final = 400
_METHOD_NOT_ALLOWED: Final = 405


@pytest.fixture(scope="module")
def aws() -> Iterator[EmbeddedAws]:
    """An AWS on which each feature has a new deployment."""
    with emulated_aws() as found:
        yield found


@pytest.mark.moto
@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_answers_as_recorded(name: str, aws: EmbeddedAws) -> None:
    """If the change is meant, ``make transcript`` writes the files again: review the difference."""
    _compare(recorded(name), record(FEATURES[name], aws))


def _operations_at_the_endpoint(feature: Feature) -> set[str]:
    """Return the operations of a feature's requests that the job endpoint serves."""
    routes = [find(step.method, step.path.partition("?")[0]) for step in feature.steps]
    return {route.operation for route in routes if route and route.group in JOB_ENDPOINT}


def _features_for_the_endpoint() -> list[str]:
    """Return features that between them have each operation, and all those with keys."""
    chosen, seen = [], set[str]()
    for name, feature in sorted(FEATURES.items(), key=lambda each: bool(each[1].keys)):
        operations = _operations_at_the_endpoint(feature)
        if operations - seen or (feature.keys and operations):
            chosen.append(name)
            seen |= operations
    assert seen == {each.operation for each in ROUTES if each.group in JOB_ENDPOINT}
    return chosen


@pytest.mark.moto
@pytest.mark.parametrize("name", _features_for_the_endpoint())
def test_the_job_endpoint_answers_as_the_api(name: str, aws: EmbeddedAws) -> None:
    """Each request of an operation that it serves is sent there: no byte of an answer differs."""
    _compare(recorded(name), record(FEATURES[name], aws, uses_job_endpoint=True))


def _compare(recorded_text: str, answered_text: str) -> None:
    """Fail with the difference between a recording and what is answered now."""
    before, now = recorded_text.splitlines(), answered_text.splitlines()
    difference = difflib.unified_diff(before, now, "recorded", "answered", lineterm="", n=8)
    shown = [line for line, _ in zip(difference, range(SHOWN), strict=False)]
    if shown:
        pytest.fail("\n".join([*shown, "(make transcript writes the files again)"]), pytrace=False)


def test_each_recording_is_of_a_feature() -> None:
    """A file that nothing compares would say what is no longer so."""
    assert {file.stem for file in FOLDER.iterdir()} == set(FEATURES)


@pytest.mark.parametrize("outcome", ["success", "error"])
def test_each_path_of_each_operation_is_recorded(outcome: str) -> None:
    """By its own path and by each alias, with a success and with an error."""
    wanted = {(route.operation, path) for route in ROUTES for path in route.paths}
    assert wanted - recorded_paths()[outcome] == set()


def test_each_recorded_status_is_documented() -> None:
    """By the OpenAPI document, for the operation that answered so."""
    paths = openapi_document()["paths"]
    unknown = set()
    for method, path, status in answers():
        route = find(method, canonical_path(path.partition("?")[0]))
        if route is None or status == _METHOD_NOT_ALLOWED:
            continue
        shown = paths[route.path.replace("<", "{").replace(">", "}")][route.method.lower()]
        if str(status) not in shown["responses"]:
            unknown.add((route.operation, status))
    assert unknown == set()


def recorded_paths() -> dict[str, set[tuple[str, str]]]:
    """Return the operations with the path that was used, by the outcomes that are recorded."""
    patterns = [
        (route.method, pattern_of(path), (route.operation, path))
        for route in ROUTES
        for path in route.paths
    ]
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for method, path, status in answers():
        plain = canonical_path(path.partition("?")[0])
        matching = [pair for known, each, pair in patterns if known == method and each.match(plain)]
        exact = [pair for pair in matching if "<" not in pair[1]] or matching
        found["error" if status >= _FAILED else "success"].update(exact[:1])
    return found


def answers() -> Iterator[tuple[str, str, int]]:
    """Yield method, path and status of everything that is recorded."""
    for file in FOLDER.iterdir():
        for block in re.split(r"^## .*$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            yield from _answers_of(block.strip())


def _answers_of(block: str) -> Iterator[tuple[str, str, int]]:
    method = path = ""
    status = 0
    for line in block.splitlines():
        if not path and line.startswith("("):
            continue
        if (request := _REQUEST.fullmatch(line)) is not None:
            method = method or line.partition(" ")[0]
            path = request["path"] or request["alias"]
            if request["same"]:
                yield method, path, status
        elif path and (answered := _STATUS.fullmatch(line)) is not None:
            status = int(answered[1])
            yield method, path, status
