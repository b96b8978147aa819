"""Prepares jobs for an application's own transaction (transactional enqueue).

The job exists exactly if the application's write does. Its message is sent by who reads the
table's stream, where the job's item says that nobody has (ojs_aws/transport/events/stream.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import TransactAction
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.batches import Admission
from ojs_aws.services.jobs.push import Push
from ojs_aws.services.jobs.render import PushResult, push_result_of
from ojs_aws.services.unique import WantedJob
from ojs_aws.services.unique.admit import Uniqueness

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.unique import UniqueJobs


@dataclass(slots=True)
class PreparedJob:
    """Holds a job that is ready to be stored by a caller's transaction.

    :ivar pushed: what becomes of the job then.
    :ivar actions: what the transaction has to contain; empty when nothing is to be stored.
    """

    pushed: PushResult
    actions: list[TransactAction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Transact:
    """Prepares jobs; stores nothing and sends nothing."""

    push: Push
    jobs: Callable[[], UniqueJobs]
    unique: Callable[[], Uniqueness]

    def __call__(self, job: Job) -> PreparedJob:
        """Validate a job, run the enqueue middleware, and return what must be written.

        :raises OjsError: as PUSH.
        """
        actions: list[TransactAction] = []

        def prepare(final: Job, record: JobRecord) -> PushResult:
            pushed, admission = self._admission(final, replace(record, is_by_stream=True))
            if admission is not None:
                actions.extend(self.jobs().actions(admission))
            return pushed

        pushed = self.push(job, prepare)
        return PreparedJob(pushed, actions)

    def _admission(self, job: Job, record: JobRecord) -> tuple[PushResult, Admission | None]:
        if record.sequence is not None:
            message = "A job of a sequence cannot be stored by a transaction of your own."
            hint = "Its position is decided when it is stored: enqueue it by PUSH."
            raise field_error("sequence", message, hint)
        if not record.unique_key:
            return PushResult(record), Admission(job=record)
        from ojs_aws.domain.unique.keys import parse_unique_policy  # few jobs do

        wanted = WantedJob(record, parse_unique_policy(job.get("unique")))
        let, admission = self.unique().admission(wanted, self.push.new_jobs.same)
        [pushed] = push_result_of([let])
        return pushed, admission
