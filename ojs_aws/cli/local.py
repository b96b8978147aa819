"""Implements ``ojs-aws local`` and its demos: start the server, say so, and stop it cleanly."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from ojs_aws.local import LocalOptions
    from ojs_aws.local.server import LocalServer

app = typer.Typer()

LOG_LEVEL: Final = "POWERTOOLS_LOG_LEVEL"
_EXAMPLE: Final = """\
  curl -s {url}/ojs/v1/jobs -H 'Content-Type: application/json' \\
    -d '{{"type": "demo.echo", "args": ["hello"], "options": {{"queue": "demo"}}}}'"""


@app.command()
def local(
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, envvar="OJS_PORT", help="Port to listen on; 0 picks a free one."
        ),
    ] = 8080,
    host: Annotated[
        str, typer.Option(envvar="OJS_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="A LambdaWorker to run in the server, or its handler, as module:attribute. May "
            "be repeated. Without one, the demo worker serves the queue 'demo'."
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
        str,
        typer.Option(envvar=["OJS_LOG_LEVEL", LOG_LEVEL], help="DEBUG, INFO, WARNING or ERROR."),
    ] = "WARNING",
) -> None:
    """Run the whole backend on this machine: API, storage, queues, triggers and timers.

    It runs the same Lambda handlers as a deployment. No data leaves this machine, and all data is
    lost when the server stops.
    """
    _require_local("ojs-aws local")
    from ojs_aws.local import LocalOptions

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
        int,
        typer.Option(
            min=0, max=65535, envvar="OJS_PORT", help="Port of the server; 0 picks a free one."
        ),
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
    run_fairness_demo(port, jobs, per_s, keeps=keep)


def run_local(options: LocalOptions, log_level: str) -> None:
    """Run the server until Ctrl-C or SIGTERM.

    Exits with 1 and a message when it cannot start.
    """
    with _started("ojs-aws local", options, log_level) as server:
        _serve(server)
    print("Stopped.", flush=True)


@contextmanager
def _started(command: str, options: LocalOptions, log_level: str) -> Iterator[LocalServer]:
    """Start a server, and stop it in the end; exit with 1 and a message if it cannot start."""
    from ojs_aws.local import StartError
    from ojs_aws.local.server import LocalServer

    environ = os.environ
    environ[LOG_LEVEL] = log_level
    print("Starting: DynamoDB, SQS and the Lambda functions in one process ...", flush=True)
    try:
        with LocalServer(options, environ) as server:
            yield server
    except StartError as problem:
        typer.echo(f"{command}: {problem}", err=True)
        raise typer.Exit(1) from None


def run_fairness_demo(port: int, jobs: int, per_s: float, *, keeps: bool) -> None:
    """Run the demo of fairness keys on a server of its own, and show what happens.

    :param keeps: let the server run afterwards, until Ctrl-C.
    """
    import httpx
    from rich.console import Console
    from rich.live import Live

    from ojs_aws.local import LocalOptions
    from ojs_aws.local.fairness_demo import FairnessDemo

    console = Console()
    log_level = os.environ.get(LOG_LEVEL, "ERROR")
    with _started("ojs-aws demo fairness", LocalOptions(port=port), log_level) as server:
        serving = threading.Thread(target=server.serve)
        serving.start()
        console.print(f"Dashboard: open {server.url}/ in a browser. Ctrl-C ends the demo.\n")
        try:
            with httpx.Client(base_url=f"{server.url}/ojs/v1", trust_env=False) as client:

                def post(path: str, body: dict[str, Any]) -> Any:
                    return client.post(path, json=body, timeout=60).raise_for_status().json()

                demo = FairnessDemo(
                    post=post, clock=time.monotonic, sleep=time.sleep, flood=jobs, per_s=per_s
                )
                with Live(demo.shares(), console=console, auto_refresh=False) as live:
                    demo.run(lambda: live.update(demo.shares(), refresh=True))
            console.print("", demo.waits(), "", demo.plot(), sep="\n")
            if keeps:
                console.print("\nThe dashboard is still there. Ctrl-C stops it.")
                serving.join()
        except KeyboardInterrupt:
            console.print("Stopped.")
        finally:
            server.stop()
            serving.join()


def _serve(server: LocalServer) -> None:
    def stop(*_: object) -> None:
        threading.Thread(target=server.stop, daemon=True).start()

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    print(_welcome(server), flush=True)
    server.serve()
    print("\nStopping: letting running jobs end ...", flush=True)


def _welcome(server: LocalServer) -> str:
    served = ", ".join(server.served_queues) or "none"
    if server.keys:
        return _welcome_with_keys(server)
    return (
        f"\nOJS backend at {server.url}   (Ctrl-C stops it and forgets everything)\n"
        f"Lambda workers serve the queues: {served}; all others wait for HTTP workers.\n"
        f"Dashboard: open {server.url}/ in a browser.\n\n"
        "Push a job, then look at it:\n\n"
        f"{_EXAMPLE.format(url=server.url)}\n"
        f"  curl -s {server.url}/ojs/v1/jobs/<id>\n"
    )


def _welcome_with_keys(server: LocalServer) -> str:
    keys = "\n".join(f"  {scope:<10} {text}" for scope, text in server.keys.items())
    return (
        f"\nOJS backend at {server.url}, which asks for API keys   (Ctrl-C forgets everything)\n"
        f"Dashboard: open {server.url}/ in a browser, and sign in with the key of an operator.\n\n"
        f"A key of each scope, valid until then:\n\n{keys}\n\n"
        "Push a job with the producer's, and read it with the operator's:\n\n"
        f"  export OJS_API_KEY={server.keys['producer']}\n"
        f"{_EXAMPLE.format(url=server.url)} \\\n"
        '    -H "Authorization: Bearer $OJS_API_KEY"\n'
    )
