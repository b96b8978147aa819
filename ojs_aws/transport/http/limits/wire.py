"""Reads and writes limits as the official command line and admin UI do: flat and nested."""

from __future__ import annotations

from collections.abc import Mapping

from ojs_aws.domain.errors import JsonValue
from ojs_aws.transport.http.negotiation import Reader

Members = dict[str, JsonValue]


def read_policy(given: Mapping[str, JsonValue]) -> Members:
    """Return the policy of a body; the admin UI writes ``limit`` and ``period`` flat."""
    policy = {**given}
    if "rate" not in policy and {"limit", "period"} <= policy.keys():
        policy["rate"] = {"limit": policy.pop("limit"), "period": policy.pop("period")}
    return policy


def for_reader(members: Members, reader: Reader) -> Members:
    """Return a limit with flat members too; the command line reads ``concurrency`` as a number."""
    concurrency, rate = members.get("concurrency"), members.get("rate")
    flat: Members = {"waiting": members.get("waiting_count"), **_flat_rate(members)}
    if isinstance(rate, dict):
        flat["active"] = rate.get("current_count")
    override = members.get("override")
    if isinstance(override, dict):
        flat["override"] = _flat_override(override)
    if isinstance(concurrency, dict):
        flat |= {name: concurrency[name] for name in ("active", "available")}
        flat.setdefault("limit", concurrency["limit"])
        if reader is Reader.CLI:
            flat["concurrency"] = concurrency["limit"]
    return members | flat


def _flat_rate(policy: Mapping[str, JsonValue]) -> Members:
    """Return the limit and the period of a rate, or of a throttle where there is no rate."""
    rate = policy.get("rate") or policy.get("throttle")
    return {name: rate[name] for name in ("limit", "period")} if isinstance(rate, dict) else {}


def _flat_override(override: Mapping[str, JsonValue]) -> Members:
    """Return an override with flat members too; ``limit`` may be the number of running jobs."""
    flat = _flat_rate(override)
    if not flat and "concurrency" in override:
        flat["limit"] = override["concurrency"]
    return {**override} | flat
