"""Finds a worker by a path such as ``package.module:worker``, for command lines."""

from __future__ import annotations

import difflib
import importlib
import inspect
from types import ModuleType

from ojs_aws.middleware.extensions import find
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.polling import Worker


class WorkerPathError(ValueError):
    """Reports that a path leads to no worker; the message says where it ends."""


def load_worker(path: str) -> BaseWorker:
    """Return the worker at ``module:attribute`` (``worker`` when the attribute is left out).

    :raises WorkerPathError: no such module, no such attribute, or it is no worker.
    """
    return _load(path, BaseWorker)


def _load(path: str, wanted: type[BaseWorker]) -> BaseWorker:
    """Return the worker at a path; advice names those of the wanted kind."""
    module_name, _, attribute = path.partition(":")
    if not module_name or "/" in module_name or module_name.endswith(".py"):
        raise WorkerPathError(
            f"{path!r} is no path of a module: write it as in an import, shop.jobs:worker."
        )
    try:
        found = find(path, "worker", is_lenient=True)
    except ModuleNotFoundError as missing:
        if missing.name and not _is_within(module_name, missing.name):
            raise  # the module is there, and imports one that is not
        raise WorkerPathError(
            f"There is no module {module_name!r}. Run the command in the folder that has it."
        ) from None
    if not isinstance(found, BaseWorker):
        module = importlib.import_module(module_name)
        what = f"is no worker but {_described(found)}"
        if found is None:
            what = f"does not exist: {module_name} has no {attribute or 'worker'!r}"
        raise WorkerPathError(f"{path!r} {what}.{_advice(module, attribute or 'worker', wanted)}")
    return found


def load_process_worker(path: str) -> Worker:
    """Return the polling worker at a path.

    :raises WorkerPathError: the path leads to no worker that polls.
    """
    worker = _load(path, Worker)
    if not isinstance(worker, Worker):
        cure = "with its handlers: Worker(url, registry=worker.registry)"
        if len(worker.jobs):
            cure = "with the same jobs: worker = Worker(jobs)"
        raise WorkerPathError(
            f"{path!r} is a {type(worker).__name__}; only a Worker runs as a process. Make one "
            f"{cure}."
        )
    return worker


def run_from_path(path: str) -> None:
    """Run the polling worker at a path until a signal ends it.

    :raises WorkerPathError: the path leads to no worker that polls.
    """
    load_process_worker(path).run()


def _is_within(module_name: str, missing: str) -> bool:
    """Return whether the module that is missing is the named one, or a package around it."""
    return module_name == missing or module_name.startswith(f"{missing}.")


def _described(found: object) -> str:
    if isinstance(found, ModuleType):
        return "a module"
    if inspect.isclass(found):
        return f"the class {found.__name__}"
    if inspect.isroutine(found):
        return "a function"
    kind = type(found).__name__
    return f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"


def _advice(module: ModuleType, attribute: str, wanted: type[BaseWorker]) -> str:
    """Return a sentence that names the most similar worker of a module, or says how to make one."""
    names = [name for name, each in vars(module).items() if isinstance(each, wanted)]
    near = difflib.get_close_matches(attribute, names, n=1, cutoff=0.0)
    if near:
        return f" Did you mean {module.__name__}:{near[0]}?"
    what = "worker" if wanted is BaseWorker else "Worker"
    return f" {module.__name__} has no {what}: make one with worker = Worker(jobs)."
