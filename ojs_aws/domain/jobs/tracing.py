"""Finds the trace that a job belongs to (ojs-events, section 8)."""

from __future__ import annotations

import re
from typing import Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import Document
from ojs_aws.domain.json_text import decode

MAX_TRACE_ID: Final = 128
"""Characters that are kept of a trace id; W3C's has 32."""

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")


def trace_id_of(document: str) -> str:
    """Return the trace id in ``meta`` of a job's document, else that of its ``traceparent``.

    :returns: empty when there is none, or nothing that can be read as one.
    """
    if '"trace' not in document:  # most have none, and need not be parsed
        return ""
    try:
        members = decode(document, max_depth=1000)
    except OjsError:
        return ""
    meta = members.get("meta") if isinstance(members, dict) else None
    if not isinstance(meta, dict):
        return ""
    trace = meta.get("trace_id")
    if isinstance(trace, str) and trace:
        return trace[:MAX_TRACE_ID]
    parent = meta.get("traceparent")
    found = _TRACEPARENT.fullmatch(parent) if isinstance(parent, str) else None
    return found[1] if found else ""


def trace_of(document: Document) -> str:
    """Return the trace id of a job's document, wherever it is stored; empty for none."""
    return trace_id_of(document) if isinstance(document, str) else document.trace_id
