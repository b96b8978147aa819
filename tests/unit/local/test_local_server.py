"""`ojs-aws local` as a new user meets it: the README's lines, a clean stop, a taken port."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from ojs_aws import Jobs
from tests.load import HUNG_S
from tests.output import Output

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[3]


def start(port: int, **environ: str) -> subprocess.Popen[str]:
    """Start the server as a process."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    return subprocess.Popen(
        [sys.executable, "-m", "ojs_aws.cli", "local"],
        env={**clean, "OJS_PORT": str(port), **environ},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A started server and its URL."""
    port = free_port()
    process = start(port)
    url = f"http://127.0.0.1:{port}"
    output = Output(process)
    output.wait_for(url)
    yield url, process
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    output.end()


def readme_push() -> str:
    """The README's first curl line."""
    text = (ROOT / "README.md").read_text()
    found = re.search(r"<!-- example: push -->\n```sh\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def wait_for(url: str, job_id: str, wanted: str) -> dict[str, object]:
    """The job once it is in a state."""
    deadline = time.monotonic() + HUNG_S
    while True:
        shown = httpx.get(f"{url}/ojs/v1/jobs/{job_id}", timeout=HUNG_S).json()
        job: dict[str, object] = shown["job"]
        if job["state"] == wanted:
            return job
        assert time.monotonic() < deadline, job
        time.sleep(0.05)


def test_the_readmes_first_job_is_completed(
    server: tuple[str, subprocess.Popen[str]],
) -> None:
    """Pushed by the very curl line, with its arguments as the result."""
    if shutil.which("curl") is None:
        pytest.skip("the README's first lines need curl, and this machine has none")
    url, _ = server
    command = readme_push().replace("http://127.0.0.1:8080", url)
    pushed = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)
    job = json.loads(pushed.stdout)["job"]
    assert wait_for(url, job["id"], "completed")["result"] == ["hello", {"n": 1}]


def test_only_the_demo_queue_is_served(server: tuple[str, subprocess.Popen[str]]) -> None:
    """Every other queue is left to HTTP workers."""
    url, _ = server
    body = {"type": "demo.echo", "args": []}
    first = httpx.post(f"{url}/ojs/v1/jobs", json=body, timeout=HUNG_S).json()["job"]
    demo = body | {"options": {"queue": "demo"}}
    second = httpx.post(f"{url}/ojs/v1/jobs", json=demo, timeout=HUNG_S).json()
    wait_for(url, second["id"], "completed")
    fetched = httpx.post(
        f"{url}/ojs/v1/workers/fetch", json={"queues": ["default"]}, timeout=HUNG_S
    ).json()
    assert [job["id"] for job in fetched["jobs"]] == [first["id"]]


def test_a_failing_demo_job_is_retried(server: tuple[str, subprocess.Popen[str]]) -> None:
    """And shows its error."""
    url, _ = server
    body = {"type": "demo.fail", "args": ["oh"], "options": {"queue": "demo"}}
    job_id = httpx.post(f"{url}/ojs/v1/jobs", json=body, timeout=HUNG_S).json()["id"]
    job = wait_for(url, job_id, "retryable")
    assert isinstance(job["error"], dict)
    assert (job["error"]["type"], job["error"]["message"]) == ("RuntimeError", "oh")


def examples_of(page: str) -> dict[str, str]:
    """The Python blocks of a page that have names."""
    text = (ROOT / page).read_text()
    return dict(re.findall(r"<!-- example: (\w+) -->\n```python\n(.*?)```", text, re.DOTALL))


def test_the_readmes_jobs_run_in_the_local_server(tmp_path: Path) -> None:
    """`ojs-aws local --worker`, with the Lambda worker of docs/workers.md for them."""
    shop = examples_of("README.md")["declare"] + examples_of("docs/workers.md")["lambda"]
    (tmp_path / "shop.py").write_text(shop)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "OJS_PORT": str(port), "OJS_URL": url}
    process = subprocess.Popen(
        [sys.executable, "-m", "ojs_aws.cli", "local", "--worker", "shop:lambda_worker"],
        env=environ,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = Output(process)
    try:
        output.wait_for(str(port))
        body = {"type": "email.send", "args": ["a@b.c", "hi"], "options": {"queue": "email"}}
        pushed = httpx.post(f"{url}/ojs/v1/jobs", json=body, timeout=HUNG_S).json()
        job = wait_for(url, pushed["id"], "completed")
        assert job["result"] == {"sent_to": "a@b.c", "template": "hi"}
    finally:
        process.send_signal(signal.SIGTERM)
        output.end()


@contextmanager
def beside_worker(url: str, *worker: str, cwd: Path = ROOT) -> Iterator[Callable[..., list[str]]]:
    """Run a worker process, and give what runs another program and returns its lines."""
    environ = {**os.environ, "OJS_URL": url, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, *worker], env=environ, cwd=cwd)

    def run(*program: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, *program],
            env=environ,
            cwd=cwd,
            check=True,
            capture_output=True,
            text=True,
            timeout=HUNG_S,
        )
        return done.stdout.splitlines()

    try:
        yield run
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HUNG_S) == 0


def test_the_readmes_jobs_are_sent_and_run(
    server: tuple[str, subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Its worker by `ojs-aws run`, and its program that sends: one is waited for, one waits."""
    examples = examples_of("README.md")
    (tmp_path / "shop.py").write_text(examples["declare"])
    (tmp_path / "send.py").write_text(examples["send"])
    with beside_worker(server[0], "-m", "ojs_aws.cli", "run", "shop:worker", cwd=tmp_path) as run:
        assert run("send.py") == ["{'sent_to': 'ada@example.com', 'template': 'welcome'}"]
    found = httpx.get(
        f"{server[0]}/ojs/v1/admin/jobs", params={"type": "email.send"}, timeout=HUNG_S
    ).json()
    assert sorted(job["state"] for job in found["items"]) == ["completed", "scheduled"]


def test_the_examples_do_what_they_say(server: tuple[str, subprocess.Popen[str]]) -> None:
    """A worker process and a producer, over HTTP."""
    with beside_worker(server[0], "examples/worker.py") as run:
        lines = run("examples/enqueue.py")
    assert "result   {'sent_to': 'ada@example.com'}" in lines
    assert "failed   email.bad_address 'nobody' is no address" in lines


def test_the_example_of_typed_jobs_does_what_it_says(
    server: tuple[str, subprocess.Popen[str]],
) -> None:
    """A model as argument, results with types, a workflow, over HTTP."""
    with beside_worker(server[0], "examples/typed_jobs.py", "worker") as run:
        assert run("examples/typed_jobs.py") == [
            "sent to   ada@example.com",
            "words     3300",
            "workflow  200",
            "failed    email.bad_address 'nobody' is no address",
        ]


def test_getting_started_gets_somewhere(
    server: tuple[str, subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Its worker and its producer, saved and started as the page says."""
    url, _ = server
    named = examples_of("docs/getting-started.md")
    for name in ("jobs", "worker", "enqueue"):
        (tmp_path / f"{name}.py").write_text(named[name])
    with beside_worker(url, "worker.py", cwd=tmp_path) as run:
        result, *lines = run("enqueue.py")
        assert result == "{'sent_to': 'ada@example.com', 'template': 'welcome'}"
        bad, later = (line.rpartition(" ")[2] for line in lines)
        assert (
            httpx.get(f"{url}/ojs/v1/jobs/{later}", timeout=HUNG_S).json()["state"] == "scheduled"
        )
        failed = wait_for(url, bad, "retryable")
        assert "'nobody' is no address" in str(failed["error"])
        assert "next_attempt_at" in failed


@pytest.mark.parametrize("page", ["first-deployment", "migrating-from-sqs"])
def test_the_lambda_workers_of_the_pages_are_handlers(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first deployment, and of the page for those who come from SQS."""
    monkeypatch.setitem(sys.modules, "jobs", SimpleNamespace(jobs=Jobs()))
    text = (ROOT / f"docs/{page}.md").read_text()
    blocks: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(next(block for block in blocks if "LambdaWorker(" in block), names)  # noqa: S102
    assert callable(names["handler"])


def test_an_event_is_shown_within_half_a_second_of_its_transition(
    server: tuple[str, subprocess.Popen[str]],
) -> None:
    """For a reader that follows its cursor: so soon, or within a few looks of a slow machine."""
    url, _ = server
    late = 0
    with httpx.Client(base_url=f"{url}/ojs/v1", timeout=HUNG_S) as http:
        cursor = http.get("/events").json()["cursor"]
        for number in range(20):
            body = {"type": "demo.echo", "args": [number], "options": {"queue": "nobody"}}
            job_id = http.post("/jobs", json=body).json()["id"]
            committed = time.monotonic()
            seen: set[str] = set()
            looks = 0
            while job_id not in seen:
                assert time.monotonic() < committed + HUNG_S
                looks += 1
                page = http.get("/events", params={"cursor": cursor}).json()
                cursor = page["cursor"]
                seen = {event["subject"] for event in page["events"]}
            late += time.monotonic() - committed >= 0.5 and looks > 5
    assert late <= 2


def test_the_example_that_follows_events_goes_on_where_it_ended(
    server: tuple[str, subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Each event once over two runs, by the cursor in the file."""
    url, _ = server
    command = [sys.executable, "examples/events/follow.py", "--once", "--types", "job.enqueued"]
    command += ["--cursor-file", str(tmp_path / "cursor")]

    def follow() -> str:
        environ = {**os.environ, "OJS_URL": url}
        run = subprocess.run(
            command,
            env=environ,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=HUNG_S,
            check=True,
        )
        return run.stdout

    def push() -> str:
        body = {"type": "demo.echo", "args": [], "options": {"queue": "followed"}}
        job_id = str(httpx.post(f"{url}/ojs/v1/jobs", json=body, timeout=HUNG_S).json()["id"])
        time.sleep(0.5)  # the promise of GET events
        return job_id

    first = push()
    assert first in follow()
    second = push()
    again = follow()
    assert second in again
    assert first not in again


def test_test_aids_are_absent_unless_switched_on(
    server: tuple[str, subprocess.Popen[str]],
) -> None:
    """Nobody resets a server by accident."""
    url, _ = server
    assert httpx.post(f"{url}/ojs/v1/test/reset", timeout=HUNG_S).status_code == 404


def test_a_taken_port_is_said_clearly(server: tuple[str, subprocess.Popen[str]]) -> None:
    """With the ways out, before anything else is started."""
    url, _ = server
    second = start(int(url.rpartition(":")[2]))
    output, _ = second.communicate(timeout=HUNG_S)
    assert second.returncode == 1
    assert "--port or OJS_PORT" in output
    assert "Traceback" not in output


def stops_cleanly(process: subprocess.Popen[str], output: Output, sign: signal.Signals) -> None:
    """Exit code 0 and a last word."""
    process.send_signal(sign)
    written = output.end()
    assert process.returncode == 0, written
    assert "Stopped." in written
    assert "Traceback" not in written


def test_it_stops_cleanly_when_interrupted() -> None:
    port = free_port()
    process = start(port)
    output = Output(process)
    output.wait_for(str(port))
    stops_cleanly(process, output, signal.SIGINT)


def test_middleware_and_hooks_of_one_s_own_run_in_the_local_backend() -> None:
    """The settings that deployed functions get, with the file of the documentation.

    This server stops cleanly when it is terminated, too.
    """
    port = free_port()
    process = start(
        port,
        OJS_ENQUEUE_MIDDLEWARE="examples.middleware.audit:backend_chain",
        OJS_HOOKS="tests.e2e.extensions.policies:hooks",
    )
    output = Output(process)
    try:
        output.wait_for(str(port))
        jobs = f"http://127.0.0.1:{port}/ojs/v1/jobs"
        job = httpx.post(
            jobs, json={"type": "policies.checked", "args": [1, 2]}, timeout=HUNG_S
        ).json()["job"]
        assert job["meta"] == {"enqueued_by": "backend", "words": 2}
        shown = httpx.get(jobs.replace("/jobs", "/admin/middleware"), timeout=HUNG_S).json()
        assert [each["name"] for each in shown["enqueue"]] == ["logging", "audit"]
        httpx.delete(f"{jobs}/{job['id']}", timeout=HUNG_S).raise_for_status()
        output.wait_for(f"saw job.cancelled {job['id']}")
    except BaseException:
        process.kill()
        output.end()
        raise
    stops_cleanly(process, output, signal.SIGTERM)


def test_middleware_that_cannot_be_loaded_stops_the_server() -> None:
    """With the setting and the reason; no job is taken without its middleware."""
    process = start(free_port(), OJS_ENQUEUE_MIDDLEWARE="no_such_module:chain")
    output, _ = process.communicate(timeout=HUNG_S)
    assert process.returncode
    assert "OJS_ENQUEUE_MIDDLEWARE is 'no_such_module:chain'" in output
