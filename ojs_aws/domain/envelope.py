"""Holds the job envelope that people and middleware use (core, 5; middleware, 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.jobs import arguments as given
from ojs_aws.domain.jobs.attributes import read_attributes
from ojs_aws.domain.json_members import NOTHING_PARSED, JsonMembers, check_native
from ojs_aws.domain.timestamps import parse_duration

if TYPE_CHECKING:
    from typing import Unpack

    from ojs_aws.domain.jobs.attributes import EnvelopeAttributes

SPEC_VERSION: Final = "1.0.0-rc.1"
DEFAULT_QUEUE: Final = "default"

VALIDATE: Final = "ojs_validate"
"""The member of ``meta`` by which a producer insists that the arguments are validated."""

BOUND_TO: Final = "ojs.codec.bound_to"
"""The member of ``meta`` that says what the ciphertext of the arguments is bound to; absent where
it is bound to nothing, as the specification has it. Whoever changes it makes them unreadable."""

TENANT_ID: Final = "tenant_id"
"""The member of ``meta`` that names a job's tenant (ojs-multi-tenancy, section 5.1)."""


class Job(JsonMembers):
    """Holds a job envelope: the specification's attributes and any others.

    ``args`` and ``meta`` may be changed in place; the other attributes by assignment or with
    :meth:`copy`. Attributes that the specification does not name are reached by ``job["name"]``.
    """

    __slots__ = ()

    def __init__(
        self,
        type: str,  # noqa: A002 - the specification's name
        args: Sequence[JsonValue] = (),
        **attributes: Unpack[EnvelopeAttributes],
    ) -> None:
        """Describe a job. What is left out takes the specification's default.

        :param args: positional arguments of the handler; JSON values only.
        :param attributes: see :class:`~ojs_aws.domain.jobs.attributes.JobAttributes`.
        :raises TypeError: an unknown attribute, or a value of the wrong type, such as a text.
        :raises ValueError: a policy has a member that there is not.
        :raises InvalidPayloadError: a value that JSON cannot say exactly.
        :raises InvalidRequestError: a priority that is no integer and no name.
        """
        named = read_attributes(attributes)
        values: dict[str, JsonValue] = {
            "specversion": named.pop("specversion", SPEC_VERSION),
            **({"id": named.pop("id")} if "id" in named else {}),
            "type": given.job_type(type),
            "queue": named.pop("queue", DEFAULT_QUEUE),
            "args": given.argument_list(args),
            **named,
        }
        for name, value in values.items():
            check_native(value, name)
        self._raw = dict.fromkeys(values)
        self._values = values
        self._parsed = NOTHING_PARSED
        self._sets = 0

    def __repr__(self) -> str:
        """Show type, id and queue; never the arguments, which may be secret."""
        return f"<Job {self.get('type')} {self.get('id')} on {self.get('queue')}>"

    @property
    def specversion(self) -> str:
        """Return the version of the specification that the envelope follows."""
        return self._string("specversion", SPEC_VERSION)

    @property
    def id(self) -> str:
        """Return the job's UUIDv7; empty before the client made one."""
        value = self._values.get("id")  # asked for by every layer of middleware
        return value if isinstance(value, str) else self._string("id")

    @id.setter
    def id(self, value: str) -> None:
        self["id"] = value

    @property
    def type(self) -> str:
        """Return the dot-separated type, which selects the handler."""
        return self._string("type")

    @type.setter
    def type(self, value: str) -> None:
        self["type"] = value

    @property
    def queue(self) -> str:
        """Return the queue of the job."""
        return self._string("queue", DEFAULT_QUEUE)

    @queue.setter
    def queue(self, value: str) -> None:
        self["queue"] = value

    @property
    def args(self) -> list[JsonValue]:
        """Return the positional arguments; may be changed in place."""
        value = self.get("args")
        return value if isinstance(value, list) else []

    @args.setter
    def args(self, value: Sequence[JsonValue]) -> None:
        self["args"] = given.argument_list(value)

    @property
    def meta(self) -> dict[str, JsonValue]:
        """Return the metadata; may be changed in place."""
        value = self._mapping("meta")
        if value is None:
            value = {}
            self["meta"] = value
        return value

    @meta.setter
    def meta(self, value: Mapping[str, JsonValue]) -> None:
        self["meta"] = given.metadata(value)

    @property
    def priority(self) -> int:
        """Return the priority from -100 to 100; higher runs first."""
        return self._number("priority")

    @priority.setter
    def priority(self, value: int | str) -> None:
        self["priority"] = given.priority(value)

    @property
    def timeout_ms(self) -> int | None:
        """Return the execution timeout in milliseconds, if the envelope names one."""
        if value := self._number("timeout_ms"):
            return value
        seconds = self._number("timeout")
        return seconds * 1000 if seconds else None

    @property
    def timeout(self) -> float | None:
        """Return the execution timeout in seconds, if the envelope names one."""
        milliseconds = self.timeout_ms
        return None if milliseconds is None else milliseconds / 1000

    @timeout.setter
    def timeout(self, seconds: int) -> None:
        if "timeout_ms" in self:
            del self["timeout_ms"]
        self["timeout"] = seconds

    @property
    def visibility_timeout_ms(self) -> int | None:
        """Return the job's own reservation length in milliseconds."""
        if value := self._number("visibility_timeout_ms"):
            return value
        return _visibility_ms(self.get("visibility_timeout"))

    @property
    def visibility_timeout(self) -> float | None:
        """Return the job's own reservation length in seconds (middleware, section 3.4)."""
        milliseconds = self.visibility_timeout_ms
        return None if milliseconds is None else milliseconds / 1000

    @visibility_timeout.setter
    def visibility_timeout(self, seconds: float) -> None:
        for name in ("visibility_timeout", "visibility_timeout_ms"):
            if name in self:
                del self[name]
        for name, value in given.visibility_timeout(seconds).items():
            self[name] = value

    @property
    def scheduled_at(self) -> str | None:
        """Return when the job becomes available, as its client wrote it."""
        return self._string("scheduled_at") or None

    @scheduled_at.setter
    def scheduled_at(self, value: datetime | str) -> None:
        self["scheduled_at"] = given.timestamp(value)

    @property
    def expires_at(self) -> str | None:
        """Return when the job expires, as its client wrote it."""
        return self._string("expires_at") or None

    @expires_at.setter
    def expires_at(self, value: datetime | str) -> None:
        self["expires_at"] = given.timestamp(value)

    @property
    def retry(self) -> dict[str, JsonValue] | None:
        """Return the retry policy as the client gave it."""
        return self._mapping("retry")

    @property
    def unique(self) -> dict[str, JsonValue] | None:
        """Return the unique policy as the client gave it."""
        return self._mapping("unique")

    @property
    def schema(self) -> str | None:
        """Return the URI of the schema that the arguments follow."""
        return self._string("schema") or None

    @property
    def tags(self) -> list[str]:
        """Return the tags."""
        value = self.get("tags")
        return [tag for tag in value if isinstance(tag, str)] if isinstance(value, list) else []

    @property
    def state(self) -> str | None:
        """Return the state, once the system has the job."""
        return self._string("state") or None

    @property
    def attempt(self) -> int:
        """Return the current attempt; 0 before the first execution."""
        return self._number("attempt")

    @property
    def max_attempts(self) -> int | None:
        """Return how many executions the retry policy allows."""
        value = self.get("max_attempts")
        return value if isinstance(value, int) else None

    @property
    def result(self) -> JsonValue:
        """Return what the handler returned, once completed."""
        return self.get("result")

    @property
    def error(self) -> dict[str, JsonValue] | None:
        """Return the latest failure."""
        return self._mapping("error")


def names_tenant(job: Job) -> bool:
    """Return whether the metadata name a tenant; decoded only where their text may do so."""
    if not (job.mentions("meta", TENANT_ID) or job.mentions("meta", "\\u")):
        return False
    meta = job.view(("meta",)).get("meta")
    return isinstance(meta, dict) and TENANT_ID in meta


def uncounted_attempts(job: Job) -> int:
    """Return how many attempts were snoozed or given back, which do not count."""
    value = job.get("x_aws_uncounted_attempts")
    return value if isinstance(value, int) else 0


def _visibility_ms(value: JsonValue) -> int | None:
    """Read a reservation length: seconds, or a duration. None if it is neither."""
    if isinstance(value, str):
        with suppress(InvalidRequestError):
            return parse_duration(value, "visibility_timeout") or None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return round(value * 1000)
    return None
