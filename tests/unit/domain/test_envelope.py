"""The envelope that people and middleware handle."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ojs_aws.domain.envelope import Job, Priority
from ojs_aws.domain.errors import InvalidPayloadError
from ojs_aws.domain.json_text import decode

TEXT = (
    '{"type":"email.send","args":[1.00, {"b":1,"a":2}],"meta":{"k":1e-7},"x":12345678901234567890,'
    '"priority":5,"timeout_ms":1500,"state":"active","attempt":2,"max_attempts":3}'
)


def test_what_nobody_touches_keeps_its_text() -> None:
    """ENV-065: looking is not touching."""
    job = Job.from_json(TEXT)
    assert job.args == [1.0, {"b": 1, "a": 2}]
    assert job.meta["k"] == 1e-7
    assert (job.priority, job.timeout_ms, job.timeout, job.attempt) == (5, 1500, 1.5, 2)
    assert (job.state, job.max_attempts, job["x"]) == ("active", 3, 12345678901234567890)
    assert job.to_json() == TEXT.replace(", ", ", ")


def test_a_change_in_place_is_seen_and_leaves_the_rest_alone() -> None:
    """MW-ENQ-011: args and meta may be mutated."""
    job = Job.from_json(TEXT)
    job.meta["trace_id"] = "t"
    members = job.members()
    assert decode(members["meta"]) == {"k": 1e-7, "trace_id": "t"}
    assert members["args"] == '[1.00, {"b":1,"a":2}]'


def test_assignment_replaces_an_attribute() -> None:
    """Of the specification's, and any other."""
    job = Job.from_json(TEXT)
    job.queue, job.priority, job.timeout = "low", "low", 30
    job["x"] = None
    members = job.members()
    assert (members["queue"], members["priority"], members["x"]) == ('"low"', "-10", "null")
    assert members["timeout"] == "30"
    assert "timeout_ms" not in members
    del job["x"]
    assert "x" not in job


def test_a_copy_is_independent() -> None:
    """Changes by name; None removes."""
    job = Job.from_json(TEXT)
    other = job.copy(queue="other", x=None)
    other.meta["k"] = 0
    assert (job.queue, other.queue) == ("default", "other")
    assert "x" in job
    assert "x" not in other
    assert job.meta == {"k": 1e-7}


def test_meta_is_there_to_be_written_to() -> None:
    """Also when the client sent none."""
    job = Job("a.b")
    job.meta["k"] = 1
    assert job.members()["meta"] == '{"k":1}'


def test_a_job_says_what_the_specification_says() -> None:
    """With its names, and only what was given."""
    at = datetime(2026, 3, 15, 9, tzinfo=UTC)
    job = Job(
        "email.send",
        ["a@b.c", {"n": 1}],
        id="019539a4-b68c-7def-8000-1a2b3c4d5e6f",
        queue="email",
        meta={"k": "v"},
        priority=Priority.HIGH,
        timeout_s=30,
        visibility_timeout_s=1.5,
        scheduled_at=at,
        expires_at="+PT1H",
        retry={"max_attempts": 5},
        unique={"keys": ["type"]},
        schema="urn:ojs:schema:email.send:v1",
        tags=["t"],
        pending=True,
        x_custom=[None],
    )
    assert decode(job.to_json()) == {
        "specversion": "1.0.0-rc.1",
        "id": "019539a4-b68c-7def-8000-1a2b3c4d5e6f",
        "type": "email.send",
        "queue": "email",
        "args": ["a@b.c", {"n": 1}],
        "meta": {"k": "v"},
        "priority": 10,
        "timeout": 30,
        "visibility_timeout_ms": 1500,
        "scheduled_at": "2026-03-15T09:00:00.000Z",
        "expires_at": "+PT1H",
        "retry": {"max_attempts": 5},
        "unique": {"keys": ["type"]},
        "schema": "urn:ojs:schema:email.send:v1",
        "tags": ["t"],
        "pending": True,
        "x_custom": [None],
    }
    assert set(Job("a.b").members()) == {"specversion", "type", "queue", "args"}


def test_what_is_no_json_is_refused_at_once() -> None:
    """ENV-019, ENV-024, ENV-025; what is put into args later, before it is sent."""
    with pytest.raises(InvalidPayloadError, match=r"args\[0\]"):
        Job("a.b", [datetime.now(UTC)])  # type: ignore[list-item]
    with pytest.raises(InvalidPayloadError, match="meta"):
        Job("a.b", meta={1: "a"})  # type: ignore[dict-item]
    job = Job("a.b", [1])
    job.args.append({1})  # type: ignore[arg-type]
    with pytest.raises(InvalidPayloadError, match=r"args\[1\]"):
        job.members()


def test_a_naive_datetime_names_no_instant() -> None:
    """ENV-069."""
    with pytest.raises(ValueError, match="timezone"):
        Job("a.b", scheduled_at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_its_repr_does_not_show_arguments() -> None:
    """They may be secret."""
    assert repr(Job("a.b", ["secret"], id="7")) == "<Job a.b 7 on default>"
