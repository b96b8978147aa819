"""Implements ``ojs-aws deploy``, ``upgrade``, ``destroy`` and ``bundle``: without CDK or Node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.deployment.deploy_choices import (
    Architecture,
    Bundles,
    Choices,
    Python,
    Stack,
    Wanted,
    known_architecture,
    with_account,
)
from ojs_aws.cli.deployment.deploy_needs import made_bundle
from ojs_aws.cli.deployment.deploy_plans import Plan, planned, prepared, target_of
from ojs_aws.cli.deployment.deploy_reports import DANGEROUS, agreed, clear, report, show
from ojs_aws.cli.deployment.preflight import check_before
from ojs_aws.cli.keys import AsJson, EndpointUrl, or_exit
from ojs_aws.cli.terminal.options import Yes, with_groups
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.domain.errors import NotFoundError, OjsError

if TYPE_CHECKING:
    from ojs_aws.adapters.account import Account
    from ojs_aws.adapters.stacks import Stacks

Policy = Annotated[
    bool, typer.Option("--policy", help="Print the IAM policy that this needs, and end.")
]
Preflight = Annotated[
    bool,
    typer.Option(
        "--preflight/--no-preflight", help="First check whether account and region take it."
    ),
]


app = typer.Typer()


@app.command(epilog="Example: ojs-aws deploy --queues default,email --alarm-email ops@x.org")
@with_groups
def deploy(
    choices: Choices,
    bundles: Bundles = "",
    bucket: Annotated[
        str, typer.Option(help="Where to upload. Default: ojs-aws-ACCOUNT-REGION, which is made.")
    ] = "",
    architecture: Architecture = "",
    python: Python = "",
    plan: Annotated[bool, typer.Option("--plan", help="Show the changes only.")] = False,
    preflight: Preflight = True,
    yes: Yes = False,
    policy: Policy = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Deploy a backend to the account of your AWS credentials, without the CDK or Node.

    First it checks what your account would refuse, as `ojs-aws preflight` does. pip makes the
    functions' code from the lock file of this package. The changes are shown before anything is
    done. What you leave out stays as it is deployed.
    """
    out = Output(as_json=as_json)
    if policy:
        _print_policy(out, choices.stack)
        return
    wanted = choices.wanted(
        out, bundles=bundles, bucket=bucket, architecture=architecture, python=python
    )
    _carry_out(out, wanted, endpoint_url, plan=plan, yes=yes, preflight=preflight)


@app.command(epilog="Example: ojs-aws upgrade --check")
def upgrade(
    stack: Stack = "OjsBackend",
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Show the changes only. The exit code is 7 if a resource would be replaced or "
            "removed.",
        ),
    ] = False,
    bundles: Bundles = "",
    architecture: Architecture = "",
    python: Python = "",
    preflight: Preflight = True,
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
        architecture=known_architecture(out, architecture),
        python=python,
        is_upgrade=True,
    )
    found = _carry_out(out, wanted, endpoint_url, plan=check, yes=yes, preflight=preflight)
    if check and any(each.action in DANGEROUS for each in found.changes):
        raise typer.Exit(ExitCode.CHECK_FAILED)


@app.command(epilog="Example: ojs-aws destroy --stack OjsBackend")
def destroy(
    stack: Stack = "OjsBackend",
    delete_data: Annotated[
        bool, typer.Option("--delete-data", help="Delete the table and the documents, too.")
    ] = False,
    yes: Yes = False,
    policy: Policy = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Delete a stack. The table and the bucket of documents stay, unless --delete-data is given."""
    out = Output(as_json=as_json)
    if policy:
        _print_policy(out, stack, deletes_data=delete_data)
        return

    def act(stacks: Stacks, _: Account) -> None:
        destroyed(out, stacks, stack, delete_data=delete_data, yes=yes, endpoint_url=endpoint_url)

    with_account(out, endpoint_url, act)


def _print_policy(out: Output, stack: str, *, deletes_data: bool = False) -> None:
    from ojs_aws.cli.deployment.deploy_needs import deploy_policy

    out.json(deploy_policy(stack, deletes_data=deletes_data))


@app.command(epilog="Example: ojs-aws bundle dist --architecture x86_64")
def bundle(
    folder: Annotated[Path, typer.Argument(help="Where to write the zip file.")],
    architecture: Architecture = "",
    python: Python = "",
) -> None:
    """Write the functions' code as a zip file, for `ojs-aws deploy --bundles`."""
    out = Output(as_json=False)
    wanted = Wanted(stack="", architecture=known_architecture(out, architecture), python=python)
    made = or_exit(out, lambda: made_bundle(target_of(wanted, None)))
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / made.name
    written.write_bytes(made.read_bytes())
    out.said(str(written), {"path": str(written)})


def _carry_out(
    out: Output,
    wanted: Wanted,
    endpoint_url: str | None,
    *,
    plan: bool,
    yes: bool,
    preflight: bool,
) -> Plan:
    """Check, plan, show, ask and execute.

    :raises typer.Exit: AWS would refuse it, nobody agreed, or something failed.
    """

    def act(stacks: Stacks, account: Account) -> Plan:
        out.hint(f"Planning {wanted.stack} in {stacks.account}, {stacks.region} ...")
        clear(out, stacks, wanted.stack, plan=plan, yes=yes)
        ready = prepared(wanted, stacks)
        if preflight:
            hint = "Nothing was changed. --no-preflight deploys without these checks."
            check_before(out, ready.stack(), account, hint)
        found = planned(ready, stacks)
        show(out, found)
        if not found.changes:
            return found
        is_agreed = False
        try:
            is_agreed = not plan and agreed(out, found, yes=yes)
        finally:  # also if Ctrl-C is the answer
            if not is_agreed:
                stacks.forget(found.stack, found.change_set, is_new=found.is_new)
        if plan:
            return found
        if not is_agreed:
            raise typer.Exit(ExitCode.FAILED)
        report(out, stacks, stacks.execute(found.stack, found.change_set))
        return found

    return with_account(out, endpoint_url, act)


_TABLE: Final = "AWS::DynamoDB::GlobalTable"
_BUCKET: Final = "AWS::S3::Bucket"


def destroyed(
    out: Output,
    stacks: Stacks,
    stack: str,
    *,
    delete_data: bool,
    yes: bool,
    endpoint_url: str | None,
) -> None:
    """Say what goes and what stays, ask, and delete.

    :raises NotFoundError: there is no such stack.
    :raises OjsError: data could not be deleted; the message says what is left.
    :raises typer.Exit: nobody agreed, or something is left.
    """
    found = stacks.state(stack)
    if found is None:
        raise NotFoundError(f"There is no stack {stack}.")
    data = [(kind, name) for _, kind, name in stacks.resources(stack) if kind in {_TABLE, _BUCKET}]
    prefix = found.outputs.get("QueuePrefix", "")
    named = ", ".join(name for _, name in data)
    used = found.outputs.get("TableName", "")
    restored = [used] if used and all(name != used for _, name in data) else []
    out.text(
        f"Deleted: the stack {stack}, its functions, API, declared queues and their messages."
        if not delete_data
        else f"Deleted: the stack {stack} and ALL DATA: {named}, and queues of {prefix}*."
    )
    if not delete_data:
        out.text(f"Stays: {named}, and SQS queues that were made at their first use ({prefix}*).")
    if restored:
        out.text(f"Stays: the restored table {used}, which is not in the stack.")
    if not yes:
        answer = typer.prompt(f"Type {stack} to delete it") if out.can_ask else ""
        if answer != stack:
            out.problem("Nothing was deleted.", "Say --yes to delete without a question.")
            raise typer.Exit(ExitCode.FAILED)
    left = stacks.delete(stack)
    if left is not None:
        failures = stacks.failures(stack)
        causes = "; ".join(f"{each.resource}: {each.reason}" for each in failures[:3])
        out.problem(f"The stack {stack} is {left.status}. {causes}", "Run the command again.")
        raise typer.Exit(ExitCode.FAILED)
    if delete_data:
        from ojs_aws.bootstrap import data_removal_of

        removal = data_removal_of(endpoint_url, stacks.region)
        rest = [name for _, name in data]
        try:
            for kind, name in data:
                (removal.table if kind == _TABLE else removal.bucket)(name)
                rest.remove(name)
            removal.queues(prefix)
        except OjsError as problem:  # the command finds no stack any more, if it is run again
            left_over = [*rest, f"SQS queues {prefix}*"]
            problem.message += f" {stack} is deleted; delete by hand: {', '.join(left_over)}."
            raise
    kept = restored + ([] if delete_data else [name for _, name in data])
    out.said(f"{stack} is deleted.", {"stack": stack, "kept": [*kept]})
