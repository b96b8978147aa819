"""Says how dead letters are enqueued again: by rules, and with a changed envelope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue, OjsError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.validation import read_envelope
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, assemble, decode, encode, stored_texts
from ojs_aws.domain.timestamps import Instant, parse_duration
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.queues.rules import QueueRules

MAX_RULES: Final = 20
MAX_REPLAYS: Final = 100
MAX_NAME: Final = 100
_DEPTH: Final = 10
ALLOWED: Final = ("args", "meta", "priority", "queue", "retry")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRule:
    """Holds one rule.

    :ivar wanted: which dead letters it is for.
    :ivar delay_ms: how long after it was discarded a job is replayed, in milliseconds.
    :ivar max_replays: how often one job is replayed at most, by all rules together.
    """

    name: str
    wanted: DeadLetterFilter
    delay_ms: int
    max_replays: int

    def applies_to(self, job: JobRecord) -> bool:
        """Return whether this rule replays a dead letter, whatever its time."""
        replays = job.replay.count if job.replay else 0
        return replays < self.max_replays and self.wanted.accepts(job)


def read_replay_rules(text: str) -> tuple[ReplayRule, ...]:
    """Return the enabled rules of a JSON array; none for an empty text.

    :raises InvalidRequestError: naming the rule and the attribute at fault.
    """
    if not text.strip():
        return ()
    rules = decode(text, max_depth=_DEPTH)
    if not isinstance(rules, list) or len(rules) > MAX_RULES:
        raise _bad("replay_rules", f"an array of at most {MAX_RULES} rules")
    read = [_rule(rule, f"replay_rules[{index}]") for index, rule in enumerate(rules)]
    enabled = [rule for rule in read if rule is not None]
    if len({rule.name for rule in enabled}) < len(enabled):
        raise _bad("replay_rules", "rules with names of their own")
    return tuple(enabled)


def _rule(rule: JsonValue, field: str) -> ReplayRule | None:
    if not isinstance(rule, dict):
        raise _bad(field, "an object")
    name, enabled = rule.get("name"), rule.get("enabled", True)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        raise _bad(f"{field}.name", f"a text of 1 to {MAX_NAME} characters")
    if not isinstance(enabled, bool):
        raise _bad(f"{field}.enabled", "a boolean")
    replays = rule.get("max_replays", 1)
    if isinstance(replays, bool) or not isinstance(replays, int) or not 0 < replays <= MAX_REPLAYS:
        raise _bad(f"{field}.max_replays", f"a whole number from 1 to {MAX_REPLAYS}")
    delay_ms = parse_duration(rule.get("delay", "PT0S"), f"{field}.delay")
    wanted = _filter(rule.get("filter", {}), f"{field}.filter")
    made = ReplayRule(name=name, wanted=wanted, delay_ms=delay_ms, max_replays=replays)
    return made if enabled else None


def _filter(value: JsonValue, field: str) -> DeadLetterFilter:
    if not isinstance(value, dict):
        raise _bad(field, "an object")
    unknown = sorted(set(value) - {"queue", "type", "error_type"})
    if unknown:
        raise _bad(f"{field}.{unknown[0][:40]}", "one of queue, type and error_type")
    try:
        texts = _texts(value, field)
        return DeadLetterFilter(
            queue=texts.get("queue", ""),
            type=texts.get("type", ""),
            error_type=texts.get("error_type", ""),
        )
    except OjsError as problem:
        raise _bad(field, problem.message) from problem


def _texts(value: Mapping[str, JsonValue], field: str) -> dict[str, str]:
    for name, item in value.items():
        if not isinstance(item, str):
            raise _bad(f"{field}.{name}", "a text")
    return {name: str(item) for name, item in value.items()}


def _bad(field: str, expected: str) -> InvalidRequestError:
    return field_error(field, f"The '{field}' attribute must be {expected}.", expected=expected)


@dataclass(frozen=True, slots=True)
class EnvelopeOverride:
    """Holds changes to an envelope: objects (``meta``, ``retry``) are merged, others replaced.

    :ivar fits: whether a document stays in its job's item.
    """

    changes: Mapping[str, JsonValue]
    rules: QueueRules
    fits: Callable[[RawJson], bool]

    def __post_init__(self) -> None:
        """Refuse members that cannot be changed.

        :raises InvalidRequestError: an attribute that identifies the job, or an unknown one.
        """
        unknown = sorted(set(self.changes) - set(ALLOWED))
        if unknown:
            raise InvalidRequestError(
                f"The 'override' object knows {', '.join(ALLOWED)}; received '{unknown[0][:40]}'.",
                details={"field": f"override.{unknown[0][:40]}", "allowed": [*ALLOWED]},
            )

    def apply(self, job: JobRecord, now: Instant) -> JobRecord:
        """Return the job with its envelope changed, checked like any envelope.

        :param job: with its document filled in.
        :raises InvalidRequestError: the changed envelope is not one that could be pushed.
        :raises PayloadTooLargeError: the document is too large to be changed in place.
        """
        members = stored_texts(str(job.document))
        given = members | {"type": encode(job.type), "queue": encode(job.queue)}
        if job.retry_document is not None:
            given["retry"] = job.retry_document
        for name, value in self.changes.items():
            old = decode(given[name], max_depth=ANY_DEPTH) if name in given else None
            if isinstance(old, dict) and isinstance(value, dict):
                given[name] = encode({**old, **value})
            else:
                given[name] = encode(value)
        envelope = read_envelope(Job.from_members(given), now)
        if envelope.tenant != job.tenant:
            message = "The 'override.meta.tenant_id' attribute must be the tenant of the job."
            raise field_error("override.meta.tenant_id", message)
        self.rules.admit(envelope.queue)
        changed = replace(
            job,
            queue=envelope.queue,
            priority=envelope.priority,
            retry=envelope.retry,
            retry_document=envelope.retry_document,
        )
        if set(self.changes) & {"args", "meta", "priority"}:
            document = assemble(envelope.document)
            if not self.fits(document):
                # One that is kept elsewhere would have to be stored by another write.
                size = len(document.encode())
                raise PayloadTooLargeError(
                    f"With {size} bytes the job's document is too large to be changed in place.",
                    details={"field": "override", "size_bytes": size},
                    hint="Push a new job, and delete this one.",
                )
            changed = replace(changed, document=document)
        return changed
