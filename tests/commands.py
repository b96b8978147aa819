"""Runs `ojs-aws` in this process. Its tree of commands, most of the work, is made once."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from ojs_aws.cli.app import app


@cache
def command_tree() -> Any:
    """Return the commands of ``ojs-aws``."""
    return get_command(app)


def run_command(*arguments: str, **more: Any) -> Result:
    """Run a command.

    :param more: arguments of ``CliRunner.invoke``.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", lambda _: command_tree())
        return CliRunner().invoke(app, [*arguments], **more)
