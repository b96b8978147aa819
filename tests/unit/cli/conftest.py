"""The command line over a backend in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from ojs_aws.client import Client
from ojs_aws.client.transports.connection import HttpTransport
from tests.commands import run_command
from tests.simulation.world import World
from tests.unit.client.doubles import ApiServer, FakeTimer


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, decoded."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """What it printed, decoded line by line."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class Cli:
    """Runs commands; the server that they reach answers as the functions do."""

    world: World
    server: ApiServer
    keys: list[str] = field(default_factory=list)
    answer: Callable[[httpx.Request], httpx.Response | None] = lambda _: None

    def connect(self, url: str, api_key: str) -> Client:
        """A client of the server in memory."""
        assert url
        self.keys.append(api_key)
        return Client(transport=HttpTransport(self.server.connection(FakeTimer())), middleware=[])

    def run(self, *arguments: str, stdin: str | None = None) -> Ran:
        """Run a command."""
        result = run_command(*arguments, obj=self.connect, input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def ask(self, *arguments: str) -> Any:
        """Run a command with --json, and decode what it printed; it must have succeeded."""
        ran = self.run(*arguments, "--json")
        assert ran.code == 0, ran.err
        return ran.json


@pytest.fixture
def cli(world: World, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line over it."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("OJS_URL", "OJS_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Cli(world, ApiServer(world))
