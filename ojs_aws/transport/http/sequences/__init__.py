"""Serves sequences: whose turn it is, and how a stopped one goes on."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import INSPECTS_OWN, OPERATES_OWN, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, module="sequences.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _operator("GET /admin/sequences", "list_sequences", INSPECTS_OWN,
        "List the sequences that are stopped, those stopped first at the begin",
        query=("only_tenant", "queue", "limit", "cursor")),
    _operator("GET /admin/sequences/<key>", "get_sequence", INSPECTS_OWN,
        "Read whose turn it is in a sequence", query=("tenant",)),
    _operator("POST /admin/sequences/<key>/skip", "skip_sequence", OPERATES_OWN,
        "Let a stopped sequence go on without the discarded job", query=("tenant",),
        errors=(409,), is_recorded=True),
)
