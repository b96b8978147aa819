"""How many functions of ours a request passes through between its handler and AWS."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final
from unittest import mock

import ojs_aws
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.http.routes import ROUTES, handler_of
from tests.api import Api
from tests.aws import EmbeddedAws, embedded

OURS: Final = str(Path(ojs_aws.__file__).parent)
OPERATIONS: Final = ("push", "fetch", "ack", "fail", "info")
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})
COMPREHENSIONS: Final = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>"})
CLIENT: Final = "RetryingClient."
"""The client of DynamoDB that tries again: to those who call it, it is the client."""


def hops_of_operations() -> Mapping[str, int]:
    """Run a job's life on an embedded AWS and return how deep each operation's write lies.

    Counted are the nested calls of ``ojs_aws`` between the handler and the client of AWS, neither
    of them included; for what writes nothing, those before its first call. Comprehensions count as
    part of their functions, as they do from Python 3.12 on.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with mock.patch("tests.aws.IN_MEMORY", False), embedded() as aws:
            return _life(aws)
    finally:
        logging.disable(before)


def _life(aws: EmbeddedAws) -> Mapping[str, int]:
    api = Api(build_backend(aws.settings, aws.clients, clock=FakeClock(), parallel=IN_ORDER))
    found: dict[str, int] = {}

    def ask(operation: str, method: str, path: str, body: object = None) -> Any:
        with _watched(operation) as calls:
            reply = api.send(method, path, body)
        assert reply.status in {200, 201}, reply.text
        writes = [depth for name, depth in calls if name in WRITES]
        found[operation] = (writes or [depth for _, depth in calls])[0]
        return reply.json

    job = {"type": "demo.echo", "args": [1]}
    fetch = {"queues": ["default"], "count": 2}
    for _ in range(2):  # the second time, what a new server looks up once is known
        ids = [ask("push", "POST", "/ojs/v1/jobs", job)["id"] for _ in range(2)]
        ask("info", "GET", f"/ojs/v1/jobs/{ids[0]}")
        ask("fetch", "POST", "/ojs/v1/workers/fetch", fetch)
        ask("ack", "POST", "/ojs/v1/workers/ack", {"job_id": ids[0]})
        error = {"job_id": ids[1], "error": {"message": "no"}}
        ask("fail", "POST", "/ojs/v1/workers/nack", error)
    return {name: found[name] for name in OPERATIONS}


@contextmanager
def _watched(operation: str) -> Iterator[list[tuple[str, int]]]:
    """Note the AWS calls below an operation's handler, each with its depth."""
    route = next(route for route in ROUTES if route.operation == operation)
    code = handler_of(route).__code__
    calls: list[tuple[str, int]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "_make_api_call":
            depth = _depth(frame, code)
            if depth is not None:
                calls.append((str(frame.f_locals["operation_name"]), depth))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def _depth(frame: FrameType | None, handler: CodeType) -> int | None:
    """Count our frames from here up to the handler; None outside of it."""
    depth = 0
    while frame is not None and frame.f_code is not handler:
        code = frame.f_code
        is_ours = code.co_filename.startswith(OURS) and code.co_name not in COMPREHENSIONS
        depth += is_ours and not code.co_qualname.startswith(CLIENT)
        frame = frame.f_back
    return None if frame is None else depth
