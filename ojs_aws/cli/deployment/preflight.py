"""Implements ``ojs-aws preflight``: says before a deployment what AWS would refuse half-way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ojs_aws.account_limits import LEAST_UNRESERVED, LIMIT_HINT, NO_FUNCTION_URLS, NO_URL_HINT
from ojs_aws.cli.deployment.deploy_choices import Choices, with_account
from ojs_aws.cli.deployment.deploy_plans import prepared
from ojs_aws.cli.deployment.doctor import Finding, Verdict, judged, show_findings
from ojs_aws.cli.deployment.plans import (
    Answer,
    PlannedStacks,
    ask_issuer,
    check_issuer,
    planned_stacks,
)
from ojs_aws.cli.keys import AsJson, EndpointUrl
from ojs_aws.cli.terminal.options import with_groups
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, misuse
from ojs_aws.topology import OWNER_TAG, SQS_NAME_LIMIT

if TYPE_CHECKING:
    from ojs_aws.adapters.account import Account
    from ojs_aws.adapters.stacks import Stacks

ACTIONS: Final = (
    "sts:GetCallerIdentity, lambda:GetAccountSettings, lambda:GetFunctionConcurrency, "
    "cloudformation:ListStackResources, cloudformation:DescribeStackResources and sqs:GetQueueUrl"
)
"""What the checks ask AWS; all of it only reads."""

TAKEN_HINT: Final = (
    "Choose another prefix. Or, if it was made at its first use: leave it out of the declared "
    "queues, or adopt it with the CDK (docs/queues.md, adopted_queues). Or delete it, and wait a "
    "minute."
)
"""The way out where a queue has a planned name."""

LONG_HINT: Final = (
    "Leave it out of the declared queues: its first use makes it, under a shorter name. Or choose "
    "a shorter prefix, if that is enough."
)
"""The way out where the name of a queue is too long."""

Check = Callable[[PlannedStacks, "Account"], Iterable[Finding]]


def checked(
    planned: PlannedStacks, account: Account, ask: Callable[[str], Answer] = ask_issuer
) -> Iterator[Finding]:
    """Yield what each check finds; one that AWS refuses to answer is named, and the others go on.

    A finding is BAD where AWS would refuse the deployment, and LOOK where it would deploy what does
    not work well.

    :param ask: gets the discovery document of an issuer.
    """
    from ojs_aws.domain.errors import OjsError

    yield function_urls(planned, account)
    for _, properties in planned.of("AWS::ApiGatewayV2::Authorizer"):
        issuer = properties.get("JwtConfiguration", {}).get("Issuer")
        if isinstance(issuer, str):
            text, hint = check_issuer(issuer, ask)
            yield judged("issuer", not hint, text, hint, Verdict.BAD)
    for name, check in _OF_THE_ACCOUNT.items():
        try:
            yield from check(planned, account)
        except OjsError as problem:
            hint = f"Your credentials need: {ACTIONS}."
            yield Finding(name, Verdict.LOOK, f"not checked: {problem.message}", hint)
    yield cost(planned)


def function_urls(planned: PlannedStacks, account: Account) -> Finding:
    """Check that the region has function URLs, if one is planned."""
    check = "function URLs"
    if not any(planned.of("AWS::Lambda::Url")):
        return Finding(check, Verdict.OK, "none is planned")
    if account.region in NO_FUNCTION_URLS:
        return Finding(check, Verdict.BAD, f"the region {account.region} has none", NO_URL_HINT)
    return Finding(check, Verdict.OK, f"{account.region} has them")


def cost(planned: PlannedStacks) -> Finding:
    """Estimate what the stacks cost without a job, and for a million jobs of 0.5 KB."""
    from ojs_aws.pricing import BUSY_RATE, REGION, Workload, million, standing

    def has(kind: str) -> bool:
        return any(planned.of(kind))

    tables = [table for _, table in planned.of("AWS::DynamoDB::GlobalTable")]
    workload = Workload(
        rate=BUSY_RATE,
        has_dashboard=has("AWS::CloudWatch::Dashboard"),
        has_alarms=has("AWS::CloudWatch::Alarm"),
        has_account_key=any(table["SSESpecification"].get("SSEEnabled") for table in tables),
        uses_gateway=not has("AWS::Lambda::Url"),
    )
    idle, busy = standing(workload), million(workload)
    text = (
        f"about ${idle:,.0f} a month without a job, and ${busy:,.0f} for a million small jobs on a "
        f"busy day, in {REGION}; `ojs-aws cost` estimates yours"
    )
    if has("AWS::Lambda::Alias"):
        text += "; warm starts (start=...) are not counted"
    return Finding("cost", Verdict.OK, text)


def _who(planned: PlannedStacks, account: Account) -> Iterator[Finding]:
    """Check whose account this is."""
    number = account.number()
    hint = f"The stack is for {planned.account}: use its credentials."
    is_right = planned.account in {"", number}
    yield judged("account", is_right, f"{number}, {account.region}", hint, Verdict.BAD)


def _check_reserved(planned: PlannedStacks, account: Account) -> Iterator[Finding]:
    """Check that as many executions can be set aside as are planned."""
    reserved = {
        name: _number(properties.get("ReservedConcurrentExecutions"))
        for name, properties in planned.of("AWS::Lambda::Function")
    }
    asked = sum(reserved.values())
    for _, alias in planned.of("AWS::Lambda::Alias"):
        provisioned = alias.get("ProvisionedConcurrencyConfig", {})
        if not reserved.get(_referred(alias.get("FunctionName"))):  # else they are among those
            asked += _number(provisioned.get("ProvisionedConcurrentExecutions"))
    if not asked:
        yield Finding("reserved executions", Verdict.OK, "none are planned")
        return
    found = account.concurrency()
    free = found.unreserved - min(LEAST_UNRESERVED, found.limit)
    if asked > free:  # a stack that is deployed already has its own among what is reserved
        free += account.reserved_by(planned.names)
    yield judged(
        "reserved executions",
        asked <= free,
        f"{asked} are planned, of {free} that can be; the limit is {found.limit}",
        f"{LIMIT_HINT} Or leave out start=NUMBER and job_endpoint_concurrency; "
        "start=snapstart needs none.",
        Verdict.BAD,
    )


def _executions(planned: PlannedStacks, account: Account) -> Iterator[Finding]:
    """Check that the account's limit leaves executions to the API, and that its alarm can ring."""
    limit = account.concurrency().limit
    triggers = [
        _number(properties.get("ScalingConfig", {}).get("MaximumConcurrency"))
        for _, properties in planned.of("AWS::Lambda::EventSourceMapping")
        if any(tag.get("Key") == OWNER_TAG for tag in properties.get("Tags", ()))
    ]
    most = sum(triggers)
    taken = f"{most:,}" if all(triggers) else "any number"
    is_too_much = not all(triggers) or most >= limit
    yield judged(
        "workers",
        not is_too_much,
        f"their triggers may take {taken} of {limit:,} executions"
        + (", and leave none to API, stream and tick" if is_too_much else ""),
        f"{LIMIT_HINT} Or lower max_concurrency of the workers (`ojs-aws deploy "
        "--worker-concurrency N`); without it a trigger has no bound.",
    )
    for _, alarm in planned.of("AWS::CloudWatch::Alarm"):
        threshold = alarm.get("Threshold")
        if alarm.get("MetricName") == "ConcurrentExecutions" and isinstance(threshold, int | float):
            yield judged(
                "concurrency alarm",
                threshold <= limit,
                f"rings at {threshold:,g} executions; the limit is {limit:,}",
                f"It never rings. {LIMIT_HINT} With the CDK: set concurrency_alarm to "
                f"{limit * 4 // 5}.",
            )


def _names(planned: PlannedStacks, account: Account) -> Iterator[Finding]:
    """Check that SQS takes the planned names, and that no queue that is not the stack's has one."""
    names = [properties.get("QueueName") for _, properties in planned.of("AWS::SQS::Queue")]
    said = [name for name in names if isinstance(name, str)]
    is_free = True
    own = account.queues_of(planned.names)
    for name in said:
        if len(name) > SQS_NAME_LIMIT:
            is_free = False
            text = f"the queue {name} has {len(name)} characters, and SQS takes {SQS_NAME_LIMIT}"
            yield Finding("names", Verdict.BAD, text, LONG_HINT)
            continue
        owner = None if name in own else account.owner_of_queue(name)
        if owner is None:
            continue
        is_free = False
        text = f"the queue {name} is there, and belongs to {owner or 'no stack'}"
        yield Finding("names", Verdict.BAD, text, TAKEN_HINT)
    if is_free:
        text = f"{len(said)} names of queues are free, or the stack's"
        yield Finding("names", Verdict.OK, text)


_OF_THE_ACCOUNT: Final[dict[str, Check]] = {
    "account": _who,
    "reserved executions": _check_reserved,
    "executions": _executions,
    "names": _names,
}
"""The checks that ask AWS."""


def _number(value: Any) -> int:
    """Return a number of a template; 0, where it is not there or known only when deployed."""
    return value if isinstance(value, int) else 0


def _referred(value: Any) -> str:
    """Return the logical id that a value of a template refers to; empty for others."""
    return str(value.get("Ref", "")) if isinstance(value, dict) else ""


app = typer.Typer()


@app.command(epilog="Example: ojs-aws preflight --queues default,email --job-endpoint")
@with_groups
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


def check_before(out: Output, planned: PlannedStacks, account: Account, hint: str = "") -> None:
    """Print what the checks find: all of it for people, only problems for a script.

    :param hint: what else to say of a problem.
    :raises typer.Exit: AWS would refuse the deployment.
    """
    findings = [*checked(planned, account)]
    is_bad = any(each.verdict is Verdict.BAD for each in findings)
    if is_bad or not out.as_json:
        show_findings(out, findings)
    if is_bad:
        if hint:
            out.hint(hint)
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
