"""Install the built wheel into an empty environment and use it, as people would; for `make dist`.

The environment gets what the wheel's own metadata names, in the locked versions: a dependency that
is not declared is missed here, and nowhere else.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
MINUTES: Final = 5

FIRST_USE: Final = """
import importlib.resources
from ojs_aws import Job, Jobs, RetryPolicy, SyncClient, Worker, errors

assert (importlib.resources.files("ojs_aws") / "py.typed").is_file()
worker = Worker("http://127.0.0.1:9", queues=["email"])
with SyncClient("http://127.0.0.1:9", resends=None) as client:
    try:
        client.admin.health()
    except errors.BackendUnavailableError as problem:
        print("client:", problem)
"""

JOBS: Final = """
from ojs_aws import JobContext, Worker

worker = Worker.from_env(queues=["email"])

@worker.handler("email.send")
async def send(ctx: JobContext, to: str) -> str:
    return f"sent to {to}"
"""


TESTS: Final = """
from ojs_aws import Jobs
from ojs_aws.testing import Ojs, OjsServer

jobs = Jobs()

@jobs.job("email.send")
def send(to: str) -> str:
    return f"sent to {to}"

def test_in_memory(ojs: Ojs) -> None:
    send.enqueue_sync("ada@example.com")
    ojs.drain_sync()
    ojs.assert_completed(send.call("ada@example.com"), count=1)

def test_with_a_server(ojs_server: OjsServer) -> None:
    handle = send.enqueue_sync("ada@example.com")
    with ojs_server.work(jobs):
        assert handle.result(timeout="20s") == "sent to ada@example.com"
"""


class CheckError(Exception):
    """Reports that the distribution does not do what it should."""


def main() -> int:
    """Check the wheel in a folder; return the exit code."""
    parser = argparse.ArgumentParser(description="Use the built wheel in an empty environment.")
    parser.add_argument("dist", type=Path, help="the folder of the wheel")
    parser.add_argument("--scratch", type=Path, default=CHECKOUT / "build" / "dist-check")
    options = parser.parse_args()
    (wheel,) = options.dist.resolve().glob("*.whl")
    shutil.rmtree(options.scratch, ignore_errors=True)
    options.scratch.mkdir(parents=True)
    try:
        check(Environment(options.scratch.resolve(), wheel))
    except CheckError as problem:
        print(f"dist: {problem}", file=sys.stderr)
        return 1
    return 0


class Environment:
    """An empty environment, into which the wheel is installed with one extra after another."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        """Make it, with constraints of the locked versions beside it."""
        self.folder = folder
        self.wheel = wheel
        self.python = folder / "env" / "bin" / "python"
        self.constraints = folder / "constraints.txt"
        self.constraints.write_text(constraints_of(CHECKOUT / "requirements.lock"))
        venv.create(folder / "env", symlinks=True)

    def install(self, extra: str = "") -> None:
        """Install the wheel with an extra."""
        what = f"{self.wheel}[{extra}]" if extra else str(self.wheel)
        where = ["--python", str(self.python)]
        inside = Path(sys.executable).with_name("uv")
        if inside.exists():
            command = [str(inside), "pip", "install", "--quiet", *where]
        else:
            command = [sys.executable, "-m", "pip", *where, "install", "--quiet"]
        subprocess.run([*command, "-c", str(self.constraints), what], check=True)

    def run(self, program: str, *arguments: str, url: str = "", code: int = 0) -> str:
        """Run a program of the environment; return what it wrote.

        :raises CheckError: it ended with another exit code.
        """
        done = subprocess.run(
            [str(self.python.with_name(program)), *arguments],
            cwd=self.folder,
            env=self.environ(url),
            capture_output=True,
            text=True,
            timeout=MINUTES * 60,
            check=False,
        )
        said = done.stdout + done.stderr
        if done.returncode != code:
            raise CheckError(f"{program} {' '.join(arguments)}: code {done.returncode}\n{said}")
        return said

    @contextmanager
    def started(self, *arguments: str, until: str, url: str = "") -> Iterator[str]:
        """Run ``ojs-aws`` in the background; give the line that says it is ready."""
        process = subprocess.Popen(
            [str(self.python.with_name("ojs-aws")), *arguments],
            cwd=self.folder,
            env=self.environ(url),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            yield line_with(until, process.stdout)
        finally:
            process.terminate()
            process.communicate(timeout=MINUTES * 60)

    def environ(self, url: str) -> Mapping[str, str]:
        """Return the variables of a process: nothing of this checkout."""
        kept = {name: each for name, each in os.environ.items() if name[:3] not in {"OJS", "PYT"}}
        return kept | ({"OJS_URL": url} if url else {})


def constraints_of(lock: Path) -> str:
    """Return the versions of a lock as constraints, without its hashes."""
    lines = re.findall(r"^[a-z0-9][^\\\n]*", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return "\n".join(line.strip() for line in lines) + "\n"


def line_with(text: str, lines: IO[str]) -> str:
    """Return the first line that has a text.

    :raises CheckError: there is none.
    """
    said = []
    for line in iter(lines.readline, ""):
        said.append(line)
        if text in line:
            return line
    raise CheckError(f"it never said {text!r}:\n{''.join(said)}")


def check(environment: Environment) -> None:
    """Use the wheel without an extra, with [cli], with [local], and with [testing].

    :raises CheckError: something does not do what it should.
    """
    print("dist: the wheel alone")
    environment.install()
    expect("No answer from", environment.run("python", "-c", FIRST_USE))
    expect("pip install 'ojs-aws[cli]'", environment.run("ojs-aws", "--help", code=1))
    print("dist: with [cli]")
    environment.install("cli")
    expect("ojs-aws", environment.run("ojs-aws", "--version"))
    expect("pip install 'ojs-aws[local]'", environment.run("ojs-aws", "local", code=2))
    print("dist: with [local]")
    environment.install("local")
    (environment.folder / "jobs.py").write_text(JOBS)
    with environment.started("local", "--port", "0", until="OJS backend at") as line:
        url = next(word for word in line.split() if word.startswith("http://"))
        with environment.started("run", "jobs:worker", until="serves as", url=url):
            sent = ("enqueue", "email.send", '["ada@example.com"]', "-q", "email", "--wait")
            expect("sent to ada@example.com", environment.run("ojs-aws", *sent, url=url))
    print("dist: a job ran on the installed server, by the installed worker")
    environment.install("testing")
    (environment.folder / "pytest.ini").write_text("[pytest]\n")  # not that of this checkout
    (environment.folder / "test_jobs.py").write_text(TESTS)
    expect("2 passed", environment.run("pytest", "-q", "test_jobs.py"))
    print("dist: with [testing], pytest has the fixtures")


def expect(text: str, said: str) -> None:
    """Check that something was said.

    :raises CheckError: it was not.
    """
    if text not in said:
        raise CheckError(f"expected {text!r}:\n{said}")


if __name__ == "__main__":
    sys.exit(main())
