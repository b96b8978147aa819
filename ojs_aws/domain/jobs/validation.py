"""Checks the job envelope (core, section 5); each refusal has its name and reason.

An envelope has one canonical, flat form here; how clients spell it is the transport's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ojs_aws.domain.attributes import (
    check_job_id,
    check_priority,
    check_queue,
    check_type,
    field_error,
    invalid,
    is_integer,
    is_uri,
)
from ojs_aws.domain.envelope import DEFAULT_QUEUE, SPEC_VERSION, Job, names_tenant
from ojs_aws.domain.errors import (
    JsonValue,
    PayloadTooLargeError,
    UnsupportedError,
)
from ojs_aws.domain.job_policies import CheckedAttributes, FairShare, Limit, SequencePlace
from ojs_aws.domain.jobs.outcomes import PERMANENT
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import (
    Instant,
    format_instant,
    parse_duration,
    resolve_timestamp,
)

_NUMBER: Final = r"(?:0|[1-9]\d*)"
_LABEL: Final = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
SEMVER_PATTERN: Final = (
    rf"{_NUMBER}\.{_NUMBER}"
    rf"(\.{_NUMBER}(-{_LABEL}(\.{_LABEL})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)?"
)
"""Semantic Versioning 2.0.0, and the ``1.0`` of the specification's other documents."""
MAX_META_BYTES: Final = 65_536
MAX_TIMEOUT_MS: Final = 7 * 86_400_000
MIN_VISIBILITY_MS: Final = 1
MAX_VISIBILITY_MS: Final = 43_200_000
MAX_TAGS: Final = 100
SUPPORTED_MAJOR: Final = "1"
Values: TypeAlias = Mapping[str, JsonValue]
_SEMVER: Final = re.compile(SEMVER_PATTERN, re.ASCII)
MAX_RESULT_TTL_S: Final = 315_360_000
"""The longest ``result_ttl`` in seconds: ten years."""
LARGEST_INTEGER: Final = 2**53
READ: Final = frozenset(
    {
        *("specversion", "id", "type", "queue", "priority", "pending", "retry", "unique"),
        *("tags", "schema", "timeout_ms", "timeout", "visibility_timeout_ms"),
        *("visibility_timeout", "scheduled_at", "expires_at", "rate_limit"),
        *("result_ttl", "result_size_limit", "sequence", "fairness"),
    }
)
"""Members whose values are checked; of arguments and metadata it is the type alone."""

PROMOTED: Final = frozenset({"id", "type", "queue", "retry", "pending"})
"""Members that the job record holds itself; the rest is the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope(CheckedAttributes):
    """Holds a valid envelope: what the system decides on, and the document it only stores.

    Its id is empty when the client gave none.

    :ivar timeout_ms: None when the client gave none (or 0, which means the default).
    """

    is_pending: bool
    timeout_ms: int | None
    document: Mapping[str, RawJson]


def read_envelope(job: Job, now: Instant) -> Envelope:
    """Check every constraint of section 5 and read what the system decides on.

    :raises InvalidRequestError: naming the attribute, what was expected and what came.
    :raises InvalidPolicyError: a retry policy that cannot be followed.
    :raises UnsupportedError: another major version of the specification.
    """
    values = job.view(READ)
    _check_version(values.get("specversion"))
    job_id = check_job_id(values["id"]) if "id" in values else ""
    _check_members(job, values)
    scheduled = _moment(values, "scheduled_at", now)
    expires = _moment(values, "expires_at", now)
    members = job.members()
    if "meta" in members:
        _check_meta(members["meta"])
    queue = check_queue(values.get("queue", DEFAULT_QUEUE))
    retry = values.get("retry")
    return Envelope(
        id=job_id,
        type=check_type(values.get("type")),
        queue=queue,
        priority=check_priority(values.get("priority")),
        is_pending=values.get("pending") is True,
        retry=parse_retry_policy(retry),
        retry_document=members["retry"] if retry is not None else None,
        timeout_ms=_check_timeout(values),
        visibility_timeout_ms=_check_visibility(values),
        scheduled_at=scheduled,
        expires_at=expires,
        limit=_limit(job, queue) if values.get("rate_limit") is not None else None,
        result_ttl_s=_check_result_ttl(values["result_ttl"]) if "result_ttl" in values else None,
        result_limit_bytes=_check_result_limit(values.get("result_size_limit")),
        tenant=_tenant(job),
        sequence=_sequence(values) if values.get("sequence") is not None else None,
        fairness=_fairness(values) if values.get("fairness") is not None else None,
        document=_document(values, members, scheduled, expires),
    )


def _tenant(job: Job) -> str:
    """Return the tenant that the metadata name, or an empty text."""
    if not names_tenant(job):
        return ""
    from ojs_aws.domain.tenants import tenant_of  # few deployments have tenants

    return tenant_of(job)


def _limit(job: Job, queue: str) -> Limit | None:
    """Return the job's own limit, for which its arguments and metadata are read."""
    values = job.view(("rate_limit", "args", "meta"))
    return read_limit(
        values["rate_limit"], queue, {"args": values.get("args"), "meta": values.get("meta")}
    )


def _sequence(values: Values) -> SequencePlace | None:
    """Return the job's place in a sequence, which the store completes."""
    from ojs_aws.domain.sequences import read_sequence  # few jobs are part of one

    if values.get("pending") is True:
        message = "The 'sequence' attribute does not go with 'pending'."
        raise field_error("sequence", message, "Enqueue the job when it may run.")
    return read_sequence(values["sequence"])


def _fairness(values: Values) -> FairShare:
    """Return whose share the job uses."""
    from ojs_aws.domain.fairness import read_fairness  # few jobs name one

    return read_fairness(values["fairness"])


def _document(
    values: Values,
    members: Mapping[str, RawJson],
    scheduled: Instant | None,
    expires: Instant | None,
) -> dict[str, RawJson]:
    """Return the members that are only stored, with relative timestamps made absolute."""
    document = {name: raw for name, raw in members.items() if name not in PROMOTED}
    for name, instant in (("scheduled_at", scheduled), ("expires_at", expires)):
        written = values.get(name)
        if instant is not None and isinstance(written, str) and written.startswith("+"):
            document[name] = encode(format_instant(instant))
    document.setdefault("specversion", encode(SPEC_VERSION))
    return document


def _check_version(value: JsonValue) -> None:
    if value is None:
        return
    if not isinstance(value, str) or not _SEMVER.fullmatch(value):
        raise invalid("specversion", f"a version such as {SPEC_VERSION}", value)
    if value.split(".")[0] != SUPPORTED_MAJOR:
        raise UnsupportedError(
            f"Version {value} of the specification is not supported; this server speaks "
            f"{SPEC_VERSION}.",
            details={"field": "specversion", "received": value, "supported": [SPEC_VERSION, "1.0"]},
        )


def _check_members(job: Job, values: Values) -> None:
    """Check the attributes that are only stored."""
    if "args" not in job or job.json_type("args") != "array":
        raise invalid("args", "an array", job.get("args"), missing="args" not in job)
    if "meta" in job and job.json_type("meta") != "object":
        raise invalid("meta", "an object", job.get("meta"))
    if not isinstance(values.get("pending", False), (bool, type(None))):
        raise invalid("pending", "a boolean", values["pending"])
    unique = values.get("unique")
    if unique is not None:
        from ojs_aws.domain.unique.keys import parse_unique_policy  # few jobs do

        parse_unique_policy(unique)
    tags = values.get("tags")
    if tags is not None and not (
        isinstance(tags, list)
        and len(tags) <= MAX_TAGS
        and all(isinstance(tag, str) for tag in tags)
    ):
        raise invalid("tags", f"an array of at most {MAX_TAGS} strings", tags)
    if "schema" in values:
        _check_schema(values["schema"])


def _check_meta(raw: RawJson) -> None:
    """Refuse metadata beyond 64 KB (ojs-payload-limits, section 4.3)."""
    size = len(raw.encode())
    if size > MAX_META_BYTES:
        raise PayloadTooLargeError(
            f"The 'meta' attribute has {size} bytes; at most {MAX_META_BYTES} are accepted.",
            details={
                "field": "meta",
                "actual_bytes": size,
                "size_bytes": size,
                "max_bytes": MAX_META_BYTES,
            },
            hint="Put data into 'args', or send a reference to it.",
        )


def _check_schema(value: JsonValue) -> None:
    if value is not None and not (isinstance(value, str) and is_uri(value)):
        raise invalid("schema", "a URI such as urn:ojs:schema:email.send:v1", value)


def _check_timeout(values: Values) -> int | None:
    """Return ``timeout_ms``, else ``timeout`` in seconds; 0 means the default."""
    for name, unit in (("timeout_ms", 1), ("timeout", 1000)):
        value = values.get(name)
        if value is None:
            continue
        if not is_integer(value) or not 0 <= value * unit <= MAX_TIMEOUT_MS:
            kind = "milliseconds" if unit == 1 else "seconds"
            raise invalid(name, f"a whole number of {kind}, at most 7 days", value)
        if value:
            return value * unit
    return None


def _check_visibility(values: Values) -> int | None:
    """Return ``visibility_timeout_ms``, else ``visibility_timeout`` (seconds or a duration)."""
    name, expected = "visibility_timeout_ms", "a whole number of milliseconds, up to 12 hours"
    given = value = values.get(name)
    if value is None:
        name, expected = "visibility_timeout", "whole seconds or a duration, up to 12 hours"
        given = value = values.get(name)
        if isinstance(value, str):
            value = parse_duration(value, name)
        elif is_integer(value):
            value *= 1000
    if given is None:
        return None
    if is_integer(value) and MIN_VISIBILITY_MS <= value <= MAX_VISIBILITY_MS:
        return value
    raise invalid(name, expected, given)


def _check_result_ttl(value: JsonValue) -> int | None:
    if value is None or (is_integer(value) and PERMANENT <= value <= MAX_RESULT_TTL_S):
        return value
    expected = f"whole seconds from 0 to {MAX_RESULT_TTL_S}, or {PERMANENT} for ever"
    raise invalid("result_ttl", expected, value)


def _check_result_limit(value: JsonValue) -> int | None:
    if value is None or (is_integer(value) and 0 <= value <= LARGEST_INTEGER):
        return value
    raise invalid("result_size_limit", "a whole number of bytes", value)


def _moment(values: Values, name: str, now: Instant) -> Instant | None:
    value = values.get(name)
    return None if value is None else resolve_timestamp(value, name, now)
