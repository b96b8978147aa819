"""Sort objects into the chains and the hooks by the methods that they have."""

from __future__ import annotations

from collections.abc import Iterable

from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.errors import InvalidMiddlewareError
from ojs_aws.middleware.hooks.registry import Hooks
from ojs_aws.middleware.interfaces import HOOKS, check


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
