"""What the server says of itself, and what it answers to requests that are none."""

from __future__ import annotations

from typing import Final

from tests.transcript.steps import Feature, Step, get, post

JOB: Final = '{"type":"a","args":[]}'


def bare(name: str, method: str, path: str, body: object = None, **headers: str) -> Step:
    """Return a request of any path."""
    named = {each.replace("_", "-"): value for each, value in headers.items()}
    return Step(name=name, method=method, path=path, body=body, headers=named)


STEPS: Final[list[Step]] = [
    bare("read the manifest", "GET", "/ojs/manifest"),
    get("read the health", "/health"),
    get("ask what needs attention", "/admin/findings"),
    get("ask for advice, too", "/admin/findings?advice=true"),
    get("ask for advice in other words", "/admin/findings?advice=1"),
    bare("read the metrics as text", "GET", "/metrics"),
    bare("ask for no path", "GET", "/nowhere"),
    bare("ask for the root", "GET", "/"),
    bare("ask for an unknown operation", "GET", "/ojs/v1/moon"),
    bare("ask for another version's path", "GET", "/ojs/v2/jobs"),
    bare("ask by the short prefix", "GET", "/v1/health"),
    bare("ask by the prefix twice", "GET", "/ojs/v1/ojs/v1/health"),
    bare("ask with a slash at the end", "GET", "/ojs/v1/health/"),
    bare("ask by HEAD", "HEAD", "/ojs/v1/health"),
    bare("ask by OPTIONS", "OPTIONS", "/ojs/v1/jobs"),
    bare("ask for an unknown path by OPTIONS", "OPTIONS", "/nowhere"),
    bare("ask for the versions of a schema by OPTIONS", "OPTIONS", "/ojs/v1/schemas/a/versions"),
    bare("ask by TRACE", "TRACE", "/ojs/v1/jobs"),
    bare("state a version", "POST", "/ojs/v1/jobs", JOB, ojs_version="1.0"),
    bare("state a version that is not spoken", "POST", "/ojs/v1/jobs", JOB, ojs_version="9.0"),
    bare("state no version", "POST", "/ojs/v1/jobs", JOB, ojs_version="x"),
    bare("send plain JSON", "POST", "/ojs/v1/jobs", JOB, content_type="application/json"),
    bare(
        "send JSON with a charset",
        "POST",
        "/ojs/v1/jobs",
        JOB,
        content_type="application/json; charset=utf-8",
    ),
    bare("send text", "POST", "/ojs/v1/jobs", JOB, content_type="text/plain"),
    bare(
        "send a form",
        "POST",
        "/ojs/v1/jobs",
        "a=b",
        content_type="application/x-www-form-urlencoded",
    ),
    bare("send without a type", "POST", "/ojs/v1/jobs", JOB, content_type=""),
    bare(
        "send what is compressed in an unknown way",
        "POST",
        "/ojs/v1/jobs",
        JOB,
        content_encoding="br",
    ),
    bare(
        "send what is not compressed as gzip", "POST", "/ojs/v1/jobs", JOB, content_encoding="gzip"
    ),
    bare("name the request", "GET", "/ojs/v1/health", x_request_id="mine-1"),
    bare("name the request in a way that is refused", "GET", "/ojs/v1/health", x_request_id="a b"),
    bare(
        "name the trace",
        "POST",
        "/ojs/v1/jobs",
        JOB,
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ),
    bare("accept plain JSON", "GET", "/ojs/v1/queues", accept="application/json"),
    bare("accept anything", "GET", "/ojs/v1/queues", accept="*/*"),
    bare("accept text", "GET", "/ojs/v1/queues", accept="text/html"),
    bare("accept gzip", "GET", "/ojs/v1/queues", accept_encoding="gzip"),
    post("push twice by a key", "/jobs", JOB, headers={"Idempotency-Key": "k"}),
    post("push twice by a key, again", "/jobs", JOB, headers={"Idempotency-Key": "k"}),
]

FEATURES: Final = [
    Feature(name="system", steps=STEPS),
    Feature(
        name="openapi", is_in_full=True, steps=[get("read the OpenAPI document", "/openapi.json")]
    ),
]
