"""Declare what a typed job may say beside its arguments, and write it as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job_arguments import UNIQUE_MEMBERS
from ojs_aws.domain.job_attributes import PARAMETERS, JobAttributes
from ojs_aws.domain.job_durations import replaced
from ojs_aws.domain.jobs.validation import read_envelope
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.timestamps import Instant


class JobOptions(JobAttributes, total=False):
    """Lists the attributes of a job, which its declaration and each call may set."""


def merged(options: Mapping[str, Any], others: Mapping[str, Any]) -> JobOptions:
    """Return options with others in their place, where both say something.

    A delay takes the place of ``scheduled_at``, ``timeout`` that of ``timeout_s``, and the other
    way round.
    """
    return cast("JobOptions", replaced(options, others))


def check_values(job: Job) -> None:
    """Check the values of options as a server would, which sees only the first job of them.

    Members of other names, which a server also takes, are left to it.

    :param job: without arguments.
    :raises OjsError: a value that a job cannot have; the message has the name of the option.
    """
    checked = job.copy()
    limit, unique = checked.get("rate_limit"), checked.get("unique")
    if isinstance(unique, Mapping) and not unique.keys() <= UNIQUE_MEMBERS:
        del checked["unique"]
    if limit is not None:
        del checked["rate_limit"]
    try:
        read_envelope(checked, Instant(0))
        if isinstance(limit, Mapping):  # the values that it is by are not known yet
            read_limit({**limit, "by": None}, job.queue)
    except OjsError as problem:
        attribute = str(problem.details.get("field"))
        named = PARAMETERS.get(attribute) or PARAMETERS.get(attribute.removesuffix("_ms"))
        if named in {None, attribute}:
            raise
        message = str(problem).replace(f"'{attribute}'", f"'{named}'")
        raise type(problem)(message, details={**problem.details, "field": named}) from None
