"""Content types, versions and request ids (HTTP binding, sections 3.2, 4 and 19)."""

from __future__ import annotations

import pytest

from ojs_aws.domain.errors import InvalidRequestError, UnsupportedError
from ojs_aws.transport.http.calls import JSON_TYPE, OJS_TYPE, Request
from ojs_aws.transport.http.negotiation import (
    PROFILED_TYPE,
    answer_type,
    check_content_type,
    check_version,
    is_request_id,
)

SDK = "python-httpx/0.28.1"


def request(method: str = "POST", body: bytes = b"{}", **headers: str) -> Request:
    """A request with some headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method=method, path="/", headers=named, query={}, body=body, id="r")


@pytest.mark.parametrize(
    ("accept", "agent", "expected"),
    [
        ("", "", OJS_TYPE),
        ("*/*", "", OJS_TYPE),
        (OJS_TYPE, "", OJS_TYPE),
        (JSON_TYPE, "", JSON_TYPE),
        (f"{JSON_TYPE}, {OJS_TYPE}", "", OJS_TYPE),
        ("text/html", "", OJS_TYPE),
        (OJS_TYPE, SDK, PROFILED_TYPE),
        (f"{JSON_TYPE}, {OJS_TYPE}", SDK, OJS_TYPE),
        ("*/*", SDK, OJS_TYPE),
        (JSON_TYPE, SDK, JSON_TYPE),
    ],
)
def test_the_answers_type_follows_what_the_client_can_read(
    accept: str, agent: str, expected: str
) -> None:
    """Exact by default; the two clients that need another type get it."""
    assert answer_type({"accept": accept, "user-agent": agent}, "auto") == expected


def test_a_setting_forces_the_answers_type() -> None:
    """OJS_JSON_CONTENT_TYPE outweighs what the client says."""
    assert answer_type({"accept": JSON_TYPE}, "ojs") == OJS_TYPE
    assert answer_type({"accept": OJS_TYPE}, "json") == JSON_TYPE


@pytest.mark.parametrize(
    "stated",
    [
        OJS_TYPE,
        JSON_TYPE,
        f"{JSON_TYPE}; charset=utf-8",
        f"{OJS_TYPE};charset=UTF-8",
        "APPLICATION/JSON",
        "",
    ],
)
def test_both_json_types_are_read_with_or_without_charset(stated: str) -> None:
    """Section 4.1; a body without a type is read as JSON."""
    check_content_type(request(content_type=stated))


@pytest.mark.parametrize(
    "stated", ["text/plain", "application/x-www-form-urlencoded", "application/xml"]
)
def test_a_body_of_another_type_is_refused(stated: str) -> None:
    """Section 4.1: 400, not 415."""
    with pytest.raises(InvalidRequestError) as refused:
        check_content_type(request(content_type=stated))
    assert refused.value.status == 400
    assert refused.value.details["received"] == stated


@pytest.mark.parametrize(("method", "body"), [("GET", b"x"), ("DELETE", b"x"), ("POST", b"")])
def test_the_type_of_a_body_that_is_not_read_does_not_matter(method: str, body: bytes) -> None:
    """Bodies of GET and DELETE are ignored; a POST without a body needs no type."""
    check_content_type(request(method, body, content_type="text/plain"))


@pytest.mark.parametrize("version", ["", "1", "1.0", "1.0.0", "1.0.0-rc.1"])
def test_this_version_may_be_asked_for(version: str) -> None:
    """Section 3.2."""
    check_version(request(ojs_version=version))


@pytest.mark.parametrize("version", ["2.0", "1.1", "0.9", "latest", "1.0.0.0"])
def test_other_versions_are_unsupported(version: str) -> None:
    """Section 3.2: 422 unsupported."""
    with pytest.raises(UnsupportedError):
        check_version(request(ojs_version=version))


def test_a_request_id_is_bounded() -> None:
    """A client's id comes back in a header and in logs."""
    assert is_request_id("req_client-1")
    assert not is_request_id("")
    assert not is_request_id("a b")
    assert not is_request_id("a\r\nSet-Cookie: b")
    assert not is_request_id("x" * 129)
    assert not is_request_id("é")
