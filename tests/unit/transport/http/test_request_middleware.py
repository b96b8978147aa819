"""What holds for every request, whatever its route: headers, errors, bodies, threads."""

from __future__ import annotations

import base64
import io
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from ojs_aws.config import Settings
from ojs_aws.domain.errors import BackendError, BackendUnavailableError, OjsError
from ojs_aws.local.lambdas import LambdaContext, http_event
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.routes import Group
from tests.api import OJS, Api
from tests.simulation.world import World

JOB = {"type": "demo.echo", "args": [1]}
MISSING = "/jobs/019539a4-0000-7000-8000-eeeeeeeeeeee"


def subclasses(kind: type[OjsError]) -> list[type[OjsError]]:
    """An error and all that derive from it."""
    return [kind, *(found for child in kind.__subclasses__() for found in subclasses(child))]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/ojs/v1/jobs", 201),
        ("GET", "/ojs/v1" + MISSING, 404),
        ("GET", "/ojs/v1/jobs/nonsense", 400),
        ("GET", "/nowhere", 404),
        ("PUT", "/ojs/v1/jobs", 405),
        ("PATCH", "/ojs/v1/workers/fetch", 405),
        ("GET", "/ojs/manifest", 200),
        ("GET", "/health", 200),
        ("GET", "/ojs/v1/queues", 200),
    ],
)
def test_every_answer_has_the_standard_headers(
    api: Api, method: str, path: str, status: int
) -> None:
    """HTTP binding, section 6.5: on success, on errors, and for unknown routes."""
    reply = api.send(method, path, JOB if method == "POST" else None)
    assert reply.status == status
    assert reply.headers["OJS-Version"] == "1.0"
    assert reply.headers["X-Request-Id"].startswith("req_")
    assert reply.headers["Content-Type"] == OJS


def test_errors_name_the_request(api: Api) -> None:
    """Section 16.1: the request id stands in the error too, with a code and what to do."""
    reply = api.get(MISSING, headers={"X-Request-Id": "mine-1"})
    assert reply.headers["X-Request-Id"] == "mine-1"
    assert reply.error["request_id"] == "mine-1"
    assert reply.error["code"] == "not_found"
    assert reply.error["retryable"] is False
    assert reply.error["docs_url"]


def test_a_request_id_that_cannot_be_taken_over_is_replaced(api: Api) -> None:
    """It would come back in a header."""
    for bad in ("a b", "x" * 200):
        reply = api.get("/health", headers={"X-Request-Id": bad})
        assert reply.headers["X-Request-Id"].startswith("req_")


def test_a_wrong_method_says_which_are_right(api: Api) -> None:
    """405 with Allow; OPTIONS answers without a body."""
    reply = api.send("PUT", "/ojs/v1" + MISSING)
    assert reply.headers["Allow"] == "DELETE, GET, PATCH"
    assert reply.error["code"] == "method_not_allowed"
    options = api.send("OPTIONS", "/ojs/v1" + MISSING)
    assert (options.status, options.text) == (204, "")
    assert options.headers["Allow"] == "DELETE, GET, PATCH, OPTIONS"
    assert options.headers["OJS-Version"] == "1.0"


def test_an_unknown_route_is_404_whatever_its_body_is(api: Api) -> None:
    """There is nothing that could refuse the body."""
    reply = api.send("POST", "/nowhere", "x", headers={"Content-Type": "text/plain"})
    assert reply.error["code"] == "not_found"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "   ",
        "{",
        "[]",
        "5",
        '"x"',
        "{ invalid json }",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        "/jobs",
        "/workers/fetch",
        "/workers/ack",
        "/workers/nack",
        "/workers/heartbeat",
        "/jobs/batch",
    ],
)
def test_a_body_that_is_no_json_object_is_an_invalid_payload(
    api: Api, world: World, path: str, body: object
) -> None:
    """CLARIFICATIONS, JSON: empty or malformed bodies are `invalid_payload`; nothing changes."""
    reply = api.post(path, body)
    assert reply.status == 400
    assert reply.error["code"] == "invalid_payload"
    assert world.stored.jobs == {}


def test_a_body_is_bounded_in_size_and_depth(api: Api, world: World) -> None:
    """Promise 8."""
    large = api.post("/jobs", {"type": "a", "args": ["x" * 1_200_000]})
    assert (large.status, large.error["code"]) == (413, "payload_too_large")
    deep = api.post("/jobs", '{"type": "a", "args": ' + "[" * 200 + "]" * 200 + "}")
    assert (deep.status, deep.error["code"]) == (400, "invalid_payload")
    assert world.stored.jobs == {}


def test_bodies_are_read_with_and_without_base64(world: World) -> None:
    """API Gateway encodes what it does not know to be text (EMULATORS.md)."""
    handler = build_resolver(world.backend, Group.PRODUCER)
    for encoded in (True, False):
        event = http_event("POST", "/ojs/v1/jobs", "", {"content-type": OJS}, b"")
        text = '{"type": "demo.echo", "args": ["é😀"]}'
        event["body"] = base64.b64encode(text.encode()).decode() if encoded else text
        event["isBase64Encoded"] = encoded
        answer = handler(event, LambdaContext("test", 29.0))
        assert answer["statusCode"] == 201
        assert json.loads(answer["body"])["job"]["args"] == ["é😀"]


def test_a_body_that_is_not_the_base64_it_claims_to_be_is_refused(world: World) -> None:
    """400, not a failure of the function."""
    handler = build_resolver(world.backend, Group.PRODUCER)
    event = http_event("POST", "/ojs/v1/jobs", "", {"content-type": OJS}, b"x")
    answer = handler(event | {"body": "?"}, LambdaContext("test", 29.0))
    assert answer["statusCode"] == 400


def test_an_unexpected_error_is_answered_without_its_text(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """500 with an OJS error; the stack is for the log only."""

    def broken(_: object) -> None:
        raise RuntimeError("secret of table 17")

    monkeypatch.setattr(world.store, "load_whole", broken)
    logging.getLogger("ojs_aws").addHandler(caplog.handler)
    try:
        reply = api.get(MISSING)
    finally:
        logging.getLogger("ojs_aws").removeHandler(caplog.handler)
    assert reply.status == 500
    assert reply.error["code"] == "backend_error"
    assert reply.error["retryable"] is True
    assert "secret" not in reply.text
    failed = next(record for record in caplog.records if record.message == "Request failed")
    assert failed.exc_info
    assert failed.exc_info[0] is RuntimeError


@pytest.mark.parametrize(
    ("raised", "status"), [(BackendError, 500), (BackendUnavailableError, 503)]
)
def test_a_failed_aws_call_keeps_its_status(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch, raised: type[OjsError], status: int
) -> None:
    """What may have taken effect is never 502 to 504: clients resend a PUSH on those."""

    def failing(_: object) -> None:
        raise raised("PutItem failed")

    monkeypatch.setattr(world.store, "insert", failing)
    reply = api.post("/jobs", JOB)
    assert reply.status == status
    assert ("Retry-After" in reply.headers) == (status == 503)


def test_every_error_has_a_code_and_a_status_of_the_binding() -> None:
    """Section 16.2; 502 and 504 are nobody's."""
    known = {400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, 500, 503}
    for kind in subclasses(OjsError):
        error = kind("text").as_dict("r")
        assert error["code"]
        assert kind.status in known


def test_threads_do_not_share_requests(world: World) -> None:
    """The local server calls one resolver from many threads; Powertools alone would mix them."""
    handler = build_resolver(world.backend, Group.PRODUCER)

    def ask(number: int) -> tuple[int, dict[str, Any]]:
        headers = {"content-type": OJS, "x-request-id": f"r{number}"}
        body = json.dumps({"type": "demo.echo", "args": [number]}).encode()
        event = http_event("POST", "/ojs/v1/jobs", "", headers, body)
        return number, handler(event, LambdaContext("test", 29.0))

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(300)))
    for number, answer in answers:
        assert answer["headers"]["X-Request-Id"] == f"r{number}"
        assert json.loads(answer["body"])["job"]["args"] == [number]


def test_a_setting_forces_the_content_type() -> None:
    """OJS_JSON_CONTENT_TYPE=json, for clients that cannot ask for it."""
    world = World(settings=Settings(json_content_type="json"))
    assert Api(world.backend).get("/queues").headers["Content-Type"] == "application/json"
    assert Api(world.backend).get(MISSING).headers["Content-Type"] == "application/json"


def test_the_stage_of_the_gateway_is_no_part_of_the_path(world: World) -> None:
    """A deployment may have a named stage."""
    handler = build_resolver(world.backend, Group.OPERATOR)
    event = http_event("GET", "/prod/ojs/v1/queues", "", {}, b"")
    event["requestContext"]["stage"] = "prod"
    assert handler(event, LambdaContext("test", 29.0))["statusCode"] == 200


@pytest.mark.parametrize("is_wanted", [True, False])
def test_requests_are_measured_by_operation_in_their_line_of_the_log(is_wanted: bool) -> None:
    """In CloudWatch's embedded metric format, where it is asked for: its keys are at the root."""
    lines = io.StringIO()
    logger = Logger(
        service=f"measured-{is_wanted}", level="INFO", logger_handler=logging.StreamHandler(lines)
    )
    world = World(settings=Settings(metrics_by_operation=is_wanted))
    api = Api(world.backend, logger)
    assert api.post("/jobs", JOB).status == 201
    assert api.get(MISSING).status == 404
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [line["operation"] for line in logged] == ["push", "info"]
    if not is_wanted:
        assert all("_aws" not in line for line in logged)
        return
    for line in logged:
        [directive] = line["_aws"]["CloudWatchMetrics"]
        assert directive["Dimensions"] == [["operation"]]
        names = [metric["Name"] for metric in directive["Metrics"]]
        assert names == ["ojs.api.request_duration", "ojs.api.faults"]
        assert [type(line[name]) for name in names] == [float, int]
        assert line["ojs.api.faults"] == 0
    assert logged[0]["_aws"]["Timestamp"] == world.clock.now()


def test_a_fault_of_the_server_is_counted_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = io.StringIO()
    logger = Logger(service="faulty", level="INFO", logger_handler=logging.StreamHandler(lines))
    world = World(settings=Settings(metrics_by_operation=True))

    def broken(_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(world.store, "load_whole", broken)
    assert Api(world.backend, logger).get(MISSING).status == 500
    assert json.loads(lines.getvalue().splitlines()[-1])["ojs.api.faults"] == 1
