"""Turns a pushed body into the canonical flat envelope (core, 5; HTTP binding, 9.1).

Bodies come as a flat envelope, or with an ``options`` object; some clients give attributes other
names. A top-level attribute outweighs an option of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.attributes import OWN_ATTRIBUTES, PARAMETERS, SYSTEM_ATTRIBUTES
from ojs_aws.domain.jobs.batches import BatchFaults
from ojs_aws.domain.jobs.versions import MARK, split_type
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    Member,
    RawJson,
    assemble,
    encode,
    parse_object,
)
from ojs_aws.domain.timestamps import (
    Instant,
    format_duration,
    parse_duration,
    resolve_timestamp,
)
from ojs_aws.services.jobs.build import check_envelope_size
from ojs_aws.transport.http.members import malformed

Members = dict[str, Member]

DELAY_UNTIL: Final = "delay_until"

_ALIASES: Final[Mapping[str, str]] = {DELAY_UNTIL: "scheduled_at"}
_OPTION_ALIASES: Final[Mapping[str, str]] = {
    **_ALIASES,
    "metadata": "meta",
    "retry_policy": "retry",
}

_NEVER_OPTIONS: Final = frozenset({"id", "type", "args", "specversion", "options", "job"})
"""Names that mean the job itself, and nothing that an option may say."""

_WIRE_ONLY: Final = frozenset({"timeout_ms", "visibility_timeout_ms", "unique_key"})
"""Attributes for which the Python client has another one, or none."""

ENVELOPE_OPTIONS: Final = (PARAMETERS.keys() - _NEVER_OPTIONS) | _WIRE_ONLY
"""Options that are attributes of the envelope; any other one is kept where it stands."""

_ABSENT_WHEN_NULL: Final = ENVELOPE_OPTIONS | {"id", "specversion", "options"}
"""Attributes for which several clients send null when they have none; then the default holds."""


def read_job(members: Mapping[str, Member], max_depth: int) -> Job:
    """Return the envelope of a pushed body; PUSH checks its constraints.

    :raises InvalidRequestError: ``options`` is no object, or an attribute of this system's own.
    """
    flat = with_delay(_named(members, _ALIASES))
    options = flat.pop("options", None)
    if options is not None:
        flat |= _hoisted(flat, _options(options, max_depth))
    return Job.from_parsed(_without_mark(flat))


def _without_mark(flat: Members) -> Members:
    """Return the version behind the type, as an attribute (ojs-job-versioning, section 5.3).

    A ``version`` of its own takes precedence.
    """
    given = flat.get("type")
    if given is None or not isinstance(given.value, str) or MARK not in given.value:
        return flat
    job_type, version = split_type(given.value)
    if not version:
        return flat  # which is refused for its type
    named = {**flat, "type": Member(encode(job_type), job_type)}
    named.setdefault("version", Member(encode(version), version))
    return named


def read_jobs(members: Mapping[str, Member], max_depth: int, max_bytes: int) -> list[Job]:
    """Return the envelopes of a batch, in order.

    :param max_bytes: of one envelope.
    :raises PayloadTooLargeError: one has more; its index is in the details.

    :raises InvalidRequestError: ``jobs`` is no array of objects; every index in the details.
    """
    jobs = members.get("jobs")
    if jobs is None or not isinstance(jobs.value, list):
        raise malformed("jobs", "an array of jobs", jobs)
    raws, read, faults = items_of(jobs.raw), [], BatchFaults()
    for at, value in enumerate(jobs.value):
        with faults.at(at):
            check_envelope_size(len(raws[at].encode()), max_bytes)
            read.append(_read(at, raws[at], value, max_depth))
    faults.raise_all()
    return read


def _read(index: int, raw: RawJson, value: JsonValue, max_depth: int) -> Job:
    if not isinstance(value, dict):
        raise malformed(f"jobs[{index}]", "an object", Member(raw, value))
    return read_job(parse_object(raw, max_depth=max_depth), max_depth)


def items_of(array: RawJson) -> list[RawJson]:
    """Return the texts of an array's items; the array is known to be valid JSON."""
    decoder, items = json.JSONDecoder(), []
    at = _past_space(array, 1)
    while array[at] != "]":
        _, end = decoder.raw_decode(array, at)
        items.append(RawJson(array[at:end]))
        at = _past_space(array, end)
        if array[at] == ",":
            at = _past_space(array, at + 1)
    return items


def _past_space(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _named(members: Mapping[str, Member], aliases: Mapping[str, str]) -> Members:
    """Return the members under their canonical names, without what only the system sets.

    :raises InvalidRequestError: an attribute of this system's own.
    """
    named: Members = {}
    for name, member in members.items():
        canonical = aliases.get(name, name)
        if name in OWN_ATTRIBUTES:
            message = f"The '{name}' attribute must be absent: only this server sets it."
            raise field_error(name, message, "Leave it out when you enqueue a copy of a job.")
        if canonical in SYSTEM_ATTRIBUTES or (canonical != name and canonical in members):
            continue
        if member.value is None and canonical in _ABSENT_WHEN_NULL:
            continue
        named[canonical] = read_delay_until(member) if name == DELAY_UNTIL else member
    return named


def _options(options: Member, max_depth: int) -> Mapping[str, Member]:
    if not isinstance(options.value, dict):
        raise malformed("options", "an object", options)
    return parse_object(options.raw, max_depth=max_depth)


def _hoisted(flat: Members, options: Mapping[str, Member]) -> Members:
    """Return what an options object adds to the envelope."""
    attempts = options.get("max_attempts")
    named = with_delay(_named(options, _OPTION_ALIASES))
    added: Members = {}
    for name, member in named.items():
        if name == "meta" and "meta" in flat:
            added["meta"] = _join(flat["meta"], member)
        elif name not in flat and name in ENVELOPE_OPTIONS:
            added[name] = member
    if attempts is not None and attempts.value is not None:
        given = added.get("retry") or flat.get("retry")
        own = Member(assemble({"max_attempts": attempts.raw}), {"max_attempts": attempts.value})
        added["retry"] = own if given is None else _join(given, own)
    unknown = {name: member for name, member in named.items() if name not in ENVELOPE_OPTIONS}
    if unknown:
        added["options"] = _object(unknown)
    return added


def _join(first: Member, second: Member) -> Member:
    """Join two objects; the first outweighs the second. Without objects, return the first."""
    if not isinstance(first.value, dict) or not isinstance(second.value, dict):
        return first
    missing = {
        name: member
        for name, member in parse_object(second.raw, max_depth=ANY_DEPTH).items()
        if name not in first.value
    }
    if not missing:
        return first
    return _object({**parse_object(first.raw, max_depth=ANY_DEPTH), **missing})


def _object(members: Mapping[str, Member]) -> Member:
    raw = assemble({name: member.raw for name, member in members.items()})
    return Member(raw, {name: member.value for name, member in members.items()})


_DELAY: Final = "delay"
_SCHEDULED_AT: Final = "scheduled_at"


def read_delay_until(member: Member) -> Member:
    """Return the instant of a ``delay_until``; the JavaScript SDK also sends a duration there.

    :raises InvalidRequestError: naming ``delay_until``, if it is neither.
    """
    if isinstance(member.value, str) and member.value.startswith("P"):
        relative = f"+{member.value}"
        member = Member(encode(relative), relative)
    resolve_timestamp(member.value, DELAY_UNTIL, Instant(0))
    return member


def with_delay(members: Mapping[str, Member]) -> dict[str, Member]:
    """Return the members, with ``scheduled_at`` for a ``delay`` among them.

    An instant takes precedence over a delay, which stays where it stood.

    :raises InvalidRequestError: ``delay`` is no duration.
    """
    delay = members.get(_DELAY)
    if delay is None or delay.value is None or _SCHEDULED_AT in members:
        return {**members}
    relative = f"+{format_duration(parse_duration(delay.value, _DELAY))}"
    return {**members, _SCHEDULED_AT: Member(encode(relative), relative)}
