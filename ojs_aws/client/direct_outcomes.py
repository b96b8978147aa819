"""Outcomes straight on DynamoDB, for producers inside AWS.

The services are called in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ojs_aws.domain.checkpoints import opened
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import ANY_DEPTH, decode
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.render import render_job


class DirectOutcomes:
    """The port OutcomesTransport over the services."""

    max_wait_s = 0.0
    """The client's own pauses cost nothing."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._backend = backend

    async def result(self, job_id: str, wait_s: float) -> Mapping[str, JsonValue]:  # noqa: ARG002 - see max_wait_s
        """Look once."""
        return _described(await asyncio.to_thread(self._backend.results, job_id))

    async def results(self, job_ids: Sequence[str]) -> Mapping[str, JsonValue]:
        """Look at several."""
        found = await asyncio.to_thread(self._backend.results.many, job_ids)
        return {job_id: None if job is None else _described(job) for job_id, job in found.items()}

    async def progress(self, job_id: str) -> Mapping[str, JsonValue]:
        """How far a job has come."""
        job = await asyncio.to_thread(self._backend.progress.read, job_id)
        known = job.current_progress
        if known is None:
            return {"state": job.state}
        return {
            "state": job.state,
            "progress": known.fraction,
            "data": None if known.data is None else decode(known.data),
            "message": known.message or None,
            "updated_at": format_instant(known.updated_at),
        }

    async def checkpoint(self, job_id: str) -> Mapping[str, JsonValue]:
        """The latest checkpoint."""
        saved = (await asyncio.to_thread(self._backend.checkpoints.get, job_id)).checkpoint
        texts = {"state": "null", **opened(saved)}
        return {
            **{name: decode(text, max_depth=ANY_DEPTH) for name, text in texts.items()},
            "sequence": saved.sequence,
            "created_at": format_instant(saved.created_at),
        }

    async def clear_checkpoint(self, job_id: str) -> None:
        """Clear it."""
        await asyncio.to_thread(self._backend.checkpoints.delete, job_id)


def _described(job: JobRecord) -> dict[str, JsonValue]:
    rendered = render_job(job)
    hidden = {"args", "meta", "specversion"}  # which are not read for this
    return {
        name: decode(text, max_depth=ANY_DEPTH)
        for name, text in rendered.items()
        if name not in hidden
    }
