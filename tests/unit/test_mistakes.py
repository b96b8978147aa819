"""Mistakes that newcomers make: each is refused where it is made, in one line that says what to do.

Mistakes in the command `ojs-aws run` are in `cli/test_run.py`, those in policies in
`client/test_policies.py`.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

import ojs_aws
from ojs_aws import (
    Client,
    Job,
    JobContext,
    Jobs,
    LambdaWorker,
    RetryPolicy,
    SyncClient,
    Worker,
    chain,
    current_job,
    group,
)
from ojs_aws.client import group as client_group
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.errors import RetryError, SnoozeError
from tests.simulation.world import World

jobs: Any = Jobs()


def build_report(day: str, *, limit: int = 10) -> int:
    return limit


build = jobs.job("report.build")(build_report)
worker: Any = Worker("http://127.0.0.1:1")


def taken(ctx: JobContext) -> None: ...


worker.handler("email.taken")(taken)


def client() -> Any:
    """Return a client over the model."""
    return SyncClient(client=Client(transport=InProcessTransport(World().backend), middleware=[]))


def enqueue(*given: Any, **options: Any) -> object:
    """Enqueue without types."""
    return client().enqueue(*given, **options)


def with_context(ctx: JobContext, day: str) -> None: ...


def plain(day: str) -> None: ...


MISTAKES: Final[dict[str, tuple[Callable[[], object], str]]] = {
    # -------------------------------------------------------------- arguments and options of a job
    "a text as args": (lambda: enqueue("a.b", "x"), 'did you mean one argument, ["..."]?'),
    "an object as args": (lambda: enqueue("a.b", {"to": 1}), "did you mean one argument, [{...}]?"),
    "kwargs": (lambda: enqueue("a.b", kwargs={"to": 1}), "did you mean `args`?"),
    "a datetime in args": (lambda: enqueue("a.b", [datetime.now()]), "args[0] is a datetime"),  # noqa: DTZ005
    "max_retries": (lambda: enqueue("a.b", [], max_retries=3), '`retry={"max_attempts": ...}`'),
    "retry as a number": (lambda: enqueue("a.b", [], retry=5), '{"max_attempts": 5}'),
    "retry as a number, typed": (
        lambda: jobs.job("a.b", retry=5)(plain),
        "write retry=RetryPolicy(max_attempts=5).",
    ),
    "unique as a flag": (lambda: enqueue("a.b", [], unique=True), "write unique=UniquePolicy()."),
    "unique as a flag, typed": (
        lambda: jobs.job("a.b", unique=True)(plain),
        "write unique=UniquePolicy().",
    ),
    "errors as classes": (
        lambda: RetryPolicy(non_retryable_errors=[ValueError]),  # type: ignore[list-item]
        'non_retryable_errors names the errors: "ValueError", not the class.',
    ),
    "an error as a class": (
        lambda: RetryPolicy(non_retryable_errors=ValueError),  # type: ignore[arg-type]
        '"ValueError", not the class.',
    ),
    "a negative delay": (
        lambda: build.options(delay="-5s"),
        'such as "30s", "10m" or "2h", and not negative; received "-5s".',
    ),
    "a negative number as a delay": (
        lambda: build.options(delay=-5),
        "'delay' attribute must be a duration such as \"30s\"",
    ),
    "a negative timedelta": (
        lambda: RetryPolicy(initial_interval=timedelta(seconds=-5)),
        "and not negative; received -5 s.",
    ),
    "minutes in words": (lambda: build.options(delay="5 minutes"), 'received "5 minutes".'),
    "a negative snooze": (lambda: SnoozeError("-1s"), 'and not negative; received "-1s".'),
    "a negative delay of a retry": (lambda: RetryError(delay=-4), "and not negative; received -4."),
    "a delay of centuries": (lambda: build.options(delay="99999d"), "from 0 to 100 years"),
    "a misspelt policy": (lambda: enqueue("a.b", [], retry={"max_atempts": 5}), "`max_attempts`"),
    "delay of a client": (lambda: enqueue("a.b", [], delay=10), 'needs a unit: "10s"'),
    "a misspelt option": (lambda: enqueue("a.b", [], que="x"), "did you mean `queue`?"),
    "a misspelt foreign option": (lambda: build.options(dealy="5s").call("x"), "mean `delay`?"),
    "a wrong priority": (lambda: enqueue("a.b", [], priority="urgent"), "high, normal or low"),
    "a naive time": (
        lambda: enqueue("a.b", [], scheduled_at=datetime.now()),  # noqa: DTZ005
        "use datetime.now(UTC)",
    ),
    "a type in capitals": (lambda: enqueue("Email.Send", []), "such as email.send"),
    "a queue with a blank": (lambda: enqueue("a.b", [], queue="My Queue"), "lowercase letters"),
    "tuples for many": (lambda: client().enqueue_many([("a.b", [])]), "must be a Job, not a tuple"),
    # ---------------------------------------------------------------------------------- connecting
    "no URL": (Client, 'Client("http://127.0.0.1:8080"), or Client.from_env()'),
    "a URL without a scheme": (lambda: Client("localhost:8080"), "expected https://host[:port]"),
    "a key over HTTP": (lambda: Client("http://far.example", api_key="k"), "use https"),
    "no OJS_URL": (lambda: Client.from_env({}), "Set OJS_URL to the URL of an OJS server"),
    "an id that is none": (lambda: client().get("123"), "such as 019539a4-b68c-7def"),
    # ------------------------------------------------------------------------------------- workers
    "a worker without a URL": (Worker, "a worker needs the URL of a server"),
    "queues as a text": (lambda: Worker("http://x", queues="email"), 'queues=["email", "default"]'),
    "no handlers": (lambda: Worker("http://x").run(), "register one with @worker.handler"),
    "no jobs": (lambda: Worker(Jobs(), url="http://x").run(), "@jobs.job and pass Worker(jobs)"),
    "a job for a worker": (lambda: Worker(build), "takes a Jobs, not the typed job 'report.build'"),
    "jobs in a list": (lambda: LambdaWorker([build]), "takes a Jobs, not a value of type list"),  # type: ignore[arg-type]
    "a handler without a type": (lambda: worker.handler(taken), '@worker.handler("email.send")'),
    "no context": (lambda: worker.handler("a.b")(lambda: 1), "must take the JobContext first"),
    "a type twice": (lambda: worker.handler("email.taken")(taken), "has a handler already: taken"),
    "not an SQS event": (
        lambda: LambdaWorker().lambda_handler({}),
        "connect the function to queue",
    ),
    # ---------------------------------------------------------------------------------- typed jobs
    "a decorator without a type": (lambda: jobs.job(taken), '@jobs.job("email.send")'),
    "a context without the flag": (lambda: jobs.job("a.b")(with_context), "context=True"),
    "retry of a declaration": (lambda: jobs.job("a.b", retry=5)(plain), '{"max_attempts": 5}'),
    "queue of a declaration": (lambda: jobs.job("a.b", queue="A B")(plain), "lowercase letters"),
    "a missing argument": (build.call, "missing a required argument: 'day'"),
    "one argument too many": (lambda: build.call("x", 5), "too many positional arguments"),
    "an unknown argument": (
        lambda: build.call("x", limits=5),
        "unexpected keyword argument 'limit",
    ),
    "an argument of a wrong type": (lambda: build.call(5), "'day' of 'report.build' must be a"),
    "delay of Celery": (lambda: build.delay("x"), "Send it by enqueue(...)"),
    "a delay without a unit": (lambda: build.options(delay=10).call("x"), '"10s" or "10m", not 10'),
    "an empty chain": (chain, "needs at least one call"),
    "a text in a group": (lambda: group("a.b"), "takes calls such as send.call(...)"),  # type: ignore[call-overload]
    "a job of the other chain": (
        lambda: chain(Job("a.b")),  # type: ignore[arg-type]
        "not a Job. For Job, use chain of ojs_aws.client.",
    ),
    "a group of the other kind": (
        lambda: group(client_group(Job("a.b"))),  # type: ignore[call-overload]
        "not a WorkflowParts. For Job, use group of ojs_aws.client.",
    ),
    "a job without its call": (lambda: chain(build), "write build_report.call(...)."),
    "no current job": (current_job, "was called outside of a job"),
    # ------------------------------------------------------------------------- attributes and names
    "args of a context": (lambda: JobContext(Job("a.b")).args, "it is ctx.job.args"),  # type: ignore[attr-defined]
    "the result at once": (lambda: enqueue("a.b", []).result, "ask for it with client.wait("),  # type: ignore[attr-defined]
    "a misspelt class": (lambda: ojs_aws.Clinet, "did you mean 'Client'?"),  # type: ignore[attr-defined]
    "a misspelt error": (
        lambda: importlib.import_module("ojs_aws.errors").SnozeError,
        "did you mean 'SnoozeError'?",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_in_one_line(name: str) -> None:
    """Which says what is right."""
    make, said = MISTAKES[name]
    with pytest.raises(Exception) as refused:  # noqa: PT011 - of many kinds, each by its words
        make()
    message = str(refused.value)
    assert said in message
    assert "\n" not in message
    assert len(message) < 400


async def test_a_handler_learns_that_arguments_do_not_fit() -> None:
    """Also when the context was forgotten, which then takes the place of the first argument."""
    executor = Worker("http://127.0.0.1:1", middleware=[])
    executor.handler("a.b")(lambda to: None)
    from ojs_aws.worker.reservations import WorkerContext
    from tests.unit.worker.test_executor import stays

    outcome: Any = await executor.freeze().execute(
        WorkerContext(Job("a.b", ["x"], id="01990000-0000-7000-8000-000000000001"), extend=stays)
    )
    assert "Its first parameter must be the JobContext." in outcome.error["message"]


def test_a_submodule_is_imported_without_looking_for_similar_names() -> None:
    """A cold start does not pay for what only a mistake needs."""
    with pytest.raises(AttributeError, match=r"no attribute 'clinet'$"):
        _ = ojs_aws.clinet  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("package", "extra", "program"),
    [
        ("jsonschema", "validation", "m.ValidationMiddleware({'a.b': {}})"),
        ("opentelemetry", "telemetry", "m.TraceContextMiddleware()"),
        ("cryptography", "encryption", "m.EncryptionMiddleware(m.StaticKeys({'k': bytes(32)}))"),
    ],
)
def test_a_missing_extra_is_named(package: str, extra: str, program: str) -> None:
    """In a process where its package cannot be imported."""
    code = f"import sys; sys.modules[{package!r}] = None\nimport ojs_aws.middleware as m\n{program}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.endswith(f"that are not installed: pip install 'ojs-aws[{extra}]'."), done.stderr
