"""Reports a function's work to a tracer: to AWS X-Ray, or to none.

Nothing is imported for it, and nothing costs, while it is off. `xray.py` has the tracer.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol, TypeAlias

Noted: TypeAlias = str | int | float | bool
"""What can be searched for."""

CRON_SPAN: Final = "ojs.cron trigger"
SWEEP_SPAN: Final = "ojs.scheduler poll"
WORKFLOW_SPAN: Final = "ojs.workflow advance"
"""The backend's own spans (ojs-observability, section 6.3)."""


class Span(Protocol):
    """Describes a piece of work while it goes on."""

    def note(self, **values: Noted) -> None:
        """Annotate the span, so that it can be found; empty texts are left out."""

    def fail(self, kind: str, message: str) -> None:
        """Mark the span as failed although nothing was raised."""


class Tracing(Protocol):
    """Reports pieces of work, nested as they are called."""

    def span(self, name: str, **values: Noted) -> AbstractContextManager[Span]:
        """Open a span for the block; an exception in it marks the span as failed.

        :param values: see :meth:`Span.note`.
        """


class NoSpan:
    """Ignores what a span would record."""

    def note(self, **values: Noted) -> None:
        """Do nothing."""

    def fail(self, kind: str, message: str) -> None:
        """Do nothing."""


class NoTracing:
    """Reports nothing."""

    def span(self, name: str, **values: Noted) -> AbstractContextManager[Span]:
        """Return a span that records nothing."""
        del name, values
        return _NOBODY


_NOBODY: Final[AbstractContextManager[Span]] = nullcontext(NoSpan())
NO_TRACING: Final = NoTracing()
