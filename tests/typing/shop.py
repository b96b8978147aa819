"""Declare jobs of each form."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws import JobContext, Jobs, RetryPolicy, SyncJobContext, UniquePolicy, Worker

jobs = Jobs()


@dataclass(frozen=True)
class Order:
    number: int


@dataclass(frozen=True)
class Receipt:
    is_sent: bool


@jobs.job("email.send", queue="email", retry=RetryPolicy(max_attempts=5))
async def send_email(to: str, order: Order, *, urgent: bool = False) -> Receipt:
    return Receipt(bool(to) and order.number > 0 and not urgent)


@jobs.job("report.build", context=True, unique=UniquePolicy(period="1h"))
async def build_report(ctx: JobContext, day: str, limit: int = 10) -> int:
    await ctx.checkpoint(day)
    return limit


@jobs.job("audit.note", context=True)
def audit(ctx: SyncJobContext, note: str) -> None:
    ctx.checkpoint(note)


@jobs.job("sum.make")
def add(one: int, two: int) -> int:
    return one + two


@jobs.remote("video.encode", queue="media")
def encode(path: str, *, crf: int = 23) -> dict[str, int]:
    raise NotImplementedError


worker = Worker(jobs, queues=["email"])


@worker.job("late.job")
async def late(name: str) -> str:
    return name
