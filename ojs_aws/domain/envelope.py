"""The job envelope that people and middleware handle (core, section 5; middleware, section 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Final, cast

from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.json_members import JsonMembers
from ojs_aws.domain.json_text import check_native, json_type
from ojs_aws.domain.timestamps import format_instant, instant_of

SPEC_VERSION: Final = "1.0.0-rc.1"
DEFAULT_QUEUE: Final = "default"

VALIDATE: Final = "ojs_validate"
"""The member of ``meta`` by which a producer insists that the arguments are validated."""

SYSTEM_ATTRIBUTES: Final = frozenset(
    {
        "state",
        "attempt",
        "reservation_id",
        "max_attempts",
        "created_at",
        "enqueued_at",
        "started_at",
        "completed_at",
        "cancelled_at",
        "discarded_at",
        "activated_at",
        "next_attempt_at",
        "next_retry_at",
        "retry_delay_ms",
        "error",
        "errors",
        "result",
        "result_stored_at",
        "result_expires_at",
        "result_size_bytes",
        "checkpoint",
        "last_checkpoint",
    }
)
"""Attributes that only the system sets (core, section 5.3); a client's values are ignored."""


class Priority(IntEnum):
    """Names for three priorities; any integer from -100 to 100 is one."""

    HIGH = 10
    NORMAL = 0
    LOW = -10


class Job(JsonMembers):
    """A job envelope: the attributes of the specification, and any others that came with it.

    ``args`` and ``meta`` may be changed in place; the other attributes by assignment or with
    :meth:`copy`. Attributes that the specification does not name are reached by ``job["name"]``.
    """

    __slots__ = ()

    def __init__(  # noqa: PLR0913 - the envelope has that many attributes
        self,
        type: str,  # noqa: A002 - the specification's name
        args: Sequence[JsonValue] = (),
        *,
        id: str | None = None,  # noqa: A002
        queue: str | None = None,
        meta: Mapping[str, JsonValue] | None = None,
        priority: int | str | None = None,
        timeout_s: int | None = None,
        visibility_timeout_s: float | None = None,
        scheduled_at: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        retry: Mapping[str, JsonValue] | None = None,
        unique: Mapping[str, JsonValue] | None = None,
        schema: str | None = None,
        tags: Sequence[str] | None = None,
        pending: bool | None = None,
        result_ttl_s: int | None = None,
        **extra: JsonValue,
    ) -> None:
        """Describe a job. What is left out takes the specification's default.

        :param args: positional arguments of the handler; JSON values only.
        :param id: a lowercase UUIDv7; the client makes one when it is left out.
        :param priority: -100 to 100, or ``"high"``, ``"normal"``, ``"low"``.
        :param timeout_s: execution timeout in whole seconds.
        :param visibility_timeout_s: reservation length in seconds.
        :param scheduled_at: when it becomes available: aware datetime, RFC 3339, or ``+PT10S``.
        :param expires_at: when it is no longer worth executing; the same forms.
        :param retry: retry policy; a partial one keeps the other defaults.
        :param pending: hold the job back until it is activated.
        :param result_ttl_s: seconds that the result is kept: 0 for none, -1 for ever.
        :param extra: further attributes, carried as they are.
        :raises InvalidPayloadError: a value that JSON cannot say exactly.
        :raises InvalidRequestError: a priority that is no integer and no name.
        """
        given: dict[str, object] = {
            "specversion": extra.pop("specversion", SPEC_VERSION),
            "id": id,
            "type": type,
            "queue": DEFAULT_QUEUE if queue is None else queue,
            "args": list(args),
            "meta": None if meta is None else dict(meta),
            "priority": _priority(priority),
            "timeout": timeout_s,
            "visibility_timeout_ms": _milliseconds(visibility_timeout_s),
            "scheduled_at": _timestamp(scheduled_at),
            "expires_at": _timestamp(expires_at),
            "retry": None if retry is None else dict(retry),
            "unique": None if unique is None else dict(unique),
            "schema": schema,
            "tags": None if tags is None else list(tags),
            "pending": pending,
            "result_ttl": result_ttl_s,
        }
        values = {name: value for name, value in given.items() if value is not None} | extra
        for name, value in values.items():
            check_native(value, name)
        self._raw = dict.fromkeys(values)
        self._values = cast("dict[str, JsonValue]", values)

    def __repr__(self) -> str:
        """Type, id and queue; never the arguments, which may be secret."""
        return f"<Job {self.get('type')} {self.get('id')} on {self.get('queue')}>"

    @property
    def specversion(self) -> str:
        """Version of the specification that the envelope follows."""
        return self._string("specversion", SPEC_VERSION)

    @property
    def id(self) -> str:
        """UUIDv7 of the job; empty before the client made one."""
        value = self._values.get("id")  # asked for by every layer of middleware
        return value if isinstance(value, str) else self._string("id")

    @id.setter
    def id(self, value: str) -> None:
        self["id"] = value

    @property
    def type(self) -> str:
        """Dot-namespaced type, which picks the handler."""
        return self._string("type")

    @type.setter
    def type(self, value: str) -> None:
        self["type"] = value

    @property
    def queue(self) -> str:
        """Queue the job is or will be in."""
        return self._string("queue", DEFAULT_QUEUE)

    @queue.setter
    def queue(self, value: str) -> None:
        self["queue"] = value

    @property
    def args(self) -> list[JsonValue]:
        """Positional arguments; may be changed in place."""
        value = self.get("args")
        return value if isinstance(value, list) else []

    @args.setter
    def args(self, value: Sequence[JsonValue]) -> None:
        self["args"] = list(value)

    @property
    def meta(self) -> dict[str, JsonValue]:
        """Metadata; may be changed in place."""
        value = self._mapping("meta")
        if value is None:
            value = {}
            self["meta"] = value
        return value

    @meta.setter
    def meta(self, value: Mapping[str, JsonValue]) -> None:
        self["meta"] = dict(value)

    @property
    def priority(self) -> int:
        """-100 to 100; higher first."""
        return self._number("priority")

    @priority.setter
    def priority(self, value: int | str) -> None:
        self["priority"] = _priority(value)

    @property
    def timeout_ms(self) -> int | None:
        """Execution timeout in milliseconds, if the envelope names one."""
        if value := self._number("timeout_ms"):
            return value
        seconds = self._number("timeout")
        return seconds * 1000 if seconds else None

    @property
    def timeout(self) -> float | None:
        """Execution timeout in seconds, if the envelope names one."""
        milliseconds = self.timeout_ms
        return None if milliseconds is None else milliseconds / 1000

    @timeout.setter
    def timeout(self, seconds: int) -> None:
        if "timeout_ms" in self:
            del self["timeout_ms"]
        self["timeout"] = seconds

    @property
    def visibility_timeout_ms(self) -> int | None:
        """The job's own reservation length in milliseconds."""
        return self._number("visibility_timeout_ms") or None

    @property
    def scheduled_at(self) -> str | None:
        """When the job becomes available, as it was written."""
        return self._string("scheduled_at") or None

    @scheduled_at.setter
    def scheduled_at(self, value: datetime | str) -> None:
        self["scheduled_at"] = _timestamp(value)

    @property
    def expires_at(self) -> str | None:
        """When the job is no longer worth executing, as it was written."""
        return self._string("expires_at") or None

    @expires_at.setter
    def expires_at(self, value: datetime | str) -> None:
        self["expires_at"] = _timestamp(value)

    @property
    def retry(self) -> dict[str, JsonValue] | None:
        """The retry policy as the client gave it."""
        return self._mapping("retry")

    @property
    def unique(self) -> dict[str, JsonValue] | None:
        """The unique policy as the client gave it."""
        return self._mapping("unique")

    @property
    def schema(self) -> str | None:
        """URI of the schema that the arguments follow."""
        return self._string("schema") or None

    @property
    def tags(self) -> list[str]:
        """Tags."""
        value = self.get("tags")
        return [tag for tag in value if isinstance(tag, str)] if isinstance(value, list) else []

    @property
    def state(self) -> str | None:
        """State, once the system has the job."""
        return self._string("state") or None

    @property
    def attempt(self) -> int:
        """Current attempt; 0 before the first execution."""
        return self._number("attempt")

    @property
    def max_attempts(self) -> int | None:
        """Executions that the retry policy allows."""
        value = self.get("max_attempts")
        return value if isinstance(value, int) else None

    @property
    def result(self) -> JsonValue:
        """What the handler returned, once completed."""
        return self.get("result")

    @property
    def error(self) -> dict[str, JsonValue] | None:
        """The latest failure."""
        return self._mapping("error")


def _priority(value: int | str | None) -> int | None:
    if isinstance(value, str) and value.upper() in Priority.__members__:
        return int(Priority[value.upper()])
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return None if value is None else int(value)
    raise InvalidRequestError(
        f"The 'priority' attribute must be an integer, or high, normal or low; not {value!r}.",
        details={"field": "priority", "received": json_type(value)},
    )


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _timestamp(moment: datetime | str | None) -> str | None:
    return format_instant(instant_of(moment)) if isinstance(moment, datetime) else moment
