"""What each path and matcher of the conformance DSL accepts."""

from __future__ import annotations

import pytest

from ojs_aws.cli.verify.conformance.matchers import (
    Json,
    UnreachableError,
    lookup,
    matches,
    matches_alternative,
    matches_status,
)

DOCUMENT: Json = {
    "job": {"id": "a", "tags": ["x", "y"], "none": None, "n": 1.0},
    "jobs": [{"id": "a", "n": 1}, {"id": "b"}, "text"],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.job.id", "a"),
        ("job.id", "a"),
        ("$.job.tags[1]", "y"),
        ("$.job.none", None),
        ("$.job.missing", None),
        ("$.missing.deeper", None),
        ("$.jobs[*].id", ["a", "b"]),
        ("$.jobs[*]", [{"id": "a", "n": 1}, {"id": "b"}, "text"]),
        ("$.jobs[?(@.id=='b')].id", "b"),
        ("$.jobs[?(@.n=='1')].id", "a"),
        ("$.jobs[?(@.id=='c')]", None),
    ],
)
def test_a_path_leads_to_its_value_or_to_nothing(path: str, value: Json) -> None:
    """A missing field is None, as null is."""
    assert lookup(path, DOCUMENT) == value


@pytest.mark.parametrize(
    "path",
    ["$.job.id.deeper", "$.jobs[9]", "$.job[0]", "$.missing[0]", "$.job.none.deeper", "$.jobs[x"],
)
def test_a_path_through_a_value_of_another_shape_is_unreachable(path: str) -> None:
    """Something else than missing: no matcher but ``absent`` accepts it."""
    with pytest.raises(UnreachableError):
        lookup(path, DOCUMENT)


UUID7 = "019a0b1c-2d3e-7f40-8a5b-6c7d8e9fa0b1"


@pytest.mark.parametrize(
    ("matcher", "accepted", "refused"),
    [
        ("any", [None, 0, "x"], []),
        ("exists", [0, "", False, []], [None]),
        ("absent", [None], [0, ""]),
        ("plain", ["plain"], ["other", None]),
        ("urn:x", ["urn:x"], ["urn:y"]),
        ("string:nonempty", ["x"], ["", None, 1]),
        ("string:non_empty", ["x"], [""]),
        ("string:uuid", [UUID7], [UUID7.upper(), "x" + UUID7, UUID7 + "\n"]),
        ("string:uuidv7", [UUID7], [UUID7.replace("-7", "-4"), "x"]),
        ("string:datetime", ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+02:00"], ["2026", 1]),
        ("string:contains:b c", ["ab cd"], ["abcd", None]),
        ("string:pattern(^a+$)", ["aa"], ["aab", "aa\n", 1]),
        ("string:pattern(()", [], ["("]),
        ("string:unheard-of", [], ["string:unheard-of", "x"]),
        ("number:positive", [1, 0.5], [0, -1, "1", True]),
        ("number:non_negative", [0, 1], [-1, None]),
        ("number:range(400,422)", [400, 422], [399, 423, "400"]),
        ("~1000", [500, 1000, 1500], [499, 1501, "1000"]),
        ("array:nonempty", [[0]], [[], "x", None]),
        ("array:empty", [[]], [[0], None]),
        ("array:min_length:2", [[1, 2], [1, 2, 3]], [[1]]),
        ("array:min:1", [[1]], [[]]),
        ("array:length:1", [[1]], [[], [1, 2]]),
        ("array:length(1)", [[1]], [[], "x"]),
        ("contains:http", [["http"]], [["grpc"], "http"]),
        ("not_contains:http", [["grpc"], []], [["http"], None]),
        (None, [None], [False, 0]),
        (True, [True], [1, "true", None]),
        (0, [0, 0.0], [False, None, "0"]),
        (2.5, [2.5], [2, "2.5"]),
        ([1, "string:nonempty"], [[1, "x"]], [[1], [1, ""], [1, "x", 2]]),
        ({"a": 1}, [{"a": 1}, {"a": 1, "b": 2}], [{}, {"a": 2}, None]),
        ({"a": "absent"}, [{}], [{"a": None}, {"a": 1}]),
        ({"$exists": True}, [0, ""], [None]),
        ({"$exists": False}, [None], [0]),
        ({"$exists": True, "$type": "string"}, ["x"], [1, None]),
        ({"$exists": True, "$type": "number"}, [1, 1.5], [True, "1"]),
        ({"$match": "^a"}, ["ab"], ["ba", 1]),
        ({"$in": ["a", 1]}, ["a", 1], ["b", True, None]),
        ({"$size": 2}, [[1, 2]], [[1], "ab"]),
        ({"$size": {"$gte": 1}}, [[1], [1, 2]], [[], None]),
        ({"range": {"min": 1, "max": 2}}, [1, 2], [0, 3, "1"]),
        ({"range": {"min": 1}}, [1, 99], [0]),
        ({"$type": "string"}, [], ["x"]),
    ],
)
def test_a_matcher_accepts_what_it_names(
    matcher: Json, accepted: list[Json], refused: list[Json]
) -> None:
    """And refuses everything beside it."""
    assert [value for value in accepted if not matches(matcher, value)] == []
    assert [value for value in refused if matches(matcher, value)] == []


@pytest.mark.parametrize(
    ("wanted", "accepted", "refused"),
    [
        (200, 200, 201),
        ("one_of:200, 204", 204, 20),
        ("number:range(400,422)", 422, 500),
        ({"$in": [200, 409]}, 409, 404),
    ],
)
def test_a_status_may_be_one_of_several(wanted: Json, accepted: int, refused: int) -> None:
    """Numbers, lists in text, ranges and ``$in``."""
    assert matches_status(wanted, accepted)
    assert not matches_status(wanted, refused)


def test_a_list_as_status_is_never_met() -> None:
    """The DSL knows no such form."""
    assert not matches_status([200], 200)


def test_an_alternative_holds_when_all_its_paths_do() -> None:
    """``$empty`` asks for a body without content."""
    assert matches_alternative({"$.jobs": {"$size": 0}}, {"jobs": []}, "{}")
    assert not matches_alternative({"$.jobs[0].id": "exists"}, {"jobs": []}, "{}")
    assert matches_alternative({"$empty": True}, None, "")
    assert not matches_alternative({"$empty": True}, None, "{}")
    assert not matches_alternative("text", {}, "")
