"""Describes what binds job types of a queue to a function that runs them (ojs-serverless, 2.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.job_policies import Limit, LimitOfType
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import binding_key
from ojs_aws.domain.retry import RetryPolicy, parse_retry_policy
from ojs_aws.domain.timestamps import Instant

COOLDOWN_MS: Final = 60_000
"""How long after a suspension, or a trial, one job is tried again (7.2)."""
MAX_TYPES: Final = 100
"""Job types of one binding."""
_PATTERN: Final = re.compile(r"[a-z0-9_.-]{0,127}\*|[a-z][a-z0-9_.-]{0,127}")
FIRST_WAIT_MS: Final = 1_000
LONGEST_WAIT_MS: Final = 300_000
"""How long a job waits that was given back: each time twice as long, up to this."""
LONGEST_TIMEOUT_MS: Final = 7 * 86_400_000
LONGEST_PATTERNS: Final = 2_000
"""Characters of all patterns as JSON: the start of an ECS task holds them beside its variables."""
_PATTERNS: Final = "non_retryable_errors"
MOST_JOBS: Final = 1_000_000
_MEMBERS: Final = ("max_concurrency", "retry", "timeout_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingConfig:
    """Says how the jobs of a binding run; what is None is as the stack says.

    :ivar non_retryable_errors: names of errors after which no retry helps, as a retry policy names
        them.
    :ivar timeout_ms: how long the target has for a job. It shortens no reservation.
    :ivar max_concurrency: jobs that are active at the target at a time, of one queue.
    """

    non_retryable_errors: tuple[str, ...] | None = None
    timeout_ms: int | None = None
    max_concurrency: int | None = None

    def forbids(self, *names: str) -> bool:
        """Return whether no retry helps after an error of one of these names."""
        patterns = self.non_retryable_errors or ()
        return bool(patterns) and RetryPolicy(non_retryable_errors=patterns).forbids(*names)

    def over(self, other: BindingConfig) -> BindingConfig:
        """Return what applies where this is registered, and the stack says the other."""
        return read_config({**other.render(), **self.render()})

    def render(self) -> dict[str, JsonValue]:
        """Return the members as a registration has them; none for what is None."""
        shown: dict[str, JsonValue] = {}
        if self.max_concurrency is not None:
            shown["max_concurrency"] = self.max_concurrency
        if self.timeout_ms is not None:
            shown["timeout_ms"] = self.timeout_ms
        if self.non_retryable_errors is not None:
            shown["retry"] = {_PATTERNS: [*self.non_retryable_errors]}
        return shown


NO_CONFIG: Final = BindingConfig()


def read_config(value: JsonValue) -> BindingConfig:
    """Read the ``config`` of a registration; None is an empty one.

    :raises InvalidRequestError: something in it is malformed, or is not a binding's to say.
    """
    if value is None:
        return NO_CONFIG
    if not isinstance(value, dict):
        raise _refused("config", f"an object with {', '.join(_MEMBERS)}")
    for name in value:
        if name not in _MEMBERS:
            raise _unknown(name)
    return BindingConfig(
        non_retryable_errors=_patterns(value.get("retry")),
        timeout_ms=_number("timeout_ms", value, LONGEST_TIMEOUT_MS),
        max_concurrency=_number("max_concurrency", value, MOST_JOBS),
    )


def stored_config(text: str) -> BindingConfig:
    """Return the config that a stored text describes; members of a later version are left out."""
    members = decode(text)
    known = members if isinstance(members, dict) else {}
    return read_config({name: known[name] for name in _MEMBERS if name in known})


def _patterns(retry: JsonValue) -> tuple[str, ...] | None:
    if retry is None:
        return None
    if not isinstance(retry, dict) or {*retry} != {_PATTERNS}:
        raise _refused(
            "config.retry",
            f"an object with {_PATTERNS} alone: the rest is in the retry policy of each job",
        )
    patterns = parse_retry_policy(retry).non_retryable_errors
    if len(encode([*patterns])) > LONGEST_PATTERNS:
        raise _refused("config.retry", f"at most {LONGEST_PATTERNS} characters of JSON")
    return patterns


def _number(name: str, values: Mapping[str, JsonValue], most: int) -> int | None:
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise _refused(f"config.{name}", f"a whole number from 1 to {most}")
    return value


def _unknown(name: str) -> InvalidRequestError:
    if name == "signing_secret":
        message = "'config.signing_secret' is what the stack says, and cannot be registered."
        return field_error(f"config.{name}", message, "Change signing_secret of the construct.")
    message = f"'config.{name[:40]}' is nothing that a binding says: it has {', '.join(_MEMBERS)}."
    return field_error("config", message)


def _refused(field: str, expected: str) -> InvalidRequestError:
    return field_error(field, f"The '{field}' of a binding must be {expected}.", expected=expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Binds job types of queues to a Lambda function.

    :ivar name: unique in a deployment's stack.
    :ivar queues: whose jobs it runs.
    :ivar target: ARN of the alias of the function.
    :ivar types: ``email.send``, ``email.*``, or ``*`` for all.
    :ivar reservation_s: how long a job may take from its claim to its outcome: the wait in Lambda's
        queue, the function's time, and some seconds for the outcome's way back.
    :ivar config: how its jobs run.
    """

    name: str
    queues: Sequence[str]
    target: str
    types: Sequence[str]
    reservation_s: int
    config: BindingConfig = NO_CONFIG

    def fit(self, job_type: str) -> int:
        """Return how well a pattern of it fits a job type; 0 for not at all."""
        return max((_fit(pattern, job_type) for pattern in self.types), default=0)


def _fit(pattern: str, job_type: str) -> int:
    """Return how well a pattern fits: the type itself best, else the longest beginning."""
    if pattern == job_type:
        return len(pattern) + 2
    is_fitting = pattern.endswith("*") and job_type.startswith(pattern[:-1])
    return len(pattern) if is_fitting else 0


def binding_of(bindings: Iterable[Binding], job_type: str) -> Binding | None:
    """Return the binding of a job type that fits best; None if none does."""
    best = max(bindings, key=lambda each: each.fit(job_type), default=None)
    return best if best is not None and best.fit(job_type) else None


def limits_of(bindings: Iterable[Binding], queue: str) -> LimitOfType | None:
    """Return what says which limit the jobs of a type have by their binding; None if none has one.

    Each binding of a queue has a bucket of its own, which no job can name.
    """
    found = [*bindings]
    if all(each.config.max_concurrency is None for each in found):
        return None

    def limit_of(job_type: str) -> Limit | None:
        best = binding_of(found, job_type)
        if best is None or best.config.max_concurrency is None:
            return None
        key = binding_key(queue, best.name)
        return Limit(key=key, concurrency=best.config.max_concurrency)

    return limit_of


def read_bindings(text: str) -> list[Binding]:
    """Return the bindings that a JSON array describes, as the construct writes it.

    :raises ValueError: it describes none.
    """
    try:
        found = [Binding(**with_config(each)) for each in json.loads(text)]
    except (TypeError, ValueError) as problem:
        raise ValueError(f"bindings must be a JSON array of objects: {problem}") from problem
    if not found:
        raise ValueError("there are no bindings: name one at least")
    return found


def with_config(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a construct has written, with their ``config`` read.

    :raises InvalidRequestError: it is none.
    """
    return {**described, "config": read_config(described.get("config"))}


def wait_ms(times: int) -> int:
    """Return how long a job waits that was given back so many times before."""
    return int(min(FIRST_WAIT_MS * 2 ** min(times, 16), LONGEST_WAIT_MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """Says why nothing is dispatched to a binding.

    :ivar since: when it was suspended.
    :ivar tried_at: when a job was last tried.
    :ivar is_lasting: somebody suspended it, and nobody but people resumes it.
    """

    reason: str
    since: Instant
    tried_at: Instant
    is_lasting: bool = False

    def may_try(self, now: Instant) -> bool:
        """Return whether one job may be tried now."""
        return not self.is_lasting and now >= self.tried_at + COOLDOWN_MS


def write_suspension(suspension: Suspension) -> str:
    """Return a suspension as it is stored."""
    said: list[object] = [suspension.reason, suspension.since, suspension.tried_at]
    if suspension.is_lasting:
        said.append(True)
    return json.dumps(said, separators=(",", ":"))


def read_suspension(text: str) -> Suspension:
    """Return the suspension that a stored text describes."""
    reason, since, tried_at, *more = json.loads(text)
    return Suspension(
        reason=reason, since=Instant(since), tried_at=Instant(tried_at), is_lasting=bool(more)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTarget:
    """Describes a function, tasks or endpoints that the stack allows queues to be bound to.

    :ivar queues: whose messages invoke its dispatcher.
    :ivar types: the job types that it runs where nobody registered others; may be empty.
    :ivar prefixes: of the URLs that somebody may register; none for a function or task.
    :ivar family: of the task definition; empty for functions and endpoints.
    :ivar config: what holds where nobody registered another one.
    """

    queues: Sequence[str]
    types: Sequence[str]
    prefixes: Sequence[str] = ()
    family: str = ""
    config: BindingConfig = NO_CONFIG

    @property
    def kind(self) -> str:
        """Return ``https`` for endpoints, ``ecs`` for tasks, ``lambda`` for a function."""
        if self.family:
            return "ecs"
        return "https" if self.prefixes else "lambda"


def read_targets(text: str) -> dict[str, AllowedTarget]:
    """Return the allowed targets by the names of their bindings; none for an empty text."""
    found = json.loads(text or "{}")
    return {name: AllowedTarget(**with_config(each)) for name, each in found.items()}


def types_of(value: object) -> tuple[str, ...]:
    """Return the job types that a registration names (2.1).

    :raises ValueError: saying what is wrong with them.
    """
    if not isinstance(value, list) or not value or len(value) > MAX_TYPES:
        raise ValueError(f"job_types is a list of 1 to {MAX_TYPES} job types.")
    for each in value:
        if not isinstance(each, str) or not _PATTERN.fullmatch(each):
            raise ValueError(
                f"{each!r} is no job type: use a type, its beginning with a * at the end "
                "(email.*), or * alone."
            )
    return tuple(dict.fromkeys(value))
