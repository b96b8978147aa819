"""Injects faults between services and stores: calls fail, lose answers, or end the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ojs_aws.domain.errors import BackendError

OBSERVED = frozenset(
    {
        "insert",
        "insert_all",
        "load",
        "load_whole",
        "load_many",
        "save",
        "claim",
        "extend",
        "acknowledge",
        "delete",
        "head",
        "due",
        "send",
        "send_all",
        "receive",
        "hide",
        "ensure",
        "note",
        "note_exhausted",
        "record_bulk",
        "record_operation",
        "block",
        "override",
        "lift",
        "scopes",
        "charge",
        "all",
        "beat",
        "backlog",
        "remember_sweep",
        "remember_tick",
        "last_tick",
        "set",
        "admit",
        "reserve",
        "stage",
        "decide",
        "decided",
        "open",
        "part",
        "done",
        "advance",
        "close",
        "lock",
        "forget",
        "create",
        "plan",
        "results",
    }
)


class Fault(Enum):
    """What happens to a call."""

    FAILS_BEFORE = "fails before it takes effect"
    FAILS_AFTER = "takes effect, and the answer is lost"
    DIES_BEFORE = "the process dies before the call"
    DIES_AFTER = "the process dies after the call"


class ProcessDiedError(BaseException):
    """The process is gone; nothing in it may catch this."""


@dataclass
class Faults:
    """Counts the calls that services make and injects a fault into the chosen one.

    :ivar afterwards: gets the number of each call without a fault, once it is done.
    """

    faulty: int | None = None
    fault: Fault = Fault.FAILS_BEFORE
    calls: list[str] = field(default_factory=list)
    afterwards: Callable[[int], None] = lambda _: None

    def around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, as the services see it."""

        def observed(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            number = len(self.calls) - 1
            if number != self.faulty:
                answer = call(*args, **kwargs)
                self.afterwards(number)
                return answer
            if self.fault is Fault.DIES_BEFORE:
                raise ProcessDiedError
            if self.fault is Fault.FAILS_BEFORE:
                raise BackendError(f"{name} was refused")
            call(*args, **kwargs)
            if self.fault is Fault.DIES_AFTER:
                raise ProcessDiedError
            raise BackendError(f"the answer to {name} was lost")

        return observed


class Observed:
    """A store whose calls go through :class:`Faults`."""

    def __init__(self, store: object, faults: Faults) -> None:
        """Wrap a store."""
        self._store = store
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        """The store's attribute; its calls observed."""
        value = getattr(self._store, name)
        return self._faults.around(name, value) if name in OBSERVED else value
