"""Reads the ``config`` of a binding: how its jobs run, and which errors end them (2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.retry import RetryPolicy, parse_retry_policy

LONGEST_TIMEOUT_MS: Final = 7 * 86_400_000
LONGEST_PATTERNS: Final = 2_000
"""Characters of all patterns as JSON: the start of an ECS task holds them beside its variables."""
CONFIG_VARIABLE: Final = "OJS_BINDING_CONFIG"
"""The variable of a task's container that holds the config of its binding, as JSON. ECS describes a
task with its overrides, so the config of an attempt is known when it ends."""
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
