"""Runs threads that enqueue, execute and change the same jobs over an unreliable AWS.

The table is DynamoDB Local's, the threads share few processes' worth of services, and each request
is noted with its answer. All of it is bounded: by a number of requests, and by time.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast
from unittest.mock import patch

import boto3

from benchmarks.soak_history import Shown, Wanted
from benchmarks.soak_oracle import ENDED, breaches
from benchmarks.soak_requests import Requester, Shared
from benchmarks.unreliable_aws import (
    Faults,
    LaggingIndex,
    Trouble,
    UnreliableHttp,
    UnreliableQueue,
    now_ms,
)
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.sqs import MessageQueue
from ojs_aws.bootstrap import AwsClients, aws_clients, build_backend
from ojs_aws.config import Settings
from ojs_aws.local.aws import REGION, RemoteStream, create_queues, create_table
from ojs_aws.memory_aws.calls import Calls
from ojs_aws.memory_aws.sqs import MemorySqs
from ojs_aws.services.backend import Backend
from ojs_aws.transport.events.stream import build_stream
from tests.dynamodb_local import running

QUEUES: Final = ("soak-a", "soak-b")
PROCESSES: Final = 2

Progress = Callable[[str], None]
SETTINGS: Final = Settings(
    queues=QUEUES,
    allow_undeclared_queues=False,
    stream_lists_completed=True,
    stream_deletes_messages=True,
)
QUIET_S: Final = 90.0
"""How long the jobs may take to end once nothing goes wrong any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPlan:
    """Says how much is tried.

    :ivar requests: of all threads together.
    :ivar longest_s: when they stop, whatever they have done.
    """

    threads: int = 8
    requests: int = 20_000
    longest_s: float = 600.0
    seed: int = 1
    faults: Faults = field(default_factory=Faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadResult:
    """Says what came of it.

    :ivar outcomes: requests by their kind and outcome.
    :ivar met: faults by their kind.
    """

    seconds: float
    outcomes: Counter[str]
    states: Counter[str]
    met: Counter[str]
    problems: list[str]


@dataclass
class Deployment:
    """Holds the services of some processes over one table, and what makes AWS unreliable."""

    trouble: Trouble
    clients: AwsClients
    streams: Any
    sessions: list[UnreliableHttp] = field(default_factory=list)
    backends: list[Backend] = field(default_factory=list)

    @classmethod
    def over(cls, url: str, trouble: Trouble) -> Deployment:
        """Create the table, and the processes with their own clients and caches."""
        clients = aws_clients(url, REGION)
        create_table(clients.dynamodb, SETTINGS.table)
        streams = boto3.client("dynamodbstreams", endpoint_url=url, region_name=REGION)
        made = cls(trouble, clients, streams)
        sqs: Any = MemorySqs(Calls(now_ms))
        prefix = create_queues(sqs, SETTINGS)
        queue = MessageQueue(sqs, SETTINGS.queue_prefix, prefix)
        messages = UnreliableQueue(queue, trouble)
        for _ in range(PROCESSES):
            dynamodb = aws_clients(url, REGION).dynamodb
            endpoint: Any = vars(dynamodb)["_endpoint"]
            endpoint.http_session = UnreliableHttp(endpoint.http_session, trouble)
            made.sessions.append(endpoint.http_session)
            lagging = LaggingIndex(dynamodb, trouble, time.monotonic)
            backend = build_backend(SETTINGS, replace(clients, dynamodb=cast("Any", lagging)))
            stores = replace(backend.stores, messages=cast("MessageQueue", messages))
            made.backends.append(Backend(SETTINGS, stores))
        return made

    def settle(self) -> None:
        """Let nothing go wrong any more, and wait for what is under way."""
        self.trouble.is_over = True
        for session in self.sessions:
            session.settle()


def soak_threads(plan: ThreadPlan, progress: Progress = lambda _: None) -> ThreadResult:
    """Run the plan, wait until all jobs have ended, and judge every answer."""
    begun = time.monotonic()
    trouble = Trouble(plan.faults, random.Random(plan.seed))
    with running() as url, _credentials(), _silence():
        deployment = Deployment.over(url, trouble)
        shared = Shared()
        requesters = [
            Requester(
                f"w{number}",
                deployment.backends[number % PROCESSES],
                random.Random(f"{plan.seed}/{number}"),
                QUEUES,
                shared,
            )
            for number in range(plan.threads)
        ]
        with _upkeep(deployment):
            _run(requesters, plan, begun + plan.longest_s, progress)
            deployment.settle()
            last = Requester(
                "last", deployment.backends[0], random.Random(plan.seed), QUEUES, shared
            )
            jobs = _jobs(requesters)
            finals = _quiet(last, jobs, progress)
    exchanges = [each for one in (*requesters, last) for each in one.exchanges]
    found = [*breaches(exchanges, jobs, finals)]
    found += [problem for one in (*requesters, last) for problem in one.unexpected]
    return ThreadResult(
        seconds=time.monotonic() - begun,
        outcomes=Counter(f"{each.kind} {each.outcome}" for each in exchanges),
        states=Counter(each.state for each in finals.values()),
        met=trouble.met,
        problems=found,
    )


def _run(
    requesters: Sequence[Requester], plan: ThreadPlan, ends: float, progress: Progress
) -> None:
    """Let each requester send its share, all of them at once."""
    share = -(-plan.requests // len(requesters))

    def work(requester: Requester) -> None:
        while len(requester.exchanges) < share and time.monotonic() < ends:
            requester.act()

    threads = [threading.Thread(target=work, args=(each,)) for each in requesters]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        threads[0].join(5)
        time.sleep(0 if threads[0].is_alive() else 0.2)
        progress(f"{sum(len(each.exchanges) for each in requesters)} of {plan.requests} requests")


def _jobs(requesters: Sequence[Requester]) -> dict[str, Wanted]:
    return {job_id: wanted for each in requesters for job_id, wanted in each.wanted.items()}


def _quiet(last: Requester, jobs: dict[str, Wanted], progress: Progress) -> dict[str, Shown]:
    """Execute what is left until every job has ended; return what INFO shows of them."""
    finals: dict[str, Shown] = {}
    left = [*jobs]
    ends = time.monotonic() + QUIET_S
    while left and time.monotonic() < ends:
        last.execute()
        for job_id in left:
            shown = last.look(job_id)
            if shown is not None:
                finals[job_id] = shown
        left = [each for each in left if each in finals and finals[each].state not in ENDED]
        progress(f"{len(left)} jobs are left")
    return finals


# ------------------------------------------------------------------------------------ around it
@contextmanager
def _upkeep(deployment: Deployment) -> Iterator[None]:
    """Sweep, and read the table's stream, some batches of it twice."""
    stopping = threading.Event()

    def sweep() -> None:
        while not stopping.wait(0.3):
            with _tolerated(deployment.trouble):
                deployment.backends[-1].upkeep.sweep.tick()

    def follow() -> None:
        read = RemoteStream(deployment.clients.dynamodb, deployment.streams, SETTINGS.table)
        consume = build_stream(deployment.backends[0], read_image, measure=lambda *_: None)
        while not stopping.wait(0.1):
            with _tolerated(deployment.trouble):
                records, done = read()
                failed = consume({"Records": records}, None)["batchItemFailures"]
                if not failed and not deployment.trouble.strikes("twice"):
                    done()

    threads = [threading.Thread(target=each) for each in (sweep, follow)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


@contextmanager
def _tolerated(trouble: Trouble) -> Iterator[None]:
    """Count an invocation that failed: its timer, or its stream, invokes the function again."""
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever ends an invocation
        trouble.met["invocations failed"] += 1


@contextmanager
def _credentials() -> Iterator[None]:
    """Let botocore sign with something: DynamoDB Local takes any key."""
    known = {"AWS_ACCESS_KEY_ID": "soak", "AWS_SECRET_ACCESS_KEY": "soak", "NO_PROXY": "127.0.0.1"}
    with patch.dict(os.environ, known):
        yield


@contextmanager
def _silence() -> Iterator[None]:
    """Keep quiet about thousands of faults that are meant."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
