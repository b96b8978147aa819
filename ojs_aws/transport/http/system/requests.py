"""Declares what operators send about workers, pools, dead letters and the jobs of a filter."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ojs_aws.domain.attributes import PRIORITY_LIMIT
from ojs_aws.domain.workers import MAX_CONCURRENCY, MAX_QUEUES, MAX_WEIGHT, Strategy
from ojs_aws.services.bulk.engine import MAX_BULK
from ojs_aws.transport.http.models import Body, JobId, QueueName, ShortText

PoolWeight = Annotated[int, Field(ge=1, le=MAX_WEIGHT)]


class PoolQueue(Body):
    """Gives the weight of one queue of a worker pool."""

    weight: PoolWeight = 1


class PoolBody(Body):
    """Describes a worker pool; ``queues`` is a list beside ``weights``, or has the weights."""

    name: str | None = None
    queues: (
        Annotated[list[QueueName], Field(min_length=1, max_length=MAX_QUEUES)]
        | dict[QueueName, PoolWeight | PoolQueue]
    )
    strategy: Strategy = Strategy.ROUND_ROBIN
    weights: dict[QueueName, PoolWeight] | None = None
    concurrency: Annotated[int, Field(ge=1, le=MAX_CONCURRENCY)] | None = None


class SelectionBody(Body):
    """Which workers a directive is for; one of ``queue``, ``label`` and ``all`` must be said."""

    queue: QueueName | None = None
    label: ShortText | None = None
    all: bool | None = None
    cursor: str | None = None


class DirectiveBody(SelectionBody):
    """Sends a directive to the chosen workers, or to all of them."""

    directive: Literal["quiet", "terminate", "resume", "running"]


class DeadLetterFilterBody(Body):
    """Which dead letters are meant (ojs-dead-letter, section 9.1)."""

    queue: QueueName | None = None
    type: str | None = None
    error_type: str | None = None
    since: str | None = None
    until: str | None = None


class BulkBody(Body):
    """Changes many dead letters (section 6.2): those of a filter, or those that it names."""

    confirm: bool = False
    dry_run: bool = False
    as_of: str | None = None
    filter: DeadLetterFilterBody | None = None
    ids: Annotated[list[JobId], Field(min_length=1, max_length=MAX_BULK)] | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = MAX_BULK
    cursor: str | None = None


class RetryBody(Body):
    """Changes to a dead letter on its way back (section 6.3)."""

    override: dict[str, Any] | None = None


class JobFilterBody(Body):
    """Which jobs are meant; all that is given must match (ojs-admin-api, sections 7.1 and 8)."""

    queue: QueueName | None = None
    state: str | list[str] | None = None
    type: Annotated[str, Field(max_length=256)] | None = None
    since: str | None = None
    until: str | None = None
    tag: Annotated[str, Field(max_length=256)] | None = None
    error: Annotated[str, Field(max_length=256)] | None = None


class JobBulkBody(Body):
    """Changes the jobs of a filter with at least one member (ojs-admin-api, section 8).

    Retry, cancel and delete take ``job_ids`` instead of a filter: those that a dry run named.
    """

    job_ids: Annotated[list[str], Field(min_length=1, max_length=MAX_BULK)] | None = None
    filter: JobFilterBody | None = None
    confirm: bool = False
    dry_run: bool = False
    limit: Annotated[int, Field(ge=1, le=1000)] = MAX_BULK
    cursor: Annotated[str, Field(max_length=2048)] | None = None
    as_of: str | None = None
    state: str | list[str] | None = None
    queue: str | None = None
    type: str | None = None


class JobBulkPriorityBody(JobBulkBody):
    """Gives the jobs of a filter a priority."""

    priority: Annotated[int, Field(ge=-PRIORITY_LIMIT, le=PRIORITY_LIMIT)]


class RepairBody(Body):
    """Asks for the next part of a repair."""

    dry_run: bool = False
    cursor: Annotated[str, Field(max_length=2048)] | None = None
