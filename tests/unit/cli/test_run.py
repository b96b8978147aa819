"""`ojs-aws run`: a worker as a process, what it says, and what it says of mistakes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from ojs_aws.cli.run import RunOptions, child_command
from tests.commands import run_command
from tests.load import HUNG_S, wait_until
from tests.unit.client.doubles import JOB_ID
from tests.unit.worker.test_process import Server

pytestmark = pytest.mark.thorough

JOBS = """
from ojs_aws import Worker

worker = Worker.from_env(queues=["q"], grace_s={grace_s})

@worker.handler("a.b")
def handle(ctx, seconds):
    import time
    time.sleep(seconds)
"""

Start = Callable[..., "Running"]


class Running:
    """The command as a process, with what it has said so far."""

    def __init__(
        self, folder: Path, *options: str, env: dict[str, str], command: str = "run"
    ) -> None:
        self.said = folder / "said.log"
        self.file: IO[bytes] = self.said.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ojs_aws.cli", command, *options],
            stdout=self.file,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
        )

    def text(self) -> str:
        """Return what it said."""
        return self.said.read_text("utf-8")

    def waits_for(self, text: str, times: int = 1) -> None:
        """Wait until it has said something."""
        wait_until(lambda: self.text().count(text) >= times or self.process.poll() is not None)
        assert self.text().count(text) >= times, self.text()

    def ends(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(HUNG_S)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[tuple[Running, Server]] = []

    def launch(*options: str, seconds: float = 0.0, command: str = "run") -> Running:
        server = Server(seconds)
        environ = {"OJS_URL": server.url, "OJS_SIGNING_SECRET": ""}
        running = Running(tmp_path, *options, env=environ, command=command)
        started.append((running, server))
        return running

    (tmp_path / "shop.py").write_text(JOBS.format(grace_s=20))
    yield launch
    for running, server in started:
        if running.process.poll() is None:
            running.process.terminate()
            running.process.wait(HUNG_S)
        running.file.close()
        server.shutdown()
        server.server_close()


def test_a_worker_runs_says_what_it_does_and_ends_cleanly(start: Start) -> None:
    """A banner, a line for the job; SIGTERM ends it with exit code 0."""
    running = start("shop:worker", "--queues", "q,low", "--concurrency", "3")
    running.waits_for(f"a.b {JOB_ID} attempt 1 completed in")
    assert running.ends() == 0
    said = running.text()
    assert "queues       q, low\n" in said
    assert "concurrency  3\n" in said
    assert "The worker is now ending: SIGTERM" in said
    assert "HTTP Request" not in said
    assert "Job started" not in said


def test_a_change_starts_the_worker_again_after_its_jobs(start: Start, tmp_path: Path) -> None:
    """The running job finishes first; Ctrl-C ends both processes."""
    running = start("shop:worker", "--reload", seconds=2)
    running.waits_for("serves as worker_")
    assert "Watching 1 Python file below ." in running.text()
    (tmp_path / "shop.py").write_text(JOBS.format(grace_s=19))
    running.waits_for("serves as worker_", times=2)
    said = running.text()
    assert "shop.py changed: starting again." in said
    assert said.index("attempt 1 completed") < said.rindex("serves as worker_")
    assert running.ends(signal.SIGINT) == 0


def test_code_that_cannot_be_imported_waits_for_a_change(start: Start, tmp_path: Path) -> None:
    """It is shown whole, and the worker starts when it is right."""
    (tmp_path / "shop.py").write_text("import absent_module\n")
    running = start("shop:worker", "--reload")
    running.waits_for("It starts again when a file changes.")
    assert "No module named 'absent_module'" in running.text()
    (tmp_path / "shop.py").write_text(JOBS.format(grace_s=20))
    running.waits_for("serves as worker_")
    assert running.ends(signal.SIGHUP) == 0, "a closed terminal leaves no worker behind"
    assert "The worker is now ending: SIGTERM" in running.text()


# ---------------------------------------------------------------------------------- mistakes
@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs the command in this process, in a folder whose ``jobs.py`` has some code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("OJS_URL", "")

    def run(code: str, *options: str) -> tuple[int, str]:
        monkeypatch.delitem(sys.modules, "jobs", raising=False)
        (tmp_path / "jobs.py").write_text(code)
        result = run_command("run", *options)
        sys.modules.pop("jobs", None)
        return result.exit_code, result.stderr

    return run


GOOD = "from ojs_aws import LambdaWorker, Worker\nmain = Worker('http://127.0.0.1:1')\n"
LAMBDA = """
from ojs_aws import Jobs, LambdaWorker

jobs = Jobs()

@jobs.job("a.b")
def f() -> None: ...

worker = LambdaWorker(jobs)
"""


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("absent:worker", "", "There is no module 'absent'. Run the command in the folder"),
        ("jobs.py", GOOD, "'jobs.py' is no path of a module: write it as in an import"),
        ("jobs", GOOD, "'jobs' does not exist: jobs has no 'worker'. Did you mean jobs:main?"),
        ("jobs:mian", GOOD, "Did you mean jobs:main?"),
        ("jobs:f", f"{GOOD}def f(): ...\n", "is no worker but a function. Did you mean jobs:main?"),
        ("jobs:Worker", GOOD, "is no worker but the class Worker. Did you mean jobs:main?"),
        ("jobs", "worker = 5\n", "is no worker but an int. jobs has no Worker: make one with"),
        ("jobs", "from ojs_aws import *\nworker = LambdaWorker()\n", "only a Worker runs as a"),
        (
            "jobs:jobs",
            LAMBDA,
            "but a Jobs. jobs has no Worker: make one with worker = Worker(jobs).",
        ),
        ("jobs:worker", LAMBDA, "Make one with the same jobs: worker = Worker(jobs)."),
        ("jobs:main", GOOD, "the worker has no handlers: register one with @worker.handler"),
        ("jobs", "from ojs_aws import Worker\nworker = Worker.from_env()\n", "Set OJS_URL to the"),
        (
            "jobs:main",
            f"{GOOD}@main.handler('a.b')\ndef f(*, x): ...\n",
            "jobs.py, line 3: the handler of 'a.b' must take the JobContext first: def f(ctx",
        ),
        (
            "jobs:main",
            f"{GOOD}@main.handler\ndef f(ctx): ...\n",
            'jobs.py, line 3: name the job type: @worker.handler("email.send")',
        ),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    run: Callable[..., tuple[int, str]], path: str, code: str, said: str
) -> None:
    """With exit code 2, and no traceback."""
    exit_code, err = run(code, path)
    assert (exit_code, len(err.splitlines())) == (2, 1), err
    assert err.startswith("ojs-aws run: ")
    assert said in err


def test_an_error_of_the_application_is_shown_whole(
    run: Callable[..., tuple[int, str]],
) -> None:
    """Its own frames, and none of ours."""
    exit_code, err = run("def f():\n    return 1 / 0\n\nf()\n", "jobs")
    assert exit_code == 2
    assert [line.split(", ")[1] for line in err.splitlines() if "  File" in line] == [
        "line 4",
        "line 2",
    ]
    assert "ZeroDivisionError: division by zero" in err
    assert err.splitlines()[-1] == "ojs-aws run: jobs cannot be imported: the error is above."


def test_an_error_of_a_resource_is_shown_whole_and_without_values(
    run: Callable[..., tuple[int, str]],
) -> None:
    """As one that is raised when the worker starts; secrets in variables stay secret."""
    code = """
from ojs_aws import Jobs, Worker
jobs = Jobs()
worker = Worker(jobs, url="http://127.0.0.1:1")

@jobs.resource
async def pool():
    password = "s3cret"
    raise ConnectionError("no database")
    yield

@jobs.job("a.b")
def f(): ...
"""
    exit_code, err = run(code, "jobs")
    assert exit_code == 1
    assert "ConnectionError: no database" in err
    assert "s3cret" not in err.replace('password = "s3cret"', "")
    assert err.splitlines()[-1] == "ojs-aws run: the worker could not run: the error is above."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--queues", "A b"], "The 'queue' attribute must be lowercase letters"),
        (["--log-level", "loud"], "--log-level is one of DEBUG, INFO, WARNING, ERROR, not 'loud'"),
        (["--log-format", "xml"], "--log-format is one of text, json, not 'xml'"),
    ],
)
def test_a_wrong_option_is_refused(
    run: Callable[..., tuple[int, str]], options: list[str], said: str
) -> None:
    exit_code, err = run(GOOD, "jobs:main", *options)
    assert (exit_code, said in err) == (2, True), err


# ---------------------------------------------------------------------------------- the parts
def test_the_child_gets_the_same_options() -> None:
    options = RunOptions("shop:worker", ("a", "b"), 3, 90.0, "DEBUG", "json")
    rest: list[Any] = child_command(options)[3:]
    assert rest == [
        *("run", "shop:worker", "--queues", "a", "--queues", "b"),
        *(
            "--concurrency",
            "3",
            "--grace-s",
            "90.0",
            "--log-level",
            "DEBUG",
            "--log-format",
            "json",
        ),
    ]
    assert "--reload" not in rest


def test_deliver_makes_a_key_where_there_is_none(start: Start) -> None:
    """An application that checks signatures has something to check, before there are secrets."""
    running = start("http://127.0.0.1:1/", "--queue", "email", command="deliver")
    running.waits_for("serves as worker_")
    assert running.ends() == 0
    assert "OJS_SIGNING_SECRET is not set: requests are signed with whsec_" in running.text()
    assert "jobs         *\n" in running.text()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["http://app.example.com/"], "Jobs go to app.example.com by HTTPS only"),
        (["https://app.example.com/", "--type", "a*b"], "a pattern of job types has one *"),
        (["https://app.example.com/", "--log-level", "loud"], "--log-level is one of DEBUG"),
    ],
)
def test_deliver_refuses_what_it_cannot_do(
    options: list[str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a line that says why."""
    monkeypatch.setenv("OJS_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("OJS_SIGNING_SECRET", "key")
    done = run_command("deliver", *options)
    assert (done.exit_code, done.stderr.startswith("ojs-aws deliver: ")) == (2, True)
    assert problem in done.stderr
