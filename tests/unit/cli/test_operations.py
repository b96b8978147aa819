"""What the client can ask for has a command, or a stated reason for none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import typer

from ojs_aws.cli.app import app
from tests.unit.client.test_operations import METHODS

COMMANDS: Final = {
    "enqueue": "enqueue",
    "get": "get",
    "cancel": "cancel",
    "result": "enqueue",  # with --wait
    "jobs.list": "jobs list",
    "jobs.detail": "jobs show",
    "jobs.why": "why",
    "jobs.reprioritise": "jobs priority",
    "jobs.cancel": "jobs cancel",
    "jobs.retry": "jobs retry",
    "jobs.change_some": "jobs delete",
    "jobs.reprioritise_some": "jobs reprioritise",
    "queues.list": "queues list",
    "queues.get": "queues show",
    "queues.stats": "queues list",
    "queues.create": "queues create",
    "queues.delete": "queues delete",
    "queues.settings": "queues settings",
    "queues.configure": "queues configure",
    "queues.drain": "queues drain",
    "queues.pause": "queues pause",
    "queues.resume": "queues resume",
    "queues.purge": "queues purge",
    "queues.bindings": "bindings list",
    "queues.binding": "bindings show",
    "queues.set_binding": "bindings set",
    "queues.delete_binding": "bindings delete",
    "queues.suspend_binding": "bindings suspend",
    "queues.resume_binding": "bindings resume",
    "rate_limits.list": "rate-limits list",
    "rate_limits.get": "rate-limits show",
    "rate_limits.set": "rate-limits set",
    "rate_limits.remove": "rate-limits remove",
    "sequences.list": "sequences list",
    "sequences.get": "sequences show",
    "sequences.skip": "sequences skip",
    "tenants.list": "tenants list",
    "tenants.set": "tenants set",
    "tenants.suspend": "tenants suspend",
    "tenants.resume": "tenants resume",
    "tenants.reset": "tenants reset",
    "tenants.get": "tenants show",
    "tenants.stats": "tenants show",
    "workers.list": "workers list",
    "workers.get": "workers show",
    "workers.pools": "pools list",
    "workers.pool": "pools show",
    "workers.set_pool": "pools set",
    "workers.delete_pool": "pools delete",
    "workers.deregister": "workers remove",
    "workers.quiet": "workers quiet",
    "workers.quiet_all": "workers quiet",
    "workers.terminate": "workers terminate",
    "workers.terminate_all": "workers terminate",
    "workers.resume": "workers resume",
    "workers.resume_all": "workers resume",
    "dead_letter.list": "dead-letter list",
    "dead_letter.get": "dead-letter show",
    "dead_letter.stats": "dead-letter stats",
    "dead_letter.retry": "dead-letter retry",
    "dead_letter.retry_many": "dead-letter retry",
    "dead_letter.delete": "dead-letter delete",
    "dead_letter.delete_many": "dead-letter delete",
    "system.stats": "stats",
    "system.overview": "monitor",
    "system.findings": "doctor",
    "system.errors": "errors",
    "system.whoami": "whoami",
    "system.config": "deploy-check",
    "system.repair": "restore messages",
    "admin.health": "doctor",
    "events.read": "events",
    "cron.list": "cron list",
    "cron.get": "cron show",
    "cron.register": "cron register",
    "cron.pause": "cron pause",
    "cron.trigger": "cron trigger",
    "cron.delete": "cron delete",
    "workflows.list": "workflows list",
    "workflows.get": "workflows show",
    "workflows.cancel": "workflows cancel",
}
"""The command that calls a method of the client."""

_APPLICATIONS: Final = "Applications do it at their start, or while they run."

REASONS: Final = {
    "enqueue_many": "A shell loops over `enqueue`; a batch is built by a program.",
    "workflow": "A workflow is built by a program.",
    "activate": _APPLICATIONS,
    "results": "`get` shows the result of one job.",
    "progress": "`jobs show` has the progress.",
    "checkpoint": "`jobs show` has the checkpoint.",
    "clear_checkpoint": _APPLICATIONS,
    "queues.priorities": "`queues show` counts all priorities together.",
    "queues.limit": "`queues configure` sets limits.",
    **dict.fromkeys(
        ("system.api_keys", "system.revoke_api_key"),
        "`keys` uses AWS credentials, so that it works where no API key does.",
    ),
    "system.history": "Dashboards show the history.",
    **dict.fromkeys(
        (
            "schemas.list",
            "schemas.register",
            "schemas.by_uri",
            "schemas.get",
            "schemas.versions",
            "schemas.delete",
        ),
        _APPLICATIONS,
    ),
}
"""Why a method of the client has no command."""

OTHERS: Final = frozenset(
    {
        "bundle",
        "cost",
        "dashboard",
        "deliver",
        "demo fairness",
        "deploy",
        "destroy",
        "init",
        "local",
        "middleware",
    }
    | {"migrate celery", "outbox relay", "outbox retry", "outbox status"}
    | {"preflight", "reference", "run", "settings", "upgrade", "verify-aws"}
)
"""Commands that call no operation of the client."""

WITH_AWS: Final = ("keys ", "restore ", "documents ")
"""Commands that use AWS credentials, but for `restore messages`."""


def commands(group: Any, path: str = "") -> Iterator[str]:
    """Yield the commands below a group."""
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, f"{path}{name} ")
        else:
            yield f"{path}{name}"


def test_every_method_has_a_command_or_a_reason() -> None:
    """A new operation needs one of them here."""
    assert COMMANDS.keys() | REASONS.keys() == {*METHODS.values()}
    assert not COMMANDS.keys() & REASONS.keys()
    assert all(reason.endswith(".") for reason in REASONS.values())


def test_every_command_that_asks_a_server_is_listed() -> None:
    """`cron resume` and `jobs erase` call the operations of other commands."""
    known = set(commands(typer.main.get_command(app)))
    own = {each for each in known if not each.startswith(WITH_AWS)} - OTHERS
    assert {*COMMANDS.values()} <= known
    assert own | {"restore messages"} == {*COMMANDS.values(), "cron resume", "jobs erase"}
