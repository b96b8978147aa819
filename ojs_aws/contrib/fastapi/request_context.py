"""Give each request of a Starlette application its context (framework adapters, 7.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from ojs_aws.contrib.request_meta import HEADER, request_context

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
        with request_context(lambda name: ",".join(headers.getlist(name))) as request_id:

            async def send_with_id(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message).setdefault(HEADER, request_id)
                await send(message)

            await self._app(scope, receive, send_with_id)
