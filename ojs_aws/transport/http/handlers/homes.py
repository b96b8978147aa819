"""Where the handler of each operation is: a cold start imports none of the rare ones."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.routes import Route

Handler = Callable[[Call], Answer]


def handler_of(route: Route) -> Handler:
    """The handler of an operation; its module is imported by the first request for one of it.

    :raises AttributeError: there is none.
    """
    module = importlib.import_module(f"{__package__}.{route.home or route.group}")
    return cast("Handler", getattr(module, route.operation))
