"""Implements ``ojs-aws preflight``: says before a deployment what AWS would refuse half-way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ojs_aws.account_limits import LEAST_UNRESERVED, LIMIT_HINT, NO_FUNCTION_URLS, NO_URL_HINT
from ojs_aws.cli.deployment.plans import (
    Answer,
    PlannedStacks,
    ask_issuer,
    check_issuer,
    planned_stacks,
)
from ojs_aws.cli.keys import AsJson, EndpointUrl
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, code_of, misuse
from ojs_aws.topology import OWNER_TAG

if TYPE_CHECKING:
    from ojs_aws.adapters.account import Account

ACTIONS: Final = (
    "sts:GetCallerIdentity, lambda:GetAccountSettings, lambda:GetFunctionConcurrency, "
    "cloudformation:ListStackResources, cloudformation:DescribeStackResources and sqs:GetQueueUrl"
)
"""What the command is allowed to do, if it can answer everything; all of it only reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Says what one check found.

    :ivar text: what is as it should be, or what is not.
    :ivar way_out: what to do about a problem; empty, where there is none.
    """

    check: str
    text: str
    way_out: str = ""

    @property
    def is_ok(self) -> bool:
        """Return whether nothing has to be done."""
        return not self.way_out


Check = Callable[[PlannedStacks, "Account"], Iterable[Result]]


def register(app: typer.Typer) -> None:
    """Add the command to the root."""
    app.command(epilog="Example: ojs-aws preflight cdk.out")(preflight)


def preflight(
    assembly: Annotated[
        Path, typer.Argument(help="The folder that `cdk synth` has written, with your options.")
    ] = Path("cdk.out"),
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check before a deployment whether account and region take it. Nothing is changed.

    It looks at what `npx cdk synth` wrote, and at the account of your AWS credentials: account and
    region, function URLs, Lambda's concurrency, the issuer of tokens, and names of queues that are
    taken. Each problem has its way out. The exit code is 1 if there is a problem.
    """
    from ojs_aws.adapters.errors import translated
    from ojs_aws.bootstrap import account_of
    from ojs_aws.domain.errors import OjsError

    out = Output(as_json=as_json)
    try:
        plans = planned_stacks(assembly)
    except ValueError as problem:
        raise misuse(out, str(problem), "Run `npx cdk synth --quiet` first.") from None
    results: list[Result] = []
    try:
        for planned in plans:
            with translated("Connecting"):
                # botocore itself reads AWS_DEFAULT_REGION only.
                account = account_of(endpoint_url, planned.region or os.environ.get("AWS_REGION"))
            results += checked(planned, account, ask_issuer)
    except OjsError as problem:
        out.error(problem)
        raise typer.Exit(code_of(problem)) from None
    _show(out, results)


def _show(out: Output, results: Sequence[Result]) -> None:
    """Print what was found.

    :raises typer.Exit: with FAILED, if there is a problem.
    """
    is_ok = all(each.is_ok for each in results)
    out.table(
        {"ok": is_ok, "checks": [{**asdict(each), "ok": each.is_ok} for each in results]},
        ("Check", "", "Found", "What to do"),
        [
            (each.check, "ok" if each.is_ok else "problem", each.text, each.way_out)
            for each in results
        ],
        is_whole=True,
    )
    if not is_ok:
        raise typer.Exit(ExitCode.FAILED)


def checked(
    planned: PlannedStacks, account: Account, ask: Callable[[str], Answer]
) -> Iterator[Result]:
    """Yield what each check finds; one that AWS refuses is a problem, and the others go on.

    :param ask: gets the discovery document of an issuer.
    """
    from ojs_aws.domain.errors import OjsError

    yield from function_urls(planned, account)
    for _, properties in planned.of("AWS::ApiGatewayV2::Authorizer"):
        issuer = properties.get("JwtConfiguration", {}).get("Issuer")
        if isinstance(issuer, str):
            text, way_out = check_issuer(issuer, ask)
            yield Result(check="issuer", text=text, way_out=way_out)
    for name, check in _OF_THE_ACCOUNT.items():
        try:
            yield from check(planned, account)
        except OjsError as problem:
            hint = f"Your credentials need: {ACTIONS}."
            yield Result(check=name, text=problem.message, way_out=hint)


def function_urls(planned: PlannedStacks, account: Account) -> Iterator[Result]:
    """Check that the region has function URLs, if one is planned."""
    if not any(planned.of("AWS::Lambda::Url")):
        yield Result(check="function URLs", text="none is planned")
    elif account.region in NO_FUNCTION_URLS:
        text = f"the region {account.region} has none"
        yield Result(check="function URLs", text=text, way_out=NO_URL_HINT)
    else:
        yield Result(check="function URLs", text=f"{account.region} has them")


def _who(planned: PlannedStacks, account: Account) -> Iterator[Result]:
    """Check whose account this is."""
    number = account.number()
    is_other = planned.account not in {"", number}
    yield Result(
        check="account",
        text=f"{number}, {account.region}",
        way_out=f"The stack is for {planned.account}: use its credentials." if is_other else "",
    )


def _reserved(planned: PlannedStacks, account: Account) -> Iterator[Result]:
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
        yield Result(check="reserved executions", text="none are planned")
        return
    found = account.concurrency()
    free = found.unreserved - min(LEAST_UNRESERVED, found.limit)
    if asked > free:  # a stack that is deployed already has its own among what is reserved
        free += account.reserved_by(planned.names)
    is_too_much = asked > free
    yield Result(
        check="reserved executions",
        text=f"{asked} are planned, of {free} that can be; the limit is {found.limit}",
        way_out=f"{LIMIT_HINT} Or leave out start=NUMBER and job_endpoint_concurrency; "
        "start=snapstart needs none."
        if is_too_much
        else "",
    )


def _executions(planned: PlannedStacks, account: Account) -> Iterator[Result]:
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
    yield Result(
        check="workers",
        text=f"their triggers may take {taken} of {limit:,} executions"
        + (", and leave none to API, stream and tick" if is_too_much else ""),
        way_out=f"{LIMIT_HINT} Or lower max_concurrency of the workers; without it a trigger has "
        "no bound."
        if is_too_much
        else "",
    )
    for _, alarm in planned.of("AWS::CloudWatch::Alarm"):
        threshold = alarm.get("Threshold")
        if alarm.get("MetricName") == "ConcurrentExecutions" and isinstance(threshold, int | float):
            never = threshold > limit
            text = f"rings at {threshold:,g} executions; the limit is {limit:,}"
            way_out = f"It never rings: set concurrency_alarm to {limit * 4 // 5}. {LIMIT_HINT}"
            yield Result(check="concurrency alarm", text=text, way_out=way_out if never else "")


def _names(planned: PlannedStacks, account: Account) -> Iterator[Result]:
    """Check that no queue of another stack, or of none, has a planned name."""
    names = [properties.get("QueueName") for _, properties in planned.of("AWS::SQS::Queue")]
    said = [name for name in names if isinstance(name, str)]
    is_free = True
    for name in said:
        owner = account.owner_of_queue(name)
        if owner is None or owner in planned.names:
            continue
        is_free = False
        yield Result(
            check="names",
            text=f"the queue {name} is there, and belongs to {owner or 'no stack'}",
            way_out="Choose another prefix (-c prefix=...). Or adopt it, if it was made at its "
            "first use (docs/queues.md, adopted_queues); or delete it, and wait a minute.",
        )
    if is_free:
        yield Result(check="names", text=f"{len(said)} names of queues are free, or the stack's")


_OF_THE_ACCOUNT: Final[dict[str, Check]] = {
    "account": _who,
    "reserved executions": _reserved,
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
