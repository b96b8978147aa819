"""The handlers of docs/lambda-bindings.md run dispatched jobs, in their own languages."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

import pytest

from ojs_aws.adapters.s3 import S3Documents
from ojs_aws.domain.job import JobState
from ojs_aws.worker.delivery.inputs import MAX_EVENT_BYTES
from tests.lambda_runtimes import RUNTIMES, Runtime
from tests.unit.worker.test_bound_functions import Bench

pytestmark = pytest.mark.thorough

PAGE: Final = (Path(__file__).parents[2] / "docs" / "lambda-bindings.md").read_text("utf-8")
KILLS: Final = 20
SLOW: Final = pytest.mark.slow
COMPILED: Final = [pytest.param(each, marks=SLOW) for each in ("go", "java")]
Start = Callable[[str], Runtime]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the handlers of the page."""
    files = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert {name for name, _ in files} == {
        "index.mjs", "main.go", "Mailer.java", "shop.py", "bindings_stack.py",
        "job.mjs", "job_of.py",
    }  # fmt: skip
    for name, text in files:
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def runtime(folder: Path, request: pytest.FixtureRequest) -> Start:
    """Starts the runtime of a language; the test is skipped where it is missing."""

    def start(language: str) -> Runtime:
        running = Runtime(RUNTIMES[language](folder), folder)
        request.addfinalizer(running.end)
        return running

    return start


@pytest.mark.parametrize(
    ("language", "jobs"),
    [
        ("node", 200),
        ("python", 200),
        *(pytest.param(each, 1000, marks=SLOW) for each in ("node", "go", "java")),
    ],
)
def test_each_job_has_one_outcome_whatever_is_killed(
    language: str, jobs: int, runtime: Start
) -> None:
    """A killed process fails its attempt, and the job runs again."""
    running = runtime(language)
    running.killed_each = jobs // KILLS
    bench = Bench()
    bench.returns = running
    retry = {"max_attempts": 10}
    ids = [bench.push(f"{number}@example.com", retry=retry) for number in range(jobs)]
    while bench.world.held("email"):
        bench.whole()
        bench.pass_s(5)
    done = [bench.job(each) for each in ids]
    assert [each.state for each in done] == [JobState.COMPLETED] * jobs
    assert [json.loads(str(each.result)) for each in done] == [
        {"sent_to": f"{number}@example.com"} for number in range(jobs)
    ]
    repeated = sum(each.attempt - 1 for each in done)
    assert repeated == running.events // running.killed_each >= KILLS
    assert running.events == jobs + repeated


@pytest.mark.parametrize("language", ["node", "python", *COMPILED])
def test_what_a_handler_raises_has_its_runtimes_form(language: str, runtime: Start) -> None:
    """Type, message and stack of an unknown type of job; Go's errors have no stack."""
    bench = Bench()
    bench.returns = runtime(language)
    job_id = bench.push("ada@example.com", job_type="email.unknown")
    bench.whole()
    (failure,) = bench.job(job_id).failures
    kind, word, source = {
        "node": ("TypeError", "not a function", "index.mjs"),
        "python": ("KeyError", "email.unknown", "shop.py"),
        "go": ("errorString", "email.unknown", ""),
        "java": ("java.lang.IllegalArgumentException", "email.unknown", "Mailer.java"),
    }[language]
    assert failure.type == kind
    assert word in failure.message
    assert source in " ".join(failure.backtrace)


def test_the_stack_of_the_page_is_named_as_the_text_says() -> None:
    """The alias is that of the binding."""
    assert '"mailer": LambdaTarget(' in PAGE
    assert "`ojs-mailer`" in PAGE


LINKED: Final = {
    "node": (
        "index.mjs",
        """
        import { jobOf } from "./job.mjs";
        export const handler = async (event) => (await jobOf(event)).args[0].length;
        """,
    ),
    "python": (
        "shop.py",
        """
from job_of import job_of

def handler(event, context):
    return len(job_of(event)["args"][0])
        """,
    ),
}
"""Handlers that read their jobs by the functions of the page."""


class Bucket(http.server.BaseHTTPRequestHandler):
    """Serves the objects of a bucket to whoever has a link."""

    objects: ClassVar[dict[str, bytes]]

    def do_GET(self) -> None:
        """Answer an object, or 403 as S3 does for what has ended."""
        found = self.objects.get(self.path)
        self.send_response(403 if found is None else 200)
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.mark.parametrize("language", [*LINKED])
def test_a_handler_of_the_page_reads_a_large_job_by_its_link(
    language: str, folder: Path, runtime: Start
) -> None:
    """One that is not there is given back, and so is one that nobody answers for."""
    name, text = LINKED[language]
    (folder / name).write_text(text)
    bench, objects = Bench(), dict[str, bytes]()
    bench.returns = runtime(language)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Serving", (Bucket,), {"objects": objects})
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"

    class Linked(S3Documents):
        def put(self, key: str, text: str) -> None:
            objects[f"/{key}"] = text.encode()

        def link(self, key: str, seconds: int) -> str:
            return f"{url}/{key}"

    bench.dispatcher.documents = Linked(lambda: bench.world.aws.s3, "documents")
    small, large = bench.push("x" * 9), bench.push("x" * MAX_EVENT_BYTES)
    bench.dispatch()
    kept = {**objects}
    objects.clear()
    bench.lambda_.run()
    bench.settle()
    assert bench.job(small).result == "9"
    waiting = bench.job(large)
    assert (waiting.uncounted_attempts, len(kept)) == (1, 1)
    assert "403" in waiting.failures[-1].message
    bench.pass_s(1)
    bench.whole()
    assert bench.job(large).result == str(MAX_EVENT_BYTES)
    server.shutdown()
    server.server_close()
    nobody = bench.push("x" * MAX_EVENT_BYTES)
    bench.whole()
    assert bench.job(nobody).uncounted_attempts == 1
