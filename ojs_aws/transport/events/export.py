"""Reads the table's stream for the export of ended jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.services.upkeep.export import Export
from ojs_aws.topology import LEFT_OUT_METRIC
from ojs_aws.transport.events.job_metrics import publish
from ojs_aws.transport.events.records import ReadImage, item_of, number_of
from ojs_aws.transport.events.stream import Count, Failures, Handler, Record
from ojs_aws.transport.events.stream_reader import (
    HOOK_MS,
    BatchOutcome,
    BatchUse,
    InvocationTime,
    StreamReader,
    time_of,
)
from ojs_aws.transport.tracing import NO_TRACING, Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


EXPORT_SPAN: Final = "ojs.export"


def build_export(
    export: Export,
    read: ReadImage,
    logger: Logger | None = None,
    tracing: Tracing = NO_TRACING,
    *,
    reader: StreamReader | None = None,
    count: Count | None = None,
) -> Handler:
    """Return the handler of stream records of jobs.

    A batch that cannot be written is repeated. A record that cannot be read, or that ends the
    invocation each time, is logged and left out: it would hold up all that come after it.

    :param read: the adapter's codec.
    :param tracing: has a span for each batch.
    :param reader: pauses between the tries of a batch, and counts those of a record that ends the
        invocation. Only the deployed function needs that; by default there is none.
    :param count: gets how many records were left out; by default a metric in the function's log.
    """
    from ojs_aws.transport.logs import function_logger, invocation_logged

    exporter = Exporter(export, read, logger or function_logger(), count or _count_in_log)

    def handle(event: Mapping[str, Any], context: object) -> Failures:
        records: Sequence[Record] = event.get("Records") or ()
        time, use = time_of(context), exporter.use(getattr(context, "function_name", ""))
        with (
            invocation_logged(exporter.logger, context),
            tracing.span(EXPORT_SPAN, operation="export"),
        ):
            outcome = reader(records, time, use) if reader else use.consume(records, time)
        first = outcome.first_failed
        return {"batchItemFailures": [] if first is None else [{"itemIdentifier": first}]}

    return handle


@dataclass(frozen=True, slots=True)
class Exporter:
    """Exports the jobs of batches; :func:`build_export` describes its parts."""

    export: Export
    read: ReadImage
    logger: Logger
    count: Count

    def use(self, function_name: str) -> BatchUse:
        """Return what an invocation does with records.

        :param function_name: of the function; empty where there are no metrics.
        """

        def leave_out(record: Record, reason: str) -> None:
            self.logger.error("Could not export", extra=_about(record) | {"reason": reason})
            self._count_left_out(1, function_name)

        def consume(records: Sequence[Record], time: InvocationTime) -> BatchOutcome:
            ended = self._ended(records, function_name)
            return self._write(records, ended, time)

        return BatchUse(consume=consume, leave_out=leave_out)

    def _ended(self, records: Sequence[Record], function_name: str) -> list[tuple[str, JobRecord]]:
        """Return the jobs that ended, each with the number of its record."""
        ended, unreadable = [], 0
        for record in records:
            try:
                job = _ended(record, self.read)
            except Exception:  # whatever is wrong with it, it stays so
                self.logger.exception("Could not export", extra=_about(record))
                unreadable += 1
                continue
            if job is not None:
                ended.append((number_of(record), job))
        self._count_left_out(unreadable, function_name)
        return ended

    def _count_left_out(self, value: int, function_name: str) -> None:
        if value and function_name:
            self.count(value, function_name)

    def _write(
        self,
        records: Sequence[Record],
        ended: Sequence[tuple[str, JobRecord]],
        time: InvocationTime,
    ) -> BatchOutcome:
        try:
            exported = self.export([job for _, job in ended], lambda: time.has(HOOK_MS))
        except OjsError:  # any other error ends the invocation, and Lambda halves the batch
            self.logger.exception("Could not write an export")
            return BatchOutcome(number_of(records[0]), is_refused=True)
        self.logger.info("Exported", extra={"jobs": exported.jobs, "files": exported.files})
        return BatchOutcome(next((number for number, _ in ended[exported.jobs :]), None))


def _count_in_log(value: int, function_name: str) -> None:
    publish(function_name, [(LEFT_OUT_METRIC, "Count", value)])


def _about(record: Record) -> dict[str, object]:
    return {"record": number_of(record), "item": item_of(record)}


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
