"""Workflows straight on DynamoDB and SQS; the services are called in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson, assemble, decode, parse_object
from ojs_aws.domain.workflows.definition import read_definition
from ojs_aws.services.backend import Backend
from ojs_aws.transport.http.dialects.envelopes import read_job
from ojs_aws.transport.http.dialects.workflows import (
    cancelled_steps,
    render_summary,
    workflow_answer,
    workflows_answer,
)

_DEPTH = 1000


class DirectWorkflows:
    """The port WorkflowsTransport over the services."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    async def create(self, body: RawJson) -> Mapping[str, JsonValue]:
        """Create a workflow."""
        max_depth = self._backend.settings.max_depth
        members = parse_object(body, max_depth=max_depth)
        definition = read_definition(members, lambda own: read_job(own, max_depth))
        created = await asyncio.to_thread(self._backend.workflows.create, definition)
        return _values(workflow_answer(created.view))

    async def get(self, workflow_id: str) -> Mapping[str, JsonValue]:
        """Read a workflow."""
        view = await asyncio.to_thread(self._backend.workflows.get, workflow_id)
        return _values(workflow_answer(view))

    async def list(self, state: str, limit: int, cursor: str) -> Mapping[str, JsonValue]:
        """Read a page of workflows."""
        page = await asyncio.to_thread(self._backend.workflows.list, state, limit, cursor)
        pagination: dict[str, JsonValue] = {"total": len(page.workflows)}
        if page.cursor:
            pagination["next_cursor"] = page.cursor
        items = [assemble(render_summary(each)) for each in page.workflows]
        return _values(workflows_answer(items, pagination))

    async def cancel(self, workflow_id: str) -> Mapping[str, JsonValue]:
        """Cancel a workflow."""
        view = await asyncio.to_thread(self._backend.workflows.cancel, workflow_id)
        return _values(workflow_answer(view, cancelled_steps(view)))


def _values(text: RawJson) -> dict[str, JsonValue]:
    value = decode(text, max_depth=_DEPTH)
    return value if isinstance(value, dict) else {}
