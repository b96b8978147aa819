"""Finds what runs the jobs of an application's tests."""

from __future__ import annotations

from typing import Any

from ojs_aws.middleware.configuration import find, search_here
from ojs_aws.testing.server.worker_thread import Handlers
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.base import BaseWorker


def load_handlers(path: str) -> Handlers:
    """Return the worker or Jobs at ``module:attribute``.

    :raises TypeError: something else is there.
    """
    search_here()
    found: object = find(path, "worker")
    if not isinstance(found, (BaseWorker, Jobs)):
        raise TypeError(
            f"{path!r} is a {type(found).__name__}, and no worker or Jobs: name one of them, such "
            "as shop.jobs:worker."
        )
    return found


def handlers_of(handlers: Handlers | None) -> dict[str, Any]:
    """Return the parameter by which ``Ojs`` takes handlers.

    :raises TypeError: they are none.
    """
    if handlers is None:
        return {}
    if isinstance(handlers, Jobs):
        return {"jobs": handlers}
    if isinstance(handlers, BaseWorker):
        return {"worker": handlers}
    raise TypeError(f"The fixture ojs_worker is a worker or Jobs, not {type(handlers).__name__}.")
