"""Declare what a typed job may say beside its arguments, and write it as attributes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.jobs.arguments import UNIQUE_MEMBERS
from ojs_aws.domain.jobs.attributes import INSTEAD_OF, PARAMETERS, JobAttributes, replaced
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


def check_values(job: Job, named: Collection[str] = ()) -> None:
    """Check the values of options as a server would, which sees only the first job of them.

    Members of other names, which a server also takes, are left to it.

    :param job: without arguments.
    :param named: the names of the options as they were written, ``timeout`` or ``timeout_s``.
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
        name = _written(attribute.removesuffix("_ms"), named)
        if name in {None, attribute}:
            raise
        message = str(problem).replace(f"'{attribute}'", f"'{name}'")
        raise type(problem)(message, details={**problem.details, "field": name}) from None


def _written(attribute: str, named: Collection[str]) -> str | None:
    """Return the name of the option that an attribute came from; None if there is none."""
    parameter = PARAMETERS.get(attribute)
    durations = (name for name, other in INSTEAD_OF.items() if other == parameter)
    return next((name for name in durations if name in named), parameter)
