"""The attributes of a job that ``enqueue`` takes by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypedDict

from ojs_aws.domain.errors import JsonValue


class JobAttributes(TypedDict, total=False):
    """The attributes that a job may have beside its type and arguments; see :class:`~ojs_aws.Job`.

    Attributes that the specification does not name go into ``custom_attributes``.
    """

    id: str
    queue: str
    meta: Mapping[str, JsonValue]
    priority: int | str
    timeout_s: int
    visibility_timeout_s: float
    scheduled_at: datetime | str
    expires_at: datetime | str
    retry: Mapping[str, JsonValue]
    unique: Mapping[str, JsonValue]
    schema: str
    tags: Sequence[str]
    pending: bool
    result_ttl_s: int
    result_size_limit: int
    version: str
    rate_limit: Mapping[str, JsonValue]
    custom_attributes: Mapping[str, JsonValue]
