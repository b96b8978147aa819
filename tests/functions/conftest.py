"""The deployed functions, imported afresh over an embedded AWS."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ojs_aws.local.lambdas import Handler
from tests.aws import embedded


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Handler]]:
    """Imports a function as Lambda does: settings from the environment, clients at init."""
    with embedded() as aws:
        environ = {
            "OJS_TABLE": aws.settings.table,
            "OJS_QUEUE_URL_PREFIX": aws.settings.queue_url_prefix,
            "OJS_BUCKET": aws.settings.bucket,
        }
        for name, value in environ.items():
            monkeypatch.setenv(name, value)

        def load(name: str) -> Handler:
            module = f"functions.{name}.handler"
            sys.modules.pop(module, None)
            handler: Handler = importlib.import_module(module).handler
            return handler

        yield load
    for name in [name for name in sys.modules if name.startswith("functions.")]:
        if name.endswith(".handler"):
            del sys.modules[name]


@pytest.fixture
def invoke(function: Callable[[str], Handler]) -> Callable[[str, Any], Any]:
    """Invokes a function with an event."""
    from ojs_aws.local.lambdas import LambdaContext

    loaded: dict[str, Handler] = {}

    def call(name: str, event: Any) -> Any:
        if name not in loaded:
            loaded[name] = function(name)
        return loaded[name](event, LambdaContext(f"ojs-{name}", 29.0))

    return call
