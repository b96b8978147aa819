"""The table's stream: committed changes become lifecycle events, and ended jobs lose their rest.

Records of one job come in their order. A batch is read as a whole, so that its events cost few
calls. A record that cannot be read is logged and left behind: it must not hold up the shard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import Event
from ojs_aws.services.events import events_of

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from ojs_aws.services.backend import Backend

Image = Mapping[str, Any]
ReadImage = Callable[[Image], JobRecord | None]
"""Reads the job that an item of the table holds; None for an item that is no job."""

Failures = dict[str, list[dict[str, str]]]
Handler = Callable[[Mapping[str, Any], object], Failures]

_DONE: Final = "batchItemFailures"
_TTL: Final = "dynamodb.amazonaws.com"
"""Who removes items whose time to live has ended."""


def build_stream(backend: Backend, read: ReadImage, logger: Logger | None = None) -> Handler:
    """The handler of stream records.

    :param read: the adapter's codec.
    """
    if logger is None:
        from ojs_aws.transport.logs import function_logger  # noqa: PLC0415

        logger = function_logger()
    consumer = _Consumer(backend, read, logger)
    return consumer.handle


class _Consumer:
    """Publishes the events of stream records."""

    def __init__(self, backend: Backend, read: ReadImage, logger: Logger) -> None:
        self._backend = backend
        self._read = read
        self._logger = logger

    def handle(self, event: Mapping[str, Any], context: object) -> Failures:
        """Publish a batch; answers from where it must be repeated, if at all.

        If the batch cannot be published at once, its records are published one by one, so that
        those before the failing one are done.
        """
        del context
        records: Sequence[Mapping[str, Any]] = event.get("Records") or ()
        changes = [(record, self._events(record)) for record in records]
        try:
            self._backend.events.publish([made for _, events in changes for made in events])
            for record, _ in changes:
                self._forget(record)
        except OjsError:
            self._logger.warning("Could not publish a batch at once", exc_info=True)
            return self._one_by_one(changes)
        return {_DONE: []}

    def _one_by_one(self, changes: Sequence[tuple[Mapping[str, Any], Sequence[Event]]]) -> Failures:
        for record, events in changes:
            try:
                self._backend.events.publish(events)
                self._forget(record)
            except OjsError:
                number = record["dynamodb"]["SequenceNumber"]
                self._logger.exception("Could not publish", extra={"sequence_number": number})
                return {_DONE: [{"itemIdentifier": number}]}
        return {_DONE: []}

    def _events(self, record: Mapping[str, Any]) -> list[Event]:
        """The events of one record; none when it cannot be read, which is logged."""
        try:
            change = record["dynamodb"]
            before, after = (self._image(change, name) for name in ("OldImage", "NewImage"))
            return events_of(before, after)
        except Exception:  # whatever is wrong with it, the shard must go on
            number = (record.get("dynamodb") or {}).get("SequenceNumber", "")
            self._logger.exception("Unreadable record", extra={"sequence_number": number})
            return []

    def _forget(self, record: Mapping[str, Any]) -> None:
        """Remove the documents of a job whose retention ended; DynamoDB removed its item alone."""
        if (record.get("userIdentity") or {}).get("principalId") != _TTL:
            return
        job = self._image(record["dynamodb"], "OldImage")
        if job is not None:
            self._backend.ports.store.forget_documents(job)

    def _image(self, change: Mapping[str, Any], name: str) -> JobRecord | None:
        image = change.get(name)
        return None if image is None else self._read(image)
