"""Holds what the bodies of requests have in common."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from ojs_aws.domain import attributes as rules
from ojs_aws.domain.jobs.validation import MAX_VISIBILITY_MS, MIN_VISIBILITY_MS
from ojs_aws.domain.timestamps import MAX_DURATION_MS
from ojs_aws.services.workers.heartbeat import MAX_WORKER_ID
from ojs_aws.services.workers.liveness import MAX_INTERVAL_MS, MIN_INTERVAL_MS

JobId = Annotated[
    str, Field(pattern=f"^{rules.ID_PATTERN}$", examples=["019539a4-b68c-7def-8000-1a2b3c4d5e6f"])
]
JobType = Annotated[
    str,
    Field(
        pattern=f"^{rules.TYPE_PATTERN}$",
        min_length=1,
        max_length=rules.MAX_TYPE_LENGTH,
        examples=["email.send"],
    ),
]
QueueName = Annotated[
    str,
    Field(
        pattern=f"^{rules.QUEUE_PATTERN}$",
        min_length=1,
        max_length=rules.MAX_QUEUE_LENGTH,
        examples=["default"],
    ),
]
WorkerId = Annotated[str, Field(min_length=1, max_length=MAX_WORKER_ID)]
IntervalMs = Annotated[int, Field(ge=MIN_INTERVAL_MS, le=MAX_INTERVAL_MS)]
ReservationId = Annotated[str, Field(min_length=1, max_length=256, examples=["9f3c52e01ab7"])]
DelayMs = Annotated[int, Field(ge=0, le=MAX_DURATION_MS, examples=[60_000])]
AttemptNumber = Annotated[int, Field(ge=0, le=2_147_483_647)]
ShortText = Annotated[str, Field(max_length=256)]
VisibilityMs = Annotated[int, Field(ge=MIN_VISIBILITY_MS, le=MAX_VISIBILITY_MS)]

MAX_QUEUES = 100
MAX_LABELS = 50
LARGEST_COUNT = 1_000_000


class Body(BaseModel):
    """What every body has in common: strict types, and room for what it does not name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", strict=True, frozen=True)
