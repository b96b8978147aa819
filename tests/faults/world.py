"""A deployment in memory, its users, and a clock that moves both."""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError

from ojs_aws.adapters.aws_errors import AwsError
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.adapters.s3 import S3Files
from ojs_aws.adapters.sqs import decode_message
from ojs_aws.bootstrap import build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.errors import BackendError, OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, attempt_of
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.services.backend import Backend
from ojs_aws.services.upkeep.export import Export
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.topology import cron_queue_name, is_streamed, sqs_queue_name
from ojs_aws.transport.events.export import build_export
from tests.api import BASE, Reply
from tests.faults.account import FILES, Account
from tests.faults.process import SILENT, Judge, Process
from tests.simulation.faults import ProcessDiedError
from tests.simulation.promises import Cause

TRIES: Final = 3
RECOUNT_TICKS: Final = 3
"""After so many ticks a bounded queue that is quiet has its true depth again."""

UNEXPECTED: Final = "did not expect"


T = TypeVar("T")


@dataclass
class World:
    """One run: a deployment, and whoever uses it.

    :ivar process: where all functions run; another one follows when it dies.
    :ivar jobs: as the stream last published them.
    :ivar by_messages: whether the worker that heals is a Lambda worker.
    :ivar removes: whether jobs may be removed.
    """

    account: Account = field(default_factory=Account)
    by_messages: bool = False
    removes: bool = False
    settings: Settings = field(init=False)
    process: Process = field(init=False)
    judge: Judge = field(init=False)
    cause: Cause = field(default_factory=Cause)
    jobs: dict[str, JobRecord] = field(default_factory=dict)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    _late: Cause = field(default_factory=Cause)
    _seen: int = 0
    _read: int = 0
    _number: int = 0

    def __post_init__(self) -> None:
        """Deploy."""
        self.injector = self.account.injector
        self.settings = self.account.settings
        self.judge = Judge(
            now=lambda: self.clock.at, jobs=self.jobs, cause=lambda: self.cause, is_staged=True
        )
        self.injector.seen, self.injector.postponed = self._observe, self._postpone
        self.start()

    @property
    def clock(self) -> FakeClock:
        """The time."""
        return self.account.clock

    @property
    def backend(self) -> Backend:
        """The services of the process that lives."""
        return self.process.backend

    def start(self) -> None:
        """Start a process that knows nothing."""
        made = build_backend(
            self.settings, self.account.clients, clock=self.clock, parallel=IN_ORDER
        )
        self.process = Process(made)

    def configure(self, **changed: Any) -> None:
        """Other settings, and a process that has them."""
        self.settings = replace(self.settings, **changed)
        self.start()

    def breach(self, what: str) -> None:
        """Something is not as it was promised."""
        self.judge.breach(what)

    # ------------------------------------------------------------------ who does something
    def run(self, cause: Cause, what: Callable[[Process], T]) -> T:
        """Let the process do something; when it dies, another one takes its place.

        :raises ProcessDiedError: it died.
        """
        was, self.cause = self.cause, cause
        try:
            return what(self.process)
        except ProcessDiedError:
            self.start()
            raise
        finally:
            self.cause = was

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        kind: str = "",
        worker: str = "",
        job_id: str = "",
        then: Sequence[int] = (),
        tries: int = TRIES,
        ok: Container[int] = range(300),
    ) -> Reply:
        """A client's request, repeated while there is no answer, as clients do.

        :param then: what may be answered when it is repeated, beside success.
        :param ok: what is success.
        :param tries: 1 for a client that is never heard of again.
        """
        cause = Cause(kind=kind, worker=worker, job_id=job_id)
        reply = Reply(0, {}, "no answer")
        for number in range(tries):
            self.clock.advance(s=bool(number))
            if path == "/workers/heartbeat" and isinstance(body, Mapping):
                self.judge.beating(worker, is_promised="heartbeat_interval_ms" in body)
            try:
                reply = self.run(cause, lambda process: process.send(method, BASE + path, body))
            except ProcessDiedError:
                continue
            if UNEXPECTED in reply.text:
                self.breach(f"{method} {path} crashed: {reply.text}")
            if reply.status == 429:
                self._be_patient()
            if reply.status >= 500 or reply.status == 429:
                continue
            if reply.status not in ok and not (number and reply.status in then):
                self.breach(f"{method} {path} was answered {reply.status}: {reply.text}")
            return reply
        if tries > 1:
            self.breach(f"{method} {path} was never answered: {reply.text}")
        return reply

    def _be_patient(self) -> None:
        """Wait until places that a request took, and never used, are recounted."""
        with self.aside():
            for _ in range(RECOUNT_TICKS):
                self.clock.advance(s=61)
                self.tick()

    def ask_all(self, method: str, path: str, body: Mapping[str, Any], *, kind: str) -> None:
        """A request about many jobs: sent again for what failed, and for what is left."""
        wanted, reply = dict(body), Reply(0, {}, "")
        for number in range(5):
            # Sent again, there may be nothing left to be done.
            ok = range(300) if not number else (*range(300), 422)
            reply = self.ask(method, path, wanted, kind=kind, then=(422,), ok=ok)
            answer = reply.json
            parts = answer.get("items") or answer.get("results") or []
            if answer.get("failed") or any(each.get("status") == "failed" for each in parts):
                continue
            cursor = answer.get("next_cursor") or answer.get("cursor")
            if not cursor:
                return
            wanted = {**body, "cursor": cursor}
            wanted.pop("idempotency_key", None)
        self.breach(f"{path} does not get on: {reply.text}")

    def activate(self, job_id: str) -> None:
        """Let a pending job run."""
        self.run(Cause(kind="activate"), lambda process: process.backend.jobs.activate(job_id))

    def do(self, kind: str, what: Callable[[Backend], Any], *, worker: str = "") -> Any:
        """The same for what is no request: called again while it fails."""
        for _ in range(TRIES):
            with suppress(ProcessDiedError, BackendError, AwsError, BotoCoreError):
                return self.run(
                    Cause(kind=kind, worker=worker), lambda process: what(process.backend)
                )
        self.breach(f"{kind} never succeeded")
        return None

    def push(self, type_: str = "demo.echo", **attributes: Any) -> str:
        """Push a job, by an id that its client chose."""
        self._number += 1
        job_id = f"01990000-0000-7000-8000-{self._number:012x}"
        body = {"type": type_, "args": [], "id": job_id, **attributes}
        reply = self.ask("POST", "/jobs", body, kind="push")
        if reply.status < 300:
            self.judge.promised.add(job_id)
        return job_id

    def pushes(self, **attributes: Any) -> None:
        """Push a job, and want nothing of it."""
        self.push(**attributes)

    def registers(self, body: Mapping[str, Any]) -> None:
        """Register a cron job, and disable it."""
        self.ask("POST", "/cron", {**body})
        self.stop_cron(str(body["name"]))

    def stop_cron(self, name: str) -> None:
        """Disable a cron job: it would fire for ever."""
        self.ask("PATCH", f"/cron/{name}", {"enabled": False})

    def fetch(
        self, worker: str = "w1", count: int = 1, queue: str = "default", hold_s: int = 30
    ) -> list[Any]:
        """Fetch jobs as a worker that polls; they are held for so many seconds."""
        body = {
            "queues": [queue],
            "count": count,
            "worker_id": worker,
            "visibility_timeout_ms": hold_s * 1000,
        }
        reply = self.ask("POST", "/workers/fetch", body, kind="fetch", worker=worker)
        jobs: list[Any] = reply.json.get("jobs", []) if reply.status == 200 else []
        for job in jobs:
            record = self.jobs.get(job["id"])
            held = record.reservation if record is not None else None
            if held is None or held.worker_id != worker:
                self.breach(f"{worker} was given {job['id']}, which {held} holds")
        return jobs

    def ack(self, job_id: str, worker: str = "w1", result: object = None) -> Reply:
        """ACK; repeated, it may be answered that the job is not its any more."""
        body: dict[str, Any] = {"job_id": job_id, "worker_id": worker}
        if result is not None:
            body["result"] = result
        reply = self.ask(
            "POST", "/workers/ack", body, kind="ack", worker=worker, job_id=job_id, then=(409,)
        )
        if reply.status == 200:
            self.judge.acknowledged(job_id, worker)
        return reply

    def fail(self, job_id: str, worker: str = "w1", **error: Any) -> Reply:
        """FAIL, likewise."""
        body = {
            "job_id": job_id,
            "worker_id": worker,
            "error": {"code": "broken", "message": "it broke", **error},
        }
        reply = self.ask(
            "POST", "/workers/nack", body, kind="fail", worker=worker, job_id=job_id, then=(409,)
        )
        if reply.status == 200:
            self.judge.failed(job_id, worker)
        return reply

    def give_back(self, job_id: str, worker: str = "w1", **delay: int) -> Reply:
        """NACK with requeue, now or after a delay, likewise."""
        body = {"job_id": job_id, "worker_id": worker, "requeue": True, **delay}
        reply = self.ask(
            "POST", "/workers/nack", body, kind="requeue", worker=worker, job_id=job_id, then=(409,)
        )
        if reply.status == 200:
            self.judge.given_back(job_id, worker)
        return reply

    # ------------------------------------------------------------------ what happens by itself
    def tick(self) -> None:
        """The timer, and the alarms of cron jobs."""
        with suppress(ProcessDiedError, OjsError):
            self.run(Cause(kind="tick"), lambda process: process.tick({}, None))

    def ring(self) -> None:
        """The alarms of cron jobs; one whose handling fails comes back."""
        url = self.settings.queue_url_prefix + cron_queue_name(self.settings.queue_prefix)
        sqs = self.account.clients.sqs
        with self.aside():
            received = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=30
            ).get("Messages", [])
        if not received:
            return
        event = {"Records": [{"body": message["Body"]} for message in received]}
        with suppress(ProcessDiedError, OjsError):
            self.run(Cause(kind="alarm"), lambda process: process.tick(event, None))
            with self.aside():
                for message in received:
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def stream(self, *, twice: bool = False) -> bool:
        """The stream's consumer gets what it has not had yet; whether there was anything."""
        records = self.account.records[self._read :][:100]
        if not records:
            return False
        event = {"Records": [copy.deepcopy(each) for each in records if _is_streamed(each)]}
        failures: list[dict[str, str]] = []
        for _ in range(1 + twice):
            with suppress(ProcessDiedError, OjsError):
                failures = self.run(
                    Cause(kind="stream"), lambda process: process.stream(event, None)
                )["batchItemFailures"]
                continue
            return True
        if not failures:
            self._read += len(records)
            return True
        number = failures[0]["itemIdentifier"]
        numbers = [each["dynamodb"]["SequenceNumber"] for each in records]
        self._read += numbers.index(number)
        return True

    def flow(self, *, twice: bool = False) -> None:
        """The stream's consumer gets everything."""
        for _ in range(200):
            if not self.stream(twice=twice):
                return
        self.breach("the stream does not get on")

    def deliver(self, queue: str = "default", ending: str = "ack") -> bool:
        """A Lambda worker is invoked with what is visible; whether there was anything."""
        sqs = self.account.clients.sqs
        url = self.settings.queue_url_prefix + sqs_queue_name(self.settings.queue_prefix, queue)
        with self.aside():
            try:
                raw = sqs.receive_message(
                    QueueUrl=url,
                    MaxNumberOfMessages=10,
                    VisibilityTimeout=30,
                    MessageSystemAttributeNames=["ApproximateReceiveCount"],
                ).get("Messages", [])
            except AwsError:  # the queue is not there
                return False
        received = [
            ReceivedMessage(
                decode_message(each["Body"]),
                each["ReceiptHandle"],
                int(each["Attributes"]["ApproximateReceiveCount"]),
            )
            for each in raw
        ]
        if not received:
            return False
        self._number += 1
        name = f"lambda-{self._number}"

        def work(process: Process) -> None:
            outcomes = process.backend.jobs.fetch.claim_messages(queue, received, name, 30_000)
            done = []
            for each, claimed in zip(received, outcomes, strict=True):
                is_kept = claimed.keep_message
                if claimed.record is not None:
                    is_kept = not self._execute(process, claimed.record.id, name, ending)
                if not is_kept:
                    done.append(each.handle)
            with self.aside():
                for handle in done:
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)

        with suppress(ProcessDiedError, OjsError):
            self.run(Cause(kind="lambda", worker=name), work)
        return True

    def _execute(self, process: Process, job_id: str, name: str, ending: str) -> bool:
        was, self.cause = self.cause, Cause(kind=ending, worker=name, job_id=job_id)
        try:
            if ending == "beat":
                known = process.backend.stores.store.load(job_id)
                which = attempt_of(known) if known else ANY_ATTEMPT
                beat = process.backend.workers.heartbeat.extend
                beat(name, job_id, 40_000, which=which, start=known)
                return False  # it goes on, and dies with its invocation
            if ending == "ack":
                process.backend.jobs.ack(job_id, name, None, has_message=False)
            else:
                process.backend.jobs.fail(job_id, name, ERROR, has_message=False)
        except OjsError:
            return False
        finally:
            self.cause = was
        return True

    # ------------------------------------------------------------------ what others do to it
    def _postpone(self) -> None:
        self._late = self.cause

    def visible(self) -> int:
        """How many messages can be received."""
        return self.account.visible()

    def happen_late(self) -> None:
        """What timed out takes effect, on behalf of who wanted it then."""
        was, self.cause = self.cause, self._late
        self.injector.happen_late()
        self.cause = was

    def lose_messages(self) -> None:
        """What a restore does: the table is there, the queues are empty."""
        self.account.purge()

    def forget_jobs(self, *sort_keys: str) -> None:
        """DynamoDB removes what has outlived its time to live: jobs, and others."""
        self.account.expire({"job", *sort_keys})
        self._observe()

    def die_at(self, operation: str) -> None:
        """Let the process die right after its next call of this operation."""
        self.injector.deadly = operation

    def export(self) -> None:
        """The export's consumer gets everything."""
        event = {"Records": [copy.deepcopy(record) for record in self.account.records]}
        event["Records"] = [each for each in event["Records"] if _is_streamed(each)]

        def work(process: Process) -> Any:
            clients = self.account.clients
            export = Export(S3Files(clients.s3(), FILES).put, process.backend.stores.store)
            return build_export(export, read_image, SILENT)(event, None)

        for _ in range(TRIES):
            with suppress(ProcessDiedError):
                if not self.run(Cause(kind="export"), work)["batchItemFailures"]:
                    return
        self.breach("the export does not get on")

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What AWS does by itself is no call of ours."""
        was, self.injector.is_on = self.injector.is_on, False
        try:
            yield
        finally:
            self.injector.is_on = was

    # ------------------------------------------------------------------ what is seen
    def _observe(self) -> None:
        """Judge what was committed since the last look."""
        records = self.account.records
        for record in records[self._seen :]:
            change = record["dynamodb"]
            if change["Keys"]["sk"]["S"] not in {"job", "workflow"}:
                continue
            before, after = (
                read_image(change[name]) if change.get(name) else None
                for name in ("OldImage", "NewImage")
            )
            self._judge(before, after)
        self._seen = len(records)
        self.judge.after_call()

    def _judge(self, before: object, after: object) -> None:
        if isinstance(after, Workflow):
            self.workflows[after.id] = after
        elif isinstance(before, Workflow):
            del self.workflows[before.id]
        if isinstance(before, JobRecord) and after is None:
            self.jobs.pop(before.id, None)
            self.judge.promised.discard(before.id)
            self.judge.kinds.pop(before.id, None)
            if not self.removes:
                self.breach(f"job {before.id} was removed")
        elif isinstance(after, JobRecord):
            self.jobs[after.id] = after
            was = before if isinstance(before, JobRecord) else None
            self.judge.job_written(after.id, was, after)

    def snapshot(self) -> Callable[[], Callable[[], None]]:
        """The index as it is now: what shows it for a while, and what that returns ends it."""
        index = self.account.table.index
        seen = copy.deepcopy(index.rows)

        def show() -> Callable[[], None]:
            current, index.rows = index.rows, seen

            def end() -> None:
                index.rows = current

            return end

        return show


ERROR: Final = parse_object('{"type": "Broken", "message": "it broke"}')


def _is_streamed(record: Mapping[str, Any]) -> bool:
    keys = record["dynamodb"]["Keys"]
    return is_streamed(keys["pk"]["S"], keys["sk"]["S"])
