"""Load the middleware and hooks that a setting names, and sort objects into chains and hooks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeVar

from ojs_aws.config import SettingsError
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.protocols import HOOKS, check
from ojs_aws.middleware.results import InvalidMiddlewareError


class Extensions:
    """Sorts objects into the two chains and the hooks, by the methods that each one has.

    Example::

        extensions = Extensions([Tracing(), Audit()])
        client = Client(url, middleware=extensions.enqueuing, hooks=extensions.hooks)
        worker = Worker(url, middleware=extensions.execution, hooks=extensions.hooks)

    :ivar enqueuing: the enqueue chain: the default middleware, then these.
    :ivar execution: the execution chain: these, inside the default ones but for the timeout, which
        stays innermost.
    :ivar hooks: the hooks.
    """

    def __init__(self, extensions: Iterable[object] = (), *, defaults: bool = True) -> None:
        """Sort these, in this order.

        :param defaults: whether the recommended middleware are part of the chains as well.
        :raises InvalidMiddlewareError: one of them implements nothing, or has a method that looks
            like one of an interface and cannot be called as it.
        """
        self.enqueuing = EnqueueChain.default() if defaults else EnqueueChain()
        self.execution = ExecutionChain.default() if defaults else ExecutionChain()
        self.hooks = Hooks()
        hook_names = {interface.name for interface in HOOKS}
        timeout = "timeout" if "timeout" in self.execution.names() else ""
        for extension in extensions:
            made = extension() if isinstance(extension, type) else extension
            checked = check(made)
            if checked.problems:
                raise InvalidMiddlewareError(f"{made!r}: {checked.problems[0]}")
            if {"enqueue", "enqueue_many"} & {*checked.implements}:
                self.enqueuing.add(made)
            if "execute" in checked.implements and timeout:
                self.execution.insert_before(timeout, made)
            elif "execute" in checked.implements:
                self.execution.add(made)
            if hook_names & {*checked.implements}:
                self.hooks.add(made)


T = TypeVar("T")

_STARTED: Final = "the function started"


def enqueue_chain(path: str) -> EnqueueChain:
    """Return the chain that PUSH runs before it stores a job, frozen.

    :param path: ``module:attribute`` of an EnqueueChain; empty for the default chain.
    :raises SettingsError: the path leads to no chain.
    """
    if not path:
        return EnqueueChain.default().freeze(_STARTED)
    return _loaded(path, "OJS_ENQUEUE_MIDDLEWARE", "chain", EnqueueChain).freeze(_STARTED)


def hooks(path: str) -> Hooks:
    """Return the hooks of the backend, frozen.

    :param path: ``module:attribute`` of Hooks; empty for none.
    :raises SettingsError: the path leads to no hooks.
    """
    if not path:
        return Hooks()
    return _loaded(path, "OJS_HOOKS", "hooks", Hooks).freeze(_STARTED)


def find(path: str, default: str, *, is_lenient: bool = False) -> object:
    """Return what a dotted path ``module:attribute`` leads to.

    :param default: the attribute that is meant when the path names a module alone.
    :param is_lenient: None stands for an attribute that does not exist.
    :raises ImportError: there is no such module, or it cannot be imported.
    :raises AttributeError: it has no such attribute.
    """
    module_name, _, attribute = path.partition(":")
    found: object = importlib.import_module(module_name)
    for part in (attribute or default).split("."):
        found = getattr(found, part, None) if is_lenient else getattr(found, part)
    return found


def search_here() -> None:
    """Let paths lead into the working directory as well, as those of ``python -m`` do."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _loaded(path: str, setting: str, default: str, wanted: type[T]) -> T:
    try:
        found = find(path, default)
    except (ImportError, AttributeError, ValueError) as problem:
        raise SettingsError(f"{setting} is {path!r}: {problem}.") from problem
    if not isinstance(found, wanted):
        raise SettingsError(
            f"{setting} is {path!r}, which is a {type(found).__name__} and no {wanted.__name__}."
        )
    return found
