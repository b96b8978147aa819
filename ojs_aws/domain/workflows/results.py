"""Collects the results that a step gets from others (ojs-workflows, section 7).

========================  ==================================================================
a job that is             is given
========================  ==================================================================
first in a chain          what the chain itself is given
later in a chain          the values of all steps before it, by their index
in a group or batch       what the group or batch itself is given
a step with depends_on    the values of the steps that it names, by their ids
a step without            what the whole is given
a callback                the values of all jobs that it waits for, by their keys
========================  ==================================================================

The value of a job is its result, or null; of one that did not complete ``{"error": {...}}``. The
value of a group or batch is an object of its jobs' values by their index, of steps with
``depends_on`` one by their ids; the value of a chain is that of its last step, or of the one that
stopped it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind

MAX_BYTES: Final = 1_000_000
"""Of all that one job is given; beyond, the largest results are replaced by references."""

NULL: Final = RawJson("null")

Values = Mapping[int, RawJson]
"""What jobs left, by the index of their step; one that has not ended is absent."""

_EMPTY: Final = RawJson("{}")


def sources(graph: Graph, index: int) -> tuple[int, ...]:
    """Return the steps whose values a step gets; empty for none."""
    while index > ROOT:
        step = graph.steps[index]
        parent = graph.steps[step.parent]
        if parent.kind is Kind.CHAIN and step.key != "0":
            parts = graph.parts[step.parent]
            return parts[: parts.index(index)]
        if step.is_callback or step.waits_for:
            return step.waits_for
        index = step.parent
    return ()


def jobs_of(graph: Graph, steps: Sequence[int]) -> list[int]:
    """Return the jobs whose results make up the values of steps."""
    found: list[int] = []
    for index in steps:
        step = graph.steps[index]
        if step.kind is Kind.JOB:
            found.append(index)
        else:
            found += jobs_of(graph, _valued(graph, index))
    return found


def parent_results(graph: Graph, index: int, values: Values) -> RawJson:
    """Return the results that a step gets, as one object."""
    return _by_key(graph, sources(graph, index), values)


def value_of(graph: Graph, index: int, values: Values) -> RawJson:
    """Return the value of a step."""
    step = graph.steps[index]
    if step.kind is Kind.JOB:
        return values.get(index, NULL)
    parts = _valued(graph, index)
    if step.kind is not Kind.CHAIN:
        return _by_key(graph, parts, values)
    ended = (part for part in reversed(parts) if any(j in values for j in jobs_of(graph, (part,))))
    return value_of(graph, next(ended, parts[-1]), values)


def bounded(values: Values, job_ids: Mapping[int, str], max_bytes: int = MAX_BYTES) -> Values:
    """Return the values; the largest become references until the rest fits this many bytes.

    :param job_ids: which jobs they are of.
    """
    total = sum(len(text) for text in values.values())
    kept = dict(values)
    for index in sorted(kept, key=lambda each: len(kept[each]), reverse=True):
        if total <= max_bytes:
            break
        reference = encode(
            {
                "result_ref": f"/ojs/v1/jobs/{job_ids[index]}",
                "result_size_bytes": len(kept[index].encode()),
                "result_content_type": "application/json",
            }
        )
        if len(reference) < len(kept[index]):
            total -= len(kept[index]) - len(reference)
            kept[index] = reference
    return kept


def _valued(graph: Graph, index: int) -> tuple[int, ...]:
    return tuple(part for part in graph.parts[index] if not graph.steps[part].is_callback)


def _by_key(graph: Graph, steps: Sequence[int], values: Values) -> RawJson:
    if not steps:
        return _EMPTY
    return assemble({graph.steps[i].key: value_of(graph, i, values) for i in steps})
