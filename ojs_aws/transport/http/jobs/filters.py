"""Reads which jobs an operator means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.transport.http.authorization import check_named
from ojs_aws.transport.http.calls import Call
from ojs_aws.transport.http.members import check_known, instant_in, states_in, text_in

_FILTER: Final = ("queue", "state", "type", "since", "until", "tag", "error")
_ALIASES: Final = {"states": "state", "older_than": "until", "before": "until", "after": "since"}


def filter_of(call: Call, given: Mapping[str, JsonValue]) -> JobFilter:
    """Return a filter from what a client sent; an unknown attribute would match too much."""
    check_named(call, given)
    values = {_ALIASES.get(name, name): value for name, value in given.items() if value}
    check_known(values, _FILTER)
    return JobFilter(
        queue=text_in(values, "queue"),
        type=text_in(values, "type"),
        states=states_in(values.get("state", []), "state", "one of"),
        since=instant_in(values, "since"),
        until=instant_in(values, "until"),
        tag=text_in(values, "tag"),
        error=text_in(values, "error"),
        view=call.request.caller.view,
    )
