"""Every constraint of the envelope (core, section 5), by requirement."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, OjsError, UnsupportedError
from ojs_aws.domain.jobs.validation import Envelope, read_envelope
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import Instant

NOW = Instant(1_760_000_000_000)
ID = "019539a4-b68c-7def-8000-1a2b3c4d5e6f"


def read(**attributes: Any) -> Envelope:
    """Read an envelope that came as JSON."""
    return read_envelope(Job.from_json(json.dumps({"type": "a.b", "args": []} | attributes)), NOW)


GOOD: list[tuple[str, Any]] = [
    ("specversion", "1.0"),
    ("specversion", "1.0.0-rc.1"),
    ("specversion", "1.0.0"),
    ("specversion", "1.2.3-0.x-y.7z+build.01"),
    ("id", ID),
    ("type", "x"),
    ("type", "data.etl.transform_2"),
    ("type", "email.send-now"),
    ("type", "a" * 255),
    ("queue", "a"),
    ("queue", "0-a.b"),
    ("queue", "q" * 128),
    ("args", [[[[[[1]]]]]]),
    ("meta", {}),
    ("priority", -100),
    ("priority", 100),
    ("timeout", 0),
    ("timeout", 30),
    ("timeout_ms", 1),
    ("visibility_timeout_ms", 43_200_000),
    ("visibility_timeout", 30),
    ("visibility_timeout", "PT30S"),
    ("scheduled_at", "2026-03-15T09:00:00+02:00"),
    ("scheduled_at", "+PT2S"),
    ("expires_at", "2026-03-15T09:00:00.123456Z"),
    ("schema", "urn:ojs:schema:email.send:v1"),
    ("schema", "https://schemas.example.com/a%20b/v1?x=[1]#top"),
    ("schema", "https://me:secret@schemas.example.com:8443?x=//[y"),
    ("schema", "http://[2001:db8::1]:80/v1"),
    ("schema", "http://[v1.a:b]/v1"),
    ("schema", "http://localhost:/v1"),
    ("schema", "http://localhost:65535"),
    ("schema", "file:///schemas/a.json"),
    ("schema", "urn:x:[a]:port//"),
    ("unique", {}),
    ("retry", {}),
    ("tags", []),
    ("tags", ["x"] * 100),
    ("pending", False),
    ("timeout", 604_800),
    ("visibility_timeout_ms", 1),
    ("visibility_timeout", "12h"),
    ("tags", ["a"]),
    ("unique", {"keys": ["type"]}),
    ("pending", True),
    ("x_unknown", {"a": [None]}),
]

BAD: list[tuple[str, Any]] = [
    ("specversion", "banana"),
    ("specversion", 1),
    ("specversion", "1"),
    ("specversion", ""),
    ("specversion", "1.0-rc.1"),
    ("specversion", "01.0.0"),
    ("specversion", "1.0.0-"),
    ("specversion", "1.0.0-rc..1"),
    ("specversion", "1.0.0-01"),
    ("specversion", "v1.0.0"),
    ("specversion", "1.0.0\n"),
    ("id", ""),
    ("id", 5),
    ("id", None),
    ("id", ID.replace("7def", "4def")),
    ("id", ID.replace("-8000-", "-c000-")),
    ("id", ID + "0"),
    ("id", "550e8400-e29b-41d4-a716-446655440000"),
    ("id", ID.upper()),
    ("id", ID.replace("-", "")),
    ("id", "{" + ID + "}"),
    ("id", ID + "\n"),
    ("type", ""),
    ("type", None),
    ("type", 5),
    ("type", "Email.Send"),
    ("type", "email..send"),
    ("type", ".a"),
    ("type", "a."),
    ("type", "1email.send"),
    ("type", "email send"),
    ("type", "a" * 256),
    ("type", "émail"),
    ("queue", ""),
    ("queue", "Default"),
    ("queue", "my_queue!"),
    ("queue", "-x"),
    ("queue", ".x"),
    ("queue", "my queue"),
    ("queue", "q" * 129),
    ("queue", "a\n"),
    ("queue", "\u0661"),
    ("queue", 7),
    ("args", {}),
    ("args", "x"),
    ("args", 4),
    ("args", True),
    ("args", None),
    ("meta", []),
    ("meta", "x"),
    ("priority", 1.5),
    ("priority", "high"),
    ("priority", True),
    ("priority", 101),
    ("priority", -101),
    ("timeout", -1),
    ("timeout", 1.5),
    ("timeout", "30"),
    ("timeout_ms", -1),
    ("timeout_ms", 10**12),
    ("visibility_timeout_ms", 0),
    ("visibility_timeout_ms", 43_200_001),
    ("visibility_timeout_ms", "30000"),
    ("visibility_timeout_ms", 1.5),
    ("visibility_timeout_ms", True),
    ("visibility_timeout", 0),
    ("visibility_timeout", 43_201),
    ("visibility_timeout", "PT0S"),
    ("visibility_timeout", "soon"),
    ("visibility_timeout", 1.5),
    ("visibility_timeout", []),
    ("timeout", True),
    ("timeout", 604_801),
    ("timeout", [1]),
    ("args", 0),
    ("args", "[]"),
    ("meta", 1),
    ("priority", [0]),
    ("tags", {"a": 1}),
    ("tags", ["a", None]),
    ("unique", "x"),
    ("pending", 1),
    ("retry", []),
    ("scheduled_at", "2026-03-15T09:00:00"),
    ("scheduled_at", 1_700_000_000),
    ("scheduled_at", "2026-02-30T09:00:00Z"),
    ("scheduled_at", "tomorrow"),
    ("scheduled_at", "+2 hours"),
    ("expires_at", "2026-03-15 09:00:00Z"),
    ("expires_at", "20260315T090000Z"),
    ("schema", "not a uri"),
    ("schema", "none"),
    ("schema", "urn:"),
    ("schema", ":x"),
    ("schema", "1urn:x"),
    ("schema", "urn:x\n"),
    ("schema", "urn:ü"),
    ("schema", "urn:%zz"),
    ("schema", "urn:<x>"),
    ("schema", "http://[bad"),
    ("schema", "http://[bad]/v1"),
    ("schema", "http://bad]/v1"),
    ("schema", "http://[::1]x/v1"),
    ("schema", "http://x:port/"),
    ("schema", "http://x:1:2/"),
    ("schema", "http://x:65536/"),
    ("schema", "http://a@b@c/"),
    ("schema", "http:///v1"),
    ("schema", "HTTPS://:443/v1"),
    ("schema", "http://[v1.]/v1"),
    ("schema", ""),
    ("schema", 5),
    ("tags", "a"),
    ("tags", [1]),
    ("tags", ["x"] * 101),
    ("unique", []),
    ("retry", "never"),
    ("pending", "yes"),
]


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_what_the_specification_allows_is_read(name: str, value: Any) -> None:
    """ENV-001 to ENV-072, the positive side."""
    read(**{name: value})


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_it_forbids_is_refused_with_the_name(name: str, value: Any) -> None:
    """ENV-001 to ENV-072, the negative side: 400, not retryable, and the field in the details."""
    with pytest.raises(InvalidRequestError) as refused:
        read(**{name: value})
    assert (refused.value.status, refused.value.retryable) == (400, False)
    assert refused.value.details["field"] == name


@pytest.mark.parametrize("name", ["type", "args"])
def test_what_has_no_default_must_be_there(name: str) -> None:
    """ENV-010, ENV-018."""
    members = {"type": "a.b", "args": []}
    del members[name]
    with pytest.raises(InvalidRequestError, match=name):
        read_envelope(Job.from_json(json.dumps(members)), NOW)


def test_another_major_version_is_unsupported() -> None:
    """ENV-007: 422, with the versions that are."""
    with pytest.raises(UnsupportedError) as refused:
        read(specversion="2.0.0")
    assert refused.value.status == 422


def test_what_is_left_out_takes_its_default() -> None:
    """ENV-003, ENV-016, ENV-038."""
    envelope = read(timeout=0)
    assert (envelope.queue, envelope.priority, envelope.is_pending) == ("default", 0, False)
    assert (envelope.timeout_ms, envelope.visibility_timeout_ms) == (None, None)
    assert envelope.retry.max_attempts == 3
    assert envelope.document["specversion"] == '"1.0.0-rc.1"'


def test_forms_of_the_timeouts_mean_the_same() -> None:
    """Seconds and milliseconds; milliseconds win."""
    assert read(timeout=30).timeout_ms == read(timeout_ms=30_000).timeout_ms == 30_000
    assert read(timeout=30, timeout_ms=5).timeout_ms == 5
    assert read(visibility_timeout="PT1M").visibility_timeout_ms == 60_000


def test_a_relative_timestamp_is_kept_as_what_it_came_to_mean() -> None:
    """And an absolute one as it was written."""
    envelope = read(scheduled_at="+PT2S", expires_at="2026-03-15T09:00:00.5+02:00")
    assert envelope.scheduled_at == NOW + 2000
    assert envelope.document["scheduled_at"] == '"2025-10-09T08:53:22.000Z"'
    assert envelope.document["expires_at"] == '"2026-03-15T09:00:00.5+02:00"'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted({name for name, _ in GOOD})), json_values)
def test_whatever_an_attribute_holds_is_read_or_refused(name: str, value: Any) -> None:
    """Promise 8: never another exception."""
    text = json.dumps({"type": "a.b", "args": []} | {name: value})
    with suppress(OjsError):
        read_envelope(Job.from_json(text), NOW)


@pytest.mark.parametrize(
    ("retry", "status"), [({"max_attempts": "3"}, 400), ({"max_attempts": -1}, 422)]
)
def test_a_policy_is_judged_when_it_is_pushed(retry: dict[str, Any], status: int) -> None:
    """ENV-047: malformed is 400, well formed and impossible 422."""
    with pytest.raises(InvalidRequestError) as refused:
        read(retry=retry)
    assert refused.value.status == status
    assert refused.value.details["field"] == "retry.max_attempts"


def test_decided_members_leave_the_document_and_the_rest_stays_as_sent() -> None:
    """ENV-002, ENV-071, ENV-072: unknown attributes, and every optional one."""
    text = (
        f'{{"id":"{ID}","x_b":{{"b":1.00,"a":[ ]}},"type":"a.b","queue":"q","args":[1e-7],'
        '"meta":{"t":"\\u00e4"},"priority":7,"retry":{"max_attempts":5.0e0 },"pending":true}'
    ).replace("5.0e0 ", " 5")
    envelope = read_envelope(Job.from_json(text), NOW)
    assert (envelope.id, envelope.type, envelope.queue) == (ID, "a.b", "q")
    assert (envelope.priority, envelope.is_pending) == (7, True)
    assert (envelope.retry.max_attempts, envelope.retry_document) == (5, '{"max_attempts": 5}')
    assert list(envelope.document.items()) == [
        ("x_b", '{"b":1.00,"a":[ ]}'),
        ("args", "[1e-7]"),
        ("meta", '{"t":"\\u00e4"}'),
        ("priority", "7"),
        ("specversion", '"1.0.0-rc.1"'),
    ]


def test_the_version_that_the_client_speaks_is_kept() -> None:
    """ENV-007: echoed, not replaced."""
    assert read(specversion="1.0").document["specversion"] == '"1.0"'


def test_arguments_are_not_decoded_again_to_be_checked() -> None:
    """A megabyte of them would cost the PUSH a tenth of a second each time."""
    job = Job.from_json('{"type":"a.b","args":[1.00],"meta":{"k": 1}}')
    read_envelope(job, NOW)
    assert not {"args", "meta"} & set(job._values)


def test_depth_is_the_parsers_business() -> None:
    """Whatever depth a server has been set to accept, the envelope can be looked at."""
    deep = "[" * 300 + "]" * 300
    members = parse_object(f'{{"type":"a.b","args":{deep}}}', max_depth=500)
    job = Job.from_parsed(members)
    assert len(job.args) == 1
    assert read_envelope(job, NOW).document["args"] == deep


@pytest.mark.parametrize("value", ["x" * 5000, 10**4000, {"x": "y" * 5000}], ids=type)
def test_messages_do_not_repeat_what_is_long(value: Any) -> None:
    """An error answers the client, and does not copy the request."""
    with pytest.raises(InvalidRequestError) as refused:
        read(queue=value)
    assert len(refused.value.message) < 300


def test_ids_from_paths_are_checked_alike() -> None:
    """Before they reach the table."""
    assert check_job_id(ID) == ID
    with pytest.raises(InvalidRequestError, match="id"):
        check_job_id("job")
