"""Implements ``ojs-aws deploy``, ``upgrade``, ``destroy`` and ``bundle``: without CDK or Node."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ojs_aws.cli.deployment.deploy_plans import Plan, Wanted, made_bundle, planned, target_of
from ojs_aws.cli.deployment.deploy_reports import DANGEROUS, agreed, clear, report, show
from ojs_aws.cli.keys import AsJson, EndpointUrl
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, code_of, misuse

if TYPE_CHECKING:
    from ojs_aws.adapters.stacks import Stacks

A = TypeVar("A")


Stack = Annotated[str, typer.Option("--stack", help="Name of the CloudFormation stack.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the root."""
    app.command(epilog="Example: ojs-aws deploy --queues default,email --alarm-email ops@x.org")(
        deploy
    )
    app.command(epilog="Example: ojs-aws upgrade --check")(upgrade)
    app.command(epilog="Example: ojs-aws destroy --stack OjsBackend")(destroy)
    app.command(epilog="Example: ojs-aws bundle dist --architecture x86_64")(bundle)


def deploy(
    stack: Stack = "OjsBackend",
    queues: Annotated[
        str, typer.Option(help="Declared queues, with commas. Default: as deployed, or default.")
    ] = "",
    prefix: Annotated[
        str | None, typer.Option(help="Begins the name of each SQS queue. Default: ojs.")
    ] = None,
    auth: Annotated[
        str | None, typer.Option(help="Who may call: api-key (the default), jwt, iam or none.")
    ] = None,
    jwt_issuer: Annotated[
        str | None, typer.Option(help="With --auth jwt: the issuer's URL.")
    ] = None,
    jwt_audience: Annotated[
        str | None, typer.Option(help="With --auth jwt: audiences, with commas.")
    ] = None,
    job_endpoint: Annotated[
        bool | None, typer.Option(help="A function URL for senders and workers beside the API.")
    ] = None,
    alarm_email: Annotated[str | None, typer.Option(help="Who gets mail of alarms.")] = None,
    encryption_key: Annotated[
        str | None, typer.Option(help="ARN of a KMS key for the table and the bucket.")
    ] = None,
    log_days: Annotated[int | None, typer.Option(help="How long logs are kept.")] = None,
    permissions_boundary: Annotated[
        str | None, typer.Option(help="ARN of the permissions boundary of all roles.")
    ] = None,
    subnets: Annotated[
        str | None, typer.Option(help="Subnets of a VPC for the functions, with commas.")
    ] = None,
    security_groups: Annotated[
        str | None, typer.Option(help="Their security groups, with commas.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="A tag of all resources: key=value. May be repeated.")
    ] = None,
    bundles: Annotated[
        str, typer.Option(help="A folder, or s3://bucket/folder, with the functions' zip.")
    ] = "",
    bucket: Annotated[
        str, typer.Option(help="Where to upload. Default: ojs-aws-ACCOUNT-REGION, which is made.")
    ] = "",
    architecture: Annotated[
        str, typer.Option(help="Processor of the functions: arm64 or x86_64.")
    ] = "",
    python: Annotated[str, typer.Option(help="Python of the functions, such as 3.13.")] = "",
    plan: Annotated[bool, typer.Option("--plan", help="Show the changes only.")] = False,
    yes: Yes = False,
    policy: Annotated[
        bool, typer.Option("--policy", help="Print the IAM policy that this needs, and end.")
    ] = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Deploy a backend to the account of your AWS credentials, without the CDK or Node.

    pip makes the functions' code from the lock file of this package. The changes are shown before
    anything is done. What you leave out stays as it is deployed.
    """
    out = Output(as_json=as_json)
    if policy:
        from ojs_aws.cli.deployment.deploy_policy import deploy_policy

        out.json(deploy_policy(stack))
        return
    given = {
        "Prefix": prefix,
        "Auth": auth,
        "JwtIssuer": jwt_issuer,
        "JwtAudience": jwt_audience,
        "JobEndpoint": None if job_endpoint is None else str(job_endpoint).lower(),
        "AlarmEmail": alarm_email,
        "EncryptionKey": encryption_key,
        "LogRetentionDays": None if log_days is None else str(log_days),
        "PermissionsBoundary": permissions_boundary,
        "SubnetIds": subnets,
        "SecurityGroupIds": security_groups,
    }
    tags = dict(each.partition("=")[::2] for each in tag or ())
    if "" in tags.values():
        raise misuse(out, "--tag is key=value.")
    wanted = Wanted(
        stack=stack,
        queues=[name.strip() for name in queues.split(",") if name.strip()],
        parameters={name: value for name, value in given.items() if value is not None},
        tags=tags,
        bundles=bundles,
        bucket=bucket,
        architecture=_architecture(out, architecture),
        python=python,
    )
    _carry_out(out, wanted, endpoint_url, plan=plan, yes=yes)


def upgrade(
    stack: Stack = "OjsBackend",
    check: Annotated[
        bool, typer.Option("--check", help="Show the changes only; the exit code is 7 for some.")
    ] = False,
    bundles: Annotated[
        str, typer.Option(help="A folder, or s3://bucket/folder, with the functions' zip.")
    ] = "",
    architecture: Annotated[
        str, typer.Option(help="Processor of the functions: arm64 or x86_64.")
    ] = "",
    python: Annotated[str, typer.Option(help="Python of the functions, such as 3.13.")] = "",
    yes: Yes = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Bring a deployed stack to the version of this package; all choices stay as deployed.

    --check compares only: the exit code is 7 if a resource would be replaced or removed.
    """
    out = Output(as_json=as_json)
    wanted = Wanted(
        stack=stack,
        bundles=bundles,
        architecture=_architecture(out, architecture),
        python=python,
        is_upgrade=True,
    )
    found = _carry_out(out, wanted, endpoint_url, plan=check, yes=yes)
    if check and any(each.action in DANGEROUS for each in found.changes):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def destroy(
    stack: Stack = "OjsBackend",
    delete_data: Annotated[
        bool, typer.Option("--delete-data", help="Delete the table and the documents, too.")
    ] = False,
    yes: Yes = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Delete a stack. The table and the bucket of documents stay, unless --delete-data is given."""
    from ojs_aws.cli.deployment.destroying import destroyed

    out = Output(as_json=as_json)

    def act(stacks: Stacks) -> None:
        destroyed(out, stacks, stack, delete_data=delete_data, yes=yes, endpoint_url=endpoint_url)

    with_stacks(out, endpoint_url, act)


def bundle(
    folder: Annotated[Path, typer.Argument(help="Where to write the zip file.")],
    architecture: Annotated[
        str, typer.Option(help="Processor of the functions: arm64 or x86_64.")
    ] = "",
    python: Annotated[str, typer.Option(help="Python of the functions, such as 3.13.")] = "",
) -> None:
    """Write the functions' code as a zip file, for `ojs-aws deploy --bundles`."""
    from ojs_aws.domain.errors import OjsError

    out = Output(as_json=False)
    wanted = Wanted(stack="", architecture=_architecture(out, architecture), python=python)
    try:
        made = made_bundle(target_of(wanted, None))
    except OjsError as problem:
        out.error(problem)
        raise typer.Exit(code_of(problem)) from None
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / made.name
    written.write_bytes(made.read_bytes())
    out.said(str(written), {"path": str(written)})


def with_stacks(out: Output, endpoint_url: str | None, act: Callable[[Stacks], A]) -> A:
    """Run a function with the caller's own AWS credentials and region.

    :raises typer.Exit: with the code of what went wrong, after saying it.
    """
    from ojs_aws.adapters.errors import translated
    from ojs_aws.bootstrap import account_of, stacks_of
    from ojs_aws.domain.errors import OjsError

    region = os.environ.get("AWS_REGION")  # botocore itself reads AWS_DEFAULT_REGION only
    try:
        with translated("Connecting"):
            account = account_of(endpoint_url, region).number()
            stacks = stacks_of(endpoint_url, region, account)
        return act(stacks)
    except OjsError as problem:
        out.error(problem)
        raise typer.Exit(code_of(problem)) from None


def _architecture(out: Output, said: str) -> str:
    """Return an architecture that Lambda knows, or what nobody said.

    :raises typer.Exit: another one.
    """
    if said not in {"", "arm64", "x86_64"}:
        raise misuse(out, f"--architecture is arm64 or x86_64, not {said!r}.")
    return said


def _carry_out(
    out: Output,
    wanted: Wanted,
    endpoint_url: str | None,
    *,
    plan: bool,
    yes: bool,
) -> Plan:
    """Plan, show, ask and execute.

    :raises typer.Exit: nobody agreed, or something failed.
    """

    def act(stacks: Stacks) -> Plan:
        out.hint(f"Planning {wanted.stack} in {stacks.account}, {stacks.region} ...")
        clear(out, stacks, wanted.stack, plan=plan, yes=yes)
        found = planned(wanted, stacks)
        show(out, found)
        if not found.changes:
            return found
        if plan or not agreed(out, found, yes=yes):
            stacks.forget(found.stack, found.change_set, is_new=found.is_new)
            if not plan:
                raise typer.Exit(ExitCode.FAILED)
            return found
        report(out, stacks, stacks.execute(found.stack, found.change_set))
        return found

    return with_stacks(out, endpoint_url, act)
