"""Counts what queries of the index read, by DynamoDB's own rules."""

from __future__ import annotations

from typing import Final

from ojs_aws.adapters.dynamodb.columns import item_bytes
from ojs_aws.memory_aws import Call, MemoryAws
from ojs_aws.memory_aws.calls import Answer, Effect
from ojs_aws.topology import TABLE

BLOCK: Final = 4096
KEYS: Final = (TABLE.partition_key, TABLE.sort_key, TABLE.index.partition_key, TABLE.index.sort_key)


class Reads:
    """Counts the eventually consistent read units of queries of the index."""

    def __init__(self, aws: MemoryAws) -> None:
        """Watch the calls of an AWS from now on."""
        self.units = 0.0
        self._inject = aws.calls.inject
        aws.calls.inject = self._weigh

    def _weigh(self, call: Call, effect: Effect) -> Answer:
        answer = self._inject(call, effect)
        if call.operation == "Query":
            shown = {*KEYS, *TABLE.index.projected}
            rows = ({n: v for n, v in item.items() if n in shown} for item in answer["Items"])
            self.units += 0.5 * max(1, -(-sum(map(item_bytes, rows)) // BLOCK))
        return answer
