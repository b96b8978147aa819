"""A small shop, whose jobs the tests of the testing kit run."""

from __future__ import annotations

from ojs_aws import Jobs, RetryPolicy, current_job

jobs = Jobs()
sent: list[str] = []


@jobs.job(
    "shop.send_mail", queue="email", retry=RetryPolicy(max_attempts=2, initial_interval="PT1S")
)
async def send_mail(to: str) -> str:
    """Send a mail; addresses without @ fail."""
    if "@" not in to:
        raise ValueError(f"{to!r} is no address")
    sent.append(to)
    return f"sent to {to}"


@jobs.job("shop.count", queue="reports")
def count(pages: int) -> int:
    """Count words, in a thread."""
    current_job().progress(0.5)
    return pages * 300


@jobs.job("shop.follow_up", queue="email")
async def follow_up(to: str) -> str:
    """Send another job."""
    return (await send_mail.enqueue(to)).id


async def signup(email: str) -> None:
    """Do what an endpoint of the shop does."""
    await send_mail.enqueue(email)
