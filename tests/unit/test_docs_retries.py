"""docs/retries.md says what is so, and its examples run."""

from __future__ import annotations

import asyncio
import re
import types
from pathlib import Path
from typing import Any, Final

import pytest

from ojs_aws import Client
from ojs_aws.client.transports.connection import Resends
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.failures import HISTORY_LIMIT
from ojs_aws.domain.retry import RetryPolicy
from ojs_aws.domain.timestamps import parse_duration
from ojs_aws.middleware.builtin.timeout import DEFAULT_TIMEOUT_S
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import render_job
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.directly import DirectReservations
from ojs_aws.worker.reports import Reporter
from ojs_aws.worker.reservations import WorkerContext
from tests.simulation.world import World
from tests.unit.worker.doubles import StillTimer
from tests.unit.worker.test_executor import stays

DOCS: Final = Path(__file__).parents[2] / "docs"
TEXT: Final = (DOCS / "retries.md").read_text("utf-8")


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str]) -> Any:
    """The examples of the page, in its order; what they print is `said`."""
    module = types.ModuleType("shop")
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        code = compile(block, "retries.md", "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 - our own page
    vars(module)["said"] = capsys.readouterr().out.strip()
    return module


class Bench:
    """A backend over the model, with a worker for the page's jobs."""

    def __init__(self, jobs: Any) -> None:
        self.world = World()
        self.client = Client(transport=InProcessTransport(self.world.backend), middleware=[])
        self.executor = BaseWorker(jobs=jobs, middleware=[]).freeze()

    async def work(self) -> None:
        """Execute what is available, and report it as workers do."""
        for claimed in self.world.backend.jobs.fetch(FetchRequest(("default",), 10, "w")):
            job = Job.from_members(render_job(claimed))
            outcome = await self.executor.execute(WorkerContext(job, extend=stays))
            held = DirectReservations(self.world.backend, "w", claimed=claimed)
            await Reporter(StillTimer()).report(held, job, outcome)

    async def ends(self, sender: Any, *args: Any) -> JobRecord:
        """Send a job and execute it once; return it."""
        with self.client.use():
            handle = await sender.enqueue(*args)
        await self.work()
        return self.world.backend.jobs.info(handle.id)


async def test_each_error_does_what_the_table_says(page: Any) -> None:
    """State, delay, whether it counts, whether it is a dead letter."""
    expected = {
        "busy": ("retryable", 30_000, 1, False),
        "closed": ("retryable", 600_000, 0, False),
        "cancelled": ("discarded", None, 1, False),
        "strange": ("discarded", None, 1, True),
        "declined": ("discarded", None, 1, False),
        "paid": ("completed", None, 1, False),
    }
    for answer, wanted in expected.items():
        job = await Bench(page.jobs).ends(page.charge, "ada", answer)
        found = (str(job.state), job.retry_delay_ms, job.counted_attempts, job.is_dead_letter)
        assert found == wanted, answer


async def test_any_other_exception_follows_the_policy(page: Any) -> None:
    """By default two retries, after about one and two seconds."""
    bench = Bench(page.jobs)
    job = await bench.ends(page.import_file, "/")
    assert (str(job.state), job.counted_attempts) == ("retryable", 1)
    assert job.retry_delay_ms is not None
    assert 500 <= job.retry_delay_ms <= 1500
    for _ in range(2):
        bench.world.clock.advance(s=3)
        await bench.work()
    ended = bench.world.backend.jobs.info(job.id)
    assert (str(ended.state), len(ended.failures)) == ("discarded", 3)


async def test_a_snooze_waits_for_the_file(page: Any, tmp_path: Path) -> None:
    """And the job runs when it is there."""
    bench, file = Bench(page.jobs), tmp_path / "orders.csv"
    job = await bench.ends(page.import_file, str(file))
    assert (str(job.state), job.retry_delay_ms) == ("retryable", 300_000)
    assert job.error is not None
    assert "is not there yet" in job.error.message
    file.write_text("abc")
    bench.world.clock.advance(s=300)
    await bench.work()
    assert bench.world.backend.jobs.info(job.id).result == "3"


async def test_a_caller_sees_what_the_page_says(page: Any) -> None:
    """The error's type and message, once the job is discarded."""
    bench = Bench(page.jobs)
    with bench.client.use():
        waiting = asyncio.ensure_future(page.pay("ada"))
        while not waiting.done():
            await bench.work()
            await asyncio.sleep(0)
    assert waiting.result() == "payment.card_declined: the card was declined"


def test_the_schedule_is_the_one_that_is_printed(page: Any) -> None:
    assert page.said == "10s, 20s, 40s, 1m20s, 2m40s"
    assert f"`{page.said}`" in TEXT


def test_the_defaults_are_those_of_the_code() -> None:
    """Each option of the table, and no other."""
    table = TEXT.partition("| option | default |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", table, re.MULTILINE))
    policy = RetryPolicy()
    assert {
        "max_attempts": f"`{policy.max_attempts}`",
        "backoff_strategy": f'`"{policy.strategy}"`',
        "backoff_coefficient": f"`{policy.backoff_coefficient}`",
        "jitter": f"`{policy.jitter}`",
        "non_retryable_errors": "none",
        "retry_on": "all",
        "on_exhaustion": f'`"{policy.on_exhaustion}"`',
    }.items() <= rows.items()
    for name in ("initial_interval", "max_interval"):
        shown = parse_duration(rows[name].strip('`"'), name)
        assert shown == getattr(policy, f"{name}_ms")
    assert len(rows) == 9


def test_the_numbers_are_those_of_the_code() -> None:
    """The timeout, the length of the history, and the resends of a client."""
    assert DEFAULT_TIMEOUT_S == 30 * 60
    assert f"up to {HISTORY_LIMIT} failures" in TEXT
    assert Resends().limit == 4


def test_who_searches_for_retry_backoff_finds_this_page() -> None:
    """Titles and headings weigh most in the site's search: no other page has both words there."""
    words = ("retr", "backoff")
    for file in DOCS.glob("**/*.md"):
        headings = " ".join(re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE))
        has_both = all(word in headings.lower() for word in words)
        assert has_both == (file.name == "retries.md"), file
