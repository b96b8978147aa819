"""Images of items are read the same from Lambda's JSON and from botocore."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.dynamodb.jobs.codec import to_item
from ojs_aws.domain.job import Checkpoint
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.timestamps import Instant
from tests.contract.test_job_store import a_job

LONG = encode({"step": "x" * 500})
"""So long that an item has it as a binary."""


def as_json(value: Any) -> Any:
    """The value as Lambda gives it: JSON, with binaries in base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return (
        {name: as_json(each) for name, each in value.items()} if isinstance(value, dict) else value
    )


def test_the_stream_shows_what_a_worker_reported_at_length() -> None:
    """A checkpoint and the data of a progress report are binaries in maps of the item."""
    saved = Checkpoint(state=LONG, sequence=1, created_at=Instant(5))
    progress = Progress(attempt=1, updated_at=Instant(5), data=LONG)
    job = replace(a_job(), checkpoint=saved, progress=progress)
    item = to_item(job, lambda *_: 0)
    assert read_image(item) == job
    assert read_image(as_json(item)) == job
