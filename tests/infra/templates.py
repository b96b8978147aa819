"""Templates that several tests look at; each is synthesised once, for that takes a second."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from infra.app import make_app
from ojs_aws.cdk import JobBackend, JobBackendProps
from tests.infra.conftest import NO_BUNDLING, Synthesised

_OF_BACKENDS: Final[dict[str, Synthesised]] = {}


@cache
def of_context(**context: str) -> Synthesised:
    """Return the template of this project's stack with a context, as ``cdk deploy -c`` gives it."""
    (stack,) = make_app(App(context={**NO_BUNDLING, **context})).node.children
    assert isinstance(stack, Stack)
    return of_stack(stack)


def of_backend(**props: Any) -> Synthesised:
    """Return the template of a stack with a backend.

    :param props: of the backend: plain values, no constructs.
    """
    key = repr(sorted(props.items()))
    if key not in _OF_BACKENDS:
        stack = Stack(App(context=NO_BUNDLING), "Mine")
        JobBackend(stack, "Jobs", JobBackendProps(**props))
        _OF_BACKENDS[key] = of_stack(stack)
    return _OF_BACKENDS[key]


def of_stack(stack: Stack) -> Synthesised:
    """Return the template of a stack."""
    return Synthesised(Template.from_stack(stack).to_json())
