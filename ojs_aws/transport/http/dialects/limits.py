"""Limits as the official command line and admin UI write and read them: flat, beside the nested."""

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
    flat: Members = {"waiting": members.get("waiting_count")}
    if isinstance(rate, dict):
        flat |= {"limit": rate.get("limit"), "period": rate.get("period")}
    if isinstance(concurrency, dict):
        flat |= {name: concurrency[name] for name in ("active", "available")}
        flat.setdefault("limit", concurrency["limit"])
        if reader is Reader.CLI:
            flat["concurrency"] = concurrency["limit"]
    return members | flat
