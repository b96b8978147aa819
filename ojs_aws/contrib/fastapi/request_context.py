"""Bring a request's id and trace into the jobs that it enqueues (framework adapters, 7.1)."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.protocols import EnqueueNext
from ojs_aws.transport.http.negotiation import is_request_id

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUEST_ID: Final = "ojs.context.request_id"
_HEADER: Final = "X-Request-ID"
_TRACE, _TRACE_STATE = "traceparent", "tracestate"
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII
)
_MAX_TRACE_STATE: Final = 512
_META: Final[ContextVar[dict[str, JsonValue] | None]] = ContextVar("ojs_request", default=None)


def request_meta() -> dict[str, JsonValue]:
    """Return what goes into ``meta`` of each job that this request enqueues; add to it.

    Example::

        request_meta()["ojs.context.user_id"] = user.id

    A key that a job has already stays as it is. Outside of a request nothing is kept.
    """
    found = _META.get()
    return {} if found is None else found


class RequestContext:
    """Gives each request an id and its trace, which the jobs that it enqueues have in ``meta``.

    ``meta["ojs.context.request_id"]`` is the header ``X-Request-ID``, else a new id; the response
    has the same header. ``meta["traceparent"]`` and ``meta["tracestate"]`` are the headers of W3C
    Trace Context, unless the client's ``TraceContextMiddleware`` wrote those of its own span.

    Example::

        app.add_middleware(RequestContext)
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand around an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with its context."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(_HEADER, "").strip()
        request_id = given if is_request_id(given) else str(uuid.uuid4())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault(_HEADER, request_id)
            await send(message)

        # One object for all threads of the request: what a dependency adds is seen by the endpoint.
        token = _META.set({REQUEST_ID: request_id, **_trace_of(headers)})
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            _META.reset(token)


def _trace_of(headers: Headers) -> dict[str, JsonValue]:
    """Return the trace context of a request; one that cannot be read is none."""
    parent = headers.get(_TRACE, "").strip()
    if not _TRACEPARENT.fullmatch(parent):
        return {}
    state = ",".join(headers.getlist(_TRACE_STATE)).strip()
    is_kept = state and len(state) <= _MAX_TRACE_STATE
    return {_TRACE: parent, **({_TRACE_STATE: state} if is_kept else {})}


class AddRequestMeta:
    """Adds to a job the metadata of the request that enqueues it; enqueue middleware."""

    never_waits = True

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on with the keys that it lacks."""
        found = _META.get()
        given = job.get("meta")
        if not found or not (given is None or isinstance(given, dict)):
            return await call_next(job)  # whoever stores it says what is wrong with its meta
        has_trace = given is not None and _TRACE in given
        for key, value in found.items():
            if not (has_trace and key == _TRACE_STATE):
                job.meta.setdefault(key, value)
        return await call_next(job)
