"""Reads and writes limits as the official command line and admin UI do: flat and nested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ojs_aws.domain.errors import JsonValue
from ojs_aws.transport.http.json_of import beside
from ojs_aws.transport.http.negotiation import Reader

if TYPE_CHECKING:
    from ojs_aws.transport.http.limits.answers import RateLimitAnswer

Members = dict[str, JsonValue]


def read_policy(given: Mapping[str, JsonValue]) -> Members:
    """Return the policy of a body; the admin UI writes ``limit`` and ``period`` flat."""
    policy = {**given}
    if "rate" not in policy and {"limit", "period"} <= policy.keys():
        policy["rate"] = {"limit": policy.pop("limit"), "period": policy.pop("period")}
    return policy


def for_reader(members: RateLimitAnswer, reader: Reader) -> RateLimitAnswer:
    """Return a limit with flat members too; the command line reads ``concurrency`` as a number."""
    flat: Members = {"waiting": members["waiting_count"], **_flat_rate(members)}
    if "rate" in members:
        flat["active"] = members["rate"]["current_count"]
    if "override" in members:
        flat["override"] = _flat_override(members["override"])
    if "concurrency" in members:
        concurrency = members["concurrency"]
        flat |= {"active": concurrency["active"], "available": concurrency["available"]}
        flat.setdefault("limit", concurrency["limit"])
        if reader is Reader.CLI:
            flat["concurrency"] = concurrency["limit"]
    return beside(members, flat)


def _flat_rate(policy: Mapping[str, object]) -> Members:
    """Return the limit and the period of a rate, or of a throttle where there is no rate."""
    rate = policy.get("rate") or policy.get("throttle")
    return {name: rate[name] for name in ("limit", "period")} if isinstance(rate, dict) else {}


def _flat_override(override: Mapping[str, JsonValue]) -> Members:
    """Return an override with flat members too; ``limit`` may be the number of running jobs."""
    flat = _flat_rate(override)
    if not flat and "concurrency" in override:
        flat["limit"] = override["concurrency"]
    return {**override} | flat
