"""Runs a bulk operation once for each idempotency key (ojs-bulk-operations, section 10)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.events import event_id
from ojs_aws.domain.jobs.batches import BulkDone, BulkRequest
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.bulk import BulkRequests
    from ojs_aws.domain.runtime import Clock, IdGenerator

KEPT_MS: Final = 48 * 3_600_000
"""How long an answer is given again."""

MAX_KEY: Final = 256

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """Holds the status and the JSON text of an answer.

    :ivar is_final: False when the backend failed on the way: then the request is worth repeating.
    """

    status: int
    text: str
    is_final: bool = True


@dataclass(frozen=True, slots=True)
class IdempotentRequests:
    """Repeats the first answer to a request that is sent again."""

    requests: BulkRequests
    clock: Clock

    def __call__(
        self,
        scope: str,
        key: str,
        body: bytes,
        work: Callable[[Callable[[int], str]], StoredAnswer],
    ) -> StoredAnswer:
        """Do the work, unless it was done under this key.

        A request whose process died, or on whose way the backend failed, is done again; its jobs
        have the ids that they had, so that what it stored is found. Two at the same time may both
        do it, with the same effect.

        :param scope: the operation, and whose key it is.
        :param work: is given what makes the id of the job at an index.
        :raises ConflictError: the key was used for another body.
        """
        if not 0 < len(key) <= MAX_KEY:
            raise invalid("idempotency_key", f"a text of 1 to {MAX_KEY} characters", key)
        now = self.clock.now()
        wanted = BulkRequest(
            key=hashlib.sha256(f"{scope}\0{key}".encode("utf-8", "surrogatepass")).hexdigest(),
            digest=hashlib.sha256(body).hexdigest(),
            begun_at=now,
        )
        begun = self.requests.begin(wanted, Instant(now - KEPT_MS))
        if begun.digest != wanted.digest:
            raise ConflictError(
                "This idempotency key was used for another request.",
                details={"field": "idempotency_key"},
                hint="Use a key of its own for each request.",
            )
        if begun.status:
            return StoredAnswer(begun.status, begun.answer)

        def id_of(index: int) -> str:
            return event_id(begun.begun_at, begun.key, index).removeprefix("evt_")

        answered = work(id_of)
        if answered.is_final:
            try:
                self.requests.answer(replace(begun, status=answered.status, answer=answered.text))
            except Exception:  # whatever it was, the operation is done
                _logger.warning("Could not keep the answer of a bulk request", exc_info=True)
        return answered


@dataclass(frozen=True, slots=True)
class CompletionEvents:
    """Lets the stream publish finished bulk operations (ojs-bulk-operations, section 12.1)."""

    requests: BulkRequests
    clock: Clock
    ids: IdGenerator

    def __call__(
        self,
        operation: str,
        total: int,
        done: int,
        *,
        is_atomic: bool,
        by: Actor | None = None,
    ) -> None:
        """Record that an operation is finished; if that fails, the work stays done.

        :param total: jobs that it was about.
        :param done: those that it did it to.
        :param by: who did it.
        """
        now = self.clock.now()
        over = BulkDone(
            id=self.ids.request_id(),
            operation=operation,
            total=total,
            done=done,
            is_atomic=is_atomic,
            at=now,
            by=stored_actor(by, now),
        )
        try:
            self.requests.record_bulk(over)
        except Exception:  # whatever it was, the operation is done
            _logger.warning("Could not publish a finished bulk %s", operation, exc_info=True)
