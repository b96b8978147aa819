"""A backend for tests of the relay, which can be down, full, or refuse single jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aws_lambda_powertools import Logger

from ojs_aws import Client
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.services.jobs.render import render_job
from tests.api import Api
from tests.simulation.world import World

Fault = Callable[[Sequence[Job]], OjsError | None]


@dataclass
class Backend:
    """The services over an AWS in memory, behind a transport that counts and fails.

    :ivar batches: the ids of each batch that was asked for, taken or not.
    :ivar fault: returns the error for a batch; None lets it pass.
    :ivar late_fault: the same, after the batch took effect: the answer is lost.
    """

    world: World = field(default_factory=World)
    batches: list[list[str]] = field(default_factory=list)
    fault: Fault | None = None
    late_fault: Fault | None = None

    def client(self) -> Client:
        """Return a client of it, as a relay has one."""
        return Client(transport=_Transport(self), middleware=[])

    @property
    def jobs(self) -> list[JobRecord]:
        """Return the jobs that it has."""
        return list(self.world.stored.jobs.values())

    @property
    def ids(self) -> list[str]:
        """Return the ids of the jobs that it has, in the order in which they were stored."""
        return [job.id for job in self.jobs]

    def get(self, job_id: str) -> Job:
        """Return a job as callers see it."""
        return Job.from_members(render_job(self.world.backend.jobs.info(job_id)))


@contextmanager
def served(backend: Backend) -> Iterator[str]:
    """Serve a backend by HTTP, for relays that are processes; yield its address."""
    quiet = Logger(service="kills", level="CRITICAL")
    api, one_at_a_time = Api(backend.world.backend, quiet), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        """Passes requests on to the functions, which log nothing here."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with one_at_a_time:
                reply = api.send("POST", self.path, body, headers=dict(self.headers))
            answer = reply.text.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.headers["Content-Type"])
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing: the relay is killed while it asks."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Transport(InProcessTransport):
    def __init__(self, backend: Backend) -> None:
        super().__init__(backend.world.backend)
        self._of = backend

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        self._of.batches.append([job.id for job in jobs])
        _raise(self._of.fault, jobs)
        stored = await super().push_all(jobs)
        _raise(self._of.late_fault, jobs)
        return stored


def _raise(fault: Fault | None, jobs: Sequence[Job]) -> None:
    if fault is not None and (problem := fault(jobs)) is not None:
        raise problem
