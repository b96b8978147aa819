"""Shows the dashboard within an application, behind its own login."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool

from ojs_aws.cli.dashboard_server import (
    MAX_BODY_BYTES,
    OF_LOGIN,
    DashboardSite,
    Reply,
    Upstream,
    refusal,
)
from ojs_aws.client.transports.credentials import Credentials, chosen_credentials
from ojs_aws.client.transports.substitute import NO_SERVER

_PATH: Final = "/{path:path}"
_CHANGES: Final = ("POST", "PUT", "PATCH", "DELETE")


def dashboard(
    *,
    login: Callable[..., object],
    changes: Callable[..., object] | None = None,
    url: str | None = None,
    api_key: str | None = None,
    credentials: Credentials | None = None,
    environment: str = "",
) -> APIRouter:
    """Return a router that shows the dashboard, and forwards its requests to the OJS server.

    The browser gets no credential of the OJS server: the application adds it.

    Example::

        app.include_router(dashboard(login=current_user), prefix="/jobs")

    :param login: the application's dependency, which raises for those who may not look.
    :param changes: a dependency that raises for those who may not change anything, such as retry a
        job. Without it nobody may.
    :param url: of the OJS server; default: ``OJS_URL``.
    :param api_key: default: ``OJS_API_KEY``, where it is set.
    :param credentials: another way to authenticate, such as ``SigV4()`` for IAM.
    :param environment: what the page calls the environment.
    """

    @cache
    def site() -> DashboardSite:
        server = url or os.environ.get("OJS_URL")
        if not server:
            raise ValueError(f"The dashboard asks a server over HTTP. {NO_SERVER}")
        chosen = chosen_credentials(server, None, api_key, credentials)
        return DashboardSite(Upstream(server, chosen), environment)

    @asynccontextmanager
    async def closing(app: Starlette) -> AsyncIterator[None]:
        del app
        yield
        if site.cache_info().currsize:
            await run_in_threadpool(site().upstream.close)
            site.cache_clear()

    async def answer(request: Request, path: str) -> Response:
        body = await _body_of(request)
        if body is None:
            return _response(refusal(413, "envelope_too_large", "The body is too long."))
        headers = {name: text for name, text in request.headers.items() if name not in OF_LOGIN}
        arguments = (request.method, _target(request, path), headers, body)
        return _response(await run_in_threadpool(site().answer, *arguments))

    async def refuse(path: str) -> Response:
        del path
        reason = "This dashboard is for looking only: changes need dashboard(changes=...)."
        return _response(refusal(403, "permission_denied", reason))

    router = APIRouter(lifespan=closing, include_in_schema=False, dependencies=[Depends(login)])
    router.add_api_route(_PATH, answer, methods=["GET", "HEAD"])
    if changes is None:
        router.add_api_route(_PATH, refuse, methods=[*_CHANGES])
    else:
        router.add_api_route(_PATH, answer, methods=[*_CHANGES], dependencies=[Depends(changes)])
    return router


async def _body_of(request: Request) -> bytes | None:
    """Return the body of a request; None if it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def _target(request: Request, path: str) -> str:
    """Return the path below the dashboard and the query, as the browser encoded them."""
    scope = request.scope
    before = quote(scope["path"].removesuffix(path))
    raw = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
    query = f"?{request.url.query}" if request.url.query else ""
    return f"/{raw.removeprefix(before)}{query}"


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, {**reply.headers})
