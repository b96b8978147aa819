"""Holds what the layers of a chain of middleware did with one job, outermost first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext


@dataclass(eq=False)
class LayerRecord:
    """Holds what one middleware did.

    :ivar name: by which the chain knows it.
    :ivar changed: members of the job, and ``metadata`` of the context, that it changed before it
        went on: their values before and after, None for one that was not there.
    :ivar has_gone_on: whether it called ``call_next``, or passed the job on by returning it.
    :ivar returned: what it returned.
    :ivar error: what it raised, or let pass.
    """

    name: str
    changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    has_gone_on: bool = False
    returned: Any = None
    error: BaseException | None = None


@dataclass(eq=False)
class ChainTrace:
    """Records one run of a chain.

    :ivar job: as the store or the handler got it, and as the layers left it.
    :ivar order: what happened in turn: ``enter <name>``, ``store`` or ``handler``, ``leave <name>``
    :ivar layers: the middleware that ran, in the order in which they were entered.
    :ivar error: what left the outermost one; None after a success.
    """

    job: Job
    order: list[str] = field(default_factory=list)
    layers: list[LayerRecord] = field(default_factory=list)
    error: BaseException | None = None
    _result: Any = None

    @property
    def result(self) -> Any:
        """Return what the outermost middleware returned.

        :raises BaseException: the error, after a failure.
        """
        if self.error is not None:
            raise self.error
        return self._result

    def layer(self, name: str) -> LayerRecord:
        """Return what a middleware did.

        :raises LookupError: it did not run.
        """
        for each in self.layers:
            if each.name == name:
                return each
        ran = ", ".join(each.name for each in self.layers) or "none"
        raise LookupError(f"The middleware {name!r} did not run. These did: {ran}.")

    def __str__(self) -> str:
        """Show the layers, each inside of the one before, with what they changed."""
        lines, depth = [], 0
        for event in self.order:
            what, _, name = event.partition(" ")
            depth -= what == "leave"
            lines.append("  " * depth + event)
            if what == "enter":
                depth += 1
                lines += [
                    "  " * depth + f"{member}: {before!r} -> {after!r}"
                    for member, (before, after) in self.layer(name).changed.items()
                ]
        if self.error is not None:
            lines.append(f"{type(self.error).__name__}: {self.error}")
        return "\n".join(lines)


@dataclass(eq=False)
class EnqueueTrace(ChainTrace):
    """Records one run of an enqueue chain.

    :ivar stored: the job as it was stored; None if it was not.
    :ivar dropped_by: the name of the middleware that dropped it; empty for none.
    """

    stored: Job | None = None
    dropped_by: str = ""


@dataclass(eq=False)
class ExecutionTrace(ChainTrace):
    """Records one run of an execution chain.

    :ivar context: of the execution, with its ``metadata``.
    """

    context: JobContext = field(default_factory=lambda: JobContext(Job("test.job")))
