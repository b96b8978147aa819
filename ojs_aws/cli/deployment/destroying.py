"""Deletes a stack, and its data if somebody wants that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.domain.errors import NotFoundError

if TYPE_CHECKING:
    from ojs_aws.adapters.stacks import Stacks

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
    :raises typer.Exit: nobody agreed, or something is left.
    """
    found = stacks.state(stack)
    if found is None:
        raise NotFoundError(f"There is no stack {stack}.")
    data = [(kind, name) for _, kind, name in stacks.resources(stack) if kind in {_TABLE, _BUCKET}]
    prefix = found.outputs.get("QueuePrefix", "")
    named = ", ".join(name for _, name in data)
    out.text(
        f"Deleted: the stack {stack}, its functions, API, declared queues and their messages."
        if not delete_data
        else f"Deleted: the stack {stack} and ALL DATA: {named}, and queues of {prefix}*."
    )
    if not delete_data:
        out.text(f"Stays: {named}, and SQS queues that were made at their first use ({prefix}*).")
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
        for kind, name in data:
            (removal.table if kind == _TABLE else removal.bucket)(name)
        removal.queues(prefix)
    kept = [] if delete_data else [name for _, name in data]
    out.said(f"{stack} is deleted.", {"stack": stack, "kept": [*kept]})
