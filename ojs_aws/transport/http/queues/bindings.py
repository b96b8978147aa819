"""Handles the bindings of queues to functions (ojs-serverless, 2.1 and 7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.transport.http.calls import Answer, Call, json_of

if TYPE_CHECKING:
    from ojs_aws.services.queues.bindings import BindingView
    from ojs_aws.transport.http.queues import models


_OF_THE_STACK: Final = frozenset({"endpoint", "queues", "config"})
"""Members of a registration (2.1) by which somebody could send jobs elsewhere."""


def list_bindings(call: Call) -> Answer[models.BindingsAnswer]:
    """Return the bindings that a queue has or may have."""
    found = call.backend.queues.bindings.list(call.named("queue"))
    items = json_of([_shown(each) for each in found])
    return Answer({"items": items, "bindings": items})


def get_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Return one binding."""
    return _answer(call.backend.queues.bindings.get(call.named("queue"), call.named("name")))


def put_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Let a binding serve these job types."""
    from ojs_aws.transport.http.queues.models import BindingBody  # pydantic

    values = call.values()
    body = BindingBody.model_validate(values)
    for each in _OF_THE_STACK & {*values}:
        message = f"'{each}' of a binding is what the stack says, and cannot be registered."
        raise field_error(each, message, "Send job_types alone; change the stack for the rest.")
    queue, name = call.named("queue"), call.named("name")
    return _answer(call.backend.queues.bindings.put(queue, name, [*body.job_types]))


def delete_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Forget the registered job types of a binding."""
    return _answer(call.backend.queues.bindings.delete(call.named("queue"), call.named("name")))


def suspend_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Suspend a binding: nothing is dispatched to it until somebody resumes it."""
    queue, name = call.named("queue"), call.named("name")
    return _answer(call.backend.queues.bindings.suspend(queue, name, str(call.actor)))


def resume_binding(call: Call) -> Answer[models.BindingAnswer]:
    """Dispatch to a binding again."""
    return _answer(call.backend.queues.bindings.resume(call.named("queue"), call.named("name")))


def _answer(view: BindingView) -> Answer[models.BindingAnswer]:
    shown = _shown(view)
    return Answer({"binding": shown, **shown})


def _shown(view: BindingView) -> models.Binding:
    shown: models.Binding = {
        "name": view.name,
        "queue": view.queue,
        "kind": "lambda",
        "job_types": [*view.types],
        "is_registered": view.is_registered,
        "state": "active" if view.suspension is None else "suspended",
    }
    if view.suspension is not None:
        shown["reason"] = view.suspension.reason
        shown["suspended_at"] = format_instant(view.suspension.since)
    return shown
