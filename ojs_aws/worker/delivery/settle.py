"""Settles dispatched jobs: makes ACK or FAIL of each outcome that Lambda sends (ojs-serverless, 8).

An outcome counts while its delivery still holds the job. Lambda may send one twice, late or never:
one that is late changes nothing, and where none comes, the reservation's end decides.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.bindings import wait_ms
from ojs_aws.domain.envelope import uncounted_attempts
from ojs_aws.domain.errors import BackendError, ConflictError, NotFoundError, OjsError
from ojs_aws.worker.delivery.dispatch import members
from ojs_aws.worker.delivery.invocation_record import (
    Completed,
    InvocationRecord,
    NotInvoked,
    Raised,
    RecordError,
    read_invocation_record,
)

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.services.backend import Backend

_UNDELIVERED: Final = "UndeliveredError"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settler:
    """Reports the outcomes of dispatched jobs."""

    backend: Backend

    def __call__(
        self, event: Mapping[str, Any], _context: object = None
    ) -> dict[str, list[dict[str, str]]]:
        """Settle the jobs that the records of an event are about.

        :returns: the partial batch response: records that must come back, as the backend could not
            be reached.
        :raises ValueError: no event of an SQS event source mapping.
        """
        records = event.get("Records")
        if not isinstance(records, list):
            raise ValueError("no SQS event: connect the function to the queue of outcomes")
        stays = self.backend.stores.parallel.each(self._must_come_back, records)
        ids = [str(raw.get("messageId", "")) for raw in records]
        kept = [id_ for id_, stay in zip(ids, stays, strict=True) if stay]
        return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in kept]}

    def _must_come_back(self, raw: Mapping[str, Any]) -> bool:
        try:
            record = read_invocation_record(str(raw.get("body", "")))
        except RecordError as problem:  # no delivery comes to be in it by reading it again
            _logger.error("Outcome %s is dropped: %s", raw.get("messageId"), problem)
            return False
        try:
            self._settle(record)
        except (ConflictError, NotFoundError) as refusal:
            said = "The outcome of job %s no longer counts: %s"
            _logger.warning(said, record.job.id, refusal)
        except BackendError as problem:
            _logger.warning("The outcome of job %s comes back: %s", record.job.id, problem)
            return True
        except Exception:  # a bug must not lose the other outcomes of the batch
            _logger.exception("The outcome of job %s comes back", record.job.id)
            return True
        return False

    def _settle(self, record: InvocationRecord) -> None:
        held = self.backend.changer.find(record.job.id) if record.is_limited else None
        match record.ended:
            case Completed():
                self._complete(record, record.ended)
            case Raised():
                self._fail(record, record.ended.error)
            case NotInvoked():
                self._give_back(record, record.ended.reason)
        self._pass_on(held)

    def _complete(self, record: InvocationRecord, ended: Completed) -> None:
        try:
            self.backend.jobs.ack(record.job.id, None, ended.result, which=record.which)
        except (ConflictError, NotFoundError, BackendError):
            raise
        except OjsError as problem:  # too large, or too deep
            text = f"The result was refused: {problem.message}"
            self._fail(record, {"type": "ResultRefused", "message": text, "retryable": False})

    def _fail(self, record: InvocationRecord, error: dict[str, JsonValue]) -> None:
        self.backend.jobs.fail(record.job.id, None, members(error), which=record.which)

    def _give_back(self, record: InvocationRecord, reason: str) -> None:
        """Give back a job that its function never ran; the attempt does not count (7.2)."""
        text = f"The job was not delivered: {reason}."
        error: dict[str, JsonValue] = {"type": _UNDELIVERED, "code": "SNOOZE", "message": text}
        self.backend.jobs.fail.requeue(
            record.job.id,
            None,
            members(error),
            which=record.which,
            delay_ms=wait_ms(uncounted_attempts(record.job)),
        )

    def _pass_on(self, held: JobRecord | None) -> None:
        """Wake a worker for jobs that wait for the slots of this one."""
        if held is not None:
            self.backend.job_messages.pass_on(held, self.backend.clock.now())
