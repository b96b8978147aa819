"""Implements ``ojs-aws deliver``: runs a worker that delivers jobs to an HTTP endpoint."""

from __future__ import annotations

import logging
import os
import secrets
from typing import Annotated

import typer

from ojs_aws.cli.run import LEVELS, refuse, run_loaded
from ojs_aws.topology import SIGNING_SECRET


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="deliver",
        epilog="Examples:\n\nojs-aws deliver http://127.0.0.1:3000/jobs -q email"
        "\n\nojs-aws deliver https://app.example.com/jobs -q email,media --type 'email.*'",
    )(_deliver)


def _deliver(
    url: Annotated[
        str, typer.Argument(help="The endpoint. Plain HTTP is accepted for this machine only.")
    ],
    queues: Annotated[
        list[str] | None,
        typer.Option(
            "--queues",
            "--queue",
            "-q",
            help="Queues to serve, separated by commas, the most urgent first. May be repeated.",
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="Job types to deliver, such as email.send or 'email.*'. May be repeated."
        ),
    ] = None,
    timeout_s: Annotated[
        float, typer.Option(min=0.1, help="Seconds that the endpoint has for a job.")
    ] = 30.0,
    concurrency: Annotated[int, typer.Option(min=1, help="Jobs at the same time.")] = 10,
    grace_s: Annotated[
        float, typer.Option(min=0, help="Seconds that running jobs get after SIGTERM.")
    ] = 25.0,
    log_level: Annotated[
        str, typer.Option(envvar="OJS_LOG_LEVEL", help="DEBUG, INFO, WARNING or ERROR.")
    ] = "INFO",
) -> None:
    """Deliver jobs to an HTTP endpoint, which may run them in any language.

    Each job is sent by a POST, signed with the key in OJS_SIGNING_SECRET. The endpoint answers
    {"status": "completed", "result": ...} or {"status": "failed", "error": {"message": ...}}.
    OJS_URL and OJS_API_KEY say where the jobs come from.
    """
    from ojs_aws.worker import Worker

    named = [name.strip() for each in queues or () for name in each.split(",") if name.strip()]
    if log_level.upper() not in LEVELS:
        refuse("deliver", f"--log-level is one of {', '.join(LEVELS)}, not {log_level!r}.")
    if not os.environ.get(SIGNING_SECRET):
        os.environ[SIGNING_SECRET] = key = f"whsec_{secrets.token_urlsafe(24)}"
        typer.echo(f"{SIGNING_SECRET} is not set: requests are signed with {key}", err=True)
    try:
        worker = Worker.from_env(queues=named or None, concurrency=concurrency, grace_s=grace_s)
        worker.deliver(url, types=types or ("*",), timeout_s=timeout_s)
    except ValueError as problem:
        refuse("deliver", str(problem))
    run_loaded(worker, "deliver", level=logging.getLevelNamesMapping()[log_level.upper()])
