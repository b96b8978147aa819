"""Turns CloudEvents into jobs: which event makes which job (ojs-cloudevents-interop, 6 and 8)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, TypeAlias

from ojs_aws.domain.attributes import check_queue, check_type, invalid
from ojs_aws.domain.envelope import DEFAULT_QUEUE, Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.events import event_id, is_named
from ojs_aws.domain.jobs.attributes import EnvelopeAttributes
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.timestamps import Instant, parse_timestamp

OWN_SOURCE: Final = "ojs.aws"
"""The source of the events that a backend puts on its bus."""

Arguments: TypeAlias = Sequence[str] | Mapping[str, str] | None
"""What a job gets of an event. A list: each path is one argument. A mapping: one object with these
members. None: the whole ``data`` is the one argument."""

_PATH: Final = re.compile(r"\$(\.[^.\[\]]+|\[\d+\])*")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_CONTEXT: Final = ("id", "source", "type", "subject", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudEvent:
    """Says what happened, and where.

    :ivar time: as the sender wrote it; empty where it wrote none.
    :ivar bus_source: what EventBridge calls its source, if it is the detail of an event there.
    :ivar bus_type: what EventBridge calls its type then.
    """

    id: str
    source: str
    type: str
    subject: str = ""
    time: str = ""
    data: JsonValue = None
    bus_source: str = ""
    bus_type: str = ""

    @property
    def job_id(self) -> str:
        """Return the id of the job that the event makes, a UUIDv7: always the same.

        PUSH finds a job that has this id already, so an event that comes twice makes one job for as
        long as this job is kept (section 8.4).
        """
        time = parse_timestamp(self.time, "time") if self.time else Instant(0)
        return event_id(time, self.source, self.id).removeprefix("evt_")

    def members(self) -> dict[str, JsonValue]:
        """Return what paths of arguments are looked up in."""
        return {name: getattr(self, name) for name in _CONTEXT} | {"data": self.data}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRule:
    """Says which events make a job, and which job (section 8.2).

    A text that ends with ``*`` matches each text that begins like it.

    :ivar source: of the event, such as ``aws.s3`` or ``com.shop.*``.
    :ivar type: of the event; EventBridge calls it detail type. Empty: all.
    :ivar subject: of the event. Empty: all.
    :ivar job_type: type of the job.
    :ivar queue: queue of the job.
    :ivar args: what the job gets of the event, by paths such as ``$.data.order_id`` or
        ``$.data.items[0].sku``; see :data:`Arguments`.
    :ivar options: other attributes of the job, by their names in :class:`ojs_aws.Job`.
    :ivar own_events: whether events of a backend of ojs-aws may make jobs. A job whose end makes
        the next job runs for ever (section 4.4).
    """

    source: str
    job_type: str
    type: str = ""
    subject: str = ""
    queue: str = DEFAULT_QUEUE
    args: Arguments = None
    options: EnvelopeAttributes = field(default_factory=EnvelopeAttributes)
    own_events: bool = False

    def check(self, is_known_later: Callable[[str], bool] = lambda _: False) -> None:
        """Check the rule itself, before any event comes: it must be able to make a job.

        :param is_known_later: returns True for a name that only the deployment knows.
        :raises ValueError: it has no source, an invalid path, or an attribute that no job has.
        :raises TypeError: an attribute has the wrong type.
        :raises InvalidRequestError: no job has such a type, queue, or value of an attribute.
        """
        if not self.source.rstrip("*"):
            raise ValueError(f"The rule for {self.job_type} needs the source of its events.")
        if is_named(OWN_SOURCE, self.source) and not self.own_events:
            raise ValueError(
                f"The rule for {self.job_type} would make jobs of the events of jobs. If that is "
                "meant, and ends, say own_events=True."
            )
        if not is_known_later(self.job_type):
            check_type(self.job_type)
        if not is_known_later(self.queue):
            check_queue(self.queue)
        paths = self.args.values() if isinstance(self.args, Mapping) else self.args or ()
        for path in paths:
            if not _PATH.fullmatch(path):
                raise ValueError(
                    f"{path!r} of the rule for {self.job_type} is no path of an event: "
                    "write '$.data.order_id' or '$.data.items[0].sku'."
                )
        self._job([])

    def matches(self, event: CloudEvent) -> bool:
        """Return whether the event makes this rule's job."""
        source, kind = event.bus_source or event.source, event.bus_type or event.type
        if source == OWN_SOURCE and not self.own_events:
            return False
        return (
            is_named(source, self.source)
            and is_named(kind, self.type or "*")
            and is_named(event.subject, self.subject or "*")
        )

    def job_of(self, event: CloudEvent) -> Job:
        """Return the job that the event makes: the same job each time.

        :raises InvalidRequestError: the event lacks what the job needs.
        """
        job = self._job(self._arguments(event))
        job.id = event.job_id
        job.meta = {
            **job.meta,
            "trigger_event_id": event.id,
            "trigger_source": event.source,
            **({"trigger_subject": event.subject} if event.subject else {}),
            **({"trigger_time": event.time} if event.time else {}),
        }
        return job

    def _job(self, args: list[JsonValue]) -> Job:
        attributes: EnvelopeAttributes = {**self.options, "queue": self.queue}
        return Job(self.job_type, args, **attributes)

    def _arguments(self, event: CloudEvent) -> list[JsonValue]:
        if self.args is None:
            return [event.data]
        members = event.members()
        if isinstance(self.args, Mapping):
            return [{name: _at(members, path) for name, path in self.args.items()}]
        return [_at(members, path) for path in self.args]


def _at(members: JsonValue, path: str) -> JsonValue:
    """Return what a path leads to.

    :raises InvalidRequestError: it leads nowhere.
    """
    found = members
    for name, index in _STEP.findall(path):
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and index and int(index) < len(found):
            found = found[int(index)]
        else:
            raise InvalidRequestError(
                f"The event has no '{path}', which the rule for its job names.",
                details={"field": path},
            )
    return found


def rule_for(rules: Iterable[EventRule], event: CloudEvent) -> EventRule | None:
    """Return the first rule that matches an event; None if none does."""
    return next((rule for rule in rules if rule.matches(event)), None)


def read_event(text: str) -> CloudEvent:
    """Return the event in a text: a CloudEvent in JSON, or an event as EventBridge sends it.

    :raises InvalidRequestError: it is neither.
    """
    given = decode(text)
    if not isinstance(given, dict):
        raise invalid("event", "a CloudEvent in JSON", given)
    return event_in(given)


def event_in(given: Mapping[str, JsonValue]) -> CloudEvent:
    """Return the event that a JSON object describes.

    If the detail of an EventBridge event is a CloudEvent, that CloudEvent is returned. Rules then
    match the source and type of the EventBridge event.

    :raises InvalidRequestError: it is no event.
    """
    detail, kind = given.get("detail"), given.get("detail-type")
    if not isinstance(detail, dict):
        return _event(given, given.get("type"), _data_of(given), given.get("subject"))
    around = _event(given, kind, detail, _first(given.get("resources")))
    if "specversion" not in detail:
        return around
    event = _event(detail, detail.get("type"), _data_of(detail), detail.get("subject"))
    return replace(event, bus_source=around.source, bus_type=around.type)


def _data_of(members: Mapping[str, JsonValue]) -> JsonValue:
    """Return the data of a CloudEvent; as base64 where that is how its JSON holds it."""
    return members.get("data", members.get("data_base64"))


def _event(
    members: Mapping[str, JsonValue], kind: JsonValue, data: JsonValue, subject: JsonValue
) -> CloudEvent:
    texts = {name: members.get(name) for name in ("id", "source")} | {"type": kind}
    for name, value in texts.items():
        if not isinstance(value, str) or not value:
            raise invalid(name, "a text, as each CloudEvent has one", value)
    time = members.get("time")
    return CloudEvent(
        id=str(texts["id"]),
        source=str(texts["source"]),
        type=str(kind),
        subject=subject if isinstance(subject, str) else "",
        time=time if isinstance(time, str) else "",
        data=data,
    )


def _first(values: JsonValue) -> JsonValue:
    return values[0] if isinstance(values, list) and values else None


def write_rules(rules: Sequence[EventRule]) -> str:
    """Return rules as the text that a function's settings hold, without what is as by default."""
    default = asdict(EventRule(source="", job_type=""))
    return encode([{k: v for k, v in asdict(rule).items() if v != default[k]} for rule in rules])


def read_rules(text: str) -> tuple[EventRule, ...]:
    """Return the rules in a text that :func:`write_rules` made."""
    rows: Any = decode(text)
    return tuple(EventRule(**row) for row in rows)
