"""Declares what operators send about queues."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, create_model

from ojs_aws.domain.queues.setting_rows import BACKPRESSURE, RETENTION, SETTINGS, SettingRow
from ojs_aws.transport.http.bodies import Body, QueueName
from ojs_aws.transport.http.jobs.bodies import RetryPolicyBody
from ojs_aws.transport.http.limits.bodies import RateLimitBody


class QueuePurgeBody(Body):
    """Chooses the jobs of a queue to purge, where the path confirms it."""

    states: Annotated[
        list[
            Literal[
                "available",
                "pending",
                "scheduled",
                "retryable",
                "completed",
                "cancelled",
                "discarded",
            ]
        ],
        Field(min_length=1, max_length=7),
    ]
    older_than: str | None = None


class PurgeBody(QueuePurgeBody):
    """Chooses the jobs of a queue to purge (ojs-admin-api, section 6.5).

    ``confirm`` must be true, unless ``dry_run`` is: then the jobs are only counted.
    """

    confirm: bool = False
    dry_run: bool = False
    cursor: Annotated[str, Field(max_length=2048)] | None = None


_GROUPS: Final[dict[str, Any]] = {"rate_limit": RateLimitBody, "default_retry": RetryPolicyBody}


def _type_of(row: SettingRow) -> Any:
    """Return the type of a setting's values, as requests give them."""
    if row.only is not None:
        return Literal[row.only]
    if row.kind is list:
        return Annotated[list[str], Field(min_length=row.least, max_length=row.most)]
    if row.kind in (int, float):
        return Annotated[row.kind, Field(ge=row.least, le=row.most)]
    return _GROUPS.get(row.name, row.kind)


def _optional(name: str, doc: str, **types: Any) -> Any:
    members: dict[str, Any] = {key: (each | None, None) for key, each in types.items()}
    return create_model(name, __base__=Body, __module__=__name__, __doc__=doc, **members)


_GROUPS["backpressure"] = _optional(
    "BackpressureBody",
    "The bound of a queue (ojs-backpressure, section 6.2); 0 for none.",
    **{inside: _type_of(SETTINGS[name]) for inside, name in BACKPRESSURE.items()},
)
_GROUPS["retention"] = _optional(
    "RetentionBody",
    "How long ended jobs of a queue stay, as durations: 7d, or P7D.",
    **dict.fromkeys(RETENTION, str),
)
QueueConfigBody: Any = _optional(
    "QueueConfigBody",
    "Settings of a queue (ojs-queue-config, section 6): ``null`` takes one away.",
    **{row.name: _type_of(row) for row in SETTINGS.values() if row.doc or row.only is not None},
)


class QueueBody(Body):
    """Creates a queue (ojs-queue-config, section 9.2)."""

    name: QueueName
    config: QueueConfigBody | None = None


class QueueDeletionBody(Body):
    """What becomes of the jobs that are left (ojs-queue-config, section 5.3)."""

    strategy: Literal["reject"]
