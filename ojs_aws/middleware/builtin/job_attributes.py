"""Sets attributes of jobs before they are enqueued: metadata and the queue."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from ojs_aws.domain.attributes import TYPE_PATTERN, check_queue
from ojs_aws.domain.envelope import DEFAULT_QUEUE, Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.json_members import check_native
from ojs_aws.middleware.protocols import EnqueueNext

MetaValue: TypeAlias = "JsonValue | Callable[[Job], JsonValue]"
"""A value, or a function that returns it for a job; if it returns None, the key is left out."""


class DefaultMetadataMiddleware:
    """Adds the keys that a job lacks to its ``meta``. Keys that are there stay as they are.

    Either all missing keys are added or, when a function fails, none.
    """

    never_waits = True

    def __init__(self, defaults: Mapping[str, MetaValue], *, overwrite: bool = False) -> None:
        """Add these keys.

        :param defaults: JSON values, or functions of the job that return one.
        :param overwrite: replace what a job has under these keys.
        :raises InvalidPayloadError: a value that JSON does not have.
        """
        check_native(dict.fromkeys(defaults), "defaults")
        for key, value in defaults.items():
            if not callable(value):
                check_native(value, f"defaults.{key}")
        self._defaults = {
            key: value if callable(value) else copy.deepcopy(value)
            for key, value in defaults.items()
        }
        self._overwrites = overwrite

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on with the metadata added.

        :raises InvalidPayloadError: a function returned what JSON does not have.
        :raises Exception: whatever a function raised.
        """
        meta = job.get("meta")
        if meta is not None and not isinstance(meta, dict):
            return await call_next(job)  # PUSH refuses it, and says what is wrong
        added: dict[str, JsonValue] = {}
        for key, default in self._defaults.items():
            if meta and key in meta and not self._overwrites:
                continue
            if callable(default):
                value = default(job)
                check_native(value, f"meta.{key}")
                if value is None:
                    continue
            else:
                value = copy.deepcopy(default)
            added[key] = value
        if added:
            job.meta.update(added)
        return await call_next(job)


Matcher: TypeAlias = "str | Callable[[Job], object]"
"""A job type, a prefix such as ``email.*``, ``*`` for every type, or a function of the job."""

_TYPE: Final = re.compile(TYPE_PATTERN, re.ASCII)


class QueueRoutingMiddleware:
    """Puts a job into the queue of the first rule that matches; if none does, its queue stays.

    Put it before middleware that looks at the queue, such as deduplication and rate limits.
    """

    never_waits = True

    def __init__(
        self,
        rules: Mapping[str, str] | Iterable[tuple[Matcher, str]],
        *,
        override: bool = True,
    ) -> None:
        """Route by these rules, in this order.

        :param rules: what matches, and the queue: exact types, prefixes (``email.*`` matches
            ``email.send`` and ``email.bulk.send``, not ``email``), ``*``, or functions of the job
            that return whether they match.
        :param override: False moves only jobs that are in the queue ``default``.
        :raises ValueError: a rule has an invalid pattern or queue; the message names the rule.
        """
        pairs = rules.items() if isinstance(rules, Mapping) else rules
        self._rules = tuple(_rule(number, *pair) for number, pair in enumerate(pairs, 1))
        self._overrides = override

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on, in its queue.

        :raises Exception: whatever a function of a rule raised.
        """
        if self._overrides or job.queue == DEFAULT_QUEUE:
            queue = next((queue for matches, queue in self._rules if matches(job)), None)
            if queue is not None and queue != job.queue:
                job.queue = queue
        return await call_next(job)


def _rule(number: int, matcher: Matcher, queue: str) -> tuple[Callable[[Job], object], str]:
    try:
        check_queue(queue)
    except InvalidRequestError as problem:
        raise ValueError(f"Rule {number} leads to no queue: {problem.message}") from problem
    if not isinstance(matcher, str):
        if not callable(matcher):
            raise ValueError(f"Rule {number} matches by {matcher!r}: give a pattern or a function.")
        return matcher, queue
    if matcher == "*":
        return lambda _: True, queue
    if not _TYPE.fullmatch(matcher.removesuffix(".*")):
        raise ValueError(
            f"Rule {number} can match no job: {matcher!r} is neither a type such as email.send, "
            "nor a prefix such as email.*, nor *."
        )
    if matcher.endswith(".*"):
        prefix = matcher[:-1]
        return lambda job: job.type.startswith(prefix), queue
    return lambda job: job.type == matcher, queue
