"""Implements ``ojs-aws enqueue``, ``get`` and ``cancel``: one job, as a producer sees it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from ojs_aws.cli.jobs.reports import show_job_with_failures
from ojs_aws.cli.terminal.options import JobId, arguments_of, pair_of
from ojs_aws.cli.terminal.session import Session, command, misuse
from ojs_aws.cli.terminal.tables import counted

if TYPE_CHECKING:
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.domain.jobs.attributes import JobAttributes

BATCH: Final = 100
"""Jobs of one request."""


app = typer.Typer()


@command(
    app,
    "enqueue",
    epilog="Examples:\n\nojs-aws enqueue email.send '[\"user@example.com\"]' -q email"
    "\n\nojs-aws enqueue report.make --at +PT10M --wait\n\nojs-aws enqueue --file jobs.ndjson",
)
async def enqueue(
    session: Session,
    type: Annotated[
        str, typer.Argument(help="The job type, such as email.send; leave out with --file.")
    ] = "",
    args: Annotated[
        str,
        typer.Argument(help="A JSON array of arguments; any other value is the only one."),
    ] = "[]",
    queue: Annotated[str, typer.Option("--queue", "-q", help="The queue.")] = "default",
    priority: Annotated[
        int, typer.Option(help="Priority from -100 to 100; higher runs first.")
    ] = 0,
    at: Annotated[
        str, typer.Option(help="When the job is due: RFC 3339, or how long from now (10m).")
    ] = "",
    expires: Annotated[str, typer.Option(help="When the job expires; the same forms.")] = "",
    timeout: Annotated[str, typer.Option(help="Execution timeout: 30s, 10m or PT10M.")] = "",
    timeout_s: Annotated[int, typer.Option(help="The same in seconds.")] = 0,
    max_attempts: Annotated[
        int, typer.Option(help="Maximum number of executions; 0: the default.")
    ] = 0,
    dead_letter: Annotated[
        bool, typer.Option("--dead-letter", help="Keep the job as a dead letter if it fails.")
    ] = False,
    meta: Annotated[
        list[str] | None, typer.Option("--meta", "-m", help="name=value; repeatable.")
    ] = None,
    job_id: Annotated[str, typer.Option("--id", help="A UUIDv7 of your own.")] = "",
    file: Annotated[
        Path | None,
        typer.Option(help="Enqueue the jobs of a file, one JSON object a line; - reads stdin."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job has ended.")] = False,
    wait_s: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 60.0,
) -> None:
    """Enqueue a job, and show its id; with --wait, its result. With --file, enqueue many.

    Each line of a file is a job as the specification writes it: at least type and args. All lines
    are read before the first job is enqueued. Jobs with an id may be sent again: each exists once.
    """
    if timeout and timeout_s:
        raise misuse(session.out, "Give --timeout or --timeout-s, and not both.")
    if bool(type) is bool(file):
        raise misuse(session.out, "Name a job type, or a file by --file.")
    if file is not None:
        await _enqueue_file(session, file)
        return
    retry = {
        "max_attempts": max_attempts,
        "on_exhaustion": "dead_letter" if dead_letter else "",
    }
    attributes = {
        "scheduled_at": at and _when(at, "--at"),
        "expires_at": expires and _when(expires, "--expires"),
        "timeout": timeout,
        "timeout_s": timeout_s,
        "retry": {name: value for name, value in retry.items() if value},
        "meta": dict(pair_of(each, "--meta takes") for each in meta or ()),
        "id": job_id,
    }
    named = {name: value for name, value in attributes.items() if value}
    chosen = cast("JobAttributes", {"queue": queue, "priority": priority, **named})
    result = await session.client.enqueue(type, arguments_of(args), **chosen)
    if not wait:
        session.out.said(result.id, _members(result.job))
        return
    session.out.hint(f"Waiting for {result.id} ...")
    value = await session.client.wait(result.id, timeout_s=wait_s)
    session.out.said(
        json.dumps(value, ensure_ascii=False, indent=2), {"id": result.id, "result": value}
    )


async def _enqueue_file(session: Session, file: Path) -> None:
    """Enqueue the jobs of a file in batches, each of which is stored whole or not at all."""
    from ojs_aws.domain.errors import OjsError

    jobs = _jobs_of(file)
    done = 0
    with session.out.progress(f"enqueueing {file} ...", len(jobs)) as step:
        while batch := jobs[done : done + BATCH]:
            try:
                await session.client.enqueue_many(batch, atomic=True)
            except OjsError as problem:
                problem.message = (
                    f"Jobs {done + 1} to {done + len(batch)} were not enqueued, nor those after "
                    f"them; the {done} before them were. {problem.message}"
                )
                raise
            done += len(batch)
            step(len(batch))
    session.out.said(f"Enqueued {counted(done, 'job')}.", {"enqueued": done})


def _jobs_of(file: Path) -> list[Job]:
    """Return the jobs of a file's lines exactly as they are written; empty lines are left out.

    :raises InvalidRequestError: the file cannot be read, or a line is no JSON object with type and
        arguments; the message names it.
    """
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.json_text import parse_object

    jobs = []
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as problem:
        raise InvalidRequestError(f"{file} cannot be read: {problem.strerror}.") from None
    # Not splitlines(): a JSON text may have other line separators, such as U+2028, as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            members = parse_object(line)
        except InvalidRequestError as problem:
            raise InvalidRequestError(f"Line {number}: {problem.message}") from None
        missing = [name for name in ("type", "args") if name not in members]
        if missing:
            hint = 'A line is a job, such as {"type": "email.send", "args": ["a@b.c"]}.'
            what = f"Line {number} has no '{missing[0]}'."
            raise InvalidRequestError(what, hint=hint)
        jobs.append(Job.from_parsed(members))
    return jobs


@command(app, "get", epilog="Example: ojs-aws get 019539a4-b68c-7def-8000-1a2b3c4d5e6f")
async def get(session: Session, job_id: JobId) -> None:
    """Show a job as a producer sees it; `ojs-aws jobs show` adds the history."""
    job = await session.client.get(job_id)
    show_job_with_failures(session.out, _members(job))


@command(app, "cancel", epilog="`ojs-aws jobs cancel` cancels many jobs.")
async def cancel(session: Session, job_id: JobId) -> None:
    """Cancel a job that has not ended. This cannot be undone."""
    job = await session.client.cancel(job_id)
    session.out.said(f"{job.id} is {job.state}.", _members(job))


def _members(job: Job | None) -> dict[str, JsonValue]:
    return {} if job is None else {name: job[name] for name in job}


def _when(text: str, option: str) -> str:
    """Return an instant as the server reads it; errors name the option that the user gave."""
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.timestamps import Instant, resolve_timestamp

    for form in (text, f"+{text}"):
        try:
            resolve_timestamp(form, option, Instant(0))
        except InvalidRequestError:
            continue
        return form
    raise InvalidRequestError(
        f"{option} is {text!r}: use RFC 3339 such as 2026-02-12T10:30:00Z, or a duration from now "
        "on such as 10m."
    )
