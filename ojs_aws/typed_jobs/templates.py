"""Make many jobs that differ in their arguments only, without checking the rest each time."""

from __future__ import annotations

from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.typed_jobs.arguments import Wire
from ojs_aws.typed_jobs.plain_values import unshared

ARGS: Final = "args"


class JobTemplate:
    """Holds the attributes that jobs of one sender have in common."""

    def __init__(self, job: Job) -> None:
        """Take them from a job; its id is its own."""
        self._values = {name: job[name] for name in job if name != "id"}
        self._names = dict.fromkeys(self._values)
        self._shared = [
            name for name, value in self._values.items() if isinstance(value, (list, dict))
        ]
        self._shared.remove(ARGS)

    @property
    def unique(self) -> JsonValue:
        """Return the unique policy of the jobs; None if they have none."""
        return self._values.get("unique")

    def job(self, args: Wire) -> Job:
        """Return a new job with these arguments, without an id.

        Middleware may change it in place, and neither this template nor the arguments.
        """
        values: dict[str, JsonValue] = self._values.copy()
        for name in self._shared:
            values[name] = unshared(values[name])
        if isinstance(args, list):
            values[ARGS] = unshared(args)
            return Job.from_parts(self._names.copy(), values)
        del values[ARGS]
        return Job.from_parts({**self._names, ARGS: args}, values)
