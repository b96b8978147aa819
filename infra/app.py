"""The CDK app: ``cdk deploy`` runs it. It needs no credentials and no Docker.

Context (``cdk.json``, or ``-c name=value``): ``stack``, ``prefix``, ``queues`` (separated by
commas), ``allow_undeclared_queues``, ``demo``, ``architecture`` (arm64 or x86_64), ``python`` (such
as 3.13) and ``removal`` (retain or destroy). Middleware and hooks of your own: ``extensions`` (the
folder of their code) with ``enqueue_middleware`` and ``hooks`` (each as module:attribute).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast, get_args

from aws_cdk import App, RemovalPolicy

from infra.bundling import Machine, Target
from infra.constructs.backend_extensions import BackendExtensions
from infra.stack import OjsStack, OjsStackProps

_TRUE: Final = {"true", "1", "yes", "on"}
_REMOVALS: Final = {"retain": RemovalPolicy.RETAIN, "destroy": RemovalPolicy.DESTROY}


class ContextError(ValueError):
    """A context value that cannot be used; the message names it and what is possible."""


def make_app(app: App | None = None) -> App:
    """The app with its stack, as the context says.

    :raises ContextError: a value that cannot be used.
    """
    app = app or App()

    def said(name: str, default: str) -> str:
        value = app.node.try_get_context(name)
        return default if value is None else str(value)

    architecture = said("architecture", Target().machine)
    if architecture not in get_args(Machine):
        raise ContextError(
            f"architecture is {architecture!r}: use {' or '.join(get_args(Machine))}."
        )
    removal = said("removal", "retain")
    if removal not in _REMOVALS:
        raise ContextError(f"removal is {removal!r}: use retain or destroy.")
    extensions = None
    if code_dir := said("extensions", ""):
        extensions = BackendExtensions(
            code_dir=Path(code_dir),
            enqueue_middleware=said("enqueue_middleware", ""),
            hooks=said("hooks", ""),
        )
    props = OjsStackProps(
        extensions=extensions,
        prefix=said("prefix", "ojs"),
        queues=[name.strip() for name in said("queues", "default").split(",") if name.strip()],
        allow_undeclared_queues=said("allow_undeclared_queues", "true").lower() in _TRUE,
        has_demo=said("demo", "true").lower() in _TRUE,
        target=Target(cast("Machine", architecture), said("python", Target().python)),
        removal_policy=_REMOVALS[removal],
    )
    OjsStack(app, said("stack", "OjsBackend"), props)
    return app


if __name__ == "__main__":
    make_app().synth()
