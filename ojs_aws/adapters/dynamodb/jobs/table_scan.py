"""Scans the whole table, in segments, for what the table's stream is to do something about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string
from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.table import InTable, names_in
from ojs_aws.adapters.dynamodb.workflows.codec import workflow_of
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.topology import WORKFLOW_SORT_KEY

_WANTED: Final = f"attribute_exists(#{n.LISTING_LEFT}) OR #sk = :workflow"
"""Only items of jobs have the attribute."""


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
