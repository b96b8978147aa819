"""Implements ``ojs-aws run`` and ``ojs-aws deliver``: a worker as a process.

A worker of ``run`` begins again when its code changes; one of ``deliver`` needs no code.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Never

import typer

from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.topology import SIGNING_SECRET

if TYPE_CHECKING:
    from ojs_aws.worker import Worker

LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
FORMATS: Final = ("text", "json")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Holds what the command line says about a worker."""

    path: str
    queues: tuple[str, ...] = ()
    concurrency: int | None = None
    grace_s: float | None = None
    log_level: str = "INFO"
    log_format: str = "text"


app = typer.Typer()


@app.command(
    "run",
    epilog="Examples:\n\nojs-aws run shop.jobs:worker --reload"
    "\n\nojs-aws run shop.jobs:worker --queues email,media --concurrency 20",
)
def _run(
    path: Annotated[
        str, typer.Argument(help="The worker, as module:attribute, such as shop.jobs:worker.")
    ],
    queues: Annotated[
        list[str] | None,
        typer.Option(
            "--queues",
            "--queue",
            "-q",
            help="Queues to serve instead of the worker's, separated by commas, the most urgent "
            "first. May be repeated.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Jobs at the same time, instead of the worker's.")
    ] = None,
    grace_s: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds that running jobs get after SIGTERM, instead of the worker's. Let ECS "
            "or Kubernetes wait ten seconds longer.",
        ),
    ] = None,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Start the worker again when a Python file below this folder changes. Running "
            "jobs may finish first, within the worker's grace period.",
        ),
    ] = False,
    reload_dir: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            file_okay=False,
            resolve_path=True,
            help="With --reload, a folder to watch instead of this one. May be repeated. Folders "
            "in it that are hidden, caches, virtual environments, build folders or named in a "
            ".gitignore are not watched.",
        ),
    ] = None,
    log_level: Annotated[
        str, typer.Option(envvar="OJS_LOG_LEVEL", help="DEBUG, INFO, WARNING or ERROR.")
    ] = "INFO",
    log_format: Annotated[
        str,
        typer.Option(
            envvar="OJS_LOG_FORMAT",
            help="text or json. What the application logs is shown, too, unless it sets up "
            "logging itself.",
        ),
    ] = "text",
) -> None:
    """Run a worker until Ctrl-C or SIGTERM, and show what it does: a line for each job.

    Ctrl-C lets running jobs finish; pressed again, it ends the worker at once. OJS_URL and
    OJS_API_KEY say where the server is, if the worker does not.
    """
    named = [name.strip() for each in queues or () for name in each.split(",") if name.strip()]
    options = RunOptions(
        path, tuple(named), concurrency, grace_s, log_level.upper(), log_format.lower()
    )
    if options.log_level not in LEVELS:
        refuse("run", f"--log-level is one of {', '.join(LEVELS)}, not {log_level!r}.")
    if options.log_format not in FORMATS:
        refuse("run", f"--log-format is one of {', '.join(FORMATS)}, not {log_format!r}.")
    if reload or reload_dir:
        from ojs_aws.cli.reload import Reloader, folders_of_ours

        foreign = frozenset[str]() if reload_dir else folders_of_ours(path.partition(":")[0])
        folders = reload_dir or [Path.cwd()]
        raise typer.Exit(Reloader(folders, child_command(options), foreign=foreign).run())
    run_worker(options)


@app.command(
    "deliver",
    epilog="Examples:\n\nojs-aws deliver http://127.0.0.1:3000/jobs -q email"
    "\n\nojs-aws deliver https://app.example.com/jobs -q email,media --type 'email.*'",
)
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
    report_within_s: Annotated[
        int | None,
        typer.Option(
            "--report-within",
            min=1,
            help="Let the endpoint answer 202 and report later, at OJS_URL, for the first time "
            "within so many seconds.",
        ),
    ] = None,
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
    from ojs_aws.worker.over_http import url_of

    named = [name.strip() for each in queues or () for name in each.split(",") if name.strip()]
    if log_level.upper() not in LEVELS:
        refuse("deliver", f"--log-level is one of {', '.join(LEVELS)}, not {log_level!r}.")
    if not os.environ.get(SIGNING_SECRET):
        os.environ[SIGNING_SECRET] = key = f"whsec_{secrets.token_urlsafe(24)}"
        typer.echo(f"{SIGNING_SECRET} is not set: requests are signed with {key}", err=True)
    try:
        worker = Worker.from_env(queues=named or None, concurrency=concurrency, grace_s=grace_s)
        reports: dict[str, Any] = {}
        if report_within_s is not None:
            reports = {"report_url": url_of(os.environ), "report_within_s": report_within_s}
        worker.deliver(url, types=types or ("*",), timeout_s=timeout_s, **reports)
    except ValueError as problem:
        refuse("deliver", str(problem))
    run_loaded(worker, "deliver", level=logging.getLevelNamesMapping()[log_level.upper()])


def run_worker(options: RunOptions) -> None:
    """Run the worker that the options name.

    :raises typer.Exit: it cannot be run; the reason is printed.
    """
    from ojs_aws.middleware.extensions import search_here

    search_here()
    worker = _loaded(options.path)
    run_loaded(
        worker,
        "run",
        options,
        level=logging.getLevelNamesMapping()[options.log_level],
        is_json=options.log_format == "json",
    )


def run_loaded(
    worker: Worker,
    command: str,
    options: RunOptions | None = None,
    *,
    level: int,
    is_json: bool = False,
) -> None:
    """Run a worker, and show what it does.

    :param command: the name of the command, for its messages.
    :param options: what the command line says instead of the worker.
    :raises typer.Exit: it cannot be run; the reason is printed.
    """
    from ojs_aws.worker.console import quiet_http, speaking

    try:
        if options is not None:
            worker.override(queues=options.queues, concurrency=options.concurrency)
            worker.grace_s = worker.grace_s if options.grace_s is None else options.grace_s
        quiet_http()
        with speaking(worker, level=level, has_application=True, is_json=is_json):
            worker.run()
    except Exception as problem:  # noqa: BLE001 - whatever the application raises
        from ojs_aws.worker.job_logs import is_ours

        if is_ours(problem):
            refuse(command, str(problem))
        _show(problem)
        refuse(command, "the worker could not run: the error is above.", ExitCode.FAILED)


def child_command(options: RunOptions) -> list[str]:
    """Return the command that runs the same worker without watching its code."""
    command = [sys.executable, "-m", "ojs_aws.cli", "run", options.path]
    for queue in options.queues:
        command += ["--queues", queue]
    if options.concurrency is not None:
        command += ["--concurrency", str(options.concurrency)]
    if options.grace_s is not None:
        command += ["--grace-s", str(options.grace_s)]
    return [*command, "--log-level", options.log_level, "--log-format", options.log_format]


def _loaded(path: str) -> Worker:
    """Return the worker at a path.

    :raises typer.Exit: there is none, or its module cannot be imported.
    """
    from ojs_aws.worker.job_logs import place_of_mistake
    from ojs_aws.worker.paths import WorkerPathError, load_process_worker

    try:
        return load_process_worker(path)
    except WorkerPathError as problem:
        refuse("run", str(problem))
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - whatever the application raises
        if place := place_of_mistake(problem):
            refuse("run", f"{place}: {problem}")
        _show(problem)
        refuse("run", f"{path.partition(':')[0]} cannot be imported: the error is above.")


def _show(problem: BaseException) -> None:
    """Print the traceback of an error in the application, without the values of variables."""
    from ojs_aws.worker.job_logs import own_traceback

    traceback.print_exception(type(problem), problem, own_traceback(problem))


def refuse(command: str, reason: str, code: ExitCode = ExitCode.USAGE) -> Never:
    """End a command with a line that says why."""
    typer.echo(f"ojs-aws {command}: {reason}", err=True)
    raise typer.Exit(code)
