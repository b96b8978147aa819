"""Runs Lambda handlers of several languages as processes, where their languages are installed.

Each runtime is a program that calls the handler with an event a line, as Lambda's own would. What a
handler imports from AWS (``aws-lambda-go``, ``aws-lambda-java-core``) is replaced by a few lines of
the same form, so nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ojs_aws.memory_aws.events import RuntimeAnswerError
from tests.load import HUNG_S

HERE: Final = Path(__file__).parent
GO_MODULE: Final = """\
module shop

go 1.18

require github.com/aws/aws-lambda-go v1.0.0

replace github.com/aws/aws-lambda-go => ./aws
"""


def tool(name: str) -> str:
    """The path of a program; the test is skipped where it is missing."""
    found = shutil.which(name) or shutil.which(name, path="/usr/local/go/bin")
    if found is None:
        pytest.skip(f"there is no {name} here")
    return found


def node(folder: Path) -> list[str]:
    """The command that runs ``index.mjs`` of a folder."""
    shutil.copy(HERE / "run.mjs", folder)
    return [tool("node"), "run.mjs"]


def python(folder: Path) -> list[str]:
    """The command that runs ``shop.py`` of a folder."""
    shutil.copy(HERE / "run.py.txt", folder / "run.py")
    return [sys.executable, "run.py"]


def go(folder: Path) -> list[str]:
    """Build ``main.go`` of a folder, and return the command that runs it."""
    (folder / "go.mod").write_text(GO_MODULE)
    (folder / "aws" / "lambda").mkdir(parents=True)
    (folder / "aws" / "go.mod").write_text("module github.com/aws/aws-lambda-go\n\ngo 1.18\n")
    shutil.copy(HERE / "go" / "start.go", folder / "aws" / "lambda")
    environ = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    build = [tool("go"), "build", "-o", "shop", "main.go"]
    subprocess.run(build, cwd=folder, env=environ, check=True)
    return [str(folder / "shop")]


def java(folder: Path) -> list[str]:
    """Compile ``Mailer.java`` of a folder, and return the command that runs it."""
    compiler, sources = tool("javac"), map(str, (HERE / "java").rglob("*.java"))
    subprocess.run([compiler, "-d", ".", "Mailer.java", *sources], cwd=folder, check=True)
    return [tool("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "Run"]


RUNTIMES: Final[dict[str, Callable[[Path], list[str]]]] = {
    "node": node,
    "python": python,
    "go": go,
    "java": java,
}


class Runtime:
    """A process that runs a handler, and is started again after it was killed.

    :ivar killed_each: the number of events of which the last one meets a process that is killed.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command, self.folder = command, folder
        self.process: subprocess.Popen[str] | None = None
        self.events = 0
        self.killed_each = 1_000_000

    def __call__(self, event: dict[str, Any]) -> Any:
        """Run an event; kill the process at some of them, so that nobody sees the answer."""
        self.events += 1
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(event) + "\n")
        process.stdin.flush()
        if self.events % self.killed_each == 0:
            self.end()
            raise RuntimeAnswerError(
                {"errorType": "Runtime.ExitError", "errorMessage": "signal: killed"}
            )
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
