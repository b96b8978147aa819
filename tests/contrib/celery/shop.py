"""A shop in Celery, whose queue for mail is bridged."""

from __future__ import annotations

from typing import Any

from celery import shared_task, signals
from celery.exceptions import Ignore, Reject

from ojs_aws.contrib.celery import BridgedCelery, celery_jobs

app = BridgedCelery("shop", broker="memory://", backend="cache+memory://")
app.conf.ojs_queues = ["mail", "mail-*"]
app.conf.ojs_tasks = ["shop.later"]
app.conf.task_routes = (
    {"shop.mail.Rarely": {"queue": "mail", "priority": 3}},
    {"shop.mail.*": {"queue": "mail"}},
)

SEEN: list[Any] = []


class BrokenError(Exception):
    """What a task raises that Celery may retry."""


@app.task(name="shop.mail.send")
def send(to: str, template: str = "welcome", *, when: object = None) -> dict[str, object]:
    return {"to": to, "template": template, "when": when}


@app.task(name="shop.mail.add")
def add(x: int, y: int) -> int:
    return x + y


@app.task(name="shop.mail.Rarely", ignore_result=True, time_limit=1.5, expires=90)
def rarely(*values: object) -> list[object]:
    return [*values]


@app.task(name="shop.print")
def print_label(number: int) -> int:
    return number


@app.task(name="shop.later")
def later() -> str:
    return "later"


@app.task(name="shop.mail.patient", bind=True, max_retries=2, default_retry_delay=7)
def patient(self: Any, failures: int) -> int:
    SEEN.append((self.request.id, self.request.retries))
    if self.request.retries < failures:
        raise self.retry(exc=TimeoutError("slow"))
    return int(self.request.retries)


@app.task(
    name="shop.mail.automatic",
    autoretry_for=(BrokenError,),
    retry_backoff=5,
    retry_jitter=False,
    retry_kwargs={"max_retries": 4},
)
def automatic(kind: str) -> None:
    raise BrokenError(kind) if kind == "broken" else ValueError(kind)


@app.task(name="shop.mail.change", bind=True)
def change(self: Any, number: int) -> None:
    raise self.retry(args=(number + 1,))


@app.task(name="shop.mail.leave")
def leave(how: str) -> None:
    raise {"ignore": Ignore(), "reject": Reject("no"), "requeue": Reject("busy", requeue=True)}[how]


@app.task(name="shop.mail.note")
def note(*values: object) -> None:
    SEEN.append(values)


@shared_task(name="shop.mail.relay")
def relay(to: str) -> str:
    """Send another task from within a task, by a name that Celery's default app resolves."""
    return str(send.delay(to).id)


@signals.task_prerun.connect
def started(task_id: str = "", **_: object) -> None:
    SEEN.append(("started", task_id))


jobs = celery_jobs(app)
