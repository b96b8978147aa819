"""Counts what queries of the index read, by DynamoDB's own rules."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from ojs_aws.adapters.dynamodb.columns import item_bytes
from ojs_aws.topology import TABLE

BLOCK: Final = 4096
KEYS: Final = (TABLE.partition_key, TABLE.sort_key, TABLE.index.partition_key, TABLE.index.sort_key)


class Reads:
    """Counts calls, and the eventually consistent read units of queries of the index."""

    def __init__(self, client: Any) -> None:
        """Watch a client from now on."""
        self.calls: Counter[str] = Counter()
        self.units = 0.0
        client.meta.events.register("before-call", self._call)
        client.meta.events.register("after-call.dynamodb.Query", self._read)

    def _call(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1

    def _read(self, parsed: dict[str, Any], **_: Any) -> None:
        shown = {*KEYS, *TABLE.index.projected}
        rows = ({n: v for n, v in item.items() if n in shown} for item in parsed.get("Items", ()))
        self.units += 0.5 * max(1, -(-sum(map(item_bytes, rows)) // BLOCK))
