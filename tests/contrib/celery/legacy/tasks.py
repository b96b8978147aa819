"""Its tasks."""

from __future__ import annotations

import smtplib
from datetime import datetime
from decimal import Decimal
from typing import Any

from celery import Task, chord, shared_task
from celery.signals import task_failure

from tests.contrib.celery.legacy.app import app

task_failure.connect(lambda **_: None, weak=False)


class Customer:
    """No JSON can carry it."""


class Audited(Task):
    """Does something around its tasks."""

    def on_failure(self, *args: Any, **_: Any) -> None:
        del args


@app.task(
    autoretry_for=(smtplib.SMTPException, TimeoutError),
    retry_backoff=True,
    max_retries=5,
    rate_limit="100/m",
    time_limit=30,
)
def send_email(to: str, template: str = "welcome", *, urgent: bool = False) -> str:
    return f"{to} {template} {urgent}"


@app.task(bind=True, max_retries=None, default_retry_delay=60)
def send_sms(self: Any, number, text):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    if text == "busy":
        raise self.retry(exc=TimeoutError("busy"))
    return [self.request.id, number]


@shared_task(ignore_result=True, acks_late=True, soft_time_limit=20)
def tick() -> None: ...


@app.task(base=Audited)
def report(
    kind: str,
    total: Decimal | None = None,
    since: datetime | None = None,
    customer: Customer | None = None,
    *more: int,
    **options: object,
) -> dict:  # type: ignore[type-arg]
    if customer:
        chord([send_email.s("a")], tick.si()).apply_async(headers={"x": 1})
    return {"kind": kind, "total": str(total), "since": since, "more": more, **options}


@app.task(
    name="pay.Charge",
    serializer="pickle",
    autoretry_for=(Exception,),
    dont_autoretry_for=(ValueError,),
    retry_kwargs={"max_retries": 7, "countdown": 5},
)
def charge(order: int, cents: int, currency: str, customer_reference: str | None = None) -> None:
    raise ValueError(order, cents, currency, customer_reference)
