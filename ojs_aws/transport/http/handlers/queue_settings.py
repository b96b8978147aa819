"""Settings of queues over HTTP (ojs-queue-config, section 9; ojs-admin-api, section 6.6)."""

from __future__ import annotations

from urllib.parse import quote, unquote

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.dialects import queues as shapes
from ojs_aws.transport.http.dialects.queue_settings import read_new_queue, read_settings
from ojs_aws.transport.http.routes import BASE


def create_queue(call: Call) -> Answer:
    """Create a queue; 409 where there is one."""
    name, config = read_new_queue(_body(call))
    configured = call.backend.queue_config.create(name, config)
    location = {"Location": f"{BASE}/queues/{quote(configured.name)}"}
    return Answer(encode(shapes.configured_queue(configured)), 201, location)


def get_queue_config(call: Call) -> Answer:
    """The settings that hold, and those that were set."""
    return Answer(encode(shapes.configured_queue(call.backend.queue_config.get(_name(call)))))


def change_queue_config(call: Call) -> Answer:
    """Set what the body names; all of it, or nothing."""
    configured = call.backend.queue_config.change(_name(call), read_settings(_body(call)))
    return Answer(encode(shapes.configured_queue(configured)))


patch_queue_config = change_queue_config


def drain_queue(call: Call) -> Answer:
    """Take no new jobs."""
    return Answer(encode(shapes.configured_queue(call.backend.queue_config.drain(_name(call)))))


def delete_queue(call: Call) -> Answer:
    """Delete an empty queue; the strategy stands in the body or in the query."""
    given: dict[str, JsonValue] = {**call.request.query}
    given |= {name: member.value for name, member in call.members(optional=True).items()}
    return Answer(encode(call.backend.queue_config.delete(_name(call), given)))


def _body(call: Call) -> dict[str, JsonValue]:
    return {name: member.value for name, member in call.members().items()}


def _name(call: Call) -> str:
    return unquote(call.path["queue"])
