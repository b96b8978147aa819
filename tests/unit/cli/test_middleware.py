"""``ojs-aws middleware`` prints chains and hooks readably (MW-CHAIN-012)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api import Api
from tests.commands import run_command
from tests.simulation.world import World

MODULE = """
from ojs_aws.middleware import EnqueueChain, Extensions, Hooks, hook
from ojs_aws.worker import Worker

class Audit:
    async def enqueue(self, job, call_next): return await call_next(job)
    async def execute(self, job, ctx, call_next): return await call_next()
    def work_begin(self, job, ctx): ...

@hook
def insert_begin(job): ...

extensions = Extensions([Audit()])
worker = Worker("http://127.0.0.1:1", middleware=extensions.execution, hooks=[insert_begin])
chain = EnqueueChain()
nothing = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A user's module in the working directory; each test has one of its own name."""
    name = f"users_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return name


def run(*arguments: str) -> tuple[int, str]:
    result = run_command("middleware", *arguments)
    return result.exit_code, result.output


def test_a_worker_s_chain_and_hooks_are_shown_in_order(module: str) -> None:
    code, output = run(f"{module}:worker")
    assert code == 0
    assert "the first one outermost" in output
    positions = [output.index(word) for word in ("logging", "audit", "timeout", "insert_begin")]
    assert positions == sorted(positions)
    assert f"{module}.Audit" in output


def test_extensions_show_everything_as_json(module: str) -> None:
    code, output = run(f"{module}:extensions", "--json")
    assert code == 0
    shown = json.loads(output)
    assert shown["enqueue"][-1] == {
        "name": "audit",
        "kind": f"{module}.Audit",
        "implements": ["enqueue"],
    }
    assert shown["hooks"][0]["implements"] == ["work_begin"]


def test_without_a_path_it_shows_the_backend_s(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output = run()
    assert (code, "logging" in output) == (0, True)
    monkeypatch.setenv("OJS_ENQUEUE_MIDDLEWARE", f"{module}:chain")
    assert "Enqueue middleware, the first one called first: none." in run()[1]


@pytest.mark.parametrize("path", ["no_such_module:x", "{}:missing", "{}:nothing"])
def test_a_path_that_leads_nowhere_says_why(module: str, path: str) -> None:
    code, output = run(path.format(module))
    assert code == 2
    assert "ojs-aws middleware: " in output


def test_the_api_shows_the_backend_s_chain_and_hooks() -> None:
    """GET /ojs/v1/admin/middleware, answered by the function that has loaded them."""
    reply = Api(World().backend).get("/admin/middleware")
    assert reply.status == 200
    assert reply.json == {"enqueue": [], "hooks": []}
