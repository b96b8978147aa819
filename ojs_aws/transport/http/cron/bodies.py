"""Declares the bodies of cron jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ojs_aws.domain.cron.entry import MAX_NAME_LENGTH, NAME_PATTERN
from ojs_aws.domain.cron.schedule import MAX_EXPRESSION_LENGTH
from ojs_aws.services.cron.service import MAX_DESCRIPTION
from ojs_aws.transport.http.bodies import Body, JobType
from ojs_aws.transport.http.jobs.bodies import OptionsBody


class CronChangeTemplateBody(Body):
    """Changes members of the job of a cron job."""

    type: JobType | None = None
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    options: OptionsBody | None = None


class CronTemplateBody(CronChangeTemplateBody):
    """Describes the job of a cron job: an envelope without an id."""

    type: JobType


class CronChangeBody(CronChangeTemplateBody):
    """Changes a cron job (ojs-cron, section 8.5): what is not named stays."""

    cron: Annotated[str, Field(max_length=MAX_EXPRESSION_LENGTH, examples=["0 9 * * *"])] | None = (
        None
    )
    expression: Annotated[str, Field(max_length=MAX_EXPRESSION_LENGTH)] | None = None
    timezone: str | None = None
    overlap_policy: Literal["skip", "allow", "cancel_previous", "cancel", "enqueue"] | None = None
    enabled: bool | None = None
    description: Annotated[str, Field(max_length=MAX_DESCRIPTION)] | None = None
    job_template: CronChangeTemplateBody | None = None


class CronBody(CronChangeBody):
    """Registers a cron job (ojs-cron, section 8.1).

    The expression stands in ``cron`` or in ``expression``; the job in ``job_template``, or in
    ``type``, ``args``, ``meta`` and ``options``.
    """

    name: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$", max_length=MAX_NAME_LENGTH)]
    job_template: CronTemplateBody | None = None
