"""Opens what a run needs: the account's services, the deployment's two URLs, its keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ojs_aws.cli.deployment.doctor import CHECKS, PROBES, Finding, found_by_checks
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import Session, connect
from ojs_aws.cli.verify.deployments import Deployments
from ojs_aws.cli.verify.load import run_load
from ojs_aws.cli.verify.scales import SCALES
from ojs_aws.cli.verify.site import Door, Keys, Site
from ojs_aws.domain.access import Scope

if TYPE_CHECKING:
    from ojs_aws.adapters.stacks import Stacks
    from ojs_aws.cli.deployment.deploy_plans import Wanted


def deployments_of(
    run: str, stacks: Stacks, wanted: Wanted, endpoint_url: str | None
) -> Deployments:
    """Return what deploys and removes a run."""
    from ojs_aws.bootstrap import data_removal_of, evidence_of

    return Deployments(
        run=run,
        stacks=stacks,
        evidence=evidence_of(endpoint_url, stacks.region),
        removal=data_removal_of(endpoint_url, stacks.region),
        wanted=wanted,
    )


def site_of(run: str, scale: str, deployments: Deployments, endpoint_url: str | None) -> Site:
    """Return the site of a run that deploys nothing yet."""
    return Site(
        id=run,
        scale=SCALES[scale],
        is_emulated=endpoint_url is not None,
        evidence=deployments.evidence,
        deployments=deployments,
        open_door=doors_of(endpoint_url, deployments.stacks.region),
        keys=lambda table: keys_of(table, endpoint_url, deployments.stacks.region),
        doctor=look_after,
        load=run_load,
        sleep=time.sleep,
        clock=time.time,
    )


def doors_of(endpoint_url: str | None, region: str) -> Callable[[str, str, str | None], Door]:
    """Return what opens a door: by the URL that was deployed, or by the emulator's own."""
    import httpx

    from ojs_aws.client.transports.sigv4 import BotocoreSigner

    http = httpx.Client(timeout=60, trust_env=True)

    def open_door(name: str, url: str, key: str | None) -> Door:
        sign = BotocoreSigner(region, None) if key is None else None
        return Door(name, reached(url, endpoint_url), http, key or "", sign)

    return open_door


def reached(url: str, endpoint_url: str | None) -> str:
    """Return where a deployed URL is reached: an emulator has it below its own."""
    if endpoint_url is None:
        return url.rstrip("/")
    name, _, rest = url.partition("//")[2].partition(".")
    if rest.startswith("lambda-url"):
        return f"{endpoint_url}/_aws/lambda-url/{name}"
    return f"{endpoint_url}/_aws/execute-api/{name}/$default"


def keys_of(table: str, endpoint_url: str | None, region: str) -> Keys:
    """Return what makes and revokes the keys of a table."""
    from ojs_aws.bootstrap import aws_clients, build_key_issuer
    from ojs_aws.config import Settings

    issuer = build_key_issuer(Settings(table=table), aws_clients(endpoint_url, region).dynamodb)

    def create(name: str, scopes: Sequence[str]) -> tuple[str, str]:
        issued = issuer.create(name, [Scope(each) for each in scopes])
        return issued.key.id, issued.text

    def revoke(key_id: str) -> None:
        issuer.revoke(key_id)

    return Keys(create, revoke)


def look_after(door: Door) -> Sequence[Finding]:
    """Run the checks of ``ojs-aws doctor --probe`` with a door's URL and key."""

    async def look() -> list[Finding]:
        client = connect(door.url, door.key)
        try:
            session = Session(client, Output(as_json=True), door.url, connect)
            return await found_by_checks(session, [*CHECKS, *PROBES])
        finally:
            await client.close()

    return asyncio.run(look())
