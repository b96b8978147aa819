"""Implements ``ojs-aws migrate celery``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode, misuse

if TYPE_CHECKING:
    from ojs_aws.cli.migration.findings import Difference

app = typer.Typer(
    name="migrate",
    no_args_is_help=True,
    help="Write typed jobs for what another system runs, and say what differs.",
)

REPORT: Final = "MIGRATION.md"


@app.callback()
def group() -> None:
    """Write typed jobs for what another system runs, and say what differs."""


@app.command(epilog="Example: ojs-aws migrate celery shop.celery:app --dry-run")
def celery(
    path: Annotated[
        str, typer.Argument(metavar="APP", help="The Celery app, as module:attribute.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder of the package that is written.")
    ] = Path("ojs_jobs"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the files and the report; write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a typed job for each task of a Celery app, and a cron job for each entry of its beat.

    A job calls the function of its task, which stays where it is. The report says what has no
    counterpart. The app is imported; nothing is sent. Nothing is overwritten.
    """
    out = Output(as_json=as_json)
    if not output.name.isidentifier():
        raise misuse(
            out,
            f"{output.name!r} cannot be the name of a package.",
            "Use letters, digits and underscores, such as --output ojs_jobs.",
        )
    files, findings = _made(path, output.name, out)
    listed: list[dict[str, object]] = [asdict(each) for each in findings]
    if dry_run:
        if as_json:
            out.json({"files": files, "findings": listed})
            return
        for name, text in files.items():
            typer.echo(f"# ---- {output / name}\n{text}")
        return
    if taken := [str(output / name) for name in files if (output / name).exists()]:
        out.problem(f"These files exist: {', '.join(taken)}.", "Name another folder by --output.")
        raise typer.Exit(ExitCode.CONFLICT)
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (output / name).write_text(text, encoding="utf-8")
    rows = [(each.where, each.what, each.instead) for each in findings]
    written = [str(output / name) for name in files]
    data = {"files": written, "findings": listed}
    out.table(data, ("where", "in Celery", "here"), rows, title="What differs", is_whole=True)
    if not as_json:
        typer.echo("\n".join(written))
        out.hint(f"Read {output / REPORT}. Then: ojs-aws run {output.name}.worker:worker")


def _made(path: str, package: str, out: Output) -> tuple[dict[str, str], Sequence[Difference]]:
    """Return the files of the package by their names, and what the report lists."""
    from ojs_aws.cli.migration.inventory import AppPathError, read_app

    try:
        inventory = read_app(path)
    except ModuleNotFoundError as missing:
        hint = "Run the command where the app runs."
        if missing.name == "celery":
            hint = "pip install 'ojs-aws[celery,cli]', where the app runs."
        raise misuse(out, f"There is no module {missing.name!r}.", hint) from None
    except AppPathError as problem:
        raise misuse(out, str(problem), "Write module:attribute, as in shop.celery:app.") from None
    from ojs_aws.cli.migration.cron_files import CronWriter
    from ojs_aws.cli.migration.findings import findings_of, report_of
    from ojs_aws.cli.migration.job_files import WORKER, JobWriter
    from ojs_aws.contrib.celery.calls import job_type_of

    types = {entry.name: job_type_of(entry.name) for entry in inventory.tasks}
    jobs = JobWriter(inventory, types)
    cron = CronWriter(inventory, jobs.names)
    files = {
        "__init__.py": f'"""Jobs that were tasks of {inventory.path}."""\n',
        "jobs.py": jobs.written(),
        "worker.py": WORKER.format(package=package),
        "cron.py": cron.written(package),
    }
    findings = [*findings_of(inventory), *jobs.findings, *cron.findings]
    files[REPORT] = report_of(inventory, types, package, findings)
    return {name: text for name, text in files.items() if text}, findings
