"""Settings of queues over HTTP (ojs-queue-config, section 9; ojs-admin-api, section 6.6)."""

from __future__ import annotations

from urllib.parse import quote, unquote

from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.dialects import queues as shapes
from ojs_aws.transport.http.routes import BASE


def create_queue(call: Call) -> Answer:
    """Create a queue; 409 where there is one."""
    body = _body(call)
    others = sorted(body.keys() - {"name", "config"})
    if others:
        raise InvalidRequestError(
            f"A new queue has 'name' and 'config'; received '{others[0][:80]}'.",
            details={"field": others[0][:80], "allowed": ["name", "config"]},
            hint="Settings stand in 'config'.",
        )
    configured = call.backend.configuring.create(body.get("name"), body.get("config"))
    location = {"Location": f"{BASE}/queues/{quote(configured.name)}"}
    return Answer(encode(shapes.configured_queue(configured)), 201, location)


def get_queue_config(call: Call) -> Answer:
    """The settings that hold, and those that were set."""
    return Answer(encode(shapes.configured_queue(call.backend.configuring.get(_name(call)))))


def change_queue_config(call: Call) -> Answer:
    """Set what the body names; all of it, or nothing."""
    configured = call.backend.configuring.change(_name(call), _body(call))
    return Answer(encode(shapes.configured_queue(configured)))


patch_queue_config = change_queue_config


def drain_queue(call: Call) -> Answer:
    """Take no new jobs."""
    return Answer(encode(shapes.configured_queue(call.backend.configuring.drain(_name(call)))))


def delete_queue(call: Call) -> Answer:
    """Delete an empty queue; the strategy stands in the body or in the query."""
    given: dict[str, JsonValue] = {**call.request.query}
    given |= {name: member.value for name, member in call.members(optional=True).items()}
    return Answer(encode(call.backend.configuring.delete(_name(call), given)))


def _body(call: Call) -> dict[str, JsonValue]:
    return {name: member.value for name, member in call.members().items()}


def _name(call: Call) -> str:
    return unquote(call.path["queue"])
