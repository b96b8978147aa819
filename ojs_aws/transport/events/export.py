"""Reads the table's stream for the export of ended jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.job import JobRecord
from ojs_aws.services.upkeep.export import Export
from ojs_aws.transport.events.records import ReadImage, number_of
from ojs_aws.transport.events.stream import Failures, Handler
from ojs_aws.transport.tracing import NO_TRACING, Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


EXPORT_SPAN: Final = "ojs.export"


def build_export(
    export: Export,
    read: ReadImage,
    logger: Logger | None = None,
    tracing: Tracing = NO_TRACING,
) -> Handler:
    """Return the handler of stream records of jobs.

    A batch that cannot be written is repeated as a whole. A record that cannot be read is logged
    and left out: it would hold up all that come after it.

    :param read: the adapter's codec.
    :param tracing: has a span for each batch.
    """
    from ojs_aws.transport.logs import function_logger, invocation_logged

    logger = logger or function_logger()

    def handle(event: Mapping[str, Any], context: object) -> Failures:
        with invocation_logged(logger, context), tracing.span(EXPORT_SPAN, operation="export"):
            return write(event)

    def write(event: Mapping[str, Any]) -> Failures:
        records: Sequence[Mapping[str, Any]] = event.get("Records") or ()
        ended = []
        for record in records:
            try:
                job = _ended(record, read)
            except Exception:  # whatever is wrong with it, it stays so
                logger.exception("Could not export", extra={"record": number_of(record)})
                continue
            if job is not None:
                ended.append(job)
        try:
            files = export(ended)
        except Exception:
            logger.exception("Could not write an export")
            return {"batchItemFailures": [{"itemIdentifier": number_of(records[0])}]}
        logger.info("Exported", extra={"jobs": len(ended), "files": files})
        return {"batchItemFailures": []}

    return handle


def _ended(record: Mapping[str, Any], read: ReadImage) -> JobRecord | None:
    """Return the job that entered a terminal state with this change; None for other changes."""
    change = record["dynamodb"]
    before, after = (
        read(change[name]) if change.get(name) else None for name in ("OldImage", "NewImage")
    )
    if not isinstance(after, JobRecord) or not after.state.is_terminal:
        return None
    was = before.state if isinstance(before, JobRecord) else None
    return None if was is after.state else after
