"""Implements ``ojs-aws verify-aws``."""

from __future__ import annotations

import re
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ojs_aws.cli.deployment.deploy_choices import (
    Architecture,
    Bundles,
    Python,
    known_architecture,
    with_account,
)
from ojs_aws.cli.keys import AsJson, EndpointUrl
from ojs_aws.cli.terminal.options import Yes
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, misuse

if TYPE_CHECKING:
    from ojs_aws.adapters.account import Account
    from ojs_aws.adapters.stacks import Stacks
    from ojs_aws.cli.verify.deployments import Deployments
    from ojs_aws.cli.verify.report import Result
    from ojs_aws.cli.verify.site import Assertion, Site

MOST_DOLLARS: Final = 5.0
"""A run that may cost more is refused."""

_CANNOT: Final = "Say --yes to run without a question."


app = typer.Typer()


@app.command("verify-aws", epilog="Example: ojs-aws verify-aws --report verify.json")
def verify(
    scale: Annotated[
        str, typer.Option(help="full: ten minutes of load; small: seconds, for an emulator.")
    ] = "full",
    report: Annotated[Path, typer.Option(help="Where to write the report, as JSON.")] = Path(
        "ojs-aws-verify.json"
    ),
    teardown: Annotated[
        str, typer.Option(help="Only remove what the run of this id left.", metavar="ID")
    ] = "",
    bill: Annotated[
        str,
        typer.Option(help="Only show what AWS billed for the run of this id.", metavar="ID"),
    ] = "",
    policy: Annotated[
        bool, typer.Option("--policy", help="Print the IAM policy that this needs, and end.")
    ] = False,
    bundles: Bundles = "",
    architecture: Architecture = "",
    python: Python = "",
    yes: Yes = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Prove in an AWS account that this version works there: deploy, assert, load, remove.

    It makes a stack of its own, asserts what no test on one machine can, and removes everything
    again, whatever happens. It first says what it costs, and asks. The exit code is 0 only if all
    assertions passed and nothing is left, and 7 otherwise.
    """
    from ojs_aws.cli.deployment.deploy_choices import Wanted
    from ojs_aws.cli.deployment.deploy_plans import prepared
    from ojs_aws.cli.deployment.preflight import check_before
    from ojs_aws.cli.verify.assertions import FIRST
    from ojs_aws.cli.verify.bill import dollars
    from ojs_aws.cli.verify.load import deployments_of, site_of
    from ojs_aws.cli.verify.scales import SCALES

    out = Output(as_json=as_json)
    if policy:
        out.json(policy_of())
        return
    if scale not in SCALES:
        raise misuse(out, f"--scale is {' or '.join(SCALES)}, not {scale!r}.")
    for each in filter(None, (teardown, bill)):
        if not re.fullmatch(r"[0-9a-f]{8}", each):
            raise misuse(out, f"{each!r} is no id of a run: it has eight hexadecimal digits.")
    processor = known_architecture(out, architecture)
    wanted = Wanted(stack="", bundles=bundles, architecture=processor, python=python)

    def act(stacks: Stacks, account: Account) -> None:
        run = teardown or bill or secrets.token_hex(4)
        deployments = deployments_of(run, stacks, wanted, endpoint_url)
        if bill:
            _show_bill(out, deployments)
            return
        if teardown:
            left = deployments.remove(out.hint)
            _end(out, left, run)
            return
        estimated = dollars(SCALES[scale])
        first = prepared(deployments.wants(FIRST), deployments.stacks)
        check_before(out, first.stack(), account)
        _agree(out, stacks, estimated, yes=yes)
        site = site_of(run, scale, deployments, endpoint_url)
        _verify(out, site, report, estimated)

    with_account(out, endpoint_url, act)


def assertions() -> list[Assertion]:
    """Return all assertions, in their order."""
    from ojs_aws.cli.verify.assertions import DEPLOYING, LOADING, UPDATING
    from ojs_aws.cli.verify.bill import BILL
    from ojs_aws.cli.verify.conformance.runner import CONFORMANCE
    from ojs_aws.cli.verify.edges import EDGES
    from ojs_aws.cli.verify.wiring_assertions import ALARMS, WIRING

    return [*DEPLOYING, *WIRING, *CONFORMANCE, *EDGES, *LOADING, ALARMS, *UPDATING, BILL]


def policy_of() -> dict[str, Any]:
    """Return the policy of whoever runs it: that of a deployment, and what assertions need."""
    from ojs_aws.cli.deployment.deploy_needs import deploy_policy
    from ojs_aws.cli.verify.deployments import stack_of

    document = deploy_policy(stack_of("*"), deletes_data=True)
    own = {action for each in assertions() for action in each.needs}
    own |= {"ce:GetCostAndUsage", "logs:DescribeLogGroups"}
    document["Statement"].append({"Effect": "Allow", "Action": sorted(own), "Resource": "*"})
    return document


def _agree(out: Output, stacks: Stacks, estimated: float, *, yes: bool) -> None:
    """Say where and for how much, and ask.

    :raises typer.Exit: it costs too much, or nobody agreed.
    """
    text = f"A run in this account, {stacks.region}, costs about ${estimated:.2f}."
    if estimated > MOST_DOLLARS:
        out.problem(text, f"More than ${MOST_DOLLARS:.0f} is refused.")
        raise typer.Exit(ExitCode.FAILED)
    out.text(text)
    if yes:
        return
    if not out.can_ask:
        out.problem("Nobody was asked.", _CANNOT)
        raise typer.Exit(ExitCode.FAILED)
    if not typer.confirm("Deploy, verify and remove?"):
        raise typer.Exit(ExitCode.FAILED)


def _verify(out: Output, site: Site, path: Path, estimated: float) -> None:
    """Run all assertions, remove everything, and write and show the report.

    :raises typer.Exit: with CHECK_FAILED, if something failed or is left.
    """
    from ojs_aws._version import __version__
    from ojs_aws.cli.verify.bill import RUN_S
    from ojs_aws.cli.verify.report import Report, masked, run_all, unable

    results: list[Result] = []

    def note(result: Result) -> None:
        results.append(result)
        out.hint(f"{result.outcome:8}{result.section}: {result.name}. {result.seen}")

    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    out.hint(f"Run {site.id}. If it is killed: ojs-aws verify-aws --teardown {site.id}")
    try:
        with on_signals(_interrupt):
            run_all(assertions(), site, site.clock() + RUN_S, note)
    except KeyboardInterrupt:
        note(unable("interrupted", "somebody ended it"))
    finally:
        with on_signals(lambda *_: out.hint("Still removing what was made.")):
            left = site.deployments.remove(out.hint)
    done = Report(
        id=site.id,
        version=__version__,
        scale=site.scale.name,
        region=site.deployments.stacks.region,
        is_emulated=site.is_emulated,
        started_at=started_at,
        estimated_dollars=round(estimated, 2),
        results=results,
        left=[masked(each) for each in left],
    )
    done.write(path)
    done.show(out)
    if not done.is_well:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def on_signals(act: Callable[..., None]) -> Iterator[None]:
    """Let a function handle SIGINT and SIGTERM while something runs."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, act) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


def _end(out: Output, left: Sequence[str], run: str) -> None:
    """Say what a teardown left.

    :raises typer.Exit: with CHECK_FAILED, if something is left.
    """
    if left:
        out.problem(f"Left of {run}: {'; '.join(left)}", "Run it again in a minute.")
        raise typer.Exit(ExitCode.CHECK_FAILED)
    out.said(f"Nothing is left of {run}.", {"id": run, "left": []})


def _show_bill(out: Output, deployments: Deployments) -> None:
    """Print what AWS billed for a run in the last two weeks."""
    from ojs_aws.cli.verify.deployments import TAG

    today = datetime.now(UTC).date()
    since, until = (today - timedelta(days=14)).isoformat(), (today + timedelta(days=1)).isoformat()
    lines = deployments.evidence.billed(TAG, deployments.run, since, until)
    total = sum(dollars for _, dollars in lines)
    data = {"id": deployments.run, "dollars": total, "lines": dict(lines)}
    rows = [(name, f"{dollars:,.4f}") for name, dollars in [*lines, ("together", total)]]
    out.table(data, ("Usage", "$"), rows if lines else [], nothing="AWS has billed nothing yet.")
    out.hint(
        f"Bills are a day late, and know the tag {TAG} only if it is a cost allocation tag of the "
        "account."
    )
