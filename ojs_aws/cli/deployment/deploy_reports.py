"""Shows the changes of a deployment, asks, and says how it ended and how to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import typer

from ojs_aws.cli.deployment.deploy_plans import FAILED_CREATION, KEEP, Plan
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode

if TYPE_CHECKING:
    from ojs_aws.adapters.stacks import Stacks, StackState

WENT_WELL: Final = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE"})
DANGEROUS: Final = ("Replace", "MayReplace", "Remove", KEEP)
"""What may lose something: it is shown resource by resource."""
_NEXT: Final = "NextCommand"
"""The output with a line for the shell: it is printed as it is, to be copied."""
_WORKER_ROLE: Final = "WorkerRoleName"
_SHOWN: Final = {KEEP: "LEAVES THE STACK, IS KEPT"}


def clear(out: Output, stacks: Stacks, stack: str, *, plan: bool, yes: bool) -> None:
    """Delete what the failed creation of a stack left, after asking.

    :raises typer.Exit: only a plan is wanted, nobody agreed, or something is left.
    """
    found = stacks.settled(stack)
    if found is not None and found.status == "DELETE_FAILED":
        out.problem(
            f"The stack {stack} is {found.status}.",
            f"Go on with `ojs-aws destroy --stack {stack}`.",
        )
        raise typer.Exit(ExitCode.FAILED)
    if found is None or found.status not in FAILED_CREATION:
        return
    rest = f"The stack {stack} is {found.status}: its creation failed, and its rest goes first."
    if plan or not (yes or out.can_ask):
        out.problem(rest, "`ojs-aws deploy` deletes it, after asking; --yes does not ask.")
        raise typer.Exit(ExitCode.FAILED)
    if not yes and not typer.confirm(f"{rest} Delete it?"):
        raise typer.Exit(ExitCode.FAILED)
    left = stacks.delete(stack)
    if left is not None:
        out.problem(f"The stack {stack} is {left.status}. {left.reason}", "Delete it by hand.")
        raise typer.Exit(ExitCode.FAILED)


def show(out: Output, plan: Plan) -> None:
    """Print the changes: each one that may lose something, and how many there are of the others."""
    if out.as_json:
        return
    if not plan.changes:
        out.text(f"{plan.stack} is as it should be: there is nothing to change.")
        return
    others = Counter(
        (each.action, each.kind) for each in plan.changes if each.action not in DANGEROUS
    )
    rows: list[Sequence[object]] = [
        (_SHOWN.get(each.action, each.action.upper()), each.kind, each.resource)
        for each in plan.changes
        if each.action in DANGEROUS
    ]
    rows += [(action.lower(), kind, count) for (action, kind), count in sorted(others.items())]
    out.table([], ("Change", "Type", "Resource, or how many"), rows, is_whole=True)


def agreed(out: Output, plan: Plan, *, yes: bool) -> bool:
    """Return whether the changes are to be made, after asking; say so if nobody can be asked."""
    if yes:
        return True
    if not out.can_ask:
        out.problem("Nobody was asked.", "Say --yes to deploy without a question.")
        return False
    return typer.confirm(f"Deploy these {len(plan.changes)} changes to {plan.stack}?")


def report(out: Output, stacks: Stacks, ended: StackState) -> None:
    """Print outputs and what to do next, or what failed and how to go on.

    :raises typer.Exit: with FAILED, if the deployment failed.
    """
    if ended.status in WENT_WELL:
        if out.as_json:
            out.json({"stack": ended.name, "status": ended.status, "outputs": {**ended.outputs}})
            return
        out.fields({**ended.outputs}, hidden=(_NEXT,), title=f"{ended.name}: {ended.status}")
        out.said(f"Next:\n  {ended.outputs.get(_NEXT, '')}\n  ojs-aws doctor", {})
        if _WORKER_ROLE not in ended.outputs:
            out.text("  ojs-aws init --template lambda my-jobs")
        return
    failures = stacks.failures(ended.name)
    causes = "; ".join(f"{each.resource} ({each.kind}): {each.reason}" for each in failures[:3])
    out.problem(
        f"The stack {ended.name} is {ended.status}. {causes or ended.reason}",
        _way_on(ended),
        failures=[asdict(each) for each in failures],
    )
    raise typer.Exit(ExitCode.FAILED)


def _way_on(ended: StackState) -> str:
    """Return how to go on after a failure."""
    if ended.status == "UPDATE_ROLLBACK_FAILED":
        return (
            f"aws cloudformation continue-update-rollback --stack-name {ended.name} goes back to "
            "what was before. Then deploy again."
        )
    if ended.status.startswith("UPDATE_ROLLBACK"):
        return "What was before is back. Remove the cause, and run the same command again."
    return (
        "Remove the cause, and run the same command again: it first deletes what is left of this "
        "attempt, after asking. A table or bucket that stayed is empty, and can be deleted by hand."
    )
