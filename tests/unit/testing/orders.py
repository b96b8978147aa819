"""A small shop, whose jobs the tests of the testing kit run."""

from __future__ import annotations

from ojs_aws import JobContext, Jobs
from ojs_aws.worker import SnoozeError

jobs = Jobs()


@jobs.job("orders.mail", queue="mail")
async def send_mail(to: str, order: int = 0, *, urgent: bool = False) -> str:
    """Send a mail."""
    return f"{to}:{order}:{urgent}"


@jobs.job("orders.report")
def build_report(day: str) -> dict[str, int]:
    """Build a report, in a thread."""
    return {day: 1}


@jobs.job("orders.broken", retry={"max_attempts": 2, "jitter": False})
async def break_down(number: int) -> None:
    """Fail."""
    raise ValueError(f"number {number}")


@jobs.job("orders.snooze", context=True)
async def wait_for_ever(ctx: JobContext) -> None:
    """Have no time yet."""
    raise SnoozeError("1s")


@jobs.job("orders.again")
async def enqueue_itself() -> None:
    """Begin again."""
    await enqueue_itself.enqueue()
