"""Declares limits on how jobs begin, as jobs, queues and operators write them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ojs_aws.transport.http.bodies import LARGEST_COUNT, Body


class WindowBody(Body):
    """So many starts in a period (ojs-rate-limiting, section 6.1)."""

    limit: Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
    period: Annotated[str, Field(examples=["PT1M"])]


class LimitMembers(Body):
    """Says how many jobs run at a time, or begin in a period, and what the others do."""

    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    rate: WindowBody | int | None = None
    throttle: WindowBody | None = None
    on_limit: Literal["wait", "reschedule", "drop"] | None = None


class RateLimitBody(LimitMembers):
    """Limits how jobs begin; some clients send ``rate`` as a number, or ``max_per_second``."""

    key: Annotated[str, Field(max_length=256)] | None = None
    by: Annotated[
        str | list[str] | None,
        Field(description="Paths into args and meta, the values of which end the key."),
    ] = None
    max_per_second: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None


class RateLimitOverrideBody(LimitMembers):
    """Sets the limits of a key in place of those of its jobs; null lifts one (section 10.2)."""

    expires_at: str | None = None
