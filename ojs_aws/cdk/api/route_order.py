"""Limits how many routes of an API CloudFormation makes or removes at a time.

API Gateway takes ten requests a second that change an account's APIs, and forty at once.
CloudFormation starts all resources that wait for nothing together, which are more than a hundred
routes here, and a deployment fails once its repetitions are used up.
"""

from __future__ import annotations

from typing import Final

import jsii
from aws_cdk import IAspect
from aws_cdk import aws_apigatewayv2 as gateway
from constructs import IConstruct

AT_A_TIME: Final = 10
"""Routes that are made or removed at a time."""


@jsii.implements(IAspect)
class RoutesInRows:
    """Lets each route of an API wait for the one that stands ten places before it.

    An aspect, since others add routes to the API as well, such as the dashboard's page. A route
    that waits for another one is the same resource as before.
    """

    def visit(self, node: IConstruct) -> None:
        """Order the routes when the API itself is visited."""
        if not isinstance(node, gateway.HttpApi):
            return
        routes = [each for each in node.node.find_all() if isinstance(each, gateway.CfnRoute)]
        for route, earlier in zip(routes[AT_A_TIME:], routes, strict=False):
            route.add_resource_dependency(earlier)
