"""Jobs that a Lambda function runs: dispatcher, asynchronous invocations, and settler."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
from ojs_aws.adapters.functions import Functions
from ojs_aws.adapters.sqs import encode_message
from ojs_aws.domain.bindings import Binding
from ojs_aws.domain.timestamps import parse_timestamp
from ojs_aws.memory_aws.events import Invocations, Target
from ojs_aws.topology import sqs_queue_name
from ojs_aws.worker.delivery.dispatch import Dispatcher
from ojs_aws.worker.delivery.settle import (
    Completed,
    NotInvoked,
    Raised,
    Settler,
    read_invocation_record,
)
from tests.simulation.asking import Asking, Held
from tests.simulation.processes import Process
from tests.simulation.simulation import QUEUES, Simulation

BINDING: Final = "shop"
TARGET: Final = "arn:aws:lambda:us-east-1:1:function:shop:ojs-shop"
LONGEST_WAIT_S: Final = 100
RESERVATIONS_S: Final = (10, 40, 200)
"""Some end before the function does, so that outcomes come too late."""
REPEATS: Final = 0.3
"""Of the records, how many come again."""
REPORTS: Final = {Completed: "ack", Raised: "fail", NotInvoked: "requeue"}
"""What becomes of a job, by how its invocation ended."""


class HandlerError(Exception):
    """Is raised by the function."""


class DeclinedError(HandlerError):
    """Is raised by it, and is final in some runs."""


class Dispatching(Asking):
    """A function bound to all queues, beside the workers.

    :ivar outcomes: the records in the queue of outcomes.
    """

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim)
        self.outcomes: list[str] = []
        self.target = Target(self._run, self._deliver, LONGEST_WAIT_S)
        self._lambda.targets[TARGET] = self.target

    @property
    def _lambda(self) -> Invocations:
        return self.sim.account.aws.triggers.invocations

    def do_dispatch(self) -> None:
        """SQS invokes the dispatcher."""
        sim, queue = self.sim, self.sim.chance.choice(QUEUES)
        reservation_s = sim.chance.choice(RESERVATIONS_S)
        received = sim.messages.receive(queue, sim.chance.randint(1, 4), reservation_s)
        if not received:
            return
        context = _Context(str(self._next()))
        bindings = [
            Binding(
                name=BINDING,
                queues=QUEUES,
                target=TARGET,
                types=["*"],
                reservation_s=reservation_s,
                config=sim.profile.configs.functions,
            )
        ]

        def work(process: Process) -> None:
            settings, aws = process.backend.settings, sim.account.aws
            arn = f"arn:aws:sqs:us-east-1:1:{sqs_queue_name(settings.queue_prefix, queue)}"
            records = [
                {
                    "messageId": each.handle,
                    "receiptHandle": each.handle,
                    "body": encode_message(each.message),
                    "attributes": {"ApproximateReceiveCount": str(each.receive_count)},
                    "eventSourceARN": arn,
                }
                for each in received
            ]
            states = QueueBindings(aws.dynamodb, settings.table)
            functions = _Watched(aws.functions, self._closed(queue))
            dispatcher = Dispatcher(process.backend, functions, states, bindings)
            kept = dispatcher({"Records": records}, context)["batchItemFailures"]
            stays = {each["itemIdentifier"] for each in kept}
            sim.messages.delete(queue, [e.handle for e in received if e.handle not in stays])

        worker = f"dispatcher_{context.aws_request_id}"
        self._begin("dispatch", work, worker=worker, chain=sim.chain_of(received))

    def do_suspend(self) -> None:
        """An operator suspends the binding of a queue, or resumes it."""
        queue, reason = self.sim.chance.choice(QUEUES), f"suspended by operator {self._next()}"
        is_suspended = self.suspended(queue) is not None
        if not is_suspended and self.sim.chance.random() < 0.5:
            return

        def work(process: Process) -> None:
            states = process.backend.stores.queue_bindings()
            if is_suspended:
                states.resume(queue, BINDING)
            else:
                now = process.backend.clock.now()
                states.suspend(queue, BINDING, reason, now, is_lasting=True)

        self._begin("suspend", work)

    def suspended(self, queue: str) -> str | None:
        """By whom the binding of a queue is suspended now; None if it is not by somebody."""
        info = self.sim.stored.queues.get(queue)
        found = info.suspended.get(BINDING) if info is not None else None
        return found.reason if found is not None and found.is_lasting else None

    def _closed(self, queue: str) -> Callable[[], None]:
        """Refuse to dispatch while the binding is suspended as it was before anybody asked.

        A suspension is known by its reason, of which there are no two.
        """
        before = self.suspended(queue)

        def check() -> None:
            if before is not None and self.suspended(queue) == before:
                self.sim.promises.breach(f"a job of {queue} was dispatched, which is {before}")

        return check

    def do_invoke(self) -> None:
        """Lambda runs the events that wait for the function."""
        self._lambda.run()

    def _run(self, event: dict[str, Any], _context: object) -> str:
        delivery = str(event["delivery_id"])
        self.sim.promises.delivered(event["job"]["id"], event["worker_id"], delivery)
        longest_ms = self.sim.profile.configs.functions.timeout_ms
        if longest_ms is not None and _took_ms(event) > longest_ms:
            self.sim.promises.breach(f"{delivery} has {_took_ms(event)} ms, and not {longest_ms}")
        if self.sim.chance.random() < 0.4:
            raise self.sim.chance.choice((HandlerError, DeclinedError))
        return delivery

    def _deliver(self, record: str) -> None:
        """Send a record to the queue of outcomes; some never come."""
        if self.sim.chance.random() >= self.sim.profile.mishaps:
            self.outcomes.append(record)

    def do_settle(self) -> None:
        """The queue of outcomes invokes the settler; it may deliver a record again."""
        if not self.outcomes:
            return
        chance = self.sim.chance
        body, is_repeated = chance.choice(self.outcomes), chance.random() < REPEATS
        record = read_invocation_record(body)

        def work(process: Process) -> None:
            kept = Settler(process.backend)({"Records": [{"messageId": "1", "body": body}]})
            if not kept["batchItemFailures"] and not is_repeated and body in self.outcomes:
                self.outcomes.remove(body)

        self._begin(
            REPORTS[type(record.ended)],
            work,
            worker=json.loads(body)["requestPayload"]["worker_id"],
            job_id=record.job.id,
            held=[Held(record.job.id, record.which)],
        )

    def do_spoil_function(self) -> None:
        """The function is busy, or may not be invoked, or is as before."""
        chance = self.sim.chance
        self.target.is_throttled = chance.random() < 0.2
        self.target.is_denied = chance.random() < 0.1


@dataclass(frozen=True)
class _Watched(Functions):
    """Invokes functions, after a check."""

    check: Callable[[], None]

    def begin(self, target: str, event: str) -> None:
        """Check, then hand an event to Lambda's queue of a function."""
        self.check()
        Functions.begin(self, target, event)


def _took_ms(event: dict[str, Any]) -> int:
    """Return how long a function has for a job, from its claim to its deadline."""
    began = parse_timestamp(event["job"]["started_at"], "started_at")
    return parse_timestamp(event["deadline"], "deadline") - began


class _Context:
    """An invocation's context."""

    def __init__(self, request_id: str) -> None:
        self.aws_request_id = request_id
