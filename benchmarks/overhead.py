"""What the handlers add to the AWS calls they make: time and function calls of each operation.

    python -m benchmarks.overhead [--rounds 300] [--profile PUSH]

Each operation runs once on an embedded AWS, which records its requests and their answers. Then it
runs again and again on those answers, beside the same requests made with bare botocore; nothing
waits for a network. The interpreter counts function calls and instructions of bytecode: each run
counts the same, on every machine, so that these ratios have budgets and that of the times has none.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import logging
import os
import pstats
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from ojs_aws.bootstrap import AwsClients, build_backend
from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.local.aws import REGION, create_queues, create_table, embedded_aws
from ojs_aws.local.lambdas import LambdaContext, http_event
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.routes import Group, group_of

BUDGET: Final = 1.3
"""A handler may make so many times the function calls that its AWS calls make in bare botocore."""

OWN_CALLS: Final = {"PUSH": 400}
"""How many Python functions of this package an operation may enter, AWS answering at once."""

INSTRUCTIONS_BUDGET: Final = 1.4
"""The same of the interpreter's instructions."""

TOP: Final = 25

Answer = Any
"""What moto's stubber passes on: status, headers and body."""


@dataclass
class Tape:
    """The requests of one operation, and what was answered.

    :ivar requests: service, operation and parameters of each, in order.
    :ivar answers: the latest by target.
    """

    requests: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """One operation.

    :ivar calls: its AWS calls.
    :ivar handler_us: median microseconds of the handler.
    :ivar bare_us: of its AWS calls alone.
    :ivar steps: function calls of the handler, those in its AWS calls included.
    :ivar bare_steps: function calls of the AWS calls alone.
    :ivar instructions: of the interpreter, in the handler, those in its AWS calls included.
    :ivar bare_instructions: in the AWS calls alone.
    :ivar own_calls: Python functions of this package that it enters.
    """

    operation: str
    calls: int
    handler_us: float
    bare_us: float
    steps: int
    bare_steps: int
    instructions: int
    bare_instructions: int
    own_calls: int

    @property
    def ratio(self) -> float:
        """The handler's time, by that of its AWS calls alone."""
        return self.handler_us / self.bare_us

    @property
    def steps_ratio(self) -> float:
        """The same of function calls."""
        return self.steps / self.bare_steps

    @property
    def instructions_ratio(self) -> float:
        """The same of the interpreter's instructions."""
        return self.instructions / self.bare_instructions

    @property
    def is_within(self) -> bool:
        """Whether what is counted is within the budgets."""
        if self.own_calls > OWN_CALLS.get(self.operation, self.own_calls):
            return False
        return self.steps_ratio <= BUDGET and self.instructions_ratio <= INSTRUCTIONS_BUDGET


@contextmanager
def answers_from(answers: dict[str, Answer], *, is_recording: bool) -> Iterator[None]:
    """Let moto answer and remember it, or answer from memory."""
    from moto.core.botocore_stubber import BotocoreStubber  # noqa: PLC0415 - an extra

    original = BotocoreStubber.process_request

    def process(self: BotocoreStubber, request: Any) -> Answer:
        target = str(request.headers.get("X-Amz-Target"))
        if is_recording:
            answers[target] = original(self, request)
        return answers[target]

    BotocoreStubber.process_request = process  # type: ignore[method-assign]
    try:
        yield
    finally:
        BotocoreStubber.process_request = original  # type: ignore[method-assign]


def record(
    clients: dict[str, Any], call: Callable[[], object], answers: dict[str, Answer] | None = None
) -> Tape:
    """Run an operation for real, or on answers that were recorded, and note its requests."""
    tape = Tape(answers=answers or {})

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        tape.requests.append((model.service_model.service_name, model.name, dict(params)))

    for client in clients.values():
        client.meta.events.register("provide-client-params", note, unique_id="tape")
    with nullcontext() if answers else answers_from(tape.answers, is_recording=True):
        call()
    for client in clients.values():
        client.meta.events.unregister("provide-client-params", unique_id="tape")
    return tape


def bare(tape: Tape, clients: dict[str, Any]) -> Callable[[], None]:
    """The same AWS calls, made by nothing but botocore."""
    from botocore import xform_name  # noqa: PLC0415 - inside the embedded AWS

    calls = [
        (getattr(clients[service], xform_name(name)), params)
        for service, name, params in tape.requests
    ]

    def run() -> None:
        for method, params in calls:
            method(**params)

    return run


def medians_us(
    call: Callable[[], object], other: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Median microseconds of both, measured in turn."""
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(rounds):
        for each, kept in zip((call, other), times, strict=True):
            began = time.perf_counter_ns()
            each()
            kept.append(time.perf_counter_ns() - began)
    first, second = (statistics.median(kept) / 1000 for kept in times)
    return first, second


def steps_of(call: Callable[[], object]) -> int:
    """How many functions a call enters, Python's and C's."""
    count = 0

    def note(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def own_calls_of(call: Callable[[], object]) -> int:
    """How many Python functions of this package a call enters; its local server's do not count."""
    count = 0

    def note(frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        module = str(frame.f_globals.get("__name__"))
        is_own = module.startswith("ojs_aws.") and not module.startswith("ojs_aws.local.")
        count += event == "call" and is_own

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


def instructions_of(call: Callable[[], object]) -> int:
    """How many instructions of Python's own bytecode a call executes; C code counts as one."""
    return sum(instructions_by_module(call).values())


def instructions_by_module(call: Callable[[], object]) -> Counter[str]:
    """The same by the module that they are of."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _arg: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            found[frame.f_globals.get("__name__", "?")] += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


class Functions:
    """The functions of the API on an embedded AWS, which must be running.

    :ivar clients: their AWS clients by service.
    """

    def __init__(self) -> None:
        """Make table, queues, backend and functions."""
        import boto3  # noqa: PLC0415 - inside the embedded AWS
        from aws_lambda_powertools import Logger  # noqa: PLC0415

        dynamodb, sqs = boto3.client("dynamodb"), boto3.client("sqs")
        self.clients: dict[str, Any] = {"dynamodb": dynamodb, "sqs": sqs}
        base = Settings()
        create_table(dynamodb, base.table)
        settings = replace(base, queue_url_prefix=create_queues(sqs, base))
        s3: Any = boto3.client("s3")
        events: Any = boto3.client("events")
        clients = AwsClients(dynamodb, sqs, lambda: s3, lambda: events)
        self.backend = build_backend(settings, clients, parallel=IN_ORDER)
        quiet = Logger(service="overhead", level=logging.CRITICAL)
        self._resolvers = {
            group: build_resolver(self.backend, group, logger=quiet)
            for group in (Group.PRODUCER, Group.WORKER_API)
        }

    def active_job(self) -> str:
        """Id of a job that a worker holds."""
        self.backend.jobs.push(Job("demo.echo", ["hello"]))
        (job,) = self.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        return job.id

    def request(self, method: str, path: str, body: object = None) -> Callable[[], dict[str, Any]]:
        """A request that can be made again and again."""
        path = f"/ojs/v1/{path}"
        headers = {"content-type": "application/openjobspec+json"}
        sent = b"" if body is None else json.dumps(body).encode()
        handler = self._resolvers[group_of(method, path)]
        context: Any = LambdaContext("overhead", 29.0)

        def call() -> dict[str, Any]:
            answer = handler.resolve(http_event(method, path, "", headers, sent), context)
            if answer["statusCode"] >= 400:
                raise RuntimeError(answer["body"])
            return answer

        return call

    def all(self) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
        """Name and request of each operation; each must have run once before the next is made."""
        job = {"type": "demo.echo", "args": ["hello", {"n": 1}]}
        yield "PUSH", self.request("POST", "jobs", job)
        fetch = {"queues": ["default"], "worker_id": "w"}
        yield "FETCH", self.request("POST", "workers/fetch", fetch)
        job_id = self.active_job()
        yield "INFO", self.request("GET", f"jobs/{job_id}")
        error = {"type": "Broken", "message": "it broke"}
        body = {"job_id": job_id, "worker_id": "w"}
        yield "FAIL", self.request("POST", "workers/nack", body | {"error": error})
        again = {"job_id": self.active_job(), "worker_id": "w"}
        yield "ACK", self.request("POST", "workers/ack", again | {"result": {"ok": True}})


def measure(rounds: int, profiled: str = "") -> tuple[list[Found], str]:
    """Record, repeat and count each operation.

    :param profiled: name of an operation to profile as well.
    :returns: what was found, and the profile's text.
    """
    found, profile = [], ""
    functions = Functions()
    for name, call in track(functions.all(), description="Measuring", total=5):
        answers = record(functions.clients, call).answers
        with answers_from(answers, is_recording=False):
            call()  # what it asks for once in a while, it knows now
            tape = record(functions.clients, call, answers)
            alone = bare(tape, functions.clients)
            for warm in (call, alone, call, alone):
                warm()
            handler_us, bare_us = medians_us(call, alone, rounds)
            steps = (steps_of(call), steps_of(alone))
            instructions = (instructions_of(call), instructions_of(alone))
            own_calls = own_calls_of(call)
            if name == profiled:
                profile = profile_of(call, rounds)
        calls = len(tape.requests)
        found.append(Found(name, calls, handler_us, bare_us, *steps, *instructions, own_calls))
    return found, profile


def profile_of(call: Callable[[], object], rounds: int) -> str:
    """Where the instructions go, by module; and the time, by function, which is noisy."""
    counted = instructions_by_module(call)
    lines = [f"{count:>8,}  {name}" for name, count in counted.most_common(TOP)]
    whole = f"{sum(counted.values()):>8,}  instructions, by module:"
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(rounds):
        call()
    profiler.disable()
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(TOP)
    return "\n".join([whole, *lines, text.getvalue()])


def show(found: Sequence[Found], console: Console) -> None:
    """Print the table."""
    table = Table(
        "operation",
        "AWS calls",
        "µs",
        "bare µs",
        "ratio",
        "function calls",
        "bare",
        "ratio",
        "instructions",
        "bare",
        "ratio",
        "own calls",
        title="Handlers, beside the same AWS calls in bare botocore",
    )
    for each in found:
        times = (f"{each.handler_us:.0f}", f"{each.bare_us:.0f}", f"{each.ratio:.2f}")
        steps = (f"{each.steps:,}", f"{each.bare_steps:,}", f"{each.steps_ratio:.2f}")
        counted = (f"{each.instructions:,}", f"{each.bare_instructions:,}")
        ratio, own = f"{each.instructions_ratio:.2f}", str(each.own_calls)
        table.add_row(each.operation, str(each.calls), *times, *steps, *counted, ratio, own)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a handler is above the budget."""
    parser = argparse.ArgumentParser(description="Measure what handlers add to their AWS calls.")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--profile", default="", metavar="OPERATION", help="such as PUSH")
    given: Any = parser.parse_args(arguments)
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    os.environ.pop("AWS_ENDPOINT_URL", None)
    console = Console()
    with embedded_aws():
        found, profile = measure(given.rounds, given.profile)
    show(found, console)
    console.print(profile)
    return 0 if all(each.is_within for each in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
