"""Makes what a job's target gets: the event of a function, or the environment of an ECS task.

A job that is too large for an event is written to the bucket, byte for byte as its event would hold
it (ojs-serverless, 2). The event then has ``job_url``, by which the function reads it until its
reservation ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.bindings import NO_CONFIG, BindingConfig
from ojs_aws.domain.bindings.tasks import CONFIG_VARIABLE, TaskAttempt, TaskBinding
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson, assemble, encode, stored_texts
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import EVENT_PREFIX
from ojs_aws.worker.delivery.request import delivery_members, delivery_of

if TYPE_CHECKING:
    from ojs_aws.adapters.s3 import S3Documents
    from ojs_aws.adapters.tasks import Tasks

MAX_EVENT_BYTES: Final = 512 * 1024
"""Of an event: half of what Lambda takes, so that a record holds it beside what is returned."""
SMALL_BYTES: Final = 1024
"""Members of a job that are no longer than this stay in an event which links to the job."""

NON_RETRYABLE: Final = "non_retryable_errors"
"""The member of an event that names the errors after which no retry helps."""

_ARGS: Final = "args"


class EventTooLargeError(Exception):
    """Reports a job that no event holds, where there is no bucket for it."""

    def __init__(self, size: int) -> None:
        """Say how large the event would be."""
        super().__init__(
            f"The job has {size} bytes as an event, and a Lambda binding takes {MAX_EVENT_BYTES}. "
            "Store its data elsewhere and send a reference, or serve its type by HTTPS."
        )


def event_of(
    record: JobRecord,
    job: Job,
    worker_id: str,
    reports: Callable[[JobRecord], RawJson] | None,
    config: BindingConfig = NO_CONFIG,
) -> dict[str, RawJson]:
    """Return the members of the event that a function gets.

    Lambda's record of its invocation holds them, too, so the settler knows the config by it.
    """
    held = record.reservation
    assert held is not None  # noqa: S101 - it was claimed
    deadline = held.due_at
    if config.timeout_ms is not None and record.started_at is not None:
        deadline = min(deadline, Instant(record.started_at + config.timeout_ms))
    event = delivery_members(job, worker_id, delivery_of(held.id), deadline)
    event["attempt"] = encode(record.attempt)
    if config.non_retryable_errors:
        event[NON_RETRYABLE] = encode([*config.non_retryable_errors])
    if reports is not None:
        event["report"] = reports(record)
    return event


def event_text(
    event: dict[str, RawJson], record: JobRecord, documents: S3Documents | None, now: Instant
) -> RawJson:
    """Return an event as Lambda takes it.

    Makes no call but for a job that is too large: that one is put into the bucket.

    :param documents: the bucket; None: there is none.
    :raises EventTooLargeError: it is too large, and there is no bucket.
    :raises BackendError: the job could not be written, or no link to it signed.
    """
    text = assemble(event)
    size = len(text.encode())
    if size <= MAX_EVENT_BYTES:
        return text
    held = record.reservation
    if documents is None or held is None:
        raise EventTooLargeError(size)
    key = f"{EVENT_PREFIX}{record.id}/{delivery_of(held.id)}"
    documents.put(key, event["job"])
    link = documents.link(key, max(1, (held.due_at - now) // 1000))
    return assemble({**event, "job": _small(event["job"]), "job_url": encode(link)})


def _small(job: RawJson) -> RawJson:
    """Return a job without its arguments, and without what else is large."""
    return assemble(
        {
            name: raw
            for name, raw in stored_texts(job).items()
            if name != _ARGS and len(raw.encode()) <= SMALL_BYTES
        }
    )


@dataclass(frozen=True, slots=True)
class TaskStarter:
    """Starts the tasks of attempts.

    :ivar group: of the deployment's tasks.
    :ivar url: of the API, with the path that operations are below.
    :ivar token: returns the token for a job's running attempt.
    """

    tasks: Tasks
    group: str
    url: str
    token: Callable[[JobRecord], str]

    def start(self, binding: TaskBinding, record: JobRecord) -> None:
        """Start the task of a job; what it raises is what ``Tasks.run`` raises.

        Makes one call.
        """
        attempt = TaskAttempt.of(record)
        environment = {
            "OJS_API_URL": self.url,
            "OJS_JOB_ID": record.id,
            "OJS_JOB_TYPE": record.type,
            "OJS_ATTEMPT": str(record.attempt),
            "OJS_DELIVERY_ID": delivery_of(attempt.reservation_id),
            "OJS_TOKEN": self.token(record),
        }
        if said := binding.config.render():
            environment[CONFIG_VARIABLE] = encode(said)
        self.tasks.run(binding, attempt, self.group, environment)
