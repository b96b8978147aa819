"""What JSON cases cannot say: exact bytes in and out, and requests at the same time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import httpx
import pytest

from ojs_aws.cli.verify.conformance.cases import uuid7
from ojs_aws.cli.verify.conformance.runner import MEDIA_TYPE

pytestmark = pytest.mark.thorough

JSON_HEADERS: Final = {"Content-Type": MEDIA_TYPE}
MEBIBYTE: Final = 1024 * 1024


@pytest.fixture
def queue(run_name: str) -> str:
    """A queue that no other test uses."""
    return f"raw-{run_name}-{uuid7()[-12:]}"


@pytest.fixture
def post(server_url: str, http: httpx.Client) -> Callable[[str, bytes | str], httpx.Response]:
    """POST a body as it is to a path below ``/ojs/v1``."""

    def send(path: str, body: bytes | str) -> httpx.Response:
        return http.post(f"{server_url}/ojs/v1{path}", content=body, headers=JSON_HEADERS)

    return send


Post = Callable[[str, bytes | str], httpx.Response]


def lexical(text: str) -> object:
    """JSON with numbers as they are spelt and members in their order, for exact comparison."""
    return json.loads(
        text,
        parse_int=lambda digits: ("number", digits),
        parse_float=lambda digits: ("number", digits),
        object_pairs_hook=lambda pairs: ("object", pairs),
    )


def member(document: object, *names: str) -> object:
    """A member of a document read by :func:`lexical`."""
    for name in names:
        assert isinstance(document, tuple)
        document = dict(document[1])[name]
    return document


def require_error(response: httpx.Response, status: int, code: str | None = None) -> None:
    """The answer is an error with the standard headers and members."""
    assert response.status_code == status, response.text
    assert response.headers["OJS-Version"] == "1.0"
    error = response.json()["error"]
    assert error["request_id"] == response.headers["X-Request-Id"]
    assert error["retryable"] is False
    assert code in (None, error["code"])


# ------------------------------------------------------------------------------ faithfulness
ARGS: Final = {
    "integers": "[123456789012345678901234567890, -9223372036854775809, 9007199254740993, -0, 0]",
    "reals": "[1.0, 1e-7, 1E+5, -0.0, 0.1, 100.00, 3.141592653589793238462643383279]",
    "key order": '[{"z": 1, "a": 2, "m": {"y": 1, "b": 2}}]',
    "empty keys and values": '[{"": "", " ": null}, [], {}, [[]]]',
    "astral characters": '["\U0001d11e\U0001f600", "\u00e9\u4e2d", "a\u2028b\u2029c", "\\u0000"]',
    "escapes": r'["\ud834\udd1e", "\/", "\"\\\b\f\n\r\t", "\u00e9", "<\/script>"]',
    "names that databases use": '[{"N": "1", "S": "x", "$date": 5, "__class__": "int", "": 0}]',
    "nesting": "[" * 60 + "]" * 60,
}


@pytest.mark.parametrize("args", ARGS.values(), ids=ARGS.keys())
def test_client_data_survives_the_whole_life_of_a_job(
    args: str, queue: str, post: Post, http: httpx.Client, server_url: str
) -> None:
    """args, meta, an unknown attribute and the result come back number for number, in order."""
    body = (
        f'{{"type":"test.echo","queue":"{queue}",'
        f'"args":{args},"meta":{{"data":{args}}},"x_own":{args}}}'
    )
    expected = lexical(args)

    pushed = post("/jobs", body.encode())
    assert pushed.status_code == 201, pushed.text
    job_id = pushed.json()["job"]["id"]
    fetched = post("/workers/fetch", json.dumps({"queues": [queue]}))
    acked = post("/workers/ack", f'{{"job_id":"{job_id}","result":{args}}}'.encode())
    assert acked.status_code == 200, acked.text
    info = http.get(f"{server_url}/ojs/v1/jobs/{job_id}")

    claimed = member(lexical(fetched.text), "jobs")
    assert isinstance(claimed, list)
    finished = member(lexical(info.text), "job")
    for job in (member(lexical(pushed.text), "job"), claimed[0], finished):
        assert member(job, "args") == expected
        assert member(job, "meta", "data") == expected
        assert member(job, "x_own") == expected
    assert member(finished, "result") == expected


def test_an_explicit_null_result_is_kept_apart_from_no_result(
    queue: str, post: Post, http: httpx.Client, server_url: str
) -> None:
    """``"result": null`` in an ACK shows as null, and no result shows as no attribute."""
    for ack, has_result in (({"result": None}, True), ({}, False)):
        job_id = post(
            "/jobs", json.dumps({"type": "test.echo", "args": [], "queue": queue})
        ).json()["job"]["id"]
        post("/workers/fetch", json.dumps({"queues": [queue]}))
        post("/workers/ack", json.dumps({"job_id": job_id, **ack}))
        job = http.get(f"{server_url}/ojs/v1/jobs/{job_id}").json()["job"]
        assert job["state"] == "completed"
        assert ("result" in job) is has_result
        assert job.get("result") is None


def test_reading_a_job_changes_nothing(
    queue: str, post: Post, http: httpx.Client, server_url: str
) -> None:
    """INFO answers the same bytes each time."""
    pushed = post("/jobs", json.dumps({"type": "test.echo", "args": [1], "queue": queue}))
    url = f"{server_url}/ojs/v1/jobs/{pushed.json()['job']['id']}"
    assert len({http.get(url).content for _ in range(3)}) == 1


# ------------------------------------------------------------------------------ refused bytes
REFUSED: Final = {
    "NaN": b'{"type":"test.echo","args":[NaN]}',
    "Infinity": b'{"type":"test.echo","args":[Infinity]}',
    "minus Infinity": b'{"type":"test.echo","args":[-Infinity]}',
    "number beyond a double": b'{"type":"test.echo","args":[1e999]}',
    "repeated key": b'{"type":"test.echo","type":"test.other","args":[]}',
    "repeated key, escaped": b'{"type":"test.echo","ty\\u0070e":"test.other","args":[]}',
    "repeated key, nested": b'{"type":"test.echo","args":[{"a":1,"a":2}]}',
    "invalid UTF-8": b'{"type":"test.echo","args":["\xff\xfe"]}',
    "overlong UTF-8": b'{"type":"test.echo","args":["\xc0\xaf"]}',
    "UTF-8 surrogate": b'{"type":"test.echo","args":["\xed\xa0\x80"]}',
    "UTF-16": '{"type":"test.echo","args":[]}'.encode("utf-16"),
    "control character": b'{"type":"test.echo","args":["\x01"]}',
    "trailing comma": b'{"type":"test.echo","args":[],}',
    "comment": b'{"type":"test.echo","args":[] /* none */}',
    "two objects": b'{"type":"test.echo","args":[]}{}',
    "hexadecimal": b'{"type":"test.echo","args":[0x10]}',
    "leading zero": b'{"type":"test.echo","args":[01]}',
    "open nesting": b'{"type":"test.echo","args":' + b"[" * 50_000,
    "deep nesting": b'{"type":"test.echo","args":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "deep objects": b'{"type":"test.echo","args":['
    + b'{"a":' * 9_999
    + b"1"
    + b"}" * 9_999
    + b"]}",
}


@pytest.mark.parametrize("path", ["/jobs", "/workers/ack"])
@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_bytes_that_are_no_clean_json_are_refused(body: bytes, path: str, post: Post) -> None:
    """Each is 400 ``invalid_payload``, whichever operation it was sent to."""
    require_error(post(path, body), 400, "invalid_payload")


@pytest.mark.parametrize("escape", [r"\ud800", r"\udc00", r"\udc00\ud800"])
def test_a_lone_surrogate_is_refused_or_kept(escape: str, queue: str, post: Post) -> None:
    """JSON lets an escape name half a character; no server error may come of it."""
    response = post("/jobs", f'{{"type":"test.echo","queue":"{queue}","args":["{escape}"]}}')
    if response.status_code == 201:
        assert escape in response.text
    else:
        require_error(response, 400)


def test_an_envelope_beyond_the_limit_is_refused_with_the_limit(queue: str, post: Post) -> None:
    """One MiB is the default limit, and the error says so."""
    body = json.dumps({"type": "test.echo", "queue": queue, "args": ["x" * MEBIBYTE]})
    response = post("/jobs", body)
    require_error(response, 413)
    assert MEBIBYTE in response.json()["error"]["details"].values()
    assert post("/workers/fetch", json.dumps({"queues": [queue]})).json()["jobs"] == []


def test_a_large_envelope_within_the_limit_is_served_whole(queue: str, post: Post) -> None:
    """Twice what a DynamoDB item holds, incompressible, comes back from FETCH unchanged."""
    text = "".join(uuid7() for _ in range(22_000))
    pushed = post("/jobs", json.dumps({"type": "test.echo", "queue": queue, "args": [text]}))
    assert pushed.status_code == 201, pushed.text[:300]
    fetched = post("/workers/fetch", json.dumps({"queues": [queue]}))
    assert fetched.json()["jobs"][0]["args"] == [text]


def test_a_long_backtrace_is_cut(
    queue: str, post: Post, http: httpx.Client, server_url: str
) -> None:
    """At most 50 frames and 10,000 characters are kept; the failure itself is accepted."""
    pushed = post("/jobs", json.dumps({"type": "test.echo", "args": [], "queue": queue}))
    job_id = pushed.json()["job"]["id"]
    post("/workers/fetch", json.dumps({"queues": [queue]}))
    error = {"type": "RecursionError", "message": "deep", "backtrace": ["frame " * 60] * 200}
    assert post("/workers/nack", json.dumps({"job_id": job_id, "error": error})).is_success
    kept = http.get(f"{server_url}/ojs/v1/jobs/{job_id}").json()["job"]["error"]["backtrace"]
    assert 0 < len(kept) <= 50
    assert sum(map(len, kept)) <= 10_000


# ------------------------------------------------------------------------------ headers
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/ojs/v1"),
        ("GET", "/ojs/v2/jobs"),
        ("POST", "/ojs/v1/jobs/x/y/z"),
        ("PATCH", "/ojs/v1/health"),
        ("GET", "/ojs/v1/jobs/%00"),
        ("GET", "/ojs/v1/jobs/..%2f..%2fetc"),
        ("GET", "/ojs/v1/jobs/" + "a" * 2000),
        ("DELETE", "/ojs/v1/jobs"),
    ],
)
def test_unknown_routes_and_methods_answer_like_everything_else(
    method: str, path: str, server_url: str, http: httpx.Client
) -> None:
    """A structured 4xx with the standard headers, and JSON of the OJS type."""
    response = http.request(method, server_url + path)
    assert response.status_code in (400, 404, 405)
    require_error(response, response.status_code)
    assert response.headers["Content-Type"].startswith(MEDIA_TYPE)


def test_each_answer_has_its_own_request_id(server_url: str, http: httpx.Client) -> None:
    """Without one from the client the server makes a fresh id."""
    ids = {http.get(f"{server_url}/ojs/v1/health").headers["X-Request-Id"] for _ in range(5)}
    assert len(ids) == 5


@pytest.mark.parametrize("request_id", ["x" * 3000, "", "a\tb", "<script>"])
def test_an_odd_request_id_does_no_harm(
    request_id: str, server_url: str, http: httpx.Client
) -> None:
    """The answer has a request id, be it the client's or a fresh one, and the same in the error."""
    url = f"{server_url}/ojs/v1/jobs/{uuid7()}"
    response = http.get(url, headers={"X-Request-Id": request_id})
    require_error(response, 404, "not_found")
    assert response.headers["X-Request-Id"].strip()


def test_the_location_of_a_pushed_job_leads_to_it(
    queue: str, post: Post, http: httpx.Client, server_url: str
) -> None:
    """Location can be followed as it is."""
    pushed = post("/jobs", json.dumps({"type": "test.echo", "args": [], "queue": queue}))
    job_id = pushed.json()["job"]["id"]
    location = pushed.headers["Location"]
    assert re.fullmatch(r"(https?://[^/]+)?/ojs/v1/jobs/" + job_id, location)
    assert http.get(httpx.URL(server_url).join(location)).json()["job"]["id"] == job_id


def test_the_python_sdk_gets_a_type_it_recognises(server_url: str, http: httpx.Client) -> None:
    """It is known by httpx's own name, and looks for ``application/json`` in the answer's type."""
    headers = {"User-Agent": "python-httpx/0.27.0", "Accept": MEDIA_TYPE}
    content_type = http.get(f"{server_url}/ojs/v1/health", headers=headers).headers["Content-Type"]
    assert content_type.startswith(MEDIA_TYPE)
    assert "application/json" in content_type


def test_bodies_of_get_and_delete_are_ignored(
    queue: str, post: Post, http: httpx.Client, server_url: str
) -> None:
    """Not even one that is no JSON changes the answer."""
    pushed = post("/jobs", json.dumps({"type": "test.echo", "args": [], "queue": queue}))
    url = f"{server_url}/ojs/v1/jobs/{pushed.json()['job']['id']}"
    for method in ("GET", "DELETE"):
        response = http.request(method, url, content=b"{nonsense", headers=JSON_HEADERS)
        assert response.status_code == 200, response.text


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_activate_needs_no_body(
    body: bytes, queue: str, post: Post, http: httpx.Client, server_url: str
) -> None:
    """Neither a body nor a content type is asked for where nothing is to be said."""
    pushed = post(
        "/jobs", json.dumps({"type": "test.echo", "args": [], "queue": queue, "pending": True})
    )
    url = f"{server_url}/ojs/v1/jobs/{pushed.json()['job']['id']}/activate"
    assert http.post(url, content=body).json()["job"]["state"] == "available"


# ------------------------------------------------------------------------------ at the same time
def test_many_workers_share_jobs_without_doubles_or_errors(queue: str, post: Post) -> None:
    """Sixteen fetches of ten jobs: each job is handed out once, the rest get nothing."""
    pushed = [
        post("/jobs", json.dumps({"type": "test.echo", "args": [n], "queue": queue})).json()
        for n in range(10)
    ]
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda n: post(
                    "/workers/fetch", json.dumps({"queues": [queue], "worker_id": f"raw-{n}"})
                ),
                range(16),
            )
        )
    assert {answer.status_code for answer in answers} == {200}
    handed_out = [job["id"] for answer in answers for job in answer.json()["jobs"]]
    late = post("/workers/fetch", json.dumps({"queues": [queue], "count": 10})).json()["jobs"]
    assert len(set(handed_out)) == len(handed_out)
    assert sorted(handed_out + [job["id"] for job in late]) == sorted(
        answer["job"]["id"] for answer in pushed
    )


def test_of_many_pushes_with_one_id_one_wins(queue: str, post: Post) -> None:
    """Different envelopes under one id: one is created, the others are duplicates."""
    job_id = uuid7()
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda n: post(
                    "/jobs",
                    json.dumps({"type": "test.echo", "id": job_id, "args": [n], "queue": queue}),
                ),
                range(12),
            )
        )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 11
    winner = next(answer for answer in answers if answer.status_code == 201)
    fetched = post("/workers/fetch", json.dumps({"queues": [queue], "count": 10})).json()["jobs"]
    assert [job["args"] for job in fetched] == [winner.json()["job"]["args"]]


@pytest.mark.parametrize("operation", ["ack", "nack"])
def test_of_two_reports_at_once_one_counts(operation: str, queue: str, post: Post) -> None:
    """Two ACKs, or two FAILs, of one attempt: one is accepted, the other a conflict."""
    pushed = post("/jobs", json.dumps({"type": "test.echo", "args": [], "queue": queue}))
    post("/workers/fetch", json.dumps({"queues": [queue]}))
    report = {
        "job_id": pushed.json()["job"]["id"],
        **({"error": {"type": "E", "message": "x"}} if operation == "nack" else {}),
    }
    with ThreadPoolExecutor(2) as pool:
        answers = list(
            pool.map(lambda _: post(f"/workers/{operation}", json.dumps(report)), range(2))
        )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
