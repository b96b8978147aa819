"""Show the dashboard behind Django's login.

Example::

    urlpatterns = [path("jobs/", include("ojs_aws.contrib.django.dashboard"))]

The browser has no credential of the OJS server: a view adds the application's to each request.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final
from urllib.parse import quote

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt

from ojs_aws.cli.dashboard_server import OF_LOGIN, Upstream, refusal
from ojs_aws.client.transports.credentials import chosen_credentials
from ojs_aws.contrib.django.options import DjangoOptions
from ojs_aws.dashboard.files import answer_file
from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.transport.http.negotiation import READS, check_page, is_from_page

CHANGE: Final = "ojs.change_jobs"
"""The permission for actions. Superusers have it; a project may give it to others."""

_API: Final = "ojs/"


@csrf_exempt  # the page has no token; _api asks the browser which site's page acts
def dashboard(request: HttpRequest, name: str) -> HttpResponse:
    """Answer with the page, one of its files, or what the OJS server says.

    Members of the staff may read. Actions need :data:`CHANGE`.
    """
    is_api = name.startswith(_API)
    if not (request.user.is_active and request.user.is_staff):
        if is_api or request.user.is_authenticated:
            return _refused(403, "The dashboard is for members of the staff who have signed in.")
        return redirect_to_login(request.get_full_path())
    headers = {
        key.lower(): value for key, value in request.headers.items() if key.lower() not in OF_LOGIN
    }
    if is_api:
        return _api(request, name, headers)
    found = answer_file(name, headers) if request.method in {"GET", "HEAD"} else None
    if found is None:
        return _refused(404, "The dashboard has no such file.")
    return HttpResponse(found.body, status=found.status, headers={**found.headers})


def _api(request: HttpRequest, name: str, headers: dict[str, str]) -> HttpResponse:
    method = str(request.method)
    try:
        check_page(headers)
    except PermissionDeniedError as problem:
        return _refused(403, problem.message)
    if method not in READS:
        if not is_from_page(headers):
            return _refused(403, "The request does not say which page asks.")
        if not request.user.has_perm(CHANGE):
            return _refused(403, f"You may only read: actions need the permission {CHANGE}.")
    if ".." in name.split("/"):
        return _refused(400, "The path leads upwards.")
    query = request.META.get("QUERY_STRING", "")
    target = f"/{quote(name, safe='/:@')}" + (f"?{query}" if query else "")
    options = DjangoOptions.read()
    reply = _upstream(options.server, options.api_key).forward(
        method, target, headers, request.body
    )
    kept = {**reply.headers, "Cache-Control": "no-store"}
    return HttpResponse(reply.body, status=reply.status, headers=kept)


@cache
def _upstream(url: str, api_key: str) -> Upstream:
    return Upstream(url, chosen_credentials(url, None, api_key or None, None))


def _refused(status: int, message: str) -> HttpResponse:
    code = {400: "invalid_request", 403: "forbidden", 404: "not_found"}[status]
    reply = refusal(status, code, message)
    return HttpResponse(reply.body, status=status, headers={**reply.headers})


urlpatterns: list[Any] = [re_path(r"^(?P<name>.*)$", dashboard, name="ojs_dashboard")]
