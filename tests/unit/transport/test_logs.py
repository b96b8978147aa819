"""What every line of the functions' logs says: which request, which invocation, which job."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from ojs_aws.bootstrap import InThreads
from ojs_aws.transport.events.tick import build_tick
from ojs_aws.transport.logs import NAME, function_logger
from tests.api import Api
from tests.simulation.world import World

JOB = "019503e1-7b2a-7000-8000-000000000001"
W3C = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def written() -> io.StringIO:
    """What was logged."""
    return io.StringIO()


@pytest.fixture
def logger(written: io.StringIO, request: pytest.FixtureRequest) -> Logger:
    """The functions' log, kept."""
    return Logger(service=request.node.name, stream=written)


@pytest.fixture
def api(world: World, logger: Logger) -> Api:
    """The functions, with that log."""
    return Api(world.backend, logger)


def lines(written: io.StringIO) -> list[dict[str, Any]]:
    """The lines so far."""
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_the_line_of_a_request_names_its_job(api: Api, written: io.StringIO) -> None:
    """By id, type, queue and trace, beside the ids of the request and the invocation."""
    meta = {"traceparent": f"00-{W3C}-00f067aa0ba902b7-01"}
    job = {"id": JOB, "type": "email.send", "args": [1], "meta": meta}
    api.post("/jobs", job, headers={"X-Request-Id": "req-1"})
    (line,) = lines(written)
    assert line["correlation_id"] == "req-1"
    assert line["function_request_id"]
    assert (line["job_id"], line["job_type"]) == (JOB, "email.send")
    assert (line["queue"], line["trace_id"]) == ("default", W3C)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/workers/fetch", {"queues": ["default"], "worker_id": "w"}),
        ("/workers/ack", {"job_id": JOB}),
        ("/workers/nack", {"job_id": JOB, "error": {"type": "E", "message": "m"}}),
    ],
)
def test_lines_of_workers_requests_name_the_job(
    api: Api, written: io.StringIO, path: str, body: object
) -> None:
    """Also of a report that is refused."""
    api.post("/jobs", {"id": JOB, "type": "email.send", "args": []})
    api.post(path, body)
    assert lines(written)[-1]["job_id"] == JOB


def test_a_line_that_names_half_of_a_surrogate_pair_is_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON can say it, and UTF-8 cannot: the line would be lost."""
    written = io.TextIOWrapper(io.BytesIO(), "utf-8")
    logger = function_logger()
    monkeypatch.setattr(logger.registered_handler, "stream", written)
    refused = Api(world.backend, logger).post("/jobs", r'{"type": "é\ud800", "args": []}')
    written.seek(0)
    assert (refused.status, ascii(json.loads(written.read())["job_type"])) == (
        400,
        r"'\xe9\ud800'",
    )


def test_a_batch_names_its_jobs_up_to_a_number(api: Api, written: io.StringIO) -> None:
    """So that a line stays a line."""
    api.post("/jobs/batch", {"jobs": [{"type": "a.b", "args": [n]} for n in range(30)]})
    assert len(lines(written)[-1]["job_id"].split(",")) == 20
    assert lines(written)[-1]["job_type"] == "a.b"


def test_the_next_request_begins_with_nothing_of_the_one_before(
    api: Api, written: io.StringIO
) -> None:
    """One process answers many."""
    api.post("/jobs", {"id": JOB, "type": "a.b", "args": []})
    api.get("/health")
    assert not {"job_id", "queue"} & lines(written)[-1].keys()


def test_a_line_from_a_thread_has_the_requests_ids(logger: Logger, written: io.StringIO) -> None:
    """Calls are made side by side in threads, which log, too."""
    logger.thread_safe_append_keys(correlation_id="req-1", job_id=JOB)
    threads = InThreads()
    try:
        threads.both(lambda: logger.info("one"), lambda: None)
        list(threads.each(logger.info, ["two", "three"]))
    finally:
        logger.thread_safe_clear_keys()
    assert [(line["correlation_id"], line["job_id"]) for line in lines(written)] == [
        ("req-1", JOB)
    ] * 3


def test_lines_of_the_tick_have_the_invocations_id(
    world: World, logger: Logger, written: io.StringIO
) -> None:
    """And it is gone with the invocation."""

    class Context:
        aws_request_id = "inv-1"

    build_tick(world.backend, logger)({}, Context())
    assert {line["function_request_id"] for line in lines(written)} == {"inv-1"}
    logger.info("afterwards")
    assert "function_request_id" not in lines(written)[-1]


@pytest.fixture
def own_level() -> Iterator[logging.Logger]:
    """The functions' logger, left as it was found."""
    logger = logging.getLogger(NAME)
    before = logger.level
    yield logger
    logger.setLevel(before)


@pytest.mark.parametrize(
    ("level", "least"), [("WARNING", "WARNING"), ("ERROR", "ERROR"), ("INFO", "INFO")]
)
def test_a_level_above_lambdas_own_is_kept_by_the_function(
    monkeypatch: pytest.MonkeyPatch, own_level: logging.Logger, level: str, least: str
) -> None:
    """Lambda lets INFO through, since it drops metrics otherwise; Powertools alone would, too."""
    own_level.setLevel(logging.NOTSET)
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", "INFO")
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", level)
    function_logger({"POWERTOOLS_LOG_LEVEL": level})
    assert logging.getLevelName(own_level.getEffectiveLevel()) == least
    child = logging.getLogger(f"{NAME}.services.sweep")
    assert child.isEnabledFor(logging.INFO) is (least == "INFO")
