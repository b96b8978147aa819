"""Finds a worker by a path such as ``package.module:worker``, for command lines."""

from __future__ import annotations

from ojs_aws.middleware.configuration import find
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.polling import Worker


class WorkerPathError(ValueError):
    """Reports that a path leads to no worker; the message says where it ends."""


def load_worker(path: str) -> BaseWorker:
    """Return the worker at ``module:attribute`` (``worker`` when the attribute is left out).

    :raises WorkerPathError: no such module, no such attribute, or it is no worker.
    """
    module_name = path.partition(":")[0]
    try:
        found = find(path, "worker", is_lenient=True)
    except ModuleNotFoundError as missing:
        if missing.name and not module_name.startswith(missing.name):
            raise  # the module is there, and imports one that is not
        raise WorkerPathError(f"There is no module {module_name!r}.") from None
    if not isinstance(found, BaseWorker):
        raise WorkerPathError(f"{path!r} is no worker but {type(found).__name__}.")
    return found


def run_from_path(path: str) -> None:
    """Run the polling worker at a path until a signal ends it.

    :raises WorkerPathError: the path leads to no worker that polls.
    """
    worker = load_worker(path)
    if not isinstance(worker, Worker):
        raise WorkerPathError(
            f"{path!r} is a {type(worker).__name__}; only a Worker runs as a process. Make one "
            "with its handlers: Worker(url, registry=worker.registry)."
        )
    worker.run()
