"""Makes the gateway's routes, few enough for a stack, and limits how many change at a time.

API Gateway takes 300 routes for an API, and CloudFormation 500 resources for a stack. So a feature
is one greedy route to the function that serves most of it. What another function serves is a route
of its own: a full match comes before a greedy one, and a method before ``ANY``. Whatever no
operation has is answered by the function that it reaches, from the table of all operations.

API Gateway takes ten requests a second that change an account's APIs, and forty at once.
CloudFormation starts all resources that wait for nothing together, which are more than a hundred
routes here, and a deployment fails once its repetitions are used up.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

import jsii
from aws_cdk import Aspects, IAspect
from aws_cdk import aws_apigatewayv2 as gateway
from constructs import IConstruct

from ojs_aws.cdk.resources.storage import resource_of
from ojs_aws.transport.http.routes import BASE, ROUTES, Group

SPELLINGS: Final = (BASE, BASE + BASE, "/v1")
"""The base path, and what some clients make of it."""
ANY: Final = "ANY"
GREEDY: Final = "{proxy+}"
_Served = tuple[str, str, Group]
"""Method, path in API Gateway's notation, and the function of an operation."""
AT_A_TIME: Final = 10
"""Routes that are made or removed at a time."""


def gateway_routes() -> Iterator[tuple[Group, str, str]]:
    """Return group, method and path of each route but the default one.

    The default route is the system function's: a feature that is all its own needs no route.
    """
    for operations in _features().values():
        main = Counter(group for _, _, group in operations).most_common(1)[0][0]
        for group, method, path in _folded(operations, main):
            # Who repeats or shortens the base path knows nothing of keys.
            for base in (BASE,) if group is Group.API_KEYS else SPELLINGS:
                yield group, method, base + path.removeprefix(BASE)


def public_routes(*, has_status: bool, has_cors: bool) -> Iterator[tuple[str, str]]:
    """Return method and path of each route that asks for no credentials."""
    if has_status:
        for route in ROUTES:
            if route.is_public:
                yield from product(route.methods, route.paths)
    if has_cors:  # a preflight has no credentials, and would meet the authorizer of other routes
        yield "OPTIONS", f"/{GREEDY}"
        for _, method, path in gateway_routes():
            if method == ANY:
                yield "OPTIONS", path


def _features() -> dict[str, list[_Served]]:
    """Group the operations below the base path by the segment that follows it."""
    found: dict[str, list[_Served]] = defaultdict(list)
    for route in ROUTES:
        for path in route.paths:
            if path.startswith(f"{BASE}/"):
                template = re.sub(r"<(\w+)>", r"{\1}", path)
                feature = path.removeprefix(f"{BASE}/").partition("/")[0]
                found[feature].append((route.method, template, route.group))
    return found


def _folded(operations: Iterable[_Served], main: Group) -> Iterator[tuple[Group, str, str]]:
    """Yield the routes of a feature: those of its main function, then those that others serve."""
    by_path: dict[str, dict[str, Group]] = defaultdict(dict)
    for method, path, group in operations:
        by_path[path][method] = group
    root = "/".join(next(iter(by_path)).split("/")[: BASE.count("/") + 2])
    if main is not Group.SYSTEM:
        if root in by_path:
            yield main, ANY, root
        if by_path.keys() - {root}:
            yield main, ANY, f"{root}/{GREEDY}"
    for path, groups in by_path.items():
        if main not in groups.values() and len({*groups.values()}) == 1 and len(groups) > 1:
            yield next(iter(groups.values())), ANY, path
            continue
        yield from ((group, method, path) for method, group in groups.items() if group is not main)


@jsii.implements(IAspect)
class RoutesInRows:
    """Lets each route of an API wait for the one that stands ten places before it.

    An aspect, since others add routes to the API as well, such as the dashboard's page. A route
    that waits for another one is the same resource as before. The aspect belongs to a resource that
    has nothing below it: for the API itself, Node would call Python for each route, which took a
    fourth of a synthesis.
    """

    def __init__(self, api: gateway.HttpApi) -> None:
        """Order the routes of an API when it is synthesised."""
        self._api = api
        Aspects.of(resource_of(api, gateway.CfnApi)).add(self)

    def visit(self, _: IConstruct) -> None:
        """Order the routes, when all of them are there."""
        found = self._api.node.find_all()
        routes = [each for each in found if isinstance(each, gateway.CfnRoute)]
        for route, earlier in zip(routes[AT_A_TIME:], routes, strict=False):
            route.add_resource_dependency(earlier)
