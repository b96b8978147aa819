"""Implements ``ojs-aws dashboard``: shows the dashboard for any server, with your credentials."""

from __future__ import annotations

import re
import signal
import sys
import webbrowser
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.options import ApiKey, Url
from ojs_aws.cli.terminal.session import DEFAULT_URL, ExitCode

if TYPE_CHECKING:
    from ojs_aws.cli.dashboard_server import DashboardServer
    from ojs_aws.client.transports.credentials import Credentials

DEFAULT_PORT: Final = 8081
"""The same each time, so that the browser keeps what was chosen in the page."""

_REGION: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?([:/]|$)")


app = typer.Typer()


@app.command(
    epilog="Examples:\n\nojs-aws dashboard --url https://jobs.example.com"
    "\n\nojs-aws dashboard --url https://abc.execute-api.eu-west-1.amazonaws.com --iam",
)
def dashboard(
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    iam: Annotated[
        bool,
        typer.Option("--iam", help="Sign each request with your AWS credentials (SigV4)."),
    ] = False,
    region: Annotated[
        str, typer.Option(help="Region of the API, for --iam. Default: the one in its URL.")
    ] = "",
    profile: Annotated[str, typer.Option(help="Profile of your AWS settings, for --iam.")] = "",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 picks a free one.")
    ] = DEFAULT_PORT,
    environment: Annotated[
        str,
        typer.Option(
            help="What the page calls the environment; prod, staging, dev and local have colours. "
            "Default: what the server's name says."
        ),
    ] = "",
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
) -> None:
    """Show the dashboard of any server in your browser, with your credentials, until Ctrl-C.

    The page is served on 127.0.0.1. Each request to the server gets the API key, the token or the
    signature here, so no credential is in the browser. Everybody who can run programs on this
    machine can use the page while it is served.
    """
    from ojs_aws.cli.dashboard_server import DashboardServer, Upstream

    try:
        credentials = _credentials(url, api_key, region, profile, is_iam=iam)
        server = DashboardServer(Upstream(url, credentials), port, environment)
    except ValueError as problem:
        typer.echo(f"ojs-aws dashboard: {problem}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except OSError as problem:
        hint = f"Port {port} cannot be used: {problem.strerror}. --port 0 picks a free one."
        typer.echo(f"ojs-aws dashboard: {hint}", err=True)
        raise typer.Exit(ExitCode.FAILED) from None
    _serve(server, is_opened=not no_open)


def _credentials(
    url: str, api_key: str, region: str, profile: str, *, is_iam: bool
) -> Credentials | None:
    """Return what each request is sent with; None: what somebody pastes into the page.

    :raises ValueError: two of them, or a key that would go over plain HTTP to another machine.
    """
    from ojs_aws.client.transports.credentials import SigV4, chosen_credentials

    if not is_iam:
        if region or profile:
            raise ValueError("--region and --profile are for --iam.")
        return chosen_credentials(url, None, api_key, None)
    if api_key:
        raise ValueError("give --iam or an API key (--api-key, OJS_API_KEY), not both.")
    return SigV4(region or region_of(url) or None, profile or None)


def region_of(url: str) -> str:
    """Return the region that the URL of an API Gateway names; empty: none, as a domain of yours."""
    found = _REGION.search(url)
    return found[1] if found else ""


def _serve(server: DashboardServer, *, is_opened: bool) -> None:
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: server.stop())
    print(f"Dashboard of {server.upstream.url}: {server.url}   (Ctrl-C stops it)", flush=True)
    if is_opened and not webbrowser.open(server.url):
        print("No browser could be opened: open the address yourself.", file=sys.stderr)
    try:
        server.serve()
    finally:
        server.close()
    print("Stopped.", flush=True)
