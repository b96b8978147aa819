"""The functions in one process, and what is judged of what they write."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from typing import Any, Final

from aws_lambda_powertools import Logger

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord
from ojs_aws.local.lambdas import LambdaContext, http_answer, http_event
from ojs_aws.services.backend import Backend
from ojs_aws.transport.events.stream import build_stream
from ojs_aws.transport.events.tick import build_tick
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.routes import group_of
from tests.api import OJS, Reply, as_bytes
from tests.simulation.promises import Promises

SILENT: Final = Logger("faults", stream=io.StringIO(), level="CRITICAL")


def quiet() -> None:
    """What is logged of faulty calls says nothing new."""
    logging.getLogger("ojs_aws").setLevel(logging.CRITICAL + 1)


class Process:
    """The functions of a deployment, in one process that may die."""

    def __init__(self, backend: Backend) -> None:
        """Know nothing yet."""
        self.backend = backend
        self.tick = build_tick(backend, SILENT)
        self.stream = build_stream(backend, read_image, SILENT, count=lambda *_: None)
        self._routes: dict[Any, Any] = {}

    def send(self, method: str, path: str, body: object) -> Reply:
        """A request of a client."""
        group = group_of(method, path)
        if group not in self._routes:
            self._routes[group] = build_resolver(self.backend, group, logger=SILENT)
        content = as_bytes(body)
        headers = {"content-type": OJS} if content else {}
        event = http_event(method, path, "", headers, content)
        answer = http_answer(self._routes[group](event, LambdaContext("test", 29.0)))
        return Reply(answer.status, answer.headers, answer.body.decode())


class Judge(Promises):
    """The promises, where operators change priorities, and workers report progress."""

    def _wrong_stay(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        if self.cause().kind != "patch":
            yield from super()._wrong_stay(before, after)

    def _wrong_change(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        is_both = self.cause().kind == "beat" and after.version == before.version + 2
        for problem in super()._wrong_change(before, after):
            if not (is_both and problem.startswith("version")):  # progress with a checkpoint
                yield problem

    def check_events(self, where: str, events: Sequence[Event]) -> None:
        """Events of a job without a transition are published beside the others."""
        super().check_events(where, [each for each in events if each.type != "job.progress"])
