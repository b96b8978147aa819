"""Give each request of a Django project its context (framework adapters, 7.1).

Example::

    MIDDLEWARE = ["ojs_aws.contrib.django.middleware.RequestContextMiddleware", ...]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject, empty

from ojs_aws.contrib.request_meta import HEADER, request_context


class RequestContextMiddleware:
    """Gives each request an id, its trace and its user, which its jobs have in ``meta``.

    ``ojs.context.request_id`` is the header ``X-Request-ID``, else a new id; the response has the
    same header. ``traceparent`` and ``tracestate`` are the headers of W3C Trace Context, unless the
    client's ``TraceContextMiddleware`` wrote those of its own span. ``ojs.context.user_id`` is that
    of ``request.user``, where somebody has asked for it before: this asks no database.
    """

    sync_capable = True
    async_capable = True

    def __init__(
        self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
    ) -> None:
        """Stand around the views and the middleware that follow."""
        self._get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Answer a request, with its context."""
        if self._is_async:
            return self._answer(request)
        with _context_of(request) as request_id:
            return _with_id(self._get_response(request), request_id)

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        with _context_of(request) as request_id:
            return _with_id(await self._get_response(request), request_id)


def _context_of(request: HttpRequest) -> AbstractContextManager[str]:
    return request_context(lambda name: request.headers.get(name, ""), partial(_user_of, request))


def _with_id(response: HttpResponseBase, request_id: str) -> HttpResponseBase:
    response.headers.setdefault(HEADER, request_id)
    return response


def _user_of(request: HttpRequest) -> str:
    """Return the id of the user if it was loaded already; a job may be sent in an event loop."""
    user = getattr(request, "user", None)
    if user is None or (isinstance(user, SimpleLazyObject) and user._wrapped is empty):  # noqa: SLF001
        return ""
    return str(user.pk) if user.is_authenticated else ""
