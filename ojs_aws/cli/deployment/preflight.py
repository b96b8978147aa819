"""Implements ``ojs-aws preflight``: says before a deployment what AWS would refuse half-way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.deployment.deploy_choices import Choices, with_account
from ojs_aws.cli.deployment.deploy_plans import prepared
from ojs_aws.cli.deployment.doctor import show_findings
from ojs_aws.cli.deployment.plans import PlannedStacks, planned_stacks
from ojs_aws.cli.deployment.preflight_checks import checked
from ojs_aws.cli.keys import AsJson, EndpointUrl
from ojs_aws.cli.terminal.options import with_groups
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, misuse

if TYPE_CHECKING:
    from ojs_aws.adapters.account import Account
    from ojs_aws.adapters.stacks import Stacks
    from ojs_aws.cli.deployment.doctor import Finding


def register(app: typer.Typer) -> None:
    """Add the command to the root."""
    app.command(epilog="Example: ojs-aws preflight --queues default,email --job-endpoint")(
        with_groups(preflight)
    )


def preflight(
    choices: Choices,
    assembly: Annotated[
        Path | None,
        typer.Argument(
            help="The folder that `cdk synth` has written (cdk.out), for an app of the CDK. "
            "Without it: what `ojs-aws deploy` would deploy with these options."
        ),
    ] = None,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check before a deployment whether account and region take it. Nothing is changed.

    It looks at the template, and at the account of your AWS credentials: account and region,
    function URLs, Lambda's concurrency, the issuer of tokens, names of queues that are taken, and
    the cost. Each problem has its way out. The exit code is 7 if AWS would refuse something.
    """
    out = Output(as_json=as_json)
    wanted = choices.wanted(out)

    def of_template(stacks: Stacks, account: Account) -> list[Finding]:
        return [*checked(prepared(wanted, stacks).stack(), account)]

    if assembly is None:
        findings = with_account(out, endpoint_url, of_template)
    else:
        findings = _of_assembly(out, assembly, endpoint_url)
    if not show_findings(out, findings):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _of_assembly(out: Output, assembly: Path, endpoint_url: str | None) -> list[Finding]:
    """Return what is found about the stacks of an app, in the regions that they are for.

    :raises typer.Exit: there are none, or an account cannot be reached.
    """
    try:
        plans = planned_stacks(assembly)
    except ValueError as problem:
        raise misuse(out, str(problem), "Run `npx cdk synth --quiet` first.") from None
    findings: list[Finding] = []
    for planned in plans:

        def look(_: Stacks, account: Account, planned: PlannedStacks = planned) -> None:
            findings.extend(checked(planned, account))

        with_account(out, endpoint_url, look, region=planned.region)
    return findings
