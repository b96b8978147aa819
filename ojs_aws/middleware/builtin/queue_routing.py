"""Choose the queue of a job by its type or content (middleware specification, section 3.6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from ojs_aws.domain.attributes import TYPE_PATTERN, check_queue
from ojs_aws.domain.envelope import DEFAULT_QUEUE, Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.middleware.protocols import EnqueueNext

Matcher: TypeAlias = "str | Callable[[Job], object]"
"""A job type, a prefix such as ``email.*``, ``*`` for every type, or a function of the job."""

_TYPE: Final = re.compile(TYPE_PATTERN, re.ASCII)


class QueueRoutingMiddleware:
    """Puts a job into the queue of the first rule that matches; without one it stays where it is.

    Put it before whatever looks at the queue: deduplication, rate limits.
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
        :param override: False leaves jobs alone that are not in the queue ``default``.
        :raises ValueError: a pattern that matches no type, or no queue's name; it says which rule.
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
