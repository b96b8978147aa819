"""Details of answers that official clients and the specification's schemas read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.jobs.failures import MAX_EXTRA_BYTES
from tests.api import Api
from tests.simulation.world import World

SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array"}


# ------------------------------------------------------------------------------------- schemas
@pytest.mark.parametrize("base", ["/schemas", "/admin/schemas"])
@pytest.mark.parametrize("uri", ["https://x.example/s/email.send/v1", "urn:a/b", "urn:a/versions"])
@pytest.mark.parametrize("is_decoded", [False, True])
def test_the_uri_of_a_schema_may_have_slashes(
    api: Api, base: str, uri: str, is_decoded: bool
) -> None:
    """Encoded, as the binding wants it; and decoded, as gateways and WSGI servers pass it on."""
    body = {"uri": uri, "type": "email.send", "version": "1.0.0", "schema": SCHEMA}
    assert api.post("/schemas", body).status == 201
    path = f"{base}/{uri if is_decoded else uri.replace('/', '%2F').replace(':', '%3A')}"
    assert api.get(path).json["uri"] == uri
    assert api.send("DELETE", f"/ojs/v1{path}").json["deleted"] is True
    assert api.get(path).status == 404


@pytest.mark.parametrize("schema", ["abc", "", "a b:c", 5, "x:"])
def test_the_schema_of_a_job_must_be_a_uri(api: Api, schema: Any) -> None:
    """In each place that takes a job, and in the registry."""
    job = {"type": "a.b", "args": [], "schema": schema}
    for path, body in (
        ("/jobs", job),
        ("/jobs/batch", {"jobs": [job]}),
        ("/cron", {"name": "n", "cron": "@daily", **job}),
        ("/workflows", {"type": "chain", "steps": [job]}),
        ("/schemas", {"type": "a.b", "version": "1.0.0", "uri": schema, "schema": SCHEMA}),
    ):
        refused = api.post(path, body)
        assert refused.status == 400
        assert refused.error["details"]["field"].endswith(("schema", "uri"))


# ---------------------------------------------------------------------------- jobs and options
def test_the_description_of_a_cron_job_is_left_out_when_absent(api: Api) -> None:
    body = {"name": "n", "cron": "@daily", "type": "a.b", "args": []}
    made = api.post("/cron", body).json
    assert "description" not in {**made, **made["cron"]}
    listed = api.get("/cron").json["crons"]
    assert "description" not in listed[0]
    assert api.post("/cron", {**body, "description": "d"}).json["description"] == "d"


def test_unknown_options_come_back_once_and_where_they_were_sent(api: Api) -> None:
    """Options that are attributes of the job come back as those."""
    options = {"queue": "q", "version": "2.0", "x_own": {"a": 1}}
    job = api.post("/jobs", {"type": "a.b", "args": [], "x_flat": 1, "options": options}).json[
        "job"
    ]
    assert job["options"] == {"x_own": {"a": 1}}
    assert (job["queue"], job["version"], job["x_flat"]) == ("q", "2.0", 1)
    assert "x_own" not in job


def test_the_options_of_the_binding_s_document_are_understood(api: Api) -> None:
    """``retry_policy`` with ``backoff_type``, ``use_existing``, ``max_per_second``."""
    policy = {"max_attempts": 7, "backoff_type": "constant", "jitter": False}
    options = {"retry_policy": policy, "rate_limit": {"max_per_second": 5}}
    made = api.post("/jobs", {"type": "a.b", "args": [], "options": options})
    assert (made.status, made.json["job"]["max_attempts"]) == (201, 7)
    job = fetched(api)
    answer = api.post("/workers/nack", {"job_id": made.json["id"], "error": {"message": "m"}})
    assert answer.json["retry_delay_ms"] == 1000
    assert job
    unique = {"keys": ["type"], "on_conflict": "use_existing"}
    body = {"type": "a.c", "args": [], "options": {"unique": unique}}
    first, again = api.post("/jobs", body).json, api.post("/jobs", body).json
    assert (again["id"], again["deduplicated"]) == (first["id"], True)
    refused = api.post("/jobs", {"type": "a.d", "args": [], "retry": {"backoff_type": "no"}})
    assert refused.error["details"]["field"] == "retry.backoff_type"


def test_a_heartbeat_names_its_directive(api: Api) -> None:
    """Empty while the worker goes on."""
    beat = {"worker_id": "w1"}
    answer = api.post("/workers/heartbeat", beat).json
    assert (answer["state"], answer["directive"]) == ("running", "")
    api.post("/admin/workers/w1/quiet")
    answer = api.post("/workers/heartbeat", beat).json
    assert (answer["state"], answer["directive"]) == ("quiet", "quiet")


def fetched(api: Api, **more: Any) -> dict[str, Any]:
    """A job that a worker has."""
    api.post("/jobs", {"type": "a.b", "args": [1, {"k": 2}], "meta": {"m": 1}, **more})
    [job] = api.post("/workers/fetch", {"queues": ["default"]}).json["jobs"]
    return {**job}


def test_ack_and_nack_carry_the_whole_envelope(api: Api) -> None:
    """What GET answers is what stands under ``job``; when its result is removed, only GET says."""
    job = fetched(api, x_own=3)
    nacked = api.post("/workers/nack", {"job_id": job["id"], "error": {"message": "m"}}).json
    stored = api.get(f"/jobs/{job['id']}").json["job"]
    assert {"specversion", "args", "meta", "x_own", "retry_delay_ms"} <= set(nacked["job"])
    assert nacked["job"] == stored
    job = fetched(api)
    acked = api.post("/workers/ack", {"job_id": job["id"], "result": {"r": 1}}).json
    stored = api.get(f"/jobs/{job['id']}").json["job"]
    assert acked["job"]["args"] == [1, {"k": 2}]
    assert acked["job"] | {"result_expires_at": stored["result_expires_at"]} == stored


def test_the_nack_that_discards_has_no_delay(api: Api, world: World) -> None:
    """The delay before the last attempt is over."""
    retry = {"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}
    job = fetched(api, retry=retry)
    failure = {"job_id": job["id"], "error": {"message": "m"}}
    assert api.post("/workers/nack", failure).json["retry_delay_ms"] == 1000
    world.clock.advance(s=2)
    [again] = api.post("/workers/fetch", {"queues": ["default"]}).json["jobs"]
    assert again["retry_delay_ms"] == 1000
    last = api.post("/workers/nack", failure).json
    assert last["state"] == "discarded"
    assert not {"retry_delay_ms", "next_attempt_at"} & {*last, *last["job"]}


def test_the_steps_of_a_workflow_carry_their_args(api: Api) -> None:
    """When it is made, read and cancelled; also of steps that have not begun."""
    steps = [{"type": "a.b", "args": [1]}, {"type": "a.c", "args": [{"k": 2}]}]
    made = api.post("/workflows", {"type": "chain", "steps": steps}).json
    path = f"/workflows/{made['id']}"
    for shown in (made, api.get(path).json, api.send("DELETE", f"/ojs/v1{path}").json):
        assert [each["args"] for each in shown["workflow"]["steps"]] == [[1], [{"k": 2}]]


# ------------------------------------------------------------------------------ limits of size
def test_details_that_are_too_large_are_kept_truncated_and_marked(api: Api) -> None:
    """As much as has room, the details first; short ones come back exactly."""
    job = fetched(api)
    details = {"error_class": "Smtp", "short": [1, 2], "dump": "é" * 40_000, "code": 5}
    error = {"message": "m", "x_more": "y" * 20_000, "details": details}
    api.post("/workers/nack", {"job_id": job["id"], "error": error})
    kept = api.get(f"/jobs/{job['id']}").json["job"]["error"]
    assert kept["truncated"] is True
    assert (kept["details"]["short"], kept["details"]["error_class"]) == ([1, 2], "Smtp")
    assert kept["details"]["dump"].startswith("é" * 1000)
    assert kept["details"]["dump"].endswith("…")
    assert kept["type"] == "Smtp"
    assert len(json.dumps(kept, ensure_ascii=False).encode()) <= MAX_EXTRA_BYTES * 1.1
    small = fetched(api)
    error = {"message": "m", "details": {"a": "x" * 1000}}
    answer = api.post("/workers/nack", {"job_id": small["id"], "error": error}).json
    assert answer["error"]["details"] == error["details"]
    assert "truncated" not in answer["error"]


def test_the_limit_of_an_envelope_counts_what_the_client_sent(api: Api) -> None:
    """One byte more is refused, alone and in a batch, whatever the server makes of it."""
    most = api.send("GET", "/ojs/manifest").json["payload_limits"]["max_envelope_bytes"]

    def body(size: int) -> bytes:
        options = {"x_own": "", "retry": {"initial_interval": "1s"}, "tags": ["t"]}
        text = json.dumps({"type": "a.b", "args": [], "options": options})
        return text.replace('"x_own": ""', f'"x_own": "{"x" * (size - len(text))}"').encode()

    assert len(body(most)) == most
    assert api.send("POST", "/ojs/v1/jobs", body(most)).status == 201
    refused = api.send("POST", "/ojs/v1/jobs", body(most + 1))
    assert (refused.status, refused.error["details"]["actual_bytes"]) == (413, most + 1)
    batch = b'{"jobs": [' + body(most) + b"]}"
    assert api.send("POST", "/ojs/v1/jobs/batch", batch).status == 201
    batch = b'{"jobs": [' + body(most + 1) + b"]}"
    refused = api.send("POST", "/ojs/v1/jobs/batch", batch)
    assert (refused.status, refused.error["details"]["index"]) == (413, 0)
