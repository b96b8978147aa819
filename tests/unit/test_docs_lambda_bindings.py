"""The handlers of docs/lambda-bindings.md run dispatched jobs, in their own runtimes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.memory_aws.invocations import RuntimeAnswerError
from tests.load import HUNG_S
from tests.unit.worker.test_bound_functions import Bench

PAGE: Final = (Path(__file__).parents[2] / "docs" / "lambda-bindings.md").read_text("utf-8")
JOBS: Final = 200
KILLED_EACH: Final = 10

NODE_RUNTIME: Final = """
import { createInterface } from "node:readline";
import { handler } from "./index.mjs";
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { returned: (await handler(JSON.parse(line))) ?? null };
  } catch ({ name, message, stack }) {
    answer = { raised: { errorType: name, errorMessage: message, trace: stack.split("\\n") } };
  }
  console.log(JSON.stringify(answer));
}
"""
"""Calls the handler as the runtime of Node does: an event a line, what it returns or throws."""

PYTHON_RUNTIME: Final = """
import json, sys, traceback
from shop import handler
for line in sys.stdin:
    try:
        answer = {"returned": handler(json.loads(line), None)}
    except Exception as problem:
        stack = traceback.format_tb(problem.__traceback__)
        said = {"errorType": type(problem).__name__, "errorMessage": str(problem)}
        answer = {"raised": {**said, "stackTrace": stack}}
    print(json.dumps(answer), flush=True)
"""
"""The same for Python."""


class Runtime:
    """A process that runs a handler, and is started again after it was killed."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command, self.folder = command, folder
        self.process: subprocess.Popen[str] | None = None
        self.events = 0

    def __call__(self, event: dict[str, Any]) -> Any:
        """Run an event; each tenth one meets a process that is killed."""
        self.events += 1
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        if self.events % KILLED_EACH == 0:
            self.end()
            raise RuntimeAnswerError(
                {"errorType": "Runtime.ExitError", "errorMessage": "signal: killed"}
            )
        process.stdin.write(json.dumps(event) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if "raised" in answer:
            raise RuntimeAnswerError(answer["raised"])
        return answer["returned"]

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self.process

    def end(self) -> None:
        """Stop the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate(timeout=HUNG_S)
            self.process = None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the handlers of the page, and what stands for their runtimes."""
    files = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert {name for name, _ in files} == {"index.mjs", "shop.py", "bindings_stack.py"}
    for name, text in [*files, ("run.mjs", NODE_RUNTIME), ("run.py", PYTHON_RUNTIME)]:
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(params=["node", "python"])
def runtime(request: pytest.FixtureRequest, folder: Path) -> Iterator[Runtime]:
    """Each runtime that is there."""
    commands = {"node": ["node", "run.mjs"], "python": [sys.executable, "run.py"]}
    tool, *rest = commands[request.param]
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"there is no {tool} here")
    running = Runtime([found, *rest], folder)
    yield running
    running.end()


def test_each_job_has_one_outcome_whatever_is_killed(runtime: Runtime) -> None:
    """A killed process fails its attempt, and the job runs again."""
    bench = Bench()
    bench.returns = runtime
    ids = [bench.push(f"{number}@example.com") for number in range(JOBS)]
    left = set(ids)
    for _ in range(JOBS):
        bench.whole()
        left = {each for each in left if not bench.job(each).state.is_terminal}
        if not left:
            break
        bench.pass_s(5)
    done = [bench.job(each) for each in ids]
    assert [each.state for each in done] == [JobState.COMPLETED] * JOBS
    assert [json.loads(str(each.result)) for each in done] == [
        {"sent_to": f"{number}@example.com"} for number in range(JOBS)
    ]
    repeated = sum(each.attempt - 1 for each in done)
    assert repeated == runtime.events // KILLED_EACH
    assert runtime.events == JOBS + repeated


def test_what_a_handler_raises_has_its_runtimes_form(runtime: Runtime) -> None:
    """Type, message and stack of an unknown type of job."""
    bench = Bench()
    bench.returns = runtime
    job_id = bench.push(job_type="email.unknown")
    bench.whole()
    (failure,) = bench.job(job_id).failures
    assert failure.type in {"TypeError", "KeyError"}
    assert "email.unknown" in failure.message or "not a function" in failure.message
    assert any(name in " ".join(failure.backtrace) for name in ("index.mjs", "shop.py"))


def test_the_stack_of_the_page_is_named_as_the_text_says() -> None:
    """The alias is that of the binding."""
    assert '"mailer": LambdaTarget(' in PAGE
    assert "`ojs-mailer`" in PAGE
