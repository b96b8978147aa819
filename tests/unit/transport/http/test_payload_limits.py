"""ojs-payload-limits over HTTP: what is refused, and how the limits are reported."""

from __future__ import annotations

import gzip
import json
from typing import Any

from ojs_aws.config import Settings
from tests.api import Api
from tests.simulation.world import World

JOB: dict[str, Any] = {"type": "demo.echo", "args": [1]}


def test_pl_001_006_an_envelope_of_a_megabyte_is_the_limit(api: Api) -> None:
    """413 beyond, with the size and the limit."""
    most = api.send("GET", "/ojs/manifest").json["payload_limits"]["max_envelope_bytes"]
    assert most >= 1_048_576
    assert api.post("/jobs", JOB | {"args": ["x" * (most - 1000)]}).status == 201
    refused = api.post("/jobs", JOB | {"args": ["x" * most]})
    assert (refused.status, refused.error["code"]) == (413, "payload_too_large")
    details = refused.error["details"]
    assert (details["field"], details["max_bytes"]) == ("envelope", most)
    assert details["actual_bytes"] > most


def test_pl_002_metadata_beyond_64_kilobytes_is_refused(api: Api) -> None:
    """Alone and in a batch, where the index is reported; nothing is stored."""
    fitting, large = {"k": "x" * 65_000}, {"k": "x" * 65_536}
    assert api.post("/jobs", JOB | {"meta": fitting}).status == 201
    refused = api.post("/jobs", JOB | {"meta": large})
    assert (refused.status, refused.error["details"]["field"]) == (413, "meta")
    assert refused.error["details"]["max_bytes"] == 65_536
    batch = api.post("/jobs/batch", {"jobs": [JOB, JOB | {"meta": large}]})
    assert (batch.status, batch.error["details"]["index"]) == (413, 1)


def test_pl_003_004_names_that_are_too_long_are_refused(api: Api) -> None:
    """Queues and types, with the field."""
    limits = api.send("GET", "/ojs/manifest").json["payload_limits"]
    for field, most in (
        ("queue", limits["max_queue_name_bytes"]),
        ("type", limits["max_job_type_bytes"]),
    ):
        assert api.post("/jobs", JOB | {field: "a" * most}).status == 201
        refused = api.post("/jobs", JOB | {field: "a" * (most + 1)})
        assert (refused.status, refused.error["details"]["field"]) == (400, field)


def test_pl_005_the_manifest_declares_the_limits(api: Api) -> None:
    """Section 8.1; ours beside them."""
    manifest = api.send("GET", "/ojs/manifest").json
    assert "payload-limits" in manifest["extensions"]
    limits = manifest["payload_limits"]
    assert (limits["max_meta_bytes"], limits["supported_compression"]) == (65_536, ["gzip"])
    assert (limits["external_references"], limits["chunking"]) == (True, False)
    assert limits["max_batch_jobs"] == 5_000


def test_pl_007_references_are_passed_through(api: Api) -> None:
    """The backend fetches nothing."""
    reference = {"__ojs_ref": "s3://bucket/raw.mp4", "size": 5, "checksum": "sha256:abc"}
    job_id = api.post("/jobs", JOB | {"args": [reference]}).json["id"]
    assert api.get(f"/jobs/{job_id}").json["args"] == [reference]


def test_pl_009_010_a_compressed_body_counts_as_what_comes_out_of_it(api: Api) -> None:
    """Read within the limits, refused beyond: also a few bytes that make gigabytes."""
    gzipped = {"Content-Encoding": "gzip"}
    small = gzip.compress(json.dumps(JOB).encode())
    assert api.post("/jobs", small, headers=gzipped).status == 201
    large = gzip.compress(json.dumps(JOB | {"args": ["x" * 2_000_000]}).encode())
    assert len(large) < 10_000
    assert api.post("/jobs", large, headers=gzipped).status == 413
    bomb = gzip.compress(b" " * 50_000_000)
    assert api.post("/jobs", bomb, headers=gzipped).status == 413
    for broken in (b"no gzip", small[:-9], small + b"\0", small + small):
        refused = api.post("/jobs", broken, headers=gzipped)
        assert (refused.status, refused.error["code"]) == (400, "invalid_payload")


def test_another_compression_is_refused(api: Api) -> None:
    """415, naming those that are read."""
    refused = api.post("/jobs", b"(zstd)", headers={"Content-Encoding": "zstd"})
    assert (refused.status, refused.error["code"]) == (415, "x_unsupported_compression")
    assert refused.error["details"]["supported"] == ["gzip"]


def test_what_a_deployment_accepts_more_deeply_nested_it_also_returns() -> None:
    """A raised OJS_MAX_DEPTH holds for the whole life of a job, not for PUSH alone."""
    world = World(settings=Settings(max_depth=300))
    api = Api(world.backend)
    deep = "[" * 200 + "]" * 200
    pushed = api.post("/jobs", f'{{"type":"demo.echo","args":{deep}}}')
    assert pushed.status == 201, pushed.text
    [job_id] = world.stored.jobs
    assert api.get(f"/jobs/{job_id}").members["job"].raw.count("[") >= 200
    fetched = api.post("/workers/fetch", {"queues": ["default"], "worker_id": "w"})
    assert fetched.status == 200
    assert fetched.text.count("[") >= 200
