"""Turns pushed CloudEvents into the PUSH of jobs (ojs-cloudevents-interop, sections 6, 9 and 10).

The mapping is that of :class:`~ojs_aws.domain.cloud_events.EventRule`, as events of a bus have it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.cloud_events import EventRule, event_in
from ojs_aws.domain.envelope import DEFAULT_QUEUE
from ojs_aws.domain.errors import InvalidPayloadError, JsonValue
from ojs_aws.domain.json_text import decode
from ojs_aws.transport.http.calls import JSON_TYPE, OJS_TYPE, Request
from ojs_aws.transport.http.negotiation import CLOUD_EVENT_TYPE, EVENT_BATCH_TYPE, EVENT_PREFIX

TRIGGER_PREFIX: Final = "org.openjobspec.trigger."
"""What the type of an event may begin with, before the type of its job (6.2)."""
QUEUE: Final = "ojsqueue"
"""The extension attribute that names the queue."""
_ESCAPED: Final = re.compile(r"\\(.)")


def push_of(request: Request) -> Request:
    """Return the PUSH of the job that the event in a request makes: always the same job.

    Its id is computed of the event's source, id and time, so that an event which comes twice makes
    one job. Of a batch the bulk enqueue is returned; it reads each event by itself, by
    :func:`job_text`.

    :raises InvalidPayloadError: the body is not what its content type says.
    :raises InvalidRequestError: it is no CloudEvent, or no job can be made of it.
    """
    media_type = request.header("content-type").partition(";")[0].strip().lower()
    if media_type == EVENT_BATCH_TYPE:
        text = _text(request.body)
        if not isinstance(events := decode(text), list):
            raise invalid("body", "an array of CloudEvents", events)
        headers = {**request.headers, "content-type": EVENT_BATCH_TYPE}
        return replace(request, body=f'{{"jobs":{text}}}'.encode(), headers=headers)
    if media_type == CLOUD_EVENT_TYPE:
        job = job_text(decode(_text(request.body)))
    else:
        job = job_text({**_context(request.headers), "data": _data(request.body, media_type)})
    headers = {**request.headers, "content-type": OJS_TYPE}
    return replace(request, body=job.encode(), headers=headers)


def job_text(members: JsonValue) -> str:
    """Return the envelope of the job that a CloudEvent makes.

    :param members: of the event, in the JSON format.
    :raises InvalidRequestError: it is no CloudEvent, or no job can be made of it.
    """
    if not isinstance(members, dict) or "specversion" not in members:
        raise invalid("specversion", "that of a CloudEvent", members)
    event, queue = event_in(members), members.get(QUEUE, DEFAULT_QUEUE)
    if not isinstance(queue, str):
        raise invalid(QUEUE, "the name of a queue", queue)
    job_type = event.type.removeprefix(TRIGGER_PREFIX)
    rule = EventRule(source=event.source, job_type=job_type, queue=queue)
    return rule.job_of(event).to_json()


def _context(headers: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return the attributes of an event in binary mode, which its headers hold.

    A value may be quoted, and its other characters are escaped as in URLs (HTTP binding of
    CloudEvents, 3.1.3.2).
    """
    found: dict[str, JsonValue] = {}
    for name, value in headers.items():
        if name.startswith(EVENT_PREFIX):
            is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
            text = _ESCAPED.sub(r"\1", value[1:-1]) if is_quoted else value
            found[name.removeprefix(EVENT_PREFIX)] = unquote(text)
    return found


def _data(body: bytes, media_type: str) -> JsonValue:
    """Return the data of an event in binary mode: JSON, a text, or base64 of anything else."""
    if not body:
        return None
    if media_type in {"", JSON_TYPE, "text/json"} or media_type.endswith("+json"):
        return decode(_text(body))
    if media_type.startswith("text/") or media_type.endswith(("/xml", "+xml")):
        return _text(body)
    return base64.b64encode(body).decode()


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise InvalidPayloadError("The body is not UTF-8.") from None
