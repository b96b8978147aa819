"""The function that serves the page of a deployment, as API Gateway calls it."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from ojs_aws.dashboard.files import STATIC
from ojs_aws.dashboard.page_function import ENVIRONMENT, handler

SCRIPT = next(path.name for path in STATIC.glob("assets/app-*.js"))


def asked(route: str, accept: str = "*/*", **event: Any) -> dict[str, Any]:
    """The answer to a request of a route."""
    return handler({"routeKey": route, "headers": {"accept": accept}, **event}, None)


def test_the_page_is_the_same_below_a_stage_or_a_prefix() -> None:
    """The route says what is meant, not the path."""
    answer = asked("GET /", "text/html,*/*", rawPath="/prod/", pathParameters=None)
    assert answer["statusCode"] == 200
    assert base64.b64decode(answer["body"]) == (STATIC / "index.html").read_bytes()
    assert "default-src 'none'" in answer["headers"]["Content-Security-Policy"]


def test_the_page_names_the_environment_of_the_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As text, whatever the name is."""
    monkeypatch.setenv(ENVIRONMENT, 'qa "2"')
    page = base64.b64decode(asked("GET /", "text/html")["body"])
    assert b'<meta name="ojs-environment" content="qa &quot;2&quot;">' in page


def test_a_file_is_sent_as_it_was_compressed() -> None:
    """If the browser takes that, which all do."""
    event = {"routeKey": "GET /assets/{file}", "pathParameters": {"file": SCRIPT}}
    headers = {"Accept-Encoding": "gzip, br"}
    answer = handler({**event, "headers": headers}, None)
    assert answer["headers"]["Content-Encoding"] == "gzip"
    assert answer["isBase64Encoded"] is True
    content = gzip.decompress(base64.b64decode(answer["body"]))
    assert content == (STATIC / "assets" / SCRIPT).read_bytes()
    headers["If-None-Match"] = answer["headers"]["ETag"]
    again = handler({**event, "headers": headers}, None)
    assert (again["statusCode"], again["body"]) == (304, "")


@pytest.mark.parametrize("file", ["..%2Findex.html", "../page_function.py", "none.js", ""])
def test_there_are_no_other_files(file: str) -> None:
    """Whatever a path tries."""
    answer = asked("GET /assets/{file}", pathParameters={"file": file})
    assert answer["statusCode"] == 404
    assert json.loads(answer["body"])["error"]["code"] == "not_found"


def test_a_client_that_takes_json_gets_the_error_of_the_api() -> None:
    """There is no operation at the root."""
    answer = asked("GET /", "application/json")
    assert (answer["statusCode"], answer["headers"]["Vary"]) == (404, "Accept")
    assert json.loads(answer["body"])["error"]["message"] == "There is no GET /."


def test_a_head_request_gets_no_content() -> None:
    """But the headers of the file."""
    answer = asked("HEAD /", "text/html")
    assert (answer["statusCode"], answer["body"]) == (200, "")
    assert answer["headers"]["ETag"]
