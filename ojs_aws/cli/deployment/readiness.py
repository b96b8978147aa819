"""Implements ``ojs-aws deploy-check``: checks that a deployment is ready for production."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from ojs_aws.cli.deployment.doctor import Check, Finding, Verdict, found_by, judged, report
from ojs_aws.cli.terminal.session import ExitCode, Session, code_of, command

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue


app = typer.Typer()


@command(
    app,
    "deploy-check",
    epilog="Example: ojs-aws deploy-check --template cdk.out/Ojs.template.json "
    "--worker jobs:lambda_worker",
)
async def deploy_check(
    session: Session,
    template: Annotated[
        str, typer.Option(help="A synthesised CloudFormation template to look at as well.")
    ] = "",
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="A worker to look at as well, as module:attribute: may its jobs take longer than "
            "a Lambda function runs? May be repeated."
        ),
    ] = None,
) -> None:
    """Check that a deployment is ready for production: authentication, encryption, alarms.

    The exit code is 7 if a check is "bad". A "look" does not change the exit code.
    """
    checks: list[Check] = [_transport, _check_closed, _settings]
    if template:
        found = _template(_read_template(Path(template)))

        async def look(_: Session) -> list[Finding]:
            return found

        checks.append(look)
    if worker:
        judged_workers = _workers(worker)

        async def durations(_: Session) -> list[Finding]:
            return judged_workers

        checks.append(durations)
    await report(session, checks)


def _workers(paths: Sequence[str]) -> list[Finding]:
    """Check that each Lambda worker can keep the timeouts of its jobs.

    :raises ValueError: a path leads to no worker.
    """
    from ojs_aws.middleware.extensions import search_here
    from ojs_aws.worker import LambdaWorker, load_worker

    search_here()
    findings = []
    for path in paths:
        loaded = load_worker(path)
        too_long = (
            loaded.jobs_beyond_an_invocation() if isinstance(loaded, LambdaWorker) else list[str]()
        )
        text = "each job ends within an invocation"
        if too_long:
            text = f"may take longer than Lambda's 15 minutes: {', '.join(too_long)}"
        hint = "Run their queue by a process: `ojs-aws run`, or the construct EcsWorkerService."
        findings.append(judged(path, not too_long, text, hint, Verdict.BAD))
    return findings


async def _transport(session: Session) -> list[Finding]:
    is_local = urlsplit(session.url).hostname in {"127.0.0.1", "localhost", "::1"}
    if session.url.startswith("https://"):
        return [Finding("transport", Verdict.OK, "HTTPS")]
    verdict = Verdict.LOOK if is_local else Verdict.BAD
    return [Finding("transport", verdict, "plain HTTP", "Use the https:// URL of the API.")]


async def _check_closed(session: Session) -> list[Finding]:
    """Check that nobody gets an answer without credentials."""
    from ojs_aws.domain.errors import OjsError

    stranger = session.connect(session.url, "")
    try:
        await stranger.system.stats()
    except OjsError as problem:
        if code_of(problem) is ExitCode.REFUSED:
            return [Finding("access", Verdict.OK, "refused without credentials")]
        raise
    finally:
        await stranger.close()
    hint = "Give JobBackendProps an authorizer (docs/deploy.md)."
    return [Finding("access", Verdict.BAD, "everybody who knows the URL is an operator", hint)]


async def _settings(session: Session) -> list[Finding]:
    from ojs_aws._version import __version__

    config = await session.client.system.config()
    given, about = config.get("settings"), config.get("implementation")
    settings: Mapping[str, JsonValue] = given if isinstance(given, dict) else {}
    version = about.get("version") if isinstance(about, dict) else None
    text = f"{version}" if version == __version__ else f"{version}; this is {__version__}"
    hint = "Deploy, or install the same."
    rules: list[tuple[str, bool, Verdict, str, str]] = [
        ("test mode", settings.get("test_mode") is True, Verdict.BAD, "on", "Unset OJS_TEST_MODE."),
        (
            "undeclared queues",
            settings.get("allow_undeclared_queues") is True,
            Verdict.LOOK,
            "anybody who may enqueue makes queues",
            "Declare queues, and set OJS_ALLOW_UNDECLARED_QUEUES=0.",
        ),
        (
            "backtraces",
            settings.get("redact_backtraces") is not True,
            Verdict.LOOK,
            "kept with failures, and shown to operators",
            "OJS_REDACT_BACKTRACES=1 drops them.",
        ),
    ]
    return [judged("version", version == __version__, text, hint), *found_by(rules)]


def _read_template(path: Path) -> Mapping[str, Any]:
    """Return a synthesised template.

    :raises ValueError: it cannot be read, or is none.
    """
    from ojs_aws.cli.deployment.plans import read_object

    template = read_object(path)
    if "Resources" not in template:
        raise ValueError(f"{path} is no CloudFormation template: it has no 'Resources'.")
    return template


def _template(template: Mapping[str, Any]) -> list[Finding]:
    """Check what a template promises: restorable tables, kept logs, alarms that reach somebody."""
    resources: Mapping[str, Any] = template.get("Resources", {})

    def of(kind: str) -> dict[str, Any]:
        return {
            name: each.get("Properties", {})
            for name, each in resources.items()
            if each.get("Type") == f"AWS::{kind}"
        }

    def lacking(kind: str, promised: Callable[[Any], object]) -> list[str]:
        return [name for name, each in of(kind).items() if not promised(each)]

    def all_replicas(promised: Callable[[Any], object]) -> Callable[[Any], bool]:
        return lambda table: all(promised(each) for each in table.get("Replicas", []))

    recovery, is_on = "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"
    silent = lacking("CloudWatch::Alarm", lambda each: each.get("AlarmActions"))
    forever = lacking("Logs::LogGroup", lambda each: "RetentionInDays" in each)
    table = "DynamoDB::GlobalTable"
    loose = lacking(table, all_replicas(lambda each: each.get("DeletionProtectionEnabled")))
    unsaved = lacking(table, all_replicas(lambda each: each.get(recovery, {}).get(is_on)))
    rules = [
        ("alarms", silent, Verdict.BAD, "reach nobody", "Pass alarm_topic to JobBackendProps."),
        ("logs", forever, Verdict.LOOK, "are kept for ever", "Set a retention."),
        ("tables", loose, Verdict.LOOK, "can be deleted", "Turn deletion protection on."),
        ("backups", unsaved, Verdict.BAD, "cannot be restored", "Turn point-in-time recovery on."),
    ]
    return found_by(
        (name, names, verdict, f"{len(names)} {text}: {', '.join(names[:3])}", hint)
        for name, names, verdict, text, hint in rules
    )
