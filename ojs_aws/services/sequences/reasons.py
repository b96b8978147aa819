"""Says what a blocked job of a sequence waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.reasons import Reason, ReasonCode
from ojs_aws.domain.sequences import place_of
from ojs_aws.domain.timestamps import Instant, format_instant, span_text

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.sequences import Sequences


def why_blocked(
    sequences: Sequences, job: JobRecord, now: Instant, *, names_others: bool
) -> Reason:
    """Return which job has the turn of a blocked job's sequence, by one consistent read.

    :param names_others: whether the caller may see the ids of other jobs.
    """
    place = place_of(job)
    seen = sequences.load(job.tenant, place.key)
    data: dict[str, JsonValue] = {"key": place.key, "position": place.position}
    if seen is None:
        text = f"The jobs before it in sequence '{place.key}' have ended; its turn comes now."
        return Reason(ReasonCode.IN_SEQUENCE, text, data=data)
    whom = f"job {seen.job_id}" if names_others else "another job"
    data |= {"head": seen.head} | ({"job_id": seen.job_id} if names_others else {})
    if seen.stopped_at is None:
        text = (
            f"It waits for {whom} of sequence '{place.key}', which is at position {seen.head}; "
            f"its own is {place.position}."
        )
        hint = f"ojs-aws why {seen.job_id}" if names_others else ""
        return Reason(ReasonCode.IN_SEQUENCE, text, data=data, hint=hint)
    data["stopped_at"] = format_instant(seen.stopped_at)
    text = (
        f"Its sequence '{place.key}' has been stopped for {span_text(now - seen.stopped_at)} on "
        f"{whom}, which was discarded."
    )
    hint = ""
    if names_others:
        of = f" --tenant {job.tenant}" if job.tenant else ""
        hint = f"ojs-aws jobs retry {seen.job_id}, or ojs-aws sequences skip {place.key}{of}"
    return Reason(ReasonCode.SEQUENCE_STOPPED, text, data=data, hint=hint)
