"""Serves commands that use the AWS credentials of whoever runs them, not the API."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ojs_aws.cli.output import Output
from ojs_aws.cli.session import ExitCode, code_of

if TYPE_CHECKING:
    from ojs_aws.bootstrap import AwsClients

A = TypeVar("A")

EndpointUrl = Annotated[
    str | None, typer.Option(envvar="AWS_ENDPOINT_URL", help="Another AWS endpoint (an emulator).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def with_aws(out: Output, endpoint_url: str | None, act: Callable[[AwsClients], A]) -> A:
    """Run a function with the caller's own AWS credentials and region.

    :raises typer.Exit: with the code of what went wrong, after saying it.
    """
    from ojs_aws.adapters.errors import translated
    from ojs_aws.bootstrap import aws_clients
    from ojs_aws.config import SettingsError
    from ojs_aws.domain.errors import OjsError

    try:
        with translated("Connecting"):
            # botocore itself reads AWS_DEFAULT_REGION only.
            clients = aws_clients(endpoint_url, os.environ.get("AWS_REGION"))
        return act(clients)
    except OjsError as problem:
        out.error(problem)
        raise typer.Exit(code_of(problem)) from None
    except SettingsError as problem:
        out.problem(str(problem))
        raise typer.Exit(ExitCode.USAGE) from None
