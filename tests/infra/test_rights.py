"""Every operation of the API is played with the exact rights of the function that serves it.

By the statements of the template as it ships, on the calls that the adapters make. The requests
are those of the transcript.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from ojs_aws.config import Settings
from ojs_aws.topology import sqs_queue_name
from ojs_aws.transport.events.tick import build_tick
from tests.aws import EmbeddedAws
from tests.infra.policies import Role, asked_by
from tests.infra.templates import of_context
from tests.transcript.recordings import all_features
from tests.transcript.session import Session, emulated_aws
from tests.transcript.steps import Feature, Step

FUNCTIONS: Final = (
    *("producer", "worker_api", "operator", "system", "api_keys"),
    *("authorizer", "job_endpoint", "tick", "stream"),
)
TRIGGERS: Final = {
    "tick": {"sqs:ReceiveMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueUrl"},
    "stream": {"sqs:GetQueueAttributes", "sqs:GetQueueUrl"},
}
"""What Lambda does with a role for a trigger and a queue of failures, which nothing here plays."""


@dataclass
class Watch:
    """Notes what each function asks AWS for, and what its role would refuse.

    :ivar function: which one runs; empty: none, a test makes its calls.
    """

    roles: dict[str, Role]
    function: str = ""
    used: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    refused: set[str] = field(default_factory=set)

    @contextmanager
    def running(self, function: str) -> Iterator[None]:
        """All calls are made by this function."""
        before, self.function = self.function, function
        try:
            yield
        finally:
            self.function = before

    def as_function(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Something that a function does."""

        def run(*given: Any, **more: Any) -> Any:
            with self.running(name):
                return call(*given, **more)

        return run

    def note(self, params: Any, model: Any, **_: Any) -> None:
        """Look at a call before it is made."""
        if not self.function:
            return
        for asked in asked_by(model.service_model.service_name, model.name, params):
            self.used[self.function].add(asked.action)
            if not self.roles[self.function].allows(asked):
                self.refused.add(f"{self.function}: {asked}")


def watched(aws: EmbeddedAws, feature: Feature, watch: Watch, *, by_endpoint: bool) -> Session:
    """A deployment for a feature whose functions are watched."""
    session = Session(aws, feature, uses_job_endpoint=by_endpoint)
    clients = session.aws.clients
    for client in (clients.dynamodb, clients.sqs, clients.s3(), clients.events()):
        client.meta.events.register("before-parameter-build", watch.note)
    parts: Any = session  # each of which is replaced by itself, as a function
    for group, handler in parts._handlers.items():
        parts._handlers[group] = watch.as_function(group.value, handler)
    parts._follow = watch.as_function("stream", parts._follow)
    if parts._endpoint is not None:
        parts._endpoint = watch.as_function("job_endpoint", parts._endpoint)
    if parts._authorize is not None:
        parts._authorize = watch.as_function("authorizer", parts._authorize)
    return session


@contextmanager
def watching() -> Iterator[tuple[EmbeddedAws, Watch]]:
    """An AWS, and what watches the calls to it."""
    template = of_context(queue_separator="-", job_endpoint="true")  # the names of the transcript
    watch = Watch({name: Role(template, f"functions.{name}.handler.handler") for name in FUNCTIONS})
    with emulated_aws() as aws:
        yield aws, watch


@dataclass
class Player:
    """Uses a deployment in such a way that each function makes each kind of its SQS calls.

    The SQS queues of some jobs are gone by then, as those of a restored deployment are.
    """

    session: Session
    watch: Watch

    def ask(self, method: str, path: str, body: object = None, **more: Any) -> None:
        """Send a request; ``save`` gives names to values of its answer."""
        self.session.send(Step(name=path, method=method, path=f"/ojs/v1{path}", body=body, **more))

    def push(self, queue: str, save: str = "job", **members: Any) -> None:
        """Enqueue a job."""
        body = {"type": "t", "args": [], **members, "options": {"queue": queue}}
        self.ask("POST", "/jobs", body, save={save: "id"})

    def fetch(self, queue: str, **more: Any) -> None:
        """Fetch the jobs of a queue."""
        body = {"queues": [queue], "worker_id": "w", "count": 5, **more}
        self.ask("POST", "/workers/fetch", body)

    def tick(self) -> None:
        """Run the timer's function."""
        with self.watch.running("tick"):
            build_tick(self.session.backend)({}, None)

    def lose(self, queue: str) -> None:
        """Delete an SQS queue; nobody's role is asked."""
        self.session.aws.clients.sqs.delete_queue(QueueUrl=self.url(queue))

    def url(self, queue: str) -> str:
        """Return the URL of an SQS queue."""
        settings = self.session.aws.settings
        return settings.queue_url_prefix + sqs_queue_name(settings.queue_prefix, queue)

    def enqueue_and_work(self) -> None:
        """Producers and workers: at the API, or at the job endpoint."""
        self.push("first")
        jobs = [{"type": "t", "args": [n], "options": {"queue": "first"}} for n in range(12)]
        self.ask("POST", "/jobs/batch", {"jobs": jobs})
        self.fetch("first")
        held = {"worker_id": "w", "active_jobs": ["<job>"], "visibility_timeout": 60}
        self.ask("POST", "/workers/heartbeat", held)
        self.ask("DELETE", "/jobs/<job>")
        self.push("second", retry={"initial_interval": "PT1M", "max_attempts": 9})
        self.fetch("second")
        self.lose("second")
        error = {"type": "Broken", "message": "no"}
        nack = {"job_id": "<job>", "worker_id": "w", "error": error}
        self.ask("POST", "/workers/nack", nack)
        limit = {"key": "k", "concurrency": 1}
        for _ in range(2):
            self.push("limited", rate_limit=limit)
        self.fetch("limited")
        sqs = self.session.aws.clients.sqs
        sqs.send_message(QueueUrl=self.url("first"), MessageBody="not ours")
        for _ in range(4):
            self.fetch("first")

    def operate(self) -> None:
        """Operators, the timer, and what follows from changes."""
        once = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
        self.push("dead", retry=once)
        self.fetch("dead")
        error = {"type": "Broken", "message": "no"}
        nack = {"job_id": "<job>", "worker_id": "w", "error": error}
        self.ask("POST", "/workers/nack", nack)
        self.lose("dead")
        self.ask("POST", "/dead-letter/<job>/retry")
        self.ask("POST", "/queues/dead/pause")
        self.ask("POST", "/queues/dead/resume")
        self.fetch("dead")
        confirmed = {"queue": "dead", "confirm": True}
        self.ask("POST", "/admin/jobs/bulk/cancel", confirmed)
        self.push("later", scheduled_at="+PT1H")
        self.push("later", priority=1)
        self.fetch("later", visibility_timeout_ms=600_000)
        self.ask("POST", "/workers/ack", {"job_id": "<job>", "worker_id": "w"})
        self.lose("later")
        self.session.clock.advance(s=55 * 60)
        self.tick()
        steps = [{"type": "t", "args": [n], "queue": "steps"} for n in range(2)]
        chain = {"type": "chain", "name": "two", "steps": steps}
        self.ask("POST", "/workflows", chain, save={"workflow": "workflow.id"})
        self.fetch("steps")
        self.ask("GET", "/jobs?queue=steps&state=active", save={"step": "jobs.0.id"})
        self.lose("steps")
        self.ask("POST", "/workers/ack", {"job_id": "<step>", "worker_id": "w"})
        entry = {"name": "often", "expression": "* * * * *", "overlap_policy": "cancel_previous"}
        template = {"type": "t", "args": [], "options": {"queue": "cron"}}
        self.ask("POST", "/cron", {**entry, "job_template": template})
        for _ in range(2):
            self.session.clock.advance(s=60)
            self.tick()
            self.fetch("cron")


PLAYED: Final = Feature(
    name="rights",
    steps=(),
    settings=Settings(stream_deletes_messages=True, stream_lists_completed=True),
)


@pytest.fixture(scope="module")
def played() -> Watch:
    """What the functions asked for, with the settings that they are deployed with."""
    with watching() as (aws, watch):
        for by_endpoint in (False, True):
            session = watched(aws, PLAYED, watch, by_endpoint=by_endpoint)
            player = Player(session, watch)
            player.enqueue_and_work()
            player.operate()
    return watch


def test_no_function_asks_for_what_its_role_refuses(played: Watch) -> None:
    """Conditions included: partitions of the table, and the queues of the deployment."""
    assert sorted(played.refused) == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_role_has_no_right_to_queues_that_its_function_does_not_use(
    function: str, played: Watch
) -> None:
    """But those of its trigger; so the rights to SQS are exact."""
    granted = {each for each in played.roles[function].actions if each.startswith("sqs:")}
    used = {each for each in played.used[function] if each.startswith("sqs:")}
    assert used == granted - TRIGGERS.get(function, set())


@pytest.mark.slow
def test_every_request_of_the_transcript_passes_with_exact_rights() -> None:
    """Good and bad requests of all operations, at the API and at the job endpoint."""
    with watching() as (aws, watch):
        for feature in all_features().values():
            for by_endpoint in (False, True):
                session = watched(aws, feature, watch, by_endpoint=by_endpoint)
                for step in feature.steps:
                    session.send(step)
                with watch.running("tick"):
                    session.backend.upkeep.sweep.tick()
        assert sorted(watch.refused) == []
        assert all(watch.used[function] for function in FUNCTIONS)
