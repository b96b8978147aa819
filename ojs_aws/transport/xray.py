"""Traces with AWS X-Ray by Powertools' Tracer: spans are subsegments of the invocation.

Imported only where tracing is on (decision 41). Calls of botocore become subsegments of the span
they are made in: the X-Ray SDK wraps its clients.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, cast

from ojs_aws.middleware.results import missing_extra
from ojs_aws.transport.http.errors import is_fault
from ojs_aws.transport.tracing import Noted, Span

try:
    from aws_lambda_powertools import Tracer
    from aws_xray_sdk.core.lambda_launcher import LAMBDA_TRACE_HEADER_KEY, LambdaContext
    from aws_xray_sdk.core.models.trace_header import TraceHeader
except ImportError as missing:
    raise missing_extra("OJS_TRACING", "tracing") from missing

if TYPE_CHECKING:
    from aws_xray_sdk.core.models.entity import Entity
    from aws_xray_sdk.core.models.subsegment import Subsegment
    from aws_xray_sdk.core.recorder import AWSXRayRecorder

MAX_FRAMES: Final = 10
MAX_VALUE: Final = 1000
"""Characters of an annotation that X-Ray keeps."""

_WARM: Final = "provisioned-concurrency"


def xray_tracing(*, redacts: bool = False) -> XRayTracing:
    """Trace this function, and the calls of botocore's clients in it.

    :param redacts: keep the messages of errors out of it.
    """
    tracer = Tracer(disabled=False, auto_patch=False)
    recorder = cast("AWSXRayRecorder", tracer.provider)
    recorder.configure(context=TaskContext())
    tracer.patch(modules=["botocore"])
    return XRayTracing(tracer, redacts=redacts)


class XRayTracing:
    """Makes spans as subsegments; the first of a process is annotated ``ColdStart``."""

    def __init__(self, tracer: Tracer, *, redacts: bool = False) -> None:
        """Take the parts that :func:`xray_tracing` describes."""
        self._tracer = tracer
        self._redacts = redacts
        self._is_cold = os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") != _WARM

    @contextmanager
    def span(self, name: str, **values: Noted) -> Iterator[Span]:
        """Open a subsegment; see :class:`ojs_aws.transport.tracing.Tracing`."""
        problem: BaseException | None = None
        recorder = cast("AWSXRayRecorder", self._tracer.provider)
        is_first = recorder.current_subsegment() is None
        with recorder.in_subsegment(name=name) as subsegment:
            span = XRaySpan(cast("Subsegment", subsegment), redacts=self._redacts)
            if is_first:
                values |= {"ColdStart": self._is_cold, "Service": self._tracer.service}
                self._is_cold = False
            span.note(**values)
            try:
                yield span
            except BaseException as raised:  # noqa: BLE001 - raised again below
                span.refuse(raised)
                problem = raised
        if problem is not None:  # out here, or the SDK would call every refusal a fault
            raise problem


class XRaySpan:
    """Holds an open subsegment."""

    def __init__(self, subsegment: Subsegment, *, redacts: bool) -> None:
        """Start to write to a subsegment."""
        self._subsegment = subsegment
        self._redacts = redacts

    def note(self, **values: Noted) -> None:
        """Annotate the subsegment."""
        for name, value in values.items():
            shown = value[:MAX_VALUE] if isinstance(value, str) else value
            if shown != "":
                self._subsegment.put_annotation(name, shown)

    def fail(self, kind: str, message: str) -> None:
        """Mark the subsegment as failed, with the error's class and, if permitted, its message."""
        self._subsegment.add_fault_flag()
        self._subsegment.put_annotation("error_type", kind[:MAX_VALUE])
        if not self._redacts and message:
            self._subsegment.put_metadata("error", message[:MAX_VALUE], "ojs")

    def refuse(self, problem: BaseException) -> None:
        """Mark the subsegment as failed; a refused request is no fault."""
        code = getattr(problem, "code", "")
        self.note(error_type=type(problem).__name__, error_code=str(code))
        if not isinstance(problem, Exception):  # given up: nobody's error
            return
        if not is_fault(problem):
            self._subsegment.apply_status_code(getattr(problem, "status", 400))
        elif self._redacts:
            self._subsegment.add_fault_flag()
        else:
            stack = traceback.extract_tb(problem.__traceback__, limit=MAX_FRAMES)
            self._subsegment.add_exception(problem, stack)


class _TaskLocal:
    """Holds by task what the SDK holds by thread: its attributes, as context variables."""

    _entities: ContextVar[list[Entity]] = ContextVar("xray_entities")
    _segment: ContextVar[Entity | None] = ContextVar("xray_segment", default=None)

    @property
    def entities(self) -> list[Entity]:
        """Return the open subsegments of this task, the innermost last: a list of its own."""
        return self._entities.get([])

    @entities.setter
    def entities(self, value: list[Entity]) -> None:
        self._entities.set(value)

    @property
    def segment(self) -> Entity | None:
        """Return the invocation's segment."""
        return self._segment.get()

    @segment.setter
    def segment(self, value: Entity | None) -> None:
        self._segment.set(value)


class TaskContext(LambdaContext):
    """Adapts the SDK's context of a function to asyncio's tasks and a pool's threads.

    The SDK's own is by thread: jobs side by side in one event loop would close each other's
    subsegments, and calls in a pool's threads would hang from nothing.
    """

    _local: _TaskLocal

    def __init__(self) -> None:
        """Start with nothing open."""
        super().__init__()
        self._local = _TaskLocal()

    def put_subsegment(self, subsegment: Subsegment) -> None:
        """Open a subsegment in this task only; the list was inherited from another task."""
        self._refresh_context()
        self._local.entities = [*self._local.entities]
        super().put_subsegment(subsegment)

    def end_subsegment(self, end_time: object = None) -> bool:
        """Close the innermost subsegment of this task."""
        self._local.entities = [*self._local.entities]
        return super().end_subsegment(end_time)  # type: ignore[arg-type]  # seconds, which the stub does not know

    def clear_trace_entities(self) -> None:
        """Close everything that is open in this task."""
        self._local.entities = []
        self._local.segment = None

    def _refresh_context(self) -> None:
        """Start again with each invocation, also with another one of the same trace."""
        header = TraceHeader.from_header_str(os.environ.get(LAMBDA_TRACE_HEADER_KEY, ""))
        segment = self._local.segment
        if segment is not None and header.parent and header.parent != segment.id:
            self.clear_trace_entities()
        super()._refresh_context()  # type: ignore[misc]  # the stub leaves it out
