"""Bring a request's id, trace and user into the jobs that it enqueues (framework adapters, 7.1).

Each framework's middleware calls :func:`request_context`, and its clients have
:class:`AddRequestMeta`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.protocols import EnqueueNext
from ojs_aws.transport.http.negotiation import is_request_id

REQUEST_ID: Final = "ojs.context.request_id"
USER_ID: Final = "ojs.context.user_id"
HEADER: Final = "X-Request-ID"
_TRACE, _TRACE_STATE = "traceparent", "tracestate"
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII
)
_MAX_TRACE_STATE: Final = 512


@dataclass(frozen=True, slots=True)
class _Request:
    """Holds what a request adds to its jobs.

    :ivar user: returns the id of the user who is known when a job is enqueued; else nothing.
    """

    meta: dict[str, JsonValue]
    user: Callable[[], str]

    def now(self) -> dict[str, JsonValue]:
        """Return all keys that are known."""
        user = self.user()
        return {**({USER_ID: user} if user else {}), **self.meta}


_REQUEST: Final[ContextVar[_Request | None]] = ContextVar("ojs_request", default=None)


def request_meta() -> dict[str, JsonValue]:
    """Return what goes into ``meta`` of each job that this request enqueues; add to it.

    Example::

        request_meta()["ojs.context.user_id"] = user.id

    A key that a job has already stays as it is. Outside of a request nothing is kept.
    """
    found = _REQUEST.get()
    return {} if found is None else found.meta


@contextmanager
def request_context(header: Callable[[str], str], user: Callable[[], str] = str) -> Iterator[str]:
    """Give a request its context while it is answered; yield its id.

    :param header: returns a header of the request by its name, several joined by commas, or
        nothing.
    :param user: returns the id of the request's user, or nothing. It is called for each job, in
        any thread, and must not wait.
    """
    given = header(HEADER).strip()
    request_id = given if is_request_id(given) else str(uuid.uuid4())
    # One object for all threads of the request: what a dependency adds is seen by the endpoint.
    token = _REQUEST.set(_Request({REQUEST_ID: request_id, **_trace_of(header)}, user))
    try:
        yield request_id
    finally:
        _REQUEST.reset(token)


def _trace_of(header: Callable[[str], str]) -> dict[str, JsonValue]:
    """Return the trace context of a request; one that cannot be read is none."""
    parent = header(_TRACE).strip()
    if not _TRACEPARENT.fullmatch(parent):
        return {}
    state = header(_TRACE_STATE).strip()
    is_kept = state and len(state) <= _MAX_TRACE_STATE
    return {_TRACE: parent, **({_TRACE_STATE: state} if is_kept else {})}


class AddRequestMeta:
    """Adds to a job the metadata of the request that enqueues it; enqueue middleware."""

    never_waits = True

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on with the keys that it lacks."""
        found = _REQUEST.get()
        given = job.get("meta")
        if found is None or not (given is None or isinstance(given, dict)):
            return await call_next(job)  # whoever stores it says what is wrong with its meta
        has_trace = given is not None and _TRACE in given
        for key, value in found.now().items():
            if not (has_trace and key == _TRACE_STATE):
                job.meta.setdefault(key, value)
        return await call_next(job)
