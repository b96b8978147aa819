"""Checks how large new items are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ojs_aws.adapters.dynamodb.values import Item, item_bytes
from ojs_aws.domain.errors import PayloadTooLargeError

MAX_NEW_BYTES: Final = 100_000
"""A new item's size. DynamoDB takes 400 KB; history, result and reservation are still to come."""

MAX_TRANSACTION_BYTES: Final = 3_900_000
"""All items of one transaction; DynamoDB takes 4 MB."""


def check_new(items: Sequence[Item]) -> None:
    """Refuse new items that are too large for DynamoDB, or would be after they grow.

    Documents are never the reason, they leave the item; a huge retry object can be.

    :raises PayloadTooLargeError: one is too large, or all together are for one transaction.
    """
    sizes = [item_bytes(item) for item in items]
    largest = max(sizes, default=0)
    if largest > MAX_NEW_BYTES:
        raise _too_large(
            "The job's 'retry' attribute is too large: the job", largest, MAX_NEW_BYTES
        )
    if sum(sizes) > MAX_TRANSACTION_BYTES:
        raise _too_large("The batch", sum(sizes), MAX_TRANSACTION_BYTES)


def _too_large(what: str, size: int, limit: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"{what} takes {size} bytes, large 'args' and 'meta' not counted; at most {limit} fit.",
        details={"size_bytes": size, "max_bytes": limit},
        hint="Shorten the 'retry' attribute, or send fewer jobs at once.",
    )
