"""Declarations of typed jobs: what they accept, and what they say about mistakes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from ojs_aws import JobContext, Jobs, LambdaWorker, SyncJobContext, Worker
from ojs_aws.domain.errors import OjsError
from ojs_aws.worker import RegistrationError

if TYPE_CHECKING:
    from decimal import Decimal

Ctx = JobContext
CHECKOUT: Final = Path(__file__).resolve().parents[3]


def test_a_declared_function_is_still_a_function() -> None:
    jobs = Jobs()

    @jobs.job("sum.make")
    def add(one: int, two: int = 2) -> int:
        """Add."""
        return one + two

    assert add(1) == 3
    assert (add.__name__, add.__doc__, add.__module__) == ("add", "Add.", __name__)


async def test_a_declared_coroutine_is_still_one() -> None:
    jobs = Jobs()

    @jobs.job("a.b", context=True)
    async def handle(ctx: JobContext, name: str) -> str:
        return f"{ctx.attempt} {name}"

    from ojs_aws import Job

    assert await handle(JobContext(Job("a.b")), "x") == "1 x"


def test_declaring_needs_no_worker_no_url_and_no_pydantic() -> None:
    """A web application and its worker import one module."""
    program = """
import sys
from ojs_aws import Jobs
jobs = Jobs()
@jobs.job("email.send", queue="email")
async def send(to: str, tags: list[str], *, urgent: bool = False) -> dict[str, int]: ...
send.call("a", ["b"], urgent=True)
loaded = [m for m in ("ojs_aws.worker", "httpx", "botocore", "pydantic") if m in sys.modules]
print(loaded)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=CHECKOUT
    )
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------------------------- mistakes
def test_a_context_without_the_flag_names_the_fix() -> None:
    jobs = Jobs()
    with pytest.raises(RegistrationError, match="must be declared with context=True"):

        @jobs.job("a.b")
        async def handle(ctx: JobContext, name: str) -> None: ...


def test_a_flag_without_a_parameter_names_the_fix() -> None:
    jobs = Jobs()
    with pytest.raises(RegistrationError, match=r"handle\(ctx: JobContext"):

        @jobs.job("a.b", context=True)  # type: ignore[arg-type]
        async def handle() -> None: ...


def test_a_context_must_come_first() -> None:
    jobs = Jobs()
    with pytest.raises(RegistrationError, match="must be its first parameter, not 'ctx'"):

        @jobs.job("a.b")
        async def handle(name: str, ctx: JobContext) -> None: ...


def test_a_context_by_another_name_is_found_by_senders_too() -> None:
    jobs = Jobs()

    @jobs.job("a.b")
    async def handle(ctx: Ctx, name: str) -> None: ...

    with pytest.raises(RegistrationError, match="must be declared with context=True"):
        handle.call(None, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("is_async", [True, False])
def test_each_kind_of_function_has_its_own_context(is_async: bool) -> None:
    """An asynchronous one awaits what a synchronous one waits for."""
    jobs = Jobs()

    async def wrong(ctx: SyncJobContext) -> None: ...
    def wrong_too(ctx: JobContext) -> None: ...

    declare: Any = jobs.job("a.b", context=True)
    expected = "JobContext" if is_async else "SyncJobContext"
    with pytest.raises(RegistrationError, match=f"must have the type {expected}"):
        declare(wrong if is_async else wrong_too)


def test_a_first_parameter_that_is_no_context_is_refused_at_once() -> None:
    """Where the job is declared; a type that cannot be read yet is checked by the worker."""
    declare: Any = Jobs().job("a.b", context=True)

    async def forgotten(a: int, b: str) -> None: ...
    def named(ctx: int, b: str) -> None: ...
    async def free(ctx, b: str) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
    async def later(ctx: Decimal, b: str) -> None: ...

    said = r"first parameter must be the context: .*forgotten\(ctx: JobContext, a, b\)"
    with pytest.raises(RegistrationError, match=said):
        declare(forgotten)
    with pytest.raises(RegistrationError, match=r"named\(ctx: SyncJobContext, b\)"):
        declare(named)
    declare(free)
    job = Jobs()
    job.job("a.b", context=True)(later)  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="'Decimal'"):
        LambdaWorker(job).freeze()


def test_a_type_that_cannot_be_resolved_is_an_error() -> None:
    """It is never taken for an argument without a type."""
    jobs = Jobs()

    @jobs.job("a.b")
    async def handle(price: Decimal) -> None: ...

    with pytest.raises(RegistrationError, match=r"'Decimal'.*not under TYPE_CHECKING"):
        handle.call(1)  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="'Decimal'"):
        LambdaWorker(jobs).freeze()


def test_keywords_without_names_have_no_place_on_the_wire() -> None:
    jobs = Jobs()
    with pytest.raises(RegistrationError, match=r"names each of its arguments"):

        @jobs.job("a.b")
        async def handle(**given: str) -> None: ...

    with pytest.raises(RegistrationError, match=r"Take a list in place of \*args"):

        @jobs.job("a.b")
        async def mixed(*given: str, urgent: bool = False) -> None: ...


def test_a_type_is_declared_once() -> None:
    jobs = Jobs()

    @jobs.job("a.b")
    async def one() -> None: ...

    with pytest.raises(RegistrationError, match=r"'a.b' is declared already: .*one in"):

        @jobs.remote("a.b")
        async def two() -> None: ...


def test_versions_of_a_type_may_have_a_function_each() -> None:
    jobs = Jobs()

    @jobs.job("a.b", versions="<2.0")
    async def one() -> None: ...
    @jobs.job("a.b", versions=">=2.0", version="2.1")
    async def two() -> None: ...

    assert two.call().to_job()["version"] == "2.1"
    assert len(jobs) == 2


def test_the_name_of_an_option_is_checked_where_it_is_declared() -> None:
    jobs = Jobs()
    with pytest.raises(TypeError, match="did you mean `priority`"):

        @jobs.job("a.b", prioritty=5)  # type: ignore[call-overload, untyped-decorator]
        async def handle() -> None: ...

    with pytest.raises(RegistrationError, match="cannot have the same id"):

        @jobs.job("a.b", id="01900000-0000-7000-8000-000000000001")
        async def same() -> None: ...


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"queue": "Bad Queue"}, "'queue' attribute must be lowercase letters"),
        ({"timeout_s": "5s"}, "'timeout_s' attribute must be a whole number of seconds"),
        ({"visibility_timeout_s": 50_000}, "'visibility_timeout_s' attribute"),
        ({"timeout": "8d"}, "'timeout' attribute must be .* at most 7 days"),
        ({"visibility_timeout": "13h"}, "'visibility_timeout' attribute must be"),
        ({"result_ttl_s": -5}, "'result_ttl_s' attribute"),
        ({"priority": 500}, "'priority' attribute must be an integer from -100 to 100"),
        ({"tags": [1]}, "'tags' attribute"),
        ({"scheduled_at": "soon"}, "'scheduled_at' attribute"),
        ({"retry": {"max_attempts": -1}}, "'retry.max_attempts'"),
        ({"rate_limit": {"key": "crm", "concurrency": -1}}, "rate_limit.concurrency"),
        ({"delay": "soon"}, "delay"),
    ],
)
def test_the_value_of_an_option_is_checked_where_it_is_declared(
    options: dict[str, Any], said: str
) -> None:
    """Not with the first job that is sent; the name is the option's."""
    declare: Any = Jobs().job
    with pytest.raises(RegistrationError, match=f"^The job 'a.b': .*{said}"):
        declare("a.b", **options)(lambda: None)
    with pytest.raises(OjsError, match=said):
        declare("a.b")(lambda: None).options(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"unique": {"key": ["type"], "within": "1h"}},
        {"retry": {"initial_interval_ms": 500, "max_interval": "1m"}},
        {"rate_limit": {"key": "crm", "by": "args.0", "concurrency": 1}},
        {"scheduled_at": "+PT10S", "expires_at": "+1h", "visibility_timeout_s": 2.5},
        {"delay": "10m", "result_ttl_s": -1, "timeout_s": 0, "version": "2.0"},
    ],
)
def test_options_that_a_server_takes_can_be_declared(options: dict[str, Any]) -> None:
    declare: Any = Jobs().job
    assert declare("a.b", **options)(lambda: None).call().to_job().type == "a.b"


@pytest.mark.parametrize("job_type", ["", "A b"])
def test_a_type_is_checked_where_it_is_declared(job_type: str) -> None:
    jobs = Jobs()
    with pytest.raises(RegistrationError):

        @jobs.job(job_type)
        async def handle() -> None: ...


def test_only_a_function_can_be_declared() -> None:
    declare: Any = Jobs().job
    with pytest.raises(RegistrationError, match="name the job type"):
        declare(lambda: None)
    with pytest.raises(RegistrationError, match="decorating a function, not a int"):
        declare("a.b")(5)


# ---------------------------------------------------------------------------------- workers
def test_a_worker_serves_the_queues_of_its_jobs() -> None:
    """Jobs that others run are none of its own."""
    jobs = Jobs()

    @jobs.job("a.b", queue="email")
    async def one() -> None: ...
    @jobs.remote("c.d", queue="media")
    async def two() -> None: ...

    worker = LambdaWorker(jobs)

    @jobs.job("e.f")
    async def three() -> None: ...

    assert worker.queues == ("email", "default")
    assert LambdaWorker(jobs, queues=["low"]).queues == ("low",)
    assert set(worker.registry) == {"a.b", "e.f"}


def test_a_worker_declares_jobs_of_its_own() -> None:
    worker = LambdaWorker()

    @worker.job("a.b", queue="email")
    async def one(name: str) -> None: ...

    assert one.call("x").to_job().queue == "email"
    assert (worker.queues, list(worker.registry)) == (("email",), ["a.b"])


def test_a_worker_with_jobs_asks_the_environment_where_the_server_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not before it starts: a web application imports the module as well."""
    monkeypatch.delenv("OJS_URL", raising=False)
    worker = Worker(Jobs())
    worker.registry.add("a.b", lambda _: None)
    with pytest.raises(ValueError, match="Set OJS_URL"):
        worker.run()


def test_a_worker_from_the_environment_takes_jobs() -> None:
    jobs = Jobs()

    @jobs.job("a.b", queue="email")
    async def run() -> None: ...

    worker = Worker.from_env({"OJS_URL": "http://127.0.0.1:8080"}, jobs=jobs)
    assert (worker.queues, worker.jobs) == (("email",), jobs)


def test_a_string_first_is_still_the_url() -> None:
    assert Worker("http://127.0.0.1:8080").queues == ("default",)
    assert Worker(jobs=Jobs(), url="http://127.0.0.1:8080").queues == ("default",)
    with pytest.raises(ValueError, match=r"or its jobs: Worker\(jobs\)"):
        Worker()
    with pytest.raises(ValueError, match="not both"):
        Worker("http://127.0.0.1:8080", url="http://127.0.0.1:8080")


def test_a_job_is_not_declared_after_its_worker_has_started() -> None:
    jobs = Jobs()
    LambdaWorker(jobs).freeze()
    with pytest.raises(RegistrationError, match="after the worker had started"):

        @jobs.job("a.b")
        async def late() -> None: ...

    assert len(jobs) == 0


def test_a_lambda_worker_of_plain_jobs_imports_no_pydantic() -> None:
    """pydantic costs a cold start more than all else; it comes with the first model."""
    program = """
import asyncio, sys
from ojs_aws import Jobs, LambdaWorker
from ojs_aws.domain.envelope import Job
from ojs_aws.worker.reservations import WorkerContext
jobs = Jobs()
@jobs.job("email.send", queue="email")
async def send(to: str, tags: list[str], *, urgent: bool = False) -> dict[str, bool]:
    return {"urgent": urgent}
worker = LambdaWorker(jobs)
async def main():
    ctx = WorkerContext(Job("email.send", ["a", ["b"]]), extend=None)
    return await worker.freeze().execute(ctx)
print(asyncio.run(main()).result, [m for m in ("pydantic", "httpx") if m in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=CHECKOUT
    )
    assert done.stdout.strip() == '{"urgent":false} []'
