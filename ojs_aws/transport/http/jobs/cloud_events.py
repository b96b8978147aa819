"""Turns a pushed CloudEvent into the PUSH of a job (ojs-cloudevents-interop, sections 6 and 9).

The mapping is that of :class:`~ojs_aws.domain.cloud_events.EventRule`, as events of a bus have it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.cloud_events import EventRule, read_event
from ojs_aws.domain.envelope import DEFAULT_QUEUE
from ojs_aws.domain.errors import InvalidPayloadError
from ojs_aws.domain.json_text import decode
from ojs_aws.transport.http.calls import OJS_TYPE, Request

TRIGGER_PREFIX: Final = "org.openjobspec.trigger."
"""What the type of an event may begin with, before the type of its job (6.2)."""
QUEUE: Final = "ojsqueue"
"""The extension attribute that names the queue."""


def push_of(request: Request) -> Request:
    """Return the PUSH of the job that the event in a request makes: always the same job.

    Its id is computed of the event's source, id and time, so that an event which comes twice makes
    one job.

    :raises InvalidPayloadError: the body is no JSON object.
    :raises InvalidRequestError: it is no CloudEvent, or no job can be made of it.
    """
    try:
        text = request.body.decode()
        members = decode(text)
    except UnicodeDecodeError:
        raise InvalidPayloadError("The body is not UTF-8.") from None
    if not isinstance(members, dict) or "specversion" not in members:
        raise invalid("specversion", "that of a CloudEvent", members)
    event, queue = read_event(text), members.get(QUEUE, DEFAULT_QUEUE)
    if not isinstance(queue, str):
        raise invalid(QUEUE, "the name of a queue", queue)
    job_type = event.type.removeprefix(TRIGGER_PREFIX)
    rule = EventRule(source=event.source, job_type=job_type, queue=queue)
    body = rule.job_of(event).to_json().encode()
    return replace(request, body=body, headers={**request.headers, "content-type": OJS_TYPE})
