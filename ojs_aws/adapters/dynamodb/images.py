"""Reading the item images of stream records, as Lambda and as botocore hand them over."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.codec import from_item
from ojs_aws.adapters.dynamodb.values import Item, Value, read_string
from ojs_aws.domain.job import JobRecord


def read_image(image: Mapping[str, Any]) -> JobRecord | None:
    """The job that an image shows; None for an item that is no job (a document, a queue ...).

    Lambda's events are JSON, in which binaries stand as base64; botocore gives bytes.
    """
    item: Item = dict(image)
    if read_string(item, n.SK) != n.JOB_SK or not read_string(item, n.PK).startswith(n.job_pk("")):
        return None
    return from_item({name: _value(value) for name, value in item.items()})


def _value(value: Value) -> Value:
    binary = value.get("B")
    return {"B": base64.b64decode(binary)} if isinstance(binary, str) else value
