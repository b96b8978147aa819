"""Restores a table to a point in time, completes what a deployment needs, and scans it.

DynamoDB restores items, indexes and encryption. Stream, TTL, point-in-time recovery and deletion
protection of the new table are off, and have to be switched on before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.aws_errors import answer_of, error_code, refusals
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string
from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.table import InTable, names_in
from ojs_aws.adapters.dynamodb.workflows.codec import workflow_of
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError, InvalidRequestError, NotFoundError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.topology import TABLE, WORKFLOW_SORT_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


POLL_S: Final = 10.0
MAX_POLLS: Final = 2160
"""Six hours: AWS names no bound; most restores end within one."""
_WANTED: Final = f"attribute_exists(#{n.LISTING_LEFT}) OR #sk = :workflow"
"""Only items of jobs have the attribute."""


def _missing(source: str, _: Exception) -> OjsError:
    return NotFoundError(f"There is no table '{source}' to restore.")


def _off(source: str, _: Exception) -> OjsError:
    return InvalidRequestError(
        f"Point-in-time recovery of table '{source}' is off: there is no backup of it."
    )


def _out_of_range(source: str, problem: Exception) -> OjsError:
    return InvalidRequestError(
        f"Table '{source}' cannot be restored to that instant: "
        f"{answer_of(problem)['Error'].get('Message', '')}",
        hint="Name one of the last 35 days, at least five minutes ago.",
    )


def _unknown(_: str, problem: Exception) -> Exception:
    return problem


_REASONS: Final[Mapping[str, Callable[[str, Exception], Exception]]] = {
    "SourceTableNotFoundException": _missing,
    "TableNotFoundException": _missing,
    "PointInTimeRecoveryUnavailableException": _off,
    "InvalidRestoreTimeException": _out_of_range,
}
"""What DynamoDB refuses to restore for."""


@dataclass(frozen=True, slots=True)
class TableRestore:
    """Restores tables. Each step may be repeated, and does what is left of it.

    :ivar pause: waits for so many seconds.
    """

    client: DynamoDBClient
    pause: Callable[[float], None]

    def begin(self, source: str, target: str, at: Instant | None) -> bool:
        """Start to restore ``source`` at a point in time as ``target``.

        :param at: the instant; None for the latest possible, some minutes ago.
        :returns: False where ``target`` is there already: of an earlier try, or by mistake.
        :raises BackendError: the table cannot be restored, or not to that instant.
        """
        moment: dict[str, Any] = {"UseLatestRestorableTime": True}
        if at is not None:
            moment = {"RestoreDateTime": datetime.fromtimestamp(at / 1000, UTC)}
        with translated("RestoreTableToPointInTime"):
            try:
                self.client.restore_table_to_point_in_time(
                    SourceTableName=source, TargetTableName=target, **moment
                )
            except refusals() as problem:
                code = error_code(problem)
                if code == "TableAlreadyExistsException":
                    return False
                raise _REASONS.get(code, _unknown)(source, problem) from problem
        return True

    def wait(self, target: str, step: Callable[[], None] = lambda: None) -> None:
        """Wait until the table and its indexes are active.

        :param step: called at each look.
        :raises BackendError: it is not there after hours.
        """
        for _ in range(MAX_POLLS):
            if self._described(target)["TableStatus"] == "ACTIVE":
                return
            step()
            self.pause(POLL_S)
        raise BackendError(
            f"Table '{target}' is still not active.", hint="Run the same command again later."
        )

    def complete(self, target: str) -> str:
        """Switch on what a restored table lacks; what is on stays on.

        :returns: ARN of its stream.
        """
        with translated("DescribeTimeToLive"):
            ttl = self.client.describe_time_to_live(TableName=target)
        state = ttl.get("TimeToLiveDescription", {}).get("TimeToLiveStatus", "DISABLED")
        if state == "DISABLED":
            with translated("UpdateTimeToLive"):
                self.client.update_time_to_live(
                    TableName=target,
                    TimeToLiveSpecification={"Enabled": True, "AttributeName": TABLE.ttl_attribute},
                )
        with translated("UpdateContinuousBackups"):
            self.client.update_continuous_backups(
                TableName=target,
                PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
            )
        if not self._described(target).get("StreamSpecification", {}).get("StreamEnabled"):
            self._update(
                target,
                StreamSpecification={"StreamEnabled": True, "StreamViewType": TABLE.stream_view},
            )
        if not self._described(target).get("DeletionProtectionEnabled"):
            self._update(target, DeletionProtectionEnabled=True)
        return str(self._described(target)["LatestStreamArn"])

    def _update(self, target: str, **change: Any) -> None:
        with translated("UpdateTable"):
            self.client.update_table(TableName=target, **change)
        self.wait(target)

    def _described(self, target: str) -> dict[str, Any]:
        with translated("DescribeTable"):
            try:
                return {**self.client.describe_table(TableName=target)["Table"]}
            except refusals() as problem:
                if error_code(problem) == "ResourceNotFoundException":
                    raise NotFoundError(f"There is no table '{target}'.") from problem
                raise


@dataclass(frozen=True, slots=True)
class TableScan(InTable):
    """Reads each item of the table once, for an operator: no request does so.

    It costs half a read unit for each 4 KB of the table, whatever it returns.
    """

    def segment(self, number: int, of: int) -> Iterator[JobRecord | Workflow]:
        """Return the completed jobs that ACK did not list, and all workflows, of one segment.

        One call for each megabyte of the table; eventually consistent.

        :raises BackendError: a page could not be read.
        """
        more: dict[str, Any] = {}
        while True:
            with translated("Scan"):
                page = self.client.scan(
                    TableName=self.table,
                    Segment=number,
                    TotalSegments=of,
                    FilterExpression=_WANTED,
                    ExpressionAttributeNames=names_in(_WANTED),
                    ExpressionAttributeValues={":workflow": string(WORKFLOW_SORT_KEY)},
                    **more,
                )
            yield from map(_read, page["Items"])
            if not page.get("LastEvaluatedKey"):
                return
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _read(item: Item) -> JobRecord | Workflow:
    is_workflow = read_string(item, n.SK) == WORKFLOW_SORT_KEY
    return workflow_of(item) if is_workflow else from_item(item)
