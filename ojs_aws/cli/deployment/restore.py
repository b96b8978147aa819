"""Implements ``ojs-aws restore``, the steps after a loss in order, and ``ojs-aws documents``.

The steps are described in docs/operations-restore.md.

The table and the documents are restored with the AWS credentials of whoever runs it; the messages
by the API, with an administrator's key.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.keys import AsJson, EndpointUrl, Table, with_aws
from ojs_aws.cli.terminal.options import moment
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, Session, command, misuse
from ojs_aws.cli.terminal.tables import counted

if TYPE_CHECKING:
    from ojs_aws.bootstrap import AwsClients
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.timestamps import Instant
    from ojs_aws.services.upkeep.repair import ListRepairReport

app = typer.Typer(
    name="restore",
    help="Restore after a loss: the table from its backup, deleted documents, messages, and lists.",
    no_args_is_help=True,
)

SEGMENTS: Final = 8
"""Parts of the table that are scanned at the same time."""

DryRun = Annotated[bool, typer.Option("--dry-run", help="Count, and change nothing.")]


@app.command(
    epilog="Example: ojs-aws restore table OjsBackend-Jobs-1A2B ojs-restored "
    "--at 2026-03-01T12:00:00Z"
)
def table(
    source: Annotated[str, typer.Argument(help="The table: the stack's TableName.")],
    target: Annotated[str, typer.Argument(help="Name of the table to create; it must not exist.")],
    at: Annotated[
        str,
        typer.Option(help="RFC 3339, or how long ago (20m). Default: the latest possible."),
    ] = "",
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Restore the table as a new one, with stream, TTL, backups and protection switched on.

    The old table does not change. DynamoDB needs from minutes to hours. If the command is
    interrupted, run it again: it continues with the same restore.
    """
    out = Output(as_json=as_json)
    moment_of = _instant(out, at) if at else None

    def restore(clients: AwsClients) -> tuple[bool, str]:
        from ojs_aws.adapters.dynamodb.table_restore import TableRestore

        restoring = TableRestore(clients.dynamodb, time.sleep)
        is_new = restoring.begin(source, target, moment_of)
        if not is_new:
            out.hint(f"Table {target} is there already: going on with it.")
        with out.progress(f"DynamoDB makes {target} ...", None) as step:
            restoring.wait(target, lambda: step(1))
        return is_new, restoring.complete(target)

    is_new, stream = with_aws(out, endpoint_url, restore)
    out.said(
        f"Table {target} is ready. Let the deployment use it:\n"
        f"  ojs-aws deploy --restored-stream {stream}\n"
        "or, with the CDK,\n"
        f"  npx cdk deploy -c restored_table={target} -c restored_stream={stream}\n"
        "then: ojs-aws restore messages",
        {"table": target, "stream_arn": stream, "is_new": is_new},
    )


@app.command(epilog="Example: ojs-aws restore documents BUCKET --since 2026-03-01T12:00:00Z")
def documents(
    bucket: Annotated[str, typer.Argument(help="The bucket: the stack's BucketName.")],
    since: Annotated[
        str,
        typer.Option(help="Time to which the table was restored: RFC 3339, or how long ago (20m)."),
    ],
    dry_run: DryRun = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """Restore large documents that were deleted since, so that restored jobs find them."""
    out = Output(as_json=as_json)
    begin = _instant(out, since)

    def bring_back(clients: AwsClients) -> int:
        from ojs_aws.adapters.document_sweep import DeletedDocuments

        pages = DeletedDocuments(clients.s3(), bucket).bring_back(begin, is_dry=dry_run)
        total = 0
        with out.progress("Documents ...", None) as step:
            for count in pages:
                total += count
                step(count)
        return total

    total = with_aws(out, endpoint_url, bring_back)
    outcome = "would be brought back; nothing was changed" if dry_run else "were brought back"
    out.said(f"{total} documents {outcome}.", {"documents": total, "dry_run": dry_run})


@command(app, "messages", epilog="Example: ojs-aws restore messages --dry-run")
async def messages(session: Session, dry_run: DryRun = False) -> None:
    """Send a message again for every job that can run now or within 15 minutes.

    No backup contains SQS messages. The sweep sends those of later jobs, as usual, and a resume
    sends those of a paused queue. Running workflows take over the outcomes of ended jobs. Needs an
    administrator's key. Running it again does no harm.
    """
    queues: list[str] = []
    counts: Counter[str] = Counter()
    with session.out.progress("Messages ...", None) as step:
        async for part in session.client.system.repair(dry_run=dry_run):
            queues += part.queues
            counts += Counter({name: getattr(part, name) for name in _COUNTED})
            step(part.ready + part.waiting)
    verb = "Would send" if dry_run else "Sent"
    text = (
        f"{verb} {counts['ready']} messages for ready jobs and {counts['waiting']} for jobs that "
        f"are due soon, in {len(queues)} queues; {'would look' if dry_run else 'looked'} at "
        f"{counts['workflows']} workflows."
    )
    if counts["paused"]:
        text += f"\nIn paused queues: {counted(counts['paused'], 'job')}. ojs-aws queues resume"
    shown: dict[str, JsonValue] = {name: counts[name] for name in _COUNTED}
    session.out.said(text, {"dry_run": dry_run, "queues": [*queues], **shown})


@app.command(epilog="Example: ojs-aws restore lists --table TABLE --dry-run")
def lists(
    table: Table,
    dry_run: DryRun = False,
    endpoint_url: EndpointUrl = None,
    as_json: AsJson = False,
) -> None:
    """List completed jobs and move workflows on that the table's stream has lost.

    It reads the whole table, with your AWS credentials. Set the other OJS_ variables as the
    deployment does: bucket, queue prefix, queue URL prefix. Running it again does no harm.
    """
    out = Output(as_json=as_json)

    def repair(clients: AwsClients) -> ListRepairReport:
        from ojs_aws.adapters.dynamodb.table_restore import TableScan
        from ojs_aws.bootstrap import InThreads, build_backend
        from ojs_aws.config import Settings

        settings = Settings.from_env({**os.environ, "OJS_TABLE": table})
        scan = TableScan(clients.dynamodb, table)
        repairs = build_backend(settings, clients).upkeep.list_repair

        def part(number: int) -> ListRepairReport:
            return repairs(scan.segment(number, SEGMENTS), is_dry=dry_run)

        with out.progress("Segments of the table ...", SEGMENTS) as step:
            reports = []
            for report in InThreads().each(part, range(SEGMENTS)):
                reports.append(report)
                step(1)
        return sum(reports[1:], reports[0])

    report = with_aws(out, endpoint_url, repair)
    listed = "would be listed" if dry_run else "were listed"
    moved = "would be looked at" if dry_run else "were looked at"
    out.said(
        f"{report.listed} of {report.completed} completed jobs were in no list and {listed}; "
        f"{report.workflows} workflows {moved}, {report.failed} could not be moved on.",
        {"dry_run": dry_run, **asdict(report)},
    )
    if report.failed:
        raise typer.Exit(ExitCode.FAILED)


_COUNTED = ("ready", "waiting", "paused", "workflows")


def _instant(out: Output, text: str) -> Instant:
    """Return an instant that a person wrote.

    :raises typer.Exit: it is none.
    """
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.timestamps import instant_of

    try:
        found = moment(text)
    except InvalidRequestError:
        found = None
    if found is None:
        hint = "Use RFC 3339, such as 2026-03-01T12:00:00Z, or how long ago, such as 20m."
        raise misuse(out, f"{text!r} is no instant.", hint)
    return instant_of(found)


documents_app = typer.Typer(
    name="documents",
    help="Remove large documents that no job needs from the bucket, with your AWS credentials.",
    no_args_is_help=True,
)


@documents_app.callback()
def group() -> None:
    """Keep the group: it has only one command so far."""


@documents_app.command(epilog="Example: ojs-aws documents sweep BUCKET --table TABLE --yes")
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
    """Delete documents whose jobs are gone. A process that dies between two calls leaves them.

    Counts only, unless --yes is given. The bucket must keep versions, so that
    `ojs-aws restore documents` can undo it. Reads the list of the bucket ($0.005 for a million
    documents) and each of their jobs (about $0.25).
    """
    out = Output(as_json=as_json)
    age = _age(out, older_than)

    def look(clients: AwsClients) -> dict[str, int]:
        from ojs_aws.adapters.document_sweep import UnreferencedDocuments
        from ojs_aws.bootstrap import SystemClock, job_store
        from ojs_aws.config import Settings
        from ojs_aws.domain.timestamps import Instant

        store = job_store(Settings(table=table), clients)

        def existing(ids: Sequence[str]) -> frozenset[str]:
            return frozenset(store.load_many(ids))

        documents = UnreferencedDocuments(clients.s3(), bucket, existing)
        before = Instant(SystemClock().now() - age)
        counts = {"documents": 0, "unreferenced": 0, "bytes": 0, "deleted": 0}
        with out.progress("Documents ...", None) as step:
            for page in documents.sweep(before, is_dry=not yes, takes_most=force):
                counts["documents"] += page.documents
                counts["unreferenced"] += page.unreferenced
                counts["bytes"] += page.size_bytes
                counts["deleted"] += page.deleted
                step(page.documents)
        return counts

    counts = with_aws(out, endpoint_url, look)
    done = f"{counts['deleted']} were deleted." if yes else "Nothing was deleted: say --yes."
    out.said(
        f"{counts['unreferenced']} of {counts['documents']} documents, {counts['bytes']} bytes, "
        f"belong to jobs that are gone. {done}",
        {**counts, "dry_run": not yes},
    )


def _age(out: Output, text: str) -> int:
    """Return how old documents must be, in milliseconds.

    :raises typer.Exit: it is no duration, or too short.
    """
    from ojs_aws.adapters.document_sweep import MIN_AGE_MS
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.timestamps import parse_duration

    try:
        age = parse_duration(text, "older_than")
    except InvalidRequestError as problem:
        raise misuse(out, str(problem)) from None
    if age < MIN_AGE_MS:
        days = MIN_AGE_MS // 86_400_000
        hint = "The job that names a younger document may still come."
        raise misuse(out, f"--older-than is {json.dumps(text)}: use {days}d or more.", hint)
    return age
