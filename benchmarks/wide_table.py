"""Embed a table of very many rows: moto reads only the rows that a query can mean.

Moto looks at every item for each query, and keeps some kilobytes for each. Here a query of the
index gets only the items of its partition; and jobs that wait for a time can be held as numbers,
from which the rows of a query's range are made when it asks. What is counted - calls, and what a
query reads - is what it would be with the items themselves; a test compares the two.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.local.aws import ACCOUNT, REGION
from ojs_aws.topology import TABLE

MARGIN: Final = 2
"""Rows beyond a query's limit, so that moto sees that there are more."""


class WideTable:
    """A table of moto's, which must be running.

    :ivar due: due times of the jobs that are held as numbers, ascending (milliseconds).
    """

    def __init__(self, table: str) -> None:
        """Widen it."""
        from moto.dynamodb.models import dynamodb_backends  # noqa: PLC0415 - an extra

        self._held: Any = dynamodb_backends[ACCOUNT][REGION].get_table(table)
        self._query = self._held.query
        self._template: Any = None
        self._list = ""
        self.due: Sequence[int] = ()
        setattr(self._held, "query", self._narrowed)  # noqa: B010 - in the place of a method

    def put(self, item: dict[str, Any]) -> None:
        """Store an item past the API."""
        self._held.put_item(item)

    def hold(self, job_id: str, due: Sequence[int]) -> None:
        """Hold jobs that are like a job that waits, but for their id and due time.

        :param job_id: of a far job that was pushed; it goes.
        """
        (pk,) = (key for key in self._held.items if key.value == n.job_pk(job_id))
        (self._template,) = (
            item for item in self._held.items.pop(pk).values() if item.attrs[n.SK].value == n.JOB_SK
        )
        self._list = self._template.attrs[n.GPK].value
        self.due = sorted(due)

    def _narrowed(self, *given: Any, **named: Any) -> Any:
        """Moto's query, over the items that it can mean."""
        hash_key, comparison, values, limit = given[:4]
        index = named.get("index_name") or (given[7] if len(given) > 7 else None)
        if index != TABLE.index.name:
            return self._query(*given, **named)
        wanted = hash_key.value
        items = [
            item
            for by_sort_key in self._held.items.values()
            for item in by_sort_key.values()
            if n.GPK in item.attrs and item.attrs[n.GPK].value == wanted
        ]
        if wanted == self._list:
            items += self._rows(comparison, values, limit, after=given[4])
        self._held.all_items = lambda: items
        try:
            return self._query(*given, **named)
        finally:
            del self._held.all_items

    def _rows(
        self, comparison: str | None, values: Any, limit: int | None, after: Any
    ) -> list[Any]:
        """The held jobs of a range, the first ones."""
        if comparison != "BETWEEN" or limit is None:
            raise ValueError(f"Waiting jobs are read in ranges with a limit, not by {comparison}.")
        low, high = (int(value.value[:15]) for value in values)
        if after:  # whole milliseconds: those of the last page's last instant are seen again
            low = max(low, int(after[n.GSK]["S"][:15]))
        begin = bisect_left(self.due, low)
        end = min(bisect_left(self.due, high + 1), begin + limit + MARGIN + self._repeats(low))
        return [self._row(at) for at in range(begin, end)]

    def _repeats(self, instant: int) -> int:
        return bisect_left(self.due, instant + 1) - bisect_left(self.due, instant)

    def _row(self, at: int) -> Any:
        from moto.dynamodb.models.dynamo_type import DynamoType  # noqa: PLC0415 - an extra

        row = copy.copy(self._template)
        job_id = f"01990000-0000-7000-9000-{at:012x}"
        row.hash_key = DynamoType({"S": n.job_pk(job_id)})
        row.attrs = copy.copy(self._template.attrs)
        row.attrs[n.PK] = row.hash_key
        row.attrs[n.GSK] = DynamoType({"S": n.due_key(self.due[at], is_far=True, priority=0)})
        return row
