"""Implements ``ojs-aws keys``: makes, lists, rotates and revokes API keys.

The command writes to the table itself, with the AWS credentials of whoever runs it: no key can
make another, and CloudTrail shows who did.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import code_of, misuse
from ojs_aws.domain.access import Scope

if TYPE_CHECKING:
    from ojs_aws.bootstrap import AwsClients
    from ojs_aws.domain.api_keys import ApiKey
    from ojs_aws.domain.timestamps import Instant
    from ojs_aws.services.access.api_keys import IssuedKey, KeyIssuer

app = typer.Typer(
    name="keys",
    help="Make, list, rotate and revoke API keys of a deployment, with your AWS credentials.",
    no_args_is_help=True,
)

Table = Annotated[
    str,
    typer.Option(
        "--table", envvar="OJS_TABLE", help="The deployment's table: the stack's TableName."
    ),
]


A = TypeVar("A")

EndpointUrl = Annotated[
    str | None, typer.Option(envvar="AWS_ENDPOINT_URL", help="Another AWS endpoint (an emulator).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def or_exit(out: Output, act: Callable[[], A]) -> A:
    """Run a function, and end the command where it is refused, after saying so.

    :raises typer.Exit: with the code of what went wrong.
    """
    from ojs_aws.config import SettingsError
    from ojs_aws.domain.errors import OjsError

    try:
        return act()
    except OjsError as problem:
        out.error(problem)
        raise typer.Exit(code_of(problem)) from None
    except SettingsError as problem:
        raise misuse(out, str(problem)) from None


def with_aws(out: Output, endpoint_url: str | None, act: Callable[[AwsClients], A]) -> A:
    """Run a function with the caller's own AWS credentials and region.

    :raises typer.Exit: with the code of what went wrong, after saying it.
    """
    from ojs_aws.adapters.errors import translated
    from ojs_aws.bootstrap import aws_clients

    def run() -> A:
        with translated("Connecting"):
            # botocore itself reads AWS_DEFAULT_REGION only.
            clients = aws_clients(endpoint_url, os.environ.get("AWS_REGION"))
        return act(clients)

    return or_exit(out, run)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for, such as 'checkout service'.")],
    scope: Annotated[list[Scope], typer.Option(help="What the key may do. May be repeated.")],
    queue: Annotated[
        list[str] | None,
        typer.Option(
            help="A queue that the key is limited to; 'email.*' means a prefix. May be repeated."
        ),
    ] = None,
    job_type: Annotated[
        list[str] | None,
        typer.Option("--type", help="A job type that the key is limited to. May be repeated."),
    ] = None,
    tenant: Annotated[
        str, typer.Option(help="A tenant whose jobs alone the key may see and change.")
    ] = "",
    expires_in: Annotated[
        str | None,
        typer.Option(help="When the key expires, as a duration: 90d, P1Y. Default: never."),
    ] = None,
    table: Table = "ojs",
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it. It cannot be shown again.

    Example: ojs-aws keys create checkout --scope producer --queue email --expires-in 90d
    """

    def make(issuer: KeyIssuer) -> IssuedKey:
        from ojs_aws.domain.timestamps import parse_duration

        lasts_ms = parse_duration(expires_in, "expires_in") if expires_in else None
        bounds = {"queues": queue or (), "types": job_type or ()}
        return issuer.create(name, scope, **bounds, tenant=tenant, lasts_ms=lasts_ms)

    _show_issued(_run(table, endpoint_url, make, as_json=as_json), as_json=as_json)


@app.command("list")
def list_keys(
    table: Table = "ojs",
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the keys, without their secrets."""
    now, keys = _run(
        table,
        endpoint_url,
        lambda issuer: (issuer.clock.now(), list(issuer.list())),
        as_json=as_json,
    )
    shown = [_described(key) for key in keys]
    rows = [
        (
            key.id,
            key.name,
            ", ".join(sorted(key.scopes)),
            ", ".join(key.queues) or "all",
            ", ".join(key.types) or "all",
            _day(described["created_at"]),
            _state(key, described, now),
        )
        for key, described in zip(keys, shown, strict=True)
    ]
    columns = ("Id", "Name", "Scopes", "Queues", "Types", "Made", "State")
    Output(as_json=as_json).table(shown, columns, rows, nothing="No keys.")


@app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(help="The key's id.")],
    grace: Annotated[
        str, typer.Option(help="How long the old secret stays valid: 24h, 0s.")
    ] = "24h",
    table: Table = "ojs",
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Give a key a new secret and print it. The old secret stays valid for a while."""
    from ojs_aws.domain.timestamps import parse_duration

    issued = _run(
        table, endpoint_url, lambda issuer: issuer.rotate(key_id, parse_duration(grace, "grace"))
    )
    _show_issued(issued, as_json=as_json)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id.")],
    table: Table = "ojs",
    endpoint_url: EndpointUrl = None,
) -> None:
    """Revoke a key. A gateway's cache accepts it for up to 5 minutes by default."""
    key = _run(table, endpoint_url, lambda issuer: issuer.revoke(key_id))
    typer.echo(f"Revoked {key.id} ({key.name}).")


def _run(
    table: str, endpoint_url: str | None, act: Callable[[KeyIssuer], Any], *, as_json: bool = False
) -> Any:
    """Run a function on the deployment's keys.

    :raises typer.Exit: with the code of what went wrong, after saying it.
    """

    def with_issuer(clients: AwsClients) -> Any:
        from ojs_aws.bootstrap import build_key_issuer
        from ojs_aws.config import Settings

        settings = replace(Settings.from_env(os.environ), table=table)
        return act(build_key_issuer(settings, clients.dynamodb))

    return with_aws(Output(as_json=as_json), endpoint_url, with_issuer)


def _show_issued(issued: IssuedKey, *, as_json: bool) -> None:
    """Print only the key to standard output, so that it can be piped; the rest to stderr."""
    if as_json:
        typer.echo(json.dumps({**_described(issued.key), "key": issued.text}, indent=2))
        return
    typer.echo(
        f"Key {issued.key.id} ({issued.key.name}). Keep it now: nothing shows it again.", err=True
    )
    typer.echo(issued.text)


def _described(key: ApiKey) -> dict[str, Any]:
    from ojs_aws.domain.credentials import write_credential
    from ojs_aws.domain.timestamps import format_instant

    def shown(at: Any) -> str | None:
        return None if at is None else format_instant(at)

    return {
        "id": key.id,
        "name": key.name,
        "scopes": sorted(key.scopes),
        **write_credential(key),
        "created_at": shown(key.created_at),
        "expires_at": shown(key.expires_at),
        "revoked_at": shown(key.revoked_at),
        "secrets": [
            {"created_at": shown(kept.created_at), "expires_at": shown(kept.expires_at)}
            for kept in key.secrets
        ],
    }


def _state(key: ApiKey, described: dict[str, Any], now: Instant) -> str:
    if key.revoked_at is not None:
        return f"revoked {_day(described['revoked_at'])}"
    if key.expires_at is None:
        return "valid"
    return f"{'until' if key.expires_at > now else 'ended'} {_day(described['expires_at'])}"


def _day(instant: str) -> str:
    """Return an instant to the minute, as wide as a column."""
    return instant[:16].replace("T", " ")
