"""Implements ``ojs-aws documents``: finds unneeded documents in the bucket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.aws import AsJson, EndpointUrl, with_aws
from ojs_aws.cli.keys import Table
from ojs_aws.cli.output import Output
from ojs_aws.cli.session import ExitCode

if TYPE_CHECKING:
    from ojs_aws.bootstrap import AwsClients

app = typer.Typer(
    name="documents",
    help="The bucket of large documents: remove what no job needs, with your AWS credentials.",
    no_args_is_help=True,
)


@app.callback()
def group() -> None:
    """Keep the group: it has only one command so far."""


@app.command(epilog="Example: ojs-aws documents sweep BUCKET --table TABLE --yes")
def sweep(
    bucket: Annotated[str, typer.Argument(help="The bucket: the stack's BucketName.")],
    table: Table,
    older_than: Annotated[
        str, typer.Option(help="Only documents older than this: 14d, P1M; 8 days at least.")
    ] = "14d",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Delete them; without it they are only counted.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Delete even if most documents have no job.")
    ] = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents of jobs that are gone, left by a process that died between two calls.

    Counts only, unless --yes is given. The bucket must keep versions, so that
    `ojs-aws restore documents` can undo it. Reads the list of the bucket ($0.005 for a million
    documents) and each of their jobs (about $0.25).
    """
    out = Output(as_json=as_json)
    age = _age(out, older_than)

    def look(clients: AwsClients) -> dict[str, int]:
        from ojs_aws.adapters.s3.unreferenced import UnreferencedDocuments
        from ojs_aws.bootstrap import SystemClock, job_store
        from ojs_aws.config import Settings
        from ojs_aws.domain.timestamps import Instant

        store = job_store(Settings(table=table), clients)

        def existing(ids: Sequence[str]) -> frozenset[str]:
            return frozenset(store.load_many(ids))

        documents = UnreferencedDocuments(clients.s3(), bucket, existing)
        before = Instant(SystemClock().now() - age)
        told = {"documents": 0, "unreferenced": 0, "bytes": 0, "deleted": 0}
        with out.progress("Documents ...", None) as step:
            for page in documents.sweep(before, is_dry=not yes, takes_most=force):
                told["documents"] += page.documents
                told["unreferenced"] += page.unreferenced
                told["bytes"] += page.size_bytes
                told["deleted"] += page.deleted
                step(page.documents)
        return told

    told = with_aws(out, endpoint_url, look)
    done = f"{told['deleted']} were deleted." if yes else "Nothing was deleted: say --yes."
    out.said(
        f"{told['unreferenced']} of {told['documents']} documents, {told['bytes']} bytes, belong "
        f"to jobs that are gone. {done}",
        {**told, "dry_run": not yes},
    )


def _age(out: Output, text: str) -> int:
    """Return how old documents must be, in milliseconds.

    :raises typer.Exit: it is no duration, or too short.
    """
    from ojs_aws.adapters.s3.unreferenced import MIN_AGE_MS
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.timestamps import parse_duration

    try:
        age = parse_duration(text, "older_than")
    except InvalidRequestError as problem:
        out.problem(str(problem))
        raise typer.Exit(ExitCode.USAGE) from None
    if age < MIN_AGE_MS:
        days = MIN_AGE_MS // 86_400_000
        out.problem(
            f"--older-than is {json.dumps(text)}: use {days}d or more.",
            "The job that names a younger document may still come.",
        )
        raise typer.Exit(ExitCode.USAGE)
    return age
