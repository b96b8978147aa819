"""Reports why a conditional write was refused: somebody else was first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ojs_aws.domain.errors import BackendError, DuplicateError

if TYPE_CHECKING:
    from ojs_aws.domain.cron.entry import CronEntry
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.jobs.batches import UniqueLock
    from ojs_aws.domain.schemas import SchemaName
    from ojs_aws.domain.workflows.workflow import Workflow


class StaleJobError(Exception):
    """Reports that the job changed between the read and a conditional write.

    :ivar current: the job as the write found it, or None when there is none.
    """

    def __init__(self, current: JobRecord | None) -> None:
        """Keep what the write found."""
        super().__init__("the job has changed")
        self.current = current


class AlreadyStoredError(Exception):
    """Reports that jobs with the ids of an insert exist already.

    :ivar existing: the stored jobs by their position in the insert.
    """

    def __init__(self, existing: Mapping[int, JobRecord]) -> None:
        """Keep what the insert met."""
        super().__init__("the id is taken")
        self.existing = dict(existing)


def id_taken(existing: JobRecord) -> DuplicateError:
    """Return the error for an id that another job has."""
    return DuplicateError(
        f"A job with the id '{existing.id}' already exists.",
        details={"existing_job_id": existing.id},
        hint="Give each job an id of its own, or leave the id out.",
        existing=(existing.queue, existing.type, existing.tenant),
    )


class BucketTakenError(Exception):
    """Reports that a bucket of a limit has changed since it was read."""


class NotAdmittedError(Exception):
    """Reports that jobs were not admitted.

    If both attributes are empty, something else has changed since it was read.

    :ivar existing: stored jobs with these ids, by the position of the admission.
    :ivar locks: locks that are not as they were seen, by the position of the admission.
    """

    def __init__(self, existing: Mapping[int, JobRecord], locks: Mapping[int, UniqueLock]) -> None:
        """Keep what stood in the way."""
        super().__init__("not admitted")
        self.existing = dict(existing)
        self.locks = dict(locks)


class LogLostError(BackendError):
    """Reports that a batch's log lacks a part, or its outcome: its jobs cannot be stored."""


class TransactionTooLargeError(Exception):
    """Reports that a batch has too many writes for one transaction; a log can hold it.

    :ivar actions: how many writes the transaction would have.
    """

    def __init__(self, actions: int) -> None:
        """Keep the number of writes."""
        super().__init__(f"{actions} writes are too many for one transaction")
        self.actions = actions


class BatchDecidedError(Exception):
    """Reports that a batch was committed or given up while a request still took locks for it."""


class StaleWorkflowError(Exception):
    """Reports that the workflow changed between the read and a conditional write.

    :ivar current: the workflow as the write found it, or None when there is none.
    """

    def __init__(self, current: Workflow | None) -> None:
        """Keep what the write found."""
        super().__init__("the workflow has changed")
        self.current = current


class StaleCronError(Exception):
    """Reports that the cron job changed between the read and a conditional write.

    :ivar current: the entry as the write found it, or None when there is none.
    """

    def __init__(self, current: CronEntry | None) -> None:
        """Keep what the write found."""
        super().__init__("the cron job has changed")
        self.current = current


class SchemaTakenError(Exception):
    """Reports that this version of the job type, or this URI, already has a schema.

    :ivar existing: the name of that schema; None if it has been deleted meanwhile.
    """

    def __init__(self, existing: SchemaName | None) -> None:
        """Keep the name of the schema."""
        super().__init__("taken")
        self.existing = existing


class StaleSettingsError(Exception):
    """Reports that the settings have changed since they were read."""


class QueueIsFullError(Exception):
    """Reports that the queue has no room for this many jobs.

    :ivar depth: how many there are.
    """

    def __init__(self, depth: int) -> None:
        """Keep the depth."""
        super().__init__("the queue is full")
        self.depth = depth


class QueueMissingError(Exception):
    """Reports that this OJS queue has no SQS queue yet; the registry can make one."""


class ForeignWorkerError(Exception):
    """Reports that another principal registered the worker's id."""


class StaleKeyError(Exception):
    """Reports that somebody else changed the API key meanwhile, or that its id is taken."""
