"""Totals of queues say what the lists say, whatever ends a job, and whenever they are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.stream import build_stream
from tests.api import Api
from tests.aws import EmbeddedAws, changes_here

DEAD: Final = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
ERROR: Final = {"code": "handler_error", "message": "no"}


@dataclass
class Deployed:
    """A backend, its tick, and its stream, which is read when a test says so."""

    aws: EmbeddedAws
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.backend = build_backend(
            self.aws.settings, self.aws.clients, clock=self.clock, parallel=IN_ORDER
        )
        self.stream = changes_here(self.aws)
        self.consume = build_stream(self.backend, read_image, measure=lambda *_: None)
        self.api = Api(self.backend)

    def tick(self, after_s: int = 0) -> None:
        """Let the minute's tick come."""
        self.clock.advance(s=after_s)
        self.backend.upkeep.sweep.tick()

    def flow(self) -> None:
        """Let the stream's consumer read what was committed."""
        while (taken := self.stream())[0]:
            for record in taken[0]:
                record["dynamodb"]["ApproximateCreationDateTime"] = self.clock.at / 1000
            self.consume({"Records": taken[0]}, None)
            taken[1]()
        taken[1]()

    def totals(self) -> dict[str, int]:
        """What all queues hold, by their totals."""
        return {k: v for k, v in self.backend.statistics.totals().jobs.items() if v}

    def lists(self) -> dict[str, int]:
        """What the lists of the queue hold."""
        counts = self.backend.statistics.totals("default").jobs
        return {k: v for k, v in counts.items() if v}

    def held(self) -> list[str]:
        """Fetch what there is; the ids."""
        return [job["id"] for job in self.api.fetch(count=6)]

    def failed(self, **more: Any) -> list[str]:
        """Fail the only attempt of all jobs."""
        ids = self.held()
        for job in ids:
            self.worker("nack", job, error=ERROR, **more)
        return ids

    def worker(self, what: str, job: str, **more: Any) -> None:
        """Let the worker report something of a job."""
        reply = self.api.post(f"/workers/{what}", {"job_id": job, "worker_id": "w", **more})
        assert reply.status == 200, reply.text

    def of_each(self, ids: list[str], method: str, path: str, status: int = 200) -> None:
        """Send a request for each job."""
        for job in ids:
            reply = self.api.send(method, f"/ojs/v1{path.format(job)}")
            assert reply.status == status, reply.text


@pytest.fixture
def deployed(aws: EmbeddedAws) -> Deployed:
    """Six jobs in a queue that nobody has counted."""
    deployed = Deployed(aws)
    for number in range(6):
        options = {"retry": DEAD} if number % 2 else {"retry": {"max_attempts": 3}}
        deployed.api.push(args=[number], options={"queue": "default", **options})
    return deployed


def lost(deployed: Deployed) -> None:
    """Nobody hears of the worker any more; the tick ends its reservations."""
    deployed.held()
    deployed.clock.advance(s=60)


def completed(deployed: Deployed) -> None:
    """All are completed."""
    for job in deployed.held():
        deployed.worker("ack", job)


def snoozed(deployed: Deployed) -> None:
    """All come back later, and are due by the tick."""
    for job in deployed.held():
        deployed.worker("nack", job, requeue=True, delay_ms=30_000)
    deployed.clock.advance(s=60)


def failed(deployed: Deployed) -> None:
    """Three are retried, three are dead letters."""
    deployed.failed()


def cancelled(deployed: Deployed) -> None:
    """Two are cancelled while they run, four while they wait."""
    listed = deployed.api.get("/admin/jobs").json["jobs"]
    deployed.api.fetch(count=2)
    deployed.of_each([job["id"] for job in listed], "DELETE", "/jobs/{}")


def replayed(deployed: Deployed) -> None:
    """Dead letters come back."""
    ids = deployed.failed()
    deployed.of_each(ids[1::2], "POST", "/dead-letter/{}/retry")


def deleted(deployed: Deployed) -> None:
    """Dead letters are deleted."""
    ids = deployed.failed()
    deployed.of_each(ids[1::2], "DELETE", "/dead-letter/{}")


def purged(deployed: Deployed) -> None:
    """The waiting jobs of the queue are deleted."""
    deployed.api.fetch(count=2)
    reply = deployed.api.post("/queues/default/purge", {"states": ["available"], "confirm": True})
    assert reply.status == 200, reply.text


def batched(deployed: Deployed) -> None:
    """Others come in a batch, some of them for later."""
    jobs = [{"type": "a.b", "args": []}, {"type": "a.b", "args": [], "options": {"delay": "1h"}}]
    reply = deployed.api.post("/jobs/batch", {"jobs": jobs * 3})
    assert reply.status == 201, reply.text


ENDS: Final = (lost, completed, snoozed, failed, cancelled, replayed, deleted, purged, batched)


@pytest.mark.parametrize("end", ENDS)
def test_totals_agree_with_the_lists_once_the_stream_is_read(
    deployed: Deployed, end: Callable[[Deployed], None]
) -> None:
    """Also where the tick counts the queue between a change and the stream's consumer."""
    deployed.flow()
    end(deployed)
    deployed.tick()
    deployed.flow()
    assert deployed.totals() == deployed.lists()
    for _ in range(2):
        deployed.tick(after_s=60)
        deployed.flow()
        assert deployed.totals() == deployed.lists()


@pytest.mark.parametrize("end", [lost, deleted])
def test_no_count_corrects_totals_while_the_stream_is_held_back(
    deployed: Deployed, end: Callable[[Deployed], None]
) -> None:
    """Ticks find the same difference again and again, until its changes are counted."""
    deployed.flow()
    end(deployed)
    for _ in range(4):
        deployed.tick(after_s=60)
    deployed.flow()
    assert deployed.totals() == deployed.lists()
