"""A Celery app that has nothing to think about."""

from celery import Celery

app = Celery("plain", broker="memory://", set_as_current=False)


@app.task
def greet(name: str) -> str:
    return f"hello {name}"
