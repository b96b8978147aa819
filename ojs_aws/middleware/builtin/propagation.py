"""Carries context variables along with a job (middleware specification, sections 3.6 and 10.1).

The code that enqueues a job has values in context variables, such as a locale or a request id. They
travel in the job's ``meta``, and the same variables have them while the job is executed.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any, Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.json_members import check_native
from ojs_aws.domain.json_text import encode
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import EnqueueNext, ExecutionNext

DEFAULT_MAX_BYTES: Final = 1024

LOCALE: Final[ContextVar[str | None]] = ContextVar("ojs_locale", default=None)
"""Locale of the current work, a language tag such as ``de-AT``; None where nobody set one."""
TIMEZONE: Final[ContextVar[str | None]] = ContextVar("ojs_timezone", default=None)
"""Timezone of the current work, such as ``Europe/Vienna``; None where nobody set one."""

_logger = logging.getLogger(__name__)


class ContextPropagationMiddleware:
    """Takes context variables along in ``meta``; use it in the client's and the worker's chain.

    If ``meta`` has a key already, the client's middleware does not change it. If ``meta`` lacks a
    key, the worker's middleware does not change its variable. Values must be JSON and small. Others
    are left out with a warning, and the job goes on without them. After the execution each variable
    has the value that it had before.
    """

    never_waits = True

    def __init__(
        self, variables: Mapping[str, ContextVar[Any]], *, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> None:
        """Choose the variables.

        :param variables: context variables by the key in ``meta``.
        :param max_bytes: largest JSON text of one value, in bytes.
        :raises ValueError: a key that is empty, or a limit that is not positive.
        :raises TypeError: something that is no context variable.
        """
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be positive, not {max_bytes}")
        for key, variable in variables.items():
            if not key:
                raise ValueError(f"{key!r} is no key for meta")
            if not isinstance(variable, ContextVar):
                raise TypeError(f"{key}: {variable!r} is no ContextVar")
        self._variables = dict(variables)
        self._max_bytes = max_bytes

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on with the values of this context in its metadata."""
        meta = job.get("meta")
        if meta is not None and not isinstance(meta, dict):
            return await call_next(job)  # the backend says what is wrong with it
        taken: dict[str, JsonValue] = {}
        for key, variable in self._variables.items():
            value = _value_of(variable)
            if value is None or (meta and key in meta):
                continue
            if problem := self._problem(value):
                _logger.warning("Context not propagated", extra={"key": key, "problem": problem})
            else:
                taken[key] = copy.deepcopy(value)
        if taken:
            job.meta.update(taken)
        return await call_next(job)

    async def execute(
        self,
        job: Job,
        ctx: JobContext,  # noqa: ARG002 - the protocol's
        call_next: ExecutionNext,
    ) -> object:
        """Run the rest of the chain and the handler with the values that came with the job."""
        meta = job.get("meta")
        came = meta if isinstance(meta, dict) else {}
        tokens: list[Token[Any]] = []
        try:
            for key, variable in self._variables.items():
                value = came.get(key)
                if value is None:
                    continue
                if problem := self._problem(value) or self.refuse(key, value):
                    _logger.warning("Context not restored", extra={"key": key, "problem": problem})
                else:
                    tokens.append(variable.set(copy.deepcopy(value)))
            return await call_next()
        finally:
            for token in reversed(tokens):
                token.var.reset(token)

    def refuse(self, key: str, value: JsonValue) -> str:  # noqa: ARG002 - for subclasses
        """Return why a value that came with a job is not restored; empty if it is."""
        return ""

    def _problem(self, value: Any) -> str:
        """Return why ``meta`` cannot hold a value; empty if it can."""
        try:
            check_native(value, "value")
            size = len(encode(value).encode())
        except (OjsError, ValueError, RecursionError) as problem:
            return str(problem)[:200]
        return f"{size} bytes; at most {self._max_bytes}" if size > self._max_bytes else ""


def _value_of(variable: ContextVar[Any]) -> Any:
    """Return the variable's value or default; None without either."""
    try:
        return variable.get()
    except LookupError:
        return None


class LocaleMiddleware(ContextPropagationMiddleware):
    """Takes the locale and the timezone along, as ``meta.locale`` and ``meta.timezone``.

    It reads the context variables :data:`LOCALE` and :data:`TIMEZONE`, or others that hold text.
    """

    def __init__(
        self,
        locale: ContextVar[Any] = LOCALE,
        timezone: ContextVar[Any] = TIMEZONE,
    ) -> None:
        """Choose the two variables."""
        super().__init__({"locale": locale, "timezone": timezone})

    def refuse(self, key: str, value: JsonValue) -> str:  # noqa: ARG002 - for subclasses
        """Refuse a value that is no text, and so neither a locale nor a timezone."""
        return "" if isinstance(value, str) else "no text"
