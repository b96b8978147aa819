"""Makes the gateway's routes, few enough for a stack, and limits how many change at a time.

API Gateway allows 300 routes in an API, and CloudFormation 500 resources in a stack. So each
feature has one greedy route (``/jobs/{proxy+}``) to the function that serves most of its
operations. An operation that another function serves has a route of its own, which API Gateway
prefers: a full match comes before a greedy one, and a method before ``ANY``. A request for no
operation reaches the function of a greedy route, which has the table of all operations to answer.

API Gateway accepts ten requests a second that change an account's APIs, and forty at once.
CloudFormation creates all resources that depend on nothing at the same time. More than a hundred
routes here would exceed that, and the deployment would fail after its retries. So the routes wait
for one another, ten at a time.
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
"""The base path, and two other spellings of it that clients send."""
ANY: Final = "ANY"
GREEDY: Final = "{proxy+}"
_Served = tuple[str, str, Group]
"""The method of an operation, its path as API Gateway writes it, and its function."""
AT_A_TIME: Final = 10
"""Routes that are made or removed at a time."""


def gateway_routes() -> Iterator[tuple[Group, str, str]]:
    """Return group, method and path of each route but the default one.

    The default route leads to the system function, so a feature that it serves needs no route.
    """
    for operations in _features().values():
        main = Counter(group for _, _, group in operations).most_common(1)[0][0]
        for group, method, path in _folded(operations, main):
            # Clients that spell the base path otherwise have no operations on keys.
            for base in (BASE,) if group is Group.API_KEYS else SPELLINGS:
                yield group, method, base + path.removeprefix(BASE)


def public_routes(*, has_status: bool, has_cors: bool) -> Iterator[tuple[str, str]]:
    """Return method and path of each route that needs no credentials."""
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
    """Makes each route of an API depend on the one that stands ten places before it.

    This is an aspect, because other constructs add routes to the API, too, such as the dashboard's.
    A dependency changes no logical id. The aspect is added to the API's own resource, which has
    nothing below it: added to the API itself, Node would call Python once for each route, which
    took a fourth of a synthesis.
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
