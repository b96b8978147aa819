"""Changes a dead letter's envelope when it is retried (ojs-dead-letter, section 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.validation import read_envelope
from ojs_aws.domain.json_text import ANY_DEPTH, RawJson, assemble, decode, encode, stored_texts
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.rules import QueueRules

ALLOWED: Final = ("args", "meta", "priority", "queue", "retry")


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
            is_merged = isinstance(old, dict) and isinstance(value, dict)
            given[name] = encode({**old, **value} if is_merged else value)  # type: ignore[dict-item]
        envelope = read_envelope(Job.from_members(given), now)
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
