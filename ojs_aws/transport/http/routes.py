"""Collects the route table: every HTTP operation once, as a row of its feature's table.

From it come the resolvers of the functions, the answers to unknown routes and wrong methods, and
the OpenAPI document. It is data: handlers and models are named, and imported by who needs them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from ojs_aws.transport.http import (
    api_keys,
    bulk,
    clients,
    cron,
    dead_letters,
    events,
    jobs,
    limits,
    outcomes,
    queues,
    schemas,
    sequences,
    system,
    tenants,
    workers,
    workflows,
)
from ojs_aws.transport.http.route import BASE, Group, Route

if TYPE_CHECKING:
    from ojs_aws.transport.http.calls import Answer, Call

Handler: TypeAlias = "Callable[[Call], Answer[object]]"

__all__ = [
    "BASE",
    "JOB_ENDPOINT",
    "ROUTES",
    "Group",
    "Handler",
    "Route",
    "canonical_path",
    "find",
    "group_of",
    "handler_of",
    "import_main_handlers",
    "methods_of",
    "pattern_of",
    "routes_of",
]

JOB_ENDPOINT: Final = (Group.PRODUCER, Group.WORKER_API, Group.SYSTEM)
"""What the job endpoint serves: all that senders and workers need, at one URL without a gateway."""

_PREFIXES: Final = (BASE + BASE, "/v1")
"""What some clients make of the base path."""

_SCHEMAS: Final = (f"{BASE}/schemas/", f"{BASE}/admin/schemas/")

_PARAMETER: Final = re.compile(r"<(\w+)>")

ROUTES: Final[tuple[Route, ...]] = (
    *jobs.ROUTES,
    *bulk.ROUTES,
    *outcomes.ROUTES,
    *queues.ROUTES,
    *limits.ROUTES,
    *workers.ROUTES,
    *tenants.ROUTES,
    *sequences.ROUTES,
    *dead_letters.ROUTES,
    *events.ROUTES,
    *cron.ROUTES,
    *clients.ROUTES,
    *schemas.ROUTES,
    *workflows.ROUTES,
    *system.ROUTES,
    *api_keys.ROUTES,
)


def canonical_path(path: str) -> str:
    """Return the path that is meant: clients repeat or shorten the prefix, or append a slash."""
    for prefix in _PREFIXES:
        if path.startswith(prefix + "/"):
            path = BASE + path.removeprefix(prefix)
            break
    return _with_one_uri(path.rstrip("/") or "/")


def _with_one_uri(path: str) -> str:
    """Return the path of a schema with its URI as one segment: gateways decode the slashes in it.

    A URI has a colon in its first segment, where the type of a job has none.
    """
    for home in _SCHEMAS:
        first, slash, rest = path.removeprefix(home).partition("/")
        if slash and ":" in first and path.startswith(home):
            return f"{home}{first}%2F{rest.replace('/', '%2F')}"
    return path


@cache
def pattern_of(path: str) -> re.Pattern[str]:
    """Return the pattern of a path in the table; a parameter is any one segment."""
    parts = _PARAMETER.split(path)
    escaped = [
        f"(?P<{part}>[^/]+)" if position % 2 else re.escape(part)
        for position, part in enumerate(parts)
    ]
    return re.compile("".join(escaped) + r"\Z")


def routes_of(group: Group) -> tuple[Route, ...]:
    """Return the routes that a function serves."""
    return tuple(route for route in ROUTES if route.group is group)


_PATTERNS: list[tuple[re.Pattern[str], Route]] = []


def _matching(path: str) -> list[tuple[int, Route]]:
    """Return the routes of a path for all methods, each with the number of its parameters.

    Fixed paths are before those with parameters.
    """
    if not _PATTERNS:  # made when first asked for: the functions' own routes do not need them
        made = [(pattern_of(known), route) for route in ROUTES for known in route.paths]
        _PATTERNS.extend(sorted(made, key=lambda pair: pair[0].groups))
    found = canonical_path(path)
    return [(each.groups, route) for each, route in _PATTERNS if each.fullmatch(found)]


def find(method: str, path: str) -> Route | None:
    """Return the route of a request, or None."""
    return next((route for _, route in _matching(path) if method in route.methods), None)


def methods_of(path: str) -> tuple[str, ...]:
    """Return the methods that a path knows; none for an unknown path.

    A fixed path is none of the ids, names or versions that stand in its place elsewhere.
    """
    matching = _matching(path)
    fewest = matching[0][0] if matching else 0
    own = [route for groups, route in matching if groups == fewest]
    return tuple(sorted({method for route in own for method in route.methods}))


def group_of(method: str, path: str) -> Group:
    """Return the function that answers a request; unknown ones are the system function's."""
    route = find(method, path)
    return Group.SYSTEM if route is None else route.group


_MAIN: Final = {
    Group.PRODUCER: "jobs.handlers",
    Group.WORKER_API: "jobs.worker_handlers",
    Group.OPERATOR: "events.handlers",
    Group.SYSTEM: "system.handlers",
    Group.API_KEYS: "api_keys.handlers",
}
"""The modules that a function imports at its start; others follow with their first request."""


def import_main_handlers(group: Group) -> None:
    """Import the handlers of a function's main operations, as it does at its cold start."""
    importlib.import_module(f"{__package__}.{_MAIN[group]}")


def handler_of(route: Route) -> Handler:
    """Return the handler of an operation; its module is imported with the first request.

    :raises AttributeError: there is none.
    """
    module = importlib.import_module(f"{__package__}.{route.module}")
    return cast("Handler", getattr(module, route.handler or route.operation))


CORS_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
CORS_HEADERS: Final = (
    "content-type",
    "accept",
    "authorization",
    "x-request-id",
    "ojs-version",
    "last-event-id",
    "cache-control",
)
CORS_EXPOSED: Final = (
    "x-request-id",
    "ojs-version",
    "retry-after",
    "location",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
)
CORS_MAX_AGE_S: Final = 86_400
"""What pages of allowed origins may send and read (HTTP binding, section 20.2)."""
