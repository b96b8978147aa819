"""Describes workers by their heartbeats, and pools of them with the order of their queues.

A FETCH asks for the queues of a pool, or names an order by itself (ojs-fair-scheduling).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ojs_aws.domain.attributes import check_queue, field_error, invalid, is_integer
from ojs_aws.domain.errors import JsonValue, UnsupportedError
from ojs_aws.domain.timestamps import Instant

RUNNING: Final = "running"
MAX_QUEUES: Final = 100
MAX_WEIGHT: Final = 1_000
MAX_CONCURRENCY: Final = 1_000_000
NAME_PATTERN: Final = r"[a-z0-9][a-z0-9._-]{0,127}"
TURN: Final = 1 << 64
"""How many points there are for a draw."""
_STEP: Final = 0x9E3779B97F4A7C15
"""A step by the golden section: the points of any draws in a row are spread evenly."""
_NAME: Final = re.compile(NAME_PATTERN, re.ASCII)
_REFUSED: Final = ("isolated", "starvation_prevention")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """Holds what a heartbeat says of its worker.

    :ivar state: the lifecycle state that the worker says it is in.
    :ivar drain_word: how it says that it drains, if by another word than ``quiet``.
    :ivar active_jobs: how many jobs it says it has.
    :ivar job_ids: those that it names.
    :ivar interval_ms: how often it promises to beat, if it does.
    :ivar about: JSON object of what it reports of itself (hostname, queues ...); empty for nothing
        new.
    """

    state: str = RUNNING
    drain_word: str = ""
    active_jobs: int = 0
    job_ids: tuple[str, ...] = ()
    interval_ms: int | None = None
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo(WorkerReport):
    """Describes a worker by its heartbeats: what they last said of it, and what is known besides.

    :ivar seen_before: its heartbeat before the last one; None while there was only one.
    :ivar beats: its heartbeats since its id was registered.
    :ivar directive: the state that it was asked to take: ``running``, ``quiet`` or ``terminate``.
    :ivar directed_by: who asked for that last, as ``domain.credentials`` stores it.
    :ivar principal: who registered its id; empty where access is open or it runs inside AWS.
    """

    id: str
    last_seen: Instant
    seen_before: Instant | None = None
    beats: int = 0
    directive: str = RUNNING
    principal: str = ""
    directed_by: str = ""

    @property
    def is_draining(self) -> bool:
        """Return whether it takes no new jobs: it reports so, or its directive says so."""
        return self.state != RUNNING or self.directive != RUNNING


class Strategy(StrEnum):
    """Names how the queues of a FETCH are ordered (section 7)."""

    STRICT = "strict"
    ROUND_ROBIN = "round-robin"
    WEIGHTED = "weighted"
    LEAST_LOADED = "least-loaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Describes a worker pool (section 6.1), or what one FETCH asks for by itself.

    :ivar name: empty for what a FETCH asks for.
    :ivar weights: of each queue; 1 where nothing is said.
    :ivar concurrency: jobs that its workers may run at a time; shown, not enforced.
    """

    queues: tuple[str, ...]
    name: str = ""
    strategy: Strategy = Strategy.ROUND_ROBIN
    weights: Mapping[str, int]
    concurrency: int | None = None

    @property
    def shown_weights(self) -> dict[str, int]:
        """Return the weights that count: none for the other strategies."""
        return dict(self.weights) if self.strategy is Strategy.WEIGHTED else {}

    def members(self) -> dict[str, JsonValue]:
        """Return the pool as it is stored and sent, without its name."""
        members: dict[str, JsonValue] = {
            "queues": [*self.queues],
            "strategy": self.strategy.value,
        }
        if self.shown_weights:
            members["weights"] = {**self.shown_weights}
        if self.concurrency is not None:
            members["concurrency"] = self.concurrency
        return members


def read_pool(name: str, members: Mapping[str, JsonValue]) -> Pool:
    """Return the pool that a body describes.

    ``queues`` is a list beside ``weights``, or an object: ``{"email": {"weight": 3}, "low": 1}``.

    :raises InvalidRequestError: it cannot be one.
    :raises UnsupportedError: it asks for what this server does not do.
    """
    check_pool_name(name)
    if members.get("name") not in (None, name):
        raise invalid("name", f"'{name}', as the path says", members["name"])
    for refused in _REFUSED:
        if members.get(refused):
            raise UnsupportedError(
                f"The '{refused}' attribute of a pool is not implemented.",
                details={"field": refused},
                hint="Leave it out. No queue of a weighted pool waits for ever.",
            )
    concurrency = members.get("concurrency")
    if concurrency is not None and not (
        is_integer(concurrency) and 0 < concurrency <= MAX_CONCURRENCY
    ):
        raise invalid("concurrency", f"an integer from 1 to {MAX_CONCURRENCY}", concurrency)
    given, weights = members.get("queues"), members.get("weights")
    if isinstance(given, dict):
        weights = weights or {
            queue: value.get("weight", 1) if isinstance(value, dict) else value
            for queue, value in given.items()
        }
        given = [*given]
    if not isinstance(given, list) or not 0 < len(given) <= MAX_QUEUES:
        raise invalid("queues", f"a list of 1 to {MAX_QUEUES} queues, or their weights", given)
    pool = read_choice(given, members.get("strategy"), weights, Strategy.ROUND_ROBIN)
    return replace(pool, name=name, concurrency=concurrency)


def read_choice(
    queues: Sequence[JsonValue],
    strategy: JsonValue,
    weights: JsonValue,
    default: Strategy = Strategy.STRICT,
) -> Pool:
    """Return the order that a FETCH or a pool asks for; weights alone mean ``weighted``.

    :raises InvalidRequestError: an unknown strategy, or weights that are no positive integers of
        these queues.
    """
    names = tuple(dict.fromkeys(map(check_queue, queues)))
    if strategy is None:
        strategy = Strategy.WEIGHTED.value if weights else default.value
    if not isinstance(strategy, str) or strategy not in set(Strategy):
        raise invalid("strategy", f"one of {', '.join(Strategy)}", strategy)
    return Pool(queues=names, strategy=Strategy(strategy), weights=_weights(names, weights))


def check_pool_name(name: str) -> str:
    """Return the name of a pool.

    :raises InvalidRequestError: it is none.
    """
    if not _NAME.fullmatch(name):
        expected = "lowercase letters, digits, hyphens, dots and underscores, at most 128"
        raise invalid("pool", expected, name)
    return name


def _weights(queues: Sequence[str], given: JsonValue) -> dict[str, int]:
    if given is None:
        return dict.fromkeys(queues, 1)
    if not isinstance(given, dict):
        raise invalid("weights", "an object of queues and their weights", given)
    for queue, weight in given.items():
        if queue not in queues:
            raise field_error("weights", f"'{queue[:80]}' in 'weights' is not one of the queues.")
        if not is_integer(weight) or not 0 < weight <= MAX_WEIGHT:
            raise invalid(f"weights.{queue}", f"an integer from 1 to {MAX_WEIGHT}", weight)
    return {queue: weight for queue in queues if is_integer(weight := given.get(queue, 1))}


def point(phase: int, turn: int) -> int:
    """Return the point of a draw, from 0 to :data:`TURN`, by the phase of the process.

    The draws of one process are spread evenly: an interval that takes the part ``p`` of all points
    is met at least once in any ``3 / p + 1`` draws. The phases of processes are independent.
    """
    return (phase + turn * _STEP) % TURN


def by_weight(weights: Mapping[str, int], at: int) -> tuple[str, ...]:
    """Return the queues in the order of one draw.

    Each comes first at its share of the points; those behind it are drawn in the same way.
    """
    left, order = dict(weights), []
    while left:
        drawn, queues = at * sum(left.values()), iter(left)
        queue = next(queues)
        while drawn >= left[queue] * TURN:
            drawn -= left[queue] * TURN
            queue = next(queues)
        at = drawn // left.pop(queue)  # where in the queue's own part: as good a draw
        order.append(queue)
    return tuple(order)


def in_rotation(queues: Sequence[str], turn: int) -> tuple[str, ...]:
    """Return the queues from another one on in each turn."""
    start = turn % len(queues)
    return (*queues[start:], *queues[:start])


def by_backlog(queues: Sequence[str], waits_ms: Mapping[str, int]) -> tuple[str, ...]:
    """Return the queues by how long their first jobs waited; before them those not known."""
    return tuple(sorted(queues, key=lambda queue: -waits_ms.get(queue, math.inf)))


def ordered(pool: Pool, phase: int, turn: int, waits_ms: Mapping[str, int]) -> tuple[str, ...]:
    """Return the order of the queues in one FETCH.

    :param turn: how many there were of this pool in the process.
    """
    if pool.strategy is Strategy.WEIGHTED:
        return by_weight(pool.weights, point(phase, turn))
    if pool.strategy is Strategy.ROUND_ROBIN:
        return in_rotation(pool.queues, phase + turn)
    if pool.strategy is Strategy.LEAST_LOADED:
        return by_backlog(in_rotation(pool.queues, phase + turn), waits_ms)
    return pool.queues
