"""Its settings and its beat schedule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from celery import Celery
from celery.schedules import BaseSchedule, crontab

TASKS = "tests.contrib.celery.legacy.tasks"


class AtSunset(BaseSchedule):
    """Stands for a schedule that only Celery has, as its solar ones, which need a library."""


def router(name: str, *_: Any, **__: Any) -> dict[str, str] | None:
    return {"queue": "E_mail"} if "send_" in name else None


app = Celery("legacy", broker="memory://", include=[TASKS], set_as_current=False)
app.conf.timezone = "Europe/Berlin"
app.conf.task_routes = router
app.conf.beat_schedule = {
    "nightly": {
        "task": f"{TASKS}.report",
        "schedule": crontab(hour=2, minute=30, day_of_week="monday,fri", month_of_year={3, 6}),
        "args": ("daily",),
        "options": {"queue": "reports", "expires": 30},
    },
    "tick": {"task": f"{TASKS}.tick", "schedule": timedelta(seconds=90)},
    "first monday": {
        "task": f"{TASKS}.tick",
        "schedule": crontab(0, 9, day_of_week=1, day_of_month="1-7"),
    },
    "too often": {"task": f"{TASKS}.tick", "schedule": 0.5},
    "sunset": {"task": f"{TASKS}.tick", "schedule": AtSunset()},
    "gone": {"task": f"{TASKS}.gone", "schedule": 30.0},
}
