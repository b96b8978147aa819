"""What a worker process says: a banner, one line for each job, tracebacks; never arguments."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ojs_aws import Jobs
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.middleware.context import JobContext
from ojs_aws.worker import Worker
from ojs_aws.worker.console import (
    announce,
    banner,
    for_process,
    is_configured,
    speaking,
    unserved,
)
from ojs_aws.worker.failure import SnoozeError
from ojs_aws.worker.job_logs import JobLines, JsonFormatter
from tests.unit.worker.doubles import FakeSource, StillTimer, job, settle

SECRET = "s3cret-argument"


@contextmanager
def unconfigured() -> Iterator[None]:
    """A process whose application has not set up logging; pytest has, and so do our functions."""
    loggers = [logging.getLogger(), logging.getLogger("ojs_aws")]
    before = [(each, each.handlers, each.level) for each in loggers]
    for each in loggers:
        each.handlers = []
    loggers[1].setLevel(logging.NOTSET)
    try:
        yield
    finally:
        for each, handlers, level in before:
            each.handlers = handlers
            each.setLevel(level)


class Bench:
    """A worker that speaks, with the default middleware."""

    def __init__(self, **given: Any) -> None:
        self.source = FakeSource()
        self.worker = Worker(source=self.source, timer=StillTimer(), **given)
        self.worker.handler("email.send")(self.send)
        self.worker.handler("email.fail")(self.fail)
        self.worker.handler("email.later")(self.later)

    async def send(self, ctx: JobContext, to: str) -> str:
        ctx.log("info", "sending", template="welcome")
        return to

    async def fail(self, ctx: JobContext, to: str) -> None:
        raise ValueError("no such user")

    async def later(self, ctx: JobContext, to: str) -> None:
        raise SnoozeError("10m")

    async def run(self, *types: str, is_app_logging: bool = False) -> None:
        """Execute jobs of these types."""
        self.source.ready += [job(n, each, SECRET) for n, each in enumerate(types)]
        with nullcontext() if is_app_logging else unconfigured(), speaking(self.worker):
            await self.worker_until_idle()

    async def worker_until_idle(self) -> None:
        serving = asyncio.ensure_future(self.worker.serve())
        await settle()
        self.worker.lifecycle.terminate("test")
        await settle()
        await serving


def lines(capsys: pytest.CaptureFixture[str], about: str) -> list[str]:
    """What was written about a job type, without the time."""
    return [line[20:] for line in capsys.readouterr().err.splitlines() if about in line]


async def test_a_job_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Type, id, attempt, outcome, duration; what the handler logs comes before it."""
    await Bench().run("email.send")
    said, ended = [line for line in lines(capsys, job(0).id) if line]
    assert said == f"INFO    sending [email.send {job(0).id} attempt 1] template=welcome"
    assert ended == f"INFO    email.send {job(0).id} attempt 1 completed in less than 1ms"


async def test_a_failure_has_a_traceback_of_the_application_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From the handler on: the frames of the chain explain nothing."""
    await Bench().run("email.fail")
    err = capsys.readouterr().err
    assert f"ERROR   email.fail {job(0).id} attempt 1 failed in less than 1ms: ValueError" in err
    frames = [line for line in err.splitlines() if line.startswith("  File")]
    assert len(frames) == 1
    assert "test_console.py" in frames[0]
    assert err.count("no such user") == 3, "the line, the statement, and the traceback's end"


async def test_no_frame_of_the_package_stands_within_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A thread's frames come first, a refusal of this package last, and its cause has some, too."""
    bench = Bench()

    def refused(ctx: object, to: str) -> None:
        try:
            Jobs().configure("no function")  # type: ignore[arg-type]
        except TypeError as error:
            raise ValueError("no settings") from error

    bench.worker.handler("email.refused")(refused)
    with patch.object(bench, "worker_until_idle", lambda: until_over(bench)):
        await bench.run("email.refused")
    frames = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  File")]
    assert len(frames) == 2
    assert all("test_console.py" in frame for frame in frames)


async def until_over(bench: Bench) -> None:
    """Serve until the job, which runs in a thread, has failed."""
    serving = asyncio.ensure_future(bench.worker.serve())
    while not bench.source.failed:
        await settle()
    bench.worker.lifecycle.terminate("test")
    await serving


async def test_arguments_are_never_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever becomes of the job."""
    await Bench().run("email.send", "email.fail", "email.later", "email.absent")
    assert SECRET not in capsys.readouterr().err


@pytest.mark.parametrize("given", [{}, {"middleware": []}])
async def test_an_error_that_cannot_be_shown_is_reported_all_the_same(given: Any) -> None:
    """A line is for people, and so are the reports of middleware; its job has failed by it."""

    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    bench = Bench(**given)

    @bench.worker.handler("email.silent")
    async def silent(ctx: JobContext, to: str) -> None:
        raise SilentError

    await bench.run("email.silent")
    assert bench.source.failed[job(0).id]["type"] == "SilentError"


async def test_a_huge_message_does_not_fill_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench()

    @bench.worker.handler("email.huge")
    async def huge(ctx: JobContext, to: str) -> None:
        raise ValueError("x" * 1_000_000)

    await bench.run("email.huge")
    shown = capsys.readouterr().err
    assert "ValueError: xxx" in shown
    assert len(shown) < 50_000


async def test_a_snooze_says_when_the_job_comes_again(capsys: pytest.CaptureFixture[str]) -> None:
    """And is no failure."""
    await Bench().run("email.later")
    (line,) = lines(capsys, "email.later " + job(0).id)
    assert line.startswith("INFO    email.later")
    assert line.endswith("snoozed in less than 1ms; it comes again in 10m")


async def test_a_line_counts_the_attempts_that_count(capsys: pytest.CaptureFixture[str]) -> None:
    """As the job's `max_attempts` does: those that were snoozed are left out."""
    bench, snoozed = Bench(), job(0, "email.fail", "x", x_aws_uncounted_attempts=4)
    snoozed["attempt"] = 6
    bench.source.ready = [snoozed]
    await bench.run()
    (line,) = lines(capsys, "email.fail " + job(0).id)
    assert f"{job(0).id} attempt 2 failed" in line


@pytest.mark.parametrize(("wait_s", "level"), [(0, "ERROR  "), (60, "WARNING")])
async def test_a_type_without_a_handler_is_one_line(
    capsys: pytest.CaptureFixture[str], wait_s: float, level: str
) -> None:
    """With the nearest name, whether the job waits for another worker or is discarded."""
    await Bench(missing_handler_wait_s=wait_s).run("email.sedn")
    (line,) = lines(capsys, "email.sedn")
    assert line.startswith(f"{level} No handler is registered for 'email.sedn'. Did you mean")
    assert "'email.send'?" in line
    assert job(0).id in line


async def test_a_type_without_a_handler_is_logged_by_every_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As a record with fields, also where no worker speaks: in Lambda, or under a framework."""
    bench = Bench(middleware=[], missing_handler_wait_s=0)
    bench.source.ready = [job(1, "email.sedn")]
    with patch.object(logging.getLogger("ojs_aws"), "propagate", new=True):
        await bench.worker_until_idle()
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "Did you mean 'email.send'?" in record.getMessage()
    assert vars(record)["job_type"] == "email.sedn"


async def test_the_applications_logging_is_used_where_there_is_some(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Records have fields there, and what middleware says of an execution is not repeated."""
    bench = Bench()
    ours = logging.getLogger("ojs_aws")
    with caplog.at_level(logging.INFO, logger="ojs_aws"), patch.object(ours, "propagate", new=True):
        await bench.run("email.send", "email.fail", is_app_logging=True)
    about = [each for each in caplog.records if {"attempt", "status"} <= vars(each).keys()]
    assert [(each.status, each.job_type) for each in about] == [  # type: ignore[attr-defined]
        ("completed", "email.send"),
        ("failed", "email.fail"),
    ]
    assert not {"Job started", "Job completed"} & {each.getMessage() for each in caplog.records}


def test_only_our_loggers_are_set_up_and_left_as_they_were() -> None:
    """The root logger is the application's."""
    ours, root, worker = logging.getLogger("ojs_aws"), logging.getLogger(), Bench().worker
    level = root.level
    with unconfigured():
        with speaking(worker):
            assert (root.handlers, root.level) == ([], level)
            assert [type(each) for each in ours.handlers] == [logging.StreamHandler]
            assert isinstance(worker.job_lines, JobLines)
        assert (ours.handlers, ours.level) == ([], logging.NOTSET)
        assert vars(worker)["job_lines"] is None


async def work_logging(*, is_json: bool = False, level: int = logging.INFO) -> None:
    """Run a job as ``ojs-aws run`` does, whose function logs."""
    bench, shop = Bench(middleware=[]), logging.getLogger("parcels.mail")

    async def later(_: JobContext, to: str) -> None:
        await asyncio.to_thread(shop.info, "sending to %s", "ada", extra={"template": "welcome"})
        shop.debug("not shown")

    bench.worker.handler("mail.log")(later)
    bench.source.ready = [job(1, "mail.log", "x")]
    with unconfigured(), speaking(bench.worker, level=level, has_application=True, is_json=is_json):
        await bench.worker_until_idle()
    shop.info("outside")


async def test_what_a_job_logs_is_shown_with_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    """Also from other threads; nothing is set up afterwards."""
    await work_logging()
    (line,) = lines(capsys, "sending to ada")
    assert line.startswith("INFO    sending to ada ")
    assert line.endswith(f" [mail.log {job(1).id} attempt 1] template=welcome")
    await work_logging(level=logging.WARNING)
    assert lines(capsys, "") == []


async def test_records_can_be_shown_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """One object in each line, those of the worker as well."""
    await work_logging(is_json=True)
    shown = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (found,) = (each for each in shown if each["logger"] == "parcels.mail")
    datetime.fromisoformat(found.pop("timestamp"))
    assert found == {
        "level": "INFO",
        "logger": "parcels.mail",
        "message": "sending to ada",
        "template": "welcome",
        "job_id": job(1).id,
        "job_type": "mail.log",
        "queue": job(1).queue,
        "attempt": 1,
    }
    assert {each["job_id"] for each in shown if each.get("status") == "completed"} == {job(1).id}


def test_an_error_is_a_member_of_its_record_in_json() -> None:
    """And what JSON cannot say is written as text."""
    problem = ValueError("it is no number")
    info = (ValueError, problem, None)
    record = logging.LogRecord("a", logging.ERROR, "", 0, "%s", ("b",), info)
    record.path = Path("c")
    shown = json.loads(JsonFormatter().format(record))
    assert (shown["message"], shown["path"]) == ("b", "c")
    assert shown["exception"].endswith("ValueError: it is no number")


async def test_the_applications_logging_wins_over_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is added to it."""
    root, worker = logging.getLogger(), Bench().worker
    with unconfigured():
        root.addHandler(logging.NullHandler())
        level = root.level
        with speaking(worker, level=logging.DEBUG, has_application=True, is_json=True):
            assert (len(root.handlers), root.level) == (1, level)
            logging.getLogger("shop").error("hidden")
    assert capsys.readouterr().err == ""


def test_a_process_keeps_to_the_logging_of_its_application() -> None:
    """Worker.run() speaks where nothing is set up; the HTTP client is quiet in any case."""
    worker, http = Bench().worker, logging.getLogger("httpx")
    earlier = http.level
    http.setLevel(logging.NOTSET)
    try:
        assert is_configured()  # by pytest
        with for_process(worker):
            assert worker.job_lines is None
            assert http.level == logging.WARNING
        http.setLevel(logging.DEBUG)
        with for_process(worker):
            assert http.level == logging.DEBUG
    finally:
        http.setLevel(earlier)


def test_the_banner_says_what_the_worker_is() -> None:
    """Version, server, queues, job types, concurrency and middleware; no password."""
    worker = Worker("http://ada:pass@127.0.0.1:1", queues=["email", "low"], worker_id="w1")
    worker.registry.add("email.send", lambda ctx: None)
    said = banner(worker)
    assert said.splitlines()[0].endswith("serves as w1")
    assert "server       http://127.0.0.1:1/ojs/v1" in said
    assert "queues       email, low" in said
    assert "jobs         email.send" in said
    assert "concurrency  10" in said
    assert "middleware   logging, metrics, error_reporting, timeout" in said
    assert "pass" not in said


def test_a_long_list_of_jobs_is_cut() -> None:
    worker = Bench(middleware=[]).worker
    for number in range(30):
        worker.registry.add(f"a.b{number}", print)
    assert "and 13 more" in banner(worker)
    assert "server       a FakeSource" in banner(worker)
    assert "middleware   none" in banner(worker)


def declared() -> Jobs:
    """Declare jobs of two queues, and one that others run."""
    jobs = Jobs()
    jobs.job("email.send", queue="email")(lambda: None)
    jobs.job("report.build")(lambda: None)
    jobs.remote("video.encode", queue="media")(lambda: None)
    return jobs


async def test_a_misspelt_queue_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A worker starts for it in vain."""
    worker = Worker(
        declared(), source=FakeSource(), timer=StillTimer(), queues=["emial", "default"]
    )
    announce(worker)
    [warning] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warning == (
        "No job is declared for the queue 'emial'. Did you mean 'email'? "
        "No queue of this worker has 'email.send' (queue email)."
    )


@pytest.mark.parametrize("queues", [None, ["email"], ["default", "email", "urgent"]])
def test_a_worker_of_some_queues_is_no_mistake(queues: list[str] | None) -> None:
    """Other workers serve the others; jobs may be sent to a queue that no declaration names."""
    assert not unserved(Worker(declared(), source=FakeSource(), queues=queues))


def test_handlers_without_types_may_serve_any_queue() -> None:
    worker = Worker(declared(), source=FakeSource(), queues=["other"])
    worker.registry.add("a.b", print)
    assert not unserved(worker)


def test_a_worker_is_made_from_the_environment() -> None:
    """The URL and the key; what else a worker takes is given by name."""
    worker = Worker.from_env({"OJS_URL": "http://ojs:1"}, queues=["email"], concurrency=3)
    assert (worker.server, worker.queues, worker.concurrency) == (
        "http://ojs:1/ojs/v1",
        ("email",),
        3,
    )
    with pytest.raises(ValueError, match="Set OJS_URL to the URL of an OJS server"):
        Worker.from_env({})


def test_a_key_of_the_environment_is_used() -> None:
    worker = Worker.from_env({"OJS_URL": "https://ojs", "OJS_API_KEY": "ojs_k"})
    assert worker.server == "https://ojs/ojs/v1"
    with pytest.raises(ValueError, match=r"OJS_URL|two|plain|key"):
        Worker.from_env({"OJS_URL": "http://far.example", "OJS_API_KEY": "ojs_k"})


async def test_what_the_command_line_says_replaces_what_the_worker_says() -> None:
    """Queues and concurrency, in the fetches as well as in the heartbeats."""
    bench = Bench(middleware=[])
    bench.worker.override(queues=["low", "email"], concurrency=2)
    assert (bench.worker.queues, bench.worker.concurrency) == (("low", "email"), 2)
    await bench.worker_until_idle()
    assert bench.source.fetches[0] == 2
    with pytest.raises(InvalidRequestError, match="queue"):
        bench.worker.override(queues=["A b"])
    with pytest.raises(ValueError, match="positive"):
        bench.worker.override(concurrency=0)
