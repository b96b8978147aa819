"""Builds the command's tree. Each subcommand imports what it needs when it runs."""

from __future__ import annotations

import inspect
import sys
from importlib.util import find_spec
from typing import Annotated, Any

try:
    import typer
except ModuleNotFoundError as missing:  # pragma: no cover - depends on the installation
    extra = "local" if sys.argv[1:2] == ["local"] else "cli"
    raise SystemExit(f"The command needs an extra: pip install 'ojs-aws[{extra}]'") from missing

from ojs_aws.cli import (
    bindings,
    cron,
    dashboard,
    events,
    init,
    keys,
    limits,
    monitor,
    outbox,
    queues,
    run,
    tenants,
    workers,
    workflows,
)
from ojs_aws.cli.deployment import cost, deploy, doctor, preflight, readiness, restore
from ojs_aws.cli.jobs import changes, dead_letters, enqueue, erase, sequences, views
from ojs_aws.cli.migration import command as migrate
from ojs_aws.cli.verify import command as verify


def hide_types_of_flags() -> None:
    """Let help texts show no type behind a flag, which takes no value."""
    from typer.core import TyperOption

    shown = TyperOption.display_type_rich

    def display(self: TyperOption, ctx: Any) -> str | None:
        return None if self.is_flag else shown(self, ctx)

    TyperOption.display_type_rich = display  # type: ignore[method-assign]


def flow_help(app: typer.Typer) -> None:
    """Let the terminal wrap the help texts of all commands."""
    for info in app.registered_commands:
        paragraphs = inspect.cleandoc(info.help or getattr(info.callback, "__doc__", "") or "")
        info.help = "\n\n".join(" ".join(each.split("\n")) for each in paragraphs.split("\n\n"))
    for group in app.registered_groups:
        if group.typer_instance is not None:
            flow_help(group.typer_instance)


hide_types_of_flags()

app = typer.Typer(
    name="ojs-aws",
    help="Open Job Spec on AWS: enqueue and manage jobs, and run the backend locally.",
    epilog="OJS_URL and OJS_API_KEY say which server, and who you are. Start with: ojs-aws local, "
    "then ojs-aws enqueue demo.echo '[1]' -q demo --wait. Exit codes: 0 done, 1 failed, 2 wrong "
    "usage, 3 not found, 4 conflict, 5 unreachable, 6 refused, 7 a check failed.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
enqueue.register(app)
_groups = (
    changes,
    queues,
    limits,
    sequences,
    tenants,
    workers,
    cron,
    workflows,
    dead_letters,
    outbox,
    migrate,
    keys,
    restore,
)
for _group in _groups:
    app.add_typer(_group.app)
app.add_typer(restore.documents_app)
app.add_typer(workers.pools_app)
app.add_typer(bindings.app)
views.register(app)
erase.register(changes.app)
events.register_errors(app)
events.register(app)
monitor.register(app)
dashboard.register(app)
doctor.register(app)
readiness.register(app)
preflight.register(app)
deploy.register(app)
verify.register(app)
init.register(app)
cost.register(app)
run.register(app)


def _show_version(is_wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    from ojs_aws._version import __version__

    if is_wanted:
        typer.echo(f"ojs-aws {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Open Job Spec on AWS."""
    del version  # shown by then


@app.command()
def local(
    port: Annotated[
        int, typer.Option(envvar="OJS_PORT", help="Port to listen on; 0 picks a free one.")
    ] = 8080,
    host: Annotated[
        str, typer.Option(envvar="OJS_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="A LambdaWorker to run in the server, or its handler, as module:attribute. May "
            "be repeated. "
            "Without one, the demo worker serves the queue 'demo'."
        ),
    ] = None,
    endpoint_url: Annotated[
        str | None,
        typer.Option(help="Another AWS endpoint (an emulator); default: moto in this process."),
    ] = None,
    auth: Annotated[
        bool, typer.Option("--auth", help="Require API keys, as a deployment does; print some.")
    ] = False,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(help="An origin whose pages may use the server. May be repeated."),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            help="A name that leads to this server, beside localhost. Requests under other names "
            "are refused. May be repeated."
        ),
    ] = None,
    environment: Annotated[
        str,
        typer.Option(
            help="What the dashboard calls the environment. Default: local on this machine, else "
            "what the host's name says."
        ),
    ] = "",
    log_level: Annotated[
        str, typer.Option(envvar="OJS_LOG_LEVEL", help="DEBUG, INFO, WARNING or ERROR.")
    ] = "WARNING",
) -> None:
    """Run the whole backend on this machine: API, storage, queues, triggers and timers.

    It runs the same Lambda handlers as a deployment. No data leaves this machine, and all data is
    lost when the server stops.
    """
    _require_local("ojs-aws local")
    from ojs_aws.cli.local import run_local
    from ojs_aws.local.options import LocalOptions

    workers = tuple(worker) if worker else ("ojs_aws.local.demo:worker",)
    run_local(
        LocalOptions(
            host=host,
            port=port,
            workers=workers,
            endpoint_url=endpoint_url,
            has_auth=auth,
            cors_origins=tuple(cors_origin or ()),
            host_names=tuple(host_name or ()),
            environment=environment,
        ),
        log_level,
    )


def _require_local(command: str) -> None:
    """Exit with 2 and say what to install, where the local server cannot run."""
    if missing := [name for name in ("moto", "werkzeug") if find_spec(name) is None]:
        needed = " and ".join(missing)
        typer.echo(f"{command} needs {needed}: pip install 'ojs-aws[local]'", err=True)
        raise typer.Exit(2)


demos = typer.Typer(
    name="demo",
    help="Watch a feature at work on this machine, without an AWS account.",
    no_args_is_help=True,
)
app.add_typer(demos)


@demos.callback()
def demo() -> None:
    """Watch a feature at work on this machine, without an AWS account."""


@demos.command(
    epilog="Examples:\n\nojs-aws demo fairness\n\nojs-aws demo fairness --jobs 300 --keep",
)
def fairness(
    jobs: Annotated[
        int, typer.Option(min=10, max=5000, help="Jobs that the first customer enqueues at once.")
    ] = 150,
    per_s: Annotated[
        float, typer.Option(min=1, max=50, help="Jobs of each queue that start in a second.")
    ] = 10.0,
    port: Annotated[
        int, typer.Option(envvar="OJS_PORT", help="Port of the server; 0 picks a free one.")
    ] = 8080,
    keep: Annotated[
        bool, typer.Option("--keep", help="Let the dashboard run afterwards, until Ctrl-C.")
    ] = False,
) -> None:
    """Show how fairness keys share the starts of a queue, in about twenty seconds.

    The customer acme enqueues all its jobs at once. The customers beta and gamma come two seconds
    later, with a job a second each. The same jobs go to two queues of a local server: to demo-fair
    with fairness keys, to demo-plain without. You see who starts in each, and in the end how long
    the jobs waited. The dashboard shows both queues meanwhile.
    """
    _require_local("ojs-aws demo")
    from ojs_aws.cli.local import run_fairness_demo

    run_fairness_demo(port, jobs, per_s, keeps=keep)


@app.command()
def settings(
    markdown: Annotated[bool, typer.Option(help="Print the table as Markdown.")] = False,
) -> None:
    """Show every setting of the backend: its variable, default and meaning."""
    from rich.console import Console
    from rich.table import Table

    from ojs_aws.config import describe_settings
    from ojs_aws.environment import settings_table

    if markdown:
        typer.echo(settings_table(describe_settings()))
        return
    table = Table("Variable", "Default", "Meaning", title="Settings")
    for row in describe_settings():
        table.add_row(*row)
    Console().print(table)


@app.command()
def middleware(
    path: Annotated[
        str,
        typer.Argument(
            help="What to show, as module:attribute: a chain, hooks, extensions, a client or a "
            "worker. Default: what OJS_ENQUEUE_MIDDLEWARE and OJS_HOOKS name for the backend."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show middleware chains and hooks in their order, and what looks wrong about them.

    Example: ojs-aws middleware jobs:worker
    """
    from ojs_aws.cli.middleware import show_middleware

    show_middleware(path, as_json=as_json)


@app.command(hidden=True)
def reference() -> None:
    """Print the reference of all commands as Markdown (docs/cli.md)."""
    from ojs_aws.cli.reference import reference as written

    typer.echo(written(app))


flow_help(app)
